/* p-multigrid on the trace: iterations under refinement, the coarse spaces and smoothers its choices were
 * made from, and two large solids against algebraic multigrid on the assembled matrix. docs/pmg.md discusses
 * the tables. The right-hand side is noise, which no coarse space favours. */
#include "trace/pmg.h"

#include <stdio.h>

#include "bench/trial.h"

static facet_status solve_pmg(struct trial *s, const struct pmg_options *options, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct multigrid *mg = NULL;
    struct base_memory before;
    base_memory_reset_peak();
    base_memory_read(&before);
    double begin = base_seconds();
    TRY(trace_pmg_create(&v->hdg->trace, &v->hdg->matrices, &v->A, options, &mg));
    TRY(trial_solve(s, &mg, begin, &before, o));
done:
    multigrid_destroy(&mg);
    return status;
}

/* ------------------------------------------------------------------------------ refinement */

static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};

/* A row of iterations over four refinements (three of solids with --quick). */
static facet_status refine(const struct bench_options *bench, const char *shape, int degree, double stretch,
                           double displacement, struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    int solid = trial_dimension(shape) == 3, first = 0, last = 0;
    int n_meshes = bench->quick ? (solid ? 3 : 4) : (solid ? 4 : 5);
    table_cell(table, "%s", shape);
    table_cell(table, "%s", displacement > 0.0 ? "distorted" : stretch > 1.0 ? "10:1" : "uniform");
    table_cell(table, "%d", degree);
    for (int i = 0; i < 5; i++) {
        struct trial_domain d = {shape, (solid ? 2 : 8) << i, stretch, displacement, NULL};
        struct pmg_options options;
        struct trial_outcome o = {0};
        if (i >= n_meshes) {
            table_cell(table, " ");
            continue;
        }
        pmg_options_default(&options);
        TRY(trial_create(bench, &d, degree, &s));
        TRY(solve_pmg(&s, &options, &o));
        trial_put_count(table, o.iterations);
        if (i == 0) first = o.iterations;
        last = o.iterations;
        trial_destroy(&s);
    }
    table_cell(table, "%+d", last - first);
done:
    trial_destroy(&s);
    return status;
}

static facet_status refinement(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape",  "cells",   "k",   "n = 8 (2)", "16 (4)",
                                          "32 (8)", "64 (16)", "128", "growth"};
    int largest = bench->quick ? 3 : 6;
    TRY(table_create(9, headers, &table));
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < 4; i++) {
            for (int k = 1; k <= largest; k++)
                TRY(refine(bench, shapes[i], k, kind == 1 ? 10.0 : 1.0, kind == 2 ? 0.15 : 0.0, table));
            table_rule(table);
        }
    TRY(bench_emit(bench, "pmg-refinement",
                   "Conjugate gradients with p-multigrid to 1e-10: iterations on n x n (solids: n x n x n) "
                   "bricks; uniform, stretched 10:1, and with displaced vertices.",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ coarse spaces */

struct variant {
    const char *name;
    struct pmg_options options;
};

static int list_variants(struct variant *v) {
    int n = 0;
#define VARIANT(text, ...)                                                                                   \
    v[n++] = (struct variant) {                                                                              \
        text, {                                                                                              \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
    VARIANT("auto", .between = -1);
    VARIANT("k=0, faces 2", .coarse = PMG_CONSTANT, .smoother = PMG_FACES, .degree = 2);
    VARIANT("k=0, faces 4", .coarse = PMG_CONSTANT, .smoother = PMG_FACES, .degree = 4);
    VARIANT("linear, faces 2", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 2);
    VARIANT("linear, faces 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 4);
    VARIANT("k=1, linear, faces 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 4,
            .between = 1);
    VARIANT("k=1, linear, faces 8", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 8,
            .between = 1);
    VARIANT("linear, cells 2", .coarse = PMG_CONTINUOUS, .smoother = PMG_CELLS, .degree = 2);
    VARIANT("linear, cells 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_CELLS, .degree = 4);
    VARIANT("rows, faces 2", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 2);
    VARIANT("rows, faces 3", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 3);
    VARIANT("rows, faces 4", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 4);
#undef VARIANT
    return n;
}

static facet_status compare(const struct bench_options *bench, const struct trial_domain *d, int degree,
                            struct table *table) {
    facet_status status = FACET_OK;
    struct variant list[16];
    struct trial s = {0};
    int n = list_variants(list);
    TRY(trial_create(bench, d, degree, &s));
    for (int i = 0; i < n; i++) {
        struct trial_outcome o = {0};
        int rows = list[i].options.coarse == PMG_ROWS;
        if (rows && shape_is_simplex(s.mesh->blocks[0].shape)) continue;
        TRY(solve_pmg(&s, &list[i].options, &o));
        table_cell(table, "%s", d->shape);
        table_cell(table, "%s", d->displacement > 0.0 ? "distorted" : d->stretch > 1.0 ? "10:1" : "uniform");
        table_cell(table, "%d", degree);
        table_cell(table, "%s", list[i].name);
        trial_put_count(table, o.iterations);
        table_cell(table, "%.3f", o.setup);
        table_cell(table, "%.3f", o.solve);
        table_cell(table, "%.1f", o.held / 1e6);
    }
done:
    trial_destroy(&s);
    return status;
}

static facet_status coarse_spaces(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape",      "cells",   "k",       "coarse space, smoother",
                                          "iterations", "setup s", "solve s", "MB"};
    int degrees[] = {1, 3, 6}, n_degrees = bench->quick ? 2 : 3;
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int k = 0; k < n_degrees; k++) {
                int solid = i >= 2, n = solid ? (bench->quick ? 6 : degrees[k] == 6 ? 8 : 12) : 64;
                struct trial_domain d = {shapes[i], n, kind == 1 ? 10.0 : 1.0, kind == 2 ? 0.15 : 0.0, NULL};
                TRY(compare(bench, &d, degrees[k], table));
                table_rule(table);
            }
    TRY(bench_emit(
        bench, "pmg-coarse",
        "Coarse spaces and smoothers of p-multigrid: iterations to 1e-10, seconds, and memory beyond "
        "the element matrices.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ jumps of K */

static const char *const patterns[] = {"constant", "4^d pieces, 1e4", "cells, 1e6", "without pattern, 1e8"};

/* K of a pattern on n^d bricks: 1, or 1 and the jump in turns or without pattern. */
static void write_pattern(int pattern, int solid, int n, size_t size, char *K) {
    const char *z = solid ? "z" : "0";
    if (pattern == 0)
        snprintf(K, size, "1");
    else if (pattern == 3)
        snprintf(K, size,
                 "if(mod(43758.5*sin(127.1*floor(%d*x)+311.7*floor(%d*y)+74.7*floor(%d*%s)),1)<0.5,1,1e8)", n,
                 n, n, z);
    else
        snprintf(K, size, "if(mod(floor(%d*x)+floor(%d*y)+floor(%d*%s),2)<0.5,1,%s)", pattern == 1 ? 4 : n,
                 pattern == 1 ? 4 : n, pattern == 1 ? 4 : n, z, pattern == 1 ? "1e4" : "1e6");
}

/* A row over three refinements. */
static facet_status jump_row(const struct bench_options *bench, const char *shape, int degree, int pattern,
                             struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    int solid = trial_dimension(shape) == 3, vertices = 0;
    double seconds = 0.0;
    table_cell(table, "%s", shape);
    table_cell(table, "%d", degree);
    table_cell(table, "%s", patterns[pattern]);
    for (int i = 0; i < 3; i++) {
        char K[160];
        int n = (solid ? 4 : 16) * (solid && i == 2 ? 3 : 1 << i);
        struct trial_domain d = {shape, n, 1.0, 0.0, K};
        struct pmg_options options;
        struct trial_outcome o = {0};
        if (bench->quick && i == 2) {
            table_cell(table, " ");
            continue;
        }
        write_pattern(pattern, solid, n, sizeof K, K);
        pmg_options_default(&options);
        TRY(trial_create(bench, &d, degree, &s));
        TRY(solve_pmg(&s, &options, &o));
        trial_put_count(table, o.iterations);
        seconds = o.setup + o.solve;
        if (i == 1) {
            struct trial_outcome with = {0};
            options.coarse = PMG_CONTINUOUS;
            TRY(solve_pmg(&s, &options, &with));
            vertices = with.iterations;
        }
        trial_destroy(&s);
    }
    table_cell(table, "%.3f", seconds);
    trial_put_count(table, vertices);
done:
    trial_destroy(&s);
    return status;
}

facet_status bench_pmg_jumps(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape",  "k",       "K", "n = 16 (4)",
                                          "32 (8)", "64 (12)", "s", "32 (8) with vertices"};
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < 4; i++) {
        for (int k = 1; k <= (options->quick ? 2 : i < 2 ? 6 : 3); k++)
            for (int pattern = 0; pattern < 4; pattern++)
                TRY(jump_row(options, shapes[i], k, pattern, table));
        table_rule(table);
    }
    TRY(bench_emit(
        options, "pmg-jumps",
        "Conjugate gradients with p-multigrid to 1e-10 where K jumps from cell to cell: iterations on n x n "
        "(solids: n x n x n) bricks, seconds of set-up and solve on the finest, and iterations with "
        "continuous functions below whatever K does.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ large solids */

static void put_large(struct table *table, const char *what, const struct trial_outcome *o,
                      const struct trial_outcome *amg) {
    table_cell(table, "%s", what);
    trial_put_count(table, o->iterations);
    table_cell(table, "%.2f", o->setup);
    table_cell(table, "%.2f", o->solve);
    table_cell(table, "%.2f", (amg->setup + amg->solve) / (o->setup + o->solve));
    table_cell(table, "%.0f", o->held / 1e6);
    table_cell(table, "%.0f", o->peak / 1e6);
    table_cell(table, "%.2f", amg->held / o->held);
    table_cell(table, "%.2f", amg->peak / o->peak);
}

static facet_status large_one(const struct bench_options *bench, const char *shape, int n,
                              struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct trial_domain d = {shape, n, 1.0, 0.0, NULL};
    struct pmg_options options;
    struct trial_outcome amg = {0}, pmg = {0}, mixed = {0};
    pmg_options_default(&options);
    options.precision = PMG_DOUBLE;
    TRY(trial_create(bench, &d, 3, &s));
    TRY(solve_pmg(&s, &options, &pmg));
    options.precision = PMG_MIXED;
    TRY(solve_pmg(&s, &options, &mixed));
    TRY(trial_solve_amg(&s, &amg));
    for (int i = 0; i < 3; i++) {
        table_cell(table, "%s %d^3", shape, n);
        table_cell(table, "%lld", (long long)s.solver->system.n_free);
        put_large(table,
                  i == 0   ? "amg, assembled"
                  : i == 1 ? "pmg"
                           : "pmg, mixed",
                  i == 0   ? &amg
                  : i == 1 ? &pmg
                           : &mixed,
                  &amg);
    }
    table_rule(table);
done:
    trial_destroy(&s);
    return status;
}

facet_status bench_pmg_large(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"solid",   "unknowns",  "preconditioner", "iterations",
                                          "setup s", "solve s",   "faster",         "MB held",
                                          "MB peak", "less held", "less peak"};
    TRY(table_create(11, headers, &table));
    TRY(large_one(options, "hex", options->quick ? 12 : 32, table));
    TRY(large_one(options, "tet", options->quick ? 8 : 24, table));
    TRY(bench_emit(
        options, "pmg-large",
        "Conjugate gradients to 1e-10 at k = 3: p-multigrid, in double and mixed precision, against "
        "algebraic multigrid on the assembled matrix, assembly included. Memory: what the solve takes "
        "beyond the element matrices, during the iteration and at most.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_pmg(const struct bench_options *options) {
    facet_status status = refinement(options);
    return status != FACET_OK ? status : coarse_spaces(options);
}
