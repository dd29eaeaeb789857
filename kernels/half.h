/* Numbers of 16 bits: half precision (IEEE binary16), and powers of two as the upper half of a float. In
 * plain C, for numbers up to 1 in size; conversions round to the nearest, ties to even, as the instructions
 * for them do. */
#ifndef FACET_KERNELS_HALF_H
#define FACET_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

#include "kernels/everywhere.h"

/* c of cell_apply_half in units of the sum of u: what rounding to half precision makes of numbers below 1. */
#define HALF_UNIT 0x1p-12
/* A motion of a cell of which less than this part is left, once those before it are taken off, counts for
 * none of its own. */
#define KERNEL_MOTION_LEAST 1e-10

/* 16-bit numbers of the matrix of a cell: s, e, A. */
static inline int64_t half_size(int n) {
    return 2 * n + (int64_t)n * (n + 1) / 2;
}

/* Where entry (i, j), j <= i, of A stands: rows go in pairs, of which the columns before the diagonal follow
 * each other in blocks of 2 x 2, by rows; then the three entries at the diagonal. A last row without a
 * partner is by itself. So a product takes two rows at a time and reads its matrix from front to back. */
EVERYWHERE int64_t half_place(int n, int i, int j) {
    int64_t pair = i & ~1, first = pair * (pair + 1) / 2;
    if (pair == n - 1) return first + j;
    if (j < pair) return first + 4 * (j / 2) + 2 * (i - pair) + j % 2;
    return first + 2 * pair + (i - pair) + (j - pair);
}

/* Where s_i, e_i (from the beginning of s) and entry (i, j) of A (from its beginning) of a lane stand.
 * Batches of a warp, which only a GPU has, are ordered so that each of its loads has 8 bytes of every lane: s
 * and e side by side; of A the blocks of 2 x 2, four numbers of a lane together, then the three entries at
 * the diagonal of every pair, and a last row without a partner. (s of displacements, which have no e, is by
 * itself.) */
#define HALF_WARP 32
EVERYWHERE int64_t half_place_s(int lanes, int i, int lane) {
    int64_t place = (int64_t)i * lanes + lane;
    return lanes == HALF_WARP ? 2 * place : place;
}
EVERYWHERE int64_t half_place_e(int lanes, int n, int i, int lane) {
    return lanes == HALF_WARP ? half_place_s(lanes, i, lane) + 1 : (int64_t)(n + i) * lanes + lane;
}
EVERYWHERE int64_t half_place_A(int lanes, int n, int i, int j, int lane) {
    int64_t n_pairs = n / 2, p = i / 2, r = i % 2, after = 2 * n_pairs * (n_pairs - 1);
    if (lanes != HALF_WARP) return half_place(n, i, j) * lanes + lane;
    if (p == n_pairs) return (after + 3 * n_pairs + j) * lanes + lane;
    if (j >= 2 * p) return (after + 3 * p + r + j - 2 * p) * lanes + lane;
    return ((p * (p - 1) / 2 + j / 2) * lanes + lane) * 4 + 2 * r + j % 2;
}

static inline uint32_t half_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float half_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The multiplication makes the exponent that of a float, also of subnormal numbers. */
static inline float half_widen(uint16_t half) {
    float size = half_float((uint32_t)(half & 0x7fff) << 13) * 0x1p112f;
    return half & 0x8000 ? -size : size;
}

/* Float number i of an array that stands among numbers of 16 bits. */
static inline float half_get(const uint16_t *floats, int64_t i) {
    float value;
    memcpy(&value, floats + 2 * i, sizeof value);
    return value;
}
static inline void half_put(uint16_t *floats, int64_t i, float value) {
    memcpy(floats + 2 * i, &value, sizeof value);
}

static inline uint16_t half_round(float value) {
    uint32_t bits = half_bits(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (half_float(size) < 0x1p-14f) /* subnormal: multiples of the last bit of 1/2 */
        return (uint16_t)(sign | (half_bits(half_float(size) + 0.5f) - half_bits(0.5f)));
    size += 0xfff + (size >> 13 & 1);
    return (uint16_t)(sign | ((size >> 13) - (112 << 10)));
}

/* The upper half of 2^k, -126 <= k <= 127, and back. */
EVERYWHERE uint16_t half_power(int k) {
    return (uint16_t)((k + 127) << 7);
}
static inline float half_scale(uint16_t power) {
    return half_float((uint32_t)power << 16);
}

#endif
