/* Which faces make a patch, and K by rows of faces. All in the free numbering; a block
 * is a free face. On the host. */
#ifndef FACET_BENCH_PAPERS_FACE_PATCH_SETS_H
#define FACET_BENCH_PAPERS_FACE_PATCH_SETS_H

#include "bench/papers/face_patches.h"

struct patch_set {
    int64_t n;
    int64_t *first;         /* n + 1, into blocks */
    int64_t *blocks;        /* ascending in a patch */
    int n_colours;          /* 0 before patch_set_colour */
    int64_t *colour_starts; /* n_colours + 1 */
    int64_t largest;        /* unknowns of the largest patch */
};
facet_status patch_set_create(const struct trace_space *space, enum trace_patch kind, struct patch_set *set);
/* Sorts the patches by colour; those of one colour share no cell. */
facet_status patch_set_colour(const struct trace_space *space, struct patch_set *set);
void patch_set_destroy(struct patch_set *set); /* safe on a zeroed struct, and twice */

/* The row of every block in panels, one for every block it is coupled with (facet_plan). */
struct block_rows {
    int64_t n_panels, n_values;
    int64_t *panel_first; /* n_free_faces + 1 */
    int64_t *blocks;      /* of the columns of a panel */
    int64_t *columns, *starts;
    int32_t *sizes;
    double *values;
};
facet_status block_rows_create(const struct trace_space *space, const struct trace_matrices *matrices,
                               struct block_rows *rows);
void block_rows_destroy(struct block_rows *rows); /* safe on a zeroed struct, and twice */

/* Unknowns of a patch. */
int64_t patch_size(const struct trace_space *space, const struct patch_set *set, int64_t patch);
/* B (n x n) = the inverse of the part of K that belongs to a patch. place: n_free_faces times -1, and so
 * again afterwards. */
facet_status patch_invert(const struct trace_space *space, const struct block_rows *rows,
                          const struct patch_set *set, int64_t patch, int32_t *place, double *B);

#endif
