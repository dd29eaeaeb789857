/* Extremes of fields, with their places: over cells, or over faces of a part.
 *
 * Every cell (face) is sampled; how far its values may go beyond its samples is known from the degree of the
 * field and the set of points (reach_of). Few cells may have more than the largest sample of all: their
 * fields are taken as polynomials (poly/peak.h), whose extremes Newton's method finds to rounding. What is
 * returned is the field at that place. Where the field is no polynomial of the degree that was assumed, that
 * value disagrees with the polynomial's, and the degree is doubled.
 *
 * From here on the greatest value of sign * size is sought: of a component, or of a magnitude. Magnitudes are
 * sought by their squares, which are smooth where they are not. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "poly/peak.h"
#include "problem/problem.h"

enum { TOGETHER = 32, CHUNK = 256, FETCHED = 4096, N_KINDS = MESH_MAX_BLOCKS * (SHAPE_MAX_FACES + 1) };

/* A cell, or (local >= 0) one of its faces. */
struct region {
    int32_t cell;
    int local;
};

/* Samples of a shape; reach: a polynomial whose samples lie in [-1, 1] is at most this. slopes: of a linear
 * function like it, as weights of the samples at the vertices. */
struct lattice {
    int n, vertices[SHAPE_MAX_VERTICES];
    double *xi, reach, slopes[3][SHAPE_MAX_VERTICES];
};

/* What samples say of a region: their least and greatest, and what no value exceeds. */
struct seen {
    double least, most, upper;
};

/* A region that was looked at. */
struct found {
    int64_t region;
    double value, t[3];
    int degree;  /* of the polynomials */
    int is_true; /* value is the field's, and not that of polynomials */
};

struct search {
    const struct facet_solver *s;
    enum hdg_field field;
    int components, one, first; /* one: component `first` counts, else (first 0) the magnitude of all */
    int squares;                /* what counts is a root, of a square that is smooth */
    double sign;
    int degree, order, dim; /* of the field; of the lattice of samples; of a region */
    struct lattice lattices[SHAPE_COUNT];
    const struct sample_where *where;
    int64_t n;  /* regions */
    int shared; /* samples of a cell are those of several cells */
    struct seen *seen;
    struct backend_points samples[N_KINDS], nodes[N_KINDS];
    struct peak_table table;
    double best, slack, tie;
};

/* ------------------------------------------------------------------------------ regions */

static int over_faces(const struct search *w) {
    return w->where->dim == w->s->problem->mesh->dim - 1;
}

static int64_t count_regions(const struct search *w) {
    int64_t n = 0;
    if (w->where->n == 0) return over_faces(w) ? 0 : w->s->problem->mesh->n_cells;
    for (int k = 0; k < (over_faces(w) ? w->where->n : 1); k++) n += w->where->groups[k]->count;
    return n;
}

static struct region region_at(const struct search *w, int64_t i) {
    int k = 0;
    if (!over_faces(w))
        return (struct region){w->where->n > 0 ? w->where->groups[0]->ids[i] : (int32_t)i, -1};
    for (; i >= w->where->groups[k]->count; k++) i -= w->where->groups[k]->count;
    const struct mesh_group_face face = mesh_group_face(w->s->problem->mesh, w->where->groups[k], (int32_t)i);
    return (struct region){face.cell, face.local};
}

static int block_of(const struct search *w, struct region r) {
    const struct facet_mesh *mesh = w->s->problem->mesh;
    return (int)(mesh_block_of(mesh, r.cell) - mesh->blocks);
}

static int kind_of(const struct search *w, struct region r) {
    return block_of(w, r) * (SHAPE_MAX_FACES + 1) + r.local + 1;
}

static enum shape shape_of(const struct search *w, struct region r) {
    const enum shape cell = w->s->problem->mesh->blocks[block_of(w, r)].shape;
    return r.local < 0 ? cell : shape_face_shape(cell, r.local);
}

/* The points of the cell that n points of the region are. */
static facet_status prepare(const struct search *w, struct region r, int n, const double *frame,
                            struct backend_points *points) {
    facet_status status = FACET_OK;
    const int dim = w->s->problem->mesh->dim, block = block_of(w, r);
    double *xi = NULL;
    TRY(ALLOC(xi, n * dim));
    for (int p = 0; p < n; p++)
        if (r.local < 0)
            memcpy(xi + p * dim, frame + p * dim, (size_t)dim * sizeof *xi);
        else
            shape_face_point(w->s->problem->mesh->blocks[block].shape, r.local, 0, frame + p * (dim - 1),
                             xi + p * dim);
    TRY(w->s->backend->prepare(w->s, block, w->degree, n, xi, points));
done:
    base_free(&xi);
    return status;
}

/* The points of polynomials. */
static facet_status prepare_nodes(const struct search *w, struct region r, const struct peak_table *table,
                                  struct backend_points *points) {
    facet_status status = FACET_OK;
    double *frame = NULL;
    if (points->n > 0) return FACET_OK;
    TRY(ALLOC(frame, peak_n_points(table) * w->dim));
    peak_points(table, shape_of(w, r), frame);
    TRY(prepare(w, r, (int)peak_n_points(table), frame, points));
done:
    base_free(&frame);
    return status;
}

static double size_of(const struct search *w, const double *v) {
    double sum = 0.0;
    if (w->one) return w->sign * v[w->first];
    for (int c = 0; c < w->components; c++) sum += v[c] * v[c];
    return w->sign * sqrt(sum);
}

/* ------------------------------------------------------------------------------ samples */

/* Fields that are no polynomials of the degree, even where data are constant, are given twice the reach. */
static double reach_of(const struct search *w, enum shape shape) {
    const int raised = w->s->resolved.data.equation->raise && w->field == HDG_U && !shape_is_simplex(shape);
    const int rough = raised || w->field == HDG_VON_MISES || w->field == HDG_Q_STAR;
    return (rough ? 2.0 : 1.0) * peak_reach(shape, w->degree, w->order);
}

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

static facet_status make_lattice(const struct search *w, enum shape shape, struct lattice *lattice) {
    facet_status status = FACET_OK;
    if (lattice->n > 0) return FACET_OK;
    const int n = shape_n_nodes(shape, w->order);
    TRY(ALLOC(lattice->xi, n * w->dim));
    shape_samples(shape, w->order, lattice->xi);
    lattice->n = n;
    lattice->reach = reach_of(w, shape);
    for (int i = 0; i < shape_n_vertices(shape); i++)
        lattice->vertices[i] = shape_vertex_node(shape, w->order, i);
    for (int d = 0; d < w->dim; d++) make_slopes(shape, d, lattice->slopes[d]);
done:
    return status;
}

/* The greatest size where component c lies between lower[c] and upper[c]. */
static double size_within(const struct search *w, const double *lower, const double *upper) {
    double sum = 0.0;
    if (w->one) return w->sign > 0.0 ? *upper : -*lower;
    for (int c = 0; c < w->components; c++) {
        const double near = fmax(fmax(lower[c], -upper[c]), 0.0), far = fmax(fabs(lower[c]), fabs(upper[c]));
        sum += w->sign > 0.0 ? far * far : near * near;
    }
    return w->sign * sqrt(sum);
}

/* Widens a range of samples by their reach. */
static void widen(double reach, double *lower, double *upper) {
    const double middle = 0.5 * (*lower + *upper), far = reach * 0.5 * (*upper - *lower);
    *lower = middle - far;
    *upper = middle + far;
}

/* Of one number at every sample. */
static void see_range(const struct search *w, double reach, double lower, double upper, struct seen *seen) {
    seen->least = w->sign > 0.0 ? lower : -upper;
    seen->most = w->sign > 0.0 ? upper : -lower;
    widen(reach, &lower, &upper);
    seen->upper = size_within(w, &lower, &upper);
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

static void see(const struct search *w, const struct lattice *lattice, const double *values,
                struct seen *seen) {
    double lower[SAMPLE_MAX_COMPONENTS], upper[SAMPLE_MAX_COMPONENTS], least = INFINITY, most = 0.0;
    for (int c = 0; c < (w->one ? 1 : w->components); c++)
        find_range(lattice->n, w->components, values + c + w->first, &lower[c], &upper[c]);
    if (w->one) {
        see_range(w, lattice->reach, lower[0], upper[0], seen);
        return;
    }
    for (int p = 0; p < lattice->n; p++) {
        double sum = 0.0;
        for (int c = 0; c < w->components; c++)
            sum += values[p * w->components + c] * values[p * w->components + c];
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    seen->least = w->sign * sqrt(w->sign > 0.0 ? least : most);
    seen->most = w->sign * sqrt(w->sign > 0.0 ? most : least);
    for (int c = 0; c < w->components; c++) widen(lattice->reach, &lower[c], &upper[c]);
    seen->upper = fmax(seen->most, size_within(w, lower, upper));
}

/* A better bound, which costs more: a linear function has its extremes at vertices, and the reach is that of
 * the rest. rest: n numbers. */
static double sharpen(const struct search *w, enum shape shape, const double *values, double *rest) {
    const struct lattice *lattice = &w->lattices[shape];
    const int n_vertices = shape_n_vertices(shape), step = w->components;
    double lower[SAMPLE_MAX_COMPONENTS], upper[SAMPLE_MAX_COMPONENTS];
    for (int c = 0; c < (w->one ? 1 : w->components); c++) {
        const double *v = values + c + w->first, *xi = lattice->xi;
        double slopes[3] = {0}, ends[2] = {INFINITY, -INFINITY};
        for (int d = 0; d < w->dim; d++)
            for (int i = 0; i < n_vertices; i++)
                slopes[d] += lattice->slopes[d][i] * v[lattice->vertices[i] * step];
        for (int p = 0; p < lattice->n; p++, xi += w->dim) {
            rest[p] = v[p * step];
            for (int d = 0; d < w->dim; d++) rest[p] -= slopes[d] * xi[d];
        }
        for (int i = 0; i < n_vertices; i++) {
            const int p = lattice->vertices[i];
            const double linear = v[p * step] - rest[p];
            ends[0] = fmin(ends[0], linear);
            ends[1] = fmax(ends[1], linear);
        }
        find_range(lattice->n, 1, rest, &lower[c], &upper[c]);
        widen(lattice->reach, &lower[c], &upper[c]);
        lower[c] += ends[0];
        upper[c] += ends[1];
    }
    return size_within(w, lower, upper);
}

/* How many of the regions from `first` on are of one kind, and their cells. */
static int gather_run(const struct search *w, const int64_t *list, int64_t first, int64_t end, int *kind,
                      int32_t *cells) {
    int n = 0;
    for (; n < TOGETHER && first + n < end; n++) {
        const struct region r = region_at(w, list != NULL ? list[first + n] : first + n);
        if (n > 0 && kind_of(w, r) != *kind) break;
        *kind = kind_of(w, r);
        cells[n] = r.cell;
    }
    return n;
}

static facet_status sample_chunk(const struct search *w, int64_t first, int64_t end, void *user) {
    facet_status status = FACET_OK;
    double *values = NULL, *rest = NULL, best = -INFINITY; /* of this chunk */
    int64_t room = 0;
    (void)user;
    for (int n; first < end; first += n) {
        int32_t cells[TOGETHER];
        int kind = 0;
        n = gather_run(w, NULL, first, end, &kind, cells);
        const struct backend_points *points = &w->samples[kind];
        const int64_t size = (int64_t)points->n * w->components;
        if (TOGETHER * size > room) {
            base_free(&values);
            base_free(&rest);
            TRY(ALLOC(values, room = TOGETHER * size));
            TRY(ALLOC(rest, points->n));
        }
        TRY(w->s->backend->evaluate(w->s, w->field, n, cells, points, values));
        const enum shape shape = shape_of(w, region_at(w, first));
        for (int i = 0; i < n; i++) {
            see(w, &w->lattices[shape], values + i * size, &w->seen[first + i]);
            best = fmax(best, w->seen[first + i].most);
        }
        for (int i = 0; i < n; i++) {
            struct seen *seen = &w->seen[first + i];
            if (seen->upper > best)
                seen->upper = fmin(seen->upper, sharpen(w, shape, values + i * size, rest));
        }
    }
done:
    base_free(&values);
    base_free(&rest);
    return status;
}

/* Cells of regions, to be fetched; those of cells are all fetched at once. */
static facet_status fetch(const struct search *w, const int64_t *list, int64_t first, int64_t n) {
    facet_status status = FACET_OK;
    int32_t *cells = NULL;
    if (w->s->backend->fetch == NULL) return FACET_OK;
    TRY(ALLOC(cells, n));
    for (int64_t i = 0; i < n; i++) cells[i] = region_at(w, list != NULL ? list[first + i] : first + i).cell;
    TRY(w->s->backend->fetch(w->s, n, cells));
done:
    base_free(&cells);
    return status;
}

/* Calls work(w, first, end, user) for chunks, which do not depend on the number of threads. */
static facet_status for_chunks(const struct search *w, int64_t first, int64_t end, int64_t chunk,
                               facet_status (*work)(const struct search *, int64_t, int64_t, void *),
                               void *user) {
    struct base_collector failures;
    const int n = (int)((end - first + chunk - 1) / chunk);
    base_collector_init(&failures);
#pragma omp parallel for num_threads(base_threads_for(100 * (end - first))) schedule(dynamic)
    for (int p = 0; p < n; p++) {
        const int64_t from = first + p * chunk, to = from + chunk < end ? from + chunk : end;
        base_collect(&failures, p, work(w, from, to, user));
    }
    return base_collected(&failures);
}

static facet_status sample_regions(struct search *w) {
    facet_status status = FACET_OK;
    const int64_t step = over_faces(w) ? FETCHED : w->n;
    if (!over_faces(w) && w->s->backend->fetch != NULL) TRY(w->s->backend->fetch(w->s, 0, NULL));
    for (int64_t first = 0; first < w->n; first += step) {
        const int64_t n = w->n - first < step ? w->n - first : step;
        for (int64_t i = first; i < first + n; i++) {
            const struct region r = region_at(w, i);
            struct lattice *lattice = &w->lattices[shape_of(w, r)];
            struct backend_points *points = &w->samples[kind_of(w, r)];
            TRY(make_lattice(w, shape_of(w, r), lattice));
            if (points->n == 0) TRY(prepare(w, r, lattice->n, lattice->xi, points));
        }
        if (over_faces(w)) TRY(fetch(w, NULL, first, n));
        TRY(for_chunks(w, first, first + n, CHUNK, sample_chunk, NULL));
    }
done:
    return status;
}

/* Samples of all cells that the backend has at once; *done: it has. */
static facet_status reduce(struct search *w, int *done_here) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = w->s->problem->mesh;
    const struct mesh_group *group = w->where->n > 0 ? w->where->groups[0] : NULL;
    double *values = NULL, *x = NULL;
    const int n = w->order + 1;
    int64_t n_pairs = 0;
    *done_here = 0;
    if (w->s->backend->reduce == NULL || w->components != 1 || over_faces(w)) goto done;
    TRY(ALLOC(values, 2 * (int64_t)mesh->n_cells));
    TRY(ALLOC(x, n));
    shape_samples(SHAPE_SEGMENT, w->order, x);
    TRY(w->s->backend->reduce(w->s, w->field, group != NULL ? BACKEND_EXTREMES : BACKEND_RANGE, n, x, values,
                              &n_pairs));
    *done_here = n_pairs > 0;
    w->shared = *done_here && group == NULL && w->s->box == NULL;
    for (int64_t i = 0; *done_here && i < w->n; i++) {
        const struct region r = region_at(w, i);
        const double *of = values + 2 * (int64_t)r.cell;
        TRY(make_lattice(w, shape_of(w, r), &w->lattices[shape_of(w, r)]));
        see_range(w, w->lattices[shape_of(w, r)].reach, of[0], of[1], &w->seen[i]);
    }
done:
    base_free(&values);
    base_free(&x);
    return status;
}

/* ------------------------------------------------------------------------------ a closer look */

/* Squares keep the order, of negative numbers too. */
static double to_sought(const struct search *w, double value) {
    return w->squares ? value * fabs(value) : value;
}
static double from_sought(const struct search *w, double sought) {
    return w->squares ? copysign(sqrt(fabs(sought)), sought) : sought;
}

/* The peak of the polynomials through the values (points x components) at the table's points. */
static void find_peak(const struct search *w, const struct peak_table *table, double *values, double *scratch,
                      struct found *found) {
    const double up = to_sought(w, w->best), low = to_sought(w, w->best - w->tie);
    const struct peak_goal goal = {.n = w->one ? 1 : w->components,
                                   .squares = !w->one,
                                   .sign = w->sign,
                                   .low = low,
                                   .slack = fmax(to_sought(w, w->best + w->slack) - up, 1e-15 * fabs(up)),
                                   .tie = up - low};
    double most;
    for (int64_t i = 0; w->one && i < peak_n_points(table); i++) {
        const double v = values[i * w->components + w->first];
        values[i] = w->squares ? v * v : v;
    }
    peak_find(table, &goal, values, scratch, &most, found->t);
    found->value = from_sought(w, most);
    found->degree = table->degree;
    found->is_true = 0;
}

struct look {
    const int64_t *list;
    struct found *found;
};

static facet_status look_at_chunk(const struct search *w, int64_t first, int64_t end, void *user) {
    facet_status status = FACET_OK;
    const struct look *look = user;
    const int64_t size = peak_n_points(&w->table) * w->components;
    double *values = NULL, *scratch = NULL;
    TRY(ALLOC(values, (end - first < TOGETHER ? end - first : TOGETHER) * size));
    TRY(ALLOC(scratch, peak_scratch(&w->table, w->components)));
    for (int n; first < end; first += n) {
        int32_t cells[TOGETHER];
        int kind = 0;
        n = gather_run(w, look->list, first, end, &kind, cells);
        TRY(w->s->backend->evaluate(w->s, w->field, n, cells, &w->nodes[kind], values));
        for (int i = 0; i < n; i++) {
            look->found[first + i].region = look->list[first + i];
            find_peak(w, &w->table, values + i * size, scratch, &look->found[first + i]);
        }
    }
done:
    base_free(&values);
    base_free(&scratch);
    return status;
}

static facet_status look_at(struct search *w, int64_t n, const int64_t *list, struct found *found) {
    facet_status status = FACET_OK;
    struct look look = {list, found};
    if (n == 0) return FACET_OK;
    for (int64_t i = 0; i < n; i++) {
        const struct region r = region_at(w, list[i]);
        TRY(prepare_nodes(w, r, &w->table, &w->nodes[kind_of(w, r)]));
    }
    TRY(fetch(w, list, 0, n));
    TRY(for_chunks(w, 0, n, 16, look_at_chunk, &look));
done:
    return status;
}

/* ------------------------------------------------------------------------------ the field itself */

/* Sizes at n points of a region, whose cell is fetched; x (or
 * NULL): where the first lies. */
static facet_status sizes_at(const struct search *w, struct region r, int n, const double *frame,
                             double *sizes, double *x) {
    facet_status status = FACET_OK;
    struct backend_points points = {0};
    double *values = NULL;
    TRY(ALLOC(values, n * w->components));
    TRY(prepare(w, r, n, frame, &points));
    TRY(w->s->backend->evaluate(w->s, w->field, 1, &r.cell, &points, values));
    for (int p = 0; p < n; p++) sizes[p] = size_of(w, values + (int64_t)p * w->components);
    if (x != NULL) w->s->backend->map(w->s, r.cell, &points, x);
done:
    base_free(&values);
    backend_points_destroy(&points);
    return status;
}

static facet_status look_closer(const struct search *w, struct found *found) {
    facet_status status = FACET_OK;
    const struct region r = region_at(w, found->region);
    struct peak_table table = {0};
    struct backend_points points = {0};
    double *values = NULL, *scratch = NULL;
    TRY(peak_table_create(w->dim, 2 * found->degree, !w->one, &table));
    TRY(ALLOC(values, peak_n_points(&table) * w->components));
    TRY(ALLOC(scratch, peak_scratch(&table, w->components)));
    TRY(prepare_nodes(w, r, &table, &points));
    TRY(w->s->backend->evaluate(w->s, w->field, 1, &r.cell, &points, values));
    find_peak(w, &table, values, scratch, found);
done:
    peak_table_destroy(&table);
    backend_points_destroy(&points);
    base_free(&values);
    base_free(&scratch);
    return status;
}

/* The most points that polynomials of a region are made from. */
#define MOST_POINTS 40000.0

/* Compares polynomials with the field where they have their peak; where they differ, there are others. */
static facet_status verify(const struct search *w, struct found *found) {
    facet_status status = FACET_OK;
    const struct region r = region_at(w, found->region);
    const int twice = 2 * found->degree;
    double frame[3], value;
    peak_point(shape_of(w, r), found->t, frame);
    TRY(sizes_at(w, r, 1, frame, &value, NULL));
    if (fabs(value - found->value) > 10.0 * w->slack && twice <= PEAK_MAX_DEGREE &&
        pow(twice + 1, w->dim) <= MOST_POINTS) {
        TRY(look_closer(w, found));
        if (found->value > -INFINITY) goto done;
    }
    found->value = value;
    found->is_true = 1;
done:
    return status;
}

/* The greatest of all that was looked at becomes the field's own. */
static facet_status verify_best(const struct search *w, int64_t n, struct found *found) {
    facet_status status = FACET_OK;
    for (;;) {
        struct found *top = NULL;
        for (int64_t i = 0; i < n; i++)
            if (top == NULL || found[i].value > top->value) top = &found[i];
        if (top == NULL || top->is_true || top->value == -INFINITY) break;
        TRY(verify(w, top));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------ all of them */

/* Whether samples leave the extreme, or its place, open. */
static int is_open(const struct search *w, const struct seen *seen) {
    if (seen->upper > w->best + w->slack) return 1;
    return seen->upper >= w->best - w->tie && (w->shared || seen->most < w->best - w->tie);
}

/* Differences that are none, and those of values that count as equal when it comes to their places. */
static facet_status compare_samples(struct search *w, int64_t *top) {
    facet_status status = FACET_OK;
    double ends[2] = {-INFINITY, -INFINITY};
    *top = 0;
    for (int64_t i = 0; i < w->n; i++) {
        if (w->seen[i].most > ends[0]) *top = i;
        ends[0] = fmax(ends[0], w->seen[i].most);
        ends[1] = fmax(ends[1], -w->seen[i].least);
    }
    TRY(team_reduce(mesh_team(w->s->problem->mesh), TEAM_MAX, 2, ends));
    const double range = ends[0] + ends[1], scale = fmax(fabs(ends[0]), fabs(ends[1]));
    w->best = ends[0];
    w->slack = fmax(1e-12 * range, 1e-14 * scale);
    w->tie = fmax(1e-10 * range, 1e-13 * scale);
done:
    return status;
}

static facet_status look_where_open(struct search *w, int64_t top, int64_t *n, struct found **found) {
    facet_status status = FACET_OK;
    int64_t *list = NULL;
    struct found first = {.value = -INFINITY};
    *n = 0;
    if (w->n > 0) TRY(look_at(w, is_open(w, &w->seen[top]), &top, &first));
    w->best = fmax(w->best, first.value);
    TRY(team_reduce(mesh_team(w->s->problem->mesh), TEAM_MAX, 1, &w->best));
    for (int64_t i = 0; i < w->n; i++) *n += is_open(w, &w->seen[i]);
    TRY(ALLOC(list, *n));
    TRY(ALLOC(*found, *n));
    *n = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (is_open(w, &w->seen[i])) list[(*n)++] = i;
    TRY(look_at(w, *n, list, *found));
    TRY(verify_best(w, *n, *found));
done:
    base_free(&list);
    return status;
}

static int64_t cell_number(const struct search *w, int64_t region) {
    const struct facet_mesh *mesh = w->s->problem->mesh;
    const int32_t cell = region_at(w, region).cell;
    return mesh->part != NULL ? mesh->part->cell_numbers[cell] : cell;
}

/* Of the regions whose extreme is that of all, the one of the cell with the lowest number; -1: there is none
 * here. *of: what is known of it beside samples, or NULL. */
static int64_t choose(const struct search *w, int64_t n, const struct found *found, const struct found **of) {
    int64_t chosen = -1, next = 0;
    for (int64_t i = 0; i < w->n; i++) {
        const struct found *known = next < n && found[next].region == i ? &found[next++] : NULL;
        const int sampled = !w->shared && w->seen[i].most >= w->best - w->tie;
        const int looked = known != NULL && known->value >= w->best - w->tie;
        if (!sampled && !looked) continue;
        if (chosen >= 0 && cell_number(w, i) >= cell_number(w, chosen)) continue;
        chosen = i;
        *of = looked ? known : NULL;
    }
    return chosen;
}

/* Where the extreme of a region lies: at its peak, or at its first sample that is as great. */
static facet_status find_place(const struct search *w, int64_t region, const struct found *known,
                               double x[3]) {
    facet_status status = FACET_OK;
    const struct region r = region_at(w, region);
    const struct lattice *lattice = &w->lattices[shape_of(w, r)];
    double *sizes = NULL, peak[3];
    int at = 0;
    TRY(ALLOC(sizes, lattice->n));
    TRY(fetch(w, &region, 0, 1));
    if (known == NULL) TRY(sizes_at(w, r, lattice->n, lattice->xi, sizes, NULL));
    while (known == NULL && at < lattice->n - 1 && !(sizes[at] >= w->best - w->tie)) at++;
    if (known != NULL) peak_point(shape_of(w, r), known->t, peak);
    TRY(sizes_at(w, r, 1, known != NULL ? peak : lattice->xi + at * w->dim, sizes, x));
done:
    base_free(&sizes);
    return status;
}

/* The value and the place of all processes. */
static facet_status conclude(struct search *w, int64_t n, const struct found *found,
                             struct sample_about *about) {
    facet_status status = FACET_OK;
    struct sample_place unread, *place = about != NULL ? &about->place : &unread;
    struct sample_doubt doubt = {0};
    struct base_team *team = mesh_team(w->s->problem->mesh);
    const struct found *known = NULL;
    double all = -INFINITY;
    for (int64_t i = 0; i < n; i++) all = fmax(all, found[i].value);
    for (int64_t i = 0; i < w->n && !w->shared; i++) all = fmax(all, w->seen[i].most);
    TRY(team_reduce(team, TEAM_MAX, 1, &all));
    w->best = all;
    const int64_t chosen = choose(w, n, found, &known);
    place->cell = chosen >= 0 ? cell_number(w, chosen) : INT64_MAX;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &place->cell));
    memset(place->at, 0, sizeof place->at);
    if (place->cell == INT64_MAX) FAIL(FACET_ERROR_INPUT, "there is nothing there to take an extreme of");
    if (chosen >= 0 && cell_number(w, chosen) == place->cell) {
        TRY(find_place(w, chosen, known, place->at));
        TRY(sample_cell_doubt(w->s, w->field, region_at(w, chosen).cell, &doubt));
        /* It is sought where the error is largest; a polynomial may be p + 1 times its mean in a corner. */
        if (doubt.scale > 0.0) doubt.error *= w->degree + 1;
    }
    TRY(team_reduce(team, TEAM_SUM, 3, place->at));
    TRY(team_reduce(team, TEAM_MAX, 1, &doubt.error));
    TRY(team_reduce(team, TEAM_MAX, 1, &doubt.scale));
    if (about != NULL) about->doubt = doubt;
done:
    return status;
}

facet_status sample_extreme(const struct facet_solver *s, enum hdg_field field, int components, int component,
                            const struct sample_where *where, int greatest, double *value,
                            struct sample_about *about) {
    facet_status status = FACET_OK;
    struct search w = {.s = s,
                       .field = field,
                       .components = components,
                       .one = components == 1 || component >= 0,
                       .first = component > 0 ? component : 0,
                       .squares = field == HDG_VON_MISES || (components > 1 && component < 0),
                       .sign = greatest ? 1.0 : -1.0,
                       .degree = sample_table_degree(s, field),
                       .where = where};
    struct found *found = NULL;
    int64_t n = 0, top;
    int reduced;
    w.dim = s->problem->mesh->dim - over_faces(&w);
    w.order = peak_sample_order(w.degree, s->box != NULL ? BOX_MAX_DEGREE : 10);
    w.n = count_regions(&w);
    TRY(ALLOC(w.seen, w.n));
    TRY(peak_table_create(w.dim, (field == HDG_VON_MISES ? 2 : 1) * w.degree, !w.one, &w.table));
    TRY(reduce(&w, &reduced));
    if (!reduced) TRY(sample_regions(&w));
    TRY(compare_samples(&w, &top));
    TRY(look_where_open(&w, top, &n, &found));
    TRY(conclude(&w, n, found, about));
    *value = w.sign * w.best;
done:
    for (int k = 0; k < N_KINDS; k++) {
        backend_points_destroy(&w.samples[k]);
        backend_points_destroy(&w.nodes[k]);
    }
    for (int shape = 0; shape < SHAPE_COUNT; shape++) base_free(&w.lattices[shape].xi);
    peak_table_destroy(&w.table);
    base_free(&w.seen);
    base_free(&found);
    return status;
}
