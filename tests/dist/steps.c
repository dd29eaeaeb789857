/* Continuous elements on blocks, solved again and again: another reaction, down to none, where constants are
 * free, and back; and from a guess. Each solution is that of a solver made for it. Values at points of which
 * each rank has its own. */
#include <facet_dist.h>
#include <math.h>

#include "base/memory.h"
#include "mpi_helpers.h"

static facet_solver *make(facet_context *context, const facet_mesh *mesh, const char *reaction,
                          const char *method) {
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.discretization = "continuous";
    options.method = method;
    options.degree = 4;
    options.rtol = 1e-12;
    options.warm_start = 1;
    OK(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    OK(facet_problem_set_source(problem, "cos(pi*x)"));
    OK(facet_problem_set_reaction(problem, reaction));
    OK(facet_problem_set_neumann(problem, "rest", "0"));
    OK(facet_solver_create(problem, &options, &solver));
    facet_problem_destroy(&problem);
    return solver;
}

static double distance(int64_t n, const double *one, const double *two) {
    double most = 0.0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(one[i] - two[i]));
    return most;
}

/* The points of a rank are its own, more than go round at once, few, or none; what all give alike is taken
 * once; what one rank gives wrong fails on all. */
static void ask_own_points(facet_context *context, const facet_mesh *mesh) {
    enum { MOST = 5000 };
    const int rank = facet_context_rank(context);
    const int64_t counts[] = {0, MOST, 3};
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_field *field = NULL;
    double *x = NULL, *u = NULL, one;
    OK(ALLOC(x, 2 * MOST));
    OK(ALLOC(u, MOST));
    OK(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    OK(facet_problem_set_exact(problem, "x + 10*y"));
    OK(facet_solver_create(problem, NULL, &solver));
    OK(facet_solver_solve(solver, NULL, NULL));
    OK(facet_field_create(solver, "u", &field));
    for (int way = 0; way < 3; way++) {
        const int64_t n = way < 2 ? counts[rank % 3] : 7;
        for (int64_t i = 0; i < n; i++) {
            x[2 * i] = 2.0 * (double)((7 * i + rank * (way < 2)) % MOST) / MOST;
            x[2 * i + 1] = (double)i / MOST;
            u[i] = -1.0;
        }
        OK(way == 1 ? facet_field_evaluate(field, n, x, u)
                    : facet_solver_evaluate(solver, "u", n, n > 0 ? x : NULL, n > 0 ? u : NULL));
        for (int64_t i = 0; i < n; i++)
            CHECK(fabs(u[i] - x[2 * i] - 10.0 * x[2 * i + 1]) < 1e-7, "u(%g, %g) = %g", x[2 * i],
                  x[2 * i + 1], u[i]);
    }
    CHECK(facet_solver_evaluate(solver, "u", 1, rank == 1 ? NULL : x, &one) == FACET_ERROR_INPUT, "NULL");
    x[0] = rank == 2 ? 3.0 : 0.5;
    CHECK(facet_solver_evaluate(solver, "u", 1, x, &one) == FACET_ERROR_INPUT, "a point outside");
    facet_field_destroy(&field);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    base_free(&x);
    base_free(&u);
}

int main(int argc, char **argv) {
    struct dist_comm *comm = mpi_begin(&argc, &argv, 60);
    const facet_box box = {.size = sizeof box, .dim = 2, .upper = {2, 1}, .cells = {8, 4}, .shape = "quad"};
    static const char *const reactions[] = {"1", "0", "100", "1e-6"};
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    OK(facet_context_create_mpi(MPI_COMM_WORLD, "cpu", &context));
    OK(facet_context_set_threads(context, 1));
    OK(facet_mesh_create_box(context, &box, &mesh));
    for (int cg = 0; cg < 2; cg++) {
        facet_solver *solver = make(context, mesh, "2", cg ? "cg" : "multigrid");
        const int64_t n = facet_solver_n_points(solver);
        double *one = NULL, *two = NULL;
        OK(ALLOC(one, n));
        OK(ALLOC(two, n));
        OK(facet_solver_solve(solver, NULL, NULL));
        for (size_t i = 0; i < sizeof reactions / sizeof *reactions; i++) {
            facet_solver *fresh = make(context, mesh, reactions[i], cg ? "cg" : "multigrid");
            OK(facet_solver_set_reaction(solver, atof(reactions[i])));
            OK(facet_solver_solve(solver, NULL, one));
            OK(facet_solver_solve(fresh, NULL, two));
            const double far = distance(n, one, two);
            CHECK(far < 1e-9, "reaction %s: %g apart", reactions[i], far);
            OK(facet_solver_set_guess(solver, n, two));
            OK(facet_solver_solve(solver, NULL, NULL));
            facet_report report = {.size = sizeof report};
            OK(facet_solver_report(solver, &report));
            CHECK(report.iterations <= 1, "%d iterations from the solution", report.iterations);
            facet_solver_destroy(&fresh);
        }
        base_free(&one);
        base_free(&two);
        facet_solver_destroy(&solver);
    }
    ask_own_points(context, mesh);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return mpi_end(&comm);
}
