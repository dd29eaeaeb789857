/* The loops of the vertex stars for numbers of type REAL: stars.c includes this once for each
 * precision, with NAME(what) giving the names. Rows of all arrays are padded with zeros to whole vectors. */

typedef REAL NAME(vector) __attribute__((vector_size(64), may_alias));
#define VECTOR NAME(vector)
#define LANES  ((int)(64 / sizeof(REAL)))

/* A chain of a star: the cells across, folded where they are mirror images. Q carries the factor 1/sqrt(2) of
 * the fold. */
struct NAME(star_axis) {
    int m, cells;       /* modes in all; cells: 1 or 2 */
    int has_plane;      /* whether there is a free plane */
    int sizes[2];       /* of the parities */
    int starts[2], row; /* where their padded parts begin in a row, and its length */
    REAL *Q[2];         /* forward along rows and backward along columns: modes x padded eigenvectors */
    REAL *Q_turned[2];  /* the other two: eigenvectors x padded modes */
    REAL *P;            /* padded row of eigenvectors: zero beyond the first parity of a folded chain */
    double *theta;      /* padded row */
    REAL inverse;       /* of G */
    REAL *signs;        /* padded: 1 for even modes, -1 for odd ones */
};

/* One line of cells: b and its signs as a cell wants them. */
struct NAME(star_line) {
    REAL *b[2],
        *both[2];  /* padded. b: of even, of odd modes, zeros elsewhere; both: seen from below, above */
    REAL opposite; /* gamma_0 - gamma_1 */
    REAL gamma[2];
};

/* C (M x N) = A (M x K) B (K x N): rows of C in fours, columns by vectors; N is padded. */
__attribute__((always_inline)) static inline void
NAME(tile)(int rows, int vectors, int K, const REAL *A, int lda, const REAL *B, int ldb, REAL *C, int ldc) {
    VECTOR sum[4][2];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) sum[i][v] = (VECTOR){0};
    for (int k = 0; k < K; k++) {
        VECTOR b[2];
        for (int v = 0; v < vectors; v++) b[v] = *(const VECTOR *)(B + k * ldb + v * LANES);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) sum[i][v] += A[i * lda + k] * b[v];
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) *(VECTOR *)(C + i * ldc + v * LANES) = sum[i][v];
}

static void NAME(multiply)(int M, int N, int K, const REAL *A, int lda, const REAL *B, int ldb, REAL *C,
                           int ldc) {
    for (int n = 0; n < N; n += 2 * LANES) {
        int two = n + LANES < N, m = 0;
        for (; m + 4 <= M; m += 4) {
            if (two)
                NAME(tile)(4, 2, K, A + m * lda, lda, B + n, ldb, C + m * ldc + n, ldc);
            else
                NAME(tile)(4, 1, K, A + m * lda, lda, B + n, ldb, C + m * ldc + n, ldc);
        }
        for (; m < M; m++) {
            if (two)
                NAME(tile)(1, 2, K, A + m * lda, lda, B + n, ldb, C + m * ldc + n, ldc);
            else
                NAME(tile)(1, 1, K, A + m * lda, lda, B + n, ldb, C + m * ldc + n, ldc);
        }
    }
}

/* ------------------------------------------------------------------------------------- the planes */

/* Rows of one or two pieces of n modes to a padded row by parities. */
static void NAME(fold_row)(const struct NAME(star_axis) * a, int n, const REAL *scales, const REAL *one,
                           const REAL *two, REAL *to) {
    REAL s = scales[0], t = scales[1];
    if (a->sizes[1] == 0 || a->cells == 1) { /* one parity: as they are */
        for (int j = 0; j < n; j++) to[j] = s * one[j];
        for (int j = 0; j < n && a->cells == 2; j++) to[n + j] = t * two[j];
        return;
    }
    REAL *odd = to + a->starts[1];
    for (int j = 0; j < n; j++) {
        REAL first = s * one[j], second = t * a->signs[j] * two[j];
        to[j] = first + second;
        odd[j] = first - second;
    }
}
static void NAME(unfold_row)(const struct NAME(star_axis) * a, int n, const REAL *scales, const REAL *from,
                             REAL *one, REAL *two) {
    REAL s = scales[0], t = scales[1];
    if (a->sizes[1] == 0 || a->cells == 1) {
        for (int j = 0; j < n; j++) one[j] = s * from[j];
        for (int j = 0; j < n && a->cells == 2; j++) two[j] = t * from[n + j];
        return;
    }
    const REAL *odd = from + a->starts[1];
    for (int j = 0; j < n; j++) {
        one[j] = s * (from[j] + odd[j]);
        two[j] = t * a->signs[j] * (from[j] - odd[j]);
    }
}

/* The same between rows of an array of m rows. */
static void NAME(fold_rows)(const struct NAME(star_axis) * a, int n, int back, int width, REAL *x) {
    if (a->sizes[1] == 0 || a->cells == 1) return;
    for (int k = 0; k < n; k++) {
        REAL *one = x + k * width, *two = x + (n + k) * width, sign = a->signs[k];
        for (int j = 0; j < width; j += LANES) {
            VECTOR u = *(VECTOR *)(one + j), v = *(VECTOR *)(two + j);
            if (back) {
                *(VECTOR *)(one + j) = u + v;
                *(VECTOR *)(two + j) = sign * (u - v);
            } else {
                *(VECTOR *)(one + j) = u + sign * v;
                *(VECTOR *)(two + j) = u - sign * v;
            }
        }
    }
}

/* hat = Q' Q' of one plane; faces: [slow cell][fast cell], n x n each; on the way
 * back with `step` numbers from row to row. */
static void NAME(plane_forward)(const struct NAME(star_axis) * fast, const struct NAME(star_axis) * slow,
                                int n_fast, int n_slow, const REAL scales[4], const REAL *const faces[4],
                                REAL *hat, REAL *work) {
    for (int r = 0; r < slow->m; r++) {
        const REAL *const *cells = faces + (r / n_slow) * 2;
        int at = r % n_slow * n_fast;
        NAME(fold_row)
        (fast, n_fast, scales + (r / n_slow) * 2, cells[0] + at, fast->cells == 2 ? cells[1] + at : NULL,
         hat + r * fast->row);
    }
    for (int b = 0; b < 2; b++) {
        int start = fast->starts[b];
        if (fast->sizes[b] > 0) NAME(multiply)
        (slow->m, (b == 0 ? fast->starts[1] : fast->row) - start, fast->sizes[b], hat + start, fast->row,
         fast->Q[b], (b == 0 ? fast->starts[1] : fast->row) - start, work + start, fast->row);
    }
    NAME(fold_rows)(slow, n_slow, 0, fast->row, work);
    for (int b = 0, first = 0; b < 2; first += slow->sizes[b++])
        if (slow->sizes[b] > 0) NAME(multiply)
    (slow->sizes[b], fast->row, slow->sizes[b], slow->Q_turned[b],
     (b == 0 ? slow->starts[1] : slow->row) - slow->starts[b], work + first * fast->row, fast->row,
     hat + first * fast->row, fast->row);
}

static void NAME(plane_back)(const struct NAME(star_axis) * fast, const struct NAME(star_axis) * slow,
                             int n_fast, int n_slow, const REAL scales[4], int step, REAL *hat,
                             REAL *const faces[4], REAL *work) {
    for (int b = 0, first = 0; b < 2; first += slow->sizes[b++])
        if (slow->sizes[b] > 0) NAME(multiply)
    (slow->sizes[b], fast->row, slow->sizes[b], slow->Q[b],
     (b == 0 ? slow->starts[1] : slow->row) - slow->starts[b], hat + first * fast->row, fast->row,
     work + first * fast->row, fast->row);
    NAME(fold_rows)(slow, n_slow, 1, fast->row, work);
    for (int b = 0; b < 2; b++) {
        int start = fast->starts[b];
        if (fast->sizes[b] > 0) NAME(multiply)
        (slow->m, (b == 0 ? fast->starts[1] : fast->row) - start, fast->sizes[b], work + start, fast->row,
         fast->Q_turned[b], (b == 0 ? fast->starts[1] : fast->row) - start, hat + start, fast->row);
    }
    for (int r = 0; r < slow->m; r++) {
        REAL *const *cells = faces + (r / n_slow) * 2;
        int at = r % n_slow * step;
        NAME(unfold_row)
        (fast, n_fast, scales + (r / n_slow) * 2, hat + r * fast->row, cells[0] + at,
         fast->cells == 2 ? cells[1] + at : NULL);
    }
}

/* 1 / (rest + theta_1 + theta_2) in rows of theta_1; what does not exceed `least` becomes 0. */
static void NAME(invert)(const struct NAME(star_axis) * x, const struct NAME(star_axis) * y, double rest,
                         double least, REAL *table) {
    for (int j = 0; j < y->m; j++) {
        double sum = rest + y->theta[j < y->sizes[0] ? j : y->starts[1] + j - y->sizes[0]];
        for (int i = 0; i < x->row; i++) {
            double value = sum + x->theta[i];
            *table++ = value > least ? (REAL)(1.0 / value) : 0;
        }
    }
}

/* ------------------------------------------------------------------------------------- the middle */

/* What one row of numbers needs: vectors of it, known where this is instantiated. */
#define MOST 5 /* degree 32 in double precision */
#define EACH(V, call)                                                                                        \
    switch (V) {                                                                                             \
    case 1:                                                                                                  \
        call(1);                                                                                             \
        break;                                                                                               \
    case 2:                                                                                                  \
        call(2);                                                                                             \
        break;                                                                                               \
    case 3:                                                                                                  \
        call(3);                                                                                             \
        break;                                                                                               \
    case 4:                                                                                                  \
        call(4);                                                                                             \
        break;                                                                                               \
    default:                                                                                                 \
        call(V);                                                                                             \
        break;                                                                                               \
    }

/* One part of the rows of a plane theta_3, theta_2 in a range of one parity, V vectors of theta_1:
 * u = (P1 f1 + p2 F2 + p3 F3) inverse;  G1 += P1 u, G2 += p2 u, G3 += p3 u. With on1, on2, on3 constant, what
 * vanishes by parity is left out. f1, p2, G1: one number a row; F3, G3, inverse: a row every `step`. */
__attribute__((always_inline)) static inline void NAME(part)(int on1, int on2, int on3, int V, int rows,
                                                             int step, const REAL *P1, const REAL *f1,
                                                             const REAL *p2, REAL p3, const REAL *F2,
                                                             const REAL *F3, const REAL *inverse, REAL *G1,
                                                             REAL *G2, REAL *G3) {
    VECTOR f2[2 * MOST], g2[2 * MOST];
    for (int v = 0; on2 && v < V; v++) {
        f2[v] = *(const VECTOR *)(F2 + v * LANES);
        g2[v] = (VECTOR){0};
    }
    for (int first = 0; first < rows; first += LANES) {
        VECTOR sums[LANES];
        for (int r = 0; r < LANES; r++) sums[r] = (VECTOR){0};
        for (int r = 0; r < LANES && first + r < rows; r++) {
            int64_t at = (int64_t)(first + r) * step;
            for (int v = 0; v < V; v++) {
                VECTOR u = {0};
                if (on1) u += f1[first + r] * *(const VECTOR *)(P1 + v * LANES);
                if (on2) u += p2[first + r] * f2[v];
                if (on3) u += p3 * *(const VECTOR *)(F3 + at + v * LANES);
                u *= *(const VECTOR *)(inverse + at + v * LANES);
                if (on1) sums[r] += u * *(const VECTOR *)(P1 + v * LANES);
                if (on2) g2[v] += p2[first + r] * u;
                if (on3) *(VECTOR *)(G3 + at + v * LANES) += p3 * u;
            }
        }
        if (on1) *(VECTOR *)(G1 + first) += NAME(sum_rows)(sums);
    }
    for (int v = 0; on2 && v < V; v++) *(VECTOR *)(G2 + v * LANES) += g2[v];
}

/* The parts of one parity of theta_1, `on1` its own, for the parities of the others. */
__attribute__((always_inline)) static inline void NAME(parts)(int on1, int on2, int on3, int V, int rows,
                                                              int step, const REAL *P1, const REAL *f1,
                                                              const REAL *p2, REAL p3, const REAL *F2,
                                                              const REAL *F3, const REAL *inverse, REAL *G1,
                                                              REAL *G2, REAL *G3) {
#define PART(a, b, c, n) NAME(part)(a, b, c, n, rows, step, P1, f1, p2, p3, F2, F3, inverse, G1, G2, G3)
#define PART_00(n)       PART(on1, 0, 0, n)
#define PART_01(n)       PART(on1, 0, 1, n)
#define PART_10(n)       PART(on1, 1, 0, n)
#define PART_11(n)       PART(on1, 1, 1, n)
    if (on2 && on3) {
        EACH(V, PART_11)
    } else if (on2) {
        EACH(V, PART_10)
    } else if (on3) {
        EACH(V, PART_01)
    } else if (on1) {
        EACH(V, PART_00)
    }
#undef PART_00
#undef PART_01
#undef PART_10
#undef PART_11
#undef PART
}

/* F[d]: rows of the slower tangential eigenvectors; G[d] = inverse of G times F, plus P' u. inverses: NULL,
 * or 1 / (shift + theta_1 + theta_2 + theta_3); buffer: a plane of them. */
static void NAME(middle)(const struct NAME(star_axis) *const a[3], const REAL *inverses, double shift,
                         REAL *const F[3], REAL *const G[3], REAL *buffer) {
    const struct NAME(star_axis) *x = a[0], *y = a[1], *z = a[2];
    int64_t plane = (int64_t)y->m * x->row;
    for (int k = 0; k < z->m; k++) {
        int on3 = z->has_plane && k < z->sizes[0];
        int zp = k < z->sizes[0] ? k : z->starts[1] + k - z->sizes[0];
        const REAL *inverse = inverses != NULL ? inverses + k * plane : buffer;
        if (inverses == NULL) NAME(invert)(x, y, shift + z->theta[zp], 0.0, buffer);
        for (int b = 0, first = 0; b < 2; first += y->sizes[b++]) {
            int on2 = y->has_plane && b == 0, rows = y->sizes[b];
            REAL *f1 = F[0] + k * y->row + y->starts[b], *G1 = G[0] + k * y->row + y->starts[b];
            REAL *p2 = y->P + y->starts[b], *F2 = F[1] + k * x->row, *G2 = G[1] + k * x->row;
            for (int c = 0; c < 2; c++) {
                int64_t from = x->starts[c], at = (int64_t)first * x->row + from;
                int V = (int)((c == 0 ? x->starts[1] : x->row) - from) / LANES;
                if (V == 0) continue;
                if (c == 0 && x->has_plane) NAME(parts)
                (1, on2, on3, V, rows, x->row, x->P, f1, p2, z->P[zp], F2, F[2] + at, inverse + at, G1, G2,
                 G[2] + at);
                else NAME(parts)(0, on2, on3, V, rows, x->row, NULL, NULL, p2, z->P[zp], F2 + from, F[2] + at,
                                 inverse + at, NULL, G2 + from, G[2] + at);
            }
        }
    }
}

/* -------------------------------------------------------------------------------------- the cells */

/* What a cell takes and gives, d by d. One-sided: in[d][0] is the trace of its one face, out[d][0] the
 * residual of the opposite one, b_in and b_out the coefficients seen from the two. Two-sided: sums and
 * differences of both faces. All arrays padded rows of the faster tangential direction, zero where there is
 * nothing; the results are without the face terms. */
struct NAME(cell_data) {
    int n[3], row; /* modes; padded */
    const REAL *b_in[3][2], *b_out[3][2];
    int n_even;
    REAL a[3];
    REAL *in[3][2], *out[3][2];
};

/* Rows `first` to `last` of plane k, all of one parity pj where that matters. */
__attribute__((always_inline)) static inline void NAME(cell_rows)(int two_sided, int V, int k, int first,
                                                                  int last, int pj, int pk,
                                                                  const struct NAME(cell_data) * c,
                                                                  const REAL *inverses) {
    int row = V * LANES;
    const REAL *F2 = c->in[1][pj] + k * row, *F3 = c->in[2][pk], *in1[2], *b2 = c->b_in[1][pj];
    REAL in3 = c->a[2] * c->b_in[2][pk][k], out3 = c->b_out[2][pk][k], *G3 = c->out[2][pk];
    VECTOR f2[MOST], g2[MOST], b_in[2][MOST], b_out[2][MOST];
    for (int v = 0; v < V; v++) {
        f2[v] = c->a[1] * *(const VECTOR *)(F2 + v * LANES);
        g2[v] = *(VECTOR *)(c->out[1][pj] + k * row + v * LANES);
        for (int b = 0; b <= two_sided; b++) {
            b_in[b][v] = c->a[0] * *(const VECTOR *)(c->b_in[0][b] + v * LANES);
            b_out[b][v] = *(const VECTOR *)(c->b_out[0][b] + v * LANES);
        }
    }
    for (int b = 0; b <= two_sided; b++) in1[b] = c->in[0][b] + k * row;
    for (int group = first; group < last; group += LANES) {
        VECTOR sums[2][LANES];
        int count = last - group < LANES ? last - group : LANES;
        for (int r = 0; r < LANES; r++) sums[0][r] = sums[1][r] = (VECTOR){0};
        for (int r = 0; r < count; r++) {
            int j = group + r;
            const REAL *inverse = inverses + ((int64_t)k * c->n[1] + j) * row;
            REAL out2 = c->b_out[1][pj][j];
            for (int v = 0; v < V; v++) {
                VECTOR u = in1[0][j] * b_in[0][v];
                if (two_sided) u += in1[1][j] * b_in[1][v];
                u += b2[j] * f2[v];
                u += in3 * *(const VECTOR *)(F3 + j * row + v * LANES);
                u *= *(const VECTOR *)(inverse + v * LANES);
                sums[0][r] += u * b_out[0][v];
                if (two_sided) sums[1][r] += u * b_out[1][v];
                g2[v] += out2 * u;
                *(VECTOR *)(G3 + j * row + v * LANES) += out3 * u;
            }
        }
        for (int b = 0; b <= two_sided; b++) {
            VECTOR total = NAME(sum_rows)(sums[b]);
            memcpy(c->out[0][b] + k * row + group, &total, (size_t)count * sizeof(REAL));
        }
    }
    for (int v = 0; v < V; v++) *(VECTOR *)(c->out[1][pj] + k * row + v * LANES) = g2[v];
}

__attribute__((always_inline)) static inline void
NAME(cell)(int two_sided, int V, const struct NAME(cell_data) * c, const REAL *inverses) {
    for (int k = 0; k < c->n[2]; k++) {
        int pk = two_sided && k >= c->n_even, split = two_sided && c->n[1] > 1 ? c->n_even : c->n[1];
        NAME(cell_rows)(two_sided, V, k, 0, split, 0, pk, c, inverses);
        if (split < c->n[1]) NAME(cell_rows)(two_sided, V, k, split, c->n[1], 1, pk, c, inverses);
    }
}
static void NAME(cell_one)(const struct NAME(cell_data) * c, const REAL *inverses) {
#define CELL(V) NAME(cell)(0, V, c, inverses)
    EACH(c->row / LANES, CELL)
#undef CELL
}
static void NAME(cell_two)(const struct NAME(cell_data) * c, const REAL *inverses) {
#define CELL(V) NAME(cell)(1, V, c, inverses)
    EACH(c->row / LANES, CELL)
#undef CELL
}
#undef EACH
