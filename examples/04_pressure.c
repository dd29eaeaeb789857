/* A thousand pressure solves for a flow code: -div grad p = f in a closed box, by continuous elements.
 *
 *     cc examples/04_pressure.c $(pkg-config --cflags --libs facet) -lm -o 04_pressure
 *     ./04_pressure                      (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *
 * In a projection step of a flow code the pressure has the same matrix every time and another right-hand
 * side. The solver is set up once; sources and pressures are arrays of the caller at the solver's points.
 * With walls all around (Neumann sides) the pressure is known up to a constant: its mean is made zero, and
 * the source must have mean zero too. On a box with one conductivity every solve is direct, by fast
 * diagonalization. The last fifty use cycles over vertex patches instead, as a box with a conductivity of its
 * own in every cell would need them, each beginning with the pressure before.
 *
 * The source swings between two modes of the box, and so does the pressure that is known for it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <facet.h>

static const int solves[2] = {950, 50}; /* direct, and with cycles */

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "04_pressure: %s\n", facet_message());
    exit((int)status);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The two modes: -div grad of the first is 3 times, of the second 9 times itself. */
static double mode(int which, const double *x) {
    return which == 0 ? cos(x[0]) * cos(x[1]) * cos(x[2]) : cos(2 * x[0]) * cos(2 * x[1]) * cos(x[2]);
}

/* Solves for `count` sources, swinging; returns the largest difference to the pressure that is known. */
static double run(facet_solver *solver, int count, double *each) {
    int64_t n = facet_solver_n_points(solver);
    size_t size = (size_t)n;
    double *x = malloc(3 * size * sizeof *x),
           *modes[2] = {malloc(size * sizeof *x), malloc(size * sizeof *x)};
    double *source = malloc(size * sizeof *source), *p = malloc(size * sizeof *p), largest = 0.0;
    if (x == NULL || modes[0] == NULL || modes[1] == NULL || source == NULL || p == NULL)
        exit(FACET_ERROR_MACHINE);
    check(facet_solver_points(solver, x));
    for (int64_t i = 0; i < n; i++)
        for (int m = 0; m < 2; m++) modes[m][i] = mode(m, x + 3 * i);
    *each = 0.0;
    for (int step = 0; step < count; step++) {
        double a = cos(0.01 * step), b = sin(0.01 * step);
        for (int64_t i = 0; i < n; i++) source[i] = 3.0 * a * modes[0][i] + 9.0 * b * modes[1][i];
        double begin = seconds();
        check(facet_solver_solve_n(solver, n, source, p));
        *each += (seconds() - begin) / count;
        for (int64_t i = 0; i < n; i += 97) /* a look here and there */
            largest = fmax(largest, fabs(p[i] - a * modes[0][i] - b * modes[1][i]));
    }
    free(x);
    free(modes[0]);
    free(modes[1]);
    free(source);
    free(p);
    return largest;
}

int main(void) {
    const double pi = 3.14159265358979323846;
    static const char *const methods[2] = {"auto", "cg"};
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    double largest = 0.0;

    /* 1. The box (0, pi)^3 in 4^3 hexes, with walls all around. */
    check(facet_context_create("cpu", &context));
    facet_box box = {
        .size = sizeof(facet_box), .dim = 3, .upper = {pi, pi, pi}, .cells = {4, 4, 4}, .shape = "hex"};
    check(facet_mesh_create_box(context, &box, &mesh));
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(facet_problem_set_neumann(problem, "rest", "0"));

    for (int way = 0; way < 2; way++) {
        /* 2. The solver: the method that is chosen for the box, or conjugate gradients with cycles. */
        facet_solver *solver = NULL;
        facet_options options;
        facet_options_default(&options, sizeof options);
        options.discretization = "continuous";
        options.degree = 7;
        options.method = methods[way];
        options.warm_start = 1;
        options.rtol = 1e-8;
        check(facet_solver_create(problem, &options, &solver));

        /* 3. The solves. */
        double each, error = run(solver, solves[way], &each);
        largest = fmax(largest, error);

        /* 4. What was used, and how good it is. */
        facet_report report = {.size = sizeof report};
        check(facet_solver_report(solver, &report));
        printf("%d solves, method %s, preconditioner %s: %.3f ms each, %.1f ns per unknown; %d iterations in "
               "the last; largest error %.1e\n",
               solves[way], report.method, report.preconditioner, 1e3 * each,
               1e9 * each / (double)report.volume_unknowns, report.iterations, error);
        facet_solver_destroy(&solver);
    }
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return largest < 1e-5 ? 0 : 1;
}
