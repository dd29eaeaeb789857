/* Continuous elements on bricks for numbers of type REAL, in plain C: brick.c includes this once for each
 * precision, with NAME(what) the name of a function and TABLE the member that holds tables. */

/* out[i] = sum_j C[i*n_in + j] in[j] along direction d of an array of sizes n (n[d] = n_in); out has n_out
 * there. */
static void NAME(contract)(const int n[3], int d, int n_out, const REAL *C, int transposed, const REAL *in,
                           REAL *out) {
    const int64_t stride = d == 0 ? 1 : d == 1 ? n[0] : (int64_t)n[0] * n[1];
    const int64_t outer = (int64_t)n[0] * n[1] * n[2] / n[d] / stride;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t s = 0; s < stride; s++)
            for (int i = 0; i < n_out; i++) {
                REAL sum = 0;
                for (int j = 0; j < n[d]; j++)
                    sum +=
                        (transposed ? C[j * n_out + i] : C[i * n[d] + j]) * in[(o * n[d] + j) * stride + s];
                out[(o * n_out + i) * stride + s] = sum;
            }
}

/* The three directions one after the other; `in` is used up, and the result lies in `out`. */
static void NAME(contract_all)(const int sizes[3], const int n_out[3], const REAL *const C[3], int transposed,
                               REAL *in, REAL *out) {
    int n[3] = {sizes[0], sizes[1], sizes[2]};
    for (int d = 0; d < 3; d++) {
        NAME(contract)(n, d, n_out[d], C[d], transposed, in, out);
        n[d] = n_out[d];
        REAL *swap = in;
        in = out;
        out = swap;
    }
}

/* ------------------------------------------------------------------------------ cells */

/* Mass and stiffness of a cell in direction d, its width included: entry (i, j). */
static REAL NAME(mass)(const struct brick_cells *c, int d, int cell, int i, int j) {
    const int n = c->element[d].k + 1;
    return (REAL)c->widths[d][cell] * c->element[d].TABLE[brick_element_layout(n - 1).mass + i * n + j];
}
static REAL NAME(stiffness)(const struct brick_cells *c, int d, int cell, int i, int j) {
    const int n = c->element[d].k + 1;
    return c->element[d].TABLE[brick_element_layout(n - 1).stiffness + i * n + j] / (REAL)c->widths[d][cell];
}

/* out = A_cell in, both by the nodes of the cell; work: two more arrays of that size. */
static void NAME(cell_product)(const struct brick_cells *c, const int cell[3], const REAL *in, REAL *out,
                               REAL *work) {
    REAL M[3][(BRICK_MAX_DEGREE + 1) * (BRICK_MAX_DEGREE + 1)],
        A[3][(BRICK_MAX_DEGREE + 1) * (BRICK_MAX_DEGREE + 1)];
    int n[3];
    for (int d = 0; d < 3; d++) {
        n[d] = c->element[d].k + 1;
        for (int i = 0; i < n[d]; i++)
            for (int j = 0; j < n[d]; j++) {
                M[d][i * n[d] + j] = NAME(mass)(c, d, cell[d], i, j);
                A[d][i * n[d] + j] = NAME(stiffness)(c, d, cell[d], i, j);
            }
    }
    const int64_t size = (int64_t)n[0] * n[1] * n[2];
    for (int64_t i = 0; i < size; i++) out[i] = 0;
    for (int term = 0; term < 4; term++) { /* lambda M M M, k A M M, k M A M, k M M A */
        const REAL factor = (REAL)(term == 0 ? brick_reaction(c, cell) : brick_conductivity(c, cell));
        const REAL *C[3];
        for (int d = 0; d < 3; d++) C[d] = d == term - 1 ? A[d] : M[d];
        for (int64_t i = 0; i < size; i++) work[i] = in[i];
        NAME(contract_all)(n, n, C, 0, work, work + size);
        for (int64_t i = 0; i < size; i++) out[i] += factor * work[size + i];
    }
}

void NAME(brick_apply)(const struct brick_cells *c, double a, const REAL *x, double b, const REAL *f, REAL *y,
                       REAL *scratch) {
    const int64_t n = brick_n_nodes(c);
    const int size = (c->element[0].k + 1) * (c->element[1].k + 1) * (c->element[2].k + 1);
    const REAL alpha = (REAL)a, beta = (REAL)b;
    REAL *in = scratch, *out = in + size;
    for (int64_t i = 0; i < n; i++) y[i] = f != NULL && beta != 0 ? beta * f[i] : 0;
    for (int64_t number = 0; number < brick_n_cells(c); number++) {
        int cell[3];
        brick_cell_at(c, number, cell);
        for (int i = 0; i < size; i++) in[i] = x[brick_cell_node(c, cell, i)];
        NAME(cell_product)(c, cell, in, out, out + size);
        for (int i = 0; i < size; i++) y[brick_cell_node(c, cell, i)] += alpha * out[i];
    }
    for (int64_t i = 0; i < n; i++)
        if (brick_is_fixed(c, i)) y[i] = 0;
}

/* What node number `row` of a cell has on the diagonal: entries whose column is the same node, also around a
 * period of one cell. */
static REAL NAME(cell_diagonal)(const struct brick_cells *c, const int cell[3], int row) {
    const int n0 = c->element[0].k + 1, n1 = c->element[1].k + 1, n2 = c->element[2].k + 1;
    const REAL k = (REAL)brick_conductivity(c, cell), lambda = (REAL)brick_reaction(c, cell);
    const int64_t self = brick_cell_node(c, cell, row);
    REAL sum = 0;
    for (int j = 0; j < n0 * n1 * n2; j++) {
        REAL M[3], A[3];
        const int at[3] = {row % n0, row / n0 % n1, row / n0 / n1},
                  to[3] = {j % n0, j / n0 % n1, j / n0 / n1};
        if (brick_cell_node(c, cell, j) != self) continue;
        for (int d = 0; d < 3; d++) {
            M[d] = NAME(mass)(c, d, cell[d], at[d], to[d]);
            A[d] = NAME(stiffness)(c, d, cell[d], at[d], to[d]);
        }
        sum +=
            lambda * M[0] * M[1] * M[2] + k * (A[0] * M[1] * M[2] + M[0] * A[1] * M[2] + M[0] * M[1] * A[2]);
    }
    return sum;
}

void NAME(brick_diagonal)(const struct brick_cells *c, REAL *d) {
    const int size = (c->element[0].k + 1) * (c->element[1].k + 1) * (c->element[2].k + 1);
    for (int64_t i = 0; i < brick_n_nodes(c); i++) d[i] = brick_is_fixed(c, i) ? 1 : 0;
    for (int64_t number = 0; number < brick_n_cells(c); number++) {
        int cell[3];
        brick_cell_at(c, number, cell);
        for (int i = 0; i < size; i++) {
            const int64_t node = brick_cell_node(c, cell, i);
            if (!brick_is_fixed(c, node)) d[node] += NAME(cell_diagonal)(c, cell, i);
        }
    }
}

/* ------------------------------------------------------------------------------ transfers */

/* Calls for every fine node of a direction the coarse nodes it depends on: coarse[first + j modulo n_coarse],
 * with weights E[j], j < count. */
static int NAME(embedding)(const struct brick_transfer_axis *ax, int fine, int *first, const REAL **E) {
    static const REAL one[1] = {1};
    *first = fine;
    *E = one;
    if (!ax->refined) return 1;
    int cell = fine / ax->r;
    if (cell == ax->n_cells) cell--;
    *first = cell * ax->k;
    *E = ax->TABLE_S + ((int64_t)ax->which[cell] * (ax->r + 1) + fine - cell * ax->r) * (ax->k + 1);
    return ax->k + 1;
}

/* One row of P or one column of P': fine node (f0, f1, f2) with all coarse nodes it depends on. With
 * `restrict_to` their values get the share of `value`; the sum of their values is returned. */
static REAL NAME(transfer_node)(const struct brick_transfer *t, const int at[3], const REAL *coarse,
                                REAL value, REAL *restrict_to) {
    int first[3], count[3];
    const REAL *E[3];
    REAL sum = 0;
    for (int d = 0; d < 3; d++) count[d] = NAME(embedding)(&t->axis[d], at[d], &first[d], &E[d]);
    for (int j2 = 0; j2 < count[2]; j2++)
        for (int j1 = 0; j1 < count[1]; j1++)
            for (int j0 = 0; j0 < count[0]; j0++) {
                const int j[3] = {(first[0] + j0) % t->axis[0].n_coarse,
                                  (first[1] + j1) % t->axis[1].n_coarse,
                                  (first[2] + j2) % t->axis[2].n_coarse};
                const int64_t node =
                    ((int64_t)j[2] * t->axis[1].n_coarse + j[1]) * t->axis[0].n_coarse + j[0];
                const REAL entry = E[0][j0] * E[1][j1] * E[2][j2];
                if (restrict_to != NULL)
                    restrict_to[node] += entry * value;
                else
                    sum += entry * coarse[node];
            }
    return sum;
}

static void NAME(transfer)(const struct brick_transfer *t, const REAL *coarse, REAL *fine,
                           const REAL *fine_in, REAL *restrict_to) {
    int at[3];
    int64_t node = 0;
    for (at[2] = 0; at[2] < t->axis[2].n_fine; at[2]++)
        for (at[1] = 0; at[1] < t->axis[1].n_fine; at[1]++)
            for (at[0] = 0; at[0] < t->axis[0].n_fine; at[0]++, node++) {
                if (restrict_to != NULL)
                    NAME(transfer_node)(t, at, NULL, fine_in[node], restrict_to);
                else
                    fine[node] += NAME(transfer_node)(t, at, coarse, 0, NULL);
            }
}

void NAME(brick_prolong)(const struct brick_transfer *t, const REAL *coarse, REAL *fine, REAL *scratch) {
    (void)scratch;
    NAME(transfer)(t, coarse, fine, NULL, NULL);
}

void NAME(brick_restrict)(const struct brick_transfer *t, const REAL *fine, REAL *coarse, REAL *scratch) {
    (void)scratch;
    const int64_t n0 = t->axis[0].n_coarse, n1 = t->axis[1].n_coarse, n = n0 * n1 * t->axis[2].n_coarse;
    for (int64_t i = 0; i < n; i++) coarse[i] = 0;
    NAME(transfer)(t, NULL, NULL, fine, coarse);
    for (int64_t i = 0; i < n; i++) {
        const int at[3] = {(int)(i % n0), (int)(i / n0 % n1), (int)(i / n0 / n1)};
        for (int d = 0; d < 3; d++)
            if ((t->axis[d].fixed[0] && at[d] == 0) ||
                (t->axis[d].fixed[1] && at[d] == t->axis[d].n_coarse - 1))
                coarse[i] = 0;
    }
}

/* ------------------------------------------------------------------------------ patches */

/* Where a node of a cell lies among the free nodes of a patch, or -1. */
static int NAME(free_node)(const struct brick_patches *p, const int column[3], const int cell[3], int i) {
    const int n0 = p->cells->element[0].k + 1, n1 = p->cells->element[1].k + 1;
    const int local[3] = {i % n0, i / n0 % n1, i / n0 / n1};
    int at = 0;
    for (int d = 2; d >= 0; d--) {
        const struct brick_axis *ax = &p->axis[d];
        const int m = p->lines[ax->lines[column[d]]].m;
        int place = cell[d] * p->cells->element[d].k + local[d] - ax->first[column[d]];
        if (ax->periodic) place = (place + 2 * ax->n_nodes) % ax->n_nodes;
        if (place < 0 || place >= m) return -1;
        at = at * m + place;
    }
    return at;
}

/* Cell s of a patch, bit d of s for the second one in direction d; returns 0 if there is none. */
static int NAME(patch_cell)(const struct brick_patches *p, const int column[3], int s, int cell[3]) {
    for (int d = 0; d < 3; d++) {
        const struct brick_axis *ax = &p->axis[d];
        if ((s >> d & 1) >= ax->cells[column[d]]) return 0;
        cell[d] = (ax->cell[column[d]] + (s >> d & 1) + p->cells->cells[d]) % p->cells->cells[d];
    }
    return 1;
}

/* r -= A x on the free nodes of a patch; x by the nodes of the brick, or with `local` by the free nodes of
 * the patch and zero elsewhere. */
static void NAME(patch_residual)(const struct brick_patches *p, const int column[3], int local, const REAL *x,
                                 REAL *r, REAL *work) {
    const struct brick_cells *c = p->cells;
    const int size = (c->element[0].k + 1) * (c->element[1].k + 1) * (c->element[2].k + 1);
    for (int s = 0; s < 8; s++) {
        int cell[3];
        if (!NAME(patch_cell)(p, column, s, cell)) continue;
        for (int i = 0; i < size; i++) {
            const int at = NAME(free_node)(p, column, cell, i);
            work[i] = !local ? x[brick_cell_node(c, cell, i)] : at >= 0 ? x[at] : 0;
        }
        NAME(cell_product)(c, cell, work, work + size, work + 2 * size);
        for (int i = 0; i < size; i++) {
            const int at = NAME(free_node)(p, column, cell, i);
            if (at >= 0) r[at] -= work[size + i];
        }
    }
}

/* The number of columns of a direction in which a node is free. */
static int NAME(overlaps)(const struct brick_patches *p, int d, int node) {
    const struct brick_axis *ax = &p->axis[d];
    int count = 0;
    for (int i = 0; i < ax->n_columns; i++) {
        int place = node - ax->first[i];
        if (ax->periodic) place = (place + ax->n_nodes) % ax->n_nodes;
        count += place >= 0 && place < p->lines[ax->lines[i]].m;
    }
    return count;
}

/* The node that is free node i of a patch whose columns begin at `first` (plus n_nodes). */
static int64_t NAME(free_number)(const struct brick_patches *p, const int first[3], const int m[3], int i) {
    const int at[3] = {i % m[0], i / m[0] % m[1], i / m[0] / m[1]};
    int64_t node = 0;
    for (int d = 2; d >= 0; d--) node = node * p->axis[d].n_nodes + (first[d] + at[d]) % p->axis[d].n_nodes;
    return node;
}

/* What solves a patch: its modes, where its nodes are, and the coefficients of the separable matrix. */
struct NAME(patch) {
    const REAL *S[3], *e[3];
    int m[3], first[3], size;
    int inner, scaled;
    double k, lambda, least; /* least: the smallest ratio of a cell's k or lambda to the largest */
};

static void NAME(set_coefficients)(const struct brick_patches *p, const int column[3],
                                   struct NAME(patch) * q) {
    const struct brick_cells *c = p->cells;
    double volume = 0, sum_k = 0, sum_lambda = 0, k[2] = {INFINITY, 0}, lambda[2] = {INFINITY, 0};
    for (int s = 0; s < 8; s++) {
        int cell[3];
        if (!NAME(patch_cell)(p, column, s, cell)) continue;
        const double here[2] = {brick_conductivity(c, cell), brick_reaction(c, cell)};
        double V = 1;
        for (int d = 0; d < 3; d++) V *= c->widths[d][cell[d]];
        volume += V;
        sum_k += V * here[0];
        sum_lambda += V * here[1];
        k[0] = fmin(k[0], here[0]);
        k[1] = fmax(k[1], here[0]);
        lambda[0] = fmin(lambda[0], here[1]);
        lambda[1] = fmax(lambda[1], here[1]);
    }
    q->k = q->inner > 0 ? k[1] : q->scaled ? 1 : sum_k / volume;
    q->lambda = q->inner > 0 ? lambda[1] : q->scaled ? sum_lambda / sum_k : sum_lambda / volume;
    q->least = k[0] / k[1];
    if (lambda[1] > 0) q->least = fmin(q->least, lambda[0] / lambda[1]);
}

static struct NAME(patch) NAME(patch_at)(const struct brick_patches *p, const int column[3]) {
    const int approximate = p->cells->conductivity != NULL || p->cells->reaction != NULL;
    struct NAME(patch) q = {.size = 1, .inner = approximate ? p->inner : 0};
    q.scaled = approximate && q.inner == 0;
    for (int d = 0; d < 3; d++) {
        const struct brick_line *line = &p->lines[p->axis[d].lines[column[d]]];
        const struct brick_layout at = brick_layout(line->m, line->even);
        q.S[d] = line->TABLE + at.S;
        q.e[d] = line->TABLE + at.eigenvalues;
        q.m[d] = line->m;
        q.first[d] = p->axis[d].first[column[d]] + p->axis[d].n_nodes;
        q.size *= line->m;
    }
    NAME(set_coefficients)(p, column, &q);
    return q;
}

/* z = S Z^-1 S' r, scaled on both sides or not; r is spent. */
static void NAME(separable_solve)(const struct brick_patches *p, const struct NAME(patch) * q, REAL *r,
                                  REAL *z) {
    const int *m = q->m;
    for (int i = 0; i < q->size && q->scaled; i++) r[i] *= p->SCALE[NAME(free_number)(p, q->first, m, i)];
    NAME(contract_all)(m, m, q->S, 1, r, z);
    for (int i = 0; i < q->size; i++)
        z[i] /= (REAL)q->lambda +
                (REAL)q->k * (q->e[0][i % m[0]] + q->e[1][i / m[0] % m[1]] + q->e[2][i / m[0] / m[1]]);
    NAME(contract_all)(m, m, q->S, 0, z, r);
    for (int i = 0; i < q->size; i++)
        z[i] = q->scaled ? r[i] * p->SCALE[NAME(free_number)(p, q->first, m, i)] : r[i];
}

/* e from r by Chebyshev's iteration; r is spent. */
static void NAME(iterate)(const struct brick_patches *p, const int column[3], const struct NAME(patch) * q,
                          REAL *r, REAL *e, REAL *work) {
    const int size = q->size;
    REAL *t = work, *z = t + size, *d = z + size;
    const double low = brick_chebyshev_low(q->least), theta = 0.5 * (1 + low), delta = 0.5 * (1 - low);
    double alpha = 1 / theta, beta = 0, rho = delta / theta;
    for (int i = 0; i < size; i++) d[i] = e[i] = 0;
    for (int step = 0; step < (q->least < 1 ? q->inner : 1); step++) {
        if (step > 0) {
            const double over = 1 / (2 * theta - rho * delta);
            NAME(patch_residual)(p, column, 1, d, r, d + size);
            alpha = 2 * over;
            beta = over * delta * rho;
            rho = over * delta;
        }
        for (int i = 0; i < size; i++) t[i] = r[i];
        NAME(separable_solve)(p, q, t, z);
        for (int i = 0; i < size; i++) {
            d[i] = (REAL)alpha * z[i] + (REAL)beta * d[i];
            e[i] += d[i];
        }
    }
}

/* x += w e on the free nodes of a patch, e being what its (approximate) matrix gives for r = b - A x, or b
 * itself if `additive`; then the number of patches that share a node divides w. */
static void NAME(patch_solve)(const struct brick_patches *p, const int column[3], int additive, const REAL *b,
                              REAL *x, REAL *scratch) {
    const struct NAME(patch) q = NAME(patch_at)(p, column);
    REAL *r = scratch, *e = r + q.size, *work = e + q.size;
    for (int i = 0; i < q.size; i++) r[i] = b[NAME(free_number)(p, q.first, q.m, i)];
    if (!additive) NAME(patch_residual)(p, column, 0, x, r, work);
    if (q.inner > 0)
        NAME(iterate)(p, column, &q, r, e, work);
    else
        NAME(separable_solve)(p, &q, r, e);
    for (int i = 0; i < q.size; i++) {
        const int64_t node = NAME(free_number)(p, q.first, q.m, i);
        REAL weight = additive || q.scaled ? (REAL)p->damping : 1;
        if (additive) {
            int at[3];
            brick_node_at(p->cells, node, at);
            for (int d = 0; d < 3; d++) weight /= (REAL)NAME(overlaps)(p, d, at[d]);
        }
        x[node] += weight * e[i];
    }
}

void NAME(patch_sweep)(const struct brick_patches *p, int backward, const REAL *b, REAL *x, REAL *scratch) {
    const struct brick_axis *ax = p->axis;
    const int colours[3] = {ax[0].n_colours, ax[1].n_colours, ax[2].n_colours},
              total = colours[0] * colours[1] * colours[2], additive = p->variant == PATCH_ADDITIVE;
    const REAL *load = b;
    if (additive) {
        REAL *r = scratch;
        scratch += brick_n_nodes(p->cells);
        NAME(brick_apply)(p->cells, -1, x, 1, b, r, scratch);
        load = r;
    }
    for (int step = 0; step < total; step++) {
        const int colour = backward ? total - 1 - step : step;
        const int want[3] = {colour % colours[0], colour / colours[0] % colours[1],
                             colour / colours[0] / colours[1]};
        int column[3];
        for (column[2] = 0; column[2] < ax[2].n_columns; column[2]++)
            for (column[1] = 0; column[1] < ax[1].n_columns; column[1]++)
                for (column[0] = 0; column[0] < ax[0].n_columns; column[0]++)
                    if (ax[0].colour[column[0]] == want[0] && ax[1].colour[column[1]] == want[1] &&
                        ax[2].colour[column[2]] == want[2])
                        NAME(patch_solve)(p, column, additive, load, x, scratch);
    }
}
