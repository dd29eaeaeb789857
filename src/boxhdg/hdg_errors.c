/* Fields at points, and errors against an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"
#include "poly/jacobi.h"

/* ------------------------------------------------------------------------------------- evaluation */

/* The basis of u*. */
static facet_status tabulate_legendre(const void *user, int kind, int n, const double *x, double *values,
                                      double *slopes) {
    const struct boxhdg *h = user;
    int P = h->n + 1;
    (void)kind;
    for (int q = 0; q < n; q++) {
        jacobi_orthonormal(P - 1, 0.0, 0.0, 2.0 * x[q] - 1.0, values + q * P, slopes + q * P);
        for (int i = 0; i < P; i++) slopes[q * P + i] *= 2.0;
    }
    return FACET_OK;
}

/* u* in the Legendre basis, q* = -k grad u*; u and q in the modes of the lines. */
static void describe(const struct boxhdg *h, const struct boxhdg_solution *s, enum boxhdg_field field,
                     int64_t cell, struct box_function *f) {
    int star = field == BOX_U_STAR || field == BOX_Q_STAR, at[3];
    const int64_t place = boxhdg_solution_place(s, cell);
    *f = (struct box_function){.dim = h->grid.dim,
                               .n = h->n + star,
                               .components = boxhdg_field_components(h, field),
                               .tabulate = star ? tabulate_legendre : boxhdg_tabulate,
                               .user = h};
    box_cell_at(&h->grid, cell, at);
    for (int d = 0; !star && d < f->dim; d++) f->kinds[d] = h->column_line[d][at[d]];
    for (int c = 0; c < f->components; c++) {
        f->from[c] = star             ? s->star + place * box_power(h->n + 1, f->dim)
                     : field == BOX_U ? s->u + place * h->cell_size
                                      : s->q + (c * s->n_cells + place) * h->cell_size;
        f->slope[c] = field == BOX_Q_STAR ? c : -1;
        f->factor[c] =
            field == BOX_Q_STAR ? -box_conductivity(&h->grid, cell) / h->grid.widths[c][at[c]] : 1.0;
    }
}

static facet_status check_field(const struct boxhdg_solution *s, enum boxhdg_field field) {
    if ((field == BOX_U_STAR || field == BOX_Q_STAR) && s->star == NULL)
        return base_fail(FACET_ERROR_INPUT, "u* and q* are there only after post-processing");
    return FACET_OK;
}

facet_status boxhdg_evaluate(const struct boxhdg *h, const struct boxhdg_solution *s, enum boxhdg_field field,
                             int64_t cell, const struct box_places *places, double *values) {
    facet_status status = FACET_OK;
    struct box_function f;
    TRY(check_field(s, field));
    describe(h, s, field, cell, &f);
    TRY(box_evaluate(&f, places, values));
done:
    return status;
}

/* Of the derivative of a Legendre polynomial the ends are left, sqrt((2 i + 1) / 2) and the same with the
 * sign of its parity; of the others, along tangents, the constant. */
static double star_flux(const struct boxhdg_at *at, int d, const double *star) {
    const struct boxhdg *h = at->h;
    int64_t step = box_power(h->n + 1, d);
    double sum = 0.0;
    for (int i = 1; i <= h->n; i += 2) sum += 2.0 * box_legendre_end(i) * star[i * step];
    return -at->k * at->inverse[d] * sum * sqrt((double)(1 << (h->grid.dim - 1)));
}

facet_status boxhdg_integrate(const struct boxhdg *h, const struct boxhdg_solution *s,
                              enum boxhdg_field field, int64_t cell, double *integrals) {
    facet_status status = FACET_OK;
    struct boxhdg_at at;
    TRY(check_field(s, field));
    boxhdg_at_find(h, s, cell, &at);
    int64_t star = at.cell * box_power(h->n + 1, h->grid.dim);
    for (int c = 0; c < boxhdg_field_components(h, field); c++) {
        const double *modes =
            (field == BOX_Q ? s->q + c * s->n_cells * h->cell_size : s->u) + at.cell * h->cell_size;
        integrals[c] = at.V * (field == BOX_U_STAR   ? s->star[star] * sqrt((double)(1 << h->grid.dim))
                               : field == BOX_Q_STAR ? star_flux(&at, c, s->star + star)
                                                     : box_weigh(at.extent, at.moments, modes));
    }
done:
    return status;
}
