/* Contractions inside one cell of a box. */
#include <string.h>

#include "kernels/simd/tensor.h"

/* inner = 1: vectors run over the outputs, with the columns of T at hand. */
static void contract_lines(int64_t outer, int n_out, int n_in, const double *T, const double *in,
                           int64_t in_step, double *out, int64_t out_step) {
    double columns[KERNEL_LINE * L];
    for (int from = 0; from < n_out; from += L) {
        int left = n_out - from < L ? n_out - from : L;
        for (int q = 0; q < n_in; q++)
            for (int i = 0; i < L; i++) columns[q * L + i] = i < left ? T[(from + i) * n_in + q] : 0.0;
        multiply_rows(outer, left, n_in, columns, L, in, in_step, out + from, out_step);
    }
}

void OF(tensor_contract)(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                         int64_t in_step, double *out, int64_t out_step) {
    if (inner == 1)
        contract_lines(outer, n_out, n_in, T, in, in_step, out, out_step);
    else
        for (int64_t o = 0; o < outer; o++)
            contract_columns(n_out, n_in, inner, T, in + o * in_step, out + o * out_step);
}

/* The number of the parity of mode m of n. */
INLINE int parity(int m, int n) {
    return m >= (n + 1) / 2;
}

#define PADDED ((KERNEL_MODES + L - 1) / L * L + L)

/* Rows are read in whole vectors; what lies behind a row is multiplied by zero. Sums along directions 1 and 2
 * are gathered in padded rows. */
void OF(line_reduce)(const int *extent, int64_t size, const double *const *c, const double *u, double *r) {
    int n0 = extent[0], n1 = extent[1], n2 = extent[2], padded = (n0 + PART - 1) / PART * PART;
    double c0[2][PADDED] = {{0.0}}, r1[2][PADDED], r2[2][KERNEL_MODES * PADDED];
    for (int i = 0; i < n0; i++) c0[parity(i, n0)][i] = c[0][i];
    int whole = n1 > 1 && n2 > 1 && n1 * n2 == size && n0 * n2 == size && n0 * n1 == size;
    if (!whole) memset(r, 0, (size_t)(6 * size) * sizeof *r); /* else all is written below */
    for (int p = 0; n2 > 1 && p < 2; p++) memset(r2[p], 0, (size_t)(n1 * padded) * sizeof **r2);
    for (int k = 0; k < n2; k++) {
        double *high = r2[parity(k, n2)], c2 = c[2][k];
        for (int p = 0; p < 2; p++) memset(r1[p], 0, (size_t)padded * sizeof *r1[p]);
        for (int j = 0; j < n1; j++) {
            const double *row = u + ((int64_t)k * n1 + j) * n0;
            double *middle = r1[parity(j, n1)], c1 = c[1][j];
            packet sum = {0}, difference = {0};
            for (int i = 0; i < padded; i += PART) {
                packet x = part_load(row + i, 0);
                sum += part_load(c0[0] + i, 0) * x;
                difference += part_load(c0[1] + i, 0) * x;
                part_put(middle + i, 0, part_load(middle + i, 0) + c1 * x);
                if (n2 > 1) part_put(high + j * padded + i, 0, part_load(high + j * padded + i, 0) + c2 * x);
            }
            r[(int64_t)k * n1 + j] = sum_of(sum);
            r[size + (int64_t)k * n1 + j] = sum_of(difference);
        }
        for (int p = 0; n1 > 1 && p < 2; p++)
            memcpy(r + (2 + p) * size + (int64_t)k * n0, r1[p], (size_t)n0 * sizeof *r);
    }
    for (int p = 0; n2 > 1 && p < 2; p++)
        for (int j = 0; j < n1; j++)
            memcpy(r + (4 + p) * size + (int64_t)j * n0, r2[p] + j * padded, (size_t)n0 * sizeof *r);
}

/* Rows are written in whole vectors too, each over the beginning of the next, which comes after it. */
void OF(line_solve)(const int *extent, int64_t size, const double *a, const double *const *b,
                    const double *const *eigenvalues, double reaction, const double *loads, const double *v,
                    double *u) {
    int n0 = extent[0], n1 = extent[1], n2 = extent[2], padded = (n0 + PART - 1) / PART * PART;
    double ab[2][PADDED] = {{0.0}}, aL[PADDED];
    for (int i = 0; i < padded; i++) {
        aL[i] = i < n0 ? a[0] * eigenvalues[0][i] + reaction : 1.0;
        if (i < n0) ab[parity(i, n0)][i] = a[0] * b[0][i];
    }
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++) {
            int64_t row = (int64_t)k * n1 + j;
            double Z = a[1] * eigenvalues[1][j] + a[2] * eigenvalues[2][k];
            double b1 = a[1] * b[1][j], b2 = a[2] * b[2][k], sum = 0.0, difference = 0.0;
            const double *v1 = NULL, *v2 = NULL;
            if (v != NULL) {
                sum = v[row];
                difference = v[size + row];
                v1 = v + (2 + parity(j, n1)) * size + (int64_t)k * n0;
                v2 = v + (4 + parity(k, n2)) * size + (int64_t)j * n0;
            }
            for (int i = 0; i < padded; i += PART) {
                packet F = {0};
                if (loads != NULL) F = part_load(loads + row * n0 + i, 0);
                if (v != NULL) F += sum * part_load(ab[0] + i, 0) + difference * part_load(ab[1] + i, 0);
                if (v != NULL && n1 > 1) F += b1 * part_load(v1 + i, 0);
                if (v != NULL && n2 > 1) F += b2 * part_load(v2 + i, 0);
                part_put(u + row * n0 + i, 0, F / (Z + part_load(aL + i, 0)));
            }
        }
}
