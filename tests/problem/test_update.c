/* Data apart from matrices: a solver whose data have changed gives what a solver made with them gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

static void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", facet_message());
}

static void refused(facet_status status, const char *part) {
    assert_int_equal(status, FACET_ERROR_INPUT);
    if (strstr(facet_message(), part) == NULL) fail_msg("'%s' is not in: %s", part, facet_message());
}

/* What a case is, with its two sets of values: of the parameters k and a, and of the time. */
struct values {
    double k, a, t;
};
struct subject {
    const char *name;
    int dim, elastic;
    const char *shape, *discretization, *method, *preconditioner;
    const char *conductivity; /* or the Young modulus */
    const char *reaction, *source;
    const char *dirichlet, *neumann, *robin; /* on xmin, on xmax, on ymin (NULL: none) */
    struct values before, after;
    int changed;
};

static const struct subject subjects[] = {
    /* the load alone */
    {"boundary values on triangles",
     2,
     0,
     "triangle",
     NULL,
     "cg",
     NULL,
     "1 + x",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    {"boundary values of a box",
     3,
     0,
     "hex",
     NULL,
     "cg",
     NULL,
     "2",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    {"zero becomes something",
     2,
     0,
     "quad",
     NULL,
     "direct",
     NULL,
     "2",
     NULL,
     "1",
     "a",
     "t",
     NULL,
     {1, 0, 0},
     {1, 3, 5},
     FACET_LOAD},
    {"boundary values of continuous elements",
     2,
     0,
     "quad",
     "continuous",
     NULL,
     NULL,
     "2",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    {"boundary values of the condensed method",
     2,
     0,
     "triangle",
     "condensed",
     NULL,
     NULL,
     "2",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    {"displacements and tractions",
     2,
     1,
     "triangle",
     NULL,
     "direct",
     NULL,
     "1",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    {"the same in 3D, by iteration",
     3,
     1,
     "tet",
     NULL,
     "cg",
     "pmg",
     "1",
     NULL,
     "k*x",
     "a*y + t",
     "k*nx*y",
     NULL,
     {1, 1, 0},
     {2, 3, 5},
     FACET_LOAD},
    /* the trace */
    {"Robin on triangles",
     2,
     0,
     "triangle",
     NULL,
     "cg",
     NULL,
     "1 + x",
     NULL,
     "1",
     "y",
     "1",
     "a + t",
     {1, 1, 0},
     {1, 3, 5},
     FACET_LOAD | FACET_TRACE},
    {"Robin of the condensed method",
     2,
     0,
     "triangle",
     "condensed",
     NULL,
     NULL,
     "2",
     NULL,
     "1",
     "y",
     "1",
     "a + x",
     {1, 1, 0},
     {1, 3, 0},
     FACET_LOAD | FACET_TRACE},
    {"Robin, factored",
     3,
     0,
     "tet",
     NULL,
     "direct",
     NULL,
     "1",
     NULL,
     "1",
     "y",
     "1",
     "a",
     {1, 1, 0},
     {1, 3, 0},
     FACET_LOAD | FACET_TRACE},
    /* the cells */
    {"conductivity on triangles",
     2,
     0,
     "triangle",
     NULL,
     "cg",
     NULL,
     "k + x*t",
     NULL,
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {3, 1, 2},
     FACET_CELLS},
    {"conductivity of a box",
     2,
     0,
     "quad",
     NULL,
     "cg",
     NULL,
     "k",
     NULL,
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {3, 1, 0},
     FACET_CELLS},
    {"conductivity of continuous elements",
     2,
     0,
     "quad",
     "continuous",
     NULL,
     NULL,
     "k",
     NULL,
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {3, 1, 0},
     FACET_CELLS},
    {"reaction of a box",
     3,
     0,
     "hex",
     NULL,
     "cg",
     NULL,
     "1",
     "a",
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {1, 7, 0},
     FACET_CELLS},
    {"reaction and load of a box",
     3,
     0,
     "hex",
     NULL,
     "direct",
     NULL,
     "1",
     "a",
     "a",
     "a*y",
     "1",
     NULL,
     {1, 1, 0},
     {1, 7, 0},
     FACET_CELLS | FACET_LOAD},
    {"reaction on triangles",
     2,
     0,
     "triangle",
     NULL,
     "direct",
     NULL,
     "1",
     "a*x",
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {1, 7, 0},
     FACET_CELLS},
    {"a reaction that begins at zero",
     2,
     0,
     "triangle",
     NULL,
     "cg",
     NULL,
     "1",
     "a*x",
     "1",
     "y",
     "1",
     NULL,
     {1, 0, 0},
     {1, 7, 0},
     FACET_CELLS},
    {"a modulus",
     2,
     1,
     "triangle",
     NULL,
     "direct",
     NULL,
     "k",
     NULL,
     "x",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {3, 1, 0},
     FACET_CELLS},
    /* nothing */
    {"what nobody reads",
     2,
     0,
     "triangle",
     NULL,
     "cg",
     NULL,
     "1",
     NULL,
     "1",
     "y",
     "1",
     NULL,
     {1, 1, 0},
     {3, 5, 7},
     0},
};

static facet_context *context;

static facet_mesh *make_mesh(const struct subject *s) {
    facet_mesh *mesh;
    const facet_box box = {
        .size = sizeof box, .dim = s->dim, .upper = {1, 1, 1}, .cells = {3, 3, 3}, .shape = s->shape};
    ok(facet_mesh_create_box(context, &box, &mesh));
    return mesh;
}

static facet_problem *make_problem(const struct subject *s, const facet_mesh *mesh, struct values v) {
    facet_problem *p;
    const char *sides[3] = {s->dirichlet, "0", "0"}, *pulls[3] = {s->neumann, "0", "0"},
               *zero[3] = {"0", "0", "0"};
    const char *material[2] = {s->conductivity, "0.3"}, *force[3] = {s->source, "1", "0"};
    const char *roller_u[3] = {NULL, s->dirichlet, NULL}, *roller_t[3] = {"x", NULL, "0"};
    ok(facet_problem_create(context, mesh, s->elastic ? FACET_ELASTICITY : FACET_DIFFUSION, &p));
    ok(facet_problem_set_parameter(p, "k", v.k));
    ok(facet_problem_set_parameter(p, "a", v.a));
    if (s->elastic) {
        ok(facet_problem_set_material(p, NULL, "E,nu", material));
        ok(facet_problem_set_vector_source(p, s->dim, force));
        ok(facet_problem_set_displacement(p, "xmin", s->dim, sides));
        ok(facet_problem_set_traction(p, "xmax", s->dim, pulls));
        ok(facet_problem_set_displacement(p, "ymin", s->dim, roller_u));
        ok(facet_problem_set_traction(p, "ymin", s->dim, roller_t));
        ok(facet_problem_set_traction(p, "rest", s->dim, zero));
        return p;
    }
    ok(facet_problem_set_conductivity(p, NULL, 1, &s->conductivity));
    if (s->reaction != NULL) ok(facet_problem_set_reaction(p, s->reaction));
    ok(facet_problem_set_source(p, s->source));
    ok(facet_problem_set_dirichlet(p, "xmin", s->dirichlet));
    ok(facet_problem_set_neumann(p, "xmax", s->neumann));
    if (s->robin != NULL) ok(facet_problem_set_robin(p, "ymin", s->robin, "x"));
    ok(facet_problem_set_neumann(p, "rest", "0"));
    return p;
}

static facet_solver *make_solver(const struct subject *s, const facet_problem *p, int warm) {
    facet_solver *solver;
    facet_options o;
    facet_options_default(&o, sizeof o);
    o.degree = 2;
    o.rtol = 1e-12;
    o.discretization = s->discretization;
    o.method = s->method;
    o.preconditioner = s->preconditioner;
    o.warm_start = warm;
    ok(facet_solver_create(p, &o, &solver));
    return solver;
}

static int64_t n_numbers(const struct subject *s, const facet_solver *solver) {
    return facet_solver_n_points(solver) * (s->elastic ? s->dim : 1);
}

static double difference(int64_t n, const double *u, const double *v) {
    double most = 0.0, scale = 0.0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(u[i] - v[i]));
        scale = fmax(scale, fabs(v[i]));
    }
    return most / scale;
}

/* The solution of a solver that is made with these values. */
static double *solve_fresh(const struct subject *s, const facet_mesh *mesh, struct values v) {
    facet_problem *p = make_problem(s, mesh, v);
    facet_solver *solver = make_solver(s, p, 0);
    double *u = malloc((size_t)n_numbers(s, solver) * sizeof *u);
    ok(facet_solver_set_time(solver, v.t));
    ok(facet_solver_solve(solver, NULL, u));
    facet_solver_destroy(&solver);
    facet_problem_destroy(&p);
    return u;
}

static void set_values(facet_solver *solver, struct values v) {
    ok(facet_solver_set_parameter(solver, "k", v.k));
    ok(facet_solver_set_parameter(solver, "a", v.a));
    ok(facet_solver_set_time(solver, v.t));
}

/* There and back again, by an explicit update and by the solve alone. */
static void compare(const struct subject *s, int warm) {
    facet_mesh *mesh = make_mesh(s);
    facet_problem *p = make_problem(s, mesh, s->before);
    facet_solver *solver = make_solver(s, p, warm);
    facet_problem_destroy(&p); /* the solver has its own */
    int64_t n = n_numbers(s, solver);
    double *u = malloc((size_t)n * sizeof *u), *before = solve_fresh(s, mesh, s->before),
           *after = solve_fresh(s, mesh, s->after);
    int changed = -1;
    ok(facet_solver_solve(solver, NULL, u));
    if (!(difference(n, u, before) < 1e-9)) fail_msg("%s: %g at first", s->name, difference(n, u, before));
    if (s->changed != 0 && !(difference(n, after, before) > 1e-3)) fail_msg("%s: nothing changes", s->name);
    set_values(solver, s->after);
    ok(facet_solver_update(solver, &changed));
    if (changed != s->changed) fail_msg("%s: %d has changed, not %d", s->name, changed, s->changed);
    ok(facet_solver_solve(solver, NULL, u));
    if (!(difference(n, u, after) < 1e-9)) fail_msg("%s: %g after", s->name, difference(n, u, after));
    set_values(solver, s->before);
    ok(facet_solver_solve(solver, NULL, u));
    if (!(difference(n, u, before) < 1e-9)) fail_msg("%s: %g again", s->name, difference(n, u, before));
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, 0);
    free(u);
    free(before);
    free(after);
    facet_solver_destroy(&solver);
    facet_mesh_destroy(&mesh);
}

static void test_expressions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) compare(&subjects[i], 0);
}

/* Moduli that vary, whose programs are on a device. */
static void test_device(void **state) {
    static const struct subject varying = {"a modulus that varies",
                                           2,
                                           1,
                                           "triangle",
                                           NULL,
                                           "direct",
                                           NULL,
                                           "k + a*x",
                                           NULL,
                                           "x",
                                           "y",
                                           "1",
                                           NULL,
                                           {1, 1, 0},
                                           {3, 2, 0},
                                           FACET_CELLS};
    facet_context *host = context;
    (void)state;
    compare(&varying, 0);
    ok(facet_context_create("debug", &context));
    compare(&varying, 0);
    facet_context_destroy(&context);
    context = host;
}

static void test_warm_start(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (subjects[i].changed & FACET_CELLS) compare(&subjects[i], 1);
}

/* -------------------------------------------------------------------------------------- functions */

/* What functions are told, and what they give. */
struct told {
    double factor;
    int wrong;
    const char *group;
    int boundary, flat; /* flat: the same at all points */
};

static int give(void *user, const facet_points *points, double *values) {
    struct told *told = user;
    if (told->boundary != (points->normals != NULL)) told->wrong = 1;
    if (told->group == NULL ? points->group != NULL
                            : points->group == NULL || strcmp(points->group, told->group))
        told->wrong = 2;
    for (int i = 0; i < points->n; i++) {
        values[i] = (told->factor + points->t) * (told->flat ? 1.0 : 1.0 + points->x[i * points->dim]);
        for (int d = 0; told->boundary && d < points->dim; d++) /* on xmax */
            if (fabs(points->normals[i * points->dim + d] - (d == 0)) > 1e-14) told->wrong = 3;
    }
    return 0;
}

static void functions_on(const char *shape, const char *discretization, int flat) {
    const facet_box box = {.size = sizeof box, .dim = 2, .upper = {1, 1}, .cells = {4, 4}, .shape = shape};
    struct told k = {1.0, 0, NULL, 0, flat}, g = {1.0, 0, "xmax", 1, 0}, f = {1.0, 0, NULL, 0, 0};
    struct subject plain = {.dim = 2, .discretization = discretization, .method = "direct"};
    facet_mesh *mesh;
    facet_problem *p;
    int changed;
    ok(facet_mesh_create_box(context, &box, &mesh));
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &p));
    ok(facet_problem_set_conductivity_function(p, NULL, 1, give, &k));
    ok(facet_problem_set_source_function(p, give, &f));
    ok(facet_problem_set_neumann_function(p, "xmax", give, &g));
    ok(facet_problem_set_dirichlet(p, "rest", "0"));
    facet_solver *solver = make_solver(&plain, p, 0);
    int64_t n = facet_solver_n_points(solver);
    double *u = malloc((size_t)n * sizeof *u), *v = malloc((size_t)n * sizeof *v);
    ok(facet_solver_solve(solver, NULL, u));
    /* twice the load is seen by the next solve */
    f.factor = g.factor = 2.0;
    ok(facet_solver_solve(solver, NULL, v));
    for (int64_t i = 0; i < n; i++) v[i] /= 2.0;
    assert_true(difference(n, v, u) < 1e-12);
    /* twice the conductivity by an update */
    k.factor = 2.0;
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, FACET_LOAD | FACET_CELLS);
    ok(facet_solver_solve(solver, NULL, v));
    assert_true(difference(n, v, u) < 1e-12);
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, FACET_LOAD);
    /* and all of them by the time */
    ok(facet_solver_set_time(solver, 3.0));
    ok(facet_solver_solve(solver, NULL, v));
    assert_true(difference(n, v, u) < 1e-12);
    assert_int_equal(k.wrong, 0);
    assert_int_equal(f.wrong, 0);
    assert_int_equal(g.wrong, 0);
    free(u);
    free(v);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&p);
    facet_mesh_destroy(&mesh);
}

static void test_functions(void **state) {
    (void)state;
    functions_on("triangle", NULL, 0);
    functions_on("quad", NULL, 0);
    functions_on("quad", NULL, 1); /* a box of tensor operators */
    functions_on("quad", "continuous", 1);
}

/* -------------------------------------------------------------------------------------- refusals */

static void test_refusals(void **state) {
    (void)state;
    const struct subject *s = NULL;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (strcmp(subjects[i].name, "conductivity of a box") == 0) s = &subjects[i];
    facet_mesh *mesh = make_mesh(s);
    facet_problem *p = make_problem(s, mesh, s->before);
    facet_solver *solver = make_solver(s, p, 0), *other = make_solver(s, p, 0);
    int64_t n = facet_solver_n_points(solver);
    double *u = malloc((size_t)n * sizeof *u), *v = malloc((size_t)n * sizeof *v),
           *x = malloc((size_t)n * 16);
    facet_errors errors = {.size = sizeof errors};
    ok(facet_solver_solve(solver, NULL, u));
    refused(facet_solver_set_parameter(solver, "kk", 1.0), "no parameter 'kk'");
    refused(facet_solver_set_parameter(solver, "t", 1.0), "facet_solver_set_time");
    refused(facet_solver_set_parameter(solver, "k", NAN), "finite");
    refused(facet_solver_set_time(solver, INFINITY), "finite");
    refused(facet_solver_set_parameter(NULL, "k", 1.0), "'solver'");
    refused(facet_solver_update(NULL, NULL), "'solver'");
    /* bad data: nothing works until there are good ones */
    ok(facet_solver_set_parameter(solver, "k", -1.0));
    refused(facet_solver_update(solver, NULL), "conductivity");
    refused(facet_solver_solve(solver, NULL, v), "conductivity");
    refused(facet_solver_points(solver, x), "refused");
    refused(facet_solver_solve_n(solver, n, NULL, v), "refused");
    refused(facet_solver_set_guess(solver, n, u), "refused");
    refused(facet_solver_errors(solver, &errors), "no solution");
    assert_int_equal(facet_solver_n_points(solver), 0);
    assert_int_equal(facet_solver_n_levels(solver), 0);
    ok(facet_solver_set_parameter(solver, "k", 1.0));
    ok(facet_solver_solve(solver, NULL, v));
    assert_true(difference(n, v, u) < 1e-12);
    /* each solver has its own values, and later changes of the problem are not theirs */
    ok(facet_problem_set_parameter(p, "k", 10.0));
    ok(facet_problem_set_source(p, "100"));
    ok(facet_solver_solve(other, NULL, v));
    assert_true(difference(n, v, u) < 1e-12);
    free(u);
    free(v);
    free(x);
    facet_solver_destroy(&solver);
    facet_solver_destroy(&other);
    facet_problem_destroy(&p);
    facet_mesh_destroy(&mesh);
}

static void test_names(void **state) {
    (void)state;
    const struct subject *s = &subjects[0];
    facet_mesh *mesh = make_mesh(s);
    facet_problem *p = make_problem(s, mesh, s->before);
    refused(facet_problem_set_source(p, "nx"), "normal");
    refused(facet_problem_set_neumann(p, "ymax", "nz"), "uses z");
    /* a parameter hides t and nx */
    ok(facet_problem_set_parameter(p, "t", 4.0));
    ok(facet_problem_set_parameter(p, "nx", 5.0));
    ok(facet_problem_set_source(p, "nx + t"));
    facet_solver *solver = make_solver(s, p, 0);
    int changed;
    ok(facet_solver_set_time(solver, 3.0));
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, 0);
    ok(facet_solver_set_parameter(solver, "t", 3.0));
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, FACET_LOAD);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&p);
    facet_mesh_destroy(&mesh);
}

/* An exact solution that moves: errors are those of the time of the solution. */
static void test_moving_solution(void **state) {
    (void)state;
    static const char *const shapes[] = {"triangle", "quad"};
    for (int i = 0; i < 2; i++) {
        const struct subject s = {.dim = 2, .shape = shapes[i]};
        facet_mesh *mesh = make_mesh(&s);
        facet_problem *p;
        facet_errors errors = {.size = sizeof errors};
        const char *K = "1 + t";
        ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &p));
        ok(facet_problem_set_conductivity(p, NULL, 1, &K));
        ok(facet_problem_set_exact(p, "(1 + t)*x*y + t*x^2"));
        ok(facet_problem_set_neumann(p, "xmax", "exact"));
        facet_solver *solver = make_solver(&s, p, 0);
        for (int step = 0; step < 3; step++) {
            ok(facet_solver_set_time(solver, step));
            ok(facet_solver_solve(solver, NULL, NULL));
            ok(facet_solver_set_time(solver, step + 1));
            ok(facet_solver_errors(solver, &errors));
            assert_true(errors.u_L2 < 1e-10);
        }
        facet_solver_destroy(&solver);
        facet_problem_destroy(&p);
        facet_mesh_destroy(&mesh);
    }
}

/* The heat through a contact whose conductance changes: as of a solver made with it. */
static double heat_of(facet_solver *solver) {
    static const char *const outer = "outer";
    double heat;
    int n;
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_take(solver, "flux", -1, "integral", 1, &outer, &heat, &n));
    return heat;
}

static facet_problem *make_contact(const facet_mesh *mesh, double k) {
    facet_problem *p;
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &p));
    ok(facet_problem_set_parameter(p, "k", k));
    refused(facet_problem_set_interface(p, "lower part", "upper part", "0"), "must be positive");
    refused(facet_problem_set_interface(p, "lower part", "upper part", "nx"), "normal");
    ok(facet_problem_set_interface(p, "lower part", "upper part", "k*(1 + y^2)"));
    ok(facet_problem_set_source(p, "x + 3*y"));
    ok(facet_problem_set_dirichlet(p, "inner", "x"));
    ok(facet_problem_set_dirichlet(p, "outer", "1 - x"));
    ok(facet_problem_set_neumann(p, "rest", "0"));
    return p;
}

static void test_contact(void **state) {
    (void)state;
    const struct subject s = {.dim = 2, .method = "direct"};
    facet_mesh *mesh;
    int changed;
    ok(facet_mesh_read(context, "tests/meshes/annulus_2_41.msh", &mesh));
    facet_problem *p = make_contact(mesh, 2.0), *q = make_contact(mesh, 7.0);
    facet_solver *solver = make_solver(&s, p, 0), *other = make_solver(&s, q, 0);
    double before = heat_of(solver), wanted = heat_of(other);
    ok(facet_solver_set_parameter(solver, "k", 7.0));
    ok(facet_solver_update(solver, &changed));
    assert_int_equal(changed, FACET_TRACE);
    double after = heat_of(solver);
    assert_true(fabs(after - wanted) < 1e-11 && fabs(after - before) > 1e-4);
    ok(facet_solver_set_parameter(solver, "k", -1.0));
    refused(facet_solver_solve(solver, NULL, NULL), "must be positive");
    ok(facet_solver_set_parameter(solver, "k", 7.0));
    assert_true(fabs(heat_of(solver) - wanted) < 1e-11);
    facet_solver_destroy(&solver);
    facet_solver_destroy(&other);
    facet_problem_destroy(&p);
    facet_problem_destroy(&q);
    facet_mesh_destroy(&mesh);
}

static int set_up(void **state) {
    (void)state;
    return facet_context_create("cpu", &context) != FACET_OK;
}

static int tear_down(void **state) {
    (void)state;
    facet_context_destroy(&context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions), cmocka_unit_test(test_warm_start),
        cmocka_unit_test(test_functions),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_moving_solution),
        cmocka_unit_test(test_contact),     cmocka_unit_test(test_device),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
