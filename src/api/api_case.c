/* facet.h: a case file, what it says, and the run that it describes. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/run_case.h"

struct facet_case {
    struct facet_context *context;
    struct case_file *file;
    int n_cases;
    int n_runs; /* of facet_case_solve, as far as it came */
    struct run *runs;
    struct text json;
};

static void forget_runs(struct facet_case *c) {
    for (int i = c->n_runs - 1; i >= 0; i--) run_destroy(&c->runs[i]);
    c->n_runs = 0;
    base_free(&c->runs);
    text_free(&c->json);
    c->json = (struct text){0};
}

void facet_case_destroy(facet_case **file) {
    if (file == NULL || *file == NULL) return;
    forget_runs(*file);
    case_destroy(&(*file)->file);
    base_free(file);
}

/* What both calls below need. */
#define REQUIRE_INPUT(context, n_settings, settings)                                                         \
    do {                                                                                                     \
        REQUIRE(context);                                                                                    \
        if ((n_settings) > 0) REQUIRE(settings);                                                             \
        for (int i = 0; i < (n_settings); i++) REQUIRE((settings)[i]);                                       \
    } while (0)

/* FNV-1a, the end of the text included. */
static uint64_t digest(uint64_t so_far, const char *text) {
    for (size_t i = 0; i <= strlen(text); i++)
        so_far = (so_far ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return so_far;
}

/* All ranks were given one case: a file is read by the first of them, texts and settings are their own. */
static facet_status agree(struct base_team *team, const char *text, int n, const char *const *settings) {
    facet_status status = FACET_OK;
    uint64_t own = digest(UINT64_C(14695981039346656037), text != NULL ? text : ""), first;
    int64_t rank = INT32_MAX;
    if (team == NULL) return FACET_OK;
    for (int i = 0; i < n; i++) own = digest(own, settings[i]);
    first = own;
    TRY(team_broadcast(team, 0, &first, sizeof first));
    if (own != first) rank = team_rank(team);
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &rank));
    if (rank != INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "rank %d was given another case, or other settings, than rank 0", (int)rank);
done:
    return status;
}

/* text NULL: the file of that path. */
static facet_status create(facet_context *context, const char *path, const char *text, int n_settings,
                           const char *const *settings, facet_case **file) {
    facet_status status = FACET_OK;
    if (n_settings < 0) n_settings = 0;
    team_enter(context->team);
    TRY(CALLOC(*file, 1));
    (*file)->context = context;
    TRY(agree(context->team, text, n_settings, settings));
    TRY(text == NULL ? case_read(path, context->team, n_settings, settings, &(*file)->file)
                     : case_read_bytes(path, text, strlen(text), n_settings, settings, &(*file)->file));
    for (const struct case_file *f = (*file)->file; f != NULL; f = f->next) (*file)->n_cases++;
done:
    status = team_leave(context->team, status);
    if (status != FACET_OK) facet_case_destroy(file);
    return status;
}

facet_status facet_case_load(facet_context *context, const char *path, int n_settings,
                             const char *const *settings, facet_case **file) {
    REQUIRE(file);
    *file = NULL;
    REQUIRE(path);
    REQUIRE_INPUT(context, n_settings, settings);
    return create(context, path, NULL, n_settings, settings, file);
}

facet_status facet_case_parse(facet_context *context, const char *text, const char *path, int n_settings,
                              const char *const *settings, facet_case **file) {
    REQUIRE(file);
    *file = NULL;
    REQUIRE(text);
    REQUIRE_INPUT(context, n_settings, settings);
    return create(context, path != NULL ? path : "case.yaml", text, n_settings, settings, file);
}

int facet_case_count(const facet_case *file) {
    return file != NULL ? file->n_cases : 0;
}

/* ------------------------------------------------------------------------------------------ what it says */

static facet_status find_case(const facet_case *file, int i, const struct case_file **found) {
    *found = file->file;
    if (i < 0 || i >= file->n_cases)
        return base_fail(FACET_ERROR_INPUT, "%s: there is no case %d of %d", file->file->path, i,
                         file->n_cases);
    for (; i > 0; i--) *found = (*found)->next;
    return FACET_OK;
}

facet_status facet_case_get_info(const facet_case *file, int i, facet_case_info *info) {
    const struct case_file *f;
    REQUIRE(file, info);
    facet_status status = find_case(file, i, &f);
    if (status != FACET_OK) return status;
    facet_case_info full = {.name = f->name,
                            .title = f->title,
                            .output = f->output.file,
                            .equation = f->equation,
                            .from = f->thermal.expansion.n > 0 ? f->thermal.from : -1,
                            .n_values = f->n_values,
                            .n_parameters = f->n_parameters};
    return base_struct_write("facet_case_info", &full, info, sizeof full);
}

facet_status facet_case_parameter(const facet_case *file, int i, int k, const char **name, double *value) {
    const struct case_file *f;
    REQUIRE(file, name, value);
    facet_status status = find_case(file, i, &f);
    if (status != FACET_OK) return status;
    if (k < 0 || k >= f->n_parameters)
        return base_fail(FACET_ERROR_INPUT, "%s: there is no parameter %d of %d", f->path, k,
                         f->n_parameters);
    *name = f->parameters[k].name;
    *value = f->parameters[k].value;
    return FACET_OK;
}

facet_status facet_case_create_mesh(const facet_case *file, facet_mesh **mesh) {
    REQUIRE(mesh);
    *mesh = NULL;
    REQUIRE(file);
    return run_mesh(file->file, file->context, 0, mesh);
}

facet_status facet_case_create_problem(const facet_case *file, int i, const facet_mesh *mesh,
                                       const facet_solver *from, facet_problem **problem) {
    const struct case_file *f;
    struct base_call call;
    REQUIRE(problem);
    *problem = NULL;
    REQUIRE(file, mesh);
    facet_status status = find_case(file, i, &f);
    if (status != FACET_OK) return status;
    if (from != NULL && (f->thermal.expansion.n == 0 || f->thermal.from < 0))
        return base_fail(FACET_ERROR_INPUT, "%s: case %d takes no field of another", f->path, i);
    context_call_begin(file->context, 0, &call);
    status = context_call_end(file->context, &call, run_problem(f, file->context, mesh, from, problem));
    if (status != FACET_OK) facet_problem_destroy(problem);
    return status;
}

facet_status facet_case_options(const facet_case *file, int i, facet_options *options) {
    const struct case_file *f;
    facet_options own;
    REQUIRE(file, options);
    facet_status status = find_case(file, i, &f);
    if (status != FACET_OK) return status;
    facet_options_default(&own, sizeof own);
    options_write(&f->options, &own);
    return base_struct_write("facet_options", &own, options, sizeof own);
}

/* ------------------------------------------------------------------------------------------ the run */

static facet_status solve_all(facet_case *c, int write) {
    facet_status status = FACET_OK, solved = FACET_OK;
    char message[BASE_MESSAGE_BYTES] = "";
    TRY(CALLOC(c->runs, c->n_cases));
    for (const struct case_file *f = c->file; f != NULL && solved == FACET_OK; f = f->next) {
        const struct run_options options = {.no_files = !write, .before = c->runs, .n_before = c->n_runs};
        c->n_runs++;
        solved = run_solve(f, c->context, &options, &c->runs[c->n_runs - 1]);
        snprintf(message, sizeof message, "%s", base_message());
        if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    }
    TRY(run_write_all(c->n_runs, c->runs, &c->json));
    if (solved != FACET_OK) FAIL(solved, "%s", message);
done:
    return status;
}

facet_status facet_case_solve(facet_case *file, int write) {
    REQUIRE(file);
    struct base_call call;
    forget_runs(file);
    file->context->at_work = file->context->team; /* a mesh is made */
    context_call_begin(file->context, 0, &call);
    facet_status status = context_call_end(file->context, &call, solve_all(file, write));
    if (status != FACET_OK && status != FACET_NOT_CONVERGED) forget_runs(file);
    return status;
}

const facet_mesh *facet_case_mesh(const facet_case *file) {
    return file != NULL && file->n_runs > 0 ? file->runs[0].mesh : NULL;
}

const facet_solver *facet_case_solver(const facet_case *file, int i) {
    return file != NULL && i >= 0 && i < file->n_runs ? file->runs[i].solver : NULL;
}

const char *facet_case_json(const facet_case *file) {
    return file != NULL && file->n_runs > 0 ? file->json.data : NULL;
}

/* What was measured by the run, or is measured now, of which the numbers are to be freed. */
static facet_status find_value(const facet_case *c, const struct case_file *f, int i, int k,
                               const facet_solver *solver, struct run_value *value, int *own) {
    facet_status status = FACET_OK;
    const struct run *run = i < c->n_runs ? &c->runs[i] : NULL;
    *own = 0;
    *value = (struct run_value){.wanted = &f->values[k]};
    if (solver == NULL && (run == NULL || k >= run->n_values))
        FAIL(FACET_ERROR_INPUT, "%s: case %d is not solved; call facet_case_solve, or give a solver", f->path,
             i);
    if (solver == NULL) {
        *value = run->values[k];
        goto done;
    }
    *own = 1;
    TRY(base_wrap(run_measure_value(solver, value), "%s: value '%s'", f->path, f->values[k].name));
done:
    return status;
}

static facet_status copy_value(const facet_case *c, const struct case_file *f, int i, int k,
                               const facet_solver *solver, facet_value *given, int64_t room,
                               double *numbers) {
    facet_status status = FACET_OK;
    struct run_value value = {0};
    int own = 0;
    TRY(find_value(c, f, i, k, solver, &value, &own));
    int64_t n = (value.n_points > 0 ? value.n_points : 1) * value.n_components;
    facet_value full = {.name = f->values[k].name,
                        .field = f->values[k].field,
                        .n_points = value.n_points,
                        .components = value.n_components,
                        .n = (int)n};
    if (value.wanted->take == CASE_AT || value.n_points > 0)
        memcpy(full.from, value.wanted->from, sizeof full.from);
    if (run_is_extreme(&value)) memcpy(full.from, value.place.at, sizeof full.from);
    if (value.n_points > 0) memcpy(full.to, value.wanted->to, sizeof full.to);
    TRY(base_struct_write("facet_value", &full, given, sizeof full));
    if (numbers == NULL) goto done;
    if (room < n)
        FAIL(FACET_ERROR_INPUT, "facet_case_value: '%s' has %lld numbers, but there is room for %lld",
             f->values[k].name, (long long)n, (long long)room);
    memcpy(numbers, value.numbers, (size_t)n * sizeof *numbers);
done:
    if (own) base_free(&value.numbers);
    return status;
}

facet_status facet_case_value(const facet_case *file, int i, int k, const facet_solver *solver,
                              facet_value *value, int64_t room, double *numbers) {
    const struct case_file *f;
    struct base_call call;
    REQUIRE(file, value);
    facet_status status = find_case(file, i, &f);
    if (status != FACET_OK) return status;
    if (k < 0 || k >= f->n_values)
        return base_fail(FACET_ERROR_INPUT, "%s: there is no value %d of %d", f->path, k, f->n_values);
    if (solver != NULL && solver->problem->physics->equation != f->equation)
        return base_fail(FACET_ERROR_INPUT, "%s: the solver is of another equation than case %d", f->path, i);
    if (solver != NULL) status = solver_check_mesh(solver);
    if (status != FACET_OK) return status;
    if (solver != NULL) solver_lock(solver);
    context_call_begin(file->context, solver != NULL ? solver->threads : 0, &call);
    status = context_call_end(file->context, &call, copy_value(file, f, i, k, solver, value, room, numbers));
    if (solver != NULL) solver_unlock(solver);
    return status;
}
