/* The program `facet`: its commands. */
#include <limits.h>

#include "app/app.h"

#define COMPUTE (OPTION_SET | OPTION_DEVICE | OPTION_THREADS | OPTION_JSON | OPTION_QUIET)

static const char files_help[] = "The mesh file of a case is relative to the case file; files that are "
                                 "written are relative to the current\n"
                                 "directory. 'facet help input' explains all keys of a case.\n";

static const struct app_command commands[] = {
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
     "Needs Python with NumPy (Debian: python3-numpy). 'facet view --help' lists the options of the "
     "viewer.\n"},
    {"info", "", "version, devices, libraries, memory", OPTION_DEVICE | OPTION_THREADS, 0, 0, info_command,
     NULL},
    {"help", "[input]", "this text; 'facet help input' explains the case file", OPTION_MARKDOWN, 0, 1,
     help_command, NULL},
    {.name = NULL},
};

int main(int argc, char **argv) {
    static const struct app_launch launch = {
        .program = "facet", .runner = "", .commands = commands, .create_context = facet_context_create};
    return app_main(argc, argv, &launch);
}
