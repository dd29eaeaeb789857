/* Geometric multigrid on the trace against p-multigrid and algebraic multigrid on the assembled matrix: time,
 * memory, and time per unknown from small to large. docs/gmg.md discusses the tables; the right-hand side is
 * noise. */
#include "trace/gmg.h"
#include "bench/papers/face_patches.h"
#include "bench/trial.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#define FLAT_ROUNDS 3

enum rival { AMG, PMG, GMG, N_RIVALS };
static const char *const rival_names[N_RIVALS] = {"amg, assembled", "pmg", "gmg"};

/* With geometric multigrid, set-up included. */
static facet_status solve_gmg(struct trial *s, const struct gmg_options *options, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    struct base_memory before;
    base_memory_reset_peak();
    base_memory_read(&before);
    double begin = base_seconds();
    TRY(mesh_hierarchy_create(v->problem->mesh, 4, &hierarchy));
    TRY(trace_gmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A,
                         &hierarchy, options, &mg));
    TRY(trial_solve(s, &mg, begin, &before, o));
done:
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    return status;
}

static facet_status solve_levels(struct trial *s, enum rival rival, struct trial_outcome *o) {
    struct pmg_options pmg;
    pmg_options_default(&pmg);
    return rival == GMG ? solve_gmg(s, &(struct gmg_options){0}, o) : trial_solve_pmg(s, &pmg, o);
}

/* All rivals on one mesh; AMG only where it is asked for. */
static facet_status compare(const struct bench_options *bench, const char *shape, int n, int degree, int amg,
                            struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct trial_domain d = {shape, n, 1.0, 0.0, NULL, NULL};
    struct trial_outcome o[N_RIVALS] = {0};
    facet_report report = {.size = sizeof report};
    TRY(trial_create(bench, &d, degree, &s));
    TRY(facet_solver_report(s.solver, &report));
    double condense = report.seconds[FACET_PHASE_CONDENSE], n_free = (double)s.solver->system.n_free;
    for (int r = amg ? AMG : PMG; r < N_RIVALS; r++) {
        TRY(r == AMG ? trial_solve_amg(&s, &o[r]) : solve_levels(&s, (enum rival)r, &o[r]));
        double seconds = o[r].setup + o[r].solve, other = o[AMG].setup + o[AMG].solve;
        table_cell(table, "%s %d^%d", shape, n, trial_dimension(shape));
        table_cell(table, "%d", degree);
        table_cell(table, "%.0f", n_free);
        table_cell(table, "%s", rival_names[r]);
        trial_put_count(table, o[r].iterations);
        table_cell(table, "%.2f", condense);
        table_cell(table, "%.2f", o[r].setup);
        table_cell(table, "%.2f", o[r].solve);
        table_cell(table, "%.3f", 1e6 * seconds / n_free);
        table_cell(table, amg ? "%.2f" : " ", other / seconds);
        table_cell(table, amg ? "%.2f" : " ", (condense + other) / (condense + seconds));
        table_cell(table, "%.0f", o[r].held / 1e6);
        table_cell(table, "%.0f", o[r].peak / 1e6);
        table_cell(table, amg ? "%.2f" : " ", o[AMG].peak / o[r].peak);
    }
    table_rule(table);
done:
    trial_destroy(&s);
    return status;
}

/* ------------------------------------------------------------------------------ smoothers */

static const struct contestant {
    const char *name;
    enum gmg_smoother smoother;
    struct face_patch_smoother patches;
    int has_patches;
} contestants[] = {{"faces", .smoother = GMG_FACES},
                   {"rows", .smoother = GMG_ROWS},
                   {"fsai", .smoother = GMG_FSAI},
                   {"cells", .patches = {TRACE_PATCH_CELL, 0, 0}, .has_patches = 1},
                   {"vertices", .patches = {TRACE_PATCH_VERTEX, 0, 2}, .has_patches = 1},
                   {"sweeps over cells", .patches = {TRACE_PATCH_CELL, 1, 1}, .has_patches = 1},
                   {"sweeps over vertices", .patches = {TRACE_PATCH_VERTEX, 1, 1}, .has_patches = 1}};

facet_status bench_gmg_smoothers(const struct bench_options *options) {
    static const char *const headers[] = {"p", "smoother", "iterations", "setup s", "solve s", "MB held"};
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct trial s = {0};
    struct trial_domain d = {"quad", options->quick ? 16 : 64, 1.0, 0.0, NULL, NULL};
    TRY(table_create(6, headers, &table));
    for (int p = 1; p <= 4; p += 3) {
        TRY(trial_create(options, &d, p, &s));
        for (size_t i = 0; i < sizeof contestants / sizeof *contestants; i++) {
            struct trial_outcome o = {0};
            struct contestant c = contestants[i];
            struct gmg_options gmg = {.smoother = c.smoother};
            if (c.has_patches) gmg.other = face_patch_smoother(&c.patches);
            TRY(solve_gmg(&s, &gmg, &o));
            table_cell(table, "%d", p);
            table_cell(table, "%s", c.name);
            trial_put_count(table, o.iterations);
            table_cell(table, "%.3f", o.setup);
            table_cell(table, "%.3f", o.solve);
            table_cell(table, "%.1f", o.held / 1e6);
        }
        table_rule(table);
        trial_destroy(&s);
    }
    TRY(bench_emit(
        options, "gmg-smoothers",
        "Conjugate gradients to 1e-10 with geometric multigrid on squares by its smoother; patches "
        "are those of bench/papers/face_patches.h. Memory: beyond the element matrices.",
        table));
done:
    trial_destroy(&s);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ small to large */

/* Seconds of the processors: our own code, and the pages that the system hands out. */
struct work {
    double own, system;
};
static struct work work_now(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (struct work){(double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec,
                         (double)u.ru_stime.tv_sec + 1e-6 * (double)u.ru_stime.tv_usec};
}

/* Geometric multigrid from small to large: the least of the rounds. */
static facet_status flat_one(const struct bench_options *bench, int n, struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct trial_domain d = {"quad", n, 1.0, 0.0, NULL, NULL};
    struct work least = {INFINITY, 0.0};
    struct trial_outcome o = {0};
    TRY(trial_create(bench, &d, 4, &s));
    double micro = 1e6 / (double)s.solver->system.n_free;
    for (int round = 0; round < FLAT_ROUNDS; round++) {
        struct work before = work_now();
        TRY(solve_levels(&s, GMG, &o));
        struct work after = work_now(), taken = {after.own - before.own, after.system - before.system};
        if (taken.own + taken.system < least.own + least.system) least = taken;
    }
    table_cell(table, "%d^2", n);
    table_cell(table, "%lld", (long long)s.solver->system.n_free);
    trial_put_count(table, o.iterations);
    table_cell(table, "%.3f", micro * (o.setup + o.solve));
    table_cell(table, "%.3f", micro * least.own);
    table_cell(table, "%.3f", micro * least.system);
    table_cell(table, "%.3f", micro * least.own / o.iterations);
done:
    trial_destroy(&s);
    return status;
}

facet_status bench_gmg_flat(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"quads",          "unknowns",      "iterations",  "us by the clock",
                                          "us of our code", "of the system", "an iteration"};
    TRY(table_create(7, headers, &table));
    for (int n = 128; n <= (options->quick ? 256 : 1024); n *= 2) TRY(flat_one(options, n, table));
    TRY(bench_emit(
        options, "gmg-flat",
        "Geometric multigrid on squares, p = 4, to 1e-10: microseconds of set-up and solve an unknown, "
        "by the clock and of the processors (the least of three rounds), our own code and the system, "
        "which hands out and clears pages.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_gmg(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"cells",
                                          "p",
                                          "unknowns",
                                          "preconditioner",
                                          "iterations",
                                          "condense s",
                                          "setup s",
                                          "solve s",
                                          "us/unknown",
                                          "faster than amg",
                                          "with condensation",
                                          "MB held",
                                          "MB peak",
                                          "less than amg"};
    static const int degrees[4] = {1, 2, 4, 6};
    TRY(table_create(14, headers, &table));
    for (int n = 128; n <= (options->quick ? 128 : 1024); n *= 2)
        TRY(compare(options, "quad", n, 4, n == 512 || options->quick, table));
    TRY(bench_emit(options, "gmg-large",
                   "Conjugate gradients to 1e-10 on squares, p = 4: geometric multigrid, p-multigrid, and "
                   "algebraic multigrid on the assembled matrix, assembly included. Microseconds: set-up and "
                   "solve; the second 'faster' counts the element matrices, which all need. Memory: beyond "
                   "the element matrices.",
                   table));
    table_destroy(&table);
    TRY(table_create(14, headers, &table));
    for (int i = 0; i < 4; i++) {
        int k = degrees[i], few = options->quick;
        TRY(compare(options, "quad", few ? 32 : 256, k, 1, table));
        TRY(compare(options, "triangle", few ? 32 : 256, k, 1, table));
        if (k <= 4) TRY(compare(options, "hex", few ? 4 : 16, k, 1, table));
        if (k <= 4) TRY(compare(options, "tet", few ? 4 : 16, k, 1, table));
    }
    TRY(bench_emit(options, "gmg-shapes", "The same on all shapes.", table));
done:
    table_destroy(&table);
    return status;
}
