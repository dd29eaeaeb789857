/* The eigenproblem of one cell in one direction.
 *
 * L is never formed: L = A A' with A = [D, sqrt(rho) e_-, sqrt(rho) e_+], and by parity A falls into two
 * parts. The singular values of each part, by a Jacobi method, are the roots of the eigenvalues to nearly
 * full relative precision, where an eigensolver for L would lose the small ones in the rounding of the large
 * (of order n^4). */
#include "box/line.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/box.h"
#include "poly/jacobi.h"

void box_line_destroy(struct box_line *line) {
    base_free(&line->S);
    base_free(&line->eigenvalues);
    base_free(&line->b);
    *line = (struct box_line){0};
}

/* (l_i, l_j') */
static double derivative(int i, int j) {
    return j > i && (i + j) % 2 == 1 ? sqrt((2.0 * i + 1.0) * (2.0 * j + 1.0)) : 0.0;
}
static double end_value(int i) {
    return sqrt(i + 0.5);
}

/* The modes of one parity, from number `first` on. Rows of the transpose of A: the basis functions of the
 * other parity, and one for both ends together, e_+ e_+' + e_- e_-' being twice e_+ e_+' on one parity. */
static facet_status solve_parity(struct box_line *line, int parity, int first, int count) {
    facet_status status = FACET_OK;
    int n = line->n, others = n - count, rows = others + 1 > count ? others + 1 : count;
    double *A = NULL, *sigma = NULL, *V = NULL, stat[7];
    lapack_int istat[3];
    TRY(CALLOC(A, rows * count));
    TRY(ALLOC(sigma, count));
    TRY(ALLOC(V, count * count));
    for (int a = 0; a < count; a++) {
        int i = 2 * a + parity;
        for (int o = 0; o < others; o++) A[a * rows + o] = derivative(i, 2 * o + 1 - parity);
        A[a * rows + others] = sqrt(2.0 * line->rho) * end_value(i);
    }
    lapack_int info = LAPACKE_dgejsv(LAPACK_COL_MAJOR, 'F', 'N', 'V', 'R', 'N', 'P', rows, count, A, rows,
                                     sigma, NULL, rows, V, count, stat, istat);
    if (info != 0)
        FAIL(FACET_ERROR_MACHINE, "the eigenvalues of a line of degree %d were not found (%d)", n - 1,
             (int)info);
    for (int m = 0; m < count; m++) { /* singular values descend */
        int from = count - 1 - m, mode = first + m;
        double root = sigma[from] * (stat[0] / stat[1]), b = 0.0;
        line->eigenvalues[mode] = root * root;
        for (int a = 0; a < count; a++) {
            int i = 2 * a + parity;
            double De = 0.0;
            for (int j = i + 1; j < n; j += 2) De += derivative(i, j) * end_value(j);
            b += V[from * count + a] * (line->rho * end_value(i) + De);
        }
        for (int a = 0; a < count; a++)
            line->S[(2 * a + parity) * n + mode] = b < 0.0 ? -V[from * count + a] : V[from * count + a];
        line->b[mode] = fabs(b);
    }
done:
    base_free(&A);
    base_free(&sigma);
    base_free(&V);
    return status;
}

facet_status box_line_create(int degree, double rho, struct box_line *line) {
    facet_status status = FACET_OK;
    int n = degree + 1;
    *line = (struct box_line){.n = n, .n_even = (n + 1) / 2, .rho = rho};
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    if (!(rho > 0.0) || !isfinite(rho)) FAIL(FACET_ERROR_INPUT, "tau must be positive, not %g k h / 2", rho);
    TRY(CALLOC(line->S, n * n));
    TRY(ALLOC(line->eigenvalues, n));
    TRY(ALLOC(line->b, n));
    TRY(solve_parity(line, 0, 0, line->n_even));
    TRY(solve_parity(line, 1, line->n_even, n - line->n_even));
    double g = rho + 0.5 * n * n, c = (n % 2 == 0 ? 0.5 : -0.5) * n;
    line->gamma[0] = 0.5 * (g + c);
    line->gamma[1] = 0.5 * (g - c);
done:
    if (status != FACET_OK) box_line_destroy(line);
    return status;
}

facet_status box_line_evaluate(const struct box_line *line, int n_points, const double *x, double *values,
                               double *derivatives) {
    facet_status status = FACET_OK;
    int n = line->n;
    double *p = NULL;
    TRY(ALLOC(p, 2 * n));
    for (int q = 0; q < n_points; q++) {
        jacobi_orthonormal(n - 1, 0.0, 0.0, x[q], p, p + n);
        for (int m = 0; m < n; m++) {
            double value = 0.0, slope = 0.0;
            for (int i = m < line->n_even ? 0 : 1; i < n; i += 2) {
                value += line->S[i * n + m] * p[i];
                slope += line->S[i * n + m] * p[n + i];
            }
            values[q * n + m] = value;
            if (derivatives != NULL) derivatives[q * n + m] = slope;
        }
    }
done:
    base_free(&p);
    return status;
}
