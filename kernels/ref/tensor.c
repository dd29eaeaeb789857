/* Plain C: contractions inside one cell of a box. */
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/tensor_plain.h"

void tensor_contract_ref(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                         int64_t in_step, double *out, int64_t out_step) {
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < n_out; i++)
            for (int64_t r = 0; r < inner; r++) {
                double sum = 0.0;
                for (int q = 0; q < n_in; q++) sum += T[i * n_in + q] * in[o * in_step + q * inner + r];
                out[o * out_step + i * inner + r] = sum;
            }
}

/* The number of the parity of mode m of n. */
static int parity(int m, int n) {
    return m >= (n + 1) / 2;
}

void line_reduce_ref(const int *extent, int64_t size, const double *const *c, const double *u, double *r) {
    int n0 = extent[0], n1 = extent[1], n2 = extent[2];
    memset(r, 0, (size_t)(6 * size) * sizeof *r);
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++)
            for (int i = 0; i < n0; i++, u++) {
                r[parity(i, n0) * size + (int64_t)k * n1 + j] += c[0][i] * *u;
                if (n1 > 1) r[(2 + parity(j, n1)) * size + (int64_t)k * n0 + i] += c[1][j] * *u;
                if (n2 > 1) r[(4 + parity(k, n2)) * size + (int64_t)j * n0 + i] += c[2][k] * *u;
            }
}

void line_solve_ref(const int *extent, int64_t size, const double *a, const double *const *b,
                    const double *const *eigenvalues, double reaction, const double *loads, const double *v,
                    double *u) {
    int n0 = extent[0], n1 = extent[1], n2 = extent[2];
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++)
            for (int i = 0; i < n0; i++) {
                int64_t row = (int64_t)k * n1 + j;
                double F = loads != NULL ? loads[row * n0 + i] : 0.0;
                double Z = a[0] * eigenvalues[0][i] + a[1] * eigenvalues[1][j] + a[2] * eigenvalues[2][k];
                if (v != NULL) F += a[0] * b[0][i] * v[parity(i, n0) * size + row];
                if (v != NULL && n1 > 1)
                    F += a[1] * b[1][j] * v[(2 + parity(j, n1)) * size + (int64_t)k * n0 + i];
                if (v != NULL && n2 > 1)
                    F += a[2] * b[2][k] * v[(4 + parity(k, n2)) * size + (int64_t)j * n0 + i];
                u[row * n0 + i] = F / (Z + reaction);
            }
}
