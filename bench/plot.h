/* Figures of bench results: a data file with title, axes and series, and pictures of it when they are asked
 * for. */
#ifndef FACET_BENCH_PLOT_H
#define FACET_BENCH_PLOT_H

#include "bench/bench.h"

#define PLOT_MAX_SERIES 16
#define PLOT_MAX_POINTS 128

struct plot_series {
    const char *label;
    const char *style; /* gnuplot's "with ...": "lines", "points", "linespoints" */
    int n;
    double x[PLOT_MAX_POINTS], y[PLOT_MAX_POINTS];
};
struct plot {
    const char *name; /* of the files, without ending */
    const char *title, *x_label, *y_label;
    int log;   /* both axes logarithmic */
    int log_x; /* that of x only */
    int log_y; /* that of y only */
    int n_series;
    struct plot_series series[PLOT_MAX_SERIES];
};

/* A new series; NULL when there are too many, which plot_point takes for "nowhere". */
struct plot_series *plot_add(struct plot *plot, const char *label, const char *style);
void plot_point(struct plot_series *series, double x, double y);
/* Writes NAME.dat into the output folder (none: does nothing). */
facet_status plot_write(const struct bench_options *options, const struct plot *plot);
/* Draws a .dat file, or all of a directory, as .png and .svg beside the data or in a folder of their own
 * (NULL: beside), by gnuplot. */
facet_status plot_draw(const char *path, const char *folder);

#endif
