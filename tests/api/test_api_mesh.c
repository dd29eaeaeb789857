/* Meshes as arrays through facet.h: there and back, arrays that make no mesh, points and weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api_helpers.h"

/* ------------------------------------------------------------------------------------ there and back */

/* A mesh as arrays that the caller owns. */
struct arrays {
    facet_arrays it;
    double *points;
    facet_cells blocks[4];
    int64_t *nodes[4], **members;
    facet_members *groups;
};

static void take(const facet_mesh *mesh, const char *numbering, struct arrays *a) {
    facet_mesh_info info = {.size = sizeof info};
    *a = (struct arrays){0};
    ok(facet_mesh_get_info(mesh, &info));
    a->it = (facet_arrays){.size = sizeof a->it, .dim = info.dim, .numbering = numbering};
    ok(facet_mesh_n_points(mesh, &a->it.n_points));
    a->points = malloc((size_t)(a->it.n_points * info.dim) * sizeof *a->points);
    ok(facet_mesh_points(mesh, a->points));
    a->it.points = a->points;
    a->it.n_blocks = facet_mesh_n_blocks(mesh);
    for (int b = 0; b < a->it.n_blocks; b++) {
        a->blocks[b].size = sizeof a->blocks[b];
        ok(facet_mesh_block(mesh, b, numbering, &a->blocks[b], NULL));
        a->nodes[b] = malloc((size_t)a->blocks[b].count * 1000 * sizeof *a->nodes[b]);
        ok(facet_mesh_block(mesh, b, numbering, &a->blocks[b], a->nodes[b]));
        assert_int_equal(a->blocks[b].order, info.geometry_order);
        a->blocks[b].nodes = a->nodes[b];
    }
    a->it.blocks = a->blocks;
    a->it.n_groups = facet_mesh_n_groups(mesh);
    a->groups = calloc((size_t)a->it.n_groups + 1, sizeof *a->groups);
    a->members = calloc((size_t)a->it.n_groups + 1, sizeof *a->members);
    for (int g = 0; g < a->it.n_groups; g++) {
        facet_group group = {.size = sizeof group};
        ok(facet_mesh_group(mesh, g, &group));
        int64_t *members = a->members[g] = malloc((size_t)group.count * 4 * sizeof *members + 8);
        int faces = group.dim < info.dim;
        ok(facet_mesh_group_members(mesh, g, faces ? NULL : members, NULL, faces ? members : NULL));
        a->groups[g] = (facet_members){.size = sizeof *a->groups,
                                       .name = group.name,
                                       .dim = group.dim,
                                       .count = group.count,
                                       .cells = faces ? NULL : members,
                                       .nodes = faces ? members : NULL};
    }
    a->it.groups = a->groups;
}

static void drop(struct arrays *a) {
    for (int b = 0; b < a->it.n_blocks; b++) free(a->nodes[b]);
    for (int g = 0; g < a->it.n_groups; g++) free(a->members[g]);
    free(a->members);
    free(a->groups);
    free(a->points);
}

static void same_mesh(const facet_mesh *a, const facet_mesh *b) {
    facet_mesh_info x = {.size = sizeof x}, y = {.size = sizeof y};
    ok(facet_mesh_get_info(a, &x));
    ok(facet_mesh_get_info(b, &y));
    assert_int_equal(x.dim, y.dim);
    assert_int_equal(x.geometry_order, y.geometry_order);
    assert_int_equal(x.n_cells, y.n_cells);
    assert_int_equal(x.n_faces, y.n_faces);
    assert_int_equal(x.n_boundary_faces, y.n_boundary_faces);
    assert_int_equal(x.n_vertices, y.n_vertices);
    assert_string_equal(x.shape, y.shape);
    near(x.volume, y.volume, 1e-13);
    near(x.smallest_jacobian, y.smallest_jacobian, 1e-12);
    assert_int_equal(facet_mesh_n_groups(a), facet_mesh_n_groups(b));
    for (int g = 0; g < facet_mesh_n_groups(a); g++) {
        facet_group p = {.size = sizeof p}, q = {.size = sizeof q};
        ok(facet_mesh_group(a, g, &p));
        ok(facet_mesh_group(b, g, &q));
        assert_string_equal(p.name, q.name);
        assert_int_equal(p.dim, q.dim);
        assert_int_equal(p.count, q.count);
    }
}

/* Files of all shapes and orders, in the three numberings. */
static void there_and_back(void **state) {
    struct made *m = *state;
    static const char *const paths[] = {
        "tests/meshes/annulus_1_41.msh", "tests/meshes/annulus_2_41.msh", "tests/meshes/annulus_5_41.msh",
        "tests/meshes/ball_3_41.msh",    "tests/meshes/pipe_4_41.msh",    "tests/meshes/hex_3.msh",
        "tests/meshes/hex_4.msh",        "tests/meshes/tets_6.msh",       "examples/meshes/kirsch.msh"};
    static const char *const numberings[] = {NULL, "gmsh", "vtk", "lattice"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        facet_mesh *mesh, *other;
        struct arrays a;
        ok(facet_mesh_read(m->context, paths[i], &mesh));
        for (int k = 0; k < 4; k++) {
            take(mesh, numberings[k], &a);
            int64_t *numbers = malloc((size_t)(a.blocks[0].count + a.blocks[1].count) * sizeof *numbers);
            ok(facet_mesh_create_arrays(m->context, &a.it, numbers, &other));
            for (int64_t c = 0; c < a.blocks[0].count; c++) assert_int_equal(numbers[c], c);
            same_mesh(mesh, other);
            facet_mesh_destroy(&other);
            free(numbers);
            drop(&a);
        }
        facet_mesh_destroy(&mesh);
    }
}

/* VTK 9.1 says so: vtkLagrangeHexahedron::PointIndexFromIJK of order 3. */
static void numbers_as_vtk(void **state) {
    struct made *m = *state;
    static const int wanted[64] = {0,  3,  15, 12, 48, 51, 63, 60, 1,  2,  7,  11, 13, 14, 4,  8,
                                   49, 50, 55, 59, 61, 62, 52, 56, 16, 32, 19, 35, 31, 47, 28, 44,
                                   20, 24, 36, 40, 23, 27, 39, 43, 17, 18, 33, 34, 29, 30, 45, 46,
                                   5,  6,  9,  10, 53, 54, 57, 58, 21, 22, 25, 26, 37, 38, 41, 42};
    facet_mesh *mesh;
    facet_cells cells = {.size = sizeof cells};
    ok(facet_mesh_read(m->context, "tests/meshes/hex_3.msh", &mesh));
    ok(facet_mesh_block(mesh, 0, NULL, &cells, NULL));
    int64_t *vtk = malloc((size_t)cells.count * 64 * sizeof *vtk),
            *lattice = malloc((size_t)cells.count * 64 * sizeof *vtk);
    ok(facet_mesh_block(mesh, 0, "vtk", &cells, vtk));
    ok(facet_mesh_block(mesh, 0, "lattice", &cells, lattice));
    for (int i = 0; i < 64; i++) assert_int_equal(vtk[i], lattice[wanted[i]]);
    free(vtk);
    free(lattice);
    facet_mesh_destroy(&mesh);
}

/* Shared points: a box of n^d cells of order 1 has (n + 1)^d, with mid-side nodes as many as it should; a
 * periodic one keeps both of its sides. */
static void counts_points(void **state) {
    struct made *m = *state;
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    for (int s = 0; s < 4; s++)
        for (int periodic = 0; periodic < 2; periodic++) {
            facet_mesh *mesh;
            int64_t n;
            const facet_box box = {.size = sizeof box,
                                   .dim = 2 + s / 2,
                                   .cells = {2, 3, 4},
                                   .periodic = {periodic},
                                   .upper = {1, 1, 1},
                                   .shape = shapes[s]};
            ok(facet_mesh_create_box(m->context, &box, &mesh));
            ok(facet_mesh_n_points(mesh, &n));
            assert_int_equal(n, s < 2 ? 3 * 4 : 3 * 4 * 5);
            facet_mesh_destroy(&mesh);
        }
    static const struct {
        const char *path;
        int64_t n; /* nodes of its cells in the file */
    } curved[] = {{"tests/meshes/ball_2_41.msh", 0}, {"tests/meshes/hex_2.msh", 0}};
    for (int i = 0; i < 2; i++) { /* Euler: vertices, edges, faces, (cells) of order 2 */
        facet_mesh *mesh;
        facet_mesh_info info = {.size = sizeof info};
        int64_t n;
        ok(facet_mesh_read(m->context, curved[i].path, &mesh));
        ok(facet_mesh_get_info(mesh, &info));
        ok(facet_mesh_n_points(mesh, &n));
        int64_t edges = info.n_vertices + info.n_faces - info.n_cells - 1; /* V - E + F - C = 1 */
        int64_t expected = info.n_vertices + edges + (i == 1 ? info.n_faces + info.n_cells : 0);
        assert_int_equal(n, expected);
        facet_mesh_destroy(&mesh);
    }
}

/* Two triangles and a quad of order 1 beside a curved triangle: lower orders are raised. */
static void mixes_orders(void **state) {
    struct made *m = *state;
    const double points[] = {0, 0, 1, 0, 1, 1, 0, 1, 2, 0, 2, 1, 0.5, -0.1, 3, 3};
    const int64_t bent[] = {0, 1, 2, 6, -1, -1}, flat[] = {0, 2, 3}, quads[] = {1, 4, 5, 2};
    double all[20];
    memcpy(all, points, sizeof points);
    all[16] = 1, all[17] = 0.5, all[18] = 0.5, all[19] = 0.5;
    int64_t six[6];
    memcpy(six, bent, sizeof six);
    six[4] = 8, six[5] = 9;
    const int64_t left[] = {1}, side[] = {3, 0, 1, 0};
    const facet_cells blocks[] = {{sizeof *blocks, "quad", 1, 1, quads},
                                  {sizeof *blocks, "triangle", 1, 1, flat},
                                  {sizeof *blocks, "triangle", 2, 1, six}};
    const facet_members groups[] = {{sizeof *groups, "upper", 2, 1, left, NULL},
                                    {sizeof *groups, "side", 1, 2, NULL, side}};
    const facet_arrays arrays = {.size = sizeof arrays,
                                 .dim = 2,
                                 .n_points = 10,
                                 .points = all,
                                 .n_blocks = 3,
                                 .blocks = blocks,
                                 .n_groups = 2,
                                 .groups = groups};
    int64_t numbers[3];
    facet_mesh *mesh;
    facet_mesh_info info = {.size = sizeof info};
    ok(facet_mesh_create_arrays(m->context, &arrays, numbers, &mesh));
    ok(facet_mesh_get_info(mesh, &info));
    assert_int_equal(info.geometry_order, 2);
    assert_int_equal(info.n_vertices, 6);
    near(info.volume, 2.0 + 2.0 / 3.0 * 0.1, 1e-14); /* a parabola below the square */
    assert_int_equal(numbers[0], 2);
    int64_t in_group;
    ok(facet_mesh_group_members(mesh, 0, &in_group, NULL, NULL));
    assert_int_equal(in_group, numbers[1]);
    refused(facet_mesh_group_members(mesh, 0, NULL, NULL, &in_group), "cells");
    facet_mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------ no mesh */

struct square {
    double points[8];
    int64_t nodes[6], face[2], cell;
    facet_cells blocks[1];
    facet_members groups[2];
    facet_arrays it;
};

static void make_square(struct square *s) {
    *s = (struct square){.points = {0, 0, 1, 0, 1, 1, 0, 1}, .nodes = {0, 1, 2, 0, 2, 3}, .face = {0, 1}};
    s->blocks[0] = (facet_cells){sizeof(facet_cells), "triangle", 1, 2, s->nodes};
    s->groups[0] = (facet_members){sizeof(facet_members), "all", 2, 1, &s->cell, NULL};
    s->groups[1] = (facet_members){sizeof(facet_members), "low", 1, 1, NULL, s->face};
    s->it = (facet_arrays){sizeof s->it, 2, 4, s->points, NULL, 1, s->blocks, 2, s->groups};
}

static void no_mesh(void **state) {
    struct made *m = *state;
    struct square s;
    facet_mesh *mesh;
    make_square(&s);
    ok(facet_mesh_create_arrays(m->context, &s.it, NULL, &mesh));
    facet_mesh_destroy(&mesh);
    refused(facet_mesh_create_arrays(m->context, &s.it, NULL, NULL), "'mesh'");
    refused(facet_mesh_create_arrays(NULL, &s.it, NULL, &mesh), "'context'");
    refused(facet_mesh_create_arrays(m->context, NULL, NULL, &mesh), "'arrays'");
#define REFUSED(change, word)                                                                                \
    make_square(&s);                                                                                         \
    change;                                                                                                  \
    refused(facet_mesh_create_arrays(m->context, &s.it, NULL, &mesh), word);                                 \
    assert_null(mesh)
    REFUSED(s.it.size = 0, "size");
    REFUSED(s.it.dim = 1, "dimension");
    REFUSED(s.it.n_points = 0, "points");
    REFUSED(s.it.points = NULL, "points");
    REFUSED(s.it.numbering = "abaqus", "abaqus");
    REFUSED(s.it.n_blocks = 0, "blocks");
    REFUSED(s.it.blocks = NULL, "blocks");
    REFUSED(s.it.n_groups = -1, "groups");
    REFUSED(s.it.groups = NULL, "groups");
    REFUSED(s.points[5] = NAN, "coordinate 1 of point 2");
    REFUSED(s.blocks[0].size = 3, "facet_cells");
    REFUSED(s.blocks[0].shape = NULL, "shape");
    REFUSED(s.blocks[0].shape = "tet", "triangle, quad");
    REFUSED(s.blocks[0].order = 0, "order");
    REFUSED(s.blocks[0].order = 10, "order");
    REFUSED(s.blocks[0].count = -1, "-1");
    REFUSED(s.blocks[0].count = INT64_MAX, "cells");
    REFUSED(s.blocks[0].count = 0, "no cells");
    REFUSED(s.blocks[0].nodes = NULL, "nodes");
    REFUSED(s.nodes[4] = 4, "node 1 of cell 1 is 4");
    REFUSED(s.nodes[0] = -7, "node 0 of cell 0 is -7");
    REFUSED(s.nodes[5] = 0, "cell 1");                                  /* a vertex twice */
    REFUSED(memcpy(s.nodes + 3, s.nodes, 3 * sizeof *s.nodes), "cell"); /* a cell twice */
    REFUSED(s.points[4] = 0.5; s.points[5] = -1, "");                   /* cells that fold over one another */
    REFUSED(s.groups[0].name = "", "group 0");
    REFUSED(s.groups[0].name = NULL, "group 0");
    REFUSED(s.groups[0].dim = 0, "dimension 0");
    REFUSED(s.groups[0].count = -1, "-1");
    REFUSED(s.groups[0].cells = NULL, "cells");
    REFUSED(s.cell = 2, "cell 2");
    REFUSED(s.groups[1].nodes = NULL, "nodes");
    REFUSED(s.face[1] = 9, "node 1 of face 0 is 9");
    REFUSED(s.face[1] = -1, "-1");
    REFUSED(s.face[0] = 3, "no cell"); /* a diagonal */
    refused(facet_mesh_n_points(NULL, NULL), "'mesh'");
    refused(facet_mesh_points(NULL, NULL), "'mesh'");
    assert_int_equal(facet_mesh_n_blocks(NULL), 0);
    make_square(&s);
    ok(facet_mesh_create_arrays(m->context, &s.it, NULL, &mesh));
    facet_cells cells = {.size = sizeof cells};
    refused(facet_mesh_block(mesh, 1, NULL, &cells, NULL), "block 1");
    refused(facet_mesh_block(mesh, 0, "vtu", &cells, NULL), "vtu");
    refused(facet_mesh_block(mesh, 0, NULL, NULL, NULL), "'cells'");
    refused(facet_mesh_group_members(mesh, 2, NULL, NULL, NULL), "group 2");
    refused(facet_mesh_points(mesh, NULL), "'points'");
    facet_mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------ quadrature */

static double integrate(const facet_mesh *mesh, int dim, int degree, const char *on, int normals) {
    int64_t n = 0;
    ok(facet_mesh_quadrature(mesh, degree, on != NULL, &on, &n, NULL, NULL, NULL, NULL));
    double *x = malloc((size_t)n * 8 * sizeof *x), *w = x + n * 3, *v = x + n * 4, sum = 0;
    int64_t *cells = malloc((size_t)n * sizeof *cells), less = n - 1;
    refused(facet_mesh_quadrature(mesh, degree, on != NULL, &on, &less, x, w, NULL, NULL), "room");
    ok(facet_mesh_quadrature(mesh, degree, on != NULL, &on, &n, x, w, normals ? v : NULL, cells));
    for (int64_t i = 0; i < n; i++) {
        double f = normals ? 0 : 1;
        for (int d = 0; d < dim && normals; d++) f += x[i * dim + d] * v[i * dim + d] / dim;
        sum += w[i] * f;
        assert_true(cells[i] >= 0);
    }
    free(x);
    free(cells);
    return sum;
}

/* The volume by cells, and by x . n / dim over the boundary (Gauss); areas of sides; polynomials exactly. */
static void integrates(void **state) {
    struct made *m = *state;
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    for (int s = 0; s < 4; s++) {
        facet_mesh *mesh;
        const facet_box box = {
            .size = sizeof box, .dim = 2 + s / 2, .cells = {2, 3, 2}, .upper = {1, 2, 3}, .shape = shapes[s]};
        double volume = s < 2 ? 2 : 6;
        ok(facet_mesh_create_box(m->context, &box, &mesh));
        near(integrate(mesh, box.dim, 0, NULL, 0), volume, 1e-14);
        near(integrate(mesh, box.dim, 3, "boundary", 1), volume, 1e-14);
        near(integrate(mesh, box.dim, 2, "xmin", 0), s < 2 ? 2 : 6, 1e-14);
        for (int degree = 0; degree <= 12; degree++) { /* x^degree: 1 / (degree + 1) times the area across */
            int64_t n = 0;
            ok(facet_mesh_quadrature(mesh, degree, 0, NULL, &n, NULL, NULL, NULL, NULL));
            double *x = malloc((size_t)n * 4 * sizeof *x), *w = x + 3 * n, sum = 0;
            ok(facet_mesh_quadrature(mesh, degree, 0, NULL, &n, x, w, NULL, NULL));
            for (int64_t i = 0; i < n; i++) sum += w[i] * pow(x[i * box.dim], degree);
            near(sum, volume / (degree + 1), 1e-13);
            free(x);
        }
        int64_t n = 0;
        double x[3];
        const char *none = "xmim", *both[] = {"xmin", "xmin"};
        refused(facet_mesh_quadrature(mesh, 1, 1, &none, &n, NULL, NULL, NULL, NULL), "xmin");
        refused(facet_mesh_quadrature(mesh, -1, 0, NULL, &n, NULL, NULL, NULL, NULL), "-1");
        refused(facet_mesh_quadrature(mesh, 61, 0, NULL, &n, NULL, NULL, NULL, NULL), "61");
        refused(facet_mesh_quadrature(mesh, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL), "'n'");
        refused(facet_mesh_quadrature(mesh, 1, 1, NULL, &n, NULL, NULL, NULL, NULL), "'on'");
        n = 1000;
        refused(facet_mesh_quadrature(mesh, 1, 0, NULL, &n, NULL, NULL, x, NULL), "normals");
        ok(facet_mesh_quadrature(mesh, 0, 2, both, &n, NULL, NULL, NULL, NULL));
        assert_int_equal(n, s < 2 ? 3 : s == 2 ? 12 : 6); /* once */
        facet_mesh_destroy(&mesh);
    }
    static const struct {
        const char *path;
        int dim;
        double tolerance;
    } curved[] = {{"tests/meshes/annulus_4_41.msh", 2, 1e-12},
                  {"tests/meshes/ball_3_41.msh", 3, 1e-12},
                  {"tests/meshes/pipe_3_41.msh", 3, 1e-12},
                  {"tests/meshes/hex_3.msh", 3, 1e-12}};
    for (int i = 0; i < 4; i++) { /* both integrals are of polynomials of the reference coordinates */
        facet_mesh *mesh;
        facet_mesh_info info = {.size = sizeof info};
        ok(facet_mesh_read(m->context, curved[i].path, &mesh));
        ok(facet_mesh_get_info(mesh, &info));
        near(integrate(mesh, curved[i].dim, 20, NULL, 0), info.volume, 1e-12);
        near(integrate(mesh, curved[i].dim, 20, "boundary", 1), info.volume, curved[i].tolerance);
        facet_mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_as_vtk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mixes_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_mesh, set_up, tear_down),
        cmocka_unit_test_setup_teardown(integrates, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
