/* Direct solves of separable boxes: on the trace against the operator itself, and in the volume. */
#include "box_plain.h"

#include "base/run.h"
#include "bench/papers/volume.h"
#include "boxhdg/direct.h"
#include "poly/rule.h"

static const struct plain_box boxes[] = {
    {1, 3, {4}, 'g', "dn", 0.7, 0.0, 0},           {1, 2, {5}, 'u', "pp", 2.0, 0.0, 0},
    {1, 32, {1}, 'u', "nd", 2.0, 0.0, 0},          {1, 4, {1}, 'u', "pp", 2.0, 1.5, 0},
    {2, 3, {3, 2}, 'u', "dddn", 1.3, 0.0, 0},      {2, 4, {2, 3}, 'g', "ppnn", 0.4, 0.0, 0},
    {2, 5, {1, 1}, 'u', "ddnn", 3.0, 2.0, 0},      {2, 2, {4, 3}, 'm', "ppnn", 1.0, 3.0, 0},
    {2, 16, {4, 4}, 'u', "dddd", 625.0, 0.0, 0},   {2, 32, {3, 3}, 'g', "dddd", 25.0, 0.0, 0},
    {2, 24, {4, 5}, 'u', "nnpp", 0.01, 0.0, 0},    {3, 2, {2, 3, 2}, 'g', "ddnnpp", 2.0, 0.0, 0},
    {3, 3, {2, 2, 2}, 'u', "dddddd", 9.0, 4.0, 0}, {3, 1, {1, 2, 3}, 'u', "ppdnpp", 1.0, 0.0, 0},
    {3, 5, {3, 3, 3}, 'u', "nnppnn", 5.0, 0.0, 0}, {3, 9, {4, 3, 2}, 'm', "dddddd", 25.0, 0.1, 0}};
#define N_BOXES (int)(sizeof boxes / sizeof boxes[0])

/* K uhat = F to rounding, for the k and lambda of the box. On a single cell of degree 32 the product itself
 * loses three digits: n^2 / 2 cancels to a number of order 1. */
static void trace_solves(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct boxhdg *h;
        struct boxhdg_direct *direct;
        ok(plain_create(&boxes[b], &h));
        ok(boxhdg_direct_create(h, &direct));
        double *F = calloc((size_t)h->n_trace, sizeof *F), *x = calloc((size_t)h->n_trace, sizeof *x);
        double *kernel = calloc((size_t)h->n_trace, sizeof *x);
        plain_load(h, F, kernel);
        boxhdg_direct_solve(direct, 1.7, boxes[b].reaction, F, x);
        double residual = plain_residual(h, F, x);
        if (getenv("FACET_SHOW") != NULL) printf("box %d: residual %.2e\n", b, residual);
        if (!(residual <= 5e-12)) fail_msg("box %d: residual %g", b, residual);
        free(F);
        free(x);
        free(kernel);
        boxhdg_direct_destroy(&direct);
        boxhdg_destroy(&h);
    }
}

/* A box whose chains are mirror images is solved by halves; the same widths in a chain that is not taken for
 * one give the same. Threads change nothing but rounding, k and lambda need no new object. */
static void trace_solves_again(void **state) {
    (void)state;
    struct plain_box box = {3, 4, {3, 2, 4}, 'u', "ddnnpp", 4.0, 0.3, 0};
    struct boxhdg *h;
    struct boxhdg_direct *direct;
    ok(plain_create(&box, &h));
    double *F = calloc((size_t)h->n_trace, sizeof *F), *kernel = calloc((size_t)h->n_trace, sizeof *F);
    double *x[3];
    plain_load(h, F, kernel);
    int threads = base_threads();
    for (int t = 0; t < 3; t++) {
        base_set_threads(t + 1);
        x[t] = calloc((size_t)h->n_trace, sizeof *F);
        ok(boxhdg_direct_create(h, &direct));
        boxhdg_direct_solve(direct, 5.0, 40.0, F, x[t]);
        boxhdg_direct_solve(direct, 1.7, 0.3, F, x[t]);
        for (int64_t i = 0; i < h->n_trace; i++) assert_true(x[t][i] == x[0][i]);
        boxhdg_direct_destroy(&direct);
    }
    base_set_threads(threads);
    assert_true(plain_residual(h, F, x[0]) < 1e-13);
    for (int t = 0; t < 3; t++) free(x[t]);
    free(F);
    free(kernel);
    boxhdg_destroy(&h);
}

/* y_m = sum_q A_mq x_q or y_q = sum_m A_mq x_m along every direction of a cell, A from the lines. */
static void cell_transform(const struct boxhdg *h, const int at[3], int to_modes, const double *x,
                           double *y) {
    int dim = h->grid.dim, n = h->n;
    double values[3][20 * 20];
    for (int d = 0; d < dim; d++)
        ok(box_legendre_evaluate(n, boxhdg_line(h, d, at[d])->S, n, h->gauss, values[d], NULL));
    for (int64_t o = 0; o < h->cell_size; o++) {
        y[o] = 0.0;
        for (int64_t i = 0; i < h->cell_size; i++) {
            double product = x[i];
            int64_t a = o, b = i;
            for (int d = 0; d < dim; d++, a /= n, b /= n) {
                int64_t mode = to_modes ? a % n : b % n, point = to_modes ? b % n : a % n;
                product *= values[d][point * n + mode];
                if (to_modes) product *= h->weights[point];
            }
            y[o] += product;
        }
    }
}

/* Traces of a cell in its modes: what they add to the equation of u (uhat given), or collect from it. */
static void cell_couple(const struct boxhdg *h, const int at[3], double *trace, double *modes, int collect) {
    double a[3];
    boxhdg_metric(h, at, a);
    for (int64_t i = 0; i < h->cell_size; i++)
        for (int d = 0; d < h->grid.dim; d++) {
            int64_t step = 1;
            for (int e = 0; e < d; e++) step *= h->n;
            int64_t mode = i / step % h->n, t = i % step + i / step / h->n * step;
            const struct box_line *line = boxhdg_line(h, d, at[d]);
            for (int s = 0; s < 2; s++) {
                int64_t face = box_face(&h->grid, at, d, s) * h->face_size + t;
                double r = a[d] * line->b[mode] * (s == 1 || mode < line->n_even ? 1.0 : -1.0);
                if (collect)
                    trace[face] += r * modes[i];
                else
                    modes[i] += r * trace[face];
            }
        }
}

/* Z of a cell. */
static double cell_Z(const struct boxhdg *h, const int at[3], int64_t i) {
    double a[3], Z = boxhdg_metric(h, at, a);
    for (int d = 0; d < h->grid.dim; d++, i /= h->n)
        Z += a[d] * boxhdg_line(h, d, at[d])->eigenvalues[i % h->n];
    return Z;
}

/* The volume solve and the trace solve, with load and recovery by hand, give the same u. */
static void volume_is_trace(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct boxhdg *h;
        struct boxhdg_direct *direct;
        struct box_volume *volume;
        if (boxes[b].degree > 10) continue;
        ok(plain_create(&boxes[b], &h));
        ok(boxhdg_direct_create(h, &direct));
        ok(box_volume_create_hdg(h, &volume));
        size_t N = (size_t)h->n_volume, n = (size_t)h->cell_size;
        double *f = calloc(N, sizeof *f), *u = calloc(N, sizeof *f), *load = calloc(N, sizeof *f);
        double *modes = calloc(n, sizeof *f), *values = calloc(n, sizeof *f), worst = 0.0, largest = 0.0;
        double *F = calloc((size_t)h->n_trace, sizeof *F), *x = calloc((size_t)h->n_trace, sizeof *F);
        double mean = 0.0, measure = 0.0, shift = 0.0;
        int at[3];
        for (int64_t c = 0; c < h->grid.n_cells; c++) { /* f without a mean: means something where singular */
            box_cell_at(&h->grid, c, at);
            double V = 1.0;
            for (int d = 0; d < h->grid.dim; d++) V *= 0.5 * h->grid.widths[d][at[d]];
            for (size_t i = 0; i < n; i++) {
                double w = V;
                for (int64_t d = 0, r = (int64_t)i; d < h->grid.dim; d++, r /= h->n)
                    w *= h->weights[r % h->n];
                f[(size_t)c * n + i] = noise();
                mean += w * f[(size_t)c * n + i];
                measure += w;
            }
        }
        for (size_t i = 0; i < N; i++) f[i] -= mean / measure;
        for (int64_t c = 0; c < h->grid.n_cells; c++) {
            double *l = load + c * h->cell_size, V = 1.0;
            box_cell_at(&h->grid, c, at);
            for (int d = 0; d < h->grid.dim; d++) V *= 0.5 * h->grid.widths[d][at[d]];
            cell_transform(h, at, 1, f + c * h->cell_size, l);
            for (size_t i = 0; i < n; i++) {
                l[i] *= V;
                modes[i] = l[i] / cell_Z(h, at, (int64_t)i);
            }
            cell_couple(h, at, F, modes, 1);
        }
        for (int64_t i = 0; i < h->n_trace; i++)
            if (plain_is_fixed(h, i)) F[i] = 0.0;
        boxhdg_direct_solve(direct, 1.7, boxes[b].reaction, F, x);
        box_volume_solve(volume, 1.7, boxes[b].reaction, f, u);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t c = 0; c < h->grid.n_cells; c++) {
                box_cell_at(&h->grid, c, at);
                memcpy(modes, load + c * h->cell_size, n * sizeof *modes);
                cell_couple(h, at, x, modes, 0);
                for (size_t i = 0; i < n; i++) modes[i] /= cell_Z(h, at, (int64_t)i);
                cell_transform(h, at, 0, modes, values);
                for (size_t i = 0; i < n; i++) {
                    double difference = values[i] - u[(size_t)c * n + i];
                    if (pass == 0 && i == 0 && c == 0 && h->grid.singular) shift = difference;
                    if (pass == 1) worst = fmax(worst, fabs(difference - shift));
                    largest = fmax(largest, fabs(values[i]));
                }
            }
        if (!(worst <= 1e-11 * largest)) fail_msg("box %d: %g of %g", b, worst, largest);
        free(f);
        free(u);
        free(load);
        free(modes);
        free(values);
        free(F);
        free(x);
        boxhdg_direct_destroy(&direct);
        box_volume_destroy(&volume);
        boxhdg_destroy(&h);
    }
}

/* ---------------------------------------------------------------------------- the continuous space */

/* A polynomial of the space as Dirichlet data and its f: the nodes have its values, the error is rounding. */
static void continuous_is_exact(void **state) {
    (void)state;
    static const char *const u_text[3] = {"x^2 - x", "x^2*y - 3*x*y^2 + 1", "x^2*y - y*z^2 + x*y*z"};
    static const char *const f_text[3] = {"2*(x^2 - x) - 1.5*2", "2*(x^2*y - 3*x*y^2 + 1) - 1.5*(2*y - 6*x)",
                                          "2*(x^2*y - y*z^2 + x*y*z)"};
    for (int dim = 1; dim <= 3; dim++)
        for (int graded = 0; graded < 2; graded++) {
            struct plain_box box = {dim, 2 + graded, {3, 2, 2}, graded ? 'g' : 'u', "dddddd", 1.0, 0.0, 0};
            struct boxhdg *h;
            struct box_volume *volume;
            struct field *u_field, *f_field;
            double *x = NULL, *f = NULL, *u = NULL, *nodes = NULL, error;
            int counts[3], n = box.degree + 1;
            ok(plain_create(&box, &h));
            ok(box_volume_create_continuous(&h->grid, box.degree, &volume));
            ok(field_create_texts(1, &u_text[dim - 1], 0, NULL, &u_field));
            ok(field_create_texts(1, &f_text[dim - 1], 0, NULL, &f_field));
            box_volume_lattice(volume, counts);
            int64_t N = box_volume_size(volume), lattice = (int64_t)counts[0] * counts[1] * counts[2];
            ok(ALLOC(x, 3 * (N + lattice)));
            ok(ALLOC(f, N));
            ok(ALLOC(u, N));
            ok(ALLOC(nodes, lattice));
            for (int64_t i = 0; i < N; i++) {
                int at[3];
                int64_t rest = i % h->cell_size;
                box_cell_at(&h->grid, i / h->cell_size, at);
                for (int d = 0; d < dim; d++, rest /= n)
                    x[i * dim + d] = h->grid.coordinates[d][at[d]] +
                                     0.5 * h->grid.widths[d][at[d]] * (1.0 + h->gauss[rest % n]);
            }
            ok(field_eval(f_field, (int)N, dim, x, f));
            double lobatto[4], w[4];
            ok(rule_gauss_lobatto(n, 0.0, 0.0, lobatto, w));
            for (int64_t i = 0; i < lattice; i++) {
                int64_t rest = i;
                for (int d = 0; d < dim; d++) {
                    int index = (int)(rest % counts[d]), cell = index / box.degree, at = index % box.degree;
                    if (cell == h->grid.cells[d]) {
                        cell--;
                        at = box.degree;
                    }
                    rest /= counts[d];
                    x[i * dim + d] =
                        h->grid.coordinates[d][cell] + 0.5 * h->grid.widths[d][cell] * (1.0 + lobatto[at]);
                }
            }
            ok(field_eval(u_field, (int)lattice, dim, x, nodes));
            double *exact = NULL;
            ok(ALLOC(exact, lattice));
            memcpy(exact, nodes, (size_t)lattice * sizeof *exact);
            box_volume_solve_data(volume, 1.5, 2.0, f, NULL, nodes, u);
            for (int64_t i = 0; i < lattice; i++) assert_true(fabs(nodes[i] - exact[i]) < 1e-12);
            ok(box_volume_error(volume, u, u_field, &error));
            assert_true(error < 1e-12);
            base_free(&x);
            base_free(&f);
            base_free(&u);
            base_free(&nodes);
            base_free(&exact);
            field_destroy(&u_field);
            field_destroy(&f_field);
            box_volume_destroy(&volume);
            boxhdg_destroy(&h);
        }
}

static double measured_error(const char *sides, const char *u_text, const char *f_text, int dim, int cells,
                             int degree, double k, double lambda) {
    double coordinates[65], error, *x = NULL, *f = NULL, *u = NULL, *nodes = NULL, *again = NULL;
    struct box_grid_data data = {.dim = dim};
    struct box_grid grid;
    struct box_volume *volume;
    struct field *u_field, *f_field;
    int n = degree + 1, counts[3];
    double gauss[40], weights[40];
    for (int i = 0; i <= cells; i++) coordinates[i] = (double)i / cells;
    for (int d = 0; d < dim; d++) {
        data.cells[d] = cells;
        data.coordinates[d] = coordinates;
        for (int s = 0; s < 2; s++) {
            char c = sides[2 * d + s];
            data.sides[d][s] = c == 'd' ? BOX_DIRICHLET : c == 'n' ? BOX_NEUMANN : BOX_PERIODIC;
        }
    }
    ok(box_grid_create(&data, &grid));
    ok(box_volume_create_continuous(&grid, degree, &volume));
    ok(field_create_texts(1, &u_text, 0, NULL, &u_field));
    ok(field_create_texts(1, &f_text, 0, NULL, &f_field));
    ok(rule_gauss_jacobi(n, 0.0, 0.0, gauss, weights));
    int64_t N = box_volume_size(volume), size = N / grid.n_cells;
    ok(ALLOC(x, 3 * N));
    ok(ALLOC(f, N));
    ok(ALLOC(u, N));
    for (int64_t i = 0; i < N; i++) {
        int at[3];
        int64_t rest = i % size;
        box_cell_at(&grid, i / size, at);
        for (int d = 0; d < dim; d++, rest /= n)
            x[i * dim + d] = (at[d] + 0.5 * (1.0 + gauss[rest % n])) / cells;
    }
    ok(field_eval(f_field, (int)N, dim, x, f));
    box_volume_solve(volume, k, lambda, f, u);
    ok(box_volume_error(volume, u, u_field, &error));
    /* The nodes are those of the same function. */
    box_volume_lattice(volume, counts);
    int64_t lattice = (int64_t)counts[0] * counts[1] * counts[2];
    ok(ALLOC(nodes, lattice));
    ok(CALLOC(again, lattice));
    box_volume_nodes(volume, nodes);
    box_volume_solve_data(volume, k, lambda, f, NULL, again, NULL);
    for (int64_t i = 0; i < lattice; i++) assert_true(fabs(nodes[i] - again[i]) < 1e-12);
    base_free(&x);
    base_free(&f);
    base_free(&u);
    base_free(&nodes);
    base_free(&again);
    field_destroy(&u_field);
    field_destroy(&f_field);
    box_volume_destroy(&volume);
    box_grid_destroy(&grid);
    return error;
}

/* One unknown in every direction: a source by itself and beside boundary data that are zero. */
static void one_unknown(void **state) {
    (void)state;
    struct plain_box box = {3, 1, {2, 2, 2}, 'u', "dddddd", 1.0, 0.0, 0};
    struct boxhdg *h;
    struct box_volume *volume;
    double f[64], u[64], other[64], nodes[27] = {0}, largest = 0.0;
    ok(plain_create(&box, &h));
    ok(box_volume_create_continuous(&h->grid, 1, &volume));
    assert_int_equal(box_volume_size(volume), 64);
    for (int i = 0; i < 64; i++) f[i] = 1.0 + i % 5;
    box_volume_solve(volume, 1.5, 2.0, f, u);
    box_volume_solve_data(volume, 1.5, 2.0, f, NULL, nodes, other);
    for (int i = 0; i < 64; i++) largest = fmax(largest, fabs(u[i]));
    for (int i = 0; i < 64; i++) assert_true(fabs(u[i] - other[i]) <= 1e-13 * largest);
    assert_true(largest > 0.0);
    box_volume_destroy(&volume);
    boxhdg_destroy(&h);
}

static void continuous_has_order(void **state) {
    (void)state;
    static const char *const u = "sin(pi*x)*cos(pi*y)", *const f = "(3 + 2*2*pi^2)*sin(pi*x)*cos(pi*y)";
    static const char *const w = "cos(2*pi*x)*cos(pi*y)*cos(pi*z)",
                             *const g = "6*pi^2*cos(2*pi*x)*cos(pi*y)*cos(pi*z)";
    for (int p = 1; p <= 4; p++) {
        double coarse = measured_error("ddnn", u, f, 2, 4, p, 2.0, 3.0);
        double rate = log2(coarse / measured_error("ddnn", u, f, 2, 8, p, 2.0, 3.0));
        assert_true(fabs(rate - (p + 1)) < 0.25);
        coarse = measured_error("ppnnnn", w, g, 3, 4, p, 1.0, 0.0); /* singular */
        rate = log2(coarse / measured_error("ppnnnn", w, g, 3, 8, p, 1.0, 0.0));
        assert_true(fabs(rate - (p + 1)) < 0.35);
    }
    assert_true(measured_error("ddnn", u, f, 2, 2, 20, 2.0, 3.0) < 1e-13);
    assert_true(measured_error("dd", "sin(pi*x)", "pi^2*sin(pi*x)", 1, 1, 32, 1.0, 0.0) < 1e-12);
    assert_true(measured_error("ddpp", "0*x", "1 + x", 2, 1, 1, 1.0, 0.0) == 0.0); /* no unknowns */
}

/* ------------------------------------------------------------------------------------------ faults */

static facet_status make_all(const struct boxhdg *h, const struct device *device) {
    facet_status status = FACET_OK;
    struct boxhdg_lanes *lanes = NULL;
    struct box_volume *one = NULL, *two = NULL;
    struct linear_operator M = {0};
    struct field *zero = NULL;
    double value = 0.0, *u = NULL, error;
    TRY(boxhdg_lanes_create(device, h, F64, &lanes));
    TRY(operator_create_box_direct(lanes, &M));
    TRY(box_volume_create_hdg(h, &one));
    TRY(box_volume_create_continuous(&h->grid, 3, &two));
    TRY(field_create_constants(1, &value, &zero));
    TRY(CALLOC(u, box_volume_size(two)));
    TRY(box_volume_error(two, u, zero, &error));
    assert_true(error == 0.0);
done:
    operator_destroy(&M);
    boxhdg_lanes_destroy(&lanes);
    box_volume_destroy(&one);
    box_volume_destroy(&two);
    field_destroy(&zero);
    base_free(&u);
    return status;
}

static void survives_faults(void **state) {
    (void)state;
    struct plain_box box = {2, 2, {2, 3}, 'g', "ppnn", 1.0, 1.0, 0};
    static const char *const names[] = {"cpu", "debug"};
    struct base_memory before, after;
    const struct device *device;
    struct boxhdg *h;
    ok(plain_create(&box, &h));
    base_memory_read(&before);
    for (int i = 0; i < 2; i++) {
        facet_status status = FACET_ERROR_MACHINE;
        ok(device_find(names[i], &device));
        for (int64_t k = 1; status != FACET_OK; k++) {
            base_memory_fail_at(k);
            status = make_all(h, device);
            base_memory_fail_at(0);
            base_memory_read(&after);
            assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
            assert_int_equal(after.live_blocks, before.live_blocks);
        }
    }
    boxhdg_destroy(&h);
}

static void refuses(void **state) {
    (void)state;
    struct plain_box box = {2, 2, {2, 3}, 'g', "ppnn", 1.0, 1.0, 0};
    struct box_volume *volume;
    struct boxhdg *h;
    ok(plain_create(&box, &h));
    assert_int_equal(box_volume_create_continuous(&h->grid, 0, &volume), FACET_ERROR_INPUT);
    assert_int_equal(box_volume_create_continuous(&h->grid, 33, &volume), FACET_ERROR_INPUT);
    boxhdg_destroy(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_solves),    cmocka_unit_test(trace_solves_again),
        cmocka_unit_test(volume_is_trace), cmocka_unit_test(continuous_is_exact),
        cmocka_unit_test(one_unknown),     cmocka_unit_test(continuous_has_order),
        cmocka_unit_test(survives_faults), cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
