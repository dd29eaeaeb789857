/* The options of all commands in one table, and the parser that reads them: --name value or --name=value. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "base/guess.h"
#include "base/memory.h"

static const struct option_row {
    enum app_option option;
    const char *name, *value, *help;
} table[] = {
    {OPTION_SET, "--set", "KEY=VALUE",
     "override a value of the case, e.g. discretization.degree=4; repeatable"},
    {OPTION_REFINE, "--refine", "A:B", "refine the mesh A, A+1, ... B times (default 0:3)"},
    {OPTION_DEGREE, "--degree", "A:B", "polynomial degrees A to B (default: that of the case)"},
    {OPTION_DEVICE, "--device", "NAME", "where to compute: cpu (the default), ref (plain C), debug, cuda"},
    {OPTION_THREADS, "--threads", "N", "threads to use (default: all)"},
    {OPTION_JSON, "--json", "FILE",
     "write the results as JSON; - for standard output, the report then goes to "
     "standard error"},
    {OPTION_OUTPUT_FILE, "--output", "FILE", "write the fields there (.vtu), instead of output.file"},
    {OPTION_OUTPUT_DIR, "--output", "DIR",
     "write tables and the data of figures there (default: print only)"},
    {OPTION_MARKDOWN, "--markdown", NULL, "tables and pages as Markdown"},
    {OPTION_MONITOR, "--monitor", NULL,
     "print the residual of every iteration, and what every level of a multigrid did"},
    {OPTION_TAU, "--tau", "TEXT", "a stabilization other than the paper's"},
    {OPTION_QUICK, "--quick", NULL, "a smaller version that takes seconds"},
    {OPTION_PLOT, "--plot", NULL, "draw .dat files as .png and .svg: PATHs, else bench/results"},
    {OPTION_QUIET, "--quiet", NULL, "print nothing but errors"},
};
#define N_OPTIONS ((int)(sizeof table / sizeof table[0]))

void options_describe(unsigned options, struct text *out) {
    for (int i = 0; i < N_OPTIONS; i++) {
        char left[40];
        if (!(options & table[i].option)) continue;
        snprintf(left, sizeof left, "%s%s%s", table[i].name, table[i].value ? " " : "",
                 table[i].value ? table[i].value : "");
        text_printf(out, "    %-20s %s\n", left, table[i].help);
    }
}

static facet_status unknown_option(const struct app_command *command, const char *name) {
    const char *known[N_OPTIONS + 1];
    int n = 0;
    for (int i = 0; i < N_OPTIONS; i++)
        if (command->options & table[i].option) known[n++] = table[i].name;
    known[n++] = "--help";
    const char *nearest = guess_nearest(name, n, known);
    if (nearest)
        return base_fail(FACET_ERROR_INPUT, "unknown option '%s' of '%s %s'; did you mean '%s'?", name,
                         app_program(), command->name, nearest);
    return base_fail(FACET_ERROR_INPUT, "unknown option '%s' of '%s %s'; see '%s %s --help'", name,
                     app_program(), command->name, app_program(), command->name);
}

/* A whole non-negative number at *text, which moves behind it. */
static int read_number(const char **text, int *number) {
    char *end;
    if (**text < '0' || **text > '9') return 0;
    long value = strtol(*text, &end, 10);
    *text = end;
    *number = value > INT_MAX ? INT_MAX : (int)value;
    return 1;
}

static facet_status read_range(const char *name, const char *text, struct app_range *range) {
    const char *at = text;
    int good = read_number(&at, &range->first);
    range->last = range->first;
    if (good && *at == ':') {
        at++;
        good = read_number(&at, &range->last);
    }
    if (good && *at == '\0' && range->last >= range->first) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s needs a range A:B of whole numbers, A <= B, not '%s'", name,
                     text);
}

static facet_status read_threads(const char *text, int *threads) {
    const char *at = text;
    if (read_number(&at, threads) && *at == '\0' && *threads >= 1 && *threads <= BASE_MAX_THREADS)
        return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "--threads needs a number from 1 to %d, not '%s'", BASE_MAX_THREADS,
                     text);
}

static facet_status store(const struct option_row *row, const char *value, struct app_options *options) {
    switch (row->option) {
    case OPTION_SET:
        options->settings[options->n_settings++] = value;
        break;
    case OPTION_DEVICE:
        options->device = value;
        break;
    case OPTION_THREADS:
        return read_threads(value, &options->threads);
    case OPTION_JSON:
        options->json = value;
        break;
    case OPTION_OUTPUT_FILE:
    case OPTION_OUTPUT_DIR:
        options->output = value;
        break;
    case OPTION_TAU:
        options->tau = value;
        break;
    case OPTION_REFINE:
        return read_range(row->name, value, &options->refine);
    case OPTION_DEGREE:
        return read_range(row->name, value, &options->degree);
    case OPTION_MONITOR:
        options->monitor = 1;
        break;
    case OPTION_QUIET:
        options->quiet = 1;
        break;
    case OPTION_MARKDOWN:
        options->markdown = 1;
        break;
    case OPTION_QUICK:
        options->quick = 1;
        break;
    case OPTION_PLOT:
        options->plot = 1;
        break;
    }
    return FACET_OK;
}

/* One option at argv[*i]; *i moves on to its value when that stands by itself. */
static facet_status parse_option(const struct app_command *command, int argc, char **argv, int *i,
                                 struct app_options *options) {
    const char *text = argv[*i], *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    for (int k = 0; k < N_OPTIONS; k++) {
        const struct option_row *row = &table[k];
        if (!(command->options & row->option) || strlen(row->name) != n || strncmp(row->name, text, n) != 0)
            continue;
        if (!row->value) {
            if (equals) return base_fail(FACET_ERROR_INPUT, "%s takes no value", row->name);
            return store(row, NULL, options);
        }
        if (equals) return store(row, equals + 1, options);
        if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0)
            return base_fail(FACET_ERROR_INPUT, "%s needs a value: %s %s", row->name, row->name, row->value);
        return store(row, argv[++*i], options);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    return unknown_option(command, name);
}

facet_status options_parse(const struct app_command *command, int argc, char **argv,
                           struct app_options *options, int *help) {
    facet_status status = FACET_OK;
    int only_arguments = 0;
    *options = (struct app_options){.refine = {0, -1}, .degree = {0, -1}};
    *help = 0;
    TRY(ALLOC(options->settings, argc + 1));
    TRY(ALLOC(options->arguments, argc + 1));
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        if (!only_arguments && (!strcmp(text, "--help") || !strcmp(text, "-h"))) {
            *help = 1;
            goto done;
        }
        if (!only_arguments && !strcmp(text, "--"))
            only_arguments = 1;
        else if (!only_arguments && text[0] == '-' && text[1] != '\0')
            TRY(parse_option(command, argc, argv, &i, options));
        else
            options->arguments[options->n_arguments++] = text;
    }
    if (options->n_arguments < command->min_arguments)
        FAIL(FACET_ERROR_INPUT, "'%s %s' needs %s; see '%s %s --help'", app_program(), command->name,
             command->arguments, app_program(), command->name);
    if (options->n_arguments > command->max_arguments)
        FAIL(FACET_ERROR_INPUT, "one argument too many for '%s %s': '%s'", app_program(), command->name,
             options->arguments[command->max_arguments]);
done:
    return status;
}

void options_free(struct app_options *options) {
    base_free(&options->settings);
    base_free(&options->arguments);
}
