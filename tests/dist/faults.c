/* Failures of one rank: a run of a case whose k-th allocation on one rank fails, for a sample of k, ends on
 * all ranks with the same status and the same message, which names the rank, and within seconds; afterwards
 * the context works as before. Usage: faults STRIDE [FIRST [CASE]] */
#include <facet_dist.h>
#include <string.h>

#include "base/memory.h"
#include "base/team.h"
#include "device/device.h"
#include "mpi_helpers.h"

#define SECONDS 10 /* for a run that fails */

static const char *const cases[] = {
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [8, 4], shape: triangle}}\n"
    "equation: diffusion\n"
    "conductivity: 1 + x\n"
    "exact: sin(x)*y\n"
    "boundary: [{on: xmin, neumann: exact}, {on: ymax, robin: {a: 1, g: exact}}]\n"
    "discretization: {degree: 2}\n"
    "output: {file: mpi_faults.vtu}\n"
    "values: [{name: here, field: u, at: [0.3, 0.4]}, {name: out, field: flux, take: integral, on: xmax}]\n",
    "mesh: {file: examples/meshes/cook.msh, refine: 1}\n"
    "equation: elasticity\n"
    "material: {E: 1, nu: 0.3}\n"
    "source: [0, -1]\n"
    "boundary: [{on: clamped, displacement: [0, 0]}, {on: rest, traction: [0, 0]}]\n"
    "discretization: {degree: 1}\n"
    "values: [{name: most, field: u, take: max}]\n",
    "mesh: {box: {lower: [0, 0, 0], upper: [4, 2, 1], cells: [4, 2, 2], shape: hex}}\n"
    "equation: diffusion\n"
    "conductivity: if(x > 2, 100, 1)\n"
    "source: 1\n"
    "boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
    "discretization: {degree: 2, operator: tensor}\n"
    "solver: {preconditioner: additive, precision: mixed}\n"
    "output: {file: mpi_faults.vtu, pieces: 2}\n"
    "values: [{name: most, field: u, take: max}, {name: out, field: flux, take: integral, on: xmin}]\n",
    "mesh: {box: {lower: [0, 0], upper: [4, 2], cells: [8, 4], shape: quad}}\n"
    "equation: diffusion\n"
    "exact: sin(x)*y\n"
    "boundary: [{on: xmin, neumann: exact}, {on: rest, dirichlet: exact}]\n"
    "discretization: {degree: 4, method: continuous}\n"
    "solver: {method: multigrid, precision: mixed}\n",
    "mesh: {box: {lower: [0, 0, 0], upper: [2, 1, 1], cells: [2, 2, 1], shape: tet}}\n"
    "equation: diffusion\n"
    "exact: sin(x)*y + z\n"
    "boundary: [{on: xmin, neumann: exact}, {on: rest, dirichlet: exact}]\n"
    "discretization: {degree: 3, method: condensed}\n",
    "mesh: {file: 'tests/meshes/parts-solid_*.msh'}\n"
    "equation: diffusion\n"
    "exact: sin(x)*y\n"
    "boundary: [{on: rest, dirichlet: exact}]\n"
    "discretization: {degree: 1}\n",
};

static facet_status solve(facet_context *context, const char *text, char *message, size_t bytes) {
    facet_case *file = NULL;
    facet_status status = facet_case_parse(context, text, "case.yaml", 0, NULL, &file);
    if (status == FACET_OK) status = facet_case_solve(file, 1);
    snprintf(message, bytes, "%s", status == FACET_OK ? "" : facet_message());
    facet_case_destroy(&file);
    return status;
}

/* All ranks have this status and this message. */
static void compare(struct base_team *team, facet_status status, const char *message) {
    struct {
        int64_t status;
        char text[BASE_MESSAGE_BYTES];
    } first = {.status = status};
    snprintf(first.text, sizeof first.text, "%s", message);
    team_enter(team); /* nobody goes on, and fails again, while another is still here */
    OK(team_leave(team, team_broadcast(team, 0, &first, sizeof first)));
    CHECK(first.status == (int64_t)status && strcmp(first.text, message) == 0,
          "status %d, \"%s\" here; %d, \"%s\" on rank 0", (int)status, message, (int)first.status,
          first.text);
}

/* Returns how many allocations there were on rank `which`, or 0 when the k-th was beyond them. */
static int walk(facet_context *context, const char *text, int which, int64_t k) {
    char message[BASE_MESSAGE_BYTES], name[24];
    mpi_alarm(SECONDS);
    if (context->team->rank == which) base_memory_fail_at(k);
    facet_status status = solve(context, text, message, sizeof message);
    base_memory_fail_at(0);
    compare(context->team, status, message);
    if (status == FACET_OK) return 0;
    snprintf(name, sizeof name, "rank %d: ", which);
    CHECK(status == FACET_ERROR_MACHINE && strncmp(message, name, strlen(name)) == 0,
          "allocation %lld: status %d, %s", (long long)k, (int)status, message);
    return 1;
}

int main(int argc, char **argv) {
    struct dist_comm *comm = mpi_begin(&argc, &argv, 60);
    const int64_t stride = argc > 1 ? atoll(argv[1]) : 211, first = argc > 2 ? atoll(argv[2]) : 1;
    facet_context *context = NULL;
    int walked = 0;
    OK(facet_context_create_mpi(MPI_COMM_WORLD, "cpu", &context));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 3 && (size_t)atoll(argv[3]) != i) continue;
        char message[BASE_MESSAGE_BYTES];
        CHECK(solve(context, cases[i], message, sizeof message) == FACET_OK, "%s", message);
        for (int64_t k = first; walk(context, cases[i], (int)(k % context->team->size), k); k += stride)
            walked++;
        CHECK(solve(context, cases[i], message, sizeof message) == FACET_OK, "%s", message);
    }
    CHECK(walked > 2, "only %d allocations failed", walked);
    if (context->team->rank == 0) printf("%d runs failed as they should\n", walked);
    const char *const files[] = {"mpi_faults.vtu", "mpi_faults.pvtu", "mpi_faults-0.vtu", "mpi_faults-1.vtu"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(files[i]);
    facet_context_destroy(&context);
    return mpi_end(&comm);
}
