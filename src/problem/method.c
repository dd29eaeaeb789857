/* Which method solves the trace system: direct, or a Krylov method or multigrid cycles by themselves, with
 * which preconditioner. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "problem/problem.h"
#include "solve/amg.h"
#include "solve/elsewhere.h"
#include "trace/gmg.h"
#include "trace/levels.h"

/* A factor may take this part of the memory that is available. */
#define FACTOR_MEMORY_SHARE 0.4
/* What `auto` expects of a machine like ours: operations per second of a factorisation; bytes per second of a
 * matrix-free product; products of a whole iterative solve. Only their order of magnitude matters. */
#define FACTOR_SPEED   8.0e9
#define PRODUCT_SPEED  1.0e10
#define SOLVE_PRODUCTS 120.0
#define MOST_PRODUCTS  1200.0 /* of one on simplices where K has a strong direction across the faces */
#define STEP_PRODUCTS  10.0   /* of a step of conjugate gradients with multigrid */
/* So few unknowns are factored without thinking. */
#define SMALL_SYSTEM 3000

/* Cells of a coarsest mesh below which geometric multigrid has nothing left to do. */
#define SMALL_COARSEST 1024
/* Coefficients that vary more may jump inside coarse cells. */
#define LARGE_CONTRAST 30.0
/* From so many unknowns on a factor takes longer than multigrid: on round cells, and on stretched ones or
 * where K jumps inside cells, where the iteration takes longer (docs/gmg.md, docs/pmg.md). */
#define MANY_ROUND      2000
#define LARGE_STRETCH   3.0
#define HARD_WORK       100.0
#define SMOOTHED_WORK   26.7 /* what a polynomial of degree 4 does: 4/3 d (d + 1), src/trace/estimate.c */
#define MANY_HARD_IN_2D 50000
#define MANY_HARD_IN_3D 10000

/* lambda / mu from which a continuous linear space is too stiff. */
#define LOCKING_RATIO 8.0

/* What the words of cycles mean; AUTO is the caller's business. */
static const enum mg_cycle cycles[] = {MG_K, MG_V, MG_W, MG_F, MG_FULL};
_Static_assert(SMOOTHER_FSAI == (int)GMG_FSAI && DEGREES_STRAIGHT == (int)GMG_STRAIGHT &&
                   PRECISION_MIXED == (int)PMG_MIXED,
               "these words stand in the order of the enums they become");

facet_status solver_fill_constant(const struct facet_solver *s, double *constant) {
    facet_status status = FACET_OK;
    double square = 0.0;
    hdg_free_constant(s->hdg, constant);
    seam_clear_foreign(s->hdg->trace.seam, constant);
    for (int64_t i = 0; i < s->system.n_free; i++) square += constant[i] * constant[i];
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, &square));
    hdg_free_constant(s->hdg, constant);
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
    TRY(trace_graph(&s->hdg->trace, &graph));
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
    return operations / FACTOR_SPEED < products * trace_operator_bytes(&s->A) / PRODUCT_SPEED;
}

/* Whether `auto` is to think of a factor any further: the matrix is not assembled to find out. */
static facet_status is_worth_factoring(const struct facet_solver *s, double products, int *worth) {
    double bytes, operations;
    *worth = 1;
    if (s->system.n_free <= SMALL_SYSTEM || !s->hdg->data.equation->by_faces) return FACET_OK;
    facet_status status = estimate_factor(s, &bytes, &operations);
    *worth = status == FACET_OK && bytes <= FACTOR_MEMORY_SHARE * base_available_bytes() &&
             is_cheap(s, operations, products);
    return status;
}

/* Constants are in the kernel of K, or as good as that: for preconditioners. */
static int is_singular(const struct facet_solver *s) {
    return s->hdg->singular || s->hdg->weak.nearly_singular;
}

/* The factor, its analysis being there. K that rounding makes singular is made regular like one that is: its
 * constant is found anew in any case. */
static facet_status factor(struct facet_solver *s, struct csr *csr) {
    facet_status status = FACET_OK;
    double bytes;
    facet_status first = cholesky_factor_last(s->cholesky, csr);
    if (first != FACET_NOT_CONVERGED || !s->hdg->weak.nearly_singular) return first;
    cholesky_destroy(&s->cholesky);
    s->hdg->weak.negligible = 1;
    TRY(hdg_assemble(s->hdg, csr));
    TRY(cholesky_analyze(csr, s->system.n_blocks, s->system.block_offsets, 0, &s->cholesky, &bytes));
    TRY(cholesky_factor_last(s->cholesky, csr));
done:
    return status;
}

/* K is not definite to rounding: other ways need not be stopped by that. */
static void give_up_factor(struct facet_solver *s, enum option_method method,
                           enum option_preconditioner preconditioner, double bytes) {
    cholesky_destroy(&s->cholesky);
    s->method = method;
    s->preconditioner = preconditioner;
    s->assembled_bytes -= bytes;
    s->settled = 1;
    snprintf(s->why_factor, sizeof s->why_factor, "%s, by rounding", base_message());
}

/* Tries to factor; *done says whether that was done. Who insists is told why it could not be. */
static facet_status try_direct(struct facet_solver *s, struct csr *csr, int insist, double products,
                               int *done) {
    facet_status status = FACET_OK;
    double factor_bytes, available = FACTOR_MEMORY_SHARE * base_available_bytes();
    const enum option_method method = s->method;
    const enum option_preconditioner preconditioner = s->preconditioner;
    *done = 0;
    TRY(cholesky_analyze(csr, s->system.n_blocks, s->system.block_offsets, s->hdg->singular ? 0 : -1,
                         &s->cholesky, &factor_bytes));
    int fits = factor_bytes <= available;
    int fast = is_cheap(s, cholesky_operations(s->cholesky), products);
    if (fits && (insist || fast || csr->n <= SMALL_SYSTEM || !s->hdg->data.equation->by_faces)) {
        s->method = METHOD_DIRECT;
        s->preconditioner = PRECONDITIONER_NONE;
        *done = 1;
        s->assembled_bytes += factor_bytes;
        status = factor(s, csr);
        if (status == FACET_NOT_CONVERGED && !insist) {
            give_up_factor(s, method, preconditioner, factor_bytes);
            *done = 0;
            status = FACET_OK;
        }
        goto done;
    }
    cholesky_destroy(&s->cholesky);
    if (insist)
        TRY(base_check_memory(factor_bytes, available, " for it, a part of all", "use {method: cg}",
                              "the factor of the direct solve"));
done:
    return status;
}

/* ------------------------------------------------------------------------------ multigrid */

static facet_status make_amg(struct facet_solver *s, const struct csr *csr) {
    facet_status status = FACET_OK;
    struct amg_options options;
    amg_options_default(&options);
    options.fine = &s->A;
    double *modes = NULL;
    int n_rigid = hdg_n_rigid_modes(s->hdg), n_modes = n_rigid > 0 ? n_rigid : 1;
    options.n_kernel = is_singular(s) ? 1 : 0;
    options.cycle = cycles[s->options.cycle];
    TRY(ALLOC(modes, n_modes * s->system.n_free));
    if (n_rigid > 0)
        TRY(hdg_rigid_modes(s->hdg, modes));
    else
        TRY(solver_fill_constant(s, modes));
    TRY(operator_create_amg(mapped_device(s), csr, s->system.n_blocks, s->system.block_offsets, n_modes,
                            modes, &options, &s->M));
done:
    base_free(&modes);
    return status;
}

#define MIDDLES 256 /* of cells, looked at together */

/* The middles of so many cells of a region; 1 where one would lock, or where the moduli cannot be had. */
static int middles_lock(const struct hdg_data *data, int32_t region, int n, const double *x) {
    double mu[MIDDLES], lambda[MIDDLES];
    int dim = data->mesh->dim;
    if (field_eval(data->mu[region], n, dim, x, mu) != FACET_OK ||
        field_eval(data->lambda[region], n, dim, x, lambda) != FACET_OK)
        return 1;
    for (int i = 0; i < n; i++)
        if (!(lambda[i] <= LOCKING_RATIO * mu[i])) return 1;
    return 0;
}

/* Moduli that vary are looked at in the middle of every cell. */
static int some_cell_locks(const struct hdg_data *data, int32_t region) {
    const struct facet_mesh *mesh = data->mesh;
    int dim = mesh->dim, n = 0;
    double x[MIDDLES * 3];
    for (int k = 0; k < mesh->n_blocks; k++) {
        const struct mesh_block *b = &mesh->blocks[k];
        for (int64_t cell = 0; cell < b->count; cell++) {
            if (data->cell_region != NULL && data->cell_region[b->first + cell] != region) continue;
            for (int a = 0; a < dim; a++) {
                x[n * dim + a] = 0.0;
                for (int i = 0; i < b->n_nodes; i++)
                    x[n * dim + a] += b->nodes[(cell * b->n_nodes + i) * dim + a] / b->n_nodes;
            }
            if (++n < MIDDLES) continue;
            if (middles_lock(data, region, n, x)) return 1;
            n = 0;
        }
    }
    return n > 0 && middles_lock(data, region, n, x);
}

/* Whether continuous linear functions would lock in some material. */
static int is_nearly_incompressible(const struct hdg_data *data) {
    double mu, lambda;
    int64_t found = 0;
    if (data->mesh->dim == 2 && data->plane == HDG_PLANE_STRESS) return 0;
    for (int r = 0; data->mu != NULL && r < data->n_regions && !found; r++)
        found = field_is_constant(data->mu[r], &mu) && field_is_constant(data->lambda[r], &lambda)
                    ? lambda > LOCKING_RATIO * mu
                    : some_cell_locks(data, r);
    /* a part of the mesh may know other regions than the next */
    return team_reduce_counts(mesh_team(data->mesh), TEAM_MAX, 1, &found) == FACET_OK && found;
}

/* Where the coarse levels live; NULL: with the others. */
static facet_status find_coarse_device(const struct facet_solver *s, const struct device **device) {
    int word = s->options.coarse_device;
    return word == COARSE_DEVICE_SAME ? FACET_OK
                                      : device_find(option_words[OPTION_COARSE_DEVICE][word], device);
}

/* The levels become the preconditioner, visited as the options say. */
static facet_status take_multigrid(struct facet_solver *s, struct multigrid **mg) {
    facet_status status = FACET_OK;
    if (s->options.cycle != CYCLE_AUTO) TRY(multigrid_set_cycle(*mg, cycles[s->options.cycle]));
    TRY(operator_create_multigrid(mg, &s->M));
done:
    return status;
}

static facet_status fill_modes(void *hdg, double *modes) {
    return hdg_rigid_modes(hdg, modes);
}

/* Rows of faces on an axis are empty, and cannot be scaled into few bits. That such faces hold vertices of
 * coarse levels at zero hardly counts: in space a line has no capacity. */
static int has_axis(const struct facet_solver *s) {
    return s->resolved.data.plane == HDG_AXISYMMETRIC;
}

static enum pmg_precision precision_of(const struct facet_solver *s) {
    return has_axis(s) ? PMG_DOUBLE : (enum pmg_precision)s->options.precision;
}

static facet_status make_pmg(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct pmg_options options;
    struct multigrid *mg = NULL;
    pmg_options_default(&options);
    options.singular = is_singular(s);
    options.incompressible = is_nearly_incompressible(&s->hdg->data);
    options.n_modes = hdg_n_rigid_modes(s->hdg);
    options.fill_modes = fill_modes;
    options.modes_data = s->hdg;
    options.precision = precision_of(s);
    options.elsewhere = s->context->elsewhere;
    options.degree = s->options.smoother_degree;
    TRY(find_coarse_device(s, &options.coarse_device));
    TRY(trace_pmg_create(&s->hdg->trace, &s->hdg->matrices, &s->A, &options, &mg));
    TRY(take_multigrid(s, &mg));
done:
    multigrid_destroy(&mg);
    return status;
}

static facet_status choose_gmg(const struct facet_solver *s, struct gmg_options *options) {
    const struct options *o = &s->options;
    int full = o->cycle == CYCLE_FULL;
    *options = (struct gmg_options){.singular = is_singular(s),
                                    .full = full,
                                    .precision = precision_of(s),
                                    .smoother = (enum gmg_smoother)o->smoother,
                                    .degrees = (enum gmg_degrees)o->degrees,
                                    .steps = o->smoother_degree,
                                    .fill = o->fill,
                                    .coarse_unknowns = o->coarse_unknowns,
                                    .elsewhere = s->context->elsewhere};
    options->n_modes = hdg_n_rigid_modes(s->hdg);
    /* A full cycle has to be as accurate on every level as the next one needs it. */
    if (full && o->degrees == DEGREES_AUTO) options->degrees = GMG_ARITHMETIC;
    return find_coarse_device(s, &options->coarse_device);
}

/* A smoother that p-multigrid does not have. */
static int wants_gmg_smoother(const struct options *o) {
    return o->smoother != SMOOTHER_AUTO && o->smoother != SMOOTHER_FACES;
}

/* Something that only geometric multigrid has. */
static int wants_gmg(const struct options *o) {
    return wants_gmg_smoother(o) || o->degrees != DEGREES_AUTO || o->fill > 0.0 || o->coarse_unknowns > 0;
}

/* Adds to s->why_pmg which keys are of no use to p-multigrid. */
static void tell_unused(struct facet_solver *s) {
    const struct options *o = &s->options;
    size_t length = strlen(s->why_pmg), size = sizeof s->why_pmg;
    if (!wants_gmg(o)) return;
    snprintf(s->why_pmg + length, size - length, "; not used:%s%s%s%s",
             wants_gmg_smoother(o) ? " smoother" : "", o->degrees == DEGREES_AUTO ? "" : " degrees",
             o->fill > 0.0 ? " fill" : "", o->coarse_unknowns > 0 ? " coarse_unknowns" : "");
}

/* Without a coarser mesh it is p-multigrid, and s->why_pmg says why. */
static facet_status make_gmg(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct gmg_options options;
    struct mesh_hierarchy hierarchy = {0};
    struct multigrid *mg = NULL;
    TRY(mesh_hierarchy_create(s->problem->mesh, 1, &hierarchy));
    int stiff = is_nearly_incompressible(&s->hdg->data);
    int64_t differ = 0, none = hierarchy.n == 0;
    for (int b = 0; b < s->problem->mesh->n_blocks; b++) differ |= trace_slots_differ(&s->hdg->trace, b);
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 1, &differ));
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_MAX, 1, &none));
    if (none || stiff || differ) {
        snprintf(s->why_pmg, sizeof s->why_pmg, "%s",
                 differ  ? "geometric multigrid knows no prisms and pyramids, whose faces have different "
                           "numbers of unknowns"
                 : stiff ? "coarser meshes do not help a body that is nearly incompressible (lambda > 8 mu), "
                           "or may be "
                           "since its material varies"
                         : hierarchy.why);
        tell_unused(s);
        s->preconditioner = PRECONDITIONER_PMG;
        TRY(make_pmg(s));
        goto done;
    }
    TRY(choose_gmg(s, &options));
    TRY(trace_gmg_create(&s->hdg->trace, &s->hdg->matrices, &s->A, &hierarchy, &options, &mg));
    TRY(take_multigrid(s, &mg));
done:
    multigrid_destroy(&mg);
    mesh_hierarchy_destroy(&hierarchy);
    return status;
}

/* ------------------------------------------------------------------------------ PETSc */

/* The inverse as PETSc has it, by the preconditioner that was asked for, or one of its own. */
static facet_status make_petsc(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct coarse_matrix matrix = {.name = "trace", .singular = is_singular(s)};
    struct operator own = s->M;
    const struct trace_space *space = &s->hdg->trace;
    s->M = (struct operator){0};
    if (own.apply == NULL) TRY(trace_last_matrix(space, &s->hdg->matrices, "trace", &matrix));
    TRY(trace_number_faces(space, space->free_offsets, &matrix));
    matrix.csr.n = s->system.n_free;
    matrix.n_modes = hdg_n_rigid_modes(s->hdg);
    base_free(&matrix.modes);
    if (matrix.n_modes > 0) {
        TRY(ALLOC(matrix.modes, matrix.n_modes * s->system.n_free));
        TRY(hdg_rigid_modes(s->hdg, matrix.modes));
    }
    TRY(s->context->elsewhere->create_inverse(&s->A, &own, &matrix, s->options.rtol,
                                              s->options.max_iterations, &s->M));
done:
    operator_destroy(&own);
    coarse_matrix_destroy(&matrix);
    return status;
}

/* ------------------------------------------------------------------------------ the choice */

static facet_status make_jacobi(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr diagonal = {0};
    TRY(trace_block_diagonal(&s->hdg->trace, &s->hdg->matrices, &diagonal));
    if (s->preconditioner == PRECONDITIONER_JACOBI)
        TRY(operator_create_jacobi(mapped_device(s), &diagonal, &s->M));
    else
        TRY(operator_create_block_jacobi(mapped_device(s), &diagonal, s->system.n_blocks,
                                         s->system.block_offsets, &s->M));
done:
    csr_destroy(&diagonal);
    return status;
}

/* The preconditioner of a Krylov method. csr: the assembled matrix, for AMG. */
static facet_status make_preconditioner(struct facet_solver *s, const struct csr *csr) {
    facet_status status = FACET_OK;
    if (s->preconditioner == PRECONDITIONER_PMG) TRY(make_pmg(s));
    if (s->preconditioner == PRECONDITIONER_GMG) TRY(make_gmg(s));
    if (s->preconditioner == PRECONDITIONER_AMG) TRY(make_amg(s, csr));
    if (s->preconditioner == PRECONDITIONER_JACOBI || s->preconditioner == PRECONDITIONER_BLOCK)
        TRY(make_jacobi(s));
    struct multigrid *mg = s->M.apply != NULL ? operator_multigrid(&s->M) : NULL;
    s->flexible = mg != NULL && multigrid_is_flexible(mg);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
done:
    return status;
}

/* Faces whose unknowns are turned are none for p- and geometric multigrid. */
static int has_turns(const struct facet_solver *s) {
    return s->resolved.is_turned;
}

/* Beside a GPU to order the matrix of a large body takes longer than to solve. */
static int is_worth_ordering(const struct facet_solver *s) {
    const int64_t many = s->problem->mesh->dim == 2 ? MANY_HARD_IN_2D : MANY_HARD_IN_3D;
    return !device_has_memory(mapped_device(s)) || !s->hdg->data.equation->rigid || s->system.n_free <= many;
}

/* s->judge becomes a factor, where `auto` would think of one, or stays empty; FACET_NOT_CONVERGED where K is
 * not definite to rounding. */
facet_status solver_make_exact_judge(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    struct cholesky *cholesky = NULL;
    double bytes;
    int worth = !s->hdg->nonsymmetric && s->system.n_free <= cholesky_reasonable_size() &&
                is_worth_ordering(s) && s->problem->mesh->part == NULL;
    if (worth) TRY(is_worth_factoring(s, SOLVE_PRODUCTS, &worth));
    if (!worth) goto done;
    TRY(hdg_assemble(s->hdg, &csr));
    TRY(cholesky_analyze(&csr, s->system.n_blocks, s->system.block_offsets, is_singular(s) ? 0 : -1,
                         &cholesky, &bytes));
    if (bytes > FACTOR_MEMORY_SHARE * base_available_bytes()) goto done;
    if (csr.n > SMALL_SYSTEM && !is_cheap(s, cholesky_operations(cholesky), SOLVE_PRODUCTS)) goto done;
    TRY(cholesky_factor_last(cholesky, &csr));
    TRY(operator_create_cholesky(mapped_device(s), s->system.n_free, &cholesky, &s->judge));
done:
    cholesky_destroy(&cholesky);
    csr_destroy(&csr);
    return status;
}

/* s->judge becomes a factor or a multigrid, or stays empty where none can be made. */
facet_status solver_make_judge(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    struct operator own = s->M;
    int hybrid = s->hdg->data.equation->by_faces && !has_turns(s);
    s->M = (struct operator){0};
    status = solver_make_exact_judge(s);
    if ((status != FACET_OK && status != FACET_NOT_CONVERGED) || s->judge.apply != NULL) goto done;
    status = FACET_OK;
    if (!hybrid && (s->hdg->nonsymmetric || team_size(mesh_team(s->problem->mesh)) > 1)) goto done;
    if (!hybrid) TRY(hdg_assemble(s->hdg, &csr));
    TRY(hybrid ? make_pmg(s) : make_amg(s, &csr));
    s->judge = s->M;
    s->M = (struct operator){0};
done:
    operator_destroy(&s->M);
    s->M = own;
    csr_destroy(&csr);
    return status == FACET_NOT_CONVERGED ? FACET_OK : status;
}

/* Whether geometric multigrid is expected to be faster than p-multigrid where the coefficient does not jump
 * and rows of cells matter: quads with a small coarsest mesh (docs/gmg.md). */
static int prefers_gmg(const struct facet_mesh *mesh) {
    if (mesh->dim != 2 || mesh->part != NULL) return 0;
    for (int b = 0; b < mesh->n_blocks; b++)
        if (mesh->blocks[b].count > 0 && mesh->blocks[b].shape != SHAPE_QUAD) return 0;
    return mesh_hierarchy_coarsest(mesh) <= SMALL_COARSEST;
}

/* Whether geometric multigrid, if it is made at all (there are coarser meshes, and they help), has rows of
 * quads to solve along. */
static int lacks_rows(const struct facet_solver *s) {
    const struct facet_mesh *mesh = s->problem->mesh;
    int has_rows = mesh->dim == 2 && trace_has_tensor_cells(mesh) && !s->resolved.data.equation->is_vector;
    if (mesh->part != NULL) return !has_rows;
    return !has_rows && !is_nearly_incompressible(&s->resolved.data) &&
           (mesh->coarse != NULL || mesh_hierarchy_coarsest(mesh) < mesh->n_cells);
}

/* What is taken instead. */
static int without_faces(const struct facet_solver *s) {
    return equation_is_symmetric(&s->resolved.data) ? PRECONDITIONER_AMG : PRECONDITIONER_BLOCK;
}

/* What `auto` takes where the coefficient is easy, as far as words depend on it: whoever gives keys of
 * geometric multigrid means it wherever it is thought of. */
facet_status solver_check_method(const struct facet_solver *s) {
    struct options o = s->options; /* with what is taken */
    const struct equation *equation = s->resolved.data.equation;
    unsigned place = options_place(&o, s->problem->physics->equation) | AT_MAPPED |
                     (equation_is_symmetric(&s->resolved.data) ? 0 : AT_NONSYMMETRIC) |
                     (lacks_rows(s) ? AT_NO_ROWS : 0) | (has_turns(s) ? AT_TURNED : 0) |
                     (has_axis(s) ? AT_AXIS : 0) | (s->context->elsewhere == NULL ? AT_ALONE : 0);
    if (o.method == METHOD_DIRECT)
        o.preconditioner = PRECONDITIONER_NONE;
    else if (o.preconditioner == PRECONDITIONER_AUTO)
        o.preconditioner = has_turns(s)          ? without_faces(s)
                           : !equation->by_faces ? PRECONDITIONER_AMG
                           : equation->easy_gmg && wants_gmg(&o) && prefers_gmg(s->problem->mesh)
                               ? PRECONDITIONER_GMG
                               : PRECONDITIONER_PMG;
    return options_check_place(&o, place);
}

/* What the choice depends on. */
struct outlook {
    int easy; /* diffusion, and its coefficient does not vary so much that it may jump inside coarse cells */
    int rows; /* what vertices leave reaches along rows of quads */
    int skew; /* there is a strong direction across the faces of cells, which no row of them follows */
    int few;  /* so few unknowns that a factor is worth a thought */
    double products; /* of an iterative solve */
};

static facet_status look(const struct facet_solver *s, struct outlook *o) {
    facet_status status = FACET_OK;
    const struct hdg *hdg = s->hdg;
    double contrast, stretch, skew, work;
    *o = (struct outlook){.few = is_worth_ordering(s) && s->problem->mesh->part == NULL,
                          .products = SOLVE_PRODUCTS};
    if (!hdg->data.equation->easy_gmg || has_axis(s)) goto done;
    TRY(trace_contrast(&hdg->trace, &hdg->matrices, &contrast));
    TRY(trace_stretch(&hdg->trace, &hdg->matrices, &stretch, &skew));
    o->easy = contrast <= LARGE_CONTRAST;
    o->skew = skew > LARGE_STRETCH;
    int slow = o->skew && !trace_has_tensor_cells(s->problem->mesh);
    if (slow) o->products = MOST_PRODUCTS;
    if (!o->easy && s->n_unknowns <= MANY_HARD_IN_2D) {
        TRY(trace_measure_work(&hdg->trace, &hdg->matrices, 0, &work));
        slow = slow || work > HARD_WORK;
        o->products =
            fmax(o->products, fmin(SOLVE_PRODUCTS * sqrt(1.0 + work / SMOOTHED_WORK), MOST_PRODUCTS));
    }
    int64_t many = slow                         ? MANY_HARD_IN_2D
                   : stretch <= LARGE_STRETCH   ? MANY_ROUND
                   : s->problem->mesh->dim == 2 ? MANY_HARD_IN_2D
                                                : MANY_HARD_IN_3D;
    o->few = s->n_unknowns <= many && s->problem->mesh->part == NULL;
    if (!o->easy || o->skew || !prefers_gmg(s->problem->mesh)) goto done;
    TRY(trace_measure_work(&hdg->trace, &hdg->matrices, 0, &work));
    o->rows = work > TRACE_MUCH_WORK;
done:
    return status;
}

/* What is not distributed yet is refused by name. */
static facet_status check_part(const struct facet_solver *s) {
    const struct options *o = &s->options;
    const struct hdg_data *data = &s->hdg->data;
    const char *what = NULL;
    char word[64];
    if (s->problem->mesh->part == NULL && o->method == METHOD_PETSC)
        return base_fail(FACET_ERROR_INPUT, "the method petsc needs a mesh that was made for a team");
    if (s->problem->mesh->part == NULL) return FACET_OK;
    if (o->method == METHOD_DIRECT || o->method == METHOD_MULTIGRID)
        snprintf(word, sizeof word, "the method %s", option_words[OPTION_METHOD][o->method]), what = word;
    else if (o->preconditioner == PRECONDITIONER_AMG)
        snprintf(word, sizeof word, "the preconditioner %s",
                 option_words[OPTION_PRECONDITIONER][o->preconditioner]),
            what = word;
    else if (o->smoother == SMOOTHER_ROWS && !device_is_host(s->context->device))
        what = "the smoother rows on this device";
    else if ((wants_gmg_smoother(o) && o->smoother != SMOOTHER_ROWS) || o->coarse_unknowns > 0)
        what = "a smoother other than faces and rows, or a second device,";
    else if (o->cycle == CYCLE_FULL)
        what = "the cycle full";
    else if (!data->equation->by_faces && is_singular(s))
        what = "the discretization condensed where nothing holds the constant";
    else if ((!data->equation->by_faces || has_turns(s)) && o->preconditioner == PRECONDITIONER_AUTO &&
             o->method != METHOD_AUTO && o->method != METHOD_PETSC &&
             team_size(mesh_team(s->problem->mesh)) > 1)
        what = "the preconditioner amg, which this method takes,";
    else if (o->method == METHOD_PETSC && is_singular(s))
        what = "the method petsc where nothing holds the constant";
    else if (!equation_is_symmetric(data))
        what = "the gradient formulation with tractions";
    else if (data->located && !problem_carried_is_here(s->problem->carried, s->problem->mesh))
        what = "a temperature from a case with another mesh";
    else if (!device_is_host(mapped_device(s)) &&
             (has_turns(s) || (data->equation->is_vector && s->problem->mesh->part->is_turned)))
        what = "a wall of symmetry or a rotation that turns the unknowns of faces, on this device,";
    else if (o->coarse_device != COARSE_DEVICE_SAME)
        what = "a second device";
    if (what == NULL) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "%s is not distributed yet; use the program facet, or leave it to auto", what);
}

/* Whether the caller asks for one of these words. */
static int is_tuned(const struct options *o) {
    return o->smoother_degree > 0 || o->smoother != SMOOTHER_AUTO || o->cycle != CYCLE_AUTO ||
           o->precision != PRECISION_AUTO || o->coarse_device != COARSE_DEVICE_SAME || wants_gmg(o);
}

int solver_may_rethink(const struct facet_solver *s) {
    const struct options *o = &s->options;
    return !s->settled && o->method == METHOD_AUTO && o->preconditioner == PRECONDITIONER_AUTO &&
           !is_tuned(o) && s->method == METHOD_CG && s->problem->mesh->part == NULL && is_worth_ordering(s) &&
           s->system.n_free <= cholesky_reasonable_size();
}

facet_status solver_turn_direct(struct facet_solver *s, double steps, int *done) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    int worth;
    *done = 0;
    s->settled = 1;
    TRY(is_worth_factoring(s, STEP_PRODUCTS * steps, &worth));
    if (!worth) goto done;
    TRY(hdg_assemble(s->hdg, &csr));
    TRY(try_direct(s, &csr, 0, STEP_PRODUCTS * steps, done));
    if (*done) {
        s->report.reason =
            "a factor takes the place of conjugate gradients"; /* the multigrid's goes with it */
        operator_destroy(&s->M);
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
    operator_destroy(&s->M);
    return make_preconditioner(s, NULL);
}

/* `auto`: a factor where it is cheaper than an iteration, else geometric or p-multigrid; the condensed method
 * has the factor as long as it fits, then AMG. The caller may insist on others. The matrix is assembled only
 * for those who need it, and let go. */
facet_status solver_choose_method(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    const struct base_monitor *monitor = &s->context->monitor;
    const struct options *o = &s->options;
    int any = o->preconditioner == PRECONDITIONER_AUTO, hybrid = s->hdg->data.equation->by_faces,
        turned = has_turns(s);
    int fgmres = o->method == METHOD_FGMRES || s->hdg->nonsymmetric, insist = o->method == METHOD_DIRECT;
    /* Levels of nodes, and of unknowns that are turned, over several processes are PETSc's. */
    int petsc = o->method == METHOD_PETSC || (o->method == METHOD_AUTO && any && (!hybrid || turned) &&
                                              team_size(mesh_team(s->problem->mesh)) > 1);
    int done = 0;
    struct outlook outlook;
    TRY(check_part(s));
    TRY(look(s, &outlook));
    int gmg =
        s->hdg->data.equation->easy_gmg && (outlook.rows || wants_gmg(o)) && prefers_gmg(s->problem->mesh);
    int direct = insist || (o->method == METHOD_AUTO && any && !is_tuned(o) && !fgmres && outlook.few &&
                            s->system.n_free <= cholesky_reasonable_size());
    s->settled = 0;
    s->why_factor[0] = '\0';
    s->method = insist                          ? METHOD_DIRECT
                : petsc                         ? METHOD_PETSC
                : o->method == METHOD_MULTIGRID ? METHOD_MULTIGRID
                : fgmres                        ? METHOD_FGMRES
                                                : METHOD_CG;
    s->preconditioner = insist || (any && petsc) ? PRECONDITIONER_NONE
                        : !any                   ? o->preconditioner
                        : !hybrid                ? PRECONDITIONER_AMG
                        : turned                 ? without_faces(s)
                        : gmg                    ? PRECONDITIONER_GMG
                                                 : PRECONDITIONER_PMG;
    int amg = s->preconditioner == PRECONDITIONER_AMG;
    double begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_SETUP);
    if (direct && !insist) status = is_worth_factoring(s, outlook.products, &direct);
    base_phase_end(&s->timers, monitor, FACET_PHASE_SETUP, begin);
    if (status != FACET_OK) goto done;
    if (direct || amg) {
        begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_ASSEMBLE);
        status = hdg_assemble(s->hdg, &csr);
        base_phase_end(&s->timers, monitor, FACET_PHASE_ASSEMBLE, begin);
        if (status != FACET_OK) goto done;
        s->assembled_bytes = 12.0 * (double)csr.offsets[csr.n] + 8.0 * (double)csr.n;
    }
    begin = base_phase_begin(&s->timers, monitor, FACET_PHASE_SETUP);
    if (direct) status = try_direct(s, &csr, insist, outlook.products, &done);
    if (status == FACET_OK && amg && s->why_factor[0] != '\0')
        status = hdg_assemble(s->hdg, &csr); /* again */
    if (!amg) {
        csr_destroy(&csr);
        if (!done) s->assembled_bytes = 0.0;
    }
    if (status == FACET_OK && !done) status = make_preconditioner(s, &csr);
    if (status == FACET_OK && s->method == METHOD_PETSC) status = make_petsc(s);
    base_phase_end(&s->timers, monitor, FACET_PHASE_SETUP, begin);
done:
    csr_destroy(&csr);
    return status;
}
