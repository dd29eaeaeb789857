/* fabien2017, Figures 15 to 17: the trace product against the roofs of the machine, on squares (the paper's
 * mesh) and triangles, in all the forms it can take, and the stages with one thread and with all.
 *
 * Bytes are the fewest a product must move: its matrix read once, x read once, y written once. Operations are
 * two for every entry of the matrix that is used. All times of a row, the triad's among them, come from the
 * same loop, rivals in turn, best of all passes.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/plot.h"
#include "bench/subject.h"

#define MAX_DEGREE   9
#define CACHES       4 /* the element matrices take this many times the last-level cache */
#define STAGE_PASSES 7
#define N_FORMS      N_PRODUCTS
#define CSR          (N_PRODUCTS - 1)

static const struct subject_shape *const shapes[2] = {&subject_quads, &subject_triangles};

static double rate(const struct products *m, int form) {
    return m->bytes[form] / m->seconds[form];
}

static facet_status emit_bandwidth(const struct bench_options *options, int shape,
                                   const struct products *rows, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "P",        "cells", "unknowns", "MB cells", "triad GB/s", "cells",     "of triad",   "facets",
        "of triad", "ELL",   "of triad", "CSR",      "of triad",   "cells/CSR", "facets/CSR", "ELL/CSR"};
    char name[64];
    TRY(table_create(16, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        const struct products *m = &rows[i];
        table_cell(table, "%d", m->degree);
        table_cell(table, "%d^2%s", m->cells, shape == 1 ? " x 2" : "");
        table_cell(table, "%lld", (long long)m->n_unknowns);
        table_cell(table, "%.0f", 1e-6 * m->bytes[0]);
        table_cell(table, "%.1f", 1e-9 * m->triad);
        for (int f = 0; f < N_FORMS; f++) {
            table_cell(table, "%.1f", 1e-9 * rate(m, f));
            table_cell(table, "%.0f %%", 100.0 * rate(m, f) / m->triad);
        }
        for (int f = 0; f < CSR; f++) table_cell(table, "%.2f", m->seconds[CSR] / m->seconds[f]);
    }
    snprintf(name, sizeof name, "fabien2017-products-%s", shapes[shape]->name);
    TRY(bench_emit(options, name,
                   "fabien2017, Figure 15: bytes a product must move over its time, in GB/s and of the "
                   "STREAM triad of the same run; the last columns are speeds against CSR. The paper reaches "
                   "at most 50 % below p = 5 and 80 % above, on a KNL of 300 GB/s.",
                   table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_roofline(const struct bench_options *options, int shape, const struct products *rows,
                                  int n_rows, double dgemm) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "P",          "cells flop/B", "GFLOP/s", "of roof",    "facets flop/B", "GFLOP/s", "of roof",
        "ELL flop/B", "GFLOP/s",      "of roof", "CSR flop/B", "GFLOP/s",       "of roof"};
    char name[64], title[256];
    TRY(table_create(13, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        const struct products *m = &rows[i];
        table_cell(table, "%d", m->degree);
        for (int f = 0; f < N_FORMS; f++) {
            double intensity = m->operations[f] / m->bytes[f], speed = m->operations[f] / m->seconds[f];
            table_cell(table, "%.3f", intensity);
            table_cell(table, "%.2f", 1e-9 * speed);
            table_cell(table, "%.0f %%", 100.0 * speed / fmin(dgemm, intensity * m->triad));
        }
    }
    snprintf(name, sizeof name, "fabien2017-roofline-%s", shapes[shape]->name);
    snprintf(title, sizeof title,
             "fabien2017, Figures 16 and 17: intensity and speed of the products; the roofs are the triad of "
             "the table before and DGEMM, %.1f GFLOP/s.",
             1e-9 * dgemm);
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status draw(const struct bench_options *options, int shape, const struct products *rows,
                         int n_rows, double dgemm) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    struct plot_series *series;
    char name[64];
    double triad = 0.0;
    for (int i = 0; i < n_rows; i++) triad = fmax(triad, rows[i].triad);
    TRY(CALLOC(plot, 1));
    snprintf(name, sizeof name, "fabien2017-figure15-%s", shapes[shape]->name);
    *plot = (struct plot){.name = name,
                          .title = "Achieved bandwidth of the trace product (fabien2017, Figure 15)",
                          .x_label = "degree",
                          .y_label = "GB/s"};
    series = plot_add(plot, "STREAM triad", "lines");
    for (int i = 0; i < n_rows; i++) plot_point(series, rows[i].degree, 1e-9 * rows[i].triad);
    for (int f = 0; f < N_FORMS; f++) {
        series = plot_add(plot, products_name(f), "linespoints");
        for (int i = 0; i < n_rows; i++) plot_point(series, rows[i].degree, 1e-9 * rate(&rows[i], f));
    }
    TRY(plot_write(options, plot));
    snprintf(name, sizeof name, "fabien2017-figure16-%s", shapes[shape]->name);
    *plot = (struct plot){.name = name,
                          .title = "Roofline of the trace product (fabien2017, Figures 16 and 17)",
                          .x_label = "flop per byte",
                          .y_label = "GFLOP/s",
                          .log = 1};
    series = plot_add(plot, "roof: triad, DGEMM", "lines");
    for (int i = -8; i <= 8; i++) {
        double x = exp2(0.5 * i);
        plot_point(series, x, 1e-9 * fmin(dgemm, x * triad));
    }
    for (int f = 0; f < N_FORMS; f++) {
        series = plot_add(plot, products_name(f), "points");
        for (int i = 0; i < n_rows; i++)
            plot_point(series, rows[i].operations[f] / rows[i].bytes[f],
                       1e-9 * rows[i].operations[f] / rows[i].seconds[f]);
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

static facet_status products(const struct bench_options *options, int shape, double dgemm) {
    facet_status status = FACET_OK;
    struct products rows[MAX_DEGREE];
    const struct device *device;
    struct triad triad = {0};
    double bytes = (options->quick ? 1.0 : CACHES) * (double)ceiling_cache_bytes();
    int n = 0;
    TRY(device_find(options->device, &device));
    TRY(triad_create(&triad));
    for (int degree = 1; degree <= MAX_DEGREE; degree++, n++) {
        rows[n] =
            (struct products){.degree = degree, .cells = subject_matrix_cells(shapes[shape], degree, bytes)};
        TRY(products_measure(device, shapes[shape], N_FORMS, &triad, &rows[n]));
    }
    TRY(emit_bandwidth(options, shape, rows, n));
    TRY(emit_roofline(options, shape, rows, n, dgemm));
    TRY(draw(options, shape, rows, n, dgemm));
done:
    triad_destroy(&triad);
    return status;
}

/* ---------------------------------------------------------------------------------------------- threads */

static const enum stage stages[] = {STAGE_CONDENSE, STAGE_ASSEMBLE, STAGE_CELLS,
                                    STAGE_FACETS,   STAGE_LOAD,     STAGE_RECOVER};
enum { N_THREADED = sizeof stages / sizeof stages[0] };

static facet_status speed_up(struct subject *s, int threads, double *factors) {
    facet_status status = FACET_OK;
    for (int stage = 0; stage < N_THREADED; stage++) {
        double one = INFINITY, all = INFINITY, seconds;
        for (int pass = 0; pass < STAGE_PASSES; pass++) {
            base_set_threads(1);
            TRY(subject_run(s, stages[stage], &seconds));
            one = fmin(one, seconds);
            base_set_threads(threads);
            TRY(subject_run(s, stages[stage], &seconds));
            all = fmin(all, seconds);
        }
        factors[stage] = one / all;
    }
done:
    base_set_threads(threads);
    return status;
}

static facet_status speed_ups(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    char title[256];
    static const char *const headers[] = {"shape",           "P",        "cells",
                                          "local matrices",  "assembly", "product, cells",
                                          "product, facets", "loads",    "recovery"};
    TRY(table_create(9, headers, &table));
    for (int shape = 0; shape < 2; shape++)
        for (int degree = 1; degree <= MAX_DEGREE; degree += options->quick ? 4 : 2) {
            double factors[N_THREADED];
            struct subject s = {0};
            int cells = subject_matrix_cells(shapes[shape], degree, 2.0 * (double)ceiling_cache_bytes());
            status = subject_create(options, shapes[shape], cells, degree, &s);
            if (status == FACET_OK) status = speed_up(&s, options->threads, factors);
            subject_destroy(&s);
            if (status != FACET_OK) goto done;
            table_cell(table, "%s", shapes[shape]->name);
            table_cell(table, "%d", degree);
            table_cell(table, "%d^2%s", cells, shape == 1 ? " x 2" : "");
            for (int stage = 0; stage < N_THREADED; stage++) table_cell(table, "%.2f", factors[stage]);
        }
    snprintf(title, sizeof title,
             "fabien2017, Figure 14: speed of every stage with %d threads against one thread.",
             options->threads);
    TRY(bench_emit(options, "fabien2017-threads", title, table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2017_roofline(const struct bench_options *options) {
    facet_status status = FACET_OK;
    double dgemm = 0.0;
    for (int shape = 0; shape < 2; shape++) {
        TRY(ceiling_dgemm(&dgemm));
        TRY(products(options, shape, dgemm));
    }
    TRY(speed_ups(options));
done:
    return status;
}
