/* Products with the trace matrix read its matrices once: the floor is bytes over memory bandwidth. */
#include "kernels/simd/lane.h"

#define TEMPLATE "kernels/simd/cell_real.h"
#include "kernels/twice.h"

#include "kernels/simd/cell_half.h"

#define TEMPLATE "kernels/simd/row_real.h"
#include "kernels/twice.h"

int64_t OF(cell_parts)(int64_t n_cells) {
    (void)n_cells;
    return 0; /* colours do: a thread takes runs of batches */
}

int64_t OF(cell_run)(int64_t batch_bytes) {
    return batch_bytes < TUNE_RUN_BYTES ? TUNE_RUN_BYTES / batch_bytes : 1;
}
