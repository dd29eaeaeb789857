/* A box of quads or hexes knows all about itself without lists; they are made once, by whoever asks first,
 * and a solve on the box never asks. */
#include "hdg_helpers.h"

#include <pthread.h>

#include "base/run.h"
#include "mesh/mesh_internal.h"

static const double graded[4] = {0, 0.4, 1, 1.3};

static struct facet_mesh *make(int dim, int periodic, int refine) {
    facet_box box = {.size = sizeof(facet_box),
                     .dim = dim,
                     .lower = {0, -1, 2},
                     .upper = {0, 1, 2.5},
                     .cells = {3, 2, 2},
                     .coordinates = {graded},
                     .shape = dim == 2 ? "quad" : "hex",
                     .periodic = {periodic & 1, periodic >> 1 & 1, dim == 3 && periodic & 4}};
    struct facet_mesh *mesh;
    ok(mesh_create_box(&box, &mesh));
    ok(mesh_refine_keeping(mesh, refine));
    return mesh;
}

static void same_counts(const struct facet_mesh *box, const struct facet_mesh *listed) {
    assert_int_equal(box->n_cells, listed->n_cells);
    assert_int_equal(box->n_vertices, listed->n_vertices);
    assert_int_equal(box->n_faces, listed->n_faces);
    assert_int_equal(box->n_boundary_faces, listed->n_boundary_faces);
    assert_int_equal(box->order, listed->order);
    assert_int_equal(box->n_blocks, listed->n_blocks);
    assert_int_equal(box->blocks[0].shape, listed->blocks[0].shape);
    assert_int_equal(box->blocks[0].count, listed->blocks[0].count);
    assert_int_equal(box->blocks[0].n_nodes, listed->blocks[0].n_nodes);
    assert_string_equal(box->shape_text, listed->shape_text);
    assert_int_equal(box->n_groups, listed->n_groups);
    for (int g = 0; g < box->n_groups; g++) {
        assert_string_equal(box->groups[g].name, listed->groups[g].name);
        assert_int_equal(box->groups[g].dim, listed->groups[g].dim);
        assert_int_equal(box->groups[g].count, listed->groups[g].count);
    }
}

/* The faces of a side are those of the lists, each once. */
static void same_sides(const struct facet_mesh *box, const struct facet_mesh *listed) {
    const struct mesh_block *block = &listed->blocks[0];
    char *seen = calloc((size_t)listed->n_faces, 1);
    for (int g = 0; g < box->n_groups; g++) {
        const struct mesh_group *group = &listed->groups[g];
        for (int32_t i = 0; i < group->count; i++) {
            struct mesh_group_face face = mesh_group_face(box, &box->groups[g], i);
            int32_t id = block->faces[face.cell * shape_n_faces(block->shape) + face.local];
            int32_t k = 0;
            while (k < group->count && group->ids[k] != id) k++;
            assert_true(k < group->count && !seen[id] && !face.is_inner);
            seen[id] = 1;
        }
    }
    free(seen);
}

static void same_geometry(const struct facet_mesh *box, const struct facet_mesh *listed) {
    struct mesh_quality one, other;
    struct mesh_locator *here, *there;
    ok(mesh_measure_quality(box, &one));
    ok(mesh_measure_quality(listed, &other));
    near(one.volume, other.volume, 1e-14);
    near(one.smallest_diameter, other.smallest_diameter, 1e-14);
    near(one.largest_diameter, other.largest_diameter, 1e-14);
    assert_true(one.smallest_jacobian == other.smallest_jacobian && one.n_curved == other.n_curved);
    for (int a = 0; a < 3; a++) assert_true(one.lower[a] == other.lower[a] && one.upper[a] == other.upper[a]);
    ok(mesh_locator_create(box, &here));
    ok(mesh_locator_create(listed, &there));
    for (int32_t c = 0; c < box->n_cells; c++) {
        char text[80], same[80];
        double x[3] = {0}, nodes[24], xi[3], eta[3];
        int32_t found, wanted;
        mesh_middle_text(box, c, c % 4, text, sizeof text);
        assert_string_equal(text, mesh_middle_text(listed, c, c % 4, same, sizeof same));
        mesh_box_nodes(box, c, nodes);
        assert_memory_equal(nodes, mesh_cell_nodes(listed, c),
                            sizeof(double) * (size_t)(box->dim << box->dim));
        for (int i = 0; i < box->dim << box->dim; i++)
            x[i % box->dim] += nodes[i] * (i < box->dim ? 2.0 : 1.0) / (1.0 + (1 << box->dim));
        ok(mesh_locate(here, x, &found, xi));
        ok(mesh_locate(there, x, &wanted, eta));
        assert_int_equal(found, wanted);
        for (int a = 0; a < box->dim; a++) near(xi[a], eta[a], 1e-13);
    }
    double beside[3] = {1.3 + 1e-12, 0, 2.2}, outside[3] = {1.31, 0, 2.2}, xi[3];
    int32_t found;
    ok(mesh_locate(here, beside, &found, xi));
    assert_true(found >= 0);
    ok(mesh_locate(here, outside, &found, xi));
    assert_int_equal(found, -1);
    mesh_locator_destroy(&here);
    mesh_locator_destroy(&there);
}

static void a_box_knows_without_lists(void **state) {
    (void)state;
    for (int dim = 2; dim <= 3; dim++)
        for (int periodic = 0; periodic < 1 << dim; periodic++)
            for (int refine = 0; refine < 2; refine++) {
                struct facet_mesh *box = make(dim, periodic, refine), *listed;
                ok(mesh_list_box(box, &listed));
                assert_true(!mesh_is_box(listed) && listed->late->has_lists);
                same_counts(box, listed);
                same_sides(box, listed);
                same_geometry(box, listed);
                assert_true(!box->late->has_lists && box->face_cells == NULL);
                ok(mesh_need_lists(box));
                same_counts(box, listed);
                assert_memory_equal(box->face_cells, listed->face_cells, 8u * (size_t)box->n_faces);
                mesh_destroy(&box);
                mesh_destroy(&listed);
            }
}

struct asker {
    const struct facet_mesh *mesh;
    facet_status status;
    const int32_t *faces;
    int64_t sum;
};

static void *ask(void *user) {
    struct asker *a = user;
    a->status = mesh_need_lists(a->mesh);
    a->faces = a->mesh->face_cells;
    for (int32_t f = 0; f < 2 * a->mesh->n_faces; f++) a->sum += a->faces[f];
    return NULL;
}

static void many_ask_and_one_makes(void **state) {
    (void)state;
    enum { N = 8 };
    struct facet_mesh *alone = make(3, 2, 2), *shared = make(3, 2, 2);
    struct asker askers[N];
    struct base_memory before, after;
    pthread_t threads[N];
    base_memory_read(&before);
    ok(mesh_need_lists(alone));
    base_memory_read(&after);
    long long blocks = after.live_blocks - before.live_blocks;
    base_memory_read(&before);
    for (int i = 0; i < N; i++) {
        askers[i] = (struct asker){.mesh = shared};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(askers[i].status, FACET_OK);
        assert_ptr_equal(askers[i].faces, shared->face_cells);
        assert_int_equal(askers[i].sum, askers[0].sum);
    }
    base_memory_read(&after);
    assert_int_equal(after.live_blocks - before.live_blocks, blocks);
    assert_memory_equal(shared->face_cells, alone->face_cells, 8u * (size_t)alone->n_faces);
    mesh_destroy(&alone);
    mesh_destroy(&shared);
}

static void every_allocation_of_lists_may_fail(void **state) {
    (void)state;
    struct facet_mesh *mesh = make(3, 1, 0), *again = make(3, 1, 0);
    struct base_memory before, after;
    ok(mesh_need_lists(again));
    for (int64_t k = 1;; k++) {
        base_memory_read(&before);
        base_memory_fail_at(k);
        facet_status status = mesh_need_lists(mesh);
        base_memory_fail_at(0);
        if (status == FACET_OK) break;
        base_memory_read(&after);
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_int_equal(after.live_blocks, before.live_blocks);
        assert_true(!mesh->late->has_lists && mesh->face_cells == NULL && mesh->n_faces == again->n_faces);
    }
    assert_memory_equal(mesh->face_cells, again->face_cells, 8u * (size_t)again->n_faces);
    mesh_destroy(&mesh);
    mesh_destroy(&again);
}

/* Everything that a case may ask for but the operator mapped; k = 0: constant conductivity, 1: by cells. */
static void solve_on(struct facet_mesh *mesh, const char *discretization, const char *method, int k) {
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_report report = {.size = sizeof report};
    facet_mesh_info info = {.size = sizeof info};
    double value[SAMPLE_MAX_COMPONENTS], at[3] = {0.3, 0.4, 2.1};
    const char *conductivity[2] = {"2", "1 + step(x - 0.4)"};
    int n;
    facet_options_default(&options, sizeof options);
    options.degree = 2;
    options.discretization = discretization;
    options.method = method;
    ok(facet_context_create(NULL, &context));
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    ok(facet_problem_set_conductivity(problem, NULL, 1, &conductivity[k]));
    ok(facet_problem_set_source(problem, "x + y"));
    ok(facet_problem_set_neumann(problem, "ymax", "1"));
    ok(facet_problem_set_dirichlet(problem, "rest", "x"));
    ok(facet_solver_create(problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_report(solver, &report));
    assert_true(report.converged);
    ok(facet_solver_evaluate(solver, "q", 1, at, value));
    ok(sample_take(solver, "u", -1, SAMPLE_MEAN, NULL, value, &n));
    ok(sample_take(solver, "q", -1, SAMPLE_INTEGRAL, NULL, value, &n));
    ok(sample_take(solver, "u", -1, SAMPLE_MAX, "xmax", value, &n));
    near(value[0], 1.3, 0.05);
    ok(sample_take(solver, "flux", -1, SAMPLE_INTEGRAL, "ymax", value, &n));
    ok(facet_mesh_get_info(mesh, &info));
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_context_destroy(&context);
}

static void a_solve_makes_no_lists(void **state) {
    (void)state;
    for (int refine = 0; refine < 2; refine++) {
        struct facet_mesh *mesh = make(3, 0, refine);
        for (int k = 0; k < 2; k++) solve_on(mesh, "hdg", "auto", k);
        solve_on(mesh, "hdg", "direct", 0);
        solve_on(mesh, "continuous", "auto", 0);
        assert_true(!mesh->late->has_lists);
        solve_on(mesh, "condensed", "auto", 0);
        assert_true(mesh->late->has_lists);
        mesh_destroy(&mesh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_knows_without_lists),
        cmocka_unit_test(many_ask_and_one_makes),
        cmocka_unit_test(every_allocation_of_lists_may_fail),
        cmocka_unit_test(a_solve_makes_no_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
