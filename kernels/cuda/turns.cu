// The functions of a face as its orientations have them: O as whole matrices.
#include "kernels/cuda/local.cuh"

namespace facet {
namespace {

__global__ void fill_turns(const __grid_constant__ struct affine_tables t, int orientations, int side,
                           double *O) {
    for (int e = first_thread(); e < orientations * side * side; e += all_threads()) {
        const int a = e / side % side, b = e % side;
        O[e] = a < t.m && b < t.m ? turn_entry(t, e / side / side, a, b) : 0.0;
    }
}

} // namespace

int orientations_of(int dim, int n_faces) {
    return dim == 2 ? 2 : n_faces == 4 ? 6 : 8;
}

void make_turns(const struct affine_tables &t, int orientations, int side, double *O, const char *what) {
    if (!may_launch()) return;
    fill_turns<<<multiprocessors(), 64>>>(t, orientations, side, O);
    launched(what);
}

} // namespace facet
