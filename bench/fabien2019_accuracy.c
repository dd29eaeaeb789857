/* fabien2019, Tables 1, 2 and 3: errors on cubes of six tets a brick, S = tau I with tau = 1.
 *
 * What the printed numbers are (docs/papers.md): sums over the components of component-wise norms; the p
 * column is epsilon |p - p_h| with epsilon = 1/(mu + lambda); the trace column is the sum over components of
 * sqrt(sum over faces of |F| times the integral of e^2), every face once; the number of tets is printed as 5
 * N^3 where the meshes have 6 N^3. Source, boundary data and norms were integrated with few points: those of
 * Grundmann and Moeller in Table 1, with s = floor(3k/2) + 1 in cells and s = k + 1 on faces; 14 points of
 * degree 5 in the cells of Table 2, 4 points of degree 2 in those of Table 3, 6 points of degree 4 on their
 * faces. So three columns: the paper's, ours measured its way, and ours in the norm of the whole vector or
 * tensor with rules that are exact enough.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "bench/fabien2019.h"
#include "bench/papers/rules.h"

enum { N_COLUMNS = 5 };

/* M. S. Fabien, A GPU-Accelerated HDG Method for Linear Elasticity (2019), Table 1: H, u, p, trace, u*; k = 0
 * .. 6, three meshes each. */
static const double table1[][N_COLUMNS] = {
    {5.1033e-01, 6.9164e-02, 2.3024e-02, 1.2474e-01, 6.8904e-02},
    {3.7850e-01, 5.8414e-02, 1.5926e-02, 5.8279e-02, 5.4165e-02},
    {2.3796e-01, 3.4968e-02, 1.2691e-02, 2.0828e-02, 3.1797e-02},
    {3.9400e-01, 5.4954e-02, 2.3692e-02, 9.7604e-02, 2.6094e-02},
    {1.6024e-01, 2.5917e-02, 1.1606e-02, 2.2667e-02, 5.4598e-03},
    {4.4056e-02, 7.2306e-03, 2.3228e-03, 4.0801e-03, 7.4251e-04},
    {2.2559e-01, 3.3473e-02, 1.2935e-02, 5.6346e-02, 1.3493e-02},
    {3.7014e-02, 6.4845e-03, 1.4037e-03, 6.1141e-03, 1.0967e-03},
    {5.7105e-03, 9.6493e-04, 2.9360e-04, 5.6032e-04, 7.7537e-05},
    {8.9438e-02, 1.4638e-02, 4.2630e-03, 2.4721e-02, 4.4644e-03},
    {8.7764e-03, 1.4913e-03, 5.4249e-04, 1.3085e-03, 1.8969e-04},
    {5.7246e-04, 9.9067e-05, 2.8198e-05, 5.9077e-05, 6.1243e-06},
    {3.3893e-02, 5.3837e-03, 1.8748e-03, 8.9508e-03, 1.2864e-03},
    {1.2737e-03, 2.3045e-04, 4.0346e-05, 2.2320e-04, 2.4324e-05},
    {4.6489e-05, 8.2314e-06, 2.1932e-06, 5.0304e-06, 4.1156e-07},
    {8.8506e-03, 1.5380e-03, 3.2667e-04, 2.6577e-03, 3.0108e-04},
    {1.9758e-04, 3.5136e-05, 1.1150e-05, 3.2213e-05, 2.9995e-06},
    {3.1712e-06, 5.7368e-07, 1.4295e-07, 3.5829e-07, 2.4190e-08},
    {2.3523e-03, 3.9781e-04, 1.1927e-04, 6.8938e-04, 6.6713e-05},
    {2.1255e-05, 3.9637e-06, 6.0651e-07, 3.9668e-06, 3.0352e-07},
    {1.8652e-07, 3.4382e-08, 8.0346e-09, 2.1888e-08, 1.2501e-09},
};
/* Table 2, k = 0: lambda = 1, 1e3, 1e6, four meshes each. */
static const double table2[][N_COLUMNS] = {
    {9.96e-01, 2.16e-01, 1.42e-02, 7.80e-02, 2.15e-01}, {6.87e-01, 1.27e-01, 1.45e-02, 4.05e-02, 1.24e-01},
    {3.87e-01, 6.65e-02, 8.98e-03, 1.60e-02, 6.42e-02}, {2.01e-01, 3.35e-02, 4.73e-03, 5.80e-03, 3.22e-02},
    {9.96e-01, 2.16e-01, 4.66e-05, 7.77e-02, 2.15e-01}, {6.86e-01, 1.27e-01, 4.39e-05, 4.05e-02, 1.24e-01},
    {3.87e-01, 6.65e-02, 2.58e-05, 1.60e-02, 6.41e-02}, {2.01e-01, 3.35e-02, 1.30e-05, 5.80e-03, 3.21e-02},
    {9.96e-01, 2.16e-01, 4.67e-08, 7.77e-02, 2.15e-01}, {6.86e-01, 1.27e-01, 4.40e-08, 4.05e-02, 1.24e-01},
    {3.87e-01, 6.65e-02, 2.58e-08, 1.60e-02, 6.41e-02}, {2.01e-01, 3.35e-02, 1.30e-08, 5.80e-03, 3.21e-02},
};
/* Table 3, k = 1. */
static const double table3[][N_COLUMNS] = {
    {3.46e-01, 8.23e-02, 1.80e-02, 5.96e-02, 1.30e-02}, {1.26e-01, 2.55e-02, 6.15e-03, 1.50e-02, 2.54e-03},
    {3.57e-02, 7.05e-03, 1.65e-03, 2.95e-03, 3.91e-04}, {9.34e-03, 1.83e-03, 4.18e-04, 5.37e-04, 5.29e-05},
    {3.44e-01, 8.16e-02, 6.03e-05, 5.93e-02, 1.38e-02}, {1.26e-01, 2.55e-02, 1.76e-05, 1.50e-02, 2.64e-03},
    {3.56e-02, 7.04e-03, 4.49e-06, 2.95e-03, 4.00e-04}, {9.33e-03, 1.83e-03, 1.11e-06, 5.37e-04, 5.38e-05},
    {3.44e-01, 8.16e-02, 6.05e-08, 5.93e-02, 1.38e-02}, {1.26e-01, 2.55e-02, 1.76e-08, 1.50e-02, 2.64e-03},
    {3.56e-02, 7.04e-03, 4.50e-09, 2.95e-03, 4.00e-04}, {9.33e-03, 1.83e-03, 1.25e-09, 5.37e-04, 5.38e-05},
};

/* ------------------------------------------------------------------------------------------ rules */

static int is_face(enum hdg_use use) {
    return use == HDG_BOUNDARY || use == HDG_NORM_FACE;
}

static int is_cell(enum hdg_use use) {
    return use == HDG_SOURCE || use == HDG_NORM || use == HDG_NORM_STAR;
}

static facet_status rule1(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule) {
    if (is_face(use)) return rule_create_grundmann_moeller(shape, degree + 1, rule);
    if (is_cell(use)) return rule_create_grundmann_moeller(shape, 3 * degree / 2 + 1, rule);
    return hdg_default_rule(use, shape, degree, order, rule);
}

static facet_status rule2(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule) {
    if (is_face(use)) return rule_create_symmetric(shape, 6, rule);
    if (is_cell(use)) return rule_create_symmetric(shape, 14, rule);
    return hdg_default_rule(use, shape, degree, order, rule);
}

static facet_status rule3(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule) {
    if (is_face(use)) return rule_create_symmetric(shape, 6, rule);
    if (is_cell(use)) return rule_create_symmetric(shape, 4, rule);
    return hdg_default_rule(use, shape, degree, order, rule);
}

/* ------------------------------------------------------------------------------------------ tables */

static double sum(int n, const double *values) {
    double total = 0.0;
    for (int i = 0; i < n; i++) total += values[i];
    return total;
}

static void pick_printed(const struct hdg_errors *e, double epsilon, double *five) {
    five[0] = sum(9, e->H_component);
    five[1] = sum(3, e->u_component);
    five[2] = epsilon * e->p_L2;
    five[3] = sum(3, e->trace_area_component);
    five[4] = sum(3, e->u_star_component);
}

static void pick_true(const struct hdg_errors *e, double epsilon, double *five) {
    five[0] = e->H_L2;
    five[1] = e->u_L2;
    five[2] = epsilon * e->p_L2;
    five[3] = e->trace_L2;
    five[4] = e->u_star_L2;
}

/* A printed table, and where its rows are: table[row * n_meshes + mesh]. */
struct printed {
    const char *name, *title;
    const struct fabien2019_problem *problem;
    hdg_rule_maker maker;
    int n_rows, n_meshes;
    int digits; /* behind the point */
    const double (*values)[N_COLUMNS];
};

static facet_status row(const struct bench_options *options, const struct printed *t, int r, int mesh,
                        struct table *table, double *exact) {
    facet_status status = FACET_OK;
    struct fabien2019_run run = {0};
    struct hdg_errors errors;
    const double *paper = t->values[r * t->n_meshes + mesh];
    int second = t->n_rows == 3; /* Tables 2 and 3 go through lambda */
    struct fabien2019_case c = {.problem = t->problem,
                                .lambda = second ? pow(1000.0, r) : 1.0,
                                .cells = 2 << mesh,
                                .degree = !second             ? r
                                          : t->maker == rule3 ? 1
                                                              : 0,
                                .tau = bench_tau(options),
                                .method = "direct"};
    c.rtol = 1e-14 * fmax(1e3, c.lambda); /* what rounding leaves grows with lambda */
    double epsilon = 1.0 / (1.0 + c.lambda), ours[N_COLUMNS];
    TRY(fabien2019_create(options, &c, &run));
    TRY(fabien2019_solve(&run, &errors));
    pick_true(&errors, epsilon, exact);
    TRY(fabien2019_solve_again(&run, t->maker, &errors));
    pick_printed(&errors, epsilon, ours);
    table_cell(table, "%d", c.degree);
    table_cell(table, "%g", c.lambda);
    table_cell(table, "%d", 6 * c.cells * c.cells * c.cells);
    for (int i = 0; i < N_COLUMNS; i++) {
        table_cell(table, "%.*e", t->digits, paper[i]);
        table_cell(table, "%.*e", t->digits, ours[i]);
        table_cell(table, "%.*e", t->digits, exact[i]);
    }
done:
    fabien2019_destroy(&run);
    return status;
}

static void rates(const char *name, int tets, const double *before, const double *now, struct table *table) {
    table_cell(table, "%s", name);
    table_cell(table, "%d", tets);
    for (int i = 0; i < N_COLUMNS; i++) table_cell(table, "%.2f", log2(before[i] / now[i]));
}

/* The largest mesh of a row: the quick run and high degrees stop earlier. */
static int meshes(const struct bench_options *options, const struct printed *t, int r) {
    if (options->quick) return 2;
    return t->n_meshes == 3 && r > 4 ? 2 : t->n_meshes;
}

static facet_status run_table(const struct bench_options *options, const struct printed *t,
                              struct table *of_rates) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct text title = {0};
    static const char *const headers[] = {"k",           "lambda", "tets", "H paper",     "ours", "true",
                                          "u paper",     "ours",   "true", "eps p paper", "ours", "true",
                                          "trace paper", "ours",   "true", "u* paper",    "ours", "true"};
    TRY(table_create(18, headers, &table));
    int n_rows = options->quick && t->n_rows > 4 ? 5 : t->n_rows;
    for (int r = 0; r < n_rows; r++) {
        double before[N_COLUMNS], now[N_COLUMNS];
        for (int mesh = 0; mesh < meshes(options, t, r); mesh++) {
            char name[64];
            TRY(row(options, t, r, mesh, table, now));
            if (t->n_rows == 3)
                snprintf(name, sizeof name, "%s, lambda = %g", t->name, pow(1000.0, r));
            else
                snprintf(name, sizeof name, "%s, k = %d", t->name, r);
            if (mesh > 0) rates(name, 48 << 3 * mesh, before, now, of_rates);
            memcpy(before, now, sizeof before);
            TRY(base_check_interrupt());
        }
        table_rule(table);
    }
    text_printf(&title,
                "%s Columns: the paper's; ours measured its way (sums of component norms, its points, faces "
                "weighted by their area); ours in true norms of the whole vector or tensor. tau = %s.",
                t->title, bench_tau(options));
    TRY(title.status);
    TRY(bench_emit(options, t->name, title.data, table));
done:
    text_free(&title);
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2019_accuracy(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *of_rates = NULL;
    static const char *const headers[] = {"table", "tets", "H", "u", "p", "trace", "u*"};
    const struct printed tables[] = {
        {"fabien2019-table1", "fabien2019, Table 1: mu = lambda = 1, k = 0..6.", &fabien2019_manufactured,
         rule1, 7, 3, 4, table1},
        {"fabien2019-table2", "fabien2019, Table 2: nearly incompressible, k = 0.", &fabien2019_nearly, rule2,
         3, 4, 2, table2},
        {"fabien2019-table3", "fabien2019, Table 3: nearly incompressible, k = 1.", &fabien2019_nearly, rule3,
         3, 4, 2, table3}};
    TRY(table_create(7, headers, &of_rates));
    for (int i = 0; i < 3; i++) {
        TRY(run_table(options, &tables[i], of_rates));
        table_rule(of_rates);
    }
    TRY(bench_emit(
        options, "fabien2019-rates",
        "fabien2019: rates of the true norms against the next coarser mesh. Expected: k+1 for H, u and "
        "p; k+1/2 for the trace, over all faces; k+2 for u* when k >= 1.",
        of_rates));
done:
    table_destroy(&of_rates);
    return status;
}
