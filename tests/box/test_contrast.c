/* What a residual makes of the means of cells where k jumps: against resistances in a row. */
#include "box_plain.h"

#include "box/box.h"

enum { NX = 6, NY = 3 };
static const double k[NX] = {1.0, 1e8, 1e-4, 1e6, 3.0, 2e-7};
static const double at[2][NX + 1] = {{0.0, 0.3, 0.4, 1.0, 1.1, 1.7, 2.0}, {0.0, 0.2, 0.5, 1.5}};
/* What flows into a unit of height of every column. */
static const double into[NX] = {1.0, -2.0, 0.5, 3.0, 1e-3, -2.501};

static void make_grid(enum box_side left, struct box_grid *grid) {
    double conductivity[NX * NY];
    for (int c = 0; c < NX * NY; c++) conductivity[c] = k[c % NX];
    struct box_grid_data data = {.dim = 2,
                                 .cells = {NX, NY},
                                 .coordinates = {at[0], at[1]},
                                 .sides = {{left, BOX_NEUMANN}, {BOX_NEUMANN, BOX_NEUMANN}},
                                 .conductivity = conductivity};
    ok(box_grid_create(&data, grid));
}

static void fill_loads(double *loads) {
    for (int c = 0; c < NX * NY; c++) loads[c] = into[c % NX] * (at[1][c / NX + 1] - at[1][c / NX]);
}

/* All that flows in right of an interface leaves through it to the left. floating: all of it leaves
 * everywhere alike, and the mean is zero. */
static double expected(int floating) {
    double e[NX], flow = 0.0, mean = 0.0, square = 0.0, length = at[0][NX];
    for (int i = 0; i < NX; i++) flow += into[i];
    double everywhere = floating ? flow / length : 0.0;
    if (floating) flow = 0.0;
    e[0] = floating ? 0.0 : flow * 0.5 * at[0][1] / k[0];
    for (int i = 1; i < NX; i++) {
        flow -= into[i - 1] - everywhere * (at[0][i] - at[0][i - 1]);
        e[i] =
            e[i - 1] + flow * 0.5 * ((at[0][i] - at[0][i - 1]) / k[i - 1] + (at[0][i + 1] - at[0][i]) / k[i]);
    }
    for (int i = 0; i < NX; i++) mean += e[i] * (at[0][i + 1] - at[0][i]) / length;
    if (!floating) mean = 0.0;
    for (int i = 0; i < NX; i++) square += pow(e[i] - mean, 2) * (at[0][i + 1] - at[0][i]) / length;
    return sqrt(square);
}

static void resistances(void **state) {
    (void)state;
    double loads[NX * NY], error;
    fill_loads(loads);
    for (int floating = 0; floating < 2; floating++) {
        struct box_grid grid = {0};
        make_grid(floating ? BOX_NEUMANN : BOX_DIRICHLET, &grid);
        assert_true(box_is_contrasting(&grid));
        ok(box_contrast_error(&grid, 1, floating, 0.0, loads, &error));
        assert_true(fabs(error / expected(floating) - 1.0) < 1e-6);
        /* Rounding of loads: 2e-16 k / w of the column of 1e6, over 1e-4 / w of the soft one before it; where
         * all of it leaves everywhere, that of the column of 1e8 also over 2e-7 / w of the last one. */
        memset(loads, 0, sizeof loads);
        ok(box_contrast_error(&grid, 1, floating, 1.0, loads, &error));
        assert_true(floating ? error > 1e-3 && error < 0.1 : error > 1e-6 && error < 1e-4);
        fill_loads(loads);
        box_grid_destroy(&grid);
    }
}

static void without_jumps(void **state) {
    (void)state;
    double conductivity[4] = {1.0, 2.0, 3.0, 4.0};
    struct box_grid grid = {0};
    struct box_grid_data data = {.dim = 2,
                                 .cells = {2, 2},
                                 .coordinates = {at[0], at[1]},
                                 .sides = {{BOX_DIRICHLET, BOX_NEUMANN}, {BOX_PERIODIC, BOX_PERIODIC}},
                                 .conductivity = conductivity};
    ok(box_grid_create(&data, &grid));
    assert_false(box_is_contrasting(&grid));
    box_grid_destroy(&grid);
}

static int64_t live(void) {
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.live_blocks;
}

static void faults(void **state) {
    (void)state;
    double loads[NX * NY], error;
    struct box_grid grid = {0};
    make_grid(BOX_DIRICHLET, &grid);
    fill_loads(loads);
    facet_status status = FACET_ERROR_MACHINE;
    for (int64_t i = 1; status != FACET_OK; i++) {
        int64_t before = live();
        base_memory_fail_at(i);
        status = box_contrast_error(&grid, 1, 0, 1.0, loads, &error);
        base_memory_fail_at(0);
        if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(live(), before);
        assert_true(i < 1000);
    }
    box_grid_destroy(&grid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resistances),
        cmocka_unit_test(without_jumps),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
