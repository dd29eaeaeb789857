/* huismann2020, section 4.3 (Figures 2 and 3): the operators on 8^3 cells, p = 2 .. 32. All of a degree are
 * set up, then applied in turn, round after round; a time is the median over the rounds, a ratio the median
 * of the ratios of the rounds; both in processor time of one thread. Unknowns are (p+1)^3 n_e for all, as in
 * the paper. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/ceiling.h"
#include "bench/contender.h"
#include "bench/huismann2020.h"
#include "bench/plot.h"
#include "bench/targets.h"

#define CELLS         8
#define MAX_ROUNDS    9
#define ROUND_SECONDS 0.02 /* an operator is applied so long in a round, and once at least */
#define TRIAD_PASSES  20

struct row {
    int degree, cells;
    double unknowns;
    double preparation[N_CONTENDERS], operations[N_CONTENDERS], bytes[N_CONTENDERS];
    double seconds[N_CONTENDERS], rounds[N_CONTENDERS][MAX_ROUNDS];
    double straight_ratio, condensed_ratio; /* HDG-TPT and CCG-TPT over ours */
    double dgemm, cache;                    /* operations and bytes per second */
};

/* Bytes per second of a triad over so many bytes, best of several. */
static facet_status measure_triad(double bytes, double *rate) {
    facet_status status = FACET_OK;
    struct triad triad = {0};
    double best = INFINITY;
    TRY(triad_create_bytes((int64_t)fmax(bytes, 3.0 * 4096.0), &triad));
    int repeat = 1 + (int)(1e7 / triad_bytes(&triad));
    for (int pass = 0; pass < TRIAD_PASSES; pass++) best = fmin(best, triad_repeat(&triad, repeat) / repeat);
    *rate = triad_bytes(&triad) / best;
done:
    triad_destroy(&triad);
    return status;
}

static double apply_for_a_while(struct contender *c, double once) {
    int count = 1 + (int)(ROUND_SECONDS / once);
    double begin = ceiling_clock();
    for (int i = 0; i < count; i++) operator_apply(&c->A, &c->x, &c->y);
    return (ceiling_clock() - begin) / count;
}

static double ratio(const struct row *row, int n_rounds, int a, int b) {
    double ratios[MAX_ROUNDS];
    for (int i = 0; i < n_rounds; i++) ratios[i] = row->rounds[a][i] / row->rounds[b][i];
    return ceiling_median(n_rounds, ratios);
}

static facet_status time_rounds(struct contender *contenders, int n_rounds, struct row *row) {
    facet_status status = FACET_OK;
    double once[N_CONTENDERS];
    for (int k = 0; k < N_CONTENDERS; k++) { /* the first two are not counted: libraries, memory */
        operator_apply(&contenders[k].A, &contenders[k].x, &contenders[k].y);
        double begin = ceiling_clock();
        operator_apply(&contenders[k].A, &contenders[k].x, &contenders[k].y);
        once[k] = fmax(ceiling_clock() - begin, 1e-7);
    }
    for (int round = 0; round < n_rounds; round++) {
        for (int k = 0; k < N_CONTENDERS; k++)
            row->rounds[k][round] = apply_for_a_while(&contenders[k], once[k]);
        TRY(base_check_interrupt());
    }
    row->straight_ratio = ratio(row, n_rounds, CONTENDER_HDG_TPT, CONTENDER_TENSOR);
    row->condensed_ratio = ratio(row, n_rounds, CONTENDER_CCG_TPT, CONTENDER_PARITY);
    for (int k = 0; k < N_CONTENDERS; k++) row->seconds[k] = ceiling_median(n_rounds, row->rounds[k]);
done:
    return status;
}

static facet_status measure(const struct bench_options *options, int n_rounds, struct row *row) {
    facet_status status = FACET_OK;
    const struct device *device;
    struct wave_case given = huismann2020_case(options, row->cells, row->degree);
    struct wave wave = {0};
    struct contender contenders[N_CONTENDERS] = {0};
    row->unknowns = wave_unknowns(&given);
    TRY(device_find(options->device, &device));
    if (!device_is_host(device)) TRY(device_find("cpu", &device));
    TRY(wave_create(&given, 0, &wave));
    for (int k = 0; k < N_CONTENDERS; k++) {
        TRY(contender_create(&wave, device, k, &contenders[k]));
        row->preparation[k] = contenders[k].preparation;
        row->operations[k] = contenders[k].operations;
        row->bytes[k] = contenders[k].bytes;
    }
    TRY(time_rounds(contenders, n_rounds, row));
    TRY(measure_triad(row->bytes[CONTENDER_TENSOR], &row->cache));
    if (row->degree == 2 || row->degree % 8 == 0) TRY(ceiling_dgemm(&row->dgemm));
done:
    for (int k = 0; k < N_CONTENDERS; k++) contender_destroy(&contenders[k]);
    wave_destroy(&wave);
    return status;
}

/* ------------------------------------------------------------------------------------------ tables */

static double preparation_ms(const struct row *r, int k) {
    return 1e3 * r->preparation[k];
}
static double runtime_ms(const struct row *r, int k) {
    return 1e3 * r->seconds[k];
}
static double updates(const struct row *r, int k) {
    return 1e-6 * r->unknowns / r->seconds[k];
}
static double gflops(const struct row *r, int k) {
    return 1e-9 * r->operations[k] / r->seconds[k];
}
static double intensity(const struct row *r, int k) {
    return r->operations[k] / r->bytes[k];
}

static const struct view {
    const char *name, *plot, *title, *unit;
    double (*value)(const struct row *row, int contender);
} views[4] = {
    {"huismann2020-preparation", "huismann2020-figure2a",
     "huismann2020, Figure 2(a): milliseconds to prepare the operators. The paper finds O(p^5) "
     "for "
     "CCG-MM and O(p^3) for the others (huismann2020, section 4.3).",
     "ms", preparation_ms},
    {"huismann2020-runtime", "huismann2020-figure2b",
     "huismann2020, Figure 2(b): milliseconds of one application. In the paper CCG-MM is overtaken by the "
     "tensor products from p = 6 on, and TPT gains a factor of four over TP (huismann2020, section 4.3).",
     "ms", runtime_ms},
    {"huismann2020-updates", "huismann2020-figure2c",
     "huismann2020, Figure 2(c): millions of unknowns, (p+1)^3 n_e, updated per second. In the paper HDG-TPT "
     "and CCG-TPT are alike for p > 4 (huismann2020, section 4.3).",
     "million unknowns per second", updates},
    {"huismann2020-gflops", "huismann2020-figure2d",
     "huismann2020, Figure 2(d): GFLOP/s, operations counted loop by loop. The paper, on a core of 40 "
     "GFLOP/s: "
     "CCG-MM near 35 beyond p = 8, all tensor products near a quarter of the peak at most (huismann2020, "
     "section 4.3).",
     "GFLOP/s", gflops}};

static facet_status emit_view(const struct bench_options *options, const struct view *view,
                              const struct row *rows, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    const char *headers[1 + N_CONTENDERS] = {"p"};
    char title[512];
    for (int k = 0; k < N_CONTENDERS; k++) headers[1 + k] = contender_name(k);
    TRY(table_create(1 + N_CONTENDERS, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        table_cell(table, "%d", rows[i].degree);
        for (int k = 0; k < N_CONTENDERS; k++) table_cell(table, "%.4g", view->value(&rows[i], k));
    }
    snprintf(title, sizeof title, "%s Here %d^3 cells.", view->title, rows[0].cells);
    TRY(bench_emit(options, view->name, title, table));
done:
    table_destroy(&table);
    return status;
}

/* Seconds that ours takes at least: its operations at the rate of DGEMM, and its vectors through the cache. A
 * core that does sums beside fused multiply-adds can do as many operations in a sum and a product. */
static double bound(const struct row *r) {
    return r->operations[CONTENDER_TENSOR] / r->dgemm + r->bytes[CONTENDER_TENSOR] / r->cache;
}

static facet_status emit_ours(const struct bench_options *options, const struct row *rows, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"p",          "HDG-TPT ns",        "ours ns",      "HDG-TPT/ours",
                                          "CCG-TPT ns", "ours condensed ns", "CCG-TPT/ours", "flop/unknown",
                                          "GFLOP/s",    "DGEMM GFLOP/s",     "cache GB/s",   "bound ns",
                                          "ours/bound"};
    TRY(table_create(13, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        double nano = 1e9 / r->unknowns, ours = r->seconds[CONTENDER_TENSOR];
        table_cell(table, "%d", r->degree);
        table_cell(table, "%.3f", nano * r->seconds[CONTENDER_HDG_TPT]);
        table_cell(table, "%.3f", nano * ours);
        table_cell(table, "%.2f", r->straight_ratio);
        table_cell(table, "%.3f", nano * r->seconds[CONTENDER_CCG_TPT]);
        table_cell(table, "%.3f", nano * r->seconds[CONTENDER_PARITY]);
        table_cell(table, "%.2f", r->condensed_ratio);
        table_cell(table, "%.1f", r->operations[CONTENDER_TENSOR] / r->unknowns);
        table_cell(table, "%.1f", gflops(r, CONTENDER_TENSOR));
        table_cell(table, "%.1f", 1e-9 * r->dgemm);
        table_cell(table, "%.1f", 1e-9 * r->cache);
        table_cell(table, "%.3f", nano * bound(r));
        table_cell(table, "%.2f", ours / bound(r));
    }
    TRY(bench_emit(options, "huismann2020-ours",
                   "Our operators against straight ports of Algorithm 3, nanoseconds per unknown of one "
                   "application. The bound "
                   "is arithmetic plus bytes: the operations at the rate of DGEMM, and x read and y written "
                   "once at the speed "
                   "of a triad over as many bytes.",
                   table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_roofline(const struct bench_options *options, const struct row *rows, int n_rows,
                                  double dgemm, double memory) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    const char *headers[1 + 3 * N_CONTENDERS] = {"p"};
    char title[640];
    for (int k = 0; k < N_CONTENDERS; k++) {
        headers[1 + 3 * k] = contender_name(k);
        headers[2 + 3 * k] = "GFLOP/s";
        headers[3 + 3 * k] = "of roof";
    }
    TRY(table_create(1 + 3 * N_CONTENDERS, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        if (rows[i].degree % 2 == 0) continue;
        table_cell(table, "%d", rows[i].degree);
        for (int k = 0; k < N_CONTENDERS; k++) {
            double flop_per_byte = intensity(&rows[i], k);
            table_cell(table, "%.2f flop/B", flop_per_byte);
            table_cell(table, "%.2f", gflops(&rows[i], k));
            table_cell(table, "%.0f %%", 1e11 * gflops(&rows[i], k) / fmin(dgemm, flop_per_byte * memory));
        }
    }
    snprintf(
        title, sizeof title,
        "huismann2020, Figure 3: roofline, odd degrees. Intensity by the loads and stores of Table 2, for "
        "ours x read and y written once; the roofs are DGEMM, %.1f GFLOP/s, and the triad in memory, %.1f "
        "GB/s (huismann2020: 40 and 12.7). Beyond 100 %%: the vectors stay in the cache.",
        1e-9 * dgemm, 1e-9 * memory);
    TRY(bench_emit(options, "huismann2020-roofline", title, table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------------------ plots */

static facet_status draw(const struct bench_options *options, const struct row *rows, int n_rows,
                         double dgemm, double memory) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    TRY(CALLOC(plot, 1));
    for (int v = 0; v < 4; v++) {
        *plot = (struct plot){.name = views[v].plot,
                              .title = "Operators (huismann2020, Figure 2)",
                              .x_label = "p",
                              .y_label = views[v].unit,
                              .log = v < 2};
        for (int k = 0; k < N_CONTENDERS; k++) {
            struct plot_series *series = plot_add(plot, contender_name(k), "linespoints");
            for (int i = 0; i < n_rows; i++) plot_point(series, rows[i].degree, views[v].value(&rows[i], k));
        }
        TRY(plot_write(options, plot));
    }
    *plot = (struct plot){.name = "huismann2020-figure3",
                          .title = "Roofline (huismann2020, Figure 3)",
                          .x_label = "flop per byte",
                          .y_label = "GFLOP/s",
                          .log = 1};
    struct plot_series *roof = plot_add(plot, "roof: triad, DGEMM", "lines");
    for (int i = -6; i <= 16; i++)
        plot_point(roof, exp2(0.5 * i), 1e-9 * fmin(dgemm, exp2(0.5 * i) * memory));
    for (int k = 0; k < N_CONTENDERS; k++) {
        struct plot_series *series = plot_add(plot, contender_name(k), "linespoints");
        for (int i = 0; i < n_rows; i++)
            if (rows[i].degree % 2 == 1) plot_point(series, intensity(&rows[i], k), gflops(&rows[i], k));
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

static facet_status emit_targets(const struct bench_options *options, const struct row *rows, int n_rows) {
    facet_status status = FACET_OK;
    struct targets targets = {0};
    double high = NAN, low = NAN, at_15 = NAN, distance = NAN, usual = NAN;
    for (int i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        double nano = 1e9 * r->seconds[CONTENDER_TENSOR] / r->unknowns;
        if (r->degree >= 8) high = targets_lower(high, r->straight_ratio);
        if (r->degree >= 3 && r->degree < 8) low = targets_lower(low, r->straight_ratio);
        if (r->degree == 15) at_15 = nano;
        if (r->degree >= 8) usual = targets_upper(usual, r->seconds[CONTENDER_TENSOR] / bound(r));
        distance = targets_upper(distance, r->seconds[CONTENDER_TENSOR] / bound(r));
    }
    TRY(targets_create(&targets));
    targets_at_least(&targets, "ours against the straight HDG-TPT, least of p = 8 .. 32", 4.0, high);
    targets_at_least(&targets, "ours against the straight HDG-TPT, least of p = 3 .. 7", 2.0, low);
    targets_at_most(&targets, "ns per unknown of ours at p = 15", 0.45, at_15);
    targets_at_most(&targets, "ours over its bound, largest of p = 2 .. 32", 2.0, distance);
    targets_at_most(&targets, "ours over its bound, largest of p = 8 .. 32", 2.0, usual);
    TRY(targets_emit(options, "huismann2020-operators-targets", &targets));
done:
    targets_destroy(&targets);
    return status;
}

facet_status bench_huismann2020_operators(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct bench_options one = *options;
    struct row *rows = NULL;
    struct triad triad = {0};
    int n = 0, last = options->quick ? 4 : BOX_MAX_DEGREE, n_rounds = options->quick ? 3 : MAX_ROUNDS;
    double dgemm = 0.0, memory = 0.0;
    one.threads = 1;
    base_set_threads(1);
    TRY(CALLOC(rows, BOX_MAX_DEGREE));
    for (int degree = 2; degree <= last; degree++, n++) {
        rows[n].degree = degree;
        rows[n].cells = options->quick ? 2 : CELLS;
        TRY(measure(&one, n_rounds, &rows[n]));
        dgemm = fmax(dgemm, rows[n].dgemm);
    }
    for (int i = 0; i < n; i++) rows[i].dgemm = dgemm; /* one machine, one rate */
    TRY(triad_create(&triad));
    for (int pass = 0; pass < 5; pass++) memory = fmax(memory, triad_bytes(&triad) / triad_run(&triad));
    for (int v = 0; v < 4; v++) TRY(emit_view(&one, &views[v], rows, n));
    TRY(emit_ours(&one, rows, n));
    TRY(emit_roofline(&one, rows, n, dgemm, memory));
    TRY(draw(&one, rows, n, dgemm, memory));
    TRY(emit_targets(&one, rows, n));
done:
    base_set_threads(options->threads);
    triad_destroy(&triad);
    base_free(&rows);
    return status;
}
