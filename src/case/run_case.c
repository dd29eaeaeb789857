/* From a case file to a solution: the public interface called with what the case says, in the order of the
 * phases.
 */
#include "case/run_case.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/places.h"
#include "io/solution.h"
#include "io/vtu.h"
#include "mesh/part.h"

/* ------------------------------------------------------------------------------------------ mesh */

/* Boxes of quads and hexes stay boxes when they are refined, so that processes may begin with the finer one:
 * their blocks are boxes then, too. The coordinates are those of one process, which refines what has its
 * scale. *times, *scale: what is left to be done. */
static facet_status refine_box(facet_box *box, double *coordinates[3], double *scale, int *times) {
    facet_status status = FACET_OK;
    if (strcmp(box->shape, "quad") != 0 && strcmp(box->shape, "hex") != 0) return FACET_OK;
    for (int a = 0; a < box->dim; a++)
        if (*times < 1 || *times > 30 || !(*scale > 0.0) || box->cells[a] < 1 ||
            box->cells[a] > INT_MAX >> *times)
            return FACET_OK;
    for (int a = 0; a < box->dim; a++) {
        double *x = NULL;
        TRY(ALLOC(x, ((int64_t)box->cells[a] << *times) + 1));
        coordinates[a] = x;
        for (int i = 0; i <= box->cells[a]; i++) x[i] = *scale * mesh_box_coordinate(box, a, i);
        for (int k = 0; k < *times; k++) { /* from above: what is read has not been written yet */
            const int n = box->cells[a] *= 2;
            for (int i = n; i >= 0; i--) x[i] = i % 2 == 0 ? x[i / 2] : 0.5 * (x[i / 2] + x[i / 2 + 1]);
        }
        box->coordinates[a] = x;
    }
    *times = 0;
    *scale = 1.0;
done:
    return status;
}

facet_status run_mesh(const struct case_file *file, facet_context *context, int refine, facet_mesh **mesh) {
    facet_status status = FACET_OK;
    double *coordinates[3] = {NULL};
    int times = file->mesh.refine + refine;
    double scale = file->mesh.scale;
    *mesh = NULL;
    if (file->mesh.is_box) {
        facet_box box = file->mesh.box;
        box.size = sizeof box;
        if (context->team != NULL) TRY(refine_box(&box, coordinates, &scale, &times));
        TRY(case_at_place(facet_mesh_create_box(context, &box, mesh), file, file->mesh.place));
    } else {
        TRY((file->mesh.apart ? facet_mesh_read_apart : facet_mesh_read)(context, file->mesh.path, mesh));
    }
    if (*mesh == NULL) goto done; /* a rank without cells */
    if (scale != 1.0) TRY(case_at_place(facet_mesh_scale(*mesh, scale), file, file->mesh.place));
    if (times > 0 && file->options.overlap == OVERLAP_REFUSE) /* refined, it would look like something else */
        TRY(case_in_file(mesh_refuse_overlap(*mesh), file));
    TRY(case_at_place(facet_mesh_refine(*mesh, times), file, file->mesh.place));
done:
    for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
    if (status != FACET_OK) facet_mesh_destroy(mesh);
    return status;
}

/* ------------------------------------------------------------------------------------------ targets */

/* A file of a run: read, or about to be written. */
struct target {
    const char *path, *what, *name; /* "the case file"; the table of value 'name' */
    struct case_place place;
    int written;
};

static facet_status fail_same(const struct case_file *file, const struct target *a, const struct target *b) {
    facet_status status = base_fail(
        FACET_ERROR_INPUT, "%s%s%s would be written to '%s', which is %s%s%s%s; choose another name", b->what,
        b->name ? " " : "", b->name ? b->name : "", b->path, a->written ? "also where to write " : "",
        a->what, a->name ? " " : "", a->name ? a->name : "");
    return case_at_place(status, file, b->place);
}

/* Each target against all that stand before it. */
static facet_status compare_targets(const struct case_file *file, int n, const struct target *targets) {
    for (int i = 0; i < n; i++)
        for (int k = 0; targets[i].written && k < i; k++) {
            const char *a = targets[k].path, *b = targets[i].path;
            int both_out = strcmp(a, "-") == 0 && strcmp(b, "-") == 0;
            if (both_out || file_is_same(a, b)) return fail_same(file, &targets[k], &targets[i]);
        }
    return FACET_OK;
}

/* Nobody shall wait for a solve whose result has no place to go. */
facet_status run_check_targets(const struct case_file *file, const struct run_options *options) {
    facet_status status = FACET_OK;
    struct target *targets = NULL;
    int n = 0, most = 3;
    for (const struct case_file *f = file; f != NULL; f = f->next) most += f->n_values + 1;
    TRY(ALLOC(targets, most));
    targets[n++] = (struct target){.path = file->path, .what = "the case file"};
    if (!file->mesh.is_box) targets[n++] = (struct target){.path = file->mesh.path, .what = "the mesh file"};
    if (options->json != NULL)
        targets[n++] = (struct target){.path = options->json, .what = "the JSON", .written = 1};
    for (const struct case_file *f = file; f != NULL; f = f->next) {
        const char *output = options->output != NULL ? options->output : f->output.file;
        if (output != NULL && !options->no_files)
            targets[n++] = (struct target){.path = output, .what = "the output", .written = 1};
        for (int i = 0; !options->no_files && i < f->n_values; i++) {
            const struct case_value *value = &f->values[i];
            if (value->file != NULL)
                targets[n++] =
                    (struct target){value->file, "the table of the value", value->name, value->place, 1};
        }
    }
    TRY(compare_targets(file, n, targets));
    for (int i = 0; i < n; i++)
        if (targets[i].written) TRY(file_check(targets[i].path));
done:
    base_free(&targets);
    return status;
}

/* ------------------------------------------------------------------------------------------ the run */

static double begin_phase(const struct run *run, facet_phase phase) {
    return base_phase_begin(&run->timers, &run->context->monitor, phase);
}

static void end_phase(struct run *run, facet_phase phase, double begin) {
    base_phase_end(&run->timers, &run->context->monitor, phase, begin);
}

static facet_status make_mesh(struct run *run, int refine) {
    double begin = begin_phase(run, FACET_PHASE_MESH);
    facet_status status = run_mesh(run->file, run->context, refine, &run->mesh);
    end_phase(run, FACET_PHASE_MESH, begin);
    return status != FACET_OK ? status : base_check_interrupt();
}

/* The report of the solver with the phases that are not its own. A matrix that could not be factored leaves
 * no solver behind. */
static facet_status make_report(struct run *run) {
    if (run->solver != NULL) {
        double begin = begin_phase(run, FACET_PHASE_MEASURE);
        run->report.size = sizeof run->report;
        facet_status status = facet_solver_report(run->solver, &run->report);
        end_phase(run, FACET_PHASE_MEASURE, begin);
        if (status != FACET_OK) return status;
    } else {
        run->report = (facet_report){.method = "direct",
                                     .preconditioner = "none",
                                     .reason = "the matrix is not positive definite",
                                     .residual = NAN,
                                     .rate = -1.0,
                                     .error = -1.0};
    }
    run->has_report = 1;
    for (int phase = 0; phase < FACET_N_PHASES; phase++) {
        double *peak = &run->timers.peak_bytes[phase];
        run->timers.seconds[phase] += run->report.seconds[phase];
        *peak = fmax(*peak, run->report.peak_bytes[phase]);
    }
    return FACET_OK;
}

facet_status run_check_data(const struct case_file *file, const facet_problem *problem,
                            struct problem_findings *findings) {
    return case_in_file(problem_check_data(problem, &file->options, findings), file);
}

/* What is wrong with later cases of a chain is told before the first is solved. */
static facet_status check_followers(const struct run *run) {
    facet_status status = FACET_OK;
    for (const struct case_file *file = run->file->next; file != NULL; file = file->next) {
        facet_problem *problem = NULL;
        TRY(run_problem(file, run->context, run->mesh, NULL, &problem));
        facet_problem_destroy(&problem);
    }
done:
    return status;
}

/* The targets, the mesh and the problem on it, with its data looked at; begun: see struct run_options. */
static facet_status prepare(struct run *run, const struct run_options *options) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_SETUP);
    if (options->begun > 0.0) begin = options->begun;
    if (options->n_before > 0) {
        run->mesh = options->before[0].mesh;
        run->borrows_mesh = 1;
    } else {
        if (team_rank(run->context->team) == 0) TRY(run_check_targets(file, options));
        TRY(make_mesh(run, options->refine));
        if (run->mesh != NULL) TRY(check_followers(run));
    }
    if (run->mesh == NULL) goto done;
    int from = file->thermal.from;
    TRY(run_problem(file, run->context, run->mesh,
                    from >= 0 && from < options->n_before ? options->before[from].solver : NULL,
                    &run->problem));
done:
    end_phase(run, FACET_PHASE_SETUP, begin);
    return status;
}

static facet_status solve(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    struct options options = file->options;
    options.degree = run->degree;
    options.watch = run->watched;
    TRY(case_in_file(solver_create(run->problem, &options, NULL, &run->solver), file));
    TRY(case_in_file(solver_find_mismatch(run->solver, &run->findings), file));
    TRY(base_check_interrupt());
    TRY(case_in_file(facet_solver_solve(run->solver, NULL, NULL), file));
    TRY(base_check_interrupt());
done:
    if (status != FACET_OK && status != FACET_NOT_CONVERGED) return status;
    facet_status reported = make_report(run);
    return reported != FACET_OK ? reported : status;
}

/* Errors and values. */
static facet_status measure(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_MEASURE);
    run->errors.size = sizeof run->errors;
    if (file->exact.n > 0) TRY(case_in_file(facet_solver_errors(run->solver, &run->errors), file));
    run->has_errors = file->exact.n > 0;
    TRY(run_measure_values(run));
done:
    end_phase(run, FACET_PHASE_MEASURE, begin);
    return status;
}

static int has_targets(const struct run *run) {
    int n = run->output != NULL;
    for (int i = 0; i < run->file->n_values; i++) n += run->file->values[i].file != NULL;
    return n > 0;
}

/* From then on the output is the file that names the pieces. */
static facet_status name_pieces(struct run *run) {
    facet_status status = FACET_OK;
    run->n_pieces = vtu_n_pieces(mesh_team(run->mesh), run->file->output.pieces);
    if (run->n_pieces == 1) goto done;
    TRY(CALLOC(run->pieces, run->n_pieces + 1));
    for (int p = 0; p <= run->n_pieces; p++) TRY(vtu_piece_name(run->output, p - 1, &run->pieces[p]));
    run->output = run->pieces[0];
done:
    return status;
}

static facet_status write_files(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    double begin = begin_phase(run, FACET_PHASE_OUTPUT);
    if (run->output != NULL) {
        TRY(solution_write(run->solver, run->output, file->output.n_fields,
                           (const char *const *)file->output.fields, file->output.order,
                           file->output.pieces));
        TRY(name_pieces(run));
        run->output_written = 1;
    }
    TRY(run_write_values(run));
    run->values_written = 1;
done:
    end_phase(run, FACET_PHASE_OUTPUT, begin);
    return status;
}

facet_status run_solve(const struct case_file *file, facet_context *context,
                       const struct run_options *options, struct run *run) {
    facet_status status = FACET_OK;
    const struct run_options defaults = {0};
    if (options == NULL) options = &defaults;
    double begin = options->begun > 0.0 ? options->begun : base_seconds();
    *run = (struct run){.file = file, .context = context, .watched = options->watch};
    run->degree = options->degree > 0 ? options->degree : file->options.degree;
    if (!options->no_files) run->output = options->output != NULL ? options->output : file->output.file;
    TRY(prepare(run, options));
    if (run->mesh == NULL) goto done;
    TRY(solve(run));
    TRY(measure(run));
    if (!options->no_files && has_targets(run)) TRY(write_files(run));
done:
    run->total_seconds = base_seconds() - begin;
    if (status == FACET_OK && run->mesh != NULL) status = run_compare_ranks(run);
    return status == FACET_OK ? run_refuse_values(run) : status;
}

void run_destroy(struct run *run) {
    for (int i = 0; i < run->n_values; i++) base_free(&run->values[i].numbers);
    base_free(&run->values);
    for (int p = 0; run->pieces != NULL && p <= run->n_pieces; p++) base_free(&run->pieces[p]);
    base_free(&run->pieces);
    facet_solver_destroy(&run->solver);
    facet_problem_destroy(&run->problem);
    if (!run->borrows_mesh) facet_mesh_destroy(&run->mesh);
    *run = (struct run){0};
}
