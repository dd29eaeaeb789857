/* Meshes: topology, frames, volumes, the divergence theorem, refinement, periodicity, location of points, and
 * everything that mesh_create and mesh_create_box must refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"
#include "poly/rule.h"

#define NODES_MAX 1000
static const double pi = 3.14159265358979323846;

/* ------------------------------------------------------------------------------------------ drafts */

typedef void (*map_function)(const double *unit, double *x);

static void identity(const double *u, double *x) {
    x[0] = u[0];
    x[1] = u[1];
}

/* Radii 1 to 2; the angle runs once round over u = 0..1. */
static void ring(const double *u, double *x) {
    double r = 1 + u[1], angle = -2 * pi * u[0];
    x[0] = r * cos(angle);
    x[1] = r * sin(angle);
}

static void wavy(const double *u, double *x) {
    x[0] = 3 * u[0] + 0.1 * sin(pi * u[1]) + 0.05 * u[0] * u[1];
    x[1] = u[1] + 0.08 * sin(2 * pi * u[0]) + 0.1 * u[0] * u[1];
}

enum kind { TRIANGLES, QUADS, MIXED };

/* A mapped nx x ny lattice of the unit square as an input, with numbers, first vertices and turns scrambled
 * by seed. Face groups bottom, top, left, right; cell group half. With `closed` the lines u = 0 and u = 1 are
 * the same vertices. */
struct draft {
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets, *half, *names;
    int32_t *vertices, *sides[4], *numbers;
    double *nodes;
    struct mesh_input_group groups[5];
};

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void draft_cell(struct draft *d, enum shape shape, const int32_t *vertices, const double *corners,
                       map_function map, int shift, int clockwise) {
    int n = shape_n_vertices(shape), order = d->input.order, n_nodes = shape_n_nodes(shape, order);
    int64_t c = d->input.n_cells++, first = d->vertex_offsets[c], first_node = d->node_offsets[c];
    double turned[8], lattice[2 * NODES_MAX], *values = malloc(sizeof(double) * (size_t)(n_nodes * n));
    for (int v = 0; v < n; v++) {
        int from = clockwise ? (shift + n - v) % n : (shift + v) % n;
        d->vertices[first + v] = vertices[from];
        memcpy(turned + 2 * v, corners + 2 * from, 2 * sizeof(double));
    }
    shape_nodes(shape, order, lattice);
    assert_int_equal(basis_lagrange(shape, 1, n_nodes, lattice, values, NULL), FACET_OK);
    for (int i = 0; i < n_nodes; i++) {
        double u[2] = {0, 0};
        for (int v = 0; v < n; v++)
            for (int a = 0; a < 2; a++)
                u[a] += values[i * n + shape_vertex_node(shape, 1, v)] * turned[2 * v + a];
        map(u, d->nodes + 2 * (first_node + i));
    }
    d->shapes[c] = (uint8_t)shape;
    d->names[c] = 1000 + c;
    d->vertex_offsets[c + 1] = first + n;
    d->node_offsets[c + 1] = first_node + n_nodes;
    free(values);
}

static void draft_init(struct draft *d, int nx, int ny, enum kind kind, int order, map_function map,
                       int closed, uint32_t seed) {
    static const char *const names[4] = {"bottom", "top", "left", "right"};
    memset(d, 0, sizeof *d);
    int64_t most = 2 * (int64_t)nx * ny;
    int columns = closed ? nx : nx + 1;
    d->shapes = calloc((size_t)most, 1);
    d->vertex_offsets = calloc((size_t)most + 1, sizeof(int64_t));
    d->node_offsets = calloc((size_t)most + 1, sizeof(int64_t));
    d->half = calloc((size_t)most, sizeof(int64_t));
    d->names = calloc((size_t)most, sizeof(int64_t));
    d->vertices = calloc((size_t)most * 4, sizeof(int32_t));
    d->nodes = calloc((size_t)most * (size_t)((order + 1) * (order + 1)) * 2, sizeof(double));
    d->input = (struct mesh_input){.dim = 2, .order = order, .n_vertices = (int64_t)columns * (ny + 1)};
    d->numbers = calloc((size_t)d->input.n_vertices, sizeof(int32_t));
    for (int32_t i = 0; i < d->input.n_vertices; i++) d->numbers[i] = i;
    for (int32_t i = (int32_t)d->input.n_vertices - 1; seed && i > 0; i--) {
        int32_t j = (int32_t)(next_random(&seed) % (uint32_t)(i + 1)), old = d->numbers[i];
        d->numbers[i] = d->numbers[j];
        d->numbers[j] = old;
    }
    int64_t n_half = 0;
    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++) {
            double x0 = (double)i / nx, x1 = (i + 1.0) / nx, y0 = (double)j / ny, y1 = (j + 1.0) / ny;
            double corners[8] = {x0, y0, x1, y0, x1, y1, x0, y1};
            int right = (i + 1) % columns;
            int32_t v[4] = {d->numbers[j * columns + i], d->numbers[j * columns + right],
                            d->numbers[(j + 1) * columns + right], d->numbers[(j + 1) * columns + i]};
            int whole = kind == QUADS || (kind == MIXED && (i + j) % 2), begin = (int)d->input.n_cells;
            if (whole) {
                int shift = seed ? (int)(next_random(&seed) % 4) : 0;
                draft_cell(d, SHAPE_QUAD, v, corners, map, shift, seed && next_random(&seed) % 2);
            } else {
                int32_t upper[3] = {v[0], v[2], v[3]};
                double upper_corners[6] = {x0, y0, x1, y1, x0, y1};
                draft_cell(d, SHAPE_TRIANGLE, v, corners, map, seed ? (int)(next_random(&seed) % 3) : 0,
                           seed && next_random(&seed) % 2);
                draft_cell(d, SHAPE_TRIANGLE, upper, upper_corners, map,
                           seed ? (int)(next_random(&seed) % 3) : 0, seed && next_random(&seed) % 2);
            }
            for (int c = begin; 2 * i < nx && c < d->input.n_cells; c++) d->half[n_half++] = c;
        }
    int n_groups = 0;
    for (int s = 0; s < (closed ? 2 : 4); s++) {
        int n = s < 2 ? nx : ny;
        d->sides[s] = malloc(sizeof(int32_t) * (size_t)n * SHAPE_MAX_FACE_VERTICES);
        for (int k = 0; k < n; k++) {
            int a = s < 2 ? s * ny * columns + k : k * columns + (s == 3 ? nx : 0);
            int b = s < 2 ? s * ny * columns + (k + 1) % columns : a + columns;
            int32_t face[4] = {d->numbers[a], d->numbers[b], -1, -1};
            memcpy(d->sides[s] + 4 * k, face, sizeof face);
        }
        d->groups[n_groups++] = (struct mesh_input_group){names[s], 1, n, NULL, d->sides[s]};
    }
    d->groups[n_groups++] = (struct mesh_input_group){"half", 2, n_half, d->half, NULL};
    d->input.shapes = d->shapes;
    d->input.vertex_offsets = d->vertex_offsets;
    d->input.node_offsets = d->node_offsets;
    d->input.vertices = d->vertices;
    d->input.nodes = d->nodes;
    d->input.n_groups = n_groups;
    d->input.groups = d->groups;
    d->input.cell_names = d->names;
}

static void draft_free(struct draft *d) {
    free(d->shapes);
    free(d->vertex_offsets);
    free(d->node_offsets);
    free(d->half);
    free(d->names);
    free(d->vertices);
    free(d->nodes);
    free(d->numbers);
    for (int s = 0; s < 4; s++) free(d->sides[s]);
}

static void must(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", base_message());
}

static struct facet_mesh *make(int nx, int ny, enum kind kind, int order, map_function map, int closed,
                               uint32_t seed) {
    struct draft d;
    struct facet_mesh *mesh;
    draft_init(&d, nx, ny, kind, order, map, closed, seed);
    must(mesh_create(&d.input, &mesh));
    draft_free(&d);
    return mesh;
}

static struct facet_mesh *make_box(int dim, const char *shape, const char *split, int nx, int ny, int px,
                                   int py) {
    facet_box box = {.size = sizeof(facet_box),
                     .dim = dim,
                     .lower = {-1, 0.5, 0},
                     .upper = {2, 1.75, 1},
                     .cells = {nx, ny, 2},
                     .shape = shape,
                     .split = split,
                     .periodic = {px, py, 0}};
    struct facet_mesh *mesh;
    must(mesh_create_box(&box, &mesh));
    must(mesh_need_lists(mesh));
    return mesh;
}

/* ------------------------------------------------------------------------------------------ invariants */

/* Lagrange tables at one point; the same few points come again and again. */
struct table {
    enum shape shape;
    int order;
    double xi[3], values[NODES_MAX], gradients[3 * NODES_MAX];
};

static const struct table *table_at(enum shape shape, int order, const double *xi) {
    enum { N = 256 };
    static struct table tables[N];
    static int used, oldest;
    size_t bytes = sizeof(double) * (size_t)shape_dim(shape);
    for (int i = 0; i < used; i++)
        if (tables[i].shape == shape && tables[i].order == order && memcmp(tables[i].xi, xi, bytes) == 0)
            return &tables[i];
    struct table *table = &tables[used < N ? used++ : oldest++ % N];
    table->shape = shape;
    table->order = order;
    memcpy(table->xi, xi, bytes);
    must(basis_lagrange(shape, order, 1, xi, table->values, table->gradients));
    return table;
}

/* The image of xi, and J, in a cell. */
static void map_point(const struct facet_mesh *mesh, int32_t cell, const double *xi, double *x, double *J) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const struct table *table = table_at(block->shape, mesh->order, xi);
    mesh_cell_map(block, mesh->dim, cell - block->first, 1, table->values, table->gradients, x, J);
}

/* Both sides of every face see the same point; across periodic faces up to one translation. */
static void check_frames(const struct facet_mesh *mesh) {
    static const double s[4][2] = {{0, 0}, {1, 0}, {0.3, 0.2}, {0.15, 0.7}};
    int32_t n_boundary = 0, next = 0;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        double shift[3] = {0};
        if (mesh->face_cells[2 * f + 1] < 0) n_boundary++;
        for (int k = 0; k < 4; k++) {
            double x[2][3] = {{0}}, xi[3], J[9];
            for (int side = 0; side < 2; side++) {
                int32_t cell = mesh->face_cells[2 * f + side];
                if (cell < 0) continue;
                const struct mesh_block *block = mesh_block_of(mesh, cell);
                int local = mesh->face_locals[2 * f + side];
                int64_t at = (int64_t)(cell - block->first) * shape_n_faces(block->shape) + local;
                assert_int_equal(block->faces[at], f);
                assert_int_equal(mesh->face_shapes[f], shape_face_shape(block->shape, local));
                shape_face_point(block->shape, local, block->orientations[at], s[k], xi);
                map_point(mesh, cell, xi, x[side], J);
            }
            if (mesh->face_cells[2 * f + 1] < 0) continue;
            for (int a = 0; a < mesh->dim; a++) {
                if (k == 0) shift[a] = x[1][a] - x[0][a];
                assert_true(fabs(x[1][a] - x[0][a] - shift[a]) < 1e-13);
            }
        }
    }
    assert_int_equal(n_boundary, mesh->n_boundary_faces);
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        for (int64_t i = 0; i < (int64_t)block->count * shape_n_faces(block->shape); i++) {
            assert_true(block->faces[i] <= next);
            next += block->faces[i] == next;
        }
    }
    assert_int_equal(next, mesh->n_faces);
}

/* Per cell: the integral of n over the boundary vanishes, that of x.n is 2 |cell|. Returns the sum of |cell|,
 * once by det J and once by x.n. */
static double check_divergence(const struct facet_mesh *mesh) {
    struct rule line = {0}, area = {0};
    double total = 0;
    must(rule_create(SHAPE_SEGMENT, 2 * mesh->order, &line));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        must(rule_create(block->shape, 2 * mesh->order, &area));
        for (int32_t c = 0; c < block->count; c++) {
            double n_sum[2] = {0}, xn = 0, volume = 0, x[2], J[4], xi[2];
            for (int p = 0; p < area.n; p++) {
                map_point(mesh, block->first + c, area.x + 2 * p, x, J);
                assert_true(J[0] * J[3] - J[1] * J[2] > 0);
                volume += area.w[p] * (J[0] * J[3] - J[1] * J[2]);
            }
            for (int f = 0; f < shape_n_faces(block->shape); f++)
                for (int p = 0; p < line.n; p++) {
                    double ends[2][2], zero = 0, one = 1, t[2];
                    shape_face_point(block->shape, f, 0, &zero, ends[0]);
                    shape_face_point(block->shape, f, 0, &one, ends[1]);
                    shape_face_point(block->shape, f, 0, line.x + p, xi);
                    map_point(mesh, block->first + c, xi, x, J);
                    for (int a = 0; a < 2; a++)
                        t[a] =
                            J[2 * a] * (ends[1][0] - ends[0][0]) + J[2 * a + 1] * (ends[1][1] - ends[0][1]);
                    n_sum[0] += line.w[p] * t[1];
                    n_sum[1] -= line.w[p] * t[0];
                    xn += line.w[p] * (x[0] * t[1] - x[1] * t[0]);
                }
            assert_true(fabs(n_sum[0]) + fabs(n_sum[1]) < 1e-12);
            assert_true(fabs(xn - 2 * volume) < 1e-12);
            total += volume;
        }
        rule_destroy(&area);
    }
    rule_destroy(&line);
    return total;
}

static double volume_of(const struct facet_mesh *mesh) {
    struct mesh_quality quality;
    must(mesh_measure_quality(mesh, &quality));
    return quality.volume;
}

static int32_t group_count(const struct facet_mesh *mesh, const char *name, int dim) {
    const struct mesh_group *group = mesh_find_group(mesh, name, dim);
    if (!group) fail_msg("no group %s", name);
    for (int32_t i = 1; i < group->count; i++) assert_true(group->ids[i - 1] < group->ids[i]);
    return group->count;
}

/* ------------------------------------------------------------------------------------------ boxes */

static void test_box(void **state) {
    (void)state;
    static const char *const shapes[4] = {"quad", "triangle", "triangle", "triangle"};
    static const char *const splits[4] = {NULL, "right", "left", "alternating"};
    for (int k = 0; k < 4; k++) {
        struct facet_mesh *mesh = make_box(2, shapes[k], splits[k], 5, 4, 0, 0);
        assert_int_equal(mesh->n_vertices - mesh->n_faces + mesh->n_cells, 1);
        assert_int_equal(mesh->n_cells, k ? 40 : 20);
        assert_int_equal(mesh->n_boundary_faces, 18);
        assert_string_equal(mesh->shape_text, shapes[k]);
        assert_int_equal(group_count(mesh, "xmin", 1), 4);
        assert_int_equal(group_count(mesh, "ymax", 1), 5);
        assert_null(mesh_find_group(mesh, "xmin", 2));
        char names[64];
        mesh_group_names(mesh, 1, names, sizeof names);
        assert_string_equal(names, "xmin, xmax, ymin, ymax");
        mesh_group_names(mesh, 2, names, sizeof names);
        assert_string_equal(names, "none");
        check_frames(mesh);
        assert_true(fabs(check_divergence(mesh) - 3.75) < 1e-13);
        assert_true(fabs(volume_of(mesh) - 3.75) < 1e-13);
        mesh_destroy(&mesh);
        assert_null(mesh);
    }
}

/* The documented vertex order of the right split, and its points. */
/* Points mapped from a side of a box lie in its plane exactly, also after refinement: data defined up to the
 * side (sqrt(x), sqrt(1 - x)) can be taken there. */
static void test_sides_are_planes(void **state) {
    (void)state;
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    for (int k = 0; k < 4; k++) {
        facet_box box = {.size = sizeof(facet_box),
                         .dim = k < 2 ? 2 : 3,
                         .upper = {1, 0.7, 0.3},
                         .cells = {3, 3, 2},
                         .shape = shapes[k]};
        struct facet_mesh *mesh, *fine;
        must(mesh_create_box(&box, &mesh));
        must(mesh_need_lists(mesh));
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        for (int32_t f = 0; f < fine->n_faces; f++) {
            if (fine->face_cells[2 * f + 1] >= 0) continue;
            int32_t cell = fine->face_cells[2 * f];
            const struct mesh_block *block = mesh_block_of(fine, cell);
            for (int i = 0; i < 20; i++) {
                double s[2] = {0.04 * i + 0.013, 0.21 - 0.01 * i}, xi[3], x[3], J[9];
                shape_face_point(block->shape, fine->face_locals[2 * f], i % 2, s, xi);
                map_point(fine, cell, xi, x, J);
                int on = 0;
                for (int a = 0; a < box.dim; a++) on += x[a] == 0 || x[a] == box.upper[a];
                assert_int_equal(on, 1);
            }
        }
        mesh_destroy(&mesh);
        mesh_destroy(&fine);
    }
}

static void test_box_right_split(void **state) {
    (void)state;
    facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {1, 1}, .shape = "triangle"};
    struct facet_mesh *mesh;
    must(mesh_create_box(&box, &mesh));
    must(mesh_need_lists(mesh));
    static const int32_t expected[6] = {0, 1, 3, 0, 3, 2};
    assert_memory_equal(mesh->blocks[0].vertices, expected, sizeof expected);
    static const double nodes[12] = {0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1};
    assert_memory_equal(mesh->blocks[0].nodes, nodes, sizeof nodes);
    mesh_destroy(&mesh);
}

static void test_graded_box(void **state) {
    (void)state;
    const double x[4] = {0, 0.1, 0.5, 2}, y[3] = {-1, 0, 1e-9};
    facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .cells = {3, 2}, .coordinates = {x, y}, .shape = "quad"};
    struct facet_mesh *mesh;
    struct mesh_quality quality;
    must(mesh_create_box(&box, &mesh));
    must(mesh_need_lists(mesh));
    must(mesh_measure_quality(mesh, &quality));
    assert_true(fabs(quality.volume - 2 * (1 + 1e-9)) < 1e-14);
    assert_true(quality.lower[1] == -1 && quality.upper[0] == 2);
    mesh_destroy(&mesh);
}

/* On a torus V - E + C = 0 with the vertices of a lattice that closes; faces are merged, down to one cell
 * that is its own neighbour in both directions. */
static void test_periodic(void **state) {
    (void)state;
    for (int triangles = 0; triangles < 2; triangles++)
        for (int nx = 1; nx <= 3; nx++)
            for (int ny = 1; ny <= 3; ny += 2)
                for (int which = 1; which < 4; which++) {
                    struct facet_mesh *mesh =
                        make_box(2, triangles ? "triangle" : "quad", NULL, nx, ny, which & 1, which & 2);
                    for (int level = 0; level < 2; level++) {
                        int mx = nx << level, my = ny << level, n_boundary = 0;
                        if (!(which & 1)) n_boundary += 2 * my;
                        if (!(which & 2)) n_boundary += 2 * mx;
                        assert_int_equal(mesh->n_boundary_faces, n_boundary);
                        assert_int_equal(mesh->n_faces, ((2 + triangles) * mx * my) + n_boundary / 2);
                        assert_int_equal(mesh->n_groups, which == 3 ? 0 : 2);
                        check_frames(mesh);
                        struct facet_mesh *fine;
                        must(mesh_refine(mesh, &fine));
                        must(mesh_need_lists(fine));
                        mesh_destroy(&mesh);
                        mesh = fine;
                    }
                    mesh_destroy(&mesh);
                }
}

/* A box of quads or hexes knows what it is, also refined: every brick is one cell, whose local axes are those
 * of the box. Simplices and others are no boxes. */
static void test_remembered_box(void **state) {
    static const double graded[4] = {-1, 0, 0.5, 3};
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int times = 0; times < 3; times++) {
            facet_box box = {.size = sizeof(facet_box),
                             .dim = dim,
                             .upper = {0, 2, 1},
                             .cells = {3, 2, 1},
                             .shape = dim == 2 ? "quad" : "hex",
                             .coordinates = {graded},
                             .periodic = {0, 1, 0}};
            struct facet_mesh *mesh, *fine;
            assert_int_equal(mesh_create_box(&box, &mesh), FACET_OK);
            must(mesh_need_lists(mesh));
            for (int k = 0; k < times; k++) {
                assert_int_equal(mesh_refine(mesh, &fine), FACET_OK);
                must(mesh_need_lists(fine));
                mesh_destroy(&mesh);
                mesh = fine;
            }
            int seen[12 * 8 * 4] = {0};
            for (int a = 0; a < dim; a++) assert_int_equal(mesh->box.cells[a], box.cells[a] << times);
            assert_true(!mesh->box.periodic[0] && mesh->box.periodic[1] && !mesh->box.periodic[2]);
            for (int32_t c = 0; c < mesh->n_cells; c++) {
                int at[3];
                const double *low = mesh_cell_nodes(mesh, c);
                const double *high = low + ((1 << dim) - 1) * dim;
                mesh_box_index(mesh, c, at);
                for (int a = 0; a < dim; a++) {
                    assert_float_equal(low[a], mesh->box.coordinates[a][at[a]], 1e-14);
                    assert_float_equal(high[a], mesh->box.coordinates[a][at[a] + 1], 1e-14);
                }
                assert_int_equal(seen[(at[2] * mesh->box.cells[1] + at[1]) * mesh->box.cells[0] + at[0]]++,
                                 0);
            }
            mesh_destroy(&mesh);
        }
    facet_box simplices = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "triangle"};
    struct facet_mesh *mesh;
    assert_int_equal(mesh_create_box(&simplices, &mesh), FACET_OK);
    must(mesh_need_lists(mesh));
    assert_int_equal(mesh->box.cells[0], 0);
    mesh_destroy(&mesh);
}

static void test_box_3d(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct facet_mesh *mesh = make_box(3, k % 2 ? "tet" : "hex", NULL, 3, 1, k / 2, k / 2);
        struct facet_mesh *fine;
        check_frames(mesh);
        assert_true(fabs(volume_of(mesh) - 3.75) < 1e-13);
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        check_frames(fine);
        assert_int_equal(fine->n_cells, 8 * mesh->n_cells);
        assert_int_equal(fine->n_boundary_faces, 4 * mesh->n_boundary_faces);
        assert_int_equal(group_count(fine, "zmax", 2), 4 * group_count(mesh, "zmax", 2));
        assert_true(fabs(volume_of(fine) - 3.75) < 1e-13);
        mesh_destroy(&fine);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ mapped meshes */

static void test_scrambled(void **state) {
    (void)state;
    for (enum kind kind = TRIANGLES; kind <= MIXED; kind++)
        for (int order = 1; order <= 4; order++)
            for (int closed = 0; closed < 2; closed++) {
                struct facet_mesh *mesh =
                    make(12, 3, kind, order, closed ? ring : wavy, closed, 17 + (uint32_t)order);
                assert_int_equal(mesh->n_vertices - mesh->n_faces + mesh->n_cells, closed ? 0 : 1);
                assert_int_equal(mesh->n_boundary_faces, closed ? 24 : 30);
                assert_string_equal(mesh->shape_text, kind == TRIANGLES ? "triangle"
                                                      : kind == QUADS   ? "quad"
                                                                        : "triangle+quad");
                check_frames(mesh);
                double volume = check_divergence(mesh);
                assert_true(fabs(volume - volume_of(mesh)) < 1e-12);
                struct facet_mesh *fine;
                must(mesh_refine(mesh, &fine));
                must(mesh_need_lists(fine));
                check_frames(fine);
                assert_true(fabs(volume - check_divergence(fine)) < 1e-12);
                assert_int_equal(fine->n_cells, 4 * mesh->n_cells);
                assert_int_equal(group_count(fine, "bottom", 1), 24);
                assert_int_equal(group_count(fine, "half", 2), 4 * group_count(mesh, "half", 2));
                assert_int_equal(fine->n_vertices - fine->n_faces + fine->n_cells, closed ? 0 : 1);
                mesh_destroy(&fine);
                mesh_destroy(&mesh);
            }
}

/* Faces of groups lie where they should, also after refinement. */
static void test_groups_in_place(void **state) {
    (void)state;
    struct facet_mesh *mesh = make(8, 3, MIXED, 3, ring, 1, 5), *fine;
    must(mesh_refine(mesh, &fine));
    must(mesh_need_lists(fine));
    const struct mesh_group *top = mesh_find_group(fine, "top", 1);
    for (int32_t i = 0; i < top->count; i++) {
        int32_t f = top->ids[i], cell = fine->face_cells[2 * f];
        assert_int_equal(fine->face_cells[2 * f + 1], -1);
        double s = 0.4, xi[2], x[2], J[4];
        shape_face_point(mesh_block_of(fine, cell)->shape, fine->face_locals[2 * f], 0, &s, xi);
        map_point(fine, cell, xi, x, J);
        assert_true(fabs(hypot(x[0], x[1]) - 2) < 1e-2);
    }
    mesh_destroy(&fine);
    mesh_destroy(&mesh);
}

/* The area 3 pi of the ring converges with at least order g + 1. */
static void test_ring_area(void **state) {
    (void)state;
    for (enum kind kind = TRIANGLES; kind <= MIXED; kind++)
        for (int order = 1; order <= 3; order++) {
            double error[2];
            for (int k = 0; k < 2; k++) {
                struct facet_mesh *mesh = make(12 << k, 2 << k, kind, order, ring, 1, 3);
                error[k] = fabs(volume_of(mesh) - 3 * pi);
                mesh_destroy(&mesh);
            }
            assert_true(error[1] < 1.2 * error[0] * pow(2, -order - 1));
        }
}

static void test_high_order(void **state) {
    (void)state;
    for (int order = 5; order <= MESH_MAX_ORDER; order += 2) {
        struct facet_mesh *mesh = make(8, 2, MIXED, order, ring, 1, 11), *fine;
        check_frames(mesh);
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        check_frames(fine);
        assert_true(fabs(volume_of(fine) - volume_of(mesh)) < 1e-11);
        assert_true(fabs(volume_of(mesh) - 3 * pi) < 1e-3);
        mesh_destroy(&fine);
        mesh_destroy(&mesh);
    }
}

/* Refining a box gives the finer box, cell by cell. */
static void test_refined_box(void **state) {
    (void)state;
    for (int triangles = 0; triangles < 2; triangles++) {
        const char *shape = triangles ? "triangle" : "quad";
        struct facet_mesh *coarse = make_box(2, shape, NULL, 3, 5, 0, 0), *fine;
        struct facet_mesh *box = make_box(2, shape, NULL, 6, 10, 0, 0);
        struct mesh_locator *locator;
        must(mesh_refine(coarse, &fine));
        must(mesh_need_lists(fine));
        must(mesh_locator_create(box, &locator));
        int n = fine->blocks[0].n_nodes;
        for (int32_t c = 0; c < fine->n_cells; c++) {
            double center[2] = {0}, xi[2];
            int32_t other;
            const double *x = fine->blocks[0].nodes + (int64_t)c * n * 2;
            for (int i = 0; i < n; i++)
                for (int a = 0; a < 2; a++) center[a] += x[2 * i + a] / n;
            must(mesh_locate(locator, center, &other, xi));
            const double *y = box->blocks[0].nodes + (int64_t)other * n * 2;
            for (int i = 0; i < n; i++) {
                double nearest = INFINITY;
                for (int j = 0; j < n; j++)
                    nearest = fmin(nearest, fabs(x[2 * i] - y[2 * j]) + fabs(x[2 * i + 1] - y[2 * j + 1]));
                assert_true(nearest < 1e-15);
            }
        }
        mesh_locator_destroy(&locator);
        mesh_destroy(&coarse);
        mesh_destroy(&fine);
        mesh_destroy(&box);
    }
}

/* ------------------------------------------------------------------------------------------ location and
 * quality */

/* Too many cells are refused before anything is allocated; what is predicted is what is taken. */
static void test_sizes(void **state) {
    (void)state;
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    for (int k = 0; k < 4; k++) {
        facet_box box = {.size = sizeof(facet_box),
                         .dim = k < 2 ? 2 : 3,
                         .upper = {1, 1, 1},
                         .cells = {10, 10, 10},
                         .shape = shapes[k]};
        struct facet_mesh *mesh, *fine;
        struct base_memory before, after;
        must(mesh_create_box(&box, &mesh));
        must(mesh_need_lists(mesh));
        base_memory_read(&before);
        assert_int_equal(facet_mesh_refine(mesh, 100), FACET_ERROR_INPUT);
        assert_non_null(strstr(facet_message(), "100 times"));
        assert_int_equal(facet_mesh_refine(mesh, INT32_MAX), FACET_ERROR_INPUT);
        assert_int_equal(mesh_check_refinement(mesh, 0), FACET_OK);
        int most = 0;
        while (mesh_check_refinement(mesh, most + 1) != FACET_ERROR_INPUT) most++;
        assert_true(ldexp(mesh->n_cells, most * box.dim) <= MESH_MAX_CELLS);
        assert_true(ldexp(mesh->n_cells, (most + 1) * box.dim) > MESH_MAX_CELLS);
        base_memory_read(&after);
        assert_int_equal(after.allocations, before.allocations);
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        base_memory_read(&after);
        double predicted = fine->n_cells * mesh_bytes_per_cell(fine->blocks[0].shape, 1);
        assert_true((double)(after.live_bytes - before.live_bytes) < predicted);
        assert_true((double)(after.live_bytes - before.live_bytes) > predicted / 6);
        mesh_destroy(&mesh);
        mesh_destroy(&fine);
    }
    facet_box huge = {
        .size = sizeof(facet_box), .dim = 3, .upper = {1, 1, 1}, .cells = {600, 600, 600}, .shape = "hex"};
    struct facet_mesh *mesh;
    if (base_available_bytes() < 200000000000) {
        must(mesh_create_box(&huge, &mesh));
        assert_int_equal(mesh_need_lists(mesh), FACET_ERROR_MACHINE);
        assert_non_null(strstr(facet_message(), "216000000 cells"));
        mesh_destroy(&mesh);
    }
}

static void test_locate(void **state) {
    (void)state;
    for (enum kind kind = TRIANGLES; kind <= MIXED; kind++)
        for (int order = 1; order <= 3; order++)
            for (int closed = 0; closed < 2; closed++) {
                struct facet_mesh *mesh = make(10, 4, kind, order, closed ? ring : wavy, closed, 23);
                struct mesh_locator *locator, *without_tree;
                must(mesh_locator_create(mesh, &locator));
                must(mesh_locator_create_for(mesh, 1, &without_tree));
                assert_non_null(locator);
                static const double at[7][2] = {{0, 0},   {1, 0},     {0, 1},    {0.5, 0},
                                                {0, 0.5}, {0.2, 0.3}, {0.7, 0.1}};
                for (int32_t c = 0; c < mesh->n_cells; c++)
                    for (int k = 0; k < 7; k++) {
                        double x[2], y[2], J[4], xi[2];
                        int32_t found;
                        map_point(mesh, c, at[k], x, J);
                        must(mesh_locate(locator, x, &found, xi));
                        assert_true(found >= 0);
                        if (k >= 5) assert_int_equal(found, c);
                        must(mesh_locate(without_tree, x, &found, xi));
                        assert_true(k >= 5 ? found == c : found >= 0);
                        map_point(mesh, found, xi, y, J);
                        assert_true(hypot(x[0] - y[0], x[1] - y[1]) < 1e-13);
                    }
                double far[2] = {40, 0}, hole[2] = {0, 0}, broken[2] = {NAN, 0}, xi[2];
                int32_t found;
                must(mesh_locate(locator, far, &found, xi));
                assert_int_equal(found, -1);
                must(mesh_locate(without_tree, far, &found, xi));
                assert_int_equal(found, -1);
                must(mesh_locate(locator, hole, &found, xi));
                if (closed) assert_int_equal(found, -1);
                assert_int_equal(mesh_locate(locator, broken, &found, xi), FACET_ERROR_INPUT);
                mesh_locator_destroy(&locator);
                mesh_locator_destroy(&without_tree);
                mesh_destroy(&mesh);
            }
}

/* Two triangles round 2.5 rad. */
static void thin_ring(const double *u, double *x) {
    double r = 1.3710756836095992 + 0.2040144365227772 * u[0], angle = 2.5065 * u[1];
    x[0] = r * cos(angle);
    x[1] = r * sin(angle);
}

/* Where Newton from the middle and from the nearest node of a cell goes astray. */
static void test_locate_in_strongly_curved_cells(void **state) {
    (void)state;
    enum { N = 250 };
    struct facet_mesh *mesh = make(1, 1, TRIANGLES, 2, thin_ring, 0, 0);
    struct mesh_locator *locator;
    must(mesh_locator_create(mesh, &locator));
    for (int32_t c = 0; c < mesh->n_cells; c++)
        for (int i = 0; i <= N; i++)
            for (int j = 0; i + j <= N; j++) {
                const double at[2] = {(double)i / N, (double)j / N};
                double x[2], y[2], J[4], xi[2];
                int32_t found;
                map_point(mesh, c, at, x, J);
                must(mesh_locate(locator, x, &found, xi));
                assert_true(found >= 0);
                map_point(mesh, found, xi, y, J);
                assert_true(hypot(x[0] - y[0], x[1] - y[1]) < 1e-12);
            }
    mesh_locator_destroy(&locator);
    mesh_destroy(&mesh);
}

/* Cells so thin that their height is a few roundings of the coordinates. */
static void test_locate_in_thin_cells(void **state) {
    (void)state;
    const double y[5] = {1, 1 + 1e-11, 1 + 3e-11, 1 + 1e-10, 2};
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {1, 1},
                     .cells = {5, 4},
                     .coordinates = {NULL, y},
                     .shape = "triangle"};
    struct facet_mesh *mesh;
    struct mesh_locator *locator;
    must(mesh_create_box(&box, &mesh));
    must(mesh_need_lists(mesh));
    must(mesh_locator_create(mesh, &locator));
    for (int i = 0; i <= 50; i++)
        for (int j = 0; j < 5; j++) {
            double x[2] = {i / 50.0, y[j]}, xi[2];
            int32_t cell;
            must(mesh_locate(locator, x, &cell, xi));
            assert_true(cell >= 0);
        }
    mesh_locator_destroy(&locator);
    mesh_destroy(&mesh);
}

static void test_quality(void **state) {
    (void)state;
    struct mesh_quality quality;
    struct facet_mesh *mesh = make_box(2, "triangle", NULL, 3, 5, 0, 0);
    must(mesh_measure_quality(mesh, &quality));
    assert_true(quality.smallest_jacobian == 1 && quality.n_curved == 0);
    assert_true(fabs(quality.largest_diameter - hypot(1, 0.25)) < 1e-14);
    mesh_destroy(&mesh);
    mesh = make(12, 3, QUADS, 2, identity, 0, 0);
    must(mesh_measure_quality(mesh, &quality));
    assert_int_equal(quality.n_curved, 0);
    assert_true(mesh->blocks[0].affine[0]);
    mesh_destroy(&mesh);
    mesh = make(12, 3, QUADS, 2, ring, 1, 0);
    must(mesh_measure_quality(mesh, &quality));
    assert_int_equal(quality.n_curved, 36);
    assert_true(quality.smallest_jacobian > 0.5 && quality.smallest_jacobian < 0.99);
    mesh_destroy(&mesh);
}

/* A vertex with very many cells. */
static void test_fan(void **state) {
    (void)state;
    struct facet_mesh *mesh = make(3, 1, TRIANGLES, 1, identity, 0, 0);
    mesh_destroy(&mesh);
    enum { N = 3000 };
    struct mesh_input input = {.dim = 2, .order = 1, .n_vertices = N + 1, .n_cells = N};
    static uint8_t shapes[N];
    static int64_t offsets[N + 1];
    static int32_t vertices[3 * N];
    static double nodes[6 * N];
    for (int i = 0; i < N; i++) {
        int32_t v[3] = {0, i + 1, (i + 1) % N + 1};
        shapes[i] = SHAPE_TRIANGLE;
        offsets[i + 1] = 3 * (i + 1);
        memcpy(vertices + 3 * i, v, sizeof v);
        for (int k = 1; k < 3; k++) {
            nodes[6 * i + 2 * k] = cos(2 * pi * v[k] / N);
            nodes[6 * i + 2 * k + 1] = sin(2 * pi * v[k] / N);
        }
    }
    input.shapes = shapes;
    input.vertex_offsets = input.node_offsets = offsets;
    input.vertices = vertices;
    input.nodes = nodes;
    must(mesh_create(&input, &mesh));
    assert_int_equal(mesh->n_faces, 2 * N);
    assert_true(fabs(volume_of(mesh) - N / 2.0 * sin(2 * pi / N)) < 1e-12);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ threads */

static void same_lists(const struct facet_mesh *a, const struct facet_mesh *b) {
    size_t n_sides = (size_t)a->blocks[0].count * (size_t)shape_n_faces(a->blocks[0].shape);
    size_t n_faces = (size_t)a->n_faces;
    assert_int_equal(a->n_faces, b->n_faces);
    assert_int_equal(a->n_boundary_faces, b->n_boundary_faces);
    assert_memory_equal(a->blocks[0].faces, b->blocks[0].faces, n_sides * sizeof *a->blocks[0].faces);
    assert_memory_equal(a->blocks[0].orientations, b->blocks[0].orientations, n_sides);
    assert_memory_equal(a->face_cells, b->face_cells, 2 * n_faces * sizeof *a->face_cells);
    assert_memory_equal(a->face_locals, b->face_locals, 2 * n_faces);
}

/* Faces have the numbers of their first appearance, whoever finds them. */
static void test_numbers_do_not_depend_on_threads(void **state) {
    (void)state;
    static const int counts[] = {2, 3, 7};
    for (int periodic = 0; periodic < 2; periodic++) {
        base_set_threads(1);
        struct facet_mesh *one = make_box(3, "tet", "six", 60, 40, periodic, 0);
        check_frames(one);
        for (int i = 0; i < 3; i++) {
            base_set_threads(counts[i]);
            struct facet_mesh *many = make_box(3, "tet", "six", 60, 40, periodic, 0);
            same_lists(one, many);
            mesh_destroy(&many);
        }
        mesh_destroy(&one);
    }
    base_set_threads(0);
}

/* Many keys, each several times, and what is found by them afterwards. */
static void test_sets_are_filled_at_once(void **state) {
    (void)state;
    enum { N = 90000, STRIDE = 4 };
    struct tuple_set one, many;
    uint32_t seed = 5;
    int32_t *keys = malloc(N * STRIDE * sizeof *keys), *numbers = malloc(N * sizeof *numbers),
            *firsts = malloc(N * sizeof *firsts);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < STRIDE; k++)
            keys[i * STRIDE + k] = k < 2 ? (int32_t)(next_random(&seed) % 120) : k;
    base_set_threads(3);
    must(tuple_set_init(&one, STRIDE, N));
    must(tuple_set_init(&many, STRIDE, N));
    must(tuple_set_fill(&many, N, keys, numbers, firsts));
    for (int i = 0; i < N; i++) {
        int32_t known = one.count, number = tuple_set_add(&one, keys + i * STRIDE);
        assert_int_equal(numbers[i], number);
        assert_int_equal(tuple_set_find(&many, keys + i * STRIDE), number);
        if (number == known) assert_int_equal(firsts[number], i);
    }
    assert_int_equal(one.count, many.count);
    assert_true(many.region < many.mask); /* by threads */
    assert_memory_equal(one.keys, many.keys, (size_t)one.count * STRIDE * sizeof *keys);
    keys[0] = -7;
    assert_int_equal(tuple_set_find(&many, keys), -1);
    tuple_set_free(&one);
    tuple_set_free(&many);
    free(keys);
    free(numbers);
    free(firsts);
    base_set_threads(0);
}

/* ------------------------------------------------------------------------------------------ refusals */

static void refused(const struct mesh_input *input, const char *text) {
    struct base_memory before, after;
    struct facet_mesh *mesh = (void *)1;
    base_memory_read(&before);
    assert_int_equal(mesh_create(input, &mesh), FACET_ERROR_INPUT);
    assert_null(mesh);
    base_memory_read(&after);
    assert_int_equal(before.live_blocks, after.live_blocks);
    if (!strstr(base_message(), text)) fail_msg("'%s' is not in: %s", text, base_message());
}

static void test_refuse_form(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    struct mesh_input input = d.input;
    input.n_cells = 0;
    refused(&input, "no cells");
    input = d.input;
    input.order = 10;
    refused(&input, "order 10");
    input = d.input;
    input.dim = 4;
    refused(&input, "dimension");
    d.shapes[2] = SHAPE_TET;
    refused(&d.input, "cell 2 (Gmsh element 1002)");
    d.shapes[2] = SHAPE_TRIANGLE;
    refused(&d.input, "number of vertices");
    d.shapes[2] = 77;
    refused(&d.input, "unknown shape");
    d.shapes[2] = SHAPE_QUAD;
    int32_t old = d.vertices[5];
    d.vertices[5] = 99;
    refused(&d.input, "vertex");
    d.vertices[5] = old;
    d.groups[0].dim = 0;
    refused(&d.input, "group 'bottom'");
    draft_free(&d);
}

static void test_refuse_cells(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    double *nodes = d.nodes + 8 * 4, saved[8];
    memcpy(saved, nodes, sizeof saved);
    nodes[3] = NAN;
    refused(&d.input, "cell 4 (Gmsh element 1004)");
    refused(&d.input, "not finite");
    memcpy(nodes, saved, sizeof saved);
    for (int i = 0; i < 8; i++) nodes[i] *= 1e150;
    refused(&d.input, "too large");
    memcpy(nodes, saved, sizeof saved);
    for (int i = 0; i < 4; i++) nodes[2 * i + 1] = 0.5;
    refused(&d.input, "degenerate");
    memcpy(nodes, saved, sizeof saved);
    memcpy(nodes, saved + 2, 2 * sizeof(double));
    memcpy(nodes + 2, saved, 2 * sizeof(double)); /* an hourglass */
    refused(&d.input, "inverted");
    memcpy(nodes, saved, sizeof saved);
    int32_t old = d.vertices[17];
    d.vertices[17] = d.vertices[16];
    refused(&d.input, "same vertex twice");
    d.vertices[17] = old;
    draft_free(&d);
    draft_init(&d, 3, 2, TRIANGLES, 2, identity, 0, 0);
    d.nodes[2] += 0.4; /* the middle of an edge runs past its end */
    refused(&d.input, "cell 0 (Gmsh element 1000) is inverted");
    draft_free(&d);
    draft_init(&d, 4, 4, QUADS, 1, identity, 0, 0);
    for (int i = 0; i < 16 * 8; i++) d.nodes[i] = 0;
    refused(&d.input, "and 6 more");
    draft_free(&d);
}

static void test_refuse_topology(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, TRIANGLES, 1, identity, 0, 0);
    memcpy(d.vertices + 6, d.vertices + 3, 3 * sizeof(int32_t));
    memcpy(d.nodes + 12, d.nodes + 6, 6 * sizeof(double));
    refused(&d.input, "the same cell twice");
    draft_free(&d);
    /* Three triangles on the edge 0-1. */
    static uint8_t shapes[3] = {SHAPE_TRIANGLE, SHAPE_TRIANGLE, SHAPE_TRIANGLE};
    static int64_t offsets[4] = {0, 3, 6, 9};
    static int32_t vertices[9] = {0, 1, 2, 1, 0, 3, 0, 1, 4};
    static double nodes[18] = {0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, -1, 0, 0, 1, 0, 1, 2};
    struct mesh_input input = {.dim = 2,
                               .order = 1,
                               .n_vertices = 5,
                               .n_cells = 3,
                               .shapes = shapes,
                               .vertex_offsets = offsets,
                               .node_offsets = offsets,
                               .vertices = vertices,
                               .nodes = nodes};
    refused(&input, "shared by more than two cells");
    /* Two triangles on the same side of an edge. */
    memcpy(vertices + 3, vertices + 6, 3 * sizeof(int32_t));
    memcpy(nodes + 6, nodes + 12, 6 * sizeof(double));
    input.n_cells = 2;
    refused(&input, "overlap");
}

static void test_refuse_groups(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    d.sides[1][1] = d.sides[0][0];
    refused(&d.input, "dangling");
    refused(&d.input, "'top'");
    draft_free(&d);
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    d.half[0] = 6;
    refused(&d.input, "names cell 6");
    draft_free(&d);
}

static void test_refuse_periodic(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    int32_t pairs[16] = {0, 4, -1, -1, 3, 7, -1, -1, 4, 8, -1, -1, 7, 11, -1, -1};
    d.input.n_periodic = 2;
    d.input.periodic = pairs;
    struct facet_mesh *mesh;
    must(mesh_create(&d.input, &mesh));
    assert_int_equal(mesh->n_boundary_faces, 6);
    check_frames(mesh);
    mesh_destroy(&mesh);
    pairs[12] = 0;
    refused(&d.input, "no face of the mesh");
    pairs[12] = 3;
    pairs[13] = 7;
    refused(&d.input, "not free");
    pairs[12] = 1;
    pairs[13] = 5;
    refused(&d.input, "not free");
    pairs[12] = 2; /* a side of length 1/3 cannot be the partner of one of length 1/2 */
    pairs[13] = 3;
    refused(&d.input, "differ in size or shape");
    draft_free(&d);
}

/* Two strips, the upper with `upper` cells, whose vertices along y = 1 are not those of the lower. */
static void strips(struct draft *lower, struct draft *upper, struct mesh_input *input, double lift) {
    static uint8_t shapes[64];
    static int64_t vertex_offsets[65], node_offsets[65];
    static int32_t vertices[256];
    static double nodes[2 * 64 * 16];
    int64_t n = lower->input.n_cells, m = upper->input.n_cells;
    memcpy(shapes, lower->shapes, (size_t)n);
    memcpy(shapes + n, upper->shapes, (size_t)m);
    for (int64_t i = 0; i <= n; i++) {
        vertex_offsets[i] = lower->vertex_offsets[i];
        node_offsets[i] = lower->node_offsets[i];
    }
    for (int64_t i = 0; i <= m; i++) {
        vertex_offsets[n + i] = vertex_offsets[n] + upper->vertex_offsets[i];
        node_offsets[n + i] = node_offsets[n] + upper->node_offsets[i];
    }
    for (int64_t i = 0; i < vertex_offsets[n]; i++) vertices[i] = lower->vertices[i];
    for (int64_t i = 0; i < upper->vertex_offsets[m]; i++)
        vertices[vertex_offsets[n] + i] = upper->vertices[i] + (int32_t)lower->input.n_vertices;
    memcpy(nodes, lower->nodes, sizeof(double) * 2 * (size_t)node_offsets[n]);
    for (int64_t i = 0; i < upper->node_offsets[m]; i++) {
        nodes[2 * (node_offsets[n] + i)] = upper->nodes[2 * i];
        nodes[2 * (node_offsets[n] + i) + 1] = upper->nodes[2 * i + 1] + lift;
    }
    *input = (struct mesh_input){.dim = 2,
                                 .order = lower->input.order,
                                 .n_vertices = lower->input.n_vertices + upper->input.n_vertices,
                                 .n_cells = n + m,
                                 .shapes = shapes,
                                 .vertex_offsets = vertex_offsets,
                                 .node_offsets = node_offsets,
                                 .vertices = vertices,
                                 .nodes = nodes};
}

/* A strip whose lower and upper sides are the same parabola. */
static void bent(const double *u, double *x) {
    x[0] = u[0];
    x[1] = u[1] + 0.4 * u[0] * (1 - u[0]);
}

static void test_refuse_nonconforming(void **state) {
    (void)state;
    for (int order = 1; order <= 3; order++)
        for (int k = 0; k < 3; k++) { /* coinciding edges, hanging vertices, a gap */
            struct draft lower, upper;
            struct mesh_input input;
            map_function map = order == 1 ? identity : bent;
            draft_init(&lower, 2, 1, TRIANGLES, order, map, 0, 9);
            draft_init(&upper, k == 1 ? 4 : 2, 1, QUADS, order, map, 0, 10);
            strips(&lower, &upper, &input, k == 2 ? 1.001 : 1);
            if (k == 2) {
                struct facet_mesh *mesh;
                must(mesh_create(&input, &mesh));
                mesh_destroy(&mesh);
            } else {
                refused(&input, k == 0 ? "do not share its nodes" : "non-conforming");
                assert_non_null(strstr(base_message(), "the mesh has 2 faults"));
            }
            draft_free(&lower);
            draft_free(&upper);
        }
}

/* Two prisms of order 2 between the arcs of a ring: the means of the nodes of their plane faces lie outside
 * of these, one in the face of the other cell. */
static void test_plane_faces_between_arcs(void **state) {
    (void)state;
    enum { NODES = 18 };
    static const int32_t corners[2][3] = {{0, 1, 2}, {0, 2, 3}};
    static const double unit[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    const uint8_t shapes[2] = {SHAPE_PRISM, SHAPE_PRISM};
    const int64_t vertex_offsets[3] = {0, 6, 12}, node_offsets[3] = {0, NODES, 2 * NODES};
    int32_t vertices[12];
    double nodes[2 * NODES * 3], lattice[3 * NODES], values[6 * NODES];
    const double *at = shape_vertices(SHAPE_PRISM);
    assert_int_equal(shape_n_nodes(SHAPE_PRISM, 2), NODES);
    shape_nodes(SHAPE_PRISM, 2, lattice);
    must(basis_lagrange(SHAPE_PRISM, 1, NODES, lattice, values, NULL));
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < NODES; i++) {
            double u[3] = {0};
            for (int v = 0; v < 6; v++) {
                const int corner = corners[c][at[3 * v] > 0.5 ? 1 : at[3 * v + 1] > 0.5 ? 2 : 0];
                const double value = values[i * 6 + shape_vertex_node(SHAPE_PRISM, 1, v)];
                vertices[6 * c + v] = corner + 4 * (at[3 * v + 2] > 0.5);
                for (int a = 0; a < 3; a++) u[a] += value * (a < 2 ? unit[corner][a] : at[3 * v + 2]);
            }
            double r = 1 + 0.4 * u[0], *x = nodes + 3 * (NODES * c + i);
            x[0] = r * cos(1.8 * u[1]);
            x[1] = r * sin(1.8 * u[1]);
            x[2] = u[2];
        }
    const struct mesh_input input = {.dim = 3,
                                     .order = 2,
                                     .n_vertices = 8,
                                     .n_cells = 2,
                                     .shapes = shapes,
                                     .vertex_offsets = vertex_offsets,
                                     .node_offsets = node_offsets,
                                     .vertices = vertices,
                                     .nodes = nodes};
    struct facet_mesh *mesh;
    must(mesh_create(&input, &mesh));
    assert_int_equal(mesh->n_boundary_faces, 8);
    mesh_destroy(&mesh);
}

/* A cell whose nodes do not belong to its vertices. */
static void test_refuse_torn(void **state) {
    (void)state;
    struct draft d;
    draft_init(&d, 3, 2, QUADS, 2, identity, 0, 0);
    d.nodes[2 * (9 + 3)] += 0.05;
    refused(&d.input, "but not its nodes");
    draft_free(&d);
}

/* Vertices that no cell uses are dropped. */
static void test_unused_vertices(void **state) {
    (void)state;
    struct draft d;
    struct facet_mesh *mesh;
    draft_init(&d, 3, 2, QUADS, 1, identity, 0, 0);
    for (int64_t i = 0; i < d.vertex_offsets[6]; i++) d.vertices[i] += 5;
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < (s < 2 ? 12 : 8); i++) d.sides[s][i] += d.sides[s][i] >= 0 ? 5 : 0;
    d.input.n_vertices += 9;
    must(mesh_create(&d.input, &mesh));
    assert_int_equal(mesh->n_vertices, 12);
    assert_int_equal(group_count(mesh, "left", 1), 2);
    mesh_destroy(&mesh);
    draft_free(&d);
}

static void box_refused(facet_box box, const char *text) {
    struct facet_mesh *mesh = (void *)1;
    assert_int_equal(mesh_create_box(&box, &mesh), FACET_ERROR_INPUT);
    assert_null(mesh);
    if (!strstr(base_message(), text)) fail_msg("'%s' is not in: %s", text, base_message());
}

static void test_refuse_boxes(void **state) {
    (void)state;
    const facet_box good = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "triangle"};
    facet_box box = good;
    box.cells[1] = 0;
    box_refused(box, "direction y");
    box = good;
    box.lower[0] = 1;
    box_refused(box, "lower must be less than upper");
    box.lower[0] = NAN;
    box_refused(box, "finite");
    box = good;
    box.upper[1] = INFINITY;
    box_refused(box, "finite");
    box = good;
    box.dim = 1;
    box_refused(box, "dimension");
    box = good;
    box.shape = "hexagon";
    box_refused(box, "triangle, quad");
    box.shape = NULL;
    box_refused(box, "triangle, quad");
    box = good;
    box.split = "middle";
    box_refused(box, "right, left, alternating");
    box = good;
    box.shape = "quad";
    box.split = "left";
    box_refused(box, "split");
    box = good;
    box.cells[0] = box.cells[1] = 2000000000;
    box_refused(box, "too many");
    const double falling[3] = {0, 0.5, 0.5}, broken[3] = {0, NAN, 1};
    box = good;
    box.coordinates[0] = falling;
    box_refused(box, "increase");
    box.coordinates[0] = broken;
    box_refused(box, "finite");
    box = good;
    box.lower[0] = 1e16;
    box.upper[0] = 1e16 + 2;
    box.cells[0] = 7;
    box_refused(box, "no width");
}

/* ------------------------------------------------------------------------------------------ allocation
 * faults */

/* Runs `call` with the k-th allocation failing for k = 1, 2, ... until it succeeds. */
static void fail_in_turn(facet_status (*call)(void *), void *argument) {
    struct base_memory before, after;
    base_memory_read(&before);
    for (int k = 1; k < 10000; k++) {
        base_memory_fail_at(k);
        facet_status status = call(argument);
        base_memory_fail_at(0);
        base_memory_read(&after);
        assert_int_equal(before.live_blocks, after.live_blocks);
        if (status == FACET_OK) return;
        assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    fail_msg("never succeeded");
}

static facet_status run_box(void *argument) {
    struct facet_mesh *mesh;
    facet_status status = mesh_create_box(argument, &mesh);
    if (status != FACET_OK) assert_null(mesh);
    mesh_destroy(&mesh);
    return status;
}

static facet_status run_refine(void *argument) {
    struct facet_mesh *mesh;
    facet_status status = mesh_refine(argument, &mesh);
    mesh_destroy(&mesh);
    return status;
}

static facet_status run_locator(void *argument) {
    struct mesh_locator *locator;
    facet_status status = mesh_locator_create(argument, &locator);
    mesh_locator_destroy(&locator);
    return status;
}

static facet_status run_quality(void *argument) {
    struct mesh_quality quality;
    return mesh_measure_quality(argument, &quality);
}

static void test_faults(void **state) {
    (void)state;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {1, 1},
                     .cells = {3, 2},
                     .shape = "triangle",
                     .periodic = {1, 0}};
    fail_in_turn(run_box, &box);
    struct facet_mesh *mesh = make(6, 2, MIXED, 2, ring, 1, 4);
    fail_in_turn(run_refine, mesh);
    fail_in_turn(run_locator, mesh);
    fail_in_turn(run_quality, mesh);
    mesh_destroy(&mesh);
    mesh_destroy(&mesh);
}

/* Pairs of boxes that meet: by the tree, of the nodes of any of its levels, each once; and by all pairs. */
enum { N_BOXES = 90 };
struct pairs {
    int met[N_BOXES][N_BOXES], n;
};

static int note_pair(void *user, int32_t box, int32_t other) {
    struct pairs *pairs = user;
    pairs->met[box < other ? box : other][box < other ? other : box]++;
    pairs->n++;
    return 0;
}

static void test_pairs_of_boxes(void **state) {
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int32_t n = 0; n <= N_BOXES; n += 9) {
            double boxes[2 * 3 * N_BOXES];
            struct mesh_tree tree;
            for (int32_t i = 0; i < n * 2 * dim; i++) { /* the second half of a box is its upper corner */
                boxes[i] =
                    i % (2 * dim) < dim ? (i * 7919 % 101) / 20.0 : boxes[i - dim] + (i * 31 % 11) / 8.0;
            }
            assert_int_equal(mesh_tree_create(dim, n, boxes, &tree), FACET_OK);
            for (int32_t first = 1; first <= tree.n_leaves; first *= 2) {
                struct pairs pairs = {0};
                for (int32_t node = first; node < 2 * first; node++)
                    mesh_tree_pairs(&tree, node, note_pair, &pairs);
                for (int32_t i = 0; i < n; i++)
                    for (int32_t k = i + 1; k < n; k++) {
                        const double *a = boxes + i * 2 * dim, *b = boxes + k * 2 * dim;
                        int meet = 1;
                        for (int d = 0; d < dim; d++) meet &= a[d] <= b[dim + d] && a[dim + d] >= b[d];
                        assert_int_equal(pairs.met[i][k], meet);
                        pairs.n -= meet;
                    }
                assert_int_equal(pairs.n, 0);
            }
            mesh_tree_free(&tree);
        }
}

int main(void) {
    base_blas_narrow();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_sides_are_planes),
        cmocka_unit_test(test_box_right_split),
        cmocka_unit_test(test_graded_box),
        cmocka_unit_test(test_periodic),
        cmocka_unit_test(test_remembered_box),
        cmocka_unit_test(test_box_3d),
        cmocka_unit_test(test_scrambled),
        cmocka_unit_test(test_groups_in_place),
        cmocka_unit_test(test_ring_area),
        cmocka_unit_test(test_high_order),
        cmocka_unit_test(test_refined_box),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_locate),
        cmocka_unit_test(test_locate_in_thin_cells),
        cmocka_unit_test(test_locate_in_strongly_curved_cells),
        cmocka_unit_test(test_quality),
        cmocka_unit_test(test_fan),
        cmocka_unit_test(test_numbers_do_not_depend_on_threads),
        cmocka_unit_test(test_sets_are_filled_at_once),
        cmocka_unit_test(test_refuse_form),
        cmocka_unit_test(test_refuse_cells),
        cmocka_unit_test(test_refuse_topology),
        cmocka_unit_test(test_refuse_groups),
        cmocka_unit_test(test_refuse_periodic),
        cmocka_unit_test(test_refuse_nonconforming),
        cmocka_unit_test(test_plane_faces_between_arcs),
        cmocka_unit_test(test_refuse_torn),
        cmocka_unit_test(test_unused_vertices),
        cmocka_unit_test(test_pairs_of_boxes),
        cmocka_unit_test(test_refuse_boxes),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
