/* The condensed method on boxes, algebra: the 1D functions, the forms of the operator against the dense Schur
 * complement, symmetry and kernel, bases, preconditioners, operation counts. */
#include "bench/papers/condensed_local.h"
#include "hdg_helpers.h"
#include "poly/rule.h"

#include <cblas.h>
#include <lapacke.h>

#define MAX_N (BOX_MAX_DEGREE + 1)

static const struct device *cpu(void) {
    const struct device *device;
    ok(device_find("cpu", &device));
    return device;
}

/* ------------------------------------------------------------------------------------- one direction */

static double expected_mass(const struct box_ends *e, int f, int g) {
    if (f < 2 && g < 2) return e->mass[f != g];
    return f == g;
}
static double expected_stiffness(const struct box_ends *e, int f, int g) {
    if (f < 2 && g < 2) return e->stiffness[f != g];
    if (f >= 2 && g >= 2) return f == g ? e->eigenvalues[f - 2] : 0.0;
    return box_ends_coupling(e, f < g ? f : g, (f > g ? f : g) - 2);
}

static void check_ends(int p, enum box_mass kind) {
    struct box_ends e;
    double x[MAX_N], w[MAX_N], gauss[MAX_N], gauss_w[MAX_N], at_x[MAX_N * MAX_N], at_gauss[MAX_N * MAX_N],
        slopes[MAX_N * MAX_N], ends[2] = {-1, 1}, at_ends[2 * MAX_N], point = 0.37, at_point[MAX_N];
    int n = p + 1;
    ok(box_ends_create(p, kind, &e));
    ok(rule_gauss_jacobi(n, 0, 0, gauss, gauss_w));
    if (kind == BOX_MASS_COLLOCATED)
        ok(rule_gauss_lobatto(n, 0, 0, x, w));
    else
        ok(rule_gauss_jacobi(n, 0, 0, x, w));
    ok(box_ends_evaluate(&e, n, x, at_x, NULL));
    ok(box_ends_evaluate(&e, n, gauss, at_gauss, slopes));
    ok(box_ends_evaluate(&e, 2, ends, at_ends, NULL));
    ok(box_ends_evaluate(&e, 1, &point, at_point, NULL));
    double line = at_point[1];
    for (int f = 0; f < n; f++) {
        for (int g = 0; g < n; g++) {
            double mass = 0, stiffness = 0;
            for (int q = 0; q < n; q++) {
                mass += w[q] * at_x[q * n + f] * at_x[q * n + g];
                stiffness += gauss_w[q] * slopes[q * n + f] * slopes[q * n + g];
            }
            near(mass, expected_mass(&e, f, g), 1e-13);
            near(stiffness, expected_stiffness(&e, f, g), 1e-14 * p * p * p * p);
        }
        near(at_ends[f], f == 0, 1e-12);
        near(at_ends[n + f], f == 1, 1e-12);
        if (f >= 2) line += e.linear[f - 2] * at_point[f];
        if (f >= 2) assert_true(e.b[f - 2] > 0);
    }
    near(line, 0.5 * (1 + point), 1e-14);
    box_ends_destroy(&e);
}

static void ends_are_as_the_header_says(void **state) {
    (void)state;
    struct box_ends e;
    for (int p = 1; p <= BOX_MAX_DEGREE; p++)
        for (int kind = 0; kind < 2; kind++) check_ends(p, (enum box_mass)kind);
    /* sin(pi m (1 + x) / 2): the smallest eigenvalues of a fine space are those of the continuum */
    ok(box_ends_create(24, BOX_MASS_EXACT, &e));
    for (int m = 0; m < 3; m++) near(sqrt(e.eigenvalues[m]) / ((2 * m + 1) * 0.5 * M_PI), 1, 1e-13);
    box_ends_destroy(&e);
    refused(box_ends_create(0, BOX_MASS_EXACT, &e), FACET_ERROR_INPUT, "degree");
    refused(box_ends_create(33, BOX_MASS_EXACT, &e), FACET_ERROR_INPUT, "degree");
}

/* ------------------------------------------------------------------------------------------- operators */

/* Boxes with all kinds of sides, graded and uniform, with coefficients of their own in each cell or not. */
struct test_box {
    struct box_grid_data data;
    double x[3][8], k[64], lambda[64];
};
static void make_box(int dim, int nx, int ny, int nz, int variant, struct test_box *b) {
    static const enum box_side sides[4][3][2] = {
        {{BOX_DIRICHLET, BOX_NEUMANN}, {BOX_PERIODIC, BOX_PERIODIC}, {BOX_NEUMANN, BOX_DIRICHLET}},
        {{BOX_DIRICHLET, BOX_DIRICHLET}, {BOX_DIRICHLET, BOX_DIRICHLET}, {BOX_DIRICHLET, BOX_DIRICHLET}},
        {{BOX_NEUMANN, BOX_NEUMANN}, {BOX_NEUMANN, BOX_NEUMANN}, {BOX_PERIODIC, BOX_PERIODIC}},
        {{BOX_PERIODIC, BOX_PERIODIC}, {BOX_NEUMANN, BOX_NEUMANN}, {BOX_DIRICHLET, BOX_NEUMANN}}};
    int cells[3] = {nx, ny, nz}, graded = variant == 0 || variant == 2;
    *b = (struct test_box){.data = {.dim = dim}};
    for (int d = 0; d < 3; d++) {
        b->data.cells[d] = cells[d];
        b->data.coordinates[d] = b->x[d];
        for (int i = 0; i <= cells[d]; i++) {
            double t = (double)i / cells[d];
            b->x[d][i] = 0.2 * d + (1.0 + 0.3 * d) * (graded ? t + 0.3 * t * t : t);
        }
        for (int s = 0; s < 2; s++) b->data.sides[d][s] = sides[variant][d][s];
    }
    for (int i = 0; i < 64; i++) {
        b->k[i] = 1.0 + 0.37 * (i % 5);
        b->lambda[i] = variant == 2 ? 0.0 : variant == 1 ? 0.5 : 0.5 + 0.25 * (i % 3);
    }
    if (variant != 1) b->data.conductivity = b->k;
    if (variant != 2) b->data.reaction = b->lambda;
}

/* The 1D matrices of a basis, all functions in the order of bench/papers/ends.h: modes, or values at nodes.
 */
static void line_matrices(const struct box_condensed *h, enum box_condensed_unknowns basis, double *M,
                          double *L) {
    int n = h->n;
    size_t square = (size_t)n * (size_t)n;
    double *P = calloc(square, sizeof *P); /* functions of the basis in terms of modes */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            M[i * n + j] = i < 2 && j < 2 ? expected_mass(&h->ends, i, j) : i == j;
            L[i * n + j] = expected_stiffness(&h->ends, i, j);
            P[i * n + j] = i == j;
            if (basis == BOX_NODES && i >= 2 && j >= 2) /* S^-1 = S' W */
                P[i * n + j] = h->ends.S[(j - 2) * h->n_inner + i - 2] * h->ends.weights[j - 1];
        }
    double *T = malloc(square * sizeof *T);
    for (int which = 0; which < 2; which++) {
        double *A = which ? M : L;
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1, P, n, A, n, 0, T, n);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, T, n, P, n, 0, A, n);
    }
    free(P);
    free(T);
}

/* The Schur complement of a cell on its closure, by LAPACK from the full matrix of products. */
static double *dense_cell(const struct box_condensed *h, enum box_condensed_unknowns basis, const int at[3]) {
    const struct box_grid *g = &h->grid;
    int n = h->n, nb = (int)h->n_local, ni = (int)h->n_inside, all = nb + ni;
    int64_t cell = box_cell(g, at);
    double M[MAX_N * MAX_N], L[MAX_N * MAX_N], V = 1;
    line_matrices(h, basis, M, L);
    for (int d = 0; d < g->dim; d++) V *= 0.5 * g->widths[d][at[d]];
    int32_t *place = malloc((size_t)all * sizeof *place);
    condensed_places(h, place, place + nb);
    double *A = calloc((size_t)all * (size_t)all, sizeof *A);
    for (int i = 0; i < all; i++)
        for (int j = 0; j < all; j++) {
            double m[3] = {1, 1, 1}, l[3] = {0, 0, 0};
            for (int d = 0, r = place[i], c = place[j]; d < g->dim; d++, r /= n, c /= n) {
                double scale = 2.0 / g->widths[d][at[d]];
                m[d] = M[r % n * n + c % n];
                l[d] = L[r % n * n + c % n] * scale * scale;
            }
            A[(size_t)j * (size_t)all + (size_t)i] =
                V *
                (box_reaction(g, cell) * m[0] * m[1] * m[2] +
                 box_conductivity(g, cell) * (l[0] * m[1] * m[2] + m[0] * l[1] * m[2] + m[0] * m[1] * l[2]));
        }
    if (ni > 0) { /* A_bb - A_bi A_ii^-1 A_ib */
        double *Aii = A + (size_t)nb * (size_t)all + nb, *Aib = A + nb;
        assert_int_equal(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', ni, Aii, all), 0);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, ni, nb, 1, Aii, all,
                    Aib, all);
        cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, nb, ni, -1, Aib, all, 1, A, all);
    }
    double *K = malloc((size_t)nb * (size_t)nb * sizeof *K);
    for (int i = 0; i < nb; i++)
        for (int j = 0; j <= i; j++) K[i * nb + j] = K[j * nb + i] = A[(size_t)j * (size_t)all + (size_t)i];
    free(place);
    free(A);
    return K;
}

/* y = K x by dense matrices of all cells. */
static void dense_apply(const struct box_condensed *h, enum box_condensed_unknowns basis, const double *x,
                        double *y) {
    int64_t n = h->n_local;
    double *locals = malloc((size_t)(h->grid.n_cells * n) * sizeof *locals),
           *local = malloc((size_t)n * sizeof *local);
    for (int kind = 0; kind < h->n_kinds; kind++) {
        int64_t first = h->order[h->kinds[kind].first];
        int at[3];
        box_cell_at(&h->grid, first, at);
        double *K = dense_cell(h, basis, at);
        for (int64_t i = 0; i < h->kinds[kind].count; i++) {
            int64_t cell = h->order[h->kinds[kind].first + i];
            double scale = box_conductivity(&h->grid, cell) / box_conductivity(&h->grid, first);
            condensed_gather(h, x, cell, 0, local);
            cblas_dgemv(CblasColMajor, CblasNoTrans, (int)n, (int)n, scale, K, (int)n, local, 1, 0,
                        locals + cell * n, 1);
        }
        free(K);
    }
    condensed_sum(h, locals, 0, y);
    free(locals);
    free(local);
}

static void random_vector(int64_t n, double *x) {
    uint32_t seed = 7;
    for (int64_t i = 0; i < n; i++) x[i] = random_signed(&seed);
}

static void apply_form(const struct box_condensed *h, enum box_condensed_form form,
                       enum box_condensed_unknowns basis, const double *x, double *y) {
    struct linear_operator A;
    struct vector in, out;
    ok(box_condensed_operator(h, cpu(), form, basis, &A));
    ok(vector_create(cpu(), h->n_trace, &in));
    ok(vector_create(cpu(), h->n_trace, &out));
    ok(vector_upload(&in, x));
    operator_apply(&A, &in, &out);
    ok(vector_download(&out, y));
    vector_destroy(&in);
    vector_destroy(&out);
    operator_destroy(&A);
}

static void check_operators(const struct test_box *b, int p, enum box_mass mass) {
    static const struct {
        enum box_condensed_form form;
        enum box_condensed_unknowns basis;
    } ways[] = {{BOX_CCG_MM, BOX_MODES},
                {BOX_CCG_TPT, BOX_MODES},
                {BOX_CCG_PARITY, BOX_MODES},
                {BOX_CCG_MM, BOX_NODES},
                {BOX_CCG_TP, BOX_NODES}};
    struct box_condensed *h;
    ok(box_condensed_create(&b->data, p, mass, &h));
    size_t n = (size_t)h->n_trace;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *expected = malloc(n * sizeof *y);
    random_vector(h->n_trace, x);
    for (int way = 0; way < (mass == BOX_MASS_COLLOCATED ? 5 : 3); way++) {
        if (way == 0 || way == 3) dense_apply(h, ways[way].basis, x, expected);
        apply_form(h, ways[way].form, ways[way].basis, x, y);
        double scale = 0, worst = 0;
        for (size_t i = 0; i < n; i++) {
            scale = fmax(scale, fabs(expected[i]));
            worst = fmax(worst, fabs(y[i] - expected[i]));
        }
        if (!(worst <= 1e-12 * scale))
            fail_msg("dim %d, degree %d, mass %d, way %d: %g of %g", b->data.dim, p, (int)mass, way, worst,
                     scale);
    }
    free(x);
    free(y);
    free(expected);
    box_condensed_destroy(&h);
}

static void operators_are_the_schur_complement(void **state) {
    (void)state;
    struct test_box b;
    for (int p = 1; p <= 12; p++)
        for (int mass = 0; mass < 2; mass++)
            for (int variant = 0; variant < 4; variant++) {
                int same = variant == 1; /* one kind of cells: there may be many */
                make_box(1, same ? 7 : 3, 1, 1, variant, &b);
                check_operators(&b, p, (enum box_mass)mass);
                make_box(2, same ? 7 : 2, p > 8 && !same ? 1 : 3, 1, variant, &b);
                check_operators(&b, p, (enum box_mass)mass);
                if (p > 5 && !same && variant != p % 4) continue;
                if (p > 7 && mass != p % 2) continue;
                make_box(3, same ? 3 : p < 5 ? 2 : 1, p < 4 ? 3 : 1, p < 5 ? 2 : 1, variant, &b);
                check_operators(&b, p, (enum box_mass)mass);
            }
}

static void nodes_need_the_collocated_mass(void **state) {
    (void)state;
    struct test_box b;
    struct box_condensed *h;
    struct linear_operator A;
    const struct device *debug;
    double x[1000] = {0};
    make_box(2, 2, 2, 1, 1, &b);
    ok(box_condensed_create(&b.data, 3, BOX_MASS_EXACT, &h));
    refused(box_condensed_operator(h, cpu(), BOX_CCG_TP, BOX_NODES, &A), FACET_ERROR_INPUT, "collocated");
    refused(box_condensed_preconditioner(h, cpu(), BOX_CCG_BLOCK, &A), FACET_ERROR_INPUT, "collocated");
    refused(box_condensed_change(h, BOX_MODES_TO_NODES, x), FACET_ERROR_INPUT, "collocated");
    ok(device_find("debug", &debug));
    refused(box_condensed_operator(h, debug, BOX_CCG_TPT, BOX_MODES, &A), FACET_ERROR_INPUT, "host");
    box_condensed_destroy(&h);
}

/* K 1 = 0 without Dirichlet sides and reaction, in both bases; 1 is 1 at nodes. */
static void constants_are_the_kernel(void **state) {
    (void)state;
    struct test_box b;
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 1; p <= 9; p += 2)
            for (int mass = 0; mass < 2; mass++) {
                struct box_condensed *h;
                make_box(dim, 3, 2, 2, 2, &b);
                ok(box_condensed_create(&b.data, p, (enum box_mass)mass, &h));
                assert_true(h->grid.singular);
                assert_int_equal(h->n_free, h->n_trace);
                double *one = malloc((size_t)h->n_trace * sizeof *one),
                       *y = malloc((size_t)h->n_trace * sizeof *y);
                box_condensed_constant(h, BOX_MODES, one);
                apply_form(h, BOX_CCG_PARITY, BOX_MODES, one, y);
                for (int64_t i = 0; i < h->n_trace; i++) near(y[i], 0, 1e-10);
                if (mass == BOX_MASS_COLLOCATED) {
                    ok(box_condensed_change(h, BOX_MODES_TO_NODES, one));
                    for (int64_t i = 0; i < h->n_trace; i++) near(one[i], 1, 1e-12);
                    apply_form(h, BOX_CCG_TP, BOX_NODES, one, y);
                    for (int64_t i = 0; i < h->n_trace; i++) near(y[i], 0, 1e-10);
                }
                free(one);
                free(y);
                box_condensed_destroy(&h);
            }
}

/* Both bases are the same operator: W S K_modes S' W ... : loads and unknowns change as they should. */
static void bases_agree(void **state) {
    (void)state;
    struct test_box b;
    for (int dim = 1; dim <= 3; dim++) {
        struct box_condensed *h;
        make_box(dim, 3, 2, 2, 0, &b);
        ok(box_condensed_create(&b.data, 6, BOX_MASS_COLLOCATED, &h));
        size_t n = (size_t)h->n_trace;
        double *x = malloc(n * sizeof *x), *modes = malloc(n * sizeof *x), *nodes = malloc(n * sizeof *x);
        random_vector(h->n_trace, x);
        apply_form(h, BOX_CCG_TPT, BOX_MODES, x, modes);
        ok(box_condensed_change(h, BOX_MODES_TO_NODES, x));
        apply_form(h, BOX_CCG_TP, BOX_NODES, x, nodes);
        ok(box_condensed_change(h, BOX_LOAD_TO_MODES, nodes));
        for (size_t i = 0; i < n; i++) near(nodes[i], modes[i], 1e-10);
        memcpy(nodes, modes, n * sizeof *nodes);
        ok(box_condensed_change(h, BOX_LOAD_TO_NODES, nodes));
        ok(box_condensed_change(h, BOX_LOAD_TO_MODES, nodes));
        for (size_t i = 0; i < n; i++) near(nodes[i], modes[i], 1e-11);
        memcpy(nodes, x, n * sizeof *nodes);
        ok(box_condensed_change(h, BOX_NODES_TO_MODES, nodes));
        ok(box_condensed_change(h, BOX_MODES_TO_NODES, nodes));
        for (size_t i = 0; i < n; i++) near(nodes[i], x[i], 1e-12);
        free(x);
        free(modes);
        free(nodes);
        box_condensed_destroy(&h);
    }
}

/* ------------------------------------------------------------------------------------- preconditioners */

/* The diagonal in modes is that of the matrix; M is symmetric and positive on free unknowns. */
static void check_preconditioners(int dim, int variant, enum box_mass mass) {
    struct test_box b;
    struct box_condensed *h;
    make_box(dim, 3, 2, 2, variant, &b);
    ok(box_condensed_create(&b.data, 4, mass, &h));
    size_t n = (size_t)h->n_trace;
    double *x = calloc(n, sizeof *x), *y = malloc(n * sizeof *y), *diagonal = malloc(n * sizeof *y);
    ok(box_condensed_diagonal(h, diagonal));
    for (size_t i = 0; i < n; i += 7) {
        x[i] = 1;
        apply_form(h, BOX_CCG_PARITY, BOX_MODES, x, y);
        near(y[i], diagonal[i], 1e-12 * (1 + diagonal[i]));
        x[i] = 0;
    }
    for (int which = mass == BOX_MASS_COLLOCATED ? 0 : 2; which < 4; which++) {
        struct linear_operator M;
        struct vector u, v, Mu, Mv;
        ok(box_condensed_preconditioner(h, cpu(), (enum box_condensed_preconditioner)which, &M));
        ok(vector_create(cpu(), h->n_trace, &u));
        ok(vector_create(cpu(), h->n_trace, &v));
        ok(vector_create(cpu(), h->n_trace, &Mu));
        ok(vector_create(cpu(), h->n_trace, &Mv));
        random_vector(h->n_trace, x);
        for (size_t i = 0; i < n; i++) x[i] = diagonal[i] > 0 ? x[i] : 0;
        ok(vector_upload(&u, x));
        for (size_t i = 0; i < n; i++) x[i] = diagonal[i] > 0 ? sin((double)i) : 0;
        ok(vector_upload(&v, x));
        operator_apply(&M, &u, &Mu);
        operator_apply(&M, &v, &Mv);
        double uMv = vector_dot(&u, &Mv), vMu = vector_dot(&v, &Mu), uMu = vector_dot(&u, &Mu);
        assert_true(uMu > 0);
        near(uMv, vMu, 1e-11 * uMu);
        ok(vector_download(&Mu, y));
        for (size_t i = 0; i < n; i++) assert_true(diagonal[i] > 0 || y[i] == 0);
        vector_destroy(&u);
        vector_destroy(&v);
        vector_destroy(&Mu);
        vector_destroy(&Mv);
        operator_destroy(&M);
    }
    memset(x, 0, n * sizeof *x);
    free(x);
    free(y);
    free(diagonal);
    box_condensed_destroy(&h);
}

static void preconditioners_are_symmetric(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int variant = 0; variant < 4; variant++)
            for (int mass = 0; mass < 2; mass++) check_preconditioners(dim, variant, (enum box_mass)mass);
}

/* ------------------------------------------------------------------------------------------ operations */

/* Leading terms of Table 2, from the fourth differences of what the functions count: exact for polynomials.
 */
static void operations_are_those_of_table_two(void **state) {
    (void)state;
    static const double leading[4][2] = {{4, 72}, {3, 97}, {3, 25}, {3, 13}};
    struct test_box b;
    make_box(3, 1, 1, 1, 1, &b);
    for (int form = 0; form < 4; form++) {
        double count[5], factorial = leading[form][0] == 4 ? 24 : 6;
        for (int i = 0; i < 5; i++) {
            struct box_condensed *h;
            ok(box_condensed_create(&b.data, 8 + i, BOX_MASS_COLLOCATED, &h));
            count[i] = box_condensed_operations(h, (enum box_condensed_form)form);
            box_condensed_destroy(&h);
        }
        double third = count[3] - 3 * count[2] + 3 * count[1] - count[0],
               fourth = count[4] - 4 * count[3] + 6 * count[2] - 4 * count[1] + count[0];
        near((form == BOX_CCG_MM ? fourth : third) / factorial, leading[form][1], 1e-9);
        if (form != BOX_CCG_MM) near(fourth, 0, 1e-6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_as_the_header_says),
        cmocka_unit_test(operators_are_the_schur_complement),
        cmocka_unit_test(nodes_need_the_collocated_mass),
        cmocka_unit_test(constants_are_the_kernel),
        cmocka_unit_test(bases_agree),
        cmocka_unit_test(preconditioners_are_symmetric),
        cmocka_unit_test(operations_are_those_of_table_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
