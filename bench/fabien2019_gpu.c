/* fabien2019, Figures 6, 7 and 15, on the device it is given: the bandwidth and the operations of a product
 * with the trace matrix over degrees and meshes, the local solvers, and whole solves against one core and all
 * cores of the same machine. The gradient formulation, as in the paper, on cubes of five tets a brick: 320,
 * 2560, 20 480 and 163 840 of them. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/fabien2019.h"
#include "hdg/batch.h"
#include "hdg/device_cells.h"
#include "hdg/elastic.h"

#define REPEATS 5
#define INNER   4
#define LONG    0.05 /* seconds of a run that is not repeated so often */
#define TETS    5    /* of a brick */

/* What is measured, in memory of its own. */
struct bodies {
    struct fabien2019_run run;
    struct vector x, y;
    struct condenser condenser;
    double *coefficients, *K, *u, *uhat, *q, *scratch;
};
enum { COPY, PRODUCT, CONDENSE, SOLVE, N_WHATS };

static void bodies_destroy(struct bodies *b) {
    if (b->run.solver != NULL) {
        const struct device *device = mapped_of(b->run.solver)->hdg->device;
        double **arrays[] = {&b->coefficients, &b->K, &b->u, &b->uhat, &b->q, &b->scratch};
        for (int i = 0; i < 6; i++) device_free(device, arrays[i]);
    }
    vector_destroy(&b->x);
    vector_destroy(&b->y);
    fabien2019_destroy(&b->run);
}

static struct fabien2019_case case_of(const struct bench_options *options, int cells, int degree,
                                      const char *preconditioner) {
    return (struct fabien2019_case){.problem = &fabien2019_nearly,
                                    .lambda = 1.0,
                                    .cells = cells,
                                    .degree = degree,
                                    .split = "five",
                                    .tau = bench_tau(options),
                                    .method = "cg",
                                    .preconditioner = preconditioner,
                                    .rtol = 1e-7};
}

static facet_status bodies_create(const struct bench_options *options, int cells, int degree,
                                  struct bodies *b) {
    facet_status status = FACET_OK;
    const struct fabien2019_case c = case_of(options, cells, degree, "block");
    int N, n;
    *b = (struct bodies){0};
    TRY(fabien2019_create(options, &c, &b->run));
    const struct hdg *h = mapped_of(b->run.solver)->hdg;
    const int64_t count = h->matrices.n_batches[0];
    const size_t lanes = (size_t)(count * h->lanes);
    h->data.equation->condenser(h, 0, &b->condenser);
    hdg_local_sizes(h, 0, &N, &n);
    const size_t n_coefficients = lanes * (size_t)b->condenser.n_coefficients;
    TRY(device_duplicate(h->device, &b->coefficients, h->cells[0]->coefficients, n_coefficients,
                         sizeof(double)));
    TRY(device_alloc(h->device, &b->K, lanes * (size_t)(n * (n + 1) / 2), sizeof(double)));
    TRY(device_alloc(h->device, &b->u, lanes * (size_t)N, sizeof(double)));
    TRY(device_alloc(h->device, &b->uhat, lanes * (size_t)n, sizeof(double)));
    TRY(device_alloc(h->device, &b->q, lanes * (size_t)h->cells[0]->n_flux, sizeof(double)));
    TRY(device_alloc(h->device, &b->scratch, (size_t)fmax(b->condenser.n_scratch, b->condenser.n_inner),
                     sizeof(double)));
    device_fill(h->device, F64, (int64_t)lanes * N, 1.0, b->u);
    device_fill(h->device, F64, (int64_t)lanes * n, 1.0, b->uhat);
    TRY(vector_create(h->device, h->trace.n_free, &b->x));
    TRY(vector_create(h->device, h->trace.n_free, &b->y));
    vector_fill(&b->x, 1.0);
done:
    if (status != FACET_OK) bodies_destroy(b);
    return status;
}

static void run(struct bodies *b, int what) {
    const struct hdg *h = mapped_of(b->run.solver)->hdg;
    const int64_t n = h->matrices.n_batches[0];
    if (what == COPY)
        device_move(h->device, b->K, h->matrices.values[0],
                    (size_t)(n * trace_matrix_size(&h->matrices, 0) * h->lanes) * sizeof(double));
    else if (what == PRODUCT)
        operator_apply(&mapped_of(b->run.solver)->A, &b->x, &b->y);
    else if (what == CONDENSE)
        b->condenser.fast(h, 0, n, b->coefficients, b->K, b->scratch);
    else
        b->condenser.solve(h, 0, n, b->coefficients, b->uhat, b->u, b->q, NULL, b->scratch);
}

/* Seconds, the best of some runs. */
static facet_status measure(struct bodies *b, int what, double *best) {
    facet_status status = FACET_OK;
    double first = base_seconds();
    run(b, what);
    TRY(device_check(mapped_of(b->run.solver)->hdg->device)); /* waits */
    *best = base_seconds() - first;
    const int inner = *best > LONG ? 1 : INNER, repeats = *best > LONG ? 1 : REPEATS;
    for (int i = 0; i < repeats; i++) {
        double begin = base_seconds();
        for (int j = 0; j < inner; j++) run(b, what);
        TRY(device_check(mapped_of(b->run.solver)->hdg->device));
        *best = fmin(*best, (base_seconds() - begin) / inner);
    }
done:
    return status;
}

/* Of the elimination of N rows before n columns. */
static double elimination(double N, double n) {
    return N * N * N / 3.0 + N * N * n + N * n * n;
}

static double local_operations(const struct elastic_tables *t) {
    const double low = t->n_low, n = t->n_faces * t->m;
    return elimination(t->Nu - low, low + n) + elimination(t->dim * low, t->dim * n);
}

static facet_status add_product(const struct bench_options *options, int cells, int degree,
                                struct table *table) {
    facet_status status = FACET_OK;
    struct bodies b;
    double seconds[N_WHATS];
    int N, n;
    TRY(bodies_create(options, cells, degree, &b));
    for (int what = 0; what < N_WHATS; what++) TRY(measure(&b, what, &seconds[what]));
    const struct hdg *h = mapped_of(b.run.solver)->hdg;
    hdg_local_sizes(h, 0, &N, &n);
    const double count = h->data.mesh->n_cells, entries = 0.5 * n * (n + 1), free = (double)h->trace.n_free;
    const double bytes = count * (8.0 * entries + 8.0 * 4) + 16.0 * free, operations = 2.0 * count * n * n;
    const double copy = 16.0 * count * entries / seconds[COPY];
    table_cell(table, "%d", degree);
    table_cell(table, "%.0f", count);
    table_cell(table, "%.0f", free);
    table_cell(table, "%.0f", 1e-9 * copy);
    table_cell(table, "%.0f", 1e-9 * bytes / seconds[PRODUCT]);
    table_cell(table, "%.2f", bytes / seconds[PRODUCT] / copy);
    table_cell(table, "%.3f", operations / bytes);
    table_cell(table, "%.0f", 1e-9 * operations / seconds[PRODUCT]);
    table_cell(table, "%.2f", 1e-12 * count * local_operations(&h->elastic->tables[0]) / seconds[CONDENSE]);
    table_cell(table, "%.2f", 1e-6 * count / seconds[CONDENSE]);
    table_cell(table, "%.2f", 1e-6 * count / seconds[SOLVE]);
done:
    bodies_destroy(&b);
    return base_check_interrupt() != FACET_OK && status == FACET_OK ? base_check_interrupt() : status;
}

/* Figures 6 and 7. */
static facet_status emit_products(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"k",
                                          "tets",
                                          "unknowns",
                                          "copy GB/s",
                                          "product GB/s",
                                          "of a copy",
                                          "flop a byte",
                                          "product GFLOP/s",
                                          "K_e TFLOP/s",
                                          "K_e Mcells/s",
                                          "u, H, p Mcells/s"};
    static const struct {
        int cells, degree;
    } rows[] = {{12, 1}, {12, 2}, {12, 3}, {12, 4}, {12, 5}, {12, 6}, {4, 2}, {8, 2},
                {16, 2}, {32, 2}, {32, 1}, {32, 3}, {24, 4}, {16, 5}, {12, 6}};
    struct table *table = NULL;
    TRY(table_create(11, headers, &table));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (options->quick && (rows[i].degree > 2 || rows[i].cells > 4)) continue;
        if (i == 6 || i == 10) table_rule(table);
        TRY(add_product(options, rows[i].cells, rows[i].degree, table));
    }
    TRY(bench_emit(
        options, "fabien2019-gpu",
        "fabien2019, Figures 6 and 7 (the paper: 60 to 70 % of 480 GB/s from k = 2 on, 57 to 95 "
        "GFLOP/s). Product in double precision: the entries of one triangle, x, y and the maps of "
        "faces, over a copy of the element matrices; 2 n^2 operations a cell. Local solvers: "
        "elimination of N rows before n columns N^3/3 + N^2 n + N n^2, first of the functions that "
        "do not meet the stress (scalar), then of the others (all components); kernels alone.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* Seconds of condensing and of set-up and solve. */
static facet_status time_solve(const struct bench_options *options, const char *device, int threads,
                               int cells, int degree, double seconds[2], int *iterations) {
    facet_status status = FACET_OK;
    struct bench_options o = *options;
    const struct fabien2019_case c = case_of(options, cells, degree, "pmg");
    struct fabien2019_run body = {0};
    facet_report report = {.size = sizeof report};
    o.device = device;
    base_set_threads(threads);
    TRY(fabien2019_create(&o, &c, &body));
    TRY(facet_solver_solve(body.solver, NULL, NULL));
    TRY(facet_solver_report(body.solver, &report));
    seconds[0] = report.seconds[FACET_PHASE_CONDENSE];
    seconds[1] = report.seconds[FACET_PHASE_SETUP] + report.seconds[FACET_PHASE_SOLVE];
    *iterations = report.iterations;
done:
    base_set_threads(options->threads);
    fabien2019_destroy(&body);
    return status;
}

/* Figure 15. */
static facet_status emit_speed(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"k",        "tets",         "iterations",
                                          "local s",  "of one core",  "of all cores",
                                          "global s", "of one core ", "of all cores "};
    static const struct {
        int cells, degree;
    } rows[] = {{4, 1}, {8, 1}, {16, 1}, {4, 2}, {8, 2}, {16, 2}, {4, 3}, {8, 3}, {4, 4}, {8, 4}, {4, 5}};
    struct table *table = NULL;
    TRY(table_create(9, headers, &table));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double here[2], one[2], all[2], warm[2];
        int iterations, cells = rows[i].cells, k = rows[i].degree;
        if (options->quick && (k > 1 || cells > 4)) continue;
        TRY(time_solve(options, options->device, options->threads, cells, k, warm, &iterations));
        TRY(time_solve(options, options->device, options->threads, cells, k, here, &iterations));
        TRY(time_solve(options, "cpu", 1, cells, k, one, &iterations));
        TRY(time_solve(options, "cpu", options->threads, cells, k, all, &iterations));
        table_cell(table, "%d", k);
        table_cell(table, "%d", TETS * cells * cells * cells);
        table_cell(table, "%d", iterations);
        for (int part = 0; part < 2; part++) {
            table_cell(table, "%.4f", here[part]);
            table_cell(table, "%.1f", one[part] / here[part]);
            table_cell(table, "%.1f", all[part] / here[part]);
        }
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(
        options, "fabien2019-gpu-speed",
        "fabien2019, Figure 15 (the paper: 4 to 14 times one core in the global solver, 4 to 73 in "
        "the local ones, k > 2): section 4.2 with lambda = mu to 1e-7, conjugate gradients with "
        "p-multigrid. Local: phase condense, with what it takes to get there. Global: set-up and "
        "solve. The second of two runs on the device.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2019_gpu(const struct bench_options *options) {
    facet_status status = FACET_OK;
    TRY(emit_products(options));
    TRY(emit_speed(options));
done:
    return status;
}
