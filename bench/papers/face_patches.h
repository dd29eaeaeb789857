/* Schwarz smoothers on the trace, beside which the blocks of single faces that the library takes were
 * measured (docs/pmg.md, docs/gmg.md): the unknowns of some faces solved together. A patch is all faces of a
 * cell, or all faces around a vertex (2D), an edge or a vertex (3D). Patches of eliminated faces alone, and
 * of periodic meshes so small that a patch has a face twice, are left out; a free face that is then in no
 * patch is one by itself. */
#ifndef FACET_BENCH_PAPERS_FACE_PATCHES_H
#define FACET_BENCH_PAPERS_FACE_PATCHES_H

#include "bench/papers/products.h"
#include "trace/levels.h"

enum trace_patch { TRACE_PATCH_CELL, TRACE_PATCH_VERTEX, TRACE_PATCH_EDGE };

/* Additive: D = sum of R' W^1/2 K_pp^-1 W^1/2 R, W one over the number of patches of a face: symmetric
 * positive definite, for smoother_create_chebyshev. */
facet_status operator_create_patches(const struct trace_space *space, const struct trace_matrices *matrices,
                                     enum trace_patch kind, struct linear_operator *D);
/* Multiplicative: `steps` sweeps over all patches in the order of their colours before, and in the reverse
 * order after the coarse correction, so that a cycle is symmetric. Patches of one colour share no cell. K is
 * copied by rows of faces, so the matrices may go: with t patches of n unknowns around a face of m that is 7
 * m^2 (quads; 11 on hexes) for the row of a face and n^2 for each patch. */
facet_status smoother_create_sweep(const struct trace_space *space, const struct trace_matrices *matrices,
                                   enum trace_patch kind, int steps, enum precision precision,
                                   struct smoother *s);

/* Such a smoother on the levels of pmg and gmg. steps: 0 means that the level chooses. */
struct face_patch_smoother {
    enum trace_patch kind;
    int sweeps, steps;
};
struct trace_smoother face_patch_smoother(struct face_patch_smoother *o); /* keeps a pointer to it */

/* K by rows of faces, and the inverses of patches. Patch p has the row blocks blocks[first[p]] ..
 * blocks[first[p + 1] - 1], all different; its unknowns are theirs in this order. The patches of a colour
 * follow each other, and no panel leads from one to another of them, so that they may be worked on at the
 * same time. */
struct face_patches {
    struct facet_plan rows;
    int64_t n_patches;
    const int64_t *first;  /* n_patches + 1 */
    const int64_t *blocks; /* row blocks */
    const int64_t *starts; /* n_patches: where the inverse of a patch begins */
    const void *inverses;  /* symmetric, all rows of it; numbers of the precision of the vectors */
    int n_colours;
    const int64_t *colour_starts; /* n_colours + 1: patches */
    int64_t largest;              /* unknowns of the largest patch */
};
/* One step over all patches, colour by colour (backward: from the last colour to the first): x_p = x_p + B_p
 * (f - K x)_p. scratch: face_sweep_scratch numbers of the precision of the vectors. */
void face_sweep(const struct face_patches *p, int backward, const double *f, double *x, double *scratch);
void face_sweep_single(const struct face_patches *p, int backward, const float *f, float *x, float *scratch);
int64_t face_sweep_scratch(const struct face_patches *p);

#endif
