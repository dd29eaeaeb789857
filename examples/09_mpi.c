/* The same program on any number of processes: each has a part of the mesh.
 *
 *     mpicc examples/09_mpi.c -I PREFIX/include -L PREFIX/lib -lfacet_dist -lm -o 09_mpi
 *     mpiexec -n 4 ./09_mpi              a box of tets
 *     mpiexec -n 4 ./09_mpi part.msh     a Gmsh file, which the first process reads
 *
 * All that is new is the context, and that every call is made by all processes. Look at what the first one
 * prints: cells, error and mean are those of the whole, whoever asks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <facet_dist.h>

/* A call that fails does so on all processes, and one of them tells. */
static void check(facet_status status, const facet_context *context) {
    if (status == FACET_OK) return;
    if (facet_context_rank(context) == 0) fprintf(stderr, "09_mpi: %s\n", facet_message());
    MPI_Finalize();
    exit((int)status);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);

    /* 1. A context of all processes. */
    facet_context *context = NULL;
    check(facet_context_create_mpi(MPI_COMM_WORLD, "cpu", &context), context);
    check(facet_context_set_threads(context, 1), context);

    /* 2. A mesh. Where there are more processes than cells, the last of them get none. */
    facet_mesh *mesh = NULL;
    const facet_box box = {
        .size = sizeof box, .dim = 3, .upper = {1, 1, 1}, .cells = {4, 4, 4}, .shape = "tet"};
    check(argc > 1 ? facet_mesh_read(context, argv[1], &mesh) : facet_mesh_create_box(context, &box, &mesh),
          context);
    if (mesh != NULL) {
        facet_mesh_info info = {.size = sizeof info};
        check(facet_mesh_get_info(mesh, &info), context);

        /* 3. A problem and its solution, as always. */
        facet_problem *problem = NULL;
        facet_solver *solver = NULL;
        facet_options options;
        facet_options_default(&options, sizeof options);
        options.degree = 2;
        options.rtol = 1e-10;
        check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem), context);
        check(facet_problem_set_exact(problem, "sin(x)*cos(y)"), context);
        check(facet_solver_create(problem, &options, &solver), context);
        check(facet_solver_solve(solver, NULL, NULL), context);

        /* 4. Numbers of the whole, on all processes. */
        facet_errors errors = {.size = sizeof errors};
        facet_report report = {.size = sizeof report};
        double mean;
        int n;
        check(facet_solver_errors(solver, &errors), context);
        check(facet_solver_report(solver, &report), context);
        check(facet_solver_take(solver, "u", -1, "mean", 0, NULL, &mean, &n), context);
        check(facet_solver_write(solver, "09_mpi.vtu", "u"), context);
        if (facet_context_rank(context) == 0) {
            printf("%d processes, %lld cells, %lld trace unknowns\n", facet_context_size(context),
                   (long long)info.n_cells, (long long)report.trace_unknowns);
            printf("%d iterations, error %.3e, mean of u %.6f\n", report.iterations, errors.u_L2, mean);
        }
        if (argc == 1 && (errors.u_L2 > 1e-4 || fabs(mean - (1 - cos(1)) * sin(1)) > 1e-4))
            MPI_Abort(MPI_COMM_WORLD, 1);
        facet_solver_destroy(&solver);
        facet_problem_destroy(&problem);
    }
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    MPI_Finalize();
    return 0;
}
