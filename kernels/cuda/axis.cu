// Products along one axis of a lattice: a matrix product whose columns are the lines of the lattice. On
// tensor cores where rows begin on 16 bytes and no sum has a ragged end; else tiles of 64 x 64 results, each
// thread 4 x 4 of them, operands in shared memory.
#include "kernels/cuda/box.cuh"
#include "kernels/cuda/product.cuh"

namespace {

constexpr int DEPTH = 16, SIDE = 16;

template <typename R> struct product {
    int64_t outer, inner;
    int n_out, n_in;
    const R *T, *x;
    R b, *y;
    struct axis_division by; // n_0 0: not
};

template <int EACH, typename R>
__global__ void __launch_bounds__(SIDE *SIDE) multiply(const __grid_constant__ product<R> g) {
    constexpr int TILE = EACH * SIDE;
    __shared__ R A[DEPTH][TILE + 1], B[DEPTH][TILE + 1];
    const int row = threadIdx.x / SIDE, column = threadIdx.x % SIDE;
    const int64_t first_row = (int64_t)blockIdx.y * TILE, columns = g.outer * g.inner;
    const int64_t first_column = (int64_t)blockIdx.x * TILE;
    R sum[EACH][EACH] = {};
    for (int q0 = 0; q0 < g.n_in; q0 += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int q = i % DEPTH, r = i / DEPTH;
            A[q][r] =
                first_row + r < g.n_out && q0 + q < g.n_in ? g.T[(first_row + r) * g.n_in + q0 + q] : R(0);
            // lines lie along q where inner is 1, else side by side
            const int bq = g.inner == 1 ? i % DEPTH : i / TILE, bc = g.inner == 1 ? i / DEPTH : i % TILE;
            const int64_t c = first_column + bc;
            B[bq][bc] = c < columns && q0 + bq < g.n_in
                            ? g.x[(c / g.inner * g.n_in + q0 + bq) * g.inner + c % g.inner]
                            : R(0);
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++) {
            R a[EACH], b[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                a[i] = A[q][row + i * SIDE];
                b[i] = B[q][column + i * SIDE];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int64_t r = first_row + row + i * SIDE, c = first_column + column + j * SIDE;
            if (r >= g.n_out || c >= columns) continue;
            const int64_t number = (c / g.inner * g.n_out + r) * g.inner + c % g.inner;
            const R value = g.b != 0 ? sum[i][j] + g.b * g.y[number] : sum[i][j];
            g.y[number] = g.by.n_0 == 0 ? value : value / (R)axis_divisor(&g.by, number);
        }
}

bool aligned(const void *p) {
    return (uintptr_t)p % 16 == 0;
}

// False: not these sizes.
template <typename R> bool run_tensor(const product<R> &g) {
    constexpr int64_t many = 65535, large = 1 << 30;
    constexpr int piece = 16 / sizeof(R);
    facet::product_launch<R> p = {};
    if (g.n_in % 16 != 0 || g.n_out % piece != 0 || !aligned(g.T) || !aligned(g.x) || !aligned(g.y))
        return false;
    if (g.inner == 1 ? g.outer > large : g.inner % piece != 0 || g.inner > large || g.outer > many)
        return false;
    if (g.by.n_0 % 2 != 0) return false; // results come in pairs
    if (g.by.n_0 > 0) {
        for (int d = 0; d < 3; d++) p.theta[d] = g.by.theta[d];
        p.conductivity = g.by.k;
        p.reaction = g.by.lambda;
        p.length[0] = g.by.n_0;
        p.length[1] = g.by.n_1;
    }
    p.K = g.n_in;
    p.C = g.y;
    p.keep = g.b;
    p.blocks = 1;
    if (g.inner == 1) { // y = x T'
        p.A = g.x;
        p.B = g.T;
        p.M = (int)g.outer;
        p.N = g.n_out;
        p.la = p.lb = g.n_in;
        p.lc = g.n_out;
        facet::run_product<128, 64, 64, 32, 3, false>(p, 1, "axis_apply");
        return true;
    }
    p.A = g.T;
    p.B = g.x;
    p.M = g.n_out;
    p.N = (int)g.inner;
    p.la = g.n_in;
    p.lb = p.lc = g.inner;
    p.Bo = g.n_in * g.inner;
    p.Co = g.n_out * g.inner;
    // Short rows take narrow tiles, few of them low ones; short sums need no long ring, but more blocks at a
    // time.
    if (g.inner < 128 && g.inner % 128 <= 96)
        facet::run_product<128, 32, 32, 32, 3, true>(p, (int)g.outer, "axis_apply");
    else if ((g.n_out + 31) / 32 % 2 == 1)
        facet::run_product<32, 128, 32, 32, 3, true>(p, (int)g.outer, "axis_apply");
    else if (g.n_in <= 80)
        facet::run_product<64, 128, 32, 32, 2, true>(p, (int)g.outer, "axis_apply");
    else
        facet::run_product<64, 128, 64, 32, 4, true>(p, (int)g.outer, "axis_apply");
    return true;
}

template <int EACH, typename R> dim3 tiles_of(const product<R> &g) {
    constexpr int64_t tile = EACH * SIDE;
    return dim3((unsigned)((g.outer * g.inner + tile - 1) / tile), (unsigned)((g.n_out + tile - 1) / tile));
}

// Blocks take rows of a lattice, blockIdx.y and .z are axes 1 and 2.
constexpr int ROW = 128;
dim3 rows(int n_0, int n_1, int n_2) {
    return dim3((unsigned)((n_0 + ROW - 1) / ROW), (unsigned)n_1, (unsigned)n_2);
}

// A thread takes several rows, so that their reads are on the way at the same time. N: modes of all axes; 0:
// not known when compiled.
constexpr int SEVERAL = 4;
template <bool BACK, int AXIS, int N, typename R>
__global__ void __launch_bounds__(ROW)
    move(const __grid_constant__ struct box_plan given, int n_0, int n_1, double a, double *x, R *lattice) {
    const int i = blockIdx.x * ROW + threadIdx.x, first = blockIdx.y * SEVERAL;
    double value[SEVERAL];
    int64_t where[SEVERAL], here[SEVERAL];
    struct box_plan plan = given;
    for (int d = 0; d < 3 && N > 0; d++) {
        plan.modes[d] = N;
        plan.even[d] = (N + 1) / 2;
    }
    if (i >= n_0) return;
#pragma unroll
    for (int j = 0; j < SEVERAL; j++) {
        const int at[3] = {i, first + j, (int)blockIdx.z};
        here[j] = ((int64_t)at[2] * n_1 + at[1]) * n_0 + i;
        where[j] = at[1] < n_1 ? box_lattice_where(&plan, AXIS, at, facet::LANES) : -1;
        value[j] = where[j] < 0 ? 0.0 : BACK ? (double)lattice[here[j]] : x[where[j]];
    }
#pragma unroll
    for (int j = 0; j < SEVERAL; j++)
        if (!BACK && first + j < n_1)
            lattice[here[j]] = (R)(a * value[j]);
        else if (BACK && where[j] >= 0)
            x[where[j]] = a * value[j];
}

template <bool BACK, int N, typename R>
void run_move(const struct box_plan *plan, int axis, int n_0, int n_1, int n_2, double a, double *x,
              R *lattice) {
    const dim3 grid = rows(n_0, (n_1 + SEVERAL - 1) / SEVERAL, n_2);
    auto kernel = axis == 0 ? move<BACK, 0, N, R> : axis == 1 ? move<BACK, 1, N, R> : move<BACK, 2, N, R>;
    kernel<<<grid, ROW>>>(*plan, n_0, n_1, a, x, lattice);
}

template <bool BACK, typename R>
void move_all(const struct box_plan *plan, int axis, int n_0, int n_1, int n_2, double a, double *x,
              R *lattice) {
    if (n_0 == 0 || n_1 == 0 || n_2 == 0 || !facet::may_launch()) return;
    facet::with_modes(*plan, [&](auto modes) {
        run_move<BACK, decltype(modes)::value>(plan, axis, n_0, n_1, n_2, a, x, lattice);
    });
    facet::launched(BACK ? "box_from_lattice" : "box_to_lattice");
}

template <typename R>
void apply(int64_t outer, int n_out, int n_in, int64_t inner, const R *T, const R *x, double b,
           const struct axis_division *by, R *y) {
    const product<R> g = {outer, inner, n_out, n_in, T, x, (R)b, y, by != nullptr ? *by : axis_division()};
    if (outer * inner == 0 || n_out == 0 || !facet::may_launch() || run_tensor(g)) return;
    const dim3 large = tiles_of<4>(g);
    if ((int64_t)large.x * large.y < 2 * facet::multiprocessors())
        multiply<1><<<tiles_of<1>(g), SIDE * SIDE>>>(g);
    else
        multiply<4><<<large, SIDE * SIDE>>>(g);
    facet::launched("axis_apply");
}

} // namespace

#define FUNCTIONS(R, NAME)                                                                                   \
    void NAME(axis_apply)(int64_t outer, int n_out, int n_in, int64_t inner, const R *T, const R *x,         \
                          double b, const struct axis_division *by, R *y) {                                  \
        apply(outer, n_out, n_in, inner, T, x, b, by, y);                                                    \
    }                                                                                                        \
    void NAME(box_to_lattice)(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,     \
                              double a, const double *x, R *lattice) {                                       \
        move_all<false>(plan, axis, size_0, size_1, size_2, a, (double *)x, lattice);                        \
    }                                                                                                        \
    void NAME(box_from_lattice)(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,   \
                                double a, const R *lattice, double *x) {                                     \
        move_all<true>(plan, axis, size_0, size_1, size_2, a, x, (R *)lattice);                              \
    }
FUNCTIONS(double, DOUBLE_NAME)
FUNCTIONS(float, SINGLE_NAME)
