// Colours of cells in a row: contributions to nodes that cells share are added colour by colour, without
// atomics, and the first colour that touches a node writes it.
#ifndef FACET_KERNELS_CUDA_COLOUR_CUH
#define FACET_KERNELS_CUDA_COLOUR_CUH

#include <type_traits>

namespace facet {

// The colours of n things in a row, a ring of an odd number needing three.
__host__ __device__ inline int colour_of(int i, int n, int periodic) {
    return periodic && n % 2 == 1 && n > 1 && i == n - 1 ? 2 : i % 2;
}
inline int colours_of(int n, int periodic) {
    return n == 1 ? 1 : periodic && n % 2 == 1 ? 3 : 2;
}
// Things of one colour, and the c-th of them.
inline int count_of(int n, int periodic, int colour) {
    const int ring = periodic && n % 2 == 1 && n > 1;
    if (colour == 2) return 1;
    const int m = ring ? n - 1 : n;
    return (m - colour + 1) / 2;
}
__device__ inline int item_of(int c, int n, int colour) {
    return colour == 2 ? n - 1 : 2 * c + colour;
}
// Whether thing i of its colour is the first to touch what lies on its lower (side 0) or upper end.
__device__ inline bool touches_first(int i, int n, int periodic, int side) {
    if (n == 1) return true;
    int other = side ? i + 1 : i - 1;
    if (other < 0 || other >= n) {
        if (!periodic) return true;
        other = (other + n) % n;
    }
    return colour_of(i, n, periodic) < colour_of(other, n, periodic);
}

// The table of a precision.
template <typename R> inline const R *plain(const double *table, const float *single) {
    if constexpr (std::is_same_v<R, double>)
        return table;
    else
        return single;
}

} // namespace facet
#endif
