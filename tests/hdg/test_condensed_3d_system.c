/* The condensed continuous method on tets and hexes: the skeleton of the mesh, the matrix in every form,
 * affine cells, periodic numbering, failing allocations. */
#include "condensed_helpers.h"
#include "cube_helpers.h"

/* ------------------------------------------------------------------------------------------ the skeleton */

static void vertices_edges_and_faces_obey_euler(void **state) {
    (void)state;
    static const int sizes[][3] = {{3, 2, 4}, {1, 2, 3}, {1, 1, 1}, {2, 2, 2}};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 4; i++)
            for (int p = 0; p < 8; p++) {
                int periodic[3] = {p & 1, p >> 1 & 1, p >> 2}, n[3], points = 1;
                struct facet_mesh *mesh = cube(cube_shapes[s], sizes[i], periodic, 1, 0.0, 7);
                struct mesh_skeleton skeleton;
                for (int a = 0; a < 3; a++) {
                    n[a] = sizes[i][a];
                    points *= n[a] + !periodic[a];
                }
                ok(mesh_skeleton_create(mesh, &skeleton));
                assert_int_equal(skeleton.n_vertices, points);
                assert_int_equal(points - skeleton.n_edges + mesh->n_faces - mesh->n_cells, p == 0);
                mesh_skeleton_destroy(&skeleton);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ the system */

static void the_matrix_is_symmetric_positive_definite_in_every_form(void **state) {
    (void)state;
    const int n[3] = {2, 1, 1};
    for (int s = 0; s < 2; s++)
        for (int k = 1; k <= 4; k++)
            for (int singular = 0; singular < 2; singular++) {
                struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, s ? 0.1 : 0.0, 5);
                struct setup p = {.mesh = mesh,
                                  .degree = k,
                                  .n_K = 1,
                                  .K = {k == 3 ? "1 + x" : "3"},
                                  .device = k == 2 ? "debug" : NULL,
                                  .conditions = {{"rest", "neumann", "0", NULL}}};
                if (!singular)
                    p.conditions[1] = (struct condition){"xmin", "dirichlet", "y", NULL},
                    p.conditions[2] = (struct condition){"ymax", "robin", "1", "x"};
                struct solved r;
                condense(&p, &r);
                assert_int_equal(mapped_of(r.solver)->hdg->singular, singular);
                compare_products(&r);
                release(&r);
                mesh_destroy(&mesh);
            }
}

/* Affine cells by reference matrices against the same cells by points. */
static void reference_matrices_agree_with_points(void **state) {
    (void)state;
    const int n[3] = {2, 2, 2};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(cube_shapes[s], n, whole, 1, 0.0, 9);
        struct setup p = {.mesh = mesh,
                          .degree = 4,
                          .source = "exp(x*y) + z",
                          .reaction = "2",
                          .n_K = 1,
                          .K = {"3"},
                          .conditions = {{"xmin", "dirichlet", "sin(3*y) + z^2", NULL},
                                         {"xmax", "robin", "1 + y", "2"},
                                         {"rest", "neumann", "x", NULL}}};
        struct solved a, b;
        condense(&p, &a);
        p.K[0] = "3 + 0*x";
        p.reaction = "2 + 0*x";
        p.method = "cg";
        p.preconditioner = s ? "amg" : "block";
        condense(&p, &b);
        near(largest_difference(&a, &b), 0, 1e-11);
        release(&a);
        release(&b);
        mesh_destroy(&mesh);
    }
}

/* ------------------------------------------------------------------------------------------ conditions */

static void periodic_problems_join_their_entities(void **state) {
    (void)state;
    static const int sizes[][3] = {{3, 2, 1}, {1, 2, 2}, {1, 1, 1}};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 3; i++)
            for (int singular = 0; singular < 2; singular++) {
                const int periodic[3] = {1, i != 1, 1};
                struct facet_mesh *mesh = cube(cube_shapes[s], sizes[i], periodic, 1, 0.0, (uint32_t)(i + 1));
                struct setup p = {.mesh = mesh,
                                  .degree = 3,
                                  .reaction = singular ? "0" : "1",
                                  .exact = "1 + sin(2*pi*x)*cos(2*pi*y) + 0*z"};
                if (i == 1) p.conditions[0] = (struct condition){"rest", "neumann", "exact", NULL};
                struct solved r;
                condense(&p, &r);
                assert_int_equal(mapped_of(r.solver)->hdg->singular, singular);
                near(largest_jump(&r), 0, 1e-12);
                if (sizes[i][0] * sizes[i][1] < 4) compare_products(&r);
                release(&r);
                mesh_destroy(&mesh);
            }
}

/* ------------------------------------------------------------------------------------------ failures */

static int64_t allocations(void) {
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.allocations;
}

/* The tables of the space, which HDG has too, are many and come first: every 61st of them will do. */
static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    const int n[3] = {1, 1, 2}, periodic[3] = {0, 0, 1};
    for (int s = 0; s < 2; s++) {
        struct facet_mesh *mesh = cube(cube_shapes[s], n, periodic, 1, 0.0, 6);
        struct setup p = {
            .mesh = mesh,
            .degree = 3 - s,
            .exact = "x*y + 1",
            .reaction = "1",
            .method = "cg",
            .preconditioner = "block",
            .conditions = {{"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "1 + x"}}};
        struct solved r;
        struct hdg_space space;
        facet_status status = FACET_ERROR_MACHINE;
        base_set_threads(1);
        int64_t before = live_blocks(), start = allocations(), at = 1;
        ok(hdg_space_create(mesh, p.degree, NULL, &space));
        int64_t tables = allocations() - start;
        hdg_space_destroy(&space);
        for (; status != FACET_OK; at += at < tables ? 61 : 1) {
            base_memory_fail_at(at);
            status = try_condensed(&p, &r);
            base_memory_fail_at(0);
            if (status == FACET_OK) break;
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
        }
        assert_true(at > tables + 100);
        release(&r);
        assert_int_equal(live_blocks(), before);
        base_set_threads(0);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vertices_edges_and_faces_obey_euler),
        cmocka_unit_test(the_matrix_is_symmetric_positive_definite_in_every_form),
        cmocka_unit_test(reference_matrices_agree_with_points),
        cmocka_unit_test(periodic_problems_join_their_entities),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
