/* The problem whose stages are timed, and the trace products. Bytes are the fewest a product must move: its
 * matrix read once, x read once, y written once. Operations are two for every entry of the matrix that is
 * used. All times of a row, the triad's among them, come from the same loop, rivals in turn, best of all
 * passes. */
#include "bench/subject.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/papers/products.h"
#include "poly/basis.h"

#define PASSES 25
#define CSR    (N_PRODUCTS - 1)

const struct subject_shape subject_quads = {"quad", SHAPE_QUAD, 1};
const struct subject_shape subject_triangles = {"triangle", SHAPE_TRIANGLE, 2};
const struct subject_shape subject_tets = {"tet", SHAPE_TET, 6};
const struct subject_shape subject_hexes = {"hex", SHAPE_HEX, 1};

static const struct {
    enum product_form form;
    const char *name;
} forms[N_PRODUCTS] = {
    {PRODUCT_CELLS, "cells"}, {PRODUCT_FACETS, "facets"}, {PRODUCT_ELL, "ELL"}, {PRODUCT_CSR, "CSR"}};

int subject_cells(const struct subject_shape *shape, double bytes_per_cell, double bytes) {
    return (int)ceil(pow(bytes / (bytes_per_cell * shape->per_brick), 1.0 / shape_dim(shape->shape)));
}

int subject_matrix_cells(const struct subject_shape *shape, int degree, double bytes) {
    int n = shape_n_faces(shape->shape) * basis_size(shape_face_shape(shape->shape, 0), degree);
    return subject_cells(shape, 4.0 * n * (n + 1), bytes);
}

void subject_cells_text(const struct subject_shape *shape, int cells, char *text, size_t text_bytes) {
    int n = snprintf(text, text_bytes, "%d^%d", cells, shape_dim(shape->shape));
    if (shape->per_brick > 1) snprintf(text + n, text_bytes - (size_t)n, " x %d", shape->per_brick);
}

facet_box subject_box(const struct subject_shape *shape, int cells) {
    return (facet_box){.size = sizeof(facet_box),
                       .dim = shape_dim(shape->shape),
                       .upper = {1.0, 1.0, 1.0},
                       .cells = {cells, cells, cells},
                       .shape = shape->name};
}

/* ---------------------------------------------------------------------------------------------- stages */

void subject_destroy(struct subject *s) {
    operator_destroy(&s->facets);
    facet_solver_destroy(&s->solver);
    facet_problem_destroy(&s->problem);
    facet_mesh_destroy(&s->mesh);
    facet_context_destroy(&s->context);
}

facet_status subject_finish(int degree, struct subject *s) {
    facet_status status = FACET_OK;
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = degree;
    options.method = "cg";
    options.preconditioner = "none";
    TRY(facet_problem_set_dirichlet(s->problem, "rest", "x"));
    TRY(facet_problem_set_source(s->problem, "1"));
    TRY(facet_solver_create(s->problem, &options, &s->solver));
done:
    return status;
}

facet_status subject_create_bare(const struct bench_options *bench, const struct subject_shape *shape,
                                 int cells, int degree, struct subject *s) {
    facet_status status = FACET_OK;
    facet_box box = subject_box(shape, cells);
    TRY(facet_context_create(bench->device, &s->context));
    TRY(facet_mesh_create_box(s->context, &box, &s->mesh));
    TRY(facet_problem_create(s->context, s->mesh, FACET_DIFFUSION, &s->problem));
    TRY(subject_finish(degree, s));
    vector_fill(&mapped_of(s->solver)->b, 1.0);
done:
    return status;
}

facet_status subject_create(const struct bench_options *bench, const struct subject_shape *shape, int cells,
                            int degree, struct subject *s) {
    facet_status status = FACET_OK;
    TRY(subject_create_bare(bench, shape, cells, degree, s));
    TRY(product_create(&mapped_of(s->solver)->hdg->trace, &mapped_of(s->solver)->hdg->matrices,
                       PRODUCT_FACETS, &s->facets));
done:
    return status;
}

facet_status subject_run(struct subject *s, enum stage stage, double *seconds) {
    facet_status status = FACET_OK;
    struct hdg *hdg = mapped_of(s->solver)->hdg, *fresh = NULL;
    struct csr csr = {0};
    if (stage == STAGE_CONDENSE)
        TRY(hdg_create(s->context->device, &s->solver->resolved.data, s->solver->options.degree, NULL,
                       &s->context->monitor, &fresh));
    double begin = base_seconds();
    switch (stage) {
    case STAGE_CONDENSE:
        TRY(hdg_condense(fresh));
        break;
    case STAGE_AGAIN:
        TRY(hdg_condense(hdg));
        break;
    case STAGE_ASSEMBLE:
        TRY(trace_assemble(&hdg->trace, &hdg->matrices, &csr));
        break;
    case STAGE_CELLS:
        operator_apply(&mapped_of(s->solver)->A, &mapped_of(s->solver)->b, &mapped_of(s->solver)->x);
        break;
    case STAGE_FACETS:
        operator_apply(&s->facets, &mapped_of(s->solver)->b, &mapped_of(s->solver)->x);
        break;
    case STAGE_LOAD:
        TRY(hdg_load(hdg, NULL, &mapped_of(s->solver)->solution, &mapped_of(s->solver)->b));
        break;
    case STAGE_RECOVER:
        TRY(hdg_recover(hdg, &mapped_of(s->solver)->solution));
        break;
    case STAGE_POSTPROCESS:
        TRY(hdg_postprocess(hdg, &mapped_of(s->solver)->solution));
        break;
    }
    *seconds = base_seconds() - begin;
done:
    csr_destroy(&csr);
    hdg_destroy(&fresh);
    return status;
}

/* ---------------------------------------------------------------------------------------------- products */

const char *products_name(int form) {
    return forms[form].name;
}

/* Symmetric matrices of no meaning: a product takes as long whatever the numbers are. */
static facet_status fill_matrices(const struct device *device, struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    double *host = NULL;
    int64_t n = matrices->n[0], count = matrices->n_batches[0] * (n * (n + 1) / 2) * matrices->lanes;
    TRY(ALLOC(host, count));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < count; i++) host[i] = 1.0 / (double)(1 + i % 13);
    TRY(device_upload(device, matrices->values[0], host, (size_t)count * sizeof *host));
done:
    base_free(&host);
    return status;
}

static facet_status time_forms(struct linear_operator *A, int n_forms, struct triad *triad,
                               struct products *m) {
    facet_status status = FACET_OK;
    struct vector x = {0}, y = {0};
    TRY(vector_create(A[0].device, A[0].n, &x));
    TRY(vector_create(A[0].device, A[0].n, &y));
    vector_fill(&x, 1.0);
    vector_fill(&y, 0.0);
    double best = INFINITY;
    for (int f = 0; f < n_forms; f++) m->seconds[f] = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        best = fmin(best, triad_run(triad));
        for (int f = 0; f < n_forms; f++) {
            double begin = base_seconds();
            operator_apply(&A[f], &x, &y);
            m->seconds[f] = fmin(m->seconds[f], base_seconds() - begin);
        }
        TRY(base_check_interrupt());
    }
    m->triad = triad_bytes(triad) / best;
done:
    vector_destroy(&x);
    vector_destroy(&y);
    return status;
}

facet_status products_measure(const struct device *device, const struct subject_shape *shape, int n_forms,
                              struct triad *triad, struct products *m) {
    facet_status status = FACET_OK;
    facet_box box = subject_box(shape, m->cells);
    struct facet_mesh *mesh = NULL;
    struct trace_space space = {0};
    struct trace_matrices matrices = {0};
    struct linear_operator A[N_PRODUCTS] = {0};
    uint8_t *eliminated = NULL;
    TRY(mesh_create_box(&box, &mesh));
    TRY(CALLOC(eliminated, mesh->n_faces));
    TRY(trace_space_create(mesh, m->degree, 1, eliminated, &space));
    TRY(trace_matrices_create(device, &space, 0, &matrices));
    TRY(fill_matrices(device, &matrices));
    m->n_unknowns = space.n_free;
    for (int f = 0; f < n_forms; f++) {
        TRY(product_create(&space, &matrices, forms[f].form, &A[f]));
        m->bytes[f] = product_bytes(&A[f]) + 16.0 * (double)space.n_free;
    }
    double n = matrices.n[0];
    m->operations[0] = m->operations[1] = 2.0 * n * n * (double)mesh->blocks[0].count;
    if (n_forms > CSR)
        m->operations[2] = m->operations[CSR] = product_bytes(&A[CSR]) / 6.0; /* 12 bytes an entry */
    TRY(time_forms(A, n_forms, triad, m));
done:
    for (int f = 0; f < N_PRODUCTS; f++) operator_destroy(&A[f]);
    trace_matrices_destroy(&matrices);
    trace_space_destroy(&space);
    base_free(&eliminated);
    mesh_destroy(&mesh);
    return status;
}
