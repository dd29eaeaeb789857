/* Jumps of a coefficient around a vertex. See jumps.h. */
#include "solve/jumps.h"

#include <math.h>
#include <stddef.h>

static int root(const int32_t *parent, int i) {
    while (parent[i] != i) i = parent[i];
    return i;
}

/* Cells are put together from the largest value down: where two components meet, the lower of their peaks
 * stands out from the cell that joins them. If it does by little, that component (one piece, since what was
 * kept apart in it would stand out by more) goes into the piece of the cell it meets. */
double solve_star_jump(int n, const double *values, int width, const int32_t *neighbours, int32_t *work,
                       double *peaks, int32_t *pieces) {
    int32_t *order = work, *parent = work + n;
    double most = 1.0;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && values[order[at - 1]] < values[i]; at--) order[at] = order[at - 1];
        order[at] = i;
        parent[i] = -1;
        if (pieces != NULL) pieces[i] = i;
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
            double jump = fmin(peaks[here], peaks[there]) / values[i];
            most = fmax(most, jump);
            if (pieces != NULL && !(jump > SOLVE_LARGE_JUMP)) {
                int a = root(pieces, i), b = root(pieces, other);
                if (peaks[here] > peaks[there])
                    pieces[b] = a;
                else
                    pieces[a] = b;
            }
            peaks[there] = fmax(peaks[here], peaks[there]);
            parent[here] = there;
        }
    }
    for (int i = 0; i < n && pieces != NULL; i++) pieces[i] = root(pieces, i);
    return most;
}
