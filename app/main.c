/* The program `facet`: finds the command, lets it run, prints what went wrong, returns its status. */
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

#define COMPUTE (OPTION_SET | OPTION_DEVICE | OPTION_THREADS | OPTION_JSON | OPTION_QUIET)

static const char files_help[] = "The mesh file of a case is relative to the case file; files that are "
                                 "written are relative to the current\n"
                                 "directory. 'facet help input' explains all keys of a case.\n";

const struct app_command app_commands[] = {
    {"solve", "CASE", "solve the problem of a case file", COMPUTE | OPTION_OUTPUT_FILE | OPTION_MONITOR, 1, 1,
     solve_command, files_help},
    {"converge", "CASE", "errors and observed orders on refined meshes, as a table",
     COMPUTE | OPTION_REFINE | OPTION_DEGREE | OPTION_MARKDOWN, 1, 1, converge_command,
     "The case must know its exact solution.\n"},
    {"check", "CASE", "validate a case file and its mesh, or a mesh file by itself", OPTION_SET, 1, 1,
     check_command, NULL},
    {"bench", "[NAME]", "the papers' tables, ours beside theirs; without a name: lists them",
     OPTION_OUTPUT_DIR | OPTION_QUICK | OPTION_TAU | OPTION_PLOT | OPTION_DEVICE | OPTION_THREADS, 0, INT_MAX,
     bench_command,
     "'facet bench --plot [PATH...]' draws the figures of benches that were run with --output: .dat files, "
     "or "
     "all\nof a directory, become pictures beside them, or in the directory given by --output. Needs "
     "gnuplot.\n"},
    {"view", "FILE", "a picture of a result", 0, 0, 0, NULL,
     "Needs Python with VTK (Debian: python3-vtk9). 'facet view --help' lists the options of the viewer.\n"},
    {"info", "", "version, devices, libraries, memory", OPTION_DEVICE | OPTION_THREADS, 0, 0, info_command,
     NULL},
    {"help", "[input]", "this text; 'facet help input' explains the case file", OPTION_MARKDOWN, 0, 1,
     help_command, NULL},
    {.name = NULL},
};

/* ------------------------------------------------------------------------------------------ help */

static facet_status put(struct text *text) {
    facet_status status = report_put(stdout, text);
    text_free(text);
    return status;
}

static facet_status print_overview(void) {
    struct text out = {0};
    text_printf(&out,
                "facet %s: elliptic problems by high-order hybridized discontinuous Galerkin methods\n\n"
                "usage: facet COMMAND [ARGUMENTS]\n\n",
                facet_version());
    for (const struct app_command *c = app_commands; c->name; c++)
        text_printf(&out, "    facet %-9s %-9s %s\n", c->name, c->arguments, c->summary);
    text_printf(
        &out,
        "\nThe first case: write these three lines to case.yaml, then run 'facet solve case.yaml'.\n\n"
        "    mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [8, 8]}}\n"
        "    equation: diffusion\n"
        "    exact: sin(pi*x)*sin(pi*y)\n\n"
        "'facet help input' explains all keys of a case and the functions of expressions, as docs/input.md "
        "does;\n'facet COMMAND --help' tells more about a command.\n\n"
        "Exit status: 0 done; 1 the solve did not converge; 2 the input is wrong; 3 the machine failed "
        "(memory,\ndevice, file); 130 interrupted (143: by SIGTERM).\n");
    return put(&out);
}

static facet_status print_command(const struct app_command *command) {
    struct text out = {0};
    text_printf(&out, "usage: facet %s %s%s\n\n%s\n\n", command->name, command->arguments,
                command->options ? " [OPTIONS]" : "", command->summary);
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
    for (const struct app_command *c = app_commands; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

static facet_status unknown_command(const char *name) {
    const char *known[16];
    int n = 0;
    for (const struct app_command *c = app_commands; c->name; c++) known[n++] = c->name;
    const char *nearest = guess_nearest(name, n, known);
    if (nearest)
        return base_fail(FACET_ERROR_INPUT, "unknown command '%s'; did you mean 'facet %s'?", name, nearest);
    return base_fail(FACET_ERROR_INPUT, "unknown command '%s'; see 'facet --help'", name);
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
    if (status == FACET_OK) return;
    for (const char *line = base_message(); *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(stderr, "facet: %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

facet_status app_context(const struct app_options *options, facet_context **context) {
    facet_status status = FACET_OK;
    TRY(facet_context_create(options->device, context));
    base_set_threads(options->threads); /* of the whole process: much of a run is no call of facet.h */
    TRY(app_prepare_blas());
done:
    return status;
}

/* The command line as it was typed, more or less. */
static void join(int argc, char **argv, struct text *line) {
    for (int i = 0; i < argc; i++) text_printf(line, "%s%s", i ? " " : "", i ? argv[i] : "facet");
}

static facet_status run_command(int argc, char **argv) {
    struct app_options options = {0};
    struct text line = {0};
    int help = 0;
    const char *name = argc > 1 ? argv[1] : "--help";
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) return print_overview();
    if (!strcmp(name, "--version")) {
        struct text out = {0};
        text_printf(&out, "facet %s\n", facet_version());
        return put(&out);
    }
    const struct app_command *command = find_command(name);
    if (!command) return unknown_command(name);
    if (!command->run) return view_command(argc - 2, argv + 2);
    facet_status status = options_parse(command, argc - 2, argv + 2, &options, &help);
    join(argc, argv, &line);
    if (status == FACET_OK) status = line.status;
    if (status == FACET_OK && !options.quiet) status = file_check("-"); /* where it is going to report */
    if (status == FACET_OK) {
        options.line = line.data;
        catch_signals();
        status = help ? print_command(command) : command->run(&options);
    }
    options_free(&options);
    text_free(&line);
    return status;
}

int main(int argc, char **argv) {
    keep_streams();
    base_memory_prepare();
    facet_share_processors();
    facet_status status = run_command(argc, argv);
    if (fflush(stdout) != 0 && status == FACET_OK)
        status = base_fail(FACET_ERROR_MACHINE, "cannot write to standard output: %s", strerror(errno));
    print_failure(status);
    return status == FACET_INTERRUPTED && stopped_by != 0 ? 128 + stopped_by : (int)status;
}
