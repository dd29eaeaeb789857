/* The parts of the king2014 bench. */
#ifndef FACET_BENCH_KING2014_H
#define FACET_BENCH_KING2014_H

#include "bench/bench.h"

/* Tables 2 to 6. */
facet_status king2014_stages(const struct bench_options *options);

#endif
