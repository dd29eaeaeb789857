/* huismann2020, section 5: what the parts of the bench share, the tables and plots of a list of contests. */
#include "bench/huismann2020.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/plot.h"

struct wave_case huismann2020_case(const struct bench_options *options, int cells, int degree) {
    return (struct wave_case){.cells = cells,
                              .degree = degree,
                              .k = 5.0,
                              .tau = options->tau != NULL ? atof(options->tau) : 25.0,
                              .aspect = 1.0,
                              .contrast = 1.0};
}

enum rival_kind huismann2020_best(const struct contest *c) {
    static const enum rival_kind ours[] = {RIVAL_ADDITIVE, RIVAL_CHEBYSHEV, RIVAL_STARS};
    enum rival_kind best = N_RIVALS;
    for (int i = 0; i < 3; i++) {
        const struct rival_result *r = &c->results[ours[i]];
        if (!r->present || !r->converged) continue;
        if (best == N_RIVALS || r->seconds[RIVAL_SOLVE] < c->results[best].seconds[RIVAL_SOLVE])
            best = ours[i];
    }
    return best;
}

double huismann2020_share(const struct contest *c, int with_guess) {
    enum rival_kind best = huismann2020_best(c);
    if (best == N_RIVALS) return NAN;
    const double *t = c->results[best].seconds;
    return (t[RIVAL_LOAD] + t[RIVAL_RECOVER] + (with_guess ? t[RIVAL_GUESS] : 0.0)) / t[RIVAL_SOLVE];
}

/* ------------------------------------------------------------------------------------------ tables */

static double iterations(const struct contest *c, enum rival_kind kind) {
    return c->results[kind].iterations;
}
static double seconds(const struct contest *c, enum rival_kind kind) {
    return c->results[kind].seconds[RIVAL_SOLVE];
}
static double error(const struct contest *c, enum rival_kind kind) {
    return c->results[kind].error;
}

static const struct view {
    const char *name, *figure, *title, *unit, *format;
    double (*value)(const struct contest *contest, enum rival_kind kind);
    int iterative; /* direct solvers have none */
} views[] = {
    {"errors", "error",
     "Errors of u in L2. The paper sees spectral convergence beyond p = 12 and saturation between p = 26 and "
     "30 "
     "(huismann2020, section 5.4).",
     "error", "%.2e", error, 0},
    {"iterations", "iterations",
     "Iterations until the residual of the random first guess has fallen by 1e-10. The paper: about 100 with "
     "block Jacobi over a wide range of p, CCG fewer, up to a factor of two at low p (huismann2020, section "
     "5.4). "
     "'!': not reached.",
     "iterations", "%.0f", iterations, 1},
    {"seconds", "seconds", "Seconds of the solve: one thread, processor time, medians.", "seconds", "%.4g",
     seconds, 0},
    {"micro", "micro",
     "Microseconds of the solve per unknown, (p+1)^3 n_e. The paper, on one core of 2.5 GHz: 2.5 with block "
     "preconditioners and 1 with the transformed ones (huismann2020, section 5.4).",
     "us per unknown", "%.4f", rival_micro, 0}};

static int is_direct(int kind) {
    return kind >= RIVAL_DIRECT;
}

static facet_status emit_view(const struct bench_options *options, const struct huismann2020_rows *rows,
                              const struct view *view) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    const char *headers[1 + N_RIVALS] = {rows->by_cells ? "n_e" : "p"};
    char name[96], title[800];
    int n = 1;
    for (int kind = 0; kind < N_RIVALS; kind++)
        if (rows->kinds & RIVAL_BIT(kind) && !(view->iterative && is_direct(kind)))
            headers[n++] = rival_name(kind);
    TRY(table_create(n, headers, &table));
    for (int i = 0; i < rows->n; i++) {
        const struct contest *c = &rows->rows[i];
        table_cell(table, rows->by_cells ? "%d^3" : "%d", rows->by_cells ? c->wave.cells : c->wave.degree);
        for (int kind = 0; kind < N_RIVALS; kind++) {
            char text[32];
            const struct rival_result *r = &c->results[kind];
            if (!(rows->kinds & RIVAL_BIT(kind)) || (view->iterative && is_direct(kind))) continue;
            snprintf(text, sizeof text, view->format, view->value(c, kind));
            table_cell(table, "%s%s", r->present ? text : "-", r->present && !r->converged ? "!" : "");
        }
    }
    snprintf(name, sizeof name, "%s-%s", rows->name, view->name);
    snprintf(title, sizeof title, "%s %s", rows->title, view->title);
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_stages(const struct bench_options *options, const struct huismann2020_rows *rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "p",       "n_e",        "solver",         "set-up s",      "guess s", "load s",
        "solve s", "recovery s", "pre+post/solve", "without guess", "MB",      "bytes/unknown"};
    char name[96], title[640];
    TRY(table_create(12, headers, &table));
    for (int i = 0; i < rows->n; i++)
        for (int kind = 0; kind < N_RIVALS; kind++) {
            const struct rival_result *r = &rows->rows[i].results[kind];
            const double *t = r->seconds;
            if (!r->present) continue;
            table_cell(table, "%d", rows->rows[i].wave.degree);
            table_cell(table, "%d^3", rows->rows[i].wave.cells);
            table_cell(table, "%s", rival_name(kind));
            table_cell(table, "%.4g", r->preparation);
            for (int stage = 0; stage < N_RIVAL_STAGES; stage++) table_cell(table, "%.4g", t[stage]);
            table_cell(table, "%.0f %%",
                       100.0 * (t[RIVAL_GUESS] + t[RIVAL_LOAD] + t[RIVAL_RECOVER]) / t[RIVAL_SOLVE]);
            table_cell(table, "%.0f %%", 100.0 * (t[RIVAL_LOAD] + t[RIVAL_RECOVER]) / t[RIVAL_SOLVE]);
            table_cell(table, "%.1f", 1e-6 * r->bytes);
            table_cell(table, "%.1f", r->bytes / wave_unknowns(&rows->rows[i].wave));
        }
    snprintf(name, sizeof name, "%s-stages", rows->name);
    snprintf(title, sizeof title,
             "%s Stages: hybridization of the guess (eq. 4a), right-hand side, solve, recovery of u; memory "
             "that a "
             "solver keeps beyond the discretization (D^-1 of Algorithms 2 and 3 counts for the first that "
             "uses it).",
             rows->title);
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

facet_status huismann2020_emit(const struct bench_options *options, const struct huismann2020_rows *rows) {
    facet_status status = FACET_OK;
    for (size_t v = 0; v < sizeof views / sizeof views[0]; v++) {
        if (views[v].value == error && !rows->rows[0].with_errors) continue;
        TRY(emit_view(options, rows, &views[v]));
    }
    TRY(emit_stages(options, rows));
done:
    return status;
}

facet_status huismann2020_draw(const struct bench_options *options, const struct huismann2020_rows *rows) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    char name[96];
    TRY(CALLOC(plot, 1));
    for (size_t v = 0; v < sizeof views / sizeof views[0]; v++) {
        if (views[v].value == error && !rows->rows[0].with_errors) continue;
        snprintf(name, sizeof name, "%s-%s", rows->name, views[v].figure);
        *plot = (struct plot){.name = name,
                              .title = rows->by_cells ? "Solvers (huismann2020, Figure 6)"
                                                      : "Solvers (huismann2020, Figure 4)",
                              .x_label = rows->by_cells ? "cells of a direction" : "p",
                              .y_label = views[v].unit,
                              .log = 1};
        for (int kind = 0; kind < N_RIVALS; kind++) {
            if (!(rows->kinds & RIVAL_BIT(kind)) || (views[v].iterative && is_direct(kind))) continue;
            struct plot_series *series = plot_add(plot, rival_name(kind), "linespoints");
            for (int i = 0; i < rows->n; i++)
                if (rows->rows[i].results[kind].present)
                    plot_point(series, rows->by_cells ? rows->rows[i].wave.cells : rows->rows[i].wave.degree,
                               views[v].value(&rows->rows[i], kind));
        }
        TRY(plot_write(options, plot));
    }
done:
    base_free(&plot);
    return status;
}

facet_status bench_huismann2020(const struct bench_options *options) {
    facet_status status = FACET_OK;
    TRY(bench_huismann2020_operators(options));
    TRY(bench_huismann2020_solvers(options));
    TRY(bench_huismann2020_high(options));
    TRY(bench_huismann2020_mesh(options));
    TRY(bench_huismann2020_robust(options));
done:
    return status;
}
