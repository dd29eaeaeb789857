/* The levels of the algebraic multigrid on their device, and the cycle over them. See amg.h. */
#include "solve/amg.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "solve/amg_grid.h"
#include "solve/internal.h"

#define LANCZOS_STEPS 10
/* The estimate of the largest eigenvalue comes from below. */
#define EIGENVALUE_SAFETY 1.1
/* A second step on a coarse level is skipped when the first reduced the residual this far (Notay 2008). */
#define K_TOLERANCE 0.25

/* A prolongation or restriction on the device. */
struct device_transfer {
    int64_t n_rows;
    int64_t *offsets;
    int32_t *columns;
    double *values;
};

struct level {
    int64_t n, nnz;
    const struct operator* A; /* &own, or the caller's */
    struct operator own, D;   /* D: inverses of the diagonal blocks */
    double top;
    int degree;
    double a[AMG_MAX_DEGREE], b[AMG_MAX_DEGREE]; /* of the smoother: d = a D r + b d */
    struct device_transfer P, R;
    struct vector r, d, t;      /* smoother */
    struct vector rhs, x, c, v; /* coarse levels: the problem there, the first step and its image */
};

struct amg {
    const struct device *device;
    enum amg_cycle cycle;
    double overcorrection;
    int n_levels;
    struct level levels[AMG_MAX_LEVELS];
    struct operator last; /* inverse of the coarsest matrix */
};

void amg_options_default(struct amg_options *options) {
    *options = (struct amg_options){.cycle = AMG_K,
                                    .aggregation = AMG_AUTO,
                                    .passes = 2,
                                    .threshold = 0.25,
                                    .leading = -1,
                                    .polynomial = AMG_FOURTH,
                                    .ratio = 10.0,
                                    .degree = 2,
                                    .coarse_degree = 2,
                                    .overcorrection = 1.0,
                                    .coarse_size = 300};
}

/* ------------------------------------------------------------------------------ the cycle */

/* `degree` steps on A x = f. from_zero: x is not read. */
static void smooth(const struct level *l, const struct vector *f, int from_zero, struct vector *x) {
    const struct device_matrix *D = l->D.data;
    struct vector r = l->r, d = l->d, t = l->t;
    for (int k = 0; k < l->degree; k++) {
        const double *t_data = NULL;
        if (k > 0 || !from_zero) {
            operator_apply(l->A, k > 0 ? &d : x, &t);
            t_data = t.data;
        }
        device_block_smooth(x->device, D->n_blocks, D->offsets, D->starts, D->values, l->a[k], l->b[k],
                            k > 0 || !from_zero, k > 0 ? r.data : f->data, t_data, r.data, d.data, x->data);
    }
}

static void transfer(const struct device *device, const struct device_transfer *T, const struct vector *x,
                     struct vector *y) {
    device_csr_apply(device, T->n_rows, T->offsets, T->columns, T->values, x->data, y->data);
}

static void solve_level(const struct amg *amg, int level);

static void cycle(const struct amg *amg, int level, const struct vector *f, struct vector *x) {
    const struct level *l = &amg->levels[level];
    if (level == amg->n_levels - 1) {
        operator_apply(&amg->last, f, x);
        return;
    }
    const struct level *next = l + 1;
    struct vector r = l->r, t = l->t, rhs = next->rhs;
    smooth(l, f, 1, x);
    operator_apply(l->A, &l->d, &t);
    vector_axpby(-1.0, &t, 1.0, &r);
    transfer(amg->device, &l->R, &r, &rhs);
    solve_level(amg, level + 1);
    transfer(amg->device, &l->P, &next->x, &t);
    vector_axpby(amg->overcorrection, &t, 1.0, x);
    smooth(l, f, 0, x);
}

/* Two stationary steps: x = (2B - BAB) f. */
static void solve_twice(const struct amg *amg, int level) {
    const struct level *l = &amg->levels[level];
    struct vector rhs = l->rhs, x = l->x, c = l->c, v = l->v;
    cycle(amg, level, &rhs, &c);
    operator_apply(l->A, &c, &v);
    vector_axpby(-1.0, &v, 1.0, &rhs);
    cycle(amg, level, &rhs, &x);
    vector_axpby(1.0, &c, 1.0, &x);
}

/* One or two steps of flexible conjugate gradients with the cycle as preconditioner. */
static void solve_flexible(const struct amg *amg, int level) {
    const struct level *l = &amg->levels[level];
    struct vector rhs = l->rhs, x = l->x, c = l->c, v = l->v, w = l->t;
    cycle(amg, level, &rhs, &c);
    operator_apply(l->A, &c, &v);
    double rho = vector_dot(&c, &v), alpha = vector_dot(&c, &rhs), norm = vector_norm(&rhs);
    if (!(rho > 0.0)) { /* c in the kernel, or rhs zero: nothing to scale */
        vector_fill(&x, 0.0);
        return;
    }
    vector_axpby(-alpha / rho, &v, 1.0, &rhs);
    if (vector_norm(&rhs) <= K_TOLERANCE * norm) {
        vector_axpby(alpha / rho, &c, 0.0, &x);
        return;
    }
    cycle(amg, level, &rhs, &x);
    operator_apply(l->A, &x, &w);
    double gamma = vector_dot(&x, &v), beta = vector_dot(&x, &w), alpha2 = vector_dot(&x, &rhs);
    double rho2 = beta - gamma * gamma / rho;
    double second = rho2 > 1e-14 * beta ? alpha2 / rho2 : 0.0;
    vector_axpby(alpha / rho - gamma * second / rho, &c, second, &x);
}

/* x of a coarse level from its rhs, which is spent. */
static void solve_level(const struct amg *amg, int level) {
    const struct level *l = &amg->levels[level];
    if (amg->cycle == AMG_V || level == amg->n_levels - 1) {
        struct vector x = l->x;
        cycle(amg, level, &l->rhs, &x);
    } else if (amg->cycle == AMG_W) {
        solve_twice(amg, level);
    } else {
        solve_flexible(amg, level);
    }
}

static void amg_apply(const struct operator* M, const struct vector *x, struct vector *y) {
    cycle(M->data, 0, x, y);
}

/* ------------------------------------------------------------------------------ levels on the device */

static void transfer_free(const struct device *device, struct device_transfer *T) {
    device_free(device, &T->offsets);
    device_free(device, &T->columns);
    device_free(device, &T->values);
}

static facet_status transfer_upload(const struct device *device, const struct amg_transfer *host,
                                    struct device_transfer *T) {
    facet_status status = FACET_OK;
    size_t n = (size_t)host->n_rows, nnz = (size_t)host->offsets[n];
    T->n_rows = host->n_rows;
    TRY(solve_to_device(device, &T->offsets, host->offsets, n + 1, sizeof *T->offsets));
    TRY(solve_to_device(device, &T->columns, host->columns, nnz, sizeof *T->columns));
    TRY(solve_to_device(device, &T->values, host->values, nnz, sizeof *T->values));
done:
    return status;
}

static void level_free(const struct device *device, struct level *l) {
    operator_destroy(&l->own);
    operator_destroy(&l->D);
    transfer_free(device, &l->P);
    transfer_free(device, &l->R);
    struct vector *vectors[] = {&l->r, &l->d, &l->t, &l->rhs, &l->x, &l->c, &l->v};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) vector_destroy(vectors[i]);
}

static void amg_free(struct operator* M) {
    struct amg *amg = M->data;
    if (amg == NULL) return;
    for (int i = 0; i < amg->n_levels; i++) level_free(amg->device, &amg->levels[i]);
    operator_destroy(&amg->last);
    base_free(&M->data);
}

/* A start vector without structure that is the same everywhere: a hash of the index in [-1, 1]. */
static facet_status fill_noise(struct vector *x) {
    double *host;
    facet_status status = ALLOC(host, x->n);
    if (status != FACET_OK) return status;
    for (int64_t i = 0; i < x->n; i++) {
        uint64_t h = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
        host[i] = (double)((h ^ (h >> 32)) >> 11) / 4503599627370496.0 - 1.0;
    }
    status = vector_upload(x, host);
    base_free(&host);
    return status;
}

/* The largest eigenvalue of D A from a few steps of preconditioned conjugate gradients, whose coefficients
 * are the Lanczos matrix. z, p: work of the length of the level. */
static facet_status estimate_top(struct level *l, struct vector *z, struct vector *p) {
    struct vector *r = &l->r, *q = &l->t;
    double diagonal[LANCZOS_STEPS], below[LANCZOS_STEPS], previous = 0.0, beta = 0.0;
    facet_status status = fill_noise(r);
    int n = 0;
    if (status != FACET_OK) return status;
    operator_apply(&l->D, r, z);
    vector_axpby(1.0, z, 0.0, p);
    double rz = vector_dot(r, z), first = rz;
    while (n < LANCZOS_STEPS && rz > 1e-20 * first) {
        operator_apply(l->A, p, q);
        double alpha = rz / vector_dot(p, q);
        if (!(alpha > 0.0) || !isfinite(alpha)) break;
        diagonal[n] = 1.0 / alpha + (n > 0 ? beta / previous : 0.0);
        vector_axpby(-alpha, q, 1.0, r);
        operator_apply(&l->D, r, z);
        double rz_new = vector_dot(r, z);
        beta = rz_new / rz;
        below[n++] = sqrt(beta) / alpha;
        vector_axpby(1.0, z, beta, p);
        rz = rz_new;
        previous = alpha;
    }
    l->top = EIGENVALUE_SAFETY;
    if (n > 0 && LAPACKE_dsterf_work(n, diagonal, below) == 0) l->top = EIGENVALUE_SAFETY * diagonal[n - 1];
    return FACET_OK;
}

/* Coefficients of the three-term recurrence d = a D r + b d, x += d. */
static void choose_polynomial(struct level *l, const struct amg_options *options, int degree) {
    double low = l->top / options->ratio, theta = 0.5 * (l->top + low), delta = 0.5 * (l->top - low);
    double sigma = theta / delta, rho = 1.0 / sigma;
    l->degree = degree;
    for (int k = 0; k < degree; k++) {
        if (options->polynomial == AMG_FOURTH) {
            l->a[k] = (8.0 * k + 4.0) / (2.0 * k + 3.0) / l->top;
            l->b[k] = (2.0 * k - 1.0) / (2.0 * k + 3.0);
        } else if (k == 0) {
            l->a[k] = 1.0 / theta;
        } else {
            double next = 1.0 / (2.0 * sigma - rho);
            l->a[k] = 2.0 * next / delta;
            l->b[k] = next * rho;
            rho = next;
        }
    }
    l->b[0] = 0.0;
}

/* The operators and vectors of a level. */
static facet_status level_create(struct amg *amg, int level, const struct amg_grid *grid,
                                 const struct amg_options *options) {
    facet_status status = FACET_OK;
    struct level *l = &amg->levels[level];
    struct vector z = {0}, p = {0};
    const struct device *device = amg->device;
    l->n = grid->A.n;
    l->nnz = grid->A.offsets[l->n];
    l->A = level == 0 ? options->fine : NULL;
    if (l->A == NULL) {
        TRY(operator_create_csr(device, &grid->A, &l->own));
        l->A = &l->own;
    }
    TRY(operator_create_block_jacobi(device, &grid->A, grid->n_nodes, grid->nodes, &l->D));
    struct vector *vectors[] = {&l->r, &l->d, &l->t, &z, &p, &l->rhs, &l->x, &l->c, &l->v};
    for (int i = 0; i < (level == 0 ? 5 : 9); i++) TRY(vector_create(device, l->n, vectors[i]));
    TRY(estimate_top(l, &z, &p));
    choose_polynomial(l, options, level == 0 ? options->degree : options->coarse_degree);
done:
    vector_destroy(&z);
    vector_destroy(&p);
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
static facet_status create_last(struct amg *amg, const struct amg_grid *grid, int blocks_do, int n_kernel) {
    facet_status status = FACET_OK;
    struct csr dense = {0};
    struct level *l = &amg->levels[amg->n_levels - 1];
    int64_t whole[2] = {0, grid->A.n};
    l->n = grid->A.n;
    l->nnz = grid->A.offsets[l->n];
    if (amg->n_levels > 1) {
        TRY(vector_create(amg->device, l->n, &l->rhs));
        TRY(vector_create(amg->device, l->n, &l->x));
    }
    if (blocks_do || grid->n_nodes == 0) {
        TRY(operator_create_block_jacobi(amg->device, &grid->A, grid->n_nodes, grid->nodes, &amg->last));
    } else {
        TRY(regular_dense(grid, n_kernel, &dense));
        TRY(operator_create_block_jacobi(amg->device, &dense, 1, whole, &amg->last));
    }
done:
    csr_destroy(&dense);
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
    if (o->degree < 1 || o->degree > AMG_MAX_DEGREE || o->coarse_degree < 1 ||
        o->coarse_degree > AMG_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT, "the degree of a smoother must be 1 to %d", AMG_MAX_DEGREE);
    if (o->passes < 1 || o->coarse_size < 1 || o->n_kernel < 0 || o->n_kernel > n_modes || !(o->ratio > 1.0))
        return base_fail(FACET_ERROR_INPUT, "an option of the multigrid is out of range");
    return FACET_OK;
}

/* The finest grid borrows the caller's matrix; its modes are a copy, by rows. */
static facet_status borrow(const struct csr *csr, int64_t n_blocks, const int64_t *block_offsets, int n_modes,
                           const double *modes, struct amg_grid *grid) {
    facet_status status = FACET_OK;
    *grid = (struct amg_grid){.A = *csr, .n_nodes = n_blocks, .n_modes = n_modes};
    TRY(ALLOC(grid->nodes, n_blocks + 1));
    TRY(CALLOC(grid->kind, n_blocks));
    TRY(ALLOC(grid->modes, csr->n * n_modes));
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
static facet_status descend(struct amg *amg, struct amg_grid *grid, int borrowed,
                            const struct amg_options *options, int *finished) {
    facet_status status = FACET_OK;
    struct amg_transfer P = {0}, R = {0};
    struct amg_grid coarse = {0};
    struct level *l = &amg->levels[amg->n_levels - 1];
    int leading = amg->n_levels == 1 ? first_leading(grid, options) : 0;
    if (leading > 0)
        TRY(amg_reduce(grid, leading, &P, &coarse));
    else
        TRY(amg_coarsen(grid, options, &P, &coarse));
    *finished = coarse.A.n == 0;
    if (*finished) goto done;
    TRY(level_create(amg, amg->n_levels - 1, grid, options));
    TRY(amg_transpose(&P, &R));
    TRY(transfer_upload(amg->device, &P, &l->P));
    TRY(transfer_upload(amg->device, &R, &l->R));
    if (borrowed) grid->A = (struct csr){0};
    amg_grid_destroy(grid);
    *grid = coarse;
    coarse = (struct amg_grid){0};
    amg->n_levels++;
done:
    amg_transfer_destroy(&P);
    amg_transfer_destroy(&R);
    amg_grid_destroy(&coarse);
    return status;
}

facet_status operator_create_amg(const struct device *device, const struct csr *csr, int64_t n_blocks,
                                 const int64_t *block_offsets, int n_modes, const double *modes,
                                 const struct amg_options *options, struct operator* M) {
    facet_status status = FACET_OK;
    struct amg_options defaults;
    struct amg_grid grid = {0};
    struct amg *amg;
    int blocks_do = 0, at_finest = 1;
    amg_options_default(&defaults);
    if (options == NULL) options = &defaults;
    *M = (struct operator){
        .n = csr->n, .device = device, .apply = amg_apply, .free = amg_free, .name = "algebraic multigrid"};
    TRY(check_input(csr, n_blocks, block_offsets, n_modes, options));
    TRY(CALLOC(amg, 1));
    M->data = amg;
    *amg = (struct amg){
        .device = device, .cycle = options->cycle, .overcorrection = options->overcorrection, .n_levels = 1};
    TRY(borrow(csr, n_blocks, block_offsets, n_modes, modes, &grid));
    while (grid.A.n > options->coarse_size && !blocks_do) {
        if (amg->n_levels == AMG_MAX_LEVELS)
            FAIL(FACET_ERROR_INPUT, "the matrix cannot be coarsened to %lld unknowns on %d levels",
                 (long long)options->coarse_size, AMG_MAX_LEVELS);
        TRY(descend(amg, &grid, at_finest, options, &blocks_do));
        if (!blocks_do) at_finest = 0;
    }
    TRY(create_last(amg, &grid, blocks_do, options->n_kernel));
done:
    if (at_finest) grid.A = (struct csr){0};
    amg_grid_destroy(&grid);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}

void amg_summarize(const struct operator* M, struct amg_summary *summary) {
    const struct amg *amg = M->data;
    double nnz = 0.0;
    *summary = (struct amg_summary){.n_levels = amg->n_levels};
    for (int i = 0; i < amg->n_levels; i++) {
        summary->n[i] = amg->levels[i].n;
        summary->nnz[i] = amg->levels[i].nnz;
        summary->top[i] = amg->levels[i].top;
        nnz += (double)amg->levels[i].nnz;
    }
    summary->complexity = amg->levels[0].nnz > 0 ? nnz / (double)amg->levels[0].nnz : 1.0;
}
