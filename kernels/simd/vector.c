/* The same kernels with threads and vector instructions; the bodies stand in vector_real.h. Sums are taken
 * over fixed pieces, so that a result depends neither on scheduling nor on the number of threads. */
#include <omp.h>
#include <string.h>

#include "kernels/simd/lane.h"

#define PIECE       4096 /* entries of one partial sum */
#define PER_POINT   4    /* entries of vectors that take a nanosecond */
#define MAX_PIECES  1024
#define BLOCKS      512 /* that a thread takes at once */
#define ROW_ENTRIES 4   /* that to begin and to end a row of a matrix takes as long as */

/* Where the share of a thread begins: rows of a matrix may be long in one place and short in another. */
static int64_t row_of_share(int64_t n_rows, const int64_t *offsets, int share, int n_shares) {
    const int64_t work = (offsets[n_rows] + ROW_ENTRIES * n_rows) / n_shares * share;
    int64_t low = 0, high = n_rows;
    if (share == n_shares) return n_rows;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (offsets[middle] + ROW_ENTRIES * middle < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define TEMPLATE "kernels/simd/vector_real.h"
#include "kernels/twice.h"
