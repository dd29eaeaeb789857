/* Local solvers of affine cells, a batch of cells at a time: every scalar of the textbook algorithm is a lane
 * vector.
 *
 * The floor: N^3/3 + N^2 n + N n^2 operations per cell and the results written once. All of it runs through
 * one register tile, rows x columns of lane vectors accumulated over k; a batch's matrix [S R; . H] stays in
 * the second-level cache, or, from hexes of degree 3 on, in the third: a tile needs ten loads for 24
 * operations, which that still feeds. Solves inside the cells make S again, N^3/3 operations and hardly more:
 * less than to read U = S^-1 R.
 *
 * Faces are condensed in orientation 0 and turned at the end, n rows by the few functions that mix.
 */
#include <math.h>
#include <omp.h>

#include "kernels/simd/dense.h"

/* S: every entry is the same combination of reference entries, with the cell's coefficients. */
INLINE void assemble_S(int dim, int n_faces, const struct affine_tables *t, const struct affine_layout *at,
                       const lane *c, int ld, lane *C) {
    int N = t->N, pairs = dim * (dim + 1) / 2;
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            lane sum = c[at->stiffness] * t->stiffness[i * N + j];
            for (int p = 1; p < pairs; p++) sum += c[at->stiffness + p] * t->stiffness[(p * N + i) * N + j];
            for (int f = 0; f < n_faces; f++) sum += c[at->weight + f] * t->face_mass[(f * N + i) * N + j];
            C[(int64_t)i * ld + j] = sum;
        }
    for (int i = 0; i < N; i++) C[(int64_t)i * ld + i] += c[at->reaction];
}

/* R, and H + G'A^-1 G. */
INLINE void assemble_rest(int dim, const struct affine_tables *t, const struct affine_layout *at,
                          const lane *c, lane *C) {
    int N = t->N, m = t->m, ld = N + t->n_faces * m;
    for (int f = 0; f < t->n_faces; f++) {
        lane weight = c[at->weight + f], gradient[3];
        for (int b = 0; b < dim; b++) gradient[b] = c[at->gradient + f * dim + b];
        for (int i = 0; i < N; i++) {
            const double *F = t->F + (f * N + i) * m, *DF = t->DF + (f * dim * N + i) * m;
            lane *row = C + (int64_t)i * ld + N + f * m;
            for (int j = 0; j < m; j++) {
                lane sum = weight * F[j];
                for (int b = 0; b < dim; b++) sum += gradient[b] * DF[b * N * m + j];
                row[j] = sum;
            }
        }
    }
    for (int f = 0; f < t->n_faces; f++)
        for (int g = f; g < t->n_faces; g++) {
            const double *FF = t->FF + (f * t->n_faces + g) * m * m;
            lane normal = c[at->normals + f * t->n_faces + g];
            for (int i = 0; i < m; i++) {
                lane *row = C + (int64_t)(N + f * m + i) * ld + N + g * m;
                for (int j = 0; j < m; j++) row[j] = normal * FF[i * m + j];
                if (f == g) row[i] += c[at->weight + f];
            }
        }
}

static void make_S(const struct affine_tables *t, const struct affine_layout *at, const lane *c, int ld,
                   lane *C) {
    if (t->dim == 2 && t->n_faces == 3)
        assemble_S(2, 3, t, at, c, ld, C);
    else if (t->dim == 2)
        assemble_S(2, 4, t, at, c, ld, C);
    else if (t->n_faces == 4)
        assemble_S(3, 4, t, at, c, ld, C);
    else
        assemble_S(3, 6, t, at, c, ld, C);
}

static void assemble(const struct affine_tables *t, const struct affine_layout *at, const lane *c, lane *C) {
    make_S(t, at, c, t->N + t->n_faces * t->m, C);
    if (t->dim == 2)
        assemble_rest(2, t, at, c, C);
    else
        assemble_rest(3, t, at, c, C);
}

/* After eliminate. x, d: N and n lanes of scratch. */
static void restore_constants(const struct affine_tables *t, const lane *reaction, const lane *inverse,
                              lane *C, lane *x, lane *d) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n, any = 0;
    for (int w = 0; w < L; w++) any |= (*reaction)[w] != 0.0;
    for (int i = 0; i < n; i++) d[i] = (lane){0};
    if (any) {
        for (int i = 0; i < N; i++) x[i] = (lane){0};
        x[0] = *reaction * sqrt(t->volume);
        add_through(N, ld, C, inverse, x, d);
    }
    restore_sums(n, ld, t->n_faces, t->m, sqrt(t->face), d, C + (int64_t)N * ld + N);
}

/* sign (n): what O multiplies each unknown of the trace with, where it is diagonal and its groups in order.
 */
static void gather_signs(const struct affine_tables *t, const lane *orientations, lane *sign) {
    for (int f = 0; f < t->n_faces; f++) {
        const double *from[L];
        for (int w = 0; w < L; w++) from[w] = t->turns + (int)orientations[f][w] * t->n_turn;
        gather_lanes(t->m, from, sign + f * t->m);
    }
}

/* store_triangle with the signs of rows and columns. */
static void store_signed_triangle(int n, const lane *C, int ld, const lane *sign, lane *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) lane_stream(to++, C[(int64_t)j * ld + i] * (sign[i] * sign[j]));
}

/* Lanes of scratch of a thread: the matrix, the inverse diagonal of R, a vector of all unknowns, and O of a
 * face or the signs of all. */
static int64_t scratch_lanes(const struct affine_tables *t) {
    int64_t n = t->n_faces * t->m, total = t->N + n;
    return total * total + t->N + total + (t->n_turn > n ? t->n_turn : n);
}

int64_t OF(condense_scratch)(const struct affine_tables *t) {
    return scratch_lanes(t) * L * base_threads();
}

int64_t OF(condense_affine)(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                            double *K, double *scratch) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, n = t->n_faces * t->m, total = N + n, diagonal = t->n_groups == t->m;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * scratch_lanes(t), *inverse = C + total * total;
        lane *x = inverse + N, *O = x + total, *K_to = (lane *)K + batch * (n * (n + 1) / 2);
        lane *rest = C + (int64_t)N * total + N;
        const lane *c = (const lane *)coefficients + batch * at.count;
        assemble(t, &at, c, C);
        if (!eliminate(N, total, C, inverse) && batch < failed) failed = batch;
        restore_constants(t, c + at.reaction, inverse, C, x, x + N);
        if (diagonal) {
            gather_signs(t, c + at.orientation, O);
            store_signed_triangle(n, rest, total, O, K_to);
        } else {
            turn(t, c + at.orientation, rest, total, O);
            store_triangle(n, rest, total, K_to);
        }
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- solves inside */

/* to (dim x N) = A^-1 (D u - G uhat); uhat in orientation 0, or NULL. */
static void flux_of_batch(const struct affine_tables *t, const struct affine_layout *at, const lane *c,
                          const lane *u, const lane *uhat, lane *to) {
    int N = t->N, m = t->m, dim = t->dim;
    for (int i = 0; i < dim * N; i++) to[i] = (lane){0};
    for (int b = 0; b < dim; b++)
        add_product(dim, N, N, t->D + (int64_t)b * N * N, u, c + at->flux + b, dim, to, N);
    for (int f = 0; f < t->n_faces && uhat != NULL; f++) {
        lane scale[3];
        for (int a = 0; a < dim; a++) scale[a] = -c[at->flux_normal + f * dim + a];
        add_product(dim, N, m, t->F + (int64_t)f * N * m, uhat + f * m, scale, 1, to, N);
    }
}

/* x += R uhat, or y += R'x, in orientation 0. */
static void add_R(const struct affine_tables *t, const struct affine_layout *at, const lane *c,
                  const lane *uhat, lane *x, lane *y) {
    int N = t->N, m = t->m, dim = t->dim;
    for (int f = 0; f < t->n_faces; f++)
        for (int b = -1; b < dim; b++) {
            const double *A = b < 0 ? t->F + (int64_t)f * N * m : t->DF + (int64_t)(f * dim + b) * N * m;
            const lane *scale = c + (b < 0 ? at->weight + f : at->gradient + f * dim + b);
            if (uhat != NULL)
                add_product(1, N, m, A, uhat + f * m, scale, 0, x, N);
            else
                add_transposed(N, m, A, x, scale, y + f * m);
        }
}

int64_t OF(affine_solve)(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                         const double *uhat, double *u, double *q, double *load, double *scratch) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, m = t->m, n = t->n_faces * m, total = N + n;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * scratch_lanes(t), *inverse = C + total * total;
        lane *trace = inverse + N, *O = trace + total, *inner = (lane *)u + batch * N;
        const lane *c = (const lane *)coefficients + batch * at.count;
        make_S(t, &at, c, N + 1, C);
        for (int f = 0; f < t->n_faces && uhat != NULL; f++) {
            const lane *from = (const lane *)uhat + batch * n + f * m,
                       *x = turn_trace(t, c + at.orientation + f, from, trace + f * m);
            for (int j = 0; j < m && x == from; j++) trace[f * m + j] = x[j];
        }
        if (uhat != NULL) add_R(t, &at, c, trace, inner, NULL);
        if (!solve_in_place(N, C, inverse, inner) && batch < failed) failed = batch;
        if (q != NULL)
            flux_of_batch(t, &at, c, inner, uhat != NULL ? trace : NULL, (lane *)q + batch * t->dim * N);
        if (load == NULL) continue;
        lane *to = (lane *)load + batch * n;
        for (int j = 0; j < n; j++) to[j] = (lane){0};
        add_R(t, &at, c, NULL, inner, to);
        for (int f = 0; f < t->n_faces; f++)
            if (gather_turn(t, c + at.orientation + f, O)) turn_block(1, t, O, to + f * m, 0, 1);
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- sums of matrices */

/* Entry e of sum_p c_p T_p. */
INLINE lane term(int n_terms, int64_t size, const double *terms, const lane *c, int64_t e) {
    lane sum = c[0] * terms[e];
    for (int p = 1; p < n_terms; p++) sum += c[p] * terms[p * size + e];
    return sum;
}

/* The upper triangle of its first n rows and columns, of `total`; n_terms is a constant where this is
 * inlined. */
INLINE void add_terms(int n_terms, int total, int n, const double *terms, const lane *c, int ld, lane *C) {
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            C[(int64_t)i * ld + j] = term(n_terms, (int64_t)total * total, terms, c, (int64_t)i * total + j);
}

static void make_sum(const struct sum_tables *t, int n, const lane *c, int ld, lane *C) {
    int total = t->N + t->n;
    if (t->n_terms == 4)
        add_terms(4, total, n, t->terms, c, ld, C);
    else if (t->n_terms == 6)
        add_terms(6, total, n, t->terms, c, ld, C);
    else
        add_terms(t->n_terms, total, n, t->terms, c, ld, C);
}

static int64_t sum_lanes(const struct sum_tables *t) {
    int64_t total = t->N + t->n;
    int64_t size = total > t->N + 1 ? total : t->N + 1;
    return size * size + 2 * t->N + 2 * t->n;
}

int64_t OF(condense_sum_scratch)(const struct sum_tables *t) {
    return sum_lanes(t) * L * base_threads();
}

/* c: the signs of the cells. */
static void find_signs(const struct sum_tables *t, const lane *c, lane *sign) {
    for (int j = 0; j < t->n; j++) sign[j] = t->signs[j] >= 0 ? c[t->signs[j]] : (lane){0} + 1.0;
}

int64_t OF(condense_sum)(const struct sum_tables *t, int64_t n_batches, const double *coefficients, double *K,
                         double *scratch) {
    int N = t->N, n = t->n, total = N + n;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * sum_lanes(t),
             *inverse = C + (int64_t)total * total, *x = inverse + N, *d = x + N, *sign = d + n;
        const lane *c = (const lane *)coefficients + batch * (t->n_terms + t->n_signs);
        lane mass = c[t->n_terms - 1];
        make_sum(t, total, c, total, C);
        if (!eliminate(N, total, C, inverse) && batch < failed) failed = batch;
        for (int i = 0; i < N; i++) x[i] = -mass * t->moments[i];
        for (int j = 0; j < n; j++) d[j] = mass * t->moments[N + j];
        add_through(N, total, C, inverse, x, d);
        restore_sums(n, total, t->n_ones, 1, 1.0, d, C + (int64_t)N * total + N);
        find_signs(t, c + t->n_terms, sign);
        store_signed_triangle(n, C + (int64_t)N * total + N, total, sign,
                              (lane *)K + batch * (n * (n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

int64_t OF(sum_solve)(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                      const double *uhat, double *u, double *load, double *scratch) {
    int N = t->N, n = t->n, total = N + n;
    int64_t failed = INT64_MAX, size = (int64_t)total * total;
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * sum_lanes(t);
        lane *inverse = C + (int64_t)(N + 1) * (N + 1), *sign = inverse + N, *x = (lane *)u + batch * N;
        const lane *c = (const lane *)coefficients + batch * (t->n_terms + t->n_signs);
        find_signs(t, c + t->n_terms, sign);
        make_sum(t, N, c, N + 1, C);
        for (int j = 0; j < n && uhat != NULL; j++) {
            lane value = sign[j] * ((const lane *)uhat)[batch * n + j];
            for (int i = 0; i < N; i++)
                x[i] -= term(t->n_terms, size, t->terms, c, (int64_t)i * total + N + j) * value;
        }
        if (!solve_in_place(N, C, inverse, x) && batch < failed) failed = batch;
        for (int j = 0; j < n && load != NULL; j++) {
            lane sum = {0};
            for (int i = 0; i < N; i++)
                sum -= term(t->n_terms, size, t->terms, c, (int64_t)i * total + N + j) * x[i];
            ((lane *)load)[batch * n + j] = sign[j] * sum;
        }
    }
    return failed == INT64_MAX ? -1 : failed;
}
