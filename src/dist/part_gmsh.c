/* Gmsh files: rank 0 reads, METIS says which cell goes where. */
#include <metis.h>
#include <string.h>

#include "base/memory.h"
#include "dist/parts.h"

/* What a cell costs: its local matrix couples all unknowns of its faces, of which a triangle has about half
 * as many as a quad; and what a cut through a face costs. */
static int face_size(enum shape face) {
    return face == SHAPE_TRIANGLE ? 1 : 2;
}

static int cell_cost(enum shape shape) {
    int size = 0;
    for (int f = 0; f < shape_n_faces(shape); f++) size += face_size(shape_face_shape(shape, f));
    return size * size;
}

/* The graph of cells that faces join, as METIS wants it. */
struct graph {
    idx_t *starts, *neighbours, *weights, *costs, *parts;
};

static void graph_free(struct graph *g) {
    base_free(&g->starts);
    base_free(&g->neighbours);
    base_free(&g->weights);
    base_free(&g->costs);
    base_free(&g->parts);
}

static facet_status graph_create(const struct facet_mesh *mesh, struct graph *g) {
    facet_status status = FACET_OK;
    TRY(CALLOC(g->starts, (int64_t)mesh->n_cells + 2));
    TRY(ALLOC(g->costs, mesh->n_cells));
    TRY(ALLOC(g->parts, mesh->n_cells));
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t c = 0; c < mesh->blocks[b].count; c++)
            g->costs[mesh->blocks[b].first + c] = cell_cost(mesh->blocks[b].shape);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            const int32_t *cells = mesh->face_cells + 2 * (int64_t)f;
            if (cells[1] < 0 || cells[0] == cells[1]) continue;
            for (int side = 0; side < 2; side++) {
                if (pass == 0) {
                    g->starts[cells[side] + 2]++;
                    continue;
                }
                const idx_t at = g->starts[cells[side] + 1]++;
                g->neighbours[at] = cells[1 - side];
                g->weights[at] = face_size((enum shape)mesh->face_shapes[f]);
            }
        }
        if (pass == 1) break;
        for (int32_t c = 0; c < mesh->n_cells; c++) g->starts[c + 2] += g->starts[c + 1];
        TRY(ALLOC(g->neighbours, g->starts[mesh->n_cells + 1]));
        TRY(ALLOC(g->weights, g->starts[mesh->n_cells + 1]));
    }
done:
    return status;
}

/* Parts that METIS left empty are given no rank. */
static facet_status number_parts(int32_t n_cells, int n_parts, const idx_t *parts, int32_t *ranks) {
    facet_status status = FACET_OK;
    int32_t *rank_of = NULL, n = 0;
    TRY(CALLOC(rank_of, n_parts));
    for (int32_t c = 0; c < n_cells; c++) rank_of[parts[c]] = 1;
    for (int p = 0; p < n_parts; p++) rank_of[p] = rank_of[p] ? n++ : -1;
    for (int32_t c = 0; c < n_cells; c++) ranks[c] = rank_of[parts[c]];
done:
    base_free(&rank_of);
    return status;
}

/* Recursive bisection cuts better into few parts, and is slow for many. */
#define FEW_PARTS 8

static facet_status cut(const struct facet_mesh *mesh, int size, int32_t *ranks) {
    facet_status status = FACET_OK;
    struct graph g = {0};
    idx_t n_cells = mesh->n_cells, n_conditions = 1, n_parts = size < mesh->n_cells ? size : mesh->n_cells,
          options[METIS_NOPTIONS], cut_edges;
    if (n_parts == 1) {
        memset(ranks, 0, (size_t)mesh->n_cells * sizeof *ranks);
        return FACET_OK;
    }
    TRY(graph_create(mesh, &g));
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    const int done_well = (n_parts <= FEW_PARTS ? METIS_PartGraphRecursive : METIS_PartGraphKway)(
        &n_cells, &n_conditions, g.starts, g.neighbours, g.costs, NULL, g.weights, &n_parts, NULL, NULL,
        options, &cut_edges, g.parts);
    if (done_well != METIS_OK)
        FAIL(FACET_ERROR_MACHINE, "METIS could not cut the mesh into %d parts%s", (int)n_parts,
             done_well == METIS_ERROR_MEMORY ? ": it had not enough memory" : "");
    TRY(number_parts(mesh->n_cells, (int)n_parts, g.parts, ranks));
done:
    graph_free(&g);
    return status;
}

facet_status part_read_gmsh(struct base_team *team, const char *path, int join, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct facet_mesh *whole = NULL;
    int32_t *ranks = NULL;
    *mesh = NULL;
    if (strchr(path, '*') != NULL) return part_read_files(team, path, join, mesh);
    if (team->rank == 0) {
        TRY(mesh_read_gmsh_as(path, join, &whole));
        TRY(ALLOC(ranks, whole->n_cells));
        TRY(cut(whole, team->size, ranks));
    }
    TRY(part_distribute(team, whole, ranks, mesh));
done:
    mesh_destroy(&whole);
    base_free(&ranks);
    return status;
}
