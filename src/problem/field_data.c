/* A field of one solver as data of another, or of anybody: found at points, whichever they are, by looking
 * for their cells. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

struct facet_field {
    struct sample_field of;
    char *name;
    unsigned n_solves; /* of the solver, when the field was made or updated */
};

void facet_field_destroy(facet_field **field) {
    if (field == NULL || *field == NULL) return;
    sample_field_destroy(&(*field)->of);
    base_free(&(*field)->name);
    base_free(field);
}

/* All cells of a solution that stays on a device are made ready for whoever asks from wherever, and with
 * them its field, which others may be at. */
static facet_status take_solution(struct facet_field *f) {
    facet_status status = FACET_OK;
    const struct facet_solver *from = f->of.from;
    int components;
    solver_lock(from);
    TRY(sample_find_field(from, f->name, &f->of.field, &components));
    if (from->backend->fetch != NULL) TRY(from->backend->fetch(from, 0, NULL));
    f->n_solves = from->n_solves;
    f->of.is_whole = 1;
done:
    solver_unlock(from);
    return status;
}

static facet_status create(const struct facet_solver *from, const char *name, struct facet_field **field) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*field, 1));
    TRY(base_strdup(name, &(*field)->name));
    TRY(sample_field_create(from, name, INT64_MAX, &(*field)->of));
    TRY(take_solution(*field));
done:
    if (status != FACET_OK) facet_field_destroy(field);
    return status;
}

facet_status facet_field_create(const facet_solver *from, const char *name, facet_field **field) {
    REQUIRE(field);
    *field = NULL;
    REQUIRE(from, name);
    facet_status status;
    SOLVER_CALL(from, status, create(from, name, field));
    if (status != FACET_OK) facet_field_destroy(field);
    return status;
}

facet_status facet_field_update(facet_field *field) {
    REQUIRE(field);
    facet_status status;
    SOLVER_CALL(field->of.from, status, take_solution(field));
    return status;
}

int facet_field_components(const facet_field *field) {
    return field != NULL ? field->of.components : 0;
}

/* u on the host is where it always is; others were made of the solution that was there. */
static facet_status check_current(const struct facet_field *f) {
    const struct facet_solver *from = f->of.from;
    if (!from->solved || from->backend == NULL)
        return base_fail(FACET_ERROR_INPUT, "the field '%s': its solver has no solution", f->name);
    if (f->n_solves == from->n_solves || (f->of.field == HDG_U && device_is_host(from->context->device)))
        return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the field '%s': its solver has solved again; call facet_field_update", f->name);
}

facet_status facet_field_evaluate(const facet_field *field, int64_t n_points, const double *x,
                                  double *values) {
    REQUIRE(field);
    facet_status status = check_current(field);
    if (status != FACET_OK) return status;
    SOLVER_CALL(field->of.from, status,
                sample_field_evaluate(&field->of, "facet_field_evaluate", n_points, x, values));
    return status;
}

int facet_field_function(void *user, const facet_points *points, double *values) {
    const struct facet_field *field = user;
    facet_status status = FACET_OK;
    REQUIRE(field, points, values);
    TRY(check_current(field));
    TRY(solver_check_mesh(field->of.from));
    if (points->dim != field->of.from->problem->mesh->dim)
        FAIL(FACET_ERROR_INPUT, "the field '%s' is one of %d dimensions, not %d", field->name,
             field->of.from->problem->mesh->dim, points->dim);
    TRY(base_wrap(sample_field_here(&field->of, points->n, points->x, values),
                  "the field '%s' that is carried over", field->name));
done:
    return (int)status;
}

int problem_field_data_is_here(const struct facet_field *field, const struct facet_mesh *mesh) {
    const struct facet_mesh *from = field->of.from->problem->mesh;
    if (mesh->part == NULL && from->part == NULL) return 1;
    return mesh->part != NULL && from->part != NULL && mesh->n_cells == from->n_cells &&
           mesh->part->n_cells == from->part->n_cells &&
           memcmp(mesh->part->cell_numbers, from->part->cell_numbers,
                  (size_t)mesh->n_cells * sizeof *mesh->part->cell_numbers) == 0;
}

int problem_field_data_is_revolved(const struct facet_field *field) {
    return field->of.from->resolved.data.plane == HDG_AXISYMMETRIC;
}

facet_status problem_check_field_data(const struct facet_field *field, int dim, int components) {
    if (field == NULL)
        return base_fail(FACET_ERROR_INPUT,
                         "facet_field_function: its user pointer is a facet_field, not NULL");
    int own = field->of.from->problem->mesh->dim;
    if (own != dim)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' is one of %d dimensions, not %d", field->name,
                         own, dim);
    if (field->of.components == components) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "the field '%s' has %d components, but %d are wanted", field->name,
                     field->of.components, components);
}

facet_status facet_problem_set_temperature_field(facet_problem *problem, const facet_solver *from,
                                                 const char *field, const char *reference) {
    facet_status status = FACET_OK;
    struct facet_field *carried = NULL;
    REQUIRE(problem, from, field, reference);
    TRY(base_wrap(create(from, field, &carried), "thermal.temperature"));
    TRY(facet_problem_set_temperature_function(problem, facet_field_function, carried, reference));
    facet_field_destroy(&problem->data.carried);
    problem->data.carried = carried;
    carried = NULL;
done:
    facet_field_destroy(&carried);
    return status;
}

facet_status solver_find_carried_error(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct problem *own = &s->own;
    double most, least, reference = 0.0;
    int n;
    s->carried_error = 0.0;
    if (own->carried == NULL || own->temperature == NULL || !own->carried->of.from->solved) goto done;
    const struct facet_solver *from = own->carried->of.from;
    TRY(sample_take(from, "u", -1, SAMPLE_MAX, NULL, &most, &n));
    TRY(sample_take(from, "u", -1, SAMPLE_MIN, NULL, &least, &n));
    if (!field_is_constant(own->reference, &reference)) reference = most; /* of what differs, the smaller */
    const double error = fmax(from->report.error, from->carried_error) * fmax(fabs(most), fabs(least));
    const double heat = fmax(fabs(most - reference), fabs(least - reference));
    if (error > 0.0 && heat > 0.0) s->carried_error = fmin(error / heat, 1.0);
    s->report.error = fmax(s->report.error, s->carried_error);
done:
    return status;
}

facet_status problem_copy_field_data(const struct problem *from, struct problem *copy) {
    facet_status status = FACET_OK;
    if (from->carried == NULL || from->temperature == NULL) goto done;
    TRY(create(from->carried->of.from, from->carried->name, &copy->carried));
    field_set_user(copy->temperature, copy->carried);
done:
    return status;
}
