/* Extensions of least energy, a batch of cells at a time: dense algebra whose scalars are lane vectors. Cells
 * are small, and a batch stays in the nearer caches: the floor is n^3/3 + 2 n^2 width + n width^2 operations.
 */
#include <stddef.h>

#include "kernels/simd/lane.h"

/* Columns that share a load. */
#define TILE 4

static inline int64_t row_start(int64_t i) {
    return i * (i + 1) / 2;
}

/* A = C C'; the diagonal receives its inverse. 0 when a pivot of some lane is not positive. */
static int factor(int n, lane *A) {
    int positive = 1;
    for (int i = 0; i < n; i++) {
        lane *row = A + row_start(i);
        for (int j = 0; j <= i; j++) {
            const lane *other = A + row_start(j);
            lane sum = row[j], more = {0};
            int k = 0;
            for (; k + 1 < j; k += 2) {
                sum -= row[k] * other[k];
                more -= row[k + 1] * other[k + 1];
            }
            if (k < j) sum -= row[k] * other[k];
            sum += more;
            row[j] = j < i ? sum * other[j] : sum;
        }
        for (int l = 0; l < L; l++) {
            if (!(row[i][l] > 0.0)) positive = 0;
            row[i][l] = 1.0 / sqrt(row[i][l]);
        }
    }
    return positive;
}

/* to[0 .. width-1] -= sum over k of a[k] (rows of Y), k = 0 .. n-1, a at strides of its own. */
static inline void subtract_rows(int n, const lane *a, const lane *Y, int64_t stride, int width, lane *to) {
    int j = 0;
    for (; j + TILE <= width; j += TILE) {
        lane s0 = to[j], s1 = to[j + 1], s2 = to[j + 2], s3 = to[j + 3];
        for (int k = 0; k < n; k++) {
            const lane *y = Y + k * stride + j;
            s0 -= a[k] * y[0];
            s1 -= a[k] * y[1];
            s2 -= a[k] * y[2];
            s3 -= a[k] * y[3];
        }
        to[j] = s0;
        to[j + 1] = s1;
        to[j + 2] = s2;
        to[j + 3] = s3;
    }
    for (; j < width; j++)
        for (int k = 0; k < n; k++) to[j] -= a[k] * Y[k * stride + j];
}

static void forward(int n, const lane *A, int width, lane *Y) {
    for (int i = 0; i < n; i++) {
        const lane *row = A + row_start(i);
        lane *to = Y + (int64_t)i * width;
        subtract_rows(i, row, Y, width, width, to);
        for (int j = 0; j < width; j++) to[j] *= row[i];
    }
}

/* column: scratch of n. */
static void backward(int n, const lane *A, int width, lane *Y, lane *column) {
    for (int i = n - 1; i >= 0; i--) {
        lane *to = Y + (int64_t)i * width, inverse = A[row_start(i) + i];
        for (int k = i + 1; k < n; k++) column[k] = A[row_start(k) + i];
        subtract_rows(n - i - 1, column + i + 1, to + width, width, width, to);
        for (int j = 0; j < width; j++) to[j] *= inverse;
    }
}

/* S -= Y'Y, lower triangle. */
static void subtract_square(int n, int width, const lane *Y, lane *S, lane *column) {
    for (int i = 0; i < width; i++) {
        for (int k = 0; k < n; k++) column[k] = Y[(int64_t)k * width + i];
        subtract_rows(n, column, Y, width, i + 1, S + row_start(i));
    }
}

/* The lower triangle of (C C')^-1, column by column. */
static void invert(int n, const lane *A, lane *to, lane *column) {
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            lane sum = {0};
            if (i == j) sum += 1.0;
            for (int k = j; k < i; k++) sum -= A[row_start(i) + k] * column[k];
            column[i] = sum * A[row_start(i) + i];
        }
        for (int i = n - 1; i >= j; i--) {
            for (int k = i + 1; k < n; k++) column[i] -= A[row_start(k) + i] * column[k];
            column[i] *= A[row_start(i) + i];
            to[row_start(i) + j] = column[i];
        }
    }
}

int64_t OF(batch_extend)(int lanes, int n, int width, double *A, double *Y, double *S, double *inverse,
                         double *scratch) {
    lane *C = (lane *)A, *y = (lane *)Y, *column = (lane *)scratch;
    (void)lanes;
    if (!factor(n, C)) return 0;
    forward(n, C, width, y);
    if (S != NULL) subtract_square(n, width, y, (lane *)S, column);
    backward(n, C, width, y, column);
    if (inverse != NULL) invert(n, C, (lane *)inverse, column);
    return 1;
}
