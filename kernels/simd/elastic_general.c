/* Cells of elasticity whose map is curved or whose moduli vary, a batch at a time: integrals over points
 * become products of functions with lanes, and the rest is the algebra of dense.h. kernels/elastic.h has the
 * matrices.
 *
 * The floor, for tets and per cell: with w = Nu + n_faces m scalar columns and N0 functions of the stress, 9
 * w^2 N0 operations for the products P_cd, and N^3/3 + N^2 n + N n^2 for the elimination of the N = 3 Nu
 * displacements: 1.0 and 3.2 Mflop at k = 3. */
#include <math.h>
#include <omp.h>

#include "kernels/simd/dense.h"

/* The sizes. N0: functions of the stress; width: columns of Z_a, those of u and then those of the faces;
 * columns: of [A | Z_0 | Z_1 ..]; N, n: unknowns of a cell, of its trace. */
struct frame {
    int dim, N0, Nu, m, width, columns, N, n, total;
};

static struct frame frame_of(const struct elastic_general_tables *t) {
    const struct elastic_tables *e = &t->sizes;
    struct frame s = {.dim = e->dim, .N0 = e->N, .Nu = e->Nu, .m = e->m, .width = e->Nu + e->n_faces * e->m};
    s.columns = s.N0 + s.dim * s.width;
    s.N = s.dim * s.Nu;
    s.n = s.dim * e->n_faces * s.m;
    s.total = s.N + s.n;
    return s;
}

/* Functions at points: numbers of a table, or the cell's own. */
struct functions {
    const double *table;
    const lane *own; /* NULL: the table */
    int row;         /* from one point to the next */
};

/* One batch of the cells. */
struct batch {
    const lane *dev, *vol, *numbers, *cofactors, *normals, *tau, *coordinates, *orientations, *slopes;
    struct functions chi, face_chi;
};

static struct batch batch_of(const struct elastic_general_tables *t, const struct elastic_general_cells *g,
                             int64_t batch) {
    const struct elastic_tables *e = &t->sizes;
    const int64_t points = (int64_t)e->n_faces * t->n_face, dim = e->dim;
    struct batch b = {.dev = (const lane *)g->dev + batch * t->n,
                      .vol = g->vol != NULL ? (const lane *)g->vol + batch * t->n : NULL,
                      .numbers = (const lane *)g->numbers + batch * N_ELASTIC_NUMBERS,
                      .normals = (const lane *)g->normals + batch * points * dim,
                      .tau = (const lane *)g->tau + batch * points,
                      .orientations = (const lane *)g->orientations + batch * e->n_faces,
                      .chi = {t->chi, NULL, e->Nu},
                      .face_chi = {t->face_chi, NULL, e->Nu}};
    if (e->rotations) b.coordinates = (const lane *)g->coordinates + batch * e->n_faces * e->m * dim;
    if (g->chi == NULL) {
        b.cofactors = (const lane *)g->cofactors + batch * t->n * dim * dim;
        return b;
    }
    b.chi.own = (const lane *)g->chi + batch * t->n * e->Nu;
    b.slopes = (const lane *)g->slopes + batch * dim * t->n * e->N;
    b.face_chi.own = (const lane *)g->face_chi + batch * points * e->Nu;
    return b;
}

/* The scratch of this thread. */
struct room {
    lane *W, *V;               /* [A | Z] of M_dev and of M_vol */
    lane *inverse, *inverse_V; /* of their diagonals */
    lane *scalar;              /* width x width: what a component has beside the stress, [T E; E' H] */
    lane *C, *inverse_C;
    lane *P;     /* products of Z in ROWS rows, for dev and vol */
    lane *zeros; /* width */
    lane *Y;     /* functions with weights; [H | E'] of a face */
    lane *trace, *d, *motions, *moments, *O, *orientations;
};

/* Sets the parts of a room that begins at `at`; how many lanes it has. */
static int64_t room_of(const struct elastic_general_tables *t, lane *at, struct room *r) {
    const struct frame s = frame_of(t);
    const struct elastic_tables *e = &t->sizes;
    const int64_t inside = (int64_t)t->n * s.N0, most = s.Nu > s.m ? s.Nu : s.m,
                  W = (int64_t)s.N0 * s.columns;
    const int64_t faces = t->n_face * most, projection = (int64_t)s.m * (s.m + s.Nu);
    const int64_t Y = inside > faces ? inside : faces, rows = s.N > s.m ? s.N : s.m;
    const struct {
        lane **part;
        int64_t size;
    } parts[] = {{&r->W, W},
                 {&r->V, W},
                 {&r->inverse, s.N0},
                 {&r->inverse_V, s.N0},
                 {&r->scalar, (int64_t)s.width * s.width},
                 {&r->C, (int64_t)s.total * s.total},
                 {&r->inverse_C, rows},
                 {&r->P, (int64_t)2 * s.dim * s.dim * ROWS * s.width},
                 {&r->zeros, s.width},
                 {&r->Y, Y > projection ? Y : projection},
                 {&r->trace, s.n},
                 {&r->d, s.n},
                 {&r->motions, 3 * s.n},
                 {&r->moments, (3 * s.dim * s.dim + 1) * s.N0},
                 {&r->O, e->turns->n_turn},
                 {&r->orientations, s.dim * e->n_faces}};
    int64_t all = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (at != NULL) *parts[i].part = at + all;
        all += parts[i].size;
    }
    return all;
}

int64_t OF(elastic_general_scratch)(const struct elastic_general_tables *t) {
    struct room r;
    return room_of(t, NULL, &r) * L * base_threads();
}

static struct room room_here(const struct elastic_general_tables *t, double *scratch) {
    struct room r = {.W = NULL};
    const int64_t size = room_of(t, NULL, &r);
    (void)room_of(t, (lane *)scratch + omp_get_thread_num() * size, &r);
    for (int j = 0; j < frame_of(t).width; j++) r.zeros[j] = (lane){0};
    return r;
}

/* ------------------------------------------------------------------------------- integrals */

/* Y (n x count) = w_q f_qj */
static void weigh(int n, int count, const struct functions *f, const lane *w, int64_t step, lane *Y) {
    for (int q = 0; q < n; q++)
        for (int j = 0; j < count; j++)
            Y[(int64_t)q * count + j] = w[q * step] * (f->own != NULL ? f->own[(int64_t)q * f->row + j]
                                                                      : (lane){0} + f->table[q * f->row + j]);
}

/* to (rows x columns, rows of ld) = sum_q f_qi Y_qj; upper: as of `product`; add: += */
static void integrate(int n, const struct functions *f, int rows, int columns, int upper, const lane *Y,
                      int ld_Y, const lane *zeros, lane *to, int ld, int add) {
    const struct product p = {.depth = n,
                              .A = f->table,
                              .ld_A = f->row,
                              .B = Y,
                              .ld_B = ld_Y,
                              .to = to,
                              .step_a = ld,
                              .step_b = 1,
                              .add = add};
    if (f->own == NULL) product(rows, columns, upper, &p);
    for (int i = 0; i < rows && f->own != NULL; i += ROWS) {
        const int first = upper ? i : 0;
        lane *at = to + (int64_t)i * ld + first;
        const struct tile t = {.A = f->own + i,
                               .step_k = f->row,
                               .step_a = 1,
                               .B = Y + first,
                               .ld_B = ld_Y,
                               .from = add ? at : zeros,
                               .ld_from = add ? ld : 0,
                               .to = at,
                               .ld_to = ld};
        tiles(smaller(ROWS, rows - i), columns - first, n, ADD, &t);
    }
}

/* Y (n x N0) = w det J d_a phi */
INLINE void slopes_of(int dim, const struct elastic_general_tables *t, const struct frame *s, int a,
                      const lane *cofactors, lane *Y) {
    const int N0 = s->N0, Nu = s->Nu;
    for (int q = 0; q < t->n; q++) {
        const lane *C = cofactors + (int64_t)q * dim * dim + a;
        const double *grad = t->grad + (int64_t)q * Nu;
        lane *to = Y + (int64_t)q * N0;
        for (int i = 0; i < N0; i++) {
            lane sum = C[0] * grad[i];
            for (int c = 1; c < dim; c++) sum += C[c * dim] * grad[(int64_t)c * t->n * Nu + i];
            to[i] = sum;
        }
    }
}

/* D_a into W. */
static void put_gradient(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                         int a, const struct room *r) {
    lane *to = r->W + s->N0 + (int64_t)a * s->width;
    if (b->slopes != NULL) {
        const struct functions slopes = {NULL, b->slopes + (int64_t)a * t->n * s->N0, s->N0};
        integrate(t->n, &slopes, s->N0, s->Nu, 0, b->chi.own, s->Nu, r->zeros, to, s->columns, 0);
        return;
    }
    if (s->dim == 2)
        slopes_of(2, t, s, a, b->cofactors, r->Y);
    else
        slopes_of(3, t, s, a, b->cofactors, r->Y);
    /* rows of the product are columns of D_a */
    const struct product p = {.depth = t->n,
                              .A = t->chi,
                              .ld_A = s->Nu,
                              .B = r->Y,
                              .ld_B = s->N0,
                              .to = to,
                              .step_a = 1,
                              .step_b = s->columns};
    product(s->Nu, s->N0, 0, &p);
}

/* The functions of one face. */
static struct functions on_face(const struct elastic_general_tables *t, const struct batch *b, int face) {
    const int64_t at = (int64_t)face * t->n_face * b->face_chi.row;
    struct functions f = b->face_chi;
    if (f.own != NULL)
        f.own += at;
    else
        f.table += at;
    return f;
}

/* [A | Z] and, where the moduli vary, [B | Z], with the inverse factors of A and B applied to Z; 0 where one
 * is not positive definite. */
static int make_factors(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                        const struct room *r) {
    const int N0 = s->N0, m = s->m, n = t->n_face, ld = s->columns;
    const struct functions psi = {t->psi, NULL, m};
    int positive = 1;
    for (int a = 0; a < s->dim; a++) put_gradient(t, s, b, a, r);
    for (int f = 0; f < t->sizes.n_faces; f++) {
        const struct functions chi = on_face(t, b, f);
        for (int a = 0; a < s->dim; a++) {
            weigh(n, m, &psi, b->normals + (int64_t)f * n * s->dim + a, s->dim, r->Y);
            integrate(n, &chi, N0, m, 0, r->Y, m, r->zeros, r->W + N0 + (int64_t)a * s->width + s->Nu + f * m,
                      ld, 0);
        }
    }
    if (b->vol != NULL) {
        for (int64_t i = 0; i < (int64_t)N0 * ld; i++) r->V[i] = r->W[i];
        weigh(t->n, N0, &b->chi, b->vol, 1, r->Y);
        integrate(t->n, &b->chi, N0, N0, 1, r->Y, N0, r->zeros, r->V, ld, 0);
        positive &= factor_rows(N0, ld, r->V, r->inverse_V);
    }
    weigh(t->n, N0, &b->chi, b->dev, 1, r->Y);
    integrate(t->n, &b->chi, N0, N0, 1, r->Y, N0, r->zeros, r->W, ld, 0);
    return positive & factor_rows(N0, ld, r->W, r->inverse);
}

/* T += E H^-1 E' of a face; E and H are in the scalar matrix, from the columns of the face on. */
static int project(const struct frame *s, int first, const struct room *r) {
    const int m = s->m, Nu = s->Nu, ld = m + Nu;
    const lane *E = r->scalar + first, *H = E + (int64_t)first * s->width;
    for (int i = 0; i < m; i++) {
        for (int j = i; j < m; j++) r->Y[(int64_t)i * ld + j] = H[(int64_t)i * s->width + j];
        for (int j = 0; j < i; j++) r->Y[(int64_t)i * ld + j] = (lane){0};
        for (int j = 0; j < Nu; j++) r->Y[(int64_t)i * ld + m + j] = E[(int64_t)j * s->width + i];
    }
    const int positive = factor_rows(m, ld, r->Y, r->inverse_C);
    struct tile t = {.step_k = ld, .step_a = 1, .ld_B = ld, .ld_from = s->width, .ld_to = s->width};
    for (int i = 0; i < Nu; i += ROWS) {
        t.A = t.B = r->Y + m + i;
        t.from = t.to = r->scalar + (int64_t)i * (s->width + 1);
        tiles(smaller(ROWS, Nu - i), Nu - i, m, ADD, &t);
    }
    return positive;
}

/* The scalar matrix, its upper triangle; 0 where a face is degenerate. */
static int make_scalar(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                       const struct room *r) {
    const int Nu = s->Nu, m = s->m, n = t->n_face, ld = s->width;
    const struct functions psi = {t->psi, NULL, m};
    int positive = 1;
    for (int64_t i = 0; i < (int64_t)ld * ld; i++) r->scalar[i] = (lane){0};
    for (int f = 0; f < t->sizes.n_faces; f++) {
        const struct functions chi = on_face(t, b, f);
        const lane *tau = b->tau + (int64_t)f * n;
        const int first = Nu + f * m;
        weigh(n, m, &psi, tau, 1, r->Y);
        integrate(n, &chi, Nu, m, 0, r->Y, m, r->zeros, r->scalar + first, ld, 0);
        integrate(n, &psi, m, m, 1, r->Y, m, r->zeros, r->scalar + (int64_t)first * (ld + 1), ld, 0);
        if (t->projects) {
            positive &= project(s, first, r);
            continue;
        }
        weigh(n, Nu, &chi, tau, 1, r->Y);
        integrate(n, &chi, Nu, Nu, 1, r->Y, Nu, r->zeros, r->scalar, ld, 1);
    }
    return positive;
}

/* ------------------------------------------------------------------------------- the matrix of a cell */

/* Where function j of a run (u, or a face) of component 0 stands in C, and how far components are apart. */
struct place {
    int at, step;
};
static struct place place_of(const struct frame *s, int j) {
    const int face = (j - s->Nu) / s->m;
    return j < s->Nu ? (struct place){j, s->Nu}
                     : (struct place){s->N + face * s->dim * s->m + (j - s->Nu) % s->m, s->m};
}

/* P_cd = Z_c'Z_d for the columns i .. i + rows - 1 and i .. width - 1, into P (dim dim x ROWS x width). */
static void products(const struct frame *s, int rows, int i, int width, const lane *W, const lane *zeros,
                     lane *P) {
    struct tile t = {.step_k = s->columns, .step_a = 1, .ld_B = s->columns, .from = zeros, .ld_to = s->width};
    for (int cd = 0; cd < s->dim * s->dim; cd++) {
        t.A = W + s->N0 + (int64_t)(cd / s->dim) * s->width + i;
        t.B = W + s->N0 + (int64_t)(cd % s->dim) * s->width + i;
        t.to = P + (int64_t)cd * ROWS * s->width;
        tiles(rows, width - i, s->N0, ADD, &t);
    }
}

/* Row i of the scalar indices with the columns first .. last - 1, no less than i and all of one run: entries
 * of C (rows of ld) from the products P (and Q of M_vol, or NULL), which begin at column i0. */
INLINE void mix_run(int dim, const struct frame *s, const lane *numbers, int i, int first, int last, int i0,
                    const lane *P, const lane *Q, const lane *scalar, int ld, lane *C) {
    const struct place row = place_of(s, i), column = place_of(s, first);
    const int same = row.at - (i < s->Nu ? i : (i - s->Nu) % s->m) ==
                     column.at - (first < s->Nu ? first : (first - s->Nu) % s->m);
    const int64_t step = (int64_t)ROWS * s->width;
    const lane alpha = numbers[E_ALPHA], delta = numbers[E_DELTA], gamma = numbers[E_GAMMA],
               beta = numbers[E_BETA];
    for (int j = first; j < last; j++) {
        lane p[9], sum = {0};
        for (int k = 0; k < dim * dim; k++) p[k] = P[k * step + j - i0];
        for (int b = 0; b < dim; b++) sum += p[b * (dim + 1)];
        const lane diagonal = gamma * sum + scalar[(int64_t)i * s->width + j];
        for (int c = 0; c < dim; c++)
            for (int d = 0; d < dim; d++) {
                lane value = alpha * p[c * dim + d] + delta * p[d * dim + c];
                if (c == d) value += diagonal;
                if (Q != NULL) value += beta * Q[(c * dim + d) * step + j - i0];
                const int64_t at = row.at + c * row.step, to = column.at + j - first + d * column.step;
                C[same && c > d ? to * ld + at : at * ld + to] = value;
            }
    }
}

INLINE void mix_row(int dim, const struct elastic_general_tables *t, const struct frame *s,
                    const struct batch *b, int i, int i0, int width, const struct room *r, int ld) {
    const lane *P = r->P + (int64_t)(i - i0) * s->width,
               *Q = b->vol != NULL ? P + (int64_t)dim * dim * ROWS * s->width : NULL;
    if (i < s->Nu) mix_run(dim, s, b->numbers, i, i, s->Nu, i0, P, Q, r->scalar, ld, r->C);
    for (int f = 0; f < t->sizes.n_faces && s->Nu + f * s->m < width; f++) {
        const int first = s->Nu + f * s->m, last = first + s->m;
        if (i < last)
            mix_run(dim, s, b->numbers, i, i > first ? i : first, last, i0, P, Q, r->scalar, ld, r->C);
    }
}

/* The upper triangle of [S R; R' H], or (width: Nu) of S, in rows of ld. */
static void mix(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                int width, const struct room *r, int ld) {
    for (int i = 0; i < width; i += ROWS) {
        const int rows = smaller(ROWS, width - i);
        products(s, rows, i, width, r->W, r->zeros, r->P);
        if (b->vol != NULL)
            products(s, rows, i, width, r->V, r->zeros, r->P + (int64_t)s->dim * s->dim * ROWS * s->width);
        for (int k = i; k < i + rows; k++)
            if (s->dim == 2)
                mix_row(2, t, s, b, k, i, width, r, ld);
            else
                mix_row(3, t, s, b, k, i, width, r, ld);
    }
}

/* ------------------------------------------------------------------------------- rigid motions */

/* As restore_motion, of a motion v without zeros to speak of. */
static void restore_rotation(int n, int ld, const lane *v, lane *K, lane *d, lane *limited) {
    lane inner = {0}, norm = {0}, largest = {0};
    for (int i = 0; i < n; i++) d[i] = (lane){0};
    for (int i = 0; i < n; i++) {
        const lane *row = K + (int64_t)i * ld;
        lane sum = row[i] * v[i];
        for (int j = i + 1; j < n; j++) {
            sum += row[j] * v[j];
            d[j] -= row[j] * v[i];
        }
        d[i] -= sum;
        for (int w = 0; w < L; w++) largest[w] = fmax(largest[w], row[i][w]);
    }
    for (int i = 0; i < n; i++) norm += d[i] * d[i];
    for (int w = 0; w < L; w++)
        if (!(sqrt(norm[w]) < ELASTIC_EXACT * largest[w])) (*limited)[w] = 0.0;
    for (int i = 0; i < n; i++) d[i] *= *limited;
    for (int i = 0; i < n; i++) inner += d[i] * v[i];
    for (int i = 0; i < n; i++) d[i] -= 0.5 * inner * v[i];
    for (int i = 0; i < n; i++) {
        lane *row = K + (int64_t)i * ld;
        for (int j = i; j < n; j++) row[j] += d[i] * v[j] + v[i] * d[j];
    }
}

/* The rotation about an axis from the coordinates on the faces, orthogonal to those before it, of length 1.
 * means: of the coordinates. */
static void make_rotation(const struct frame *s, int axis, const lane *coordinates, const lane *means,
                          int n_before, const lane *before, lane *v) {
    const int dim = s->dim, m = s->m, n = s->n, from = (axis + 1) % 3, to = (axis + 2) % 3;
    lane norm = {0};
    int positive = 1;
    for (int i = 0; i < n; i++) v[i] = (lane){0};
    for (int j = 0; j < n / dim; j++) {
        const int at = j / m * dim * m + j % m;
        lane x = coordinates[j * dim + from], y = coordinates[j * dim + to];
        if (j % m == 0) {
            x -= means[from];
            y -= means[to];
        }
        v[at + from * m] = -y;
        v[at + to * m] = x;
    }
    for (int k = 0; k < 2 * n_before; k++) { /* twice is enough */
        const lane *u = before + (int64_t)(k % n_before) * n;
        lane inner = {0};
        for (int i = 0; i < n; i++) inner += u[i] * v[i];
        for (int i = 0; i < n; i++) v[i] -= inner * u[i];
    }
    for (int i = 0; i < n; i++) norm += v[i] * v[i];
    norm = 1.0 / lane_sqrt(norm, &positive);
    for (int i = 0; i < n; i++) v[i] *= norm;
}

static void restore_motions(const struct elastic_general_tables *t, const struct frame *s,
                            const struct batch *b, lane *K, const struct room *r) {
    const int dim = s->dim, m = s->m, faces = t->sizes.n_faces;
    lane ones[6], means[3], limited = (lane){0} + 1.0;
    int at[6];
    for (int c = 0; c < dim; c++) {
        for (int f = 0; f < faces; f++) {
            at[f] = (f * dim + c) * m;
            ones[f] = (lane){0} + 1.0 / sqrt(faces);
        }
        restore_motion(s->n, s->total, faces, at, ones, K, r->d, NULL);
    }
    if (!t->sizes.rotations) return;
    for (int a = 0; a < dim; a++) {
        means[a] = (lane){0};
        for (int f = 0; f < faces; f++) means[a] += b->coordinates[f * m * dim + a] * (1.0 / faces);
    }
    for (int k = 0; k < (dim == 2 ? 1 : 3); k++) {
        lane *v = r->motions + (int64_t)k * s->n;
        make_rotation(s, dim == 2 ? 2 : k, b->coordinates, means, k, r->motions, v);
        restore_rotation(s->n, s->total, v, K, r->d, &limited);
    }
}

/* ------------------------------------------------------------------------------- condensation */

int64_t OF(condense_elastic_general)(const struct elastic_general_tables *t,
                                     const struct elastic_general_cells *g, int64_t n_batches, double *K,
                                     double *scratch) {
    const struct frame s = frame_of(t);
    const struct affine_tables *turns = t->sizes.turns;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const struct room r = room_here(t, scratch);
        const struct batch b = batch_of(t, g, batch);
        lane *rest = r.C + (int64_t)s.N * (s.total + 1);
        int positive = make_factors(t, &s, &b, &r) & make_scalar(t, &s, &b, &r);
        mix(t, &s, &b, s.width, &r, s.total);
        positive &= eliminate(s.N, s.total, r.C, r.inverse_C);
        if (!positive && batch < failed) failed = batch;
        restore_motions(t, &s, &b, rest, &r);
        for (int run = 0; run < s.dim * t->sizes.n_faces; run++)
            r.orientations[run] = b.orientations[run / s.dim];
        turn(turns, r.orientations, rest, s.total, r.O);
        store_triangle(s.n, rest, s.total, (lane *)K + batch * ((int64_t)s.n * (s.n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- solves inside */

/* t_ca (N0) = Z_a x_c of `count` columns of Z, from `first` on, which belong to x (component c `step` apart).
 */
static void moments_of(const struct frame *s, const lane *W, int first, int count, const lane *x, int step,
                       int add, lane *t) {
    const int dim = s->dim, N0 = s->N0;
    for (int i = 0; i < N0; i++)
        for (int a = 0; a < dim; a++) {
            const lane *row = W + (int64_t)i * s->columns + N0 + a * s->width + first;
            for (int c = 0; c < dim; c++) {
                lane sum = add ? t[(c * dim + a) * N0 + i] : (lane){0};
                for (int j = 0; j < count; j++) sum += row[j] * x[c * step + j];
                t[(c * dim + a) * N0 + i] = sum;
            }
        }
}
/* y_c += Z_a't_ca, of the same columns. */
static void add_moments(const struct frame *s, const lane *W, int first, int count, const lane *t, lane *y,
                        int step) {
    const int dim = s->dim, N0 = s->N0;
    for (int i = 0; i < N0; i++)
        for (int a = 0; a < dim; a++) {
            const lane *row = W + (int64_t)i * s->columns + N0 + a * s->width + first;
            for (int c = 0; c < dim; c++) {
                const lane w = t[(c * dim + a) * N0 + i];
                for (int j = 0; j < count; j++) y[c * step + j] += row[j] * w;
            }
        }
}
/* 1_ca alpha tr t + delta t_ac + gamma t_ca, or other numbers: what [S R; R' H] does between Z and Z'. */
static void mix_moments(const struct frame *s, lane gamma, lane delta, lane alpha, lane *t) {
    const int dim = s->dim, N0 = s->N0;
    for (int i = 0; i < N0; i++) {
        lane old[9], trace = {0};
        for (int k = 0; k < dim * dim; k++) old[k] = t[k * N0 + i];
        for (int c = 0; c < dim; c++) trace += old[c * (dim + 1)];
        for (int k = 0; k < dim * dim; k++) {
            lane sum = gamma * old[k] + delta * old[k % dim * dim + k / dim];
            t[k * N0 + i] = k % (dim + 1) == 0 ? sum + alpha * trace : sum;
        }
    }
}
/* 1_ca beta tr t */
static void keep_trace(const struct frame *s, lane beta, lane *t) {
    mix_moments(s, (lane){0}, (lane){0}, beta, t);
}

/* The columns of face f, in which functions of component c of x stand. */
static int face_first(const struct frame *s, int f) {
    return s->Nu + f * s->m;
}

/* Moments of all faces. */
static void face_moments(const struct elastic_general_tables *t, const struct frame *s, const lane *W,
                         const lane *trace, lane *to) {
    for (int f = 0; f < t->sizes.n_faces; f++)
        moments_of(s, W, face_first(s, f), s->m, trace + f * s->dim * s->m, s->m, f > 0, to);
}

/* u += R uhat, or load (of all faces, zero before) += R'u; uhat or load in orientation 0. */
static void add_R(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                  const struct room *r, const lane *uhat, lane *u, lane *load) {
    const int m = s->m, Nu = s->Nu, dim = s->dim;
    const lane *numbers = b->numbers;
    for (int vol = 0; vol <= (b->vol != NULL); vol++) {
        const lane *W = vol ? r->V : r->W;
        if (uhat != NULL)
            face_moments(t, s, W, uhat, r->moments);
        else
            moments_of(s, W, 0, Nu, u, Nu, 0, r->moments);
        if (vol)
            keep_trace(s, numbers[E_BETA], r->moments);
        else
            mix_moments(s, numbers[E_GAMMA], numbers[E_DELTA], numbers[E_ALPHA], r->moments);
        if (uhat != NULL) add_moments(s, W, 0, Nu, r->moments, u, Nu);
        for (int f = 0; f < t->sizes.n_faces && uhat == NULL; f++)
            add_moments(s, W, face_first(s, f), m, r->moments, load + f * dim * m, m);
    }
    for (int i = 0; i < Nu; i++) /* E */
        for (int run = 0; run < t->sizes.n_faces * dim; run++) {
            const lane *E = r->scalar + (int64_t)i * s->width + face_first(s, run / dim);
            lane *inner = u + run % dim * Nu + i;
            for (int j = 0; j < m; j++)
                if (uhat != NULL)
                    *inner += E[j] * uhat[run * m + j];
                else
                    load[run * m + j] += E[j] * *inner;
        }
}

/* q of a batch from u and the trace (or NULL) in orientation 0; [A | Z] and [B | Z] are destroyed. */
static void make_flux(const struct elastic_general_tables *t, const struct frame *s, const struct batch *b,
                      const struct room *r, const lane *u, const lane *trace, lane *q) {
    const int dim = s->dim, N0 = s->N0, pairs = dim * dim;
    const lane *numbers = b->numbers;
    lane *moments = r->moments, *of_faces = moments + (int64_t)pairs * N0,
         *spherical = of_faces + (int64_t)pairs * N0;
    for (int vol = b->vol != NULL; vol >= 0; vol--) { /* vol first: its trace is kept */
        const int with_trace = vol || b->vol == NULL;
        lane *W = vol ? r->V : r->W;
        moments_of(s, W, 0, s->Nu, u, s->Nu, 0, moments);
        if (trace != NULL) face_moments(t, s, W, trace, of_faces);
        for (int i = 0; i < pairs * N0 && trace != NULL; i++) moments[i] -= of_faces[i];
        for (int i = 0; i < N0 && with_trace; i++) {
            spherical[i] = moments[i];
            for (int c = 1; c < dim; c++) spherical[i] += moments[c * (dim + 1) * N0 + i];
        }
        for (int i = 0; i < N0 && with_trace; i++) W[(int64_t)i * s->columns + N0] = spherical[i];
        if (with_trace) substitute_columns(N0, s->columns, N0, 1, W, vol ? r->inverse_V : r->inverse);
        for (int i = 0; i < N0 && with_trace; i++) spherical[i] = W[(int64_t)i * s->columns + N0];
    }
    mix_moments(s, numbers[E_FLUX], numbers[E_FLUX + 1], numbers[E_FLUX + 2], moments);
    for (int i = 0; i < N0; i++)
        for (int k = 0; k < pairs; k++) r->W[(int64_t)i * s->columns + N0 + k] = moments[k * N0 + i];
    substitute_columns(N0, s->columns, N0, pairs, r->W, r->inverse);
    for (int i = 0; i < N0; i++)
        for (int k = 0; k < pairs; k++) {
            const lane x = r->W[(int64_t)i * s->columns + N0 + k];
            q[k * N0 + i] = k % (dim + 1) == 0 ? x + numbers[E_SPHERICAL] * spherical[i] : x;
        }
    for (int i = 0; i < N0 && t->sizes.pressure; i++) q[pairs * N0 + i] = numbers[E_PRESSURE] * spherical[i];
}

int64_t OF(elastic_general_solve)(const struct elastic_general_tables *t,
                                  const struct elastic_general_cells *g, int64_t n_batches,
                                  const double *uhat, double *u, double *q, double *load, double *scratch) {
    const struct frame s = frame_of(t);
    const struct affine_tables *turns = t->sizes.turns;
    const int m = s.m, n_runs = s.dim * t->sizes.n_faces;
    const int64_t n_q = (int64_t)(s.dim * s.dim + (t->sizes.pressure != 0)) * s.N0;
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic, 1) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        const struct room r = room_here(t, scratch);
        const struct batch b = batch_of(t, g, batch);
        lane *inner = (lane *)u + batch * s.N, *to = load != NULL ? (lane *)load + batch * s.n : NULL;
        int positive = make_factors(t, &s, &b, &r) & make_scalar(t, &s, &b, &r);
        for (int run = 0; run < n_runs && uhat != NULL; run++) {
            const lane *from = (const lane *)uhat + batch * s.n + run * m,
                       *turned = turn_trace(turns, b.orientations + run / s.dim, from, r.trace + run * m);
            for (int j = 0; j < m && turned == from; j++) r.trace[run * m + j] = from[j];
        }
        if (uhat != NULL) add_R(t, &s, &b, &r, r.trace, inner, NULL);
        mix(t, &s, &b, s.Nu, &r, s.N + 1);
        positive &= solve_in_place(s.N, r.C, r.inverse_C, inner);
        if (!positive && batch < failed) failed = batch;
        for (int j = 0; j < s.n && to != NULL; j++) to[j] = (lane){0};
        if (to != NULL) add_R(t, &s, &b, &r, NULL, inner, to);
        for (int run = 0; run < n_runs && to != NULL; run++)
            if (gather_turn(turns, b.orientations + run / s.dim, r.O))
                turn_block(1, turns, r.O, to + run * m, 0, 1);
        if (q != NULL)
            make_flux(t, &s, &b, &r, inner, uhat != NULL ? r.trace : NULL, (lane *)q + batch * n_q);
    }
    return failed == INT64_MAX ? -1 : failed;
}
