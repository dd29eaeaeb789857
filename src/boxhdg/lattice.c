/* Lattices: along the axis of faces free planes, along the other two the modes of all cells; u has modes
 * along all three. Every length is a multiple of what the device likes, and zero beyond what is there. */
#include "boxhdg/lattice.h"

#include <math.h>

#include "base/memory.h"
#include "boxhdg/axis.h"

#define LEAST_SLAB 8
#define SLAB_TILES 8 /* by measurement: all threads work on one slab, from the second cache */

/* Matrices of one axis, rows and columns padded: modes m, planes p. From the unknowns of the cells, as
 * residuals in lanes, m x m; and back, as unknowns in lanes; P, m x p; P', p x m; G^-1 / k, p x p; and P' again,
 * one slab of columns after the other. */
enum matrix { FORWARD, BACKWARD, PLANES, MODES, INVERSE, SLABS, N_MATRICES };

struct line {
    int n_modes, n_planes; /* with what is padded; 1 and 0 where the axis is absent */
    void *matrices[2];     /* by precision: one after the other */
    int64_t starts[N_MATRICES + 1];
    double *theta; /* m */
    int smallest;  /* the index of the smallest of them */
};

struct lattice {
    const struct boxhdg_lanes *lanes;
    struct line own[3];
    const struct line *lines[3]; /* axes alike share theirs */
    double k, lambda;
    int singular, slab; /* modes of axis 2 of which there is u at once */
    /* Room for numbers of either precision, as large as the largest of them: they change places. */
    void *hat[3], *result[3], *work[2], *u;
};

static int padded(const struct device *device, int n) {
    const int multiple = device_lattice_multiple(device);
    return n == 1 ? 1 : (n + multiple - 1) / multiple * multiple;
}

/* u of a slab is some tiles, or what products like at least. */
static int slab_of(const struct device *device, double plane) {
    const int least = padded(device, LEAST_SLAB);
    const double numbers = SLAB_TILES * (double)device_tile_numbers(device);
    return least * (int)fmax(1.0, fmin(numbers / plane / least, 1e6));
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

/* Entry (mode, plane) of P, which comes three times. */
static void put_plane(const struct line *line, int slab, int mode, int plane, double value, double *host) {
    const int64_t m = line->n_modes, p = line->n_planes, first = mode / slab * slab,
                  width = m - first < slab ? m - first : slab;
    host[line->starts[PLANES] + mode * p + plane] = host[line->starts[MODES] + plane * m + mode] =
        host[line->starts[SLABS] + first * p + plane * width + mode - first] = value;
}

/* Planes belong to K / k, so that the matrices fit single precision whatever k is. */
static void fill_planes(const struct box_axis *a, const struct line *line, int slab, double *host) {
    const struct box_fold *f = &a->plane_fold;
    for (int mode = 0; mode < a->modes.n_modes; mode++) {
        int parity = mode >= a->modes.sizes[0], size = f->sizes[parity];
        const double *row = a->P[parity] + (int64_t)(mode - (parity ? a->modes.sizes[0] : 0)) * size;
        for (int plane = 0; plane < a->n_planes; plane++)
            put_plane(line, slab, mode, plane, unfold_column(f, parity, plane, row), host);
    }
    double *inverse = host + line->starts[INVERSE];
    for (int s = 0; s < a->n_planes; s++)
        for (int t = 0; t < a->n_planes; t++)
            for (int e = 0; e < 2; e++) {
                int i = f->from[1][s][e], parity = i >= f->sizes[0];
                const double *row =
                    a->inverse[parity] + (int64_t)(i - box_fold_first(f, parity)) * f->sizes[parity];
                inverse[s * line->n_planes + t] += f->weights[1][s][e] * unfold_column(f, parity, t, row);
            }
}

/* b of lane and mode along an axis. */
static double root_of(const struct boxhdg_lanes *lanes, int axis, int cell, int mode) {
    const struct box_plan *p = &lanes->plan;
    const int width = axis == 0 ? p->lanes : 1;
    return lanes->b[axis][((int64_t)(cell / width) * p->modes[axis] + mode) * width + cell % width];
}

static facet_status make_line(const struct lattice *s, int axis, struct line *line) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = s->lanes;
    const struct device *device = lanes->device;
    struct box_axis a = {0};
    double *host = NULL, *theta = NULL;
    int n = lanes->plan.modes[axis];
    TRY(box_axis_create_whole(lanes->hdg, lanes->direction[axis], &a));
    const int64_t m = line->n_modes = padded(device, a.modes.n_modes),
                  p = line->n_planes = padded(device, a.n_planes),
                  sizes[N_MATRICES] = {m * m, m * m, m * p, m * p, p * p, m * p};
    line->smallest = a.modes.smallest;
    for (int i = 0; i < N_MATRICES; i++) line->starts[i + 1] = line->starts[i] + sizes[i];
    int64_t all = line->starts[N_MATRICES];
    TRY(CALLOC(host, all));
    TRY(ALLOC(theta, m));
    for (int i = 0; i < a.modes.n_modes; i++) {
        double b = root_of(lanes, axis, i / n, i % n);
        for (int mode = 0; mode < a.modes.n_modes; mode++)
            host[line->starts[FORWARD] + mode * m + i] = host[line->starts[BACKWARD] + i * m + mode] =
                box_direction_value(&a.modes, i, mode) / b;
    }
    for (int i = 0; i < m; i++) theta[i] = i < a.modes.n_modes ? a.modes.theta[i] : 1.0;
    fill_planes(&a, line, s->slab, host);
    TRY(device_copy(device, &line->matrices[F64], host, (size_t)all, sizeof *host));
    TRY(device_alloc(device, &line->matrices[F32], (size_t)all, sizeof(float)));
    device_narrow(device, F32, all, line->matrices[F64], line->matrices[F32]);
    TRY(device_copy(device, &line->theta, theta, (size_t)m, sizeof *theta));
done:
    box_axis_destroy(&a);
    base_free(&host);
    base_free(&theta);
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

static void *number(enum precision precision, void *array, int64_t at) {
    return (char *)array + (size_t)at * precision_size(precision);
}
static const void *matrix_of(const struct lattice *s, enum precision precision, int axis, enum matrix which,
                             int64_t at) {
    const struct line *l = s->lines[axis];
    return (const char *)l->matrices[precision] + (size_t)(l->starts[which] + at) * precision_size(precision);
}

/* y = T x + b y along an axis, T having n_out rows, divided where `by` says so: size is that of x, and becomes
 * that of y. */
static void along(const struct lattice *s, enum precision precision, int axis, const void *T, int n_out,
                  const void *x, double b, const struct axis_division *by, void *y, int size[3]) {
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < 3; d++) *(d < axis ? &inner : &outer) *= d == axis ? 1 : size[d];
    device_axis_apply(s->lanes->device, precision, outer, n_out, size[axis], inner, T, x, b, by, y);
    size[axis] = n_out;
}

static void swap(void **a, void **b) {
    void *keep = *a;
    *a = *b;
    *b = keep;
}

/* Both tangential axes, those that are there: from work[0] to work[0]. */
static void transform(struct lattice *s, enum precision precision, int axis, enum matrix which, int size[3]) {
    for (int d = 0; d < 3; d++) {
        if (d == axis || s->lines[d]->matrices[F64] == NULL) continue;
        along(s, precision, d, matrix_of(s, precision, d, which, 0), size[d], s->work[0], 0.0, NULL,
              s->work[1], size);
        swap(&s->work[0], &s->work[1]);
    }
}

/* `count` modes of axis 2 from z on. */
struct slab {
    int z, count;
    struct axis_division by;
};

/* u of a slab from the faces of all axes, or (back) what becomes of it there. */
static void pass_slab(const struct lattice *s, enum precision precision, const struct slab *slab, int back) {
    int first = 1, last = 2;
    while (last > 0 && s->hat[last] == NULL) last--;
    for (int d = 0; d < 3; d++) {
        int size[3], full[3];
        if (s->hat[d] == NULL) continue;
        sizes_of(s, d, size);
        sizes_of(s, -1, full);
        const int64_t planes = size[d], z = d < 2 ? (int64_t)slab->z * size[0] * size[1] : 0,
                      part = d < 2
                                 ? 0
                                 : slab->z * planes; /* of lattices of axes 0 and 1; of matrices of axis 2 */
        if (d < 2) size[2] = slab->count;
        full[2] = slab->count;
        const void *T = matrix_of(s, precision, d, !back ? PLANES : d < 2 ? MODES : SLABS, part);
        if (back)
            along(s, precision, d, T, (int)planes, s->u, 1.0, NULL, number(precision, s->result[d], z), full);
        else
            along(s, precision, d, T, full[d], number(precision, s->hat[d], z), first ? 0.0 : 1.0,
                  d == last ? &slab->by : NULL, s->u, size);
        first = 0;
    }
}

/* The constant of a singular box. */
static void clear_constant(const struct lattice *s, enum precision precision, const struct slab *slab) {
    const int at[3] = {s->lines[0]->smallest, s->lines[1]->smallest, s->lines[2]->smallest - slab->z};
    if (!s->singular || at[2] < 0 || at[2] >= slab->count) return;
    device_fill(s->lanes->device, precision, 1, 0.0,
                number(precision, s->u,
                       ((int64_t)at[2] * s->lines[1]->n_modes + at[1]) * s->lines[0]->n_modes + at[0]));
}

static void pass_slabs(const struct lattice *s, enum precision precision) {
    int size[3];
    sizes_of(s, -1, size);
    struct slab slab = {.by = {.n_0 = size[0], .n_1 = size[1], .k = 1.0, .lambda = s->lambda / s->k}};
    for (int d = 0; d < 3; d++) slab.by.theta[d] = s->lines[d]->theta;
    for (; slab.z < size[2]; slab.z += slab.count, slab.by.theta[2] += slab.count) {
        slab.count = size[2] - slab.z < s->slab ? size[2] - slab.z : s->slab;
        pass_slab(s, precision, &slab, 0);
        clear_constant(s, precision, &slab);
        pass_slab(s, precision, &slab, 1);
    }
}

/* a F is what the lattices see. */
static void solve_in(struct lattice *s, enum precision precision, double a, const struct vector *F,
                     struct vector *x) {
    const struct box_plan *plan = &s->lanes->plan;
    const struct device *device = s->lanes->device;
    int size[3];
    for (int d = 0; d < 3; d++) {
        if (s->hat[d] == NULL) continue;
        sizes_of(s, d, size);
        device_box_to_lattice(device, precision, plan, d, size[0], size[1], size[2], a, F->data, s->work[0]);
        transform(s, precision, d, FORWARD, size);
        swap(&s->hat[d], &s->work[0]);
        along(s, precision, d, matrix_of(s, precision, d, INVERSE, 0), size[d], s->hat[d], 0.0, NULL,
              s->result[d], size);
    }
    pass_slabs(s, precision);
    vector_fill(x, 0.0);
    for (int d = 0; d < 3; d++) {
        if (s->hat[d] == NULL) continue;
        sizes_of(s, d, size);
        swap(&s->result[d], &s->work[0]);
        transform(s, precision, d, BACKWARD, size);
        device_box_from_lattice(device, precision, plan, d, size[0], size[1], size[2], 1.0 / a / s->k,
                                s->work[0], x->data);
    }
}

static void solve(const struct linear_operator *M, const struct vector *F, struct vector *x) {
    solve_in(M->data, F64, 1.0, F, x);
}

/* In single precision, F having the norm 1. */
static void solve_roughly(const struct linear_operator *M, const struct vector *F, struct vector *x) {
    double norm = vector_norm(F);
    if (norm > 0.0)
        solve_in(M->data, F32, 1.0 / norm, F, x);
    else
        vector_fill(x, 0.0);
}

/* ------------------------------------------------------------------------------------------ set-up */

static void release(struct linear_operator *M) {
    struct lattice *s = M->data;
    if (s == NULL) return;
    const struct device *device = s->lanes->device;
    for (int d = 0; d < 3; d++) {
        struct line *l = &s->own[d];
        for (int precision = 0; precision < 2; precision++) device_free(device, &l->matrices[precision]);
        device_free(device, &l->theta);
        device_free(device, &s->hat[d]);
        device_free(device, &s->result[d]);
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
        TRY(lanes->direction[axis] >= 0 ? make_line(s, axis, &s->own[axis])
                                        : make_absent(lanes->device, &s->own[axis]));
    }
done:
    return status;
}

static facet_status make_room(struct lattice *s) {
    facet_status status = FACET_OK;
    const struct device *device = s->lanes->device;
    int64_t most = 0;
    int size[3];
    for (int d = 0; d < 3; d++) {
        const int64_t n = sizes_of(s, d, size);
        most = n > most ? n : most;
    }
    sizes_of(s, -1, size);
    for (int d = 0; d < 3; d++) {
        const int64_t plane = (int64_t)size[(d + 1) % 3] * size[(d + 2) % 3];
        if (plane > INT32_MAX)
            FAIL(FACET_ERROR_INPUT, "a plane of %lld unknowns is too large for the direct solve of a box",
                 (long long)plane);
    }
    const int64_t slab = size[2] < s->slab ? size[2] : s->slab;
    TRY(device_alloc(device, &s->u, (size_t)(slab * size[0] * size[1]), sizeof(double)));
    for (int d = 0; d < 3; d++) {
        if (s->lines[d]->n_planes == 0) continue;
        TRY(device_alloc(device, &s->hat[d], (size_t)most, sizeof(double)));
        TRY(device_alloc(device, &s->result[d], (size_t)most, sizeof(double)));
    }
    for (int i = 0; i < 2; i++) TRY(device_alloc(device, &s->work[i], (size_t)most, sizeof(double)));
done:
    return status;
}

facet_status operator_create_box_lattice(const struct boxhdg_lanes *lanes, struct linear_operator *M,
                                         struct linear_operator *rough) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &lanes->hdg->grid;
    const struct box_plan *p = &lanes->plan;
    struct lattice *s = NULL;
    TRY(CALLOC(s, 1));
    *M = (struct linear_operator){.n = p->size,
                                  .device = lanes->device,
                                  .apply = solve,
                                  .free = release,
                                  .data = s,
                                  .name = "the direct solve of the box"};
    *rough = *M;
    rough->apply = solve_roughly;
    rough->free = NULL;
    s->lanes = lanes;
    s->k = box_conductivity(g, 0);
    s->lambda = box_reaction(g, 0);
    s->singular = !g->closed && s->lambda == 0.0;
    s->slab = slab_of(lanes->device, (double)p->modes[0] * p->cells[0] * p->modes[1] * p->cells[1]);
    TRY(make_lines(s));
    TRY(make_room(s));
done:
    if (status != FACET_OK && s != NULL) release(M);
    return status;
}

double boxhdg_lattice_bytes(const struct device *device, const struct boxhdg *h, const int cells[3]) {
    double all = 1.0, most = 0.0, matrices = 0.0, m = 1.0;
    for (int d = 0; d < h->grid.dim; d++) {
        const double p = padded(device, cells[d] + 1);
        m = padded(device, h->n * cells[d]);
        all *= m;
        most = fmax(most, p / m);
        matrices += 12.0 * (2.0 * m * m + 3.0 * m * p + p * p); /* in both precisions */
    }
    const double u = fmin(all, slab_of(device, all / m) * all / m);
    return 8.0 * (u + (2.0 * h->grid.dim + 2.0) * most * all) + matrices;
}
