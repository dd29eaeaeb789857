/* Vertex patches for numbers of type REAL: brick.c includes this once for each precision, with NAME(what) the
 * name of a function, LANE eight numbers, LANES(what) a function of lane.h for them and TABLE the member of a
 * line that holds its tables.
 *
 * Eight patches that are neighbours of one colour in direction 0 are the lanes. The exact solve of a patch
 * needs only the loads b of its free nodes and the values w of its shell,
 *
 *     x = S [Z^-1 (S' b - S' A_shell w)],   Z = lambda + k (Lambda_a + Lambda_b + Lambda_c),
 *
 * and in modes the shell acts through few numbers: a face of the shell, transformed along itself into modes,
 * reaches the modes of the patch by the two vectors mu and alpha of the direction it is normal to. Faces
 * normal to 0 take the edges and corners along, those normal to 1 the edges along 0, so that every shell node
 * counts once. Six transforms of the volume with blocks of half the size (sums and differences of opposite
 * nodes) are the work: 6 (2k-1)^4 operations a patch. */

#include "kernels/simd/brick_modes_real.h"

/* The same for any size. */
static void NAME(block_any)(int n, const REAL *C, const LANE *in, LANE *out) {
    for (int j = 0; j < n; j++, C += n) {
        LANE sum = {0};
        for (int i = 0; i < n; i++) sum += C[i] * in[i];
        out[j] = sum;
    }
}
static void NAME(blocks_any)(int m, int even, const REAL *C, const LANE *in, LANE *out) {
    NAME(block_any)(even > 0 ? even : m, C, in, out);
    if (even > 0) NAME(block_any)(m - even, C + even * even, in + even, out + even);
}
static void NAME(to_modes_any)(int m, int even, const REAL *C, int64_t stride, const LANE *in,
                               int64_t out_stride, LANE *out) {
    LANE x[BRICK_MAX_FREE + 3] = {{0}}, y[BRICK_MAX_FREE + 3];
    const int odd = even > 0 ? m / 2 : 0;
    for (int i = 0; i < m - odd; i++) x[i] = in[i * stride];
    for (int i = 0; i < odd; i++) {
        const LANE a = in[i * stride], b = in[(m - 1 - i) * stride];
        x[i] = a + b;
        x[even + i] = a - b;
    }
    NAME(blocks_any)(m, even, C, x, y);
    for (int i = 0; i < m; i++) out[i * out_stride] = y[i];
}
static void NAME(to_nodes_any)(int m, int even, const REAL *C, int64_t stride, const LANE *in,
                               int64_t out_stride, LANE *out) {
    LANE x[BRICK_MAX_FREE + 3] = {{0}}, y[BRICK_MAX_FREE + 3];
    for (int i = 0; i < m; i++) x[i] = in[i * stride];
    NAME(blocks_any)(m, even, C, x, y);
    for (int i = 0; i < m; i++)
        out[i * out_stride] = even == 0 || 2 * i + 1 == m ? y[i]
                              : i < even                  ? y[i] + y[even + i]
                                                          : y[m - 1 - i] - y[even + m - 1 - i];
}

/* The same for n_lines lines, `step` lanes apart, in place or not. Sizes that occur for vertices inside a
 * brick are compiled one by one, each in a function of its own: compilers take long over long functions. */
#define SIZED static __attribute__((noinline)) void
#define TO_MODES(M)                                                                                          \
    SIZED NAME(all_to_modes_##M)(const REAL *C, int64_t n_lines, int64_t step, int64_t stride,               \
                                 const LANE *in, int64_t out_step, int64_t out_stride, LANE *out) {          \
        for (int64_t l = 0; l < n_lines; l++)                                                                \
            NAME(to_modes)(M, C, stride, in + l * step, out_stride, out + l * out_step);                     \
    }
SIZES(TO_MODES)
#undef TO_MODES
#define TO_MODES(M)                                                                                          \
    case M:                                                                                                  \
        NAME(all_to_modes_##M)(C, n_lines, step, stride, in, out_step, out_stride, out);                     \
        return;
static __attribute__((noinline)) void NAME(all_to_modes)(int m, int even, const REAL *C, int64_t n_lines,
                                                         int64_t step, int64_t stride, const LANE *in,
                                                         int64_t out_step, int64_t out_stride, LANE *out) {
    if (even > 0) switch (m) {
            SIZES(TO_MODES)
        }
    for (int64_t l = 0; l < n_lines; l++)
        NAME(to_modes_any)(m, even, C, stride, in + l * step, out_stride, out + l * out_step);
}
#define TO_NODES(M)                                                                                          \
    SIZED NAME(all_to_nodes_##M)(const REAL *C, int64_t n_lines, int64_t step, int64_t stride,               \
                                 const LANE *in, LANE *out) {                                                \
        for (int64_t l = 0; l < n_lines; l++)                                                                \
            NAME(to_nodes)(M, C, stride, in + l * step, stride, out + l * step);                             \
    }
SIZES(TO_NODES)
#undef TO_NODES
#define TO_NODES(M)                                                                                          \
    case M:                                                                                                  \
        NAME(all_to_nodes_##M)(C, n_lines, step, stride, in, out);                                           \
        return;
static __attribute__((noinline)) void NAME(all_to_nodes)(int m, int even, const REAL *C, int64_t n_lines,
                                                         int64_t step, int64_t stride, const LANE *in,
                                                         LANE *out) {
    if (even > 0) switch (m) {
            SIZES(TO_NODES)
        }
    for (int64_t l = 0; l < n_lines; l++)
        NAME(to_nodes_any)(m, even, C, stride, in + l * step, stride, out + l * step);
}

/* ------------------------------------------------------------------------------ a batch of patches */

/* Tables and pieces of scratch of eight patches of one kind. Pairs [0], [1] of the shell: sums and
 * differences (right plus left, right minus left) across a symmetric line, left and right across others. P
 * comes with mu, Q with alpha. */
struct NAME(batch) {
    const struct brick_line *line[3];
    struct brick_layout at[3];
    const REAL *table[3];
    int m[3];
    REAL k, lambda;
    LANE *volume;      /* m2 x m1 x m0 */
    LANE *shell[3];    /* pairs: 2 x (m2 + 2) x (m1 + 2); 2 x (m2 + 2) x m0; 2 x m1 x m0 */
    LANE *P[3], *Q[3]; /* pairs: by (b, c); (a, c); (b, a) */
    LANE *work;        /* (m1 + 2) (m2 + 2) twice */
    LANE *cell;        /* the nodes of one cell of each patch */
    REAL *inverse;     /* m0 x m1 x m2 by (a, b, c): 1 / Z */
    const struct brick_line *inverse_of[3];
    int32_t first[L]; /* of the lanes in direction 0 */
    int column[L], column1, column2;
    int plain;       /* the volume holds residuals, not loads: there is no shell */
    int approximate; /* k or lambda vary: patches are solved with k = 1 */
    int divides;     /* and have each a lambda of their own, `ratio` */
    LANE ratio;
    int inner;                      /* steps of Chebyshev's iteration in approximate patches; 0: scaled */
    LANE largest, least;            /* k of the separable matrix, and the least eigenvalue of A over it */
    LANE *residual, *step, *result; /* of the iteration, like `volume` */
    int chained;                    /* the right shell node of a lane is the left one of the next */
    int n_lanes, wraps;             /* lanes that exist; whether some column of direction 0 wraps round */
};

INLINE int NAME(wrap)(int node, int n_nodes) {
    return node < 0 ? node + n_nodes : node >= n_nodes ? node - n_nodes : node;
}

/* One node of every lane, `offset` from its first free one. */
INLINE LANE NAME(gather_node)(const struct NAME(batch) * t, int n_nodes, int offset, const REAL *row) {
    int32_t at[L];
    for (int w = 0; w < L; w++) at[w] = t->first[w] + offset;
    if (t->wraps)
        for (int w = 0; w < L; w++) at[w] = NAME(wrap)(at[w], n_nodes);
    return (LANE){row[at[0]], row[at[1]], row[at[2]], row[at[3]],
                  row[at[4]], row[at[5]], row[at[6]], row[at[7]]};
}

/* `count` nodes of a row from first[lane] + offset on. */
static void NAME(gather_row)(const struct NAME(batch) * t, int n_nodes, int offset, int count,
                             const REAL *row, LANE *out) {
    if (t->wraps || count < TUNE_TRANSPOSE) {
        for (int i = 0; i < count; i++)
            for (int w = 0; w < L; w++) {
                int node = t->first[w] + offset + i;
                out[i][w] = row[t->wraps ? NAME(wrap)(node, n_nodes) : node];
            }
        return;
    }
    for (int i = 0; i < count; i += L) {
        LANE rows[L];
        for (int w = 0; w < L; w++) rows[w] = LANES(load)(count - i, row + t->first[w] + offset + i);
        LANES(transpose)(rows);
        for (int j = 0; j < L && i + j < count; j++) out[i + j] = rows[j];
    }
}

static void NAME(scatter_row)(const struct NAME(batch) * t, int n_nodes, int count, const LANE *in,
                              REAL *row) {
    if (t->wraps || count < TUNE_TRANSPOSE) {
        for (int w = 0; w < t->n_lanes; w++)
            for (int i = 0; i < count; i++) {
                int node = t->first[w] + i;
                row[t->wraps ? NAME(wrap)(node, n_nodes) : node] = in[i][w];
            }
        return;
    }
    for (int i = 0; i < count; i += L) {
        LANE rows[L];
        for (int j = 0; j < L; j++) rows[j] = i + j < count ? in[i + j] : (LANE){0};
        LANES(transpose)(rows);
        for (int w = 0; w < t->n_lanes; w++) LANES(store)(count - i, row + t->first[w] + i, rows[w]);
    }
}

/* Left and right become sum and difference where the line is symmetric. */
INLINE void NAME(pair)(int even, LANE *left, LANE *right) {
    if (even > 0) {
        LANE l = *left, r = *right;
        *left = r + l;
        *right = r - l;
    }
}

/* The values of the shell into t->shell; what lies beyond the end of the domain is zero. `row` gives the
 * address of node 0 of a row. */
static void NAME(gather_shell)(const struct brick_patches *p, struct NAME(batch) * t, int y0, int z0,
                               const REAL *x) {
    const struct brick_axis *ax = p->axis;
    const int m0 = t->m[0], m1 = t->m[1], m2 = t->m[2];
    const int64_t nx = ax[0].n_nodes, ny = ax[1].n_nodes, nz = ax[2].n_nodes;
    const int left = t->first[0] > 0 || ax[0].periodic,
              right = t->first[t->n_lanes - 1] + m0 < nx || ax[0].periodic;
    LANE *X = t->shell[0], *Y = t->shell[1], *Z = t->shell[2];
    const int64_t half_x = (int64_t)(m2 + 2) * (m1 + 2), half_y = (int64_t)(m2 + 2) * m0,
                  half_z = (int64_t)m1 * m0;
    const LANE zero = {0};
    for (int c = -1; c <= m2; c++) {
        const int z = ax[2].periodic ? NAME(wrap)(z0 + c, (int)nz) : z0 + c;
        for (int b = -1; b <= m1; b++) {
            const int y = ax[1].periodic ? NAME(wrap)(y0 + b, (int)ny) : y0 + b;
            const int exists = z >= 0 && z < nz && y >= 0 && y < ny, inner_b = b >= 0 && b < m1;
            const REAL *row = x + ((int64_t)z * ny + y) * nx;
            LANE *l = X + (int64_t)(c + 1) * (m1 + 2) + b + 1, *r = l + half_x;
            *l = exists && left ? NAME(gather_node)(t, (int)nx, -1, row) : zero;
            *r = !exists || !right ? zero
                 : t->chained
                     ? __builtin_shufflevector(*l, (LANE){row[t->first[L - 1] + m0]}, 1, 2, 3, 4, 5, 6, 7, 8)
                     : NAME(gather_node)(t, (int)nx, m0, row);
            NAME(pair)(t->line[0]->even, l, r);
            if (inner_b && c >= 0 && c < m2) continue;
            LANE *to = !inner_b ? Y + (b < 0 ? 0 : half_y) + (int64_t)(c + 1) * m0
                                : Z + (c < 0 ? 0 : half_z) + (int64_t)b * m0;
            if (exists)
                NAME(gather_row)(t, (int)nx, 0, m0, row, to);
            else
                for (int a = 0; a < m0; a++) to[a] = zero;
        }
    }
    for (int64_t i = 0; i < half_y; i++) NAME(pair)(t->line[1]->even, Y + i, Y + half_y + i);
    for (int64_t i = 0; i < half_z; i++) NAME(pair)(t->line[2]->even, Z + i, Z + half_z + i);
}

/* Modes in direction d of a face of the shell that contains its edges: w are `count` lines of m + 2 nodes,
 * `stride` apart along the line and `step` from line to line. by_M gets S' M w, by_A gets S' A w. */
static void NAME(shell_modes)(const struct NAME(batch) * t, int d, int count, int64_t step, int64_t stride,
                              const LANE *w, int64_t out_step, int64_t out_stride, LANE *by_M, LANE *by_A) {
    const int m = t->m[d];
    const REAL *mu = t->table[d] + t->at[d].mu, *alpha = t->table[d] + t->at[d].alpha;
    const REAL *eigenvalues = t->table[d] + t->at[d].eigenvalues;
    NAME(all_to_modes)
    (m, t->line[d]->even, t->table[d] + t->at[d].T, count, step, stride, w + stride, out_step, out_stride,
     by_M);
    for (int l = 0; l < count; l++) {
        const LANE left = w[l * step], right = w[l * step + (int64_t)(m + 1) * stride];
        for (int a = 0; a < m; a++) {
            const LANE inner = by_M[l * out_step + a * out_stride];
            by_M[l * out_step + a * out_stride] = inner + mu[a] * left + mu[m + a] * right;
            by_A[l * out_step + a * out_stride] =
                eigenvalues[a] * inner + alpha[a] * left + alpha[m + a] * right;
        }
    }
}

/* P and Q of the faces normal to direction 0: pairs by (b, c). */
static void NAME(shell_x)(struct NAME(batch) * t) {
    const int m1 = t->m[1], m2 = t->m[2];
    const int64_t half = (int64_t)(m2 + 2) * (m1 + 2), size = (int64_t)m1 * m2;
    LANE *M = t->work, *A = M + (int64_t)m1 * (m2 + 2), *AM = A + (int64_t)m1 * (m2 + 2), *AA = AM + size;
    for (int s = 0; s < 2; s++) {
        LANE *P = t->P[0] + s * size, *Q = t->Q[0] + s * size;
        /* along 1: by (b, z) with z = 0 .. m2 + 1 */
        NAME(shell_modes)(t, 1, m2 + 2, m1 + 2, 1, t->shell[0] + s * half, 1, m2 + 2, M, A);
        NAME(shell_modes)(t, 2, m1, m2 + 2, 1, M, m2, 1, Q, P);
        NAME(shell_modes)(t, 2, m1, m2 + 2, 1, A, m2, 1, AM, AA);
        for (int64_t i = 0; i < size; i++) {
            const LANE MM = Q[i];
            P[i] = t->k * (AM[i] + P[i]) + t->lambda * MM;
            Q[i] = t->k * MM;
        }
    }
}

/* Normal to direction 1: pairs by (a, c). */
static void NAME(shell_y)(struct NAME(batch) * t) {
    const int m0 = t->m[0], m2 = t->m[2];
    const int64_t half = (int64_t)(m2 + 2) * m0, size = (int64_t)m0 * m2;
    const REAL *eigenvalues = t->table[0] + t->at[0].eigenvalues;
    for (int s = 0; s < 2; s++) {
        LANE *P = t->P[1] + s * size, *Q = t->Q[1] + s * size, *w = t->shell[1] + s * half;
        NAME(all_to_modes)(m0, t->line[0]->even, t->table[0] + t->at[0].T, m2 + 2, m0, 1, w, m0, 1, w);
        NAME(shell_modes)(t, 2, m0, 1, m0, w, m2, 1, Q, P);
        for (int a = 0; a < m0; a++)
            for (int c = 0; c < m2; c++) {
                LANE MM = Q[a * m2 + c];
                P[a * m2 + c] = t->k * (P[a * m2 + c] + eigenvalues[a] * MM) + t->lambda * MM;
                Q[a * m2 + c] = t->k * MM;
            }
    }
}

/* Normal to direction 2: pairs by (b, a). */
static void NAME(shell_z)(struct NAME(batch) * t) {
    const int m0 = t->m[0], m1 = t->m[1];
    const int64_t size = (int64_t)m0 * m1;
    const REAL *along0 = t->table[0] + t->at[0].eigenvalues, *along1 = t->table[1] + t->at[1].eigenvalues;
    for (int s = 0; s < 2; s++) {
        LANE *P = t->P[2] + s * size, *Q = t->Q[2] + s * size, *w = t->shell[2] + s * size;
        NAME(all_to_modes)(m0, t->line[0]->even, t->table[0] + t->at[0].T, m1, m0, 1, w, m0, 1, w);
        NAME(all_to_modes)(m1, t->line[1]->even, t->table[1] + t->at[1].T, m0, 1, m0, w, 1, m0, Q);
        for (int b = 0; b < m1; b++)
            for (int a = 0; a < m0; a++) {
                LANE g = Q[b * m0 + a];
                P[b * m0 + a] = (t->k * (along0[a] + along1[b]) + t->lambda) * g;
                Q[b * m0 + a] = t->k * g;
            }
    }
}

/* The modes r of the line (a, b) along direction 2, from loads to the solution: the shell is taken off, and
 * what is left divided by Z. */
INLINE void NAME(divide)(const int m, const int even, const struct NAME(batch) * t, int a, int b, LANE *r) {
    const int m0 = t->m[0], m1 = t->m[1];
    const REAL *mu0 = t->table[0] + t->at[0].mu, *alpha0 = t->table[0] + t->at[0].alpha;
    const REAL *mu1 = t->table[1] + t->at[1].mu, *alpha1 = t->table[1] + t->at[1].alpha;
    const REAL *mu2 = t->table[2] + t->at[2].mu, *alpha2 = t->table[2] + t->at[2].alpha;
    const REAL *inverse = t->inverse + ((int64_t)a * m1 + b) * m;
    if (t->divides) {
        const LANE base =
            t->ratio + (t->table[0][t->at[0].eigenvalues + a] + t->table[1][t->at[1].eigenvalues + b]);
        for (int c = 0; c < m; c++) r[c] /= base + t->table[2][t->at[2].eigenvalues + c];
        return;
    }
    if (t->plain) {
        for (int c = 0; c < m; c++) r[c] *= inverse[c];
        return;
    }
    const int64_t size0 = (int64_t)m1 * m, size1 = (int64_t)m0 * m, size2 = (int64_t)m0 * m1;
    const int even0 = t->line[0]->even, even1 = t->line[1]->even;
    for (int s = 0; s < 2; s++) { /* across a symmetric line a mode sees the sum or the difference */
        if (even0 > 0 && s != (a >= even0)) continue;
        const LANE *P = t->P[0] + s * size0 + (int64_t)b * m, *Q = t->Q[0] + s * size0 + (int64_t)b * m;
        const REAL u = mu0[even0 > 0 ? m0 + a : s * m0 + a], v = alpha0[even0 > 0 ? m0 + a : s * m0 + a];
        for (int c = 0; c < m; c++) r[c] -= u * P[c] + v * Q[c];
    }
    for (int s = 0; s < 2; s++) {
        if (even1 > 0 && s != (b >= even1)) continue;
        const LANE *P = t->P[1] + s * size1 + (int64_t)a * m, *Q = t->Q[1] + s * size1 + (int64_t)a * m;
        const REAL u = mu1[even1 > 0 ? m1 + b : s * m1 + b], v = alpha1[even1 > 0 ? m1 + b : s * m1 + b];
        for (int c = 0; c < m; c++) r[c] -= u * P[c] + v * Q[c];
    }
    const LANE P0 = t->P[2][(int64_t)b * m0 + a], Q0 = t->Q[2][(int64_t)b * m0 + a];
    const LANE P1 = t->P[2][size2 + (int64_t)b * m0 + a], Q1 = t->Q[2][size2 + (int64_t)b * m0 + a];
    if (even > 0) {
        for (int c = 0; c < even; c++) r[c] = (r[c] - mu2[m + c] * P0 - alpha2[m + c] * Q0) * inverse[c];
        for (int c = even; c < m; c++) r[c] = (r[c] - mu2[m + c] * P1 - alpha2[m + c] * Q1) * inverse[c];
    } else {
        for (int c = 0; c < m; c++)
            r[c] = (r[c] - mu2[c] * P0 - alpha2[c] * Q0 - mu2[m + c] * P1 - alpha2[m + c] * Q1) * inverse[c];
    }
}

#define SOLVE_LINES(M)                                                                                       \
    SIZED NAME(solve_lines_##M)(const struct NAME(batch) * t) {                                              \
        const int m0 = t->m[0], m1 = t->m[1];                                                                \
        const int64_t stride = (int64_t)m0 * m1;                                                             \
        LANE r[M], *line = t->volume;                                                                        \
        for (int b = 0; b < m1; b++)                                                                         \
            for (int a = 0; a < m0; a++, line++) {                                                           \
                NAME(to_modes)(M, t->table[2] + t->at[2].F, stride, line, 1, r);                             \
                NAME(divide)(M, (M + 1) / 2, t, a, b, r);                                                    \
                NAME(to_nodes)(M, t->table[2] + t->at[2].B, 1, r, stride, line);                             \
            }                                                                                                \
    }
SIZES(SOLVE_LINES)
#undef SOLVE_LINES
#define SOLVE_LINES(M)                                                                                       \
    case M:                                                                                                  \
        NAME(solve_lines_##M)(t);                                                                            \
        return;
/* Along direction 2 everything at once: into modes, divided, back into nodes. */
static __attribute__((noinline)) void NAME(solve_lines)(const struct NAME(batch) * t) {
    const int m0 = t->m[0], m1 = t->m[1], m = t->m[2], even = t->line[2]->even;
    const int64_t stride = (int64_t)m0 * m1;
    LANE r[BRICK_MAX_FREE + 3], *line = t->volume;
    if (even > 0) switch (m) {
            SIZES(SOLVE_LINES)
        }
    for (int b = 0; b < m1; b++)
        for (int a = 0; a < m0; a++, line++) {
            NAME(to_modes_any)(m, even, t->table[2] + t->at[2].F, stride, line, 1, r);
            NAME(divide)(m, even, t, a, b, r);
            NAME(to_nodes_any)(m, even, t->table[2] + t->at[2].B, 1, r, stride, line);
        }
}

static void NAME(set_inverse)(struct NAME(batch) * t) {
    if (t->inverse_of[0] == t->line[0] && t->inverse_of[1] == t->line[1] && t->inverse_of[2] == t->line[2])
        return;
    const REAL *e0 = t->table[0] + t->at[0].eigenvalues, *e1 = t->table[1] + t->at[1].eigenvalues;
    const REAL *e2 = t->table[2] + t->at[2].eigenvalues;
    REAL *inverse = t->inverse;
    for (int a = 0; a < t->m[0]; a++)
        for (int b = 0; b < t->m[1]; b++, inverse += t->m[2])
            for (int c = 0; c < t->m[2]; c++) inverse[c] = 1 / (t->lambda + t->k * (e0[a] + e1[b] + e2[c]));
    for (int d = 0; d < 3; d++) t->inverse_of[d] = t->line[d];
}

static void NAME(set_line)(struct NAME(batch) * t, int d, const struct brick_line *line) {
    t->line[d] = line;
    t->m[d] = line->m;
    t->at[d] = brick_layout(line->m, line->even);
    t->table[d] = line->TABLE;
}

/* The rows of the free nodes of the batch, by (c, b). */
INLINE int64_t NAME(free_row)(const struct brick_patches *p, int y0, int z0, int b, int c) {
    const int64_t y = NAME(wrap)(y0 + b, p->axis[1].n_nodes), z = NAME(wrap)(z0 + c, p->axis[2].n_nodes);
    return (z * p->axis[1].n_nodes + y) * p->axis[0].n_nodes;
}

/* A row of m nodes as lanes, and back: m is a constant wherever this is inlined. */
INLINE void NAME(row_in)(const int m, const struct NAME(batch) * t, const REAL *row, LANE *x) {
#pragma GCC unroll 4
    for (int i = 0; i < m; i += L) {
        LANE rows[L];
#pragma GCC unroll 8
        for (int w = 0; w < L; w++) rows[w] = LANES(load)(m - i, row + t->first[w] + i);
        LANES(transpose)(rows);
#pragma GCC unroll 8
        for (int j = 0; j < L; j++)
            if (i + j < m) x[i + j] = rows[j];
    }
}
INLINE void NAME(row_out)(const int m, const struct NAME(batch) * t, const LANE *x, REAL *row) {
#pragma GCC unroll 4
    for (int i = 0; i < m; i += L) {
        LANE rows[L];
#pragma GCC unroll 8
        for (int j = 0; j < L; j++) rows[j] = i + j < m ? x[i + j] : (LANE){0};
        LANES(transpose)(rows);
#pragma GCC unroll 8
        for (int w = 0; w < L; w++)
            if (w < t->n_lanes) LANES(store)(m - i, row + t->first[w] + i, rows[w]);
    }
}

#define ROWS_IN(M)                                                                                           \
    case M:                                                                                                  \
        for (int b = 0; b < t->m[1]; b++) {                                                                  \
            LANE x[M];                                                                                       \
            NAME(row_in)(M, t, from + NAME(free_row)(p, y0, z0, b, c), x);                                   \
            NAME(to_modes)(M, F, 1, x, 1, at + (int64_t)b * M);                                              \
        }                                                                                                    \
        return;
/* Rows of plane c from a vector into modes of direction 0. */
static __attribute__((noinline)) void NAME(rows_in)(const struct brick_patches *p,
                                                    const struct NAME(batch) * t, int y0, int z0, int c,
                                                    const REAL *from, LANE *at) {
    const REAL *F = t->table[0] + t->at[0].F;
    const int m0 = t->m[0];
    if (t->line[0]->even > 0 && !t->wraps) switch (m0) {
            ROW_SIZES(ROWS_IN)
        }
    for (int b = 0; b < t->m[1]; b++) NAME(gather_row)
    (t, p->axis[0].n_nodes, 0, m0, from + NAME(free_row)(p, y0, z0, b, c), at + (int64_t)b * m0);
    NAME(all_to_modes)(m0, t->line[0]->even, F, t->m[1], m0, 1, at, m0, 1, at);
}

#define ROWS_OUT(M)                                                                                          \
    case M:                                                                                                  \
        for (int b = 0; b < t->m[1]; b++) {                                                                  \
            LANE x[M];                                                                                       \
            NAME(to_nodes)(M, B, 1, at + (int64_t)b * M, 1, x);                                              \
            NAME(row_out)(M, t, x, to + NAME(free_row)(p, y0, z0, b, c));                                    \
        }                                                                                                    \
        return;
/* Rows of plane c from modes of direction 0 into a vector. */
static __attribute__((noinline)) void NAME(rows_out)(const struct brick_patches *p,
                                                     const struct NAME(batch) * t, int y0, int z0, int c,
                                                     LANE *at, REAL *to) {
    const REAL *B = t->table[0] + t->at[0].B;
    const int m0 = t->m[0];
    if (t->line[0]->even > 0 && !t->wraps) switch (m0) {
            ROW_SIZES(ROWS_OUT)
        }
    NAME(all_to_nodes)(m0, t->line[0]->even, B, t->m[1], m0, 1, at, at);
    for (int b = 0; b < t->m[1]; b++) NAME(scatter_row)
    (t, p->axis[0].n_nodes, m0, at + (int64_t)b * m0, to + NAME(free_row)(p, y0, z0, b, c));
}

/* Solves the patches of the batch, whose columns begin at y0 and z0 in the other directions: x on their free
 * nodes. */
static void NAME(solve_batch)(const struct brick_patches *p, struct NAME(batch) * t, int y0, int z0,
                              const REAL *b, REAL *x) {
    const int m0 = t->m[0], m1 = t->m[1], m2 = t->m[2];
    const int64_t plane = (int64_t)m0 * m1;
    NAME(set_inverse)(t);
    NAME(gather_shell)(p, t, y0, z0, x);
    NAME(shell_x)(t);
    NAME(shell_y)(t);
    NAME(shell_z)(t);
    for (int c = 0; c < m2; c++) {
        LANE *at = t->volume + c * plane;
        NAME(rows_in)(p, t, y0, z0, c, b, at);
        NAME(all_to_modes)(m1, t->line[1]->even, t->table[1] + t->at[1].F, m0, 1, m0, at, 1, m0, at);
    }
    NAME(solve_lines)(t);
    for (int c = 0; c < m2; c++) {
        LANE *at = t->volume + c * plane;
        NAME(all_to_nodes)(m1, t->line[1]->even, t->table[1] + t->at[1].B, m0, 1, m0, at, at);
        NAME(rows_out)(p, t, y0, z0, c, at, x);
    }
}

/* Scratch of one thread, in lanes. */
INLINE int64_t NAME(batch_lanes)(int64_t m, int64_t n) {
    const int64_t face = (m + 2) * (m + 2);
    return 4 * m * m * m + 3 * 2 * face + 6 * 2 * m * m + 4 * face + (m * m * m + L - 1) / L + n * n * n;
}

static void NAME(batch_begin)(const struct brick_patches *p, int64_t m, LANE *scratch,
                              struct NAME(batch) * t) {
    const int64_t face = (m + 2) * (m + 2);
    *t = (struct NAME(batch)){
        .k = (REAL)p->cells->k, .lambda = (REAL)p->cells->lambda, .volume = scratch, .plain = is_plain(p)};
    t->approximate = p->cells->conductivity != NULL || p->cells->reaction != NULL;
    t->divides = t->approximate && (p->cells->reaction != NULL || p->cells->lambda != 0);
    if (t->approximate) {
        t->k = 1;
        t->lambda = 0;
        t->inner = p->inner;
    }
    t->residual = scratch += m * m * m;
    t->step = scratch += m * m * m;
    t->result = scratch += m * m * m;
    scratch += m * m * m;
    for (int d = 0; d < 3; d++, scratch += 2 * face) t->shell[d] = scratch;
    for (int d = 0; d < 3; d++, scratch += 4 * m * m) {
        t->P[d] = scratch;
        t->Q[d] = scratch + 2 * m * m;
    }
    t->work = scratch;
    scratch += 4 * face;
    t->inverse = (REAL *)scratch;
    t->cell = scratch + (m * m * m + L - 1) / L;
}

#undef ROWS_IN
#undef ROWS_OUT
#undef TO_MODES
#undef TO_NODES
#undef SOLVE_LINES
#undef SIZED
