/* Continuous Galerkin, condensed: tables of the modes, and one cell's matrices. */
#include "hdg/condensed.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/modal.h"

/* ------------------------------------------------------------------------------------------ tables */

/* Modes at points, interior first: phi n x M, grad (or NULL) dim x n x M. */
static facet_status tabulate(enum shape shape, int degree, int n, const double *xi, double *phi,
                             double *grad) {
    facet_status status = FACET_OK;
    int boundary = modal_n_boundary(shape, degree), M = basis_size(shape, degree), dim = shape_dim(shape);
    double *values = NULL, *gradients = NULL;
    TRY(ALLOC(values, (int64_t)n * M));
    TRY(ALLOC(gradients, (int64_t)n * M * dim));
    TRY(modal_eval(shape, degree, NULL, n, xi, values, gradients));
    for (int64_t p = 0; p < n; p++)
        for (int i = 0; i < M; i++) {
            int64_t from = p * M + (i + boundary) % M, to = p * M + i;
            phi[to] = values[from];
            for (int d = 0; d < dim && grad != NULL; d++)
                grad[(int64_t)d * n * M + to] = gradients[from * dim + d];
        }
done:
    base_free(&values);
    base_free(&gradients);
    return status;
}

/* Reference matrices by a rule that is exact for them. */
struct reference {
    struct rule rule;
    double *phi, *grad, *orthonormal, *weighted;
};

static void reference_destroy(struct reference *r) {
    rule_destroy(&r->rule);
    base_free(&r->phi);
    base_free(&r->grad);
    base_free(&r->orthonormal);
    base_free(&r->weighted);
}

/* out (M x M) = beta out + sum_q w_q left_i right_j. */
static void add_product(struct reference *r, int M, const double *left, const double *right, double beta,
                        double *out) {
    hdg_weighted_product(r->rule.n, M, left, M, r->rule.w, 1, M, right, M, beta, r->weighted, out, M);
}

static int n_terms(int dim) {
    return dim * (dim + 1) / 2 + 1;
}

static facet_status make_terms(const struct hdg *h, enum shape shape, struct condensed_block *c) {
    facet_status status = FACET_OK;
    struct reference r = {0};
    int M = c->N + c->n, degree = h->space.degree, dim = shape_dim(shape);
    double *T;
    TRY(rule_create(shape, 2 * degree, &r.rule));
    int64_t n = r.rule.n, size = (int64_t)M * M;
    TRY(ALLOC(r.phi, n * M));
    TRY(ALLOC(r.grad, n * M * dim));
    TRY(ALLOC(r.orthonormal, n * M));
    TRY(ALLOC(r.weighted, n * M));
    TRY(ALLOC(c->terms, n_terms(dim) * size));
    TRY(ALLOC(c->change, size));
    TRY(ALLOC(c->moments, M));
    TRY(tabulate(shape, degree, r.rule.n, r.rule.x, r.phi, r.grad));
    TRY(basis_eval(shape, degree, r.rule.n, r.rule.x, r.orthonormal, NULL));
    add_product(&r, M, r.phi, r.orthonormal, 0.0, c->change);
    T = c->terms;
    for (int b = 0; b < dim; b++)
        for (int a = 0; a <= b; a++, T += size) {
            add_product(&r, M, r.grad + a * n * M, r.grad + b * n * M, 0.0, T);
            if (a < b) add_product(&r, M, r.grad + b * n * M, r.grad + a * n * M, 1.0, T);
        }
    add_product(&r, M, r.phi, r.phi, 0.0, T);
    cblas_dgemv(CblasRowMajor, CblasTrans, r.rule.n, M, 1.0, r.phi, M, r.rule.w, 1, 0.0, c->moments, 1);
done:
    reference_destroy(&r);
    return status;
}

/* What the kernel needs. */
static facet_status make_sums(const struct hdg *h, enum shape shape, struct condensed_block *c) {
    facet_status status = FACET_OK;
    int M = c->N + c->n, own = h->space.degree - 1, vertices = shape_n_vertices(shape);
    size_t n_numbers = (size_t)n_terms(2) * (size_t)M * (size_t)M;
    TRY(ALLOC(c->signs, c->n));
    for (int i = 0; i < c->n; i++) {
        int at = i - vertices, odd = at >= 0 && at % own % 2 == 1; /* mode j + 2 of its edge */
        c->signs[i] = odd ? at / own : -1;
    }
    c->sums = (struct sum_tables){.lanes = h->lanes,
                                  .N = c->N,
                                  .n = c->n,
                                  .n_terms = n_terms(2),
                                  .n_ones = vertices,
                                  .n_signs = shape_n_faces(shape)};
    TRY(device_copy(h->device, &c->sums.terms, c->terms, n_numbers, sizeof(double)));
    TRY(device_copy(h->device, &c->sums.moments, c->moments, (size_t)M, sizeof(double)));
    TRY(device_copy(h->device, &c->sums.signs, c->signs, (size_t)c->n, sizeof *c->signs));
done:
    return status;
}

static facet_status make_turns(enum shape shape, int degree, struct condensed_block *c) {
    facet_status status = FACET_OK;
    for (int d = 1; d < shape_dim(shape); d++) {
        enum shape entity = shape_entity_shape(shape, d);
        int n = modal_n_interior(entity, degree);
        for (int o = 1; n > 0 && o < shape_n_orientations(entity); o++) {
            TRY(ALLOC(c->turns[d][o], n * n));
            TRY(modal_turn(entity, degree, o, c->turns[d][o]));
        }
    }
done:
    return status;
}

/* Points along the edges of a 3D cell. The tables are wanted for their geometry: one function will do. */
static facet_status make_edges(const struct hdg *h, enum shape shape, struct condensed_edges *edges) {
    facet_status status = FACET_OK;
    int degree = h->space.degree, order = h->data.mesh->order, dim = shape_dim(shape);
    const double *v = shape_vertices(shape);
    double *xi = NULL;
    TRY(hdg_default_rule(HDG_BOUNDARY, SHAPE_SEGMENT, degree, order, &edges->rule));
    int n = edges->rule.n;
    TRY(ALLOC(edges->psi, n * (degree + 1)));
    TRY(modal_eval(SHAPE_SEGMENT, degree, NULL, n, edges->rule.x, edges->psi, NULL));
    TRY(ALLOC(xi, n * dim));
    for (int e = 0; e < shape_n_entities(shape, 1); e++)
        for (int o = 0; o < 2; o++) {
            const int *ends = shape_entity_vertices(shape, 1, e);
            const double *from = v + ends[o] * dim, *to = v + ends[1 - o] * dim;
            for (int q = 0; q < n; q++)
                for (int a = 0; a < dim; a++)
                    xi[q * dim + a] = from[a] + edges->rule.x[q] * (to[a] - from[a]);
            TRY(hdg_table_create(shape, 0, order, n, xi, &edges->side[e][o]));
        }
done:
    base_free(&xi);
    return status;
}

static facet_status make_block(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct condensed_block *c = &h->condensed->blocks[block];
    int degree = h->space.degree, dim = h->data.mesh->dim, M = b->N;
    c->N = h->n_eliminated[block] = modal_n_interior(b->shape, degree);
    c->n = modal_n_boundary(b->shape, degree);
    TRY(ALLOC(c->phi, (int64_t)b->cell.n * M));
    TRY(ALLOC(c->grad, (int64_t)b->cell.n * M * dim));
    TRY(tabulate(b->shape, degree, b->cell.n, b->cell.xi, c->phi, c->grad));
    TRY(ALLOC(c->psi, b->boundary.rule.n * b->m));
    TRY(modal_eval(shape_face_shape(b->shape, 0), degree, NULL, b->boundary.rule.n, b->boundary.rule.x,
                   c->psi, NULL));
    TRY(make_terms(h, b->shape, c));
    TRY(make_turns(b->shape, degree, c));
    if (dim == 2)
        TRY(make_sums(h, b->shape, c));
    else
        TRY(make_edges(h, b->shape, &c->edges));
done:
    return status;
}

static facet_status number(struct hdg *h, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    if (modal_n_interior(SHAPE_QUAD, h->space.degree) > MODAL_MAX_SHARED)
        FAIL(FACET_ERROR_INPUT, "the condensed method has no degree %d", h->space.degree);
    TRY(CALLOC(h->condensed, 1));
    TRY(continuous_space_create(h->data.mesh, h->space.degree, eliminated, &h->condensed->space, &h->trace));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(make_block(h, b));
done:
    return status;
}

static void destroy_block(const struct hdg *h, struct condensed_block *c) {
    double **arrays[] = {&c->phi, &c->grad, &c->change, &c->psi, &c->moments, &c->terms, &c->edges.psi};
    for (int i = 0; i < 7; i++) base_free(arrays[i]);
    for (int i = 0; i < 3 * 8; i++) base_free(&c->turns[i / 8][i % 8]);
    base_free(&c->signs);
    device_free(h->device, &c->sums.terms);
    device_free(h->device, &c->sums.moments);
    device_free(h->device, &c->sums.signs);
    rule_destroy(&c->edges.rule);
    for (int i = 0; i < 2 * SHAPE_MAX_EDGES; i++) hdg_table_destroy(&c->edges.side[i / 2][i % 2]);
}

static void destroy(struct hdg *h) {
    if (h->condensed == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) destroy_block(h, &h->condensed->blocks[b]);
    continuous_space_destroy(&h->condensed->space);
    base_free(&h->condensed);
}

/* ------------------------------------------------------------------------------------------ frames */

#define COLUMNS 8 /* that are turned together */

/* Rows of A become T (or T') times them: one entity with `n` modes. */
static void turn_rows(int n, const double *T, int transposed, int n_columns, int64_t row, int64_t column,
                      double *A) {
    double sums[MODAL_MAX_SHARED][COLUMNS];
    for (int begin = 0; begin < n_columns; begin += COLUMNS, A += COLUMNS * column) {
        int width = n_columns - begin < COLUMNS ? n_columns - begin : COLUMNS;
        memset(sums, 0, (size_t)n * sizeof *sums);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double t = T[i * n + j], *to = sums[transposed ? j : i];
                const double *from = A + (transposed ? i : j) * row;
                for (int k = 0; t != 0.0 && k < width; k++) to[k] += t * from[k * column];
            }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < width; k++) A[i * row + k * column] = sums[i][k];
    }
}

/* Turns the boundary modes of a cell into the common frames, or back (transposed): mode i of column k is
 * A[i * row + k * column]. */
static void turn(const struct hdg *h, int block, int32_t cell, int transposed, int n_columns, int64_t row,
                 int64_t column, double *A) {
    const struct condensed_block *c = &h->condensed->blocks[block];
    enum shape shape = h->space.blocks[block].shape;
    unsigned char orientations[TRACE_MAX_SLOTS], *o = orientations;
    const int *slot = h->trace.slots[block] + shape_n_vertices(shape);
    continuous_orientations(&h->condensed->space, block, cell, orientations);
    for (int d = 1; d < shape_dim(shape); d++)
        for (int e = 0; e < shape_n_entities(shape, d); e++, o++, slot++)
            if (c->turns[d][*o] != NULL)
                turn_rows(slot[1] - slot[0], c->turns[d][*o], transposed, n_columns, row, column,
                          A + slot[0] * row);
}

/* ------------------------------------------------------------------------------------------ one cell */

/* Is the matrix a sum of reference matrices? The cell is the cell at hand. */
static int is_sum(const struct local *l) {
    const struct hdg_data *data = &l->hdg->data;
    return l->mass == FLUX_SCALED &&
           local_constant_reaction(data, local_region(data, l->block, l->cell), NULL);
}

static facet_status sum_matrix(struct local *l, double *moments) {
    facet_status status = FACET_OK;
    const struct condensed_block *c = &l->hdg->condensed->blocks[l->block];
    int dim = l->hdg->data.mesh->dim, M = c->N + c->n, pairs = n_terms(dim) - 1;
    double stiffness[6];
    struct batch_cell a;
    TRY(batch_cell(l, l->block, l->cell, &a));
    batch_stiffness(dim, &a, 1, stiffness);
    double reaction = a.reaction * a.det;
    for (int64_t i = 0; i < M; i++) {
        memset(l->C + i * M + i, 0, (size_t)(M - i) * sizeof *l->C);
        for (int64_t p = 0; p <= pairs; p++)
            cblas_daxpy((int)(M - i), p < pairs ? stiffness[p] : reaction, c->terms + (p * M + i) * M + i, 1,
                        l->C + i * M + i, 1);
        moments[i] = reaction * c->moments[i];
    }
done:
    return status;
}

/* C = [S R; . H], upper triangle, by the cell rule; moments (N + n) = (lambda, modes). */
static facet_status cell_matrix(struct local *l, double *moments) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct condensed_block *c = &h->condensed->blocks[l->block];
    int dim = h->data.mesh->dim, M = c->N + c->n, n = h->space.blocks[l->block].cell.n;
    if (is_sum(l)) return sum_matrix(l, moments);
    if (l->mass == FLUX_SCALED || l->mass == FLUX_CONSTANT) /* local_begin evaluated one point only */
        for (int q = 1; q < n; q++) memcpy(l->K + q * dim * dim, l->K, (size_t)(dim * dim) * sizeof *l->K);
    TRY(local_place(local_stiffness(l, n, M, c->grad, 0, l->C), l));
    memset(moments, 0, (size_t)M * sizeof *moments);
    if (h->data.reaction == NULL) goto done;
    TRY(local_place(
        local_reaction(&h->data, local_region(&h->data, l->block, l->cell), n, l->geometry.x, l->values), l));
    for (int q = 0; q < n; q++) {
        double weight = l->geometry.wJ[q] * l->values[q], root = sqrt(weight);
        cblas_daxpy(M, weight, c->phi + (int64_t)q * M, 1, moments, 1);
        for (int i = 0; i < M; i++) l->weighted[(int64_t)q * M + i] = root * c->phi[(int64_t)q * M + i];
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, M, n, 1.0, l->weighted, M, 1.0, l->C, M);
done:
    return status;
}

static facet_status plain_matrix(struct local *l) {
    return cell_matrix(l, l->vector);
}

static facet_status condense_cell(struct local *l, double *K, double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct condensed_block *c = &h->condensed->blocks[l->block];
    int N = c->N, n = c->n, ones[SHAPE_MAX_VERTICES],
        n_ones = shape_n_vertices(h->space.blocks[l->block].shape);
    double *moments = l->vector, *sums = moments + N;
    for (int i = 0; i < n_ones; i++) ones[i] = i;
    TRY(cell_matrix(l, moments));
    TRY(local_eliminate(l, N, n, K));
    if (N > 0) { /* K 1 = lambda (m_b - R'S^-1 m_i) */
        local_half_solve(l, N, n, 0, moments);
        cblas_dgemv(CblasRowMajor, CblasTrans, N, n, -1.0, l->C + N, N + n, moments, 1, 1.0, sums, 1);
    }
    l->missing = fmax(l->missing, local_restore_sums(n, n_ones, ones, 1.0, sums, K));
    turn(h, l->block, l->cell, 0, n, n, 1, K);
    turn(h, l->block, l->cell, 0, n, 1, n, K);
    TRY(condensed_add_robin(l, K, largest_robin));
done:
    return status;
}

static void turn_vector(const struct local *l, int back, double *v) {
    turn(l->hdg, l->block, l->cell, !back, 1, 1, 0, v);
}

/* ------------------------------------------------------------------------------------------ fast cells */

static facet_status fill_cell(struct local *l, int block, int32_t cell, double *c,
                              struct batch_facts *facts) {
    const int lanes = l->hdg->lanes;
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const uint8_t *orientations = h->data.mesh->blocks[block].orientations;
    int dim = h->data.mesh->dim, n_faces = h->space.blocks[block].n_faces, pairs = dim * (dim + 1) / 2;
    struct batch_cell a;
    TRY(batch_cell(l, block, cell, &a));
    batch_stiffness(dim, &a, lanes, c);
    c[pairs * lanes] = a.reaction * a.det;
    for (int f = 0; f < n_faces; f++)
        c[(pairs + 1 + f) * lanes] = orientations[(int64_t)cell * n_faces + f] == 0 ? 1.0 : -1.0;
    *facts = (struct batch_facts){a.det, a.reaction};
done:
    return status;
}

static int64_t run_fast(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                        double *K, double *scratch) {
    return device_condense_sum(h->device, &h->condensed->blocks[block].sums, n_batches, coefficients, K,
                               scratch);
}

static int64_t solve_fast(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                          const double *uhat, double *u, double *q, double *load, double *scratch) {
    (void)q; /* there is none */
    return device_sum_solve(h->device, &h->condensed->blocks[block].sums, n_batches, coefficients, uhat, u,
                            load, scratch);
}

/* Robin's integrals are those of the modes in their frames, cell by cell. */
static int fits(const struct hdg *h, int block, int32_t cell) {
    return batch_fits_diffusion(h, block, cell) && !batch_has_robin(h, block, cell);
}

static void condenser_of(const struct hdg *h, int block, struct condenser *condenser) {
    const struct condensed_block *c = &h->condensed->blocks[block];
    *condenser = (struct condenser){.N = c->N,
                                    .n = c->n,
                                    .matrix = plain_matrix,
                                    .cell = condense_cell,
                                    .turn = turn_vector,
                                    .sign = -1.0};
    if (h->data.mesh->dim != 2) return; /* frames change more than signs there */
    condenser->n_coefficients = c->sums.n_terms + c->sums.n_signs;
    condenser->n_scratch = condenser->n_inner = device_condense_sum_scratch(h->device, &c->sums);
    condenser->fill = fill_cell;
    condenser->fast = run_fast;
    condenser->solve = solve_fast;
}

/* ------------------------------------------------------------------------------------------ vectors */

/* (f, phi) of the orthonormal basis becomes those of the modes, in the frames. */
static void split_load(const struct hdg *h, int block, int32_t cell, const double *load, double *interior,
                       double *boundary) {
    const int lanes = h->lanes;
    const struct condensed_block *c = &h->condensed->blocks[block];
    int M = c->N + c->n;
    for (int i = 0; i < M; i++) {
        double value = cblas_ddot(M, c->change + (int64_t)i * M, 1, load, 1);
        if (i < c->N)
            interior[i * lanes] = value;
        else
            boundary[(i - c->N) * lanes] = value;
    }
    turn(h, block, cell, 0, 1, lanes, 0, boundary);
}

/* From the modes of the cell at hand to its orthonormal basis. */
static void join(struct local *l, const double *interior, const double *boundary, double *u) {
    const int lanes = l->hdg->lanes;
    const struct condensed_block *c = &l->hdg->condensed->blocks[l->block];
    int M = c->N + c->n;
    double *modal = l->vector;
    for (int i = 0; i < c->N; i++) modal[i] = interior[i * lanes];
    for (int i = 0; i < c->n; i++) modal[c->N + i] = boundary[i * lanes];
    turn(l->hdg, l->block, l->cell, 1, 1, 1, 0, modal + c->N);
    cblas_dgemv(CblasRowMajor, CblasTrans, M, M, 1.0, c->change, M, modal, 1, 0.0, u, 1);
}

/* 1 at vertices, all other modes being 0. */
static double one_on(const struct hdg *h, int64_t node) {
    return node < h->condensed->space.skeleton.n_vertices ? 1.0 : 0.0;
}

const struct equation equation_condensed = {
    .least_degree = 1,
    .fields = HDG_BIT(HDG_U) | HDG_BIT(HDG_Q),
    .conditions = DIFFUSION_CONDITIONS,
    .on_boxes = 1,
    .floats = 1,
    .fits = fits,
    .outward = 1.0,
    .no_star = "the condensed method has no post-processing",
    .written = {HDG_U, HDG_Q, -1},
    DIFFUSION_ERRORS,
    .number = number,
    .boundary = condensed_boundary_data,
    .destroy = destroy,
    .one_on = one_on,
    .scratch = diffusion_scratch,
    .scratch_at = diffusion_scratch_at,
    .begin = diffusion_begin,
    .exact_source = diffusion_exact_source,
    .condition_values = diffusion_condition_values,
    .condenser = condenser_of,
    .split_load = split_load,
    .join = join,
    .evaluate = diffusion_evaluate,
    .exact_values = diffusion_exact_values,
};
