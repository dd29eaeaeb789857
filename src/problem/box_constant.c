/* Weak reactions. Without a Dirichlet side and with a small lambda, the same everywhere, u is nearly the
 * large number c = (integral of f and of the Neumann data) / (lambda volume), and all that makes q is lost
 * under its rounding. But u = c + v exactly, also in the discretization, with v from the loads less lambda c:
 * their sum vanishes, and so does the mean of v, however small lambda is. So v is what is solved for and kept
 * (trace, u, u* of the solution), and c is added to what leaves the solver. Where lambda would change v by
 * less than NEGLIGIBLE it is left out of the matrix, and constants are its kernel. */
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "problem/box_backend.h"

/* Of lambda / (k / length^2), k being the largest of all cells; of NEGLIGIBLE the smallest. One that is
 * INVISIBLE beside the largest k is left out too, and counted as an error. */
#define WEAK       1.0
#define DELICATE   1e-5 /* constants are nearly a kernel: single precision cannot tell */
#define NEGLIGIBLE 1e-11
#define INVISIBLE  1e-12
/* What is this small against what it comes from is rounding. */
#define ROUNDING 1e-14

facet_status box_constant_choose(struct box *b, struct box_grid_data *grid) {
    facet_status status = FACET_OK;
    struct box_range range;
    double length = 0.0;
    *grid = b->data.grid;
    b->apart = b->delicate = 0;
    b->dropped = 0.0;
    TRY(box_find_range(grid, &range));
    if (range.closed > 0.0 || range.reaction != range.least_reaction) goto done;
    const double lambda = range.reaction, k = range.stiffest, least = range.softest;
    for (int d = 0; d < grid->dim; d++) length = fmax(length, range.upper[d] - range.lower[d]);
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
facet_status box_constant_take(struct box *b, const struct field *exact, int whole) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = b->hdg;
    const double all = box_volume(&h->grid);
    double sums[2], mean = 0.0, taken = 0.0;
    if (exact != NULL && (h->grid.singular || whole))
        TRY(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, exact, &mean));
    const double size = boxhdg_resident_size_of_loads(b->resident);
    TRY(boxhdg_resident_balance(b->resident, sums));
    const double shift = sums[0] / all, scale = fmax(size, sums[1]) / all;
    int own = fabs(shift) > ROUNDING * scale && (h->grid.singular || !whole);
    b->constant = mean + (own ? shift / b->reaction : 0.0);
    b->uncertainty = own ? DBL_EPSILON * scale / b->reaction : 0.0;
    if (!isfinite(b->constant))
        FAIL(FACET_ERROR_INPUT, "with the reaction %g the mean of u, %g / %g, is beyond double precision",
             b->reaction, shift, b->reaction);
    for (int64_t c = 0; c < h->grid.n_cells; c++) { /* a constant f has the integrals f V 2^(dim/2) */
        int at[3];
        box_cell_at(&h->grid, c, at);
        taken += pow(shift * box_cell_volume(&h->grid, at), 2) / (double)(1 << h->grid.dim);
    }
    taken = box_all(&h->grid, TEAM_SUM, taken);
    b->all_is_constant = boxhdg_resident_square_of_loads(b->resident) <= ROUNDING * ROUNDING * taken;
done:
    return status;
}
