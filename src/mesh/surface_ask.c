/* What a surface tells about points: how many cells are around them, and what of it is nearest. */
#include <math.h>
#include <string.h>

#include "mesh/surface.h"

/* ------------------------------------------------------------------------------------------ around */

struct ray {
    const struct mesh_surface *surface;
    const double *x;
    int axis, up, count;
};

/* Which side of the edge from p to q, in the plane of axes b and c, a point lies on: 1 left, 0 right. Both
 * triangles at an edge ask the same question, and a point on the edge lies in one of them. */
static int is_left(int b, int c, const double *p, const double *q, const double *x, double *area) {
    int swapped = 0;
    for (int a = 0, decided = 0; a < 3 && !decided; a++) {
        decided = p[a] != q[a];
        swapped = q[a] < p[a];
    }
    const double *from = swapped ? q : p, *to = swapped ? p : q;
    double value = (to[b] - from[b]) * (x[c] - from[c]) - (to[c] - from[c]) * (x[b] - from[b]);
    *area = swapped ? -value : value;
    return (value >= 0) != swapped;
}

/* Where the line along the axis through x meets a triangle, and from which side: 0 nowhere. */
static int meet_triangle(int axis, const double *corners, const double *x, double *where) {
    int b = (axis + 1) % 3, c = (axis + 2) % 3, left = 0;
    double areas[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        left += is_left(b, c, corners + 3 * k, corners + 3 * ((k + 1) % 3), x, &areas[k]);
        sum += areas[k];
    }
    if ((left != 3 && left != 0) || sum == 0 || (sum > 0) != (left == 3)) return 0;
    *where = 0;
    for (int k = 0; k < 3; k++) *where += areas[k] / sum * corners[3 * ((k + 2) % 3) + axis];
    return sum > 0 ? 1 : -1;
}

static int meet_segment(int axis, const double *corners, const double *x, double *where) {
    int b = 1 - axis;
    const double *p = corners, *q = corners + 2;
    if ((p[b] <= x[b]) == (q[b] <= x[b])) return 0;
    *where = p[axis] + (x[b] - p[b]) / (q[b] - p[b]) * (q[axis] - p[axis]);
    return (q[b] > p[b]) == (axis == 0) ? 1 : -1; /* the normal is (t_y, -t_x) */
}

static int visit_crossing(void *user, int32_t piece) {
    struct ray *ray = user;
    double corners[9], where;
    int dim = ray->surface->dim;
    surface_corners(ray->surface, piece, corners);
    int side = dim == 2 ? meet_segment(ray->axis, corners, ray->x, &where)
                        : meet_triangle(ray->axis, corners, ray->x, &where);
    if (side != 0 && (ray->up ? where > ray->x[ray->axis] : where < ray->x[ray->axis]))
        ray->count += ray->up ? side : -side;
    return 0;
}

int surface_count_around(const struct mesh_surface *surface, const double *x, int direction) {
    struct ray ray = {.surface = surface, .x = x, .axis = direction / 2, .up = direction % 2};
    double lower[3], upper[3];
    memcpy(lower, x, (size_t)surface->dim * sizeof *x);
    memcpy(upper, x, (size_t)surface->dim * sizeof *x);
    *(ray.up ? &upper[ray.axis] : &lower[ray.axis]) = ray.up ? INFINITY : -INFINITY;
    mesh_tree_query(&surface->tree, lower, upper, visit_crossing, &ray);
    return ray.count;
}

/* ------------------------------------------------------------------------------------------ nearest */

static double distance_between(int dim, const double *x, const double *y) {
    double square = 0;
    for (int a = 0; a < dim; a++) square += (x[a] - y[a]) * (x[a] - y[a]);
    return sqrt(square);
}

static double nearest_on_edge(int dim, const double *p, const double *q, const double *x, double *y) {
    double along = 0, square = 0;
    for (int a = 0; a < dim; a++) {
        along += (x[a] - p[a]) * (q[a] - p[a]);
        square += (q[a] - p[a]) * (q[a] - p[a]);
    }
    double t = square > 0 ? fmin(fmax(along / square, 0), 1) : 0;
    for (int a = 0; a < dim; a++) y[a] = p[a] + t * (q[a] - p[a]);
    return distance_between(dim, x, y);
}

/* The foot of the perpendicular, where it lies inside. */
static int is_over_triangle(const double *corners, const double *x, double *y) {
    double n[3], height = 0;
    if (!surface_normal(3, corners, n)) return 0;
    for (int a = 0; a < 3; a++) height += (x[a] - corners[a]) * n[a];
    for (int a = 0; a < 3; a++) y[a] = x[a] - height * n[a];
    for (int k = 0; k < 3; k++) {
        const double *p = corners + 3 * k, *q = corners + 3 * ((k + 1) % 3);
        double side = 0;
        for (int a = 0; a < 3; a++) {
            int b = (a + 1) % 3, c = (a + 2) % 3;
            side += n[a] * ((q[b] - p[b]) * (y[c] - p[c]) - (q[c] - p[c]) * (y[b] - p[b]));
        }
        if (side < 0) return 0;
    }
    return 1;
}

double surface_nearest_flat(int dim, const double *corners, const double *x, double *y) {
    double best = INFINITY, foot[3];
    if (dim == 2) return nearest_on_edge(2, corners, corners + 2, x, y);
    if (is_over_triangle(corners, x, y)) return distance_between(3, x, y);
    for (int k = 0; k < 3; k++) {
        double away = nearest_on_edge(3, corners + 3 * k, corners + 3 * ((k + 1) % 3), x, foot);
        if (away >= best) continue;
        best = away;
        memcpy(y, foot, sizeof foot);
    }
    return best;
}

/* Gauss-Newton for the point of a face nearest to x, over s = from + sum of t_k directions_k, k < n; of one
 * direction t stays in [0, 1]. t: first guess and result. */
static facet_status descend(const struct mesh_surface *surface, const struct surface_face *face, int n,
                            const double *from, double directions[2][2], const double *x, double *t,
                            double *y) {
    enum { MOST_STEPS = 30 };
    facet_status status = FACET_OK;
    int dim = surface->dim, rdim = dim - 1;
    const double *nodes = surface->nodes + face->nodes * dim;
    for (int k = 0; k <= MOST_STEPS; k++) {
        double s[2], J[6], A[4] = {0}, r[2] = {0}, step[2] = {0};
        for (int b = 0; b < rdim; b++) {
            s[b] = from[b];
            for (int m = 0; m < n; m++) s[b] += t[m] * directions[m][b];
        }
        TRY(mesh_point_map((enum shape)face->shape, surface->order, dim, nodes, s, y, J));
        if (k == MOST_STEPS) break;
        for (int a = 0; a < dim; a++) {
            double slope[2] = {0};
            for (int m = 0; m < n; m++)
                for (int b = 0; b < rdim; b++) slope[m] += J[a * rdim + b] * directions[m][b];
            for (int m = 0; m < n; m++) {
                r[m] += slope[m] * (x[a] - y[a]);
                for (int l = 0; l < n; l++) A[m * n + l] += slope[m] * slope[l];
            }
        }
        double determinant = n == 1 ? A[0] : A[0] * A[3] - A[1] * A[2];
        if (!(determinant > 0)) break;
        step[0] = n == 1 ? r[0] / A[0] : (A[3] * r[0] - A[1] * r[1]) / determinant;
        if (n == 2) step[1] = (A[0] * r[1] - A[2] * r[0]) / determinant;
        double moved = 0;
        for (int m = 0; m < n; m++) {
            double before = t[m];
            t[m] = n == 1 ? fmin(fmax(t[m] + step[m], 0), 1) : fmin(fmax(t[m] + step[m], -0.25), 1.25);
            moved = fmax(moved, fabs(t[m] - before));
        }
        if (moved < 1e-14) break;
    }
done:
    return status;
}

/* The nearest point of a face, from a guess: inside of it, or on one of its edges. */
static facet_status nearest_on_face(const struct mesh_surface *surface, const struct surface_face *face,
                                    const double *guess, const double *x, double *y, double *distance) {
    facet_status status = FACET_OK;
    enum shape shape = (enum shape)face->shape;
    int rdim = surface->dim - 1, n = shape_n_vertices(shape);
    const double *vertices = shape_vertices(shape), zero[2] = {0, 0};
    double axes[2][2] = {{1, 0}, {0, 1}}, t[2] = {guess[0], guess[1]}, found[3];
    *distance = INFINITY;
    TRY(descend(surface, face, rdim, zero, axes, x, t, found));
    if (mesh_outside_by(shape, t) <= 1e-12) {
        memcpy(y, found, (size_t)surface->dim * sizeof *y);
        *distance = distance_between(surface->dim, x, y);
    }
    for (int e = 0; rdim == 2 && e < n; e++) {
        const double *p = vertices + 2 * e, *q = vertices + 2 * ((e + 1) % n);
        double along[2][2] = {{q[0] - p[0], q[1] - p[1]}, {0, 0}}, at[1] = {0.5};
        TRY(descend(surface, face, 1, p, along, x, at, found));
        double away = distance_between(3, x, found);
        if (away < *distance) {
            *distance = away;
            memcpy(y, found, sizeof found);
        }
    }
done:
    return status;
}

struct nearest {
    const struct mesh_surface *surface;
    const double *x;
    double lower[3], upper[3]; /* nothing beyond them is near enough */
    double slack;              /* what is farther by this much is looked at as well */
    int refine;                /* the faces themselves, not their pieces */
    double distance, y[3];
    int32_t face;
    facet_status status;
};

static void narrow(struct nearest *n) {
    for (int a = 0; a < n->surface->dim; a++) {
        n->lower[a] = n->x[a] - n->distance - n->slack;
        n->upper[a] = n->x[a] + n->distance + n->slack;
    }
}

/* Where a point of a piece lies in the reference face, about: by its distances from the corners. */
static void guess_place(const struct mesh_surface *s, int32_t piece, const double *corners, const double *y,
                        double *guess) {
    double lattice[2 * (MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1)], sum = 0;
    shape_nodes((enum shape)s->faces[s->pieces[piece].face].shape, s->order, lattice);
    guess[0] = guess[1] = 0;
    for (int k = 0; k < s->dim; k++) {
        double weight = 1 / (distance_between(s->dim, y, corners + k * s->dim) +
                             1e-12 * s->faces[s->pieces[piece].face].size);
        for (int b = 0; b < s->dim - 1; b++)
            guess[b] += weight * lattice[s->pieces[piece].nodes[k] * (s->dim - 1) + b];
        sum += weight;
    }
    for (int b = 0; b < s->dim - 1; b++) guess[b] /= sum;
}

static int visit_piece(void *user, int32_t piece) {
    struct nearest *n = user;
    const struct mesh_surface *s = n->surface;
    const struct surface_face *face = &s->faces[s->pieces[piece].face];
    double corners[9], y[3], guess[2];
    surface_corners(s, piece, corners);
    double away = surface_nearest_flat(s->dim, corners, n->x, y);
    if (n->refine && face->dent > 0) {
        guess_place(s, piece, corners, y, guess);
        n->status = nearest_on_face(s, face, guess, n->x, y, &away);
        if (n->status != FACET_OK) return 1;
    }
    if (away > n->distance || (away == n->distance && n->face >= 0 && s->pieces[piece].face >= n->face))
        return 0;
    n->distance = away;
    n->face = s->pieces[piece].face;
    memcpy(n->y, y, (size_t)s->dim * sizeof *y);
    narrow(n);
    return 0;
}

facet_status surface_nearest(const struct mesh_surface *surface, const double *x, double *y, int32_t *face,
                             double *distance) {
    struct nearest n = {.surface = surface, .x = x, .distance = INFINITY, .face = -1};
    narrow(&n);
    mesh_tree_query(&surface->tree, n.lower, n.upper, visit_piece, &n);
    if (surface->largest_dent > 0 && n.face >= 0) { /* a face is as near as its pieces, but for dents */
        n.slack = 2 * surface->largest_dent;
        n.refine = 1;
        narrow(&n);
        n.distance = INFINITY;
        n.face = -1;
        mesh_tree_query(&surface->tree, n.lower, n.upper, visit_piece, &n);
    }
    *face = n.face;
    *distance = n.distance;
    memcpy(y, n.y, (size_t)surface->dim * sizeof *y);
    return n.status;
}

/* ------------------------------------------------------------------------------------------ stars */

#define LEAST_HEIGHT 1e-6 /* of the size of a face: from its plane to the middle */

/* Of a segment in the plane, or of a triangle (Van Oosterom and Strackee 1983), seen from the origin. */
static double angle_of(int dim, const double *r) {
    if (dim == 2) return fabs(atan2(r[0] * r[3] - r[1] * r[2], r[0] * r[2] + r[1] * r[3]));
    double volume = 0, length[3] = {0}, product[3] = {0};
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        volume += r[a] * (r[3 + b] * r[6 + c] - r[3 + c] * r[6 + b]);
        for (int d = 0; d < 3; d++) {
            length[a] += r[3 * a + d] * r[3 * a + d];
            product[a] += r[3 * b + d] * r[3 * c + d];
        }
    }
    double below = sqrt(length[0] * length[1] * length[2]);
    for (int k = 0; k < 3; k++) below += product[k] * sqrt(length[k]);
    return 2 * atan2(fabs(volume), below);
}

int surface_is_star(const struct mesh_surface *s) {
    const double pi = acos(-1.0), whole = s->dim == 2 ? 2 * pi : 4 * pi;
    double middle[3] = {0}, r[9], normal[3], sum = 0;
    const int n = s->dim * s->dim;
    for (int32_t p = 0; p < s->n_pieces; p++) {
        surface_corners(s, p, r);
        for (int i = 0; i < n; i++) middle[i % s->dim] += r[i] / s->dim / s->n_pieces;
    }
    for (int32_t p = 0; p < s->n_pieces; p++) {
        double height = 0;
        surface_corners(s, p, r);
        if (!surface_normal(s->dim, r, normal)) return 0;
        for (int i = 0; i < n; i++) r[i] -= middle[i % s->dim];
        for (int a = 0; a < s->dim; a++) height += r[a] * normal[a];
        if (!(height > LEAST_HEIGHT * s->faces[s->pieces[p].face].size)) return 0;
        sum += angle_of(s->dim, r);
    }
    return fabs(sum - whole) < 0.1 * whole;
}
