/* cui2024, Tables 1 to 3: V-cycles after the full multigrid start (Algorithm 2.2), f = 1, to a residual of
 * 1e-9 relative to b, one smoothing step before and after, ours beside the printed ones. */
#include <stdio.h>

#include "bench/cui2024.h"
#include "bench/papers/brick_points.h"

#define MOST       6000000 /* unknowns */
#define MOST_QUICK 120000
#define MOST_POINT 1200000

static const int printed_plane[10] = {9, 5, 3, 3, 3, 2, 2, 2, 2, 2};
static const int printed_solid[8] = {6, 5, 3, 3, 3, 3, 2, 2};
static const int printed_point[8] = {6, 8, 11, 13, 19, 20, 27, 30};
/* L = 11 and 12 in the plane differ from the others. */
static const int printed_plane_11[10] = {7, 5, 3, 3, 3, 2, 2, 2, 2, 2};

static facet_status count(const struct bench_options *options, int dim, int level, int degree,
                          enum boxsem_smoother smoother, struct cui2024_result *result) {
    struct cui2024_case c = {.dim = dim, .cells = 1 << level, .degree = degree, .contrast = 1.0};
    boxsem_options_default(&c.options);
    c.options.single = 0;
    c.options.solver = BOXSEM_MULTIGRID;
    c.options.smoother = smoother;
    c.options.other = brick_points_step;
    return cui2024_run(options, &c, 1, result);
}

/* Table 1 (dim 2) or 2 (dim 3): a row for each level, `ours (printed)` for each degree. */
static facet_status levels(const struct bench_options *options, int dim) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"L", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q10"};
    int n_degrees = dim == 2 ? 10 : 8, last = options->quick ? (dim == 2 ? 5 : 3) : (dim == 2 ? 11 : 7);
    int64_t most = options->quick ? MOST_QUICK : MOST;
    TRY(table_create(n_degrees + 1, headers, &table));
    for (int level = options->quick && dim == 3 ? 3 : 4; level <= last; level++) {
        table_cell(table, "%d", level);
        for (int k = 1; k <= n_degrees; k++) {
            struct cui2024_result r;
            int printed = dim == 3     ? printed_solid[k - 1]
                          : level < 11 ? printed_plane[k - 1]
                                       : printed_plane_11[k - 1];
            if (cui2024_size(dim, 1 << level, k) > most) {
                table_cell(table, "-");
                continue;
            }
            TRY(count(options, dim, level, k, BOXSEM_VERTEX, &r));
            table_cell(table, "%d%s (%d)", r.iterations, r.converged ? "" : "!", printed);
            TRY(base_check_interrupt());
        }
    }
    TRY(bench_emit(options, dim == 2 ? "cui2024-table1" : "cui2024-table2",
                   dim == 2 ? "cui2024, Table 1: V-cycles in two dimensions, ours (printed)."
                            : "cui2024, Table 2: V-cycles in three dimensions, ours (printed).",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* Table 3: point Gauss-Seidel beside vertex patches, on the largest cube that both are given. */
static facet_status smoothers(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"k",       "cells",   "unknowns",           "vertex patch",
                                          "printed", "seconds", "point Gauss-Seidel", "printed",
                                          "seconds"};
    int64_t most = options->quick ? MOST_QUICK : MOST_POINT;
    TRY(table_create(9, headers, &table));
    for (int k = 1; k <= (options->quick ? 4 : 8); k++) {
        struct cui2024_result patch, point;
        int level = 3;
        while (cui2024_size(3, 2 << level, k) <= most) level++;
        TRY(count(options, 3, level, k, BOXSEM_VERTEX, &patch));
        TRY(count(options, 3, level, k, BOXSEM_OTHER, &point));
        table_cell(table, "%d", k);
        table_cell(table, "%d^3", 1 << level);
        table_cell(table, "%.0f", (double)patch.n);
        table_cell(table, "%d", patch.iterations);
        table_cell(table, "%d", printed_solid[k - 1]);
        table_cell(table, "%.3f", patch.seconds);
        table_cell(table, "%d%s", point.iterations, point.converged ? "" : " (not converged)");
        table_cell(table, "%d", printed_point[k - 1]);
        table_cell(table, "%.3f", point.seconds);
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(
        options, "cui2024-table3",
        "cui2024, Table 3: V-cycles with vertex patches and with point Gauss-Seidel, three dimensions.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_cui2024_iterations(const struct bench_options *options) {
    facet_status status = FACET_OK;
    TRY(levels(options, 2));
    TRY(levels(options, 3));
    TRY(smoothers(options));
done:
    return status;
}
