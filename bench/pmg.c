/* p-multigrid on the trace: iterations under refinement, the coarse spaces and smoothers its choices were
 * made from, and two large solids against algebraic multigrid on the assembled matrix. docs/pmg.md discusses
 * the tables. The right-hand side is noise, which no coarse space favours. */
#include "trace/pmg.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/face_patches.h"
#include "bench/trial.h"

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
        struct trial_domain d = {shape, (solid ? 2 : 8) << i, stretch, displacement, NULL, NULL};
        struct pmg_options options;
        struct trial_outcome o = {0};
        if (i >= n_meshes) {
            table_cell(table, " ");
            continue;
        }
        pmg_options_default(&options);
        TRY(trial_create(bench, &d, degree, &s));
        TRY(trial_solve_pmg(&s, &options, &o));
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
    VARIANT("k=0, faces 2", .coarse = PMG_CONSTANT, .degree = 2);
    VARIANT("k=0, faces 4", .coarse = PMG_CONSTANT, .degree = 4);
    VARIANT("linear, faces 2", .coarse = PMG_CONTINUOUS, .degree = 2);
    VARIANT("linear, faces 4", .coarse = PMG_CONTINUOUS, .degree = 4);
    VARIANT("k=1, linear, faces 4", .coarse = PMG_CONTINUOUS, .degree = 4, .between = 1);
    VARIANT("k=1, linear, faces 8", .coarse = PMG_CONTINUOUS, .degree = 8, .between = 1);
    static struct face_patch_smoother cells[] = {{TRACE_PATCH_CELL, 0, 2}, {TRACE_PATCH_CELL, 0, 4}};
    VARIANT("linear, cells 2", .coarse = PMG_CONTINUOUS, .smoother = face_patch_smoother(&cells[0]));
    VARIANT("linear, cells 4", .coarse = PMG_CONTINUOUS, .smoother = face_patch_smoother(&cells[1]));
    VARIANT("rows, faces 2", .coarse = PMG_ROWS, .degree = 2);
    VARIANT("rows, faces 3", .coarse = PMG_ROWS, .degree = 3);
    VARIANT("rows, faces 4", .coarse = PMG_ROWS, .degree = 4);
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
        TRY(trial_solve_pmg(&s, &list[i].options, &o));
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
                struct trial_domain d = {shapes[i], n,   kind == 1 ? 10.0 : 1.0, kind == 2 ? 0.15 : 0.0,
                                         NULL,      NULL};
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

static const char *const patterns[] = {"constant", "4^d pieces", "bricks by turns", "cells without pattern"};
static const double contrasts[] = {1e2, 1e4, 1e6, 1e8};
#define N_MESHES    3
#define N_CONTRASTS 4

/* K of a cell of the pattern on n^d bricks: 1 or c. */
static double pattern_value(int pattern, int n, int dim, const double *middle, int32_t cell, double c) {
    int pieces = pattern == 1 ? 4 : n, sum = 0;
    if (pattern == 3) return trial_scatter((uint64_t)cell) < 0.0 ? 1.0 : c;
    for (int a = 0; a < dim; a++) sum += (int)(pieces * middle[a]);
    return pattern == 0 || sum % 2 == 0 ? 1.0 : c;
}

/* With every pattern and contrast on one mesh; the element matrices, made once, carry K as a factor. */
static facet_status solve_jumps(const struct bench_options *bench, const struct trial_domain *d, int degree,
                                int counts[][N_CONTRASTS]) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    double *K = NULL, *middles = NULL;
    TRY(trial_create(bench, d, degree, &s));
    const int dim = s.mesh->dim;
    TRY(ALLOC(K, s.mesh->n_cells));
    TRY(trial_middles(&s, &middles));
    for (int pattern = 0; pattern < 4; pattern++)
        for (int i = 0; i < (pattern == 0 ? 1 : N_CONTRASTS); i++) {
            struct pmg_options options;
            struct trial_outcome o = {0};
            for (int32_t c = 0; c < s.mesh->n_cells; c++)
                K[c] = pattern_value(pattern, d->n, dim, middles + (int64_t)c * dim, c, contrasts[i]);
            TRY(trial_scale(&s, K, 0));
            pmg_options_default(&options);
            TRY(trial_solve_pmg(&s, &options, &o));
            TRY(trial_scale(&s, K, 1));
            counts[pattern][i] = o.iterations;
        }
done:
    base_free(&K);
    base_free(&middles);
    trial_destroy(&s);
    return status;
}

/* "12 13 14" for every contrast, the largest number and the growth. */
static void put_jumps(int counts[][4][N_CONTRASTS], int pattern, int n_meshes, struct table *table) {
    int most = 0, growth = 0;
    for (int i = 0; i < N_CONTRASTS; i++) {
        char text[64] = "";
        for (int m = 0, at = 0; m < n_meshes && (pattern > 0 || i == 0); m++) {
            int count = counts[m][pattern][i];
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s%d", m > 0 ? " " : "",
                           count < 0 ? "> " : "", count < 0 ? -count : count);
            if (abs(count) > most) most = abs(count);
            if (abs(count) - abs(counts[0][pattern][i]) > growth)
                growth = abs(count) - abs(counts[0][pattern][i]);
        }
        table_cell(table, "%s", text);
    }
    table_cell(table, "%d", most);
    table_cell(table, "%+d", growth);
}

/* The meshes of a shape, each with twice the bricks a side: what is affordable. */
static int first_bricks(int solid, int degree) {
    return !solid ? 16 : degree <= 2 ? 4 : degree == 3 ? 3 : 2;
}

facet_status bench_pmg_jumps(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape", "cells", "k",   "bricks a side", "K",     "1e2",
                                          "1e4",   "1e6",   "1e8", "most",          "growth"};
    const int n_meshes = options->quick ? 2 : N_MESHES;
    TRY(table_create(11, headers, &table));
    for (int i = 0; i < 8; i++) {
        const char *shape = shapes[i / 2];
        const int displaced = i % 2, solid = trial_dimension(shape) == 3;
        for (int k = 1; k <= (options->quick ? 2 : 6); k++) {
            int counts[N_MESHES][4][N_CONTRASTS], n = first_bricks(solid, k);
            for (int m = 0; m < n_meshes; m++) {
                struct trial_domain d = {shape, n << m, 1.0, displaced ? 0.15 : 0.0, NULL, NULL};
                TRY(solve_jumps(options, &d, k, counts[m]));
            }
            for (int pattern = 0; pattern < 4; pattern++) {
                table_cell(table, "%s", shape);
                table_cell(table, "%s", displaced ? "displaced" : "uniform");
                table_cell(table, "%d", k);
                table_cell(table, "%d to %d", n, n << (n_meshes - 1));
                table_cell(table, "%s", patterns[pattern]);
                put_jumps(counts, pattern, n_meshes, table);
            }
        }
        table_rule(table);
    }
    TRY(bench_emit(options, "pmg-jumps",
                   "Conjugate gradients with p-multigrid to 1e-10 where K is 1 or c from cell to cell: "
                   "iterations for every c on meshes with twice the bricks a side each, the largest number "
                   "and the growth. Displaced: inner vertices are moved by up to 15 % of a brick.",
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
    struct trial_domain d = {shape, n, 1.0, 0.0, NULL, NULL};
    struct pmg_options options;
    struct trial_outcome amg = {0}, pmg = {0}, mixed = {0};
    pmg_options_default(&options);
    options.precision = PMG_DOUBLE;
    TRY(trial_create(bench, &d, 3, &s));
    TRY(trial_solve_pmg(&s, &options, &pmg));
    options.precision = PMG_MIXED;
    TRY(trial_solve_pmg(&s, &options, &mixed));
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
