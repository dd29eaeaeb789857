/* Tiles of cells of a box (kernels/tile.h): vectors run along rows inside a cell. By the calling thread:
 * callers share the tiles out, each of which stays in the cache of its thread. */
#include <string.h>

#include "kernels/simd/tensor.h"
#include "kernels/tile.h"

/* ------------------------------------------------------------------------------------- contractions */

/* Room for one cell between two directions. */
static int64_t cell_room(int dim, int n_in, int n_out) {
    const int64_t most = tile_power(n_in > n_out ? n_in : n_out, dim);
    return (most + KERNEL_SLACK + L - 1) / L * L;
}

/* The table of direction 0 by columns, for the kind of line that it was made for. */
struct turned {
    int64_t kind;
    double columns[(KERNEL_LINE + L) * KERNEL_LINE];
};

static void turn(const double *T, int64_t kind, int n_in, int n_out, struct turned *to) {
    const int padded = (n_out + L - 1) / L * L;
    if (to->kind == kind) return;
    to->kind = kind;
    T += kind * n_out * n_in;
    for (int q = 0; q < n_in; q++)
        for (int i = 0; i < padded; i++) to->columns[q * padded + i] = i < n_out ? T[i * n_in + q] : 0.0;
}

static void along_rows(int64_t outer, int n_in, int n_out, const struct turned *T, const double *in,
                       double *out) {
    const int padded = (n_out + L - 1) / L * L;
    for (int i = 0; i < n_out; i += L)
        multiply_rows(outer, n_out - i, n_in, T->columns + i, padded, in, n_in, out + i, n_out);
}

/* One cell, by T without scale; work: two rooms. Returns where the result is. */
static double *contract_cell(const struct tile_plan *t, const int at[3], int n_in, int n_out,
                             const double *const *T, struct turned *turned, const double *in, double *work,
                             int64_t room) {
    turn(T[0], tile_kind(t, 0, at), n_in, n_out, turned);
    along_rows(tile_power(n_in, t->dim - 1), n_in, n_out, turned, in, work);
    for (int d = 1; d < t->dim; d++) {
        const int64_t inner = tile_power(n_out, d), outer = tile_power(n_in, t->dim - 1 - d);
        const double *M = T[d] + (int64_t)tile_kind(t, d, at) * n_out * n_in,
                     *from = work + (d - 1) % 2 * room;
        double *to = work + d % 2 * room;
        for (int64_t o = 0; o < outer; o++)
            if (inner > 1)
                contract_columns(n_out, n_in, inner, M, from + o * n_in * inner, to + o * n_out * inner);
            else
                OF(tensor_contract)(1, n_out, n_in, 1, M, from + o * n_in, n_in, to + o * n_out, n_out);
    }
    return work + (t->dim - 1) % 2 * room;
}

/* ------------------------------------------------------------------------------------- what comes of them */

/* In place of n numbers: the magnitudes of several components. */
static void find_magnitudes(int n, int components, int64_t step, const double *values, double *magnitudes) {
    for (int w = 0; w < n; w++) magnitudes[w] = 0.0;
    for (int c = 0; c < components; c++)
        for (int w = 0; w < n; w++) magnitudes[w] += values[c * step + w] * values[c * step + w];
    for (int w = 0; w < n; w++) magnitudes[w] = sqrt(magnitudes[w]);
}

/* NaN where one is not finite: zero times it is not zero. */
static void find_extremes(int64_t n, int components, int64_t step, const double *values, double *extremes) {
    enum { WIDE = 2 * L };
    double least[WIDE], greatest[WIDE], zeros[WIDE], magnitudes[WIDE], zero = 0.0;
    for (int w = 0; w < WIDE; w++) {
        least[w] = INFINITY;
        greatest[w] = -INFINITY;
        zeros[w] = 0.0;
    }
    for (int64_t i = 0; i < n; i += WIDE) {
        const int left = n - i < WIDE ? (int)(n - i) : WIDE;
        const double *x = components > 1 ? magnitudes : values + i;
        if (components > 1) find_magnitudes(left, components, step, values + i, magnitudes);
        if (left == WIDE)
            for (int w = 0; w < WIDE; w++) {
                zeros[w] += 0.0 * x[w];
                least[w] = x[w] < least[w] ? x[w] : least[w];
                greatest[w] = x[w] > greatest[w] ? x[w] : greatest[w];
            }
        for (int w = 0; left < WIDE && w < left; w++) {
            zeros[w] += 0.0 * x[w];
            least[w] = x[w] < least[w] ? x[w] : least[w];
            greatest[w] = x[w] > greatest[w] ? x[w] : greatest[w];
        }
    }
    extremes[0] = INFINITY;
    extremes[1] = -INFINITY;
    for (int w = 0; w < WIDE; w++) {
        zero += zeros[w];
        extremes[0] = least[w] < extremes[0] ? least[w] : extremes[0];
        extremes[1] = greatest[w] > extremes[1] ? greatest[w] : extremes[1];
    }
    if (zero != 0.0) extremes[0] = extremes[1] = NAN; /* NaN is not zero either */
}

void OF(tile_extremes)(int64_t n_cells, int64_t n, int components, int64_t step, const double *values,
                       double *extremes) {
    for (int64_t c = 0; c < n_cells; c++)
        find_extremes(n, components, step, values + c * n, extremes + 2 * c);
}

void OF(tile_contract)(const struct tile_plan *t, int n_in, int n_out, const double *const *T,
                       const struct tile_scale *scale, enum tile_end end, const double *in, double *out,
                       double *scratch) {
    const int64_t size_in = tile_power(n_in, t->dim), size = tile_power(n_out, t->dim),
                  room = cell_room(t->dim, n_in, n_out);
    struct turned turned = {.kind = -1};
    for (int64_t c = 0; c < t->count; c++) {
        double *to = out + c * size;
        int at[3];
        tile_at(t, t->first + c, at);
        const double *from = contract_cell(t, at, n_in, n_out, T, &turned, in + c * size_in, scratch, room);
        if (end == TILE_EXTREMES) {
            find_extremes(size, 1, 0, from, out + 2 * c);
            continue;
        }
        const double factor = tile_factor(t, scale, t->first + c, at);
        if (end == TILE_ADD)
            for (int64_t i = 0; i < size; i++) to[i] += factor * from[i];
        else
            for (int64_t i = 0; i < size; i++) to[i] = factor * from[i];
    }
}

/* ------------------------------------------------------------------------------------- shared nodes */

/* Where the nodes of a cell lie along a direction, times the step of the direction. */
static void find_nodes(const struct tile_plan *t, int k, const int *nodes, const int at[3],
                       int64_t places[3][KERNEL_LINE]) {
    int64_t step = 1;
    for (int d = 0; d < 3; d++) {
        places[d][0] = 0;
        if (d >= t->dim) continue;
        for (int i = 0; i <= k; i++) {
            const int64_t along = (int64_t)at[d] * k + i;
            places[d][i] = (along == nodes[d] ? 0 : along) * step;
        }
        step *= nodes[d];
    }
}

/* The nodes of one cell from x, or added to x. */
static void move_nodes(const struct tile_plan *t, int k, const int *nodes, int64_t c, int add,
                       const double *from, double *to) {
    const int n[3] = {k + 1, t->dim > 1 ? k + 1 : 1, t->dim > 2 ? k + 1 : 1};
    int64_t places[3][KERNEL_LINE], cell = 0;
    int at[3];
    tile_at(t, t->first + c, at);
    find_nodes(t, k, nodes, at, places);
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++, cell += n[0]) {
            const int64_t row = places[1][y] + places[2][z];
            if (add)
                for (int i = 0; i < n[0]; i++) to[row + places[0][i]] += from[cell + i];
            else
                for (int i = 0; i < n[0]; i++) to[cell + i] = from[row + places[0][i]];
        }
}

void OF(tile_gather)(const struct tile_plan *t, int k, const int *nodes, const double *x, double *cells) {
    const int64_t size = tile_power(k + 1, t->dim);
    for (int64_t c = 0; c < t->count; c++) move_nodes(t, k, nodes, c, 0, x, cells + c * size);
}

void OF(tile_add)(const struct tile_plan *t, int k, const int *nodes, const double *cells, double *x) {
    const int64_t size = tile_power(k + 1, t->dim);
    for (int64_t c = 0; c < t->count; c++) move_nodes(t, k, nodes, c, 1, cells + c * size, x);
}

/* ------------------------------------------------------------------------------------- fluxes, errors */

/* q = factor (flux u - ends v), v of the two traces. */
static void flux_of_cell(int dim, int n, int even, int d, const double *ends, double factor,
                         const double *lower, const double *upper, double *q) {
    const int64_t inner = tile_power(n, d), outer = tile_power(n, dim - 1 - d);
    for (int64_t o = 0; o < outer; o++, lower += inner, upper += inner)
        for (int m = 0; m < n; m++, q += inner) {
            const double sign = m < even ? -1.0 : 1.0;
            for (int64_t r = 0; r < inner; r++)
                q[r] = factor * (q[r] - ends[m] * (upper[r] + sign * lower[r]));
        }
}

void OF(tile_flux)(const struct tile_plan *t, int n, int even, int d, const double *flux, const double *ends,
                   const struct tile_scale *scale, int64_t width, const double *cells, double *q) {
    const int64_t size = tile_power(n, t->dim), face = tile_power(n, t->dim - 1), inner = tile_power(n, d);
    struct turned turned = {.kind = -1};
    for (int64_t c = 0; c < t->count; c++) {
        const double *u = cells + c * width, *lower = u + size + 2 * d * face;
        int at[3];
        tile_at(t, t->first + c, at);
        const int64_t kind = tile_kind(t, d, at);
        if (d == 0) {
            turn(flux, kind, n, n, &turned);
            along_rows(face, n, n, &turned, u, q + c * size);
        }
        for (int64_t o = 0; d > 0 && o < face / inner; o++) /* behind u are the traces */
            contract_columns(n, n, inner, flux + kind * n * n, u + o * n * inner,
                             q + c * size + o * n * inner);
        flux_of_cell(t->dim, n, even, d, ends + kind * n, tile_factor(t, scale, t->first + c, at), lower,
                     lower + face, q + c * size);
    }
}

void OF(tile_divide)(const struct tile_plan *t, int n, const double *theta, const double *k,
                     const double *constants, double *x) {
    const int64_t size = tile_power(n, t->dim);
    for (int64_t c = 0; c < t->count; c++) {
        double a[3], *to = x + c * size;
        int at[3];
        tile_at(t, t->first + c, at);
        tile_metric(t, at, k != NULL ? k[t->first + c] : 1.0, a);
        to[0] = a[0] * theta[0]; /* not zero, and overwritten */
        for (int64_t row = 0; row < size / n; row++, to += n) {
            const double rest =
                (t->dim > 1 ? a[1] * theta[row % n] : 0.0) + (t->dim > 2 ? a[2] * theta[row / n] : 0.0);
            for (int i = 0; i < n; i++) to[i] /= a[0] * theta[i] + rest;
        }
        x[c * size] = constants[c];
    }
}

/* The sum of weighted squares of a cell, and the greatest error of points with a weight. */
static void compare(int dim, int n, const double *weights, double factor, const double *values,
                    const double *exact, double *square, double *most) {
    const int n_1 = dim > 1 ? n : 1, n_2 = dim > 2 ? n : 1;
    double sums[KERNEL_LINE] = {0.0}, largest[KERNEL_LINE] = {0.0};
    for (int z = 0; z < n_2; z++)
        for (int y = 0; y < n_1; y++, values += n, exact += n) {
            const double w = (dim > 1 ? weights[y] : 1.0) * (dim > 2 ? weights[z] : 1.0);
            for (int i = 0; i < n; i++) {
                const double error = fabs(values[i] - factor * exact[i]);
                sums[i] += w * error * error;
                largest[i] = w * weights[i] > 0.0 && error > largest[i] ? error : largest[i];
            }
        }
    *square = *most = 0.0;
    for (int i = 0; i < n; i++) {
        *square += weights[i] * sums[i];
        *most = fmax(*most, largest[i]);
    }
}

void OF(tile_difference)(const struct tile_plan *t, int n, const double *weights,
                         const struct tile_scale *scale, const double *values, const double *exact,
                         double *out) {
    const int64_t size = tile_power(n, t->dim);
    for (int64_t c = 0; c < t->count; c++) {
        double volume = 1.0;
        int at[3];
        tile_at(t, t->first + c, at);
        for (int d = 0; d < t->dim; d++) volume *= tile_width(t, d, at);
        compare(t->dim, n, weights, tile_factor(t, scale, t->first + c, at), values + c * size,
                exact + c * size, &out[2 * c], &out[2 * c + 1]);
        out[2 * c] *= volume;
    }
}

/* The trace of a face at its points, by one direction after the other; work: as many numbers again. */
static void trace_at_points(const struct tile_plan *t, const int at[3], int n, int n_points,
                            const double *const *T, int d, const double *modes, double *work,
                            double *values) {
    const double *tables[2];
    int count = 0;
    for (int e = 0; e < t->dim; e++)
        if (e != d) tables[count++] = T[e] + (int64_t)tile_kind(t, e, at) * n_points * n;
    if (count == 0) values[0] = modes[0];
    if (count > 0) OF(tensor_contract)
    (count > 1 ? n : 1, n_points, n, 1, tables[0], modes, n, count > 1 ? work : values, n_points);
    if (count > 1) OF(tensor_contract)(1, n_points, n, n_points, tables[1], work, 0, values, 0);
}

void OF(tile_faces)(const struct tile_plan *t, int n, int n_points, const double *const *T,
                    const double *weights, int d, int side, int64_t width, const double *cells,
                    const double *exact, int add, double *out) {
    const int64_t points = tile_power(n_points, t->dim - 1), face = tile_power(n, t->dim - 1);
    for (int64_t c = 0; c < t->count; c++) {
        double work[KERNEL_MODES * KERNEL_LINE + KERNEL_SLACK], values[KERNEL_LINE * KERNEL_LINE], sum = 0.0;
        const int rows = t->dim > 2 ? n_points : 1, row = t->dim > 1 ? n_points : 1;
        const double *value = values, *other = exact + c * points;
        int at[3];
        tile_at(t, t->first + c, at);
        trace_at_points(t, at, n, n_points, T, d, cells + c * width + face * (n + 2 * d + side), work,
                        values);
        for (int y = 0; y < rows; y++, value += row, other += row) {
            double line = 0.0;
            for (int x = 0; x < row; x++)
                line += (t->dim > 1 ? weights[x] : 1.0) * (value[x] - other[x]) * (value[x] - other[x]);
            sum += (t->dim > 2 ? weights[y] : 1.0) * line;
        }
        for (int e = 0; e < t->dim; e++) sum *= e == d ? 1.0 : tile_width(t, e, at);
        out[c] = (add ? out[c] : 0.0) + sum;
    }
}
