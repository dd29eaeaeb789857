/* What compares a fast path with the general one: batches that are fast, arrays in lanes, numbers. */
#ifndef FACET_TESTS_LANES_HELPERS_H
#define FACET_TESTS_LANES_HELPERS_H

#include "hdg/batch.h"
#include "hdg_helpers.h"

static inline int count_fast(const struct hdg *h) {
    int n = 0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        for (int64_t batch = 0; batch < h->matrices.n_batches[b]; batch++) n += batch_is_fast(h, b, batch);
    return n;
}

/* Arrays of n_entries numbers a cell in lanes, on the device of h; lanes without a cell are not compared. */
static inline void same_lanes(const struct hdg *h, int block, int64_t n_entries, const double *a,
                              const double *b, double tolerance) {
    int64_t n_batches = h->matrices.n_batches[block], count = h->data.mesh->blocks[block].count;
    size_t total = (size_t)(n_batches * n_entries * h->lanes);
    const double *x, *y;
    double largest = 0;
    ok(device_view(h->device, a, total, sizeof *a, (const void **)&x));
    ok(device_view(h->device, b, total, sizeof *b, (const void **)&y));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t cell = 0; cell < count; cell++)
            for (int64_t e = 0; e < n_entries; e++) {
                int64_t at = (cell / h->lanes * n_entries + e) * h->lanes + cell % h->lanes;
                if (pass == 0)
                    largest = fmax(largest, fabs(y[at]));
                else
                    near(x[at], y[at], tolerance * largest);
            }
    device_unview(h->device, a, (const void **)&x);
    device_unview(h->device, b, (const void **)&y);
}

static inline void same_numbers(int64_t n, const double *a, const double *b, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < n; i++) near(a[i], b[i], tolerance * largest);
}

/* K_e of every third cell against the matrix of that cell by itself. */
static inline void same_as_single_cells(const struct hdg *h, double tolerance) {
    const int lanes = h->lanes;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct condenser c;
        struct local l;
        const double *K;
        h->data.equation->condenser(h, b, &c);
        int64_t n = c.n, size = n * (n + 1) / 2;
        double *matrix = test_calloc((size_t)(n * n), sizeof *matrix), robin;
        size_t total = (size_t)(h->matrices.n_batches[b] * size * lanes);
        ok(local_create(h, &l));
        ok(device_view(h->device, h->matrices.values[b], total, sizeof *K, (const void **)&K));
        for (int32_t cell = 0; cell < h->data.mesh->blocks[b].count; cell += 3) {
            const double *from = K + local_lane(lanes, cell, size);
            double largest = 0.0;
            ok(local_begin(&l, b, cell));
            ok(c.cell(&l, matrix, &robin));
            for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(matrix[i * (n + 1)]));
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++, from += lanes)
                    near(*from, matrix[i * n + j], tolerance * largest);
        }
        device_unview(h->device, h->matrices.values[b], (const void **)&K);
        local_destroy(&l);
        test_free(matrix);
    }
}

#endif
