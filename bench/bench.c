/* How the result of a bench is recorded. */
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

static facet_status record(const struct bench_options *options, const char *name, const char *title,
                           const struct table *table) {
    struct text out = {0};
    char path[4096], date[32], what[160] = "";
    const struct device *device;
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
    if (device_find(options->device, &device) == FACET_OK && device_describe(device)[0] != '\0')
        snprintf(what, sizeof what, " (%s)", device_describe(device));
    text_printf(
        &out,
        "# %s\n\n%s\n\n- command: `%s`\n- date: %s, commit: %s\n- device: %s%s, %d threads, facet %s\n\n",
        name, title, options->command, date, facet_commit(), options->device, what, options->threads,
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
    if (options->silent) return FACET_OK;
    text_printf(&out, "%s\n\n", title);
    facet_status status = table_render(table, TABLE_TEXT, &out);
    if (status == FACET_OK) status = out.status;
    if (status == FACET_OK) printf("%s\n", out.data);
    text_free(&out);
    if (status != FACET_OK || options->output == NULL) return status;
    return record(options, name, title, table);
}
