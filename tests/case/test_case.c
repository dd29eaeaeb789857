/* The case reader: what good files mean, what is said about bad ones and where, settings, the reference page,
 * and that neither damaged files nor failing allocations hurt.
 *
 * Every file in tests/cases/bad carries its expected errors as comments, in the order in which they are
 * reported: # expect LINE:COLUMN phrase | phrase ... # expect more N */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/guess.h"
#include "base/memory.h"
#include "case/case.h"
#include "case/schema.h"

#define GOOD "tests/cases/good/"
#define BAD  "tests/cases/bad/"

static int64_t live_blocks(void) {
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.live_blocks;
}

static char scratch[] = "/tmp/facet_test_case_XXXXXX";

static int make_scratch(void **state) {
    (void)state;
    int descriptor = mkstemp(scratch);
    if (descriptor < 0) return -1;
    close(descriptor);
    return 0;
}

static int remove_scratch(void **state) {
    (void)state;
    return remove(scratch);
}

static void write_scratch(const char *bytes, size_t n) {
    FILE *stream = fopen(scratch, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, n, stream), n);
    assert_int_equal(fclose(stream), 0);
}

static facet_status read_bytes(const char *bytes, size_t n, int n_settings, const char *const *settings,
                               struct case_file **file) {
    write_scratch(bytes, n);
    return case_read(scratch, NULL, n_settings, settings, file);
}

/* Reads a text that must be refused with `phrase` at `place` ("3:7"). */
static void expect_refusal(const char *bytes, size_t n, const char *place, const char *phrase) {
    struct case_file *file;
    char wanted[128];
    assert_int_equal(read_bytes(bytes, n, 0, NULL, &file), FACET_ERROR_INPUT);
    assert_null(file);
    snprintf(wanted, sizeof wanted, "%s:%s: ", scratch, place);
    const char *line = strstr(base_message(), wanted);
    if (!line || !strstr(line, phrase)) fail_msg("wanted %s... %s, got: %s", wanted, phrase, base_message());
}

/* ------------------------------------------------------------------------------------------ good files */

static void check_full_problem(const struct case_file *f) {
    assert_string_equal(f->title, "Everything: once");
    assert_int_equal(f->n_parameters, 5);
    assert_string_equal(f->parameters[1].name, "eps");
    assert_true(f->parameters[1].value == 1e-3 && f->parameters[2].value == 0.5);
    assert_true(f->parameters[3].value == 1000 && f->parameters[4].value == -4);
    assert_true(f->mesh.is_box && f->mesh.box.dim == 2 && f->mesh.refine == 2);
    assert_true(f->mesh.box.lower[1] == -1 && f->mesh.box.upper[0] == 2);
    assert_true(f->mesh.box.cells[0] == 4 && f->mesh.box.cells[1] == 6);
    assert_string_equal(f->mesh.box.shape, "triangle");
    assert_string_equal(f->mesh.box.split, "alternating");
    assert_true(f->mesh.box.periodic[0] && !f->mesh.box.periodic[1]);
    assert_int_equal(f->n_conductivity, 1);
    assert_int_equal(f->conductivity[0].n, 4);
    assert_null(f->conductivity[0].on);
    assert_string_equal(f->conductivity[0].value[0].text, "1 + x^2");
    assert_int_equal(f->conductivity[0].value[3].place.line, 10);
    assert_int_equal(f->conductivity[0].value[3].place.column, 15);
    assert_string_equal(f->reaction.items[0].value.texts[0].text, "x > half ? k : 0");
    assert_string_equal(f->source.items[0].value.texts[0].text, "sin(k*x) + y");
    assert_int_equal(f->exact.n, 0);
    assert_int_equal(f->n_boundary, 2);
    assert_string_equal(f->boundary[0].on, "rest");
    assert_int_equal(f->boundary[0].condition, CASE_NEUMANN);
    assert_int_equal(f->boundary[0].place.line, 16);
    assert_int_equal(f->boundary[1].condition, CASE_ROBIN);
    assert_string_equal(f->boundary[1].g.text, "max(x, y)");
    assert_string_equal(f->boundary[1].a.text, "1");
}

static void test_full(void **state) {
    (void)state;
    struct case_file *f;
    assert_int_equal(case_read(GOOD "full.yaml", NULL, 0, NULL, &f), FACET_OK);
    assert_string_equal(f->directory, "tests/cases/good");
    check_full_problem(f);
    assert_int_equal(f->options.degree, 5);
    assert_true(f->options.tau_hat == 25 && f->options.postprocess);
    assert_null(f->options.tau);
    assert_int_equal(f->options.method, METHOD_CG);
    assert_int_equal(f->options.preconditioner, PRECONDITIONER_JACOBI);
    assert_true(f->options.rtol == 1e-8 && f->options.max_iterations == 123);
    assert_string_equal(f->output.file, "full.vtu");
    assert_int_equal(f->output.n_fields, 3);
    assert_string_equal(f->output.fields[1], "q_star");
    assert_int_equal(f->output.order, 4);
    assert_int_equal(f->n_values, 4);
    assert_int_equal(f->values[0].take, CASE_AT);
    assert_true(f->values[0].from[0] == 1 && f->values[0].component == -1);
    assert_int_equal(f->values[1].take, CASE_MAX);
    assert_int_equal(f->values[2].take, CASE_INTEGRAL);
    assert_string_equal(f->values[2].on[0], "ymax");
    assert_int_equal(f->values[3].take, CASE_ALONG);
    assert_true(f->values[3].n_points == 11 && f->values[3].component == 1 && f->values[3].to[0] == 2);
    assert_string_equal(f->values[3].file, "line.csv");
    case_destroy(&f);
    assert_null(f);
}

static void test_exact_and_defaults(void **state) {
    (void)state;
    struct case_file *f;
    assert_int_equal(case_read(GOOD "exact.yaml", NULL, 0, NULL, &f), FACET_OK);
    assert_true(f->mesh.box.dim == 2 && f->mesh.box.cells[0] == 2 && f->mesh.box.cells[1] == 3);
    assert_true(f->mesh.box.coordinates[0][1] == 0.1 && f->mesh.box.coordinates[1][3] == 3);
    assert_true(f->mesh.box.lower[1] == -1 && f->mesh.box.upper[1] == 3);
    assert_string_equal(f->boundary[0].g.text, "exact");
    assert_string_equal(f->boundary[1].g.text, "exact");
    assert_string_equal(f->options.tau, "1 + x^2");
    assert_true(!f->options.postprocess && f->options.degree == 3);
    assert_string_equal(f->conductivity[0].value[0].text, "1");
    assert_int_equal(f->options.method, METHOD_AUTO);
    assert_int_equal(f->options.preconditioner, PRECONDITIONER_AUTO);
    assert_true(f->options.rtol == 1e-10 && f->options.max_iterations == 10000);
    assert_int_equal(f->source.n, 0);
    assert_int_equal(f->reaction.n, 0);
    case_destroy(&f);
}

static void test_groups(void **state) {
    (void)state;
    struct case_file *f;
    assert_int_equal(case_read(GOOD "groups.yaml", NULL, 0, NULL, &f), FACET_OK);
    assert_false(f->mesh.is_box);
    assert_non_null(strstr(f->mesh.path, "/two.msh"));
    assert_int_equal(f->n_conductivity, 2);
    assert_string_equal(f->conductivity[1].on, "right");
    assert_int_equal(f->conductivity[0].n, 1);
    assert_int_equal(f->conductivity[1].n, 4);
    assert_null(f->output.file);
    case_destroy(&f);
}

static void test_three_dimensions_pass_on(void **state) {
    (void)state;
    struct case_file *f;
    const char *text = "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [1, 2, 3]}}\n"
                       "equation: diffusion\nexact: z\nboundary: [{on: zmax, neumann: exact}]\n";
    assert_int_equal(read_bytes(text, strlen(text), 0, NULL, &f), FACET_OK);
    assert_true(f->mesh.box.dim == 3 && f->mesh.box.cells[2] == 3);
    case_destroy(&f);
}

/* ------------------------------------------------------------------------------------------ bad files */

/* One line of the message against one "# expect" line; both without their ends. */
static void match(const char *path, char *expected, const char *line) {
    char place[32], wanted[600];
    int used = 0, n;
    if (sscanf(expected, "more %d", &n) == 1) {
        snprintf(wanted, sizeof wanted, "and %d more error", n);
        if (strncmp(line, wanted, strlen(wanted)) != 0)
            fail_msg("%s: wanted '%s', got '%s'", path, wanted, line);
        return;
    }
    assert_int_equal(sscanf(expected, "%31s %n", place, &used), 1);
    snprintf(wanted, sizeof wanted, "%s:%s: ", path, place);
    if (strncmp(line, wanted, strlen(wanted)) != 0) fail_msg("wanted place %s, got '%s'", wanted, line);
    for (char *phrase = expected + used, *end; phrase; phrase = end ? end + 3 : NULL) {
        end = strstr(phrase, " | ");
        if (end) *end = '\0';
        if (!strstr(line, phrase)) fail_msg("%s: '%s' is not in '%s'", path, phrase, line);
    }
}

static void check_bad_file(const char *path) {
    struct case_file *file;
    char *bytes, message[BASE_MESSAGE_BYTES], *rest_of_message = message, *rest;
    size_t n;
    int64_t before = live_blocks();
    assert_int_equal(file_read_whole(path, &bytes, &n), FACET_OK);
    facet_status status = case_read(path, NULL, 0, NULL, &file);
    if (status != FACET_ERROR_INPUT) fail_msg("%s: status %d", path, status);
    assert_null(file);
    snprintf(message, sizeof message, "%s", base_message());
    rest = bytes;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "# expect ", 9) != 0) continue;
        char *said = strsep(&rest_of_message, "\n");
        if (!said) fail_msg("%s: no error '%s'", path, line);
        match(path, line + 9, said);
    }
    if (rest_of_message) fail_msg("%s: not expected: %s", path, rest_of_message);
    base_free(&bytes);
    assert_int_equal(live_blocks(), before);
}

static void test_bad_files(void **state) {
    (void)state;
    int n = 0;
    DIR *directory = opendir(BAD);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[512];
        if (!strstr(entry->d_name, ".yaml")) continue;
        snprintf(path, sizeof path, BAD "%s", entry->d_name);
        check_bad_file(path);
        n++;
    }
    closedir(directory);
    assert_true(n >= 40);
}

static void test_bad_bytes(void **state) {
    (void)state;
    expect_refusal("", 0, "1:1", "empty");
    expect_refusal("\xEF\xBB\xBF", 3, "1:1", "empty");
    expect_refusal("title: a\nexact: \xff\n", 18, "2:8", "UTF-8");
    expect_refusal("title: \xc3\xa4\xc3\n", 11, "1:10", "UTF-8");
    expect_refusal("title: a\n  \x01", 12, "2:3", "control");
    expect_refusal("a\0b", 3, "1:2", "control");
    expect_refusal("\xff\xfe"
                   "a\0:\0b\0",
                   8, "1:1", "UTF-8");
    expect_refusal("title: \xc3\xa4\xc3\xa4\nmseh: 3\n", 20, "2:1", "did you mean \"mesh\"?");
    expect_refusal("\xEF\xBB\xBFmseh: 3\r\n", 12, "1:1", "did you mean \"mesh\"?");

    struct text text = {0};
    for (int i = 0; i < 5000; i++) text_printf(&text, "# a line of comment\n");
    text_printf(&text, "title: \xff\n");
    assert_int_equal(text.status, FACET_OK);
    expect_refusal(text.data, text.length, "5001:8", "UTF-8");
    text_free(&text);

    struct case_file *file;
    assert_int_equal(case_read("tests/cases/no_such.yaml", NULL, 0, NULL, &file), FACET_ERROR_INPUT);
    assert_non_null(strstr(base_message(), "no_such.yaml"));
    assert_int_not_equal(case_read("tests/cases", NULL, 0, NULL, &file), FACET_OK);
    assert_null(file);
}

static void test_nesting(void **state) {
    (void)state;
    char deep[20000];
    for (size_t i = 0; i < sizeof deep; i++) deep[i] = '[';
    expect_refusal(deep, sizeof deep, "1:65", "64 deep");
    for (size_t i = 0; i + 1 < sizeof deep; i += 2) deep[i] = '-', deep[i + 1] = ' ';
    expect_refusal(deep, sizeof deep, "1:129", "64 deep");
    /* Just below the limit nothing is wrong with the YAML. */
    memset(deep, '[', 63);
    memset(deep + 63, ']', 63);
    expect_refusal(deep, 126, "1:1", "map of keys");
}

/* A message holds the errors that come first in the file, and counts the others. */
static void test_many_errors(void **state) {
    (void)state;
    struct text text = {0};
    for (int i = 999; i >= 0; i--) text_printf(&text, "unknown_word_%d_%0200d: 1\n", i, i);
    assert_int_equal(text.status, FACET_OK);
    expect_refusal(text.data, text.length, "1:1", "missing key \"mesh\"");
    assert_true(strlen(base_message()) < BASE_MESSAGE_BYTES - 100);
    const char *tail = strstr(base_message(), "\nand ");
    assert_non_null(tail);
    int n_lines = 0;
    for (const char *c = base_message(); c < tail; c++) n_lines += *c == '\n';
    assert_int_equal(atoi(tail + 5) + n_lines + 1, 1002);
    text_free(&text);
}

static void test_many_parameters(void **state) {
    (void)state;
    struct text text = {0};
    text_printf(&text, "parameters:\n");
    for (int i = 0; i < 50000; i++) text_printf(&text, "  p%d: 1\n", i);
    assert_int_equal(text.status, FACET_OK);
    expect_refusal(text.data, text.length, "2:3", "more than the 1000");
    text_free(&text);
}

static void test_long_file(void **state) {
    (void)state;
    struct case_file *file;
    struct text text = {0};
    text_printf(
        &text, "equation: diffusion\nexact: x\nmesh:\n  box:\n    coordinates:\n      y: [0, 1]\n      x:\n");
    for (int i = 0; i <= 100000; i++) text_printf(&text, "        - %d.5e-3\n", i);
    int64_t before = live_blocks();
    assert_int_equal(text.status, FACET_OK);
    assert_int_equal(read_bytes(text.data, text.length, 0, NULL, &file), FACET_OK);
    assert_int_equal(file->mesh.box.cells[0], 100000);
    assert_true(file->mesh.box.coordinates[0][100000] == 100.0005);
    case_destroy(&file);
    assert_int_equal(live_blocks(), before);
    text_free(&text);
}

/* ------------------------------------------------------------------------------------------ settings */

static void test_settings(void **state) {
    (void)state;
    struct case_file *f;
    const char *settings[] = {"discretization.degree=4",
                              "boundary.0.neumann=max(x, y)",
                              "mesh.box.cells=[8,9]",
                              "discretization.tau.hat=7",
                              "values.1={name: w, field: u, take: mean}",
                              "parameters.new=3",
                              "reaction=new",
                              "title='a=b: c'"};
    assert_int_equal(case_read(GOOD "full.yaml", NULL, 8, settings, &f), FACET_OK);
    assert_int_equal(f->options.degree, 4);
    assert_string_equal(f->boundary[0].g.text, "max(x, y)");
    assert_int_equal(f->boundary[0].g.place.line, 0);
    assert_true(f->mesh.box.cells[0] == 8 && f->mesh.box.cells[1] == 9);
    assert_true(f->options.tau_hat == 7);
    assert_string_equal(f->values[1].name, "w");
    assert_string_equal(f->reaction.items[0].value.texts[0].text, "new");
    assert_string_equal(f->title, "a=b: c");
    case_destroy(&f);

    const char *created[] = {"solver.rtol=1e-4", "output.file=b.vtu", "discretization.tau={hat: 2}"};
    assert_int_equal(case_read(GOOD "exact.yaml", NULL, 3, created, &f), FACET_OK);
    assert_true(f->options.rtol == 1e-4 && f->options.tau_hat == 2);
    assert_string_equal(f->output.file, "b.vtu");
    case_destroy(&f);
}

static void test_bad_settings(void **state) {
    (void)state;
    static const char *const table[][3] = {
        {"degree", "--set degree: ", "key=value"},
        {"=3", "--set : ", "key=value"},
        {"a..b=3", "--set a..b: ", "empty part"},
        {"solver.=3", "--set solver.: ", "empty part"},
        {"discretization.degree=17", "--set discretization.degree: ", "at most 16"},
        {"discretization.degre=3", "--set discretization.degre: ", "did you mean \"degree\"?"},
        {"boundary.2.neumann=x", "--set boundary.2.neumann: ", "from 0 to 1"},
        {"boundary.-1.neumann=x", "--set boundary.-1.neumann: ", "from 0 to 1"},
        {"boundary.first.neumann=x", "--set boundary.first.neumann: ", "from 0 to 1"},
        {"title.x=3", "--set title.x: ", "single value"},
        {"mesh.box.coordinates.0=3", "--set mesh.box.coordinates.0: ", "no item 0"},
        {"mesh.box.cells=[8,", "--set mesh.box.cells: ", "not valid YAML"},
        {"mesh.box.cells=*a", "--set mesh.box.cells: ", "aliases"},
        {"source=", "--set source: ", "empty"},
        {"source=x +", "--set source: ", "column"},
        {"mesh.file=two.msh", GOOD "full.yaml:5:3: ", "both box and file"},
        {"output=3", "--set output: ", "file, fields, order"},
        /* the key stands once, and says as far as it is known what is wrong */
        {"discretization.degree=many", "--set discretization.degree: must be", "not \"many\""},
        {"discretization.degre=3", "--set discretization.degre: unknown key", "did you mean \"degree\"?"},
        {"degree=3", "--set degree: unknown key", "did you mean \"discretization.degree\"?"},
        {"sovler.rtol=1e-3", "--set sovler.rtol: unknown key", "did you mean \"solver\"?"},
        {"solver={rtoll: 1e-3}", "--set solver: unknown key", "did you mean \"rtol\"?"},
        {"mesh.box.cells=[2, 0]", "--set mesh.box.cells.1: must be", "1000000"},
        {"boundary.0.on=ymni", "--set boundary.0.on: the box", "did you mean \"ymin\"?"},
        {"solver.method=cq", "--set solver.method: must be", "did you mean \"cg\"?"},
        {"source=sine(x)", "--set source: column 1: unknown function", "did you mean 'sin'?"},
        {"source=hafl", "--set source: column 1: unknown name", "did you mean 'half'?"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct case_file *file;
        assert_int_equal(case_read(GOOD "full.yaml", NULL, 1, &table[i][0], &file), FACET_ERROR_INPUT);
        const char *message = base_message();
        if (strncmp(message, table[i][1], strlen(table[i][1])) != 0 || !strstr(message, table[i][2]) ||
            strchr(message, '\n'))
            fail_msg("%s: wanted one line with %s, got: %s", table[i][0], table[i][2], message);
    }
}

/* ------------------------------------------------------------------------------------------ schema */

static void test_table_is_consistent(void **state) {
    (void)state;
    for (int i = 0; i < schema_n_entries(); i++) {
        const struct schema_entry *e = schema_row(i);
        assert_ptr_equal(schema_find(e->path), e); /* no path twice */
        const char *key = schema_key(e);
        char parent[128];
        snprintf(parent, sizeof parent, "%.*s", key == e->path ? 0 : (int)(key - e->path) - 1, e->path);
        assert_true(schema_is_child(e, parent));
        size_t n = strlen(parent);
        int in_list = n > 2 && !strcmp(parent + n - 2, "[]");
        if (in_list) parent[n - 2] = '\0';
        if (n > 0) {
            assert_non_null(schema_find(parent));
            assert_true(schema_find(parent)->types & (in_list ? SCHEMA_LIST : SCHEMA_MAP));
        }
        assert_true(!(e->types & (SCHEMA_WORD | SCHEMA_WORDS)) || e->words[0]);
        assert_true(strlen(e->help) > 0);
        double value;
        if (e->fallback && e->types & (SCHEMA_INTEGER | SCHEMA_NUMBER | SCHEMA_EXPRESSION))
            assert_true(schema_parse_number(e->fallback, &value) && schema_in_bounds(e, value));
    }
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const good[] = {"0", "-1", "+2", "1.", ".5", "1e-10", "1.0e-10", "1E+5", "-.5e0"};
    static const char *const bad[] = {"",    ".",    "-",    "e5",  "1e",  "1e+",   "0x10", "1_000",
                                      "inf", ".inf", ".nan", "NaN", "1 2", "1e400", "1,5",  "1.2.3"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(schema_parse_number(good[i], &value));
        assert_true(value == atof(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(schema_parse_number(bad[i], &value));
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const known[] = {"degree", "method", "tau", "postprocess"};
    assert_string_equal(guess_nearest("degre", 4, known), "degree");
    assert_string_equal(guess_nearest("dergee", 4, known), "degree");
    assert_string_equal(guess_nearest("Method", 4, known), "method");
    assert_string_equal(guess_nearest("post_process", 4, known), "postprocess");
    assert_null(guess_nearest("colour", 4, known));
    assert_null(guess_nearest("x", 4, known));
    assert_null(guess_nearest("", 4, known));
    assert_null(guess_nearest("a_very_long_word_that_resembles_nothing_known_here", 4, known));
}

/* Every key stands in the reference; the cases in it are good; docs/input.md is this text. */
static void test_elastic(void **state) {
    (void)state;
    struct case_file *f;
    assert_int_equal(case_read(GOOD "elastic.yaml", NULL, 0, NULL, &f), FACET_OK);
    assert_int_equal(f->equation, FACET_ELASTICITY);
    assert_int_equal(f->n_material, 1);
    assert_null(f->material[0].on);
    assert_string_equal(f->material[0].which, "E,nu");
    assert_string_equal(f->material[0].value[0].text, "2 + x");
    assert_string_equal(f->material[0].value[1].text, "0.3");
    assert_int_equal(f->n_conductivity, 0);
    assert_int_equal(f->options.plane, PLANE_STRESS);
    assert_int_equal(f->source.items[0].value.n, 2);
    assert_string_equal(f->source.items[0].value.texts[1].text, "-g");
    assert_int_equal(f->n_boundary, 3);
    const struct case_boundary *roller = &f->boundary[1];
    assert_int_equal(roller->condition, CASE_MECHANICAL);
    assert_true(roller->displacement.n == 2 && roller->traction.n == 2);
    assert_null(roller->displacement.texts[0].text);
    assert_string_equal(roller->displacement.texts[1].text, "0");
    assert_string_equal(roller->traction.texts[0].text, "x");
    assert_null(roller->traction.texts[1].text);
    assert_int_equal(f->boundary[2].condition, CASE_GRADIENT_PRESSURE);
    assert_int_equal(f->boundary[2].gradient_pressure.n, 2);
    assert_int_equal(f->options.formulation, FORMULATION_GRADIENT);
    assert_int_equal(f->output.n_fields, 10);
    assert_true(f->values[0].component == 1 && f->values[0].column == -1);
    assert_true(f->values[1].component == 0 && f->values[1].column == 1);
    assert_string_equal(f->values[2].field, "traction");
    case_destroy(&f);
}

static void test_elastic_groups(void **state) {
    (void)state;
    struct case_file *f;
    assert_int_equal(case_read(GOOD "elastic_groups.yaml", NULL, 0, NULL, &f), FACET_OK);
    assert_int_equal(f->n_material, 2);
    assert_string_equal(f->material[0].on, "left");
    assert_string_equal(f->material[0].which, "mu,lambda");
    assert_string_equal(f->material[1].which, "E,nu");
    assert_false(f->options.has_plane); /* not given: chosen where the dimension is known */
    assert_int_equal(f->options.formulation, FORMULATION_SYMMETRIC);
    assert_int_equal(f->exact.n, 2);
    assert_int_equal(f->boundary[0].traction.n, 1);
    assert_string_equal(f->boundary[0].traction.texts[0].text, "exact");
    case_destroy(&f);
}

static void test_reference(void **state) {
    (void)state;
    struct text page = {0}, terminal = {0};
    schema_describe(1, &page);
    schema_describe(0, &terminal);
    assert_int_equal(page.status, FACET_OK);
    assert_int_equal(terminal.status, FACET_OK);
    for (int i = 0; i < schema_n_entries(); i++) {
        assert_non_null(strstr(terminal.data, schema_row(i)->path));
        assert_non_null(strstr(page.data, schema_row(i)->help));
    }
    const char *name;
    for (int i = 0, least, most; (name = expr_function(i, &least, &most)) != NULL; i++) {
        const struct text *texts[2] = {&page, &terminal};
        for (int k = 0; k < 2; k++) {
            const char *found = strstr(texts[k]->data, "of one argument");
            size_t n = strlen(name);
            do found = strstr(found + 1, name);
            while (found && !(strchr(" `", found[-1]) && strchr(" `;\n", found[n])));
            if (!found) fail_msg("help does not name the function %s", name);
        }
    }
    int n_cases = 0;
    for (char *begin = page.data; (begin = strstr(begin, "```yaml\n")); n_cases++) {
        struct case_file *file;
        begin += 8;
        char *end = strstr(begin, "```");
        assert_non_null(end);
        if (read_bytes(begin, (size_t)(end - begin), 0, NULL, &file) != FACET_OK)
            fail_msg("%s", base_message());
        case_destroy(&file);
    }
    assert_int_equal(n_cases, 4);
    char *written;
    size_t n;
    assert_int_equal(file_read_whole("docs/input.md", &written, &n), FACET_OK);
    if (n != page.length || memcmp(written, page.data, n) != 0)
        fail_msg("docs/input.md is not what the schema table says; write it again");
    base_free(&written);
    text_free(&page);
    text_free(&terminal);
}

/* ------------------------------------------------------------------------------------------ damage */

static uint64_t random_state = 88172645463325252u;
static unsigned random_below(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 20) % n;
}

/* A few changes of the kinds that break parsers: bytes, cuts, repetitions, and YAML's own signs. */
static size_t damage(char *bytes, size_t n, size_t capacity) {
    static const char signs[] = "{}[]:,-?&*!|>'\"%@` \t\n#()0";
    for (unsigned k = 1 + random_below(4); k > 0 && n > 1; k--) {
        size_t at = random_below((unsigned)n), length = 1 + random_below(40);
        switch (random_below(5)) {
        case 0:
            bytes[at] ^= (char)(1u << random_below(8));
            break;
        case 1:
            bytes[at] = signs[random_below(sizeof signs - 1)];
            break;
        case 2:
            if (random_below(4) == 0) n = at;
            break;
        case 3:
            if (at + length > n) length = n - at;
            memmove(bytes + at, bytes + at + length, n - at - length);
            n -= length;
            break;
        default:
            if (at + length > n || n + length > capacity) break;
            memmove(bytes + at + length, bytes + at, n - at);
            n += length;
        }
    }
    return n;
}

/* From memory: a file that is written reaches the disk, which takes longer than all the rest. */
static void check_damaged(const char *bytes, size_t n) {
    struct case_file *file;
    facet_status status = case_read_bytes(scratch, bytes, n, 0, NULL, &file);
    if (status == FACET_OK) {
        case_destroy(&file);
        return;
    }
    assert_int_equal(status, FACET_ERROR_INPUT);
    assert_null(file);
    /* Every line has a place. */
    for (const char *line = base_message(); line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        int row, column;
        if (!strncmp(line, "and ", 4)) continue;
        if (strncmp(line, scratch, strlen(scratch)) != 0 ||
            sscanf(line + strlen(scratch), ":%d:%d: ", &row, &column) != 2 || row < 1 || column < 1)
            fail_msg("a line without a place: %s", line);
    }
}

static void test_damaged_files(void **state) {
    (void)state;
    static const char *const paths[] = {GOOD "full.yaml", GOOD "exact.yaml", GOOD "groups.yaml",
                                        GOOD "elastic.yaml", GOOD "elastic_groups.yaml"};
    int64_t before = live_blocks();
    for (int k = 0; k < 3; k++) {
        char *bytes, copy[8192];
        size_t n;
        assert_int_equal(file_read_whole(paths[k], &bytes, &n), FACET_OK);
        assert_true(n < sizeof copy / 2);
        for (size_t length = 0; length < n; length++) check_damaged(bytes, length);
        for (int run = 0; run < 1300; run++) {
            memcpy(copy, bytes, n);
            check_damaged(copy, damage(copy, n, sizeof copy));
        }
        base_free(&bytes);
    }
    assert_int_equal(live_blocks(), before);
}

/* Fails every allocation in turn, until the call ends as it should. */
static void fail_allocations(const char *path, int n_settings, const char *const *settings,
                             facet_status wanted) {
    int64_t before = live_blocks();
    for (int64_t k = 1;; k++) {
        struct case_file *file;
        base_memory_fail_at(k);
        facet_status status = case_read(path, NULL, n_settings, settings, &file);
        base_memory_fail_at(0);
        case_destroy(&file);
        assert_int_equal(live_blocks(), before);
        if (status == wanted) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
        assert_true(k < 100000);
    }
}

static void test_allocation_faults(void **state) {
    (void)state;
    const char *settings[] = {"solver.rtol=1e-3", "values.0.name=other"};
    fail_allocations(GOOD "full.yaml", 2, settings, FACET_OK);
    fail_allocations(GOOD "exact.yaml", 0, NULL, FACET_OK);
    fail_allocations(GOOD "groups.yaml", 0, NULL, FACET_OK);
    fail_allocations(GOOD "elastic.yaml", 0, NULL, FACET_OK);
    fail_allocations(GOOD "elastic_groups.yaml", 0, NULL, FACET_OK);
    fail_allocations(BAD "elastic_conditions.yaml", 0, NULL, FACET_ERROR_INPUT);
    fail_allocations(BAD "types.yaml", 0, NULL, FACET_ERROR_INPUT);
    fail_allocations(BAD "expressions.yaml", 0, NULL, FACET_ERROR_INPUT);
    fail_allocations(BAD "regions.yaml", 0, NULL, FACET_ERROR_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_exact_and_defaults),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_three_dimensions_pass_on),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_many_errors),
        cmocka_unit_test(test_many_parameters),
        cmocka_unit_test(test_long_file),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_table_is_consistent),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_elastic_groups),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
