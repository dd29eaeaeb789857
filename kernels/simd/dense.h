/* Dense algebra in lanes, a batch of cells at a time: every scalar of the textbook algorithm is a lane
 * vector. All of it runs through one register tile, rows x columns of lane vectors accumulated over k. */
#ifndef FACET_KERNELS_SIMD_DENSE_H
#define FACET_KERNELS_SIMD_DENSE_H

#include "kernels/simd/lane.h"

#define ROWS    TUNE_TILE_ROWS
#define COLUMNS TUNE_TILE_COLUMNS

#define FLUX_ROWS  6   /* rows of a reference matrix at once */
#define TURN_ROWS  8   /* rows that are turned at once */
#define TURN_GROUP 17  /* most functions that orientations mix: of a triangle at degree 16 */
#define MAX_FACE   289 /* functions of a face: of a quad at degree 16 */

/* What happens to a tile before it is stored: a triangular solve with the diagonal block of its rows. ADD:
 * the products are added, not taken off. */
enum finish { PLAIN, ADD, FORWARD, BACKWARD };

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

#define PARTS (L / PART) /* of a lane vector */

/* Part p of the vectors. */
INLINE void tile_part(int rows, int columns, int depth, enum finish finish, const struct tile *t, int at,
                      int p) {
    packet sum[ROWS][COLUMNS];
    const packet *A = (const packet *)t->A + p, *B = (const packet *)(t->B + at) + p;
    const packet *from = (const packet *)(t->from + at) + p, *D = (const packet *)t->D + p,
                 *inverse = (const packet *)t->inverse + p;
    packet *to = (packet *)(t->to + at) + p;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) sum[a][b] = from[((int64_t)a * t->ld_from + b) * PARTS];
    for (int k = 0; k < depth; k++, A += (int64_t)t->step_k * PARTS, B += (int64_t)t->ld_B * PARTS) {
        packet right[COLUMNS];
        for (int b = 0; b < columns; b++)
            right[b] = *(const volatile packet *)(B + b * PARTS); /* loaded once */
        for (int a = 0; a < rows; a++) {
            packet left = A[(int64_t)a * t->step_a * PARTS];
            for (int b = 0; b < columns; b++)
                sum[a][b] = finish == ADD ? sum[a][b] + left * right[b] : sum[a][b] - left * right[b];
        }
    }
    for (int s = 0; s < rows && finish > ADD; s++) {
        int a = finish == FORWARD ? s : rows - 1 - s;
        for (int c = finish == FORWARD ? 0 : a + 1; c < (finish == FORWARD ? a : rows); c++) {
            packet left =
                D[((int64_t)(finish == FORWARD ? c : a) * t->ld_D + (finish == FORWARD ? a : c)) * PARTS];
            for (int b = 0; b < columns; b++) sum[a][b] -= left * sum[c][b];
        }
        for (int b = 0; b < columns; b++) sum[a][b] *= inverse[a * PARTS];
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) to[((int64_t)a * t->ld_to + b) * PARTS] = sum[a][b];
}

INLINE void tile(int rows, int columns, int depth, enum finish finish, const struct tile *t, int at) {
    for (int p = 0; p < PARTS; p++) tile_part(rows, columns, depth, finish, t, at, p);
}

INLINE void tile_row(int rows, int columns, int depth, enum finish finish, const struct tile *t) {
    int b = 0;
    for (; b + COLUMNS <= columns; b += COLUMNS) tile(rows, COLUMNS, depth, finish, t, b);
    switch (columns - b) {
#if TUNE_TILE_COLUMNS > 3
    case 5:
        tile(rows, 5, depth, finish, t, b);
        break;
    case 4:
        tile(rows, 4, depth, finish, t, b);
        break;
    case 3:
        tile(rows, 3, depth, finish, t, b);
        break;
#endif
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

static inline int smaller(int a, int b) {
    return a < b ? a : b;
}

/* The Cholesky factor of a diagonal block in place; inverse: of its diagonal. 0 when it is not positive
 * definite. */
static inline int factor_block(int rows, lane *D, int ld, lane *inverse) {
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

/* The first N rows of a matrix of `total` columns: A = R'R in their square, R^-T applied to the other
 * columns; 0 when A is not positive definite. */
static inline int factor_rows(int N, int total, lane *C, lane *inverse) {
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
    return positive;
}

/* The same of a square matrix, and the Schur complement below. */
static inline int eliminate(int N, int total, lane *C, lane *inverse) {
    int ld = total, positive = factor_rows(N, total, C, inverse);
    struct tile t = {.step_k = ld, .step_a = 1, .ld_B = ld, .ld_from = ld, .ld_to = ld};
    for (int i = N; i < total; i += ROWS) {
        t.A = t.B = C + i;
        t.from = t.to = C + (int64_t)i * ld + i;
        tiles(smaller(ROWS, total - i), total - i, N, PLAIN, &t);
    }
    return positive;
}

/* R^-1 applied to n columns of the first N rows, from `first` on; ld: of a row. */
static inline void substitute_columns(int N, int ld, int first, int n, lane *C, const lane *inverse) {
    struct tile t = {.step_k = 1, .step_a = ld, .ld_B = ld, .ld_from = ld, .ld_to = ld, .ld_D = ld};
    for (int end = N; end > 0;) {
        int rows = smaller(ROWS, end), i = end - rows;
        t.A = C + (int64_t)i * ld + end;
        t.B = C + (int64_t)end * ld + first;
        t.from = t.to = C + (int64_t)i * ld + first;
        t.D = C + (int64_t)i * ld + i;
        t.inverse = inverse + i;
        tiles(rows, n, N - end, BACKWARD, &t);
        end = i;
    }
}

/* x = A^-1 x, N numbers: A is the upper left of C, N rows of N + 1; 0 when it is not positive definite. */
static inline int solve_in_place(int N, lane *C, lane *inverse, lane *x) {
    for (int i = 0; i < N; i++) C[(int64_t)i * (N + 1) + N] = x[i];
    int positive = factor_rows(N, N + 1, C, inverse);
    substitute_columns(N, N + 1, N, 1, C, inverse);
    for (int i = 0; i < N; i++) x[i] = C[(int64_t)i * (N + 1) + N];
    return positive;
}

/* After eliminate, C = [R, R^-T B]: d += (R^-1 R^-T B)'x without the product R^-1, x being destroyed. */
static inline void add_through(int N, int total, const lane *C, const lane *inverse, lane *x, lane *d) {
    int n = total - N;
    for (int i = 0; i < N; i++) {
        const lane *row = C + (int64_t)i * total;
        lane value = x[i] * inverse[i];
        for (int k = i + 1; k < N; k++) x[k] -= row[k] * value;
        for (int j = 0; j < n; j++) d[j] += row[N + j] * value;
    }
}

/* See the same functions in kernels/ref. */
static inline void restore_sums(int n, int ld, int n_ones, int m, double one, lane *d, lane *K) {
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

/* See kernels/ref. v: `count` numbers at the places `at`, zero elsewhere; d: n lanes. limited: 0 where |d| is
 * too large, and then nothing happens. */
static inline void restore_motion(int n, int ld, int count, const int *at, const lane *v, lane *K, lane *d,
                                  lane *limited) {
    lane inner = {0}, norm = {0}, largest = {0};
    for (int i = 0; i < n; i++) d[i] = (lane){0};
    for (int s = 0; s < count; s++) {
        int a = at[s];
        for (int i = 0; i < a; i++) d[i] -= K[(int64_t)i * ld + a] * v[s];
        for (int j = a; j < n; j++) d[j] -= K[(int64_t)a * ld + j] * v[s];
    }
    for (int i = 0; i < n && limited != NULL; i++) {
        lane diagonal = K[(int64_t)i * (ld + 1)];
        norm += d[i] * d[i];
        for (int w = 0; w < L; w++) largest[w] = fmax(largest[w], diagonal[w]);
    }
    for (int w = 0; w < L && limited != NULL; w++)
        if (!(sqrt(norm[w]) < ELASTIC_EXACT * largest[w])) (*limited)[w] = 0.0;
    for (int i = 0; i < n && limited != NULL; i++) d[i] *= *limited;
    for (int s = 0; s < count; s++) inner += d[at[s]] * v[s];
    for (int s = 0; s < count; s++) d[at[s]] -= 0.5 * inner * v[s];
    for (int s = 0; s < count; s++) { /* the diagonal twice */
        int a = at[s];
        for (int i = 0; i <= a; i++) K[(int64_t)i * ld + a] += d[i] * v[s];
        for (int j = a; j < n; j++) K[(int64_t)a * ld + j] += d[j] * v[s];
    }
}

/* ------------------------------------------------------------------------------- tables times lanes */

/* to[a step_a + b step_b] = (add: +=) sum_q A[q ld_A + a] B[q ld_B + b] for `rows` x `columns`. */
struct product {
    int depth;
    const double *A;
    int ld_A;
    const lane *B;
    int64_t ld_B;
    lane *to;
    int64_t step_a, step_b;
    int add;
};

INLINE void product_part(int rows, int columns, const struct product *p, int a0, int b0, int at) {
    packet sum[ROWS][COLUMNS];
    const double *A = p->A + a0;
    const packet *B = (const packet *)(p->B + b0) + at;
    packet *to = (packet *)(p->to + a0 * p->step_a + b0 * p->step_b) + at;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++)
            sum[a][b] = p->add ? to[(a * p->step_a + b * p->step_b) * PARTS] : (packet){0};
    for (int q = 0; q < p->depth; q++, A += p->ld_A, B += p->ld_B * PARTS) {
        packet right[COLUMNS];
        for (int b = 0; b < columns; b++)
            right[b] = *(const volatile packet *)(B + b * PARTS); /* loaded once */
        for (int a = 0; a < rows; a++)
            for (int b = 0; b < columns; b++) sum[a][b] += A[a] * right[b];
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) to[(a * p->step_a + b * p->step_b) * PARTS] = sum[a][b];
}

INLINE void product_tile(int rows, int columns, const struct product *p, int a0, int b0) {
    for (int at = 0; at < PARTS; at++) product_part(rows, columns, p, a0, b0, at);
}

INLINE void product_row(int rows, const struct product *p, int a0, int first, int columns) {
    int b = first;
    for (; b + COLUMNS <= columns; b += COLUMNS) product_tile(rows, COLUMNS, p, a0, b);
    switch (columns - b) {
#if TUNE_TILE_COLUMNS > 3
    case 5:
        product_tile(rows, 5, p, a0, b);
        break;
    case 4:
        product_tile(rows, 4, p, a0, b);
        break;
    case 3:
        product_tile(rows, 3, p, a0, b);
        break;
#endif
    case 2:
        product_tile(rows, 2, p, a0, b);
        break;
    case 1:
        product_tile(rows, 1, p, a0, b);
        break;
    default:
        break;
    }
}

/* upper: only columns from the first row of a tile on. */
static inline void product(int rows, int columns, int upper, const struct product *p) {
    int a = 0;
    for (; a + ROWS <= rows; a += ROWS) product_row(ROWS, p, a, upper ? a : 0, columns);
    switch (rows - a) {
    case 3:
        product_row(3, p, a, upper ? a : 0, columns);
        break;
    case 2:
        product_row(2, p, a, upper ? a : 0, columns);
        break;
    case 1:
        product_row(1, p, a, upper ? a : 0, columns);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------------------- tables of numbers */

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

/* to (dim runs of N, `step` apart) += scale_a A x, A: N x n. */
static inline void add_product(int dim, int N, int n, const double *A, const lane *x, const lane *scale,
                               int step_scale, lane *to, int step) {
    for (int i = 0; i < N; i += FLUX_ROWS) {
        int rows = smaller(FLUX_ROWS, N - i);
        lane y[FLUX_ROWS];
        if (rows == FLUX_ROWS)
            multiply_rows(FLUX_ROWS, n, A + (int64_t)i * n, x, y);
        else
            for (int r = 0; r < rows; r++) multiply_rows(1, n, A + (int64_t)(i + r) * n, x, y + r);
        for (int a = 0; a < dim; a++)
            for (int r = 0; r < rows; r++) to[a * step + i + r] += scale[a * step_scale] * y[r];
    }
}

/* The same with the transpose of A: to (n) += scale A'x. */
INLINE void multiply_columns(int columns, int N, int n, const double *A, const lane *x, const lane *scale,
                             lane *to) {
    lane sum[FLUX_ROWS];
    for (int r = 0; r < columns; r++) sum[r] = (lane){0};
    for (int i = 0; i < N; i++) {
        lane right = x[i];
        for (int r = 0; r < columns; r++) sum[r] += A[i * n + r] * right;
    }
    for (int r = 0; r < columns; r++) to[r] += *scale * sum[r];
}

static inline void add_transposed(int N, int n, const double *A, const lane *x, const lane *scale, lane *to) {
    int j = 0;
    for (; j + FLUX_ROWS <= n; j += FLUX_ROWS) multiply_columns(FLUX_ROWS, N, n, A + j, x, scale, to + j);
    for (; j < n; j++) multiply_columns(1, N, n, A + j, x, scale, to + j);
}

/* ------------------------------------------------------------------------------- orientations */

/* n numbers of O of one face, from where they stand for each lane: out[e] holds entry e of all lanes. */
static inline void gather_lanes(int n, const double *const *from, lane *out) {
    for (int e = 0; e < n; e += L) {
        lane rows[L];
        for (int w = 0; w < L; w++) rows[w] = lane_load(n - e, from[w] + e);
        lane_transpose(rows);
        for (int k = 0; k < L && e + k < n; k++) out[e + k] = rows[k];
    }
}

/* The blocks of O of one face; 0 when the face has orientation 0 in all lanes. */
static inline int gather_turn(const struct affine_tables *t, const lane *orientation, lane *O) {
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

static inline void turn_block(int rows, const struct affine_tables *t, const lane *O, lane *x, int64_t step_r,
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

/* Into the orientations of the cells: O'K O. O: n_turn lanes of scratch. */
static inline void turn(const struct affine_tables *t, const lane *orientations, lane *K, int64_t ld,
                        lane *O) {
    int m = t->m, n = t->n_faces * m;
    for (int f = 0; f < t->n_faces; f++) {
        lane *block = K + f * m * (ld + 1);
        if (!gather_turn(t, orientations + f, O)) continue;
        for (int i = 1; i < m; i++)
            for (int j = 0; j < i; j++) block[i * ld + j] = block[j * ld + i];
        turn_block((f + 1) * m, t, O, K + f * m, ld, 1);
        turn_block(n - f * m, t, O, block, 1, ld);
    }
}

/* The upper triangle of the first n rows of C, transposed: entry (i, j) from C[j][i]. */
static inline void store_triangle(int n, const lane *C, int ld, lane *to) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) lane_stream(to++, C[(int64_t)j * ld + i]);
}

/* y = O x on the m numbers of a face; x itself when there is nothing to turn. */
static inline const lane *turn_trace(const struct affine_tables *t, const lane *orientation, const lane *x,
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

#endif
