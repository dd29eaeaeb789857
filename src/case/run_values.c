/* The numbers a case asks for: at points, along lines, and taken over the domain, a group or a boundary part.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "case/run_case.h"

void run_line_point(const struct case_value *value, int64_t i, int64_t n, double point[3]) {
    double t = n > 1 ? (double)i / (double)(n - 1) : 0.0;
    for (int d = 0; d < 3; d++)
        point[d] = i == n - 1 && n > 1 ? value->to[d] : value->from[d] + t * (value->to[d] - value->from[d]);
}

/* The number of the wanted component, -1 for all; a tensor's run by rows. */
static int component_of(const struct facet_solver *solver, const struct case_value *wanted) {
    return wanted->column < 0 ? wanted->component
                              : wanted->component * solver->problem->mesh->dim + wanted->column;
}

static void tell_points(int64_t n, const struct sample_point *points, struct run_value *value) {
    double most = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const struct error_bar *bar = &points[i].bar;
        if (points[i].n_cells == 0) continue;
        value->size = fmax(value->size, points[i].size);
        value->found.error = fmax(value->found.error, bar->error);
        if (bar->scale > 0.0) most = fmax(most, bar->error / bar->scale);
    }
    if (most > 0.0) value->found.scale = value->found.error / most;
    for (int64_t i = 0; i < n; i++) {
        const struct sample_point *p = &points[i];
        value->n_outside += p->n_cells == 0;
        value->n_moved += p->n_cells > 0 && p->away > 0.0;
        if (p->n_cells > 0) value->moved_by = fmax(value->moved_by, p->away);
        /* What the solve leaves is told by the bar. */
        if (p->n_cells < 2 || !(p->apart > fmax(RUN_NOTED * value->size, p->bar.error))) continue;
        value->n_between++;
        value->apart = fmax(value->apart, p->apart);
    }
}

static facet_status measure_points(const struct facet_solver *solver, struct run_value *value) {
    facet_status status = FACET_OK;
    const struct case_value *wanted = value->wanted;
    int dim = solver->problem->mesh->dim, components, component = component_of(solver, wanted);
    int64_t n = value->n_points > 0 ? value->n_points : 1;
    enum hdg_field field;
    struct sample_point *points = NULL;
    double *x = NULL, *all = NULL;
    TRY(sample_find_field(solver, wanted->field, &field, &components));
    if (component >= components)
        FAIL(FACET_ERROR_INPUT, "the field '%s' has no such component", wanted->field);
    value->n_components = component < 0 ? components : 1;
    TRY(ALLOC(x, n * dim));
    TRY(ALLOC(all, n * components));
    TRY(ALLOC(points, n));
    TRY(ALLOC(value->numbers, n * value->n_components));
    for (int64_t i = 0; i < n; i++) {
        double point[3];
        run_line_point(wanted, i, value->n_points, point);
        memcpy(x + i * dim, point, (size_t)dim * sizeof *x);
    }
    TRY(sample_points(solver, wanted->field, n, x, wanted->take == CASE_ALONG, all, points));
    tell_points(n, points, value);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < value->n_components; c++)
            value->numbers[i * value->n_components + c] =
                all[i * components + (component < 0 ? c : component)];
done:
    base_free(&x);
    base_free(&all);
    base_free(&points);
    return status;
}

static double modulus_of(const struct run_value *value) {
    double modulus = 0.0;
    for (int c = 0; c < value->n_components && value->n_points == 0; c++)
        modulus = hypot(modulus, value->numbers[c]);
    return modulus;
}

static facet_status measure_taken(const struct facet_solver *solver, struct run_value *value) {
    facet_status status = FACET_OK;
    const struct case_value *wanted = value->wanted;
    enum sample_take take = wanted->take == CASE_MAX        ? SAMPLE_MAX
                            : wanted->take == CASE_MIN      ? SAMPLE_MIN
                            : wanted->take == CASE_INTEGRAL ? SAMPLE_INTEGRAL
                                                            : SAMPLE_MEAN;
    struct sample_about about;
    TRY(CALLOC(value->numbers, SAMPLE_MAX_COMPONENTS));
    TRY(sample_take_with(solver, wanted->field, component_of(solver, wanted), take, wanted->n_on, wanted->on,
                         value->numbers, &value->n_components, &about));
    value->found = about.bar;
    value->place = about.place;
    value->measure = about.measure;
    value->size = modulus_of(value) / about.measure;
done:
    return status;
}

facet_status run_measure_value(const struct facet_solver *solver, struct run_value *value) {
    const struct case_value *wanted = value->wanted;
    value->measure = 1.0;
    if (wanted->take == CASE_ALONG) value->n_points = wanted->n_points;
    return wanted->take == CASE_AT || wanted->take == CASE_ALONG ? measure_points(solver, value)
                                                                 : measure_taken(solver, value);
}

/* A value whose doubt is below CLOSE of it, or of the size of u where it is a u, is exact to 1e-7, since a
 * doubt may be too small by some; one below ENOUGH is not told of in words. Other fluxes and forces are
 * compared with the scale of their kind. A doubt below NOTHING of the scale is little, and so is one below
 * LOOSE times what was asked of the solve or reached by it (MOST at most), up to FEW. Then what has no digit
 * is zero, and what has one is marked. A number will do, and is marked, also where two of its digits are
 * beyond doubt (FEW), or its doubt is below LOOSE. */
#define CLOSE   2e-8
#define ENOUGH  1e-6
#define DIGIT   10.0
#define NOTHING 1e-6
#define LOOSE   100.0
#define FEW     1e-2
#define MOST    1e-6

/* Largest: the largest flux of the problem; given: of those that are given. What is given is not nothing
 * beside what u could drive, in slender bodies least of all, unless it is the rounding of that. */
#define GIVEN 1e-14
static void judge_flux(const struct run *run, double largest, double given, struct run_value *value) {
    const struct options *options = &run->solver->options;
    const double error = value->found.error;
    const double loose = LOOSE * fmax(fmin(run->report.error, MOST), fmax(options->rtol, options->error));
    /* Fluxes of faces may each be nothing where what goes in and out of one is not. */
    const double scale = fmax(largest, value->found.by_cells ? 0.0 : value->found.drive);
    const double little = fmin(fmax(NOTHING, loose), FEW);
    const double modulus = modulus_of(value);
    value->trust = RUN_UNTRUSTED;
    value->bar = error;
    value->against_drive = error > little * largest;
    value->scale = value->against_drive ? value->found.drive : largest;
    const int loaded = value->against_drive && given > GIVEN * value->found.drive;
    if (!loaded && modulus <= DIGIT * error && error <= little * value->scale) {
        value->trust = RUN_ZERO;
        value->bar += modulus;
        for (int c = 0; c < value->n_components; c++) value->numbers[c] = 0.0;
    } else if (error <= fmax(little * scale, fmax(FEW, loose) * modulus)) {
        value->trust = RUN_ROUGH;
    }
}

/* So many times the error that the report gives of u: what is worse is told with the value. */
#define WORSE 10.0
/* What is below this much of the largest value of a field is nothing beside it. */
#define LITTLE 1e-8

/* As of a u: of the potential of the electrode of condition i. */
enum run_trust run_judge_potential(const struct run *run, int i, double *error) {
    double size;
    *error = solver_potential_error(run->solver, i, &size);
    return *error <= CLOSE * size                                    ? RUN_EXACT
           : *error > fmax(ENOUGH, WORSE * run->report.error) * size ? RUN_ROUGH
                                                                     : RUN_CLOSE;
}

static int is_taken(const struct run_value *value) {
    return value->wanted->take != CASE_AT && value->wanted->take != CASE_ALONG;
}

/* Whether an error is nothing beside the largest value of the field where this one is taken: means cancel, and
 * a minimum may be far below the rest. */
static facet_status is_nothing(const struct run *run, const struct case_value *wanted, double error,
                               int *nothing) {
    facet_status status = FACET_OK;
    enum hdg_field field;
    double largest = 0.0;
    int components, n;
    TRY(sample_find_field(run->solver, wanted->field, &field, &components));
    for (int least = 0; least <= (components == 1); least++) { /* others by their magnitude */
        double numbers[SAMPLE_MAX_COMPONENTS];
        TRY(sample_take_with(run->solver, wanted->field, -1, least ? SAMPLE_MIN : SAMPLE_MAX, wanted->n_on,
                             wanted->on, numbers, &n, NULL));
        largest = fmax(largest, fabs(numbers[0]));
    }
    *nothing = error <= LITTLE * largest;
done:
    return status;
}

/* A field is told to be off, and never a reason to refuse: its error is that of u, which was accepted. What
 * is as good as the report says of u is not told of in words. */
static facet_status judge_field(const struct run *run, struct run_value *value) {
    facet_status status = FACET_OK;
    const char *field = value->wanted->field;
    const double error = value->bar / value->measure;
    int uncertain = 1, nothing = 0;
    if (value->found.scale > 0.0) {
        if (value->bar > fmax(ENOUGH, WORSE * run->report.error) * value->found.scale)
            value->trust = RUN_ROUGH;
        goto done;
    }
    if (is_taken(value)) TRY(is_nothing(run, value->wanted, error, &nothing));
    if (nothing) value->trust = RUN_EXACT;
    if (error <= fmax(ENOUGH * value->size, LITTLE * run_largest_of(run, field))) goto done;
    TRY(sample_is_uncertain(run->solver, field, error, &uncertain));
    if (uncertain) value->trust = RUN_ROUGH;
done:
    return status;
}

/* The largest flux of the problem is looked for when a value needs it. A mean is an integral over the area.
 */
static facet_status judge_rough_flux(const struct run *run, double largest[2], struct run_value *value) {
    facet_status status = FACET_OK;
    const struct case_value *wanted = value->wanted;
    struct sample_about whole = {.bar = value->found};
    double numbers[SAMPLE_MAX_COMPONENTS];
    int n;
    if (largest[0] < 0.0) TRY(sample_largest_flux(run->solver, &largest[0], &largest[1]));
    if (wanted->take == CASE_MEAN)
        TRY(sample_take_with(run->solver, wanted->field, -1, SAMPLE_INTEGRAL, wanted->n_on, wanted->on,
                             numbers, &n, &whole));
    const double share = value->found.error / whole.bar.error;
    judge_flux(run, largest[0] * share, largest[1] * share, value);
done:
    return status;
}

static int balances_cells(const struct run *run) {
    return physics_entry(physics_of(run->file->equation), &run->file->options)->conserved != NULL;
}

/* What goes in less what goes out is missing in one flux or another, unless a condition says what that is. It
 * is the sum of fluxes as cells have them, and this value may be a better one: readers are not told. Where cells
 * do not balance it is the sum of these very values, which have as much of it as u has errors. */
static void add_imbalance(const struct run *run, struct run_value *value) {
    const double most = balances_cells(run) ? ENOUGH : fmax(ENOUGH, run->report.error);
    const double whole = fmin(fabs(run->report.conservation_whole), most);
    if (value->found.error > 0.0 && run->report.conservation >= 0.0)
        value->found.error = fmax(value->found.error, whole * value->size);
}

static facet_status judge_values(struct run *run) {
    facet_status status = FACET_OK;
    double largest[2] = {-1.0, 0.0};
    for (int i = 0; i < run->n_values; i++) {
        struct run_value *value = &run->values[i];
        const double size = value->measure * value->size, scale = value->found.scale;
        if (run_is_flux(run, value)) add_imbalance(run, value);
        value->bar = value->found.error;
        if (value->bar <= CLOSE * (scale > 0.0 ? scale : size)) continue;
        value->trust = RUN_CLOSE;
        if (!run_is_flux(run, value))
            TRY(judge_field(run, value));
        else if (value->bar > ENOUGH * size)
            TRY(judge_rough_flux(run, largest, value));
    }
done:
    return status;
}

/* What would make a doubt smaller. */
static const char *advice(const struct run *run) {
    if (!balances_cells(run)) return "; discretization: {method: hdg} balances it cell by cell";
    return run->report.error > 1e-13 && strcmp(run->report.method, "direct") != 0
               ? "; solver: {method: direct} makes the error of u smaller"
               : "";
}

facet_status run_refuse_values(const struct run *run) {
    if (run->file->exact.n > 0) return FACET_OK; /* the errors tell how good the solution is */
    for (int i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];
        char note[RUN_NOTE_BYTES];
        if (value->trust == RUN_UNTRUSTED)
            return base_fail(FACET_NOT_CONVERGED, "%s: %s%s", run->file->path,
                             run_value_note(run, value, note), advice(run));
    }
    return FACET_OK;
}

facet_status run_measure_values(struct run *run) {
    facet_status status = FACET_OK;
    const struct case_file *file = run->file;
    if (file->n_values == 0) goto done;
    TRY(CALLOC(run->values, file->n_values));
    for (int i = 0; i < file->n_values; i++) {
        struct run_value *value = &run->values[run->n_values++];
        value->wanted = &file->values[i];
        status = run_measure_value(run->solver, value);
        if (status != FACET_OK) {
            base_wrap(status, "%s: value '%s'", file->path, value->wanted->name);
            run->n_values = 0;
            for (int k = 0; k <= i; k++) base_free(&run->values[k].numbers);
            goto done;
        }
        TRY(base_check_interrupt());
    }
    TRY(judge_values(run));
done:
    return status;
}

/* "u", "u_x", "stress_xy": what column c of a line holds. */
static void put_name(const struct run_value *value, int dim, int c, struct text *csv) {
    const struct case_value *wanted = value->wanted;
    int n = value->n_components, row = wanted->component, column = wanted->column;
    if (row < 0 && n > 1) { /* all of a vector or a tensor */
        row = n == dim * dim ? c / dim : c;
        column = n == dim * dim ? c % dim : -1;
    }
    text_printf(csv, ",%s", wanted->field);
    if (row >= 0) text_printf(csv, "_%c", "xyz"[row]);
    if (column >= 0) text_printf(csv, "%c", "xyz"[column]);
}

/* The columns distance, x, y, (z,) and the values: the field's name, or name_x, name_y, ... */
static facet_status write_line(const struct run *run, const struct run_value *value) {
    facet_status status = FACET_OK;
    const struct case_value *wanted = value->wanted;
    struct text csv = {0};
    int dim = run->mesh->dim, n = value->n_components;
    text_printf(&csv, dim == 3 ? "distance,x,y,z" : "distance,x,y");
    for (int c = 0; c < n; c++) put_name(value, dim, c, &csv);
    text_printf(&csv, "\n");
    for (int64_t i = 0; i < value->n_points; i++) {
        double point[3], square = 0.0;
        run_line_point(wanted, i, value->n_points, point);
        for (int d = 0; d < dim; d++) square += (point[d] - wanted->from[d]) * (point[d] - wanted->from[d]);
        text_printf(&csv, "%.17g", sqrt(square));
        for (int d = 0; d < dim; d++) text_printf(&csv, ",%.17g", point[d]);
        for (int c = 0; c < n; c++) text_printf(&csv, ",%.17g", value->numbers[i * n + c]);
        text_printf(&csv, "\n");
    }
    TRY(csv.status);
    TRY(file_write_whole(wanted->file, csv.data, csv.length));
done:
    text_free(&csv);
    return status;
}

facet_status run_write_values(const struct run *run) {
    facet_status status = FACET_OK;
    for (int i = 0; team_rank(run->context->team) == 0 && i < run->n_values; i++)
        if (run->values[i].wanted->file != NULL) TRY(write_line(run, &run->values[i]));
done:
    return status;
}
