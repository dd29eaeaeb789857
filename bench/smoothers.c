/* A smoothing step over blocks of faces: the kernel that reads whole blocks of any sizes beside the one that
 * reads the triangles of blocks of one size in lanes. Which one a level takes, src/solve/operator.c says. */
#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/bench.h"
#include "device/device.h"

#define N_BLOCKS 16384

static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 21, 28};
#define N_SIZES ((int)(sizeof sizes / sizeof sizes[0]))

struct blocks {
    int m;
    int64_t *first, *starts;
    double *matrices, *vectors[5]; /* of either precision */
};

static facet_status fill(const struct device *device, int m, struct blocks *b) {
    facet_status status = FACET_OK;
    *b = (struct blocks){.m = m};
    TRY(ALLOC(b->first, N_BLOCKS + 1));
    TRY(ALLOC(b->starts, N_BLOCKS + 1));
    for (int64_t k = 0; k <= N_BLOCKS; k++) {
        b->first[k] = k * m;
        b->starts[k] = k * m * m;
    }
    TRY(device_alloc(device, &b->matrices, (size_t)N_BLOCKS * (size_t)(m * m), sizeof(double)));
    device_fill(device, F64, (int64_t)N_BLOCKS * m * m, 0.0, b->matrices); /* zero in either precision */
    for (int i = 0; i < 5; i++) {
        TRY(device_alloc(device, &b->vectors[i], (size_t)N_BLOCKS * (size_t)m, sizeof(double)));
        device_fill(device, F64, (int64_t)N_BLOCKS * m, 0.0, b->vectors[i]);
    }
done:
    return status;
}

static void empty(const struct device *device, struct blocks *b) {
    base_free(&b->first);
    base_free(&b->starts);
    device_free(device, &b->matrices);
    for (int i = 0; i < 5; i++) device_free(device, &b->vectors[i]);
}

/* ns[0], ns[1]: the best of several runs of either kernel by turns, in nanoseconds a block. */
static void measure(const struct device *device, enum precision precision, int n_runs, const struct blocks *b,
                    double *ns) {
    double *const *v = b->vectors;
    ns[0] = ns[1] = INFINITY;
    for (int run = 0; run < n_runs; run++)
        for (int lanes = 0; lanes < 2; lanes++) {
            double begin = base_seconds();
            if (lanes)
                device_lane_smooth(device, precision, device_lanes(device), N_BLOCKS, b->m, b->matrices, 0.5,
                                   0.1, 1.0, v[0], v[1], v[2], v[3], v[4]);
            else
                device_block_smooth(device, precision, N_BLOCKS, b->first, b->starts, b->matrices, 0.5, 0.1,
                                    1.0, v[0], v[1], v[2], v[3], v[4]);
            ns[lanes] = fmin(ns[lanes], 1e9 * (base_seconds() - begin) / N_BLOCKS);
        }
}

facet_status bench_smoothers(const struct bench_options *options) {
    static const char *const headers[] = {"unknowns of a block", "f64, blocks", "lanes", "ratio",
                                          "f32, blocks",         "lanes",       "ratio"};
    facet_status status = FACET_OK;
    const struct device *device = device_host();
    struct table *table = NULL;
    struct blocks b = {0};
    TRY(table_create(7, headers, &table));
    for (int i = 0; i < N_SIZES; i++) {
        double ns[2];
        empty(device, &b);
        TRY(fill(device, sizes[i], &b));
        table_cell(table, "%d", sizes[i]);
        for (enum precision p = F64; p <= F32; p++) {
            measure(device, p, options->quick ? 3 : 200, &b, ns);
            for (int k = 0; k < 2; k++) table_cell(table, "%.1f", ns[k]);
            table_cell(table, "%.2f", ns[1] / ns[0]);
        }
    }
    TRY(bench_emit(options, options->name,
                   "Nanoseconds a block of a smoothing step, one thread, 16384 equal blocks", table));
done:
    empty(device, &b);
    table_destroy(&table);
    return status;
}
