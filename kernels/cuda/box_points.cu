// Cells of a box at their Gauss points: the right-hand side of the trace system from f, and u from the trace
// (kernels/box.h, struct box_points). A block takes one cell after another into shared memory; a thread takes
// a line of it for each of the transforms. Faces receive two addends on zero, in either order the same bits.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES;

struct points_launch {
    struct box_plan plan;
    struct box_points points;
    const double *f, *trace; // trace: nullptr for the right-hand side
    double *out;
};

// The cell at hand. N: modes of every axis; 0: not known when compiled, or an axis is absent.
template <int N> struct view {
    const points_launch &g;
    int at[3], lane, pack, n[3], row, plane; // row and plane: steps of axes 1 and 2 in shared memory
    double a[3], reaction, k;
    const int64_t (*where)[2]; // of the faces; found by six threads

    __device__ view(const points_launch &launch, int64_t cell, int64_t (*found)[2])
        : g(launch), where(found) {
        const struct box_plan &p = g.plan;
        const unsigned which = (unsigned)cell, n0 = p.cells[0],
                       n1 = p.cells[1]; // division in 32 bits is cheap
        at[0] = (int)(which % n0);
        at[1] = (int)(which / n0 % n1);
        at[2] = (int)(which / n0 / n1);
        pack = at[0] / L;
        lane = at[0] % L;
        const int64_t number = ((int64_t)at[2] * p.cells[1] + at[1]) * p.packs + pack;
        const double *metric = p.f64.metric + number * KERNEL_BOX_METRIC * L + lane;
        for (int d = 0; d < 3; d++) {
            n[d] = N > 0 ? N : p.modes[d];
            a[d] = metric[d * L];
        }
        if (threadIdx.x < 6) {
            const int d = threadIdx.x / 2, side = threadIdx.x % 2;
            found[d][side] = p.present[d] ? box_where(&p, d, at, side, L) : -1;
        }
        __syncthreads();
        reaction = metric[3 * L];
        k = metric[4 * L];
        row = n[0] + 1;
        plane = row * n[1];
    }
    __device__ double entry_of(const double *const *table, int axis, int width, int mode) const {
        return entry(table, axis, width, axis == 0 ? pack : at[axis], lane, mode);
    }
    // What is known on a side of the box; nullptr: nothing.
    __device__ const double *known(int axis, int side) const {
        const struct box_plan &p = g.plan;
        const int s = slow_axis(axis), f = fast_axis(axis);
        if (!p.present[axis] || p.periodic[axis] || at[axis] != (side ? p.cells[axis] - 1 : 0))
            return nullptr;
        const double *values = g.points.sides[axis][side];
        return values == nullptr ? nullptr : values + ((int64_t)at[f] * p.cells[s] + at[s]) * p.face[axis];
    }
};

// Sums and differences of opposite traces, times a: 2 n n for each axis, by slow and fast mode.
template <int N> __device__ void gather(const view<N> &c, double *v) {
    const struct box_plan &p = c.g.plan;
    for (int axis = 0; axis < 3; axis++) {
        const int s = slow_axis(axis), f = fast_axis(axis), size = c.n[s] * c.n[f];
        for (int i = threadIdx.x; i < size && p.present[axis]; i += blockDim.x) {
            const int64_t t = box_face_mode(&p, s, f, i / c.n[f], i % c.n[f]);
            double value[2];
            for (int side = 0; side < 2; side++) {
                const double *given = p.fixed[axis][side] ? c.known(axis, side) : nullptr;
                value[side] = given != nullptr ? given[t]
                              : c.g.trace != nullptr && c.where[axis][side] >= 0
                                  ? c.g.trace[c.where[axis][side] + t * L]
                                  : 0.0;
            }
            v[i] = c.a[axis] * (value[1] + value[0]);
            v[size + i] = c.a[axis] * (value[1] - value[0]);
        }
        v += 2 * size;
    }
}

// Along all axes, in place.
template <int N> __device__ void transform(const view<N> &c, const double *matrices, double *u) {
    const int steps[3] = {1, c.row, c.plane};
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        if (!c.g.plan.present[axis]) continue;
        const int s = slow_axis(axis), f = fast_axis(axis), n = c.n[axis], step = steps[axis];
        const double *T = matrices + (int64_t)c.g.points.lines[axis][c.at[axis]] * n * n;
        for (int l = threadIdx.x; l < c.n[s] * c.n[f]; l += blockDim.x) {
            double *line = u + l % c.n[s] * steps[s] + l / c.n[s] * steps[f], x[N > 0 ? N : MAX_LINE];
#pragma unroll
            for (int q = 0; q < (N > 0 ? N : n); q++) x[q] = line[q * step];
#pragma unroll 4
            for (int i = 0; i < n; i++) {
                double sum = 0;
#pragma unroll
                for (int q = 0; q < (N > 0 ? N : n); q++) sum += __ldg(T + i * n + q) * x[q];
                line[i * step] = sum;
            }
        }
        __syncthreads();
    }
}

// b of all modes of the three axes, then a Lambda: after u and v.
template <int N> __device__ void roots(const view<N> &c, double *b) {
    const struct box_plan &p = c.g.plan;
    double *e = b + c.n[0] + c.n[1] + c.n[2];
    for (int axis = 0; axis < 3; b += c.n[axis], e += c.n[axis], axis++)
        for (int i = threadIdx.x; i < c.n[axis]; i += blockDim.x) {
            b[i] = sqrt(c.entry_of(p.f64.squares, axis, c.n[axis], i));
            e[i] = p.present[axis] ? c.a[axis] * c.entry_of(p.f64.eigenvalues, axis, c.n[axis], i) : 0.0;
        }
}

// u in modes; load: times b b b.
template <int N>
__device__ void solve(const view<N> &c, bool load, const double *v, const double *b, double *u) {
    const struct box_plan &p = c.g.plan;
    const int n0 = c.n[0], n1 = c.n[1], n2 = c.n[2];
    const double *v1 = v + 2 * n1 * n2, *v2 = v1 + 2 * n0 * n2, *b1 = b + n0, *b2 = b1 + n1;
    const double *e = b2 + n2, *e1 = e + n0, *e2 = e1 + n1, inverse = 1.0 / c.k;
    for (int i = threadIdx.x; i < n0 * n1 * n2; i += blockDim.x) {
        const int x = i % n0, y = i / n0 % n1, z = i / n0 / n1, at = x + y * c.row + z * c.plane;
        const double scale = b[x] * b1[y] * b2[z];
        double sum = 0;
        if (p.present[0]) sum += v[(x >= p.even[0]) * n1 * n2 + y * n2 + z];
        if (p.present[1]) sum += v1[(y >= p.even[1]) * n0 * n2 + x * n2 + z];
        if (p.present[2]) sum += v2[(z >= p.even[2]) * n0 * n1 + x * n1 + y];
        u[at] = (u[at] * inverse + scale * sum) / (c.reaction + e[x] + e1[y] + e2[z]) * (load ? scale : 1.0);
    }
    __syncthreads();
}

// What the faces receive: u holds b b b u.
template <int N>
__device__ void scatter(const view<N> &c, const double *v, const double *b, const double *u) {
    const struct box_plan &p = c.g.plan;
    const int steps[3] = {1, c.row, c.plane};
    const double *squares[3] = {b, b + c.n[0], b + c.n[0] + c.n[1]};
    for (int axis = 0; axis < 3; axis++) {
        const int s = slow_axis(axis), f = fast_axis(axis), size = c.n[s] * c.n[f];
        for (int i = threadIdx.x; i < size && p.present[axis]; i += blockDim.x) {
            const int ms = i / c.n[f], mf = i % c.n[f];
            const int64_t t = box_face_mode(&p, s, f, ms, mf);
            const double *line = u + ms * steps[s] + mf * steps[f];
            const double root = squares[s][ms] * squares[f][mf];
            double out[2] = {0, 0};
            for (int q = 0; q < c.n[axis]; q++) out[q >= p.even[axis]] += line[q * steps[axis]];
            for (int odd = 0; odd < 2; odd++) {
                const double gamma = c.entry_of(p.f64.gamma, axis, 2, odd);
                out[odd] = c.k * (c.a[axis] * out[odd] - gamma * root * root * v[odd * size + i]);
            }
            for (int side = 0; side < 2; side++) {
                if (c.where[axis][side] < 0) continue;
                const double *given = p.fixed[axis][side] ? nullptr : c.known(axis, side);
                atomicAdd(c.g.out + c.where[axis][side] + t * L,
                          (side ? out[0] + out[1] : out[0] - out[1]) + (given != nullptr ? given[t] : 0.0));
            }
        }
        v += 2 * size;
    }
}

template <int N> __global__ void work(const __grid_constant__ points_launch g) {
    extern __shared__ double memory[];
    __shared__ int64_t found[3][2];
    const struct box_plan &p = g.plan;
    const int64_t n_cells = (int64_t)p.cells[0] * p.cells[1] * p.cells[2];
    for (int64_t cell = blockIdx.x; cell < n_cells; cell += gridDim.x) {
        const view<N> c(g, cell, found);
        const int size = c.n[0] * c.n[1] * c.n[2];
        double *u = memory, *v = u + c.plane * c.n[2],
               *b = v + 2 * (c.n[1] * c.n[2] + c.n[0] * c.n[2] + c.n[0] * c.n[1]);
        const double V =
            g.points.forward == nullptr
                ? 1.0
                : g.points.halves[0][c.at[0]] * g.points.halves[1][c.at[1]] * g.points.halves[2][c.at[2]];
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            u[i % c.n[0] + i / c.n[0] % c.n[1] * c.row + i / c.n[0] / c.n[1] * c.plane] =
                g.f != nullptr ? V * g.f[cell * size + i] : 0.0;
        gather(c, v);
        roots(c, b);
        __syncthreads();
        if (g.points.forward != nullptr) transform(c, g.points.forward, u);
        solve(c, g.trace == nullptr, v, b, u);
        if (g.trace == nullptr)
            scatter(c, v, b, u);
        else {
            if (g.points.backward != nullptr) transform(c, g.points.backward, u);
            for (int i = threadIdx.x; i < size; i += blockDim.x)
                g.out[cell * size + i] =
                    u[i % c.n[0] + i / c.n[0] % c.n[1] * c.row + i / c.n[0] / c.n[1] * c.plane];
        }
        __syncthreads();
    }
}

template <int N> void launch(const points_launch &g, const char *what) {
    const int *n = g.plan.modes;
    const int lines = n[2] * (n[0] > n[1] ? n[0] : n[1]);
    const int threads = lines <= 64 ? 64 : lines <= 128 ? 128 : 256;
    const size_t bytes = ((size_t)(n[0] + 1) * n[1] * n[2] +
                          2 * ((size_t)(n[1] * n[2] + n[0] * n[2] + n[0] * n[1]) + n[0] + n[1] + n[2])) *
                         sizeof(double);
    const int64_t n_cells = (int64_t)g.plan.cells[0] * g.plan.cells[1] * g.plan.cells[2];
    const int64_t most = 64 * (int64_t)multiprocessors();
    if (!allow_shared(work<N>, bytes, what)) return;
    work<N><<<(unsigned)(n_cells < most ? n_cells : most), threads, bytes>>>(g);
    launched(what);
}

void run(const points_launch &g, const char *what) {
    with_modes(g.plan, [&](auto modes) { launch<decltype(modes)::value>(g, what); });
}

} // namespace

} // namespace facet

void box_load_cuda(const struct box_plan *plan, const struct box_points *points, const double *f, double *F) {
    const facet::points_launch g = {*plan, *points, f, nullptr, F};
    if (!facet::may_launch()) return;
    facet::good(cudaMemsetAsync(F, 0, (size_t)plan->size * sizeof *F), "box_load");
    facet::run(g, "box_load");
}

void box_recover_cuda(const struct box_plan *plan, const struct box_points *points, const double *trace,
                      const double *f, double *u) {
    const facet::points_launch g = {*plan, *points, f, trace, u};
    if (facet::may_launch()) facet::run(g, "box_recover");
}
