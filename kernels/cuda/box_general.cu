// The product with K on any box: all dimensions, degrees and weights. A block takes cell after cell, a thread
// one mode of a face, and the two addends of a face are added to zero by atomic operations, which gives the
// same bits in either order. Several times slower than box_product.cu.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES;

constexpr int GENERAL_THREADS = 128, GENERAL_BLOCKS = 1024;

template <typename R> struct cell_view {
    const struct box_plan &p;
    int at[3], lane, pack, lanes[3][2]; // lanes: of the faces; -1: fixed, or none
    struct box_face_pack faces[3][2];
    R a[3], reaction, k;
    int64_t table;

    __device__ cell_view(const struct box_plan &plan, int64_t cell) : p(plan) {
        const auto &n = numbers(p, R());
        at[0] = (int)(cell % p.cells[0]);
        at[1] = (int)(cell / p.cells[0] % p.cells[1]);
        at[2] = (int)(cell / p.cells[0] / p.cells[1]);
        pack = at[0] / L;
        lane = at[0] % L;
        const int64_t number = ((int64_t)at[2] * p.cells[1] + at[1]) * p.packs + pack;
        const R *metric = n.metric + number * KERNEL_BOX_METRIC * L + lane;
        for (int d = 0; d < 3; d++) {
            a[d] = metric[d * L];
            for (int side = 0; side < 2; side++)
                lanes[d][side] = p.present[d] ? box_face_of(&p, d, at, side, L, &faces[d][side]) : -1;
        }
        reaction = metric[3 * L];
        k = metric[4 * L];
    }
    __device__ int column(int axis) const {
        return axis == 0 ? pack : at[axis];
    }
    __device__ R square(int axis, int mode) const {
        return entry(numbers(p, R()).squares, axis, p.modes[axis], column(axis), lane, mode);
    }
    // The factor on one side of an axis, modes (o, i) of its slow and its fast tangential axis.
    __device__ R side_value(const factor<R> &of, int axis, int side, int o, int i) const {
        const int s = slow_axis(axis), f = fast_axis(axis);
        const struct box_face_pack &face = faces[axis][side];
        const int face_lane = lanes[axis][side];
        const int64_t t = box_face_mode(&p, s, f, o, i) * L + face_lane;
        if (face_lane < 0) return 0;
        if (of.d != nullptr) return of.d[face.begin + t];
        const auto &n = numbers(p, R());
        const R d = n.diagonal[box_diagonal_begin(&p, &face, L) + t] * of.r[face.begin + t];
        if (of.e == nullptr) return d;
        const int block = 2 * (o >= p.even[s]) + (i >= p.even[f]);
        return d + entry(n.hats, s, p.modes[s], box_column(&face, s), face_lane, o) *
                       entry(n.hats, f, p.modes[f], box_column(&face, f), face_lane, i) *
                       of.e[(box_pack_number(&p, &face) * KERNEL_BOX_MOMENTS + block) * L + face_lane];
    }
    // v_axis of the parity that the modes have.
    __device__ R value(const factor<R> &of, int axis, const int m[3]) const {
        const int s = slow_axis(axis), f = fast_axis(axis);
        const R high = side_value(of, axis, 1, m[s], m[f]), low = side_value(of, axis, 0, m[s], m[f]);
        return m[axis] < p.even[axis] ? high + low : high - low;
    }
    // Adds to the modes t of the faces of an axis.
    __device__ void give(R *y, int axis, int64_t t, R high, R low) const {
        if (lanes[axis][1] >= 0) atomicAdd(y + faces[axis][1].begin + t * L + lanes[axis][1], high);
        if (lanes[axis][0] >= 0) atomicAdd(y + faces[axis][0].begin + t * L + lanes[axis][0], low);
    }
    __device__ R weight(const int m[3]) const {
        R product = 1, Z = reaction;
        for (int d = 0; d < 3; d++) {
            product *= square(d, m[d]);
            Z += a[d] * entry(numbers(p, R()).eigenvalues, d, p.modes[d], column(d), lane, m[d]);
        }
        return product / Z;
    }
};

// The mode of a face with tangential modes (slow, fast) that number t is: the inverse of box_face_mode.
__device__ void mode_of(const struct box_plan &p, int axis, int64_t t, int m[3]) {
    const int s = slow_axis(axis), f = fast_axis(axis);
    int q = 3;
    while (box_block(&p, s, f, q / 2, q % 2) > t || box_count(&p, s, q / 2) * box_count(&p, f, q % 2) == 0)
        q--;
    const int local = (int)(t - box_block(&p, s, f, q / 2, q % 2)), width = box_count(&p, f, q % 2);
    m[s] = box_first(&p, s, q / 2) + local / width;
    m[f] = box_first(&p, f, q % 2) + local % width;
}

template <typename R>
__global__ void general(const __grid_constant__ struct box_plan p, const factor<R> of, R *y,
                        double *partial) {
    const int64_t n_cells = (int64_t)p.cells[0] * p.cells[1] * p.cells[2];
    const auto &n = numbers(p, R());
    double energy = 0;
    for (int64_t cell = blockIdx.x; cell < n_cells; cell += gridDim.x) {
        const cell_view<R> c(p, cell);
        for (int axis = 0; axis < 3; axis++)
            for (int64_t t = threadIdx.x; t < p.face[axis]; t += blockDim.x) {
                int m[3];
                const int s = slow_axis(axis), f = fast_axis(axis);
                R out[2];
                mode_of(p, axis, t, m);
                for (int parity = 0; parity < 2; parity++) {
                    R sum = 0;
                    m[axis] = box_first(&p, axis, parity);
                    const int end = m[axis] + box_count(&p, axis, parity);
                    const R own = c.value(of, axis, m);
                    for (; m[axis] < end; m[axis]++) {
                        R u = 0;
                        for (int o = 0; o < 3; o++)
                            if (p.present[o]) u += c.a[o] * (o == axis ? own : c.value(of, o, m));
                        sum += c.weight(m) * u;
                    }
                    const R gamma = entry(n.gamma, axis, 2, c.column(axis), c.lane, parity);
                    m[axis] = box_first(&p, axis, parity);
                    const bool none = box_count(&p, axis, parity) == 0;
                    out[parity] =
                        none ? R(0)
                             : c.k * c.a[axis] * (gamma * c.square(s, m[s]) * c.square(f, m[f]) * own - sum);
                    energy += (double)out[parity] * (double)own;
                }
                c.give(y, axis, t, out[0] + out[1], out[0] - out[1]);
            }
    }
    __shared__ double warps[GENERAL_THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) energy += __shfl_down_sync(0xffffffffu, energy, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = energy;
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int w = 0; w < GENERAL_THREADS / 32; w++) sum += warps[w];
        partial[blockIdx.x] = sum;
    }
}

} // namespace

template <typename R> double box_product_general(const struct box_plan *plan, const factor<R> &of, R *y) {
    const int64_t n_cells = (int64_t)plan->cells[0] * plan->cells[1] * plan->cells[2];
    const int blocks = n_cells < GENERAL_BLOCKS ? (int)n_cells : GENERAL_BLOCKS;
    double sum = 0, *partial = (double *)box_room((size_t)blocks * sizeof(double));
    if (partial == nullptr) return 0;
    good(cudaMemsetAsync(y, 0, (size_t)plan->size * sizeof(R)), "box_step");
    if (!may_launch()) return 0;
    general<R><<<blocks, GENERAL_THREADS>>>(*plan, of, y, partial);
    launched("box_step");
    box_sum(blocks, 1, partial, &sum);
    return sum;
}
template double box_product_general(const struct box_plan *, const factor<double> &, double *);
template double box_product_general(const struct box_plan *, const factor<float> &, float *);

} // namespace facet
