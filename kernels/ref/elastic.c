/* Plain C: local solvers of straight cells of elasticity, one lane at a time, by the matrices of
 * src/hdg/elastic.h. */
#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

/* Numbers of a cell: displacements, traces, both. */
struct sizes {
    int N, n, total;
};
static struct sizes sizes_of(const struct elastic_tables *t) {
    int N = t->dim * t->Nu, n = t->dim * t->n_faces * t->m;
    return (struct sizes){N, n, N + n};
}

int64_t elastic_scratch_ref(const struct elastic_tables *t, int condense) {
    (void)condense;
    int64_t N = t->dim * t->Nu, n = t->dim * t->n_faces * t->m, total = N + n;
    return total * total + t->N * total + (N + 1) * (N + 1) + 7 * n + t->m + t->dim * t->dim * t->N;
}

/* Z = [D | G] (N x total), columns as in C with directions for components: D_a = sum_e C_ae D_e, G_a = n_a F.
 */
static void gradients_lane(const struct elastic_tables *t, const double *c, double *Z) {
    const int L = t->lanes;
    struct elastic_layout at = elastic_layout(t->dim, t->n_faces);
    struct sizes s = sizes_of(t);
    int dim = t->dim, m = t->m;
    memset(Z, 0, (size_t)(t->N * s.total) * sizeof *Z);
    for (int i = 0; i < t->N; i++)
        for (int a = 0; a < dim; a++) {
            for (int e = 0; e < dim; e++)
                for (int j = 0; j < t->n_low; j++)
                    Z[i * s.total + a * t->Nu + j] +=
                        c[(at.cofactors + a * dim + e) * L] * t->D[(e * t->N + i) * t->n_low + j];
            for (int f = 0; f < t->n_faces; f++)
                for (int j = 0; j < m; j++)
                    Z[i * s.total + s.N + (f * dim + a) * m + j] =
                        c[(at.normals + f * dim + a) * L] * t->F[(f * t->N + i) * m + j];
        }
}

/* Where scalar function j of a run (-1: u, else a face) of component c stands, and which row of C is which.
 */
static int place(const struct elastic_tables *t, int run, int c, int j) {
    return run < 0 ? c * t->Nu + j : t->dim * t->Nu + (run * t->dim + c) * t->m + j;
}

/* C_cd = alpha P_cd + delta P_dc + gamma 1_cd sum_b P_bb, P = Z'Z: the rows and columns of two runs. */
static void mix(const struct elastic_tables *t, const double *moduli, const double *Z, int run, int other,
                double *C) {
    const int L = t->lanes;
    int total = sizes_of(t).total, rows = run < 0 ? t->Nu : t->m, columns = other < 0 ? t->Nu : t->m,
        dim = t->dim;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double P[9] = {0.0}, sum = 0.0;
            for (int cd = 0; cd < dim * dim; cd++)
                for (int k = 0; k < t->N; k++)
                    P[cd] += Z[k * total + place(t, run, cd / dim, i)] *
                             Z[k * total + place(t, other, cd % dim, j)];
            for (int b = 0; b < dim; b++) sum += P[b * (dim + 1)];
            for (int b = 0; b < dim; b++)
                for (int d = 0; d < dim; d++)
                    C[place(t, run, b, i) * total + place(t, other, d, j)] =
                        moduli[0] * P[b * dim + d] + moduli[L] * P[d * dim + b] +
                        (b == d ? moduli[2 * L] * sum : 0.0);
        }
}

/* C = [S R; R' H] of one lane, all of it, faces in orientation 0. */
static void assemble_lane(const struct elastic_tables *t, const double *c, double *Z, double *C) {
    const int L = t->lanes;
    struct elastic_layout at = elastic_layout(t->dim, t->n_faces);
    int total = sizes_of(t).total, Nu = t->Nu, m = t->m;
    gradients_lane(t, c, Z);
    for (int run = -1; run < t->n_faces; run++)
        for (int other = -1; other < t->n_faces; other++) mix(t, c + at.moduli * L, Z, run, other, C);
    for (int f = 0; f < t->n_faces; f++)
        for (int b = 0; b < t->dim; b++) { /* the stabilization */
            double weight = c[(at.weight + f) * L];
            for (int i = 0; i < Nu; i++)
                for (int j = 0; j < m; j++) {
                    double entry = weight * t->FU[(f * Nu + i) * m + j];
                    C[place(t, -1, b, i) * total + place(t, f, b, j)] += entry;
                    C[place(t, f, b, j) * total + place(t, -1, b, i)] += entry;
                    for (int k = 0; k < Nu; k++)
                        C[place(t, -1, b, i) * total + place(t, -1, b, k)] +=
                            entry * t->FU[(f * Nu + k) * m + j];
                }
            for (int j = 0; j < m; j++) C[place(t, f, b, j) * (total + 1)] += weight;
        }
}

/* ------------------------------------------------------------------------------- rigid motions */

/* K (upper triangle, rows of ld) += d v' + v d' - (d'v) v v' with d = -K v, so that K v = 0; v of length 1.
 * limit: on |d| over the largest diagonal entry, beyond which nothing is done. Answers whether it was. */
static int restore_motion(int n, int ld, double limit, const double *v, double *K, double *d) {
    double norm = 0.0, largest = 0.0, inner = 0.0;
    for (int i = 0; i < n; i++) {
        d[i] = 0.0;
        for (int j = 0; j < n; j++) d[i] -= (i <= j ? K[i * ld + j] : K[j * ld + i]) * v[j];
        norm += d[i] * d[i];
        inner += d[i] * v[i];
        largest = fmax(largest, K[i * ld + i]);
    }
    if (!(sqrt(norm) < limit * largest)) return 0;
    for (int i = 0; i < n; i++) d[i] -= 0.5 * inner * v[i];
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) K[i * ld + j] += d[i] * v[j] + v[i] * d[j];
    return 1;
}

/* X (dim x n_faces m) = x on the faces of a straight cell by the psi; `jacobian` of one lane. */
static void straight_coordinates(const struct elastic_tables *t, const double *jacobian, double *X) {
    const int L = t->lanes, faces = t->n_faces, n = faces * t->m;
    memset(X, 0, (size_t)(t->dim * n) * sizeof *X);
    for (int a = 0; a < t->dim; a++)
        for (int k = 0; k < faces * t->n_linear; k++)
            for (int e = 0; e < t->dim; e++)
                X[a * n + k / t->n_linear * t->m + t->linear[k % t->n_linear]] +=
                    jacobian[(a * t->dim + e) * L] * t->coordinates[e * faces * t->n_linear + k];
}

/* Those of X without its means, which are translations. all: room for the rotations, 3 n; d: n. */
static void restore_rotations(const struct elastic_tables *t, double *X, double *K, double *d, double *all) {
    struct sizes s = sizes_of(t);
    int n = s.n, dim = t->dim, n_face = t->n_faces * t->m, done = 1;
    for (int a = 0; a < dim; a++) {
        double mean = 0.0;
        for (int f = 0; f < t->n_faces; f++) mean += X[a * n_face + f * t->m] / t->n_faces;
        for (int f = 0; f < t->n_faces; f++) X[a * n_face + f * t->m] -= mean;
    }
    for (int r = 0; r < (dim == 2 ? 1 : 3) && done; r++) {
        int axis = dim == 2 ? 2 : r, from = (axis + 1) % 3, to = (axis + 2) % 3;
        double *v = all + r * n, norm = 0.0;
        memset(v, 0, (size_t)n * sizeof *v);
        for (int j = 0; j < n_face; j++) {
            v[(j / t->m * dim + from) * t->m + j % t->m] = -X[to * n_face + j];
            v[(j / t->m * dim + to) * t->m + j % t->m] = X[from * n_face + j];
        }
        for (int k = 0; k < 2 * r; k++) { /* twice is enough */
            const double *before = all + k % r * n;
            double inner = 0.0;
            for (int i = 0; i < n; i++) inner += before[i] * v[i];
            for (int i = 0; i < n; i++) v[i] -= inner * before[i];
        }
        for (int i = 0; i < n; i++) norm += v[i] * v[i];
        for (int i = 0; i < n; i++) v[i] /= sqrt(norm);
        done = restore_motion(n, s.total, ELASTIC_EXACT, v, K, d);
    }
}

/* X: restore_rotations. */
static void restore_motions(const struct elastic_tables *t, double *X, double *K, double *d, double *all) {
    struct sizes s = sizes_of(t);
    for (int c = 0; c < t->dim; c++) {
        memset(all, 0, (size_t)s.n * sizeof *all);
        for (int f = 0; f < t->n_faces; f++) all[(f * t->dim + c) * t->m] = 1.0 / sqrt(t->n_faces);
        (void)restore_motion(s.n, s.total, INFINITY, all, K, d);
    }
    if (t->rotations) restore_rotations(t, X, K, d, all);
}

/* ------------------------------------------------------------------------------------- kernels */

/* R O, O'K O with the orientations of one lane, once for every component. d: n numbers of scratch. */
static void turn_lane(const struct elastic_tables *t, const double *orientations, double *C, double *d) {
    const int L = t->lanes;
    struct affine_tables turns = *t->turns;
    double *all = d + t->m;
    turns.N = sizes_of(t).N;
    turns.lanes = 1;
    for (int run = 0; run < t->n_faces * t->dim; run++) all[run] = orientations[run / t->dim * L];
    ref_turn(&turns, all, C, d);
}

int64_t condense_elastic_ref(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                             double *K, double *scratch) {
    const int L = t->lanes;
    struct elastic_layout at = elastic_layout(t->dim, t->n_faces);
    struct sizes s = sizes_of(t);
    double *C = scratch, *Z = C + s.total * s.total, *d = Z + t->N * s.total,
           *all = d + s.n + t->n_faces * t->dim, *X = all + 3 * s.n;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *c = coefficients + cell / L * at.count * L + cell % L;
        double *rest = C + s.N * s.total + s.N;
        assemble_lane(t, c, Z, C);
        if (!ref_eliminate(s.N, s.total, C)) return cell / L;
        if (t->rotations) straight_coordinates(t, c + at.jacobian * L, X);
        restore_motions(t, X, rest, d, all);
        turn_lane(t, c + at.orientation * L, C, d);
        ref_store(s.n, s.total, rest, L, K + cell / L * (s.n * (s.n + 1) / 2) * L + cell % L);
    }
    return -1;
}

/* moments (dim dim N): t_ca = D_a u_c - G_a uhat_c, uhat (or NULL) in orientation 0. */
static void moments_lane(const struct elastic_tables *t, const double *Z, const double *u, const double *uhat,
                         double *moments) {
    const int L = t->lanes;
    struct sizes s = sizes_of(t);
    int dim = t->dim, N = t->N;
    for (int k = 0; k < dim * dim * N; k++) {
        int c = k / N / dim, a = k / N % dim;
        const double *row = Z + k % N * s.total;
        moments[k] = 0.0;
        for (int j = 0; j < t->Nu; j++) moments[k] += row[place(t, -1, a, j)] * u[place(t, -1, c, j) * L];
        for (int j = 0; j < t->n_faces * t->m && uhat != NULL; j++)
            moments[k] -= row[place(t, j / t->m, a, j % t->m)] * uhat[place(t, j / t->m, c, j % t->m) - s.N];
    }
}

static double trace_of(const struct elastic_tables *t, const double *moments, int i) {
    double trace = 0.0;
    for (int c = 0; c < t->dim; c++) trace += moments[c * (t->dim + 1) * t->N + i];
    return trace;
}

/* Entry i of component k of the flux: a t_ca + b t_ac + c 1_ca tr t. */
static double flux_of(const struct elastic_tables *t, const double *flux, const double *moments, int k,
                      int i) {
    const int L = t->lanes, dim = t->dim, N = t->N;
    return flux[0] * moments[k * N + i] + flux[L] * moments[(k % dim * dim + k / dim) * N + i] +
           (k % (dim + 1) == 0 ? flux[2 * L] * trace_of(t, moments, i) : 0.0);
}

/* trace (n) = O uhat of one lane; orientations: of its faces. */
static void turn_trace(const struct elastic_tables *t, const double *orientations, const double *uhat,
                       double *trace) {
    const int L = t->lanes;
    for (int run = 0; run < t->dim * t->n_faces; run++) {
        int o = (int)orientations[run / t->dim * L];
        const double *block = t->turns->turns + o * t->turns->n_turn;
        for (int g = 0; g < t->turns->n_groups; g++) {
            const int32_t *modes = t->turns->modes + t->turns->group_starts[g];
            int size = t->turns->group_starts[g + 1] - t->turns->group_starts[g];
            for (int a = 0; a < size; a++, block += size) {
                double sum = 0.0;
                for (int b = 0; b < size; b++) sum += block[b] * uhat[(run * t->m + modes[b]) * L];
                trace[run * t->m + modes[a]] = sum;
            }
        }
    }
}

int64_t elastic_solve_ref(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    const int L = t->lanes;
    struct elastic_layout at = elastic_layout(t->dim, t->n_faces);
    struct sizes s = sizes_of(t);
    int64_t n_q = (t->dim * t->dim + (t->pressure != 0)) * t->N;
    double *C = scratch, *Z = C + s.total * s.total, *S = Z + t->N * s.total,
           *trace = S + (s.N + 1) * (s.N + 1), *d = trace + s.n, *moments = trace + 3 * s.n;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        int64_t batch = cell / L, lane = cell % L;
        const double *c = coefficients + batch * at.count * L + lane;
        const double *outer = uhat != NULL ? uhat + batch * s.n * L + lane : NULL;
        double *inner = u + batch * s.N * L + lane;
        assemble_lane(t, c, Z, C);
        turn_lane(t, c + at.orientation * L, C, d);
        if (!ref_solve(s.N, s.n, C, 1.0, L, outer, inner, load != NULL ? load + batch * s.n * L + lane : NULL,
                       S))
            return batch;
        if (q == NULL) continue;
        if (outer != NULL) turn_trace(t, c + at.orientation * L, outer, trace);
        moments_lane(t, Z, inner, outer != NULL ? trace : NULL, moments);
        double *flux = q + batch * n_q * L + lane;
        for (int k = 0; k < t->dim * t->dim * t->N; k++)
            flux[k * L] = flux_of(t, c + at.flux * L, moments, k / t->N, k % t->N);
        for (int i = 0; i < t->N && t->pressure; i++)
            flux[(t->dim * t->dim * t->N + i) * L] = c[(at.flux + 3) * L] * trace_of(t, moments, i);
    }
    return -1;
}

/* ------------------------------------------------------------------------------------- general cells */

/* The numbers of one lane, and where its matrices stand: Z with M_dev's factor applied, Y with that of M_vol.
 */
struct general {
    const struct elastic_general_tables *t;
    const double *dev, *vol, *numbers, *cofactors, *normals, *tau, *coordinates, *orientations;
    const double *chi, *slopes, *face_chi; /* of its own, or NULL */
    double *A, *B, *Z, *Y, *C, *E, *H, *rest;
};

static struct general general_of(const struct elastic_general_tables *t,
                                 const struct elastic_general_cells *g, int64_t batch, int lane,
                                 double *scratch) {
    const struct elastic_tables *e = &t->sizes;
    int64_t L = e->lanes, dim = e->dim, points = (int64_t)e->n_faces * t->n_face, total = sizes_of(e).total;
    struct general o = {.t = t,
                        .dev = g->dev + batch * t->n * L + lane,
                        .vol = g->vol != NULL ? g->vol + batch * t->n * L + lane : NULL,
                        .numbers = g->numbers + batch * N_ELASTIC_NUMBERS * L + lane,
                        .normals = g->normals + batch * points * dim * L + lane,
                        .tau = g->tau + batch * points * L + lane,
                        .orientations = g->orientations + batch * e->n_faces * L + lane,
                        .A = scratch};
    if (e->rotations) o.coordinates = g->coordinates + batch * e->n_faces * e->m * dim * L + lane;
    if (g->chi == NULL) {
        o.cofactors = g->cofactors + batch * t->n * dim * dim * L + lane;
    } else {
        o.chi = g->chi + batch * t->n * e->Nu * L + lane;
        o.slopes = g->slopes + batch * dim * t->n * e->N * L + lane;
        o.face_chi = g->face_chi + batch * points * e->Nu * L + lane;
    }
    o.B = o.A + (int64_t)e->N * e->N;
    o.Z = o.B + (int64_t)e->N * e->N;
    o.Y = o.Z + e->N * total;
    o.C = o.Y + e->N * total;
    o.E = o.C + total * total;
    o.H = o.E + (int64_t)e->Nu * e->m;
    o.rest = o.H + (int64_t)e->m * e->m;
    return o;
}

int64_t elastic_general_scratch_ref(const struct elastic_general_tables *t) {
    const struct elastic_tables *e = &t->sizes;
    struct sizes s = sizes_of(e);
    int64_t N = e->N, total = s.total;
    return 2 * N * N + 2 * N * total + total * total + (e->Nu + e->m) * e->m + (s.N + 1) * (s.N + 1) +
           7 * s.n + e->m + 2 * e->dim * e->dim * N;
}

/* chi_i at point q inside, and at point p of all faces; w det J d_a phi_i at point q. */
static double chi_at(const struct general *o, int q, int i) {
    const int64_t at = (int64_t)q * o->t->sizes.Nu + i;
    return o->chi != NULL ? o->chi[at * o->t->sizes.lanes] : o->t->chi[at];
}
static double face_chi_at(const struct general *o, int p, int i) {
    const int64_t at = (int64_t)p * o->t->sizes.Nu + i;
    return o->face_chi != NULL ? o->face_chi[at * o->t->sizes.lanes] : o->t->face_chi[at];
}
static double slope_at(const struct general *o, int q, int a, int i) {
    const struct elastic_tables *e = &o->t->sizes;
    const int n = o->t->n, dim = e->dim;
    double sum = 0.0;
    if (o->slopes != NULL) return o->slopes[(((int64_t)a * n + q) * e->N + i) * e->lanes];
    for (int c = 0; c < dim; c++) /* directions of the reference cell */
        sum += o->cofactors[((q * dim + c) * dim + a) * e->lanes] * o->t->grad[(c * n + q) * e->Nu + i];
    return sum;
}

static int factor_weighted(const struct general *o, const double *weights, double *A) {
    const struct elastic_tables *e = &o->t->sizes;
    memset(A, 0, (size_t)(e->N * e->N) * sizeof *A);
    for (int q = 0; q < o->t->n; q++)
        for (int i = 0; i < e->N; i++)
            for (int j = 0; j < e->N; j++)
                A[i * e->N + j] += weights[q * e->lanes] * chi_at(o, q, i) * chi_at(o, q, j);
    return ref_factor(e->N, A);
}

/* Z = [D | G]. */
static void general_gradients(const struct general *o) {
    const struct elastic_general_tables *t = o->t;
    const struct elastic_tables *e = &t->sizes;
    const int L = e->lanes, dim = e->dim, N = e->N, Nu = e->Nu, m = e->m, total = sizes_of(e).total;
    memset(o->Z, 0, (size_t)(N * total) * sizeof *o->Z);
    for (int i = 0; i < N; i++)
        for (int a = 0; a < dim; a++) {
            for (int q = 0; q < t->n; q++) {
                const double slope = slope_at(o, q, a, i);
                for (int j = 0; j < Nu; j++) o->Z[i * total + place(e, -1, a, j)] += slope * chi_at(o, q, j);
            }
            for (int p = 0; p < e->n_faces * t->n_face; p++)
                for (int j = 0; j < m; j++)
                    o->Z[i * total + place(e, p / t->n_face, a, j)] +=
                        o->normals[(p * dim + a) * L] * face_chi_at(o, p, i) * t->psi[p % t->n_face * m + j];
        }
}

/* E and H of a face; *T += their part. Returns whether H is positive definite. */
static int general_face(const struct general *o, int face, int b) {
    const struct elastic_general_tables *t = o->t;
    const struct elastic_tables *e = &t->sizes;
    const int L = e->lanes, Nu = e->Nu, m = e->m, total = sizes_of(e).total;
    memset(o->E, 0, (size_t)(Nu * m) * sizeof *o->E);
    memset(o->H, 0, (size_t)(m * m) * sizeof *o->H);
    for (int q = 0; q < t->n_face; q++) {
        const int p = face * t->n_face + q;
        const double *psi = t->psi + q * m, tau = o->tau[p * L];
        for (int j = 0; j < m; j++) {
            for (int i = 0; i < Nu; i++) o->E[i * m + j] += tau * face_chi_at(o, p, i) * psi[j];
            for (int i = 0; i < m; i++) o->H[i * m + j] += tau * psi[i] * psi[j];
        }
        for (int i = 0; i < Nu * Nu && !t->projects; i++)
            o->C[place(e, -1, b, i / Nu) * total + place(e, -1, b, i % Nu)] +=
                tau * face_chi_at(o, p, i / Nu) * face_chi_at(o, p, i % Nu);
    }
    for (int j = 0; j < m; j++) {
        for (int i = 0; i < Nu; i++) {
            o->C[place(e, -1, b, i) * total + place(e, face, b, j)] += o->E[i * m + j];
            o->C[place(e, face, b, j) * total + place(e, -1, b, i)] += o->E[i * m + j];
        }
        for (int i = 0; i < m; i++)
            o->C[place(e, face, b, i) * total + place(e, face, b, j)] += o->H[i * m + j];
    }
    if (!t->projects) return 1;
    if (!ref_factor(m, o->H)) return 0;
    for (int i = 0; i < Nu; i++) ref_forward(m, o->H, o->E + i * m, 1);
    for (int i = 0; i < Nu * Nu; i++)
        for (int j = 0; j < m; j++)
            o->C[place(e, -1, b, i / Nu) * total + place(e, -1, b, i % Nu)] +=
                o->E[i / Nu * m + j] * o->E[i % Nu * m + j];
    return 1;
}

/* C = [S R; R' H], all of it, faces in orientation 0; 0 where a mass is not positive definite. */
static int general_assemble(const struct general *o) {
    const struct elastic_tables *e = &o->t->sizes;
    const int N = e->N, total = sizes_of(e).total;
    const double beta = o->numbers[E_BETA * e->lanes];
    if (!factor_weighted(o, o->dev, o->A)) return 0;
    if (o->vol != NULL && !factor_weighted(o, o->vol, o->B)) return 0;
    general_gradients(o);
    memcpy(o->Y, o->Z, (size_t)(N * total) * sizeof *o->Y);
    for (int j = 0; j < total; j++) ref_forward(N, o->A, o->Z + j, total);
    for (int j = 0; j < total && o->vol != NULL; j++) ref_forward(N, o->B, o->Y + j, total);
    for (int run = -1; run < e->n_faces; run++)
        for (int other = -1; other < e->n_faces; other++)
            mix(e, o->numbers + E_ALPHA * e->lanes, o->Z, run, other, o->C);
    for (int64_t i = 0; i < (int64_t)total * total && o->vol != NULL; i++)
        for (int k = 0; k < N; k++)
            o->C[i] += beta * o->Y[k * total + i / total] * o->Y[k * total + i % total];
    for (int f = 0; f < e->n_faces; f++)
        for (int b = 0; b < e->dim; b++)
            if (!general_face(o, f, b)) return 0;
    return 1;
}

int64_t condense_elastic_general_ref(const struct elastic_general_tables *t,
                                     const struct elastic_general_cells *g, int64_t n_batches, double *K,
                                     double *scratch) {
    const struct elastic_tables *e = &t->sizes;
    const int L = e->lanes, n_face = e->n_faces * e->m;
    struct sizes s = sizes_of(e);
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const int64_t batch = cell / L, lane = cell % L;
        const struct general o = general_of(t, g, batch, (int)lane, scratch);
        double *d = o.rest, *all = d + s.n + e->n_faces * e->dim, *X = all + 3 * s.n,
               *rest = o.C + s.N * s.total + s.N;
        if (!general_assemble(&o) || !ref_eliminate(s.N, s.total, o.C)) return batch;
        for (int i = 0; i < n_face * e->dim && e->rotations; i++)
            X[i % e->dim * n_face + i / e->dim] = o.coordinates[i * L];
        restore_motions(e, X, rest, d, all);
        turn_lane(e, o.orientations, o.C, d);
        ref_store(s.n, s.total, rest, L, K + batch * (s.n * (s.n + 1) / 2) * L + lane);
    }
    return -1;
}

/* q of one lane from u and the trace in orientation 0; room: 2 dim dim N. */
static void general_flux(const struct general *o, const double *u, const double *trace, double *room,
                         double *q) {
    const struct elastic_tables *e = &o->t->sizes;
    const int L = e->lanes, dim = e->dim, N = e->N;
    double *moments = room, *x = room + dim * dim * N, *spherical = x + N;
    moments_lane(e, o->vol != NULL ? o->Y : o->Z, u, trace, moments);
    for (int i = 0; i < N; i++) spherical[i] = trace_of(e, moments, i);
    ref_backward(N, o->vol != NULL ? o->B : o->A, spherical, 1);
    moments_lane(e, o->Z, u, trace, moments);
    for (int k = 0; k < dim * dim; k++) {
        for (int i = 0; i < N; i++) x[i] = flux_of(e, o->numbers + E_FLUX * L, moments, k, i);
        ref_backward(N, o->A, x, 1);
        for (int i = 0; i < N; i++)
            q[(k * N + i) * L] =
                x[i] + (k % (dim + 1) == 0 ? o->numbers[E_SPHERICAL * L] * spherical[i] : 0.0);
    }
    for (int i = 0; i < N && e->pressure; i++)
        q[(dim * dim * N + i) * L] = o->numbers[E_PRESSURE * L] * spherical[i];
}

int64_t elastic_general_solve_ref(const struct elastic_general_tables *t,
                                  const struct elastic_general_cells *g, int64_t n_batches,
                                  const double *uhat, double *u, double *q, double *load, double *scratch) {
    const struct elastic_tables *e = &t->sizes;
    const int L = e->lanes;
    struct sizes s = sizes_of(e);
    const int64_t n_q = (e->dim * e->dim + (e->pressure != 0)) * e->N;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const int64_t batch = cell / L, lane = cell % L;
        const struct general o = general_of(t, g, batch, (int)lane, scratch);
        const double *outer = uhat != NULL ? uhat + batch * s.n * L + lane : NULL;
        double *S = o.rest, *trace = S + (s.N + 1) * (s.N + 1), *d = trace + s.n, *room = trace + 3 * s.n;
        double *inner = u + batch * s.N * L + lane;
        if (!general_assemble(&o)) return batch;
        turn_lane(e, o.orientations, o.C, d);
        if (!ref_solve(s.N, s.n, o.C, 1.0, L, outer, inner,
                       load != NULL ? load + batch * s.n * L + lane : NULL, S))
            return batch;
        if (q == NULL) continue;
        if (outer != NULL) turn_trace(e, o.orientations, outer, trace);
        general_flux(&o, inner, outer != NULL ? trace : NULL, room, q + batch * n_q * L + lane);
    }
    return -1;
}

int64_t elastic_weights_ref(const struct elastic_data *data, int64_t n_batches) {
    int64_t failed = -1;
    for (int64_t i = 0; i < n_batches * data->lanes; i++)
        if (!elastic_weights_of(data, i / data->lanes, (int)(i % data->lanes)) && failed < 0)
            failed = i / data->lanes;
    return failed;
}

void physical_functions_ref(const struct physical_points *p, int64_t n_batches) {
    for (int64_t i = 0; i < n_batches * p->n * p->lanes; i++)
        physical_functions_at(p, i / p->lanes / p->n, (int)(i / p->lanes % p->n), (int)(i % p->lanes));
}
