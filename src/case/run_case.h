/* What a case describes, done: from a case file to results. The program's commands are thin over this.
 *
 * run_solve() goes the whole way; run_mesh() and run_problem() are its first two steps, for those who only
 * want to look. Messages begin with the place in the case file where it is known (case.yaml:12:5: ...), with
 * the case file otherwise; a message may have several lines, each with its place.
 *
 * The mesh file of a case is relative to the case file; files that are written are relative to the current
 * directory. Everything that can be refused is refused before the solve: unknown parts and groups, points
 * outside the mesh, targets that cannot be written.
 */
#ifndef FACET_CASE_RUN_CASE_H
#define FACET_CASE_RUN_CASE_H

#include "base/run.h"
#include "case/case.h"
#include "io/json.h"
#include "problem/problem.h"

/* Exact, as far as the solve goes; of so many digits that only programs are told (`bars`); and what readers
 * are told of too: zero within the scale of its kind, and set to 0; known to some digits only, which is as
 * much as was asked for or as its scale lets one expect; not to be trusted: status 1. */
enum run_trust { RUN_EXACT, RUN_CLOSE, RUN_ZERO, RUN_ROUGH, RUN_UNTRUSTED };
/* Cells whose values at a common point differ by more than this, relative to the largest value of the field
 * that was asked for, are told of. */
#define RUN_NOTED 1e-3

/* A number, an array, or a line of points. */
struct run_value {
    const struct case_value *wanted;
    int64_t n_points;          /* along a line; 0: not a line */
    int n_components;          /* 1: a scalar */
    double *numbers;           /* (n_points or 1) x n_components */
    struct sample_place place; /* of an extreme */
    struct error_bar found;    /* as it was taken; of a line the largest, and with it the worst scale */
    double measure;            /* of the cells or faces of an integral, else 1 */
    /* Of one that is not exact: */
    enum run_trust trust;
    double bar;        /* what may be the error of u; of a zero a bound of it, in the numbers' units */
    double scale;      /* of a zero: what it is nothing of, */
    int against_drive; /* which is what u could drive through there, not the largest flux */
    /* Of values at points: */
    int64_t n_outside;          /* points of a line outside the mesh, whose numbers are NaN */
    int64_t n_moved, n_between; /* points that were moved to the boundary; that lie between cells whose values
                                   differ, and have the mean of these */
    double moved_by, apart, size; /* by how much at most; the largest number of any cell */
};

struct run_options {
    int refine;         /* added to mesh.refine */
    int degree;         /* in place of discretization.degree, 0: as the case says */
    const char *output; /* in place of output.file, NULL: as the case says */
    const char *json;   /* what the caller is going to write, or NULL: it is only checked with the others */
    int watch;          /* measure the levels of a multigrid */
    int no_files;       /* nothing is written, neither output.file nor tables of values */
    const struct run
        *before; /* of a chain: the runs of the cases before, in their order, whose mesh is taken */
    int n_before;
    double begun; /* base_seconds() when the caller began with the case: the time since is of the run, as
                     part of its set-up; 0: the run begins with the call */
};

/* What differs between the ranks of a team: the seconds of each phase, and then these. */
enum {
    RUN_SPREAD_TOTAL = FACET_N_PHASES, /* seconds */
    RUN_SPREAD_BYTES,
    RUN_SPREAD_CELLS,
    RUN_SPREAD_SEAM, /* faces */
    RUN_SPREAD_NEIGHBOURS,
    RUN_MAX_SPREADS
};
struct run_spread {
    double least, mean, most;
};

/* One solve of a case. */
struct run {
    const struct case_file *file;
    facet_context *context;
    facet_mesh *mesh; /* NULL on a rank without cells, where nothing else is done */
    int borrows_mesh; /* it belongs to the first run of a chain, which is destroyed last */
    facet_problem *problem;
    facet_solver *solver;
    int degree;
    const char *output; /* the file to write, or NULL; the caller's text */
    int n_pieces;       /* of the output, once it is written: more than 1: */
    char **pieces;      /* their names, after that of the file that names them */
    int output_written, values_written;
    struct base_timers timers;        /* what is not the solver's; all phases once there is a report */
    double total_seconds;             /* until the files are written; the phases add up to it */
    struct problem_findings findings; /* what was compared with the exact solution */
    int has_report, has_errors;
    facet_report report;
    int watched;
    facet_errors errors;
    int n_values; /* those that were computed */
    struct run_value *values;
    int n_ranks; /* that have cells; 0: this is the only process, or the run did not come to its end */
    struct run_spread spreads[RUN_MAX_SPREADS];
};

facet_status run_mesh(const struct case_file *file, facet_context *context, int refine, facet_mesh **mesh);
/* Every name and point of the case against the mesh, all errors at once. */
facet_status run_check_names(const struct case_file *file, const struct facet_mesh *mesh);
/* Checks the names first. from: the solver of the case whose field is the temperature; NULL: it is taken as
 * zero. */
facet_status run_problem(const struct case_file *file, facet_context *context, const facet_mesh *mesh,
                         const facet_solver *from, facet_problem **problem);
/* Evaluates all data of the case at their quadrature points. */
facet_status run_check_data(const struct case_file *file, const facet_problem *problem,
                            struct problem_findings *findings);
/* Mesh, problem, solver, solve, errors, values, output files. options: NULL for the case as it is. The struct
 * is filled as far as the run came, also on failure; the caller destroys it in any case. With
 * FACET_NOT_CONVERGED there is a report. Where that says `converged` a value cannot be trusted, which is
 * marked, and everything is written; else there are no errors and values, and nothing is written. */
facet_status run_solve(const struct case_file *file, facet_context *context,
                       const struct run_options *options, struct run *run);
void run_destroy(struct run *run);

/* Whether all files of a case, and of those that follow it in a chain, could be written (nothing is changed):
 * FACET_ERROR_MACHINE says why one could not, FACET_ERROR_INPUT which two are the same, the case and its mesh
 * included. run_solve begins with it. */
facet_status run_check_targets(const struct case_file *file, const struct run_options *options);

/* Point i of the n of a line; the last is its end. */
void run_line_point(const struct case_value *value, int64_t i, int64_t n, double point[3]);
static inline int run_is_extreme(const struct run_value *value) {
    return value->wanted->take == CASE_MAX || value->wanted->take == CASE_MIN;
}
/* Whether it is what goes through a part, by the faces. */
int run_is_flux(const struct run *run, const struct run_value *value);
/* run_values.c: what stands under `values`, and the tables of lines. run_measure_value: one of them, whose
 * numbers are the caller's also on failure. */
facet_status run_measure_value(const struct facet_solver *solver, struct run_value *value);
facet_status run_measure_values(struct run *run);
facet_status run_write_values(const struct run *run);
/* The trust in a potential, and its error. */
enum run_trust run_judge_potential(const struct run *run, int i, double *error);
/* FACET_NOT_CONVERGED names the first value that cannot be trusted. */
facet_status run_refuse_values(const struct run *run);

/* run_ranks.c: fills in n_ranks and spreads. Collective. */
facet_status run_compare_ranks(struct run *run);

/* run_notes.c: a sentence that whoever reads the results should know; NULL: there is none. */
enum run_note {
    RUN_NOTE_OPERATOR,   /* why the tensor operators do not apply */
    RUN_NOTE_PMG,        /* why there is no geometric multigrid */
    RUN_NOTE_FACTOR,     /* why there is no factor where one was wanted */
    RUN_NOTE_HOST,       /* what the device leaves to the host */
    RUN_NOTE_PETSC,      /* options that nobody asked for */
    RUN_NOTE_PIECES,     /* nothing connects pieces of the mesh */
    RUN_NOTE_JOINED,     /* sides of a file are joined, and no boundary */
    RUN_NOTE_CONFLICT,   /* parts of the boundary contradict each other where they meet */
    RUN_NOTE_UNRESOLVED, /* data are finer than the rules that integrate them */
    RUN_NOTE_BALANCE,    /* data that must balance did not, quite */
    RUN_NOTE_MISMATCH,   /* boundary data contradict the exact solution */
    RUN_NOTE_BROKEN,     /* or what is inside of the mesh does */
    RUN_NOTE_HIDDEN,     /* parameters have the names of the time or of the normal */
    RUN_NOTE_UNUSED,     /* parameters are used by no expression */
    RUN_NOTE_GROUP,      /* a group of cells has a larger error than the whole */
    RUN_NOTE_MOMENT,     /* curved cells of a low degree take moments away */
    RUN_NOTE_MOVED,      /* points were moved to the boundary */
    RUN_NOTE_OUTSIDE,    /* points of a line lie outside the mesh */
    RUN_NOTE_BETWEEN,    /* points lie between cells whose values differ */
    RUN_N_NOTES
};
#define RUN_NOTE_BYTES 512
const char *run_note(const struct run *run, enum run_note which, char text[RUN_NOTE_BYTES]);
static inline int run_is_told(const struct run_value *value) {
    return value->trust != RUN_EXACT && value->trust != RUN_CLOSE;
}
/* Of a value that is not exact the sentence; of one that is told what stands behind its number in a report.
 */
const char *run_value_note(const struct run *run, const struct run_value *value, char text[RUN_NOTE_BYTES]);
const char *run_value_mark(const struct run *run, const struct run_value *value, char text[RUN_NOTE_BYTES]);
/* The largest value of a field at all points where it is asked for, extremes among them. */
double run_largest_of(const struct run *run, const char *field);
/* The same of the potential of the electrode of condition i; NULL where it is exact, or is not told. */
const char *run_potential_note(const struct run *run, int i, char text[RUN_NOTE_BYTES]);
const char *run_potential_mark(const struct run *run, int i, char text[RUN_NOTE_BYTES]);
const char *run_mismatch_note(const struct hdg_mismatch *mismatch, char text[RUN_NOTE_BYTES]);
const char *run_hidden_note(const struct case_file *file, char text[RUN_NOTE_BYTES]);
const char *run_unused_note(const struct case_file *file, char text[RUN_NOTE_BYTES]);

/* run_json.c: the object of `facet solve --json`. rates: orders to be written beside the errors (a NaN is
 * left out), or NULL. */
void run_write_json(const struct run *run, const facet_errors *rates, struct json *json);
/* The whole text: one object; of a chain {"cases": [one each]}, those that have something to say. */
facet_status run_write_all(int n, const struct run *runs, struct text *text);

#endif
