/* From a level of blocks to one that every process has whole. See shared_nodes.h.
 *
 * A block is widened to cells of the coarser box, with zeros; what it restricts are parts of sums, which are
 * taken over all processes. The way back needs no message. */
#include <math.h>

#include "base/memory.h"
#include "boxsem/shared_nodes.h"

struct boxsem_gather {
    const struct device *device;
    struct base_team *team;
    int same; /* both levels have the same cells */
    struct box_grid fine, coarse;
    struct boxsem_transfer transfer;
    struct vector f, c; /* on the widened block, and its coarser cells; room for either precision */
    struct vector part; /* c in double precision */
    struct vector whole;
    struct boxsem_window owned, back, put, fetch;
};

/* A part of the whole as a box: cells first .. first + count - 1 of a direction, or a ring. */
static facet_status make_grid(const struct boxsem_blocks *b, const double *const coordinates[3],
                              const int whole[3], const struct boxsem_block *block, struct box_grid *grid) {
    struct box_grid_data data = {.dim = b->dim, .cells = {1, 1, 1}};
    for (int d = 0; d < b->dim; d++) {
        const int end = block->first[d] + block->count[d], all = block->count[d] == whole[d];
        const int ring = b->sides[d][0] == BOX_PERIODIC;
        data.cells[d] = block->count[d];
        data.coordinates[d] = coordinates[d] + block->first[d];
        data.sides[d][0] = block->first[d] > 0 || (ring && !all) ? BOX_SEAM : b->sides[d][0];
        data.sides[d][1] = end < whole[d] || (ring && !all) ? BOX_SEAM : b->sides[d][1];
    }
    return box_grid_create(&data, grid);
}

static int n_nodes(const struct box_grid *g, int k, int d) {
    return d < g->dim ? k * g->cells[d] + (g->sides[d][0] != BOX_PERIODIC) : 1;
}

static void make_windows(const struct boxsem_blocks *b, const struct box_grid *coarse, int k,
                         const struct boxsem_block *wide, const struct boxsem_block *below,
                         struct boxsem_gather *g) {
    const struct boxsem_block *own = boxsem_own_block(b);
    for (int d = 0; d < 3; d++) {
        const int fine = n_nodes(&g->fine, k, d), low = n_nodes(&g->coarse, k, d), real = d < b->dim;
        const int all = real ? k * own->count[d] + !boxsem_block_is_ring(b, own, d) : 1,
                  at = real ? k * (own->first[d] - wide->first[d]) : 0;
        g->owned.count[d] = boxsem_owned_nodes(b, own, k, d);
        g->back.count[d] = all;
        g->owned.to[d] = g->back.from[d] = at;
        g->owned.ends_to[d] = g->back.ends_from[d] = fine;
        g->owned.ends_from[d] = g->back.ends_to[d] = all;
        g->put.count[d] = g->fetch.count[d] = low;
        g->put.to[d] = g->fetch.from[d] = real ? k * below->first[d] : 0;
        g->put.ends_to[d] = g->fetch.ends_from[d] = n_nodes(coarse, k, d);
        g->put.ends_from[d] = g->fetch.ends_to[d] = low;
    }
}

static int64_t all_nodes(const struct box_grid *g, int k) {
    int64_t n = 1;
    for (int d = 0; d < 3; d++) n *= n_nodes(g, k, d);
    return n;
}

facet_status boxsem_gather_create(const struct device *device, const struct boxsem_blocks *b,
                                  const struct box_grid *coarse, const struct box_element *element,
                                  struct boxsem_gather **gather) {
    facet_status status = FACET_OK;
    const int k = element->k;
    struct boxsem_block wide = *boxsem_own_block(b), below = wide;
    struct boxsem_gather *g = NULL;
    *gather = NULL;
    TRY(CALLOC(g, 1));
    *gather = g;
    g->device = device;
    g->team = b->team;
    g->same = 1;
    for (int d = 0; d < b->dim; d++) {
        if (coarse->cells[d] == b->cells[d]) continue;
        const int end = (wide.first[d] + wide.count[d] + 1) / 2;
        g->same = 0;
        below.first[d] = wide.first[d] / 2;
        below.count[d] = end - below.first[d];
        wide.first[d] = 2 * below.first[d];
        wide.count[d] = 2 * below.count[d];
    }
    TRY(make_grid(b, (const double *const *)b->coordinates, b->cells, &wide, &g->fine));
    TRY(make_grid(b, (const double *const *)coarse->coordinates, coarse->cells, &below, &g->coarse));
    if (!g->same) TRY(boxsem_transfer_create(device, &g->fine, &g->coarse, element, element, &g->transfer));
    make_windows(b, coarse, k, &wide, &below, g);
    if (!g->same) TRY(vector_create(device, all_nodes(&g->fine, k), &g->f));
    TRY(vector_create(device, all_nodes(&g->coarse, k), &g->c));
    TRY(vector_create(device, g->c.n, &g->part));
    TRY(vector_create(device, all_nodes(coarse, k), &g->whole));
done:
    if (status != FACET_OK) boxsem_gather_destroy(gather);
    return status;
}

void boxsem_gather_destroy(struct boxsem_gather **gather) {
    struct boxsem_gather *g = *gather;
    if (g == NULL) return;
    boxsem_transfer_destroy(&g->transfer);
    box_grid_destroy(&g->fine);
    box_grid_destroy(&g->coarse);
    vector_destroy(&g->f);
    vector_destroy(&g->c);
    vector_destroy(&g->part);
    vector_destroy(&g->whole);
    base_free(gather);
}

int64_t boxsem_gather_scratch(const struct boxsem_gather *g) {
    return g->same ? 0 : brick_transfer_scratch(&g->transfer.plan, base_threads());
}

void boxsem_gather_prolong(struct boxsem_gather *g, const struct vector *coarse, struct vector *fine,
                           double *scratch) {
    struct vector f = g->f, c = g->c;
    f.precision = c.precision = fine->precision;
    boxsem_window_copy(&g->fetch, coarse, &c);
    if (!g->same) {
        vector_fill(&f, 0.0);
        device_brick_prolong(g->device, fine->precision, &g->transfer.plan, c.numbers, f.numbers, scratch);
    }
    boxsem_window_add(&g->back, g->same ? &c : &f, fine);
}

void boxsem_gather_restrict(struct boxsem_gather *g, const struct vector *fine, struct vector *coarse,
                            double *scratch) {
    struct vector f = g->f, c = g->c, *wide = g->same ? &c : &f;
    f.precision = c.precision = fine->precision;
    vector_fill(wide, 0.0);
    boxsem_window_copy(&g->owned, fine, wide);
    if (!g->same)
        device_brick_restrict(g->device, fine->precision, &g->transfer.plan, f.numbers, c.numbers, scratch);
    facet_status status = vector_convert(&c, &g->part);
    vector_fill(&g->whole, 0.0);
    boxsem_window_add(&g->put, &g->part, &g->whole);
    if (status == FACET_OK) status = team_reduce(g->team, TEAM_SUM, (int)g->whole.n, g->whole.data);
    if (status == FACET_OK) status = vector_convert(&g->whole, coarse);
    if (status != FACET_OK) vector_fill(coarse, NAN);
}
