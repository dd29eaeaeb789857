/* Schwarz smoothers on the trace: the unknowns of some faces solved together. A patch is all faces of a cell,
 * or all faces around a vertex (2D), an edge or a vertex (3D). Patches of eliminated faces alone, and of
 * periodic meshes so small that a patch has a face twice, are left out; a free face that is then in no patch
 * is one by itself. */
#ifndef FACET_TRACE_PATCHES_H
#define FACET_TRACE_PATCHES_H

#include "solve/multigrid.h"
#include "trace/trace.h"

enum trace_patch { TRACE_PATCH_CELL, TRACE_PATCH_VERTEX, TRACE_PATCH_EDGE };

/* Additive: D = sum of R' W^1/2 K_pp^-1 W^1/2 R, W one over the number of patches of a face: symmetric
 * positive definite, for smoother_create_chebyshev. */
facet_status operator_create_patches(const struct trace_space *space, const struct trace_matrices *matrices,
                                     enum trace_patch kind, struct operator* D);
/* Multiplicative: `steps` sweeps over all patches in the order of their colours before, and in the reverse
 * order after the coarse correction, so that a cycle is symmetric. Patches of one colour share no cell. K is
 * copied by rows of faces, so the matrices may go: with t patches of n unknowns around a face of m that is 7
 * m^2 (quads; 11 on hexes) for the row of a face and n^2 for each patch. */
facet_status smoother_create_sweep(const struct trace_space *space, const struct trace_matrices *matrices,
                                   enum trace_patch kind, int steps, enum precision precision,
                                   struct smoother *s);

#endif
