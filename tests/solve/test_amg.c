/* Algebraic multigrid and the flexible Krylov methods: symmetry and definiteness of the linear cycle,
 * iterations that do not grow with the mesh, singular and blocked matrices, one answer for any number of
 * threads, and what happens when memory runs out. */
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "problem/mapped_backend.h"
#include "solve/amg.h"

#define OK(call) assert_int_equal(call, FACET_OK)

/* A matrix with its nodes and modes; all arrays by base/memory.h. */
struct system {
    struct csr A;
    int64_t n_blocks, *blocks;
    int n_modes;
    double *modes;
};

static void system_destroy(struct system *s) {
    csr_destroy(&s->A);
    base_free(&s->blocks);
    base_free(&s->modes);
}

static double noise(int64_t i) {
    return sin(12.9898 * (double)(i % 7919) + 78.233 * (double)(i / 7919));
}

/* One more entry at the end of the matrix, in `row`, whose end was that of the row before. */
static void add(struct csr *A, int64_t row, int64_t column, double value) {
    A->columns[A->offsets[row + 1]] = (int32_t)column;
    A->values[A->offsets[row + 1]++] = value;
}

/* The five-point Laplacian on n x n points, natural boundary when neumann; the y-direction times `stretch`.
 */
static void make_laplacian(int n, int neumann, double stretch, struct system *s) {
    int64_t size = (int64_t)n * n;
    *s = (struct system){.n_blocks = size, .n_modes = 1};
    OK(ALLOC(s->A.offsets, size + 1));
    OK(ALLOC(s->A.columns, 5 * size));
    OK(ALLOC(s->A.values, 5 * size));
    OK(ALLOC(s->blocks, size + 1));
    OK(ALLOC(s->modes, size));
    s->A.offsets[0] = 0;
    for (int64_t i = 0; i < size; i++) {
        int x = (int)(i % n), y = (int)(i / n);
        double diagonal = 2.0 + 2.0 * stretch;
        if (neumann) diagonal -= (x == 0) + (x == n - 1) + stretch * ((y == 0) + (y == n - 1));
        s->A.offsets[i + 1] = s->A.offsets[i];
        if (y > 0) add(&s->A, i, i - n, -stretch);
        if (x > 0) add(&s->A, i, i - 1, -1.0);
        add(&s->A, i, i, diagonal);
        if (x < n - 1) add(&s->A, i, i + 1, -1.0);
        if (y < n - 1) add(&s->A, i, i + n, -stretch);
        s->blocks[i] = i;
        s->modes[i] = 1.0;
    }
    s->A.n = size;
    s->blocks[size] = size;
}

/* n x n points with two displacements each, joined by springs to their eight neighbours: rigid motions of the
 * plane are in the kernel, and with `held` the left side is held by springs to the ground. */
static void make_springs(int n, int held, struct system *s) {
    int64_t points = (int64_t)n * n, size = 2 * points;
    *s = (struct system){.n_blocks = points, .n_modes = 3};
    OK(ALLOC(s->A.offsets, size + 1));
    OK(ALLOC(s->A.columns, 18 * size));
    OK(ALLOC(s->A.values, 18 * size));
    OK(ALLOC(s->blocks, points + 1));
    OK(ALLOC(s->modes, 3 * size));
    s->A.offsets[0] = 0;
    for (int64_t i = 0; i < size; i++) {
        int64_t p = i / 2;
        int x = (int)(p % n), y = (int)(p / n), c = (int)(i % 2);
        double row[9][2] = {{0}};
        s->A.offsets[i + 1] = s->A.offsets[i];
        for (int k = 0; k < 9; k++) {
            int dx = k % 3 - 1, dy = k / 3 - 1;
            if (k == 4 || x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n) continue;
            double d[2] = {dx / hypot(dx, dy), dy / hypot(dx, dy)};
            for (int e = 0; e < 2; e++) {
                row[k][e] = -d[c] * d[e];
                row[4][e] += d[c] * d[e];
            }
        }
        if (held && x == 0) row[4][c] += 1.0;
        for (int k = 0; k < 9; k++) {
            int dx = k % 3 - 1, dy = k / 3 - 1;
            if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n) continue;
            for (int e = 0; e < 2; e++) add(&s->A, i, 2 * (p + dx + (int64_t)dy * n) + e, row[k][e]);
        }
        s->modes[i] = c == 0;
        s->modes[size + i] = c == 1;
        s->modes[2 * size + i] = c == 0 ? 0.5 * n - y : x - 0.5 * n;
    }
    s->A.n = size;
    for (int64_t p = 0; p <= points; p++) s->blocks[p] = 2 * p;
}

static const struct device *the_device(void) {
    const struct device *device;
    OK(device_find("cpu", &device));
    return device;
}

static facet_status make_amg(const struct system *s, const struct amg_options *options,
                             struct linear_operator *M) {
    return operator_create_amg(the_device(), &s->A, s->n_blocks, s->blocks, s->n_modes, s->modes, options, M);
}

/* Iterations of (flexible) conjugate gradients to 1e-10 for a rough right-hand side; the report is checked.
 */
static int iterations(const struct system *s, const struct amg_options *options,
                      const struct null_space *kernel) {
    struct linear_operator A = {0}, M = {0};
    struct vector b = {0}, x = {0};
    struct solve_report report = {0};
    double *host;
    struct solve_control control = {
        .rtol = 1e-10, .max_iterations = 200, .flexible = options->cycle == MG_K, .null_space = kernel};
    OK(ALLOC(host, s->A.n));
    for (int64_t i = 0; i < s->A.n; i++) host[i] = noise(i);
    OK(operator_create_csr(the_device(), &s->A, &A));
    OK(make_amg(s, options, &M));
    OK(vector_create(the_device(), s->A.n, &b));
    OK(vector_create(the_device(), s->A.n, &x));
    OK(vector_upload(&b, host));
    null_space_remove(kernel, SOLVE_RESIDUALS, &b);
    vector_fill(&x, 0.0);
    OK(solve_cg(&A, &M, &b, &x, &control, &report));
    assert_true(report.converged && report.residual <= 1e-10);
    int n = report.iterations;
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    solve_report_clear(&report);
    base_free(&host);
    return n;
}

static void test_mesh_independence(void **state) {
    (void)state;
    struct amg_options options;
    for (int aggregation = 0; aggregation < 2; aggregation++) {
        int first = 0;
        amg_options_default(&options);
        options.aggregation = aggregation == 0 ? AMG_PAIRWISE : AMG_GREEDY;
        for (int n = 32; n <= 256; n *= 2) {
            struct system s;
            make_laplacian(n, 0, 1.0, &s);
            int its = iterations(&s, &options, NULL);
            if (first == 0) first = its;
            assert_true(its <= 24 && its <= 1.5 * first);
            system_destroy(&s);
        }
    }
    struct system s; /* strong in one direction only: aggregates must follow it */
    make_laplacian(128, 0, 1e-3, &s);
    amg_options_default(&options);
    assert_true(iterations(&s, &options, NULL) <= 30);
    system_destroy(&s);
}

/* x.My = y.Mx and x.Mx > 0 for the linear cycles. */
static void check_symmetry(const struct system *s, const struct amg_options *options) {
    struct linear_operator M = {0};
    struct vector v[4] = {{0}};
    double *host;
    OK(make_amg(s, options, &M));
    OK(ALLOC(host, s->A.n));
    for (int k = 0; k < 4; k++) {
        OK(vector_create(the_device(), s->A.n, &v[k]));
        for (int64_t i = 0; i < s->A.n; i++) host[i] = k == 0 ? noise(i) : k == 1 ? noise(3 * i + 1) : 1e300;
        OK(vector_upload(&v[k], host)); /* what M y finds in its result must not matter */
    }
    operator_apply(&M, &v[0], &v[2]);
    operator_apply(&M, &v[1], &v[3]);
    double xMy = vector_dot(&v[0], &v[3]), yMx = vector_dot(&v[1], &v[2]);
    double xMx = vector_dot(&v[0], &v[2]), yMy = vector_dot(&v[1], &v[3]);
    assert_true(xMx > 0.0 && yMy > 0.0);
    assert_true(fabs(xMy - yMx) <= 1e-12 * sqrt(xMx * yMy));
    assert_true(xMy * xMy < xMx * yMy);
    for (int k = 0; k < 4; k++) vector_destroy(&v[k]);
    base_free(&host);
    operator_destroy(&M);
}

static void test_linear_cycles(void **state) {
    (void)state;
    struct system laplacian, springs;
    make_laplacian(60, 0, 1.0, &laplacian);
    make_springs(30, 1, &springs);
    for (int cycle = 0; cycle < 2; cycle++)
        for (int polynomial = 0; polynomial < 2; polynomial++) {
            struct amg_options options;
            amg_options_default(&options);
            options.cycle = cycle == 0 ? MG_V : MG_W;
            options.polynomial = polynomial == 0 ? POLYNOMIAL_FIRST : POLYNOMIAL_FOURTH;
            options.degree = 1 + 2 * polynomial;
            options.coarse_size = 40;
            check_symmetry(&laplacian, &options);
            check_symmetry(&springs, &options);
        }
    system_destroy(&laplacian);
    system_destroy(&springs);
}

static void test_rigid_modes(void **state) {
    (void)state;
    struct amg_options options;
    amg_options_default(&options);
    int first = 0;
    for (int n = 24; n <= 96; n *= 2) {
        struct system s;
        make_springs(n, 1, &s);
        int its = iterations(&s, &options, NULL);
        if (first == 0) first = its;
        assert_true(its <= 25 && its <= 1.5 * first);
        s.n_modes = 2; /* without the rotation it is another method */
        assert_true(iterations(&s, &options, NULL) > its);
        system_destroy(&s);
    }
}

static void test_singular(void **state) {
    (void)state;
    struct amg_options options;
    amg_options_default(&options);
    options.n_kernel = 1;
    for (int cycle = 0; cycle < 3; cycle++) {
        struct system s;
        struct null_space kernel = {0};
        make_laplacian(100, 1, 1.0, &s);
        OK(vector_create(the_device(), s.A.n, &kernel.function));
        vector_fill(&kernel.function, 1.0 / sqrt((double)s.A.n));
        options.cycle = (enum mg_cycle)cycle;
        assert_true(iterations(&s, &options, &kernel) <= (cycle == MG_K ? 25 : 60));
        null_space_destroy(&kernel);
        system_destroy(&s);
    }
}

/* A singular matrix with three kernel vectors: M A must reproduce what is orthogonal to them well enough to
 * solve A x = A y. */
static void test_free_body(void **state) {
    (void)state;
    struct system s;
    struct linear_operator A = {0}, M = {0};
    struct amg_options options;
    struct vector b = {0}, x = {0}, y = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-9, .max_iterations = 100, .flexible = 1};
    double *host;
    amg_options_default(&options);
    options.n_kernel = 3;
    make_springs(40, 0, &s);
    OK(ALLOC(host, s.A.n));
    for (int64_t i = 0; i < s.A.n; i++) host[i] = noise(i);
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(make_amg(&s, &options, &M));
    OK(vector_create(the_device(), s.A.n, &b));
    OK(vector_create(the_device(), s.A.n, &x));
    OK(vector_create(the_device(), s.A.n, &y));
    OK(vector_upload(&y, host));
    operator_apply(&A, &y, &b);
    vector_fill(&x, 0.0);
    OK(solve_cg(&A, &M, &b, &x, &control, &report));
    assert_true(report.iterations <= 50);
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    vector_destroy(&y);
    solve_report_clear(&report);
    base_free(&host);
    system_destroy(&s);
}

/* The trace matrix of -div grad u (+ u) on the unit square. */
static void make_trace(const char *shape, int n, int degree, int neumann, struct system *s) {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_box box = {.size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {n, n}, .shape = shape};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = degree;
    options.method = "cg";
    options.preconditioner = "none";
    OK(facet_context_create("cpu", &context));
    OK(facet_mesh_create_box(context, &box, &mesh));
    OK(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    if (neumann)
        OK(facet_problem_set_neumann(problem, "rest", "0"));
    else
        OK(facet_problem_set_dirichlet(problem, "rest", "0"));
    OK(facet_solver_create(problem, &options, &solver));
    const struct trace_space *trace = &mapped_of(solver)->hdg->trace;
    *s = (struct system){.n_blocks = trace->n_free_faces, .n_modes = 1};
    OK(trace_assemble(trace, &mapped_of(solver)->hdg->matrices, &s->A));
    OK(ALLOC(s->blocks, s->n_blocks + 1));
    OK(CALLOC(s->modes, s->A.n));
    memcpy(s->blocks, trace->free_offsets, (size_t)(s->n_blocks + 1) * sizeof *s->blocks);
    for (int64_t b = 0; b < s->n_blocks; b++) s->modes[s->blocks[b]] = 1.0;
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
}

static void test_trace(void **state) {
    (void)state;
    struct amg_options options;
    amg_options_default(&options);
    for (int quad = 0; quad < 2; quad++)
        for (int degree = 1; degree <= 6; degree += degree == 1 ? 1 : 4) {
            int its[2];
            for (int k = 0; k < 2; k++) {
                struct system s;
                make_trace(quad ? "quad" : "triangle", k == 0 ? 16 : 48, degree, 0, &s);
                its[k] = iterations(&s, &options, NULL);
                system_destroy(&s);
            }
            assert_true(its[1] <= 30 && its[1] <= 1.5 * its[0]);
        }
}

static void test_trace_neumann(void **state) {
    (void)state;
    struct system s;
    struct null_space kernel = {0};
    struct amg_options options;
    amg_options_default(&options);
    options.n_kernel = 1;
    for (int leading = 0; leading <= 2; leading++) {
        make_trace(leading == 1 ? "quad" : "triangle", 20, 3, 1, &s);
        options.leading = leading;
        OK(vector_create(the_device(), s.A.n, &kernel.function));
        OK(vector_upload(&kernel.function, s.modes));
        vector_axpby(0.0, &kernel.function, 1.0 / vector_norm(&kernel.function), &kernel.function);
        assert_true(iterations(&s, &options, &kernel) <= 45);
        options.cycle = MG_W;
        check_symmetry(&s, &options);
        options.cycle = MG_K;
        null_space_destroy(&kernel);
        system_destroy(&s);
    }
}

/* The caller's product on the finest level instead of the matrix. */
static void test_fine_operator(void **state) {
    (void)state;
    struct system s;
    struct linear_operator A = {0}, M[2] = {{0}};
    struct vector x = {0}, y[2] = {{0}};
    struct amg_options options;
    amg_options_default(&options);
    make_laplacian(50, 0, 1.0, &s);
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(vector_create(the_device(), s.A.n, &x));
    OK(vector_upload(&x, s.modes));
    double *values[2];
    int64_t held[2];
    for (int k = 0; k < 2; k++) {
        struct base_memory before, after;
        options.fine = k == 0 ? NULL : &A;
        base_memory_read(&before);
        OK(make_amg(&s, &options, &M[k]));
        base_memory_read(&after);
        held[k] = after.live_bytes - before.live_bytes;
        OK(vector_create(the_device(), s.A.n, &y[k]));
        base_memory_read(&before);
        operator_apply(&M[k], &x, &y[k]);
        base_memory_read(&after);
        assert_int_equal(before.allocations, after.allocations);
        OK(ALLOC(values[k], s.A.n));
        OK(vector_download(&y[k], values[k]));
    }
    assert_memory_equal(values[0], values[1], (size_t)s.A.n * sizeof(double));
    assert_true(held[0] - held[1] >= 12 * s.A.offsets[s.A.n]); /* no copy of the matrix */
    for (int k = 0; k < 2; k++) {
        base_free(&values[k]);
        vector_destroy(&y[k]);
        operator_destroy(&M[k]);
    }
    vector_destroy(&x);
    operator_destroy(&A);
    system_destroy(&s);
}

/* Nothing for a coarse level to do; a single unknown; a matrix smaller than the coarsest level. */
static void test_degenerate(void **state) {
    (void)state;
    struct amg_options options;
    amg_options_default(&options);
    struct system s;
    struct linear_operator M = {0};
    make_laplacian(40, 0, 1.0, &s);
    for (int64_t i = 0; i < s.A.n; i++)
        for (int64_t k = s.A.offsets[i]; k < s.A.offsets[i + 1]; k++)
            if (s.A.columns[k] == i) s.A.values[k] = 100.0;
    assert_true(iterations(&s, &options, NULL) <= 8); /* diagonally dominant: one level of blocks */
    OK(make_amg(&s, &options, &M));
    assert_int_equal(multigrid_n_levels(operator_multigrid(&M)), 1);
    operator_destroy(&M);
    system_destroy(&s);
    for (int n = 1; n <= 10; n += 9) {
        make_laplacian(n, 0, 1.0, &s);
        assert_true(iterations(&s, &options, NULL) <= 1);
        system_destroy(&s);
    }
    make_laplacian(30, 0, 1.0, &s);
    for (int64_t i = 0; i < s.A.offsets[s.A.n]; i++) s.A.values[i] = -s.A.values[i];
    assert_int_equal(make_amg(&s, &options, &M), FACET_NOT_CONVERGED);
    options.degree = MG_MAX_DEGREE + 1;
    assert_int_equal(make_amg(&s, &options, &M), FACET_ERROR_INPUT);
    system_destroy(&s);
}

/* The Laplacian with a conductivity of 1 or 1e6 for every coupling, without pattern. */
static void make_rough(int n, int neumann, struct system *s) {
    make_laplacian(n, 1, 1.0, s);
    for (int64_t i = 0; i < s->A.n; i++) {
        double sum = 0.0;
        for (int64_t e = s->A.offsets[i]; e < s->A.offsets[i + 1]; e++) {
            int64_t j = s->A.columns[e], low = i < j ? i : j, high = i < j ? j : i;
            if (j == i) continue;
            s->A.values[e] = noise(5 * low + 3 * high) < 0.0 ? -1.0 : -1e6;
            sum -= s->A.values[e];
        }
        for (int64_t e = s->A.offsets[i]; e < s->A.offsets[i + 1]; e++)
            if (s->A.columns[e] == i) s->A.values[e] = sum + (neumann || i % n != 0 ? 0.0 : 1.0);
    }
}

/* Interpolation follows any jump; constants with another scaling of the unknowns are modes as well. */
static void test_classical(void **state) {
    (void)state;
    struct amg_options options;
    struct system s;
    amg_options_default(&options);
    options.aggregation = AMG_CLASSICAL;
    options.cycle = MG_V;
    for (int n = 32; n <= 128; n *= 2) {
        make_laplacian(n, 0, 1.0, &s);
        assert_true(iterations(&s, &options, NULL) <= 16);
        system_destroy(&s);
        make_rough(n, 0, &s);
        int plain = iterations(&s, &options, NULL);
        assert_true(plain <= 30);
        for (int64_t i = 0; i < s.A.n; i++) s.modes[i] = 1.0 / (1.5 + noise(11 * i));
        for (int64_t i = 0; i < s.A.n; i++)
            for (int64_t e = s.A.offsets[i]; e < s.A.offsets[i + 1]; e++)
                s.A.values[e] /= s.modes[i] * s.modes[s.A.columns[e]];
        assert_true(iterations(&s, &options, NULL) <= plain + 2);
        check_symmetry(&s, &options);
        system_destroy(&s);
    }
    struct null_space kernel = {0};
    options.n_kernel = 1;
    make_rough(100, 1, &s);
    OK(vector_create(the_device(), s.A.n, &kernel.function));
    vector_fill(&kernel.function, 1.0 / sqrt((double)s.A.n));
    assert_true(iterations(&s, &options, &kernel) <= 30);
    null_space_destroy(&kernel);
    system_destroy(&s);
}

static void test_threads(void **state) {
    (void)state;
    struct system s;
    struct linear_operator M = {0};
    struct vector x = {0}, y = {0};
    double *values[3];
    for (int classical = 0; classical < 2; classical++) {
        struct amg_options options;
        amg_options_default(&options);
        if (classical) {
            make_rough(260, 0, &s); /* large enough for threads */
            options.aggregation = AMG_CLASSICAL;
        } else
            make_trace("quad", 24, 2, 0, &s);
        OK(vector_create(the_device(), s.A.n, &x));
        OK(vector_create(the_device(), s.A.n, &y));
        OK(vector_upload(&x, s.modes));
        for (int k = 0; k < 3; k++) {
            base_set_threads(k == 0 ? 1 : 2 * k + 1);
            OK(make_amg(&s, &options, &M));
            operator_apply(&M, &x, &y);
            OK(ALLOC(values[k], s.A.n));
            OK(vector_download(&y, values[k]));
            assert_memory_equal(values[0], values[k], (size_t)s.A.n * sizeof(double));
            operator_destroy(&M);
        }
        base_set_threads(0);
        for (int k = 0; k < 3; k++) base_free(&values[k]);
        vector_destroy(&x);
        vector_destroy(&y);
        system_destroy(&s);
    }
}

/* An unsymmetric matrix, dense on the side: diffusion with wind. */
static void test_fgmres(void **state) {
    (void)state;
    enum { SIDE = 12, N = SIDE * SIDE };
    struct system s;
    struct linear_operator A = {0}, M = {0};
    struct vector b = {0}, x = {0};
    struct solve_report report = {0};
    static double dense[N * N], exact[N], found[N];
    int pivots[N];
    make_laplacian(SIDE, 0, 1.0, &s);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = s.A.offsets[i]; k < s.A.offsets[i + 1]; k++) {
            if (s.A.columns[k] == i + 1) s.A.values[k] += 0.7;
            if (s.A.columns[k] == i - SIDE) s.A.values[k] -= 0.4;
            dense[i * N + s.A.columns[k]] = s.A.values[k];
        }
        exact[i] = noise(i);
    }
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(operator_create_jacobi(the_device(), &s.A, &M));
    OK(vector_create(the_device(), N, &b));
    OK(vector_create(the_device(), N, &x));
    OK(vector_upload(&b, exact));
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, N, 1, dense, N, pivots, exact, 1), 0);
    for (int k = 0; k < 4; k++) { /* long and restarted, with and without preconditioner */
        struct solve_control control = {.rtol = 1e-12, .max_iterations = 2000, .restart = k < 2 ? N : 12};
        vector_fill(&x, k % 2);
        OK(solve_fgmres(&A, k % 2 ? &M : NULL, &b, &x, &control, &report));
        OK(vector_download(&x, found));
        double error = 0.0, size = 0.0;
        for (int i = 0; i < N; i++) {
            error = fmax(error, fabs(found[i] - exact[i]));
            size = fmax(size, fabs(exact[i]));
        }
        assert_true(error <= 1e-10 * size);
        assert_int_equal(report.n_history, report.iterations + 1);
        if (k < 2) /* without restarts the residual never grows */
            for (int i = 1; i < report.n_history; i++)
                assert_true(report.history[i] <= report.history[i - 1] * (1.0 + 1e-12));
    }
    struct solve_control few = {.rtol = 1e-12, .max_iterations = 5};
    vector_fill(&x, 0.0);
    assert_int_equal(solve_fgmres(&A, NULL, &b, &x, &few, &report), FACET_NOT_CONVERGED);
    assert_int_equal(report.iterations, 5);
    vector_fill(&b, 0.0);
    OK(solve_fgmres(&A, NULL, &b, &x, &few, &report));
    solve_report_clear(&report);
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    system_destroy(&s);
}

/* Wherever the iteration ends, at the second step of a sweep too: what the sweep before saw of the weak
 * functions counts. */
static void test_fgmres_short_sweep(void **state) {
    (void)state;
    enum { SIDE = 40, N = SIDE * SIDE };
    struct system s;
    struct linear_operator A = {0};
    struct vector b = {0}, x = {0};
    struct solve_report report = {0};
    static double exact[N], found[N];
    make_laplacian(SIDE, 0, 1.0, &s);
    for (int i = 0; i < N; i++) exact[i] = 1.0 + 0.1 * noise(i);
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(vector_create(the_device(), N, &b));
    OK(vector_create(the_device(), N, &x));
    OK(vector_upload(&x, exact));
    operator_apply(&A, &x, &b);
    for (int k = 0; k < 24; k++) {
        struct solve_control control = {
            .rtol = pow(10.0, -3.0 - k / 8.0), .max_iterations = 4000, .restart = 24};
        vector_fill(&x, 0.0);
        const facet_status status = solve_fgmres(&A, NULL, &b, &x, &control, &report);
        assert_true(status == FACET_OK || status == FACET_NOT_CONVERGED);
        assert_true(report.residual <= control.rtol);
        OK(vector_download(&x, found));
        double error = 0.0, size = 0.0;
        for (int i = 0; i < N; i++) {
            error += (found[i] - exact[i]) * (found[i] - exact[i]);
            size += exact[i] * exact[i];
        }
        assert_true(sqrt(error / size) <= 10.0 * report.error);
        assert_true(report.error <= fmax(100.0 * sqrt(error / size), 1e-14));
    }
    solve_report_clear(&report);
    operator_destroy(&A);
    vector_destroy(&b);
    vector_destroy(&x);
    system_destroy(&s);
}

/* With a K-cycle FGMRES, which minimises the residual over its whole space, needs hardly more steps than
 * flexible CG; with a linear M flexible and plain CG agree. */
static void test_flexible(void **state) {
    (void)state;
    struct system s;
    struct linear_operator A = {0}, M = {0};
    struct amg_options options;
    struct vector b = {0}, x = {0};
    struct solve_report report = {0};
    int its[4];
    make_laplacian(80, 0, 1.0, &s);
    amg_options_default(&options);
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(vector_create(the_device(), s.A.n, &b));
    OK(vector_create(the_device(), s.A.n, &x));
    OK(vector_upload(&b, s.modes));
    for (int k = 0; k < 4; k++) {
        struct solve_control control = {.rtol = 1e-10, .max_iterations = 100, .flexible = k < 3};
        options.cycle = k < 2 ? MG_K : MG_V;
        OK(make_amg(&s, &options, &M));
        vector_fill(&x, 0.0);
        OK((k == 1 ? solve_fgmres : solve_cg)(&A, &M, &b, &x, &control, &report));
        its[k] = report.iterations;
        operator_destroy(&M);
    }
    assert_true(its[1] <= its[0] + 1);
    assert_in_range(its[2], its[3] - 1, its[3] + 1);
    solve_report_clear(&report);
    operator_destroy(&A);
    vector_destroy(&b);
    vector_destroy(&x);
    system_destroy(&s);
}

static void test_fgmres_singular(void **state) {
    (void)state;
    struct system s;
    struct linear_operator A = {0}, M = {0};
    struct amg_options options;
    struct vector b = {0}, x = {0};
    struct null_space kernel = {0};
    struct solve_report report = {0};
    make_laplacian(40, 1, 1.0, &s);
    amg_options_default(&options);
    options.n_kernel = 1;
    OK(operator_create_csr(the_device(), &s.A, &A));
    OK(make_amg(&s, &options, &M));
    OK(vector_create(the_device(), s.A.n, &b));
    OK(vector_create(the_device(), s.A.n, &x));
    OK(vector_create(the_device(), s.A.n, &kernel.function));
    vector_fill(&kernel.function, 1.0 / 40.0);
    for (int64_t i = 0; i < s.A.n; i++) s.modes[i] = noise(i);
    OK(vector_upload(&b, s.modes));
    null_space_remove(&kernel, SOLVE_RESIDUALS, &b);
    vector_fill(&x, 1.0);
    struct solve_control control = {.rtol = 1e-10, .max_iterations = 60, .null_space = &kernel};
    OK(solve_fgmres(&A, &M, &b, &x, &control, &report));
    assert_true(fabs(vector_dot(&kernel.function, &x)) <= 1e-10 * vector_norm(&x));
    solve_report_clear(&report);
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&b);
    vector_destroy(&x);
    null_space_destroy(&kernel);
    system_destroy(&s);
}

/* The smoother's kernel on cpu against ref, on blocks of every size up to 9. */
static void test_smoother_kernel(void **state) {
    (void)state;
    enum { BLOCKS = 9, N = BLOCKS * (BLOCKS + 1) / 2 };
    const struct device *device[2];
    int64_t first[BLOCKS + 1] = {0}, starts[BLOCKS + 1] = {0};
    double B[BLOCKS * (BLOCKS + 1) * (2 * BLOCKS + 1) / 6], f[N], t[N], r[2][N], d[2][N], x[2][N];
    OK(device_find("ref", &device[0]));
    OK(device_find("cpu", &device[1]));
    for (int b = 0; b < BLOCKS; b++) {
        first[b + 1] = first[b] + b + 1;
        starts[b + 1] = starts[b] + (b + 1) * (b + 1);
    }
    for (int b = 0; b < BLOCKS; b++) /* symmetric */
        for (int i = 0; i <= b; i++)
            for (int j = 0; j <= i; j++)
                B[starts[b] + i * (b + 1) + j] = B[starts[b] + j * (b + 1) + i] =
                    noise(starts[b] + i * (b + 1) + j);
    for (int mode = 0; mode < 8; mode++) {
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < N; i++) {
                f[i] = noise(5 * i);
                t[i] = noise(7 * i);
                d[k][i] = mode & 2 ? noise(11 * i) : NAN;
                x[k][i] = mode & 4 ? noise(13 * i) : NAN;
            }
            device_block_smooth(device[k], F64, BLOCKS, first, starts, B, 0.3, mode & 2 ? 0.6 : 0.0,
                                mode & 4 ? 1.0 : 0.0, f, mode & 1 ? t : NULL, r[k], d[k], x[k]);
        }
        for (int i = 0; i < N; i++)
            assert_true(fabs(r[0][i] - r[1][i]) + fabs(d[0][i] - d[1][i]) + fabs(x[0][i] - x[1][i]) < 1e-14);
    }
}

struct attempt {
    const struct system *system;
    const struct amg_options *options;
    const struct linear_operator *A;
    const struct vector *b;
    struct vector *x;
};

static facet_status try_amg(struct attempt *a) {
    struct linear_operator M = {0};
    facet_status status = make_amg(a->system, a->options, &M);
    operator_destroy(&M);
    return status;
}

static facet_status try_fgmres(struct attempt *a) {
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-3, .max_iterations = 200, .restart = 7};
    vector_fill(a->x, 0.0);
    facet_status status = solve_fgmres(a->A, NULL, a->b, a->x, &control, &report);
    solve_report_clear(&report);
    return status;
}

/* Every allocation fails in turn; nothing may be left behind. */
static void fail_all(facet_status (*call)(struct attempt *), struct attempt *a) {
    for (int64_t k = 1;; k++) {
        struct base_memory before, after;
        base_memory_read(&before);
        base_memory_fail_at(k);
        facet_status status = call(a);
        base_memory_fail_at(0);
        base_memory_read(&after);
        assert_int_equal(before.live_blocks, after.live_blocks);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_true(k < 10000);
    }
}

static void test_memory_faults(void **state) {
    (void)state;
    struct system laplacian, springs, trace;
    struct amg_options options;
    struct linear_operator A = {0};
    struct vector b = {0}, x = {0};
    amg_options_default(&options);
    options.coarse_size = 20;
    make_laplacian(16, 0, 1.0, &laplacian);
    make_springs(10, 1, &springs);
    make_trace("quad", 6, 3, 0, &trace);
    const struct system *systems[] = {&laplacian, &springs, &trace};
    for (int i = 0; i < 6; i++) {
        options.aggregation = i < 3 ? AMG_GREEDY : AMG_PAIRWISE;
        options.leading = i < 3 ? -1 : 2;
        struct attempt attempt = {.system = systems[i % 3], .options = &options};
        fail_all(try_amg, &attempt);
    }
    options.aggregation = AMG_CLASSICAL;
    fail_all(try_amg, &(struct attempt){.system = &laplacian, .options = &options});
    OK(operator_create_csr(the_device(), &laplacian.A, &A));
    OK(vector_create(the_device(), laplacian.A.n, &b));
    OK(vector_create(the_device(), laplacian.A.n, &x));
    OK(vector_upload(&b, laplacian.modes));
    struct attempt attempt = {.A = &A, .b = &b, .x = &x};
    fail_all(try_fgmres, &attempt);
    operator_destroy(&A);
    vector_destroy(&b);
    vector_destroy(&x);
    system_destroy(&laplacian);
    system_destroy(&springs);
    system_destroy(&trace);
}

static int nothing_leaked(void **state) {
    (void)state;
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.live_blocks != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mesh_independence),
        cmocka_unit_test(test_linear_cycles),
        cmocka_unit_test(test_rigid_modes),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_free_body),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_neumann),
        cmocka_unit_test(test_fine_operator),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_classical),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_fgmres),
        cmocka_unit_test(test_flexible),
        cmocka_unit_test(test_fgmres_singular),
        cmocka_unit_test(test_fgmres_short_sweep),
        cmocka_unit_test(test_smoother_kernel),
        cmocka_unit_test(test_memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_leaked);
}
