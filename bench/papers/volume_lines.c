/* The 1D part of the volume solves: eigenvectors of a line of cells, and their values at points. */
#include "bench/papers/volume.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/rule.h"

static void table_destroy(struct box_volume_table *t) {
    box_fold_destroy(&t->fold);
    for (int b = 0; b < 2; b++) {
        base_free(&t->from[b]);
        base_free(&t->to[b]);
    }
}

void box_basis_destroy(struct box_basis *b) {
    table_destroy(&b->gauss);
    table_destroy(&b->nodes);
    base_free(&b->theta);
    *b = (struct box_basis){0};
}

static void find_smallest(struct box_basis *b) {
    for (int i = 1; i < b->m; i++)
        if (b->theta[i] < b->theta[b->smallest]) b->smallest = i;
}

/* Points that are mirrored end for end, or (periodic nodes) around the first of them. */
static facet_status make_fold(int n, int symmetric, int periodic, struct box_fold *fold) {
    facet_status status = FACET_OK;
    int *mirror = NULL;
    TRY(ALLOC(mirror, n));
    for (int i = 0; i < n; i++) mirror[i] = periodic ? (n - i) % n : n - 1 - i;
    TRY(box_fold_create(n, symmetric ? mirror : NULL, NULL, fold));
done:
    base_free(&mirror);
    return status;
}

/* Fills the tables of one parity: column e of `from` is what vectors (points x size, by rows) has at the
 * points, folded; to = from' diag(weights). */
static facet_status fill_table(int b, int size, const double *vectors, const double *weights,
                               struct box_volume_table *t) {
    facet_status status = FACET_OK;
    int points = t->fold.sizes[b], first = b == 0 ? 0 : t->fold.sizes[0];
    TRY(ALLOC(t->from[b], points * size));
    TRY(ALLOC(t->to[b], points * size));
    for (int i = 0; i < points; i++) {
        const int *from = t->fold.from[first + i];
        const double *w = t->fold.weights[first + i];
        double weight = weights != NULL ? weights[from[0]] : 1.0;
        for (int e = 0; e < size; e++) {
            double value = w[0] * vectors[from[0] * size + e] + w[1] * vectors[from[1] * size + e];
            t->from[b][i * size + e] = value;
            t->to[b][e * points + i] = value * weight;
        }
    }
done:
    return status;
}

/* h/2 w at all Gauss points of a direction. */
static facet_status line_weights(const struct box_grid *g, int d, int n, const double *w, double **weights) {
    facet_status status = FACET_OK;
    TRY(ALLOC(*weights, n * g->cells[d]));
    for (int i = 0; i < n * g->cells[d]; i++) (*weights)[i] = 0.5 * g->widths[d][i / n] * w[i % n];
done:
    return status;
}

static facet_status trivial_basis(struct box_basis *b) {
    facet_status status = FACET_OK;
    double one = 1.0;
    *b = (struct box_basis){.m = 1, .sizes = {1, 0}};
    TRY(CALLOC(b->theta, 1));
    struct box_volume_table *tables[2] = {&b->gauss, &b->nodes};
    for (int t = 0; t < 2; t++) {
        TRY(box_fold_create(1, NULL, NULL, &tables[t]->fold));
        TRY(fill_table(0, 1, &one, NULL, tables[t]));
    }
done:
    if (status != FACET_OK) box_basis_destroy(b);
    return status;
}

/* ------------------------------------------------------------------------------------------- HDG */

/* Eigenvectors of one parity at the Gauss points: vectors, points x size. */
static void hdg_values(const struct boxhdg *h, int d, const struct box_axis *a, int b, double *vectors) {
    int n = h->n, size = a->fold.sizes[b], first = b == 0 ? 0 : a->fold.sizes[0];
    memset(vectors, 0, (size_t)a->m * (size_t)size * sizeof *vectors);
    for (int i = 0; i < size; i++) /* folded mode i is that of two cells */
        for (int s = 0; s < 2; s++) {
            int mode = a->fold.from[first + i][s], cell = mode / n;
            double weight = a->fold.weights[first + i][s];
            const double *values = h->gauss_values[h->column_line[d][cell]];
            for (int q = 0; weight != 0.0 && q < n; q++)
                cblas_daxpy(size, weight * values[q * n + mode % n], a->Q[b] + i * size, 1,
                            vectors + (cell * n + q) * size, 1);
        }
}

facet_status box_basis_create_hdg(const struct boxhdg *h, int d, struct box_basis *basis) {
    facet_status status = FACET_OK;
    struct box_axis a = {0};
    double *weights = NULL, *vectors = NULL;
    if (d >= h->grid.dim) return trivial_basis(basis);
    *basis = (struct box_basis){0};
    TRY(box_axis_create_whole(h, d, &a));
    basis->m = a.m;
    memcpy(basis->sizes, a.fold.sizes, sizeof basis->sizes);
    TRY(ALLOC(basis->theta, a.m));
    memcpy(basis->theta, a.theta, (size_t)a.m * sizeof *a.theta);
    TRY(make_fold(a.m, a.fold.sizes[1] > 0, 0, &basis->gauss.fold));
    TRY(line_weights(&h->grid, d, h->n, h->weights, &weights));
    TRY(ALLOC(vectors, a.m * a.m));
    for (int b = 0; b < 2; b++) {
        hdg_values(h, d, &a, b, vectors);
        TRY(fill_table(b, a.fold.sizes[b], vectors, weights, &basis->gauss));
    }
    find_smallest(basis);
done:
    box_axis_destroy(&a);
    base_free(&weights);
    base_free(&vectors);
    if (status != FACET_OK) box_basis_destroy(basis);
    return status;
}

/* ------------------------------------------------------------------------------------ continuous */

/* Nodal functions of all cells at all Gauss points (by columns, one per node) times the root of the weight:
 * B'B is the mass matrix, C'C the stiffness matrix. Nodes with Dirichlet values have columns too. */
struct nodal_line {
    int rows, nodes, first, count; /* free nodes: first .. first + count - 1 */
    int periodic;
    double *B, *C, *plain; /* plain: without weights, by rows (Gauss points x nodes) */
};

static void nodal_free(struct nodal_line *l) {
    base_free(&l->B);
    base_free(&l->C);
    base_free(&l->plain);
}

/* Values and slopes of the nodal functions of a cell at its Gauss points: n x n each. */
static facet_status nodal_tables(int degree, const double *gauss, double *values, double *slopes) {
    facet_status status = FACET_OK;
    int n = degree + 1;
    double *x = NULL, *w, *D;
    TRY(ALLOC(x, n * (n + 2)));
    w = x + n;
    D = w + n;
    TRY(rule_gauss_lobatto(n, 0.0, 0.0, x, w));
    lagrange_weights(n, x, w);
    lagrange_derivative(n, x, w, D);
    for (int q = 0; q < n; q++) lagrange_row(n, x, w, gauss[q], values + q * n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, values, n, D, n, 0.0, slopes, n);
done:
    base_free(&x);
    return status;
}

facet_status box_nodal_matrices(int degree, double *mass, double *stiffness, double *values) {
    facet_status status = FACET_OK;
    int n = degree + 1;
    double *x = NULL, *w, *slopes;
    TRY(ALLOC(x, n * (n + 2)));
    w = x + n;
    slopes = w + n;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, x, w));
    TRY(nodal_tables(degree, x, values, slopes));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            mass[i * n + j] = stiffness[i * n + j] = 0.0;
            for (int q = 0; q < n; q++) {
                mass[i * n + j] += w[q] * values[q * n + i] * values[q * n + j];
                stiffness[i * n + j] += w[q] * slopes[q * n + i] * slopes[q * n + j];
            }
        }
done:
    base_free(&x);
    return status;
}

static facet_status nodal_make(const struct box_grid *g, int degree, int d, const double *gauss,
                               const double *w, struct nodal_line *l) {
    facet_status status = FACET_OK;
    int n = degree + 1, N = g->cells[d];
    double *values = NULL, *slopes;
    l->rows = n * N;
    l->periodic = g->sides[d][0] == BOX_PERIODIC;
    l->nodes = degree * N + !l->periodic;
    l->first = g->sides[d][0] == BOX_DIRICHLET;
    l->count = l->nodes - l->first - (g->sides[d][1] == BOX_DIRICHLET);
    TRY(ALLOC(values, 2 * n * n));
    slopes = values + n * n;
    TRY(nodal_tables(degree, gauss, values, slopes));
    TRY(CALLOC(l->B, (int64_t)l->rows * l->nodes));
    TRY(CALLOC(l->C, (int64_t)l->rows * l->nodes));
    TRY(CALLOC(l->plain, (int64_t)l->rows * l->nodes));
    for (int c = 0; c < N; c++)
        for (int j = 0; j < n; j++) {
            int node = (c * degree + j) % l->nodes;
            for (int q = 0; q < n; q++) {
                double half = 0.5 * g->widths[d][c];
                int64_t at = (int64_t)node * l->rows + c * n + q;
                l->B[at] += sqrt(w[q] * half) * values[q * n + j];
                l->C[at] += sqrt(w[q] / half) * slopes[q * n + j];
                l->plain[(int64_t)(c * n + q) * l->nodes + node] += values[q * n + j];
            }
        }
done:
    base_free(&values);
    return status;
}

/* One parity of the free nodes: B = Q R, singular values of C R^-1, eigenvectors R^-1 V. vectors: all nodes x
 * size by rows. */
static facet_status nodal_solve(const struct nodal_line *l, const struct box_fold *f, int b, double *theta,
                                double *vectors) {
    facet_status status = FACET_OK;
    int rows = l->rows, size = f->sizes[b], first = b == 0 ? 0 : f->sizes[0];
    double *B = NULL, *C = NULL, *V = NULL, *tau = NULL, *work = NULL;
    int64_t count = (int64_t)rows * size;
    TRY(CALLOC(B, count));
    TRY(CALLOC(C, count));
    TRY(ALLOC(V, size * size));
    TRY(ALLOC(tau, size));
    TRY(ALLOC(work, 64 * size));
    for (int i = 0; i < size; i++)
        for (int s = 0; s < 2; s++) {
            int64_t from = (int64_t)(l->first + f->from[first + i][s]) * rows;
            cblas_daxpy(rows, f->weights[first + i][s], l->B + from, 1, B + (int64_t)i * rows, 1);
            cblas_daxpy(rows, f->weights[first + i][s], l->C + from, 1, C + (int64_t)i * rows, 1);
        }
    lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, size, B, rows, tau, work, 64 * size);
    if (info != 0) FAIL(FACET_ERROR_MACHINE, "LAPACK failed in a QR factorisation (%d)", (int)info);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows, size, 1.0, B, rows,
                C, rows);
    TRY(box_singular_values(rows, size, C, theta, V));
    for (int i = 0; i < size; i++) theta[i] *= theta[i];
    /* By columns V holds V'; the vectors in its rows are multiplied by R^-1 from the left: V' R^-T. */
    cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasTrans, CblasNonUnit, size, size, 1.0, B, rows, V,
                size);
    memset(vectors, 0, (size_t)l->nodes * (size_t)size * sizeof *vectors);
    for (int i = 0; i < size; i++)
        for (int s = 0; s < 2; s++)
            cblas_daxpy(size, f->weights[first + i][s], V + i * size, 1,
                        vectors + (int64_t)(l->first + f->from[first + i][s]) * size, 1);
done:
    base_free(&B);
    base_free(&C);
    base_free(&V);
    base_free(&tau);
    base_free(&work);
    return status;
}

static facet_status nodal_basis(const struct box_grid *g, int d, int n, const double *w,
                                const struct nodal_line *l, struct box_basis *basis) {
    facet_status status = FACET_OK;
    struct box_fold free_nodes = {0};
    double *weights = NULL, *vectors = NULL, *values = NULL;
    int *kinds = NULL, symmetric;
    TRY(CALLOC(kinds, g->cells[d]));
    symmetric = box_is_mirrored(g->cells[d], g->widths[d], kinds) && g->sides[d][0] == g->sides[d][1];
    TRY(make_fold(l->count, symmetric, l->periodic, &free_nodes));
    TRY(make_fold(l->rows, symmetric, 0, &basis->gauss.fold));
    TRY(make_fold(l->nodes, symmetric, l->periodic, &basis->nodes.fold));
    basis->m = l->count;
    memcpy(basis->sizes, free_nodes.sizes, sizeof basis->sizes);
    TRY(ALLOC(basis->theta, l->count));
    TRY(line_weights(g, d, n, w, &weights));
    TRY(ALLOC(vectors, (int64_t)l->nodes * l->count));
    TRY(ALLOC(values, (int64_t)l->rows * l->count));
    for (int b = 0, first = 0; b < 2; first += basis->sizes[b++]) {
        int size = basis->sizes[b];
        if (size > 0) {
            TRY(nodal_solve(l, &free_nodes, b, basis->theta + first, vectors));
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, l->rows, size, l->nodes, 1.0, l->plain,
                        l->nodes, vectors, size, 0.0, values, size);
        }
        TRY(fill_table(b, size, values, weights, &basis->gauss));
        TRY(fill_table(b, size, vectors, NULL, &basis->nodes));
    }
    find_smallest(basis);
done:
    box_fold_destroy(&free_nodes);
    base_free(&kinds);
    base_free(&weights);
    base_free(&vectors);
    base_free(&values);
    return status;
}

facet_status box_basis_create_continuous(const struct box_grid *g, int degree, int d,
                                         struct box_basis *basis) {
    facet_status status = FACET_OK;
    struct nodal_line l = {0};
    double *gauss = NULL, *w;
    int n = degree + 1;
    if (d >= g->dim) return trivial_basis(basis);
    *basis = (struct box_basis){0};
    TRY(ALLOC(gauss, 2 * n));
    w = gauss + n;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, gauss, w));
    TRY(nodal_make(g, degree, d, gauss, w, &l));
    TRY(nodal_basis(g, d, n, w, &l, basis));
done:
    nodal_free(&l);
    base_free(&gauss);
    if (status != FACET_OK) box_basis_destroy(basis);
    return status;
}
