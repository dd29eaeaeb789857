/* Every cell into 2^dim, a pyramid into six and four tets. The vertices of the children are the nodes of the
 * lattice of order 2 in the parent: its own vertices, and the middles of edges, quad faces and the cell. A
 * middle is known by the sorted vertices it lies between, so that neighbours agree about it. The children's
 * lattice nodes are points of the parent's map, which keeps curved geometry. Faces of groups and periodic
 * pairs are split by the same tables, one dimension lower. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/mesh_internal.h"
#include "mesh/part.h"
#include "poly/basis.h"

static const struct mesh_children segment = {2, {{0, 1}, {1, 2}}};
static const struct mesh_children triangle = {4, {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}, {1, 4, 3}}};
static const struct mesh_children quad = {4, {{0, 1, 4, 3}, {1, 2, 5, 4}, {3, 4, 7, 6}, {4, 5, 8, 7}}};
static const struct mesh_children prism = {8,
                                           {{0, 1, 3, 6, 7, 9},
                                            {1, 2, 4, 7, 8, 10},
                                            {3, 4, 5, 9, 10, 11},
                                            {1, 4, 3, 7, 10, 9},
                                            {6, 7, 9, 12, 13, 15},
                                            {7, 8, 10, 13, 14, 16},
                                            {9, 10, 11, 15, 16, 17},
                                            {7, 10, 9, 13, 16, 15}}};
static const struct mesh_children hex = {8,
                                         {{0, 1, 4, 3, 9, 10, 13, 12},
                                          {1, 2, 5, 4, 10, 11, 14, 13},
                                          {3, 4, 7, 6, 12, 13, 16, 15},
                                          {4, 5, 8, 7, 13, 14, 17, 16},
                                          {9, 10, 13, 12, 18, 19, 22, 21},
                                          {10, 11, 14, 13, 19, 20, 23, 22},
                                          {12, 13, 16, 15, 21, 22, 25, 24},
                                          {13, 14, 17, 16, 22, 23, 26, 25}}};
/* Four tets at the corners; the octahedron between them has the middles 1-8, 3-7, 4-6 as diagonals, and is
 * cut along one of them. The shortest keeps the children from growing thin. */
static const struct mesh_children tets[3] = {
    {8,
     {{0, 1, 3, 6},
      {1, 2, 4, 7},
      {3, 4, 5, 8},
      {6, 7, 8, 9},
      {1, 8, 3, 4},
      {1, 8, 4, 7},
      {1, 8, 7, 6},
      {1, 8, 6, 3}}},
    {8,
     {{0, 1, 3, 6},
      {1, 2, 4, 7},
      {3, 4, 5, 8},
      {6, 7, 8, 9},
      {3, 7, 1, 4},
      {3, 7, 4, 8},
      {3, 7, 8, 6},
      {3, 7, 6, 1}}},
    {8,
     {{0, 1, 3, 6},
      {1, 2, 4, 7},
      {3, 4, 5, 8},
      {6, 7, 8, 9},
      {4, 6, 1, 3},
      {4, 6, 3, 8},
      {4, 6, 8, 7},
      {4, 6, 7, 1}}},
};

/* Four pyramids at the corners of the base, one at the apex, one upside down below it, and tets between the
 * last and the middles of the triangles. */
static const struct mesh_children pyramid = {10,
                                             {{0, 1, 4, 3, 9},
                                              {1, 2, 5, 4, 10},
                                              {3, 4, 7, 6, 11},
                                              {4, 5, 8, 7, 12},
                                              {9, 10, 12, 11, 13},
                                              {9, 11, 12, 10, 4},
                                              {1, 10, 9, 4},
                                              {5, 12, 10, 4},
                                              {7, 11, 12, 4},
                                              {3, 9, 11, 4}}};

const struct mesh_children *mesh_children_of(enum shape shape, int *n_variants) {
    *n_variants = shape == SHAPE_TET ? 3 : 1;
    return shape == SHAPE_SEGMENT    ? &segment
           : shape == SHAPE_TRIANGLE ? &triangle
           : shape == SHAPE_QUAD     ? &quad
           : shape == SHAPE_TET      ? tets
           : shape == SHAPE_PRISM    ? &prism
           : shape == SHAPE_PYRAMID  ? &pyramid
                                     : &hex;
}

/* What the refinement of one block needs. */
struct plan {
    enum shape shape;
    int dim, n_middles, n_variants, n_nodes;
    const struct mesh_children *children;
    double middles[MESH_MAX_MIDDLES * 3]; /* the lattice of order 2 */
    int n_parents[MESH_MAX_MIDDLES];      /* the parent's vertices a middle lies between */
    int parents[MESH_MAX_MIDDLES][SHAPE_MAX_VERTICES];
    double *values[3]; /* for each variant: (nodes of all children) x n_nodes, Lagrange values there */
};

struct refinement {
    const struct facet_mesh *mesh;
    struct plan plans[MESH_MAX_BLOCKS];
    struct tuple_set middles;
    int32_t n_inner; /* middles of whole cells, which belong to no other */
    int32_t *points; /* for each cell the fine vertices of its order-2 lattice */
    int64_t point_offsets[MESH_MAX_BLOCKS];
    int64_t first_child[MESH_MAX_BLOCKS]; /* of the first cell of a block */
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets;
    int32_t *vertices;
    double *nodes;
    struct mesh_input_group *groups;
    int64_t **group_cells;
    int32_t **group_vertices;
    int32_t *periodic;
    /* of a part */
    int32_t *seam, *seam_faces;
    int64_t *numbers;     /* in the fine mesh, by child */
    int32_t *middle_keys; /* count x (stride + 1): sorted, and the number before that */
};

/* ------------------------------------------------------------------------------------------ tables */

/* Vertex v belongs to the smallest face around the middle m when it lies in all planes of faces that m lies
 * in. */
static int lies_between(enum shape shape, const double *m, const double *v) {
    for (int a = 0; a < shape_dim(shape); a++) {
        if (m[a] == 0 && v[a] != 0) return 0;
        if (shape_room(shape, a, m) == 0 && shape_room(shape, a, v) != 0) return 0;
    }
    return 1;
}

/* Child c is the affine image xi = c_0 + sum_b eta_b (c_b - c_0) of the reference cell. */
static void child_nodes(const struct plan *plan, enum shape shape, const int *child, int n,
                        const double *lattice, double *xi) {
    int dim = plan->dim;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < dim; a++) {
            double origin = plan->middles[child[0] * dim + a], x = origin;
            for (int b = 0; b < dim; b++)
                x += lattice[i * dim + b] *
                     (plan->middles[child[shape_axis_vertex(shape, b)] * dim + a] - origin);
            xi[i * dim + a] = x;
        }
}

static facet_status plan_init(struct plan *plan, enum shape shape, int order) {
    facet_status status = FACET_OK;
    double *lattice = NULL, *xi = NULL;
    int dim = shape_dim(shape);
    plan->shape = shape;
    plan->dim = dim;
    plan->n_middles = shape_n_nodes(shape, 2);
    plan->n_nodes = shape_n_nodes(shape, order);
    plan->children = mesh_children_of(shape, &plan->n_variants);
    shape_nodes(shape, 2, plan->middles);
    for (int m = 0; m < plan->n_middles; m++)
        for (int v = 0; v < shape_n_vertices(shape); v++)
            if (lies_between(shape, plan->middles + m * dim, shape_vertices(shape) + v * dim))
                plan->parents[m][plan->n_parents[m]++] = v;
    int64_t n = (int64_t)MESH_MAX_CHILDREN * plan->n_nodes;
    TRY(ALLOC(lattice, plan->n_nodes * dim));
    TRY(ALLOC(xi, n * dim));
    for (int k = 0; k < plan->n_variants; k++) {
        const struct mesh_children *children = &plan->children[k];
        int n_points = 0;
        for (int c = 0; c < children->n; c++) {
            enum shape child = mesh_child_shape(shape, c);
            int n_nodes = shape_n_nodes(child, order);
            shape_nodes(child, order, lattice);
            child_nodes(plan, child, children->vertices[c], n_nodes, lattice, xi + (int64_t)n_points * dim);
            n_points += n_nodes;
        }
        TRY(ALLOC(plan->values[k], n * plan->n_nodes));
        TRY(basis_lagrange(shape, order, n_points, xi, plan->values[k], NULL));
    }
done:
    base_free(&lattice);
    base_free(&xi);
    return status;
}

/* ------------------------------------------------------------------------------------------ vertices */

static int compare_middles(const void *one, const void *two) {
    const int32_t *a = one, *b = two;
    while (*a == *b) a++, b++; /* their numbers differ at the latest */
    return *a < *b ? -1 : 1;
}

/* Of a part: the middles in the order of the vertices around them, which is the same on all ranks that have
 * both of two middles. */
static facet_status sort_middles(struct refinement *r, int64_t n_points) {
    facet_status status = FACET_OK;
    const int32_t first = r->mesh->n_vertices, n = r->middles.count;
    const int64_t row = r->middles.stride + 1;
    int32_t *place = NULL;
    TRY(ALLOC(place, n));
    TRY(ALLOC(r->middle_keys, n * row));
    for (int32_t i = 0; i < n; i++) {
        memcpy(r->middle_keys + i * row, r->middles.keys + i * (row - 1), (size_t)(row - 1) * sizeof *place);
        r->middle_keys[i * row + row - 1] = i;
    }
    if (n > 0) qsort(r->middle_keys, (size_t)n, (size_t)row * sizeof *place, compare_middles);
    for (int32_t i = 0; i < n; i++) place[r->middle_keys[i * row + row - 1]] = i;
    for (int64_t i = 0; i < n_points; i++)
        if (r->points[i] >= first) r->points[i] = first + place[r->points[i] - first];
done:
    base_free(&place);
    return status;
}

/* Fine vertices: the coarse ones, then the shared middles, then the middles of cells. */
static facet_status number_points(struct refinement *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = r->mesh;
    int64_t n_points = 0, n_shared = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct plan *plan = &r->plans[b];
        r->point_offsets[b] = n_points;
        n_points += (int64_t)mesh->blocks[b].count * plan->n_middles;
        n_shared += (int64_t)mesh->blocks[b].count * (plan->n_middles - shape_n_vertices(plan->shape));
    }
    TRY(ALLOC(r->points, n_points));
    TRY(tuple_set_init(&r->middles, mesh->dim == 2 ? 2 : SHAPE_MAX_FACE_VERTICES, n_shared));
    int32_t *point = r->points;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct plan *plan = &r->plans[b];
        int n_vertices = shape_n_vertices(plan->shape);
        for (int32_t c = 0; c < mesh->blocks[b].count; c++) {
            const int32_t *vertices = mesh->blocks[b].vertices + (int64_t)c * n_vertices;
            for (int m = 0; m < plan->n_middles; m++, point++) {
                int32_t around[SHAPE_MAX_VERTICES], key[SHAPE_MAX_FACE_VERTICES];
                int n = plan->n_parents[m];
                for (int i = 0; i < n; i++) around[i] = vertices[plan->parents[m][i]];
                if (n == 1)
                    *point = around[0];
                else if (n == n_vertices)
                    *point = -(++r->n_inner);
                else {
                    tuple_sort(n, around, r->middles.stride, key);
                    *point = mesh->n_vertices + tuple_set_add(&r->middles, key);
                }
            }
        }
    }
    if (mesh->part != NULL) TRY(sort_middles(r, n_points));
    for (int64_t i = 0; i < n_points; i++)
        if (r->points[i] < 0) r->points[i] = mesh->n_vertices + r->middles.count - r->points[i] - 1;
    r->input.n_vertices = (int64_t)mesh->n_vertices + r->middles.count + r->n_inner;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ cells */

/* The tet's shortest inner diagonal, measured on the parent's vertices. */
static int choose_variant(const struct facet_mesh *mesh, const struct plan *plan, const double *nodes) {
    static const int opposite[3][2][2] = {{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}, {{1, 2}, {0, 3}}};
    if (plan->n_variants == 1) return 0;
    int best = 0;
    double shortest = INFINITY;
    for (int k = 0; k < 3; k++) {
        double square = 0;
        for (int a = 0; a < 3; a++) {
            double x[2];
            for (int e = 0; e < 2; e++)
                x[e] = nodes[shape_vertex_node(plan->shape, mesh->order, opposite[k][e][0]) * 3 + a] +
                       nodes[shape_vertex_node(plan->shape, mesh->order, opposite[k][e][1]) * 3 + a];
            square += (x[1] - x[0]) * (x[1] - x[0]);
        }
        if (square < shortest * (1 - 1e-9)) {
            shortest = square;
            best = k;
        }
    }
    return best;
}

static void make_children(struct refinement *r, int b) {
    const struct facet_mesh *mesh = r->mesh;
    const struct mesh_block *block = &mesh->blocks[b];
    const struct plan *plan = &r->plans[b];
    int n_nodes = plan->n_nodes, dim = mesh->dim;
    int64_t cell = r->input.n_cells, vertex = r->vertex_offsets[cell], node = r->node_offsets[cell];
    for (int32_t c = 0; c < block->count; c++) {
        const double *nodes = block->nodes + (int64_t)c * n_nodes * dim;
        const int32_t *points = r->points + r->point_offsets[b] + (int64_t)c * plan->n_middles;
        int variant = choose_variant(mesh, plan, nodes);
        const double *values = plan->values[variant];
        const struct mesh_children *children = &plan->children[variant];
        for (int k = 0; k < children->n; k++, cell++) {
            enum shape shape = mesh_child_shape(plan->shape, k);
            r->shapes[cell] = (uint8_t)shape;
            for (int v = 0; v < shape_n_vertices(shape); v++)
                r->vertices[vertex++] = points[children->vertices[k][v]];
            for (int i = 0; i < shape_n_nodes(shape, mesh->order); i++, node++, values += n_nodes)
                mesh_interpolate(n_nodes, dim, values, nodes, r->nodes + node * dim);
            r->vertex_offsets[cell + 1] = vertex;
            r->node_offsets[cell + 1] = node;
        }
    }
    r->input.n_cells = cell;
}

static facet_status split_cells(struct refinement *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = r->mesh;
    int64_t n_cells = 0, n_vertices = 0, n_nodes = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t n = (int64_t)mesh->blocks[b].count * r->plans[b].children->n;
        r->first_child[b] = n_cells;
        n_cells += n; /* what follows is enough for children of fewer vertices */
        n_vertices += n * shape_n_vertices(mesh->blocks[b].shape);
        n_nodes += n * mesh->blocks[b].n_nodes;
    }
    TRY(ALLOC(r->shapes, n_cells));
    TRY(ALLOC(r->vertex_offsets, n_cells + 1));
    TRY(ALLOC(r->node_offsets, n_cells + 1));
    TRY(ALLOC(r->vertices, n_vertices));
    TRY(ALLOC(r->nodes, n_nodes * mesh->dim));
    r->vertex_offsets[0] = r->node_offsets[0] = 0;
    for (int b = 0; b < mesh->n_blocks; b++) make_children(r, b);
    r->input.dim = mesh->dim;
    r->input.order = mesh->order;
    r->input.shapes = r->shapes;
    r->input.vertex_offsets = r->vertex_offsets;
    r->input.node_offsets = r->node_offsets;
    r->input.vertices = r->vertices;
    r->input.nodes = r->nodes;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ faces */

/* The children of a face as one of its sides sees them, in the order of the frame; returns their number.
 * Child k's vertices stand at vertices + k * step, padded with -1. */
static int split_face(const struct refinement *r, int32_t face, int side, int step, int32_t *vertices) {
    const struct facet_mesh *mesh = r->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    int b = mesh_block_index(mesh, cell), local = mesh->face_locals[2 * (int64_t)face + side], n_variants,
        nodes[9];
    const struct mesh_block *block = &mesh->blocks[b];
    const struct plan *plan = &r->plans[b];
    int64_t in_block = cell - block->first;
    enum shape face_shape = (enum shape)mesh->face_shapes[face];
    const struct mesh_children *children = mesh_children_of(face_shape, &n_variants);
    mesh_face_nodes(plan->shape, local, block->orientations[in_block * shape_n_faces(plan->shape) + local], 2,
                    nodes);
    const int32_t *points = r->points + r->point_offsets[b] + in_block * plan->n_middles;
    for (int k = 0; k < children->n; k++)
        for (int v = 0; v < SHAPE_MAX_FACE_VERTICES; v++)
            vertices[k * step + v] =
                v < shape_n_vertices(face_shape) ? points[nodes[children->vertices[k][v]]] : -1;
    return children->n;
}

/* Children stand together, in the order of the cells. */
static facet_status split_groups(struct refinement *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = r->mesh;
    const int most = MESH_MAX_CHILDREN, faces = 1 << (mesh->dim - 1);
    TRY(CALLOC(r->groups, mesh->n_groups));
    TRY(CALLOC(r->group_cells, mesh->n_groups));
    TRY(CALLOC(r->group_vertices, mesh->n_groups));
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        struct mesh_input_group *fine = &r->groups[g];
        fine->name = group->name;
        fine->dim = group->dim;
        if (group->dim == mesh->dim) {
            TRY(ALLOC(r->group_cells[g], (int64_t)group->count * most));
            for (int32_t i = 0; i < group->count; i++) {
                int b = mesh_block_index(mesh, group->ids[i]), n = r->plans[b].children->n;
                int64_t first = r->first_child[b] + (int64_t)(group->ids[i] - mesh->blocks[b].first) * n;
                for (int k = 0; k < n; k++) r->group_cells[g][fine->count++] = first + k;
            }
        } else {
            TRY(ALLOC(r->group_vertices[g], (int64_t)group->count * faces * SHAPE_MAX_FACE_VERTICES));
            for (int32_t i = 0; i < group->count; i++)
                fine->count += split_face(r, group->ids[i], 0, SHAPE_MAX_FACE_VERTICES,
                                          r->group_vertices[g] + fine->count * SHAPE_MAX_FACE_VERTICES);
        }
        fine->cells = r->group_cells[g];
        fine->vertices = r->group_vertices[g];
    }
    r->input.n_groups = mesh->n_groups;
    r->input.groups = r->groups;
done:
    return status;
}

static facet_status split_periodic(struct refinement *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = r->mesh;
    int64_t step = 2 * SHAPE_MAX_FACE_VERTICES, n = 0;
    int32_t corners[2][SHAPE_MAX_FACE_VERTICES];
    for (int32_t f = 0; f < mesh->n_faces; f++) n += mesh_periodic_corners(mesh, f, corners);
    TRY(ALLOC(r->periodic, n * (1 << (mesh->dim - 1)) * step));
    for (int32_t f = 0; n > 0 && f < mesh->n_faces; f++) {
        if (!mesh_periodic_corners(mesh, f, corners)) continue;
        int32_t *pairs = r->periodic + r->input.n_periodic * step;
        split_face(r, f, 0, (int)step, pairs);
        r->input.n_periodic += split_face(r, f, 1, (int)step, pairs + SHAPE_MAX_FACE_VERTICES);
    }
    r->input.periodic = r->periodic;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ parts */

/* The children of seam faces in the order of these and of the frame: so they stand on both sides. */
static facet_status split_seam(struct refinement *r) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = r->mesh->part;
    if (part == NULL) return FACET_OK;
    const int64_t most = (int64_t)part->n_seam_faces << (r->mesh->dim - 1);
    TRY(ALLOC(r->seam, most * SHAPE_MAX_FACE_VERTICES));
    TRY(ALLOC(r->seam_faces, most));
    TRY(ALLOC(r->numbers, r->input.n_cells));
    for (int i = 0; i < part->n_neighbours; i++)
        for (int64_t k = 0; k < part->neighbours[i].count; k++)
            r->input.n_seam += split_face(r, part->neighbours[i].items[k], 0, SHAPE_MAX_FACE_VERTICES,
                                          r->seam + r->input.n_seam * SHAPE_MAX_FACE_VERTICES);
    r->input.seam = r->seam;
    r->input.seam_faces = r->seam_faces;
    r->input.numbers = r->numbers;
done:
    return status;
}

/* The numbers that the children have where nothing is in parts: shape after shape, and of a shape those of
 * its cells in their order, then the tets of pyramids. */
static facet_status number_children(const struct refinement *r, int64_t *numbers) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = r->mesh;
    int64_t counts[SHAPE_COUNT] = {0}, firsts[SHAPE_COUNT] = {0}, fine[SHAPE_COUNT] = {0}, child = 0;
    for (int b = 0; b < mesh->n_blocks; b++) counts[mesh->blocks[b].shape] = mesh->blocks[b].count;
    TRY(team_reduce_counts(mesh->part->team, TEAM_SUM, SHAPE_COUNT, counts));
    for (int s = 1; s < SHAPE_COUNT; s++) {
        const int64_t before = counts[s - 1];
        const int whole = s - 1 == SHAPE_PYRAMID ? 6 : 1 << mesh->dim;
        firsts[s] = firsts[s - 1] + before;
        fine[s] = fine[s - 1] + before * whole + (s - 1 == SHAPE_TET ? 4 * counts[SHAPE_PYRAMID] : 0);
    }
    for (int b = 0; b < mesh->n_blocks; b++) {
        const enum shape shape = mesh->blocks[b].shape;
        const int n = r->plans[b].children->n, same = shape == SHAPE_PYRAMID ? 6 : n;
        for (int32_t c = 0; c < mesh->blocks[b].count; c++)
            for (int k = 0; k < n; k++, child++) {
                const int64_t i = mesh->part->cell_numbers[mesh->blocks[b].first + c] - firsts[shape];
                numbers[r->numbers[child]] =
                    k < same ? fine[shape] + i * same + k
                             : fine[SHAPE_TET] + 8 * counts[SHAPE_TET] + i * (n - same) + k - same;
            }
    }
done:
    return status;
}

/* Vertices that other ranks may have: those they had before, and what lies between such. */
static facet_status list_shared(const struct refinement *r, struct part_input *input, int32_t *shared,
                                struct team_key *keys) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = r->mesh->part;
    const int stride = r->middles.stride;
    uint8_t *is_shared = NULL;
    TRY(CALLOC(is_shared, r->mesh->n_vertices));
    for (int i = 0; i < part->n_vertex_neighbours; i++)
        for (int64_t k = 0; k < part->vertex_neighbours[i].count; k++)
            is_shared[part->vertex_neighbours[i].items[k]] = 1;
    for (int32_t v = 0; v < r->mesh->n_vertices + r->middles.count; v++) {
        const int32_t *around = &v;
        int n = 1, all = 1;
        if (v >= r->mesh->n_vertices) {
            around = r->middle_keys + (int64_t)(v - r->mesh->n_vertices) * (stride + 1);
            for (n = 2; n < stride && around[n] >= 0;) n++;
        }
        for (int i = 0; i < n; i++) all &= is_shared[around[i]];
        if (!all) continue;
        int64_t numbers[TEAM_KEY];
        for (int i = 0; i < n; i++) numbers[i] = part->vertex_numbers[around[i]];
        keys[input->n_shared] = team_key_of(n, numbers);
        shared[input->n_shared++] = v;
    }
    input->shared = shared;
    input->keys = keys;
done:
    base_free(&is_shared);
    return status;
}

static facet_status make_part(struct refinement *r, struct facet_mesh *fine) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = r->mesh->part;
    struct part_input input = {.faces = r->seam_faces};
    struct team_key *keys = NULL;
    int64_t *numbers = NULL, n_vertices = (int64_t)r->mesh->n_vertices + r->middles.count;
    int32_t *shared = NULL, *counts = NULL;
    int *ranks = NULL;
    if (part == NULL) return FACET_OK;
    input.team = part->team;
    input.is_turned = part->is_turned;
    input.n_neighbours = part->n_neighbours;
    TRY(ALLOC(ranks, part->n_neighbours));
    TRY(CALLOC(counts, part->n_neighbours));
    for (int i = 0; i < part->n_neighbours; i++) {
        ranks[i] = part->neighbours[i].rank;
        counts[i] = (int32_t)part->neighbours[i].count
                    << (r->mesh->dim - 1); /* halves of a segment, quarters else */
    }
    TRY(ALLOC(numbers, fine->n_cells));
    TRY(number_children(r, numbers));
    TRY(ALLOC(shared, n_vertices));
    TRY(ALLOC(keys, n_vertices));
    TRY(list_shared(r, &input, shared, keys));
    input.ranks = ranks;
    input.counts = counts;
    input.cell_numbers = numbers;
    TRY(mesh_part_create(fine, &input));
    fine->part->coarse = r->mesh->part;
done:
    base_free(&numbers);
    base_free(&keys);
    base_free(&shared);
    base_free(&counts);
    base_free(&ranks);
    return status;
}

static void refinement_free(struct refinement *r) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++)
        for (int k = 0; k < 3; k++) base_free(&r->plans[b].values[k]);
    tuple_set_free(&r->middles);
    base_free(&r->points);
    base_free(&r->shapes);
    base_free(&r->vertex_offsets);
    base_free(&r->node_offsets);
    base_free(&r->vertices);
    base_free(&r->nodes);
    for (int g = 0; r->group_cells && g < r->mesh->n_groups; g++) base_free(&r->group_cells[g]);
    for (int g = 0; r->group_vertices && g < r->mesh->n_groups; g++) base_free(&r->group_vertices[g]);
    base_free(&r->groups);
    base_free(&r->group_cells);
    base_free(&r->group_vertices);
    base_free(&r->periodic);
    base_free(&r->seam);
    base_free(&r->seam_faces);
    base_free(&r->numbers);
    base_free(&r->middle_keys);
}

facet_status mesh_refine(const struct facet_mesh *mesh, struct facet_mesh **fine) {
    facet_status status = FACET_OK;
    struct refinement r = {.mesh = mesh};
    *fine = NULL;
    TRY(mesh_check_refinement(mesh, 1));
    if (mesh_is_box(mesh)) return mesh_rescale_box(mesh, &mesh->box, 1, fine);
    for (int b = 0; b < mesh->n_blocks; b++) TRY(plan_init(&r.plans[b], mesh->blocks[b].shape, mesh->order));
    TRY(number_points(&r));
    TRY(split_cells(&r));
    TRY(split_groups(&r));
    TRY(split_periodic(&r));
    TRY(split_seam(&r));
    TRY(mesh_create(&r.input, fine));
    TRY(make_part(&r, *fine));
done:
    if (status != FACET_OK) mesh_destroy(fine);
    refinement_free(&r);
    return status;
}

facet_status mesh_refine_keeping(struct facet_mesh *mesh, int times) {
    facet_status status = FACET_OK;
    struct facet_mesh *fine = NULL;
    TRY(mesh_check_refinement(mesh, times));
    for (int i = 0; i < times; i++) {
        TRY(mesh_refine(mesh, &fine));
        struct facet_mesh old = *mesh; /* the caller's handle becomes the fine mesh */
        *mesh = *fine;
        *fine = old;
        mesh->coarse = fine;
        mesh->late->mesh = mesh;
        fine->late->mesh = fine;
        if (mesh->part != NULL) {
            mesh->part->mesh = mesh;
            fine->part->mesh = fine;
        }
    }
done:
    return status;
}
