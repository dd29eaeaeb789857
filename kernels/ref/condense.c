/* Plain C: local solvers of affine cells with constant coefficients, one lane at a time. */
#include <math.h>

#include "kernels/ref/ref.h"

int64_t condense_scratch_ref(const struct affine_tables *t) {
    int64_t total = t->N + t->n_faces * t->m;
    return total * total + t->n_faces * t->m;
}

/* C = [S R; . H + G'A^-1 G], its upper triangle, faces in orientation 0, for one lane; c[k * L] are the
 * coefficients. */
static void assemble_lane(const struct affine_tables *t, const struct affine_layout *at, const double *c,
                          double *C) {
    const int L = t->lanes;
    int N = t->N, m = t->m, n = t->n_faces * m, ld = N + n;
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            double sum = i == j ? c[at->reaction * L] : 0.0;
            for (int p = 0; p < t->dim * (t->dim + 1) / 2; p++)
                sum += c[(at->stiffness + p) * L] * t->stiffness[(p * N + i) * N + j];
            for (int f = 0; f < t->n_faces; f++)
                sum += c[(at->weight + f) * L] * t->face_mass[(f * N + i) * N + j];
            C[i * ld + j] = sum;
        }
    for (int i = 0; i < N; i++)
        for (int f = 0; f < t->n_faces; f++)
            for (int j = 0; j < m; j++) {
                double sum = c[(at->weight + f) * L] * t->F[(f * N + i) * m + j];
                for (int b = 0; b < t->dim; b++)
                    sum += c[(at->gradient + f * t->dim + b) * L] * t->DF[((f * t->dim + b) * N + i) * m + j];
                C[i * ld + N + f * m + j] = sum;
            }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            int f = i / m, g = j / m;
            double sum = c[(at->normals + f * t->n_faces + g) * L] *
                         t->FF[((f * t->n_faces + g) * m + i % m) * m + j % m];
            C[(N + i) * ld + N + j] = sum + (i == j ? c[(at->weight + f) * L] : 0.0);
        }
}

/* S = R'R in the first N rows, R^-T applied to the other columns, and the Schur complement below. */
int ref_eliminate(int N, int total, double *C) {
    for (int k = 0; k < N; k++) {
        if (!(C[k * total + k] > 0.0)) return 0;
        double inverse = 1.0 / sqrt(C[k * total + k]);
        for (int j = k; j < total; j++) C[k * total + j] *= inverse;
        for (int i = k + 1; i < total; i++)
            for (int j = i; j < total; j++) C[i * total + j] -= C[k * total + i] * C[k * total + j];
    }
    return 1;
}

void ref_substitute_back(int N, int total, double *C) {
    for (int i = N - 1; i >= 0; i--)
        for (int j = N; j < total; j++) {
            for (int k = i + 1; k < N; k++) C[i * total + j] -= C[i * total + k] * C[k * total + j];
            C[i * total + j] /= C[i * total + i];
        }
}

/* x = x O on the m numbers of a face in a row (or column) with this step. row: m numbers of scratch. */
void ref_turn_row(const struct affine_tables *t, int o, double *x, int step, double *row) {
    const double *block = t->turns + o * t->n_turn;
    for (int g = 0; g < t->n_groups; g++) {
        const int32_t *modes = t->modes + t->group_starts[g];
        int size = t->group_starts[g + 1] - t->group_starts[g];
        for (int b = 0; b < size; b++) {
            row[modes[b]] = 0.0;
            for (int a = 0; a < size; a++) row[modes[b]] += x[modes[a] * step] * block[a * size + b];
        }
        block += size * size;
    }
    for (int j = 0; j < t->m; j++) x[j * step] = row[j];
}

/* Into the orientations of the lane: U O in the first N rows of C, O'K O (upper triangle) in the others. row:
 * m numbers of scratch. */
void ref_turn(const struct affine_tables *t, const double *orientations, double *C, double *row) {
    const int L = t->lanes;
    int N = t->N, m = t->m, n = t->n_faces * m, ld = N + n;
    double *K = C + N * ld + N;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) K[i * ld + j] = K[j * ld + i];
    for (int f = 0; f < t->n_faces; f++) {
        int o = (int)orientations[f * L];
        for (int i = 0; i < N + n; i++) ref_turn_row(t, o, C + i * ld + N + f * m, 1, row);
        for (int j = 0; j < n; j++) ref_turn_row(t, o, K + f * m * ld + j, ld, row);
    }
}

/* Makes K 1 = d in the lower right block K of C (upper triangle), where the function 1 is `one` at the
 * unknowns 0, m, 2m, .. and 0 elsewhere: see local_restore_sums in src/hdg/condense.c. Destroys d. */
void ref_restore_sums(int n, int ld, int n_ones, int m, double one, double *d, double *K) {
    double w = 1.0 / (n_ones * one), total = 0.0;
    for (int i = 0; i < n; i++)
        for (int f = 0; f < n_ones; f++) d[i] -= one * (i <= f * m ? K[i * ld + f * m] : K[f * m * ld + i]);
    for (int f = 0; f < n_ones; f++) total += one * d[f * m];
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            int first = i % m == 0 && i / m < n_ones, second = j % m == 0 && j / m < n_ones;
            if (second) K[i * ld + j] += w * d[i];
            if (first) K[i * ld + j] += w * d[j];
            if (first && second) K[i * ld + j] -= total * w * w;
        }
}

/* K 1 = U'(lambda, phi). */
static void restore_constants(const struct affine_tables *t, double reaction, double *C, double *d) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n;
    for (int i = 0; i < n; i++) d[i] = reaction * sqrt(t->volume) * C[N + i];
    ref_restore_sums(n, ld, t->n_faces, t->m, sqrt(t->face), d, C + N * ld + N);
}

int64_t condense_affine_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                            double *factor, double *U, double *K, double *scratch) {
    const int L = t->lanes;
    int N = t->N, n = t->n_faces * t->m, total = N + n;
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    double *C = scratch, *row = scratch + total * total;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        const double *c = coefficients + batch * at.count * L + lane;
        assemble_lane(t, &at, c, C);
        if (!ref_eliminate(N, total, C)) return batch;
        ref_substitute_back(N, total, C);
        ref_turn(t, c + at.orientation * L, C, row);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j <= i; j++)
                factor[(batch * (N * (N + 1) / 2) + i * (i + 1) / 2 + j) * L + lane] = C[j * total + i];
            for (int j = 0; j < n; j++) U[(batch * N * n + i * n + j) * L + lane] = C[i * total + N + j];
        }
        restore_constants(t, c[at.reaction * L], C, row);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                K[(batch * (n * (n + 1) / 2) + i * (i + 1) / 2 + j) * L + lane] = C[(N + j) * total + N + i];
    }
    return -1;
}

int64_t condense_sum_scratch_ref(const struct sum_tables *t) {
    int64_t total = t->N + t->n;
    return total * total + t->n;
}

/* The results of one cell, C holding R and S^-1 R in its first rows, to their lane; c: its signs. */
static void store_sum(const struct sum_tables *t, const double *c, const double *C, double *factor, double *U,
                      double *K) {
    const int L = t->lanes;
    int N = t->N, n = t->n, total = N + n;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) factor[(i * (i + 1) / 2 + j) * L] = C[j * total + i];
        for (int j = 0; j < n; j++)
            U[(i * n + j) * L] = -C[i * total + N + j] * (t->signs[j] >= 0 ? c[t->signs[j] * L] : 1.0);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            K[(i * (i + 1) / 2 + j) * L] = C[(N + j) * total + N + i] *
                                           (t->signs[i] >= 0 ? c[t->signs[i] * L] : 1.0) *
                                           (t->signs[j] >= 0 ? c[t->signs[j] * L] : 1.0);
}

int64_t condense_sum_ref(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                         double *factor, double *U, double *K, double *scratch) {
    const int L = t->lanes;
    int N = t->N, n = t->n, total = N + n;
    double *C = scratch, *d = scratch + total * total;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        const double *c = coefficients + batch * (t->n_terms + t->n_signs) * L + lane;
        double mass = c[(t->n_terms - 1) * L];
        for (int e = 0; e < total * total; e++) {
            C[e] = 0.0;
            for (int p = 0; p < t->n_terms; p++) C[e] += c[p * L] * t->terms[p * total * total + e];
        }
        if (!ref_eliminate(N, total, C)) return batch;
        ref_substitute_back(N, total, C);
        for (int j = 0; j < n; j++) { /* K 1 = lambda (m_kept + U'm_eliminated) */
            d[j] = mass * t->moments[N + j];
            for (int i = 0; i < N; i++) d[j] -= mass * C[i * total + N + j] * t->moments[i];
        }
        ref_restore_sums(n, total, t->n_ones, 1, 1.0, d, C + N * total + N);
        store_sum(t, c + t->n_terms * L, C, factor + batch * (N * (N + 1) / 2) * L + lane,
                  U + batch * N * n * L + lane, K + batch * (n * (n + 1) / 2) * L + lane);
    }
    return -1;
}

void batch_load_ref(int lanes, int64_t n_batches, int N, int n, const double *U, const double *f,
                    double *out) {
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int j = 0; j < n; j++)
            for (int lane = 0; lane < lanes; lane++) {
                double sum = 0.0;
                for (int i = 0; i < N; i++)
                    sum += U[(batch * N * n + i * n + j) * lanes + lane] * f[(batch * N + i) * lanes + lane];
                out[(batch * n + j) * lanes + lane] = sum;
            }
}

void batch_recover_ref(int lanes, int64_t n_batches, int N, int n, const double *factor, const double *U,
                       const double *uhat, double *f) {
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const double *R =
                factor + batch * (N * (N + 1) / 2) * lanes + lane; /* R_ji at i (i + 1) / 2 + j */
            double *u = f + batch * N * lanes + lane;
            for (int i = 0; i < N; i++) {
                for (int j = 0; j < i; j++) u[i * lanes] -= R[(i * (i + 1) / 2 + j) * lanes] * u[j * lanes];
                u[i * lanes] /= R[(i * (i + 1) / 2 + i) * lanes];
            }
            for (int i = N - 1; i >= 0; i--) {
                for (int k = i + 1; k < N; k++)
                    u[i * lanes] -= R[(k * (k + 1) / 2 + i) * lanes] * u[k * lanes];
                u[i * lanes] /= R[(i * (i + 1) / 2 + i) * lanes];
            }
            for (int i = 0; i < N; i++)
                for (int j = 0; j < n; j++)
                    u[i * lanes] +=
                        U[(batch * N * n + i * n + j) * lanes + lane] * uhat[(batch * n + j) * lanes + lane];
        }
}

/* Cholesky factor of one lane in place, its diagonal inverted. */
static int factor_lane(int lanes, int n, double *A) {
    for (int i = 0; i < n; i++) {
        double *row = A + i * (i + 1) / 2 * lanes;
        for (int j = 0; j <= i; j++) {
            const double *other = A + j * (j + 1) / 2 * lanes;
            for (int k = 0; k < j; k++) row[j * lanes] -= row[k * lanes] * other[k * lanes];
            if (j < i) row[j * lanes] *= other[j * lanes];
        }
        if (!(row[i * lanes] > 0.0)) return 0;
        row[i * lanes] = 1.0 / sqrt(row[i * lanes]);
    }
    return 1;
}

/* x = C^-1 x (back: C^-T x) of one lane, its entries `step` apart. */
static void substitute_lane(int lanes, int n, const double *C, int back, int step, double *x) {
    for (int s = 0; s < n; s++) {
        int i = back ? n - 1 - s : s;
        for (int k = back ? i + 1 : 0; k < (back ? n : i); k++)
            x[i * step] -= C[(back ? k * (k + 1) / 2 + i : i * (i + 1) / 2 + k) * lanes] * x[k * step];
        x[i * step] *= C[(i * (i + 1) / 2 + i) * lanes];
    }
}

int64_t batch_extend_ref(int lanes, int n, int width, double *A, double *Y, double *S, double *inverse,
                         double *scratch) {
    for (int lane = 0; lane < lanes; lane++) {
        double *C = A + lane, *y = Y + lane;
        if (!factor_lane(lanes, n, C)) return 0;
        for (int j = 0; j < width; j++) substitute_lane(lanes, n, C, 0, width * lanes, y + j * lanes);
        for (int i = 0; i < width && S != NULL; i++)
            for (int j = 0; j <= i; j++)
                for (int k = 0; k < n; k++)
                    S[(i * (i + 1) / 2 + j) * lanes + lane] -=
                        y[(k * width + i) * lanes] * y[(k * width + j) * lanes];
        for (int j = 0; j < width; j++) substitute_lane(lanes, n, C, 1, width * lanes, y + j * lanes);
        for (int j = 0; j < n && inverse != NULL; j++) {
            for (int i = 0; i < n; i++) scratch[i] = i == j ? 1.0 : 0.0;
            substitute_lane(lanes, n, C, 0, 1, scratch);
            substitute_lane(lanes, n, C, 1, 1, scratch);
            for (int i = j; i < n; i++) inverse[(i * (i + 1) / 2 + j) * lanes + lane] = scratch[i];
        }
    }
    return 1;
}

/* F O x for a row F of m numbers and one lane of x. */
static double turned_product(const struct affine_tables *t, int o, const double *F, const double *x) {
    const int L = t->lanes;
    const double *block = t->turns + o * t->n_turn;
    double sum = 0.0;
    for (int g = 0; g < t->n_groups; g++) {
        const int32_t *modes = t->modes + t->group_starts[g];
        int size = t->group_starts[g + 1] - t->group_starts[g];
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++) sum += F[modes[a]] * block[a * size + b] * x[modes[b] * L];
        block += size * size;
    }
    return sum;
}

void affine_flux_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                     const double *u, const double *uhat, double *q) {
    const int L = t->lanes;
    int N = t->N, m = t->m, n = t->n_faces * m, dim = t->dim;
    struct affine_layout at = affine_layout(dim, t->n_faces);
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        const double *c = coefficients + batch * at.count * L + lane;
        const double *ub = u + batch * N * L + lane, *tb = uhat + batch * n * L + lane;
        double *qb = q + batch * dim * N * L + lane;
        for (int i = 0; i < N; i++) {
            for (int a = 0; a < dim; a++) qb[(a * N + i) * L] = 0.0;
            for (int b = 0; b < dim; b++) {
                double sum = 0.0;
                for (int j = 0; j < N; j++) sum += t->D[(b * N + i) * N + j] * ub[j * L];
                for (int a = 0; a < dim; a++) qb[(a * N + i) * L] += c[(at.flux + a * dim + b) * L] * sum;
            }
            for (int f = 0; f < t->n_faces; f++) {
                int orientation = (int)c[(at.orientation + f) * L];
                double sum = turned_product(t, orientation, t->F + (f * N + i) * m, tb + f * m * L);
                for (int a = 0; a < dim; a++)
                    qb[(a * N + i) * L] -= c[(at.flux_normal + f * dim + a) * L] * sum;
            }
        }
    }
}
