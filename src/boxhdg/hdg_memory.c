/* HDG on a box: the memory that a solve takes, on the host and on its device. */
#include <stdio.h>

#include "box/needed_memory.h"
#include "boxhdg/lanes.h"
#include "boxhdg/lattice.h"
#include "boxhdg/resident.h"
#include "boxhdg/work.h"
#include "solve/history.h"

struct wanted {
    const struct device *device;
    const struct boxhdg *hdg;
    const struct boxhdg_solver_options *options;
    enum boxhdg_kept kept; /* the arrays of data and solution */
};

/* The direct solve by the host: right-hand side or result in plain modes, and both transformed; eigenvectors
 * of the lines; the constant; and what travels. */
static void count_direct(const struct wanted *w, double trace, const int cells[3], double bytes[2]) {
    const struct box_grid *g = &w->hdg->grid;
    bytes[0] += 8.0 * trace * (3.0 + (g->singular ? 1.0 : 0.0) + (device_is_host(w->device) ? 0.0 : 2.0));
    for (int d = 0; d < g->dim; d++) bytes[0] += 16.0 * (double)box_power(cells[d] * w->hdg->n, 2);
}

/* Iterations; the planes in front of the first cells are not counted. */
static void count_lanes(const struct wanted *w, const int cells[3], double trace, double bytes[2]) {
    const struct boxhdg_solver_options *o = w->options;
    const int dim = w->hdg->grid.dim, cycle = o->preconditioner == BOXHDG_CHEBYSHEV,
              coarse = cycle || o->preconditioner == BOXHDG_ADDITIVE;
    const double fast = o->mixed ? 4.0 : 8.0;
    const int width = device_box_lanes(w->device), packs = (cells[0] + width - 1) / width;
    double lanes = packs * (double)width;
    for (int d = 1; d < dim; d++) lanes *= cells[d];
    const double n = lanes * dim * (double)w->hdg->face_size, moments = lanes * dim * KERNEL_BOX_MOMENTS;
    /* Diagonal and metric; F and the solution; the true residual; the constant, twice. */
    const double diagonal = boxhdg_is_alike(w->hdg) && o->preconditioner != BOXHDG_NONE ? 0.0 : n;
    bytes[1] += 8.0 * (diagonal + KERNEL_BOX_METRIC * lanes) + 8.0 * 2.0 * n;
    if (w->hdg->grid.singular) bytes[1] += 8.0 * 2.0 * n;
    if (o->mixed) bytes[1] += 8.0 * n + 4.0 * (diagonal + KERNEL_BOX_METRIC * lanes);
    if (o->preconditioner == BOXHDG_DIRECT) { /* r and d of the refinement */
        bytes[1] += 8.0 * 2.0 * n;
        if (boxhdg_lattice_refusal(w->device, w->hdg) != NULL)
            count_direct(w, trace, cells, bytes);
        else
            bytes[1] += boxhdg_lattice_bytes(w->hdg, cells);
        return;
    }
    /* r, p, y; what came since the last update; of the cycle z, r, d, y; by three terms another r, with its
     * coefficients. */
    const int three = !device_is_host(w->device) && !cycle;
    bytes[1] += fast * n * (3.0 + (o->mixed ? 1.0 : 0.0) + (cycle ? 4.0 : 0.0) + (three ? 1.0 : 0.0));
    if (coarse) bytes[1] += fast * (three ? 3.0 : 2.0) * moments;
    if (o->remember) bytes[1] += 8.0 * 2.0 * SOLVE_HISTORY * n;
}

static void count(const void *of, const int cells[3], double bytes[2]) {
    const struct wanted *w = of;
    const struct boxhdg *h = w->hdg;
    const int dim = h->grid.dim;
    double n_cells = 1.0, faces = 0.0;
    for (int d = 0; d < dim; d++) n_cells *= cells[d];
    for (int d = 0; d < dim; d++)
        faces += n_cells / cells[d] * (cells[d] + (h->grid.sides[d][0] != BOX_PERIODIC));
    const double trace = faces * (double)h->face_size;
    count_lanes(w, cells, trace, bytes);
    if (w->kept == BOXHDG_ON_DEVICE) bytes[1] += boxhdg_resident_bytes(w->device, h, n_cells);
}

facet_status boxhdg_check_memory(const struct device *device, const struct boxhdg *hdg,
                                 const struct boxhdg_solver_options *options, enum boxhdg_kept kept) {
    const struct wanted w = {device, hdg, options, kept};
    const struct box_need need = {device, hdg->grid.dim, hdg->grid.cells, count, &w};
    char what[96];
    snprintf(what, sizeof what, "hdg of degree %d with %lld unknowns on the trace", hdg->degree,
             (long long)hdg->n_free);
    return box_check_memory(&need, what);
}
