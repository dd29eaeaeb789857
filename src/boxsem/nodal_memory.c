/* Continuous elements on a box: the memory that a solve takes. */
#include <math.h>
#include <stdio.h>

#include "box/needed_memory.h"
#include "box/tiles.h"
#include "boxsem/boxsem.h"

#define FGMRES_STEPS 10 /* it makes its vectors as it goes */

/* Vectors of the finest level that a solver keeps besides b and u, in double precision. */
static double solver_vectors(const struct boxsem_options *o) {
    switch (o->solver) {
    case BOXSEM_CG:
        return 4.0;
    case BOXSEM_FGMRES:
        return 2.0 * FGMRES_STEPS + 1.0;
    case BOXSEM_DIRECT:
        return 2.0;
    default:
        return o->single ? 1.0 : 2.0;
    }
}

static double count_nodes(const struct boxsem *c, const int cells[3]) {
    double n = 1.0;
    for (int d = 0; d < c->grid.dim; d++)
        n *= (double)c->degree * cells[d] + (c->grid.sides[d][0] != BOX_PERIODIC);
    return n;
}

/* With these cells. All levels below the finest have 1 / (2^dim - 1) of its nodes. */
static void count(const void *of, const int cells[3], double bytes[2]) {
    const struct boxsem *c = of;
    const struct boxsem_options *o = &c->options;
    const double n = count_nodes(c, cells), coarse = n / ((1 << c->grid.dim) - 1),
                 n_cells = (double)cells[0] * cells[1] * cells[2], real = o->single ? 4.0 : 8.0;
    /* k, lambda, sums of the cells; u where the host looks at it. */
    bytes[0] += 8.0 * (6.0 * n_cells + (device_is_host(c->device) ? 0.0 : n));
    bytes[1] += 8.0 * n * (2.0 + solver_vectors(o) + (c->grid.singular ? 1.0 : 0.0));
    if (!device_is_host(c->device)) bytes[1] += box_tiles_bytes(c->device, c->grid.dim, c->n, n_cells);
    if (o->solver == BOXSEM_DIRECT) {
        bytes[1] += 2.0 * 8.0 * n;
        for (int d = 0; d < c->grid.dim; d++) bytes[1] += 8.0 * 2.0 * pow((double)c->degree * cells[d], 2.0);
    }
    if (!boxsem_has_cycle(o)) return;
    if (o->vertices) bytes[0] += 2.0 * 27.0 * 12.0 * n_cells; /* a matrix, and the levels below it */
    bytes[1] += real * (o->single ? 3.0 : 1.0) * n + real * 3.0 * coarse;
    if (o->cycle == MG_FULL && !boxsem_is_krylov(o)) bytes[1] += 8.0 * (o->single ? 3.0 : 1.0) * coarse;
    if (!c->grid.separable) /* a factor at the nodes, a residual, k and lambda of the cells */
        bytes[1] += (12.0 + 8.0) * (n + coarse) + 16.0 * n_cells;
}

facet_status boxsem_check_memory(const struct boxsem *c) {
    const struct box_need need = {c->device, c->grid.dim, c->grid.cells, count, c};
    char what[96];
    snprintf(what, sizeof what, "continuous elements of degree %d with %lld nodes", c->degree,
             (long long)c->n_all);
    return box_check_memory(&need, what);
}
