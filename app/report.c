/* What a solve says about itself, for people. The same facts for programs are in case/run_json.c. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "app/app.h"
#include "base/memory.h"

FILE *report_stream(const struct app_options *options) {
    if (options->quiet || team_rank(options->team) > 0) return NULL;
    return options->json && strcmp(options->json, "-") == 0 ? stderr : stdout;
}

facet_status report_put(FILE *stream, struct text *text) {
    if (text->status != FACET_OK) return text->status;
    if (!stream) return FACET_OK;
    if ((text->length == 0 || fwrite(text->data, 1, text->length, stream) == text->length) &&
        fflush(stream) == 0)
        return FACET_OK;
    return base_fail(FACET_ERROR_MACHINE, "cannot write to standard %s: %s",
                     stream == stderr ? "error" : "output", strerror(errno));
}

/* ------------------------------------------------------------------------------------------ words */

struct report_word report_bytes(double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    struct report_word word;
    int unit = 0;
    while (bytes >= 1000.0 && unit < 4) bytes /= 1000.0, unit++;
    snprintf(word.text, sizeof word.text, "%.3g %s", bytes, units[unit]);
    return word;
}

struct report_word report_seconds(double seconds) {
    struct report_word word;
    if (seconds < 1.0)
        snprintf(word.text, sizeof word.text, "%.1f ms", 1e3 * seconds);
    else
        snprintf(word.text, sizeof word.text, "%.2f s", seconds);
    return word;
}

struct report_word report_count(int64_t n) {
    struct report_word word;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && length > 4) word.text[used++] = ' ';
        word.text[used++] = digits[i];
    }
    word.text[used] = '\0';
    return word;
}

struct report_word report_number_of(int64_t n, const char *thing) {
    struct report_word word, count = report_count(n);
    snprintf(word.text, sizeof word.text, "%.26s %.16s%s", count.text, thing, n == 1 ? "" : "s");
    return word;
}

/* ------------------------------------------------------------------------------------------ solve */

void report_header(const struct run *run, struct text *out) {
    const struct case_file *file = run->file;
    int threads = facet_context_threads(run->context);
    const int ranks = team_size(run->context->team);
    text_printf(out, "facet %s, device %s, ", facet_version(), facet_context_device(run->context));
    if (run->context->team != NULL) text_printf(out, "%d rank%s with ", ranks, ranks == 1 ? "" : "s");
    text_printf(out, "%d thread%s\n", threads, threads == 1 ? "" : "s");
    text_printf(out, "case      %s%s%s%s%s\n", file->path, file->name ? ", " : "",
                file->name ? file->name : "", file->title ? ": " : "", file->title ? file->title : "");
    if (!run->mesh) return;
    const struct mesh_counts counts = mesh_count(run->mesh);
    text_printf(out, "mesh      %s (%s), %s", report_number_of(counts.cells, "cell").text, counts.shape_text,
                report_number_of(counts.faces, "face").text);
    text_printf(out, run->mesh->order > 1 ? ", geometry of order %d\n" : "\n", run->mesh->order);
    text_printf(out, "method    %s, ", option_words[OPTION_DISCRETIZATION][file->options.discretization]);
    if (physics_has_key(physics_of(file->equation), option_paths[OPTION_FORMULATION]))
        text_printf(out, "%s formulation, ", option_words[OPTION_FORMULATION][file->options.formulation]);
    text_printf(out, "degree %d", run->degree);
    if (run->solver && run->solver->operator_used != OPERATOR_MAPPED)
        text_printf(out, ", operator %s", run->report.operator_name);
    if (run->solver && run->report.trace_unknowns < 0)
        text_printf(out, ": %s", report_number_of(run->report.volume_unknowns, "unknown").text);
    else if (run->solver)
        text_printf(out, ": %s, %s in the cells",
                    report_number_of(run->report.trace_unknowns, "trace unknown").text,
                    report_count(run->report.volume_unknowns).text);
    text_printf(out, "\n");
    char note[RUN_NOTE_BYTES];
    if (run_note(run, RUN_NOTE_OPERATOR, note)) text_printf(out, "          %s\n", note);
    if (run_note(run, RUN_NOTE_PMG, note)) text_printf(out, "          %s\n", note);
    if (run_note(run, RUN_NOTE_HOST, note)) text_printf(out, "          %s\n", note);
    if (run_note(run, RUN_NOTE_HIDDEN, note)) text_printf(out, "note      %s\n", note);
    if (run_note(run, RUN_NOTE_UNUSED, note)) report_note(note, out);
}

static void put_solver(const struct run *run, struct text *out) {
    const facet_report *r = &run->report;
    int direct = options_find(OPTION_METHOD, r->method) == METHOD_DIRECT;
    text_printf(out, "solve     %s%s%s: %s\n", r->method, direct ? "" : " with preconditioner ",
                direct ? "" : r->preconditioner, r->converged ? r->reason : "NOT CONVERGED");
    if (!r->converged) text_printf(out, "          %s\n", r->reason);
    text_printf(out, "          %d %s%s, residual %.2e", r->iterations, direct ? "solve" : "iteration",
                r->iterations == 1 ? "" : "s", r->residual);
    if (run->watched && !direct && r->iterations > 0) text_printf(out, ", rate %.3f", r->rate);
    if (r->error >= 0.0) text_printf(out, ", algebraic error about %.1e", r->error);
    text_printf(out, "\n");
}

/* Phases by levels: where the time of a multigrid went, and how well every level did. */
static void put_levels(const struct run *run, struct text *out) {
    int n = run->solver != NULL && run->watched ? facet_solver_n_levels(run->solver) : 0;
    if (n == 0) return;
    text_printf(out, "levels    %-14s %12s %10s %7s %9s %9s %9s %9s %9s %6s\n", "", "unknowns", "memory",
                "visits", "smooth", "residual", "transfer", "solve", "reduction", "rate");
    for (int i = 0; i < n; i++) {
        facet_level l = {.size = sizeof l};
        if (facet_solver_level(run->solver, i, &l) != FACET_OK) continue;
        char name[64];
        snprintf(name, sizeof name, "%s%s%s%s", l.name, strcmp(l.precision, "single") == 0 ? " f32" : "",
                 strcmp(l.device, facet_context_device(run->context)) != 0 ? " on " : "",
                 strcmp(l.device, facet_context_device(run->context)) != 0 ? l.device : "");
        text_printf(out, "          %-14s %12s %10s %7lld", name, report_count(l.unknowns).text,
                    report_bytes(l.bytes).text, (long long)l.visits);
        text_printf(out, " %9s %9s %9s %9s", report_seconds(l.smooth).text, report_seconds(l.residual).text,
                    report_seconds(l.transfer).text, report_seconds(l.solve).text);
        if (l.rate >= 0.0) text_printf(out, " %9.2e %6.3f", l.reduction, l.rate);
        text_printf(out, "\n");
    }
}

static void put_error(struct text *out, const char *name, double L2, double Linf) {
    if (L2 < 0.0) return;
    text_printf(out, "          %-8s %11.4e", name, L2);
    if (Linf >= 0.0) text_printf(out, " %11.4e", Linf);
    text_printf(out, "\n");
}

static void put_errors(const facet_errors *e, struct text *out) {
    text_printf(out, "errors    %-8s %11s %11s\n", "", "L2", "Linf");
    put_error(out, "u", e->u_L2, e->u_Linf);
    put_error(out, "q", e->q_L2, -1.0);
    put_error(out, "stress", e->stress_L2, -1.0);
    put_error(out, "H", e->H_L2, -1.0);
    put_error(out, "p", e->p_L2, -1.0);
    put_error(out, "u_star", e->u_star_L2, -1.0);
    put_error(out, "q_star", e->q_star_L2, -1.0);
    put_error(out, "trace", e->trace_L2, -1.0);
}

static void put_line(const struct run_value *value, struct text *out) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < value->n_points * value->n_components; i++) {
        least = fmin(least, value->numbers[i]);
        most = fmax(most, value->numbers[i]);
    }
    text_printf(out, "%lld points, from %.6g to %.6g", (long long)value->n_points, least, most);
    if (value->wanted->file) text_printf(out, ", in %s", value->wanted->file);
}

/* The numbers that u is on parts with a total flux. */
static void put_potentials(const struct run *run, struct text *out) {
    const struct problem *p = &run->solver->own;
    char mark[RUN_NOTE_BYTES];
    for (int i = 0, n = 0; i < p->n_conditions; i++) {
        if (p->conditions[i].electrode == 0) continue;
        text_printf(out, "%-9s u = %.10g on %s", n++ ? "" : "potential", solver_potential(run->solver, i),
                    p->conditions[i].part);
        if (run_potential_mark(run, i, mark)) text_printf(out, " (%s)", mark);
        text_printf(out, "\n");
    }
}

/* Where an extreme is. */
static void put_place(const struct run_value *value, int dim, struct text *out) {
    for (int d = 0; d < dim; d++) text_printf(out, "%s%.6g", d ? ", " : " at (", value->place.at[d]);
    text_printf(out, "), cell %lld", (long long)value->place.cell);
}

static void put_values(const struct run *run, struct text *out) {
    char mark[RUN_NOTE_BYTES];
    int width = 8;
    for (int i = 0; i < run->n_values; i++) {
        int n = (int)strlen(run->values[i].wanted->name);
        width = n > width ? n : width;
    }
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];
        text_printf(out, "%-9s %-*s  ", i == 0 ? "values" : "", width, value->wanted->name);
        if (value->n_points > 0) {
            put_line(value, out);
        } else {
            if (value->n_components > 1) text_printf(out, "(");
            for (int c = 0; c < value->n_components; c++)
                text_printf(out, "%s%.10g", c ? ", " : "", value->numbers[c]);
            if (value->n_components > 1) text_printf(out, ")");
        }
        if (run_value_mark(run, value, mark)) text_printf(out, " (%s)", mark);
        if (run_is_extreme(value)) put_place(value, run->mesh->dim, out);
        text_printf(out, "\n");
    }
}

/* The phase that took the memory to its peak, or nearly; -1: none. */
static int peak_phase(const struct run *run) {
    double most = 0.0;
    int found = -1;
    for (int phase = 0; phase < FACET_N_PHASES; phase++) most = fmax(most, run->timers.peak_bytes[phase]);
    for (int phase = 0; phase < FACET_N_PHASES; phase++) {
        double bytes = run->timers.peak_bytes[phase];
        if (bytes > 0.95 * most && (found < 0 || bytes < run->timers.peak_bytes[found])) found = phase;
    }
    return found;
}

/* How evenly the work was shared out. */
static void put_ranks(const struct run *run, struct text *out) {
    if (run->n_ranks < 2) return;
    const struct run_spread *bytes = &run->spreads[RUN_SPREAD_BYTES],
                            *cells = &run->spreads[RUN_SPREAD_CELLS];
    text_printf(out, "ranks     %-12s %10s %10s %10s\n", "", "least", "mean", "most");
    text_printf(out, "          %-12s %10.0f %10.1f %10.0f\n", "cells", cells->least, cells->mean,
                cells->most);
    text_printf(out, "          %-12s %10s %10s %10s\n", "memory", report_bytes(bytes->least).text,
                report_bytes(bytes->mean).text, report_bytes(bytes->most).text);
    for (int i = 0; i <= RUN_SPREAD_TOTAL; i++) {
        const struct run_spread *seconds = &run->spreads[i];
        if (seconds->most < 5e-4) continue;
        text_printf(out, "          %-12s %10s %10s %10s\n",
                    i == RUN_SPREAD_TOTAL ? "total" : facet_phase_name((facet_phase)i),
                    report_seconds(seconds->least).text, report_seconds(seconds->mean).text,
                    report_seconds(seconds->most).text);
    }
}

static void put_speed(const struct run *run, struct text *out) {
    const int64_t trace = run->report.trace_unknowns;
    const int64_t unknowns = trace < 0 ? run->report.volume_unknowns : trace;
    text_printf(out, "speed     %.3g %sunknowns per second of the whole run\n",
                run->total_seconds > 0.0 ? (double)unknowns / run->total_seconds : 0.0,
                trace < 0 ? "" : "trace ");
}

static void put_times(const struct run *run, struct text *out) {
    int n = 0;
    text_printf(out, "time      %s", report_seconds(run->total_seconds).text);
    for (int phase = 0; phase < FACET_N_PHASES; phase++) {
        double seconds = run->timers.seconds[phase];
        if (seconds < 5e-5) continue;
        text_printf(out, "%s%s %s", n++ % 4 == 0 ? "\n          " : ", ",
                    facet_phase_name((facet_phase)phase), report_seconds(seconds).text);
    }
    text_printf(out, "\n");
    if (run->watched) put_speed(run, out);
    text_printf(out, "memory    %s at its peak", report_bytes((double)base_peak_resident_bytes()).text);
    int phase = peak_phase(run);
    if (phase >= 0) text_printf(out, " (%s)", facet_phase_name((facet_phase)phase));
    text_printf(out, "\n");
    put_ranks(run, out);
}

void report_note(const char *note, struct text *out) {
    const char *rest = strlen(note) > 100 ? strstr(note, ": ") : NULL;
    if (rest != NULL)
        text_printf(out, "note      %.*s:\n          %s\n", (int)(rest - note), note, rest + 2);
    else
        text_printf(out, "note      %s\n", note);
}

void report_mismatch(const struct hdg_mismatch *mismatch, struct text *out) {
    char note[RUN_NOTE_BYTES];
    if (run_mismatch_note(mismatch, note)) report_note(note, out);
}

void report_results(const struct run *run, struct text *out) {
    char note[RUN_NOTE_BYTES];
    put_solver(run, out);
    if (run_note(run, RUN_NOTE_PETSC, note)) text_printf(out, "note      %s\n", note);
    put_levels(run, out);
    if (run->report.converged) {
        if (run_note(run, RUN_NOTE_PIECES, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_JOINED, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_CONFLICT, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_UNRESOLVED, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_BALANCE, note)) report_note(note, out);
        report_mismatch(&run->findings.mismatch, out);
        if (run_note(run, RUN_NOTE_BROKEN, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_GROUP, note)) report_note(note, out);
        if (run_note(run, RUN_NOTE_MOMENT, note)) report_note(note, out);
        const struct physics *physics = physics_of(run->file->equation);
        const char *conserved = physics_entry(physics, &run->file->options)->conserved;
        if (run->report.conservation >= 0.0)
            text_printf(out,
                        run->report.conservation_whole == run->report.conservation
                            ? "balance   %.1e: what goes in against what goes out, relative to the whole %s\n"
                            : "balance   %.1e: largest imbalance of a cell, relative to the largest %s\n",
                        run->report.conservation, conserved != NULL ? conserved : physics->through);
        if (run->has_errors) put_errors(&run->errors, out);
        put_potentials(run, out);
        put_values(run, out);
        for (int which = RUN_NOTE_MOVED; which <= RUN_NOTE_BETWEEN; which++)
            if (run_note(run, (enum run_note)which, note)) text_printf(out, "note      %s\n", note);
    }
    put_times(run, out);
    if (run->output_written)
        text_printf(out, "output    %s; look at it with 'facet view %s', or with ParaView\n", run->output,
                    run->output);
}
