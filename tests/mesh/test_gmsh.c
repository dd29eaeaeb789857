/* The Gmsh reader: the same mesh from all four formats, geometry of every order, groups by name, and files
 * that are wrong, truncated or corrupt. The meshes are made by tests/meshes/make.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "mesh/foreign.h"
#include "mesh/gmsh.h"
#include "mesh/mesh.h"
#include "poly/basis.h"
#include "poly/rule.h"

#define PI 3.14159265358979323846

static const char *const formats[] = {"22", "22b", "41", "41b"};

static struct facet_mesh *read_mesh(const char *format, ...) {
    char path[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    struct facet_mesh *mesh;
    if (mesh_read_gmsh(path, &mesh) != FACET_OK) fail_msg("%s", base_message());
    return mesh;
}

/* Reads a copy of exactly these bytes, so that a sanitizer sees every step outside. */
static facet_status read_bytes(const char *bytes, size_t n, struct facet_mesh **mesh) {
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    facet_status status = gmsh_read_bytes("text", copy, n, mesh);
    free(copy);
    return status;
}

static struct facet_mesh *read_text(const char *text) {
    struct facet_mesh *mesh;
    if (read_bytes(text, strlen(text), &mesh) != FACET_OK) fail_msg("%s", base_message());
    return mesh;
}

static void check_refused(facet_status status, const struct facet_mesh *mesh, const char *expected) {
    assert_int_equal(status, FACET_ERROR_INPUT);
    assert_null(mesh);
    if (strstr(base_message(), expected) == NULL) fail_msg("expected '%s' in: %s", expected, base_message());
}

static double block_measure(const struct facet_mesh *mesh, const struct mesh_block *block) {
    struct rule rule = {0};
    double sum = 0;
    int dim = mesh->dim, n_nodes = block->n_nodes;
    assert_int_equal(rule_create(block->shape, dim * mesh->order, &rule), FACET_OK);
    double *values = malloc((size_t)(rule.n * n_nodes) * sizeof *values);
    double *gradients = malloc((size_t)(rule.n * n_nodes * dim) * sizeof *gradients);
    double *J = malloc((size_t)(rule.n * dim * dim) * sizeof *J);
    assert_int_equal(basis_lagrange(block->shape, mesh->order, rule.n, rule.x, values, gradients), FACET_OK);
    for (int32_t c = 0; c < block->count; c++) {
        mesh_cell_map(block, dim, c, rule.n, values, gradients, NULL, J);
        for (int i = 0; i < rule.n; i++) {
            const double *m = &J[i * dim * dim];
            double det = dim == 2 ? m[0] * m[3] - m[1] * m[2]
                                  : m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                                        m[2] * (m[3] * m[7] - m[4] * m[6]);
            sum += rule.w[i] * det;
        }
    }
    rule_destroy(&rule);
    free(values);
    free(gradients);
    free(J);
    return sum;
}

static double mesh_measure(const struct facet_mesh *mesh) {
    double sum = 0;
    for (int b = 0; b < mesh->n_blocks; b++) sum += block_measure(mesh, &mesh->blocks[b]);
    return sum;
}

static void check_equal(const struct facet_mesh *a, const struct facet_mesh *b) {
    assert_int_equal(a->dim, b->dim);
    assert_int_equal(a->order, b->order);
    assert_int_equal(a->n_vertices, b->n_vertices);
    assert_int_equal(a->n_cells, b->n_cells);
    assert_int_equal(a->n_faces, b->n_faces);
    assert_int_equal(a->n_blocks, b->n_blocks);
    for (int k = 0; k < a->n_blocks; k++) {
        const struct mesh_block *p = &a->blocks[k], *q = &b->blocks[k];
        assert_int_equal(p->shape, q->shape);
        assert_int_equal(p->count, q->count);
        int n = p->count * shape_n_vertices(p->shape);
        assert_memory_equal(p->vertices, q->vertices, (size_t)n * sizeof *p->vertices);
        for (int i = 0; i < p->count * p->n_nodes * a->dim; i++)
            assert_true(fabs(p->nodes[i] - q->nodes[i]) < 1e-14);
    }
    assert_int_equal(a->n_groups, b->n_groups);
    for (int g = 0; g < a->n_groups; g++) {
        const struct mesh_group *p = &a->groups[g], *q = mesh_find_group(b, p->name, p->dim);
        assert_non_null(q);
        assert_int_equal(p->count, q->count);
        assert_memory_equal(p->ids, q->ids, (size_t)p->count * sizeof *p->ids);
    }
}

/* ---------------------------------------------------------------------------------------- geometry */

static void test_orders_and_formats(void **state) {
    (void)state;
    double errors[10];
    for (int order = 1; order <= 9; order++) {
        struct facet_mesh *first = NULL;
        for (int f = 0; f < 4; f++) {
            struct facet_mesh *mesh = read_mesh("tests/meshes/annulus_%d_%s.msh", order, formats[f]);
            assert_int_equal(mesh->order, order);
            assert_int_equal(mesh->n_cells, 3);
            assert_string_equal(mesh->shape_text, "triangle+quad");
            if (f == 0) {
                first = mesh;
                errors[order] = fabs(mesh_measure(mesh) - 0.75 * PI);
                continue;
            }
            check_equal(first, mesh);
            mesh_destroy(&mesh);
        }
        mesh_destroy(&first);
    }
    /* Interpolating an arc of 45 degrees: each two orders gain more than a factor of 50, down to Gmsh's 1e-9.
     */
    assert_true(errors[1] > 0.1 && errors[2] < 0.01);
    for (int order = 3; order <= 9; order++) assert_true(errors[order] < fmax(errors[order - 2] / 50, 2e-9));
}

/* The node of an affine or multilinear cell at a lattice point, from its vertices. */
static void straight_point(const struct facet_mesh *mesh, const struct mesh_block *block, const double *nodes,
                           const double *xi, double *x) {
    double values[SHAPE_MAX_VERTICES], lattice[SHAPE_MAX_VERTICES * 3];
    int n = shape_n_vertices(block->shape);
    assert_int_equal(basis_lagrange(block->shape, 1, 1, xi, values, NULL), FACET_OK);
    shape_nodes(block->shape, 1, lattice);
    memset(x, 0, 3 * sizeof *x);
    for (int v = 0; v < n; v++) {
        const double *corner = &nodes[shape_vertex_node(block->shape, mesh->order, v) * mesh->dim];
        for (int d = 0; d < mesh->dim; d++) x[d] += values[shape_vertex_node(block->shape, 1, v)] * corner[d];
    }
}

/* In a cell with straight sides every node lies where the lattice says: the permutation is right. */
static void check_straight(struct facet_mesh *mesh, int order) {
    assert_int_equal(mesh->order, order);
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        double *lattice = malloc((size_t)(block->n_nodes * mesh->dim) * sizeof *lattice), x[3];
        shape_nodes(block->shape, order, lattice);
        for (int32_t c = 0; c < block->count; c++) {
            const double *nodes = &block->nodes[(int64_t)c * block->n_nodes * mesh->dim];
            for (int i = 0; i < block->n_nodes; i++) {
                straight_point(mesh, block, nodes, &lattice[i * mesh->dim], x);
                for (int d = 0; d < mesh->dim; d++) assert_true(fabs(nodes[i * mesh->dim + d] - x[d]) < 1e-9);
            }
        }
        free(lattice);
    }
    mesh_destroy(&mesh);
}

static void test_node_order(void **state) {
    (void)state;
    for (int order = 1; order <= 9; order++) {
        check_straight(read_mesh("tests/meshes/straight_%d.msh", order), order);
        check_straight(read_mesh("tests/meshes/tets_%d.msh", order), order);
        if (order <= 6) check_straight(read_mesh("tests/meshes/hex_%d.msh", order), order);
        if (order <= 6) check_straight(read_mesh("tests/meshes/prisms_%d.msh", order), order);
        if (order <= 6) check_straight(read_mesh("tests/meshes/pyramids_%d.msh", order), order);
    }
}

/* Every lattice is a permutation, also where no mesh file is at hand. */
static void test_lattice_is_permutation(void **state) {
    (void)state;
    static int lattice[1000], seen[1000];
    for (int shape = SHAPE_SEGMENT; shape < SHAPE_COUNT; shape++)
        for (int order = 1; order <= 9; order++) {
            int n = shape_n_nodes((enum shape)shape, order);
            gmsh_lattice((enum shape)shape, order, lattice);
            memset(seen, 0, sizeof seen);
            for (int i = 0; i < n; i++) assert_true(lattice[i] >= 0 && lattice[i] < n && !seen[lattice[i]]++);
        }
}

static void test_parametric_and_periodic(void **state) {
    (void)state;
    struct facet_mesh *plain = read_mesh("tests/meshes/annulus_3_41.msh");
    for (int f = 2; f < 4; f++) {
        struct facet_mesh *mesh = read_mesh("tests/meshes/parametric_%s.msh", formats[f]);
        check_equal(plain, mesh);
        mesh_destroy(&mesh);
    }
    mesh_destroy(&plain);
    plain = read_mesh("tests/meshes/tets_2.msh");
    struct facet_mesh *tets = read_mesh("tests/meshes/parametric_tets.msh");
    check_equal(plain, tets);
    mesh_destroy(&tets);
    mesh_destroy(&plain);
    for (int f = 0; f < 4; f++) {
        struct facet_mesh *mesh = read_mesh("tests/meshes/periodic_%s.msh", formats[f]);
        assert_true(fabs(mesh_measure(mesh) - 1) < 1e-14);
        const struct mesh_group *left = mesh_find_group(mesh, "left", 1);
        assert_int_equal(left->count, 2);
        assert_int_equal(mesh->n_boundary_faces, 4); /* below and above */
        for (int i = 0; i < 2; i++) {                /* and the right side is the left one, one further */
            double R[9], s[3];
            assert_int_equal(mesh_face_joint(mesh, left->ids[i], R, s), MESH_SHIFTED);
            assert_true(fabs(fabs(s[0]) - 1) < 1e-11 && fabs(s[1]) < 1e-11);
            assert_int_equal(mesh_find_group(mesh, "right", 1)->ids[i], left->ids[i]);
        }
        mesh_destroy(&mesh);
        char path[64];
        snprintf(path, sizeof path, "tests/meshes/periodic_%s.msh", formats[f]);
        assert_int_equal(mesh_read_gmsh_as(path, 0, &mesh), FACET_OK);
        assert_int_equal(mesh->n_boundary_faces, 8);
        mesh_destroy(&mesh);
    }
}

/* ---------------------------------------------------------------------------------------- groups */

static void test_groups(void **state) {
    (void)state;
    for (int f = 0; f < 4; f++) {
        struct facet_mesh *mesh = read_mesh("tests/meshes/annulus_4_%s.msh", formats[f]);
        static const struct {
            const char *name;
            int dim, count;
        } groups[] = {{"inner", 1, 2}, {"outer", 1, 2},      {"sides", 1, 2},      {"everywhere", 1, 6},
                      {"7", 1, 1},     {"lower part", 2, 2}, {"upper part", 2, 1}, {"ring", 2, 3}};
        assert_int_equal(mesh->n_groups, 8);
        for (int g = 0; g < 8; g++) {
            const struct mesh_group *group = mesh_find_group(mesh, groups[g].name, groups[g].dim);
            assert_non_null(group);
            assert_int_equal(group->count, groups[g].count);
        }
        /* both cells of the faces of 7 exist, the faces of the others have one */
        for (int g = 0; g < mesh->n_groups; g++)
            for (int i = 0; mesh->groups[g].dim == 1 && i < mesh->groups[g].count; i++) {
                int inside = mesh->face_cells[2 * mesh->groups[g].ids[i] + 1] >= 0;
                assert_int_equal(inside, strcmp(mesh->groups[g].name, "7") == 0);
            }
        mesh_destroy(&mesh);
    }
}

#define HEAD_22 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define HEAD_41 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define SQUARE  "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n"

/* One name for two numbers; an unused number, an unused node; a repeated line; a $Comments section in front.
 */
static void test_groups_merge(void **state) {
    (void)state;
    struct facet_mesh *mesh = read_text(
        "$Comments\nhand-made\n$EndComments\n" HEAD_22
        "$PhysicalNames\n3\n1 1 \"wall\"\n1 2 \"wall\"\n0 9 \"point\"\n$EndPhysicalNames\n"
        "$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n77 5 5 5\n$EndNodes\n"
        "$Elements\n6\n1 1 2 1 1 1 2\n2 1 2 2 1 2 3\n3 1 2 2 1 1 2\n4 2 2 5 1 1 2 3\n5 2 2 6 1 3 1 2\n"
        "6 2 2 0 1 1 3 4\n$EndElements\n$Unknown\n1 2 3\n$EndUnknown\n");
    assert_int_equal(mesh->n_cells, 2);
    assert_int_equal(mesh->n_vertices, 4);
    assert_int_equal(mesh->n_groups, 3);
    assert_int_equal(mesh_find_group(mesh, "wall", 1)->count, 2);
    assert_int_equal(mesh_find_group(mesh, "5", 2)->ids[0], 0);
    assert_int_equal(mesh_find_group(mesh, "6", 2)->ids[0], 0);
    mesh_destroy(&mesh);
}

/* ---------------------------------------------------------------------------------------- unusual meshes */

static void test_sparse_tags(void **state) {
    (void)state;
    struct facet_mesh *mesh = read_text(
        HEAD_41 "$Nodes\n1 3 5 9000000000000\n2 1 0 3\n9000000000000\n5\n123456789\n0 0 0\n1 0 0\n0 1 0\n"
                "$EndNodes\n$Elements\n1 1 8 8\n2 1 2 1\n8 9000000000000 5 123456789\n$EndElements\n");
    assert_true(fabs(mesh_measure(mesh) - 0.5) < 1e-15);
    mesh_destroy(&mesh);
}

/* A curved 8-node quad is the serendipity map, to be compared point by point; an order-1 triangle beside it
 * is lifted. */
static void test_serendipity_and_mixed_order(void **state) {
    (void)state;
    static const double X[8][2] = {{0, 0},      {2, 0.1},    {2.2, 2}, {-0.1, 1.8},
                                   {1.1, -0.2}, {2.1, 1.05}, {1, 2.2}, {0.1, 0.9}};
    char text[1000];
    int n = snprintf(text, sizeof text, HEAD_22 "$Nodes\n9\n");
    for (int i = 0; i < 8; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d %.17g %.17g 0\n", i + 1, X[i][0], X[i][1]);
    snprintf(text + n, sizeof text - (size_t)n,
             "9 4 1 0\n$EndNodes\n$Elements\n2\n1 2 0 2 9 3\n2 16 0 1 2 3 4 5 6 7 8\n$EndElements\n");
    struct facet_mesh *mesh = read_text(text);
    assert_int_equal(mesh->order, 2);
    assert_int_equal(mesh->blocks[1].shape, SHAPE_QUAD);
    double center[2] = {0, 0};
    for (int i = 0; i < 8; i++)
        for (int d = 0; d < 2; d++) center[d] += (i < 4 ? -0.25 : 0.5) * X[i][d];
    static const int lattice[8] = {0, 2, 8, 6, 1, 5, 7, 3};
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 8; i++) assert_true(mesh->blocks[1].nodes[2 * lattice[i] + d] == X[i][d]);
        assert_true(fabs(mesh->blocks[1].nodes[2 * 4 + d] - center[d]) < 1e-15);
        /* the middle between nodes 2 and 9 of the triangle */
        const double corner[2] = {4, 1};
        assert_true(fabs(mesh->blocks[0].nodes[2 * 1 + d] - 0.5 * (X[1][d] + corner[d])) < 1e-15);
    }
    mesh_destroy(&mesh);
    mesh = read_mesh("tests/meshes/serendipity_2.msh");
    assert_true(fabs(mesh_measure(mesh) - 0.75 * PI) < 0.01);
    mesh_destroy(&mesh);
}

/* A cell is valid whichever corner comes first, also where the chords at that corner make more than 180
 * degrees. */
static void test_first_corners(void **state) {
    (void)state;
    for (int first = 0; first < 4; first++) {
        char text[1000];
        int n = snprintf(text, sizeof text,
                         HEAD_22
                         "$Nodes\n9\n1 0 0 0\n2 1 -0.2 0\n3 0 1 0\n4 -1 -0.2 0\n5 0.5 0.05 0\n6 0.5 0.4 0\n"
                         "7 -0.5 0.4 0\n8 -0.5 0.05 0\n9 0 0.3 0\n$EndNodes\n$Elements\n1\n1 10 0");
        for (int i = 0; i < 8; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, " %d", 1 + i / 4 * 4 + (i + first) % 4);
        snprintf(text + n, sizeof text - (size_t)n, " 9\n$EndElements\n");
        struct facet_mesh *mesh = read_text(text);
        double chords = 1, segments = -0.2; /* between the parabolas of the sides and their chords */
        assert_true(fabs(mesh_measure(mesh) - (chords + segments)) < 1e-14);
        assert_false(mesh->blocks[0].affine[0]);
        mesh_destroy(&mesh);
    }
}

/* Numbers in every writing; the language of the program does not matter. */
static void test_numbers(void **state) {
    (void)state;
    struct facet_mesh *mesh =
        read_text(HEAD_22 "$Nodes\r\n3\r\n1 0.0 -0 0e0\r\n2 +1.0000000000000000000000001E+0 0 0\r\n"
                          "3 .1e-1 12345678901234567e-16 0\r\n$EndNodes\n"
                          "$Elements\n1\n1 2 0 1 2 3\n$EndElements");
    assert_true(mesh->blocks[0].nodes[2] == 1);
    assert_true(mesh->blocks[0].nodes[4] == 0.01 && mesh->blocks[0].nodes[5] == 1.2345678901234567);
    mesh_destroy(&mesh);
}

/* ---------------------------------------------------------------------------------------- refusals */

static void test_refused_files(void **state) {
    (void)state;
    static const struct {
        const char *path, *place, *expected;
    } files[] = {
        {"tests/meshes/version_40.msh", "version_40.msh:2:", "gmsh -format msh41"},
        {"tests/meshes/order_10.msh", "order_10.msh: byte ", "order 10"},
        {"tests/meshes/incomplete_3.msh", "incomplete_3.msh:", "Mesh.SecondOrderIncomplete = 0"},
        {"tests/meshes/partitioned.msh", "partitioned.msh:33:", "partitions"},
        {"tests/meshes/parametric_22.msh", "parametric_22.msh:14:", "Mesh.SaveParametric = 0"},
        {"tests/meshes/annulus.geo", "annulus.geo",
         "is not a Gmsh file: it is a Gmsh script; mesh it with Gmsh: gmsh -3 tests/meshes/annulus.geo -o "
         "tests/meshes/annulus.msh"},
        {"tests/meshes/no_such.msh", "no_such.msh", "no such file"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct facet_mesh *mesh;
        facet_status status = mesh_read_gmsh(files[i].path, &mesh);
        check_refused(status, mesh, files[i].place);
        check_refused(status, mesh, files[i].expected);
    }
}

/* Files of others are known by their beginning or by their name, and the advice fits. */
static void test_foreign(void **state) {
    (void)state;
    static const struct {
        const char *path, *bytes, *what, *advice;
    } cases[] = {
        {"a/part.step", "ISO-10303-21;\nHEADER;\n", "STEP", "gmsh -3 a/part.step -o a/part.msh"},
        {"part", "\n ISO-10303-21;\n", "STEP", "gmsh -3 part -o part.msh"},
        {"part.stp", "anything", "STEP", "gmsh -3 part.stp -o part.msh"},
        {"part.x", "                                                                        S      1\n",
         "IGES", "gmsh -3 part.x"},
        {"PART.IGS", "", "IGES", "gmsh -3 PART.IGS -o PART.msh"},
        {"part.dat", "DBRep_DrawableShape\n", "BREP", "gmsh -3"},
        {"part.geo", "Point(1) = {0, 0, 0};\n", "Gmsh script", "gmsh -3 part.geo -o part.msh"},
        {"part.SLDPRT", "\xd0\xcf", "CAD", "export it as STEP"},
        {"b/part.stl", "solid one\n", "STL", "Merge \"part.stl\""},
        {"part.obj", "v 0 0 0\n", "OBJ", "STEP"},
        {"part.vtk", "# vtk DataFile Version 3.0\n", "VTK mesh", "gmsh part.vtk -save -o part.msh"},
        {"part.vtu", "<?xml version=\"1.0\"?>\n<VTKFile type=", "VTK file",
         "meshio convert part.vtu part.msh"},
        {"part.inp", "*Heading\n", "Abaqus", "meshio convert part.inp"},
        {"part.txt", "    -1\n  2411\n", "UNV", "gmsh part.txt -save"},
        {"part.med", "\x89HDF\r\n\x1a\n", "MED", "gmsh part.med -save"},
        {"part.cgns", "\x89HDF\r\n\x1a\n", "CGNS", "gmsh part.cgns -save"},
        {"part.exo", "\x89HDF\r\n\x1a\n", "Exodus", "meshio convert part.exo"},
        {"part.bin", "\x89HDF\r\n\x1a\n", "HDF5", "meshio"},
        {"part.exo", "CDF\2", "netCDF", "meshio convert part.exo"},
        {"part.bdf", "$ comment\nGRID", "Nastran", "gmsh part.bdf -save"},
        {"part.mesh", " MeshVersionFormatted 2\n", "Medit", "gmsh part.mesh -save"},
        {"part.msh", "(0 \"GAMBIT to Fluent\")\n", "Fluent", "--input-format ansys part.msh part-gmsh.msh"},
        {"part.png", "\x89PNG\r\n", "PNG", ""},
        {"part.msh", "\xff\xd8\xff\xe0", "JPEG", ""},
        {"part.msh", "\x1f\x8b\x08", "compressed", "unpack"},
        {"part.msh", "<!doctype HTML>", "web page", ""},
        {"part.msh", "version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"},
    };
    struct foreign is;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(foreign_identify(cases[i].path, cases[i].bytes, strlen(cases[i].bytes), 1, &is));
        if (!strstr(is.what, cases[i].what) || !strstr(is.advice, cases[i].advice))
            fail_msg("%s: %s; %s", cases[i].path, is.what, is.advice);
        assert_true((is.advice[0] == '\0') == (cases[i].advice[0] == '\0'));
    }
    assert_false(foreign_identify("case.yaml", "mesh: {box: 3}\n", 15, 1, &is));
    assert_false(foreign_identify("part.msh", "hello", 5, 1, &is));
    assert_false(foreign_identify("part.step", "hello", 5, 0, &is));
    char path[400];
    snprintf(path, sizeof path, "%0380d.step", 1);
    assert_true(foreign_identify(path, "", 0, 1, &is));
    assert_string_equal(is.advice, "mesh it with Gmsh: gmsh -3 FILE -o FILE.msh (-2 in the plane)");
}

#define TRIANGLES "$Elements\n2\n1 2 0 1 2 3\n2 2 0 1 3 4\n$EndElements\n"

static void test_refused_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "text is not a Gmsh file: it is empty"},
        {"solid part\n", "text is not a Gmsh file: it is an STL surface"},
        {"$NOD\n1\n", "text is a Gmsh mesh of version 1, which is not read (versions 2.2 and 4.1 are); "
                      "convert it with Gmsh"},
        {"hello\n", "text is not a Gmsh file: it does not begin with $MeshFormat"},
        {"$MeshFormat\n1 0 8\n$EndMeshFormat\n", "text:2: MSH 1 is not supported"},
        {"$MeshFormat\n4.1 0 4\n$EndMeshFormat\n", "text:2: expected numbers of 8 bytes, found 4"},
        {"$MeshFormat\n4.1 1 8\n\0\0\0\1\n$EndMeshFormat\n", "byte 20"},
        {HEAD_22 SQUARE, "text:11: expected $Elements"},
        {HEAD_22 TRIANGLES, "text:4: $Elements stand before $Nodes"},
        {HEAD_22 SQUARE SQUARE, "text:11: there is a second $Nodes section"},
        {HEAD_22 "garbage\n", "text:4: expected the beginning of a section, $..., found 'garbage'"},
        {HEAD_22 "$Foo\n1\n", "text:4: $Foo has no $EndFoo"},
        {HEAD_22 "$Nodes\n2\n1 0 0 0\n2 1 x 0\n", "text:7: expected a coordinate of a node, found 'x'"},
        {HEAD_22 "$Nodes\n1\n1 0 nan 0\n$EndNodes\n", "text:6: expected a coordinate of a node, found 'nan'"},
        {HEAD_22 "$Nodes\n1\n1 0 1e999 0\n$EndNodes\n",
         "text:6: expected a coordinate of a node, found '1e999'"},
        {HEAD_22 "$Nodes\n2\n1 0 0 0\n$EndNodes\n", "text:7: expected the tag of a node, found '$EndNodes'"},
        {HEAD_22 "$Nodes\n1\n1 0 0 0\n2 0 0 0\n$EndNodes\n", "text:7: expected $EndNodes, found '2'"},
        {HEAD_22 "$Nodes\n99999999999\n1 0 0 0\n", "text:5: the number of nodes is said to be 99999999999"},
        {HEAD_22 "$Nodes\n2\n1 0 0 0\n1 0 0 0\n$EndNodes\n", "node 1 appears twice"},
        {HEAD_22 SQUARE "$Elements\n1\n1 2 0 1 2 9\n$EndElements\n", "text:13: element 1 has node 9"},
        {HEAD_22 SQUARE "$Elements\n1\n1 34 0 1 2 9\n$EndElements\n",
         "text:13: 34 is not the number of a known type"},
        {HEAD_22 SQUARE "$Elements\n1\n1 1 0 1 2\n$EndElements\n", "has no cells"},
        {HEAD_22 "$PhysicalNames\n1\n1 1 wall\n$EndPhysicalNames\n", "text:6: expected the name"},
        {HEAD_22 "$PhysicalNames\n1\n1 3 \"wall\"\n$EndPhysicalNames\n" SQUARE TRIANGLES,
         "text: 1 physical group has no elements: 'wall' (dimension 1, number 3)"},
        {HEAD_22 "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 1\n4 0 1 0\n$EndNodes\n" TRIANGLES,
         "a surface mesh in 3D is not supported"},
        {HEAD_22 "$Nodes\n4\n1 0 2 0\n2 1 2 0\n3 1 2 1\n4 0 2 1\n$EndNodes\n" TRIANGLES,
         "lies in a plane of constant y, but one of two dimensions lies in x and y: turn it"},
        {HEAD_22 "$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 2 2 0\n$EndNodes\n"
                 "$Elements\n2\n1 3 0 1 2 3 4\n8 1 2 3 3 3 5\n$EndElements\n",
         "element 8 of the physical group '3' is not a face of a cell"},
        {HEAD_22 "$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 .7 .5 0\n$EndNodes\n"
                 "$Elements\n2\n1 2 0 1 2 3\n2 9 0 1 2 3 4 5 4\n$EndElements\n",
         "elements 1 and 2 have the same vertices"},
        {HEAD_41 "$Entities\n0 0 1 0\n1 0 0 0 1 1 0 99 5\n",
         "text:6: the number of an entity's physical groups"},
        {HEAD_41 "$Entities\n0 0 0 0\n$EndEntities\n$Nodes\n1 3 1 3\n2 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 "
                 "0\n$EndNodes\n"
                 "$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 3\n$EndElements\n",
         "entity 1 of dimension 2, which is not among the $Entities"},
        {HEAD_41 "$Nodes\n1 1 1 1\n2 1 2 1\n1\n0 0 0\n$EndNodes\n",
         "text:6: expected 0 or 1 (parametric nodes), found 2"},
        {HEAD_41 "$Nodes\n1 2 1 2\n2 1 0 1\n1\n0 0 0\n$EndNodes\n", "text:8: the blocks have 1 nodes, but 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct facet_mesh *mesh;
        /* the case of foreign bytes has NULs inside */
        size_t n = strstr(cases[i].expected, "byte 20") != NULL ? 41 : strlen(cases[i].text);
        facet_status status = read_bytes(cases[i].text, n, &mesh);
        check_refused(status, mesh, cases[i].expected);
    }
}

/* ---------------------------------------------------------------------------------------- corrupt files,
 * faults */

/* Whatever the bytes, the answer is a status, a mesh only with FACET_OK, and nothing is left behind. */
static facet_status try_bytes(const char *bytes, size_t n) {
    struct base_memory before, after;
    struct facet_mesh *mesh;
    base_memory_read(&before);
    facet_status status = read_bytes(bytes, n, &mesh);
    assert_true(status == FACET_OK || status == FACET_ERROR_INPUT);
    assert_true((mesh != NULL) == (status == FACET_OK));
    mesh_destroy(&mesh);
    base_memory_read(&after);
    assert_int_equal(before.live_blocks, after.live_blocks);
    return status;
}

static void load(const char *name, const char *format, char **bytes, size_t *n) {
    char path[200];
    snprintf(path, sizeof path, "tests/meshes/%s_%s.msh", name, format);
    assert_int_equal(file_read_whole(path, bytes, n), FACET_OK);
}

static void test_truncated(void **state) {
    (void)state;
    for (int f = 0; f < 4; f++) {
        char *bytes;
        size_t n;
        load("annulus_2", formats[f], &bytes, &n);
        for (size_t length = 0; length < n - 1; length += 1 + length % 3)
            assert_int_equal(try_bytes(bytes, length), FACET_ERROR_INPUT);
        assert_int_equal(try_bytes(bytes, n), FACET_OK);
        base_free(&bytes);
    }
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void test_corrupt(void **state) {
    (void)state;
    static const char *const names[] = {"annulus_2", "periodic"};
    uint64_t seed = 20;
    for (int f = 0; f < 8; f++) {
        char *bytes;
        size_t n;
        load(names[f / 4], formats[f % 4], &bytes, &n);
        for (int trial = 0; trial < 400; trial++) {
            char saved[4];
            size_t at[4];
            int flips = 1 + trial % 4;
            for (int i = 0; i < flips; i++) {
                at[i] = next_random(&seed) % n;
                saved[i] = bytes[at[i]];
                /* text: another digit now and then, so that the file stays readable further */
                bytes[at[i]] = (char)(trial % 3 ? next_random(&seed) : '0' + next_random(&seed) % 10);
            }
            try_bytes(bytes, n);
            for (int i = flips - 1; i >= 0; i--) bytes[at[i]] = saved[i];
        }
        assert_int_equal(try_bytes(bytes, n), FACET_OK);
        base_free(&bytes);
    }
}

static void test_allocation_faults(void **state) {
    (void)state;
    static const char *const paths[] = {"tests/meshes/annulus_3_41b.msh", "tests/meshes/annulus_2_22.msh"};
    for (int p = 0; p < 2; p++) {
        facet_status status = FACET_ERROR_MACHINE;
        for (int k = 1; status != FACET_OK; k++) {
            struct base_memory before, after;
            struct facet_mesh *mesh;
            base_memory_read(&before);
            base_memory_fail_at(k);
            status = mesh_read_gmsh(paths[p], &mesh);
            base_memory_fail_at(0);
            if (status != FACET_OK) assert_int_equal(status, FACET_ERROR_MACHINE);
            mesh_destroy(&mesh);
            base_memory_read(&after);
            assert_int_equal(before.live_blocks, after.live_blocks);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_and_formats),
        cmocka_unit_test(test_node_order),
        cmocka_unit_test(test_lattice_is_permutation),
        cmocka_unit_test(test_parametric_and_periodic),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_groups_merge),
        cmocka_unit_test(test_sparse_tags),
        cmocka_unit_test(test_serendipity_and_mixed_order),
        cmocka_unit_test(test_first_corners),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_corrupt),
        cmocka_unit_test(test_allocation_faults),
    };
    base_set_threads(1); /* many tiny meshes */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
