/* One number of L cells: the unit of every batched loop. The compiler splits it where registers are narrower.
 * L is the `lanes` of the table (simd.c), and so of all plans and tables that these kernels are called with.
 */
#ifndef FACET_KERNELS_SIMD_LANE_H
#define FACET_KERNELS_SIMD_LANE_H

#include <math.h>
#ifdef __AVX2__
#    include <immintrin.h>
#endif

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/simd/tune.h"

#define L 8 /* one AVX-512 register, one cache line */
typedef double lane __attribute__((vector_size(L * sizeof(double))));

/* The part of a lane vector that one register holds: loops whose sums stay in registers take these one after
 * the other. */
#ifdef __AVX512F__
#    define PART 8
#elif defined(__AVX__)
#    define PART 4
#else
#    define PART 2
#endif
typedef double packet __attribute__((vector_size(PART * sizeof(double)), may_alias));
/* The same of single precision. */
#ifdef __AVX__
#    define PART_SINGLE 8
#else
#    define PART_SINGLE 4
#endif
typedef float packet_single __attribute__((vector_size(PART_SINGLE * sizeof(float)), may_alias));
/* Over the parts of a lane vector; the includer has defined PARTS, L / PART or L / PART_SINGLE. Loops that
 * keep whole lane vectors in variables have compilers move them through memory where they are split. */
#define EACH_PART(p) _Pragma("GCC unroll 4") for (int p = 0; p < PARTS; p++)

#define LANE_JOIN_TWO(name, isa) name##_##isa
#define LANE_JOIN(name, isa)     LANE_JOIN_TWO(name, isa)

#define INLINE static inline __attribute__((always_inline))

/* The first n of L numbers in a row (all, if n > L), zeros behind them; and back. */
INLINE lane lane_load(int n, const double *from) {
#ifdef __AVX512F__
    return (lane)_mm512_maskz_loadu_pd((__mmask8)(n < L ? (1 << n) - 1 : 255), from);
#else
    lane value = {0};
    for (int i = 0; i < n && i < L; i++) value[i] = from[i];
    return value;
#endif
}

INLINE void lane_store(int n, double *to, lane value) {
#ifdef __AVX512F__
    _mm512_mask_storeu_pd(to, (__mmask8)(n < L ? (1 << n) - 1 : 255), (__m512d)value);
#else
    for (int i = 0; i < n && i < L; i++) to[i] = value[i];
#endif
}

/* Writes past the caches, for what is not read again soon; lane_stream_end before others may read it. */
INLINE void lane_stream(lane *to, lane value) {
#ifdef __AVX512F__
    _mm512_stream_pd((double *)to, (__m512d)value);
#else
    *to = value;
#endif
}

INLINE void lane_stream_end(void) {
#ifdef __AVX512F__
    _mm_sfence();
#endif
}

/* Roots; *positive becomes 0 unless all numbers are positive. */
INLINE lane lane_sqrt(lane value, int *positive) {
#ifdef __AVX512F__
    *positive &= _mm512_cmp_pd_mask((__m512d)value, _mm512_setzero_pd(), _CMP_GT_OQ) == 255;
    return (lane)_mm512_sqrt_pd((__m512d)value);
#else
    for (int w = 0; w < L; w++) {
        *positive &= value[w] > 0.0;
        value[w] = sqrt(value[w]);
    }
    return value;
#endif
}

/* The same in single precision: eight floats, half a register of AVX-512. */
typedef float lane_single __attribute__((vector_size(L * sizeof(float))));

INLINE lane_single lane_load_single(int n, const float *from) {
#ifdef __AVX512VL__
    return (lane_single)_mm256_maskz_loadu_ps((__mmask8)(n < L ? (1 << n) - 1 : 255), from);
#elif defined(__AVX2__)
    static const int32_t mask[2 * L] = {-1, -1, -1, -1, -1, -1, -1, -1};
    if (n >= L) return (lane_single)_mm256_loadu_ps(from);
    return (lane_single)_mm256_maskload_ps(from, _mm256_loadu_si256((const __m256i_u *)(mask + L - n)));
#else
    lane_single value = {0};
    for (int i = 0; i < n && i < L; i++) value[i] = from[i];
    return value;
#endif
}

INLINE void lane_store_single(int n, float *to, lane_single value) {
#ifdef __AVX512VL__
    _mm256_mask_storeu_ps(to, (__mmask8)(n < L ? (1 << n) - 1 : 255), (__m256)value);
#elif defined(__AVX2__) /* in pieces: stores with a mask are slow on many of these processors */
    __m128 rest = _mm256_castps256_ps128((__m256)value);
    if (n >= L) {
        _mm256_storeu_ps(to, (__m256)value);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps((__m256)value, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (n & 1) _mm_store_ss(to, rest);
#else
    for (int i = 0; i < n && i < L; i++) to[i] = value[i];
#endif
}

/* A lane vector moved by one lane, part by part: up, where `before` ends with what comes in, and down, where
 * `after` begins with it. */
#define LANE_UP_2   1, 2
#define LANE_UP_4   3, 4, 5, 6
#define LANE_UP_8   7, 8, 9, 10, 11, 12, 13, 14
#define LANE_DOWN_2 1, 2
#define LANE_DOWN_4 1, 2, 3, 4
#define LANE_DOWN_8 1, 2, 3, 4, 5, 6, 7, 8
INLINE packet lane_up(packet before, packet u) {
    return __builtin_shufflevector(before, u, LANE_JOIN(LANE_UP, PART));
}
INLINE packet lane_down(packet u, packet after) {
    return __builtin_shufflevector(u, after, LANE_JOIN(LANE_DOWN, PART));
}
INLINE packet_single lane_up_single(packet_single before, packet_single u) {
    return __builtin_shufflevector(before, u, LANE_JOIN(LANE_UP, PART_SINGLE));
}
INLINE packet_single lane_down_single(packet_single u, packet_single after) {
    return __builtin_shufflevector(u, after, LANE_JOIN(LANE_DOWN, PART_SINGLE));
}

/* Rows become columns: blocks of 1, of 2, of 4. */
#define LANE_TRANSPOSE(name, type)                                                                           \
    INLINE void name(type *a) {                                                                              \
        type b[L], c[L];                                                                                     \
        for (int i = 0; i < L; i += 2) {                                                                     \
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);                       \
            b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);                   \
        }                                                                                                    \
        for (int i = 0; i < L; i++)                                                                          \
            c[i] = i & 2 ? __builtin_shufflevector(b[i - 2], b[i], 2, 3, 10, 11, 6, 7, 14, 15)               \
                         : __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);                \
        for (int i = 0; i < L / 2; i++) {                                                                    \
            a[i] = __builtin_shufflevector(c[i], c[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);                        \
            a[i + 4] = __builtin_shufflevector(c[i], c[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);                  \
        }                                                                                                    \
    }
LANE_TRANSPOSE(lane_transpose, lane)
#if defined(__AVX2__) &&                                                                                     \
    !defined(__AVX512VL__) /* shuffles within halves of a register, which compilers do not find */
INLINE void lane_transpose_single(lane_single *a) {
    __m256 b[L], c[L];
    for (int i = 0; i < L; i += 2) {
        b[i] = _mm256_unpacklo_ps((__m256)a[i], (__m256)a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps((__m256)a[i], (__m256)a[i + 1]);
    }
    for (int i = 0; i < L; i += 4)
        for (int k = 0; k < 2; k++) {
            c[i + 2 * k] = _mm256_shuffle_ps(b[i + k], b[i + k + 2], 0x44);
            c[i + 2 * k + 1] = _mm256_shuffle_ps(b[i + k], b[i + k + 2], 0xee);
        }
    for (int i = 0; i < L / 2; i++) {
        a[i] = (lane_single)_mm256_permute2f128_ps(c[i], c[i + 4], 0x20);
        a[i + 4] = (lane_single)_mm256_permute2f128_ps(c[i], c[i + 4], 0x31);
    }
}
#else
LANE_TRANSPOSE(lane_transpose_single, lane_single)
#endif

/* What one register takes of them. */
INLINE packet lane_part(int n, const double *from) {
#if PART == 8
    return (packet)lane_load(n, from);
#elif PART == 4
    static const int64_t mask[2 * PART] = {-1, -1, -1, -1};
    if (n >= PART) return (packet)_mm256_loadu_pd(from);
    return (packet)_mm256_maskload_pd(from, _mm256_loadu_si256((const __m256i_u *)(mask + PART - n)));
#else
    return n >= PART ? (packet){from[0], from[1]} : (packet){from[0], 0.0};
#endif
}

INLINE packet_single lane_part_single(int n, const float *from) {
#if PART_SINGLE == 8
    return (packet_single)lane_load_single(n, from);
#else
    packet_single value = {0};
    for (int i = 0; i < n && i < PART_SINGLE; i++) value[i] = from[i];
    return value;
#endif
}

INLINE void lane_put(int n, double *to, packet value) {
#if PART == 8
    lane_store(n, to, (lane)value);
#else
    for (int i = 0; i < n && i < PART; i++) to[i] = value[i];
#endif
}

INLINE void lane_put_single(int n, float *to, packet_single value) {
#if PART_SINGLE == 8
    lane_store_single(n, to, (lane_single)value);
#else
    for (int i = 0; i < n && i < PART_SINGLE; i++) to[i] = value[i];
#endif
}

/* Four numbers in a row, as packets are made of them: the first n of four, zeros behind them; and back. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef float four_single __attribute__((vector_size(4 * sizeof(float))));

INLINE four lane_read(int n, const double *from) {
#ifdef __AVX2__
    if (n == 4) return (four)_mm256_loadu_pd(from);
    if (n == 3) return (four)_mm256_maskload_pd(from, _mm256_setr_epi64x(-1, -1, -1, 0));
    return (four)_mm256_zextpd128_pd256(n == 2 ? _mm_loadu_pd(from) : _mm_load_sd(from));
#else
    four value = {0};
    for (int i = 0; i < n; i++) value[i] = from[i];
    return value;
#endif
}

INLINE four_single lane_read_single(int n, const float *from) {
#ifdef __AVX2__
    if (n == 4) return (four_single)_mm_loadu_ps(from);
    if (n == 3) return (four_single)_mm_maskload_ps(from, _mm_setr_epi32(-1, -1, -1, 0));
    return (four_single)(n == 2 ? _mm_castsi128_ps(_mm_loadl_epi64((const __m128i_u *)from))
                                : _mm_load_ss(from));
#else
    four_single value = {0};
    for (int i = 0; i < n; i++) value[i] = from[i];
    return value;
#endif
}

INLINE void lane_write(int n, double *to, four value) {
#ifdef __AVX2__
    __m256d v = (__m256d)value;
    if (n == 4) {
        _mm256_storeu_pd(to, v);
        return;
    }
    if (n >= 2) _mm_storeu_pd(to, _mm256_castpd256_pd128(v));
    if (n == 3) v = _mm256_castpd128_pd256(_mm256_extractf128_pd(v, 1));
    if (n & 1) _mm_store_sd(to + n - 1, _mm256_castpd256_pd128(v));
#else
    for (int i = 0; i < n; i++) to[i] = value[i];
#endif
}

INLINE void lane_write_single(int n, float *to, four_single value) {
#ifdef __AVX2__
    __m128 v = (__m128)value;
    if (n == 4) {
        _mm_storeu_ps(to, v);
        return;
    }
    if (n >= 2) _mm_storel_pi((__m64 *)to, v);
    if (n == 3) v = _mm_movehl_ps(v, v);
    if (n & 1) _mm_store_ss(to + n - 1, v);
#else
    for (int i = 0; i < n; i++) to[i] = value[i];
#endif
}

/* to += value, in pieces that the next read of the same numbers finds in the store buffer. */
INLINE void lane_add(int n, double *to, four value) {
#ifdef __AVX2__
    __m256d v = (__m256d)value;
    if (n == 4) {
        _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), v));
        return;
    }
    if (n >= 2) _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm256_castpd256_pd128(v)));
    if (n == 3) v = _mm256_castpd128_pd256(_mm256_extractf128_pd(v, 1));
    if (n & 1) to[n - 1] += _mm256_cvtsd_f64(v);
#else
    for (int i = 0; i < n; i++) to[i] += value[i];
#endif
}

INLINE void lane_add_single(int n, float *to, four_single value) {
#ifdef __AVX2__
    __m128 v = (__m128)value;
    if (n == 4) {
        _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), v));
        return;
    }
    if (n >= 2) {
        __m128 old = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i_u *)to));
        _mm_storel_pi((__m64 *)to, _mm_add_ps(old, v));
    }
    if (n == 3) v = _mm_movehl_ps(v, v);
    if (n & 1) to[n - 1] += _mm_cvtss_f32(v);
#else
    for (int i = 0; i < n; i++) to[i] += value[i];
#endif
}

/* Four packets: a[k] has row k of four numbers (lanes 0 .. 3) and, where there are eight lanes, row k + 4
 * (lanes 4 .. 7). Rows become columns: a[k] has then number k of all rows; and back. */
INLINE void lane_turn(packet *a) {
#if PART == 8
    packet b[4];
    for (int i = 0; i < 4; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#elif PART == 4
    packet b[4];
    for (int i = 0; i < 4; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
        a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
    }
#else
    (void)a;
#endif
}

INLINE void lane_turn_single(packet_single *a) {
    packet_single b[4];
#if PART_SINGLE == 8
    for (int i = 0; i < 4; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        a[2 * i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#else
    for (int i = 0; i < 4; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 1, 5);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        a[2 * i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
        a[2 * i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
    }
#endif
}

/* Rows of four from the lanes of a packet: row k in the first half, row k + 4 in the second. */
#if PART == 8
INLINE packet lane_join(four a, four b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
INLINE four lane_half_of(packet a, int second) {
    return second ? __builtin_shufflevector(a, a, 4, 5, 6, 7) : __builtin_shufflevector(a, a, 0, 1, 2, 3);
}
#elif PART == 4
INLINE packet lane_join(four a, four b) {
    (void)b;
    return a;
}
INLINE four lane_half_of(packet a, int second) {
    (void)second;
    return a;
}
#endif
#if PART_SINGLE == 8
INLINE packet_single lane_join_single(four_single a, four_single b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
INLINE four_single lane_half_of_single(packet_single a, int second) {
    return second ? __builtin_shufflevector(a, a, 4, 5, 6, 7) : __builtin_shufflevector(a, a, 0, 1, 2, 3);
}
#else
INLINE packet_single lane_join_single(four_single a, four_single b) {
    (void)b;
    return a;
}
INLINE four_single lane_half_of_single(packet_single a, int second) {
    (void)second;
    return a;
}
#endif

/* The kernels of kernels.def that simd.c lists, name_ISA and name_single_ISA. All that these files export
 * bears the name of the instruction set they are compiled for, so that several can stand in one library. */
#ifndef FACET_ISA
#    define FACET_ISA simd
#endif
#define OF(name) LANE_JOIN(name, FACET_ISA)
#include "kernels/declare.h"

#endif
