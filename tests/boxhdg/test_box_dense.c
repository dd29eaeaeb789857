/* HDG on boxes against the dense system of huismann2020, Table 1: residuals, loads and recovery. */
#include "bench/papers/box_plain.h"
#include "box_helpers.h"

#define TOLERANCE 1e-12

/* ------------------------------------------------------------------------------------------ dense */

/* What one cell answers, in the Legendre basis: u and q = -k grad u for traces v and loads f, and the
 * residual r = K v - F on its faces. */
struct answer {
    double *u, *q, *r;
};

/* From the whole matrix over (u, q, uhat) of Table 1. */
static void dense_answer(const struct boxhdg *h, const int at[3], const double *v, const double *f,
                         struct answer *a) {
    int dim = h->grid.dim, N = (int)h->cell_size, order, inner = N * (1 + dim);
    double *A = dense_cell(h, at, &order), *x = calloc((size_t)inner, sizeof *x);
    double *B = malloc((size_t)inner * (size_t)inner * sizeof *B);
    lapack_int *pivots = malloc((size_t)inner * sizeof *pivots);
    int faces = order - inner;
    memcpy(x, f, (size_t)N * sizeof *x);
    for (int i = 0; i < inner; i++) {
        const double *row = A + (size_t)i * (size_t)order;
        memcpy(B + (size_t)i * (size_t)inner, row, (size_t)inner * sizeof *B);
        for (int j = 0; j < faces; j++) x[i] -= row[inner + j] * v[j];
    }
    assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, inner, 1, B, inner, pivots, x, inner), 0);
    for (int j = 0; j < faces; j++) {
        const double *row = A + (size_t)(inner + j) * (size_t)order;
        a->r[j] = 0;
        for (int i = 0; i < inner; i++) a->r[j] += row[i] * x[i];
        for (int i = 0; i < faces; i++) a->r[j] += row[inner + i] * v[i];
    }
    memcpy(a->u, x, (size_t)N * sizeof *x);
    for (int i = 0; i < dim * N; i++) a->q[i] = -x[N + i];
    free(A);
    free(B);
    free(x);
    free(pivots);
}

/* The same after q = k (2/h) (C v - D' u), so that only the matrix of u is dense: for high degrees. */
static void reduced_answer(const struct boxhdg *h, const int at[3], const double *v, const double *f,
                           struct answer *a) {
    const struct box_grid *g = &h->grid;
    int dim = g->dim, n = h->n, N = (int)h->cell_size, fs = (int)h->face_size, stride[3] = {1, n, n * n};
    double *Z = calloc((size_t)N * (size_t)N, sizeof *Z), V = 1;
    double k = box_conductivity(g, box_cell(g, at)), lambda = box_reaction(g, box_cell(g, at));
    struct line_matrices *m = malloc(3 * sizeof *m);
    for (int d = 0; d < dim; d++) V *= g->widths[d][at[d]] / 2;
    memcpy(a->u, f, (size_t)N * sizeof *f);
    for (int i = 0; i < N; i++) Z[(size_t)i * (size_t)(N + 1)] = lambda * V;
    for (int d = 0; d < dim; d++) {
        double scale = k * V * pow(2 / g->widths[d][at[d]], 2);
        make_line_matrices(n, boxhdg_line(h, d, at[d])->rho, &m[d]);
        for (int i = 0; i < N; i++) {
            int li = i / stride[d] % n, base = i - li * stride[d];
            int face = i % stride[d] + i / (stride[d] * n) * stride[d];
            for (int lj = 0; lj < n; lj++) {
                double L = m[d].E[li * n + lj];
                for (int l = 0; l < n; l++) L += m[d].D[li * n + l] * m[d].D[lj * n + l];
                Z[(size_t)i * (size_t)N + (size_t)(base + lj * stride[d])] += scale * L;
            }
            for (int side = 0; side < 2; side++) {
                double R = -m[d].B[li * 2 + side];
                for (int l = 0; l < n; l++) R += m[d].D[li * n + l] * m[d].C[l * 2 + side];
                a->u[i] += scale * R * v[(2 * d + side) * fs + face];
            }
        }
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', N, 1, Z, N, a->u, N), 0);
    for (int d = 0; d < dim; d++) {
        double inverse = 2 / g->widths[d][at[d]];
        for (int side = 0; side < 2; side++)
            for (int face = 0; face < fs; face++)
                a->r[(2 * d + side) * fs + face] =
                    k * V * inverse * inverse * m[d].G[3 * side] * v[(2 * d + side) * fs + face];
        for (int i = 0; i < N; i++) {
            int li = i / stride[d] % n, base = i - li * stride[d];
            int face = i % stride[d] + i / (stride[d] * n) * stride[d];
            double sum = 0;
            for (int side = 0; side < 2; side++) sum += m[d].C[li * 2 + side] * v[(2 * d + side) * fs + face];
            for (int l = 0; l < n; l++) sum -= m[d].D[l * n + li] * a->u[base + l * stride[d]];
            a->q[d * N + i] = -k * inverse * sum;
            for (int side = 0; side < 2; side++)
                a->r[(2 * d + side) * fs + face] +=
                    V * inverse *
                    (k * inverse * m[d].B[li * 2 + side] * a->u[i] - m[d].C[li * 2 + side] * a->q[d * N + i]);
        }
    }
    free(Z);
    free(m);
}

/* Random traces, sources and Neumann data: residual, u and q of the box code are those of the dense cells. */
static void check_dense(const struct box_kind *kind) {
    struct boxhdg *h = make_box(kind);
    const struct box_grid *g = &h->grid;
    int dim = g->dim, N = (int)h->cell_size, fs = (int)h->face_size;
    size_t faces = (size_t)(2 * dim * fs), trace = (size_t)h->n_trace;
    double *x = random_vector(h->n_trace, 5), *f = random_vector(h->n_volume, 6);
    double *neumann = random_vector(h->n_trace, 7), *loads = malloc((size_t)h->n_volume * sizeof *loads);
    double *F = malloc(trace * sizeof *F), *y = malloc(trace * sizeof *y);
    double *r = calloc(trace, sizeof *r), *v = malloc(faces * sizeof *v),
           *load = malloc((size_t)N * sizeof *load);
    double *u = malloc((size_t)h->n_volume * sizeof *u), *q = malloc((size_t)(dim * h->n_volume) * sizeof *q);
    double *exact_u = malloc((size_t)h->n_volume * sizeof *u);
    double *exact_q = malloc((size_t)(dim * h->n_volume) * sizeof *q);
    struct answer a = {malloc((size_t)N * sizeof *a.u), malloc((size_t)(dim * N) * sizeof *a.q),
                       malloc(faces * sizeof *a.r)};
    ok(boxhdg_load(h, f, x, neumann, loads, F));
    ok(boxhdg_apply(h, x, y));
    ok(boxhdg_recover(h, loads, x, u, q));
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        for (int d = 0; d < dim; d++)
            for (int side = 0; side < 2; side++) {
                double *face = v + (2 * d + side) * fs;
                memcpy(face, x + box_face(g, at, d, side) * fs, (size_t)fs * sizeof *face);
                face_to_legendre(h, at, d, 0, face);
            }
        memcpy(load, loads + c * N, (size_t)N * sizeof *load);
        cell_to_legendre(h, at, 0, load);
        (N * (1 + dim) <= 130 ? dense_answer : reduced_answer)(h, at, v, load, &a);
        cell_to_legendre(h, at, 1, a.u);
        memcpy(exact_u + c * N, a.u, (size_t)N * sizeof *u);
        for (int d = 0; d < dim; d++) {
            cell_to_legendre(h, at, 1, a.q + d * N);
            memcpy(exact_q + d * h->n_volume + c * N, a.q + d * N, (size_t)N * sizeof *q);
            for (int side = 0; side < 2; side++) {
                double *face = a.r + (2 * d + side) * fs;
                int64_t to = box_face(g, at, d, side) * fs;
                int end = at[d] == side * (g->cells[d] - 1);
                face_to_legendre(h, at, d, 1, face);
                for (int i = 0; i < fs; i++)
                    r[to + i] += face[i] - (end && g->sides[d][side] == BOX_NEUMANN ? neumann[to + i] : 0);
            }
        }
    }
    boxhdg_add_dirichlet(h, NULL, r);
    for (int64_t i = 0; i < h->n_trace; i++) y[i] -= F[i];
    close_to(h->n_trace, y, r, TOLERANCE, "residual");
    close_to(h->n_volume, u, exact_u, TOLERANCE, "u");
    close_to(dim * h->n_volume, q, exact_q, TOLERANCE, "q");
    double *all[] = {x, f, neumann, loads, F, y, r, v, load, u, q, exact_u, exact_q, a.u, a.q, a.r};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    boxhdg_destroy(&h);
}

static void test_dense_low(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 1; p <= (dim == 3 ? 4 : 12); p++)
            for (int way = 0; way < 4; way++) {
                struct box_kind kind = {.dim = dim, .degree = p, .cells = {3, 2, 2}, .stretch = 1.4};
                if (dim == 3 && p > 2) kind.cells[0] = 2;
                if (way > 0) kind.lengths[0] = 3, kind.lengths[dim - 1] = 0.2;
                if (way % 2) kind.reaction = 7, kind.tau = 2.5;
                if (way >= 2) kind.varying = 1, kind.mixed = 1;
                if (way == 3) kind.sides[dim - 1] = BOX_PERIODIC;
                if (way == 0) kind.sides[0] = BOX_NEUMANN;
                check_dense(&kind);
            }
}

static void test_dense_high(void **state) {
    (void)state;
    for (int p = 5; p <= 12; p++) {
        struct box_kind kind = {.dim = 3,
                                .degree = p,
                                .cells = {p < 9 ? 2 : 1, 1, 1},
                                .stretch = 1.5,
                                .mixed = 1,
                                .varying = p % 2,
                                .reaction = p % 3,
                                .tau = p % 2 ? 0 : 25};
        check_dense(&kind);
    }
}

int main(void) {
    base_blas_narrow(); /* the dense systems are small */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense_low), cmocka_unit_test(test_dense_high)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
