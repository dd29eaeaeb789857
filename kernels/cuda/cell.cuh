// What products with the trace matrix in all precisions share: cells of a batch and their faces.
#ifndef FACET_CUDA_CELL_CUH
#define FACET_CUDA_CELL_CUH

#include "kernels/cuda/lanes.cuh"

namespace facet {
namespace {

constexpr int MOST_SLOTS = 512; // of a cell, or of a patch of faces, where they differ in size

struct product {
    int n, n_faces, m;
    int equal;                  // all faces have m unknowns
    int starts[MOST_SLOTS + 1]; // where they have not
    const int64_t *maps;
    const void *matrices;
    int n_components;
    const uint8_t *loose, *second;
    int64_t n_batches;
    const int64_t *batches; // NULL: all of them
    __device__ __forceinline__ int start(int face) const {
        return equal ? face * m : starts[face];
    }
};

struct product product_of(const struct cell_plan *plan) {
    struct product p = {};
    p.n_faces = plan->n_faces;
    p.n = cell_plan_start(plan, plan->n_faces);
    p.m = plan->m;
    p.equal = plan->starts == nullptr;
    for (int f = 0; f <= plan->n_faces && f <= MOST_SLOTS && !p.equal; f++) p.starts[f] = plan->starts[f];
    if (!p.equal && plan->n_faces > MOST_SLOTS)
        good(cudaErrorInvalidValue, "a product over cells or patches of more than 512 faces");
    p.maps = plan->maps;
    p.matrices = plan->matrices;
    p.n_components = plan->n_components;
    p.loose = plan->loose;
    p.second = plan->parts != nullptr ? plan->second : nullptr;
    p.n_batches = plan->n_batches;
    return p;
}

// Numbers of x that a thread asks for before it waits for the first.
template <typename R> constexpr int AHEAD = sizeof(R) == 8 ? 6 : 8;

// Faces of the cells of a batch that a warp brings in and takes out: all of them, or its share.
struct share {
    int warp = 0, warps = 1;
    __device__ __forceinline__ bool has(int face) const {
        return face % warps == warp;
    }
};
__device__ __forceinline__ share share_of_warp() {
    return {(int)threadIdx.y, (int)blockDim.y};
}

// x of the batch into columns of shared memory, cells with FACES faces of m unknowns each, which begin at
// mine; faces that are not there count as zero.
template <int FACES, typename R>
__device__ __forceinline__ void bring_faces(int m, const int64_t (&mine)[FACES], int lane,
                                            const R *__restrict__ x, R *to, share my = {}) {
    walk at(m, lane);
    for (int step = 0; step < m; step += AHEAD<R>) {
        R value[AHEAD<R>][FACES];
        int place[AHEAD<R>];
#pragma unroll
        for (int a = 0; a < AHEAD<R>; a++) {
            const bool there = step + a < m;
            const int block = there ? at.block : 0;
            place[a] = there ? at.i * PITCH + at.block : -1;
#pragma unroll
            for (int f = 0; f < FACES; f++)
                if (my.has(f)) {
                    const int64_t first = __shfl_sync(ALL, mine[f], block);
                    value[a][f] = there && first >= 0 ? x[first + at.i] : R(0);
                }
            at.next();
        }
#pragma unroll
        for (int a = 0; a < AHEAD<R>; a++)
            if (place[a] >= 0)
#pragma unroll
                for (int f = 0; f < FACES; f++)
                    if (my.has(f)) to[f * m * PITCH + place[a]] = value[a][f];
    }
    __syncwarp();
}

template <int FACES>
__device__ __forceinline__ void load_maps(const product &p, int64_t batch, int lane, int64_t (&mine)[FACES]) {
#pragma unroll
    for (int f = 0; f < FACES; f++) mine[f] = p.maps[(batch * FACES + f) * L + lane];
}

template <int FACES, typename R>
__device__ __forceinline__ void bring_equal(const product &p, int64_t batch, int lane,
                                            const R *__restrict__ x, R *to, share my) {
    int64_t mine[FACES];
    load_maps(p, batch, lane, mine);
    bring_faces(p.m, mine, lane, x, to, my);
}

template <typename R>
__device__ __forceinline__ void bring_in(const product &p, int64_t batch, int lane, const R *__restrict__ x,
                                         R *to, share my = {}) {
    if (p.equal && p.n_faces == 3)
        return bring_equal<3>(p, batch, lane, x, to, my);
    else if (p.equal && p.n_faces == 4)
        return bring_equal<4>(p, batch, lane, x, to, my);
    else if (p.equal && p.n_faces == 6)
        return bring_equal<6>(p, batch, lane, x, to, my);
    else
        for (int f = my.warp; f < p.n_faces; f += my.warps) {
            const int64_t mine = p.maps[(batch * p.n_faces + f) * L + lane];
            const int start = p.start(f), m = p.start(f + 1) - start;
            if (m == 0) continue;
            walk at(m, lane);
            for (int step = 0; step < m; step++, at.next()) {
                const int64_t first = __shfl_sync(ALL, mine, at.block);
                to[(start + at.i) * PITCH + at.block] = first >= 0 ? x[first + at.i] : R(0);
            }
        }
    __syncwarp();
}

// The constant of the first face off those of all faces, in the components that K does not see it in.
template <typename R>
__device__ __forceinline__ void take_constants_off(const product &p, int64_t batch, int lane, R *x) {
    if (p.loose == nullptr) return;
    const int bits = p.maps[batch * p.n_faces * L + lane] >= 0 ? p.loose[batch * L + lane] : 0;
    const int size = p.m / p.n_components;
    for (int c = 0; c < p.n_components; c++) {
        if (!(bits >> c & 1)) continue;
        const R constant = x[c * size * PITCH + lane];
        for (int f = 0; f < p.n_faces; f++) x[(f * p.m + c * size) * PITCH + lane] -= constant;
    }
}

// y of the batch to the places of its cells: both sides of a face have one.
template <typename R>
__device__ __forceinline__ void put_parts(const product &p, int64_t batch, int lane, const R *y, R *parts,
                                          share my) {
    const int second = p.second[batch * L + lane], m = p.m;
    __syncwarp();
    for (int f = my.warp; f < p.n_faces; f += my.warps) {
        const int64_t first = p.maps[(batch * p.n_faces + f) * L + lane];
        const int64_t mine = first >= 0 ? 2 * first + (second >> f & 1 ? m : 0) : -1;
        walk at(m, lane);
        for (int step = 0; step < m; step++, at.next()) {
            const int64_t to = __shfl_sync(ALL, mine, at.block);
            if (to >= 0) parts[to + at.i] = y[(f * m + at.i) * PITCH + at.block];
        }
    }
}

// The same of cells whose faces begin at mine.
template <int FACES, typename R>
__device__ __forceinline__ void put_faces(int m, const int64_t (&mine)[FACES], int second, int lane,
                                          const R *y, R *parts, share my = {}) {
    __syncwarp();
    walk at(m, lane);
#pragma unroll 2
    for (int step = 0; step < m; step++, at.next())
#pragma unroll
        for (int f = 0; f < FACES; f++) {
            if (!my.has(f)) continue;
            const int64_t first = __shfl_sync(ALL, mine[f], at.block);
            const int other = __shfl_sync(ALL, second, at.block) >> f & 1;
            if (first >= 0) parts[2 * first + (other ? m : 0) + at.i] = y[(f * m + at.i) * PITCH + at.block];
        }
}

// Or onto y, cell by cell and face by face, since cells of a batch may share faces.
template <typename R> __device__ void add_to(const product &p, int64_t batch, int lane, const R *from, R *y) {
    __syncwarp();
    for (int cell = 0; cell < L; cell++)
        for (int f = 0; f < p.n_faces; f++) {
            const int64_t first = p.maps[(batch * p.n_faces + f) * L + cell];
            for (int i = p.start(f) + lane; first >= 0 && i < p.start(f + 1); i += L)
                y[first + i - p.start(f)] += from[i * PITCH + cell];
            __syncwarp();
        }
}

template <typename R>
__device__ __forceinline__ void deliver(const product &p, int64_t batch, int lane, const R *from, R *to,
                                        share my = {}) {
    if (p.second != nullptr)
        put_parts(p, batch, lane, from, to, my);
    else if (my.warp == 0)
        add_to(p, batch, lane, from, to);
}

__device__ __forceinline__ int64_t batch_of(const product &p) {
    const int64_t number = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (number >= p.n_batches) return -1;
    return p.batches != nullptr ? p.batches[number] : number;
}

// Warps of a block that share a batch, 1: each has one of its own. Vectors of larger cells leave room for few
// of them on a multiprocessor; and there may be no more batches than multiprocessors. On an H200, over a
// copy, one warp and several: double precision, 60 unknowns 0.79, 0.70; 84 0.67, 0.76; 96 0.58, 0.72; 120
// 0.67, 0.83; 180 0.45, 0.84; 252 0.27, 0.83.
constexpr int MOST_SHARING = 8, LEAST_SHARED = 32; // warps, unknowns of a cell
template <typename R> int warps_sharing(const product &p) {
    constexpr int wanted = sizeof(R) == 8 ? 8 : 10, enough = sizeof(R) == 8 ? 6 : 5; // warps, batches of one
    const int fit = p.n > 0 ? (int)(MOST_SHARED / lane_bytes<R>(p.n)) : 0, meetings = meetings_of(p.n);
    const int64_t there = (p.n_batches + multiprocessors() - 1) / multiprocessors();
    const int batches = there < fit ? (int)there : fit; // of a multiprocessor
    if (p.n < LEAST_SHARED || batches == 0 || (fit >= enough && there > 1)) return 1;
    const int least = (wanted + batches - 1) / batches,
              most = meetings < MOST_SHARING ? meetings : MOST_SHARING;
    // Of as many warps, or up to two more, those that a round keeps busy.
    int best = most;
    double busy = 0.0;
    for (int warps = least; warps <= least + 2 && warps <= most; warps++) {
        const double part = (double)meetings / (warps * ((meetings + warps - 1) / warps));
        if (part > busy) best = warps;
        busy = fmax(busy, part);
    }
    return best;
}
__device__ __forceinline__ int64_t shared_batch(const product &p) {
    return p.batches != nullptr ? p.batches[blockIdx.x] : blockIdx.x;
}

// y = (or y +=) the parts of both sides of every face.
template <typename R>
__global__ void add_parts(int64_t n, unsigned m, int fresh, const R *__restrict__ parts, R *__restrict__ y) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const int64_t first = n < INT32_MAX ? (int64_t)((unsigned)i / m) * m : i / m * m;
        const R sum = __ldcs(parts + first + i) + __ldcs(parts + first + m + i);
        y[i] = fresh ? sum : y[i] + sum;
    }
}

template <typename R> void gather(const struct cell_plan *plan, R *y) {
    if (plan->n_unknowns == 0 || !may_launch()) return;
    const int64_t blocks = (plan->n_unknowns + 255) / 256, most = 32 * (int64_t)multiprocessors();
    add_parts<R><<<(unsigned)(blocks < most ? blocks : most), 256>>>(plan->n_unknowns, (unsigned)plan->m,
                                                                     plan->fresh, (const R *)plan->parts, y);
    launched("add_parts");
}

// How a batch gets at its faces. FACES > 0: all have m unknowns and both sides of a face are parts; where
// they begin is asked for once.
template <int FACES> struct faces {
    int64_t mine[FACES];
    int second;
    __device__ __forceinline__ faces(const product &p, int64_t batch, int lane)
        : second(p.second[batch * L + lane]) {
        load_maps(p, batch, lane, mine);
    }
    template <typename R>
    __device__ __forceinline__ void bring_in(const product &p, int64_t, int lane, const R *x, R *to,
                                             share my = {}) const {
        bring_faces(p.m, mine, lane, x, to, my);
    }
    template <typename R>
    __device__ __forceinline__ void deliver(const product &p, int64_t, int lane, const R *from, R *to,
                                            share my = {}) const {
        put_faces(p.m, mine, second, lane, from, to, my);
    }
};
template <> struct faces<0> {
    __device__ __forceinline__ faces(const product &, int64_t, int) {}
    template <typename R>
    __device__ __forceinline__ void bring_in(const product &p, int64_t batch, int lane, const R *x, R *to,
                                             share my = {}) const {
        facet::bring_in(p, batch, lane, x, to, my);
    }
    template <typename R>
    __device__ __forceinline__ void deliver(const product &p, int64_t batch, int lane, const R *from, R *to,
                                            share my = {}) const {
        facet::deliver(p, batch, lane, from, to, my);
    }
};
// FACES for these cells.
inline int faces_apart(const product &p) {
    return p.equal && p.second != nullptr && (p.n_faces == 3 || p.n_faces == 4 || p.n_faces == 6) ? p.n_faces
                                                                                                  : 0;
}

// All batches into parts and the sum of these, or colour by colour.
template <typename R, typename Launch>
void take_batches(const struct cell_plan *plan, product p, R *y, Launch launch) {
    if (plan->parts != nullptr) {
        if (p.n_batches > 0 && may_launch()) launch(p, (R *)plan->parts);
        gather(plan, y);
        return;
    }
    for (int c = 0; c < plan->n_colours; c++) {
        p.batches = plan->colour_batches + plan->colour_starts[c];
        p.n_batches = plan->colour_starts[c + 1] - plan->colour_starts[c];
        if (p.n_batches > 0 && may_launch()) launch(p, y);
    }
}

} // namespace
} // namespace facet
#endif
