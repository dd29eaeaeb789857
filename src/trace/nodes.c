/* Prolongations to the trace: from a lower degree, and from the continuous functions of vertices with the row
 * modes of quads and hexes or the normals of faces. See pmg_parts.h. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "mesh/part.h"
#include "poly/basis.h"
#include "poly/rule.h"
#include "trace/pmg_parts.h"

/* A face has a normal displacement of its own where at least this part of its normal is not given. */
#define LEAST_NORMAL 0.1

facet_status trace_inject(const struct trace_space *space, const struct trace_space *low,
                          struct mg_transfer *P) {
    facet_status status = FACET_OK;
    int n_components = space->n_components;
    *P = (struct mg_transfer){.n_rows = space->n_free, .n_columns = low->n_free};
    TRY(ALLOC(P->offsets, P->n_rows + 1));
    TRY(ALLOC(P->columns, P->n_columns));
    TRY(ALLOC(P->values, P->n_columns));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t row = space->free_offsets[b], at = low->free_offsets[b];
        int64_t m = (space->free_offsets[b + 1] - row) / n_components;
        int64_t m_low = (low->free_offsets[b + 1] - at) / n_components;
        for (int c = 0; c < n_components; c++)
            for (int64_t i = 0; i < m; i++) {
                P->offsets[row++] = at;
                if (i >= m_low) continue;
                P->columns[at] = (int32_t)at;
                P->values[at++] = 1.0;
            }
    }
    P->offsets[P->n_rows] = P->n_columns;
done:
    if (status != FACET_OK) mg_transfer_destroy(P);
    return status;
}

struct parts {
    int64_t n;
    int m, low;
};

static void prolong_parts(const struct mg_link *link, const struct vector *coarse, struct vector *fine) {
    const struct parts *p = link->data;
    device_part_copy(fine->device, fine->precision, p->n, p->low, coarse->numbers, 1.0, p->m, fine->numbers);
}

static void restrict_parts(const struct mg_link *link, const struct vector *fine, struct vector *coarse) {
    const struct parts *p = link->data;
    device_part_copy(fine->device, fine->precision, p->n, p->m, fine->numbers, 0.0, p->low, coarse->numbers);
}

static void free_parts(struct mg_link *link) {
    base_free(&link->data);
}

facet_status trace_inject_parts(const struct trace_space *space, const struct trace_space *low,
                                struct mg_link *link) {
    const int64_t n = space->n_free_faces * space->n_components;
    struct parts *parts = NULL;
    int equal = n > 0 && space->n_free % n == 0 && low->n_free % n == 0;
    *link = (struct mg_link){0};
    if (!equal) return FACET_OK;
    const int64_t size = space->n_free / space->n_free_faces, fewer = low->n_free / space->n_free_faces;
#pragma omp parallel for num_threads(base_threads_for(space->n_free_faces)) reduction(& : equal)
    for (int64_t b = 0; b < space->n_free_faces; b++)
        equal &= space->free_offsets[b] == b * size && low->free_offsets[b] == b * fewer;
    if (!equal) return FACET_OK;
    facet_status status = CALLOC(parts, 1);
    if (status != FACET_OK) return status;
    *parts = (struct parts){n, (int)(space->n_free / n), (int)(low->n_free / n)};
    *link = (struct mg_link){.n_fine = space->n_free,
                             .n_coarse = low->n_free,
                             .prolong = prolong_parts,
                             .restrict_ = restrict_parts,
                             .free = free_parts,
                             .data = parts};
    return FACET_OK;
}

/* ------------------------------------------------------------------------------ vertices and edges */

void trace_nodes_destroy(struct trace_nodes *nodes) {
    base_free(&nodes->offsets);
    base_free(&nodes->vertices);
    base_free(&nodes->places);
    base_free(&nodes->components);
    base_free(&nodes->columns);
    base_free(&nodes->edge_labels);
    mesh_skeleton_destroy(&nodes->skeleton);
    mg_transfer_destroy(&nodes->P);
}

/* A face as its first cell sees it: numbers of its vertices in the mesh, in the order of its frame, and where
 * they stand in the cell. */
struct frame {
    const struct mesh_block *block;
    int32_t cell; /* in the block */
    enum shape shape;
    int n, local[SHAPE_MAX_FACE_VERTICES];
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
};

static void find_frame(const struct facet_mesh *mesh, int32_t face, struct frame *f) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    f->block = mesh_block_of(mesh, cell);
    f->cell = cell - f->block->first;
    f->shape = (enum shape)mesh->face_shapes[face];
    f->n = mesh_side_vertices(mesh, face, 0, f->vertices, f->local);
}

/* A free face: its vertices in the mesh, in the order of its frame, the nodes that stand for them (-1: a wall
 * holds it), and where edges have columns those of a quad, -1 - edge where it runs against the edge. */
struct face_ends {
    int n;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES], nodes[SHAPE_MAX_FACE_VERTICES], edges[4];
};

/* Everything that is needed to write the rows of P. Columns stand for an entity and a component: -1 when a
 * face of it is eliminated or fixed there, -2 when it is on no free face. */
struct builder {
    const struct trace_space *space;
    enum trace_beside beside;
    const struct trace_pieces *pieces; /* NULL: vertices are whole */
    struct mesh_skeleton skeleton;
    struct face_ends *ends;                                /* of free faces */
    int64_t *vertex_columns, *edge_columns, *face_columns; /* of a face with normals: one by one */
    int64_t *edge_labels;                                  /* as in trace_nodes */
    double *hats[SHAPE_COUNT]; /* of a face shape: functions of degree 1 x vertices */
};

static void builder_destroy(struct builder *b) {
    mesh_skeleton_destroy(&b->skeleton);
    base_free(&b->ends);
    base_free(&b->vertex_columns);
    base_free(&b->edge_columns);
    base_free(&b->face_columns);
    base_free(&b->edge_labels);
    for (int s = 0; s < SHAPE_COUNT; s++) base_free(&b->hats[s]);
}

facet_status trace_hats(enum shape shape, double **hats) {
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

/* Whether the row modes matter on a face: one of its cells is no simplex. */
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

/* The number of an edge of a face, and whether the face runs along it as its cells agree it runs. */
static int32_t find_edge(const struct builder *b, const struct frame *f, int edge, int *forward) {
    return mesh_find_edge(b->space->mesh, &b->skeleton, f->block->first + f->cell,
                          f->local[quad_edges[edge].from], f->local[quad_edges[edge].to], forward);
}

/* The same of a free face, as the cells of all parts agree. */
static int32_t edge_of(const struct builder *b, const struct face_ends *ends, int edge, int *forward) {
    const int32_t found = ends->edges[edge] < 0 ? -1 - ends->edges[edge] : ends->edges[edge];
    *forward = ends->edges[edge] >= 0;
    if (b->edge_labels != NULL && b->edge_labels[found] % 2 == 1) *forward = !*forward;
    return found;
}

/* Where L_i(s) L_j(t) stands in the basis of a quad: by the largest degree, then i running fastest. */
static int quad_function(int i, int j) {
    int d = i > j ? i : j;
    return d * d + (j < d ? j : d + i);
}

/* The vertices of a face as nodes: whole ones, or the pieces that the stiffer of its cells belongs to. -1: a
 * wall holds it. */
static void face_nodes(const struct builder *b, int32_t face, const struct frame *f, int32_t *nodes) {
    const struct trace_pieces *p = b->pieces;
    const struct facet_mesh *mesh = b->space->mesh;
    const int32_t *cells = mesh->face_cells + 2 * (int64_t)face;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    int local[SHAPE_MAX_FACE_VERTICES], side;
    for (int i = 0; i < f->n && p == NULL; i++) nodes[i] = b->skeleton.vertices[f->vertices[i]];
    if (p == NULL) return;
    for (int i = 0; i < f->n && p->is_beyond != NULL && p->is_beyond[face]; i++)
        nodes[i] = p->beyond[(int64_t)face * SHAPE_MAX_FACE_VERTICES + i];
    if (p->is_beyond != NULL && p->is_beyond[face]) return;
    side = cells[1] >= 0 && p->values[cells[1]] > p->values[cells[0]];
    const struct mesh_block *block = mesh_block_of(mesh, cells[side]);
    mesh_side_vertices(mesh, face, side, vertices, local);
    const int32_t *corners = p->corners + p->first[block - mesh->blocks] +
                             (int64_t)(cells[side] - block->first) * shape_n_vertices(block->shape);
    for (int i = 0; i < f->n; i++) nodes[i] = corners[local[i]];
}

/* Whether a component of a face has a given value. */
static int is_given(const struct trace_space *space, int32_t face, int component) {
    int64_t first = space->face_free[face];
    int64_t m = (space->face_first[face + 1] - space->face_first[face]) / space->n_components;
    return first < 0 || (space->fixed != NULL && space->fixed[first + component * m]);
}

/* The mean normal of a face, of length 1: 2D: its edge, turned; 3D: half the cross product of two edges, or
 * of the diagonals of a quad. */
static void face_normal(const struct facet_mesh *mesh, const struct frame *f, double *normal) {
    const int dim = mesh->dim;
    const double *x[SHAPE_MAX_FACE_VERTICES];
    double a[3], b[3], square = 0.0;
    for (int i = 0; i < f->n; i++)
        x[i] = f->block->nodes + ((int64_t)f->cell * f->block->n_nodes +
                                  shape_vertex_node(f->block->shape, mesh->order, f->local[i])) *
                                     dim;
    for (int c = 0; c < dim; c++) {
        a[c] = x[f->n == 4 ? 2 : 1][c] - x[0][c];
        b[c] = dim == 3 ? x[f->n - 1][c] - x[f->n == 4 ? 1 : 0][c] : 0.0;
    }
    for (int c = 0; c < dim; c++) {
        normal[c] = dim == 2 ? (c == 0 ? a[1] : -a[0])
                             : a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
        square += normal[c] * normal[c];
    }
    for (int c = 0; c < dim; c++) normal[c] /= sqrt(square);
}

/* Normal displacements of a face: the first functions of it, 1, s, t. */
static int n_normals(const struct builder *b) {
    return b->beside == TRACE_NORMALS && b->space->degree > 0 ? b->space->mesh->dim : 1;
}

/* Whether enough of the normal of a free face is not given. */
static int has_normal(const struct trace_space *space, int32_t face, const struct frame *f) {
    double normal[3], square = 0.0;
    face_normal(space->mesh, f, normal);
    for (int c = 0; c < space->n_components; c++)
        if (!is_given(space, face, c)) square += normal[c] * normal[c];
    return square > LEAST_NORMAL * LEAST_NORMAL;
}

/* The values of this component are given on all that lies on the face. */
static void mark_face(const struct builder *b, const struct frame *f, int component) {
    int nc = b->space->n_components, forward;
    for (int i = 0; i < f->n && b->pieces == NULL; i++) { /* pieces know their walls */
        int64_t *column = &b->vertex_columns[(int64_t)b->skeleton.vertices[f->vertices[i]] * nc + component];
#pragma omp atomic write
        *column = -1;
    }
    for (int k = 0; k < 4 && b->edge_columns != NULL && f->shape == SHAPE_QUAD; k++) {
        int64_t *column = &b->edge_columns[(int64_t)find_edge(b, f, k, &forward) * nc + component];
#pragma omp atomic write
        *column = -1;
    }
}

static facet_status alloc_columns(int64_t n, int nc, int64_t **columns) {
    facet_status status = ALLOC(*columns, n * nc);
    if (status != FACET_OK) return status;
#pragma omp parallel for num_threads(base_threads_for(n *nc)) schedule(static)
    for (int64_t i = 0; i < n * nc; i++) (*columns)[i] = -2;
    return FACET_OK;
}

/* ------------------------------------------------------------------------------ numbering */

/* An entity as a face meets it: the columns of its components, and what is told of its node. */
struct visit {
    int32_t entity; /* -1: the face's own */
    int n;
    int64_t *columns;
    int32_t vertex, place;
};
#define MOST_VISITS 5

/* What a free face meets: its vertices, or what stands beside them on it. Returns how many. */
static int list_visits(const struct builder *b, int64_t block, int beside, struct visit *visits) {
    const struct trace_space *space = b->space;
    const struct face_ends *ends = &b->ends[block];
    const int nc = space->n_components, dim = space->mesh->dim;
    const int32_t face = space->free_faces[block];
    const int quad = space->mesh->face_shapes[face] == SHAPE_QUAD;
    int n = 0, forward, own = nc;
    for (int i = 0; i < ends->n && !beside; i++)
        if (ends->nodes[i] >= 0)
            visits[n++] = (struct visit){ends->nodes[i], nc, b->vertex_columns + (int64_t)ends->nodes[i] * nc,
                                         ends->vertices[i], ends->nodes[i]};
    if (!beside) return n;
    if (b->beside == TRACE_FLUXES || b->beside == TRACE_NORMALS) {
        struct frame f;
        find_frame(space->mesh, face, &f);
        own = has_normal(space, face, &f) ? n_normals(b) : 0;
    } else {
        for (int i = 0; i < 4 && dim == 3 && quad; i++) {
            const int32_t edge = edge_of(b, ends, i, &forward);
            visits[n++] = (struct visit){edge, nc, b->edge_columns + (int64_t)edge * nc, -1, -1 - edge};
        }
        if (dim == 3 && (space->degree <= 1 || !quad)) own = 0;
        if (!has_rows(space->mesh, face)) own = 0;
    }
    if (own > 0) visits[n++] = (struct visit){-1, own, b->face_columns + block * nc, -1, face};
    return n;
}

static int64_t n_columns_of(const struct visit *v) {
    int64_t n = 0;
    for (int c = 0; c < v->n; c++) n += v->columns[c] == -2;
    return n;
}

/* The visits of a face to what no face before it has met: those whose place is the first of their entity. */
static int list_first_visits(const struct builder *b, int64_t block, int beside, const int64_t *first,
                             struct visit *visits) {
    int n = 0;
    const int n_all = list_visits(b, block, beside, visits);
    for (int i = 0; i < n_all; i++)
        if (visits[i].entity < 0 || first[visits[i].entity] == block * MOST_VISITS + i)
            visits[n++] = visits[i];
    return n;
}

static void lower(int64_t *first, int64_t place) {
    atomic_int_least64_t *to = (atomic_int_least64_t *)first;
    int_least64_t before = atomic_load_explicit(to, memory_order_relaxed);
    while (before > place && !atomic_compare_exchange_weak(to, &before, place)) continue;
}

/* Columns for the components of entities that are not given, and a node for an entity that has any, in the
 * order in which the free faces meet them, by all threads. n: of the entities that faces share. */
static facet_status number_entities(const struct builder *b, int64_t n, int beside,
                                    struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    const int64_t n_faces = b->space->n_free_faces, n_before = nodes->n,
                  columns_before = nodes->offsets[n_before];
    const int n_threads = base_threads_for(n_faces);
    int64_t *first = NULL, *n_nodes = NULL, *n_columns = NULL;
    TRY(ALLOC(first, n));
    TRY(CALLOC(n_nodes, n_faces + 1));
    TRY(CALLOC(n_columns, n_faces + 1));
#pragma omp parallel num_threads(n_threads)
    {
        struct visit visits[MOST_VISITS];
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) first[i] = INT64_MAX;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n_faces; k++)
            for (int i = 0, all = list_visits(b, k, beside, visits); i < all; i++)
                if (visits[i].entity >= 0) lower(&first[visits[i].entity], k * MOST_VISITS + i);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n_faces; k++)
            for (int i = 0, new = list_first_visits(b, k, beside, first, visits); i < new; i++) {
                const int64_t more = n_columns_of(&visits[i]);
                n_nodes[k + 1] += more > 0;
                n_columns[k + 1] += more;
            }
    }
    base_sum_up(n_faces, n_nodes);
    base_sum_up(n_faces, n_columns);
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t k = 0; k < n_faces; k++) {
        struct visit visits[MOST_VISITS];
        int64_t node = n_before + n_nodes[k], column = columns_before + n_columns[k];
        for (int i = 0, new = list_first_visits(b, k, beside, first, visits); i < new; i++) {
            const struct visit *v = &visits[i];
            if (n_columns_of(v) == 0) continue;
            for (int c = 0; c < v->n; c++) {
                if (v->columns[c] != -2) continue;
                nodes->components[column] = (uint8_t)c;
                v->columns[c] = column++;
            }
            nodes->vertices[node] = v->vertex;
            nodes->places[node] = v->place;
            nodes->offsets[++node] = column;
        }
    }
    nodes->n = n_before + n_nodes[n_faces];
done:
    base_free(&first);
    base_free(&n_nodes);
    base_free(&n_columns);
    return status;
}

/* What free faces have, and where values are given. */
static facet_status look_at_faces(struct builder *b) {
    facet_status status = FACET_OK;
    const struct trace_space *space = b->space;
    const struct facet_mesh *mesh = space->mesh;
    const int nc = space->n_components;
    TRY(ALLOC(b->ends, space->n_free_faces));
#pragma omp parallel num_threads(base_threads_for(mesh->n_faces))
    {
        struct frame f;
#pragma omp for schedule(static)
        for (int32_t face = 0; face < mesh->n_faces; face++)
            for (int c = 0; c < nc; c++) {
                if (!is_given(space, face, c)) continue;
                find_frame(mesh, face, &f);
                mark_face(b, &f, c);
            }
#pragma omp for schedule(static)
        for (int64_t k = 0; k < space->n_free_faces; k++) {
            struct face_ends *ends = &b->ends[k];
            int forward;
            find_frame(mesh, space->free_faces[k], &f);
            ends->n = f.n;
            memcpy(ends->vertices, f.vertices, sizeof f.vertices);
            face_nodes(b, space->free_faces[k], &f, ends->nodes);
            for (int i = 0; i < 4 && b->edge_columns != NULL && f.shape == SHAPE_QUAD; i++) {
                const int32_t edge = find_edge(b, &f, i, &forward);
                ends->edges[i] = forward ? edge : -1 - edge;
            }
            for (int c = 0; c < nc && b->beside == TRACE_ROWS; c++)
                if (is_given(space, space->free_faces[k], c)) b->face_columns[k * nc + c] = -1;
        }
    }
done:
    return status;
}

/* What is given at an edge of the seam in one part is given in all. */
static facet_status merge_given_edges(const struct builder *b) {
    facet_status status = FACET_OK;
    const int nc = b->space->n_components;
    const int64_t n = (int64_t)b->skeleton.n_edges * nc;
    int64_t *given = NULL;
    TRY(ALLOC(given, n));
    for (int64_t i = 0; i < n; i++) given[i] = b->edge_columns[i] == -1;
    TRY(mesh_merge_edges(b->space->mesh, &b->skeleton, nc, 0, given));
    for (int64_t i = 0; i < n; i++)
        if (given[i]) b->edge_columns[i] = -1;
done:
    base_free(&given);
    return status;
}

/* Names the edges that have nodes, in all parts alike. */
static facet_status label_edges(struct builder *b, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = b->space->mesh->part;
    const int nc = b->space->n_components;
    const int64_t n = b->skeleton.n_edges;
    int64_t *labels = NULL;
    struct team_range range;
    TRY(team_number_owned(part->team, n, &range));
    nodes->first_label = range.first + 1; /* 0: there is no node */
    TRY(CALLOC(labels, n));
    for (int64_t i = 0; i < n * nc; i++)
        if (b->edge_columns[i] >= 0) labels[i / nc] = 2 * (nodes->first_label + i / nc);
    TRY(mesh_merge_edges(b->space->mesh, &b->skeleton, 1, 1, labels));
    b->edge_labels = labels;
    labels = NULL;
done:
    base_free(&labels);
    return status;
}

/* The same at a vertex. */
static facet_status merge_given(const struct builder *b) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = b->space->mesh;
    const int nc = b->space->n_components;
    const int64_t n = (int64_t)mesh->n_vertices * nc;
    int64_t *given = NULL;
    if (mesh->part == NULL) return FACET_OK;
    TRY(ALLOC(given, n));
    for (int64_t i = 0; i < n; i++)
        given[i] = b->vertex_columns[(int64_t)b->skeleton.vertices[i / nc] * nc + i % nc] == -1;
    TRY(mesh_merge_joined_vertices(mesh, nc, given));
    for (int64_t i = 0; i < n; i++)
        if (given[i]) b->vertex_columns[(int64_t)b->skeleton.vertices[i / nc] * nc + i % nc] = -1;
done:
    base_free(&given);
    return status;
}

static facet_status number_nodes(struct builder *b, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    const struct trace_space *space = b->space;
    const struct facet_mesh *mesh = space->mesh;
    int nc = space->n_components, edges = b->beside == TRACE_ROWS && mesh->dim == 3;
    int64_t n_vertices = b->pieces != NULL ? b->pieces->n : b->skeleton.n_vertices;
    int64_t most = n_vertices + (edges ? b->skeleton.n_edges : 0) +
                   (b->beside != TRACE_VERTICES ? space->n_free_faces : 0);
    TRY(alloc_columns(n_vertices, nc, &b->vertex_columns));
    TRY(alloc_columns(space->n_free_faces, nc, &b->face_columns));
    if (edges) TRY(alloc_columns(b->skeleton.n_edges, nc, &b->edge_columns));
    TRY(ALLOC(nodes->offsets, most + 1));
    TRY(ALLOC(nodes->vertices, most));
    TRY(ALLOC(nodes->places, most));
    TRY(ALLOC(nodes->components, most * nc));
    nodes->offsets[0] = 0;
    TRY(look_at_faces(b));
    if (b->pieces == NULL) TRY(merge_given(b)); /* of parts vertices are whole */
    if (edges && mesh->part != NULL) TRY(merge_given_edges(b));
    TRY(number_entities(b, n_vertices, 0, nodes));
    nodes->n_vertices = nodes->n;
    if (b->beside != TRACE_VERTICES) TRY(number_entities(b, edges ? b->skeleton.n_edges : 0, 1, nodes));
    if (edges && mesh->part != NULL) TRY(label_edges(b, nodes));
done:
    return status;
}

/* One face's rows for one component: entries (function, column, value), few of them, by functions. */
struct entries {
    int n;
    int function[64];
    int64_t column[64];
    double value[64];
};

/* Behind those of the same function. */
static void add_entry(struct entries *e, int function, int64_t column, double value) {
    int at = e->n;
    if (column < 0 || value == 0.0) return;
    for (; at > 0 && e->function[at - 1] > function; at--) {
        e->function[at] = e->function[at - 1];
        e->column[at] = e->column[at - 1];
        e->value[at] = e->value[at - 1];
    }
    e->function[at] = function;
    e->column[at] = column;
    e->value[at] = value;
    e->n++;
}

/* The row modes of a quad face: L_k along an edge, 1 - t or t across it, and L_k L_k. */
static void add_quad_rows(const struct builder *b, const struct face_ends *ends, int component,
                          int64_t face_column, struct entries *e) {
    int k = b->space->degree, nc = b->space->n_components, forward;
    for (int i = 0; i < 4; i++) {
        int64_t column = b->edge_columns[(int64_t)edge_of(b, ends, i, &forward) * nc + component];
        double sign = !forward && k % 2 == 1 ? -1.0 : 1.0;
        for (int j = 0; j < 2; j++) { /* 1 - t = 1/2 - L_1 / (2 sqrt 3) */
            double across = j == 0 ? 0.5 : (quad_edges[i].far ? 0.5 : -0.5) / sqrt(3.0);
            add_entry(e, quad_edges[i].along == 0 ? quad_function(k, j) : quad_function(j, k), column,
                      sign * across);
        }
    }
    add_entry(e, quad_function(k, k), face_column, 1.0);
}

static void face_entries(const struct builder *b, int64_t block, int component, struct entries *e) {
    const int32_t face = b->space->free_faces[block];
    const struct face_ends *ends = &b->ends[block];
    const enum shape shape = (enum shape)b->space->mesh->face_shapes[face];
    const int nc = b->space->n_components, m = basis_size(shape, 1);
    e->n = 0;
    if (is_given(b->space, face, component)) return;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < ends->n; j++)
            if (ends->nodes[j] >= 0)
                add_entry(e, i, b->vertex_columns[(int64_t)ends->nodes[j] * nc + component],
                          b->hats[shape][i * ends->n + j]);
    if (b->beside == TRACE_FLUXES || b->beside == TRACE_NORMALS) {
        struct frame f;
        double normal[3];
        find_frame(b->space->mesh, face, &f);
        face_normal(b->space->mesh, &f, normal);
        for (int i = 0; i < n_normals(b); i++)
            add_entry(e, i, b->face_columns[block * nc + i], normal[component]);
    }
    if (b->beside != TRACE_ROWS) return;
    if (shape == SHAPE_QUAD)
        add_quad_rows(b, ends, component, b->face_columns[block * nc + component], e);
    else if (shape == SHAPE_SEGMENT)
        add_entry(e, b->space->degree, b->face_columns[block * nc + component], 1.0);
}

/* The rows of P: counted when columns is NULL, each at its end, else written. */
static void write_rows(const struct builder *b, struct mg_transfer *P) {
    const struct trace_space *space = b->space;
    int nc = space->n_components;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        struct entries e;
        int64_t first = space->free_offsets[k], m = (space->free_offsets[k + 1] - first) / nc;
        for (int c = 0; c < nc; c++) {
            int a = 0;
            face_entries(b, k, c, &e);
            for (int64_t i = 0; i < m; i++) {
                int64_t row = first + c * m + i, at = P->columns != NULL ? P->offsets[row] : 0;
                for (; a < e.n && e.function[a] == i; a++, at++) {
                    if (P->columns == NULL) continue;
                    P->columns[at] = (int32_t)e.column[a];
                    P->values[at] = e.value[a];
                }
                if (P->columns == NULL) P->offsets[row + 1] = at;
            }
        }
    }
}

facet_status trace_continuous_nodes(const struct trace_space *space, enum trace_beside beside,
                                    const struct trace_pieces *pieces, struct trace_nodes *nodes) {
    facet_status status = FACET_OK;
    struct builder b = {.space = space, .beside = beside};
    if (pieces != NULL && pieces->corners != NULL) b.pieces = pieces;
    *nodes = (struct trace_nodes){.beside = beside};
    TRY(beside == TRACE_ROWS && space->mesh->dim == 3 ? mesh_skeleton_create(space->mesh, &b.skeleton)
                                                      : mesh_skeleton_vertices(space->mesh, &b.skeleton));
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        enum shape shape = (enum shape)space->mesh->face_shapes[space->free_faces[k]];
        if (b.hats[shape] == NULL) TRY(trace_hats(shape, &b.hats[shape]));
    }
    TRY(number_nodes(&b, nodes));
    nodes->P = (struct mg_transfer){.n_rows = space->n_free, .n_columns = nodes->offsets[nodes->n]};
    TRY(ALLOC(nodes->P.offsets, space->n_free + 1));
    nodes->P.offsets[0] = 0;
    write_rows(&b, &nodes->P);
    base_sum_up(space->n_free, nodes->P.offsets);
    TRY(ALLOC(nodes->P.columns, nodes->P.offsets[space->n_free]));
    TRY(ALLOC(nodes->P.values, nodes->P.offsets[space->n_free]));
    write_rows(&b, &nodes->P);
    if (beside != TRACE_VERTICES || b.pieces != NULL || space->n_components > 1 || space->fixed != NULL)
        goto done;
    TRY(ALLOC(nodes->columns, space->mesh->n_vertices));
    for (int32_t v = 0; v < space->mesh->n_vertices; v++) {
        int64_t column = b.vertex_columns[b.skeleton.vertices[v]];
        nodes->columns[v] = column >= 0 ? (int32_t)column : -1;
    }
done:
    if (b.edge_labels != NULL) {
        nodes->skeleton = b.skeleton;
        nodes->edge_labels = b.edge_labels;
        b.skeleton = (struct mesh_skeleton){0};
        b.edge_labels = NULL;
    }
    builder_destroy(&b);
    if (status != FACET_OK) trace_nodes_destroy(nodes);
    return status;
}
