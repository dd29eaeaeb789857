/* Chains of cells: matrices, symmetry, eigenvectors. */
#include "boxhdg/axis.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

/* The dense matrices of a chain, by columns; the rows of X and Y are, per cell, the n coefficients of the
 * flux and the jumps at its two ends. X is divided by M^(1/2), and owns all four. */
struct chain_matrices {
    int rows;
    double *X, *Y; /* rows x m, rows x planes */
    double *R, *G; /* m x planes by rows, planes x planes */
};

/* X of one cell without its scale: D'S and sqrt(rho) e'S. */
static void cell_energy(const struct box_line *line, int n, int rows, double scale, double *X) {
    double root = sqrt(line->rho);
    for (int m = 0; m < n; m++) {
        double low = 0.0, high = 0.0, *column = X + (int64_t)m * rows;
        for (int i = 0; i < n; i++) {
            double s = line->S[i * n + m];
            low += (i % 2 == 0 ? s : -s) * box_legendre_end(i);
            high += s * box_legendre_end(i);
        }
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int i = j - 1; i >= 0; i -= 2) sum += box_legendre_slope(i, j) * line->S[i * n + m];
            column[j] = scale * sum;
        }
        column[n] = scale * root * low;
        column[n + 1] = scale * root * high;
    }
}

static facet_status chain_make(const struct box_chain *chain, struct chain_matrices *c) {
    facet_status status = FACET_OK;
    int n = chain->n, N = chain->n_cells, planes = chain->n_planes, rows = c->rows = (n + 2) * N;
    TRY(CALLOC(c->X, (int64_t)rows * n * N + (int64_t)(rows + n * N + planes) * planes));
    c->Y = c->X + (int64_t)rows * n * N;
    c->R = c->Y + (int64_t)rows * planes;
    c->G = c->R + (int64_t)n * N * planes;
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
                Y[j] += root * box_legendre_end(j) * (s == 1 ? 1.0 : j % 2 == 0 ? -1.0 : 1.0);
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
        int entry = box_fold_first(f, b) + i;
        const int *from = f->from[0][entry];
        const double *w = f->weights[0][entry], *one = A + (int64_t)from[0] * rows,
                     *two = A + (int64_t)from[1] * rows;
        for (int r = 0; r < rows; r++) out[(int64_t)i * rows + r] = w[0] * one[r] + w[1] * two[r];
    }
}

/* The singular values of X without Y, of one parity: theta and Q, not yet divided by M^(1/2). */
static facet_status solve_parity(const struct chain_matrices *c, struct box_axis *a, int b) {
    facet_status status = FACET_OK;
    const struct box_fold *f = &a->modes.fold;
    int size = f->sizes[b], planes = a->plane_fold.sizes[b], rows = c->rows, rest = rows - planes;
    double *X = NULL, *Y, *tau, *work, *theta = a->modes.theta + box_fold_first(f, b);
    lapack_int info = 0, room = 64 * (size + planes + 1);
    TRY(ALLOC(X, (int64_t)rows * (size + planes) + planes + room));
    Y = X + (int64_t)rows * size;
    tau = Y + (int64_t)rows * planes;
    work = tau + planes;
    fold_columns(f, b, rows, c->X, X);
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
    TRY(box_singular_values(rest, size, X, theta, a->modes.backward[b]));
    for (int i = 0; i < size; i++) theta[i] *= theta[i];
done:
    base_free(&X);
    return status;
}

/* R and G of one parity: R becomes sizes x planes by rows, G its inverse. */
static facet_status couple_parity(const struct chain_matrices *c, struct box_axis *a, int b) {
    facet_status status = FACET_OK;
    const struct box_fold *f = &a->modes.fold, *p = &a->plane_fold;
    int size = f->sizes[b], planes = p->sizes[b];
    double *R = NULL, *RG = NULL, *G;
    TRY(ALLOC(a->P[b], size * planes));
    TRY(ALLOC(a->inverse[b], planes * planes));
    TRY(ALLOC(R, size * planes));
    TRY(ALLOC(RG, size * planes));
    if (planes == 0) goto done;
    G = a->inverse[b];
    box_fold_matrix(f, p, b, c->R, a->n_planes, R);
    box_fold_matrix(p, p, b, c->G, a->n_planes, G);
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', planes, G, planes);
    if (info == 0) info = LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', planes, G, planes);
    if (info != 0) FAIL(FACET_ERROR_MACHINE, "LAPACK failed in a Cholesky factorisation (%d)", (int)info);
    for (int s = 0; s < planes; s++)
        for (int t = 0; t < s; t++) G[s * planes + t] = G[t * planes + s];
    box_multiply(0, 0, size, planes, planes, 1.0, R, planes, G, planes, 0.0, RG, planes);
    box_multiply(1, 0, size, planes, size, 1.0, a->modes.backward[b], size, RG, planes, 0.0, a->P[b], planes);
done:
    base_free(&R);
    base_free(&RG);
    return status;
}

/* Q = M^(-1/2) V, and its transpose. */
static void finish_parity(const struct box_chain *chain, struct box_direction *x, int b) {
    int size = x->sizes[b], first = box_fold_first(&x->fold, b);
    for (int j = 0; j < size; j++) {
        double root = sqrt(2.0 / chain->widths[x->fold.from[0][first + j][0] / chain->n]);
        for (int i = 0; i < size; i++) x->forward[b][i * size + j] = x->backward[b][j * size + i] *= root;
    }
}

static facet_status make_folds(const struct box_chain *chain, struct box_axis *a) {
    facet_status status = FACET_OK;
    int n = chain->n, N = chain->n_cells, m = n * N, symmetric;
    struct box_fold fold = {0};
    int *mirror = NULL, *signs, *kinds, *planes;
    TRY(CALLOC(mirror, 2 * m + N + chain->n_planes));
    signs = mirror + m;
    kinds = signs + m;
    planes = kinds + N;
    for (int c = 0; c < N; c++)
        while (chain->lines[kinds[c]] != chain->lines[c]) kinds[c]++;
    symmetric = box_is_mirrored(N, chain->widths, kinds);
    for (int c = 0; c < N; c++) {
        int other = N - 1 - c;
        if ((chain->low[c] < 0) != (chain->high[other] < 0)) symmetric = 0;
        for (int i = 0; i < n; i++) {
            mirror[c * n + i] = other * n + i;
            signs[c * n + i] = i < chain->lines[c]->n_even ? 1 : -1;
        }
    }
    for (int c = 0; symmetric && c < N; c++) {
        int other = N - 1 - c;
        if (chain->low[c] >= 0) planes[chain->low[c]] = chain->high[other];
        if (chain->high[c] >= 0) planes[chain->high[c]] = chain->low[other];
    }
    TRY(box_fold_create(m, symmetric ? mirror : NULL, signs, &fold));
    TRY(box_direction_alloc(&fold, (const int[2]){fold.sizes[0], fold.sizes[1]}, &a->modes));
    TRY(box_fold_create(a->n_planes, symmetric ? planes : NULL, NULL, &a->plane_fold));
done:
    box_fold_destroy(&fold);
    base_free(&mirror);
    return status;
}

void box_axis_destroy(struct box_axis *a) {
    box_direction_destroy(&a->modes);
    box_fold_destroy(&a->plane_fold);
    for (int b = 0; b < 2; b++) {
        base_free(&a->P[b]);
        base_free(&a->inverse[b]);
    }
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
    *a = (struct box_axis){.n = chain->n, .n_cells = chain->n_cells, .n_planes = chain->n_planes};
    TRY(make_folds(chain, a));
    TRY(chain_make(chain, &matrices));
    for (int b = 0; b < 2; b++) {
        if (a->modes.sizes[b] == 0) continue;
        TRY(solve_parity(&matrices, a, b));
        finish_parity(chain, &a->modes, b);
        TRY(couple_parity(&matrices, a, b));
    }
    box_direction_find_smallest(&a->modes);
    if (is_free(chain)) a->modes.theta[a->modes.smallest] = 0.0;
done:
    base_free(&matrices.X);
    if (status != FACET_OK) box_axis_destroy(a);
    return status;
}

facet_status box_axis_create_whole(const struct boxhdg *h, int d, struct box_axis *a) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    int N = g->cells[d], *low = NULL, *high, *numbers = NULL;
    const struct box_line **lines = NULL;
    struct box_chain chain = {.n = h->n, .n_cells = N, .widths = g->widths[d]};
    *a = (struct box_axis){.n = 1, .n_cells = 1};
    if (d >= g->dim) return box_direction_create(g, d, NULL, 1, 0, &a->modes);
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

int box_axis_same(const struct boxhdg *h, int d, int e) {
    return box_same_direction(&h->grid, d, e) &&
           memcmp(h->column_line[d], h->column_line[e],
                  (size_t)h->grid.cells[d] * sizeof *h->column_line[d]) == 0;
}
