/* One solve on a box, measured: what the accuracy tables of the papers are made of. */
#ifndef FACET_BENCH_ACCURACY_H
#define FACET_BENCH_ACCURACY_H

#include "problem/mapped_backend.h"

struct accuracy_case {
    const char *shape; /* of the n x n cells of the unit square */
    int cells, degree;
    const char *exact, *conductivity, *reaction, *tau; /* reaction NULL: none */
    hdg_rule_maker maker;                              /* NULL: true norms */
};
facet_status accuracy_run(const struct accuracy_case *a, struct hdg_errors *errors);

#endif
