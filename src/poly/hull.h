/* The point of the convex hull of some points that is nearest to the origin, by Gilbert's method (1966): from
 * a point of the hull towards that of the given points which is farthest in the direction of the origin. */
#ifndef FACET_POLY_HULL_H
#define FACET_POLY_HULL_H

#define HULL_MOST 16 /* dimensions */

/* points: dim rows of `count` numbers; room: 2 x count numbers. Returns what no point of the hull is nearer
 * than, up to rounding, and a point x of it, about as near; both are good enough to tell that the hull is
 * farther than `hopeless`, or that it is not. */
double hull_distance(int dim, int count, const double *points, double hopeless, double *room, double *x);

#endif
