/* The algebraic multigrid: levels made one from the other and appended to a multigrid. See amg.h. */
#include "solve/amg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "solve/amg_grid.h"

void amg_options_default(struct amg_options *options) {
    *options = (struct amg_options){.cycle = MG_K,
                                    .aggregation = AMG_AUTO,
                                    .passes = 2,
                                    .threshold = 0.25,
                                    .leading = -1,
                                    .polynomial = POLYNOMIAL_FOURTH,
                                    .ratio = 10.0,
                                    .degree = 2,
                                    .coarse_degree = 2,
                                    .overcorrection = 1.0,
                                    .coarse_size = 300};
}

/* How the levels are made into those of a multigrid. */
struct builder {
    const struct device *device;
    const struct amg_options *options;
    struct multigrid *mg;
    int first, n_levels; /* of mg when we began; ours so far */
};

/* Appends `grid` with its smoother. */
static facet_status append_level(struct builder *b, const struct amg_grid *grid) {
    facet_status status = FACET_OK;
    const struct amg_options *o = b->options;
    const struct linear_operator *A = b->n_levels == 0 ? o->fine : NULL;
    struct linear_operator own = {0}, D = {0};
    struct smoother smoother = {0};
    char name[32];
    int64_t nnz = grid->A.offsets[grid->A.n];
    if (A == NULL) TRY(operator_create_csr(b->device, &grid->A, &own));
    TRY(operator_create_block_jacobi(b->device, &grid->A, grid->n_nodes, grid->nodes, &D));
    TRY(smoother_create_chebyshev(A != NULL ? A : &own, &D, o->polynomial, o->ratio,
                                  b->n_levels == 0 ? o->degree : o->coarse_degree, &smoother));
    if (b->n_levels == 0)
        snprintf(name, sizeof name, "%s", o->name != NULL ? o->name : "matrix");
    else
        snprintf(name, sizeof name, "%s %d", o->aggregation == AMG_CLASSICAL ? "classical" : "aggregates",
                 b->n_levels);
    TRY(multigrid_append(b->mg, name, A, A == NULL ? &own : NULL, &smoother));
    multigrid_visit(b->mg, o->cycle, o->overcorrection);
    multigrid_describe(b->mg, nnz, A != NULL ? 0.0 : 12.0 * (double)nnz + 8.0 * (double)grid->A.n);
    b->n_levels++;
done:
    operator_destroy(&own);
    operator_destroy(&D);
    smoother_destroy(&smoother);
    return status;
}

/* Dense: A + s N N', N an orthonormal basis of the kernel, s the largest diagonal entry. The inverse is that
 * of A on what is orthogonal to the kernel. */
static facet_status regular_dense(const struct amg_grid *grid, int n_kernel, struct csr *dense) {
    facet_status status = FACET_OK;
    int64_t n = grid->A.n, m = grid->n_modes;
    double scale = 0.0, *N = NULL;
    dense->n = n;
    TRY(ALLOC(dense->offsets, n + 1));
    TRY(ALLOC(dense->columns, n * n));
    TRY(CALLOC(dense->values, n * n));
    TRY(ALLOC(N, n * (n_kernel > 0 ? n_kernel : 1)));
    for (int64_t i = 0; i <= n; i++) dense->offsets[i] = i * n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) dense->columns[i * n + j] = (int32_t)j;
        for (int64_t k = grid->A.offsets[i]; k < grid->A.offsets[i + 1]; k++)
            dense->values[i * n + grid->A.columns[k]] = grid->A.values[k];
        scale = fmax(scale, dense->values[i * n + i]);
    }
    for (int a = 0; a < n_kernel; a++) {
        double *v = N + a * n, square = 0.0;
        for (int64_t k = 0; k < grid->n_nodes; k++)
            for (int64_t i = grid->nodes[k]; i < grid->nodes[k + 1]; i++)
                v[i] = grid->kind[k] == 0 ? grid->modes[i * m + a] : 0.0;
        for (int b = 0; b < 2 * a; b++) { /* Gram-Schmidt, twice */
            const double *u = N + (b % a) * n;
            double dot = 0.0;
            for (int64_t i = 0; i < n; i++) dot += u[i] * v[i];
            for (int64_t i = 0; i < n; i++) v[i] -= dot * u[i];
        }
        for (int64_t i = 0; i < n; i++) square += v[i] * v[i];
        for (int64_t i = 0; square > 0.0 && i < n; i++) v[i] /= sqrt(square);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) dense->values[i * n + j] += scale * v[i] * v[j];
    }
done:
    base_free(&N);
    return status;
}

/* The coarsest level: inverted, or, when no node of it needs any other, by blocks. */
static facet_status end_levels(struct builder *b, const struct amg_grid *grid, int blocks_do) {
    facet_status status = FACET_OK;
    struct csr dense = {0};
    struct linear_operator last = {0};
    int64_t whole[2] = {0, grid->A.n};
    if (blocks_do || grid->n_nodes == 0) {
        TRY(operator_create_block_jacobi(b->device, &grid->A, grid->n_nodes, grid->nodes, &last));
    } else {
        TRY(regular_dense(grid, b->options->n_kernel, &dense));
        TRY(operator_create_block_jacobi(b->device, &dense, 1, whole, &last));
    }
    TRY(multigrid_end(b->mg, blocks_do ? "blocks" : "inverse", &last));
    multigrid_describe(b->mg, grid->A.offsets[grid->A.n], 8.0 * (double)grid->A.n * (double)grid->A.n);
done:
    csr_destroy(&dense);
    operator_destroy(&last);
    return status;
}

/* ------------------------------------------------------------------------------ setup */

static facet_status check_input(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets,
                                int n_modes, const struct amg_options *o) {
    if (n_modes < 1 || n_modes > AMG_MAX_MODES)
        return base_fail(FACET_ERROR_INPUT, "multigrid takes 1 to %d near-null vectors, not %d",
                         AMG_MAX_MODES, n_modes);
    if (block_offsets[0] != 0 || block_offsets[n_blocks] != csr->n)
        return base_fail(FACET_ERROR_INPUT, "the blocks do not cover the %lld unknowns", (long long)csr->n);
    if (o->degree < 1 || o->degree > MG_MAX_DEGREE || o->coarse_degree < 1 ||
        o->coarse_degree > MG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d", MG_MAX_DEGREE);
    if (o->passes < 1 || o->coarse_size < 1 || o->n_kernel < 0 || o->n_kernel > n_modes || !(o->ratio > 1.0))
        return base_fail(FACET_ERROR_INPUT, "an option of the multigrid is out of range");
    return FACET_OK;
}

/* The finest grid borrows the caller's matrix; its modes are a copy, by rows. */
static facet_status borrow(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets, int n_modes,
                           const double *modes, const int32_t *kinds, struct amg_grid *grid) {
    facet_status status = FACET_OK;
    *grid = (struct amg_grid){.A = *csr, .n_nodes = n_blocks, .n_modes = n_modes};
    TRY(ALLOC(grid->nodes, n_blocks + 1));
    TRY(CALLOC(grid->kind, n_blocks));
    TRY(ALLOC(grid->modes, csr->n * n_modes));
    if (kinds != NULL) memcpy(grid->kind, kinds, (size_t)n_blocks * sizeof *kinds);
    memcpy(grid->nodes, block_offsets, (size_t)(n_blocks + 1) * sizeof *block_offsets);
    for (int64_t i = 0; i < csr->n; i++)
        for (int j = 0; j < n_modes; j++) grid->modes[i * n_modes + j] = modes[j * csr->n + i];
done:
    return status;
}

/* What options->leading means for this matrix; 0 where it would leave every node as it is. */
static int first_leading(const struct amg_grid *grid, const struct amg_options *options) {
    int leading = options->leading;
    if (leading < 0) leading = grid->n_modes == 1 && grid->A.n >= AMG_LARGE_NODE * grid->n_nodes ? 2 : 1;
    int64_t kept = leading == 1 ? grid->n_modes : leading;
    return grid->A.n > kept * grid->n_nodes ? leading : 0;
}

/* The level below `grid`, which becomes it; *finished when there is none to be made. */
static facet_status descend(struct builder *b, struct amg_grid *grid, int borrowed, int *finished) {
    facet_status status = FACET_OK;
    struct mg_transfer P = {0};
    struct amg_grid coarse = {0};
    int leading = b->n_levels == 0 ? first_leading(grid, b->options) : 0;
    if (leading > 0)
        TRY(amg_reduce(grid, leading, &P, &coarse));
    else
        TRY((b->options->aggregation == AMG_CLASSICAL ? amg_coarsen_classical : amg_coarsen)(grid, b->options,
                                                                                             &P, &coarse));
    *finished = coarse.A.n == 0;
    if (*finished) goto done;
    TRY(append_level(b, grid));
    TRY(multigrid_connect(b->mg, &P));
    if (borrowed) grid->A = (struct csr){0};
    amg_grid_destroy(grid);
    *grid = coarse;
    coarse = (struct amg_grid){0};
done:
    mg_transfer_destroy(&P);
    amg_grid_destroy(&coarse);
    return status;
}

facet_status multigrid_append_amg(struct multigrid *mg, const struct device *device, const struct csr *csr,
                                  int64_t n_blocks, const int64_t *block_offsets, int n_modes,
                                  const double *modes, const struct amg_options *options) {
    facet_status status = FACET_OK;
    struct amg_options defaults;
    struct amg_grid grid = {0};
    int blocks_do = 0, at_finest = 1;
    amg_options_default(&defaults);
    struct builder b = {.device = device, .options = options != NULL ? options : &defaults, .mg = mg};
    TRY(solve_need_symmetric(csr->asymmetric, "algebraic multigrid"));
    TRY(check_input(csr, n_blocks, block_offsets, n_modes, b.options));
    TRY(borrow(csr, n_blocks, block_offsets, n_modes, modes, b.options->kinds, &grid));
    while (grid.A.n > b.options->coarse_size && !blocks_do) {
        if (b.n_levels == AMG_MAX_LEVELS)
            FAIL(FACET_ERROR_INPUT, "the matrix cannot be coarsened to %lld unknowns on %d levels",
                 (long long)b.options->coarse_size, AMG_MAX_LEVELS);
        TRY(descend(&b, &grid, at_finest, &blocks_do));
        if (!blocks_do) at_finest = 0;
    }
    TRY(end_levels(&b, &grid, blocks_do));
done:
    if (at_finest) grid.A = (struct csr){0};
    amg_grid_destroy(&grid);
    return status;
}

facet_status operator_create_amg(const struct device *device, const struct csr *csr, int64_t n_blocks,
                                 const int64_t *block_offsets, int n_modes, const double *modes,
                                 const struct amg_options *options, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct multigrid *mg = NULL;
    *M = (struct linear_operator){0};
    TRY(multigrid_create(&mg));
    TRY(multigrid_append_amg(mg, device, csr, n_blocks, block_offsets, n_modes, modes, options));
    TRY(multigrid_finish(mg));
    if (options != NULL && options->cycle != MG_K) TRY(multigrid_set_cycle(mg, options->cycle));
    TRY(operator_create_multigrid(&mg, M));
done:
    multigrid_destroy(&mg);
    return status;
}
