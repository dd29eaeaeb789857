/* Where blocks lie, and the nodes that they share. See shared_nodes.h. */
#include "boxsem/shared_nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

/* ------------------------------------------------------------------------------ all blocks */

void boxsem_blocks_destroy(struct boxsem_blocks *b) {
    for (int d = 0; d < 3; d++) base_free(&b->coordinates[d]);
    base_free(&b->blocks);
    *b = (struct boxsem_blocks){0};
}

static facet_status gather_blocks(const struct box_grid *g, struct boxsem_blocks *b) {
    facet_status status = FACET_OK;
    const struct part_box *whole = &g->part->mesh->part->box;
    int64_t own[6] = {0, 0, 0, 1, 1, 1}, *all = NULL;
    for (int d = 0; d < g->dim; d++) own[d] = whole->first[d], own[3 + d] = g->cells[d];
    TRY(ALLOC(all, 6 * (int64_t)b->team->size));
    TRY(team_gather(b->team, 6, own, all));
    TRY(ALLOC(b->blocks, b->team->size));
    for (int r = 0; r < b->team->size; r++)
        for (int d = 0; d < 3; d++) {
            b->blocks[r].first[d] = (int)all[6 * (int64_t)r + d];
            b->blocks[r].count[d] = (int)all[6 * (int64_t)r + 3 + d];
        }
done:
    base_free(&all);
    return status;
}

/* Conditions are those of whole sides: somebody has them. */
static facet_status gather_sides(const struct box_grid *g, struct boxsem_blocks *b) {
    facet_status status = FACET_OK;
    int64_t sides[6];
    for (int i = 0; i < 6; i++) {
        const enum box_side side = i / 2 < g->dim ? g->sides[i / 2][i % 2] : BOX_NEUMANN;
        sides[i] = side == BOX_SEAM ? -1 : (int64_t)side;
    }
    TRY(team_reduce_counts(b->team, TEAM_MAX, 6, sides));
    for (int i = 0; i < 6; i++) b->sides[i / 2][i % 2] = (enum box_side)sides[i];
    for (int d = 0; d < g->dim; d++)
        if (g->part->mesh->part->box.periodic[d]) b->sides[d][0] = b->sides[d][1] = BOX_PERIODIC;
done:
    return status;
}

static facet_status gather_coordinates(const struct box_grid *g, struct boxsem_blocks *b) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(b);
    for (int d = 0; d < g->dim; d++) {
        TRY(ALLOC(b->coordinates[d], b->cells[d] + 1));
        for (int i = 0; i <= b->cells[d]; i++) b->coordinates[d][i] = -INFINITY;
        for (int i = 0; i <= own->count[d]; i++) b->coordinates[d][own->first[d] + i] = g->coordinates[d][i];
        TRY(team_reduce(b->team, TEAM_MAX, b->cells[d] + 1, b->coordinates[d]));
    }
done:
    return status;
}

facet_status boxsem_blocks_create(const struct box_grid *g, struct boxsem_blocks *b) {
    facet_status status = FACET_OK;
    *b = (struct boxsem_blocks){.team = g->part->team, .dim = g->dim, .cells = {1, 1, 1}};
    for (int d = 0; d < g->dim; d++) b->cells[d] = g->part->mesh->part->box.cells[d];
    TRY(gather_blocks(g, b));
    TRY(gather_sides(g, b));
    TRY(gather_coordinates(g, b));
done:
    if (status != FACET_OK) boxsem_blocks_destroy(b);
    return status;
}

facet_status boxsem_blocks_halve(const struct boxsem_blocks *from, const int halved[3],
                                 struct boxsem_blocks *to) {
    facet_status status = FACET_OK;
    *to = *from;
    to->blocks = NULL;
    for (int d = 0; d < 3; d++) to->coordinates[d] = NULL;
    TRY(ALLOC(to->blocks, from->team->size));
    for (int r = 0; r < from->team->size; r++)
        for (int d = 0; d < 3; d++) {
            to->blocks[r].first[d] = from->blocks[r].first[d] >> halved[d];
            to->blocks[r].count[d] = from->blocks[r].count[d] >> halved[d];
        }
    for (int d = 0; d < from->dim; d++) {
        to->cells[d] = from->cells[d] >> halved[d];
        TRY(ALLOC(to->coordinates[d], to->cells[d] + 1));
        for (int i = 0; i <= to->cells[d]; i++) to->coordinates[d][i] = from->coordinates[d][i << halved[d]];
    }
done:
    if (status != FACET_OK) boxsem_blocks_destroy(to);
    return status;
}

/* ------------------------------------------------------------------------------ the whole */

/* Numbers of cells from all blocks. */
static facet_status gather_cells(const struct boxsem_blocks *b, const double *values, double *all) {
    const struct boxsem_block *own = boxsem_own_block(b);
    const int n = own->count[0] * own->count[1] * own->count[2];
    const int64_t n_all = (int64_t)b->cells[0] * b->cells[1] * b->cells[2];
    memset(all, 0, (size_t)n_all * sizeof *all);
    for (int i = 0; i < n; i++) {
        const int at[3] = {own->first[0] + i % own->count[0],
                           own->first[1] + i / own->count[0] % own->count[1],
                           own->first[2] + i / own->count[0] / own->count[1]};
        all[((int64_t)at[2] * b->cells[1] + at[1]) * b->cells[0] + at[0]] = values[i];
    }
    return team_reduce(b->team, TEAM_SUM, (int)n_all, all);
}

facet_status boxsem_blocks_whole(const struct boxsem_blocks *b, const struct box_grid *block,
                                 struct box_grid *whole) {
    facet_status status = FACET_OK;
    struct box_grid_data data = {.dim = b->dim};
    double *values[2] = {NULL, NULL};
    const double *from[2] = {block->conductivity, block->reaction};
    int64_t n = 1;
    for (int d = 0; d < 3; d++) {
        data.cells[d] = b->cells[d];
        data.coordinates[d] = b->coordinates[d];
        data.sides[d][0] = b->sides[d][0];
        data.sides[d][1] = b->sides[d][1];
        n *= b->cells[d];
    }
    for (int i = 0; i < 2; i++) {
        if (from[i] == NULL) continue;
        TRY(ALLOC(values[i], n));
        TRY(gather_cells(b, from[i], values[i]));
    }
    data.conductivity = values[0];
    data.reaction = values[1];
    TRY(box_grid_create(&data, whole));
done:
    base_free(&values[0]);
    base_free(&values[1]);
    return status;
}

/* ------------------------------------------------------------------------------ shared nodes */

int boxsem_owned_nodes(const struct boxsem_blocks *b, const struct boxsem_block *block, int k, int d) {
    if (d >= b->dim) return 1;
    const int last = block->first[d] + block->count[d] == b->cells[d] && b->sides[d][0] != BOX_PERIODIC;
    return k * block->count[d] + last;
}

/* Nodes of a block along a direction. */
static int n_nodes(const struct boxsem_blocks *b, const struct boxsem_block *block, int k, int d) {
    return d < b->dim ? k * block->count[d] + !boxsem_block_is_ring(b, block, d) : 1;
}

/* Whether two blocks touch, at a corner at least. */
static int is_near(const struct boxsem_blocks *b, const struct boxsem_block *one,
                   const struct boxsem_block *two) {
    for (int d = 0; d < b->dim; d++) {
        const int period = b->sides[d][0] == BOX_PERIODIC ? b->cells[d] : 0;
        int near = 0;
        for (int shift = -period; shift <= period && !near; shift += period > 0 ? period : 1)
            near = one->first[d] + shift <= two->first[d] + two->count[d] &&
                   two->first[d] <= one->first[d] + shift + one->count[d];
        if (!near) return 0;
    }
    return 1;
}

/* Nodes of a direction that two blocks have, in the order of the whole: where they are in the one. */
struct common {
    int n, *local;
};

static int compare_pairs(const void *one, const void *two) {
    return *(const int *)one - *(const int *)two;
}

static facet_status find_common(const struct boxsem_blocks *b, const struct boxsem_block *own,
                                const struct boxsem_block *other, int k, int d, struct common *common) {
    facet_status status = FACET_OK;
    const int n = n_nodes(b, own, k, d), whole = boxsem_whole_nodes(b, k, d),
              n_other = n_nodes(b, other, k, d);
    int(*pairs)[2] = NULL, count = 0;
    TRY(base_alloc(&pairs, (size_t)n, sizeof *pairs));
    for (int i = 0; i < n; i++) {
        const int node = d < b->dim ? (k * own->first[d] + i) % whole : 0;
        const int there = d < b->dim ? (node - k * other->first[d] + whole) % whole : 0;
        if (there >= n_other) continue;
        pairs[count][0] = node;
        pairs[count++][1] = i;
    }
    if (count > 0) qsort(pairs, (size_t)count, sizeof *pairs, compare_pairs);
    common->n = count;
    TRY(ALLOC(common->local, count));
    for (int i = 0; i < count; i++) common->local[i] = pairs[i][1];
done:
    base_free(&pairs);
    return status;
}

/* Nodes (in the order of the whole) that this block and another have; *nodes: NULL where there are none. */
static facet_status find_shared(const struct boxsem_blocks *b, int rank, int k, int64_t *n, int64_t **nodes) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(b);
    struct common common[3] = {{0}};
    int64_t count = 0, extent[3];
    *nodes = NULL;
    *n = 0;
    if (!is_near(b, own, &b->blocks[rank])) return FACET_OK;
    for (int d = 0; d < 3; d++) {
        TRY(find_common(b, own, &b->blocks[rank], k, d, &common[d]));
        if (common[d].n == 0) goto done;
        extent[d] = n_nodes(b, own, k, d);
    }
    TRY(ALLOC(*nodes, (int64_t)common[0].n * common[1].n * common[2].n));
    for (int z = 0; z < common[2].n; z++)
        for (int y = 0; y < common[1].n; y++)
            for (int x = 0; x < common[0].n; x++)
                (*nodes)[count++] =
                    (common[2].local[z] * extent[1] + common[1].local[y]) * extent[0] + common[0].local[x];
    *n = count;
done:
    for (int d = 0; d < 3; d++) base_free(&common[d].local);
    return status;
}

facet_status boxsem_blocks_seam(const struct boxsem_blocks *b, int k, struct seam **seam) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(b);
    struct team_neighbour *neighbours = NULL;
    int64_t **nodes = NULL, *offsets = NULL, *places = NULL, n = 1, n_shared = 0;
    int32_t *numbers = NULL;
    int n_neighbours = 0;
    for (int d = 0; d < 3; d++) n *= n_nodes(b, own, k, d);
    TRY(CALLOC(neighbours, b->team->size));
    TRY(CALLOC(nodes, b->team->size));
    TRY(CALLOC(numbers, n));
    for (int r = 0; r < b->team->size; r++) {
        struct team_neighbour *neighbour = &neighbours[n_neighbours];
        if (r == b->team->rank) continue;
        TRY(find_shared(b, r, k, &neighbour->count, &nodes[n_neighbours]));
        for (int64_t i = 0; i < neighbour->count; i++) numbers[nodes[n_neighbours][i]] = 1;
        neighbour->rank = r;
        n_neighbours += neighbour->count > 0;
    }
    for (int64_t i = 0; i < n; i++) n_shared += numbers[i];
    TRY(ALLOC(offsets, n_shared + 1));
    TRY(ALLOC(places, n_shared));
    n_shared = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!numbers[i]) continue;
        places[n_shared] = i;
        numbers[i] = (int32_t)n_shared++;
    }
    for (int64_t i = 0; i <= n_shared; i++) offsets[i] = i;
    for (int r = 0; r < n_neighbours; r++) {
        TRY(ALLOC(neighbours[r].items, neighbours[r].count));
        for (int64_t i = 0; i < neighbours[r].count; i++) neighbours[r].items[i] = numbers[nodes[r][i]];
    }
    TRY(seam_create_apart(b->team, n_shared, offsets, places, 1, n_neighbours, neighbours, seam));
done:
    for (int r = 0; r < b->team->size; r++) {
        if (neighbours != NULL) base_free(&neighbours[r].items);
        if (nodes != NULL) base_free(&nodes[r]);
    }
    base_free(&neighbours);
    base_free(&nodes);
    base_free(&numbers);
    base_free(&offsets);
    base_free(&places);
    return status;
}

static int64_t count_owned(const struct boxsem_blocks *b, const struct boxsem_block *block, int k) {
    int64_t n = 1;
    for (int d = 0; d < 3; d++) n *= boxsem_owned_nodes(b, block, k, d);
    return n;
}

/* The number of a node among those that belong to its block, which is found by the cell above it; -1: not in
 * this one. */
static int64_t number_in(const struct boxsem_blocks *b, const struct boxsem_block *block, int k,
                         const int node[3]) {
    int64_t number = 0;
    for (int d = 2; d >= 0; d--) {
        const int at = node[d] - (d < b->dim ? k * block->first[d] : 0),
                  n = boxsem_owned_nodes(b, block, k, d);
        if (at < 0 || at >= n) return -1;
        number = number * n + at;
    }
    return number;
}

void boxsem_blocks_number(const struct boxsem_blocks *b, int k, int64_t n, int64_t *numbers, int64_t *first,
                          int64_t *n_owned) {
    const struct boxsem_block *own = boxsem_own_block(b);
    int64_t before = 0;
    int extent[3];
    for (int d = 0; d < 3; d++) extent[d] = n_nodes(b, own, k, d);
    for (int r = 0; r < b->team->size; r++) {
        if (r == b->team->rank) *first = before;
        for (int64_t i = 0; i < n && is_near(b, own, &b->blocks[r]); i++) {
            const int at[3] = {(int)(i % extent[0]), (int)(i / extent[0] % extent[1]),
                               (int)(i / extent[0] / extent[1])};
            int node[3] = {0};
            for (int d = 0; d < b->dim; d++)
                node[d] = (k * own->first[d] + at[d]) % boxsem_whole_nodes(b, k, d);
            const int64_t there = number_in(b, &b->blocks[r], k, node);
            if (there >= 0) numbers[i] = before + there;
        }
        before += count_owned(b, &b->blocks[r], k);
    }
    *n_owned = count_owned(b, own, k);
}

/* ------------------------------------------------------------------------------ windows */

/* Where the row (y, z) of a window begins in a lattice that begins again at its end. */
static int64_t row_of(const int begin[3], const int ends[3], int y, int z) {
    return ((int64_t)((begin[2] + z) % ends[2]) * ends[1] + (begin[1] + y) % ends[1]) * ends[0];
}

/* Runs of a row that neither lattice interrupts. */
#define WINDOW(name, type, op)                                                                               \
    static void name(const struct boxsem_window *w, const type *from, type *to) {                            \
        for (int z = 0; z < w->count[2]; z++)                                                                \
            for (int y = 0; y < w->count[1]; y++) {                                                          \
                const type *in = from + row_of(w->from, w->ends_from, y, z);                                 \
                type *out = to + row_of(w->to, w->ends_to, y, z);                                            \
                for (int x = 0, run; x < w->count[0]; x += run) {                                            \
                    const int i = (w->from[0] + x) % w->ends_from[0], o = (w->to[0] + x) % w->ends_to[0];    \
                    const int here = w->ends_from[0] - i, there = w->ends_to[0] - o;                         \
                    run = here < there ? here : there;                                                       \
                    if (run > w->count[0] - x) run = w->count[0] - x;                                        \
                    for (int j = 0; j < run; j++) out[o + j] op in[i + j];                                   \
                }                                                                                            \
            }                                                                                                \
    }
WINDOW(copy_double, double, =)
WINDOW(copy_float, float, =)
WINDOW(add_double, double, +=)
WINDOW(add_float, float, +=)

void boxsem_window_copy(const struct boxsem_window *w, const struct vector *from, struct vector *to) {
    if (from->precision == F64)
        copy_double(w, from->data, to->data);
    else
        copy_float(w, from->numbers, to->numbers);
}

void boxsem_window_add(const struct boxsem_window *w, const struct vector *from, struct vector *to) {
    if (from->precision == F64)
        add_double(w, from->data, to->data);
    else
        add_float(w, from->numbers, to->numbers);
}
