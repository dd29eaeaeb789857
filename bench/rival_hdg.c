/* Rivals that discretize by HDG: the four of huismann2020, ours, and the direct solves. Loads, first guess
 * and recovery are the same for all; vectors are plain modes outside of the solvers. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/box_plain.h"
#include "bench/papers/stars.h"
#include "bench/papers/straight.h"
#include "bench/rival.h"
#include "boxhdg/direct.h"
#include "boxhdg/hdg_cells.h"
#include "boxhdg/lane_solver.h"
#include "solve/spectrum.h"

#define MAX_ITERATIONS 5000

struct hdg_data {
    struct boxhdg *h;
    struct box_straight *straight;               /* made with the first solver that wants it */
    double *loads, *u, *points;                  /* n_volume; points: at the Gauss points */
    double *dirichlet, *F, *guess, *uhat, *work; /* n_trace */
    double *unit;                                /* n_points of [0, 1] */
    double rtol, rtol_nodes;                     /* against |F| in modes, at nodes; 0: not known yet */
};

struct hdg_solver {
    enum rival_kind kind;
    struct linear_operator A, M;
    struct vector b, x;
    struct boxhdg_solver *ours;
    struct boxhdg_direct *direct;
    struct box_volume *volume;
    double *lift; /* of the volume solve: the solution with the boundary values alone, at the Gauss points */
};

static int is_nodal(enum rival_kind kind) {
    return kind == RIVAL_HDG_UNPREC || kind == RIVAL_HDG_DIAG || kind == RIVAL_HDG_BLOCK;
}

static void drop(struct rival_space *space, void **solver) {
    (void)space;
    struct hdg_solver *s = *solver;
    if (s == NULL) return;
    operator_destroy(&s->A);
    operator_destroy(&s->M);
    vector_destroy(&s->b);
    vector_destroy(&s->x);
    boxhdg_solver_destroy(&s->ours);
    boxhdg_direct_destroy(&s->direct);
    rival_volume_destroy(&s->volume);
    base_free(&s->lift);
    base_free(&s);
    *solver = NULL;
}

/* ------------------------------------------------------------------------------------------ set-up */

static facet_status create_paper(struct rival_space *space, struct hdg_solver *s) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    enum box_algorithm algorithm = is_nodal(s->kind) ? BOX_TP : BOX_TPT;
    if (d->straight == NULL) TRY(box_straight_create(d->h, BOX_LOBATTO, &d->straight));
    TRY(box_straight_operator(space->device, d->straight, algorithm, &s->A));
    if (s->kind != RIVAL_HDG_UNPREC)
        TRY(box_straight_preconditioner(space->device, d->straight, algorithm,
                                        s->kind == RIVAL_HDG_DIAG ? BOX_DIAGONAL : BOX_BLOCK, &s->M));
done:
    return status;
}

static facet_status create_lanes(struct rival_space *space, struct hdg_solver *s) {
    struct hdg_data *d = space->data;
    struct boxhdg_solver_options options;
    boxhdg_solver_options_default(&options);
    options.preconditioner = s->kind == RIVAL_TRANS      ? BOXHDG_DIAGONAL
                             : s->kind == RIVAL_ADDITIVE ? BOXHDG_ADDITIVE
                                                         : BOXHDG_CHEBYSHEV;
    if (s->kind == RIVAL_TRANS) options.mixed = 0;
    return boxhdg_solver_create(space->device, d->h, &options, &s->ours);
}

static facet_status create_volume(struct rival_space *space, struct hdg_solver *s) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    TRY(rival_volume_create(d->h, &s->volume));
    TRY(ALLOC(s->lift, d->h->n_volume));
    TRY(boxhdg_load(d->h, NULL, d->dirichlet, NULL, d->loads, d->F));
    TRY(rival_solve_trace(d->h, d->F, d->uhat));
    boxhdg_add_dirichlet(d->h, d->dirichlet, d->uhat);
    TRY(boxhdg_recover(d->h, d->loads, d->uhat, d->u, NULL));
    TRY(boxhdg_transform(d->h, 1, d->u, s->lift));
done:
    return status;
}

static facet_status create(struct rival_space *space, enum rival_kind kind, void **solver) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    struct hdg_solver *s = NULL;
    TRY(CALLOC(s, 1));
    *solver = s;
    s->kind = kind;
    if (is_nodal(kind) || kind == RIVAL_HDG_TRANS)
        TRY(create_paper(space, s));
    else if (kind == RIVAL_STARS) {
        TRY(operator_create_box_plain(space->device, d->h, &s->A));
        TRY(box_two_level_create(space->device, d->h, 1, &s->M));
    } else if (kind == RIVAL_DIRECT)
        TRY(boxhdg_direct_create(d->h, &s->direct));
    else if (kind == RIVAL_VOLUME)
        TRY(create_volume(space, s));
    else
        TRY(create_lanes(space, s));
    if (s->A.apply != NULL) {
        TRY(vector_create(space->device, d->h->n_trace, &s->b));
        TRY(vector_create(space->device, d->h->n_trace, &s->x));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ stages */

static double norm(int64_t n, const double *x) {
    double square = 0.0;
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* rtol |F - K guess| / |F| in modes. */
static facet_status find_rtol(struct rival_space *space) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    if (d->rtol > 0.0) return status;
    TRY(boxhdg_apply(d->h, d->guess, d->work));
    for (int64_t i = 0; i < d->h->n_trace; i++) d->work[i] = d->F[i] - d->work[i];
    d->rtol = space->rtol * norm(d->h->n_trace, d->work) / norm(d->h->n_trace, d->F);
done:
    return status;
}

/* By conjugate gradients of solve/ on vectors in modes or at nodes; b, x and rtol are made beforehand. */
static facet_status iterate(struct rival_space *space, struct hdg_solver *s, struct solve_report *report,
                            double *seconds) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    int64_t n = d->h->n_trace;
    memcpy(s->b.data, d->F, (size_t)n * sizeof *d->F);
    memcpy(s->x.data, d->guess, (size_t)n * sizeof *d->F);
    double rtol = d->rtol;
    if (is_nodal(s->kind)) {
        box_straight_to_nodes(d->straight, BOX_RESIDUAL, d->F, s->b.data);
        box_straight_to_nodes(d->straight, BOX_TRACE, d->guess, s->x.data);
        if (d->rtol_nodes <= 0.0) {
            struct vector r = {.device = space->device, .n = n, .data = d->work};
            operator_apply(&s->A, &s->x, &r);
            const double *b = s->b.data;
            for (int64_t i = 0; i < n; i++) d->work[i] = b[i] - d->work[i];
            d->rtol_nodes = space->rtol * norm(n, d->work) / norm(n, b);
        }
        rtol = d->rtol_nodes;
    }
    struct solve_control control = {.rtol = rtol, .max_iterations = MAX_ITERATIONS};
    double begin = rival_clock();
    status = solve_cg(&s->A, s->M.apply != NULL ? &s->M : NULL, &s->b, &s->x, &control, report);
    *seconds = rival_clock() - begin;
    if (is_nodal(s->kind))
        box_straight_to_modes(d->straight, BOX_TRACE, s->x.data, d->uhat);
    else
        memcpy(d->uhat, s->x.data, (size_t)n * sizeof *d->F);
    return status;
}

/* The solve in the volume has zero boundary values; what those given add does not change from solve to solve.
 */
static void solve_in_volume(struct rival_space *space, struct hdg_solver *s) {
    struct hdg_data *d = space->data;
    rival_volume_solve(s->volume, space->wave->source, d->points);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < d->h->n_volume; i++) d->points[i] += s->lift[i];
}

static facet_status solve(struct rival_space *space, struct hdg_solver *s, struct solve_report *report,
                          double *seconds) {
    facet_status status = FACET_OK;
    struct hdg_data *d = space->data;
    struct solve_control control = {.rtol = d->rtol, .max_iterations = MAX_ITERATIONS};
    if (s->A.apply != NULL) return iterate(space, s, report, seconds);
    memcpy(d->uhat, d->guess, (size_t)d->h->n_trace * sizeof *d->uhat);
    double begin = rival_clock();
    if (s->ours != NULL)
        status = boxhdg_solver_solve(s->ours, d->F, d->uhat, 1, &control, report);
    else if (s->direct != NULL)
        boxhdg_direct_solve(s->direct, 1.0, 0.0, d->F, d->uhat);
    else
        solve_in_volume(space, s);
    *seconds = rival_clock() - begin;
    if (s->ours == NULL) report->converged = 1;
    return status;
}

static facet_status run(struct rival_space *space, void *solver, double seconds[N_RIVAL_STAGES],
                        struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    struct hdg_data *d = space->data;
    struct hdg_solver *s = solver;
    solve_noise(d->h->n_volume, d->u);
    double begin = rival_clock();
    TRY(boxhdg_transform(d->h, 0, d->u, d->loads));
    TRY(boxhdg_hybridize(d->h, d->loads, d->dirichlet, NULL, d->guess));
    seconds[RIVAL_GUESS] = rival_clock() - begin;
    boxhdg_add_dirichlet(d->h, NULL, d->guess);
    begin = rival_clock();
    TRY(boxhdg_load(d->h, space->wave->source, d->dirichlet, NULL, d->loads, d->F));
    seconds[RIVAL_LOAD] = rival_clock() - begin;
    TRY(find_rtol(space));
    solved = solve(space, s, report, &seconds[RIVAL_SOLVE]);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    boxhdg_add_dirichlet(d->h, d->dirichlet, d->uhat);
    begin = rival_clock();
    if (s->volume != NULL)
        TRY(boxhdg_transform(d->h, 0, d->points, d->u));
    else
        TRY(boxhdg_recover(d->h, d->loads, d->uhat, d->u, NULL));
    seconds[RIVAL_RECOVER] = rival_clock() - begin;
    if (s->volume !=
        NULL) /* it goes from the source to u, both at the Gauss points, and needs none of them */
        seconds[RIVAL_GUESS] = seconds[RIVAL_LOAD] = seconds[RIVAL_RECOVER] = 0.0;
done:
    return status;
}

static facet_status evaluate(void *user, int64_t cell, double *values) {
    struct rival_space *space = user;
    struct hdg_data *d = space->data;
    const struct boxhdg_solution solution = {
        .n_cells = d->h->grid.n_cells, .loads = d->loads, .trace = d->uhat, .u = d->u};
    return boxhdg_evaluate(d->h, &solution, BOX_U, cell, BOX_LATTICE(space->wave->n_points, d->unit), values);
}

static facet_status error(struct rival_space *space, double *e) {
    return wave_error(space->wave, evaluate, space, e);
}

facet_status rival_solve_trace(const struct boxhdg *h, const double *F, double *uhat) {
    struct boxhdg_direct *direct = NULL;
    facet_status status = boxhdg_direct_create(h, &direct);
    if (status == FACET_OK) boxhdg_direct_solve(direct, 1.0, 0.0, F, uhat);
    boxhdg_direct_destroy(&direct);
    return status;
}

static void destroy(struct rival_space *space) {
    struct hdg_data *d = space->data;
    if (d == NULL) return;
    box_straight_destroy(&d->straight);
    base_free(&d->loads);
    base_free(&d->u);
    base_free(&d->points);
    base_free(&d->dirichlet);
    base_free(&d->F);
    base_free(&d->guess);
    base_free(&d->uhat);
    base_free(&d->work);
    base_free(&d->unit);
    boxhdg_destroy(&d->h);
    base_free(&d);
    space->data = NULL;
}

facet_status rival_space_hdg(const struct wave *wave, const struct device *device, double rtol,
                             struct rival_space *space) {
    facet_status status = FACET_OK;
    struct hdg_data *d = NULL;
    *space = (struct rival_space){.wave = wave,
                                  .device = device,
                                  .rtol = rtol,
                                  .destroy = destroy,
                                  .create = create,
                                  .drop = drop,
                                  .run = run,
                                  .error = error};
    TRY(CALLOC(d, 1));
    space->data = d;
    TRY(boxhdg_create(&wave->data, wave->given.degree, (const double *const *)wave->rho, &d->h));
    double **volumes[] = {&d->loads, &d->u, &d->points};
    double **traces[] = {&d->dirichlet, &d->F, &d->guess, &d->uhat, &d->work};
    for (int i = 0; i < 3; i++) TRY(base_alloc(volumes[i], (size_t)d->h->n_volume, sizeof(double)));
    for (int i = 0; i < 5; i++) TRY(base_alloc(traces[i], (size_t)d->h->n_trace, sizeof(double)));
    TRY(ALLOC(d->unit, wave->n_points));
    for (int i = 0; i < wave->n_points; i++) d->unit[i] = 0.5 * (1.0 + wave->points[i]);
    const struct box_given given = {.exact = wave->exact};
    TRY(boxhdg_project_boundary(d->h, &given, d->dirichlet, d->work));
done:
    return status;
}
