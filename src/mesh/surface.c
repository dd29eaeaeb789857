/* The surface of a whole mesh. See surface.h. */
#include "mesh/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "poly/basis.h"

/* Angles from this on are edges of a body: 50 degrees. As lengths of the difference of unit normals. */
#define SMOOTH        0.8452365234813989
#define LARGEST_ERROR 0.1   /* of the size of a face */
#define FLAT          1e-10 /* of the size of a face */

const struct facet_mesh *mesh_coarsest(const struct facet_mesh *mesh) {
    while (mesh->coarse != NULL) mesh = mesh->coarse;
    return mesh;
}

void surface_destroy(struct mesh_surface *s) {
    base_free(&s->faces);
    base_free(&s->nodes);
    base_free(&s->pieces);
    base_free(&s->boxes);
    mesh_tree_free(&s->tree);
    *s = (struct mesh_surface){0};
}

/* ------------------------------------------------------------------------------------------ faces */

/* Which nodes of a cell those of a face are, in the order of its lattice; made when they are first asked for.
 */
struct face_numbers {
    int n, numbers[(MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1)];
};

static void find_numbers(enum shape cell, int local, int order, struct face_numbers *nodes) {
    const enum shape shape = shape_face_shape(cell, local);
    nodes->n = shape_n_nodes(shape, order);
    if (order > 1)
        mesh_face_nodes(cell, local, 0, order, nodes->numbers);
    else /* the vertices, and the lattice of a quad does not go round it */
        for (int v = 0; v < nodes->n; v++)
            nodes->numbers[shape_vertex_node(shape, 1, v)] =
                shape_vertex_node(cell, 1, shape_face_vertices(cell, local)[v]);
}

static void add_face(const struct facet_mesh *mesh, int32_t cell, int local, struct face_numbers *all,
                     struct mesh_surface *s) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    struct surface_face *face = &s->faces[s->n_faces];
    struct face_numbers *from = &all[block->shape * SHAPE_MAX_FACES + local];
    const int dim = mesh->dim, n = shape_n_vertices(shape_face_shape(block->shape, local));
    const int32_t *vertices =
        block->vertices + (int64_t)(cell - block->first) * shape_n_vertices(block->shape);
    if (from->n == 0) find_numbers(block->shape, local, mesh->order, from);
    *face = (struct surface_face){.cell = mesh->part != NULL ? mesh->part->cell_numbers[cell] : cell,
                                  .vertices = {-1, -1, -1, -1},
                                  .nodes = s->n_faces > 0 ? face[-1].nodes : 0,
                                  .local = local,
                                  .shape = shape_face_shape(block->shape, local)};
    if (s->n_faces > 0) face->nodes += shape_n_nodes((enum shape)face[-1].shape, mesh->order);
    for (int v = 0; v < n; v++) {
        int32_t vertex = vertices[shape_face_vertices(block->shape, local)[v]];
        face->vertices[v] = mesh->part != NULL ? mesh->part->vertex_numbers[vertex] : vertex;
    }
    const double *nodes = mesh_cell_nodes(mesh, cell);
    double *x = s->nodes + face->nodes * dim;
    for (int i = 0; i < from->n; i++)
        memcpy(x + i * dim, nodes + from->numbers[i] * dim, (size_t)dim * sizeof *x);
    face->size = mesh_extent(from->n, dim, x);
    s->n_faces++;
}

/* The faces of this part. */
static facet_status gather_own(const struct facet_mesh *mesh, struct mesh_surface *s) {
    facet_status status = FACET_OK;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seam = NULL;
    struct face_numbers *numbers = NULL;
    int32_t n_joined = 0, n_seam = 0;
    int most = mesh->dim == 2 ? mesh->order + 1 : (mesh->order + 1) * (mesh->order + 1);
    TRY(mesh_find_joined(mesh, &joined, &n_joined));
    if (mesh->part != NULL) TRY(mesh_find_seam_joints(mesh, &seam, &n_seam));
    int64_t room = (int64_t)mesh->n_boundary_faces + 2 * (int64_t)n_joined + n_seam;
    TRY(ALLOC(s->faces, room));
    TRY(ALLOC(s->nodes, room * most * mesh->dim));
    TRY(CALLOC(numbers, SHAPE_COUNT * SHAPE_MAX_FACES));
    for (int64_t f = 0; f < mesh->n_faces; f++)
        if (mesh_is_boundary(mesh, f))
            add_face(mesh, mesh->face_cells[2 * f], mesh->face_locals[2 * f], numbers, s);
    for (int64_t i = 0; i < 2 * (int64_t)n_joined; i++) {
        int64_t side = 2 * (int64_t)joined[i / 2].face + i % 2;
        add_face(mesh, mesh->face_cells[side], mesh->face_locals[side], numbers, s);
    }
    for (int32_t i = 0; i < n_seam; i++)
        if (seam[i].joint != MESH_ONE_PLACE)
            add_face(mesh, mesh->face_cells[2 * (int64_t)seam[i].face],
                     mesh->face_locals[2 * (int64_t)seam[i].face], numbers, s);
done:
    base_free(&joined);
    base_free(&seam);
    base_free(&numbers);
    return status;
}

static int64_t count_nodes(const struct mesh_surface *s) {
    if (s->n_faces == 0) return 0;
    const struct surface_face *last = &s->faces[s->n_faces - 1];
    return last->nodes + shape_n_nodes((enum shape)last->shape, s->order);
}

static int by_cell(const void *one, const void *two) {
    const struct surface_face *a = one, *b = two;
    if (a->cell != b->cell) return a->cell < b->cell ? -1 : 1;
    return (a->local > b->local) - (a->local < b->local);
}

/* The faces of all parts, on all of them. */
static facet_status gather_all(struct base_team *team, struct mesh_surface *s) {
    facet_status status = FACET_OK;
    struct surface_face *faces = NULL;
    double *nodes = NULL;
    int64_t *counts = NULL, n_faces = 0, n_nodes = 0, at_face = 0, at_node = 0;
    const int64_t own[2] = {s->n_faces, count_nodes(s)};
    TRY(ALLOC(counts, 2 * team->size));
    TRY(team_gather(team, 2, own, counts));
    for (int r = 0; r < team->size; r++) {
        n_faces += counts[2 * r];
        n_nodes += counts[2 * r + 1];
    }
    if (n_faces > INT32_MAX)
        FAIL(FACET_ERROR_MACHINE, "the surface of the mesh has %lld faces: too many for one process",
             (long long)n_faces);
    TRY(ALLOC(faces, n_faces));
    TRY(ALLOC(nodes, n_nodes * s->dim));
    for (int r = 0; r < team->size; r++) {
        int64_t n = counts[2 * r], m = counts[2 * r + 1];
        if (r == team->rank) {
            memcpy(faces + at_face, s->faces, (size_t)n * sizeof *faces);
            memcpy(nodes + at_node * s->dim, s->nodes, (size_t)(m * s->dim) * sizeof *nodes);
        }
        TRY(team_broadcast(team, r, faces + at_face, n * (int64_t)sizeof *faces));
        TRY(team_broadcast(team, r, nodes + at_node * s->dim, m * s->dim * (int64_t)sizeof *nodes));
        for (int64_t i = at_face; i < at_face + n; i++) faces[i].nodes += at_node;
        at_face += n;
        at_node += m;
    }
    base_free(&s->faces);
    base_free(&s->nodes);
    s->faces = faces;
    s->nodes = nodes;
    s->n_faces = (int32_t)n_faces;
    faces = NULL;
    nodes = NULL;
done:
    base_free(&faces);
    base_free(&nodes);
    base_free(&counts);
    return status;
}

/* ------------------------------------------------------------------------------------------ pieces */

/* How far the nodes are from the flat map through the corners, and two triangles from a twisted quad. */
static double bend_of(const struct mesh_surface *s, const struct surface_face *face, const double *linear) {
    int dim = s->dim, n = shape_n_nodes((enum shape)face->shape, s->order),
        n_vertices = shape_n_vertices((enum shape)face->shape), numbers[SHAPE_MAX_FACE_VERTICES],
        at[SHAPE_MAX_FACE_VERTICES];
    const double *x = s->nodes + face->nodes * dim;
    double bend = 0, twist = 0;
    if (s->order == 1 && n_vertices < 4) return 0;
    for (int v = 0; v < n_vertices; v++) {
        numbers[v] = shape_vertex_node((enum shape)face->shape, 1, v);
        at[v] = dim * shape_vertex_node((enum shape)face->shape, s->order, v);
    }
    for (int i = 0; i < n && s->order > 1; i++) {
        double square = 0;
        for (int a = 0; a < dim; a++) {
            double difference = -x[i * dim + a];
            for (int v = 0; v < n_vertices; v++)
                difference += linear[i * n_vertices + numbers[v]] * x[at[v] + a];
            square += difference * difference;
        }
        bend = fmax(bend, sqrt(square));
    }
    for (int a = 0; n_vertices == 4 && a < dim; a++) {
        double sum = 0;
        for (int v = 0; v < 4; v++) sum += (v % 2 ? -1 : 1) * x[at[v] + a];
        twist += sum * sum;
    }
    return bend + 0.25 * sqrt(twist);
}

/* How a face is cut into pieces: numbers of nodes. */
struct pattern {
    int n;
    int nodes[2 * MESH_MAX_ORDER * MESH_MAX_ORDER][3];
};

/* The pieces of a face with the nodes of an n x n lattice; of quads and segments all i, j, of triangles
 * i + j < n. */
static void make_pattern(int dim, enum shape shape, int order, int n, struct pattern *pattern) {
    const int step = order / n;
    pattern->n = 0;
    for (int j = 0; j < (dim == 2 ? 1 : n); j++)
        for (int i = 0; i < (shape == SHAPE_TRIANGLE ? n - j : n); i++) {
            int at[4];
            for (int k = 0; k < 4; k++) {
                int index[3] = {(i + (k == 1 || k == 2)) * step, (j + (k >= 2)) * step, 0};
                int there = dim == 2 ? k < 2 : shape == SHAPE_QUAD || index[0] + index[1] <= order;
                at[k] = there ? shape_node(shape, order, index) : -1;
            }
            for (int half = 0; half < (at[2] >= 0 ? 2 : 1); half++, pattern->n++) {
                pattern->nodes[pattern->n][0] = at[half];
                pattern->nodes[pattern->n][1] = at[half + 1];
                pattern->nodes[pattern->n][2] = at[3];
            }
        }
}

static facet_status make_pieces(struct mesh_surface *s) {
    facet_status status = FACET_OK;
    double *linear[SHAPE_COUNT] = {NULL}, lattice[2 * (MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1)];
    struct pattern *patterns = NULL;
    TRY(CALLOC(patterns, 2 * SHAPE_COUNT));
    TRY(ALLOC(s->pieces, 2 * (int64_t)s->n_faces * (s->dim == 2 ? s->order : s->order * s->order)));
    for (int32_t f = 0; f < s->n_faces; f++) {
        struct surface_face *face = &s->faces[f];
        enum shape shape = (enum shape)face->shape;
        int n = shape_n_nodes(shape, s->order);
        if (linear[shape] == NULL) {
            shape_nodes(shape, s->order, lattice);
            TRY(ALLOC(linear[shape], n * shape_n_vertices(shape)));
            TRY(basis_lagrange(shape, 1, n, lattice, linear[shape], NULL));
        }
        double bend = bend_of(s, face, linear[shape]);
        int bent = bend > FLAT * face->size;
        struct pattern *pattern = &patterns[2 * shape + bent];
        if (pattern->n == 0) make_pattern(s->dim, shape, s->order, bent ? s->order : 1, pattern);
        face->dent = bent ? bend / (s->order * s->order) : 0;
        s->largest_dent = fmax(s->largest_dent, face->dent);
        for (int k = 0; k < pattern->n; k++, s->n_pieces++) {
            s->pieces[s->n_pieces].face = f;
            memcpy(s->pieces[s->n_pieces].nodes, pattern->nodes[k], sizeof pattern->nodes[k]);
        }
    }
    TRY(ALLOC(s->boxes, 2 * (int64_t)s->n_pieces * s->dim));
    for (int32_t p = 0; p < s->n_pieces; p++) {
        double corners[9], *box = s->boxes + 2 * (int64_t)p * s->dim;
        surface_corners(s, p, corners);
        mesh_bounds(s->dim, s->dim, corners, box, box + s->dim);
    }
    TRY(mesh_tree_create(s->dim, s->n_pieces, s->boxes, &s->tree));
done:
    for (int k = 0; k < SHAPE_COUNT; k++) base_free(&linear[k]);
    base_free(&patterns);
    return status;
}

facet_status surface_create(const struct facet_mesh *mesh, struct mesh_surface *s) {
    facet_status status = FACET_OK;
    *s = (struct mesh_surface){.dim = mesh->dim, .order = mesh->order};
    TRY(gather_own(mesh, s));
    if (mesh->part != NULL) TRY(gather_all(mesh->part->team, s));
    qsort(s->faces, (size_t)s->n_faces, sizeof *s->faces, by_cell);
    TRY(make_pieces(s));
done:
    if (status != FACET_OK) surface_destroy(s);
    return status;
}

void surface_corners(const struct mesh_surface *s, int32_t piece, double *x) {
    const struct surface_piece *p = &s->pieces[piece];
    const double *nodes = s->nodes + s->faces[p->face].nodes * s->dim;
    for (int k = 0; k < s->dim; k++)
        for (int a = 0; a < s->dim; a++) x[k * s->dim + a] = nodes[p->nodes[k] * s->dim + a];
}

/* A normal of length 1 from the tangents; 0: there is none. */
static int unit_normal(int dim, const double *t, const double *u, double *normal) {
    double square = 0;
    if (dim == 2) {
        normal[0] = t[1];
        normal[1] = -t[0];
    } else {
        for (int a = 0; a < 3; a++)
            normal[a] = t[(a + 1) % 3] * u[(a + 2) % 3] - t[(a + 2) % 3] * u[(a + 1) % 3];
    }
    for (int a = 0; a < dim; a++) square += normal[a] * normal[a];
    for (int a = 0; a < dim; a++) normal[a] /= sqrt(square);
    return square > 0 && isfinite(square);
}

int surface_normal(int dim, const double *corners, double *normal) {
    double t[2][3] = {{0}};
    for (int k = 1; k < dim; k++)
        for (int a = 0; a < dim; a++) t[k - 1][a] = corners[k * dim + a] - corners[a];
    return unit_normal(dim, t[0], t[1], normal);
}

/* ------------------------------------------------------------------------------------------ errors */

/* Of one shape: the face less its interpolant of one order less, at the nodes of a finer lattice; gradients
 * of the geometry at the middles of edges (2D: at the ends). */
struct error_table {
    int n_samples, n_edges;
    double *difference, *gradients;
};

static facet_status table_create(enum shape shape, int order, struct error_table *t) {
    facet_status status = FACET_OK;
    double *fine = NULL, *coarse = NULL, *values = NULL, *lower = NULL, *between = NULL, s[8] = {0};
    int dim = shape_dim(shape), n = shape_n_nodes(shape, order),
        m = order > 1 ? shape_n_nodes(shape, order - 1) : 0, n_vertices = shape_n_vertices(shape);
    const double *vertices = shape_vertices(shape);
    t->n_edges = n_vertices; /* of a segment its ends */
    for (int e = 0; e < n_vertices; e++)
        for (int a = 0; a < dim; a++)
            s[e * dim + a] = dim == 1
                                 ? vertices[e]
                                 : 0.5 * (vertices[e * dim + a] + vertices[(e + 1) % n_vertices * dim + a]);
    TRY(ALLOC(values, t->n_edges * n));
    TRY(ALLOC(t->gradients, t->n_edges * n * dim));
    TRY(basis_lagrange(shape, order, t->n_edges, s, values, t->gradients));
    if (order == 1) goto done;
    t->n_samples = shape_n_nodes(shape, 2 * order);
    TRY(ALLOC(fine, t->n_samples * dim));
    TRY(ALLOC(coarse, m * dim));
    TRY(ALLOC(t->difference, t->n_samples * n));
    TRY(ALLOC(lower, t->n_samples * m));
    TRY(ALLOC(between, m * n));
    shape_nodes(shape, 2 * order, fine);
    shape_nodes(shape, order - 1, coarse);
    TRY(basis_lagrange(shape, order, t->n_samples, fine, t->difference, NULL));
    TRY(basis_lagrange(shape, order - 1, t->n_samples, fine, lower, NULL));
    TRY(basis_lagrange(shape, order, m, coarse, between, NULL));
    for (int i = 0; i < t->n_samples; i++)
        for (int k = 0; k < m; k++)
            for (int j = 0; j < n; j++) t->difference[i * n + j] -= lower[i * m + k] * between[k * n + j];
done:
    base_free(&fine);
    base_free(&coarse);
    base_free(&values);
    base_free(&lower);
    base_free(&between);
    return status;
}

/* A border of a face: the normal there, and whose it is. */
struct border {
    int64_t vertices[2]; /* ascending; 2D: one and -1 */
    double normal[3];
    int32_t face;
    int smooth; /* there is a normal */
};

static void describe_border(const struct mesh_surface *s, int32_t f, int e, const struct error_table *t,
                            struct border *b) {
    const struct surface_face *face = &s->faces[f];
    int dim = s->dim, n = shape_n_nodes((enum shape)face->shape, s->order);
    const double *x = s->nodes + face->nodes * dim, *gradients = t->gradients + e * n * (dim - 1);
    double tangents[2][3] = {{0}};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < dim - 1; k++)
            for (int a = 0; a < dim; a++) tangents[k][a] += gradients[i * (dim - 1) + k] * x[i * dim + a];
    int64_t v = face->vertices[e], w = dim == 2 ? -1 : face->vertices[(e + 1) % t->n_edges];
    *b = (struct border){.vertices = {v < w ? v : w, v < w ? w : v}, .face = f};
    b->smooth = unit_normal(dim, tangents[0], tangents[1], b->normal);
}

static int by_vertices(const void *one, const void *two) {
    const struct border *a = one, *b = two;
    for (int i = 0; i < 2; i++)
        if (a->vertices[i] != b->vertices[i]) return a->vertices[i] < b->vertices[i] ? -1 : 1;
    return (a->face > b->face) - (a->face < b->face);
}

/* size tan(angle / 2) / 2 for both, where the unit normals are so far apart: 2 sin(angle / 2). */
static void add_kink(struct mesh_surface *s, const struct border *a, const struct border *b) {
    double square = 0;
    for (int d = 0; d < s->dim; d++) square += (a->normal[d] - b->normal[d]) * (a->normal[d] - b->normal[d]);
    if (!a->smooth || !b->smooth || !(square < SMOOTH * SMOOTH)) return;
    double slope = 0.5 * sqrt(square) / sqrt(4 - square);
    s->faces[a->face].error = fmax(s->faces[a->face].error, slope * s->faces[a->face].size);
    s->faces[b->face].error = fmax(s->faces[b->face].error, slope * s->faces[b->face].size);
}

static double curved_error(const struct mesh_surface *s, const struct surface_face *face,
                           const struct error_table *t) {
    int n = shape_n_nodes((enum shape)face->shape, s->order);
    const double *x = s->nodes + face->nodes * s->dim;
    double largest = 0;
    for (int i = 0; i < t->n_samples; i++) {
        double square = 0;
        for (int a = 0; a < s->dim; a++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += t->difference[i * n + j] * x[j * s->dim + a];
            square += sum * sum;
        }
        largest = fmax(largest, sqrt(square));
    }
    return largest;
}

facet_status surface_find_errors(struct mesh_surface *s) {
    facet_status status = FACET_OK;
    struct error_table tables[SHAPE_COUNT] = {{0}};
    struct border *borders = NULL;
    int64_t n = 0;
    TRY(ALLOC(borders, SHAPE_MAX_FACE_VERTICES * (int64_t)s->n_faces));
    for (int32_t f = 0; f < s->n_faces; f++) {
        struct surface_face *face = &s->faces[f];
        struct error_table *t = &tables[face->shape];
        if (t->gradients == NULL) TRY(table_create((enum shape)face->shape, s->order, t));
        face->error = curved_error(s, face, t);
        for (int e = 0; e < t->n_edges; e++) describe_border(s, f, e, t, &borders[n++]);
    }
    qsort(borders, (size_t)n, sizeof *borders, by_vertices);
    for (int64_t i = 1; i < n; i++)
        if (memcmp(borders[i].vertices, borders[i - 1].vertices, sizeof borders[i].vertices) == 0)
            add_kink(s, &borders[i - 1], &borders[i]);
    for (int32_t f = 0; f < s->n_faces; f++) {
        s->faces[f].error = fmin(s->faces[f].error, LARGEST_ERROR * s->faces[f].size);
        if (s->faces[f].error < FLAT * s->faces[f].size) s->faces[f].error = 0;
        s->largest_error = fmax(s->largest_error, s->faces[f].error + s->faces[f].dent);
    }
done:
    for (int k = 0; k < SHAPE_COUNT; k++) {
        base_free(&tables[k].difference);
        base_free(&tables[k].gradients);
    }
    base_free(&borders);
    return status;
}
