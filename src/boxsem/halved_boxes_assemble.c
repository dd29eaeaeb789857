/* The matrix of continuous elements on a box, assembled row by row: for the last level where nothing else
 * solves it, and for the functions of the vertices. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/halved_boxes.h"

/* A node along a direction: the cells that have it (both ends of a ring of one cell count), its row of their
 * 1D matrices, and the nodes of these cells in ascending order. */
struct line {
    int n_cells, n_nodes;
    int cell[2];
    int node[2 * BRICK_MAX_DEGREE + 1];
    int place[2][BRICK_MAX_DEGREE + 1]; /* of the nodes of a cell among these */
    double mass[2][BRICK_MAX_DEGREE + 1], stiffness[2][BRICK_MAX_DEGREE + 1];
};

static int has_node(const struct line *line, int node) {
    int i = 0;
    while (i < line->n_nodes && line->node[i] != node) i++;
    return i < line->n_nodes;
}

static void insert_node(struct line *line, int node) {
    int i = line->n_nodes++;
    for (; i > 0 && line->node[i - 1] > node; i--) line->node[i] = line->node[i - 1];
    line->node[i] = node;
}

static void fill_line(const struct boxsem_level *l, const struct box_element *e, int d, int at,
                      struct line *line) {
    const struct brick_cells *c = &l->brick.cells;
    const int k = c->element[d].k, n = k + 1, n_nodes = c->n_nodes[d], n_cells = c->cells[d];
    int local[2] = {0, 0};
    *line = (struct line){.n_cells = 0};
    if (k == 0) { /* there is no such direction */
        *line = (struct line){.n_cells = 1, .n_nodes = 1, .mass = {{1.0}}};
        return;
    }
    for (int side = at % k == 0 ? -1 : 0; side <= 0; side++) {
        int cell = at / k + side;
        if (c->periodic[d]) cell = (cell + n_cells) % n_cells;
        if (cell < 0 || cell >= n_cells) continue;
        local[line->n_cells] = side < 0 ? k : at % k;
        line->cell[line->n_cells++] = cell;
    }
    for (int s = 0; s < line->n_cells; s++)
        for (int j = 0; j < n; j++) {
            int node = (line->cell[s] * k + j) % n_nodes;
            double h = l->grid.widths[d][line->cell[s]];
            if (!has_node(line, node)) insert_node(line, node);
            line->mass[s][j] = h * e->mass[local[s] * n + j];
            line->stiffness[s][j] = e->stiffness[local[s] * n + j] / h;
        }
    for (int s = 0; s < line->n_cells; s++)
        for (int j = 0; j < n; j++)
            while (line->node[line->place[s][j]] != (line->cell[s] * k + j) % n_nodes) line->place[s][j]++;
}

/* row += lambda M M M + k (A M M + M A M + M M A) of one cell. */
static void add_cell(const struct brick_cells *c, const struct line lines[3], const int s[3], double lambda,
                     double k, double *row) {
    for (int j2 = 0; j2 <= c->element[2].k; j2++)
        for (int j1 = 0; j1 <= c->element[1].k; j1++) {
            const double M2 = lines[2].mass[s[2]][j2], M1 = lines[1].mass[s[1]][j1];
            const double A = k * (lines[2].stiffness[s[2]][j2] * M1 + M2 * lines[1].stiffness[s[1]][j1]);
            double *to =
                row + ((int64_t)lines[2].place[s[2]][j2] * lines[1].n_nodes + lines[1].place[s[1]][j1]) *
                          lines[0].n_nodes;
            for (int j0 = 0; j0 <= c->element[0].k; j0++)
                to[lines[0].place[s[0]][j0]] += (lambda * M1 * M2 + A) * lines[0].mass[s[0]][j0] +
                                                k * M1 * M2 * lines[0].stiffness[s[0]][j0];
        }
}

static int64_t row_size(const struct line lines[3]) {
    return (int64_t)lines[0].n_nodes * lines[1].n_nodes * lines[2].n_nodes;
}

/* The columns of a row that are free, and its values there (NULL: only their number). work: a whole row. */
static int64_t make_row(const struct boxsem_level *l, const struct box_element *e, int64_t node, double *work,
                        int32_t *columns, double *values) {
    const struct brick_cells *c = &l->brick.cells;
    struct line lines[3];
    int at[3];
    int64_t n = 0, place = 0;
    if (brick_is_fixed(c, node)) {
        if (columns != NULL) columns[0] = (int32_t)node;
        if (columns != NULL) values[0] = 1.0;
        return 1;
    }
    brick_node_at(c, node, at);
    for (int d = 0; d < 3; d++) fill_line(l, e, d, at[d], &lines[d]);
    memset(work, 0, (size_t)row_size(lines) * sizeof *work);
    for (int i = 0; i < 8 && columns != NULL; i++) {
        const int s[3] = {i & 1, i >> 1 & 1, i >> 2};
        if (s[0] >= lines[0].n_cells || s[1] >= lines[1].n_cells || s[2] >= lines[2].n_cells) continue;
        const int cell[3] = {lines[0].cell[s[0]], lines[1].cell[s[1]], lines[2].cell[s[2]]};
        const int64_t number = box_cell(&l->grid, cell);
        add_cell(c, lines, s, box_reaction(&l->grid, number), box_conductivity(&l->grid, number), work);
    }
    for (int z = 0; z < lines[2].n_nodes; z++)
        for (int y = 0; y < lines[1].n_nodes; y++)
            for (int x = 0; x < lines[0].n_nodes; x++, place++) {
                int64_t column =
                    ((int64_t)lines[2].node[z] * c->n_nodes[1] + lines[1].node[y]) * c->n_nodes[0] +
                    lines[0].node[x];
                if (brick_is_fixed(c, column)) continue;
                if (columns != NULL) columns[n] = (int32_t)column;
                if (columns != NULL) values[n] = work[place];
                n++;
            }
    return n;
}

facet_status boxsem_levels_assemble(const struct boxsem_level *l, const struct box_element *e,
                                    struct csr *csr) {
    facet_status status = FACET_OK;
    const int64_t n = l->n;
    const int threads = base_threads_for(n);
    int64_t room = 1;
    double *work = NULL;
    *csr = (struct csr){.n = n};
    for (int d = 0; d < l->grid.dim; d++) room *= 2 * e->k + 1;
    TRY(ALLOC(work, threads * room));
    TRY(ALLOC(csr->offsets, n + 1));
    csr->offsets[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        csr->offsets[i + 1] = make_row(l, e, i, work + omp_get_thread_num() * room, NULL, NULL);
    for (int64_t i = 0; i < n; i++) csr->offsets[i + 1] += csr->offsets[i];
    TRY(ALLOC(csr->columns, csr->offsets[n]));
    TRY(ALLOC(csr->values, csr->offsets[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        make_row(l, e, i, work + omp_get_thread_num() * room, csr->columns + csr->offsets[i],
                 csr->values + csr->offsets[i]);
done:
    base_free(&work);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}
