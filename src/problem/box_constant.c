/* Weak reactions. Without a Dirichlet side and with a small lambda, the same everywhere, u is nearly the
 * large number c = (integral of f and of the Neumann data) / (lambda volume), and all that makes q is lost
 * under its rounding. But u = c + v exactly, also in the discretization, with v from the loads less lambda c:
 * their sum vanishes, and so does the mean of v, however small lambda is. So v is what is solved for and kept
 * (trace, u, u* of the solution), and c is added to what leaves the solver. Where lambda would change v by
 * less than NEGLIGIBLE it is left out of the matrix, and constants are its kernel. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "problem/box.h"

/* Of lambda / (k / length^2), k being the largest of all cells; of NEGLIGIBLE the smallest. One that is
 * INVISIBLE beside the largest k is left out too, and counted as an error. */
#define WEAK       1.0
#define DELICATE   1e-5 /* constants are nearly a kernel: single precision cannot tell */
#define NEGLIGIBLE 1e-11
#define INVISIBLE  1e-12
/* What is this small against what it comes from is rounding. */
#define ROUNDING 1e-14

/* The largest (least: of the negative) of what the choice depends on, over all cells and blocks. */
enum { CLOSED, REACTION, NO_REACTION, STIFFEST, WEAKEST, UPPER, LOWER = UPPER + 3, N_EXTREMES = LOWER + 3 };

static facet_status find_extremes(const struct box_grid_data *grid, double most[N_EXTREMES]) {
    int64_t n_cells = 1;
    for (int i = 0; i < N_EXTREMES; i++) most[i] = i < REACTION ? 0.0 : -INFINITY;
    for (int d = 0; d < grid->dim; d++) {
        if (grid->sides[d][0] == BOX_DIRICHLET || grid->sides[d][1] == BOX_DIRICHLET) most[CLOSED] = 1.0;
        most[UPPER + d] = grid->coordinates[d][grid->cells[d]];
        most[LOWER + d] = -grid->coordinates[d][0];
        n_cells *= grid->cells[d];
    }
    for (int64_t c = 0; c < n_cells; c++) {
        const double k = grid->conductivity != NULL ? grid->conductivity[c] : 1.0,
                     lambda = grid->reaction != NULL ? grid->reaction[c] : 0.0;
        most[REACTION] = fmax(most[REACTION], lambda);
        most[NO_REACTION] = fmax(most[NO_REACTION], -lambda);
        most[STIFFEST] = fmax(most[STIFFEST], k);
        most[WEAKEST] = fmax(most[WEAKEST], -k);
    }
    return grid->part != NULL ? team_reduce(grid->part->team, TEAM_MAX, N_EXTREMES, most) : FACET_OK;
}

facet_status box_constant_choose(struct box_backend *b, struct box_grid_data *grid) {
    facet_status status = FACET_OK;
    double most[N_EXTREMES], length = 0.0;
    *grid = b->data.grid;
    b->apart = b->delicate = 0;
    b->dropped = 0.0;
    TRY(find_extremes(grid, most));
    if (most[CLOSED] > 0.0 || most[REACTION] != -most[NO_REACTION]) goto done;
    const double lambda = most[REACTION], k = most[STIFFEST], least = -most[WEAKEST];
    for (int d = 0; d < grid->dim; d++) length = fmax(length, most[UPPER + d] + most[LOWER + d]);
    b->apart = lambda > 0.0 && lambda * length * length < WEAK * k;
    b->delicate = b->apart && lambda * length * length < DELICATE * k;
    b->reaction = lambda;
    if (!b->apart || lambda * length * length >= fmax(NEGLIGIBLE * least, INVISIBLE * k)) goto done;
    grid->reaction = NULL;
    b->dropped = lambda * length * length / least;
done:
    return status;
}

/* Where lambda is not in the matrix, it was not in a source made from the exact solution either. Where it is,
 * and all data are those of the exact solution, the constant is its mean: the loads balance so nearly that
 * their rounding, over lambda, may be larger than u. */
facet_status box_constant_take(struct box_backend *b, const struct field *exact, int whole) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = b->hdg;
    double shift, scale, mean = 0.0, left = 0.0, taken = 0.0;
    if (exact != NULL && (h->grid.singular || whole))
        TRY(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, exact, &mean));
    boxhdg_balance(h, b->neumann, b->solution.loads, &shift, &scale);
    int own = fabs(shift) > ROUNDING * scale && (h->grid.singular || !whole);
    b->constant = mean + (own ? shift / b->reaction : 0.0);
    b->doubt = own ? DBL_EPSILON * scale / b->reaction : 0.0;
    if (!isfinite(b->constant))
        FAIL(FACET_ERROR_INPUT, "with the reaction %g the mean of u, %g / %g, is beyond double precision",
             b->reaction, shift, b->reaction);
    for (int64_t i = 0; i < h->n_volume; i++) left += b->solution.loads[i] * b->solution.loads[i];
    for (int64_t i = 0; b->neumann != NULL && i < h->n_trace; i++) left += b->neumann[i] * b->neumann[i];
    for (int64_t c = 0; c < h->grid.n_cells; c++) { /* a constant f has the integrals f V 2^(dim/2) */
        int at[3];
        double volume = 1.0;
        box_cell_at(&h->grid, c, at);
        for (int d = 0; d < h->grid.dim; d++) volume *= 0.5 * h->grid.widths[d][at[d]];
        taken += shift * shift * volume * volume * (double)(1 << h->grid.dim);
    }
    left = box_all(&h->grid, TEAM_SUM, left);
    taken = box_all(&h->grid, TEAM_SUM, taken);
    b->all_is_constant = left <= ROUNDING * ROUNDING * taken;
    if (b->all_is_constant) memset(b->solution.loads, 0, (size_t)h->n_volume * sizeof *b->solution.loads);
done:
    return status;
}

facet_status box_constant_measure(const struct box_backend *b, const struct field *exact,
                                  struct box_errors *errors) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = b->hdg;
    const struct boxhdg_solution *from = &b->solution;
    struct boxhdg_solution whole = {.n_cells = from->n_cells, .loads = from->loads, .q = from->q};
    int64_t star = h->grid.n_cells;
    for (int d = 0; d < h->grid.dim; d++) star *= h->n + 1;
    if (b->constant == 0.0) return boxhdg_measure_errors(h, from, exact, errors);
    TRY(ALLOC(whole.trace, h->n_trace));
    TRY(ALLOC(whole.u, h->n_volume));
    if (from->star != NULL) TRY(ALLOC(whole.star, star));
    memcpy(whole.trace, from->trace, (size_t)h->n_trace * sizeof *whole.trace);
    memcpy(whole.u, from->u, (size_t)h->n_volume * sizeof *whole.u);
    if (from->star != NULL) memcpy(whole.star, from->star, (size_t)star * sizeof *whole.star);
    boxhdg_shift(h, b->constant, &whole);
    TRY(boxhdg_measure_errors(h, &whole, exact, errors));
done:
    base_free(&whole.trace);
    base_free(&whole.u);
    base_free(&whole.star);
    return status;
}

facet_status box_constant_drop(const struct boxhdg *h, double *trace) {
    facet_status status = FACET_OK;
    double *one = NULL, sums[2] = {0.0, 0.0};
    TRY(ALLOC(one, h->n_trace));
    boxhdg_constant(h, one);
    seam_clear_foreign(h->seam, one); /* every face counts once */
    for (int64_t i = 0; i < h->n_trace; i++) {
        sums[0] += one[i] * trace[i];
        sums[1] += one[i] * one[i];
    }
    if (h->seam != NULL) TRY(team_reduce(h->seam->team, TEAM_SUM, 2, sums));
    boxhdg_constant(h, one);
    for (int64_t i = 0; i < h->n_trace; i++) trace[i] -= sums[0] / sums[1] * one[i];
done:
    base_free(&one);
    return status;
}
