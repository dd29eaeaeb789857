// What the files of patches share: which columns one launch can take, what it is told, and the kernels there
// are.
#ifndef FACET_KERNELS_CUDA_PATCH_PLAN_CUH
#define FACET_KERNELS_CUDA_PATCH_PLAN_CUH

#include <type_traits>
#include <vector>

#include "kernels/cuda/internal.cuh"
#include "kernels/cuda/patch.cuh"

namespace facet {

// Columns of one colour that one launch can take: of one line and at equal distances, inside the brick
// (regular), or of one size.
struct family {
    int regular, m, even, cells;
    std::vector<int> first, cell, line;
};

// Patches of one colour, the product of three families. A correction starts from a residual, b; `inner` - 1
// is then the number of an inner step and d its direction.
template <typename R> struct patch_call {
    const struct brick_patches *plan;
    const family *g[3];
    const R *b;
    R *x;
    bool correction;
    int inner;
    R *d;
    R *residual;       // of the separate variant
    void *tables;      // room for what a kernel computes from the lines,
    const void **made; // and whose it is: kernel and lines, four addresses
    R *slices;         // of patches that do not fit into shared memory; they are corrections

    const struct brick_line *line(int d_) const {
        return &plan->lines[g[d_]->line[0]];
    }
    int64_t patches() const {
        int64_t n = 1;
        for (int d_ = 0; d_ < 3; d_++) n *= (int64_t)g[d_]->first.size();
        return n;
    }
    // Whether the tables are not yet those of these lines; they are from now on.
    bool must_make(const void *kernel) const {
        const void *now[4] = {kernel, line(0), line(1), line(2)};
        bool same = true;
        for (int i = 0; i < 4; i++) {
            same = same && made[i] == now[i];
            made[i] = now[i];
        }
        return !same;
    }
    // Whether a patch reaches over the end of a ring.
    bool wraps() const {
        for (int d_ = 0; d_ < 3; d_++) {
            const int first = g[d_]->first[0], m = g[d_]->m, count = (int)g[d_]->first.size();
            if (plan->axis[d_].periodic && (first < 1 || first + count * (m + 1) > plan->axis[d_].n_nodes))
                return true;
        }
        return false;
    }
};

template <typename R> const R *table_of(const struct brick_line *line) {
    if constexpr (std::is_same_v<R, double>)
        return line->table;
    else
        return line->single;
}

template <typename R> patch_step<R> step_of(const patch_call<R> &call) {
    const struct brick_patches *p = call.plan;
    patch_step<R> s = {};
    const bool varies = p->cells->conductivity != nullptr || p->cells->reaction != nullptr;
    s.inner = call.inner;
    s.d = call.d;
    if (varies && call.inner == 0) {
        if constexpr (std::is_same_v<R, double>)
            s.scale = p->scale;
        else
            s.scale = p->scale_single;
    }
    s.damping = (R)p->damping;
    s.conductivity = p->cells->conductivity;
    s.reaction = p->cells->reaction;
    for (int d = 0; d < 3; d++) {
        s.first_cell[d] = call.g[d]->cell[0];
        s.cells[d] = p->cells->cells[d];
    }
    return s;
}

constexpr int64_t MOST_SHARED = 227 * 1024;

// Each returns whether it has such patches; then it has launched, or an error is kept.
template <typename R> bool run_points(const patch_call<R> &);       // one node a patch
template <typename R> bool run_lines(const patch_call<R> &);        // patch.cuh
template <typename R> bool run_tensor(const patch_call<R> &);       // patch_tensor.cuh
template <typename R> bool run_tensor_plane(const patch_call<R> &); // the same in two dimensions
template <typename R> bool run_ladder(const patch_call<R> &);       // patch_ladder.cu
template <typename R> bool run_cells(const patch_call<R> &);        // patch_cells.cu
template <typename R> void run_general(const patch_call<R> &);      // any patch
// PATCH_KERNEL_BASIC and _LINEAR, which a bench adds; nullptr: not there.
template <typename R> inline bool (*paper_steps[2])(const patch_call<R> &) = {};

// Numbers that `tables` needs.
constexpr int64_t TABLE_NUMBERS = 20000;
// Numbers that a block of the general kernel needs, in shared memory or, as so many blocks do, in a slice.
int64_t general_numbers(const int64_t m[3], bool correction);
constexpr int64_t GENERAL_SLICES = 128;

} // namespace facet
#endif
