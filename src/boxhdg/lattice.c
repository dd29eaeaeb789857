/* Lattices: along the axis of faces free planes, along the other two the modes of all cells; u has modes
 * along all three. Every length is a multiple of what tensor cores like, and zero beyond what is there. */
#include "boxhdg/lattice.h"

#include <math.h>

#include "base/memory.h"
#include "boxhdg/axis.h"

#define MULTIPLE 16

/* Matrices of one axis, rows and columns padded: modes m, planes p. */
struct line {
    int n_modes, n_planes; /* with what is padded; 1 and 0 where the axis is absent */
    double *forward;       /* m x m: from the unknowns of the cells, as residuals in lanes, */
    double *backward;      /* and back, as unknowns in lanes */
    double *P, *Pt;        /* m x p and p x m */
    double *inverse;       /* p x p: G^-1 / k */
    double *theta;         /* m */
};

struct lattice {
    const struct boxhdg_lanes *lanes;
    struct line own[3];
    const struct line *lines[3]; /* axes alike share theirs */
    double k, lambda;
    double *hat[3], *work[2]; /* as large as the largest of them: they change places */
    double *u;
};

static int padded(int n) {
    return n == 1 ? 1 : (n + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

/* ------------------------------------------------------------------------------------------ matrices */

/* T' B T of the folds of an axis: entry (mode, plane) of P, or (plane, plane) of the inverse. */
static double unfold_column(const struct box_fold *f, int parity, int column, const double *row) {
    double sum = 0.0;
    for (int s = 0; s < 2; s++) {
        int i = f->from[1][column][s];
        if ((i >= f->sizes[0]) == parity)
            sum += f->weights[1][column][s] * row[i - box_fold_first(f, parity)];
    }
    return sum;
}

static void fill_planes(const struct box_axis *a, double k, const struct line *line, double *P, double *Pt,
                        double *inverse) {
    const struct box_fold *f = &a->plane_fold;
    for (int mode = 0; mode < a->modes.n_modes; mode++) {
        int parity = mode >= a->modes.sizes[0], size = f->sizes[parity];
        const double *row = a->P[parity] + (int64_t)(mode - (parity ? a->modes.sizes[0] : 0)) * size;
        for (int plane = 0; plane < a->n_planes; plane++)
            P[mode * line->n_planes + plane] = Pt[plane * line->n_modes + mode] =
                unfold_column(f, parity, plane, row);
    }
    for (int s = 0; s < a->n_planes; s++)
        for (int t = 0; t < a->n_planes; t++)
            for (int e = 0; e < 2; e++) {
                int i = f->from[1][s][e], parity = i >= f->sizes[0];
                const double *row =
                    a->inverse[parity] + (int64_t)(i - box_fold_first(f, parity)) * f->sizes[parity];
                inverse[s * line->n_planes + t] += f->weights[1][s][e] * unfold_column(f, parity, t, row) / k;
            }
}

/* b of lane and mode along an axis. */
static double root_of(const struct boxhdg_lanes *lanes, int axis, int cell, int mode) {
    const struct box_plan *p = &lanes->plan;
    const int width = axis == 0 ? p->lanes : 1;
    return lanes->b[axis][((int64_t)(cell / width) * p->modes[axis] + mode) * width + cell % width];
}

static facet_status make_line(const struct boxhdg_lanes *lanes, int axis, double k, struct line *line) {
    facet_status status = FACET_OK;
    const struct device *device = lanes->device;
    struct box_axis a = {0};
    double *host = NULL, *theta, *P, *Pt, *inverse;
    int n = lanes->plan.modes[axis];
    TRY(box_axis_create_whole(lanes->hdg, lanes->direction[axis], &a));
    int m = line->n_modes = padded(a.modes.n_modes), p = line->n_planes = padded(a.n_planes);
    TRY(CALLOC(host, 2 * (int64_t)m * m + 2 * (int64_t)m * p + (int64_t)p * p + m));
    double *forward = host, *backward = forward + (int64_t)m * m;
    P = backward + (int64_t)m * m;
    Pt = P + (int64_t)m * p;
    inverse = Pt + (int64_t)m * p;
    theta = inverse + (int64_t)p * p;
    for (int i = 0; i < a.modes.n_modes; i++) {
        double b = root_of(lanes, axis, i / n, i % n);
        for (int mode = 0; mode < a.modes.n_modes; mode++)
            forward[(int64_t)mode * m + i] = backward[(int64_t)i * m + mode] =
                box_direction_value(&a.modes, i, mode) / b;
    }
    for (int i = 0; i < m; i++) theta[i] = i < a.modes.n_modes ? a.modes.theta[i] : 1.0;
    fill_planes(&a, k, line, P, Pt, inverse);
    TRY(device_copy(device, &line->forward, forward, (size_t)m * (size_t)m, sizeof *host));
    TRY(device_copy(device, &line->backward, backward, (size_t)m * (size_t)m, sizeof *host));
    TRY(device_copy(device, &line->P, P, (size_t)m * (size_t)p, sizeof *host));
    TRY(device_copy(device, &line->Pt, Pt, (size_t)m * (size_t)p, sizeof *host));
    TRY(device_copy(device, &line->inverse, inverse, (size_t)p * (size_t)p, sizeof *host));
    TRY(device_copy(device, &line->theta, theta, (size_t)m, sizeof *host));
done:
    box_axis_destroy(&a);
    base_free(&host);
    return status;
}

/* An axis that is not there has one mode, which is 1. */
static facet_status make_absent(const struct device *device, struct line *line) {
    const double zero = 0.0;
    line->n_modes = 1;
    return device_copy(device, &line->theta, &zero, 1, sizeof zero);
}

/* ------------------------------------------------------------------------------------------ the solve */

/* The lattice of the faces of an axis (or of u: -1). */
static int64_t sizes_of(const struct lattice *s, int axis, int size[3]) {
    for (int d = 0; d < 3; d++) size[d] = d == axis ? s->lines[d]->n_planes : s->lines[d]->n_modes;
    return (int64_t)size[0] * size[1] * size[2];
}

/* y = T x + b y along an axis: size is that of x, and becomes that of y. */
static void along(const struct lattice *s, int axis, int n_out, const double *T, const double *x, double b,
                  double *y, int size[3]) {
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < 3; d++) *(d < axis ? &inner : &outer) *= d == axis ? 1 : size[d];
    device_axis_apply(s->lanes->device, outer, n_out, size[axis], inner, T, x, b, y);
    size[axis] = n_out;
}

static void swap(double **a, double **b) {
    double *keep = *a;
    *a = *b;
    *b = keep;
}

/* Both tangential axes, those that are there: from work[0] to work[0]. */
static void transform(struct lattice *s, int axis, int back, int size[3]) {
    for (int d = 0; d < 3; d++) {
        const struct line *l = s->lines[d];
        if (d == axis || l->forward == NULL) continue;
        along(s, d, l->n_modes, back ? l->backward : l->forward, s->work[0], 0.0, s->work[1], size);
        swap(&s->work[0], &s->work[1]);
    }
}

static void solve(const struct operator* M, const struct vector *F, struct vector *x) {
    struct lattice *s = M->data;
    const struct box_plan *plan = &s->lanes->plan;
    const struct device *device = s->lanes->device;
    int size[3], full[3], first = 1;
    for (int d = 0; d < 3; d++) {
        if (s->hat[d] == NULL) continue;
        sizes_of(s, d, size);
        device_box_to_lattice(device, plan, d, size[0], size[1], size[2], F->data, s->work[0]);
        transform(s, d, 0, size);
        swap(&s->hat[d], &s->work[0]);
        along(s, d, s->lines[d]->n_modes, s->lines[d]->P, s->hat[d], first ? 0.0 : 1.0, s->u, size);
        first = 0;
    }
    sizes_of(s, -1, full);
    device_axis_divide(device, full[0], full[1], full[2], s->lines[0]->theta, s->lines[1]->theta,
                       s->lines[2]->theta, s->k, s->lambda, s->u);
    vector_fill(x, 0.0);
    for (int d = 0; d < 3; d++) {
        if (s->hat[d] == NULL) continue;
        sizes_of(s, d, size);
        along(s, d, s->lines[d]->n_planes, s->lines[d]->inverse, s->hat[d], 0.0, s->work[0], size);
        sizes_of(s, -1, full);
        along(s, d, s->lines[d]->n_planes, s->lines[d]->Pt, s->u, 1.0, s->work[0], full);
        transform(s, d, 1, size);
        device_box_from_lattice(device, plan, d, size[0], size[1], size[2], s->work[0], x->data);
    }
}

/* ------------------------------------------------------------------------------------------ set-up */

static void release(struct operator* M) {
    struct lattice *s = M->data;
    if (s == NULL) return;
    const struct device *device = s->lanes->device;
    for (int d = 0; d < 3; d++) {
        struct line *l = &s->own[d];
        device_free(device, &l->forward);
        device_free(device, &l->backward);
        device_free(device, &l->P);
        device_free(device, &l->Pt);
        device_free(device, &l->inverse);
        device_free(device, &l->theta);
        device_free(device, &s->hat[d]);
    }
    device_free(device, &s->u);
    device_free(device, &s->work[0]);
    device_free(device, &s->work[1]);
    base_free(&M->data);
}

/* Axes 1 and 2 may have the matrices of an earlier one: the same cells, conditions, lines, and lanes say
 * nothing else about them. */
static facet_status make_lines(struct lattice *s) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = s->lanes;
    for (int axis = 0; axis < 3; axis++) {
        for (int other = 0; other < axis && s->lines[axis] == NULL; other++)
            if (box_axis_same(lanes->hdg, lanes->direction[other], lanes->direction[axis]))
                s->lines[axis] = s->lines[other];
        if (s->lines[axis] != NULL) continue;
        s->lines[axis] = &s->own[axis];
        TRY(lanes->direction[axis] >= 0 ? make_line(lanes, axis, s->k, &s->own[axis])
                                        : make_absent(lanes->device, &s->own[axis]));
    }
done:
    return status;
}

facet_status operator_create_box_lattice(const struct boxhdg_lanes *lanes, struct operator* M) {
    facet_status status = FACET_OK;
    const struct device *device = lanes->device;
    struct lattice *s = NULL;
    int64_t most = 0;
    int size[3];
    TRY(CALLOC(s, 1));
    *M = (struct operator){.n = lanes->plan.size,
                           .device = device,
                           .apply = solve,
                           .free = release,
                           .data = s,
                           .name = "the direct solve of the box"};
    s->lanes = lanes;
    s->k = box_conductivity(&lanes->hdg->grid, 0);
    s->lambda = box_reaction(&lanes->hdg->grid, 0);
    TRY(make_lines(s));
    for (int d = 0; d < 3; d++) {
        int64_t n = sizes_of(s, d, size);
        most = n > most ? n : most;
    }
    for (int d = 0; d < 3; d++)
        if (s->lines[d]->n_planes > 0) TRY(device_alloc(device, &s->hat[d], (size_t)most, sizeof *s->u));
    TRY(device_alloc(device, &s->u, (size_t)sizes_of(s, -1, size), sizeof *s->u));
    for (int i = 0; i < 2; i++) TRY(device_alloc(device, &s->work[i], (size_t)most, sizeof *s->u));
done:
    if (status != FACET_OK && s != NULL) release(M);
    return status;
}

const char *boxhdg_lattice_refusal(const struct device *device) {
    return device_has(device, "box_to_lattice") && device_has(device, "axis_apply") ? NULL : "box_to_lattice";
}

double boxhdg_lattice_bytes(const struct boxhdg *h, const int cells[3]) {
    double all = 1.0, most = 0.0, matrices = 0.0;
    for (int d = 0; d < h->grid.dim; d++) {
        double m = padded(h->n * cells[d]);
        all *= m;
        matrices += 2.0 * m * (m + padded(cells[d] + 1));
    }
    for (int d = 0; d < h->grid.dim; d++)
        most = fmax(most, all / padded(h->n * cells[d]) * padded(cells[d] + 1));
    return 8.0 * (all + (h->grid.dim + 2.0) * most + matrices);
}
