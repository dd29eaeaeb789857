/* facet-mpi bench petsc: our p-multigrid beside conjugate gradients of PETSc on the assembled matrix of the
 * same problem, with BoomerAMG, GAMG and BDDC. */
#include <stdio.h>
#include <string.h>

#include "base/team.h"
#include "bench/bench.h"
#include "bench/mpi/box.h"
#include "device/device.h"

static const struct box_solver rivals[] = {
    {"CG + BoomerAMG", "petsc", NULL, "-pc_type hypre -pc_hypre_type boomeramg", NULL, NULL},
    {"CG + GAMG", "petsc", NULL, "-pc_type gamg", NULL, NULL},
    {"CG + BDDC", "petsc", NULL, "-pc_type bddc", NULL, NULL},
};
#define N_RIVALS ((int)(sizeof rivals / sizeof rivals[0]))

static void put(struct table *table, const struct box_problem *kind, int ranks, const struct box_outcome *o,
                const struct box_outcome *ours, const char *name) {
    double seconds = o->setup + o->solve;
    table_cell(table, "%s, k = %d", kind->name, kind->degree);
    table_cell(table, "%lld", (long long)o->unknowns);
    table_cell(table, "%d", ranks);
    table_cell(table, "%s", name);
    table_cell(table, o->converged ? "%d" : "%d, not converged", o->iterations);
    table_cell(table, "%.3f", o->setup);
    table_cell(table, "%.3f", o->solve);
    table_cell(table, o->coarse > 0.0 ? "%.0f %%" : "", 100.0 * o->coarse / o->solve);
    table_cell(table, "%.1f", seconds / (ours->setup + ours->solve));
    table_cell(table, "%.0f", o->bytes / 1e6);
    table_cell(table, "%.1f", o->bytes / ours->bytes);
}

/* Bytes of the element matrices of the whole mesh: one triangle each. */
static facet_status count_matrices(const facet_mesh *mesh, const struct box_problem *kind, double *bytes) {
    facet_mesh_info info = {.size = sizeof info};
    facet_status status = facet_mesh_get_info(mesh, &info);
    const int k = kind->degree, components = kind->equation == FACET_ELASTICITY ? 3 : 1,
              of_faces = strcmp(kind->shape, "hex") == 0 ? 6 * (k + 1) * (k + 1) : 2 * (k + 1) * (k + 2);
    const double rows = components * of_faces;
    *bytes = 4.0 * rows * (rows + 1.0) * (double)info.n_cells;
    return status;
}

static facet_status run(const struct bench_options *bench, const struct box_problem *kind) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {
        "problem",     "unknowns",     "ranks",         "solver", "iterations", "set-up s",
        "iteration s", "of it coarse", "x p-multigrid", "MB",     "x"};
    struct table *table = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    struct box_outcome nobody, ours, theirs;
    double matrices;
    const int ranks = team_size(bench->context->team);
    char name[64];
    TRY(table_create(11, headers, &table));
    TRY(box_problem_create(bench->context, kind, bench->quick, NULL, &mesh, &problem));
    TRY(box_problem_measure(bench->context, problem, kind->degree, &box_nobody, 0, &nobody));
    TRY(box_problem_measure(bench->context, problem, kind->degree, &box_pmg, 1, &ours));
    TRY(count_matrices(mesh, kind, &matrices));
    ours.bytes -= nobody.bytes - matrices;
    put(table, kind, ranks, &ours, &ours, box_pmg.name);
    for (int k = 0; k < N_RIVALS; k++) {
        TRY(box_problem_measure(bench->context, problem, kind->degree, &rivals[k], 1, &theirs));
        theirs.bytes -= nobody.bytes;
        put(table, kind, ranks, &theirs, &ours, rivals[k].name);
    }
    snprintf(name, sizeof name, "mpi-petsc-%s-%d", kind->word, ranks);
    TRY(bench_emit(
        bench, name,
        "Our p-multigrid beside conjugate gradients of PETSc on the assembled matrix, to 1e-10, in one "
        "run: seconds of assembly and set-up, and of the iteration, the most of all ranks; of the "
        "iteration the last level. Memory of all ranks: the matrix, ours that of the cells, theirs the "
        "assembled one, and what the preconditioner adds; not what both have, for loads and recovery.",
        table));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    table_destroy(&table);
    return status;
}

facet_status bench_petsc(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    for (int i = 0; status == FACET_OK && i < box_n_problems; i++) status = run(bench, &box_problems[i]);
    return status;
}
