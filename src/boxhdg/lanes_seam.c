/* The seams of a block in lanes: which lanes hold the faces that other blocks have too, and what they count.
 */
#include <math.h>

#include "base/memory.h"
#include "boxhdg/lanes.h"

void boxhdg_lanes_find_face(const struct boxhdg_lanes *lanes, int64_t face, struct boxhdg_place *place) {
    const struct box_grid *g = &lanes->hdg->grid;
    int d = 0, at[3], extent[3] = {g->cells[0], g->cells[1], g->cells[2]};
    while (face >= g->first_face[d + 1]) d++;
    face -= g->first_face[d];
    extent[d] = g->planes[d];
    at[0] = (int)(face % extent[0]);
    at[1] = (int)(face / extent[0] % extent[1]);
    at[2] = (int)(face / extent[0] / extent[1]);
    place->side = at[d] == g->cells[d];
    at[d] -= place->side;
    for (int axis = 0; axis < 3; axis++) {
        place->cell[axis] = lanes->direction[axis] >= 0 ? at[lanes->direction[axis]] : 0;
        if (lanes->direction[axis] == d) place->axis = axis;
    }
}

static double root(const struct boxhdg_lanes *lanes, int axis, int cell, int mode) {
    const int L = axis == 0 ? lanes->plan.lanes : 1;
    return lanes->b[axis][((int64_t)(cell / L) * lanes->plan.modes[axis] + mode) * L + cell % L];
}

/* (b b)^2 of the modes of a face. */
static void square_scales(const struct boxhdg_lanes *lanes, const struct boxhdg_place *at, double *squares) {
    const struct box_plan *p = &lanes->plan;
    const int slow = at->axis == 0 ? 1 : 0, fast = at->axis == 2 ? 1 : 2;
    for (int i = 0; i < p->modes[slow]; i++)
        for (int j = 0; j < p->modes[fast]; j++)
            squares[box_face_mode(p, slow, fast, i, j)] =
                pow(root(lanes, slow, at->cell[slow], i) * root(lanes, fast, at->cell[fast], j), 2);
}

/* Blocks are the faces at the seam: numbers of the plain seam become places among them. */
facet_status boxhdg_lanes_make_seam(struct boxhdg_lanes *lanes) {
    facet_status status = FACET_OK;
    struct seam *plain = lanes->hdg->seam;
    const int64_t size = lanes->hdg->face_size;
    struct team_neighbour *neighbours = NULL;
    struct boxhdg_place at;
    int64_t *offsets = NULL, *places = NULL, n = 0;
    if (plain == NULL) return FACET_OK;
    for (int k = 0; k < plain->n_neighbours; k++) n += plain->neighbours[k].count;
    TRY(CALLOC(neighbours, plain->n_neighbours));
    TRY(ALLOC(offsets, n + 1));
    TRY(ALLOC(places, n));
    TRY(ALLOC(lanes->foreign_scales, n * size));
    n = offsets[0] = 0;
    lanes->n_foreign = 0;
    for (int k = 0; k < plain->n_neighbours; k++) {
        const struct team_neighbour *from = &plain->neighbours[k];
        neighbours[k] = (struct team_neighbour){.rank = from->rank, .count = from->count};
        TRY(ALLOC(neighbours[k].items, from->count));
        for (int64_t i = 0; i < from->count; i++, n++) {
            boxhdg_lanes_find_face(lanes, from->items[i], &at);
            places[n] = box_where(&lanes->plan, at.axis, at.cell, at.side, lanes->plan.lanes);
            offsets[n + 1] = offsets[n] + size;
            neighbours[k].items[i] = (int32_t)n;
            if (from->rank < plain->team->rank)
                square_scales(lanes, &at, lanes->foreign_scales + size * lanes->n_foreign++);
        }
    }
    TRY(seam_create_apart(plain->team, n, offsets, places, lanes->plan.lanes, plain->n_neighbours, neighbours,
                          &lanes->seam));
done:
    for (int k = 0; neighbours != NULL && k < plain->n_neighbours; k++) base_free(&neighbours[k].items);
    base_free(&neighbours);
    base_free(&offsets);
    base_free(&places);
    return status;
}

/* 1 / x of every number at the seam. */
static void invert(struct seam *s, double *values) {
    for (int64_t b = 0; b < s->n_blocks; b++)
        for (int64_t i = 0; i < s->offsets[b + 1] - s->offsets[b]; i++) {
            double *value = values + s->places[b] + i * s->stride;
            *value = 1.0 / *value;
        }
}

/* By the host, also for another device: that happens once. */
facet_status boxhdg_lanes_join_diagonal(struct boxhdg_lanes *lanes, double *diagonal) {
    facet_status status = FACET_OK;
    struct seam *s = lanes->seam;
    const size_t bytes = (size_t)lanes->plan.size * sizeof *diagonal;
    double *staged = NULL;
    struct vector v = {.device = device_host(), .n = lanes->plan.size};
    if (s == NULL) return FACET_OK;
    TRY(device_alloc_room(lanes->device, &staged, (size_t)lanes->plan.size, sizeof *staged));
    TRY(device_see(lanes->device, diagonal, bytes, staged, (const void **)&v.data));
    invert(s, v.data);
    seam_add(s, &v);
    invert(s, v.data);
    TRY(ALLOC(lanes->foreign_diagonal, lanes->n_foreign * lanes->hdg->face_size));
    TRY(ALLOC(lanes->foreign_values, lanes->n_foreign * lanes->hdg->face_size));
    TRY(seam_take_foreign(s, &v, lanes->foreign_diagonal));
    if (staged != NULL) TRY(device_upload(lanes->device, diagonal, staged, bytes));
done:
    base_free(&staged);
    return status;
}

void boxhdg_lanes_join_sums(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                            const struct vector *x, double sums[2]) {
    struct seam *s = lanes->seam;
    if (s == NULL) return;
    facet_status status = seam_take_foreign(s, x, lanes->foreign_values);
    for (int64_t i = 0; status == FACET_OK && i < lanes->n_foreign * lanes->hdg->face_size; i++) {
        const double square = pow(lanes->foreign_values[i], 2), scale = lanes->foreign_scales[i];
        sums[0] -= square * lanes->foreign_diagonal[i];
        sums[1] -= scaling == BOXHDG_UNKNOWN ? square * scale : square / scale;
    }
    if (status == FACET_OK) status = team_reduce(s->team, TEAM_SUM, 2, sums);
    if (status != FACET_OK) sums[0] = sums[1] = NAN;
}
