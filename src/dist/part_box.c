/* Parts of boxes, made in place by every rank: the block of bricks that cut_box.h gives it, on the box itself
 * and on all coarser ones whose bricks are cut alike. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dist/cut_box.h"
#include "dist/parts.h"
#include "mesh/nesting.h"

/* So much larger may the largest block become for one more coarse mesh. */
#define MOST_IMBALANCE 1.1

/* ------------------------------------------------------------------------------------------ levels */

static struct blocks blocks_at(const facet_box *box, int halvings, int size) {
    struct blocks blocks = {
        .cells = {1, 1, 1},
        .whole = strcmp(box->shape, "quad") == 0 || strcmp(box->shape, "hex") == 0,
    };
    int64_t bricks = 1;
    for (int a = 0; a < box->dim; a++) {
        blocks.cells[a] = box->cells[a] >> halvings;
        bricks *= blocks.cells[a];
    }
    blocks.n_ranks = bricks < size ? (int)bricks : size;
    return blocks;
}

static int is_simplex_box(const facet_box *box) {
    return strcmp(box->shape, "triangle") == 0 || strcmp(box->shape, "tet") == 0;
}

/* How often the box is halved before it is cut into blocks. Simplices of graded boxes are not nested. Cells
 * of quads and hexes are not cut in direction 0 where they would not be otherwise. */
static int choose_halvings(const facet_box *box, int size) {
    int halvings = mesh_box_halvings(box);
    const struct blocks fine = blocks_at(box, 0, size);
    const double bound = MOST_IMBALANCE * (double)blocks_largest(&fine);
    for (int a = 0; a < box->dim; a++)
        if (box->coordinates[a] != NULL && is_simplex_box(box)) halvings = 0;
    for (; halvings > 0; halvings--) {
        const struct blocks blocks = blocks_at(box, halvings, size);
        if (blocks.n_ranks == fine.n_ranks &&
            (!fine.whole || blocks_shortest(&blocks) << halvings >= blocks_shortest(&fine)) &&
            (double)(blocks_largest(&blocks) << box->dim * halvings) <= bound)
            break;
    }
    return halvings;
}

/* The box after some halvings; coordinates: its own, to be freed. */
static facet_status halve(const facet_box *box, int halvings, double *coordinates[3], facet_box *half) {
    facet_status status = FACET_OK;
    *half = *box;
    for (int a = 0; a < box->dim; a++) {
        half->cells[a] = box->cells[a] >> halvings;
        if (box->coordinates[a] == NULL) continue; /* i/n and 2i/2n give the same coordinate */
        TRY(ALLOC(coordinates[a], half->cells[a] + 1));
        for (int i = 0; i <= half->cells[a]; i++)
            coordinates[a][i] = box->coordinates[a][(int64_t)i << halvings];
        half->coordinates[a] = coordinates[a];
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ one mesh */

/* A face of the seam, for sorting by rank and key. */
struct seam_face {
    int64_t key[MESH_SEAM_KEY];
    int rank;
    int32_t face;
};

static int compare_faces(const void *one, const void *two) {
    const struct seam_face *a = one, *b = two;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    for (int i = 0; i < MESH_SEAM_KEY; i++)
        if (a->key[i] != b->key[i]) return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

/* Of the part that is made. */
struct maker {
    struct base_team *team;
    const facet_box *box; /* of this level */
    struct blocks blocks; /* of the coarsest */
    int shift;            /* so often was that one halved more */
    int cells_per_brick;
    struct block block; /* in bricks of this level */
    struct facet_mesh *mesh;
    struct mesh_box_seam seam;
    struct seam_face *sorted;
    int *ranks;
    int32_t *counts, *faces, *shared;
    int64_t *numbers;
    struct team_key *keys;
};

static void maker_free(struct maker *m) {
    mesh_box_seam_free(&m->seam);
    base_free(&m->sorted);
    base_free(&m->ranks);
    base_free(&m->counts);
    base_free(&m->faces);
    base_free(&m->shared);
    base_free(&m->numbers);
    base_free(&m->keys);
    mesh_destroy(&m->mesh);
}

static facet_status sort_seam(struct maker *m, struct part_input *input) {
    facet_status status = FACET_OK;
    const int32_t n = m->seam.n;
    TRY(ALLOC(m->sorted, n));
    TRY(ALLOC(m->faces, n));
    TRY(ALLOC(m->ranks, n));
    TRY(CALLOC(m->counts, n));
    for (int32_t i = 0; i < n; i++) {
        int index[3];
        for (int a = 0; a < 3; a++) index[a] = m->seam.across[3 * (int64_t)i + a] >> m->shift;
        m->sorted[i].rank = blocks_rank_of(&m->blocks, index);
        m->sorted[i].face = m->seam.faces[i];
        memcpy(m->sorted[i].key, m->seam.keys + MESH_SEAM_KEY * (int64_t)i, sizeof m->sorted[i].key);
    }
    if (n > 0) qsort(m->sorted, (size_t)n, sizeof *m->sorted, compare_faces);
    for (int32_t i = 0; i < n; i++) {
        if (i == 0 || m->sorted[i].rank != m->sorted[i - 1].rank)
            m->ranks[input->n_neighbours++] = m->sorted[i].rank;
        m->counts[input->n_neighbours - 1]++;
        m->faces[i] = m->sorted[i].face;
    }
    input->ranks = m->ranks;
    input->counts = m->counts;
    input->faces = m->faces;
done:
    return status;
}

/* As in the whole: brick after brick, direction 0 fastest. */
static facet_status number_cells(struct maker *m, struct part_input *input) {
    facet_status status = FACET_OK;
    const int n = m->cells_per_brick;
    TRY(ALLOC(m->numbers, m->mesh->n_cells));
    for (int32_t c = 0; c < m->mesh->n_cells; c++) {
        int64_t rest = c / n, brick = 0, stride = 1;
        for (int a = 0; a < m->box->dim; a++) {
            brick += stride * (m->block.first[a] + rest % m->block.count[a]);
            rest /= m->block.count[a];
            stride *= m->box->cells[a];
        }
        m->numbers[c] = brick * n + c % n;
    }
    input->cell_numbers = m->numbers;
done:
    return status;
}

/* Points on a side of the block that is none of the whole. */
static facet_status list_points(struct maker *m, struct part_input *input) {
    facet_status status = FACET_OK;
    TRY(ALLOC(m->shared, m->mesh->n_vertices));
    TRY(ALLOC(m->keys, m->mesh->n_vertices));
    for (int32_t v = 0; v < m->mesh->n_vertices; v++) {
        int64_t rest = v, number = 0, stride = 1;
        int shared = 0;
        for (int a = 0; a < m->box->dim; a++) {
            const int64_t i = rest % (m->block.count[a] + 1), index = m->block.first[a] + i;
            rest /= m->block.count[a] + 1;
            shared |= (i == 0 && index > 0) || (i == m->block.count[a] && index < m->box->cells[a]);
            number += stride * index;
            stride *= (int64_t)m->box->cells[a] + 1;
        }
        if (!shared) continue;
        m->keys[input->n_shared] = team_key_of(1, &number);
        m->shared[input->n_shared++] = v;
    }
    input->shared = m->shared;
    input->keys = m->keys;
done:
    return status;
}

/* One level; *mesh: the coarser one, and then the one made, which owns it. */
static facet_status make_level(struct base_team *team, const facet_box *box, const struct blocks *blocks,
                               int shift, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct maker m = {.team = team, .box = box, .blocks = *blocks, .shift = shift};
    struct part_box whole = {0};
    struct part_input input = {.team = team, .box = &whole};
    m.block = blocks_of_rank(blocks, team->rank);
    for (int a = 0; a < box->dim; a++) {
        m.block.first[a] <<= shift;
        m.block.count[a] <<= shift;
        whole.cells[a] = box->cells[a];
        whole.first[a] = m.block.first[a];
        whole.periodic[a] = box->periodic[a] != 0;
    }
    TRY(mesh_check_box(box, &m.cells_per_brick));
    TRY(mesh_create_box_block(box, m.block.first, m.block.count, &m.seam, &m.mesh));
    TRY(sort_seam(&m, &input));
    TRY(number_cells(&m, &input));
    TRY(list_points(&m, &input));
    m.mesh->coarse = *mesh;
    *mesh = NULL;
    TRY(mesh_part_create(m.mesh, &input));
    *mesh = m.mesh;
    m.mesh = NULL;
done:
    maker_free(&m);
    return status;
}

facet_status part_create_box(struct base_team *team, const facet_box *box, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    double *coordinates[3] = {NULL};
    struct base_team *with_cells = NULL;
    facet_box half;
    int cells_per_brick;
    *mesh = NULL;
    TRY(mesh_check_box(box, &cells_per_brick));
    const int halvings = choose_halvings(box, team->size);
    const struct blocks blocks = blocks_at(box, halvings, team->size);
    TRY(team_first(team, blocks.n_ranks, &with_cells));
    for (int i = halvings; with_cells != NULL && i >= 0; i--) {
        for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
        TRY(halve(box, i, coordinates, &half));
        TRY(make_level(with_cells, &half, &blocks, halvings - i, mesh));
    }
done:
    for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
    if (status != FACET_OK) mesh_destroy(mesh);
    return status;
}
