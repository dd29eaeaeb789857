/* The list of benches, and how a result is recorded. */
#include "bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "device/device.h"

const struct bench *bench_list(void) {
    static const struct bench list[] = {
        {"king2014",
         "Tables 1 to 7: errors, stage times, memory of the Helmholtz problem on triangles, P = 1..9",
         bench_king2014},
        {"fabien2017-accuracy", "Table 1: errors and rates on squares, and the problem as written",
         bench_fabien2017_accuracy},
        {"fabien2017-roofline",
         "Figures 14 to 17: the trace product against the roofs, speed of the stages by threads",
         bench_fabien2017_roofline},
        {"fabien2017-multigrid",
         "Figures 2 to 10: V-, W- and full cycles, rates, and iterations under refinement",
         bench_fabien2017_multigrid},
        {"fabien2017-postprocess", "Figure 18: work and precision of u* against u of one degree more",
         bench_fabien2017_postprocess},
        {"fabien2019-accuracy", "Tables 1 to 3: errors of elasticity on tets, up to lambda = 1e6 mu",
         bench_fabien2019_accuracy},
        {"fabien2019-tas", "Figures 14, 16 and 17: digits of efficacy and unknowns per second, k = 1..6",
         bench_fabien2019_tas},
        {"fabien2019-iterations", "Figures 9 and 10: iterations with p-multigrid over k, meshes and lambda",
         bench_fabien2019_iterations},
        {"fabien2019-gpu",
         "Figures 6, 7 and 15: the trace product against the roofs, local solvers, and the device given by "
         "--device against one core and all cores",
         bench_fabien2019_gpu},
        {"cui2024-iterations",
         "Tables 1 to 3: V-cycles with vertex patches and point Gauss-Seidel, k = 1..10",
         bench_cui2024_iterations},
        {"cui2024-gpu",
         "Figures 9, 15, 17, 19, 20, Table 7: smoothing by kernel, products and solves on the device given "
         "by "
         "--device",
         bench_cui2024_gpu},
        {"cui2024-gpu-profile", "one smoothing step by every kernel, for bench/profile.py (Table 5)",
         bench_cui2024_gpu_profile},
        {"cui2024-precision", "Table 7: cycles in single precision, the direct solve, jumping coefficients",
         bench_cui2024_precision},
        {"local-3d", "local solvers, recovery and trace products on tets and hexes, against the roofs",
         bench_local3d},
        {"pmg", "p-multigrid: iterations under refinement, coarse spaces and smoothers", bench_pmg},
        {"pmg-jumps", "p-multigrid where K jumps: chessboards of pieces and of cells, and without pattern",
         bench_pmg_jumps},
        {"pmg-elastic", "p-multigrid for bodies: nearly incompressible ones, and two materials, k = 1..4",
         bench_pmg_elastic},
        {"pmg-bytes", "bytes that an iteration with p-multigrid moves an unknown, beside the least",
         bench_pmg_bytes},
        {"auto-choice", "what `auto` takes against the best choice by hand, on twelve kinds of problems",
         bench_auto_choice},
        {"pmg-large", "p-multigrid against algebraic multigrid on solids with 1.5 million unknowns",
         bench_pmg_large},
        {"gmg",
         "geometric multigrid against p-multigrid and algebraic multigrid: time and memory, to 10 million "
         "unknowns",
         bench_gmg},
        {"gmg-flat", "geometric multigrid: processor time an unknown from 128^2 to 1024^2 quads",
         bench_gmg_flat},
        {"amg", "algebraic multigrid: iterations under refinement, and variants", bench_amg},
        {"huismann2020", "Figures 2 to 6: all of the next five, half an hour", bench_huismann2020},
        {"huismann2020-operators",
         "Figures 2 and 3: operators on boxes, p = 2..32, against ours and the bound",
         bench_huismann2020_operators},
        {"huismann2020-solvers",
         "Figure 4: the eight solvers on 8^3 cells, ours and the direct ones, p = 2..16",
         bench_huismann2020_solvers},
        {"huismann2020-high", "Figure 4: the same, p = 18..32, errors down to rounding",
         bench_huismann2020_high},
        {"huismann2020-mesh", "Figure 6: the same by cells at p = 16; iterations from 4^3 to 32^3 cells",
         bench_huismann2020_mesh},
        {"huismann2020-robust", "Figure 5: iterations by penalty, aspect ratio and random conductivity",
         bench_huismann2020_robust},
        {"huismann2020-gpu",
         "HDG on boxes on the device given by --device: operators against its copy bandwidth, whole solves",
         bench_huismann2020_gpu},
        {"gpu-cells",
         "mapped cells on --device: trace products and smoothers against its copy bandwidth, local solvers",
         bench_gpu_cells},
        {"gpu-general",
         "curved cells and data that vary on --device: local solvers beside those of straight cells",
         bench_gpu_general},
        {"gpu-whole",
         "boxes: seconds of 'facet solve' from exec to exit, on --device and on the processors beside it",
         bench_gpu_whole},
        {"hdg-pays",
         "error against seconds: methods on boxes, p = 1..12; 2D, tets, sphere beside other programs",
         bench_hdg_pays},
        {"expressions", "nanoseconds per point of functions and formulas, with derivatives, beside libm",
         bench_expressions},
        {"smoothers", "nanoseconds per block of faces: whole blocks of any sizes beside triangles in lanes",
         bench_smoothers},
        {NULL, NULL, NULL},
    };
    return list;
}

const char *bench_tau(const struct bench_options *options) {
    return options->tau != NULL ? options->tau : "1";
}

/* Makes a directory and those above it that are missing; the last one may have been there. */
static facet_status make_directory(const char *path) {
    char part[PATH_MAX];
    struct stat info;
    size_t n = strlen(path);
    for (size_t i = 1; i <= n && n < sizeof part; i++) {
        if (i < n && path[i] != '/') continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (mkdir(part, 0777) != 0 && errno != EEXIST && (errno != EROFS || access(part, F_OK) != 0))
            return base_fail(FACET_ERROR_MACHINE, "cannot make the directory '%s': %s", part,
                             strerror(errno));
    }
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return FACET_OK;
    return base_fail(FACET_ERROR_MACHINE, "'%s' is no directory", path);
}

facet_status bench_check_output(const struct bench_options *options) {
    facet_status status = FACET_OK;
    if (options->output == NULL) return status;
    TRY(make_directory(options->output));
    if (access(options->output, W_OK | X_OK) != 0)
        FAIL(FACET_ERROR_MACHINE, "cannot write into '%s': %s", options->output, strerror(errno));
done:
    return base_wrap(status, "--output");
}

/* The commit of the source tree around the current folder, or "unknown". */
static void find_commit(char *text, size_t bytes) {
    snprintf(text, bytes, "unknown");
    FILE *pipe = popen("git describe --always --dirty 2>/dev/null", "r");
    if (pipe == NULL) return;
    char line[128];
    if (fgets(line, sizeof line, pipe) != NULL) snprintf(text, bytes, "%.*s", (int)strcspn(line, "\n"), line);
    pclose(pipe);
}

static facet_status record(const struct bench_options *options, const char *name, const char *title,
                           const struct table *table) {
    struct text out = {0};
    char path[4096], commit[128], date[32], what[160] = "";
    const struct device *device;
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
    find_commit(commit, sizeof commit);
    if (device_find(options->device, &device) == FACET_OK && device_describe(device)[0] != '\0')
        snprintf(what, sizeof what, " (%s)", device_describe(device));
    text_printf(
        &out,
        "# %s\n\n%s\n\n- command: `%s`\n- date: %s, commit: %s\n- device: %s%s, %d threads, facet %s\n\n",
        name, title, options->command, date, commit, options->device, what, options->threads,
        facet_version());
    facet_status status = table_render(table, TABLE_MARKDOWN, &out);
    if (status == FACET_OK) status = out.status;
    snprintf(path, sizeof path, "%s/%s.md", options->output, name);
    if (status == FACET_OK) status = file_write_whole(path, out.data, out.length);
    if (status == FACET_OK) printf("written: %s\n\n", path);
    text_free(&out);
    return status;
}

facet_status bench_emit(const struct bench_options *options, const char *name, const char *title,
                        const struct table *table) {
    struct text out = {0};
    text_printf(&out, "%s\n\n", title);
    facet_status status = table_render(table, TABLE_TEXT, &out);
    if (status == FACET_OK) status = out.status;
    if (status == FACET_OK) printf("%s\n", out.data);
    text_free(&out);
    if (status != FACET_OK || options->output == NULL) return status;
    return record(options, name, title, table);
}
