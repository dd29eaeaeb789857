/* Numbers from a solution: values at points, integrals, means and extremes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/part.h"
#include "problem/problem.h"

facet_status sample_find_field(const struct facet_solver *s, const char *name, enum hdg_field *field,
                               int *components) {
    const struct physics *physics = s->problem->physics, *owner = physics_of_field(physics, name);
    const struct equation *equation = s->resolved.data.equation;
    int found = hdg_find_field(name);
    char text[192];
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    if (found < 0) {
        equation_list_fields(equation, ", ", text, sizeof text);
        return base_fail(FACET_ERROR_INPUT, "there is no field '%s'; fields: %s", name, text);
    }
    *field = (enum hdg_field)found;
    if (owner != physics)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to %s", name, owner->name);
    if (!equation_has_field(equation, *field)) {
        const char *word = physics_elsewhere(physics, &s->options, *field, text, sizeof text);
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to the %s %s%s", name,
                         option_names[physics->chosen_by], word, text);
    }
    if (*field == HDG_ACROSS && s->problem->mesh->dim == 3)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to 2D; in 3D it is in the stress", name);
    *components = equation_field_components(equation, s->problem->mesh->dim, *field);
    if (hdg_fields[*field].star && !s->options.postprocess)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' needs discretization: {postprocess: true}", name);
    return solver_need(s, *field);
}

int sample_table_degree(const struct facet_solver *s, enum hdg_field field) {
    return s->options.degree + (s->resolved.data.equation->raise || hdg_fields[field].star);
}

void backend_points_destroy(struct backend_points *points) {
    base_free(&points->xi);
    base_free(&points->weights);
    hdg_table_destroy(&points->own);
    for (int d = 0; d < 3; d++) base_free(&points->coordinates[d]);
    base_free(&points->places);
    *points = (struct backend_points){0};
}

static int block_number(const struct facet_mesh *mesh, int32_t cell) {
    return (int)(mesh_block_of(mesh, cell) - mesh->blocks);
}

/* Points and faces whose cells are fetched at once. */
#define FETCHED 4096

static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    return s->backend->fetch != NULL ? s->backend->fetch(s, n, cells) : FACET_OK;
}

static facet_status fail_outside(const struct facet_mesh *mesh, const double *at) {
    char z[32] = "";
    if (mesh->dim == 3) snprintf(z, sizeof z, ", %g", at[2]);
    return base_fail(FACET_ERROR_INPUT, "the point (%g, %g%s) lies outside the mesh", at[0], at[1], z);
}

/* The cells of points, and where they lie there; -1: in another part of the mesh. */
static facet_status locate_some(const struct sample_field *f, int64_t n, const double *x, int32_t *cells,
                                double *xi) {
    const struct facet_mesh *mesh = f->from->problem->mesh;
    for (int64_t i = 0; i < n; i++) {
        const double *at = x + i * mesh->dim;
        double found[3] = {0.0};
        facet_status status = mesh_locate(f->locator, at, &cells[i], found);
        if (status != FACET_OK) return status;
        if (cells[i] < 0 && mesh->part == NULL) return fail_outside(mesh, at);
        memcpy(xi + i * mesh->dim, found, (size_t)mesh->dim * sizeof *xi);
    }
    return FACET_OK;
}

/* Of the parts that have a point the one keeps it whose cell mesh_locate would find in the whole, and the
 * cells of others become -1. */
static facet_status share_points(const struct facet_mesh *mesh, int64_t n, const double *x, const double *xi,
                                 int32_t *cells) {
    facet_status status = FACET_OK;
    int64_t *numbers = NULL;
    double *claims = NULL, *best = NULL;
    if (mesh->part == NULL) return FACET_OK;
    const int is_box = mesh_bricks(mesh) != NULL;
    const int64_t none = is_box ? -1 : INT64_MAX;
    TRY(ALLOC(numbers, n));
    TRY(ALLOC(claims, n));
    TRY(ALLOC(best, n));
    for (int64_t i = 0; i < n; i++)
        best[i] = claims[i] =
            cells[i] >= 0 ? mesh_claim(mesh, cells[i], x + i * mesh->dim, xi + i * mesh->dim) : DBL_MAX;
    TRY(team_reduce(mesh->part->team, TEAM_MIN, (int)n, best));
    for (int64_t i = 0; i < n; i++)
        numbers[i] = cells[i] >= 0 && claims[i] == best[i] ? mesh->part->cell_numbers[cells[i]] : none;
    TRY(team_reduce_counts(mesh->part->team, is_box ? TEAM_MAX : TEAM_MIN, (int)n, numbers));
    for (int64_t i = 0; i < n; i++) {
        if (numbers[i] == none) TRY(fail_outside(mesh, x + i * mesh->dim));
        if (cells[i] >= 0 && mesh->part->cell_numbers[cells[i]] != numbers[i]) cells[i] = -1;
    }
done:
    base_free(&numbers);
    base_free(&claims);
    base_free(&best);
    return status;
}

/* Points that follow one another mostly lie in one cell, and are evaluated together. */
static facet_status evaluate_some(const struct sample_field *f, int64_t n, const int32_t *cells,
                                  const double *xi, double *values) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = f->from;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    int degree = sample_table_degree(s, f->field);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && cells[end] == cells[begin];) end++;
        if (cells[begin] < 0) {
            memset(values + begin * f->components, 0,
                   (size_t)((end - begin) * f->components) * sizeof *values);
            continue;
        }
        TRY(s->backend->prepare(s, block_number(mesh, cells[begin]), degree, (int)(end - begin),
                                xi + begin * mesh->dim, &points));
        TRY(s->backend->evaluate(s, f->field, 1, &cells[begin], &points, values + begin * f->components));
    }
done:
    backend_points_destroy(&points);
    return status;
}

facet_status sample_field_create(const struct facet_solver *from, const char *name, int64_t n_points,
                                 struct sample_field *f) {
    facet_status status = FACET_OK;
    *f = (struct sample_field){.from = from};
    TRY(sample_find_field(from, name, &f->field, &f->components));
    TRY(mesh_locator_create_for(from->problem->mesh, n_points, &f->locator));
done:
    return status;
}

void sample_field_destroy(struct sample_field *f) {
    mesh_locator_destroy(&f->locator);
    *f = (struct sample_field){0};
}

facet_status sample_field_here(const struct sample_field *f, int64_t n, const double *x, double *values) {
    facet_status status = FACET_OK;
    int32_t *cells = NULL;
    double *xi = NULL;
    TRY(ALLOC(cells, n));
    TRY(ALLOC(xi, n * f->from->problem->mesh->dim));
    TRY(locate_some(f, n, x, cells, xi));
    for (int64_t i = 0; i < n; i++)
        if (cells[i] < 0) {
            fail_outside(f->from->problem->mesh, x + i * f->from->problem->mesh->dim);
            TRY(base_wrap(FACET_ERROR_INPUT, "of the part of this rank"));
        }
    TRY(evaluate_some(f, n, cells, xi, values));
done:
    base_free(&cells);
    base_free(&xi);
    return status;
}

/* Points that one thread takes at a time. */
#define PORTION 128

/* FETCHED points at most, which are those of all processes. */
static facet_status evaluate_together(const struct sample_field *f, int64_t n, const double *x,
                                      double *values) {
    facet_status status = FACET_OK;
    const int dim = f->from->problem->mesh->dim;
    const int n_portions = (int)((n + PORTION - 1) / PORTION), threads = base_threads_for(1000 * n);
    struct base_collector failures;
    int32_t *cells = NULL;
    double *xi = NULL;
    TRY(ALLOC(cells, n));
    TRY(ALLOC(xi, n * dim));
    base_collector_init(&failures);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int p = 0; p < n_portions; p++) {
        int64_t at = (int64_t)p * PORTION, m = n - at < PORTION ? n - at : PORTION;
        base_collect(&failures, p, locate_some(f, m, x + at * dim, cells + at, xi + at * dim));
    }
    TRY(base_collected(&failures));
    TRY(share_points(f->from->problem->mesh, n, x, xi, cells));
    if (!f->is_whole) TRY(fetch(f->from, n, cells));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int p = 0; p < n_portions; p++) {
        int64_t at = (int64_t)p * PORTION, m = n - at < PORTION ? n - at : PORTION;
        base_collect(&failures, p,
                     evaluate_some(f, m, cells + at, xi + at * dim, values + at * f->components));
    }
    TRY(base_collected(&failures));
    TRY(team_reduce(mesh_team(f->from->problem->mesh), TEAM_SUM, (int)n * f->components, values));
    TRY(base_check_interrupt());
done:
    base_free(&cells);
    base_free(&xi);
    return status;
}

/* The points of all processes, one process after the other, and the first of this one's; or those of any,
 * where all ask for the same ones. */
struct asked {
    int64_t n_all, first;
    int same;
};

/* Of 64 bits: other points have another one. */
static int64_t fingerprint(int64_t n, const double *x) {
    uint64_t mixed = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        mixed = (mixed ^ bits) + 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        mixed ^= mixed >> 31;
    }
    return (int64_t)mixed;
}

static facet_status ask(const struct facet_mesh *mesh, int64_t n, const double *x, struct asked *asked) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(mesh);
    int64_t *all = NULL;
    *asked = (struct asked){.n_all = n, .same = 1};
    if (team == NULL) goto done;
    const int64_t own[2] = {n, fingerprint(n * mesh->dim, x)};
    TRY(ALLOC(all, 2 * team->size));
    TRY(team_gather(team, 2, own, all));
    for (int r = 1; r < team->size; r++)
        asked->same = asked->same && all[2 * r] == all[0] && all[2 * r + 1] == all[1];
    if (asked->same) goto done;
    asked->n_all = 0;
    for (int r = 0; r < team->size; r++) {
        if (r == team->rank) asked->first = asked->n_all;
        asked->n_all += all[2 * r];
    }
done:
    base_free(&all);
    return status;
}

/* Points of one process go round as a sum in which the others have zeros. */
static facet_status evaluate_asked(const struct sample_field *f, const struct asked *asked, int64_t n_points,
                                   const double *x, double *values) {
    facet_status status = FACET_OK;
    const int64_t dim = f->from->problem->mesh->dim, components = f->components;
    double *points = NULL, *found = NULL;
    if (!asked->same) TRY(ALLOC(points, FETCHED * dim));
    if (!asked->same) TRY(ALLOC(found, FETCHED * components));
    for (int64_t first = 0; first < asked->n_all; first += FETCHED) {
        const int64_t n = asked->n_all - first < FETCHED ? asked->n_all - first : FETCHED;
        if (asked->same) {
            TRY(evaluate_together(f, n, x + first * dim, values + first * components));
            continue;
        }
        int64_t begin =
            asked->first > first ? asked->first - first : 0; /* of these, what is asked for here */
        int64_t end = asked->first + n_points - first < n ? asked->first + n_points - first : n;
        const int64_t own = end > begin ? end - begin : 0, at = first + begin - asked->first;
        memset(points, 0, (size_t)(n * dim) * sizeof *points);
        if (own > 0) memcpy(points + begin * dim, x + at * dim, (size_t)(own * dim) * sizeof *points);
        TRY(team_reduce(mesh_team(f->from->problem->mesh), TEAM_SUM, (int)(n * dim), points));
        TRY(evaluate_together(f, n, points, found));
        if (own > 0)
            memcpy(values + at * components, found + begin * components,
                   (size_t)(own * components) * sizeof *found);
    }
done:
    base_free(&points);
    base_free(&found);
    return status;
}

/* Inside of the call: of many processes all hear of it. */
static facet_status check_asked(const char *call, int64_t n_points, const double *x, const double *values) {
    if (n_points < 0) return base_fail(FACET_ERROR_INPUT, "%s: %lld points", call, (long long)n_points);
    if (n_points > 0 && (x == NULL || values == NULL))
        return base_fail(FACET_ERROR_INPUT, "%s: the argument '%s' is NULL", call,
                         x == NULL ? "x" : "values");
    return FACET_OK;
}

facet_status sample_field_evaluate(const struct sample_field *f, const char *call, int64_t n_points,
                                   const double *x, double *values) {
    facet_status status = FACET_OK;
    struct asked asked;
    TRY(check_asked(call, n_points, x, values));
    TRY(ask(f->from->problem->mesh, n_points, x, &asked));
    TRY(evaluate_asked(f, &asked, n_points, x, values));
done:
    return status;
}

static facet_status evaluate(const struct facet_solver *s, const char *name, int64_t n_points,
                             const double *x, double *values) {
    static const char call[] = "facet_solver_evaluate";
    facet_status status = FACET_OK;
    struct sample_field field = {0};
    struct asked asked;
    if (name == NULL) FAIL(FACET_ERROR_INPUT, "%s: the argument 'name' is NULL", call);
    TRY(check_asked(call, n_points, x, values));
    if (n_points > 0) TRY(solver_check_host(s, call, "x", x));
    if (n_points > 0) TRY(solver_check_host(s, call, "values", values));
    TRY(ask(s->problem->mesh, n_points, x, &asked));
    TRY(sample_field_create(s, name, asked.n_all, &field));
    TRY(evaluate_asked(&field, &asked, n_points, x, values));
done:
    sample_field_destroy(&field);
    return status;
}

facet_status facet_solver_evaluate(const facet_solver *s, const char *name, int64_t n_points, const double *x,
                                   double *values) {
    facet_status status;
    REQUIRE_AS(s, "solver");
    SOLVER_READ(s, status, evaluate(s, name, n_points, x, values));
    return status;
}

/* What a sweep over cells or faces gathers. */
struct gathered {
    double integral[SAMPLE_MAX_COMPONENTS], measure;
    double largest, smallest;
    int components, component; /* component -1: the magnitude of a vector counts */
    int mean;                  /* the measure is wanted */
};

static void gather(struct gathered *g, int n, const double *weights, const double *values) {
    for (int p = 0; p < n; p++) {
        const double *v = values + p * g->components;
        double size = v[0];
        if (g->component >= 0) {
            size = v[g->component];
        } else if (g->components > 1) {
            size = 0.0;
            for (int c = 0; c < g->components; c++) size += v[c] * v[c];
            size = sqrt(size);
        }
        if (weights != NULL) {
            for (int c = 0; c < g->components; c++) g->integral[c] += weights[p] * v[c];
            g->measure += weights[p];
        }
        g->largest = size > g->largest ? size : g->largest; /* fmax is a call, and there are millions */
        g->smallest = size < g->smallest ? size : g->smallest;
    }
}

/* Order of the lattices on which extremes are sought; on a box fine ones are cheap. */
static int lattice_order(const struct facet_solver *s) {
    int wanted = 2 * (s->options.degree + 1), most = s->box != NULL ? BOX_MAX_DEGREE : 10;
    return wanted < most ? wanted : most;
}

/* The lattice of the cells of a block, for extremes. */
static facet_status prepare_lattice(const struct facet_solver *s, enum hdg_field field, int block,
                                    struct backend_points *points) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    enum shape shape = mesh->blocks[block].shape;
    double *xi = NULL;
    int n = shape_n_nodes(shape, lattice_order(s));
    TRY(ALLOC(xi, n * mesh->dim));
    shape_nodes(shape, lattice_order(s), xi);
    TRY(s->backend->prepare(s, block, sample_table_degree(s, field), n, xi, points));
done:
    base_free(&xi);
    return status;
}

/* Cells first .. end - 1 of a group (NULL: of the mesh), all of one block. */
static facet_status over_some_cells(const struct facet_solver *s, enum hdg_field field,
                                    const struct mesh_group *group, int32_t first, int32_t end,
                                    const struct backend_points *points, int extremes, struct gathered *g) {
    enum { TOGETHER = 32 }; /* what an evaluation needs is made once for them */
    facet_status status = FACET_OK;
    const int64_t size = (int64_t)points->n * g->components;
    double *values = NULL, *wJ = NULL;
    TRY(ALLOC(values, TOGETHER * size));
    if (!extremes) TRY(ALLOC(wJ, points->n));
    for (int32_t begin = first, n; begin < end; begin += n) {
        int32_t cells[TOGETHER];
        n = end - begin < TOGETHER ? end - begin : TOGETHER;
        for (int32_t i = 0; i < n; i++) cells[i] = group != NULL ? group->ids[begin + i] : begin + i;
        TRY(s->backend->evaluate(s, field, n, cells, points, values));
        for (int32_t i = 0; i < n; i++) {
            if (!extremes) TRY(s->backend->weights(s, cells[i], points, wJ));
            gather(g, points->n, wJ, values + i * size);
        }
    }
done:
    base_free(&values);
    base_free(&wJ);
    return status;
}

/* The same for integrals that the backend has without points. */
static facet_status integrate_cells(const struct facet_solver *s, enum hdg_field field,
                                    const struct mesh_group *group, int32_t first, int32_t end,
                                    struct gathered *g) {
    facet_status status = FACET_OK;
    for (int32_t i = first; i < end; i++) {
        double integrals[SAMPLE_MAX_COMPONENTS], volume;
        TRY(s->backend->integrate(s, field, group != NULL ? group->ids[i] : i, integrals, &volume));
        for (int c = 0; c < g->components; c++) g->integral[c] += integrals[c];
        g->measure += volume;
    }
done:
    return status;
}

/* What a part of the same sweep begins with. */
static struct gathered empty_part(const struct gathered *g) {
    return (struct gathered){.components = g->components,
                             .component = g->component,
                             .mean = g->mean,
                             .largest = g->largest,
                             .smallest = g->smallest};
}

static void join(struct gathered *into, const struct gathered *part) {
    for (int c = 0; c < into->components; c++) into->integral[c] += part->integral[c];
    into->measure += part->measure;
    into->largest = fmax(into->largest, part->largest);
    into->smallest = fmin(into->smallest, part->smallest);
}

/* What the backend makes of all cells at once; *done: it does. */
static facet_status reduce_cells(const struct facet_solver *s, enum hdg_field field,
                                 const struct mesh_group *group, int extremes, struct gathered *g,
                                 int *done_here) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    double *values = NULL, *x = NULL;
    int n = lattice_order(s) + 1;
    int64_t n_pairs = 0;
    enum backend_take take = group != NULL ? (extremes ? BACKEND_EXTREMES : BACKEND_INTEGRALS)
                                           : (extremes ? BACKEND_RANGE : BACKEND_TOTAL);
    *done_here = 0;
    if (s->backend->reduce == NULL || g->components != 1) goto done;
    TRY(ALLOC(values, 2 * (int64_t)mesh->n_cells));
    TRY(ALLOC(x, n));
    for (int i = 0; i < n; i++) x[i] = (double)i / (n - 1);
    TRY(s->backend->reduce(s, field, take, n, x, values, &n_pairs));
    *done_here = n_pairs > 0;
    for (int64_t i = 0; *done_here && i < (group != NULL ? group->count : n_pairs); i++) {
        const double *of = values + 2 * (int64_t)(group != NULL ? group->ids[i] : i);
        g->smallest = extremes ? fmin(g->smallest, of[0]) : g->smallest;
        g->largest = extremes ? fmax(g->largest, of[1]) : g->largest;
        g->integral[0] += extremes ? 0.0 : of[0];
        g->measure += extremes ? 0.0 : of[1];
    }
done:
    base_free(&values);
    base_free(&x);
    return status;
}

/* Cells: integrals by the norm rule; extremes at a lattice that includes edges and vertices. They are taken
 * in parts that do not depend on the number of threads, and neither does the sum. */
static facet_status over_cells(const struct facet_solver *s, enum hdg_field field,
                               const struct mesh_group *group, int extremes, struct gathered *g) {
    enum { PARTS = 64 };
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    int32_t n_cells = group != NULL ? group->count : mesh->n_cells, end = 0;
    int direct = !extremes && s->backend->integrate != NULL, reduced;
    TRY(reduce_cells(s, field, group, extremes, g, &reduced));
    if (reduced) goto done;
    TRY(fetch(s, 0, NULL));
    for (int32_t first = 0; first < n_cells; first = end) {
        struct gathered parts[PARTS];
        struct base_collector failures;
        int b = block_number(mesh, group != NULL ? group->ids[first] : first);
        while (end < n_cells && block_number(mesh, group != NULL ? group->ids[end] : end) == b) end++;
        if (!direct) TRY(extremes ? prepare_lattice(s, field, b, &points) : s->backend->rule(s, b, &points));
        base_collector_init(&failures);
        for (int p = 0; p < PARTS; p++) parts[p] = empty_part(g);
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)(end - first))) schedule(dynamic)
        for (int p = 0; p < PARTS; p++) {
            int32_t from = first + (int32_t)((int64_t)(end - first) * p / PARTS);
            int32_t to = first + (int32_t)((int64_t)(end - first) * (p + 1) / PARTS);
            base_collect(&failures, p,
                         direct ? integrate_cells(s, field, group, from, to, &parts[p])
                                : over_some_cells(s, field, group, from, to, &points, extremes, &parts[p]));
        }
        TRY(base_collected(&failures));
        for (int p = 0; p < PARTS; p++) join(g, &parts[p]);
    }
done:
    backend_points_destroy(&points);
    return status;
}

/* A field at points of one cell, gathered with weights or (NULL) for extremes. */
static facet_status at_points(const struct facet_solver *s, enum hdg_field field, int32_t cell, int n,
                              const double *xi, const double *weights, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    double *values = NULL;
    TRY(ALLOC(values, n * g->components));
    TRY(s->backend->prepare(s, block_number(mesh, cell), sample_table_degree(s, field), n, xi, &points));
    TRY(s->backend->evaluate(s, field, 1, &cell, &points, values));
    gather(g, n, weights, values);
done:
    backend_points_destroy(&points);
    base_free(&values);
    return status;
}

/* Extremes over one face, at a lattice that includes its ends; it is the same whichever way the face is
 * turned. */
static facet_status extremes_of_face(const struct facet_solver *s, enum hdg_field field,
                                     struct mesh_group_face face, struct gathered *g) {
    facet_status status = FACET_OK;
    int dim = s->problem->mesh->dim;
    enum shape cell_shape = mesh_block_of(s->problem->mesh, face.cell)->shape;
    enum shape shape = shape_face_shape(cell_shape, face.local);
    int n = shape_n_nodes(shape, lattice_order(s));
    double *frame = NULL, *xi = NULL;
    TRY(ALLOC(frame, n * (dim - 1)));
    TRY(ALLOC(xi, n * dim));
    shape_nodes(shape, lattice_order(s), frame);
    for (int p = 0; p < n; p++)
        shape_face_point(cell_shape, face.local, 0, frame + p * (dim - 1), xi + p * dim);
    TRY(at_points(s, field, face.cell, n, xi, NULL, g));
done:
    base_free(&frame);
    base_free(&xi);
    return status;
}

/* One face of a part: values of a field, or (NULL) its area alone. */
static facet_status over_face(const struct facet_solver *s, const enum hdg_field *field,
                              struct mesh_group_face face, struct gathered *g) {
    facet_status status = FACET_OK;
    double *xi = NULL, *wA = NULL;
    int n;
    TRY(s->backend->face_rule(s, face.cell, face.local, &n, &xi, &wA));
    if (field != NULL)
        TRY(at_points(s, *field, face.cell, n, xi, wA, g));
    else
        for (int p = 0; p < n; p++) g->measure += wA[p];
done:
    base_free(&xi);
    base_free(&wA);
    return status;
}

enum { SHARE = 64 }; /* faces that are looked at together */

/* Faces first .. end - 1 of a part, SHARE at most: values of a field, or (NULL) of the numerical flux or
 * traction, whose integral is exact. */
static facet_status over_some_faces(const struct facet_solver *s, const enum hdg_field *field,
                                    const struct mesh_group *part, int32_t first, int32_t end, int extremes,
                                    struct gathered *g) {
    facet_status status = FACET_OK;
    struct mesh_group_face faces[SHARE];
    double fluxes[3 * SHARE];
    const int n = (int)(end - first);
    for (int i = 0; i < n; i++) faces[i] = mesh_group_face(s->problem->mesh, part, first + i);
    for (int i = 0; i < n && (field != NULL || g->mean); i++)
        TRY(extremes ? extremes_of_face(s, *field, faces[i], g) : over_face(s, field, faces[i], g));
    if (field != NULL) goto done;
    TRY(s->backend->face_fluxes(s, n, faces, fluxes));
    for (int i = 0; i < n; i++)
        for (int c = 0; c < g->components; c++) g->integral[c] += fluxes[3 * i + c];
done:
    return status;
}

/* In parts that do not depend on the number of threads, and neither does the sum. */
static facet_status over_part(const struct facet_solver *s, const enum hdg_field *field,
                              const struct mesh_group *part, int extremes, struct gathered *g) {
    enum { PARTS = FETCHED / SHARE };
    facet_status status = FACET_OK;
    int32_t *cells = NULL;
    TRY(ALLOC(cells, FETCHED));
    for (int32_t first = 0; first < part->count; first += FETCHED) {
        struct gathered parts[PARTS];
        struct base_collector failures;
        const int32_t n = part->count - first < FETCHED ? part->count - first : FETCHED;
        const int n_parts = (n + SHARE - 1) / SHARE;
        for (int32_t i = 0; i < n; i++) cells[i] = mesh_group_face(s->problem->mesh, part, first + i).cell;
        TRY(fetch(s, n, cells));
        base_collector_init(&failures);
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)n)) schedule(dynamic)
        for (int p = 0; p < n_parts; p++) {
            const int32_t begin = p * SHARE, end = begin + SHARE < n ? begin + SHARE : n;
            parts[p] = empty_part(g);
            base_collect(&failures, p,
                         over_some_faces(s, field, part, first + begin, first + end, extremes, &parts[p]));
        }
        TRY(base_collected(&failures));
        for (int p = 0; p < n_parts; p++) join(g, &parts[p]);
    }
done:
    base_free(&cells);
    return status;
}

/* The parts of `where`, whose field must have a direction there. */
static facet_status over_parts(const struct facet_solver *s, const enum hdg_field *field,
                               const struct sample_where *where, int extremes, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct physics *physics = s->problem->physics;
    for (int k = 0; k < where->n; k++) {
        const struct mesh_group *part = where->groups[k];
        for (int32_t i = 0; field == NULL && i < part->count; i++)
            if (mesh_group_face(s->problem->mesh, part, i).is_inner)
                FAIL(FACET_ERROR_INPUT,
                     "the %s '%s' has no direction: its faces lie inside the domain; integrate %s there",
                     physics->through_phrase, where->names[0], physics->inside);
        TRY(over_part(s, field, part, extremes, g));
    }
done:
    return status;
}

static facet_status join_parts(struct base_team *team, struct gathered *g) {
    facet_status status = FACET_OK;
    TRY(team_reduce(team, TEAM_SUM, g->components, g->integral));
    TRY(team_reduce(team, TEAM_SUM, 1, &g->measure));
    TRY(team_reduce(team, TEAM_MAX, 1, &g->largest));
    TRY(team_reduce(team, TEAM_MIN, 1, &g->smallest));
done:
    return status;
}

static facet_status gather_all(const struct facet_solver *s, const char *name, enum sample_take take, int n,
                               const char *const *on, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct physics *physics = s->problem->physics;
    int extremes = take == SAMPLE_MAX || take == SAMPLE_MIN, is_flux = strcmp(name, physics->through) == 0;
    enum hdg_field field = HDG_U;
    struct sample_where where;
    g->components = physics_components(physics, mesh->dim);
    TRY(sample_where_find(s, n, on, is_flux, &where));
    if (is_flux && (where.dim != mesh->dim - 1 || extremes))
        FAIL(FACET_ERROR_INPUT, "the field %s has an integral or a mean over a boundary part only", name);
    if (!is_flux) TRY(sample_find_field(s, name, &field, &g->components));
    if (g->component >= g->components)
        FAIL(FACET_ERROR_INPUT, "the field '%s' has no component %d", name, g->component + 1);
    if (where.dim == mesh->dim - 1)
        TRY(over_parts(s, is_flux ? NULL : &field, &where, extremes, g));
    else
        TRY(over_cells(s, field, where.n > 0 ? where.groups[0] : NULL, extremes, g));
    TRY(join_parts(mesh_team(mesh), g));
done:
    sample_where_destroy(&where);
    return status;
}

facet_status sample_take_on(const struct facet_solver *s, const char *name, int component,
                            enum sample_take take, int n_on, const char *const *on, double *values, int *n) {
    struct gathered g = {
        .component = component, .mean = take == SAMPLE_MEAN, .largest = -DBL_MAX, .smallest = DBL_MAX};
    *n = 0;
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    facet_status status = gather_all(s, name, take, n_on, on, &g);
    if (status != FACET_OK) return status;
    if (take == SAMPLE_MAX || take == SAMPLE_MIN) {
        values[(*n)++] = take == SAMPLE_MAX ? g.largest : g.smallest;
        return FACET_OK;
    }
    if (take == SAMPLE_MEAN && !(g.measure > 0.0))
        return base_fail(FACET_ERROR_INPUT,
                         "there is no mean of the field '%s' on the axis, which has no area", name);
    double scale = take == SAMPLE_MEAN ? 1.0 / g.measure : 1.0;
    for (int c = 0; c < g.components; c++)
        if (component < 0 || c == component) values[(*n)++] = scale * g.integral[c];
    return FACET_OK;
}

facet_status facet_solver_take(const facet_solver *s, const char *field, int component, const char *take,
                               int n_on, const char *const *on, double *values, int *n_values) {
    static const char *const words[] = {
        [SAMPLE_INTEGRAL] = "integral", [SAMPLE_MEAN] = "mean", [SAMPLE_MAX] = "max", [SAMPLE_MIN] = "min"};
    facet_status status;
    int which = 0;
    REQUIRE_AS(s, "solver");
    REQUIRE(field);
    REQUIRE(take);
    REQUIRE(values);
    REQUIRE(n_values);
    *n_values = 0;
    if (n_on > 0) REQUIRE(on);
    for (int i = 0; i < n_on; i++) REQUIRE(on[i]);
    while (which < 4 && strcmp(words[which], take) != 0) which++;
    if (component < -1) return base_fail(FACET_ERROR_INPUT, "facet_solver_take: component %d", component);
    if (which == 4)
        return base_fail(FACET_ERROR_INPUT, "facet_solver_take: integral, mean, max or min, not '%s'", take);
    status = solver_check_host(s, "facet_solver_take", "values", values);
    if (status != FACET_OK) return status;
    SOLVER_READ(s, status,
                sample_take_on(s, field, component, (enum sample_take)which, n_on > 0 ? n_on : 0, on, values,
                               n_values));
    return status;
}
