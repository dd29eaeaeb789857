/* Loops inside one cell of a box that compilers vectorize as they stand: the specification, and compiled for
 * every instruction set by kernels/simd. The includer has defined OF(name). */
#include <string.h>

void OF(tensor_fold)(int64_t outer, int n, int64_t inner, int back, const double *in, double *out) {
    int pairs = n / 2, n_even = n - pairs;
    for (int64_t o = 0; o < outer; o++, in += n * inner, out += n * inner) {
        for (int q = 0; q < pairs; q++) {
            int high = n - 1 - q, odd = n_even + q;
            const double *one = in + (back ? q : high) * inner, *two = in + (back ? odd : q) * inner;
            double *sum = out + (back ? high : q) * inner, *difference = out + (back ? q : odd) * inner;
            for (int64_t r = 0; r < inner; r++) {
                sum[r] = one[r] + two[r];
                difference[r] = one[r] - two[r];
            }
        }
        if (pairs < n_even) memcpy(out + pairs * inner, in + pairs * inner, (size_t)inner * sizeof *out);
    }
}

/* Several sums, since one would wait for itself. */
double OF(tensor_weigh)(const int *extent, const double *const *weights, const double *u) {
    enum { SUMS = 8 };
    double sums[SUMS] = {0.0}, sum = 0.0;
    const int n = extent[0], whole = n / SUMS * SUMS;
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += n) {
            const double weight = weights[2][k] * weights[1][j];
            for (int i = 0; i < whole; i += SUMS)
                for (int s = 0; s < SUMS; s++) sums[s] += weight * weights[0][i + s] * u[i + s];
            for (int i = whole; i < n; i++) sums[i - whole] += weight * weights[0][i] * u[i];
        }
    for (int s = 0; s < SUMS; s++) sum += sums[s];
    return sum;
}

void OF(tensor_add)(const int *extent, const double *const *weights, double by, double *u) {
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += extent[0])
            for (int i = 0; i < extent[0]; i++) u[i] += by * weights[0][i] * weights[1][j] * weights[2][k];
}
