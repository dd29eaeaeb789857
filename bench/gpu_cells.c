/* Mapped cells on a device: products with the trace matrix in all precisions and a step of the smoother over
 * faces against its copy bandwidth, and the local solvers in operations a second beside batched calls of
 * libraries, all in one run. Runs on the device it is given. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/batched.h"
#include "bench/subject.h"
#include "hdg/batch.h"
#include "hdg/device_cells.h"
#include "solve/solve_internal.h"
#include "trace/half_precision.h"
#include "trace/levels.h"

#define REPEATS 5
#define INNER   4
#define BATCHED 100000 /* cells of the libraries, at most */

struct bench_cells {
    struct subject subject;
    struct linear_operator single, half, blocks;
    struct vector x, y, z, d; /* in double, and: */
    struct vector x_single, y_single;
    struct condenser condenser;
    int64_t n_batches; /* of the local solvers */
    double *coefficients, *K, *u, *uhat, *q, *scratch;
};
enum { COPY, DOUBLE, SINGLE, HALF, SMOOTH, CONDENSE, SOLVE, N_WHATS };

static void cells_destroy(struct bench_cells *c) {
    if (c->subject.context != NULL) {
        const struct device *device = c->subject.context->device;
        double **arrays[] = {&c->coefficients, &c->K, &c->u, &c->uhat, &c->q, &c->scratch};
        for (int i = 0; i < 6; i++) device_free(device, arrays[i]);
    }
    struct vector *vectors[] = {&c->x, &c->y, &c->z, &c->d, &c->x_single, &c->y_single};
    for (int i = 0; i < 6; i++) vector_destroy(vectors[i]);
    operator_destroy(&c->single);
    operator_destroy(&c->half);
    operator_destroy(&c->blocks);
    subject_destroy(&c->subject);
}

/* Coefficients of all cells, and room for what is made of them. */
static facet_status make_local(struct bench_cells *c) {
    facet_status status = FACET_OK;
    const struct hdg *h = mapped_of(c->subject.solver)->hdg;
    int N, n;
    int64_t lanes = h->lanes, count = h->matrices.n_batches[0];
    hdg_local_sizes(h, 0, &N, &n);
    h->data.equation->condenser(h, 0, &c->condenser);
    c->n_batches = count;
    int64_t n_coefficients = count * c->condenser.n_coefficients * lanes;
    TRY(device_duplicate(h->device, &c->coefficients, h->cells[0]->coefficients, (size_t)n_coefficients,
                         sizeof(double)));
    TRY(device_alloc(h->device, &c->K, (size_t)(count * (n * (n + 1) / 2) * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &c->u, (size_t)(count * N * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &c->uhat, (size_t)(count * n * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &c->q, (size_t)(count * h->cells[0]->n_flux * lanes), sizeof(double)));
    TRY(device_alloc(h->device, &c->scratch, (size_t)fmax(c->condenser.n_scratch, c->condenser.n_inner),
                     sizeof(double)));
    device_fill(h->device, F64, count * N * lanes, 1.0, c->u);
    device_fill(h->device, F64, count * n * lanes, 1.0, c->uhat);
done:
    return status;
}

static facet_status cells_create(const struct bench_options *options, const struct subject_shape *shape,
                                 int cells, int degree, struct bench_cells *c) {
    facet_status status = FACET_OK;
    *c = (struct bench_cells){0};
    TRY(subject_create_bare(options, shape, cells, degree, &c->subject));
    const struct hdg *h = mapped_of(c->subject.solver)->hdg;
    const struct device *device = h->device;
    const struct linear_operator *A = &mapped_of(c->subject.solver)->A;
    TRY(operator_create_single(A, &c->single));
    TRY(trace_operator_halve(&h->trace, &h->matrices, A, &c->half));
    TRY(trace_block_inverse(&h->trace, &h->matrices, &c->blocks));
    struct vector *vectors[] = {&c->x, &c->y, &c->z, &c->d, &c->x_single, &c->y_single};
    for (int i = 0; i < 6; i++) {
        TRY(vector_create_in(device, i < 4 ? F64 : F32, A->n, vectors[i]));
        vector_fill(vectors[i], 1.0);
    }
    TRY(make_local(c));
done:
    if (status != FACET_OK) cells_destroy(c);
    return status;
}

static void run(struct bench_cells *c, int what) {
    const struct hdg *h = mapped_of(c->subject.solver)->hdg;
    if (what == COPY)
        device_move(h->device, c->K, h->matrices.values[0],
                    (size_t)(c->n_batches * trace_matrix_size(&h->matrices, 0) * h->lanes) * sizeof(double));
    else if (what == DOUBLE)
        operator_apply(&mapped_of(c->subject.solver)->A, &c->x, &c->y);
    else if (what == SINGLE)
        operator_apply(&c->single, &c->x_single, &c->y_single);
    else if (what == HALF && c->half.apply != NULL)
        operator_apply(&c->half, &c->x_single, &c->y_single);
    else if (what == SMOOTH)
        operator_block_smooth(&c->blocks, 1e-3, 0.5, 1.0, &c->y, &c->y, &c->z, &c->d, &c->x);
    else if (what == CONDENSE)
        c->condenser.fast(h, 0, c->n_batches, c->coefficients, c->K, c->scratch);
    else if (what == SOLVE)
        c->condenser.solve(h, 0, c->n_batches, c->coefficients, c->uhat, c->u, c->q, NULL, c->scratch);
}

/* Seconds, the best of some runs. */
static facet_status measure(struct bench_cells *c, int what, double *best) {
    facet_status status = FACET_OK;
    const struct device *device = c->subject.context->device;
    *best = INFINITY;
    for (int i = 0; i <= REPEATS; i++) {
        double begin = base_seconds();
        for (int j = 0; j < INNER; j++) run(c, what);
        TRY(device_check(device)); /* waits */
        if (i > 0) *best = fmin(*best, (base_seconds() - begin) / INNER);
    }
done:
    return status;
}

/* N^3/3 for the factor of S, N^2 n each for R^-T R and U, N n^2 for K. */
static double operations(double N, double n) {
    return N * N * N / 3.0 + 2.0 * N * N * n + N * n * n;
}

static facet_status add_row(const struct bench_options *options, const struct subject_shape *shape, int cells,
                            int degree, struct table *table) {
    facet_status status = FACET_OK;
    struct bench_cells c;
    double seconds[N_WHATS], batched;
    int N, n;
    TRY(cells_create(options, shape, cells, degree, &c));
    for (int what = 0; what < N_WHATS; what++) TRY(measure(&c, what, &seconds[what]));
    const struct hdg *h = mapped_of(c.subject.solver)->hdg;
    const double count = h->data.mesh->n_cells, free = (double)h->trace.n_free;
    hdg_local_sizes(h, 0, &N, &n);
    const int n_batched = (int)fmin(count, BATCHED);
    TRY(batched_seconds(h->device, N, n, n_batched, &batched));
    const double entries = 0.5 * n * (n + 1), m = (double)n / shape_n_faces(shape->shape);
    const double maps = 8.0 * shape_n_faces(shape->shape);
    const double copy = 16.0 * count * entries / seconds[COPY];
    const double bytes[] = {[DOUBLE] = count * (8.0 * entries + maps) + 16.0 * free,
                            [SINGLE] = count * (4.0 * entries + maps) + 8.0 * free,
                            [HALF] = count * (2.0 * (entries + 2.0 * n) + maps) + 8.0 * free,
                            [SMOOTH] = free * (4.0 * (m + 1) + 64.0)};
    char text[32];
    subject_cells_text(shape, cells, text, sizeof text);
    table_cell(table, "%s", shape->name);
    table_cell(table, "%d", degree);
    table_cell(table, "%s", text);
    table_cell(table, "%.2f M", 1e-6 * free);
    table_cell(table, "%.2f", 1e-12 * copy);
    table_cell(table, "%.3f", 1e3 * seconds[DOUBLE]);
    for (int what = DOUBLE; what <= SMOOTH; what++) {
        if (what == HALF && c.half.apply == NULL)
            table_cell(table, "-");
        else
            table_cell(table, "%.2f", bytes[what] / seconds[what] / copy);
    }
    table_cell(table, "%.2f", 1e-12 * count * operations(N, n) / seconds[CONDENSE]);
    if (batched > 0.0) {
        table_cell(table, "%.2f", 1e-12 * n_batched * operations(N, n) / batched);
        table_cell(table, "%.1f", count / seconds[CONDENSE] * batched / n_batched);
    } else {
        table_cell(table, "-");
        table_cell(table, "-");
    }
    table_cell(table, "%.0f", 1e-6 * count / seconds[CONDENSE]);
    table_cell(table, "%.0f", 1e-6 * count / seconds[SOLVE]);
done:
    cells_destroy(&c);
    return status;
}

facet_status bench_gpu_cells(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const struct {
        const struct subject_shape *shape;
        int degree, cells;
    } rows[] = {{&subject_tets, 1, 44},       {&subject_tets, 2, 24},       {&subject_tets, 1, 52},
                {&subject_tets, 2, 44},       {&subject_tets, 3, 44},       {&subject_tets, 4, 28},
                {&subject_tets, 5, 20},       {&subject_triangles, 2, 400}, {&subject_triangles, 5, 320},
                {&subject_triangles, 9, 160}, {&subject_hexes, 2, 40},      {&subject_hexes, 3, 28}};
    static const char *const headers[] = {
        "shape",       "k",          "cells",         "unknowns",      "copy TB/s",
        "f64 ms",      "f64 / copy", "f32 / copy",    "16 bit / copy", "smoother / copy",
        "K_e TFLOP/s", "libraries",  "ours / theirs", "K_e Mcells/s",  "u, q Mcells/s"};
    struct table *table = NULL;
    TRY(table_create(15, headers, &table));
    for (size_t i = 0; i < (options->quick ? 2 : sizeof rows / sizeof *rows); i++) {
        TRY(add_row(options, rows[i].shape, options->quick ? 4 : rows[i].cells, rows[i].degree, table));
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(
        options, "gpu-cells",
        "Straight mapped cells. Products: the entries of one triangle, x, y and the maps of faces; smoother "
        "(double): one triangle of every block, five vectors read and three written; over the bandwidth of a "
        "copy of the element matrices. Local solvers: N^3/3 + 2 N^2 n + N n^2 operations a cell, kernels "
        "alone; libraries: potrf, trsm and gemm of cuSOLVER and cuBLAS in batches, of matrices that are "
        "there "
        "already.",
        table));
done:
    table_destroy(&table);
    return status;
}
