/* cui2024 on the GPU: whole solves of the sizes of Table 7, and the same where k jumps from cell to cell; its
 * kernels are measured in cui2024_kernels.c. Runs on the device it is given, so that `--device cpu` shows the
 * same on the host. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/cui2024.h"
#include "boxsem/halved_boxes.h"

/* The loads of f = 3 pi^2 prod sin(pi x_d) are products of 1D loads, and so are the values of the solution at
 * the nodes. */
struct product {
    double *load, *exact, *weight; /* n_nodes each */
};

static facet_status make_product(const struct boxsem *c, struct product *p) {
    facet_status status = FACET_OK;
    int k = c->degree, n = c->n_nodes[0], cells = c->grid.cells[0];
    const double h = 1.0 / cells;
    TRY(CALLOC(p->load, n));
    TRY(ALLOC(p->exact, n));
    TRY(CALLOC(p->weight, n));
    for (int cell = 0; cell < cells; cell++) {
        /* sin(pi x) interpolated at the nodes of the cell, times the mass matrix: beyond degree 3 rounding */
        for (int i = 0; i <= k; i++)
            for (int j = 0; j <= k; j++) {
                double m = h * c->element.mass[i * (k + 1) + j];
                p->load[cell * k + i] += m * sin(M_PI * h * (cell + c->element.nodes[j]));
                p->weight[cell * k + i] += m;
            }
    }
    for (int cell = 0; cell < cells; cell++)
        for (int i = 0; i <= k; i++) p->exact[cell * k + i] = sin(M_PI * h * (cell + c->element.nodes[i]));
    p->exact[n - 1] = 0.0;
done:
    return status;
}

/* One line of the table: how, in which precision, with which k. */
struct way {
    const char *name;
    enum boxsem_solver solver;
    int single;
    double contrast; /* k of the cells between 1 and this */
    int inner;       /* steps inside a patch */
};

static facet_status create(const struct device *device, int degree, int cells, const struct way *way,
                           struct boxsem **c) {
    facet_status status = FACET_OK;
    struct box_grid_data data = {.dim = 3, .cells = {cells, cells, cells}};
    struct boxsem_options how;
    double *x = NULL, *k = NULL;
    int64_t n_cells = (int64_t)cells * cells * cells;
    TRY(ALLOC(x, cells + 1));
    for (int i = 0; i <= cells; i++) x[i] = (double)i / cells;
    for (int d = 0; d < 3; d++) data.coordinates[d] = x;
    if (way->contrast > 1.0) {
        TRY(ALLOC(k, n_cells));
        for (int64_t i = 0; i < n_cells; i++)
            k[i] = pow(way->contrast, fmod(0.6180339887498949 * (double)(i + 1), 1.0));
        data.conductivity = k;
    }
    boxsem_options_default(&how);
    how.solver = way->solver;
    how.single = way->single;
    how.inner = way->inner;
    TRY(boxsem_create(device, &data, degree, &how, c));
done:
    base_free(&x);
    base_free(&k);
    return status;
}

static void fill_load(const struct boxsem *c, const struct product *p, double *values) {
    const int64_t n = c->n_nodes[0];
#pragma omp parallel for
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t i = 0; i < n; i++) {
                int inside = z > 0 && z < n - 1 && y > 0 && y < n - 1 && i > 0 && i < n - 1;
                values[(z * n + y) * n + i] =
                    inside ? 3.0 * M_PI * M_PI * p->load[z] * p->load[y] * p->load[i] : 0.0;
            }
}

/* By the weights of the nodes: a quadrature rule of the order of the mass matrix. */
static double error_of(const struct boxsem *c, const struct product *p, const double *values) {
    const int64_t n = c->n_nodes[0];
    double square = 0.0;
#pragma omp parallel for reduction(+ : square)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t i = 0; i < n; i++) {
                double e = values[(z * n + y) * n + i] - p->exact[z] * p->exact[y] * p->exact[i];
                square += p->weight[z] * p->weight[y] * p->weight[i] * e * e;
            }
    return sqrt(square);
}

/* One solve of the size asked for: set-up, the copy of the loads, the solve (the best of two). */
static facet_status solve(const struct device *device, int degree, int cells, const struct way *way,
                          struct table *table) {
    facet_status status = FACET_OK;
    struct boxsem *c = NULL;
    struct product p = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = 1e-9, .max_iterations = 100};
    double *values = NULL, best = INFINITY, error = -1.0, setup = base_seconds(), upload;
    TRY(create(device, degree, cells, way, &c));
    setup = base_seconds() - setup;
    TRY(make_product(c, &p));
    TRY(ALLOC(values, c->n_all));
    fill_load(c, &p, values);
    upload = base_seconds();
    TRY(vector_upload(&c->b, values));
    TRY(device_check(device));
    upload = base_seconds() - upload;
    struct device_copies before = device_copies(device), after;
    for (int i = 0; i < 2; i++) {
        vector_fill(&c->u, 0.0);
        TRY(device_check(device)); /* waits */
        double begin = base_seconds();
        TRY(boxsem_solve(c, &control, &report));
        best = fmin(best, base_seconds() - begin);
    }
    after = device_copies(device);
    if (way->contrast <= 1.0) {
        TRY(vector_download(&c->u, values));
        error = error_of(c, &p, values);
    }
    table_cell(table, "%d", degree);
    table_cell(table, "%d^3", cells);
    table_cell(table, "%.1f M", 1e-6 * (double)c->n_free);
    table_cell(table, "%s", way->name);
    table_cell(table, error >= 0.0 ? "%.2e" : "-", error);
    table_cell(table, "%d", way->solver == BOXSEM_MULTIGRID ? report.iterations - 1 : report.iterations);
    table_cell(table, "%.2f", setup);
    table_cell(table, "%.2f", upload);
    table_cell(table, "%.3f", best);
    table_cell(table, "%.2f", 1e-9 * (double)c->n_free / best);
    table_cell(table, "%.3g", 0.5e-6 * (after.bytes - before.bytes));
done:
    base_free(&values);
    base_free(&p.load);
    base_free(&p.exact);
    base_free(&p.weight);
    solve_report_clear(&report);
    boxsem_destroy(&c);
    return status;
}

static facet_status solves(const struct bench_options *options, const struct device *device) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "k",       "cells",   "unknowns", "how",       "error at nodes", "iterations", "setup s",
        "loads s", "solve s", "GDoF/s",   "copied MB", "paper, A100 s",  "asked s"};
    static const struct way ways[] = {{"double", BOXSEM_MULTIGRID, 0, 1.0, 0},
                                      {"mixed", BOXSEM_MULTIGRID, 1, 1.0, 0},
                                      {"direct", BOXSEM_DIRECT, 0, 1.0, 0},
                                      {"mixed, k jumps by 100, CG", BOXSEM_CG, 1, 100.0, 0},
                                      {"the same, 4 inner steps", BOXSEM_CG, 1, 100.0, 4}};
    static const struct {
        int degree, cells, jumps; /* cells where k jumps */
        const char *printed[2];   /* cui2024, Table 7: double, mixed */
        const char *asked[2];
    } sizes[] = {{1, 512, 128, {"3.391", "2.385"}, {"-", "0.12"}},
                 {3, 256, 128, {"3.941", "2.418"}, {"-", "0.30"}},
                 {7, 128, 64, {"5.891", "3.326"}, {"0.9", "0.45"}}};
    TRY(table_create(13, headers, &table));
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < 5; w++) {
            int cells = options->quick ? 8 : w >= 3 ? sizes[i].jumps : sizes[i].cells;
            TRY(solve(device, sizes[i].degree, cells, &ways[w], table));
            table_cell(table, "%s", w < 2 && !options->quick ? sizes[i].printed[w] : "-");
            table_cell(table, "%s", w < 2 && !options->quick ? sizes[i].asked[w] : "-");
            TRY(base_check_interrupt());
        }
    TRY(bench_emit(
        options, "cui2024-gpu-solves",
        "Solves to 1e-9 of the sizes of cui2024, Table 7 (its seconds on an A100 beside them): "
        "full multigrid with vertex patches, u = product of sin(pi x); direct: fast diagonalization. "
        "Iterations are those after the full start. Jumps: conjugate gradients on fewer cells. Loads: the "
        "copy of the right-hand side to the device; copied: between host "
        "and device during a solve.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_cui2024_gpu(const struct bench_options *options) {
    facet_status status = FACET_OK;
    const struct device *device;
    TRY(device_find(options->device, &device));
    TRY(cui2024_kernels(options, device));
    TRY(solves(options, device));
done:
    return status;
}
