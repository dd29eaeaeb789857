/* Data apart from matrices: another time, other parameters, functions that give something else; and what is
 * made anew for it. New values wait in `next`, so that a solution and its errors stay those of the data it
 * was solved with. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* ------------------------------------------------------------------------------------------ new values */

/* `next` becomes the data of the solver with a parameter (-1: the time) of another value. */
static facet_status put_aside(struct facet_solver *s, int parameter, double value) {
    facet_status status = FACET_OK;
    struct problem changed, *from = s->has_next ? &s->next : &s->own;
    struct problem_slot slot;
    const char *name = parameter >= 0 ? from->parameters[parameter].name : NULL;
    double before = parameter >= 0 ? from->parameters[parameter].value : from->t;
    double *place = parameter >= 0 ? &from->parameters[parameter].value : &from->t;
    *place = value; /* of which problem_copy makes a copy */
    if (parameter < 0 && !from->own_t) from->parameters[0].value = value;
    status = problem_copy(from, &changed);
    *place = before;
    if (parameter < 0 && !from->own_t) from->parameters[0].value = before;
    if (status != FACET_OK) return base_wrap(status, "%s = %.10g", name != NULL ? name : "t", value);
    if (parameter < 0 && !from->own_t) name = from->parameters[0].name;
    for (int i = 0; problem_slot(&changed, i, &slot); i++)
        if (*slot.field != NULL && name != NULL && field_reads(*slot.field, name)) s->stale |= slot.role;
    problem_clear(&s->next);
    s->next = changed;
    s->has_next = 1;
    return FACET_OK;
}

facet_status facet_solver_set_parameter(facet_solver *s, const char *name, double value) {
    REQUIRE_AS(s, "solver");
    REQUIRE(name);
    const struct problem *p = s->has_next ? &s->next : &s->own;
    int i = problem_find_parameter(p, name);
    if (i == 0 && !p->own_t) return base_fail(FACET_ERROR_INPUT, "t is the time; use facet_solver_set_time");
    if (i < 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the problem has no parameter '%s'; facet_problem_set_parameter makes one, before "
                         "the expressions that use it",
                         name);
    if (!isfinite(value))
        return base_fail(FACET_ERROR_INPUT, "the parameter '%s' must be finite, but is %g", name, value);
    return p->parameters[i].value == value ? FACET_OK : put_aside(s, i, value);
}

facet_status facet_solver_set_time(facet_solver *s, double t) {
    REQUIRE_AS(s, "solver");
    if (!isfinite(t)) return base_fail(FACET_ERROR_INPUT, "the time must be finite, but is %g", t);
    return (s->has_next ? &s->next : &s->own)->t == t ? FACET_OK : put_aside(s, -1, t);
}

/* The data become those of `next`; pointers to fields stay. */
static void take_next(struct facet_solver *s) {
    struct problem_slot to, from;
    if (!s->has_next) return;
    for (int i = 0; problem_slot(&s->own, i, &to) && problem_slot(&s->next, i, &from); i++)
        if (*to.field != NULL) field_swap(*to.field, *from.field);
    for (int i = 0; i < s->own.n_regions; i++)
        for (int k = 0; k < 2; k++) {
            struct problem_moduli *moduli = s->own.regions[i].moduli[k];
            s->own.regions[i].moduli[k] = s->next.regions[i].moduli[k];
            s->next.regions[i].moduli[k] = moduli;
        }
    struct facet_field *carried = s->own.carried; /* with their fields */
    s->own.carried = s->next.carried;
    s->next.carried = carried;
    for (int i = 0; i < s->own.n_parameters; i++) s->own.parameters[i].value = s->next.parameters[i].value;
    s->own.t = s->next.t;
    problem_clear(&s->next);
    s->next = (struct problem){0};
    s->has_next = 0;
}

/* ------------------------------------------------------------------------------------------ functions */

static int is_function(const struct field *field) {
    return field != NULL && !field_is_differentiable(field);
}

/* The roles of data that functions give. */
static int roles_of_functions(const struct facet_solver *s) {
    struct problem_slot slot;
    int roles = 0;
    for (int i = 0; problem_slot(s->problem, i, &slot); i++)
        if (is_function(*slot.field)) roles |= slot.role;
    return roles;
}

/* Numbers into a number, by their bits. */
static uint64_t mix(uint64_t digest, int64_t n, const double *values) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        digest = (digest ^ bits) * 0x9e3779b97f4a7c15u;
        digest ^= digest >> 29;
    }
    return digest;
}

/* Of one cell: conductivity or moduli, and the reaction. */
static facet_status digest_cell(const struct facet_solver *s, int32_t cell,
                                const struct backend_points *points, double *x, double *values,
                                uint64_t *digest) {
    facet_status status = FACET_OK;
    const struct problem_resolved *r = &s->resolved;
    int32_t region = r->cell_region != NULL ? r->cell_region[cell] : r->region;
    const struct field *reaction =
        r->shares[SHARE_REACTION] != NULL ? r->shares[SHARE_REACTION][region] : NULL;
    const struct field *const fields[] = {reaction, r->conductivity[region], r->mu[region],
                                          r->lambda[region]};
    uint64_t sum = (uint64_t)cell + 1;
    s->backend->map(s, cell, points, x);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (!is_function(fields[i])) continue;
        TRY(field_eval(fields[i], points->n, points->dim, x, values));
        sum = mix(sum, (int64_t)points->n * field_n_components(fields[i]), values);
    }
    *digest += sum; /* in any order */
done:
    return status;
}

facet_status solver_digest(const struct facet_solver *s, uint64_t *digest) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    uint64_t sum = 0;
    *digest = 0;
    if (!(roles_of_functions(s) & FACET_CELLS)) return FACET_OK;
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct base_collector collector;
        TRY(s->backend->rule(s, b, &points));
        base_collector_init(&collector);
#pragma omp parallel num_threads(base_threads()) reduction(+ : sum)
        {
            double *x = NULL, *values = NULL;
            facet_status mine = ALLOC(x, points.n * 3);
            if (mine == FACET_OK) mine = ALLOC(values, points.n * 9);
            base_collect(&collector, -1, mine);
#pragma omp for schedule(dynamic, 64)
            for (int32_t c = 0; c < mesh->blocks[b].count; c++)
                if (mine == FACET_OK)
                    base_collect(&collector, c,
                                 digest_cell(s, mesh->blocks[b].first + c, &points, x, values, &sum));
            base_free(&x);
            base_free(&values);
        }
        TRY(base_collected(&collector));
        backend_points_destroy(&points);
    }
    *digest = sum;
done:
    backend_points_destroy(&points);
    return status;
}

/* ------------------------------------------------------------------------------------------ renewal */

/* A reaction that is a number, where that alone has changed and is cheap. */
static int is_new_reaction(const struct facet_solver *s, double *reaction) {
    return s->stale & PROBLEM_REACTION && !(s->stale & PROBLEM_DEEP) && s->backend != NULL &&
           s->backend->set_reaction != NULL && field_is_constant(s->problem->reaction, reaction) &&
           *reaction >= 0.0;
}

/* Whether functions give something else in the cells than when these were condensed. */
static facet_status look_at_cells(struct facet_solver *s) {
    facet_status status = FACET_OK;
    uint64_t digest;
    if (s->backend == NULL || s->stale & FACET_CELLS) goto done;
    TRY(solver_digest(s, &digest));
    if (digest != s->digest) s->stale |= FACET_CELLS | PROBLEM_DEEP;
done:
    return status;
}

/* What is stale in one part of the mesh is made anew in all. */
static facet_status join_parts(struct facet_solver *s) {
    facet_status status = FACET_OK;
    int64_t bits[5];
    for (int i = 0; i < 5; i++) bits[i] = s->stale >> i & 1;
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 5, bits));
    for (int i = 0; i < 5; i++) s->stale |= (int)bits[i] << i;
done:
    return status;
}

facet_status solver_renew(struct facet_solver *s, int look, int *changed) {
    facet_status status = FACET_OK;
    double reaction;
    if (s->has_next && s->next.t != s->own.t) look = 1;
    take_next(s);
    if (look) TRY(look_at_cells(s));
    if (look) s->stale |= roles_of_functions(s) & FACET_TRACE;
    if (roles_of_functions(s) & FACET_LOAD) s->stale |= FACET_LOAD;
    TRY(join_parts(s));
    int what = s->stale;
    *changed = what & (FACET_LOAD | FACET_TRACE | FACET_CELLS);
    if (s->backend != NULL && !(what & FACET_CELLS)) {
        if (what != 0 && s->backend->renew != NULL) TRY(s->backend->renew(s, what));
    } else if (is_new_reaction(s, &reaction)) {
        TRY(s->backend->set_reaction(s, reaction));
        if (s->backend->renew != NULL) TRY(s->backend->renew(s, FACET_LOAD));
    } else {
        TRY(solver_rebuild(s));
        TRY(solver_digest(s, &s->digest));
    }
    if (what & (FACET_TRACE | FACET_CELLS)) solver_forget_electrodes(s);
    s->stale = 0;
done:
    if (status != FACET_OK) s->solved = 0;
    return status;
}

facet_status facet_solver_update(facet_solver *s, int *changed) {
    REQUIRE_AS(s, "solver");
    facet_status status;
    int what = 0;
    SOLVER_CALL(s, status, solver_renew(s, 1, &what));
    if (changed != NULL) *changed = what;
    return status;
}

/* ------------------------------------------------------------------------------------------ the reaction */

/* In the data of a problem, so that it stays when cells are made anew. Takes the field over. */
static void replace_reaction(struct problem *p, struct field **field) {
    field_destroy(&p->reaction);
    p->reaction = *field;
    *field = NULL;
}

facet_status solver_set_reaction(struct facet_solver *s, double reaction) {
    facet_status status = FACET_OK;
    struct field *own = NULL, *next = NULL;
    if (s->resolved.shares[SHARE_REACTION] == NULL)
        TRY(CALLOC(s->resolved.shares[SHARE_REACTION], s->resolved.n_regions));
    TRY(field_create_constants(1, &reaction, &own));
    if (s->has_next) TRY(field_create_constants(1, &reaction, &next));
    TRY(s->backend->set_reaction(s, reaction));
    solver_forget_electrodes(s);
    replace_reaction(&s->own, &own);
    if (s->has_next) replace_reaction(&s->next, &next);
    s->resolved.shares[SHARE_REACTION][s->resolved.region] = s->own.reaction; /* of a box */
    s->resolved.data.reaction = s->resolved.shares[SHARE_REACTION];
    s->stale &= ~PROBLEM_REACTION;
    if (!(s->stale & PROBLEM_DEEP)) s->stale &= ~FACET_CELLS;
done:
    field_destroy(&own);
    field_destroy(&next);
    return status;
}
