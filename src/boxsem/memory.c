/* Continuous elements on a box: the memory that a solve takes. */
#include <math.h>
#include <stdio.h>

#include "box/memory.h"
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
static double bytes_for(const struct boxsem *c, const int cells[3]) {
    const struct boxsem_options *o = &c->options;
    const double n = count_nodes(c, cells), coarse = n / ((1 << c->grid.dim) - 1),
                 real = o->single ? 4.0 : 8.0;
    const int krylov = o->solver == BOXSEM_CG || o->solver == BOXSEM_FGMRES;
    const int cycle =
        o->solver != BOXSEM_DIRECT && !(krylov && o->preconditioner != BOXSEM_PRECONDITION_CYCLE);
    double bytes = 8.0 * n * (2.0 + solver_vectors(o) + (c->grid.singular ? 1.0 : 0.0));
    if (o->solver == BOXSEM_DIRECT) {
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

double boxsem_bytes(const struct boxsem *c) {
    return bytes_for(c, c->grid.cells);
}

static double bytes_of(const void *of, const int cells[3]) {
    return bytes_for(of, cells);
}

facet_status boxsem_check_memory(const struct boxsem *c) {
    const struct box_need need = {c->device, c->grid.dim, c->grid.cells, bytes_of, c};
    char what[96];
    snprintf(what, sizeof what, "continuous elements of degree %d with %lld nodes", c->degree,
             (long long)c->n_all);
    return box_check_memory(&need, what);
}
