/* The public problem: a mesh, an equation, data and boundary conditions, as the caller gives them. */
#include "problem/problem.h"

#include <string.h>

#include "base/memory.h"

int problem_find_parameter(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_parameters; i++)
        if (strcmp(p->parameters[i].name, name) == 0) return i;
    return -1;
}

static facet_status add_parameter(struct problem *p, const char *name, double value) {
    facet_status status = FACET_OK;
    char *copy = NULL;
    TRY(base_strdup(name, &copy));
    TRY(base_realloc(&p->parameters, (size_t)p->n_parameters + 1, sizeof *p->parameters));
    p->parameters[p->n_parameters++] = (struct expr_parameter){copy, value};
    copy = NULL;
done:
    base_free(&copy);
    return status;
}

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
    TRY(add_parameter(&(*problem)->data, "t", 0.0));
done:
    if (status != FACET_OK) facet_problem_destroy(problem);
    return status;
}

/* Field i of a condition, in an order that copies share, and what depends on it. */
#define CONDITION_FIELDS 7
static struct field **condition_field(struct problem_condition *c, int i, int *role) {
    struct field **const fields[CONDITION_FIELDS] = {&c->g,     &c->t,      &c->a,    &c->pressure,
                                                     &c->force, &c->spring, &c->total};
    int in_matrix = fields[i] == &c->a || fields[i] == &c->spring; /* an exact solution loads by it, too */
    *role = in_matrix ? FACET_TRACE | FACET_LOAD : FACET_LOAD;
    return fields[i];
}

static void condition_clear(struct problem_condition *c) {
    int role;
    base_free(&c->part);
    for (int i = 0; i < CONDITION_FIELDS; i++) field_destroy(condition_field(c, i, &role));
}

void problem_clear(struct problem *p) {
    for (int i = 0; i < p->n_parameters; i++) {
        char *name = (char *)p->parameters[i].name;
        base_free(&name);
    }
    struct problem_slot slot;
    for (int i = 0; problem_slot(p, i, &slot); i++) field_destroy(slot.field);
    for (int i = 0; i < p->n_regions; i++) problem_region_clear(&p->regions[i]);
    for (int i = 0; i < p->n_conditions; i++) base_free(&p->conditions[i].part);
    for (int i = 0; i < p->n_shares; i++) base_free(&p->shares[i].group);
    problem_clear_contacts(p);
    base_free(&p->parameters);
    base_free(&p->regions);
    base_free(&p->shares);
    base_free(&p->conditions);
    facet_field_destroy(&p->carried);
    *p = (struct problem){0};
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
    if (i < 0) TRY(add_parameter(p, name, value));
    if (i == 0) p->own_t = 1;
    if (i >= 0) p->parameters[i].value = value;
done:
    expr_destroy(&probe);
    return status;
}

facet_status problem_may_set(const facet_problem *problem, facet_equation equation, const char *what) {
    const struct physics *wanted = physics_of(equation), *own = problem->data.physics;
    if (own == wanted) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s: belongs to %s, but the problem is one of %s", what, wanted->name,
                     own->name);
}

/* A field of a solver that is given as a function must be one of as many components and dimensions. */
facet_status problem_create_function(const struct problem *p, int n, facet_function function, void *user,
                                     struct field **field) {
    facet_status status = FACET_OK;
    int carried = function == facet_field_function;
    *field = NULL;
    if (carried) TRY(problem_check_field_data(user, p->mesh->dim, n));
    TRY(field_create_function(n, function, user, field));
    if (carried) field_answers_status(*field);
done:
    return status;
}

facet_status problem_compile(const struct problem *p, int on_boundary, int n, const char *const *texts,
                             struct field **field) {
    facet_status status = field_create_texts(n, texts, p->n_parameters, p->parameters, field);
    if (status == FACET_OK) status = field_check_coordinates(*field, p->mesh->dim, on_boundary);
    if (status != FACET_OK) field_destroy(field);
    return status;
}

facet_status problem_create_field(const struct problem *p, int on_boundary, int n, const char *const *texts,
                                  facet_function function, void *user, struct field **field) {
    return texts != NULL ? problem_compile(p, on_boundary, n, texts, field)
                         : problem_create_function(p, n, function, user, field);
}

void problem_region_clear(struct problem_region *region) {
    base_free(&region->group);
    field_destroy(&region->conductivity);
    field_destroy(&region->mu);
    field_destroy(&region->lambda);
    field_destroy(&region->orthotropic);
    field_destroy(&region->axes);
    for (int i = 0; i < 2; i++) {
        field_destroy(&region->given[i]);
        base_free(&region->moduli[i]);
    }
}

facet_status problem_set_region(facet_problem *problem, const char *group, struct problem_region region) {
    facet_status status = FACET_OK;
    struct problem *p = &problem->data;
    region.group = NULL;
    if (group != NULL) TRY(base_strdup(group, &region.group));
    for (int i = 0; i < p->n_regions; i++) {
        const char *old = p->regions[i].group;
        if (group == NULL ? old != NULL : old == NULL || strcmp(old, group) != 0) continue;
        struct problem_region earlier = p->regions[i];
        p->regions[i] = region;
        region = earlier;
        goto done;
    }
    TRY(base_realloc(&p->regions, (size_t)p->n_regions + 1, sizeof *p->regions));
    p->regions[p->n_regions++] = region;
    region = (struct problem_region){0};
done:
    problem_region_clear(&region);
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

facet_status problem_set_field(facet_problem *problem, struct field **slot, const char *what, int n,
                               const char *const *texts, facet_function function, void *user) {
    struct field *field = NULL;
    facet_status status = problem_create_field(&problem->data, 0, n, texts, function, user, &field);
    if (status != FACET_OK) return base_wrap(status, "%s", what);
    field_destroy(slot);
    *slot = field;
    return FACET_OK;
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

facet_status problem_add_condition(facet_problem *problem, const char *part,
                                   struct problem_condition condition) {
    facet_status status = FACET_OK;
    struct problem *p = &problem->data;
    condition.part = NULL;
    for (int i = 0; i < p->n_conditions; i++)
        if (strcmp(p->conditions[i].part, part) == 0)
            FAIL(FACET_ERROR_INPUT, "the boundary part '%s' has two conditions", part);
    TRY(base_strdup(part, &condition.part));
    TRY(base_realloc(&p->conditions, (size_t)p->n_conditions + 1, sizeof *p->conditions));
    p->conditions[p->n_conditions++] = condition;
    condition = (struct problem_condition){0};
done:
    condition_clear(&condition);
    return status;
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

/* ------------------------------------------------------------------------------------------ copies */

static facet_status copy_name(const char *name, char **copy) {
    *copy = NULL;
    return name != NULL ? base_strdup(name, copy) : FACET_OK;
}

int problem_slot(struct problem *p, int i, struct problem_slot *slot) {
    enum { WHOLE = 8, REGION = 7, CONDITION = CONDITION_FIELDS };
    struct field **const whole[WHOLE] = {&p->reaction,  &p->source,      &p->exact,     &p->tau,
                                         &p->expansion, &p->temperature, &p->reference, &p->jump};
    static const int roles[WHOLE] = {FACET_CELLS | PROBLEM_REACTION,
                                     FACET_LOAD,
                                     FACET_LOAD,
                                     FACET_CELLS | PROBLEM_DEEP,
                                     FACET_LOAD,
                                     FACET_LOAD,
                                     FACET_LOAD,
                                     FACET_LOAD};
    if (i < WHOLE) {
        *slot = (struct problem_slot){whole[i], roles[i], NULL};
        return 1;
    }
    i -= WHOLE;
    if (i < p->n_regions * REGION) {
        struct problem_region *r = &p->regions[i / REGION];
        struct field **const fields[REGION] = {&r->conductivity, &r->mu,          &r->lambda, &r->given[0],
                                               &r->given[1],     &r->orthotropic, &r->axes};
        *slot = (struct problem_slot){fields[i % REGION], FACET_CELLS | PROBLEM_DEEP, r->group};
        return 1;
    }
    i -= p->n_regions * REGION;
    if (i < p->n_shares) {
        int role = p->shares[i].kind == SHARE_REACTION ? FACET_CELLS | PROBLEM_DEEP : FACET_LOAD;
        *slot = (struct problem_slot){&p->shares[i].field, role, p->shares[i].group};
        return 1;
    }
    i -= p->n_shares;
    if (i < p->n_contacts) {
        *slot = (struct problem_slot){&p->contacts[i].conductance, FACET_TRACE, p->contacts[i].between[0]};
        return 1;
    }
    i -= p->n_contacts;
    if (i >= p->n_conditions * CONDITION) return 0;
    struct problem_condition *c = &p->conditions[i / CONDITION];
    slot->field = condition_field(c, i % CONDITION, &slot->role);
    slot->group = c->part;
    return 1;
}

facet_status problem_copy(const struct problem *from, struct problem *copy) {
    facet_status status = FACET_OK;
    struct problem_slot to, of;
    struct problem fields = *from; /* so that its slots can be asked for */
    *copy = (struct problem){.physics = from->physics,
                             .context = from->context,
                             .mesh = from->mesh,
                             .own_t = from->own_t,
                             .t = from->t,
                             .n_forces = from->n_forces,
                             .n_electrodes = from->n_electrodes};
    for (int i = 0; i < from->n_parameters; i++)
        TRY(add_parameter(copy, from->parameters[i].name, from->parameters[i].value));
    TRY(problem_copy_contacts(from, copy));
    TRY(CALLOC(copy->regions, from->n_regions + 1));
    TRY(CALLOC(copy->conditions, from->n_conditions + 1));
    TRY(CALLOC(copy->shares, from->n_shares + 1));
    for (; copy->n_shares < from->n_shares; copy->n_shares++) {
        copy->shares[copy->n_shares].kind = from->shares[copy->n_shares].kind;
        TRY(copy_name(from->shares[copy->n_shares].group, &copy->shares[copy->n_shares].group));
    }
    for (; copy->n_regions < from->n_regions; copy->n_regions++)
        TRY(copy_name(from->regions[copy->n_regions].group, &copy->regions[copy->n_regions].group));
    for (; copy->n_conditions < from->n_conditions; copy->n_conditions++) {
        struct problem_condition *c = &copy->conditions[copy->n_conditions];
        *c = from->conditions[copy->n_conditions];
        for (int i = 0, role; i < CONDITION_FIELDS; i++) *condition_field(c, i, &role) = NULL;
        TRY(copy_name(c->part, &c->part));
    }
    for (int i = 0; problem_slot(copy, i, &to) && problem_slot(&fields, i, &of); i++)
        TRY(field_copy(*of.field, copy->n_parameters, copy->parameters, copy->t, to.group, to.field));
    for (int i = 0; i < copy->n_regions; i++) TRY(problem_copy_moduli(&from->regions[i], &copy->regions[i]));
    TRY(problem_copy_field_data(from, copy));
done:
    if (status != FACET_OK) problem_clear(copy);
    return status;
}
