// Cells of a box (kernels/box.h): the diagonal of K, the balance of every cell, and cells as the host wants
// to see them. What is summed is summed by one thread or in a fixed order: the same bits every time.
#include "kernels/cuda/box.cuh"

namespace facet {

namespace {

constexpr int L = LANES, THREADS = 128;

// A cell: its place in the tables and its metric.
struct cell {
    int at[3], pack, lane;
    int64_t number; // of its pack
    const double *metric;

    __device__ cell(const struct box_plan &p, const int place[3]) {
        for (int d = 0; d < 3; d++) at[d] = place[d];
        pack = at[0] / L;
        lane = at[0] % L;
        number = ((int64_t)at[2] * p.cells[1] + at[1]) * p.packs + pack;
        metric = p.f64.metric + number * KERNEL_BOX_METRIC * L + lane;
    }
    __device__ double a(int axis) const {
        return metric[axis * L];
    }
    __device__ double reaction() const {
        return metric[3 * L];
    }
    __device__ double k() const {
        return metric[4 * L];
    }
    __device__ double entry_of(const double *const *table, int axis, int width, int mode) const {
        return entry(table, axis, width, axis == 0 ? pack : at[axis], lane, mode);
    }
};

__device__ void place_of(const struct box_plan &p, int64_t number, int at[3]) {
    at[0] = (int)(number % p.cells[0]);
    at[1] = (int)(number / p.cells[0] % p.cells[1]);
    at[2] = (int)(number / p.cells[0] / p.cells[1]);
}

// ------------------------------------------------------------------------------ the diagonal

// Of one cell for k = 1: a gamma B B - a^2 (sum of w along the axis).
__device__ double own_diagonal(const struct box_plan &p, const cell &c, int axis, int i, int j) {
    const int s = slow_axis(axis), f = fast_axis(axis);
    const double a = c.a(axis), rest = c.reaction() +
                                       c.a(s) * c.entry_of(p.f64.eigenvalues, s, p.modes[s], i) +
                                       c.a(f) * c.entry_of(p.f64.eigenvalues, f, p.modes[f], j);
    double sum = 0;
    for (int m = 0; m < p.modes[axis]; m++)
        sum += c.entry_of(p.f64.squares, axis, p.modes[axis], m) /
               (rest + a * c.entry_of(p.f64.eigenvalues, axis, p.modes[axis], m));
    return a * c.entry_of(p.f64.squares, s, p.modes[s], i) * c.entry_of(p.f64.squares, f, p.modes[f], j) *
           (c.entry_of(p.f64.gamma, axis, 2, 0) + c.entry_of(p.f64.gamma, axis, 2, 1) - a * sum);
}

// A block takes a face-pack, a thread modes and lanes of it.
__global__ void diagonal(const __grid_constant__ struct box_plan p, const double *diagonals, double *d) {
    const int64_t sizes = p.face[0] + p.face[1] + p.face[2];
    for (int64_t number = blockIdx.x; number < p.n_faces; number += gridDim.x) {
        const struct box_face_pack f = box_face_pack(&p, number, L);
        const int slow = slow_axis(f.axis), fast = fast_axis(f.axis);
        const int64_t before = f.axis == 0 ? 0 : f.axis == 1 ? p.face[0] : p.face[0] + p.face[1];
        const int lane = threadIdx.x % L;
        int cells[2][3];
        const int sides = box_neighbours(&p, &f, lane, L, cells[0], cells[1]);
        for (int m = threadIdx.x / L; m < p.modes[slow] * p.modes[fast]; m += blockDim.x / L) {
            const int i = m / p.modes[fast], j = m % p.modes[fast];
            const int64_t t = box_face_mode(&p, slow, fast, i, j);
            double sum = 0;
            for (int side = 0; side < 2; side++) {
                if (!(sides >> side & 1)) continue;
                const cell c(p, cells[side]);
                const int table = p.tables[c.number];
                sum += c.k() * (table >= 0 ? diagonals[table * sizes + before + t]
                                           : own_diagonal(p, c, f.axis, i, j));
            }
            d[f.begin + t * L + lane] = sum > 0 ? 1 / sum : 0;
        }
    }
}

template <typename R> struct tables { const R *of[3]; };

template <typename R>
__global__ void scale(const __grid_constant__ struct box_plan p, const __grid_constant__ tables<R> t, R *x) {
    for (int64_t number = blockIdx.x; number < p.n_faces; number += gridDim.x) {
        const struct box_face_pack f = box_face_pack(&p, number, L);
        const int slow = slow_axis(f.axis), fast = fast_axis(f.axis), lane = threadIdx.x % L;
        for (int m = threadIdx.x / L; m < p.modes[slow] * p.modes[fast]; m += blockDim.x / L) {
            const int i = m / p.modes[fast], j = m % p.modes[fast];
            x[f.begin + box_face_mode(&p, slow, fast, i, j) * L + lane] *=
                entry(t.of, slow, p.modes[slow], box_column(&f, slow), lane, i) *
                entry(t.of, fast, p.modes[fast], box_column(&f, fast), lane, j);
        }
    }
}

// ------------------------------------------------------------------------------ traces of a cell

// Plain mode (i, j) of a face: known, or of the vector.
__device__ double trace_of(const struct box_plan &p, const struct box_points &points, const cell &c,
                           const double *trace, int axis, int side, int i, int j) {
    const int s = slow_axis(axis), f = fast_axis(axis);
    const int64_t t = box_face_mode(&p, s, f, i, j);
    double value = 0;
    if (!p.periodic[axis] && p.fixed[axis][side] && c.at[axis] == (side ? p.cells[axis] - 1 : 0)) {
        const double *known = points.sides[axis][side];
        if (known != nullptr) value = known[((int64_t)c.at[f] * p.cells[s] + c.at[s]) * p.face[axis] + t];
    } else {
        const int64_t where = box_where(&p, axis, c.at, side, L);
        if (where >= 0) value = trace[where + t * L];
    }
    return value *
           sqrt(c.entry_of(p.f64.squares, s, p.modes[s], i) * c.entry_of(p.f64.squares, f, p.modes[f], j));
}

__global__ void cells(const __grid_constant__ struct box_plan p,
                      const __grid_constant__ struct box_points points, int64_t n, const int64_t *list,
                      const double *trace, const double *u, double *out) {
    const int64_t size = (int64_t)p.modes[0] * p.modes[1] * p.modes[2];
    const int64_t width = size + 2 * (p.face[0] + p.face[1] + p.face[2]);
    for (int64_t i = blockIdx.x; i < n; i += gridDim.x) {
        double *to = out + i * width;
        int at[3];
        place_of(p, list[i], at);
        const cell c(p, at);
        for (int64_t m = threadIdx.x; m < size; m += blockDim.x) to[m] = u[list[i] * size + m];
        to += size;
        for (int axis = 0; axis < 3; axis++) {
            if (!p.present[axis]) continue;
            const int s = slow_axis(axis), many = (int)p.face[axis];
            for (int m = threadIdx.x; m < 2 * many; m += blockDim.x) {
                const int mode = m % many;
                to[m] = trace_of(p, points, c, trace, axis, m / many, mode % p.modes[s], mode / p.modes[s]);
            }
            to += 2 * many;
        }
    }
}

// ------------------------------------------------------------------------------ balance

struct balance_launch {
    struct box_plan plan;
    struct box_points points;
    const double *trace, *loads, *u;
    double *out;
};

// The sum over a block, to its first thread; sums: a number for each thread.
__device__ double add_up(double value, double *sums) {
    __syncthreads();
    sums[threadIdx.x] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

// The integral over the reference face of |a + sign b|, this thread's part. work: a face. All threads call
// it.
__device__ double absolute(const balance_launch &g, const cell &c, int axis, const double *a, double sign,
                           const double *b, double *work) {
    const int s = slow_axis(axis), f = fast_axis(axis), ns = g.plan.modes[s], nf = g.plan.modes[f];
    const double *S = g.points.values + (int64_t)g.points.lines[s][c.at[s]] * ns * ns,
                 *F = g.points.values + (int64_t)g.points.lines[f][c.at[f]] * nf * nf;
    double sum = 0;
    __syncthreads();
    for (int m = threadIdx.x; m < ns * nf; m += blockDim.x) { // to points along the fast axis
        const int i = m / nf, y = m % nf;
        double value = 0;
        for (int j = 0; j < nf; j++)
            value += (nf > 1 ? __ldg(F + y * nf + j) : 1.0) * (a[i * nf + j] + sign * b[i * nf + j]);
        work[m] = value;
    }
    __syncthreads();
    for (int m = threadIdx.x; m < ns * nf; m += blockDim.x) {
        const int x = m / nf, y = m % nf;
        double value = 0;
        for (int i = 0; i < ns; i++) value += (ns > 1 ? __ldg(S + x * ns + i) : 1.0) * work[i * nf + y];
        sum += (ns > 1 ? g.points.weights[x] : 1.0) * (nf > 1 ? g.points.weights[y] : 1.0) * fabs(value);
    }
    return sum;
}

__device__ double moment(const balance_launch &g, const cell &c, int axis, int mode) {
    if (!g.plan.present[axis]) return 1;
    return __ldg(g.points.moments + (int64_t)g.points.lines[axis][c.at[axis]] * g.plan.modes[axis] + mode);
}

// With q = k (2/h) [D'u - e_+ uhat_+ + e_- uhat_-]: what is even at the ends comes from odd modes of u. In
// turn: u even, u odd, q even, q odd, the lower trace, the upper one.
__device__ void find_ends(const balance_launch &g, const cell &c, int axis, const double *u, double *e) {
    const struct box_plan &p = g.plan;
    const int s = slow_axis(axis), f = fast_axis(axis), n = p.modes[axis], size = p.modes[s] * p.modes[f];
    const int steps[3] = {1, p.modes[0], p.modes[0] * p.modes[1]};
    const int line = g.points.lines[axis][c.at[axis]];
    const double *ends = g.points.ends + (int64_t)line * n, *slopes = g.points.slopes + (int64_t)line * n,
                 *squares = g.points.squares + 2 * line, factor = c.k() / g.points.halves[axis][c.at[axis]];
    __syncthreads();
    for (int m = threadIdx.x; m < size; m += blockDim.x) {
        const int i = m / p.modes[f], j = m % p.modes[f];
        const double *from = u + i * steps[s] + j * steps[f];
        double value[2] = {0, 0}, slope[2] = {0, 0};
        for (int q = 0; q < n; q++) {
            const double x = from[q * steps[axis]];
            value[q >= p.even[axis]] += __ldg(ends + q) * x;
            slope[q >= p.even[axis]] += __ldg(slopes + q) * x;
        }
        const double lower = trace_of(p, g.points, c, g.trace, axis, 0, i, j),
                     upper = trace_of(p, g.points, c, g.trace, axis, 1, i, j);
        e[m] = value[0];
        e[size + m] = value[1];
        e[2 * size + m] = factor * (slope[1] - squares[0] * (upper - lower));
        e[3 * size + m] = factor * (slope[0] - squares[1] * (upper + lower));
        e[4 * size + m] = lower;
        e[5 * size + m] = upper;
    }
    __syncthreads();
}

// The flux through the faces of an axis: taken off out[0]; their sizes: added to out[1].
__device__ void balance_faces(const balance_launch &g, const cell &c, int axis, double V, const double *e,
                              double *work, double *sums, double *out) {
    const struct box_plan &p = g.plan;
    const int s = slow_axis(axis), f = fast_axis(axis), size = p.modes[s] * p.modes[f];
    const double half = g.points.halves[axis][c.at[axis]], area = V / half,
                 tau = c.k() / half * g.points.rho[g.points.lines[axis][c.at[axis]]];
    for (int side = 0; side < 2; side++) {
        const double sign = side ? 1 : -1, *trace = e + (4 + side) * size;
        double flux = 0;
        for (int m = threadIdx.x; m < size; m += blockDim.x)
            flux += moment(g, c, s, m / p.modes[f]) * moment(g, c, f, m % p.modes[f]) *
                    (sign * (e[2 * size + m] + sign * e[3 * size + m]) +
                     tau * (e[m] + sign * e[size + m] - trace[m]));
        double large = absolute(g, c, axis, e + 2 * size, sign, e + 3 * size, work);
        large += tau * absolute(g, c, axis, e, sign, e + size, work);
        large += tau * absolute(g, c, axis, trace, 0, trace, work);
        flux = area * add_up(flux, sums);
        large = area * add_up(large, sums);
        if (threadIdx.x != 0) continue;
        out[2 + 2 * axis + side] = flux;
        out[0] -= flux;
        out[1] += large;
    }
}

__global__ void balance(const __grid_constant__ balance_launch g) {
    extern __shared__ double memory[];
    const struct box_plan &p = g.plan;
    const int *n = p.modes, size = n[0] * n[1] * n[2];
    const int64_t n_cells = (int64_t)p.cells[0] * p.cells[1] * p.cells[2];
    double *sums = memory, *e = sums + THREADS;
    for (int64_t number = blockIdx.x; number < n_cells; number += gridDim.x) {
        int at[3];
        place_of(p, number, at);
        const cell c(p, at);
        const double *u = g.u + number * size, *loads = g.loads + number * size;
        double V = 1, inside = 0, out[KERNEL_BOX_BALANCE] = {0};
        for (int d = 0; d < 3; d++) V *= g.points.halves[d][at[d]];
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            inside += moment(g, c, 0, i % n[0]) * moment(g, c, 1, i / n[0] % n[1]) *
                      moment(g, c, 2, i / n[0] / n[1]) * (loads[i] - c.k() * c.reaction() * u[i]);
        out[0] = add_up(inside, sums);
        for (int axis = 0; axis < 3; axis++) {
            if (!p.present[axis]) continue;
            find_ends(g, c, axis, u, e);
            balance_faces(g, c, axis, V, e, e + 6 * p.face[axis], sums, out);
        }
        for (int i = 0; i < KERNEL_BOX_BALANCE && threadIdx.x == 0; i++)
            g.out[number * KERNEL_BOX_BALANCE + i] = out[i];
    }
}

__global__ void imbalance(const __grid_constant__ struct box_plan p, const double *balance, double *out) {
    const int64_t cell = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= (int64_t)p.cells[0] * p.cells[1] * p.cells[2]) return;
    const double *of = balance + cell * KERNEL_BOX_BALANCE;
    int at[3];
    place_of(p, cell, at);
    double worst = fabs(of[0]), missing = of[0], made = of[0], through = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        int next[3] = {at[0], at[1], at[2]};
        if (!p.present[axis]) continue;
        const double lower = of[2 + 2 * axis], upper = of[3 + 2 * axis];
        made += lower + upper;
        if (at[axis] == 0 && !p.periodic[axis]) through += fabs(lower);
        if (++next[axis] == p.cells[axis] && !p.periodic[axis]) {
            through += fabs(upper);
            continue;
        }
        if (next[axis] == p.cells[axis]) next[axis] = 0;
        int64_t other = ((int64_t)next[2] * p.cells[1] + next[1]) * p.cells[0] + next[0];
        double sum = upper + balance[other * KERNEL_BOX_BALANCE + 2 + 2 * axis];
        worst = fmax(worst, fabs(sum));
        missing += sum;
    }
    out[KERNEL_BOX_IMBALANCE * cell] = worst;
    out[KERNEL_BOX_IMBALANCE * cell + 1] = of[1];
    out[KERNEL_BOX_IMBALANCE * cell + 2] = missing;
    out[KERNEL_BOX_IMBALANCE * cell + 3] = through + fabs(made);
}

unsigned blocks_for(int64_t n) {
    const int64_t most = 64 * (int64_t)multiprocessors();
    return (unsigned)(n < most ? n : most);
}

} // namespace

} // namespace facet

using namespace facet;

void box_diagonal_cuda(const struct box_plan *plan, const double *diagonals, double *d) {
    if (plan->n_faces == 0 || !may_launch()) return;
    diagonal<<<blocks_for(plan->n_faces), 256>>>(*plan, diagonals, d);
    launched("box_diagonal");
}

template <typename R> static void run_scale(const struct box_plan *plan, const facet::tables<R> &t, R *x) {
    if (plan->n_faces == 0 || !may_launch()) return;
    scale<R><<<blocks_for(plan->n_faces), 256>>>(*plan, t, x);
    launched("box_scale");
}
void box_scale_cuda(const struct box_plan *plan, const double *t0, const double *t1, const double *t2,
                    double *x) {
    run_scale(plan, {{t0, t1, t2}}, x);
}
void box_scale_single_cuda(const struct box_plan *plan, const float *t0, const float *t1, const float *t2,
                           float *x) {
    run_scale(plan, {{t0, t1, t2}}, x);
}

void box_cells_cuda(const struct box_plan *plan, const struct box_points *points, int64_t n,
                    const int64_t *list, const double *trace, const double *u, double *out) {
    if (n == 0 || !may_launch()) return;
    cells<<<blocks_for(n), 128>>>(*plan, *points, n, list, trace, u, out);
    launched("box_cells");
}

void box_balance_cuda(const struct box_plan *plan, const struct box_points *points, const double *trace,
                      const double *loads, const double *u, double *out) {
    const balance_launch g = {*plan, *points, trace, loads, u, out};
    const int n = plan->modes[0];
    const size_t bytes = (THREADS + 7 * (size_t)n * n) * sizeof(double);
    if (!may_launch() || !allow_shared(balance, bytes, "box_balance")) return;
    balance<<<blocks_for((int64_t)plan->cells[0] * plan->cells[1] * plan->cells[2]), THREADS, bytes>>>(g);
    launched("box_balance");
}

void box_imbalance_cuda(const struct box_plan *plan, const double *balance, double *out) {
    const int64_t n = (int64_t)plan->cells[0] * plan->cells[1] * plan->cells[2];
    if (!may_launch()) return;
    imbalance<<<(unsigned)((n + 255) / 256), 256>>>(*plan, balance, out);
    launched("box_imbalance");
}
