/* Folds, and the eigenvectors and singular vectors of folded problems. */
#include "box/modes.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

/* Mirror images differ in width by rounding only. */
#define SAME_WIDTH 1e-14

/* ----------------------------------------------------------------------------------------- folds */

void box_fold_destroy(struct box_fold *f) {
    for (int back = 0; back < 2; back++) {
        base_free(&f->from[back]);
        base_free(&f->weights[back]);
    }
    *f = (struct box_fold){0};
}

static void put_row(struct box_fold *f, int back, int i, int a, int b, double wa, double wb) {
    f->from[back][i][0] = a;
    f->from[back][i][1] = b;
    f->weights[back][i][0] = wa;
    f->weights[back][i][1] = wb;
}

facet_status box_fold_create(int n, const int *mirror, const int *signs, struct box_fold *f) {
    facet_status status = FACET_OK;
    double half = sqrt(0.5);
    *f = (struct box_fold){.n = n};
    for (int back = 0; back < 2; back++) {
        TRY(ALLOC(f->from[back], n));
        TRY(ALLOC(f->weights[back], n));
    }
    for (int i = 0; i < n; i++) { /* how many are even? */
        int j = mirror == NULL ? i : mirror[i], sign = signs == NULL || mirror == NULL ? 1 : signs[i];
        f->sizes[0] += i < j || (i == j && sign > 0);
        f->sizes[1] += i < j || (i == j && sign < 0);
    }
    int even = 0, odd = f->sizes[0];
    for (int i = 0; i < n; i++) { /* back, each collects from the two entries it went to */
        int j = mirror == NULL ? i : mirror[i], sign = signs == NULL || mirror == NULL ? 1 : signs[i];
        if (i == j) {
            int to = sign > 0 ? even++ : odd++;
            put_row(f, 0, to, i, i, 1.0, 0.0);
            put_row(f, 1, i, to, to, 1.0, 0.0);
        } else if (i < j) {
            put_row(f, 0, even, i, j, half, sign * half);
            put_row(f, 0, odd, i, j, half, -sign * half);
            put_row(f, 1, i, even, odd, half, half);
            put_row(f, 1, j, even++, odd++, sign * half, -sign * half);
        }
    }
done:
    if (status != FACET_OK) box_fold_destroy(f);
    return status;
}

facet_status box_fold_create_mirrored(int n, int ends, int ring, struct box_fold *fold) {
    facet_status status = FACET_OK;
    int *mirror = NULL;
    TRY(ALLOC(mirror, n));
    for (int i = 0; i < n; i++) mirror[i] = i >= ends ? i : ring ? (ends - i) % ends : ends - 1 - i;
    TRY(box_fold_create(n, mirror, NULL, fold));
done:
    base_free(&mirror);
    return status;
}

void box_fold_rows(const struct box_fold *f, int back, int64_t width, const double *x, int64_t x_step,
                   double *restrict y, int64_t y_step) {
    for (int i = 0; i < f->n; i++) {
        const int *from = f->from[back][i];
        const double *weights = f->weights[back][i];
        const double *one = x + from[0] * x_step, *two = x + from[1] * x_step;
        double v = weights[0], w = weights[1], *to = y + i * y_step;
        if (w == 0.0)
            memcpy(to, one, (size_t)width * sizeof *to);
        else
            for (int64_t j = 0; j < width; j++) to[j] = v * one[j] + w * two[j];
    }
}

void box_fold_row(const struct box_fold *f, int back, const double *x, double *restrict y) {
    int(*from)[2] = f->from[back];
    double(*weights)[2] = f->weights[back];
    if (f->sizes[1] == 0) {
        memcpy(y, x, (size_t)f->n * sizeof *y);
        return;
    }
    for (int i = 0; i < f->n; i++) y[i] = weights[i][0] * x[from[i][0]] + weights[i][1] * x[from[i][1]];
}

int box_is_mirrored(int n_cells, const double *widths, const int *kinds) {
    for (int c = 0; c < n_cells; c++) {
        int other = n_cells - 1 - c;
        if (fabs(widths[c] - widths[other]) > SAME_WIDTH * n_cells * widths[c]) return 0;
        if (kinds != NULL && kinds[c] != kinds[other]) return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------------------------- eigenvectors */

void box_fold_matrix(const struct box_fold *rows, const struct box_fold *columns, int parity, const double *B,
                     int step, double *to) {
    const int first = box_fold_first(rows, parity), second = box_fold_first(columns, parity);
    for (int i = first; i < first + rows->sizes[parity]; i++)
        for (int j = second; j < second + columns->sizes[parity]; j++) {
            const int *row = rows->from[0][i], *column = columns->from[0][j];
            const double *v = rows->weights[0][i], *w = columns->weights[0][j];
            double sum = 0.0;
            for (int x = 0; x < 4; x++)
                if (v[x / 2] != 0.0 && w[x % 2] != 0.0)
                    sum += v[x / 2] * w[x % 2] * B[(int64_t)row[x / 2] * step + column[x % 2]];
            *to++ = sum;
        }
}

facet_status box_modes(const struct box_fold *f, const double *M, const double *A, int step, double *S,
                       double *eigenvalues) {
    facet_status status = FACET_OK;
    double *a = NULL, *m = NULL;
    int64_t most = f->sizes[0] > f->sizes[1] ? f->sizes[0] : f->sizes[1];
    if (most == 0) return FACET_OK;
    TRY(ALLOC(a, most * most));
    TRY(ALLOC(m, most * most));
    memset(S, 0, (size_t)f->n * (size_t)f->n * sizeof *S);
    for (int b = 0; b < 2; b++) {
        int first = box_fold_first(f, b), count = f->sizes[b];
        if (count == 0) continue;
        box_fold_matrix(f, f, b, A, step, a);
        if (M != NULL) box_fold_matrix(f, f, b, M, step, m);
        lapack_int info =
            M == NULL ? LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', count, a, count, eigenvalues + first)
                      : LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'U', count, a, count, m, count,
                                       eigenvalues + first);
        if (info != 0)
            FAIL(FACET_ERROR_MACHINE, "the modes of a line of %d unknowns were not found (%d)", f->n,
                 (int)info);
        for (int mode = 0; mode < count; mode++)
            for (int i = 0; i < count; i++)
                for (int s = 0; s < 2; s++)
                    S[(int64_t)f->from[0][first + i][s] * f->n + first + mode] +=
                        f->weights[0][first + i][s] * a[(int64_t)mode * count + i];
    }
done:
    base_free(&a);
    base_free(&m);
    return status;
}

void box_multiply(int A_transposed, int B_transposed, int m, int n, int k, double alpha, const double *A,
                  int64_t A_step, const double *B, int64_t B_step, double beta, double *C, int64_t C_step) {
    if (m > 0 && n > 0 && k > 0)
        cblas_dgemm(CblasRowMajor, A_transposed ? CblasTrans : CblasNoTrans,
                    B_transposed ? CblasTrans : CblasNoTrans, m, n, k, alpha, A, (int)A_step, B, (int)B_step,
                    beta, C, (int)C_step);
    for (int i = 0; k == 0 && beta == 0.0 && i < m; i++) memset(C + i * C_step, 0, (size_t)n * sizeof *C);
}

facet_status box_singular_values(int rows, int columns, double *A, double *values, double *V) {
    facet_status status = FACET_OK;
    double *work = NULL, best;
    lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'S', rows, columns, A, rows, values, NULL, 1,
                                          V, columns, &best, -1);
    if (info == 0) {
        TRY(ALLOC(work, best));
        int threads = base_blas_begin_wide();
        info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'S', rows, columns, A, rows, values, NULL, 1, V,
                                   columns, work, (lapack_int)best);
        base_blas_end_wide(threads);
    }
    if (info != 0)
        FAIL(FACET_ERROR_MACHINE, "the singular values of a chain of %d unknowns were not found (%d)",
             columns, (int)info);
done:
    base_free(&work);
    return status;
}

facet_status box_singular_values_precise(int rows, int columns, double *A, double *values, double *U,
                                         double *V) {
    double stat[7];
    lapack_int istat[3];
    lapack_int info = LAPACKE_dgejsv(LAPACK_COL_MAJOR, 'F', U != NULL ? 'U' : 'N', 'V', 'R', 'N', 'P', rows,
                                     columns, A, rows, values, U, rows, V, columns, stat, istat);
    if (info != 0)
        return base_fail(FACET_ERROR_MACHINE,
                         "the singular values of a line of %d unknowns were not found (%d)", columns,
                         (int)info);
    for (int i = 0; i < columns; i++) values[i] *= stat[0] / stat[1];
    return FACET_OK;
}
