/* Elastic moduli: Lame's mu and lambda, or Young's modulus E and Poisson's ratio nu, from which the other two
 * follow: mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)). */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "problem/problem.h"

/* Beyond this ratio of lambda to mu, rounding eats the digits of the solution. */
#define LARGEST_RATIO (1e6 * (1.0 + 1e-9))
#define CHUNK         64

struct problem_moduli {
    facet_function function;
    void *user;
    int young, index; /* the modulus wanted: 0 mu, 1 lambda */
};

static double modulus_of(int young, int index, const double pair[2]) {
    double nu = pair[1];
    if (!young) return pair[index];
    return index == 0 ? pair[0] / (2.0 * (1.0 + nu)) : pair[0] * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
}

/* A facet_function of one component made of the caller's, which has two. */
static int evaluate_modulus(void *user, const facet_points *points, double *values) {
    const struct problem_moduli *m = user;
    double pairs[2 * CHUNK];
    for (int first = 0; first < points->n; first += CHUNK) {
        facet_points some = *points;
        int n = points->n - first < CHUNK ? points->n - first : CHUNK;
        some.n = n;
        some.x += (int64_t)first * points->dim;
        int answer = m->function(m->user, &some, pairs);
        if (answer != 0) return answer;
        for (int i = 0; i < n; i++) values[first + i] = modulus_of(m->young, m->index, pairs + 2 * i);
    }
    return 0;
}

const char *problem_find_fault(int young, const double pair[2], char *text, size_t text_bytes) {
    const char *names[2] = {young ? "E" : "mu", young ? "nu" : "lambda"};
    double ratio = young ? 2.0 * pair[1] / (1.0 - 2.0 * pair[1]) : pair[1] / pair[0];
    if (!(pair[0] > 0.0))
        snprintf(text, text_bytes, "%s must be positive, not %.10g", names[0], pair[0]);
    else if (!young && !(3.0 * pair[1] > -2.0 * pair[0]))
        snprintf(text, text_bytes, "lambda must be above -2 mu/3 = %.10g, not %.10g (nu > -1)",
                 -2.0 * pair[0] / 3.0, pair[1]);
    else if (young && !(pair[1] > -1.0))
        snprintf(text, text_bytes, "nu must be above -1, not %.10g", pair[1]);
    else if (young && !(pair[1] < 0.5))
        snprintf(text, text_bytes,
                 "nu must be below 0.5, not %.10g; for a nearly incompressible body give mu and lambda with "
                 "lambda/mu <= 1e6",
                 pair[1]);
    else if (ratio > LARGEST_RATIO)
        snprintf(text, text_bytes, "lambda/mu is %.4g; use lambda/mu <= 1e6%s", ratio,
                 young ? ", that is nu <= 0.4999995" : "");
    else
        return NULL;
    return text;
}

static facet_status find_pair(const char *which, int *young) {
    *young = strcmp(which, "E,nu") == 0;
    if (*young || strcmp(which, "mu,lambda") == 0) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "the moduli are \"mu,lambda\" or \"E,nu\", not \"%s\"", which);
}

/* mu and lambda as expressions of those of E and nu. */
static facet_status derive_moduli(const struct problem *p, const char *const texts[2],
                                  struct problem_region *region) {
    facet_status status = FACET_OK;
    struct text mu = {0}, lambda = {0};
    text_printf(&mu, "(%s)/(2*(1+(%s)))", texts[0], texts[1]);
    text_printf(&lambda, "(%s)*(%s)/((1+(%s))*(1-2*(%s)))", texts[0], texts[1], texts[1], texts[1]);
    TRY(mu.status);
    TRY(lambda.status);
    TRY(problem_compile(p, 0, 1, (const char *const *)&mu.data, &region->mu));
    TRY(problem_compile(p, 0, 1, (const char *const *)&lambda.data, &region->lambda));
done:
    text_free(&mu);
    text_free(&lambda);
    return status;
}

static facet_status make_region(const struct problem *p, int young, const char *const texts[2],
                                struct problem_region *region) {
    facet_status status = FACET_OK;
    char fault[256];
    double pair[2];
    struct field **first = young ? &region->given[0] : &region->mu,
                 **second = young ? &region->given[1] : &region->lambda;
    TRY(base_wrap(problem_compile(p, 0, 1, &texts[0], first), young ? "E" : "mu"));
    TRY(base_wrap(problem_compile(p, 0, 1, &texts[1], second), young ? "nu" : "lambda"));
    int constant = field_is_constant(*first, &pair[0]) & field_is_constant(*second, &pair[1]);
    if (constant && problem_find_fault(young, pair, fault, sizeof fault) != NULL)
        FAIL(FACET_ERROR_INPUT, "%s", fault);
    if (young) TRY(derive_moduli(p, texts, region));
done:
    return status;
}

static facet_status wrap_group(facet_status status, const char *group) {
    return group != NULL ? base_wrap(status, "material of '%s'", group) : base_wrap(status, "material");
}

facet_status facet_problem_set_material(facet_problem *problem, const char *group, const char *which,
                                        const char *const texts[2]) {
    facet_status status = FACET_OK;
    struct problem_region region = {0};
    int young;
    REQUIRE(problem, which, texts);
    REQUIRE(texts[0]);
    REQUIRE(texts[1]);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "material"));
    TRY(wrap_group(find_pair(which, &young), group));
    TRY(wrap_group(make_region(&problem->data, young, texts, &region), group));
    return problem_set_region(problem, group, region);
done:
    problem_region_clear(&region);
    return status;
}

facet_status facet_problem_set_material_function(facet_problem *problem, const char *group, const char *which,
                                                 facet_function function, void *user) {
    facet_status status = FACET_OK;
    struct problem_region region = {0};
    int young;
    REQUIRE(problem, which, function);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "material"));
    TRY(wrap_group(find_pair(which, &young), group));
    if (function == facet_field_function)
        TRY(wrap_group(problem_check_field_data(user, problem->data.mesh->dim, 2), group));
    for (int i = 0; i < 2; i++) {
        TRY(ALLOC(region.moduli[i], 1));
        *region.moduli[i] = (struct problem_moduli){function, user, young, i};
        TRY(field_create_function(1, evaluate_modulus, region.moduli[i],
                                  i == 0 ? &region.mu : &region.lambda));
    }
    return problem_set_region(problem, group, region);
done:
    problem_region_clear(&region);
    return status;
}

/* ------------------------------------------------------------------------------------------ orthotropy */

/* The constants, the axes, and what tau follows: the shear modulus of the plane, or in space the mean of all.
 */
static facet_status make_orthotropic(const struct problem *p, int n, const char *const *texts, int n_axes,
                                     const char *const *axes, struct problem_region *region) {
    facet_status status = FACET_OK;
    struct text mu = {0};
    double constants[9];
    int dim = p->mesh->dim;
    if (n != 9 && !(n == 4 && dim == 2))
        FAIL(FACET_ERROR_INPUT, "an orthotropic material has %s, not %d",
             dim == 2 ? "the constants E1, E2, nu12, G12 (plane: stress), or nine" : "nine constants", n);
    if (n_axes != 0 && n_axes != (dim == 2 ? 2 : 6))
        FAIL(FACET_ERROR_INPUT, "the axes of an orthotropic material are %s, not %d numbers",
             dim == 2 ? "the direction of the first, 2 numbers" : "two directions, 6 numbers", n_axes);
    TRY(problem_compile(p, 0, n, texts, &region->orthotropic));
    if (field_is_constant(region->orthotropic, constants) && hdg_orthotropic_fault(n, constants) != NULL)
        FAIL(FACET_ERROR_INPUT, "%s", hdg_orthotropic_fault(n, constants));
    if (n_axes > 0) TRY(base_wrap(problem_compile(p, 0, n_axes, axes, &region->axes), "the axes"));
    if (dim == 2)
        text_printf(&mu, "%s", texts[n == 4 ? 3 : 6]);
    else
        text_printf(&mu, "((%s)+(%s)+(%s))/3", texts[6], texts[7], texts[8]);
    TRY(mu.status);
    TRY(problem_compile(p, 0, 1, (const char *const *)&mu.data, &region->mu));
    TRY(field_create_constants(1, (const double[]){0.0}, &region->lambda));
done:
    text_free(&mu);
    return status;
}

facet_status facet_problem_set_orthotropic(facet_problem *problem, const char *group, int n_texts,
                                           const char *const *texts, int n_axes, const char *const *axes) {
    facet_status status = FACET_OK;
    struct problem_region region = {0};
    REQUIRE(problem, texts);
    if (n_axes > 0) REQUIRE(axes);
    for (int i = 0; i < n_texts && i < 9; i++) REQUIRE(texts[i]);
    for (int i = 0; i < n_axes && i < 6; i++) REQUIRE(axes[i]);
    TRY(problem_may_set(problem, FACET_ELASTICITY, "material"));
    TRY(wrap_group(make_orthotropic(&problem->data, n_texts, texts, n_axes, axes, &region), group));
    return problem_set_region(problem, group, region);
done:
    problem_region_clear(&region);
    return status;
}

facet_status problem_copy_moduli(const struct problem_region *from, struct problem_region *copy) {
    facet_status status = FACET_OK;
    for (int i = 0; i < 2 && from->moduli[i] != NULL; i++) {
        TRY(ALLOC(copy->moduli[i], 1));
        *copy->moduli[i] = *from->moduli[i];
        field_set_user(i == 0 ? copy->mu : copy->lambda, copy->moduli[i]);
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the check */

/* The two numbers of a region at a point, as they were given where that is known. */
static facet_status evaluate_pair(const struct problem_region *region, double t, int dim, const double *x,
                                  double pair[2], int *young) {
    const struct field *first = region->mu, *second = region->lambda;
    facet_status status = FACET_OK;
    *young = region->given[0] != NULL;
    if (region->moduli[0] != NULL) {
        *young = region->moduli[0]->young;
        const facet_points points = {.n = 1, .dim = dim, .x = x, .t = t, .group = region->group};
        if (region->moduli[0]->function(region->moduli[0]->user, &points, pair) != 0)
            FAIL(FACET_ERROR_INPUT, "the user's function of the material stopped; it should return 0");
        goto done;
    }
    if (*young) first = region->given[0], second = region->given[1];
    TRY(field_eval(first, 1, dim, x, &pair[0]));
    TRY(field_eval(second, 1, dim, x, &pair[1]));
done:
    return status;
}

facet_status problem_check_moduli(const struct problem *p, const struct problem_resolved *resolved,
                                  struct text *errors) {
    const struct facet_mesh *mesh = p->mesh;
    int dim = mesh->dim;
    for (int r = 0; r < p->n_regions; r++) {
        const struct problem_region *region = &p->regions[r];
        int constant = field_is_constant(region->mu, NULL) && field_is_constant(region->lambda, NULL),
            seen = 0;
        if (region->orthotropic != NULL) continue; /* is looked at with every cell */
        for (int32_t c = 0; c < mesh->n_cells; c++) {
            const struct mesh_block *block = mesh_block_of(mesh, c);
            const double *nodes = block->nodes + (int64_t)(c - block->first) * block->n_nodes * dim;
            double x[3] = {0.0}, pair[2];
            char fault[256], place[80];
            int young;
            if (resolved->coefficient[resolved->cell_region[c]] != r) continue;
            if (constant && seen++ > 0) break;
            for (int i = 0; i < block->n_nodes * dim; i++) x[i % dim] += nodes[i] / block->n_nodes;
            facet_status status = evaluate_pair(region, p->t, dim, x, pair, &young);
            if (status == FACET_ERROR_MACHINE) return status;
            if (status == FACET_OK && problem_find_fault(young, pair, fault, sizeof fault) == NULL) continue;
            text_printf(errors, "%smaterial%s%s%s: %s, in the cell at %s", errors->length > 0 ? "\n" : "",
                        region->group != NULL ? " of '" : "", region->group != NULL ? region->group : "",
                        region->group != NULL ? "'" : "", status == FACET_OK ? fault : base_message(),
                        mesh_middle_text(mesh, c, -1, place, sizeof place));
            break;
        }
    }
    return FACET_OK;
}
