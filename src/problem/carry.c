/* A field of one solver as data of another: found at points, whichever they are, by looking for their cells.
 * Points that follow one another mostly lie in one cell, and are evaluated together. */
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

struct problem_carried {
    const struct facet_solver *from;
    enum hdg_field field;
    struct mesh_locator *locator;
};

void problem_carried_destroy(struct problem_carried **carried) {
    if (*carried == NULL) return;
    mesh_locator_destroy(&(*carried)->locator);
    base_free(carried);
}

static facet_status carried_create(const struct facet_solver *from, enum hdg_field field,
                                   struct problem_carried **carried) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*carried, 1));
    (*carried)->from = from;
    (*carried)->field = field;
    TRY(mesh_locator_create(from->problem->mesh, &(*carried)->locator));
done:
    if (status != FACET_OK) problem_carried_destroy(carried);
    return status;
}

/* Points begin .. end - 1, all of one cell. */
static facet_status evaluate_run(const struct problem_carried *c, int32_t cell, int n, const double *xi,
                                 double *values) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = c->from;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct backend_points points = {0};
    TRY(s->backend->prepare(s, (int)(mesh_block_of(mesh, cell) - mesh->blocks),
                            sample_table_degree(s, c->field), n, xi, &points));
    TRY(s->backend->evaluate(s, c->field, cell, &points, values));
done:
    backend_points_destroy(&points);
    return status;
}

static facet_status evaluate(const struct problem_carried *c, const facet_points *points, double *values) {
    facet_status status = FACET_OK;
    int dim = points->dim;
    int32_t *cells = NULL;
    double *xi = NULL;
    TRY(ALLOC(cells, points->n));
    TRY(ALLOC(xi, points->n * dim));
    for (int i = 0; i < points->n; i++) {
        double at[3];
        TRY(mesh_locate(c->locator, points->x + i * dim, &cells[i], at));
        if (cells[i] < 0)
            FAIL(FACET_ERROR_INPUT, "a point lies outside the mesh of the field that is carried over");
        memcpy(xi + i * dim, at, (size_t)dim * sizeof *xi);
    }
    for (int begin = 0, end; begin < points->n; begin = end) {
        for (end = begin + 1; end < points->n && cells[end] == cells[begin];) end++;
        TRY(evaluate_run(c, cells[begin], end - begin, xi + begin * dim, values + begin));
    }
done:
    base_free(&cells);
    base_free(&xi);
    return status;
}

static int carried_function(void *user, const facet_points *points, double *values) {
    return (int)evaluate(user, points, values);
}

facet_status facet_problem_set_temperature_field(facet_problem *problem, const facet_solver *from,
                                                 const char *field, const char *reference) {
    facet_status status = FACET_OK;
    struct problem_carried *carried = NULL;
    enum hdg_field which;
    int components;
    REQUIRE(problem);
    REQUIRE(from);
    REQUIRE(field);
    REQUIRE(reference);
    TRY(sample_find_field(from, field, &which, &components));
    if (components != 1)
        FAIL(FACET_ERROR_INPUT, "thermal.temperature: the field '%s' has %d components", field, components);
    if (from->problem->mesh->dim != problem->data.mesh->dim)
        FAIL(FACET_ERROR_INPUT, "thermal.temperature: the field '%s' is one of %d dimensions, not %d", field,
             from->problem->mesh->dim, problem->data.mesh->dim);
    if (from->backend->fetch != NULL) TRY(from->backend->fetch(from, 0, NULL));
    TRY(carried_create(from, which, &carried));
    TRY(facet_problem_set_temperature_function(problem, carried_function, carried, reference));
    field_answers_status(problem->data.temperature);
    problem_carried_destroy(&problem->data.carried);
    problem->data.carried = carried;
    carried = NULL;
done:
    problem_carried_destroy(&carried);
    return status;
}

facet_status problem_copy_carried(const struct problem *from, struct problem *copy) {
    facet_status status = FACET_OK;
    if (from->carried == NULL || from->temperature == NULL) goto done;
    TRY(carried_create(from->carried->from, from->carried->field, &copy->carried));
    field_set_user(copy->temperature, copy->carried);
done:
    return status;
}
