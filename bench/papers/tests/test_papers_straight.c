/* The paper's operators in three nodal bases and in modes, against the dense Schur complement of Table 1
 * built in the same basis; their preconditioners, their cost, and solves with them. */
#include "bench/papers/box_plain.h"
#include "bench/papers/straight.h"
#include "box_helpers.h"

static const struct device *cpu(void) {
    const struct device *device;
    ok(device_find("cpu", &device));
    return device;
}

static void apply(const struct linear_operator *A, const double *x, double *y) {
    struct vector vx = {.device = A->device, .n = A->n, .data = (double *)(uintptr_t)x};
    struct vector vy = {.device = A->device, .n = A->n, .data = y};
    operator_apply(A, &vx, &vy);
}

/* ------------------------------------------------------------------------------------------ dense */

/* Values (and derivatives) of the Lagrange functions of the nodes at x. */
static void lagrange(int n, const double *nodes, double x, double *values, double *slopes) {
    for (int i = 0; i < n; i++) {
        values[i] = 1;
        slopes[i] = 0;
        for (int j = 0; j < n; j++) {
            double product = 1 / (nodes[i] - nodes[j]);
            if (j == i) continue;
            values[i] *= (x - nodes[j]) / (nodes[i] - nodes[j]);
            for (int k = 0; k < n; k++)
                if (k != i && k != j) product *= (x - nodes[k]) / (nodes[i] - nodes[k]);
            slopes[i] += product;
        }
    }
}

static void make_nodal(const struct box_straight *s, enum box_basis basis, int n, double tau_hat,
                       struct line_matrices *m) {
    const double *nodes = box_straight_nodes(s);
    double x[64], w[64], p[40], dp[40];
    memset(m, 0, sizeof *m);
    ok(rule_gauss_jacobi(n + 1, 0, 0, x, w));
    for (int q = 0; q <= n; q++) {
        lagrange(n, nodes, x[q], p, dp);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                m->M[i * n + j] += w[q] * p[i] * p[j];
                m->D[i * n + j] += w[q] * p[i] * dp[j];
            }
    }
    if (basis == BOX_COLLOCATED) {
        memset(m->M, 0, sizeof m->M);
        ok(rule_gauss_lobatto(n, 0, 0, x, w));
        for (int i = 0; i < n; i++) m->M[i * n + i] = w[i];
    }
    for (int end = 0; end < 2; end++) {
        lagrange(n, nodes, 2.0 * end - 1, p, dp);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) m->E[i * n + j] += tau_hat * p[i] * p[j];
            m->B[i * 2 + end] = -tau_hat * p[i];
            m->C[i * 2 + end] = p[i] * (2 * end - 1);
        }
        m->G[3 * end] = tau_hat;
    }
}

/* Table 1 with all Kronecker products in full, q and u eliminated; r = K_e v. Entry (i, j) of a product of
 * three matrices is that of the indices by direction. */
static void dense_cell_apply(const struct boxhdg *h, const struct line_matrices *m, const int at[3],
                             const double *v, double *r) {
    const struct box_grid *g = &h->grid;
    int dim = g->dim, n = h->n, N = (int)h->cell_size, fs = (int)h->face_size, stride[3] = {1, n, n * n};
    int inner = N * (1 + dim), faces = 2 * dim * fs;
    double *A = calloc((size_t)inner * (size_t)inner, sizeof *A), V = 1;
    double *R = calloc((size_t)inner * (size_t)faces, sizeof *R), *x = calloc((size_t)inner, sizeof *x);
    lapack_int *pivots = malloc((size_t)inner * sizeof *pivots);
    double k = box_conductivity(g, box_cell(g, at)), lambda = box_reaction(g, box_cell(g, at));
    for (int d = 0; d < dim; d++) V *= g->widths[d][at[d]] / 2;
    for (int j = 0; j < faces; j++) r[j] = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double mass = 1;
            for (int d = 0; d < dim; d++) mass *= m[d].M[i / stride[d] % n * n + j / stride[d] % n];
            A[i * inner + j] += lambda * V * mass;
            for (int d = 0; d < dim; d++) {
                double rest = 1, half = g->widths[d][at[d]] / 2, a = V / half / half;
                int li = i / stride[d] % n, lj = j / stride[d] % n, row = N * (1 + d) + j;
                for (int t = 0; t < dim; t++)
                    if (t != d) rest *= m[t].M[i / stride[t] % n * n + j / stride[t] % n];
                A[i * inner + j] += k * a * rest * m[d].E[li * n + lj];
                A[i * inner + row] = A[row * inner + i] = -half * a * rest * m[d].D[li * n + lj];
                A[(N * (1 + d) + i) * inner + row] = -V * mass / k;
                /* a face function is j without its index along d: take each once, at lj = 0 */
                if (lj > 0) continue;
                int face = j % stride[d] + j / (stride[d] * n) * stride[d];
                for (int side = 0; side < 2; side++) {
                    int column = (2 * d + side) * fs + face;
                    R[i * faces + column] += k * a * rest * m[d].B[li * 2 + side];
                    R[(N * (1 + d) + i) * faces + column] += half * a * rest * m[d].C[li * 2 + side];
                    if (li > 0) continue;
                    int other = (2 * d + side) * fs + i % stride[d] + i / (stride[d] * n) * stride[d];
                    r[other] += k * a * rest * m[d].G[3 * side] * v[column];
                }
            }
        }
    for (int i = 0; i < inner; i++)
        for (int j = 0; j < faces; j++) x[i] += R[i * faces + j] * v[j];
    assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, inner, 1, A, inner, pivots, x, inner), 0);
    for (int i = 0; i < inner; i++)
        for (int j = 0; j < faces; j++) r[j] -= R[i * faces + j] * x[i];
    free(A);
    free(R);
    free(x);
    free(pivots);
}

static void dense_apply(const struct boxhdg *h, const struct box_straight *s, enum box_basis basis,
                        const double *x, double *y) {
    const struct box_grid *g = &h->grid;
    int dim = g->dim, fs = (int)h->face_size;
    double *v = malloc((size_t)(2 * dim * fs) * sizeof *v), *r = malloc((size_t)(2 * dim * fs) * sizeof *r);
    struct line_matrices *m = malloc(3 * sizeof *m);
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        for (int d = 0; d < dim; d++) make_nodal(s, basis, h->n, boxhdg_line(h, d, at[d])->rho, &m[d]);
        for (int f = 0; f < 2 * dim; f++)
            memcpy(v + f * fs, x + box_face(g, at, f / 2, f % 2) * fs, (size_t)fs * sizeof *v);
        dense_cell_apply(h, m, at, v, r);
        for (int f = 0; f < 2 * dim; f++)
            for (int i = 0; i < fs; i++) y[box_face(g, at, f / 2, f % 2) * fs + i] += r[f * fs + i];
    }
    boxhdg_add_dirichlet(h, NULL, y);
    free(v);
    free(r);
    free(m);
}

static const enum box_basis bases[3] = {BOX_LOBATTO, BOX_COLLOCATED, BOX_GAUSS};

/* TP is the dense matrix; TPT is TP between the transformations, and with exact mass the operator of
 * boxhdg/hdg_cells.h. */
static void check_operators(const struct box_kind *kind) {
    struct boxhdg *h = make_box(kind);
    size_t bytes = (size_t)h->n_trace * sizeof(double);
    double *x = random_vector(h->n_trace, 3), *modes = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes);
    double *w = malloc(bytes);
    for (int b = 0; b < 3; b++) {
        struct box_straight *s;
        struct linear_operator tp, tpt;
        ok(box_straight_create(h, bases[b], &s));
        ok(box_straight_operator(cpu(), s, BOX_TP, &tp));
        ok(box_straight_operator(cpu(), s, BOX_TPT, &tpt));
        apply(&tp, x, y); /* Dirichlet faces are random: taken as zero */
        boxhdg_add_dirichlet(h, NULL, x);
        if (h->cell_size * (1 + h->grid.dim) <= 260) {
            dense_apply(h, s, bases[b], x, z);
            close_to(h->n_trace, y, z, 1e-12, "HDG-TP");
        }
        box_straight_to_modes(s, BOX_TRACE, x, modes);
        apply(&tpt, modes, z);
        box_straight_to_nodes(s, BOX_RESIDUAL, z, w);
        close_to(h->n_trace, w, y, 1e-12, "HDG-TPT");
        box_straight_to_modes(s, BOX_RESIDUAL, w, y);
        close_to(h->n_trace, y, z, 1e-12, "residuals there and back");
        box_straight_to_nodes(s, BOX_TRACE, modes, w);
        close_to(h->n_trace, w, x, 1e-12, "traces there and back");
        if (bases[b] != BOX_COLLOCATED) {
            ok(boxhdg_apply(h, modes, w));
            close_to(h->n_trace, z, w, 1e-12, "plain modes");
        }
        operator_destroy(&tp);
        operator_destroy(&tpt);
        box_straight_destroy(&s);
    }
    double *all[] = {x, modes, y, z, w};
    for (int i = 0; i < 5; i++) free(all[i]);
    boxhdg_destroy(&h);
}

static void test_operators(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 1; p <= 12; p++)
            for (int way = 0; way < 2; way++) {
                struct box_kind kind = {.dim = dim, .degree = p, .cells = {3, 2, 2}, .stretch = 1.4};
                if (dim == 3) kind.cells[1] = kind.cells[2] = 1 + way;
                if (way == 0) kind.sides[dim - 1] = BOX_PERIODIC, kind.tau = 25;
                if (way == 1) kind.mixed = 1, kind.varying = 1, kind.reaction = 3, kind.lengths[0] = 5;
                check_operators(&kind);
            }
}

/* ------------------------------------------------------------------------------------------ conditions */

static void test_preconditioners(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++) {
        struct box_kind kind = {
            .dim = dim, .degree = 3, .cells = {2, 2, 2}, .stretch = 1.5, .mixed = 1, .varying = 1};
        struct boxhdg *h = make_box(&kind);
        double *e = calloc((size_t)h->n_trace, sizeof *e), *y = calloc((size_t)h->n_trace, sizeof *e);
        double *z = calloc((size_t)h->n_trace, sizeof *e);
        for (int b = 0; b < 3; b++)
            for (int algorithm = 0; algorithm < 2; algorithm++) {
                struct box_straight *s;
                struct linear_operator K, M[2];
                ok(box_straight_create(h, bases[b], &s));
                ok(box_straight_operator(cpu(), s, algorithm, &K));
                for (int i = 0; i < 2; i++)
                    ok(box_straight_preconditioner(cpu(), s, algorithm, i ? BOX_BLOCK : BOX_DIAGONAL, &M[i]));
                for (int64_t i = 0; i < h->n_trace; i += 1 + i % 3) {
                    int64_t face = i / h->face_size * h->face_size;
                    e[i] = 1;
                    apply(&K, e, y);
                    apply(&M[0], e, z);
                    near(z[i] * y[i], y[i] != 0 ? 1 : 0, 1e-11);
                    for (int64_t j = 0; j < h->n_trace; j++) {
                        if (j != i) assert_true(z[j] == 0);
                        if (j < face || j >= face + h->face_size) y[j] = 0; /* the block of this face */
                    }
                    apply(&M[1], y, z);
                    int fixed = y[i] == 0;
                    for (int64_t j = 0; j < h->n_trace; j++) near(z[j], j == i && !fixed, 1e-11);
                    e[i] = 0;
                }
                operator_destroy(&K);
                operator_destroy(&M[0]);
                operator_destroy(&M[1]);
                box_straight_destroy(&s);
            }
        free(e);
        free(y);
        free(z);
        boxhdg_destroy(&h);
    }
}

/* Conjugate gradients: nodes with block and modes with trans are one method, and give one solution. */
static void test_solves(void **state) {
    (void)state;
    struct box_kind kind = {.dim = 3, .degree = 5, .cells = {3, 3, 3}, .tau = 25};
    struct boxhdg *h = make_box(&kind);
    struct box_straight *s;
    struct vector b, x;
    double *F = random_vector(h->n_trace, 8), *modes = malloc((size_t)h->n_trace * sizeof *modes);
    double *answers[4];
    int iterations[4];
    boxhdg_add_dirichlet(h, NULL, F);
    ok(box_straight_create(h, BOX_COLLOCATED, &s));
    ok(vector_create(cpu(), h->n_trace, &b));
    ok(vector_create(cpu(), h->n_trace, &x));
    for (int way = 0; way < 4; way++) { /* unprec, diag, block, trans */
        enum box_algorithm algorithm = way == 3 ? BOX_TPT : BOX_TP;
        struct linear_operator K, M = {0};
        struct solve_control control = {.rtol = 1e-12, .max_iterations = 2000};
        struct solve_report report = {0};
        ok(box_straight_operator(cpu(), s, algorithm, &K));
        if (way > 0)
            ok(box_straight_preconditioner(cpu(), s, algorithm, way == 1 ? BOX_DIAGONAL : BOX_BLOCK, &M));
        memcpy(b.data, F, (size_t)h->n_trace * sizeof *F);
        if (way == 3) box_straight_to_modes(s, BOX_RESIDUAL, F, b.data);
        memset(x.data, 0, (size_t)h->n_trace * sizeof *F);
        ok(solve_cg(&K, way > 0 ? &M : NULL, &b, &x, &control, &report));
        iterations[way] = report.iterations;
        answers[way] = malloc((size_t)h->n_trace * sizeof *F);
        memcpy(answers[way], x.data, (size_t)h->n_trace * sizeof *F);
        if (way == 3) box_straight_to_nodes(s, BOX_TRACE, x.data, answers[way]);
        close_to(h->n_trace, answers[way], answers[0], 1e-9, "solution");
        solve_report_clear(&report);
        operator_destroy(&K);
        operator_destroy(&M);
    }
    assert_true(iterations[2] < iterations[1] && iterations[2] < iterations[0]);
    assert_true(abs(iterations[2] - iterations[3]) <= 4);
    for (int way = 0; way < 4; way++) free(answers[way]);
    free(F);
    free(modes);
    vector_destroy(&b);
    vector_destroy(&x);
    box_straight_destroy(&s);
    boxhdg_destroy(&h);
}

/* Operations per point tend to 73 and 25, and go down to them with a term in 1/n: O(p^3). */
static void test_cost(void **state) {
    (void)state;
    double last[2] = {1e9, 1e9};
    for (int p = 7; p <= 31; p += 8) {
        struct box_kind kind = {.dim = 3, .degree = p, .cells = {1, 1, 2}};
        struct boxhdg *h = make_box(&kind);
        struct box_straight *s;
        ok(box_straight_create(h, BOX_GAUSS, &s));
        for (int algorithm = 0; algorithm < 2; algorithm++) {
            double each = box_straight_flops(s, algorithm) / (double)h->n_volume;
            double leading = algorithm == BOX_TP ? 73 : 25;
            assert_true(each > leading && each < last[algorithm]);
            near((each - leading) * h->n, 42, 1e-8);
            last[algorithm] = each;
        }
        near(box_straight_preconditioner_flops(s, BOX_TP, BOX_BLOCK), (8.0 * h->n + 1) * (double)h->n_trace,
             1e-6);
        box_straight_destroy(&s);
        boxhdg_destroy(&h);
    }
}

/* ------------------------------------------------------------------------------------------ faults */

static void test_faults(void **state) {
    (void)state;
    struct box_kind kind = {.dim = 2, .degree = 3, .cells = {2, 2}, .stretch = 1.5, .tau = 1};
    struct boxhdg *h = make_box(&kind);
    struct box_straight *s;
    const struct device *debug;
    struct linear_operator M;
    int64_t before = live_blocks();
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = box_straight_create(h, BOX_COLLOCATED, &s);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    before = live_blocks();
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = box_straight_preconditioner(cpu(), s, BOX_TP, BOX_DIAGONAL, &M);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    operator_destroy(&M);
    ok(device_find("debug", &debug));
    refused(box_straight_operator(debug, s, BOX_TP, &M), FACET_ERROR_INPUT, "debug");
    box_straight_destroy(&s);
    boxhdg_destroy(&h);
}

int main(void) {
    base_blas_narrow(); /* the dense systems are small */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators), cmocka_unit_test(test_preconditioners),
        cmocka_unit_test(test_solves),    cmocka_unit_test(test_cost),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
