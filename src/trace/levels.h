/* Private to the room: what the multigrids on the trace share: levels of traces, and how the list ends. */
#ifndef FACET_TRACE_LEVELS_H
#define FACET_TRACE_LEVELS_H

#include "trace/pmg.h"

/* ------------------------------------------------------------------------------ levels of traces */

/* The space of lower degree on the same free faces. */
facet_status trace_lower_space(const struct trace_space *space, int degree, struct trace_space *low);
/* Whether the levels are in single precision; refuses one that the numbers do not allow. */
facet_status trace_choose_single(const struct trace_space *space, const struct trace_matrices *matrices,
                                 enum pmg_precision precision, int incompressible, int *single);
/* How hard a smoother over faces has to work above continuous linear functions, with or without row modes.
 * Asked of cells as if no face were eliminated: a sample of a small mesh would else be one of boundary cells.
 */
facet_status trace_measure_work(const struct trace_space *space, const struct trace_matrices *matrices,
                                int rows, double *constant);
/* How many times more steps a smoother takes on stretched cells and for vectors; measured in docs/pmg.md and
 * docs/gmg.md. On quads and hexes it takes at least TRACE_TENSOR_WORK times the root of the constant above.
 */
#define TRACE_TENSOR_WORK 1.3
facet_status trace_extra_work(const struct trace_space *space, const struct trace_matrices *matrices,
                              double *factor);
/* The inverted blocks of single faces, or of all faces of a cell, in double precision. */
facet_status trace_block_inverse(const struct trace_space *space, const struct trace_matrices *matrices,
                                 int cells, struct operator* D);
/* Some cell is a quad or a hex; a cell is its own neighbour, so that it has no patch. */
int trace_has_tensor_cells(const struct facet_mesh *mesh);
int trace_has_lonely_cells(const struct facet_mesh *mesh);

/* A level on its way into the list. */
struct trace_level {
    const char *name;
    int single;
    const struct operator* A; /* the product, borrowed; NULL: own */
    struct operator own;
    struct smoother smoother; /* ready, or (empty) a Chebyshev polynomial over D: */
    struct operator D;
    enum polynomial kind;
    double ratio;
    int degree;
};
/* *A becomes its twin in single precision. */
facet_status trace_round_operator(struct operator* A);
/* Appends; D and the product are rounded when the level is in single precision. Everything is taken over,
 * also on failure. */
facet_status trace_level_append(struct multigrid *mg, struct trace_level *level);
void trace_level_destroy(struct trace_level *level); /* safe on a zeroed struct, and twice */

/* ------------------------------------------------------------------------------ the last space */

/* What is left at the end: a matrix, its nodes and what is smooth in it. */
struct trace_last {
    const char *name;
    struct csr csr;
    int64_t n_nodes;
    int64_t *offsets; /* of the nodes */
    int32_t *kinds;
    int n_modes;
    double *modes; /* n_modes x n */
};
void trace_last_destroy(struct trace_last *last); /* safe on a zeroed struct, and twice */

/* Traces of a lower degree. modes: near-null vectors (n_modes of them) on the space; NULL: constants. */
facet_status trace_last_traces(const struct trace_space *space, const struct trace_matrices *matrices,
                               int degree, int n_modes, const double *modes, struct mg_transfer *P,
                               struct trace_last *last);
/* Continuous functions, with or without row modes; traces of degree 0 where there are none. */
facet_status trace_last_continuous(const struct trace_space *space, const struct trace_matrices *matrices,
                                   int rows, int n_modes, const double *modes, struct mg_transfer *P,
                                   struct trace_last *last);
/* The traces themselves, assembled, without near-null vectors: for a factor. */
facet_status trace_last_matrix(const struct trace_space *space, const struct trace_matrices *matrices,
                               const char *name, struct trace_last *last);

/* How a list ends. */
struct trace_ending {
    struct multigrid *mg;
    const struct device *device;
    enum pmg_last last;
    int incompressible, singular;
    int continuous; /* the space was chosen by the caller: continuous functions */
    double fine_bytes;
};
/* Whether a matrix of n unknowns and so many entries may be ordered to see what its factor costs. */
int trace_is_worth_ordering(const struct trace_ending *end, int64_t n, double entries);
/* Ends the list with a factor if it is small enough, or if it must be; *done says whether. */
facet_status trace_end_factored(const struct trace_ending *end, struct trace_last *last, int *done);
/* The same, with algebraic multigrid where there is no factor. */
facet_status trace_end_list(const struct trace_ending *end, struct trace_last *last);

#endif
