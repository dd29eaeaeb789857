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

/* ------------------------------------------------------------------------------ chains */

/* The cells around a vertex while their pieces are cut. */
struct chain {
    int n, width;
    const double *values;
    const int32_t *neighbours, *pieces;
    int32_t *parts, *distance; /* parts: -1: none yet */
};

/* Whether a cell of the piece still has no part, and a value of `least` or more. */
static int is_left(const struct chain *c, int i, int piece, double least) {
    return c->pieces[i] == piece && c->parts[i] < 0 && c->values[i] >= least;
}

/* Distances from `start` through faces, of cells that are left; -1: not reached. Returns the farthest.
 * Neighbours need to be known from one side only: those of walls are not. */
static int measure(const struct chain *c, int piece, double least, int start) {
    int last = start, far = 0, more = 1;
    for (int i = 0; i < c->n; i++) c->distance[i] = -1;
    c->distance[start] = 0;
    for (int d = 0; more; d++) {
        more = 0;
        for (int i = 0; i < c->n; i++)
            for (int f = 0; f < c->width; f++) {
                int other = c->neighbours[i * c->width + f];
                if (other < 0) continue;
                int from = c->distance[i] == d ? i : other, to = c->distance[i] == d ? other : i;
                if (c->distance[from] != d || c->distance[to] >= 0 || !is_left(c, to, piece, least)) continue;
                c->distance[to] = d + 1;
                more = 1;
                if (d + 1 > far) {
                    far = d + 1;
                    last = to;
                }
            }
    }
    return last;
}

/* Parts of the stiff cells of a piece: from the walls, else from an end of a longest way, in equal lengths.
 */
static void cut_piece(const struct chain *c, int piece, int reach) {
    double peak = 0.0;
    for (int i = 0; i < c->n; i++)
        if (c->pieces[i] == piece && isfinite(c->values[i])) peak = fmax(peak, c->values[i]);
    const double least = peak / SOLVE_LARGE_JUMP;
    for (;;) {
        int top = -1, length = reach + 1;
        for (int i = 0; i < c->n; i++)
            if (is_left(c, i, piece, 0.0) && (top < 0 || c->values[i] > c->values[top])) top = i;
        if (top < 0 || c->values[top] < least) break;
        int start = isfinite(c->values[top]) ? measure(c, piece, least, top) : top;
        int end = measure(c, piece, least, start);
        if (isfinite(c->values[top])) {
            int whole = c->distance[end] + 1, n_parts = (whole + reach) / (reach + 1);
            length = (whole + n_parts - 1) / n_parts;
        }
        for (int i = 0; i < c->n; i++)
            if (c->distance[i] >= 0 && c->distance[i] < length) c->parts[i] = start;
    }
}

void solve_star_cut(int n, const double *values, int width, const int32_t *neighbours, int reach,
                    int32_t *work, int32_t *pieces) {
    struct chain c = {n, width, values, neighbours, pieces, work, work + n};
    int more = 1;
    for (int i = 0; i < n; i++) c.parts[i] = -1;
    for (int i = 0; i < n; i++)
        if (pieces[i] == i) cut_piece(&c, i, reach);
    while (more) { /* soft cells go with a neighbour */
        more = 0;
        for (int i = 0; i < n; i++)
            for (int f = 0; f < width && c.parts[i] < 0; f++) {
                int other = neighbours[i * width + f];
                if (other < 0 || c.parts[other] < 0 || pieces[other] != pieces[i]) continue;
                c.parts[i] = c.parts[other];
                more = 1;
            }
    }
    for (int i = 0; i < n; i++) pieces[i] = c.parts[i] < 0 ? pieces[i] : c.parts[i];
}
