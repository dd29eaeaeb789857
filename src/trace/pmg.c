/* The levels of p-multigrid on the trace. See pmg.h. */
#include "trace/pmg.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "solve/jumps.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"

/* Chebyshev steps before and after the coarse correction: more on stretched cells, and on quads and hexes in
 * proportion to the root of trace_smoothing_constant. Iterations fall as the degree rises, so that the work
 * is about the same; measured in docs/pmg.md. */
#define LEAST_DEGREE     4.0
#define TRIANGLE_DEGREE  3.0 /* on triangles that are not stretched */
#define LEAST_ROW_DEGREE 3.0
#define LARGEST_DEGREE   12.0
/* As many times more on tets where K jumps from cell to cell, up to degree 2 and beyond: a stiff cell between
 * soft ones is left to the blocks of its faces; the level k = 1 is visited twice. */
#define CHAINS_LOW  2
#define CHAINS_WORK 1.5
#define CHAINS_MORE 2.0
/* Row modes come in when there is much work without them, and so many times less with them. */
#define ROWS_GAIN 3.0
/* Beyond such a jump of moduli single precision loses the rotations of cells, which products do not take off
 * as they do translations. */
#define ROUGH_JUMP 3e4
/* Beyond such a jump of K it loses too much of the constants of cells on the way to those of faces. */
#define ROUGH_CONSTANTS 1e7
/* Nearly incompressible solids: up to so many free faces the factor of their rigid motions is cheap, up to so
 * many that of their normals; beyond that the fluxes alone make up for their iterations. */
#define FEW_FACES  5000
#define MANY_FACES 50000
/* As many times more steps where lambda is large and below are the rigid motions: half the iterations in the
 * same time. */
#define RIGID_WORK 2.0
/* From so many constants of faces on a cycle of classical multigrid is faster than a factor. */
#define FEW_CONSTANTS 10000

void pmg_options_default(struct pmg_options *options) {
    *options = (struct pmg_options){.between = -1};
}

/* The level at hand while the list grows: the finest one borrows, the others own. */
struct stage {
    const struct trace_space *space;
    const struct trace_matrices *matrices;
    struct trace_space own_space;
};

struct builder {
    struct pmg_options o;
    const struct device *coarse_device;
    struct multigrid *mg;
    int tensor;           /* some cells are quads or hexes */
    int single;           /* the levels of traces are in single precision */
    int owned;            /* the matrices of degree 1 live inside their level */
    int scalar_constants; /* below are the constants of faces, of one component */
    int chains;           /* below are the pieces of vertices of tets, and K jumps from cell to cell */
    struct trace_pieces pieces;
};

static enum trace_beside beside_of(enum pmg_coarse coarse) {
    return coarse == PMG_ROWS      ? TRACE_ROWS
           : coarse == PMG_FLUXES  ? TRACE_FLUXES
           : coarse == PMG_NORMALS ? TRACE_NORMALS
                                   : TRACE_VERTICES;
}

/* A polynomial whose degree matches the work that the coarse space leaves. */
static facet_status choose_degree(struct builder *b, const struct trace_space *space,
                                  const struct trace_matrices *matrices, double constant) {
    double more, degree = b->o.coarse == PMG_ROWS ? LEAST_ROW_DEGREE : LEAST_DEGREE;
    facet_status status = trace_extra_work(space, matrices, &more);
    if (status != FACET_OK) return status;
    degree *= b->chains ? (space->degree <= CHAINS_LOW ? CHAINS_WORK : CHAINS_MORE) * more : more;
    if (b->o.coarse == PMG_RIGID && b->o.incompressible) degree *= RIGID_WORK;
    if (space->mesh->dim == 2 && !b->tensor && more == 1.0) degree = TRIANGLE_DEGREE;
    if (b->tensor) degree = fmax(degree, TRACE_TENSOR_WORK * sqrt(constant));
    b->o.degree = (int)fmin(round(degree), LARGEST_DEGREE);
    return FACET_OK;
}

/* Whether quads and hexes need their row modes. *constant: what the space below leaves without them, and on
 * return with them if so. */
static facet_status choose_rows(struct builder *b, const struct trace_space *space,
                                const struct trace_matrices *matrices, double *constant, int *rows) {
    double with_rows = 1.0;
    *rows = 0;
    if (!b->tensor || *constant <= TRACE_MUCH_WORK) return FACET_OK;
    facet_status status = trace_measure_work(space, matrices, TRACE_ROWS, &with_rows);
    *rows = *constant > ROWS_GAIN * with_rows;
    if (*rows) *constant = with_rows;
    return status;
}

/* Whether row modes are for the parts of a mesh. At k = 1 linear functions and row modes are nearly the same
 * on a chessboard of vertices, and the same without a Dirichlet face: a factor says so, other libraries may
 * not. On hexes they then take more iterations than the constants of faces (docs/distributed.md). */
static facet_status suit_parts(const struct trace_space *space, int *yes) {
    int64_t held = space->n_free_faces < space->n_faces;
    facet_status status = team_reduce_counts(mesh_team(space->mesh), TEAM_MAX, 1, &held);
    *yes = space->degree > 1 || (held && space->mesh->dim == 2);
    return status;
}

/* The space below. *constant: what it leaves on quads and hexes, and on return with row modes. */
static facet_status choose_coarse(struct builder *b, const struct trace_space *space,
                                  const struct trace_matrices *matrices, double *constant) {
    facet_status status = FACET_OK;
    struct pmg_options *o = &b->o;
    const int vector = space->n_components > 1, parted = team_size(mesh_team(space->mesh)) > 1;
    double jump = 1.0, without = *constant;
    int rows = 0, suited = 1;
    if (!vector || o->n_modes > 0) TRY(trace_pieces_create(space, matrices, &jump, &b->pieces));
    if (vector && (jump > SOLVE_LARGE_JUMP || o->incompressible)) {
        const int small = space->mesh->dim == 2 || space->n_free_faces <= FEW_FACES || parted;
        o->coarse = jump > SOLVE_LARGE_JUMP || small    ? PMG_RIGID
                    : space->n_free_faces <= MANY_FACES ? PMG_NORMALS
                                                        : PMG_FLUXES;
        if (jump > ROUGH_JUMP && o->precision == PMG_PRECISION_AUTO) o->precision = PMG_DOUBLE;
        goto done;
    }
    TRY(choose_rows(b, space, matrices, constant, &rows));
    if (rows && parted) TRY(suit_parts(space, &suited));
    if (vector && parted) {
        o->coarse = rows ? PMG_RIGID : PMG_CONTINUOUS;
        if (rows) *constant = without;
        goto done;
    }
    o->coarse = rows ? PMG_ROWS : PMG_CONTINUOUS;
    if (jump <= SOLVE_LARGE_JUMP && suited) goto done;
    o->coarse = rows || b->pieces.corners == NULL ? PMG_CONSTANT : PMG_PIECES;
    if (o->coarse == PMG_CONSTANT && jump > ROUGH_CONSTANTS && o->precision == PMG_PRECISION_AUTO)
        o->precision = PMG_DOUBLE;
    *constant = without;
done:
    return status;
}

static facet_status choose(struct builder *b, const struct trace_space *space,
                           const struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    struct pmg_options *o = &b->o;
    double constant = 1.0, jump;
    if (b->tensor && o->coarse != PMG_RIGID)
        TRY(trace_measure_work(space, matrices, o->incompressible ? TRACE_NORMALS : beside_of(o->coarse),
                               &constant));
    if (o->coarse == PMG_COARSE_AUTO)
        TRY(choose_coarse(b, space, matrices, &constant));
    else if (o->coarse == PMG_PIECES)
        TRY(trace_pieces_create(space, matrices, &jump, &b->pieces));
    b->chains = o->coarse == PMG_PIECES && b->pieces.chains;
    TRY(trace_choose_single(space, matrices, o->precision, &b->single));
    if (o->degree == 0) TRY(choose_degree(b, space, matrices, constant));
    b->scalar_constants = o->coarse == PMG_CONSTANT && space->n_components == 1;
    int continuous = o->coarse == PMG_CONTINUOUS || o->coarse == PMG_PIECES || o->coarse == PMG_FLUXES;
    if (o->between < 0) o->between = b->scalar_constants || (continuous && !b->tensor);
    if (space->degree <= 1) o->between = 0;
done:
    return status;
}

/* Appends the stage. A: the product, borrowed; NULL: own, which is taken over. */
static facet_status append(struct builder *b, const struct stage *s, const struct linear_operator *A,
                           struct linear_operator *own) {
    facet_status status = FACET_OK;
    struct base_memory before, after;
    char name[32];
    struct trace_level level = {.name = name,
                                .single = b->single,
                                .A = A,
                                .space = s->space,
                                .matrices = s->matrices,
                                .kind = POLYNOMIAL_FOURTH,
                                .ratio = 1.0,
                                .degree = b->o.degree};
    if (A == NULL) {
        level.own = *own;
        *own = (struct linear_operator){0};
    }
    base_memory_read(&before);
    TRY(b->o.smoother.make != NULL ? b->o.smoother.make(b->o.smoother.data, s->space, s->matrices, &level)
                                   : trace_block_inverse(s->space, s->matrices, &level.D));
    snprintf(name, sizeof name, "k=%d", s->space->degree);
    TRY(trace_level_append(b->mg, &level));
    base_memory_read(&after);
    multigrid_describe(b->mg, 0, (double)(after.live_bytes - before.live_bytes));
done:
    trace_level_destroy(&level);
    return status;
}

/* The stage of degree 1 below *s, which becomes it; appended. matrices: those of the new stage. */
static facet_status descend_to_linear(struct builder *b, struct stage *s, struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    struct mg_transfer P = {0};
    struct mg_link link = {0};
    struct linear_operator A = {0};
    TRY(trace_lower_space(s->space, 1, &s->own_space));
    TRY(trace_inject_parts(s->space, &s->own_space, &link));
    if (link.prolong != NULL) {
        TRY(multigrid_link(b->mg, &link));
    } else {
        TRY(trace_inject(s->space, &s->own_space, &P));
        TRY(multigrid_connect(b->mg, &P));
    }
    TRY(trace_matrices_lower(s->space, &s->own_space, s->matrices, matrices));
    TRY(trace_operator_create(&s->own_space, matrices, &A));
    s->space = &s->own_space;
    s->matrices = matrices;
    if (!b->single) { /* else the level has its own, rounded */
        struct trace_matrices moved = *matrices;
        trace_operator_own(&A, &moved);
        b->owned = 1;
    }
    TRY(append(b, s, NULL, &A));
done:
    operator_destroy(&A);
    mg_transfer_destroy(&P);
    return status;
}

/* The space below the stage: prolongation and matrix. There is no level between where modes are filled in. */
static facet_status make_last(const struct builder *b, const struct stage *s, struct mg_transfer *P,
                              struct mg_link *link, struct coarse_matrix *last) {
    facet_status status = FACET_OK;
    const struct pmg_options *o = &b->o;
    double *modes = NULL;
    if ((o->coarse == PMG_RIGID || o->coarse == PMG_CONSTANT) && o->n_modes > 0 && !o->between) {
        TRY(ALLOC(modes, o->n_modes * s->space->n_free));
        TRY(o->fill_modes(o->modes_data, modes));
    }
    switch (o->coarse) {
    case PMG_RIGID:
        TRY(trace_last_level_rigid(s->space, s->matrices, o->n_modes, modes, P, last));
        break;
    case PMG_CONSTANT:
        TRY(trace_last_level_traces(s->space, s->matrices, o->n_modes, modes, P, last));
        break;
    default:
        TRY(trace_last_level_continuous(s->space, s->matrices, beside_of(o->coarse),
                                        o->coarse == PMG_PIECES ? &b->pieces : NULL, o->n_modes, NULL, P,
                                        link, last));
        if (b->pieces.corners != NULL && o->coarse == PMG_PIECES)
            last->classical = 1; /* aggregates do not follow jumps */
    }
done:
    base_free(&modes);
    return status;
}

static facet_status create(const struct trace_space *space, const struct trace_matrices *matrices,
                           const struct linear_operator *A, const struct pmg_options *options,
                           struct multigrid **mg) {
    facet_status status = FACET_OK;
    struct builder b = {.o = *options};
    struct stage s = {.space = space, .matrices = matrices};
    struct trace_matrices linear = {0};
    struct mg_transfer P = {0};
    struct mg_link link = {0};
    struct coarse_matrix last = {0};
    TRY(trace_need_plain(space, matrices, "p-multigrid"));
    b.coarse_device = options->coarse_device != NULL ? options->coarse_device : matrices->device;
    b.tensor = trace_has_tensor_cells(space->mesh);
    TRY(choose(&b, space, matrices));
    TRY(multigrid_create(mg));
    b.mg = *mg;
    TRY(append(&b, &s, A, NULL));
    if (b.o.between && (b.scalar_constants || b.chains || b.o.coarse == PMG_FLUXES))
        multigrid_visit(b.mg, MG_TWICE, 1.0);
    if (b.o.between) TRY(descend_to_linear(&b, &s, &linear));
    TRY(make_last(&b, &s, &P, &link, &last));
    P.sums = 1;
    TRY(link.prolong != NULL ? multigrid_link(b.mg, &link) : multigrid_connect(b.mg, &P));
    last.singular = b.o.singular;
    TRY(multigrid_end_coarse(b.mg, b.coarse_device, &last,
                             &(struct coarse_options){.wish = b.o.last,
                                                      .unknowns = b.scalar_constants ? FEW_CONSTANTS : 0,
                                                      .fine_bytes = trace_operator_bytes(A),
                                                      .solid = space->mesh->dim == 3 && !b.tensor,
                                                      .locking = b.o.coarse >= PMG_FLUXES,
                                                      .cycle = b.chains ? MG_W : MG_K,
                                                      .external = b.o.external}));
    TRY(multigrid_finish(b.mg));
done:
    if (!b.owned) trace_matrices_destroy(&linear);
    trace_space_destroy(&s.own_space);
    trace_pieces_destroy(&b.pieces);
    mg_transfer_destroy(&P);
    mg_link_destroy(&link);
    coarse_matrix_destroy(&last);
    if (status != FACET_OK) multigrid_destroy(mg);
    return status;
}

/* With k = 1 and no Dirichlet face, linear functions and row modes are not independent (a chessboard of
 * vertices). What is then not positive definite gives way to the plain choice, unless the caller insists. */
facet_status trace_pmg_create(const struct trace_space *space, const struct trace_matrices *matrices,
                              const struct linear_operator *A, const struct pmg_options *options,
                              struct multigrid **mg) {
    struct pmg_options plain = *options;
    facet_status status = create(space, matrices, A, options, mg);
    if (status != FACET_NOT_CONVERGED || options->coarse != PMG_COARSE_AUTO ||
        team_size(mesh_team(space->mesh)) > 1)
        return status;
    plain.coarse = PMG_CONTINUOUS;
    return create(space, matrices, A, &plain, mg);
}
