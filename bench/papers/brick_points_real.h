/* Point Gauss-Seidel for numbers of type REAL: brick_points.c includes this once for each precision.
 *
 * It goes from row to row of nodes. What the other rows contribute to a row is summed first, with weights that
 * belong to whole rows,
 *
 *     u = sum_j M1_ij M2_ij x_j,   v = sum_j (A1_ij M2_ij + M1_ij A2_ij) x_j,
 *
 * for each of the (up to four) cells around the row, and then combined along the row by M0 and A0; along the
 * row itself nodes follow one another. 8 (k + 1)^2 operations a node. */

/* The cells around a node of one direction, and which node of them it is. */
struct NAME(around) {
    int count, cell[2], local[2];
};

static struct NAME(around) NAME(around)(const struct brick_cells *c, int d, int node) {
    const int k = c->element[d].k;
    struct NAME(around) a = {1, {0, 0}, {0, 0}};
    if (k == 0) return a;
    const int cell = node / k, local = node % k;
    a.count = 0;
    if (local == 0 && (cell > 0 || c->periodic[d])) {
        a.cell[0] = cell > 0 ? cell - 1 : c->cells[d] - 1;
        a.local[a.count++] = k;
    }
    if (cell < c->cells[d]) {
        a.cell[a.count] = cell;
        a.local[a.count++] = local;
    }
    return a;
}

/* Mass and stiffness of a cell of width 1, by rows. */
static const REAL *NAME(mass)(const struct brick_cells *c, int d) {
    return c->element[d].TABLE;
}
static const REAL *NAME(stiffness)(const struct brick_cells *c, int d) {
    const int n = c->element[d].k + 1;
    return c->element[d].TABLE + n * n;
}

static int NAME(end_is_fixed)(const struct brick_cells *c, int d, int node) {
    return (c->fixed[d][0] && node == 0) || (c->fixed[d][1] && node == c->n_nodes[d] - 1);
}

/* The equations of row (p1, p2). The row's own part is alpha M0 + beta A0 on each of its cells, the
 * contribution of the others lies in `rest`. */
struct NAME(row) {
    const struct brick_cells *c;
    REAL *u, *v, *rest; /* by nodes of the row */
    REAL *alpha, *beta; /* by cells of the row */
    int first, last;    /* the nodes to be worked on */
};

/* Adds the cell row (c1, c2), in which the row of nodes is number (i1, i2). */
static void NAME(add_cells)(struct NAME(row) * t, int c1, int i1, int c2, int i2, int64_t self,
                            const REAL *x) {
    const struct brick_cells *c = t->c;
    const int n = c->n_nodes[0], n0 = c->element[0].k + 1, n1 = c->element[1].k + 1, n2 = c->element[2].k + 1;
    const REAL h1 = (REAL)c->widths[1][c1], h2 = (REAL)c->widths[2][c2];
    REAL own_u = 0, own_v = 0;
    for (int i = 0; i < n; i++) t->u[i] = t->v[i] = 0;
    for (int j2 = 0; j2 < n2; j2++)
        for (int j1 = 0; j1 < n1; j1++) {
            const REAL M1 = h1 * NAME(mass)(c, 1)[i1 * n1 + j1], M2 = h2 * NAME(mass)(c, 2)[i2 * n2 + j2],
                       A1 = NAME(stiffness)(c, 1)[i1 * n1 + j1] / h1,
                       A2 = NAME(stiffness)(c, 2)[i2 * n2 + j2] / h2, a = M1 * M2, b = A1 * M2 + M1 * A2;
            const int64_t row = (int64_t)((c2 * (n2 - 1) + j2) % c->n_nodes[2]) * c->n_nodes[1] +
                                (c1 * (n1 - 1) + j1) % c->n_nodes[1];
            if (row == self) {
                own_u += a;
                own_v += b;
            } else {
                const REAL *restrict from = x + row * n;
                REAL *restrict to_u = t->u, *restrict to_v = t->v;
                for (int i = 0; i < n; i++) {
                    to_u[i] += a * from[i];
                    to_v[i] += b * from[i];
                }
            }
        }
    for (int c0 = 0; c0 < c->cells[0]; c0++) {
        const int cell[3] = {c0, c1, c2}, left = c0 * (n0 - 1);
        const REAL k = (REAL)brick_conductivity(c, cell), lambda = (REAL)brick_reaction(c, cell),
                   h = (REAL)c->widths[0][c0], *M = NAME(mass)(c, 0), *A = NAME(stiffness)(c, 0);
        t->alpha[c0] += h * (lambda * own_u + k * own_v);
        t->beta[c0] += k / h * own_u;
        if (!c->periodic[0] && (left > t->last || left + n0 - 1 < t->first)) continue;
        for (int i = 0; i < n0; i++) {
            REAL sum = 0;
            for (int j = 0; j < n0; j++) {
                const int at = (left + j) % n;
                sum +=
                    h * M[i * n0 + j] * (lambda * t->u[at] + k * t->v[at]) + k / h * A[i * n0 + j] * t->u[at];
            }
            t->rest[(left + i) % n] += sum;
        }
    }
}

static void NAME(sum_row)(struct NAME(row) * t, int p1, int p2, const REAL *x) {
    const struct brick_cells *c = t->c;
    const struct NAME(around) a1 = NAME(around)(c, 1, p1), a2 = NAME(around)(c, 2, p2);
    for (int i = 0; i < c->n_nodes[0]; i++) t->rest[i] = 0;
    for (int i = 0; i < c->cells[0]; i++) t->alpha[i] = t->beta[i] = 0;
    for (int s2 = 0; s2 < a2.count; s2++)
        for (int s1 = 0; s1 < a1.count; s1++) NAME(add_cells)
    (t, a1.cell[s1], a1.local[s1], a2.cell[s2], a2.local[s2], (int64_t)p2 * c->n_nodes[1] + p1, x);
}

/* The row's own part of the equation of one node, without its own column, which is added to *diagonal. */
static REAL NAME(own_part)(const struct NAME(row) * t, int node, const REAL *row, REAL *diagonal) {
    const struct brick_cells *c = t->c;
    const struct NAME(around) a = NAME(around)(c, 0, node);
    const int n0 = c->element[0].k + 1;
    REAL sum = 0;
    *diagonal = 0;
    for (int s = 0; s < a.count; s++) {
        const REAL *M = NAME(mass)(c, 0) + a.local[s] * n0, *A = NAME(stiffness)(c, 0) + a.local[s] * n0;
        for (int j = 0; j < n0; j++) {
            const REAL entry = t->alpha[a.cell[s]] * M[j] + t->beta[a.cell[s]] * A[j];
            const int at = (a.cell[s] * (n0 - 1) + j) % c->n_nodes[0];
            if (at == node)
                *diagonal += entry;
            else
                sum += entry * row[at];
        }
    }
    return sum;
}

/* The free nodes of one layer, whose ends are given for every direction. */
static void NAME(point_layer)(struct NAME(row) * t, const int first[3], const int last[3], int backward,
                              const REAL *b, REAL *x) {
    const struct brick_cells *c = t->c;
    const int n0 = last[0] - first[0] + 1, n1 = last[1] - first[1] + 1, n2 = last[2] - first[2] + 1;
    t->first = first[0];
    t->last = last[0];
    for (int step = 0; step < n1 * n2; step++) {
        const int at = backward ? n1 * n2 - 1 - step : step, p1 = first[1] + at % n1, p2 = first[2] + at / n1;
        if (NAME(end_is_fixed)(c, 1, p1) || NAME(end_is_fixed)(c, 2, p2)) continue;
        const int64_t begin = ((int64_t)p2 * c->n_nodes[1] + p1) * c->n_nodes[0];
        REAL *row = x + begin;
        NAME(sum_row)(t, p1, p2, x);
        for (int i = 0; i < n0; i++) {
            const int p0 = backward ? last[0] - i : first[0] + i;
            REAL diagonal;
            if (NAME(end_is_fixed)(c, 0, p0)) continue;
            const REAL own = NAME(own_part)(t, p0, row, &diagonal);
            row[p0] = (b[begin + p0] - t->rest[p0] - own) / diagonal;
        }
    }
}

static void NAME(points_sweep)(const struct brick_cells *c, int backward, const REAL *b, REAL *x) {
    const int d = brick_layers(c), layers = c->cells[d], k = c->element[d].k, threads = base_threads(),
              single = c->periodic[d] && layers > 1 && layers % 2 == 1;
    const int64_t n = c->n_nodes[0], room = (3 * n + 2 * c->cells[0] + 15) / 16 * 16;
    REAL *rooms;
    if (ALLOC(rooms, threads * room) != FACET_OK) return;
#pragma omp parallel num_threads(threads) if (threads > 1 && layers > 3)
    {
        REAL *mine = rooms + omp_get_thread_num() * room;
        struct NAME(row)
            t = {c, mine, mine + n, mine + 2 * n, mine + 3 * n, mine + 3 * n + c->cells[0], 0, 0};
        for (int step = 0; step < 3; step++) {
            const int colour = backward ? 2 - step : step;
#pragma omp for schedule(static)
            for (int layer = 0; layer < layers; layer++) {
                if ((single && layer == layers - 1 ? 2 : layer % 2) != colour) continue;
                int first[3] = {0, 0, 0}, last[3];
                for (int e = 0; e < 3; e++) last[e] = c->n_nodes[e] - 1;
                first[d] = layer * k;
                if (layer < layers - 1) last[d] = first[d] + k - 1;
                NAME(point_layer)(&t, first, last, backward, b, x);
            }
        }
    }
    base_free(&rooms);
}
