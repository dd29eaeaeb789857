/* The program: commands over case/run_case.h and facet.h, their options, and what they say.
 *
 * Every command returns a facet_status, which is the exit status; app_main() prints the message of a failure.
 * To add a command: a file with its function, a line in the table of main.c. To add an option: a line in the
 * table of options.c, a member here.
 */
#ifndef FACET_APP_APP_H
#define FACET_APP_APP_H

#include <stdio.h>

#include "base/file.h"
#include "base/run.h"
#include "case/run_case.h"
#include "io/table.h"

/* ------------------------------------------------------------------------------------------ options */

enum app_option {
    OPTION_SET = 1 << 0,
    OPTION_DEVICE = 1 << 1,
    OPTION_THREADS = 1 << 2,
    OPTION_JSON = 1 << 3,
    OPTION_OUTPUT_FILE = 1 << 4,
    OPTION_OUTPUT_DIR = 1 << 5,
    OPTION_MONITOR = 1 << 6,
    OPTION_QUIET = 1 << 7,
    OPTION_REFINE = 1 << 8,
    OPTION_DEGREE = 1 << 9,
    OPTION_MARKDOWN = 1 << 10,
    OPTION_QUICK = 1 << 11,
    OPTION_TAU = 1 << 12,
    OPTION_PLOT = 1 << 13
};

struct app_range {
    int first, last; /* last < first: not given */
};
struct app_options {
    int n_settings;
    const char **settings;
    const char *device, *json, *output, *tau;
    int threads; /* 0: all */
    int monitor, quiet, markdown, quick, plot;
    struct app_range refine, degree;
    int n_arguments;
    const char **arguments; /* those that are not options */
    const char *line;       /* the whole command line, for the record */
    struct base_team *team; /* of facet-mpi */
};

struct app_command {
    const char *name, *arguments, *summary;
    unsigned options; /* of enum app_option */
    int min_arguments, max_arguments;
    facet_status (*run)(const struct app_options *options);
    const char *help; /* more to say, or NULL */
};

/* What makes a program of it. */
struct app_launch {
    const char *program, *runner;       /* "facet-mpi"; "mpiexec -n N ", in front of it */
    const struct app_command *commands; /* ended by one without a name */
    facet_status (*create_context)(const char *device, facet_context **context);
    struct base_team *team;                  /* who runs the same command, or NULL */
    void (*put_libraries)(struct text *out); /* lines for `info` about what it alone has; or NULL */
};
/* Of the launch. */
const char *app_program(void);
void app_put_libraries(struct text *out);
int app_main(int argc, char **argv, const struct app_launch *launch);

/* agree.c: refuses ranks whose command lines differ; they may have different numbers of threads. Collective.
 */
facet_status app_agree(int argc, char **argv, struct base_team *team);
/* Arguments after the name of the command. *help is set when help was asked for instead. */
facet_status options_parse(const struct app_command *command, int argc, char **argv,
                           struct app_options *options, int *help);
void options_free(struct app_options *options);
/* The options of a command, a line each. */
void options_describe(unsigned options, struct text *out);

/* ------------------------------------------------------------------------------------------ commands */

facet_status solve_command(const struct app_options *options);
facet_status converge_command(const struct app_options *options);
facet_status check_command(const struct app_options *options);
/* The case of a command; what is refused of it is told together with what its mesh contradicts, for which
 * *context, NULL as yet, is made. */
facet_status check_read(const struct app_options *options, facet_context **context, struct case_file **file);
facet_status bench_command(const struct app_options *options);
facet_status info_command(const struct app_options *options);
facet_status help_command(const struct app_options *options);
facet_status view_command(int argc, char **argv); /* hands its arguments on */

/* The context that --device and --threads ask for. */
facet_status app_context(const struct app_options *options, facet_context **context);
/* limits.c: the BLAS starts no thread where one is enough, and has its buffers where addresses are limited.
 */
facet_status app_prepare_blas(void);

/* ------------------------------------------------------------------------------------------ speaking */

/* Where a command reports: stdout, stderr when JSON goes to stdout, NULL for --quiet and on ranks but the
 * first. */
FILE *report_stream(const struct app_options *options);
/* Text to a stream, which may be NULL. */
facet_status report_put(FILE *stream, struct text *text);
/* report.c: what is said before and after a solve. */
void report_header(const struct run *run, struct text *out);
void report_results(const struct run *run, struct text *out);
/* "note      ...", broken at a colon where the line would be long. */
void report_note(const char *note, struct text *out);
/* A note when boundary data contradict the exact solution. */
void report_mismatch(const struct hdg_mismatch *mismatch, struct text *out);
/* "12.3 MB", "1.2 ms", "12 345": for people. */
struct report_word {
    char text[48];
};
struct report_word report_bytes(double bytes);
struct report_word report_seconds(double seconds);
struct report_word report_count(int64_t n);
struct report_word report_number_of(int64_t n, const char *thing); /* "1 cell", "12 cells" */

/* progress.c: a bar on a terminal, and the lines of --monitor. */
struct progress {
    FILE *lines;       /* of --monitor, or NULL */
    int bar;           /* stderr is a terminal */
    int drawn;         /* columns on the terminal now */
    const char *phase; /* on the terminal now */
    int n_open;        /* phases that have begun and not ended, each inside the one before */
    const char *open[FACET_N_PHASES];
    double rtol, last_seconds;
    const char *prefix; /* in front of the bar, "" for none */
};
void progress_begin(struct progress *progress, const struct app_options *options,
                    const struct case_file *file, facet_context *context);
void progress_clear(struct progress *progress);

#endif
