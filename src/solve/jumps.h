/* How continuous functions can follow a coefficient K. Around a vertex they are one number, which is enough
 * where the large values of K hang together there through faces (quasi-monotone, in the words of the theory):
 * in layers, or around one inclusion. Where two cells of large K meet in no more than the vertex, as on a
 * chessboard, the solution has two values at one place, and a coarse space of vertices leaves iterations that
 * grow with the jump. It does not when the function of the vertex is cut into one for each of the pieces that
 * stand out, or with the constants of faces instead (docs/pmg.md). */
#ifndef FACET_SOLVE_JUMPS_H
#define FACET_SOLVE_JUMPS_H

#include <stdint.h>

/* From such a jump on a vertex has several pieces. */
#define SOLVE_LARGE_JUMP 30.0

/* Of n cells around a vertex: how many times K falls and rises again, at most, on the best way through faces
 * from one to another; 1: nowhere. neighbours: n x width places in this list, -1: none. work: 2 n, peaks: n
 * numbers. pieces: NULL, or n; cells that belong together, K falling and rising by no more than
 * SOLVE_LARGE_JUMP between them, get one of them as the number of their piece; a cell between two pieces is
 * given to one that it can be reached from without a rise. */
double solve_star_jump(int n, const double *values, int width, const int32_t *neighbours, int32_t *work,
                       double *peaks, int32_t *pieces);
/* The same pieces cut into parts whose stiff cells are at most `reach` faces apart: a piece that is a long
 * chain of cells conducts little from end to end, and one number does not follow what varies along it. An
 * infinite value is a wall, whose part ends so many cells behind it. */
void solve_star_cut(int n, const double *values, int width, const int32_t *neighbours, int reach,
                    int32_t *work, int32_t *pieces);

#endif
