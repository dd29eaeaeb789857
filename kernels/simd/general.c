/* Cells whose map is curved or whose data vary, a batch at a time: integrals over points become products of a
 * table of numbers with lanes, all through one register tile; the rest is the algebra of dense.h.
 *
 * The floor, for tets of degree 3 with curves of order 2 and 64 points: 0.2 Mflop of integrals inside, 0.1 on
 * faces, 0.3 of algebra per cell, and the results written once. */
#include <omp.h>

#include "kernels/simd/dense.h"

/* ------------------------------------------------------------------------------- tables times lanes */

/* to[a step_a + b step_b] = (add: +=) sum_q A[q ld_A + a] B[q ld_B + b] for `rows` x `columns`. */
struct product {
    int depth;
    const double *A;
    int ld_A;
    const lane *B;
    int64_t ld_B;
    lane *to;
    int64_t step_a, step_b;
    int add;
};

INLINE void product_part(int rows, int columns, const struct product *p, int a0, int b0, int at) {
    packet sum[ROWS][COLUMNS];
    const double *A = p->A + a0;
    const packet *B = (const packet *)(p->B + b0) + at;
    packet *to = (packet *)(p->to + a0 * p->step_a + b0 * p->step_b) + at;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++)
            sum[a][b] = p->add ? to[(a * p->step_a + b * p->step_b) * PARTS] : (packet){0};
    for (int q = 0; q < p->depth; q++, A += p->ld_A, B += p->ld_B * PARTS) {
        packet right[COLUMNS];
        for (int b = 0; b < columns; b++)
            right[b] = *(const volatile packet *)(B + b * PARTS); /* loaded once */
        for (int a = 0; a < rows; a++)
            for (int b = 0; b < columns; b++) sum[a][b] += A[a] * right[b];
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++) to[(a * p->step_a + b * p->step_b) * PARTS] = sum[a][b];
}

INLINE void product_tile(int rows, int columns, const struct product *p, int a0, int b0) {
    for (int at = 0; at < PARTS; at++) product_part(rows, columns, p, a0, b0, at);
}

INLINE void product_row(int rows, const struct product *p, int a0, int first, int columns) {
    int b = first;
    for (; b + COLUMNS <= columns; b += COLUMNS) product_tile(rows, COLUMNS, p, a0, b);
    switch (columns - b) {
#if TUNE_TILE_COLUMNS > 3
    case 5:
        product_tile(rows, 5, p, a0, b);
        break;
    case 4:
        product_tile(rows, 4, p, a0, b);
        break;
    case 3:
        product_tile(rows, 3, p, a0, b);
        break;
#endif
    case 2:
        product_tile(rows, 2, p, a0, b);
        break;
    case 1:
        product_tile(rows, 1, p, a0, b);
        break;
    default:
        break;
    }
}

/* upper: only columns from the first row of a tile on. */
static void product(int rows, int columns, int upper, const struct product *p) {
    int a = 0;
    for (; a + ROWS <= rows; a += ROWS) product_row(ROWS, p, a, upper ? a : 0, columns);
    switch (rows - a) {
    case 3:
        product_row(3, p, a, upper ? a : 0, columns);
        break;
    case 2:
        product_row(2, p, a, upper ? a : 0, columns);
        break;
    case 1:
        product_row(1, p, a, upper ? a : 0, columns);
        break;
    default:
        break;
    }
}

void OF(table_apply)(int lanes, int64_t n_batches, int rows, int columns, int width, const double *table,
                     const double *in, double *out) {
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        struct product p = {.depth = columns,
                            .A = table,
                            .ld_A = rows,
                            .B = (const lane *)in + batch * columns * width,
                            .ld_B = width,
                            .to = (lane *)out + batch * rows * width,
                            .step_a = width,
                            .step_b = 1};
        product(rows, width, 0, &p);
    }
}

/* ------------------------------------------------------------------------------- maps */

/* C[c dim + a] = det J d xi_c / d x_a from J[b dim + a] = d x_a / d xi_b; returns det J. */
INLINE lane cofactors_of(int dim, const lane *J, lane *C) {
    if (dim == 2) {
        C[0] = J[3];
        C[1] = -J[2];
        C[2] = -J[1];
        C[3] = J[0];
        return J[0] * J[3] - J[1] * J[2];
    }
    for (int c = 0; c < 3; c++)
        for (int a = 0; a < 3; a++) {
            int c1 = (c + 1) % 3, c2 = (c + 2) % 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
            C[c * 3 + a] = J[c1 * 3 + a1] * J[c2 * 3 + a2] - J[c1 * 3 + a2] * J[c2 * 3 + a1];
        }
    return J[0] * C[0] + J[1] * C[1] + J[2] * C[2];
}

INLINE int all_positive(lane value) {
    int positive = 1;
    for (int w = 0; w < L; w++) positive &= value[w] > 0.0;
    return positive;
}

INLINE int metric_of_batch(int dim, int n, const double *w, const lane *points, lane *wJ, lane *cofactors) {
    int positive = 1;
    for (int q = 0; q < n; q++) {
        const lane *J = points + (int64_t)q * (1 + dim) * dim + dim;
        lane C[9], det = cofactors_of(dim, J, C);
        positive &= all_positive(det);
        wJ[q] = w[q] * det;
        for (int i = 0; i < dim * dim && cofactors != NULL; i++)
            cofactors[(int64_t)q * dim * dim + i] = w[q] * C[i];
    }
    return positive;
}

int64_t OF(cell_metric)(int lanes, int64_t n_batches, int dim, int n, const double *w, const double *points,
                        double *wJ, double *cofactors) {
    int64_t failed = INT64_MAX;
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const lane *from = (const lane *)points + batch * n * (1 + dim) * dim;
        lane *weights = (lane *)wJ + batch * n, *to = (lane *)cofactors;
        if (to != NULL) to += batch * n * dim * dim;
        int positive = dim == 2 ? metric_of_batch(2, n, w, from, weights, to)
                                : metric_of_batch(3, n, w, from, weights, to);
        if (!positive && batch < failed) failed = batch;
    }
    return failed == INT64_MAX ? -1 : failed;
}

INLINE void normals_of_batch(int dim, int n_faces, int n_face, const double *w, const double *reference,
                             const lane *points, lane *normals) {
    for (int f = 0; f < n_faces; f++)
        for (int q = 0; q < n_face; q++) {
            const lane *J = points + (int64_t)(f * n_face + q) * (1 + dim) * dim + dim;
            lane C[9], *to = normals + (int64_t)(f * n_face + q) * dim;
            (void)cofactors_of(dim, J, C);
            for (int a = 0; a < dim; a++) {
                lane sum = C[a] * reference[f * 3];
                for (int c = 1; c < dim; c++) sum += C[c * dim + a] * reference[f * 3 + c];
                to[a] = w[q] * sum;
            }
        }
}

void OF(face_metric)(int lanes, int64_t n_batches, int dim, int n_faces, int n_face, const double *w,
                     const double *reference, const double *points, double *normals) {
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        int64_t n = (int64_t)n_faces * n_face;
        const lane *from = (const lane *)points + batch * n * (1 + dim) * dim;
        lane *to = (lane *)normals + batch * n * dim;
        if (dim == 2)
            normals_of_batch(2, n_faces, n_face, w, reference, from, to);
        else
            normals_of_batch(3, n_faces, n_face, w, reference, from, to);
    }
}

/* ------------------------------------------------------------------------------- matrices */

/* The sizes, and where things lie: the flux mass A and X = [D_a | G_a], so that one elimination of the rows
 * of A leaves R^-T X: [A | X_0 | X_1 ..] or, full, all directions one below the other. */
struct layout {
    int dim, N, n, total; /* n: of the trace; total = N + n */
    int rows, columns;    /* of [A | X] */
    int full;
};

static struct layout layout_of(const struct general_tables *t, int full) {
    struct layout s = {.dim = t->dim, .N = t->N, .n = t->n_faces * t->m, .full = full};
    s.total = s.N + s.n;
    s.rows = full ? s.dim * s.N : s.N;
    s.columns = full ? s.rows + s.total : s.N + s.dim * s.total;
    return s;
}

/* Entry (0, 0) of X_a. */
static lane *part_of(const struct layout *s, lane *W, int a) {
    return s->full ? W + (int64_t)a * s->N * s->columns + s->rows : W + s->N + (int64_t)a * s->total;
}

/* Y (n x N) = w_q functions_qj. */
INLINE void weigh_functions(int n, int N, const double *functions, const lane *w, int64_t step, lane *Y) {
    for (int q = 0; q < n; q++)
        for (int j = 0; j < N; j++) Y[(int64_t)q * N + j] = w[q * step] * functions[(int64_t)q * N + j];
}

/* The upper triangles of (A) blocks: sum_q mass_q phi_i phi_j. */
static void mass_matrix(const struct general_tables *t, const struct layout *s, const lane *mass, lane *W,
                        lane *Y) {
    struct product p = {
        .depth = t->n, .A = t->phi, .ld_A = s->N, .B = Y, .ld_B = s->N, .step_a = s->columns, .step_b = 1};
    int pair = 0;
    for (int b = 0; b < (s->full ? s->dim : 1); b++)
        for (int a = 0; a <= b; a++, pair++) {
            weigh_functions(t->n, s->N, t->phi, mass + (int64_t)pair * t->n, 1, Y);
            p.to = W + (int64_t)a * s->N * s->columns + b * s->N;
            product(s->N, s->N, a == b, &p);
        }
}

/* D_a: rows of X_a, columns 0 .. N-1. */
INLINE void gradient_matrix(int dim, const struct general_tables *t, const struct layout *s,
                            const lane *cofactors, lane *W, lane *Y) {
    int N = s->N, n = t->n;
    for (int a = 0; a < dim; a++) {
        for (int q = 0; q < n; q++) {
            const lane *C = cofactors + (int64_t)q * dim * dim + a;
            lane *to = Y + (int64_t)q * N;
            const double *grad = t->grad + (int64_t)q * N;
            for (int i = 0; i < N; i++) {
                lane sum = C[0] * grad[i];
                for (int c = 1; c < dim; c++) sum += C[c * dim] * grad[(int64_t)c * n * N + i];
                to[i] = sum;
            }
        }
        /* D_a[i][j] = sum_q Y_qi phi_qj: rows of the product are columns of D */
        struct product p = {.depth = n,
                            .A = t->phi,
                            .ld_A = N,
                            .B = Y,
                            .ld_B = N,
                            .to = part_of(s, W, a),
                            .step_a = 1,
                            .step_b = s->columns};
        product(N, N, 0, &p);
    }
}

/* G_a of every face into X_a; E, T and H into C, which has the reaction already. */
static void face_matrices(const struct general_tables *t, const struct layout *s, const lane *normals,
                          const lane *tau, lane *W, lane *C, lane *Y) {
    int N = s->N, m = t->m, n = t->n_face, dim = s->dim;
    for (int f = 0; f < t->n_faces; f++) {
        const double *phi = t->face_phi + (int64_t)f * n * N;
        const lane *normal = normals + (int64_t)f * n * dim, *weight = tau + (int64_t)f * n;
        struct product p = {
            .depth = n, .A = phi, .ld_A = N, .B = Y, .ld_B = m, .step_a = s->columns, .step_b = 1};
        for (int a = 0; a < dim; a++) {
            weigh_functions(n, m, t->psi, normal + a, dim, Y);
            p.to = part_of(s, W, a) + N + f * m;
            product(N, m, 0, &p);
        }
        weigh_functions(n, m, t->psi, weight, 1, Y);
        p.step_a = s->total;
        p.to = C + N + f * m;
        product(N, m, 0, &p);
        p.A = t->psi;
        p.ld_A = m;
        p.to = C + (int64_t)(N + f * m) * s->total + N + f * m;
        product(m, m, 1, &p);
        weigh_functions(n, N, phi, weight, 1, Y);
        p.A = phi;
        p.ld_A = p.ld_B = N;
        p.to = C;
        p.add = 1;
        product(N, N, 1, &p);
    }
}

/* lambda M, or zero, into the upper left of C, zero elsewhere. */
static void reaction_matrix(const struct general_tables *t, const struct layout *s, const lane *reaction,
                            lane *C, lane *Y) {
    for (int64_t i = 0; i < (int64_t)s->total * s->total; i++) C[i] = (lane){0};
    if (reaction == NULL) return;
    struct product p = {.depth = t->n,
                        .A = t->phi,
                        .ld_A = s->N,
                        .B = Y,
                        .ld_B = s->N,
                        .to = C,
                        .step_a = s->total,
                        .step_b = 1};
    weigh_functions(t->n, s->N, t->phi, reaction, 1, Y);
    product(s->N, s->N, 1, &p);
}

/* X_c = sum_a root[a][c] X_a; root is lower triangular, so this works in place. */
static void mix_by_root(const struct layout *s, const lane *root, lane *W) {
    for (int c = 0; c < s->dim; c++)
        for (int i = 0; i < s->N; i++) {
            lane *to = part_of(s, W, c) + (int64_t)i * s->columns;
            for (int j = 0; j < s->total; j++) to[j] *= root[c * s->dim + c];
            for (int a = c + 1; a < s->dim; a++) {
                const lane *from = part_of(s, W, a) + (int64_t)i * s->columns;
                for (int j = 0; j < s->total; j++) to[j] += root[a * s->dim + c] * from[j];
            }
        }
}

/* C += X'X, the upper triangle. */
static void add_squares(const struct layout *s, lane *W, lane *C) {
    struct tile t = {
        .step_k = s->columns, .step_a = 1, .ld_B = s->columns, .ld_from = s->total, .ld_to = s->total};
    for (int i = 0; i < s->total; i += ROWS) {
        int rows = smaller(ROWS, s->total - i);
        t.from = t.to = C + (int64_t)i * (s->total + 1);
        for (int a = 0; a < (s->full ? 1 : s->dim); a++) {
            t.A = t.B = part_of(s, W, a) + i;
            tiles(rows, s->total - i, s->rows, ADD, &t);
        }
    }
}

/* Lanes of scratch of a thread: C; [A | X]; functions with weights; the inverse diagonals, and vectors. */
static int64_t general_lanes(const struct general_tables *t, int full) {
    struct layout s = layout_of(t, full);
    int64_t points = (int64_t)t->n * s.N, faces = (int64_t)t->n_face * (s.N > t->m ? s.N : t->m);
    int64_t turns = t->affine->n_turn > s.n ? t->affine->n_turn : s.n;
    return (int64_t)s.total * s.total + (int64_t)s.rows * s.columns + (points > faces ? points : faces) +
           s.rows + 2 * s.total + turns;
}

int64_t OF(condense_general_scratch)(const struct general_tables *t, int full) {
    return general_lanes(t, full) * L * base_threads();
}

/* (lambda, phi_j), or zero. */
static void reaction_moments(const struct general_tables *t, const lane *reaction, lane *moments) {
    for (int j = 0; j < t->N; j++) moments[j] = (lane){0};
    for (int q = 0; reaction != NULL && q < t->n; q++)
        for (int j = 0; j < t->N; j++) moments[j] += reaction[q] * t->phi[(int64_t)q * t->N + j];
}

int64_t OF(condense_general)(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                             double *factor, double *U, double *K, double *scratch) {
    struct layout s = layout_of(t, g->full);
    int N = s.N, n = s.n, total = s.total, dim = s.dim, pairs = g->full ? dim * (dim + 1) / 2 : 1;
    int64_t failed = INT64_MAX, n_face = (int64_t)t->n_faces * t->n_face;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *C = (lane *)scratch + omp_get_thread_num() * general_lanes(t, g->full);
        lane *W = C + (int64_t)total * total, *inverse = W + (int64_t)s.rows * s.columns;
        lane *moments = inverse + s.rows, *d = moments + total, *O = d + total;
        lane *Y = O + (t->affine->n_turn > n ? t->affine->n_turn : n);
        const lane *reaction = (const lane *)g->reaction, *cofactors = (const lane *)g->cofactors;
        if (reaction != NULL) reaction += batch * t->n;
        cofactors += batch * t->n * dim * dim;
        mass_matrix(t, &s, (const lane *)g->mass + batch * pairs * t->n, W, Y);
        if (dim == 2)
            gradient_matrix(2, t, &s, cofactors, W, Y);
        else
            gradient_matrix(3, t, &s, cofactors, W, Y);
        reaction_matrix(t, &s, reaction, C, Y);
        face_matrices(t, &s, (const lane *)g->normals + batch * n_face * dim,
                      (const lane *)g->tau + batch * n_face, W, C, Y);
        if (g->roots != NULL) mix_by_root(&s, (const lane *)g->roots + batch * dim * dim, W);
        int positive = factor_rows(s.rows, s.columns, W, inverse);
        add_squares(&s, W, C);
        positive &= eliminate(N, total, C, d);
        if (!positive && batch < failed) failed = batch;
        store_triangle(N, C, total, (lane *)factor + batch * (N * (N + 1) / 2));
        substitute_back(N, total, C, d);
        turn(t->affine, (const lane *)g->orientations + batch * t->n_faces, C, O);
        reaction_moments(t, reaction, moments);
        for (int j = 0; j < n; j++) d[j] = (lane){0};
        for (int i = 0; i < N && reaction != NULL; i++)
            for (int j = 0; j < n; j++) d[j] += moments[i] * C[(int64_t)i * total + N + j];
        restore_sums(n, total, t->n_faces, t->m, sqrt(t->affine->face), d, C + (int64_t)N * total + N);
        store_rows(N, n, C + N, total, (lane *)U + batch * N * n);
        store_triangle(n, C + (int64_t)N * total + N, total, (lane *)K + batch * (n * (n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- fluxes */

/* t (dim x N) = D u - G uhat, uhat in the orientations of the cell. */
static void flux_moments(const struct general_tables *t, const lane *cofactors, const lane *normals,
                         const lane *orientations, const lane *u, const lane *uhat, lane *to, lane *Y) {
    int dim = t->dim, N = t->N, m = t->m;
    lane turned[MAX_FACE];
    for (int i = 0; i < dim * N; i++) to[i] = (lane){0};
    struct product p = {
        .depth = t->n, .ld_A = N, .B = Y, .ld_B = dim, .to = to, .step_a = 1, .step_b = N, .add = 1};
    lane *values = Y + (int64_t)(t->n > t->n_face ? t->n : t->n_face) * dim;
    for (int q = 0; q < t->n; q++) {
        values[q] = (lane){0};
        for (int j = 0; j < N; j++) values[q] += t->phi[(int64_t)q * N + j] * u[j];
    }
    for (int c = 0; c < dim; c++) {
        for (int q = 0; q < t->n; q++)
            for (int a = 0; a < dim; a++)
                Y[q * dim + a] = cofactors[(int64_t)(q * dim + c) * dim + a] * values[q];
        p.A = t->grad + (int64_t)c * t->n * N;
        product(N, dim, 0, &p);
    }
    p.depth = t->n_face;
    for (int f = 0; f < t->n_faces; f++) {
        const lane *x = turn_trace(t->affine, orientations + f, uhat + f * m, turned);
        for (int q = 0; q < t->n_face; q++) {
            lane value = {0};
            for (int j = 0; j < m; j++) value -= t->psi[(int64_t)q * m + j] * x[j];
            for (int a = 0; a < dim; a++)
                Y[q * dim + a] = normals[(int64_t)(f * t->n_face + q) * dim + a] * value;
        }
        p.A = t->face_phi + (int64_t)f * t->n_face * N;
        product(N, dim, 0, &p);
    }
}

/* Lanes of scratch of a thread: A, functions with weights, the inverse diagonal, t by rows. */
static int64_t flux_lanes(const struct general_tables *t, int full) {
    struct layout s = layout_of(t, full);
    int64_t points = t->n > t->n_face ? t->n : t->n_face, functions = (int64_t)t->n * s.N;
    int64_t values = points * (s.dim + 1);
    return (int64_t)s.rows * (s.rows + s.dim) + (functions > values ? functions : values) + s.rows;
}

int64_t OF(general_flux_scratch)(const struct general_tables *t, int full) {
    return flux_lanes(t, full) * L * base_threads();
}

int64_t OF(general_flux)(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                         const double *u, const double *uhat, double *q, double *scratch) {
    struct layout s = layout_of(t, g->full);
    int N = s.N, n = s.n, dim = s.dim, pairs = g->full ? dim * (dim + 1) / 2 : 1, sides = g->full ? 1 : dim;
    int64_t failed = INT64_MAX, n_face = (int64_t)t->n_faces * t->n_face;
    s.columns = s.rows + sides; /* A and the right-hand sides */
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *A = (lane *)scratch + omp_get_thread_num() * flux_lanes(t, g->full);
        lane *inverse = A + (int64_t)s.rows * (s.rows + dim), *Y = inverse + s.rows;
        lane *to = (lane *)q + batch * dim * N;
        const lane *root = (const lane *)g->roots;
        flux_moments(t, (const lane *)g->cofactors + batch * t->n * dim * dim,
                     (const lane *)g->normals + batch * n_face * dim,
                     (const lane *)g->orientations + batch * t->n_faces, (const lane *)u + batch * N,
                     (const lane *)uhat + batch * n, to, Y);
        mass_matrix(t, &s, (const lane *)g->mass + batch * pairs * t->n, A, Y);
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N; i++)
                A[(int64_t)(g->full ? a * N + i : i) * s.columns + s.rows + (g->full ? 0 : a)] =
                    to[a * N + i];
        if (!factor_rows(s.rows, s.columns, A, inverse) && batch < failed) failed = batch;
        substitute_back(s.rows, s.columns, A, inverse);
        for (int i = 0; i < N; i++) {
            lane old[3];
            for (int a = 0; a < dim; a++)
                old[a] = A[(int64_t)(g->full ? a * N + i : i) * s.columns + s.rows + (g->full ? 0 : a)];
            for (int a = 0; a < dim; a++) to[a * N + i] = old[a];
            if (root == NULL) continue;
            const lane *r = root + batch * dim * dim; /* K x = root (root' x) */
            for (int c = 0; c < dim; c++) {
                lane along = {0};
                for (int a = c; a < dim; a++) along += r[a * dim + c] * old[a];
                for (int a = c; a < dim; a++)
                    to[a * N + i] = (c == 0 ? (lane){0} : to[a * N + i]) + r[a * dim + c] * along;
            }
        }
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- gradients */

static int64_t gradient_lanes(int n, int M) {
    return (int64_t)M * (M + 1) + (int64_t)n * M + M;
}

int64_t OF(gradient_solve_scratch)(int lanes, int n, int M) {
    (void)lanes;
    return gradient_lanes(n, M) * L * base_threads();
}

/* sum_q grad_c,i Y_c,j with Y_c = sum_e W_ce grad_e. */
INLINE void gradient_squares(int dim, int n, int M, const double *grad, const lane *W, lane *A, lane *Y) {
    int pairs = dim * (dim + 1) / 2;
    struct product p = {.depth = n, .ld_A = M, .B = Y, .ld_B = M, .to = A, .step_a = M + 1, .step_b = 1};
    for (int c = 0; c < dim; c++) {
        for (int q = 0; q < n; q++) {
            lane w[3];
            for (int e = 0; e < dim; e++)
                w[e] = W[(int64_t)q * pairs + (e > c ? e * (e + 1) / 2 + c : c * (c + 1) / 2 + e)];
            const double *from = grad + (int64_t)q * M;
            lane *to = Y + (int64_t)q * M;
            for (int j = 0; j < M; j++) {
                lane sum = w[0] * from[j];
                for (int e = 1; e < dim; e++) sum += w[e] * from[(int64_t)e * n * M + j];
                to[j] = sum;
            }
        }
        p.A = grad + (int64_t)c * n * M;
        p.add = c > 0;
        product(M, M, 1, &p);
    }
}

int64_t OF(gradient_solve)(int lanes, int64_t n_batches, int dim, int n, int M, const double *grad,
                           const double *W, double *x, double *scratch) {
    int64_t failed = INT64_MAX, pairs = dim * (dim + 1) / 2;
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *A = (lane *)scratch + omp_get_thread_num() * gradient_lanes(n, M);
        lane *inverse = A + (int64_t)M * (M + 1), *Y = inverse + M, *to = (lane *)x + batch * M;
        if (dim == 2)
            gradient_squares(2, n, M, grad, (const lane *)W + batch * n * pairs, A, Y);
        else
            gradient_squares(3, n, M, grad, (const lane *)W + batch * n * pairs, A, Y);
        for (int i = 0; i < M; i++) A[(int64_t)i * (M + 1) + M] = to[i];
        if (!factor_rows(M, M + 1, A, inverse) && batch < failed) failed = batch;
        substitute_back(M, M + 1, A, inverse);
        for (int i = 0; i < M; i++) to[i] = A[(int64_t)i * (M + 1) + M];
    }
    return failed == INT64_MAX ? -1 : failed;
}
