/* Nested meshes: the map of a fine cell is that of its parent through the kind, children fill their parents,
 * faces lie on the faces they name, and what is not nested is told apart with a reason. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

static void must(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", base_message());
}

static double uniform(void) {
    static uint32_t state = 7;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) / 16777216.0;
}

/* A point of the reference cell. */
static void random_point(enum shape shape, double *eta) {
    double sum = 2;
    while (sum > 1) {
        sum = 0;
        for (int a = 0; a < shape_dim(shape); a++) sum += eta[a] = uniform();
        if (!shape_is_simplex(shape)) return;
    }
}

static void map_point(const struct facet_mesh *mesh, int32_t cell, const double *xi, double *x) {
    double J[9];
    must(mesh_point_map(mesh_block_of(mesh, cell)->shape, mesh->order, mesh->dim, mesh_cell_nodes(mesh, cell),
                        xi, x, J));
}

static void map_kind(const struct mesh_kind *kind, const double *eta, double *xi) {
    int dim = shape_dim(kind->shape);
    for (int a = 0; a < dim; a++) {
        xi[a] = kind->origin[a];
        for (int b = 0; b < dim; b++) xi[a] += eta[b] * kind->axes[b][a];
    }
}

/* ------------------------------------------------------------------------------------------ properties */

static void check_maps(const struct mesh_nesting *n) {
    int dim = n->fine->dim;
    for (int32_t c = 0; c < n->fine->n_cells; c++) {
        const struct mesh_kind *kind = &n->kind[n->kinds[c]];
        assert_int_equal(kind->shape, mesh_block_of(n->fine, c)->shape);
        assert_int_equal(kind->shape, mesh_block_of(n->coarse, n->parents[c])->shape);
        double size = mesh_extent(mesh_block_of(n->fine, c)->n_nodes, dim, mesh_cell_nodes(n->fine, c));
        for (int k = 0; k < 3; k++) {
            double eta[3], xi[3], x[3], y[3];
            random_point(kind->shape, eta);
            map_kind(kind, eta, xi);
            map_point(n->fine, c, eta, x);
            map_point(n->coarse, n->parents[c], xi, y);
            for (int a = 0; a < dim; a++) assert_true(fabs(x[a] - y[a]) < 1e-11 * (size + fabs(x[a])));
        }
    }
}

/* The volumes of children against their parent's on affine cells; curved meshes are compared as a whole. */
static void check_volumes(const struct mesh_nesting *n) {
    struct mesh_quality fine, coarse;
    must(mesh_measure_quality(n->fine, &fine));
    must(mesh_measure_quality(n->coarse, &coarse));
    assert_true(fabs(fine.volume - coarse.volume) < 1e-11 * coarse.volume);
    for (int32_t p = 0; p < n->coarse->n_cells; p++) {
        const struct mesh_block *block = mesh_block_of(n->coarse, p);
        if (!block->affine[p - block->first]) continue;
        double J[9], volume, sum = 0;
        mesh_affine_jacobian(block->shape, n->coarse->order, mesh_cell_nodes(n->coarse, p), J);
        volume = mesh_determinant(n->coarse->dim, J);
        for (int32_t i = n->starts[p]; i < n->starts[p + 1]; i++) {
            mesh_affine_jacobian(block->shape, n->fine->order, mesh_cell_nodes(n->fine, n->children[i]), J);
            sum += mesh_determinant(n->fine->dim, J);
        }
        assert_true(fabs(sum - volume) < 1e-6 * volume);
    }
}

static void check_children(const struct mesh_nesting *n, int halved) {
    int32_t next = 0;
    assert_int_equal(n->starts[0], 0);
    assert_int_equal(n->starts[n->coarse->n_cells], n->fine->n_cells);
    for (int32_t p = 0; p < n->coarse->n_cells; p++) {
        if (halved) assert_int_equal(n->starts[p + 1] - n->starts[p], 1 << n->fine->dim);
        for (int32_t i = n->starts[p]; i < n->starts[p + 1]; i++, next++) {
            assert_int_equal(n->parents[n->children[i]], p);
            if (i > n->starts[p]) assert_true(n->children[i] > n->children[i - 1]);
        }
    }
    assert_int_equal(next, n->fine->n_cells);
}

/* Whether the point xi of a cell lies on one of its faces with this mesh number. */
static int is_on(const struct facet_mesh *mesh, int32_t cell, const double *xi, int32_t face) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int n_faces = shape_n_faces(block->shape), dim = mesh->dim, on = 0;
    for (int f = 0; f < n_faces; f++) {
        if (block->faces[(int64_t)(cell - block->first) * n_faces + f] != face) continue;
        double corners[3][3], s[2] = {0, 0}, normal[3], off = 0;
        for (int i = 0; i < dim; i++) {
            if (i > 0) s[i - 1] = 1;
            shape_face_point(block->shape, f, 0, s, corners[i]);
            if (i > 0) s[i - 1] = 0;
        }
        for (int a = 0; a < dim; a++) {
            int b = (a + 1) % dim, c = (a + 2) % dim;
            if (dim == 2)
                normal[a] = (a ? 1 : -1) * (corners[1][b] - corners[0][b]);
            else
                normal[a] = (corners[1][b] - corners[0][b]) * (corners[2][c] - corners[0][c]) -
                            (corners[1][c] - corners[0][c]) * (corners[2][b] - corners[0][b]);
            off += normal[a] * (xi[a] - corners[0][a]);
        }
        on |= fabs(off) < 1e-7;
    }
    return on;
}

/* The middle of every face, by the inverse map of the parents on both sides. */
static void check_faces(const struct mesh_nesting *n, int halved) {
    const struct facet_mesh *fine = n->fine, *coarse = n->coarse;
    int32_t *counts = calloc((size_t)coarse->n_faces, sizeof *counts);
    double *lattices[2] = {NULL, NULL};
    for (int b = 0; b < coarse->n_blocks; b++) {
        lattices[b] = calloc((size_t)(coarse->blocks[b].n_nodes * coarse->dim), sizeof(double));
        shape_nodes(coarse->blocks[b].shape, coarse->order, lattices[b]);
    }
    for (int32_t f = 0; f < fine->n_faces; f++) {
        int32_t above = n->face_parents[f];
        if (above >= 0) counts[above]++;
        for (int side = 0; side < 2 && fine->face_cells[2 * f + side] >= 0; side++) {
            int32_t cell = fine->face_cells[2 * f + side], parent = n->parents[cell];
            double s[2] = {0.3, 0.35}, eta[3], x[3], xi[3];
            int found;
            shape_face_point(mesh_block_of(fine, cell)->shape, fine->face_locals[2 * f + side], 0, s, eta);
            map_point(fine, cell, eta, x);
            must(mesh_invert(coarse, parent, lattices[mesh_block_index(coarse, parent)], x, xi, &found));
            assert_true(found);
            double outside = mesh_outside_by(mesh_block_of(coarse, parent)->shape, xi);
            if (above < 0)
                assert_true(outside < -1e-3);
            else
                assert_true(fabs(outside) < 1e-8 && is_on(coarse, parent, xi, above));
        }
    }
    for (int32_t f = 0; f < coarse->n_faces; f++)
        if (halved)
            assert_int_equal(counts[f], 1 << (fine->dim - 1));
        else
            assert_true(counts[f] > 0);
    for (int b = 0; b < 2; b++) free(lattices[b]);
    free(counts);
}

static void check_nesting(const struct mesh_nesting *n, int halved) {
    check_maps(n);
    check_volumes(n);
    check_children(n, halved);
    check_faces(n, halved);
}

static int is_nested(const struct facet_mesh *fine, const struct facet_mesh *coarse, int halved,
                     int *n_kinds) {
    struct mesh_nesting nesting;
    int nested;
    must(mesh_nest(fine, coarse, &nesting, &nested));
    if (nested) {
        assert_ptr_equal(nesting.fine, fine);
        assert_ptr_equal(nesting.coarse, coarse);
        check_nesting(&nesting, halved);
    } else
        assert_null(nesting.parents);
    if (n_kinds) *n_kinds = nesting.n_kinds;
    mesh_nesting_destroy(&nesting);
    mesh_nesting_destroy(&nesting);
    return nested;
}

/* ------------------------------------------------------------------------------------------ boxes */

/* Halved boxes of all splits are nested. Tets split in five have seven or twelve children then: their planes
 * are
 * +-x +-y +-z = even, which contain those of the coarse box, and the planes between the cubes. */
static const struct {
    int dim;
    const char *shape, *split;
    int has_eight;  /* as many children as by refinement */
    int most_kinds; /* of a halved uniform box */
} shapes[] = {{2, "quad", NULL, 1, 4},       {2, "triangle", "right", 1, 5},
              {2, "triangle", "left", 1, 5}, {2, "triangle", "alternating", 1, 11},
              {3, "hex", NULL, 1, 8},        {3, "tet", "six", 1, 48},
              {3, "tet", "five", 0, 48}};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static struct facet_mesh *make_box(int k, const int *cells, const int *periodic, const double *const *x) {
    facet_box box = {.size = sizeof(facet_box),
                     .dim = shapes[k].dim,
                     .lower = {-1, 2, 0.1},
                     .upper = {2, 3, 0.7},
                     .shape = shapes[k].shape,
                     .split = shapes[k].split};
    struct facet_mesh *mesh;
    for (int a = 0; a < box.dim; a++) {
        box.cells[a] = cells[a];
        if (periodic) box.periodic[a] = periodic[a];
        if (x) box.coordinates[a] = x[a];
    }
    must(mesh_create_box(&box, &mesh));
    must(mesh_need_lists(mesh));
    return mesh;
}

/* Boxes of even numbers in boxes of half of them, in every split and with every choice of periodic
 * directions. */
static void halved_boxes(void **state) {
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int p = 0; p < 4; p++) {
            int periodic[3] = {p & 1, p >> 1, p & 1}, fine_cells[3] = {8, 4, 4}, coarse_cells[3] = {4, 2, 2};
            struct facet_mesh *fine = make_box(k, fine_cells, periodic, NULL);
            struct facet_mesh *coarse = make_box(k, coarse_cells, periodic, NULL);
            int n_kinds;
            assert_int_equal(is_nested(fine, coarse, shapes[k].has_eight, &n_kinds), 1);
            if (n_kinds > shapes[k].most_kinds)
                fail_msg("%s %s: %d kinds", shapes[k].shape, shapes[k].split, n_kinds);
            assert_int_equal(is_nested(coarse, fine, 1, NULL), 0);
            mesh_destroy(&fine);
            mesh_destroy(&coarse);
        }
}

/* Thirds, and a mesh in itself. */
static void other_ratios(void **state) {
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        int fine_cells[3] = {6, 6, 3}, coarse_cells[3] = {2, 2, 1}, other[3] = {4, 4, 2};
        struct facet_mesh *fine = make_box(k, fine_cells, NULL, NULL);
        struct facet_mesh *coarse = make_box(k, coarse_cells, NULL, NULL);
        struct facet_mesh *between = make_box(k, other, NULL, NULL);
        assert_int_equal(is_nested(fine, coarse, 0, NULL), 1);
        assert_int_equal(is_nested(fine, fine, 0, NULL), 1);
        assert_int_equal(is_nested(fine, between, 0, NULL), 0);
        mesh_destroy(&fine);
        mesh_destroy(&coarse);
        mesh_destroy(&between);
    }
}

static void graded_boxes(void **state) {
    (void)state;
    static double x[3][17], half[3][9];
    const double *fine_x[3] = {x[0], x[1], x[2]}, *half_x[3] = {half[0], half[1], half[2]};
    for (int far = 0; far < 2; far++) {
        for (int i = 0; i <= 16; i++) {
            x[0][i] = pow(1.3, i);                      /* one ratio */
            x[1][i] = cos(3.14159265 * (1 - i / 16.0)); /* sixteen */
            x[2][i] = far ? 3e5 + 1e-3 * i : i;         /* uniform, and far away: halves with an error */
            for (int a = 0; a < 3; a++)
                if (i % 2 == 0) half[a][i / 2] = x[a][i];
        }
        for (int k = 0; k < N_SHAPES; k++) {
            int fine_cells[3] = {16, 16, 2}, coarse_cells[3] = {8, 8, 1}, n_kinds;
            int bricks = shapes[k].split == NULL;
            struct facet_mesh *fine = make_box(k, fine_cells, NULL, fine_x);
            struct facet_mesh *coarse = make_box(k, coarse_cells, NULL, half_x);
            assert_int_equal(is_nested(fine, coarse, 1, &n_kinds), bricks);
            if (bricks) assert_true(n_kinds <= 2 * 16 * (shapes[k].dim == 3 ? 2 : 1));
            mesh_destroy(&fine);
            mesh_destroy(&coarse);
        }
    }
}

/* A periodic box does not lie in one that is not, nor the other way round, nor one with another domain. */
static void other_topology(void **state) {
    (void)state;
    int yes[3] = {1, 0, 0}, four[3] = {4, 4, 4}, two[3] = {2, 2, 2};
    for (int k = 0; k < N_SHAPES; k++) {
        struct facet_mesh *fine[2] = {make_box(k, four, NULL, NULL), make_box(k, four, yes, NULL)};
        struct facet_mesh *coarse[2] = {make_box(k, two, NULL, NULL), make_box(k, two, yes, NULL)};
        for (int i = 0; i < 4; i++)
            assert_int_equal(is_nested(fine[i / 2], coarse[i % 2], shapes[k].has_eight, NULL),
                             i / 2 == i % 2);
        facet_box larger = {.size = sizeof(facet_box),
                            .dim = shapes[k].dim,
                            .lower = {-1, 2, 0.1},
                            .upper = {5, 3, 0.7},
                            .cells = {4, 2, 2},
                            .shape = shapes[k].shape,
                            .split = shapes[k].split};
        struct facet_mesh *wide;
        must(mesh_create_box(&larger, &wide));
        must(mesh_need_lists(wide));
        assert_int_equal(is_nested(fine[0], wide, 1, NULL), 0);
        mesh_destroy(&wide);
        for (int i = 0; i < 2; i++) {
            mesh_destroy(&fine[i]);
            mesh_destroy(&coarse[i]);
        }
    }
}

/* ------------------------------------------------------------------------------------------ refined meshes
 */

static void refined_boxes(void **state) {
    (void)state;
    int three[3] = {3, 2, 1}, two[3] = {2, 2, 2}, periodic[3] = {1, 0, 1};
    for (int k = 0; k < N_SHAPES; k++) {
        struct facet_mesh *mesh = make_box(k, shapes[k].has_eight ? three : two, periodic, NULL), *fine;
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        assert_null(fine->coarse);
        assert_int_equal(is_nested(fine, mesh, 1, NULL), 1);
        mesh_destroy(&fine);
        must(mesh_refine_keeping(mesh, 2));
        assert_non_null(mesh->coarse->coarse);
        assert_null(mesh->coarse->coarse->coarse);
        assert_int_equal(is_nested(mesh, mesh->coarse, 1, NULL), 1);
        assert_int_equal(is_nested(mesh, mesh->coarse->coarse, 0, NULL), 1);
        mesh_destroy(&mesh);
    }
}

/* Curved and mixed cells of files; the order of refinement is lost on the way over the search. */
static void refined_files(void **state) {
    (void)state;
    static const char *const files[] = {
        "annulus_1_41", "annulus_2_41", "annulus_3_41", "straight_2",  "ball_1_41", "ball_2_41", "ball_3_41",
        "pipe_1_41",    "pipe_2_41",    "pipe_3_41",    "periodic_41", "hex_3",     "tets_3"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[80];
        struct facet_mesh *mesh, *fine;
        snprintf(path, sizeof path, "tests/meshes/%s.msh", files[i]);
        must(mesh_read_gmsh(path, &mesh));
        must(mesh_refine(mesh, &fine));
        must(mesh_need_lists(fine));
        assert_int_equal(is_nested(fine, mesh, 1, NULL), 1);
        assert_int_equal(is_nested(mesh, fine, 1, NULL), 0);
        mesh_destroy(&fine);
        mesh_destroy(&mesh);
    }
}

/* Every way that applies finds the same parents. */
static void ways_agree(void **state) {
    (void)state;
    int two[3] = {2, 2, 2};
    for (int k = 0; k < N_SHAPES; k++) {
        struct facet_mesh *mesh = make_box(k, two, NULL, NULL);
        must(mesh_refine_keeping(mesh, 1));
        struct mesh_finder *order, *search;
        must(mesh_need_lists(mesh));
        must(mesh_need_lists(mesh->coarse));
        enum mesh_way fast = mesh_is_box(mesh) ? MESH_BY_INTERVALS : MESH_BY_ORDER;
        must(mesh_finder_create(fast, mesh, mesh->coarse, &order));
        must(mesh_finder_create(MESH_BY_SEARCH, mesh, mesh->coarse, &search));
        for (int32_t c = 0; c < mesh->n_cells; c++) {
            struct mesh_kind first, second;
            int32_t parent, other;
            must(mesh_find_parent(order, c, &parent, &first));
            must(mesh_find_parent(search, c, &other, &second));
            assert_int_equal(parent, other);
            assert_memory_equal(first.origin, second.origin, sizeof first.origin);
            assert_memory_equal(first.axes, second.axes, sizeof first.axes);
        }
        mesh_finder_destroy(&order);
        mesh_finder_destroy(&search);
        mesh_destroy(&mesh);
    }
}

/* Cells that are curved in another way than their parents are not nested, wherever their vertices are. */
static void moved_nodes(void **state) {
    (void)state;
    struct facet_mesh *mesh, *coarse;
    must(mesh_read_gmsh("tests/meshes/annulus_3_41.msh", &coarse));
    must(mesh_refine(coarse, &mesh));
    must(mesh_need_lists(mesh));
    assert_int_equal(is_nested(mesh, coarse, 1, NULL), 1);
    struct mesh_block *block = &mesh->blocks[0];
    double *node =
        block->nodes + ((int64_t)(block->count / 2) * block->n_nodes + 1) * mesh->dim; /* no vertex */
    double old = *node;
    *node += 1e-5;
    assert_int_equal(is_nested(mesh, coarse, 1, NULL), 0);
    *node = old;
    mesh_destroy(&mesh);
    mesh_destroy(&coarse);
}

/* ------------------------------------------------------------------------------------------ hierarchies */

static void check_hierarchy(const struct mesh_hierarchy *h, const struct facet_mesh *mesh, int has_eight) {
    for (int i = 0; i < h->n; i++) {
        assert_ptr_equal(h->nestings[i].fine, i ? h->nestings[i - 1].coarse : mesh);
        check_nesting(&h->nestings[i], !h->owned[i] || has_eight);
    }
}

static void hierarchies(void **state) {
    (void)state;
    int cells[3] = {4, 8, 4}, periodic[3] = {1, 0, 0};
    for (int k = 0; k < N_SHAPES; k++)
        for (int times = 0; times < (shapes[k].dim == 2 ? 3 : 2); times++) {
            struct facet_mesh *mesh = make_box(k, cells, periodic, NULL);
            struct mesh_hierarchy h;
            must(mesh_refine_keeping(mesh, times));
            must(mesh_hierarchy_create(mesh, 1, &h));
            /* 4 cells of a periodic direction can be halved once */
            assert_int_equal(h.n, times + 1);
            check_hierarchy(&h, mesh, shapes[k].has_eight);
            for (int i = 0; i < h.n; i++) assert_int_equal(h.owned[i] == NULL, i < times);
            assert_int_equal(h.why[0] == 0, h.n > 0);
            mesh_hierarchy_destroy(&h);
            mesh_hierarchy_destroy(&h);
            mesh_destroy(&mesh);
        }
}

static void expect_none(struct facet_mesh *mesh, int32_t least, const char *words) {
    struct mesh_hierarchy h;
    must(mesh_hierarchy_create(mesh, least, &h));
    assert_int_equal(h.n, 0);
    if (!strstr(h.why, words)) fail_msg("%s (expected: %s)", h.why, words);
    assert_true(strlen(h.why) < sizeof h.why - 1);
    mesh_hierarchy_destroy(&h);
    mesh_destroy(&mesh);
}

static void reasons(void **state) {
    (void)state;
    int odd[3] = {15, 16, 2}, even[3] = {8, 8, 8}, two[3] = {2, 2, 2}, periodic[3] = {0, 1, 0},
        six[3] = {6, 6, 6}, all[3] = {1, 1, 1};
    double x[9];
    const double *graded[3] = {x, NULL, NULL};
    struct facet_mesh *file;
    struct mesh_hierarchy h;
    for (int i = 0; i <= 8; i++) x[i] = i * i;
    must(mesh_read_gmsh("tests/meshes/annulus_2_41.msh", &file));
    expect_none(file, 1, "mesh.refine");
    expect_none(make_box(0, odd, NULL, NULL), 1, "15 x 16");
    expect_none(make_box(4, odd, NULL, NULL), 1, "15 x 16 x 2");
    expect_none(make_box(6, six, all, NULL), 1, "split in five");
    expect_none(make_box(0, two, periodic, NULL), 1, "periodic");
    expect_none(make_box(0, even, NULL, NULL), 17, "too few");
    expect_none(make_box(1, even, NULL, graded), 1, "graded");
    struct facet_mesh *mesh = make_box(0, even, NULL, graded);
    must(mesh_hierarchy_create(mesh, 4, &h));
    assert_int_equal(h.n, 2);
    assert_int_equal(h.nestings[1].coarse->n_cells, 4);
    check_hierarchy(&h, mesh, 1);
    mesh_hierarchy_destroy(&h);
    mesh_destroy(&mesh);
}

/* The parents do not depend on the threads, nor do the kinds. */
static void threads_agree(void **state) {
    (void)state;
    int cells[3] = {64, 64, 1}, half[3] = {32, 32, 1}, nested;
    for (int k = 0; k < 4; k++) {
        struct facet_mesh *fine = make_box(k, cells, NULL, NULL), *coarse = make_box(k, half, NULL, NULL);
        struct mesh_nesting n[2];
        for (int t = 0; t < 2; t++) {
            base_set_threads(t ? 4 : 1);
            must(mesh_nest(fine, coarse, &n[t], &nested));
            assert_true(nested);
        }
        base_set_threads(1);
        assert_int_equal(n[0].n_kinds, n[1].n_kinds);
        for (int i = 0; i < n[0].n_kinds; i++) {
            assert_memory_equal(n[0].kind[i].origin, n[1].kind[i].origin, sizeof n[0].kind[i].origin);
            assert_memory_equal(n[0].kind[i].axes, n[1].kind[i].axes, sizeof n[0].kind[i].axes);
        }
        assert_memory_equal(n[0].parents, n[1].parents, (size_t)fine->n_cells * 4);
        assert_memory_equal(n[0].kinds, n[1].kinds, (size_t)fine->n_cells * 2);
        for (int t = 0; t < 2; t++) mesh_nesting_destroy(&n[t]);
        mesh_destroy(&fine);
        mesh_destroy(&coarse);
    }
}

/* ------------------------------------------------------------------------------------------ memory */

static void fail_in_turn(const struct facet_mesh *mesh) {
    struct base_memory before, after;
    struct mesh_hierarchy h;
    for (const struct facet_mesh *level = mesh; level; level = level->coarse) must(mesh_need_lists(level));
    base_memory_read(&before);
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = mesh_hierarchy_create(mesh, 1, &h);
        base_memory_fail_at(0);
        if (status == FACET_OK) {
            assert_true(h.n > 0);
            mesh_hierarchy_destroy(&h);
            base_memory_read(&after);
            assert_int_equal(after.live_blocks, before.live_blocks);
            return;
        }
        assert_int_equal(status, FACET_ERROR_MACHINE);
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
    }
}

/* A search also has its allocations. */
static void fail_search(const struct facet_mesh *fine, const struct facet_mesh *coarse) {
    struct base_memory before, after;
    struct mesh_nesting nesting;
    facet_status status = FACET_ERROR_MACHINE;
    int nested;
    base_memory_read(&before);
    for (int64_t k = 1; status != FACET_OK; k++) {
        base_memory_fail_at(k);
        status = mesh_nest(fine, coarse, &nesting, &nested);
        base_memory_fail_at(0);
        assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
        assert_int_equal(nested, status == FACET_OK);
        mesh_nesting_destroy(&nesting);
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
    }
}

static void faults(void **state) {
    (void)state;
    int four[3] = {4, 4, 4}, two[3] = {2, 2, 2}, one[3] = {1, 1, 1};
    for (int k = 0; k < N_SHAPES; k++) {
        struct facet_mesh *mesh = make_box(k, two, NULL, NULL);
        must(mesh_refine_keeping(mesh, 1));
        fail_in_turn(mesh);
        struct facet_mesh *fine = make_box(k, four, NULL, NULL), *coarse = make_box(k, one, NULL, NULL);
        fail_search(fine, mesh->coarse);
        fail_search(mesh, coarse);
        mesh_destroy(&fine);
        mesh_destroy(&coarse);
        mesh_destroy(&mesh);
    }
    struct base_memory before, after;
    struct facet_mesh *mesh = make_box(1, two, NULL, NULL);
    for (int64_t k = 1;; k++) { /* a mesh that was refined but once is a mesh */
        base_memory_fail_at(k);
        facet_status status = mesh_refine_keeping(mesh, 2);
        base_memory_fail_at(0);
        if (mesh->coarse) assert_int_equal(is_nested(mesh, mesh->coarse, 1, NULL), 1);
        mesh_destroy(&mesh);
        base_memory_read(k == 1 ? &before : &after);
        if (k > 1) assert_int_equal(before.live_blocks, after.live_blocks);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        mesh = make_box(1, two, NULL, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halved_boxes),   cmocka_unit_test(other_ratios),  cmocka_unit_test(graded_boxes),
        cmocka_unit_test(other_topology), cmocka_unit_test(refined_boxes), cmocka_unit_test(refined_files),
        cmocka_unit_test(ways_agree),     cmocka_unit_test(moved_nodes),   cmocka_unit_test(hierarchies),
        cmocka_unit_test(reasons),        cmocka_unit_test(threads_agree), cmocka_unit_test(faults),
    };
    base_set_threads(1); /* the meshes are small */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
