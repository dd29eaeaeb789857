/* Vertex patches for numbers of type REAL, in plain C: brick.c includes this once for each precision, with
 * NAME(what) the name of a function and TABLE the member of a line that holds its tables. */

/* The node of a patch, or -1 beyond the end of the domain. */
static int64_t NAME(node)(const struct brick_patches *p, const int column[3], int a, int b, int c) {
    const int offset[3] = {a, b, c};
    int64_t node = 0;
    for (int d = 2; d >= 0; d--) {
        const struct brick_axis *ax = &p->axis[d];
        int at = ax->first[column[d]] + offset[d];
        if (ax->periodic) at = (at + ax->n_nodes) % ax->n_nodes;
        if (at < 0 || at >= ax->n_nodes) return -1;
        node = node * ax->n_nodes + at;
    }
    return node;
}

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

/* The three directions one after the other; `in` is used up. */
static void NAME(contract_all)(int n[3], const int n_out[3], const REAL *const C[3], int transposed, REAL *in,
                               REAL *out) {
    for (int d = 0; d < 3; d++) {
        NAME(contract)(n, d, n_out[d], C[d], transposed, in, out);
        n[d] = n_out[d];
        REAL *swap = in;
        in = out;
        out = swap;
    }
    /* after three steps the result lies in what was `out` */
}

/* Solves one patch: x += S Z^-1 S' (b - A x) on its free nodes. */
static void NAME(patch_solve)(const struct brick_patches *p, const int column[3], const REAL *b, REAL *x,
                              REAL *scratch) {
    const struct brick_line *line[3];
    const REAL *M[3], *A[3], *S[3], *e[3];
    int m[3], with[3];
    int64_t size = 1;
    for (int d = 0; d < 3; d++) {
        line[d] = &p->lines[p->axis[d].lines[column[d]]];
        const struct brick_layout at = brick_layout(line[d]->m, line[d]->even);
        M[d] = line[d]->TABLE + at.mass;
        A[d] = line[d]->TABLE + at.stiffness;
        S[d] = line[d]->TABLE + at.S;
        e[d] = line[d]->TABLE + at.eigenvalues;
        m[d] = line[d]->m;
        with[d] = m[d] + 2;
        size *= with[d];
    }
    REAL *local = scratch, *w = local + size, *t = w + size, *r = t + size;
    int64_t at = 0;
    for (int c = 0; c < with[2]; c++)
        for (int j = 0; j < with[1]; j++)
            for (int a = 0; a < with[0]; a++, at++) {
                const int64_t node = NAME(node)(p, column, a - 1, j - 1, c - 1);
                local[at] = node >= 0 ? x[node] : 0;
            }
    at = 0;
    for (int c = 0; c < m[2]; c++)
        for (int j = 0; j < m[1]; j++)
            for (int a = 0; a < m[0]; a++) r[at++] = b[NAME(node)(p, column, a, j, c)];
    for (int term = 0; term < 4; term++) { /* lambda M M M, k A M M, k M A M, k M M A */
        const REAL factor = (REAL)(term == 0 ? p->reaction : p->conductivity);
        const REAL *C[3];
        int n[3] = {with[0], with[1], with[2]};
        for (int d = 0; d < 3; d++) C[d] = d == term - 1 ? A[d] : M[d];
        for (int64_t i = 0; i < size; i++) w[i] = local[i];
        NAME(contract_all)(n, m, C, 0, w, t);
        for (int64_t i = 0; i < (int64_t)m[0] * m[1] * m[2]; i++) r[i] -= factor * t[i];
    }
    int n[3] = {m[0], m[1], m[2]};
    NAME(contract_all)(n, m, S, 1, r, t);
    at = 0;
    for (int c = 0; c < m[2]; c++)
        for (int j = 0; j < m[1]; j++)
            for (int a = 0; a < m[0]; a++, at++)
                t[at] /= (REAL)p->reaction + (REAL)p->conductivity * (e[0][a] + e[1][j] + e[2][c]);
    NAME(contract_all)(n, m, S, 0, t, r);
    at = 0;
    for (int c = 0; c < m[2]; c++)
        for (int j = 0; j < m[1]; j++)
            for (int a = 0; a < m[0]; a++) x[NAME(node)(p, column, a, j, c)] += r[at++];
}

void NAME(patch_sweep)(const struct brick_patches *p, int backward, const REAL *b, REAL *x, REAL *scratch) {
    const struct brick_axis *ax = p->axis;
    int colours[3] = {ax[0].n_colours, ax[1].n_colours, ax[2].n_colours},
        total = colours[0] * colours[1] * colours[2];
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
                        NAME(patch_solve)(p, column, b, x, scratch);
    }
}
