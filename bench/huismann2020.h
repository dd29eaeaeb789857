/* The parts of the huismann2020 bench. Sections and figures are those of the paper; its curves are not in the
 * text, so that only what the text says of them stands beside ours. */
#ifndef FACET_BENCH_HUISMANN2020_H
#define FACET_BENCH_HUISMANN2020_H

#include "bench/bench.h"
#include "bench/rival.h"

/* Section 5.3: k = 5, tau = 25, (0, 2 pi)^3; --tau replaces tau. */
struct wave_case huismann2020_case(const struct bench_options *options, int cells, int degree);
#define HUISMANN2020_RTOL 1e-10

/* Fastest of ours with a preconditioner; N_RIVALS: none was run. */
enum rival_kind huismann2020_best(const struct contest *contest);

/* Tables of contests, one row each: iterations; microseconds per unknown; errors; what the stages and the
 * memory are. label: the heading of the first column, which is the degree or the cells. */
struct huismann2020_rows {
    const char *name, *title; /* of the files; what the title of every table begins with */
    int by_cells;             /* rows are numbered by cells, not by degree */
    unsigned kinds;
    int n;
    struct contest *rows;
};
facet_status huismann2020_emit(const struct bench_options *options, const struct huismann2020_rows *rows);
facet_status huismann2020_draw(const struct bench_options *options, const struct huismann2020_rows *rows);
/* Pre- and post-processing over the solve, of our fastest solver; with_guess: the hybridization too. */
double huismann2020_share(const struct contest *contest, int with_guess);

#endif
