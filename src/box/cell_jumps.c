/* Jumps of k from cell to cell of a box. See solve/jumps.h. */
#include "solve/jumps.h"

#include <math.h>

#include <string.h>

#include "base/memory.h"
#include "box/box.h"
#include "mesh/part.h"

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

/* k of the cells round vertex number i of the lattice. */
static void find_star(const struct box_grid *g, int64_t i, double k[8]) {
    int at[3];
    for (int d = 0; d < 3; d++) {
        const int n = d < g->dim ? g->cells[d] + 1 : 1;
        at[d] = (int)(i % n);
        i /= n;
    }
    for (int c = 0; c < 8; c++) {
        int64_t cell = 0;
        int outside = 0;
        for (int d = 2; d >= 0; d--) {
            const int n = d < g->dim ? g->cells[d] : 1, place = at[d] - (d < g->dim) + (c >> d & 1);
            outside |= place < 0 || place >= n;
            cell = cell * n + place;
        }
        k[c] = outside ? 0.0 : g->conductivity[cell];
    }
}

/* Stars that lie in several blocks: positive numbers have the order of their bits, and of each cell one block
 * knows k. */
static facet_status join_stars(const struct box_part *part, int64_t n, double *stars) {
    facet_status status = FACET_OK;
    int64_t *bits = NULL;
    TRY(ALLOC(bits, 8 * n));
    memcpy(bits, stars, (size_t)(8 * n) * sizeof *bits);
    TRY(mesh_merge_vertices(part->mesh, 8, bits));
    memcpy(stars, bits, (size_t)(8 * n) * sizeof *bits);
done:
    base_free(&bits);
    return status;
}

facet_status box_jump(const struct box_grid *g, double *jump) {
    facet_status status = FACET_OK;
    double *stars = NULL, k[8];
    int64_t n = 1;
    *jump = 1.0;
    if (g->conductivity == NULL || g->separable) return FACET_OK;
    for (int d = 0; d < g->dim; d++) n *= g->cells[d] + 1;
    if (g->part != NULL) {
        TRY(ALLOC(stars, 8 * n));
        for (int64_t i = 0; i < n; i++) find_star(g, i, stars + 8 * i);
        TRY(join_stars(g->part, n, stars));
    }
    for (int64_t i = 0; i < n; i++) {
        if (stars == NULL) find_star(g, i, k);
        *jump = fmax(*jump, star_jump(stars != NULL ? stars + 8 * i : k));
    }
    if (g->part != NULL) TRY(team_reduce(g->part->team, TEAM_MAX, 1, jump));
done:
    base_free(&stars);
    return status;
}
