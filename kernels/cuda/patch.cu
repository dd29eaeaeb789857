// Smoothing steps over the patches of a brick: the colours one after the other, each in as few launches as
// its columns have kinds, every launch by the kernel that suits its patches best.
#include "kernels/cuda/patch_plan.cuh"

namespace facet {

namespace {

std::vector<family> find_families(const struct brick_patches *p, int d, int colour) {
    const struct brick_axis *ax = &p->axis[d];
    std::vector<family> regular, others;
    for (int i = 0; i < ax->n_columns; i++) {
        if (ax->colour[i] != colour) continue;
        const struct brick_line *line = &p->lines[ax->lines[i]];
        // The fast kernels have both shell nodes, and a symmetric line of two cells.
        const int inner = ax->cells[i] == 2 && line->even > 0 && line->m % 2 == 1;
        family *f = nullptr;
        if (inner && !regular.empty() && regular.back().line[0] == ax->lines[i] &&
            regular.back().first.back() + line->m + 1 == ax->first[i])
            f = &regular.back();
        for (family &o : others)
            if (!inner && o.m == line->m && o.even == line->even && o.cells == ax->cells[i]) f = &o;
        if (f == nullptr) {
            std::vector<family> &list = inner ? regular : others;
            list.push_back({inner, line->m, line->even, ax->cells[i], {}, {}, {}});
            f = &list.back();
        }
        f->first.push_back(ax->first[i]);
        f->cell.push_back(ax->cell[i]);
        f->line.push_back(ax->lines[i]);
    }
    regular.insert(regular.end(), others.begin(), others.end());
    return regular;
}

template <typename R>
void apply(const struct brick_cells *c, double a, const R *x, double b, const R *f, R *y, R *scratch) {
    if constexpr (std::is_same_v<R, double>)
        brick_apply_cuda(c, a, x, b, f, y, scratch);
    else
        brick_apply_single_cuda(c, a, x, b, f, y, scratch);
}

bool varies(const struct brick_patches *p) {
    return p->cells->conductivity != nullptr || p->cells->reaction != nullptr;
}
// Numbers that the largest patch that these lines could make takes in the general kernel.
int64_t largest(const struct brick_patches *p, bool correction) {
    int64_t most = 1, m[3];
    for (int i = 0; i < p->n_lines; i++) most = p->lines[i].m > most ? p->lines[i].m : most;
    for (int d = 0; d < 3; d++) m[d] = p->axis[d].n_nodes > 1 ? most : 1;
    return general_numbers(m, correction);
}
bool is_large(const struct brick_patches *p, bool correction) {
    return largest(p, correction) * (int64_t)sizeof(double) > MOST_SHARED;
}
// Whether every colour begins with the residual of the whole brick: so do patches that are not solved
// exactly, and those whose residual has no room beside them (in 3D from degree 9 on).
bool is_global(const struct brick_patches *p) {
    return varies(p) || p->variant == PATCH_GLOBAL || is_large(p, false);
}
int inner_steps(const struct brick_patches *p) {
    return varies(p) && p->inner > 0 ? p->inner : 0;
}

// The fastest kernel of regular patches by degree, as measured: bench/results/h200. The fused and the
// separate variant are the paper's, and their best is its best.
constexpr enum patch_kernel LINES = PATCH_KERNEL_LINES, TENSOR = PATCH_KERNEL_TENSOR,
                            NONE = PATCH_KERNEL_BEST;
constexpr enum patch_kernel BEST[4][9] = {
    {NONE, NONE, LINES, LINES, LINES, LINES, TENSOR, TENSOR, TENSOR}, // 3D, f64
    {NONE, NONE, LINES, LINES, LINES, LINES, LINES, LINES, TENSOR},   // 3D, f32
    {NONE, NONE, LINES, LINES, LINES, LINES, LINES, TENSOR, TENSOR},  // 2D, f64
    {NONE, NONE, LINES, LINES, LINES, LINES, LINES, LINES, LINES},    // 2D, f32
};

template <typename R> enum patch_kernel kernel_for(const struct brick_patches *p, int m) {
    const enum patch_kernel wanted = p->kernel;
    const bool paper = p->variant == PATCH_FUSED || p->variant == PATCH_SEPARATE;
    if (paper && !varies(p))
        return wanted == PATCH_KERNEL_BASIC || wanted == PATCH_KERNEL_LINEAR ? wanted
                                                                             : PATCH_KERNEL_CONFLICT_FREE;
    if (wanted == PATCH_KERNEL_LINES || wanted == PATCH_KERNEL_TENSOR) return wanted;
    return m <= 15 ? BEST[2 * (p->axis[2].n_nodes == 1) + (sizeof(R) == 4)][(m + 1) / 2] : NONE;
}

// Patches of one kind, by the best kernel that takes them.
template <typename R> void solve_patches(const patch_call<R> &call) {
    const struct brick_patches *p = call.plan;
    const int m = call.g[0]->m;
    const bool flat = p->axis[2].n_nodes == 1,
               plane = m == call.g[1]->m && call.g[0]->regular && call.g[1]->regular,
               cube = plane && m == call.g[2]->m && call.g[2]->regular;
    const enum patch_kernel kernel = kernel_for<R>(p, m);
    bool done = false;
    const bool ladder =
        cube && !call.correction && kernel >= PATCH_KERNEL_BASIC && kernel <= PATCH_KERNEL_CONFLICT_FREE;
    if (ladder && kernel < PATCH_KERNEL_CONFLICT_FREE) {
        const auto step = paper_steps<R>[kernel - PATCH_KERNEL_BASIC];
        done = step != nullptr && step(call);
    }
    if (!done && ladder) done = run_ladder<R>(call);
    if (!done && m == 1 && (cube || (plane && flat))) done = run_points<R>(call);
    if (!done && kernel == PATCH_KERNEL_TENSOR)
        done = cube ? run_tensor<R>(call) : plane && flat && run_tensor_plane<R>(call);
    if (!done && (cube || (plane && flat))) done = run_lines<R>(call);
    if (!done && !flat) done = run_ladder<R>(call);
    if (!done) run_general<R>(call);
}

// What the scratch is divided into: the residual, directions of inner steps, what additive patches start from
// and what they give together, by how many patches a node is corrected in each direction, and slices.
template <typename R> struct room {
    void *tables;
    R *residual, *direction, *given, *sum, *counts, *slices;
};
template <typename R> room<R> divide(const struct brick_patches *p, R *scratch, int64_t *numbers) {
    const int64_t n = brick_n_nodes(p->cells);
    const bool additive = p->variant == PATCH_ADDITIVE;
    *numbers = 0;
    const auto take = [&](bool wanted, int64_t count) {
        R *mine = wanted && scratch != nullptr ? scratch + *numbers : nullptr;
        if (wanted) *numbers += count;
        return mine;
    };
    room<R> room;
    room.tables = take(true, TABLE_NUMBERS);
    room.residual = take(additive || is_global(p) || p->variant == PATCH_SEPARATE, n);
    room.direction = take(inner_steps(p) > 1, n);
    room.given = take(additive, n);
    room.sum = take(additive, n);
    room.counts = take(additive, p->axis[0].n_nodes + p->axis[1].n_nodes + p->axis[2].n_nodes);
    room.slices = take(is_large(p, true), GENERAL_SLICES * largest(p, true));
    return room;
}

// Whether patches with k and lambda of their cells find their residual themselves (patch_cells.cu).
bool is_fused(const struct brick_patches *p, const family &f0, const family &f1, const family &f2) {
    return varies(p) && inner_steps(p) == 0 && p->variant != PATCH_GLOBAL && f0.regular && f1.regular &&
           f2.regular && f0.m == f1.m && f0.m == f2.m && f0.m >= 3 && f0.m <= 15;
}

// The product of the families of three directions.
template <typename F> void for_families(const std::vector<family> (&families)[3], F work) {
    for (const family &f2 : families[2])
        for (const family &f1 : families[1])
            for (const family &f0 : families[0]) work(f0, f1, f2);
}

// ------------------------------------------------------------------------------ all at once

template <typename R> struct gather_launch {
    int n_nodes[3];
    const R *counts[3], *sum;
    R weight, *x;
};
template <typename R> __global__ void add_shares(const __grid_constant__ gather_launch<R> p) {
    const int64_t n = (int64_t)p.n_nodes[0] * p.n_nodes[1] * p.n_nodes[2];
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const R count = p.counts[0][i % p.n_nodes[0]] * p.counts[1][i / p.n_nodes[0] % p.n_nodes[1]] *
                        p.counts[2][i / p.n_nodes[0] / p.n_nodes[1]];
        if (count > 0) p.x[i] += p.weight / count * p.sum[i];
    }
}

// x += what the patches give together, at every node by how many they are. Scaled patches have the weight
// already.
template <typename R> gather_launch<R> shares_of(const struct brick_patches *p, const room<R> &room, R *x) {
    gather_launch<R> l;
    std::vector<R> counts;
    const R *at = room.counts;
    for (int d = 0; d < 3; d++) {
        const struct brick_axis *ax = &p->axis[d];
        const size_t begin = counts.size();
        counts.resize(begin + (size_t)ax->n_nodes, R(0));
        for (int i = 0; i < ax->n_columns; i++)
            for (int j = 0; j < p->lines[ax->lines[i]].m; j++)
                counts[begin + (size_t)((ax->first[i] + j + ax->n_nodes) % ax->n_nodes)] += 1;
        l.n_nodes[d] = ax->n_nodes;
        l.counts[d] = at;
        at += ax->n_nodes;
    }
    cuda_upload(room.counts, counts.data(), counts.size() * sizeof(R));
    l.sum = room.sum;
    l.weight = varies(p) && inner_steps(p) == 0 ? R(1) : (R)p->damping;
    l.x = x;
    return l;
}

// Corrections of all colours from one residual; inner steps go on from what the colour itself has given.
template <typename R>
void sweep_additive(const struct brick_patches *p, const R *b, R *x, const room<R> &room) {
    const int colours[3] = {p->axis[0].n_colours, p->axis[1].n_colours, p->axis[2].n_colours};
    const int total = colours[0] * colours[1] * colours[2], inner = inner_steps(p);
    const int64_t n = brick_n_nodes(p->cells), most = 32 * (int64_t)multiprocessors();
    const unsigned blocks = (unsigned)((n + 255) / 256 < most ? (n + 255) / 256 : most);
    const void *made[4] = {nullptr, nullptr, nullptr, nullptr};
    apply<R>(p->cells, -1.0, x, 1.0, b, room.given, nullptr);
    const gather_launch<R> shares = shares_of(p, room, x);
    for (int colour = 0; colour < total && may_launch(); colour++) {
        const int want[3] = {colour % colours[0], colour / colours[0] % colours[1],
                             colour / colours[0] / colours[1]};
        const std::vector<family> families[3] = {find_families(p, 0, want[0]), find_families(p, 1, want[1]),
                                                 find_families(p, 2, want[2])};
        if (colour == 0 || inner > 0)
            good(cudaMemsetAsync(room.sum, 0, (size_t)n * sizeof(R)), "patch_sweep");
        for (int i = 0; i < (inner > 0 ? inner : 1); i++) {
            if (i > 0) apply<R>(p->cells, -1.0, room.sum, 1.0, room.given, room.residual, nullptr);
            for_families(families, [&](const family &f0, const family &f1, const family &f2) {
                solve_patches<R>({p,
                                  {&f0, &f1, &f2},
                                  i > 0 ? room.residual : room.given,
                                  room.sum,
                                  true,
                                  inner > 0 ? i + 1 : 0,
                                  inner > 1 ? room.direction : nullptr,
                                  room.residual,
                                  room.tables,
                                  made,
                                  room.slices});
            });
        }
        if ((colour == total - 1 || inner > 0) && may_launch()) {
            add_shares<R><<<blocks, 256>>>(shares);
            launched("patch_sweep");
        }
    }
}

// ------------------------------------------------------------------------------ colour by colour

template <typename R> void sweep(const struct brick_patches *p, int backward, const R *b, R *x, R *scratch) {
    int colours[3] = {p->axis[0].n_colours, p->axis[1].n_colours, p->axis[2].n_colours};
    const int total = colours[0] * colours[1] * colours[2], inner = inner_steps(p);
    const bool whole = is_global(p);
    int64_t numbers;
    const room<R> room = divide(p, scratch, &numbers);
    if (p->variant == PATCH_ADDITIVE) return sweep_additive(p, b, x, room);
    const void *made[4] = {nullptr, nullptr, nullptr, nullptr};
    for (int step = 0; step < total && may_launch(); step++) {
        const int colour = backward ? total - 1 - step : step;
        const int want[3] = {colour % colours[0], colour / colours[0] % colours[1],
                             colour / colours[0] / colours[1]};
        const std::vector<family> families[3] = {find_families(p, 0, want[0]), find_families(p, 1, want[1]),
                                                 find_families(p, 2, want[2])};
        bool global = false;
        for_families(families, [&](const family &f0, const family &f1, const family &f2) {
            global = global || (whole && !is_fused(p, f0, f1, f2));
        });
        // Patches of a colour do not touch each other's nodes: the residual of an inner step is that of x.
        for (int i = 0; i < (inner > 0 ? inner : 1); i++) {
            if (global) apply<R>(p->cells, -1.0, x, 1.0, b, room.residual, nullptr);
            for_families(families, [&](const family &f0, const family &f1, const family &f2) {
                const bool fused = is_fused(p, f0, f1, f2), correction = global && !fused;
                const patch_call<R> call = {p,
                                            {&f0, &f1, &f2},
                                            correction ? room.residual : b,
                                            x,
                                            correction,
                                            inner > 0 ? i + 1 : 0,
                                            inner > 1 ? room.direction : nullptr,
                                            room.residual,
                                            room.tables,
                                            made,
                                            room.slices};
                if (fused)
                    run_cells<R>(call);
                else
                    solve_patches<R>(call);
            });
        }
    }
}

} // namespace
} // namespace facet

int64_t patch_scratch_cuda(const struct brick_patches *p) {
    int64_t numbers;
    facet::divide<double>(p, nullptr, &numbers);
    return numbers;
}

void patch_sweep_cuda(const struct brick_patches *p, int backward, const double *b, double *x,
                      double *scratch) {
    facet::sweep<double>(p, backward, b, x, scratch);
}
void patch_sweep_single_cuda(const struct brick_patches *p, int backward, const float *b, float *x,
                             float *scratch) {
    facet::sweep<float>(p, backward, b, x, scratch);
}
