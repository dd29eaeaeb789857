/* Values at points. A point belongs to all cells that it touches, of whatever part of the mesh, and its value
 * is the mean of theirs: on faces, edges and vertices that is one rule for all fields and meshes. A point
 * outside the mesh, but by no more than the error of the geometry (mesh/surface.h), is moved to the surface.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* Points that are looked for, and whose cells are fetched, at once; and that one thread takes at a time. */
#define FETCHED 4096
#define PORTION 128

/* The cells of n points, those of one after those of the other. */
struct found {
    int64_t n, room;
    int64_t *starts; /* points + 1 */
    int32_t *cells;
    double *claims, *xi; /* xi: x dim */
};

static void found_free(struct found *f) {
    base_free(&f->starts);
    base_free(&f->cells);
    base_free(&f->claims);
    base_free(&f->xi);
    *f = (struct found){0};
}

static facet_status found_make_room(struct found *f, int64_t more, int dim) {
    facet_status status = FACET_OK;
    if (f->n + more <= f->room) return FACET_OK;
    f->room = 2 * f->room + more;
    TRY(base_realloc(&f->cells, (size_t)f->room, sizeof *f->cells));
    TRY(base_realloc(&f->claims, (size_t)f->room, sizeof *f->claims));
    TRY(base_realloc(&f->xi, (size_t)(f->room * dim), sizeof *f->xi));
done:
    return status;
}

static facet_status locate_some(const struct sample_field *f, int64_t n, const double *x,
                                struct found *found) {
    facet_status status = FACET_OK;
    const int dim = f->from->problem->mesh->dim, alone = f->from->options.overlap != OVERLAP_ALLOW;
    struct mesh_places places = {0};
    TRY(ALLOC(found->starts, n + 1));
    found->starts[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        TRY(mesh_locate_all(f->locator, x + i * dim, alone, &places));
        TRY(found_make_room(found, places.n + n - i, dim));
        for (int k = 0; k < places.n; k++) {
            found->cells[found->n] = places.items[k].cell;
            found->claims[found->n] = places.items[k].claim;
            memcpy(found->xi + found->n * dim, places.items[k].xi, (size_t)dim * sizeof *found->xi);
            found->n++;
        }
        found->starts[i + 1] = found->n;
    }
done:
    mesh_places_free(&places);
    return status;
}

static int threads_for(int64_t n) {
    return base_threads_for(1000 * n);
}

/* The same by all threads. */
static facet_status locate(const struct sample_field *f, int64_t n, const double *x, struct found *found) {
    facet_status status = FACET_OK;
    const int dim = f->from->problem->mesh->dim, n_portions = (int)((n + PORTION - 1) / PORTION);
    struct found portions[FETCHED / PORTION] = {{0}};
    struct base_collector failures;
    int64_t total = 0;
    base_collector_init(&failures);
#pragma omp parallel for num_threads(threads_for(n)) schedule(dynamic)
    for (int p = 0; p < n_portions; p++) {
        int64_t at = (int64_t)p * PORTION, m = n - at < PORTION ? n - at : PORTION;
        base_collect(&failures, p, locate_some(f, m, x + at * dim, &portions[p]));
    }
    TRY(base_collected(&failures));
    for (int p = 0; p < n_portions; p++) total += portions[p].n;
    TRY(ALLOC(found->starts, n + 1));
    TRY(found_make_room(found, total, dim));
    for (int p = 0; p < n_portions; p++) {
        const struct found *from = &portions[p];
        int64_t at = (int64_t)p * PORTION, m = n - at < PORTION ? n - at : PORTION;
        for (int64_t i = 0; i <= m; i++) found->starts[at + i] = found->n + from->starts[i];
        if (from->n == 0) continue;
        memcpy(found->cells + found->n, from->cells, (size_t)from->n * sizeof *from->cells);
        memcpy(found->claims + found->n, from->claims, (size_t)from->n * sizeof *from->claims);
        memcpy(found->xi + found->n * dim, from->xi, (size_t)(from->n * dim) * sizeof *from->xi);
        found->n += from->n;
    }
done:
    for (int p = 0; p < n_portions; p++) found_free(&portions[p]);
    return status;
}

/* Cells do not overlap: where a part has a point well inside of a cell, cells of others do not touch it. And
 * how many cells have each point, in all parts. */
static facet_status share_points(const struct sample_field *f, int64_t n, const struct found *found,
                                 int64_t *counts, uint8_t *elsewhere) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(f->from->problem->mesh);
    double *best = NULL;
    memset(elsewhere, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++) counts[i] = found->starts[i + 1] - found->starts[i];
    if (team == NULL) return FACET_OK;
    TRY(ALLOC(best, n));
    for (int64_t i = 0; i < n; i++) {
        best[i] = INFINITY;
        for (int64_t k = found->starts[i]; k < found->starts[i + 1]; k++)
            best[i] = fmin(best[i], found->claims[k]);
        elsewhere[i] = best[i] >= -MESH_DEEP;
    }
    TRY(team_reduce(team, TEAM_MIN, (int)n, best));
    for (int64_t i = 0; i < n; i++) {
        elsewhere[i] = elsewhere[i] && best[i] < -MESH_DEEP && f->from->options.overlap != OVERLAP_ALLOW;
        if (elsewhere[i]) counts[i] = 0;
    }
    TRY(team_reduce_counts(team, TEAM_SUM, (int)n, counts));
done:
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
        TRY(s->backend->prepare(s, (int)(mesh_block_of(mesh, cells[begin]) - mesh->blocks), degree,
                                (int)(end - begin), xi + begin * mesh->dim, &points));
        TRY(s->backend->evaluate(s, BACKEND_SOLVED, f->field, 1, &cells[begin], &points,
                                 values + begin * f->components));
    }
done:
    backend_points_destroy(&points);
    return status;
}

/* The same by all threads. */
static facet_status evaluate_all(const struct sample_field *f, const struct found *found, double *values) {
    facet_status status = FACET_OK;
    const int dim = f->from->problem->mesh->dim, n_portions = (int)((found->n + PORTION - 1) / PORTION);
    struct base_collector failures;
    if (found->n == 0) return FACET_OK;
    if (!f->is_whole && f->from->backend->fetch != NULL)
        TRY(f->from->backend->fetch(f->from, found->n, found->cells));
    base_collector_init(&failures);
#pragma omp parallel for num_threads(threads_for(found->n)) schedule(dynamic)
    for (int p = 0; p < n_portions; p++) {
        int64_t at = (int64_t)p * PORTION, m = found->n - at < PORTION ? found->n - at : PORTION;
        base_collect(
            &failures, p,
            evaluate_some(f, m, found->cells + at, found->xi + at * dim, values + at * f->components));
    }
    TRY(base_collected(&failures));
done:
    return status;
}

/* What finds the nearest point of the surface: made by the first thread that has a point outside. */
struct sample_outside {
    pthread_mutex_t making;
    struct mesh_outside *made;
};

facet_status sample_field_create(const struct facet_solver *from, const char *name, int64_t n_points,
                                 struct sample_field *f) {
    facet_status status = FACET_OK;
    *f = (struct sample_field){.from = from};
    TRY(CALLOC(f->outside, 1));
    pthread_mutex_init(&f->outside->making, NULL);
    TRY(sample_find_field(from, name, &f->field, &f->components));
    TRY(mesh_locator_create_for(from->problem->mesh, n_points, &f->locator));
done:
    return status;
}

void sample_field_destroy(struct sample_field *f) {
    mesh_locator_destroy(&f->locator);
    if (f->outside != NULL) {
        mesh_outside_destroy(&f->outside->made);
        pthread_mutex_destroy(&f->outside->making);
    }
    base_free(&f->outside);
    *f = (struct sample_field){0};
}

/* ------------------------------------------------------------------------------------------ one thread */

/* A point that no cell has, moved to the surface. */
static facet_status move_here(const struct sample_field *f, const double *x, double *y) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->from->problem->mesh;
    struct mesh_near near;
    if (mesh->part != NULL) {
        mesh_fail_outside(mesh, x, NULL);
        return base_wrap(FACET_ERROR_INPUT, "of the part of this rank");
    }
    pthread_mutex_lock(&f->outside->making);
    if (f->outside->made == NULL) status = mesh_outside_create(mesh, &f->outside->made);
    pthread_mutex_unlock(&f->outside->making);
    if (status != FACET_OK) return status;
    TRY(mesh_outside_ask(f->outside->made, x, &near));
    if (!(near.distance <= near.allowed)) return mesh_fail_outside(mesh, x, &near);
    memcpy(y, near.y, (size_t)mesh->dim * sizeof *y);
done:
    return status;
}

/* Of cells that touch a point, the one counts that has it farther inside than the others by this much, in its
 * reference coordinates: whoever asks from a cell draws the points on its border inwards by more. */
#define NO_SIDE 1e-12

facet_status sample_field_here(const struct sample_field *f, int64_t n, const double *x, double *values) {
    facet_status status = FACET_OK;
    const int dim = f->from->problem->mesh->dim, components = f->components;
    struct found found = {0};
    double *all = NULL, *moved = NULL;
    int64_t outside = 0;
    TRY(locate_some(f, n, x, &found));
    for (int64_t i = 0; i < n; i++) {
        if (found.starts[i + 1] > found.starts[i]) continue;
        if (outside++ == 0) {
            TRY(ALLOC(moved, n * dim));
            memcpy(moved, x, (size_t)(n * dim) * sizeof *x);
        }
        TRY(move_here(f, x + i * dim, moved + i * dim));
    }
    if (outside > 0) {
        found_free(&found);
        TRY(locate_some(f, n, moved, &found));
    }
    TRY(ALLOC(all, found.n * components));
    TRY(evaluate_some(f, found.n, found.cells, found.xi, all));
    memset(values, 0, (size_t)(n * components) * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = found.starts[i], end = found.starts[i + 1];
        double best = INFINITY, count = 0.0;
        if (begin == end) TRY(mesh_fail_outside(f->from->problem->mesh, x + i * dim, NULL));
        for (int64_t k = begin; k < end; k++) best = fmin(best, found.claims[k]);
        for (int64_t k = begin; k < end; k++) count += found.claims[k] <= best + NO_SIDE;
        for (int64_t k = begin; k < end; k++)
            for (int c = 0; c < components && found.claims[k] <= best + NO_SIDE; c++)
                values[i * components + c] += all[k * components + c] / count;
    }
done:
    found_free(&found);
    base_free(&all);
    base_free(&moved);
    return status;
}

/* ------------------------------------------------------------------------------------------ all together */

/* How points are asked for: whether they may lie outside, where the value is NaN; points: NULL, or what is to
 * be told of each. */
struct manner {
    int may_leave;
    struct sample_point *points;
};

/* Moves the points that no cell has to the surface. *n_moved: of which so many. */
static facet_status move_points(const struct sample_field *f, int64_t n, const int64_t *counts, double *x,
                                const struct manner *manner, int64_t *n_moved) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->from->problem->mesh;
    struct mesh_outside *outside = NULL;
    struct mesh_near near;
    *n_moved = 0;
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] > 0) continue;
        if (outside == NULL) TRY(mesh_outside_create(mesh, &outside));
        TRY(mesh_outside_ask(outside, x + i * mesh->dim, &near));
        const int moves = near.distance <= near.allowed;
        if (!moves && !manner->may_leave) TRY(mesh_fail_outside(mesh, x + i * mesh->dim, &near));
        if (manner->points != NULL) manner->points[i].away = moves ? near.distance : NAN;
        if (!moves) continue;
        memcpy(x + i * mesh->dim, near.y, (size_t)mesh->dim * sizeof *x);
        ++*n_moved;
    }
done:
    mesh_outside_destroy(&outside);
    return status;
}

/* The error of the field at points, in the worst of the cells of all parts. Neighbours on a line are often in
 * one cell. */
static facet_status find_bars(const struct sample_field *f, int64_t n, const struct found *found,
                              struct sample_point *points) {
    facet_status status = FACET_OK;
    int32_t before = -1;
    struct error_bar here = {0};
    double *bars = NULL; /* errors, then scales */
    TRY(CALLOC(bars, 2 * n));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = found->starts[i]; k < found->starts[i + 1]; k++) {
            if (found->cells[k] != before) TRY(sample_cell_bar(f->from, f->field, found->cells[k], &here));
            before = found->cells[k];
            bars[i] = fmax(bars[i], here.error);
            bars[n + i] = fmax(bars[n + i], here.scale);
        }
    TRY(team_reduce(mesh_team(f->from->problem->mesh), TEAM_MAX, (int)(2 * n), bars));
    for (int64_t i = 0; i < n; i++)
        points[i].bar = (struct error_bar){.error = bars[i], .scale = bars[n + i]};
done:
    base_free(&bars);
    return status;
}

/* The sums over the cells of this part; and how far they are apart, the cells of all parts. */
static facet_status add_up(const struct sample_field *f, int64_t n, const struct found *found,
                           const uint8_t *elsewhere, const double *all, double *values,
                           struct sample_point *points) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(f->from->problem->mesh);
    const int components = f->components;
    double *least = NULL, *most = NULL;
    memset(values, 0, (size_t)(n * components) * sizeof *values);
    if (points != NULL) TRY(ALLOC(least, n * components));
    if (points != NULL) TRY(ALLOC(most, n * components));
    for (int64_t i = 0; points != NULL && i < n * components; i++) {
        least[i] = INFINITY;
        most[i] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = found->starts[i]; k < found->starts[i + 1] && !elsewhere[i]; k++)
            for (int c = 0; c < components; c++) {
                const int64_t at = i * components + c;
                values[at] += all[k * components + c];
                if (points == NULL) continue;
                least[at] = fmin(least[at], all[k * components + c]);
                most[at] = fmax(most[at], all[k * components + c]);
            }
    if (points == NULL) goto done;
    TRY(team_reduce(team, TEAM_MIN, (int)n * components, least));
    TRY(team_reduce(team, TEAM_MAX, (int)n * components, most));
    for (int64_t i = 0; i < n * components; i++) {
        struct sample_point *point = &points[i / components];
        point->apart = fmax(point->apart, most[i] - least[i]);
        point->size = fmax(point->size, fmax(fabs(most[i]), fabs(least[i])));
    }
done:
    base_free(&least);
    base_free(&most);
    return status;
}

/* FETCHED points at most, which are those of all processes. */
static facet_status evaluate_together(const struct sample_field *f, int64_t n, const double *x,
                                      const struct manner *manner, double *values) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->from->problem->mesh;
    struct found found = {0};
    int64_t *counts = NULL, missing = 0, n_moved = 0;
    uint8_t *elsewhere = NULL;
    double *all = NULL, *moved = NULL;
    TRY(ALLOC(counts, n));
    TRY(ALLOC(elsewhere, n));
    for (int64_t i = 0; manner->points != NULL && i < n; i++) manner->points[i] = (struct sample_point){0};
    TRY(locate(f, n, x, &found));
    TRY(share_points(f, n, &found, counts, elsewhere));
    for (int64_t i = 0; i < n; i++) missing += counts[i] == 0;
    if (missing > 0) {
        TRY(ALLOC(moved, n * mesh->dim));
        memcpy(moved, x, (size_t)(n * mesh->dim) * sizeof *x);
        TRY(move_points(f, n, counts, moved, manner, &n_moved));
    }
    if (n_moved > 0) {
        found_free(&found);
        TRY(locate(f, n, moved, &found));
        TRY(share_points(f, n, &found, counts, elsewhere));
    }
    TRY(ALLOC(all, found.n * f->components));
    TRY(evaluate_all(f, &found, all));
    TRY(add_up(f, n, &found, elsewhere, all, values, manner->points));
    if (manner->points != NULL) TRY(find_bars(f, n, &found, manner->points));
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, (int)n * f->components, values));
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] == 0 && !manner->may_leave) TRY(mesh_fail_outside(mesh, x + i * mesh->dim, NULL));
        if (manner->points != NULL) manner->points[i].n_cells = counts[i];
        for (int c = 0; c < f->components; c++)
            values[i * f->components + c] =
                counts[i] > 0 ? values[i * f->components + c] / (double)counts[i] : NAN;
    }
    TRY(base_check_interrupt());
done:
    found_free(&found);
    base_free(&counts);
    base_free(&elsewhere);
    base_free(&all);
    base_free(&moved);
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

/* Points of one process go round as a sum in which the others have zeros. manner: of points that are those of
 * all. */
static facet_status evaluate_asked(const struct sample_field *f, const struct asked *asked, int64_t n_points,
                                   const double *x, const struct manner *manner, double *values) {
    facet_status status = FACET_OK;
    const int64_t dim = f->from->problem->mesh->dim, components = f->components;
    double *points = NULL, *found = NULL;
    if (!asked->same) TRY(ALLOC(points, FETCHED * dim));
    if (!asked->same) TRY(ALLOC(found, FETCHED * components));
    for (int64_t first = 0; first < asked->n_all; first += FETCHED) {
        const int64_t n = asked->n_all - first < FETCHED ? asked->n_all - first : FETCHED;
        struct manner these = *manner;
        if (asked->same) {
            if (these.points != NULL) these.points += first;
            TRY(evaluate_together(f, n, x + first * dim, &these, values + first * components));
            continue;
        }
        these.points = NULL;
        int64_t begin =
            asked->first > first ? asked->first - first : 0; /* of these, what is asked for here */
        int64_t end = asked->first + n_points - first < n ? asked->first + n_points - first : n;
        const int64_t own = end > begin ? end - begin : 0, at = first + begin - asked->first;
        memset(points, 0, (size_t)(n * dim) * sizeof *points);
        if (own > 0) memcpy(points + begin * dim, x + at * dim, (size_t)(own * dim) * sizeof *points);
        TRY(team_reduce(mesh_team(f->from->problem->mesh), TEAM_SUM, (int)(n * dim), points));
        TRY(evaluate_together(f, n, points, &these, found));
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
    const struct manner strict = {0};
    struct asked asked;
    TRY(check_asked(call, n_points, x, values));
    TRY(ask(f->from->problem->mesh, n_points, x, &asked));
    TRY(evaluate_asked(f, &asked, n_points, x, &strict, values));
done:
    return status;
}

static facet_status evaluate(const struct facet_solver *s, const char *name, int64_t n_points,
                             const double *x, const struct manner *manner, double *values) {
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
    TRY(evaluate_asked(&field, &asked, n_points, x, manner, values));
done:
    sample_field_destroy(&field);
    return status;
}

facet_status sample_points(const struct facet_solver *s, const char *name, int64_t n, const double *x,
                           int may_leave, double *values, struct sample_point *points) {
    facet_status status;
    const struct manner manner = {.may_leave = may_leave, .points = points};
    SOLVER_READ(s, status, evaluate(s, name, n, x, &manner, values));
    return status;
}

facet_status facet_solver_evaluate(const facet_solver *s, const char *name, int64_t n_points, const double *x,
                                   double *values) {
    REQUIRE_AS(s, "solver");
    return sample_points(s, name, n_points, x, 0, values, NULL);
}
