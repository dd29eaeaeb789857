/* A solver: what the options say, which discretization takes the problem (problem/backend.h), its solves, and
 * its notes. The calls of facet.h over it stand in src/api/api_solver.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/boxsem.h"
#include "mesh/part.h"
#include "problem/box_backend.h"
#include "problem/choice.h"
#include "solve/external.h"
#include "solve/multigrid.h"

/* The data of the discretization from those of the problem. */
static facet_status resolve(struct facet_solver *s) {
    struct problem_resolved resolved;
    facet_status status = problem_resolve(s->problem, &s->options, &resolved);
    if (status != FACET_OK) return status;
    problem_resolved_destroy(&s->resolved);
    s->resolved = resolved;
    s->resolved.data.tau = s->own.tau;
    s->resolved.data.tau_hat = s->options.tau_hat;
    return FACET_OK;
}

/* What is for PETSc goes there, and stays there. */
static facet_status pass_options(struct facet_solver *s) {
    const char *text = s->options.petsc;
    s->options.petsc = NULL;
    if (text == NULL) return FACET_OK;
    if (s->context->external == NULL)
        return base_fail(FACET_ERROR_INPUT, "solver.petsc: belongs to the program facet-mpi");
    return base_wrap(s->context->external->options(text), "solver.petsc");
}

/* A solver with nothing but its lock, which its thread may take again. */
static facet_status create_locked(struct facet_solver **solver) {
    facet_status status = FACET_OK;
    pthread_mutexattr_t again;
    TRY(CALLOC(*solver, 1));
    TRY(CALLOC((*solver)->readers, 1));
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&(*solver)->readers->making, &again);
    pthread_mutexattr_destroy(&again);
done:
    if (status != FACET_OK) base_free(solver);
    return status;
}

void solver_lock(const struct facet_solver *s) {
    pthread_mutex_lock(&s->readers->making);
}

void solver_unlock(const struct facet_solver *s) {
    pthread_mutex_unlock(&s->readers->making);
}

facet_status solver_need(const struct facet_solver *s, enum hdg_field field) {
    if (s->backend->need == NULL) return FACET_OK;
    solver_lock(s);
    facet_status status = s->backend->need(s, field);
    solver_unlock(s);
    return status;
}

facet_status solver_find_fluxes(const struct facet_solver *s, int version, double *left) {
    *left = -1.0;
    if (s->backend->find_fluxes == NULL) return FACET_OK;
    solver_lock(s);
    facet_status status = s->backend->find_fluxes(s, version, left);
    solver_unlock(s);
    return status;
}

facet_status solver_prepare(const struct facet_problem *problem, const struct options *options,
                            struct facet_solver **solver) {
    facet_status status = FACET_OK;
    struct facet_solver *s;
    const struct physics *physics = problem->data.physics;
    *solver = NULL;
    TRY(options_check(options, physics->equation));
    TRY(create_locked(solver));
    s = *solver;
    s->context = problem->data.context;
    s->options = *options;
    s->options.tau = NULL; /* the caller's text; kept as a field */
    if (physics_entry(physics, options)->no_star != NULL) s->options.postprocess = 0;
    s->n_cells = problem->data.mesh->n_cells;
    s->n_scalings = problem->data.mesh->n_scalings;
    s->threads = base_threads();
    TRY(problem_copy(&problem->data, &s->own));
    s->problem = &s->own;
    if (options->tau != NULL)
        TRY(base_wrap(problem_compile(s->problem, 0, 1, &options->tau, &s->own.tau), "tau"));
    TRY(resolve(s));
    if (options->overlap == OVERLAP_REFUSE) TRY(mesh_refuse_overlap(problem->data.mesh));
    TRY(pass_options(s));
done:
    if (status != FACET_OK) solver_destroy(solver);
    return status;
}

/* ------------------------------------------------------------------------------ the backend */

/* Condensed elements on a box whose tensor operators would apply: what solves the same at their speed. */
static facet_status recommend(struct facet_solver *s, struct box_data *data) {
    if (mesh_bricks(s->problem->mesh) == NULL) return FACET_OK;
    char *why = s->notes[SOLVER_NOTE_OPERATOR];
    facet_status status = box_data_create(s->context, &s->resolved, s->options.degree, data, why);
    int applies = status == FACET_OK && why[0] == '\0';
    snprintf(why, PROBLEM_WHY_BYTES, "%s",
             applies ? "method: continuous (the same elements) or hdg, many times faster on this box" : "");
    box_data_destroy(data);
    return status;
}

/* Whether the box room takes the problem: then there are data. An operator that was asked for and does not
 * apply is refused with the reason. */
static facet_status choose_operator(struct facet_solver *s, struct box_data *data, int *box) {
    facet_status status = FACET_OK;
    const struct options *o = &s->options;
    const struct options_need mapped = options_need(o, AT_MAPPED), other = options_need(o, AT_TENSOR);
    const char *name = option_words[OPTION_OPERATOR][o->operator_kind];
    int any = o->operator_kind == OPERATOR_AUTO, continuous = o->discretization == DISCRETIZATION_CONTINUOUS;
    char *why = s->notes[SOLVER_NOTE_OPERATOR];
    *box = 0;
    if (!continuous && o->operator_kind == OPERATOR_MAPPED) {
        if (other.what[0])
            FAIL(FACET_ERROR_INPUT, "%s needs the operator tensor, not mapped; use operator: auto, or %s",
                 other.what, other.instead);
        goto done;
    }
    if (!continuous && mapped.what[0]) {
        if (any && other.what[0])
            FAIL(FACET_ERROR_INPUT, "%s needs the operator mapped, and %s the operator tensor; use %s, or %s",
                 mapped.what, other.what, mapped.instead, other.instead);
        if (!any)
            FAIL(FACET_ERROR_INPUT, "%s needs the operator mapped, not %s; use operator: mapped, or %s",
                 mapped.what, name, mapped.instead);
        if (o->discretization == DISCRETIZATION_CONDENSED) TRY(recommend(s, data));
        goto done;
    }
    TRY(box_data_create(s->context, &s->resolved, o->degree, data, why));
    *box = why[0] == '\0';
    if (!*box && continuous)
        FAIL(FACET_ERROR_INPUT, "the discretization continuous needs %s; use the discretization condensed",
             why);
    if (!*box && !any) FAIL(FACET_ERROR_INPUT, "the operator %s needs %s; use operator: mapped", name, why);
    if (!*box && other.what[0])
        FAIL(FACET_ERROR_INPUT, "%s needs %s; use %s", other.what, why, other.instead);
    if (mesh_bricks(s->problem->mesh) == NULL || !s->resolved.data.equation->on_boxes ||
        s->resolved.data.plane == HDG_AXISYMMETRIC)
        why[0] = '\0'; /* nobody expects it */
done:
    return status;
}

facet_status solver_choose_backend(struct facet_solver *s, hdg_rule_maker maker, struct box_data *data) {
    static const char *const diffusion[] = {"condense_affine", "affine_solve",  "sum_solve",
                                            "cell_apply",      "error_squares", NULL};
    static const char *const condensed[] = {"condense_sum", "sum_solve", "cell_apply", NULL};
    static const char *const elasticity[] = {"condense_elastic", "elastic_solve", "cell_apply", NULL};
    facet_status status = FACET_OK;
    int box = 0;
    if (maker == NULL) TRY(choose_operator(s, data, &box));
    s->operator_used = box ? OPERATOR_TENSOR : OPERATOR_MAPPED;
    if (!box) { /* the methods on boxes ask for the kernels that they need */
        TRY(solver_check_method(s));
        const int vectors = s->resolved.data.equation->rigid;
        const int whole = s->options.discretization == DISCRETIZATION_CONDENSED;
        TRY(base_wrap(device_require(s->context->device,
                                     vectors ? "elasticity"
                                     : whole ? "the discretization condensed"
                                             : "hdg on mapped cells",
                                     vectors ? elasticity
                                     : whole ? condensed
                                             : diffusion),
                      "device"));
        goto done;
    }
    unsigned place = s->options.discretization == DISCRETIZATION_CONTINUOUS ? AT_BRICK : AT_TENSOR;
    int uniform;
    TRY(box_data_is_uniform(data, &uniform));
    if (!uniform) place |= AT_VARYING;
    TRY(options_check_place(&s->options, place));
done:
    return status;
}

/* Bodies that touch along a curved face but have nodes of their own there are two pieces, and nothing tells
 * that they were meant to be one. */
static facet_status find_pieces(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    char place[MESH_PLACE_BYTES];
    int32_t *piece = NULL, n;
    if (mesh_is_box(mesh)) return FACET_OK; /* one piece */
    TRY(ALLOC(piece, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    TRY(mesh_number_pieces(mesh, piece, &n));
    if (n < 2) goto done;
    TRY(mesh_piece_text(mesh, piece, 1, place));
    snprintf(s->notes[SOLVER_NOTE_PIECES], PROBLEM_WHY_BYTES,
             "the mesh falls into %d pieces that no face connects, so that nothing goes from one to the "
             "other; the second "
             "has the cell at %s",
             n, place);
done:
    base_free(&piece);
    return status;
}

facet_status solver_find_conflict(struct facet_solver *s, int has_potentials) {
    struct problem_conflict conflict;
    facet_status status = problem_find_conflict(s->problem, &s->resolved, has_potentials, &conflict);
    if (status == FACET_OK)
        problem_conflict_text(s->problem, &s->options, &conflict, s->notes[SOLVER_NOTE_CONFLICT],
                              PROBLEM_WHY_BYTES);
    return status;
}

facet_status solver_find_unresolved(struct facet_solver *s) {
    return problem_find_unresolved(s->problem, &s->resolved, s->options.degree,
                                   s->operator_used == OPERATOR_TENSOR, s->notes[SOLVER_NOTE_UNRESOLVED],
                                   PROBLEM_WHY_BYTES);
}

/* What may help a solve that failed, which is not what it has used. */
static const char *advice(const struct facet_solver *s) {
    if (s->operator_used == OPERATOR_TENSOR && s->options.discretization == DISCRETIZATION_HDG &&
        s->problem->mesh->part == NULL && s->report.error > s->report.residual)
        return "; what rounding decides is often known better with discretization.operator: mapped and "
               "solver.method: direct";
    if (s->method == METHOD_DIRECT) return "";
    if (s->resolved.data.equation->is_vector && s->options.formulation == FORMULATION_GRADIENT)
        return "; in the formulation gradient iterations may stall under tractions: use "
               "discretization.formulation: symmetric";
    if (s->report.error > s->report.residual)
        return "; large penalties (Robin coefficients, springs) hide all else from a residual: "
               "solver.method: direct";
    return "";
}

facet_status solver_explain(const struct facet_solver *s, facet_status status) {
    char message[BASE_MESSAGE_BYTES], hold[PROBLEM_WHY_BYTES];
    if (status != FACET_NOT_CONVERGED || s == NULL) return status;
    snprintf(message, sizeof message, "%s", base_message());
    const int known =
        problem_softest_support(s->problem, &s->resolved, hold, sizeof hold) == FACET_OK && hold[0];
    return base_fail(status, "%s%s%s%s", message, advice(s), known ? "; " : "", known ? hold : "");
}

static facet_status create_backend(struct facet_solver *s, struct box_data *data) {
    return s->operator_used == OPERATOR_TENSOR ? box_create(s, data) : mapped_create(s);
}

facet_status solver_create(const struct facet_problem *problem, const struct options *options,
                           hdg_rule_maker maker, struct facet_solver **solver) {
    facet_status status = FACET_OK;
    struct box_data data = {0};
    const struct base_monitor *monitor = &problem->data.context->monitor;
    double begin = base_phase_begin(NULL, monitor, FACET_PHASE_SETUP);
    TRY(solver_prepare(problem, options, solver));
    TRY(device_settle(problem->data.context->device));
    TRY(solver_choose_backend(*solver, maker, &data));
    (*solver)->maker = maker;
    TRY(find_pieces(*solver));
    TRY(problem_joined_text((*solver)->problem, &(*solver)->resolved, (*solver)->notes[SOLVER_NOTE_JOINED],
                            PROBLEM_WHY_BYTES));
    TRY(solver_find_conflict(*solver, 0));
    TRY(solver_find_unresolved(*solver));
    TRY(create_backend(*solver, &data));
    TRY(solver_digest(*solver, &(*solver)->digest));
done:
    base_phase_end(*solver != NULL ? &(*solver)->timers : NULL, monitor, FACET_PHASE_SETUP, begin);
    status = solver_explain(*solver, status);
    if (status != FACET_OK) {
        box_data_destroy(&data);
        solver_destroy(solver);
    }
    return status;
}

facet_status solver_rebuild(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct box_data data = {0};
    struct vector trace = {0};
    double *u = NULL;
    enum option_operator_kind asked = s->options.operator_kind;
    if (s->solved && s->options.warm_start) { /* the iteration goes on from there */
        mapped_take_trace(s, &trace);
        if (s->backend->set_guess != NULL) {
            TRY(ALLOC(u, s->backend->n_points(s)));
            TRY(s->backend->copy_out(s, u));
        }
    }
    s->solved = 0;
    TRY(resolve(s));
    if (s->backend != NULL) s->backend->destroy(s);
    s->backend = NULL;
    s->notes[SOLVER_NOTE_PMG][0] = '\0';
    s->options.operator_kind = s->operator_used; /* points and arrays of the caller stay what they are */
    status = solver_choose_backend(s, s->maker, &data);
    s->options.operator_kind = asked;
    if (status == FACET_OK) status = create_backend(s, &data);
    if (status != FACET_OK && s->backend != NULL) {
        s->backend->destroy(s);
        s->backend = NULL;
    }
    TRY(status);
    if (u != NULL) TRY(s->backend->set_guess(s, u));
    mapped_put_trace(s, &trace);
done:
    box_data_destroy(&data);
    vector_destroy(&trace);
    base_free(&u);
    return status;
}

void solver_destroy(struct facet_solver **solver) {
    if (*solver == NULL) return;
    struct facet_solver *s = *solver;
    if (s->backend != NULL) s->backend->destroy(s);
    problem_resolved_destroy(&s->resolved);
    solve_report_clear(&s->report);
    problem_clear(&s->own);
    problem_clear(&s->next);
    solver_forget_electrodes(s);
    pthread_mutex_destroy(&s->readers->making);
    base_free(&s->readers);
    base_free(solver);
}

facet_status solver_check_mesh(const struct facet_solver *s) {
    if (s->n_scalings != s->problem->mesh->n_scalings)
        return base_fail(FACET_ERROR_INPUT,
                         "the mesh was scaled after this solver was made; make a new solver");
    if (s->n_cells == s->problem->mesh->n_cells) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the mesh was refined from %d to %d cells after this solver was made; make a new solver",
                     s->n_cells, s->problem->mesh->n_cells);
}

facet_status solver_check_finite(const char *function, const char *array, int64_t n, const double *values) {
    int64_t wrong = n;
#pragma omp parallel for reduction(min : wrong) num_threads(base_threads()) if (n > 100000)
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(values[i]) <= FIELD_LARGEST) && i < wrong) wrong = i;
    if (wrong == n) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s: number %lld of %s is %g%s", function, (long long)wrong, array,
                     values[wrong], isfinite(values[wrong]) ? ", beyond 1e140 (use other units)" : "");
}

facet_status solver_check_host(const struct facet_solver *s, const char *function, const char *array,
                               const void *address) {
    const struct device *device = s->context->device;
    if (address == NULL || !device_hides(device, address)) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT, "%s: %s lies in the memory of the device '%s', and must be memory of the host%s",
        function, array, device_name(device),
        strcmp(function, "facet_solver_solve") == 0 ? "; facet_solver_solve_device takes it" : "");
}

/* A source that is refused leaves the solution before as it is. */
static facet_status load(struct facet_solver *s, const double *source, int there) {
    memset(s->imbalance, 0, sizeof s->imbalance);
    s->has_source = source != NULL;
    if (source != NULL && there) {
        s->solved = 0;
        return s->backend->load_there(s, source);
    }
    if (source != NULL) {
        int components = physics_components(s->problem->physics, s->problem->mesh->dim);
        facet_status status = solver_check_finite("facet_solver_solve", "the source",
                                                  components * s->backend->n_points(s), source);
        if (status != FACET_OK) return status;
    }
    s->solved = 0;
    return s->backend->load(s, source);
}

/* One step of a solve, in its phase, if nothing failed before. */
#define PHASE(phase, call)                                                                                   \
    do {                                                                                                     \
        if (status != FACET_OK) break;                                                                       \
        double begin_ = base_phase_begin(&s->timers, &s->context->monitor, phase);                           \
        status = (call);                                                                                     \
        base_phase_end(&s->timers, &s->context->monitor, phase, begin_);                                     \
    } while (0)

/* From the data to u and q. */
static facet_status solve_once(struct facet_solver *s, const double *source, int there) {
    facet_status status = FACET_OK;
    s->n_solves++;
    PHASE(FACET_PHASE_LOAD, load(s, source, there));
    PHASE(FACET_PHASE_SOLVE, s->backend->solve(s));
    PHASE(FACET_PHASE_RECOVER, s->backend->recover(s));
    if (status == FACET_OK) s->solved = 1;
    return status;
}

facet_status solver_solve(struct facet_solver *s, const double *source, double *u, int there) {
    facet_status status = FACET_OK;
    int changed;
    PHASE(FACET_PHASE_SETUP, solver_renew(s, 0, &changed));
    if (status == FACET_OK)
        status = s->own.n_electrodes > 0 ? solver_balance_electrodes(s, solve_once, source, there)
                                         : solve_once(s, source, there);
    if (status == FACET_OK && s->own.n_electrodes > 0) status = solver_find_conflict(s, 1);
    if (status == FACET_OK) status = solver_find_carried_error(s);
    if (status == FACET_OK && s->options.postprocess && s->backend->postprocess != NULL)
        PHASE(FACET_PHASE_POSTPROCESS, s->backend->postprocess(s));
    if (status == FACET_OK) PHASE(FACET_PHASE_RECOVER, solver_find_missing_moment(s));
    if (status != FACET_OK) return status;
    s->solved = 1;
    if (u != NULL) PHASE(FACET_PHASE_RECOVER, (there ? s->backend->copy_there : s->backend->copy_out)(s, u));
    return status;
}

const char *solver_preconditioner(const struct facet_solver *s) {
    const struct linear_operator *M =
        s->backend == &mapped_backend && s->method == METHOD_PETSC ? &mapped_of(s)->M : NULL;
    const char *own = M != NULL && M->apply != NULL ? s->context->external->preconditioner(M) : NULL;
    return own != NULL ? own : option_words[OPTION_PRECONDITIONER][s->preconditioner];
}

/* What is left of data that must balance, where it is more than rounding. Data of an exact solution balance;
 * what is left of them is that of the quadrature. */
#define BALANCED 1e-10
static void say_imbalance(const struct facet_solver *s, char *text, size_t bytes) {
    const double *sums = s->imbalance;
    if (s->problem->exact != NULL || !(fabs(sums[0]) > BALANCED * sums[1])) return;
    snprintf(
        text, bytes,
        s->problem->physics->entries[0]->is_vector
            ? "the loads of a body that nothing holds do not balance: %.3g is left (of %.3g in absolute "
              "terms), and was taken off evenly"
            : "the source and the boundary fluxes of a problem that nothing holds sum to %.3g (of %.3g in "
              "absolute terms), not to zero: so much was taken off the source, evenly",
        sums[0], sums[1]);
}

const char *solver_note(const struct facet_solver *s, enum solver_note which, char *text, size_t bytes) {
    static const char *const before[SOLVER_N_NOTES] = {
        [SOLVER_NOTE_OPERATOR] = "operator mapped: tensor needs ",
        [SOLVER_NOTE_PMG] = "preconditioner pmg instead of gmg: ",
        [SOLVER_NOTE_FACTOR] = "an iteration instead of a factor: ",
        [SOLVER_NOTE_HOST] = "left to the host: ",
        [SOLVER_NOTE_PETSC] = "PETSc: nobody asked for ",
    };
    char why[PROBLEM_WHY_BYTES];
    snprintf(why, sizeof why, "%s", s->notes[which]);
    if (which == SOLVER_NOTE_GROUP) return solver_group_errors_note(s, text, bytes);
    if (which == SOLVER_NOTE_HOST && !device_is_host(s->context->device) && s->backend != NULL &&
        s->backend->on_host != NULL)
        s->backend->on_host(s, why, sizeof why);
    if (which == SOLVER_NOTE_PETSC && s->n_solves > 0 && s->context->external != NULL)
        s->context->external->unused(why, sizeof why);
    if (which == SOLVER_NOTE_BALANCE && s->n_solves > 0) say_imbalance(s, why, sizeof why);
    if (why[0] == '\0') return NULL;
    snprintf(text, bytes, "%s%s", before[which] != NULL ? before[which] : "", why);
    return text;
}
