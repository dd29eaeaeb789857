/* Errors of diffusion against the exact solution, a few batches at a time: fields at points are products of
 * tables with coefficients in lanes. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

enum {
    E_NODES,
    E_POINTS,
    E_WJ,
    E_COFACTORS,
    E_U,      /* coefficients of u, or u* */
    E_Q,      /* of q: N x dim */
    E_VALUES, /* n: u or u* */
    E_FLUXES, /* n x dim: q; or reference gradients of u*, dim x n */
    /* cell after cell, of the host: */
    E_X,     /* n x dim */
    E_EXACT, /* n: u of all cells at hand; then n x dim: its gradients */
    N_ARRAYS
};

struct error_job {
    const struct hdg_solution *solution;
    struct general_errors *cells; /* of the block */
    int star, N;                  /* N: functions of u or u* */
    struct general_rule rule;
    double *values, *slopes; /* device: N x n (of q: the same); u*: N x dim n, reference derivatives */
};

static facet_status job_create(const struct hdg *h, int block, int star, struct error_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = star ? &b->norm_star : &b->norm;
    int64_t n = table->n, N = star ? b->N_star : b->N, row = table->N, dim = table->dim;
    double *values = NULL;
    job->star = star;
    job->N = (int)N;
    TRY(general_rule_create(h, table, &job->rule));
    TRY(ALLOC(values, N * n * dim));
    for (int64_t q = 0; q < n; q++)
        for (int64_t i = 0; i < N; i++) values[i * n + q] = table->phi[q * row + i];
    TRY(device_copy(h->device, &job->values, values, (size_t)(N * n), sizeof *values));
    for (int64_t q = 0; q < dim * n && star; q++)
        for (int64_t i = 0; i < N; i++) values[i * dim * n + q] = table->grad[q * row + i];
    if (star) TRY(device_copy(h->device, &job->slopes, values, (size_t)(N * n * dim), sizeof *values));
done:
    base_free(&values);
    return status;
}

static void job_destroy(const struct hdg *h, struct error_job *job) {
    general_rule_destroy(h, &job->rule);
    device_free(h->device, &job->values);
    device_free(h->device, &job->slopes);
}

static void put_coefficients(struct general_work *w, const struct error_job *job, int64_t begin,
                             int64_t batch, int lane) {
    int dim = w->hdg->data.mesh->dim, N = job->N, lanes = w->hdg->lanes;
    int64_t cell = general_cell(w, begin + batch, lane);
    const double *u = (job->star ? job->solution->star : job->solution->u)[w->block] + cell * N;
    double *to = w->host[E_U] + batch * w->size[E_U] + lane;
    for (int i = 0; i < N; i++) to[i * lanes] = u[i];
    if (job->star) return;
    const double *q = job->solution->q[w->block] + cell * dim * N;
    to = w->host[E_Q] + batch * w->size[E_Q] + lane;
    for (int i = 0; i < N; i++)
        for (int a = 0; a < dim; a++) to[(i * dim + a) * lanes] = q[a * N + i];
}

/* K at a point, or the one of the cell. */
static inline void multiply(int dim, const double *K, const double *x, double *y) {
    for (int a = 0; a < dim; a++) {
        y[a] = 0.0;
        for (int b = 0; b < dim; b++) y[a] -= K[a * dim + b] * x[b];
    }
}

/* The exact solution of all cells at hand, in one call: a few points each are not worth one. */
static facet_status find_exact(struct general_work *w, const struct error_job *job, int64_t begin,
                               int64_t n) {
    const struct field *exact = w->hdg->data.exact;
    int points = job->rule.table->n, dim = w->hdg->data.mesh->dim, lanes = w->hdg->lanes;
    int64_t count = n * lanes;
    double *x = w->host[E_X], *u = w->host[E_EXACT], *grad = u + count * points;
    for (int64_t c = 0; c < count; c++)
        general_points(points, dim, lanes, w->host[E_POINTS] + c / lanes * w->size[E_POINTS] + c % lanes,
                       x + c * points * dim);
    facet_status status = field_eval_jet(exact, 0, (int)count * points, dim, x, u, grad, NULL);
    for (int64_t c = 0; c < count && status != FACET_OK; c++) { /* which cell it is */
        w->local.block = w->block;
        w->local.cell = general_cell(w, begin + c / lanes, (int)(c % lanes));
        facet_status mine = field_eval_jet(exact, 0, points, dim, x + c * points * dim, u, grad, NULL);
        if (mine != FACET_OK) return local_place(base_wrap(mine, "exact"), &w->local);
    }
    return status;
}

/* The squares of the errors of one cell of n_batches; dim is a constant where this is inlined. */
static inline __attribute__((always_inline)) facet_status add_cell(struct general_work *w,
                                                                   const struct error_job *job, int dim,
                                                                   int64_t begin, int64_t n_batches,
                                                                   int64_t batch, int lane) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->hdg->data;
    struct local *l = &w->local;
    int n = job->rule.table->n, lanes = w->hdg->lanes;
    int64_t number = batch * lanes + lane;
    const double *wJ = w->host[E_WJ] + batch * w->size[E_WJ] + lane;
    const double *cofactors = w->host[E_COFACTORS] + batch * w->size[E_COFACTORS] + lane;
    const double *values = w->host[E_VALUES] + batch * w->size[E_VALUES] + lane;
    const double *fluxes = w->host[E_FLUXES] + batch * w->size[E_FLUXES] + lane;
    const double *u = w->host[E_EXACT] + number * n;
    const double *grad = w->host[E_EXACT] + (n_batches * lanes + number * dim) * n;
    l->block = w->block;
    l->cell = general_cell(w, begin + batch, lane);
    struct general_errors *e = &job->cells[l->cell];
    int32_t region = local_region(data, w->block, l->cell);
    int constant = local_constant_conductivity(data, region, l->K);
    if (!constant) TRY(local_conductivity(l, region, n, w->host[E_X] + number * n * dim, l->K));
    double largest = 0.0, square = 0.0, squares[3] = {0.0};
    for (int q = 0; q < n; q++) {
        const double *K = l->K + (constant ? 0 : q * dim * dim);
        double weight = wJ[q * lanes], error = values[q * lanes] - u[q], exact[3], found[3], slope[3] = {0.0};
        square += weight * error * error;
        largest = fabs(error) > largest ? fabs(error) : largest;
        multiply(dim, K, grad + q * dim, exact);
        if (job->star) {
            double scale = 1.0 / weight;
            for (int c = 0; c < dim; c++) {
                double along = scale * fluxes[((int64_t)c * n + q) * lanes];
                for (int a = 0; a < dim; a++)
                    slope[a] += cofactors[((int64_t)(q * dim + c) * dim + a) * lanes] * along;
            }
            multiply(dim, K, slope, found);
        } else {
            for (int a = 0; a < dim; a++) found[a] = fluxes[((int64_t)q * dim + a) * lanes];
        }
        for (int a = 0; a < dim; a++) squares[a] += weight * (found[a] - exact[a]) * (found[a] - exact[a]);
    }
    *(job->star ? &e->u_star : &e->u) = square;
    memcpy(job->star ? e->q_star : e->q, squares, sizeof squares);
    if (!job->star) e->u_max = largest;
done:
    return local_place(status, l);
}

static facet_status error_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct hdg *h = w->hdg;
    int lanes = h->lanes, dim = h->data.mesh->dim, n_points = job->rule.table->n;
    int64_t count = h->data.mesh->blocks[w->block].count;
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes; lane++) put_coefficients(w, job, begin, batch, lane);
    TRY(general_send(w, E_U, n));
    if (!job->star) TRY(general_send(w, E_Q, n));
    TRY(general_nodes(w, E_NODES, begin, n));
    TRY(general_maps(w, &job->rule, begin, n, E_NODES, E_POINTS, E_WJ, E_COFACTORS));
    TRY(general_fetch(w, E_COFACTORS, n));
    device_table_apply(h->device, lanes, n, n_points, job->N, 1, job->values, w->device[E_U],
                       w->device[E_VALUES]);
    if (job->star)
        device_table_apply(h->device, lanes, n, dim * n_points, job->N, 1, job->slopes, w->device[E_U],
                           w->device[E_FLUXES]);
    else
        device_table_apply(h->device, lanes, n, n_points, job->N, dim, job->values, w->device[E_Q],
                           w->device[E_FLUXES]);
    TRY(general_fetch(w, E_VALUES, n));
    TRY(general_fetch(w, E_FLUXES, n));
    TRY(find_exact(w, job, begin, n));
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes && (begin + batch) * lanes + lane < count; lane++)
            TRY(dim == 2 ? add_cell(w, job, 2, begin, n, batch, lane)
                         : add_cell(w, job, 3, begin, n, batch, lane));
done:
    return status;
}

facet_status general_errors(const struct hdg *h, int block, const struct hdg_solution *solution,
                            struct general_errors *cells) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t dim = h->data.mesh->dim;
    for (int star = 0; star < (solution->star[block] != NULL ? 2 : 1); star++) {
        struct error_job job = {.solution = solution, .cells = cells};
        int64_t n = star ? b->norm_star.n : b->norm.n;
        struct general_plan plan = {.n_arrays = N_ARRAYS,
                                    .sizes = {[E_NODES] = b->norm.n_nodes * dim,
                                              [E_POINTS] = n * (1 + dim) * dim,
                                              [E_WJ] = n,
                                              [E_COFACTORS] = n * dim * dim,
                                              [E_U] = star ? b->N_star : b->N,
                                              [E_Q] = b->N * dim,
                                              [E_VALUES] = n,
                                              [E_FLUXES] = n * dim,
                                              [E_X] = n * dim,
                                              [E_EXACT] = n * (1 + dim)},
                                    .n_scratch = 1};
        status = job_create(h, block, star, &job);
        if (status == FACET_OK)
            status =
                general_for_pieces(h, block, 0, h->matrices.n_batches[block], &plan, error_piece, &job, NULL);
        job_destroy(h, &job);
        TRY(status);
    }
done:
    return status;
}
