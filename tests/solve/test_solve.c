/* Linear solvers: CG and Cholesky on matrices with known solutions, singular, indefinite and hopeless ones,
 * preconditioners against their definition, interruption, allocation faults. */
#include "hdg_helpers.h"
#include "solve/history.h"
#include "solve/solve.h"

#define MAX_BLOCKS 64

static const struct device *device(void) {
    const struct device *d;
    ok(device_find("cpu", &d));
    return d;
}

/* The entries of a dense matrix that are not zero; the diagonal always. */
static void to_csr(int n, const double *dense, struct csr *csr) {
    int64_t nnz = 0;
    *csr = (struct csr){.n = n};
    ok(ALLOC(csr->offsets, n + 1));
    ok(ALLOC(csr->columns, (int64_t)n * n));
    ok(ALLOC(csr->values, (int64_t)n * n));
    for (int i = 0; i < n; i++) {
        csr->offsets[i] = nnz;
        for (int j = 0; j < n; j++) {
            if (i != j && dense[i * n + j] == 0.0) continue;
            csr->columns[nnz] = j;
            csr->values[nnz++] = dense[i * n + j];
        }
    }
    csr->offsets[n] = nnz;
}

/* A chain of n_blocks blocks of `size` unknowns, each dense and coupled to its two neighbours: sum over links
 * of random Gram matrices, plus `shift` times the identity. `kernel`: constants are in the kernel without the
 * shift. */
static void chain_matrix(int n_blocks, int size, double shift, int kernel, double *A) {
    int n = n_blocks * size;
    uint32_t seed = 99;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int b = 0; b + 1 < n_blocks; b++)
        for (int r = 0; r < 2 * size + 1; r++) {
            double row[64], mean = 0;
            for (int i = 0; i < 2 * size; i++) mean += row[i] = random_signed(&seed);
            for (int i = 0; i < 2 * size && kernel; i++) row[i] -= mean / (2 * size);
            for (int i = 0; i < 2 * size; i++)
                for (int j = 0; j < 2 * size; j++) A[(b * size + i) * n + b * size + j] += row[i] * row[j];
        }
    for (int i = 0; i < n; i++) A[i * n + i] += shift;
}

static void offsets_of(int n_blocks, int size, int64_t *offsets) {
    for (int b = 0; b <= n_blocks; b++) offsets[b] = (int64_t)b * size;
}

/* A system with a known solution. */
struct system {
    int n, n_blocks;
    double *dense, *exact, *rhs, *found;
    int64_t offsets[MAX_BLOCKS + 1];
    struct csr csr;
    struct linear_operator A;
    struct vector b, x;
    struct null_space null_space;
    struct solve_control control;
    struct solve_report report;
};

static void set_dense(struct system *s, int n_blocks, int size) {
    s->n_blocks = n_blocks;
    s->n = n_blocks * size;
    offsets_of(n_blocks, size, s->offsets);
    to_csr(s->n, s->dense, &s->csr);
    ok(operator_create_csr(device(), &s->csr, &s->A));
    s->exact = test_calloc((size_t)s->n, sizeof(double));
    s->rhs = test_calloc((size_t)s->n, sizeof(double));
    s->found = test_calloc((size_t)s->n, sizeof(double));
    uint32_t seed = 5;
    double mean = 0;
    for (int i = 0; i < s->n; i++) mean += s->exact[i] = random_signed(&seed);
    for (int i = 0; i < s->n; i++) s->exact[i] -= mean / s->n;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) s->rhs[i] += s->dense[i * s->n + j] * s->exact[j];
    ok(vector_create(device(), s->n, &s->b));
    ok(vector_create(device(), s->n, &s->x));
    ok(vector_upload(&s->b, s->rhs));
    vector_fill(&s->x, 0.0);
    s->control = (struct solve_control){.rtol = 1e-12, .max_iterations = 5000};
}

static void chain_system(struct system *s, int n_blocks, int size, double shift, int kernel) {
    *s = (struct system){0};
    s->dense = test_calloc((size_t)(n_blocks * size) * (size_t)(n_blocks * size), sizeof(double));
    chain_matrix(n_blocks, size, shift, kernel, s->dense);
    set_dense(s, n_blocks, size);
}

static void use_constant_kernel(struct system *s) {
    ok(vector_create(device(), s->n, &s->null_space.function));
    vector_fill(&s->null_space.function, 1.0 / sqrt(s->n));
    s->control.null_space = &s->null_space;
}

static void system_destroy(struct system *s) {
    operator_destroy(&s->A);
    operator_destroy(&s->A);
    csr_destroy(&s->csr);
    vector_destroy(&s->b);
    vector_destroy(&s->x);
    null_space_destroy(&s->null_space);
    solve_report_clear(&s->report);
    test_free(s->dense);
    test_free(s->exact);
    test_free(s->rhs);
    test_free(s->found);
}

/* Relative residual of the solution at hand by the dense matrix, without the kernel's part. */
static double dense_residual(struct system *s) {
    double square = 0, scale = 0;
    ok(vector_download(&s->x, s->found));
    for (int i = 0; i < s->n; i++) {
        double r = s->rhs[i];
        for (int j = 0; j < s->n; j++) r -= s->dense[i * s->n + j] * s->found[j];
        square += r * r;
        scale += s->rhs[i] * s->rhs[i];
    }
    return sqrt(square / scale);
}

static void is_exact(struct system *s, double tolerance) {
    ok(vector_download(&s->x, s->found));
    for (int i = 0; i < s->n; i++) near(s->found[i], s->exact[i], tolerance);
}

static void report_is_true(struct system *s) {
    assert_true(s->report.converged);
    assert_true(s->report.residual <= s->control.rtol);
    near(s->report.residual, dense_residual(s), 1e-14);
    assert_int_equal(s->report.n_history, s->report.iterations + 1);
    near(pow(s->report.rate, s->report.iterations) * s->report.history[0], s->report.residual,
         1e-6 * s->report.residual + 1e-300);
}

static void cg_solves_with_every_preconditioner(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int kind = 0; kind < 3; kind++) {
        struct system s;
        struct linear_operator M = {0};
        chain_system(&s, 30, 4, 0.1, 0);
        if (kind == 1) ok(operator_create_jacobi(device(), &s.csr, &M));
        if (kind == 2) ok(operator_create_block_jacobi(device(), &s.csr, 30, s.offsets, &M));
        ok(solve_cg(&s.A, kind > 0 ? &M : NULL, &s.b, &s.x, &s.control, &s.report));
        is_exact(&s, 1e-9);
        report_is_true(&s);
        assert_string_equal(s.report.reason, "the tolerance was reached");
        ok(solve_cg(&s.A, kind > 0 ? &M : NULL, &s.b, &s.x, &s.control, &s.report)); /* from the solution */
        assert_int_equal(s.report.iterations, 0);
        operator_destroy(&M);
        system_destroy(&s);
    }
    assert_int_equal(live_blocks(), before);
}

/* In exact arithmetic n iterations suffice: a diagonal with three values takes three. */
static void cg_takes_as_many_steps_as_there_are_eigenvalues(void **state) {
    (void)state;
    struct system s = {.dense = test_calloc(60 * 60, sizeof(double))};
    for (int i = 0; i < 60; i++) s.dense[i * 61] = 1 + i % 3;
    set_dense(&s, 60, 1);
    ok(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report));
    assert_int_equal(s.report.iterations, 3);
    is_exact(&s, 1e-13);
    system_destroy(&s);
}

static void jacobi_and_blocks_are_inverses(void **state) {
    (void)state;
    struct system s;
    struct linear_operator J, B;
    chain_system(&s, 9, 5, 0.5, 0);
    ok(operator_create_jacobi(device(), &s.csr, &J));
    ok(operator_create_block_jacobi(device(), &s.csr, 9, s.offsets, &B));
    operator_apply(&J, &s.b, &s.x);
    ok(vector_download(&s.x, s.found));
    for (int i = 0; i < s.n; i++) near(s.found[i] * s.dense[i * (s.n + 1)], s.rhs[i], 1e-13);
    operator_apply(&B, &s.b, &s.x);
    ok(vector_download(&s.x, s.found));
    for (int i = 0; i < s.n; i++) {
        double sum = 0;
        for (int j = i / 5 * 5; j < i / 5 * 5 + 5; j++) sum += s.dense[i * s.n + j] * s.found[j];
        near(sum, s.rhs[i], 1e-12);
    }
    operator_destroy(&J);
    operator_destroy(&B);
    system_destroy(&s);
}

static void preconditioners_want_positive_blocks(void **state) {
    (void)state;
    struct system s = {.dense = test_calloc(36, sizeof(double))};
    struct linear_operator M = {0};
    int64_t before;
    for (int i = 0; i < 6; i++) s.dense[i * 7] = 1;
    s.dense[3 * 6 + 2] = s.dense[2 * 6 + 3] = 2; /* the block of 2 and 3 is indefinite, its diagonal is not */
    set_dense(&s, 3, 2);
    before = live_blocks();
    refused(operator_create_block_jacobi(device(), &s.csr, 3, s.offsets, &M), FACET_NOT_CONVERGED,
            "unknown 2");
    ok(operator_create_jacobi(device(), &s.csr, &M));
    operator_destroy(&M);
    s.csr.values[s.csr.offsets[5]] = -1;
    refused(operator_create_jacobi(device(), &s.csr, &M), FACET_NOT_CONVERGED, "entry 5");
    assert_int_equal(live_blocks(), before);
    system_destroy(&s);
}

static void the_iteration_limit_stops(void **state) {
    (void)state;
    struct system s;
    chain_system(&s, 30, 4, 1e-3, 0);
    s.control.max_iterations = 7;
    refused(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_NOT_CONVERGED, "iteration limit");
    assert_int_equal(s.report.iterations, 7);
    assert_false(s.report.converged);
    assert_non_null(strstr(s.report.reason, "iteration limit"));
    near(s.report.residual, dense_residual(&s), 1e-13);
    assert_true(s.report.residual > s.control.rtol);
    system_destroy(&s);
}

/* A tolerance that the recursive residual reaches and the true one does not. */
static void the_true_residual_decides(void **state) {
    (void)state;
    struct system s;
    chain_system(&s, 40, 4, 1e-7, 1);
    s.control.rtol = 1e-30;
    s.control.max_iterations = 100000;
    refused(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_NOT_CONVERGED, "rounding");
    near(s.report.residual, dense_residual(&s), 1e-13);
    assert_true(s.report.residual > 1e-20 && s.report.residual < 1e-9);
    system_destroy(&s);
}

static void an_indefinite_matrix_is_noticed(void **state) {
    (void)state;
    struct system s = {.dense = test_calloc(100, sizeof(double))};
    for (int i = 0; i < 10; i++) s.dense[i * 11] = i < 7 ? 1 + i : -1 - i;
    set_dense(&s, 10, 1);
    refused(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_NOT_CONVERGED,
            "not positive definite");
    assert_false(s.report.converged);
    s.rhs[3] = NAN;
    ok(vector_upload(&s.b, s.rhs));
    vector_fill(&s.x, 0.0);
    refused(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_NOT_CONVERGED, "not finite");
    assert_false(s.report.converged);
    system_destroy(&s);
}

static void a_zero_right_hand_side_has_the_zero_solution(void **state) {
    (void)state;
    struct system s;
    struct cholesky *c;
    double bytes;
    chain_system(&s, 10, 3, 1.0, 0);
    vector_fill(&s.b, 0.0);
    for (int direct = 0; direct < 2; direct++) {
        ok(cholesky_analyze(&s.csr, s.n_blocks, s.offsets, -1, &c, &bytes));
        ok(cholesky_factor(c, &s.csr));
        vector_fill(&s.x, 5.0);
        if (direct)
            ok(solve_direct(&s.A, c, &s.b, &s.x, &s.control, &s.report));
        else
            ok(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report));
        assert_true(s.report.converged && s.report.iterations == 0 && s.report.residual == 0.0);
        assert_true(vector_norm(&s.x) == 0.0);
        cholesky_destroy(&c);
    }
    system_destroy(&s);
}

static void a_singular_system_is_solved_beside_its_kernel(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct system s;
        struct linear_operator M = {0};
        chain_system(&s, 20, 4, 0.0, 1);
        use_constant_kernel(&s);
        s.control.rtol = 1e-11;
        if (kind == 1) ok(operator_create_jacobi(device(), &s.csr, &M));
        if (kind == 2) ok(operator_create_block_jacobi(device(), &s.csr, s.n_blocks, s.offsets, &M));
        vector_fill(&s.x, 3.0); /* nothing but kernel */
        ok(solve_cg(&s.A, kind > 0 ? &M : NULL, &s.b, &s.x, &s.control, &s.report));
        is_exact(&s, 1e-7);
        near(s.report.residual, dense_residual(&s), 1e-12);
        operator_destroy(&M);
        system_destroy(&s);
    }
}

static void direct(struct system *s, int64_t pin) {
    struct cholesky *c;
    double bytes = 0;
    ok(cholesky_analyze(&s->csr, s->n_blocks, s->offsets, pin, &c, &bytes));
    assert_true(bytes >= 8.0 * s->n);
    ok(cholesky_factor(c, &s->csr));
    ok(cholesky_factor(c, &s->csr)); /* again, with other values perhaps */
    ok(solve_direct(&s->A, c, &s->b, &s->x, &s->control, &s->report));
    cholesky_destroy(&c);
    assert_null(c);
    cholesky_destroy(&c);
}

/* Block Jacobi of decoupled blocks is the inverse; that of coupled ones is not, and must not pass for one. */
static void a_direct_solve_judges_itself(void **state) {
    (void)state;
    for (int coupled = 0; coupled < 2; coupled++) {
        struct system s;
        struct linear_operator M = {0};
        int n_blocks = coupled ? 12 : 1;
        chain_system(&s, n_blocks, 3, 0.3, 0);
        ok(operator_create_block_jacobi(device(), &s.csr, s.n_blocks, s.offsets, &M));
        s.control.max_iterations = 3;
        vector_fill(&s.x, 7.0);
        if (coupled) {
            refused(solve_refined(&s.A, &M, &s.b, &s.x, &s.control, &s.report), FACET_NOT_CONVERGED,
                    "did not converge");
            assert_true(!s.report.converged && s.report.residual > s.control.rtol);
        } else {
            ok(solve_refined(&s.A, &M, &s.b, &s.x, &s.control, &s.report));
            is_exact(&s, 1e-9);
        }
        operator_destroy(&M);
        system_destroy(&s);
    }
}

/* Draws of rounding in the entries: the first is harmless by chance. */
static facet_status lucky(void *data, int draw, const struct vector *x, struct vector *r) {
    (void)x;
    ++*(int *)data;
    vector_fill(r, draw == 0 ? 1e-7 : 1e-5);
    return FACET_OK;
}

static facet_status count_errors(void *data, const struct vector *residual, const struct vector *error) {
    int *n = data;
    (void)residual;
    *n = error == NULL ? 0 : *n + 1;
    return FACET_OK;
}

static void an_error_is_not_that_of_one_draw(void **state) {
    (void)state;
    struct system s;
    int draws = 0, seen = 0;
    chain_system(&s, 12, 3, 0.3, 0);
    s.control.rtol = 1e-5;
    direct(&s, -1);
    double quiet = s.report.error;
    s.control.draw_rounding = lucky;
    s.control.draw_rounding_data = &draws;
    s.control.regard = count_errors;
    s.control.regard_data = &seen;
    direct(&s, -1);
    assert_true(quiet < 1e-9 && s.report.error > 1e-6);
    assert_true(draws >= 4 && seen == 4);
    system_destroy(&s);
}

/* Small matrices are factored column by column, large ones in supernodes. */
static void cholesky_agrees_with_cg_and_the_exact_solution(void **state) {
    (void)state;
    static const int shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {13, 3}, {40, 4}, {12, 30}};
    int64_t before = live_blocks();
    assert_non_null(cholesky_library());
    for (int k = 0; k < 6; k++) {
        struct system s;
        chain_system(&s, shapes[k][0], shapes[k][1], 0.3, 0);
        direct(&s, -1);
        is_exact(&s, 1e-9);
        if (s.n > 1) report_is_true(&s);
        vector_fill(&s.x, 0.0);
        if (s.n > 1) ok(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report));
        if (s.n > 1) is_exact(&s, 1e-9);
        system_destroy(&s);
    }
    assert_int_equal(live_blocks(), before);
}

static void a_pinned_singular_matrix_is_factored(void **state) {
    (void)state;
    static const int pins[] = {0, 17, 79};
    for (int k = 0; k < 3; k++) {
        struct system s;
        chain_system(&s, 20, 4, 0.0, 1);
        use_constant_kernel(&s);
        direct(&s, pins[k]);
        is_exact(&s, 1e-9);
        near(s.report.residual, dense_residual(&s), 1e-13);
        system_destroy(&s);
    }
}

static void factoring_what_is_not_positive_definite_fails(int n_blocks, int size, int bad) {
    struct system s;
    struct cholesky *c;
    double bytes;
    chain_system(&s, n_blocks, size, 0.3, 0);
    int64_t before = live_blocks();
    for (int64_t k = s.csr.offsets[bad]; k < s.csr.offsets[bad + 1]; k++)
        if (s.csr.columns[k] == bad) s.csr.values[k] = -1.0;
    ok(cholesky_analyze(&s.csr, n_blocks, s.offsets, -1, &c, &bytes));
    refused(cholesky_factor(c, &s.csr), FACET_NOT_CONVERGED, "not positive definite");
    cholesky_destroy(&c);
    assert_int_equal(live_blocks(), before);
    system_destroy(&s);
}

static void cholesky_refuses_indefinite_matrices(void **state) {
    (void)state;
    factoring_what_is_not_positive_definite_fails(3, 1, 1); /* by columns */
    factoring_what_is_not_positive_definite_fails(40, 4, 77);
    factoring_what_is_not_positive_definite_fails(12, 30, 200); /* by supernodes */
}

static void the_interrupt_flag_stops_solvers(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct system s;
    struct cholesky *c;
    double bytes;
    chain_system(&s, 30, 4, 1e-2, 0);
    ok(cholesky_analyze(&s.csr, s.n_blocks, s.offsets, -1, &c, &bytes));
    ok(cholesky_factor(c, &s.csr));
    facet_interrupt();
    refused(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_INTERRUPTED, "interrupted");
    assert_false(s.report.converged);
    assert_string_equal(s.report.reason, "interrupted");
    refused(solve_direct(&s.A, c, &s.b, &s.x, &s.control, &s.report), FACET_INTERRUPTED, "interrupted");
    assert_string_equal(s.report.reason, "interrupted");
    facet_interrupt_clear();
    ok(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report));
    cholesky_destroy(&c);
    system_destroy(&s);
    assert_int_equal(live_blocks(), before);
}

static void stop_after_five(void *user, const facet_event *event) {
    *(int *)user = event->iteration;
    if (event->iteration == 5) facet_interrupt();
}

static void the_monitor_sees_every_iteration_and_may_stop(void **state) {
    (void)state;
    struct system s;
    int last = -1;
    struct base_monitor monitor = {stop_after_five, &last};
    chain_system(&s, 30, 4, 1e-2, 0);
    s.control.monitor = &monitor;
    assert_int_equal(solve_cg(&s.A, NULL, &s.b, &s.x, &s.control, &s.report), FACET_INTERRUPTED);
    assert_int_equal(last, 5);
    assert_int_equal(s.report.iterations, 5);
    facet_interrupt_clear();
    system_destroy(&s);
}

static facet_status everything(struct system *s) {
    facet_status status = FACET_OK;
    struct solve_history h = {0};
    struct linear_operator A = {0}, J = {0}, B = {0};
    struct cholesky *c = NULL;
    double bytes;
    TRY(operator_create_csr(device(), &s->csr, &A));
    TRY(operator_create_jacobi(device(), &s->csr, &J));
    TRY(operator_create_block_jacobi(device(), &s->csr, s->n_blocks, s->offsets, &B));
    TRY(solve_cg(&A, &B, &s->b, &s->x, &s->control, &s->report));
    solve_report_clear(&s->report);
    TRY(cholesky_analyze(&s->csr, s->n_blocks, s->offsets, -1, &c, &bytes));
    TRY(cholesky_factor(c, &s->csr));
    TRY(solve_direct(&A, c, &s->b, &s->x, &s->control, &s->report));
    for (int i = 0; i < SOLVE_HISTORY; i++, vector_axpby(1.0, &s->b, 1.0, &s->x))
        TRY(solve_history_add(&h, &A, &s->x));
done:
    solve_history_destroy(&h);
    solve_report_clear(&s->report);
    cholesky_destroy(&c);
    operator_destroy(&A);
    operator_destroy(&J);
    operator_destroy(&B);
    return status;
}

/* |b - A x| over |b| after the guess for b = A (s_0 e_0 + s_1 e_1 + ..), the e being unit vectors. */
static double guess_residual(struct system *s, struct solve_history *h, const double *parts, int n) {
    struct vector r = {0}, solution = {0};
    for (int i = 0; i < s->n; i++) s->found[i] = i < n ? parts[i] : 0.0;
    ok(vector_create(device(), s->n, &r));
    ok(vector_create(device(), s->n, &solution));
    ok(vector_upload(&solution, s->found));
    operator_apply(&s->A, &solution, &s->b);
    vector_fill(&s->x, 0.0);
    solve_history_guess(h, &s->b, &s->x);
    operator_apply(&s->A, &s->x, &r);
    vector_axpby(1.0, &s->b, -1.0, &r);
    double residual = vector_norm(&r) / vector_norm(&s->b);
    ok(solve_history_add(h, &s->A, &solution));
    vector_destroy(&r);
    vector_destroy(&solution);
    return residual;
}

static void guesses_come_from_the_solutions_before(void **state) {
    (void)state;
    struct system s;
    struct solve_history h = {0};
    chain_system(&s, 6, 2, 1.0, 0);
    assert_true(guess_residual(&s, &h, (double[]){1, 2}, 2) == 1.0); /* there is none yet: zero */
    near(guess_residual(&s, &h, (double[]){-3, -6}, 2), 0.0, 1e-14);
    assert_int_equal(h.n, 1); /* nothing new */
    assert_true(guess_residual(&s, &h, (double[]){0, 1, 0, 0, 5}, 5) < 1.0);
    assert_true(guess_residual(&s, &h, (double[]){0, 0, 1, 1}, 4) <= 1.0);
    assert_int_equal(h.n, 3);
    near(guess_residual(&s, &h, (double[]){2, 3, 1, 1, -5}, 5), 0.0, 1e-13); /* their sum */
    /* Of four only the newest three are left, all of them whole. */
    guess_residual(&s, &h, (double[]){0, 0, 0, 0, 0, 0, 7}, 7);
    assert_int_equal(h.n, 3);
    near(guess_residual(&s, &h, (double[]){0, 0, 0, 0, 0, 0, 1}, 7), 0.0, 1e-13);
    solve_history_destroy(&h);
    solve_history_destroy(&h);
    system_destroy(&s);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    struct system s;
    facet_status status = FACET_ERROR_MACHINE;
    int k;
    chain_system(&s, 5, 2, 1.0, 0);
    int64_t before = live_blocks();
    for (k = 1; status != FACET_OK; k++) {
        assert_true(k < 1000);
        vector_fill(&s.x, 0.0);
        base_memory_fail_at(k);
        status = everything(&s);
        base_memory_fail_at(0);
        if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live_blocks(), before);
    }
    assert_true(k > 10);
    system_destroy(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_solves_with_every_preconditioner),
        cmocka_unit_test(cg_takes_as_many_steps_as_there_are_eigenvalues),
        cmocka_unit_test(jacobi_and_blocks_are_inverses),
        cmocka_unit_test(preconditioners_want_positive_blocks),
        cmocka_unit_test(the_iteration_limit_stops),
        cmocka_unit_test(the_true_residual_decides),
        cmocka_unit_test(an_indefinite_matrix_is_noticed),
        cmocka_unit_test(a_zero_right_hand_side_has_the_zero_solution),
        cmocka_unit_test(a_singular_system_is_solved_beside_its_kernel),
        cmocka_unit_test(a_direct_solve_judges_itself),
        cmocka_unit_test(an_error_is_not_that_of_one_draw),
        cmocka_unit_test(cholesky_agrees_with_cg_and_the_exact_solution),
        cmocka_unit_test(a_pinned_singular_matrix_is_factored),
        cmocka_unit_test(cholesky_refuses_indefinite_matrices),
        cmocka_unit_test(the_interrupt_flag_stops_solvers),
        cmocka_unit_test(the_monitor_sees_every_iteration_and_may_stop),
        cmocka_unit_test(guesses_come_from_the_solutions_before),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
