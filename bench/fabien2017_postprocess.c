/* fabien2017, section 7.1.3 and Figure 18: work and precision of post-processing. Is u* at degree p, of order
 * p + 2, cheaper than u at degree p + 1, which is of the same order?
 *
 * Work is measured (seconds of all that leads to u, and of the post-processing by itself, best of some runs
 * in turn) and counted as the paper does: dense local solves of N = (dim + 1) x functions unknowns for M
 * traces, 2/3 N^3 + 2 N^2 - N + M (2N - 1) + 2M operations (its section 7.1.2), and for u* the stiffness
 * matrix of degree p + 1 at its quadrature points and one dense solve.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/plot.h"
#include "bench/subject.h"

#define EXACT  "x*(x-1)*y*(y-1)*exp(-x^2-y^2)"
#define DEGREE 8 /* the largest p */
#define PASSES 5

static const struct subject_shape *const shapes[2] = {&subject_quads, &subject_triangles};

struct point {
    double u, star;       /* errors in L2 */
    double seconds, post; /* to u, and from there to u* */
};

static double functions(enum shape shape, int degree) {
    return shape == SHAPE_QUAD ? (degree + 1.0) * (degree + 1.0) : 0.5 * (degree + 1.0) * (degree + 2.0);
}

/* Operations of a cell, the paper's way. */
static double local_operations(enum shape shape, int degree) {
    double N = 3.0 * functions(shape, degree), M = shape_n_faces(shape) * (degree + 1.0);
    return 2.0 / 3.0 * N * N * N + 2.0 * N * N - N + M * (2.0 * N - 1.0) + 2.0 * M;
}
static double post_operations(enum shape shape, int degree) {
    double m = functions(shape, degree + 1), points = (degree + 2.0) * (degree + 2.0);
    return 2.0 * 2.0 * m * m * points + 2.0 / 3.0 * m * m * m + 2.0 * m * m;
}

/* One solve; the times are kept where they are the least so far. */
static facet_status run(const struct bench_options *bench, const facet_problem *problem, int degree,
                        struct point *p) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options;
    facet_report report = {.size = sizeof report};
    facet_errors errors = {.size = sizeof errors};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = degree;
    options.tau = bench_tau(bench);
    options.rtol = 1e-12;
    TRY(facet_solver_create(problem, &options, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(facet_solver_report(solver, &report));
    TRY(facet_solver_errors(solver, &errors));
    double seconds = 0.0;
    for (int i = FACET_PHASE_CONDENSE; i <= FACET_PHASE_RECOVER; i++) seconds += report.seconds[i];
    p->u = errors.u_L2;
    p->star = errors.u_star_L2;
    p->seconds = fmin(p->seconds, seconds);
    p->post = fmin(p->post, report.seconds[FACET_PHASE_POSTPROCESS]);
done:
    facet_solver_destroy(&solver);
    return status;
}

static facet_status emit(const struct bench_options *options, const struct subject_shape *shape, int cells,
                         const struct point *points, int n) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"p",
                                          "u",
                                          "u*",
                                          "u at p+1",
                                          "seconds to u",
                                          "to u*",
                                          "to u at p+1",
                                          "u at p+1 / u*: time",
                                          "error",
                                          "operations a cell: post",
                                          "local at p+1",
                                          "post / (local at p+1 - at p)"};
    char name[64], title[512];
    TRY(table_create(12, headers, &table));
    for (int p = 1; p < n; p++) {
        const struct point *a = &points[p], *b = &points[p + 1];
        double post = post_operations(shape->shape, p), more = local_operations(shape->shape, p + 1);
        table_cell(table, "%d", p);
        table_cell(table, "%.2e", a->u);
        table_cell(table, "%.2e", a->star);
        table_cell(table, "%.2e", b->u);
        table_cell(table, "%.2e", a->seconds);
        table_cell(table, "%.2e", a->seconds + a->post);
        table_cell(table, "%.2e", b->seconds);
        table_cell(table, "%.2f", b->seconds / (a->seconds + a->post));
        table_cell(table, "%.2f", b->u / a->star);
        table_cell(table, "%.3g", post);
        table_cell(table, "%.3g", more);
        table_cell(table, "%.2f", post / (more - local_operations(shape->shape, p)));
    }
    snprintf(name, sizeof name, "fabien2017-postprocess-%s", shape->name);
    snprintf(
        title, sizeof title,
        "fabien2017, Figure 18: is u* at p cheaper than u at p+1? %d^2 %ss%s, K = tanh(x+y)+1, errors in "
        "true norms, seconds of this machine; a time ratio above 1 says that u* is cheaper, an error "
        "ratio above 1 that it is also more exact. The paper finds post-processing preferable from "
        "p = 3 or 4 on.",
        cells, shape->name, shape->per_brick > 1 ? " x 2" : "");
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status draw(const struct bench_options *options, const struct subject_shape *shape,
                         const struct point *points, int n) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    char name[64];
    TRY(CALLOC(plot, 1));
    snprintf(name, sizeof name, "fabien2017-figure18-%s", shape->name);
    *plot = (struct plot){.name = name,
                          .title = "Work and precision by degree",
                          .x_label = "seconds",
                          .y_label = "error in L2",
                          .log = 1};
    struct plot_series *u = plot_add(plot, "u", "linespoints"), *star = plot_add(plot, "u*", "linespoints");
    for (int p = 1; p <= n; p++) {
        plot_point(u, points[p].seconds, points[p].u);
        plot_point(star, points[p].seconds + points[p].post, points[p].star);
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

static facet_status measure(const struct bench_options *options, const struct subject_shape *shape) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    int cells = options->quick ? 8 : 32, n = options->quick ? 4 : DEGREE;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {1.0, 1.0},
                     .cells = {cells, cells},
                     .shape = shape->name};
    const char *conductivity = "tanh(x+y)+1";
    struct point points[DEGREE + 1];
    for (int p = 0; p <= DEGREE; p++) points[p] = (struct point){.seconds = INFINITY, .post = INFINITY};
    TRY(facet_context_create(options->device, &context));
    TRY(facet_mesh_create_box(context, &box, &mesh));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    TRY(facet_problem_set_conductivity(problem, NULL, 1, &conductivity));
    TRY(facet_problem_set_exact(problem, EXACT));
    for (int pass = 0; pass < PASSES; pass++)
        for (int p = 1; p <= n; p++) TRY(run(options, problem, p, &points[p]));
    TRY(emit(options, shape, cells, points, n));
    TRY(draw(options, shape, points, n));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

facet_status bench_fabien2017_postprocess(const struct bench_options *options) {
    facet_status status = FACET_OK;
    for (int s = 0; s < 2; s++) TRY(measure(options, shapes[s]));
done:
    return status;
}
