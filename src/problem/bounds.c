/* Bounds of fields by their samples. First the ranges of components are widened by the reach of the samples;
 * where this leaves a region open, only what remains without a linear function is widened, since a linear
 * function has its extremes at vertices; and on simplices what remains without a quadratic one, which lies in
 * the convex hull of its Bernstein coefficients. */
#include "problem/bounds.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

double sought_size(const struct sought *what, const double *v) {
    double sum = 0.0;
    if (what->one) return what->sign * v[what->first];
    for (int c = 0; c < what->components; c++) sum += v[c] * v[c];
    return what->sign * sqrt(sum);
}

/* ------------------------------------------------------------------------------ lattices */

/* The difference along an axis is taken over all pairs of vertices that lie in its direction. */
static void make_slopes(enum shape shape, int axis, double *slopes) {
    const int n = shape_n_vertices(shape), dim = shape_dim(shape);
    const double *v = shape_vertices(shape);
    int pairs = 0;
    for (int i = 0; i < n; i++) slopes[i] = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int along = 1;
            for (int d = 0; d < dim; d++) along = along && v[j * dim + d] - v[i * dim + d] == (d == axis);
            slopes[i] -= along;
            slopes[j] += along;
            pairs += along;
        }
    for (int i = 0; i < n; i++) slopes[i] /= pairs;
}

/* The sample at a point; -1: there is none. */
static int find_sample(const struct lattice *lattice, const double *xi) {
    for (int p = 0; p < lattice->n; p++) {
        double off = 0.0;
        for (int d = 0; d < lattice->dim; d++)
            off = fmax(off, fabs(lattice->xi[p * lattice->dim + d] - xi[d]));
        if (off < 1e-12) return p;
    }
    return -1;
}

/* Bernstein polynomials of degree 2 by the barycentric coordinates of a sample. */
static void fill_quadratic(struct lattice *lattice) {
    const int n = lattice->n, dim = lattice->dim;
    for (int p = 0; p < n; p++) {
        const double *xi = lattice->xi + p * dim;
        double weights[4] = {1.0}, *to = lattice->quadratic + p;
        for (int d = 0; d < dim; d++) {
            weights[1 + d] = xi[d];
            weights[0] -= xi[d];
        }
        for (int i = 0; i <= dim; i++, to += n) *to = weights[i] * weights[i];
        for (int i = 0; i <= dim; i++)
            for (int j = 0; j < i; j++, to += n) *to = 2.0 * weights[i] * weights[j];
    }
}

static facet_status make_quadratic(enum shape shape, struct lattice *lattice) {
    facet_status status = FACET_OK;
    const int dim = lattice->dim, n_vertices = lattice->n_vertices;
    const double *v = shape_vertices(shape);
    if (!shape_is_simplex(shape) || n_vertices != dim + 1) return FACET_OK;
    for (int i = 0; i < n_vertices; i++)
        for (int d = 0; d < dim; d++)
            if (v[i * dim + d] != (d == i - 1)) return FACET_OK;
    for (int i = 0; i < n_vertices; i++)
        for (int j = 0; j < i; j++) {
            double middle[3] = {0};
            for (int d = 0; d < dim; d++) middle[d] = 0.5 * (v[i * dim + d] + v[j * dim + d]);
            const int p = find_sample(lattice, middle);
            if (p < 0) return FACET_OK;
            lattice->middles[lattice->n_edges++] = p;
        }
    TRY(ALLOC(lattice->quadratic, (n_vertices + lattice->n_edges) * lattice->n));
    fill_quadratic(lattice);
done:
    return status;
}

facet_status lattice_create(enum shape shape, int order, double reach, struct lattice *lattice) {
    facet_status status = FACET_OK;
    const int n = shape_n_nodes(shape, order), dim = shape_dim(shape);
    TRY(ALLOC(lattice->xi, n * dim));
    shape_samples(shape, order, lattice->xi);
    lattice->n = n;
    lattice->dim = dim;
    lattice->reach = reach;
    lattice->n_vertices = shape_n_vertices(shape);
    for (int i = 0; i < lattice->n_vertices; i++) lattice->vertices[i] = shape_vertex_node(shape, order, i);
    for (int d = 0; d < dim; d++) make_slopes(shape, d, lattice->slopes[d]);
    TRY(make_quadratic(shape, lattice));
done:
    return status;
}

void lattice_destroy(struct lattice *lattice) {
    base_free(&lattice->xi);
    base_free(&lattice->quadratic);
    lattice->n = 0;
}

/* ------------------------------------------------------------------------------ ranges */

/* The greatest size where component c lies between lower[c] and upper[c]. */
static double size_within(const struct sought *what, const double *lower, const double *upper) {
    double sum = 0.0;
    if (what->one) return what->sign > 0.0 ? *upper : -*lower;
    for (int c = 0; c < what->components; c++) {
        const double near = fmax(fmax(lower[c], -upper[c]), 0.0), far = fmax(fabs(lower[c]), fabs(upper[c]));
        sum += what->sign > 0.0 ? far * far : near * near;
    }
    return what->sign * sqrt(sum);
}

/* Widens a range of samples by their reach. */
static void widen(double reach, double *lower, double *upper) {
    const double middle = 0.5 * (*lower + *upper), far = reach * 0.5 * (*upper - *lower);
    *lower = middle - far;
    *upper = middle + far;
}

void bounds_of_range(const struct sought *what, double reach, double lower, double upper, struct seen *seen) {
    seen->least = what->sign > 0.0 ? lower : -upper;
    seen->most = what->sign > 0.0 ? upper : -lower;
    widen(reach, &lower, &upper);
    seen->upper = size_within(what, &lower, &upper);
}

static void find_range(int n, int step, const double *values, double *lower, double *upper) {
    double least = INFINITY, most = -INFINITY;
#pragma omp simd reduction(min : least) reduction(max : most)
    for (int p = 0; p < n; p++) {
        const double v = values[p * step];
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    *lower = least;
    *upper = most;
}

void bounds_of_samples(const struct sought *what, const struct lattice *lattice, const double *values,
                       struct seen *seen) {
    const int step = what->components;
    double lower[SAMPLE_MAX_COMPONENTS], upper[SAMPLE_MAX_COMPONENTS], least = INFINITY, most = 0.0;
    for (int c = 0; c < (what->one ? 1 : step); c++)
        find_range(lattice->n, step, values + c + what->first, &lower[c], &upper[c]);
    if (what->one) {
        bounds_of_range(what, lattice->reach, lower[0], upper[0], seen);
        return;
    }
    for (int p = 0; p < lattice->n; p++) {
        double sum = 0.0;
        for (int c = 0; c < step; c++) sum += values[p * step + c] * values[p * step + c];
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    seen->least = what->sign * sqrt(what->sign > 0.0 ? least : most);
    seen->most = what->sign * sqrt(what->sign > 0.0 ? most : least);
    for (int c = 0; c < step; c++) widen(lattice->reach, &lower[c], &upper[c]);
    seen->upper = fmax(seen->most, size_within(what, lower, upper));
}

/* ------------------------------------------------------------------------------ what remains */

/* A polynomial is within `far` of another one, which lies in the convex hull of n numbers. */
struct tube {
    int n;
    double at[LATTICE_MOST_CONTROLS], far;
};

static void find_linear(const struct lattice *lattice, int step, const double *v, double *rest,
                        struct tube *tube) {
    const double *xi = lattice->xi;
    double slopes[3] = {0};
    for (int d = 0; d < lattice->dim; d++)
        for (int i = 0; i < lattice->n_vertices; i++)
            slopes[d] += lattice->slopes[d][i] * v[lattice->vertices[i] * step];
    for (int p = 0; p < lattice->n; p++, xi += lattice->dim) {
        rest[p] = v[p * step];
        for (int d = 0; d < lattice->dim; d++) rest[p] -= slopes[d] * xi[d];
    }
    tube->n = lattice->n_vertices;
    for (int i = 0; i < tube->n; i++)
        tube->at[i] = v[lattice->vertices[i] * step] - rest[lattice->vertices[i]];
}

static void find_quadratic(const struct lattice *lattice, int step, const double *v, double *rest,
                           struct tube *tube) {
    const double *factor = lattice->quadratic;
    const int n = lattice->n, n_vertices = lattice->n_vertices;
    const int *edge = lattice->middles;
    tube->n = n_vertices + lattice->n_edges;
    for (int i = 0; i < n_vertices; i++) tube->at[i] = v[lattice->vertices[i] * step];
    for (int i = 0, k = n_vertices; i < n_vertices; i++)
        for (int j = 0; j < i; j++, edge++)
            tube->at[k++] = 2.0 * v[*edge * step] - 0.5 * (tube->at[i] + tube->at[j]);
    for (int p = 0; p < n; p++) rest[p] = v[p * step];
    for (int k = 0; k < tube->n; k++, factor += n)
        for (int p = 0; p < n; p++) rest[p] -= tube->at[k] * factor[p];
}

static void find_tube(const struct lattice *lattice, int quadratic, int step, const double *v, double *rest,
                      struct tube *tube) {
    double lower, upper;
    (quadratic ? find_quadratic : find_linear)(lattice, step, v, rest, tube);
    find_range(lattice->n, 1, rest, &lower, &upper);
    for (int i = 0; i < tube->n; i++) tube->at[i] += 0.5 * (lower + upper);
    tube->far = lattice->reach * 0.5 * (upper - lower);
}

/* The greatest value of sign * v. */
static double tube_end(double sign, const struct tube *tube) {
    double most = -INFINITY;
    for (int i = 0; i < tube->n; i++) most = fmax(most, sign * tube->at[i]);
    return most + tube->far;
}

/* A magnitude is at least the part in any direction: here in that of the mean of the samples. */
static double sharpen_least(const struct sought *what, const struct lattice *lattice, int quadratic,
                            const double *values, double *work) {
    const int step = what->components;
    double mean[SAMPLE_MAX_COMPONENTS] = {0}, size = 0.0, *along = work + lattice->n;
    struct tube tube;
    for (int p = 0; p < lattice->n; p++)
        for (int c = 0; c < step; c++) mean[c] += values[p * step + c];
    for (int c = 0; c < step; c++) size += mean[c] * mean[c];
    if (!(size > 0.0)) return 0.0;
    for (int p = 0; p < lattice->n; p++) {
        along[p] = 0.0;
        for (int c = 0; c < step; c++) along[p] += mean[c] * values[p * step + c];
        along[p] /= sqrt(size);
    }
    find_tube(lattice, quadratic, 1, along, work, &tube);
    return fmin(tube_end(-1.0, &tube), 0.0);
}

/* A magnitude is convex: in a convex hull it is greatest at one of its points. */
static double sharpen_most(const struct sought *what, const struct lattice *lattice, int quadratic,
                           const double *values, double *work) {
    double sums[LATTICE_MOST_CONTROLS] = {0}, far = 0.0, most = 0.0;
    struct tube tube = {0};
    for (int c = 0; c < what->components; c++) {
        find_tube(lattice, quadratic, what->components, values + c, work, &tube);
        for (int i = 0; i < tube.n; i++) sums[i] += tube.at[i] * tube.at[i];
        far += tube.far * tube.far;
    }
    for (int i = 0; i < tube.n; i++) most = fmax(most, sums[i]);
    return sqrt(most) + sqrt(far);
}

static double sharpen(const struct sought *what, const struct lattice *lattice, int quadratic,
                      const double *values, double *work) {
    struct tube tube;
    if (!what->one)
        return (what->sign > 0.0 ? sharpen_most : sharpen_least)(what, lattice, quadratic, values, work);
    find_tube(lattice, quadratic, what->components, values + what->first, work, &tube);
    return tube_end(what->sign, &tube);
}

double bounds_sharpen(const struct sought *what, const struct lattice *lattice, const double *values,
                      double enough, double *work) {
    const double linear = sharpen(what, lattice, 0, values, work);
    if (linear <= enough || lattice->quadratic == NULL) return linear;
    return fmin(linear, sharpen(what, lattice, 1, values, work));
}
