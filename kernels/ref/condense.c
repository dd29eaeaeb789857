/* Plain C: local solvers of affine cells with constant coefficients, one lane at a time. */
#include <math.h>

#include "kernels/ref/ref.h"

int64_t condense_scratch_ref(const struct affine_tables *t) {
    int64_t total = t->N + t->n_faces * t->m;
    return total * total + t->n_faces * t->m + (t->N + 1) * (t->N + 1);
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

/* Into the orientations of the lane: R O in the first N rows of C, O'K O (upper triangle) in the others. row:
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

/* The upper triangle of K, transposed, to its lane. */
void ref_store(int n, int ld, const double *K, int L, double *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) to[(i * (i + 1) / 2 + j) * L] = K[j * ld + i];
}

/* K 1 = U'(lambda, phi). */
static void restore_constants(const struct affine_tables *t, double reaction, double *C, double *d) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n;
    for (int i = 0; i < n; i++) d[i] = reaction * sqrt(t->volume) * C[N + i];
    ref_restore_sums(n, ld, t->n_faces, t->m, sqrt(t->face), d, C + N * ld + N);
}

int64_t condense_affine_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                            double *K, double *scratch) {
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
        restore_constants(t, c[at.reaction * L], C, row);
        ref_turn(t, c + at.orientation * L, C, row);
        ref_store(n, total, C + N * total + N, L, K + batch * (n * (n + 1) / 2) * L + lane);
    }
    return -1;
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

/* q = A^-1 (D u - G uhat) of one lane; uhat may be NULL. */
static void flux_lane(const struct affine_tables *t, const struct affine_layout *at, const double *c,
                      const double *u, const double *uhat, double *q) {
    const int L = t->lanes;
    int N = t->N, m = t->m, dim = t->dim;
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < dim; a++) q[(a * N + i) * L] = 0.0;
        for (int b = 0; b < dim; b++) {
            double sum = 0.0;
            for (int j = 0; j < N; j++) sum += t->D[(b * N + i) * N + j] * u[j * L];
            for (int a = 0; a < dim; a++) q[(a * N + i) * L] += c[(at->flux + a * dim + b) * L] * sum;
        }
        for (int f = 0; f < t->n_faces && uhat != NULL; f++) {
            int orientation = (int)c[(at->orientation + f) * L];
            double sum = turned_product(t, orientation, t->F + (f * N + i) * m, uhat + f * m * L);
            for (int a = 0; a < dim; a++) q[(a * N + i) * L] -= c[(at->flux_normal + f * dim + a) * L] * sum;
        }
    }
}

int ref_solve(int N, int n, const double *C, double sign, int L, const double *uhat, double *u, double *load,
              double *S) {
    int total = N + n, ld = N + 1;
    for (int i = 0; i < N; i++) {
        for (int j = i; j < N; j++) S[i * ld + j] = C[i * total + j];
        S[i * ld + N] = u[i * L];
        for (int j = 0; j < n && uhat != NULL; j++)
            S[i * ld + N] += sign * C[i * total + N + j] * uhat[j * L];
    }
    S[N * ld + N] = 0.0;
    if (!ref_eliminate(N, ld, S)) return 0;
    ref_substitute_back(N, ld, S);
    for (int i = 0; i < N; i++) u[i * L] = S[i * ld + N];
    for (int j = 0; j < n && load != NULL; j++) {
        load[j * L] = 0.0;
        for (int i = 0; i < N; i++) load[j * L] += sign * C[i * total + N + j] * u[i * L];
    }
    return 1;
}

/* Where the numbers of a cell, `size` of each, begin; NULL stays. */
static const double *lane_of(const double *x, int64_t size, int64_t cell, int L) {
    return x != NULL ? x + cell / L * size * L + cell % L : NULL;
}

static double *out_lane_of(double *x, int64_t size, int64_t cell, int L) {
    return x != NULL ? x + cell / L * size * L + cell % L : NULL;
}

int64_t affine_solve_ref(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                         const double *uhat, double *u, double *q, double *load, double *scratch) {
    const int L = t->lanes;
    int N = t->N, n = t->n_faces * t->m, total = N + n, dim = t->dim;
    struct affine_layout at = affine_layout(dim, t->n_faces);
    double *C = scratch, *row = C + total * total, *S = row + n;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *c = lane_of(coefficients, at.count, cell, L), *trace = lane_of(uhat, n, cell, L);
        double *inner = out_lane_of(u, N, cell, L);
        assemble_lane(t, &at, c, C);
        ref_turn(t, c + at.orientation * L, C, row);
        if (!ref_solve(N, n, C, 1.0, L, trace, inner, out_lane_of(load, n, cell, L), S)) return cell / L;
        if (q != NULL) flux_lane(t, &at, c, inner, trace, out_lane_of(q, dim * N, cell, L));
    }
    return -1;
}

int64_t condense_sum_scratch_ref(const struct sum_tables *t) {
    int64_t total = t->N + t->n;
    return total * total + t->n + (t->N + 1) * (t->N + 1);
}

/* C = sum_p c_p T_p of one lane. */
static void sum_lane(const struct sum_tables *t, const double *c, double *C) {
    int size = (t->N + t->n) * (t->N + t->n);
    for (int e = 0; e < size; e++) {
        C[e] = 0.0;
        for (int p = 0; p < t->n_terms; p++) C[e] += c[p * t->lanes] * t->terms[p * size + e];
    }
}

/* The signs of the cell to the columns of the kept unknowns, and to their rows. */
static void sign_lane(const struct sum_tables *t, const double *c, double *C) {
    int N = t->N, total = N + t->n;
    for (int j = 0; j < t->n; j++) {
        double sign = t->signs[j] >= 0 ? c[(t->n_terms + t->signs[j]) * t->lanes] : 1.0;
        for (int i = 0; i < total; i++) C[i * total + N + j] *= sign;
        for (int i = 0; i < total; i++) C[(N + j) * total + i] *= sign;
    }
}

int64_t condense_sum_ref(const struct sum_tables *t, int64_t n_batches, const double *coefficients, double *K,
                         double *scratch) {
    const int L = t->lanes;
    int N = t->N, n = t->n, total = N + n;
    double *C = scratch, *d = scratch + total * total;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *c = lane_of(coefficients, t->n_terms + t->n_signs, cell, L);
        double mass = c[(t->n_terms - 1) * L];
        sum_lane(t, c, C);
        if (!ref_eliminate(N, total, C)) return cell / L;
        ref_substitute_back(N, total, C);
        for (int j = 0; j < n; j++) { /* K 1 = lambda (m_kept + U'm_eliminated) */
            d[j] = mass * t->moments[N + j];
            for (int i = 0; i < N; i++) d[j] -= mass * C[i * total + N + j] * t->moments[i];
        }
        ref_restore_sums(n, total, t->n_ones, 1, 1.0, d, C + N * total + N);
        sign_lane(t, c, C);
        ref_store(n, total, C + N * total + N, L, out_lane_of(K, n * (n + 1) / 2, cell, L));
    }
    return -1;
}

int64_t sum_solve_ref(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                      const double *uhat, double *u, double *load, double *scratch) {
    const int L = t->lanes;
    int N = t->N, n = t->n, total = N + n;
    double *C = scratch, *S = C + total * total + n;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *c = lane_of(coefficients, t->n_terms + t->n_signs, cell, L);
        sum_lane(t, c, C);
        sign_lane(t, c, C);
        if (!ref_solve(N, n, C, -1.0, L, lane_of(uhat, n, cell, L), out_lane_of(u, N, cell, L),
                       out_lane_of(load, n, cell, L), S))
            return cell / L;
    }
    return -1;
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
