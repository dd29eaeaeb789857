/* Meshes from arrays and back: points, cells by shape, groups, with the nodes of a cell in the order of
 * others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/vtu.h"
#include "mesh/gmsh.h"
#include "poly/basis.h"
#include "problem/problem.h"

#define MAX_NODES 1000 /* of a hex of order MESH_MAX_ORDER */

enum numbering { NUMBERING_GMSH, NUMBERING_VTK, NUMBERING_LATTICE };

static facet_status find_numbering(const char *word, enum numbering *numbering) {
    static const char *const words[] = {"gmsh", "vtk", "lattice"};
    *numbering = NUMBERING_GMSH;
    for (int i = 0; word != NULL && i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            *numbering = (enum numbering)i;
            return FACET_OK;
        }
    if (word == NULL) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the nodes of a cell are numbered as gmsh, vtk or lattice, not '%.40s'", word);
}

/* lattice[i]: our number of node i. */
static facet_status fill_order(enum numbering numbering, enum shape shape, int order, int *lattice) {
    if (numbering == NUMBERING_VTK) return vtu_memory_map(shape, order, lattice);
    if (numbering == NUMBERING_GMSH) gmsh_lattice(shape, order, lattice);
    for (int i = 0; numbering == NUMBERING_LATTICE && i < shape_n_nodes(shape, order); i++) lattice[i] = i;
    return FACET_OK;
}

/* ------------------------------------------------------------------------------------------ from arrays */

struct block {
    facet_cells cells;
    enum shape shape;
    int n_nodes;                     /* of a cell, as given */
    int64_t first;                   /* cell */
    int lattice[MAX_NODES];          /* of the given order */
    int corners[SHAPE_MAX_VERTICES]; /* of the vertices: which given node is each */
    double *elevate;                 /* n_nodes of the mesh x n_nodes; NULL: of the same order */
};
struct assembly {
    const facet_arrays *arrays;
    enum numbering numbering;
    int order;
    int64_t n_cells;
    struct block *blocks;
    facet_members *groups;
    int32_t *vertex_of; /* by point; -1: no corner */
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets;
    int32_t *vertices;
    double *nodes;
    struct mesh_input_group *input_groups;
    int32_t **group_vertices;
};

static void assembly_free(struct assembly *a) {
    for (int b = 0; a->blocks != NULL && b < a->arrays->n_blocks; b++) base_free(&a->blocks[b].elevate);
    for (int g = 0; a->group_vertices != NULL && g < a->arrays->n_groups; g++)
        base_free(&a->group_vertices[g]);
    base_free(&a->blocks);
    base_free(&a->groups);
    base_free(&a->vertex_of);
    base_free(&a->shapes);
    base_free(&a->vertex_offsets);
    base_free(&a->node_offsets);
    base_free(&a->vertices);
    base_free(&a->nodes);
    base_free(&a->input_groups);
    base_free(&a->group_vertices);
}

/* Entry i of an array of structs that have the size of the first. */
static facet_status read_entry(const char *name, const void *array, int i, void *own, size_t size) {
    size_t stride;
    memcpy(&stride, array, sizeof stride);
    facet_status status = base_struct_read(name, array, own, size);
    if (status == FACET_OK && i > 0)
        status = base_struct_read(name, (const char *)array + stride * (size_t)i, own, size);
    size_t mine = 0;
    if (status == FACET_OK) memcpy(&mine, (const char *)array + stride * (size_t)i, sizeof mine);
    if (status == FACET_OK && mine != stride)
        return base_fail(FACET_ERROR_INPUT, "%s %d has the size %zu, but the first %zu", name, i, mine,
                         stride);
    return status;
}

static facet_status find_shape(const char *name, int dim, enum shape *shape) {
    char known[64] = "";
    for (int s = 0; s < SHAPE_COUNT; s++) {
        if (shape_dim((enum shape)s) != dim) continue;
        *shape = (enum shape)s;
        if (strcmp(shape_name(*shape), name) == 0) return FACET_OK;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", shape_name(*shape));
    }
    return base_fail(FACET_ERROR_INPUT, "there is no shape '%.40s' in %d dimensions, but %s", name, dim,
                     known);
}

/* Node numbers that are rows of the points. */
static facet_status check_nodes(const struct assembly *a, const struct block *b) {
    for (int64_t c = 0; c < b->cells.count; c++)
        for (int i = 0; i < b->n_nodes; i++) {
            int64_t node = b->cells.nodes[c * b->n_nodes + i];
            if (node < 0 || node >= a->arrays->n_points)
                return base_fail(FACET_ERROR_INPUT,
                                 "node %d of cell %lld is %lld, but the points are 0 to %lld", i,
                                 (long long)c, (long long)node, (long long)a->arrays->n_points - 1);
        }
    return FACET_OK;
}

static facet_status read_block(struct assembly *a, int number) {
    facet_status status = FACET_OK;
    struct block *b = &a->blocks[number];
    facet_cells *cells = &b->cells;
    TRY(read_entry("facet_cells", a->arrays->blocks, number, cells, sizeof *cells));
    if (cells->shape == NULL) FAIL(FACET_ERROR_INPUT, "the shape is NULL");
    TRY(find_shape(cells->shape, a->arrays->dim, &b->shape));
    if (cells->order < 1 || cells->order > MESH_MAX_ORDER)
        FAIL(FACET_ERROR_INPUT, "the order must be 1 to %d, not %d", MESH_MAX_ORDER, cells->order);
    if (cells->count < 0 || cells->count > MESH_MAX_CELLS - a->n_cells)
        FAIL(FACET_ERROR_INPUT, "%lld cells; a mesh has 1 to %d of them", (long long)cells->count,
             MESH_MAX_CELLS);
    if (cells->count > 0 && cells->nodes == NULL) FAIL(FACET_ERROR_INPUT, "nodes is NULL");
    b->n_nodes = shape_n_nodes(b->shape, cells->order);
    b->first = a->n_cells;
    TRY(fill_order(a->numbering, b->shape, cells->order, b->lattice));
    for (int v = 0; v < shape_n_vertices(b->shape); v++)
        for (int i = 0; i < b->n_nodes; i++)
            if (b->lattice[i] == shape_vertex_node(b->shape, cells->order, v)) b->corners[v] = i;
    TRY(check_nodes(a, b));
    a->n_cells += cells->count;
    if (cells->count > 0 && cells->order > a->order) a->order = cells->order;
done:
    return base_wrap(status, "block %d of cells", number);
}

static facet_status check_points(const facet_arrays *arrays) {
    int64_t n = arrays->n_points * arrays->dim;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(arrays->points[i]))
            return base_fail(FACET_ERROR_INPUT, "coordinate %d of point %lld is %g", (int)(i % arrays->dim),
                             (long long)(i / arrays->dim), arrays->points[i]);
    return FACET_OK;
}

static facet_status check_arrays(const facet_arrays *arrays) {
    if (arrays->dim != 2 && arrays->dim != 3)
        return base_fail(FACET_ERROR_INPUT, "a mesh has dimension 2 or 3, not %d", arrays->dim);
    if (arrays->n_points < 1 || arrays->n_points > INT32_MAX)
        return base_fail(FACET_ERROR_INPUT, "%lld points; 1 to %d are possible", (long long)arrays->n_points,
                         INT32_MAX);
    if (arrays->points == NULL) return base_fail(FACET_ERROR_INPUT, "points is NULL");
    if (arrays->n_blocks < 1 || arrays->blocks == NULL)
        return base_fail(FACET_ERROR_INPUT, "there are no blocks of cells");
    if (arrays->n_groups < 0 || (arrays->n_groups > 0 && arrays->groups == NULL))
        return base_fail(FACET_ERROR_INPUT, "%d groups, which are NULL or less than none", arrays->n_groups);
    return check_points(arrays);
}

/* Corners become vertices, numbered in the order of the points. */
static facet_status number_vertices(struct assembly *a) {
    facet_status status = FACET_OK;
    int64_t n = a->arrays->n_points;
    TRY(ALLOC(a->vertex_of, n));
    memset(a->vertex_of, 0xff, (size_t)n * sizeof *a->vertex_of);
    for (int b = 0; b < a->arrays->n_blocks; b++) {
        const struct block *block = &a->blocks[b];
        for (int64_t c = 0; c < block->cells.count; c++)
            for (int v = 0; v < shape_n_vertices(block->shape); v++)
                a->vertex_of[block->cells.nodes[c * block->n_nodes + block->corners[v]]] = 0;
    }
    for (int64_t i = 0; i < n; i++)
        if (a->vertex_of[i] == 0) a->vertex_of[i] = (int32_t)a->input.n_vertices++;
done:
    return status;
}

/* From the lattice of a lower order to that of the mesh. */
static facet_status make_elevation(const struct assembly *a, struct block *b) {
    facet_status status = FACET_OK;
    double *xi = NULL;
    int n = shape_n_nodes(b->shape, a->order);
    if (b->cells.order == a->order) goto done;
    TRY(ALLOC(xi, n * a->arrays->dim));
    shape_nodes(b->shape, a->order, xi);
    TRY(ALLOC(b->elevate, n * b->n_nodes));
    TRY(basis_lagrange(b->shape, b->cells.order, n, xi, b->elevate, NULL));
done:
    base_free(&xi);
    return status;
}

static void fill_cell(const struct assembly *a, const struct block *b, int64_t c, double *out) {
    int dim = a->arrays->dim, n = shape_n_nodes(b->shape, a->order);
    double low[3 * MAX_NODES], *to = b->elevate != NULL ? low : out;
    const int64_t *nodes = b->cells.nodes + c * b->n_nodes;
    for (int i = 0; i < b->n_nodes; i++)
        memcpy(to + b->lattice[i] * dim, a->arrays->points + nodes[i] * dim, (size_t)dim * sizeof *to);
    if (b->elevate == NULL) return;
    memset(out, 0, (size_t)(n * dim) * sizeof *out);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < b->n_nodes; j++)
            for (int d = 0; d < dim; d++)
                out[i * dim + d] += b->elevate[i * b->n_nodes + j] * low[j * dim + d];
}

static void fill_block(struct assembly *a, const struct block *b) {
    int n_vertices = shape_n_vertices(b->shape), n = shape_n_nodes(b->shape, a->order);
    for (int64_t c = 0; c < b->cells.count; c++) {
        int64_t cell = b->first + c;
        a->shapes[cell] = (uint8_t)b->shape;
        a->vertex_offsets[cell + 1] = a->vertex_offsets[cell] + n_vertices;
        a->node_offsets[cell + 1] = a->node_offsets[cell] + n;
        for (int v = 0; v < n_vertices; v++)
            a->vertices[a->vertex_offsets[cell] + v] =
                a->vertex_of[b->cells.nodes[c * b->n_nodes + b->corners[v]]];
        fill_cell(a, b, c, a->nodes + a->node_offsets[cell] * a->arrays->dim);
    }
}

static facet_status fill_cells(struct assembly *a) {
    facet_status status = FACET_OK;
    int64_t n_vertices = 0, n_nodes = 0;
    for (int b = 0; b < a->arrays->n_blocks; b++) {
        struct block *block = &a->blocks[b];
        TRY(make_elevation(a, block));
        n_vertices += block->cells.count * shape_n_vertices(block->shape);
        n_nodes += block->cells.count * shape_n_nodes(block->shape, a->order);
    }
    TRY(ALLOC(a->shapes, a->n_cells));
    TRY(CALLOC(a->vertex_offsets, a->n_cells + 1));
    TRY(CALLOC(a->node_offsets, a->n_cells + 1));
    TRY(ALLOC(a->vertices, n_vertices));
    TRY(ALLOC(a->nodes, n_nodes * a->arrays->dim));
    for (int b = 0; b < a->arrays->n_blocks; b++) fill_block(a, &a->blocks[b]);
done:
    return status;
}

/* The corners of a face as vertices; those that are none are named. */
static facet_status fill_face(const struct assembly *a, int64_t face, const int64_t *nodes,
                              int32_t vertices[SHAPE_MAX_FACE_VERTICES]) {
    int stride = a->arrays->dim == 2 ? 2 : 4, least = a->arrays->dim;
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) vertices[i] = -1;
    for (int i = 0; i < stride; i++) {
        int64_t node = nodes[i];
        if (node == -1 && i >= least) return FACET_OK;
        if (node < 0 || node >= a->arrays->n_points)
            return base_fail(FACET_ERROR_INPUT, "node %d of face %lld is %lld, but the points are 0 to %lld",
                             i, (long long)face, (long long)node, (long long)a->arrays->n_points - 1);
        vertices[i] = a->vertex_of[node];
        if (vertices[i] < 0)
            return base_fail(FACET_ERROR_INPUT,
                             "node %d of face %lld is the point %lld, which is no corner of a cell", i,
                             (long long)face, (long long)node);
    }
    return FACET_OK;
}

static facet_status read_group(struct assembly *a, int number) {
    facet_status status = FACET_OK;
    facet_members *group = &a->groups[number];
    int dim = a->arrays->dim, stride = dim == 2 ? 2 : 4;
    TRY(read_entry("facet_members", a->arrays->groups, number, group, sizeof *group));
    if (group->name == NULL || group->name[0] == '\0') FAIL(FACET_ERROR_INPUT, "it has no name");
    if (group->dim != dim && group->dim != dim - 1)
        FAIL(FACET_ERROR_INPUT, "it has dimension %d; cells have %d, faces %d", group->dim, dim, dim - 1);
    if (group->count < 0 || group->count > (int64_t)SHAPE_MAX_FACES * MESH_MAX_CELLS)
        FAIL(FACET_ERROR_INPUT, "it has %lld members", (long long)group->count);
    if (group->count > 0 && (group->dim == dim ? group->cells : group->nodes) == NULL)
        FAIL(FACET_ERROR_INPUT, "%s is NULL", group->dim == dim ? "cells" : "nodes");
    struct mesh_input_group *to = &a->input_groups[number];
    *to = (struct mesh_input_group){
        .name = group->name, .dim = group->dim, .count = group->count, .cells = group->cells};
    if (group->dim == dim) goto done;
    TRY(ALLOC(a->group_vertices[number], group->count * SHAPE_MAX_FACE_VERTICES));
    to->vertices = a->group_vertices[number];
    for (int64_t f = 0; f < group->count; f++)
        TRY(fill_face(a, f, group->nodes + f * stride,
                      a->group_vertices[number] + f * SHAPE_MAX_FACE_VERTICES));
done:
    return base_wrap(status, "group %d", number);
}

static facet_status create(const facet_arrays *arrays, int64_t *numbers, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct assembly a = {.arrays = arrays, .order = 1};
    TRY(check_arrays(arrays));
    TRY(find_numbering(arrays->numbering, &a.numbering));
    TRY(CALLOC(a.blocks, arrays->n_blocks));
    TRY(CALLOC(a.groups, arrays->n_groups));
    TRY(CALLOC(a.input_groups, arrays->n_groups));
    TRY(CALLOC(a.group_vertices, arrays->n_groups));
    for (int b = 0; b < arrays->n_blocks; b++) TRY(read_block(&a, b));
    if (a.n_cells == 0) FAIL(FACET_ERROR_INPUT, "there are no cells");
    TRY(number_vertices(&a));
    TRY(fill_cells(&a));
    for (int g = 0; g < arrays->n_groups; g++) TRY(read_group(&a, g));
    a.input.dim = arrays->dim;
    a.input.order = a.order;
    a.input.n_cells = a.n_cells;
    a.input.shapes = a.shapes;
    a.input.vertex_offsets = a.vertex_offsets;
    a.input.vertices = a.vertices;
    a.input.node_offsets = a.node_offsets;
    a.input.nodes = a.nodes;
    a.input.n_groups = arrays->n_groups;
    a.input.groups = a.input_groups;
    a.input.numbers = numbers;
    a.input.straight_first = 1;
    TRY(mesh_create(&a.input, mesh));
done:
    assembly_free(&a);
    return base_wrap(status, "facet_mesh_create_arrays");
}

facet_status facet_mesh_create_arrays(facet_context *context, const facet_arrays *arrays, int64_t *numbers,
                                      facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(context, arrays);
    struct base_call call;
    facet_arrays own = {0};
    facet_status status = base_struct_read("facet_arrays", arrays, &own, sizeof own);
    if (status != FACET_OK) return status;
    context_call_begin(context, 0, &call);
    status = context_call_end(context, &call, create(&own, numbers, mesh));
    if (status != FACET_OK) mesh_destroy(mesh);
    if (*mesh != NULL) (*mesh)->context = context;
    return status;
}

/* ------------------------------------------------------------------------------------------ to arrays */

static facet_status find_points(const struct facet_mesh *mesh, int64_t *n_points, double *points) {
    facet_status status = FACET_OK;
    struct mesh_numbers numbers;
    TRY(mesh_numbers_create(mesh, &numbers));
    if (n_points != NULL) *n_points = numbers.n_points;
    for (int b = 0; points != NULL && b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        for (int64_t i = 0; i < (int64_t)block->count * block->n_nodes; i++)
            memcpy(points + (int64_t)numbers.nodes[b][i] * mesh->dim, block->nodes + i * mesh->dim,
                   (size_t)mesh->dim * sizeof *points);
    }
done:
    mesh_numbers_destroy(&numbers);
    return status;
}

facet_status facet_mesh_n_points(const facet_mesh *mesh, int64_t *n_points) {
    REQUIRE(mesh, n_points);
    facet_status status;
    MESH_CALL(mesh, status, find_points(mesh, n_points, NULL));
    return status;
}

facet_status facet_mesh_points(const facet_mesh *mesh, double *points) {
    REQUIRE(mesh, points);
    facet_status status;
    MESH_CALL(mesh, status, find_points(mesh, NULL, points));
    return status;
}

int facet_mesh_n_blocks(const facet_mesh *mesh) {
    return mesh != NULL ? mesh->n_blocks : 0;
}

static facet_status find_nodes(const struct facet_mesh *mesh, int b, enum numbering numbering,
                               int64_t *nodes) {
    facet_status status = FACET_OK;
    struct mesh_numbers numbers;
    int lattice[MAX_NODES];
    TRY(mesh_numbers_create(mesh, &numbers));
    const struct mesh_block *block = &mesh->blocks[b];
    TRY(fill_order(numbering, block->shape, mesh->order, lattice));
    for (int64_t c = 0; c < block->count; c++)
        for (int i = 0; i < block->n_nodes; i++)
            nodes[c * block->n_nodes + i] = numbers.nodes[b][c * block->n_nodes + lattice[i]];
done:
    mesh_numbers_destroy(&numbers);
    return status;
}

facet_status facet_mesh_block(const facet_mesh *mesh, int block, const char *numbering, facet_cells *cells,
                              int64_t *nodes) {
    REQUIRE(mesh, cells);
    facet_status status = FACET_OK;
    enum numbering word;
    facet_cells full = {0}, given = {0};
    TRY(find_numbering(numbering, &word));
    TRY(base_struct_read("facet_cells", cells, &given, sizeof given));
    if (block < 0 || block >= mesh->n_blocks)
        FAIL(FACET_ERROR_INPUT, "there is no block %d; the mesh has %d", block, mesh->n_blocks);
    full.shape = shape_name(mesh->blocks[block].shape);
    full.order = mesh->order;
    full.count = mesh->blocks[block].count;
    full.nodes = given.nodes;
    if (nodes != NULL) MESH_CALL(mesh, status, find_nodes(mesh, block, word, nodes));
    if (status == FACET_OK) status = base_struct_write("facet_cells", &full, cells, sizeof full);
done:
    return status;
}

static facet_status find_members(const struct facet_mesh *mesh, int i, int64_t *cells, int *faces,
                                 int64_t *nodes) {
    facet_status status = FACET_OK;
    int stride = mesh->dim == 2 ? 2 : 4;
    TRY(mesh_need_lists(mesh));
    const struct mesh_group *group = &mesh->groups[i];
    for (int32_t k = 0; k < group->count && group->dim == mesh->dim && cells != NULL; k++)
        cells[k] = group->ids[k];
    for (int32_t k = 0; k < group->count && group->dim < mesh->dim; k++) {
        struct mesh_group_face face = mesh_group_face(mesh, group, k);
        const struct mesh_block *block = mesh_block_of(mesh, face.cell);
        int n = shape_n_vertices(shape_face_shape(block->shape, face.local));
        const int *corners = shape_face_vertices(block->shape, face.local);
        const int32_t *vertices =
            block->vertices + (int64_t)(face.cell - block->first) * shape_n_vertices(block->shape);
        if (cells != NULL) cells[k] = face.cell;
        if (faces != NULL) faces[k] = face.local;
        for (int v = 0; v < stride && nodes != NULL; v++)
            nodes[(int64_t)k * stride + v] = v < n ? vertices[corners[v]] : -1;
    }
done:
    return status;
}

facet_status facet_mesh_group_members(const facet_mesh *mesh, int i, int64_t *cells, int *faces,
                                      int64_t *nodes) {
    REQUIRE(mesh);
    if (i < 0 || i >= mesh->n_groups)
        return base_fail(FACET_ERROR_INPUT, "there is no group %d; the mesh has %d", i, mesh->n_groups);
    if (mesh->groups[i].dim == mesh->dim && (faces != NULL || nodes != NULL))
        return base_fail(FACET_ERROR_INPUT, "the group '%s' is one of cells, which are no faces of others",
                         mesh->groups[i].name);
    facet_status status;
    MESH_CALL(mesh, status, find_members(mesh, i, cells, faces, nodes));
    return status;
}
