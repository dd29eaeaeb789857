/* fabien2017, section 6: V- and W-cycles of geometric multigrid on 16 x 16 squares, tau = 1, with a factored
 * sparse approximate inverse as smoother, two steps before and two after (Figures 2 to 5), the same with more
 * fill (Figures 7, 8, 10), and one full cycle against the error of the discretization (Figure 9). Beside it,
 * what other coarse operators give, and conjugate gradients under refinement.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/plot.h"
#include "bench/trial.h"
#include "trace/gmg.h"

#define CELLS      16
#define MAX_CYCLES 40
#define LAST_RTOL  1e-13
#define MAX_DEGREE 8
#define LARGE_FILL 2.5
#define EXACT      "x*(x-1)*y*(y-1)*exp(-x^2-y^2)"

/* ------------------------------------------------------------------------------ levels */

/* Coarse operators that are discretized anew, with conductivity 1. */
struct anew {
    const struct device *device;
    double tau;     /* > 0: this one */
    double tau_hat; /* else tau = 2 tau_hat / h */
};

static facet_status discretize_anew(void *user, const struct trace_space *space,
                                    struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    const struct anew *a = user;
    const struct facet_mesh *mesh = space->mesh;
    const double one = 1.0, zero = 0.0;
    struct field *conductivity = NULL, *g = NULL, *tau = NULL;
    struct hdg *hdg = NULL;
    int32_t *conditions = NULL;
    TRY(field_create_constants(1, &one, &conductivity));
    TRY(field_create_constants(1, &zero, &g));
    if (a->tau > 0.0) TRY(field_create_constants(1, &a->tau, &tau));
    TRY(ALLOC(conditions, mesh->n_faces));
    TRY(mesh_need_lists(mesh));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        conditions[f] = mesh->face_cells[2 * (int64_t)f + 1] < 0 ? 0 : -1;
    const struct field *const fields[1] = {conductivity};
    struct hdg_condition dirichlet = {.kind = HDG_DIRICHLET, .g = g, .part = "rest"};
    struct hdg_data data = {.mesh = mesh,
                            .equation = &equation_hybrid,
                            .n_regions = 1,
                            .conductivity = fields,
                            .tau = tau,
                            .tau_hat = a->tau_hat,
                            .conditions = &dirichlet,
                            .face_condition = conditions};
    struct base_monitor monitor = {0};
    TRY(hdg_create(a->device, &data, space->degree, NULL, &monitor, &hdg));
    TRY(hdg_condense(hdg));
    *matrices = hdg->matrices;
    hdg->matrices = (struct trace_matrices){0};
done:
    hdg_destroy(&hdg);
    field_destroy(&conductivity);
    field_destroy(&g);
    field_destroy(&tau);
    base_free(&conditions);
    return status;
}

/* The paper's levels: all degrees, then all meshes; FSAI, two steps. */
static void paper_options(double fill, struct gmg_options *options) {
    *options = (struct gmg_options){0};
    options->degrees = GMG_ARITHMETIC;
    options->smoother = GMG_FSAI;
    options->steps = 2;
    options->fill = fill;
    options->precision = PMG_DOUBLE;
    options->last_unknowns = 1; /* all meshes, down to 2 x 2 */
}

/* ------------------------------------------------------------------------------ cycles by themselves */

struct history {
    int n;
    double residuals[MAX_CYCLES + 1];
    double mean, largest; /* rates; the largest from the second cycle on */
    double seconds;
};

static void summarize(const struct solve_report *report, struct history *h) {
    h->n = 0;
    h->largest = 0.0;
    for (int i = 0; i < report->n_history && i <= MAX_CYCLES; i++) h->residuals[h->n++] = report->history[i];
    for (int i = 2; i < h->n; i++) h->largest = fmax(h->largest, h->residuals[i] / h->residuals[i - 1]);
    h->mean = h->n > 1 ? pow(h->residuals[h->n - 1] / h->residuals[0], 1.0 / (h->n - 1)) : 0.0;
}

/* Cycles on the system of a trial until the residual is 1e-13 of the right-hand side. */
static facet_status run_cycles(struct trial *s, const struct gmg_options *options, enum mg_cycle cycle,
                               struct history *h) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    struct linear_operator M = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = LAST_RTOL, .max_iterations = MAX_CYCLES};
    double begin = base_seconds();
    TRY(mesh_hierarchy_create(v->problem->mesh, 4, &hierarchy));
    TRY(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                         &hierarchy, options, &mg));
    TRY(multigrid_set_cycle(mg, cycle));
    TRY(operator_create_multigrid(&mg, &M));
    vector_fill(&mapped_of(v)->x, 0.0);
    status = solve_multigrid(&mapped_of(v)->A, &M, &mapped_of(v)->b, &mapped_of(v)->x, &control, &report);
    if (status == FACET_NOT_CONVERGED) status = FACET_OK; /* the history says so */
    h->seconds = base_seconds() - begin;
    summarize(&report, h);
done:
    solve_report_clear(&report);
    operator_destroy(&M);
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    return status;
}

/* One column for each degree. */
static facet_status emit_histories(const struct bench_options *bench, const char *name, const char *title,
                                   const struct history *h, int first, int n) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct plot *plot = NULL;
    char labels[MAX_DEGREE + 1][16];
    const char *headers[MAX_DEGREE + 1] = {"cycle"};
    int rows = 0;
    TRY(CALLOC(plot, 1));
    *plot = (struct plot){
        .name = name, .title = title, .x_label = "cycle", .y_label = "relative residual", .log_y = 1};
    for (int p = 0; p < n; p++) {
        snprintf(labels[p], sizeof labels[p], "p=%d", first + p);
        headers[1 + p] = labels[p];
        rows = h[p].n > rows ? h[p].n : rows;
        struct plot_series *series = plot_add(plot, labels[p], "linespoints");
        for (int i = 0; i < h[p].n; i++) plot_point(series, i, h[p].residuals[i]);
    }
    TRY(table_create(1 + n, headers, &table));
    for (int i = 0; i < rows; i++) {
        table_cell(table, "%d", i);
        for (int p = 0; p < n; p++) {
            if (i < h[p].n)
                table_cell(table, "%.2e", h[p].residuals[i]);
            else
                table_cell(table, " ");
        }
    }
    TRY(bench_emit(bench, name, title, table));
    TRY(plot_write(bench, plot));
done:
    base_free(&plot);
    table_destroy(&table);
    return status;
}

/* Figures 2 to 5 and 7, 8: histories of V- and W-cycles with little and much fill, and a table of the rates.
 */
static facet_status cycles(const struct bench_options *bench, int last) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct trial s = {0};
    static const struct {
        const char *name, *title;
        enum mg_cycle cycle;
        double fill;
    } kinds[3] = {{"fabien2017-figure2-v",
                   "fabien2017, Figure 2: residuals of V-cycles, FSAI with the fill of A, 2+2 "
                   "steps, 16 x 16 squares, tau = 1, noise on the right",
                   MG_V, 1.0},
                  {"fabien2017-figure4-w", "fabien2017, Figure 4: the same with W-cycles", MG_W, 1.0},
                  {"fabien2017-figure7-v", "fabien2017, Figure 7: V-cycles with FSAI of 2.5 times the fill",
                   MG_V, LARGE_FILL}};
    static const char *const headers[] = {"p",         "V: cycles", "rate",    "largest",
                                          "W: cycles", "rate",      "largest", "V, fill 2.5: cycles",
                                          "rate",      "largest"};
    struct history h[3][MAX_DEGREE];
    TRY(table_create(10, headers, &table));
    for (int p = 1; p <= last; p++) {
        struct trial_domain d = {"quad", CELLS, 1.0, 0.0, NULL, NULL};
        TRY(trial_create(bench, &d, p, &s));
        table_cell(table, "%d", p);
        for (int k = 0; k < 3; k++) {
            struct gmg_options options;
            paper_options(kinds[k].fill, &options);
            TRY(run_cycles(&s, &options, kinds[k].cycle, &h[k][p - 1]));
            table_cell(table, "%d", h[k][p - 1].n - 1);
            table_cell(table, "%.4f", h[k][p - 1].mean);
            table_cell(table, "%.4f", h[k][p - 1].largest);
        }
        trial_destroy(&s);
    }
    for (int k = 0; k < 3; k++)
        TRY(emit_histories(bench, kinds[k].name, kinds[k].title, h[k] + 1, 2, last - 1));
    TRY(bench_emit(bench, "fabien2017-rates",
                   "fabien2017, Figures 3, 5 and 8: cycles to 1e-13, the mean rate and the largest one from "
                   "the second cycle on; levels of all degrees, inherited coarse operators. The paper's "
                   "rates are below 0.22 (p = 2..8), 0.13 to 0.15 for even p, and below 0.015 with fill "
                   "2.65 to 2.85, in 5 to 7 V-cycles.",
                   table));
done:
    trial_destroy(&s);
    table_destroy(&table);
    return status;
}

/* Coarse operators: inherited, and discretized anew with other taus. */
static facet_status operators(const struct bench_options *bench, int last) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct trial s = {0};
    static const char *const headers[] = {"p", "inherited", "inherited, k to 1 at once", "anew, tau = 1",
                                          "anew, tau = 1/h below"};
    TRY(table_create(5, headers, &table));
    for (int p = 1; p <= last; p++) {
        struct trial_domain d = {"quad", CELLS, 1.0, 0.0, NULL, NULL};
        TRY(trial_create(bench, &d, p, &s));
        table_cell(table, "%d", p);
        for (int k = 0; k < 4; k++) {
            struct gmg_options options;
            struct history h;
            struct anew a = {.device = s.context->device, .tau = k == 2 ? 1.0 : 0.0, .tau_hat = 0.5};
            paper_options(1.0, &options);
            if (k == 1) options.degrees = GMG_STRAIGHT;
            if (k >= 2) {
                options.rediscretize = discretize_anew;
                options.user = &a;
            }
            TRY(run_cycles(&s, &options, MG_V, &h));
            if (h.n > 1 && h.residuals[h.n - 1] < LAST_RTOL)
                table_cell(table, "%.3f", h.mean);
            else
                table_cell(table, "%.3f, stops at %.0e", h.mean, h.residuals[h.n - 1]);
        }
        trial_destroy(&s);
    }
    TRY(bench_emit(bench, "fabien2017-coarse-operators",
                   "Mean rates of V-cycles, FSAI with the fill of A, 2+2 steps, 16 x 16 squares, tau = 1 on "
                   "the finest level: coarse operators inherited from it, or discretized anew. The "
                   "transfers are the same: polynomials on coarse faces, least energy inside.",
                   table));
done:
    trial_destroy(&s);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ the full cycle */

/* The error of u in L2 for the problem of section 5 after one full cycle, or solved directly. */
static facet_status solve_once(const struct bench_options *bench, int p, int full, double fill,
                               facet_errors *errors, double *residual) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_options options;
    facet_report report = {.size = sizeof report};
    facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1.0, 1.0}, .cells = {CELLS, CELLS}, .shape = "quad"};
    const char *conductivity = "tanh(x+y)+1";
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = p;
    options.tau = bench_tau(bench);
    options.method = full ? "multigrid" : "direct";
    if (full) {
        options.preconditioner = "gmg";
        options.cycle = "full";
        options.degrees = "arithmetic";
        options.smoother = "fsai";
        options.smoother_degree = 2;
        options.fill = fill;
        options.precision = "double";
        options.rtol = 0.999999; /* one cycle is enough for that */
    }
    TRY(facet_context_create(bench->device, &context));
    TRY(facet_mesh_create_box(context, &box, &mesh));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    TRY(facet_problem_set_conductivity(problem, NULL, 1, &conductivity));
    TRY(facet_problem_set_exact(problem, EXACT));
    TRY(facet_solver_create(problem, &options, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(facet_solver_errors(solver, errors));
    TRY(facet_solver_report(solver, &report));
    *residual = report.residual;
    if (full && report.iterations != 1)
        FAIL(FACET_NOT_CONVERGED, "%d cycles instead of one", report.iterations);
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

static facet_status full_cycles(const struct bench_options *bench, int last) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "p",     "u, exact solve", "one full cycle", "ratio",   "residual", "u*", "one full cycle",
        "ratio", "fill 2.5",       "ratio u",        "ratio u*"};
    TRY(table_create(11, headers, &table));
    for (int p = 1; p <= last; p++) {
        facet_errors exact = {.size = sizeof exact}, once = {.size = sizeof once},
                     much = {.size = sizeof much};
        double residual, much_residual;
        TRY(solve_once(bench, p, 0, 0.0, &exact, &residual));
        TRY(solve_once(bench, p, 1, 1.0, &once, &residual));
        TRY(solve_once(bench, p, 1, LARGE_FILL, &much, &much_residual));
        table_cell(table, "%d", p);
        table_cell(table, "%.3e", exact.u_L2);
        table_cell(table, "%.3e", once.u_L2);
        table_cell(table, "%.3f", once.u_L2 / exact.u_L2);
        table_cell(table, "%.1e", residual);
        table_cell(table, "%.3e", exact.u_star_L2);
        table_cell(table, "%.3e", once.u_star_L2);
        table_cell(table, "%.3f", once.u_star_L2 / exact.u_star_L2);
        table_cell(table, "%.1e", much_residual);
        table_cell(table, "%.3f", much.u_L2 / exact.u_L2);
        table_cell(table, "%.3f", much.u_star_L2 / exact.u_star_L2);
    }
    TRY(bench_emit(
        bench, "fabien2017-figure9-full",
        "fabien2017, Figure 9: errors in L2 after one full multigrid cycle against those of an "
        "exact solve, K = tanh(x+y) + 1, 16 x 16 squares, tau = 1. What is left of the iteration error may "
        "cancel a part of that of the discretization (ratios below 1); u*, of one order more, needs more "
        "than one cycle with the fill of A.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ fine and coarse levels apart
 */

static int is_gpu(const struct bench_options *bench) {
    const struct device *device;
    return device_find(bench->device, &device) == FACET_OK && device_has_memory(device);
}

/* One solve with geometric multigrid, coarse levels on the given device. */
static facet_status solve_split(const struct bench_options *bench, int cells, int p, const char *coarse,
                                int64_t unknowns, facet_report *report) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_options options;
    facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1.0, 1.0}, .cells = {cells, cells}, .shape = "quad"};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = p;
    options.method = "cg";
    options.preconditioner = "gmg";
    options.coarse_device = coarse;
    options.coarse_unknowns = unknowns;
    options.postprocess = 0;
    TRY(facet_context_create(bench->device, &context));
    TRY(facet_mesh_create_box(context, &box, &mesh));
    TRY(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    TRY(facet_problem_set_source(problem, "1"));
    TRY(facet_problem_set_dirichlet(problem, "rest", "0"));
    TRY(facet_solver_create(problem, &options, &solver));
    for (int i = 0; i < 2; i++) TRY(facet_solver_solve(solver, NULL, NULL)); /* the second counts */
    TRY(facet_solver_report(solver, report));
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

/* fabien2017, section 7: fine levels on the accelerator, coarse ones on the host. */
static facet_status split_levels(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"cells",      "p",        "unknowns", "coarse levels",
                                          "iterations", "setup ms", "solve ms"};
    static const struct {
        const char *device, *name;
        int64_t unknowns;
    } places[] = {{"same", NULL, 0},
                  {"cpu", "the last on cpu", 0},
                  {"cpu", "up to 1000 on cpu", 1000},
                  {"cpu", "up to 4000 on cpu", 4000},
                  {"cpu", "up to 16 000 on cpu", 16000}};
    TRY(table_create(7, headers, &table));
    for (int cells = 64; cells <= (bench->quick ? 64 : 256); cells *= 2)
        for (int p = 2; p <= 8; p *= 2)
            for (int k = 0; k < (int)(sizeof places / sizeof *places); k++) {
                facet_report report = {.size = sizeof report};
                TRY(solve_split(bench, cells, p, places[k].device, places[k].unknowns, &report));
                table_cell(table, "%d^2", cells);
                table_cell(table, "%d", p);
                table_cell(table, "%lld", (long long)report.trace_unknowns);
                table_cell(table, "%s", k == 0 ? bench->device : places[k].name);
                table_cell(table, "%d", report.iterations);
                table_cell(table, "%.1f", 1e3 * report.seconds[FACET_PHASE_SETUP]);
                table_cell(table, "%.1f", 1e3 * report.seconds[FACET_PHASE_SOLVE] / 2.0);
            }
    TRY(bench_emit(bench, "fabien2017-split",
                   "fabien2017, section 7: conjugate gradients to 1e-10 with geometric multigrid on squares, "
                   "all levels on the device, or those of few unknowns on the host (coarse_device, "
                   "coarse_unknowns); a solve is the mean of two.",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ under refinement */

static facet_status count(const struct bench_options *bench, const struct trial_domain *d, int p,
                          enum gmg_smoother smoother, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    struct gmg_options options;
    struct base_memory before;
    options = (struct gmg_options){0};
    options.smoother = smoother;
    TRY(trial_create(bench, d, p, &s));
    struct facet_solver *v = s.solver;
    base_memory_reset_peak();
    base_memory_read(&before);
    double begin = base_seconds();
    TRY(mesh_hierarchy_create(v->problem->mesh, 4, &hierarchy));
    TRY(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                         &hierarchy, &options, &mg));
    TRY(trial_solve(&s, &mg, begin, &before, o));
done:
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    trial_destroy(&s);
    return status;
}

/* Conjugate gradients to 1e-10 on finer and finer meshes. tau: NULL for the default. */
static facet_status refinement(const struct bench_options *bench, const char *tau, const char *name,
                               const char *title) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct bench_options with = *bench;
    static const char *const headers[] = {"cells",   "p",   "n = 16 (4)",      "32 (8)",
                                          "64 (16)", "128", "K jumps: 16 (4)", "K jumps: 32 (8)"};
    static const struct {
        const char *shape;
        int first, n, last;
        const char *jumps;
    } shapes[4] = {{"quad", 16, 4, 8, "mod(floor(4*x)+floor(4*y),2) < 0.5 ? 1 : 1e4"},
                   {"triangle", 16, 4, 8, "mod(floor(4*x)+floor(4*y),2) < 0.5 ? 1 : 1e4"},
                   {"hex", 4, 3, 5, "mod(floor(2*x)+floor(2*y)+floor(2*z),2) < 0.5 ? 1 : 1e4"},
                   {"tet", 4, 3, 5, "mod(floor(2*x)+floor(2*y)+floor(2*z),2) < 0.5 ? 1 : 1e4"}};
    with.tau = tau;
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < 4; i++) {
        for (int p = 1; p <= (bench->quick ? 2 : shapes[i].last); p++) {
            table_cell(table, "%s", shapes[i].shape);
            table_cell(table, "%d", p);
            for (int k = 0; k < 6; k++) {
                struct trial_domain d = {shapes[i].shape,
                                         shapes[i].first << (k < 4 ? k : k - 4),
                                         1.0,
                                         0.0,
                                         k < 4 ? NULL : shapes[i].jumps,
                                         NULL};
                struct trial_outcome o = {0};
                int solid = i >= 2, large = solid ? p * d.n > 64 : p * d.n > 512;
                if ((k < 4 && k >= shapes[i].n) || large || (bench->quick && d.n > (solid ? 8 : 32))) {
                    table_cell(table, " ");
                    continue;
                }
                TRY(count(&with, &d, p, GMG_SMOOTHER_AUTO, &o));
                trial_put_count(table, o.iterations);
            }
        }
        table_rule(table);
    }
    TRY(bench_emit(bench, name, title, table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2017_multigrid(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct bench_options with = *options;
    int last = options->quick ? 3 : MAX_DEGREE;
    with.tau = bench_tau(options);
    TRY(cycles(&with, last));
    TRY(operators(&with, last));
    if (is_gpu(&with)) return split_levels(options); /* iterations are those of the host */
    TRY(full_cycles(&with, last));
    TRY(refinement(options, options->tau, "gmg-refinement",
                   "Conjugate gradients with a V-cycle of geometric multigrid to 1e-10: iterations on n x n "
                   "(solids: n x n x n) bricks, noise on the right, and with K in a chessboard of coarse "
                   "cells; default tau."));
    TRY(refinement(options, "1", "gmg-refinement-tau1", "The same with tau = 1."));
done:
    return status;
}
