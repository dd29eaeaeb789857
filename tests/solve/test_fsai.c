/* Factored sparse approximate inverses: what defines them (GAG' has a unit diagonal, GA vanishes on the
 * pattern), exactness for the full pattern, growth, rates of two-grid cycles on traces, every device and both
 * precisions, refusals, allocation faults. */
#include "hdg_helpers.h"
#include "solve/fsai.h"
#include "solve/solve_internal.h"
#include "trace/pmg_parts.h"

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

/* A - u_xx - u_yy + u by finite differences on n x n points, all couplings within `reach` of a point stored;
 * random numbers make it less even. */
static void grid_matrix(int n, int reach, struct csr *A) {
    int64_t at = 0;
    uint32_t seed = 4;
    double *weight = malloc((size_t)(n * n) * sizeof *weight);
    for (int i = 0; i < n * n; i++) weight[i] = 1.0 + 0.3 * random_signed(&seed);
    *A = (struct csr){.n = (int64_t)n * n};
    ok(ALLOC(A->offsets, A->n + 1));
    ok(ALLOC(A->columns, A->n * A->n));
    ok(ALLOC(A->values, A->n * A->n));
    for (int i = 0; i < n * n; i++) {
        A->offsets[i] = at;
        for (int j = 0; j < n * n; j++) {
            int dx = abs(i % n - j % n), dy = abs(i / n - j / n);
            if (dx > reach || dy > reach) continue;
            A->columns[at] = j;
            A->values[at++] = i == j               ? 5.0 + weight[i] * weight[i]
                              : dx + dy == 1       ? -weight[i] * weight[j]
                              : dx <= 1 && dy <= 1 ? -0.1 * weight[i] * weight[j]
                                                   : 0.0;
        }
    }
    A->offsets[n * n] = at;
    free(weight);
}

static double entry(const struct csr *A, int64_t i, int64_t j) {
    for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
        if (A->columns[k] == j) return A->values[k];
    return 0.0;
}

/* (G A)_ij */
static double factor_product(const struct mg_transfer *G, const struct csr *A, int64_t i, int64_t j) {
    double sum = 0.0;
    for (int64_t k = G->offsets[i]; k < G->offsets[i + 1]; k++)
        sum += G->values[k] * entry(A, G->columns[k], j);
    return sum;
}

/* The trace matrix of a diffusion problem, and its faces. */
static void trace_problem(const char *shape, int n, int degree, struct setup *setup, struct solved *s) {
    *setup = (struct setup){.mesh = box(shape, n, n, 0, 0),
                            .degree = degree,
                            .source = "1",
                            .method = "cg",
                            .preconditioner = "block",
                            .tau = "1",
                            .rtol = 1e-2,
                            .conditions = {{"xmin", "dirichlet", "0", NULL},
                                           {"xmax", "dirichlet", "0", NULL},
                                           {"ymin", "dirichlet", "0", NULL},
                                           {"ymax", "dirichlet", "0", NULL}}};
    solve(setup, s);
}

static void forget(struct setup *setup, struct solved *s) {
    release(s);
    facet_mesh_destroy(&setup->mesh);
}

/* ------------------------------------------------------------------------------------------ definition */

/* Rows solve A_PP y = e_i: G A is 0 on the pattern but for the diagonal, and g_i A g_i' = 1. Returns the sum
 * of log G_ii, half of what is gained of log det. */
static double check_definition(const struct csr *A, const struct mg_transfer *G) {
    double sum = 0.0;
    assert_int_equal(G->n_rows, A->n);
    for (int64_t i = 0; i < A->n; i++) {
        int64_t end = G->offsets[i + 1];
        assert_int_equal(G->columns[end - 1], i);
        assert_true(G->values[end - 1] > 0.0);
        double energy = 0.0;
        for (int64_t k = G->offsets[i]; k < end; k++) {
            double value = factor_product(G, A, i, G->columns[k]);
            assert_true(k == G->offsets[i] || G->columns[k] > G->columns[k - 1]);
            energy += value * G->values[k];
            near(value, k == end - 1 ? 1.0 / G->values[k] : 0.0, 1e-11);
        }
        near(energy, 1.0, 1e-12);
        sum += log(G->values[end - 1]);
    }
    return sum;
}

static void rows_are_their_definition(void **state) {
    (void)state;
    struct csr A;
    grid_matrix(9, 1, &A);
    int64_t blocks[] = {0, 1, 4, 4, 11, 30, 50, 81};
    for (int way = 0; way < 2; way++) {
        double before = -INFINITY;
        for (int k = 0; k < 5; k++) {
            static const double fills[] = {1.0, 1.25, 1.75, 2.5, 4.0};
            struct fsai_options options = {
                .fill = fills[k], .n_blocks = way ? 7 : 0, .block_offsets = blocks};
            struct mg_transfer G;
            ok(fsai_factor(&A, &options, &G));
            double gain = check_definition(&A, &G);
            assert_true(gain >= before - 1e-12); /* equal when nothing is left to come in */
            before = gain;
            mg_transfer_destroy(&G);
        }
    }
    csr_destroy(&A);
}

/* fill 1 and no blocks: the lower triangle, entry by entry. */
static void the_first_pattern_is_that_of_the_matrix(void **state) {
    (void)state;
    struct csr A;
    struct mg_transfer G;
    struct fsai_options options = {.fill = 1.0};
    grid_matrix(7, 1, &A);
    ok(fsai_factor(&A, &options, &G));
    for (int64_t i = 0; i < A.n; i++)
        for (int64_t k = 0; k < G.offsets[i + 1] - G.offsets[i]; k++)
            assert_int_equal(G.columns[G.offsets[i] + k], A.columns[A.offsets[i] + k]);
    mg_transfer_destroy(&G);
    csr_destroy(&A);
}

/* y = M x on the host's numbers. */
static void apply(const struct linear_operator *M, const double *x, double *y) {
    struct vector in = {0}, out = {0};
    ok(solve_vector_like(M, &in));
    ok(solve_vector_like(M, &out));
    ok(vector_upload(&in, x));
    operator_apply(M, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

static void the_full_pattern_is_exact(void **state) {
    (void)state;
    static const char *const names[] = {"cpu", "ref", "debug"};
    struct csr A;
    grid_matrix(6, 6, &A);
    int64_t blocks[] = {0, 5, 20, 36};
    for (int d = 0; d < 3; d++)
        for (int way = 0; way < 2; way++) {
            struct fsai_options options = {.fill = 1.0, .n_blocks = way ? 3 : 0, .block_offsets = blocks};
            struct linear_operator M, single, product;
            struct fsai_report report;
            double x[36], Ax[36], y[36];
            uint32_t seed = 8;
            for (int i = 0; i < 36; i++) x[i] = random_signed(&seed);
            ok(operator_create_fsai(find(names[d]), &A, &options, &M, &report));
            ok(operator_create_csr(find(names[d]), &A, &product));
            ok(operator_create_single(&M, &single));
            near(report.fill, 1.0, 1e-15);
            apply(&product, x, Ax);
            apply(&M, Ax, y);
            for (int i = 0; i < 36; i++) near(y[i], x[i], 1e-12);
            apply(&single, Ax, y);
            for (int i = 0; i < 36; i++) near(y[i], x[i], 1e-5);
            operator_destroy(&M);
            operator_destroy(&single);
            operator_destroy(&product);
        }
    csr_destroy(&A);
}

/* ------------------------------------------------------------------------------------------ growth */

static void fills_are_reached_whatever_the_threads(void **state) {
    (void)state;
    struct setup setup;
    struct solved s;
    struct csr A;
    trace_problem("quad", 8, 3, &setup, &s);
    const struct trace_space *space = &mapped_of(s.solver)->hdg->trace;
    ok(hdg_assemble(mapped_of(s.solver)->hdg, &A));
    for (int k = 0; k < 3; k++) {
        struct fsai_options options = {.fill = 0.75 * (k + 1) + 0.25,
                                       .n_blocks = space->n_free_faces,
                                       .block_offsets = space->free_offsets};
        struct mg_transfer G, again;
        struct linear_operator M;
        struct fsai_report report;
        base_set_threads(1);
        ok(fsai_factor(&A, &options, &G));
        ok(operator_create_fsai(find("cpu"), &A, &options, &M, &report));
        operator_destroy(&M);
        assert_true(report.fill <= options.fill * (1.0 + 1e-12) && report.fill > 0.95 * options.fill);
        base_set_threads(3);
        ok(fsai_factor(&A, &options, &again));
        size_t nnz = (size_t)G.offsets[A.n];
        assert_memory_equal(G.offsets, again.offsets, (size_t)(A.n + 1) * sizeof *G.offsets);
        assert_memory_equal(G.columns, again.columns, nnz * sizeof *G.columns);
        assert_memory_equal(G.values, again.values, nnz * sizeof *G.values);
        check_definition(&A, &G);
        mg_transfer_destroy(&G);
        mg_transfer_destroy(&again);
    }
    base_set_threads(0);
    csr_destroy(&A);
    forget(&setup, &s);
}

/* ------------------------------------------------------------------------------------------ rates */

/* The reduction of the residual by a cycle over two levels, the lower one (degree 1) being solved exactly. */
static double two_grid_rate(const struct solved *s, const struct csr *A, const struct fsai_options *options,
                            int single) {
    const struct hdg *h = mapped_of(s->solver)->hdg;
    struct trace_space low;
    struct mg_transfer P;
    struct csr coarse;
    struct cholesky *cholesky;
    struct linear_operator product = {0}, M = {0}, S = {0}, last = {0}, B = {0};
    struct smoother smoother;
    struct multigrid *mg;
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-11, .max_iterations = 60};
    double bytes;
    uint8_t *eliminated = calloc((size_t)h->trace.mesh->n_faces, 1);
    for (int32_t f = 0; f < h->trace.mesh->n_faces; f++) eliminated[f] = h->trace.face_free[f] < 0;
    ok(trace_space_create(h->trace.mesh, 1, 1, eliminated, &low));
    free(eliminated);
    ok(trace_inject(&h->trace, &low, &P));
    ok(trace_galerkin(&h->trace, &h->matrices, &P, &coarse));
    ok(cholesky_analyze(&coarse, low.n_free_faces, low.free_offsets, -1, &cholesky, &bytes));
    ok(cholesky_factor(cholesky, &coarse));
    ok(operator_create_cholesky(h->device, coarse.n, &cholesky, &last));
    ok(operator_create_csr(h->device, A, &product));
    ok(operator_create_fsai(h->device, A, options, &M, NULL));
    if (single) {
        ok(operator_create_single(&M, &S));
        operator_destroy(&M);
        M = S;
        ok(operator_create_single(&product, &S));
    }
    ok(smoother_create_chebyshev(single ? &S : &product, &M, POLYNOMIAL_FIRST, fsai_ratio(options), 2,
                                 &smoother));
    ok(multigrid_create(&mg));
    ok(multigrid_append(mg, "fine", single ? NULL : &product, single ? &S : NULL, &smoother));
    ok(multigrid_connect(mg, &P));
    ok(multigrid_end(mg, "k=1", &last));
    ok(multigrid_finish(mg));
    ok(operator_create_multigrid(&mg, &B));
    ok(solve_fill_noise(&mapped_of(s->solver)->b));
    vector_fill(&mapped_of(s->solver)->x, 0.0);
    ok(solve_multigrid(&product, &B, &mapped_of(s->solver)->b, &mapped_of(s->solver)->x, &control, &report));
    double rate = report.rate;
    solve_report_clear(&report);
    operator_destroy(&B);
    operator_destroy(&product);
    csr_destroy(&coarse);
    mg_transfer_destroy(&P);
    trace_space_destroy(&low);
    return rate;
}

static void two_grid_cycles_are_fast(void **state) {
    (void)state;
    static const struct {
        double fill;
        double rate;
    } wanted[] = {{1.0, 0.17}, {1.5, 0.035}, {2.5, 0.02}};
    static const char *const shapes[] = {"quad", "triangle"};
    for (int shape = 0; shape < 2; shape++)
        for (int degree = 2; degree <= 6; degree += 2) {
            struct setup setup;
            struct solved s;
            struct csr A;
            trace_problem(shapes[shape], shape == 0 ? 10 : 7, degree, &setup, &s);
            const struct trace_space *space = &mapped_of(s.solver)->hdg->trace;
            ok(hdg_assemble(mapped_of(s.solver)->hdg, &A));
            for (int k = 0; k < 3; k++) {
                struct fsai_options options = {.fill = wanted[k].fill,
                                               .n_blocks = space->n_free_faces,
                                               .block_offsets = space->free_offsets};
                double rate = two_grid_rate(&s, &A, &options, 0);
                if (!(rate <= wanted[k].rate))
                    fail_msg("%ss, degree %d, fill %g: rate %.4f", shapes[shape], degree, wanted[k].fill,
                             rate);
                if (k == 0 && degree == 2) near(two_grid_rate(&s, &A, &options, 1), rate, 0.01);
            }
            csr_destroy(&A);
            forget(&setup, &s);
        }
}

/* ------------------------------------------------------------------------------------------ refusals */

static void what_is_not_definite_is_named(void **state) {
    (void)state;
    static const double wrong[] = {-1.0, 0.0, NAN};
    struct csr A;
    struct linear_operator M;
    int64_t blocks[] = {0, 10, 20, 49}, before;
    for (int k = 0; k < 3; k++)
        for (int way = 0; way < 4; way++) {
            struct fsai_options options = {
                .fill = way % 2 ? 2.0 : 1.0, .n_blocks = way < 2 ? 0 : 3, .block_offsets = blocks};
            grid_matrix(7, 1, &A);
            before = live_blocks();
            for (int64_t i = A.offsets[17]; i < A.offsets[18]; i++)
                if (A.columns[i] == 17) A.values[i] = wrong[k];
            refused(operator_create_fsai(find("cpu"), &A, &options, &M, NULL), FACET_NOT_CONVERGED, "row 17");
            assert_int_equal(live_blocks(), before);
            csr_destroy(&A);
        }
}

static void allocation_faults(void **state) {
    (void)state;
    struct csr A;
    int64_t blocks[] = {0, 10, 20, 49};
    grid_matrix(7, 1, &A);
    for (int threads = 1; threads <= 2; threads++)
        for (int way = 0; way < 2; way++) {
            struct fsai_options options = {
                .fill = way > 0 ? 2.0 : 1.0, .n_blocks = way == 0 ? 0 : 3, .block_offsets = blocks};
            int64_t before = live_blocks();
            base_set_threads(threads);
            for (int64_t k = 1;; k++) {
                struct linear_operator M = {0}, S = {0};
                base_memory_fail_at(k);
                facet_status status = operator_create_fsai(find("cpu"), &A, &options, &M, NULL);
                if (status == FACET_OK) status = operator_create_single(&M, &S);
                base_memory_fail_at(0);
                operator_destroy(&M);
                operator_destroy(&S);
                assert_int_equal(live_blocks(), before);
                if (status == FACET_OK) break;
                assert_int_equal(status, FACET_ERROR_MACHINE);
            }
        }
    base_set_threads(0);
    csr_destroy(&A);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_their_definition),
        cmocka_unit_test(the_first_pattern_is_that_of_the_matrix),
        cmocka_unit_test(the_full_pattern_is_exact),
        cmocka_unit_test(fills_are_reached_whatever_the_threads),
        cmocka_unit_test(two_grid_cycles_are_fast),
        cmocka_unit_test(what_is_not_definite_is_named),
        cmocka_unit_test(allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
