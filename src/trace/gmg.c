/* The levels of geometric multigrid on the trace. See gmg.h. */
#include "trace/gmg.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "solve/fsai.h"
#include "trace/levels.h"
#include "trace/nested.h"
#include "trace/pmg_parts.h"
#include "trace/rows.h"
#include "trace/sides.h"

/* A level of so few unknowns ends the list, whatever meshes are below it. */
#define SMALL_LEVEL 3000
/* Chebyshev steps on the finest level and on the others, which are cheap against it, measured in docs/gmg.md.
 * Row modes live on the finest level alone: without a cure for them the steps there grow with the root of
 * trace_measure_work. More by trace_extra_work. */
#define SIMPLEX_STEPS        4.0
#define SIMPLEX_COARSE_STEPS 6.0
#define TENSOR_STEPS         3.0
#define SOLID_STEPS          5.0
#define TENSOR_COARSE_STEPS  4.0
#define MOST_STEPS           12.0
/* Row modes are worth a smoother of their own from so much work on. */
#define MUCH_WORK 4.0

/* The level at hand while the list grows: the finest one borrows, the others own. */
struct stage {
    const struct trace_space *space;
    const struct trace_matrices *matrices;
    struct trace_space own_space;
    struct trace_matrices own_matrices;
    int given; /* the matrices live inside their level */
    char name[32];
};

struct builder {
    struct gmg_options o;
    const struct device *device, *coarse_device;
    const struct trace_space *finest;
    struct multigrid *mg;
    int single, steps, coarse_steps;
    struct coarse_options end;
};

/* Over several processes: whether a level of degree 1 has so few unknowns that it ends the list. */
static int is_last_of_all(const struct builder *b, const struct trace_space *space) {
    if (space->degree > 1 || !trace_is_shared(space)) return 0;
    int64_t n = seam_n_owned(space->seam);
    return team_reduce_counts(mesh_team(space->mesh), TEAM_SUM, 1, &n) == FACET_OK && n <= b->o.last_unknowns;
}

static void stage_destroy(struct stage *s) {
    trace_space_destroy(&s->own_space);
    if (!s->given) trace_matrices_destroy(&s->own_matrices);
}

/* *next becomes *s. */
static void stage_advance(struct stage *s, struct stage *next) {
    stage_destroy(s);
    *s = *next;
    *next = (struct stage){0};
    s->space = &s->own_space;
    s->matrices = &s->own_matrices;
}

static const struct device *device_of(const struct builder *b, const struct trace_space *space) {
    return space->n_free <= b->o.coarse_unknowns ? b->coarse_device : b->device;
}

/* ------------------------------------------------------------------------------ smoothers */

static facet_status make_fsai(const struct builder *b, const struct stage *s, struct trace_level *level) {
    facet_status status = FACET_OK;
    struct csr csr = {0};
    struct fsai_options options = {.fill = b->o.fill > 0.0 ? b->o.fill : 1.0,
                                   .n_blocks = s->space->n_free_faces,
                                   .block_offsets = s->space->free_offsets};
    TRY(trace_assemble(s->space, s->matrices, &csr));
    TRY(operator_create_fsai(s->matrices->device, &csr, &options, &level->D, NULL));
    level->kind = POLYNOMIAL_FIRST;
    level->ratio = fsai_ratio(&options);
done:
    csr_destroy(&csr);
    return status;
}

/* The blocks of single faces, with the row modes on the finest level. */
static facet_status make_faces(const struct builder *b, const struct stage *s, struct linear_operator *D) {
    struct linear_operator blocks = {0};
    int rows = b->o.smoother == GMG_ROWS && s->space == b->finest;
    facet_status status = trace_block_inverse(s->space, s->matrices, rows ? &blocks : D);
    if (status != FACET_OK || !rows) return status;
    return operator_create_rows(s->space, s->matrices, &blocks, D);
}

static facet_status make_smoother(const struct builder *b, const struct stage *s, struct trace_level *level) {
    const struct trace_space *space = s->space;
    level->kind = POLYNOMIAL_FOURTH;
    level->ratio = 1.0;
    level->degree = space == b->finest ? b->steps : b->coarse_steps;
    if (b->o.other.make != NULL) return b->o.other.make(b->o.other.data, space, s->matrices, level);
    return b->o.smoother == GMG_FSAI ? make_fsai(b, s, level) : make_faces(b, s, &level->D);
}

/* Appends the stage. A: the product, borrowed; NULL: made here. */
static facet_status append(struct builder *b, struct stage *s, const struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct base_memory before, after;
    struct trace_level level = {
        .name = s->name, .single = b->single, .A = A, .space = s->space, .matrices = s->matrices};
    base_memory_read(&before);
    TRY(make_smoother(b, s, &level));
    if (A == NULL) TRY(trace_operator_create(s->space, s->matrices, &level.own));
    if (A == NULL && !b->single) { /* else the level has its own, rounded */
        struct trace_matrices moved = s->own_matrices;
        trace_operator_own(&level.own, &moved);
        s->given = 1;
    }
    TRY(trace_level_append(b->mg, &level));
    /* Below the second level twice: these are small, and iterations do not grow with their number. A GPU
     * waits for every small level, so that it goes through them once. */
    if (s->space != b->finest && !device_has_memory(b->device) && !device_has_memory(b->coarse_device))
        multigrid_visit(b->mg, MG_W, 1.0);
    base_memory_read(&after);
    multigrid_describe(b->mg, 0, (double)(after.live_bytes - before.live_bytes));
done:
    trace_level_destroy(&level);
    return status;
}

/* ------------------------------------------------------------------------------ coarser levels */

static int next_degree(enum gmg_degrees degrees, int degree) {
    switch (degrees) {
    case GMG_ARITHMETIC:
        return degree - 1;
    case GMG_EVEN:
        return degree > 2 ? (degree - 1) / 2 * 2 : 1;
    case GMG_GEOMETRIC:
        return degree / 2;
    default:
        return 1;
    }
}

/* The matrices of the stage go to the device where they belong. */
static facet_status move_matrices(const struct device *device, struct stage *s) {
    facet_status status = FACET_OK;
    struct trace_matrices *from = &s->own_matrices, to = {0};
    struct trace_view view = {.matrices = from};
    double *host = NULL;
    if (from->device == device) return FACET_OK;
    TRY(trace_matrices_create(device, &s->own_space, 0, &to));
    TRY(trace_view_open(from, &view));
    for (int k = 0; k < to.n_blocks; k++) {
        TRY(trace_view_lanes(&view, k, to.lanes, &host));
        size_t count = (size_t)(to.n_batches[k] * trace_matrix_size(&to, k) * to.lanes);
        TRY(device_upload(device, to.values[k], host != NULL ? host : view.values[k],
                          count * sizeof(double)));
        base_free(&host);
    }
done:
    base_free(&host);
    trace_view_close(&view);
    if (status == FACET_OK) {
        trace_matrices_destroy(from);
        *from = to;
    } else {
        trace_matrices_destroy(&to);
    }
    return status;
}

/* The stage of lower degree on the same mesh; connected to *s, which becomes it. */
static facet_status descend_degree(struct builder *b, struct stage *s, int degree) {
    facet_status status = FACET_OK;
    struct stage next = {0};
    struct mg_transfer P = {0};
    TRY(trace_lower_space(s->space, degree, &next.own_space));
    snprintf(next.name, sizeof next.name, "k=%d", degree);
    TRY(trace_inject(s->space, &next.own_space, &P));
    P.sums = is_last_of_all(b, &next.own_space); /* whose solve takes the sum of all parts */
    TRY(multigrid_connect(b->mg, &P));
    TRY(b->o.rediscretize != NULL
            ? b->o.rediscretize(b->o.user, &next.own_space, &next.own_matrices)
            : trace_matrices_lower(s->space, &next.own_space, s->matrices, &next.own_matrices));
    TRY(move_matrices(device_of(b, &next.own_space), &next));
    stage_advance(s, &next);
done:
    mg_transfer_destroy(&P);
    stage_destroy(&next);
    return status;
}

/* The stage on the next coarser mesh; likewise. */
static facet_status descend_mesh(struct builder *b, struct stage *s, const struct mesh_nesting *nesting) {
    facet_status status = FACET_OK;
    struct stage next = {0};
    struct mg_transfer P = {0};
    struct linear_operator inner = {0};
    int inherit = b->o.rediscretize == NULL;
    TRY(trace_nested_space(s->space, nesting, &next.own_space));
    snprintf(next.name, sizeof next.name, "k=%d, %d cells", s->space->degree, (int)nesting->coarse->n_cells);
    TRY(trace_nested_create(s->space, s->matrices, nesting, &next.own_space, device_of(b, &next.own_space),
                            &P, inherit ? &next.own_matrices : NULL, b->o.full ? &inner : NULL));
    P.sums = 1;
    TRY(multigrid_connect(b->mg, &P));
    if (b->o.full && b->single) TRY(operator_round(&inner));
    if (b->o.full) multigrid_complete(b->mg, &inner);
    if (!inherit) TRY(b->o.rediscretize(b->o.user, &next.own_space, &next.own_matrices));
    TRY(move_matrices(device_of(b, &next.own_space), &next));
    stage_advance(s, &next);
done:
    mg_transfer_destroy(&P);
    operator_destroy(&inner);
    stage_destroy(&next);
    return status;
}

/* ------------------------------------------------------------------------------ the end */

/* Ends the list with a factor of the stage, if that is cheap. */
static facet_status end_here(struct builder *b, const struct stage *s, int *done) {
    facet_status status = FACET_OK;
    struct coarse_matrix last = {0};
    double entries = 0.0;
    *done = 0;
    for (int k = 0; k < s->matrices->n_blocks; k++)
        entries += (double)s->matrices->n[k] * s->matrices->n[k] * s->space->mesh->blocks[k].count;
    if (!coarse_is_worth_ordering(&b->end, s->space->n_free, entries)) goto done;
    TRY(trace_last_level_matrix(s->space, s->matrices, s->name, &last));
    last.singular = b->o.singular;
    TRY(multigrid_end_factored(b->mg, b->coarse_device, &last, &b->end, done));
done:
    coarse_matrix_destroy(&last);
    return status;
}

/* The function 1 on the trace. */
static facet_status add_constant(const struct trace_space *space, struct coarse_matrix *last) {
    base_free(&last->modes);
    last->n_modes = 1;
    facet_status status = CALLOC(last->modes, space->n_free);
    for (int64_t k = 0; status == FACET_OK && k < space->n_free_faces; k++)
        last->modes[space->free_offsets[k]] =
            sqrt(shape_measure((enum shape)space->mesh->face_shapes[space->free_faces[k]]));
    return status;
}

/* The same over several processes, by whoever solves last levels for them. */
static facet_status end_here_for_all(struct builder *b, const struct stage *s) {
    facet_status status = FACET_OK;
    struct coarse_matrix last = {0};
    TRY(trace_last_level_matrix(s->space, s->matrices, s->name, &last));
    TRY(trace_number_faces(s->space, s->space->free_offsets, &last));
    last.singular = b->o.singular;
    if (last.singular && s->space->n_components == 1) TRY(add_constant(s->space, &last));
    TRY(multigrid_end_coarse(b->mg, b->coarse_device, &last, &b->end));
done:
    coarse_matrix_destroy(&last);
    return status;
}

/* Ends it below the coarsest mesh with continuous linear functions. */
static facet_status end_below(struct builder *b, const struct stage *s) {
    facet_status status = FACET_OK;
    struct mg_transfer P = {0};
    struct coarse_matrix last = {0};
    TRY(trace_last_level_continuous(s->space, s->matrices, TRACE_VERTICES, NULL, b->o.n_modes, NULL, &P, NULL,
                                    &last));
    P.sums = 1;
    TRY(multigrid_connect(b->mg, &P));
    last.singular = b->o.singular;
    TRY(multigrid_end_coarse(b->mg, b->coarse_device, &last, &b->end));
done:
    mg_transfer_destroy(&P);
    coarse_matrix_destroy(&last);
    return status;
}

/* ------------------------------------------------------------------------------ choices */

/* How many steps; constant: what trace_measure_work says of quads and hexes. */
static facet_status choose_steps(struct builder *b, const struct trace_matrices *matrices, int tensor,
                                 double constant) {
    facet_status status = FACET_OK;
    double more = 1.0;
    double steps = !tensor ? SIMPLEX_STEPS : b->finest->mesh->dim == 2 ? TENSOR_STEPS : SOLID_STEPS;
    double coarse = tensor ? TENSOR_COARSE_STEPS : SIMPLEX_COARSE_STEPS;
    enum gmg_smoother smoother = b->o.smoother;
    b->steps = b->coarse_steps = b->o.steps;
    if (b->o.steps > 0) goto done;
    b->steps = b->coarse_steps = 2;
    if (smoother == GMG_FSAI) goto done;
    TRY(trace_extra_work(b->finest, matrices, &more));
    if (tensor && smoother == GMG_FACES) steps = fmax(steps, TRACE_TENSOR_WORK * sqrt(constant));
    b->steps = (int)fmin(round(more * steps), MOST_STEPS);
    b->coarse_steps = (int)fmin(round(more * coarse), MOST_STEPS);
done:
    return status;
}

static facet_status choose(struct builder *b, const struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    struct gmg_options *o = &b->o;
    const struct trace_space *space = b->finest;
    int tensor = trace_has_tensor_cells(space->mesh);
    int has_rows = tensor && space->mesh->dim == 2 && space->n_components == 1;
    double constant = 1.0;
    if (trace_is_shared(space)) {
        if (o->smoother > GMG_ROWS)
            FAIL(FACET_ERROR_INPUT,
                 "of the smoothers of geometric multigrid faces and rows alone are distributed yet");
        has_rows = has_rows && device_is_host(matrices->device);
    }
    if (o->smoother == GMG_ROWS && !has_rows)
        FAIL(FACET_ERROR_INPUT, "the smoother rows is for one unknown function on quads; use faces");
    if (o->last_unknowns == 0) o->last_unknowns = SMALL_LEVEL;
    if (o->degrees == GMG_DEGREES_AUTO) o->degrees = GMG_STRAIGHT;
    if (tensor && (o->smoother == GMG_SMOOTHER_AUTO || o->steps == 0))
        TRY(trace_measure_work(space, matrices, TRACE_VERTICES, &constant));
    if (o->smoother == GMG_SMOOTHER_AUTO)
        o->smoother = has_rows && constant > MUCH_WORK ? GMG_ROWS : GMG_FACES;
    TRY(choose_steps(b, matrices, tensor, constant));
    TRY(trace_choose_single(space, matrices, o->precision, &b->single));
done:
    return status;
}

/* Whether there is a next coarser mesh, and an unknown on it, in all parts or in some. */
static int has_coarser(const struct trace_space *space, const struct mesh_hierarchy *hierarchy, int mesh) {
    int64_t found = 0;
    for (int64_t k = 0; mesh < hierarchy->n && k < space->n_free_faces && !found; k++)
        found = hierarchy->nestings[mesh].face_parents[space->free_faces[k]] >= 0;
    return team_reduce_counts(mesh_team(space->mesh), TEAM_MAX, 1, &found) == FACET_OK && found;
}

static facet_status make_levels(struct builder *b, struct stage *s, const struct linear_operator *A,
                                const struct mesh_hierarchy *hierarchy) {
    facet_status status = FACET_OK;
    int done = 0;
    int mesh = 0; /* the nesting below the stage */
    TRY(append(b, s, A));
    while (!done) {
        if (s->space->degree > 1) {
            TRY(descend_degree(b, s, next_degree(b->o.degrees, s->space->degree)));
        } else if (has_coarser(s->space, hierarchy, mesh)) {
            TRY(descend_mesh(b, s, &hierarchy->nestings[mesh++]));
        } else {
            TRY(end_below(b, s));
            break;
        }
        if (is_last_of_all(b, s->space)) {
            TRY(end_here_for_all(b, s));
            break;
        }
        if (s->space->degree <= 1 && !trace_is_shared(s->space) &&
            (s->space->n_free <= b->o.last_unknowns || !has_coarser(s->space, hierarchy, mesh)))
            TRY(end_here(b, s, &done));
        if (!done) TRY(append(b, s, NULL));
    }
done:
    return status;
}

facet_status trace_gmg_create(const struct trace_space *space, const struct trace_matrices *matrices,
                              const struct linear_operator *A, const struct mesh_hierarchy *hierarchy,
                              const struct gmg_options *options, struct multigrid **mg) {
    facet_status status = FACET_OK;
    struct builder b = {.o = *options, .device = matrices->device, .finest = space};
    struct stage s = {.space = space, .matrices = matrices};
    *mg = NULL;
    TRY(trace_need_plain(space, matrices, "geometric multigrid"));
    if (hierarchy->n == 0) FAIL(FACET_ERROR_INPUT, "geometric multigrid needs a coarser mesh");
    for (int k = 0; k < space->mesh->n_blocks; k++)
        if (trace_slots_differ(space, k))
            FAIL(FACET_ERROR_INPUT, "geometric multigrid knows no cells of shape %s; use pmg",
                 shape_name(space->mesh->blocks[k].shape));
    b.coarse_device = options->coarse_device != NULL ? options->coarse_device : matrices->device;
    TRY(choose(&b, matrices));
    TRY(multigrid_create(mg));
    b.mg = *mg;
    b.end = (struct coarse_options){
        .fine_bytes = trace_operator_bytes(A), .cycle = MG_K, .external = options->external};
    /* also beside a GPU: further levels cost launches, and 12 and 13 iterations where the factor takes 11 */
    b.end.beside_gpu = b.o.last_unknowns;
    snprintf(s.name, sizeof s.name, "k=%d", space->degree);
    TRY(make_levels(&b, &s, A, hierarchy));
    TRY(multigrid_finish(*mg));
done:
    stage_destroy(&s);
    if (status != FACET_OK) multigrid_destroy(mg);
    return status;
}
