// The last step of the ladder, without conflicts of banks.
#include "kernels/cuda/patch_ladder.cuh"

namespace facet {

template <typename R> bool run_ladder(const patch_call<R> &call) {
    return take_step<R, PATCH_KERNEL_CONFLICT_FREE>(call);
}
template bool run_ladder<double>(const patch_call<double> &);
template bool run_ladder<float>(const patch_call<float> &);

} // namespace facet
