/* Memory that a solve on a box takes, counted before anything is allocated, on the host and on the device: so
 * that the program can say at once what would fit. */
#ifndef FACET_BOX_NEEDED_MEMORY_H
#define FACET_BOX_NEEDED_MEMORY_H

#include "device/device.h"

struct box_need {
    const struct device *device;
    int dim;
    const int *cells; /* 3; 1 from dim on */
    /* On the host and on the device, added to bytes[2]: the same with other numbers of cells. */
    void (*count)(const void *of, const int cells[3], double bytes[2]);
    const void *of;
};
/* FACET_ERROR_MACHINE when more is needed than there is (on the host, of both together, where the device has
 * no memory of its own): what ("elements of degree 3"), how much of it, and a number of cells that would
 * fit. */
facet_status box_check_memory(const struct box_need *need, const char *what);

#endif
