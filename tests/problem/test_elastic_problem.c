/* Elasticity through the public library: setters and their misuse, moduli in both forms, conditions by
 * components, rigid motions that are left free, and what the formulations allow. */
#include <stdio.h>

#include "hdg_helpers.h"

struct bench {
    struct facet_mesh *mesh;
    facet_context *context;
    facet_problem *problem;
};

static struct facet_mesh *make_box(int dim, const char *shape, int n, int periodic) {
    facet_box b = {.size = sizeof(facet_box),
                   .dim = dim,
                   .upper = {1, 1, 1},
                   .cells = {n, n, n},
                   .shape = shape,
                   .periodic = {periodic & 1, periodic >> 1 & 1, periodic >> 2 & 1}};
    struct facet_mesh *mesh;
    ok(mesh_create_box(&b, &mesh));
    ok(mesh_need_lists(mesh));
    return mesh;
}

static void bench_create(struct facet_mesh *mesh, struct bench *b) {
    static const char *const moduli[2] = {"1", "2"};
    *b = (struct bench){.mesh = mesh};
    ok(facet_context_create(NULL, &b->context));
    ok(facet_problem_create(b->context, mesh, FACET_ELASTICITY, &b->problem));
    ok(facet_problem_set_material(b->problem, NULL, "mu,lambda", moduli));
}

static void bench_destroy(struct bench *b) {
    facet_problem_destroy(&b->problem);
    facet_context_destroy(&b->context);
    mesh_destroy(&b->mesh);
}

static facet_status resolve(const struct bench *b, const facet_options *options) {
    struct problem_resolved r;
    struct options words;
    facet_status status = options_read(options, &words);
    if (status == FACET_OK) status = problem_resolve(&b->problem->data, &words, &r);
    if (status == FACET_OK) problem_resolved_destroy(&r);
    return status;
}

/* ------------------------------------------------------------------------------------------ moduli */

static double modulus(const struct bench *b, int lambda, const double *x) {
    const struct problem_region *region = &b->problem->data.regions[0];
    double value;
    ok(field_eval(lambda ? region->lambda : region->mu, 1, b->mesh->dim, x, &value));
    return value;
}

static int young_function(void *user, const facet_points *points, double *values) {
    double scale = *(const double *)user;
    for (int i = 0; i < points->n; i++) {
        values[2 * i] = scale * (2 + points->x[i * points->dim]);
        values[2 * i + 1] = 0.3 + 0.1 * points->x[i * points->dim + 1];
    }
    return 0;
}

static void moduli_in_both_forms(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    const double x[2] = {0.5, 0.25}, E = 2.5, nu = 0.325;
    double scale = 1.0;
    const double mu = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    bench_create(make_box(2, "quad", 2, 0), &b);
    near(modulus(&b, 0, x), 1, 0);
    near(modulus(&b, 1, x), 2, 0);
    ok(facet_problem_set_parameter(b.problem, "s", 0.1));
    ok(facet_problem_set_material(b.problem, NULL, "E,nu", (const char *[]){"2.5", "0.325"}));
    near(modulus(&b, 0, x), mu, 1e-15);
    near(modulus(&b, 1, x), lambda, 1e-15);
    ok(facet_problem_set_material(b.problem, NULL, "E,nu", (const char *[]){"2 + x", "0.3 + s*y"}));
    near(modulus(&b, 0, x), mu, 1e-15);
    near(modulus(&b, 1, x), lambda, 1e-15);
    assert_true(field_is_differentiable(b.problem->data.regions[0].lambda));
    ok(facet_problem_set_material_function(b.problem, NULL, "E,nu", young_function, &scale));
    near(modulus(&b, 0, x), mu, 1e-15);
    near(modulus(&b, 1, x), lambda, 1e-15);
    assert_int_equal(b.problem->data.n_regions, 1); /* each replaced the one before */
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void moduli_out_of_range(void **state) {
    (void)state;
    static const struct {
        const char *which, *texts[2], *message;
    } table[] = {
        {"E,nu", {"1", "0.5"}, "lambda/mu <= 1e6"},
        {"E,nu", {"1", "0.7"}, "below 0.5"},
        {"E,nu", {"1", "-1"}, "above -1"},
        {"E,nu", {"0", "0.3"}, "E must be positive"},
        {"mu,lambda", {"-1", "1"}, "mu must be pos"},
        {"mu,lambda", {"1.5", "-1"}, "lambda must be above -2 mu/3 = -1, not -1"},
        {"mu,lambda", {"1", "2e6"}, "2e+06"},
        {"E,nu", {"1", "0.4999999"}, "nu <= 0.4999995"},
        {"E;nu", {"1", "0"}, "\"E,nu\""},
        {"E,nu", {"1", "w"}, "unknown name"},
        {"E,nu", {"1", "z"}, "uses z"},
    };
    struct bench b;
    bench_create(make_box(2, "quad", 2, 0), &b);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        refused(facet_problem_set_material(b.problem, NULL, table[i].which, table[i].texts),
                FACET_ERROR_INPUT, table[i].message);
    /* those that vary are found in the cells */
    ok(facet_problem_set_displacement(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    ok(facet_problem_set_material(b.problem, NULL, "E,nu", (const char *[]){"1", "0.4 + 0.2*x"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "nu must be below 0.5, not 0.55");
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"x - 0.5", "1"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "mu must be positive, not -0.25");
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"1", "x - 1"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "above -2 mu/3 = -0.6666666667, not -0.75");
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"1", "x - 0.9"}));
    ok(resolve(&b, NULL));
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"1", "x"}));
    ok(resolve(&b, NULL));
    bench_destroy(&b);
}

static void materials_and_groups(void **state) {
    (void)state;
    static const char *const moduli[2] = {"1", "2"}, *const other[2] = {"2", "2"};
    facet_options options;
    struct bench b;
    facet_options_default(&options, sizeof options);
    bench_create(lattice(MIXED, 4, 4, 0), &b); /* groups of cells west and east */
    ok(facet_problem_set_displacement(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    ok(resolve(&b, &options));
    ok(facet_problem_set_material(b.problem, "west", "mu,lambda", other));
    ok(resolve(&b, &options));
    options.formulation = "gradient"; /* whose interface condition knows one mu */
    refused(resolve(&b, &options), FACET_ERROR_INPUT, "needs one mu");
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"2", "7"}));
    ok(resolve(&b, &options));
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"2 + x", "7"}));
    refused(resolve(&b, &options), FACET_ERROR_INPUT, "needs one mu");
    ok(facet_problem_set_material(b.problem, "nowhere", "mu,lambda", moduli));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "no group of cells 'nowhere'");
    facet_problem_destroy(&b.problem);
    ok(facet_problem_create(b.context, b.mesh, FACET_ELASTICITY, &b.problem));
    ok(facet_problem_set_displacement(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "cells have none");
    ok(facet_problem_set_material(b.problem, "west", "mu,lambda", other));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "the group 'east'");
    bench_destroy(&b);
}

/* ------------------------------------------------------------------------------------------ conditions */

static void conditions_by_components(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    struct problem_resolved r;
    const char *const none[2] = {NULL, NULL};
    bench_create(make_box(2, "triangle", 2, 0), &b);
    ok(facet_problem_set_displacement(b.problem, "xmin", 2, (const char *[]){"0", NULL}));
    refused(facet_problem_set_displacement(b.problem, "xmin", 2, (const char *[]){"0", "0"}),
            FACET_ERROR_INPUT, "two displacements");
    ok(facet_problem_set_traction(b.problem, "rest", 2, (const char *[]){"x", "y"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "the body can still translate along y");
    ok(facet_problem_set_traction(b.problem, "xmin", 2, (const char *[]){"0", "1"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "the component x on 'xmin' is given by both");
    facet_problem_destroy(&b.problem);

    ok(facet_problem_create(b.context, b.mesh, FACET_ELASTICITY, &b.problem));
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"1", "1"}));
    ok(facet_problem_set_traction(b.problem, "xmin", 2, (const char *[]){NULL, "5"})); /* in any order */
    ok(facet_problem_set_displacement(b.problem, "xmin", 2, (const char *[]){"3", NULL}));
    ok(facet_problem_set_displacement(b.problem, "xmax", 2, (const char *[]){"0", "0"}));
    ok(facet_problem_set_traction(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    refused(facet_problem_set_displacement(b.problem, "ymin", 3, (const char *[]){"0", "0", "0"}),
            FACET_ERROR_INPUT, "3 components");
    refused(facet_problem_set_traction(b.problem, "ymin", 2, none), FACET_ERROR_INPUT, "no component");
    refused(facet_problem_set_traction(b.problem, "ymin", 2, (const char *[]){"exact", "0"}),
            FACET_ERROR_INPUT, "exact");
    refused(facet_problem_set_gradient_pressure(b.problem, "xmin", 2, (const char *[]){"0", "0"}),
            FACET_ERROR_INPUT, "two conditions");
    ok(problem_resolve(&b.problem->data, NULL, &r));
    double values[2];
    assert_int_equal(r.conditions[0].kind, HDG_MECHANICAL);
    assert_true(r.conditions[0].fixed[0] && !r.conditions[0].fixed[1]);
    ok(field_eval(r.conditions[0].g, 1, 2, (const double[]){0, 0}, values));
    near(values[0], 3, 0);
    ok(field_eval(r.conditions[0].t, 1, 2, (const double[]){0, 0}, values));
    near(values[1], 5, 0);
    assert_non_null(r.conditions[1].t); /* not asked of an exact solution that is not there */
    problem_resolved_destroy(&r);
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

static void exact_holds_what_is_not_named(void **state) {
    (void)state;
    struct bench b;
    struct problem_resolved r;
    bench_create(make_box(2, "triangle", 2, 0), &b);
    refused(facet_problem_set_vector_exact(b.problem, 3, (const char *[]){"x", "y", "x"}), FACET_ERROR_INPUT,
            "3 components");
    refused(facet_problem_set_vector_exact(b.problem, 2, (const char *[]){"x", NULL}), FACET_ERROR_INPUT,
            "NULL");
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "boundary faces have no condition");
    ok(facet_problem_set_vector_exact(b.problem, 2, (const char *[]){"x", "y"}));
    ok(facet_problem_set_traction(b.problem, "ymin", 2, (const char *[]){"exact", "exact"}));
    ok(problem_resolve(&b.problem->data, NULL, &r));
    assert_null(r.conditions[0].t);
    assert_int_equal(r.conditions[1].kind, HDG_MECHANICAL); /* all others */
    assert_true(r.conditions[1].fixed[0] && r.conditions[1].fixed[1] && r.conditions[1].g == NULL);
    problem_resolved_destroy(&r);
    ok(facet_problem_set_vector_source(b.problem, 2, (const char *[]){"0", "0"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "excluded by the exact solution");
    bench_destroy(&b);
}

static void each_equation_has_its_calls(void **state) {
    (void)state;
    struct bench b;
    facet_problem *diffusion;
    facet_solver *solver;
    facet_options options;
    const char *const zero[2] = {"0", "0"};
    bench_create(make_box(2, "triangle", 2, 0), &b);
    ok(facet_problem_create(b.context, b.mesh, FACET_DIFFUSION, &diffusion));
    refused(facet_problem_set_material(diffusion, NULL, "mu,lambda", zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_vector_source(diffusion, 2, zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_vector_exact(diffusion, 2, zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_displacement(diffusion, "xmin", 2, zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_traction(diffusion, "xmin", 2, zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_gradient_pressure(diffusion, "xmin", 2, zero), FACET_ERROR_INPUT, "elasticity");
    refused(facet_problem_set_conductivity(b.problem, NULL, 1, zero), FACET_ERROR_INPUT, "diffusion");
    refused(facet_problem_set_reaction(b.problem, "1"), FACET_ERROR_INPUT, "diffusion");
    refused(facet_problem_set_source(b.problem, "1"), FACET_ERROR_INPUT, "diffusion");
    refused(facet_problem_set_exact(b.problem, "1"), FACET_ERROR_INPUT, "diffusion");
    refused(facet_problem_set_dirichlet(b.problem, "xmin", "1"), FACET_ERROR_INPUT, "diffusion");
    refused(facet_problem_set_robin(b.problem, "xmin", "1", "1"), FACET_ERROR_INPUT, "diffusion");
    facet_options_default(&options, sizeof options);
    options.formulation = "gradient";
    refused(facet_solver_create(diffusion, &options, &solver), FACET_ERROR_INPUT, "elasticity");
    options.formulation = "mixed";
    refused(facet_solver_create(b.problem, &options, &solver), FACET_ERROR_INPUT, "symmetric, gradient");
    options.formulation = NULL;
    options.discretization = "condensed";
    refused(facet_solver_create(b.problem, &options, &solver), FACET_ERROR_INPUT, "condensed");
    options.discretization = NULL;
    options.degree = 0;
    refused(facet_solver_create(b.problem, &options, &solver), FACET_ERROR_INPUT, "degree");
    facet_problem_destroy(&diffusion);
    bench_destroy(&b);
}

/* ------------------------------------------------------------------------------------------ rigid motions */

/* One entry per side: "xf": fixed in x, free in y. NULL: all tractions. */
static facet_status hold(struct bench *b, int dim, const char *const sides[6]) {
    static const char *const names[6] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
    static const char *const zero[3] = {"0", "0", "0"};
    for (int i = 0; i < 6; i++) {
        const char *fixed[3] = {NULL}, *free[3] = {NULL};
        if (sides[i] == NULL) continue;
        for (int d = 0; d < dim; d++) *(strchr(sides[i], "xyz"[d]) ? &fixed[d] : &free[d]) = "0";
        ok(facet_problem_set_displacement(b->problem, names[i], dim, fixed));
        if ((int)strlen(sides[i]) < dim) ok(facet_problem_set_traction(b->problem, names[i], dim, free));
    }
    ok(facet_problem_set_traction(b->problem, "rest", dim, zero));
    return resolve(b, NULL);
}

struct held {
    const char *sides[6];
    const char *message, *absent; /* NULL: it holds */
};

static void check_held(int dim, const char *shape, int n, const struct held *table) {
    for (int i = 0; i < n; i++) {
        struct bench b;
        bench_create(make_box(dim, shape, 2, 0), &b);
        facet_status status = hold(&b, dim, table[i].sides);
        if (table[i].message == NULL)
            ok(status);
        else
            refused(status, FACET_ERROR_INPUT, table[i].message);
        if (table[i].absent != NULL && strstr(facet_message(), table[i].absent) != NULL)
            fail_msg("'%s' says '%s'", facet_message(), table[i].absent);
        bench_destroy(&b);
    }
}

static void motions_left_free_in_2d(void **state) {
    (void)state;
    static const struct held table[] = {
        {{"xy"}, NULL, NULL},
        {{NULL}, NULL, NULL}, /* nothing holds it: a matter of its loads */
        {{"x"}, "can still translate along y;", "rotate"},
        {{NULL, NULL, "x"}, "can still translate along y, rotate about the z axis", "along x"},
        {{"x", NULL, "y"}, NULL, NULL},
        {{"y", "y"}, "can still translate along x;", "rotate"}, /* u_y on two sides, apart in x */
        {{"y", NULL, "x"},
         "can still rotate about the z axis",
         "translate"}, /* about the corner they meet in */
        {{"y", NULL, "x", "x"}, NULL, NULL},
    };
    check_held(2, "triangle", sizeof table / sizeof table[0], table);
    check_held(2, "quad", sizeof table / sizeof table[0], table);
}

static void motions_left_free_in_3d(void **state) {
    (void)state;
    static const struct held table[] = {
        {{"xyz"}, NULL, NULL},
        {{"x", NULL, "y", NULL, "z"}, NULL, NULL},
        {{NULL, NULL, NULL, NULL, "z"},
         "translate along x, translate along y, rotate about the z axis;",
         "about the x axis"},
        {{"x", NULL, NULL, NULL, "z"}, "can still translate along y;", "rotate"},
        {{"x"}, "translate along y, translate along z, rotate about the x axis;", "z axis"},
        {{NULL, NULL, NULL, NULL, "xz", "z"}, "can still translate along y;", "rotate"},
    };
    check_held(3, "tet", sizeof table / sizeof table[0], table);
    check_held(3, "hex", sizeof table / sizeof table[0], table);
}

/* A periodic body cannot turn, but it can slide. */
static void periodic_bodies_do_not_turn(void **state) {
    (void)state;
    struct bench b;
    bench_create(make_box(2, "quad", 3, 1), &b);
    refused(hold(&b, 2, (const char *[6]){NULL, NULL, "y"}), FACET_ERROR_INPUT, "translate along x;");
    bench_destroy(&b);
    bench_create(make_box(2, "quad", 3, 1), &b);
    ok(hold(&b, 2, (const char *[6]){NULL, NULL, "xy"}));
    bench_destroy(&b);
}

/* Every piece of the mesh must be held by itself. */
static void every_piece_is_held(void **state) {
    (void)state;
    static const uint8_t shapes[2] = {SHAPE_TRIANGLE, SHAPE_TRIANGLE};
    static const int64_t offsets[3] = {0, 3, 6};
    static const int32_t vertices[6] = {0, 1, 2, 3, 4, 5},
                         here[12] = {0, 1, -1, -1, 1, 2, -1, -1, 2, 0, -1, -1};
    static const double nodes[12] = {0, 0, 1, 0, 0, 1, 5, 0, 6, 0, 5, 1};
    const struct mesh_input_group groups[1] = {{.name = "here", .dim = 1, .count = 3, .vertices = here}};
    const struct mesh_input input = {.dim = 2,
                                     .order = 1,
                                     .n_vertices = 6,
                                     .n_cells = 2,
                                     .shapes = shapes,
                                     .vertex_offsets = offsets,
                                     .vertices = vertices,
                                     .node_offsets = offsets,
                                     .nodes = nodes,
                                     .n_groups = 1,
                                     .groups = groups};
    struct facet_mesh *mesh;
    struct bench b;
    facet_options options;
    facet_solver *solver;
    ok(mesh_create(&input, &mesh));
    bench_create(mesh, &b);
    ok(facet_problem_set_displacement(b.problem, "here", 2, (const char *[]){"0", "0"}));
    ok(facet_problem_set_traction(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    facet_options_default(&options, sizeof options);
    options.degree = 1;
    ok(resolve(&b, &options)); /* loads on the other piece may balance; there are none */
    ok(facet_solver_create(b.problem, &options, &solver));
    refused(facet_solver_solve(solver, NULL, NULL), FACET_ERROR_INPUT, "unconnected pieces");
    assert_non_null(strstr(facet_message(), "(5.33333, 0.333333) can still translate along x"));
    facet_solver_destroy(&solver);
    options.formulation = "gradient";
    refused(resolve(&b, &options), FACET_ERROR_INPUT, "2 unconnected pieces");
    bench_destroy(&b);
}

/* A gradient-pressure condition prevents rotations, not translations. */
static void gradient_pressure_holds_rotations(void **state) {
    (void)state;
    struct bench b;
    facet_options options;
    facet_options_default(&options, sizeof options);
    bench_create(make_box(2, "quad", 2, 0), &b);
    ok(facet_problem_set_displacement(b.problem, "ymin", 2, (const char *[]){"0", NULL}));
    ok(facet_problem_set_traction(b.problem, "ymin", 2, (const char *[]){NULL, "0"}));
    ok(facet_problem_set_gradient_pressure(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    refused(resolve(&b, NULL), FACET_ERROR_INPUT, "can still translate along y;");
    assert_null(strstr(facet_message(), "rotate"));
    facet_problem_destroy(&b.problem);
    ok(facet_problem_create(b.context, b.mesh, FACET_ELASTICITY, &b.problem));
    ok(facet_problem_set_material(b.problem, NULL, "mu,lambda", (const char *[]){"1", "1"}));
    ok(facet_problem_set_displacement(b.problem, "ymin", 2, (const char *[]){"0", "0"}));
    ok(facet_problem_set_gradient_pressure(b.problem, "rest", 2, (const char *[]){"0", "0"}));
    refused(resolve(&b, &options), FACET_ERROR_INPUT, "belongs to the formulation gradient");
    options.formulation = "gradient";
    ok(resolve(&b, &options));
    bench_destroy(&b);
}

static void plane_belongs_to_2d(void **state) {
    (void)state;
    struct bench b;
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.plane = "stress";
    bench_create(make_box(3, "tet", 1, 0), &b);
    ok(facet_problem_set_displacement(b.problem, "rest", 3, (const char *[]){"0", "0", "0"}));
    refused(resolve(&b, &options), FACET_ERROR_INPUT, "plane: belongs to 2D");
    bench_destroy(&b);
}

/* Constants and axes by the C interface: what is refused, and that a parameter reaches a solver that is
 * there. A bar in plane stress, held so that only sigma_xx is not zero: u = sigma x / E1. */
static void orthotropic_materials(void **state) {
    (void)state;
    int64_t before = live_blocks();
    struct bench b;
    facet_options options;
    facet_solver *solver;
    const double x[2] = {1.0, 0.5};
    double u[2];
    const char *four[4] = {"E1", "10", "0", "3"}, *axes[2] = {"1", "0"};
    facet_options_default(&options, sizeof options);
    options.plane = "stress";
    bench_create(make_box(2, "quad", 2, 0), &b);
    ok(facet_problem_set_parameter(b.problem, "E1", 5.0));
    refused(facet_problem_set_orthotropic(b.problem, NULL, 3, four, 0, NULL), FACET_ERROR_INPUT, "not 3");
    refused(facet_problem_set_orthotropic(b.problem, NULL, 4, four, 1, axes), FACET_ERROR_INPUT, "axes");
    refused(
        facet_problem_set_orthotropic(b.problem, "west", 4, (const char *[]){"1", "0", "0", "3"}, 0, NULL),
        FACET_ERROR_INPUT, "'west'");
    ok(facet_problem_set_orthotropic(b.problem, NULL, 4, four, 2, axes));
    ok(facet_problem_set_displacement(b.problem, "xmin", 2, (const char *[]){"0", NULL}));
    ok(facet_problem_set_displacement(b.problem, "ymin", 2, (const char *[]){NULL, "0"}));
    ok(facet_problem_set_traction(b.problem, "xmax", 2, (const char *[]){"2", "0"}));
    ok(facet_problem_set_traction(b.problem, "ymax", 2, (const char *[]){"0", "0"}));
    ok(facet_solver_create(b.problem, &options, &solver));
    for (int step = 0; step < 2; step++) {
        if (step == 1) ok(facet_solver_set_parameter(solver, "E1", 4.0));
        ok(facet_solver_solve(solver, NULL, NULL));
        ok(facet_solver_evaluate(solver, "u", 1, x, u));
        near(u[0], step == 0 ? 0.4 : 0.5, 1e-12);
        near(u[1], 0.0, 1e-12);
    }
    facet_solver_destroy(&solver);
    bench_destroy(&b);
    assert_int_equal(live_blocks(), before);
}

/* ------------------------------------------------------------------------------------------ solutions */

/* u = (x^2 + y/2, x y): with mu = 1, lambda = 2 the stress is 2 eps + 2 (div u) I, and f = -div sigma. */
static int parabola(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) {
        values[points->dim * i] =
            points->x[points->dim * i] * points->x[points->dim * i] + points->x[points->dim * i + 1] / 2;
        values[points->dim * i + 1] = points->x[points->dim * i] * points->x[points->dim * i + 1];
    }
    return 0;
}

/* sigma_xx = 10 x, sigma_yy = 8 x, sigma_xy = y + 1/2: f = -(10 + 1, 0). */
static int pull(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) { /* on xmax */
        values[points->dim * i] = 10 * points->x[points->dim * i];
        values[points->dim * i + 1] = points->x[points->dim * i + 1] + 0.5;
    }
    return 0;
}

static int load(void *user, const facet_points *points, double *values) {
    (void)user;
    for (int i = 0; i < points->n; i++) {
        values[points->dim * i] = -11;
        values[points->dim * i + 1] = 0;
    }
    return 0;
}

static void check_parabola(const facet_solver *solver) {
    const double x[4] = {0.3, 0.6, 0.75, 0.2};
    double u[4], stress[8], strain[8], mises[2];
    ok(facet_solver_evaluate(solver, "u", 2, x, u));
    ok(facet_solver_evaluate(solver, "stress", 2, x, stress));
    ok(facet_solver_evaluate(solver, "strain", 2, x, strain));
    ok(facet_solver_evaluate(solver, "von_mises", 2, x, mises));
    for (int i = 0; i < 2; i++) {
        double a = x[2 * i], b = x[2 * i + 1], xx = 10 * a, yy = 8 * a, zz = 6 * a, xy = b + 0.5;
        near(u[2 * i], a * a + b / 2, 1e-9);
        near(u[2 * i + 1], a * b, 1e-9);
        near(stress[4 * i], xx, 1e-8);
        near(stress[4 * i + 1], xy, 1e-8);
        near(stress[4 * i + 2], xy, 1e-8);
        near(stress[4 * i + 3], yy, 1e-8);
        near(strain[4 * i + 1], (b + 0.5) / 2, 1e-8);
        near(
            mises[i], /* plane strain: sigma_zz = lambda div u */
            sqrt(0.5 * ((xx - yy) * (xx - yy) + (yy - zz) * (yy - zz) + (zz - xx) * (zz - xx)) + 3 * xy * xy),
            1e-7);
    }
}

/* The same by functions, by expressions and by a source of the caller; what comes back at the points. */
static void functions_do_what_expressions_do(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int gradient = 0; gradient < 2; gradient++) {
        struct bench b;
        facet_solver *solver;
        facet_options options;
        double *u = NULL, *f = NULL, *x = NULL;
        facet_options_default(&options, sizeof options);
        options.degree = 2;
        options.rtol = 1e-12;
        options.formulation = gradient ? "gradient" : NULL;
        bench_create(make_box(2, gradient ? "quad" : "triangle", 2, 0), &b);
        ok(facet_problem_set_traction_function(b.problem, "xmax", NULL, pull, NULL));
        ok(facet_problem_set_displacement_function(b.problem, "rest", NULL, parabola, NULL));
        ok(facet_problem_set_source_function(b.problem, load, NULL));
        ok(facet_solver_create(b.problem, &options, &solver));
        ok(facet_solver_solve(solver, NULL, NULL));
        check_parabola(solver);
        int64_t n = facet_solver_n_points(solver);
        ok(ALLOC(u, 2 * n));
        ok(ALLOC(f, 2 * n));
        ok(ALLOC(x, 2 * n));
        ok(facet_solver_points(solver, x));
        for (int64_t i = 0; i < n; i++) f[2 * i] = -11, f[2 * i + 1] = 0;
        ok(facet_solver_solve(solver, f, u));
        check_parabola(solver);
        for (int64_t i = 0; i < n; i++) {
            near(u[2 * i], x[2 * i] * x[2 * i] + x[2 * i + 1] / 2, 1e-9);
            near(u[2 * i + 1], x[2 * i] * x[2 * i + 1], 1e-9);
        }
        base_free(&u);
        base_free(&f);
        base_free(&x);
        facet_solver_destroy(&solver);
        bench_destroy(&b);
    }
    assert_int_equal(live_blocks(), before);
}

static void errors_and_fields_by_formulation(void **state) {
    (void)state;
    for (int gradient = 0; gradient < 2; gradient++) {
        static const char *const others[] = {"H", "p", "vorticity", "u_star"};
        struct bench b;
        facet_solver *solver;
        facet_options options;
        facet_errors e = {.size = sizeof e};
        double values[18], x[3] = {0.4, 0.3, 0.2};
        facet_options_default(&options, sizeof options);
        options.degree = 1;
        options.formulation = gradient ? "gradient" : "symmetric";
        bench_create(make_box(3, "tet", 1, 0), &b);
        ok(facet_problem_set_vector_exact(b.problem, 3, (const char *[]){"x + 2*y", "z - x", "3*y"}));
        ok(facet_solver_create(b.problem, &options, &solver));
        refused(facet_solver_evaluate(solver, "u", 1, x, values), FACET_ERROR_INPUT, "no solution yet");
        ok(facet_solver_solve(solver, NULL, NULL));
        ok(facet_solver_errors(solver, &e));
        near(e.u_L2, 0, 1e-9);
        near(e.stress_L2, 0, 1e-8);
        assert_true(e.q_L2 < 0 && e.q_star_L2 < 0);
        assert_int_equal(e.H_L2 >= 0, gradient);
        assert_int_equal(e.p_L2 >= 0, gradient);
        assert_int_equal(e.u_star_L2 >= 0, gradient);
        for (int i = 0; i < 4; i++) {
            facet_status status = facet_solver_evaluate(solver, others[i], 1, x, values);
            if (gradient)
                ok(status);
            else
                refused(status, FACET_ERROR_INPUT, "formulation gradient");
        }
        refused(facet_solver_evaluate(solver, "q", 1, x, values), FACET_ERROR_INPUT, "diffusion");
        refused(facet_solver_evaluate(solver, "sigma", 1, x, values), FACET_ERROR_INPUT, "von_mises");
        if (gradient) { /* curl u = (3 - 1, 0, -1 - 2) */
            ok(facet_solver_evaluate(solver, "vorticity", 1, x, values));
            near(values[0], 2, 1e-8);
            near(values[1], 0, 1e-8);
            near(values[2], -3, 1e-8);
        }
        facet_solver_destroy(&solver);
        bench_destroy(&b);
    }
}

/* ------------------------------------------------------------------------------------------ memory */

static facet_status whole_problem(facet_context *context, const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    facet_problem *p = NULL;
    struct problem_resolved r = {0};
    double scale = 1.0;
    TRY(facet_problem_create(context, mesh, FACET_ELASTICITY, &p));
    TRY(facet_problem_set_material(p, "west", "E,nu", (const char *[]){"1 + x", "0.3"}));
    TRY(facet_problem_set_material(p, "east", "E,nu", (const char *[]){"1", "0.3"}));
    TRY(facet_problem_set_material_function(p, "east", "E,nu", young_function, &scale));
    TRY(facet_problem_set_vector_source(p, 2, (const char *[]){"x", "y"}));
    TRY(facet_problem_set_displacement(p, "xmin", 2, (const char *[]){"0", NULL}));
    TRY(facet_problem_set_traction(p, "xmin", 2, (const char *[]){NULL, "x"}));
    TRY(facet_problem_set_displacement_function(p, "xmax", NULL, young_function, &scale));
    TRY(facet_problem_set_gradient_pressure(p, "ymin", 2, (const char *[]){"y", "x"}));
    TRY(facet_problem_set_traction_function(p, "rest", NULL, young_function, &scale));
    TRY(problem_resolve(&p->data, NULL, &r));
done:
    problem_resolved_destroy(&r);
    facet_problem_destroy(&p);
    return status;
}

static void allocation_faults(void **state) {
    (void)state;
    struct facet_mesh *mesh = lattice(MIXED, 2, 2, 0);
    facet_context *context;
    ok(facet_context_create(NULL, &context));
    ok(whole_problem(context, mesh));
    int64_t before = live_blocks();
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = whole_problem(context, mesh);
        base_memory_fail_at(0);
        assert_int_equal(live_blocks(), before);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    facet_context_destroy(&context);
    mesh_destroy(&mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moduli_in_both_forms),
        cmocka_unit_test(moduli_out_of_range),
        cmocka_unit_test(materials_and_groups),
        cmocka_unit_test(conditions_by_components),
        cmocka_unit_test(exact_holds_what_is_not_named),
        cmocka_unit_test(each_equation_has_its_calls),
        cmocka_unit_test(motions_left_free_in_2d),
        cmocka_unit_test(motions_left_free_in_3d),
        cmocka_unit_test(periodic_bodies_do_not_turn),
        cmocka_unit_test(every_piece_is_held),
        cmocka_unit_test(gradient_pressure_holds_rotations),
        cmocka_unit_test(plane_belongs_to_2d),
        cmocka_unit_test(orthotropic_materials),
        cmocka_unit_test(functions_do_what_expressions_do),
        cmocka_unit_test(errors_and_fields_by_formulation),
        cmocka_unit_test(allocation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
