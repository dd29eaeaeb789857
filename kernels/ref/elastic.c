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
    return total * total + t->N * total + (N + 1) * (N + 1) + 5 * n + t->m + t->dim * t->dim * t->N;
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

/* x_a on the faces less its mean, as the coefficient of linear function `k` on face f. */
static double coordinate(const struct elastic_tables *t, const double *jacobian, int a, int f, int k) {
    const int L = t->lanes;
    double sum = 0.0;
    for (int e = 0; e < t->dim; e++) {
        const double *moments = t->coordinates + e * t->n_faces * t->n_linear;
        double mean = 0.0;
        for (int g = 0; g < t->n_faces && k == 0; g++) mean += moments[g * t->n_linear] / t->n_faces;
        sum += jacobian[(a * t->dim + e) * L] * (moments[f * t->n_linear + k] - mean);
    }
    return sum;
}

/* all: room for the rotations, 3 n; d: n. */
static void restore_rotations(const struct elastic_tables *t, const double *jacobian, double *K, double *d,
                              double *all) {
    struct sizes s = sizes_of(t);
    int n = s.n, dim = t->dim, done = 1;
    for (int r = 0; r < (dim == 2 ? 1 : 3) && done; r++) {
        int axis = dim == 2 ? 2 : r, from = (axis + 1) % 3, to = (axis + 2) % 3;
        double *v = all + r * n, norm = 0.0;
        memset(v, 0, (size_t)n * sizeof *v);
        for (int f = 0; f < t->n_faces; f++)
            for (int k = 0; k < t->n_linear; k++) {
                v[(f * dim + from) * t->m + t->linear[k]] = -coordinate(t, jacobian, to, f, k);
                v[(f * dim + to) * t->m + t->linear[k]] = coordinate(t, jacobian, from, f, k);
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

static void restore_motions(const struct elastic_tables *t, const double *jacobian, double *K, double *d,
                            double *all) {
    struct sizes s = sizes_of(t);
    for (int c = 0; c < t->dim; c++) {
        memset(all, 0, (size_t)s.n * sizeof *all);
        for (int f = 0; f < t->n_faces; f++) all[(f * t->dim + c) * t->m] = 1.0 / sqrt(t->n_faces);
        (void)restore_motion(s.n, s.total, INFINITY, all, K, d);
    }
    if (t->rotations) restore_rotations(t, jacobian, K, d, all);
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
           *all = d + s.n + t->n_faces * t->dim;
    for (int64_t cell = 0; cell < n_batches * L; cell++) {
        const double *c = coefficients + cell / L * at.count * L + cell % L;
        double *rest = C + s.N * s.total + s.N;
        assemble_lane(t, c, Z, C);
        if (!ref_eliminate(s.N, s.total, C)) return cell / L;
        restore_motions(t, c + at.jacobian * L, rest, d, all);
        turn_lane(t, c + at.orientation * L, C, d);
        ref_store(s.n, s.total, rest, L, K + cell / L * (s.n * (s.n + 1) / 2) * L + cell % L);
    }
    return -1;
}

/* t_ca = D_a u_c - G_a uhat_c, and the flux: a t_ca + b t_ac + c 1_ca tr t; d tr t is p. C: [.. ; R O] of the
 * lane is not needed, uhat in orientation 0. moments: dim dim N. */
static void flux_lane(const struct elastic_tables *t, const double *flux, const double *Z, const double *u,
                      const double *uhat, double *moments, double *q) {
    const int L = t->lanes;
    struct sizes s = sizes_of(t);
    int dim = t->dim, N = t->N;
    for (int c = 0; c < dim; c++)
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N; i++) {
                double sum = 0.0;
                const double *row = Z + i * s.total;
                for (int j = 0; j < t->Nu; j++) sum += row[place(t, -1, a, j)] * u[place(t, -1, c, j) * L];
                for (int j = 0; j < t->n_faces * t->m && uhat != NULL; j++)
                    sum -= row[place(t, j / t->m, a, j % t->m)] * uhat[place(t, j / t->m, c, j % t->m) - s.N];
                moments[(c * dim + a) * N + i] = sum;
            }
    for (int i = 0; i < N; i++) {
        double trace = 0.0;
        for (int c = 0; c < dim; c++) trace += moments[c * (dim + 1) * N + i];
        for (int k = 0; k < dim * dim; k++)
            q[(k * N + i) * L] = flux[0] * moments[k * N + i] +
                                 flux[L] * moments[(k % dim * dim + k / dim) * N + i] +
                                 (k % (dim + 1) == 0 ? flux[2 * L] * trace : 0.0);
        if (t->pressure) q[(dim * dim * N + i) * L] = flux[3 * L] * trace;
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
        for (int run = 0; run < t->dim * t->n_faces && outer != NULL; run++) { /* uhat = O uhat */
            int o = (int)c[(at.orientation + run / t->dim) * L];
            const double *block = t->turns->turns + o * t->turns->n_turn;
            for (int g = 0; g < t->turns->n_groups; g++) {
                const int32_t *modes = t->turns->modes + t->turns->group_starts[g];
                int size = t->turns->group_starts[g + 1] - t->turns->group_starts[g];
                for (int a = 0; a < size; a++, block += size) {
                    double sum = 0.0;
                    for (int b = 0; b < size; b++) sum += block[b] * outer[(run * t->m + modes[b]) * L];
                    trace[run * t->m + modes[a]] = sum;
                }
            }
        }
        flux_lane(t, c + at.flux * L, Z, inner, outer != NULL ? trace : NULL, moments,
                  q + batch * n_q * L + lane);
    }
    return -1;
}

void elastic_balance_ref(const struct elastic_tables *t, const struct elastic_forces *forces,
                         int64_t n_batches, double *balance) {
    const struct elastic_layout at = elastic_layout(t->dim, t->n_faces);
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int lane = 0; lane < t->lanes; lane++)
            elastic_balance_cell(t, &at, forces, batch, lane,
                                 balance + batch * (2 + t->n_faces * t->dim) * t->lanes + lane);
}
