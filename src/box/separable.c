/* Fast diagonalization of a whole box: 1D modes by a dense eigensolver, transforms slab by slab. */
#include "box/separable.h"

#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

#define CHUNK 256 /* rows of a transform in the last direction */

struct box_separable {
    int n_nodes[3], first[3], n[3]; /* all nodes; the first free one, how many */
    double *S[3];                   /* n x n, rows: nodes */
    double *theta[3];
    double conductivity, reaction;
    int singular;
    double *w, *t; /* all free nodes */
};

void box_separable_destroy(struct box_separable **separable) {
    struct box_separable *s = *separable;
    if (s == NULL) return;
    for (int d = 0; d < 3; d++) {
        base_free(&s->S[d]);
        base_free(&s->theta[d]);
    }
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
    TRY(box_modes(m, box_is_symmetric(m, M, A) ? (m + 1) / 2 : 0, M, A, s->S[d], s->theta[d]));
    if (d < g->dim && m == s->n_nodes[d]) s->theta[d][0] = 0.0; /* free ends, or a ring: the constant */
done:
    base_free(&M);
    base_free(&A);
    return status;
}

facet_status box_separable_create(const struct box_grid *g, const struct box_element *e,
                                  struct box_separable **separable) {
    facet_status status = FACET_OK;
    struct box_separable *s = NULL;
    int64_t n_free = 1;
    *separable = NULL;
    TRY(CALLOC(s, 1));
    s->conductivity = box_conductivity(g, 0);
    s->reaction = box_reaction(g, 0);
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
    if (n_free == 0) goto done; /* nothing to solve: everything is given */
    for (int d = 0; d < 3; d++) TRY(make_modes(g, e, d, s));
    TRY(ALLOC(s->w, n_free));
    TRY(ALLOC(s->t, n_free));
done:
    if (status != FACET_OK) box_separable_destroy(&s);
    *separable = s;
    return status;
}

void box_separable_set_reaction(struct box_separable *s, double reaction) {
    s->reaction = reaction;
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

void box_separable_solve(struct box_separable *s, const double *b, double *u) {
    int64_t slab = (int64_t)s->n[0] * s->n[1];
    if (s->w == NULL) {
        memset(u, 0, sizeof *u * (size_t)s->n_nodes[0] * (size_t)s->n_nodes[1] * (size_t)s->n_nodes[2]);
        return;
    }
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

struct separable_operator {
    struct box_separable *separable;
    double *b, *u; /* where the host cannot reach the device */
};

static void apply(const struct operator* M, const struct vector *b, struct vector *u) {
    struct separable_operator *o = M->data;
    if (o->b == NULL) {
        box_separable_solve(o->separable, b->data, u->data);
        return;
    }
    vector_download(b, o->b); /* between host memory and a device of double precision nothing can fail */
    box_separable_solve(o->separable, o->b, o->u);
    vector_upload(u, o->u);
}

static void free_operator(struct operator* M) {
    struct separable_operator *o = M->data;
    if (o == NULL) return;
    base_free(&o->b);
    base_free(&o->u);
    base_free(&M->data);
}

facet_status operator_create_separable(const struct device *device, struct box_separable *s,
                                       struct operator* M) {
    facet_status status = FACET_OK;
    struct separable_operator *o = NULL;
    int64_t n = (int64_t)s->n_nodes[0] * s->n_nodes[1] * s->n_nodes[2];
    *M = (struct operator){
        .n = n, .device = device, .apply = apply, .free = free_operator, .name = "fast diagonalization"};
    TRY(CALLOC(o, 1));
    M->data = o;
    o->separable = s;
    if (!device_is_host(device)) {
        TRY(ALLOC(o->b, n));
        TRY(ALLOC(o->u, n));
    }
done:
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
