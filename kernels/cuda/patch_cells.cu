// Vertex patches whose eight cells have k and lambda of their own: residual and correction in one kernel.
//
// A patch has 2 x 2 x 2 equal cells of degree K; 4 (K + 1)^2 threads take it, a block several of the small
// ones. A thread reads a column of nodes of two cells, one above the other, and takes two lines at a time, of
// neighbours along the line, through the six transforms of the operator (brick.cu). The nodes inside then
// gather what the cells have for them, and lines of these go through the modes of the patch (patch.cuh).
// Patches of one colour cover every cell once, so that a colour reads x once, b and the scale inside the
// patches, and writes x there: otherwise each colour begins with the residual of the whole brick.
#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

template <typename R, int K> struct cells_launch {
    static constexpr int N = K + 1, M = 2 * K - 1, E = even_of<N>, O = odd_of<N>;
    R F[E * E + O * O], eigenvalues[N]; // of the element
    patch_table<R, M> line[3];
    const R *b, *scale;
    R *x;
    R damping;
    double k, lambda;
    const double *conductivity, *reaction;
    double metric[4];       // of a cell: areas over widths, volume
    int64_t stride[2];      // of a row, of a plane of nodes
    int first[3], count[3]; // the first patch of the colour, and how many
    int n_nodes[3], first_cell[3], cells[3], wraps;
};

template <int K> constexpr int cells_group = 4 * (K + 1) * (K + 1); // threads of a patch
template <int K> constexpr int cells_patches = K == 2 ? 4 : K == 3 ? 2 : 1;
template <int K> constexpr int cells_threads = cells_patches<K> *cells_group<K>;

template <typename R, int K> struct cells_shared {
    static constexpr int N = K + 1, M = 2 * K - 1;
    // Planes of a cell are a little apart, so that lines along 1 meet different banks.
    static constexpr int PLANE = N * N + N;
    R V[8][N * PLANE];
    R r[M * M * M];
    double k[8], lambda[8];
};

template <typename R, int K>
__global__ void __launch_bounds__(cells_threads<K>)
    cells_kernel(const __grid_constant__ cells_launch<R, K> p) {
    using shared = cells_shared<R, K>;
    constexpr int N = shared::N, M = shared::M, P = shared::PLANE, G = cells_group<K>, NP = cells_patches<K>;
    constexpr int MINE = (M * M * M + G - 1) / G; // nodes inside, of a thread
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ R eigenvalues[2][M], modes[N]; // for threads that look them up at places of their own
    const int t = threadIdx.x % G, line = t % (N * N), u = line % N, v = line / N;
    const int low = t / (N * N) & 1, high = t / (2 * N * N); // of the cells in two directions
    // Cells are counted in 32 bits, whose division is cheap.
    const unsigned number = blockIdx.x * NP + threadIdx.x / G, n0 = p.count[0], n1 = p.count[1],
                   total = n0 * n1 * p.count[2];
    const bool there = number < total;
    const unsigned safe = there ? number : total - 1; // what is done twice is not written
    shared &s = reinterpret_cast<shared *>(memory)[threadIdx.x / G];
    const int patch[3] = {(int)(safe % n0), (int)(safe / n0 % n1), (int)(safe / n0 / n1)};
    int own[3], cell[3];
    for (int d = 0; d < 3; d++) {
        own[d] = p.first[d] + patch[d] * (M + 1);
        cell[d] = p.first_cell[d] + 2 * patch[d];
    }
    auto node = [&](int a, int b, int c) { // of those inside
        int x = own[0] + a, y = own[1] + b, z = own[2] + c;
        if (p.wraps) {
            x = wrapped(x, p.n_nodes[0]);
            y = wrapped(y, p.n_nodes[1]);
            z = wrapped(z, p.n_nodes[2]);
        }
        return x + y * p.stride[0] + z * p.stride[1];
    };

    // Everything that comes from memory.
    R column[2 * K + 1], b[MINE], x[MINE], scale[MINE];
    {
        const int64_t base = node(low * K + u - 1, high * K + v - 1, -1);
#pragma unroll
        for (int c = 0; c < 2 * K + 1; c++)
            column[c] =
                p.x[p.wraps ? node(low * K + u - 1, high * K + v - 1, c - 1) : base + c * p.stride[1]];
    }
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        const int i = t + j * G;
        if (i >= M * M * M) continue;
        const int64_t at = node(i % M, i / M % M, i / (M * M));
        b[j] = p.b[at];
        x[j] = p.x[at];
        scale[j] = p.scale[at];
    }
    if (t < 8) {
        const int place[3] = {wrapped(cell[0] + (t & 1), p.cells[0]),
                              wrapped(cell[1] + (t >> 1 & 1), p.cells[1]),
                              wrapped(cell[2] + (t >> 2), p.cells[2])};
        const int64_t which = ((int64_t)place[2] * p.cells[1] + place[1]) * p.cells[0] + place[0];
        s.k[t] = p.conductivity != nullptr ? p.conductivity[which] : p.k;
        s.lambda[t] = p.reaction != nullptr ? p.reaction[which] : p.lambda;
    }
    for (int i = threadIdx.x; i < 2 * M; i += NP * G)
        eigenvalues[i / M][i % M] = p.line[i / M].eigenvalues[i % M];
    for (int i = threadIdx.x; i < N; i += NP * G) modes[i] = p.eigenvalues[i];

    // The operator of the cells: along 2, 1, 0 to modes, and back. The two lines of a thread are those of
    // cells one after the other along the line.
    R in[2][N], out[2][N];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        R *V = s.V[low + 2 * high + 4 * h];
#pragma unroll
        for (int c = 0; c < N; c++) in[h][c] = column[h * K + c];
        to_modes<R, N, true>(p.F, in[h], out[h]);
#pragma unroll
        for (int c = 0; c < N; c++) V[c * P + line] = out[h][c];
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        R *V = s.V[low + 2 * h + 4 * high] + v * P + u;
#pragma unroll
        for (int j = 0; j < N; j++) in[h][j] = V[j * N];
        to_modes<R, N, true>(p.F, in[h], out[h]);
#pragma unroll
        for (int j = 0; j < N; j++) V[j * N] = out[h][j];
    }
    __syncthreads();
    {
        const R vx = (R)p.metric[0], vy = (R)p.metric[1] * modes[u], vz = (R)p.metric[2] * modes[v];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int which = h + 2 * low + 4 * high;
            const R k = (R)s.k[which], mass = (R)(p.metric[3] * s.lambda[which]);
            R *V = s.V[which] + v * P + u * N;
#pragma unroll
            for (int i = 0; i < N; i++) in[h][i] = V[i];
            to_modes<R, N, true>(p.F, in[h], out[h]);
#pragma unroll
            for (int i = 0; i < N; i++) out[h][i] *= mass + k * (vx * p.eigenvalues[i] + vy + vz);
            to_nodes<R, N, true>(p.F, out[h], in[h]);
#pragma unroll
            for (int i = 0; i < N; i++) V[i] = in[h][i];
        }
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        R *V = s.V[low + 2 * h + 4 * high] + v * P + u;
#pragma unroll
        for (int j = 0; j < N; j++) in[h][j] = V[j * N];
        to_nodes<R, N, true>(p.F, in[h], out[h]);
#pragma unroll
        for (int j = 0; j < N; j++) V[j * N] = out[h][j];
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const R *V = s.V[low + 2 * high + 4 * h] + line;
#pragma unroll
        for (int c = 0; c < N; c++) in[h][c] = V[c * P];
        to_nodes<R, N, true>(p.F, in[h], out[h]);
    }
    out[0][K] += out[1][0];
#pragma unroll
    for (int c = 1; c < N; c++) s.V[low + 2 * high][c * P + line] = out[0][c];
#pragma unroll
    for (int c = 1; c < K; c++) s.V[low + 2 * high + 4][c * P + line] = out[1][c];
    __syncthreads();

    // What is left of b at the nodes inside, times the scale.
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        const int i = t + j * G, z = i / (M * M) + 1, y = i / M % M + 1, a = i % M + 1;
        if (i >= M * M * M) continue;
        const int up = z > K ? 4 : 0, plane = (z > K ? z - K : z) * P;
        R sum = 0;
        if (y <= K && a <= K) sum += s.V[up][plane + y * N + a];
        if (y <= K && a >= K) sum += s.V[up + 1][plane + y * N + a - K];
        if (y >= K && a <= K) sum += s.V[up + 2][plane + (y - K) * N + a];
        if (y >= K && a >= K) sum += s.V[up + 3][plane + (y - K) * N + a - K];
        s.r[i] = (b[j] - sum) * scale[j];
    }
    __syncthreads();

    // The separable patch: a thread has a line.
    R from[M], to[M];
    const int first = t % M, second = t / M;
    const bool active = t < M * M;
    if (active) line_to_modes<R, M>(p.line[0].S, s.r + t * M, 1);
    __syncthreads();
    if (active) line_to_modes<R, M>(p.line[1].S, s.r + second * M * M + first, M);
    __syncthreads();
    if (active) {
        double k = 0, lambda = 0;
        for (int c = 0; c < 8; c++) {
            k += s.k[c];
            lambda += s.lambda[c];
        }
        const R along = (R)(lambda / k) + eigenvalues[0][first] + eigenvalues[1][second];
#pragma unroll
        for (int i = 0; i < M; i++) from[i] = s.r[i * M * M + t];
        to_modes<R, M, false>(p.line[2].S, from, to);
#pragma unroll
        for (int i = 0; i < M; i++) from[i] = to[i] / (along + p.line[2].eigenvalues[i]);
        to_nodes<R, M>(p.line[2].S, from, to);
#pragma unroll
        for (int i = 0; i < M; i++) s.r[i * M * M + t] = to[i];
    }
    __syncthreads();
    planes_to_nodes<R, M>(active, p.line, s.r, first, second);
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        const int i = t + j * G;
        if (i >= M * M * M || !there) continue;
        p.x[node(i % M, i / M % M, i / (M * M))] = x[j] + p.damping * scale[j] * s.r[i];
    }
}

template <typename R, int K> void run(const patch_call<R> &call) {
    const struct brick_patches *plan = call.plan;
    const struct brick_cells *c = plan->cells;
    constexpr int M = 2 * K - 1;
    const struct brick_layout line = ::brick_layout(M, even_of<M>);
    const struct brick_element_layout element = ::brick_element_layout(K);
    cells_launch<R, K> l = {};
    for (size_t i = 0; i < sizeof l.F / sizeof *l.F; i++) l.F[i] = (R)c->element[0].host[element.F + i];
    for (int i = 0; i <= K; i++) l.eigenvalues[i] = (R)c->element[0].host[element.eigenvalues + i];
    for (int d = 0; d < 3; d++) {
        for (size_t i = 0; i < sizeof l.line[d].S / sizeof(R); i++)
            l.line[d].S[i] = (R)call.line(d)->host[line.B + i];
        for (int i = 0; i < M; i++) l.line[d].eigenvalues[i] = (R)call.line(d)->host[line.eigenvalues + i];
        l.first[d] = call.g[d]->first[0];
        l.count[d] = (int)call.g[d]->first.size();
        l.n_nodes[d] = plan->axis[d].n_nodes;
        l.first_cell[d] = call.g[d]->cell[0];
        l.cells[d] = c->cells[d];
    }
    double h[3]; // the mass of the first node inside is that of the element times the width
    for (int d = 0; d < 3; d++)
        h[d] = call.line(d)->host[line.mass + 1] / c->element[d].host[element.mass + K + 2];
    for (int d = 0; d < 3; d++) l.metric[d] = h[0] * h[1] * h[2] / (h[d] * h[d]);
    l.metric[3] = h[0] * h[1] * h[2];
    const patch_step<R> step = step_of(call);
    l.scale = step.scale;
    l.damping = step.damping;
    l.b = call.b;
    l.x = call.x;
    l.k = c->k;
    l.lambda = c->lambda;
    l.conductivity = c->conductivity;
    l.reaction = c->reaction;
    l.stride[0] = l.n_nodes[0];
    l.stride[1] = (int64_t)l.n_nodes[0] * l.n_nodes[1];
    l.wraps = call.wraps();
    constexpr int NP = cells_patches<K>;
    constexpr size_t bytes = NP * sizeof(cells_shared<R, K>);
    if (!allow_shared(cells_kernel<R, K>, bytes, "patch_sweep")) return;
    cells_kernel<R, K><<<(unsigned)((call.patches() + NP - 1) / NP), cells_threads<K>, bytes>>>(l);
    launched("patch_sweep");
}

} // namespace

template <typename R> bool run_cells(const patch_call<R> &call) {
    return with_constant<3, 5, 7, 9, 11, 13, 15>(call.g[0]->m,
                                                 [&](auto m) { run<R, (decltype(m)::value + 1) / 2>(call); });
}
template bool run_cells<double>(const patch_call<double> &);
template bool run_cells<float>(const patch_call<float> &);

} // namespace facet
