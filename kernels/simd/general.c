/* Cells whose map is curved or whose data vary, a batch at a time: integrals over points become products of a
 * table of numbers with lanes, all through one register tile; the rest is the algebra of dense.h.
 *
 * The floor, for tets of degree 3 with curves of order 2 and 64 points: 0.2 Mflop of integrals inside, 0.1 on
 * faces, 0.3 of algebra per cell, and the results written once. */
#include <omp.h>

#include "kernels/simd/dense.h"

/* ------------------------------------------------------------------------------- tables times lanes */

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
    int dim, N, n, total; /* n: columns of G, those of the trace or one; total = N + n */
    int rows, columns;    /* of [A | X] */
    int full;
};

static struct layout layout_of(const struct general_tables *t, int full, int n) {
    struct layout s = {.dim = t->dim, .N = t->N, .n = n, .full = full};
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

/* The upper triangle of A from the values of det J / K at few points. */
static void mass_by_table(const struct general_tables *t, const struct layout *s, const lane *det, lane *W) {
    int64_t N = s->N;
    struct product p = {.depth = t->n_det, .ld_A = (int)(N * N), .B = det, .ld_B = 1, .step_a = 1};
    for (int i = 0; i < N; i++) {
        p.A = t->M + i * (N + 1);
        p.to = W + i * (s->columns + 1);
        product((int)(N - i), 1, 0, &p);
    }
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

/* D_a: rows of X_a, columns 0 .. N-1, from the cofactors at few points. */
static void gradient_by_table(const struct general_tables *t, const struct layout *s, const lane *cofactors,
                              lane *W) {
    int64_t N = s->N;
    struct product p = {.depth = t->n_metric * s->dim,
                        .ld_A = (int)(N * N),
                        .B = cofactors,
                        .ld_B = s->dim,
                        .step_a = 1,
                        .step_b = part_of(s, W, 1) - part_of(s, W, 0)};
    for (int i = 0; i < N; i++) {
        p.A = t->D + i * N;
        p.to = part_of(s, W, 0) + (int64_t)i * s->columns;
        product((int)N, s->dim, 0, &p);
    }
}

/* The same by the rule. */
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

/* T of a face is added to the upper left of C. */
static void face_mass(const struct general_tables *t, const struct layout *s, int face, const lane *weight,
                      lane *C, lane *Y) {
    const double *phi = t->face_phi + (int64_t)face * t->n_face * s->N;
    struct product p = {.depth = t->n_face,
                        .A = phi,
                        .ld_A = s->N,
                        .B = Y,
                        .ld_B = s->N,
                        .to = C,
                        .step_a = s->total,
                        .step_b = 1,
                        .add = 1};
    weigh_functions(t->n_face, s->N, phi, weight, 1, Y);
    product(s->N, s->N, 1, &p);
}

/* G_a of every face into X_a; E, T and H into C, which has the reaction already. */
static void face_matrices(const struct general_tables *t, const struct layout *s, const lane *normals,
                          const lane *tau, lane *W, lane *C, lane *Y) {
    int N = s->N, m = t->m, n = t->n_face, dim = s->dim;
    for (int f = 0; f < t->n_faces; f++) {
        const lane *normal = normals + (int64_t)f * n * dim, *weight = tau + (int64_t)f * n;
        struct product p = {.depth = n,
                            .A = t->face_phi + (int64_t)f * n * N,
                            .ld_A = N,
                            .B = Y,
                            .ld_B = m,
                            .step_a = s->columns,
                            .step_b = 1};
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
        face_mass(t, s, f, weight, C, Y);
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

/* Lanes of scratch of a thread: C; [A | X]; the inverse diagonals, and vectors; O; functions with weights. */
static int64_t general_lanes(const struct general_tables *t, int full) {
    struct layout s = layout_of(t, full, t->n_faces * t->m);
    int64_t points = (int64_t)t->n * s.N, most = s.N > t->m ? s.N : t->m;
    int64_t faces = (int64_t)t->n_face * (most > s.dim + 1 ? most : s.dim + 1);
    int64_t turns = t->affine->n_turn > s.n ? t->affine->n_turn : s.n;
    return (int64_t)s.total * s.total + (int64_t)s.rows * s.columns + s.rows + 2 * s.total +
           (s.dim + 1) * s.N + turns + (points > faces ? points : faces);
}

/* The scratch of this thread. */
struct room {
    lane *C, *W, *inverse; /* inverse: of the rows of W */
    lane *x, *y;           /* of all unknowns */
    lane *moments;         /* (dim + 1) x N */
    lane *O, *Y;
};

static struct room room_of(const struct general_tables *t, int full, double *scratch) {
    struct layout s = layout_of(t, full, t->n_faces * t->m);
    struct room r = {.C = (lane *)scratch + omp_get_thread_num() * general_lanes(t, full)};
    r.W = r.C + (int64_t)s.total * s.total;
    r.inverse = r.W + (int64_t)s.rows * s.columns;
    r.x = r.inverse + s.rows;
    r.y = r.x + s.total;
    r.moments = r.y + s.total;
    r.O = r.moments + (s.dim + 1) * s.N;
    r.Y = r.O + (t->affine->n_turn > s.n ? t->affine->n_turn : s.n);
    return r;
}

int64_t OF(condense_general_scratch)(const struct general_tables *t, int full) {
    return general_lanes(t, full) * L * base_threads();
}

/* One batch of the cells. */
struct batch {
    const lane *mass, *det, *root, *reaction, *cofactors, *normals, *tau, *orientations;
};

static struct batch batch_of(const struct general_tables *t, const struct general_cells *g, int64_t batch) {
    int dim = t->dim, pairs = g->full ? dim * (dim + 1) / 2 : 1;
    int64_t n_face = (int64_t)t->n_faces * t->n_face;
    return (struct batch){
        .mass = (const lane *)g->mass + batch * pairs * t->n,
        .det = g->det != NULL ? (const lane *)g->det + batch * t->n_det : NULL,
        .root = g->roots != NULL ? (const lane *)g->roots + batch * dim * dim : NULL,
        .reaction = g->reaction != NULL ? (const lane *)g->reaction + batch * t->n : NULL,
        .cofactors = (const lane *)g->cofactors + batch * t->n_metric * dim * dim,
        .normals = (const lane *)g->normals + batch * n_face * dim,
        .tau = (const lane *)g->tau + batch * n_face,
        .orientations = (const lane *)g->orientations + batch * t->n_faces,
    };
}

/* A and D into W, lambda M into C. */
static void cell_matrices(const struct general_tables *t, const struct layout *s, const struct batch *b,
                          struct room *r) {
    if (b->det != NULL)
        mass_by_table(t, s, b->det, r->W);
    else
        mass_matrix(t, s, b->mass, r->W, r->Y);
    if (t->D != NULL)
        gradient_by_table(t, s, b->cofactors, r->W);
    else if (s->dim == 2)
        gradient_matrix(2, t, s, b->cofactors, r->W, r->Y);
    else
        gradient_matrix(3, t, s, b->cofactors, r->W, r->Y);
    reaction_matrix(t, s, b->reaction, r->C, r->Y);
}

/* (lambda, phi_j), or zero. */
static void reaction_moments(const struct general_tables *t, const lane *reaction, lane *moments) {
    for (int j = 0; j < t->N; j++) moments[j] = (lane){0};
    for (int q = 0; reaction != NULL && q < t->n; q++)
        for (int j = 0; j < t->N; j++) moments[j] += reaction[q] * t->phi[(int64_t)q * t->N + j];
}

int64_t OF(condense_general)(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                             double *K, double *scratch) {
    struct layout s = layout_of(t, g->full, t->n_faces * t->m);
    int N = s.N, n = s.n, total = s.total;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        struct room r = room_of(t, g->full, scratch);
        struct batch b = batch_of(t, g, batch);
        lane *rest = r.C + (int64_t)N * total + N;
        cell_matrices(t, &s, &b, &r);
        face_matrices(t, &s, b.normals, b.tau, r.W, r.C, r.Y);
        if (b.root != NULL) mix_by_root(&s, b.root, r.W);
        int positive = factor_rows(s.rows, s.columns, r.W, r.inverse);
        add_squares(&s, r.W, r.C);
        positive &= eliminate(N, total, r.C, r.inverse);
        if (!positive && batch < failed) failed = batch;
        for (int j = 0; j < n; j++) r.y[j] = (lane){0};
        reaction_moments(t, b.reaction, r.x);
        if (b.reaction != NULL) add_through(N, total, r.C, r.inverse, r.x, r.y);
        restore_sums(n, total, t->n_faces, t->m, sqrt(t->affine->face), r.y, rest);
        turn(t->affine, b.orientations, rest, total, r.O);
        store_triangle(n, rest, total, (lane *)K + batch * (n * (n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- solves inside */

/* to ((dim + 1) x N) = G_a uhat for all a, and E uhat; uhat in the orientations of the cell. */
static void trace_moments(const struct general_tables *t, const struct batch *b, const lane *uhat, lane *to,
                          lane *Y) {
    int dim = t->dim, N = t->N, m = t->m, n = t->n_face;
    lane turned[MAX_FACE];
    struct product p = {
        .depth = n, .ld_A = N, .B = Y, .ld_B = dim + 1, .to = to, .step_a = 1, .step_b = N, .add = 1};
    for (int i = 0; i < (dim + 1) * N; i++) to[i] = (lane){0};
    for (int f = 0; f < t->n_faces; f++) {
        const lane *x = turn_trace(t->affine, b->orientations + f, uhat + f * m, turned);
        for (int q = 0; q < n; q++) {
            int64_t at = (int64_t)f * n + q;
            lane value = {0};
            for (int j = 0; j < m; j++) value += t->psi[(int64_t)q * m + j] * x[j];
            for (int a = 0; a < dim; a++) Y[q * (dim + 1) + a] = b->normals[at * dim + a] * value;
            Y[q * (dim + 1) + dim] = b->tau[at] * value;
        }
        p.A = t->face_phi + (int64_t)f * n * N;
        product(N, dim + 1, 0, &p);
    }
}

/* The other way: to (n) = E'u + sum_a G_a'q_a, in the orientations of the cell. */
static void trace_load(const struct general_tables *t, const struct batch *b, const lane *u, const lane *q,
                       lane *to, lane *O) {
    int dim = t->dim, N = t->N, m = t->m;
    for (int f = 0; f < t->n_faces; f++, to += m) {
        for (int j = 0; j < m; j++) to[j] = (lane){0};
        for (int p = 0; p < t->n_face; p++) {
            int64_t at = (int64_t)f * t->n_face + p;
            const double *phi = t->face_phi + at * N;
            lane sums[4] = {{0}}, value;
            for (int i = 0; i < N; i++) {
                sums[dim] += phi[i] * u[i];
                for (int a = 0; a < dim; a++) sums[a] += phi[i] * q[a * N + i];
            }
            value = b->tau[at] * sums[dim];
            for (int a = 0; a < dim; a++) value += b->normals[at * dim + a] * sums[a];
            for (int j = 0; j < m; j++) to[j] += t->psi[(int64_t)p * m + j] * value;
        }
        if (gather_turn(t->affine, b->orientations + f, O)) turn_block(1, t->affine, O, to, 0, 1);
    }
}

/* q (dim x N) = A^-1 (D u - g), W having been eliminated with the columns g behind D, which are overwritten.
 */
static void flux_of_batch(const struct layout *s, const struct batch *b, lane *W, const lane *inverse,
                          const lane *u, lane *q) {
    int N = s->N, dim = s->dim, sides = s->full ? 1 : dim;
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N; i++) {
            const lane *row = part_of(s, W, a) + (int64_t)i * s->columns;
            lane sum = -row[N];
            for (int j = 0; j < N; j++) sum += row[j] * u[j];
            q[a * N + i] = sum;
        }
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N; i++)
            W[(int64_t)(s->full ? a * N + i : i) * s->columns + s->rows + (s->full ? 0 : a)] = q[a * N + i];
    substitute_columns(s->rows, s->columns, s->rows, sides, W, inverse);
    for (int i = 0; i < N; i++) {
        lane old[3];
        for (int a = 0; a < dim; a++)
            old[a] = W[(int64_t)(s->full ? a * N + i : i) * s->columns + s->rows + (s->full ? 0 : a)];
        for (int a = 0; a < dim; a++) {
            lane sum = b->root == NULL ? old[a] : (lane){0};
            for (int c = 0; c <= a && b->root != NULL; c++) sum += b->root[a * dim + c] * old[c];
            q[a * N + i] = sum;
        }
    }
}

int64_t OF(general_solve)(const struct general_tables *t, const struct general_cells *g, int64_t n_batches,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    struct layout s = layout_of(t, g->full, 1);
    int N = s.N, dim = s.dim, n = t->n_faces * t->m;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        struct room r = room_of(t, g->full, scratch);
        struct batch b = batch_of(t, g, batch);
        lane *inner = (lane *)u + batch * N, *flux = q != NULL ? (lane *)q + batch * dim * N : r.moments;
        cell_matrices(t, &s, &b, &r);
        for (int f = 0; f < t->n_faces; f++) face_mass(t, &s, f, b.tau + (int64_t)f * t->n_face, r.C, r.Y);
        if (uhat != NULL) trace_moments(t, &b, (const lane *)uhat + batch * n, r.moments, r.Y);
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N; i++)
                part_of(&s, r.W, a)[(int64_t)i * s.columns + N] =
                    uhat != NULL ? r.moments[a * N + i] : (lane){0};
        if (b.root != NULL) mix_by_root(&s, b.root, r.W);
        int positive = factor_rows(s.rows, s.columns, r.W, r.inverse);
        add_squares(&s, r.W, r.C); /* D'A^-1 D, and the column D'A^-1 G uhat */
        for (int i = 0; i < N && uhat != NULL; i++)
            inner[i] += r.moments[dim * N + i] + r.C[(int64_t)i * s.total + N];
        positive &= solve_in_place(N, r.C, r.x, inner);
        if (!positive && batch < failed) failed = batch;
        if (q != NULL || load != NULL) flux_of_batch(&s, &b, r.W, r.inverse, inner, flux);
        if (load != NULL) trace_load(t, &b, inner, flux, (lane *)load + batch * n, r.O);
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
        if (!solve_in_place(M, A, inverse, to) && batch < failed) failed = batch;
    }
    return failed == INT64_MAX ? -1 : failed;
}
