/* What solves the trace system, made as choice.c decides: a factor, or a Krylov method or multigrid cycles by
 * themselves, with a preconditioner. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "problem/choice.h"
#include "problem/problem.h"
#include "solve/amg.h"
#include "solve/external.h"
#include "trace/gmg.h"
#include "trace/levels.h"

/* A factor may take this part of the memory that is available. */
#define FACTOR_MEMORY_SHARE 0.4
/* What `auto` expects of a machine like ours: operations per second of a factorisation; bytes per second of a
 * matrix-free product; products of a step. Only their order of magnitude matters. */
#define FACTOR_SPEED  8.0e9
#define PRODUCT_SPEED 1.0e10
#define STEP_PRODUCTS 10.0 /* of a step of conjugate gradients with multigrid */
/* So few unknowns are factored without thinking. */
#define SMALL_SYSTEM 3000

/* What the words of cycles mean; AUTO is the caller's business. */
static const enum mg_cycle cycles[] = {MG_K, MG_V, MG_W, MG_F, MG_FULL};
_Static_assert(SMOOTHER_FSAI == (int)GMG_FSAI && DEGREES_STRAIGHT == (int)GMG_STRAIGHT &&
                   PRECISION_MIXED == (int)PMG_MIXED,
               "these words stand in the order of the enums they become");

facet_status solver_fill_constant(const struct facet_solver *s, double *constant) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    double square = 0.0;
    hdg_free_constant(m->hdg, constant);
    seam_clear_foreign(m->hdg->trace.seam, constant);
    for (int64_t i = 0; i < s->system.n_free; i++) square += constant[i] * constant[i];
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, &square));
    hdg_free_constant(m->hdg, constant);
    for (int64_t i = 0; i < s->system.n_free && square > 0.0; i++) constant[i] /= sqrt(square);
done:
    return status;
}

/* ------------------------------------------------------------------------------ direct */

/* What a factor would take and cost, from the graph of the faces alone: with s unknowns on each an entry of
 * its factor stands for s^2, an operation for s^3. */
static facet_status estimate_factor(const struct facet_solver *s, double *bytes, double *operations) {
    facet_status status = FACET_OK;
    struct cholesky *c = NULL;
    struct csr graph = {0};
    int64_t *offsets = NULL;
    TRY(trace_graph(&mapped_of(s)->hdg->trace, &graph));
    TRY(ALLOC(offsets, graph.n + 1));
    for (int64_t i = 0; i <= graph.n; i++) offsets[i] = i;
    TRY(cholesky_analyze(&graph, graph.n, offsets, -1, &c, bytes));
    double size = (double)s->system.n_free / (double)(graph.n > 0 ? graph.n : 1);
    *operations = cholesky_operations(c) * size * size * size;
    *bytes *= size * size;
done:
    cholesky_destroy(&c);
    csr_destroy(&graph);
    base_free(&offsets);
    return status;
}

/* products: of an iterative solve. */
static int is_cheap(const struct facet_solver *s, double operations, double products) {
    return operations / FACTOR_SPEED < products * trace_operator_bytes(&mapped_of(s)->A) / PRODUCT_SPEED;
}

/* Whether `auto` is to think of a factor any further: the matrix is not assembled to find out. */
static facet_status is_worth_factoring(const struct facet_solver *s, double products, int *worth) {
    double bytes, operations;
    *worth = 1;
    if (s->system.n_free <= SMALL_SYSTEM || !mapped_of(s)->hdg->data.equation->by_faces) return FACET_OK;
    facet_status status = estimate_factor(s, &bytes, &operations);
    *worth = status == FACET_OK && bytes <= FACTOR_MEMORY_SHARE * base_available_bytes() &&
             is_cheap(s, operations, products);
    return status;
}

/* The factor, its analysis being there. K that rounding makes singular is made regular like one that is: its
 * constant is found anew in any case. */
static facet_status factor(struct facet_solver *s, struct csr *csr) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    double bytes;
    facet_status first = cholesky_factor_last(m->cholesky, csr);
    if (first != FACET_NOT_CONVERGED || !m->hdg->weak.nearly_singular) return first;
    cholesky_destroy(&m->cholesky);
    m->hdg->weak.negligible = 1;
    TRY(hdg_assemble(m->hdg, csr));
    TRY(cholesky_analyze(csr, s->system.n_blocks, s->system.block_offsets, 0, &m->cholesky, &bytes));
    TRY(cholesky_factor_last(m->cholesky, csr));
done:
    return status;
}

/* K is not definite to rounding: other ways need not be stopped by that. */
static void give_up_factor(struct facet_solver *s, enum option_method method,
                           enum option_preconditioner preconditioner, double bytes) {
    struct mapped *m = mapped_of(s);
    cholesky_destroy(&m->cholesky);
    s->method = method;
    s->preconditioner = preconditioner;
    m->assembled_bytes -= bytes;
    m->settled = 1;
    snprintf(s->notes[SOLVER_NOTE_FACTOR], PROBLEM_WHY_BYTES, "%s, by rounding", base_message());
}

/* Tries to factor; *done says whether that was done. Who insists is told why it could not be. */
static facet_status try_direct(struct facet_solver *s, struct csr *csr, int insist, double products,
                               int *done) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    double factor_bytes, available = FACTOR_MEMORY_SHARE * base_available_bytes();
    const enum option_method method = s->method;
    const enum option_preconditioner preconditioner = s->preconditioner;
    *done = 0;
    TRY(cholesky_analyze(csr, s->system.n_blocks, s->system.block_offsets, m->hdg->singular ? 0 : -1,
                         &m->cholesky, &factor_bytes));
    int fits = factor_bytes <= available;
    int fast = is_cheap(s, cholesky_operations(m->cholesky), products);
    if (fits && (insist || fast || csr->n <= SMALL_SYSTEM || !m->hdg->data.equation->by_faces)) {
        s->method = METHOD_DIRECT;
        s->preconditioner = PRECONDITIONER_NONE;
        *done = 1;
        m->assembled_bytes += factor_bytes;
        status = factor(s, csr);
        if (status == FACET_NOT_CONVERGED && !insist) {
            give_up_factor(s, method, preconditioner, factor_bytes);
            *done = 0;
            status = FACET_OK;
        }
        goto done;
    }
    cholesky_destroy(&m->cholesky);
    if (insist)
        TRY(base_check_memory(factor_bytes, available, " for it, a part of all", "use {method: cg}",
                              "the factor of the direct solve"));
done:
    return status;
}

/* ------------------------------------------------------------------------------ multigrid */

static facet_status make_amg(struct facet_solver *s, const struct csr *csr, struct linear_operator *M) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct amg_options options;
    amg_options_default(&options);
    options.fine = &m->A;
    double *modes = NULL;
    int n_rigid = hdg_n_rigid_modes(m->hdg), n_modes = n_rigid > 0 ? n_rigid : 1;
    options.n_kernel = choice_is_singular(s) ? 1 : 0;
    options.cycle = cycles[s->options.cycle];
    TRY(ALLOC(modes, n_modes * s->system.n_free));
    if (n_rigid > 0)
        TRY(hdg_rigid_modes(m->hdg, modes));
    else
        TRY(solver_fill_constant(s, modes));
    TRY(operator_create_amg(mapped_device(s), csr, s->system.n_blocks, s->system.block_offsets, n_modes,
                            modes, &options, M));
done:
    base_free(&modes);
    return status;
}

/* Where the coarse levels live; NULL: with the others. */
static facet_status find_coarse_device(const struct facet_solver *s, const struct device **device) {
    int word = s->options.coarse_device;
    return word == COARSE_DEVICE_SAME ? FACET_OK
                                      : device_find(option_words[OPTION_COARSE_DEVICE][word], device);
}

/* The levels become the preconditioner, visited as the options say. */
static facet_status take_multigrid(struct facet_solver *s, struct multigrid **mg, struct linear_operator *M) {
    facet_status status = FACET_OK;
    if (s->options.cycle != CYCLE_AUTO) TRY(multigrid_set_cycle(*mg, cycles[s->options.cycle]));
    TRY(operator_create_multigrid(mg, M));
done:
    return status;
}

static facet_status fill_modes(void *hdg, double *modes) {
    return hdg_rigid_modes(hdg, modes);
}

static enum pmg_precision precision_of(const struct facet_solver *s) {
    return choice_has_axis(s) ? PMG_DOUBLE : (enum pmg_precision)s->options.precision;
}

static facet_status make_pmg(struct facet_solver *s, struct linear_operator *M) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct pmg_options options;
    struct multigrid *mg = NULL;
    pmg_options_default(&options);
    options.singular = choice_is_singular(s);
    options.incompressible = choice_locks(&m->hdg->data);
    options.n_modes = hdg_n_rigid_modes(m->hdg);
    options.fill_modes = fill_modes;
    options.modes_data = m->hdg;
    options.precision = precision_of(s);
    options.external = s->context->external;
    options.degree = s->options.smoother_degree;
    TRY(find_coarse_device(s, &options.coarse_device));
    TRY(trace_pmg_create(&m->hdg->trace, &m->hdg->matrices, &m->A, &options, &mg));
    TRY(take_multigrid(s, &mg, M));
done:
    multigrid_destroy(&mg);
    return status;
}

static facet_status choose_gmg(const struct facet_solver *s, struct gmg_options *options) {
    const struct options *o = &s->options;
    int full = o->cycle == CYCLE_FULL;
    *options = (struct gmg_options){.singular = choice_is_singular(s),
                                    .full = full,
                                    .precision = precision_of(s),
                                    .smoother = (enum gmg_smoother)o->smoother,
                                    .degrees = (enum gmg_degrees)o->degrees,
                                    .steps = o->smoother_degree,
                                    .fill = o->fill,
                                    .coarse_unknowns = o->coarse_unknowns,
                                    .external = s->context->external};
    options->n_modes = hdg_n_rigid_modes(mapped_of(s)->hdg);
    /* A full cycle has to be as accurate on every level as the next one needs it. */
    if (full && o->degrees == DEGREES_AUTO) options->degrees = GMG_ARITHMETIC;
    return find_coarse_device(s, &options->coarse_device);
}

/* Adds to the note which keys are of no use to p-multigrid. */
static void tell_unused(struct facet_solver *s) {
    const struct options *o = &s->options;
    char *note = s->notes[SOLVER_NOTE_PMG];
    const size_t length = strlen(note);
    if (!choice_wants_gmg(o)) return;
    snprintf(note + length, PROBLEM_WHY_BYTES - length, "; not used:%s%s%s%s",
             choice_wants_gmg_smoother(o) ? " smoother" : "", o->degrees == DEGREES_AUTO ? "" : " degrees",
             o->fill > 0.0 ? " fill" : "", o->coarse_unknowns > 0 ? " coarse_unknowns" : "");
}

/* Without a coarser mesh it is p-multigrid, and a note says why. */
static facet_status make_gmg(struct facet_solver *s, struct linear_operator *M) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct gmg_options options;
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    TRY(mesh_hierarchy_create(s->problem->mesh, 1, &hierarchy));
    int stiff = choice_locks(&m->hdg->data);
    int64_t differ = 0, none = hierarchy.n == 0;
    for (int b = 0; b < s->problem->mesh->n_blocks; b++) differ |= trace_slots_differ(&m->hdg->trace, b);
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 1, &differ));
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 1, &none));
    if (none || stiff || differ) {
        snprintf(s->notes[SOLVER_NOTE_PMG], PROBLEM_WHY_BYTES, "%s",
                 differ  ? "geometric multigrid knows no prisms and pyramids, whose faces have different "
                           "numbers of unknowns"
                 : stiff ? "coarser meshes do not help a body that is nearly incompressible (lambda > 8 mu), "
                           "or may be "
                           "since its material varies"
                         : hierarchy.why);
        tell_unused(s);
        s->preconditioner = PRECONDITIONER_PMG;
        TRY(make_pmg(s, M));
        goto done;
    }
    TRY(choose_gmg(s, &options));
    TRY(trace_gmg_create(&m->hdg->trace, &m->hdg->matrices, &m->A, &hierarchy, &options, &mg));
    TRY(take_multigrid(s, &mg, M));
done:
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    return status;
}

/* ------------------------------------------------------------------------------ PETSc */

/* The inverse as PETSc has it, by the preconditioner that was asked for, or one of its own. */
static facet_status make_petsc(struct facet_solver *s, struct linear_operator *own) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct coarse_matrix matrix = {.name = "trace", .singular = choice_is_singular(s)};
    const struct trace_space *space = &m->hdg->trace;
    if (own->apply == NULL) TRY(trace_last_level_matrix(space, &m->hdg->matrices, "trace", &matrix));
    TRY(trace_number_faces(space, space->free_offsets, &matrix));
    matrix.csr.n = s->system.n_free;
    matrix.n_modes = hdg_n_rigid_modes(m->hdg);
    base_free(&matrix.modes);
    if (matrix.n_modes > 0) {
        TRY(ALLOC(matrix.modes, matrix.n_modes * s->system.n_free));
        TRY(hdg_rigid_modes(m->hdg, matrix.modes));
    }
    TRY(s->context->external->create_inverse(&m->A, own, &matrix, s->options.rtol, s->options.max_iterations,
                                             &m->M));
done:
    coarse_matrix_destroy(&matrix);
    return status;
}

/* ------------------------------------------------------------------------------ the choice */

static facet_status make_jacobi(struct facet_solver *s, struct linear_operator *M) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct csr diagonal = {0};
    TRY(trace_block_diagonal(&m->hdg->trace, &m->hdg->matrices, &diagonal));
    if (s->preconditioner == PRECONDITIONER_JACOBI)
        TRY(operator_create_jacobi(mapped_device(s), &diagonal, M));
    else
        TRY(operator_create_block_jacobi(mapped_device(s), &diagonal, s->system.n_blocks,
                                         s->system.block_offsets, M));
done:
    csr_destroy(&diagonal);
    return status;
}

/* The preconditioner of a Krylov method. csr: the assembled matrix, for AMG. */
static facet_status make_preconditioner(struct facet_solver *s, const struct csr *csr,
                                        struct linear_operator *M) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    if (s->preconditioner == PRECONDITIONER_PMG) TRY(make_pmg(s, M));
    if (s->preconditioner == PRECONDITIONER_GMG) TRY(make_gmg(s, M));
    if (s->preconditioner == PRECONDITIONER_AMG) TRY(make_amg(s, csr, M));
    if (s->preconditioner == PRECONDITIONER_JACOBI || s->preconditioner == PRECONDITIONER_BLOCK)
        TRY(make_jacobi(s, M));
    struct multigrid *mg = M->apply != NULL ? operator_multigrid(M) : NULL;
    m->flexible = mg != NULL && multigrid_is_flexible(mg);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
done:
    return status;
}

/* The judge becomes a factor, where `auto` would think of one, or stays empty; FACET_NOT_CONVERGED where K is
 * not definite to rounding. */
facet_status solver_make_exact_judge(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct csr csr = {0};
    struct cholesky *cholesky = NULL;
    double bytes;
    int worth = !m->hdg->nonsymmetric && s->system.n_free <= cholesky_reasonable_size() &&
                choice_may_order(s) && s->problem->mesh->part == NULL;
    if (worth) TRY(is_worth_factoring(s, CHOICE_PRODUCTS, &worth));
    if (!worth) goto done;
    TRY(hdg_assemble(m->hdg, &csr));
    TRY(cholesky_analyze(&csr, s->system.n_blocks, s->system.block_offsets, choice_is_singular(s) ? 0 : -1,
                         &cholesky, &bytes));
    if (bytes > FACTOR_MEMORY_SHARE * base_available_bytes()) goto done;
    if (csr.n > SMALL_SYSTEM && !is_cheap(s, cholesky_operations(cholesky), CHOICE_PRODUCTS)) goto done;
    TRY(cholesky_factor_last(cholesky, &csr));
    TRY(operator_create_cholesky(mapped_device(s), s->system.n_free, &cholesky, &m->judge));
done:
    cholesky_destroy(&cholesky);
    csr_destroy(&csr);
    return status;
}

/* The judge becomes a factor or a multigrid, or stays empty where none can be made. */
facet_status solver_make_judge(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    struct csr csr = {0};
    int hybrid = m->hdg->data.equation->by_faces && !choice_has_turns(s);
    facet_status status = solver_make_exact_judge(s);
    if ((status != FACET_OK && status != FACET_NOT_CONVERGED) || m->judge.apply != NULL) goto done;
    status = FACET_OK;
    if (!hybrid && (m->hdg->nonsymmetric || team_size(mesh_team(s->problem->mesh)) > 1)) goto done;
    if (!hybrid) TRY(hdg_assemble(m->hdg, &csr));
    TRY(hybrid ? make_pmg(s, &m->judge) : make_amg(s, &csr, &m->judge));
done:
    csr_destroy(&csr);
    return status == FACET_NOT_CONVERGED ? FACET_OK : status;
}

int solver_may_rethink(const struct facet_solver *s) {
    const struct options *o = &s->options;
    return !mapped_of(s)->settled && o->method == METHOD_AUTO && o->preconditioner == PRECONDITIONER_AUTO &&
           !choice_is_tuned(o) && s->method == METHOD_CG && s->problem->mesh->part == NULL &&
           choice_may_order(s) && s->system.n_free <= cholesky_reasonable_size();
}

facet_status solver_turn_direct(struct facet_solver *s, double steps, int *done) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct csr csr = {0};
    int worth;
    *done = 0;
    m->settled = 1;
    TRY(is_worth_factoring(s, STEP_PRODUCTS * steps, &worth));
    if (!worth) goto done;
    TRY(hdg_assemble(m->hdg, &csr));
    TRY(try_direct(s, &csr, 0, STEP_PRODUCTS * steps, done));
    if (*done) {
        s->report.reason =
            "a factor takes the place of conjugate gradients"; /* the multigrid's goes with it */
        operator_destroy(&m->M);
    }
done:
    csr_destroy(&csr);
    return status;
}

facet_status solver_turn_double(struct facet_solver *s, int *done) {
    const int levels = s->preconditioner == PRECONDITIONER_PMG || s->preconditioner == PRECONDITIONER_GMG;
    *done = levels && s->options.precision == PRECISION_AUTO;
    if (!*done) return FACET_OK;
    s->options.precision = PRECISION_DOUBLE;
    s->report.reason = "the levels are made again in double precision"; /* theirs goes with them */
    operator_destroy(&mapped_of(s)->M);
    return make_preconditioner(s, NULL, &mapped_of(s)->M);
}

/* The matrix is assembled only for those who need it, and let go. */
facet_status solver_choose_method(struct facet_solver *s) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    struct csr csr = {0};
    const struct base_monitor *monitor = &s->context->monitor;
    struct linear_operator own = {0}; /* PETSc makes its own of it */
    struct choice choice;
    int done = 0;
    TRY(choice_make(s, &choice));
    const int amg = choice.preconditioner == PRECONDITIONER_AMG;
    int direct = choice.factor != CHOICE_NO_FACTOR, insist = choice.factor == CHOICE_FACTOR;
    m->settled = 0;
    s->notes[SOLVER_NOTE_FACTOR][0] = '\0';
    s->method = choice.method;
    s->preconditioner = choice.preconditioner;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_SETUP);
    if (direct && !insist) status = is_worth_factoring(s, choice.products, &direct);
    base_phase_end(&s->timers, monitor, FACET_PHASE_SETUP, begin);
    if (status != FACET_OK) goto done;
    if (direct || amg) {
        begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_ASSEMBLE);
        status = hdg_assemble(m->hdg, &csr);
        base_phase_end(&s->timers, monitor, FACET_PHASE_ASSEMBLE, begin);
        if (status != FACET_OK) goto done;
        m->assembled_bytes = 12.0 * (double)csr.offsets[csr.n] + 8.0 * (double)csr.n;
    }
    begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_SETUP);
    if (direct) status = try_direct(s, &csr, insist, choice.products, &done);
    if (status == FACET_OK && amg && s->notes[SOLVER_NOTE_FACTOR][0] != '\0')
        status = hdg_assemble(m->hdg, &csr); /* again */
    if (!amg) {
        csr_destroy(&csr);
        if (!done) m->assembled_bytes = 0.0;
    }
    if (status == FACET_OK && !done)
        status = make_preconditioner(s, &csr, s->method == METHOD_PETSC ? &own : &m->M);
    if (status == FACET_OK && s->method == METHOD_PETSC) status = make_petsc(s, &own);
    base_phase_end(&s->timers, monitor, FACET_PHASE_SETUP, begin);
done:
    operator_destroy(&own);
    csr_destroy(&csr);
    return status;
}
