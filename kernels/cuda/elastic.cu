// Straight cells of elasticity: K = H - R'S^-1 R from coefficients, all of it in tiles of the FP64 tensor
// cores (tiles.cuh). Functions that do not meet the stress leave by one scalar elimination for all
// components, S = U'U, V = U^-T R, then those that do, of all components; K is made of tiles (I, J) of the
// functions of faces, one component before all of them in the registers of a warp. Rigid motions know the
// first columns of a component only: a warp has all of a row of these, and mends it before it is stored.
// Blocks have two neighbouring cells where these fit, and store pairs of numbers: what the cells' numbers
// have to go through to the second-level cache is stores, not bytes.
#include "kernels/cuda/elastic.cuh"

namespace facet {
namespace {

constexpr int WIDTH = 8;   // motions in a tile, zeros the last ones
constexpr int FEW = 4;     // warps of a block of small cells,
constexpr int MANY = 12;   // of a multiprocessor of larger ones: more are slower
constexpr int COUNTER = 2; // numbers of scratch that the blocks count cells in

// Where the numbers of a cell stand, all of them even: four of a column of the trace and two int's; W and
// D of the tiles that motions know; the norms of D, the largest number on the diagonal, and what is done of
// three stages; inverse corners of two blocks of rows. U, V: in a slice of scratch where they are not here.
struct places {
    int c, columns, index, motions, lack, norms, corner, high_U, high_V, V, U, size;
    int step_U; // from cell to cell
    int64_t slice, slice_V;
    bool U_here;
};

struct whereabouts {
    bool U_here, V_here;
};

// Column tiles of the high functions' R: low functions, then those of the faces, in groups of dim.
__host__ __device__ __forceinline__ int high_groups(const solid_tiles &p) {
    return (p.low_tiles + p.tiles + p.of.t.dim - 1) / p.of.t.dim;
}

places places_of(const solid_tiles &p, int cells, whereabouts where) {
    const int dim = p.of.t.dim, known = dim * p.linear * 64, blocks = p.blocks, high = p.high_blocks;
    const int n_U = 32 * blocks * (blocks + 1), n_V = 32 * p.panels * dim * p.tiles;
    places at;
    at.columns = 0;
    at.index = at.columns + 4 * 8 * p.tiles;
    at.motions = at.index + 8 * p.tiles;
    at.lack = at.motions + known;
    at.norms = at.lack + known;
    at.corner = at.norms + WIDTH + 4;
    at.high_U = at.corner + 128;
    at.high_V = at.high_U + 32 * high * (high + 1);
    at.V = at.high_V + 32 * p.high_panels * dim * high_groups(p);
    at.U = at.V + (where.V_here ? n_V : 0);
    at.c = at.U + (where.U_here ? n_U : 0);
    at.size = (at.c + p.of.at.count + 3) / 4 * 4;
    at.U_here = where.U_here;
    at.step_U = where.U_here ? at.size : n_U;
    at.slice_V = where.U_here ? 0 : cells * n_U;
    at.slice = at.slice_V + (where.V_here ? 0 : cells * n_V);
    return at;
}

// ------------------------------------------------------------------------------------ elimination

// Rows [S R] of CELLS cells: block column j of S has the tiles of blocks 0 .. j of rows, of two panels each;
// column tiles of R go in groups of GROUP, which have one panel after the other. AHEAD: panels that are on
// their way.
template <int CELLS, int GROUP, int AHEAD> struct rows {
    int blocks, panels, groups;
    double *U, *V;    // of this lane
    int step, step_U; // from cell to cell, of the inverse corners as well
    double *corner;

    __device__ __forceinline__ double *column(int q, int j) const {
        return U + q * step_U + 32 * j * (j + 1);
    }

    // The corner of block b of all cells, whose inverse is left for all. Returns whether that of the lane's
    // cell is positive definite.
    __device__ __forceinline__ bool factor(int lane, int b) const {
        double s[CELLS][2], w[CELLS][2];
        const double *u = column(0, b);
#pragma unroll
        for (int q = 0; q < CELLS; q++) {
            s[q][0] = u[q * step_U + 64 * b];
            s[q][1] = u[q * step_U + 64 * b + 32];
        }
#pragma unroll AHEAD
        for (int k = 0; k < 2 * b; k++, u += 32)
#pragma unroll
            for (int q = 0; q < CELLS; q++) {
                const double x = u[q * step_U];
                multiply_add(s[q], x, -x);
            }
        return solve_corners(lane, s, corner + b % 2 * 64, step, w);
    }

    // COUNT tiles of block b of cell q, 32 numbers apart, reduced by the blocks above and solved with its
    // corner. APART: of panels.
    template <int COUNT, int APART>
    __device__ __forceinline__ void reduce(int lane, int q, int b, double *at) const {
        double s[COUNT][2];
        const double *u = column(q, b), *above = at;
        const bool second = 2 * b + 1 < panels; // rows beyond the last panel are zero, and nowhere
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            s[i][0] = at[2 * APART * b + 32 * i];
            s[i][1] = second ? at[2 * APART * b + APART + 32 * i] : 0.0;
        }
#pragma unroll AHEAD
        for (int k = 0; k < 2 * b; k++, above += APART, u += 32) {
            const double minus = -*u;
#pragma unroll
            for (int i = 0; i < COUNT; i++) multiply_add(s[i], above[32 * i], minus);
        }
        const double2 w = *(const double2 *)(corner + q * step + b % 2 * 64 + lane / 4 * 8 + 2 * (lane % 4));
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            double x[2] = {0.0, 0.0};
            multiply_add(x, s[i][0], w.x);
            multiply_add(x, s[i][1], w.y);
            at[2 * APART * b + 32 * i] = x[0];
            if (second) at[2 * APART * b + APART + 32 * i] = x[1];
        }
    }

    // All of it. The first warp is one block ahead: it makes the next corner while the others work on the
    // tiles of this one. Returns whether the corners that this thread has seen are positive definite.
    template <class T> __device__ __forceinline__ bool eliminate(const T &team) const {
        constexpr int OTHERS = T::THREADS / 32 - 1;
        bool good = true;
        for (int b = -1; b < blocks; b++) {
            if (team.warp == 0 && b + 1 < blocks) {
#pragma unroll 1
                for (int q = 0; q < CELLS && b >= 0; q++) reduce<1, 32>(team.lane, q, b, column(q, b + 1));
                __syncwarp();
                good = factor(team.lane, b + 1) && good;
            }
            if (team.warp > 0 && b >= 0) {
                const int first = b + 2 < blocks ? b + 2 : blocks, all = blocks - first + groups;
                for (int e = team.warp - 1; e < CELLS * all; e += OTHERS) {
                    const int q = e % CELLS, j = first + e / CELLS;
                    if (j < blocks)
                        reduce<1, 32>(team.lane, q, b, column(q, j));
                    else
                        reduce<GROUP, 32 * GROUP>(team.lane, q, b,
                                                  V + q * step + 32 * GROUP * panels * (j - blocks));
                }
            }
            team.sync();
        }
        return good;
    }
};

// ------------------------------------------------------------------------------------ a cell

template <int DIM, int AHEAD> struct cell {
    const solid_tiles &p;
    const places &at;
    int lane;
    double *own, *U, *V;

    __device__ __forceinline__ const double *c() const {
        return own + at.c;
    }
    __device__ __forceinline__ four *columns() const {
        return (four *)(own + at.columns);
    }
    // Of a column: which one it is in the tables, and its unknown in the first component, -1: none.
    __device__ __forceinline__ int2 *index() const {
        return (int2 *)(own + at.index);
    }
    // Panels of 32 DIM numbers.
    __device__ __forceinline__ double *high_V(int tile) const {
        return own + at.high_V + 32 * (DIM * p.high_panels * (tile / DIM) + tile % DIM) + lane;
    }
    // Of the tile of a component and column tile that motions know: W, D, rows of WIDTH.
    __device__ __forceinline__ double *motions(int component, int tile) const {
        return own + at.motions + (component * p.linear + tile) * 64;
    }
    __device__ __forceinline__ double *lack(int component, int tile) const {
        return own + at.lack + (component * p.linear + tile) * 64;
    }

    // ---- what depends on the coefficients alone

    template <class T> __device__ __forceinline__ void prepare(const T &team) const {
        const solid &s = p.of;
        const int m = s.t.m;
        for (int j = team.thread; j < 8 * p.tiles; j += T::THREADS) {
            const int function = __ldg(p.order + j), f = function / m, k = function - f * m;
            const double *normal = c() + s.at.normals + f * DIM;
            if (function < 0) {
                columns()[j] = {0.0, 0.0, 0.0, 0.0};
                index()[j] = make_int2(0, -1);
                continue;
            }
            columns()[j] = {normal[0], normal[1], DIM == 3 ? normal[2] : 0.0, c()[s.at.weight + f]};
            index()[j] =
                make_int2((f * s.orientations + (int)c()[s.at.orientation + f]) * m + k, f * DIM * m + k);
        }
        if (team.thread < WIDTH + 4) own[at.norms + team.thread] = 0.0; // stages: nothing is done
    }

    // W, by one warp.
    __device__ __forceinline__ void make_motions() const {
        const solid &s = p.of;
        const int faces = s.t.n_faces, linear = s.t.n_linear, rows = 8 * p.linear;
        const int known = s.t.rotations ? linear : 1;
        double *W = own + at.motions;
        for (int e = lane; e < DIM * rows; e += 32) {
            const int j = e % rows, b = e / rows;
            double x[3] = {0.0, 0.0, 0.0}, *of = W + e * WIDTH;
            const int f = j < faces ? j : (j - faces) / (known > 1 ? known - 1 : 1),
                      k = j < faces ? 0 : 1 + (j - faces) % (known > 1 ? known - 1 : 1);
            for (int r = 0; r < WIDTH; r++) of[r] = 0.0;
            if (j >= faces * known) continue;
            const int orientation = (int)c()[s.at.orientation + f];
            const double *moments = p.coordinates + (f * s.orientations + orientation) * DIM * linear + k;
            if (s.t.rotations)
                for (int a = 0; a < DIM; a++)
                    for (int d = 0; d < DIM; d++)
                        x[a] += c()[s.at.jacobian + a * DIM + d] * __ldg(moments + d * linear);
            put_motion(DIM, faces, s.t.rotations, b, k, x, of);
        }
        __syncwarp();
        orthonormalize<WIDTH>(lane, DIM * rows, DIM, s.t.rotations, W);
    }

    // ---- [S R] of the high functions: tile (block, column) of S, or else of R

    __device__ __forceinline__ void make_high(int number) const {
        const solid &s = p.of;
        const int g = lane / 4, t = lane % 4, blocks = p.high_blocks, corners = blocks * (blocks + 1) / 2;
        const int2 piece = __ldg(p.pieces + number);
        const int block = piece.x, column = piece.y;
        const double *weight = c() + s.at.weight;
        double x[2] = {0.0, 0.0}, *to;
        if (number < corners || column < p.low_tiles) {
            const double2 *from = p.mass + number * s.t.n_faces * 32 + lane;
            for (int f = 0; f < s.t.n_faces; f++) {
                const double2 y = __ldg(from + 32 * f);
                x[0] += weight[f] * y.x;
                x[1] += weight[f] * y.y;
            }
        } else {
            const int j = 8 * (column - p.low_tiles) + g;
            const double *from = p.FU + index()[j].x * 8 * blocks + 8 * block + t, w = columns()[j].w;
            x[0] = w * __ldg(from);
            x[1] = w * __ldg(from + 4);
        }
        const bool corner = number < corners;
        if (corner) {
            to = own + at.high_U + 32 * (column * (column + 1) + 2 * block) + lane;
#pragma unroll
            for (int r = 0; r < 2; r++) // rows beyond the last are those of 1
                if (block == column && 4 * r + t == row_at(g) && 8 * block + 4 * r + t >= s.high) x[r] = 1.0;
        } else
            to = high_V(column) + 64 * DIM * block;
        to[0] = x[0];
        if (corner || 2 * block + 1 < p.high_panels) to[corner ? 32 : 32 * DIM] = x[1];
    }

    // ---- [S R] of the low functions, all components

    __device__ __forceinline__ void put_S(unsigned row, unsigned column, double value) const {
        const unsigned block = column / 8, k = column % 8;
        U[32 * (block * (block + 1) + row / 4) + 4 * (2 * (k % 4) + k / 4) + row % 4] = value;
    }

    // P = C Q C': what S has of the derivatives of a pair of functions.
    __device__ __forceinline__ void turn(const double *C, const double (&Q)[DIM][DIM],
                                         double (&P)[DIM][DIM]) const {
#pragma unroll
        for (int b = 0; b < DIM; b++) {
            double half[DIM];
#pragma unroll
            for (int e = 0; e < DIM; e++) {
                half[e] = C[b * DIM] * Q[0][e];
#pragma unroll
                for (int a = 1; a < DIM; a++) half[e] += C[b * DIM + a] * Q[a][e];
            }
#pragma unroll
            for (int d = 0; d < DIM; d++) {
                P[b][d] = half[0] * C[d * DIM];
#pragma unroll
                for (int e = 1; e < DIM; e++) P[b][d] += half[e] * C[d * DIM + e];
            }
        }
    }

    // Of pair `number` of tiles of functions.
    __device__ __forceinline__ void make_S(int number, int tile, int column) const {
        const solid &s = p.of;
        const int low = s.low;
        const double2 *from = p.S + number * p.terms * 32 + lane;
        const double *x = high_V(tile), *y = high_V(column), *moduli = c() + s.at.moduli,
                     *weight = c() + s.at.weight;
        double gram[2] = {0.0, 0.0}, Q[2][DIM][DIM];
#pragma unroll 1
        for (int k = 0; k < p.high_panels; k++) multiply_add(gram, x[32 * DIM * k], y[32 * DIM * k]);
#pragma unroll
        for (int e = 0; e < DIM * DIM; e++) {
            const double2 z = __ldg(from + 32 * e);
            Q[0][e / DIM][e % DIM] = z.x;
            Q[1][e / DIM][e % DIM] = z.y;
        }
        gram[0] = -gram[0];
        gram[1] = -gram[1];
        for (int f = 0; f < s.t.n_faces; f++) {
            const double2 z = __ldg(from + 32 * (DIM * DIM + f));
            gram[0] += weight[f] * z.x;
            gram[1] += weight[f] * z.y;
        }
        const int i = 8 * tile + row_at(lane / 4);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int k = 8 * column + 4 * r + lane % 4;
            double P[DIM][DIM], trace = 0.0;
            turn(c() + s.at.cofactors, Q[r], P);
            if (i >= low || k >= low) continue;
#pragma unroll
            for (int b = 0; b < DIM; b++) trace += P[b][b];
#pragma unroll
            for (int b = 0; b < DIM; b++)
#pragma unroll
                for (int d = 0; d < DIM; d++) {
                    const unsigned first = b * low + i, second = d * low + k;
                    double value = moduli[0] * P[b][d] + moduli[1] * P[d][b];
                    if (b == d) value += moduli[2] * trace + gram[r];
                    if (first / 8 <= second / 8) put_S(first, second, value);
                    if (tile != column && second / 8 <= first / 8) put_S(second, first, value);
                }
        }
    }

    // Tiles of low functions and of functions of the faces.
    __device__ __forceinline__ void make_R(int tile, int column) const {
        const solid &s = p.of;
        const int g = lane / 4, t = lane % 4, low = s.low;
        const double *x = high_V(p.low_tiles + column), *y = high_V(tile), *C = c() + s.at.cofactors,
                     *moduli = c() + s.at.moduli;
        const four of = columns()[8 * column + g];
        const double normal[3] = {of.x, of.y, of.z};
        const double2 *from =
            (const double2 *)(p.R + index()[8 * column + g].x * 8 * p.low_tiles + 8 * tile + t);
        double gram[2] = {0.0, 0.0};
        double2 z[2][2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            z[r][0] = __ldg(from + 8 * r);
            z[r][1] = __ldg(from + 8 * r + 1);
        }
#pragma unroll 1
        for (int k = 0; k < p.high_panels; k++) multiply_add(gram, x[32 * DIM * k], y[32 * DIM * k]);
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int i = 8 * tile + 4 * r + t;
            const double slope[3] = {z[r][0].x, z[r][0].y, z[r][1].x};
            double D[DIM], along = 0.0;
            if (i >= low) continue;
#pragma unroll
            for (int b = 0; b < DIM; b++) {
                D[b] = C[b * DIM] * slope[0];
#pragma unroll
                for (int e = 1; e < DIM; e++) D[b] += C[b * DIM + e] * slope[e];
                along += D[b] * normal[b];
            }
            const double same = moduli[2] * along + of.w * z[r][1].y - gram[r];
#pragma unroll
            for (int b = 0; b < DIM; b++) {
                const unsigned row = b * low + i;
                double *to = V + 32 * DIM * (p.panels * column + row / 4) + 4 * g + row % 4;
#pragma unroll
                for (int d = 0; d < DIM; d++) {
                    double value = moduli[0] * (D[b] * normal[d]) + moduli[1] * (D[d] * normal[b]);
                    if (b == d) value += same;
                    to[32 * d] = value;
                }
            }
        }
    }

    // What no cell changes: rows beyond the last, those of 1 in S, zero in R; tiles beyond the last in the
    // groups of high functions.
    template <class T> __device__ __forceinline__ void pad(const T &team) const {
        const int N = p.of.N, all = 8 * p.blocks, above = 4 * p.panels - N;
        for (int e = team.thread; e < (all - N) * all; e += T::THREADS) {
            const int row = e % all, column = N + e / all;
            put_S(row, column, row == column ? 1.0 : 0.0);
            if (row / 8 == column / 8) put_S(column, row, row == column ? 1.0 : 0.0);
        }
        for (int e = team.thread; e < 32 * p.high_panels * DIM; e += T::THREADS)
            own[at.high_V + 32 * p.high_panels * DIM * (high_groups(p) - 1) + e] = 0.0;
        for (int e = team.thread; e < above * 8 * DIM * p.tiles; e += T::THREADS) {
            const int row = N + e % above, j = e / above, tile = j / 8;
            V[32 * (DIM * (p.panels * (tile / DIM) + row / 4) + tile % DIM) + 4 * (j % 8) + row % 4] = 0.0;
        }
    }

    // ---- K

    // Tiles (I, J) of K, of component c before all of them.
    __device__ __forceinline__ void make_K(int I, int J, int c, double (&x)[DIM][2]) const {
        const solid &s = p.of;
        const int g = lane / 4, t = lane % 4;
        const double *a = high_V(p.low_tiles + I), *b = high_V(p.low_tiles + J),
                     *moduli = this->c() + s.at.moduli;
        const int2 *index = this->index() + 8 * J + 2 * t;
        const double *FF = p.FF + (int64_t)this->index()[8 * I + g].x * p.columns;
        const double products[2] = {__ldg(FF + index[0].x), __ldg(FF + index[1].x)};
        double gram[2] = {0.0, 0.0};
#pragma unroll 1
        for (int k = 0; k < p.high_panels; k++) multiply_add(gram, a[32 * DIM * k], b[32 * DIM * k]);
#pragma unroll
        for (int d = 0; d < DIM; d++) x[d][0] = x[d][1] = 0.0;
        const double *left = V + 32 * DIM * p.panels * I + 32 * c + lane,
                     *right = V + 32 * DIM * p.panels * J + lane;
#pragma unroll AHEAD
        for (int k = 0; k < p.panels; k++, left += 32 * DIM, right += 32 * DIM)
#pragma unroll
            for (int d = 0; d < DIM; d++) multiply_add(x[d], *left, right[32 * d]);
        const double *normal = (const double *)(columns() + 8 * I + g);
        const double along_c = normal[c];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const four other = columns()[8 * J + 2 * t + r];
            const double second[3] = {other.x, other.y, other.z}, second_c = c == 0   ? other.x
                                                                             : c == 1 ? other.y
                                                                                      : other.z;
            const double alpha = moduli[0] * products[r] * along_c,
                         delta = moduli[1] * products[r] * second_c;
            double along = 0.0;
#pragma unroll
            for (int d = 0; d < DIM; d++) along += normal[d] * second[d];
            const double same =
                moduli[2] * along * products[r] - gram[r] + (I == J && g == 2 * t + r ? normal[3] : 0.0);
#pragma unroll
            for (int d = 0; d < DIM; d++)
                x[d][r] = alpha * second[d] + (delta * normal[d] + ((c == d ? same : 0.0) - x[d][r]));
        }
    }

    // D += x W of these tiles.
    __device__ __forceinline__ void add_lack(const double (&x)[DIM][2], int J, double (&D)[2]) const {
        const double *from = motions(0, J) + lane % 4 * 2 * WIDTH + lane / 4;
#pragma unroll
        for (int d = 0; d < DIM; d++)
#pragma unroll
            for (int r = 0; r < 2; r++) multiply_add(D, x[d][r], from[d * 64 * p.linear + r * WIDTH]);
    }
    // x -= a b', of tiles of rows of motions.
    __device__ __forceinline__ void subtract(double (&x)[2], const double (&a)[2], const double *b) const {
        const double2 y = *(const double2 *)(b + 2 * lane);
        multiply_add(x, -a[0], y.x);
        multiply_add(x, -a[1], y.y);
    }

    // What decides on rotations: the squares of D, and the diagonal of K.
    __device__ __forceinline__ void note_lack(const double (&D)[2]) const {
        if (!p.of.t.rotations) return;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            double sum = D[r] * D[r];
            for (int offset = 4; offset < 32; offset *= 2) sum += __shfl_xor_sync(ALL, sum, offset);
            if (lane < 4) atomicAdd(own + at.norms + 2 * lane + r, sum);
        }
    }
    __device__ __forceinline__ void note_diagonal(const double (&x)[DIM][2], int c) const {
        if (!p.of.t.rotations) return;
        double most = 0.0;
#pragma unroll
        for (int d = 0; d < DIM; d++) most = d == c ? lane / 4 % 2 ? x[d][1] : x[d][0] : most;
        most = lane / 4 / 2 == lane % 4 ? most : 0.0;
        for (int offset = 16; offset > 0; offset /= 2) most = fmax(most, __shfl_xor_sync(ALL, most, offset));
        if (lane == 0) // of positive numbers the order is that of their bits
            atomicMax((unsigned long long *)(own + at.norms + WIDTH), __double_as_longlong(most));
    }
    // Motions of which K W is too much, with all that follow, are none any more. Returns whether there are
    // such ones; every thread asks before the first of them writes.
    __device__ __forceinline__ int n_motions() const {
        const double *norms = own + at.norms;
        int n = DIM;
        while (n < MOTIONS && sqrt(norms[n]) < ELASTIC_EXACT * norms[WIDTH]) n++;
        return n;
    }

    // D = K W - W W'K W / 2 of the rows that motions know.
    __device__ __forceinline__ void make_lack() const {
        const int g = lane / 4, t = lane % 4;
        for (int I = 0; I < p.linear; I++)
            for (int c = 0; c < DIM; c++) {
                double D[2] = {0.0, 0.0}, x[DIM][2];
                for (int J = 0; J < p.linear; J++) {
                    make_K(I, J, c, x);
                    add_lack(x, J, D);
                    if (I == J) note_diagonal(x, c);
                }
                note_lack(D);
                *(double2 *)(lack(c, I) + 2 * lane) = make_double2(D[0], D[1]);
            }
        __syncwarp();
        double inner[2] = {0.0, 0.0}; // W'K W
        for (int e = 0; e < DIM * p.linear; e++)
#pragma unroll
            for (int r = 0; r < 2; r++)
                multiply_add(inner, motions(0, e)[(4 * r + t) * WIDTH + g],
                             lack(0, e)[(4 * r + t) * WIDTH + g]);
        __syncwarp();
        for (int e = 0; e < DIM * p.linear; e++) {
            double2 *at = (double2 *)(lack(0, e) + 2 * lane);
            const double2 w = *(const double2 *)(motions(0, e) + 2 * lane);
            double D[2] = {at->x, at->y};
            multiply_add(D, -0.5 * w.x, inner[0]);
            multiply_add(D, -0.5 * w.y, inner[1]);
            *at = make_double2(D[0], D[1]);
        }
        __syncwarp();
    }
};

// The tiles (I, J) of component c to memory.
template <int DIM, int AHEAD, int CELLS>
__device__ __forceinline__ void store(const cell<DIM, AHEAD> &of, int I, int J, int c,
                                      const double (&x)[CELLS][DIM][2], double *K) {
    const int g = of.lane / 4, t = of.lane % 4, m = of.p.of.t.m, first = of.index()[8 * I + g].y,
              row = first + c * m;
    if (first < 0) return;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int second = of.index()[8 * J + 2 * t + r].y;
        if (second < 0) continue;
#pragma unroll
        for (int d = 0; d < DIM; d++) {
            if (I == J && !(c > d || (c == d && 2 * t + r <= g))) continue;
            const int column = second + d * m;
            const int high = row > column ? row : column, low = row > column ? column : row;
            double *to = K + (int64_t)(triangle_row(high) + low) * L;
            if constexpr (CELLS == 2) // said so, or two stores come of it
                asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(x[0][d][r]), "d"(x[1][d][r])
                             : "memory");
            else
                *to = x[0][d][r];
        }
    }
}

// A block's cells at work.
template <int DIM, int CELLS, int AHEAD> struct work {
    using one_cell = cell<DIM, AHEAD>;
    one_cell first;

    __device__ __forceinline__ one_cell of(int q) const {
        one_cell other = first;
        other.own += q * first.at.size;
        other.U += q * first.at.step_U;
        other.V += q * first.at.size;
        return other;
    }

    // The next piece of work of a stage, for a warp that is free.
    __device__ __forceinline__ int next(int stage) const {
        int number = 0;
        if (first.lane == 0) number = atomicAdd((int *)(first.own + first.at.norms + WIDTH + 2) + stage, 1);
        return __shfl_sync(ALL, number, 0);
    }
    // Nothing of a stage is done.
    __device__ __forceinline__ void begin(int stage) const {
        ((int *)(first.own + first.at.norms + WIDTH + 2))[stage] = 0;
    }

    // Tiles that motions know in rows and columns, of cell q.
    __device__ __forceinline__ void known(int q, double *K) const {
        const one_cell one = of(q);
        const int lane = first.lane, linear = first.p.linear;
        one.make_lack();
        for (int e = 0; e < DIM * linear * linear; e++) {
            const int c = e % DIM, I = e / DIM / linear, J = e / DIM % linear;
            double x[1][DIM][2];
            if (J > I) continue;
            one.make_K(I, J, c, x[0]);
            const double2 D = *(const double2 *)(one.lack(c, I) + 2 * lane),
                          W = *(const double2 *)(one.motions(c, I) + 2 * lane);
            const double lack[2] = {D.x, D.y}, motion[2] = {W.x, W.y};
#pragma unroll
            for (int d = 0; d < DIM; d++) {
                one.subtract(x[0][d], lack, one.motions(d, J));
                one.subtract(x[0][d], motion, one.lack(d, J));
            }
            store(one, I, J, c, x, K + q);
        }
    }

    // Tiles (I, J) of component c, of which motions know the columns if any: then D is made of all such
    // columns, J the last.
    __device__ __forceinline__ void others(int I, int J, int c, double *K) const {
        const int linear = first.p.linear, n = J < linear ? linear : 1;
        double x[CELLS][DIM][2];
#pragma unroll
        for (int q = 0; q < CELLS; q++) {
            const one_cell one = of(q);
            double D[2] = {0.0, 0.0};
            for (int e = 1; e <= n; e++) {
                const int column = J + e < n ? J + e : n > 1 ? J + e - n : J;
                one.make_K(I, column, c, x[q]);
                if (J < linear) one.add_lack(x[q], column, D);
            }
            if (I == J) one.note_diagonal(x[q], c);
            if (J >= linear) continue;
            if (J == 0) one.note_lack(D);
#pragma unroll
            for (int d = 0; d < DIM; d++) one.subtract(x[q][d], D, one.motions(d, J));
        }
        store(first, I, J, c, x, K);
    }

    template <class T> __device__ __forceinline__ void make_K(const T &team, double *K) const {
        const solid_tiles &p = first.p;
        if (team.warp < CELLS) known(team.warp, K);
        for (int e = next(2); e < DIM * p.n_jobs; e = next(2)) {
            const int2 tile = __ldg(p.jobs + e / DIM);
            others(tile.x, tile.y, e % DIM, K);
        }
    }

    // Returns whether there are motions that are none: then K is to be made once more.
    template <class T> __device__ __forceinline__ bool leave_motions(const T &team) const {
        const solid_tiles &p = first.p;
        int n[CELLS], fewest = MOTIONS;
        team.sync();
#pragma unroll
        for (int q = 0; q < CELLS; q++) {
            n[q] = of(q).n_motions();
            fewest = n[q] < fewest ? n[q] : fewest;
        }
        if (fewest == MOTIONS) return false;
#pragma unroll
        for (int q = 0; q < CELLS; q++)
            for (int e = team.thread; e < DIM * p.linear * 64; e += T::THREADS)
                if (e % WIDTH >= n[q]) of(q).own[first.at.motions + e] = 0.0;
        if (team.thread == 0) begin(2);
        team.sync();
        return true;
    }

    // [S R] eliminated, of high functions and then of low ones. Returns whether S is positive definite.
    template <class T> __device__ __forceinline__ bool eliminate(const T &team, bool with_motions) const {
        constexpr int WARPS = T::THREADS / 32;
        const solid_tiles &p = first.p;
        const places &at = first.at;
        const int lane = team.lane;
        double *own = first.own;
        if (with_motions && team.warp >= WARPS - CELLS) of(WARPS - 1 - team.warp).make_motions();
        bool good = true;
#pragma unroll 1
        for (int high = 1; high >= 0; high--) {
            const int n_S = p.low_tiles * (p.low_tiles + 1) / 2;
            const int n = high ? p.n_high : n_S + p.low_tiles * p.tiles;
            for (int e = next(high); e < CELLS * n; e = next(high)) {
                const one_cell one = of(e % CELLS);
                const int number = e / CELLS;
                if (high) {
                    one.make_high(number);
                    continue;
                }
                const int2 piece = __ldg(p.pieces + p.n_high + number);
                if (number < n_S)
                    one.make_S(number, piece.x, piece.y);
                else
                    one.make_R(piece.x, piece.y);
            }
            team.sync();
            const rows<CELLS, DIM, AHEAD> rows = {high ? p.high_blocks : p.blocks,
                                                  high ? p.high_panels : p.panels,
                                                  high ? high_groups(p) : p.tiles,
                                                  (high ? own + at.high_U : first.U) + lane,
                                                  (high ? own + at.high_V : first.V) + lane,
                                                  at.size,
                                                  high ? at.size : at.step_U,
                                                  own + at.corner};
            good = rows.eliminate(team) && good;
        }
        return good;
    }
};

template <int DIM, int CELLS, int WARPS, bool U_HERE, bool V_HERE>
__global__ void __launch_bounds__(32 * WARPS, WARPS == FEW ? 4 : MANY / WARPS)
    condense(const __grid_constant__ solid_tiles p, const __grid_constant__ places at, int64_t n_cells,
             const double *coefficients, double *K, double *scratch, unsigned long long *next,
             unsigned long long *failed) {
    extern __shared__ __align__(32) double room[];
    __shared__ int64_t upcoming;
    constexpr int AHEAD = !V_HERE ? 6 : WARPS == FEW ? 2 : 4;
    const int thread = threadIdx.x, count = p.of.at.count;
    const team<WARPS> team = {thread, thread / 32, thread % 32};
    double *slice = scratch + (int64_t)blockIdx.x * at.slice;
    double *U = U_HERE || at.U_here ? room + at.U : slice, *V = V_HERE ? room + at.V : slice + at.slice_V;
    const work<DIM, CELLS, AHEAD> cells = {{p, at, team.lane, room, U, V}};
    const int64_t n_K = triangle_row(p.of.n);
    bool motions = true;
#pragma unroll 1
    for (int q = 0; q < CELLS; q++) cells.of(q).pad(team);
    for (int64_t begin = (int64_t)blockIdx.x * CELLS; begin < n_cells; begin = upcoming) {
        const int64_t batch = begin / L;
        double *to = K + batch * n_K * L + begin % L;
        for (int k = thread; k < count * CELLS; k += 32 * WARPS)
            room[k % CELLS * at.size + at.c + k / CELLS] =
                coefficients[(batch * count + k / CELLS) * L + begin % L + k % CELLS];
        team.sync();
#pragma unroll 1
        for (int q = 0; q < CELLS; q++) cells.of(q).prepare(team);
        // Neighbours are at work at the same time: what they store meets in the cache.
        if (thread == 0) upcoming = CELLS * (gridDim.x + atomicAdd(next, 1ull));
        team.sync();
        if (!cells.eliminate(team, motions) && team.lane % 16 == 0)
            atomicMin(failed, (unsigned long long)batch);
        motions = p.of.t.rotations;
        bool again = false; // once, at most
        do {
            cells.make_K(team, to);
            again = !again && p.of.t.rotations && cells.leave_motions(team);
        } while (again);
        team.sync();
    }
}

// ------------------------------------------------------------------------------------ sizes

using kernel_of_size = void (*)(solid_tiles, places, int64_t, const double *, double *, double *,
                                unsigned long long *, unsigned long long *);

// How cells of a size are condensed: cells and warps of a block, blocks, and slices of scratch.
struct way {
    int cells, warps;
    places at;
    int64_t slices;
    kernel_of_size kernel;
};

// Blocks of cells so large that fit into the shared memory of a multiprocessor, of which each block takes
// some by itself, and the kernel for its number of the next cell.
int blocks_together(int cells, const places &at) {
    constexpr size_t ALL_SHARED = 228 * 1024, OF_A_BLOCK = 1024, OF_THE_KERNEL = 32;
    const size_t bytes = (size_t)cells * at.size * sizeof(double) + OF_THE_KERNEL;
    return bytes > MOST_SHARED ? 0 : (int)(ALL_SHARED / (bytes + OF_A_BLOCK));
}

// Two cells a block where they fit, and as many blocks as do; otherwise one; U goes to memory first, then V.
template <int DIM> way way_of(const solid_tiles &p) {
    constexpr whereabouts ALL_HERE = {true, true}, V_HERE = {false, true}, NOTHING = {false, false};
    const places all = places_of(p, 2, ALL_HERE), V_alone = places_of(p, 2, V_HERE),
                 one = places_of(p, 1, V_HERE), nothing = places_of(p, 1, NOTHING);
    const int64_t far = multiprocessors();
    const int pairs = blocks_together(2, all), fewer = blocks_together(2, V_alone);
    if (pairs >= 4) return {2, FEW, all, 0, condense<DIM, 2, FEW, true, true>};
    if (pairs >= 2) return {2, MANY / 2, all, 0, condense<DIM, 2, MANY / 2, true, true>};
    if (pairs == 1) return {2, MANY, all, 0, condense<DIM, 2, MANY, true, true>};
    if (fewer == 1) return {2, MANY, V_alone, far, condense<DIM, 2, MANY, false, true>};
    if (blocks_together(1, one) > 0) return {1, MANY, one, far, condense<DIM, 1, MANY, false, true>};
    const int64_t fit = MOST_SLICES / nothing.slice;
    return {1, MANY, nothing, fit < 1 ? 1 : fit < far ? fit : far, condense<DIM, 1, MANY, false, false>};
}

way way_of(const solid_tiles &p) {
    return p.of.t.dim == 2 ? way_of<2>(p) : way_of<3>(p);
}

} // namespace
} // namespace facet

using namespace facet;

// The larger of both uses: solves inside ask with condense = 0.
int64_t elastic_scratch_cuda(const struct elastic_tables *t, int condense) {
    const int64_t solve = elastic_solve_scratch(t);
    if (!condense) return solve;
    const way w = way_of(solid_tiles_of(t, nullptr));
    const int64_t all = COUNTER + solid_tiles_size(t) + w.slices * w.at.slice;
    return all > solve ? all : solve;
}

int64_t condense_elastic_cuda(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                              double *K, double *scratch) {
    return find_failure(n_batches, [&](unsigned long long *failed) {
        const char *what = "condense_elastic";
        const solid_tiles p = solid_tiles_of(t, scratch + COUNTER);
        const way w = way_of(p);
        const int64_t n_cells = n_batches * L, blocks = n_cells / w.cells;
        if (!good(cudaMemsetAsync(scratch, 0, COUNTER * sizeof(double)), what)) return;
        make_solid_tiles(p);
        launch(w.kernel, what, w.slices > 0 && w.slices < blocks ? w.slices : blocks, 32 * w.warps,
               w.cells * w.at.size * sizeof(double), p, w.at, n_cells, coefficients, K,
               scratch + COUNTER + solid_tiles_size(t), (unsigned long long *)scratch, failed);
    });
}
