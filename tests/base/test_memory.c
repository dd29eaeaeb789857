/* The memory policy: what is free by the files of the system (control groups of both versions) and by the
 * limit of addresses; what a solve is said to take is what it takes; and what does not fit is refused with
 * numbers before it is tried. */
#include "hdg_helpers.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB 1048576.0

/* ------------------------------------------------------------------------------------- files of the system
 */

static char root[64];

/* The file `name` below the root, with the directories on the way; NULL: no such file. */
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (text == NULL) {
        remove(path);
        return;
    }
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void begin(const char *groups) {
    snprintf(root, sizeof root, "/tmp/facet-memory-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("proc/meminfo",
        "MemTotal:       8192000 kB\nMemFree: 5 kB\nMemAvailable:    4194304 kB\n"); /* 4 GiB */
    put("proc/self/cgroup", groups);
}

static void end(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static double mib(void) {
    return base_available_under(root) / MIB;
}

static void second_version(void **state) {
    (void)state;
    begin("0::/a.slice/b.scope\n");
    assert_true(mib() == 4096.0); /* no files */
    put("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
    put("sys/fs/cgroup/a.slice/b.scope/memory.high", "max\n");
    put("sys/fs/cgroup/a.slice/b.scope/memory.current", "104857600\n");
    assert_true(mib() == 4096.0); /* no limit */
    put("sys/fs/cgroup/a.slice/b.scope/memory.max", "1073741824\n");
    assert_true(mib() == 924.0);
    put("sys/fs/cgroup/a.slice/b.scope/memory.stat",
        "anon 1\nactive_file 7\ninactive_file 52428800\nslab 3\n");
    assert_true(mib() == 974.0); /* 50 MiB can be dropped */
    put("sys/fs/cgroup/a.slice/b.scope/memory.high", "536870912\n");
    assert_true(mib() == 462.0);
    put("sys/fs/cgroup/a.slice/memory.max", "314572800\n"); /* 300 MiB around it, 290 of them used */
    put("sys/fs/cgroup/a.slice/memory.current", "304087040\n");
    assert_true(mib() == 10.0);
    put("sys/fs/cgroup/a.slice/memory.current", "409600000\n"); /* more than allowed */
    assert_true(mib() == 0.0);
    put("sys/fs/cgroup/a.slice/memory.current", NULL);
    assert_true(mib() == 300.0);
    put("proc/meminfo", "MemAvailable:    1024 kB\n");
    assert_true(mib() == 1.0);
    end();
}

/* In a container the path may be the machine's, of which only the mount is seen; or "/". */
static void containers(void **state) {
    (void)state;
    static const char *const paths[] = {"0::/docker/0123456789abcdef\n", "0::/\n", "0::/../x\n"};
    for (int i = 0; i < 3; i++) {
        begin(paths[i]);
        put("sys/fs/cgroup/memory.max", "2147483648\n");
        put("sys/fs/cgroup/memory.current", "1073741824\n");
        assert_true(mib() == 1024.0);
        end();
    }
}

static void first_version(void **state) {
    (void)state;
    begin("9:name=systemd:/\n5:devices:/\n4:cpu,memory:/jobs/17\n0::/\nno line\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "3000000000\n");
    assert_true(mib() == 4096.0);
    put("sys/fs/cgroup/memory/jobs/17/memory.limit_in_bytes", "1073741824\n");
    put("sys/fs/cgroup/memory/jobs/17/memory.usage_in_bytes", "536870912\n");
    put("sys/fs/cgroup/memory/jobs/17/memory.stat", "inactive_file 1048576\ntotal_inactive_file 2097152\n");
    assert_true(mib() == 514.0);
    put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "104857600\n");
    put("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "94371840\n");
    assert_true(mib() == 10.0);
    end();
}

static void nothing_is_known(void **state) {
    (void)state;
    begin("");
    put("proc/self/cgroup", NULL);
    assert_true(mib() == 4096.0);
    put("proc/meminfo", NULL);
    assert_true(mib() > 0.0); /* what the machine has */
    end();
    assert_true(base_available_bytes() > 0.0);
}

static void limits_of_addresses_count(void **state) {
    (void)state;
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    double available = base_available_bytes();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(available == 0.0);
    assert_true(base_available_bytes() > 0.0);
}

/* ------------------------------------------------------------------------------------- solves */

struct want {
    const char *discretization, *operator_name, *method, *preconditioner, *precision, *device;
    int dim, cells, degree;
    int counted; /* all of it: what is said is what is taken */
};

struct made {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
};

static void let_go(struct made *m) {
    facet_solver_destroy(&m->solver);
    facet_problem_destroy(&m->problem);
    facet_mesh_destroy(&m->mesh);
    facet_context_destroy(&m->context);
}

/* With so much memory for the solver (0: as there is). */
static facet_status make(const struct want *w, double available, struct made *m) {
    facet_status status = FACET_OK;
    facet_options options;
    *m = (struct made){0};
    facet_box box = {
        .size = sizeof(facet_box), .dim = w->dim, .upper = {1, 1, 1}, .shape = w->dim == 2 ? "quad" : "hex"};
    for (int d = 0; d < w->dim; d++) box.cells[d] = w->cells;
    facet_options_default(&options, sizeof options);
    options.degree = w->degree;
    options.discretization = w->discretization;
    options.operator_name = w->operator_name;
    options.method = w->method;
    options.preconditioner = w->preconditioner;
    options.precision = w->precision;
    options.rtol = 1e-8;
    TRY(facet_context_create(w->device, &m->context));
    TRY(facet_mesh_create_box(m->context, &box, &m->mesh));
    TRY(facet_problem_create(m->context, m->mesh, FACET_DIFFUSION, &m->problem));
    TRY(facet_problem_set_source(m->problem, "1 + x*y"));
    TRY(facet_problem_set_dirichlet(m->problem, "rest", "x"));
    base_pretend_available(available);
    status = facet_solver_create(m->problem, &options, &m->solver);
    base_pretend_available(0.0);
done:
    return status;
}

static const struct want wants[] = {
    {"hdg", "tensor", "direct", NULL, NULL, NULL, 3, 6, 5, 1},
    {"hdg", "tensor", "cg", "additive", "double", NULL, 3, 8, 5, 1},
    {"hdg", "tensor", "cg", "chebyshev", "mixed", NULL, 3, 8, 5, 1},
    {"hdg", "tensor", "cg", "block", NULL, NULL, 2, 24, 6, 1},
    {"hdg", "tensor", "direct", NULL, NULL, "debug", 2, 8, 3, 0},
    {"hdg", "tensor", "cg", "additive", "mixed", "debug", 2, 8, 3, 0},
    {"continuous", NULL, "direct", NULL, NULL, NULL, 3, 8, 4, 1},
    {"continuous", NULL, "cg", "patches", "mixed", NULL, 3, 16, 4, 1},
    {"continuous", NULL, "multigrid", NULL, "mixed", "debug", 2, 8, 4, 0},
    {"hdg", "mapped", "cg", "none", NULL, NULL, 3, 8, 3, 0},
};

/* What the refusal says: bytes that are needed, and cells of a direction (mapped: all of them) that would
 * fit; 0: none. */
static double needed(const struct want *w, double available, int *cells) {
    struct made m;
    double gib, bytes, free_gib, free_bytes;
    assert_int_equal(make(w, available, &m), FACET_ERROR_MACHINE);
    assert_null(m.solver);
    let_go(&m);
    const char *at = strstr(facet_message(), " would take about "),
               *fits = strstr(facet_message(), "; of this degree ");
    if (at == NULL || strstr(at, " would fit") == NULL) fail_msg("%s", facet_message());
    assert_int_equal(
        sscanf(at, " would take about %lf GiB (%lf bytes) of memory, and %lf GiB (%lf bytes) are free", &gib,
               &bytes, &free_gib, &free_bytes),
        4);
    near(free_bytes, available, 1.0);
    near(bytes / 1073741824.0, gib, 6e-4);
    *cells = 0;
    if (fits != NULL) assert_int_equal(sscanf(fits, "; of this degree%*[ about]%d", cells), 1);
    return bytes;
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    struct base_memory before, after;
    base_memory_read(&before);
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        struct want w = wants[i];
        struct made m;
        int cells, mapped = w.operator_name != NULL && strcmp(w.operator_name, "mapped") == 0;
        double available = mapped ? 1.5e7 : 0.4 * needed(&w, 1.0, &cells);
        needed(&w, available, &cells);
        assert_in_range(cells, 1, mapped ? 511 : w.cells - 1);
        w.cells = mapped ? 2 : cells;
        ok(make(&w, mapped ? 0.0 : available, &m)); /* these do fit */
        let_go(&m);
    }
    base_memory_read(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
}

static void what_is_counted_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        struct base_memory before, after;
        struct made m;
        int cells;
        if (!wants[i].counted) continue;
        double bytes = needed(&wants[i], 1.0, &cells);
        base_memory_read(&before);
        base_memory_reset_peak();
        ok(make(&wants[i], 0.0, &m));
        ok(facet_solver_solve(m.solver, NULL, NULL));
        base_memory_read(&after);
        double taken = (double)(after.peak_bytes - before.live_bytes);
        if (!(bytes > 0.7 * taken && bytes < 1.4 * taken))
            fail_msg("%s, %s: %g bytes expected, %g taken", wants[i].discretization, wants[i].method, bytes,
                     taken);
        let_go(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_version),
        cmocka_unit_test(containers),
        cmocka_unit_test(first_version),
        cmocka_unit_test(nothing_is_known),
        cmocka_unit_test(limits_of_addresses_count),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(what_is_counted_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
