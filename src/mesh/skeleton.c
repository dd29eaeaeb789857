/* Vertices and edges across periodic faces. Both are joined by the faces they lie on: the two sides of a face
 * name its corners in the order of the frame, so that corners, and edges between them, match by their place.
 * An edge may be joined to one that its vertices' numbers direct the other way; every edge of a set therefore
 * knows whether it runs against its leader. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

/* Sets of vertices or edges; the lowest member leads. */
struct sets {
    int32_t *parents;
    uint8_t *against; /* the parent */
};

static facet_status sets_create(int32_t n, struct sets *sets) {
    facet_status status = FACET_OK;
    TRY(ALLOC(sets->parents, n));
    TRY(CALLOC(sets->against, n));
    for (int32_t i = 0; i < n; i++) sets->parents[i] = i;
done:
    return status;
}

static void sets_destroy(struct sets *sets) {
    base_free(&sets->parents);
    base_free(&sets->against);
}

/* *against is turned when the member runs against its leader. */
static int32_t leader_of(struct sets *sets, int32_t member, int *against) {
    while (sets->parents[member] != member) {
        int32_t parent = sets->parents[member];
        sets->against[member] ^= sets->against[parent]; /* 0 for a leader */
        sets->parents[member] = sets->parents[parent];
        *against ^= sets->against[member];
        member = sets->parents[member];
    }
    return member;
}

/* 0 when the two are one already, but directed the other way. */
static int join(struct sets *sets, int32_t a, int32_t b, int against) {
    int32_t first = leader_of(sets, a, &against), second = leader_of(sets, b, &against);
    if (first == second) return !against;
    int32_t low = first < second ? first : second, high = first < second ? second : first;
    sets->parents[high] = low;
    sets->against[high] = (uint8_t)against;
    return 1;
}

/* numbers[i]: of the set of i, leaders in order. Returns how many there are. */
static int32_t number_sets(struct sets *sets, int32_t n, int32_t *numbers) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) { /* a leader comes before those it leads */
        int against = 0;
        int32_t leader = leader_of(sets, i, &against);
        numbers[i] = leader == i ? count++ : numbers[leader];
        sets->parents[i] = leader;
        sets->against[i] = (uint8_t)against;
    }
    return count;
}

int mesh_side_vertices(const struct facet_mesh *mesh, int32_t face, int side, int32_t *vertices,
                       int *locals) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    int local = mesh->face_locals[2 * (int64_t)face + side];
    const struct mesh_block *b = mesh_block_of(mesh, cell);
    enum shape shape = (enum shape)mesh->face_shapes[face];
    int64_t in_block = cell - b->first;
    const int *ids = shape_face_vertices(b->shape, local);
    const int *order = shape_permutation(shape, b->orientations[in_block * shape_n_faces(b->shape) + local]);
    int n = shape_n_vertices(shape);
    for (int i = 0; i < n; i++) {
        vertices[i] = b->vertices[in_block * shape_n_vertices(b->shape) + ids[order[i]]];
        if (locals != NULL) locals[i] = ids[order[i]];
    }
    return n;
}

int mesh_periodic_corners(const struct facet_mesh *mesh, int32_t face,
                          int32_t corners[2][SHAPE_MAX_FACE_VERTICES]) {
    int differ = 0, n = 0;
    if (mesh->face_cells[2 * (int64_t)face + 1] < 0) return 0;
    for (int side = 0; side < 2; side++) n = mesh_side_vertices(mesh, face, side, corners[side], NULL);
    for (int i = 0; i < n; i++) differ |= corners[0][i] != corners[1][i];
    return differ;
}

static int has_periodic_faces(const struct facet_mesh *mesh) {
    int found = 0;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(| : found)
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t corners[2][SHAPE_MAX_FACE_VERTICES];
        found |= mesh_periodic_corners(mesh, f, corners);
    }
    return found;
}

static facet_status number_vertices(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton) {
    facet_status status = FACET_OK;
    struct sets sets = {0};
    int32_t corners[2][SHAPE_MAX_FACE_VERTICES];
    int periodic = has_periodic_faces(mesh);
    TRY(sets_create(mesh->n_vertices, &sets));
    TRY(ALLOC(skeleton->vertices, mesh->n_vertices));
    for (int32_t f = 0; periodic && f < mesh->n_faces; f++) {
        if (!mesh_periodic_corners(mesh, f, corners)) continue;
        for (int i = 0; i < shape_n_vertices((enum shape)mesh->face_shapes[f]); i++)
            join(&sets, corners[0][i], corners[1][i], 0);
    }
    skeleton->n_vertices = number_sets(&sets, mesh->n_vertices, skeleton->vertices);
done:
    sets_destroy(&sets);
    return status;
}

/* ------------------------------------------------------------------------------------------ edges */

/* The raw edge between two vertices, directed from the lower to the higher. */
static int32_t find_edge(const struct tuple_set *raw, int32_t from, int32_t to) {
    int32_t ends[2] = {from, to}, key[2];
    tuple_sort(2, ends, 2, key);
    return tuple_set_find(raw, key);
}

/* The ends of all edges of all cells, sorted, and skeleton->orientations of their directions. */
static void list_edge_keys(const struct facet_mesh *mesh, int32_t *keys, struct mesh_skeleton *skeleton) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        const int n_edges = shape_n_entities(block->shape, 1), n_vertices = shape_n_vertices(block->shape);
#pragma omp parallel for num_threads(base_threads_for((int64_t)block->count *n_edges)) schedule(static)
        for (int64_t c = 0; c < block->count; c++)
            for (int e = 0; e < n_edges; e++) {
                const int *ids = shape_entity_vertices(block->shape, 1, e);
                const int32_t *v = block->vertices + c * n_vertices;
                const int32_t ends[2] = {v[ids[0]], v[ids[1]]};
                tuple_sort(2, ends, 2, keys + 2 * (c * n_edges + e));
                skeleton->orientations[b][c * n_edges + e] = ends[0] > ends[1];
            }
        keys += 2 * (int64_t)block->count * n_edges;
    }
}

/* skeleton->edges: raw numbers. */
static facet_status number_raw_edges(const struct facet_mesh *mesh, struct tuple_set *raw,
                                     struct mesh_skeleton *skeleton) {
    facet_status status = FACET_OK;
    int32_t *keys = NULL, *numbers = NULL, *firsts = NULL;
    int64_t n = 0, first = 0;
    for (int b = 0; b < mesh->n_blocks; b++)
        n += (int64_t)mesh->blocks[b].count * shape_n_entities(mesh->blocks[b].shape, 1);
    if (n > INT32_MAX) FAIL(FACET_ERROR_INPUT, "the mesh has too many edges");
    TRY(tuple_set_init(raw, 2, n));
    TRY(ALLOC(keys, 2 * n));
    TRY(ALLOC(numbers, n));
    TRY(ALLOC(firsts, n));
    list_edge_keys(mesh, keys, skeleton);
    TRY(tuple_set_fill(raw, n, keys, numbers, firsts));
    for (int b = 0; b < mesh->n_blocks; b++) {
        n = (int64_t)mesh->blocks[b].count * shape_n_entities(mesh->blocks[b].shape, 1);
        memcpy(skeleton->edges[b], numbers + first, (size_t)n * sizeof *numbers);
        first += n;
    }
done:
    base_free(&keys);
    base_free(&numbers);
    base_free(&firsts);
    return status;
}

static facet_status join_edges(const struct facet_mesh *mesh, const struct tuple_set *raw,
                               struct sets *sets) {
    facet_status status = FACET_OK;
    int32_t corners[2][SHAPE_MAX_FACE_VERTICES];
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (!mesh_periodic_corners(mesh, f, corners)) continue;
        for (int i = 0, n = shape_n_vertices((enum shape)mesh->face_shapes[f]); i < n; i++) {
            int32_t edges[2];
            int against = 0;
            for (int side = 0; side < 2; side++) {
                int32_t from = corners[side][i], to = corners[side][(i + 1) % n];
                edges[side] = find_edge(raw, from, to);
                against ^= from > to;
            }
            if (!join(sets, edges[0], edges[1], against))
                FAIL(FACET_ERROR_INPUT,
                     "periodic faces join the edge between vertices %d and %d to itself, "
                     "reversed",
                     corners[0][i], corners[0][(i + 1) % n]);
        }
    }
done:
    return status;
}

static facet_status number_edges(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton) {
    facet_status status = FACET_OK;
    struct tuple_set raw = {0};
    struct sets sets = {0};
    int32_t *numbers = NULL;
    TRY(number_raw_edges(mesh, &raw, skeleton));
    skeleton->n_edges = raw.count;
    if (!has_periodic_faces(mesh)) goto done;
    TRY(sets_create(raw.count, &sets));
    TRY(join_edges(mesh, &raw, &sets));
    TRY(ALLOC(numbers, raw.count));
    skeleton->n_edges = number_sets(&sets, raw.count, numbers);
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t n = (int64_t)mesh->blocks[b].count * shape_n_entities(mesh->blocks[b].shape, 1);
        for (int64_t i = 0; i < n; i++) {
            int32_t *edge = &skeleton->edges[b][i];
            skeleton->orientations[b][i] ^= sets.against[*edge];
            *edge = numbers[*edge];
        }
    }
done:
    base_free(&numbers);
    sets_destroy(&sets);
    tuple_set_free(&raw);
    return status;
}

facet_status mesh_skeleton_vertices(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton) {
    *skeleton = (struct mesh_skeleton){0};
    facet_status status = mesh_need_lists(mesh);
    if (status == FACET_OK) status = number_vertices(mesh, skeleton);
    if (status != FACET_OK) mesh_skeleton_destroy(skeleton);
    return status;
}

facet_status mesh_skeleton_create(const struct facet_mesh *mesh, struct mesh_skeleton *skeleton) {
    facet_status status = FACET_OK;
    TRY(mesh_skeleton_vertices(mesh, skeleton));
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t n = (int64_t)mesh->blocks[b].count * shape_n_entities(mesh->blocks[b].shape, 1);
        TRY(ALLOC(skeleton->edges[b], n));
        TRY(ALLOC(skeleton->orientations[b], n));
        for (int64_t i = 0; i < n && mesh->dim == 2; i++) {
            skeleton->edges[b][i] = mesh->blocks[b].faces[i];
            skeleton->orientations[b][i] = mesh->blocks[b].orientations[i];
        }
    }
    skeleton->n_edges = mesh->n_faces;
    if (mesh->dim == 3) TRY(number_edges(mesh, skeleton));
done:
    if (status != FACET_OK) mesh_skeleton_destroy(skeleton);
    return status;
}

void mesh_skeleton_destroy(struct mesh_skeleton *skeleton) {
    base_free(&skeleton->vertices);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&skeleton->edges[b]);
        base_free(&skeleton->orientations[b]);
    }
    *skeleton = (struct mesh_skeleton){0};
}

int32_t mesh_find_edge(const struct facet_mesh *mesh, const struct mesh_skeleton *skeleton, int32_t cell,
                       int from, int to, int *forward) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const int n = shape_n_entities(block->shape, 1), which = (int)(block - mesh->blocks);
    for (int e = 0; e < n; e++) {
        const int *v = shape_entity_vertices(block->shape, 1, e);
        if ((v[0] != from || v[1] != to) && (v[0] != to || v[1] != from)) continue;
        const int64_t at = (int64_t)(cell - block->first) * n + e;
        *forward = (v[0] == from) == (skeleton->orientations[which][at] == 0);
        return skeleton->edges[which][at];
    }
    return -1;
}

void mesh_find_pieces_between(const struct facet_mesh *mesh, const uint8_t *cut, int32_t *piece) {
    for (int32_t c = 0; c < mesh->n_cells; c++) piece[c] = c;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t a = mesh->face_cells[2 * (int64_t)f], b = mesh->face_cells[2 * (int64_t)f + 1];
        if (b < 0 || (cut != NULL && cut[f])) continue;
        while (piece[a] != a) a = piece[a] = piece[piece[a]];
        while (piece[b] != b) b = piece[b] = piece[piece[b]];
        piece[a > b ? a : b] = a < b ? a : b;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) piece[c] = piece[piece[c]]; /* those before c are done */
}

void mesh_find_pieces(const struct facet_mesh *mesh, int32_t *piece) {
    if (mesh->split != NULL) /* a box */
        memset(piece, 0, (size_t)mesh->n_cells * sizeof *piece);
    else
        mesh_find_pieces_between(mesh, NULL, piece);
}

/* ------------------------------------------------------------------------------------------ joints */

/* So much of a rotation is rounding in the vertices of small faces. */
#define NO_TURN 1e-4

static void subtract(int dim, const double *a, const double *b, double *c) {
    for (int d = 0; d < 3; d++) c[d] = d < dim ? a[d] - b[d] : 0.0;
}

static void cross(const double *a, const double *b, double *c) {
    for (int d = 0; d < 3; d++) c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static void normalise(double *a) {
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int d = 0; d < 3 && length > 0.0; d++) a[d] /= length;
}

int mesh_side_corners(const struct facet_mesh *mesh, int32_t face, int side,
                      const double *x[SHAPE_MAX_FACE_VERTICES]) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side], vertices[SHAPE_MAX_FACE_VERTICES];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = block->nodes + (int64_t)(cell - block->first) * block->n_nodes * mesh->dim;
    int locals[SHAPE_MAX_FACE_VERTICES], n = mesh_side_vertices(mesh, face, side, vertices, locals);
    for (int i = 0; i < n; i++)
        x[i] = nodes + (int64_t)shape_vertex_node(block->shape, mesh->order, locals[i]) * mesh->dim;
    return n;
}

/* Three orthonormal directions of a side with n vertices (rows). */
static void side_axes(int dim, int n, const double *const *x, double axes[9]) {
    double last[3] = {0.0, 0.0, 1.0};
    subtract(dim, x[1], x[0], axes);
    if (dim == 3) subtract(3, x[n - 1], x[0], last);
    normalise(axes);
    cross(axes, last, axes + 3);
    normalise(axes + 3);
    cross(axes, axes + 3, axes + 6);
}

static int are_equal(int dim, int n, const double *const *x, const double *const *y) {
    for (int i = 0; i < n * dim; i++)
        if (x[i / dim][i % dim] != y[i / dim][i % dim]) return 0;
    return 1;
}

enum mesh_joint mesh_joint_between(int dim, int n, const double *const *x, const double *const *y,
                                   double R[9], double s[3]) {
    double one[9], two[9], full[9], largest = 0.0, size = 0.0, offset = 0.0;
    if (are_equal(dim, n, x, y)) { /* as almost all of them */
        for (int i = 0; i < dim * dim; i++) R[i] = i % (dim + 1) == 0;
        for (int i = 0; i < dim; i++) s[i] = 0.0;
        return MESH_ONE_PLACE;
    }
    const double *here = x[0], *there = y[0];
    side_axes(dim, n, x, one);
    side_axes(dim, n, y, two);
    for (int i = 0; i < 9; i++) {
        full[i] = 0.0;
        for (int k = 0; k < 3; k++) full[i] += two[3 * k + i / 3] * one[3 * k + i % 3];
        largest = fmax(largest, fabs(full[i] - (i % 4 == 0)));
    }
    if (largest <= NO_TURN)
        for (int i = 0; i < 9; i++) full[i] = i % 4 == 0;
    for (int i = 0; i < dim; i++) {
        s[i] = there[i];
        for (int k = 0; k < dim; k++) {
            R[i * dim + k] = full[3 * i + k];
            s[i] -= full[3 * i + k] * here[k];
        }
        offset = fmax(offset, fabs(there[i] - here[i]));
        size = fmax(size, fmax(fabs(there[i]), fabs(here[i])));
    }
    return largest > NO_TURN ? MESH_TURNED : offset > MESH_SAME_PLACE * size ? MESH_SHIFTED : MESH_ONE_PLACE;
}

enum mesh_joint mesh_face_joint(const struct facet_mesh *mesh, int32_t face, double R[9], double s[3]) {
    const double *x[SHAPE_MAX_FACE_VERTICES], *y[SHAPE_MAX_FACE_VERTICES];
    if (mesh->face_cells[2 * (int64_t)face + 1] < 0) return MESH_ONE_PLACE;
    const int n = mesh_side_corners(mesh, face, 0, x);
    mesh_side_corners(mesh, face, 1, y);
    return mesh_joint_between(mesh->dim, n, x, y, R, s);
}

facet_status mesh_find_joined(const struct facet_mesh *mesh, struct mesh_joined **joined, int32_t *n) {
    facet_status status = FACET_OK;
    int32_t count = 0;
    *joined = NULL;
    *n = 0;
    if (!mesh->has_pairs && !mesh_is_box(mesh)) goto done;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(+ : count)
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t corners[2][SHAPE_MAX_FACE_VERTICES];
        count += mesh_periodic_corners(mesh, f, corners); /* no more than these */
    }
    if (count == 0) goto done;
    TRY(ALLOC(*joined, count));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        struct mesh_joined j = {.face = f};
        j.joint = mesh_face_joint(mesh, f, j.R, j.s);
        if (j.joint != MESH_ONE_PLACE) (*joined)[(*n)++] = j;
    }
done:
    return status;
}
