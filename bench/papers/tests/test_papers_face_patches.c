/* Patches on the trace: sums of inverses against their definition, sweeps that are adjoint, contract the
 * energy and solve at once where one patch has all faces; on all shapes, periodic boxes, with components and
 * rollers, on every device and in both precisions; allocation faults. Element matrices are random: nothing of
 * an equation is needed. */
#include <lapacke.h>

#include "bench/papers/face_patch_sets.h"
#include "solid_helpers.h"

/* A trace system of random element matrices. */
struct made {
    struct facet_mesh *mesh;
    struct trace_space space;
    struct trace_matrices matrices;
    struct csr K;
};

struct wish {
    const char *shape;
    int cells[3], periodic[3], degree, n_components;
    int open;    /* faces of the boundary are free */
    int rollers; /* some unknowns are fixed */
};

static const struct device *find(const char *name) {
    const struct device *device;
    ok(device_find(name, &device));
    return device;
}

/* R R' of a random R, plus 1 on the diagonal; without the couplings of fixed unknowns. */
static void fill_cell(const struct trace_space *space, int block, int32_t cell, uint32_t *seed, int lanes,
                      double *to) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape), n = trace_cell_size(space, block), m = n / n_faces;
    double *R = malloc((size_t)(n * n) * sizeof *R);
    for (int i = 0; i < n * n; i++) R[i] = random_signed(seed);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++, to += lanes) {
            int64_t at[2];
            int fixed = 0;
            for (int k = 0; k < 2; k++) {
                int u = k == 0 ? i : j;
                at[k] = space->face_free[b->faces[(int64_t)cell * n_faces + u / m]];
                fixed |= at[k] >= 0 && space->fixed != NULL && space->fixed[at[k] + u % m];
            }
            *to = i == j;
            for (int k = 0; k < n && !fixed; k++) *to += R[i * n + k] * R[j * n + k];
        }
    free(R);
}

static void make(const struct wish *w, const char *device, struct made *s) {
    facet_box b = {
        .size = sizeof(facet_box), .dim = solid_dim(w->shape), .upper = {1, 1, 1}, .shape = w->shape};
    uint8_t *eliminated;
    uint32_t seed = 77;
    memcpy(b.cells, w->cells, sizeof b.cells);
    memcpy(b.periodic, w->periodic, sizeof b.periodic);
    *s = (struct made){0};
    ok(mesh_create_box(&b, &s->mesh));
    ok(mesh_need_lists(s->mesh));
    eliminated = calloc((size_t)s->mesh->n_faces, 1);
    for (int32_t f = 0; f < s->mesh->n_faces; f++)
        eliminated[f] = !w->open && s->mesh->face_cells[2 * (int64_t)f + 1] < 0;
    ok(trace_space_create(s->mesh, w->degree, w->n_components, eliminated, &s->space));
    free(eliminated);
    if (w->rollers) {
        ok(CALLOC(s->space.fixed, s->space.n_free));
        for (int64_t i = 0; i < s->space.n_free; i += 3) s->space.fixed[i] = 1;
    }
    ok(trace_matrices_create(find(device), &s->space, 0, &s->matrices));
    for (int k = 0; k < s->matrices.n_blocks; k++) {
        int64_t n = s->matrices.n[k], size = n * (n + 1) / 2,
                count = s->matrices.n_batches[k] * size * s->matrices.lanes;
        double *host = calloc((size_t)count, sizeof *host);
        for (int32_t c = 0; c < s->mesh->blocks[k].count; c++)
            fill_cell(&s->space, k, c, &seed, s->matrices.lanes,
                      host + trace_matrix_start(&s->matrices, k, c));
        ok(device_upload(s->matrices.device, s->matrices.values[k], host, (size_t)count * sizeof *host));
        free(host);
    }
    ok(trace_assemble(&s->space, &s->matrices, &s->K));
}

static void unmake(struct made *s) {
    csr_destroy(&s->K);
    trace_matrices_destroy(&s->matrices);
    trace_space_destroy(&s->space);
    mesh_destroy(&s->mesh);
}

static const struct wish wishes[] = {
    {.shape = "quad", .cells = {3, 4}, .degree = 2, .n_components = 1},
    {.shape = "triangle", .cells = {4, 3}, .degree = 3, .n_components = 1, .open = 1},
    {.shape = "quad", .cells = {3, 3}, .degree = 1, .n_components = 2, .rollers = 1, .open = 1},
    {.shape = "quad", .cells = {4, 3}, .periodic = {1, 1}, .degree = 1, .n_components = 1},
    {.shape = "triangle", .cells = {2, 2}, .periodic = {1, 0}, .degree = 2, .n_components = 1},
    {.shape = "quad", .cells = {1, 3}, .periodic = {1, 0}, .degree = 1, .n_components = 1},
    {.shape = "quad", .cells = {1, 1}, .periodic = {1, 1}, .degree = 2, .n_components = 1},
    {.shape = "hex", .cells = {2, 2, 3}, .degree = 1, .n_components = 1},
    {.shape = "hex", .cells = {2, 1, 2}, .degree = 1, .n_components = 3, .open = 1, .rollers = 1},
    {.shape = "hex", .cells = {2, 2, 2}, .periodic = {1, 0, 1}, .degree = 1, .n_components = 1},
    {.shape = "tet", .cells = {2, 2, 1}, .degree = 1, .n_components = 1, .open = 1},
    {.shape = "tet", .cells = {2, 2, 2}, .periodic = {1, 1, 1}, .degree = 0, .n_components = 3},
};
enum { N_WISHES = sizeof wishes / sizeof *wishes };

static int kinds_of(const struct wish *w) {
    return solid_dim(w->shape) == 2 ? TRACE_PATCH_EDGE : TRACE_PATCH_EDGE + 1;
}

static void noise(uint32_t seed, int64_t n, double *x) {
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void product(const struct csr *K, const double *x, double *y) {
    for (int64_t i = 0; i < K->n; i++) {
        y[i] = 0.0;
        for (int64_t k = K->offsets[i]; k < K->offsets[i + 1]; k++) y[i] += K->values[k] * x[K->columns[k]];
    }
}

static struct vector put(const struct device *device, enum precision precision, int64_t n, const double *x) {
    struct vector v;
    ok(vector_create_in(device, precision, n, &v));
    ok(vector_upload(&v, x));
    return v;
}

static void apply(const struct linear_operator *D, const double *x, double *y) {
    struct vector in = put(D->device, D->precision, D->n, x), out = put(D->device, D->precision, D->n, x);
    operator_apply(D, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
}

/* One application of a smoother to x; way: 0 before, 1 after the coarse correction, 2 from zero. */
static void smooth(const struct made *s, const struct smoother *smoother, int single, int way,
                   const double *f, double *x) {
    struct vector b = put(s->matrices.device, single, s->K.n, f),
                  v = put(s->matrices.device, single, s->K.n, x);
    if (way == 1)
        smoother->post(smoother, NULL, &b, &v);
    else
        smoother->smooth(smoother, NULL, &b, way == 2, &v);
    ok(vector_download(&v, x));
    vector_destroy(&b);
    vector_destroy(&v);
}

/* ------------------------------------------------------------------------------------------ sets */

/* Every block is in the right number of patches, ascending; patches of one colour share no cell. */
static void sets_are_what_they_should_be(void **state) {
    (void)state;
    for (int k = 0; k < N_WISHES; k++)
        for (int kind = 0; kind < kinds_of(&wishes[k]); kind++) {
            struct made s;
            struct patch_set set;
            make(&wishes[k], "cpu", &s);
            ok(patch_set_create(&s.space, (enum trace_patch)kind, &set));
            ok(patch_set_colour(&s.space, &set));
            int *count = calloc((size_t)s.space.n_free_faces + 1, sizeof *count);
            int64_t *seen = calloc((size_t)s.mesh->n_cells, sizeof *seen); /* 1 + patch, in this colour */
            assert_int_equal(set.colour_starts[0], 0);
            assert_int_equal(set.colour_starts[set.n_colours], set.n);
            for (int c = 0; c < set.n_colours; c++) {
                memset(seen, 0, (size_t)s.mesh->n_cells * sizeof *seen);
                for (int64_t p = set.colour_starts[c]; p < set.colour_starts[c + 1]; p++)
                    for (int64_t i = set.first[p]; i < set.first[p + 1]; i++) {
                        assert_true(i == set.first[p] || set.blocks[i] > set.blocks[i - 1]);
                        count[set.blocks[i]]++;
                        for (int side = 0; side < 2; side++) {
                            int64_t face = s.space.free_faces[set.blocks[i]];
                            int32_t cell = s.mesh->face_cells[2 * face + side];
                            if (cell < 0) continue;
                            assert_true(seen[cell] == 0 || seen[cell] == p + 1);
                            seen[cell] = p + 1;
                        }
                    }
            }
            int small = 0; /* a patch may meet itself */
            for (int a = 0; a < 3; a++) small |= wishes[k].periodic[a] && wishes[k].cells[a] < 2;
            for (int64_t b = 0; b < s.space.n_free_faces; b++) {
                int64_t face = s.space.free_faces[b];
                int cells = 1 + (s.mesh->face_cells[2 * face + 1] >= 0);
                int corners = shape_n_vertices((enum shape)s.mesh->face_shapes[face]);
                if (small)
                    assert_true(count[b] >= 1);
                else
                    assert_int_equal(count[b], kind == TRACE_PATCH_CELL ? cells : corners);
            }
            free(count);
            free(seen);
            patch_set_destroy(&set);
            unmake(&s);
        }
}

/* ------------------------------------------------------------------------------------------ sums */

/* y = sum of W^1/2 R' K_pp^-1 R W^1/2 x, by dense solves. */
static void sum_of_inverses(const struct made *s, const struct patch_set *set, const double *x, double *y) {
    int64_t n = s->K.n;
    double *dense = calloc((size_t)(n * n), sizeof *dense), *count = calloc((size_t)n, sizeof *count);
    int64_t *list = malloc((size_t)n * sizeof *list);
    double *M = malloc((size_t)(n * n) * sizeof *M), *z = malloc((size_t)n * sizeof *z);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = s->K.offsets[i]; k < s->K.offsets[i + 1]; k++)
            dense[i * n + s->K.columns[k]] = s->K.values[k];
    for (int pass = 0; pass < 2; pass++)
        for (int64_t p = 0; p < set->n; p++) {
            int64_t size = 0;
            for (int64_t k = set->first[p]; k < set->first[p + 1]; k++)
                for (int64_t i = s->space.free_offsets[set->blocks[k]];
                     i < s->space.free_offsets[set->blocks[k] + 1]; i++)
                    list[size++] = i;
            for (int64_t i = 0; i < size && pass == 0; i++) count[list[i]] += 1.0;
            if (pass == 0) continue;
            for (int64_t i = 0; i < size; i++)
                for (int64_t j = 0; j < size; j++) M[i * size + j] = dense[list[i] * n + list[j]];
            for (int64_t i = 0; i < size; i++) z[i] = x[list[i]] / sqrt(count[list[i]]);
            assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (int)size, 1, M, (int)size, z, (int)size),
                             0);
            for (int64_t i = 0; i < size; i++) y[list[i]] += z[i] / sqrt(count[list[i]]);
        }
    free(dense);
    free(count);
    free(list);
    free(M);
    free(z);
}

static void sums_are_their_definition(void **state) {
    (void)state;
    for (int k = 0; k < N_WISHES; k++)
        for (int kind = 0; kind < kinds_of(&wishes[k]); kind++) {
            struct made s;
            struct patch_set set;
            struct linear_operator D, single;
            make(&wishes[k], k % 2 ? "debug" : "cpu", &s);
            ok(patch_set_create(&s.space, (enum trace_patch)kind, &set));
            ok(operator_create_patches(&s.space, &s.matrices, (enum trace_patch)kind, &D));
            ok(operator_create_single(&D, &single));
            size_t n = (size_t)s.K.n;
            double *x = malloc(4 * n * sizeof *x), *y = x + n, *z = y + n, *w = z + n;
            noise(3, s.K.n, x);
            memset(z, 0, n * sizeof *z);
            apply(&D, x, y);
            apply(&single, x, w);
            sum_of_inverses(&s, &set, x, z);
            double size = sqrt(dot(s.K.n, z, z));
            int two = 0; /* two cells with two common faces: patches of cells see one of them only */
            for (int a = 0; a < 3; a++) two |= wishes[k].periodic[a] && wishes[k].cells[a] == 2;
            for (size_t i = 0; i < n; i++) {
                if (kind != TRACE_PATCH_CELL || !two) near(y[i], z[i], 1e-10 * size);
                near(w[i], y[i], 1e-4 * size);
            }
            assert_true(dot(s.K.n, x, y) > 0.0);
            noise(4, s.K.n, w);
            apply(&D, w, z);
            near(dot(s.K.n, w, y), dot(s.K.n, z, x), 1e-12 * size * sqrt((double)n));
            free(x);
            operator_destroy(&D);
            operator_destroy(&single);
            patch_set_destroy(&set);
            unmake(&s);
        }
}

/* ------------------------------------------------------------------------------------------ sweeps */

static void sweeps_are_adjoint_and_contract(void **state) {
    (void)state;
    for (int k = 0; k < N_WISHES; k++)
        for (int kind = 0; kind < kinds_of(&wishes[k]); kind++) {
            struct made s;
            struct smoother smoother;
            make(&wishes[k], k % 2 ? "cpu" : "ref", &s);
            ok(smoother_create_sweep(&s.space, &s.matrices, (enum trace_patch)kind, 1 + k % 2, 0, &smoother));
            size_t n = (size_t)s.K.n;
            double *x = malloc(7 * n * sizeof *x), *y = x + n, *Kx = y + n, *Ky = Kx + n, *Ex = Ky + n,
                   *Ey = Ex + n, *zero = Ey + n;
            noise(3, s.K.n, x);
            noise(5, s.K.n, y);
            memset(zero, 0, n * sizeof *zero);
            product(&s.K, x, Kx);
            product(&s.K, y, Ky);
            memcpy(Ex, x, n * sizeof *x);
            memcpy(Ey, y, n * sizeof *y);
            smooth(&s, &smoother, 0, 0, zero, Ex);
            smooth(&s, &smoother, 0, 1, zero, Ey);
            double energy = dot(s.K.n, x, Kx), scale = sqrt(energy * dot(s.K.n, y, Ky));
            near(dot(s.K.n, Ex, Ky), dot(s.K.n, Kx, Ey), 1e-11 * scale);
            product(&s.K, Ex, Ky);
            assert_true(dot(s.K.n, Ex, Ky) < 0.99 * energy);
            /* the solution stays; from zero is from zero */
            memcpy(Ex, x, n * sizeof *x);
            smooth(&s, &smoother, 0, 0, Kx, Ex);
            for (size_t i = 0; i < n; i++) near(Ex[i], x[i], 1e-10);
            for (size_t i = 0; i < n; i++) Ex[i] = NAN;
            memcpy(Ey, zero, n * sizeof *x);
            smooth(&s, &smoother, 0, 2, Kx, Ex);
            smooth(&s, &smoother, 0, 0, Kx, Ey);
            assert_memory_equal(Ex, Ey, n * sizeof *Ex);
            free(x);
            smoother_destroy(&smoother);
            unmake(&s);
        }
}

/* The same on every device; the same bits with any number of threads; nearly the same in single precision. */
static void sweeps_agree(void **state) {
    (void)state;
    const struct wish w = {.shape = "quad", .cells = {16, 12}, .degree = 3, .n_components = 1};
    static const char *const names[] = {"ref", "cpu"};
    for (int kind = 0; kind < 2; kind++) {
        double *first = NULL, *rhs = NULL;
        for (int k = 0; k < 2; k++)
            for (int single = 0; single < 2; single++)
                for (int threads = 1; threads <= (k == 1 ? 3 : 1); threads++) {
                    struct made s;
                    struct smoother smoother;
                    base_set_threads(threads);
                    make(&w, names[k], &s);
                    size_t n = (size_t)s.K.n;
                    double *x = malloc(n * sizeof *x), *bits = malloc(n * sizeof *x), norm = 0.0;
                    if (rhs == NULL) noise(9, s.K.n, rhs = malloc(n * sizeof *rhs));
                    ok(smoother_create_sweep(&s.space, &s.matrices, (enum trace_patch)kind, 2, single,
                                             &smoother));
                    smooth(&s, &smoother, single, 2, rhs, x);
                    smooth(&s, &smoother, single, 1, rhs, x);
                    smooth(&s, &smoother, single, 2, rhs, bits);
                    smooth(&s, &smoother, single, 1, rhs, bits);
                    assert_memory_equal(x, bits, n * sizeof *x);
                    if (first == NULL) memcpy(first = malloc(n * sizeof *first), x, n * sizeof *x);
                    norm = sqrt(dot(s.K.n, first, first));
                    for (size_t i = 0; i < n; i++) near(x[i], first[i], (single ? 1e-4 : 1e-11) * norm);
                    free(x);
                    free(bits);
                    smoother_destroy(&smoother);
                    unmake(&s);
                }
        free(first);
        free(rhs);
    }
    base_set_threads(0);
}

/* Inside 2 x 2 (x 2) cells all faces meet in the middle; one cell has all faces. */
static void one_patch_solves_at_once(void **state) {
    (void)state;
    static const struct {
        struct wish w;
        enum trace_patch kind;
    } whole[] = {
        {{.shape = "quad", .cells = {2, 2}, .degree = 3, .n_components = 1}, TRACE_PATCH_VERTEX},
        {{.shape = "hex", .cells = {2, 2, 2}, .degree = 1, .n_components = 3}, TRACE_PATCH_VERTEX},
        {{.shape = "quad", .cells = {1, 1}, .degree = 4, .n_components = 1, .open = 1}, TRACE_PATCH_CELL},
        {{.shape = "hex", .cells = {1, 1, 1}, .degree = 2, .n_components = 1, .open = 1}, TRACE_PATCH_CELL},
        {{.shape = "hex", .cells = {2, 2, 1}, .degree = 2, .n_components = 1}, TRACE_PATCH_EDGE}};
    for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++) {
        struct made s;
        struct smoother smoother;
        struct linear_operator D;
        make(&whole[k].w, "cpu", &s);
        size_t n = (size_t)s.K.n;
        double *x = malloc(3 * n * sizeof *x), *f = x + n, *y = f + n;
        noise(2, s.K.n, x);
        product(&s.K, x, f);
        ok(smoother_create_sweep(&s.space, &s.matrices, whole[k].kind, 1, 0, &smoother));
        smooth(&s, &smoother, 0, 2, f, y);
        for (size_t i = 0; i < n; i++) near(y[i], x[i], 1e-9);
        ok(operator_create_patches(&s.space, &s.matrices, whole[k].kind, &D));
        apply(&D, f, y);
        for (size_t i = 0; i < n && whole[k].kind == TRACE_PATCH_CELL; i++) near(y[i], x[i], 1e-9);
        operator_destroy(&D);
        smoother_destroy(&smoother);
        free(x);
        unmake(&s);
    }
}

/* ------------------------------------------------------------------------------------------ refusals */

static void what_is_wrong_is_said(void **state) {
    (void)state;
    struct made s;
    struct linear_operator D;
    struct smoother smoother;
    int64_t before = live_blocks();
    make(&wishes[0], "cpu", &s);
    refused(operator_create_patches(&s.space, &s.matrices, TRACE_PATCH_EDGE, &D), FACET_ERROR_INPUT, "edges");
    refused(smoother_create_sweep(&s.space, &s.matrices, TRACE_PATCH_EDGE, 1, 0, &smoother),
            FACET_ERROR_INPUT, "edges");
    for (int64_t i = 0; i < s.matrices.n_batches[0] * s.matrices.lanes; i++) s.matrices.values[0][i] = -1e6;
    refused(operator_create_patches(&s.space, &s.matrices, TRACE_PATCH_VERTEX, &D), FACET_NOT_CONVERGED,
            "patch of face");
    refused(smoother_create_sweep(&s.space, &s.matrices, TRACE_PATCH_CELL, 1, 0, &smoother),
            FACET_NOT_CONVERGED, "patch of face");
    unmake(&s);
    assert_int_equal(live_blocks(), before);
}

static void allocation_faults(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int way = 0; way < 3; way++) {
            struct made s;
            make(&wishes[3], "cpu", &s);
            int64_t before = live_blocks();
            for (int64_t k = 1;; k++) {
                struct linear_operator D = {0}, single = {0};
                struct smoother smoother = {0};
                base_memory_fail_at(k);
                facet_status status =
                    way == 0 ? operator_create_patches(&s.space, &s.matrices, (enum trace_patch)kind, &D)
                             : smoother_create_sweep(&s.space, &s.matrices, (enum trace_patch)kind, 1,
                                                     way == 2, &smoother);
                if (status == FACET_OK && way == 0) status = operator_create_single(&D, &single);
                base_memory_fail_at(0);
                operator_destroy(&D);
                operator_destroy(&single);
                smoother_destroy(&smoother);
                assert_int_equal(live_blocks(), before);
                if (status == FACET_OK) break;
                assert_int_equal(status, FACET_ERROR_MACHINE);
            }
            unmake(&s);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_what_they_should_be),
        cmocka_unit_test(sums_are_their_definition),
        cmocka_unit_test(sweeps_are_adjoint_and_contract),
        cmocka_unit_test(sweeps_agree),
        cmocka_unit_test(one_patch_solves_at_once),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
