/* Private to the room: what the multigrids on the trace share: levels of traces, and how the list ends. */
#ifndef FACET_TRACE_LEVELS_H
#define FACET_TRACE_LEVELS_H

#include "solve/coarse.h"
#include "trace/pmg.h"
#include "trace/pmg_parts.h"

/* ------------------------------------------------------------------------------ levels of traces */

/* Refuses element matrices that are not symmetric, and faces of two traces or with turns. */
facet_status trace_need_plain(const struct trace_space *space, const struct trace_matrices *matrices,
                              const char *who);
/* The space of lower degree on the same free faces. */
facet_status trace_lower_space(const struct trace_space *space, int degree, struct trace_space *low);
/* Whether the levels are in single precision; refuses one that the numbers do not allow. */
facet_status trace_choose_single(const struct trace_space *space, const struct trace_matrices *matrices,
                                 enum pmg_precision precision, int *single);
/* How hard a smoother over faces has to work above continuous linear functions, with others beside or not.
 * Asked of cells as if no face were eliminated: a sample of a small mesh would else be one of boundary cells.
 * From TRACE_MUCH_WORK without row modes on, these are thought of, or rows are solved. */
#define TRACE_MUCH_WORK 12.0
facet_status trace_measure_work(const struct trace_space *space, const struct trace_matrices *matrices,
                                enum trace_beside beside, double *constant);
/* How many times more steps a smoother takes on stretched cells and for vectors; measured in docs/pmg.md and
 * docs/gmg.md. On quads and hexes it takes at least TRACE_TENSOR_WORK times the root of the constant above.
 */
#define TRACE_TENSOR_WORK 1.3
facet_status trace_extra_work(const struct trace_space *space, const struct trace_matrices *matrices,
                              double *factor);
/* The inverted blocks of single faces, in double precision. */
facet_status trace_block_inverse(const struct trace_space *space, const struct trace_matrices *matrices,
                                 struct linear_operator *D);
int trace_has_tensor_cells(const struct facet_mesh *mesh); /* quads or hexes, in some part of it */

/* A level on its way into the list. */
struct trace_level {
    const char *name;
    int single;
    const struct linear_operator *A; /* the product, borrowed; NULL: own */
    struct linear_operator own;
    const struct trace_space *space; /* of the product */
    const struct trace_matrices *matrices;
    struct smoother smoother; /* ready, or (empty) a Chebyshev polynomial over D: */
    struct linear_operator D;
    enum polynomial kind;
    double ratio;
    int degree;
};
/* Appends; D and the product are rounded when the level is in single precision, the product to 16 bits where
 * they are enough. Everything is taken over, also on failure. */
facet_status trace_level_append(struct multigrid *mg, struct trace_level *level);
void trace_level_destroy(struct trace_level *level); /* safe on a zeroed struct, and twice */

/* ------------------------------------------------------------------------------ the last space */

/* What is left at the end, for the coarse solve of solve/coarse.h, without saying whether it is singular. */

/* Traces of degree 0. modes: near-null vectors (n_modes of them) on the space; NULL: constants. */
facet_status trace_last_level_traces(const struct trace_space *space, const struct trace_matrices *matrices,
                                     int n_modes, const double *modes, struct mg_transfer *P,
                                     struct coarse_matrix *last);
/* Continuous functions, by themselves or with others beside, of vertices that may be cut (NULL: whole);
 * traces of degree 0 where there are none. link: NULL, or receives the transfer in place of P where the
 * device has kernels for it. */
struct trace_pieces;
facet_status trace_last_level_continuous(const struct trace_space *space,
                                         const struct trace_matrices *matrices, enum trace_beside beside,
                                         const struct trace_pieces *pieces, int n_modes, const double *modes,
                                         struct mg_transfer *P, struct mg_link *link,
                                         struct coarse_matrix *last);
/* last_numbers.c: numbers over all parts of a mesh that is shared; else nothing happens. starts: the unknowns of
 * every free face, n_free_faces + 1. */
facet_status trace_number_faces(const struct trace_space *space, const int64_t *starts,
                                struct coarse_matrix *last);
facet_status trace_number_nodes(const struct trace_space *space, const struct trace_pieces *pieces,
                                const struct trace_nodes *nodes, struct coarse_matrix *last);
/* Row modes, each +1 or -1 within its set, which is known by one of it: sets that parts share become one. */
facet_status trace_merge_signs(const struct trace_space *space, const struct trace_nodes *nodes,
                               const struct coarse_matrix *last, const int64_t *sets, double *signs);
/* face_motions.c: the rigid motions of every face; modes: those of the body on the space, n_modes > 0. */
facet_status trace_last_level_rigid(const struct trace_space *space, const struct trace_matrices *matrices,
                                    int n_modes, const double *modes, struct mg_transfer *P,
                                    struct coarse_matrix *last);
/* The traces themselves, assembled, without near-null vectors: for a factor. */
facet_status trace_last_level_matrix(const struct trace_space *space, const struct trace_matrices *matrices,
                                     const char *name, struct coarse_matrix *last);

#endif
