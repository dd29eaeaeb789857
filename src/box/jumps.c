/* Where k jumps so that continuous functions cannot follow it. See box.h. */
#include <math.h>

#include "box/box.h"

/* How much k stands out in one of the cells around a vertex from what joins them through faces. A cell has a
 * bit for each direction; k = 0: there is none. */
static double star_jump(const double k[8]) {
    int order[8], piece[8], n = 0;
    double peak[8], most = 1.0;
    for (int i = 0; i < 8; i++) {
        int at = n;
        if (!(k[i] > 0.0)) continue;
        for (n++; at > 0 && k[order[at - 1]] < k[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < 8; i++) piece[i] = -1;
    for (int r = 0; r < n; r++) {
        int i = order[r];
        piece[i] = i;
        peak[i] = k[i];
        for (int bit = 1; bit < 8; bit *= 2) {
            int other = piece[i ^ bit], own = piece[i];
            if (other < 0 || other == own) continue;
            most = fmax(most, fmin(peak[own], peak[other]) / k[i]);
            peak[other] = fmax(peak[own], peak[other]);
            for (int j = 0; j < 8; j++)
                if (piece[j] == own) piece[j] = other;
        }
    }
    return most;
}

double box_jump(const struct box_grid *g) {
    int n[3], at[3];
    double most = 1.0;
    if (g->conductivity == NULL) return most;
    for (int d = 0; d < 3; d++) n[d] = d < g->dim ? g->cells[d] : 1;
    for (at[2] = 0; at[2] <= n[2]; at[2]++)
        for (at[1] = 0; at[1] <= n[1]; at[1]++)
            for (at[0] = 0; at[0] <= n[0]; at[0]++) {
                double k[8] = {0};
                for (int i = 0; i < 8; i++) {
                    int64_t cell = 0;
                    int outside = 0;
                    for (int d = 2; d >= 0; d--) {
                        int place = at[d] - 1 + (i >> d & 1);
                        outside |= place < 0 || place >= n[d];
                        cell = cell * n[d] + place;
                    }
                    if (!outside) k[i] = g->conductivity[cell];
                }
                most = fmax(most, star_jump(k));
            }
    return most;
}
