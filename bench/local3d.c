/* Solids: local solvers against DGEMM, recovery and post-processing per cell, and the trace products against
 * the STREAM triad, on tets and hexes by degree. */
#include <math.h>
#include <stdio.h>

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/subject.h"
#include "poly/basis.h"

#define PASSES 5
#define CACHES 8 /* what is stored of all cells takes this many times the last-level cache */

struct row {
    int degree, N, n, cells;
    double n_cells, operations, dgemm; /* operations: of the local solvers of all cells */
    double seconds[STAGE_POSTPROCESS + 1];
    struct products products;
};

static const struct {
    const struct subject_shape *shape;
    int max_degree;
} lists[2] = {{&subject_tets, 6}, {&subject_hexes, 5}};

/* N^3/3 for the factor of S, N^2 n each for R^-T R and U, N n^2 for K, half of it being symmetric. */
static double operations(double N, double n) {
    return N * N * N / 3.0 + 2.0 * N * N * n + N * n * n;
}

static facet_status time_stages(struct subject *s, int passes, struct row *row) {
    facet_status status = FACET_OK;
    static const enum stage stages[] = {STAGE_CONDENSE, STAGE_AGAIN, STAGE_LOAD, STAGE_RECOVER,
                                        STAGE_POSTPROCESS};
    for (int k = 0; k < 5; k++) row->seconds[stages[k]] = INFINITY;
    for (int pass = 0; pass < passes; pass++) {
        TRY(ceiling_dgemm(&row->dgemm));
        for (int k = 0; k < 5; k++) {
            double seconds;
            if (stages[k] == STAGE_CONDENSE && pass > 1) continue;
            TRY(subject_run(s, stages[k], &seconds));
            row->seconds[stages[k]] = fmin(row->seconds[stages[k]], seconds);
        }
    }
done:
    return status;
}

static facet_status measure(const struct bench_options *options, const struct subject_shape *shape,
                            struct row *row, struct triad *triad) {
    facet_status status = FACET_OK;
    struct subject s = {0};
    const struct device *device;
    double cache = (double)ceiling_cache_bytes(), N = basis_size(shape->shape, row->degree);
    double n = shape_n_faces(shape->shape) * basis_size(shape_face_shape(shape->shape, 0), row->degree);
    row->N = (int)N;
    row->n = (int)n;
    row->cells =
        subject_cells(shape, 4.0 * (N * N + n * n) + 8.0 * N * n, (options->quick ? 1.0 : CACHES) * cache);
    TRY(subject_create(options, shape, row->cells, row->degree, &s));
    row->n_cells = mapped_of(s.solver)->hdg->data.mesh->n_cells;
    row->operations = row->n_cells * operations(N, n);
    TRY(time_stages(&s, options->quick ? 2 : PASSES, row));
    subject_destroy(&s);
    TRY(device_find(options->device, &device));
    row->products = (struct products){.degree = row->degree,
                                      .cells = subject_matrix_cells(shape, row->degree, 4.0 * cache)};
    TRY(products_measure(device, shape, 2, triad, &row->products));
done:
    subject_destroy(&s);
    return status;
}

static void add_row(struct table *table, const struct subject_shape *shape, const struct row *row) {
    char cells[32];
    const double *t = row->seconds, micro = 1e6 / row->n_cells;
    const struct products *p = &row->products;
    subject_cells_text(shape, row->cells, cells, sizeof cells);
    table_cell(table, "%s", shape->name);
    table_cell(table, "%d", row->degree);
    table_cell(table, "%s", cells);
    table_cell(table, "%d", row->N);
    table_cell(table, "%d", row->n);
    table_cell(table, "%.1f", 1e-9 * row->dgemm);
    table_cell(table, "%.2f", micro * t[STAGE_AGAIN]);
    table_cell(table, "%.1f", 1e-9 * row->operations / t[STAGE_AGAIN]);
    table_cell(table, "%.0f %%", 100.0 * row->operations / t[STAGE_AGAIN] / row->dgemm);
    table_cell(table, "%.0f %%", 100.0 * row->operations / t[STAGE_CONDENSE] / row->dgemm);
    table_cell(table, "%.2f", micro * t[STAGE_LOAD]);
    table_cell(table, "%.2f", micro * t[STAGE_RECOVER]);
    table_cell(table, "%.2f", micro * t[STAGE_POSTPROCESS]);
    for (int f = 0; f < 2; f++) table_cell(table, "%.0f %%", 100.0 * p->bytes[f] / p->seconds[f] / p->triad);
}

facet_status bench_local3d(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct triad triad = {0};
    static const char *const headers[] = {
        "shape",    "P",     "cells",    "N",           "n",     "DGEMM",          "us/cell", "GFLOP/s",
        "of DGEMM", "first", "loads us", "recovery us", "u* us", "product, cells", "facets"};
    TRY(table_create(15, headers, &table));
    TRY(triad_create(&triad));
    for (int k = 0; k < 2; k++)
        for (int degree = 1; degree <= lists[k].max_degree; degree += options->quick ? 2 : 1) {
            struct row row = {.degree = degree};
            TRY(measure(options, lists[k].shape, &row, &triad));
            add_row(table, lists[k].shape, &row);
        }
    TRY(bench_emit(
        options, "local-3d",
        "Solids: local solvers (N^3/3 + 2 N^2 n + N n^2 operations a cell) with memory in place, and "
        "on a first call, against DGEMM of the same run; loads, recovery and post-processing; the "
        "trace products in bytes they must move, of the STREAM triad.",
        table));
done:
    triad_destroy(&triad);
    table_destroy(&table);
    return status;
}
