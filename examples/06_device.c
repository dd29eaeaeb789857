/* Heat that spreads, in implicit steps whose arrays never leave the device.
 *
 *     cc examples/06_device.c $(pkg-config --cflags --libs facet) -lm -o 06_device
 *     ./06_device                        on the processor (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if need
 * be)
 *     ./06_device cuda 32 7 1000         on a GPU, 32^3 cells of degree 7, a thousand steps
 *     ./06_device cuda 32 7 1000 direct  the same by fast diagonalization instead of conjugate gradients
 *
 * A step from u to v with the length dt is v - dt div grad v = u: reaction 1, conductivity dt, and the source
 * of a step is the solution of the step before. With facet_solver_solve_device both are one array in the
 * memory of the device: what cudaMalloc gives, or facet_device_alloc, which works on every device. A program
 * that computes its own sources there hands the solver its array in the same way.
 *
 * A wave sin(i pi x) sin(j pi y) sin(k pi z) becomes the same over 1 + (i^2 + j^2 + k^2) pi^2 dt in every
 * step, so the end is known; there are three of them. dt is a thousandth of the square of the length of the
 * box.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <facet.h>

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "06_device: %s\n", facet_message());
    exit((int)status);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The waves after so many steps, over what is left of the slowest. */
static double exact(const double *x, double dt, int steps) {
    static const int waves[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}};
    const double pi = acos(-1.0);
    double sum = 0.0, slowest = 1.0 + 3.0 * pi * pi * dt;
    for (int w = 0; w < 3; w++) {
        double value = 1.0, square = 0.0;
        for (int d = 0; d < 3; d++) {
            value *= sin(waves[w][d] * pi * x[d]);
            square += waves[w][d] * waves[w][d];
        }
        sum += value * pow((1.0 + square * pi * pi * dt) / slowest, -steps);
    }
    return sum;
}

int main(int argc, char **argv) {
    const double pi = acos(-1.0), dt = 1e-3;
    const char *device = argc > 1 ? argv[1] : "cpu",
               *sides[] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
    int cells = argc > 2 ? atoi(argv[2]) : 4, degree = argc > 3 ? atoi(argv[3]) : 5;
    int steps = argc > 4 ? atoi(argv[4]) : 20;

    /* 1. A box, the problem of one step, and a solver for it. */
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    check(facet_context_create(device, &context));
    facet_box box = {.size = sizeof box, .dim = 3, .shape = "hex"};
    for (int d = 0; d < 3; d++) {
        box.upper[d] = 1.0;
        box.cells[d] = cells;
    }
    check(facet_mesh_create_box(context, &box, &mesh));
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    const char *conductivity[] = {"1e-3"};
    check(facet_problem_set_conductivity(problem, NULL, 1, conductivity));
    check(facet_problem_set_reaction(problem, "1"));
    for (int i = 0; i < 6; i++) check(facet_problem_set_dirichlet(problem, sides[i], "0"));
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.postprocess = 0;
    options.method = argc > 5 ? argv[5] : "cg";
    if (strcmp(options.method, "cg") == 0) options.preconditioner = "additive";
    options.rtol = 1e-8;
    options.warm_start = 1; /* a step begins with what the steps before make of it */
    check(facet_solver_create(problem, &options, &solver));

    /* 2. The beginning, at the points of the solver, goes to the device once. */
    int64_t n = facet_solver_n_points(solver);
    size_t bytes = (size_t)n * sizeof(double);
    double *x = malloc(3 * bytes), *here = malloc(bytes);
    void *u = NULL;
    if (x == NULL || here == NULL) exit(FACET_ERROR_MACHINE);
    check(facet_solver_points(solver, x));
    for (int64_t i = 0; i < n; i++) here[i] = exact(x + 3 * i, dt, 0);
    check(facet_device_alloc(context, bytes, &u));
    check(facet_device_write(context, u, here, bytes));

    /* 3. The steps. */
    double begin = seconds(), first = 0.0;
    for (int step = 0; step < steps; step++) {
        check(facet_solver_solve_device(solver, u, u));
        if (step == 0) first = seconds() - begin;
    }
    double each = steps > 1 ? (seconds() - begin - first) / (steps - 1) : first;

    /* 4. The end, and what it should be. */
    check(facet_device_read(context, here, u, bytes));
    double decay = pow(1.0 + 3.0 * pi * pi * dt, -steps), largest = 0.0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(here[i] / decay - exact(x + 3 * i, dt, steps)));
    facet_report report = {.size = sizeof report};
    check(facet_solver_report(solver, &report));
    printf("%d steps on '%s', %lld unknowns: %.3g ms a step, %d iterations in the last one\n", steps,
           facet_context_device(context), (long long)n, 1e3 * each, report.iterations);
    printf("largest error, relative: %.1e\n", largest);

    facet_device_free(context, &u);
    free(x);
    free(here);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return largest < 1e-4 ? 0 : 1;
}
