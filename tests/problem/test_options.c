/* Words of options: every pair of them over small problems, of which `facet check` refuses what `facet solve`
 * refuses, with the same sentence; and what a caller may do with his buffers once there is a solver. */
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
#include "long.h"

/* ------------------------------------------------------------------------------------------ the pairs */

/* Two triangles and a quad. */
static const char mixed_mesh[] =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    "$PhysicalNames\n2\n1 1 \"wall\"\n2 2 \"body\"\n$EndPhysicalNames\n"
    "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0\n$EndNodes\n"
    "$Elements\n9\n1 1 2 1 1 1 2\n2 1 2 1 1 2 3\n3 1 2 1 1 3 6\n4 1 2 1 1 6 5\n5 1 2 1 1 5 4\n"
    "6 1 2 1 1 4 1\n7 3 2 2 1 1 2 5 4\n8 2 2 2 1 2 3 6\n9 2 2 2 1 2 6 5\n$EndElements\n";

#define SQUARE(shape) "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: " shape "}}\n"
#define CUBE(shape)   "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [2, 1, 1], shape: " shape "}}\n"
#define DIFFUSION     "equation: diffusion\nsource: 1\nboundary: [{on: rest, dirichlet: 0}]\n"
#define ELASTIC       "equation: elasticity\nmaterial: {mu: 1, lambda: 1}\n"
#define CLAMPED       "boundary: [{on: rest, displacement: [0, 0]}]\nsource: [0, 1]\n"
#define PULLED        "boundary: [{on: xmin, displacement: [0, 0]}, {on: rest, traction: [0, 0]}]\nsource: [0, 1]\n"
#define WITH(method)  "discretization: {degree: 2, method: " method "}\n"

static const struct {
    const char *name, *text;
} problems[] = {
    {"triangles", SQUARE("triangle") DIFFUSION WITH("hdg")},
    {"quads", SQUARE("quad") DIFFUSION WITH("hdg")},
    {"quads that jump", SQUARE("quad") DIFFUSION WITH("hdg") "conductivity: \"if(x < 0.5, 1, 100)\"\n"},
    {"quads that vary", SQUARE("quad") DIFFUSION WITH("hdg") "conductivity: 1 + x\n"},
    {"mixed", "mesh: {file: mixed.msh}\n" DIFFUSION WITH("hdg")},
    {"tets", CUBE("tet") DIFFUSION WITH("hdg")},
    {"hexes", CUBE("hex") DIFFUSION WITH("hdg")},
    {"condensed", SQUARE("quad") DIFFUSION WITH("condensed")},
    {"continuous", SQUARE("quad") DIFFUSION WITH("continuous")},
    {"continuous that jump",
     SQUARE("quad") DIFFUSION WITH("continuous") "conductivity: \"if(x < 0.5, 1, 100)\"\n"},
    {"symmetric", SQUARE("triangle") ELASTIC CLAMPED "discretization: {degree: 1}\n"},
    {"gradient", SQUARE("quad") ELASTIC CLAMPED "discretization: {degree: 1, formulation: gradient}\n"},
    {"gradient, pulled",
     SQUARE("quad") ELASTIC PULLED "discretization: {degree: 1, formulation: gradient}\n"},
    {"elastic tets",
     CUBE("tet") ELASTIC "boundary: [{on: rest, displacement: [0, 0, 0]}]\nsource: [0, 0, 1]\n"
                         "discretization: {degree: 1}\n"},
};
#define N_PROBLEMS (sizeof problems / sizeof problems[0])

static char directory[] = "/tmp/facet-test-options-XXXXXX", case_path[64], mesh_path[64];

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    snprintf(case_path, sizeof case_path, "%s/case.yaml", directory);
    snprintf(mesh_path, sizeof mesh_path, "%s/mixed.msh", directory);
    return file_write_whole(mesh_path, mixed_mesh, sizeof mixed_mesh - 1) == FACET_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    unlink(mesh_path);
    return rmdir(directory);
}

/* All settings of option words, and one for each number that goes with them. */
#define MOST_SETTINGS 96
#define SETTING_BYTES 64
static int n_settings, key_of[MOST_SETTINGS], is_first[MOST_SETTINGS]; /* the word that is taken anyway */
static char settings[MOST_SETTINGS][SETTING_BYTES];

static void add_setting(int key, int word, const char *path, const char *text) {
    assert_true(n_settings < MOST_SETTINGS);
    key_of[n_settings] = key;
    is_first[n_settings] = word == 0;
    snprintf(settings[n_settings++], SETTING_BYTES, "%s=%s", path, text);
}

static void list_settings(void) {
    static const char *const numbers[][2] = {
        {"solver.smoother_degree", "2"}, {"solver.coarse_unknowns", "10"}, {"solver.fill", "1"}};
    n_settings = 0;
    for (int key = 0; key < OPTION_N_KEYS; key++)
        for (int w = 0; option_words[key][w] != NULL; w++)
            add_setting(key, w, option_paths[key], option_words[key][w]);
    for (int i = 0; i < 3; i++) add_setting(OPTION_N_KEYS + i, 1, numbers[i][0], numbers[i][1]);
}

/* What `facet check` does with a case (app/check.c). */
static facet_status check(const struct case_file *file, facet_context *context) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    struct problem_findings findings;
    TRY(run_mesh(file, context, 0, &mesh));
    TRY(run_problem(file, context, mesh, NULL, &problem));
    TRY(run_check_data(file, problem, &findings));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    return status;
}

static const char *plain_message(facet_status status) {
    static char message[BASE_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", status == FACET_OK ? "" : base_message());
    return message;
}

/* One case both ways; a solve of what was found good may end without convergence. */
static void compare(facet_context *context, int problem, int n, const char *const *set) {
    struct case_file *file;
    struct run run;
    char said[BASE_MESSAGE_BYTES];
    const char *text = problems[problem].text;
    if (case_read_bytes(case_path, text, strlen(text), n, set, &file) != FACET_OK)
        return; /* by the reader, which both have */
    facet_status checked = check(file, context);
    snprintf(said, sizeof said, "%s", plain_message(checked));
    facet_status solved = run_solve(file, context, &(struct run_options){.no_files = 1}, &run);
    const char *message = plain_message(solved);
    if (solved != checked ? solved != FACET_NOT_CONVERGED || checked != FACET_OK
                          : strcmp(said, message) != 0 && solved != FACET_OK)
        fail_msg("%s, %s, %s: check says %d '%s', and solve %d '%s'", problems[problem].name, set[0],
                 n > 1 ? set[1] : "", checked, said, solved, message);
    run_destroy(&run);
    case_destroy(&file);
}

/* Every setting by itself, and pairs of them: in the default run one of five, other ones for each problem. */
static int is_taken(int problem, int i, int k) {
    if (k == i) return 1;
    if (key_of[i] == key_of[k] || is_first[i] || is_first[k]) return 0;
    return is_long_run() || (problem + i + 2 * k) % 5 == 0;
}

static void walk(const char *device, int first, int last, int step) {
    facet_context *context;
    assert_int_equal(facet_context_create(device, &context), FACET_OK);
    assert_int_equal(facet_context_set_threads(context, 1), FACET_OK);
    base_pretend_available(4e9); /* the machine is not asked thousands of times */
    list_settings();
    for (int p = first; p < last; p += step)
        for (int i = 0; i < n_settings; i++)
            for (int k = i; k < n_settings; k++) {
                const char *set[2] = {settings[i], settings[k]};
                if (is_taken(p, i, k)) compare(context, p, k == i ? 1 : 2, set);
            }
    base_pretend_available(0.0);
    facet_context_destroy(&context);
}

static void check_refuses_what_solve_refuses(void **state) {
    (void)state;
    walk("cpu", 0, N_PROBLEMS, 1);
}

static void check_refuses_what_solve_refuses_on_debug(void **state) {
    (void)state;
    walk("debug", 1, N_PROBLEMS, 5);
}

/* ------------------------------------------------------------------------------------------ the buffers */

static void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", facet_message());
}

#define N_TEXTS 12
/* All texts of facet_options. */
static void list_texts(facet_options *o, const char **texts[N_TEXTS]) {
    const char **all[N_TEXTS] = {&o->discretization, &o->operator_name, &o->tau,           &o->formulation,
                                 &o->plane,          &o->method,        &o->cycle,         &o->preconditioner,
                                 &o->smoother,       &o->precision,     &o->coarse_device, &o->degrees};
    memcpy(texts, all, sizeof all);
}

/* The same solve with texts that stay, and with texts that are overwritten and freed once there is a solver.
 */
static void solve_both(const facet_problem *problem, const facet_options *wanted) {
    double *u[2];
    int iterations[2];
    for (int way = 0; way < 2; way++) {
        facet_options options = *wanted;
        facet_solver *solver;
        facet_report report = {.size = sizeof report};
        const char **texts[N_TEXTS];
        char *copies[N_TEXTS];
        list_texts(&options, texts);
        for (int i = 0; i < N_TEXTS; i++) {
            copies[i] = way == 1 && *texts[i] != NULL ? strdup(*texts[i]) : NULL;
            if (copies[i] != NULL) *texts[i] = copies[i];
        }
        ok(facet_solver_create(problem, &options, &solver));
        for (int i = 0; i < N_TEXTS; i++)
            if (copies[i] != NULL) {
                memset(copies[i], '#', strlen(copies[i]));
                free(copies[i]);
            }
        memset(&options, 0x5a, sizeof options);
        int64_t n = facet_solver_n_points(solver);
        u[way] = calloc(3 * (size_t)n, sizeof **u);
        ok(facet_solver_solve(solver, NULL, u[way]));
        ok(facet_solver_report(solver, &report));
        iterations[way] = report.iterations;
        if (wanted->preconditioner != NULL)
            assert_string_equal(report.preconditioner, wanted->preconditioner);
        if (wanted->method != NULL) assert_string_equal(report.method, wanted->method);
        facet_solver_set_guess(solver, n, u[way]); /* the message speaks of the words */
        if (way == 1) assert_memory_equal(u[0], u[1], (size_t)n * sizeof **u);
        facet_solver_destroy(&solver);
    }
    assert_int_equal(iterations[0], iterations[1]);
    free(u[0]);
    free(u[1]);
}

static void buffers_may_go_once_there_is_a_solver(void **state) {
    static const facet_options ways[] = {
        {.method = "cg",
         .preconditioner = "gmg",
         .operator_name = "mapped",
         .cycle = "W",
         .smoother = "faces",
         .precision = "double",
         .coarse_device = "ref",
         .degrees = "even",
         .tau = "1 + x"},
        {.method = "multigrid", .preconditioner = "amg", .discretization = "condensed", .cycle = "full"},
        {.method = "cg", .preconditioner = "chebyshev", .operator_name = "tensor", .precision = "mixed"},
        {.method = "fgmres",
         .preconditioner = "gmg",
         .discretization = "continuous",
         .cycle = "F",
         .smoother = "chebyshev",
         .precision = "double"},
        {.method = "fgmres",
         .preconditioner = "pmg",
         .formulation = "gradient",
         .plane = "stress",
         .smoother = "faces"},
    };
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problems_of[2];
    const facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1, 1}, .cells = {4, 4}, .shape = "quad"};
    const char *const zero[2] = {"0", "0"}, *const force[2] = {"0", "1"}, *const moduli[2] = {"1", "1"};
    (void)state;
    ok(facet_context_create(NULL, &context));
    ok(facet_mesh_create_box(context, &box, &mesh));
    ok(facet_problem_create(context, mesh, FACET_DIFFUSION, &problems_of[0]));
    ok(facet_problem_set_source(problems_of[0], "1"));
    ok(facet_problem_set_dirichlet(problems_of[0], "rest", "0"));
    ok(facet_problem_create(context, mesh, FACET_ELASTICITY, &problems_of[1]));
    ok(facet_problem_set_material(problems_of[1], NULL, "mu,lambda", moduli));
    ok(facet_problem_set_vector_source(problems_of[1], 2, force));
    ok(facet_problem_set_displacement(problems_of[1], "rest", 2, zero));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        facet_options options = ways[i];
        options.size = sizeof options;
        options.degree = 3;
        options.rtol = 1e-8;
        options.max_iterations = 500;
        solve_both(problems_of[ways[i].plane != NULL], &options);
    }
    for (int i = 0; i < 2; i++) facet_problem_destroy(&problems_of[i]);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_may_go_once_there_is_a_solver),
        cmocka_unit_test(check_refuses_what_solve_refuses),
        cmocka_unit_test(check_refuses_what_solve_refuses_on_debug),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
