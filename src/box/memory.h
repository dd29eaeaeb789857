/* Memory that a solve on a box takes on its device, counted before anything is allocated, so that a device
 * with too little of its own can say at once what would fit. */
#ifndef FACET_BOX_MEMORY_H
#define FACET_BOX_MEMORY_H

#include "device/device.h"

struct box_need {
    const struct device *device;
    int dim;
    const int *cells;                                    /* 3; 1 from dim on */
    double (*bytes)(const void *of, const int cells[3]); /* the same with other numbers of cells */
    const void *of;
};
/* FACET_ERROR_MACHINE when more is needed than the device has free: what ("elements of degree 3"), how much
 * of it, and a number of cells that would fit. */
facet_status box_check_memory(const struct box_need *need, const char *what);

#endif
