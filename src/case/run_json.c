/* A run as a JSON object. The names are fixed; a key that does not apply is left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/run_case.h"
#include "case/schema.h"

static void write_norm(struct json *json, const char *name, double L2, double Linf) {
    if (isnan(L2) && isnan(Linf)) return;
    json_object_begin(json, name);
    if (!isnan(L2)) json_number(json, "L2", L2);
    if (!isnan(Linf)) json_number(json, "Linf", Linf);
    json_object_end(json);
}

/* NaN for what is not there. */
static void write_norms(struct json *json, const char *name, const facet_errors *e) {
    json_object_begin(json, name);
    write_norm(json, "u", e->u_L2, e->u_Linf);
    write_norm(json, "q", e->q_L2, NAN);
    write_norm(json, "u_star", e->u_star_L2, NAN);
    write_norm(json, "q_star", e->q_star_L2, NAN);
    write_norm(json, "H", e->H_L2, NAN);
    write_norm(json, "p", e->p_L2, NAN);
    write_norm(json, "stress", e->stress_L2, NAN);
    write_norm(json, "trace", e->trace_L2, NAN);
    json_object_end(json);
}

static double available(double error) {
    return error >= 0.0 ? error : NAN;
}

static void write_errors(struct json *json, const facet_errors *e) {
    facet_errors known = {sizeof known,           available(e->u_L2),      available(e->u_Linf),
                          available(e->q_L2),     available(e->u_star_L2), available(e->q_star_L2),
                          available(e->trace_L2), available(e->H_L2),      available(e->p_L2),
                          available(e->stress_L2)};
    write_norms(json, "errors", &known);
}

static void write_numbers(struct json *json, const char *key, int n, const double *numbers) {
    if (n == 1) {
        json_number(json, key, numbers[0]);
        return;
    }
    json_array_begin(json, key);
    for (int i = 0; i < n; i++) json_number(json, NULL, numbers[i]);
    json_array_end(json);
}

/* The numbers that u is on parts with a total flux. */
static void write_potentials(struct json *json, const struct run *run) {
    const struct problem *p = &run->solver->own;
    if (p->n_electrodes == 0) return;
    json_object_begin(json, "potentials");
    for (int i = 0; i < p->n_conditions; i++)
        if (p->conditions[i].electrode > 0)
            json_number(json, p->conditions[i].part, solver_potential(run->solver, i));
    json_object_end(json);
}

static void write_values(struct json *json, const struct run *run) {
    json_object_begin(json, "values");
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];
        if (value->n_points == 0) {
            write_numbers(json, value->wanted->name, value->n_components, value->numbers);
            continue;
        }
        json_array_begin(json, value->wanted->name);
        for (int64_t p = 0; p < value->n_points; p++)
            write_numbers(json, NULL, value->n_components, value->numbers + p * value->n_components);
        json_array_end(json);
    }
    json_object_end(json);
}

static void write_bar(struct json *json, const char *name, double error, const char *why, int *n) {
    if ((*n)++ == 0) json_object_begin(json, "bars");
    json_object_begin(json, name);
    json_number(json, "error", error);
    json_string(json, "kind", "estimated");
    json_string(json, "why", why);
    json_object_end(json);
}

/* By the name of its part; where a value has that name, as part of a sentence. */
static void write_potential_bar(struct json *json, const struct run *run, int i, int *n) {
    const char *part = run->solver->own.conditions[i].part;
    char note[RUN_NOTE_BYTES], name[RUN_NOTE_BYTES];
    double error;
    int taken = 0;
    if (run->solver->own.conditions[i].electrode == 0 || !run_potential_note(run, i, note)) return;
    for (int v = 0; v < run->n_values; v++) taken |= strcmp(run->values[v].wanted->name, part) == 0;
    snprintf(name, sizeof name, "%s%.400s", taken ? "potential of " : "", part);
    (void)run_judge_potential(run, i, &error);
    write_bar(json, name, error, note, n);
}

/* Of the values and potentials that are not exact; they stay numbers above. */
static void write_bars(struct json *json, const struct run *run) {
    char note[RUN_NOTE_BYTES];
    int n = 0;
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];
        if (run_value_note(run, value, note)) write_bar(json, value->wanted->name, value->bar, note, &n);
    }
    for (int i = 0; run->solver != NULL && run->report.converged && i < run->solver->own.n_conditions; i++)
        write_potential_bar(json, run, i, &n);
    if (n > 0) json_object_end(json);
}

/* Where extremes are. */
static void write_places(struct json *json, const struct run *run) {
    int n = 0;
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];
        if (!run_is_extreme(value)) continue;
        if (n++ == 0) json_object_begin(json, "places");
        json_object_begin(json, value->wanted->name);
        write_numbers(json, "at", run->mesh->dim, value->place.at);
        json_integer(json, "cell", value->place.cell);
        json_object_end(json);
    }
    if (n > 0) json_object_end(json);
}

static void write_solver(struct json *json, const facet_report *report) {
    json_object_begin(json, "solver");
    json_string(json, "method", report->method);
    json_string(json, "preconditioner", report->preconditioner);
    json_integer(json, "iterations", report->iterations);
    json_bool(json, "converged", report->converged);
    json_string(json, "reason", report->reason);
    if (!isnan(report->residual)) json_number(json, "residual", report->residual);
    if (report->rate >= 0.0) json_number(json, "rate", report->rate);
    if (report->error >= 0.0) json_number(json, "error", report->error);
    json_object_end(json);
}

/* Phases that were reached. */
/* The phases in their order: where the number grows, memory was taken. */
static void write_memory(struct json *json, const struct run *run) {
    json_object_begin(json, "memory");
    for (int phase = 0; phase < FACET_N_PHASES; phase++)
        if (run->timers.peak_bytes[phase] > 0.0)
            json_integer(json, facet_phase_name((facet_phase)phase), (int64_t)run->timers.peak_bytes[phase]);
    json_object_end(json);
}

static void write_seconds(struct json *json, const struct run *run) {
    json_object_begin(json, "seconds");
    for (int phase = 0; phase < FACET_N_PHASES; phase++)
        if (run->timers.seconds[phase] > 0.0)
            json_number(json, facet_phase_name((facet_phase)phase), run->timers.seconds[phase]);
    json_number(json, "total", run->total_seconds);
    json_object_end(json);
}

static void write_spread(struct json *json, const char *name, const struct run_spread *spread) {
    json_object_begin(json, name);
    json_number(json, "least", spread->least);
    json_number(json, "mean", spread->mean);
    json_number(json, "most", spread->most);
    json_object_end(json);
}

/* How even the work was shared out. */
static void write_ranks(struct json *json, const struct run *run) {
    if (run->n_ranks == 0) return;
    json_object_begin(json, "parts");
    json_integer(json, "count", run->n_ranks);
    write_spread(json, "cells", &run->spreads[RUN_SPREAD_CELLS]);
    write_spread(json, "seam_faces", &run->spreads[RUN_SPREAD_SEAM]);
    write_spread(json, "neighbours", &run->spreads[RUN_SPREAD_NEIGHBOURS]);
    write_spread(json, "memory_bytes", &run->spreads[RUN_SPREAD_BYTES]);
    json_object_begin(json, "seconds");
    for (int phase = 0; phase < FACET_N_PHASES; phase++)
        if (run->spreads[phase].most > 0.0)
            write_spread(json, facet_phase_name((facet_phase)phase), &run->spreads[phase]);
    write_spread(json, "total", &run->spreads[RUN_SPREAD_TOTAL]);
    json_object_end(json);
    json_object_end(json);
}

/* What was asked for: the words of the case and of the command line. */
static void write_request(struct json *json, const struct case_file *file) {
    if (file->title != NULL) json_string(json, "title", file->title);
    if (file->n_parameters > 0) {
        json_object_begin(json, "parameters");
        for (int i = 0; i < file->n_parameters; i++)
            json_number(json, file->parameters[i].name, file->parameters[i].value);
        json_object_end(json);
    }
    if (file->n_settings == 0) return;
    json_object_begin(json, "overrides");
    for (int i = 0; i < file->n_settings; i++) {
        const struct case_setting *setting = &file->settings[i];
        int last = 1;
        double number;
        for (int k = i + 1; k < file->n_settings && last; k++)
            last = strcmp(file->settings[k].key, setting->key) != 0;
        if (last && schema_parse_number(setting->value, &number))
            json_number(json, setting->key, number);
        else if (last)
            json_string(json, setting->key, setting->value);
    }
    json_object_end(json);
}

static void write_notes(struct json *json, const struct run *run) {
    char note[RUN_NOTE_BYTES];
    int n = 0;
    for (int which = 0; which < RUN_N_NOTES; which++) {
        if (!run_note(run, (enum run_note)which, note)) continue;
        if (n++ == 0) json_array_begin(json, "notes");
        json_string(json, NULL, note);
    }
    for (int i = 0; i < run->n_values; i++) {
        if (!run_is_told(&run->values[i]) || run->values[i].found.scale > 0.0)
            continue; /* u: RUN_NOTE_GROUP */
        run_value_note(run, &run->values[i], note);
        if (n++ == 0) json_array_begin(json, "notes");
        json_string(json, NULL, note);
    }
    if (n > 0) json_array_end(json);
}

/* Files that are whole by now. */
static void write_files(struct json *json, const struct run *run) {
    int n = run->output_written;
    for (int i = 0; i < run->n_values; i++) n += run->values_written && run->values[i].wanted->file != NULL;
    if (n == 0) return;
    json_array_begin(json, "files");
    if (run->output_written) json_string(json, NULL, run->output);
    for (int p = 1; run->pieces != NULL && p <= run->n_pieces; p++) json_string(json, NULL, run->pieces[p]);
    for (int i = 0; i < run->n_values; i++)
        if (run->values_written && run->values[i].wanted->file != NULL)
            json_string(json, NULL, run->values[i].wanted->file);
    json_array_end(json);
}

void run_write_json(const struct run *run, const facet_errors *rates, struct json *json) {
    json_object_begin(json, NULL);
    json_string(json, "facet", facet_version());
    json_string(json, "commit", facet_commit());
    json_string(json, "case", run->file->path);
    if (run->file->name != NULL) json_string(json, "name", run->file->name);
    json_string(json, "device", facet_context_device(run->context));
    json_integer(json, "threads", facet_context_threads(run->context));
    if (run->context->team != NULL) json_integer(json, "ranks", run->context->team->size);
    json_integer(json, "dimension", run->mesh->dim);
    json_string(json, "method", option_words[OPTION_DISCRETIZATION][run->file->options.discretization]);
    json_string(json, "equation", physics_of(run->file->equation)->name);
    json_integer(json, "degree", run->degree);
    json_object_begin(json, "mesh");
    struct mesh_counts counts = mesh_count(run->mesh);
    json_integer(json, "cells", counts.cells);
    json_integer(json, "faces", counts.faces);
    json_string(json, "shape", counts.shape_text);
    json_object_end(json);
    if (run->solver != NULL) {
        json_object_begin(json, "unknowns");
        if (run->report.trace_unknowns >= 0) json_integer(json, "trace", run->report.trace_unknowns);
        json_integer(json, "volume", run->report.volume_unknowns);
        json_object_end(json);
    }
    write_solver(json, &run->report);
    if (run->has_errors) write_errors(json, &run->errors);
    if (rates != NULL) write_norms(json, "rates", rates);
    if (run->solver != NULL && run->report.converged) write_potentials(json, run);
    if (run->n_values > 0) write_values(json, run);
    write_bars(json, run);
    write_places(json, run);
    write_seconds(json, run);
    json_integer(json, "memory_bytes", base_peak_resident_bytes());
    write_memory(json, run);
    write_ranks(json, run);
    write_request(json, run->file);
    if (run->report.converged && run->report.conservation >= 0.0)
        json_number(json, "balance", run->report.conservation);
    write_notes(json, run);
    write_files(json, run);
    json_object_end(json);
}

facet_status run_write_all(int n, const struct run *runs, struct text *text) {
    struct json json;
    int chain = runs[0].file->is_chain;
    json_begin(&json, text);
    if (chain) json_object_begin(&json, NULL);
    if (chain) json_array_begin(&json, "cases");
    for (int i = 0; i < n; i++)
        if (runs[i].has_report) run_write_json(&runs[i], NULL, &json);
    if (chain) json_array_end(&json);
    if (chain) json_object_end(&json);
    return text->status;
}
