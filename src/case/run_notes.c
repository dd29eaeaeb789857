/* Sentences that whoever reads the results should know. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case/run.h"

const char *run_mismatch_note(const struct hdg_mismatch *mismatch, char text[RUN_NOTE_BYTES]) {
    if (mismatch->part == NULL) return NULL;
    snprintf(
        text, RUN_NOTE_BYTES,
        "the boundary data on '%s' are not those of the exact solution (they differ by %.2g): the errors "
        "cannot vanish; leave the part out, or write exact as its data",
        mismatch->part, mismatch->difference);
    return text;
}

const char *run_hidden_note(const struct case_file *file, char text[RUN_NOTE_BYTES]) {
    static const char *const names[] = {"t", "nx", "ny", "nz"};
    char hidden[32] = "";
    int used = 0;
    for (int i = 0; i < file->n_parameters; i++)
        for (int k = 0; k < 4; k++)
            if (strcmp(file->parameters[i].name, names[k]) == 0)
                used += snprintf(hidden + used, sizeof hidden - (size_t)used, "%s%s", used > 0 ? ", " : "",
                                 names[k]);
    if (used == 0) return NULL;
    snprintf(text, RUN_NOTE_BYTES, "%s in expressions is the parameter of the case, not %s", hidden,
             strcmp(hidden, "t") == 0 ? "the time" : "a component of the normal or the time");
    return text;
}

/* Of the flux that has the fewest digits. */
static const char *flux_note(const struct run *run, char text[RUN_NOTE_BYTES]) {
    const struct run_value *worst = NULL;
    for (int i = 0; i < run->n_values; i++)
        if (run->values[i].doubt > 0.0 &&
            (worst == NULL ||
             run->values[i].doubt * fabs(worst->numbers[0]) > worst->doubt * fabs(run->values[i].numbers[0])))
            worst = &run->values[i];
    if (worst == NULL) return NULL;
    snprintf(
        text, RUN_NOTE_BYTES,
        "the flux '%s' may be off by %.1g: an error of u of %.1g, relative, times the conductivity there",
        worst->wanted->name, worst->doubt, run->report.error);
    return text;
}

const char *run_note(const struct run *run, enum run_note which, char text[RUN_NOTE_BYTES]) {
    if (which == RUN_NOTE_FLUX) return flux_note(run, text);
    if (which == RUN_NOTE_MISMATCH) return run_mismatch_note(&run->mismatch, text);
    if (which == RUN_NOTE_HIDDEN) return run_hidden_note(run->file, text);
    if (run->solver == NULL) return NULL;
    return solver_note(run->solver,
                       which == RUN_NOTE_OPERATOR ? SOLVER_NOTE_OPERATOR
                       : which == RUN_NOTE_PMG    ? SOLVER_NOTE_PMG
                       : which == RUN_NOTE_PETSC  ? SOLVER_NOTE_PETSC
                       : which == RUN_NOTE_SHARE  ? SOLVER_NOTE_SHARE
                                                  : SOLVER_NOTE_HOST,
                       text, RUN_NOTE_BYTES);
}
