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

/* Iterations; the planes in front of the first cells are not counted. */
static void count_lanes(const struct wanted *w, const int cells[3], double bytes[2]) {
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
        bytes[1] += 8.0 * 2.0 * n + boxhdg_lattice_bytes(w->device, w->hdg, cells);
        return;
    }
    /* r, p, y; what came since the last update; of the cycle z, r, d, y; by three terms another r, with its
     * coefficients. */
    const int three = device_box_terms(w->device) == 3 && !cycle;
    bytes[1] += fast * n * (3.0 + (o->mixed ? 1.0 : 0.0) + (cycle ? 4.0 : 0.0) + (three ? 1.0 : 0.0));
    if (coarse) bytes[1] += fast * (three ? 3.0 : 2.0) * moments;
    if (o->remember) bytes[1] += 8.0 * 2.0 * SOLVE_HISTORY * n;
}

static void count(const void *of, const int cells[3], double bytes[2]) {
    const struct wanted *w = of;
    const struct boxhdg *h = w->hdg;
    double n_cells = 1.0;
    for (int d = 0; d < h->grid.dim; d++) n_cells *= cells[d];
    count_lanes(w, cells, bytes);
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
