/* facet-mpi bench petsc: our p-multigrid beside conjugate gradients of PETSc on the assembled matrix of the
 * same problem, with BoomerAMG, GAMG and BDDC. */
#include <malloc.h>

#include "base/memory.h"
#include "base/team.h"
#include "bench/bench.h"
#include "bench/mpi/box.h"
#include "device/device.h"

static const struct contender {
    const char *name, *method, *preconditioner, *petsc;
} contenders[] = {
    {"p-multigrid", "cg", "pmg", NULL},
    {"CG + BoomerAMG", "petsc", NULL, "-pc_type hypre -pc_hypre_type boomeramg"},
    {"CG + GAMG", "petsc", NULL, "-pc_type gamg"},
    {"CG + BDDC", "petsc", NULL, "-pc_type bddc"},
};
#define N_CONTENDERS ((int)(sizeof contenders / sizeof contenders[0]))

struct outcome {
    int iterations, converged;
    double setup, solve; /* seconds, the most of all ranks */
    double coarse;       /* of the last level, likewise */
    double bytes;        /* that the processes have more, all together */
    int64_t unknowns;
};

/* In use, by us and by PETSc. */
static double held_bytes(void) {
    const struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

/* The last level of our cycles; 0 where there are none. */
static double coarse_seconds(const facet_solver *solver) {
    facet_level level = {.size = sizeof level};
    int n = facet_solver_n_levels(solver);
    return n > 0 && facet_solver_level(solver, n - 1, &level) == FACET_OK ? level.solve : 0.0;
}

static facet_status measure(const struct bench_options *bench, const facet_problem *problem, int degree,
                            const struct contender *contender, struct outcome *o) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options;
    facet_report report = {.size = sizeof report};
    double before = held_bytes();
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.operator_name = "mapped";
    options.postprocess = 0;
    options.method = contender->method;
    options.preconditioner = contender->preconditioner;
    options.petsc = contender->petsc;
    options.max_iterations = 2000;
    TRY(facet_solver_create(problem, &options, &solver));
    double bytes = held_bytes() - before;
    facet_status solved = facet_solver_solve(solver, NULL, NULL);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    TRY(facet_solver_report(solver, &report));
    double most[] = {report.seconds[FACET_PHASE_ASSEMBLE] + report.seconds[FACET_PHASE_SETUP],
                     report.seconds[FACET_PHASE_SOLVE], coarse_seconds(solver)};
    TRY(team_reduce(bench->context->team, TEAM_MAX, 3, most));
    TRY(team_reduce(bench->context->team, TEAM_SUM, 1, &bytes));
    *o = (struct outcome){report.iterations,    report.converged, most[0], most[1], most[2], bytes,
                          report.trace_unknowns};
done:
    facet_solver_destroy(&solver);
    return status;
}

static void put(struct table *table, const struct box_problem *kind, int ranks, const struct outcome *o,
                const struct outcome *first, const char *name) {
    double seconds = o->setup + o->solve;
    table_cell(table, "%s, k = %d", kind->name, kind->degree);
    table_cell(table, "%lld", (long long)o->unknowns);
    table_cell(table, "%d", ranks);
    table_cell(table, "%s", name);
    table_cell(table, o->converged ? "%d" : "%d, not converged", o->iterations);
    table_cell(table, "%.3f", o->setup);
    table_cell(table, "%.3f", o->solve);
    table_cell(table, o->coarse > 0.0 ? "%.0f %%" : "", 100.0 * o->coarse / o->solve);
    table_cell(table, "%.1f", seconds / (first->setup + first->solve));
    table_cell(table, "%.0f", o->bytes / 1e6);
}

facet_status bench_petsc(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"problem",       "unknowns", "ranks",       "solver",
                                          "iterations",    "set-up s", "iteration s", "of it coarse",
                                          "x p-multigrid", "MB"};
    struct table *table = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    const int ranks = team_size(bench->context->team);
    TRY(table_create(10, headers, &table));
    for (int i = 0; i < box_n_problems; i++) {
        struct outcome outcomes[N_CONTENDERS];
        TRY(box_problem_create(bench->context, &box_problems[i], bench->quick, &mesh, &problem));
        for (int k = 0; k < N_CONTENDERS; k++) {
            TRY(measure(bench, problem, box_problems[i].degree, &contenders[k], &outcomes[k]));
            put(table, &box_problems[i], ranks, &outcomes[k], &outcomes[0], contenders[k].name);
        }
        table_rule(table);
        facet_problem_destroy(&problem);
        facet_mesh_destroy(&mesh);
    }
    TRY(bench_emit(
        bench, "mpi-petsc",
        "Our p-multigrid beside conjugate gradients of PETSc on the assembled matrix, to 1e-10, in one "
        "run: seconds of assembly and set-up, and of the iteration, the most of all ranks; of the "
        "iteration the last level; the memory of matrices and solver that all ranks have more than "
        "before, element matrices included.",
        table));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    table_destroy(&table);
    return status;
}
