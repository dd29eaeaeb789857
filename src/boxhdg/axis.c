/* Chains of cells: matrices, symmetry, eigenvectors. */
#include "boxhdg/axis.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/jacobi.h"

/* Mirror images differ in width by rounding only. */
#define SAME_WIDTH 1e-14

/* ----------------------------------------------------------------------------------------- folds */

void box_fold_destroy(struct box_fold *f) {
    base_free(&f->from);
    base_free(&f->back_from);
    base_free(&f->weights);
    base_free(&f->back_weights);
    *f = (struct box_fold){0};
}

static void fold_entry(struct box_fold *f, int i, int a, int b, double wa, double wb) {
    f->from[i][0] = a;
    f->from[i][1] = b;
    f->weights[i][0] = wa;
    f->weights[i][1] = wb;
}
/* The transpose: x[a] collects from the two entries it went to. */
static void back_entry(struct box_fold *f, int i, int a, int b, double wa, double wb) {
    f->back_from[i][0] = a;
    f->back_from[i][1] = b;
    f->back_weights[i][0] = wa;
    f->back_weights[i][1] = wb;
}

facet_status box_fold_create(int n, const int *mirror, const int *signs, struct box_fold *f) {
    facet_status status = FACET_OK;
    double half = sqrt(0.5);
    *f = (struct box_fold){.n = n};
    TRY(ALLOC(f->from, n));
    TRY(ALLOC(f->back_from, n));
    TRY(ALLOC(f->weights, n));
    TRY(ALLOC(f->back_weights, n));
    for (int i = 0; i < n; i++) { /* how many are even? */
        int j = mirror == NULL ? i : mirror[i], sign = signs == NULL || mirror == NULL ? 1 : signs[i];
        f->sizes[0] += i < j || (i == j && sign > 0);
        f->sizes[1] += i < j || (i == j && sign < 0);
    }
    int even = 0, odd = f->sizes[0];
    for (int i = 0; i < n; i++) {
        int j = mirror == NULL ? i : mirror[i], sign = signs == NULL || mirror == NULL ? 1 : signs[i];
        if (i == j) {
            int to = sign > 0 ? even++ : odd++;
            fold_entry(f, to, i, i, 1.0, 0.0);
            back_entry(f, i, to, to, 1.0, 0.0);
        } else if (i < j) {
            fold_entry(f, even, i, j, half, sign * half);
            fold_entry(f, odd, i, j, half, -sign * half);
            back_entry(f, i, even, odd, half, half);
            back_entry(f, j, even, odd, sign * half, -sign * half);
            even++;
            odd++;
        }
    }
done:
    if (status != FACET_OK) box_fold_destroy(f);
    return status;
}

void box_fold_rows(const struct box_fold *f, int back, int64_t width, const double *x, int64_t x_step,
                   double *restrict y, int64_t y_step) {
    for (int i = 0; i < f->n; i++) {
        const int *from = back ? f->back_from[i] : f->from[i];
        const double *weights = back ? f->back_weights[i] : f->weights[i];
        const double *one = x + from[0] * x_step, *two = x + from[1] * x_step;
        double v = weights[0], w = weights[1], *to = y + i * y_step;
        if (w == 0.0)
            memcpy(to, one, (size_t)width * sizeof *to);
        else
            for (int64_t j = 0; j < width; j++) to[j] = v * one[j] + w * two[j];
    }
}

void box_fold_row(const struct box_fold *f, int back, const double *x, double *restrict y) {
    int(*from)[2] = back ? f->back_from : f->from;
    double(*weights)[2] = back ? f->back_weights : f->weights;
    if (f->sizes[1] == 0) {
        memcpy(y, x, (size_t)f->n * sizeof *y);
        return;
    }
    for (int i = 0; i < f->n; i++) y[i] = weights[i][0] * x[from[i][0]] + weights[i][1] * x[from[i][1]];
}

int box_is_mirrored(int n_cells, const double *widths, const int *kinds) {
    for (int c = 0; c < n_cells; c++) {
        int other = n_cells - 1 - c;
        if (fabs(widths[c] - widths[other]) > SAME_WIDTH * n_cells * widths[c] || kinds[c] != kinds[other])
            return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------------------------- eigenvectors */

facet_status box_singular_values(int rows, int columns, double *A, double *values, double *V) {
    facet_status status = FACET_OK;
    double *work = NULL, best;
    lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'S', rows, columns, A, rows, values, NULL, 1,
                                          V, columns, &best, -1);
    if (info == 0) {
        TRY(ALLOC(work, best));
        base_set_blas_threads(base_threads());
        info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'S', rows, columns, A, rows, values, NULL, 1, V,
                                   columns, work, (lapack_int)best);
        base_set_blas_threads(1);
    }
    if (info != 0)
        FAIL(FACET_ERROR_MACHINE, "the singular values of a chain of %d unknowns were not found (%d)",
             columns, (int)info);
done:
    base_free(&work);
    return status;
}

/* The dense matrices of a chain, by columns; the rows of X and Y are, per cell, the n coefficients of the
 * flux and the jumps at its two ends. X is divided by M^(1/2). */
struct chain_matrices {
    int rows;
    double *X, *Y; /* rows x m, rows x planes */
    double *R, *G; /* m x planes by rows, planes x planes */
};

static void chain_free(struct chain_matrices *c) {
    base_free(&c->X);
    base_free(&c->Y);
    base_free(&c->R);
    base_free(&c->G);
}

/* X of one cell without its scale: D'S and sqrt(rho) e'S. */
static void cell_energy(const struct box_line *line, int n, int rows, double scale, double *X) {
    double root = sqrt(line->rho);
    for (int m = 0; m < n; m++) {
        double low = 0.0, high = 0.0, *column = X + (int64_t)m * rows;
        for (int i = 0; i < n; i++) {
            double s = line->S[i * n + m];
            low += (i % 2 == 0 ? s : -s) * sqrt(i + 0.5);
            high += s * sqrt(i + 0.5);
        }
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int i = j - 1; i >= 0; i -= 2)
                sum += sqrt((2 * i + 1.0) * (2 * j + 1.0)) * line->S[i * n + m];
            column[j] = scale * sum;
        }
        column[n] = scale * root * low;
        column[n + 1] = scale * root * high;
    }
}

static facet_status chain_make(const struct box_chain *chain, struct chain_matrices *c) {
    facet_status status = FACET_OK;
    int n = chain->n, N = chain->n_cells, planes = chain->n_planes, rows = c->rows = (n + 2) * N;
    TRY(CALLOC(c->X, (int64_t)rows * n * N));
    TRY(CALLOC(c->Y, (int64_t)rows * planes));
    TRY(CALLOC(c->R, (int64_t)n * N * planes));
    TRY(CALLOC(c->G, (int64_t)planes * planes));
    for (int cell = 0; cell < N; cell++) {
        const struct box_line *line = chain->lines[cell];
        double scale = 2.0 / chain->widths[cell], root = sqrt(scale);
        int row = cell * (n + 2), plane[2] = {chain->low[cell], chain->high[cell]};
        double g = line->gamma[0] + line->gamma[1], off = line->gamma[0] - line->gamma[1];
        cell_energy(line, n, rows, scale, c->X + (int64_t)cell * n * rows + row);
        for (int s = 0; s < 2; s++) {
            if (plane[s] < 0) continue;
            double *Y = c->Y + (int64_t)plane[s] * rows + row;
            for (int j = 0; j < n; j++)
                Y[j] += root * sqrt(j + 0.5) * (s == 1 ? 1.0 : j % 2 == 0 ? -1.0 : 1.0);
            Y[n + s] += root * sqrt(line->rho);
            for (int m = 0; m < n; m++)
                c->R[(int64_t)(cell * n + m) * planes + plane[s]] +=
                    scale * line->b[m] * (s == 1 || m < line->n_even ? 1.0 : -1.0);
            c->G[plane[s] * planes + plane[s]] += scale * g;
            if (plane[1 - s] >= 0) c->G[plane[s] * planes + plane[1 - s]] += scale * off;
        }
    }
done:
    return status;
}

/* Columns of one parity of a matrix by columns, folded: out has fold->sizes[b] columns. */
static void fold_columns(const struct box_fold *f, int b, int rows, const double *A, double *out) {
    for (int i = 0; i < f->sizes[b]; i++) {
        int entry = (b == 0 ? 0 : f->sizes[0]) + i;
        const double *one = A + (int64_t)f->from[entry][0] * rows,
                     *two = A + (int64_t)f->from[entry][1] * rows;
        for (int r = 0; r < rows; r++)
            out[(int64_t)i * rows + r] = f->weights[entry][0] * one[r] + f->weights[entry][1] * two[r];
    }
}

/* The singular values of X without Y, of one parity: theta and Q, not yet divided by M^(1/2). */
static facet_status solve_parity(const struct chain_matrices *c, struct box_axis *a, int b) {
    facet_status status = FACET_OK;
    int size = a->fold.sizes[b], planes = a->plane_fold.sizes[b], rows = c->rows, rest = rows - planes;
    double *X = NULL, *Y = NULL, *tau = NULL, *work = NULL,
           *theta = a->theta + (b == 0 ? 0 : a->fold.sizes[0]);
    lapack_int info = 0, room = 64 * (size + planes + 1);
    TRY(ALLOC(X, (int64_t)rows * size));
    TRY(ALLOC(Y, (int64_t)rows * planes));
    TRY(ALLOC(tau, planes));
    TRY(ALLOC(work, room));
    fold_columns(&a->fold, b, rows, c->X, X);
    fold_columns(&a->plane_fold, b, rows, c->Y, Y);
    if (planes > 0) {
        info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, planes, Y, rows, tau, work, room);
        if (info == 0)
            info = LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', rows, size, planes, Y, rows, tau, X, rows,
                                       work, room);
        if (info != 0) FAIL(FACET_ERROR_MACHINE, "LAPACK failed in a QR factorisation (%d)", (int)info);
    }
    for (int i = 0; i < size; i++)
        memmove(X + (int64_t)i * rest, X + (int64_t)i * rows + planes, (size_t)rest * sizeof *X);
    TRY(ALLOC(a->Q[b], size * size));
    TRY(box_singular_values(rest, size, X, theta, a->Q[b]));
    for (int i = 0; i < size; i++) theta[i] *= theta[i];
done:
    base_free(&X);
    base_free(&Y);
    base_free(&tau);
    base_free(&work);
    return status;
}

/* R and G of one parity: R becomes sizes x planes by rows, G its inverse. */
static facet_status couple_parity(const struct chain_matrices *c, struct box_axis *a, int b) {
    facet_status status = FACET_OK;
    const struct box_fold *f = &a->fold, *p = &a->plane_fold;
    int size = f->sizes[b], planes = p->sizes[b], all = a->n_planes;
    int first = b == 0 ? 0 : f->sizes[0], first_plane = b == 0 ? 0 : p->sizes[0];
    double *R = NULL, *RG = NULL, *G;
    TRY(ALLOC(a->P[b], size * planes));
    TRY(ALLOC(a->inverse[b], planes * planes));
    TRY(ALLOC(R, size * planes));
    TRY(ALLOC(RG, size * planes));
    if (planes == 0) goto done;
    G = a->inverse[b];
    for (int s = 0; s < planes; s++) {
        const int *q = p->from[first_plane + s];
        const double *w = p->weights[first_plane + s];
        for (int i = 0; i < size; i++) {
            const int *from = f->from[first + i];
            const double *v = f->weights[first + i];
            double sum = 0.0;
            for (int x = 0; x < 4; x++)
                sum += v[x / 2] * w[x % 2] * c->R[(int64_t)from[x / 2] * all + q[x % 2]];
            R[i * planes + s] = sum;
        }
        for (int t = 0; t < planes; t++) {
            const int *o = p->from[first_plane + t];
            const double *v = p->weights[first_plane + t];
            double sum = 0.0;
            for (int x = 0; x < 4; x++) sum += v[x / 2] * w[x % 2] * c->G[o[x / 2] * all + q[x % 2]];
            G[s * planes + t] = sum;
        }
    }
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', planes, G, planes);
    if (info == 0) info = LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', planes, G, planes);
    if (info != 0) FAIL(FACET_ERROR_MACHINE, "LAPACK failed in a Cholesky factorisation (%d)", (int)info);
    for (int s = 0; s < planes; s++)
        for (int t = 0; t < s; t++) G[s * planes + t] = G[t * planes + s];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, planes, planes, 1.0, R, planes, G, planes,
                0.0, RG, planes);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size, planes, size, 1.0, a->Q[b], size, RG, planes,
                0.0, a->P[b], planes);
done:
    base_free(&R);
    base_free(&RG);
    return status;
}

/* Q = M^(-1/2) V, and its transpose. */
static facet_status finish_parity(const struct box_chain *chain, struct box_axis *a, int b) {
    facet_status status = FACET_OK;
    int size = a->fold.sizes[b], first = b == 0 ? 0 : a->fold.sizes[0];
    TRY(ALLOC(a->Q_turned[b], size * size));
    for (int j = 0; j < size; j++) {
        double root = sqrt(2.0 / chain->widths[a->fold.from[first + j][0] / chain->n]);
        for (int i = 0; i < size; i++) a->Q_turned[b][i * size + j] = a->Q[b][j * size + i] *= root;
    }
done:
    return status;
}

static facet_status make_folds(const struct box_chain *chain, struct box_axis *a) {
    facet_status status = FACET_OK;
    int n = chain->n, N = chain->n_cells, symmetric;
    int *mirror = NULL, *signs = NULL, *planes = NULL, *kinds = NULL;
    TRY(ALLOC(mirror, a->m));
    TRY(ALLOC(signs, a->m));
    TRY(ALLOC(planes, chain->n_planes));
    TRY(CALLOC(kinds, N));
    for (int c = 0; c < N; c++)
        while (chain->lines[kinds[c]] != chain->lines[c]) kinds[c]++;
    symmetric = box_is_mirrored(N, chain->widths, kinds);
    for (int c = 0; c < N; c++) {
        int other = N - 1 - c;
        if ((chain->low[c] < 0) != (chain->high[other] < 0)) symmetric = 0;
        for (int m = 0; m < n; m++) {
            mirror[c * n + m] = other * n + m;
            signs[c * n + m] = m < chain->lines[c]->n_even ? 1 : -1;
        }
    }
    for (int c = 0; symmetric && c < N; c++) {
        int other = N - 1 - c;
        if (chain->low[c] >= 0) planes[chain->low[c]] = chain->high[other];
        if (chain->high[c] >= 0) planes[chain->high[c]] = chain->low[other];
    }
    TRY(box_fold_create(a->m, symmetric ? mirror : NULL, signs, &a->fold));
    TRY(box_fold_create(a->n_planes, symmetric ? planes : NULL, NULL, &a->plane_fold));
done:
    base_free(&mirror);
    base_free(&signs);
    base_free(&planes);
    base_free(&kinds);
    return status;
}

void box_axis_destroy(struct box_axis *a) {
    box_fold_destroy(&a->fold);
    box_fold_destroy(&a->plane_fold);
    for (int b = 0; b < 2; b++) {
        base_free(&a->Q[b]);
        base_free(&a->Q_turned[b]);
        base_free(&a->P[b]);
        base_free(&a->inverse[b]);
    }
    base_free(&a->theta);
    *a = (struct box_axis){0};
}

/* Whether constants have no energy. */
static int is_free(const struct box_chain *chain) {
    for (int c = 0; c < chain->n_cells; c++)
        if (chain->low[c] < 0 || chain->high[c] < 0) return 0;
    return 1;
}

facet_status box_axis_create(const struct box_chain *chain, struct box_axis *a) {
    facet_status status = FACET_OK;
    struct chain_matrices matrices = {0};
    *a = (struct box_axis){.n = chain->n,
                           .n_cells = chain->n_cells,
                           .m = chain->n * chain->n_cells,
                           .n_planes = chain->n_planes};
    TRY(make_folds(chain, a));
    TRY(chain_make(chain, &matrices));
    TRY(ALLOC(a->theta, a->m));
    for (int b = 0; b < 2; b++) {
        if (a->fold.sizes[b] == 0) continue;
        TRY(solve_parity(&matrices, a, b));
        TRY(finish_parity(chain, a, b));
        TRY(couple_parity(&matrices, a, b));
    }
    for (int i = 1; i < a->m; i++)
        if (a->theta[i] < a->theta[a->smallest]) a->smallest = i;
    if (is_free(chain)) a->theta[a->smallest] = 0.0;
done:
    chain_free(&matrices);
    if (status != FACET_OK) box_axis_destroy(a);
    return status;
}

/* A direction that is not there. */
static facet_status trivial_axis(struct box_axis *a) {
    facet_status status = FACET_OK;
    *a = (struct box_axis){.n = 1, .n_cells = 1, .m = 1};
    TRY(box_fold_create(1, NULL, NULL, &a->fold));
    TRY(box_fold_create(0, NULL, NULL, &a->plane_fold));
    TRY(ALLOC(a->Q[0], 1));
    TRY(ALLOC(a->Q_turned[0], 1));
    TRY(CALLOC(a->theta, 1));
    a->Q[0][0] = a->Q_turned[0][0] = 1.0;
done:
    if (status != FACET_OK) box_axis_destroy(a);
    return status;
}

facet_status box_axis_create_whole(const struct boxhdg *h, int d, struct box_axis *a) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    int N = g->cells[d], *low = NULL, *high, *numbers = NULL;
    const struct box_line **lines = NULL;
    struct box_chain chain = {.n = h->n, .n_cells = N, .widths = g->widths[d]};
    if (d >= g->dim) return trivial_axis(a);
    *a = (struct box_axis){0};
    TRY(ALLOC(low, 2 * N));
    TRY(ALLOC(numbers, g->planes[d]));
    TRY(ALLOC(lines, N));
    high = low + N;
    for (int s = 0; s < g->planes[d]; s++) numbers[s] = box_plane_is_fixed(g, d, s) ? -1 : chain.n_planes++;
    for (int c = 0; c < N; c++) {
        low[c] = numbers[c];
        high[c] = numbers[(c + 1) % g->planes[d]];
        lines[c] = boxhdg_line(h, d, c);
    }
    chain.lines = lines;
    chain.low = low;
    chain.high = high;
    TRY(box_axis_create(&chain, a));
done:
    base_free(&low);
    base_free(&numbers);
    base_free(&lines);
    return status;
}
