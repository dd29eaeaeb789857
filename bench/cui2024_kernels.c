/* cui2024, Figures 9, 15, 17, 19 and 20: one smoothing step by every kernel there is for it, and where each
 * stands under the roofs of device memory and of the memory on the chip. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/cui2024.h"
#include "bench/papers/patch_ladder.h"
#include "bench/plot.h"
#include "boxsem/brick.h"
#include "boxsem/halved_boxes.h"

#define REPEATS    4
#define INNER      2
#define MAX_DEGREE 8

/* Of an H200: multiprocessors x 128 bytes x clock, and multiply-adds of the FP64 units (measured). */
#define CHIP_BYTES (132 * 128.0 * 1.98e9)
#define PEAK_F64   28.9e12
#define PEAK_F32   54e12

/* A square of cells, or so many layers of them, with all that a kernel asks for. */
struct subject {
    const struct device *device;
    struct box_grid grid;
    struct box_element element;
    struct boxsem_brick brick;
    struct boxsem_patches patches;
    struct vector b, x;
    double *scratch;
    int64_t n;
};

static void subject_destroy(struct subject *s) {
    vector_destroy(&s->b);
    vector_destroy(&s->x);
    if (s->device != NULL) device_free(s->device, &s->scratch);
    boxsem_patches_destroy(&s->patches);
    boxsem_brick_destroy(&s->brick);
    box_element_destroy(&s->element);
    box_grid_destroy(&s->grid);
}

static facet_status subject_create(const struct device *device, int degree, int cells, int depth, int single,
                                   struct subject *s) {
    facet_status status = FACET_OK;
    const int dim = depth > 1 ? 3 : 2;
    struct box_grid_data data = {.dim = dim, .cells = {cells, cells, depth}};
    double *x = NULL;
    *s = (struct subject){.device = device};
    papers_add_ladder();
    TRY(ALLOC(x, cells + 1));
    for (int i = 0; i <= cells; i++) x[i] = (double)i / cells;
    for (int d = 0; d < dim; d++) data.coordinates[d] = x;
    TRY(box_grid_create(&data, &s->grid));
    TRY(box_element_create(degree, &s->element));
    TRY(boxsem_brick_create(device, &s->grid, &s->element, &s->brick));
    TRY(boxsem_patches_create(device, &s->grid, &s->element, &s->brick.cells, &s->patches));
    s->n = brick_n_nodes(&s->brick.cells);
    struct vector *vectors[2] = {&s->b, &s->x};
    for (int i = 0; i < 2; i++) {
        TRY(vector_create_in(device, single ? F32 : F64, s->n, vectors[i]));
        vector_fill(vectors[i], i == 0 ? 1.0 : 0.0);
    }
    int64_t most = brick_scratch(&s->brick.cells, base_threads());
    for (int variant = PATCH_BOUNDARY; variant <= PATCH_GLOBAL; variant++) {
        s->patches.plan.variant = (enum patch_variant)variant;
        int64_t size = device_patch_scratch(device, &s->patches.plan);
        if (size < 0) FAIL(FACET_ERROR_INPUT, "the device %s has no such patches", device_name(device));
        most = size > most ? size : most;
    }
    TRY(device_alloc(device, &s->scratch, (size_t)most, sizeof *s->scratch));
done:
    base_free(&x);
    if (status != FACET_OK) subject_destroy(s);
    return status;
}

static void smooth(struct subject *s) {
    device_patch_sweep(s->device, s->b.precision, &s->patches.plan, 0, s->b.numbers, s->x.numbers,
                       s->scratch);
}

static void apply(struct subject *s) {
    device_brick_apply(s->device, s->b.precision, &s->brick.cells, 1.0, s->b.numbers, 0.0, NULL, s->x.numbers,
                       s->scratch);
}

static void copy(struct subject *s) {
    vector_axpby(1.0, &s->b, 0.0, &s->x);
}

/* Unknowns per second, the best of some runs. */
static facet_status measure(struct subject *s, void (*run)(struct subject *), double *rate) {
    facet_status status = FACET_OK;
    double best = INFINITY;
    run(s);
    TRY(device_check(s->device));
    for (int i = 0; i < REPEATS; i++) {
        double begin = base_seconds();
        for (int j = 0; j < INNER; j++) run(s);
        TRY(device_check(s->device)); /* waits */
        best = fmin(best, (base_seconds() - begin) / INNER);
    }
    *rate = (double)s->n / best;
done:
    return status;
}

/* ------------------------------------------------------------------------------ kernels */

static const struct {
    const char *name;
    enum patch_variant variant;
    enum patch_kernel kernel;
} kernels[] = {
    {"global", PATCH_GLOBAL, PATCH_KERNEL_BEST},
    {"separate basic", PATCH_SEPARATE, PATCH_KERNEL_BASIC},
    {"separate c.-f.", PATCH_SEPARATE, PATCH_KERNEL_CONFLICT_FREE},
    {"fused basic", PATCH_FUSED, PATCH_KERNEL_BASIC},
    {"fused linear", PATCH_FUSED, PATCH_KERNEL_LINEAR},
    {"fused c.-f.", PATCH_FUSED, PATCH_KERNEL_CONFLICT_FREE},
    {"lines", PATCH_BOUNDARY, PATCH_KERNEL_LINES},
    {"tensor", PATCH_BOUNDARY, PATCH_KERNEL_TENSOR},
    {"default", PATCH_BOUNDARY, PATCH_KERNEL_BEST},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels, FUSED = 5, LINES, TENSOR, DEFAULT };

/* Operations of one step of exact patches in 3D per unknown (useful ones: both blocks of six transforms, the
 * shell, the division). */
static double step_operations(int k) {
    double m = 2.0 * k - 1.0, even = floor(0.5 * (m + 1.0)), odd = m - even, blocks = even * even + odd * odd;
    return 2.0 * (6.0 * m * m * blocks + 14.0 * m * blocks + 7.0 * m * m * m) / (k * (double)k * k);
}
/* Those of the paper's form: eight contractions of the closed patch, of which three add, and six of the free
 * nodes. */
static double fused_operations(int k) {
    double m = 2.0 * k - 1.0, n = m + 2.0;
    return 2.0 * (7.0 * pow(n, 4) + 6.0 * pow(m, 4) + 2.0 * pow(m, 3)) / (k * (double)k * k);
}
static double operations(int kernel, int k) {
    return kernel >= LINES ? step_operations(k) : fused_operations(k);
}
/* Numbers that a step writes to and reads from the memory on the chip, per unknown in 3D; what a warp reads
 * from one address counts once. Fused: a thread reads a row of its matrix once, and the line it contracts for
 * every number it makes, except along z. */
static double chip_numbers(int kernel, int k) {
    double m = 2.0 * k - 1.0, n = m + 2.0, m2 = m * m, m3 = m * m2, n3 = n * n * n, k3 = (double)k * k * k;
    if (kernel == TENSOR) return (6.0 * m3 + 18.0 * m2) / k3;
    if (kernel == LINES) return (16.0 * m3 + 28.0 * m2 + 8.0 * n * n + 20.0 * m * n) / k3;
    return (3.0 * n * n3 + 12.0 * n3 + 4.0 * m * m3 + 18.0 * m3) / k3;
}
/* Device memory: every colour reads b and x and writes x. */
static double memory_bytes(int dim, int single) {
    return (1 << dim) * 3.0 * (single ? 4.0 : 8.0);
}

/* Whether the GPU has code of its own for it: in 2D the default is one of two, the rest 3D. */
static int has_kernel(int dim, int degree, int kernel) {
    if (dim == 2) return kernel == 0 || kernel >= LINES;
    return kernel != TENSOR || degree >= 5;
}
static int has_column(int dim, int kernel) {
    return has_kernel(dim, MAX_DEGREE, kernel);
}

struct row {
    int degree;
    int64_t n;
    double rate[N_KERNELS]; /* 0: not measured */
    double copy;            /* bytes per second */
};

static facet_status measure_row(const struct bench_options *options, const struct device *device, int dim,
                                int degree, int single, struct row *row) {
    facet_status status = FACET_OK;
    struct subject s = {0};
    static const int cells[2][9] = {{0, 4096, 2048, 1536, 1024, 1024, 768, 768, 640},
                                    {0, 320, 160, 112, 80, 64, 56, 48, 40}};
    const int n = options->quick ? 8 : cells[dim == 3][degree];
    TRY(subject_create(device, degree, n, dim == 3 ? n : 1, single, &s));
    *row = (struct row){.degree = degree, .n = s.n};
    TRY(measure(&s, copy, &row->copy));
    row->copy *= 2.0 * (single ? 4.0 : 8.0);
    for (int i = 0; i < N_KERNELS; i++) {
        if (!has_kernel(dim, degree, i)) continue;
        s.patches.plan.variant = kernels[i].variant;
        s.patches.plan.kernel = kernels[i].kernel;
        TRY(measure(&s, smooth, &row->rate[i]));
        TRY(base_check_interrupt());
    }
done:
    subject_destroy(&s);
    return status;
}

static facet_status emit_rates(const struct bench_options *options, int dim, int single,
                               const struct row *rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct plot *plot = NULL;
    const char *headers[N_KERNELS + 6] = {"k", "unknowns"};
    char name[64], title[512];
    int columns = 2;
    for (int i = 0; i < N_KERNELS; i++)
        if (has_column(dim, i)) headers[columns++] = kernels[i].name;
    headers[columns++] = "of copy";
    if (dim == 3) {
        headers[columns++] = "/ fused c.-f.";
        headers[columns++] = "TFLOP/s";
        headers[columns++] = "of peak";
    }
    TRY(table_create(columns, headers, &table));
    for (int r = 0; r < MAX_DEGREE; r++) {
        const double best = rows[r].rate[DEFAULT];
        table_cell(table, "%d", rows[r].degree);
        table_cell(table, "%.0f M", 1e-6 * (double)rows[r].n);
        for (int i = 0; i < N_KERNELS; i++)
            if (has_column(dim, i))
                table_cell(table, rows[r].rate[i] > 0.0 ? "%.2f" : "-", 1e-9 * rows[r].rate[i]);
        table_cell(table, "%.2f", best * memory_bytes(dim, single) / rows[r].copy);
        if (dim < 3) continue;
        double flops = best * step_operations(rows[r].degree);
        table_cell(table, "%.2f", best / rows[r].rate[FUSED]);
        table_cell(table, "%.2f", 1e-12 * flops);
        table_cell(table, "%.0f %%", 100.0 * flops / (single ? PEAK_F32 : PEAK_F64));
    }
    snprintf(name, sizeof name, "cui2024-gpu-kernels-%dd-%s", dim, single ? "f32" : "f64");
    snprintf(title, sizeof title,
             "cui2024, Figures 9, 15 and 17: billions of unknowns per second of one smoothing step (all "
             "colours, constant k) by kernel. Of copy: b and x read and x written by every colour, over the "
             "rate of a copy in the same run (%.2f TB/s). TFLOP/s of the default: useful operations only, "
             "against multiply-adds of %.1f TFLOP/s.",
             1e-12 * rows[0].copy, 1e-12 * (single ? PEAK_F32 : PEAK_F64));
    TRY(bench_emit(options, name, title, table));
    TRY(CALLOC(plot, 1));
    *plot = (struct plot){.name = name,
                          .title = "One smoothing step",
                          .x_label = "degree",
                          .y_label = "10^9 unknowns per second"};
    for (int i = 0; i < N_KERNELS; i++) {
        if (!has_column(dim, i)) continue;
        struct plot_series *series = plot_add(plot, kernels[i].name, "linespoints");
        for (int r = 0; r < MAX_DEGREE; r++)
            if (rows[r].rate[i] > 0.0) plot_point(series, rows[r].degree, 1e-9 * rows[r].rate[i]);
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ roofs */

static facet_status emit_roofline(const struct bench_options *options, const struct row *rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct plot *plots = NULL;
    static const char *const headers[] = {"k",          "kernel",  "flop/DoF",    "chip B/DoF",
                                          "DRAM B/DoF", "GDoF/s",  "TFLOP/s",     "of chip",
                                          "of copy",    "of peak", "nearest roof"};
    static const int shown[3] = {FUSED, LINES, TENSOR};
    double copied = 0.0;
    for (int r = 0; r < MAX_DEGREE; r++) copied = fmax(copied, rows[r].copy);
    TRY(table_create(11, headers, &table));
    TRY(CALLOC(plots, 2));
    plots[0] = (struct plot){.name = "cui2024-gpu-roofline-dram",
                             .title = "Smoothing steps under the roofs of device memory and FP64 units",
                             .x_label = "flop per byte of device memory",
                             .y_label = "GFLOP/s",
                             .log = 1};
    plots[1] = (struct plot){.name = "cui2024-gpu-roofline-chip",
                             .title = "Smoothing steps under the roofs of shared memory and FP64 units",
                             .x_label = "flop per byte of shared memory",
                             .y_label = "GFLOP/s",
                             .log = 1};
    for (int i = 0; i < 2; i++) {
        struct plot_series *roof = plot_add(&plots[i], "roof", "lines");
        for (int j = -8; j <= 16; j++)
            plot_point(roof, exp2(0.5 * j), 1e-9 * fmin(PEAK_F64, exp2(0.5 * j) * (i ? CHIP_BYTES : copied)));
    }
    for (int s = 0; s < 3; s++) {
        const int kernel = shown[s];
        struct plot_series *series[2] = {plot_add(&plots[0], kernels[kernel].name, "linespoints"),
                                         plot_add(&plots[1], kernels[kernel].name, "linespoints")};
        for (int r = 1; r < MAX_DEGREE; r++) {
            const int k = rows[r].degree;
            if (rows[r].rate[kernel] <= 0.0) continue;
            double rate = rows[r].rate[kernel], flops = operations(kernel, k),
                   chip = 8.0 * chip_numbers(kernel, k), bytes = memory_bytes(3, 0);
            double parts[3] = {rate * chip / CHIP_BYTES, rate * bytes / rows[r].copy,
                               rate * flops / PEAK_F64};
            static const char *const roofs[3] = {"shared memory", "device memory", "FP64 units"};
            int nearest = parts[1] > parts[0] ? 1 : 0;
            if (parts[2] > parts[nearest]) nearest = 2;
            table_cell(table, "%d", k);
            table_cell(table, "%s", kernels[kernel].name);
            table_cell(table, "%.0f", flops);
            table_cell(table, "%.0f", chip);
            table_cell(table, "%.0f", bytes);
            table_cell(table, "%.2f", 1e-9 * rate);
            table_cell(table, "%.2f", 1e-12 * rate * flops);
            for (int i = 0; i < 3; i++) table_cell(table, "%.0f %%", 100.0 * parts[i]);
            table_cell(table, "%s", roofs[nearest]);
            plot_point(series[0], flops / bytes, 1e-9 * rate * flops);
            plot_point(series[1], flops / chip, 1e-9 * rate * flops);
        }
    }
    TRY(bench_emit(
        options, "cui2024-gpu-roofline",
        "cui2024, Figures 19 and 20: operations and bytes of one smoothing step in 3D, f64, counted, "
        "and the roofs: shared memory of 132 x 128 B x 1.98 GHz = 33.5 TB/s, the copy of the run, "
        "multiply-adds of 28.9 TFLOP/s (tensor cores do twice that, on blocks padded to 8 x 8).",
        table));
    for (int i = 0; i < 2; i++) TRY(plot_write(options, &plots[i]));
done:
    base_free(&plots);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ large boxes */

/* The default step and the product, on boxes that fill much of the memory. */
static facet_status emit_throughput(const struct bench_options *options, const struct device *device) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct subject s = {0};
    static const char *const headers[] = {"k",          "unknowns",  "smooth f64", "of copy",
                                          "smooth f32", "apply f64", "of copy",    "apply f32"};
    static const int cells[9] = {0, 512, 256, 192, 128, 112, 96, 88, 72};
    TRY(table_create(8, headers, &table));
    for (int k = 1; k <= MAX_DEGREE; k++) {
        double step[2], product[2], copied[2];
        for (int single = 0; single < 2; single++) {
            const int n = options->quick ? 8 : cells[k];
            TRY(subject_create(device, k, n, n, single, &s));
            s.patches.plan.variant = PATCH_BOUNDARY;
            TRY(measure(&s, smooth, &step[single]));
            TRY(measure(&s, copy, &copied[single]));
            TRY(measure(&s, apply, &product[single]));
            if (single == 0) {
                table_cell(table, "%d", k);
                table_cell(table, "%.0f M", 1e-6 * (double)s.n);
            }
            subject_destroy(&s);
            TRY(base_check_interrupt());
        }
        table_cell(table, "%.2f", 1e-9 * step[0]);
        table_cell(table, "%.2f", 12.0 * step[0] / copied[0]);
        table_cell(table, "%.2f", 1e-9 * step[1]);
        table_cell(table, "%.1f", 1e-9 * product[0]);
        table_cell(table, "%.2f", product[0] / copied[0]);
        table_cell(table, "%.1f", 1e-9 * product[1]);
    }
    TRY(bench_emit(options, "cui2024-gpu-throughput",
                   "Billions of unknowns per second of one smoothing step (all colours, default kernels) and "
                   "of one product, constant k. Of copy: bytes (24 a colour; 16 a product) over what a copy "
                   "moves in the same run.",
                   table));
done:
    subject_destroy(&s);
    table_destroy(&table);
    return status;
}

facet_status cui2024_kernels(const struct bench_options *options, const struct device *device) {
    facet_status status = FACET_OK;
    struct row rows[MAX_DEGREE];
    for (int dim = 3; dim >= 2; dim--)
        for (int single = 0; single < 2; single++) {
            for (int k = 1; k <= MAX_DEGREE; k++)
                TRY(measure_row(options, device, dim, k, single, &rows[k - 1]));
            TRY(emit_rates(options, dim, single, rows));
            if (dim == 3 && single == 0) TRY(emit_roofline(options, rows));
        }
    TRY(emit_throughput(options, device));
done:
    return status;
}

/* One step by every kernel of some degrees, for a profiler to look at: on two layers of cells, which are four
 * colours. */
facet_status bench_cui2024_gpu_profile(const struct bench_options *options) {
    facet_status status = FACET_OK;
    const struct device *device;
    struct subject s = {0};
    TRY(device_find(options->device, &device));
    for (int k = 3; k <= 7; k += 2) {
        TRY(subject_create(device, k, options->quick ? 8 : 128, 2, 0, &s));
        for (int i = 1; i < DEFAULT; i++) {
            s.patches.plan.variant = kernels[i].variant;
            s.patches.plan.kernel = kernels[i].kernel;
            smooth(&s);
            TRY(device_check(device));
        }
        subject_destroy(&s);
    }
done:
    subject_destroy(&s);
    return status;
}
