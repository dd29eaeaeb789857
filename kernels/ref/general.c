/* Plain C: cells whose map is curved or whose data vary, one lane at a time. */
#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

void table_apply_ref(int lanes, int64_t n_batches, int rows, int columns, int width, const double *table,
                     const double *in, double *out) {
    int64_t L = (int64_t)width * lanes;
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int r = 0; r < rows; r++)
            for (int64_t w = 0; w < L; w++) {
                double sum = 0.0;
                for (int c = 0; c < columns; c++)
                    sum += table[(int64_t)c * rows + r] * in[(batch * columns + c) * L + w];
                out[(batch * rows + r) * L + w] = sum;
            }
}

/* ------------------------------------------------------------------------------- maps */

/* C[c dim + a] = det J d xi_c / d x_a from J[b dim + a] = d x_a / d xi_b, `step` apart; returns det J. */
static double cofactors_of(int dim, const double *J, int step, double *C) {
    if (dim == 2) {
        C[0] = J[3 * step];
        C[1] = -J[2 * step];
        C[2] = -J[step];
        C[3] = J[0];
        return J[0] * C[0] + J[step] * C[1];
    }
    for (int c = 0; c < 3; c++)
        for (int a = 0; a < 3; a++) {
            int c1 = (c + 1) % 3 * 3, c2 = (c + 2) % 3 * 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
            C[c * 3 + a] =
                J[(c1 + a1) * step] * J[(c2 + a2) * step] - J[(c1 + a2) * step] * J[(c2 + a1) * step];
        }
    return J[0] * C[0] + J[step] * C[1] + J[2 * step] * C[2];
}

int64_t cell_metric_ref(int lanes, int64_t n_batches, int dim, int n, const double *w, const double *points,
                        double *wJ, double *cofactors) {
    int64_t failed = -1;
    for (int64_t i = 0; i < n_batches * n; i++)
        for (int lane = 0; lane < lanes; lane++) {
            double C[9], weight = w[i % n];
            double det = cofactors_of(dim, points + (i * (1 + dim) * dim + dim) * lanes + lane, lanes, C);
            wJ[i * lanes + lane] = weight * det;
            for (int e = 0; e < dim * dim && cofactors != NULL; e++)
                cofactors[(i * dim * dim + e) * lanes + lane] = weight * C[e];
            if (!(det > 0.0) && failed < 0) failed = i / n;
        }
    return failed;
}

void face_metric_ref(int lanes, int64_t n_batches, int dim, int n_faces, int n_face, const double *w,
                     const double *reference, const double *points, double *normals) {
    for (int64_t i = 0; i < n_batches * n_faces * n_face; i++)
        for (int lane = 0; lane < lanes; lane++) {
            double C[9];
            const double *normal = reference + i / n_face % n_faces * 3;
            (void)cofactors_of(dim, points + (i * (1 + dim) * dim + dim) * lanes + lane, lanes, C);
            for (int a = 0; a < dim; a++) {
                double sum = 0.0;
                for (int c = 0; c < dim; c++) sum += C[c * dim + a] * normal[c];
                normals[(i * dim + a) * lanes + lane] = w[i % n_face] * sum;
            }
        }
}

/* ------------------------------------------------------------------------------- matrices */

/* The numbers of one lane. */
struct one {
    const struct general_tables *t;
    int L, full;
    const double *mass, *det, *root, *reaction, *cofactors, *normals, *tau, *orientations;
};

static struct one lane_of(const struct general_tables *t, const struct general_cells *g, int64_t batch,
                          int lane) {
    int L = t->lanes, dim = t->dim, pairs = g->full ? dim * (dim + 1) / 2 : 1;
    int64_t n_face = (int64_t)t->n_faces * t->n_face;
    return (struct one){t,
                        L,
                        g->full,
                        g->mass + batch * pairs * t->n * L + lane,
                        g->det != NULL ? g->det + batch * t->n_det * L + lane : NULL,
                        g->roots != NULL ? g->roots + batch * dim * dim * L + lane : NULL,
                        g->reaction != NULL ? g->reaction + batch * t->n * L + lane : NULL,
                        g->cofactors + batch * t->n_metric * dim * dim * L + lane,
                        g->normals + batch * n_face * dim * L + lane,
                        g->tau != NULL ? g->tau + batch * n_face * L + lane : NULL,
                        g->orientations + batch * t->n_faces * L + lane};
}

int ref_factor(int size, double *A) {
    for (int k = 0; k < size; k++) {
        if (!(A[(int64_t)k * size + k] > 0.0)) return 0;
        double inverse = 1.0 / sqrt(A[(int64_t)k * size + k]);
        for (int j = k; j < size; j++) A[(int64_t)k * size + j] *= inverse;
        for (int i = k + 1; i < size; i++)
            for (int j = i; j < size; j++)
                A[(int64_t)i * size + j] -= A[(int64_t)k * size + i] * A[(int64_t)k * size + j];
    }
    return 1;
}

void ref_forward(int size, const double *R, double *x, int64_t step) {
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < i; k++) x[i * step] -= R[(int64_t)k * size + i] * x[k * step];
        x[i * step] /= R[(int64_t)i * size + i];
    }
}

void ref_backward(int size, const double *R, double *x, int64_t step) {
    for (int i = size - 1; i >= 0; i--) {
        for (int k = i + 1; k < size; k++) x[i * step] -= R[(int64_t)i * size + k] * x[k * step];
        x[i * step] /= R[(int64_t)i * size + i];
    }
}

/* A = (K^-1 phi, phi) over all directions, factored. */
static int factor_mass(const struct one *o, double *A) {
    const struct general_tables *t = o->t;
    int N = t->N, size = t->dim * N;
    memset(A, 0, (size_t)size * (size_t)size * sizeof *A);
    for (int b = 0, pair = 0; b < t->dim; b++)
        for (int a = 0; a <= b; a++, pair++)
            for (int q = 0; q < (o->det != NULL ? t->n_det : t->n) && (o->full || a == b); q++) {
                double weight = o->det != NULL ? o->det[q * o->L]
                                               : o->mass[((int64_t)(o->full ? pair : 0) * t->n + q) * o->L];
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < N; j++)
                        A[(int64_t)(a * N + i) * size + b * N + j] +=
                            weight * (o->det != NULL ? t->M[((int64_t)q * N + i) * N + j]
                                                     : t->phi[q * N + i] * t->phi[q * N + j]);
            }
    return ref_factor(size, A);
}

/* X (dim N x (N + n)) = [D | G]. */
static void first_matrix(const struct one *o, double *X) {
    const struct general_tables *t = o->t;
    int N = t->N, dim = t->dim, m = t->m, total = N + t->n_faces * m;
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N; i++) {
            double *row = X + (int64_t)(a * N + i) * total;
            for (int j = 0; j < N; j++) row[j] = 0.0;
            for (int k = 0; k < t->n_metric * dim; k++) { /* point and c */
                double cofactor = o->cofactors[(k * dim + a) * o->L];
                int q = k / dim;
                const double *grad = t->grad + ((int64_t)(k % dim) * t->n + q) * N;
                for (int j = 0; j < N; j++)
                    row[j] += cofactor * (t->D != NULL ? t->D[((int64_t)k * N + i) * N + j]
                                                       : grad[i] * t->phi[q * N + j]);
            }
            for (int j = 0; j < total - N; j++) {
                int f = j / m;
                row[N + j] = 0.0;
                for (int q = 0; q < t->n_face; q++) {
                    int64_t p = (int64_t)f * t->n_face + q;
                    row[N + j] +=
                        o->normals[(p * dim + a) * o->L] * t->face_phi[p * N + i] * t->psi[q * m + j % m];
                }
            }
        }
}

/* C = [lambda M + T, E; ., H], the upper triangle. */
static void second_matrix(const struct one *o, double *C) {
    const struct general_tables *t = o->t;
    int N = t->N, m = t->m, total = N + t->n_faces * m;
    memset(C, 0, (size_t)total * (size_t)total * sizeof *C);
    for (int q = 0; q < t->n && o->reaction != NULL; q++)
        for (int i = 0; i < N; i++)
            for (int j = i; j < N; j++)
                C[i * total + j] += o->reaction[q * o->L] * t->phi[q * N + i] * t->phi[q * N + j];
    for (int p = 0; p < t->n_faces * t->n_face; p++) {
        int first = N + p / t->n_face * m;
        const double *phi = t->face_phi + (int64_t)p * N, *psi = t->psi + (int64_t)(p % t->n_face) * m;
        for (int i = 0; i < N + m; i++)
            for (int j = i; j < N + m; j++)
                C[(int64_t)(i < N ? i : first + i - N) * total + (j < N ? j : first + j - N)] +=
                    o->tau[p * o->L] * (i < N ? phi[i] : psi[i - N]) * (j < N ? phi[j] : psi[j - N]);
    }
}

/* X_c = sum_a root[a][c] X_a over blocks of `count` numbers, in place. */
static void mix_by_root(const struct one *o, int64_t count, double *X) {
    int dim = o->t->dim;
    for (int c = 0; c < dim; c++)
        for (int64_t i = 0; i < count; i++) {
            double sum = 0.0;
            for (int a = c; a < dim; a++) sum += o->root[(a * dim + c) * o->L] * X[a * count + i];
            X[c * count + i] = sum;
        }
}

/* x = K^-1/2 A^-1/2 x of all directions: back from R^-T x, and from the mixture by the root. */
static void from_half(const struct one *o, const double *A, double *x, double *q) {
    int N = o->t->N, dim = o->t->dim;
    ref_backward(dim * N, A, x, 1);
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N; i++) {
            double sum = o->root == NULL ? x[a * N + i] : 0.0;
            for (int c = 0; c <= a && o->root != NULL; c++)
                sum += o->root[(a * dim + c) * o->L] * x[c * N + i];
            q[(a * N + i) * o->L] = sum;
        }
}

/* A, factored; X = R^-T [D | G], mixed by the root; C = [S R; . H + G'A^-1 G]. 0 when A is not positive
 * definite. */
static int assemble(const struct one *o, double *A, double *X, double *C) {
    const struct general_tables *t = o->t;
    int N = t->N, total = N + t->n_faces * t->m, size = t->dim * N;
    if (!factor_mass(o, A)) return 0;
    first_matrix(o, X);
    second_matrix(o, C);
    if (o->root != NULL) mix_by_root(o, (int64_t)N * total, X);
    for (int j = 0; j < total; j++) ref_forward(size, A, X + j, total);
    for (int i = 0; i < total; i++)
        for (int j = i; j < total; j++)
            for (int k = 0; k < size; k++)
                C[(int64_t)i * total + j] += X[(int64_t)k * total + i] * X[(int64_t)k * total + j];
    return 1;
}

int64_t condense_general_scratch_ref(const struct general_tables *t, int full) {
    int64_t size = (int64_t)t->dim * t->N, n = (int64_t)t->n_faces * t->m, total = t->N + n;
    (void)full;
    return size * size + size * total + total * total + n + (t->N + 1) * (t->N + 1) + size;
}

int64_t condense_general_ref(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                             double *K, double *scratch) {
    int L = t->lanes, N = t->N, n = t->n_faces * t->m, total = N + n, size = t->dim * N;
    double *A = scratch, *X = A + (int64_t)size * size, *C = X + (int64_t)size * total,
           *d = C + (int64_t)total * total;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        struct one o = lane_of(t, g, batch, (int)lane);
        if (!assemble(&o, A, X, C)) return batch;
        if (!ref_eliminate(N, total, C)) return batch;
        ref_substitute_back(N, total, C);
        for (int j = 0; j < n; j++) { /* K 1 = U'(lambda, phi) */
            d[j] = 0.0;
            for (int q = 0; q < t->n && o.reaction != NULL; q++)
                for (int i = 0; i < N; i++)
                    d[j] += o.reaction[q * L] * t->phi[q * N + i] * C[(int64_t)i * total + N + j];
        }
        ref_restore_sums(n, total, t->n_faces, t->m, sqrt(t->affine->face), d, C + (int64_t)N * total + N);
        ref_turn(t->affine, o.orientations, C, d);
        ref_store(n, total, C + (int64_t)N * total + N, L, K + batch * (n * (n + 1) / 2) * L + lane);
    }
    return -1;
}

int64_t general_solve_ref(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    int L = t->lanes, N = t->N, m = t->m, n = t->n_faces * m, total = N + n, dim = t->dim, size = dim * N;
    double *A = scratch, *X = A + (int64_t)size * size, *C = X + (int64_t)size * total,
           *row = C + (int64_t)total * total, *S = row + n, *x = S + (N + 1) * (N + 1);
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        struct one o = lane_of(t, g, batch, (int)lane);
        const double *trace = uhat != NULL ? uhat + batch * n * L + lane : NULL;
        double *inner = u + batch * N * L + lane;
        if (!assemble(&o, A, X, C)) return batch;
        ref_turn(t->affine, o.orientations, C, row);
        for (int i = 0; i < size * t->n_faces; i++) /* G O: in the cell's orientations */
            ref_turn_row(t->affine, (int)o.orientations[i % t->n_faces * L],
                         X + (int64_t)(i / t->n_faces) * total + N + i % t->n_faces * m, 1, row);
        if (!ref_solve(N, n, C, 1.0, L, trace, inner, load != NULL ? load + batch * n * L + lane : NULL, S))
            return batch;
        if (q == NULL) continue;
        for (int i = 0; i < size; i++) {
            x[i] = 0.0;
            for (int j = 0; j < N; j++) x[i] += X[(int64_t)i * total + j] * inner[j * L];
            for (int j = 0; j < n && trace != NULL; j++) x[i] -= X[(int64_t)i * total + N + j] * trace[j * L];
        }
        from_half(&o, A, x, q + batch * size * L + lane);
    }
    return -1;
}

/* ------------------------------------------------------------------------------- gradients */

int64_t gradient_solve_scratch_ref(int lanes, int n, int M) {
    (void)lanes, (void)n;
    return (int64_t)M * (M + 1);
}

int64_t gradient_solve_ref(int lanes, int64_t n_batches, int dim, int n, int M, const double *grad,
                           const double *W, double *x, double *scratch) {
    int L = lanes, pairs = dim * (dim + 1) / 2;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        const double *w = W + batch * n * pairs * L + lane;
        memset(scratch, 0, (size_t)M * (size_t)M * sizeof *scratch);
        for (int q = 0; q < n; q++)
            for (int c = 0; c < dim; c++) { /* sum_e W_ce d_e w, then its products with d_c w */
                double *flow = scratch + (int64_t)M * M;
                memset(flow, 0, (size_t)M * sizeof *flow);
                for (int e = 0; e < dim; e++) {
                    int pair = e > c ? e * (e + 1) / 2 + c : c * (c + 1) / 2 + e;
                    double weight = w[((int64_t)q * pairs + pair) * L];
                    for (int j = 0; j < M; j++) flow[j] += weight * grad[((int64_t)e * n + q) * M + j];
                }
                for (int i = 0; i < M; i++)
                    for (int j = i; j < M; j++)
                        scratch[(int64_t)i * M + j] += grad[((int64_t)c * n + q) * M + i] * flow[j];
            }
        if (!ref_factor(M, scratch)) return batch;
        ref_forward(M, scratch, x + batch * M * L + lane, L);
        ref_backward(M, scratch, x + batch * M * L + lane, L);
    }
    return -1;
}

/* ------------------------------------------------------------------------------- errors */

void error_squares_ref(const struct error_points *p, int64_t n_batches, double *errors) {
    for (int64_t i = 0; i < n_batches * N_ERRORS * p->lanes; i++) errors[i] = 0.0;
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int q = 0; q < p->n; q++)
            for (int lane = 0; lane < p->lanes; lane++)
                general_add_errors(p, batch, q, lane, errors + batch * N_ERRORS * p->lanes + lane, p->lanes);
}

void star_weights_ref(int lanes, int64_t n_batches, int dim, int n, int varying, const double *wJ,
                      const double *C, const double *K, const double *q, double *flow, double *W) {
    for (int64_t i = 0; i < n_batches * n * lanes; i++)
        general_star_weights(lanes, dim, n, varying, wJ, C, K, q, i / lanes, (int)(i % lanes), flow, W);
}
