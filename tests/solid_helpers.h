/* Boxes of any shape whose cells are made anew with geometry of any order: mapped, with their vertices
 * renumbered and every cell turned at random, so that faces meet in all orientations. */
#ifndef FACET_TESTS_SOLID_HELPERS_H
#define FACET_TESTS_SOLID_HELPERS_H

#include "hdg_helpers.h"
#include "poly/basis.h"

typedef void (*solid_map)(const double *x, double *y);

static inline int solid_dim(const char *shape) {
    return strcmp(shape, "triangle") == 0 || strcmp(shape, "quad") == 0 ? 2 : 3;
}

/* The unit square or cube. split: NULL for the default. */
static inline struct facet_mesh *unit_box(const char *shape, const char *split, int n) {
    facet_box b = {.size = sizeof(facet_box),
                   .dim = solid_dim(shape),
                   .upper = {1, 1, 1},
                   .cells = {n, n, n},
                   .shape = shape,
                   .split = split};
    struct facet_mesh *mesh;
    ok(mesh_create_box(&b, &mesh));
    ok(mesh_need_lists(mesh));
    return mesh;
}

static inline double solid_determinant(int dim, const double *J) {
    if (dim == 2) return J[0] * J[3] - J[1] * J[2];
    return J[0] * (J[4] * J[8] - J[5] * J[7]) - J[1] * (J[3] * J[8] - J[5] * J[6]) +
           J[2] * (J[3] * J[7] - J[4] * J[6]);
}

/* The turns of a shape: permutations of its vertices by affine maps of positive determinant, each given by
 * the images of the origin and of the ends of the axes. Vertex i of the turned cell is vertex turns[k][i] of
 * the cell. */
static inline int solid_turns(enum shape shape, int turns[24][SHAPE_MAX_VERTICES]) {
    const double *v = shape_vertices(shape);
    int n = shape_n_vertices(shape), dim = shape_dim(shape), count = 0, n_choices = 1;
    for (int a = 0; a <= dim; a++) n_choices *= n;
    for (int choice = 0; choice < n_choices; choice++) {
        int image[4], rest = choice, matched = 0, turn[SHAPE_MAX_VERTICES];
        double J[9];
        for (int a = 0; a <= dim; a++, rest /= n) image[a] = rest % n;
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) J[a * dim + b] = v[image[b + 1] * dim + a] - v[image[0] * dim + a];
        if (!(solid_determinant(dim, J) > 0.5)) continue;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double away = 0;
                for (int a = 0; a < dim; a++) {
                    double x = v[image[0] * dim + a];
                    for (int b = 0; b < dim; b++) x += J[a * dim + b] * v[i * dim + b];
                    away += fabs(x - v[j * dim + a]);
                }
                if (away > 0) continue;
                turn[i] = j;
                matched++;
            }
        if (matched != n) continue;
        assert_true(count < 24);
        memcpy(turns[count++], turn, sizeof turn);
    }
    return count;
}

struct solid {
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets;
    int32_t *vertices, *number; /* number: of each vertex of the straight mesh */
    double *nodes;
    struct mesh_input_group groups[6];
    int32_t *faces[6];
};

static inline void solid_cells(const struct facet_mesh *mesh, int order, solid_map map, uint32_t *seed,
                               struct solid *s) {
    int64_t cell = 0;
    int dim = mesh->dim, turns[24][SHAPE_MAX_VERTICES];
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n = shape_n_vertices(block->shape), n_nodes = shape_n_nodes(block->shape, order);
        int n_turns = solid_turns(block->shape, turns);
        double *lattice = calloc((size_t)(n_nodes * dim), sizeof *lattice);
        double *values = calloc((size_t)(n_nodes * n), sizeof *values);
        shape_nodes(block->shape, order, lattice);
        ok(basis_lagrange(block->shape, 1, n_nodes, lattice, values, NULL));
        for (int32_t c = 0; c < block->count; c++, cell++) {
            const int *turn = turns[*seed ? (int)((random_signed(seed) + 1) / 2 * n_turns) % n_turns : 0];
            double *nodes = s->nodes + s->node_offsets[cell] * dim;
            s->shapes[cell] = (uint8_t)block->shape;
            s->vertex_offsets[cell + 1] = s->vertex_offsets[cell] + n;
            s->node_offsets[cell + 1] = s->node_offsets[cell] + n_nodes;
            for (int v = 0; v < n; v++)
                s->vertices[s->vertex_offsets[cell] + v] =
                    s->number[block->vertices[(int64_t)c * n + (*seed ? turn[v] : v)]];
            for (int i = 0; i < n_nodes; i++) {
                double x[3] = {0}, y[3];
                for (int v = 0; v < n; v++) {
                    int from = shape_vertex_node(block->shape, 1, *seed ? turn[v] : v);
                    for (int a = 0; a < dim; a++)
                        x[a] += values[i * n + shape_vertex_node(block->shape, 1, v)] *
                                block->nodes[((int64_t)c * n + from) * dim + a];
                }
                map(x, y);
                memcpy(nodes + i * dim, y, (size_t)dim * sizeof *y);
            }
        }
        free(lattice);
        free(values);
    }
}

static inline void solid_sides(const struct facet_mesh *mesh, struct solid *s) {
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        s->faces[g] = calloc((size_t)group->count * SHAPE_MAX_FACE_VERTICES, sizeof *s->faces[g]);
        for (int32_t i = 0; i < group->count; i++) {
            int32_t f = group->ids[i], cell = mesh->face_cells[2 * (int64_t)f];
            int local = mesh->face_locals[2 * (int64_t)f];
            const struct mesh_block *block = mesh_block_of(mesh, cell);
            int n = shape_n_vertices((enum shape)mesh->face_shapes[f]);
            for (int v = 0; v < SHAPE_MAX_FACE_VERTICES; v++)
                s->faces[g][i * SHAPE_MAX_FACE_VERTICES + v] =
                    v < n ? s->number[block->vertices[(int64_t)(cell - block->first) *
                                                          shape_n_vertices(block->shape) +
                                                      shape_face_vertices(block->shape, local)[v]]]
                          : -1;
        }
        s->groups[g] = (struct mesh_input_group){
            .name = group->name, .dim = group->dim, .count = group->count, .vertices = s->faces[g]};
    }
}

/* A straight mesh of order 1 (consumed) made anew with geometry of this order, its nodes mapped; seed 0: in
 * the same order. The groups of faces are kept. */
static inline struct facet_mesh *remake(struct facet_mesh *mesh, int order, solid_map map, uint32_t seed) {
    struct solid s = {0};
    struct facet_mesh *made;
    size_t n_cells = (size_t)mesh->n_cells, n_vertices = (size_t)mesh->n_vertices;
    size_t most = (size_t)((order + 1) * (order + 1) * (order + 1));
    s.shapes = calloc(n_cells, sizeof *s.shapes);
    s.vertex_offsets = calloc(n_cells + 1, sizeof *s.vertex_offsets);
    s.node_offsets = calloc(n_cells + 1, sizeof *s.node_offsets);
    s.vertices = calloc(n_cells * SHAPE_MAX_VERTICES, sizeof *s.vertices);
    s.nodes = calloc(n_cells * most * 3, sizeof *s.nodes);
    s.number = calloc(n_vertices, sizeof *s.number);
    for (size_t i = 0; i < n_vertices; i++) s.number[i] = (int32_t)i;
    for (size_t i = n_vertices - 1; seed && i > 0; i--) {
        size_t j = (size_t)((random_signed(&seed) + 1) / 2 * (double)(i + 1)) % (i + 1);
        int32_t swap = s.number[i];
        s.number[i] = s.number[j];
        s.number[j] = swap;
    }
    solid_cells(mesh, order, map, &seed, &s);
    solid_sides(mesh, &s);
    s.input = (struct mesh_input){.dim = mesh->dim,
                                  .order = order,
                                  .n_vertices = mesh->n_vertices,
                                  .n_cells = mesh->n_cells,
                                  .shapes = s.shapes,
                                  .vertex_offsets = s.vertex_offsets,
                                  .vertices = s.vertices,
                                  .node_offsets = s.node_offsets,
                                  .nodes = s.nodes,
                                  .n_groups = mesh->n_groups,
                                  .groups = s.groups};
    ok(mesh_create(&s.input, &made));
    free(s.shapes);
    free(s.vertex_offsets);
    free(s.node_offsets);
    free(s.vertices);
    free(s.nodes);
    free(s.number);
    for (int g = 0; g < 6; g++) free(s.faces[g]);
    mesh_destroy(&mesh);
    return made;
}

/* ------------------------------------------------------------------------------------------ maps */

static inline void map_same(const double *x, double *y) {
    memcpy(y, x, 3 * sizeof *y);
}

/* Smooth, and the identity nowhere. */
static inline void map_wavy(const double *x, double *y) {
    y[0] = x[0] + 0.06 * sin(3 * x[1]) * cos(2 * x[2]);
    y[1] = x[1] + 0.07 * cos(2 * x[0] + x[2]);
    y[2] = x[2] + 0.05 * sin(2 * x[0] + 3 * x[1]);
}

/* A piece of a pipe: 1 <= r <= 2, an eighth of a turn. */
static inline void map_pipe(const double *x, double *y) {
    double r = 1 + x[0], angle = 0.78539816339744830962 * x[1];
    y[0] = r * cos(angle);
    y[1] = r * sin(angle);
    y[2] = x[2];
}

/* The same with angles that grow unevenly: interpolated at equal steps, it leaves the cylinders by h^(g+1).
 */
static inline void map_uneven_pipe(const double *x, double *y) {
    const double even[3] = {x[0], 0.3 * x[1] + 0.7 * x[1] * x[1], x[2]};
    map_pipe(even, y);
}

/* Moves the vertices of a lattice with 1/step parts: the faces of hexes are then hyperbolic paraboloids. */
static inline void map_shaken(const double *x, double *y) {
    y[0] = x[0] + 0.07 * sin(17.3 * x[0] + 31.1 * x[1] + 5.7 * x[2]);
    y[1] = x[1] + 0.07 * sin(23.9 * x[0] - 11.3 * x[1] + 19.1 * x[2]);
    y[2] = x[2] + 0.07 * sin(7.7 * x[0] + 13.7 * x[1] - 29.3 * x[2]);
}

#endif
