// Rows of the operator of continuous elements on a brick, for kernels that take one node at a time.
#ifndef FACET_KERNELS_CUDA_BRICK_ROW_CUH
#define FACET_KERNELS_CUDA_BRICK_ROW_CUH

#include "kernels/cuda/colour.cuh"
#include "kernels/cuda/internal.cuh"

namespace facet {

template <typename R> struct brick_rows {
    struct brick_cells cells;
    const R *mass[3], *stiffness[3];
};
template <typename R> brick_rows<R> rows_of_brick(const struct brick_cells *c) {
    brick_rows<R> rows;
    rows.cells = *c;
    for (int d = 0; d < 3; d++) {
        const struct brick_element_layout at = ::brick_element_layout(c->element[d].k);
        const R *table = plain<R>(c->element[d].table, c->element[d].single);
        rows.mass[d] = table + at.mass;
        rows.stiffness[d] = table + at.stiffness;
    }
    return rows;
}

// The cells around a node: in direction d `count` of them from `first` on, in which it is node `local`.
struct cells_around {
    int first[3], count[3], local[3][2];
    bool fixed;
    __device__ cells_around(const struct brick_cells &c, const int at[3]) {
        fixed = false;
        for (int d = 0; d < 3; d++) {
            const int k = c.element[d].k;
            fixed = fixed || (c.fixed[d][0] && at[d] == 0) || (c.fixed[d][1] && at[d] == c.n_nodes[d] - 1);
            first[d] = 0;
            count[d] = 1;
            local[d][0] = at[d];
            if (k == 0) continue;
            first[d] = at[d] / k;
            local[d][0] = at[d] % k;
            if (local[d][0] == 0 && (at[d] > 0 || c.periodic[d])) { // the upper end of a cell, too
                const bool last = !c.periodic[d] && at[d] == c.n_nodes[d] - 1;
                first[d] = first[d] - 1;
                local[d][0] = k;
                local[d][1] = 0;
                count[d] = last ? 1 : 2;
            }
        }
    }
    __device__ int total() const {
        return count[0] * count[1] * count[2];
    }
};

// The row of the node in one of these cells.
template <typename R> struct cell_row {
    const struct brick_cells &c;
    int cell[3];
    const R *M[3], *A[3];
    R h[3], k, lambda;
    __device__ cell_row(const brick_rows<R> &rows, const cells_around &around, int s) : c(rows.cells) {
        const int which[3] = {s % around.count[0], s / around.count[0] % around.count[1],
                              s / around.count[0] / around.count[1]};
        for (int d = 0; d < 3; d++) {
            const int n = c.element[d].k + 1;
            cell[d] = (around.first[d] + which[d] + c.cells[d]) % c.cells[d];
            M[d] = rows.mass[d] + around.local[d][which[d]] * n;
            A[d] = rows.stiffness[d] + around.local[d][which[d]] * n;
            h[d] = (R)c.widths[d][cell[d]];
        }
        const int64_t number = ((int64_t)cell[2] * c.cells[1] + cell[1]) * c.cells[0] + cell[0];
        k = c.conductivity ? (R)c.conductivity[number] : (R)c.k;
        lambda = c.reaction ? (R)c.reaction[number] : (R)c.lambda;
    }
    __device__ int64_t node(int x, int y, int z) const {
        const int i[3] = {x, y, z};
        int64_t to = 0;
        for (int d = 2; d >= 0; d--)
            to = to * c.n_nodes[d] + (cell[d] * c.element[d].k + i[d]) % c.n_nodes[d];
        return to;
    }
    __device__ R entry(int x, int y, int z) const {
        const R mx = h[0] * M[0][x], my = h[1] * M[1][y], mz = h[2] * M[2][z];
        return lambda * mx * my * mz +
               k * (A[0][x] / h[0] * my * mz + mx * (A[1][y] / h[1]) * mz + mx * my * (A[2][z] / h[2]));
    }
};

} // namespace facet
#endif
