/* How evenly a run was shared out among the ranks of a team. */
#include <string.h>

#include "base/memory.h"
#include "case/run_case.h"
#include "mesh/part.h"

/* Numbers of all ranks at once: the least, the sum and the largest. */
static facet_status spread(struct base_team *team, int n, const double *values, struct run_spread *spreads) {
    facet_status status = FACET_OK;
    double numbers[3][RUN_MAX_SPREADS];
    for (int k = 0; k < 3; k++) memcpy(numbers[k], values, (size_t)n * sizeof *values);
    TRY(team_reduce(team, TEAM_MIN, n, numbers[0]));
    TRY(team_reduce(team, TEAM_SUM, n, numbers[1]));
    TRY(team_reduce(team, TEAM_MAX, n, numbers[2]));
    for (int i = 0; i < n; i++)
        spreads[i] = (struct run_spread){numbers[0][i], numbers[1][i] / team->size, numbers[2][i]};
done:
    return status;
}

facet_status run_compare_ranks(struct run *run) {
    double values[RUN_MAX_SPREADS] = {0};
    struct base_team *team = mesh_team(run->mesh);
    if (team == NULL) return FACET_OK;
    for (int phase = 0; phase < FACET_N_PHASES; phase++) values[phase] = run->timers.seconds[phase];
    values[RUN_SPREAD_TOTAL] = run->total_seconds;
    values[RUN_SPREAD_BYTES] = (double)base_peak_resident_bytes();
    values[RUN_SPREAD_CELLS] = run->mesh->n_cells;
    values[RUN_SPREAD_SEAM] = run->mesh->part->n_seam_faces;
    values[RUN_SPREAD_NEIGHBOURS] = run->mesh->part->n_neighbours;
    run->n_ranks = team->size;
    return spread(team, RUN_MAX_SPREADS, values, run->spreads);
}
