/* The trace system: numbering of the unknowns on the skeleton, element matrices, products and assembly.
 *
 * Every face carries basis_size(face shape, degree) unknowns per component, contiguous. The *full* numbering
 * counts all faces in mesh order; the *free* numbering leaves out the eliminated (Dirichlet) faces. The
 * matrix couples free unknowns; what the eliminated ones contribute goes to the right-hand side. Vertices and
 * edges may carry unknowns too (trace/continuous.h): they are then the `faces` of a space, in its own order.
 *
 * The matrix K is the sum of element matrices. It can be applied straight from them (face by face, or cell by
 * cell), or assembled (compressed rows, or rows of equal length); all forms are operators and give the same
 * product.
 */
#ifndef FACET_TRACE_TRACE_H
#define FACET_TRACE_TRACE_H

#include "mesh/mesh.h"
#include "solve/solve.h"

/* Vertices, edges and faces of a cell. */
#define TRACE_MAX_SLOTS (SHAPE_MAX_VERTICES + SHAPE_MAX_EDGES + SHAPE_MAX_FACES)

/* What carries unknowns. Both sides of a face see one trace, and see it alike, but for two things that are
 * known here and, by what these functions do to vectors and element matrices, to nobody else:
 * - a face of two traces (n_traces 2) is two entries, one for each side: that of the mesh for the first side,
 *   and one behind all faces of the mesh for the second;
 * - of a face with a turn, an orthogonal matrix Q (turns), its last side sees Q v where the unknowns say v,
 *   component by component: rotated periodic pairs, planes of symmetry. Or the matrix is one of all unknowns
 * of the face (whole): curved surfaces of symmetry. */
struct trace_face {
    uint8_t shape;    /* enum shape; of an edge or a vertex likewise */
    uint8_t n_traces; /* on the face of the mesh */
    int32_t size;     /* unknowns */
    int32_t turn;     /* -1: none */
    int32_t face;     /* of the mesh, -1: none */
};

struct trace_space {
    const struct facet_mesh *mesh;
    int degree, n_components;
    int64_t n_faces;            /* of the mesh, or what carries unknowns instead */
    struct trace_face *records; /* n_faces */
    int n_turns;
    double *turns;  /* n_components x n_components each, by rows; or NULL */
    double **whole; /* by turn: size x size of the face, by rows, instead; NULL: not; or NULL: none is */
    int32_t *own_faces[MESH_MAX_BLOCKS];             /* where `faces` are not those of the mesh */
    int n_slots[MESH_MAX_BLOCKS];                    /* of a cell: faces */
    int slots[MESH_MAX_BLOCKS][TRACE_MAX_SLOTS + 1]; /* where their unknowns begin among those of the cell */
    const int32_t *faces[MESH_MAX_BLOCKS];           /* count x n_slots; a cell may meet a face twice */
    int64_t n_all, n_free;
    int64_t *face_first; /* n_faces + 1: first unknown in the full numbering */
    int64_t *face_free;  /* n_faces: first unknown in the free numbering, -1 when eliminated */
    int64_t n_free_faces;
    int64_t *free_offsets; /* n_free_faces + 1: the blocks of the free numbering */
    int32_t *free_faces;   /* n_free_faces: the face of each block */
    struct seam *seam;     /* of the free unknowns, by blocks, where the mesh is a part; NULL: it is not */
    uint8_t *fixed; /* n_free flags, NULL: none. Unknowns of free faces whose value is given (rollers): their
                       rows and columns of K are zero but for the diagonal */
};
/* Whether other processes have some of its faces, too: a team of one has a seam without neighbours. */
int trace_is_shared(const struct trace_space *space);
/* eliminated: n_faces flags. */
facet_status trace_space_create(const struct facet_mesh *mesh, int degree, int n_components,
                                const uint8_t *eliminated, struct trace_space *space);
/* The same with what some faces have beyond one trace: by face of the mesh. */
#define TRACE_SECOND_HERE 2
struct trace_extras {
    const uint8_t *two; /* flags: two traces; at a seam TRACE_SECOND_HERE where the second side is here; NULL:
                           none */
    const int32_t *turn; /* index or -1; NULL: none */
    int n_turns;
    const double *turns;        /* copied, as are */
    const double *const *whole; /* matrices of faces of at most TRACE_MOST_WHOLE unknowns; or NULL */
};
#define TRACE_MOST_WHOLE 1024
facet_status trace_space_create_with(const struct facet_mesh *mesh, int degree, int n_components,
                                     const uint8_t *eliminated, const struct trace_extras *extras,
                                     struct trace_space *space);
/* The numberings of a space whose records stand. eliminated: by them. Faces without unknowns are no blocks.
 */
facet_status trace_space_number(struct trace_space *space, const uint8_t *eliminated);
/* Its seam, by the faces that neighbours have too: the blocks among them. */
struct team_neighbour;
facet_status trace_space_share(struct trace_space *space, struct base_team *team, int n_neighbours,
                               const struct team_neighbour *neighbours);
void trace_space_destroy(struct trace_space *space); /* safe on a zeroed struct, and twice */

/* Unknowns on the faces of one cell of a block. */
int trace_cell_size(const struct trace_space *space, int block);
/* Whether its faces have different numbers of unknowns. */
int trace_slots_differ(const struct trace_space *space, int block);
/* local[i * stride] = the full vector's entries on the faces of a cell, face after face. */
void trace_gather(const struct trace_space *space, int block, int32_t cell_in_block, const double *full,
                  double *local, int stride);

/* Vectors of the unknowns of a cell (`count` of them, entries `stride` apart, vectors `step` apart) become
 * what the cell sees, v = T v with the turns of its faces; back: v = T'v. So K_e becomes T'K_e T, in terms of
 * the unknowns, when its rows go back, and then its columns. Without turns nothing happens. */
void trace_turn(const struct trace_space *space, int block, int32_t cell_in_block, int back, int64_t count,
                int64_t step, int64_t stride, double *vectors);
/* The same on one face, whose vectors these are. */
void trace_turn_slot(const struct trace_space *space, int block, int32_t cell_in_block, int slot, int back,
                     int64_t count, int64_t step, int64_t stride, double *vectors);
/* Q of one face of a cell, by components, and that of all its unknowns; NULL: none. */
const double *trace_whole_turn_of(const struct trace_space *space, int block, int32_t cell_in_block,
                                  int slot);
const double *trace_turn_of(const struct trace_space *space, int block, int32_t cell_in_block, int slot);

/* free[i] = sum over cells of their local vectors, for the free unknowns; locals[b]: batch x n x LANES on the
 * host. */
void trace_assemble_vector(const struct trace_space *space, int lanes, double *const *locals, double *free);
/* full: the free values in their places, `eliminated` (full numbering) elsewhere. */
void trace_scatter(const struct trace_space *space, const double *free, const double *eliminated,
                   double *full);

/* What the host has been told of element matrices, each array NULL as long as nobody asked. */
struct trace_kept {
    const double *values[MESH_MAX_BLOCKS]; /* all of them; */
    double *summaries[MESH_MAX_BLOCKS];    /* what the kernel cell_summary says */
};
/* Element matrices of all cells, in lanes on a device (kernels/kernels.h): one triangle each where they are
 * symmetric, else full, by rows. A cell's unknowns are those of its local faces in order. */
struct trace_matrices {
    const struct device *device;
    int lanes; /* of the device */
    int full;
    int n_blocks;
    int n[MESH_MAX_BLOCKS]; /* rows */
    int64_t n_batches[MESH_MAX_BLOCKS];
    double *values[MESH_MAX_BLOCKS]; /* n_batches x trace_matrix_size x LANES */
    int n_components;
    uint8_t *loose[MESH_MAX_BLOCKS]; /* n_batches x LANES, on the host, or NULL: struct cell_plan's */
    struct trace_kept *kept;         /* what the host has looked at (trace_matrices_keep), or NULL */
};
static inline int64_t trace_matrix_size(const struct trace_matrices *matrices, int block) {
    int64_t n = matrices->n[block];
    return matrices->full ? n * n : n * (n + 1) / 2;
}
/* Where entry 0 of the matrix of a cell lies; the next ones follow at steps of `lanes`. */
static inline int64_t trace_matrix_start(const struct trace_matrices *matrices, int block, int64_t cell) {
    return cell / matrices->lanes * trace_matrix_size(matrices, block) * matrices->lanes +
           cell % matrices->lanes;
}
/* Uninitialised; symmetric, or full. The multigrids of this room take symmetric ones only, and say so. */
facet_status trace_matrices_create(const struct device *device, const struct trace_space *space, int full,
                                   struct trace_matrices *matrices);
/* Symmetric, with sizes[b] rows for the cells of block b. */
facet_status trace_matrices_create_sized(const struct device *device, const struct facet_mesh *mesh,
                                         const int *sizes, struct trace_matrices *matrices);
void trace_matrices_destroy(struct trace_matrices *matrices); /* safe on a zeroed struct, and twice */
/* Whoever looks at the matrices until trace_matrices_release leaves what the host was told to those after it.
 * They must not change in between. */
facet_status trace_matrices_keep(struct trace_matrices *matrices);
void trace_matrices_release(struct trace_matrices *matrices);
/* Of the cells of a block, in the lanes of the device. */
int64_t trace_n_batches(const struct device *device, const struct facet_mesh *mesh, int block);

/* K, applied cell by cell in colours of batches, every entry of a triangle read once: the fewest bytes
 * (`facet bench fabien2017-roofline` compares it with other forms). It refers to the matrices, which must
 * outlive it; operator_create_single copies what it needs. */
facet_status trace_operator_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                   struct linear_operator *A);
/* The operator takes the matrices over which it was made. */
void trace_operator_own(struct linear_operator *A, struct trace_matrices *matrices);
/* Bytes of matrix data one product must read. */
double trace_operator_bytes(const struct linear_operator *A);

/* lift (n_free, host) = -K_{free, eliminated} values. eliminated: full numbering, 0 where a face is free. */
facet_status trace_lift(const struct trace_space *space, const struct trace_matrices *matrices,
                        const double *eliminated, double *lift);
/* K in compressed rows on the host, assembled face by face from the cells around: no locks, no atomics. */
facet_status trace_assemble(const struct trace_space *space, const struct trace_matrices *matrices,
                            struct csr *csr);
/* K in rows on the device of its matrices, without atomics too: compressed, or of equal length (ELL), entry c
 * of row i being number c n + i, column -1: none. */
struct trace_entries {
    const struct device *device;
    int64_t n, count; /* rows; entries, with those that are none */
    int64_t width;    /* of rows of equal length; 0: compressed */
    int64_t *offsets; /* n + 1, of compressed ones */
    int32_t *columns;
    double *values;
};
/* values stays NULL where no kernel knows these: for symmetric matrices, one number of unknowns on all faces,
 * no cell that is its own neighbour, and the whole mesh. */
facet_status trace_entries_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                  int equal, struct trace_entries *entries);
void trace_entries_destroy(struct trace_entries *entries); /* safe on a zeroed struct, and twice */
/* Which free faces share a cell: rows of numbers of free faces, no values. */
facet_status trace_graph(const struct trace_space *space, struct csr *graph);
/* The same with the coupling between different faces left out: all that a (block) Jacobi preconditioner
 * needs. */
facet_status trace_block_diagonal(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct csr *csr);

#endif
