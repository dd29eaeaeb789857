/* Continuous elements on a box: what is made once, and the solve. */
#include "boxsem/boxsem.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "box/tiles.h"
#include "boxsem/element_nodes.h"
#include "boxsem/halved_boxes.h"

void boxsem_options_default(struct boxsem_options *options) {
    *options = (struct boxsem_options){
        .cycle = MG_FULL, .steps = 1, .reversed = -1, .single = 1, .direct = -1, .inner = -1};
}

/* ------------------------------------------------------------------------------------- set-up */

static facet_status choose(const struct device *device, const struct boxsem_options *wanted,
                           const struct box_grid *grid, struct boxsem_options *o) {
    *o = *wanted;
    if (o->smoother < 0 || o->smoother >= BOXSEM_N_SMOOTHERS)
        return base_fail(FACET_ERROR_INPUT, "there is no smoother number %d", (int)o->smoother);
    if (o->steps < 1 || o->steps > MG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "a smoother takes 1 to %d steps, not %d", MG_MAX_DEGREE,
                         o->steps);
    if (grid->part != NULL && (o->smoother == BOXSEM_ADDITIVE || o->smoother == BOXSEM_OTHER))
        return base_fail(FACET_ERROR_INPUT,
                         "the smoother additive is not distributed yet; use patches or chebyshev");
    if (o->cycle == MG_K) return base_fail(FACET_ERROR_INPUT, "the levels of a box have no K-cycle");
    if (o->solver == BOXSEM_AUTO)
        o->solver = o->smoother == BOXSEM_ADDITIVE                    ? BOXSEM_FGMRES
                    : grid->separable && o->smoother == BOXSEM_VERTEX ? BOXSEM_MULTIGRID
                                                                      : BOXSEM_CG;
    if (o->solver == BOXSEM_DIRECT && !grid->separable)
        return base_fail(FACET_ERROR_INPUT,
                         "the direct solver needs the same conductivity and reaction in all "
                         "cells");
    if (o->inner > MG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "a patch takes 0 to %d steps, not %d", MG_MAX_DEGREE, o->inner);
    if (o->direct < 0) o->direct = device_direct_size(device);
    if (o->reversed < 0) o->reversed = o->solver == BOXSEM_CG;
    return FACET_OK;
}

/* The operator, and the multigrid or what else solves: made of the grid and the options as they are now, put
 * in the place of those before. A failure leaves these. */
static facet_status make_solver(struct boxsem *c) {
    facet_status status = FACET_OK;
    const struct boxsem_options *o = &c->options;
    int direct = o->solver == BOXSEM_DIRECT, cycle = boxsem_has_cycle(&c->options);
    struct boxsem_levels *levels = NULL;
    struct box_diagonal *diagonal = NULL;
    struct linear_operator M = {0};
    TRY(boxsem_levels_create(c->device, &c->grid, &c->element, o, cycle ? &M : NULL, &levels));
    if (direct) {
        TRY(operator_create_diagonalization(c->device, &c->grid, &c->element, &diagonal, &M));
    } else if (!cycle && o->preconditioner == BOXSEM_PRECONDITION_DIAGONAL) {
        TRY(boxsem_levels_diagonal(&levels->levels[0], &M));
    }
    struct linear_operator old_M = c->M;
    struct boxsem_levels *old_levels = c->levels;
    struct box_diagonal *old_direct = c->direct;
    c->M = M;
    c->levels = levels;
    c->direct = diagonal;
    M = old_M;
    levels = old_levels;
    diagonal = old_direct;
    c->b.seam = c->u.seam = c->constants.function.seam = c->levels->levels[0].seam;
done:
    operator_destroy(&M);
    boxsem_levels_destroy(&levels);
    box_diagonal_destroy(&diagonal);
    return status;
}

/* Whole rows where their place is fixed, else their ends. */
static facet_status list_fixed(struct boxsem *c) {
    facet_status status = FACET_OK;
    int64_t n_fixed = c->n_all - c->n_free, count = 0;
    int last = c->n_nodes[0] - 1;
    TRY(ALLOC(c->fixed, n_fixed));
    TRY(CALLOC(c->fixed_values, n_fixed));
    TRY(device_alloc(c->device, &c->fixed_loads, (size_t)n_fixed, sizeof *c->fixed_loads));
    for (int z = 0; z < c->n_nodes[2] && n_fixed > 0; z++)
        for (int y = 0; y < c->n_nodes[1]; y++) {
            int64_t row = ((int64_t)z * c->n_nodes[1] + y) * c->n_nodes[0];
            int whole = boxsem_is_fixed(c, 1, y) || boxsem_is_fixed(c, 2, z);
            for (int x = 0; x <= last; x = whole || x == last ? x + 1 : last)
                if (whole || boxsem_is_fixed(c, 0, x)) c->fixed[count++] = row + x;
        }
done:
    return status;
}

/* Counts, and the integrals of the 1D functions. */
static facet_status describe(struct boxsem *c) {
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
    c->volume = box_all(g, TEAM_SUM, c->volume);
    c->n_whole = c->n_all;
    if (g->part != NULL) {
        struct boxsem_blocks blocks = {0};
        TRY(boxsem_blocks_create(g, &blocks));
        c->n_whole = 1;
        for (int d = 0; d < 3; d++) c->n_whole *= boxsem_whole_nodes(&blocks, k, d);
        boxsem_blocks_destroy(&blocks);
    }
    TRY(ALLOC(c->gauss, 2 * n));
    TRY(box_gauss(n, c->gauss, c->gauss + n));
done:
    return status;
}

/* Of the reaction times length^2 / k. Cells that are alike round a constant alike: what a product makes of it
 * adds up over the box, and the reaction alone stands against it. */
#define LOOSE 0.1

static int is_loose(const struct box_grid *g) {
    const struct box_range *r = &g->range;
    double square = 0.0;
    for (int d = 0; d < g->dim; d++) square += pow(r->upper[d] - r->lower[d], 2);
    return !g->singular && !g->closed && r->reaction == r->least_reaction &&
           r->reaction * square < LOOSE * r->stiffest;
}

/* Without a Dirichlet side the reaction alone holds the constant, against the rounding of products with the
 * largest k/w^2 of every cell, which is alike in all of them. What it may do to the constant, u being one;
 * ten times that were found (degree 7, 8^3 to 24^3 cells). */
#define ALIKE 10.0
static facet_status find_constant_error(const struct boxsem *c, double *error) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->grid;
    double sums[2] = {0.0, 0.0};
    *error = 0.0;
    if (g->singular || c->loose || g->closed) return FACET_OK;
    for (int64_t i = 0; i < g->n_cells; i++) {
        int at[3];
        double stiff = 0.0, volume = 1.0;
        box_cell_at(g, i, at);
        for (int d = 0; d < g->dim; d++) {
            stiff += pow(c->degree / g->widths[d][at[d]], 2);
            volume *= g->widths[d][at[d]];
        }
        sums[0] += volume * stiff * box_conductivity(g, i);
        sums[1] += volume * g->reaction[i];
    }
    if (g->part != NULL) TRY(team_reduce(g->part->team, TEAM_SUM, 2, sums));
    *error = ALIKE * DBL_EPSILON * sums[0] / sums[1];
done:
    return status;
}

/* The constant of length 1, where the problem is singular or nearly so. */
static facet_status make_constants(struct boxsem *c, struct null_space *constants) {
    facet_status status = FACET_OK;
    c->loose = is_loose(&c->grid);
    TRY(find_constant_error(c, &c->rounding));
    if (!c->grid.singular && !c->loose) return FACET_OK;
    TRY(vector_create(c->device, c->n_all, &constants->function));
    vector_fill(&constants->function, 1.0 / sqrt((double)c->n_whole));
done:
    return status;
}

facet_status boxsem_create(const struct device *device, const struct box_grid_data *data, int degree,
                           const struct boxsem_options *options, struct boxsem **continuous) {
    facet_status status = FACET_OK;
    struct boxsem *c = NULL;
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
    TRY(boxsem_check_memory(c));
    TRY(list_fixed(c));
    TRY(vector_create(device, c->n_all, &c->b));
    TRY(vector_create(device, c->n_all, &c->u));
    vector_fill(&c->b, 0.0);
    vector_fill(&c->u, 0.0);
    c->held.nodes = device_seen(device, c->u.data);
    c->fixed_is_zero = 1;
    TRY(make_constants(c, &c->constants));
    TRY(make_solver(c));
    TRY(box_tiles_create(device, &c->grid, NULL, &c->tiles));
    box_tiles_share(c->tiles, degree, c->n_nodes);
    *continuous = c;
done:
    if (status != FACET_OK) boxsem_destroy(&c);
    return status;
}

void boxsem_destroy(struct boxsem **continuous) {
    struct boxsem *c = *continuous;
    if (c == NULL) return;
    operator_destroy(&c->M);
    box_diagonal_destroy(&c->direct);
    boxsem_levels_destroy(&c->levels);
    box_tiles_destroy(&c->tiles);
    boxsem_forget(c);
    vector_destroy(&c->b);
    vector_destroy(&c->u);
    null_space_destroy(&c->constants);
    for (int d = 0; d < 3; d++) base_free(&c->moments[d]);
    device_unplace(c->device, c->fixed, (const void **)&c->fixed_places);
    base_free(&c->fixed);
    base_free(&c->fixed_values);
    device_free(c->device, &c->fixed_loads);
    boxsem_fluxes_destroy(c);
    base_free(&c->gauss);
    box_element_destroy(&c->element);
    box_grid_destroy(&c->grid);
    base_free(continuous);
}

struct multigrid *boxsem_multigrid(const struct boxsem *c) {
    return operator_multigrid(&c->M);
}

/* ------------------------------------------------------------------------------------- another reaction */

facet_status boxsem_set_reaction(struct boxsem *c, double reaction) {
    facet_status status = FACET_OK;
    struct box_grid before = c->grid;
    struct null_space constants = {0};
    double *values = NULL;
    int cheap = boxsem_levels_can_change(c->levels);
    if (!(reaction >= 0.0) || !isfinite(reaction))
        FAIL(FACET_ERROR_INPUT, "the reaction must be a number that is not negative, not %g", reaction);
    TRY(ALLOC(values, c->grid.n_cells));
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) values[cell] = reaction;
    c->grid.reaction = values;
    TRY(box_grid_judge(&c->grid));
    cheap = cheap && before.singular == c->grid.singular && before.separable == c->grid.separable &&
            (boxsem_has_cycle(&c->options) || c->direct != NULL ||
             c->options.preconditioner == BOXSEM_PRECONDITION_NONE);
    if (cheap) {
        c->levels->levels[0].grid = c->grid;
        boxsem_levels_set_reaction(c->levels, reaction);
        if (c->direct != NULL) box_diagonal_set_reaction(c->direct, reaction);
    } else {
        TRY(make_constants(c, &constants));
        TRY(make_solver(c));
        struct null_space old = c->constants;
        c->constants = constants;
        c->constants.function.seam = c->u.seam;
        constants = old;
    }
    values = before.reaction; /* the old ones go */
    box_tiles_forget_reaction(c->tiles);
done:
    if (status != FACET_OK) c->grid = before;
    null_space_destroy(&constants);
    base_free(&values);
    return status;
}

/* ------------------------------------------------------------------------------------- solve */

static facet_status run_solver(struct boxsem *c, const struct solve_control *control,
                               struct solve_report *report) {
    const struct linear_operator *A = &c->levels->A, *M = c->M.apply != NULL ? &c->M : NULL;
    switch (c->options.solver) {
    case BOXSEM_DIRECT:
        return solve_refined(A, &c->M, &c->b, &c->u, control, report);
    case BOXSEM_CG:
        return solve_cg(A, M, &c->b, &c->u, control, report);
    case BOXSEM_FGMRES:
        return solve_fgmres(A, M, &c->b, &c->u, control, report);
    default:
        return solve_multigrid(A, &c->M, &c->b, &c->u, control, report);
    }
}

/* The error of u that jumps of k let pass, absolute: what a residual with fresh rounding, that of PROBE u,
 * makes of the cells, among which a node divides its part as they hold it. */
#define PROBE 1.25

static facet_status find_contrast_error(struct boxsem *c, double *error) {
    facet_status status = FACET_OK;
    struct vector x = {0}, r = {0};
    double *nodes = NULL, *cells = NULL, *local = NULL, *shares = NULL;
    *error = 0.0;
    if (!box_is_contrasting(&c->grid)) return FACET_OK;
    TRY(vector_create(c->device, c->n_all, &x));
    TRY(vector_create(c->device, c->n_all, &r));
    TRY(CALLOC(shares, c->n_all));
    TRY(CALLOC(cells, c->grid.n_cells));
    TRY(ALLOC(local, c->cell_size));
    vector_axpby(PROBE, &c->u, 0.0, &x);
    operator_apply(&c->levels->A, &x, &r);
    vector_axpby(PROBE, &c->b, -1.0, &r);
    TRY(boxsem_nodes_open(&r, &nodes));
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) nodes[c->fixed[i]] = 0.0;
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
        int at[3];
        box_cell_at(&c->grid, cell, at);
        for (int64_t i = 0; i < c->cell_size; i++) local[i] = box_conductivity(&c->grid, cell);
        boxsem_cell_move(c, at, BOXSEM_ADD, shares, local);
    }
    for (int64_t i = 0; i < c->n_all; i++) nodes[i] /= PROBE * shares[i];
    for (int64_t cell = 0; cell < c->grid.n_cells; cell++) {
        int at[3];
        box_cell_at(&c->grid, cell, at);
        boxsem_cell_move(c, at, BOXSEM_GATHER, nodes, local);
        for (int64_t i = 0; i < c->cell_size; i++) cells[cell] += box_conductivity(&c->grid, cell) * local[i];
    }
    TRY(box_contrast_error(&c->grid, c->degree, c->grid.singular || c->loose,
                           vector_norm(&c->u) / sqrt((double)c->n_all), cells, error));
done:
    boxsem_nodes_close(&r, 0, &nodes);
    vector_destroy(&x);
    vector_destroy(&r);
    base_free(&shares);
    base_free(&cells);
    base_free(&local);
    return status;
}

/* A singular or loose solution gets its mean. */
static facet_status shift(struct boxsem *c, const struct solve_control *control,
                          struct solve_report *report) {
    facet_status status = FACET_OK;
    double mean;
    if (!c->grid.singular && !c->loose) return FACET_OK;
    TRY(boxsem_mean(c, &mean));
    const double root = sqrt((double)c->n_whole);
    vector_axpby((c->mean - mean) * root, &c->constants.function, 1.0, &c->u);
    if (c->loose && c->uncertainty > 0.0)
        TRY(solve_accept_more(control->rtol, c->uncertainty * root / vector_norm(&c->u), report));
done:
    return status;
}

facet_status boxsem_solve(struct boxsem *c, const struct solve_control *control,
                          struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    struct solve_control own = *control;
    struct multigrid *mg = operator_multigrid(&c->M);
    double error = 0.0;
    own.null_space = c->grid.singular ? &c->constants : NULL;
    own.forget = c->loose ? null_space_forget : NULL;
    own.forget_data = &c->constants;
    if (boxsem_knows_rounding(c)) own.draw_rounding = boxsem_draw_rounding;
    own.draw_rounding_data = c;
    own.flexible =
        mg != NULL && (c->options.smoother == BOXSEM_ADDITIVE || c->options.single || !c->options.reversed);
    boxsem_forget(c);
    TRY(boxsem_levels_prepare(c->levels));
    TRY(boxsem_nodes_fix(c, NULL, &c->u));
    solved = run_solver(c, &own, report);
    if (solved == FACET_OK) TRY(find_contrast_error(c, &error));
    TRY(boxsem_nodes_fix(c, c->fixed_values, &c->u));
    TRY(solved);
    TRY(seam_share(c->u.seam, &c->u)); /* rounding may have led copies apart */
    TRY(device_check(c->device));
    if (mg != NULL) TRY(multigrid_failure(mg));
    TRY(shift(c, control, report));
    if (c->rounding > 0.0) TRY(solve_accept_more(control->rtol, c->rounding, report));
    const double *here = device_seen(c->device, c->u.data);
    const double size = here != NULL ? solve_largest(c->n_all, here) : vector_norm(&c->u);
    TRY(solve_check_size(box_all(&c->grid, TEAM_MAX, size), report));
    if (error > 0.0)
        TRY(solve_accept_more(control->rtol, error * sqrt((double)c->n_all) / vector_norm(&c->u), report));
done:
    return status;
}

/* ------------------------------------------------------------------------------------- the system */

/* y = A x, A being one of single precision. */
static facet_status apply_rounded(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    facet_status status = FACET_OK;
    struct vector from = {0}, to = {0};
    TRY(vector_create_in(A->device, F32, A->n, &from));
    TRY(vector_create_in(A->device, F32, A->n, &to));
    TRY(vector_convert(x, &from));
    operator_apply(A, &from, &to);
    TRY(vector_convert(&to, y));
done:
    vector_destroy(&from);
    vector_destroy(&to);
    return status;
}

facet_status boxsem_apply(struct boxsem *c, enum boxsem_which which, const double *x, double *y) {
    facet_status status = FACET_OK;
    const struct linear_operator *A = which == BOXSEM_PRODUCT ? &c->levels->A : &c->M;
    struct vector from = {0}, to = {0};
    enum precision precision = A->apply != NULL ? A->precision : F64;
    struct multigrid *mg = which == BOXSEM_PRECONDITIONER ? boxsem_multigrid(c) : NULL;
    TRY(boxsem_levels_prepare(c->levels));
    TRY(vector_create(c->device, c->n_all, &from));
    TRY(vector_upload(&from, x));
    TRY(boxsem_nodes_fix(c, NULL, &from));
    TRY(vector_create(c->device, c->n_all, &to));
    if (A->apply == NULL) {
        vector_axpby(1.0, &from, 0.0, &to);
    } else if (precision == F64) {
        operator_apply(A, &from, &to);
    } else
        TRY(apply_rounded(A, &from, &to));
    TRY(boxsem_nodes_fix(c, NULL, &to));
    TRY(device_check(c->device));
    if (mg != NULL) TRY(multigrid_failure(mg));
    TRY(vector_download(&to, y));
done:
    vector_destroy(&from);
    vector_destroy(&to);
    return status;
}

facet_status boxsem_get_system(struct boxsem *c, double *b, double *u) {
    facet_status status = FACET_OK;
    struct vector copy = {0};
    if (b != NULL) TRY(vector_download(&c->b, b));
    if (u == NULL) goto done;
    TRY(vector_create(c->device, c->n_all, &copy));
    vector_axpby(1.0, &c->u, 0.0, &copy);
    TRY(boxsem_nodes_fix(c, NULL, &copy));
    TRY(vector_download(&copy, u));
done:
    vector_destroy(&copy);
    return status;
}
