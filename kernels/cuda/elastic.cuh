// Straight cells of elasticity (kernels/elastic.h): tables for every orientation of a face, made in each
// call, so that nothing is turned afterwards, and what the kernels that condense cells (elastic.cu) and solve
// inside them (elastic_solve.cu) share.
//
// Functions of u beyond the first n_low do not meet the stress: they leave first, by one scalar elimination
// that serves all components (kernels/simd/elastic.c has the operations).
#ifndef FACET_CUDA_ELASTIC_CUH
#define FACET_CUDA_ELASTIC_CUH

#include "kernels/cuda/motions.cuh"
#include "kernels/cuda/tiles.cuh"

namespace facet {

// One call: the tables of the caller and those of this device.
struct solid {
    struct elastic_tables t;
    struct affine_tables turns;
    struct elastic_layout at;
    int orientations;
    int high, low, n_face, N, n; // N: low rows of all components; n: of the trace
    double *O;                   // orientations x m x m
    double *F;                   // face and orientation x N x m
    double *FU;                  // x Nu x m
    double *DF;                  // x dim x low x m
};

// In the scratch of a call.
int64_t solid_size(const struct elastic_tables *t);
solid solid_of(const struct elastic_tables *t, double *scratch);
void make_solid(const solid &p); // on the device

// The same to condense, in the order in which lanes want it (tiles.cuh). Functions of the faces stand in an
// order of their own, those that motions know first: `tiles` tiles of eight for each component, `linear` of
// which motions know; low functions in low_tiles, high ones in high_blocks of eight rows. A column is a
// function of a face in an orientation, place m + k.
struct solid_tiles {
    solid of;
    int tiles, linear, low_tiles;
    int blocks, panels, high_blocks, high_panels; // panels of four rows
    int terms, columns, n_high, n_jobs;
    four *R;             // columns x 8 low_tiles: D_e'F, FU of low functions the last
    double2 *S;          // pairs of low tiles x terms x 32: D_b'D_c, masses of the faces
    double2 *mass;       // tiles of high functions before [high low] x faces x 32
    double *FU;          // columns x 8 high_blocks: of high functions
    double *FF;          // columns x columns
    double *half;        // faces x face and orientation x m x m: F_f'F_g O_g
    double *coordinates; // face and orientation x dim x n_linear, the mean of all faces off
    int2 *pieces;        // tiles of [S R]: n_high of high functions, block and column; pairs of low tiles,
                         // then low tiles and those of faces
    int2 *jobs;          // n_jobs: tiles (I, J) of K but those that motions know in rows and columns
    int *order;          // 8 tiles: face and function, m f + k; -1: none
};

int64_t solid_tiles_size(const struct elastic_tables *t);
solid_tiles solid_tiles_of(const struct elastic_tables *t, double *scratch);
void make_solid_tiles(const solid_tiles &p);
// Of solves inside cells (elastic_solve.cu).
int64_t elastic_solve_scratch(const struct elastic_tables *t);

namespace {

// Slices of scratch for cells of so many numbers.
constexpr int64_t MOST_SLICES = (int64_t)64 << 20; // numbers of all of them, at most
inline int64_t solid_slices(int64_t size) {
    return slices_of(size, multiprocessors(), MOST_SLICES);
}

// Solves inside cells of up to so many numbers are one warp's, four of them a block, larger ones four warps'.
constexpr int FEW_NUMBERS = 1000, TEAMS = 4;

// ------------------------------------------------------------------------------------ a cell

// At work; Places: where its numbers stand, beginning with c, its coefficients.
template <class T, class Places> struct solid_work {
    const solid &p;
    const Places &at;
    const T &team;
    double *own;

    __device__ __forceinline__ const double *c() const {
        return own + at.c;
    }
};

// alpha a_c b_d + delta a_d b_c + gamma 1_cd a.b, where the a of direction c is a[c step_a].
__device__ __forceinline__ double modulus(int dim, const double *moduli, const double *a, int step_a,
                                          const double *b, int step_b, int c, int d) {
    double sum = moduli[0] * (a[c * step_a] * b[d * step_b]) + moduli[1] * (a[d * step_a] * b[c * step_b]);
    if (c == d) {
        double inner = 0.0;
        for (int e = 0; e < dim; e++) inner += a[e * step_a] * b[e * step_b];
        sum += moduli[2] * inner;
    }
    return sum;
}

// Of a pair of components (b, d): the coefficients of DD_e in S, at [(b dim + d) dim dim + e].
template <class T>
__device__ __forceinline__ void low_moduli(const solid &p, const T &team, const double *c, double *to) {
    const int dim = p.t.dim, pairs = dim * dim;
    for (int k = team.thread; k < pairs * pairs; k += T::THREADS) {
        const int b = k / pairs / dim, d = k / pairs % dim, e = k % pairs;
        to[k] = modulus(dim, c + p.at.moduli, c + p.at.cofactors + e / dim, dim, c + p.at.cofactors + e % dim,
                        dim, b, d);
    }
}

// Which function stands in row i of scalar matrices: the high ones first.
__device__ __forceinline__ int function_at(const solid &p, int i) {
    return i < p.high ? p.low + i : i - p.high;
}

// Entry (i, j) of sum_f tau_f FU_f FU_f', in the order of chi.
__device__ __forceinline__ double mass_entry(const solid &p, const double *weight, int i, int j) {
    double sum = 0.0;
    for (int f = 0; f < p.t.n_faces; f++) sum += weight[f] * __ldg(p.t.mass + (f * p.t.Nu + i) * p.t.Nu + j);
    return sum;
}

// The place of a face, as the cell meets it, in the tables.
__device__ __forceinline__ int face_at(const solid &p, const double *c, int f) {
    return f * p.orientations + (int)c[p.at.orientation + f];
}

// Entry (i, j) of S in low functions without the stabilization.
__device__ __forceinline__ double low_entry(const solid &p, const double *moduli, int b, int d, int i,
                                            int j) {
    const int pairs = p.t.dim * p.t.dim;
    const double *w = moduli + (b * p.t.dim + d) * pairs;
    double sum = 0.0;
    for (int e = 0; e < pairs; e++) sum += w[e] * __ldg(p.t.DD + (e * p.low + i) * p.low + j);
    return sum;
}

} // namespace
} // namespace facet
#endif
