/* Where k jumps by many orders of magnitude, what is left of a residual, rounding at least, may be large for
 * the weak cells that hold strong ones, and no cycle sees it: the strong cells move as one. What sees it is
 * the graph of the cells: with one number e for each, the fluxes through their faces
 *
 *     sum over the faces of a cell of  area (e - e') / (w / 2k + w' / 2k')  +  lambda volume e  =  r
 *
 * make a matrix small enough for a factor, and its solution for the residual, tested with the function 1 on
 * every cell, is the error but for what bends inside cells. */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "box/box.h"
#include "solve/solve.h"

/* Of the largest and the smallest k: below it cycles see errors well. */
#define LARGE_CONTRAST 1e4
/* Beyond so many cells, operations, and that part of the memory a factor would take more than the solve. */
#define MANY_CELLS      200000
#define MANY_OPERATIONS 1e10
#define MEMORY_SHARE    0.1

int box_is_contrasting(const struct box_grid *g) {
    double least = INFINITY, most = 0.0;
    if (g->conductivity == NULL || g->n_cells > MANY_CELLS || g->part != NULL) return 0;
    for (int64_t c = 0; c < g->n_cells; c++) {
        least = fmin(least, g->conductivity[c]);
        most = fmax(most, g->conductivity[c]);
    }
    return most > LARGE_CONTRAST * least;
}

/* The flux through the upper face of a cell, or the lower one (a Dirichlet side), per difference; *other: the
 * cell beyond, -1: a side. */
static double conductance(const struct box_grid *g, const int at[3], int d, int upper, int64_t *other) {
    int beyond[3] = {at[0], at[1], at[2]}, last = g->cells[d] - 1;
    int64_t cell = box_cell(g, at);
    double area = box_cell_volume(g, at) / g->widths[d][at[d]];
    double resistance = 0.5 * g->widths[d][at[d]] / box_conductivity(g, cell);
    *other = -1;
    if (at[d] == (upper ? last : 0) && g->sides[d][upper] != BOX_PERIODIC)
        return g->sides[d][upper] == BOX_DIRICHLET ? area / resistance : 0.0;
    if (!upper) return 0.0; /* is that cell's upper face */
    beyond[d] = at[d] == last ? 0 : at[d] + 1;
    *other = box_cell(g, beyond);
    return area / (resistance + 0.5 * g->widths[d][beyond[d]] / box_conductivity(g, *other));
}

static facet_status make_graph(const struct box_grid *g, struct csr *graph) {
    facet_status status = FACET_OK;
    struct csr_elements elements = {0};
    TRY(csr_elements_create(g->n_cells, g->n_cells * g->dim, 2, g->n_cells * (2 * g->dim + 1), &elements));
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        double held = box_reaction(g, cell) * box_cell_volume(g, at);
        for (int i = 0; i < 2 * g->dim; i++) {
            int64_t pair[2] = {cell, -1};
            double flux = conductance(g, at, i / 2, i % 2, &pair[1]);
            if (pair[1] < 0) held += flux;
            if (pair[1] >= 0 && pair[1] != cell)
                csr_elements_add(&elements, 2, pair, (double[]){flux, -flux, flux});
        }
        csr_elements_add(&elements, 1, &cell, &held);
    }
    TRY(csr_from_elements(&elements, graph));
done:
    csr_elements_destroy(&elements);
    return status;
}

/* Without the mean, which the caller finds himself (floating). */
static double mean_square(const struct box_grid *g, int floating, const double *e) {
    double volume = 0.0, mean = 0.0, square = 0.0;
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        double part = box_cell_volume(g, at);
        volume += part;
        mean += part * e[cell];
        square += part * e[cell] * e[cell];
    }
    mean = floating ? mean / volume : 0.0;
    return sqrt(fmax(square / volume - mean * mean, 0.0));
}

/* Loads and matrices are rounded before any residual is, as much as their entries times u are (the square of
 * the degree times those of degree 1) and the same way in cells that are alike. By measurement. */
#define PART 6.0

static double rounding_of(const struct box_grid *g, int64_t cell, int degree, double size) {
    double flux = 0.0;
    int at[3];
    box_cell_at(g, cell, at);
    for (int d = 0; d < g->dim; d++)
        flux += box_cell_volume(g, at) / (g->widths[d][at[d]] * g->widths[d][at[d]]);
    return PART * DBL_EPSILON * degree * degree * box_conductivity(g, cell) * flux * size;
}

/* What nothing holds gives back all that it receives, everywhere alike. */
static void balance(const struct box_grid *g, double *loads) {
    double sum = 0.0, volume = 0.0;
    int at[3];
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        box_cell_at(g, cell, at);
        volume += box_cell_volume(g, at);
        sum += loads[cell];
    }
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        box_cell_at(g, cell, at);
        loads[cell] -= sum * box_cell_volume(g, at) / volume;
    }
}

facet_status box_contrast_error(const struct box_grid *g, int degree, int floating, double size,
                                const double *residual, double *error) {
    facet_status status = FACET_OK;
    struct csr graph = {0};
    struct cholesky *factor = NULL;
    int64_t *offsets = NULL;
    double *e = NULL, *loads = NULL, bytes;
    int loose = floating; /* no reaction holds the constant */
    for (int64_t i = 0; i < g->n_cells; i++) loose &= box_reaction(g, i) == 0.0;
    TRY(make_graph(g, &graph));
    TRY(ALLOC(offsets, g->n_cells + 1));
    TRY(ALLOC(e, g->n_cells));
    TRY(ALLOC(loads, g->n_cells));
    for (int64_t i = 0; i <= g->n_cells; i++) offsets[i] = i;
    TRY(cholesky_analyze(&graph, g->n_cells, offsets, loose ? 0 : -1, &factor, &bytes));
    *error = 0.0;
    if (bytes > MEMORY_SHARE * base_available_bytes() || cholesky_operations(factor) > MANY_OPERATIONS)
        goto done;
    status = cholesky_factor_last(factor, &graph);
    *error = INFINITY; /* even this matrix is not definite to rounding */
    if (status == FACET_NOT_CONVERGED)
        status = FACET_OK;
    else if (status == FACET_OK) {
        for (int64_t i = 0; i < g->n_cells; i++) loads[i] = residual[i] + rounding_of(g, i, degree, size);
        if (loose) balance(g, loads);
        TRY(cholesky_solve(factor, loads, e));
        *error = mean_square(g, floating, e);
    }
done:
    cholesky_destroy(&factor);
    csr_destroy(&graph);
    base_free(&offsets);
    base_free(&e);
    base_free(&loads);
    return status;
}
