/* Plain C: fluxes, post-processing and errors of the cells of tiles (kernels/tile.h). */
#include <math.h>
#include <stddef.h>

#include "kernels/ref/ref.h"
#include "kernels/tile.h"

void tile_flux_ref(const struct tile_plan *t, int n, int even, int d, const double *flux, const double *ends,
                   const struct tile_scale *scale, int64_t width, const double *cells, double *q) {
    const int64_t size = tile_power(n, t->dim);
    for (int64_t c = 0; c < t->count; c++) {
        int at[3];
        tile_at(t, t->first + c, at);
        const int64_t kind = tile_kind(t, d, at);
        const double factor = tile_factor(t, scale, t->first + c, at);
        for (int64_t i = 0; i < size; i++)
            q[c * size + i] = factor * tile_flux_at(t->dim, n, even, d, flux + kind * n * n, ends + kind * n,
                                                    cells + c * width, i);
    }
}

void tile_divide_ref(const struct tile_plan *t, int n, const double *theta, const double *k,
                     const double *constants, double *x) {
    const int64_t size = tile_power(n, t->dim);
    for (int64_t c = 0; c < t->count; c++, x += size) {
        int at[3];
        double a[3];
        tile_at(t, t->first + c, at);
        tile_metric(t, at, k != NULL ? k[t->first + c] : 1.0, a);
        x[0] = constants[c];
        for (int64_t i = 1; i < size; i++)
            x[i] /= a[0] * theta[i % n] + (t->dim > 1 ? a[1] * theta[i / n % n] : 0.0) +
                    (t->dim > 2 ? a[2] * theta[i / n / n] : 0.0);
    }
}

void tile_difference_ref(const struct tile_plan *t, int n, const double *weights,
                         const struct tile_scale *scale, const double *values, const double *exact,
                         double *out) {
    const int64_t size = tile_power(n, t->dim);
    for (int64_t c = 0; c < t->count; c++, values += size, exact += size) {
        int at[3];
        double sum = 0.0, most = 0.0, volume = 1.0;
        tile_at(t, t->first + c, at);
        const double factor = tile_factor(t, scale, t->first + c, at);
        for (int d = 0; d < t->dim; d++) volume *= tile_width(t, d, at);
        for (int64_t i = 0; i < size; i++) {
            const double error = values[i] - factor * exact[i];
            double weight = weights[i % n];
            if (t->dim > 1) weight *= weights[i / n % n];
            if (t->dim > 2) weight *= weights[i / n / n];
            sum += weight * error * error;
            if (weight > 0.0) most = fmax(most, fabs(error));
        }
        out[2 * c] = volume * sum;
        out[2 * c + 1] = most;
    }
}

void tile_faces_ref(const struct tile_plan *t, int n, int n_points, const double *const *T,
                    const double *weights, int d, int side, int64_t width, const double *cells,
                    const double *exact, int add, double *out) {
    const int64_t points = tile_power(n_points, t->dim - 1), face = tile_power(n, t->dim - 1);
    for (int64_t c = 0; c < t->count; c++, cells += width, exact += points) {
        int at[3];
        double sum = 0.0;
        tile_at(t, t->first + c, at);
        for (int64_t i = 0; i < points; i++) {
            const double error =
                tile_trace_at(t, at, n, n_points, T, d, cells + face * (n + 2 * d + side), i) - exact[i];
            sum += tile_face_weight(t, at, n_points, weights, d, i) * error * error;
        }
        out[c] = (add ? out[c] : 0.0) + sum;
    }
}
