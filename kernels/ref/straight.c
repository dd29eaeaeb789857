/* Plain C: straight cells from their corners. */
#include <math.h>

#include "kernels/ref/ref.h"

void affine_coefficients_ref(const struct straight_cells *cells, int64_t n_batches, double *coefficients,
                             double *det) {
    const struct affine_layout at = affine_layout(cells->dim, cells->n_faces);
    const int L = cells->lanes;
    for (int64_t cell = 0; cell < n_batches * L; cell++)
        det[cell] =
            straight_coefficients(cells, &at, cell, coefficients + cell / L * at.count * L + cell % L);
}

void cell_source_ref(const struct source_points *p, int64_t n_batches, double *values, double *totals) {
    const int L = p->lanes, dim = p->dim;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *corners = p->corners + cell / L * (1 + dim) * dim * L + cell % L;
        double *to = values + cell / L * p->components * p->n * L + cell % L,
               *total = totals + cell / L * 2 * L + cell % L;
        double J[9], C[9], det = straight_map(dim, L, corners, J, C);
        total[0] = total[L] = 0.0;
        for (int q = 0; q < p->n; q++) {
            double x[3], f = p->constant;
            for (int a = 0; a < dim; a++) {
                x[a] = corners[a * L];
                for (int b = 0; b < dim; b++) x[a] += J[a * dim + b] * p->points[q * dim + b];
            }
            if (p->plan.n_nodes > 0) {
                expression_ref(&p->plan, 1, x, NULL, p->work);
                f = p->work[expression_row(&p->plan, p->plan.n_nodes - 1, 0)];
            }
            to[q * L] = p->weights[q] * det * f;
            total[0] += to[q * L];
            total[L] += fabs(to[q * L]);
        }
    }
}
