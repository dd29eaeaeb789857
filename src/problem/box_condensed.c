/* The backend of boxes, condensed continuous elements: over src/box/condensed.h. Sources that are expressions
 * are projected onto the polynomials of the cells first, so that their integrals are as exact as on mapped
 * cells. */
#include "problem/box_condensed.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/contract.h"
#include "poly/jacobi.h"
#include "poly/rule.h"
#include "solve/multigrid.h"

static int is(const char *given, const char *word) {
    return strcmp(given != NULL ? given : "auto", word) == 0;
}

static void destroy(struct facet_solver *s) {
    struct box_backend *b = s->box;
    if (b == NULL) return;
    struct condensed_backend *c = b->condensed;
    if (c != NULL) {
        operator_destroy(&c->A);
        operator_destroy(&c->M);
        vector_destroy(&c->b);
        vector_destroy(&c->x);
        vector_destroy(&c->kernel);
        for (int i = 0; i < 6; i++) field_destroy(&c->flux_fields[i / 2][i % 2]);
        base_free(&c->f);
        base_free(&c->u);
        base_free(&c->trace);
        base_free(&c->dirichlet);
        box_condensed_destroy(&c->space);
        base_free(&b->condensed);
    }
    base_free(&b->F);
    box_data_destroy(&b->data);
    base_free(&s->box);
}

/* ------------------------------------------------------------------------------ data */

/* The cell that a point lies in, on its upper side where it lies on a border. */
static int64_t find_cell(const struct box_grid_data *g, const double *x) {
    int64_t cell = 0;
    for (int d = g->dim - 1; d >= 0; d--) {
        int low = 0, high = g->cells[d];
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (g->coordinates[d][middle] <= x[d])
                low = middle;
            else
                high = middle;
        }
        cell = cell * g->cells[d] + low;
    }
    return cell;
}

static int exact_flux(void *user, int n, int dim, const double *x, double *values) {
    const struct side_flux *flux = user;
    for (int i = 0; i < n; i++) {
        double u, grad[3];
        if (field_eval_jet(flux->exact, 0, 1, dim, x + i * dim, &u, grad, NULL) != FACET_OK) return 1;
        values[i] =
            flux->sign * grad[flux->d] * flux->data->conductivity[find_cell(&flux->data->grid, x + i * dim)];
    }
    return 0;
}

static facet_status make_sides(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    for (int d = 0; d < s->problem->mesh->dim; d++)
        for (int side = 0; side < 2; side++) {
            const struct hdg_condition *condition = s->box->data.conditions[d][side];
            if (condition == NULL) continue;
            c->sides.g[d][side] = condition->g != NULL ? condition->g : s->problem->exact;
            if (condition->g != NULL || condition->kind == HDG_DIRICHLET) continue;
            c->fluxes[d][side] =
                (struct side_flux){&s->box->data, s->problem->exact, d, side == 1 ? 1.0 : -1.0};
            TRY(field_create_function(1, exact_flux, &c->fluxes[d][side], &c->flux_fields[d][side]));
            c->sides.g[d][side] = c->flux_fields[d][side];
        }
done:
    return status;
}

/* The integral of |g| over all Neumann sides, by the middles of their faces. */
static facet_status measure_boundary(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    const struct box_grid *g = &c->space->grid;
    for (int64_t cell = 0; cell < g->n_cells; cell++)
        for (int f = 0; f < 2 * g->dim; f++) {
            int d = f / 2, side = f % 2, at[3];
            double x[3], area = 1.0, value;
            box_cell_at(g, cell, at);
            if (g->sides[d][side] != BOX_NEUMANN || at[d] != (side ? g->cells[d] - 1 : 0)) continue;
            for (int a = 0; a < g->dim; a++) {
                double middle = g->coordinates[a][at[a]] + 0.5 * g->widths[a][at[a]];
                x[a] = a == d ? g->coordinates[a][at[a] + side] : middle;
                area *= a == d ? 1.0 : g->widths[a][at[a]];
            }
            TRY(field_eval(c->sides.g[d][side], 1, g->dim, x, &value));
            c->boundary += area * fabs(value);
        }
done:
    return status;
}

/* The source, or lambda u - k div grad u of the exact solution, at points of a cell. jets: u, its gradient
 * and second derivatives there. */
static facet_status source_at(const struct facet_solver *s, int64_t cell, int n, const double *x,
                              double *jets, double *f) {
    facet_status status = FACET_OK;
    const struct box_data *data = &s->box->data;
    int dim = data->grid.dim;
    double *grad = jets + n, *hessian = grad + n * dim;
    if (s->problem->exact == NULL) {
        memset(f, 0, (size_t)n * sizeof *f);
        if (s->problem->source != NULL)
            TRY(base_wrap(field_eval(s->problem->source, n, dim, x, f), "source"));
        goto done;
    }
    TRY(base_wrap(field_eval_jet(s->problem->exact, 0, n, dim, x, jets, grad, hessian),
                  "source of the exact solution"));
    for (int q = 0; q < n; q++) {
        f[q] = data->reaction[cell] * jets[q];
        for (int a = 0; a < dim; a++) f[q] -= data->conductivity[cell] * hessian[(q * dim + a) * dim + a];
    }
done:
    return status;
}

/* T (n x m): from values at m Gauss points to those of the projection onto degree n - 1 at n Gauss points.
 * fine: the m points in [-1, 1]. */
static facet_status make_projection(const struct box_condensed *h, int m, double *fine, double *T) {
    facet_status status = FACET_OK;
    int n = h->n;
    double *weights = NULL, *at = NULL;
    TRY(ALLOC(weights, m));
    TRY(ALLOC(at, 2 * (n + m) * n));
    TRY(rule_gauss_jacobi(m, 0.0, 0.0, fine, weights));
    double *slopes = at + (n + m) * n;
    for (int i = 0; i < n; i++) jacobi_orthonormal(n - 1, 0.0, 0.0, h->gauss[i], at + i * n, slopes);
    for (int q = 0; q < m; q++) jacobi_orthonormal(n - 1, 0.0, 0.0, fine[q], at + (n + q) * n, slopes);
    for (int i = 0; i < n; i++)
        for (int q = 0; q < m; q++) {
            T[i * m + q] = 0.0;
            for (int l = 0; l < n; l++) T[i * m + q] += weights[q] * at[i * n + l] * at[(n + q) * n + l];
        }
done:
    base_free(&weights);
    base_free(&at);
    return status;
}

static facet_status project_source(const struct facet_solver *s, double *f) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = s->box->condensed->space;
    const struct box_grid *g = &h->grid;
    int dim = g->dim, m = h->n + EXTRA_POINTS, fine_counts[3] = {m, m, m}, counts[3] = {h->n, h->n, h->n};
    int64_t size = 1, fine_size = 1;
    double *fine = NULL, *T = NULL, *x = NULL, *jets = NULL, *work = NULL;
    for (int d = 0; d < dim; d++) {
        size *= h->n;
        fine_size *= m;
    }
    TRY(ALLOC(fine, m));
    TRY(ALLOC(T, h->n * m));
    TRY(ALLOC(x, fine_size * dim));
    TRY(ALLOC(jets, fine_size * (1 + dim + dim * dim)));
    TRY(CALLOC(work, 2 * (fine_size + BOX_SLACK)));
    TRY(make_projection(h, m, fine, T));
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        for (int64_t i = 0; i < fine_size; i++)
            for (int64_t d = 0, rest = i; d < dim; d++, rest /= m)
                x[i * dim + d] =
                    g->coordinates[d][at[d]] + 0.5 * (1.0 + fine[rest % m]) * g->widths[d][at[d]];
        TRY(source_at(s, c, (int)fine_size, x, jets, work));
        const double *result = box_contract_all(dim, counts, fine_counts, (const double *const[3]){T, T, T},
                                                work, work + fine_size + BOX_SLACK);
        memcpy(f + c * size, result, (size_t)size * sizeof *f);
    }
done:
    base_free(&fine);
    base_free(&T);
    base_free(&x);
    base_free(&jets);
    base_free(&work);
    return status;
}

/* ------------------------------------------------------------------------------ set-up */

static facet_status choose(struct facet_solver *s) {
    const facet_options *o = &s->options;
    const char *name = o->preconditioner;
    int ours = is(s->operator_name, "tensor");
    if (is(o->method, "direct"))
        return base_fail(FACET_ERROR_INPUT,
                         "the direct solve of the condensed method needs operator: mapped");
    if (is(name, "chebyshev") || is(name, "stars"))
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioner %s belongs to the discretization hdg; condensed has additive",
                         name);
    if (is(name, "additive") && is(s->operator_name, "tp"))
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioner additive does not go with the operator tp; use tensor");
    if (!is(o->precision, "auto"))
        return base_fail(FACET_ERROR_INPUT, "precision belongs to the discretization hdg");
    s->method = "cg";
    s->preconditioner = !is(name, "auto") ? name : ours ? "additive" : "block";
    return FACET_OK;
}

static facet_status make_operators(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    const struct device *device = s->context->device;
    enum box_condensed_form form = is(s->operator_name, "mm")    ? BOX_CCG_MM
                                   : is(s->operator_name, "tp")  ? BOX_CCG_TP
                                   : is(s->operator_name, "tpt") ? BOX_CCG_TPT
                                                                 : BOX_CCG_PARITY;
    c->basis = box_condensed_basis(form, BOX_MODES);
    int nodes = c->basis == BOX_NODES;
    if (!device_is_host(device)) TRY(device_find("ref", &device));
    TRY(box_condensed_operator(c->space, device, form, c->basis, &c->A));
    if (!is(s->preconditioner, "none"))
        TRY(box_condensed_preconditioner(c->space, device,
                                         is(s->preconditioner, "additive") ? BOX_CCG_TWO_LEVEL
                                         : !nodes                          ? BOX_CCG_TRANSFORMED
                                         : is(s->preconditioner, "jacobi") ? BOX_CCG_DIAGONAL
                                                                           : BOX_CCG_BLOCK,
                                         &c->M));
    TRY(vector_create(device, c->space->n_trace, &c->b));
    TRY(vector_create(device, c->space->n_trace, &c->x));
    if (c->space->grid.singular) {
        double square = 0.0;
        box_condensed_constant(c->space, c->basis, s->box->F);
        for (int64_t i = 0; i < c->space->n_trace; i++) square += s->box->F[i] * s->box->F[i];
        for (int64_t i = 0; i < c->space->n_trace; i++) s->box->F[i] /= sqrt(square);
        TRY(vector_create(device, c->space->n_trace, &c->kernel));
        TRY(vector_upload(&c->kernel, s->box->F));
    }
done:
    return status;
}

/* The operator tp has the mass of the paper, lumped at its nodes; all others the exact one. */
static facet_status create_space(const struct facet_solver *s, const struct box_data *data,
                                 struct box_condensed **space) {
    return box_condensed_create(&data->grid, s->options.degree,
                                is(s->operator_name, "tp") ? BOX_MASS_COLLOCATED : BOX_MASS_EXACT, space);
}

/* As of mapped cells, the unknowns of the volume are all of them, those of Dirichlet sides included. */
static void describe(struct facet_solver *s, const struct box_condensed *h) {
    s->system = (struct hdg_system){.n_all = h->n_trace, .n_free = h->n_free, .n_volume = 1};
    for (int d = 0; d < h->grid.dim; d++)
        s->system.n_volume *= (int64_t)h->grid.cells[d] * h->degree + (h->grid.sides[d][0] != BOX_PERIODIC);
}

facet_status box_condensed_count(struct facet_solver *s, const struct box_data *data) {
    struct box_condensed *space = NULL;
    facet_status status = create_space(s, data, &space);
    if (status == FACET_OK) describe(s, space);
    box_condensed_destroy(&space);
    return status;
}

facet_status box_condensed_start(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c;
    int64_t n_volume = 1;
    s->backend = &box_condensed_backend;
    TRY(CALLOC(s->box->condensed, 1));
    c = s->box->condensed;
    TRY(choose(s));
    TRY(create_space(s, &s->box->data, &c->space));
    for (int d = 0; d < c->space->grid.dim; d++) n_volume *= c->space->n;
    n_volume *= c->space->grid.n_cells;
    describe(s, c->space);
    TRY(make_sides(s));
    if (c->space->grid.singular) TRY(measure_boundary(s));
    TRY(ALLOC(c->f, n_volume));
    TRY(ALLOC(c->u, n_volume));
    TRY(CALLOC(c->trace, c->space->n_trace));
    TRY(ALLOC(c->dirichlet, c->space->n_trace));
    TRY(ALLOC(s->box->F, c->space->n_trace));
    TRY(make_operators(s));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_points(const struct facet_solver *s) {
    const struct box_condensed *h = s->box->condensed->space;
    int64_t n = h->grid.n_cells;
    for (int d = 0; d < h->grid.dim; d++) n *= h->n;
    return n;
}

static facet_status source_points(const struct facet_solver *s, double *x) {
    const struct box_condensed *h = s->box->condensed->space;
    box_points_source(&s->box->data, h->n, h->gauss, x);
    return FACET_OK;
}

static facet_status solve_trace(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    double *F = s->box->F;
    struct solve_control control = {.rtol = s->options.rtol,
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor,
                                    .kernel = c->space->grid.singular ? &c->kernel : NULL};
    if (c->basis == BOX_NODES) {
        TRY(box_condensed_change(c->space, BOX_LOAD_TO_NODES, F));
        TRY(box_condensed_change(c->space, BOX_MODES_TO_NODES, c->trace));
    }
    TRY(vector_upload(&c->b, F));
    TRY(vector_upload(&c->x, c->trace));
    TRY(solve_cg(&c->A, c->M.apply != NULL ? &c->M : NULL, &c->b, &c->x, &control, &s->report));
    TRY(vector_download(&c->x, c->trace));
    if (c->basis == BOX_NODES) TRY(box_condensed_change(c->space, BOX_NODES_TO_MODES, c->trace));
done:
    return status;
}

/* The loads of a singular problem must sum to zero, up to what quadrature leaves: c->shift balances that, and
 * no more. */
static facet_status check_balance(const struct facet_solver *s) {
    const struct condensed_backend *c = s->box->condensed;
    const struct box_grid *g = &c->space->grid;
    int n = c->space->n;
    double scale = c->boundary, volume = 1.0;
    int64_t size = n_points(s) / g->n_cells;
    for (int d = 0; d < g->dim; d++) volume *= g->coordinates[d][g->cells[d]] - g->coordinates[d][0];
    for (int64_t i = 0; i < n_points(s); i++) {
        int at[3];
        double weight = 1.0;
        box_cell_at(g, i / size, at);
        for (int64_t d = 0, rest = i % size; d < g->dim; d++, rest /= n)
            weight *= 0.5 * g->widths[d][at[d]] * c->space->weights[rest % n];
        scale += weight * fabs(c->f[i]);
    }
    double total = c->shift * volume;
    if (fabs(total) <= 1e-4 * scale) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "with Neumann or periodic conditions everywhere and no reaction, the source and the "
        "boundary fluxes must balance, but they sum to %.6g (of %.6g in absolute terms); subtract "
        "it, or give a Dirichlet part",
        total, scale);
}

static facet_status load_and_solve(struct facet_solver *s, const double *source) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    if (source != NULL)
        memcpy(c->f, source, (size_t)n_points(s) * sizeof *source);
    else
        TRY(project_source(s, c->f));
    for (int64_t i = 0; i < c->space->n_trace; i++)
        c->trace[i] = !s->options.warm_start ? 0.0
                      : c->has_trace         ? c->trace[i] - c->dirichlet[i]
                                             : c->trace[i];
    c->has_trace = 0;
    TRY(box_condensed_load(c->space, c->f, &c->sides, s->box->F, c->dirichlet, &c->shift));
    if (c->space->grid.singular) TRY(check_balance(s));
    TRY(solve_trace(s));
    for (int64_t i = 0; i < c->space->n_trace; i++) c->trace[i] += c->dirichlet[i];
    c->has_trace = 1;
done:
    return status;
}

/* Adds a constant to the coefficients of u: 1 has 1 at both ends, and in an even mode what `linear` says of
 * either end. */
static void add_constant(const struct box_condensed *h, double constant, double *u) {
    double one[BOX_MAX_DEGREE + 1];
    int64_t size = 1;
    for (int f = 0; f < h->n; f++)
        one[f] = f < 2 ? 1.0 : box_ends_odd(&h->ends, f - 2) ? 0.0 : 2.0 * h->ends.linear[f - 2];
    for (int d = 0; d < h->grid.dim; d++) size *= h->n;
    for (int64_t i = 0; i < h->grid.n_cells * size; i++) {
        double product = constant;
        for (int64_t d = 0, rest = i % size; d < h->grid.dim; d++, rest /= h->n) product *= one[rest % h->n];
        u[i] += product;
    }
}

/* A mean over the box by the points of the source. */
static facet_status exact_mean(const struct facet_solver *s, double *mean) {
    facet_status status = FACET_OK;
    const struct box_condensed *h = s->box->condensed->space;
    const struct box_grid *g = &h->grid;
    int64_t n = n_points(s), size = n / g->n_cells;
    double *x = NULL, *values = NULL, volume = 0.0, total = 0.0;
    TRY(ALLOC(x, n * g->dim));
    TRY(ALLOC(values, n));
    TRY(source_points(s, x));
    TRY(field_eval(s->problem->exact, (int)n, g->dim, x, values));
    for (int64_t i = 0; i < n; i++) {
        int at[3];
        double weight = 1.0;
        box_cell_at(g, i / size, at);
        for (int64_t d = 0, rest = i % size; d < g->dim; d++, rest /= h->n)
            weight *= g->widths[d][at[d]] * h->weights[rest % h->n];
        volume += weight;
        total += weight * values[i];
    }
    *mean = total / volume;
done:
    base_free(&x);
    base_free(&values);
    return status;
}

static facet_status recover(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct condensed_backend *c = s->box->condensed;
    double mean;
    TRY(box_condensed_recover(c->space, c->f, c->shift, c->trace, c->u));
    if (c->space->grid.singular && s->problem->exact != NULL) {
        TRY(exact_mean(s, &mean));
        add_constant(c->space, mean, c->u);
    }
done:
    return status;
}

static facet_status conservation(const struct facet_solver *s, double *imbalance) {
    (void)s;
    *imbalance = -1.0;
    return FACET_OK;
}

static facet_status copy_out(const struct facet_solver *s, double *u) {
    return box_condensed_values(s->box->condensed->space, s->box->condensed->u, u);
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return s->box->condensed->M.apply != NULL ? operator_multigrid(&s->box->condensed->M) : NULL;
}

const struct backend box_condensed_backend = {.destroy = destroy,
                                              .n_points = n_points,
                                              .points = source_points,
                                              .solve = load_and_solve,
                                              .recover = recover,
                                              .conservation = conservation,
                                              .copy_out = copy_out,
                                              .multigrid = multigrid_of,
                                              .measure_errors = condensed_measure_errors,
                                              .prepare = box_points_prepare,
                                              .rule = box_points_rule,
                                              .weights = box_points_weights,
                                              .map = box_points_map,
                                              .evaluate = condensed_evaluate,
                                              .face_rule = box_points_face_rule,
                                              .face_flux = box_points_face_flux,
                                              .mean_trace = condensed_mean_trace};
