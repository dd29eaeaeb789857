/* Fast diagonalization of a whole box: 1D modes by a dense eigensolver, transforms slab by slab on the host
 * and by one kernel elsewhere. */
#include "box/separable.h"

#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

#define CHUNK 256 /* rows of a transform in the last direction */

struct box_separable {
    const struct device *device;
    int n_nodes[3], first[3], n[3]; /* all nodes; the first free one, how many */
    int even[3];                    /* modes; 0: not symmetric */
    double *S[3];                   /* n x n, rows: nodes */
    double *theta[3];
    double conductivity, reaction;
    int singular;
    double *w, *t;            /* on the host: all free nodes */
    struct brick_modes modes; /* on other devices, with tables of its own, and room for the kernel */
    double *scratch;
};

void box_separable_destroy(struct box_separable **separable) {
    struct box_separable *s = *separable;
    if (s == NULL) return;
    for (int d = 0; d < 3; d++) {
        base_free(&s->S[d]);
        base_free(&s->theta[d]);
        device_free(s->device, (void *)&s->modes.forward[d]);
        device_free(s->device, (void *)&s->modes.backward[d]);
        device_free(s->device, (void *)&s->modes.theta[d]);
    }
    device_free(s->device, &s->scratch);
    base_free(&s->w);
    base_free(&s->t);
    base_free(separable);
}

/* Modes of all free nodes of a direction. Matrices have a column before and one after the nodes. */
static facet_status make_modes(const struct box_grid *g, const struct box_element *e, int d,
                               struct box_separable *s) {
    facet_status status = FACET_OK;
    int k = e->k, n = k + 1, m = s->n[d], with = m + 2;
    double *M = NULL, *A = NULL;
    TRY(CALLOC(M, (int64_t)m * with));
    TRY(CALLOC(A, (int64_t)m * with));
    TRY(CALLOC(s->S[d], (int64_t)m * m));
    TRY(ALLOC(s->theta[d], m));
    if (d >= g->dim) M[1] = 1.0;
    for (int c = 0; d < g->dim && c < g->cells[d]; c++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int row = (c * k + i) % s->n_nodes[d] - s->first[d];
                int column = (c * k + j) % s->n_nodes[d] - s->first[d];
                if (row < 0 || row >= m || column < 0 || column >= m) continue;
                M[(int64_t)row * with + column + 1] += g->widths[d][c] * e->mass[i * n + j];
                A[(int64_t)row * with + column + 1] += e->stiffness[i * n + j] / g->widths[d][c];
            }
    s->even[d] = box_is_symmetric(m, M, A) ? (m + 1) / 2 : 0;
    TRY(box_modes(m, s->even[d], M, A, s->S[d], s->theta[d]));
    if (d < g->dim && m == s->n_nodes[d]) s->theta[d][0] = 0.0; /* free ends, or a ring: the constant */
done:
    base_free(&M);
    base_free(&A);
    return status;
}

/* The blocks of one direction as kernels/brick.h has them. */
static facet_status put_blocks(struct box_separable *s, int d) {
    facet_status status = FACET_OK;
    struct brick_modes *to = &s->modes;
    const int m = s->n[d], blocks = brick_modes_blocks(to, d), size = to->size[d];
    const int64_t count = (int64_t)blocks * size * size;
    double *forward = NULL, *backward = NULL, *theta = NULL;
    TRY(CALLOC(forward, count));
    TRY(CALLOC(backward, count));
    TRY(ALLOC(theta, blocks * size));
    for (int i = 0; i < blocks * size; i++) theta[i] = 1.0;
    for (int p = 0; p < blocks; p++) {
        const int begin = p * s->even[d], rows = blocks == 1 ? m : p ? m - s->even[d] : s->even[d];
        for (int a = 0; a < rows; a++) {
            theta[p * size + a] = s->theta[d][begin + a];
            for (int i = 0; i < rows; i++) {
                const double value = s->S[d][(int64_t)i * m + begin + a];
                forward[((int64_t)p * size + a) * size + i] = value;
                backward[((int64_t)p * size + i) * size + a] = value;
            }
        }
    }
    TRY(device_copy(s->device, &to->forward[d], forward, (size_t)count, sizeof *forward));
    TRY(device_copy(s->device, &to->backward[d], backward, (size_t)count, sizeof *backward));
    TRY(device_copy(s->device, &to->theta[d], theta, (size_t)(blocks * size), sizeof *theta));
done:
    base_free(&forward);
    base_free(&backward);
    base_free(&theta);
    return status;
}

static facet_status put_modes(const struct box_grid *g, struct box_separable *s) {
    facet_status status = FACET_OK;
    struct brick_modes *to = &s->modes;
    to->conductivity = s->conductivity;
    to->reaction = s->reaction;
    to->singular = s->singular;
    for (int d = 0; d < 3; d++) {
        const int largest = s->even[d] > 0 ? s->even[d] : s->n[d];
        to->n_nodes[d] = s->n_nodes[d];
        to->first[d] = s->first[d];
        to->n[d] = s->n[d];
        to->even[d] = s->even[d];
        to->size[d] = d < g->dim ? (largest + 15) / 16 * 16 : 1;
        TRY(put_blocks(s, d));
    }
    TRY(device_alloc(s->device, &s->scratch, (size_t)device_modes_scratch(s->device, to),
                     sizeof *s->scratch));
done:
    return status;
}

/* The free nodes; returns their number. */
static int64_t count_nodes(const struct box_grid *g, const struct box_element *e, struct box_separable *s) {
    int64_t n_free = 1;
    s->singular = 1;
    for (int d = 0; d < 3; d++) {
        int real = d < g->dim, periodic = real && g->sides[d][0] == BOX_PERIODIC;
        s->n_nodes[d] = s->n[d] = real ? e->k * g->cells[d] + !periodic : 1;
        for (int side = 0; real && side < 2; side++)
            if (g->sides[d][side] == BOX_DIRICHLET) {
                s->n[d]--;
                s->first[d] += side == 0;
                s->singular = 0;
            }
        n_free *= s->n[d];
    }
    return n_free;
}

facet_status box_separable_create(const struct device *device, const struct box_grid *g,
                                  const struct box_element *e, struct box_separable **separable) {
    facet_status status = FACET_OK;
    struct box_separable *s = NULL;
    *separable = NULL;
    TRY(CALLOC(s, 1));
    s->device = device;
    s->conductivity = box_conductivity(g, 0);
    s->reaction = box_reaction(g, 0);
    int64_t n_free = count_nodes(g, e, s);
    if (n_free == 0) goto done; /* nothing to solve: everything is given */
    for (int d = 0; d < 3; d++) TRY(make_modes(g, e, d, s));
    if (device_is_host(device)) {
        TRY(ALLOC(s->w, n_free));
        TRY(ALLOC(s->t, n_free));
    } else {
        TRY(put_modes(g, s));
        for (int d = 0; d < 3; d++) base_free(&s->S[d]);
    }
done:
    if (status != FACET_OK) box_separable_destroy(&s);
    *separable = s;
    return status;
}

void box_separable_set_reaction(struct box_separable *s, double reaction) {
    s->reaction = s->modes.reaction = reaction;
}

/* to = S' or S along directions 0 and 1 of one slab; `to` may not be `from`, both are n0 x n1; the result
 * goes back to `from`. */
static void transform_slab(const struct box_separable *s, int back, double *from, double *to) {
    int n0 = s->n[0], n1 = s->n[1];
    /* by rows: the slab is n1 x n0 */
    cblas_dgemm(CblasRowMajor, CblasNoTrans, back ? CblasTrans : CblasNoTrans, n1, n0, n0, 1.0, from, n0,
                s->S[0], n0, 0.0, to, n0);
    cblas_dgemm(CblasRowMajor, back ? CblasNoTrans : CblasTrans, CblasNoTrans, n1, n0, n1, 1.0, s->S[1], n1,
                to, n0, 0.0, from, n0);
}

static void transform_slabs(struct box_separable *s, int back) {
    int64_t slab = (int64_t)s->n[0] * s->n[1];
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1)
    for (int i = 0; i < s->n[2]; i++) transform_slab(s, back, s->w + i * slab, s->t + i * slab);
}

/* t = S' w along direction 2, the division, w = S t, for columns of `width` nodes of the slabs. */
static void solve_columns(struct box_separable *s, int64_t first, int width) {
    int64_t slab = (int64_t)s->n[0] * s->n[1];
    int n2 = s->n[2];
    double *w = s->w + first, *t = s->t + first;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n2, width, n2, 1.0, s->S[2], n2, w, (int)slab, 0.0,
                t, (int)slab);
    for (int c = 0; c < n2; c++)
        for (int i = 0; i < width; i++) {
            int a = (int)((first + i) % s->n[0]), b = (int)((first + i) / s->n[0]);
            double z = s->reaction + s->conductivity * (s->theta[0][a] + s->theta[1][b] + s->theta[2][c]);
            int constant = s->singular && s->reaction == 0.0 && a == 0 && b == 0 && c == 0;
            t[c * slab + i] = constant ? 0.0 : t[c * slab + i] / z;
        }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n2, width, n2, 1.0, s->S[2], n2, t, (int)slab, 0.0,
                w, (int)slab);
}

/* Between all nodes and free ones, row by row. */
static void copy_rows(struct box_separable *s, const double *from_all, double *to_all) {
    int n0 = s->n[0], n1 = s->n[1];
    if (to_all != NULL)
        memset(to_all, 0,
               sizeof *to_all * (size_t)s->n_nodes[0] * (size_t)s->n_nodes[1] * (size_t)s->n_nodes[2]);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int c = 0; c < s->n[2]; c++)
        for (int b = 0; b < n1; b++) {
            int64_t all =
                ((int64_t)(c + s->first[2]) * s->n_nodes[1] + b + s->first[1]) * s->n_nodes[0] + s->first[0];
            double *row = s->w + ((int64_t)c * n1 + b) * n0;
            if (to_all != NULL)
                memcpy(to_all + all, row, sizeof *row * (size_t)n0);
            else
                memcpy(row, from_all + all, sizeof *row * (size_t)n0);
        }
}

static void solve(struct box_separable *s, const double *b, double *u) {
    int64_t slab = (int64_t)s->n[0] * s->n[1];
    base_set_blas_threads(1);
    copy_rows(s, b, NULL);
    transform_slabs(s, 0);
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1)
    for (int64_t first = 0; first < slab; first += CHUNK)
        solve_columns(s, first, slab - first < CHUNK ? (int)(slab - first) : CHUNK);
    transform_slabs(s, 1);
    copy_rows(s, NULL, u);
}

/* ------------------------------------------------------------------------------------- operator */

static void apply(const struct operator* M, const struct vector *b, struct vector *u) {
    struct box_separable *s = M->data;
    if (s->theta[0] == NULL)
        vector_fill(u, 0.0);
    else if (s->w != NULL)
        solve(s, b->data, u->data);
    else
        device_modes_solve(s->device, &s->modes, b->data, u->data, s->scratch);
}

void operator_create_separable(struct box_separable *s, struct operator* M) {
    *M = (struct operator){.n = (int64_t)s->n_nodes[0] * s->n_nodes[1] * s->n_nodes[2],
                           .device = s->device,
                           .apply = apply,
                           .data = s,
                           .name = "fast diagonalization"};
}
