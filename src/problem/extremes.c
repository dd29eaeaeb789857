/* Extremes of fields, with their places: over cells, or over faces of a part.
 *
 * Every cell (face) is sampled, and bounded by its samples (problem/bounds.h). The fields of those that may
 * have more than the largest sample of all are taken as polynomials (poly/peak.h), whose extremes Newton's
 * method finds to rounding: the most promising first, until no bound exceeds what was found. What is
 * returned is the field at that place. Where the field is no polynomial of the degree that was assumed, that
 * value disagrees with the polynomial's, and the degree is doubled.
 *
 * From here on the greatest value of sign * size is sought: of a component, or of a magnitude. Magnitudes are
 * sought by their squares, which are smooth where they are not. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "poly/peak.h"
#include "problem/bounds.h"
#include "problem/problem.h"

enum {
    TOGETHER = 32,
    MOST_AT_ONCE = 64,
    MOST_AT_A_GLANCE = 512,
    CHUNK = 256,
    FETCHED = 4096,
    N_KINDS = MESH_MAX_BLOCKS * (SHAPE_MAX_FACES + 1)
};

/* A cell, or (local >= 0) one of its faces. */
struct region {
    int32_t cell;
    int local;
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
    struct sought what;
    int squares;                 /* what counts is a root, of a square that is smooth */
    int degree, fit, order, dim; /* of the field; of polynomials for it; of samples; of a region */
    struct lattice lattices[SHAPE_COUNT];
    const struct sample_domain *where;
    int64_t n;  /* regions */
    int shared; /* samples of a cell are those of several cells */
    int quick;  /* peaks need no proof */
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

/* In 3D the von Mises stress is the magnitude of these parts of the stress, which are polynomials if it is
 * one: differences of normal stresses by sqrt(2), shear by sqrt(3). */
static void split_stress(const double *stress, double *parts) {
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3;
        parts[a] = sqrt(0.5) * (stress[4 * a] - stress[4 * b]);
        parts[3 + a] = sqrt(0.75) * (stress[3 * a + b] + stress[3 * b + a]);
    }
}

/* values: n_cells x points x components, of von Mises stresses in 3D those of split_stress. */
static facet_status evaluate(const struct search *w, int n_cells, const int32_t *cells,
                             const struct backend_points *points, double *values) {
    facet_status status = FACET_OK;
    const int64_t n = (int64_t)n_cells * points->n;
    double *stress = NULL;
    if (w->field != HDG_VON_MISES || w->what.one)
        return w->s->backend->evaluate(w->s, BACKEND_SOLVED, w->field, n_cells, cells, points, values);
    TRY(ALLOC(stress, 9 * n));
    TRY(w->s->backend->evaluate(w->s, BACKEND_SOLVED, HDG_STRESS, n_cells, cells, points, stress));
    for (int64_t p = 0; p < n; p++) split_stress(stress + 9 * p, values + p * w->what.components);
done:
    base_free(&stress);
    return status;
}

/* ------------------------------------------------------------------------------ samples */

static int is_curved(const struct facet_mesh *mesh) {
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; mesh->blocks[b].affine != NULL && c < mesh->blocks[b].count; c++)
            if (!mesh->blocks[b].affine[c]) return 1;
    return 0;
}

static int is_varying(const struct hdg_data *data) {
    const struct field *const *const all[] = {data->conductivity, data->mu, data->lambda, data->orthotropic};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int r = 0; all[i] != NULL && r < data->n_regions; r++)
            if (all[i][r] != NULL && !field_is_constant(all[i][r], NULL)) return 1;
    return 0;
}

/* The degree of polynomials that stand for the field. What is made at points from slopes and data is no
 * polynomial where cells are no images by affine maps, or data vary: more points tell of more of it. */
static int find_fit(const struct search *w) {
    const struct hdg_data *data = &w->s->resolved.data;
    const int twice = 2 * w->degree + 2, more = w->degree + 6, few = twice < more ? twice : more,
              by_degree = few < 6 ? 6 : few,
              made = w->field != HDG_U && w->field != HDG_U_STAR && w->field != HDG_H && w->field != HDG_P &&
                     (w->field != HDG_Q || data->equation->flux == NULL);
    if (!made || by_degree > PEAK_MAX_DEGREE / 2) return w->degree;
    return is_varying(data) || is_curved(w->s->problem->mesh) ? by_degree : w->degree;
}

/* Fields that are no polynomials of the degree, even where data are constant, are given twice the reach. */
static double reach_of(const struct search *w, enum shape shape) {
    const int raised = w->s->resolved.data.equation->raise && w->field == HDG_U && !shape_is_simplex(shape);
    const int rough = raised || w->fit > w->degree || (w->what.one && w->squares) || w->field == HDG_Q_STAR;
    return (rough ? 2.0 : 1.0) * peak_reach(shape, w->fit, w->order);
}

static facet_status make_lattice(struct search *w, enum shape shape) {
    if (w->lattices[shape].n > 0) return FACET_OK;
    return lattice_create(shape, w->order, reach_of(w, shape), &w->lattices[shape]);
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
    double *values = NULL, *work = NULL, best = -INFINITY; /* of this chunk */
    int64_t room = 0;
    (void)user;
    for (int n; first < end; first += n) {
        int32_t cells[TOGETHER];
        int kind = 0;
        n = gather_run(w, NULL, first, end, &kind, cells);
        const struct backend_points *points = &w->samples[kind];
        const int64_t size = (int64_t)points->n * w->what.components;
        if (TOGETHER * size > room) {
            base_free(&values);
            base_free(&work);
            TRY(ALLOC(values, room = TOGETHER * size));
            TRY(ALLOC(work, 2 * points->n));
        }
        TRY(evaluate(w, n, cells, points, values));
        const struct lattice *lattice = &w->lattices[shape_of(w, region_at(w, first))];
        for (int i = 0; i < n; i++) {
            bounds_of_samples(&w->what, lattice, values + i * size, &w->seen[first + i]);
            best = fmax(best, w->seen[first + i].most);
        }
        for (int i = 0; i < n; i++) {
            struct seen *seen = &w->seen[first + i];
            if (seen->upper > best)
                seen->upper =
                    fmin(seen->upper, bounds_sharpen(&w->what, lattice, values + i * size, best, work));
        }
    }
done:
    base_free(&values);
    base_free(&work);
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
            const struct lattice *lattice = &w->lattices[shape_of(w, r)];
            struct backend_points *points = &w->samples[kind_of(w, r)];
            TRY(make_lattice(w, shape_of(w, r)));
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
    if (w->s->backend->reduce == NULL || w->what.components != 1 || over_faces(w)) goto done;
    TRY(ALLOC(values, 2 * (int64_t)mesh->n_cells));
    TRY(ALLOC(x, n));
    shape_samples(SHAPE_SEGMENT, w->order, x);
    TRY(w->s->backend->reduce(w->s, w->field, group != NULL ? BACKEND_EXTREMES : BACKEND_RANGE, n, x, values,
                              &n_pairs));
    *done_here = n_pairs > 0;
    w->shared = *done_here && group == NULL && w->s->operator_used == OPERATOR_MAPPED;
    for (int64_t i = 0; *done_here && i < w->n; i++) {
        const struct region r = region_at(w, i);
        const double *of = values + 2 * (int64_t)r.cell;
        TRY(make_lattice(w, shape_of(w, r)));
        bounds_of_range(&w->what, w->lattices[shape_of(w, r)].reach, of[0], of[1], &w->seen[i]);
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
    const struct peak_goal goal = {.n = w->what.one ? 1 : w->what.components,
                                   .squares = !w->what.one,
                                   .quick = w->quick,
                                   .sign = w->what.sign,
                                   .low = low,
                                   .slack = fmax(to_sought(w, w->best + w->slack) - up, 1e-15 * fabs(up)),
                                   .tie = up - low};
    double most;
    for (int64_t i = 0; w->what.one && i < peak_n_points(table); i++) {
        const double v = values[i * w->what.components + w->what.first];
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
    const int64_t size = peak_n_points(&w->table) * w->what.components;
    double *values = NULL, *scratch = NULL;
    TRY(ALLOC(values, (end - first < TOGETHER ? end - first : TOGETHER) * size));
    TRY(ALLOC(scratch, peak_scratch(&w->table, w->what.components)));
    for (int n; first < end; first += n) {
        int32_t cells[TOGETHER];
        int kind = 0;
        n = gather_run(w, look->list, first, end, &kind, cells);
        TRY(evaluate(w, n, cells, &w->nodes[kind], values));
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
    TRY(ALLOC(values, n * w->what.components));
    TRY(prepare(w, r, n, frame, &points));
    TRY(evaluate(w, 1, &r.cell, &points, values));
    for (int p = 0; p < n; p++) sizes[p] = sought_size(&w->what, values + (int64_t)p * w->what.components);
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
    TRY(peak_table_create(w->dim, 2 * found->degree, !w->what.one, &table));
    TRY(ALLOC(values, peak_n_points(&table) * w->what.components));
    TRY(ALLOC(scratch, peak_scratch(&table, w->what.components)));
    TRY(prepare_nodes(w, r, &table, &points));
    TRY(evaluate(w, 1, &r.cell, &points, values));
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
    TRY(fetch(w, &found->region, 0, 1));
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

/* The one with the greatest value; NULL: there is none. */
static struct found *highest(int64_t n, struct found *found) {
    struct found *top = n > 0 ? found : NULL;
    for (int64_t i = 1; i < n; i++)
        if (found[i].value > top->value) top = &found[i];
    return top;
}

/* The greatest of all that was looked at becomes the field's own. */
static facet_status verify_best(const struct search *w, int64_t n, struct found *found) {
    facet_status status = FACET_OK;
    for (struct found *top = highest(n, found); top != NULL && !top->is_true && top->value > -INFINITY;
         top = highest(n, found))
        TRY(verify(w, top));
done:
    return status;
}

/* ------------------------------------------------------------------------------ all of them */

/* Differences that are none, and those of values that count as equal when it comes to their places. */
static facet_status compare_samples(struct search *w) {
    facet_status status = FACET_OK;
    double ends[2] = {-INFINITY, -INFINITY};
    for (int64_t i = 0; i < w->n; i++) {
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

static int64_t cell_number(const struct search *w, int64_t region) {
    const struct facet_mesh *mesh = w->s->problem->mesh;
    const int32_t cell = region_at(w, region).cell;
    return mesh->part != NULL ? mesh->part->cell_numbers[cell] : cell;
}

/* A region that is to be looked at. */
struct open {
    double key, most; /* the greatest keys come first, and among them the greatest samples */
    int64_t region;
};

static int compare_open(const void *a, const void *b) {
    const struct open *first = a, *second = b;
    if (first->key != second->key) return first->key > second->key ? -1 : 1;
    if (first->most != second->most) return first->most > second->most ? -1 : 1;
    return (first->region > second->region) - (first->region < second->region);
}

static int compare_found(const void *a, const void *b) {
    const struct found *first = a, *second = b;
    return (first->region > second->region) - (first->region < second->region);
}

/* Looks at the next of the open regions, and raises the best. */
static facet_status look_at_next(struct search *w, int64_t first, int64_t n, const struct open *open,
                                 struct found *found) {
    facet_status status = FACET_OK;
    int64_t list[MOST_AT_ONCE];
    for (int64_t i = 0; i < n; i++) {
        list[i] = open[first + i].region;
        w->seen[list[i]].upper = -INFINITY;
    }
    TRY(look_at(w, n, list, found));
    if (highest(n, found)->value > w->best) {
        TRY(verify_best(w, n, found));
        w->best = fmax(w->best, highest(n, found)->value);
    }
done:
    return status;
}

static int64_t batch(int64_t done) {
    return done < 4 ? 4 : done < MOST_AT_ONCE ? done : MOST_AT_ONCE;
}

static int64_t list_open(const struct search *w, struct open *open) {
    int64_t all = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (w->seen[i].upper > w->best + w->slack)
            open[all++] = (struct open){w->seen[i].upper, w->seen[i].most, i};
    qsort(open, (size_t)all, sizeof *open, compare_open);
    return all;
}

/* Least magnitudes: no bound is below zero, and to prove more takes long. A zero ends the search, therefore
 * climbs alone look for one first, in many cells; stresses of six parts hardly have any. */
static facet_status glance(struct search *w, struct open *open, struct found *found) {
    facet_status status = FACET_OK;
    int64_t list[MOST_AT_A_GLANCE], all = 0;
    if (!w->what.one && w->what.sign < 0.0 && w->what.components <= 3) all = list_open(w, open);
    if (all > MOST_AT_A_GLANCE) all = MOST_AT_A_GLANCE;
    for (int64_t i = 0; i < all; i++) list[i] = open[i].region;
    w->quick = 1;
    for (int64_t first = 0, n; first < all && open[first].key > w->best + w->slack; first += n) {
        n = all - first < batch(first) ? all - first : batch(first);
        TRY(look_at(w, n, list + first, found));
        TRY(verify_best(w, n, found));
        w->best = fmax(w->best, highest(n, found)->value);
    }
done:
    w->quick = 0;
    return status;
}

/* Regions that may have more than the best, the most promising first. *n: how many were looked at. */
static facet_status look_for_more(struct search *w, struct open *open, struct found *found, int64_t *n) {
    facet_status status = FACET_OK;
    const int64_t all = list_open(w, open);
    for (int64_t now; *n < all && open[*n].key > w->best + w->slack; *n += now) {
        now = 1;
        while (now < batch(*n) && *n + now < all && open[*n + now].key > w->best + w->slack) now++;
        TRY(look_at_next(w, *n, now, open, found + *n));
    }
done:
    return status;
}

/* Regions that may have as much, in the order of their cells, until there is one. */
static facet_status look_for_first(struct search *w, struct open *open, struct found *found, int64_t *n) {
    facet_status status = FACET_OK;
    int64_t first = INT64_MAX, all = 0, done = 0;
    const double least = w->best - w->tie;
    for (int64_t i = 0; i < w->n && !w->shared; i++)
        if (w->seen[i].most >= least && cell_number(w, i) < first) first = cell_number(w, i);
    for (int64_t i = 0; i < *n; i++)
        if (found[i].value >= least && cell_number(w, found[i].region) < first)
            first = cell_number(w, found[i].region);
    TRY(team_reduce_counts(mesh_team(w->s->problem->mesh), TEAM_MIN, 1, &first));
    for (int64_t i = 0; i < w->n; i++)
        if (w->seen[i].upper >= least && cell_number(w, i) <= first)
            open[all++] = (struct open){-(double)cell_number(w, i), 0.0, i};
    qsort(open, (size_t)all, sizeof *open, compare_open);
    for (int64_t now; done < all; done += now) {
        now = all - done < batch(done) ? all - done : batch(done);
        TRY(look_at_next(w, done, now, open, found + *n));
        *n += now;
        if (highest(now, found + *n - now)->value >= least) break;
    }
done:
    return status;
}

/* found: of those regions that samples leave open, in their order. */
static facet_status look_where_open(struct search *w, int64_t *n, struct found **found) {
    facet_status status = FACET_OK;
    struct open *open = NULL;
    *n = 0;
    for (int64_t i = 0; i < w->n; i++) *n += w->seen[i].upper >= w->best - w->tie;
    TRY(ALLOC(open, *n));
    TRY(ALLOC(*found, *n));
    *n = 0;
    TRY(glance(w, open, *found));
    TRY(look_for_more(w, open, *found, n));
    TRY(team_reduce(mesh_team(w->s->problem->mesh), TEAM_MAX, 1, &w->best));
    TRY(look_for_first(w, open, *found, n));
    TRY(verify_best(w, *n, *found));
    qsort(*found, (size_t)*n, sizeof **found, compare_found);
done:
    base_free(&open);
    return status;
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
    struct error_bar bar = {0};
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
        TRY(sample_cell_bar(w->s, w->field, region_at(w, chosen).cell, &bar));
        /* It is sought where the error is largest; a polynomial may be p + 1 times its mean in a corner. */
        bar.error *= w->degree + 1;
    }
    TRY(team_reduce(team, TEAM_SUM, 3, place->at));
    TRY(team_reduce(team, TEAM_MAX, 1, &bar.error));
    TRY(team_reduce(team, TEAM_MAX, 1, &bar.scale));
    if (about != NULL) about->bar = bar;
done:
    return status;
}

facet_status sample_extreme(const struct facet_solver *s, enum hdg_field field, int components, int component,
                            const struct sample_domain *where, int greatest, double *value,
                            struct sample_about *about) {
    facet_status status = FACET_OK;
    const int split = field == HDG_VON_MISES && s->problem->mesh->dim == 3; /* evaluate */
    struct search w = {.s = s,
                       .field = field,
                       .what = {.components = split ? 6 : components,
                                .one = !split && (components == 1 || component >= 0),
                                .first = component > 0 && !split ? component : 0,
                                .sign = greatest ? 1.0 : -1.0},
                       .squares = field == HDG_VON_MISES || (components > 1 && component < 0),
                       .degree = sample_table_degree(s, field),
                       .where = where};
    struct found *found = NULL;
    int64_t n = 0;
    int reduced;
    w.dim = s->problem->mesh->dim - over_faces(&w);
    w.fit = find_fit(&w);
    w.order = peak_sample_order(w.fit, s->operator_used == OPERATOR_TENSOR ? BOX_MAX_DEGREE : 10);
    w.n = count_regions(&w);
    TRY(ALLOC(w.seen, w.n));
    TRY(peak_table_create(w.dim, (w.what.one && w.squares ? 2 : 1) * w.fit, !w.what.one, &w.table));
    TRY(reduce(&w, &reduced));
    if (!reduced) TRY(sample_regions(&w));
    TRY(compare_samples(&w));
    TRY(look_where_open(&w, &n, &found));
    TRY(conclude(&w, n, found, about));
    *value = w.what.sign * w.best;
done:
    for (int k = 0; k < N_KINDS; k++) {
        backend_points_destroy(&w.samples[k]);
        backend_points_destroy(&w.nodes[k]);
    }
    for (int shape = 0; shape < SHAPE_COUNT; shape++) lattice_destroy(&w.lattices[shape]);
    peak_table_destroy(&w.table);
    base_free(&w.seen);
    base_free(&found);
    return status;
}
