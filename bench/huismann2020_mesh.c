/* huismann2020, section 5.6 (Figure 6): the solvers at p = 16 by the number of cells; iterations of ours from
 * 4^3 to 32^3 cells; and ours against the direct rival at p = 15. A solver that is expected to take longer
 * than MOST_SECONDS, its iterations growing like the cells of a direction, is left out; so is a mesh that
 * does not fit into half of the memory. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/ceiling.h"
#include "bench/huismann2020.h"
#include "bench/targets.h"

#define DEGREE       16
#define MOST_SECONDS 25.0
#define GROWTH       16.0 /* of the time from one mesh to the next */
#define OURS         (RIVAL_BIT(RIVAL_ADDITIVE) | RIVAL_BIT(RIVAL_CHEBYSHEV) | RIVAL_BIT(RIVAL_STARS))

static int fits(const struct wave_case *wave, unsigned kinds) {
    return rival_bytes(wave, kinds) < 0.5 * base_available_bytes();
}

static struct contest contest_of(const struct bench_options *options, int cells, int degree, unsigned kinds) {
    return (struct contest){.wave = huismann2020_case(options, cells, degree),
                            .kinds = kinds,
                            .passes = options->quick ? 1 : 3,
                            .with_errors = 0,
                            .patience = 2.0,
                            .rtol = HUISMANN2020_RTOL};
}

static facet_status by_cells(const struct bench_options *options, struct contest *contests, int *n) {
    facet_status status = FACET_OK;
    int degree = options->quick ? 3 : DEGREE, last = options->quick ? 4 : 32;
    unsigned kinds = RIVALS_ALL;
    for (int cells = 2; cells <= last; cells *= 2) {
        struct contest *c = &contests[*n];
        *c = contest_of(options, cells, degree, kinds);
        if (cells > 16) c->kinds &= ~(RIVAL_BIT(RIVAL_VOLUME) | RIVAL_BIT(RIVAL_CONTINUOUS));
        if (!fits(&c->wave, c->kinds)) break;
        TRY(contest_run(options, c));
        (*n)++;
        for (int kind = 0; kind < N_RIVALS; kind++)
            if (c->results[kind].present && GROWTH * c->results[kind].seconds[RIVAL_SOLVE] > MOST_SECONDS)
                kinds &= ~RIVAL_BIT(kind);
        kinds |= OURS | RIVAL_BIT(RIVAL_DIRECT);
        printf("%d^3 cells are done\n", cells);
        fflush(stdout);
    }
    char title[320];
    snprintf(
        title, sizeof title,
        "huismann2020, Figure 6: k = 5, lambda = 0, (0, 2 pi)^3, p = %d. In the paper runtimes grow like "
        "n_e^(4/3) (huismann2020, section 5.6). Left out: what is expected to take longer than %.0f s.",
        degree, MOST_SECONDS);
    const struct huismann2020_rows rows = {.name = "huismann2020-mesh",
                                           .title = title,
                                           .by_cells = 1,
                                           .kinds = RIVALS_ALL,
                                           .n = *n,
                                           .rows = contests};
    TRY(huismann2020_emit(options, &rows));
    TRY(huismann2020_draw(options, &rows));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ growth */

enum { N_MESHES = 4, N_DEGREES = 4 };
static const int degrees[N_DEGREES] = {3, 7, 11, 15};

/* growth[i]: from 4^3 to the last mesh, of the additive, the Chebyshev and the star preconditioner; most: of
 * the additive one. */
static facet_status growth(const struct bench_options *options, double worst[3], double *most) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const enum rival_kind kinds[] = {RIVAL_ADDITIVE, RIVAL_CHEBYSHEV, RIVAL_STARS};
    static const char *const headers[] = {"p", "solver", "4^3", "8^3", "16^3", "32^3", "last/first"};
    int counts[N_DEGREES][N_MESHES][3] = {0}, n_degrees = options->quick ? 1 : N_DEGREES;
    TRY(table_create(7, headers, &table));
    for (int i = 0; i < n_degrees; i++)
        for (int mesh = 0; mesh < (options->quick ? 2 : N_MESHES); mesh++) {
            unsigned wanted = mesh == 3 && degrees[i] > 7 ? RIVAL_BIT(RIVAL_ADDITIVE) : OURS;
            struct contest c = contest_of(options, 4 << mesh, degrees[i], wanted);
            c.passes = 0;
            if (!fits(&c.wave, c.kinds)) break;
            TRY(contest_run(options, &c));
            for (int k = 0; k < 3; k++) counts[i][mesh][k] = c.results[kinds[k]].iterations;
        }
    for (int i = 0; i < n_degrees; i++)
        for (int k = 0; k < 3; k++) {
            double first = counts[i][0][k], last = first;
            table_cell(table, "%d", degrees[i]);
            table_cell(table, "%s", rival_name(kinds[k]));
            for (int mesh = 0; mesh < N_MESHES; mesh++) {
                int count = counts[i][mesh][k];
                if (count > 0) last = count;
                if (k == 0 && count > 0) *most = targets_upper(*most, count);
                if (count > 0)
                    table_cell(table, "%d", count);
                else
                    table_cell(table, "-");
            }
            table_cell(table, "%.2f", last / first);
            worst[k] = targets_upper(worst[k], last / first);
        }
    TRY(bench_emit(
        options, "huismann2020-growth",
        "Iterations of ours to 1e-10 from the random guess under refinement; '-': left out, or more than "
        "half of the memory.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------------------ targets */

static facet_status emit_targets(const struct bench_options *options, const struct contest *contests, int n,
                                 const double worst[3], double most) {
    facet_status status = FACET_OK;
    struct targets targets = {0};
    double own = NAN, paper = NAN, direct = NAN;
    for (int i = 0; i < n; i++) {
        enum rival_kind best = huismann2020_best(&contests[i]);
        if (contests[i].wave.cells != 16 || best == N_RIVALS) continue;
        own = rival_ratio(&contests[i], RIVAL_TRANS, best);
        paper = rival_ratio(&contests[i], RIVAL_HDG_TRANS, best);
    }
    if (!options->quick) {
        struct contest c =
            contest_of(options, 16, 15, OURS | RIVAL_BIT(RIVAL_DIRECT) | RIVAL_BIT(RIVAL_VOLUME));
        TRY(contest_run(options, &c));
        enum rival_kind best = huismann2020_best(&c);
        if (best < N_RIVALS)
            direct = fmax(rival_ratio(&c, best, RIVAL_DIRECT), rival_ratio(&c, best, RIVAL_VOLUME));
    }
    TRY(targets_create(&targets));
    targets_at_most(&targets, "iterations, additive, last mesh over 4^3, largest of p = 3 .. 15", 1.1,
                    worst[0]);
    targets_at_most(&targets, "the same, Chebyshev", 1.1, worst[1]);
    targets_at_most(&targets, "the same, vertex stars", 1.1, worst[2]);
    targets_at_most(&targets, "iterations, additive, largest of all", 60.0, most);
    targets_at_least(&targets, "ours against HDG-trans with our operator, 16^3, p = 16", 3.3, own);
    targets_at_least(&targets, "ours against HDG-trans with Algorithm 3, 16^3, p = 16", 6.0, paper);
    targets_at_most(&targets, "ours over the faster direct rival, 16^3, p = 15", 2.0, direct);
    TRY(targets_emit(options, "huismann2020-mesh-targets", &targets));
done:
    targets_destroy(&targets);
    return status;
}

facet_status bench_huismann2020_mesh(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct bench_options one = *options;
    struct contest *contests = NULL;
    double worst[3] = {NAN, NAN, NAN}, most = NAN;
    int n = 0;
    one.threads = 1;
    base_set_threads(1);
    TRY(CALLOC(contests, 8));
    TRY(by_cells(&one, contests, &n));
    TRY(growth(&one, worst, &most));
    TRY(emit_targets(&one, contests, n, worst, most));
done:
    base_set_threads(options->threads);
    base_free(&contests);
    return status;
}
