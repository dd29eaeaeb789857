/* Faces that are not all alike: cells with faces of different sizes, faces with a trace for each side, faces
 * whose last side sees turned components, and element matrices that are not symmetric, each against dense
 * sums over the cells; and elasticity on a sector whose two ends are one face, seen from both sides. */
#include "elastic_helpers.h"
#include "hdg_helpers.h"
#include "trace/pmg.h"

enum { MOST = 64 };

struct work {
    struct facet_mesh *mesh;
    struct trace_space space;
    struct trace_extras extras;
    struct trace_matrices matrices;
    double *dense; /* n_all x n_all */
    double *eliminated;
};

/* T of a cell, by the definition of a turn. */
static void dense_turn(const struct work *w, int b, int32_t cell, double *T) {
    const struct facet_mesh *mesh = w->mesh;
    const struct trace_space *space = &w->space;
    int n = trace_cell_size(space, b), nc = space->n_components;
    memset(T, 0, (size_t)(n * n) * sizeof *T);
    for (int i = 0; i < n; i++) T[i * n + i] = 1.0;
    for (int s = 0; s < space->n_slots[b] && w->extras.turn != NULL; s++) {
        int32_t face = mesh->blocks[b].faces[cell * space->n_slots[b] + s], turn = w->extras.turn[face];
        int last = mesh->face_cells[2 * face + 1] >= 0, first = space->slots[b][s];
        int m = (space->slots[b][s + 1] - first) / nc;
        if (turn < 0 || mesh->face_cells[2 * face + last] != mesh->blocks[b].first + cell ||
            mesh->face_locals[2 * face + last] != s)
            continue;
        for (int i = 0; i < nc * nc * m; i++)
            T[(first + i / m / nc * m + i % m) * n + first + i / m % nc * m + i % m] =
                w->extras.turns[turn * nc * nc + i / m];
    }
}

static void multiply(int n, const double *A, int transposed, const double *B, double *C) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i * n + j] = 0.0;
            for (int k = 0; k < n; k++) C[i * n + j] += A[transposed ? k * n + i : i * n + k] * B[k * n + j];
        }
}

/* One cell: K as the cell sees it goes to its lane in terms of the unknowns, and T'KT to the dense sum. */
static void add_cell(struct work *w, int b, int32_t cell, const double *K, double *lanes) {
    int n = trace_cell_size(&w->space, b), numbers[MOST];
    double T[MOST * MOST], KT[MOST * MOST], sum[MOST * MOST], local[MOST];
    double *full = test_malloc((size_t)w->space.n_all * sizeof *full), *turned = KT;
    for (int64_t i = 0; i < w->space.n_all; i++) full[i] = (double)i;
    trace_gather(&w->space, b, cell, full, local, 1);
    for (int i = 0; i < n; i++) numbers[i] = (int)local[i];
    dense_turn(w, b, cell, T);
    multiply(n, K, 0, T, KT);
    multiply(n, T, 1, KT, sum);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) w->dense[numbers[i] * w->space.n_all + numbers[j]] += sum[i * n + j];
    memcpy(turned, K, (size_t)(n * n) * sizeof *K);
    trace_turn(&w->space, b, cell, 1, n, n, 1, turned);
    trace_turn(&w->space, b, cell, 1, n, 1, n, turned);
    for (int i = 0; i < n * n; i++) near(turned[i], sum[i], 1e-12);
    lanes += trace_matrix_start(&w->matrices, b, cell);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (w->matrices.full ? n : i + 1); j++, lanes += w->matrices.lanes)
            *lanes = turned[i * n + j];
    /* there and back */
    trace_turn(&w->space, b, cell, 0, 1, 0, 1, local);
    trace_turn(&w->space, b, cell, 1, 1, 0, 1, local);
    for (int i = 0; i < n; i++) near(local[i], numbers[i], 1e-12 * (1 + numbers[i]));
    test_free(full);
}

/* Random matrices over the space; diagonally dominant, so that iterations end. */
static void fill(struct work *w, const char *name, int full, const uint8_t *flags) {
    uint32_t seed = 3;
    const struct device *device;
    ok(device_find(name, &device));
    ok(trace_matrices_create(device, &w->space, full, &w->matrices));
    w->dense = test_calloc((size_t)(w->space.n_all * w->space.n_all), sizeof(double));
    w->eliminated = test_calloc((size_t)w->space.n_all, sizeof(double));
    for (int b = 0; b < w->mesh->n_blocks; b++) {
        int n = trace_cell_size(&w->space, b);
        int64_t count = w->matrices.n_batches[b] * trace_matrix_size(&w->matrices, b) * w->matrices.lanes;
        double *lanes = test_malloc((size_t)count * sizeof *lanes), K[MOST * MOST];
        assert_true(n <= MOST);
        for (int64_t i = 0; i < count; i++) lanes[i] = NAN;
        for (int32_t cell = 0; cell < w->mesh->blocks[b].count; cell++) {
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    K[i * n + j] = !full && j < i ? K[j * n + i] : random_signed(&seed) + (i == j ? n : 0);
            add_cell(w, b, cell, K, lanes);
        }
        ok(device_upload(device, w->matrices.values[b], lanes, (size_t)count * sizeof *lanes));
        test_free(lanes);
    }
    for (int64_t f = 0; f < w->space.n_faces; f++)
        for (int64_t i = w->space.face_first[f];
             i < w->space.face_first[f + 1] && flags[w->space.records[f].face]; i++)
            w->eliminated[i] = random_signed(&seed);
}

static void work_destroy(struct work *w) {
    test_free(w->dense);
    test_free(w->eliminated);
    trace_matrices_destroy(&w->matrices);
    trace_space_destroy(&w->space);
    mesh_destroy(&w->mesh);
}

/* The full number of each free unknown. */
static int64_t *full_numbers(const struct trace_space *space) {
    int64_t *numbers = test_malloc((size_t)(space->n_free + 1) * sizeof *numbers);
    for (int64_t b = 0; b < space->n_free_faces; b++)
        for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
            numbers[i] = space->face_first[space->free_faces[b]] + i - space->free_offsets[b];
    return numbers;
}

/* Products in both precisions, the assembled matrix and the lift are those of the dense sum. */
static void compare(const struct work *w) {
    const struct trace_space *space = &w->space;
    int64_t n = space->n_free, n_all = space->n_all, *number = full_numbers(space), entries = 0;
    double *x = test_malloc((size_t)n * sizeof *x), *y = test_malloc((size_t)n * sizeof *y);
    uint32_t seed = 7;
    struct linear_operator A, S;
    struct vector in, out;
    struct csr csr;
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
    ok(trace_operator_create(space, &w->matrices, &A));
    assert_int_equal(A.asymmetric, w->matrices.full);
    ok(operator_create_single(&A, &S));
    for (int single = 0; single < 2; single++) {
        const struct linear_operator *P = single ? &S : &A;
        ok(vector_create_in(P->device, P->precision, n, &in));
        ok(vector_create_in(P->device, P->precision, n, &out));
        ok(vector_upload(&in, x));
        operator_apply(P, &in, &out);
        ok(vector_download(&out, y));
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (int64_t j = 0; j < n; j++) sum += w->dense[number[i] * n_all + number[j]] * x[j];
            near(y[i], sum, single ? 1e-4 : 1e-12);
        }
        vector_destroy(&in);
        vector_destroy(&out);
    }
    operator_destroy(&S);
    operator_destroy(&A);
    ok(trace_assemble(space, &w->matrices, &csr));
    assert_int_equal(csr.asymmetric, w->matrices.full);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++, entries++)
            near(csr.values[k], w->dense[number[i] * n_all + number[csr.columns[k]]], 1e-12);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) entries -= w->dense[number[i] * n_all + number[j]] != 0.0;
    assert_true(entries >= 0);
    csr_destroy(&csr);
    ok(trace_lift(space, &w->matrices, w->eliminated, y));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n_all; j++) y[i] += w->dense[number[i] * n_all + j] * w->eliminated[j];
        near(y[i], 0.0, 1e-12);
    }
    test_free(x);
    test_free(y);
    test_free(number);
}

static uint8_t *some_flags(const struct facet_mesh *mesh) {
    uint8_t *flags = test_calloc((size_t)mesh->n_faces, 1);
    for (int32_t f = 0; f < mesh->n_faces; f++) flags[f] = mesh->face_cells[2 * f + 1] < 0 && f % 3 == 0;
    return flags;
}

static const char *const devices[] = {"cpu", "ref", "debug"};

/* As in a prism: the faces across x have other sizes than those across y. */
static void cells_have_faces_of_different_sizes(void **state) {
    (void)state;
    static const int sizes[3][2] = {{1, 3}, {5, 2}, {9, 12}};
    for (int k = 0; k < 18; k++) {
        struct work w = {.mesh = box("quad", 5, 4, k % 2, 0)};
        uint8_t *flags = some_flags(w.mesh);
        ok(mesh_need_lists(w.mesh));
        w.space = (struct trace_space){.mesh = w.mesh, .n_components = 1, .n_faces = w.mesh->n_faces};
        ok(ALLOC(w.space.records, w.mesh->n_faces));
        w.space.n_slots[0] = 4;
        w.space.faces[0] = w.mesh->blocks[0].faces;
        for (int s = 0; s < 4; s++) {
            int direction, upper;
            shape_face_side(SHAPE_QUAD, s, &direction, &upper);
            w.space.slots[0][s + 1] = w.space.slots[0][s] + sizes[k / 6][direction];
            for (int32_t c = 0; c < w.mesh->blocks[0].count; c++) {
                int32_t f = w.mesh->blocks[0].faces[c * 4 + s];
                w.space.records[f] = (struct trace_face){SHAPE_SEGMENT, 1, sizes[k / 6][direction], -1, f};
            }
        }
        ok(trace_space_number(&w.space, flags));
        fill(&w, devices[k / 2 % 3], k % 2, flags);
        compare(&w);
        test_free(flags);
        work_destroy(&w);
    }
}

/* Some faces have a trace for each side, some a turn, some both. */
static void faces_have_two_traces_and_turns(void **state) {
    (void)state;
    double turns[2 * 4] = {0.6, -0.8, 0.8, 0.6, 0.28, 0.96, 0.96, -0.28};
    for (int k = 0; k < 36; k++) {
        struct work w = {.mesh = k % 3 == 0   ? box("quad", 4, 3, 1, 0)
                                 : k % 3 == 1 ? box("triangle", 3, 3, 1, 1)
                                              : lattice(MIXED, 4, 3, 0.1)};
        int degree = 1 + k % 2, kind = k / 3 % 3;
        uint8_t *flags = some_flags(w.mesh), *two = test_calloc((size_t)w.mesh->n_faces, 1);
        int32_t *turn = test_malloc((size_t)w.mesh->n_faces * sizeof *turn);
        for (int32_t f = 0; f < w.mesh->n_faces; f++) {
            two[f] = f % 5 == 2;
            turn[f] = f % 4 - 1 < 2 ? f % 4 - 1 : -1;
        }
        if (kind != 1) w.extras.two = two;
        if (kind != 0) w.extras.turn = turn, w.extras.n_turns = 2, w.extras.turns = turns;
        ok(trace_space_create_with(w.mesh, degree, 2, flags, &w.extras, &w.space));
        for (int32_t f = 0; f < w.mesh->n_faces; f++) {
            int both = kind != 1 && two[f] && w.mesh->face_cells[2 * f + 1] >= 0;
            assert_int_equal(w.space.records[f].n_traces, both ? 2 : 1);
            assert_int_equal(w.space.records[f].size, 2 * (degree + 1));
        }
        fill(&w, devices[k / 9 % 3], k % 2, flags);
        compare(&w);
        test_free(two);
        test_free(turn);
        test_free(flags);
        work_destroy(&w);
    }
}

/* FGMRES solves; those who need symmetry say so. */
static void full_matrices_are_solved_or_refused(void **state) {
    (void)state;
    struct work w = {.mesh = box("triangle", 4, 4, 0, 0)};
    uint8_t *flags = some_flags(w.mesh);
    struct linear_operator A, M;
    struct vector b, x, r;
    struct csr csr, diagonal;
    struct cholesky *factor = NULL;
    struct multigrid *mg = NULL;
    struct pmg_options options;
    struct solve_control control = {.rtol = 1e-12, .max_iterations = 200};
    struct solve_report report = {0};
    double bytes;
    ok(trace_space_create(w.mesh, 2, 1, flags, &w.space));
    fill(&w, "cpu", 1, flags);
    compare(&w);
    ok(trace_operator_create(&w.space, &w.matrices, &A));
    ok(vector_create(A.device, A.n, &b));
    ok(vector_create(A.device, A.n, &x));
    ok(vector_create(A.device, A.n, &r));
    vector_fill(&b, 1.0);
    vector_fill(&x, 0.0);
    ok(trace_block_diagonal(&w.space, &w.matrices, &diagonal));
    ok(operator_create_jacobi(A.device, &diagonal, &M));
    ok(solve_fgmres(&A, &M, &b, &x, &control, &report));
    operator_residual(&A, &b, &x, &r);
    assert_true(vector_dot(&r, &r) <= 1e-22 * vector_dot(&b, &b));
    operator_destroy(&M);
    refused(solve_cg(&A, NULL, &b, &x, &control, &report), FACET_ERROR_INPUT,
            "conjugate gradients needs a symm");
    ok(trace_assemble(&w.space, &w.matrices, &csr));
    refused(cholesky_analyze(&csr, w.space.n_free_faces, w.space.free_offsets, -1, &factor, &bytes),
            FACET_ERROR_INPUT, "Cholesky needs a symmetric matrix");
    refused(operator_create_block_jacobi(A.device, &diagonal, w.space.n_free_faces, w.space.free_offsets, &M),
            FACET_ERROR_INPUT, "block Jacobi");
    pmg_options_default(&options);
    refused(trace_pmg_create(&w.space, &w.matrices, &A, &options, &mg), FACET_ERROR_INPUT, "p-multigrid");
    solve_report_clear(&report);
    csr_destroy(&csr);
    csr_destroy(&diagonal);
    vector_destroy(&b);
    vector_destroy(&x);
    vector_destroy(&r);
    operator_destroy(&A);
    test_free(flags);
    work_destroy(&w);
}

/* ------------------------------------------------------------------------------------------ elasticity */

#define NX 4

/* A quarter of an annulus: x of a periodic box is the angle, its two ends the axes, which a quarter turn
 * makes one. */
static struct facet_mesh *sector(void) {
    struct facet_mesh *mesh = box("quad", NX, 3, 1, 0);
    ok(mesh_need_lists(mesh));
    struct mesh_block *block = &mesh->blocks[0];
    for (int64_t i = 0; i < (int64_t)block->count * block->n_nodes; i++) {
        double *x = block->nodes + 2 * i, angle = 0.5 * M_PI * (1.0 - x[0]), r = 1.0 + x[1];
        x[0] = r * cos(angle);
        x[1] = r * sin(angle);
    }
    memset(block->affine, 0, (size_t)block->count);
    return mesh;
}

/* The turn of the faces where the first and the last column meet: what the last side sees of the first's. */
static void find_turns(const struct facet_mesh *mesh, int32_t *turn, double turns[8]) {
    static const double quarter[4] = {0, -1, 1, 0};
    int n = 0;
    for (int i = 0; i < 4; i++) {
        turns[i] = quarter[i];
        turns[4 + i] = quarter[i % 2 * 2 + i / 2];
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t a = mesh->face_cells[2 * f], b = mesh->face_cells[2 * f + 1];
        turn[f] = -1;
        if (b < 0 || abs(a % NX - b % NX) != NX - 1) continue;
        turn[f] =
            a % NX < b % NX; /* the first column ends on the y axis: its neighbour sees it turned back */
        n++;
    }
    assert_int_equal(n, 3);
}

/* u = a x + b J x is the same in every sector, and of degree 1: exact to rounding, with tractions too. */
static void a_sector_is_periodic_by_rotation(void **state) {
    (void)state;
    for (int way = 0; way < 6; way++) {
        struct facet_mesh *mesh = sector();
        int32_t *turn = test_malloc((size_t)mesh->n_faces * sizeof *turn);
        double turns[8];
        struct answer a;
        find_turns(mesh, turn, turns);
        struct body b = {.mesh = mesh,
                         .degree = 2,
                         .gradient = way % 2,
                         .exact = {"0.3*x - 0.2*y", "0.2*x + 0.3*y"},
                         .extras = {.turn = turn, .n_turns = 2, .turns = turns},
                         .conditions = {{"ymax", way / 2 == 1 ? "traction" : "fixed"}}};
        if (way / 2 == 2) b.extras = (struct trace_extras){0}; /* a plain ring it is not */
        body_solve(&b, &a);
        assert_int_equal(a.hdg->nonsymmetric, way == 3);
        if (way / 2 == 2) {
            assert_true(a.errors.u_L2 > 1e-3);
        } else {
            assert_true(a.errors.u_L2 < 1e-11 && a.errors.trace_L2 < 1e-11 && a.errors.stress_L2 < 1e-10);
            assert_true(a.conservation < 1e-11);
        }
        answer_free(&a);
        test_free(turn);
        mesh_destroy(&mesh);
    }
}

/* Turned unknowns on the boundary are other names for the same: nothing changes, whatever the condition. */
static void turned_boundaries_change_nothing(void **state) {
    (void)state;
    double turns[4] = {0.6, -0.8, 0.8, 0.6};
    for (int gradient = 0; gradient < 2; gradient++) {
        struct facet_mesh *mesh = lattice(QUADS, 3, 3, 0.1);
        int32_t *turn = test_malloc((size_t)mesh->n_faces * sizeof *turn);
        struct answer a[2];
        double x[2][2], xi[2] = {0.3, 0.4};
        struct hdg_table table;
        ok(hdg_table_create(SHAPE_QUAD, 3, mesh->order, 1, xi, &table));
        for (int32_t f = 0; f < mesh->n_faces; f++) turn[f] = mesh->face_cells[2 * f + 1] < 0 ? 0 : -1;
        for (int k = 0; k < 2; k++) {
            struct body b = {.mesh = mesh,
                             .degree = 2,
                             .gradient = gradient,
                             .exact = {"sin(x)*y", "x*cos(y)"},
                             .conditions = {{"xmax", "traction"}, {"ymax", "traction"}}};
            if (k == 1) b.extras = (struct trace_extras){.turn = turn, .n_turns = 1, .turns = turns};
            body_solve(&b, &a[k]);
            ok(hdg_evaluate(a[k].hdg, &a[k].solution, HDG_U, 0, 1, &(int32_t){4}, &table, x[k]));
        }
        near(x[0][0], x[1][0], 1e-11);
        near(x[0][1], x[1][1], 1e-11);
        near(a[0].errors.u_L2, a[1].errors.u_L2, 1e-12);
        near(a[0].errors.trace_L2, a[1].errors.trace_L2, 1e-11);
        near(a[0].errors.stress_L2, a[1].errors.stress_L2, 1e-10);
        for (int k = 0; k < 2; k++) answer_free(&a[k]);
        hdg_table_destroy(&table);
        test_free(turn);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_have_faces_of_different_sizes),
        cmocka_unit_test(faces_have_two_traces_and_turns),
        cmocka_unit_test(full_matrices_are_solved_or_refused),
        cmocka_unit_test(a_sector_is_periodic_by_rotation),
        cmocka_unit_test(turned_boundaries_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
