/* Continuous elements on a box: what is made once, and the solve. */
#include "box/continuous.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/continuous_cells.h"
#include "box/levels.h"
#include "poly/rule.h"

/* Inside patches where k varies: with fewer, k = 7 in 3D takes more than three times the cycles of constant k
 * at jumps of 100. */
#define INNER_STEPS 4

void box_continuous_options_default(struct box_continuous_options *options) {
    *options = (struct box_continuous_options){
        .cycle = MG_FULL, .steps = 1, .reversed = -1, .single = 1, .inner = -1};
}

/* ------------------------------------------------------------------------------------- set-up */

/* Whether a multigrid is needed. */
static int has_cycle(const struct box_continuous *c) {
    int krylov = c->options.solver == BOX_CONTINUOUS_CG || c->options.solver == BOX_CONTINUOUS_FGMRES;
    return c->options.solver != BOX_CONTINUOUS_DIRECT &&
           (!krylov || c->options.preconditioner == BOX_PRECONDITION_CYCLE);
}

static facet_status choose(const struct device *device, const struct box_continuous_options *wanted,
                           const struct box_grid *grid, struct box_continuous_options *o) {
    *o = *wanted;
    if (o->smoother < 0 || o->smoother >= BOX_N_SMOOTHERS)
        return base_fail(FACET_ERROR_INPUT, "there is no smoother number %d", (int)o->smoother);
    if (o->steps < 1 || o->steps > MG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "a smoother takes 1 to %d steps, not %d", MG_MAX_DEGREE,
                         o->steps);
    if (o->cycle == MG_K) return base_fail(FACET_ERROR_INPUT, "the levels of a box have no K-cycle");
    if (o->solver == BOX_CONTINUOUS_AUTO)
        o->solver = o->smoother == BOX_SMOOTHER_ADDITIVE                    ? BOX_CONTINUOUS_FGMRES
                    : grid->separable && o->smoother == BOX_SMOOTHER_VERTEX ? BOX_CONTINUOUS_MULTIGRID
                                                                            : BOX_CONTINUOUS_CG;
    if (o->solver == BOX_CONTINUOUS_DIRECT && !grid->separable)
        return base_fail(FACET_ERROR_INPUT,
                         "the direct solver needs the same conductivity and reaction in all "
                         "cells");
    if (o->inner > MG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "a patch takes 0 to %d steps, not %d", MG_MAX_DEGREE, o->inner);
    if (o->inner < 0) o->inner = strcmp(device_name(device), "cuda") == 0 ? 0 : INNER_STEPS; /* faster there */
    if (o->reversed < 0) o->reversed = o->solver == BOX_CONTINUOUS_CG;
    return FACET_OK;
}

/* The operator, and the multigrid or what else solves: made of the grid and the options as they are now, put
 * in the place of those before. A failure leaves these. */
static facet_status make_solver(struct box_continuous *c) {
    facet_status status = FACET_OK;
    const struct box_continuous_options *o = &c->options;
    int direct = o->solver == BOX_CONTINUOUS_DIRECT, cycle = has_cycle(c);
    struct box_levels *levels = NULL;
    struct box_separable *separable = NULL;
    struct operator M = {0};
    TRY(box_levels_create(c->device, &c->grid, &c->element, o, cycle ? &M : NULL, &levels));
    if (direct) {
        TRY(box_separable_create(&c->grid, &c->element, &separable));
        TRY(operator_create_separable(c->device, separable, &M));
    } else if (!cycle && o->preconditioner == BOX_PRECONDITION_DIAGONAL) {
        TRY(box_levels_diagonal(levels, &M));
    }
    struct operator old_M = c->M;
    struct box_levels *old_levels = c->levels;
    struct box_separable *old_direct = c->direct;
    c->M = M;
    c->levels = levels;
    c->direct = separable;
    M = old_M;
    levels = old_levels;
    separable = old_direct;
done:
    operator_destroy(&M);
    box_levels_destroy(&levels);
    box_separable_destroy(&separable);
    return status;
}

static facet_status list_fixed(struct box_continuous *c) {
    facet_status status = FACET_OK;
    int64_t n_fixed = c->n_all - c->n_free, count = 0;
    TRY(ALLOC(c->fixed, n_fixed));
    TRY(CALLOC(c->fixed_values, n_fixed));
    for (int z = 0; z < c->n_nodes[2] && n_fixed > 0; z++)
        for (int y = 0; y < c->n_nodes[1]; y++)
            for (int x = 0; x < c->n_nodes[0]; x++) {
                int at[3] = {x, y, z}, fixed = 0;
                for (int d = 0; d < c->grid.dim; d++)
                    fixed |= (at[d] == 0 && c->grid.sides[d][0] == BOX_DIRICHLET) ||
                             (at[d] == c->n_nodes[d] - 1 && c->grid.sides[d][1] == BOX_DIRICHLET);
                if (fixed) c->fixed[count++] = ((int64_t)z * c->n_nodes[1] + y) * c->n_nodes[0] + x;
            }
done:
    return status;
}

/* Counts, and the integrals of the 1D functions. */
static facet_status describe(struct box_continuous *c) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->grid;
    int k = c->degree, n = c->n;
    c->n_all = c->n_free = c->cell_size = 1;
    c->volume = 1.0;
    for (int d = 0; d < 3; d++) {
        int real = d < g->dim, periodic = real && g->sides[d][0] == BOX_PERIODIC, free_nodes;
        c->n_nodes[d] = free_nodes = real ? k * g->cells[d] + !periodic : 1;
        for (int side = 0; real && side < 2; side++) free_nodes -= g->sides[d][side] == BOX_DIRICHLET;
        c->n_all *= c->n_nodes[d];
        c->n_free *= free_nodes;
        if (real) c->cell_size *= n;
        TRY(CALLOC(c->moments[d], c->n_nodes[d]));
        if (!real) c->moments[d][0] = 1.0;
        for (int cell = 0; real && cell < g->cells[d]; cell++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    c->moments[d][(cell * k + i) % c->n_nodes[d]] +=
                        g->widths[d][cell] * c->element.mass[i * n + j];
        if (real) c->volume *= g->coordinates[d][g->cells[d]] - g->coordinates[d][0];
    }
    c->n_volume = g->n_cells * c->cell_size;
    TRY(ALLOC(c->gauss, n));
    double *weights = NULL;
    TRY(ALLOC(weights, n));
    status = rule_gauss_jacobi(n, 0.0, 0.0, c->gauss, weights);
    base_free(&weights);
    for (int q = 0; q < n; q++) c->gauss[q] = 0.5 * (1.0 + c->gauss[q]);
done:
    return status;
}

/* The kernel of a singular problem: the constant of length 1. */
static facet_status make_kernel(const struct box_continuous *c, struct vector *kernel) {
    facet_status status = FACET_OK;
    if (!c->grid.singular) return FACET_OK;
    TRY(vector_create(c->device, c->n_all, kernel));
    vector_fill(kernel, 1.0 / sqrt((double)c->n_all));
done:
    return status;
}

facet_status box_continuous_create(const struct device *device, const struct box_grid_data *data, int degree,
                                   const struct box_continuous_options *options,
                                   struct box_continuous **continuous) {
    facet_status status = FACET_OK;
    struct box_continuous *c = NULL;
    *continuous = NULL;
    if (degree < 1 || degree > BRICK_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "continuous elements on boxes have degree 1 to %d, not %d", BRICK_MAX_DEGREE,
             degree);
    TRY(CALLOC(c, 1));
    c->device = device;
    c->degree = degree;
    c->n = degree + 1;
    TRY(box_grid_create(data, &c->grid));
    TRY(choose(device, options, &c->grid, &c->options));
    TRY(box_element_create(degree, &c->element));
    TRY(describe(c));
    TRY(list_fixed(c));
    TRY(vector_create(device, c->n_all, &c->b));
    TRY(vector_create(device, c->n_all, &c->u));
    vector_fill(&c->b, 0.0);
    vector_fill(&c->u, 0.0);
    TRY(make_kernel(c, &c->kernel));
    TRY(make_solver(c));
    *continuous = c;
done:
    if (status != FACET_OK) box_continuous_destroy(&c);
    return status;
}

void box_continuous_destroy(struct box_continuous **continuous) {
    struct box_continuous *c = *continuous;
    if (c == NULL) return;
    operator_destroy(&c->M);
    box_separable_destroy(&c->direct);
    box_levels_destroy(&c->levels);
    vector_destroy(&c->b);
    vector_destroy(&c->u);
    vector_destroy(&c->kernel);
    for (int d = 0; d < 3; d++) base_free(&c->moments[d]);
    base_free(&c->fixed);
    base_free(&c->fixed_values);
    base_free(&c->gauss);
    box_element_destroy(&c->element);
    box_grid_destroy(&c->grid);
    base_free(continuous);
}

const struct operator* box_continuous_operator(const struct box_continuous *c) {
    return &c->levels->A;
}

struct multigrid *box_continuous_multigrid(const struct box_continuous *c) {
    return operator_multigrid(&c->M);
}

/* ------------------------------------------------------------------------------------- another reaction */

/* What the grid says of this reaction in all cells, values[]. */
static void change_grid(struct box_grid *g, double *values, double reaction) {
    int fixed = 0, uniform = 1;
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        values[cell] = reaction;
        uniform = uniform && box_conductivity(g, cell) == box_conductivity(g, 0);
    }
    for (int d = 0; d < g->dim; d++)
        for (int side = 0; side < 2; side++) fixed |= g->sides[d][side] == BOX_DIRICHLET;
    g->reaction = values;
    g->separable = uniform;
    g->singular = !fixed && reaction == 0.0;
}

facet_status box_continuous_set_reaction(struct box_continuous *c, double reaction) {
    facet_status status = FACET_OK;
    struct box_grid before = c->grid;
    struct vector kernel = {0};
    double *values = NULL;
    int cheap = box_levels_can_change(c->levels);
    if (!(reaction >= 0.0) || !isfinite(reaction))
        FAIL(FACET_ERROR_INPUT, "the reaction must be a number that is not negative, not %g", reaction);
    TRY(ALLOC(values, c->grid.n_cells));
    change_grid(&c->grid, values, reaction);
    cheap = cheap && before.singular == c->grid.singular && before.separable == c->grid.separable &&
            (has_cycle(c) || c->direct != NULL || c->options.preconditioner == BOX_PRECONDITION_NONE);
    if (cheap) {
        c->levels->levels[0].grid = c->grid;
        box_levels_set_reaction(c->levels, reaction);
        if (c->direct != NULL) box_separable_set_reaction(c->direct, reaction);
    } else {
        TRY(make_kernel(c, &kernel));
        TRY(make_solver(c));
        struct vector old = c->kernel;
        c->kernel = kernel;
        kernel = old;
    }
    values = before.reaction; /* the old ones go */
done:
    if (status != FACET_OK) c->grid = before;
    vector_destroy(&kernel);
    base_free(&values);
    return status;
}

/* ------------------------------------------------------------------------------------- solve */

static facet_status run_solver(struct box_continuous *c, const struct solve_control *control,
                               struct solve_report *report) {
    const struct operator* A = & c->levels->A, *M = c->M.apply != NULL ? &c->M : NULL;
    switch (c->options.solver) {
    case BOX_CONTINUOUS_DIRECT:
        return solve_refined(A, &c->M, &c->b, &c->u, control, report);
    case BOX_CONTINUOUS_CG:
        return solve_cg(A, M, &c->b, &c->u, control, report);
    case BOX_CONTINUOUS_FGMRES:
        return solve_fgmres(A, M, &c->b, &c->u, control, report);
    default:
        return solve_multigrid(A, &c->M, &c->b, &c->u, control, report);
    }
}

/* A singular solution gets its mean. */
static facet_status shift(struct box_continuous *c) {
    facet_status status = FACET_OK;
    double mean;
    if (!c->grid.singular) return FACET_OK;
    TRY(box_continuous_mean(c, &mean));
    vector_axpby((c->mean - mean) * sqrt((double)c->n_all), &c->kernel, 1.0, &c->u);
done:
    return status;
}

facet_status box_continuous_solve(struct box_continuous *c, const struct solve_control *control,
                                  struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    struct solve_control own = *control;
    struct multigrid *mg = operator_multigrid(&c->M);
    own.kernel = c->grid.singular ? &c->kernel : NULL;
    own.flexible = mg != NULL && (c->options.smoother == BOX_SMOOTHER_ADDITIVE || c->options.single ||
                                  !c->options.reversed);
    TRY(box_levels_prepare(c->levels));
    TRY(box_nodes_fix(c, NULL, &c->u));
    solved = run_solver(c, &own, report);
    TRY(box_nodes_fix(c, c->fixed_values, &c->u));
    TRY(solved);
    TRY(device_check(c->device));
    if (mg != NULL) TRY(multigrid_failure(mg));
    TRY(shift(c));
done:
    return status;
}
