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
