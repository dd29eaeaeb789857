/* The levels of p-multigrid on the trace. See pmg.h. */
#include "trace/pmg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "solve/amg.h"
#include "trace/coarse.h"

/* Chebyshev steps before and after the coarse correction: more on stretched cells, and on quads and hexes in
 * proportion to the root of trace_smoothing_constant. Iterations fall as the degree rises, so that the work
 * is about the same; measured in docs/pmg.md. */
#define LEAST_DEGREE     4.0
#define LEAST_ROW_DEGREE 3.0
#define LARGEST_DEGREE   12.0
#define ROUND_CELL       2.0
#define STRETCH_POWER    0.6
#define TENSOR_WORK      1.3
#define VECTOR_WORK      1.5
/* Row modes come in when there is so much work without them, and so many times less with them. */
#define MUCH_WORK 12.0
#define ROWS_GAIN 3.0
/* Single precision is worth its copies from so many unknowns on, and safe up to such a spread. */
#define LARGE_SYSTEM 100000
#define LARGE_SPREAD 1e8
/* The factor of the last space may take this part of the bytes of the finest level, or so many bytes. */
#define FACTOR_SHARE 1.0
#define SMALL_FACTOR 3.2e7
/* Where aggregates would lock, the factor may take this part of the memory; so many unknowns of degree 0 are
 * few enough for degree 1. */
#define FACTOR_MEMORY_SHARE 0.3
#define SMALL_TRACE         30000
/* To order a matrix costs about as much as passing so many bytes for each of its entries; it may cost what so
 * many products do, and a small one is always tried. */
#define ORDERING_BYTES    2500.0
#define ORDERING_PRODUCTS 15.0
#define SMALL_ENTRIES     400000
/* A row mode couples strongly from this part of the strongest coupling of its node. */
#define STRONG_ROW 0.25

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
    int tensor; /* some cells are quads or hexes */
    int single; /* the levels of traces are in single precision */
    int self;   /* a cell is its own neighbour: it has no patch */
    int owned;  /* the matrices of degree 1 live inside their level */
    double fine_bytes;
};

/* ------------------------------------------------------------------------------ levels of traces */

static void examine(const struct facet_mesh *mesh, struct builder *b) {
    for (int k = 0; k < mesh->n_blocks; k++)
        if (mesh->blocks[k].count > 0 && !shape_is_simplex(mesh->blocks[k].shape)) b->tensor = 1;
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (mesh->face_cells[2 * (int64_t)f] == mesh->face_cells[2 * (int64_t)f + 1]) b->self = 1;
}

/* How hard the smoother has to work above a continuous space, with or without row modes. Asked of cells as
 * if no face were eliminated: a sample of a small mesh would else be one of boundary cells. */
static facet_status measure(const struct trace_space *space, const struct trace_matrices *matrices, int rows,
                            double *constant) {
    facet_status status = FACET_OK;
    struct trace_space all = {0};
    struct trace_nodes nodes = {0};
    uint8_t *none = NULL;
    TRY(CALLOC(none, space->mesh->n_faces));
    TRY(trace_space_create(space->mesh, space->degree, space->n_components, none, &all));
    TRY(trace_continuous_nodes(&all, rows, &nodes));
    TRY(trace_smoothing_constant(&all, matrices, &nodes.P, constant));
done:
    trace_nodes_destroy(&nodes);
    trace_space_destroy(&all);
    base_free(&none);
    return status;
}

static facet_status check_range(const struct trace_space *space, const struct trace_matrices *matrices) {
    double spread;
    facet_status status = trace_spread(space, matrices, &spread);
    if (status != FACET_OK || isfinite(spread)) return status;
    return base_fail(FACET_ERROR_INPUT,
                     "the numbers of this problem are beyond single precision; use {precision: double}");
}

/* A polynomial whose degree matches the work that the coarse space leaves. */
static facet_status choose_degree(struct builder *b, const struct trace_space *space,
                                  const struct trace_matrices *matrices, double constant) {
    double stretch, degree = LEAST_DEGREE;
    facet_status status = trace_stretch(space, matrices, &stretch);
    if (status != FACET_OK) return status;
    if (b->o.coarse == PMG_ROWS) degree = LEAST_ROW_DEGREE;
    if (space->n_components > 1) degree *= VECTOR_WORK;
    if (stretch > ROUND_CELL) degree *= pow(stretch / ROUND_CELL, STRETCH_POWER);
    if (b->tensor) degree = fmax(degree, TENSOR_WORK * sqrt(constant));
    if (b->o.smoother == PMG_CELLS) degree *= 0.7;
    b->o.degree = (int)fmin(round(degree), LARGEST_DEGREE);
    return FACET_OK;
}

static facet_status choose(struct builder *b, const struct trace_space *space,
                           const struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    struct pmg_options *o = &b->o;
    double constant = 1.0, with_rows = 1.0;
    if (o->coarse == PMG_LINEAR && space->degree <= 1) o->coarse = PMG_CONSTANT;
    if (b->tensor) TRY(measure(space, matrices, o->coarse == PMG_ROWS, &constant));
    if (o->coarse == PMG_COARSE_AUTO && o->incompressible) {
        int small = space->n_free_faces * space->n_components <= SMALL_TRACE;
        o->coarse = small ? PMG_LINEAR : PMG_CONSTANT; /* for k = 1 that is the matrix itself */
    } else if (o->coarse == PMG_COARSE_AUTO) {
        o->coarse = PMG_CONTINUOUS;
        if (b->tensor && constant > MUCH_WORK) TRY(measure(space, matrices, 1, &with_rows));
        if (b->tensor && constant > MUCH_WORK && constant > ROWS_GAIN * with_rows) {
            o->coarse = PMG_ROWS;
            constant = with_rows;
        }
    }
    b->single = o->precision == PMG_MIXED;
    if (b->single) TRY(check_range(space, matrices));
    if (o->precision == PMG_PRECISION_AUTO && space->n_free >= LARGE_SYSTEM && !o->incompressible) {
        double spread;
        TRY(trace_spread(space, matrices, &spread));
        b->single = spread < LARGE_SPREAD;
    }
    if (o->smoother == PMG_SMOOTHER_AUTO || b->self) o->smoother = PMG_FACES;
    if (o->degree == 0) TRY(choose_degree(b, space, matrices, constant));
    if (o->between < 0) o->between = !b->tensor;
    if (space->degree <= 1 || o->coarse != PMG_CONTINUOUS) o->between = 0;
done:
    return status;
}

/* The approximate inverse that the smoother uses, in double precision. */
static facet_status make_blocks(const struct builder *b, const struct stage *s, struct operator* D) {
    facet_status status = FACET_OK;
    struct trace_matrices patches = {0};
    double *blocks = NULL;
    TRY(trace_face_blocks(s->space, s->matrices, &blocks));
    if (b->o.smoother == PMG_CELLS) {
        TRY(trace_cell_patches(s->space, s->matrices, blocks, &patches));
        TRY(trace_operator_create(s->space, &patches, TRACE_CELLS, D));
        trace_operator_own(D, &patches);
    } else {
        TRY(operator_create_blocks(s->matrices->device, s->space->n_free_faces, s->space->free_offsets,
                                   blocks, D));
    }
done:
    trace_matrices_destroy(&patches);
    base_free(&blocks);
    return status;
}

/* *A becomes its twin in single precision. */
static facet_status round_operator(struct operator* A) {
    struct operator single = {0};
    facet_status status = operator_create_single(A, &single);
    if (status != FACET_OK) return status;
    operator_destroy(A);
    *A = single;
    return FACET_OK;
}

/* Appends the stage. A: the product, borrowed; NULL: own, which is taken over. */
static facet_status append(struct builder *b, const struct stage *s, const struct operator* A,
                           struct operator* own) {
    facet_status status = FACET_OK;
    struct operator D = {0}, single = {0};
    struct smoother smoother = {0};
    struct base_memory before, after;
    char name[32];
    base_memory_read(&before);
    TRY(make_blocks(b, s, &D));
    if (b->single) {
        TRY(round_operator(&D));
        if (A != NULL) {
            TRY(operator_create_single(A, &single));
            A = NULL;
            own = &single;
        } else {
            TRY(round_operator(own));
        }
    }
    TRY(smoother_create_chebyshev(A != NULL ? A : own, &D, POLYNOMIAL_FOURTH, 1.0, b->o.degree, &smoother));
    snprintf(name, sizeof name, "k=%d", s->space->degree);
    TRY(multigrid_append(b->mg, name, A, A == NULL ? own : NULL, &smoother));
    base_memory_read(&after);
    multigrid_describe(b->mg, 0, (double)(after.live_bytes - before.live_bytes));
done:
    if (A == NULL && own != NULL) operator_destroy(own);
    operator_destroy(&D);
    operator_destroy(&single);
    smoother_destroy(&smoother);
    return status;
}

/* The space of lower degree on the same free faces. */
static facet_status lower_space(const struct trace_space *space, int degree, struct trace_space *low) {
    facet_status status = FACET_OK;
    uint8_t *eliminated = NULL;
    TRY(ALLOC(eliminated, space->mesh->n_faces));
    for (int32_t f = 0; f < space->mesh->n_faces; f++) eliminated[f] = space->face_free[f] < 0;
    TRY(trace_space_create(space->mesh, degree, space->n_components, eliminated, low));
    if (space->fixed == NULL) goto done;
    TRY(ALLOC(low->fixed, low->n_free));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t first = space->free_offsets[b], to = low->free_offsets[b];
        int64_t m = (space->free_offsets[b + 1] - first) / space->n_components;
        int64_t m_low = (low->free_offsets[b + 1] - to) / space->n_components;
        for (int64_t i = 0; i < m_low * space->n_components; i++)
            low->fixed[to + i] = space->fixed[first + i / m_low * m + i % m_low];
    }
done:
    base_free(&eliminated);
    return status;
}

/* The stage of degree 1 below *s, which becomes it; appended. matrices: those of the new stage. */
static facet_status descend_to_linear(struct builder *b, struct stage *s, struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    struct mg_transfer P = {0};
    struct operator A = {0};
    TRY(lower_space(s->space, 1, &s->own_space));
    TRY(trace_inject(s->space, &s->own_space, &P));
    TRY(multigrid_connect(b->mg, &P));
    TRY(trace_matrices_lower(s->space, &s->own_space, s->matrices, matrices));
    TRY(trace_operator_create(&s->own_space, matrices, TRACE_CELLS, &A));
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

/* ------------------------------------------------------------------------------ the last space */

/* What is left: a matrix, its nodes and what is smooth in it. */
struct last {
    const char *name;
    struct csr csr;
    int64_t n_nodes;
    int64_t *offsets; /* of the nodes */
    int32_t *kinds;
    int n_modes;
    double *modes; /* n_modes x n */
};

static void last_destroy(struct last *l) {
    csr_destroy(&l->csr);
    base_free(&l->offsets);
    base_free(&l->kinds);
    base_free(&l->modes);
}

static facet_status last_alloc(struct last *l, int64_t n_nodes, int64_t n, int n_modes) {
    facet_status status = FACET_OK;
    l->n_nodes = n_nodes;
    l->n_modes = n_modes;
    TRY(ALLOC(l->offsets, n_nodes + 1));
    TRY(CALLOC(l->kinds, n_nodes));
    TRY(CALLOC(l->modes, n * n_modes));
done:
    return status;
}

/* Row modes are smooth when neighbours along the row are equal, up to the sign of odd polynomials, which
 * depends on the frames of their faces: walking along the strong couplings gives every one the sign that
 * makes these negative. Signs go into the first mode. */
static facet_status sign_rows(struct last *l, int64_t first) {
    facet_status status = FACET_OK;
    const struct csr *A = &l->csr;
    int64_t n = A->n, *stack = NULL;
    double *sign = l->modes, *least = NULL;
    TRY(ALLOC(stack, n));
    TRY(CALLOC(least, n));
    for (int64_t i = first; i < n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
            if (A->columns[k] >= first && A->columns[k] != i)
                least[i] = fmax(least[i], STRONG_ROW * fabs(A->values[k]));
    for (int64_t start = first; start < n; start++) {
        int64_t depth = 0;
        if (sign[start] != 0.0) continue;
        sign[start] = 1.0;
        stack[depth++] = start;
        while (depth > 0) {
            int64_t i = stack[--depth];
            for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
                int64_t j = A->columns[k];
                if (j < first || sign[j] != 0.0 || !(fabs(A->values[k]) >= least[i]) || A->values[k] == 0.0)
                    continue;
                sign[j] = A->values[k] < 0.0 ? sign[i] : -sign[i];
                stack[depth++] = j;
            }
        }
    }
done:
    base_free(&stack);
    base_free(&least);
    return status;
}

/* Traces of degree 0 or 1. */
static facet_status last_trace(const struct builder *b, const struct stage *s, int degree,
                               struct mg_transfer *P, struct last *l) {
    facet_status status = FACET_OK;
    struct trace_space low = {0};
    int nc = s->space->n_components, n_modes = b->o.n_modes > 0 ? b->o.n_modes : nc;
    TRY(lower_space(s->space, degree, &low));
    TRY(trace_inject(s->space, &low, P));
    TRY(trace_galerkin(s->space, s->matrices, P, &l->csr));
    TRY(last_alloc(l, low.n_free_faces, low.n_free, n_modes));
    memcpy(l->offsets, low.free_offsets, (size_t)(low.n_free_faces + 1) * sizeof *l->offsets);
    for (int64_t row = 0; row < P->n_rows && b->o.n_modes > 0; row++) /* the finest level is the one above */
        for (int64_t k = P->offsets[row]; k < P->offsets[row + 1]; k++)
            for (int a = 0; a < n_modes; a++)
                l->modes[a * low.n_free + P->columns[k]] = b->o.modes[a * P->n_rows + row];
    for (int64_t k = 0; k < low.n_free_faces && b->o.n_modes == 0; k++) {
        int64_t first = low.free_offsets[k], m = (low.free_offsets[k + 1] - first) / nc;
        double one = sqrt(shape_measure((enum shape)low.mesh->face_shapes[low.free_faces[k]]));
        for (int c = 0; c < nc; c++) l->modes[c * low.n_free + first + c * m] = one;
    }
    l->name = degree == 0 ? "k=0" : "k=1";
done:
    trace_space_destroy(&low);
    return status;
}

/* The near-null vectors of a continuous space: the components by themselves, or rigid motions. */
static void fill_modes(const struct facet_mesh *mesh, const struct trace_nodes *nodes, const double *points,
                       int rigid, struct last *l) {
    int64_t n = l->csr.n;
    int dim = mesh->dim;
    for (int64_t i = 0; i < nodes->n_vertices; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++) {
            int c = nodes->components[j];
            l->modes[c * n + j] = 1.0;
            for (int r = 0; rigid && r < (dim == 2 ? 1 : 3); r++) { /* e_r x x */
                const double *x = points + (int64_t)nodes->vertices[i] * dim;
                double *mode = l->modes + (dim + r) * n;
                int a = dim == 2 ? 0 : (r + 1) % 3, b = dim == 2 ? 1 : (r + 2) % 3;
                mode[j] = c == b ? x[a] : c == a ? -x[b] : 0.0;
            }
        }
}

/* Coordinates of the vertices of a mesh, from the middle of the box around them. */
static void vertex_points(const struct facet_mesh *mesh, double *points) {
    int dim = mesh->dim;
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < mesh->n_blocks; k++) {
        const struct mesh_block *b = &mesh->blocks[k];
        int nv = shape_n_vertices(b->shape);
        for (int64_t c = 0; c < b->count; c++)
            for (int v = 0; v < nv; v++)
                memcpy(points + (int64_t)b->vertices[c * nv + v] * dim,
                       b->nodes + (c * b->n_nodes + shape_vertex_node(b->shape, mesh->order, v)) * dim,
                       (size_t)dim * sizeof *points);
    }
    for (int64_t i = 0; i < (int64_t)mesh->n_vertices * dim; i++) {
        lower[i % dim] = fmin(lower[i % dim], points[i]);
        upper[i % dim] = fmax(upper[i % dim], points[i]);
    }
    for (int64_t i = 0; i < (int64_t)mesh->n_vertices * dim; i++)
        points[i] -= 0.5 * (lower[i % dim] + upper[i % dim]);
}

/* Continuous functions, with or without row modes. */
static facet_status last_continuous(const struct builder *b, const struct stage *s, struct mg_transfer *P,
                                    struct last *l) {
    facet_status status = FACET_OK;
    struct trace_nodes nodes = {0};
    double *points = NULL;
    const struct facet_mesh *mesh = s->space->mesh;
    int nc = s->space->n_components, rigid = b->o.n_modes > nc;
    TRY(trace_continuous_nodes(s->space, b->o.coarse == PMG_ROWS, &nodes));
    if (nodes.n == 0) { /* every vertex lies on an eliminated face */
        TRY(last_trace(b, s, 0, P, l));
        goto done;
    }
    TRY(trace_galerkin(s->space, s->matrices, &nodes.P, &l->csr));
    TRY(last_alloc(l, nodes.n, nodes.P.n_columns, rigid ? b->o.n_modes : nc));
    memcpy(l->offsets, nodes.offsets, (size_t)(nodes.n + 1) * sizeof *l->offsets);
    for (int64_t i = nodes.n_vertices; i < nodes.n; i++) l->kinds[i] = 1;
    TRY(ALLOC(points, (int64_t)mesh->n_vertices * mesh->dim));
    vertex_points(mesh, points);
    fill_modes(mesh, &nodes, points, rigid, l);
    TRY(sign_rows(l, nodes.offsets[nodes.n_vertices]));
    *P = nodes.P;
    nodes.P = (struct mg_transfer){0};
    l->name = nodes.n > nodes.n_vertices ? "linear+rows" : "linear";
done:
    base_free(&points);
    trace_nodes_destroy(&nodes);
    return status;
}

static int is_worth_ordering(const struct builder *b, const struct csr *csr) {
    double entries = (double)csr->offsets[csr->n];
    if (b->o.incompressible) return csr->n <= cholesky_reasonable_size(); /* aggregates would lock */
    return csr->n <= cholesky_reasonable_size() &&
           (entries <= SMALL_ENTRIES || ORDERING_BYTES * entries <= ORDERING_PRODUCTS * b->fine_bytes);
}

/* Ends the list with a factor if it is small enough, or if it must be; *done says whether. */
static facet_status end_factored(struct builder *b, struct last *l, int *done) {
    facet_status status = FACET_OK;
    struct cholesky *cholesky = NULL;
    struct operator solve = {0};
    double bytes;
    *done = 0;
    if (b->o.last == PMG_AMG || (b->o.last == PMG_LAST_AUTO && !is_worth_ordering(b, &l->csr))) goto done;
    TRY(cholesky_analyze(&l->csr, l->n_nodes, l->offsets, b->o.singular ? 0 : -1, &cholesky, &bytes));
    double most = b->o.incompressible ? FACTOR_MEMORY_SHARE * (double)base_available_bytes()
                                      : fmax(FACTOR_SHARE * b->fine_bytes, SMALL_FACTOR);
    if (b->o.last == PMG_LAST_AUTO && bytes > most) goto done;
    int64_t n = l->csr.n, entries = l->csr.offsets[n];
    TRY(cholesky_factor_last(cholesky, &l->csr));
    TRY(operator_create_cholesky(b->coarse_device, n, &cholesky, &solve));
    TRY(multigrid_end(b->mg, l->name, &solve));
    multigrid_describe(b->mg, entries, bytes);
    *done = 1;
done:
    cholesky_destroy(&cholesky);
    operator_destroy(&solve);
    return status;
}

static facet_status end_list(struct builder *b, struct last *l) {
    facet_status status = FACET_OK;
    struct amg_options amg;
    int done;
    TRY(end_factored(b, l, &done));
    if (done) goto done;
    amg_options_default(&amg);
    amg.kinds = l->kinds;
    amg.name = l->name;
    amg.n_kernel = b->o.singular ? l->n_modes : 0;
    if (b->o.coarse == PMG_CONTINUOUS || b->o.coarse == PMG_ROWS) amg.leading = 0;
    multigrid_visit(b->mg, MG_K, 1.0);
    TRY(multigrid_append_amg(b->mg, b->coarse_device, &l->csr, l->n_nodes, l->offsets, l->n_modes, l->modes,
                             &amg));
done:
    return status;
}

static facet_status create(const struct trace_space *space, const struct trace_matrices *matrices,
                           const struct operator* A, const struct pmg_options *options,
                           struct multigrid **mg) {
    facet_status status = FACET_OK;
    struct builder b = {.o = *options, .fine_bytes = trace_operator_bytes(A)};
    struct stage s = {.space = space, .matrices = matrices};
    struct trace_matrices linear = {0};
    struct mg_transfer P = {0};
    struct last last = {0};
    b.coarse_device = options->coarse_device != NULL ? options->coarse_device : matrices->device;
    examine(space->mesh, &b);
    TRY(choose(&b, space, matrices));
    TRY(multigrid_create(mg));
    b.mg = *mg;
    TRY(append(&b, &s, A, NULL));
    if (b.o.between) TRY(descend_to_linear(&b, &s, &linear));
    TRY(b.o.coarse == PMG_CONTINUOUS || b.o.coarse == PMG_ROWS
            ? last_continuous(&b, &s, &P, &last)
            : last_trace(&b, &s, b.o.coarse == PMG_LINEAR, &P, &last));
    TRY(multigrid_connect(b.mg, &P));
    TRY(end_list(&b, &last));
    TRY(multigrid_finish(b.mg));
done:
    if (!b.owned) trace_matrices_destroy(&linear);
    trace_space_destroy(&s.own_space);
    mg_transfer_destroy(&P);
    last_destroy(&last);
    if (status != FACET_OK) multigrid_destroy(mg);
    return status;
}

/* With k = 1 and no Dirichlet face, linear functions and row modes are not independent (a chessboard of
 * vertices); a lonely cell's patch is singular. What is then not positive definite gives way to the plain
 * choice, unless the caller insists. */
facet_status trace_pmg_create(const struct trace_space *space, const struct trace_matrices *matrices,
                              const struct operator* A, const struct pmg_options *options,
                              struct multigrid **mg) {
    struct pmg_options plain = *options;
    facet_status status = create(space, matrices, A, options, mg);
    if (status != FACET_NOT_CONVERGED) return status;
    if (options->coarse == PMG_COARSE_AUTO) plain.coarse = PMG_CONTINUOUS;
    if (options->smoother == PMG_SMOOTHER_AUTO) plain.smoother = PMG_FACES;
    return create(space, matrices, A, &plain, mg);
}
