/* Rivals that discretize by condensed continuous elements with the mass collocated at the Gauss-Lobatto
 * points, as in huismann2020. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed.h"
#include "bench/rival.h"
#include "solve/spectrum.h"

#define MAX_ITERATIONS 5000

struct condensed_data {
    struct box_condensed *h;
    struct box_condensed_sides sides;
    struct box_condensed_lattice lattice;
    double *F, *dirichlet, *work, *uhat; /* n_trace */
    double *u;                           /* coefficients in all cells */
    double shift;
};

struct condensed_solver {
    enum rival_kind kind;
    enum box_condensed_unknowns basis;
    struct linear_operator A, M;
    struct vector b, x;
};

static void drop(struct rival_space *space, void **solver) {
    (void)space;
    struct condensed_solver *s = *solver;
    if (s == NULL) return;
    operator_destroy(&s->A);
    operator_destroy(&s->M);
    vector_destroy(&s->b);
    vector_destroy(&s->x);
    base_free(&s);
    *solver = NULL;
}

static facet_status create(struct rival_space *space, enum rival_kind kind, void **solver) {
    facet_status status = FACET_OK;
    struct condensed_data *d = space->data;
    struct condensed_solver *s = NULL;
    enum box_condensed_form form = kind == RIVAL_CONDENSED   ? BOX_CCG_PARITY
                                   : kind == RIVAL_CCG_TRANS ? BOX_CCG_TPT
                                                             : BOX_CCG_TP;
    enum box_condensed_preconditioner which = kind == RIVAL_CONDENSED   ? BOX_CCG_TWO_LEVEL
                                              : kind == RIVAL_CCG_TRANS ? BOX_CCG_TRANSFORMED
                                              : kind == RIVAL_CCG_BLOCK ? BOX_CCG_BLOCK
                                                                        : BOX_CCG_DIAGONAL;
    TRY(CALLOC(s, 1));
    *solver = s;
    s->kind = kind;
    s->basis = box_condensed_basis(form, BOX_MODES);
    TRY(box_condensed_operator(d->h, space->device, form, s->basis, &s->A));
    if (kind != RIVAL_CCG_UNPREC) TRY(box_condensed_preconditioner(d->h, space->device, which, &s->M));
    TRY(vector_create(space->device, d->h->n_trace, &s->b));
    TRY(vector_create(space->device, d->h->n_trace, &s->x));
done:
    return status;
}

static double norm(int64_t n, const double *x) {
    double square = 0.0;
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* Right-hand side and guess, noise at the nodes, in the basis of the solver; the tolerance that reduces the
 * residual of the guess by space->rtol. */
static facet_status prepare(struct rival_space *space, struct condensed_solver *s, double *rtol) {
    facet_status status = FACET_OK;
    struct condensed_data *d = space->data;
    int64_t n = d->h->n_trace;
    double *b = s->b.data, *x = s->x.data;
    memcpy(b, d->F, (size_t)n * sizeof *b);
    solve_noise(n, x);
    for (int64_t i = 0; i < n; i++)
        if (d->work[i] == 0.0) x[i] = 0.0; /* Dirichlet entities */
    if (s->basis == BOX_NODES)
        TRY(box_condensed_change(d->h, BOX_LOAD_TO_NODES, b));
    else
        TRY(box_condensed_change(d->h, BOX_NODES_TO_MODES, x));
    struct vector r = {.device = space->device, .n = n, .data = d->uhat};
    operator_apply(&s->A, &s->x, &r);
    for (int64_t i = 0; i < n; i++) d->uhat[i] = b[i] - d->uhat[i];
    *rtol = space->rtol * norm(n, d->uhat) / norm(n, b);
done:
    return status;
}

static facet_status run(struct rival_space *space, void *solver, double seconds[N_RIVAL_STAGES],
                        struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    struct condensed_data *d = space->data;
    struct condensed_solver *s = solver;
    struct solve_control control = {.max_iterations = MAX_ITERATIONS};
    seconds[RIVAL_GUESS] = 0.0;
    /* Timed without boundary data, which the others have projected beforehand. */
    double begin = rival_clock();
    TRY(box_condensed_load(d->h, space->wave->source, NULL, d->F, d->dirichlet, &d->shift));
    seconds[RIVAL_LOAD] = rival_clock() - begin;
    TRY(box_condensed_load(d->h, space->wave->source, &d->sides, d->F, d->dirichlet, &d->shift));
    TRY(prepare(space, s, &control.rtol));
    begin = rival_clock();
    solved = solve_cg(&s->A, s->M.apply != NULL ? &s->M : NULL, &s->b, &s->x, &control, report);
    seconds[RIVAL_SOLVE] = rival_clock() - begin;
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    memcpy(d->uhat, s->x.data, (size_t)d->h->n_trace * sizeof *d->uhat);
    if (s->basis == BOX_NODES) TRY(box_condensed_change(d->h, BOX_NODES_TO_MODES, d->uhat));
    for (int64_t i = 0; i < d->h->n_trace; i++) d->uhat[i] += d->dirichlet[i];
    begin = rival_clock();
    TRY(box_condensed_recover(d->h, space->wave->source, d->shift, d->uhat, d->u));
    seconds[RIVAL_RECOVER] = rival_clock() - begin;
done:
    return status;
}

static facet_status evaluate(void *user, int64_t cell, double *values) {
    struct rival_space *space = user;
    struct condensed_data *d = space->data;
    int at[3];
    box_cell_at(&d->h->grid, cell, at);
    return box_condensed_evaluate(d->h, d->u, at, &d->lattice, values, NULL);
}

static facet_status error(struct rival_space *space, double *e) {
    return wave_error(space->wave, evaluate, space, e);
}

static void destroy(struct rival_space *space) {
    struct condensed_data *d = space->data;
    if (d == NULL) return;
    box_condensed_lattice_destroy(&d->lattice);
    base_free(&d->F);
    base_free(&d->dirichlet);
    base_free(&d->work);
    base_free(&d->uhat);
    base_free(&d->u);
    box_condensed_destroy(&d->h);
    base_free(&d);
    space->data = NULL;
}

facet_status rival_space_condensed(const struct wave *wave, const struct device *device, double rtol,
                                   struct rival_space *space) {
    facet_status status = FACET_OK;
    struct condensed_data *d = NULL;
    const int m[3] = {wave->n_points, wave->n_points, wave->n_points};
    int64_t size = (int64_t)(wave->given.degree + 1) * (wave->given.degree + 1) * (wave->given.degree + 1);
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
    TRY(box_condensed_create(&wave->data, wave->given.degree, BOX_MASS_COLLOCATED, &d->h));
    TRY(ALLOC(d->F, d->h->n_trace));
    TRY(ALLOC(d->dirichlet, d->h->n_trace));
    TRY(ALLOC(d->work, d->h->n_trace));
    TRY(ALLOC(d->uhat, d->h->n_trace));
    TRY(ALLOC(d->u, d->h->grid.n_cells * size));
    TRY(box_condensed_diagonal(d->h, d->work)); /* zero where x must be */
    for (int e = 0; e < 6; e++) d->sides.g[e / 2][e % 2] = wave->exact;
    TRY(box_condensed_lattice_create(
        d->h, m, (const double *const[3]){wave->points, wave->points, wave->points}, &d->lattice));
done:
    return status;
}
