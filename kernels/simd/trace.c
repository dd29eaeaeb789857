/* Products with the trace matrix read its matrices once: the floor is bytes over memory bandwidth. */
#include <omp.h>
#include <stdatomic.h>

#include "kernels/simd/lane.h"

#define MAX_SHARES 64

/* How many runs of a thread's share have been taken, of one colour and of the next: in a cache line of its
 * own. */
struct run_share {
    _Alignas(64) atomic_int_least64_t taken[2];
};

/* The next of the runs begin .. end - 1, or none of them. */
static inline int64_t next_run(atomic_int_least64_t *taken, int64_t begin, int64_t end) {
    if (begin + atomic_load_explicit(taken, memory_order_relaxed) >= end) return end;
    return begin + atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
}

/* No more threads than have room, and what the calling one has. */
static int cell_threads(const struct cell_plan *plan) {
    return base_threads() < plan->threads ? base_threads() : plan->threads;
}
static void *cell_room(const struct cell_plan *plan) {
    return (char *)plan->room + omp_get_thread_num() * cell_plan_room_bytes(plan);
}

#define TEMPLATE "kernels/simd/cell_real.h"
#include "kernels/twice.h"

#include "kernels/simd/cell_half.h"

#define TEMPLATE "kernels/simd/row_real.h"
#include "kernels/twice.h"
