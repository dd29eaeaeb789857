/* Extremes of what is a tensor product in every cell. */
#include <math.h>

#include "box/cells.h"
#include "box/contract.h"

struct search {
    const struct box_grid *grid;
    const int *const *kinds;
    int n_in, n_out;
    int64_t room; /* of an array of a cell */
    const double *T;
    box_numbers_of get;
    const void *user;
    double *extremes;
};

static facet_status search_cell(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct search *s = user;
    const int n_in[3] = {s->n_in, s->n_in, s->n_in}, n_out[3] = {s->n_out, s->n_out, s->n_out};
    const double *T[3];
    double least = INFINITY, most = -INFINITY;
    for (int d = 0; d < s->grid->dim; d++)
        T[d] = s->T + (s->kinds[d] != NULL ? (int64_t)s->kinds[d][at[d]] * s->n_in * s->n_out : 0);
    TRY(s->get(s->user, cell, at, scratch));
    const double *values = box_contract_all(s->grid->dim, n_out, n_in, T, scratch, scratch + s->room);
    const int64_t n = box_power(s->n_out, s->grid->dim);
#pragma omp simd reduction(min : least) reduction(max : most)
    for (int64_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    s->extremes[2 * cell] = least;
    s->extremes[2 * cell + 1] = most;
done:
    return status;
}

facet_status box_extremes(const struct box_grid *g, const int *const kinds[3], int n_in, int n_out,
                          const double *T, box_numbers_of get, const void *user, double *extremes) {
    int64_t size = box_power(n_in > n_out ? n_in : n_out, g->dim);
    struct search search = {g, kinds, n_in, n_out, (size + BOX_SLACK + 7) / 8 * 8, T, get, user, extremes};
    return box_for_cells(g, size, 0, 2 * search.room, search_cell, &search);
}
