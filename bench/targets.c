/* Targets beside what was measured. */
#include "bench/targets.h"

#include <math.h>

facet_status targets_create(struct targets *t) {
    static const char *const headers[] = {"target", "limit", "measured", "met"};
    return table_create(4, headers, &t->table);
}

void targets_destroy(struct targets *t) {
    table_destroy(&t->table);
}

static void add(struct targets *t, const char *what, const char *sign, double limit, double measured,
                int met) {
    table_cell(t->table, "%s", what);
    table_cell(t->table, "%s %.4g", sign, limit);
    if (isnan(measured)) {
        table_cell(t->table, "-");
        table_cell(t->table, "not measured");
        return;
    }
    table_cell(t->table, "%.3g", measured);
    table_cell(t->table, "%s", met ? "yes" : "no");
}

void targets_at_least(struct targets *t, const char *what, double limit, double measured) {
    add(t, what, ">=", limit, measured, measured >= limit);
}

void targets_at_most(struct targets *t, const char *what, double limit, double measured) {
    add(t, what, "<=", limit, measured, measured <= limit);
}

facet_status targets_emit(const struct bench_options *options, const char *name, struct targets *t) {
    return bench_emit(options, name,
                      options->quick
                          ? "Targets are those of the whole bench; --quick takes tiny sizes, which say "
                            "nothing about them."
                          : "What was to be reached, and what this run measured.",
                      t->table);
}

double targets_lower(double a, double b) {
    return isnan(a) || b < a ? b : a;
}

double targets_upper(double a, double b) {
    return isnan(a) || b > a ? b : a;
}
