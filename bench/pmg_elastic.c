/* p-multigrid for bodies: what lambda and two materials cost beside lambda = mu. Symmetric formulation, a
 * body held at one side, noise on the right. docs/pmg.md discusses the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/trial.h"

#define ROUNDS   2
#define CONTRAST 1e4

/* Materials: lambda in units of mu, and where both moduli are CONTRAST times as large. */
enum pattern { EVEN, HALVES, BRICKS, CELLS };
static const struct {
    const char *name, *lambda;
    enum pattern pattern;
} materials[] = {
    {"lambda = mu", "1", EVEN},
    {"lambda = 5000 mu", "5000", EVEN},
    {"lambda = 1e6 mu", "1e6", EVEN},
    {"1 : 1e4, halves", "1", HALVES},
    {"1 : 1e4, bricks by turns", "1", BRICKS},
    {"1 : 1e4, cells without pattern", "1", CELLS},
    {"1 : 1e4, bricks by turns, lambda = 5000 mu", "5000", BRICKS},
};
#define N_MATERIALS ((int)(sizeof materials / sizeof materials[0]))

static double factor_of(enum pattern pattern, int n, int dim, const double *middle, int32_t cell) {
    int sum = 0;
    for (int a = 0; a < dim; a++) sum += (int)(n * middle[a]);
    int stiff = pattern == HALVES   ? middle[0] > 0.5
                : pattern == BRICKS ? sum % 2
                : pattern == CELLS  ? trial_scatter((uint64_t)cell) > 0.0
                                    : 0;
    return stiff ? CONTRAST : 1.0;
}

static facet_status fill_modes(void *hdg, double *modes) {
    return hdg_rigid_modes(hdg, modes);
}

/* One material: the least of all rounds. *seconds: of the processors, which tell more than the clock where
 * others work as well. */
static facet_status solve_body(const struct bench_options *bench, const char *shape, int n, int degree,
                               int material, struct trial_outcome *best, double *seconds, int64_t *unknowns) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct trial_domain d = {shape, n, 1.0, 0.0, NULL, materials[material].lambda};
    struct trial_outcome o = {0};
    struct pmg_options options;
    double *K = NULL, *middles = NULL;
    TRY(trial_create(bench, &d, degree, &s));
    const int dim = s.mesh->dim;
    TRY(ALLOC(K, s.mesh->n_cells));
    TRY(trial_middles(&s, &middles));
    for (int32_t c = 0; c < s.mesh->n_cells; c++)
        K[c] = factor_of(materials[material].pattern, n, dim, middles + (int64_t)c * dim, c);
    TRY(trial_scale(&s, K, 0));
    pmg_options_default(&options);
    options.n_modes = hdg_n_rigid_modes(mapped_of(s.solver)->hdg);
    options.fill_modes = fill_modes;
    options.modes_data = mapped_of(s.solver)->hdg;
    options.incompressible = atof(materials[material].lambda) > 8.0;
    clock_t begin = clock();
    TRY(trial_solve_pmg(&s, &options, &o));
    double taken = (double)(clock() - begin) / CLOCKS_PER_SEC;
    *unknowns = s.solver->system.n_free;
    if (best->iterations == 0 || taken < *seconds) *seconds = taken;
    *best = o;
done:
    base_free(&K);
    base_free(&middles);
    trial_destroy(&s);
    return status;
}

static facet_status run_mesh(const struct bench_options *bench, const char *shape, int n, int degree,
                             struct table *table) {
    facet_status status = FACET_OK;
    struct trial_outcome o[N_MATERIALS] = {0};
    double seconds[N_MATERIALS];
    int64_t unknowns = 0;
    for (int round = 0; round < (bench->quick ? 1 : ROUNDS); round++)
        for (int i = 0; i < N_MATERIALS; i++)
            TRY(solve_body(bench, shape, n, degree, i, &o[i], &seconds[i], &unknowns));
    for (int i = 0; i < N_MATERIALS; i++) {
        table_cell(table, "%s %d^%d", shape, n, trial_dimension(shape));
        table_cell(table, "%d", degree);
        table_cell(table, "%lld", (long long)unknowns);
        table_cell(table, "%s", materials[i].name);
        table_cell(table, "%s", o[i].last);
        table_cell(table, "%lld", (long long)o[i].n_last);
        trial_put_count(table, o[i].iterations);
        table_cell(table, "%.3f", seconds[i]);
        table_cell(table, "%.2f", seconds[i] / seconds[0]);
        table_cell(table, "%.0f", o[i].held / 1e6);
    }
    table_rule(table);
done:
    return status;
}

facet_status bench_pmg_elastic(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"cells", "k",          "unknowns",    "material",      "last space",
                                          "of it", "iterations", "processor s", "x lambda = mu", "MB"};
    static const struct {
        const char *shape;
        int sizes[4][2]; /* of k = 1, 2, 3, 4: two meshes */
    } meshes[] = {{"triangle", {{32, 64}, {32, 64}, {32, 64}, {32, 64}}},
                  {"quad", {{32, 64}, {32, 64}, {32, 64}, {32, 64}}},
                  {"tet", {{6, 12}, {6, 12}, {4, 8}, {3, 6}}},
                  {"hex", {{6, 12}, {6, 12}, {4, 8}, {3, 6}}}};
    TRY(table_create(10, headers, &table));
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i++)
        for (int k = 1; k <= (options->quick ? 2 : 4); k++)
            for (int m = 0; m < (options->quick ? 1 : 2); m++)
                TRY(run_mesh(options, meshes[i].shape, meshes[i].sizes[k - 1][m], k, table));
    TRY(bench_emit(
        options, "pmg-elastic",
        "Conjugate gradients with p-multigrid to 1e-10, symmetric formulation, mu = 1, the unit square or "
        "cube held at one side: iterations, and seconds of set-up and solve (the least of two rounds by "
        "turns) beside "
        "those of lambda = mu. 1 : 1e4: both moduli of a part of the body are 1e4 times as large. "
        "Memory: beyond the element matrices.",
        table));
done:
    table_destroy(&table);
    return status;
}
