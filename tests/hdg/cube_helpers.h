/* Meshes of the unit cube, straight or bent, whose vertices and cells are numbered and turned at random, so
 * that edges and faces come in all orientations. */
#ifndef FACET_TESTS_CUBE_HELPERS_H
#define FACET_TESTS_CUBE_HELPERS_H

#include "hdg_helpers.h"

#include "poly/basis.h"

static const enum shape cube_shapes[] = {SHAPE_TET, SHAPE_HEX};

static inline int below(uint32_t *seed, int n) {
    return (int)((random_signed(seed) + 1.0) / 2.0 * n) % n;
}

static inline void shuffle(uint32_t *seed, int n, int32_t *order) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(seed, i + 1);
        int32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* A symmetry of the reference cell: vertex i goes to turned[i]. */
static inline void random_symmetry(uint32_t *seed, enum shape shape, int *turned) {
    const double *v = shape_vertices(shape);
    int32_t order[4];
    shuffle(seed, shape == SHAPE_TET ? 4 : 3, order);
    int flips = below(seed, 8);
    for (int i = 0; i < shape_n_vertices(shape); i++) {
        if (shape == SHAPE_TET) {
            turned[i] = order[i];
            continue;
        }
        for (int j = 0; j < 8; j++) {
            int same = 1;
            for (int a = 0; a < 3; a++)
                same &= v[3 * j + a] == (flips >> a & 1 ? 1 - v[3 * i + order[a]] : v[3 * i + order[a]]);
            if (same) turned[i] = j;
        }
    }
}

static inline void bend(double size, double *x) {
    double y[3] = {x[0], x[1], x[2]};
    for (int a = 0; a < 3; a++) x[a] += size * sin(1.3 * y[(a + 1) % 3] + 0.7 * y[(a + 2) % 3] + a);
}

struct scramble {
    struct mesh_input input;
    struct mesh_input_group groups[6];
    int32_t *faces[6], *periodic, *vertices, *map;
    int64_t *vertex_offsets, *node_offsets;
    uint8_t *shapes;
    double *nodes;
};

/* The corners of a face of a mesh in its frame, as one side sees them, in the new numbering. */
static inline void corners_of(const struct facet_mesh *mesh, const int32_t *map, int64_t face, int side,
                              int32_t *corners) {
    const struct mesh_block *b = &mesh->blocks[0];
    int64_t cell = mesh->face_cells[2 * face + side];
    int local = mesh->face_locals[2 * face + side], n = shape_n_vertices(b->shape);
    enum shape shape = shape_face_shape(b->shape, 0);
    const int *order = shape_permutation(shape, b->orientations[cell * shape_n_faces(b->shape) + local]);
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) corners[i] = -1;
    for (int i = 0; i < shape_n_vertices(shape); i++)
        corners[i] = map[b->vertices[cell * n + shape_face_vertices(b->shape, local)[order[i]]]];
}

static inline void scramble_faces(const struct facet_mesh *mesh, struct scramble *s) {
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        s->faces[g] = calloc((size_t)group->count * SHAPE_MAX_FACE_VERTICES, sizeof *s->faces[g]);
        for (int32_t i = 0; i < group->count; i++)
            corners_of(mesh, s->map, group->ids[i], 0, s->faces[g] + i * SHAPE_MAX_FACE_VERTICES);
        s->groups[g] = (struct mesh_input_group){
            .name = group->name, .dim = 2, .count = group->count, .vertices = s->faces[g]};
    }
    s->periodic = calloc((size_t)mesh->n_faces * 2 * SHAPE_MAX_FACE_VERTICES, sizeof *s->periodic);
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        int32_t *pair = s->periodic + s->input.n_periodic * 2 * SHAPE_MAX_FACE_VERTICES;
        if (mesh->face_cells[2 * f + 1] < 0) continue;
        for (int side = 0; side < 2; side++)
            corners_of(mesh, s->map, f, side, pair + side * SHAPE_MAX_FACE_VERTICES);
        s->input.n_periodic +=
            memcmp(pair, pair + SHAPE_MAX_FACE_VERTICES, SHAPE_MAX_FACE_VERTICES * sizeof *pair) != 0;
    }
    s->input.n_groups = mesh->n_groups;
    s->input.groups = s->groups;
    s->input.periodic = s->periodic;
}

/* Cell c of the new mesh: that of the old one, with its vertices turned and its lattice bent. */
static inline void scramble_cell(const struct facet_mesh *mesh, int64_t c, uint32_t *seed, int order,
                                 double size, struct scramble *s) {
    const struct mesh_block *b = &mesh->blocks[0];
    int n = shape_n_vertices(b->shape), m = shape_n_nodes(b->shape, order), turned[8];
    double xi[3 * 64], lagrange[8 * 64];
    random_symmetry(seed, b->shape, turned);
    s->shapes[c] = (uint8_t)b->shape;
    s->vertex_offsets[c + 1] = (c + 1) * n;
    s->node_offsets[c + 1] = (c + 1) * m;
    shape_nodes(b->shape, order, xi);
    ok(basis_lagrange(b->shape, 1, m, xi, lagrange, NULL));
    for (int i = 0; i < n; i++) s->vertices[c * n + i] = s->map[b->vertices[c * n + turned[i]]];
    for (int p = 0; p < m; p++) {
        double *x = s->nodes + 3 * (c * m + p);
        for (int i = 0; i < n; i++) {
            const double *corner = b->nodes + 3 * (c * n + shape_vertex_node(b->shape, 1, turned[i]));
            for (int a = 0; a < 3; a++)
                x[a] += lagrange[p * n + shape_vertex_node(b->shape, 1, i)] * corner[a];
        }
        bend(size, x);
    }
}

/* The unit cube, its geometry of this order bent by about `size`. */
static inline struct facet_mesh *cube(enum shape shape, const int *n, const int *periodic, int order,
                                      double size, uint32_t seed) {
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 3,
                     .upper = {1, 1, 1},
                     .cells = {n[0], n[1], n[2]},
                     .shape = shape_name(shape),
                     .periodic = {periodic[0], periodic[1], periodic[2]}};
    struct facet_mesh *plain, *mesh;
    struct scramble s = {0};
    ok(mesh_create_box(&box, &plain));
    ok(mesh_need_lists(plain));
    size_t cells = (size_t)plain->n_cells;
    s.map = calloc((size_t)plain->n_vertices, sizeof *s.map);
    s.shapes = calloc(cells, sizeof *s.shapes);
    s.vertices = calloc(8 * cells, sizeof *s.vertices);
    s.vertex_offsets = calloc(cells + 1, sizeof *s.vertex_offsets);
    s.node_offsets = calloc(cells + 1, sizeof *s.node_offsets);
    s.nodes = calloc(3 * 64 * cells, sizeof *s.nodes);
    shuffle(&seed, plain->n_vertices, s.map);
    s.input = (struct mesh_input){.dim = 3,
                                  .order = order,
                                  .n_vertices = plain->n_vertices,
                                  .n_cells = plain->n_cells,
                                  .shapes = s.shapes,
                                  .vertex_offsets = s.vertex_offsets,
                                  .vertices = s.vertices,
                                  .node_offsets = s.node_offsets,
                                  .nodes = s.nodes};
    scramble_faces(plain, &s);
    for (int64_t c = 0; c < plain->n_cells; c++) scramble_cell(plain, c, &seed, order, size, &s);
    ok(mesh_create(&s.input, &mesh));
    mesh_destroy(&plain);
    for (int g = 0; g < 6; g++) free(s.faces[g]);
    free(s.periodic);
    free(s.map);
    free(s.shapes);
    free(s.vertices);
    free(s.vertex_offsets);
    free(s.node_offsets);
    free(s.nodes);
    return mesh;
}

static const int whole[3] = {0, 0, 0};

#endif
