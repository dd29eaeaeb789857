/* facet converge: the same case on finer meshes and with higher degrees, errors and observed orders.
 *
 * Between two meshes of the same degree, h halves: the order is log2 of the ratio of the errors. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "app/app.h"
#include "base/memory.h"
#include "box/box.h"

struct converge {
    const struct app_options *options;
    struct case_file *file;
    facet_context *context;
    struct table *table;
    struct text json_text;
    struct json json;
    struct progress progress;
    char prefix[64];
    int n_rows, has_coarse;
    struct text note;    /* below the table */
    facet_errors coarse; /* of the next coarser mesh, same degree */
};

/* What the table shows: a column of errors and one of orders each. */
static const struct equation *equation_of(const struct case_file *file) {
    return physics_entry(physics_of(file->equation), &file->options);
}

static double member(const facet_errors *errors, const struct equation_error *shown) {
    double value;
    memcpy(&value, (const char *)errors + shown->offset, sizeof value);
    return value;
}

static facet_status make_table(const struct case_file *file, struct table **table) {
    const char *headers[4 + 2 * HDG_MOST_ERRORS] = {"degree", "refine", "cells", "unknowns"};
    const struct equation *equation = equation_of(file);
    for (int i = 0; i < equation->n_errors; i++) {
        headers[4 + 2 * i] = equation->errors[i].name;
        headers[5 + 2 * i] = "rate";
    }
    return table_create(4 + 2 * equation->n_errors, headers, table);
}

static double order(double coarse, double fine) {
    return coarse >= 0.0 && fine >= 0.0 ? log2(coarse / fine) : NAN;
}

static facet_errors find_rates(const facet_errors *c, const facet_errors *f) {
    return (facet_errors){sizeof(facet_errors),
                          order(c->u_L2, f->u_L2),
                          order(c->u_Linf, f->u_Linf),
                          order(c->q_L2, f->q_L2),
                          order(c->u_star_L2, f->u_star_L2),
                          order(c->q_star_L2, f->q_star_L2),
                          order(c->trace_L2, f->trace_L2),
                          order(c->H_L2, f->H_L2),
                          order(c->p_L2, f->p_L2),
                          order(c->stress_L2, f->stress_L2)};
}

static void add_row(struct converge *c, const struct run *run, int refine, const facet_errors *rates) {
    const struct equation *equation = equation_of(run->file);
    table_cell(c->table, "%d", run->degree);
    table_cell(c->table, "%d", refine);
    table_cell(c->table, "%d", run->mesh->n_cells);
    int64_t trace = run->report.trace_unknowns;
    table_cell(c->table, "%lld", (long long)(trace < 0 ? run->report.volume_unknowns : trace));
    for (int i = 0; i < equation->n_errors; i++) {
        double error = member(&run->errors, &equation->errors[i]);
        double observed = rates ? member(rates, &equation->errors[i]) : NAN;
        if (run->has_errors && error >= 0.0)
            table_cell(c->table, "%.3e", error);
        else
            table_cell(c->table, "-");
        if (isfinite(observed))
            table_cell(c->table, "%.2f", observed);
        else
            table_cell(c->table, "-");
    }
}

static facet_status one_run(struct converge *c, int degree, int refine) {
    struct run run = {0};
    facet_errors rates;
    const struct run_options options = {.refine = refine, .degree = degree, .no_files = 1};
    snprintf(c->prefix, sizeof c->prefix, "degree %d, refined %d times: ", degree, refine);
    facet_status status = run_solve(c->file, c->context, &options, &run);
    progress_clear(&c->progress);
    if (status == FACET_OK || (status == FACET_NOT_CONVERGED && run.has_report)) {
        int has_rates = c->has_coarse && run.has_errors;
        if (has_rates) rates = find_rates(&c->coarse, &run.errors);
        add_row(c, &run, refine, has_rates ? &rates : NULL);
        run_write_json(&run, has_rates ? &rates : NULL, &c->json);
        c->n_rows++;
        if (c->note.length == 0) report_mismatch(&run.findings.mismatch, &c->note);
        if (c->note.length == 0 && run.findings.broken[0]) report_note(run.findings.broken, &c->note);
        c->coarse = run.errors;
        c->has_coarse = run.has_errors;
    }
    run_destroy(&run);
    return status;
}

static struct app_range refinements(const struct app_options *o) {
    return o->refine.last < o->refine.first ? (struct app_range){0, 3} : o->refine;
}

/* The smallest first, so that what is wrong shows soon. */
static facet_status all_runs(struct converge *c) {
    struct app_range refine = refinements(c->options), degree = c->options->degree;
    if (degree.last < degree.first) degree.first = degree.last = c->file->options.degree;
    for (int p = degree.first; p <= degree.last; p++) {
        if (p > degree.first) table_rule(c->table);
        c->has_coarse = 0;
        for (int r = refine.first; r <= refine.last; r++) {
            facet_status status = one_run(c, p, r);
            if (status != FACET_OK) return status;
        }
    }
    return FACET_OK;
}

static facet_status print_table(const struct converge *c) {
    facet_status status = FACET_OK;
    struct text out = {0};
    if (!c->options->markdown)
        text_printf(&out, "facet %s, device %s, %s\n%s%s%s\n\n", facet_version(),
                    facet_context_device(c->context),
                    report_number_of(facet_context_threads(c->context), "thread").text, c->file->path,
                    c->file->title ? ": " : "", c->file->title ? c->file->title : "");
    TRY(table_render(c->table, c->options->markdown ? TABLE_MARKDOWN : TABLE_TEXT, &out));
    if (!c->options->markdown && c->note.length > 0) text_printf(&out, "\n%s", c->note.data);
    TRY(report_put(report_stream(c->options), &out));
done:
    text_free(&out);
    return status;
}

static facet_status write_json(struct converge *c) {
    json_array_end(&c->json);
    json_object_end(&c->json);
    if (!c->options->json) return FACET_OK;
    if (c->json_text.status != FACET_OK) return c->json_text.status;
    return file_write_whole(c->options->json, c->json_text.data, c->json_text.length);
}

/* Nobody shall wait for a table whose last mesh is too large. */
static facet_status check_finest(const struct converge *c) {
    facet_mesh *mesh = NULL;
    struct app_range refine = refinements(c->options);
    facet_status status = run_mesh(c->file, c->context, refine.first, &mesh);
    if (status == FACET_OK)
        status = base_wrap(mesh_check_refinement(mesh, refine.last - refine.first), "--refine %d:%d",
                           refine.first, refine.last);
    facet_mesh_destroy(&mesh);
    return status;
}

static facet_status check_request(const struct converge *c) {
    const struct app_options *o = c->options;
    if (c->file->exact.n == 0)
        return base_fail(
            FACET_ERROR_INPUT,
            "%s: a table of errors needs the exact solution; add the key exact, for example exact: %s",
            c->file->path, physics_of(c->file->equation)->example);
    if (o->degree.last >= o->degree.first && (o->degree.first < 1 || o->degree.last > BOX_MAX_DEGREE))
        return base_fail(FACET_ERROR_INPUT, "--degree: degrees are 1 to %d, not %d:%d", BOX_MAX_DEGREE,
                         o->degree.first, o->degree.last);
    if (o->refine.last > 16)
        return base_fail(FACET_ERROR_INPUT, "--refine: at most 16 times, not %d", o->refine.last);
    const struct run_options targets = {.json = o->json, .no_files = 1};
    facet_status status = run_check_targets(c->file, &targets);
    return status == FACET_OK ? check_finest(c) : status;
}

facet_status converge_command(const struct app_options *options) {
    facet_status status = FACET_OK, solved;
    struct converge c = {.options = options};
    char message[BASE_MESSAGE_BYTES];
    TRY(case_read(options->arguments[0], options->team, options->n_settings, options->settings, &c.file));
    if (c.file->next)
        FAIL(FACET_ERROR_INPUT, "%s is a chain of cases; converge takes one case", c.file->path);
    TRY(app_context(options, &c.context));
    TRY(check_request(&c));
    TRY(make_table(c.file, &c.table));
    json_begin(&c.json, &c.json_text);
    json_object_begin(&c.json, NULL);
    json_array_begin(&c.json, "rows");
    progress_begin(&c.progress, options, c.file, c.context);
    c.progress.prefix = c.prefix;
    solved = all_runs(&c);
    snprintf(message, sizeof message, "%s", base_message());
    if (c.n_rows > 0) TRY(print_table(&c)); /* what there is, also when the finest meshes were too much */
    if (solved == FACET_OK || solved == FACET_NOT_CONVERGED) TRY(write_json(&c));
    if (solved != FACET_OK) FAIL(solved, "%s", message);
done:
    table_destroy(&c.table);
    text_free(&c.json_text);
    text_free(&c.note);
    facet_context_destroy(&c.context);
    case_destroy(&c.file);
    return status;
}
