/* The condensed method on boxes, whole solves: exactness on polynomials, the same solution as on mapped
 * cells, orders, iterations of the solvers of huismann2020, singular problems, points, failing allocations.
 */
#include "bench/papers/condensed_local.h"
#include "hdg_helpers.h"

#include <stdio.h>

#define MAX_CELLS 24

static const struct device *cpu(void) {
    const struct device *device;
    ok(device_find("cpu", &device));
    return device;
}

/* -------------------------------------------------------------------------------------------- problems */

/* A box, and an exact solution from which all data are derived; or data by themselves. */
struct box_setup {
    int dim, cells[3], degree, graded;
    enum box_mass mass;
    enum box_side sides[3][2];
    double k, lambda;
    const char *exact, *f;
    const double *conductivity, *reaction; /* by cell, instead of k and lambda */
    enum box_condensed_form form;
    int preconditioner; /* -1: none */
    double rtol;
    const struct field *given[3][2];
    /* made from these */
    double x[3][MAX_CELLS + 1];
    struct field *field;
};
struct box_solved {
    struct box_condensed *h;
    int iterations;
    double shift, *u;
};
struct side_data {
    const struct box_setup *s;
    int d, side;
};

/* k du/dn, or u. */
static int side_values(void *user, const facet_points *points, double *values) {
    const struct side_data *data = user;
    double *gradients = malloc((size_t)(points->n * points->dim) * sizeof *gradients);
    ok(field_eval_jet(data->s->field, 0, points->n, points->dim, points->x, values, gradients, NULL));
    if (data->s->sides[data->d][data->side] == BOX_NEUMANN)
        for (int i = 0; i < points->n; i++)
            values[i] = data->s->k * gradients[i * points->dim + data->d] * (data->side == 0 ? -1 : 1);
    free(gradients);
    return 0;
}

static void make_coordinates(struct box_setup *s) {
    for (int d = 0; d < 3; d++)
        for (int i = 0; i <= s->cells[d]; i++) {
            double t = (double)i / s->cells[d];
            s->x[d][i] = s->graded ? (t + 0.4 * t * t) / 1.4 : t;
        }
}

static void create(struct box_setup *s, struct box_condensed **h) {
    struct box_grid_data data = {.dim = s->dim};
    double k[MAX_CELLS * MAX_CELLS * MAX_CELLS], lambda[MAX_CELLS * MAX_CELLS * MAX_CELLS];
    make_coordinates(s);
    for (int d = 0; d < 3; d++) {
        data.cells[d] = s->cells[d];
        data.coordinates[d] = s->x[d];
        for (int side = 0; side < 2; side++) data.sides[d][side] = s->sides[d][side];
    }
    for (int i = 0; i < MAX_CELLS * MAX_CELLS * MAX_CELLS; i++) {
        k[i] = s->k;
        lambda[i] = s->lambda;
    }
    data.conductivity = s->conductivity != NULL ? s->conductivity : k;
    data.reaction = s->reaction != NULL ? s->reaction : lambda;
    ok(box_condensed_create(&data, s->degree, s->mass, h));
}

/* f at the Gauss points of all cells: given, or lambda u - k div grad u. */
static double *source_values(const struct box_setup *s, const struct box_condensed *h) {
    const struct box_grid *g = &h->grid;
    int dim = s->dim, n = h->n, count = 1;
    for (int d = 0; d < dim; d++) count *= n;
    double *f = malloc((size_t)(g->n_cells * count) * sizeof *f),
           *x = malloc((size_t)(count * dim) * sizeof *x), *u = malloc((size_t)count * sizeof *u),
           *gradients = malloc((size_t)(count * dim) * sizeof *x),
           *hessians = malloc((size_t)(count * dim * dim) * sizeof *x);
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        for (int i = 0; i < count; i++)
            for (int d = 0, rest = i; d < dim; d++, rest /= n)
                x[i * dim + d] =
                    g->coordinates[d][at[d]] + 0.5 * g->widths[d][at[d]] * (1 + h->gauss[rest % n]);
        if (s->f != NULL) {
            ok(field_eval(s->field, count, dim, x, f + cell * count));
            continue;
        }
        ok(field_eval_jet(s->field, 0, count, dim, x, u, gradients, hessians));
        for (int i = 0; i < count; i++) {
            f[cell * count + i] = s->lambda * u[i];
            for (int d = 0; d < dim; d++)
                f[cell * count + i] -= s->k * hessians[i * dim * dim + d * (dim + 1)];
        }
    }
    free(x);
    free(u);
    free(gradients);
    free(hessians);
    return f;
}

static facet_status try_box(struct box_setup *s, const double *f, struct box_condensed *h,
                            const struct box_condensed_sides *sides, struct box_solved *out) {
    facet_status status = FACET_OK;
    enum box_condensed_unknowns basis = box_condensed_basis(s->form, BOX_NODES);
    struct linear_operator A = {0}, M = {0};
    struct vector F = {0}, x = {0};
    struct null_space constants = {0};
    struct solve_report report = {0};
    struct solve_control control = {.rtol = s->rtol, .max_iterations = 20000};
    double *rhs = NULL, *dirichlet = NULL;
    out->u = NULL;
    TRY(ALLOC(rhs, h->n_trace));
    TRY(ALLOC(dirichlet, h->n_trace));
    TRY(box_condensed_operator(h, cpu(), s->form, basis, &A));
    if (s->preconditioner >= 0)
        TRY(box_condensed_preconditioner(h, cpu(), (enum box_condensed_preconditioner)s->preconditioner, &M));
    TRY(vector_create(cpu(), h->n_trace, &F));
    TRY(vector_create(cpu(), h->n_trace, &x));
    if (h->grid.singular) {
        TRY(vector_create(cpu(), h->n_trace, &constants.function));
        box_condensed_constant(h, basis, rhs);
        TRY(vector_upload(&constants.function, rhs));
        vector_axpby(0, &constants.function, 1 / vector_norm(&constants.function), &constants.function);
        control.null_space = &constants;
    }
    TRY(box_condensed_load(h, f, sides, rhs, dirichlet, &out->shift));
    if (basis == BOX_NODES) TRY(box_condensed_change(h, BOX_LOAD_TO_NODES, rhs));
    TRY(vector_upload(&F, rhs));
    vector_fill(&x, 0);
    TRY(solve_cg(&A, s->preconditioner >= 0 ? &M : NULL, &F, &x, &control, &report));
    out->iterations = report.iterations;
    TRY(vector_download(&x, rhs));
    if (basis == BOX_NODES) TRY(box_condensed_change(h, BOX_NODES_TO_MODES, rhs));
    for (int64_t i = 0; i < h->n_trace; i++) rhs[i] += dirichlet[i];
    int64_t size = h->n * (s->dim > 1 ? h->n : 1) * (s->dim > 2 ? h->n : 1);
    TRY(ALLOC(out->u, h->grid.n_cells * size));
    TRY(box_condensed_recover(h, f, out->shift, rhs, out->u));
done:
    if (status != FACET_OK) base_free(&out->u);
    operator_destroy(&A);
    operator_destroy(&M);
    vector_destroy(&F);
    vector_destroy(&x);
    null_space_destroy(&constants);
    solve_report_clear(&report);
    base_free(&rhs);
    base_free(&dirichlet);
    return status;
}

static void solve_box(struct box_setup *s, struct box_solved *out) {
    struct box_condensed_sides sides = {0};
    struct side_data data[3][2];
    struct field *fields[3][2] = {{NULL}};
    const char *text = s->f != NULL ? s->f : s->exact;
    if (s->rtol == 0) s->rtol = 1e-13;
    ok(field_create_texts(1, &text, 0, NULL, &s->field));
    create(s, &out->h);
    for (int d = 0; d < s->dim; d++)
        for (int side = 0; side < 2; side++) {
            sides.g[d][side] = s->given[d][side];
            if (s->f != NULL) continue;
            data[d][side] = (struct side_data){s, d, side};
            ok(field_create_function(1, side_values, &data[d][side], &fields[d][side]));
            sides.g[d][side] = fields[d][side];
        }
    double *f = source_values(s, out->h);
    ok(try_box(s, f, out->h, &sides, out));
    free(f);
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) field_destroy(&fields[d][side]);
}
static void release_box(struct box_setup *s, struct box_solved *out) {
    base_free(&out->u);
    box_condensed_destroy(&out->h);
    field_destroy(&s->field);
}

#define DIRICHLET_ALL                                                                                        \
    {                                                                                                        \
        {BOX_DIRICHLET, BOX_DIRICHLET}, {BOX_DIRICHLET, BOX_DIRICHLET}, {                                    \
            BOX_DIRICHLET, BOX_DIRICHLET                                                                     \
        }                                                                                                    \
    }
#define MIXED_SIDES                                                                                          \
    {                                                                                                        \
        {BOX_NEUMANN, BOX_DIRICHLET}, {BOX_DIRICHLET, BOX_NEUMANN}, {                                        \
            BOX_NEUMANN, BOX_NEUMANN                                                                         \
        }                                                                                                    \
    }

/* ------------------------------------------------------------------------------------------- exactness */

static void polynomials_are_exact(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 1; p <= (dim == 3 ? 8 : 32); p *= 2)
            for (int mass = 0; mass < 2; mass++) {
                char exact[128];
                struct box_solved out;
                double u_L2, q_L2;
                const char *const form[3] = {"(0.3 + x)^%d", "(0.3 + x)^%d * (1 - 0.5*y)^%d",
                                             "(0.3 + x)^%d * (1 - 0.5*y)^%d * (z + 0.2) + x"};
                /* with the collocated mass a degree less, products of degree 2p not being integrated exactly
                 */
                int top = mass == BOX_MASS_EXACT ? p : p - 1;
                if (top < 1) continue;
                snprintf(exact, sizeof exact, form[dim - 1], top, top);
                struct box_setup s = {.dim = dim,
                                      .cells = {3, dim > 1 ? 2 : 1, dim > 2 ? 2 : 1},
                                      .degree = p,
                                      .graded = 1,
                                      .mass = (enum box_mass)mass,
                                      .sides = MIXED_SIDES,
                                      .k = 2,
                                      .lambda = 0.7,
                                      .exact = exact,
                                      .form = BOX_CCG_PARITY,
                                      .preconditioner = BOX_CCG_TWO_LEVEL};
                solve_box(&s, &out);
                ok(box_condensed_errors(out.h, out.u, s.field, NULL, &u_L2, &q_L2));
                double size = pow(1.3, p);
                near(u_L2, 0, 1e-11 * size);
                near(q_L2, 0, 1e-10 * size);
                release_box(&s, &out);
            }
}

/* -------------------------------------------------------------------------------------- mapped cells */

static int cell_of(const struct box_setup *s, int dim, const double *x) {
    int cell = 0;
    for (int d = dim - 1; d >= 0; d--) {
        int i = 0;
        while (i < s->cells[d] - 1 && x[d] > s->x[d][i + 1]) i++;
        cell = cell * s->cells[d] + i;
    }
    return cell;
}
static int conductivity_at(void *user, const facet_points *points, double *values) {
    const struct box_setup *s = user;
    for (int i = 0; i < points->n; i++)
        values[i] = s->conductivity[cell_of(s, points->dim, points->x + i * points->dim)];
    return 0;
}
static int reaction_at(void *user, const facet_points *points, double *values) {
    const struct box_setup *s = user;
    for (int i = 0; i < points->n; i++)
        values[i] = s->reaction[cell_of(s, points->dim, points->x + i * points->dim)];
    return 0;
}

/* The same problem by the mapped code, u at points. */
static void solve_mapped(struct box_setup *s, const char *const g[3][2], int n_points, const double *x,
                         double *u) {
    static const char *const parts[3][2] = {{"xmin", "xmax"}, {"ymin", "ymax"}, {"zmin", "zmax"}};
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_box box = {
        .size = sizeof(facet_box), .dim = s->dim, .upper = {1, 1, 1}, .shape = s->dim == 2 ? "quad" : "hex"};
    make_coordinates(s);
    for (int d = 0; d < s->dim; d++) {
        box.cells[d] = s->cells[d];
        box.coordinates[d] = s->x[d];
        box.periodic[d] = s->sides[d][0] == BOX_PERIODIC;
    }
    ok(facet_context_create("cpu", &context));
    ok(facet_mesh_create_box(context, &box, &mesh));
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    ok(facet_problem_set_conductivity_function(problem, NULL, 1, conductivity_at, s));
    ok(facet_problem_set_reaction_function(problem, reaction_at, s));
    ok(facet_problem_set_source(problem, s->f));
    for (int d = 0; d < s->dim; d++)
        for (int side = 0; side < 2; side++) {
            if (s->sides[d][side] == BOX_DIRICHLET)
                ok(facet_problem_set_dirichlet(problem, parts[d][side], g[d][side]));
            if (s->sides[d][side] == BOX_NEUMANN)
                ok(facet_problem_set_neumann(problem, parts[d][side], g[d][side]));
        }
    facet_options_default(&options, sizeof options);
    options.discretization = "condensed";
    options.degree = s->degree;
    options.method = "direct";
    options.rtol = 1e-13;
    ok(facet_solver_create(problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_evaluate(solver, "u", n_points, x, u));
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
}

static void check_mapped(struct box_setup *s, const char *const g[3][2]) {
    enum { POINTS = 40 };
    double x[POINTS * 3], mapped[POINTS], u[POINTS];
    struct field *fields[3][2] = {{NULL}};
    struct box_solved out;
    uint32_t seed = 3;
    for (int i = 0; i < POINTS * s->dim; i++) x[i] = 0.5 + 0.5 * random_signed(&seed);
    for (int d = 0; d < s->dim; d++)
        for (int side = 0; side < 2; side++) {
            ok(field_create_texts(1, &g[d][side], 0, NULL, &fields[d][side]));
            s->given[d][side] = fields[d][side];
        }
    solve_box(s, &out);
    ok(box_condensed_at_points(out.h, out.u, POINTS, x, u, NULL));
    solve_mapped(s, g, POINTS, x, mapped);
    for (int i = 0; i < POINTS; i++) near(u[i], mapped[i], 1e-10);
    release_box(s, &out);
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) field_destroy(&fields[d][side]);
}

static void solutions_are_those_of_mapped_cells(void **state) {
    (void)state;
    static const char *const g[3][2] = {{"1 + y", "2 - y"}, {"x", "0.5"}, {"y - x", "x*y"}};
    static const char *const flat[3][2] = {{"1 + y", "2 - y"}, {"x", "0.5"}, {"0", "0"}};
    static const char *const still[3][2] = {{"0", "0"}, {"0", "0"}, {"0", "0"}};
    double k[27], lambda[27], zero[27] = {0}, same[27];
    for (int i = 0; i < 27; i++) {
        k[i] = 1 + i % 4;
        lambda[i] = 0.5 * (i % 3);
        same[i] = 2;
    }
    for (int dim = 2; dim <= 3; dim++)
        for (int p = 2; p <= 5; p++) {
            struct box_setup s = {.dim = dim,
                                  .cells = {3, 2, dim > 2 ? 2 : 1},
                                  .degree = p,
                                  .graded = 1,
                                  .sides = MIXED_SIDES,
                                  .f = "1 + x*y",
                                  .conductivity = k,
                                  .reaction = lambda,
                                  .form = BOX_CCG_PARITY,
                                  .preconditioner = BOX_CCG_TWO_LEVEL};
            check_mapped(&s, dim == 2 ? flat : g);
            s = (struct box_setup){.dim = dim,
                                   .cells = {3, 3, dim > 2 ? 3 : 1},
                                   .degree = p,
                                   .sides = {{BOX_PERIODIC, BOX_PERIODIC},
                                             {BOX_NEUMANN, BOX_NEUMANN},
                                             {BOX_NEUMANN, BOX_NEUMANN}},
                                   .f = "(x - 0.5)*y",
                                   .conductivity = same,
                                   .reaction = zero,
                                   .form = BOX_CCG_TPT,
                                   .preconditioner = BOX_CCG_TWO_LEVEL};
            check_mapped(&s, still);
        }
}

/* --------------------------------------------------------------------------------------------- orders */

static void orders_are_those_of_theory(void **state) {
    (void)state;
    static const char *const exact[3] = {"sin(3*x + 0.5)", "sin(3*x + 0.5)*cos(2*y)",
                                         "sin(3*x + 0.5)*cos(2*y)*exp(z)"};
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 1; p <= 4; p++)
            for (int mass = 0; mass < 2; mass++) {
                double u[2], q[2];
                for (int level = 0; level < 2; level++) {
                    int n = (dim == 3 ? 3 : 5) << level;
                    struct box_solved out;
                    struct box_setup s = {.dim = dim,
                                          .cells = {n, dim > 1 ? n : 1, dim > 2 ? n : 1},
                                          .degree = p,
                                          .mass = (enum box_mass)mass,
                                          .sides = MIXED_SIDES,
                                          .k = 1.5,
                                          .lambda = 1,
                                          .exact = exact[dim - 1],
                                          .form = BOX_CCG_PARITY,
                                          .preconditioner = BOX_CCG_TWO_LEVEL,
                                          .rtol = 1e-11};
                    solve_box(&s, &out);
                    ok(box_condensed_errors(out.h, out.u, s.field, NULL, &u[level], &q[level]));
                    release_box(&s, &out);
                }
                double u_order = log2(u[0] / u[1]), q_order = log2(q[0] / q[1]);
                if (u_order < p + 0.8 || q_order < p - 0.2)
                    fail_msg("dim %d, degree %d, mass %d: orders %g and %g", dim, p, mass, u_order, q_order);
            }
}

/* ----------------------------------------------------------------------------------------- iterations */

static int iterations(int dim, int n, int p, enum box_condensed_form form, int preconditioner) {
    struct box_solved out;
    struct box_setup s = {.dim = dim,
                          .cells = {n, dim > 1 ? n : 1, dim > 2 ? n : 1},
                          .degree = p,
                          .mass = BOX_MASS_COLLOCATED,
                          .sides = DIRICHLET_ALL,
                          .k = 1,
                          .exact = dim == 3   ? "sin(5*x)*cos(4*y)*sin(3*z + 1)"
                                   : dim == 2 ? "sin(5*x)*cos(4*y)"
                                              : "sin(5*x)",
                          .form = form,
                          .preconditioner = preconditioner,
                          .rtol = 1e-10};
    solve_box(&s, &out);
    release_box(&s, &out);
    return out.iterations;
}

static void iterations_fall_in_the_order_of_the_paper(void **state) {
    (void)state;
    for (int p = 3; p <= 9; p += 3) {
        int none = iterations(3, 4, p, BOX_CCG_TP, -1),
            diagonal = iterations(3, 4, p, BOX_CCG_TP, BOX_CCG_DIAGONAL),
            block = iterations(3, 4, p, BOX_CCG_TP, BOX_CCG_BLOCK),
            transformed = iterations(3, 4, p, BOX_CCG_TPT, BOX_CCG_TRANSFORMED),
            matrix = iterations(3, 4, p, BOX_CCG_MM, BOX_CCG_BLOCK);
        print_message("degree %d: %d, diag %d, block %d, trans %d\n", p, none, diagonal, block, transformed);
        assert_true(none > diagonal && diagonal > block);
        assert_true(abs(block - matrix) <= 2);
        assert_true(abs(block - transformed) <= 0.15 * block + 2);
    }
}

static void two_levels_do_not_feel_the_box(void **state) {
    (void)state;
    assert_true(iterations(3, 12, 2, BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL) < 30); /* vertices by AMG */
    assert_true(iterations(1, 16, 5, BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL) <= 2);
    assert_true(iterations(3, 8, 1, BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL) <= 2);
    for (int dim = 2; dim <= 3; dim++)
        for (int p = 2; p <= 8; p += 3) {
            int fine = dim == 3 ? 8 : 16,
                few = iterations(dim, fine / 2, p, BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL),
                more = iterations(dim, fine, p, BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL),
                alone = iterations(dim, fine, p, BOX_CCG_PARITY, BOX_CCG_TRANSFORMED);
            print_message("dim %d, degree %d: %d, %d; without vertices %d\n", dim, p, few, more, alone);
            assert_true(more <= few + 4 && 2 * more < alone && more < 40);
        }
}

/* ---------------------------------------------------------------------------------------------- points */

static void points_lattices_and_values_agree(void **state) {
    (void)state;
    static const char *const exact[3] = {"x^3 - x", "x^3*y - y^2", "x^3*y - y^2*z^3"};
    double xi[3][4] = {{-1, -0.2, 0.3, 1}, {-0.7, 0.1, 0.2, 0.9}, {-0.5, 0, 0.5, 1}};
    const double *const lines[3] = {xi[0], xi[1], xi[2]};
    const int m[3] = {4, 3, 2};
    for (int dim = 1; dim <= 3; dim++) {
        struct box_setup s = {.dim = dim,
                              .cells = {3, dim > 1 ? 2 : 1, dim > 2 ? 2 : 1},
                              .degree = 4,
                              .graded = 1,
                              .sides = DIRICHLET_ALL,
                              .k = 3,
                              .lambda = 1,
                              .exact = exact[dim - 1],
                              .form = BOX_CCG_PARITY,
                              .preconditioner = BOX_CCG_TRANSFORMED};
        struct box_solved out;
        struct box_condensed_lattice lattice;
        int at[3] = {2, dim > 1, dim > 2}, count = 1, n = 5, size = dim == 1 ? 5 : dim == 2 ? 25 : 125;
        double u[24], q[72], x[72], at_x[24], q_x[72], value[24], gradient[72], outside[3] = {0.5, 2, 0.5};
        solve_box(&s, &out);
        ok(box_condensed_lattice_create(out.h, m, lines, &lattice));
        ok(box_condensed_evaluate(out.h, out.u, at, &lattice, u, q));
        for (int d = 0; d < dim; d++) count *= m[d];
        for (int i = 0; i < count; i++)
            for (int d = 0, rest = i; d < dim; rest /= m[d], d++)
                x[i * dim + d] =
                    s.x[d][at[d]] + 0.5 * (s.x[d][at[d] + 1] - s.x[d][at[d]]) * (1 + xi[d][rest % m[d]]);
        ok(box_condensed_at_points(out.h, out.u, count, x, at_x, q_x));
        ok(field_eval_jet(s.field, 0, count, dim, x, value, gradient, NULL));
        for (int i = 0; i < count; i++) {
            near(u[i], value[i], 1e-11);
            near(at_x[i], value[i], 1e-11);
            for (int d = 0; d < dim; d++) {
                near(q[d * count + i], -3 * gradient[i * dim + d], 1e-9);
                near(q_x[i * dim + d], -3 * gradient[i * dim + d], 1e-9);
            }
        }
        double *all = malloc((size_t)(out.h->grid.n_cells * size) * sizeof *all);
        ok(box_condensed_values(out.h, out.u, all));
        for (int d = 0; d < dim; d++) x[d] = 0.5 * s.x[d][1] * (1 + out.h->gauss[d]);
        ok(field_eval(s.field, 1, dim, x, value));
        near(all[dim == 1 ? 0 : dim == 2 ? n : n + 2 * n * n], value[0], 1e-11);
        free(all);
        outside[0] = dim == 1 ? -1 : 0.5;
        refused(box_condensed_at_points(out.h, out.u, 1, outside, at_x, NULL), FACET_ERROR_INPUT, "outside");
        box_condensed_lattice_destroy(&lattice);
        release_box(&s, &out);
    }
}

/* A singular problem whose data do not balance is solved for those that do; u has mean zero. */
static void singular_problems_are_balanced(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int form = BOX_CCG_MM; form <= BOX_CCG_PARITY; form++) {
            struct box_setup s = {.dim = dim,
                                  .cells = {3, dim > 1 ? 2 : 1, 1},
                                  .degree = 5,
                                  .graded = 1,
                                  .mass = BOX_MASS_COLLOCATED,
                                  .sides = {{BOX_NEUMANN, BOX_NEUMANN},
                                            {BOX_PERIODIC, BOX_PERIODIC},
                                            {BOX_PERIODIC, BOX_PERIODIC}},
                                  .k = 2,
                                  .f = "7 + 12*(x - 0.5)",
                                  .form = (enum box_condensed_form)form,
                                  .preconditioner = form < BOX_CCG_TPT ? BOX_CCG_BLOCK : BOX_CCG_TWO_LEVEL,
                                  .rtol = 1e-12};
            struct box_solved out;
            const char *text = "-(x - 0.5)^3 + 0.75*(x - 0.5)"; /* -2 u'' = 12 (x - 1/2), u' = 0 at 0 and 1 */
            struct field *exact;
            double u_L2, q_L2;
            solve_box(&s, &out);
            near(out.shift, 7, 1e-12);
            ok(field_create_texts(1, &text, 0, NULL, &exact));
            ok(box_condensed_errors(out.h, out.u, exact, NULL, &u_L2, &q_L2));
            near(u_L2, 0, 1e-10);
            near(q_L2, 0, 1e-9);
            field_destroy(&exact);
            release_box(&s, &out);
        }
}

/* ---------------------------------------------------------------------------------------------- faults */

static facet_status whole_way(struct box_setup *s, const double *f, const struct box_grid_data *data,
                              const struct box_condensed_sides *sides) {
    facet_status status = FACET_OK;
    struct box_condensed *h = NULL;
    struct box_solved out = {0};
    struct box_condensed_lattice lattice = {0};
    const int m[3] = {2, 1, 1};
    const double points[2] = {-0.5, 0.5}, *const lines[3] = {points, points, points},
                 place[3] = {0.3, 0.3, 0.3};
    double value[8], q[24], values[2 * 2 * 1 * 64];
    TRY(box_condensed_create(data, s->degree, s->mass, &h));
    TRY(try_box(s, f, h, sides, &out));
    TRY(box_condensed_values(h, out.u, values));
    TRY(box_condensed_at_points(h, out.u, 1, place, value, q));
    TRY(box_condensed_lattice_create(h, m, lines, &lattice));
    TRY(box_condensed_evaluate(h, out.u, (const int[3]){0, 0, 0}, &lattice, value, q));
    TRY(box_condensed_errors(h, out.u, s->field, NULL, &value[0], &value[1]));
done:
    box_condensed_lattice_destroy(&lattice);
    base_free(&out.u);
    box_condensed_destroy(&h);
    return status;
}

static void nothing_leaks_when_memory_fails(void **state) {
    (void)state;
    static const struct {
        enum box_condensed_form form;
        int preconditioner;
    } ways[] = {{BOX_CCG_MM, BOX_CCG_DIAGONAL},
                {BOX_CCG_TP, BOX_CCG_BLOCK},
                {BOX_CCG_TPT, BOX_CCG_TRANSFORMED},
                {BOX_CCG_PARITY, BOX_CCG_TWO_LEVEL}};
    const char *text = "x + y*z";
    double x[4] = {0, 0.4, 1}, k[4] = {1, 2, 1, 2}, lambda[4] = {0, 1, 1, 0}, f[4 * 64] = {0};
    for (int way = 0; way < 4; way++) {
        struct box_setup s = {.dim = 3,
                              .degree = 3,
                              .mass = BOX_MASS_COLLOCATED,
                              .form = ways[way].form,
                              .preconditioner = ways[way].preconditioner,
                              .rtol = 1e-8};
        struct box_grid_data data = {.dim = 3,
                                     .cells = {2, 2, 1},
                                     .coordinates = {x, x, x},
                                     .sides = MIXED_SIDES,
                                     .conductivity = k,
                                     .reaction = lambda};
        struct box_condensed_sides sides = {0};
        ok(field_create_texts(1, &text, 0, NULL, &s.field));
        for (int d = 0; d < 3; d++)
            for (int side = 0; side < 2; side++) sides.g[d][side] = s.field;
        ok(whole_way(&s, f, &data, &sides)); /* makes what lives for good */
        int64_t before = live_blocks(), k_th = 1;
        facet_status status;
        do {
            base_memory_fail_at(k_th++);
            status = whole_way(&s, f, &data, &sides);
            base_memory_fail_at(0);
            if (status != FACET_OK && status != FACET_ERROR_MACHINE)
                fail_msg("allocation %d: status %d: %s", (int)k_th - 1, (int)status, base_message());
            assert_int_equal(live_blocks(), before);
        } while (status != FACET_OK);
        assert_true(k_th > 50);
        field_destroy(&s.field);
    }
}

static void bad_data_are_refused(void **state) {
    (void)state;
    const char *text = "1/(x - x)";
    struct box_condensed *h;
    struct box_setup s = {.dim = 2, .cells = {2, 2, 1}, .degree = 3, .sides = MIXED_SIDES, .k = 1};
    struct box_condensed_sides sides = {0};
    struct field *g;
    double shift;
    create(&s, &h);
    ok(field_create_texts(1, &text, 0, NULL, &g));
    double *F = malloc((size_t)h->n_trace * sizeof *F), *fixed = malloc((size_t)h->n_trace * sizeof *F);
    sides.g[0][0] = g; /* Neumann */
    refused(box_condensed_load(h, NULL, &sides, F, fixed, &shift), FACET_ERROR_INPUT, "division by zero");
    sides.g[0][0] = NULL;
    sides.g[0][1] = g; /* Dirichlet */
    refused(box_condensed_load(h, NULL, &sides, F, fixed, &shift), FACET_ERROR_INPUT, "division by zero");
    free(F);
    free(fixed);
    field_destroy(&g);
    box_condensed_destroy(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_are_exact),
        cmocka_unit_test(solutions_are_those_of_mapped_cells),
        cmocka_unit_test(orders_are_those_of_theory),
        cmocka_unit_test(iterations_fall_in_the_order_of_the_paper),
        cmocka_unit_test(two_levels_do_not_feel_the_box),
        cmocka_unit_test(points_lattices_and_values_agree),
        cmocka_unit_test(singular_problems_are_balanced),
        cmocka_unit_test(nothing_leaks_when_memory_fails),
        cmocka_unit_test(bad_data_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
