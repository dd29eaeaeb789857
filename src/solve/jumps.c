/* Jumps of a coefficient around a vertex. See jumps.h. */
#include "solve/jumps.h"

#include <math.h>

static int root(const int32_t *parent, int i) {
    while (parent[i] != i) i = parent[i];
    return i;
}

/* Cells are put together from the largest value down: where two pieces meet, the lower of their peaks stands
 * out from the cell that joins them. */
double solve_star_jump(int n, const double *values, int width, const int32_t *neighbours, int32_t *work,
                       double *peaks) {
    int32_t *order = work, *parent = work + n;
    double most = 1.0;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && values[order[at - 1]] < values[i]; at--) order[at] = order[at - 1];
        order[at] = i;
        parent[i] = -1;
    }
    for (int r = 0; r < n; r++) {
        int i = order[r];
        parent[i] = i;
        peaks[i] = values[i];
        for (int f = 0; f < width; f++) {
            int other = neighbours[i * width + f];
            if (other < 0 || parent[other] < 0) continue;
            int here = root(parent, i), there = root(parent, other);
            if (here == there) continue;
            most = fmax(most, fmin(peaks[here], peaks[there]) / values[i]);
            peaks[there] = fmax(peaks[here], peaks[there]);
            parent[here] = there;
        }
    }
    return most;
}
