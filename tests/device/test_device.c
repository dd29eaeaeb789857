/* Devices: every kernel of every device against ref on random data of odd sizes, for several numbers of
 * threads, through the functions that the library calls (so on `debug` every array is behind the wall); the
 * same bits whenever it is run again; and the support matrix against the tables of kernels. */
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/diagonalize.h"
#include "boxhdg/points.h"
#include "boxhdg_lanes_helpers.h"
#include "brick_helpers.h"
#include "device/device.h"
#include "hdg_helpers.h"
#include "long.h"

static const int thread_counts[] = {3, 1, 2, 8}; /* the default run takes the first two */

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

static double *random_numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    return x;
}

/* 0 .. n-1 */
static int64_t random_below(int64_t n, uint32_t *seed) {
    return (int64_t)(0.4999999 * (1 + random_signed(seed)) * (double)n);
}

static void upload(const struct device *device, int64_t n, const double *host, struct vector *v) {
    ok(vector_create(device, n, v));
    ok(vector_upload(v, host));
}

/* ------------------------------------------------------------------------------------------ arrays */

/* Arrays of one run of a kernel on a device, and the numbers that came out. */
struct arena {
    const struct device *device;
    int n;
    void *pointers[128];
    int64_t n_out, n_room;
    double *out;
};

/* A copy on the device. */
static void *put(struct arena *a, const void *host, int64_t count, size_t size) {
    void *pointer;
    ok(device_copy(a->device, &pointer, host, (size_t)count, size));
    return a->pointers[a->n++] = pointer;
}

/* Adds room for n numbers to what came out. */
static double *room(struct arena *a, int64_t n) {
    if (a->n_out + n >= a->n_room) {
        a->n_room = 2 * (a->n_out + n) + 1000;
        a->out = test_realloc(a->out, (size_t)a->n_room * sizeof *a->out);
    }
    a->n_out += n;
    return a->out + a->n_out - n;
}

static void arena_destroy(struct arena *a) {
    for (int i = 0; i < a->n; i++) device_free(a->device, &a->pointers[i]);
    if (a->out != NULL) test_free(a->out);
}

/* Arrays in lanes have n numbers for each of n_cells cells, whatever the lanes of the device are; lanes
 * without a cell hold what the last cell has. */
static int64_t n_batches_on(const struct device *device, int64_t n_cells) {
    return (n_cells + device_lanes(device) - 1) / device_lanes(device);
}

static int64_t lane_of(const struct device *device, int64_t n, int64_t cell) {
    int lanes = device_lanes(device);
    return cell / lanes * n * lanes + cell % lanes;
}

/* ------------------------------------------------------------------------------------------ boxes */

/* One pack and several, rows that end within a pack, all sides, lanes alike and different, blocks of parities
 * that leave every remainder of a tile, one cell, one layer, several pieces of layers, all dimensions. */
static const struct box_case device_boxes[] = {
    {.dim = 3, .degree = 3, .cells = {9, 4, 5}, .sides = {{0, 0}, {0, 0}, {0, 0}}, .rho = 3, .length = 2},
    {.dim = 3,
     .degree = 4,
     .cells = {10, 2, 3},
     .sides = {{2, 2}, {2, 2}, {2, 2}},
     .rho = 3,
     .length = 2,
     .reaction = 1},
    {.dim = 3,
     .degree = 2,
     .cells = {17, 3, 4},
     .sides = {{1, 0}, {1, 0}, {1, 1}},
     .rho = 3,
     .length = 2,
     .graded = 1,
     .varied_lines = 1,
     .conductivity = 10,
     .reaction = -1},
    {.dim = 3,
     .degree = 8,
     .cells = {3, 2, 2},
     .sides = {{0, 1}, {0, 1}, {0, 0}},
     .rho = 3,
     .length = 2,
     .conductivity = 10},
    {.dim = 3,
     .degree = 1,
     .cells = {1, 1, 1},
     .sides = {{2, 2}, {2, 2}, {2, 2}},
     .rho = 3,
     .length = 2,
     .reaction = 1},
    {.dim = 2,
     .degree = 6,
     .cells = {11, 7},
     .sides = {{0, 1}, {1, 0}},
     .rho = 3,
     .length = 2,
     .graded = 1,
     .reaction = -1},
    {.dim = 2, .degree = 9, .cells = {8, 9}, .sides = {{2, 2}, {2, 2}}, .rho = 3, .length = 2, .reaction = 1},
    {.dim = 3, .degree = 7, .cells = {10, 3, 4}, .sides = {{2, 2}, {2, 2}, {0, 1}}, .rho = 3, .length = 2},
    {.dim = 3,
     .degree = 3,
     .cells = {9, 2, 17},
     .sides = {{1, 1}, {1, 0}, {1, 0}},
     .rho = 3,
     .length = 2,
     .conductivity = 10},
    {.dim = 3, .degree = 15, .cells = {2, 2, 1}, .sides = {{0, 1}, {1, 1}, {2, 2}}, .rho = 3, .length = 2},
    {.dim = 3, .degree = 5, .cells = {9, 3, 5}, .sides = {{0, 0}, {2, 2}, {2, 2}}, .rho = 3, .length = 2},
    {.dim = 1, .degree = 3, .cells = {13}, .sides = {{1, 0}}, .rho = 3, .length = 2},
    {.dim = 3, .degree = 11, .cells = {9, 3, 9}, .sides = {{0, 0}, {1, 0}, {0, 1}}, .rho = 3, .length = 2},
    {.dim = 3, .degree = 13, .cells = {9, 2, 2}, .sides = {{2, 2}, {0, 1}, {1, 0}}, .rho = 3, .length = 2},
    {.dim = 3, .degree = 9, .cells = {8, 2, 8}, .sides = {{1, 1}, {0, 1}, {1, 1}}, .rho = 3, .length = 2},
};

/* ------------------------------------------------------------------------------------------ both precisions
 */

#include "device_ring.h"

#define REAL       double
#define PRECISION  F64
#define NAME(what) what
#include "device_box.h"
#include "device_real.h"

#include "device_brick_real.h"
#include "device_lattice_real.h"
#undef REAL
#undef PRECISION
#undef NAME

#define REAL       float
#define PRECISION  F32
#define NAME(what) what##_single
#include "device_box.h"
#include "device_real.h"

#include "device_brick_real.h"
#include "device_lattice_real.h"
#undef REAL
#undef PRECISION
#undef NAME

static double *put_nan_lanes(struct arena *a, int64_t n_cells, int64_t n) {
    return put_nan(a, n_batches_on(a->device, n_cells) * n * device_lanes(a->device));
}

/* What came out, cell by cell. */
static void take_lanes(struct arena *a, const double *from, int64_t n_cells, int64_t n) {
    const int lanes = device_lanes(a->device);
    size_t count = (size_t)(n_batches_on(a->device, n_cells) * n * lanes);
    double *host = test_malloc((count + 1) * sizeof *host), *out = room(a, n_cells * n);
    ok(device_download(a->device, host, from, count * sizeof *from));
    for (int64_t cell = 0; cell < n_cells; cell++)
        for (int64_t e = 0; e < n; e++) *out++ = host[lane_of(a->device, n, cell) + e * lanes];
    test_free(host);
}

/* What came out, in units of its largest number. */
static void take_scaled(struct arena *a, const double *from, int64_t n) {
    double *host = test_malloc(((size_t)n + 1) * sizeof *host);
    double *out = room(a, n), largest = 1e-300;
    ok(device_download(a->device, host, from, (size_t)n * sizeof *from));
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(host[i]));
    for (int64_t i = 0; i < n; i++) out[i] = host[i] / largest;
    test_free(host);
}

static void take_scaled_single(struct arena *a, const float *from, int64_t n) {
    int64_t first = a->n_out;
    double largest = 1e-300;
    take_single(a, from, n);
    for (int64_t i = first; i < a->n_out; i++) largest = fmax(largest, fabs(a->out[i]));
    for (int64_t i = first; i < a->n_out; i++) a->out[i] /= largest;
}

/* Loads and recovery with data on all sides; what comes back is u at the points. */
static void run_box_points(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct boxhdg_lanes_points *points = NULL;
    struct vector f, F, trace;
    double *sides = random_numbers(2 * h->n_trace, 11), *values = random_numbers(h->n_volume, 12);
    ok(boxhdg_lanes_create(a->device, h, 0, &lanes));
    ok(boxhdg_lanes_points_create(lanes, sides, sides + h->n_trace, &points));
    upload(a->device, h->n_volume, values, &f);
    ok(vector_create(a->device, lanes->plan.size, &F));
    random_lanes(lanes, BOXHDG_UNKNOWN, 3, &trace);
    boxhdg_lanes_load(points, NULL, &F);
    take_faces(a, lanes, &F);
    boxhdg_lanes_load(points, &f, &F);
    take_faces(a, lanes, &F);
    boxhdg_lanes_recover(points, &trace, &f, &f);
    take_scaled(a, f.data, f.n);
    vector_destroy(&f);
    vector_destroy(&F);
    vector_destroy(&trace);
    test_free(sides);
    test_free(values);
    boxhdg_lanes_points_destroy(&points);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

/* The diagonal in units of its largest number, the balance of cells, and cells. */
static void run_box_cells(struct arena *a, int64_t size) {
    struct boxhdg *h = make_box(&device_boxes[size]);
    struct boxhdg_lanes *lanes = NULL;
    struct boxhdg_lanes_points *points = NULL;
    struct vector u, loads, trace, ones, diagonal;
    struct linear_operator D;
    double *sides = random_numbers(2 * h->n_trace, 11), *values = random_numbers(2 * h->n_volume, 12);
    int64_t n = h->grid.n_cells < 5 ? h->grid.n_cells : 5, cells[5] = {0};
    int64_t width = h->cell_size + 2 * h->grid.dim * h->face_size;
    for (int64_t i = 0; i < n; i++) cells[i] = (7 * i + 3) % h->grid.n_cells;
    ok(boxhdg_lanes_create(a->device, h, F64, &lanes));
    ok(boxhdg_lanes_points_create(lanes, sides, sides + h->n_trace, &points));
    operator_create_box_diagonal(lanes, &D);
    ok(vector_create(a->device, lanes->plan.size, &ones));
    ok(vector_create(a->device, lanes->plan.size, &diagonal));
    vector_fill(&ones, 1.0);
    operator_apply(&D, &ones, &diagonal);
    take_faces(a, lanes, &diagonal);
    vector_destroy(&ones);
    vector_destroy(&diagonal);
    upload(a->device, h->n_volume, values, &u);
    upload(a->device, h->n_volume, values + h->n_volume, &loads);
    random_lanes(lanes, BOXHDG_UNKNOWN, 3, &trace);
    double *balance = put_nan(a, KERNEL_BOX_BALANCE * h->grid.n_cells), *out = put_nan(a, n * width);
    device_box_balance(a->device, &lanes->plan, &points->points, trace.data, loads.data, u.data, balance);
    take_scaled(a, balance, KERNEL_BOX_BALANCE * h->grid.n_cells);
    double *imbalance = put_nan(a, KERNEL_BOX_IMBALANCE * h->grid.n_cells);
    device_box_imbalance(a->device, &lanes->plan, balance, imbalance);
    take_scaled(a, imbalance, KERNEL_BOX_IMBALANCE * h->grid.n_cells);
    device_box_cells(a->device, &lanes->plan, &points->points, n, put(a, cells, n, sizeof *cells), trace.data,
                     u.data, out);
    take_scaled(a, out, n * width);
    vector_destroy(&u);
    vector_destroy(&loads);
    vector_destroy(&trace);
    test_free(sides);
    test_free(values);
    boxhdg_lanes_points_destroy(&points);
    boxhdg_lanes_destroy(&lanes);
    boxhdg_destroy(&h);
}

#include "device_tile.h"

/* ------------------------------------------------------------------------------------------ matrices */

/* Every third entry, or so, backwards. */
static void run_put_entries(struct arena *a, int64_t n) {
    int64_t *places = test_malloc(((size_t)n + 1) * sizeof *places);
    for (int64_t i = 0; i < n; i++) places[i] = 3 * (n - 1 - i) + i % 2;
    int64_t *there = put(a, places, n, sizeof *places);
    double *x = put_random(a, 3 * n, 1);
    device_put_entries(a->device, n, there, put_random(a, n, 2), x);
    take(a, x, 3 * n);
    device_put_entries(a->device, n / 2, there, NULL, x);
    take(a, x, 3 * n);
    test_free(places);
}

#include "device_lattice.h"
#include "device_level.h"
#include "device_tensor.h"

/* Every operation once, of coordinates and normals, with all derivatives: the same bits, so that nothing
 * flips between devices (without fused multiply-adds, as with FACET_INSTRUCTIONS=x86-64, cpu would not pass).
 */
static void run_expression(struct arena *a, int64_t n) {
    enum { BEFORE = 9 };
    struct expression_node nodes[BEFORE + N_OPS] = {
        {.op = OP_COORDINATE, .constant = 0, .first = 1},
        {.op = OP_COORDINATE, .constant = 1, .first = 2},
        {.op = OP_COORDINATE, .constant = 2, .first = 4},
        {.op = OP_COORDINATE, .constant = 3},
        {.op = OP_MULTIPLY, .argument = {0, 1}, .first = 3, .second = 1 << expression_pair(0, 1)},
        {.op = OP_MULTIPLY, .argument = {4, 2}, .first = 7, .second = 2 | 4 | 16},
        {.op = OP_MULTIPLY, .argument = {5, 5}, .first = 7, .second = 63},
        {.op = OP_ADD, .argument = {6, 0}, .first = 7, .second = 63},
        {.op = OP_SUBTRACT, .argument = {7, 3}, .first = 7, .second = 63},
    };
    int count = BEFORE;
    for (int op = OP_NEGATE; op < N_OPS; op++) {
        int flat = (expression_bends(op) & EXPRESSION_FLAT) != 0;
        nodes[count++] = (struct expression_node){.op = op,
                                                  .constant = op == OP_INTEGER_POWER ? -3 : 2.5,
                                                  .argument = {7 + op % 2, 8 - op % 2, 6 + op % 3},
                                                  .first = flat ? 0 : 7,
                                                  .second = flat ? 0 : 63};
    }
    struct expression_plan plan = {.dim = 3,
                                   .block = (int)n + 3,
                                   .n_nodes = count,
                                   .keep = 1,
                                   .nodes = put(a, nodes, count, sizeof *nodes)};
    double *x = put_random(a, 3 * n, 1), *normals = put_random(a, 3 * n, 2);
    for (plan.order = 0; plan.order < 3; plan.order++) {
        int64_t size = (count * expression_jet(plan.order) + EXPRESSION_SCRATCH) * (int64_t)plan.block;
        double *zeros = test_calloc((size_t)size, sizeof *zeros), *work = put(a, zeros, size, sizeof *zeros);
        device_expression(a->device, &plan, n, x, normals, work);
        double *out = room(a, size - EXPRESSION_SCRATCH * (int64_t)plan.block);
        ok(device_download(a->device, zeros, work, (size_t)size * sizeof *zeros));
        for (int64_t i = 0; i < size - EXPRESSION_SCRATCH * (int64_t)plan.block; i++) {
            double number = zeros[EXPRESSION_SCRATCH * (int64_t)plan.block + i];
            out[i] = isfinite(number) ? number
                     : isnan(number)  ? -12345.5
                                      : 12345.5; /* compared like numbers */
        }
        test_free(zeros);
    }
}

/* Bricks of brick_helpers.h: the kernel where the arrays are not the host's, products of the host elsewhere.
 */
static void run_modes_solve(struct arena *a, int64_t number) {
    struct brick_setup s;
    struct box_diagonal *diagonal;
    struct linear_operator M;
    brick_setup_create(a->device, (int)number, &s);
    ok(operator_create_diagonalization(a->device, &s.grid, &s.element, &diagonal, &M));
    struct vector b = {.device = a->device, .n = s.n, .data = put_random(a, s.n, 1)},
                  u = {.device = a->device, .n = s.n, .data = put_nan(a, s.n)};
    operator_apply(&M, &b, &u);
    take(a, u.data, s.n);
    box_diagonal_destroy(&diagonal);
    brick_setup_destroy(&s);
}

#include "device_cells.h"
#include "device_general.h"
#include "device_half.h"

/* ------------------------------------------------------------------------------------------ parity */

static const struct check {
    const char *kernel, *also; /* also: a second kernel that this check runs; _single: in F32 */
    void (*run)(struct arena *a, int64_t size);
    double tolerance; /* relative, of numbers of size 1; 0: the same bits wherever there is FMA */
    int64_t sizes[16];
} checks[] = {
    {"fill", NULL, run_fill, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"axpby", NULL, run_axpby, 1e-15, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"multiply", NULL, run_multiply, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"dot", NULL, run_dot, 1e-12, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"narrow", NULL, run_narrow, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"narrow_single", NULL, run_narrow_single, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"widen", NULL, run_widen, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"widen_single", NULL, run_widen_single, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"add", NULL, run_add, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"add_single", NULL, run_add_single, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"put_entries", NULL, run_put_entries, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"take_entries",
     "add_entries",
     run_move_entries,
     0,
     {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"take_entries_single",
     "add_entries_single",
     run_move_entries_single,
     0,
     {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"csr_apply", NULL, run_csr, 1e-14, {0, 1, 2, 3, 7, 63, 513, 4097, 10007, -1}},
    {"block_apply", NULL, run_block_apply, 1e-14, {0, 1, 2, 3, 7, 64, 65, 513, 5003, -1}},
    {"block_smooth", NULL, run_block_smooth, 1e-14, {0, 1, 2, 3, 7, 64, 65, 501, -1}},
    {"lane_smooth", NULL, run_lane_smooth, 1e-14, {0, 1, 2, 3, 7, 8, 9, 65, 501, -1}},
    {"cell_apply", NULL, run_cell_products, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    {"cell_apply_full", NULL, run_cell_apply_full, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    /* Sums of 48 products in another order, of which the rigid part is taken off: a GPU differs by 1.2e-6. */
    {"cell_apply_half", "cell_halve", run_cell_apply_half, 3e-6, {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    {"cell_apply_apart", NULL, run_cell_apply_apart, 3e-6, {1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    {"lane_invert", NULL, run_lane_invert, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 31, -1}},
    {"face_blocks", "face_sums", run_faces, 1e-14, {0, 1, 2, 3, 4, 5, 6, 7, 16, 33, -1}},
    {"cell_gather", NULL, run_faces, 1e-14, {21, -1}},
    {"face_rows", "face_columns", run_face_rows, 1e-14, {0, 1, 2, 3, 4, 5, 6, 7, 16, -1}},
    {"face_couple", NULL, run_face_rows, 1e-14, {21, -1}},
    {"part_prolong", "part_restrict", run_parts, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 10007, -1}},
    {"part_prolong_single",
     "part_restrict_single",
     run_parts_single,
     0,
     {0, 1, 2, 3, 7, 63, 513, 4097, 10007, -1}},
    {"corner_prolong", "corner_restrict", run_corners, 1e-14, {0, 1, 2, 3, 7, 63, 513, 4097, -1}},
    {"corner_prolong_single",
     "corner_restrict_single",
     run_corners_single,
     2e-6,
     {0, 1, 2, 3, 7, 63, 513, 4097, -1}},
    {"cell_corners", NULL, run_cell_corners, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 16, 33, -1}},
    {"cell_lower", "cell_summary", run_cell_lower, 1e-14, {0, 1, 2, 3, 4, 5, 6, 7, 16, 33, -1}},
    {"cell_extract", NULL, run_cell_lower, 1e-14, {21, -1}},
    {"affine_coefficients", NULL, run_affine_coefficients, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 13, 34, -1}},
    {"condense_affine", "condense_scratch", run_condense, 1e-11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 19, -1}},
    {"condense_sum", "condense_sum_scratch", run_condense_sum, 1e-11, {0, 1, 2, 3, 4, 5, 6, 7, 10, 19, -1}},
    {"condense_elastic",
     "elastic_scratch",
     run_condense_elastic,
     1e-11,
     {0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 19, 101, 102, 103, 108, -1}},
    {"elastic_solve", NULL, run_elastic_solve, 1e-11, {0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 19, -1}},
    {"condense_elastic_general",
     "elastic_general_scratch",
     run_condense_elastic_general,
     1e-9,
     {0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 19, -1}},
    {"elastic_general_solve",
     NULL,
     run_elastic_general_solve,
     1e-9,
     {0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 19, -1}},
    {"physical_functions",
     NULL,
     run_physical_functions,
     1e-12,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 19, 34, -1}},
    {"elastic_weights", NULL, run_elastic_weights, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 34, -1}},
    {"batch_extend", NULL, run_batch_extend, 1e-12, {0, 1, 2, 3, 4, 5, 7, 8, 13, 27, 41, -1}},
    {"row_solve", NULL, run_row_solve, 1e-13, {0, 1, 2, 3, 7, 8, 9, 24, 101, 2003, -1}},
    {"row_solve_single", NULL, run_row_solve_single, 1e-6, {0, 1, 2, 3, 7, 8, 9, 24, 101, 2003, -1}},
    {"affine_solve", NULL, run_affine_solve, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 19, -1}},
    {"sum_solve", NULL, run_sum_solve, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 10, 19, -1}},
    {"brick_apply", "brick_scratch", run_brick_apply, 1e-12, {0, 1, 3, 4, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"brick_diagonal", NULL, run_brick_diagonal, 1e-12, {0, 1, 2, 3, 4, 5, 6, 9, 11, 13, 14, -1}},
    {"point_sweep", NULL, run_point_sweep, 1e-11, {2, 3, 6, 9, 10, 11, 13, 14, 15, 16, 17, -1}},
    {"brick_prolong",
     "transfer_scratch",
     run_brick_prolong,
     1e-12,
     {0, 2, 3, 6, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"brick_restrict", NULL, run_brick_restrict, 1e-12, {0, 2, 3, 6, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"patch_sweep", "patch_scratch", run_patch_sweep, 1e-9, {1, 2, 3, 4, 5, 6, 9, 11, 13, 14, 17, -1}},
    {"modes_solve", "modes_scratch", run_modes_solve, 1e-9, {0, 1, 2, 3, 5, 6, 8, 10, 12, 15, 19, -1}},
    {"table_apply", NULL, run_table_apply, 1e-13, {0, 1, 2, 3, 4, 7, 11, -1}},
    {"cell_metric", NULL, run_cell_metric, 1e-13, {0, 1, 2, 3, 4, 7, 11, -1}},
    {"face_metric", NULL, run_face_metric, 1e-13, {0, 1, 2, 3, 4, 7, 11, -1}},
    {"condense_general",
     "condense_general_scratch",
     run_condense_general,
     1e-9,
     {0, 1, 2, 4, 5, 6, 9, 13, -1}},
    {"general_solve", NULL, run_general_solve, 1e-9, {0, 1, 2, 3, 4, 5, 6, 7, 9, 13, -1}},
    {"gradient_solve", "gradient_solve_scratch", run_gradient_solve, 1e-9, {0, 1, 2, 3, 4, 7, 11, 18, -1}},
    {"error_squares", NULL, run_error_squares, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 11, -1}},
    {"star_weights", NULL, run_star_weights, 1e-13, {0, 1, 2, 3, 4, 7, 11, -1}},
    {"lane_values", NULL, run_lane_values, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 13, 34, -1}},
    {"general_weights", NULL, run_general_weights, 1e-13, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 34, -1}},
    {"cell_balance", NULL, run_cell_balance, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 15, 27, -1}},
    {"tensor_contract", NULL, run_tensor_contract, 1e-13, {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 61, -1}},
    {"expression", NULL, run_expression, 0, {0, 1, 2, 3, 7, 8, 9, 63, 65, 130, 257, -1}},
    {"fill_single", NULL, run_fill_single, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"axpby_single", NULL, run_axpby_single, 3e-7, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"multiply_single", NULL, run_multiply_single, 0, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"dot_single", NULL, run_dot_single, 1e-12, {0, 1, 2, 3, 7, 63, 513, 4097, 8191, 8193, 50001, -1}},
    {"csr_apply_single", NULL, run_csr_single, 1e-6, {0, 1, 2, 3, 7, 63, 513, 4097, 10007, -1}},
    {"block_apply_single", NULL, run_block_apply_single, 1e-6, {0, 1, 2, 3, 7, 64, 65, 513, 5003, -1}},
    {"block_smooth_single", NULL, run_block_smooth_single, 1e-6, {0, 1, 2, 3, 7, 64, 65, 501, -1}},
    {"lane_smooth_single", NULL, run_lane_smooth_single, 1e-6, {0, 1, 2, 3, 7, 8, 9, 65, 501, -1}},
    {"cell_apply_single", NULL, run_cell_apply_single, 1e-5, {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    {"cell_apply_full_single",
     NULL,
     run_cell_apply_full_single,
     1e-5,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 34, -1}},
    {"box_step", "box_residual", run_box, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1}},
    {"box_form", "box_recur", run_box_terms, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1}},
    {"box_load", "box_recover", run_box_points, 1e-11, {0, 1, 2, 4, 5, 6, 8, 11, -1}},
    {"box_diagonal", "box_balance", run_box_cells, 1e-11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, -1}},
    {"box_scale", NULL, run_box_scale, 1e-13, {0, 1, 2, 3, 4, 5, 6, 11, -1}},
    {"box_scale_single", NULL, run_box_scale_single, 1e-6, {0, 1, 2, 3, 4, 5, 6, 11, -1}},
    {"box_cells", "box_imbalance", run_box_cells, 1e-11, {9, 10, -1}},
    {"tile_contract",
     "tile_scratch",
     run_tile,
     1e-13,
     {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 20, 33, 41, 61, 62, -1}},
    {"tile_extremes", "tile_contract_extremes", run_tile, 1e-13, {10, 38, -1}},
    {"tile_gather", "tile_add", run_tile_nodes, 1e-15, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 23, 31, -1}},
    {"tile_flux", "tile_divide", run_tile_errors, 1e-12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 22, 26, -1}},
    {"tile_difference", "tile_faces", run_tile_errors, 1e-12, {11, 14, 29, -1}},
    {"tile_expression", NULL, run_tile_expression, 0, {0, 1, 2, 3, 4, 5, 11, 29, 40, -1}},
    {"axis_apply", NULL, run_axis_apply, 1e-13, {0, 1, 2, 3, 7, 63, 64, 65, 94, 129, 201, 334, -1}},
    {"axis_apply_single",
     NULL,
     run_axis_apply_single,
     5e-3,
     {0, 1, 2, 3, 7, 63, 64, 65, 94, 129, 201, 334, -1}},
    {"box_to_lattice", "box_from_lattice", run_box_lattice, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, -1}},
    {"box_to_lattice_single",
     "box_from_lattice_single",
     run_box_lattice_single,
     0,
     {0, 1, 2, 3, 4, 5, 6, 11, -1}},
    {"brick_scale", NULL, run_brick_scale, 1e-14, {0, 1, 2, 3, 4, 5, 6, 9, 11, 13, 14, -1}},
    {"box_prolong", "box_restrict", run_box_coarse, 1e-14, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1}},
    {"box_step_single",
     "box_residual_single",
     run_box_single,
     1e-4,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1}},
    {"box_form_single",
     "box_recur_single",
     run_box_terms_single,
     1e-4,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1}},
    {"box_prolong_single",
     "box_restrict_single",
     run_box_coarse_single,
     1e-6,
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1}},
    {"brick_apply_single", NULL, run_brick_apply_single, 2e-4, {0, 1, 3, 4, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"brick_diagonal_single",
     NULL,
     run_brick_diagonal_single,
     2e-4,
     {0, 1, 2, 3, 4, 5, 6, 9, 11, 13, 14, -1}},
    {"point_sweep_single", NULL, run_point_sweep_single, 1e-3, {2, 3, 6, 9, 10, 11, 13, 14, 15, 16, 17, -1}},
    {"brick_prolong_single",
     NULL,
     run_brick_prolong_single,
     2e-4,
     {0, 2, 3, 6, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"brick_restrict_single",
     NULL,
     run_brick_restrict_single,
     2e-4,
     {0, 2, 3, 6, 18, 19, 20, 21, 22, 23, 24, -1}},
    {"patch_sweep_single", NULL, run_patch_sweep_single, 1e-2, {1, 2, 3, 4, 5, 6, 9, 11, 13, 14, 17, -1}},
};
enum { N_CHECKS = sizeof checks / sizeof *checks };

/* What came out on a device against ref. */
static int compare(const struct check *check, const struct arena *a, const struct arena *ref, int64_t size,
                   int threads) {
    int fused = strcmp(kernels_instructions(NULL), "x86-64") != 0;
    double tolerance = check->tolerance > 0 || fused ? check->tolerance : 1e-13;
    assert_int_equal(a->n_out, ref->n_out);
    for (int64_t i = 0; i < ref->n_out; i++)
        if (!(fabs(a->out[i] - ref->out[i]) <= tolerance * (1 + fabs(ref->out[i])))) {
            print_error("%s on %s, size %lld, %d threads: number %lld is %.17g, not %.17g\n", check->kernel,
                        device_name(a->device), (long long)size, threads, (long long)i, a->out[i],
                        ref->out[i]);
            return 0;
        }
    return 1;
}

/* The kernel on one device with the first n_counts numbers of threads, with the first of them `twice`. */
static int agrees(const struct check *check, const struct arena *ref, const char *name, int64_t size,
                  int n_counts, int twice) {
    struct arena first = {.device = find(name)};
    int agree = 1;
    base_set_threads(thread_counts[0]);
    check->run(&first, size);
    agree = compare(check, &first, ref, size, thread_counts[0]);
    for (int t = twice ? 0 : 1; t < n_counts; t++) {
        struct arena a = {.device = find(name)};
        base_set_threads(thread_counts[t]);
        check->run(&a, size);
        agree = compare(check, &a, ref, size, thread_counts[t]) && agree;
        if (t == 0 && a.n_out > 0 && memcmp(a.out, first.out, (size_t)a.n_out * sizeof *a.out) != 0) {
            print_error("%s on %s, size %lld: not the same bits again\n", check->kernel, name,
                        (long long)size);
            agree = 0;
        }
        arena_destroy(&a);
    }
    arena_destroy(&first);
    return agree;
}

/* Behind the wall of `debug` stand the kernels of ref, so that one number of threads is enough there. */
static void every_kernel_gives_what_ref_gives(void **state) {
    (void)state;
    const int n_counts = is_long_run() ? 4 : 2;
    int64_t before = live_blocks();
    int failed = 0;
    for (int k = 0; k < N_CHECKS; k++)
        for (int s = 0; checks[k].sizes[s] >= 0; s++) {
            struct arena ref = {.device = find("ref")};
            checks[k].run(&ref, checks[k].sizes[s]);
            failed += !agrees(&checks[k], &ref, "cpu", checks[k].sizes[s], n_counts, 1);
            failed += !agrees(&checks[k], &ref, "debug", checks[k].sizes[s], 1, is_long_run());
            arena_destroy(&ref);
        }
    base_set_threads(0);
    assert_int_equal(failed, 0);
    assert_int_equal(live_blocks(), before);
}

/* Whether a check named so runs this kernel, in any precision. */
static int is_of(const char *check, const char *kernel) {
    size_t n = strlen(kernel);
    return check != NULL && strncmp(check, kernel, n) == 0 &&
           (check[n] == '\0' || strcmp(check + n, "_single") == 0);
}

static int kernel_is_on(const struct device *device, const char *kernel) {
    for (int k = 0; k < device_n_kernels(); k++)
        if (is_of(kernel, device_kernel_name(k))) return device_support(device, k) != DEVICE_NONE;
    return 0;
}

/* Where there is a GPU; else this test is skipped. */
static void the_gpu_gives_what_ref_gives(void **state) {
    (void)state;
    const struct device *gpu;
    int failed = 0;
    if (device_find("cuda", &gpu) != FACET_OK) skip();
    for (int k = 0; k < N_CHECKS; k++)
        for (int s = 0; kernel_is_on(gpu, checks[k].kernel) && checks[k].sizes[s] >= 0; s++) {
            struct arena ref = {.device = find("ref")};
            checks[k].run(&ref, checks[k].sizes[s]);
            failed += !agrees(&checks[k], &ref, "cuda", checks[k].sizes[s], 1, 1);
            arena_destroy(&ref);
        }
    ok(device_check(gpu));
    assert_int_equal(failed, 0);
}

/* Every kernel of the list is there in ref, and is compared with it above in all its precisions. */
static void the_support_matrix_is_true_and_tested(void **state) {
    (void)state;
    int k = 0;
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    {                                                                                                        \
        int tested = 0, own = kernels_simd()->name[0] != NULL;                                               \
        assert_string_equal(device_kernel_name(k), #name);                                                   \
        for (int p = 0; p < KERNEL_##precisions; p++) {                                                      \
            assert_true(kernels_ref()->name[p] != NULL);                                                     \
            assert_int_equal(kernels_simd()->name[p] != NULL, own);                                          \
        }                                                                                                    \
        assert_int_equal(device_support(find("ref"), k), DEVICE_OWN);                                        \
        assert_int_equal(device_support(find("debug"), k), DEVICE_REF);                                      \
        assert_int_equal(device_support(find("cpu"), k), own ? DEVICE_OWN : DEVICE_REF);                     \
        for (int c = 0; c < N_CHECKS; c++)                                                                   \
            tested += is_of(checks[c].kernel, #name) || is_of(checks[c].also, #name);                        \
        if (strstr(#name, "scratch") == NULL && tested != KERNEL_##precisions)                               \
            fail_msg("the kernel " #name " has no test of parity in each precision");                        \
        if (tested < 1) fail_msg("the kernel " #name " has no test of parity");                              \
        k++;                                                                                                 \
    }
#include "kernels/kernels.def"
#undef KERNEL
    assert_int_equal(k, device_n_kernels());
}

/* A kernel that `cuda` has not has a reason, whether there is a GPU or not; one that it has needs none. */
static void what_cuda_lacks_is_explained(void **state) {
    (void)state;
    const struct device *gpu;
    (void)device_find("cuda", &gpu);
    if (gpu == NULL) skip();
    for (int k = 0; k < device_n_kernels(); k++)
        assert_int_equal(device_support(gpu, k) == DEVICE_NONE, device_why_none(k)[0] != '\0');
}

/* ------------------------------------------------------------------------------------------ the wall */

/* A child process touches memory of the device from outside; its end is told. */
static int touching_it_kills(const char *name, int write_it) {
    pid_t child = fork();
    if (child == 0) {
        struct vector x;
        signal(SIGSEGV, SIG_DFL); /* the sanitizer and cmocka have handlers of their own */
        if (vector_create(find(name), 1000, &x) != FACET_OK) _exit(1);
        vector_fill(&x, 1.0);
        volatile double *data = x.data;
        if (write_it) data[500] = 2.0;
        _exit(data[500] > 0.0 ? 0 : 1);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void the_wall_keeps_strangers_out(void **state) {
    (void)state;
    assert_true(touching_it_kills("debug", 0));
    assert_true(touching_it_kills("debug", 1));
    assert_false(touching_it_kills("ref", 0));
    assert_false(touching_it_kills("cpu", 1));
}

/* Views give the host's own array where there is one, and a copy behind the wall. */
static void views_can_be_read(void **state) {
    (void)state;
    int64_t before = live_blocks();
    static const char *const names[] = {"cpu", "ref", "debug"};
    for (int d = 0; d < 3; d++) {
        struct arena a = {.device = find(names[d])};
        double *x = put_random(&a, 100, 4), *same = random_numbers(100, 4);
        const double *view;
        ok(device_view(a.device, x, 100, sizeof *x, (const void **)&view));
        assert_int_equal(view == x, d < 2);
        assert_memory_equal(view, same, 100 * sizeof *view);
        device_unview(a.device, x, (const void **)&view);
        assert_null(view);
        ok(device_view(a.device, NULL, 0, sizeof *x, (const void **)&view));
        device_unview(a.device, NULL, (const void **)&view);
        test_free(same);
        arena_destroy(&a);
    }
    assert_int_equal(live_blocks(), before);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const names[] = {"cpu", "ref", "debug"};
    int64_t before = live_blocks();
    for (int d = 0; d < 3; d++) {
        const struct device *device = find(names[d]);
        double *x = (double *)1, host[3] = {1, 2, 3};
        const void *view = host;
        base_memory_fail_at(1);
        refused(device_copy(device, &x, host, 3, sizeof *x), FACET_ERROR_MACHINE, "memory");
        assert_null(x);
        refused(device_alloc(device, &x, SIZE_MAX / 4, sizeof *x), FACET_ERROR_MACHINE, "memory");
        assert_null(x);
        ok(device_alloc(device, &x, 0, sizeof *x));
        assert_null(x);
        device_free(device, &x);
        ok(device_copy(device, &x, host, 3, sizeof *x));
        base_memory_fail_at(1);
        facet_status status = device_view(device, x, 3, sizeof *x, &view);
        base_memory_fail_at(0);
        assert_int_equal(status, d < 2 ? FACET_OK : FACET_ERROR_MACHINE);
        device_unview(device, x, &view);
        device_free(device, &x);
        device_free(device, &x);
    }
    assert_int_equal(live_blocks(), before);
}

/* The reference kernels themselves, by hand. */
static void ref_does_what_it_says(void **state) {
    (void)state;
    const struct device *ref = find("ref");
    const int64_t offsets[] = {0, 2, 2, 3}, first[] = {0, 1, 3}, starts[] = {0, 1};
    const int32_t columns[] = {0, 2, 1};
    const double values[] = {2, -1, 4}, blocks[] = {5, 1, 2, 3, 4}, x[] = {1, 10, 100};
    double y[3] = {NAN, NAN, NAN};
    device_csr_apply(ref, F64, 3, offsets, columns, values, x, y);
    assert_true(y[0] == -98 && y[1] == 0 && y[2] == 40);
    device_block_apply(ref, F64, 2, first, starts, blocks, x, y);
    assert_true(y[0] == 5 && y[1] == 310 && y[2] == 420);
    device_multiply(ref, F64, 3, x, x, y);
    assert_true(y[0] == 1 && y[1] == 100 && y[2] == 10000);
}

/* Bit for bit: the same for every number of threads and every repetition. */
static void dot_is_deterministic(void **state) {
    (void)state;
    const int64_t n = 5000003;
    double *x = random_numbers(n, 3), *y = random_numbers(n, 4), first = 0;
    struct vector a, b;
    upload(find("cpu"), n, x, &a);
    upload(find("cpu"), n, y, &b);
    for (int t = 0; t < 4; t++) {
        base_set_threads(thread_counts[t]);
        for (int i = 0; i < 3; i++) {
            double dot = vector_dot(&a, &b);
            if (t == 0 && i == 0) first = dot;
            assert_true(dot == first);
        }
    }
    base_set_threads(0);
    double exact = 0; /* the scale of the sum is n/3 */
    for (int64_t i = 0; i < n; i++) exact += x[i] * y[i];
    near(first, exact, 1e-12 * (double)n);
    vector_destroy(&a);
    vector_destroy(&b);
    test_free(x);
    test_free(y);
}

static void unknown_devices_are_refused(void **state) {
    (void)state;
    const struct device *device;
    facet_context *context = NULL;
    assert_string_equal(device_name(find(NULL)), "cpu");
    assert_string_equal(device_name(find("ref")), "ref");
    refused(device_find("tpu", &device), FACET_ERROR_INPUT, "tpu");
    assert_non_null(strstr(facet_message(), device_list()));
    refused(device_find("", &device), FACET_ERROR_INPUT, device_list());
    refused(facet_context_create("gpu", &context), FACET_ERROR_INPUT, "gpu");
    assert_null(context);
    facet_context_destroy(&context);
}

static void contexts_carry_device_threads_and_monitor(void **state) {
    (void)state;
    int64_t before = live_blocks();
    facet_context *context;
    ok(facet_context_create("ref", &context));
    assert_string_equal(facet_context_device(context), "ref");
    ok(facet_context_set_threads(context, 3));
    assert_int_equal(facet_context_threads(context), BASE_HAS_OPENMP ? 3 : 1);
    refused(facet_context_set_threads(context, -1), FACET_ERROR_INPUT, "-1");
    ok(facet_context_set_threads(context, 0));
    assert_true(facet_context_threads(context) >= 1);
    facet_context_destroy(&context);
    assert_null(context);
    facet_context_destroy(&context);
    base_memory_fail_at(1);
    refused(facet_context_create("ref", &context), FACET_ERROR_MACHINE, "memory");
    assert_int_equal(live_blocks(), before);
}

/* With an argument: only the tests whose names it is the pattern of. */
int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gives_what_ref_gives),
        cmocka_unit_test(the_gpu_gives_what_ref_gives),
        cmocka_unit_test(the_support_matrix_is_true_and_tested),
        cmocka_unit_test(what_cuda_lacks_is_explained),
        cmocka_unit_test(the_wall_keeps_strangers_out),
        cmocka_unit_test(views_can_be_read),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(ref_does_what_it_says),
        cmocka_unit_test(dot_is_deterministic),
        cmocka_unit_test(unknown_devices_are_refused),
        cmocka_unit_test(contexts_carry_device_threads_and_monitor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
