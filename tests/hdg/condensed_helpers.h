/* What the tests of the condensed continuous method share: solving by it, continuity, what its modes are
 * combinations of, and its matrix in every form. */
#ifndef FACET_TESTS_CONDENSED_HELPERS_H
#define FACET_TESTS_CONDENSED_HELPERS_H

#include "hdg_helpers.h"

#include <lapacke.h>

#include "hdg/condensed.h"
#include "poly/basis.h"
#include "poly/modal.h"

static inline facet_status try_condensed(const struct setup *p, struct solved *s) {
    struct setup condensed = *p;
    condensed.discretization = "condensed";
    condensed.tau = NULL; /* it has none */
    condensed.tau_hat = 0.0;
    return try_solve(&condensed, s);
}

static inline void condense(const struct setup *p, struct solved *s) {
    ok(try_condensed(p, s));
}

static inline double largest_difference(const struct solved *a, const struct solved *b) {
    const struct hdg *h = mapped_of(a->solver)->hdg;
    double largest = 0.0;
    for (int k = 0; k < h->data.mesh->n_blocks; k++)
        for (int64_t i = 0; i < (int64_t)h->data.mesh->blocks[k].count * h->space.blocks[k].N; i++)
            largest = fmax(largest, fabs(mapped_of(a->solver)->solution.u[k][i] -
                                         mapped_of(b->solver)->solution.u[k][i]));
    return largest;
}

/* The largest jump of u across the faces. */
static inline double largest_jump(const struct solved *s) {
    const struct hdg *h = mapped_of(s->solver)->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    double largest = 0.0;
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        double values[2][400];
        int n = 0;
        if (mesh->face_cells[2 * f + 1] < 0) continue;
        for (int side = 0; side < 2; side++) {
            int32_t cell = mesh->face_cells[2 * f + side];
            const struct mesh_block *b = mesh_block_of(mesh, cell);
            int block = (int)(b - mesh->blocks), local = mesh->face_locals[2 * f + side],
                n_faces = shape_n_faces(b->shape);
            int orientation = b->orientations[(int64_t)(cell - b->first) * n_faces + local];
            const struct hdg_table *table = &h->space.blocks[block].face.side[local][orientation];
            n = table->n;
            assert_true(n <= 400);
            ok(hdg_evaluate(h, &mapped_of(s->solver)->solution, HDG_U, block, 1, &cell, table, values[side]));
        }
        for (int p = 0; p < n; p++) largest = fmax(largest, fabs(values[0][p] - values[1][p]));
    }
    return largest;
}

/* V (M x M) with modes = V phi, by a rule that is exact. */
static inline double *combination(enum shape shape, int k) {
    int M = basis_size(shape, k);
    struct rule rule;
    ok(rule_create(shape, 2 * k, &rule));
    size_t n = (size_t)(rule.n * M);
    double *modes = test_malloc(n * sizeof *modes), *phi = test_malloc(n * sizeof *phi),
           *V = test_calloc((size_t)(M * M), sizeof *V);
    ok(modal_eval(shape, k, NULL, rule.n, rule.x, modes, NULL));
    ok(basis_eval(shape, k, rule.n, rule.x, phi, NULL));
    for (int q = 0; q < rule.n; q++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) V[i * M + j] += rule.w[q] * modes[q * M + i] * phi[q * M + j];
    rule_destroy(&rule);
    test_free(modes);
    test_free(phi);
    return V;
}

/* The same combination gives values and gradients at a point. */
static inline void check_combination(enum shape shape, int k, const double *V, const double *x) {
    int M = basis_size(shape, k), dim = shape_dim(shape);
    size_t n = (size_t)M, bytes = sizeof(double);
    double *modes = test_malloc(n * bytes), *phi = test_malloc(n * bytes), *grad = test_malloc(3 * n * bytes),
           *phi_grad = test_malloc(3 * n * bytes);
    ok(modal_eval(shape, k, NULL, 1, x, modes, grad));
    ok(basis_eval(shape, k, 1, x, phi, phi_grad));
    for (int i = 0; i < M; i++) {
        double value = 0, gradient[3] = {0};
        for (int j = 0; j < M; j++) {
            value += V[i * M + j] * phi[j];
            for (int d = 0; d < dim; d++) gradient[d] += V[i * M + j] * phi_grad[j * dim + d];
        }
        near(modes[i], value, 1e-11);
        for (int d = 0; d < dim; d++) near(grad[i * dim + d], gradient[d], 1e-9 * (1 + fabs(gradient[d])));
    }
    test_free(modes);
    test_free(phi);
    test_free(grad);
    test_free(phi_grad);
}

/* Dense copy of a sparse matrix. */
static inline double *dense(const struct csr *A) {
    double *D = test_calloc((size_t)(A->n * A->n), sizeof *D);
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            if (e > A->offsets[i]) assert_true(A->columns[e] > A->columns[e - 1]);
            D[i * A->n + A->columns[e]] = A->values[e];
        }
    return D;
}

static inline void compare_products(const struct solved *s) {
    const struct hdg *h = mapped_of(s->solver)->hdg;
    struct hdg_system system;
    struct csr csr, diagonal;
    hdg_describe(h, &system);
    int64_t n = system.n_free;
    ok(hdg_assemble(h, &csr));
    ok(trace_block_diagonal(&h->trace, &h->matrices, &diagonal));
    double *A = dense(&csr), *B = dense(&diagonal), *x = test_malloc((size_t)n * sizeof *x),
           *y = test_malloc((size_t)n * sizeof *y), scale = 0;
    uint32_t seed = 3;
    for (int64_t i = 0; i < n; i++) {
        x[i] = random_signed(&seed);
        scale = fmax(scale, A[i * (n + 1)]);
        assert_true(h->singular || A[i * (n + 1)] > 0);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) near(A[i * n + j], A[j * n + i], 1e-14 * scale);
    for (int64_t b = 0; b < system.n_blocks; b++)
        for (int64_t i = system.block_offsets[b]; i < system.block_offsets[b + 1]; i++)
            for (int64_t j = 0; j < n; j++) {
                int inside = j >= system.block_offsets[b] && j < system.block_offsets[b + 1];
                near(B[i * n + j], inside ? A[i * n + j] : 0.0, 0.0);
            }
    struct linear_operator K;
    struct vector in, out;
    ok(hdg_operator_create(h, &K));
    assert_true(trace_operator_bytes(&K) > 0);
    ok(vector_create(h->device, n, &in));
    ok(vector_create(h->device, n, &out));
    ok(vector_upload(&in, x));
    operator_apply(&K, &in, &out);
    ok(vector_download(&out, y));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += A[i * n + j] * x[j];
        near(y[i], sum, 1e-12 * scale);
    }
    operator_destroy(&K);
    vector_destroy(&in);
    vector_destroy(&out);
    if (h->singular) { /* K 1 = 0, to the last bit or two */
        hdg_free_constant(h, x);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n; j++) sum += A[i * n + j] * x[j];
            near(sum, 0, 1e-14 * scale);
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) A[i * n + j] += scale / (double)n * x[i] * x[j];
    }
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, A, (lapack_int)n), 0);
    csr_destroy(&csr);
    csr_destroy(&diagonal);
    test_free(A);
    test_free(B);
    test_free(x);
    test_free(y);
}

#endif
