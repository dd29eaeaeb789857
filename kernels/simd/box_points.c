/* The cells of a box between loads and results (kernels/box.h): threads share the cells, one of which is a
 * few loops along its rows. A face is added to by the two cells beside it, so that layers take turns; what a
 * face receives does not depend on which of the two comes first. */
#include <omp.h>
#include <string.h>

#include "kernels/box_cell.h"
#include "kernels/simd/tensor.h"

/* A cell with its tables along every axis: b, Lambda; k a, k times the reaction. */
struct local {
    struct cell c;
    int extent[3];
    int64_t volume, size; /* numbers of the cell, and of its largest face */
    double b[3][MAX_LINE], lambda[3][MAX_LINE], a[3], reaction;
};

static void visit(const struct box_plan *p, const struct box_points *points, int64_t cell, struct local *l) {
    look_at(p, points, cell, &l->c);
    l->volume = l->size = 1;
    for (int d = 0; d < 3; d++) {
        l->extent[d] = p->modes[d];
        l->volume *= p->modes[d];
        l->size = p->present[d] && p->face[d] > l->size ? p->face[d] : l->size;
        l->a[d] = l->c.k * l->c.a[d];
        for (int m = 0; m < p->modes[d]; m++) {
            l->b[d][m] = sqrt(entry(&l->c, p->f64.squares, d, p->modes[d], m));
            l->lambda[d][m] = entry(&l->c, p->f64.eigenvalues, d, p->modes[d], m);
        }
    }
    l->reaction = l->c.k * l->c.reaction;
}

/* The scratch of a thread: a cell, and twice six faces of it. */
static double *room_of_thread(const struct box_plan *p) {
    const int64_t first = p->scratch_size * omp_get_thread_num();
    return p->f64.scratch != NULL ? p->f64.scratch + first : (double *)(void *)(p->f32.scratch + first);
}

/* ------------------------------------------------------------------------------------------ faces */

/* One face in plain modes, the lower tangential direction fastest: what is known, what the vector has (or
 * NULL), or zero. Returns whether it may differ from zero. */
static int gather_face(const struct local *l, const double *trace, int axis, int side, double *values) {
    const struct box_plan *p = l->c.plan;
    const int slow = slow_axis(axis), fast = fast_axis(axis), *n = p->modes;
    const double *given = p->fixed[axis][side] ? known(&l->c, axis, side) : NULL;
    const int64_t where = l->c.where[axis][side], step = given != NULL ? 1 : L;
    const double *from = given != NULL ? given : trace != NULL && where >= 0 ? trace + where : NULL;
    for (int odd_slow = 0; odd_slow < 2 && from != NULL; odd_slow++)
        for (int odd_fast = 0; odd_fast < 2; odd_fast++) {
            const int s_0 = box_first(p, slow, odd_slow), s_1 = s_0 + box_count(p, slow, odd_slow),
                      f_0 = box_first(p, fast, odd_fast), f_1 = f_0 + box_count(p, fast, odd_fast);
            const double *x = from + box_block(p, slow, fast, odd_slow, odd_fast) * step;
            for (int s = s_0; s < s_1; s++)
                for (int f = f_0; f < f_1; f++, x += step)
                    values[f * n[slow] + s] = l->b[slow][s] * l->b[fast][f] * *x;
        }
    if (from == NULL) memset(values, 0, (size_t)p->face[axis] * sizeof *values);
    return from != NULL;
}

/* v of all axes: sum and difference of upper and lower traces. Returns whether one may differ from zero. */
static int gather_pairs(const struct local *l, const double *trace, double *v) {
    int any = 0;
    memset(v + 6 * l->size, 0, KERNEL_SLACK * sizeof *v); /* read, and multiplied by zero */
    for (int axis = 0; axis < 3; axis++) {
        double *sum = v + 2 * axis * l->size, *difference = sum + l->size;
        if (!l->c.plan->present[axis]) {
            memset(sum, 0, (size_t)(2 * l->size) * sizeof *sum);
            continue;
        }
        any |= gather_face(l, trace, axis, 1, sum) | gather_face(l, trace, axis, 0, difference);
        for (int64_t i = 0; i < l->c.plan->face[axis]; i++) {
            const double upper = sum[i], lower = difference[i];
            sum[i] = upper + lower;
            difference[i] = upper - lower;
        }
    }
    return any;
}

/* What a face receives, in plain modes of sums and differences, and what is given there. */
static void add_face(const struct local *l, int axis, int side, const double *even, const double *odd,
                     double *F) {
    const struct box_plan *p = l->c.plan;
    const int slow = slow_axis(axis), fast = fast_axis(axis), *n = p->modes;
    const double *given = p->fixed[axis][side] ? NULL : known(&l->c, axis, side), sign = side ? 1.0 : -1.0;
    if (l->c.where[axis][side] < 0) return;
    F += l->c.where[axis][side];
    for (int odd_slow = 0; odd_slow < 2; odd_slow++)
        for (int odd_fast = 0; odd_fast < 2; odd_fast++) {
            const int s_0 = box_first(p, slow, odd_slow), s_1 = s_0 + box_count(p, slow, odd_slow),
                      f_0 = box_first(p, fast, odd_fast), f_1 = f_0 + box_count(p, fast, odd_fast);
            double *to = F + box_block(p, slow, fast, odd_slow, odd_fast) * L;
            for (int s = s_0; s < s_1; s++)
                for (int f = f_0; f < f_1; f++, to += L)
                    *to +=
                        l->b[slow][s] * l->b[fast][f] * (even[f * n[slow] + s] + sign * odd[f * n[slow] + s]);
        }
    for (int64_t t = 0; given != NULL && t < p->face[axis]; t++) F[t * L] += given[t];
}

/* ------------------------------------------------------------------------------------------ u */

/* Along all axes by square tables. */
static void transform(const struct local *l, const double *matrices, double *u, double *work) {
    int64_t inner = 1;
    for (int axis = 0; axis < 3; inner *= l->extent[axis], axis++) {
        const int n = l->extent[axis];
        const int64_t outer = l->volume / n / inner;
        if (!l->c.plan->present[axis]) continue;
        const double *T = matrices + (int64_t)l->c.points->lines[axis][l->c.at[axis]] * n * n;
        OF(tensor_contract)(outer, n, n, inner, T, u, n * inner, work, n * inner);
        memcpy(u, work, (size_t)l->volume * sizeof *u);
    }
}

/* Rows are read beyond their end, where numbers have to be finite. */
static void take_numbers(const struct local *l, const double *from, double *to) {
    memcpy(to, from, (size_t)l->volume * sizeof *to);
    memset(to + l->volume, 0, KERNEL_SLACK * sizeof *to);
}

/* u from loads (or f at the points; NULL: zero) and v (NULL: zero). scratch: the loads, and as much for work.
 */
static void solve(const struct local *l, const double *f, const double *v, double *loads, double *u) {
    const double *const b[3] = {l->b[0], l->b[1], l->b[2]}, *const lambda[3] = {l->lambda[0], l->lambda[1],
                                                                                l->lambda[2]};
    double V = 1.0;
    if (f != NULL) take_numbers(l, f, loads);
    if (f != NULL && l->c.points->forward != NULL) {
        for (int d = 0; d < 3; d++) V *= l->c.points->halves[d][l->c.at[d]];
        transform(l, l->c.points->forward, loads, u);
        for (int64_t i = 0; i < l->volume; i++) loads[i] *= V;
    }
    OF(line_solve)(l->extent, l->size, l->a, b, lambda, l->reaction, f != NULL ? loads : NULL, v, u);
}

/* The cell's part of the right-hand side. */
static void load_cell(const struct local *l, const double *f, double *F) {
    const struct box_plan *p = l->c.plan;
    const int64_t faces = 6 * l->size + KERNEL_SLACK;
    const double *const b[3] = {l->b[0], l->b[1], l->b[2]};
    double *v = room_of_thread(p), *r = v + faces, *loads = r + faces, *u = loads + l->volume + KERNEL_SLACK;
    const int any = gather_pairs(l, NULL, v);
    solve(l, f, any ? v : NULL, loads, u);
    OF(line_reduce)(l->extent, l->size, b, u, r);
    for (int axis = 0; axis < 3; axis++) {
        if (!p->present[axis]) continue;
        for (int odd = 0; odd < 2; odd++) {
            double *to = r + (2 * axis + odd) * l->size;
            const double *known_pair = v + (2 * axis + odd) * l->size,
                         gamma = any ? entry(&l->c, p->f64.gamma, axis, 2, odd) : 0.0;
            for (int64_t i = 0; i < p->face[axis]; i++) to[i] = l->a[axis] * (to[i] - gamma * known_pair[i]);
        }
        for (int side = 0; side < 2; side++)
            add_face(l, axis, side, r + 2 * axis * l->size, r + (2 * axis + 1) * l->size, F);
    }
}

/* Layers normal to the longer of the axes 1 and 2, every second one at a time; the last of an odd number,
 * which may touch the first, alone. */
void OF(box_load)(const struct box_plan *p, const struct box_points *points, const double *f, double *F) {
    const int across = p->cells[1] > p->cells[2] ? 1 : 2, n = p->cells[across], other = 3 - across;
    const int64_t size = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t i = 0; i < p->size; i++) F[i] = 0.0;
    for (int colour = 0; colour < 3; colour++) {
        const int last = n % 2 == 1 && n > 1, first = colour == 2 ? n - 1 : colour,
                  end = colour == 2 ? (last ? n : 0) : n - last;
#pragma omp parallel for num_threads(p->threads) schedule(static)
        for (int layer = first; layer < end; layer += 2)
            for (int row = 0; row < p->cells[other]; row++)
                for (int x = 0; x < p->cells[0]; x++) {
                    const int64_t y = across == 1 ? layer : row, z = across == 1 ? row : layer,
                                  cell = (z * p->cells[1] + y) * p->cells[0] + x;
                    struct local l;
                    visit(p, points, cell, &l);
                    load_cell(&l, f != NULL ? f + cell * size : NULL, F);
                }
    }
}

void OF(box_recover)(const struct box_plan *p, const struct box_points *points, const double *trace,
                     const double *f, double *u) {
    const int64_t n_cells = (int64_t)p->cells[0] * p->cells[1] * p->cells[2];
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t cell = 0; cell < n_cells; cell++) {
        struct local l;
        visit(p, points, cell, &l);
        double *v = room_of_thread(p), *loads = v + 6 * l.size + KERNEL_SLACK,
               *own = loads + l.volume + KERNEL_SLACK;
        solve(&l, f != NULL ? f + cell * l.volume : NULL, gather_pairs(&l, trace, v) ? v : NULL, loads, own);
        if (points->backward != NULL) transform(&l, points->backward, own, loads);
        memcpy(u + cell * l.volume, own, (size_t)l.volume * sizeof *u);
    }
}

void OF(box_cells)(const struct box_plan *p, const struct box_points *points, int64_t n, const int64_t *cells,
                   const double *trace, const double *u, double *out) {
    int64_t size = (int64_t)p->modes[0] * p->modes[1] * p->modes[2], width = size;
    for (int d = 0; d < 3; d++) width += 2 * p->face[d];
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        struct local l;
        double *to = out + i * width + size;
        visit(p, points, cells[i], &l);
        memcpy(to - size, u + cells[i] * size, (size_t)size * sizeof *u);
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2 && p->present[axis]; side++, to += p->face[axis])
                gather_face(&l, trace, axis, side, to);
    }
}

/* ------------------------------------------------------------------------------------------ balance */

/* Of the faces of an axis, in plain modes: q.e and u at both ends as sums with the sign of the side, and the
 * traces; six arrays of one face each. */
enum { LOWER_Q, UPPER_Q, LOWER_U, UPPER_U, LOWER_TRACE, UPPER_TRACE, N_ENDS };

static void find_ends(const struct local *l, const double *trace, int axis, const double *values,
                      const double *slopes, double *ends) {
    const struct box_points *points = l->c.points;
    const int64_t face = l->c.plan->face[axis];
    const double *even = values + 2 * axis * l->size, *odd = even + l->size,
                 *slope_even = slopes + 2 * axis * l->size, *slope_odd = slope_even + l->size,
                 *squares = points->squares + 2 * points->lines[axis][l->c.at[axis]],
                 factor = l->c.k / points->halves[axis][l->c.at[axis]];
    double *lower = ends + LOWER_TRACE * face, *upper = ends + UPPER_TRACE * face;
    gather_face(l, trace, axis, 0, lower);
    gather_face(l, trace, axis, 1, upper);
    for (int64_t i = 0; i < face; i++) {
        const double q_0 = factor * (slope_odd[i] - squares[0] * (upper[i] - lower[i])),
                     q_1 = factor * (slope_even[i] - squares[1] * (upper[i] + lower[i]));
        ends[LOWER_Q * face + i] = q_0 - q_1;
        ends[UPPER_Q * face + i] = q_0 + q_1;
        ends[LOWER_U * face + i] = even[i] - odd[i];
        ends[UPPER_U * face + i] = even[i] + odd[i];
    }
}

/* Integrals of the moduli of all six over the reference face; work: as many numbers. */
static void integrate_moduli(const struct local *l, int axis, const double *ends, double *at_points,
                             double *work, double sums[N_ENDS]) {
    const struct box_points *points = l->c.points;
    const int slow = slow_axis(axis), fast = fast_axis(axis), ns = l->extent[slow], nf = l->extent[fast];
    const int64_t face = (int64_t)ns * nf;
    const double *S = points->values + (int64_t)points->lines[slow][l->c.at[slow]] * ns * ns,
                 *F = points->values + (int64_t)points->lines[fast][l->c.at[fast]] * nf * nf, *from = ends;
    if (l->c.plan->present[slow]) {
        OF(tensor_contract)(N_ENDS * nf, ns, ns, 1, S, from, ns, work, ns);
        from = work;
    }
    if (l->c.plan->present[fast]) {
        OF(tensor_contract)(N_ENDS, nf, nf, ns, F, from, face, at_points, face);
        from = at_points;
    }
    for (int e = 0; e < N_ENDS;
         e++, from += face) { /* a sum for every column, since one would wait for itself */
        double columns[MAX_LINE] = {0.0};
        for (int y = 0; y < nf; y++) {
            const double weight = l->c.plan->present[fast] ? points->weights[y] : 1.0;
            for (int x = 0; x < ns; x++) columns[x] += weight * fabs(from[y * ns + x]);
        }
        sums[e] = 0.0;
        for (int x = 0; x < ns; x++)
            sums[e] += (l->c.plan->present[slow] ? points->weights[x] : 1.0) * columns[x];
    }
}

/* Of all modes, by axes; an absent one has one mode, which is 1. */
static void find_moments(const struct local *l, const double *moments[3]) {
    static const double one = 1.0;
    for (int d = 0; d < 3; d++)
        moments[d] = l->c.plan->present[d]
                         ? l->c.points->moments + (int64_t)l->c.points->lines[d][l->c.at[d]] * l->extent[d]
                         : &one;
}

static void balance_axis(const struct local *l, int axis, double V, const double *ends,
                         const double *const *moments, const double sums[N_ENDS], double *out) {
    const int slow = slow_axis(axis), fast = fast_axis(axis);
    const int64_t face = l->c.plan->face[axis];
    const double half = l->c.points->halves[axis][l->c.at[axis]], area = V / half,
                 tau = l->c.k / half * l->c.points->rho[l->c.points->lines[axis][l->c.at[axis]]];
    for (int side = 0; side < 2; side++) {
        const double sign = side ? 1.0 : -1.0, *q = ends + (LOWER_Q + side) * face,
                     *u = ends + (LOWER_U + side) * face, *trace = ends + (LOWER_TRACE + side) * face;
        double flux = 0.0, columns[MAX_LINE] = {0.0};
        for (int f = 0; f < l->extent[fast]; f++)
            for (int s = 0; s < l->extent[slow]; s++) {
                const int64_t i = (int64_t)f * l->extent[slow] + s;
                columns[s] += moments[fast][f] * (sign * q[i] + tau * (u[i] - trace[i]));
            }
        for (int s = 0; s < l->extent[slow]; s++) flux += moments[slow][s] * columns[s];
        out[2 + 2 * axis + side] = area * flux;
        out[0] -= area * flux;
        out[1] += area * (sums[LOWER_Q + side] + tau * (sums[LOWER_U + side] + sums[LOWER_TRACE + side]));
    }
}

/* The sum over i, j, k of u(i,j,k) weights[0][i] weights[1][j] weights[2][k]. Several sums, since one would wait for
 * itself. */
static double weigh(const int *extent, const double *const *weights, const double *u) {
    enum { SUMS = 8 };
    double sums[SUMS] = {0.0}, sum = 0.0;
    const int n = extent[0], whole = n / SUMS * SUMS;
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += n) {
            const double weight = weights[2][k] * weights[1][j];
            for (int i = 0; i < whole; i += SUMS)
                for (int s = 0; s < SUMS; s++) sums[s] += weight * weights[0][i + s] * u[i + s];
            for (int i = whole; i < n; i++) sums[i - whole] += weight * weights[0][i] * u[i];
        }
    for (int s = 0; s < SUMS; s++) sum += sums[s];
    return sum;
}

static void balance_cell(const struct local *l, const double *trace, const double *loads, const double *u,
                         double *out) {
    static const double zeros[MAX_LINE];
    const struct box_points *points = l->c.points;
    const int64_t faces = 6 * l->size + KERNEL_SLACK;
    double *own = room_of_thread(l->c.plan), *values = own + l->volume + KERNEL_SLACK,
           *slopes = values + faces, *ends = slopes + faces, *at_points = ends + faces,
           *work = at_points + faces, V = 1.0, sums[N_ENDS];
    const double *moments[3], *at_ends[3], *at_slopes[3];
    find_moments(l, moments);
    for (int d = 0; d < 3; d++) {
        const int64_t first = (int64_t)points->lines[d][l->c.at[d]] * l->extent[d];
        at_ends[d] = l->c.plan->present[d] ? points->ends + first : zeros;
        at_slopes[d] = l->c.plan->present[d] ? points->slopes + first : zeros;
        V *= points->halves[d][l->c.at[d]];
    }
    take_numbers(l, u, own);
    OF(line_reduce)(l->extent, l->size, at_ends, own, values);
    OF(line_reduce)(l->extent, l->size, at_slopes, own, slopes);
    memset(out, 0, KERNEL_BOX_BALANCE * sizeof *out);
    out[0] = weigh(l->extent, moments, loads);
    if (l->reaction != 0.0) out[0] -= l->reaction * weigh(l->extent, moments, own);
    for (int axis = 0; axis < 3; axis++) {
        if (!l->c.plan->present[axis]) continue;
        find_ends(l, trace, axis, values, slopes, ends);
        integrate_moduli(l, axis, ends, at_points, work, sums);
        balance_axis(l, axis, V, ends, moments, sums, out);
    }
}

void OF(box_balance)(const struct box_plan *p, const struct box_points *points, const double *trace,
                     const double *loads, const double *u, double *balance) {
    const int64_t n_cells = (int64_t)p->cells[0] * p->cells[1] * p->cells[2];
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t cell = 0; cell < n_cells; cell++) {
        struct local l;
        visit(p, points, cell, &l);
        balance_cell(&l, trace, loads + cell * l.volume, u + cell * l.volume,
                     balance + cell * KERNEL_BOX_BALANCE);
    }
}
