/* Prolongations to the trace: from a lower degree, and from the continuous functions of vertices with the row
 * modes of quads and hexes. See coarse.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/rule.h"
#include "trace/coarse.h"

facet_status trace_inject(const struct trace_space *space, const struct trace_space *low,
                          struct mg_transfer *P) {
    facet_status status = FACET_OK;
    int n_components = space->n_components;
    *P = (struct mg_transfer){.n_rows = space->n_free, .n_columns = low->n_free};
    TRY(ALLOC(P->offsets, P->n_rows + 1));
    TRY(ALLOC(P->columns, P->n_columns));
    TRY(ALLOC(P->values, P->n_columns));
    int64_t at = 0, row = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t m = (space->free_offsets[b + 1] - space->free_offsets[b]) / n_components;
        int64_t m_low = (low->free_offsets[b + 1] - low->free_offsets[b]) / n_components;
        for (int c = 0; c < n_components; c++)
            for (int64_t i = 0; i < m; i++) {
                P->offsets[row++] = at;
                if (i >= m_low) continue;
                P->columns[at] = (int32_t)at;
                P->values[at++] = 1.0;
            }
    }
    P->offsets[row] = at;
done:
    if (status != FACET_OK) mg_transfer_destroy(P);
    return status;
}

/* ------------------------------------------------------------------------------ vertices and edges */

void trace_nodes_destroy(struct trace_nodes *nodes) {
    base_free(&nodes->vertices);
    mg_transfer_destroy(&nodes->P);
}

/* The vertices of a face in the order of its frame, seen from one of its cells; their number. */
static int frame_vertices(const struct facet_mesh *mesh, int32_t face, int which, int32_t *vertices) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face + which];
    if (cell < 0) return 0;
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    int64_t c = cell - b->first;
    int local = mesh->face_locals[2 * (int64_t)face + which], n_faces = shape_n_faces(b->shape);
    enum shape shape = (enum shape)mesh->face_shapes[face];
    const int *of_face = shape_face_vertices(b->shape, local);
    const int *permutation = shape_permutation(shape, b->orientations[c * n_faces + local]);
    for (int i = 0; i < shape_n_vertices(shape); i++)
        vertices[i] = b->vertices[c * shape_n_vertices(b->shape) + of_face[permutation[i]]];
    return shape_n_vertices(shape);
}

static int32_t root_of(int32_t *parent, int32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

/* Periodic faces make vertices one: same[v] is the smallest of those that are. */
static void identify_vertices(const struct facet_mesh *mesh, int32_t *same) {
    for (int32_t v = 0; v < mesh->n_vertices; v++) same[v] = v;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t a[SHAPE_MAX_FACE_VERTICES], b[SHAPE_MAX_FACE_VERTICES];
        int n = frame_vertices(mesh, f, 0, a);
        if (frame_vertices(mesh, f, 1, b) == 0) continue;
        for (int i = 0; i < n; i++) {
            int32_t x = root_of(same, a[i]), y = root_of(same, b[i]);
            if (x < y)
                same[y] = x;
            else
                same[x] = y;
        }
    }
    for (int32_t v = 0; v < mesh->n_vertices; v++) same[v] = root_of(same, v);
}

/* Edges by their (identified) ends in an open hash table. */
struct edges {
    int64_t capacity; /* a power of two */
    int32_t (*ends)[2];
    int64_t *number; /* -1: eliminated; -2: the place is empty */
};

static int64_t edge_place(const struct edges *e, int32_t a, int32_t b) {
    if (a > b) {
        int32_t t = a;
        a = b;
        b = t;
    }
    uint64_t hash = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
    int64_t at = (int64_t)(hash >> 20) & (e->capacity - 1);
    while (e->number[at] != -2 && (e->ends[at][0] != a || e->ends[at][1] != b))
        at = (at + 1) & (e->capacity - 1);
    if (e->number[at] == -2) {
        e->ends[at][0] = a;
        e->ends[at][1] = b;
    }
    return at;
}

/* Everything that is needed to write the rows of P. */
struct builder {
    const struct trace_space *space;
    int rows;
    int32_t *same;
    int64_t *vertex_node; /* n_vertices: -1: eliminated, -2: on no free face */
    int64_t *face_node;   /* n_free_faces: -1: none */
    struct edges edges;
    double *hats[SHAPE_COUNT]; /* of a face shape: functions of degree 1 x vertices */
};

static void builder_destroy(struct builder *b) {
    base_free(&b->same);
    base_free(&b->vertex_node);
    base_free(&b->face_node);
    base_free(&b->edges.ends);
    base_free(&b->edges.number);
    for (int s = 0; s < SHAPE_COUNT; s++) base_free(&b->hats[s]);
}

/* The hat functions of the vertices of a face in the basis of degree 1. */
static facet_status make_hats(enum shape shape, double **hats) {
    facet_status status = FACET_OK;
    struct rule rule = {0};
    double *phi = NULL, *lagrange = NULL;
    int m = basis_size(shape, 1), n = shape_n_vertices(shape);
    TRY(rule_create(shape, 2, &rule));
    TRY(CALLOC(*hats, m * n));
    TRY(ALLOC(phi, rule.n * m));
    TRY(ALLOC(lagrange, rule.n * n));
    TRY(basis_eval(shape, 1, rule.n, rule.x, phi, NULL));
    TRY(basis_lagrange(shape, 1, rule.n, rule.x, lagrange, NULL));
    for (int q = 0; q < rule.n; q++)
        for (int i = 0; i < m; i++)
            for (int v = 0; v < n; v++)
                (*hats)[i * n + v] +=
                    rule.w[q] * phi[q * m + i] * lagrange[q * n + shape_vertex_node(shape, 1, v)];
done:
    rule_destroy(&rule);
    base_free(&phi);
    base_free(&lagrange);
    return status;
}

/* Whether the row modes matter on a face: one of its cells is a quad or a hex. */
static int has_rows(const struct facet_mesh *mesh, int32_t face) {
    for (int which = 0; which < 2; which++) {
        int32_t cell = mesh->face_cells[2 * (int64_t)face + which];
        if (cell >= 0 && !shape_is_simplex(mesh_block_of(mesh, cell)->shape)) return 1;
    }
    return 0;
}

/* The edges of a quad face: ends in its frame, the direction along it, and whether it lies at the far end of
 * the other direction. */
static const struct {
    int from, to, along, far;
} quad_edges[4] = {{0, 1, 0, 0}, {3, 2, 0, 1}, {0, 3, 1, 0}, {1, 2, 1, 1}};

/* Where L_i(s) L_j(t) stands in the basis of a quad: by the largest degree, then i running fastest. */
static int quad_function(int i, int j) {
    int d = i > j ? i : j;
    return d * d + (j < d ? j : d + i);
}

/* Numbers for the edges of free faces; those of eliminated faces have none. */
static facet_status number_edges(struct builder *b, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = b->space->mesh;
    struct edges *e = &b->edges;
    for (e->capacity = 64; e->capacity < 4 * (int64_t)mesh->n_faces; e->capacity *= 2) continue;
    TRY(ALLOC(e->ends, e->capacity));
    TRY(ALLOC(e->number, e->capacity));
    for (int64_t i = 0; i < e->capacity; i++) e->number[i] = -2;
    for (int pass = 0; pass < 2; pass++) /* eliminated faces first */
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            int32_t v[SHAPE_MAX_FACE_VERTICES];
            int free = b->space->face_free[f] >= 0;
            if (mesh->face_shapes[f] != SHAPE_QUAD || free != pass) continue;
            frame_vertices(mesh, f, 0, v);
            for (int k = 0; k < 4; k++) {
                int64_t at = edge_place(e, b->same[v[quad_edges[k].from]], b->same[v[quad_edges[k].to]]);
                if (e->number[at] == -2) e->number[at] = free ? nodes->n++ : -1;
            }
        }
done:
    return status;
}

static facet_status number_nodes(struct builder *b, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    const struct trace_space *space = b->space;
    const struct facet_mesh *mesh = space->mesh;
    int32_t v[SHAPE_MAX_FACE_VERTICES];
    TRY(ALLOC(b->vertex_node, mesh->n_vertices));
    TRY(ALLOC(b->face_node, space->n_free_faces));
    TRY(ALLOC(nodes->vertices, mesh->n_vertices));
    for (int32_t i = 0; i < mesh->n_vertices; i++) b->vertex_node[i] = -2;
    for (int32_t f = 0; f < mesh->n_faces; f++)
        for (int i = 0, n = space->face_free[f] < 0 ? frame_vertices(mesh, f, 0, v) : 0; i < n; i++)
            b->vertex_node[b->same[v[i]]] = -1;
    for (int64_t k = 0; k < space->n_free_faces; k++)
        for (int i = 0, n = frame_vertices(mesh, space->free_faces[k], 0, v); i < n; i++) {
            int32_t vertex = b->same[v[i]];
            if (b->vertex_node[vertex] != -2) continue;
            nodes->vertices[nodes->n] = vertex;
            b->vertex_node[vertex] = nodes->n++;
        }
    nodes->n_vertices = nodes->n;
    if (b->rows && mesh->dim == 3) TRY(number_edges(b, nodes));
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        int wanted = b->rows && (mesh->dim == 2 || space->degree > 1);
        b->face_node[k] = wanted && has_rows(mesh, space->free_faces[k]) ? nodes->n++ : -1;
    }
done:
    return status;
}

/* One face's rows for one component: entries (function, node, value), few of them. */
struct entries {
    int n;
    int function[64];
    int64_t node[64];
    double value[64];
};

static void add_entry(struct entries *e, int function, int64_t node, double value) {
    if (node < 0 || value == 0.0) return;
    e->function[e->n] = function;
    e->node[e->n] = node;
    e->value[e->n++] = value;
}

/* The row modes of a quad face: L_k along an edge, 1 - t or t across it, and L_k L_k. */
static void add_quad_rows(const struct builder *b, const int32_t *v, int64_t face_node, struct entries *e) {
    int k = b->space->degree;
    for (int i = 0; i < 4; i++) {
        int32_t from = b->same[v[quad_edges[i].from]], to = b->same[v[quad_edges[i].to]];
        double sign = from > to && k % 2 == 1 ? -1.0 : 1.0; /* the edge runs to the larger end */
        int64_t node = b->edges.number[edge_place(&b->edges, from, to)];
        for (int j = 0; j < 2; j++) { /* 1 - t = 1/2 - L_1 / (2 sqrt 3) */
            double across = j == 0 ? 0.5 : (quad_edges[i].far ? 0.5 : -0.5) / sqrt(3.0);
            add_entry(e, quad_edges[i].along == 0 ? quad_function(k, j) : quad_function(j, k), node,
                      sign * across);
        }
    }
    add_entry(e, quad_function(k, k), face_node, 1.0);
}

static void face_entries(const struct builder *b, int64_t block, struct entries *e) {
    const struct facet_mesh *mesh = b->space->mesh;
    int32_t face = b->space->free_faces[block], v[SHAPE_MAX_FACE_VERTICES];
    enum shape shape = (enum shape)mesh->face_shapes[face];
    int n = frame_vertices(mesh, face, 0, v), m = basis_size(shape, 1);
    e->n = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) add_entry(e, i, b->vertex_node[b->same[v[j]]], b->hats[shape][i * n + j]);
    if (shape == SHAPE_QUAD && b->rows)
        add_quad_rows(b, v, b->face_node[block], e);
    else
        add_entry(e, b->space->degree, b->face_node[block], 1.0);
}

/* The rows of P: counted when columns is NULL, else written. */
static void write_rows(const struct builder *b, struct mg_transfer *P) {
    const struct trace_space *space = b->space;
    int nc = space->n_components;
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        struct entries e;
        int64_t first = space->free_offsets[k], m = (space->free_offsets[k + 1] - first) / nc;
        face_entries(b, k, &e);
        for (int c = 0; c < nc; c++)
            for (int64_t i = 0; i < m; i++) {
                int64_t row = first + c * m + i, at = P->offsets[row];
                for (int a = 0; a < e.n; a++) {
                    if (e.function[a] != i) continue;
                    if (P->columns != NULL) {
                        P->columns[at] = (int32_t)(e.node[a] * nc + c);
                        P->values[at] = e.value[a];
                    }
                    at++;
                }
                if (P->columns == NULL) P->offsets[row + 1] = at;
            }
    }
}

facet_status trace_continuous_nodes(const struct trace_space *space, int rows, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    struct builder b = {.space = space, .rows = rows};
    *nodes = (struct trace_nodes){0};
    TRY(ALLOC(b.same, space->mesh->n_vertices));
    identify_vertices(space->mesh, b.same);
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        enum shape shape = (enum shape)space->mesh->face_shapes[space->free_faces[k]];
        if (b.hats[shape] == NULL) TRY(make_hats(shape, &b.hats[shape]));
    }
    TRY(number_nodes(&b, nodes));
    nodes->P = (struct mg_transfer){.n_rows = space->n_free, .n_columns = nodes->n * space->n_components};
    TRY(ALLOC(nodes->P.offsets, space->n_free + 1));
    nodes->P.offsets[0] = 0;
    write_rows(&b, &nodes->P);
    TRY(ALLOC(nodes->P.columns, nodes->P.offsets[space->n_free]));
    TRY(ALLOC(nodes->P.values, nodes->P.offsets[space->n_free]));
    write_rows(&b, &nodes->P);
done:
    builder_destroy(&b);
    if (status != FACET_OK) trace_nodes_destroy(nodes);
    return status;
}
