/* HDG on a box: the memory that the solver takes on its device. */
#include <stdio.h>

#include "box/memory.h"
#include "boxhdg/solver.h"

struct wanted {
    const struct boxhdg *hdg;
    const struct boxhdg_solver_options *options;
};

/* With these cells; the planes in front of the first cells are not counted. */
static double bytes_for(const void *of, const int cells[3]) {
    const struct wanted *w = of;
    const struct boxhdg_solver_options *o = w->options;
    const int dim = w->hdg->grid.dim, cycle = o->preconditioner == BOXHDG_CHEBYSHEV,
              coarse = cycle || o->preconditioner == BOXHDG_ADDITIVE;
    const double fast = o->mixed ? 4.0 : 8.0;
    const int packs = (cells[0] + KERNEL_LANES - 1) / KERNEL_LANES;
    double lanes = packs * (double)KERNEL_LANES;
    for (int d = 1; d < dim; d++) lanes *= cells[d];
    const double n = lanes * dim * (double)w->hdg->face_size, moments = lanes * dim * KERNEL_BOX_MOMENTS;
    /* Diagonal and metric; F and the solution; the true residual; the constant, twice. */
    double bytes = 8.0 * (n + KERNEL_BOX_METRIC * lanes) + 8.0 * 2.0 * n;
    if (w->hdg->grid.singular) bytes += 8.0 * 2.0 * n;
    if (o->mixed) bytes += 8.0 * n + 4.0 * (n + KERNEL_BOX_METRIC * lanes);
    /* r, p, y; what came since the last update; of the cycle z, r, d, y. */
    bytes += fast * n * (3.0 + (o->mixed ? 1.0 : 0.0) + (cycle ? 4.0 : 0.0));
    if (coarse) bytes += fast * 2.0 * moments;
    return bytes;
}

double boxhdg_solver_bytes(const struct boxhdg *hdg, const struct boxhdg_solver_options *options) {
    const struct wanted wanted = {hdg, options};
    return bytes_for(&wanted, hdg->grid.cells);
}

facet_status boxhdg_solver_check_memory(const struct device *device, const struct boxhdg *hdg,
                                        const struct boxhdg_solver_options *options) {
    const struct wanted wanted = {hdg, options};
    const struct box_need need = {device, hdg->grid.dim, hdg->grid.cells, bytes_for, &wanted};
    char what[96];
    snprintf(what, sizeof what, "traces of degree %d with %lld unknowns", hdg->degree,
             (long long)hdg->n_free);
    return box_check_memory(&need, what);
}
