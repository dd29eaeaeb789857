/* Lines, columns and colours of vertex patches. */
#include "boxsem/patches.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/modes.h"

#define SAME_WIDTH 1e-12
/* Of the scaled patches where k varies; they converge undamped too, for all degrees and jumps tried. */
#define APPROXIMATE_DAMPING 0.9

/* ------------------------------------------------------------------------------ one line */

/* Mass and stiffness of the free nodes against them and the shell, m x (m + 2). */
static void fill_matrices(const struct box_grid *g, int d, const struct box_element *e,
                          const struct boxsem_column *c, double *M, double *A) {
    int k = e->k, n = k + 1, with = c->m + 2;
    int rows[BRICK_MAX_DEGREE + 1], columns[BRICK_MAX_DEGREE + 1];
    for (int s = c->cell; s < c->cell + c->cells; s++) {
        for (int i = 0; i < n; i++) {
            int node = s * k + i - c->first;
            if (c->ring) node %= c->m;
            rows[i] = node >= 0 && node < c->m ? node : -1;
            columns[i] = node >= -1 && node <= c->m ? node + 1 : -1;
        }
        box_element_add(e, g->widths[d][(s + g->cells[d]) % g->cells[d]], rows, columns, with, M, A);
    }
}

static facet_status make_line(const struct device *device, const struct box_grid *g, int d,
                              const struct box_element *e, const struct boxsem_column *c,
                              struct brick_line *line) {
    facet_status status = FACET_OK;
    int m = c->m, with = m + 2;
    double *M = NULL, *A, *rows, *T, *table = NULL;
    struct box_fold fold = {0};
    TRY(CALLOC(M, 2 * m * (with + m)));
    A = M + m * with;
    rows = A + m * with;
    T = rows + m * m;
    if (d < g->dim)
        fill_matrices(g, d, e, c, M, A);
    else
        M[1] = 1.0;
    line->m = m;
    line->even = box_is_symmetric(m, M) && box_is_symmetric(m, A) ? (m + 1) / 2 : 0;
    if (line->even > 0)
        TRY(box_fold_create_mirrored(m, m, 0, &fold));
    else
        TRY(box_fold_create(m, NULL, NULL, &fold));
    const struct brick_layout at = brick_layout(m, line->even);
    TRY(CALLOC(table, at.count));
    TRY(box_modes(&fold, M + 1, A + 1, with, table + at.S, table + at.eigenvalues));
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
    box_put_blocks(table + at.F, m, line->even, rows, 0);
    box_put_blocks(table + at.B, m, line->even, rows, 1);
    box_put_blocks(table + at.T, m, line->even, T, 0);
    TRY(device_copy(device, &line->table, table, (size_t)at.count, sizeof *table));
    TRY(device_copy_rounded(device, F32, &line->single, line->table, at.count));
    line->host = table;
    table = NULL;
done:
    box_fold_destroy(&fold);
    base_free(&M);
    base_free(&table);
    return status;
}

/* ------------------------------------------------------------------------------ columns and colours */

int boxsem_list_columns(int N, const enum box_side sides[2], int k, struct boxsem_column *columns,
                        int *n_colours) {
    int n = 0, periodic = sides[0] == BOX_PERIODIC;
    int open0 = sides[0] == BOX_NEUMANN, open1 = sides[1] == BOX_NEUMANN;
    *n_colours = 1;
    if (N == 1) {
        int first = periodic || open0 ? 0 : 1, last = periodic || !open1 ? k - 1 : k;
        columns[0] =
            (struct boxsem_column){.first = first, .m = last - first + 1, .cells = 1, .ring = periodic};
        return columns[0].m > 0;
    }
    for (int v = 0; v <= N; v++) {
        if (v == 0 && !periodic) {
            if (open0) columns[n++] = (struct boxsem_column){.first = 0, .m = k, .cell = 0, .cells = 1};
        } else if (v == N) {
            if (open1)
                columns[n++] =
                    (struct boxsem_column){.first = (N - 1) * k + 1, .m = k, .cell = N - 1, .cells = 1};
        } else {
            columns[n++] =
                (struct boxsem_column){.first = (v - 1) * k + 1, .m = 2 * k - 1, .cell = v - 1, .cells = 2};
        }
    }
    for (int i = 0; i < n; i++) columns[i].colour = i % 2;
    *n_colours = n > 1 ? 2 : 1;
    if (periodic && n > 1 && n % 2 == 1) {
        columns[n - 1].colour = 2;
        *n_colours = 3;
    }
    return n;
}

static double width(const struct box_grid *g, int d, int cell) {
    return g->widths[d][(cell + g->cells[d]) % g->cells[d]];
}

/* Whether two columns have the same matrices. */
static int same_line(const struct box_grid *g, int d, int k, const struct boxsem_column *a,
                     const struct boxsem_column *b) {
    if (a->m != b->m || a->cells != b->cells || a->first - a->cell * k != b->first - b->cell * k) return 0;
    for (int s = 0; s < a->cells; s++) {
        double h = width(g, d, a->cell + s);
        if (fabs(h - width(g, d, b->cell + s)) > SAME_WIDTH * h) return 0;
    }
    return 1;
}

static facet_status find_line(struct boxsem_patches *p, const struct box_grid *g, int d,
                              const struct box_element *e, const struct boxsem_column *columns, int i,
                              int32_t *lines) {
    facet_status status = FACET_OK;
    for (int j = 0; j < i; j++)
        if (same_line(g, d, e->k, &columns[j], &columns[i])) {
            lines[i] = lines[j];
            return FACET_OK;
        }
    TRY(base_realloc(&p->lines, (size_t)p->plan.n_lines + 1, sizeof *p->lines));
    p->lines[p->plan.n_lines] = (struct brick_line){0};
    lines[i] = p->plan.n_lines++;
    TRY(make_line(p->device, g, d, e, &columns[i], &p->lines[lines[i]]));
done:
    return status;
}

static facet_status make_axis(struct boxsem_patches *p, const struct box_grid *g, int d,
                              const struct box_element *e, int n, const struct boxsem_column *columns,
                              int n_colours) {
    facet_status status = FACET_OK;
    struct brick_axis *ax = &p->plan.axis[d];
    ax->periodic = d < g->dim && g->sides[d][0] == BOX_PERIODIC;
    ax->n_nodes = d >= g->dim ? 1 : e->k * g->cells[d] + !ax->periodic;
    ax->n_columns = n;
    int32_t *first = NULL;
    TRY(ALLOC(first, 6 * n)); /* owns all of these: */
    int32_t *lines = first + n, *colour = lines + n, *order = colour + n, *cell = order + n,
            *cells = cell + n;
    ax->first = first;
    ax->lines = lines;
    ax->colour = colour;
    ax->order = order;
    ax->cell = cell;
    ax->cells = cells;
    ax->n_colours = n_colours;
    for (int i = 0; i < n; i++) {
        first[i] = columns[i].first;
        colour[i] = columns[i].colour;
        cell[i] = columns[i].cell;
        cells[i] = columns[i].cells;
        TRY(find_line(p, g, d, e, columns, i, lines));
    }
    int at = 0;
    for (int key = 0; key < n + BRICK_MAX_COLOURS; key++)
        for (int c = 0; c < BRICK_MAX_COLOURS; c++)
            if (key - c >= 0 && key - c < n && colour[key - c] == c) order[at++] = key - c;
done:
    return status;
}

/* ------------------------------------------------------------------------------ approximate patches */

/* s of kernels/brick.h: however k jumps, a correction does not overshoot. */
static facet_status make_scale(const struct box_element *e, struct boxsem_patches *p) {
    facet_status status = FACET_OK;
    const struct brick_cells *cells = p->plan.cells;
    const int64_t n = brick_n_nodes(cells);
    int64_t n_vertices = 1;
    double *nodes = NULL, *vertices = NULL, *scale = NULL;
    if (cells->conductivity == NULL && cells->reaction == NULL) return FACET_OK;
    for (int d = 0; d < 3; d++) n_vertices *= brick_n_vertices(cells, d);
    TRY(device_copy(p->device, &nodes, e->nodes, (size_t)e->k + 1, sizeof *nodes));
    TRY(device_alloc(p->device, &vertices, (size_t)n_vertices, sizeof *vertices));
    TRY(device_alloc(p->device, &scale, (size_t)n, sizeof *scale));
    p->plan.scale = scale;
    device_brick_scale(p->device, cells, nodes, vertices, scale);
    TRY(device_copy_rounded(p->device, F32, &p->plan.scale_single, scale, n));
done:
    device_free(p->device, &nodes);
    device_free(p->device, &vertices);
    return status;
}

void boxsem_patches_destroy(struct boxsem_patches *p) {
    if (p->device != NULL) {
        device_free(p->device, &p->plan.scale);
        device_free(p->device, &p->plan.scale_single);
    }
    for (int d = 0; d < 3; d++) base_free(&p->plan.axis[d].first);
    for (int l = 0; l < p->plan.n_lines; l++) {
        device_free(p->device, &p->lines[l].table);
        device_free(p->device, &p->lines[l].single);
        base_free(&p->lines[l].host);
    }
    base_free(&p->lines);
    *p = (struct boxsem_patches){0};
}

facet_status boxsem_patches_create_of(const struct device *device, const struct box_grid *grid,
                                      const struct box_element *element, const struct brick_cells *cells,
                                      const int n_columns[3], const struct boxsem_column *const columns[3],
                                      const int n_colours[3], struct boxsem_patches *p) {
    facet_status status = FACET_OK;
    *p = (struct boxsem_patches){.device = device};
    p->plan.cells = cells;
    p->plan.damping = grid->separable ? 1.0 : APPROXIMATE_DAMPING;
    for (int d = 0; d < 3; d++) TRY(make_axis(p, grid, d, element, n_columns[d], columns[d], n_colours[d]));
    p->plan.lines = p->lines;
    TRY(make_scale(element, p));
done:
    if (status != FACET_OK) boxsem_patches_destroy(p);
    return status;
}

facet_status boxsem_patches_create(const struct device *device, const struct box_grid *grid,
                                   const struct box_element *element, const struct brick_cells *cells,
                                   struct boxsem_patches *p) {
    facet_status status = FACET_OK;
    struct boxsem_column *columns[3] = {NULL};
    int n[3] = {1, 1, 1}, n_colours[3] = {1, 1, 1};
    for (int d = 0; d < 3; d++) {
        TRY(ALLOC(columns[d], grid->cells[d] + 1));
        columns[d][0] = (struct boxsem_column){.m = 1, .cells = 1}; /* there is no such direction */
        if (d < grid->dim)
            n[d] = boxsem_list_columns(grid->cells[d], grid->sides[d], element->k, columns[d], &n_colours[d]);
    }
    TRY(boxsem_patches_create_of(device, grid, element, cells, n,
                                 (const struct boxsem_column *const *)columns, n_colours, p));
done:
    for (int d = 0; d < 3; d++) base_free(&columns[d]);
    return status;
}
