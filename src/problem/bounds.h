/* What samples of a field in a region (a cell, or a face) say of its extremes: no value of a polynomial is
 * further from the range of its samples than peak_reach allows. */
#ifndef FACET_PROBLEM_BOUNDS_H
#define FACET_PROBLEM_BOUNDS_H

#include "base/status.h"
#include "poly/shape.h"

/* The greatest value of sign * size is sought: of a component, or of the magnitude of all of them. */
struct sought {
    int components, one, first; /* one: component `first` counts, else (first 0) the magnitude of all */
    double sign;
};
double sought_size(const struct sought *what, const double *v);

/* Samples of a shape; reach: a polynomial whose samples lie in [-1, 1] is at most this. slopes: of a linear
 * function like it, as weights of the samples at the vertices. quadratic: Bernstein polynomials of simplices
 * at the samples, of the vertices and then of the edges, whose midpoints are samples; else NULL. */
enum { LATTICE_MOST_EDGES = 6, LATTICE_MOST_CONTROLS = 10 };
struct lattice {
    int n, dim, n_vertices, vertices[SHAPE_MAX_VERTICES], n_edges, middles[LATTICE_MOST_EDGES];
    double *xi, reach, slopes[3][SHAPE_MAX_VERTICES], *quadratic;
};
facet_status lattice_create(enum shape shape, int order, double reach, struct lattice *lattice);
void lattice_destroy(struct lattice *lattice); /* safe on a zeroed struct, and twice */

/* What samples say of a region: their least and greatest, and what no value exceeds. */
struct seen {
    double least, most, upper;
};
/* Of the range of one number at every sample. */
void bounds_of_range(const struct sought *what, double reach, double lower, double upper, struct seen *seen);
/* values: n x components. */
void bounds_of_samples(const struct sought *what, const struct lattice *lattice, const double *values,
                       struct seen *seen);
/* A lower `upper`, which costs more, and most where `enough` is not reached without. work: 2 n numbers. */
double bounds_sharpen(const struct sought *what, const struct lattice *lattice, const double *values,
                      double enough, double *work);

#endif
