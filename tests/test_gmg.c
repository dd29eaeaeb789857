/* Geometric multigrid on the trace: spaces, transfers and matrices on nested meshes against their
 * definitions, cycles (symmetric, never raising the energy), counts of iterations that do not depend on the
 * mesh, jumps, other devices and precisions, what the case says, and allocation faults. */
#include <stdio.h>

#include "solid_helpers.h"
#include "solve/internal.h"
#include "trace/coarse.h"
#include "trace/gmg.h"
#include "trace/nested.h"

static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static void noise(uint32_t *seed, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(seed);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* y = M x on the host's numbers. */
static void apply(const struct operator* M, const double *x, double *y) {
    struct vector in = {0}, out = {0};
    ok(vector_create(M->device, M->n, &in));
    ok(vector_create(M->device, M->n, &out));
    ok(vector_upload(&in, x));
    operator_apply(M, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

static void map_bent(const double *x, double *y) {
    y[0] = x[0] + 0.06 * sin(3.1 * x[0] + 4.3 * x[1] + 1.7 * x[2]);
    y[1] = x[1] + 0.06 * sin(2.3 * x[0] - 3.9 * x[1] + 2.9 * x[2]);
    y[2] = x[2] + 0.06 * sin(4.1 * x[0] + 1.3 * x[1] - 3.3 * x[2]);
}

/* A bent mesh with cells in all orientations, refined so many times. */
static struct facet_mesh *bent(int k, int n, int times) {
    struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, n), 1, map_bent, 11u);
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
    facet_options_default(&options);
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
static void check_inherited(const struct trace_space *fine, const struct operator* K,
                            const struct mg_transfer *P, const struct trace_space *coarse,
                            const struct trace_matrices *matrices) {
    struct operator C = {0};
    int64_t n = fine->n_free, nc = coarse->n_free;
    double *x = calloc((size_t)(2 * nc + 2 * n), sizeof *x), *Cx = x + nc, *Px = Cx + nc, *KPx = Px + n;
    double *left = calloc((size_t)nc, sizeof *left), size = 0.0;
    uint32_t seed = 9;
    ok(trace_operator_create(coarse, matrices, TRACE_CELLS, &C));
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
    const struct hdg *h = m->solver->hdg;
    const struct trace_space *fine = &h->trace;
    const struct trace_matrices *matrices = &h->matrices;
    struct trace_space spaces[8] = {{0}};
    struct trace_matrices all[8] = {{0}};
    assert_true(m->hierarchy.n >= 2);
    for (int i = 0; i < m->hierarchy.n && i < 8; i++) {
        struct mg_transfer P = {0};
        struct operator K = {0};
        ok(trace_nested_space(fine, &m->hierarchy.nestings[i], &spaces[i]));
        ok(trace_nested_create(fine, matrices, &m->hierarchy.nestings[i], &spaces[i], matrices->device, &P,
                               &all[i]));
        ok(trace_operator_create(fine, matrices, TRACE_CELLS, &K));
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
            facet_box b = {.dim = k < 2 ? 2 : 3,
                           .upper = {1, 2, 1},
                           .cells = {8, 4, 4},
                           .shape = shapes[k],
                           .periodic = {1, 0, 0}};
            if (k == 2) b.cells[0] = 8;
            ok(mesh_create_box(&b, &mesh));
        } else if (k == 4) {
            mesh = lattice(MIXED, 4, 5, 0.2);
            ok(mesh_refine_keeping(mesh, 2));
        } else {
            mesh = remake(unit_box(shapes[k == 5 ? 0 : 1], NULL, 2), 3, map_pipe, 5u);
            ok(mesh_refine_keeping(mesh, 2));
        }
        make(&setup, mesh, &m);
        if (m.hierarchy.n < 2) fail_msg("mesh %d: %d coarser ones: %s", k, m.hierarchy.n, m.hierarchy.why);
        check_all_levels(&m);
        unmake(&m);
    }
}

/* Pure Neumann: the extension of constants is constant; and that of the trace of x, whose flux is the same
 * everywhere, is the trace of x on affine cells. */
static void extensions_reproduce_constants(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made m;
        struct trace_space coarse = {0};
        struct mg_transfer P = {0};
        struct setup setup = {.degree = 2, .source = "0"};
        setup.conditions[0] = (struct condition){"rest", "neumann", "0", NULL};
        make(&setup, bent(k, k < 2 ? 3 : 2, 1), &m);
        const struct hdg *h = m.solver->hdg;
        ok(trace_nested_space(&h->trace, &m.hierarchy.nestings[0], &coarse));
        ok(trace_nested_create(&h->trace, &h->matrices, &m.hierarchy.nestings[0], &coarse, h->matrices.device,
                               &P, NULL));
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
static void check_cycle(const struct operator* A, const struct operator* M) {
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
    struct operator M = {0};
    struct solve_report report = {0};
    ok(trace_gmg_create(&v->hdg->trace, &v->hdg->matrices, &v->A, &m->hierarchy, options, &mg));
    struct solve_control control = {
        .rtol = 1e-10, .max_iterations = 200, .flexible = multigrid_is_flexible(mg)};
    ok(operator_create_multigrid(&mg, &M));
    if (check && !control.flexible) check_cycle(&v->A, &M);
    ok(solve_fill_noise(&v->b));
    vector_fill(&v->x, 0.0);
    ok(solve_cg(&v->A, &M, &v->b, &v->x, &control, &report));
    int iterations = report.iterations;
    solve_report_clear(&report);
    operator_destroy(&M);
    return iterations;
}

static void iterations_do_not_grow(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= (k < 2 ? 8 : 3); degree += 1) {
            int n[3] = {0};
            for (int level = 0; level < (k < 2 && degree <= 4 ? 3 : 2); level++) {
                struct made m;
                struct gmg_options options;
                struct setup setup = {.degree = degree, .source = "1"};
                setup.conditions[0] = (struct condition){"rest", "dirichlet", "0", NULL};
                gmg_options_default(&options);
                make(&setup, unit_box(shapes[k], NULL, (k < 2 ? 8 : 4) << level), &m);
                n[level] = count(&m, &options, level == 0);
                unmake(&m);
            }
            printf("%s %d: %d %d %d\n", shapes[k], degree, n[0], n[1], n[2]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inherited_matrices_are_galerkin_products),
        cmocka_unit_test(other_meshes_are_nested_as_well),
        cmocka_unit_test(extensions_reproduce_constants),
        cmocka_unit_test(iterations_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
