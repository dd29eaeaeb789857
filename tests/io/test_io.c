/* Files written whole or not at all, JSON numbers, tables, and the node maps and failures of the VTU writer.
 * What a VTU file means is tested with VTK itself, in test_vtu.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <float.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "files.h"
#include "io/json.h"
#include "io/table.h"
#include "io/vtu.h"

static char directory[64], target[128];

static int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/facet_test_io.XXXXXX");
    if (!mkdtemp(directory)) return -1;
    snprintf(target, sizeof target, "%s/file", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    unlink(target);
    return rmdir(directory);
}

static int exists(const char *path) {
    return access(path, F_OK) == 0;
}

static int64_t live_blocks(void) {
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.live_blocks;
}

static void assert_contents(const char *path, const char *expected) {
    char *bytes = NULL;
    size_t n = 0;
    assert_int_equal(file_read_whole(path, &bytes, &n), FACET_OK);
    assert_int_equal(n, strlen(expected));
    assert_string_equal(bytes, expected);
    base_free(&bytes);
}

/* ------------------------------------------------------------------------------------------ files */

static void test_write_and_read(void **state) {
    struct file_writer *writer = NULL;
    (void)state;
    assert_int_equal(file_write_whole(target, "old", 3), FACET_OK);
    assert_contents(target, "old");
    assert_int_equal(file_writer_open(target, &writer), FACET_OK);
    assert_int_equal(file_writer_put(writer, "new ", 4), FACET_OK);
    assert_int_equal(count_files(directory, ".part"), 1);
    assert_contents(target, "old"); /* until the new file is whole */
    assert_int_equal(file_writer_put(writer, "text", 4), FACET_OK);
    assert_int_equal(file_writer_close(&writer), FACET_OK);
    assert_null(writer);
    assert_contents(target, "new text");
    assert_int_equal(file_writer_open(target, &writer), FACET_OK);
    file_writer_abandon(&writer);
    assert_contents(target, "new text");
    assert_int_equal(count_files(directory, ".part"), 0);
    assert_int_equal(file_write_whole(target, "", 0), FACET_OK);
    assert_contents(target, "");
}

static void test_links_and_devices(void **state) {
    char link_path[128];
    struct stat info;
    (void)state;
    snprintf(link_path, sizeof link_path, "%s/link", directory);
    assert_int_equal(file_write_whole(target, "a", 1), FACET_OK);
    assert_int_equal(symlink(target, link_path), 0);
    assert_int_equal(file_write_whole(link_path, "b", 1), FACET_OK);
    assert_contents(target, "b");
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink(target); /* a link to what is not there yet makes it there; this one is relative and the second of
                       two */
    unlink(link_path);
    char second[128];
    snprintf(second, sizeof second, "%s/second", directory);
    assert_int_equal(symlink(strrchr(target, '/') + 1, second), 0);
    assert_int_equal(symlink("second", link_path), 0);
    assert_int_equal(file_write_whole(link_path, "c", 1), FACET_OK);
    assert_contents(target, "c");
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(second, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink(second);
    assert_int_equal(symlink("link", second), 0); /* and one that leads to itself is refused */
    unlink(link_path);
    assert_int_equal(symlink("second", link_path), 0);
    assert_int_equal(file_write_whole(link_path, "d", 1), FACET_ERROR_MACHINE);
    unlink(second);
    unlink(link_path);
    assert_int_equal(file_write_whole("/dev/null", "b", 1), FACET_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void test_write_failures(void **state) {
    char missing[160];
    char *bytes = NULL;
    size_t n = 0;
    (void)state;
    snprintf(missing, sizeof missing, "%s/none/file", directory);
    assert_int_equal(file_write_whole(missing, "a", 1), FACET_ERROR_MACHINE);
    assert_non_null(strstr(base_message(), "none' does not exist"));
    assert_int_equal(file_write_whole(directory, "a", 1), FACET_ERROR_MACHINE);
    assert_non_null(strstr(base_message(), "directory"));
    if (exists("/dev/full")) {
        assert_int_equal(file_write_whole("/dev/full", "a", 1), FACET_ERROR_MACHINE);
        assert_non_null(strstr(base_message(), "No space left"));
    }
    assert_int_equal(file_read_whole(missing, &bytes, &n), FACET_ERROR_INPUT);
    assert_int_equal(file_read_whole(directory, &bytes, &n), FACET_ERROR_INPUT);
    assert_null(bytes);
    if (geteuid() != 0) {
        assert_int_equal(file_write_whole(target, "a", 1), FACET_OK);
        assert_int_equal(chmod(target, 0400), 0);
        assert_int_equal(file_write_whole(target, "b", 1), FACET_ERROR_MACHINE);
        assert_contents(target, "a");
    }
}

/* A file of the user's that is called PATH.part, or a link of that name, is nobody's business. */
static void test_others_parts(void **state) {
    char part[160], other[160];
    struct file_writer *writers[2] = {NULL, NULL};
    (void)state;
    snprintf(part, sizeof part, "%s.part", target);
    snprintf(other, sizeof other, "%s/other", directory);
    assert_int_equal(file_write_whole(other, "precious", 8), FACET_OK);
    assert_int_equal(symlink(other, part), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(file_writer_open(target, &writers[i]), FACET_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(file_writer_put(writers[i], i ? "b" : "a", 1), FACET_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(file_writer_close(&writers[i]), FACET_OK);
    assert_contents(target, "b"); /* two writers do not meet: the last one stays */
    assert_contents(part, "precious");
    unlink(part);
    assert_int_equal(file_write_whole(part, "mine", 4), FACET_OK);
    assert_int_equal(file_write_whole(target, "c", 1), FACET_OK);
    assert_contents(part, "mine");
    unlink(part);
    unlink(other);
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

/* As open() would give them; those of a file that is replaced stay. */
static void test_permissions(void **state) {
    const mode_t old = umask(027);
    (void)state;
    unlink(target);
    assert_int_equal(file_write_whole(target, "a", 1), FACET_OK);
    umask(old);
    assert_int_equal(mode_of(target), 0640);
    assert_int_equal(chmod(target, 0604), 0);
    assert_int_equal(file_write_whole(target, "b", 1), FACET_OK);
    assert_int_equal(mode_of(target), 0604);
    unlink(target);
}

static void test_long_names(void **state) {
    char path[512];
    (void)state;
    for (int n = 200; n <= 256; n++) {
        snprintf(path, sizeof path, "%s/%0*d", directory, n, 1);
        const facet_status expected = n <= 255 ? FACET_OK : FACET_ERROR_MACHINE;
        assert_int_equal(file_check(path), expected);
        assert_int_equal(file_write_whole(path, "a", 1), expected);
        if (n > 255) break;
        assert_contents(path, "a");
        unlink(path);
        assert_int_equal(count_files(directory, ".part"), 0);
    }
}

/* The check changes nothing and finds what it can. */
static void test_check(void **state) {
    char path[160];
    struct stat before, after;
    (void)state;
    unlink(target);
    const int n = count_files(directory, "");
    assert_int_equal(stat(directory, &before), 0);
    assert_int_equal(file_check(target), FACET_OK);
    assert_int_equal(stat(directory, &after), 0);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
    assert_int_equal(count_files(directory, ""), n);
    assert_int_equal(file_check(directory), FACET_ERROR_MACHINE);
    assert_non_null(strstr(base_message(), "it is a directory"));
    snprintf(path, sizeof path, "%s/none/file", directory);
    assert_int_equal(file_check(path), FACET_ERROR_MACHINE);
    assert_non_null(strstr(base_message(), "none' does not exist"));
    assert_int_equal(file_write_whole(target, "a", 1), FACET_OK);
    snprintf(path, sizeof path, "%s/file", target);
    assert_int_equal(file_check(path), FACET_ERROR_MACHINE);
    assert_int_equal(file_check(""), FACET_ERROR_INPUT);
    assert_int_equal(file_check("/dev/null"), FACET_OK);
    assert_int_equal(file_check("-"), FACET_OK);
    if (geteuid() != 0) {
        assert_int_equal(chmod(directory, 0500), 0);
        const facet_status status = file_check(target);
        assert_int_equal(chmod(directory, 0700), 0);
        assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    assert_contents(target, "a");
}

static void on_alarm(int signal_number) {
    (void)signal_number;
    facet_interrupt();
}

/* Neither a pipe without a reader nor one that is full and not read holds a run that shall end. */
static void test_pipes(void **state) {
    static char many[1 << 20];
    char pipe_path[160];
    (void)state;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", directory);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(file_check(pipe_path), FACET_OK);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    for (int has_reader = 0; has_reader < 2; has_reader++) {
        const int reader = has_reader ? open(pipe_path, O_RDONLY | O_NONBLOCK) : -1;
        alarm(1);
        assert_int_equal(file_write_whole(pipe_path, many, sizeof many), FACET_INTERRUPTED);
        facet_interrupt_clear();
        if (has_reader) close(reader);
    }
    const int reader = open(pipe_path, O_RDONLY | O_NONBLOCK);
    char got[8] = "";
    assert_int_equal(file_write_whole(pipe_path, "hello", 5), FACET_OK);
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_string_equal(got, "hello");
    close(reader);
    sigaction(SIGALRM, &old, NULL);
    unlink(pipe_path);
}

static void test_same_file(void **state) {
    char path[3][160];
    (void)state;
    unlink(target);
    snprintf(path[0], sizeof path[0], "%s/./%s", directory, strrchr(target, '/') + 1);
    snprintf(path[1], sizeof path[1], "%s/deep/er", directory);
    snprintf(path[2], sizeof path[2], "%s/deep", directory);
    assert_int_equal(mkdir(path[2], 0777), 0);
    assert_int_equal(mkdir(path[1], 0777), 0);
    snprintf(path[2], sizeof path[2], "%s/deep/er/../../%s", directory, strrchr(target, '/') + 1);
    for (int there = 0; there < 2; there++) {
        if (there) assert_int_equal(file_write_whole(target, "a", 1), FACET_OK);
        assert_true(file_is_same(target, target));
        assert_true(file_is_same(target, path[0]));
        assert_true(file_is_same(path[2], path[0]));
        assert_false(file_is_same(target, path[1]));
        assert_false(file_is_same(target, directory));
    }
    assert_false(file_is_same("/dev/null", "/dev/null"));
    rmdir(path[1]);
    snprintf(path[1], sizeof path[1], "%s/deep", directory);
    rmdir(path[1]);
}

/* A file whose writing is interrupted is not kept. */
static void test_interrupted_writing(void **state) {
    struct file_writer *writer = NULL;
    (void)state;
    assert_int_equal(file_write_whole(target, "old", 3), FACET_OK);
    assert_int_equal(file_writer_open(target, &writer), FACET_OK);
    assert_int_equal(file_writer_put(writer, "a", 1), FACET_OK);
    facet_interrupt();
    assert_int_equal(file_writer_put(writer, "a", 1), FACET_INTERRUPTED);
    facet_interrupt_clear();
    file_writer_abandon(&writer);
    assert_int_equal(count_files(directory, ".part"), 0);
    assert_contents(target, "old");
}

static facet_status write_vtu_sample(void);

/* A limit on the size of files stands for a disk that fills up in the middle. */
static void test_full_disk(void **state) {
    struct rlimit old, small;
    static char many[1 << 16];
    (void)state;
    /* An OpenMP library may keep a file of its own: it must have started before files are limited. */
    assert_int_equal(write_vtu_sample(), FACET_OK);
    assert_int_equal(file_write_whole(target, "old", 3), FACET_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const facet_status large = file_write_whole(target, many, sizeof many);
    const facet_status buffered = file_write_whole(target, many, 1500); /* fails only when it is flushed */
    const facet_status vtu = write_vtu_sample();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(large, FACET_ERROR_MACHINE);
    assert_int_equal(buffered, FACET_ERROR_MACHINE);
    assert_int_equal(vtu, FACET_ERROR_MACHINE);
    assert_int_equal(count_files(directory, ".part"), 0);
    assert_contents(target, "old");
}

/* Several files at once, one of them with its room: none has its name before it is closed. */
static void test_several_files(void **state) {
    struct file_writer *first = NULL, *second = NULL, *third = NULL;
    int reserved = 0;
    (void)state;
    assert_int_equal(file_write_whole(target, "old", 3), FACET_OK);
    assert_int_equal(file_writer_open(target, &first), FACET_OK);
    assert_int_equal(file_writer_open(target, &second), FACET_OK);
    assert_int_equal(file_writer_open(target, &third), FACET_OK);
    assert_int_equal(file_writer_reserve(first, 3, &reserved), FACET_OK);
    assert_int_equal(file_writer_put(first, "new", 3), FACET_OK);
    assert_int_equal(file_writer_finish(first), FACET_OK);
    assert_contents(target, "old");
    file_writer_abandon(&second);
    assert_int_equal(count_files(directory, ".part"), 2);
    assert_int_equal(file_writer_close(&first), FACET_OK);
    assert_contents(target, "new");
    assert_int_equal(count_files(directory, ".part"), 1);
    file_remove_unfinished();
    assert_int_equal(count_files(directory, ".part"), 0);
    file_writer_abandon(&third);
}

/* ------------------------------------------------------------------------------------------ JSON, tables */

static void test_json_numbers(void **state) {
    static const double values[] = {0,
                                    -0.0,
                                    1,
                                    0.1,
                                    1.0 / 3,
                                    2e-308,
                                    DBL_MAX,
                                    DBL_MIN,
                                    5e-324,
                                    1e22,
                                    123456789012345.0,
                                    -1e-7,
                                    1e15,
                                    0.3,
                                    0.1 + 0.2,
                                    9007199254740993.0};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct text text = {.data = NULL};
        struct json json;
        json_begin(&json, &text);
        json_number(&json, NULL, values[i]);
        assert_int_equal(text.status, FACET_OK);
        const double back = strtod(text.data, NULL);
        assert_memory_equal(&back, &values[i], sizeof back);
        assert_true(text.length <= 24);
        text_free(&text);
    }
}

static void fill_json(struct text *text) {
    struct json json;
    json_begin(&json, text);
    json_object_begin(&json, NULL);
    json_array_begin(&json, "rows");
    for (int i = 0; i < 20; i++) {
        json_object_begin(&json, NULL);
        json_number(&json, "error", 1.0 / (1 + i));
        json_string(&json, "name", "a\tb");
        json_object_end(&json);
    }
    json_array_end(&json);
    json_array_begin(&json, "none");
    json_array_end(&json);
    json_bool(&json, "converged", 0);
    json_object_end(&json);
}

static facet_status render_table(enum table_style style, struct text *out) {
    static const char *const headers[] = {"mesh", "error", "rate|r"};
    facet_status status = FACET_OK;
    struct table *table = NULL;

    TRY(table_create(3, headers, &table));
    for (int i = 0; i < 20; i++) {
        if (i == 10) table_rule(table);
        table_cell(table, "%d×%d", 1 << i, 1 << i);
        table_cell(table, "%.2e", 1.0 / (1 << i));
        if (i == 0) {
            table_cell(table, "a,\"b\"");
        } else {
            table_cell(table, "%.2f", 1.0 + i);
        }
    }
    TRY(table_render(table, style, out));
done:
    table_destroy(&table);
    return status;
}

/* Every line of a text or Markdown table is equally wide on the screen. */
static void test_table(void **state) {
    (void)state;
    for (int style = TABLE_TEXT; style <= TABLE_MARKDOWN; style++) {
        struct text out = {.data = NULL};
        size_t width = 0, n_lines = 0;
        assert_int_equal(render_table(style, &out), FACET_OK);
        for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"), n_lines++) {
            size_t here = 0;
            for (const char *c = line; *c; c++) here += ((unsigned char)*c & 0xc0) != 0x80;
            if (width == 0) width = here;
            assert_true(here <= width);
            if (style == TABLE_MARKDOWN) assert_int_equal(here, width);
        }
        assert_int_equal(n_lines, style == TABLE_TEXT ? 23 : 22);
        text_free(&out);
    }
    struct text csv = {.data = NULL};
    assert_int_equal(render_table(TABLE_CSV, &csv), FACET_OK);
    assert_non_null(strstr(csv.data, "1×1,1.00e+00,\"a,\"\"b\"\"\"\n"));
    text_free(&csv);
}

/* ------------------------------------------------------------------------------------------ VTU */

static void test_node_maps(void **state) {
    (void)state;
    for (enum shape shape = SHAPE_SEGMENT; shape < SHAPE_PYRAMID; shape++) {
        for (int order = 1; order <= 12; order++) {
            const int n = shape_n_nodes(shape, order), n_vertices = shape_n_vertices(shape);
            int *map = NULL, *seen = NULL;
            assert_int_equal(ALLOC(map, n), FACET_OK);
            assert_int_equal(CALLOC(seen, n), FACET_OK);
            assert_int_equal(vtu_node_map(shape, order, map), FACET_OK);
            for (int p = 0; p < n; p++) {
                assert_in_range(map[p], 0, n - 1);
                assert_int_equal(seen[map[p]]++, 0);
            }
            for (int v = 0; v < n_vertices; v++) assert_int_equal(map[v], shape_vertex_node(shape, order, v));
            base_free(&map);
            base_free(&seen);
        }
    }
    int none[1];
    assert_int_equal(vtu_node_map(SHAPE_POINT, 1, none), FACET_ERROR_INPUT);
    assert_int_equal(vtu_node_map(SHAPE_PYRAMID, 1, none), FACET_ERROR_INPUT); /* io/solution.c: a hex */
}

enum { SAMPLE_CELLS = 3000, SAMPLE_NODES = 10 };

/* Three compressed blocks of coordinates: triangles of order 3. */
static facet_status write_vtu_sample(void) {
    static double points[SAMPLE_CELLS * SAMPLE_NODES * 2], u[SAMPLE_CELLS * SAMPLE_NODES];
    const struct vtu_block block = {SHAPE_TRIANGLE, SAMPLE_CELLS};
    const struct vtu_grid grid = {2, 3, 1, &block, points, NULL, 1};
    const struct vtu_field fields[] = {{"u", 1, 0, u}, {"q", 2, 0, points}, {"K", 1, 1, u}};

    for (int i = 0; i < SAMPLE_CELLS * SAMPLE_NODES; i++) {
        points[2 * i] = i % 97, points[2 * i + 1] = i % 89;
        u[i] = 1.0 / (1 + i);
    }
    return vtu_write(target, &grid, 3, fields);
}

/* The bytes must not depend on who compressed which block. */
static void test_vtu_threads(void **state) {
    char *one = NULL, *four = NULL;
    size_t n_one = 0, n_four = 0;
    const int threads = base_threads();
    (void)state;
    base_set_threads(1);
    assert_int_equal(write_vtu_sample(), FACET_OK);
    assert_int_equal(file_read_whole(target, &one, &n_one), FACET_OK);
    base_set_threads(4);
    assert_int_equal(write_vtu_sample(), FACET_OK);
    assert_int_equal(file_read_whole(target, &four, &n_four), FACET_OK);
    base_set_threads(threads);
    assert_int_equal(n_one, n_four);
    assert_memory_equal(one, four, n_one);
    base_free(&one);
    base_free(&four);
}

static void test_vtu_refusals(void **state) {
    const double x[24] = {0};
    struct vtu_block block = {SHAPE_TET, 1};
    struct vtu_grid grid = {2, 1, 1, &block, x, NULL, 1};
    struct vtu_field field = {"u", 5, 0, x};
    (void)state;
    assert_int_equal(vtu_write(target, &grid, 0, NULL), FACET_ERROR_INPUT);
    block.shape = SHAPE_QUAD;
    grid.order = 11;
    assert_int_equal(vtu_write(target, &grid, 0, NULL), FACET_ERROR_INPUT);
    grid.order = 1;
    assert_int_equal(vtu_write(target, &grid, 1, &field), FACET_ERROR_INPUT);
    field.n_components = 1;
    field.name = "";
    assert_int_equal(vtu_write(target, &grid, 1, &field), FACET_ERROR_INPUT);
    field.name = "u";
    assert_int_equal(vtu_write("/nowhere/at/all.vtu", &grid, 1, &field), FACET_ERROR_MACHINE);
    assert_int_equal(vtu_write(target, &grid, 1, &field), FACET_OK);
}

/* ------------------------------------------------------------------------------------------ memory */

static facet_status do_json(void) {
    struct text text = {.data = NULL};
    fill_json(&text);
    facet_status status = text.status;
    if (status == FACET_OK) status = file_write_whole(target, text.data, text.length);
    text_free(&text);
    return status;
}

static facet_status do_tables(void) {
    facet_status status = FACET_OK;
    for (int style = TABLE_TEXT; style <= TABLE_CSV && status == FACET_OK; style++) {
        struct text out = {.data = NULL};
        status = render_table(style, &out);
        text_free(&out);
    }
    return status;
}

static facet_status do_read(void) {
    char *bytes = NULL;
    size_t n = 0;
    facet_status status = file_read_whole(target, &bytes, &n);
    base_free(&bytes);
    return status;
}

static void test_allocation_faults(void **state) {
    facet_status (*const calls[])(void) = {write_vtu_sample, do_json, do_tables, do_read};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const int64_t before = live_blocks();
        facet_status status = FACET_ERROR_MACHINE;
        int64_t k = 0;
        while (status != FACET_OK) {
            base_memory_fail_at(++k);
            status = calls[i]();
            base_memory_fail_at(0);
            assert_true(status == FACET_OK || status == FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), before);
            assert_int_equal(count_files(directory, ".part"), 0);
        }
        assert_true(k > 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_read), cmocka_unit_test(test_links_and_devices),
        cmocka_unit_test(test_write_failures), cmocka_unit_test(test_same_file),
        cmocka_unit_test(test_others_parts),   cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_long_names),     cmocka_unit_test(test_check),
        cmocka_unit_test(test_pipes),          cmocka_unit_test(test_interrupted_writing),
        cmocka_unit_test(test_full_disk),      cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_json_numbers),   cmocka_unit_test(test_table),
        cmocka_unit_test(test_node_maps),      cmocka_unit_test(test_vtu_threads),
        cmocka_unit_test(test_vtu_refusals),   cmocka_unit_test(test_allocation_faults),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
