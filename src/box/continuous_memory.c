/* Continuous elements on a box: the memory that a solve takes, counted before anything is allocated, so that
 * a device with too little of its own can say at once what would fit. */
#include <math.h>
#include <stdio.h>

#include "box/continuous.h"

#define FGMRES_STEPS 10 /* it makes its vectors as it goes */

/* Vectors of the finest level that a solver keeps besides b and u, in double precision. */
static double solver_vectors(const struct box_continuous_options *o) {
    switch (o->solver) {
    case BOX_CONTINUOUS_CG:
        return 4.0;
    case BOX_CONTINUOUS_FGMRES:
        return 2.0 * FGMRES_STEPS + 1.0;
    case BOX_CONTINUOUS_DIRECT:
        return 2.0;
    default:
        return o->single ? 1.0 : 2.0;
    }
}

static double count_nodes(const struct box_continuous *c, const int cells[3]) {
    double n = 1.0;
    for (int d = 0; d < c->grid.dim; d++)
        n *= (double)c->degree * cells[d] + (c->grid.sides[d][0] != BOX_PERIODIC);
    return n;
}

/* With these cells. All levels below the finest have 1 / (2^dim - 1) of its nodes. */
static double bytes_for(const struct box_continuous *c, const int cells[3]) {
    const struct box_continuous_options *o = &c->options;
    const double n = count_nodes(c, cells), coarse = n / ((1 << c->grid.dim) - 1),
                 real = o->single ? 4.0 : 8.0;
    const int krylov = o->solver == BOX_CONTINUOUS_CG || o->solver == BOX_CONTINUOUS_FGMRES;
    const int cycle =
        o->solver != BOX_CONTINUOUS_DIRECT && !(krylov && o->preconditioner != BOX_PRECONDITION_CYCLE);
    double bytes = 8.0 * n * (2.0 + solver_vectors(o) + (c->grid.singular ? 1.0 : 0.0));
    if (o->solver == BOX_CONTINUOUS_DIRECT) {
        bytes += 2.0 * 8.0 * n;
        for (int d = 0; d < c->grid.dim; d++) bytes += 8.0 * 2.0 * pow((double)c->degree * cells[d], 2.0);
    }
    if (!cycle) return bytes;
    bytes += real * (o->single ? 3.0 : 1.0) * n + real * 3.0 * coarse;
    if (o->cycle == MG_FULL && !krylov) bytes += 8.0 * (o->single ? 3.0 : 1.0) * coarse;
    if (!c->grid.separable) { /* a factor at the nodes, a residual, k and lambda of the cells */
        bytes += (12.0 + 8.0) * (n + coarse);
        bytes += 16.0 * n / pow((double)c->degree, c->grid.dim);
    }
    return bytes;
}

double box_continuous_bytes(const struct box_continuous *c) {
    return bytes_for(c, c->grid.cells);
}

/* The same box with fewer cells: the largest common factor that fits, even numbers where there are many. */
static int find_size(const struct box_continuous *c, double bytes, int cells[3]) {
    for (int permille = 1000; permille > 0; permille--) {
        for (int d = 0; d < 3; d++) {
            cells[d] = (int)((int64_t)c->grid.cells[d] * permille / 1000);
            if (cells[d] > 8) cells[d] -= cells[d] % 2;
            if (cells[d] < 1) cells[d] = 1;
        }
        if (bytes_for(c, cells) <= bytes) return 1;
    }
    return 0;
}

facet_status box_continuous_check_memory(const struct box_continuous *c) {
    const double gib = 1073741824.0, needed = box_continuous_bytes(c),
                 available = device_free_bytes(c->device);
    int cells[3];
    char fits[96] = "no number of cells";
    if (needed <= available) return FACET_OK;
    if (find_size(c, available, cells)) {
        int at = snprintf(fits, sizeof fits, "%d x %d", cells[0], cells[1]);
        if (c->grid.dim == 1) at = snprintf(fits, sizeof fits, "%d", cells[0]);
        if (c->grid.dim == 3) at += snprintf(fits + at, sizeof fits - (size_t)at, " x %d", cells[2]);
        snprintf(fits + at, sizeof fits - (size_t)at, " cells");
    }
    return base_fail(
        FACET_ERROR_MACHINE,
        "continuous elements of degree %d with %lld nodes need about %.3f GiB (%.0f bytes) on the "
        "device '%s', where %.3f GiB (%.0f bytes) are free; of this degree %s would fit",
        c->degree, (long long)c->n_all, needed / gib, needed, device_name(c->device), available / gib,
        available, fits);
}
