/* What a bench is measured by: a table of targets, what was measured, and whether it was met. */
#ifndef FACET_BENCH_TARGETS_H
#define FACET_BENCH_TARGETS_H

#include "bench/bench.h"

struct targets {
    struct table *table;
};
facet_status targets_create(struct targets *targets);
void targets_destroy(struct targets *targets); /* safe on a zeroed struct, and twice */
/* measured NAN: it was not measured. */
void targets_at_least(struct targets *targets, const char *what, double limit, double measured);
void targets_at_most(struct targets *targets, const char *what, double limit, double measured);
facet_status targets_emit(const struct bench_options *options, const char *name, struct targets *targets);

/* The smaller and the larger of two, a NAN being no number yet. */
double targets_lower(double a, double b);
double targets_upper(double a, double b);

#endif
