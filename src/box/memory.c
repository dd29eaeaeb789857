/* What fits into the memory of a device. See fit.h. */
#include "box/memory.h"

#include <stdio.h>

/* The same box with fewer cells: the largest common factor that fits, even numbers where there are many. */
static int find_size(const struct box_need *need, double bytes, int cells[3]) {
    for (int permille = 1000; permille > 0; permille--) {
        for (int d = 0; d < 3; d++) {
            cells[d] = (int)((int64_t)need->cells[d] * permille / 1000);
            if (cells[d] > 8) cells[d] -= cells[d] % 2;
            if (cells[d] < 1) cells[d] = 1;
        }
        if (need->bytes(need->of, cells) <= bytes) return 1;
    }
    return 0;
}

facet_status box_check_memory(const struct box_need *need, const char *what) {
    const double gib = 1073741824.0, needed = need->bytes(need->of, need->cells),
                 available = device_free_bytes(need->device);
    int cells[3];
    char fits[96] = "no number of cells";
    if (needed <= available) return FACET_OK;
    if (find_size(need, available, cells)) {
        int at = snprintf(fits, sizeof fits, "%d x %d", cells[0], cells[1]);
        if (need->dim == 1) at = snprintf(fits, sizeof fits, "%d", cells[0]);
        if (need->dim == 3) at += snprintf(fits + at, sizeof fits - (size_t)at, " x %d", cells[2]);
        snprintf(fits + at, sizeof fits - (size_t)at, " cells");
    }
    return base_fail(
        FACET_ERROR_MACHINE,
        "%s need about %.3f GiB (%.0f bytes) on the device '%s', where %.3f GiB (%.0f bytes) are "
        "free; of this degree %s would fit",
        what, needed / gib, needed, device_name(need->device), available / gib, available, fits);
}
