/* A convergence study on a curved Gmsh mesh through the C interface.
 *
 *     cc examples/02_annulus.c $(pkg-config --cflags --libs facet) -lm -o 02_annulus
 *     ./02_annulus [MESH]                (default: examples/meshes/annulus.msh)
 *
 * The exact solution is the potential of a dipole and a point source in the origin, outside the annulus
 * 1 < r < 2. From an exact solution the library derives the source and the boundary data, and measures
 * errors. The table shows, for the degrees p = 1 .. 5, the errors on the finest of three meshes and the
 * orders observed between the last two: p + 1 for u and q, p + 2 for the post-processed u*.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <facet.h>

#define N_MESHES    3
#define LAST_DEGREE 5
#define EXACT       "log(sqrt(x^2 + y^2)) + x/(x^2 + y^2)"

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "02_annulus: %s\n", facet_message());
    exit((int)status);
}

static facet_errors solve(facet_context *context, const facet_mesh *mesh, int degree) {
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_errors errors = {.size = sizeof errors};

    /* 3. Boundary parts are the physical groups of the Gmsh file; "exact" takes the data from the solution.
     */
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(facet_problem_set_exact(problem, EXACT));
    check(facet_problem_set_neumann(problem, "inner", "exact"));
    check(facet_problem_set_dirichlet(problem, "outer", "exact"));

    /* 4. The tolerance must lie below the smallest error wanted. */
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.rtol = 1e-12;
    check(facet_solver_create(problem, &options, &solver));
    check(facet_solver_solve(solver, NULL, NULL));
    check(facet_solver_errors(solver, &errors));

    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    return errors;
}

static double order(double coarse, double fine) {
    return log2(coarse / fine);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "examples/meshes/annulus.msh";
    facet_context *context = NULL;
    facet_mesh *mesh[N_MESHES] = {NULL};
    facet_mesh_info info = {.size = sizeof info};
    int low = 0;

    check(facet_context_create("cpu", &context));

    /* 1. The same file, refined 0, 1, 2 times; the cubic geometry is kept. */
    for (int i = 0; i < N_MESHES; i++) {
        check(facet_mesh_read(context, path, &mesh[i]));
        check(facet_mesh_refine(mesh[i], i));
    }
    check(facet_mesh_get_info(mesh[N_MESHES - 1], &info));
    printf("%lld curved cells of shape %s, area %.8f (3 pi = %.8f)\n\n", (long long)info.n_cells, info.shape,
           info.volume, 3.0 * acos(-1.0));

    /* 2. One row for each degree. */
    printf(" p |     u L2  order |     q L2  order |    u* L2  order\n");
    printf("---+-----------------+-----------------+----------------\n");
    for (int p = 1; p <= LAST_DEGREE; p++) {
        facet_errors e[N_MESHES];
        for (int i = 0; i < N_MESHES; i++) e[i] = solve(context, mesh[i], p);
        const facet_errors *coarse = &e[N_MESHES - 2], *fine = &e[N_MESHES - 1];
        double u = order(coarse->u_L2, fine->u_L2), q = order(coarse->q_L2, fine->q_L2);
        double star = order(coarse->u_star_L2, fine->u_star_L2);
        printf("%2d | %.2e  %5.2f | %.2e  %5.2f | %.2e  %5.2f\n", p, fine->u_L2, u, fine->q_L2, q,
               fine->u_star_L2, star);
        if (u < p + 0.7 || q < p + 0.7 || star < p + 1.65) low++;
    }
    printf("\n%s\n", low == 0 ? "The orders are as expected." : "Some orders are lower than expected.");

    /* 5. Free everything. */
    for (int i = 0; i < N_MESHES; i++) facet_mesh_destroy(&mesh[i]);
    facet_context_destroy(&context);
    return low == 0 ? 0 : 1;
}
