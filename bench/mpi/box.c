/* The benches of facet-mpi, and their problems. See box.h. */
#include "bench/mpi/box.h"

#include <math.h>

#include "base/status.h"
#include "bench/bench.h"
#include "device/device.h"

const struct bench *bench_list(void) {
    static const struct bench list[] = {
        {"petsc", "p-multigrid beside BoomerAMG, GAMG and BDDC on the assembled matrix: seconds and memory",
         bench_petsc},
        {"traffic", "messages, bytes and reductions of an iteration, and what they cost on many ranks",
         bench_traffic},
        {NULL, NULL, NULL},
    };
    return list;
}

const struct box_problem box_problems[] = {
    {"diffusion, tets", "tet", FACET_DIFFUSION, "1 + x*y", 2, {4, 10}},
    {"diffusion, hexes", "hex", FACET_DIFFUSION, "1 + x*y", 3, {4, 8}},
    {"diffusion, 1 : 1e6 by halves, tets", "tet", FACET_DIFFUSION, "x < 0.5 ? 1 : 1e6", 2, {4, 8}},
    {"elasticity, tets", "tet", FACET_ELASTICITY, NULL, 2, {3, 6}},
};
const int box_n_problems = (int)(sizeof box_problems / sizeof box_problems[0]);

facet_status box_problem_create(facet_context *context, const struct box_problem *kind, int quick,
                                facet_mesh **mesh, facet_problem **problem) {
    static const char *const load[] = {"0", "0", "-1"}, *const zero[] = {"0", "0", "0"},
                             *const moduli[] = {"1", "1.25"};
    facet_status status = FACET_OK;
    const int n = (int)round(quick ? kind->cells[0] : kind->cells[1] * cbrt(0.5 * team_size(context->team)));
    const facet_box box = {
        .size = sizeof box, .dim = 3, .cells = {n, n, n}, .upper = {1.0, 1.0, 1.0}, .shape = kind->shape};
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
    TRY(facet_problem_set_source(*problem, "1"));
    TRY(facet_problem_set_dirichlet(*problem, "xmin", "0"));
    TRY(facet_problem_set_neumann(*problem, "rest", "0"));
done:
    return status;
}
