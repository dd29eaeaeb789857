/* Diffusion on a box through the C interface: -div(K grad u) = f on the unit square, u = 0 on its border.
 *
 *     cc examples/01_box.c $(pkg-config --cflags --libs facet) -lm -o 01_box
 *     ./01_box                           (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *     facet view 01_box.vtu
 *
 * The conductivity is a C function, as a flow code would have it: K = 1, but 10 inside a disc. The source is
 * an expression first; then the same solver, set up once, takes a second one as an array of numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <facet.h>

/* Every call may fail, and says why. */
static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "01_box: %s\n", facet_message());
    exit((int)status);
}

struct disc {
    double x, y, radius;
};

/* K at many points at once. It may be called from several threads, so it only reads. The step is smooth, over
 * a tenth of the radius: polynomials inside the cells can follow it. */
static int conductivity(void *user, const facet_points *points, double *K) {
    const struct disc *disc = user;
    for (int i = 0; i < points->n; i++) {
        double r = hypot(points->x[i * points->dim] - disc->x, points->x[i * points->dim + 1] - disc->y) /
                   disc->radius;
        K[i] = 1.0 + 4.5 * (1.0 + tanh((1.0 - r) / 0.1));
    }
    return 0; /* anything else stops the solve */
}

static void print_middle(const facet_solver *solver, const char *what) {
    const double middle[2] = {0.5, 0.5};
    double u, q[2];
    check(facet_solver_evaluate(solver, "u_star", 1, middle, &u));
    check(facet_solver_evaluate(solver, "q", 1, middle, q));
    printf("%s: u = %.8f, q = (%.6f, %.6f) in the middle\n", what, u, q[0], q[1]);
}

int main(void) {
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;

    /* 1. A context: where the work is done. */
    check(facet_context_create("cpu", &context));

    /* 2. A mesh: 16 x 16 quads. Its sides are called xmin, xmax, ymin, ymax. */
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .lower = {0, 0},
                     .upper = {1, 1},
                     .cells = {16, 16},
                     .shape = "quad"};
    check(facet_mesh_create_box(context, &box, &mesh));

    /* 3. The problem. "rest" are all parts of the boundary that were not named before. */
    struct disc disc = {0.6, 0.4, 0.3};
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(facet_problem_set_conductivity_function(problem, NULL, 1, conductivity, &disc));
    check(facet_problem_set_source(problem, "10*exp(-y)"));
    check(facet_problem_set_dirichlet(problem, "rest", "0"));

    /* 4. The solver: condensed, assembled and prepared here, once. */
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = 4;
    check(facet_solver_create(problem, &options, &solver));

    /* 5. Solve, look, write a file for ParaView. */
    facet_report report = {.size = sizeof report};
    check(facet_solver_solve(solver, NULL, NULL));
    check(facet_solver_report(solver, &report));
    printf("%lld unknowns on the facets, residual %.1e: %s\n", (long long)report.trace_unknowns,
           report.residual, report.reason);
    print_middle(solver, "source 10 exp(-y)");
    check(facet_solver_write(solver, "01_box.vtu", "u_star,q_star"));
    printf("wrote 01_box.vtu\n");

    /* 6. A second right-hand side: numbers at the solver's points; u comes back at the same points. */
    int64_t n = facet_solver_n_points(solver);
    double *x = malloc(2 * (size_t)n * sizeof *x);
    double *source = malloc((size_t)n * sizeof *source), *u = malloc((size_t)n * sizeof *u);
    if (x == NULL || source == NULL || u == NULL) return FACET_ERROR_MACHINE;
    check(facet_solver_points(solver, x));
    for (int64_t i = 0; i < n; i++) source[i] = x[2 * i] < 0.5 ? 20.0 : 0.0;
    check(facet_solver_solve(solver, source, u));
    print_middle(solver, "source 20 on the left half");
    int64_t highest = 0;
    for (int64_t i = 1; i < n; i++)
        if (u[i] > u[highest]) highest = i;
    printf("the largest of the %lld values is %.6f at (%.3f, %.3f)\n", (long long)n, u[highest],
           x[2 * highest], x[2 * highest + 1]);

    /* 7. Everything that was made is freed, in the reverse order. */
    free(x);
    free(source);
    free(u);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return 0;
}
