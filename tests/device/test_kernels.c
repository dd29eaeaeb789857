/* Kernels over many small things of one shape: parity of simd with ref on random data, for odd sizes, several
 * thread counts, and all sizes for which a kernel has code of its own; ref against its definition. */
#include <stdint.h>

#include "base/run.h"
#include "hdg_helpers.h"
#include "kernels/kernels.h"

#define L (kernels_simd()->lanes)

static double *randoms(int64_t n, uint32_t seed) {
    double *x;
    ok(ALLOC(x, n + 1));
    for (int64_t i = 0; i <= n; i++) x[i] = random_signed(&seed);
    return x;
}

static double *copy_of(int64_t n, const double *x) {
    double *y = randoms(n, 1);
    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static void same(int64_t n, const double *a, const double *b, double tolerance) {
    for (int64_t i = 0; i < n; i++) near(a[i], b[i], tolerance * (1 + fabs(a[i])));
}

/* ------------------------------------------------------------------------------------------ single */

static float *rounded(int64_t n, const double *x) {
    float *y;
    ok(ALLOC(y, n + 1));
    kernels_ref()->narrow[F32](n, x, y);
    return y;
}

static void same_single(int64_t n, const float *a, const float *b, double tolerance) {
    for (int64_t i = 0; i < n; i++) near(a[i], b[i], tolerance * (1 + fabs((double)a[i])));
}

/* The smoother step in single precision, simd against ref. */
static void check_smooth_single(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                                const double *B, const double *f, double b, double c) {
    int64_t n = first[n_blocks];
    double *t = randoms(n, 7);
    float *Bs = rounded(starts[n_blocks], B), *fs = rounded(n, f), *ts = rounded(n, t), *arrays[6];
    for (int i = 0; i < 6; i++) arrays[i] = rounded(n, t);
    kernels_ref()->block_smooth[F32](n_blocks, first, starts, Bs, 0.75, b, c, fs, ts, arrays[0], arrays[1],
                                     arrays[2]);
    kernels_simd()->block_smooth[F32](n_blocks, first, starts, Bs, 0.75, b, c, fs, ts, arrays[3], arrays[4],
                                      arrays[5]);
    for (int i = 0; i < 3; i++) same_single(n, arrays[i], arrays[i + 3], 2e-6);
    for (int i = 0; i < 6; i++) base_free(&arrays[i]);
    base_free(&Bs);
    base_free(&fs);
    base_free(&ts);
    base_free(&t);
}

/* The product in single precision: simd against ref, and ref against the double one. */
static void check_cells_single(struct cell_plan plan, int64_t n_values, int64_t n_unknowns, const double *x) {
    double *y = randoms(n_unknowns, 3);
    float *K = rounded(n_values, plan.matrices), *xs = rounded(n_unknowns, x), *ys = rounded(n_unknowns, y),
          *zs = rounded(n_unknowns, y);
    kernels_ref()->cell_apply[F64](&plan, x, y);
    plan.matrices = K;
    kernels_ref()->cell_apply[F32](&plan, xs, ys);
    kernels_simd()->cell_apply[F32](&plan, xs, zs);
    same_single(n_unknowns, ys, zs, 1e-5);
    for (int64_t i = 0; i < n_unknowns; i++) near(ys[i], y[i], 1e-5 * (1 + fabs(y[i])));
    float *arrays[] = {K, xs, ys, zs};
    for (int i = 0; i < 4; i++) base_free(&arrays[i]);
    base_free(&y);
}

/* ------------------------------------------------------------------------------------------ both */

/* The smoother step; with the residual apart from and on top of its right-hand side. */
static void check_smooth(int64_t n_blocks, int size, int variant) {
    int64_t *first, *starts;
    ok(ALLOC(first, n_blocks + 1));
    ok(ALLOC(starts, n_blocks + 1));
    first[0] = starts[0] = 0;
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t n = size > 0 ? size : 1 + k % 12;
        first[k + 1] = first[k] + n;
        starts[k + 1] = starts[k] + n * n;
    }
    int64_t n = first[n_blocks];
    double *B = randoms(starts[n_blocks], 1), *f = randoms(n, 2), *t = randoms(n, 3), *d = randoms(n, 4),
           *x = randoms(n, 5), *r = randoms(n, 6), *f2 = copy_of(n, f), *d2 = copy_of(n, d),
           *x2 = copy_of(n, x), *r2 = copy_of(n, r);
    for (int64_t k = 0; k < n_blocks; k++) /* symmetric */
        for (int64_t m = first[k + 1] - first[k], i = 0; i < m; i++)
            for (int64_t j = 0; j < i; j++) B[starts[k] + i * m + j] = B[starts[k] + j * m + i];
    const double *tt = variant & 1 ? t : NULL;
    double b = variant & 2 ? 0.25 : 0.0, c = variant & 4 ? 1.0 : 0.0;
    if (b == 0.0)
        for (int64_t i = 0; i < n; i++) d[i] = d2[i] = NAN;
    if (c == 0.0)
        for (int64_t i = 0; i < n; i++) x[i] = x2[i] = NAN;
    int on_top = variant & 8;
    kernels_ref()->block_smooth[F64](n_blocks, first, starts, B, 0.75, b, c, f, tt, on_top ? f : r, d, x);
    kernels_simd()->block_smooth[F64](n_blocks, first, starts, B, 0.75, b, c, f2, tt, on_top ? f2 : r2, d2,
                                      x2);
    same(n, on_top ? f : r, on_top ? f2 : r2, 1e-15);
    same(n, d, d2, 1e-14);
    same(n, x, x2, 1e-14);
    if (!on_top) check_smooth_single(n_blocks, first, starts, B, f, b, c);
    double *arrays[] = {B, f, t, d, x, r, f2, d2, x2, r2};
    for (int i = 0; i < 10; i++) base_free(&arrays[i]);
    base_free(&first);
    base_free(&starts);
}

static void smoother_steps(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        base_set_threads(threads);
        for (int variant = 0; variant < 16; variant++) {
            for (int size = 0; size <= 12; size++) check_smooth(37, size, variant);
            for (int size = 15; size <= 80; size += 3 + size / 5) check_smooth(3, size, variant);
            check_smooth(5001, 0, variant);
        }
    }
    base_set_threads(0);
}

/* A ring of cells with n_faces faces: cell c has faces c and c+1 of the ring, and its own for the rest. Even
 * batches are one colour, odd ones the other; their number is even. Some faces are left out. Faces have m
 * unknowns, or (uneven) their own number of them; matrices are symmetric or full. Of faces of m unknowns some
 * cells are loose in some components. */
static void check_cells(int n_faces, int m, int uneven, int full, int64_t n_batches, int64_t run) {
    int64_t n_cells = n_batches * L, n_unknowns = n_cells * n_faces * (m + 6), *maps, *batches;
    int64_t colour_starts[3] = {0, n_batches / 2, n_batches};
    int starts[8] = {0};
    for (int f = 0; f < n_faces; f++) starts[f + 1] = starts[f] + m + (uneven && f > 1 ? (3 * f + m) % 7 : 0);
    int64_t n = starts[n_faces], n_values = n_batches * (full ? n * n : n * (n + 1) / 2) * L;
    ok(ALLOC(maps, n_batches * n_faces * L));
    ok(ALLOC(batches, n_batches));
    for (int64_t b = 0; b < n_batches; b++)
        batches[b] = b < n_batches / 2 ? 2 * b : 2 * (b - n_batches / 2) + 1;
    for (int64_t c = 0; c < n_cells; c++)
        for (int f = 0; f < n_faces; f++) {
            int64_t face = f < 2 ? (c + f) % n_cells : n_cells + c * (n_faces - 2) + f - 2;
            maps[(c / L * n_faces + f) * L + c % L] = (c + 3 * f) % 11 == 0 ? -1 : face * (m + 6);
        }
    double *K = randoms(n_values, 1), *x = randoms(n_unknowns, 2), *y = randoms(n_unknowns, 3),
           *z = copy_of(n_unknowns, y);
    struct cell_plan plan = {.lanes = L,
                             .n_faces = n_faces,
                             .m = m,
                             .starts = uneven ? starts : NULL,
                             .n_batches = n_batches,
                             .n_colours = 2,
                             .run = run,
                             .colour_starts = colour_starts,
                             .colour_batches = batches,
                             .maps = maps,
                             .matrices = K,
                             .full = full};
    uint8_t *loose;
    ok(ALLOC(loose, n_cells));
    for (int64_t c = 0; c < n_cells; c++) loose[c] = (uint8_t)(c * 5 % 8);
    plan.threads = base_threads();
    ok(base_alloc(&plan.room, (size_t)plan.threads, (size_t)cell_plan_room_bytes(&plan)));
    plan.n_components = m % 3 == 0 ? 3 : 1;
    plan.loose = uneven ? NULL : loose;
    kernels_ref()->cell_apply[F64](&plan, x, y);
    kernels_simd()->cell_apply[F64](&plan, x, z);
    same(n_unknowns, y, z, 1e-13);
    check_cells_single(plan, n_values, n_unknowns, x);
    double *arrays[] = {K, x, y, z};
    for (int i = 0; i < 4; i++) base_free(&arrays[i]);
    base_free(&loose);
    base_free(&plan.room);
    base_free(&maps);
    base_free(&batches);
}

static void cell_products(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        base_set_threads(threads);
        for (int m = 1; m <= 17; m += m < 7 ? 1 : 2)
            for (int n_faces = 3; n_faces <= 6; n_faces++)
                for (int kind = 0; kind < 4; kind++)
                    check_cells(n_faces, m, kind & 1, kind / 2, m < 8 ? 20 : 4, 1 + m % 3);
    }
    base_set_threads(0);
}

/* ------------------------------------------------------------------------------------------ local solvers */

/* Random tables and coefficients; S is kept definite by a large reaction. */
struct cells {
    struct affine_tables t;
    struct affine_layout at;
    int n;
    int64_t n_batches;
    double *arrays[7], *coefficients;
    int32_t starts[65], modes[64];
    double *K;
};

static void cells_create(int dim, int n_faces, int N, int m, int64_t n_batches, struct cells *c) {
    int pairs = dim * (dim + 1) / 2;
    *c = (struct cells){.n = n_faces * m, .n_batches = n_batches, .at = affine_layout(dim, n_faces)};
    c->arrays[0] = randoms(pairs * N * N, 1);
    c->arrays[1] = randoms(n_faces * N * N, 2);
    c->arrays[2] = randoms(n_faces * N * m, 3);
    c->arrays[3] = randoms(n_faces * dim * N * m, 4);
    c->arrays[4] = randoms(n_faces * n_faces * m * m, 5);
    c->arrays[5] = randoms(dim * N * N, 6);
    c->t = (struct affine_tables){.lanes = L,
                                  .dim = dim,
                                  .n_faces = n_faces,
                                  .N = N,
                                  .m = m,
                                  .volume = 0.5,
                                  .face = 1.0,
                                  .stiffness = c->arrays[0],
                                  .face_mass = c->arrays[1],
                                  .F = c->arrays[2],
                                  .DF = c->arrays[3],
                                  .FF = c->arrays[4],
                                  .D = c->arrays[5],
                                  .group_starts = c->starts,
                                  .modes = c->modes};
    c->t.n_groups = make_groups(dim, m, c->starts, c->modes, &c->t.n_turn);
    c->t.turns = c->arrays[6] = randoms(3 * c->t.n_turn, 12);
    make_turns(3, c->t.n_groups, c->starts, c->t.n_turn, c->arrays[6]);
    c->coefficients = randoms(n_batches * c->at.count * L, 7);
    for (int64_t b = 0; b < n_batches; b++)
        for (int w = 0; w < L; w++) {
            double *k = c->coefficients + b * c->at.count * L + w;
            k[c->at.reaction * L] = 8.0 * N;
            for (int f = 0; f < n_faces; f++) /* all 0 in some batches */
                k[(c->at.orientation + f) * L] = b % 2 == 1 && f == 1 ? 0 : (double)((b + w + f) % 3);
        }
    c->K = randoms(n_batches * (c->n * (c->n + 1) / 2) * L, 10);
}

static void cells_destroy(struct cells *c) {
    for (int i = 0; i < 7; i++) base_free(&c->arrays[i]);
    base_free(&c->coefficients);
    base_free(&c->K);
}

static int64_t condense(const struct kernels *k, struct cells *c) {
    double *scratch = randoms(k->condense_scratch(&c->t), 11);
    int64_t failed = k->condense_affine[0](&c->t, c->n_batches, c->coefficients, c->K, scratch);
    base_free(&scratch);
    return failed;
}

static void solve_cells(const struct kernels *k, const struct cells *c, const double *uhat, double *u,
                        double *q, double *load) {
    double *scratch = randoms(k->condense_scratch(&c->t), 11);
    assert_int_equal(k->affine_solve[0](&c->t, c->n_batches, c->coefficients, uhat, u, q, load, scratch), -1);
    base_free(&scratch);
}

static void check_local_solvers(int dim, int n_faces, int N, int m, int64_t n_batches) {
    struct cells a, b;
    cells_create(dim, n_faces, N, m, n_batches, &a);
    cells_create(dim, n_faces, N, m, n_batches, &b);
    assert_int_equal(condense(kernels_ref(), &a), -1);
    assert_int_equal(condense(kernels_simd(), &b), -1);
    int64_t n = a.n, nf = n_batches * N * L, nt = n_batches * n * L, nq = n_batches * dim * N * L;
    same(n_batches * (n * (n + 1) / 2) * L, a.K, b.K, 1e-11);
    double *f = randoms(nf, 1), *g = copy_of(nf, f), *uhat = randoms(nt, 2), *y = randoms(nt, 3),
           *z = randoms(nt, 4), *q = randoms(nq, 5), *p = randoms(nq, 6);
    for (int with = 0; with < 2; with++) {
        solve_cells(kernels_ref(), &a, with ? uhat : NULL, f, q, y);
        solve_cells(kernels_simd(), &a, with ? uhat : NULL, g, p, z);
        same(nf, f, g, 1e-12);
        same(nq, q, p, 1e-12);
        same(nt, y, z, 1e-12);
    }
    double *arrays[] = {f, g, uhat, y, z, q, p};
    for (int i = 0; i < 7; i++) base_free(&arrays[i]);
    cells_destroy(&a);
    cells_destroy(&b);
}

static void local_solvers(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        base_set_threads(threads);
        for (int k = 1; k <= 8; k++) {
            check_local_solvers(2, 3, (k + 1) * (k + 2) / 2, k + 1, 5);
            check_local_solvers(2, 4, k < 5 ? (k + 1) * (k + 1) : k, k + 1, 3);
        }
        check_local_solvers(3, 4, 10, 6, 2);
        check_local_solvers(3, 6, 8, 4, 2);
        check_local_solvers(3, 4, 20, 10, 3);
        check_local_solvers(3, 6, 27, 9, 3);
        check_local_solvers(3, 4, 35, 15, 2);
        check_local_solvers(2, 3, 1, 1, 9);
    }
    base_set_threads(0);
}

/* The solve of ref by its definition: S u = f + R uhat, and the load R'u. */
static void ref_solves_its_cells(void **state) {
    (void)state;
    const int N = 6, m = 3, n_faces = 3, n = 9;
    struct cells c;
    cells_create(2, n_faces, N, m, 2, &c);
    double *f = randoms(2 * N * L, 1), *u = copy_of(2 * N * L, f), *uhat = randoms(2 * n * L, 2);
    double *load = randoms(2 * n * L, 3);
    solve_cells(kernels_ref(), &c, uhat, u, NULL, load);
    for (int cell = 0; cell < 2 * L; cell++) {
        int64_t b = cell / L, w = cell % L;
        const double *k = c.coefficients + b * c.at.count * L + w;
        for (int i = 0; i < N; i++) {
            double residual = -f[(b * N + i) * L + w];
            for (int j = 0; j < N; j++) { /* S is given by the upper triangle of its tables */
                int r = i < j ? i : j, s = i < j ? j : i;
                double S = r == s ? k[c.at.reaction * L] : 0;
                for (int p = 0; p < 3; p++)
                    S += k[(c.at.stiffness + p) * L] * c.t.stiffness[(p * N + r) * N + s];
                for (int g = 0; g < n_faces; g++)
                    S += k[(c.at.weight + g) * L] * c.t.face_mass[(g * N + r) * N + s];
                residual += S * u[(b * N + j) * L + w];
            }
            for (int g = 0; g < n_faces; g++)
                for (int j = 0; j < m; j++) {
                    double R = k[(c.at.weight + g) * L] * c.t.F[(g * N + i) * m + j];
                    for (int d = 0; d < 2; d++)
                        R += k[(c.at.gradient + g * 2 + d) * L] * c.t.DF[((g * 2 + d) * N + i) * m + j];
                    R *= c.t.turns[(int)k[(c.at.orientation + g) * L] * c.t.n_turn + j];
                    residual -= R * uhat[(b * n + g * m + j) * L + w];
                    load[(b * n + g * m + j) * L + w] -= R * u[(b * N + i) * L + w];
                }
            near(residual, 0, 1e-11);
        }
        for (int j = 0; j < n; j++) near(load[(b * n + j) * L + w], 0, 1e-11);
    }
    base_free(&load);
    base_free(&f);
    base_free(&u);
    base_free(&uhat);
    cells_destroy(&c);
}

static void a_singular_cell_is_named(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct cells c;
        cells_create(2, 3, 6, 3, 9, &c);
        c.coefficients[(4 * c.at.count + c.at.reaction) * L + 5] = -100;
        c.coefficients[(7 * c.at.count + c.at.reaction) * L + 1] = -100;
        assert_int_equal(condense(which ? kernels_simd() : kernels_ref(), &c), 4);
        cells_destroy(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother_steps),
        cmocka_unit_test(cell_products),
        cmocka_unit_test(local_solvers),
        cmocka_unit_test(ref_solves_its_cells),
        cmocka_unit_test(a_singular_cell_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
