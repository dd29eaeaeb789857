/* What else kernels on the cells of a box compute (kernels/box.h): the diagonal, the balance of cells, and
 * cells as the host wants to see them. */
#include "kernels/box_cell.h"

#include "kernels/ref/ref.h"

/* ------------------------------------------------------------------------------------------ diagonal */

/* The diagonal of a cell's matrix for k = 1 at mode (i, j) of the faces of an axis: the sum over both
 * parities of a gamma B B - a^2 (sum of w along the axis). */
static double own_diagonal(const struct cell *c, int axis, int i, int j) {
    const struct box_numbers *f = &c->plan->f64;
    const int *n = c->plan->modes, slow = slow_axis(axis), fast = fast_axis(axis);
    double a = c->a[axis], sum = 0.0,
           BB = entry(c, f->squares, slow, n[slow], i) * entry(c, f->squares, fast, n[fast], j);
    double rest = c->reaction + c->a[slow] * entry(c, f->eigenvalues, slow, n[slow], i) +
                  c->a[fast] * entry(c, f->eigenvalues, fast, n[fast], j);
    for (int m = 0; m < n[axis]; m++)
        sum +=
            entry(c, f->squares, axis, n[axis], m) / (rest + a * entry(c, f->eigenvalues, axis, n[axis], m));
    return a * BB * (entry(c, f->gamma, axis, 2, 0) + entry(c, f->gamma, axis, 2, 1) - a * sum);
}

static void add_diagonal(const struct cell *c, int axis, const double *diagonals, double *d) {
    const struct box_plan *p = c->plan;
    const int slow = slow_axis(axis), fast = fast_axis(axis), table = p->tables[c->number];
    const double *shared = diagonals + (table < 0 ? 0 : table) * (p->face[0] + p->face[1] + p->face[2]);
    for (int i = 0; i < axis; i++) shared += p->face[i];
    for (int i = 0; i < p->modes[slow]; i++)
        for (int j = 0; j < p->modes[fast]; j++) {
            int64_t t = box_face_mode(p, slow, fast, i, j);
            double value = c->k * (table >= 0 ? shared[t] : own_diagonal(c, axis, i, j));
            for (int side = 0; side < 2; side++)
                if (c->where[axis][side] >= 0) d[c->where[axis][side] + t * p->lanes] += value;
        }
}

void box_diagonal_ref(const struct box_plan *p, const double *diagonals, double *d) {
    struct cell c;
    for (int64_t i = 0; i < p->size; i++) d[i] = 0.0;
    for (int64_t cell = 0; cell < (int64_t)p->cells[0] * p->cells[1] * p->cells[2]; cell++) {
        look_at(p, NULL, cell, &c);
        for (int axis = 0; axis < 3; axis++)
            if (p->present[axis]) add_diagonal(&c, axis, diagonals, d);
    }
    for (int64_t i = 0; i < p->size; i++) d[i] = d[i] > 0.0 ? 1.0 / d[i] : 0.0;
}

/* ------------------------------------------------------------------------------------------ balance */

/* Of the faces of one axis, by plain modes (slow x fast): u and q.e at the ends as sums of even and of odd
 * modes, and the traces. */
struct ends {
    double *u[2], *q[2], *trace[2];
};

static struct ends ends_of(const struct box_plan *p) {
    struct ends e;
    double *room = room_of(p);
    int64_t face = 1;
    for (int d = 0; d < 3; d++)
        if (p->present[d] && p->face[d] > face) face = p->face[d];
    for (int side = 0; side < 2; side++, room += 3 * face) {
        e.u[side] = room;
        e.q[side] = room + face;
        e.trace[side] = room + 2 * face;
    }
    return e;
}

static int line_of(const struct cell *c, int axis) {
    return c->points->lines[axis][c->at[axis]];
}

/* With q = k (2/h) [D'u - e_+ uhat_+ + e_- uhat_-]: what is even at the ends comes from odd modes of u. */
static void find_ends(const struct cell *c, const double *trace, int axis, const double *u,
                      const struct ends *out) {
    const struct box_plan *p = c->plan;
    const struct box_points *points = c->points;
    const int *n = p->modes, slow = slow_axis(axis), fast = fast_axis(axis), line = line_of(c, axis);
    const int64_t steps[3] = {1, n[0], (int64_t)n[0] * n[1]};
    const double *ends = points->ends + line * n[axis], *slopes = points->slopes + line * n[axis],
                 *squares = points->squares + 2 * line, factor = c->k / points->halves[axis][c->at[axis]];
    for (int i = 0; i < n[slow]; i++)
        for (int j = 0; j < n[fast]; j++) {
            int64_t t = box_face_mode(p, slow, fast, i, j), at = (int64_t)i * n[fast] + j;
            double b = sqrt(entry(c, p->f64.squares, slow, n[slow], i) *
                            entry(c, p->f64.squares, fast, n[fast], j)),
                   value[2] = {0.0}, slope[2] = {0.0};
            for (int side = 0; side < 2; side++) out->trace[side][at] = b * trace_of(c, trace, axis, side, t);
            for (int m = 0; m < n[axis]; m++) {
                double x = u[i * steps[slow] + j * steps[fast] + m * steps[axis]];
                value[m >= p->even[axis]] += ends[m] * x;
                slope[m >= p->even[axis]] += slopes[m] * x;
            }
            out->u[0][at] = value[0];
            out->u[1][at] = value[1];
            out->q[0][at] = factor * (slope[1] - squares[0] * (out->trace[1][at] - out->trace[0][at]));
            out->q[1][at] = factor * (slope[0] - squares[1] * (out->trace[1][at] + out->trace[0][at]));
        }
}

/* The integral over the reference face of |a + sign b|, modes by slow and fast. */
static double absolute(const struct cell *c, int axis, const double *a, double sign, const double *b) {
    const int slow = slow_axis(axis), fast = fast_axis(axis), ns = c->plan->modes[slow],
              nf = c->plan->modes[fast];
    const double *S = c->points->values + (int64_t)line_of(c, slow) * ns * ns,
                 *F = c->points->values + (int64_t)line_of(c, fast) * nf * nf;
    double sum = 0.0;
    for (int x = 0; x < ns; x++)
        for (int y = 0; y < nf; y++) {
            double value = 0.0;
            for (int i = 0; i < ns; i++)
                for (int j = 0; j < nf; j++)
                    value += (ns > 1 ? S[x * ns + i] : 1.0) * (nf > 1 ? F[y * nf + j] : 1.0) *
                             (a[i * nf + j] + sign * b[i * nf + j]);
            sum +=
                (ns > 1 ? c->points->weights[x] : 1.0) * (nf > 1 ? c->points->weights[y] : 1.0) * fabs(value);
        }
    return sum;
}

static double moment(const struct cell *c, int axis, int mode) {
    const int n = c->plan->modes[axis];
    return c->plan->present[axis] ? c->points->moments[(int64_t)line_of(c, axis) * n + mode] : 1.0;
}

static void balance_faces(const struct cell *c, int axis, double V, const struct ends *e, double *out) {
    const struct box_plan *p = c->plan;
    const int slow = slow_axis(axis), fast = fast_axis(axis);
    const int64_t size = (int64_t)p->modes[slow] * p->modes[fast];
    const double half = c->points->halves[axis][c->at[axis]], area = V / half,
                 tau = c->k / half * c->points->rho[line_of(c, axis)];
    for (int side = 0; side < 2; side++) {
        double sign = side ? 1.0 : -1.0, flux = 0.0;
        for (int64_t i = 0; i < size; i++)
            flux += moment(c, slow, (int)(i / p->modes[fast])) * moment(c, fast, (int)(i % p->modes[fast])) *
                    (sign * (e->q[0][i] + sign * e->q[1][i]) +
                     tau * (e->u[0][i] + sign * e->u[1][i] - e->trace[side][i]));
        out[2 + 2 * axis + side] = area * flux;
        out[0] -= area * flux;
        out[1] += area * (absolute(c, axis, e->q[0], sign, e->q[1]) +
                          tau * (absolute(c, axis, e->u[0], sign, e->u[1]) +
                                 absolute(c, axis, e->trace[side], 0.0, e->trace[side])));
    }
}

void box_balance_ref(const struct box_plan *p, const struct box_points *points, const double *trace,
                     const double *loads, const double *u, double *balance) {
    const int *n = p->modes;
    const int64_t size = (int64_t)n[0] * n[1] * n[2];
    for (int64_t cell = 0; cell < (int64_t)p->cells[0] * p->cells[1] * p->cells[2]; cell++) {
        double *out = balance + cell * KERNEL_BOX_BALANCE, V = 1.0;
        struct cell c;
        const struct ends e = ends_of(p);
        look_at(p, points, cell, &c);
        for (int d = 0; d < 3; d++) V *= points->halves[d][c.at[d]];
        for (int i = 0; i < KERNEL_BOX_BALANCE; i++) out[i] = 0.0;
        for (int64_t i = 0; i < size; i++)
            out[0] += moment(&c, 0, (int)(i % n[0])) * moment(&c, 1, (int)(i / n[0] % n[1])) *
                      moment(&c, 2, (int)(i / n[0] / n[1])) *
                      (loads[cell * size + i] - c.k * c.reaction * u[cell * size + i]);
        for (int axis = 0; axis < 3; axis++) {
            if (!p->present[axis]) continue;
            find_ends(&c, trace, axis, u + cell * size, &e);
            balance_faces(&c, axis, V, &e, out);
        }
    }
}

void box_imbalance_ref(const struct box_plan *p, const double *balance, double *out) {
    for (int64_t cell = 0; cell < (int64_t)p->cells[0] * p->cells[1] * p->cells[2]; cell++) {
        const double *of = balance + cell * KERNEL_BOX_BALANCE;
        int at[3] = {(int)(cell % p->cells[0]), (int)(cell / p->cells[0] % p->cells[1]),
                     (int)(cell / p->cells[0] / p->cells[1])};
        double worst = fabs(of[0]), missing = of[0], made = of[0], through = 0.0;
        for (int axis = 0; axis < 3; axis++) {
            int next[3] = {at[0], at[1], at[2]};
            if (!p->present[axis]) continue;
            const double lower = of[2 + 2 * axis], upper = of[3 + 2 * axis];
            made += lower + upper;
            if (at[axis] == 0 && !p->periodic[axis]) through += fabs(lower);
            if (++next[axis] == p->cells[axis] && !p->periodic[axis]) {
                through += fabs(upper);
                continue;
            }
            if (next[axis] == p->cells[axis]) next[axis] = 0;
            int64_t other = ((int64_t)next[2] * p->cells[1] + next[1]) * p->cells[0] + next[0];
            double sum = upper + balance[other * KERNEL_BOX_BALANCE + 2 + 2 * axis];
            worst = fmax(worst, fabs(sum));
            missing += sum;
        }
        out[KERNEL_BOX_IMBALANCE * cell] = worst;
        out[KERNEL_BOX_IMBALANCE * cell + 1] = of[1];
        out[KERNEL_BOX_IMBALANCE * cell + 2] = missing;
        out[KERNEL_BOX_IMBALANCE * cell + 3] = through + fabs(made);
    }
}

/* ------------------------------------------------------------------------------------------ cells */

void box_cells_ref(const struct box_plan *p, const struct box_points *points, int64_t n, const int64_t *cells,
                   const double *trace, const double *u, double *out) {
    const int64_t size = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
    for (int64_t i = 0; i < n; i++) {
        struct cell c;
        look_at(p, points, cells[i], &c);
        for (int64_t m = 0; m < size; m++) *out++ = u[cells[i] * size + m];
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2 && p->present[axis]; side++) {
                const int slow = slow_axis(axis), fast = fast_axis(axis), *m = p->modes;
                for (int f = 0; f < m[fast]; f++)
                    for (int s = 0; s < m[slow]; s++)
                        *out++ = sqrt(entry(&c, p->f64.squares, slow, m[slow], s) *
                                      entry(&c, p->f64.squares, fast, m[fast], f)) *
                                 trace_of(&c, trace, axis, side, box_face_mode(p, slow, fast, s, f));
            }
    }
}
