/* HDG on a box, eight cells at a time (kernels/box.h).
 *
 * A pack of cells is done in three passes: sums and differences of opposite faces; the eight blocks of equal
 * parities, each with arrays of its own that fit the nearest cache (three of (n/2)^2 lanes in and three out);
 * and the faces. In a block, tiles of I x J modes run over k: a_2(i,j) and its result stay in registers, and
 * a point costs 2 additions, 3 multiply-adds and 1 + 2 (I + J) / (I J) loads.
 *
 * Floor: 3 multiply-adds of 8 doubles a point, 0.375 cycles per unknown of the volume on a core that starts
 * one a cycle (Zen 4), next to the bytes of x and y, 48 / n a point each.
 *
 * Threads take layers that follow each other. What a thread adds below its first layer goes to a plane of its
 * own and is added when all are done, so the result depends on the number of threads only. */
#include <omp.h>
#include <string.h>

#include "kernels/simd/lane.h"

#define NUMBERS(p) (&(p)->PICK(f64, f32))
#define TABLES     struct PICK(box_numbers, box_numbers_single)
#define TEMPLATE   "kernels/simd/box_update.h"
#include "kernels/twice.h"
