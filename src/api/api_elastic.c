/* facet.h: problems of elasticity: vectors and mechanical conditions as the caller gives them. */
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

static facet_status check_count(const facet_problem *problem, int n) {
    int dim = problem->data.mesh->dim;
    if (n == dim) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%d components are given for a mesh of %d dimensions", n, dim);
}

static facet_status set_vector(facet_problem *problem, struct field **slot, const char *what, int n,
                               const char *const *texts) {
    facet_status status = FACET_OK;
    TRY(problem_may_set(problem, FACET_ELASTICITY, what));
    TRY(base_wrap(check_count(problem, n), "%s", what));
    for (int i = 0; i < n; i++)
        if (texts[i] == NULL) FAIL(FACET_ERROR_INPUT, "%s: component %d is NULL; write \"0\"", what, i + 1);
    TRY(problem_set_field(problem, slot, what, n, texts, NULL, NULL));
done:
    return status;
}

facet_status facet_problem_set_vector_source(facet_problem *problem, int n_texts, const char *const *texts) {
    REQUIRE(problem, texts);
    return set_vector(problem, &problem->data.source, "source", n_texts, texts);
}

facet_status facet_problem_set_vector_exact(facet_problem *problem, int n_texts, const char *const *texts) {
    REQUIRE(problem, texts);
    return set_vector(problem, &problem->data.exact, "exact", n_texts, texts);
}

/* ------------------------------------------------------------------------------------------ conditions */

/* Data of a condition: a field (NULL: from the exact solution) and the components that it gives. */
struct given {
    struct field *field;
    uint8_t components[3];
};

/* Components whose text is NULL are zero in the field, and nobody looks at them. */
static facet_status compile_given(const facet_problem *problem, int n, const char *const *texts,
                                  struct given *given) {
    facet_status status = FACET_OK;
    const char *filled[3];
    int n_given = 0, n_exact = 0;
    TRY(check_count(problem, n));
    for (int i = 0; i < n; i++) {
        given->components[i] = texts[i] != NULL;
        n_given += given->components[i];
        n_exact += texts[i] != NULL && strcmp(texts[i], "exact") == 0;
        filled[i] = texts[i] != NULL ? texts[i] : "0";
    }
    if (n_given == 0) FAIL(FACET_ERROR_INPUT, "no component is given");
    if (n_exact > 0 && n_exact < n_given)
        FAIL(FACET_ERROR_INPUT, "exact is mixed with other data; make all components exact, or none");
    if (n_exact == 0) TRY(problem_compile(&problem->data, 1, n, filled, &given->field));
done:
    return status;
}

/* The mechanical condition of a part, to which more is added; it is made where there is none. */
static facet_status find_mechanical(facet_problem *problem, const char *part,
                                    struct problem_condition **condition) {
    facet_status status = FACET_OK;
    struct problem *p = &problem->data;
    *condition = NULL;
    for (int i = 0; i < p->n_conditions; i++)
        if (strcmp(p->conditions[i].part, part) == 0 && p->conditions[i].kind == HDG_MECHANICAL)
            *condition = &p->conditions[i];
    if (*condition != NULL && (*condition)->symmetric)
        FAIL(FACET_ERROR_INPUT,
             "the boundary part '%s' is one of symmetry, which is all there is to say of it", part);
    if (*condition != NULL) goto done;
    TRY(problem_add_condition(problem, part, (struct problem_condition){.kind = HDG_MECHANICAL}));
    *condition = &p->conditions[p->n_conditions - 1];
done:
    return status;
}

/* Joins the displacement or the traction of a part with what was set before. Takes the field over, also on
 * failure. */
static facet_status add_mechanical(facet_problem *problem, const char *part, int traction,
                                   struct given *given) {
    facet_status status = FACET_OK;
    struct problem_condition *c;
    TRY(find_mechanical(problem, part, &c));
    uint8_t *gives = traction ? c->gives_t : c->gives_g;
    if (gives[0] || gives[1] || gives[2])
        FAIL(FACET_ERROR_INPUT, "the boundary part '%s' has two %ss", part,
             traction ? "traction" : "displacement");
    *(traction ? &c->t : &c->g) = given->field;
    memcpy(gives, given->components, 3);
    given->field = NULL;
done:
    field_destroy(&given->field);
    return status;
}

/* A load or spring beside these: its place in the condition must be empty. Takes the field over, also on
 * failure. */
static facet_status add_beside(facet_problem *problem, const char *part, const char *what, size_t offset,
                               struct field *field) {
    facet_status status = FACET_OK;
    struct problem_condition *c;
    TRY(find_mechanical(problem, part, &c));
    struct field **place = (struct field **)((char *)c + offset);
    if (*place != NULL) FAIL(FACET_ERROR_INPUT, "the boundary part '%s' has two %ss", part, what);
    *place = field;
    field = NULL;
done:
    field_destroy(&field);
    return status;
}

/* From n texts or (NULL) a function. */
static facet_status set_beside(facet_problem *problem, const char *part, const char *what, size_t offset,
                               int n, const char *const *texts, facet_function function, void *user) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    TRY(problem_may_set(problem, FACET_ELASTICITY, what));
    for (int i = 0; texts != NULL && i < n; i++) REQUIRE(texts[i]);
    status = problem_create_field(&problem->data, 1, n, texts, function, user, &field);
    TRY(base_wrap(status, "%s on '%s'", what, part));
    TRY(add_beside(problem, part, what, offset, field));
done:
    return status;
}

facet_status facet_problem_set_pressure(facet_problem *problem, const char *part, const char *p) {
    REQUIRE(problem, part, p);
    return set_beside(problem, part, "pressure", offsetof(struct problem_condition, pressure), 1, &p, NULL,
                      NULL);
}

facet_status facet_problem_set_pressure_function(facet_problem *problem, const char *part, facet_function p,
                                                 void *user) {
    REQUIRE(problem, part, p);
    return set_beside(problem, part, "pressure", offsetof(struct problem_condition, pressure), 1, NULL, p,
                      user);
}

static facet_status set_spring(facet_problem *problem, const char *part, int n, const char *const *texts,
                               facet_function function, void *user) {
    int dim = problem->data.mesh->dim;
    if (n != 1 && n != 2 && n != dim * dim)
        return base_fail(
            FACET_ERROR_INPUT,
            "spring on '%s': needs one number, two (along the normal and across it) or a %d x %d "
            "matrix, not %d",
            part, dim, dim, n);
    return set_beside(problem, part, "spring", offsetof(struct problem_condition, spring), n, texts, function,
                      user);
}

facet_status facet_problem_set_spring(facet_problem *problem, const char *part, int n_texts,
                                      const char *const *texts) {
    REQUIRE(problem, part, texts);
    return set_spring(problem, part, n_texts, texts, NULL, NULL);
}

facet_status facet_problem_set_spring_function(facet_problem *problem, const char *part, int n_values,
                                               facet_function k, void *user) {
    REQUIRE(problem, part, k);
    return set_spring(problem, part, n_values, NULL, k, user);
}

/* Conditions that were there before stay when a later part is refused. */
facet_status facet_problem_set_force(facet_problem *problem, int n_parts, const char *const *parts,
                                     int n_texts, const char *const *texts) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    REQUIRE(problem, parts, texts);
    if (n_parts < 1) FAIL(FACET_ERROR_INPUT, "force: it needs a part to act upon");
    TRY(base_wrap(check_count(problem, n_texts), "force"));
    for (int i = 0; i < n_texts; i++) REQUIRE(texts[i]);
    for (int k = 0; k < n_parts; k++) {
        struct problem_condition *c;
        REQUIRE(parts[k]);
        TRY(problem_may_set(problem, FACET_ELASTICITY, "force"));
        TRY(base_wrap(problem_compile(&problem->data, 0, n_texts, texts, &field), "force on '%s'", parts[k]));
        if (!field_is_constant(field, NULL))
            FAIL(FACET_ERROR_INPUT,
                 "force on '%s': is a total, so a number by component; for one that varies give a traction",
                 parts[k]);
        TRY(find_mechanical(problem, parts[k], &c));
        if (c->force != NULL) FAIL(FACET_ERROR_INPUT, "the boundary part '%s' has two forces", parts[k]);
        c->force = field;
        c->shared = problem->data.n_forces;
        field = NULL;
    }
done:
    problem->data.n_forces++;
    field_destroy(&field);
    return status;
}

facet_status facet_problem_set_symmetry(facet_problem *problem, const char *part) {
    facet_status status = FACET_OK;
    REQUIRE(problem, part);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "symmetry"));
    TRY(problem_add_condition(problem, part,
                              (struct problem_condition){.kind = HDG_MECHANICAL, .symmetric = 1}));
done:
    return status;
}

static facet_status set_mechanical(facet_problem *problem, const char *part, int traction, int n,
                                   const char *const *texts) {
    facet_status status = FACET_OK;
    const char *what = traction ? "traction" : "displacement";
    struct given given = {0};
    REQUIRE(problem, part, texts);
    TRY(problem_may_set(problem, FACET_ELASTICITY, what));
    TRY(base_wrap(compile_given(problem, n, texts, &given), "%s on '%s'", what, part));
    TRY(add_mechanical(problem, part, traction, &given));
done:
    return status;
}

static facet_status set_mechanical_function(facet_problem *problem, const char *part, int traction,
                                            const int *components, facet_function function, void *user) {
    facet_status status = FACET_OK;
    const char *what = traction ? "traction" : "displacement";
    struct given given = {0};
    int dim = problem->data.mesh->dim, any = 0;
    TRY(problem_may_set(problem, FACET_ELASTICITY, what));
    for (int i = 0; i < 3 && i < dim; i++)
        any |= given.components[i] = components == NULL || components[i] != 0;
    if (!any) FAIL(FACET_ERROR_INPUT, "%s on '%s': no component is given", what, part);
    TRY(problem_create_function(&problem->data, dim, function, user, &given.field));
    TRY(add_mechanical(problem, part, traction, &given));
done:
    return status;
}

facet_status facet_problem_set_displacement(facet_problem *problem, const char *part, int n_texts,
                                            const char *const *texts) {
    return set_mechanical(problem, part, 0, n_texts, texts);
}

facet_status facet_problem_set_traction(facet_problem *problem, const char *part, int n_texts,
                                        const char *const *texts) {
    return set_mechanical(problem, part, 1, n_texts, texts);
}

facet_status facet_problem_set_displacement_function(facet_problem *problem, const char *part,
                                                     const int *components, facet_function g, void *user) {
    REQUIRE(problem, part, g);
    return set_mechanical_function(problem, part, 0, components, g, user);
}

facet_status facet_problem_set_traction_function(facet_problem *problem, const char *part,
                                                 const int *components, facet_function t, void *user) {
    REQUIRE(problem, part, t);
    return set_mechanical_function(problem, part, 1, components, t, user);
}

facet_status facet_problem_set_gradient_pressure(facet_problem *problem, const char *part, int n_texts,
                                                 const char *const *texts) {
    facet_status status = FACET_OK;
    struct given given = {0};
    REQUIRE(problem, part, texts);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "gradient_pressure"));
    TRY(base_wrap(compile_given(problem, n_texts, texts, &given), "gradient_pressure on '%s'", part));
    for (int i = 0; i < n_texts; i++)
        if (!given.components[i])
            FAIL(FACET_ERROR_INPUT, "gradient_pressure on '%s': component %d is NULL; write \"0\"", part,
                 i + 1);
    return problem_add_condition(problem, part,
                                 (struct problem_condition){.kind = HDG_GRADIENT_PRESSURE, .g = given.field});
done:
    field_destroy(&given.field);
    return status;
}

facet_status facet_problem_set_gradient_pressure_function(facet_problem *problem, const char *part,
                                                          facet_function g, void *user) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    REQUIRE(problem, part, g);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "gradient_pressure"));
    TRY(problem_create_function(&problem->data, problem->data.mesh->dim, g, user, &field));
    return problem_add_condition(problem, part,
                                 (struct problem_condition){.kind = HDG_GRADIENT_PRESSURE, .g = field});
done:
    return status;
}
