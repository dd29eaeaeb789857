/* What the choice of levels looks at in an element matrix (kernel cell_summary), the same for every device.
 */
#ifndef FACET_KERNELS_SUMMARY_H
#define FACET_KERNELS_SUMMARY_H

#include <math.h>
#include <stdint.h>

#include "kernels/everywhere.h"

/* The energy of the constants on a face whose unknowns begin at `first`, `size` of each component; K: the
 * lower triangle of a symmetric matrix by rows, entries `step` apart. Of displacements at right angles to the
 * stiffest direction, which is that of the normal where lambda is large: what carries a body, and tells how
 * long cells are, is mu. That direction is found by the power method. */
EVERYWHERE double summary_constants(const double *K, int step, int first, int size, int n_components) {
    double block[3][3], v[3] = {1.0, 0.6, 0.3}, w[3], trace = 0.0, top = 0.0;
    for (int a = 0; a < n_components; a++)
        for (int b = 0; b <= a; b++) {
            const int64_t i = first + a * size, j = first + b * size;
            block[a][b] = block[b][a] = K[(i * (i + 1) / 2 + j) * step];
        }
    if (n_components == 1) return block[0][0];
    for (int round = 0; round < 8; round++) {
        double square = 0.0;
        for (int a = 0; a < n_components; a++) {
            w[a] = 0.0;
            for (int b = 0; b < n_components; b++) w[a] += block[a][b] * v[b];
            square += w[a] * w[a];
        }
        top = sqrt(square);
        for (int a = 0; a < n_components; a++) v[a] = top > 0.0 ? w[a] / top : 0.0;
    }
    for (int a = 0; a < n_components; a++) trace += block[a][a];
    return fmax(trace - top, 0.0) / (n_components - 1);
}

#endif
