/* The backend of mapped cells: triangles, quads, tets and hexes of any geometry, over src/hdg. Condense,
 * assemble and prepare once; then load, solve and recover for every right-hand side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "hdg/device_cells.h"
#include "mesh/part.h"
#include "problem/mapped_backend.h"
#include "solve/external.h"
#include "solve/multigrid.h"

/* ------------------------------------------------------------------------------ set-up */

static facet_status make_constants(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    TRY(vector_create_like(&m->b, &m->constants.function));
    TRY(solver_fill_constant(s, m->F));
    TRY(vector_upload(&m->constants.function, m->F));
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
    return is_for_host(s) ? device_of_host(device) : device;
}

static facet_status condense(struct facet_solver *s, struct mapped *m) {
    const struct base_monitor *monitor = &s->context->monitor;
    facet_status status = FACET_OK;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_CONDENSE);
    TRY(problem_resolve_lists(s->problem, &s->resolved));
    TRY(hdg_create(mapped_device(s), &s->resolved.data, s->options.degree, s->maker, monitor, &m->hdg));
    hdg_describe(m->hdg, &s->system);
    TRY(hdg_condense(m->hdg));
    m->n_single = hdg_n_single(m->hdg);
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &m->n_single));
done:
    base_phase_end(&s->timers, monitor, FACET_PHASE_CONDENSE, begin);
    return status;
}

facet_status mapped_count_unknowns(struct facet_solver *s, const struct hdg *hdg) {
    struct seam *seam = hdg->trace.seam;
    s->n_unknowns = seam != NULL ? seam_n_owned(seam) : s->system.n_free;
    return team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &s->n_unknowns);
}

/* The operator, and what solves with it. */
static facet_status make_system(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    TRY(hdg_operator_create(m->hdg, &m->A));
    if (m->hdg->singular || m->hdg->weak.nearly_singular) TRY(make_constants(s));
    s->method = METHOD_DIRECT;
    s->preconditioner = PRECONDITIONER_NONE;
    m->flexible = 0;
    m->assembled_bytes = 0.0;
    TRY(mapped_count_unknowns(s, m->hdg));
    if (s->n_unknowns > 0) {
        TRY(trace_matrices_keep(&m->hdg->matrices));
        TRY(solver_choose_method(s));
    }
done:
    trace_matrices_release(&m->hdg->matrices);
    return status;
}

static void destroy_system(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    null_space_destroy(&m->constants);
    operator_destroy(&m->A);
    solve_history_destroy(&m->history);
    operator_destroy(&m->M);
    operator_destroy(&m->judge);
    cholesky_destroy(&m->cholesky);
}

facet_status mapped_create(struct facet_solver *s) {
    const struct device *device = mapped_device(s);
    facet_status status = FACET_OK;
    struct mapped *m;
    TRY(CALLOC(m, 1));
    s->backend = &mapped_backend;
    s->self = m;
    TRY(condense(s, m));
    int64_t n = s->system.n_free;
    TRY(ALLOC(m->F, n));
    TRY(vector_create(device, n, &m->b));
    TRY(vector_create(device, n, &m->x));
    m->b.seam = m->x.seam = m->hdg->trace.seam;
    vector_fill(&m->x, 0.0);
    TRY(make_system(s));
    if (!m->hdg->stays) TRY(hdg_solution_create(m->hdg, &m->solution));
    TRY(solver_group_errors_create(s));
done:
    return status;
}

static void destroy(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    if (m == NULL) return;
    solver_forget_versions(m);
    hdg_solution_destroy(&m->solution);
    solver_group_errors_destroy(&m->group_errors);
    vector_destroy(&m->b);
    vector_destroy(&m->x);
    base_free(&m->F);
    destroy_system(s);
    hdg_destroy(&m->hdg);
    base_free(&s->self);
}

void mapped_take_trace(struct facet_solver *s, struct vector *trace) {
    if (s->backend != &mapped_backend) return;
    *trace = mapped_of(s)->x;
    mapped_of(s)->x = (struct vector){0};
}

void mapped_put_trace(struct facet_solver *s, const struct vector *trace) {
    if (s->backend != &mapped_backend || trace->device == NULL || trace->n != mapped_of(s)->x.n) return;
    vector_axpby(1.0, trace, 0.0, &mapped_of(s)->x);
}

static facet_status renew(struct facet_solver *s, int what) {
    facet_status status = FACET_OK;
    int matrices = what & FACET_TRACE;
    if (matrices) destroy_system(s);
    TRY(hdg_renew_boundary(mapped_of(s)->hdg, matrices));
    if (matrices) TRY(make_system(s));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_points(const struct facet_solver *s) {
    int64_t n = 0;
    const struct facet_mesh *mesh = s->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++)
        n += (int64_t)mesh->blocks[b].count * mapped_of(s)->hdg->space.blocks[b].source.n;
    return n;
}

static facet_status source_points(const struct facet_solver *s, double *x) {
    const struct facet_mesh *mesh = s->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &mapped_of(s)->hdg->space.blocks[b].source;
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            mesh_cell_map(&mesh->blocks[b], mesh->dim, c, table->n, table->geo, table->geo_grad, x, NULL);
            x += (int64_t)table->n * mesh->dim;
        }
    }
    return FACET_OK;
}

static facet_status source_weights(const struct facet_solver *s, double *weights) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct hdg_geometry geometry = {0};
    TRY(hdg_geometry_create(hdg_max_points(&m->hdg->space), mesh->dim, &geometry));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &m->hdg->space.blocks[b].source;
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            hdg_cell_geometry(&m->hdg->space, b, c, table, &geometry);
            memcpy(weights, geometry.wJ, (size_t)table->n * sizeof *weights);
            weights += table->n;
        }
    }
done:
    hdg_geometry_destroy(&geometry);
    return status;
}

static facet_status load(struct facet_solver *s, const double *source) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    TRY(hdg_load(m->hdg, source, &m->solution, &m->b));
    memcpy(s->imbalance, m->solution.imbalance, sizeof s->imbalance);
done:
    return status;
}

/* Constants of weak pieces are found anew by hdg_recover. */
static facet_status forget(void *data, struct vector *error) {
    facet_status status = FACET_OK;
    struct facet_solver *s = data;
    struct mapped *m = mapped_of(s);
    TRY(vector_download(error, m->F));
    TRY(hdg_weak_constants_forget(m->hdg, m->F));
    TRY(vector_upload(error, m->F));
done:
    return status;
}

/* What estimates the error: where the preconditioner is a mere diagonal, a factor or a multigrid made for it.
 */
static facet_status find_judge(struct facet_solver *s, const struct linear_operator **judge) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    int weak = s->preconditioner == PRECONDITIONER_NONE || s->preconditioner == PRECONDITIONER_JACOBI ||
               s->preconditioner == PRECONDITIONER_BLOCK;
    *judge = NULL;
    if (m->cholesky != NULL || s->method == METHOD_PETSC || !weak || s->n_unknowns == 0) return FACET_OK;
    if (m->judge.apply == NULL) TRY(solver_make_judge(s));
    if (m->judge.apply != NULL) *judge = &m->judge;
done:
    return status;
}

/* A preconditioner that took so many steps, or has to do with such jumps of K, a tiny tau, contacts, or cells
 * whose matrices have such diagonals (stretched by more than 100), is far from an inverse, and so may be its
 * estimate. */
#define SLOW      40
#define CONTRAST  1e8
#define STRETCHED 1e4

/* Where K is not definite to rounding, no estimate sees what it hardly holds. Behind a contact the residual of
 * what u lacks as a whole is nothing beside that of the rest: steps that end early never see how little of it
 * the preconditioner finds. Where no factor can be had, the preconditioner's second step tells. */
static facet_status judge_again(struct facet_solver *s, struct solve_control *control) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const double before = s->report.error;
    const int contacts = m->hdg->data.contacts != NULL && m->M.apply != NULL;
    int far = s->report.iterations >= SLOW || m->hdg->contrast > CONTRAST || m->hdg->uneven > STRETCHED ||
              hdg_is_light(m->hdg) || contacts;
    if (m->cholesky != NULL || s->method == METHOD_PETSC || control->judge != NULL || !far) return FACET_OK;
    if (m->judge.apply == NULL) status = solver_make_exact_judge(s);
    if (status == FACET_NOT_CONVERGED) return solve_accept_more(control->rtol, 1.0, &s->report);
    if (status != FACET_OK || (m->judge.apply == NULL && !contacts)) return status;
    control->judge = m->judge.apply != NULL ? &m->judge : &m->M;
    TRY(solve_judge(&m->A, &m->b, &m->x, control, &s->report));
    if (m->judge.apply == NULL) TRY(solve_accept_more(control->rtol, before, &s->report));
done:
    return status;
}

/* Whether constants are a kernel: they are, or as good as that, and their part of the load is gone. */
static int floats(const struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    return m->hdg->singular || (m->hdg->weak.negligible && m->solution.offset_source != 0.0);
}

/* M is the inverse, as good as its tolerance: a step or two, with residuals of our own. */
static facet_status solve_by_petsc(struct facet_solver *s, struct solve_control *control) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct solve_external *external = s->context->external;
    struct linear_operator rough = {0};
    TRY(external->create_rough(&m->M, &rough));
    control->rough = &rough;
    control->external = external;
    status = solve_refined(&m->A, &m->M, &m->b, &m->x, control, &s->report);
done:
    control->rough = NULL;
    control->external = NULL;
    operator_destroy(&rough);
    return status;
}

static facet_status iterate(struct facet_solver *s, struct solve_control *control) {
    struct mapped *m = mapped_of(s);
    facet_status status;
    const struct linear_operator *M = m->M.apply != NULL ? &m->M : NULL;
    int before = 0;
    do
        status = (s->method == METHOD_MULTIGRID ? solve_multigrid
                  : s->method == METHOD_FGMRES  ? solve_fgmres
                                                : solve_cg)(&m->A, M, &m->b, &m->x, control, &s->report);
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
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const int most = control->max_iterations, rethinks = solver_may_rethink(s) && most > SLOW;
    int before, done;
    if (rethinks) control->max_iterations = SLOW;
    status = iterate(s, control);
    before = s->report.iterations;
    if (status == FACET_NOT_CONVERGED && before < control->max_iterations) {
        TRY(solver_turn_double(s, &done));
        if (done) vector_fill(&m->x, 0.0);
        status = done ? iterate(s, control) : FACET_NOT_CONVERGED;
        before = s->report.iterations;
    }
    control->max_iterations = most;
    if (status != FACET_NOT_CONVERGED || !rethinks) goto done;
    TRY(solver_turn_direct(s, steps_left(&s->report, control->rtol), &done));
    if (done) {
        status = solve_direct(&m->A, m->cholesky, &m->b, &m->x, control, &s->report);
    } else if (before >= SLOW) {
        status = iterate(s, control);
        s->report.iterations += before;
    } else {
        status = FACET_NOT_CONVERGED;
    }
done:
    return status;
}

/* The linear system, from F to the trace of the solution. */
static facet_status solve_trace(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct solve_control control = {.rtol = solve_tolerance(s->options.rtol, m->hdg->heaviest),
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor,
                                    .null_space = floats(s) ? &m->constants : NULL,
                                    .forget = m->hdg->weak.n > 0 ? forget : NULL,
                                    .forget_data = s,
                                    .draw_rounding = hdg_rounding_matters(m->hdg) ? hdg_draw_rounding : NULL,
                                    .draw_rounding_data = m->hdg,
                                    .regard = solver_regard,
                                    .regard_data = s,
                                    .flexible = m->flexible};
    TRY(find_judge(s, &control.judge));
    if (m->cholesky != NULL) {
        TRY(solve_direct(&m->A, m->cholesky, &m->b, &m->x, &control, &s->report));
    } else if (s->n_unknowns > 0 && s->method == METHOD_PETSC) {
        TRY(solve_by_petsc(s, &control));
    } else if (s->n_unknowns > 0) {
        if (!s->options.warm_start) vector_fill(&m->x, 0.0);
        solve_history_guess(&m->history, &m->b, &m->x);
        TRY(solve_system(s, &control));
        TRY(judge_again(s, &control));
        if (s->options.warm_start) TRY(solve_history_add(&m->history, &m->A, &m->x));
    } else {
        solve_report_clear(&s->report);
        s->report.converged = 1;
        s->report.reason = "there are no unknowns: every face has a Dirichlet condition";
    }
    TRY(solve_reached(s->options.error, &s->report));
    TRY(hdg_set_trace(m->hdg, &m->x, &m->solution));
done:
    return status;
}

/* The host has trace, u and q, or gets them. */
static facet_status bring(const struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    if (!m->hdg->stays) return FACET_OK;
    solver_lock(s);
    m->solution.wants_q = 1;
    facet_status status = cells_fetch(m->hdg, &m->solution);
    solver_unlock(s);
    return status;
}

static facet_status largest_value(const struct facet_solver *s, double *value) {
    struct mapped *m = mapped_of(s);
    const struct hdg *h = m->hdg;
    double most = solve_largest(s->system.n_all, m->solution.trace);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        most = fmax(most, solve_largest((int64_t)h->data.mesh->blocks[b].count * h->trace.n_components *
                                            h->functions[b].Nu,
                                        m->solution.u[b]));
    *value = most;
    return team_reduce(mesh_team(h->data.mesh), TEAM_MAX, 1, value);
}

/* What the trace still lacks, inside the cells: 0 where tau holds u well, or a factor solved. */
static facet_status find_error_inside(struct facet_solver *s, double *error) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct linear_operator *M = m->judge.apply != NULL ? &m->judge : &m->M;
    struct solve_control control = {.null_space = floats(s) ? &m->constants : NULL};
    struct vector r = {0}, lack = {0};
    double *cells = NULL;
    *error = 0.0;
    if (!hdg_is_light(m->hdg) || m->cholesky != NULL || M->apply == NULL || s->n_unknowns == 0)
        return FACET_OK;
    TRY(vector_create_like(&m->x, &r));
    TRY(vector_create_like(&m->x, &lack));
    solve_find_correction(&m->A, M, &m->b, &m->x, &control, &r, &lack);
    TRY(vector_download(&lack, m->F));
    TRY(ALLOC(cells, s->problem->mesh->n_cells));
    TRY(hdg_error_inside(m->hdg, &m->solution, m->F, cells, error));
    TRY(solver_group_errors_raise(s, cells));
done:
    base_free(&cells);
    vector_destroy(&r);
    vector_destroy(&lack);
    return status;
}

static facet_status recover(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    double inside, weak = 0.0, largest = INFINITY;
    TRY(hdg_recover(m->hdg, &m->solution));
    if (m->hdg->stays) largest = cells_size(m->hdg, &m->solution);
    if (!isfinite(largest)) {
        TRY(bring(s));
        TRY(largest_value(s, &largest));
    }
    TRY(solve_check_size(largest, &s->report));
    if (m->hdg->weak.n > 0) weak = m->solution.uncertainty;
    TRY(solver_group_errors_judge(s, s->report.error, weak));
    TRY(find_error_inside(s, &inside));
    TRY(solve_accept_more(s->options.rtol, fmax(inside, fmax(weak, hdg_rounding_error(m->hdg))), &s->report));
    TRY(solve_reached(s->options.error, &s->report));
done:
    return status;
}

static struct hdg_solution *solution_of(const struct facet_solver *s, int version) {
    struct mapped *m = mapped_of(s);
    return version == BACKEND_SOLVED ? &m->solution : &m->versions[version - 1].solution;
}

static facet_status find_fluxes(const struct facet_solver *s, int version, double *left) {
    struct mapped *m = mapped_of(s);
    struct hdg_solution *solution = solution_of(s, version);
    facet_status status = hdg_find_fluxes(m->hdg, solution);
    *left = m->hdg->condensed != NULL ? solution->consistent.left : -1.0;
    return status;
}

static facet_status conservation(const struct facet_solver *s, struct solve_balance *balance) {
    struct mapped *m = mapped_of(s);
    if (m->hdg->condensed != NULL) {
        double left;
        facet_status status = solver_find_fluxes(s, BACKEND_SOLVED, &left);
        *balance = m->solution.consistent.balance;
        return status;
    }
    /* Where it stays on a device, the walk over its cells is in room that is kept, one for all walks. */
    if (m->hdg->stays) solver_lock(s);
    const facet_status status = hdg_conservation(m->hdg, &m->solution, balance);
    if (m->hdg->stays) solver_unlock(s);
    return status;
}

/* What stays on a device is post-processed when somebody asks for it. */
static facet_status postprocess(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    return m->hdg->stays ? FACET_OK : hdg_postprocess(m->hdg, &m->solution);
}

static facet_status need(const struct facet_solver *s, enum hdg_field field) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    if (!m->hdg->stays || field == HDG_U) return FACET_OK;
    m->solution.wants_q = 1;
    if (hdg_fields[field].star) status = cells_fetch_star(m->hdg, &m->solution);
    return status;
}

static int is_whole(const struct facet_solver *s) {
    return cells_are_here(mapped_of(s)->hdg, &mapped_of(s)->solution);
}

/* Where all is there nothing is written, not even that it is: others read without the lock. */
static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    struct mapped *m = mapped_of(s);
    struct hdg_solution *solution = &m->solution;
    if (is_whole(s)) return FACET_OK;
    return cells != NULL ? cells_fetch_some(m->hdg, n, cells, solution) : cells_fetch(m->hdg, solution);
}

static facet_status reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs) {
    struct mapped *m = mapped_of(s);
    (void)x;
    *n_pairs = 0;
    if (field != HDG_U || !cells_in_batches(m->hdg)) return FACET_OK;
    switch (take) {
    case BACKEND_INTEGRALS:
        *n_pairs = s->problem->mesh->n_cells;
        return cells_integrals(m->hdg, &m->solution, values);
    case BACKEND_TOTAL:
        *n_pairs = 1;
        return cells_total(m->hdg, &m->solution, values);
    case BACKEND_RANGE:
        *n_pairs = s->problem->mesh->n_cells;
        return cells_range(m->hdg, &m->solution, n - 1, values);
    default:
        return FACET_OK;
    }
}

/* These tables know the functions of degree k; where u has more, others at the same points are made. */
static facet_status copy_out(const struct facet_solver *s, double *u) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    int degree = sample_table_degree(s, HDG_U), components = m->hdg->trace.n_components;
    struct hdg_table own = {0};
    TRY(fetch(s, 0, NULL)); /* u alone */
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_table *table = &m->hdg->space.blocks[b].source;
        hdg_table_destroy(&own);
        if (degree > s->options.degree) {
            TRY(hdg_table_create(mesh->blocks[b].shape, degree, mesh->order, table->n, table->xi, &own));
            table = &own;
        }
        for (int32_t i = 0; i < mesh->blocks[b].count; i++) {
            const int32_t c = mesh->blocks[b].first + i;
            TRY(hdg_evaluate(m->hdg, &m->solution, HDG_U, b, 1, &c, table, u));
            u += (int64_t)table->n * components;
        }
    }
done:
    hdg_table_destroy(&own);
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    return m->M.apply != NULL ? operator_multigrid(&m->M) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    TRY(bring(s));
    if (s->options.postprocess) TRY(solver_need(s, HDG_U_STAR));
    TRY(hdg_measure_errors(m->hdg, &m->solution, errors));
done:
    return status;
}

/* ------------------------------------------------------------------------------ the system */

static int64_t n_unknowns(const struct facet_solver *s) {
    return s->system.n_free;
}

/* y = A x in arrays of the host, for an operator of any precision on any device. */
static facet_status multiply(const struct linear_operator *A, const double *x, double *y) {
    facet_status status = FACET_OK;
    struct vector from = {0}, to = {0};
    TRY(vector_create_in(A->device, A->precision, A->n, &from));
    TRY(vector_create_in(A->device, A->precision, A->n, &to));
    TRY(vector_upload(&from, x));
    operator_apply(A, &from, &to);
    TRY(vector_download(&to, y));
done:
    vector_destroy(&from);
    vector_destroy(&to);
    return status;
}

static facet_status apply(const struct facet_solver *s, const double *x, double *y) {
    return multiply(&mapped_of(s)->A, x, y);
}

static facet_status precondition(const struct facet_solver *s, const double *x, double *y) {
    struct mapped *m = mapped_of(s);
    if (m->cholesky != NULL) return cholesky_solve(m->cholesky, x, y);
    if (m->M.apply == NULL) {
        memcpy(y, x, (size_t)s->system.n_free * sizeof *y);
        return FACET_OK;
    }
    facet_status status = multiply(&m->M, x, y);
    struct multigrid *mg = operator_multigrid(&m->M);
    return status == FACET_OK && mg != NULL ? multigrid_failure(mg) : status;
}

static facet_status get_system(const struct facet_solver *s, double *F, double *x) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    if (F != NULL) TRY(vector_download(&m->b, F));
    if (x != NULL) TRY(vector_download(&m->x, x));
done:
    return status;
}

static facet_status matrix(const struct facet_solver *s, struct csr *csr) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    TRY(trace_matrices_keep(&m->hdg->matrices));
    TRY(hdg_assemble(m->hdg, csr));
done:
    trace_matrices_release(&m->hdg->matrices);
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
    points->table = &mapped_of(s)->hdg->space.blocks[block].norm_star;
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
    hdg_cell_geometry(&mapped_of(s)->hdg->space, (int)(block - s->problem->mesh->blocks), cell - block->first,
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

static facet_status evaluate(const struct facet_solver *s, int version, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values) {
    const struct mesh_block *block = mesh_block_of(s->problem->mesh, cells[0]);
    return hdg_evaluate(mapped_of(s)->hdg, solution_of(s, version), field,
                        (int)(block - s->problem->mesh->blocks), n_cells, cells, points->table, values);
}

static facet_status face_rule(const struct facet_solver *s, int32_t cell, int local, int *n, double **xi,
                              double **wA) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int b = (int)(block - mesh->blocks), dim = mesh->dim;
    const struct hdg_face_table *rule = hdg_face_of(&m->hdg->space.blocks[b].norm_face, local);
    int orientation =
        block->orientations[(int64_t)(cell - block->first) * shape_n_faces(block->shape) + local];
    struct hdg_geometry geometry = {0};
    double *normal = NULL, *x = NULL;
    *xi = *wA = NULL;
    *n = rule->rule.n;
    TRY(hdg_geometry_create(hdg_max_points(&m->hdg->space), dim, &geometry));
    TRY(ALLOC(normal, *n * dim));
    TRY(ALLOC(x, *n * dim));
    TRY(ALLOC(*xi, *n * dim));
    TRY(ALLOC(*wA, *n));
    memcpy(*xi, rule->side[local][orientation].xi, (size_t)(*n * dim) * sizeof **xi);
    hdg_face_geometry(&m->hdg->space, b, cell - block->first, local, rule, &geometry, x, normal);
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

static facet_status face_fluxes(const struct facet_solver *s, int version, int n,
                                const struct mesh_group_face *faces, double *fluxes) {
    return hdg_face_fluxes(mapped_of(s)->hdg, solution_of(s, version), n, faces, fluxes);
}

static facet_status arrays(struct facet_solver *s, struct backend_array *arrays, int *n) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct hdg *h = m->hdg;
    struct hdg_solution *solution = &m->solution;
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

static facet_status totals(const struct facet_solver *s, int version, int whole, int n, double *const *psi,
                           double *totals, double *roundings, double *squares) {
    facet_status status = bring(s);
    return status == FACET_OK ? hdg_totals(mapped_of(s)->hdg, solution_of(s, version), whole, n, psi, totals,
                                           roundings, squares)
                              : status;
}

static facet_status mean_trace(const struct facet_solver *s, int32_t cell, double *values) {
    struct mapped *m = mapped_of(s);
    const struct mesh_block *b = mesh_block_of(s->problem->mesh, cell);
    hdg_mean_trace(m->hdg, &m->solution, (int)(b - s->problem->mesh->blocks), cell - b->first, values);
    return FACET_OK;
}

/* Whether a reaction is weak, and what floats, is known when matrices are: the words are of now. */
static void on_host(const struct facet_solver *s, char *text, size_t bytes) {
    struct mapped *m = mapped_of(s);
    if (is_for_host(s)) {
        snprintf(text, bytes, "all of it: %s",
                 s->options.method == METHOD_PETSC ? "the method petsc"
                                                   : "the discretization condensed over several processes");
        return;
    }
    const struct facet_mesh *mesh = s->problem->mesh;
    const int64_t singles = m->n_single, n = mesh->part != NULL ? mesh->part->n_cells : mesh->n_cells;
    int used = singles == 0 ? 0
                            : snprintf(text, bytes, "the matrices of %lld of %lld cells, one by one%s",
                                       (long long)singles, (long long)n, !m->hdg->stays ? ", " : "");
    if (!m->hdg->stays) snprintf(text + used, bytes - (size_t)used, "load and recovery");
}

/* clang-format off */
const struct backend mapped_backend = {
    .destroy = destroy, .n_points = n_points, .points = source_points, .point_weights = source_weights,
    .n_unknowns = n_unknowns, .apply = apply, .precondition = precondition, .get_system = get_system,
    .matrix = matrix, .renew = renew, .load = load, .solve = solve_trace, .recover = recover,
    .conservation = conservation, .on_host = on_host, .postprocess = postprocess, .copy_out = copy_out,
    .multigrid = multigrid_of, .measure_errors = measure_errors, .fetch = fetch, .is_whole = is_whole, .need = need,
    .reduce = reduce, .prepare = prepare, .rule = use_rule, .weights = find_weights, .map = map_points,
    .evaluate = evaluate, .face_rule = face_rule, .find_fluxes = find_fluxes, .face_fluxes = face_fluxes,
    .arrays = arrays, .totals = totals, .mean_trace = mean_trace,
};
/* clang-format on */
