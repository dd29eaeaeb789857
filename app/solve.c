/* facet solve: one case, solved and reported. */
#include <string.h>
#include <sys/stat.h>

#include "app/app.h"
#include "base/memory.h"

/* ParaView knows a file by the end of its name; a device has none. */
static facet_status check_output(const char *path) {
    struct stat info;
    size_t n = path ? strlen(path) : 0;
    if (!path || (n > 4 && strcmp(path + n - 4, ".vtu") == 0)) return FACET_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "--output needs a name that ends in .vtu, not '%s'", path);
}

static facet_status write_json(int n, const struct run *runs, const char *path) {
    facet_status status = FACET_OK;
    struct text text = {0};
    if (!path) goto done;
    TRY(run_write_all(n, runs, &text));
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

/* One case, after the n runs before it. What is to be said is said; *solved: how the solve ended. */
static facet_status solve_case(const struct app_options *options, const struct case_file *file,
                               facet_context *context, double begun, int n, struct run *runs) {
    facet_status status = FACET_OK, solved;
    struct progress progress;
    char message[BASE_MESSAGE_BYTES];
    const struct run_options run_options = {.output = options->output,
                                            .json = options->json,
                                            .watch = options->monitor,
                                            .before = runs,
                                            .n_before = n,
                                            .begun = n == 0 ? begun : 0.0};
    progress_begin(&progress, options, file, context);
    solved = run_solve(file, context, &run_options, &runs[n]);
    progress_clear(&progress);
    snprintf(message, sizeof message, "%s", base_message());
    status = solved;
    if (!runs[n].has_report || (solved != FACET_OK && solved != FACET_NOT_CONVERGED)) goto done;
    if ((file->next == NULL || solved != FACET_OK) && team_rank(options->team) == 0)
        TRY(write_json(n + 1, runs, options->json));
    TRY(say(&runs[n], report_stream(options)));
    if (solved != FACET_OK) FAIL(solved, "%s", message);
done:
    return name_output(&runs[n], status);
}

/* The cases of a chain one after the other; what fails ends it, since later ones may need it. */
facet_status solve_command(const struct app_options *options) {
    facet_status status = FACET_OK;
    struct case_file *file = NULL;
    facet_context *context = NULL;
    struct run *runs = NULL;
    int n = 0, n_cases = 0;
    double begun = base_seconds();
    TRY(check_output(options->output));
    TRY(check_read(options, &context, &file));
    for (const struct case_file *f = file; f != NULL; f = f->next) n_cases++;
    if (n_cases > 1 && options->output)
        FAIL(FACET_ERROR_INPUT,
             "--output names one file, but %s has %d cases; use --set cases.0.output.file=...", file->path,
             n_cases);
    TRY(CALLOC(runs, n_cases));
    TRY(app_context(options, &context));
    for (const struct case_file *f = file; f != NULL; f = f->next)
        TRY(solve_case(options, f, context, begun, n++, runs));
done:
    for (int i = n - 1; i >= 0; i--) run_destroy(&runs[i]);
    base_free(&runs);
    facet_context_destroy(&context);
    case_destroy(&file);
    return status;
}
