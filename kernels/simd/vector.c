/* The same kernels with threads and vector instructions; the bodies stand in vector_real.h. Sums are taken
 * over fixed pieces, so that a result depends neither on scheduling nor on the number of threads. */
#include <string.h>

#include "kernels/simd/lane.h"

#define PIECE      4096  /* entries of one partial sum */
#define SMALL      32768 /* below this a parallel region costs more than it gains */
#define MAX_PIECES 1024
#define BLOCKS     512 /* that a thread takes at once */

#define TEMPLATE "kernels/simd/vector_real.h"
#include "kernels/twice.h"

void OF(put_entries)(int64_t n, const int64_t *restrict places, const double *restrict values,
                     double *restrict x) {
#pragma omp parallel for num_threads(base_threads()) if (n > SMALL)
    for (int64_t i = 0; i < n; i++) x[places[i]] = values != NULL ? values[i] : 0.0;
}
