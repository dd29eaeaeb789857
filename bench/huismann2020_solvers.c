/* huismann2020, section 5.4 (Figure 4): the solvers on 8^3 cells by degree, and with two threads. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/huismann2020.h"
#include "bench/targets.h"

#define CELLS    8
#define PATIENCE 1.2 /* seconds; what takes longer is run once */
#define PASSES   3
#define MAX_ROWS 32
/* Without those that take minutes at high degrees. */
#define QUICK_ONES                                                                                           \
    (RIVALS_ALL & ~(RIVAL_BIT(RIVAL_HDG_UNPREC) | RIVAL_BIT(RIVAL_HDG_DIAG) | RIVAL_BIT(RIVAL_HDG_BLOCK) |   \
                    RIVAL_BIT(RIVAL_CCG_UNPREC) | RIVAL_BIT(RIVAL_CCG_DIAG) | RIVAL_BIT(RIVAL_CCG_BLOCK)))

struct step {
    int degree;
    unsigned kinds;
};

static facet_status run(const struct bench_options *options, const char *name, const struct step *steps,
                        int n_steps, struct contest *contests) {
    facet_status status = FACET_OK;
    int cells = options->quick ? 2 : CELLS;
    char title[160];
    const struct huismann2020_rows rows = {
        .name = name, .title = title, .kinds = RIVALS_ALL, .n = n_steps, .rows = contests};
    snprintf(title, sizeof title,
             "huismann2020, Figure 4: k = 5, lambda = 0, (0, 2 pi)^3 in %d^3 cells, random first guess.",
             cells);
    for (int i = 0; i < n_steps; i++) {
        contests[i] = (struct contest){.wave = huismann2020_case(options, cells, steps[i].degree),
                                       .kinds = steps[i].kinds,
                                       .passes = options->quick ? 1 : PASSES,
                                       .with_errors = 1,
                                       .patience = PATIENCE,
                                       .rtol = HUISMANN2020_RTOL};
        TRY(contest_run(options, &contests[i]));
        printf("p = %d is done\n", steps[i].degree);
        fflush(stdout);
    }
    TRY(huismann2020_emit(options, &rows));
    TRY(huismann2020_draw(options, &rows));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ threads */

static const struct { int cells, degree; } threaded[] = {{8, 7}, {8, 15}, {16, 7}};
enum { N_THREADED = sizeof threaded / sizeof threaded[0] };

/* The best of several contests with so many threads, in seconds of the wall. */
static facet_status time_threads(const struct bench_options *options, int threads, struct contest *c,
                                 double *best) {
    facet_status status = FACET_OK;
    base_set_threads(threads);
    TRY(contest_run(options, c));
    for (int kind = 0; kind < N_RIVALS; kind++)
        for (int pass = 0; pass < c->results[kind].n_passes; pass++)
            best[kind] = fmin(best[kind], c->results[kind].passes[RIVAL_SOLVE][pass]);
done:
    base_set_threads(1);
    return status;
}

static facet_status threads(const struct bench_options *options, int all, double *least) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"n_e",         "p",     "solver",        "1 thread s",
                                          "2 threads s", "speed", "all threads s", "speed"};
    static const enum rival_kind kinds[] = {RIVAL_ADDITIVE,  RIVAL_CHEBYSHEV, RIVAL_STARS,
                                            RIVAL_CONDENSED, RIVAL_DIRECT,    RIVAL_VOLUME};
    char title[256];
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < (options->quick ? 1 : N_THREADED); i++) {
        struct contest c = {
            .wave = huismann2020_case(options, options->quick ? 2 : threaded[i].cells, threaded[i].degree),
            .passes = 3,
            .patience = PATIENCE,
            .wall = 1,
            .rtol = HUISMANN2020_RTOL};
        const int counts[3] = {1, 2, all};
        double best[3][N_RIVALS];
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) c.kinds |= RIVAL_BIT(kinds[k]);
        for (int j = 0; j < 3 * N_RIVALS; j++) best[j / N_RIVALS][j % N_RIVALS] = INFINITY;
        for (int round = 0; round < 2; round++)
            for (int j = 0; j < 3; j++)
                if (j < 2 || all > 2) TRY(time_threads(options, counts[j], &c, best[j]));
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            enum rival_kind kind = kinds[k];
            table_cell(table, "%d^3", c.wave.cells);
            table_cell(table, "%d", c.wave.degree);
            table_cell(table, "%s", rival_name(kind));
            table_cell(table, "%.4g", best[0][kind]);
            table_cell(table, "%.4g", best[1][kind]);
            table_cell(table, "%.2f", best[0][kind] / best[1][kind]);
            const double *most = best[all > 2 ? 2 : 1];
            table_cell(table, "%.4g", most[kind]);
            table_cell(table, "%.2f", best[0][kind] / most[kind]);
        }
        enum rival_kind ours = huismann2020_best(&c);
        if (ours < N_RIVALS) *least = targets_lower(*least, best[0][ours] / best[1][ours]);
    }
    snprintf(title, sizeof title,
             "Solves with one thread, two, and all (%d): seconds of the wall, best of %d.", all, 6);
    TRY(bench_emit(options, "huismann2020-threads", title, table));
done:
    base_set_threads(1);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------------------ targets */

static facet_status emit_targets(const struct bench_options *options, const struct contest *contests, int n,
                                 double speed) {
    facet_status status = FACET_OK;
    struct targets targets = {0};
    double own = NAN, paper = NAN, micro = NAN, iterations = NAN, share = NAN, alone = NAN;
    for (int i = 0; i < n; i++) {
        const struct contest *c = &contests[i];
        enum rival_kind best = huismann2020_best(c);
        int p = c->wave.degree;
        if (best == N_RIVALS) continue;
        own = targets_lower(own, rival_ratio(c, RIVAL_TRANS, best));
        paper = targets_lower(paper, rival_ratio(c, RIVAL_HDG_TRANS, best));
        iterations = targets_upper(iterations, c->results[RIVAL_ADDITIVE].iterations);
        share = targets_upper(share, huismann2020_share(c, 1));
        alone = targets_upper(alone, huismann2020_share(c, 0));
        if (p >= 7 && p <= 16) micro = targets_upper(micro, rival_micro(c, best));
    }
    TRY(targets_create(&targets));
    targets_at_least(&targets, "ours against HDG-trans with our operator, 8^3, least of p <= 16", 2.0, own);
    targets_at_least(&targets, "ours against HDG-trans with Algorithm 3, 8^3, least of p <= 16", 4.0, paper);
    targets_at_most(&targets, "us per unknown, 8^3, largest of p = 7 .. 16 (huismann2020: 1)", 0.06, micro);
    targets_at_most(&targets, "the same, stretch", 0.04, micro);
    targets_at_most(&targets, "iterations, additive, 8^3, largest of p <= 16", 60.0, iterations);
    targets_at_most(&targets, "guess, load and recovery over the solve, largest of p <= 16", 0.3, share);
    targets_at_most(&targets, "load and recovery over the solve, largest of p <= 16", 0.3, alone);
    targets_at_least(&targets, "two threads against one, our fastest solver, least", 1.7, speed);
    TRY(targets_emit(options, "huismann2020-solvers-targets", &targets));
done:
    targets_destroy(&targets);
    return status;
}

facet_status bench_huismann2020_solvers(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const struct step steps[] = {{2, RIVALS_ALL},  {3, RIVALS_ALL},  {4, RIVALS_ALL}, {5, RIVALS_ALL},
                                        {6, RIVALS_ALL},  {7, RIVALS_ALL},  {8, RIVALS_ALL}, {10, RIVALS_ALL},
                                        {12, RIVALS_ALL}, {15, RIVALS_ALL}, {16, RIVALS_ALL}};
    struct bench_options one = *options;
    struct contest *contests = NULL;
    double speed = NAN;
    int n = options->quick ? 2 : (int)(sizeof steps / sizeof steps[0]);
    one.threads = 1;
    base_set_threads(1);
    TRY(CALLOC(contests, MAX_ROWS));
    TRY(run(&one, "huismann2020-solvers", steps, n, contests));
    TRY(threads(&one, options->threads, &speed));
    TRY(emit_targets(&one, contests, n, speed));
done:
    base_set_threads(options->threads);
    base_free(&contests);
    return status;
}

/* On 8^3 cells the error at p = 32 is still that of the discretization: on finer ones it comes down to
 * rounding. least: the smallest error of the direct solve on the trace. */
static facet_status rounding(const struct bench_options *options, double *least) {
    facet_status status = FACET_OK;
    static const int degrees[] = {8, 12, 16, 20, 24, 28};
    static const char *const headers[] = {"n_e", "p", "direct, trace", "continuous, direct"};
    struct table *table = NULL;
    TRY(table_create(4, headers, &table));
    for (int i = 0; i < (options->quick ? 1 : 6); i++) {
        struct contest c = {.wave = huismann2020_case(options, options->quick ? 2 : CELLS, degrees[i]),
                            .kinds = RIVAL_BIT(RIVAL_DIRECT) | RIVAL_BIT(RIVAL_CONTINUOUS),
                            .with_errors = 1,
                            .rtol = HUISMANN2020_RTOL};
        c.wave.k = 1.0;
        TRY(contest_run(options, &c));
        table_cell(table, "%d^3", c.wave.cells);
        table_cell(table, "%d", c.wave.degree);
        table_cell(table, "%.2e", c.results[RIVAL_DIRECT].error);
        table_cell(table, "%.2e", c.results[RIVAL_CONTINUOUS].error);
        *least = targets_lower(*least, c.results[RIVAL_DIRECT].error);
    }
    TRY(bench_emit(options, "huismann2020-rounding",
                   "Errors of u in L2 of the direct solves with k = 1, down to rounding.", table));
done:
    table_destroy(&table);
    return status;
}

/* Figure 4 goes to p = 32. */
facet_status bench_huismann2020_high(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const struct step steps[] = {{18, QUICK_ONES}, {20, RIVALS_ALL}, {22, QUICK_ONES},
                                        {24, QUICK_ONES}, {26, QUICK_ONES}, {28, QUICK_ONES},
                                        {30, QUICK_ONES}, {32, RIVALS_ALL}};
    struct bench_options one = *options;
    struct contest *contests = NULL;
    struct targets targets = {0};
    double least = NAN;
    int n = options->quick ? 1 : (int)(sizeof steps / sizeof steps[0]);
    one.threads = 1;
    base_set_threads(1);
    TRY(CALLOC(contests, MAX_ROWS));
    TRY(run(&one, "huismann2020-high", steps, n, contests));
    TRY(rounding(&one, &least));
    TRY(targets_create(&targets));
    targets_at_most(&targets, "smallest error of the direct solve on the trace, k = 1, p <= 28: rounding",
                    1e-11, least);
    TRY(targets_emit(&one, "huismann2020-high-targets", &targets));
done:
    base_set_threads(options->threads);
    targets_destroy(&targets);
    base_free(&contests);
    return status;
}
