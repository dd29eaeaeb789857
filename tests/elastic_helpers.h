/* What the tests of elasticity share: a body described by texts, condensed and solved in one call. */
#ifndef FACET_TESTS_ELASTIC_HELPERS_H
#define FACET_TESTS_ELASTIC_HELPERS_H

#include <stdio.h>

#include "base/run.h"
#include "hdg/hdg.h"
#include "solid_helpers.h"

/* kind: "fixed" (displacement), "traction", "natural" (gradient-pressure), or the axes whose component is
 * fixed, the others having tractions: "x", "yz". g, t: dim texts each; g[0] NULL: from the exact solution. */
struct body_condition {
    const char *part, *kind;
    const char *g[3], *t[3];
};
struct body {
    struct facet_mesh *mesh;
    int degree;
    int gradient; /* formulation */
    enum hdg_plane plane;
    const char *mu, *lambda; /* NULL: 1 */
    const char *exact[3], *source[3];
    const char *tau, *device;
    double tau_hat;
    struct trace_extras extras;
    struct body_condition conditions[7]; /* ends with one without a part; other parts are fixed, exact */
};
struct answer {
    const struct device *device;
    struct hdg_data data;
    struct field *mu, *lambda, *exact, *source, *tau, *g[8], *t[8];
    const struct field *moduli[2];
    struct hdg_condition conditions[8];
    int32_t *face_condition;
    struct hdg *hdg;
    struct hdg_solution solution;
    double *F, *x;
    struct hdg_errors errors;
    double conservation;
    int iterations;
};

static inline void answer_free(struct answer *a) {
    hdg_solution_destroy(&a->solution);
    hdg_destroy(&a->hdg);
    struct field **fields[] = {&a->mu, &a->lambda, &a->exact, &a->source, &a->tau};
    for (int i = 0; i < 5; i++) field_destroy(fields[i]);
    for (int i = 0; i < 8; i++) {
        field_destroy(&a->g[i]);
        field_destroy(&a->t[i]);
    }
    base_free(&a->face_condition);
    base_free(&a->F);
    base_free(&a->x);
}

static inline facet_status body_condition(const struct body *b, int k, struct answer *a) {
    facet_status status = FACET_OK;
    const struct body_condition *from = &b->conditions[k];
    struct hdg_condition *to = &a->conditions[k];
    int dim = b->mesh->dim;
    *to = (struct hdg_condition){.kind = HDG_MECHANICAL, .part = from->part};
    if (strcmp(from->kind, "natural") == 0)
        to->kind = HDG_GRADIENT_PRESSURE;
    else if (strcmp(from->kind, "traction") != 0)
        for (int c = 0; c < dim; c++)
            to->fixed[c] = strcmp(from->kind, "fixed") == 0 || strchr(from->kind, "xyz"[c]) != NULL;
    if (from->g[0] != NULL) TRY(field_create_texts(dim, from->g, 0, NULL, &a->g[k]));
    if (from->t[0] != NULL) TRY(field_create_texts(dim, from->t, 0, NULL, &a->t[k]));
    to->g = a->g[k];
    to->t = a->t[k];
    const struct mesh_group *group = mesh_find_group(b->mesh, from->part, dim - 1);
    assert_non_null(group);
    for (int32_t i = 0; i < group->count; i++) a->face_condition[group->ids[i]] = k;
done:
    return status;
}

static inline facet_status body_describe(const struct body *b, struct answer *a) {
    facet_status status = FACET_OK;
    const char *one = "1";
    int n = 0;
    TRY(device_find(b->device, &a->device));
    TRY(field_create_texts(1, b->mu != NULL ? &b->mu : &one, 0, NULL, &a->mu));
    TRY(field_create_texts(1, b->lambda != NULL ? &b->lambda : &one, 0, NULL, &a->lambda));
    if (b->exact[0] != NULL) TRY(field_create_texts(b->mesh->dim, b->exact, 0, NULL, &a->exact));
    if (b->source[0] != NULL) TRY(field_create_texts(b->mesh->dim, b->source, 0, NULL, &a->source));
    if (b->tau != NULL) TRY(field_create_texts(1, &b->tau, 0, NULL, &a->tau));
    a->moduli[0] = a->mu;
    a->moduli[1] = a->lambda;
    TRY(ALLOC(a->face_condition, b->mesh->n_faces));
    while (b->conditions[n].part != NULL) n++;
    a->conditions[n] = (struct hdg_condition){.kind = HDG_MECHANICAL, .fixed = {1, 1, 1}, .part = "rest"};
    for (int64_t f = 0; f < b->mesh->n_faces; f++)
        a->face_condition[f] = b->mesh->face_cells[2 * f + 1] < 0 ? n : -1;
    for (int k = 0; k < n; k++) TRY(body_condition(b, k, a));
    a->data = (struct hdg_data){.mesh = b->mesh,
                                .equation = b->gradient ? &equation_gradient : &equation_symmetric,
                                .plane = b->plane,
                                .n_regions = 1,
                                .mu = &a->moduli[0],
                                .lambda = &a->moduli[1],
                                .exact = a->exact,
                                .source = a->source != NULL ? (const struct field *const *)&a->source : NULL,
                                .tau = a->tau,
                                .tau_hat = b->tau_hat,
                                .conditions = a->conditions,
                                .face_condition = a->face_condition,
                                .extras = b->extras};
done:
    return status;
}

/* The trace: Cholesky, which preconditions FGMRES when the matrix is not symmetric. */
static inline facet_status body_trace(struct answer *a) {
    facet_status status = FACET_OK;
    struct hdg_system system;
    struct csr csr = {0};
    struct cholesky *factor = NULL;
    struct linear_operator A = {0}, M = {0};
    struct vector b = {0}, x = {0};
    struct solve_control control = {.rtol = 1e-14, .max_iterations = 400, .restart = 200};
    struct solve_report report = {0};
    double bytes;
    hdg_describe(a->hdg, &system);
    TRY(trace_assemble(&a->hdg->trace, &a->hdg->matrices, &csr));
    TRY(hdg_operator_create(a->hdg, &A));
    TRY(cholesky_analyze(&csr, system.n_blocks, system.block_offsets, -1, &factor, &bytes));
    TRY(cholesky_factor(factor, &csr));
    TRY(vector_create(a->device, system.n_free, &b));
    TRY(vector_create(a->device, system.n_free, &x));
    TRY(vector_upload(&b, a->F));
    vector_fill(&x, 0.0);
    if (a->hdg->nonsymmetric) {
        TRY(operator_create_cholesky(a->device, system.n_free, &factor, &M));
        status = solve_fgmres(&A, &M, &b, &x, &control, &report);
    } else {
        status = solve_direct(&A, factor, &b, &x, &control, &report);
    }
    if (status == FACET_NOT_CONVERGED && report.residual < 1e-11) status = FACET_OK; /* rounding */
    a->iterations = report.iterations;
    if (status != FACET_OK) goto done;
    TRY(vector_download(&x, a->x));
done:
    solve_report_clear(&report);
    vector_destroy(&b);
    vector_destroy(&x);
    operator_destroy(&A);
    operator_destroy(&M);
    cholesky_destroy(&factor);
    csr_destroy(&csr);
    return status;
}

/* On failure everything is freed again. */
static inline facet_status body_try(const struct body *b, struct answer *a) {
    facet_status status = FACET_OK;
    struct hdg_system system;
    memset(a, 0, sizeof *a);
    TRY(body_describe(b, a));
    TRY(hdg_create(a->device, &a->data, b->degree, NULL, NULL, &a->hdg));
    TRY(hdg_condense(a->hdg));
    TRY(hdg_solution_create(a->hdg, &a->solution));
    hdg_describe(a->hdg, &system);
    TRY(ALLOC(a->F, system.n_free));
    TRY(ALLOC(a->x, system.n_free));
    TRY(load_to_host(a->hdg, &a->solution, a->F));
    if (system.n_free > 0) TRY(body_trace(a));
    TRY(recover_from(a->hdg, a->x, &a->solution));
    if (b->gradient) TRY(hdg_postprocess(a->hdg, &a->solution));
    if (b->exact[0] != NULL) TRY(hdg_measure_errors(a->hdg, &a->solution, &a->errors));
    struct solve_balance balance;
    TRY(hdg_conservation(a->hdg, &a->solution, &balance));
    a->conservation = balance.cells;
done:
    if (status != FACET_OK) answer_free(a);
    return status;
}

static inline void body_solve(const struct body *b, struct answer *a) {
    ok(body_try(b, a));
}

#endif
