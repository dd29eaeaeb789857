/* What the tests of the box room share: boxes of all kinds, and the dense HDG system built from Table 1 of
 * huismann2020 with plain Kronecker products of the 1D matrices in the orthonormal Legendre basis. Nothing of
 * box/line.h is used but S, to compare vectors. */
#ifndef FACET_TESTS_BOX_HELPERS_H
#define FACET_TESTS_BOX_HELPERS_H

#include <lapacke.h>

#include "boxhdg/hdg_cells.h"
#include "hdg_helpers.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

struct box_kind {
    int dim, degree, cells[3];
    double stretch;         /* ratio of the widths of neighbouring cells */
    double lengths[3];      /* 0: 1 */
    enum box_side sides[3]; /* both sides of a direction, except: */
    int mixed;              /* the upper sides are Neumann where the lower ones are Dirichlet */
    double reaction;        /* cellwise around this; 0: none */
    int varying;            /* conductivity from cell to cell */
    double tau;             /* physical, times k; 0: tau_hat = 1.5 */
};

static inline struct boxhdg *make_box(const struct box_kind *kind) {
    struct box_grid_data data = {.dim = kind->dim};
    double x[3][65], rho[3][64], *k = NULL, *lambda = NULL;
    const double *pointers[3] = {rho[0], rho[1], rho[2]};
    int64_t n = 1;
    uint32_t seed = 77;
    struct boxhdg *h;
    for (int d = 0; d < kind->dim; d++) {
        double length = kind->lengths[d] > 0 ? kind->lengths[d] : 1, width = 1, sum = 0;
        data.cells[d] = kind->cells[d];
        data.coordinates[d] = x[d];
        data.sides[d][0] = data.sides[d][1] = kind->sides[d];
        if (kind->mixed && kind->sides[d] == BOX_DIRICHLET) data.sides[d][1] = BOX_NEUMANN;
        x[d][0] = 0;
        for (int i = 0; i<data.cells[d]; i++, width *= kind->stretch> 0 ? kind->stretch : 1)
            x[d][i + 1] = sum += width;
        for (int i = 0; i <= data.cells[d]; i++) x[d][i] *= length / sum;
        for (int i = 0; i < data.cells[d]; i++)
            rho[d][i] = kind->tau > 0 ? kind->tau * (x[d][i + 1] - x[d][i]) / 2 : 1.5;
        n *= data.cells[d];
    }
    if (kind->varying) k = malloc((size_t)n * sizeof *k);
    if (kind->reaction > 0) lambda = malloc((size_t)n * sizeof *lambda);
    for (int64_t c = 0; c < n; c++) {
        if (k != NULL) k[c] = pow(10, random_signed(&seed));
        if (lambda != NULL) lambda[c] = kind->reaction * (1 + 0.5 * random_signed(&seed));
    }
    data.conductivity = k;
    data.reaction = lambda;
    ok(boxhdg_create(&data, kind->degree, pointers, &h));
    free(k);
    free(lambda);
    return h;
}

static inline double *random_vector(int64_t n, uint32_t seed) {
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    return x;
}

static inline double norm2(int64_t n, const double *x) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static inline void close_to(int64_t n, const double *a, const double *b, double tolerance, const char *what) {
    double difference = 0, size = norm2(n, b);
    for (int64_t i = 0; i < n; i++) difference += (a[i] - b[i]) * (a[i] - b[i]);
    if (!(sqrt(difference) <= tolerance * size))
        fail_msg("%s: differs by %g of %g", what, sqrt(difference), size);
}

/* y = (T along every direction) x, of an array of m numbers in each of `dim` directions. */
static inline void along_all(int dim, int m, const double *const T[3], int transposed, double *x) {
    int64_t size = 1, inner = 1;
    for (int d = 0; d < dim; d++) size *= m;
    double *y = malloc((size_t)size * sizeof *y);
    for (int d = 0; d < dim; d++, inner *= m) {
        for (int64_t i = 0; i < size; i++) {
            int64_t r = i % inner, a = i / inner % m, o = i / inner / m;
            y[i] = 0;
            for (int q = 0; q < m; q++)
                y[i] += (transposed ? T[d][q * m + a] : T[d][a * m + q]) * x[(o * m + q) * inner + r];
        }
        memcpy(x, y, (size_t)size * sizeof *y);
    }
    free(y);
}

/* The modes of a face or a cell to the Legendre basis, or back. */
static inline void face_to_legendre(const struct boxhdg *h, const int at[3], int d, int back, double *x) {
    const double *S[3] = {NULL};
    int count = 0;
    for (int t = 0; t < h->grid.dim; t++)
        if (t != d) S[count++] = boxhdg_line(h, t, at[t])->S;
    along_all(count, h->n, S, back, x);
}
static inline void cell_to_legendre(const struct boxhdg *h, const int at[3], int back, double *x) {
    const double *S[3] = {NULL};
    for (int t = 0; t < h->grid.dim; t++) S[t] = boxhdg_line(h, t, at[t])->S;
    along_all(h->grid.dim, h->n, S, back, x);
}

/* The 1D matrices of eq. 8 by quadrature; ends are the columns of B and C. */
struct line_matrices {
    int n;
    double M[40 * 40], D[40 * 40], E[40 * 40], B[40 * 2], C[40 * 2], G[4];
};
static inline void make_line_matrices(int n, double tau_hat, struct line_matrices *m) {
    double x[64], w[64], p[41], dp[41];
    ok(rule_gauss_jacobi(n + 2, 0, 0, x, w));
    memset(m, 0, sizeof *m);
    m->n = n;
    for (int q = 0; q < n + 2; q++) {
        jacobi_orthonormal(n - 1, 0, 0, x[q], p, dp);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                m->M[i * n + j] += w[q] * p[i] * p[j];
                m->D[i * n + j] += w[q] * p[i] * dp[j];
            }
    }
    for (int end = 0; end < 2; end++) {
        jacobi_orthonormal(n - 1, 0, 0, 2.0 * end - 1, p, NULL);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) m->E[i * n + j] += tau_hat * p[i] * p[j];
            m->B[i * 2 + end] = -tau_hat * p[i];
            m->C[i * 2 + end] = p[i] * (2 * end - 1);
        }
        m->G[end * 2 + end] = tau_hat;
    }
}

/* One cell of Table 1 with conductivity k: a square matrix over (u, q_1 .., uhat_1 ..), sizes N, N each, and
 * 2 face_size each, the face's two sides being the index of its direction. */
static inline double *dense_cell(const struct boxhdg *h, const int at[3], int *order) {
    const struct box_grid *g = &h->grid;
    int dim = g->dim, n = h->n, N = (int)h->cell_size, fs = (int)h->face_size;
    int size = N * (1 + dim) + 2 * dim * fs;
    double *A = calloc((size_t)size * (size_t)size, sizeof *A), V = 1, a[3];
    double k = box_conductivity(g, box_cell(g, at)), lambda = box_reaction(g, box_cell(g, at));
    struct line_matrices *m = malloc(3 * sizeof *m);
    for (int d = 0; d < dim; d++) {
        V *= g->widths[d][at[d]] / 2;
        make_line_matrices(n, boxhdg_line(h, d, at[d])->rho, &m[d]);
    }
    for (int d = 0; d < dim; d++) a[d] = V * pow(2 / g->widths[d][at[d]], 2);
    int stride[3] = {1, n, n * n};
#define AT(i, j) A[(size_t)(i) * (size_t)size + (size_t)(j)]
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double mass = 1, rest[3] = {1, 1, 1};
            for (int d = 0; d < dim; d++) {
                double M = m[d].M[(i / stride[d] % n) * n + j / stride[d] % n];
                mass *= M;
                for (int e = 0; e < dim; e++)
                    if (e != d) rest[e] *= M;
            }
            AT(i, j) += lambda * V * mass;
            for (int d = 0; d < dim; d++) {
                int li = i / stride[d] % n, lj = j / stride[d] % n;
                AT(i, j) += k * a[d] * rest[d] * m[d].E[li * n + lj];
                AT(N * (1 + d) + i, N * (1 + d) + j) = -V * mass / k;
                double D = g->widths[d][at[d]] / 2 * a[d] * rest[d] * m[d].D[li * n + lj];
                AT(i, N * (1 + d) + j) = -D;
                AT(N * (1 + d) + j, i) = -D;
            }
        }
    for (int d = 0; d < dim; d++)
        for (int side = 0; side < 2; side++)
            for (int f = 0; f < fs; f++) {
                int column = N * (1 + dim) + (2 * d + side) * fs + f;
                int low = f % stride[d], high = f / stride[d]; /* tangential indices below and above d */
                AT(column, column) = k * a[d] * m[d].G[side * 2 + side];
                for (int l = 0; l < n; l++) { /* M is the identity along the face */
                    int i = low + l * stride[d] + high * stride[d] * n;
                    double B = k * a[d] * m[d].B[l * 2 + side];
                    double C = g->widths[d][at[d]] / 2 * a[d] * m[d].C[l * 2 + side];
                    AT(i, column) = AT(column, i) = B;
                    AT(N * (1 + d) + i, column) = AT(column, N * (1 + d) + i) = C;
                }
            }
#undef AT
    free(m);
    *order = size;
    return A;
}

#endif
