/* Lines, columns and colours of vertex patches. */
#include "box/patches.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

#define SAME_WIDTH 1e-12

/* ------------------------------------------------------------------------------ one element */

void box_element_destroy(struct box_element *element) {
    base_free(&element->nodes);
    base_free(&element->mass);
    base_free(&element->stiffness);
    *element = (struct box_element){0};
}

/* In the orthonormal Legendre basis the mass is 1; V holds its values at the nodes, so that Lagrange
 * functions have the coefficients V^-1: mass V^-T V^-1, stiffness the same of the derivatives at Gauss
 * points. */
facet_status box_element_create(int k, struct box_element *e) {
    facet_status status = FACET_OK;
    int n = k + 1;
    double *x = NULL, *w = NULL, *V = NULL, *P = NULL, *D = NULL;
    lapack_int *pivots = NULL;
    *e = (struct box_element){.k = k};
    TRY(ALLOC(e->nodes, n));
    TRY(CALLOC(e->mass, n * n));
    TRY(CALLOC(e->stiffness, n * n));
    TRY(ALLOC(x, n));
    TRY(ALLOC(w, n));
    TRY(ALLOC(V, n * n));
    TRY(ALLOC(P, n * n));
    TRY(ALLOC(D, n * n));
    TRY(ALLOC(pivots, n));
    TRY(rule_gauss_lobatto(n, 0.0, 0.0, e->nodes, w));
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, x, w));
    for (int i = 0; i < n; i++) jacobi_orthonormal(k, 0.0, 0.0, e->nodes[i], V + i * n, NULL);
    /* Lagrange values and slopes at the Gauss points: rows of P V^-1, D V^-1 */
    for (int q = 0; q < n; q++) jacobi_orthonormal(k, 0.0, 0.0, x[q], P + q * n, D + q * n);
    /* V is stored by rows; as columns it is V', and V' X = P' gives X = (P V^-1)' */
    if (LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, V, n, pivots) != 0 ||
        LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', n, n, V, n, pivots, P, n) != 0 ||
        LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', n, n, V, n, pivots, D, n) != 0)
        FAIL(FACET_ERROR_MACHINE, "the Lagrange basis of degree %d was not found", k);
    for (int q = 0; q < n; q++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) { /* from [-1, 1] to [0, 1] */
                e->mass[i * n + j] += 0.5 * w[q] * P[q * n + i] * P[q * n + j];
                e->stiffness[i * n + j] += 2.0 * w[q] * D[q * n + i] * D[q * n + j];
            }
    for (int i = 0; i < n; i++) e->nodes[i] = 0.5 * (1.0 + e->nodes[i]);
done:
    base_free(&x);
    base_free(&w);
    base_free(&V);
    base_free(&P);
    base_free(&D);
    base_free(&pivots);
    if (status != FACET_OK) box_element_destroy(e);
    return status;
}

/* ------------------------------------------------------------------------------ one line */

/* A column before it has a line: cells first_cell .. first_cell + n_cells - 1 (modulo the cells of a ring).
 */
struct column {
    int first, m; /* nodes */
    int cell, cells;
    int ring; /* all of a periodic direction with one cell: its last node is its first */
};

/* Mass and stiffness of the free nodes against them and the shell, m x (m + 2). */
static void fill_matrices(const struct box_grid *g, int d, const struct box_element *e,
                          const struct column *c, double *M, double *A) {
    int k = e->k, n = k + 1, with = c->m + 2;
    memset(M, 0, sizeof *M * (size_t)(c->m * with));
    memset(A, 0, sizeof *A * (size_t)(c->m * with));
    for (int s = c->cell; s < c->cell + c->cells; s++) {
        double h = g->widths[d][(s + g->cells[d]) % g->cells[d]];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int row = s * k + i - c->first, column = s * k + j - c->first;
                if (c->ring) {
                    row %= c->m;
                    column %= c->m;
                }
                if (row < 0 || row >= c->m || column < -1 || column > c->m) continue;
                M[row * with + column + 1] += h * e->mass[i * n + j];
                A[row * with + column + 1] += e->stiffness[i * n + j] / h;
            }
    }
}

static int is_symmetric(int m, const double *M, const double *A) {
    int with = m + 2;
    double largest_M = 0.0, largest_A = 0.0, difference_M = 0.0, difference_A = 0.0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < with; j++) {
            int at = i * with + j, mirror = (m - 1 - i) * with + with - 1 - j;
            largest_M = fmax(largest_M, fabs(M[at]));
            largest_A = fmax(largest_A, fabs(A[at]));
            difference_M = fmax(difference_M, fabs(M[at] - M[mirror]));
            difference_A = fmax(difference_A, fabs(A[at] - A[mirror]));
        }
    return difference_M <= SAME_WIDTH * largest_M && difference_A <= SAME_WIDTH * largest_A;
}

/* Modes of one parity (1: even, -1: odd, 0: all) into columns `first` .. of S. `count` functions: node i,
 * plus or minus its mirror image. */
static facet_status solve_modes(int m, int parity, int count, int first, const double *M, const double *A,
                                double *S, double *eigenvalues) {
    facet_status status = FACET_OK;
    int with = m + 2;
    double *a = NULL, *b = NULL;
    if (count == 0) return FACET_OK;
    TRY(CALLOC(a, count * count));
    TRY(CALLOC(b, count * count));
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            for (int s = 0; s < (parity != 0 && 2 * i + 1 != m ? 2 : 1); s++)
                for (int t = 0; t < (parity != 0 && 2 * j + 1 != m ? 2 : 1); t++) {
                    int row = s ? m - 1 - i : i, column = t ? m - 1 - j : j;
                    double sign = (s + t) % 2 ? parity : 1.0;
                    a[i * count + j] += sign * A[row * with + column + 1];
                    b[i * count + j] += sign * M[row * with + column + 1];
                }
    lapack_int info =
        LAPACKE_dsygv(LAPACK_COL_MAJOR, 1, 'V', 'U', count, a, count, b, count, eigenvalues + first);
    if (info != 0)
        FAIL(FACET_ERROR_MACHINE, "the modes of a patch of %d nodes were not found (%d)", m, (int)info);
    for (int mode = 0; mode < count; mode++)
        for (int i = 0; i < count; i++) {
            double value = a[mode * count + i];
            S[i * m + first + mode] = value;
            if (parity != 0 && 2 * i + 1 != m) S[(m - 1 - i) * m + first + mode] = parity * value;
        }
done:
    base_free(&a);
    base_free(&b);
    return status;
}

/* C[a][i] = one block of `rows` (modes from nodes) or its transpose. */
static double *put_block(double *to, int m, int first, int count, const double *rows, int by_rows) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            *to++ = by_rows ? rows[(first + i) * m + j] : rows[(first + j) * m + i];
    return to;
}

/* Modes in both forms: `rows` (m x m, modes by nodes) as blocks for sums and differences. */
static void put_blocks(double *to, int m, int even, const double *rows, int by_rows) {
    to = put_block(to, m, 0, even > 0 ? even : m, rows, by_rows);
    if (even > 0) put_block(to, m, even, m - even, rows, by_rows);
}

static facet_status make_line(const struct device *device, const struct box_grid *g, int d,
                              const struct box_element *e, const struct column *c, struct brick_line *line) {
    facet_status status = FACET_OK;
    int m = c->m, with = m + 2;
    double *M = NULL, *A = NULL, *rows = NULL, *table = NULL, *T = NULL;
    TRY(CALLOC(M, m * with));
    TRY(CALLOC(A, m * with));
    TRY(CALLOC(rows, m * m));
    TRY(CALLOC(T, m * m));
    if (d < g->dim)
        fill_matrices(g, d, e, c, M, A);
    else
        M[1] = 1.0;
    line->m = m;
    line->even = is_symmetric(m, M, A) ? (m + 1) / 2 : 0;
    const struct brick_layout at = brick_layout(m, line->even);
    TRY(CALLOC(table, at.count));
    if (line->even > 0) {
        TRY(solve_modes(m, 1, line->even, 0, M, A, table + at.S, table + at.eigenvalues));
        TRY(solve_modes(m, -1, m - line->even, line->even, M, A, table + at.S, table + at.eigenvalues));
    } else {
        TRY(solve_modes(m, 0, m, 0, M, A, table + at.S, table + at.eigenvalues));
    }
    memcpy(table + at.mass, M, sizeof *M * (size_t)(m * with));
    memcpy(table + at.stiffness, A, sizeof *A * (size_t)(m * with));
    for (int a = 0; a < m; a++)
        for (int i = 0; i < m; i++) {
            double s = table[at.S + i * m + a];
            rows[a * m + i] = s;
            table[at.mu + a] += s * M[i * with];
            table[at.mu + m + a] += s * M[i * with + m + 1];
            table[at.alpha + a] += s * A[i * with];
            table[at.alpha + m + a] += s * A[i * with + m + 1];
            for (int j = 0; j < m; j++) T[a * m + j] += s * M[i * with + j + 1];
        }
    put_blocks(table + at.F, m, line->even, rows, 1);
    put_blocks(table + at.B, m, line->even, rows, 0);
    put_blocks(table + at.T, m, line->even, T, 1);
    TRY(device_copy(device, &line->table, table, (size_t)at.count, sizeof *table));
    TRY(device_copy_single(device, (float **)&line->single, table, at.count));
done:
    base_free(&M);
    base_free(&A);
    base_free(&rows);
    base_free(&T);
    base_free(&table);
    return status;
}

/* ------------------------------------------------------------------------------ columns and colours */

/* All columns of a direction, ascending; returns their number. columns: cells + 1. */
static int list_columns(const struct box_grid *g, int d, int k, struct column *columns) {
    int N = g->cells[d], n = 0;
    if (d >= g->dim) {
        columns[0] = (struct column){.m = 1};
        return 1;
    }
    int periodic = g->sides[d][0] == BOX_PERIODIC;
    int open0 = g->sides[d][0] == BOX_NEUMANN, open1 = g->sides[d][1] == BOX_NEUMANN;
    if (N == 1) {
        int first = periodic || open0 ? 0 : 1, last = periodic || !open1 ? k - 1 : k;
        columns[0] = (struct column){.first = first, .m = last - first + 1, .cells = 1, .ring = periodic};
        return columns[0].m > 0;
    }
    for (int v = 0; v <= N; v++) {
        if (v == 0 && !periodic) {
            if (open0) columns[n++] = (struct column){.first = 0, .m = k, .cell = 0, .cells = 1};
        } else if (v == N) {
            if (open1)
                columns[n++] = (struct column){.first = (N - 1) * k + 1, .m = k, .cell = N - 1, .cells = 1};
        } else {
            columns[n++] =
                (struct column){.first = (v - 1) * k + 1, .m = 2 * k - 1, .cell = v - 1, .cells = 2};
        }
    }
    return n;
}

static double width(const struct box_grid *g, int d, int cell) {
    return g->widths[d][(cell + g->cells[d]) % g->cells[d]];
}

/* Whether two columns have the same matrices. */
static int same_line(const struct box_grid *g, int d, int k, const struct column *a, const struct column *b) {
    if (a->m != b->m || a->cells != b->cells || a->first - a->cell * k != b->first - b->cell * k) return 0;
    for (int s = 0; s < a->cells; s++) {
        double h = width(g, d, a->cell + s);
        if (fabs(h - width(g, d, b->cell + s)) > SAME_WIDTH * h) return 0;
    }
    return 1;
}

struct builder {
    const struct device *device;
    const struct box_grid *grid;
    const struct box_element *element;
    struct box_patches *patches;
};

static facet_status find_line(struct builder *b, int d, const struct column *columns, int i, int32_t *lines) {
    facet_status status = FACET_OK;
    struct box_patches *p = b->patches;
    int k = b->element->k;
    for (int j = 0; j < i; j++)
        if (same_line(b->grid, d, k, &columns[j], &columns[i])) {
            lines[i] = lines[j];
            return FACET_OK;
        }
    TRY(base_realloc(&p->lines, (size_t)p->plan.n_lines + 1, sizeof *p->lines));
    p->lines[p->plan.n_lines] = (struct brick_line){0};
    lines[i] = p->plan.n_lines++;
    TRY(make_line(b->device, b->grid, d, b->element, &columns[i], &p->lines[lines[i]]));
done:
    return status;
}

static facet_status make_axis(struct builder *b, int d) {
    facet_status status = FACET_OK;
    const struct box_grid *g = b->grid;
    struct brick_axis *ax = &b->patches->plan.axis[d];
    struct column *columns = NULL;
    int32_t *first = NULL, *lines = NULL, *colour = NULL, *order = NULL;
    int k = b->element->k, N = g->cells[d];
    TRY(ALLOC(columns, N + 1));
    int n = list_columns(g, d, k, columns);
    ax->periodic = d < g->dim && g->sides[d][0] == BOX_PERIODIC;
    ax->n_nodes = d >= g->dim ? 1 : k * N + !ax->periodic;
    ax->n_columns = n;
    TRY(ALLOC(first, n));
    ax->first = first;
    TRY(ALLOC(lines, n));
    ax->lines = lines;
    TRY(ALLOC(colour, n));
    ax->colour = colour;
    TRY(ALLOC(order, n));
    ax->order = order;
    ax->n_colours = n > 1 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        first[i] = columns[i].first;
        colour[i] = i % 2;
        TRY(find_line(b, d, columns, i, lines));
    }
    if (ax->periodic && n > 1 && n % 2 == 1) {
        colour[n - 1] = 2;
        ax->n_colours = 3;
    }
    int at = 0;
    for (int key = 0; key < n + BRICK_MAX_COLOURS; key++)
        for (int c = 0; c < BRICK_MAX_COLOURS; c++)
            if (key - c >= 0 && key - c < n && colour[key - c] == c) order[at++] = key - c;
done:
    base_free(&columns);
    return status;
}

void box_patches_destroy(struct box_patches *p) {
    for (int d = 0; d < 3; d++) {
        base_free(&p->plan.axis[d].first);
        base_free(&p->plan.axis[d].lines);
        base_free(&p->plan.axis[d].colour);
        base_free(&p->plan.axis[d].order);
    }
    for (int l = 0; l < p->plan.n_lines; l++) {
        device_free(p->device, &p->lines[l].table);
        device_free(p->device, &p->lines[l].single);
    }
    base_free(&p->lines);
    *p = (struct box_patches){0};
}

facet_status box_patches_create(const struct device *device, const struct box_grid *grid,
                                const struct box_element *element, struct box_patches *p) {
    facet_status status = FACET_OK;
    struct builder b = {device, grid, element, p};
    *p = (struct box_patches){.device = device};
    p->plan.conductivity = box_conductivity(grid, 0);
    p->plan.reaction = box_reaction(grid, 0);
    for (int d = 0; d < 3; d++) TRY(make_axis(&b, d));
    p->plan.lines = p->lines;
done:
    if (status != FACET_OK) box_patches_destroy(p);
    return status;
}
