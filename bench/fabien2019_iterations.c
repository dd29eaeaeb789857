/* fabien2019, Figures 9 and 10: iterations of conjugate gradients with p-multigrid to 1e-7, over degrees,
 * meshes and lambda. The paper stops on the residual in the preconditioned norm, we on the true one. */
#include <stdio.h>

#include "bench/fabien2019.h"

#define MOST 600000

static facet_status count(const struct bench_options *options, const struct fabien2019_case *c,
                          facet_report *report) {
    facet_status status = FACET_OK;
    struct fabien2019_run run = {0};
    TRY(fabien2019_create(options, c, &run));
    facet_status solved = facet_solver_solve(run.solver, NULL, NULL);
    if (solved != FACET_NOT_CONVERGED) TRY(solved);
    TRY(facet_solver_report(run.solver, report));
done:
    fabien2019_destroy(&run);
    return status;
}

facet_status bench_fabien2019_iterations(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"k", "lambda", "tets", "unknowns", "iterations", "seconds"};
    static const double lambdas[] = {1.0, 1e3, 1e6};
    TRY(table_create(6, headers, &table));
    for (int l = 0; l < 3; l++) {
        for (int k = 1; k <= (options->quick ? 2 : 6); k++)
            for (int cells = 2; cells <= (options->quick ? 4 : 8); cells *= 2) {
                struct fabien2019_case c = {.problem = l == 0 ? &fabien2019_manufactured : &fabien2019_nearly,
                                            .lambda = lambdas[l],
                                            .cells = cells,
                                            .degree = k,
                                            .tau = bench_tau(options),
                                            .method = "cg",
                                            .preconditioner = "pmg",
                                            .rtol = 1e-7};
                facet_report report = {.size = sizeof report};
                if ((k + 1) * (k + 2) * 18 * cells * cells * cells > MOST) break;
                TRY(count(options, &c, &report));
                table_cell(table, "%d", k);
                table_cell(table, "%g", c.lambda);
                table_cell(table, "%d", 6 * cells * cells * cells);
                table_cell(table, "%.0f", (double)report.trace_unknowns);
                table_cell(table, "%d%s", report.iterations, report.converged ? "" : " (not converged)");
                table_cell(table, "%.3f",
                           report.seconds[FACET_PHASE_SETUP] + report.seconds[FACET_PHASE_LOAD] +
                               report.seconds[FACET_PHASE_SOLVE]);
                TRY(base_check_interrupt());
            }
        table_rule(table);
    }
    TRY(bench_emit(options, "fabien2019-iterations",
                   "fabien2019, Figures 9 and 10: iterations to a residual of 1e-7, conjugate gradients with "
                   "p-multigrid; lambda = 1: section 4.1, else section 4.2.",
                   table));
done:
    table_destroy(&table);
    return status;
}
