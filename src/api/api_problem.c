/* facet.h: problems, a mesh, an equation, data and boundary conditions as the caller gives them; those of
 * elasticity alone stand in api_elastic.c. */
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

facet_status facet_problem_create(facet_context *context, const facet_mesh *mesh, facet_equation equation,
                                  facet_problem **problem) {
    facet_status status = FACET_OK;
    REQUIRE(problem);
    *problem = NULL;
    REQUIRE(context, mesh);
    if (physics_of(equation) == NULL) FAIL(FACET_ERROR_INPUT, "unknown equation %d", (int)equation);
    TRY(CALLOC(*problem, 1));
    (*problem)->data.physics = physics_of(equation);
    (*problem)->data.context = context;
    (*problem)->data.mesh = mesh;
    TRY(problem_add_parameter(&(*problem)->data, "t", 0.0));
done:
    if (status != FACET_OK) facet_problem_destroy(problem);
    return status;
}

void facet_problem_destroy(facet_problem **problem) {
    if (problem == NULL || *problem == NULL) return;
    problem_clear(&(*problem)->data);
    base_free(problem);
}

facet_status facet_problem_set_parameter(facet_problem *problem, const char *name, double value) {
    facet_status status = FACET_OK;
    struct expr *probe = NULL;
    REQUIRE(problem, name);
    struct problem *p = &problem->data;
    TRY(expr_compile("0", 1, &(struct expr_parameter){name, value}, &probe)); /* checks name and value */
    int i = problem_find_parameter(p, name);
    if (i < 0) TRY(problem_add_parameter(p, name, value));
    if (i == 0) p->own_t = 1;
    if (i >= 0) p->parameters[i].value = value;
done:
    expr_destroy(&probe);
    return status;
}

static facet_status check_components(const facet_problem *problem, int n) {
    int dim = problem->data.mesh->dim;
    if (n == 1 || n == dim * dim) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "the conductivity needs 1 value or a %d x %d matrix, not %d values",
                     dim, dim, n);
}

/* From texts or (NULL) a function. */
static facet_status set_conductivity(facet_problem *problem, const char *group, int n,
                                     const char *const *texts, facet_function function, void *user) {
    facet_status status = FACET_OK;
    struct problem_region region = {0};
    status = problem_may_set(problem, FACET_DIFFUSION, "conductivity");
    if (status != FACET_OK) return status;
    TRY(check_components(problem, n));
    TRY(problem_create_field(&problem->data, 0, n, texts, function, user, &region.conductivity));
    return problem_set_region(problem, group, region);
done:
    return base_wrap(status, "conductivity");
}

facet_status facet_problem_set_conductivity(facet_problem *problem, const char *group, int n_texts,
                                            const char *const *texts) {
    REQUIRE(problem, texts);
    for (int i = 0; check_components(problem, n_texts) == FACET_OK && i < n_texts; i++) REQUIRE(texts[i]);
    return set_conductivity(problem, group, n_texts, texts, NULL, NULL);
}

facet_status facet_problem_set_conductivity_function(facet_problem *problem, const char *group, int n_values,
                                                     facet_function function, void *user) {
    REQUIRE(problem, function);
    return set_conductivity(problem, group, n_values, NULL, function, user);
}

/* The same for a scalar of diffusion. */
static facet_status set_scalar(facet_problem *problem, struct field **slot, const char *what,
                               const char *text, facet_function function, void *user) {
    facet_status status = problem_may_set(problem, FACET_DIFFUSION, what);
    if (status != FACET_OK) return status;
    return problem_set_field(problem, slot, what, 1, text != NULL ? &text : NULL, function, user);
}

facet_status facet_problem_set_reaction(facet_problem *problem, const char *text) {
    REQUIRE(problem, text);
    return set_scalar(problem, &problem->data.reaction, "reaction", text, NULL, NULL);
}

facet_status facet_problem_set_reaction_function(facet_problem *problem, facet_function function,
                                                 void *user) {
    REQUIRE(problem, function);
    return set_scalar(problem, &problem->data.reaction, "reaction", NULL, function, user);
}

facet_status facet_problem_set_source(facet_problem *problem, const char *text) {
    REQUIRE(problem, text);
    return set_scalar(problem, &problem->data.source, "source", text, NULL, NULL);
}

facet_status facet_problem_set_source_function(facet_problem *problem, facet_function function, void *user) {
    REQUIRE(problem, function);
    struct problem *p = &problem->data;
    return problem_set_field(problem, &p->source, "source", physics_components(p->physics, p->mesh->dim),
                             NULL, function, user);
}

facet_status facet_problem_set_exact(facet_problem *problem, const char *text) {
    REQUIRE(problem, text);
    return set_scalar(problem, &problem->data.exact, "exact", text, NULL, NULL);
}

/* Diffusion's conditions; takes g and a over, also on failure. */
static facet_status add_condition(facet_problem *problem, const char *part, enum hdg_kind kind,
                                  struct field *g, struct field *a) {
    facet_status status =
        problem_may_set(problem, FACET_DIFFUSION, "a Dirichlet, Neumann or Robin condition");
    if (status == FACET_OK)
        return problem_add_condition(problem, part, (struct problem_condition){.kind = kind, .g = g, .a = a});
    field_destroy(&g);
    field_destroy(&a);
    return status;
}

/* NULL for the text "exact". */
static facet_status compile_data(const struct problem *p, const char *part, const char *text,
                                 struct field **field) {
    *field = NULL;
    if (strcmp(text, "exact") == 0) return FACET_OK;
    return base_wrap(problem_compile(p, 1, 1, &text, field), "boundary condition on '%s'", part);
}

/* From a text or a function. */
static facet_status set_condition(facet_problem *problem, const char *part, enum hdg_kind kind,
                                  const char *text, facet_function g, void *user) {
    struct field *field;
    REQUIRE(problem, part);
    if (text == NULL) REQUIRE(g);
    facet_status status = text != NULL ? compile_data(&problem->data, part, text, &field)
                                       : problem_create_function(&problem->data, 1, g, user, &field);
    return status == FACET_OK ? add_condition(problem, part, kind, field, NULL) : status;
}

facet_status facet_problem_set_dirichlet(facet_problem *problem, const char *part, const char *g) {
    return set_condition(problem, part, HDG_DIRICHLET, g, NULL, NULL);
}

facet_status facet_problem_set_dirichlet_function(facet_problem *problem, const char *part, facet_function g,
                                                  void *user) {
    return set_condition(problem, part, HDG_DIRICHLET, NULL, g, user);
}

facet_status facet_problem_set_neumann(facet_problem *problem, const char *part, const char *g) {
    return set_condition(problem, part, HDG_NEUMANN, g, NULL, NULL);
}

facet_status facet_problem_set_neumann_function(facet_problem *problem, const char *part, facet_function g,
                                                void *user) {
    return set_condition(problem, part, HDG_NEUMANN, NULL, g, user);
}

facet_status facet_problem_set_robin(facet_problem *problem, const char *part, const char *a, const char *g) {
    facet_status status = FACET_OK;
    struct field *field_g = NULL, *field_a = NULL;
    REQUIRE(problem, part, a, g);
    TRY(compile_data(&problem->data, part, g, &field_g));
    TRY(base_wrap(problem_compile(&problem->data, 1, 1, &a, &field_a), "robin.a on '%s'", part));
    return add_condition(problem, part, HDG_ROBIN, field_g, field_a);
done:
    field_destroy(&field_g);
    return status;
}

facet_status facet_problem_set_robin_function(facet_problem *problem, const char *part, facet_function a,
                                              void *a_user, facet_function g, void *g_user) {
    facet_status status = FACET_OK;
    struct field *field_g = NULL, *field_a = NULL;
    REQUIRE(problem, part, a, g);
    TRY(problem_create_function(&problem->data, 1, g, g_user, &field_g));
    TRY(problem_create_function(&problem->data, 1, a, a_user, &field_a));
    return add_condition(problem, part, HDG_ROBIN, field_g, field_a);
done:
    field_destroy(&field_g);
    return base_wrap(status, "robin on '%s'", part);
}

/* ------------------------------------------------------------------------------------------ groups of cells */

/* Takes the field over, also on failure; a share replaces an earlier one of the same group. */
static facet_status put_share(facet_problem *problem, enum problem_share_kind kind, const char *group,
                              struct field *field) {
    facet_status status = FACET_OK;
    struct problem *p = &problem->data;
    struct problem_share share = {.kind = kind, .field = field};
    TRY(base_strdup(group, &share.group));
    for (int i = 0; i < p->n_shares; i++) {
        if (p->shares[i].kind != kind || strcmp(p->shares[i].group, group) != 0) continue;
        struct problem_share earlier = p->shares[i];
        p->shares[i] = share;
        share = earlier;
        goto done;
    }
    TRY(base_realloc(&p->shares, (size_t)p->n_shares + 1, sizeof *p->shares));
    p->shares[p->n_shares++] = share;
    share = (struct problem_share){0};
done:
    base_free(&share.group);
    field_destroy(&share.field);
    return status;
}

/* From n texts or (NULL) a function; equation: that it belongs to, or -1 for all. */
static facet_status set_share(facet_problem *problem, enum problem_share_kind kind, int equation,
                              const char *group, int n, const char *const *texts, facet_function function,
                              void *user) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    const char *what = problem_share_names[kind];
    if (equation >= 0) TRY(problem_may_set(problem, (facet_equation)equation, what));
    int wanted =
        kind == SHARE_SOURCE ? physics_components(problem->data.physics, problem->data.mesh->dim) : 1;
    if (texts == NULL) n = wanted;
    if (n != wanted)
        FAIL(FACET_ERROR_INPUT, "%s of '%s': %d components are given, but it has %d", what, group, n, wanted);
    for (int i = 0; texts != NULL && i < n; i++) REQUIRE(texts[i]);
    status = problem_create_field(&problem->data, 0, n, texts, function, user, &field);
    TRY(base_wrap(status, "%s of '%s'", what, group));
    return put_share(problem, kind, group, field);
done:
    return status;
}

facet_status facet_problem_set_group_source(facet_problem *problem, const char *group, int n_texts,
                                            const char *const *texts) {
    REQUIRE(problem, group, texts);
    return set_share(problem, SHARE_SOURCE, -1, group, n_texts, texts, NULL, NULL);
}

facet_status facet_problem_set_group_reaction(facet_problem *problem, const char *group, const char *text) {
    REQUIRE(problem, group, text);
    return set_share(problem, SHARE_REACTION, FACET_DIFFUSION, group, 1, &text, NULL, NULL);
}

facet_status facet_problem_set_group_source_function(facet_problem *problem, const char *group,
                                                     facet_function function, void *user) {
    REQUIRE(problem, group, function);
    return set_share(problem, SHARE_SOURCE, -1, group, 0, NULL, function, user);
}

facet_status facet_problem_set_group_reaction_function(facet_problem *problem, const char *group,
                                                       facet_function function, void *user) {
    REQUIRE(problem, group, function);
    return set_share(problem, SHARE_REACTION, FACET_DIFFUSION, group, 0, NULL, function, user);
}

/* ------------------------------------------------------------------------------------------ heat */

/* From a text or a function. */
static facet_status set_expansion(facet_problem *problem, const char *group, const char *text,
                                  facet_function function, void *user) {
    facet_status status = FACET_OK;
    const char *const *texts = text != NULL ? &text : NULL;
    if (group != NULL)
        return set_share(problem, SHARE_EXPANSION, FACET_ELASTICITY, group, 1, texts, function, user);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "thermal.expansion"));
    TRY(problem_set_field(problem, &problem->data.expansion, "thermal.expansion", 1, texts, function, user));
done:
    return status;
}

facet_status facet_problem_set_expansion(facet_problem *problem, const char *group, const char *text) {
    REQUIRE(problem, text);
    return set_expansion(problem, group, text, NULL, NULL);
}

facet_status facet_problem_set_expansion_function(facet_problem *problem, const char *group,
                                                  facet_function function, void *user) {
    REQUIRE(problem, function);
    return set_expansion(problem, group, NULL, function, user);
}

/* From a text or a function. */
static facet_status set_temperature(facet_problem *problem, const char *text, facet_function function,
                                    void *user, const char *reference) {
    facet_status status = FACET_OK;
    struct problem *p = &problem->data;
    TRY(problem_may_set(problem, FACET_ELASTICITY, "thermal.temperature"));
    TRY(problem_set_field(problem, &p->reference, "thermal.reference", 1, &reference, NULL, NULL));
    TRY(problem_set_field(problem, &p->temperature, "thermal.temperature", 1, text != NULL ? &text : NULL,
                          function, user));
    facet_field_destroy(&p->carried);
done:
    return status;
}

facet_status facet_problem_set_temperature(facet_problem *problem, const char *text, const char *reference) {
    REQUIRE(problem, text, reference);
    return set_temperature(problem, text, NULL, NULL, reference);
}

facet_status facet_problem_set_temperature_function(facet_problem *problem, facet_function function,
                                                    void *user, const char *reference) {
    REQUIRE(problem, function, reference);
    return set_temperature(problem, NULL, function, user, reference);
}
