/* The nearest point of a convex hull. */
#include "poly/hull.h"

#include <math.h>
#include <stddef.h>

#define MOST_STEPS 24
#define ROUNDING   1e-14 /* of the farthest point */

static int lowest(int count, const double *values) {
    int at = 0;
    for (int i = 1; i < count; i++)
        if (values[i] < values[at]) at = i;
    return at;
}

/* sums[i] = the sum of weights[d] points[d][i]; weights NULL: of squares of points. */
static void add_up(int dim, int count, const double *weights, const double *points, double *sums) {
    for (int i = 0; i < count; i++) sums[i] = 0.0;
    for (int d = 0; d < dim; d++, points += count)
        for (int i = 0; i < count; i++) sums[i] += (weights != NULL ? weights[d] : points[i]) * points[i];
}

double hull_distance(int dim, int count, const double *points, double hopeless, double *room, double *x) {
    double *squares = room, *along = room + count, bound = 0.0, farthest = 0.0;
    add_up(dim, count, NULL, points, squares);
    for (int i = 0; i < count; i++) farthest = fmax(farthest, squares[i]);
    const int first = lowest(count, squares);
    for (int d = 0; d < dim; d++) x[d] = points[d * count + first];
    for (int step = 0; step < MOST_STEPS; step++) {
        double square = 0.0;
        for (int d = 0; d < dim; d++) square += x[d] * x[d];
        if (!(square > hopeless * hopeless)) break;
        add_up(dim, count, x, points, along);
        const int at = lowest(count, along);
        bound = fmax(bound, along[at] / sqrt(square));
        const double gap = square - along[at], length = squares[at] - 2.0 * along[at] + square;
        if (!(gap > 1e-3 * square) || !(length > 0.0)) break;
        const double part = fmin(gap / length, 1.0);
        for (int d = 0; d < dim; d++) x[d] += part * (points[d * count + at] - x[d]);
    }
    return fmax(bound - ROUNDING * sqrt(farthest), 0.0);
}
