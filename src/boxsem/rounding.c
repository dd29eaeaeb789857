/* What rounding in K and in the right-hand side may have done to the equations of nodes where u is a constant
 * that is far above its differences: K times 1e6 + v has the rounding of 1e6. It is the same in all cells of a
 * row, in whose matrices a sum that is to vanish leaves the same number, and so it is no noise, but a source;
 * and no residual shows it, since the product of the residual has it as well. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/box.h"
#include "boxsem/element_nodes.h"

/* From here on u is nearly a constant: elsewhere all this is below 1e-11 of its differences. */
#define NEARLY 1e-3

/* 1 or -1, the same every time. */
static double sign_of(int draw, int d, int i) {
    uint64_t k = (uint64_t)(i + 1 + 32 * (d + 4 * draw)) * 0x9e3779b97f4a7c15u;
    return (k ^ k >> 29) >> 40 & 1 ? 1.0 : -1.0;
}

/* The largest |u|, 0 where u is not nearly a constant; x has zeros on fixed nodes. */
static double size_of_constant(const struct boxsem *c, const double *x) {
    const int64_t n_fixed = c->n_all - c->n_free;
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0, k = 0; i < c->n_all; i++) {
        const int fixed = k < n_fixed && c->fixed[k] == i;
        const double u = fixed ? c->fixed_values[k] : x[i];
        k += fixed;
        least = fmin(least, u);
        most = fmax(most, u);
    }
    const double size = fmax(fabs(least), fabs(most));
    return most - least < NEARLY * size ? size : 0.0;
}

/* Of the equations of one cell, per k and |u|: the lines of every direction leave what sums of entries are rounded
 * by, times the lengths of the others. */
static void find_cell(const struct boxsem *c, const int at[3], int draw, const double *moments,
                      double *local) {
    const int n = c->n, dim = c->grid.dim;
    for (int64_t i = 0; i < c->cell_size; i++) {
        const int index[3] = {(int)(i % n), (int)(i / n % n), (int)(i / n / n)};
        local[i] = 0.0;
        for (int d = 0; d < dim; d++) {
            double term = c->element.stiffness[index[d] * n + index[d]] / c->grid.widths[d][at[d]] *
                          sign_of(draw, d, index[d]);
            for (int e = 0; e < dim; e++)
                if (e != d) term *= moments[index[e]] * c->grid.widths[e][at[e]];
            local[i] += term;
        }
    }
}

int boxsem_knows_rounding(const struct boxsem *c) {
    return device_is_host(c->device) && c->grid.part == NULL;
}

facet_status boxsem_draw_rounding(void *data, int draw, const struct vector *x, struct vector *r) {
    facet_status status = FACET_OK;
    const struct boxsem *c = data;
    double *u = NULL, *local = NULL, *moments;
    TRY(ALLOC(u, c->n_all));
    TRY(CALLOC(local, c->cell_size + c->n));
    moments = local + c->cell_size;
    TRY(vector_download(x, u));
    const double size = size_of_constant(c, u);
    memset(u, 0, (size_t)c->n_all * sizeof *u);
    for (int i = 0; i < c->n * c->n; i++) moments[i / c->n] += c->element.mass[i];
    for (int64_t cell = 0; size > 0.0 && cell < c->grid.n_cells; cell++) {
        int at[3];
        box_cell_at(&c->grid, cell, at);
        find_cell(c, at, draw, moments, local);
        for (int64_t i = 0; i < c->cell_size; i++)
            local[i] *= DBL_EPSILON * sqrt(c->n) * size * box_conductivity(&c->grid, cell);
        boxsem_cell_move(c, at, BOXSEM_ADD, u, local);
    }
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) u[c->fixed[i]] = 0.0;
    TRY(vector_upload(r, u));
done:
    base_free(&u);
    base_free(&local);
    return status;
}
