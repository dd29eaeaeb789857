/* Local solvers of affine cells, a batch of cells at a time: every scalar of the textbook algorithm is a lane
 * vector.
 *
 * The floor: N^3/3 + 2 N^2 n + N n^2 operations per cell and the results written once. All of it runs through
 * one register tile, rows x columns of lane vectors accumulated over k; a batch's matrix [S R; . H] stays in
 * the second-level cache.
 */
#include <math.h>
#include <omp.h>

#include "kernels/simd/lane.h"

#define TILE 4 /* 4 x 4 accumulators, 8 operands: within 32 vector registers */

/* T[a][b] -= sum_k A[k][a] B[k][b] (step_k, step_a: where A's next k and next a are). */
INLINE void tile(int rows, int columns, int depth, const lane *A, int step_k, int step_a, const lane *B,
                 lane *T, int ld) {
    lane sum[TILE][TILE];
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) sum[a][b] = T[a * ld + b];
    for (int k = 0; k < depth; k++) {
        lane right[TILE];
        for (int b = 0; b < columns; b++) right[b] = B[k * ld + b];
        for (int a = 0; a < rows; a++) {
            lane left = A[k * step_k + a * step_a];
            for (int b = 0; b < columns; b++) sum[a][b] -= left * right[b];
        }
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) T[a * ld + b] = sum[a][b];
}

INLINE void tile_row(int rows, int columns, int depth, const lane *A, int step_k, int step_a, const lane *B,
                     lane *T, int ld) {
    int b = 0;
    for (; b + TILE <= columns; b += TILE) tile(rows, TILE, depth, A, step_k, step_a, B + b, T + b, ld);
    switch (columns - b) {
    case 3:
        tile(rows, 3, depth, A, step_k, step_a, B + b, T + b, ld);
        break;
    case 2:
        tile(rows, 2, depth, A, step_k, step_a, B + b, T + b, ld);
        break;
    case 1:
        tile(rows, 1, depth, A, step_k, step_a, B + b, T + b, ld);
        break;
    default:
        break;
    }
}

/* The same for any number of rows up to TILE. */
INLINE void update(int rows, int columns, int depth, const lane *A, int step_k, int step_a, const lane *B,
                   lane *T, int ld) {
    switch (rows) {
    case 4:
        tile_row(4, columns, depth, A, step_k, step_a, B, T, ld);
        break;
    case 3:
        tile_row(3, columns, depth, A, step_k, step_a, B, T, ld);
        break;
    case 2:
        tile_row(2, columns, depth, A, step_k, step_a, B, T, ld);
        break;
    default:
        tile_row(1, columns, depth, A, step_k, step_a, B, T, ld);
        break;
    }
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* S = R'R in the first N rows, R^-T applied to the other columns, and the Schur complement below; 0 when S is
 * not positive definite. */
static int eliminate(int N, int total, lane *C) {
    int ld = total, positive = 1;
    for (int i = 0; i < N; i += TILE) {
        int rows = smaller(TILE, N - i);
        update(rows, total - i, i, C + i, ld, 1, C + i, C + (int64_t)i * ld + i, ld);
        for (int a = 0; a < rows; a++) {
            lane *row = C + (int64_t)(i + a) * ld, inverse;
            for (int c = 0; c < a; c++) {
                lane factor = C[(int64_t)(i + c) * ld + i + a];
                for (int j = i + a; j < total; j++) row[j] -= factor * C[(int64_t)(i + c) * ld + j];
            }
            for (int w = 0; w < L; w++) {
                positive &= row[i + a][w] > 0.0;
                inverse[w] = 1.0 / sqrt(row[i + a][w]);
            }
            for (int j = i + a; j < total; j++) row[j] *= inverse;
        }
    }
    for (int i = N; i < total; i += TILE)
        update(smaller(TILE, total - i), total - i, N, C + i, ld, 1, C + i, C + (int64_t)i * ld + i, ld);
    return positive;
}

/* R^-1 applied to the columns N .. total-1 of the first N rows. */
static void substitute_back(int N, int total, lane *C) {
    int ld = total;
    for (int end = N; end > 0;) {
        int rows = smaller(TILE, end), i = end - rows;
        update(rows, total - N, N - end, C + (int64_t)i * ld + end, 1, ld, C + (int64_t)end * ld + N,
               C + (int64_t)i * ld + N, ld);
        for (int a = rows - 1; a >= 0; a--) {
            lane *row = C + (int64_t)(i + a) * ld, inverse = 1.0 / row[i + a];
            for (int c = a + 1; c < rows; c++) {
                lane factor = row[i + c];
                for (int j = N; j < total; j++) row[j] -= factor * C[(int64_t)(i + c) * ld + j];
            }
            for (int j = N; j < total; j++) row[j] *= inverse;
        }
        end = i;
    }
}

/* S: every entry is the same combination of reference entries, with the cell's coefficients. */
INLINE void assemble_S(int dim, int n_faces, const struct affine_tables *t, const struct affine_layout *at,
                       const lane *c, lane *C) {
    int N = t->N, ld = N + n_faces * t->m, pairs = dim * (dim + 1) / 2;
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            lane sum = c[at->stiffness] * t->stiffness[i * N + j];
            for (int p = 1; p < pairs; p++) sum += c[at->stiffness + p] * t->stiffness[(p * N + i) * N + j];
            for (int f = 0; f < n_faces; f++) sum += c[at->weight + f] * t->face_mass[(f * N + i) * N + j];
            C[(int64_t)i * ld + j] = sum;
        }
    for (int i = 0; i < N; i++) C[(int64_t)i * ld + i] += c[at->reaction];
}

static void assemble_rest(const struct affine_tables *t, const struct affine_layout *at, const lane *c,
                          lane *C) {
    int N = t->N, m = t->m, n = t->n_faces * m, ld = N + n, dim = t->dim;
    for (int i = 0; i < N; i++)
        for (int f = 0; f < t->n_faces; f++)
            for (int j = 0; j < m; j++) {
                lane sum = c[at->weight + f] * t->F[(f * N + i) * m + j];
                for (int b = 0; b < dim; b++)
                    sum += c[at->gradient + f * dim + b] * t->DF[((f * dim + b) * N + i) * m + j];
                C[(int64_t)i * ld + N + f * m + j] = j % 2 == 1 ? sum * c[at->sign + f] : sum;
            }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            int f = i / m, g = j / m;
            lane sum =
                c[at->normals + f * t->n_faces + g] * t->FF[((f * t->n_faces + g) * m + i % m) * m + j % m];
            if (i % m % 2 == 1) sum *= c[at->sign + f];
            if (j % m % 2 == 1) sum *= c[at->sign + g];
            C[(int64_t)(N + i) * ld + N + j] = i == j ? sum + c[at->weight + f] : sum;
        }
}

static void assemble(const struct affine_tables *t, const struct affine_layout *at, const lane *c, lane *C) {
    if (t->dim == 2 && t->n_faces == 3)
        assemble_S(2, 3, t, at, c, C);
    else if (t->dim == 2)
        assemble_S(2, 4, t, at, c, C);
    else if (t->n_faces == 4)
        assemble_S(3, 4, t, at, c, C);
    else
        assemble_S(3, 6, t, at, c, C);
    assemble_rest(t, at, c, C);
}

/* See the same functions in kernels/ref. */
static void restore_sums(int n, int ld, int n_ones, int m, double one, lane *d, lane *K) {
    double w = 1.0 / (n_ones * one);
    lane total = {0};
    for (int i = 0; i < n; i++)
        for (int f = 0; f < n_ones; f++) d[i] -= one * (i <= f * m ? K[i * ld + f * m] : K[f * m * ld + i]);
    for (int f = 0; f < n_ones; f++) total += one * d[f * m];
    for (int f = 0; f < n_ones; f++) { /* d w' + w d' - (d'1) w w', upper triangle */
        for (int i = 0; i < f * m; i++) K[i * ld + f * m] += w * d[i];
        for (int j = f * m; j < n; j++) K[f * m * ld + j] += w * d[j];
        K[f * m * ld + f * m] += w * d[f * m];
        for (int g = f; g < n_ones; g++) K[f * m * ld + g * m] -= total * (w * w);
    }
}

static void restore_constants(const struct affine_tables *t, const lane *reaction, lane *C) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n;
    lane *d = C + (int64_t)(ld - 1) * ld;
    for (int i = 0; i < n; i++) d[i] = *reaction * sqrt(t->volume) * C[N + i];
    restore_sums(n, ld, t->n_faces, t->m, sqrt(t->face), d, C + (int64_t)N * ld + N);
}

static void store(const struct affine_tables *t, const lane *C, lane *factor, lane *U) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) *factor++ = C[(int64_t)j * ld + i];
        for (int j = 0; j < n; j++) *U++ = C[(int64_t)i * ld + N + j];
    }
}

static int64_t matrix_lanes(const struct affine_tables *t) {
    int64_t total = t->N + t->n_faces * t->m;
    return total * total;
}

int64_t condense_scratch_simd(const struct affine_tables *t) {
    return matrix_lanes(t) * L * base_threads();
}

int64_t condense_affine_simd(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                             double *factor, double *U, double *K, double *scratch) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, n = t->n_faces * t->m, total = N + n;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 4) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * matrix_lanes(t);
        const lane *c = (const lane *)coefficients + batch * at.count;
        lane *to = (lane *)K + batch * (n * (n + 1) / 2);
        assemble(t, &at, c, C);
        if (!eliminate(N, total, C) && batch < failed) failed = batch;
        substitute_back(N, total, C);
        store(t, C, (lane *)factor + batch * (N * (N + 1) / 2), (lane *)U + batch * N * n);
        restore_constants(t, c + at.reaction, C);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) *to++ = C[(int64_t)(N + j) * total + N + i];
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- sums of matrices */

/* The upper triangle of sum_p c_p T_p; n_terms is a constant where this is inlined. */
INLINE void add_terms(int n_terms, int total, const double *terms, const lane *c, lane *C) {
    int64_t size = (int64_t)total * total;
    for (int i = 0; i < total; i++)
        for (int64_t e = (int64_t)i * (total + 1); e < (int64_t)(i + 1) * total; e++) {
            lane sum = c[0] * terms[e];
            for (int p = 1; p < n_terms; p++) sum += c[p] * terms[p * size + e];
            C[e] = sum;
        }
}

static int64_t sum_lanes(const struct sum_tables *t) {
    int64_t total = t->N + t->n;
    return total * total + 2 * t->n;
}

int64_t condense_sum_scratch_simd(const struct sum_tables *t) {
    return sum_lanes(t) * L * base_threads();
}

/* What is left after substitution, with the cell's signs. sign: n lanes of scratch. */
static void store_sum(const struct sum_tables *t, const lane *c, const lane *C, lane *sign, lane *factor,
                      lane *U, lane *K) {
    int N = t->N, n = t->n, ld = N + n;
    for (int j = 0; j < n; j++) sign[j] = t->signs[j] >= 0 ? c[t->signs[j]] : (lane){0} + 1.0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) *factor++ = C[(int64_t)j * ld + i];
        for (int j = 0; j < n; j++) *U++ = -C[(int64_t)i * ld + N + j] * sign[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) *K++ = C[(int64_t)(N + j) * ld + N + i] * (sign[i] * sign[j]);
}

int64_t condense_sum_simd(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                          double *factor, double *U, double *K, double *scratch) {
    int N = t->N, n = t->n, total = N + n;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 4) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * sum_lanes(t), *d = C + (int64_t)total * total;
        const lane *c = (const lane *)coefficients + batch * (t->n_terms + t->n_signs);
        lane mass = c[t->n_terms - 1];
        if (t->n_terms == 4)
            add_terms(4, total, t->terms, c, C);
        else
            add_terms(t->n_terms, total, t->terms, c, C);
        if (!eliminate(N, total, C) && batch < failed) failed = batch;
        substitute_back(N, total, C);
        for (int j = 0; j < n; j++) d[j] = mass * t->moments[N + j];
        for (int i = 0; i < N; i++) {
            if (t->moments[i] == 0.0) continue;
            for (int j = 0; j < n; j++) d[j] -= mass * t->moments[i] * C[(int64_t)i * total + N + j];
        }
        restore_sums(n, total, t->n_ones, 1, 1.0, d, C + (int64_t)N * total + N);
        store_sum(t, c + t->n_terms, C, d + n, (lane *)factor + batch * (N * (N + 1) / 2),
                  (lane *)U + batch * N * n, (lane *)K + batch * (n * (n + 1) / 2));
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- back substitution */

void batch_load_simd(int64_t n_batches, int N, int n, const double *U, const double *f, double *out) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *from = (const lane *)U + batch * N * n, *right = (const lane *)f + batch * N;
        lane *to = (lane *)out + batch * n;
        for (int j = 0; j < n; j++) to[j] = (lane){0};
        for (int i = 0; i < N; i++)
            for (int j = 0; j < n; j++) to[j] += from[i * n + j] * right[i];
    }
}

void batch_recover_simd(int64_t n_batches, int N, int n, const double *factor, const double *U,
                        const double *uhat, double *f) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *R = (const lane *)factor + batch * (N * (N + 1) / 2);
        const lane *lift = (const lane *)U + batch * N * n, *trace = (const lane *)uhat + batch * n;
        lane *u = (lane *)f + batch * N;
        for (int i = 0; i < N; i++) { /* row i of R' */
            const lane *row = R + i * (i + 1) / 2;
            lane sum = u[i];
            for (int j = 0; j < i; j++) sum -= row[j] * u[j];
            u[i] = sum / row[i];
        }
        for (int i = N - 1; i >= 0; i--) { /* column i of R */
            const lane *row = R + i * (i + 1) / 2;
            lane value = u[i] / row[i];
            for (int j = 0; j < i; j++) u[j] -= row[j] * value;
            u[i] = value;
        }
        for (int i = 0; i < N; i++) {
            lane sum = u[i];
            for (int j = 0; j < n; j++) sum += lift[i * n + j] * trace[j];
            u[i] = sum;
        }
    }
}

void affine_flux_simd(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                      const double *u, const double *uhat, double *q) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, m = t->m, n = t->n_faces * m, dim = t->dim;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *c = (const lane *)coefficients + batch * at.count, *ub = (const lane *)u + batch * N;
        const lane *trace = (const lane *)uhat + batch * n;
        lane *to = (lane *)q + batch * dim * N;
        for (int i = 0; i < N; i++) {
            lane sums[3] = {{0}, {0}, {0}};
            for (int b = 0; b < dim; b++) {
                lane sum = {0};
                for (int j = 0; j < N; j++) sum += t->D[(b * N + i) * N + j] * ub[j];
                for (int a = 0; a < dim; a++) sums[a] += c[at.flux + a * dim + b] * sum;
            }
            for (int f = 0; f < t->n_faces; f++) {
                lane even = {0}, odd = {0};
                for (int j = 0; j < m; j += 2) even += t->F[(f * N + i) * m + j] * trace[f * m + j];
                for (int j = 1; j < m; j += 2) odd += t->F[(f * N + i) * m + j] * trace[f * m + j];
                even += odd * c[at.sign + f];
                for (int a = 0; a < dim; a++) sums[a] -= c[at.flux_normal + f * dim + a] * even;
            }
            for (int a = 0; a < dim; a++) to[a * N + i] = sums[a];
        }
    }
}
