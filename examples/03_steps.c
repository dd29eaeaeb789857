/* A thousand solves on a box through the C interface: heat spreads in a cube, du/dt = div grad u, by implicit
 * steps, u = 0 on its border.
 *
 *     cc examples/03_steps.c $(pkg-config --cflags --libs facet) -lm -o 03_steps
 *     ./03_steps                         (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *
 * A step of length dt solves lambda v - div grad v = lambda u with lambda = 1 / dt. The solver is set up
 * once; sources and solutions are arrays of the caller at the solver's points. On a box of hexes with such
 * data each solve is direct and costs about as much as a few passes over the arrays. After half of the steps
 * their length changes, which needs no new solver.
 *
 * u = sin x sin y sin z is divided by 1 + 3 dt in every step: that is what the result is compared with.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <facet.h>

#define STEPS 1000

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "03_steps: %s\n", facet_message());
    exit((int)status);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
    const double pi = 3.14159265358979323846;
    double dt[2] = {1e-4, 5e-4}, amplitude = 1.0, largest = 0.0;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;

    /* 1. The cube (0, pi)^3 in 4^3 hexes. */
    check(facet_context_create("cpu", &context));
    facet_box box = {
        .size = sizeof(facet_box), .dim = 3, .upper = {pi, pi, pi}, .cells = {4, 4, 4}, .shape = "hex"};
    check(facet_mesh_create_box(context, &box, &mesh));

    /* 2. The problem of one step; its source will be an array. */
    char lambda[32];
    snprintf(lambda, sizeof lambda, "%.17g", 1.0 / dt[0]);
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(facet_problem_set_reaction(problem, lambda));
    check(facet_problem_set_dirichlet(problem, "rest", "0"));

    /* 3. The solver. Without u_star and q_star a solve does only what u needs. */
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = 6;
    options.postprocess = 0;
    check(facet_solver_create(problem, &options, &solver));

    /* 4. The caller's arrays: where the points are, and u there. */
    int64_t n = facet_solver_n_points(solver);
    double *x = malloc(3 * (size_t)n * sizeof *x);
    double *source = malloc((size_t)n * sizeof *source), *u = malloc((size_t)n * sizeof *u);
    if (x == NULL || source == NULL || u == NULL) return FACET_ERROR_MACHINE;
    check(facet_solver_points(solver, x));
    for (int64_t i = 0; i < n; i++) u[i] = sin(x[3 * i]) * sin(x[3 * i + 1]) * sin(x[3 * i + 2]);

    /* 5. The steps. facet_solver_solve_n looks at the length of the arrays. */
    double begin = seconds();
    for (int step = 0; step < STEPS; step++) {
        int half = step >= STEPS / 2;
        if (step == STEPS / 2) check(facet_solver_set_reaction(solver, 1.0 / dt[1]));
        for (int64_t i = 0; i < n; i++) source[i] = u[i] / dt[half];
        check(facet_solver_solve_n(solver, n, source, u));
        amplitude /= 1.0 + 3.0 * dt[half];
    }
    double each = (seconds() - begin) / STEPS;

    /* 6. What was used, and how good it is. */
    facet_report report = {.size = sizeof report};
    check(facet_solver_report(solver, &report));
    printf("%d solves, operator %s, method %s: %.3f ms each, %.1f ns per point\n", STEPS,
           report.operator_name, report.method, 1e3 * each, 1e9 * each / (double)n);
    for (int64_t i = 0; i < n; i++) {
        double exact = amplitude * sin(x[3 * i]) * sin(x[3 * i + 1]) * sin(x[3 * i + 2]);
        largest = fmax(largest, fabs(u[i] - exact));
    }
    printf("amplitude %.6f, largest error %.1e at %lld points\n", amplitude, largest, (long long)n);

    free(x);
    free(source);
    free(u);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return largest < 1e-5 ? 0 : 1;
}
