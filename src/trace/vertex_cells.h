/* Private to the room: the cells round the vertices that several parts of a mesh share, as all of these see
 * them: nobody has all cells there, so parts send each other theirs. */
#ifndef FACET_TRACE_VERTEX_CELLS_H
#define FACET_TRACE_VERTEX_CELLS_H

#include "mesh/part.h"

/* A cell at a vertex. */
#define VERTEX_CELL_NO_FACE -1 /* it is none, or does not touch the vertex */
#define VERTEX_CELL_WALL    -2 /* its values are given */
struct vertex_cell {
    int64_t vertex, cell; /* vertex: its place in the list that two parts have; cell: in the whole mesh */
    double value;
    int64_t faces[SHAPE_MAX_FACES]; /* in the whole mesh */
    int64_t own;                    /* what the part calls this corner; -1: it is another's */
    int32_t piece;                  /* for the reader */
};
/* Those of every vertex that is shared, in the same order in all parts: by cell. */
struct trace_vertex_cells {
    int64_t *starts; /* mesh->n_vertices + 1; NULL: the mesh is whole */
    struct vertex_cell *corners;
    int64_t most; /* at one vertex */
};
/* corners: starts (n_vertices + 1) says where those of a vertex begin here. Collective; not for a mesh with
 * joined sides. */
facet_status trace_vertex_cells_create(const struct facet_mesh *mesh, const int64_t *starts,
                                       const struct vertex_cell *corners, struct trace_vertex_cells *cells);
void trace_vertex_cells_destroy(struct trace_vertex_cells *cells); /* safe on a zeroed struct, and twice */
/* Whether some part has sides that are joined, or vertices are joined here. Collective. */
facet_status trace_has_joints(const struct facet_mesh *mesh, int here, int *joints);

#endif
