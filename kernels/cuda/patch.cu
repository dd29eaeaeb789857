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
// Whether every colour begins with the residual of the whole brick: so do patches that are not solved
// exactly.
bool is_global(const struct brick_patches *p) {
    return varies(p) || p->variant == PATCH_GLOBAL;
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
    if (cube && !call.correction && kernel >= PATCH_KERNEL_BASIC && kernel <= PATCH_KERNEL_CONFLICT_FREE)
        done = run_ladder<R>(call, kernel);
    if (!done && m == 1 && (cube || (plane && flat))) done = run_points<R>(call);
    if (!done && kernel == PATCH_KERNEL_TENSOR)
        done = cube ? run_tensor<R>(call) : plane && flat && run_tensor_plane<R>(call);
    if (!done && (cube || (plane && flat))) done = run_lines<R>(call);
    if (!done && !flat) done = run_ladder<R>(call, PATCH_KERNEL_CONFLICT_FREE);
    if (!done) run_general<R>(call);
}

template <typename R> struct room {
    void *tables;
    R *residual, *direction;
};
template <typename R> room<R> divide(const struct brick_patches *p, R *scratch) {
    R *residual = scratch + TABLE_NUMBERS;
    return {scratch, residual, residual + brick_n_nodes(p->cells)};
}
int64_t room_needed(const struct brick_patches *p) {
    const int vectors = inner_steps(p) > 1 ? 2 : is_global(p) || p->variant == PATCH_SEPARATE ? 1 : 0;
    return TABLE_NUMBERS + vectors * brick_n_nodes(p->cells);
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

template <typename R> void sweep(const struct brick_patches *p, int backward, const R *b, R *x, R *scratch) {
    int colours[3] = {p->axis[0].n_colours, p->axis[1].n_colours, p->axis[2].n_colours};
    const int total = colours[0] * colours[1] * colours[2], inner = inner_steps(p);
    const room<R> room = divide(p, scratch);
    const void *made[4] = {nullptr, nullptr, nullptr, nullptr};
    for (int step = 0; step < total && may_launch(); step++) {
        const int colour = backward ? total - 1 - step : step;
        const int want[3] = {colour % colours[0], colour / colours[0] % colours[1],
                             colour / colours[0] / colours[1]};
        const std::vector<family> families[3] = {find_families(p, 0, want[0]), find_families(p, 1, want[1]),
                                                 find_families(p, 2, want[2])};
        bool global = false;
        for_families(families, [&](const family &f0, const family &f1, const family &f2) {
            global = global || (is_global(p) && !is_fused(p, f0, f1, f2));
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
                                            made};
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
    if (p->variant == PATCH_ADDITIVE) return -1;
    int64_t m[3] = {1, 1, 1};
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < p->axis[d].n_columns; i++)
            if (p->lines[p->axis[d].lines[i]].m > m[d]) m[d] = p->lines[p->axis[d].lines[i]].m;
    if (facet::general_numbers(m, false) * (int64_t)sizeof(double) > facet::MOST_SHARED) return -1;
    return facet::room_needed(p);
}

void patch_sweep_cuda(const struct brick_patches *p, int backward, const double *b, double *x,
                      double *scratch) {
    facet::sweep<double>(p, backward, b, x, scratch);
}
void patch_sweep_single_cuda(const struct brick_patches *p, int backward, const float *b, float *x,
                             float *scratch) {
    facet::sweep<float>(p, backward, b, x, scratch);
}
