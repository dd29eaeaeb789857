/* Geometric multigrid on the trace: spaces, transfers and matrices on nested meshes against their
 * definitions, cycles (symmetric, never raising the energy), counts of iterations that do not depend on the
 * mesh, jumps, other devices and precisions, what the case says, and allocation faults. */
#include <stdio.h>

#include "multigrid_helpers.h"
#include "trace/gmg.h"
#include "trace/nested.h"
#include "trace/pmg_parts.h"

/* A dense factor is for fewer unknowns than this: levels then go on below the mesh that knows the jumps, and
 * nearly incompressible bodies lose the factor that they want. */
#define LARGE_FACTOR 20000

/* A bent mesh with cells in all orientations, refined so many times. */
static struct facet_mesh *bent(int k, int n, int times) {
    struct facet_mesh *mesh = remake(unit_box(multigrid_shapes[k], NULL, n), 1, map_bent, 11u);
    ok(mesh_refine_keeping(mesh, times));
    return mesh;
}

/* ------------------------------------------------------------------------------------------ problems */

/* The matrices of a problem, not yet solved, and the meshes below it. */
struct made {
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    struct facet_mesh *mesh;
    struct mesh_hierarchy hierarchy;
};

/* The mesh is taken over. */
static void make(const struct setup *p, struct facet_mesh *mesh, struct made *m) {
    facet_options options;
    *m = (struct made){.mesh = mesh};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = p->degree;
    options.tau = p->tau;
    options.method = "cg";
    options.preconditioner = "none";
    ok(facet_context_create(p->device, &m->context));
    ok(facet_problem_create(m->context, mesh, FACET_DIFFUSION, &m->problem));
    ok(describe(p, m->problem));
    ok(facet_solver_create(m->problem, &options, &m->solver));
    ok(mesh_hierarchy_create(mesh, 1, &m->hierarchy));
}

static void unmake(struct made *m) {
    facet_solver_destroy(&m->solver);
    facet_problem_destroy(&m->problem);
    facet_context_destroy(&m->context);
    mesh_hierarchy_destroy(&m->hierarchy);
    mesh_destroy(&m->mesh);
}

/* ------------------------------------------------------------------------------------------ transfers */

static void transfer_apply(const struct mg_transfer *P, const double *x, double *y) {
    for (int64_t i = 0; i < P->n_rows; i++) {
        y[i] = 0.0;
        for (int64_t e = P->offsets[i]; e < P->offsets[i + 1]; e++) y[i] += P->values[e] * x[P->columns[e]];
    }
}

/* P'K P x from K against the coarse matrices, for a random x. */
static void check_inherited(const struct trace_space *fine, const struct linear_operator *K,
                            const struct mg_transfer *P, const struct trace_space *coarse,
                            const struct trace_matrices *matrices) {
    struct linear_operator C = {0};
    int64_t n = fine->n_free, nc = coarse->n_free;
    double *x = calloc((size_t)(2 * nc + 2 * n), sizeof *x), *Cx = x + nc, *Px = Cx + nc, *KPx = Px + n;
    double *left = calloc((size_t)nc, sizeof *left), size = 0.0;
    uint32_t seed = 9;
    ok(trace_operator_create(coarse, matrices, &C));
    noise(&seed, nc, x);
    for (int64_t i = 0; i < nc && coarse->fixed != NULL; i++)
        if (coarse->fixed[i]) x[i] = 0.0;
    transfer_apply(P, x, Px);
    apply(K, Px, KPx);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = P->offsets[i]; e < P->offsets[i + 1]; e++)
            left[P->columns[e]] += P->values[e] * KPx[i];
    apply(&C, x, Cx);
    for (int64_t i = 0; i < nc; i++) size = fmax(size, fabs(left[i]));
    for (int64_t i = 0; i < nc; i++) near(Cx[i], left[i], 1e-12 * size);
    free(x);
    free(left);
    operator_destroy(&C);
}

/* Walks down all meshes with inherited matrices. */
static void check_all_levels(const struct made *m) {
    const struct hdg *h = mapped_of(m->solver)->hdg;
    const struct trace_space *fine = &h->trace;
    const struct trace_matrices *matrices = &h->matrices;
    struct trace_space spaces[8] = {{0}};
    struct trace_matrices all[8] = {{0}};
    assert_true(m->hierarchy.n >= 2);
    for (int i = 0; i < m->hierarchy.n && i < 8; i++) {
        struct mg_transfer P = {0};
        struct linear_operator K = {0};
        ok(trace_nested_space(fine, &m->hierarchy.nestings[i], &spaces[i]));
        ok(trace_nested_create(fine, matrices, &m->hierarchy.nestings[i], &spaces[i], matrices->device, &P,
                               &all[i], NULL));
        ok(trace_operator_create(fine, matrices, &K));
        check_inherited(fine, &K, &P, &spaces[i], &all[i]);
        operator_destroy(&K);
        mg_transfer_destroy(&P);
        fine = &spaces[i];
        matrices = &all[i];
    }
    for (int i = 0; i < 8; i++) {
        trace_space_destroy(&spaces[i]);
        trace_matrices_destroy(&all[i]);
    }
}

static void inherited_matrices_are_galerkin_products(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= (k < 2 ? 3 : 2); degree++)
            for (int partly = 0; partly < 2; partly++) {
                struct made m;
                struct setup setup = {.degree = degree, .source = "1"};
                setup.conditions[0] = (struct condition){"xmin", "dirichlet", "0", NULL};
                setup.conditions[1] = (struct condition){"rest", partly ? "neumann" : "dirichlet", "0", NULL};
                make(&setup, bent(k, k < 2 ? 2 : 1, 2), &m);
                check_all_levels(&m);
                unmake(&m);
            }
}

/* Boxes that are halved, some of their directions periodic, cells of two shapes, and curved cells. */
static void other_meshes_are_nested_as_well(void **state) {
    (void)state;
    for (int k = 0; k < 7; k++) {
        struct made m;
        struct setup setup = {.degree = 2, .source = "1"};
        struct facet_mesh *mesh;
        setup.conditions[0] = (struct condition){"rest", "dirichlet", "0", NULL};
        if (k < 4) {
            facet_box b = {.size = sizeof(facet_box),
                           .dim = k < 2 ? 2 : 3,
                           .upper = {1, 2, 1},
                           .cells = {8, 4, 4},
                           .shape = multigrid_shapes[k],
                           .periodic = {1, 0, 0}};
            if (k == 2) b.cells[0] = 8;
            ok(mesh_create_box(&b, &mesh));
            ok(mesh_need_lists(mesh));
        } else if (k == 4) {
            mesh = lattice(MIXED, 4, 5, 0.2);
            ok(mesh_refine_keeping(mesh, 2));
        } else {
            mesh = remake(unit_box(multigrid_shapes[k == 5 ? 0 : 1], NULL, 2), 3, map_pipe, 5u);
            ok(mesh_refine_keeping(mesh, 2));
        }
        make(&setup, mesh, &m);
        if (m.hierarchy.n < 2) fail_msg("mesh %d: %d coarser ones: %s", k, m.hierarchy.n, m.hierarchy.why);
        check_all_levels(&m);
        unmake(&m);
    }
}

/* B solves on the inner faces, and its range is orthogonal to that of P in the energy: with f zero on the
 * coarse faces, K B f = f on the inner ones, and P'K B f = 0. */
static void inner_faces_are_the_complement(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made m;
        struct trace_space coarse = {0};
        struct mg_transfer P = {0};
        struct linear_operator B = {0};
        struct setup setup = {.degree = 2, .source = "0"};
        setup.conditions[0] = (struct condition){"rest", "neumann", "0", NULL};
        make(&setup, bent(k, k < 2 ? 3 : 2, 1), &m);
        const struct hdg *h = mapped_of(m.solver)->hdg;
        const struct mesh_nesting *nesting = &m.hierarchy.nestings[0];
        int64_t n = h->trace.n_free;
        double *f = calloc((size_t)(3 * n), sizeof *f), *Bf = f + n, *KBf = Bf + n;
        double *left;
        uint32_t seed = 3;
        ok(trace_nested_space(&h->trace, nesting, &coarse));
        ok(trace_nested_create(&h->trace, &h->matrices, nesting, &coarse, h->matrices.device, &P, NULL, &B));
        left = calloc((size_t)coarse.n_free, sizeof *left);
        for (int64_t b = 0; b < h->trace.n_free_faces; b++)
            if (nesting->face_parents[h->trace.free_faces[b]] < 0)
                noise(&seed, h->trace.free_offsets[b + 1] - h->trace.free_offsets[b],
                      f + h->trace.free_offsets[b]);
        apply(&B, f, Bf);
        apply(&mapped_of(m.solver)->A, Bf, KBf);
        for (int64_t i = 0; i < n; i++) {
            if (f[i] != 0.0) near(KBf[i], f[i], 1e-10);
            for (int64_t e = P.offsets[i]; e < P.offsets[i + 1]; e++)
                left[P.columns[e]] += P.values[e] * KBf[i];
        }
        for (int64_t i = 0; i < coarse.n_free; i++) near(left[i], 0.0, 1e-10);
        free(f);
        free(left);
        operator_destroy(&B);
        mg_transfer_destroy(&P);
        trace_space_destroy(&coarse);
        unmake(&m);
    }
}

/* Pure Neumann: the extension of constants is constant. */
static void extensions_reproduce_constants(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made m;
        struct trace_space coarse = {0};
        struct mg_transfer P = {0};
        struct setup setup = {.degree = 2, .source = "0"};
        setup.conditions[0] = (struct condition){"rest", "neumann", "0", NULL};
        make(&setup, bent(k, k < 2 ? 3 : 2, 1), &m);
        const struct hdg *h = mapped_of(m.solver)->hdg;
        ok(trace_nested_space(&h->trace, &m.hierarchy.nestings[0], &coarse));
        ok(trace_nested_create(&h->trace, &h->matrices, &m.hierarchy.nestings[0], &coarse, h->matrices.device,
                               &P, NULL, NULL));
        double *x = calloc((size_t)coarse.n_free, sizeof *x), *Px = calloc((size_t)P.n_rows, sizeof *Px);
        double one = sqrt(shape_measure((enum shape)m.mesh->face_shapes[0]));
        for (int64_t b = 0; b < coarse.n_free_faces; b++) x[coarse.free_offsets[b]] = one;
        transfer_apply(&P, x, Px);
        for (int64_t b = 0; b < h->trace.n_free_faces; b++)
            for (int64_t i = h->trace.free_offsets[b]; i < h->trace.free_offsets[b + 1]; i++)
                near(Px[i], i == h->trace.free_offsets[b] ? one : 0.0, 1e-12);
        free(x);
        free(Px);
        mg_transfer_destroy(&P);
        trace_space_destroy(&coarse);
        unmake(&m);
    }
}

/* ------------------------------------------------------------------------------------------ cycles */

/* (x, M y) = (M x, y), (x, M x) > 0; and the error after a cycle, e - M K e, has less energy than before. */
static void check_cycle(const struct linear_operator *A, const struct linear_operator *M) {
    uint32_t seed = 5;
    int64_t n = M->n;
    double *x = malloc((size_t)n * 6 * sizeof *x), *y = x + n, *Mx = y + n, *My = Mx + n, *Ax = My + n,
           *e = Ax + n;
    for (int k = 0; k < 2; k++) {
        noise(&seed, n, x);
        noise(&seed, n, y);
        apply(M, x, Mx);
        apply(M, y, My);
        double size = sqrt(dot(n, x, Mx) * dot(n, y, My));
        near(dot(n, x, My), dot(n, y, Mx), 1e-11 * size);
        assert_true(dot(n, x, Mx) > 0.0);
        apply(A, x, Ax);
        double before = dot(n, x, Ax);
        apply(M, Ax, Mx);
        for (int64_t i = 0; i < n; i++) e[i] = x[i] - Mx[i];
        apply(A, e, Ax);
        assert_true(dot(n, e, Ax) < before);
    }
    free(x);
}

static int count(const struct made *m, const struct gmg_options *options, int check) {
    struct facet_solver *v = m->solver;
    struct multigrid *mg;
    struct linear_operator M = {0};
    struct solve_report report = {0};
    ok(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                        &m->hierarchy, options, &mg));
    struct solve_control control = {
        .rtol = 1e-10, .max_iterations = 200, .flexible = multigrid_is_flexible(mg)};
    ok(operator_create_multigrid(&mg, &M));
    if (check && !control.flexible) check_cycle(&mapped_of(v)->A, &M);
    ok(solve_fill_noise(&mapped_of(v)->b));
    vector_fill(&mapped_of(v)->x, 0.0);
    ok(solve_cg(&mapped_of(v)->A, &M, &mapped_of(v)->b, &mapped_of(v)->x, &control, &report));
    int iterations = report.iterations;
    solve_report_clear(&report);
    operator_destroy(&M);
    return iterations;
}

static void boundary(struct setup *setup, const char *kind) {
    setup->conditions[0] = (struct condition){"xmin", "dirichlet", "0", NULL};
    setup->conditions[1] = (struct condition){"rest", kind, "0", NULL};
}

/* The default smoother of every shape, on meshes each half as wide as the one before. */
static void iterations_do_not_grow(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= (k < 2 ? 8 : 3); degree += degree < 4 ? 1 : 2) {
            int n[3] = {0}, levels = k < 2 && degree == 1 ? 3 : 2;
            for (int level = 0; level < levels; level++) {
                struct made m;
                struct gmg_options options;
                struct setup setup = {.degree = degree, .source = "1"};
                boundary(&setup, level == 1 ? "neumann" : "dirichlet");
                options = (struct gmg_options){0};
                make(&setup, unit_box(multigrid_shapes[k], NULL, (k < 2 ? 16 : 4) << level), &m);
                n[level] = count(&m, &options, level == 0);
                unmake(&m);
                if (n[level] > (k < 2 ? 12 : 20) || n[level] > n[0] + 5)
                    fail_msg("%s, degree %d: %d iterations on mesh %d after %d", multigrid_shapes[k], degree,
                             n[level], level, n[0]);
            }
        }
}

/* K jumps between 1 and 1e4 on a chessboard of 4 x 4, which all meshes but the coarsest know. */
static void jumps_do_not_matter(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made m;
        struct gmg_options options;
        struct setup setup = {.degree = 2, .source = "1", .n_K = 1};
        setup.K[0] = k < 2 ? "mod(floor(4*x)+floor(4*y),2) < 0.5 ? 1 : 1e4"
                     : cholesky_reasonable_size() > LARGE_FACTOR
                         ? "mod(floor(4*x)+floor(4*y)+floor(4*z),2) < 0.5 ? 1 : 1e4"
                         : "mod(floor(2*x)+floor(2*y)+floor(2*z),2) < 0.5 ? 1 : 1e4";
        boundary(&setup, "dirichlet");
        options = (struct gmg_options){0};
        make(&setup, unit_box(multigrid_shapes[k], NULL, k < 2 ? 32 : 8), &m);
        int n = count(&m, &options, 1);
        if (n > 25) fail_msg("%s: %d iterations", multigrid_shapes[k], n);
        unmake(&m);
    }
}

/* Every smoother, sequence of degrees and precision. */
static void variants_solve(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made m;
        struct setup setup = {.degree = k < 2 ? 3 : 2, .source = "1"};
        boundary(&setup, "neumann");
        make(&setup, bent(k, k < 2 ? 8 : 2, k < 2 ? 2 : 1), &m);
        for (int smoother = GMG_FACES; smoother <= GMG_FSAI; smoother++)
            for (int degrees = GMG_ARITHMETIC; degrees <= GMG_STRAIGHT;
                 degrees += smoother == GMG_FACES ? 1 : 3) {
                struct gmg_options options = {.smoother = (enum gmg_smoother)smoother,
                                              .degrees = (enum gmg_degrees)degrees,
                                              .precision = smoother % 2 ? PMG_DOUBLE : PMG_MIXED};
                if (smoother == GMG_ROWS && k != 1) continue; /* quads only */
                int n = count(&m, &options, 1);
                if (n > 40)
                    fail_msg("%s, smoother %d, degrees %d: %d iterations", multigrid_shapes[k], smoother,
                             degrees, n);
            }
        unmake(&m);
    }
}

/* Coarse levels on another device, which may be one the host cannot look into. */
static void levels_live_on_other_devices(void **state) {
    (void)state;
    static const char *const devices[3][2] = {{"cpu", "debug"}, {"debug", "cpu"}, {"debug", "debug"}};
    for (int k = 0; k < 3; k++)
        for (int all = 0; all < 2; all++) {
            struct made m;
            struct multigrid *mg;
            struct mg_summary summary;
            struct setup setup = {.degree = 2, .source = "1", .device = devices[k][0]};
            struct gmg_options options = {.coarse_device = find(devices[k][1]),
                                          .coarse_unknowns = all ? 4000 : 0,
                                          .precision = all ? PMG_MIXED : PMG_DOUBLE};
            boundary(&setup, "dirichlet");
            make(&setup, unit_box("quad", NULL, 32), &m);
            struct facet_solver *v = m.solver;
            ok(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                                &m.hierarchy, &options, &mg));
            int last = multigrid_n_levels(mg) - 1;
            assert_int_equal(last, 2);
            for (int l = 0; l <= last; l++) {
                multigrid_summarize(mg, l, &summary);
                int coarse = l == last || (all && summary.n <= 4000);
                assert_string_equal(summary.device, devices[k][coarse]);
            }
            multigrid_destroy(&mg);
            int n = count(&m, &options, 0);
            if (n > 12) fail_msg("%s, %s: %d iterations", devices[k][0], devices[k][1], n);
            unmake(&m);
        }
}

/* A caller who makes the matrices of every level anew. */
static facet_status scaled_copy(void *user, const struct trace_space *space,
                                struct trace_matrices *matrices) {
    const struct device *device = find("cpu");
    facet_status status = trace_matrices_create(device, space, 0, matrices);
    int *calls = user;
    for (int b = 0; status == FACET_OK && b < matrices->n_blocks; b++) {
        int64_t n = matrices->n[b], m = n / 4;
        for (int64_t batch = 0; batch < matrices->n_batches[b]; batch++)
            for (int64_t i = 0, at = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++, at++) /* the jumps between the values of the faces */
                    for (int l = 0; l < matrices->lanes; l++)
                        matrices->values[b][(batch * n * (n + 1) / 2 + at) * matrices->lanes + l] =
                            i == j                     ? (i % m == 0 ? 3.0 : 8.0)
                            : i % m == 0 && j % m == 0 ? -1.0
                                                       : 0.0;
    }
    ++*calls;
    return status;
}

static void levels_may_be_made_anew(void **state) {
    (void)state;
    struct made m;
    int calls = 0;
    struct setup setup = {.degree = 2, .source = "1"};
    struct gmg_options options = {.rediscretize = scaled_copy, .user = &calls};
    boundary(&setup, "dirichlet");
    make(&setup, unit_box("quad", NULL, 32), &m);
    int n = count(&m, &options, 0);
    assert_int_equal(calls, 2);
    if (n > 80) fail_msg("%d iterations", n);
    unmake(&m);
}

/* ------------------------------------------------------------------------------------------ solvers */

static facet_status run(facet_problem *problem, const facet_options *options, facet_report *report,
                        facet_errors *errors, char *why) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    TRY(facet_solver_create(problem, options, &solver));
    strcpy(why, solver->notes[SOLVER_NOTE_PMG]);
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(facet_solver_report(solver, report));
    if (errors != NULL) TRY(facet_solver_errors(solver, errors));
done:
    facet_solver_destroy(&solver);
    return status;
}

/* Cycles by themselves converge fast, and one full cycle gives the discretization error: with the default
 * smoother for degree 1 on any mesh, for all degrees with a good smoother on 16 x 16 (fabien2017). */
static void full_cycles_reach_the_discretization_error(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int degree = 1; degree <= (k == 0 ? 1 : 6); degree++) {
            struct made m;
            facet_options options;
            facet_report report = {.size = sizeof report};
            facet_errors errors = {.size = sizeof errors}, full = {.size = sizeof full};
            char why[PROBLEM_WHY_BYTES];
            struct setup setup = {.degree = degree, .exact = "exp(x)*sin(2*y+1)"};
            make(&setup, unit_box(multigrid_shapes[k], NULL, degree == 1 ? 64 : 16), &m);
            facet_options_default(&options, sizeof options);
            options.degree = degree;
            options.method = "multigrid";
            options.preconditioner = "gmg";
            options.precision = degree == 2 ? "mixed" : NULL;
            options.rtol = 1e-11;
            ok(run(m.problem, &options, &report, &errors, why));
            assert_string_equal(report.preconditioner, "gmg");
            assert_string_equal(report.operator_name, "mapped");
            assert_string_equal(why, "");
            if (!(report.rate < 0.22))
                fail_msg("%s, degree %d: rate %g", multigrid_shapes[k], degree, report.rate);
            options.cycle = "full";
            options.rtol = 0.5;
            options.smoother = degree == 1 ? NULL : "fsai";
            options.fill = degree == 1 ? 0.0 : 2.5;
            ok(run(m.problem, &options, &report, &full, why));
            assert_int_equal(report.iterations, 1);
            if (!(full.u_L2 < 1.5 * errors.u_L2))
                fail_msg("%s, degree %d: %g after a full cycle, %g", multigrid_shapes[k], degree, full.u_L2,
                         errors.u_L2);
            unmake(&m);
        }
}

/* fabien2017, Figures 3 and 8: two steps over an approximate inverse with the fill of the matrix, and
 * with 2.5 times as much, on 16 x 16 squares down to 2 x 2. */
static void approximate_inverses_smooth(void **state) {
    (void)state;
    static const struct {
        double fill, rate;
        int cycles;
    } wanted[] = {{1.0, 0.22, 20}, {2.5, 0.03, 7}};
    for (int degree = 2; degree <= 8; degree += 3)
        for (int k = 0; k < 2; k++) {
            struct made m;
            struct setup setup = {.degree = degree, .source = "1", .tau = "1"};
            boundary(&setup, "dirichlet");
            make(&setup, unit_box("quad", NULL, 16), &m);
            struct facet_solver *v = m.solver;
            struct gmg_options options;
            struct multigrid *mg = NULL;
            struct linear_operator M = {0};
            struct solve_report report = {0};
            struct solve_control control = {.rtol = 1e-13, .max_iterations = 30};
            options = (struct gmg_options){0};
            options.degrees = GMG_ARITHMETIC;
            options.smoother = GMG_FSAI;
            options.steps = 2;
            options.fill = wanted[k].fill;
            options.precision = PMG_DOUBLE;
            options.last_unknowns = 1;
            ok(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                                &m.hierarchy, &options, &mg));
            ok(operator_create_multigrid(&mg, &M));
            ok(solve_fill_noise(&mapped_of(v)->b));
            vector_fill(&mapped_of(v)->x, 0.0);
            ok(solve_multigrid(&mapped_of(v)->A, &M, &mapped_of(v)->b, &mapped_of(v)->x, &control, &report));
            if (report.rate > wanted[k].rate || report.iterations > wanted[k].cycles)
                fail_msg("degree %d, fill %g: %d cycles, rate %g", degree, wanted[k].fill, report.iterations,
                         report.rate);
            solve_report_clear(&report);
            operator_destroy(&M);
            unmake(&m);
        }
}

static void odd_boxes_fall_back(void **state) {
    (void)state;
    struct made m;
    facet_options options;
    facet_report report = {.size = sizeof report};
    char why[PROBLEM_WHY_BYTES];
    struct setup setup = {.degree = 2, .source = "1"};
    boundary(&setup, "dirichlet");
    make(&setup, unit_box("quad", NULL, 9), &m);
    facet_options_default(&options, sizeof options);
    options.preconditioner = "gmg";
    options.smoother = "fsai";
    ok(run(m.problem, &options, &report, NULL, why));
    assert_string_equal(report.preconditioner, "pmg");
    assert_non_null(strstr(why, "9 x 9"));
    assert_non_null(strstr(why, "not used: smoother"));
    unmake(&m);
}

/* Where K jumps inside coarse cells or has a strong direction across the faces, where rows do not matter, on
 * other shapes, and without coarser meshes it is p-multigrid. */
static void auto_takes_it_where_it_is_fast(void **state) {
    (void)state;
    static const struct {
        const char *shape, *K, *preconditioner;
        int n;
        const char *tau;
    } cases[] = {{"quad", "1 + x", "gmg", 8, "0.01"},
                 {"quad", "1 + x", "pmg", 8, "10"},
                 {"quad", "mod(floor(8*x) + floor(8*y), 2) < 0.5 ? 1 : 1e4", "pmg", 8, NULL},
                 {"quad", "1", "pmg", 33, "0.01"},
                 {"triangle", "1", "pmg", 8, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made m;
        facet_options options;
        facet_report report = {.size = sizeof report};
        char why[PROBLEM_WHY_BYTES];
        struct setup setup = {.degree = 2, .source = "1", .n_K = 1, .K = {cases[i].K}};
        boundary(&setup, "dirichlet");
        make(&setup, unit_box(cases[i].shape, NULL, cases[i].n), &m);
        facet_options_default(&options, sizeof options);
        options.operator_name = "mapped";
        options.method = "cg";
        options.tau = cases[i].tau;
        ok(run(m.problem, &options, &report, NULL, why));
        assert_string_equal(report.preconditioner, cases[i].preconditioner);
        unmake(&m);
    }
}

/* A beam on a roller, compressible or nearly not; the latter wants a factor of its traces of degree 1, for
 * which the dense one is too small. */
static void elastic_bodies_are_solved(void **state) {
    (void)state;
    static const char *const held[] = {"0", "0", "0"}, *const weight[] = {"1", "x", "-y"};
    static const char *const roller[2][3] = {{NULL, "0", NULL}, {NULL, NULL, "0"}}, *const slides[2][3] = {
                                                                                        {"0", NULL, NULL},
                                                                                        {"0", "0", NULL}};
    for (int k = 0; k < 4; k++)
        for (int stiff = 0; stiff < (cholesky_reasonable_size() > LARGE_FACTOR ? 2 : 1); stiff++) {
            int dim = k < 2 ? 2 : 3;
            const char *const moduli[] = {"1", stiff ? "1e4" : "1"}, *lower = k < 2 ? "ymin" : "zmin";
            struct facet_mesh *mesh = unit_box(multigrid_shapes[k], NULL, k < 2 ? 32 : 4);
            facet_context *context;
            facet_problem *problem;
            facet_options options;
            facet_report report = {.size = sizeof report};
            char why[PROBLEM_WHY_BYTES];
            ok(facet_context_create("cpu", &context));
            ok(facet_problem_create(context, mesh, FACET_ELASTICITY, &problem));
            ok(facet_problem_set_material(problem, NULL, "mu,lambda", moduli));
            ok(facet_problem_set_vector_source(problem, dim, weight));
            ok(facet_problem_set_displacement(problem, "xmin", dim, held));
            ok(facet_problem_set_displacement(problem, lower, dim, roller[k / 2]));
            ok(facet_problem_set_traction(problem, lower, dim, slides[k / 2]));
            ok(facet_problem_set_traction(problem, "rest", dim, held));
            facet_options_default(&options, sizeof options);
            options.degree = 1 + (k < 2);
            options.method = "cg";
            options.preconditioner = "gmg";
            options.rtol = 1e-8;
            options.postprocess = 0;
            ok(run(problem, &options, &report, NULL, why));
            assert_string_equal(report.preconditioner, stiff ? "pmg" : "gmg");
            assert_true(stiff == (why[0] != '\0'));
            if (report.iterations > (stiff ? 80 : 25))
                fail_msg("%s, stiff %d: %d iterations", multigrid_shapes[k], stiff, report.iterations);
            facet_problem_destroy(&problem);
            facet_context_destroy(&context);
            mesh_destroy(&mesh);
        }
}

static void keys_that_do_nothing_are_refused(void **state) {
    (void)state;
    static const struct {
        facet_options o;
        const char *text;
    } bad[] = {
        {{.preconditioner = "pmg", .smoother = "fsai"}, "pmg has faces"},
        {{.preconditioner = "pmg", .degrees = "even"}, "belongs to the preconditioner gmg"},
        {{.preconditioner = "gmg", .fill = 2.0}, "belongs to the smoother fsai"},
        {{.preconditioner = "gmg", .coarse_unknowns = 10}, "needs a coarse_device"},
        {{.preconditioner = "gmg", .degrees = "odd"}, "arithmetic, even, geometric, straight"},
        {{.preconditioner = "gmg", .smoother = "ilu"}, "fsai"},
        {{.preconditioner = "gmg", .smoother = "cells"}, "gmg-smoothers"},
        {{.preconditioner = "gmg", .operator_name = "tensor"}, "needs the operator mapped"},
        {{.preconditioner = "gmg", .discretization = "condensed"}, "discretizations hdg and continuous"},
    };
    struct made m;
    struct setup setup = {.degree = 1, .source = "1"};
    boundary(&setup, "dirichlet");
    make(&setup, unit_box("quad", NULL, 4), &m);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        facet_options options, o = bad[i].o;
        facet_solver *solver;
        facet_options_default(&options, sizeof options);
        options.preconditioner = o.preconditioner;
        options.smoother = o.smoother;
        options.degrees = o.degrees;
        options.fill = o.fill;
        options.coarse_unknowns = o.coarse_unknowns;
        options.operator_name = o.operator_name;
        options.discretization = o.discretization;
        refused(facet_solver_create(m.problem, &options, &solver), FACET_ERROR_INPUT, bad[i].text);
    }
    unmake(&m);
}

/* ------------------------------------------------------------------------------------------ faults */

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    struct made m;
    struct setup setup = {.degree = 2, .source = "1"};
    boundary(&setup, "dirichlet");
    make(&setup, unit_box("quad", NULL, 28), &m);
    struct facet_solver *v = m.solver;
    for (int variant = 0; variant < 3; variant++) {
        struct gmg_options options = {.smoother = variant == 1 ? GMG_FACES : GMG_ROWS,
                                      .steps = 2,
                                      .precision = variant == 1 ? PMG_DOUBLE : PMG_MIXED,
                                      .coarse_device = variant == 2 ? find("debug") : NULL,
                                      .full = variant == 1,
                                      .coarse_unknowns = 10000};
        int64_t blocks = live_blocks();
        for (int k = 1;; k++) {
            struct multigrid *mg = NULL;
            base_memory_fail_at(k);
            facet_status status = trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices,
                                                   &mapped_of(v)->A, &m.hierarchy, &options, &mg);
            base_memory_fail_at(0);
            if (status == FACET_OK) {
                multigrid_destroy(&mg);
                assert_int_equal(live_blocks(), blocks);
                assert_true(k > 20);
                break;
            }
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), blocks);
        }
    }
    unmake(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inherited_matrices_are_galerkin_products),
        cmocka_unit_test(other_meshes_are_nested_as_well),
        cmocka_unit_test(extensions_reproduce_constants),
        cmocka_unit_test(inner_faces_are_the_complement),
        cmocka_unit_test(iterations_do_not_grow),
        cmocka_unit_test(jumps_do_not_matter),
        cmocka_unit_test(variants_solve),
        cmocka_unit_test(levels_live_on_other_devices),
        cmocka_unit_test(levels_may_be_made_anew),
        cmocka_unit_test(full_cycles_reach_the_discretization_error),
        cmocka_unit_test(approximate_inverses_smooth),
        cmocka_unit_test(odd_boxes_fall_back),
        cmocka_unit_test(auto_takes_it_where_it_is_fast),
        cmocka_unit_test(elastic_bodies_are_solved),
        cmocka_unit_test(keys_that_do_nothing_are_refused),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
