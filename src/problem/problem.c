/* A problem: fields and conditions as they are kept, their copies, and how they are freed. */
#include "problem/problem.h"

#include <string.h>

#include "base/memory.h"

int problem_find_parameter(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_parameters; i++)
        if (strcmp(p->parameters[i].name, name) == 0) return i;
    return -1;
}

facet_status problem_add_parameter(struct problem *p, const char *name, double value) {
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
    for (int i = 0; i < p->n_parameters; i++) base_free(&p->parameters[i].name);
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

facet_status problem_set_field(facet_problem *problem, struct field **slot, const char *what, int n,
                               const char *const *texts, facet_function function, void *user) {
    struct field *field = NULL;
    facet_status status = problem_create_field(&problem->data, 0, n, texts, function, user, &field);
    if (status != FACET_OK) return base_wrap(status, "%s", what);
    field_destroy(slot);
    *slot = field;
    return FACET_OK;
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
        TRY(problem_add_parameter(copy, from->parameters[i].name, from->parameters[i].value));
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
