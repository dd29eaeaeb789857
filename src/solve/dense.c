/* Inverses of small dense matrices. */
#include <lapacke.h>

#include "solve/solve.h"

/* Up to this size here, row by row; beyond, LAPACK's blocked form. OpenBLAS takes a lock for the room of
 * every call: two threads with blocks of three unknowns waited for each other most of the time. */
#define SMALL 64

/* Gauss-Jordan on the lower triangle: after step k the unknowns 0 .. k have changed sides. The pivots are
 * those of Cholesky, the operations n^3 / 2. */
static int invert_small(int n, double *B) {
    double column[SMALL];
    for (int k = 0; k < n; k++) {
        double pivot = B[k * n + k];
        if (!(pivot > 0.0)) return 0;
        double inverse = 1.0 / pivot;
        for (int j = 0; j < k; j++) column[j] = B[k * n + j];
        for (int i = k + 1; i < n; i++) column[i] = B[i * n + k];
        column[k] = 0.0;
        for (int i = 0; i < n; i++) {
            double *row = B + i * n, factor = -column[i] * inverse;
            for (int j = 0; j <= i; j++) row[j] += factor * column[j];
        }
        for (int j = 0; j < k; j++) B[k * n + j] = column[j] * inverse;
        for (int i = k + 1; i < n; i++) B[i * n + k] = column[i] * inverse;
        B[k * n + k] = -inverse;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) B[i * n + j] = B[j * n + i] = -B[i * n + j];
    return 1;
}

int solve_invert(int64_t n, double *B) {
    if (n <= SMALL) return invert_small((int)n, B);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, B, (int)n) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)n, B, (int)n) != 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) B[i * n + j] = B[j * n + i];
    return 1;
}
