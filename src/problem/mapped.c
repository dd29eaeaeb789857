/* The backend of mapped cells: triangles, quads, tets and hexes of any geometry, over src/hdg. Condense,
 * assemble and prepare once; then load, solve and recover for every right-hand side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "hdg/resident.h"
#include "mesh/part.h"
#include "problem/problem.h"
#include "solve/external.h"
#include "solve/multigrid.h"

/* ------------------------------------------------------------------------------ set-up */

static facet_status make_kernel(struct facet_solver *s) {
    facet_status status = FACET_OK;
    TRY(vector_create_like(&s->b, &s->kernel));
    TRY(solver_fill_constant(s, s->F));
    TRY(vector_upload(&s->kernel, s->F));
done:
    return status;
}

/* What PETSc solves, and nodes that more than two processes share, are the host's. */
static int is_for_host(const struct facet_solver *s) {
    return s->options.method == METHOD_PETSC || (s->options.discretization == DISCRETIZATION_CONDENSED &&
                                                 team_size(mesh_team(s->problem->mesh)) > 1);
}

const struct device *mapped_device(const struct facet_solver *s) {
    const struct device *device = s->context->device;
    return is_for_host(s) && !device_is_host(device) ? device_host() : device;
}

static facet_status condense(struct facet_solver *s) {
    const struct base_monitor *monitor = &s->context->monitor;
    facet_status status = FACET_OK;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_CONDENSE);
    TRY(problem_resolve_lists(s->problem, &s->resolved));
    TRY(hdg_create(mapped_device(s), &s->resolved.data, s->options.degree, s->maker, monitor, &s->hdg));
    hdg_describe(s->hdg, &s->system);
    TRY(hdg_condense(s->hdg));
    s->n_single = device_is_host(s->context->device) ? 0 : hdg_n_single(s->hdg);
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &s->n_single));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_CONDENSE, begin);
    return status;
}

facet_status mapped_count_unknowns(struct facet_solver *s) {
    const struct seam *seam = s->hdg->trace.seam;
    s->n_unknowns = seam != NULL ? seam_n_owned(seam) : s->system.n_free;
    return team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &s->n_unknowns);
}

/* The operator, and what solves with it. */
static facet_status make_system(struct facet_solver *s) {
    facet_status status = FACET_OK;
    TRY(hdg_operator_create(s->hdg, &s->A));
    if (s->hdg->singular || s->hdg->weak.nearly_singular) TRY(make_kernel(s));
    s->method = METHOD_DIRECT;
    s->preconditioner = PRECONDITIONER_NONE;
    s->flexible = 0;
    s->assembled_bytes = 0.0;
    TRY(mapped_count_unknowns(s));
    if (s->n_unknowns > 0) {
        TRY(trace_matrices_keep(&s->hdg->matrices));
        TRY(solver_choose_method(s));
    }
done:
    trace_matrices_release(&s->hdg->matrices);
    return status;
}

static void destroy_system(struct facet_solver *s) {
    vector_destroy(&s->kernel);
    operator_destroy(&s->A);
    solve_history_destroy(&s->history);
    operator_destroy(&s->M);
    operator_destroy(&s->judge);
    cholesky_destroy(&s->cholesky);
}

facet_status mapped_create(struct facet_solver *s) {
    const struct device *device = mapped_device(s);
    facet_status status = FACET_OK;
    s->backend = &mapped_backend;
    TRY(condense(s));
    int64_t n = s->system.n_free;
    TRY(ALLOC(s->F, n));
    TRY(vector_create(device, n, &s->b));
    TRY(vector_create(device, n, &s->x));
    s->b.seam = s->x.seam = s->hdg->trace.seam;
    vector_fill(&s->x, 0.0);
    TRY(make_system(s));
    if (s->hdg->resident == NULL) TRY(hdg_solution_create(s->hdg, &s->solution));
    TRY(solver_group_errors_create(s));
done:
    return status;
}

static void destroy(struct facet_solver *s) {
    hdg_solution_destroy(&s->solution);
    solver_group_errors_destroy(&s->group_errors);
    vector_destroy(&s->b);
    vector_destroy(&s->x);
    base_free(&s->F);
    destroy_system(s);
    hdg_destroy(&s->hdg);
}

static facet_status renew(struct facet_solver *s, int what) {
    facet_status status = FACET_OK;
    int matrices = what & FACET_TRACE;
    if (matrices) destroy_system(s);
    TRY(hdg_renew_boundary(s->hdg, matrices));
    if (matrices) TRY(make_system(s));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_points(const struct facet_solver *s) {
    int64_t n = 0;
    const struct facet_mesh *mesh = s->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++)
        n += (int64_t)mesh->blocks[b].count * s->hdg->space.blocks[b].source.n;
    return n;
}

static facet_status source_points(const struct facet_solver *s, double *x) {
    const struct facet_mesh *mesh = s->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &s->hdg->space.blocks[b].source;
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            mesh_cell_map(&mesh->blocks[b], mesh->dim, c, table->n, table->geo, table->geo_grad, x, NULL);
            x += (int64_t)table->n * mesh->dim;
        }
    }
    return FACET_OK;
}

static facet_status source_weights(const struct facet_solver *s, double *weights) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct hdg_geometry geometry = {0};
    TRY(hdg_geometry_create(hdg_max_points(&s->hdg->space), mesh->dim, &geometry));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &s->hdg->space.blocks[b].source;
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            hdg_cell_geometry(&s->hdg->space, b, c, table, &geometry);
            memcpy(weights, geometry.wJ, (size_t)table->n * sizeof *weights);
            weights += table->n;
        }
    }
done:
    hdg_geometry_destroy(&geometry);
    return status;
}

static facet_status load(struct facet_solver *s, const double *source) {
    facet_status status = FACET_OK;
    if (s->hdg->resident != NULL) return hdg_resident_load(s->hdg, source, &s->solution, &s->b);
    TRY(hdg_load(s->hdg, source, &s->solution, s->F));
    memcpy(s->imbalance, s->solution.imbalance, sizeof s->imbalance);
    TRY(vector_upload(&s->b, s->F));
done:
    return status;
}

/* Constants of weak pieces are found anew by hdg_recover. */
static facet_status forget(void *data, struct vector *error) {
    facet_status status = FACET_OK;
    struct facet_solver *s = data;
    TRY(vector_download(error, s->F));
    TRY(hdg_weak_constants_forget(s->hdg, s->F));
    TRY(vector_upload(error, s->F));
done:
    return status;
}

/* What estimates the error: where the preconditioner is a mere diagonal, a factor or a multigrid made for it.
 */
static facet_status find_judge(struct facet_solver *s, const struct linear_operator **judge) {
    facet_status status = FACET_OK;
    int weak = s->preconditioner == PRECONDITIONER_NONE || s->preconditioner == PRECONDITIONER_JACOBI ||
               s->preconditioner == PRECONDITIONER_BLOCK;
    *judge = NULL;
    if (s->cholesky != NULL || s->method == METHOD_PETSC || !weak || s->n_unknowns == 0) return FACET_OK;
    if (s->judge.apply == NULL) TRY(solver_make_judge(s));
    if (s->judge.apply != NULL) *judge = &s->judge;
done:
    return status;
}

/* A preconditioner that took so many steps, or has to do with such jumps of K, a tiny tau, or cells whose
 * matrices have such diagonals (stretched by more than 100), is far from an inverse, and so may be its
 * estimate. */
#define SLOW      40
#define CONTRAST  1e8
#define STRETCHED 1e4

/* Where K is not definite to rounding, no estimate sees what it hardly holds. */
static facet_status judge_again(struct facet_solver *s, struct solve_control *control) {
    facet_status status = FACET_OK;
    int far = s->report.iterations >= SLOW || s->hdg->contrast > CONTRAST || s->hdg->uneven > STRETCHED ||
              hdg_is_light(s->hdg);
    if (s->cholesky != NULL || s->method == METHOD_PETSC || control->judge != NULL || !far) return FACET_OK;
    if (s->judge.apply == NULL) status = solver_make_exact_judge(s);
    if (status == FACET_NOT_CONVERGED) return solve_accept_more(control->rtol, 1.0, &s->report);
    if (status != FACET_OK || s->judge.apply == NULL) return status;
    control->judge = &s->judge;
    TRY(solve_judge(&s->A, &s->b, &s->x, control, &s->report));
done:
    return status;
}

/* Whether constants are a kernel: they are, or as good as that, and their part of the load is gone. */
static int floats(const struct facet_solver *s) {
    return s->hdg->singular || (s->hdg->weak.negligible && s->solution.offset_source != 0.0);
}

/* M is the inverse, as good as its tolerance: a step or two, with residuals of our own. */
static facet_status solve_by_petsc(struct facet_solver *s, struct solve_control *control) {
    facet_status status = FACET_OK;
    const struct solve_external *external = s->context->external;
    struct linear_operator rough = {0};
    TRY(external->create_rough(&s->M, &rough));
    control->rough = &rough;
    control->external = external;
    status = solve_refined(&s->A, &s->M, &s->b, &s->x, control, &s->report);
done:
    control->rough = NULL;
    control->external = NULL;
    operator_destroy(&rough);
    return status;
}

static facet_status iterate(struct facet_solver *s, struct solve_control *control) {
    facet_status status;
    const struct linear_operator *M = s->M.apply != NULL ? &s->M : NULL;
    int before = 0;
    do
        status = (s->method == METHOD_MULTIGRID ? solve_multigrid
                  : s->method == METHOD_FGMRES  ? solve_fgmres
                                                : solve_cg)(&s->A, M, &s->b, &s->x, control, &s->report);
    while (status == FACET_OK && solve_again(s->options.error, control, &s->report, &before));
    struct multigrid *mg = M != NULL ? operator_multigrid(M) : NULL;
    return mg != NULL && multigrid_failure(mg) != FACET_OK ? multigrid_failure(mg) : status;
}

/* Steps that are still to be made, as the last ones went; where that is no question, many. */
#define MANY_STEPS 1000.0
#define LAST_STEPS 20
static double steps_left(const struct solve_report *report, double rtol) {
    const int n = report->n_history, last = n > LAST_STEPS ? LAST_STEPS : n - 1;
    if (report->iterations < SLOW || last < 1) return MANY_STEPS;
    double fall = log(report->history[n - 1 - last] / report->history[n - 1]) / last;
    return fall > 0.0 ? fmin(log(report->history[n - 1] / rtol) / fall, MANY_STEPS) : MANY_STEPS;
}

/* Where levels of lesser precision fail, double; where `auto` took conjugate gradients and they are slow or
 * fail, a factor if it is faster. */
static facet_status solve_system(struct facet_solver *s, struct solve_control *control) {
    facet_status status = FACET_OK;
    const int most = control->max_iterations, rethinks = solver_may_rethink(s) && most > SLOW;
    int before, done;
    if (rethinks) control->max_iterations = SLOW;
    status = iterate(s, control);
    before = s->report.iterations;
    if (status == FACET_NOT_CONVERGED && before < control->max_iterations) {
        TRY(solver_turn_double(s, &done));
        if (done) vector_fill(&s->x, 0.0);
        status = done ? iterate(s, control) : FACET_NOT_CONVERGED;
        before = s->report.iterations;
    }
    control->max_iterations = most;
    if (status != FACET_NOT_CONVERGED || !rethinks) goto done;
    TRY(solver_turn_direct(s, steps_left(&s->report, control->rtol), &done));
    if (done) {
        status = solve_direct(&s->A, s->cholesky, &s->b, &s->x, control, &s->report);
    } else if (before >= SLOW) {
        status = iterate(s, control);
        s->report.iterations += before;
    } else {
        status = FACET_NOT_CONVERGED;
    }
done:
    return status;
}

/* The linear system, from s->F to the trace of the solution. */
static facet_status solve_trace(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct solve_control control = {.rtol = solve_tolerance(s->options.rtol, s->hdg->heaviest),
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor,
                                    .kernel = floats(s) ? &s->kernel : NULL,
                                    .forget = s->hdg->weak.n > 0 ? forget : NULL,
                                    .forget_data = s,
                                    .draw_rounding = hdg_rounding_matters(s->hdg) ? hdg_draw_rounding : NULL,
                                    .draw_rounding_data = s->hdg,
                                    .regard = solver_regard,
                                    .regard_data = s,
                                    .flexible = s->flexible};
    TRY(find_judge(s, &control.judge));
    if (s->cholesky != NULL) {
        TRY(solve_direct(&s->A, s->cholesky, &s->b, &s->x, &control, &s->report));
    } else if (s->n_unknowns > 0 && s->method == METHOD_PETSC) {
        TRY(solve_by_petsc(s, &control));
    } else if (s->n_unknowns > 0) {
        if (!s->options.warm_start) vector_fill(&s->x, 0.0);
        solve_history_guess(&s->history, &s->b, &s->x);
        TRY(solve_system(s, &control));
        TRY(judge_again(s, &control));
        if (s->options.warm_start) TRY(solve_history_add(&s->history, &s->A, &s->x));
    } else {
        solve_report_clear(&s->report);
        s->report.converged = 1;
        s->report.reason = "there are no unknowns: every face has a Dirichlet condition";
    }
    TRY(solve_reached(s->options.error, &s->report));
    if (s->hdg->resident != NULL) {
        TRY(hdg_resident_take(s->hdg, &s->x));
        goto done;
    }
    TRY(vector_download(&s->x, s->F));
    hdg_set_trace(s->hdg, s->F, &s->solution);
done:
    return status;
}

/* The host has trace, u and q, or gets them. */
static facet_status bring(const struct facet_solver *s) {
    if (s->hdg->resident == NULL) return FACET_OK;
    solver_lock(s);
    hdg_resident_want_flux(s->hdg);
    facet_status status = hdg_resident_fetch(s->hdg, (struct hdg_solution *)&s->solution);
    solver_unlock(s);
    return status;
}

static facet_status largest_value(const struct facet_solver *s, double *value) {
    const struct hdg *h = s->hdg;
    double most = solve_largest(s->system.n_all, s->solution.trace);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        most = fmax(most, solve_largest((int64_t)h->data.mesh->blocks[b].count * h->trace.n_components *
                                            h->functions[b].Nu,
                                        s->solution.u[b]));
    *value = most;
    return team_reduce(mesh_team(h->data.mesh), TEAM_MAX, 1, value);
}

/* What the trace still lacks, inside the cells: 0 where tau holds u well, or a factor solved. */
static facet_status find_error_inside(struct facet_solver *s, double *error) {
    facet_status status = FACET_OK;
    const struct linear_operator *M = s->judge.apply != NULL ? &s->judge : &s->M;
    struct solve_control control = {.kernel = floats(s) ? &s->kernel : NULL};
    struct vector r = {0}, lack = {0};
    double *cells = NULL;
    *error = 0.0;
    if (!hdg_is_light(s->hdg) || s->cholesky != NULL || M->apply == NULL || s->n_unknowns == 0)
        return FACET_OK;
    TRY(vector_create_like(&s->x, &r));
    TRY(vector_create_like(&s->x, &lack));
    solve_find_correction(&s->A, M, &s->b, &s->x, &control, &r, &lack);
    TRY(vector_download(&lack, s->F));
    TRY(ALLOC(cells, s->problem->mesh->n_cells));
    TRY(hdg_error_inside(s->hdg, &s->solution, s->F, cells, error));
    TRY(solver_group_errors_raise(s, cells));
done:
    base_free(&cells);
    vector_destroy(&r);
    vector_destroy(&lack);
    return status;
}

static facet_status recover(struct facet_solver *s) {
    facet_status status = FACET_OK;
    double inside, weak = 0.0, largest = INFINITY;
    if (s->hdg->resident != NULL) {
        TRY(hdg_resident_recover(s->hdg));
        largest = hdg_resident_size(s->hdg);
    } else {
        TRY(hdg_recover(s->hdg, &s->solution));
    }
    if (!isfinite(largest)) {
        TRY(bring(s));
        TRY(largest_value(s, &largest));
    }
    TRY(solve_check_size(largest, &s->report));
    if (s->hdg->weak.n > 0) weak = s->solution.uncertainty;
    TRY(solver_group_errors_judge(s, s->report.error, weak));
    TRY(find_error_inside(s, &inside));
    TRY(solve_accept_more(s->options.rtol, fmax(inside, fmax(weak, hdg_rounding_error(s->hdg))), &s->report));
    TRY(solve_reached(s->options.error, &s->report));
done:
    return status;
}

static facet_status find_fluxes(const struct facet_solver *s, double *left) {
    struct hdg_solution *solution = (struct hdg_solution *)&s->solution;
    facet_status status = hdg_find_fluxes(s->hdg, solution);
    *left = s->hdg->condensed != NULL ? solution->consistent.left : -1.0;
    return status;
}

static facet_status conservation(const struct facet_solver *s, struct solve_balance *balance) {
    if (s->hdg->condensed != NULL) {
        double left;
        facet_status status = solver_find_fluxes(s, &left);
        *balance = s->solution.consistent.balance;
        return status;
    }
    return hdg_conservation(s->hdg, s->hdg->resident != NULL ? NULL : &s->solution, balance);
}

/* What stays on a device is post-processed when somebody asks for it. */
static facet_status postprocess(struct facet_solver *s) {
    return s->hdg->resident != NULL ? FACET_OK : hdg_postprocess(s->hdg, &s->solution);
}

static facet_status need(const struct facet_solver *s, enum hdg_field field) {
    facet_status status = FACET_OK;
    if (s->hdg->resident == NULL || field == HDG_U) return FACET_OK;
    hdg_resident_want_flux(s->hdg);
    if (hdg_fields[field].star) status = hdg_resident_star(s->hdg, (struct hdg_solution *)&s->solution);
    return status;
}

static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    struct hdg_solution *solution = (struct hdg_solution *)&s->solution;
    if (s->hdg->resident == NULL) return FACET_OK;
    return cells != NULL ? hdg_resident_fetch_some(s->hdg, n, cells, solution)
                         : hdg_resident_fetch(s->hdg, solution);
}

static facet_status reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs) {
    (void)x;
    *n_pairs = 0;
    if (s->hdg->resident == NULL || field != HDG_U) return FACET_OK;
    switch (take) {
    case BACKEND_INTEGRALS:
        *n_pairs = s->problem->mesh->n_cells;
        return hdg_resident_integrals(s->hdg, values);
    case BACKEND_TOTAL:
        *n_pairs = 1;
        return hdg_resident_total(s->hdg, values);
    case BACKEND_RANGE:
        *n_pairs = s->problem->mesh->n_cells;
        return hdg_resident_range(s->hdg, n - 1, values);
    default:
        return FACET_OK;
    }
}

/* These tables know the functions of degree k; where u has more, others at the same points are made. */
static facet_status copy_out(const struct facet_solver *s, double *u) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    int degree = sample_table_degree(s, HDG_U), components = s->hdg->trace.n_components;
    struct hdg_table own = {0};
    TRY(fetch(s, 0, NULL)); /* u alone */
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &s->hdg->space.blocks[b].source;
        hdg_table_destroy(&own);
        if (degree > s->options.degree) {
            TRY(hdg_table_create(mesh->blocks[b].shape, degree, mesh->order, table->n, table->xi, &own));
            table = &own;
        }
        for (int32_t i = 0; i < mesh->blocks[b].count; i++) {
            const int32_t c = mesh->blocks[b].first + i;
            TRY(hdg_evaluate(s->hdg, &s->solution, HDG_U, b, 1, &c, table, u));
            u += (int64_t)table->n * components;
        }
    }
done:
    hdg_table_destroy(&own);
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return s->M.apply != NULL ? operator_multigrid(&s->M) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    TRY(bring(s));
    if (s->options.postprocess) TRY(solver_need(s, HDG_U_STAR));
    TRY(hdg_measure_errors(s->hdg, &s->solution, errors));
done:
    return status;
}

/* ------------------------------------------------------------------------------ the system */

static int64_t n_unknowns(const struct facet_solver *s) {
    return s->system.n_free;
}

static facet_status apply(const struct facet_solver *s, const double *x, double *y) {
    return problem_apply(&s->A, x, y);
}

static facet_status precondition(const struct facet_solver *s, const double *x, double *y) {
    if (s->cholesky != NULL) return cholesky_solve(s->cholesky, x, y);
    if (s->M.apply == NULL) {
        memcpy(y, x, (size_t)s->system.n_free * sizeof *y);
        return FACET_OK;
    }
    facet_status status = problem_apply(&s->M, x, y);
    struct multigrid *mg = operator_multigrid(&s->M);
    return status == FACET_OK && mg != NULL ? multigrid_failure(mg) : status;
}

static facet_status get_system(const struct facet_solver *s, double *F, double *x) {
    facet_status status = FACET_OK;
    if (F != NULL) TRY(vector_download(&s->b, F));
    if (x != NULL) TRY(vector_download(&s->x, x));
done:
    return status;
}

static facet_status matrix(const struct facet_solver *s, struct csr *csr) {
    facet_status status = FACET_OK;
    TRY(trace_matrices_keep(&s->hdg->matrices));
    TRY(hdg_assemble(s->hdg, csr));
done:
    trace_matrices_release(&s->hdg->matrices);
    return status;
}

/* ------------------------------------------------------------------------------ fields */

static facet_status prepare(const struct facet_solver *s, int block, int degree, int n, const double *xi,
                            struct backend_points *points) {
    const struct facet_mesh *mesh = s->problem->mesh;
    backend_points_destroy(points);
    points->n = n;
    points->dim = mesh->dim;
    points->table = &points->own;
    return hdg_table_create(mesh->blocks[block].shape, degree, mesh->order, n, xi, &points->own);
}

static facet_status use_rule(const struct facet_solver *s, int block, struct backend_points *points) {
    backend_points_destroy(points);
    points->table = &s->hdg->space.blocks[block].norm_star;
    points->n = points->table->n;
    points->dim = points->table->dim;
    return FACET_OK;
}

static facet_status find_weights(const struct facet_solver *s, int32_t cell,
                                 const struct backend_points *points, double *wJ) {
    facet_status status = FACET_OK;
    const struct mesh_block *block = mesh_block_of(s->problem->mesh, cell);
    struct hdg_geometry geometry = {0};
    TRY(hdg_geometry_create(points->n, points->dim, &geometry));
    hdg_cell_geometry(&s->hdg->space, (int)(block - s->problem->mesh->blocks), cell - block->first,
                      points->table, &geometry);
    memcpy(wJ, geometry.wJ, (size_t)points->n * sizeof *wJ);
done:
    hdg_geometry_destroy(&geometry);
    return status;
}

static void map_points(const struct facet_solver *s, int32_t cell, const struct backend_points *points,
                       double *x) {
    const struct mesh_block *block = mesh_block_of(s->problem->mesh, cell);
    mesh_cell_map(block, points->dim, cell - block->first, points->n, points->table->geo,
                  points->table->geo_grad, x, NULL);
}

static facet_status evaluate(const struct facet_solver *s, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values) {
    const struct mesh_block *block = mesh_block_of(s->problem->mesh, cells[0]);
    return hdg_evaluate(s->hdg, &s->solution, field, (int)(block - s->problem->mesh->blocks), n_cells, cells,
                        points->table, values);
}

static facet_status face_rule(const struct facet_solver *s, int32_t cell, int local, int *n, double **xi,
                              double **wA) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int b = (int)(block - mesh->blocks), dim = mesh->dim;
    const struct hdg_face_table *rule = hdg_face_of(&s->hdg->space.blocks[b].norm_face, local);
    int orientation =
        block->orientations[(int64_t)(cell - block->first) * shape_n_faces(block->shape) + local];
    struct hdg_geometry geometry = {0};
    double *normal = NULL, *x = NULL;
    *xi = *wA = NULL;
    *n = rule->rule.n;
    TRY(hdg_geometry_create(hdg_max_points(&s->hdg->space), dim, &geometry));
    TRY(ALLOC(normal, *n * dim));
    TRY(ALLOC(x, *n * dim));
    TRY(ALLOC(*xi, *n * dim));
    TRY(ALLOC(*wA, *n));
    memcpy(*xi, rule->side[local][orientation].xi, (size_t)(*n * dim) * sizeof **xi);
    hdg_face_geometry(&s->hdg->space, b, cell - block->first, local, rule, &geometry, x, normal);
    for (int p = 0; p < *n; p++) {
        double square = 0.0;
        for (int a = 0; a < dim; a++) square += normal[p * dim + a] * normal[p * dim + a];
        (*wA)[p] = sqrt(square);
    }
done:
    hdg_geometry_destroy(&geometry);
    base_free(&normal);
    base_free(&x);
    return status;
}

static facet_status face_fluxes(const struct facet_solver *s, int n, const struct mesh_group_face *faces,
                                double *fluxes) {
    return hdg_face_fluxes(s->hdg, &s->solution, n, faces, fluxes);
}

static facet_status arrays(struct facet_solver *s, struct backend_array *arrays, int *n) {
    facet_status status = FACET_OK;
    const struct hdg *h = s->hdg;
    struct hdg_solution *solution = &s->solution;
    *n = 0;
    TRY(bring(s));
    arrays[(*n)++] = (struct backend_array){solution->trace, hdg_trace_size(h)};
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t count = h->data.mesh->blocks[b].count;
        arrays[(*n)++] = (struct backend_array){solution->u[b], count * h->functions[b].Nu};
        arrays[(*n)++] =
            (struct backend_array){solution->q[b], count * h->functions[b].N * h->data.mesh->dim};
    }
done:
    return status;
}

static facet_status totals(const struct facet_solver *s, int whole, int n, const double *const *psi,
                           double *totals, double *roundings, double *squares) {
    facet_status status = bring(s);
    return status == FACET_OK ? hdg_totals(s->hdg, &s->solution, whole, n, psi, totals, roundings, squares)
                              : status;
}

static facet_status mean_trace(const struct facet_solver *s, int32_t cell, double *values) {
    const struct mesh_block *b = mesh_block_of(s->problem->mesh, cell);
    hdg_mean_trace(s->hdg, &s->solution, (int)(b - s->problem->mesh->blocks), cell - b->first, values);
    return FACET_OK;
}

/* Whether a reaction is weak, and what floats, is known when matrices are: the words are of now. */
static void on_host(const struct facet_solver *s, char *text, size_t bytes) {
    if (is_for_host(s)) {
        snprintf(text, bytes, "all of it: %s",
                 s->options.method == METHOD_PETSC ? "the method petsc"
                                                   : "the discretization condensed over several processes");
        return;
    }
    const struct facet_mesh *mesh = s->problem->mesh;
    const int64_t singles = s->n_single, n = mesh->part != NULL ? mesh->part->n_cells : mesh->n_cells;
    int used = singles == 0
                   ? 0
                   : snprintf(text, bytes, "the matrices of %lld of %lld cells, one by one%s",
                              (long long)singles, (long long)n, s->hdg->resident == NULL ? ", " : "");
    if (s->hdg->resident == NULL) snprintf(text + used, bytes - (size_t)used, "load and recovery");
}

const struct backend mapped_backend = {.destroy = destroy,
                                       .n_points = n_points,
                                       .points = source_points,
                                       .point_weights = source_weights,
                                       .n_unknowns = n_unknowns,
                                       .apply = apply,
                                       .precondition = precondition,
                                       .get_system = get_system,
                                       .matrix = matrix,
                                       .renew = renew,
                                       .load = load,
                                       .solve = solve_trace,
                                       .recover = recover,
                                       .conservation = conservation,
                                       .on_host = on_host,
                                       .postprocess = postprocess,
                                       .copy_out = copy_out,
                                       .multigrid = multigrid_of,
                                       .measure_errors = measure_errors,
                                       .fetch = fetch,
                                       .need = need,
                                       .reduce = reduce,
                                       .prepare = prepare,
                                       .rule = use_rule,
                                       .weights = find_weights,
                                       .map = map_points,
                                       .evaluate = evaluate,
                                       .face_rule = face_rule,
                                       .find_fluxes = find_fluxes,
                                       .face_fluxes = face_fluxes,
                                       .arrays = arrays,
                                       .totals = totals,
                                       .mean_trace = mean_trace};
