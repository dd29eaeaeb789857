/* Where the cells and faces of a fine mesh lie in a coarse one. The parents are found in chunks of cells: a
 * finder (parents.c) guesses parent and image, equal images become one kind, and the geometry is compared at
 * all lattice nodes of the fine cells. Then every parent must be filled, and every fine face must have the
 * same place from both sides. Begin reading at mesh_nest. */
#include "mesh/nesting.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"

#define CHUNK 65536
/* A cell may stick out of its parent by this in reference coordinates, a node be off by this multiple of the
 * parent's extent, and the volumes of the children add up to 1 within it. */
#define TOLERANCE 1e-8
#define ROUNDINGS 64
/* Images whose numbers agree to this are one kind. */
#define SAME 0x1p-29

/* The tables of Lagrange values of all kinds take this much memory at most. */
#define MOST_TABLE_BYTES 268435456

/* Most cells have an image that one before them had, to the last bit. */
#define RECENT 256

/* A nesting in the making. */
struct nester {
    const struct facet_mesh *fine, *coarse;
    struct mesh_nesting *nesting;
    struct mesh_finder *finder;
    int is_known; /* the fine mesh was refined from the coarse one: the vertices, which the finder has seen,
                     are enough */
    double *lattices[MESH_MAX_BLOCKS]; /* of the fine cells */
    int capacity;                      /* of kinds */
    uint32_t mask;
    int recent[RECENT]; /* kinds by a hash of their very bits; any kind, or -1 */
    int32_t *table;     /* of kinds by their numbers: kind + 1, 0: empty */
    double **values;    /* kinds: the parent's Lagrange functions at the fine cell's nodes */
    double *measures;   /* kinds: the part of the parent that they fill */
    struct mesh_kind *images;
};

/* ------------------------------------------------------------------------------------------ kinds */

static void kind_key(const struct mesh_kind *kind, int64_t *key) {
    key[0] = kind->shape;
    for (int a = 0; a < 3; a++) {
        key[1 + a] = llround(kind->origin[a] / SAME);
        for (int b = 0; b < 3; b++) key[4 + 3 * b + a] = llround(kind->axes[b][a] / SAME);
    }
}

enum { KEY = 13 };

static uint32_t hash(const int64_t *key) {
    uint64_t h = 0;
    for (int i = 0; i < KEY; i++) h = (h ^ (uint64_t)key[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* The slot of a kind with this key, or the empty one where it belongs. */
static uint32_t find_slot(const struct nester *n, const int64_t *key) {
    for (uint32_t slot = hash(key) & n->mask;; slot = (slot + 1) & n->mask) {
        int64_t other[KEY];
        int same = 1;
        if (n->table[slot] == 0) return slot;
        kind_key(&n->nesting->kind[n->table[slot] - 1], other);
        for (int i = 0; i < KEY; i++) same &= key[i] == other[i];
        if (same) return slot;
    }
}

static facet_status grow_kinds(struct nester *n) {
    facet_status status = FACET_OK;
    int capacity = n->capacity ? 2 * n->capacity : 64;
    int32_t *table = NULL;
    TRY(base_realloc(&n->nesting->kind, (size_t)capacity, sizeof *n->nesting->kind));
    TRY(base_realloc(&n->values, (size_t)capacity, sizeof *n->values));
    TRY(base_realloc(&n->measures, (size_t)capacity, sizeof *n->measures));
    TRY(base_realloc(&n->nesting->faces, (size_t)capacity, SHAPE_MAX_FACES * sizeof *n->nesting->faces));
    TRY(CALLOC(table, 2 * capacity));
    base_free(&n->table);
    n->table = table;
    n->mask = 2 * (uint32_t)capacity - 1;
    n->capacity = capacity;
    for (int k = 0; k < n->nesting->n_kinds; k++) {
        int64_t key[KEY];
        kind_key(&n->nesting->kind[k], key);
        n->table[find_slot(n, key)] = k + 1;
    }
done:
    return status;
}

static void map_image(const struct mesh_kind *kind, int dim, const double *eta, double *xi) {
    for (int a = 0; a < dim; a++) {
        xi[a] = kind->origin[a];
        for (int b = 0; b < dim; b++) xi[a] += eta[b] * kind->axes[b][a];
    }
}

/* How far a point is from the plane of a face of the reference cell: a coordinate is constant there, or an
 * axis has no room left. */
static double off_face(enum shape shape, int face, const double *xi) {
    const int *corners = shape_face_vertices(shape, face);
    const double *vertices = shape_vertices(shape);
    int dim = shape_dim(shape), n = shape_n_vertices(shape_face_shape(shape, face));
    double off = INFINITY;
    for (int a = 0; a < dim; a++) {
        double level = vertices[corners[0] * dim + a];
        int constant = 1, full = 1;
        for (int i = 0; i < n; i++) {
            constant &= vertices[corners[i] * dim + a] == level;
            full &= shape_room(shape, a, vertices + corners[i] * dim) == 0;
        }
        if (constant) return fabs(xi[a] - level);
        if (full) off = fmin(off, fabs(shape_room(shape, a, xi)));
    }
    return off;
}

/* The parent's face on which a face of the image lies, or -1. */
static int face_around(const struct mesh_kind *kind, int dim, int face) {
    const int *corners = shape_face_vertices(kind->shape, face);
    int n = shape_n_vertices(shape_face_shape(kind->shape, face));
    for (int f = 0; f < shape_n_faces(kind->shape); f++) {
        int on = 1;
        for (int i = 0; on && i < n; i++) {
            double xi[3];
            map_image(kind, dim, shape_vertices(kind->shape) + corners[i] * dim, xi);
            on = off_face(kind->shape, f, xi) <= TOLERANCE;
        }
        if (on) return f;
    }
    return -1;
}

static int image_is_inside(const struct mesh_kind *image, int dim) {
    for (int v = 0; v < shape_n_vertices(image->shape); v++) {
        double xi[3];
        map_image(image, dim, shape_vertices(image->shape) + v * dim, xi);
        if (!(mesh_outside_by(image->shape, xi) <= TOLERANCE)) return 0;
    }
    return 1;
}

/* A new kind with its tables. */
static facet_status add_kind(struct nester *n, const struct mesh_kind *image, int b) {
    facet_status status = FACET_OK;
    int k = n->nesting->n_kinds, dim = n->fine->dim, n_points = n->fine->blocks[b].n_nodes;
    double *xi = NULL, axes[9];
    n->nesting->kind[k] = *image;
    n->values[k] = NULL;
    n->nesting->n_kinds++;
    for (int f = 0; f < shape_n_faces(image->shape); f++)
        n->nesting->faces[k * SHAPE_MAX_FACES + f] = (int16_t)face_around(image, dim, f);
    for (int a = 0; a < dim; a++)
        for (int c = 0; c < dim; c++) axes[a * dim + c] = image->axes[a][c];
    n->measures[k] = mesh_determinant(dim, axes);
    TRY(ALLOC(xi, n_points * dim));
    for (int i = 0; i < n_points; i++) map_image(image, dim, n->lattices[b] + i * dim, xi + i * dim);
    TRY(ALLOC(n->values[k], (int64_t)n_points * shape_n_nodes(image->shape, n->coarse->order)));
    TRY(basis_lagrange(image->shape, n->coarse->order, n_points, xi, n->values[k], NULL));
done:
    base_free(&xi);
    return status;
}

static uint32_t quick_hash(const struct mesh_kind *image) {
    const double *numbers[4] = {image->origin, image->axes[0], image->axes[1], image->axes[2]};
    uint64_t h = image->shape;
    for (int i = 0; i < 12; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i / 3][i % 3], sizeof bits);
        h = (h << 7 | h >> 57) ^ bits;
    }
    return (uint32_t)(h * 0x9E3779B97F4A7C15u >> 40) % RECENT;
}

static int is_same(const struct mesh_kind *one, const struct mesh_kind *two) {
    for (int a = 0; a < 3; a++) {
        if (one->origin[a] != two->origin[a]) return 0;
        for (int b = 0; b < 3; b++)
            if (one->axes[b][a] != two->axes[b][a]) return 0;
    }
    return one->shape == two->shape;
}

/* The kind of a cell; *nested = 0 when the image is none or there are too many kinds. */
static facet_status assign_kind(struct nester *n, int32_t cell, const struct mesh_kind *image, int *nested) {
    facet_status status = FACET_OK;
    int b = mesh_block_index(n->fine, cell);
    int *recent = &n->recent[quick_hash(image)];
    int64_t key[KEY];
    if (*recent >= 0 && is_same(image, &n->nesting->kind[*recent])) {
        n->nesting->kinds[cell] = (uint16_t)*recent;
        goto done;
    }
    if (n->nesting->n_kinds == n->capacity) TRY(grow_kinds(n));
    kind_key(image, key);
    uint32_t slot = find_slot(n, key);
    if (n->table[slot] == 0) {
        double bytes = 8.0 * n->fine->blocks[b].n_nodes * shape_n_nodes(image->shape, n->coarse->order);
        *nested = n->nesting->n_kinds < fmin(NESTING_MAX_KINDS, MOST_TABLE_BYTES / bytes) &&
                  image_is_inside(image, n->fine->dim);
        if (!*nested) goto done;
        TRY(add_kind(n, image, b));
        n->table[slot] = n->nesting->n_kinds;
    }
    *recent = n->table[slot] - 1;
    n->nesting->kinds[cell] = (uint16_t)*recent;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ cells */

/* Affine maps agree when they do at the spanning vertices; `near` as below. */
static int affine_maps_agree(const struct nester *n, int32_t cell, double near) {
    int32_t parent = n->nesting->parents[cell];
    const struct mesh_kind *kind = &n->nesting->kind[n->nesting->kinds[cell]];
    const double *points = mesh_cell_nodes(n->fine, cell), *nodes = mesh_cell_nodes(n->coarse, parent);
    int dim = n->fine->dim;
    double J[9];
    mesh_affine_jacobian(kind->shape, n->coarse->order, nodes, J);
    for (int v = 0; v <= dim; v++) {
        int node = shape_vertex_node(kind->shape, n->fine->order, mesh_spanning_vertex(kind->shape, v));
        for (int a = 0; a < dim; a++) {
            double off = nodes[a] - points[node * dim + a];
            for (int b = 0; b < dim; b++)
                off += J[a * dim + b] * (kind->origin[b] + (v > 0 ? kind->axes[v - 1][b] : 0));
            if (!(fabs(off) <= near)) return 0;
        }
    }
    return 1;
}

/* Whether the parent's map through the kind is the cell's own. */
static int maps_agree(const struct nester *n, int32_t cell) {
    int32_t parent = n->nesting->parents[cell];
    const struct mesh_block *fine = mesh_block_of(n->fine, cell), *coarse = mesh_block_of(n->coarse, parent);
    int dim = n->fine->dim, n_nodes = coarse->n_nodes;
    const double *points = mesh_cell_nodes(n->fine, cell), *nodes = mesh_cell_nodes(n->coarse, parent);
    const double *values = n->values[n->nesting->kinds[cell]];
    double extent, most;
    mesh_node_range(n_nodes, dim, nodes, &extent, &most);
    double near = ROUNDINGS * DBL_EPSILON * most + TOLERANCE * extent;
    if (fine->affine[cell - fine->first] && coarse->affine[parent - coarse->first])
        return affine_maps_agree(n, cell, near);
    for (int i = 0; i < fine->n_nodes; i++, values += n_nodes) {
        double x[3] = {0};
        for (int j = 0; j < n_nodes; j++)
            for (int a = 0; a < dim; a++) x[a] += values[j] * nodes[j * dim + a];
        for (int a = 0; a < dim; a++)
            if (!(fabs(x[a] - points[i * dim + a]) <= near)) return 0;
    }
    return 1;
}

static facet_status nest_chunk(struct nester *n, int32_t begin, int32_t end, int *nested) {
    facet_status status = FACET_OK;
    struct base_collector collector;
    int all = 1;
    base_collector_init(&collector);
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)(end - begin))) schedule(static)         \
    reduction(&& : all)
    for (int32_t c = begin; c < end; c++) {
        if (!all) continue;
        base_collect(&collector, c,
                     mesh_find_parent(n->finder, c, &n->nesting->parents[c], &n->images[c - begin]));
        all = all && n->nesting->parents[c] >= 0;
    }
    TRY(base_collected(&collector));
    *nested = all;
    for (int32_t c = begin; *nested && c < end; c++) TRY(assign_kind(n, c, &n->images[c - begin], nested));
    if (!*nested || n->is_known) goto done;
#pragma omp parallel for num_threads(base_threads_for(100 * (int64_t)(end - begin))) schedule(static) reduction(&& : all)
    for (int32_t c = begin; c < end; c++) all = all && maps_agree(n, c);
    *nested = all;
done:
    return status;
}

static void forget_kinds(struct nester *n) {
    for (int k = 0; k < n->nesting->n_kinds; k++) base_free(&n->values[k]);
    for (int i = 0; i < 2 * n->capacity; i++) n->table[i] = 0;
    for (int i = 0; i < RECENT; i++) n->recent[i] = -1;
    n->nesting->n_kinds = 0;
}

static facet_status nest_cells(struct nester *n, enum mesh_way way, int *nested) {
    facet_status status = FACET_OK;
    forget_kinds(n);
    *nested = 0;
    TRY(mesh_finder_create(way, n->fine, n->coarse, &n->finder));
    if (!n->finder) goto done;
    n->is_known = way == MESH_BY_ORDER && n->fine->coarse == n->coarse;
    *nested = 1;
    for (int32_t begin = 0; *nested && begin < n->fine->n_cells; begin += CHUNK) {
        int32_t left = n->fine->n_cells - begin;
        TRY(nest_chunk(n, begin, begin + (left < CHUNK ? left : CHUNK), nested));
    }
done:
    mesh_finder_destroy(&n->finder);
    return status;
}

/* ------------------------------------------------------------------------------------------ children and
 * faces */

/* The lists of children; *nested = 0 when they do not fill their parent. */
static facet_status list_children(struct nester *n, int *nested) {
    facet_status status = FACET_OK;
    struct mesh_nesting *nesting = n->nesting;
    int32_t n_coarse = n->coarse->n_cells, n_fine = n->fine->n_cells;
    TRY(CALLOC(nesting->starts, (int64_t)n_coarse + 1));
    TRY(ALLOC(nesting->children, n_fine));
    for (int32_t c = 0; c < n_fine; c++) nesting->starts[nesting->parents[c] + 1]++;
    for (int32_t c = 0; c < n_coarse; c++) nesting->starts[c + 1] += nesting->starts[c];
    for (int32_t c = 0; c < n_fine; c++) nesting->children[nesting->starts[nesting->parents[c]]++] = c;
    for (int32_t c = n_coarse; c > 0; c--) nesting->starts[c] = nesting->starts[c - 1];
    nesting->starts[0] = 0;
    for (int32_t c = 0; *nested && c < n_coarse; c++) {
        double filled = 0;
        for (int32_t i = nesting->starts[c]; i < nesting->starts[c + 1]; i++)
            filled += n->measures[nesting->kinds[nesting->children[i]]];
        *nested = fabs(filled - 1) <= 8 * TOLERANCE * (nesting->starts[c + 1] - nesting->starts[c] + 1);
    }
done:
    return status;
}

/* The coarse face around one side of a fine face, -1: inside the parent. */
static int32_t side_parent(const struct nester *n, int32_t face, int side) {
    int32_t cell = n->fine->face_cells[2 * (int64_t)face + side], parent = n->nesting->parents[cell];
    int local = n->nesting->faces[n->nesting->kinds[cell] * SHAPE_MAX_FACES +
                                  n->fine->face_locals[2 * (int64_t)face + side]];
    const struct mesh_block *block = mesh_block_of(n->coarse, parent);
    return local < 0 ? -1
                     : block->faces[(int64_t)(parent - block->first) * shape_n_faces(block->shape) + local];
}

/* A face inside a parent has the same parent on both sides; one on a coarse face has cells on as many sides
 * as the coarse face, or lies on the same seam. */
static int place_face(const struct nester *n, int32_t face) {
    const int32_t *cells = n->fine->face_cells + 2 * (int64_t)face;
    int32_t around = n->nesting->face_parents[face] = side_parent(n, face, 0);
    if (cells[1] < 0) return around >= 0 && n->coarse->face_cells[2 * (int64_t)around + 1] == cells[1];
    if (side_parent(n, face, 1) != around) return 0;
    if (around < 0) return n->nesting->parents[cells[0]] == n->nesting->parents[cells[1]];
    return n->coarse->face_cells[2 * (int64_t)around + 1] >= 0;
}

static facet_status place_faces(struct nester *n, int *nested) {
    facet_status status = FACET_OK;
    int32_t n_faces = n->fine->n_faces;
    int all = 1;
    TRY(ALLOC(n->nesting->face_parents, n_faces));
#pragma omp parallel for num_threads(base_threads_for(10 * (int64_t)n_faces)) schedule(static) reduction(&& : all)
    for (int32_t f = 0; f < n_faces; f++) all = place_face(n, f) && all;
    *nested = all;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ all */

static void nester_free(struct nester *n) {
    for (int k = 0; k < n->nesting->n_kinds; k++) base_free(&n->values[k]);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&n->lattices[b]);
    base_free(&n->table);
    base_free(&n->values);
    base_free(&n->measures);
    base_free(&n->images);
}

facet_status mesh_nest(const struct facet_mesh *fine, const struct facet_mesh *coarse,
                       struct mesh_nesting *nesting, int *nested) {
    facet_status status = FACET_OK;
    struct nester n = {.fine = fine, .coarse = coarse, .nesting = nesting};
    *nesting = (struct mesh_nesting){.fine = fine, .coarse = coarse};
    *nested = 0;
    if (fine->dim != coarse->dim || fine->n_cells < coarse->n_cells) goto done;
    TRY(mesh_need_lists(fine));
    TRY(mesh_need_lists(coarse));
    for (int b = 0; b < fine->n_blocks; b++) {
        TRY(ALLOC(n.lattices[b], fine->blocks[b].n_nodes * fine->dim));
        shape_nodes(fine->blocks[b].shape, fine->order, n.lattices[b]);
    }
    TRY(ALLOC(n.images, CHUNK));
    TRY(ALLOC(nesting->parents, fine->n_cells));
    TRY(ALLOC(nesting->kinds, fine->n_cells));
    for (int way = 0; !*nested && way < MESH_N_WAYS; way++) TRY(nest_cells(&n, (enum mesh_way)way, nested));
    if (*nested) TRY(list_children(&n, nested));
    if (*nested) TRY(place_faces(&n, nested));
done:
    nester_free(&n);
    if (status != FACET_OK) *nested = 0;
    if (!*nested) mesh_nesting_destroy(nesting);
    return status;
}

void mesh_nesting_destroy(struct mesh_nesting *nesting) {
    base_free(&nesting->parents);
    base_free(&nesting->kinds);
    base_free(&nesting->kind);
    base_free(&nesting->faces);
    base_free(&nesting->starts);
    base_free(&nesting->children);
    base_free(&nesting->face_parents);
    *nesting = (struct mesh_nesting){0};
}
