/* What fits into the memory of the host and of a device. See needed_memory.h. */
#include "box/needed_memory.h"

#include <stdio.h>

#include "base/memory.h"

/* Bytes of these cells, host and device, where each is taken. */
static void count(const struct box_need *need, const int cells[3], double bytes[2]) {
    bytes[0] = bytes[1] = 0.0;
    need->count(need->of, cells, bytes);
    if (device_has_memory(need->device)) return;
    bytes[0] += bytes[1];
    bytes[1] = 0.0;
}

/* The same box with fewer cells: the largest common factor that fits, even numbers where there are many. */
static int find_size(const struct box_need *need, const double available[2], int cells[3]) {
    for (int permille = 1000; permille > 0; permille--) {
        double bytes[2];
        for (int d = 0; d < 3; d++) {
            cells[d] = (int)((int64_t)need->cells[d] * permille / 1000);
            if (cells[d] > 8) cells[d] -= cells[d] % 2;
            if (cells[d] < 1) cells[d] = 1;
        }
        count(need, cells, bytes);
        if (bytes[0] <= available[0] && bytes[1] <= available[1]) return 1;
    }
    return 0;
}

facet_status box_check_memory(const struct box_need *need, const char *what) {
    const double available[2] = {base_available_bytes(), device_free_bytes(need->device)};
    double bytes[2];
    int cells[3], at = 0;
    char fits[96] = "no number of cells would fit", where[64];
    count(need, need->cells, bytes);
    if (bytes[0] <= available[0] && bytes[1] <= available[1]) return FACET_OK;
    if (find_size(need, available, cells)) {
        at = snprintf(fits, sizeof fits, "of this degree ");
        for (int d = 0; d < need->dim; d++)
            at += snprintf(fits + at, sizeof fits - (size_t)at, "%d%s", cells[d],
                           d + 1 < need->dim ? " x " : " cells would fit");
    }
    snprintf(where, sizeof where, " on the device '%s'", device_name(need->device));
    facet_status status = base_check_memory(bytes[0], available[0], "", fits, "%s", what);
    return status != FACET_OK ? status : base_check_memory(bytes[1], available[1], where, fits, "%s", what);
}
