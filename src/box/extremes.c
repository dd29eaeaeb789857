/* Extremes of what is a tensor product in every cell. */
#include <math.h>

#include "base/memory.h"
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
    double reach, least, most; /* what is found in the likeliest cells, */
    int64_t likely[2];         /* these */
    double *extremes;
};

/* Lane by lane: one after the other each comparison would wait for that before. */
static void find(int64_t n, const double *values, double extremes[2]) {
    enum { LANES = 16 };
    double least[LANES], most[LANES];
    for (int l = 0; l < LANES; l++) {
        least[l] = INFINITY;
        most[l] = -INFINITY;
    }
    for (int64_t i = 0; i + LANES <= n; i += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            least[l] = values[i + l] < least[l] ? values[i + l] : least[l];
            most[l] = values[i + l] > most[l] ? values[i + l] : most[l];
        }
    for (int64_t i = n / LANES * LANES; i < n; i++) {
        least[0] = fmin(least[0], values[i]);
        most[0] = fmax(most[0], values[i]);
    }
    for (int l = 1; l < LANES; l++) {
        least[0] = fmin(least[0], least[l]);
        most[0] = fmax(most[0], most[l]);
    }
    extremes[0] = least[0];
    extremes[1] = most[0];
}

static facet_status look_at_points(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct search *s = user;
    TRY(s->get(s->user, cell, at, scratch));
    find(box_power(s->n_in, s->grid->dim), scratch, s->extremes + 2 * cell);
done:
    return status;
}

static facet_status search_cell(int64_t cell, const int at[3], double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct search *s = user;
    const int n_in[3] = {s->n_in, s->n_in, s->n_in}, n_out[3] = {s->n_out, s->n_out, s->n_out};
    const double *T[3];
    for (int d = 0; d < s->grid->dim; d++)
        T[d] = s->T + (s->kinds[d] != NULL ? (int64_t)s->kinds[d][at[d]] * s->n_in * s->n_out : 0);
    TRY(s->get(s->user, cell, at, scratch));
    const double *values = box_contract_all(s->grid->dim, n_out, n_in, T, scratch, scratch + s->room);
    find(box_power(s->n_out, s->grid->dim), values, s->extremes + 2 * cell);
done:
    return status;
}

static facet_status search_candidate(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct search *s = user;
    double *of = s->extremes + 2 * cell, middle = 0.5 * (of[0] + of[1]),
           far = s->reach * 0.5 * (of[1] - of[0]);
    if (!(middle + far <= s->most && middle - far >= s->least)) return search_cell(cell, at, scratch, user);
    of[0] = of[1] = middle;
    return FACET_OK;
}

/* The extremes of the cells with the least and the greatest of all points: those of all cells, or nearly. */
static facet_status search_likely(struct search *s) {
    facet_status status = FACET_OK;
    double *scratch = NULL, of[4];
    int64_t *cells = s->likely;
    TRY(ALLOC(scratch, 2 * s->room + 2 * BOX_SLACK));
    for (int64_t cell = 1; cell < s->grid->n_cells; cell++)
        for (int side = 0; side < 2; side++) {
            double here = s->extremes[2 * cell + side], best = s->extremes[2 * cells[side] + side];
            if (side ? here > best : here < best) cells[side] = cell;
        }
    for (int side = 0; side < 2; side++) { /* their points are needed again */
        int at[3];
        double *place = s->extremes + 2 * cells[side], points[2] = {place[0], place[1]};
        box_cell_at(s->grid, cells[side], at);
        TRY(search_cell(cells[side], at, scratch, s));
        for (int i = 0; i < 2; i++) {
            of[2 * side + i] = place[i];
            place[i] = points[i];
        }
    }
    s->least = fmin(of[0], of[2]);
    s->most = fmax(of[1], of[3]);
done:
    base_free(&scratch);
    return status;
}

facet_status box_extremes(const struct box_grid *g, const int *const kinds[3], int n_in, int n_out,
                          const double *T, box_numbers_of get, const void *user, double reach,
                          double *extremes) {
    facet_status status = FACET_OK;
    int64_t size = box_power(n_in > n_out ? n_in : n_out, g->dim);
    struct search s = {.grid = g,
                       .kinds = kinds,
                       .n_in = n_in,
                       .n_out = n_out,
                       .room = (size + BOX_SLACK + 7) / 8 * 8,
                       .T = T,
                       .get = get,
                       .user = user,
                       .reach = reach,
                       .extremes = extremes};
    if (reach > 0.0) {
        TRY(box_for_cells(g, size, 0, 2 * s.room, look_at_points, &s));
        TRY(search_likely(&s));
    }
    TRY(box_for_cells(g, size, 0, 2 * s.room, reach > 0.0 ? search_candidate : search_cell, &s));
    if (reach > 0.0) { /* whose reach may be no more than what was found there */
        extremes[2 * s.likely[0]] = fmin(extremes[2 * s.likely[0]], s.least);
        extremes[2 * s.likely[1] + 1] = fmax(extremes[2 * s.likely[1] + 1], s.most);
    }
done:
    return status;
}
