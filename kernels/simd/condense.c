/* Local solvers of affine cells, a batch of cells at a time: every scalar of the textbook algorithm is a lane
 * vector.
 *
 * The floor: N^3/3 + 2 N^2 n + N n^2 operations per cell and the results written once. All of it runs through
 * one register tile, rows x columns of lane vectors accumulated over k; a batch's matrix [S R; . H] stays in
 * the second-level cache, or, from hexes of degree 3 on, in the third: a tile needs ten loads for 24
 * operations, which that still feeds.
 *
 * Faces are condensed in orientation 0 and turned at the end, N + n rows by the few functions that mix.
 */
#include <math.h>
#include <omp.h>

#include "kernels/simd/lane.h"

#define ROWS    TUNE_TILE_ROWS
#define COLUMNS TUNE_TILE_COLUMNS

#define TURN_ROWS  8   /* rows that are turned at once */
#define TURN_GROUP 17  /* most functions that orientations mix: of a triangle at degree 16 */
#define MAX_FACE   289 /* functions of a face: of a quad at degree 16 */
#define FLUX_ROWS  6   /* rows of a reference matrix at once */

/* What happens to a tile before it is stored: a triangular solve with the diagonal block of its rows. */
enum finish { PLAIN, FORWARD, BACKWARD };

/* A tile of rows x columns: to = finish(from - sum_k A[k][a] B[k][b]). */
struct tile {
    const lane *A; /* where A's next k and next a are: step_k, step_a */
    int step_k, step_a;
    const lane *B;
    int ld_B;
    const lane *from;
    int ld_from;
    lane *to;
    int ld_to;
    const lane *D; /* the diagonal block of R, and the inverse of its diagonal */
    int ld_D;
    const lane *inverse;
};

INLINE void tile(int rows, int columns, int depth, enum finish finish, const struct tile *t, int at) {
    lane sum[ROWS][COLUMNS];
    const lane *A = t->A, *B = t->B + at;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) sum[a][b] = t->from[a * t->ld_from + at + b];
    for (int k = 0; k < depth; k++, A += t->step_k, B += t->ld_B) {
        lane right[COLUMNS];
        for (int b = 0; b < columns; b++) right[b] = *(const volatile lane *)(B + b); /* loaded once */
        for (int a = 0; a < rows; a++) {
            lane left = A[a * t->step_a];
            for (int b = 0; b < columns; b++) sum[a][b] -= left * right[b];
        }
    }
    for (int s = 0; s < rows && finish != PLAIN; s++) {
        int a = finish == FORWARD ? s : rows - 1 - s;
        for (int c = finish == FORWARD ? 0 : a + 1; c < (finish == FORWARD ? a : rows); c++) {
            lane left = finish == FORWARD ? t->D[c * t->ld_D + a] : t->D[a * t->ld_D + c];
            for (int b = 0; b < columns; b++) sum[a][b] -= left * sum[c][b];
        }
        for (int b = 0; b < columns; b++) sum[a][b] *= t->inverse[a];
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) t->to[a * t->ld_to + at + b] = sum[a][b];
}

INLINE void tile_row(int rows, int columns, int depth, enum finish finish, const struct tile *t) {
    int b = 0;
    for (; b + COLUMNS <= columns; b += COLUMNS) tile(rows, COLUMNS, depth, finish, t, b);
    switch (columns - b) {
    case 5:
        tile(rows, 5, depth, finish, t, b);
        break;
    case 4:
        tile(rows, 4, depth, finish, t, b);
        break;
    case 3:
        tile(rows, 3, depth, finish, t, b);
        break;
    case 2:
        tile(rows, 2, depth, finish, t, b);
        break;
    case 1:
        tile(rows, 1, depth, finish, t, b);
        break;
    default:
        break;
    }
}

/* A row of tiles, of any number of rows up to ROWS. */
INLINE void tiles(int rows, int columns, int depth, enum finish finish, const struct tile *t) {
    switch (rows) {
    case 4:
        tile_row(4, columns, depth, finish, t);
        break;
    case 3:
        tile_row(3, columns, depth, finish, t);
        break;
    case 2:
        tile_row(2, columns, depth, finish, t);
        break;
    default:
        tile_row(1, columns, depth, finish, t);
        break;
    }
}
_Static_assert(ROWS <= 4 && COLUMNS <= 6, "tile_row and tiles list the sizes of a remainder");

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* The Cholesky factor of a diagonal block in place; inverse: of its diagonal. 0 when it is not positive
 * definite. */
static int factor_block(int rows, lane *D, int ld, lane *inverse) {
    int positive = 1;
    for (int a = 0; a < rows; a++) {
        for (int c = 0; c < a; c++)
            for (int b = a; b < rows; b++) D[a * ld + b] -= D[c * ld + a] * D[c * ld + b];
        D[a * ld + a] = lane_sqrt(D[a * ld + a], &positive);
        inverse[a] = 1.0 / D[a * ld + a];
        for (int b = a + 1; b < rows; b++) D[a * ld + b] *= inverse[a];
    }
    return positive;
}

/* S = R'R in the first N rows, R^-T applied to the other columns, and the Schur complement below; 0 when S is
 * not positive definite. */
static int eliminate(int N, int total, lane *C, lane *inverse) {
    int ld = total, positive = 1;
    struct tile t = {.step_k = ld, .step_a = 1, .ld_B = ld, .ld_from = ld, .ld_to = ld, .ld_D = ld};
    for (int i = 0; i < N; i += ROWS) {
        int rows = smaller(ROWS, N - i);
        t.A = t.B = C + i;
        t.D = t.from = t.to = C + (int64_t)i * ld + i;
        t.inverse = inverse + i;
        tiles(rows, rows, i, PLAIN, &t);
        positive &= factor_block(rows, t.to, ld, inverse + i);
        t.B += rows;
        t.from = t.to += rows;
        tiles(rows, total - i - rows, i, FORWARD, &t);
    }
    for (int i = N; i < total; i += ROWS) {
        t.A = t.B = C + i;
        t.from = t.to = C + (int64_t)i * ld + i;
        tiles(smaller(ROWS, total - i), total - i, N, PLAIN, &t);
    }
    return positive;
}

/* R^-1 applied to the columns N .. total-1 of the first N rows, which become U. */
static void substitute_back(int N, int total, lane *C, const lane *inverse) {
    int ld = total, n = total - N;
    struct tile t = {.step_k = 1, .step_a = ld, .ld_B = ld, .ld_from = ld, .ld_to = ld, .ld_D = ld};
    for (int end = N; end > 0;) {
        int rows = smaller(ROWS, end), i = end - rows;
        t.A = C + (int64_t)i * ld + end;
        t.B = C + (int64_t)end * ld + N;
        t.from = t.to = C + (int64_t)i * ld + N;
        t.D = C + (int64_t)i * ld + i;
        t.inverse = inverse + i;
        tiles(rows, n, N - end, BACKWARD, &t);
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

static void assemble(const struct affine_tables *t, const struct affine_layout *at, const lane *c, lane *C) {
    if (t->dim == 2 && t->n_faces == 3)
        assemble_S(2, 3, t, at, c, C);
    else if (t->dim == 2)
        assemble_S(2, 4, t, at, c, C);
    else if (t->n_faces == 4)
        assemble_S(3, 4, t, at, c, C);
    else
        assemble_S(3, 6, t, at, c, C);
    if (t->dim == 2)
        assemble_rest(2, t, at, c, C);
    else
        assemble_rest(3, t, at, c, C);
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

/* d: n lanes of scratch. */
static void restore_constants(const struct affine_tables *t, const lane *reaction, lane *C, lane *d) {
    int N = t->N, n = t->n_faces * t->m, ld = N + n;
    for (int i = 0; i < n; i++) d[i] = *reaction * sqrt(t->volume) * C[N + i];
    restore_sums(n, ld, t->n_faces, t->m, sqrt(t->face), d, C + (int64_t)N * ld + N);
}

/* ------------------------------------------------------------------------------- orientations */

/* n numbers of O of one face, from where they stand for each lane: out[e] holds entry e of all lanes. */
static void gather_lanes(int n, const double *const *from, lane *out) {
    for (int e = 0; e < n; e += L) {
        lane rows[L];
        for (int w = 0; w < L; w++) rows[w] = lane_load(n - e, from[w] + e);
        lane_transpose(rows);
        for (int k = 0; k < L && e + k < n; k++) out[e + k] = rows[k];
    }
}

/* The blocks of O of one face; 0 when the face has orientation 0 in all lanes. */
static int gather_turn(const struct affine_tables *t, const lane *orientation, lane *O) {
    const double *from[L];
    int any = 0;
    for (int w = 0; w < L; w++) {
        int o = (int)(*orientation)[w];
        from[w] = t->turns + o * t->n_turn;
        any |= o;
    }
    if (any) gather_lanes(t->n_turn, from, O);
    return any;
}

/* x = x O on `rows` (up to TURN_ROWS) rows of the numbers of a group: where the next row and the next mode
 * are: step_r, step_m. One load of O serves all rows. */
INLINE void turn_group(int rows, int size, const int32_t *modes, const lane *O, lane *x, int64_t step_r,
                       int64_t step_m) {
    lane out[TURN_GROUP][TURN_ROWS];
    for (int b = 0; b < size; b++) {
        lane sum[TURN_ROWS];
        for (int r = 0; r < rows; r++) sum[r] = x[r * step_r + modes[0] * step_m] * O[b];
        for (int a = 1; a < size; a++) {
            const lane *from = x + modes[a] * step_m;
            lane right = O[a * size + b];
            for (int r = 0; r < rows; r++) sum[r] += from[r * step_r] * right;
        }
        for (int r = 0; r < rows; r++) out[b][r] = sum[r];
    }
    for (int b = 0; b < size; b++)
        for (int r = 0; r < rows; r++) x[r * step_r + modes[b] * step_m] = out[b][r];
}

/* The same on all numbers of a face but the constant, which stays. */
INLINE void turn_rows(int rows, const struct affine_tables *t, const lane *O, lane *x, int64_t step_r,
                      int64_t step_m) {
    O++;
    for (int g = 1; g < t->n_groups; g++) {
        const int32_t *modes = t->modes + t->group_starts[g];
        int size = t->group_starts[g + 1] - t->group_starts[g];
        switch (size) {
        case 1:
            turn_group(rows, 1, modes, O, x, step_r, step_m);
            break;
        case 2:
            turn_group(rows, 2, modes, O, x, step_r, step_m);
            break;
        case 3:
            turn_group(rows, 3, modes, O, x, step_r, step_m);
            break;
        case 4:
            turn_group(rows, 4, modes, O, x, step_r, step_m);
            break;
        default:
            turn_group(rows, size, modes, O, x, step_r, step_m);
            break;
        }
        O += size * size;
    }
}

static void turn_block(int rows, const struct affine_tables *t, const lane *O, lane *x, int64_t step_r,
                       int64_t step_m) {
    int r = 0;
    for (; r + TURN_ROWS <= rows; r += TURN_ROWS) turn_rows(TURN_ROWS, t, O, x + r * step_r, step_r, step_m);
    if (r + 4 <= rows) {
        turn_rows(4, t, O, x + r * step_r, step_r, step_m);
        r += 4;
    }
    if (r + 2 <= rows) {
        turn_rows(2, t, O, x + r * step_r, step_r, step_m);
        r += 2;
    }
    if (r < rows) turn_rows(1, t, O, x + r * step_r, step_r, step_m);
}

/* Into the orientations of the cells: U O in the first N rows, O'K O in the others. O: n_turn lanes of
 * scratch. */
static void turn(const struct affine_tables *t, const lane *orientations, lane *C, lane *O) {
    int N = t->N, m = t->m, n = t->n_faces * m;
    int64_t ld = N + n;
    lane *K = C + N * ld + N;
    for (int f = 0; f < t->n_faces; f++) {
        lane *block = K + f * m * (ld + 1);
        if (!gather_turn(t, orientations + f, O)) continue;
        for (int i = 1; i < m; i++)
            for (int j = 0; j < i; j++) block[i * ld + j] = block[j * ld + i];
        turn_block(N, t, O, C + N + f * m, ld, 1);
        turn_block((f + 1) * m, t, O, K + f * m, ld, 1);
        turn_block(n - f * m, t, O, block, 1, ld);
    }
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

/* The upper triangle of the first n rows of C, transposed: entry (i, j) from C[j][i]. */
static void store_triangle(int n, const lane *C, int ld, lane *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) lane_stream(to++, C[(int64_t)j * ld + i]);
}

static void store_rows(int rows, int n, const lane *C, int ld, lane *to) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) lane_stream(to++, C[(int64_t)i * ld + j]);
}

/* The same with the signs of rows and columns. */
static void store_signed_triangle(int n, const lane *C, int ld, const lane *sign, lane *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) lane_stream(to++, C[(int64_t)j * ld + i] * (sign[i] * sign[j]));
}

static void store_signed_rows(int rows, int n, const lane *C, int ld, const lane *sign, lane *to) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++) lane_stream(to++, C[(int64_t)i * ld + j] * sign[j]);
}

/* Lanes of scratch of a thread: the matrix, the inverse diagonal of R, a vector of the trace, and O of a face
 * or the signs of all. */
static int64_t scratch_lanes(const struct affine_tables *t) {
    int64_t n = t->n_faces * t->m, total = t->N + n;
    return total * total + total + (t->n_turn > n ? t->n_turn : n);
}

int64_t OF(condense_scratch)(const struct affine_tables *t) {
    return scratch_lanes(t) * L * base_threads();
}

int64_t OF(condense_affine)(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                            double *factor, double *U, double *K, double *scratch) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, n = t->n_faces * t->m, total = N + n, diagonal = t->n_groups == t->m;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 4) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * scratch_lanes(t), *inverse = C + total * total;
        lane *O = inverse + total, *K_to = (lane *)K + batch * (n * (n + 1) / 2),
             *U_to = (lane *)U + batch * N * n;
        const lane *c = (const lane *)coefficients + batch * at.count;
        assemble(t, &at, c, C);
        if (!eliminate(N, total, C, inverse) && batch < failed) failed = batch;
        store_triangle(N, C, total, (lane *)factor + batch * (N * (N + 1) / 2));
        substitute_back(N, total, C, inverse);
        if (!diagonal) turn(t, c + at.orientation, C, O);
        restore_constants(t, c + at.reaction, C, inverse + N);
        if (diagonal) {
            gather_signs(t, c + at.orientation, O);
            store_signed_rows(N, n, C + N, total, O, U_to);
            store_signed_triangle(n, C + N * total + N, total, O, K_to);
        } else {
            store_rows(N, n, C + N, total, U_to);
            store_triangle(n, C + N * total + N, total, K_to);
        }
        lane_stream_end();
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
    return total * total + t->N + 2 * t->n;
}

int64_t OF(condense_sum_scratch)(const struct sum_tables *t) {
    return sum_lanes(t) * L * base_threads();
}

/* What is left after substitution, with the cell's signs. sign: n lanes of scratch. */
static void store_sum(const struct sum_tables *t, const lane *c, const lane *C, lane *sign, lane *factor,
                      lane *U, lane *K) {
    int N = t->N, n = t->n, ld = N + n;
    for (int j = 0; j < n; j++) sign[j] = t->signs[j] >= 0 ? c[t->signs[j]] : (lane){0} + 1.0;
    store_triangle(N, C, ld, factor);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < n; j++) lane_stream(U++, -C[(int64_t)i * ld + N + j] * sign[j]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) lane_stream(K++, C[(int64_t)(N + j) * ld + N + i] * (sign[i] * sign[j]));
}

int64_t OF(condense_sum)(const struct sum_tables *t, int64_t n_batches, const double *coefficients,
                         double *factor, double *U, double *K, double *scratch) {
    int N = t->N, n = t->n, total = N + n;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 4) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * sum_lanes(t),
             *inverse = C + (int64_t)total * total, *d = inverse + N;
        const lane *c = (const lane *)coefficients + batch * (t->n_terms + t->n_signs);
        lane mass = c[t->n_terms - 1];
        if (t->n_terms == 4)
            add_terms(4, total, t->terms, c, C);
        else
            add_terms(t->n_terms, total, t->terms, c, C);
        if (!eliminate(N, total, C, inverse) && batch < failed) failed = batch;
        substitute_back(N, total, C, inverse);
        for (int j = 0; j < n; j++) d[j] = mass * t->moments[N + j];
        for (int i = 0; i < N; i++) {
            if (t->moments[i] == 0.0) continue;
            for (int j = 0; j < n; j++) d[j] -= mass * t->moments[i] * C[(int64_t)i * total + N + j];
        }
        restore_sums(n, total, t->n_ones, 1, 1.0, d, C + (int64_t)N * total + N);
        store_sum(t, c + t->n_terms, C, d + n, (lane *)factor + batch * (N * (N + 1) / 2),
                  (lane *)U + batch * N * n, (lane *)K + batch * (n * (n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- back substitution */

void OF(batch_load)(int lanes, int64_t n_batches, int N, int n, const double *U, const double *f,
                    double *out) {
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *from = (const lane *)U + batch * N * n, *right = (const lane *)f + batch * N;
        lane *to = (lane *)out + batch * n;
        for (int j = 0; j < n; j++) to[j] = (lane){0};
        for (int i = 0; i < N; i++)
            for (int j = 0; j < n; j++) to[j] += from[i * n + j] * right[i];
    }
}

void OF(batch_recover)(int lanes, int64_t n_batches, int N, int n, const double *factor, const double *U,
                       const double *uhat, double *f) {
    (void)lanes;
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

/* y = O x on the m numbers of a face; x itself when there is nothing to turn. */
static const lane *turn_trace(const struct affine_tables *t, const lane *orientation, const lane *x,
                              lane *y) {
    lane rows[L];
    const double *from[L];
    int any = 0;
    for (int w = 0; w < L; w++) {
        any |= (int)(*orientation)[w];
        from[w] = t->turns + (int)(*orientation)[w] * t->n_turn;
    }
    if (!any) return x;
    for (int g = 0, e = 0; g < t->n_groups; g++) {
        const int32_t *modes = t->modes + t->group_starts[g];
        int size = t->group_starts[g + 1] - t->group_starts[g];
        for (int a = 0; a < size; a++) {
            lane sum = {0};
            for (int b = 0; b < size; b++, e++) {
                if (e % L == 0) {
                    for (int w = 0; w < L; w++) rows[w] = lane_load(t->n_turn - e, from[w] + e);
                    lane_transpose(rows);
                }
                sum += rows[e % L] * x[modes[b]];
            }
            y[modes[a]] = sum;
        }
    }
    return y;
}

/* y = A x for `rows` (up to FLUX_ROWS) rows of a matrix of numbers. */
INLINE void multiply_rows(int rows, int n, const double *A, const lane *x, lane *y) {
    lane sum[FLUX_ROWS];
    for (int r = 0; r < rows; r++) sum[r] = (lane){0};
    for (int j = 0; j < n; j++) {
        lane right = x[j];
        for (int r = 0; r < rows; r++) sum[r] += A[r * n + j] * right;
    }
    for (int r = 0; r < rows; r++) y[r] = sum[r];
}

/* to (dim x N) += scale_a A x, A: N x n. */
static void add_product(int dim, int N, int n, const double *A, const lane *x, const lane *scale,
                        int step_scale, lane *to) {
    for (int i = 0; i < N; i += FLUX_ROWS) {
        int rows = smaller(FLUX_ROWS, N - i);
        lane y[FLUX_ROWS];
        if (rows == FLUX_ROWS)
            multiply_rows(FLUX_ROWS, n, A + (int64_t)i * n, x, y);
        else
            for (int r = 0; r < rows; r++) multiply_rows(1, n, A + (int64_t)(i + r) * n, x, y + r);
        for (int a = 0; a < dim; a++)
            for (int r = 0; r < rows; r++) to[a * N + i + r] += scale[a * step_scale] * y[r];
    }
}

void OF(affine_flux)(const struct affine_tables *t, int64_t n_batches, const double *coefficients,
                     const double *u, const double *uhat, double *q) {
    struct affine_layout at = affine_layout(t->dim, t->n_faces);
    int N = t->N, m = t->m, n = t->n_faces * m, dim = t->dim;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *c = (const lane *)coefficients + batch * at.count, *ub = (const lane *)u + batch * N;
        const lane *trace = (const lane *)uhat + batch * n;
        lane *to = (lane *)q + batch * dim * N, turned[MAX_FACE];
        for (int i = 0; i < dim * N; i++) to[i] = (lane){0};
        for (int b = 0; b < dim; b++)
            add_product(dim, N, N, t->D + (int64_t)b * N * N, ub, c + at.flux + b, dim, to);
        for (int f = 0; f < t->n_faces; f++) {
            lane scale[3];
            for (int a = 0; a < dim; a++) scale[a] = -c[at.flux_normal + f * dim + a];
            const lane *x = turn_trace(t, c + at.orientation + f, trace + f * m, turned);
            add_product(dim, N, m, t->F + (int64_t)f * N * m, x, scale, 1, to);
        }
    }
}
