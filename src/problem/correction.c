/* What a solution still lacks. An estimate of the error of u says nothing of where that error is, and a flux
 * is summed from differences of u, which may lack more of their digits than u does by any factor: what the
 * equations of the faces between a part and the rest of the boundary leave is missing in the flux,
 *
 *     (flux of the solution) - (flux of the exact one) = - psi'(what is left),
 *
 * psi being 1 on the part. So a few steps with what is left as the load make a correction e, and what e
 * changes in a flux, found in whatever way, is what that way lacks.
 *
 * A factor leaves rounding: of the residual, and of the entries of K. Draws of both make errors e that are
 * like that of u, and what these change in a flux is what rounding may have changed there. In slender bodies
 * that is less by orders of magnitude than the size of e could drive: a beam is off by a beam's bending. */
#include <math.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* The correction is to know what is missing to one digit, in so many steps. */
#define DIGIT 0.1
#define STEPS 30

struct solver_better {
    struct facet_solver solver; /* as the other, with its own solution */
    int known;                  /* it has its solution */
    double left;                /* of fluxes no more than this is missing, by the sizes of psi and of r */
    unsigned n_solves;          /* of the other, when `left` was found */
};

/* What the two have in common is not freed. */
static void forget_solution(struct solver_better *better) {
    better->solver.solution.vertex_loads = NULL;
    hdg_solution_destroy(&better->solver.solution);
    better->known = 0;
}

static void destroy(struct solver_better **better) {
    if (*better == NULL) return;
    forget_solution(*better);
    pthread_mutex_destroy(&(*better)->solver.making);
    base_free(better);
}

void solver_forget_better(struct facet_solver *s) {
    destroy(&s->better);
    for (int draw = 0; draw < SOLVER_DRAWS; draw++) destroy(&s->drawn[draw]);
}

static facet_status create(struct solver_better **better) {
    facet_status status = CALLOC(*better, 1);
    if (status == FACET_OK) pthread_mutex_init(&(*better)->solver.making, NULL);
    return status;
}

/* r = b - A x. control: of solves with it. */
static facet_status find_residual(const struct facet_solver *s, struct solve_control *control,
                                  struct vector *r) {
    facet_status status = FACET_OK;
    *control =
        (struct solve_control){.rtol = DIGIT,
                               .max_iterations = STEPS,
                               .kernel = s->hdg->singular || s->hdg->weak.negligible ? &s->kernel : NULL};
    TRY(vector_create_like(&s->x, r));
    operator_apply(&s->A, &s->x, r);
    vector_axpby(1.0, &s->b, -1.0, r);
    solve_remove_kernel(control, SOLVE_RESIDUALS, r);
done:
    return status;
}

/* psi is between 0 and 1, and so are its coefficients between those of 0 and of 1, as good as that. */
static facet_status find_left(const struct facet_solver *s, double *left) {
    facet_status status = FACET_OK;
    const int64_t n = s->system.n_free;
    struct solve_control control;
    struct vector r = {0};
    double *values = NULL;
    TRY(ALLOC(values, 2 * n + 1));
    TRY(find_residual(s, &control, &r));
    TRY(vector_download(&r, values));
    hdg_free_constant(s->hdg, values + n);
    double sum = 0.0, one = solve_largest(n, values + n);
    for (int64_t i = 0; i < n; i++) sum += fabs(values[i]);
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MAX, 1, &one));
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, &sum));
    *left = one * sum;
done:
    base_free(&values);
    vector_destroy(&r);
    return status;
}

/* e, in the free numbering of the host. What the steps do not reach is no failure. */
static facet_status find_correction(const struct facet_solver *s, double *e) {
    facet_status status = FACET_OK;
    const struct linear_operator *M = s->judge.apply != NULL ? &s->judge : s->M.apply != NULL ? &s->M : NULL;
    struct solve_control control;
    struct solve_report report = {0};
    struct vector r = {0}, x = {0};
    TRY(find_residual(s, &control, &r));
    TRY(vector_create_like(&s->x, &x));
    vector_fill(&x, 0.0);
    status = solve_fgmres(&s->A, M, &r, &x, &control, &report);
    if (status == FACET_NOT_CONVERGED) status = FACET_OK;
    TRY(status);
    TRY(vector_download(&x, e));
    if (s->hdg->weak.n > 0) TRY(hdg_weak_constants_forget(s->hdg, e));
done:
    solve_report_clear(&report);
    vector_destroy(&r);
    vector_destroy(&x);
    return status;
}

/* The solution of s is added to that of e, which has no loads. */
static void add_solution(const struct facet_solver *s, struct hdg_solution *to) {
    const struct hdg *h = s->hdg;
    const struct hdg_solution *from = &s->solution;
    const int64_t n_trace = hdg_trace_size(h);
    for (int64_t i = 0; i < n_trace; i++) to->trace[i] += from->trace[i];
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t count = h->data.mesh->blocks[b].count, nc = h->trace.n_components;
        const int64_t n_u = count * nc * h->functions[b].Nu, n_p = count * h->functions[b].N;
        const int64_t n_loads = trace_n_batches(h->device, h->data.mesh, b) * h->n_eliminated[b] * h->lanes;
        for (int64_t i = 0; i < n_loads; i++) to->loads[b][i] = from->loads[b][i];
        for (int64_t i = 0; i < n_u; i++) to->u[b][i] += from->u[b][i];
        for (int64_t i = 0; to->q[b] != NULL && i < n_p * nc * h->data.mesh->dim; i++)
            to->q[b][i] += from->q[b][i];
        for (int64_t i = 0; to->p[b] != NULL && i < n_p; i++) to->p[b][i] += from->p[b][i];
    }
    to->vertex_loads = from->vertex_loads;
}

/* An error e like that of u: what the factor makes of the residual and of a draw of the rounding of K. */
static facet_status find_draw(const struct facet_solver *s, int draw, double *e) {
    facet_status status = FACET_OK;
    const int64_t n = s->system.n_free;
    struct solve_control control;
    struct vector r = {0}, rough = {0};
    double *values = NULL;
    TRY(ALLOC(values, n));
    TRY(find_residual(s, &control, &r));
    TRY(vector_create_like(&s->x, &rough));
    if (hdg_rounding_matters(s->hdg)) {
        TRY(hdg_draw_rounding(s->hdg, draw, &s->x, &rough));
        solve_remove_kernel(&control, SOLVE_RESIDUALS, &rough);
        vector_axpby(1.0, &rough, 1.0, &r);
    }
    TRY(vector_download(&r, values));
    TRY(cholesky_solve(s->cholesky, values, e));
    if (s->hdg->weak.n > 0) TRY(hdg_weak_constants_forget(s->hdg, e));
done:
    base_free(&values);
    vector_destroy(&r);
    vector_destroy(&rough);
    return status;
}

/* Fills `better`: draw >= 0 adds such an error to the solution of s, -1 the correction. */
static facet_status make(const struct facet_solver *s, int draw, struct solver_better *better) {
    facet_status status = FACET_OK;
    double *e = NULL;
    forget_solution(better);
    pthread_mutex_destroy(&better->solver.making);
    better->solver = *s;
    better->solver.solution = (struct hdg_solution){0};
    pthread_mutex_init(&better->solver.making, NULL);
    TRY(CALLOC(e, s->system.n_free));
    TRY(draw < 0 ? find_correction(s, e) : find_draw(s, draw, e));
    TRY(hdg_recover_error(s->hdg, e, &better->solver.solution));
    add_solution(s, &better->solver.solution);
    better->known = 1;
done:
    base_free(&e);
    return status;
}

/* Of an earlier solve nothing is kept. */
static facet_status begin(const struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct facet_solver *own = (struct facet_solver *)s;
    if (s->better != NULL && s->better->n_solves == s->n_solves) return FACET_OK;
    if (s->better == NULL) TRY(create(&own->better));
    forget_solution(s->better);
    TRY(find_left(s, &s->better->left));
    s->better->n_solves = s->n_solves;
done:
    return status;
}

/* A factor leaves nothing but rounding. */
facet_status solver_find_better(const struct facet_solver *s, double little,
                                const struct facet_solver **better) {
    facet_status status = FACET_OK;
    *better = NULL;
    if (s->backend != &mapped_backend || s->hdg->resident != NULL || s->cholesky != NULL ||
        s->n_unknowns == 0 || s->method == METHOD_PETSC)
        return FACET_OK;
    solver_lock(s);
    TRY(begin(s));
    if (s->better->left <= little) goto done;
    if (!s->better->known) TRY(make(s, -1, s->better));
    *better = &s->better->solver;
done:
    solver_unlock(s);
    return status;
}

facet_status solver_find_drawn(const struct facet_solver *s, int draw, const struct facet_solver **drawn) {
    facet_status status = FACET_OK;
    struct solver_better **own = &((struct facet_solver *)s)->drawn[draw];
    *drawn = NULL;
    if (s->backend != &mapped_backend || s->hdg->resident != NULL || s->cholesky == NULL ||
        s->n_unknowns == 0)
        return FACET_OK;
    solver_lock(s);
    if (*own == NULL) TRY(create(own));
    if (!(*own)->known || (*own)->n_solves != s->n_solves) TRY(make(s, draw, *own));
    (*own)->n_solves = s->n_solves;
    *drawn = &(*own)->solver;
done:
    solver_unlock(s);
    return status;
}
