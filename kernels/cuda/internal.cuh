// What the files of kernels/cuda share: the stream, and the keeping of errors.
#ifndef FACET_KERNELS_CUDA_INTERNAL_CUH
#define FACET_KERNELS_CUDA_INTERNAL_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/cuda.h"

namespace facet {

// False, and the error kept, when the call failed or an earlier one did.
bool good(cudaError_t error, const char *what);
// After a launch.
inline void launched(const char *kernel) {
    good(cudaGetLastError(), kernel);
}
// Whether nothing has failed yet: then launch.
bool may_launch();
int multiprocessors();
// Room for small results of reductions.
double *partial_sums();
constexpr int MAX_PARTIAL = 1024;
// The operator with one k and one lambda, degrees 2 to 8; false: not this brick.
template <typename R>
bool apply_uniform(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y);
// Transfers where all cells are cut in the same way in all directions, degrees 2 to 8; false: not these.
template <typename R> bool transfer_tiles(const struct brick_transfer *t, const R *from, R *to, bool up);

} // namespace facet

// The functions that kernels_cuda() gathers into its table.
#define BRICK_FUNCTIONS(REAL, NAME)                                                                          \
    void NAME(brick_apply)(const struct brick_cells *, double, const REAL *, double, const REAL *, REAL *,   \
                           REAL *);                                                                          \
    void NAME(brick_diagonal)(const struct brick_cells *, REAL *);                                           \
    void NAME(brick_prolong)(const struct brick_transfer *, const REAL *, REAL *, REAL *);                   \
    void NAME(brick_restrict)(const struct brick_transfer *, const REAL *, REAL *, REAL *);                  \
    void NAME(patch_sweep)(const struct brick_patches *, int, const REAL *, REAL *, REAL *);
#define BOX_FUNCTIONS(REAL, NAME)                                                                            \
    double NAME(box_step)(const struct box_plan *, const struct box_step *, const REAL *, REAL *,            \
                          const REAL *, REAL *, REAL *, REAL *);                                             \
    void NAME(box_residual)(const struct box_plan *, double, const REAL *, REAL *, REAL *, double *);        \
    void NAME(box_prolong)(const struct box_plan *, const double *, REAL *);                                 \
    void NAME(box_restrict)(const struct box_plan *, const REAL *, double *);
#define DOUBLE_NAME(what) what##_cuda
#define SINGLE_NAME(what) what##_single_cuda
BRICK_FUNCTIONS(double, DOUBLE_NAME)
BRICK_FUNCTIONS(float, SINGLE_NAME)
extern "C" {
BOX_FUNCTIONS(double, DOUBLE_NAME)
BOX_FUNCTIONS(float, SINGLE_NAME)
void box_load_cuda(const struct box_plan *, const struct box_points *, const double *, double *);
void box_recover_cuda(const struct box_plan *, const struct box_points *, const double *, const double *,
                      double *);
void axis_apply_cuda(int64_t, int, int, int64_t, const double *, const double *, double *);
}
int64_t brick_scratch_cuda(const struct brick_cells *);
int64_t transfer_scratch_cuda(const struct brick_transfer *);
int64_t patch_scratch_cuda(const struct brick_patches *);
void modes_solve_cuda(const struct brick_modes *, const double *, double *, double *);
int64_t modes_scratch_cuda(const struct brick_modes *);

#endif
