/* Products with the trace matrix read its matrices once: the floor is bytes over memory bandwidth. */
#include "kernels/simd/lane.h"

#define MAX_TRACE                                                                                            \
    1736 /* unknowns of all faces of a cell (a hex of degree 16: 6 x 17^2), on the stack of a thread */

#define TEMPLATE "kernels/simd/cell_real.h"
#include "kernels/twice.h"

#define TEMPLATE "kernels/simd/row_real.h"
#include "kernels/twice.h"

int64_t OF(cell_run)(int64_t batch_bytes) {
    return batch_bytes < TUNE_RUN_BYTES ? TUNE_RUN_BYTES / batch_bytes : 1;
}
