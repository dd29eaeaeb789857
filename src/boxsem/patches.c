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
                              const struct box_element *e, const struct column *c, struct brick_line *line) {
    facet_status status = FACET_OK;
    int m = c->m, with = m + 2;
    double *M = NULL, *A = NULL, *rows = NULL, *table = NULL, *T = NULL;
    struct box_fold fold = {0};
    TRY(CALLOC(M, m * with));
    TRY(CALLOC(A, m * with));
    TRY(CALLOC(rows, m * m));
    TRY(CALLOC(T, m * m));
    if (d < g->dim)
        fill_matrices(g, d, e, c, M, A);
    else
        M[1] = 1.0;
    line->m = m;
    line->even = box_is_symmetric(m, M, A) ? (m + 1) / 2 : 0;
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
        columns[0] = (struct column){.m = 1, .cells = 1};
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
    struct boxsem_patches *patches;
};

static facet_status find_line(struct builder *b, int d, const struct column *columns, int i, int32_t *lines) {
    facet_status status = FACET_OK;
    struct boxsem_patches *p = b->patches;
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
    int32_t *first = NULL, *lines = NULL, *colour = NULL, *order = NULL, *cell = NULL, *cells = NULL;
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
    TRY(ALLOC(cell, n));
    ax->cell = cell;
    TRY(ALLOC(cells, n));
    ax->cells = cells;
    ax->n_colours = n > 1 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        first[i] = columns[i].first;
        colour[i] = i % 2;
        cell[i] = columns[i].cell;
        cells[i] = columns[i].cells;
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

/* ------------------------------------------------------------------------------ approximate patches */

/* The largest k of the cells around a vertex. */
static double largest_around(const struct box_grid *g, const int vertex[3]) {
    double largest = 0.0;
    for (int s = 0; s < 1 << g->dim; s++) {
        int at[3] = {0, 0, 0}, exists = 1;
        for (int d = 0; d < g->dim; d++) {
            at[d] = vertex[d] - (s >> d & 1);
            if (g->sides[d][0] == BOX_PERIODIC) at[d] = (at[d] + g->cells[d]) % g->cells[d];
            if (at[d] < 0 || at[d] >= g->cells[d]) exists = 0;
        }
        if (exists) largest = fmax(largest, box_conductivity(g, box_cell(g, at)));
    }
    return largest;
}

/* s at the nodes of one cell, a polynomial so that it does not roughen what it multiplies: at the vertices
 * k^-1/2 of the largest k around, multilinear between them, plus a bubble that makes it k^-1/2 of the cell in
 * the middle. Then k s^2 <= 1 (nearly) everywhere, and a correction does not overshoot however k jumps. */
static void scale_cell(const struct box_grid *g, const struct box_element *e, const struct brick_cells *c,
                       const int cell[3], double *scale) {
    int n_vertices = 1 << g->dim, n[3];
    double at_vertex[8], mean = 0.0;
    for (int v = 0; v < n_vertices; v++) {
        const int vertex[3] = {cell[0] + (v & 1), cell[1] + (v >> 1 & 1), cell[2] + (v >> 2)};
        at_vertex[v] = 1.0 / sqrt(largest_around(g, vertex));
        mean += at_vertex[v] / n_vertices;
    }
    double bubble = 1.0 / sqrt(box_conductivity(g, box_cell(g, cell))) - mean;
    for (int d = 0; d < 3; d++) n[d] = c->element[d].k + 1;
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int local[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double value = 0.0, inner = bubble;
        for (int d = 0; d < g->dim; d++) inner *= 4.0 * e->nodes[local[d]] * (1.0 - e->nodes[local[d]]);
        for (int v = 0; v < n_vertices; v++) {
            double weight = at_vertex[v];
            for (int d = 0; d < g->dim; d++)
                weight *= v >> d & 1 ? e->nodes[local[d]] : 1.0 - e->nodes[local[d]];
            value += weight;
        }
        scale[brick_cell_node(c, cell, i)] = value + inner;
    }
}

static facet_status make_scale(const struct box_grid *g, const struct box_element *e,
                               struct boxsem_patches *p) {
    facet_status status = FACET_OK;
    const struct brick_cells *cells = p->plan.cells;
    const int64_t n = brick_n_nodes(cells);
    double *scale = NULL;
    if (cells->conductivity == NULL && cells->reaction == NULL) return FACET_OK;
    TRY(ALLOC(scale, n));
    for (int64_t number = 0; number < brick_n_cells(cells); number++) {
        int cell[3];
        brick_cell_at(cells, number, cell);
        scale_cell(g, e, cells, cell, scale);
    }
    TRY(device_copy(p->device, &p->plan.scale, scale, (size_t)n, sizeof *scale));
    TRY(device_copy_rounded(p->device, F32, &p->plan.scale_single, p->plan.scale, n));
done:
    base_free(&scale);
    return status;
}

void boxsem_patches_destroy(struct boxsem_patches *p) {
    if (p->device != NULL) {
        device_free(p->device, &p->plan.scale);
        device_free(p->device, &p->plan.scale_single);
    }
    for (int d = 0; d < 3; d++) {
        base_free(&p->plan.axis[d].first);
        base_free(&p->plan.axis[d].lines);
        base_free(&p->plan.axis[d].colour);
        base_free(&p->plan.axis[d].order);
        base_free(&p->plan.axis[d].cell);
        base_free(&p->plan.axis[d].cells);
    }
    for (int l = 0; l < p->plan.n_lines; l++) {
        device_free(p->device, &p->lines[l].table);
        device_free(p->device, &p->lines[l].single);
        base_free(&p->lines[l].host);
    }
    base_free(&p->lines);
    *p = (struct boxsem_patches){0};
}

facet_status boxsem_patches_create(const struct device *device, const struct box_grid *grid,
                                   const struct box_element *element, const struct brick_cells *cells,
                                   struct boxsem_patches *p) {
    facet_status status = FACET_OK;
    struct builder b = {device, grid, element, p};
    *p = (struct boxsem_patches){.device = device};
    p->plan.cells = cells;
    p->plan.damping = grid->separable ? 1.0 : APPROXIMATE_DAMPING;
    for (int d = 0; d < 3; d++) TRY(make_axis(&b, d));
    p->plan.lines = p->lines;
    TRY(make_scale(grid, element, p));
done:
    if (status != FACET_OK) boxsem_patches_destroy(p);
    return status;
}
