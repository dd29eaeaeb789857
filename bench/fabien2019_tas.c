/* fabien2019, section 5: the time-accuracy-size spectrum. Digits of efficacy are -log10(E T) with the error E
 * of the trace in L2, every face once, and the seconds T from the empty solver to the post-processed
 * solution; DoF are the unknowns of the trace system. Three cases: the manufactured solution at lambda = mu
 * (Figure 14), the nearly incompressible one at 1e3 mu (Figure 16) and at 1e6 mu (Figure 17). */
#include <math.h>
#include <stdio.h>

#include "bench/fabien2019.h"
#include "bench/plot.h"

#define MAX_DEGREE 6
/* The sequence of meshes of a degree ends before so many unknowns. */
#define MOST       200000
#define MOST_QUICK 12000

static const struct spectrum {
    const char *name, *title;
    const struct fabien2019_problem *problem;
    double lambda;
} spectra[] = {
    {"fabien2019-tas-1", "fabien2019, Figure 14: section 4.1, lambda = mu", &fabien2019_manufactured, 1.0},
    {"fabien2019-tas-1e3", "fabien2019, Figure 16: section 4.2, lambda = 1e3 mu", &fabien2019_nearly, 1e3},
    {"fabien2019-tas-1e6", "fabien2019, Figure 17: section 4.2, lambda = 1e6 mu", &fabien2019_nearly, 1e6}};

static int64_t unknowns(int cells, int degree) {
    int64_t n = cells, faces = 12 * n * n * n + 6 * n * n;
    return 3 * (degree + 1) * (degree + 2) / 2 * faces;
}

/* *error < 0: the solve did not converge. */
static facet_status measure(const struct bench_options *options, const struct fabien2019_case *c,
                            facet_report *report, double *error) {
    facet_status status = FACET_OK;
    struct fabien2019_run run = {0};
    struct hdg_errors errors;
    TRY(fabien2019_create(options, c, &run));
    facet_status solved = fabien2019_solve(&run, &errors);
    if (solved != FACET_NOT_CONVERGED) TRY(solved);
    TRY(facet_solver_report(run.solver, report));
    *error = solved == FACET_OK ? errors.trace_L2 : -1.0;
done:
    fabien2019_destroy(&run);
    return status;
}

static void write_row(struct table *table, const struct fabien2019_case *c, const facet_report *report,
                      double error, struct plot_series *digits, struct plot_series *rate) {
    double seconds = fabien2019_seconds(report), n = (double)report->trace_unknowns;
    table_cell(table, "%d", c->degree);
    table_cell(table, "%d", 6 * c->cells * c->cells * c->cells);
    table_cell(table, "%.0f", n);
    if (error < 0.0)
        table_cell(table, "not converged");
    else
        table_cell(table, "%.3e", error);
    table_cell(table, "%.4g", seconds);
    table_cell(table, "%.4g",
               report->seconds[FACET_PHASE_SETUP] + report->seconds[FACET_PHASE_LOAD] +
                   report->seconds[FACET_PHASE_SOLVE]);
    table_cell(table, "%s, %s", report->method, report->preconditioner);
    table_cell(table, "%d", report->iterations);
    if (error < 0.0) {
        table_cell(table, "-");
        table_cell(table, "-");
        return;
    }
    table_cell(table, "%.2f", -log10(error * seconds));
    table_cell(table, "%.3g", n / seconds);
    plot_point(digits, n, -log10(error * seconds));
    plot_point(rate, n, n / seconds);
}

static facet_status run_spectrum(const struct bench_options *options, const struct spectrum *s) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct plot efficacy = {.x_label = "unknowns of the trace", .y_label = "digits of efficacy", .log_x = 1};
    struct plot speed = {.x_label = "unknowns of the trace", .y_label = "unknowns per second", .log = 1};
    static char labels[MAX_DEGREE][16], names[2][64];
    static const char *const headers[] = {"k",
                                          "tets",
                                          "DoF",
                                          "error of the trace",
                                          "seconds",
                                          "of these solve",
                                          "method",
                                          "iterations",
                                          "digits of efficacy",
                                          "DoF/s"};
    snprintf(names[0], sizeof names[0], "%s-efficacy", s->name);
    snprintf(names[1], sizeof names[1], "%s-speed", s->name);
    efficacy.name = names[0], speed.name = names[1];
    efficacy.title = speed.title = s->title;
    TRY(table_create(10, headers, &table));
    for (int k = 1; k <= MAX_DEGREE; k++) {
        snprintf(labels[k - 1], sizeof labels[0], "k = %d", k);
        struct plot_series *digits = plot_add(&efficacy, labels[k - 1], "linespoints");
        struct plot_series *rate = plot_add(&speed, labels[k - 1], "linespoints");
        for (int cells = 2; unknowns(cells, k) <= (options->quick ? MOST_QUICK : MOST); cells *= 2) {
            struct fabien2019_case c = {.problem = s->problem,
                                        .lambda = s->lambda,
                                        .cells = cells,
                                        .degree = k,
                                        .tau = bench_tau(options),
                                        .rtol = fmax(1e-10, 1e-14 * s->lambda)};
            facet_report report = {.size = sizeof report};
            double error;
            TRY(measure(options, &c, &report, &error));
            write_row(table, &c, &report, error, digits, rate);
            TRY(base_check_interrupt());
        }
        table_rule(table);
    }
    TRY(bench_emit(options, s->name, s->title, table));
    TRY(plot_write(options, &efficacy));
    TRY(plot_write(options, &speed));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2019_tas(const struct bench_options *options) {
    facet_status status = FACET_OK;
    for (int i = 0; i < 3 && status == FACET_OK; i++) status = run_spectrum(options, &spectra[i]);
    return status;
}
