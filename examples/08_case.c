/* A case file from a program: its values for many parameters, with a monitor that may stop it, through the C
 * interface.
 *
 *     cc examples/08_case.c $(pkg-config --cflags --libs facet) -lm -o 08_case
 *     ./08_case                          (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *
 * A wall of thickness 1 and conductivity k, 100 on its left, is cooled by a film h on its right, where the
 * air is 20. The flux is q = 80 / (1 / k + 1 / h), the temperature on the right 20 + q / h. The case is
 * solved as `facet solve --set parameters.h=...` would; then its mesh, problem and options are taken by
 * themselves, set up once, and solved for other h: the matrix changes at the film only.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <facet.h>

static const char text[] = "title: A wall with a film\n"
                           "parameters: {k: 2, h: 5}\n"
                           "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: triangle}}\n"
                           "equation: diffusion\n"
                           "conductivity: k\n"
                           "boundary:\n"
                           "  - {on: xmin, dirichlet: 100}\n"
                           "  - {on: xmax, robin: {a: h, g: 20*h}}\n"
                           "  - {on: rest, neumann: 0}\n"
                           "discretization: {degree: 2}\n"
                           "values:\n"
                           "  - {name: out, field: flux, take: integral, on: xmax}\n"
                           "  - {name: right, field: u, at: [1, 0.5]}\n";

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "08_case: %s\n", facet_message());
    exit((int)status);
}

/* Called in this thread, several times a second: a window would be redrawn here. After a minute enough is
 * enough: the run ends with FACET_INTERRUPTED. */
struct watch {
    facet_context *context;
    time_t begin;
    int events;
};

static void watch(void *user, const facet_event *event) {
    struct watch *w = user;
    (void)event;
    w->events++;
    if (time(NULL) - w->begin > 60) facet_context_interrupt(w->context);
}

/* The largest deviation of the two values from what they should be. */
static double compare(const facet_case *file, const facet_solver *solver, double h) {
    double q = 80 / (1 / 2.0 + 1 / h), numbers[2];
    for (int i = 0; i < 2; i++) {
        facet_value value = {.size = sizeof value};
        check(facet_case_value(file, 0, i, solver, &value, 1, &numbers[i]));
        printf("h = %5.1f  %-6s %.6f\n", h, value.name, numbers[i]);
    }
    return fmax(fabs(numbers[0] - q), fabs(numbers[1] - 20 - q / h));
}

int main(void) {
    facet_context *context;
    facet_case *file;
    struct watch w = {.begin = time(NULL)};
    double worst = 0;

    check(facet_context_create("cpu", &context));
    w.context = context;
    facet_context_set_monitor(context, watch, &w);

    /* 1. The whole run, once for every h, from the text; facet_case_load takes a path. */
    for (double h = 5; h <= 20; h *= 2) {
        char setting[64];
        const char *settings = setting;
        snprintf(setting, sizeof setting, "parameters.h=%g", h);
        check(facet_case_parse(context, text, NULL, 1, &settings, &file));
        check(facet_case_solve(file, 0));
        worst = fmax(worst, compare(file, NULL, h));
        if (h < 20) facet_case_destroy(&file);
    }
    printf("%.60s...\n", facet_case_json(file));

    /* 2. Set up once, solved many times. */
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_options_default(&options, sizeof options);
    check(facet_case_create_mesh(file, &mesh));
    check(facet_case_create_problem(file, 0, mesh, NULL, &problem));
    check(facet_case_options(file, 0, &options));
    check(facet_solver_create(problem, &options, &solver));
    for (double h = 40; h <= 160; h *= 2) {
        check(facet_solver_set_parameter(solver, "h", h));
        check(facet_solver_solve(solver, NULL, NULL));
        worst = fmax(worst, compare(file, solver, h));
    }
    printf("largest deviation: %.1e; the monitor was called %d times\n", worst, w.events);

    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_case_destroy(&file);
    facet_context_destroy(&context);
    return worst < 1e-8 && w.events > 0 ? 0 : 1;
}
