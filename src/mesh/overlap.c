/* Do cells occupy the same space? Let m(x) be the number of cells around x. It changes across the surface of
 * the mesh (surface.h) only. So m > 1 somewhere if and only if two pieces of the surface cross each other, or
 * a piece has m > 1 on its inner side; and where no pieces cross, m is the same along all of a closed
 * surface. Pieces that cross are found by the tree of their boxes, and m by the pieces that a ray from x out
 * of the mesh goes through: the work is that of the surface, not of the cells. Of a star (convex bodies are
 * stars) m is known without that.
 *
 * What is no overlap: faces that share a vertex, which cells with positive Jacobians keep apart; faces that
 * touch or coincide; and bodies that reach into each other by less than both faces' errors of the geometry
 * together, as curved bodies do that were meshed apart from each other and touch.
 *
 * By the divergence theorem the volume that is there more than once is
 *
 *     V = integral of f(m(x)), f(m) = max(m - 1, 0),     V = sum over pieces of <[f] (x_a - c), n_a>,
 *
 * with the jump [f] from the inner side to the outer one, any c and any direction a. Where m changes by one
 * across a piece [f] = f(m_in) - f(m_out); where several pieces lie at one place each has its share. Only
 * pieces that are cut by the overlap are integrated approximately, and the direction is that of the largest
 * ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/part.h"
#include "mesh/surface.h"
#include "poly/rule.h"

#define SIDE_STEP   1e-6    /* from a face to its sides, of its size; and what counts as touching */
#define MOST_POINTS 2000000 /* of the measurement */
#define MOST_DEGREE 31      /* of the rule on a piece in 3D, in 2D its eightfold */

/* ------------------------------------------------------------------------------------------ the look */

/* A place where two cells are. piece: the first by whose look it was found, -1: there is none. */
struct finding {
    int64_t piece;
    int64_t cells[2]; /* about */
    double x[3];
};

struct plane {
    double corners[9], normal[3];
};

static int piece_plane(const struct mesh_surface *s, int32_t piece, struct plane *plane) {
    surface_corners(s, piece, plane->corners);
    return surface_normal(s->dim, plane->corners, plane->normal);
}

static int n_vertices(const struct surface_face *face) {
    int n = SHAPE_MAX_FACE_VERTICES;
    while (face->vertices[n - 1] < 0) n--;
    return n;
}

/* Most pairs do, and where is of no interest. */
static int share_vertex(const struct surface_face *a, const struct surface_face *b) {
    const int n = n_vertices(a), m = n_vertices(b);
    int shared = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) shared |= a->vertices[i] == b->vertices[k];
    return shared;
}

/* How far the corners of a piece lie above a plane; whether they lie on both sides, by more than that. */
static int is_on_both_sides(int dim, const struct plane *piece, const struct plane *plane, double tolerance,
                            double *above) {
    double least = INFINITY, most = -INFINITY;
    for (int k = 0; k < dim; k++) {
        above[k] = 0;
        for (int a = 0; a < dim; a++)
            above[k] += (piece->corners[k * dim + a] - plane->corners[a]) * plane->normal[a];
        least = fmin(least, above[k]);
        most = fmax(most, above[k]);
    }
    return least < -tolerance && most > tolerance;
}

/* The two points where the edges of a triangle go through a plane, and their places along a line. */
static void cut_edges(const struct plane *piece, const double *above, const double *line, double points[2][3],
                      double places[2]) {
    int n = 0;
    for (int k = 0; k < 3 && n < 2; k++) {
        int m = (k + 1) % 3;
        if ((above[k] >= 0) == (above[m] >= 0)) continue;
        double t = above[k] / (above[k] - above[m]);
        places[n] = 0;
        for (int a = 0; a < 3; a++) {
            points[n][a] =
                piece->corners[3 * k + a] + t * (piece->corners[3 * m + a] - piece->corners[3 * k + a]);
            places[n] += points[n][a] * line[a];
        }
        n++;
    }
}

/* Whether two pieces, each on both sides of the other's plane, have a common point, and which. */
static int have_common_point(int dim, const struct plane *p, const double *p_above, const struct plane *q,
                             const double *q_above, double *x) {
    if (dim == 2) {
        double t = p_above[0] / (p_above[0] - p_above[1]);
        for (int a = 0; a < 2; a++) x[a] = p->corners[a] + t * (p->corners[2 + a] - p->corners[a]);
        return 1;
    }
    double line[3], points[4][3], places[4];
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        line[a] = p->normal[b] * q->normal[c] - p->normal[c] * q->normal[b];
    }
    cut_edges(p, p_above, line, points, places);
    cut_edges(q, q_above, line, points + 2, places + 2);
    int p_low = places[0] < places[1] ? 0 : 1, q_low = places[2] < places[3] ? 2 : 3;
    int low = places[p_low] > places[q_low] ? p_low : q_low;
    int high = places[1 - p_low] < places[5 - q_low] ? 1 - p_low : 5 - q_low;
    for (int a = 0; a < 3; a++) x[a] = 0.5 * (points[low][a] + points[high][a]);
    return places[low] < places[high];
}

struct pair_look {
    const struct mesh_surface *surface;
    struct finding *found;
};

/* Whether two pieces cross; and the place, a little inside of both. Most pairs are of neighbours. */
static int visit_pair(void *user, int32_t one, int32_t two) {
    const struct pair_look *look = user;
    const struct mesh_surface *s = look->surface;
    const int32_t piece = one < two ? one : two, other = one < two ? two : one;
    const struct surface_face *f = &s->faces[s->pieces[piece].face], *g = &s->faces[s->pieces[other].face];
    struct plane own, plane;
    double above[3], below[3], x[3] = {0}, size = fmin(f->size, g->size);
    if (f == g || share_vertex(f, g) || !piece_plane(s, piece, &own) || !piece_plane(s, other, &plane))
        return 0;
    double tolerance = SIDE_STEP * size;
    if (s->largest_error > 0) tolerance += f->error + f->dent + g->error + g->dent;
    if (!is_on_both_sides(s->dim, &own, &plane, tolerance, above) ||
        !is_on_both_sides(s->dim, &plane, &own, tolerance, below) ||
        !have_common_point(s->dim, &own, above, &plane, below, x))
        return 0;
    *look->found = (struct finding){.piece = piece, .cells = {f->cell, g->cell}};
    for (int a = 0; a < s->dim; a++)
        look->found->x[a] = x[a] - 1e-3 * size * (own.normal[a] + plane.normal[a]);
    return 1;
}

struct near_look {
    const struct mesh_surface *surface;
    const struct surface_face *face;
    const double *x;
    int found;
};

/* A point so near to another face may as well lie on the other side of it. */
static int visit_near(void *user, int32_t piece) {
    struct near_look *look = user;
    const struct mesh_surface *s = look->surface;
    const struct surface_face *face = &s->faces[s->pieces[piece].face];
    double corners[9], y[3];
    if (face == look->face || share_vertex(face, look->face)) return 0;
    surface_corners(s, piece, corners);
    look->found = surface_nearest_flat(s->dim, corners, look->x, y) <=
                  face->error + face->dent + SIDE_STEP * face->size;
    return look->found;
}

/* The axis along which a normal points most. */
static int main_direction(int dim, const double *normal) {
    int best = 0;
    for (int a = 1; a < dim; a++)
        if (fabs(normal[a]) > fabs(normal[best])) best = a;
    return 2 * best + (normal[best] > 0);
}

/* The inner side of a piece, deeper than its error. The point is in none of the places where meshes have
 * their vertices and edges. */
static void look_inside(const struct mesh_surface *s, int32_t piece, const struct plane *plane,
                        struct finding *found) {
    static const double weights[2][3] = {{0.4871, 0.5129, 0}, {0.3517, 0.3361, 0.3122}};
    const struct surface_face *face = &s->faces[s->pieces[piece].face];
    double x[3] = {0}, lower[3], upper[3], depth = SIDE_STEP * face->size;
    if (s->largest_error > 0) depth += face->error + face->dent;
    for (int a = 0; a < s->dim; a++) {
        for (int k = 0; k < s->dim; k++) x[a] += weights[s->dim - 2][k] * plane->corners[k * s->dim + a];
        x[a] -= depth * plane->normal[a];
    }
    if (surface_count_around(s, x, main_direction(s->dim, plane->normal)) < 2) return;
    if (s->largest_error > 0) {
        struct near_look look = {.surface = s, .face = face, .x = x};
        for (int a = 0; a < s->dim; a++) {
            lower[a] = x[a] - 2 * s->largest_error;
            upper[a] = x[a] + 2 * s->largest_error;
        }
        mesh_tree_query(&s->tree, lower, upper, visit_near, &look);
        if (look.found) return;
    }
    *found = (struct finding){.piece = piece, .cells = {face->cell, -1}};
    memcpy(found->x, x, sizeof x);
}

static int32_t leader_of(int32_t *leaders, int32_t i) {
    while (leaders[i] != i) i = leaders[i] = leaders[leaders[i]];
    return i;
}

/* One face of each set of faces that hang together by vertices. */
static facet_status choose_faces(const struct mesh_surface *s, uint8_t *chosen) {
    facet_status status = FACET_OK;
    struct tuple_set set = {0};
    int32_t *leaders = NULL, *firsts = NULL, n = 0;
    TRY(tuple_set_init(&set, 2, SHAPE_MAX_FACE_VERTICES * (int64_t)s->n_faces));
    TRY(ALLOC(leaders, SHAPE_MAX_FACE_VERTICES * (int64_t)s->n_faces));
    TRY(ALLOC(firsts, s->n_faces));
    for (int32_t f = 0; f < s->n_faces; f++)
        for (int v = 0; v < SHAPE_MAX_FACE_VERTICES && s->faces[f].vertices[v] >= 0; v++) {
            const int64_t vertex = s->faces[f].vertices[v];
            const int32_t key[2] = {(int32_t)(vertex & INT32_MAX), (int32_t)(vertex >> 31)};
            const int32_t number = tuple_set_add(&set, key);
            if (number == n) leaders[n++] = number;
            if (v == 0) firsts[f] = number;
            leaders[leader_of(leaders, number)] = leader_of(leaders, firsts[f]);
        }
    for (int32_t f = 0; f < s->n_faces; f++) firsts[f] = leader_of(leaders, firsts[f]);
    for (int32_t f = 0; f < s->n_faces; f++) { /* a set becomes -1 with its first face */
        chosen[f] = leaders[firsts[f]] >= 0;
        leaders[firsts[f]] = -1;
    }
done:
    tuple_set_free(&set);
    base_free(&leaders);
    base_free(&firsts);
    return status;
}

/* The pieces below a node of the tree, with each other and with those of later nodes. */
static void look_below(const struct mesh_surface *s, int32_t node, int n_nodes, const uint8_t *chosen,
                       struct finding *found) {
    struct pair_look pairs = {s, found};
    struct plane plane;
    const int64_t each = (int64_t)s->tree.n_leaves / n_nodes * MESH_TREE_LEAF, first = node * each;
    mesh_tree_pairs(&s->tree, n_nodes + node, visit_pair, &pairs);
    for (int64_t i = first; i < first + each && i < s->n_pieces && found->piece < 0; i++) {
        const int32_t piece = s->tree.order[i], face = s->pieces[piece].face;
        if ((chosen == NULL || chosen[face]) && (piece == 0 || s->pieces[piece - 1].face != face) &&
            piece_plane(s, piece, &plane))
            look_inside(s, piece, &plane, found);
    }
}

/* The first place, in the order of nodes of the tree, whoever looks: a share for each part of the mesh, in
 * portions that do not depend on the number of threads. chosen: the faces on whose inner sides to look; NULL:
 * all. */
static facet_status look(const struct mesh_surface *s, struct base_team *team, const uint8_t *chosen,
                         struct finding *found) {
    enum { PORTIONS = 64, MOST_NODES = 1024, NODE_LEAVES = 16 };
    struct finding portions[PORTIONS];
    int n_nodes = 1;
    while (n_nodes < MOST_NODES && NODE_LEAVES * n_nodes < s->tree.n_leaves) n_nodes *= 2;
    const int64_t each = (int64_t)s->tree.n_leaves / n_nodes * MESH_TREE_LEAF,
                  n_used = (s->n_pieces + each - 1) / each, all = team_size(team) * (int64_t)PORTIONS;
#pragma omp parallel for num_threads(base_threads_for(200 * (int64_t)s->n_pieces)) schedule(dynamic)
    for (int p = 0; p < PORTIONS; p++) {
        const int64_t portion = team_rank(team) * (int64_t)PORTIONS + p, end = n_used * (portion + 1) / all;
        portions[p].piece = -1;
        for (int64_t node = n_used * portion / all; node < end && portions[p].piece < 0; node++)
            look_below(s, (int32_t)node, n_nodes, chosen, &portions[p]);
    }
    found->piece = -1;
    for (int p = PORTIONS - 1; p >= 0; p--)
        if (portions[p].piece >= 0) *found = portions[p];
    if (team == NULL) return FACET_OK;
    int64_t first = found->piece >= 0 ? team->rank : INT64_MAX;
    facet_status status = team_reduce_counts(team, TEAM_MIN, 1, &first);
    if (status != FACET_OK || first == INT64_MAX) return status;
    return team_broadcast(team, (int)first, found, sizeof *found);
}

/* First as if the geometry had no error, which is soon known, and then with what it has, at every face:
 * pieces may then cross a little, and m is no longer the same along a surface. */
static facet_status look_twice(struct mesh_surface *s, struct base_team *team, struct finding *found) {
    facet_status status = FACET_OK;
    uint8_t *chosen = NULL;
    TRY(ALLOC(chosen, s->n_faces));
    TRY(choose_faces(s, chosen));
    TRY(look(s, team, chosen, found));
    if (found->piece < 0) goto done;
    TRY(surface_find_errors(s));
    if (s->largest_error > 0) TRY(look(s, team, NULL, found));
done:
    base_free(&chosen);
    return status;
}

/* ------------------------------------------------------------------------------------------ the volume */

struct seen {
    int64_t n; /* points with other cells on their inner side */
    double lower[3], upper[3];
    double sum[3], moment[3], area[3]; /* by directions, of [f] x_a n_a, [f] n_a and |[f] n_a| */
};
static const struct seen nothing = {.lower = {INFINITY, INFINITY, INFINITY},
                                    .upper = {-INFINITY, -INFINITY, -INFINITY}};

static double excess(int m) {
    return m > 1 ? m - 1 : 0;
}

/* The measure of the piece over that of the reference one. */
static double scale_of(int dim, const double *corners) {
    double t[3], u[3], n[3], square = 0;
    for (int a = 0; a < dim; a++) {
        t[a] = corners[dim + a] - corners[a];
        u[a] = dim == 3 ? corners[2 * dim + a] - corners[a] : 0;
    }
    for (int a = 0; a < dim; a++) {
        n[a] = dim == 2 ? t[a] : t[(a + 1) % 3] * u[(a + 2) % 3] - t[(a + 2) % 3] * u[(a + 1) % 3];
        square += n[a] * n[a];
    }
    return sqrt(square);
}

static void measure_piece(const struct mesh_surface *s, int32_t piece, const struct rule *rule,
                          struct seen *seen) {
    struct plane plane;
    int dim = s->dim;
    double step = SIDE_STEP * s->faces[s->pieces[piece].face].size;
    if (!piece_plane(s, piece, &plane)) return;
    const int direction = main_direction(dim, plane.normal);
    const double scale = scale_of(dim, plane.corners);
    for (int p = 0; p < rule->n; p++) {
        double x[3] = {0}, sides[2][3];
        for (int a = 0; a < dim; a++) {
            x[a] = plane.corners[a];
            for (int k = 1; k < dim; k++)
                x[a] += rule->x[p * (dim - 1) + k - 1] * (plane.corners[k * dim + a] - plane.corners[a]);
            sides[0][a] = x[a] - step * plane.normal[a];
            sides[1][a] = x[a] + step * plane.normal[a];
        }
        int in = surface_count_around(s, sides[0], direction),
            out = surface_count_around(s, sides[1], direction);
        double jump = in != out ? (excess(in) - excess(out)) / (in - out) : 0;
        seen->n += in > 1;
        for (int a = 0; a < dim; a++) {
            double part = rule->w[p] * jump * scale * plane.normal[a];
            if (in > 1) seen->lower[a] = fmin(seen->lower[a], x[a]);
            if (in > 1) seen->upper[a] = fmax(seen->upper[a], x[a]);
            seen->sum[a] += part * x[a];
            seen->moment[a] += part;
            seen->area[a] += fabs(part);
        }
    }
}

static void join(int dim, struct seen *into, const struct seen *part) {
    into->n += part->n;
    for (int a = 0; a < dim; a++) {
        into->lower[a] = fmin(into->lower[a], part->lower[a]);
        into->upper[a] = fmax(into->upper[a], part->upper[a]);
        into->sum[a] += part->sum[a];
        into->moment[a] += part->moment[a];
        into->area[a] += part->area[a];
    }
}

/* In portions that do not depend on the number of threads. */
static facet_status measure(const struct mesh_surface *s, struct mesh_overlap *overlap) {
    enum { PORTIONS = 64 };
    facet_status status = FACET_OK;
    struct seen portions[PORTIONS], seen = nothing;
    struct rule rule = {0};
    int degree = 3, dim = s->dim, best = 0;
    while (degree < (dim == 2 ? 8 : 1) * MOST_DEGREE &&
           s->n_pieces * pow((degree + 3) / 2.0, dim - 1) < MOST_POINTS)
        degree += 2;
    TRY(rule_create_product(dim == 2 ? SHAPE_SEGMENT : SHAPE_TRIANGLE, degree, &rule));
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic)
    for (int p = 0; p < PORTIONS; p++) {
        portions[p] = nothing;
        int64_t end = (int64_t)s->n_pieces * (p + 1) / PORTIONS;
        for (int64_t i = (int64_t)s->n_pieces * p / PORTIONS; i < end; i++)
            measure_piece(s, (int32_t)i, &rule, &portions[p]);
    }
    for (int p = 0; p < PORTIONS; p++) join(dim, &seen, &portions[p]);
    for (int a = 1; a < dim; a++)
        if (seen.area[a] > seen.area[best]) best = a;
    if (seen.n > 0)
        overlap->volume = seen.sum[best] - 0.5 * (seen.lower[best] + seen.upper[best]) * seen.moment[best];
    overlap->volume = fmax(overlap->volume, 0);
done:
    rule_destroy(&rule);
    return status;
}

/* ------------------------------------------------------------------------------------------ answers */

/* Two cells that really are at the place, where they can be found; the smallest numbers of them. */
static facet_status find_cells(const struct facet_mesh *mesh, struct mesh_overlap *overlap) {
    facet_status status = FACET_OK;
    struct mesh_locator *locator = NULL;
    struct mesh_places places = {0};
    int64_t two[2] = {INT64_MAX, INT64_MAX};
    TRY(mesh_locator_create_for(mesh, 1, &locator));
    TRY(mesh_locate_all(locator, overlap->x, 0, &places));
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < places.n; i++) {
            int64_t number = mesh_cell_number(mesh, places.items[i].cell);
            if (number < two[k] && (k == 0 || number > two[0])) two[k] = number;
        }
        TRY(team_reduce_counts(mesh_team(mesh), TEAM_MIN, 1, &two[k]));
    }
    for (int k = 0; k < 2 && two[1] != INT64_MAX; k++) overlap->cells[k] = two[k];
done:
    mesh_places_free(&places);
    mesh_locator_destroy(&locator);
    return status;
}

facet_status mesh_find_overlap(const struct facet_mesh *of, int and_measure, struct mesh_overlap *overlap) {
    facet_status status = FACET_OK;
    struct mesh_surface surface = {0};
    struct finding found;
    const struct facet_mesh *mesh = mesh_coarsest(of);
    *overlap = (struct mesh_overlap){.cells = {-1, -1}};
    if (mesh->box.cells[0] > 0 || mesh->cut.cells[0] > 0) goto done; /* their cells lie side by side */
    TRY(surface_create(mesh, &surface));
    if (surface_is_star(&surface)) goto done;
    TRY(look_twice(&surface, mesh_team(mesh), &found));
    if (found.piece < 0) goto done;
    overlap->found = 1;
    for (int k = 0; k < 2; k++) overlap->cells[k] = found.cells[k];
    for (int a = 0; a < mesh->dim; a++) overlap->x[a] = found.x[a];
    if (!and_measure) goto done;
    TRY(find_cells(mesh, overlap));
    TRY(measure(&surface, overlap));
done:
    surface_destroy(&surface);
    return status;
}

facet_status mesh_refuse_overlap(const struct facet_mesh *mesh) {
    enum { UNKNOWN, NONE };
    facet_status status = FACET_OK;
    struct mesh_overlap overlap;
    struct mesh_quality quality;
    char place[80], cells[96];
    const struct facet_mesh *coarsest = mesh_coarsest(mesh);
    if (atomic_load(&coarsest->late->has_no_overlap)) return FACET_OK;
    TRY(mesh_find_overlap(mesh, 1, &overlap));
    if (!overlap.found) {
        atomic_store(&coarsest->late->has_no_overlap, 1);
        goto done;
    }
    TRY(mesh_measure_size(coarsest, &quality));
    snprintf(cells, sizeof cells, overlap.cells[1] >= 0 ? "cells %lld and %lld" : "cell %lld and another one",
             (long long)overlap.cells[0], (long long)overlap.cells[1]);
    const char *measure = mesh->dim == 2 ? "area" : "volume";
    FAIL(
        FACET_ERROR_INPUT,
        "mesh: %s%s both occupy the space at %s: about %.3g of the %s of all cells, %.6g, is there more than "
        "once; cut the bodies at each other (Gmsh: Coherence; or BooleanFragments), or say overlap: allow",
        cells, coarsest != mesh ? " of the coarse mesh" : "",
        mesh_point_text(mesh->dim, overlap.x, place, sizeof place), overlap.volume, measure, quality.volume);
done:
    return status;
}
