/* Private to the room and to src/hdg: the two cells of a face, and host access to their element matrices. */
#ifndef FACET_TRACE_SIDES_H
#define FACET_TRACE_SIDES_H

#include "trace/trace.h"

/* One cell a face belongs to: where its element data lies. */
struct trace_side {
    int block;
    int32_t cell; /* in the block */
    int n_faces;
    const int32_t *faces;
    const int *starts; /* of each local face in the element matrix */
    int local;         /* this face in the cell */
};
/* which: 0 or 1; 0 when the face has no such side. */
int trace_side(const struct trace_space *space, int32_t face, int which, struct trace_side *side);

/* On the device: `sides` of the kernels face_blocks and face_sums, of the free faces and the cells of one
 * block. simple becomes 0 where a cell is its own neighbour. */
facet_status trace_sides_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                int block, int64_t **sides, int *simple);

/* maps (batch x n_slots x LANES, on the host) = where the unknowns of every slot of every cell begin: first
 * of its entity. -1: the lane has no cell. */
void trace_fill_maps(int lanes, int64_t count, int n_slots, const int32_t *entities, const int64_t *first,
                     int64_t *maps);

/* The element matrices as the host can read them. */
struct trace_view {
    const struct trace_matrices *matrices;
    const double *values[MESH_MAX_BLOCKS];
};
facet_status trace_view_open(const struct trace_matrices *matrices, struct trace_view *view);
/* *values = the matrices of a block in other lanes, lanes without a cell zero; NULL where they are the same.
 */
facet_status trace_view_lanes(const struct trace_view *view, int block, int lanes, double **values);
void trace_view_close(struct trace_view *view); /* view->matrices must be set */

/* *picked (on the host, to be freed) = the rows and columns places[0 .. n-1], ascending, of the symmetric
 * matrices of a block, in lanes as they are. */
facet_status trace_matrices_pick(const struct trace_matrices *matrices, int block, int n, const int *places,
                                 double **picked);

/* What the kernel cell_summary says of all cells; of those whose faces differ in size, the host. */
struct trace_summary {
    const struct trace_matrices *matrices;
    int n_faces[MESH_MAX_BLOCKS];
    const double *values[MESH_MAX_BLOCKS];
    double *own[MESH_MAX_BLOCKS];
};
enum { TRACE_LEAST, TRACE_MOST, TRACE_MEAN, TRACE_CONSTANTS /* of face 0 */ };
facet_status trace_summary_open(const struct trace_matrices *matrices, const struct trace_space *space,
                                struct trace_summary *summary);
void trace_summary_close(struct trace_summary *summary);
static inline double trace_summary_of(const struct trace_summary *s, int block, int64_t cell, int which) {
    const int lanes = s->matrices->lanes;
    return s->values[block][(cell / lanes * (3 + s->n_faces[block]) + which) * lanes + cell % lanes];
}

/* The matrices of n cells, by their numbers in the mesh: entries `step` apart, for trace_entry. */
struct trace_picks {
    const double **K;
    int step;
    double *own[MESH_MAX_BLOCKS];
};
facet_status trace_picks_create(const struct trace_matrices *matrices, const struct facet_mesh *mesh, int n,
                                const int32_t *cells, struct trace_picks *picks);
void trace_picks_destroy(struct trace_picks *picks); /* safe on a zeroed struct, and twice */

/* The matrix of one cell, for trace_entry (with the lanes of the matrices) where it is symmetric, and
 * trace_view_entry whatever it is. */
static inline const double *trace_view_cell(const struct trace_view *view, int block, int32_t cell) {
    return view->values[block] + trace_matrix_start(view->matrices, block, cell);
}
static inline double trace_entry(const double *K, int lanes, int i, int j) {
    int64_t at = i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
    return K[at * lanes];
}
static inline double trace_view_entry(const struct trace_view *view, int block, const double *K, int i,
                                      int j) {
    const int lanes = view->matrices->lanes;
    if (!view->matrices->full) return trace_entry(K, lanes, i, j);
    return K[((int64_t)i * view->matrices->n[block] + j) * lanes];
}

#endif
