/* What `facet` and `facet-mpi` share: finds the command, lets it run, prints what went wrong, returns its
 * status. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/app.h"
#include "base/guess.h"
#include "base/memory.h"
#include "case/schema.h"

/* Of this process; commands see what they need of it in their options. */
static const struct app_launch *launch;

/* ------------------------------------------------------------------------------------------ help */

static facet_status put(struct text *text) {
    facet_status status = report_put(team_rank(launch->team) == 0 ? stdout : NULL, text);
    text_free(text);
    return status;
}

static facet_status print_overview(void) {
    struct text out = {0};
    text_printf(&out,
                "%s %s: elliptic problems by high-order hybridized discontinuous Galerkin methods\n\n"
                "usage: %s%s COMMAND [ARGUMENTS]\n\n",
                launch->program, facet_version(), launch->runner, launch->program);
    for (const struct app_command *c = launch->commands; c->name; c++)
        text_printf(&out, "    %s %-9s %-9s %s\n", launch->program, c->name, c->arguments, c->summary);
    text_printf(
        &out,
        "\nThe first case: write these three lines to case.yaml, then run '%s%s solve case.yaml'.\n\n"
        "    mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [8, 8]}}\n"
        "    equation: diffusion\n"
        "    exact: sin(pi*x)*sin(pi*y)\n\n"
        "'%s help input' explains all keys of a case and the functions of expressions, as docs/input.md "
        "does;\n'%s COMMAND --help' tells more about a command.\n\n"
        "Exit status: 0 done; 1 the solve did not converge, or a result is not to be trusted, which the "
        "message "
        "names;\n2 the input is wrong; 3 the machine failed (memory, device, file); 130 interrupted (143: by "
        "SIGTERM).\n",
        launch->runner, launch->program, launch->program, launch->program);
    return put(&out);
}

static facet_status print_command(const struct app_command *command) {
    struct text out = {0};
    text_printf(&out, "usage: %s%s %s %s%s\n\n%s\n\n", launch->runner, launch->program, command->name,
                command->arguments, command->options ? " [OPTIONS]" : "", command->summary);
    options_describe(command->options, &out);
    text_printf(&out, "    %-20s %s\n", "--help", "this text");
    if (command->help) text_printf(&out, "\n%s", command->help);
    if (command->run == solve_command) {
        text_printf(&out, "\n");
        schema_describe(0, &out);
    }
    return put(&out);
}

static const struct app_command *find_command(const char *name) {
    for (const struct app_command *c = launch->commands; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

static facet_status unknown_command(const char *name) {
    const char *known[16];
    int n = 0;
    for (const struct app_command *c = launch->commands; c->name; c++) known[n++] = c->name;
    const char *nearest = guess_nearest(name, n, known);
    if (nearest)
        return base_fail(FACET_ERROR_INPUT, "unknown command '%s'; did you mean '%s %s'?", name,
                         launch->program, nearest);
    return base_fail(FACET_ERROR_INPUT, "unknown command '%s'; see '%s --help'", name, launch->program);
}

facet_status help_command(const struct app_options *options) {
    struct text out = {0};
    const char *topic = options->n_arguments > 0 ? options->arguments[0] : NULL;
    if (!topic && !options->markdown) return print_overview();
    if (!topic || strcmp(topic, "input") == 0) {
        schema_describe(options->markdown, &out);
        return put(&out);
    }
    const struct app_command *command = find_command(topic);
    return command ? print_command(command) : unknown_command(topic);
}

/* ------------------------------------------------------------------------------------------ running */

/* The signal that asked the program to stop. */
static volatile sig_atomic_t stopped_by;

/* The first Ctrl-C, or the first SIGTERM of a batch system, asks the solve to stop and half-written files to
 * be removed; a second one ends the program at once. */
static void on_interrupt(int signal_number) {
    if (stopped_by != 0) {
        file_remove_unfinished();
        _exit(128 + signal_number);
    }
    stopped_by = signal_number;
    facet_interrupt();
}

/* A file that grows too large (ulimit -f) and a pipe without a reader are errors of writing, not the end. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_interrupt}, old;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* A standard stream that is closed gets a file that cannot be written, or the next file that is opened would
 * take its number, and reports would go there. */
static void keep_streams(void) {
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

static void print_failure(facet_status status) {
    if (status == FACET_OK || team_rank(launch->team) > 0) return;
    for (const char *line = base_message(); *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(stderr, "%s: %.*s\n", launch->program, (int)n, line);
        line += n + (line[n] == '\n');
    }
}

const char *app_program(void) {
    return launch->program;
}

void app_put_libraries(struct text *out) {
    if (launch->put_libraries != NULL) launch->put_libraries(out);
}

facet_status app_context(const struct app_options *options, facet_context **context) {
    facet_status status = FACET_OK;
    TRY(launch->create_context(options->device, context));
    base_set_threads(options->threads); /* of the whole process: much of a run is no call of facet.h */
    if (options->threads > 1 && !BASE_HAS_OPENMP && team_rank(launch->team) == 0)
        fprintf(stderr, "%s: --threads %d: built without OpenMP, this program works with one thread\n",
                launch->program, options->threads);
    TRY(app_prepare_blas());
done:
    return status;
}

/* The command line as it was typed, more or less. */
static void join(int argc, char **argv, struct text *line) {
    for (int i = 0; i < argc; i++) text_printf(line, "%s%s", i ? " " : "", i ? argv[i] : launch->program);
}

static facet_status run_command(int argc, char **argv) {
    struct app_options options = {0};
    struct text line = {0};
    int help = 0;
    const char *name = argc > 1 ? argv[1] : "--help";
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) return print_overview();
    if (!strcmp(name, "--version")) {
        struct text out = {0};
        text_printf(&out, "%s %s (commit %s)\n", launch->program, facet_version(), facet_commit());
        return put(&out);
    }
    const struct app_command *command = find_command(name);
    if (!command) return unknown_command(name);
    if (!command->run) return view_command(argc - 2, argv + 2);
    facet_status status = options_parse(command, argc - 2, argv + 2, &options, &help);
    join(argc, argv, &line);
    if (status == FACET_OK) status = line.status;
    options.team = launch->team;
    if (status == FACET_OK && !options.quiet && team_rank(launch->team) == 0)
        status = file_check("-"); /* where it is going to report */
    if (status == FACET_OK) {
        options.line = line.data;
        catch_signals();
        status = help ? print_command(command) : command->run(&options);
    }
    options_free(&options);
    text_free(&line);
    return status;
}

int app_main(int argc, char **argv, const struct app_launch *how) {
    launch = how;
    keep_streams();
    base_memory_prepare();
    team_enter(launch->team);
    facet_status status = app_agree(argc, argv, launch->team);
    if (status == FACET_OK) status = run_command(argc, argv);
    if (fflush(stdout) != 0 && status == FACET_OK)
        status = base_fail(FACET_ERROR_MACHINE, "cannot write to standard output: %s", strerror(errno));
    status = team_leave(launch->team, status);
    print_failure(status);
    return status == FACET_INTERRUPTED && stopped_by != 0 ? 128 + stopped_by : (int)status;
}
