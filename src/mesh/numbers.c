/* Nodes that cells share, numbered once: for those who want a mesh as points and cells.
 *
 * A node is known by the corners of its edge or face and its share of each, which both neighbours see alike:
 * i / g on edges and triangles, products of two such on quads, so that g^2 times it is a whole number. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"

enum { MOST_CORNERS = SHAPE_MAX_FACE_VERTICES, STRIDE = 2 * MOST_CORNERS };

/* Corners and shares of one node of a cell with these vertices, by ascending vertices; 0: it lies inside. */
static int find_key(int n_vertices, const int32_t *vertices, const double *shares, int order,
                    int32_t key[STRIDE]) {
    int n = 0;
    for (int v = 0; v < n_vertices; v++) {
        int32_t share = (int32_t)lround(shares[v] * order * order);
        int at = n;
        if (share == 0) continue;
        if (n == MOST_CORNERS) return 0;
        for (; at > 0 && key[2 * (at - 1)] > vertices[v]; at--)
            memcpy(&key[2 * at], &key[2 * (at - 1)], 2 * sizeof *key);
        key[2 * at] = vertices[v];
        key[2 * at + 1] = share;
        n++;
    }
    for (int i = 2 * n; i < STRIDE; i++) key[i] = -1;
    return 1;
}

static facet_status number_block(const struct facet_mesh *mesh, const struct mesh_block *block,
                                 struct tuple_set *set, int32_t *n, int32_t *place_of, int32_t *numbers) {
    facet_status status = FACET_OK;
    int n_vertices = shape_n_vertices(block->shape), n_nodes = block->n_nodes;
    double *xi = NULL, *shares = NULL;
    TRY(ALLOC(xi, n_nodes * mesh->dim));
    TRY(ALLOC(shares, n_nodes * n_vertices));
    shape_nodes(block->shape, mesh->order, xi);
    TRY(basis_lagrange(block->shape, 1, n_nodes, xi, shares, NULL));
    /* The lattice of order 1 has the vertices in an order of its own. */
    int vertex_of[SHAPE_MAX_VERTICES];
    for (int v = 0; v < n_vertices; v++) vertex_of[shape_vertex_node(block->shape, 1, v)] = v;
    for (int32_t c = 0; c < block->count; c++) {
        int32_t vertices[SHAPE_MAX_VERTICES], key[STRIDE];
        for (int v = 0; v < n_vertices; v++)
            vertices[v] = block->vertices[(int64_t)c * n_vertices + vertex_of[v]];
        for (int i = 0; i < n_nodes; i++) {
            int32_t *number = &numbers[(int64_t)c * n_nodes + i];
            if (!find_key(n_vertices, vertices, shares + i * n_vertices, mesh->order, key)) {
                *number = (*n)++;
                continue;
            }
            int32_t before = set->count, entry = tuple_set_add(set, key);
            if (entry == before) place_of[entry] = (*n)++;
            *number = place_of[entry];
        }
        if (c % 4096 == 0) TRY(base_look());
    }
done:
    base_free(&xi);
    base_free(&shares);
    return status;
}

void mesh_numbers_destroy(struct mesh_numbers *numbers) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&numbers->nodes[b]);
    *numbers = (struct mesh_numbers){0};
}

facet_status mesh_numbers_create(const struct facet_mesh *mesh, struct mesh_numbers *numbers) {
    facet_status status = FACET_OK;
    struct tuple_set set = {0};
    int32_t *place_of = NULL, n = 0;
    int64_t all = mesh->n_vertices;
    *numbers = (struct mesh_numbers){0};
    TRY(mesh_need_lists(mesh));
    for (int b = 0; b < mesh->n_blocks; b++) all += (int64_t)mesh->blocks[b].count * mesh->blocks[b].n_nodes;
    if (all > INT32_MAX / 2)
        FAIL(FACET_ERROR_INPUT, "%lld nodes of cells are too many for 32-bit numbers", (long long)all);
    TRY(tuple_set_init(&set, STRIDE, all));
    TRY(ALLOC(place_of, all));
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        int32_t key[STRIDE] = {v, mesh->order * mesh->order, -1, -1, -1, -1, -1, -1};
        place_of[tuple_set_add(&set, key)] = n++;
    }
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        TRY(ALLOC(numbers->nodes[b], (int64_t)block->count * block->n_nodes));
        TRY(number_block(mesh, block, &set, &n, place_of, numbers->nodes[b]));
    }
    numbers->n_points = n;
done:
    tuple_set_free(&set);
    base_free(&place_of);
    if (status != FACET_OK) mesh_numbers_destroy(numbers);
    return status;
}
