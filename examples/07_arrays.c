/* A mesh from arrays, own integrals, a field of one problem as data of the next, and the matrix, through the
 * C interface.
 *
 *     cc examples/07_arrays.c $(pkg-config --cflags --libs facet) -lm -o 07_arrays
 *     ./07_arrays                        (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *
 * A quarter of a ring between the radii 1 and 2 in N x N quads of order 2, whose points and cells the program
 * makes itself. First -div grad u = 4 with u = 4 inside and 1 outside: u = 5 - r^2. Then -div grad w = u with
 * w = 0 there: w = 19/16 + 45/16 log(r) / log(2) - 5/4 r^2 + r^4 / 16. The integral of u over the ring is
 * 15 pi / 8; it is taken with points and weights of the mesh.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <facet.h>

enum { N = 4, LINE = 2 * N + 1 }; /* cells and points in each direction */
static const double pi = 3.141592653589793;

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "07_arrays: %s\n", facet_message());
    exit((int)status);
}

/* The square [0, 1]^2 onto the quarter of the ring. */
static void bend(double s, double t, double x[2]) {
    x[0] = (1 + s) * cos(pi / 2 * t);
    x[1] = (1 + s) * sin(pi / 2 * t);
}

static facet_mesh *make_mesh(facet_context *context) {
    static double points[LINE * LINE][2];
    static int64_t cells[N * N][9], arcs[2][N][2];
    /* The nodes of a quad in Gmsh's order: corners, middles of edges, middle. */
    static const int steps[9][2] = {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 1}};
    facet_mesh *mesh;
    for (int j = 0; j < LINE; j++)
        for (int i = 0; i < LINE; i++) bend(i / (2.0 * N), j / (2.0 * N), points[j * LINE + i]);
    for (int c = 0; c < N * N; c++)
        for (int k = 0; k < 9; k++)
            cells[c][k] = (2 * (c / N) + steps[k][1]) * LINE + 2 * (c % N) + steps[k][0];
    for (int k = 0; k < N; k++)
        for (int end = 0; end < 2; end++) {
            arcs[0][k][end] = 2 * (k + end) * LINE;
            arcs[1][k][end] = 2 * (k + end) * LINE + LINE - 1;
        }
    const facet_cells block = {sizeof block, "quad", 2, N * N, &cells[0][0]};
    const facet_members groups[] = {
        {.size = sizeof *groups, .name = "inner", .dim = 1, .count = N, .nodes = &arcs[0][0][0]},
        {.size = sizeof *groups, .name = "outer", .dim = 1, .count = N, .nodes = &arcs[1][0][0]}};
    const facet_arrays arrays = {.size = sizeof arrays,
                                 .dim = 2,
                                 .n_points = LINE * LINE,
                                 .points = &points[0][0],
                                 .n_blocks = 1,
                                 .blocks = &block,
                                 .n_groups = 2,
                                 .groups = groups};
    check(facet_mesh_create_arrays(context, &arrays, NULL, &mesh));
    return mesh;
}

/* The integral of a field over the mesh, by its points and weights. */
static double integrate(const facet_mesh *mesh, const facet_field *field) {
    int64_t n = 0;
    double sum = 0;
    check(facet_mesh_quadrature(mesh, 8, 0, NULL, &n, NULL, NULL, NULL, NULL));
    double *x = malloc((size_t)n * 4 * sizeof *x), *weights = x + 2 * n, *values = x + 3 * n;
    check(facet_mesh_quadrature(mesh, 8, 0, NULL, &n, x, weights, NULL, NULL));
    check(facet_field_evaluate(field, n, x, values));
    for (int64_t i = 0; i < n; i++) sum += weights[i] * values[i];
    free(x);
    return sum;
}

/* -div grad u = f with u = inner and outer on the arcs, nothing through the other sides. */
static facet_solver *solve(facet_context *context, const facet_mesh *mesh, facet_field *f, const char *number,
                           const char *inner, const char *outer) {
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = 3;
    options.method = "direct";
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(f != NULL ? facet_problem_set_source_function(problem, facet_field_function, f)
                    : facet_problem_set_source(problem, number));
    check(facet_problem_set_dirichlet(problem, "inner", inner));
    check(facet_problem_set_dirichlet(problem, "outer", outer));
    check(facet_problem_set_neumann(problem, "rest", "0"));
    check(facet_solver_create(problem, &options, &solver));
    check(facet_solver_solve(solver, NULL, NULL));
    facet_problem_destroy(&problem);
    return solver;
}

int main(void) {
    facet_context *context;
    facet_field *u;
    const double middle[2] = {1.5, 0};
    const double right = 19.0 / 16 + 45.0 / 16 * log(1.5) / log(2) - 5.0 / 4 * 2.25 + 5.0625 / 16;
    double w;

    /* 1. The mesh, and the first problem on it. */
    check(facet_context_create("cpu", &context));
    facet_mesh *mesh = make_mesh(context);
    facet_solver *first = solve(context, mesh, NULL, "4", "4", "1");

    /* 2. Its solution as a field: integrated, and the source of the second problem. */
    check(facet_field_create(first, "u", &u));
    double integral = integrate(mesh, u);
    printf("integral of u: %.6f (15 pi / 8 = %.6f)\n", integral, 15 * pi / 8);
    facet_solver *second = solve(context, mesh, u, NULL, "0", "0");
    check(facet_solver_evaluate(second, "u", 1, middle, &w));
    printf("w in the middle: %.6f (exactly %.6f)\n", w, right);

    /* 3. The linear system: its matrix in compressed rows, and the residual of the solution. */
    int64_t n = facet_solver_n_unknowns(second), n_entries = 0;
    double *F = malloc((size_t)n * 3 * sizeof *F), *x = F + n, *y = F + 2 * n, residual = 0;
    check(facet_solver_matrix(second, n, &n_entries, NULL, NULL, NULL));
    check(facet_solver_system(second, n, F, x));
    check(facet_solver_apply(second, n, x, y));
    for (int64_t i = 0; i < n; i++) residual = fmax(residual, fabs(F[i] - y[i]));
    printf("%lld unknowns, %lld entries; |F - K x| <= %.1e\n", (long long)n, (long long)n_entries, residual);

    int good = fabs(integral - 15 * pi / 8) < 1e-3 && fabs(w - right) < 1e-3 && residual < 1e-10;
    free(F);
    facet_field_destroy(&u);
    facet_solver_destroy(&second);
    facet_solver_destroy(&first);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return good ? 0 : 1;
}
