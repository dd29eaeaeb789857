/* Do neighbouring cells fit together? Cells that share a face must agree about its shape, a vertex must not
 * hang inside the face of another cell, and two cells must not touch along a face without sharing its
 * vertices. The last two show on the boundary only: a face that found no partner although there is a cell on
 * its other side. Tets and hexes cannot share a face, and show in the same way. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

/* Distances below this multiple of the size of a face, or of the thickness of its cell, count as none. */
#define TOUCHING       1e-6
#define MAX_FACE_NODES ((MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1))

/* Cells may be thin: two vertices are at one place when rounding alone tells them apart. */
#define SAME_PLACE 1e-14

/* The lattice numbers of the nodes on every side of a shape in every orientation. */
struct side_table {
    int n[SHAPE_MAX_FACES];
    int nodes[SHAPE_MAX_FACES][8][MAX_FACE_NODES];
};

static void side_table_fill(enum shape shape, int order, struct side_table *table) {
    for (int f = 0; f < shape_n_faces(shape); f++)
        for (int o = 0; o < shape_n_orientations(shape_face_shape(shape, f)); o++)
            table->n[f] = mesh_face_nodes(shape, f, o, order, table->nodes[f][o]);
}

struct conformity {
    struct mesh_builder *builder;
    const struct facet_mesh *mesh;
    struct side_table *tables; /* one for each block */
    int32_t n;                 /* boundary faces */
    int32_t *faces;
    double *boxes;      /* n x 2 dim */
    double *middles;    /* n x dim: what the map makes of the middles of the reference faces */
    double *tolerances; /* n */
    struct mesh_tree tree;
    uint8_t *seen; /* n_vertices */
};

/* The nodes of a face as its side 0 or 1 sees them, in frame coordinates; returns their number. */
static int face_points(const struct conformity *c, int32_t face, int side, double *x) {
    const struct facet_mesh *mesh = c->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    int b = mesh_block_index(mesh, cell), f = mesh->face_locals[2 * (int64_t)face + side], dim = mesh->dim;
    const struct mesh_block *block = &mesh->blocks[b];
    int o = block->orientations[(int64_t)(cell - block->first) * shape_n_faces(block->shape) + f];
    const double *nodes = mesh_cell_nodes(mesh, cell);
    const int *numbers = c->tables[b].nodes[f][o];
    for (int i = 0; i < c->tables[b].n[f]; i++)
        for (int a = 0; a < dim; a++) x[i * dim + a] = nodes[numbers[i] * dim + a];
    return c->tables[b].n[f];
}

static double distance(int dim, const double *x, const double *y) {
    double square = 0;
    for (int a = 0; a < dim; a++) square += (x[a] - y[a]) * (x[a] - y[a]);
    return sqrt(square);
}

/* ------------------------------------------------------------------------------------------ inner faces */

static int sides_agree(const struct conformity *c, int32_t face) {
    double one[3 * MAX_FACE_NODES], two[3 * MAX_FACE_NODES];
    int dim = c->mesh->dim, n = face_points(c, face, 0, one);
    face_points(c, face, 1, two);
    double largest = 0;
    if (c->builder->raw_pair[c->builder->raw_of_face[face]] < 0) {
        for (int i = 0; i < n * dim; i++) largest = fmax(largest, fabs(one[i] - two[i]));
    } else { /* the sides of a periodic pair are congruent */
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                largest = fmax(largest, fabs(distance(dim, one + i * dim, one + j * dim) -
                                             distance(dim, two + i * dim, two + j * dim)));
    }
    return largest == 0 || largest <= TOUCHING * mesh_extent(n, dim, one);
}

static void report_sides(const struct conformity *c, int32_t face) {
    const struct facet_mesh *mesh = c->mesh;
    char one[64], two[64], place[80];
    double x[3];
    const int32_t *cells = mesh->face_cells + 2 * (int64_t)face;
    if (c->builder->is_bad[cells[0]] || c->builder->is_bad[cells[1]]) return;
    mesh_side_center(mesh, cells[0], mesh->face_locals[2 * (int64_t)face], x);
    mesh_cell_text(c->builder, cells[0], one, sizeof one);
    mesh_cell_text(c->builder, cells[1], two, sizeof two);
    mesh_point_text(mesh->dim, x, place, sizeof place);
    if (c->builder->raw_pair[c->builder->raw_of_face[face]] < 0)
        mesh_issue(&c->builder->issues,
                   "%s and %s share the vertices of a face at %s but not its nodes: write all nodes of the "
                   "file anew",
                   one, two, place);
    else
        mesh_issue(
            &c->builder->issues,
            "%s and %s: the face at %s and its periodic partner differ in size or shape; mesh both sides "
            "alike (Gmsh: Periodic Curve)",
            one, two, place);
}

static facet_status check_inner_faces(const struct conformity *c) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = c->mesh;
    uint8_t *differ = NULL;
    TRY(CALLOC(differ, mesh->n_faces));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        base_tell_at(f);
        if (mesh->face_cells[2 * (int64_t)f + 1] >= 0) differ[f] = !sides_agree(c, f);
    }
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (differ[f]) report_sides(c, f);
done:
    base_free(&differ);
    return status;
}

/* ------------------------------------------------------------------------------------------ boundary faces
 */

/* The box is a little larger than the face: curved faces may bulge out of the box of their nodes. The mean of
 * the nodes of a curved face may lie outside of it, and chords at a corner say nothing of the rest: the map
 * gives a point in the middle, and J there. Thin cells may have opposite faces very near to each other;
 * det J / size^(dim-1) is their thickness. */
static void describe_boundary_face(struct conformity *c, int32_t i) {
    const struct facet_mesh *mesh = c->mesh;
    const int dim = mesh->dim;
    const int64_t face = c->faces[i];
    double x[3 * MAX_FACE_NODES], J[9], *box = c->boxes + 2 * (int64_t)i * dim;
    int n = face_points(c, c->faces[i], 0, x);
    mesh_bounds(n, dim, x, box, box + dim);
    double size = mesh_extent(n, dim, x), margin = (mesh->order > 1 ? 0.25 : 2 * TOUCHING) * size;
    for (int a = 0; a < dim; a++) {
        box[a] -= margin;
        box[dim + a] += margin;
    }
    mesh_middle(mesh, mesh->face_cells[2 * face], mesh->face_locals[2 * face], c->middles + (int64_t)i * dim,
                J);
    double thickness = fabs(mesh_determinant(dim, J)) / (dim == 2 ? size : size * size);
    c->tolerances[i] = TOUCHING * (thickness > 0 ? fmin(size, thickness) : size);
}

static facet_status gather_boundary(struct conformity *c) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = c->mesh;
    int dim = mesh->dim;
    TRY(ALLOC(c->faces, mesh->n_boundary_faces));
    TRY(ALLOC(c->boxes, 2 * (int64_t)mesh->n_boundary_faces * dim));
    TRY(ALLOC(c->middles, (int64_t)mesh->n_boundary_faces * dim));
    TRY(ALLOC(c->tolerances, mesh->n_boundary_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (mesh_is_boundary(mesh, f)) c->faces[c->n++] = f;
#pragma omp parallel for num_threads(base_threads_for(c->n)) schedule(static)
    for (int32_t i = 0; i < c->n; i++) describe_boundary_face(c, i);
    TRY(mesh_tree_create(dim, c->n, c->boxes, &c->tree));
done:
    return status;
}

/* The vertex of the mesh at frame vertex v of a boundary face, and its place. */
static int32_t face_vertex(const struct conformity *c, int32_t face, int v, double *x) {
    const struct facet_mesh *mesh = c->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int corner = shape_face_vertices(block->shape, mesh->face_locals[2 * (int64_t)face])[v];
    const double *nodes = mesh_cell_nodes(mesh, cell);
    int node = shape_vertex_node(block->shape, mesh->order, corner);
    for (int a = 0; a < mesh->dim; a++) x[a] = nodes[node * mesh->dim + a];
    return block->vertices[(int64_t)(cell - block->first) * shape_n_vertices(block->shape) + corner];
}

/* The point of the face nearest to p, by Gauss-Newton from the nearest node: solve (J^T J) ds = J^T (p - x).
 */
static facet_status nearest_on_face(int dim, enum shape shape, int order, int n, const double *nodes,
                                    const double *p, double *s, double *away) {
    facet_status status = FACET_OK;
    double lattice[2 * MAX_FACE_NODES], x[3], J[6];
    int rdim = dim - 1, start = mesh_nearest_node(n, dim, nodes, p);
    shape_nodes(shape, order, lattice);
    for (int b = 0; b < rdim; b++) s[b] = lattice[start * rdim + b];
    for (int iteration = 0; iteration < 20; iteration++) {
        TRY(mesh_point_map(shape, order, dim, nodes, s, x, J));
        double A[4] = {0}, r[2] = {0}, step[2] = {0};
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < rdim; b++) {
                r[b] += J[a * rdim + b] * (p[a] - x[a]);
                for (int d = 0; d < rdim; d++) A[b * rdim + d] += J[a * rdim + b] * J[a * rdim + d];
            }
        double determinant = rdim == 1 ? A[0] : A[0] * A[3] - A[1] * A[2];
        if (!(determinant > 0)) break;
        step[0] = rdim == 1 ? r[0] / A[0] : (A[3] * r[0] - A[1] * r[1]) / determinant;
        if (rdim == 2) step[1] = (A[0] * r[1] - A[2] * r[0]) / determinant;
        for (int b = 0; b < rdim; b++) s[b] = fmin(fmax(s[b] + step[b], -0.5), 1.5);
        if (fabs(step[0]) + fabs(step[1]) < 1e-13) break;
    }
    TRY(mesh_point_map(shape, order, dim, nodes, s, x, J));
    *away = distance(dim, x, p);
done:
    return status;
}

struct point_query {
    const struct conformity *c;
    int32_t face;   /* whose vertex or middle is asked about */
    int32_t vertex; /* -1 for the middle */
    double x[3];
    int32_t found; /* the other face, -1: none */
    facet_status status;
};

/* How far outside the reference face a point is, in its coordinates. */
static double outside_by(enum shape shape, const double *s) {
    double outside = fmax(-s[0], s[0] - 1), sum = s[0];
    for (int b = 1; b < shape_dim(shape); b++) {
        outside = fmax(outside, fmax(-s[b], s[b] - 1));
        sum += s[b];
    }
    return shape_is_simplex(shape) ? fmax(outside, sum - 1) : outside;
}

static int visit_vertex(void *user, int32_t box) {
    struct point_query *query = user;
    const struct conformity *c = query->c;
    int32_t face = c->faces[box];
    if (face == query->face) return 0;
    enum shape shape = (enum shape)c->mesh->face_shapes[face];
    double nodes[3 * MAX_FACE_NODES], corner[3], s[2], away;
    int dim = c->mesh->dim, n = face_points(c, face, 0, nodes);
    double tolerance = c->tolerances[box];
    for (int v = 0; v < shape_n_vertices(shape); v++)
        if (face_vertex(c, face, v, corner) == query->vertex || distance(dim, corner, query->x) <= tolerance)
            return 0;
    query->status = nearest_on_face(dim, shape, c->mesh->order, n, nodes, query->x, s, &away);
    if (query->status != FACET_OK) return 1;
    if (away > tolerance || outside_by(shape, s) > TOUCHING) return 0;
    query->found = face;
    return 1;
}

/* Two boundary faces coincide when all vertices and lattice nodes do, in whatever order. */
static int visit_middle(void *user, int32_t box) {
    struct point_query *query = user;
    const struct conformity *c = query->c;
    int32_t face = c->faces[box];
    if (face <= query->face || c->mesh->face_shapes[face] != c->mesh->face_shapes[query->face]) return 0;
    double one[3 * MAX_FACE_NODES], two[3 * MAX_FACE_NODES];
    int dim = c->mesh->dim, n = face_points(c, face, 0, one);
    face_points(c, query->face, 0, two);
    double tolerance = c->tolerances[box];
    for (int i = 0; i < n; i++)
        if (distance(dim, one + i * dim, two + mesh_nearest_node(n, dim, two, one + i * dim) * dim) >
            tolerance)
            return 0;
    query->found = face;
    return 1;
}

/* The middle of a face lies in another one. */
static int visit_overlap(void *user, int32_t box) {
    struct point_query *query = user;
    const struct conformity *c = query->c;
    int32_t face = c->faces[box];
    if (face == query->face) return 0;
    enum shape shape = (enum shape)c->mesh->face_shapes[face];
    double nodes[3 * MAX_FACE_NODES], s[2], away;
    int dim = c->mesh->dim, n = face_points(c, face, 0, nodes);
    query->status = nearest_on_face(dim, shape, c->mesh->order, n, nodes, query->x, s, &away);
    if (query->status != FACET_OK) return 1;
    if (away > c->tolerances[box] || outside_by(shape, s) > TOUCHING) return 0;
    query->found = face;
    return 1;
}

/* Another vertex stands at the place of this one. */
static int visit_corner(void *user, int32_t box) {
    struct point_query *query = user;
    const struct conformity *c = query->c;
    int32_t face = c->faces[box];
    if (face == query->face) return 0;
    double corner[3], far[3];
    static const double origin[3];
    int dim = c->mesh->dim;
    face_vertex(c, face, 0, corner);
    face_vertex(c, face, 1, far);
    double tolerance = SAME_PLACE * (distance(dim, query->x, origin) + distance(dim, corner, far));
    for (int v = 0; v < shape_n_vertices((enum shape)c->mesh->face_shapes[face]); v++)
        if (face_vertex(c, face, v, corner) != query->vertex &&
            distance(dim, corner, query->x) <= tolerance) {
            query->found = face;
            return 1;
        }
    return 0;
}

static facet_status ask(const struct conformity *c, struct point_query *query, mesh_tree_visit visit) {
    query->found = -1;
    query->status = FACET_OK;
    mesh_tree_query(&c->tree, query->x, query->x, visit, query);
    return query->status;
}

/* The two cells and the place, for a message; 0 when a cell was found to be bad before. */
struct words {
    char one[64], two[64], place[80];
};

static int find_words(const struct conformity *c, const struct point_query *query, struct words *w) {
    int32_t cell = c->mesh->face_cells[2 * (int64_t)query->face];
    int32_t other = c->mesh->face_cells[2 * (int64_t)query->found];
    if (c->builder->is_bad[cell] || c->builder->is_bad[other]) return 0;
    mesh_cell_text(c->builder, cell, w->one, sizeof w->one);
    mesh_cell_text(c->builder, other, w->two, sizeof w->two);
    mesh_point_text(c->mesh->dim, query->x, w->place, sizeof w->place);
    return 1;
}

static void report_touching(const struct conformity *c, const struct point_query *query) {
    struct words w;
    if (!find_words(c, query, &w)) return;
    const char *face = c->mesh->dim == 2 ? "an edge" : "a face";
    if (query->vertex < 0)
        mesh_issue(
            &c->builder->issues,
            "%s and %s: two cells touch along %s at %s but do not share its nodes; join the parts before "
            "meshing (Gmsh: Coherence; or BooleanFragments)",
            w.one, w.two, face, w.place);
    else
        mesh_issue(
            &c->builder->issues,
            "non-conforming: the vertex at %s of %s lies inside %s of %s; the parts must share their nodes "
            "(Gmsh: Coherence; or BooleanFragments), hanging nodes are not supported",
            w.place, w.one, face, w.two);
}

static void report_overlap(const struct conformity *c, const struct point_query *query) {
    struct words w;
    if (!find_words(c, query, &w)) return;
    if (c->mesh->face_shapes[query->face] != c->mesh->face_shapes[query->found])
        mesh_issue(
            &c->builder->issues,
            "%s and %s touch at %s, but a triangle and a quad cannot be one face: parts of tets and parts "
            "of hexes must not touch; mesh both with one shape",
            w.one, w.two, w.place);
    else
        mesh_issue(
            &c->builder->issues,
            "non-conforming: %s of %s and one of %s overlap at %s without being the same; the parts must "
            "share nodes and faces (Gmsh: Coherence; or BooleanFragments)",
            c->mesh->dim == 2 ? "an edge" : "a face", w.one, w.two, w.place);
}

static void report_corner(const struct conformity *c, const struct point_query *query) {
    struct words w;
    if (!find_words(c, query, &w)) return;
    mesh_issue(
        &c->builder->issues,
        "%s and %s have two different vertices at the same place %s: parts that touch must share their "
        "nodes (Gmsh: Coherence; or BooleanFragments)",
        w.one, w.two, w.place);
}

static void move_to_middle(struct point_query *query, int32_t i) {
    const struct conformity *c = query->c;
    const int dim = c->mesh->dim;
    query->vertex = -1;
    memcpy(query->x, c->middles + (int64_t)i * dim, (size_t)dim * sizeof *query->x);
}

/* Asks for each vertex of a face that was not seen before, and reports what was found. */
static facet_status ask_vertices(struct conformity *c, struct point_query *query, mesh_tree_visit visit,
                                 void report(const struct conformity *, const struct point_query *)) {
    facet_status status = FACET_OK;
    for (int v = 0; v < shape_n_vertices((enum shape)c->mesh->face_shapes[query->face]); v++) {
        query->vertex = face_vertex(c, query->face, v, query->x);
        if (c->seen[query->vertex]) continue;
        c->seen[query->vertex] = 1;
        TRY(ask(c, query, visit));
        if (query->found >= 0) report(c, query);
    }
done:
    return status;
}

/* Two vertices at one place: along curved surfaces that is all that parts which touch have in common. */
static facet_status check_corners(struct conformity *c) {
    facet_status status = FACET_OK;
    if (c->builder->issues.count > 0) return FACET_OK;
    memset(c->seen, 0, (size_t)c->mesh->n_vertices * sizeof *c->seen);
    for (int32_t i = 0; i < c->n; i++) {
        struct point_query query = {.c = c, .face = c->faces[i]};
        TRY(ask_vertices(c, &query, visit_corner, report_corner));
    }
done:
    return status;
}

/* Straight faces that share vertices, or some of them, and are still two; asked when all else is well. */
static facet_status check_overlaps(struct conformity *c) {
    facet_status status = FACET_OK;
    if (c->mesh->dim == 2 || c->builder->issues.count > 0) return FACET_OK;
    for (int32_t i = 0; i < c->n; i++) {
        struct point_query query = {.c = c, .face = c->faces[i]};
        move_to_middle(&query, i);
        TRY(ask(c, &query, visit_overlap));
        if (query.found >= 0) report_overlap(c, &query);
    }
done:
    return status;
}

static facet_status check_boundary_faces(struct conformity *c) {
    facet_status status = FACET_OK;
    TRY(CALLOC(c->seen, c->mesh->n_vertices));
    for (int32_t i = 0; i < c->n; i++) {
        struct point_query query = {.c = c, .face = c->faces[i]};
        move_to_middle(&query, i);
        TRY(ask(c, &query, visit_middle));
        if (query.found >= 0) report_touching(c, &query);
        TRY(ask_vertices(c, &query, visit_vertex, report_touching));
    }
done:
    return status;
}

facet_status mesh_check_conformity(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    struct conformity c = {.builder = builder, .mesh = builder->mesh};
    if (builder->has_broken_nodes) return FACET_OK;
    TRY(CALLOC(c.tables, builder->mesh->n_blocks));
    for (int b = 0; b < builder->mesh->n_blocks; b++)
        side_table_fill(builder->mesh->blocks[b].shape, builder->mesh->order, &c.tables[b]);
    TRY(check_inner_faces(&c));
    TRY(gather_boundary(&c));
    TRY(check_boundary_faces(&c));
    TRY(check_corners(&c));
    TRY(check_overlaps(&c));
done:
    base_free(&c.tables);
    base_free(&c.faces);
    base_free(&c.boxes);
    base_free(&c.middles);
    base_free(&c.tolerances);
    base_free(&c.seen);
    mesh_tree_free(&c.tree);
    return status;
}
