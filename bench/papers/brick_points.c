/* Gauss-Seidel on the nodes of a brick; the loops stand in brick_points_real.h. */
#include "bench/papers/brick_points.h"

#include <omp.h>

#include "base/memory.h"
#include "base/threads.h"
#include "device/device.h"

#define OF(name) name
#define TABLE    PICK(table, single)
#define TEMPLATE "bench/papers/brick_points_real.h"
#include "kernels/twice.h"

int brick_points_run_on(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    if (device_has_memory(device)) return 1;
#endif
    return device_is_host(device);
}

void brick_points_step(const struct device *device, enum precision precision, const struct brick_cells *cells,
                       int backward, const void *b, void *x) {
#ifdef FACET_HAVE_CUDA
    if (device_has_memory(device)) {
        brick_points_cuda(precision, cells, backward, b, x);
        return;
    }
#endif
    (void)device;
    if (precision == F32)
        points_sweep_single(cells, backward, b, x);
    else
        points_sweep(cells, backward, b, x);
}
