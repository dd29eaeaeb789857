// What the files of kernels/cuda share: the stream, and the keeping of errors.
#ifndef FACET_KERNELS_CUDA_INTERNAL_CUH
#define FACET_KERNELS_CUDA_INTERNAL_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/cuda.h"

namespace facet {

// False, and the error kept, when the call failed or an earlier one of this thread did.
bool good(cudaError_t error, const char *what);
// After a launch.
inline void launched(const char *kernel) {
    good(cudaGetLastError(), kernel);
}
// Whether nothing has failed yet: then launch.
bool may_launch();
int multiprocessors();
// Room for small results of reductions, which belongs to the calling thread; nullptr, and the failure kept,
// where there is none.
double *partial_sums();
// Where kernels leave the number of the first batch that they cannot work on, by atomicMin; it begins as the
// largest one. nullptr as above. What was left there, -1: none. Waits.
unsigned long long *first_failure();
int64_t failure_found(const unsigned long long *first);
// More than the 48 KiB of shared memory that a kernel has without asking.
bool allow_shared(const void *kernel, size_t bytes, const char *what);
template <typename... A> bool allow_shared(void (*kernel)(A...), size_t bytes, const char *what) {
    return allow_shared((const void *)kernel, bytes, what);
}
constexpr int MAX_PARTIAL = 1024;

// Calls f with a number as a constant, where it is one of VALUES; false: it is none.
template <int N> struct constant { static constexpr int value = N; };
template <int... VALUES, typename F> bool with_constant(int number, F f) {
    return ((number == VALUES && (f(constant<VALUES>()), true)) || ...);
}

// Of the table: the kernels on boxes are compiled for this number, and called with it;
constexpr int LANES = 8;
constexpr int MAX_LINE = 28; // modes of an axis
// and those on mapped cells for this one: a warp takes a batch, a thread a cell.
constexpr int CELL_LANES = 32;
// What the launches of y = a A x + b f on a brick are told of it.
template <typename L, typename R>
void describe_brick(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y, L &l) {
    for (int d = 0; d < 3; d++) {
        l.cells[d] = c->cells[d];
        l.periodic[d] = c->periodic[d];
        l.n_nodes[d] = c->n_nodes[d];
        l.widths[d] = c->widths[d];
        for (int s = 0; s < 2; s++) l.fixed[d][s] = c->fixed[d][s];
    }
    l.a = (R)a;
    l.b = (R)b;
    l.k = (R)c->k;
    l.lambda = (R)c->lambda;
    l.x = x;
    l.f = b != 0.0 ? f : nullptr;
    l.y = y;
}
// The operator with one k and one lambda, degrees 2 to 8; false: not this brick.
template <typename R>
bool apply_uniform(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y);
// Transfers where all cells are cut in the same way in all directions, degrees 2 to 8; false: not these.
template <typename R> bool transfer_tiles(const struct brick_transfer *t, const R *from, R *to, bool up);

} // namespace facet

// name_cuda and name_single_cuda for the kernels of kernels.def that kernels_cuda() in vector.cu lists.
#define OF(name) name##_cuda
#include "kernels/declare.h"
#define DOUBLE_NAME(what) what##_cuda
#define SINGLE_NAME(what) what##_single_cuda

#endif
