/* Loops inside one cell of a box that compilers vectorize as they stand: the specification, and compiled for
 * every instruction set by kernels/simd. The includer has defined OF(name). */
#include <string.h>

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
