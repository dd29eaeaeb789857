/* facet solve: one case, solved and reported. */
#include <string.h>
#include <sys/stat.h>

#include "app/app.h"

/* ParaView knows a file by the end of its name; a device has none. */
static facet_status check_output(const char *path) {
    struct stat info;
    size_t n = path ? strlen(path) : 0;
    if (!path || (n > 4 && strcmp(path + n - 4, ".vtu") == 0)) return FACET_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "--output needs a name that ends in .vtu, not '%s'", path);
}

static facet_status write_json(const struct run *run, const char *path) {
    facet_status status = FACET_OK;
    struct text text = {0};
    struct json json;
    if (!path) goto done;
    json_begin(&json, &text);
    run_write_json(run, NULL, &json);
    TRY(text.status);
    TRY(file_write_whole(path, text.data, text.length));
done:
    text_free(&text);
    return status;
}

static facet_status say(const struct run *run, FILE *stream) {
    struct text text = {0};
    report_header(run, &text);
    report_results(run, &text);
    facet_status status = report_put(stream, &text);
    text_free(&text);
    return status;
}

/* Nobody shall take the file of an earlier run for a result of this one. */
static facet_status name_output(const struct run *run, facet_status status) {
    struct stat info;
    char message[BASE_MESSAGE_BYTES];
    if (status == FACET_OK || (status == FACET_ERROR_INPUT && !run->problem)) return status;
    if (!run->output || stat(run->output, &info) != 0 || !S_ISREG(info.st_mode)) return status;
    snprintf(message, sizeof message, "%s", base_message());
    return base_fail(status, "%s\n'%s' is %s", message, run->output,
                     run->output_written ? "whole and of this run" : "old: this run did not write it");
}

facet_status solve_command(const struct app_options *options) {
    facet_status status = FACET_OK, solved = FACET_OK;
    struct case_file *file = NULL;
    facet_context *context = NULL;
    struct run run = {0};
    struct progress progress;
    char message[BASE_MESSAGE_BYTES];
    const struct run_options run_options = {
        .output = options->output, .json = options->json, .watch = options->monitor, .begun = base_seconds()};
    TRY(check_output(options->output));
    TRY(case_read(options->arguments[0], options->n_settings, options->settings, &file));
    TRY(app_context(options, &context));
    progress_begin(&progress, options, file, context);
    solved = run_solve(file, context, &run_options, &run);
    progress_clear(&progress);
    snprintf(message, sizeof message, "%s", base_message());
    status = solved;
    if (!run.has_report || (solved != FACET_OK && solved != FACET_NOT_CONVERGED)) goto done;
    TRY(write_json(&run, options->json));
    TRY(say(&run, report_stream(options)));
    if (solved != FACET_OK) FAIL(solved, "%s", message);
done:
    status = name_output(&run, status);
    run_destroy(&run);
    facet_context_destroy(&context);
    case_destroy(&file);
    return status;
}
