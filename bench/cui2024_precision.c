/* cui2024, Table 7: cycles in double and in single precision inside a solve in double precision, beside the
 * direct solve by fast diagonalization; and the same with k that jumps at random from cell to cell, where the
 * direct solve does not apply. */
#include <stdio.h>

#include "base/memory.h"
#include "bench/cui2024.h"

static const char exact[] = "sin(pi*x)*sin(pi*y)*sin(pi*z)";

static struct cui2024_case cube(int degree, int cells, enum boxsem_solver solver, int single) {
    struct cui2024_case c = {.dim = 3, .cells = cells, .degree = degree, .contrast = 1.0, .exact = exact};
    boxsem_options_default(&c.options);
    c.options.solver = solver;
    c.options.single = single;
    return c;
}

static int cells_for(int degree, double most) {
    int cells = 8;
    while ((double)cui2024_size(3, 2 * cells, degree) <= most) cells *= 2;
    return cells;
}

static void put(struct table *table, const char *what, const struct cui2024_result *r, double base) {
    table_cell(table, "%s", what);
    table_cell(table, r->error >= 0.0 ? "%.2e" : "-", r->error);
    table_cell(table, "%d%s", r->iterations, r->converged ? "" : " (not converged)");
    table_cell(table, "%.3f", r->setup_seconds);
    table_cell(table, "%.3f", r->seconds);
    table_cell(table, "%.2f", base / r->seconds);
    table_cell(table, "%.3f", 1e6 * r->seconds * base_threads() / (double)r->n);
    table_cell(table, "%.1f", r->bytes / 8.0 / (double)r->n);
}

static facet_status constant(const struct bench_options *options, double most) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"k",          "cells",   "unknowns", "solver",        "L2 error",
                                          "iterations", "setup s", "solve s",  "double / this", "us core/DoF",
                                          "words/DoF"};
    static const int degrees[] = {1, 3, 7};
    static const struct {
        const char *name;
        enum boxsem_solver solver;
        int single;
    } ways[] = {{"full multigrid, double", BOXSEM_MULTIGRID, 0},
                {"full multigrid, mixed", BOXSEM_MULTIGRID, 1},
                {"FGMRES, double", BOXSEM_FGMRES, 0},
                {"FGMRES, mixed", BOXSEM_FGMRES, 1},
                {"fast diagonalization", BOXSEM_DIRECT, 0}};
    TRY(table_create(11, headers, &table));
    for (int i = 0; i < 3; i++) {
        int cells = cells_for(degrees[i], most);
        double base = 0.0, first = 0.0;
        for (int way = 0; way < 5; way++) {
            struct cui2024_case c = cube(degrees[i], cells, ways[way].solver, ways[way].single);
            struct cui2024_result r;
            TRY(cui2024_run(options, &c, 3, &r));
            if (way % 2 == 0 && way < 4) base = r.seconds;
            if (way == 0) first = r.seconds;
            if (way == 4) base = first; /* the direct solve against full multigrid */
            table_cell(table, "%d", degrees[i]);
            table_cell(table, "%d^3", cells);
            table_cell(table, "%.0f", (double)r.n);
            put(table, ways[way].name, &r, base);
            TRY(base_check_interrupt());
        }
        table_rule(table);
    }
    TRY(bench_emit(
        options, "cui2024-table7",
        "cui2024, Table 7: double and mixed precision, u = product of sin(pi x), to 1e-9. Printed "
        "(A100, 135, 454 and 721 million unknowns): speedups 1.42, 1.59, 1.77 with 5, 3, 2 iterations. "
        "Iterations of full multigrid are those after its start.",
        table));
done:
    table_destroy(&table);
    return status;
}

static facet_status jumps(const struct bench_options *options, double most) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"k",        "cells",   "unknowns", "coefficient",     "L2 error",
                                          "V-cycles", "setup s", "solve s",  "constant / this", "us core/DoF",
                                          "words/DoF"};
    static const int degrees[] = {1, 3, 7};
    TRY(table_create(11, headers, &table));
    for (int i = 0; i < 3; i++) {
        int cells = cells_for(degrees[i], most);
        double base = 0.0;
        for (int way = 0; way < 3; way++) {
            struct cui2024_case c = cube(degrees[i], cells, BOXSEM_CG, 1);
            struct cui2024_result r;
            c.exact = NULL;
            c.contrast = way == 0 ? 1.0 : 100.0;
            c.options.steps = way == 2 ? 2 : 1;
            TRY(cui2024_run(options, &c, 1, &r));
            if (way == 0) base = r.seconds;
            table_cell(table, "%d", degrees[i]);
            table_cell(table, "%d^3", cells);
            table_cell(table, "%.0f", (double)r.n);
            put(table, way == 0 ? "constant" : way == 1 ? "1 to 100" : "1 to 100, two steps", &r, base);
            TRY(base_check_interrupt());
        }
        table_rule(table);
    }
    TRY(bench_emit(options, "cui2024-jumps",
                   "Conductivity at random between 1 and 100 in every cell (evenly in its logarithm), f = 1: "
                   "conjugate gradients with V-cycles in single precision, to 1e-9.",
                   table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_cui2024_precision(const struct bench_options *options) {
    facet_status status = FACET_OK;
    TRY(constant(options, options->quick ? 4e4 : 2.5e6));
    TRY(jumps(options, options->quick ? 4e4 : 4e5));
done:
    return status;
}
