/* Meshes in 3D: the five and the six tets of a cube, curved tets and hexes from Gmsh in every format, and
 * what must be refused: incomplete prisms and pyramids, cells turned inside out, parts that touch without
 * sharing faces, and more than the memory holds. */
#include <stdio.h>

#include "base/run.h"
#include "mesh/gmsh.h"
#include "mesh/mesh_internal.h"
#include "solid_helpers.h"

/* ------------------------------------------------------------------------------------------ boxes */

static int has_cell(const struct facet_mesh *mesh, const int *corners) {
    const struct mesh_block *block = &mesh->blocks[0];
    for (int32_t c = 0; c < block->count; c++) {
        int found = 0;
        for (int v = 0; v < 4; v++)
            for (int w = 0; w < 4; w++) {
                const double *x = block->nodes + ((int64_t)c * 4 + w) * 3;
                found += x[0] == corners[v] / 100 && x[1] == corners[v] / 10 % 10 && x[2] == corners[v] % 10;
            }
        if (found == 4) return 1;
    }
    return 0;
}

/* fabien2019's six tets, in corners abc of the cube. */
static void six_tets_of_a_cube(void **state) {
    (void)state;
    static const int tets[6][4] = {{0, 100, 10, 1},     {100, 10, 1, 101},  {10, 1, 11, 101},
                                   {100, 10, 110, 101}, {10, 110, 11, 101}, {110, 11, 101, 111}};
    struct facet_mesh *mesh = unit_box("tet", NULL, 1);
    assert_int_equal(mesh->n_cells, 6);
    for (int t = 0; t < 6; t++) assert_true(has_cell(mesh, tets[t]));
    mesh_destroy(&mesh);
}

/* 12 n^3 + 6 n^2 faces of six tets a cube, 10 n^3 + 6 n^2 of five: none is left without its partner. */
static void cuts_conform(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n++)
        for (int five = 0; five < 2; five++) {
            struct facet_mesh *mesh = unit_box("tet", five ? "five" : "six", n), *fine;
            struct mesh_quality quality;
            assert_int_equal(mesh->n_cells, (five ? 5 : 6) * n * n * n);
            assert_int_equal(mesh->n_faces, (five ? 10 : 12) * n * n * n + 6 * n * n);
            assert_int_equal(mesh->n_boundary_faces, 12 * n * n);
            assert_int_equal(mesh_find_group(mesh, "zmin", 2)->count, 2 * n * n);
            ok(mesh_refine(mesh, &fine));
            ok(mesh_need_lists(fine));
            assert_int_equal(fine->n_faces, 2 * 8 * mesh->n_cells + 2 * mesh->n_boundary_faces);
            ok(mesh_measure_quality(fine, &quality));
            near(quality.volume, 1, 1e-13);
            mesh_destroy(&fine);
            mesh_destroy(&mesh);
        }
}

static void graded_boxes(void **state) {
    (void)state;
    const double x[3] = {0, 0.1, 2}, y[2] = {-1, 1}, z[4] = {0, 1, 10, 10.5};
    static const char *const shapes[2] = {"tet", "hex"};
    for (int k = 0; k < 2; k++) {
        facet_box box = {.size = sizeof(facet_box),
                         .dim = 3,
                         .cells = {2, 1, 3},
                         .coordinates = {x, y, z},
                         .shape = shapes[k]};
        struct facet_mesh *mesh;
        struct mesh_quality quality;
        ok(mesh_create_box(&box, &mesh));
        ok(mesh_need_lists(mesh));
        ok(mesh_measure_quality(mesh, &quality));
        near(quality.volume, 42, 1e-12);
        assert_true(quality.upper[2] == 10.5 && quality.lower[1] == -1);
        mesh_destroy(&mesh);
    }
}

static void box_refused(facet_box box, const char *text) {
    struct facet_mesh *mesh;
    refused(mesh_create_box(&box, &mesh), FACET_ERROR_INPUT, text);
    assert_null(mesh);
}

static void boxes_that_are_refused(void **state) {
    (void)state;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 3,
                     .upper = {1, 1, 1},
                     .cells = {2, 3, 2},
                     .shape = "tet",
                     .split = "five"};
    box.periodic[1] = 1;
    box_refused(box, "direction y has 3; use an even number");
    box.split = "right";
    box_refused(box, "known are: six, five");
    box.shape = "hex";
    box_refused(box, "a box of shape hex has none");
    box.shape = "quad";
    box_refused(box, "known are: tet, hex");
}

/* ------------------------------------------------------------------------------------------ Gmsh */

static struct facet_mesh *read_mesh(const char *solid, int order, const char *ending) {
    char path[100];
    struct facet_mesh *mesh;
    snprintf(path, sizeof path, "tests/meshes/%s_%d_%s.msh", solid, order, ending);
    ok(mesh_read_gmsh(path, &mesh));
    assert_int_equal(mesh->order, order);
    return mesh;
}

static void check_equal(const struct facet_mesh *a, const struct facet_mesh *b) {
    const struct mesh_block *p = &a->blocks[0], *q = &b->blocks[0];
    assert_int_equal(a->n_cells, b->n_cells);
    assert_int_equal(p->shape, q->shape);
    for (int64_t i = 0; i < (int64_t)p->count * p->n_nodes * 3; i++) near(p->nodes[i], q->nodes[i], 1e-14);
    assert_int_equal(a->n_groups, b->n_groups);
    for (int g = 0; g < a->n_groups; g++) {
        const struct mesh_group *other = mesh_find_group(b, a->groups[g].name, a->groups[g].dim);
        assert_non_null(other);
        assert_int_equal(other->count, a->groups[g].count);
    }
}

static void formats_agree(void **state) {
    (void)state;
    static const char *const solids[2] = {"ball", "pipe"}, *const formats[3] = {"22b", "41", "41b"};
    for (int k = 0; k < 2; k++)
        for (int order = 1; order <= 4; order++) {
            struct facet_mesh *first = read_mesh(solids[k], order, "22");
            for (int f = 0; f < 3; f++) {
                struct facet_mesh *mesh = read_mesh(solids[k], order, formats[f]);
                check_equal(first, mesh);
                mesh_destroy(&mesh);
            }
            mesh_destroy(&first);
        }
}

/* All nodes of a face, those inside it too, lie on one and the same surface of the solid. */
static void check_skin(const struct facet_mesh *mesh, const char *part, double radius, int dim, int planes) {
    const struct mesh_group *group = mesh_find_group(mesh, part, 2);
    assert_non_null(group);
    for (int32_t i = 0; i < group->count; i++) {
        int32_t f = group->ids[i], cell = mesh->face_cells[2 * f];
        const struct mesh_block *block = &mesh->blocks[0];
        int local = mesh->face_locals[2 * f], nodes[25], on[4] = {0};
        int n = mesh_face_nodes(block->shape, local, 0, mesh->order, nodes);
        for (int k = 0; k < n; k++) {
            const double *x = mesh_cell_nodes(mesh, cell) + 3 * nodes[k];
            double r = sqrt(x[0] * x[0] + x[1] * x[1] + (dim == 3 ? x[2] * x[2] : 0));
            on[3] += fabs(r - radius) < 1e-8;
            for (int a = 0; a < 3; a++) on[a] += planes && fabs(x[a]) < 1e-12;
        }
        assert_true(on[0] == n || on[1] == n || on[2] == n || on[3] == n);
    }
}

/* Errors of the volume on the coarse and the fine file: the orders 2, 4, 4, 6 of an interpolated circle. */
static void curved_geometry_is_exact_at_its_nodes(void **state) {
    (void)state;
    static const double ball_bounds[5] = {0, 0.1, 3e-3, 1e-3, 2e-5};
    for (int order = 1; order <= 4; order++) {
        double errors[2];
        struct mesh_quality quality;
        for (int fine = 0; fine < 2; fine++) {
            struct facet_mesh *mesh = read_mesh("pipe", order, fine ? "fine" : "41b");
            check_skin(mesh, "inside", 1, 2, 0);
            check_skin(mesh, "outside", 2, 2, 0);
            ok(mesh_measure_quality(mesh, &quality));
            errors[fine] = fabs(quality.volume - 2.356194490192345);
            mesh_destroy(&mesh);
            mesh = read_mesh("ball", order, fine ? "fine" : "41b");
            check_skin(mesh, "skin", 1, 3, 1);
            ok(mesh_measure_quality(mesh, &quality));
            if (fine) near(quality.volume, 0.5235987755982988, ball_bounds[order]);
            mesh_destroy(&mesh);
        }
        assert_true(log2(errors[0] / errors[1]) > 2 * ((order + 2) / 2) - 0.3);
    }
}

/* ------------------------------------------------------------------------------------------ refusals */

#define HEAD "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define CUBE "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n"

static void text_refused(const char *text, const char *expected) {
    struct facet_mesh *mesh;
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n + 1);
    refused(gmsh_read_bytes("text", copy, n, &mesh), FACET_ERROR_INPUT, expected);
    assert_null(mesh);
    free(copy);
}

static void incomplete_cells_are_counted(void **state) {
    (void)state;
    text_refused(HEAD
                 "$Nodes\n9\n" CUBE "9 .5 .5 2\n$EndNodes\n$Elements\n3\n1 5 0 1 2 3 4 5 6 7 8\n"
                 "2 19 0 5 6 7 8 9 1 1 1 1 1 1 1 1\n3 18 0 1 2 3 5 6 7 1 1 1 1 1 1 1 1 1\n$EndElements\n",
                 "1 incomplete prism of order 2, 1 incomplete pyramid of order 2; set "
                 "Mesh.SecondOrderIncomplete = 0");
}

/* A pyramid on a hex, and on it the tets that the transition to them is for. */
static void pyramids_stand_between_hexes_and_tets(void **state) {
    (void)state;
    char text[] = HEAD "$Nodes\n11\n" CUBE "9 .5 .5 2\n10 .5 -1 1.5\n11 2 .5 1.5\n$EndNodes\n$Elements\n5\n"
                       "1 5 0 1 2 3 4 5 6 7 8\n2 7 0 5 6 7 8 9\n3 4 0 5 6 9 10\n4 4 0 6 7 9 11\n"
                       "5 4 0 6 9 10 11\n$EndElements\n";
    struct facet_mesh *mesh, *fine;
    struct mesh_quality quality, again;
    ok(gmsh_read_bytes("text", text, sizeof text - 1, &mesh));
    assert_string_equal(mesh->shape_text, "tet+hex+pyramid");
    assert_int_equal(mesh->n_cells, 5);
    ok(mesh_measure_quality(mesh, &quality));
    ok(mesh_refine(mesh, &fine));
    assert_int_equal(fine->n_cells, 4 * 8 + 10); /* a pyramid becomes six, and four tets */
    assert_int_equal(fine->n_boundary_faces, 4 * mesh->n_boundary_faces);
    ok(mesh_measure_quality(fine, &again));
    near(again.volume, quality.volume, 1e-13);
    mesh_destroy(&fine);
    mesh_destroy(&mesh);
}

/* Tets and hexes with all vertices in common; tets that cut the square between them in two ways. */
static void faces_that_overlap_are_refused(void **state) {
    (void)state;
    text_refused(
        HEAD "$Nodes\n9\n" CUBE "9 .5 .5 2\n$EndNodes\n$Elements\n3\n1 5 0 1 2 3 4 5 6 7 8\n"
             "2 4 0 5 6 7 9\n3 4 0 5 7 8 9\n$EndElements\n",
        "cell 0 (Gmsh element 1) touch at (0.666667, 0.333333, 1), but a triangle and a quad cannot be one "
        "face");
    text_refused(
        HEAD "$Nodes\n6\n1 0 0 -1\n2 .5 .5 2\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n"
             "$Elements\n4\n1 4 0 5 6 7 2\n2 4 0 5 7 8 2\n3 4 0 5 6 8 1\n4 4 0 6 7 8 1\n$EndElements\n",
        "overlap at (0.666667, 0.333333, 1) without being the same; the parts must share nodes and faces "
        "(Gmsh: Coherence; or BooleanFragments)");
}

/* Two boxes, each with vertices of its own, n x n x n cells and m x m x m; the second one is scaled and
 * shifted. */
static facet_status two_boxes(const char *shape, int n, int m, double scale, const double *shift,
                              struct facet_mesh **mesh) {
    struct facet_mesh *part[2] = {unit_box(shape, NULL, n), unit_box(shape, NULL, m)};
    int n_vertices = shape_n_vertices(part[0]->blocks[0].shape);
    int64_t n_cells = part[0]->n_cells + part[1]->n_cells;
    uint8_t *shapes = calloc((size_t)n_cells, 1);
    int64_t *offsets = calloc((size_t)n_cells + 1, sizeof *offsets);
    int32_t *vertices = calloc((size_t)(n_cells * n_vertices), sizeof *vertices);
    double *nodes = calloc((size_t)(n_cells * n_vertices * 3), sizeof *nodes);
    int64_t cell = 0;
    for (int k = 0; k < 2; k++)
        for (int32_t c = 0; c < part[k]->n_cells; c++, cell++) {
            shapes[cell] = (uint8_t)part[k]->blocks[0].shape;
            offsets[cell + 1] = offsets[cell] + n_vertices;
            for (int v = 0; v < n_vertices; v++) {
                vertices[offsets[cell] + v] =
                    part[k]->blocks[0].vertices[c * n_vertices + v] + k * part[0]->n_vertices;
                double *x = nodes + (offsets[cell] + v) * 3;
                memcpy(x, part[k]->blocks[0].nodes + (c * n_vertices + v) * 3, 3 * sizeof *x);
                for (int a = 0; a < 3 && k == 1; a++) x[a] = scale * x[a] + shift[a];
            }
        }
    struct mesh_input input = {.dim = 3,
                               .order = 1,
                               .n_vertices = part[0]->n_vertices + part[1]->n_vertices,
                               .n_cells = n_cells,
                               .shapes = shapes,
                               .vertex_offsets = offsets,
                               .vertices = vertices,
                               .node_offsets = offsets,
                               .nodes = nodes};
    facet_status status = mesh_create(&input, mesh);
    free(shapes);
    free(offsets);
    free(vertices);
    free(nodes);
    mesh_destroy(&part[0]);
    mesh_destroy(&part[1]);
    return status;
}

/* n x n faces against m x m. */
static facet_status side_by_side(const char *shape, int n, int m, double gap, struct facet_mesh **mesh) {
    return two_boxes(shape, n, m, 1, (const double[]){1 + gap, 0, 0}, mesh);
}

/* Bodies in the same space: inside one another, by a corner, by a layer that is thinner than all cells, not
 * at all. What is there twice is measured on the faces inside, exactly where none is cut. */
static void bodies_that_overlap_are_measured(void **state) {
    (void)state;
    static const char *const shapes[2] = {"tet", "hex"};
    static const struct {
        double scale, shift[3], volume, tolerance;
    } cases[] = {{0.5, {0.31, 0.27, 0.29}, 0.125, 1e-10},
                 {1, {0.6, 0.55, 0.57}, 0.4 * 0.45 * 0.43, 0.05},
                 {0.8, {0.999, 0.11, 0.12}, 0.64e-3, 0.02},
                 {0.8, {0.97, 0.96, 0.95}, 0.03 * 0.04 * 0.05, 0.3},
                 {0.8, {1.001, 0.11, 0.12}, 0, 0}};
    struct mesh_overlap overlap;
    struct facet_mesh *mesh;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ok(two_boxes(shapes[k], 3, 4, cases[i].scale, cases[i].shift, &mesh));
            ok(mesh_find_overlap(mesh, 1, &overlap));
            assert_true(overlap.found == (cases[i].volume > 0));
            near(overlap.volume, cases[i].volume, cases[i].tolerance * cases[i].volume);
            int first = k == 0 ? 6 * 27 : 27; /* of the second box */
            if (cases[i].volume > 0) assert_true((overlap.cells[0] < first) != (overlap.cells[1] < first));
            mesh_destroy(&mesh);
        }
}

static void one_body_does_not_overlap(void **state) {
    (void)state;
    static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};
    struct mesh_overlap overlap;
    for (int k = 0; k < 4; k++)
        for (int order = 1; order <= 3; order++) {
            struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 4), order, map_wavy, 3);
            ok(mesh_find_overlap(mesh, 1, &overlap));
            assert_true(!overlap.found && overlap.volume == 0);
            mesh_destroy(&mesh);
        }
}

static void parts_that_touch_are_refused(void **state) {
    (void)state;
    static const char *const shapes[2] = {"tet", "hex"};
    for (int k = 0; k < 2; k++) {
        struct facet_mesh *mesh;
        refused(side_by_side(shapes[k], 2, 2, 0, &mesh), FACET_ERROR_INPUT,
                "two cells touch along a face at (1, ");
        assert_non_null(strstr(facet_message(), "Coherence; or BooleanFragments"));
        refused(side_by_side(shapes[k], 1, 2, 0, &mesh), FACET_ERROR_INPUT,
                "non-conforming: the vertex at (1, ");
        assert_non_null(strstr(facet_message(), "hanging nodes are not supported"));
        ok(side_by_side(shapes[k], 1, 2, 0.01, &mesh));
        mesh_destroy(&mesh);
    }
}

/* A node of a curved cell pushed through it: the vertices are as they should be. */
static void cells_turned_inside_out_are_refused(void **state) {
    (void)state;
    for (int hex = 0; hex < 2; hex++) {
        enum shape shape = hex ? SHAPE_HEX : SHAPE_TET;
        int n = shape_n_nodes(shape, 2), n_vertices = shape_n_vertices(shape);
        double nodes[81];
        const uint8_t shapes[1] = {(uint8_t)shape};
        const int64_t vertex_offsets[2] = {0, n_vertices}, node_offsets[2] = {0, n}, names[1] = {77};
        static const int32_t vertices[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        struct mesh_input input = {.dim = 3,
                                   .order = 2,
                                   .n_vertices = n_vertices,
                                   .n_cells = 1,
                                   .shapes = shapes,
                                   .vertex_offsets = vertex_offsets,
                                   .vertices = vertices,
                                   .node_offsets = node_offsets,
                                   .nodes = nodes,
                                   .cell_names = names};
        struct facet_mesh *mesh;
        shape_nodes(shape, 2, nodes);
        ok(mesh_create(&input, &mesh));
        mesh_destroy(&mesh);
        nodes[3 * 1 + 2] += hex ? 0.9 : 0.45; /* the middle of the first edge, upwards */
        refused(mesh_create(&input, &mesh), FACET_ERROR_INPUT, "cell 0 (Gmsh element 77) is inverted");
    }
}

/* Said before anything is allocated, with the bytes that it would take. */
static void too_much_for_the_memory(void **state) {
    (void)state;
    struct base_memory before, after;
    struct facet_mesh *mesh;
    facet_box box = {
        .size = sizeof(facet_box), .dim = 3, .upper = {1, 1, 1}, .cells = {680, 680, 680}, .shape = "hex"};
    base_pretend_available(16e9);
    base_memory_read(&before);
    ok(mesh_create_box(&box, &mesh));
    refused(mesh_need_lists(mesh), FACET_ERROR_MACHINE, "the box of 314432000 cells would take ");
    assert_non_null(strstr(facet_message(), " bytes) are free; about "));
    mesh_destroy(&mesh);
    mesh = unit_box("tet", NULL, 2);
    refused(facet_mesh_refine(mesh, 7), FACET_ERROR_MACHINE, "times it would fit");
    mesh_destroy(&mesh);
    mesh = unit_box("hex", NULL, 2);
    struct setup setup = {.mesh = mesh, .degree = 16, .exact = "x"};
    struct solved s;
    int threads = base_threads();
    base_set_threads(64);
    facet_status status = try_solve(&setup, &s);
    base_set_threads(threads);
    base_pretend_available(0.0);
    refused(status, FACET_ERROR_MACHINE, "degree 16 on cells of shape hex, ");
    mesh_destroy(&mesh);
    base_memory_read(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
    assert_true(after.peak_bytes < 300000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_tets_of_a_cube),
        cmocka_unit_test(cuts_conform),
        cmocka_unit_test(graded_boxes),
        cmocka_unit_test(boxes_that_are_refused),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(curved_geometry_is_exact_at_its_nodes),
        cmocka_unit_test(incomplete_cells_are_counted),
        cmocka_unit_test(pyramids_stand_between_hexes_and_tets),
        cmocka_unit_test(faces_that_overlap_are_refused),
        cmocka_unit_test(bodies_that_overlap_are_measured),
        cmocka_unit_test(one_body_does_not_overlap),
        cmocka_unit_test(parts_that_touch_are_refused),
        cmocka_unit_test(cells_turned_inside_out_are_refused),
        cmocka_unit_test(too_much_for_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
