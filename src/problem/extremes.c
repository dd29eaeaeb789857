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
#include "base/run.h"
#include "mesh/part.h"
#include "poly/peak.h"
#include "problem/problem.h"

enum { TOGETHER = 32, CHUNK = 256, FETCHED = 4096, N_KINDS = MESH_MAX_BLOCKS * (SHAPE_MAX_FACES + 1) };

/* A cell, or (local >= 0) one of its faces. */
struct region {
    int32_t cell;
    int local;
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
    int components, component; /* component -1: the magnitude of a vector counts */
    int squares;               /* the field itself is a root, of a square that is smooth */
    double sign;
    int degree, order, dim; /* of the field; of the lattice of samples; of a region */
    double reach[SHAPE_COUNT];
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

/* The samples of a region, or (table) the points of polynomials. */
static facet_status prepare_kind(const struct search *w, struct region r, const struct peak_table *table,
                                 struct backend_points *points) {
    facet_status status = FACET_OK;
    const enum shape shape = shape_of(w, r);
    const int n = table != NULL ? (int)peak_n_points(table) : shape_n_nodes(shape, w->order);
    double *frame = NULL;
    if (points->n > 0) return FACET_OK;
    TRY(ALLOC(frame, n * w->dim));
    if (table != NULL)
        peak_points(table, shape, frame);
    else
        shape_samples(shape, w->order, frame);
    TRY(prepare(w, r, n, frame, points));
done:
    base_free(&frame);
    return status;
}

static double size_of(const struct search *w, const double *v) {
    double sum = 0.0;
    if (w->component >= 0) return w->sign * v[w->component];
    if (w->components == 1) return w->sign * v[0];
    for (int c = 0; c < w->components; c++) sum += v[c] * v[c];
    return w->sign * sqrt(sum);
}

/* ------------------------------------------------------------------------------ samples */

/* The order of the lattice of samples: two points for a degree, but no more than are cheap. */
static int sample_order(const struct search *w) {
    const int cheap = w->s->box != NULL ? BOX_MAX_DEGREE : 10, d = w->degree;
    const int wanted = 2 * d < cheap ? 2 * d : cheap, least = d + (d / 4 > 2 ? d / 4 : 2);
    return wanted > least ? wanted : least;
}

/* A polynomial whose samples lie in [-1, 1] is at most this. In products of lines with spacing pi/m in the
 * angle: 1/cos(d pi/(2 m)) in each (ehlich1964); in others by the least sum of |w| for which sum w_j p(x_j)
 * is p(x) for all p, which was computed for points x all over the cell; degrees 1 to 17. Fields that need not
 * be polynomials of this degree are given twice as much. */
static double reach_of(const struct search *w, enum shape shape) {
    static const double triangles[] = {1.0, 1.4, 1.5, 1.6, 1.7, 1.9, 2.3, 2.7, 2.8,
                                       3.1, 3.4, 2.9, 3.1, 3.3, 3.5, 3.2, 3.4};
    static const double tets[] = {1.0, 1.4, 1.5, 1.8, 2.0, 2.4, 3.0, 4.2, 4.6,
                                  5.8, 7.2, 6.0, 6.5, 7.0, 8.0, 8.0, 8.0};
    static const double pyramids[] = {1.0, 1.5, 1.8, 2.2, 2.5, 3.2, 3.3, 5.5, 6.0,
                                      7.0, 8.0, 8.0, 8.5, 9.0, 9.5, 10., 10.};
    const unsigned plain =
        HDG_BIT(HDG_U) | HDG_BIT(HDG_U_STAR) | HDG_BIT(HDG_P) | HDG_BIT(HDG_Q) | HDG_BIT(HDG_H);
    const struct equation *equation = w->s->resolved.data.equation;
    const int d = w->degree, known = (plain >> w->field & 1) && !(equation->raise && w->field == HDG_U);
    const int last = (int)(sizeof tets / sizeof *tets), row = (d < last ? d : last) - 1;
    const double line = 1.0 / cos(0.5 * acos(-1.0) * d / w->order), factor = known ? 1.0 : 2.0;
    switch (shape) {
    case SHAPE_TRIANGLE:
        return factor * triangles[row];
    case SHAPE_PRISM:
        return factor * triangles[row] * line;
    case SHAPE_TET:
        return factor * tets[row];
    case SHAPE_PYRAMID:
        return factor * pyramids[row];
    default:
        return factor * pow(line, shape_dim(shape));
    }
}

/* What size can be where components lie within `reach` times the half ranges of their samples. */
static double size_within(const struct search *w, double reach, const double *least, const double *most) {
    double sum = 0.0;
    for (int c = 0; c < w->components; c++) {
        const double middle = fabs(0.5 * (least[c] + most[c])), far = reach * 0.5 * (most[c] - least[c]);
        sum += pow(w->sign > 0.0 ? middle + far : fmax(middle - far, 0.0), 2);
    }
    return w->sign * sqrt(sum);
}

/* Of one number at every sample. */
static void see_range(const struct search *w, double reach, double least, double most, struct seen *seen) {
    seen->least = w->sign > 0.0 ? least : -most;
    seen->most = w->sign > 0.0 ? most : -least;
    seen->upper = 0.5 * (seen->most + seen->least) + reach * 0.5 * (most - least);
}

static void see_component(const struct search *w, double reach, int n, const double *values,
                          struct seen *seen) {
    double least = INFINITY, most = -INFINITY;
    const int step = w->components;
#pragma omp simd reduction(min : least) reduction(max : most)
    for (int p = 0; p < n; p++) {
        const double v = values[p * step];
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    see_range(w, reach, least, most, seen);
}

static void see(const struct search *w, double reach, int n, const double *values, struct seen *seen) {
    double least[SAMPLE_MAX_COMPONENTS], most[SAMPLE_MAX_COMPONENTS], squares[2] = {INFINITY, 0.0};
    if (w->component >= 0 || w->components == 1) {
        see_component(w, reach, n, values + (w->component >= 0 ? w->component : 0), seen);
        return;
    }
    for (int c = 0; c < w->components; c++) {
        least[c] = INFINITY;
        most[c] = -INFINITY;
    }
    for (int p = 0; p < n; p++, values += w->components) {
        double sum = 0.0;
        for (int c = 0; c < w->components; c++) {
            const double v = values[c];
            sum += v * v;
            least[c] = v < least[c] ? v : least[c];
            most[c] = v > most[c] ? v : most[c];
        }
        squares[0] = sum < squares[0] ? sum : squares[0];
        squares[1] = sum > squares[1] ? sum : squares[1];
    }
    seen->least = w->sign * sqrt(squares[w->sign > 0.0 ? 0 : 1]);
    seen->most = w->sign * sqrt(squares[w->sign > 0.0 ? 1 : 0]);
    seen->upper = fmax(seen->most, size_within(w, reach, least, most));
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
    (void)user;
    double *values = NULL;
    int64_t room = 0;
    for (int n; first < end; first += n) {
        int32_t cells[TOGETHER];
        int kind = 0;
        n = gather_run(w, NULL, first, end, &kind, cells);
        const struct backend_points *points = &w->samples[kind];
        const int64_t size = (int64_t)points->n * w->components;
        if (TOGETHER * size > room) {
            base_free(&values);
            TRY(ALLOC(values, room = TOGETHER * size));
        }
        TRY(w->s->backend->evaluate(w->s, w->field, n, cells, points, values));
        const double reach = w->reach[shape_of(w, region_at(w, first))];
        for (int i = 0; i < n; i++) see(w, reach, points->n, values + i * size, &w->seen[first + i]);
    }
done:
    base_free(&values);
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
            TRY(prepare_kind(w, r, NULL, &w->samples[kind_of(w, r)]));
        }
        if (over_faces(w)) TRY(fetch(w, NULL, first, n));
        TRY(for_chunks(w, first, first + n, CHUNK, sample_chunk, NULL));
        TRY(base_check_interrupt());
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
    w->shared = group == NULL && w->s->box == NULL;
    for (int64_t i = 0; *done_here && i < w->n; i++) {
        const struct region r = region_at(w, i);
        const double *of = values + 2 * (int64_t)r.cell;
        see_range(w, w->reach[shape_of(w, r)], of[0], of[1], &w->seen[i]);
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
    const int one = w->component >= 0 || w->components == 1;
    const double up = to_sought(w, w->best), low = to_sought(w, w->best - w->tie);
    const struct peak_goal goal = {.n = one ? 1 : w->components,
                                   .squares = !one,
                                   .sign = w->sign,
                                   .low = low,
                                   .slack = fmax(to_sought(w, w->best + w->slack) - up, 1e-15 * fabs(up)),
                                   .tie = up - low};
    double most;
    if (one)
        for (int64_t i = 0; i < peak_n_points(table); i++) {
            const double v = values[i * w->components + (w->component >= 0 ? w->component : 0)];
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
    TRY(ALLOC(values, TOGETHER * size));
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
        TRY(prepare_kind(w, r, &w->table, &w->nodes[kind_of(w, r)]));
    }
    TRY(fetch(w, list, 0, n));
    TRY(for_chunks(w, 0, n, 4, look_at_chunk, &look));
done:
    return status;
}

/* ------------------------------------------------------------------------------ the field itself */

/* Sizes at n points (in the cube: peak_point; or as they are) of a region, whose cell is fetched; x (or
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
    TRY(peak_table_create(w->dim, 2 * found->degree, &table));
    TRY(ALLOC(values, peak_n_points(&table) * w->components));
    TRY(ALLOC(scratch, peak_scratch(&table, w->components)));
    TRY(prepare_kind(w, r, &table, &points));
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
    const enum shape shape = shape_of(w, r);
    const int n = shape_n_nodes(shape, w->order);
    double *frame = NULL, *sizes = NULL, peak[3];
    int at = 0;
    TRY(ALLOC(frame, n * w->dim));
    TRY(ALLOC(sizes, n));
    TRY(fetch(w, &region, 0, 1));
    shape_samples(shape, w->order, frame);
    if (known == NULL) TRY(sizes_at(w, r, n, frame, sizes, NULL));
    while (known == NULL && at < n - 1 && !(sizes[at] >= w->best - w->tie)) at++;
    peak_point(shape, known != NULL ? known->t : (const double[3]){0}, peak);
    TRY(sizes_at(w, r, 1, known != NULL ? peak : frame + at * w->dim, sizes, x));
done:
    base_free(&frame);
    base_free(&sizes);
    return status;
}

/* The value and the place of all processes. */
static facet_status conclude(struct search *w, int64_t n, const struct found *found,
                             struct sample_place *place) {
    facet_status status = FACET_OK;
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
    if (chosen >= 0 && cell_number(w, chosen) == place->cell) TRY(find_place(w, chosen, known, place->at));
    TRY(team_reduce(team, TEAM_SUM, 3, place->at));
done:
    return status;
}

facet_status sample_extreme(const struct facet_solver *s, enum hdg_field field, int components, int component,
                            const struct sample_where *where, int greatest, double *value,
                            struct sample_place *place) {
    facet_status status = FACET_OK;
    struct search w = {.s = s,
                       .field = field,
                       .components = components,
                       .component = component,
                       .squares = field == HDG_VON_MISES || (components > 1 && component < 0),
                       .sign = greatest ? 1.0 : -1.0,
                       .degree = sample_table_degree(s, field),
                       .where = where};
    struct found *found = NULL;
    int64_t n = 0, top;
    int reduced;
    w.dim = s->problem->mesh->dim - over_faces(&w);
    w.order = sample_order(&w);
    for (int shape = 0; shape < SHAPE_COUNT; shape++) w.reach[shape] = reach_of(&w, (enum shape)shape);
    w.n = count_regions(&w);
    TRY(ALLOC(w.seen, w.n));
    TRY(peak_table_create(w.dim, (field == HDG_VON_MISES ? 2 : 1) * w.degree, &w.table));
    TRY(reduce(&w, &reduced));
    if (!reduced) TRY(sample_regions(&w));
    TRY(compare_samples(&w, &top));
    TRY(look_where_open(&w, top, &n, &found));
    TRY(conclude(&w, n, found, place));
    *value = w.sign * w.best;
done:
    for (int k = 0; k < N_KINDS; k++) {
        backend_points_destroy(&w.samples[k]);
        backend_points_destroy(&w.nodes[k]);
    }
    peak_table_destroy(&w.table);
    base_free(&w.seen);
    base_free(&found);
    return status;
}
