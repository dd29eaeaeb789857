// Solves with the matrices of post-processing of cells whose map is curved or whose data vary: (K grad, grad)
// in the functions of u*, which integrals.cuh makes.
#include "kernels/cuda/general_cell.cuh"

namespace facet {
namespace {

// x = A^-1 x, A: the records, columns of ld_A numbers, the upper triangle.
template <int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS)
    solve_dense(int M, int ld_A, int ld, int64_t size, int64_t first_batch, int64_t n_cells,
                const double *records, double *x, double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const int64_t n_C = (int64_t)(M + 3) / 4 * 4 * ld;
    double *C = SHARED ? room + mine * n_C : slices + (int64_t)blockIdx.x * n_C;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const team<WARPS> team = team_here<WARPS>();
        const int thread = team.thread;
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const double *A = records + cell * size;
        double *to = x + batch * M * L + cell % L;
        for (int j = team.warp; j <= M; j += team.THREADS / 32)
            for (int i = team.lane; i < M && i <= j; i += 32)
                C[i * ld + j] = j < M ? A[(int64_t)j * ld_A + i] : to[(int64_t)i * L];
        clear_padding(team, M, ld, C);
        team.sync();
        if (!eliminate<true>(team, M, M + 1, ld, C) && thread == 0)
            atomicMin(failed, (unsigned long long)batch);
        if (team.warp == 0) substitute_back(team.lane, M, ld, C);
        team.sync();
        for (int i = thread; i < M; i += team.THREADS) to[(int64_t)i * L] = C[i * ld + M];
        team.sync();
    }
}

// Numbers of a matrix and its right-hand side, and of its record.
int64_t dense_size(int M) {
    return padded_rows(M) * row_length(M + 1);
}
int64_t record_size(int M) {
    return (int64_t)(M + 7) / 8 * 8 * M;
}

} // namespace
} // namespace facet

using namespace facet;

int64_t gradient_solve_scratch_cuda(int lanes, int n, int M) {
    (void)lanes, (void)n;
    const int64_t size = record_size(M);
    return general_slices(dense_size(M)) * dense_size(M) + batches_of(size) * size * L;
}

int64_t gradient_solve_cuda(int lanes, int64_t n_batches, int dim, int n, int M, const double *grad,
                            const double *W, double *x, double *scratch) {
    const int64_t size = record_size(M), n_C = dense_size(M), slices = general_slices(n_C);
    const int ld = (int)row_length(M + 1), ld_A = (M + 7) / 8 * 8, pairs = dim * (dim + 1) / 2;
    double *records = scratch + slices * n_C;
    struct integrals list;
    (void)lanes;
    integrals_begin(&list);
    integrals_add(&list, M, M, true, true, {0, ld_A, 0, false}, 0, 0);
    for (int c = 0; c < dim; c++)
        for (int e = 0; e < dim; e++) {
            const int pair = e > c ? e * (e + 1) / 2 + c : c * (c + 1) / 2 + e;
            integrals_part(&list, plain_part(n, grad + (int64_t)c * n * M, M, grad + (int64_t)e * n * M, M,
                                             W + pair * L, (int64_t)n * pairs * L, pairs * L));
        }
    return find_failure(n_batches, [&](unsigned long long *failed) {
        auto work = [&](int64_t first, int64_t many) {
            by_size<false>(n_C, slices, SMALL, 0, TEAMS, many * L, [&](const auto &way) {
                using T = std::decay_t<decltype(way)>;
                launch(solve_dense<T::WARPS, T::SHARED>, "gradient_solve", way.blocks, way.threads, way.bytes,
                       M, ld_A, ld, size, first, many * L, (const double *)records, x, scratch, failed);
            });
        };
        by_records(list, n_batches, size, records, "gradient_solve", work);
    });
}
