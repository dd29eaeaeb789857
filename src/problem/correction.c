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
#include "problem/mapped_backend.h"

/* The correction is to know what is missing to one digit, in so many steps. */
#define DIGIT 0.1
#define STEPS 30

/* What the two have in common is not freed. */
static void forget_solution(struct mapped_version *version) {
    version->solution.vertex_loads = NULL;
    hdg_solution_destroy(&version->solution);
    version->known = 0;
}

void solver_forget_versions(struct mapped *m) {
    for (int i = 0; i < MAPPED_VERSIONS; i++) forget_solution(&m->versions[i]);
}

/* r = b - A x. control: of solves with it. */
static facet_status find_residual(const struct facet_solver *s, struct solve_control *control,
                                  struct vector *r) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    *control = (struct solve_control){.rtol = DIGIT,
                                      .max_iterations = STEPS,
                                      .null_space =
                                          m->hdg->singular || m->hdg->weak.negligible ? &m->constants : NULL};
    TRY(vector_create_like(&m->x, r));
    operator_apply(&m->A, &m->x, r);
    vector_axpby(1.0, &m->b, -1.0, r);
    null_space_remove(control->null_space, SOLVE_RESIDUALS, r);
done:
    return status;
}

/* What a vector of residuals may be in a flux: psi is between 0 and 1, and so are its coefficients between
 * those of 0 and of 1, as good as that. */
static facet_status size_of_left(const struct facet_solver *s, const struct vector *r, double *left) {
    facet_status status = FACET_OK;
    const int64_t n = s->system.n_free;
    double *values = NULL;
    TRY(ALLOC(values, 2 * n + 1));
    TRY(vector_download(r, values));
    hdg_free_constant(mapped_of(s)->hdg, values + n);
    double sum = 0.0, one = solve_largest(n, values + n);
    for (int64_t i = 0; i < n; i++) sum += fabs(values[i]);
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MAX, 1, &one));
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, &sum));
    *left = one * sum;
done:
    base_free(&values);
    return status;
}

static facet_status find_left(const struct facet_solver *s, double *left) {
    facet_status status = FACET_OK;
    struct solve_control control;
    struct vector r = {0};
    TRY(find_residual(s, &control, &r));
    TRY(size_of_left(s, &r, left));
done:
    vector_destroy(&r);
    return status;
}

/* The same of rounding in the entries of K, which no residual shows. */
static facet_status find_rounding(const struct facet_solver *s, double *left) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct vector r = {0};
    *left = 0.0;
    if (!hdg_rounding_matters(m->hdg)) return FACET_OK;
    TRY(vector_create_like(&m->x, &r));
    TRY(hdg_draw_rounding(m->hdg, 0, &m->x, &r));
    TRY(size_of_left(s, &r, left));
done:
    vector_destroy(&r);
    return status;
}

/* e, in the free numbering of the host, and what it leaves. What the steps do not reach is no failure. */
static facet_status find_correction(const struct facet_solver *s, double *e, double *rest) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct linear_operator *M = m->judge.apply != NULL ? &m->judge : m->M.apply != NULL ? &m->M : NULL;
    struct solve_control control;
    struct solve_report report = {0};
    struct vector r = {0}, x = {0}, after = {0};
    TRY(find_residual(s, &control, &r));
    TRY(vector_create_like(&m->x, &x));
    TRY(vector_create_like(&m->x, &after));
    vector_fill(&x, 0.0);
    status = solve_fgmres(&m->A, M, &r, &x, &control, &report);
    if (status == FACET_NOT_CONVERGED) status = FACET_OK;
    TRY(status);
    operator_apply(&m->A, &x, &after);
    vector_axpby(1.0, &r, -1.0, &after);
    TRY(size_of_left(s, &after, rest));
    TRY(vector_download(&x, e));
    if (m->hdg->weak.n > 0) TRY(hdg_weak_constants_forget(m->hdg, e));
done:
    solve_report_clear(&report);
    vector_destroy(&after);
    vector_destroy(&r);
    vector_destroy(&x);
    return status;
}

/* The solution of s is added to that of e, which has no loads. */
static void add_solution(const struct facet_solver *s, struct hdg_solution *to) {
    struct mapped *m = mapped_of(s);
    const struct hdg *h = m->hdg;
    const struct hdg_solution *from = &m->solution;
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
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const int64_t n = s->system.n_free;
    struct solve_control control;
    struct vector r = {0}, rough = {0};
    double *values = NULL;
    TRY(ALLOC(values, n));
    TRY(find_residual(s, &control, &r));
    TRY(vector_create_like(&m->x, &rough));
    if (hdg_rounding_matters(m->hdg)) {
        TRY(hdg_draw_rounding(m->hdg, draw, &m->x, &rough));
        null_space_remove(control.null_space, SOLVE_RESIDUALS, &rough);
        vector_axpby(1.0, &rough, 1.0, &r);
    }
    TRY(vector_download(&r, values));
    TRY(cholesky_solve(m->cholesky, values, e));
    if (m->hdg->weak.n > 0) TRY(hdg_weak_constants_forget(m->hdg, e));
done:
    base_free(&values);
    vector_destroy(&r);
    vector_destroy(&rough);
    return status;
}

/* Fills `version`: draw >= 0 adds such an error to the solution of s, -1 the correction. */
static facet_status make(const struct facet_solver *s, int draw, struct mapped_version *version) {
    facet_status status = FACET_OK;
    double *e = NULL;
    forget_solution(version);
    TRY(CALLOC(e, s->system.n_free));
    TRY(draw < 0 ? find_correction(s, e, &version->rest) : find_draw(s, draw, e));
    TRY(hdg_recover_error(mapped_of(s)->hdg, e, &version->solution));
    add_solution(s, &version->solution);
    version->known = 1;
done:
    base_free(&e);
    return status;
}

/* Whether errors can be added to the solution, which a factor has made, or another method. */
static int is_correctable(const struct facet_solver *s, int by_factor) {
    if (s->backend != &mapped_backend || s->n_unknowns == 0) return 0;
    const struct mapped *m = mapped_of(s);
    return !m->hdg->stays && (m->cholesky != NULL) == by_factor;
}

/* A factor leaves nothing but rounding. */
facet_status solver_find_better(const struct facet_solver *s, double little, int *version) {
    facet_status status = FACET_OK;
    *version = BACKEND_SOLVED;
    if (!is_correctable(s, 0) || s->method == METHOD_PETSC) return FACET_OK;
    struct mapped_version *better = &mapped_of(s)->versions[BACKEND_BETTER - 1];
    solver_lock(s);
    if (better->n_solves != s->n_solves) {
        forget_solution(better);
        TRY(find_left(s, &better->left));
        better->n_solves = s->n_solves;
    }
    if (better->left <= little) goto done;
    if (!better->known) TRY(make(s, -1, better));
    *version = BACKEND_BETTER;
done:
    solver_unlock(s);
    return status;
}

facet_status solver_find_rest(const struct facet_solver *s, int version, double *rest) {
    facet_status status = FACET_OK;
    *rest = INFINITY;
    if (!is_correctable(s, 0) || s->method == METHOD_PETSC || mapped_of(s)->hdg->weak.n > 0 ||
        s->resolved.data.equation->asymmetric != 0)
        return FACET_OK;
    const struct mapped_version *better = &mapped_of(s)->versions[BACKEND_BETTER - 1];
    solver_lock(s);
    TRY(find_rounding(s, rest));
    *rest += version == BACKEND_BETTER ? better->rest : better->left;
done:
    solver_unlock(s);
    return status;
}

facet_status solver_find_drawn(const struct facet_solver *s, int draw, int *version) {
    facet_status status = FACET_OK;
    *version = BACKEND_SOLVED;
    if (!is_correctable(s, 1)) return FACET_OK;
    struct mapped_version *drawn = &mapped_of(s)->versions[BACKEND_DRAWN - 1 + draw];
    solver_lock(s);
    if (!drawn->known || drawn->n_solves != s->n_solves) TRY(make(s, draw, drawn));
    drawn->n_solves = s->n_solves;
    *version = BACKEND_DRAWN + draw;
done:
    solver_unlock(s);
    return status;
}
