/* The run of a case inside one process: values and orders of a small case, what a failed run leaves behind,
 * and every allocation made to fail in turn. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "case/run_case.h"

static char directory[] = "/tmp/facet-test-run-XXXXXX", case_path[64], vtu_path[64], csv_path[64];

static const char smooth[] = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: quad}}\n"
                             "equation: diffusion\n"
                             "parameters: {k: 2}\n"
                             "conductivity: [[1 + x, 0.1], [0.1, k]]\n"
                             "reaction: 1\n"
                             "exact: x*x + k*y\n"
                             "boundary: [{on: xmin, neumann: exact}, {on: ymax, robin: {a: 1, g: exact}}]\n"
                             "discretization: {degree: 2}\n"
                             "values:\n"
                             "  - {name: point, field: u, at: [0.5, 0.25]}\n"
                             "  - {name: mean, field: q, take: mean}\n"
                             "  - {name: out, field: flux, take: integral, on: ymin}\n";

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    snprintf(case_path, sizeof case_path, "%s/case.yaml", directory);
    snprintf(vtu_path, sizeof vtu_path, "%s/a.vtu", directory);
    snprintf(csv_path, sizeof csv_path, "%s/a.csv", directory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(case_path);
    unlink(vtu_path);
    unlink(csv_path);
    return rmdir(directory);
}

static void read_case(const char *text, struct case_file **file) {
    assert_int_equal(file_write_whole(case_path, text, strlen(text)), FACET_OK);
    if (case_read(case_path, NULL, 0, NULL, file) != FACET_OK) fail_msg("%s", base_message());
}

static void test_exact_in_the_space(void **state) {
    (void)state;
    struct case_file *file;
    facet_context *context;
    struct run run;
    read_case(smooth, &file);
    assert_int_equal(facet_context_create(NULL, &context), FACET_OK);
    for (int refine = 0; refine < 2; refine++) {
        const struct run_options options = {.refine = refine, .degree = 2 + refine};
        if (run_solve(file, context, &options, &run) != FACET_OK) fail_msg("%s", base_message());
        assert_int_equal(run.mesh->n_cells, refine ? 16 : 4);
        assert_int_equal(run.degree, 2 + refine);
        assert_true(run.has_errors && run.errors.u_L2 < 1e-11 && run.errors.u_star_L2 < 1e-11);
        assert_int_equal(run.n_values, 3);
        assert_float_equal(run.values[0].numbers[0], 0.25 + 0.5, 1e-11);
        assert_int_equal(run.values[1].n_components, 2);
        /* q = -K (2x, 2) = -((1 + x) 2x + 0.2, 0.2 x + 4); its means over the square */
        assert_float_equal(run.values[1].numbers[0], -(1.0 + 2.0 / 3.0 + 0.2), 1e-10);
        assert_float_equal(run.values[1].numbers[1], -(0.1 + 4.0), 1e-10);
        assert_float_equal(run.values[2].numbers[0], 4.1, 1e-10); /* q.n, n = (0, -1) */
        run_destroy(&run);
    }
    facet_context_destroy(&context);
    case_destroy(&file);
}

/* A case with everything that is written. */
static facet_status whole_run(const char *const settings[], int n_settings, struct text *json_text) {
    facet_status status = FACET_OK;
    struct case_file *file = NULL;
    facet_context *context = NULL;
    struct run run = {0};
    struct json json;
    TRY(case_read(case_path, NULL, n_settings, settings, &file));
    TRY(facet_context_create("ref", &context));
    base_set_threads(1);
    TRY(run_solve(file, context, NULL, &run));
    json_begin(&json, json_text);
    run_write_json(&run, &run.errors, &json);
    TRY(json_text->status);
done:
    run_destroy(&run);
    facet_context_destroy(&context);
    case_destroy(&file);
    return status;
}

static void test_every_allocation_fails(void **state) {
    (void)state;
    struct case_file *unused;
    struct base_memory before, after;
    char vtu[128], line[256];
    snprintf(vtu, sizeof vtu, "output.file=%s", vtu_path);
    snprintf(line, sizeof line,
             "values=[{name: l, field: q, along: [[0, 0], [1, 1]], points: 3, file: %s}, {name: m, field: u, "
             "take: max}]",
             csv_path);
    const char *const settings[] = {vtu, line, "discretization.degree=1", "mesh.box.cells=[1, 1]"};
    read_case(smooth, &unused);
    case_destroy(&unused);
    base_memory_read(&before);
    for (int k = 1;; k++) {
        struct text json = {0};
        base_memory_fail_at(k);
        facet_status status = whole_run(settings, 4, &json);
        base_memory_fail_at(0);
        text_free(&json);
        base_memory_read(&after);
        assert_int_equal(after.live_blocks, before.live_blocks);
        if (status == FACET_OK) {
            assert_true(k > 200);
            break;
        }
        if (status != FACET_ERROR_MACHINE)
            fail_msg("allocation %d: status %d, %s", k, status, base_message());
        assert_true(k < 20000);
    }
}

/* A wrong name is found with the mesh, at its place; an interrupted run ends as such. */
static void test_failures(void **state) {
    (void)state;
    struct case_file *file;
    facet_context *context;
    struct run run;
    read_case("mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}\nequation: diffusion\nexact: x\n"
              "conductivity:\n  - {on: steel, value: 1}\nvalues:\n"
              "  - {name: l, field: u, along: [[2, 0], [3, 0]]}\n",
              &file);
    assert_int_equal(facet_context_create(NULL, &context), FACET_OK);
    assert_int_equal(run_solve(file, context, NULL, &run), FACET_ERROR_INPUT);
    assert_non_null(
        strstr(base_message(), "case.yaml:5:10: conductivity: there is no group of cells 'steel'"));
    assert_non_null(strstr(base_message(), "case.yaml:7:5: value 'l'"));
    assert_true(!run.has_report && !run.has_errors && run.n_values == 0);
    run_destroy(&run);
    case_destroy(&file);
    read_case(smooth, &file);
    facet_interrupt();
    assert_int_equal(run_solve(file, context, NULL, &run), FACET_INTERRUPTED);
    facet_interrupt_clear();
    run_destroy(&run);
    facet_context_destroy(&context);
    case_destroy(&file);
}

struct seen {
    int n;
    double done, total;
};

static void see(void *user, const facet_event *event) {
    struct seen *seen = user;
    if (event->kind != FACET_EVENT_PROGRESS) return;
    assert_true(event->done > seen->done && event->done <= event->total);
    *seen = (struct seen){seen->n + 1, event->done, event->total};
}

/* What is done is counted in cells, over all shapes of the mesh. */
static void test_progress(void **state) {
    (void)state;
    struct case_file *file;
    facet_context *context;
    struct run run;
    struct seen seen = {0};
    char text[512];
    snprintf(text, sizeof text,
             "mesh: {file: %s/tests/meshes/annulus_2_41.msh}\nequation: diffusion\nexact: x*y\n"
             "discretization: {degree: 2}\n",
             getenv("FACET_SOURCE_DIR") ? getenv("FACET_SOURCE_DIR") : ".");
    read_case(text, &file);
    assert_int_equal(facet_context_create(NULL, &context), FACET_OK);
    facet_context_set_monitor(context, see, &seen);
    if (run_solve(file, context, NULL, &run) != FACET_OK) fail_msg("%s", base_message());
    assert_true(seen.n > 1 && run.mesh->n_blocks == 2);
    assert_true(seen.total == run.mesh->n_cells && seen.done == seen.total);
    run_destroy(&run);
    facet_context_destroy(&context);
    case_destroy(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_in_the_space),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_progress),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
