// Products along one axis of a lattice: a matrix product whose columns are the lines of the lattice. On
// tensor cores where rows begin on 16 bytes and no sum has a ragged end; else tiles of 64 x 64 results, each
// thread 4 x 4 of them, operands in shared memory.
#include "kernels/cuda/box.cuh"
#include "kernels/cuda/product.cuh"

namespace {

constexpr int DEPTH = 16, SIDE = 16;

struct product {
    int64_t outer, inner;
    int n_out, n_in;
    const double *T, *x;
    double b, *y;
};

template <int EACH>
__global__ void __launch_bounds__(SIDE *SIDE) multiply(const __grid_constant__ product g) {
    constexpr int TILE = EACH * SIDE;
    __shared__ double A[DEPTH][TILE + 1], B[DEPTH][TILE + 1];
    const int row = threadIdx.x / SIDE, column = threadIdx.x % SIDE;
    const int64_t first_row = (int64_t)blockIdx.y * TILE, columns = g.outer * g.inner;
    const int64_t first_column = (int64_t)blockIdx.x * TILE;
    double sum[EACH][EACH] = {};
    for (int q0 = 0; q0 < g.n_in; q0 += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int q = i % DEPTH, r = i / DEPTH;
            A[q][r] =
                first_row + r < g.n_out && q0 + q < g.n_in ? g.T[(first_row + r) * g.n_in + q0 + q] : 0.0;
            // lines lie along q where inner is 1, else side by side
            const int bq = g.inner == 1 ? i % DEPTH : i / TILE, bc = g.inner == 1 ? i / DEPTH : i % TILE;
            const int64_t c = first_column + bc;
            B[bq][bc] = c < columns && q0 + bq < g.n_in
                            ? g.x[(c / g.inner * g.n_in + q0 + bq) * g.inner + c % g.inner]
                            : 0.0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++) {
            double a[EACH], b[EACH];
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
            double *to = &g.y[(c / g.inner * g.n_out + r) * g.inner + c % g.inner];
            *to = g.b != 0 ? sum[i][j] + g.b * *to : sum[i][j];
        }
}

bool aligned(const void *p) {
    return (uintptr_t)p % 16 == 0;
}

// False: not these sizes.
bool run_tensor(const product &g) {
    constexpr int64_t many = 65535, large = 1 << 30;
    facet::product_launch p = {};
    if (g.n_in % 16 != 0 || g.n_out % 2 != 0 || !aligned(g.T) || !aligned(g.x) || !aligned(g.y)) return false;
    if (g.inner == 1 ? g.outer > large : g.inner % 2 != 0 || g.inner > large || g.outer > many) return false;
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
    // Few rows take low tiles; short sums need no long ring, but more blocks at a time.
    if ((g.n_out + 31) / 32 % 2 == 1)
        facet::run_product<32, 128, 32, 32, 3, true>(p, (int)g.outer, "axis_apply");
    else if (g.n_in <= 80)
        facet::run_product<64, 128, 32, 32, 2, true>(p, (int)g.outer, "axis_apply");
    else
        facet::run_product<64, 128, 64, 32, 4, true>(p, (int)g.outer, "axis_apply");
    return true;
}

template <int EACH> dim3 tiles_of(const product &g) {
    constexpr int64_t tile = EACH * SIDE;
    return dim3((unsigned)((g.outer * g.inner + tile - 1) / tile), (unsigned)((g.n_out + tile - 1) / tile));
}

// Blocks take rows of a lattice, blockIdx.y and .z are axes 1 and 2.
constexpr int ROW = 128;
dim3 rows(int n_0, int n_1, int n_2) {
    return dim3((unsigned)((n_0 + ROW - 1) / ROW), (unsigned)n_1, (unsigned)n_2);
}

__global__ void __launch_bounds__(ROW) divide(int n_0, const double *theta_0, const double *theta_1,
                                              const double *theta_2, double k, double lambda, double *x) {
    const int i = blockIdx.x * ROW + threadIdx.x;
    if (i >= n_0) return;
    x[((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * n_0 + i] /=
        lambda + k * (theta_0[i] + theta_1[blockIdx.y] + theta_2[blockIdx.z]);
}

// A thread takes several rows, so that their reads are on the way at the same time. N: modes of all axes; 0:
// not known when compiled.
constexpr int SEVERAL = 4;
template <bool BACK, int AXIS, int N>
__global__ void __launch_bounds__(ROW)
    move(const __grid_constant__ struct box_plan given, int n_0, int n_1, double *x, double *lattice) {
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
        value[j] = where[j] < 0 ? 0.0 : BACK ? lattice[here[j]] : x[where[j]];
    }
#pragma unroll
    for (int j = 0; j < SEVERAL; j++)
        if (!BACK && first + j < n_1)
            lattice[here[j]] = value[j];
        else if (BACK && where[j] >= 0)
            x[where[j]] = value[j];
}

template <bool BACK, int N>
void run_move(const struct box_plan *plan, int axis, int n_0, int n_1, int n_2, double *x, double *lattice) {
    const dim3 grid = rows(n_0, (n_1 + SEVERAL - 1) / SEVERAL, n_2);
    auto kernel = axis == 0 ? move<BACK, 0, N> : axis == 1 ? move<BACK, 1, N> : move<BACK, 2, N>;
    kernel<<<grid, ROW>>>(*plan, n_0, n_1, x, lattice);
}

template <bool BACK>
void move_all(const struct box_plan *plan, int axis, int n_0, int n_1, int n_2, double *x, double *lattice) {
    const int n = plan->present[1] && plan->present[2] ? plan->modes[0] : 0;
    if (n_0 == 0 || n_1 == 0 || n_2 == 0 || !facet::may_launch()) return;
    switch (n) {
#define CASE(N)                                                                                              \
    case N:                                                                                                  \
        run_move<BACK, N>(plan, axis, n_0, n_1, n_2, x, lattice);                                            \
        break;
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(12)
        CASE(16)
#undef CASE
    default:
        run_move<BACK, 0>(plan, axis, n_0, n_1, n_2, x, lattice);
    }
    facet::launched(BACK ? "box_from_lattice" : "box_to_lattice");
}

} // namespace

void axis_apply_cuda(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *x,
                     double b, double *y) {
    const product g = {outer, inner, n_out, n_in, T, x, b, y};
    if (outer * inner == 0 || n_out == 0 || !facet::may_launch() || run_tensor(g)) return;
    const dim3 large = tiles_of<4>(g);
    if ((int64_t)large.x * large.y < 2 * facet::multiprocessors())
        multiply<1><<<tiles_of<1>(g), SIDE * SIDE>>>(g);
    else
        multiply<4><<<large, SIDE * SIDE>>>(g);
    facet::launched("axis_apply");
}

void axis_divide_cuda(int n_0, int n_1, int n_2, const double *theta_0, const double *theta_1,
                      const double *theta_2, double k, double lambda, double *x) {
    if (n_0 == 0 || n_1 == 0 || n_2 == 0 || !facet::may_launch()) return;
    divide<<<rows(n_0, n_1, n_2), ROW>>>(n_0, theta_0, theta_1, theta_2, k, lambda, x);
    facet::launched("axis_divide");
}

void box_to_lattice_cuda(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,
                         const double *x, double *lattice) {
    move_all<false>(plan, axis, size_0, size_1, size_2, (double *)x, lattice);
}

void box_from_lattice_cuda(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,
                           const double *lattice, double *x) {
    move_all<true>(plan, axis, size_0, size_1, size_2, x, (double *)lattice);
}
