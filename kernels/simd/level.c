/* Set-up of levels on the trace: the floor is the bytes that are read of the element matrices, a few rows of
 * them. */
#include <string.h>

#include "kernels/simd/lane.h"
#include "kernels/summary.h"

#define TEMPLATE "kernels/simd/part_real.h"
#include "kernels/twice.h"

static int64_t row(int64_t i) {
    return i * (i + 1) / 2;
}

void OF(cell_lower)(int lanes, int64_t n_batches, int n_parts, int from, int to, const double *matrices,
                    double *lower) {
    const int64_t n = (int64_t)n_parts * to, size = row((int64_t)n_parts * from);
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const double *K = matrices + batch * size * L;
        double *at = lower + batch * row(n) * L;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j += to) {
                int64_t count = (i + 1 - j < to ? i + 1 - j : to) * L;
                memcpy(at, K + (row(i / to * from + i % to) + j / to * from) * L, (size_t)count * sizeof *at);
                at += count;
            }
    }
}

void OF(cell_summary)(int lanes, int64_t n_batches, int n_faces, int n_components, int n,
                      const double *matrices, double *summary) {
    const int m = n_faces > 0 ? n / n_faces : 0;
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const double *K = matrices + batch * row(n) * L;
        double *s = summary + batch * (3 + n_faces) * L, sum[L] = {0}, least[L], most[L] = {0};
        for (int l = 0; l < L; l++) least[l] = INFINITY;
        for (int i = 0; i < n; i++) {
            const double *entry = K + (row(i) + i) * L;
            for (int l = 0; l < L; l++) {
                least[l] = fmin(least[l], entry[l]);
                most[l] = fmax(most[l], entry[l]);
                sum[l] += entry[l];
            }
        }
        for (int l = 0; l < L; l++) {
            s[l] = least[l];
            s[L + l] = most[l];
            s[2 * L + l] = sum[l] / n;
        }
        for (int f = 0; f < n_faces; f++)
            for (int l = 0; l < L; l++)
                s[(3 + f) * L + l] = summary_constants(K + l, L, f * m, m / n_components, n_components);
    }
}
