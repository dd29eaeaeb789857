/* Sentences that whoever reads the results should know. */
#include <stdio.h>
#include <string.h>

#include "case/run_case.h"

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

const char *run_unused_note(const struct case_file *file, char text[RUN_NOTE_BYTES]) {
    if (file->unused == NULL) return NULL;
    const int several = strchr(file->unused, ',') != NULL;
    snprintf(text, RUN_NOTE_BYTES, "parameter%s %s %s used by no expression", several ? "s" : "",
             file->unused, several ? "are" : "is");
    return text;
}

int run_is_flux(const struct run *run, const struct run_value *value) {
    return strcmp(value->wanted->field, physics_of(run->file->equation)->through) == 0;
}

/* "flux" or "force". */
static const char *kind_of(const struct run *run) {
    return physics_of(run->file->equation)->entries[0]->conserved;
}

const char *run_value_mark(const struct run *run, const struct run_value *value, char text[RUN_NOTE_BYTES]) {
    if (!run_is_told(value)) return NULL;
    if (value->trust == RUN_ZERO)
        snprintf(text, RUN_NOTE_BYTES, "below %.1g of %s%s", value->bar / value->scale,
                 value->against_drive ? "what u could drive" : "the largest ",
                 value->against_drive ? "" : kind_of(run));
    else
        snprintf(text, RUN_NOTE_BYTES, "%sby the solve alone it may be off by %.1g",
                 value->trust == RUN_ROUGH ? "" : "not trusted: ", value->bar);
    return text;
}

const char *run_value_note(const struct run *run, const struct run_value *value, char text[RUN_NOTE_BYTES]) {
    const char *name = value->wanted->name, *kind = kind_of(run);
    char mark[RUN_NOTE_BYTES];
    if (value->trust == RUN_EXACT) return NULL;
    if (value->trust == RUN_ZERO)
        snprintf(text, RUN_NOTE_BYTES, "the %s '%.64s' is zero: it is %.80s", kind, name,
                 run_value_mark(run, value, mark));
    else if (!run_is_flux(run, value))
        snprintf(text, RUN_NOTE_BYTES,
                 "the value '%.64s' may be off by %.1g: so much the relative algebraic error of u, %.1g, may "
                 "change %.32s there",
                 name, value->bar, run->report.error, value->wanted->field);
    else
        snprintf(text, RUN_NOTE_BYTES,
                 "the %s '%.64s' %s %.2g and may be off by %.1g: so much the relative algebraic error of u, "
                 "%.1g, may change what goes through the part",
                 kind, name, value->trust == RUN_UNTRUSTED ? "cannot be trusted: it is" : "is",
                 value->numbers[0], value->bar, run->report.error);
    return text;
}

const char *run_potential_note(const struct run *run, int i, char text[RUN_NOTE_BYTES]) {
    double error;
    if (run_judge_potential(run, i, &error) == RUN_EXACT) return NULL;
    snprintf(text, RUN_NOTE_BYTES,
             "the potential of '%.64s' may be off by %.1g: so much the algebraic errors of u and of what a "
             "potential sends through the part may change it",
             run->solver->own.conditions[i].part, error);
    return text;
}

const char *run_potential_mark(const struct run *run, int i, char text[RUN_NOTE_BYTES]) {
    double error;
    if (run_judge_potential(run, i, &error) != RUN_ROUGH) return NULL;
    snprintf(text, RUN_NOTE_BYTES, "by the solve alone it may be off by %.1g", error);
    return text;
}

/* "the point of value 'a'", "12 of the 101 points of value 'a'". */
static const char *points_text(const struct run_value *value, int64_t n, char text[160]) {
    if (value->n_points == 0)
        snprintf(text, 160, "the point of value '%s'", value->wanted->name);
    else
        snprintf(text, 160, "%lld of the %lld points of value '%s'", (long long)n, (long long)value->n_points,
                 value->wanted->name);
    return text;
}

double run_largest_of(const struct run *run, const char *field) {
    double largest = 0.0;
    for (int i = 0; i < run->n_values; i++)
        if (strcmp(run->values[i].wanted->field, field) == 0) largest = fmax(largest, run->values[i].size);
    return largest;
}

/* Of the value that it says most about; how many others there are is said behind it. */
static const char *points_note(const struct run *run, enum run_note which, char text[RUN_NOTE_BYTES]) {
    const struct run_value *worst = NULL;
    double most = 0.0;
    int n = 0, used;
    char points[160];
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *v = &run->values[i];
        double size = which == RUN_NOTE_MOVED     ? v->moved_by
                      : which == RUN_NOTE_BETWEEN ? v->apart
                                                  : (double)v->n_outside;
        if (which == RUN_NOTE_BETWEEN && !(size > RUN_NOTED * run_largest_of(run, v->wanted->field)))
            continue;
        n += size > 0.0;
        if (size > most) worst = v;
        most = fmax(most, size);
    }
    if (worst == NULL) return NULL;
    if (which == RUN_NOTE_MOVED)
        used =
            snprintf(text, RUN_NOTE_BYTES,
                     "%s: outside the mesh by %.2g, within the error of its geometry; taken at the nearest "
                     "point of the boundary",
                     points_text(worst, worst->n_moved, points), worst->moved_by);
    else if (which == RUN_NOTE_BETWEEN)
        used = snprintf(
            text, RUN_NOTE_BYTES,
            "%s: between cells, whose values of %s differ by up to %.2g; the mean of theirs is taken",
            points_text(worst, worst->n_between, points), worst->wanted->field, worst->apart);
    else
        used = snprintf(text, RUN_NOTE_BYTES, "%s are outside the mesh, and have no value",
                        points_text(worst, worst->n_outside, points));
    if (n > 1 && used < RUN_NOTE_BYTES)
        snprintf(text + used, (size_t)(RUN_NOTE_BYTES - used), "; the same holds for %d other value%s", n - 1,
                 n > 2 ? "s" : "");
    return text;
}

const char *run_note(const struct run *run, enum run_note which, char text[RUN_NOTE_BYTES]) {
    static const enum solver_note of_solver[RUN_N_NOTES] = {
        [RUN_NOTE_OPERATOR] = SOLVER_NOTE_OPERATOR,     [RUN_NOTE_PMG] = SOLVER_NOTE_PMG,
        [RUN_NOTE_FACTOR] = SOLVER_NOTE_FACTOR,         [RUN_NOTE_HOST] = SOLVER_NOTE_HOST,
        [RUN_NOTE_PETSC] = SOLVER_NOTE_PETSC,           [RUN_NOTE_PIECES] = SOLVER_NOTE_PIECES,
        [RUN_NOTE_CONFLICT] = SOLVER_NOTE_CONFLICT,     [RUN_NOTE_JOINED] = SOLVER_NOTE_JOINED,
        [RUN_NOTE_UNRESOLVED] = SOLVER_NOTE_UNRESOLVED, [RUN_NOTE_BALANCE] = SOLVER_NOTE_BALANCE,
        [RUN_NOTE_GROUP] = SOLVER_NOTE_GROUP,           [RUN_NOTE_MOMENT] = SOLVER_NOTE_MOMENT,
    };
    if (which == RUN_NOTE_MOVED || which == RUN_NOTE_OUTSIDE || which == RUN_NOTE_BETWEEN)
        return points_note(run, which, text);
    if (which == RUN_NOTE_MISMATCH) return run_mismatch_note(&run->findings.mismatch, text);
    if (which == RUN_NOTE_BROKEN) {
        snprintf(text, RUN_NOTE_BYTES, "%s", run->findings.broken);
        return text[0] ? text : NULL;
    }
    if (which == RUN_NOTE_HIDDEN) return run_hidden_note(run->file, text);
    if (which == RUN_NOTE_UNUSED) return run_unused_note(run->file, text);
    if (run->solver == NULL) return NULL;
    return solver_note(run->solver, of_solver[which], text, RUN_NOTE_BYTES);
}
