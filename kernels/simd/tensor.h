/* Contractions by blocks of registers: L numbers that lie together times a few rows. What is read may be up
 * to KERNEL_SLACK numbers longer, all finite. */
#ifndef FACET_KERNELS_SIMD_TENSOR_H
#define FACET_KERNELS_SIMD_TENSOR_H

#include "kernels/simd/lane.h"

#define B     5          /* rows at once */
#define PARTS (L / PART) /* of L numbers */

/* Where numbers lie as the box has them. */
typedef double loose __attribute__((vector_size(PART * sizeof(double)), aligned(sizeof(double)), may_alias));

INLINE packet part_load(const double *from, int p) {
    return (packet)((const loose *)from)[p];
}
INLINE void part_put(double *to, int p, packet v) {
    ((loose *)to)[p] = (loose)v;
}
/* The first n of the numbers of so many parts only. */
INLINE void store_first(int parts, int n, double *to, const packet v[PARTS]) {
#pragma GCC unroll 4
    for (int p = 0; p < parts; p++) {
        if (n >= (p + 1) * PART)
            part_put(to, p, v[p]);
        else
            for (int i = 0; i < n - p * PART; i++) to[p * PART + i] = v[p][i];
    }
}
INLINE double sum_of(packet v) {
    double sum = 0.0;
    for (int i = 0; i < PART; i += 2) sum += v[i] + v[i + 1];
    return sum;
}

/* n rows in groups of at most B, as equal as may be: what is the next one? */
INLINE int group(int left) {
    int groups = (left + B - 1) / B;
    return (left + groups - 1) / groups;
}
/* f with the number of rows as a constant. */
#define BY_ROWS(rows, f, ...)                                                                                \
    switch (rows) {                                                                                          \
    case 1:                                                                                                  \
        f(1, __VA_ARGS__);                                                                                   \
        break;                                                                                               \
    case 2:                                                                                                  \
        f(2, __VA_ARGS__);                                                                                   \
        break;                                                                                               \
    case 3:                                                                                                  \
        f(3, __VA_ARGS__);                                                                                   \
        break;                                                                                               \
    case 4:                                                                                                  \
        f(4, __VA_ARGS__);                                                                                   \
        break;                                                                                               \
    default:                                                                                                 \
        f(5, __VA_ARGS__);                                                                                   \
    }
_Static_assert(B == 5, "the cases above");

/* out_i = sum_q factors_iq vectors_q for `rows` (at most B) i: vectors of so many parts, the first `left`
 * numbers of which are wanted. */
INLINE void block(int rows, int parts, int left, int n_in, const double *vectors, int64_t step,
                  const double *factors, int64_t factor_step, double *out, int64_t out_step) {
    packet sums[B][PARTS] = {{{0}}};
    for (int q = 0; q < n_in; q++) {
        packet x[PARTS];
#pragma GCC unroll 4
        for (int p = 0; p < parts; p++) x[p] = part_load(vectors + q * step, p);
#pragma GCC unroll 5
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int p = 0; p < parts; p++) sums[i][p] += factors[i * factor_step + q] * x[p];
    }
    for (int i = 0; i < rows; i++) store_first(parts, left, out + i * out_step, sums[i]);
}

/* One o of contract, inner > 1. Columns that do not fill a part begin earlier where they can. */
static inline void contract_columns(int n_out, int n_in, int64_t inner, const double *T, const double *in,
                                    double *out) {
    for (int i = 0, rows; i < n_out; i += rows) {
        const double *T_i = T + i * n_in;
        double *to = out + i * inner;
        int64_t r = 0;
        rows = group(n_out - i);
        for (; r + L <= inner; r += L)
            BY_ROWS(rows, block, PARTS, L, n_in, in + r, inner, T_i, n_in, to + r, inner)
        for (; r < inner; r += PART) {
            int64_t from = r + PART > inner && inner >= PART ? inner - PART : r;
            int left = inner - from < PART ? (int)(inner - from) : PART;
            BY_ROWS(rows, block, 1, left, n_in, in + from, inner, T_i, n_in, to + from, inner)
        }
    }
}

INLINE void multiply_rows(int64_t rows, int left, int n_in, const double *columns, int step, const double *in,
                          int64_t in_step, double *out, int64_t out_step) {
    for (int64_t o = 0, some; o < rows; o += some) {
        const double *from = in + o * in_step;
        double *to = out + o * out_step;
        some = rows - o < 2 * B ? group((int)(rows - o)) : B;
        if (left > PART)
            BY_ROWS(some, block, PARTS, left, n_in, columns, step, from, in_step, to, out_step)
        else
            BY_ROWS(some, block, 1, left, n_in, columns, step, from, in_step, to, out_step)
    }
}

/* r[d][parity](tangential) = sum over the m of this parity (the first half, or the second) of c[d][m] u(m,
 * tangential); size numbers for every d and parity. Here and below at most KERNEL_MODES in one direction. */
void OF(line_reduce)(const int *extent, int64_t size, const double *const *c, const double *u, double *r);
/* u = (loads + sum_d a_d b_d v[d][parity]) / (sum_d a_d eigenvalues_d + reaction); loads or v may be NULL: zero.
 * Writes up to KERNEL_SLACK numbers more. */
void OF(line_solve)(const int *extent, int64_t size, const double *a, const double *const *b,
                    const double *const *eigenvalues, double reaction, const double *loads, const double *v,
                    double *u);

#endif
