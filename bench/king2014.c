/* king2014, Table 1: errors of the Helmholtz problem on 40 x 40 quads, each split into two triangles.
 *
 * The printed numbers were measured with the source and both norms on a collapsed rule of (P+2) Gauss-Lobatto
 * times (P+1) Gauss-Radau(1,0) points; from P = 5 on they show that code's solver tolerance. So three
 * columns: the paper's, ours measured its way, ours in the true norm.
 */
#include <math.h>

#include "bench/accuracy.h"
#include "bench/bench.h"
#include "bench/king2014.h"
#include "bench/papers/rules.h"
#include "io/table.h"

#define CELLS 40

/* James King et al., J. Sci. Comput. (2014), Table 1. */
static const struct {
    double Linf, L2;
} printed[] = {{1.59334e-02, 3.95318e-03}, {4.95546e-04, 8.04917e-05}, {1.10739e-05, 1.3446e-06},
               {1.93802e-07, 1.88309e-08}, {5.71909e-09, 1.07007e-09}, {1.40495e-08, 4.63559e-09},
               {2.46212e-08, 5.77189e-09}, {5.19398e-08, 1.44714e-08}, {1.17087e-07, 2.92382e-08}};

static facet_status paper_rule(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule) {
    if (use == HDG_SOURCE || use == HDG_NORM)
        return rule_create_collapsed_lobatto_radau(degree + 2, degree + 1, rule);
    return hdg_default_rule(use, shape, degree, order, rule);
}

static facet_status table1(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct text title = {0};
    static const char *const headers[] = {"P",           "Linf paper", "Linf its way", "Linf true",
                                          "L2 paper",    "L2 its way", "L2 true",      "its way/paper",
                                          "order paper", "order true"};
    double before = 0.0;
    TRY(table_create(10, headers, &table));
    for (int P = 1; P <= (options->quick ? 4 : 9); P++) {
        struct accuracy_case a = {.shape = "triangle",
                                  .cells = CELLS,
                                  .degree = P,
                                  .exact = "sin(2*pi*x)*sin(2*pi*y)",
                                  .conductivity = "1",
                                  .reaction = "1",
                                  .tau = bench_tau(options)};
        struct hdg_errors its_way, exact;
        TRY(accuracy_run(&a, &exact));
        a.maker = paper_rule;
        TRY(accuracy_run(&a, &its_way));
        table_cell(table, "%d", P);
        table_cell(table, "%.5e", printed[P - 1].Linf);
        table_cell(table, "%.5e", its_way.u_Linf);
        table_cell(table, "%.5e", exact.u_Linf);
        table_cell(table, "%.5e", printed[P - 1].L2);
        table_cell(table, "%.5e", its_way.u_L2);
        table_cell(table, "%.5e", exact.u_L2);
        table_cell(table, "%.5f", its_way.u_L2 / printed[P - 1].L2);
        if (P == 1) {
            table_cell(table, "-");
            table_cell(table, "-");
        } else {
            table_cell(table, "%.2f", log2(printed[P - 2].L2 / printed[P - 1].L2));
            table_cell(table, "%.2f", log2(before / exact.u_L2));
        }
        before = exact.u_L2;
    }
    text_printf(&title,
                "king2014, Table 1: lambda = 1, tau = %s%s, u = sin(2 pi x) sin(2 pi y), 3200 triangles. "
                "The order is log2(E(P-1)/E(P)).",
                bench_tau(options), options->tau != NULL ? " (1 in the paper)" : "");
    TRY(title.status);
    TRY(bench_emit(options, "king2014-table1", title.data, table));
done:
    text_free(&title);
    table_destroy(&table);
    return status;
}

facet_status bench_king2014(const struct bench_options *options) {
    facet_status status = table1(options);
    return status == FACET_OK ? king2014_stages(options) : status;
}
