/* Jumps of k from cell to cell of a box. See solve/jumps.h. */
#include "solve/jumps.h"

#include <math.h>

#include "box/box.h"

/* A cell has a bit for each direction; k = 0: there is none. */
static double star_jump(const double k[8]) {
    int32_t place[8], neighbours[8 * 3], work[16];
    double values[8], peaks[8];
    int n = 0;
    for (int i = 0; i < 8; i++) {
        place[i] = k[i] > 0.0 ? n : -1;
        if (k[i] > 0.0) values[n++] = k[i];
    }
    for (int i = 0; i < 8 * 3; i++)
        if (place[i / 3] >= 0) neighbours[place[i / 3] * 3 + i % 3] = place[i / 3 ^ 1 << i % 3];
    return solve_star_jump(n, values, 3, neighbours, work, peaks, NULL);
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
