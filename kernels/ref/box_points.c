/* What box_load and box_recover compute (kernels/box.h), cell by cell. */
#include "kernels/box_cell.h"

#include "kernels/ref/ref.h"

/* b_i b_j b_k. */
static double scale_of(const struct cell *c, const int m[3]) {
    double product = 1.0;
    for (int d = 0; d < 3; d++) product *= entry(c, c->plan->f64.squares, d, c->plan->modes[d], m[d]);
    return sqrt(product);
}

/* v_d of the parity of the modes: known traces, and those of the vector (or NULL). */
static double value_of(const struct cell *c, const double *trace, int axis, const int m[3]) {
    const struct box_plan *p = c->plan;
    int slow = slow_axis(axis), fast = fast_axis(axis), odd = m[axis] >= p->even[axis];
    int64_t t = box_face_mode(p, slow, fast, m[slow], m[fast]);
    double lower = trace_of(c, trace, axis, 0, t), upper = trace_of(c, trace, axis, 1, t);
    return odd ? upper - lower : upper + lower;
}

/* Along all axes, in place. */
static void transform(const struct cell *c, const double *matrices, double *u) {
    const int *n = c->plan->modes;
    int64_t inner = 1;
    double line[MAX_LINE];
    for (int axis = 0; axis < 3; inner *= n[axis], axis++) {
        if (!c->plan->present[axis]) continue;
        const double *T = matrices + (int64_t)c->points->lines[axis][c->at[axis]] * n[axis] * n[axis];
        int64_t outer = (int64_t)n[0] * n[1] * n[2] / n[axis] / inner;
        for (int64_t l = 0; l < outer * inner; l++) {
            double *from = u + l / inner * n[axis] * inner + l % inner;
            for (int i = 0; i < n[axis]; i++) {
                line[i] = 0.0;
                for (int q = 0; q < n[axis]; q++) line[i] += T[i * n[axis] + q] * from[q * inner];
            }
            for (int i = 0; i < n[axis]; i++) from[i * inner] = line[i];
        }
    }
}

/* u in modes, from f at the points, or loads, and the traces. */
static void solve(const struct cell *c, const double *f, const double *trace, double *u) {
    const int *n = c->plan->modes;
    int64_t size = (int64_t)n[0] * n[1] * n[2], i = 0;
    double V = 1.0;
    int m[3];
    for (int d = 0; d < 3 && c->points->forward != NULL; d++) V *= c->points->halves[d][c->at[d]];
    for (int64_t q = 0; q < size; q++) u[q] = f != NULL ? V * f[q] : 0.0;
    if (c->points->forward != NULL) transform(c, c->points->forward, u);
    for (m[2] = 0; m[2] < n[2]; m[2]++)
        for (m[1] = 0; m[1] < n[1]; m[1]++)
            for (m[0] = 0; m[0] < n[0]; m[0]++, i++) {
                double sum = 0.0, Z = c->reaction;
                for (int d = 0; d < 3; d++) {
                    if (!c->plan->present[d]) continue;
                    sum += c->a[d] * value_of(c, trace, d, m);
                    Z += c->a[d] * entry(c, c->plan->f64.eigenvalues, d, n[d], m[d]);
                }
                u[i] = (u[i] / c->k + scale_of(c, m) * sum) / Z;
            }
}

/* Adds what the faces of an axis receive. */
static void add_faces(const struct cell *c, int axis, const double *u, double *F) {
    const int L = c->plan->lanes;
    const struct box_plan *p = c->plan;
    int slow = slow_axis(axis), fast = fast_axis(axis), m[3];
    for (m[slow] = 0; m[slow] < p->modes[slow]; m[slow]++)
        for (m[fast] = 0; m[fast] < p->modes[fast]; m[fast]++) {
            int64_t t = box_face_mode(p, slow, fast, m[slow], m[fast]);
            double out[2] = {0};
            for (m[axis] = 0; m[axis] < p->modes[axis]; m[axis]++) {
                int odd = m[axis] >= p->even[axis];
                out[odd] += scale_of(c, m) * u[((int64_t)m[2] * p->modes[1] + m[1]) * p->modes[0] + m[0]];
            }
            for (int odd = 0; odd < 2; odd++) {
                m[axis] = box_first(p, axis, odd);
                double BB = entry(c, p->f64.squares, slow, p->modes[slow], m[slow]) *
                            entry(c, p->f64.squares, fast, p->modes[fast], m[fast]);
                out[odd] -= entry(c, p->f64.gamma, axis, 2, odd) * BB * value_of(c, NULL, axis, m);
                out[odd] *= c->k * c->a[axis];
            }
            for (int side = 0; side < 2; side++) {
                const double *given = p->fixed[axis][side] ? NULL : known(c, axis, side);
                if (c->where[axis][side] < 0) continue;
                F[c->where[axis][side] + t * L] +=
                    (side ? out[0] + out[1] : out[0] - out[1]) + (given != NULL ? given[t] : 0.0);
            }
        }
}

void box_load_ref(const struct box_plan *p, const struct box_points *points, const double *f, double *F) {
    double *const u = room_of(p);
    int64_t n_cells = (int64_t)p->cells[0] * p->cells[1] * p->cells[2],
            size = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
    struct cell c;
    for (int64_t i = 0; i < p->size; i++) F[i] = 0.0;
    for (int64_t cell = 0; cell < n_cells; cell++) {
        look_at(p, points, cell, &c);
        solve(&c, f != NULL ? f + cell * size : NULL, NULL, u);
        for (int axis = 0; axis < 3; axis++)
            if (p->present[axis]) add_faces(&c, axis, u, F);
    }
}

void box_recover_ref(const struct box_plan *p, const struct box_points *points, const double *trace,
                     const double *f, double *u) {
    int64_t n_cells = (int64_t)p->cells[0] * p->cells[1] * p->cells[2],
            size = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
    struct cell c;
    for (int64_t cell = 0; cell < n_cells; cell++) {
        look_at(p, points, cell, &c);
        solve(&c, f != NULL ? f + cell * size : NULL, trace, u + cell * size);
        if (points->backward != NULL) transform(&c, points->backward, u + cell * size);
    }
}
