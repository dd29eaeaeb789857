/* Elementary functions for one number, without branches, so that a loop over them becomes vector
 * instructions; kernels/expression_block.h has the loops. At most 2 ulp (tests/expr/test_functions.c), special
 * values as in C.
 *
 * The same bits come out of every compiler, instruction set and GPU with fused multiply-adds: all of them
 * stand here as FMA, and the includer is compiled such that the compiler makes none of its own and takes none
 * apart (CMakeLists.txt; -fmad=false for CUDA). With FUNCTIONS_FUSED they are exact everywhere, by a call of
 * libm where the processor has none. Else, on x86-64 before v3, FMA rounds twice: the same accuracy, other
 * last bits.
 *
 * Polynomials and constants are those of tools/polynomials.py. Pairs hi + lo stand for their exact sum. */
#ifndef FACET_KERNELS_FUNCTIONS_H
#define FACET_KERNELS_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define FUNCTION           static __device__ __forceinline__
#    define TABLE(type, name)  static __device__ const type name
#    define FMA(a, b, c)       __fma_rn(a, b, c)
#    define HIGH_PRODUCT(a, b) __umul64hi(a, b)
#    define FUSED              1
#else
#    define FUNCTION           static inline __attribute__((always_inline, unused))
#    define TABLE(type, name)  static const type name
#    define HIGH_PRODUCT(a, b) ((uint64_t)(((unsigned __int128)(a) * (b)) >> 64))
#    if defined FUNCTIONS_FUSED || defined __FMA__ || defined __ARM_FEATURE_FMA
#        define FMA(a, b, c) __builtin_fma(a, b, c)
#        define FUSED        1
#    else
#        define FMA(a, b, c) ((a) * (b) + (c))
#        define FUSED        0
#    endif
#endif

#include "kernels/polynomials.h"

struct pair {
    double hi, lo;
};

FUNCTION uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
FUNCTION double number_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#define SIGN_BIT 0x8000000000000000u
/* Adding it rounds to an integer, which then stands in the last bits. */
#define ROUNDER     0x1.8p52
#define NOT_FINITE  0x7ff0000000000000u /* the bits of infinity; those of NaN without the sign are more */
#define FN_NAN      number_of(0x7ff8000000000000u)
#define FN_INFINITE number_of(NOT_FINITE)

FUNCTION double fn_abs(double x) {
    return number_of(bits_of(x) & ~SIGN_BIT);
}
/* |x| with the sign of `sign`; x with it changed where `sign` is negative. */
FUNCTION double with_sign(double x, double sign) {
    return number_of((bits_of(x) & ~SIGN_BIT) | (bits_of(sign) & SIGN_BIT));
}
FUNCTION double times_sign(double x, double sign) {
    return number_of(bits_of(x) ^ (bits_of(sign) & SIGN_BIT));
}

/* a b - p, where p is a b rounded. */
FUNCTION double lost(double a, double b, double p) {
#if FUSED
    return FMA(a, b, -p);
#else
    const double ca = 0x1.000002p27 * a, cb = 0x1.000002p27 * b, ah = ca - (ca - a), bh = cb - (cb - b),
                 al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}
/* y - q x, small beside y */
FUNCTION double remainder_of(double y, double q, double x) {
#if FUSED
    return FMA(-q, x, y);
#else
    const double p = q * x;
    return (y - p) - lost(q, x, p);
#endif
}
/* a + b, |a| >= |b| or a = 0 */
FUNCTION struct pair sum_of(double a, double b) {
    struct pair sum;
    sum.hi = a + b;
    sum.lo = b - (sum.hi - a);
    return sum;
}
FUNCTION struct pair sum_of_any(double a, double b) {
    struct pair sum;
    sum.hi = a + b;
    const double t = sum.hi - a;
    sum.lo = (a - (sum.hi - t)) + (b - t);
    return sum;
}
FUNCTION struct pair product_of(struct pair a, struct pair b) {
    struct pair product;
    product.hi = a.hi * b.hi;
    product.lo = FMA(a.hi, b.lo, FMA(a.lo, b.hi, lost(a.hi, b.hi, product.hi)));
    return product;
}
FUNCTION double quotient_of(struct pair a, struct pair b) {
    const double q = a.hi / b.hi;
    return q + FMA(-q, b.lo, remainder_of(a.hi, q, b.hi) + a.lo) / b.hi;
}

/* ------------------------------------------------------------------------------------------ floor, ceil */

FUNCTION double fn_floor(double x) {
    const double m = fn_abs(x), r = with_sign((m + 0x1p52) - 0x1p52, x);
    const double down = r > x ? r - 1.0 : r;
    return m < 0x1p52 ? down : x;
}
FUNCTION double fn_ceil(double x) {
    return -fn_floor(-x);
}

/* -------------------------------------------------------------------------------------- sin, cos, tan */

/* x = quadrant pi/2 + (hi + lo), |hi| <= pi/4; only the last two bits of the quadrant are right. */
struct angle {
    double hi, lo;
    uint64_t quadrant;
};

/* Beyond this many radians, products of three parts of pi/2 are no longer exact. */
#define FAR 131072.0

/* 0 <= x <= FAR; NaN of what is not finite. */
FUNCTION struct angle angle_near(double x) {
    struct angle angle;
    const double t = FMA(x, TWO_BY_PI, ROUNDER), n = t - ROUNDER;
    const double a = FMA(-n, HALF_PI_1, x), b = -n * HALF_PI_2;
    const struct pair r = sum_of_any(a, b);
    angle.hi = r.hi;
    angle.lo = FMA(-n, HALF_PI_3, r.lo);
    angle.quadrant = bits_of(t);
    return angle;
}

/* The same for all finite x > 2^17: of the digits of 2/pi those that x makes neither multiples of 4 nor too
 * small, times the 53 bits of x, in integers of 192 bits. */
FUNCTION struct angle angle_far(double x) {
    struct angle angle;
    const uint64_t bits = bits_of(x), m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
    const int first = (int)(bits >> 52) - 1075 - 2 + 64, word = first / 64, shift = first % 64;
    uint64_t w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = two_by_pi_digits[word + i] << shift;
        if (shift > 0) w[i] |= two_by_pi_digits[word + i + 1] >> (64 - shift);
    }
    const uint64_t low = m * w[2], middle = m * w[1] + HIGH_PRODUCT(m, w[2]);
    const uint64_t high = m * w[0] + HIGH_PRODUCT(m, w[1]) + (middle < HIGH_PRODUCT(m, w[2]));
    uint64_t f = high << 2 | middle >> 62, g = middle << 2 | low >> 62; /* 128 bits behind the point */
    const int up = (int)(f >> 63);
    angle.quadrant = (high >> 62) + (uint64_t)up;
    if (up) {
        f = ~f + (g == 0);
        g = ~g + 1;
    }
    const double a = (double)(f >> 32) * 0x1p-32, b = (double)(f & 0xffffffffu) * 0x1p-64,
                 c = (double)(g >> 32) * 0x1p-96, d = (double)(g & 0xffffffffu) * 0x1p-128;
    const struct pair upper = sum_of_any(a, b), lower = sum_of_any(c, d);
    struct pair turn = sum_of_any(upper.hi, upper.lo + lower.hi), half_pi = {HALF_PI_PAIR_1, HALF_PI_PAIR_2};
    turn.lo += lower.lo;
    const struct pair r = product_of(turn, half_pi);
    angle.hi = up ? -r.hi : r.hi;
    angle.lo = up ? -r.lo : r.lo;
    return angle;
}

FUNCTION struct pair sin_of(struct angle angle) {
    const double hi = angle.hi, lo = angle.lo, z = hi * hi;
    return sum_of(hi, FMA(hi * z, polynomial_sin(z), lo * FMA(z, -0.5, 1.0)));
}
FUNCTION struct pair cos_of(struct angle angle) {
    const double hi = angle.hi, lo = angle.lo, z = hi * hi, h = 0.5 * z, w = 1.0 - h;
    return sum_of(w, ((1.0 - w) - h) + FMA(z * z, polynomial_cos(z), -hi * lo));
}

/* From the angle of |x|. */
FUNCTION double sin_by(struct angle angle, double x) {
    const double s = sin_of(angle).hi, c = cos_of(angle).hi;
    const double value = angle.quadrant & 1 ? c : s;
    return times_sign(number_of(bits_of(value) ^ (angle.quadrant & 2) << 62), x);
}
FUNCTION double cos_by(struct angle angle, double x) {
    const double s = sin_of(angle).hi, c = cos_of(angle).hi;
    const double value = angle.quadrant & 1 ? s : c;
    (void)x;
    return number_of(bits_of(value) ^ ((angle.quadrant + 1) & 2) << 62);
}
FUNCTION double tan_by(struct angle angle, double x) {
    const struct pair s = sin_of(angle), c = cos_of(angle);
    const int odd = (int)(angle.quadrant & 1);
    const struct pair a = {odd ? c.hi : s.hi, odd ? c.lo : s.lo}, b = {odd ? s.hi : c.hi, odd ? s.lo : c.lo};
    const double value = quotient_of(a, b);
    return times_sign(odd ? -value : value, x);
}

/* Right up to FAR; the loops repair the others (fn_far), of which there are hardly ever any. */
FUNCTION double fn_sin(double x) {
    return sin_by(angle_near(fn_abs(x)), x);
}
FUNCTION double fn_cos(double x) {
    return cos_by(angle_near(fn_abs(x)), x);
}
FUNCTION double fn_tan(double x) {
    const double value = tan_by(angle_near(fn_abs(x)), x);
    return x == 0 ? x : value;
}
FUNCTION int fn_is_far(double x) {
    const double m = fn_abs(x);
    return m > FAR && bits_of(m) < NOT_FINITE;
}

/* ------------------------------------------------------------------------------------------- exp, sinh */

/* exp(hi + lo) = 2^k (1 + p), |p| < 0.42; k in two's complement. -750 < hi < 750 */
struct growth {
    struct pair p;
    uint64_t k;
};
FUNCTION struct growth growth_of(double hi, double lo) {
    struct growth g;
    const double t = FMA(hi, LOG2_E, ROUNDER), n = t - ROUNDER;
    const double a = FMA(-n, LN2_1, hi), b = -n * LN2_2, r0 = a + b;
    const struct pair r = sum_of(r0, (b - (r0 - a)) + lo);
    g.p = sum_of(r.hi, FMA(r.hi * r.hi, polynomial_exp(r.hi), r.lo));
    g.k = bits_of(t) - bits_of(ROUNDER);
    return g;
}
/* 2^k in two factors, of which the first is far from underflow and overflow; |k| < 2000 */
FUNCTION struct pair power_of_two(uint64_t k) {
    const uint64_t half = ((k + 2048) >> 1) - 1024;
    struct pair factors;
    factors.hi = number_of((half + 1023) << 52);
    factors.lo = number_of((k - half + 1023) << 52);
    return factors;
}
FUNCTION double clamped(double x, double most) {
    const double y = x > most ? most : x;
    return y < -most ? -most : y;
}

FUNCTION double fn_exp(double x) {
    const struct growth g = growth_of(clamped(x, 750.0), 0.0);
    const struct pair two = power_of_two(g.k);
    return (1.0 + g.p.hi) * two.hi * two.lo;
}

/* (exp(x) - 1)/2 / two.lo for x >= 0, without loss near 0; *two: of the power of two. */
FUNCTION struct pair half_growth(double x, double *factor) {
    const struct growth g = growth_of(clamped(x, 750.0), 0.0);
    const struct pair two = power_of_two(g.k - 1);
    const double whole = two.hi - number_of(0x7fd0000000000000u - bits_of(two.lo)); /* 1/2 / two.lo */
    struct pair sum = sum_of(whole, two.hi * g.p.hi);
    sum.lo += two.hi * g.p.lo;
    *factor = two.lo;
    return sum;
}
/* With t = (e^|x| - 1)/2: sinh = t + t/(2t + 1), tanh |x|/2 = t/(t + 1), where nothing cancels. */
FUNCTION double fn_sinh(double x) {
    double factor;
    const struct pair t = half_growth(fn_abs(x), &factor);
    const double hi = t.hi * factor, lo = t.lo * factor, q = hi / FMA(2.0, hi, 1.0);
    const double value = hi + (q + lo), large = hi;
    return with_sign(hi > 0x1p60 ? large : value, x);
}
FUNCTION double fn_cosh(double x) {
    const struct growth g = growth_of(clamped(fn_abs(x), 750.0), 0.0);
    const struct pair two = power_of_two(g.k - 1);
    const struct pair e = sum_of(1.0, g.p.hi);
    const double half = e.hi * two.hi * two.lo, lo = (e.lo + g.p.lo) * two.hi * two.lo;
    const double value = half + (0.25 / half + lo);
    return half < FN_INFINITE ? value : half;
}
FUNCTION double fn_tanh(double x) {
    const double m = fn_abs(x);
    double factor;
    struct pair t = half_growth(m > 20.0 ? 40.0 : m + m, &factor);
    t.hi *= factor;
    t.lo *= factor;
    struct pair below = sum_of_any(t.hi, 1.0);
    below.lo += t.lo;
    const double value = with_sign(quotient_of(t, below), x);
    return x == 0 || x != x ? x : value;
}

/* ----------------------------------------------------------------------------------------- log, pow */

/* x = 2^k m, sqrt(1/2) <= m < sqrt(2), x > 0 */
FUNCTION double mantissa_of(double x, double *k) {
    const int tiny = x < 0x1p-1022;
    const uint64_t bits = bits_of(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    *k = number_of(bits >> 52 | 0x4330000000000000u) - (tiny ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0);
    return number_of((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
}
FUNCTION double log_limits(double x, double value) {
    value = x < FN_INFINITE ? value : x;
    value = x == 0 ? -FN_INFINITE : value;
    return x < 0 ? FN_NAN : value;
}

/* With f = m - 1, s = f/(2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + (log((1 + s)/(1 - s)) - 2s)/s). */
FUNCTION double fn_log(double x) {
    double k;
    const double f = mantissa_of(x, &k) - 1.0, h = 0.5 * f * f, s = f / (2.0 + f), z = s * s;
    const double low = FMA(s, FMA(z, polynomial_log(z), h), k * LN2_2);
    return log_limits(x, FMA(k, LN2_1, f - (h - low)));
}

/* log(x) as a pair, to some 66 bits; x > 0 and finite. */
FUNCTION struct pair log_pair(double x) {
    double k;
    const double f = mantissa_of(x, &k) - 1.0, g = 2.0 + f, g_lo = f - (g - 2.0);
    struct pair s, z, c, l;
    const double by = 1.0 / g;
    s.hi = f * by;
    s.lo = FMA(-s.hi, g_lo, remainder_of(f, s.hi, g)) * by;
    z.hi = s.hi * s.hi;
    z.lo = FMA(2.0 * s.hi, s.lo, lost(s.hi, s.hi, z.hi));
    c = sum_of(TWO_THIRDS_1, FMA(z.hi, polynomial_log_tail(z.hi), TWO_THIRDS_2));
    c = product_of(z, c);
    l = sum_of(2.0, c.hi);
    l.lo += c.lo;
    l = product_of(l, s);
    s = sum_of(k * LN2_1, l.hi);
    l = sum_of(s.hi, FMA(k, LN2_2, s.lo + l.lo));
    return l;
}
FUNCTION double fn_log10(double x) {
    const struct pair by = {LOG10_E_1, LOG10_E_2}, product = product_of(log_pair(x), by);
    return log_limits(x, product.hi + product.lo);
}

/* x^y for 0 < x < infinity and finite y, l being the logarithm of x. Loops take it in two passes, the
 * logarithms first: the chain from one end to the other is too long for a processor to begin the next numbers
 * meanwhile. */
FUNCTION double pow_plain(struct pair l, double y) {
    const double hi = y * l.hi, lo = FMA(y, l.lo, lost(y, l.hi, hi));
    const struct growth g = growth_of(clamped(hi, 750.0), fn_abs(hi) < 750.0 ? lo : 0.0);
    const struct pair two = power_of_two(g.k);
    return (1.0 + g.p.hi) * two.hi * two.lo;
}
FUNCTION int pow_is_plain(double x, double y) {
    const double least = x > 0 ? x : FN_INFINITE, size = fn_abs(y);
    return (least > size ? least : size) < FN_INFINITE;
}
/* The same for all x and y. */
FUNCTION double fn_pow(double x, double y) {
    const double m = fn_abs(x), size = fn_abs(y);
    double value = pow_plain(log_pair(m), y);
    /* m = 0, infinity and y = infinity have limits; m = 1 and y = 0 give 1 whatever the other is. */
    const double grows = y > 0 ? FN_INFINITE : 0.0, falls = y > 0 ? 0.0 : FN_INFINITE;
    value = m == 0 ? falls : value;
    value = m == FN_INFINITE ? grows : value;
    value = size == FN_INFINITE ? (m > 1 ? grows : falls) : value;
    value = m == 1 ? 1.0 : value;
    /* Signs: of integers the odd ones keep that of x, other exponents have no value for x < 0. */
    const int whole = fn_floor(y) == y, odd = whole && fn_floor(0.5 * y) != 0.5 * y;
    value = odd ? with_sign(value, x) : value;
    value = x < 0 && !whole && m != FN_INFINITE ? FN_NAN : value;
    value = x != x ? x : value;
    value = y != y ? y : value;
    return y == 0 || x == 1 ? 1.0 : value;
}

/* ------------------------------------------------------------------------------------ atan, asin, acos */

/* atan(q + lo), q >= 0, |lo| an ulp of q at most: from 0, pi/4 or pi/2 whichever is nearest, by
 * t = q, (q - 1)/(q + 1), -1/q, of which the rounding error is known too. */
FUNCTION double atan_from(double q, double lo) {
    q = q > 0x1p60 ? 0x1p60 : q;
    const double near_one = q + 1.0, far = 0x1.3504f333f9de6p+1,
                 middle = 0x1.a827999fcef34p-2; /* tan 3pi/8, pi/8 */
    double above = q > middle ? q - 1.0 : q, below = q > middle ? near_one : 1.0;
    double below_lo = q > middle ? q - (near_one - 1.0) : 0.0, twice = q > middle ? 2.0 : 1.0;
    double share = q > middle ? 0.5 : 0.0; /* the angle to begin from, in units of pi/2 */
    above = q > far ? -1.0 : above;
    below = q > far ? q : below;
    below_lo = q > far ? 0.0 : below_lo;
    twice = q > far ? 1.0 : twice;
    share = q > far ? 1.0 : share;
    const double by = 1.0 / below, t = above * by, z = t * t;
    const double t_lo = FMA(lo, twice * (by * by), FMA(-t, below_lo, remainder_of(above, t, below)) * by);
    const double base = share * HALF_PI_PAIR_1, base_lo = share * HALF_PI_PAIR_2;
    const double rest = FMA(t * z, polynomial_atan(z), base_lo + t_lo);
    const struct pair sum = sum_of(base, t);
    return sum.hi + (sum.lo + rest);
}
FUNCTION double fn_atan(double x) {
    return with_sign(atan_from(fn_abs(x), 0.0), x);
}
FUNCTION double fn_atan2(double y, double x) {
    const double a = fn_abs(y), b = fn_abs(x);
    double q = a / b;
    q = a == b ? 1.0 : q;
    q = a == 0 ? 0.0 : q;
    double lo = remainder_of(a, q, b) / b;
    lo = fn_abs(lo) < 0x1p-50 * q ? lo : 0.0;
    lo = q < 0x1p-960 ? 0.0 : lo;
    lo = q > 0x1p55 ? 0.0 : lo;
    const double angle = atan_from(q, lo);
    const double other = 2.0 * HALF_PI_PAIR_1 - (angle - 2.0 * HALF_PI_PAIR_2);
    const double value = with_sign(bits_of(x) & SIGN_BIT ? other : angle, y);
    return x != x ? x : y != y ? y : value;
}

/* asin(s)/s - 1 for s^2 = z <= 1/4 */
FUNCTION double asin_rest(double z) {
    return z * polynomial_asin(z);
}
/* For |x| > 1/2: asin = pi/2 - 2 asin(sqrt((1 - |x|)/2)). */
FUNCTION struct pair root_of_half(double z) {
    struct pair root;
    root.hi = sqrt(z);
    root.lo = z > 0 ? 0.5 * remainder_of(z, root.hi, root.hi) / root.hi : 0.0;
    return root;
}
FUNCTION double fn_asin(double x) {
    const double m = fn_abs(x), z = m > 0.5 ? 0.5 * (1.0 - m) : m * m, rest = asin_rest(z);
    const struct pair s = root_of_half(z);
    const struct pair top = sum_of(HALF_PI_PAIR_1, -2.0 * s.hi);
    const double upper = top.hi + (top.lo + (HALF_PI_PAIR_2 - 2.0 * FMA(s.hi, rest, s.lo)));
    return with_sign(m > 0.5 ? upper : FMA(m, rest, m), x);
}
FUNCTION double fn_acos(double x) {
    const double m = fn_abs(x), z = m > 0.5 ? 0.5 * (1.0 - m) : m * m, rest = asin_rest(z);
    const struct pair s = root_of_half(z);
    const struct pair inner = sum_of(HALF_PI_PAIR_1, -x), outer = sum_of(2.0 * HALF_PI_PAIR_1, -2.0 * s.hi);
    const double low = FMA(s.hi, rest, s.lo), near_one = 2.0 * (s.hi + low);
    const double near_less_one = outer.hi + (outer.lo + (2.0 * HALF_PI_PAIR_2 - 2.0 * low));
    const double centre = inner.hi + (inner.lo + (HALF_PI_PAIR_2 - x * rest));
    return m > 0.5 ? (x > 0 ? near_one : near_less_one) : centre;
}

/* --------------------------------------------------------------------------------------- erf, hypot */

FUNCTION double fn_erf(double x) {
    const double m = fn_abs(x), z = m * m, c = m > 6.0 ? 6.0 : m;
    const double small = m + m * FMA(z, polynomial_erf(z), TWO_BY_ROOT_PI_LESS_ONE);
    const double tail = polynomial_erf_tail((c - 2.0) / (c + 2.0)) * fn_exp(-c * c) / (1.0 + c);
    return with_sign(m < 1.0 ? small : m == m ? 1.0 - tail : m, x);
}

FUNCTION double fn_hypot(double x, double y) {
    const double a = fn_abs(x), b = fn_abs(y), m = a > b ? a : b;
    const double scale = m > 0x1p500    ? 0x1p-600
                         : m < 0x1p-400 ? 0x1p600
                                        : 1.0,
                 back = m > 0x1p500    ? 0x1p600
                        : m < 0x1p-400 ? 0x1p-600
                                       : 1.0;
    const double p = a * scale, q = b * scale;
    const double value = sqrt(FMA(p, p, q * q)) * back;
    return a == FN_INFINITE || b == FN_INFINITE ? FN_INFINITE : value;
}

#endif
