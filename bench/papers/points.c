/* Load, solve, recover, and what each takes. */
#include "bench/papers/points.h"

#include "base/memory.h"

facet_status boxhdg_lanes_solve(const struct boxhdg_lanes_points *p, struct boxhdg_solver *solver,
                                const struct vector *f, struct vector *u, const struct solve_control *control,
                                struct solve_report *report, double seconds[3]) {
    facet_status status = FACET_OK, solved;
    const struct device *device = p->lanes->device;
    struct vector *F, *trace;
    double clock[4] = {base_seconds()};
    (void)boxhdg_solver_lanes(solver, &F, &trace);
    boxhdg_lanes_load(p, f, F);
    vector_fill(trace, 0.0);
    TRY(device_check(device)); /* waits, so that times are those of the parts */
    clock[1] = base_seconds();
    solved = boxhdg_solver_solve_lanes(solver, BOXHDG_FROM_GIVEN, control, report);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    clock[2] = base_seconds();
    boxhdg_lanes_recover(p, trace, f, u);
    TRY(device_check(device));
    clock[3] = base_seconds();
    for (int i = 0; seconds != NULL && i < 3; i++) seconds[i] = clock[i + 1] - clock[i];
    status = solved;
done:
    return status;
}
