/* The benches of facet-mpi, their problems, and how a solve is measured. See box.h. */
#include "bench/mpi/box.h"

#include <malloc.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/team.h"
#include "bench/bench.h"
#include "device/device.h"

const struct bench *bench_list(void) {
    static const struct bench list[] = {
        {"boxes", "as scaling, of the operator tensor and of continuous elements on boxes", bench_boxes},
        {"petsc", "p-multigrid beside BoomerAMG, GAMG and BDDC on the assembled matrix: seconds and memory",
         bench_petsc},
        {"scaling", "1, 2, 4, ... ranks: the same work for each, and less and less, beside the STREAM triad",
         bench_scaling},
        {"traffic", "messages, bytes and reductions of an iteration, and what they cost on many ranks",
         bench_traffic},
        {"whole", "whole solves on these ranks and threads: 32^3 hexes and 6 x 24^3 tets of degree 3",
         bench_whole},
        {NULL, NULL, NULL},
    };
    return list;
}

const struct box_problem box_problems[] = {
    {"tets", "diffusion, tets", "tet", FACET_DIFFUSION, "1", 2, {4, 5}, "1"},
    {"hexes", "diffusion, hexes", "hex", FACET_DIFFUSION, "1", 3, {4, 5}, "1"},
    {"elastic", "elasticity, tets", "tet", FACET_ELASTICITY, NULL, 2, {3, 3}, NULL},
    {"jump",
     "diffusion, 1 : 1e6 by halves, tets",
     "tet",
     FACET_DIFFUSION,
     "x < 0.5 ? 1 : 1e6",
     2,
     {4, 4},
     "1"},
};
const int box_n_problems = (int)(sizeof box_problems / sizeof box_problems[0]);

facet_status box_problem_create(facet_context *context, const struct box_problem *kind, int quick,
                                const int *cells, facet_mesh **mesh, facet_problem **problem) {
    static const char *const load[] = {"0", "0", "-1"}, *const zero[] = {"0", "0", "0"},
                             *const moduli[] = {"1", "1.25"};
    facet_status status = FACET_OK;
    const int n = (int)round(quick ? kind->cells[0] : kind->cells[1] * cbrt(0.5 * team_size(context->team)));
    facet_box box = {
        .size = sizeof box, .dim = 3, .cells = {n, n, n}, .upper = {1.0, 1.0, 1.0}, .shape = kind->shape};
    for (int a = 0; cells != NULL && a < 3; a++) {
        box.cells[a] = cells[a];
        box.upper[a] = (double)cells[a] / cells[2];
    }
    TRY(facet_mesh_create_box(context, &box, mesh));
    if (*mesh == NULL) FAIL(FACET_ERROR_INPUT, "there are more ranks than bricks");
    TRY(facet_problem_create(context, *mesh, kind->equation, problem));
    if (kind->equation == FACET_ELASTICITY) {
        TRY(facet_problem_set_material(*problem, NULL, "mu,lambda", moduli));
        TRY(facet_problem_set_vector_source(*problem, 3, load));
        TRY(facet_problem_set_displacement(*problem, "xmin", 3, zero));
        TRY(facet_problem_set_traction(*problem, "rest", 3, zero));
        goto done;
    }
    TRY(facet_problem_set_conductivity(*problem, NULL, 1, &kind->conductivity));
    TRY(facet_problem_set_source(*problem, kind->source));
    TRY(facet_problem_set_dirichlet(*problem, "xmin", "0"));
    TRY(facet_problem_set_neumann(*problem, "rest", "0"));
done:
    return status;
}

/* ------------------------------------------------------------------------------ measuring */

const struct box_solver box_pmg = {"p-multigrid", "cg", "pmg", NULL, NULL, NULL},
                        box_nobody = {"", "cg", "none", NULL, NULL, NULL},
                        box_tensor = {"additive", "cg", "additive", NULL, NULL, "tensor"},
                        box_continuous = {"cycles", "multigrid", NULL, NULL, "continuous", "tensor"};

/* In use, by us and by PETSc. */
static double held_bytes(void) {
    const struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

/* All that is below the levels of traces in our cycles, and of boxes the last level, in all solves; 0 where
 * there are none. */
static double coarse_seconds(const facet_solver *solver, int box) {
    const int n = facet_solver_n_levels(solver);
    double seconds = 0.0;
    for (int i = n - 1; i >= (box ? n - 1 : 0); i--) {
        facet_level level = {.size = sizeof level};
        if (facet_solver_level(solver, i, &level) != FACET_OK) break;
        if (strncmp(level.name, "k=", 2) == 0 && level.name[2] != '0') break;
        seconds += level.smooth + level.residual + level.transfer + level.solve;
    }
    return seconds;
}

facet_status box_problem_measure(const facet_context *together, const facet_problem *problem, int degree,
                                 const struct box_solver *by, int solves, struct box_outcome *o) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options;
    facet_report report = {.size = sizeof report};
    double before = held_bytes(), seconds = 0.0;
    *o = (struct box_outcome){0};
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.operator_name = by->operator_name != NULL ? by->operator_name : "mapped";
    if (by->discretization != NULL) options.discretization = by->discretization;
    options.postprocess = 0;
    options.method = by->method;
    if (by->preconditioner != NULL) options.preconditioner = by->preconditioner;
    options.petsc = by->petsc;
    options.max_iterations = by->petsc != NULL ? 500 : 2000;
    TRY(facet_solver_create(problem, &options, &solver));
    o->bytes = o->most_bytes = held_bytes() - before;
    TRY(team_reduce(together->team, TEAM_MAX, 1, &o->most_bytes));
    TRY(team_reduce(together->team, TEAM_SUM, 1, &o->bytes));
    for (int i = 0; i < solves; i++) {
        const double coarse = coarse_seconds(solver, by->operator_name != NULL);
        int64_t nothing = 0;
        TRY(team_reduce_counts(together->team, TEAM_SUM, 1, &nothing)); /* all begin at once */
        facet_status solved = facet_solver_solve(solver, NULL, NULL);
        if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
        TRY(facet_solver_report(solver, &report));
        double most[] = {report.seconds[FACET_PHASE_SOLVE] - seconds,
                         coarse_seconds(solver, by->operator_name != NULL) - coarse};
        seconds = report.seconds[FACET_PHASE_SOLVE];
        TRY(team_reduce(together->team, TEAM_MAX, 1, most));
        TRY(team_reduce(together->team, TEAM_MIN, 1,
                        most + 1)); /* others wait there for those who come late */
        if (i > 0 && most[0] >= o->solve) continue;
        o->solve = most[0];
        o->coarse = most[1];
    }
    o->setup = report.seconds[FACET_PHASE_ASSEMBLE] + report.seconds[FACET_PHASE_SETUP];
    TRY(team_reduce(together->team, TEAM_MAX, 1, &o->setup));
    o->iterations = report.iterations;
    o->converged = report.converged;
    o->unknowns = report.trace_unknowns >= 0 ? report.trace_unknowns : report.volume_unknowns; /* or nodes */
done:
    facet_solver_destroy(&solver);
    return status;
}
