/* The support matrix: which device has which kernel, declared here and nowhere else. A kernel that is added
 * to struct kernels without a row does not compile; tests/test_device.c compares the rows with the tables. */
#include "device/device.h"

#include <string.h>

#define OWN  DEVICE_OWN
#define REF  DEVICE_REF
#define NONE DEVICE_NONE

enum { CPU, REFERENCE, DEBUG, CUDA, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"cpu", "ref", "debug", "cuda"};

struct row {
    const char *kernel;
    enum device_support support[N_COLUMNS];
};

static const struct row rows[] = {
    /* clang-format off */
    /*                   cpu  ref  debug cuda */
    {"fill",            {OWN, OWN, REF, OWN}},
    {"axpby",           {OWN, OWN, REF, OWN}},
    {"multiply",        {OWN, OWN, REF, OWN}},
    {"dot",             {OWN, OWN, REF, OWN}},
    {"csr_apply",       {OWN, OWN, REF, OWN}},
    {"ell_apply",       {OWN, OWN, REF, NONE}},
    {"block_apply",     {OWN, OWN, REF, NONE}},
    {"block_smooth",    {OWN, OWN, REF, NONE}},
    {"facet_apply",     {OWN, OWN, REF, NONE}},
    {"cell_apply",      {OWN, OWN, REF, NONE}},
    {"cell_run",        {OWN, OWN, REF, NONE}},
    {"facet_sweep",     {OWN, OWN, REF, NONE}},
    {"facet_sweep_scratch", {OWN, OWN, REF, NONE}},
    {"condense_affine", {OWN, OWN, REF, NONE}},
    {"condense_scratch", {OWN, OWN, REF, NONE}},
    {"condense_sum",    {OWN, OWN, REF, NONE}},
    {"condense_sum_scratch", {OWN, OWN, REF, NONE}},
    {"batch_load",      {OWN, OWN, REF, NONE}},
    {"batch_recover",   {OWN, OWN, REF, NONE}},
    {"affine_flux",     {OWN, OWN, REF, NONE}},
    {"box_step", {OWN, OWN, REF, NONE}},
    {"box_residual", {OWN, OWN, REF, NONE}},
    {"box_prolong", {OWN, OWN, REF, NONE}},
    {"box_restrict", {OWN, OWN, REF, NONE}},
    {"brick_apply", {OWN, OWN, REF, OWN}},
    {"brick_scratch", {OWN, OWN, REF, OWN}},
    {"brick_diagonal", {OWN, OWN, REF, OWN}},
    {"point_sweep", {OWN, OWN, REF, NONE}},
    {"brick_prolong", {OWN, OWN, REF, OWN}},
    {"brick_restrict", {OWN, OWN, REF, OWN}},
    {"transfer_scratch", {OWN, OWN, REF, OWN}},
    {"patch_sweep", {OWN, OWN, REF, OWN}},
    {"patch_scratch", {OWN, OWN, REF, OWN}},
    {"fill_single",     {OWN, OWN, REF, OWN}},
    {"axpby_single",    {OWN, OWN, REF, OWN}},
    {"multiply_single", {OWN, OWN, REF, OWN}},
    {"dot_single",      {OWN, OWN, REF, OWN}},
    {"csr_apply_single", {OWN, OWN, REF, OWN}},
    {"block_apply_single", {OWN, OWN, REF, NONE}},
    {"block_smooth_single", {OWN, OWN, REF, NONE}},
    {"cell_apply_single", {OWN, OWN, REF, NONE}},
    {"facet_sweep_single", {OWN, OWN, REF, NONE}},
    {"convert_to_single", {OWN, OWN, REF, OWN}},
    {"convert_to_double", {OWN, OWN, REF, OWN}},
    {"box_step_single", {OWN, OWN, REF, NONE}},
    {"box_residual_single", {OWN, OWN, REF, NONE}},
    {"box_prolong_single", {OWN, OWN, REF, NONE}},
    {"box_restrict_single", {OWN, OWN, REF, NONE}},
    {"brick_apply_single", {OWN, OWN, REF, OWN}},
    {"brick_diagonal_single", {OWN, OWN, REF, OWN}},
    {"point_sweep_single", {OWN, OWN, REF, NONE}},
    {"brick_prolong_single", {OWN, OWN, REF, OWN}},
    {"brick_restrict_single", {OWN, OWN, REF, OWN}},
    {"patch_sweep_single", {OWN, OWN, REF, OWN}},
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
