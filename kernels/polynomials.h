/* Made by tools/polynomials.py: best approximations of their degree, coefficients rounded. error:
 * relative, of the function that the polynomial serves. Included by kernels/functions.h. */
/* clang-format off */
#define HALF_PI_1 0x1.921fb54440000p+0 /* pi/2, parts short enough that products with 17 bits are exact */
#define HALF_PI_2 0x1.68c234c4c0000p-39
#define HALF_PI_3 0x1.98a2e03707345p-77
#define HALF_PI_PAIR_1 0x1.921fb54442d18p+0 /* pi/2 */
#define HALF_PI_PAIR_2 0x1.1a62633145c07p-54
#define LN2_1 0x1.62e42fefa2000p-1 /* log(2), parts short enough that products with 12 bits are exact */
#define LN2_2 0x1.9ef35793c6000p-41
#define LN2_3 0x1.673007e5ed5e8p-81
#define LOG10_E_1 0x1.bcb7b1526e50ep-2 /* 1/log(10) */
#define LOG10_E_2 0x1.95355baaafad3p-57
#define TWO_THIRDS_1 0x1.5555555555555p-1 /* 2/3 */
#define TWO_THIRDS_2 0x1.5555555555555p-55
#define TWO_BY_PI 0x1.45f306dc9c883p-1
#define LOG2_E 0x1.71547652b82fep+0
#define TWO_BY_ROOT_PI 0x1.20dd750429b6dp+0
#define TWO_BY_ROOT_PI_LESS_ONE 0x1.06eba8214db69p-3

/* 64 zeros, then the binary digits of 2/pi. */
TABLE(uint64_t, two_by_pi_digits[21]) = {0,
    0xa2f9836e4e441529u,
    0xfc2757d1f534ddc0u,
    0xdb6295993c439041u,
    0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u,
    0x06492eea09d1921cu,
    0xfe1deb1cb129a73eu,
    0xe88235f52ebb4484u,
    0xe99c7026b45f7e41u,
    0x3991d639835339f4u,
    0x9c845f8bbdf9283bu,
    0x1ff897ffde05980fu,
    0xef2f118b5a0a6d1fu,
    0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu,
    0x3d0739f78a5292eau,
    0x6bfb5fb11f8d5d08u,
    0x56033046fc7b6babu,
    0xf0cfbc209af4361du};

/* (sin r - r)/r^3 by z = r^2; |r| < pi/4, error 3.4e-18 */
FUNCTION double polynomial_sin(double z) {
    const double a0 = FMA(z, 0x1.111111110f87ap-7, -0x1.5555555555549p-3);
    const double a1 = FMA(z, 0x1.71de3577b7ce1p-19, -0x1.a01a019c119a7p-13);
    const double a2 = FMA(z, 0x1.5d93014582cd8p-33, -0x1.ae5e663b91a9dp-26);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, a2, b0);
    return c0;
}

/* (cos r - 1 + r^2/2)/r^4 by z = r^2; |r| < pi/4, error 4.7e-20 */
FUNCTION double polynomial_cos(double z) {
    const double a0 = FMA(z, -0x1.6c16c16c1517ep-10, 0x1.555555555554cp-5);
    const double a1 = FMA(z, -0x1.27e4f809f2b27p-22, 0x1.a01a019cb1c09p-16);
    const double a2 = FMA(z, -0x1.8fae9d21afe3cp-37, 0x1.1ee9ebea890e4p-29);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, a2, b0);
    return c0;
}

/* (exp r - 1 - r)/r^2; |r| < log(2)/2, error 1.8e-17 */
FUNCTION double polynomial_exp(double r) {
    const double a0 = FMA(r, 0x1.555555555555cp-3, 0x1.0000000000005p-1);
    const double a1 = FMA(r, 0x1.111111110e698p-7, 0x1.5555555552092p-5);
    const double a2 = FMA(r, 0x1.a01a01b5efca9p-13, 0x1.6c16c17f520d5p-10);
    const double a3 = FMA(r, 0x1.71dde9ca93409p-19, 0x1.a019a6318e438p-16);
    const double a4 = FMA(r, 0x1.af771139432a2p-26, 0x1.28a3031fda747p-22);
    const double r2 = r * r;
    const double b0 = FMA(r2, a1, a0);
    const double b1 = FMA(r2, a3, a2);
    const double r4 = r2 * r2;
    const double c0 = FMA(r4, b1, b0);
    const double r8 = r4 * r4;
    const double d0 = FMA(r8, a4, c0);
    return d0;
}

/* (log((1 + s)/(1 - s)) - 2s)/s^3 by z = s^2; |s| < 0.1716, error 2.5e-18 */
FUNCTION double polynomial_log(double z) {
    const double a0 = FMA(z, 0x1.999999997fd78p-2, 0x1.5555555555592p-1);
    const double a1 = FMA(z, 0x1.c71c5205f39a6p-3, 0x1.24924941f5077p-2);
    const double a2 = FMA(z, 0x1.39a1a65ad2714p-3, 0x1.74663fa783d53p-3);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double b1 = FMA(z2, 0x1.2f063b1e81770p-3, a2);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, b1, b0);
    return c0;
}

/* (log((1 + s)/(1 - s)) - 2s - 2s^3/3)/s^5 by z = s^2; |s| < 0.1716, error 2.2e-20 */
FUNCTION double polynomial_log_tail(double z) {
    const double a0 = FMA(z, 0x1.2492492457d2ap-2, 0x1.9999999999b30p-2);
    const double a1 = FMA(z, 0x1.745ce9e1bc7d7p-3, 0x1.c71c722d6ae01p-3);
    const double a2 = FMA(z, 0x1.0f7fe1e677ba9p-3, 0x1.3b1eec5a81b64p-3);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double b1 = FMA(z2, 0x1.0e42f8399efe0p-3, a2);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, b1, b0);
    return c0;
}

/* (atan t - t)/t^3 by z = t^2; |t| < tan(pi/8), error 1.2e-18 */
FUNCTION double polynomial_atan(double z) {
    const double a0 = FMA(z, 0x1.99999999958ecp-3, -0x1.555555555553dp-2);
    const double a1 = FMA(z, 0x1.c71c70e7a3700p-4, -0x1.24924922b1249p-3);
    const double a2 = FMA(z, 0x1.3b111c65d5fe1p-4, -0x1.745cf90b337f6p-4);
    const double a3 = FMA(z, 0x1.df1167eeb7f16p-5, -0x1.10ebdda93ebb1p-4);
    const double a4 = FMA(z, 0x1.37ed41c3cd631p-5, -0x1.9cdc281a1b26cp-5);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double b1 = FMA(z2, a3, a2);
    const double b2 = FMA(z2, -0x1.259d493359940p-6, a4);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, b1, b0);
    const double z8 = z4 * z4;
    const double d0 = FMA(z8, b2, c0);
    return d0;
}

/* (asin s - s)/s^3 by z = s^2; |s| < 1/2, error 9.8e-19 */
FUNCTION double polynomial_asin(double z) {
    const double a0 = FMA(z, 0x1.333333332df03p-4, 0x1.5555555555578p-3);
    const double a1 = FMA(z, 0x1.f1c71a8b6797ep-6, 0x1.6db6db722c0ffp-5);
    const double a2 = FMA(z, 0x1.1c49ddb2bbe11p-6, 0x1.6e8bdfeb9a267p-6);
    const double a3 = FMA(z, 0x1.75775d15e8432p-7, 0x1.ca214ad90fdfbp-7);
    const double a4 = FMA(z, 0x1.e14e431e5994cp-9, 0x1.618bad7f2dd26p-7);
    const double a5 = FMA(z, -0x1.59fb2a41d42c1p-6, 0x1.65059a7991162p-6);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double b1 = FMA(z2, a3, a2);
    const double b2 = FMA(z2, a5, a4);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, b1, b0);
    const double c1 = FMA(z4, 0x1.0be5bb89ed470p-5, b2);
    const double z8 = z4 * z4;
    const double d0 = FMA(z8, c1, c0);
    return d0;
}

/* (erf x/x - 2/sqrt(pi))/x^2 by z = x^2; |x| < 1, error 7.5e-18 */
FUNCTION double polynomial_erf(double z) {
    const double a0 = FMA(z, 0x1.ce2f21a04153bp-4, -0x1.812746b0379cep-2);
    const double a1 = FMA(z, 0x1.565bccfc43433p-8, -0x1.b82ce31215e4ep-6);
    const double a2 = FMA(z, 0x1.f9a2c3f1b85b5p-14, -0x1.c02db0a9849f0p-11);
    const double a3 = FMA(z, 0x1.b984a77a4247bp-20, -0x1.f4cad28a3936ep-17);
    const double a4 = FMA(z, 0x1.d7d338ad51fa9p-27, -0x1.5c23229e2c109p-23);
    const double z2 = z * z;
    const double b0 = FMA(z2, a1, a0);
    const double b1 = FMA(z2, a3, a2);
    const double b2 = FMA(z2, -0x1.adbb6eaad35abp-31, a4);
    const double z4 = z2 * z2;
    const double c0 = FMA(z4, b1, b0);
    const double z8 = z4 * z4;
    const double d0 = FMA(z8, b2, c0);
    return d0;
}

/* erfc(x) exp(x^2) (1 + x) by t = (x - 2)/(x + 2); 1 < x < 6, error 2.5e-18 */
FUNCTION double polynomial_erf_tail(double t) {
    const double a0 = FMA(t, -0x1.0a36d7fac9f41p-2, 0x1.8849aa8fc2b30p-1);
    const double a1 = FMA(t, 0x1.5c7530c0aca40p-5, 0x1.35c57e12fa007p-5);
    const double a2 = FMA(t, -0x1.0fb9f9a1848afp-11, -0x1.9d9724259e909p-6);
    const double a3 = FMA(t, 0x1.2f80c028b5b43p-13, 0x1.0210a7467043fp-8);
    const double a4 = FMA(t, -0x1.271c3c1d49488p-13, -0x1.72783690976f0p-11);
    const double a5 = FMA(t, 0x1.05a10c2a047e4p-14, 0x1.e121a468ff229p-14);
    const double t2 = t * t;
    const double b0 = FMA(t2, a1, a0);
    const double b1 = FMA(t2, a3, a2);
    const double b2 = FMA(t2, a5, a4);
    const double t4 = t2 * t2;
    const double c0 = FMA(t4, b1, b0);
    const double c1 = FMA(t4, 0x1.383eb580b9b68p-18, b2);
    const double t8 = t4 * t4;
    const double d0 = FMA(t8, c1, c0);
    return d0;
}

/* clang-format on */
