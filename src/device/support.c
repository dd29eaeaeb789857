/* The support matrix: which device has which kernel, declared here and nowhere else. A kernel that is added
 * to struct kernels without a row does not compile; tests/test_device.c compares the rows with the tables. */
#include "device/device.h"

#include <string.h>

#define OWN  DEVICE_OWN
#define REF  DEVICE_REF
#define NONE DEVICE_NONE

enum { CPU, REFERENCE, DEBUG, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"cpu", "ref", "debug"};

struct row {
    const char *kernel;
    enum device_support support[N_COLUMNS];
};

static const struct row rows[] = {
    /* clang-format off */
    /*                   cpu  ref  debug */
    {"fill",            {OWN, OWN, REF}},
    {"axpby",           {OWN, OWN, REF}},
    {"multiply",        {OWN, OWN, REF}},
    {"dot",             {OWN, OWN, REF}},
    {"csr_apply",       {OWN, OWN, REF}},
    {"ell_apply",       {OWN, OWN, REF}},
    {"block_apply",     {OWN, OWN, REF}},
    {"block_smooth",    {OWN, OWN, REF}},
    {"facet_apply",     {OWN, OWN, REF}},
    {"cell_apply",      {OWN, OWN, REF}},
    {"cell_run",        {OWN, OWN, REF}},
    {"condense_affine", {OWN, OWN, REF}},
    {"condense_scratch", {OWN, OWN, REF}},
    {"condense_sum",    {OWN, OWN, REF}},
    {"condense_sum_scratch", {OWN, OWN, REF}},
    {"batch_load",      {OWN, OWN, REF}},
    {"batch_recover",   {OWN, OWN, REF}},
    {"affine_flux",     {OWN, OWN, REF}},
    {"box_step", {OWN, OWN, REF}},
    {"box_residual", {OWN, OWN, REF}},
    {"box_prolong", {OWN, OWN, REF}},
    {"box_restrict", {OWN, OWN, REF}},
    {"brick_apply", {OWN, OWN, REF}},
    {"brick_scratch", {OWN, OWN, REF}},
    {"brick_diagonal", {OWN, OWN, REF}},
    {"point_sweep", {OWN, OWN, REF}},
    {"brick_prolong", {OWN, OWN, REF}},
    {"brick_restrict", {OWN, OWN, REF}},
    {"transfer_scratch", {OWN, OWN, REF}},
    {"patch_sweep", {OWN, OWN, REF}},
    {"patch_scratch", {OWN, OWN, REF}},
    {"fill_single",     {OWN, OWN, REF}},
    {"axpby_single",    {OWN, OWN, REF}},
    {"multiply_single", {OWN, OWN, REF}},
    {"dot_single",      {OWN, OWN, REF}},
    {"csr_apply_single", {OWN, OWN, REF}},
    {"block_apply_single", {OWN, OWN, REF}},
    {"block_smooth_single", {OWN, OWN, REF}},
    {"cell_apply_single", {OWN, OWN, REF}},
    {"convert_to_single", {OWN, OWN, REF}},
    {"convert_to_double", {OWN, OWN, REF}},
    {"box_step_single", {OWN, OWN, REF}},
    {"box_residual_single", {OWN, OWN, REF}},
    {"box_prolong_single", {OWN, OWN, REF}},
    {"box_restrict_single", {OWN, OWN, REF}},
    {"brick_apply_single", {OWN, OWN, REF}},
    {"brick_diagonal_single", {OWN, OWN, REF}},
    {"point_sweep_single", {OWN, OWN, REF}},
    {"brick_prolong_single", {OWN, OWN, REF}},
    {"brick_restrict_single", {OWN, OWN, REF}},
    {"patch_sweep_single", {OWN, OWN, REF}},
    /* clang-format on */
};
#define N_ROWS (sizeof rows / sizeof rows[0])
_Static_assert(N_ROWS * sizeof(void (*)(void)) == sizeof(struct kernels), "one row for every kernel");

int device_n_kernels(void) {
    return (int)N_ROWS;
}

const char *device_kernel_name(int kernel) {
    return rows[kernel].kernel;
}

enum device_support device_support(const struct device *device, int kernel) {
    for (int c = 0; c < N_COLUMNS; c++)
        if (strcmp(columns[c], device_name(device)) == 0) return rows[kernel].support[c];
    return NONE;
}

const char *device_support_name(enum device_support support) {
    static const char *const names[] = {"-", "ref", "own"};
    return names[support];
}
