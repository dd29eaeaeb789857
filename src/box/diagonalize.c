/* Directions, transforms, and the solve: by dense products on the host, by kernels elsewhere. */
#include "box/diagonalize.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

/* Numbers of the planes that are transformed together, at least: small planes are not worth a call each. */
#define GROUP 8192
/* On the host half the products are not worth the sums and differences of fewer points. */
#define LEAST_FOLDED 24

/* ------------------------------------------------------------------------------------- directions */

void box_direction_destroy(struct box_direction *x) {
    box_fold_destroy(&x->fold);
    for (int b = 0; b < 2; b++) {
        base_free(&x->forward[b]);
        base_free(&x->backward[b]);
    }
    base_free(&x->theta);
    *x = (struct box_direction){0};
}

facet_status box_direction_alloc(struct box_fold *fold, const int sizes[2], struct box_direction *x) {
    facet_status status = FACET_OK;
    *x = (struct box_direction){.n_modes = sizes[0] + sizes[1], .sizes = {sizes[0], sizes[1]}, .fold = *fold};
    *fold = (struct box_fold){0};
    for (int b = 0; b < 2; b++) {
        TRY(ALLOC(x->forward[b], (int64_t)sizes[b] * x->fold.sizes[b]));
        TRY(ALLOC(x->backward[b], (int64_t)sizes[b] * x->fold.sizes[b]));
    }
    TRY(CALLOC(x->theta, x->n_modes));
done:
    if (status != FACET_OK) box_direction_destroy(x);
    return status;
}

void box_direction_fill(struct box_direction *x, int parity, const double *values, int step,
                        const double *weights) {
    int points = x->fold.sizes[parity], size = x->sizes[parity], first = box_fold_first(&x->fold, parity);
    for (int i = 0; i < points; i++) {
        const int *from = x->fold.from[0][first + i];
        const double *w = x->fold.weights[0][first + i];
        for (int m = 0; m < size; m++) {
            double value =
                w[0] * values[(int64_t)from[0] * step + m] + w[1] * values[(int64_t)from[1] * step + m];
            x->backward[parity][(int64_t)i * size + m] = value;
            x->forward[parity][(int64_t)m * points + i] = weights != NULL ? weights[from[0]] * value : value;
        }
    }
}

void box_direction_find_smallest(struct box_direction *x) {
    x->smallest = 0;
    for (int i = 1; i < x->n_modes; i++)
        if (x->theta[i] < x->theta[x->smallest]) x->smallest = i;
}

double box_direction_value(const struct box_direction *x, int point, int mode) {
    int parity = mode >= x->sizes[0], size = x->sizes[parity];
    double sum = 0.0;
    for (int s = 0; s < 2; s++) {
        int row = x->fold.from[1][point][s];
        if ((row >= x->fold.sizes[0]) != parity) continue;
        sum += x->fold.weights[1][point][s] *
               x->backward[parity][(int64_t)(row - box_fold_first(&x->fold, parity)) * size + mode -
                                   (parity ? x->sizes[0] : 0)];
    }
    return sum;
}

/* A chain of elements: number[i] is the unknown of its node i, -1 where that is fixed. */
struct chain {
    int n_nodes, n, ring, *number;
    double *M, *A, *S; /* the first owns all three */
};

static void chain_destroy(struct chain *c) {
    base_free(&c->number);
    base_free(&c->M);
}

static facet_status chain_create(const struct box_grid *g, int d, const struct box_element *e,
                                 struct chain *c) {
    facet_status status = FACET_OK;
    c->n_nodes = e->k * g->cells[d] + 1;
    c->ring = g->sides[d][0] == BOX_PERIODIC;
    TRY(ALLOC(c->number, c->n_nodes));
    for (int i = 0; i < c->n_nodes; i++) {
        int end = i == c->n_nodes - 1,
            fixed = (i == 0 && g->sides[d][0] == BOX_DIRICHLET) || (end && g->sides[d][1] == BOX_DIRICHLET);
        c->number[i] = fixed ? -1 : end && c->ring ? 0 : c->n++;
    }
    int64_t size = (int64_t)c->n * c->n;
    TRY(CALLOC(c->M, 3 * size));
    c->A = c->M + size;
    c->S = c->A + size;
    for (int cell = 0; cell < g->cells[d]; cell++) {
        const int *at = c->number + cell * e->k;
        box_element_add(e, g->widths[d][cell], at, at, c->n, c->M, c->A);
    }
done:
    return status;
}

static facet_status create_constant(int n_points, struct box_direction *x) {
    facet_status status = FACET_OK;
    struct box_fold fold = {0};
    TRY(box_fold_create(n_points, NULL, NULL, &fold));
    TRY(box_direction_alloc(&fold, (const int[2]){1, 0}, x));
    for (int i = 0; i < n_points; i++) x->forward[0][i] = x->backward[0][i] = i == 0;
done:
    return status;
}

facet_status box_direction_create(const struct box_grid *g, int d, const struct box_element *e, int n_points,
                                  int split, struct box_direction *x) {
    facet_status status = FACET_OK;
    struct chain chain = {0};
    struct box_fold unknowns = {0}, points = {0};
    double *values = NULL;
    *x = (struct box_direction){0};
    if (d < 0 || d >= g->dim) return create_constant(n_points, x);
    TRY(chain_create(g, d, e, &chain));
    int n = chain.n, ends = n_points < chain.n_nodes ? n_points : chain.n_nodes;
    if (split && g->sides[d][0] == g->sides[d][1] && box_is_mirrored(g->cells[d], g->widths[d], NULL)) {
        TRY(box_fold_create_mirrored(n, n, chain.ring, &unknowns));
        TRY(box_fold_create_mirrored(n_points, ends, ends < chain.n_nodes, &points));
    } else {
        TRY(box_fold_create(n, NULL, NULL, &unknowns));
        TRY(box_fold_create(n_points, NULL, NULL, &points));
    }
    TRY(box_direction_alloc(&points, unknowns.sizes, x));
    TRY(box_modes(&unknowns, chain.M, chain.A, n, chain.S, x->theta));
    x->first = chain.number[0] < 0;
    if (n == chain.n_nodes - chain.ring) x->theta[0] = 0.0; /* free ends, or a ring: the constant */
    TRY(CALLOC(values, (int64_t)n_points * n));
    for (int i = 0; i < ends; i++)
        if (chain.number[i] >= 0)
            memcpy(values + (int64_t)i * n, chain.S + (int64_t)chain.number[i] * n,
                   (size_t)n * sizeof *values);
    for (int b = 0; b < 2; b++) box_direction_fill(x, b, values + (b ? x->sizes[0] : 0), n, NULL);
    box_direction_find_smallest(x);
done:
    chain_destroy(&chain);
    box_fold_destroy(&unknowns);
    box_fold_destroy(&points);
    base_free(&values);
    if (status != FACET_OK) box_direction_destroy(x);
    return status;
}

/* ------------------------------------------------------------------------------------- planes */

/* C = A B' along the columns (A: rows x all inputs, parity by parity). */
static void multiply_columns(double *const B[2], const int in[2], const int out[2], int rows, const double *A,
                             double *C) {
    int n_in = in[0] + in[1], n_out = out[0] + out[1];
    for (int b = 0, from = 0, to = 0; b < 2; from += in[b], to += out[b++])
        box_multiply(0, 1, rows, out[b], in[b], 1.0, A + from, n_in, B[b], in[b], 0.0, C + to, n_out);
}
/* C = B A along the rows. */
static void multiply_rows(double *const B[2], const int in[2], const int out[2], int columns, const double *A,
                          int64_t A_step, double *C, int64_t C_step) {
    for (int b = 0, from = 0, to = 0; b < 2; from += in[b], to += out[b++])
        box_multiply(0, 0, out[b], columns, in[b], 1.0, B[b], in[b], A + from * A_step, A_step, 0.0,
                     C + to * C_step, C_step);
}

static int is_folded(const struct box_direction *x) {
    return x->fold.sizes[1] > 0;
}

/* A row of points, in pieces of so many numbers every `step`, to its folded ones or back. work: one row. */
static void fold_row(const struct box_direction *x, int piece, int64_t step, const double *in, double *out,
                     double *folded, double *work) {
    const int n = x->fold.n, whole = piece == n;
    double *room = is_folded(x) ? work : folded, *to = whole ? out : room;
    if (in != NULL) {
        for (int c = 0; !whole && c * piece < n; c++)
            memcpy(room + c * piece, in + c * step, (size_t)piece * sizeof *room);
        if (whole || room != folded) box_fold_row(&x->fold, 0, whole ? in : room, folded);
        return;
    }
    if (to != folded) box_fold_row(&x->fold, 1, folded, to);
    for (int c = 0; !whole && c * piece < n; c++)
        memcpy(out + c * step, to + c * piece, (size_t)piece * sizeof *out);
}

/* `count` planes, points of y x folded points of x, to modes, and back. The argument of the former is
 * overwritten. */
static void planes_forward(const struct box_planes *p, int count, double *in, double *work, double *out) {
    const struct box_direction *x = p->x, *y = p->y;
    const int n = x->n_modes;
    multiply_columns(x->forward, x->fold.sizes, x->sizes, count * y->fold.n, in, work);
    for (int i = 0; i < count; i++, work += (int64_t)y->fold.n * n, out += (int64_t)y->n_modes * n) {
        if (is_folded(y)) box_fold_rows(&y->fold, 0, n, work, n, in, n);
        multiply_rows(y->forward, y->fold.sizes, y->sizes, n, is_folded(y) ? in : work, n, out, n);
    }
}

static void planes_back(const struct box_planes *p, int count, const double *in, double *work, double *out) {
    const struct box_direction *x = p->x, *y = p->y;
    const int n = x->n_modes;
    for (int i = 0; i < count; i++) {
        double *plane = work + (int64_t)i * y->fold.n * n, *to = is_folded(y) ? out : plane;
        multiply_rows(y->backward, y->sizes, y->fold.sizes, n, in + (int64_t)i * y->n_modes * n, n, to, n);
        if (is_folded(y)) box_fold_rows(&y->fold, 1, n, to, n, plane, n);
    }
    multiply_columns(x->backward, x->sizes, x->fold.sizes, count * y->fold.n, work, out);
}

static int64_t most(const struct box_direction *x) {
    return x->fold.n > x->n_modes ? x->fold.n : x->n_modes;
}

void box_planes_prepare(struct box_planes *p) {
    int64_t size = most(p->x) * most(p->y);
    p->group = (int)(1 + GROUP / (size + 1));
    if (p->group > p->n) p->group = p->n > 0 ? p->n : 1; /* the step of a loop, also of one without planes */
    p->room = p->group * size;
}

void box_planes_transform(const struct box_planes *p, const double *in, double *out, double *modes,
                          double *work) {
    const int *piece = p->piece, nx = p->x->fold.n, ny = p->y->fold.n;
    double *one = work, *two = work + p->room;
#pragma omp for schedule(dynamic) nowait
    for (int begin = 0; begin < p->n; begin += p->group) {
        double *to = modes + (int64_t)begin * p->x->n_modes * p->y->n_modes;
        int count = p->n - begin < p->group ? p->n - begin : p->group;
        if (in == NULL) planes_back(p, count, to, two, one);
        for (int r = 0; r < count * ny; r++) {
            int i = r % ny, j = begin + r / ny;
            const int64_t row = j / piece[2] * p->step[2] + i / piece[1] * p->step[1] +
                                ((int64_t)(j % piece[2]) * piece[1] + i % piece[1]) * piece[0];
            fold_row(p->x, piece[0], p->step[0], in != NULL ? in + row : NULL, out != NULL ? out + row : NULL,
                     one + (int64_t)r * nx, two);
        }
        if (in != NULL) planes_forward(p, count, one, two, to);
    }
}

/* ------------------------------------------------------------------------------------- transforms */

facet_status box_transform_create(const struct box_direction *const axes[3], const int piece[3],
                                  struct box_transform *t) {
    facet_status status = FACET_OK;
    int64_t step = (int64_t)piece[0] * piece[1] * piece[2];
    *t = (struct box_transform){.layers = {.x = axes[0], .y = axes[1], .n = axes[2]->fold.n}};
    for (int d = 0; d < 3; step *= axes[d]->fold.n / piece[d], d++) {
        t->axes[d] = axes[d];
        t->layers.piece[d] = piece[d];
        t->layers.step[d] = step;
    }
    box_planes_prepare(&t->layers);
    t->n_work = base_threads_for(most(axes[0]) * most(axes[1]) * most(axes[2]));
    t->room = BOX_COLUMNS * most(axes[2]) > t->layers.room ? BOX_COLUMNS * most(axes[2]) : t->layers.room;
    TRY(ALLOC(t->planes, most(axes[2]) * axes[0]->n_modes * axes[1]->n_modes));
    TRY(ALLOC(t->scratch, 2 * t->n_work * t->room));
done:
    if (status != FACET_OK) box_transform_destroy(t);
    return status;
}

void box_transform_destroy(struct box_transform *t) {
    base_free(&t->planes);
    base_free(&t->scratch);
}

void box_transform_planes(const struct box_transform *t, int back, const double *in, double *out) {
#pragma omp parallel num_threads(t->n_work)
    box_planes_transform(&t->layers, back ? NULL : in, back ? out : NULL, t->planes,
                         t->scratch + 2 * omp_get_thread_num() * t->room);
}

/* E from columns of the planes, or back to them. */
static void transform_columns(const struct box_transform *t, int back, int64_t begin, int count, double *E,
                              double *work) {
    const struct box_direction *z = t->axes[2];
    const int64_t columns = (int64_t)t->axes[0]->n_modes * t->axes[1]->n_modes;
    double *planes = t->planes + begin, *at = is_folded(z) ? work : planes;
    const int64_t step = is_folded(z) ? count : columns;
    if (back) {
        multiply_rows(z->backward, z->sizes, z->fold.sizes, count, E, count, at, step);
        if (is_folded(z)) box_fold_rows(&z->fold, 1, count, at, step, planes, columns);
    } else {
        if (is_folded(z)) box_fold_rows(&z->fold, 0, count, planes, columns, at, step);
        multiply_rows(z->forward, z->fold.sizes, z->sizes, count, at, step, E, count);
    }
}

void box_transform_columns(const struct box_transform *in, const struct box_transform *out,
                           box_columns_work middle, void *user) {
    const struct box_transform *t = in != NULL ? in : out;
    const int64_t columns = (int64_t)t->axes[0]->n_modes * t->axes[1]->n_modes;
#pragma omp parallel for schedule(dynamic) num_threads(t->n_work)
    for (int64_t begin = 0; begin < columns; begin += BOX_COLUMNS) {
        int count = (int)(columns - begin < BOX_COLUMNS ? columns - begin : BOX_COLUMNS);
        double *E = t->scratch + 2 * omp_get_thread_num() * t->room, *work = E + t->room;
        if (in != NULL) transform_columns(in, 0, begin, count, E, work);
        middle(user, begin, count, E);
        if (out != NULL) transform_columns(out, 1, begin, count, E, work);
    }
}

void box_transform_divide(const struct box_transform *t, double k, double lambda, int singular, int64_t begin,
                          int count, double *E) {
    const struct box_direction *const *a = t->axes;
    const int64_t n = a[0]->n_modes, zero = a[1]->smallest * n + a[0]->smallest;
    double rest[BOX_COLUMNS];
    for (int j = 0; j < count; j++)
        rest[j] = lambda + k * (a[0]->theta[(begin + j) % n] + a[1]->theta[(begin + j) / n]);
    for (int i = 0; i < a[2]->n_modes; i++)
        for (int j = 0; j < count; j++) E[(int64_t)i * count + j] /= rest[j] + k * a[2]->theta[i];
    if (singular && zero >= begin && zero < begin + count)
        E[(int64_t)a[2]->smallest * count + (zero - begin)] = 0.0;
}

/* ------------------------------------------------------------------------------------- the solver */

struct box_diagonal {
    const struct device *device;
    struct box_direction own[3];
    const struct box_direction *axes[3]; /* directions alike share theirs */
    int sizes[3], there[3];
    int64_t n, n_modes; /* points, modes of all directions */
    int closed;         /* there is a Dirichlet side */
    double conductivity, reaction;
    struct vector inverses;         /* general denominators */
    struct box_transform transform; /* on the host */
    struct brick_modes modes;       /* elsewhere: sums of eigenvalues, and room for the kernel; */
    double *scratch;
    struct vector spectrum, spare; /* or whole matrices in place of its blocks, for general denominators */
};

void box_diagonal_destroy(struct box_diagonal **diagonal) {
    struct box_diagonal *s = *diagonal;
    if (s == NULL) return;
    for (int d = 0; d < 3; d++) {
        box_direction_destroy(&s->own[d]);
        device_free(s->device, (void *)&s->modes.forward[d]);
        device_free(s->device, (void *)&s->modes.backward[d]);
        device_free(s->device, (void *)&s->modes.theta[d]);
    }
    device_free(s->device, &s->scratch);
    vector_destroy(&s->inverses);
    vector_destroy(&s->spectrum);
    vector_destroy(&s->spare);
    box_transform_destroy(&s->transform);
    base_free(diagonal);
}

const struct box_direction *box_diagonal_axis(const struct box_diagonal *s, int d) {
    return s->axes[d];
}

/* Modes at points as matrices of rows x columns: by parity, from the first point on, as kernels/brick.h has
 * them; or (blocks = 0) all. */
static facet_status put_matrices(struct box_diagonal *s, int d, int blocks, int rows, int columns) {
    facet_status status = FACET_OK;
    const struct box_direction *x = s->axes[d];
    const int n = blocks > 0 ? blocks : 1, first = blocks > 0 ? x->first : 0;
    const int64_t count = (int64_t)n * rows * columns;
    double *forward = NULL, *backward;
    TRY(CALLOC(forward, 2 * count));
    backward = forward + count;
    for (int p = 0, mode = 0; p < n; p++)
        for (int a = 0; a < (blocks > 0 ? x->sizes[p] : rows); a++, mode++)
            for (int i = 0; i < (blocks > 0 ? x->sizes[p] : columns); i++)
                forward[((int64_t)p * rows + a) * columns + i] =
                    backward[((int64_t)p * columns + i) * rows + a] = box_direction_value(x, first + i, mode);
    TRY(device_copy(s->device, &s->modes.forward[d], forward, (size_t)count, sizeof *forward));
    TRY(device_copy(s->device, &s->modes.backward[d], backward, (size_t)count, sizeof *backward));
done:
    base_free(&forward);
    return status;
}

static facet_status put_modes(struct box_diagonal *s) {
    facet_status status = FACET_OK;
    struct brick_modes *to = &s->modes;
    double *theta = NULL;
    to->singular = !s->closed;
    for (int d = 0; d < 3; d++) {
        const struct box_direction *x = s->axes[d];
        to->n_nodes[d] = s->sizes[d];
        to->n[d] = x->n_modes;
        to->even[d] = x->sizes[1] > 0 ? x->sizes[0] : 0;
        to->size[d] = s->there[d] ? (x->sizes[0] + 15) / 16 * 16 : 1;
        to->first[d] = x->first;
        const int blocks = brick_modes_blocks(to, d), size = to->size[d];
        TRY(put_matrices(s, d, blocks, size, size));
        base_free(&theta);
        TRY(ALLOC(theta, blocks * size));
        for (int i = 0; i < blocks * size; i++)
            theta[i] = i % size < x->sizes[i / size] ? x->theta[i / size * x->sizes[0] + i % size] : 1.0;
        TRY(device_copy(s->device, &to->theta[d], theta, (size_t)(blocks * size), sizeof *theta));
    }
    TRY(device_alloc(s->device, &s->scratch, (size_t)(2 * brick_modes_count(to)), sizeof *s->scratch));
done:
    base_free(&theta);
    return status;
}

void box_diagonal_set_reaction(struct box_diagonal *s, double reaction) {
    s->reaction = s->modes.reaction = reaction;
}

facet_status box_diagonal_create(const struct device *device, const struct box_grid *g,
                                 const struct box_element *e, const int directions[3], const int sizes[3],
                                 int general, struct box_diagonal **diagonal) {
    facet_status status = FACET_OK;
    const int host = device_is_host(device);
    struct box_diagonal *s = NULL;
    TRY(CALLOC(s, 1));
    s->device = device;
    s->n = s->n_modes = 1;
    for (int i = 0; i < 3; i++) {
        /* The kernel of other devices mirrors all nodes end for end. */
        int d = directions[i],
            split = host ? sizes[i] >= LEAST_FOLDED : d < 0 || g->sides[d][0] != BOX_PERIODIC;
        for (int j = 0; j < i && s->axes[i] == NULL; j++)
            if (sizes[i] == sizes[j] && box_same_direction(g, directions[j], d)) s->axes[i] = s->axes[j];
        if (s->axes[i] == NULL) {
            TRY(box_direction_create(g, d, e, sizes[i], split, &s->own[i]));
            s->axes[i] = &s->own[i];
        }
        s->sizes[i] = sizes[i];
        s->there[i] = d >= 0 && d < g->dim;
        s->n *= sizes[i];
        s->n_modes *= s->axes[i]->n_modes;
    }
    s->closed = g->closed;
    s->conductivity = s->modes.conductivity = box_conductivity(g, 0);
    box_diagonal_set_reaction(s, box_reaction(g, 0));
    if (s->n_modes == 0) goto done; /* everything is given */
    if (host)
        TRY(box_transform_create(s->axes, sizes, &s->transform));
    else if (!general)
        TRY(put_modes(s));
done:
    if (status != FACET_OK) box_diagonal_destroy(&s);
    *diagonal = s;
    return status;
}

facet_status box_diagonal_set_inverses(struct box_diagonal *s, const double *inverses) {
    facet_status status = FACET_OK;
    TRY(vector_create(s->device, s->n_modes, &s->inverses));
    TRY(vector_upload(&s->inverses, inverses));
    if (device_is_host(s->device)) goto done;
    for (int d = 0; d < 3; d++) TRY(put_matrices(s, d, 0, s->axes[d]->n_modes, s->sizes[d]));
    TRY(vector_create(s->device, s->n_modes, &s->spectrum));
    TRY(vector_create(s->device, s->n, &s->spare));
done:
    return status;
}

/* General denominators on a device that is not the host; points are never fewer than modes. */
static void solve_general(struct box_diagonal *s, const double *b, double *u) {
    const struct device *device = s->device;
    const int *size = s->sizes, n[3] = {s->axes[0]->n_modes, s->axes[1]->n_modes, s->axes[2]->n_modes};
    double *spare = s->spare.data, *spectrum = s->spectrum.data;
    int64_t rows = (int64_t)size[1] * size[2], plane = (int64_t)n[0] * n[1];
    device_axis_apply(device, F64, rows, n[0], size[0], 1, s->modes.forward[0], b, 0.0, NULL, spare);
    device_axis_apply(device, F64, size[2], n[1], size[1], n[0], s->modes.forward[1], spare, 0.0, NULL, u);
    device_axis_apply(device, F64, 1, n[2], size[2], plane, s->modes.forward[2], u, 0.0, NULL, spectrum);
    device_multiply(device, F64, s->n_modes, s->inverses.data, spectrum, spectrum);
    device_axis_apply(device, F64, 1, size[2], n[2], plane, s->modes.backward[2], spectrum, 0.0, NULL, u);
    device_axis_apply(device, F64, size[2], size[1], n[1], n[0], s->modes.backward[1], u, 0.0, NULL, spare);
    device_axis_apply(device, F64, rows, size[0], n[0], 1, s->modes.backward[0], spare, 0.0, NULL, u);
}

static void divide(void *user, int64_t begin, int count, double *E) {
    struct box_diagonal *s = user;
    const int64_t columns = (int64_t)s->axes[0]->n_modes * s->axes[1]->n_modes;
    if (s->inverses.n == 0) {
        box_transform_divide(&s->transform, s->conductivity, s->reaction, !s->closed && s->reaction == 0.0,
                             begin, count, E);
        return;
    }
    for (int i = 0; i < s->axes[2]->n_modes; i++, E += count)
        for (int j = 0; j < count; j++) E[j] *= s->inverses.data[i * columns + begin + j];
}

static void solve(struct box_diagonal *s, const double *b, double *u) {
    if (s->spare.n > 0)
        solve_general(s, b, u);
    else if (s->scratch != NULL)
        device_modes_solve(s->device, &s->modes, b, u, s->scratch);
    else {
        box_transform_planes(&s->transform, 0, b, NULL);
        box_transform_columns(&s->transform, &s->transform, divide, s);
        box_transform_planes(&s->transform, 1, NULL, u);
    }
}

static void apply(const struct linear_operator *M, const struct vector *b, struct vector *u) {
    struct box_diagonal *s = M->data;
    if (s->n_modes == 0)
        vector_fill(u, 0.0);
    else
        solve(s, b->data, u->data);
}

void operator_create_diagonal_solve(struct box_diagonal *s, struct linear_operator *M) {
    *M = (struct linear_operator){
        .n = s->n, .device = s->device, .apply = apply, .data = s, .name = "fast diagonalization"};
}

facet_status operator_create_diagonalization(const struct device *device, const struct box_grid *g,
                                             const struct box_element *e, struct box_diagonal **diagonal,
                                             struct linear_operator *M) {
    facet_status status = FACET_OK;
    const int straight[3] = {0, 1, 2};
    int sizes[3] = {1, 1, 1};
    for (int d = 0; d < g->dim; d++) sizes[d] = e->k * g->cells[d] + (g->sides[d][0] != BOX_PERIODIC);
    TRY(box_diagonal_create(device, g, e, straight, sizes, 0, diagonal));
    operator_create_diagonal_solve(*diagonal, M);
done:
    return status;
}
