/* Which method solves the trace system: direct, or a Krylov method or multigrid cycles by themselves, with
 * which preconditioner. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"
#include "solve/amg.h"
#include "trace/gmg.h"

/* A factor may take this part of the memory that is available. */
#define FACTOR_MEMORY_SHARE 0.4
/* What `auto` expects of a machine like ours: operations per second of a factorisation; bytes per second of a
 * matrix-free product; products of a whole iterative solve. Only their order of magnitude matters. */
#define FACTOR_SPEED   8.0e9
#define PRODUCT_SPEED  1.0e10
#define SOLVE_PRODUCTS 120.0
/* So few unknowns are factored without thinking; a matrix of so many bytes is not assembled to find out. */
#define SMALL_SYSTEM    3000
#define LARGE_ASSEMBLED 2.0e9

/* Cells of a coarsest mesh below which geometric multigrid has nothing left to do. */
#define SMALL_COARSEST 1024
/* Coefficients that vary more may jump inside coarse cells. */
#define LARGE_CONTRAST 30.0
/* From so many unknowns on a factor takes longer than multigrid where nothing jumps, by far: the matrix is
 * not assembled to find out (docs/gmg.md). */
#define MANY_IN_2D 50000
#define MANY_IN_3D 10000

/* lambda / mu from which a continuous linear space is too stiff. */
#define LOCKING_RATIO 8.0

static const char *word(const char *given) {
    return given != NULL ? given : "auto";
}

static int is(const char *given, const char *what) {
    return strcmp(word(given), what) == 0;
}

void solver_fill_constant(const struct facet_solver *s, double *constant) {
    double square = 0.0;
    hdg_free_constant(s->hdg, constant);
    for (int64_t i = 0; i < s->system.n_free; i++) square += constant[i] * constant[i];
    for (int64_t i = 0; i < s->system.n_free && square > 0.0; i++) constant[i] /= sqrt(square);
}

/* ------------------------------------------------------------------------------ direct */

/* Tries to factor; *done says whether that was done. */
static facet_status try_direct(struct facet_solver *s, struct csr *csr, int insist, int *done) {
    facet_status status = FACET_OK;
    double factor_bytes, available = FACTOR_MEMORY_SHARE * base_available_bytes();
    *done = 0;
    TRY(cholesky_analyze(csr, s->system.n_blocks, s->system.block_offsets, s->hdg->singular ? 0 : -1,
                         &s->cholesky, &factor_bytes));
    int fits = factor_bytes <= available;
    int fast = cholesky_operations(s->cholesky) / FACTOR_SPEED <
               SOLVE_PRODUCTS * trace_operator_bytes(&s->A) / PRODUCT_SPEED;
    if (fits && (insist || fast || csr->n <= SMALL_SYSTEM || s->options.discretization[0] == 'c')) {
        s->method = "direct";
        s->preconditioner = "none";
        *done = 1;
        s->assembled_bytes += factor_bytes;
        TRY(cholesky_factor_last(s->cholesky, csr));
        goto done;
    }
    cholesky_destroy(&s->cholesky);
    if (insist)
        TRY(base_check_memory(factor_bytes, available, " for it, a part of all", "use {method: cg}",
                              "the factor of the direct solve"));
done:
    return status;
}

/* Bytes of the assembled matrix, from the number of faces a face meets. */
static double assembled_bytes(const struct facet_solver *s) {
    double bytes = 0.0;
    const struct facet_mesh *mesh = s->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        int N, n;
        hdg_local_sizes(s->hdg, b, &N, &n);
        bytes += 12.0 * (double)mesh->blocks[b].count * n * n;
    }
    return bytes;
}

/* ------------------------------------------------------------------------------ multigrid */

static facet_status make_amg(struct facet_solver *s, const struct csr *csr) {
    facet_status status = FACET_OK;
    struct amg_options options;
    amg_options_default(&options);
    options.fine = &s->A;
    double *modes = NULL;
    int n_modes = s->hdg->data.scheme == HDG_ELASTIC ? hdg_n_rigid_modes(s->hdg) : 1;
    options.n_kernel = s->hdg->singular ? 1 : 0;
    options.cycle = is(s->options.cycle, "V")      ? MG_V
                    : is(s->options.cycle, "W")    ? MG_W
                    : is(s->options.cycle, "F")    ? MG_F
                    : is(s->options.cycle, "full") ? MG_FULL
                                                   : MG_K;
    TRY(ALLOC(modes, n_modes * s->system.n_free));
    if (s->hdg->data.scheme == HDG_ELASTIC)
        TRY(hdg_rigid_modes(s->hdg, modes));
    else
        solver_fill_constant(s, modes);
    TRY(operator_create_amg(s->context->device, csr, s->system.n_blocks, s->system.block_offsets, n_modes,
                            modes, &options, &s->M));
done:
    base_free(&modes);
    return status;
}

/* Whether continuous linear functions would lock in some material. One that varies is taken as such. */
static int is_nearly_incompressible(const struct hdg_data *data) {
    double mu, lambda;
    if (data->mesh->dim == 2 && data->plane == HDG_PLANE_STRESS) return 0;
    for (int r = 0; data->scheme == HDG_ELASTIC && r < data->n_regions; r++)
        if (!field_is_constant(data->mu[r], &mu) || !field_is_constant(data->lambda[r], &lambda) ||
            lambda > LOCKING_RATIO * mu)
            return 1;
    return 0;
}

static enum pmg_precision find_precision(const facet_options *o) {
    return is(o->precision, "mixed")    ? PMG_MIXED
           : is(o->precision, "double") ? PMG_DOUBLE
                                        : PMG_PRECISION_AUTO;
}

/* The levels become the preconditioner, visited as the options say. */
static facet_status take_multigrid(struct facet_solver *s, struct multigrid **mg) {
    facet_status status = FACET_OK;
    const char *cycle = s->options.cycle;
    if (!is(cycle, "auto"))
        TRY(multigrid_set_cycle(*mg, is(cycle, "W")      ? MG_W
                                     : is(cycle, "F")    ? MG_F
                                     : is(cycle, "full") ? MG_FULL
                                                         : MG_V));
    TRY(operator_create_multigrid(mg, &s->M));
done:
    return status;
}

static facet_status make_pmg(struct facet_solver *s) {
    facet_status status = FACET_OK;
    double *modes = NULL;
    struct pmg_options options;
    struct multigrid *mg = NULL;
    if (s->hdg->data.scheme == HDG_CONDENSED)
        FAIL(FACET_ERROR_INPUT, "the preconditioner pmg belongs to the discretization hdg; use amg");
    pmg_options_default(&options);
    options.singular = s->hdg->singular;
    options.incompressible = is_nearly_incompressible(&s->hdg->data);
    if (s->hdg->data.scheme == HDG_ELASTIC) {
        options.n_modes = hdg_n_rigid_modes(s->hdg);
        TRY(ALLOC(modes, options.n_modes * s->system.n_free));
        TRY(hdg_rigid_modes(s->hdg, modes));
        options.modes = modes;
    }
    options.precision = find_precision(&s->options);
    options.degree = s->options.smoother_degree;
    options.smoother = is(s->options.smoother, "faces")   ? PMG_FACES
                       : is(s->options.smoother, "cells") ? PMG_CELLS
                                                          : PMG_SMOOTHER_AUTO;
    if (s->options.coarse_device != NULL) TRY(device_find(s->options.coarse_device, &options.coarse_device));
    TRY(trace_pmg_create(&s->hdg->trace, &s->hdg->matrices, &s->A, &options, &mg));
    TRY(take_multigrid(s, &mg));
done:
    base_free(&modes);
    multigrid_destroy(&mg);
    return status;
}

static void choose_gmg(const struct facet_solver *s, struct gmg_options *options) {
    const facet_options *o = &s->options;
    *options = (struct gmg_options){0};
    options->singular = s->hdg->singular;
    options->full = is(o->cycle, "full");
    options->n_modes = s->hdg->data.scheme == HDG_ELASTIC ? hdg_n_rigid_modes(s->hdg) : 0;
    options->precision = find_precision(o);
    options->steps = o->smoother_degree;
    options->fill = o->fill;
    options->coarse_unknowns = o->coarse_unknowns;
    /* A full cycle has to be as accurate on every level as the next one needs it. */
    options->degrees = is(o->degrees, "arithmetic")  ? GMG_ARITHMETIC
                       : is(o->degrees, "even")      ? GMG_EVEN
                       : is(o->degrees, "geometric") ? GMG_GEOMETRIC
                       : is(o->degrees, "straight")  ? GMG_STRAIGHT
                       : is(o->cycle, "full")        ? GMG_ARITHMETIC
                                                     : GMG_DEGREES_AUTO;
    options->smoother = is(o->smoother, "faces")            ? GMG_FACES
                        : is(o->smoother, "rows")           ? GMG_ROWS
                        : is(o->smoother, "cells")          ? GMG_CELLS
                        : is(o->smoother, "vertices")       ? GMG_VERTICES
                        : is(o->smoother, "fsai")           ? GMG_FSAI
                        : is(o->smoother, "sweep-cells")    ? GMG_SWEEP_CELLS
                        : is(o->smoother, "sweep-vertices") ? GMG_SWEEP_VERTICES
                                                            : GMG_SMOOTHER_AUTO;
}

/* Adds to s->why_pmg which keys are of no use to p-multigrid. */
static void tell_unused(struct facet_solver *s) {
    const facet_options *o = &s->options;
    size_t length = strlen(s->why_pmg), size = sizeof s->why_pmg;
    int smoother = !is(o->smoother, "auto") && !is(o->smoother, "faces") && !is(o->smoother, "cells");
    if (!smoother && is(o->degrees, "auto") && o->fill <= 0.0 && o->coarse_unknowns == 0) return;
    snprintf(s->why_pmg + length, size - length, "; not used:%s%s%s%s", smoother ? " smoother" : "",
             is(o->degrees, "auto") ? "" : " degrees", o->fill > 0.0 ? " fill" : "",
             o->coarse_unknowns > 0 ? " coarse_unknowns" : "");
}

/* Without a coarser mesh it is p-multigrid, and s->why_pmg says why. */
static facet_status make_gmg(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct gmg_options options;
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    TRY(mesh_hierarchy_create(s->problem->mesh, 1, &hierarchy));
    int stiff = is_nearly_incompressible(&s->hdg->data);
    if (hierarchy.n == 0 || stiff) {
        snprintf(s->why_pmg, sizeof s->why_pmg, "%s",
                 stiff ? "coarser meshes do not help a body that is nearly incompressible (lambda > 8 mu), "
                         "or may be "
                         "since its material varies"
                       : hierarchy.why);
        tell_unused(s);
        s->preconditioner = "pmg";
        TRY(make_pmg(s));
        goto done;
    }
    choose_gmg(s, &options);
    if (s->options.coarse_device != NULL) TRY(device_find(s->options.coarse_device, &options.coarse_device));
    TRY(trace_gmg_create(&s->hdg->trace, &s->hdg->matrices, &s->A, &hierarchy, &options, &mg));
    TRY(take_multigrid(s, &mg));
done:
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    return status;
}

/* ------------------------------------------------------------------------------ the choice */

static facet_status make_jacobi(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr diagonal = {0};
    TRY(trace_block_diagonal(&s->hdg->trace, &s->hdg->matrices, &diagonal));
    if (strcmp(s->preconditioner, "jacobi") == 0)
        TRY(operator_create_jacobi(s->context->device, &diagonal, &s->M));
    else
        TRY(operator_create_block_jacobi(s->context->device, &diagonal, s->system.n_blocks,
                                         s->system.block_offsets, &s->M));
done:
    csr_destroy(&diagonal);
    return status;
}

/* The preconditioner of a Krylov method. csr: the assembled matrix, for AMG. */
static facet_status make_preconditioner(struct facet_solver *s, const struct csr *csr) {
    facet_status status = FACET_OK;
    if (strcmp(s->preconditioner, "pmg") == 0) TRY(make_pmg(s));
    if (strcmp(s->preconditioner, "gmg") == 0) TRY(make_gmg(s));
    if (strcmp(s->preconditioner, "amg") == 0) TRY(make_amg(s, csr));
    if (strcmp(s->preconditioner, "jacobi") == 0 || strcmp(s->preconditioner, "block") == 0)
        TRY(make_jacobi(s));
    struct multigrid *mg = s->M.apply != NULL ? operator_multigrid(&s->M) : NULL;
    s->flexible = mg != NULL && multigrid_is_flexible(mg);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
done:
    return status;
}

/* Which keys do nothing with the method that was chosen? They are refused, not ignored. */
static facet_status check_unused(const struct facet_solver *s) {
    const facet_options *o = &s->options;
    int pmg = strcmp(s->preconditioner, "pmg") == 0, gmg = strcmp(s->preconditioner, "gmg") == 0;
    if (!is(o->cycle, "auto") && !pmg && !gmg && strcmp(s->preconditioner, "amg") != 0)
        return base_fail(FACET_ERROR_INPUT, "a cycle belongs to the preconditioners amg, pmg and gmg");
    if (gmg && o->fill > 0.0 && !is(o->smoother, "fsai"))
        return base_fail(FACET_ERROR_INPUT, "fill belongs to the smoother fsai");
    if (gmg && o->coarse_unknowns > 0 && o->coarse_device == NULL)
        return base_fail(FACET_ERROR_INPUT,
                         "coarse_unknowns needs a coarse_device other than the device itself");
    if (gmg) return FACET_OK;
    const char *only = !is(o->degrees, "auto")  ? "a sequence of degrees"
                       : o->fill > 0.0          ? "fill"
                       : o->coarse_unknowns > 0 ? "coarse_unknowns"
                                                : NULL;
    if (only != NULL) return base_fail(FACET_ERROR_INPUT, "%s belongs to the preconditioner gmg", only);
    if (pmg && !is(o->smoother, "auto") && !is(o->smoother, "faces") && !is(o->smoother, "cells"))
        return base_fail(FACET_ERROR_INPUT,
                         "the smoother %s belongs to the preconditioner gmg; pmg has faces and cells",
                         o->smoother);
    if (pmg) return FACET_OK;
    const char *key = !is(o->smoother, "auto")    ? "smoother"
                      : o->smoother_degree > 0    ? "smoother_degree"
                      : o->coarse_device != NULL  ? "coarse_device"
                      : !is(o->precision, "auto") ? "precision"
                                                  : NULL;
    if (key == NULL) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s belongs to the preconditioners pmg and gmg", key);
}

/* A matrix that is not symmetric is for FGMRES, with what the symmetric part of it gives. */
static facet_status check_nonsymmetric(const struct facet_solver *s) {
    static const char why[] = "the matrix of the formulation gradient under tractions is not symmetric";
    if (!s->hdg->nonsymmetric) return FACET_OK;
    if (!is(s->options.method, "auto") && !is(s->options.method, "fgmres"))
        return base_fail(FACET_ERROR_INPUT,
                         "%s, and the method %s needs one that is; use fgmres, or the formulation symmetric",
                         why, s->options.method);
    if (is(s->options.preconditioner, "amg"))
        return base_fail(FACET_ERROR_INPUT, "%s, and amg needs one that is; use pmg or gmg", why);
    return FACET_OK;
}

/* Whether geometric multigrid is expected to be faster than p-multigrid where the coefficient does not jump:
 * quads with a small coarsest mesh (docs/gmg.md). */
static int prefers_gmg(const struct facet_mesh *mesh) {
    if (mesh->dim != 2) return 0;
    for (int b = 0; b < mesh->n_blocks; b++)
        if (mesh->blocks[b].count > 0 && mesh->blocks[b].shape != SHAPE_QUAD) return 0;
    return mesh_hierarchy_coarsest(mesh) <= SMALL_COARSEST;
}

/* What the choice depends on. */
struct outlook {
    int easy; /* diffusion, and its coefficient does not vary so much that it may jump inside coarse cells */
    int few;  /* so few unknowns that a factor is worth a thought */
};

static facet_status look(const struct facet_solver *s, struct outlook *o) {
    double contrast;
    int64_t many = s->problem->mesh->dim == 2 ? MANY_IN_2D : MANY_IN_3D;
    *o = (struct outlook){.few = 1};
    if (s->hdg->data.scheme != HDG_HYBRID) return FACET_OK;
    facet_status status = trace_contrast(&s->hdg->trace, &s->hdg->matrices, &contrast);
    o->easy = contrast <= LARGE_CONTRAST;
    o->few = !o->easy || s->system.n_free <= many;
    return status;
}

/* `auto`: a factor where it is cheaper than an iteration, else geometric or p-multigrid; the condensed method
 * has the factor as long as it fits, then AMG. The caller may insist on others. The matrix is assembled only
 * for those who need it, and let go. */
facet_status solver_choose_method(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    const struct base_monitor *monitor = &s->context->monitor;
    const char *method = word(s->options.method), *wanted = word(s->options.preconditioner);
    int any = strcmp(wanted, "auto") == 0, hybrid = s->hdg->data.scheme != HDG_CONDENSED, done = 0;
    int fgmres = strcmp(method, "fgmres") == 0 || s->hdg->nonsymmetric;
    int insist = strcmp(method, "direct") == 0, mg = strcmp(method, "multigrid") == 0;
    int tuned = s->options.smoother_degree > 0 || !is(s->options.smoother, "auto") ||
                !is(s->options.cycle, "auto") || !is(s->options.precision, "auto") ||
                s->options.coarse_device != NULL || s->options.coarse_unknowns > 0 || s->options.fill > 0.0 ||
                !is(s->options.degrees, "auto");
    struct outlook outlook;
    TRY(look(s, &outlook));
    int gmg = outlook.easy && prefers_gmg(s->problem->mesh);
    int direct = insist || (strcmp(method, "auto") == 0 && any && !tuned && !fgmres && outlook.few &&
                            s->system.n_free <= cholesky_reasonable_size() &&
                            (!hybrid || assembled_bytes(s) <= LARGE_ASSEMBLED));
    TRY(check_nonsymmetric(s));
    s->method = insist ? "direct" : mg ? "multigrid" : fgmres ? "fgmres" : "cg";
    s->preconditioner = insist ? "none" : !any ? wanted : !hybrid ? "amg" : gmg ? "gmg" : "pmg";
    int amg = strcmp(s->preconditioner, "amg") == 0;
    if (mg && !amg && strcmp(s->preconditioner, "pmg") != 0 && strcmp(s->preconditioner, "gmg") != 0)
        FAIL(FACET_ERROR_INPUT, "the method multigrid takes the preconditioner amg, pmg or gmg, not %s",
             s->preconditioner);
    TRY(check_unused(s));
    if (direct || amg) {
        double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_ASSEMBLE);
        status = hdg_assemble(s->hdg, &csr);
        base_phase_end(&s->timers, monitor, FACET_PHASE_ASSEMBLE, begin);
        if (status != FACET_OK) goto done;
        s->assembled_bytes = 12.0 * (double)csr.offsets[csr.n] + 8.0 * (double)csr.n;
    }
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_SETUP);
    if (direct) status = try_direct(s, &csr, insist, &done);
    if (!amg) {
        csr_destroy(&csr);
        if (!done) s->assembled_bytes = 0.0;
    }
    if (status == FACET_OK && !done) status = make_preconditioner(s, &csr);
    base_phase_end(&s->timers, monitor, FACET_PHASE_SETUP, begin);
done:
    csr_destroy(&csr);
    return status;
}
