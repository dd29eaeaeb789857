/* Continuous elements on bricks: what the plain-C kernels mean (energies of polynomials, transposes, exact
 * patches), on which tests/device/test_device.c builds when it compares devices; and the tables they are given. */
#include "brick_helpers.h"

static const struct device *ref(void) {
    const struct device *device;
    ok(device_find("ref", &device));
    return device;
}

static double *numbers(int64_t n, uint32_t seed) {
    double *x = test_malloc(((size_t)n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = seed > 0 ? random_signed(&seed) : 0.0;
    return x;
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double norm(int64_t n, const double *x) {
    return sqrt(dot(n, x, x));
}

/* The coordinate of a node in one direction. */
static double coordinate(const struct box_grid *g, const struct box_element *e, int d, int node) {
    int cell = node / e->k;
    if (cell == g->cells[d]) cell--;
    return g->coordinates[d][cell] + g->widths[d][cell] * e->nodes[node - cell * e->k];
}

static void apply(const struct brick_setup *s, const double *x, double *y) {
    double *scratch = numbers(brick_scratch(&s->brick.cells, base_threads()), 0);
    device_brick_apply(s->device, F64, &s->brick.cells, 1.0, x, 0.0, NULL, y, scratch);
    test_free(scratch);
}

/* x' A x for u = prod_d (1 + x_d) on a box with natural sides: a product of 1D integrals. */
static void energies_of_polynomials_are_exact(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int k = 1; k <= (dim < 3 ? 15 : 5); k++) {
            static const double c[3] = {0, 0.3, 1};
            struct box_grid_data data = {.dim = dim, .cells = {2, 2, 2}, .coordinates = {c, c, c}};
            double conductivity[8], reaction[8], mass[2], slope[2], energy = 0;
            for (int i = 0; i < 8; i++) {
                conductivity[i] = 1 + 0.5 * i;
                reaction[i] = 2 - 0.2 * i;
            }
            for (int d = 0; d < dim; d++) data.sides[d][0] = data.sides[d][1] = BOX_NEUMANN;
            data.conductivity = conductivity;
            data.reaction = reaction;
            for (int s = 0; s < 2; s++) {
                mass[s] = (pow(1 + c[s + 1], 3) - pow(1 + c[s], 3)) / 3;
                slope[s] = c[s + 1] - c[s];
            }
            for (int cell = 0; cell < 1 << dim; cell++) {
                double M = 1;
                for (int d = 0; d < dim; d++) M *= mass[cell >> d & 1];
                energy += reaction[cell] * M;
                for (int d = 0; d < dim; d++)
                    energy += conductivity[cell] * M / mass[cell >> d & 1] * slope[cell >> d & 1];
            }
            struct brick_setup s = {.device = ref()};
            ok(box_grid_create(&data, &s.grid));
            ok(box_element_create(k, &s.element));
            ok(boxsem_brick_create(s.device, &s.grid, &s.element, &s.brick));
            int64_t n = brick_n_nodes(&s.brick.cells);
            double *x = numbers(n, 0), *y = numbers(n, 0);
            for (int64_t i = 0; i < n; i++) {
                int at[3];
                brick_node_at(&s.brick.cells, i, at);
                x[i] = 1;
                for (int d = 0; d < dim; d++) x[i] *= 1 + coordinate(&s.grid, &s.element, d, at[d]);
            }
            apply(&s, x, y);
            near(dot(n, x, y), energy, 1e-11 * energy);
            test_free(x);
            test_free(y);
            brick_setup_destroy(&s);
        }
}

/* A is symmetric on free nodes, fixed ones give 0, and the diagonal is its diagonal. */
static void the_operator_is_symmetric_and_has_its_diagonal(void **state) {
    (void)state;
    for (int number = 0; number < N_BRICKS; number++) {
        struct brick_setup s;
        brick_setup_create(ref(), number, &s);
        double *x = numbers(s.n, 1), *y = numbers(s.n, 2), *Ax = numbers(s.n, 0), *Ay = numbers(s.n, 0),
               *d = numbers(s.n, 0);
        for (int64_t i = 0; i < s.n; i++)
            if (brick_is_fixed(&s.brick.cells, i)) x[i] = y[i] = 0;
        apply(&s, x, Ax);
        apply(&s, y, Ay);
        near(dot(s.n, x, Ay), dot(s.n, y, Ax), 1e-12 * norm(s.n, x) * norm(s.n, Ay));
        device_brick_diagonal(s.device, F64, &s.brick.cells, d);
        for (int64_t i = 0; i < s.n; i += 1 + s.n / 7) {
            memset(x, 0, (size_t)s.n * sizeof *x);
            x[i] = 1;
            apply(&s, x, Ax);
            if (brick_is_fixed(&s.brick.cells, i)) {
                assert_true(d[i] == 1 && Ax[i] == 0);
            } else {
                near(Ax[i], d[i], 1e-12 * d[i]);
            }
        }
        test_free(x);
        test_free(y);
        test_free(Ax);
        test_free(Ay);
        test_free(d);
        brick_setup_destroy(&s);
    }
}

/* A monomial of the degree of the element along every direction that is no ring, at a node. */
static double monomial(const struct box_grid *grid, const struct box_element *e, int degree,
                       const int at[3]) {
    double value = 1;
    for (int d = 0; d < grid->dim; d++)
        if (grid->sides[d][0] != BOX_PERIODIC) value *= pow(0.3 + coordinate(grid, e, d, at[d]), degree);
    return value;
}

static void check_transfer(const struct brick_setup *s, const struct box_grid *grid,
                           const struct box_element *low, const struct brick_transfer *plan,
                           int64_t n_coarse) {
    struct boxsem_brick coarse_brick;
    ok(boxsem_brick_create(s->device, grid, low, &coarse_brick));
    double *coarse = numbers(n_coarse, 0), *fine = numbers(s->n, 0), *r = numbers(s->n, 3),
           *back = numbers(n_coarse, 0), *scratch = numbers(1, 0);
    int at[3];
    assert_int_equal(n_coarse, brick_n_nodes(&coarse_brick.cells));
    for (int64_t i = 0; i < n_coarse; i++) {
        brick_node_at(&coarse_brick.cells, i, at);
        coarse[i] = monomial(grid, low, low->k, at);
    }
    device_brick_prolong(s->device, F64, plan, coarse, fine, scratch);
    for (int64_t i = 0; i < s->n; i++) {
        brick_node_at(&s->brick.cells, i, at);
        double exact = monomial(&s->grid, &s->element, low->k, at);
        near(fine[i], exact, 1e-11 * (1 + exact));
    }
    for (int64_t i = 0; i < n_coarse; i++)
        if (brick_is_fixed(&coarse_brick.cells, i)) coarse[i] = 0;
    memset(fine, 0, (size_t)s->n * sizeof *fine);
    device_brick_prolong(s->device, F64, plan, coarse, fine, scratch);
    device_brick_restrict(s->device, F64, plan, r, back, scratch);
    near(dot(s->n, fine, r), dot(n_coarse, coarse, back), 1e-12 * norm(s->n, fine) * norm(s->n, r));
    test_free(coarse);
    test_free(fine);
    test_free(r);
    test_free(back);
    test_free(scratch);
    boxsem_brick_destroy(&coarse_brick);
}

/* Coarse polynomials are the same polynomials on the fine brick; restriction is the transpose. */
static void transfers_embed_and_are_transposed(void **state) {
    (void)state;
    for (int number = 0; number < N_BRICKS; number++) {
        struct brick_setup s;
        brick_setup_create(ref(), number, &s);
        check_transfer(&s, &s.coarse, &s.element, &s.transfer.plan, s.n_coarse);
        check_transfer(&s, &s.grid, &s.linear, &s.vertices.plan, s.n_vertices);
        brick_setup_destroy(&s);
    }
}

/* Smoothing steps do not move the solution, and the energy of an error never grows (additive patches promise
 * the first only); a brick that is one patch is solved at once. smoother: a variant of patches. */
static void check_smoother(int number, int smoother, int inner) {
    struct brick_setup s;
    brick_setup_create(ref(), number, &s);
    s.patches.plan.variant = (enum patch_variant)smoother;
    s.patches.plan.inner = inner;
    int exact = s.grid.separable && smoother != PATCH_ADDITIVE;
    for (int d = 0; d < 3; d++) exact &= s.patches.plan.axis[d].n_columns == 1;
    int64_t room =
        device_patch_scratch(s.device, &s.patches.plan) + brick_scratch(&s.brick.cells, base_threads());
    double *u = numbers(s.n, 5), *x = numbers(s.n, 6), *b = numbers(s.n, 0), *e = numbers(s.n, 0),
           *Ae = numbers(s.n, 0), *scratch = numbers(room, 0), before, after = 0;
    apply(&s, u, b);
    for (int64_t i = 0; i < s.n; i++) {
        if (brick_is_fixed(&s.brick.cells, i)) x[i] = u[i];
        e[i] = x[i] - u[i];
    }
    apply(&s, e, Ae);
    before = dot(s.n, e, Ae);
    const double rounding = 1e-20 * before;
    for (int step = 0; step < 4; step++) { /* two steps from elsewhere, two from the solution */
        if (step == 2) memcpy(x, u, (size_t)s.n * sizeof *x);
        device_patch_sweep(s.device, F64, &s.patches.plan, step % 2, b, x, scratch);
        for (int64_t i = 0; i < s.n; i++) e[i] = x[i] - u[i];
        apply(&s, e, Ae);
        after = dot(s.n, e, Ae);
        if (step < 2 && smoother != PATCH_ADDITIVE) assert_true(after <= before * (1 + 1e-12) + rounding);
        if (step == 0 && exact) assert_true(after <= rounding);
        if (step == 2) assert_true(norm(s.n, e) <= 1e-9 * norm(s.n, u));
        if (step < 2) before = after;
    }
    test_free(u);
    test_free(x);
    test_free(b);
    test_free(e);
    test_free(Ae);
    test_free(scratch);
    brick_setup_destroy(&s);
}

static void smoothers_reduce_the_energy(void **state) {
    (void)state;
    static const int bricks[] = {1, 3, 5, 6, 9, 10, 11, 13, 14, 16, 17};
    for (int i = 0; i < (int)(sizeof bricks / sizeof *bricks); i++)
        for (int variant = PATCH_BOUNDARY; variant <= PATCH_ADDITIVE; variant++)
            for (int inner = 0; inner <= (brick_cases[bricks[i]].k_varies ? 4 : 0); inner += 2)
                check_smoother(bricks[i], variant, inner);
}

/* A step and one in reverse from zero are a symmetric positive definite matrix, also with jumps of 1e6: all
 * its columns, its symmetry, and the pivots of its elimination. */
static void check_definite(int number, int inner, double jump) {
    struct brick_setup s;
    brick_setup_create(ref(), number, &s);
    double *k = numbers(s.grid.n_cells, 0);
    for (int64_t i = 0; i < s.grid.n_cells; i++) k[i] = i * 7 % 3 == 0 ? jump : 1 + 0.1 * (double)i;
    const double *own = s.brick.cells.conductivity;
    s.brick.cells.conductivity = k;
    s.patches.plan.inner = inner;
    int64_t n = s.n, n_free = 0;
    double *M = numbers(n * n, 0), *b = numbers(n, 0),
           *scratch = numbers(device_patch_scratch(s.device, &s.patches.plan), 0), largest = 0;
    for (int64_t j = 0; j < n; j++) {
        if (brick_is_fixed(&s.brick.cells, j)) continue;
        double *column = M + n_free++ * n;
        memset(b, 0, (size_t)n * sizeof *b);
        memset(column, 0, (size_t)n * sizeof *b);
        b[j] = 1;
        for (int backward = 0; backward < 2; backward++)
            device_patch_sweep(s.device, F64, &s.patches.plan, backward, b, column, scratch);
        int64_t at = 0;
        for (int64_t i = 0; i < n; i++)
            if (!brick_is_fixed(&s.brick.cells, i)) column[at++] = column[i];
        largest = fmax(largest, norm(at, column));
    }
    for (int64_t i = 0; i < n_free; i++)
        for (int64_t j = 0; j < i; j++) near(M[i * n + j], M[j * n + i], 1e-10 * largest);
    for (int64_t i = 0; i < n_free; i++) {
        assert_true(M[i * n + i] > 0);
        for (int64_t r = i + 1; r < n_free; r++) {
            const double factor = M[r * n + i] / M[i * n + i];
            for (int64_t j = i; j < n_free; j++) M[r * n + j] -= factor * M[i * n + j];
        }
    }
    s.brick.cells.conductivity = own;
    test_free(k);
    test_free(M);
    test_free(b);
    test_free(scratch);
    brick_setup_destroy(&s);
}

static void inner_steps_are_symmetric_positive_definite(void **state) {
    (void)state;
    for (int inner = 1; inner <= 4; inner++) {
        check_definite(6, inner, 100);
        check_definite(9, inner, 1e6);
        check_definite(10, inner, 100);
        check_definite(10, inner, 1e6);
        check_definite(15, inner, 1e6);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct brick_setup s;
    brick_setup_create(ref(), 5, &s);
    struct boxsem_brick brick;
    struct boxsem_patches patches;
    struct boxsem_transfer transfer;
    struct box_element element;
    facet_status status = FACET_ERROR_MACHINE;
    for (int what = 0; what < 4; what++)
        for (int k = 1, done = 0; !done; k++) {
            int64_t blocks = live_blocks();
            base_memory_fail_at(k);
            if (what == 0) status = box_element_create(3, &element);
            if (what == 1) status = boxsem_brick_create(s.device, &s.grid, &s.element, &brick);
            if (what == 2)
                status = boxsem_patches_create(s.device, &s.grid, &s.element, &s.brick.cells, &patches);
            if (what == 3)
                status =
                    boxsem_transfer_create(s.device, &s.grid, &s.coarse, &s.element, &s.element, &transfer);
            base_memory_fail_at(0);
            done = status == FACET_OK;
            if (!done) {
                assert_int_equal(status, FACET_ERROR_MACHINE);
                assert_int_equal(live_blocks(), blocks);
            }
        }
    box_element_destroy(&element);
    boxsem_brick_destroy(&brick);
    boxsem_brick_destroy(&brick);
    boxsem_patches_destroy(&patches);
    boxsem_patches_destroy(&patches);
    boxsem_transfer_destroy(&transfer);
    boxsem_transfer_destroy(&transfer);
    brick_setup_destroy(&s);
    assert_int_equal(live_blocks(), before);
}

static void bricks_that_do_not_fit_are_refused(void **state) {
    (void)state;
    struct brick_setup s;
    struct boxsem_transfer transfer;
    brick_setup_create(ref(), 4, &s);
    s.coarse.cells[0] = 3;
    refused(boxsem_transfer_create(s.device, &s.grid, &s.coarse, &s.element, &s.element, &transfer),
            FACET_ERROR_INPUT, "3");
    brick_setup_destroy(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energies_of_polynomials_are_exact),
        cmocka_unit_test(the_operator_is_symmetric_and_has_its_diagonal),
        cmocka_unit_test(transfers_embed_and_are_transposed),
        cmocka_unit_test(smoothers_reduce_the_energy),
        cmocka_unit_test(inner_steps_are_symmetric_positive_definite),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(bricks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
