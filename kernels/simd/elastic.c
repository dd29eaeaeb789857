/* Local solvers of straight cells of elasticity, a batch of cells at a time.
 *
 * Functions of u beyond the first n_low do not meet the stress: their rows are the same for every component,
 * so they leave first, by one scalar elimination of Nu - n_low rows that serves all components; then dim
 * n_low rows are left of dim Nu. With tets and N_high = Nu - n_low the floor is N_high^3/3 + N_high^2 (n_low
 * + n/3) + N_high (n_low + n/3)^2 operations for that and (3 n_low)^3/3 + (3 n_low)^2 n + 3 n_low n^2 for the
 * rest: 0.09 and 0.65 Mflop a cell in 3D, k = 2 and 3, where the elimination of all rows at once takes 0.64
 * and 3.2.
 */
#include <math.h>
#include <omp.h>

#include "kernels/simd/dense.h"

/* Sizes and places in the coefficients. Scalar matrices have the high functions first, then the low ones,
 * then n_face functions of the faces. */
struct frame {
    struct elastic_layout at;
    int high, low, n_face, N, n; /* N: low rows of all components; n: of the trace */
};

static struct frame frame_of(const struct elastic_tables *t) {
    return (struct frame){.at = elastic_layout(t->dim, t->n_faces),
                          .high = t->Nu - t->n_low,
                          .low = t->n_low,
                          .n_face = t->n_faces * t->m,
                          .N = t->dim * t->n_low,
                          .n = t->dim * t->n_faces * t->m};
}

/* ------------------------------------------------------------------------------- assembly */

/* Entry (i, j) of sum_f tau_f FU_f FU_f', in the order of chi. */
INLINE lane mass_entry(int n_faces, const struct elastic_tables *t, const lane *weight, int i, int j) {
    lane sum = weight[0] * t->mass[i * t->Nu + j];
    for (int f = 1; f < n_faces; f++) sum += weight[f] * t->mass[(f * t->Nu + i) * t->Nu + j];
    return sum;
}

/* The upper triangle of the stabilization of u: high functions first. */
INLINE void assemble_mass(int n_faces, const struct elastic_tables *t, const lane *weight, int ld, lane *A) {
    int high = t->Nu - t->n_low, low = t->n_low;
    for (int i = 0; i < high; i++) {
        for (int j = i; j < high; j++)
            A[(int64_t)i * ld + j] = mass_entry(n_faces, t, weight, low + i, low + j);
        for (int j = 0; j < low; j++)
            A[(int64_t)i * ld + high + j] = mass_entry(n_faces, t, weight, low + i, j);
    }
    for (int i = 0; i < low; i++)
        for (int j = i; j < low; j++)
            A[(int64_t)(high + i) * ld + high + j] = mass_entry(n_faces, t, weight, i, j);
}

static void make_mass(const struct elastic_tables *t, const lane *weight, int ld, lane *A) {
    if (t->n_faces == 3)
        assemble_mass(3, t, weight, ld, A);
    else if (t->n_faces == 4)
        assemble_mass(4, t, weight, ld, A);
    else
        assemble_mass(t->n_faces, t, weight, ld, A);
}

/* The same with the trace: the stabilization of one component, Nu + n_face rows. */
static void make_scalar(const struct elastic_tables *t, const struct frame *s, const lane *weight, lane *A) {
    int m = t->m, ld = t->Nu + s->n_face;
    make_mass(t, weight, ld, A);
    for (int i = 0; i < t->Nu; i++) {
        int function = i < s->high ? s->low + i : i - s->high;
        for (int f = 0; f < t->n_faces; f++)
            for (int j = 0; j < m; j++)
                A[(int64_t)i * ld + t->Nu + f * m + j] = weight[f] * t->FU[(f * t->Nu + function) * m + j];
    }
    for (int i = 0; i < s->n_face; i++) {
        lane *row = A + (int64_t)(t->Nu + i) * ld + t->Nu;
        for (int j = i; j < s->n_face; j++) row[j] = (lane){0};
        row[i] = weight[i / m];
    }
}

/* alpha a_c b_d + delta a_d b_c + gamma 1_cd a.b, where the a of direction c is a[c step_a]. */
INLINE lane modulus(int dim, const lane *moduli, const lane *a, int step_a, const lane *b, int step_b, int c,
                    int d) {
    lane sum = moduli[0] * (a[c * step_a] * b[d * step_b]) + moduli[1] * (a[d * step_a] * b[c * step_b]);
    if (c != d) return sum;
    lane inner = a[0] * b[0];
    for (int e = 1; e < dim; e++) inner += a[e * step_a] * b[e * step_b];
    return sum + moduli[2] * inner;
}

/* Adds 1_cd A (the upper triangle of scalar low rows, rows of ld_A) + S of the low functions into C. */
INLINE void assemble_low(int dim, const struct elastic_tables *t, const struct frame *s, const lane *c,
                         int ld_A, const lane *A, int ld, lane *C) {
    int low = s->low;
    const lane *cofactors = c + s->at.cofactors;
    for (int b = 0; b < dim; b++)
        for (int d = b; d < dim; d++) {
            lane w[9];
            for (int e = 0; e < dim * dim; e++)
                w[e] =
                    modulus(dim, c + s->at.moduli, cofactors + e / dim, dim, cofactors + e % dim, dim, b, d);
            for (int i = 0; i < low; i++) {
                lane *row = C + (int64_t)(b * low + i) * ld + d * low;
                for (int j = b == d ? i : 0; j < low; j++) {
                    lane sum = b == d ? A[(int64_t)i * ld_A + j] : (lane){0};
                    for (int e = 0; e < dim * dim; e++) sum += w[e] * t->DD[(e * low + i) * low + j];
                    row[j] = sum;
                }
            }
        }
}

/* The coefficients of D_e'F_f in the rows of component b, columns of component d. */
INLINE void coupling(int dim, const struct frame *s, const lane *c, int f, int b, int d, lane *r) {
    for (int e = 0; e < dim; e++)
        r[e] = modulus(dim, c + s->at.moduli, c + s->at.cofactors + e, dim, c + s->at.normals + f * dim, 1, b,
                       d);
}

/* Columns of the trace in the low rows. A: of the scalar matrix. */
INLINE void assemble_coupling(int dim, const struct elastic_tables *t, const struct frame *s, const lane *c,
                              int ld_A, const lane *A, int ld, lane *C) {
    int low = s->low, m = t->m;
    for (int f = 0; f < t->n_faces; f++)
        for (int b = 0; b < dim; b++)
            for (int d = 0; d < dim; d++) {
                lane r[3];
                coupling(dim, s, c, f, b, d, r);
                for (int i = 0; i < low; i++) {
                    lane *row = C + (int64_t)(b * low + i) * ld + s->N + (f * dim + d) * m;
                    const double *DF = t->DF + (f * dim * low + i) * m;
                    for (int j = 0; j < m; j++) {
                        lane sum = b == d ? A[(int64_t)i * ld_A + low + f * m + j] : (lane){0};
                        for (int e = 0; e < dim; e++) sum += r[e] * DF[e * low * m + j];
                        row[j] = sum;
                    }
                }
            }
}

/* The trace itself. */
INLINE void assemble_trace(int dim, const struct elastic_tables *t, const struct frame *s, const lane *c,
                           int ld_A, const lane *A, int ld, lane *K) {
    int m = t->m;
    const lane *normals = c + s->at.normals;
    for (int f = 0; f < t->n_faces; f++)
        for (int g = f; g < t->n_faces; g++)
            for (int b = 0; b < dim; b++)
                for (int d = f == g ? b : 0; d < dim; d++) {
                    const double *FF = t->FF + (f * t->n_faces + g) * m * m;
                    lane w = modulus(dim, c + s->at.moduli, normals + f * dim, 1, normals + g * dim, 1, b, d);
                    for (int i = 0; i < m; i++) {
                        lane *row = K + (int64_t)((f * dim + b) * m + i) * ld + (g * dim + d) * m;
                        const lane *scalar = A + (int64_t)(f * m + i) * ld_A + g * m;
                        int first = f == g && b == d ? i : 0;
                        if (b == d)
                            for (int j = first; j < m; j++) row[j] = scalar[j] + w * FF[i * m + j];
                        else
                            for (int j = first; j < m; j++) row[j] = w * FF[i * m + j];
                    }
                }
}

INLINE void assemble(int dim, const struct elastic_tables *t, const struct frame *s, const lane *c,
                     const lane *A, lane *C) {
    int ld = s->N + s->n, ld_A = t->Nu + s->n_face;
    const lane *low = A + (int64_t)s->high * (ld_A + 1);
    assemble_low(dim, t, s, c, ld_A, low, ld, C);
    assemble_coupling(dim, t, s, c, ld_A, low, ld, C);
    assemble_trace(dim, t, s, c, ld_A, A + (int64_t)t->Nu * (ld_A + 1), ld, C + (int64_t)s->N * (ld + 1));
}

/* ------------------------------------------------------------------------------- rigid motions */

#define MOST_MOTION 54 /* numbers of a motion: 6 faces, 3 components, 3 functions */

/* X (dim x faces x linear): the coordinates on the faces, their means taken off. */
static void face_coordinates(const struct elastic_tables *t, const lane *jacobian, lane *X) {
    int dim = t->dim, size = t->n_faces * t->n_linear;
    for (int a = 0; a < dim; a++) {
        lane *x = X + a * size, mean = {0};
        for (int i = 0; i < size; i++) {
            x[i] = jacobian[a * dim] * t->coordinates[i];
            for (int e = 1; e < dim; e++) x[i] += jacobian[a * dim + e] * t->coordinates[e * size + i];
            if (i % t->n_linear == 0) mean += x[i];
        }
        for (int f = 0; f < t->n_faces; f++) x[f * t->n_linear] -= mean * (1.0 / t->n_faces);
    }
}

/* v: the rotation about an axis, orthogonal to those before it, of length 1. Numbers as `at` has them: face,
 * component, linear function. */
static void make_rotation(const struct elastic_tables *t, int axis, const lane *X, int n_before,
                          lane (*before)[MOST_MOTION], lane *v) {
    int dim = t->dim, n_linear = t->n_linear, size = t->n_faces * n_linear, count = dim * size, positive = 1;
    int from = (axis + 1) % 3, to = (axis + 2) % 3;
    lane norm = {0};
    for (int i = 0; i < count; i++) v[i] = (lane){0};
    for (int f = 0; f < t->n_faces; f++)
        for (int k = 0; k < n_linear; k++) {
            v[(f * dim + from) * n_linear + k] = -X[to * size + f * n_linear + k];
            v[(f * dim + to) * n_linear + k] = X[from * size + f * n_linear + k];
        }
    for (int k = 0; k < 2 * n_before; k++) { /* twice is enough */
        const lane *u = before[k % n_before];
        lane inner = {0};
        for (int i = 0; i < count; i++) inner += u[i] * v[i];
        for (int i = 0; i < count; i++) v[i] -= inner * u[i];
    }
    for (int i = 0; i < count; i++) norm += v[i] * v[i];
    norm = 1.0 / lane_sqrt(norm, &positive);
    for (int i = 0; i < count; i++) v[i] *= norm;
}

/* d: n lanes of scratch. */
static void restore_motions(const struct elastic_tables *t, const struct frame *s, const lane *c, int ld,
                            lane *K, lane *d) {
    int dim = t->dim, m = t->m, count = dim * t->n_faces * t->n_linear, at[MOST_MOTION];
    lane X[MOST_MOTION], v[3][MOST_MOTION], limited = (lane){0} + 1.0;
    for (int b = 0; b < dim; b++) {
        for (int f = 0; f < t->n_faces; f++) {
            at[f] = (f * dim + b) * m;
            v[0][f] = (lane){0} + 1.0 / sqrt(t->n_faces);
        }
        restore_motion(s->n, ld, t->n_faces, at, v[0], K, d, NULL);
    }
    if (!t->rotations) return;
    face_coordinates(t, c + s->at.jacobian, X);
    for (int i = 0; i < count; i++) at[i] = i / t->n_linear * m + t->linear[i % t->n_linear];
    for (int r = 0; r < (dim == 2 ? 1 : 3); r++) {
        make_rotation(t, dim == 2 ? 2 : r, X, r, v, v[r]);
        restore_motion(s->n, ld, count, at, v[r], K, d, &limited);
    }
}

/* ------------------------------------------------------------------------------- condensation */

/* Lanes of scratch of a thread: the two matrices, their inverse diagonals, vectors of all unknowns, O of a
 * face, and the orientations of all runs. */
static int64_t scratch_lanes(const struct elastic_tables *t, int condense) {
    struct frame s = frame_of(t);
    int64_t scalar = t->Nu + (condense ? s.n_face : t->dim), total = s.N + (condense ? s.n : 1);
    return scalar * scalar + total * total + (1 + 2 * t->dim) * t->Nu + s.n + t->turns->n_turn +
           t->dim * t->n_faces;
}

int64_t OF(elastic_scratch)(const struct elastic_tables *t, int condense) {
    return scratch_lanes(t, condense) * L * base_threads();
}

/* Those of the runs of the trace. */
static void spread_orientations(const struct elastic_tables *t, const lane *from, lane *to) {
    for (int run = 0; run < t->dim * t->n_faces; run++) to[run] = from[run / t->dim];
}

int64_t OF(condense_elastic)(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                             double *K, double *scratch) {
    struct frame s = frame_of(t);
    int scalar = t->Nu + s.n_face, total = s.N + s.n;
    int64_t failed = INT64_MAX, size = scratch_lanes(t, 1);
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *A = (lane *)scratch + omp_get_thread_num() * size, *C = A + (int64_t)scalar * scalar;
        lane *inverse = C + (int64_t)total * total, *d = inverse + (1 + t->dim) * t->Nu, *O = d + s.n;
        lane *orientations = O + t->turns->n_turn, *rest = C + (int64_t)s.N * (total + 1);
        const lane *c = (const lane *)coefficients + batch * s.at.count;
        make_scalar(t, &s, c + s.at.weight, A);
        int good = eliminate(s.high, scalar, A, inverse);
        if (t->dim == 2)
            assemble(2, t, &s, c, A, C);
        else
            assemble(3, t, &s, c, A, C);
        if (!(eliminate(s.N, total, C, inverse) && good) && batch < failed) failed = batch;
        restore_motions(t, &s, c, total, rest, d);
        spread_orientations(t, c + s.at.orientation, orientations);
        turn(t->turns, orientations, rest, total, O);
        store_triangle(s.n, rest, total, (lane *)K + batch * (s.n * (s.n + 1) / 2));
        lane_stream_end();
    }
    return failed == INT64_MAX ? -1 : failed;
}

/* ------------------------------------------------------------------------------- solves inside */

/* u += R uhat; or, uhat NULL, y += R'u; in orientation 0. x: n_low lanes of scratch. */
static void add_R(const struct elastic_tables *t, const struct frame *s, const lane *c, const lane *uhat,
                  lane *u, lane *y, lane *x) {
    int dim = t->dim, m = t->m, low = s->low;
    for (int f = 0; f < t->n_faces; f++)
        for (int d = 0; d < dim; d++) {
            const double *FU = t->FU + (int64_t)f * t->Nu * m, *DF = t->DF + (int64_t)f * dim * low * m;
            const lane *weight = c + s->at.weight + f, one = (lane){0} + 1.0;
            int run = (f * dim + d) * m;
            lane r[3][3]; /* of the rows of each component: by direction */
            for (int b = 0; b < dim; b++) coupling(dim, s, c, f, b, d, r[b]);
            if (uhat != NULL)
                add_product(1, t->Nu, m, FU, uhat + run, weight, 0, u + d * t->Nu, 0);
            else
                add_transposed(t->Nu, m, FU, u + d * t->Nu, weight, y + run);
            for (int e = 0; e < dim; e++, DF += low * m) {
                if (uhat != NULL) {
                    add_product(dim, low, m, DF, uhat + run, &r[0][e], 3, u, t->Nu);
                    continue;
                }
                for (int i = 0; i < low; i++) {
                    x[i] = r[0][e] * u[i];
                    for (int b = 1; b < dim; b++) x[i] += r[b][e] * u[b * t->Nu + i];
                }
                add_transposed(low, m, DF, x, &one, y + run);
            }
        }
}

/* u = S^-1 u, high functions first. A: (Nu + dim)^2, C: N rows of N + 1; x: N lanes. */
static int solve_inside(const struct elastic_tables *t, const struct frame *s, const lane *c, lane *A,
                        lane *C, lane *inverse, lane *x, lane *u) {
    int dim = t->dim, Nu = t->Nu, ld = Nu + dim, high = s->high, low = s->low, positive;
    make_mass(t, c + s->at.weight, ld, A);
    for (int b = 0; b < dim; b++) {
        for (int i = 0; i < Nu; i++)
            A[(int64_t)i * ld + Nu + b] = u[b * Nu + (i < high ? low + i : i - high)];
        for (int d = b; d < dim; d++) A[(int64_t)(Nu + b) * ld + Nu + d] = (lane){0};
    }
    positive = eliminate(high, ld, A, inverse);
    const lane *rest = A + (int64_t)high * (ld + 1);
    if (dim == 2)
        assemble_low(2, t, s, c, ld, rest, s->N + 1, C);
    else
        assemble_low(3, t, s, c, ld, rest, s->N + 1, C);
    for (int b = 0; b < dim; b++)
        for (int i = 0; i < low; i++) x[b * low + i] = rest[(int64_t)i * ld + low + b];
    positive &= solve_in_place(s->N, C, inverse + Nu, x);
    for (int i = 0; i < high; i++) /* what is left for the high functions */
        for (int b = 0; b < dim; b++) {
            lane *row = A + (int64_t)i * ld, sum = row[Nu + b];
            for (int j = 0; j < low; j++) sum -= row[high + j] * x[b * low + j];
            row[Nu + b] = sum;
        }
    substitute_columns(high, ld, Nu, dim, A, inverse);
    for (int b = 0; b < dim; b++) {
        for (int i = 0; i < low; i++) u[b * Nu + i] = x[b * low + i];
        for (int i = 0; i < high; i++) u[b * Nu + low + i] = A[(int64_t)i * ld + Nu + b];
    }
    return positive;
}

/* q: see flux_lane of kernels/ref. */
static void flux_of_batch(const struct elastic_tables *t, const struct frame *s, const lane *c, const lane *u,
                          const lane *uhat, lane *q) {
    int dim = t->dim, N = t->N, m = t->m;
    const lane *flux = c + s->at.flux;
    for (int i = 0; i < dim * dim * N; i++) q[i] = (lane){0};
    for (int b = 0; b < dim; b++) {
        for (int e = 0; e < dim; e++)
            add_product(dim, N, s->low, t->D + (int64_t)e * N * s->low, u + b * t->Nu,
                        c + s->at.cofactors + e, dim, q + b * dim * N, N);
        for (int f = 0; f < t->n_faces && uhat != NULL; f++) {
            lane scale[3];
            for (int a = 0; a < dim; a++) scale[a] = -c[s->at.normals + f * dim + a];
            add_product(dim, N, m, t->F + (int64_t)f * N * m, uhat + (f * dim + b) * m, scale, 1,
                        q + b * dim * N, N);
        }
    }
    for (int i = 0; i < N; i++) {
        lane old[9], trace = {0};
        for (int k = 0; k < dim * dim; k++) old[k] = q[k * N + i];
        for (int b = 0; b < dim; b++) trace += old[b * (dim + 1)];
        for (int k = 0; k < dim * dim; k++) {
            lane sum = flux[0] * old[k] + flux[1] * old[k % dim * dim + k / dim];
            q[k * N + i] = k % (dim + 1) == 0 ? sum + flux[2] * trace : sum;
        }
        if (t->pressure) q[dim * dim * N + i] = flux[3] * trace;
    }
}

int64_t OF(elastic_solve)(const struct elastic_tables *t, int64_t n_batches, const double *coefficients,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    struct frame s = frame_of(t);
    int m = t->m, n_runs = t->dim * t->n_faces, scalar = t->Nu + t->dim;
    int64_t failed = INT64_MAX, size = scratch_lanes(t, 0),
            n_q = (t->dim * t->dim + (t->pressure != 0)) * t->N;
#pragma omp parallel for num_threads(base_threads()) schedule(guided) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++) {
        lane *A = (lane *)scratch + omp_get_thread_num() * size, *C = A + (int64_t)scalar * scalar;
        lane *inverse = C + (int64_t)(s.N + 1) * (s.N + 1), *trace = inverse + (1 + t->dim) * t->Nu,
             *x = trace + s.n;
        lane *O = x + t->dim * t->Nu, *inner = (lane *)u + batch * t->dim * t->Nu;
        const lane *c = (const lane *)coefficients + batch * s.at.count;
        for (int run = 0; run < n_runs && uhat != NULL; run++) {
            const lane *from = (const lane *)uhat + batch * s.n + run * m,
                       *turned =
                           turn_trace(t->turns, c + s.at.orientation + run / t->dim, from, trace + run * m);
            for (int j = 0; j < m && turned == from; j++) trace[run * m + j] = from[j];
        }
        if (uhat != NULL) add_R(t, &s, c, trace, inner, NULL, x);
        if (!solve_inside(t, &s, c, A, C, inverse, x, inner) && batch < failed) failed = batch;
        if (q != NULL) flux_of_batch(t, &s, c, inner, uhat != NULL ? trace : NULL, (lane *)q + batch * n_q);
        if (load == NULL) continue;
        lane *to = (lane *)load + batch * s.n;
        for (int j = 0; j < s.n; j++) to[j] = (lane){0};
        add_R(t, &s, c, NULL, inner, to, x);
        for (int run = 0; run < n_runs; run++)
            if (gather_turn(t->turns, c + s.at.orientation + run / t->dim, O))
                turn_block(1, t->turns, O, to + run * m, 0, 1);
    }
    return failed == INT64_MAX ? -1 : failed;
}
