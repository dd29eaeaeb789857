/* Post-processing of batches whose maps or data vary: (K grad u*, grad w) = -(q, grad w), and equal means.
 * With C = w det J J^-1 at a point, the weights of the matrix are C K C'/(w det J) and those of the load C q.
 */
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

enum {
    S_NODES,
    S_POINTS,
    S_WJ,
    S_COFACTORS,
    S_Q,      /* N x dim: coefficients */
    S_VALUES, /* n x dim: q at points */
    S_FLOW,   /* dim x n: -C q */
    S_WEIGHTS,
    S_X,       /* M = P - 1 */
    S_MOMENTS, /* P: integrals of the functions */
    S_K,       /* 1 or n matrices */
    N_ARRAYS
};

struct star_job {
    struct hdg_solution *solution;
    int varying;
    struct general_rule rule;
    double *values;  /* device: N x n, the functions of q */
    double *grad;    /* device: dim x n x M */
    double *moments; /* device: n x P */
};

static void job_destroy(const struct hdg *h, struct star_job *job) {
    general_rule_destroy(h, &job->rule);
    device_free(h->device, &job->values);
    device_free(h->device, &job->grad);
    device_free(h->device, &job->moments);
}

static facet_status job_create(const struct hdg *h, int block, struct hdg_solution *solution,
                               struct star_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = &b->star;
    int dim = table->dim, n = table->n, P = table->N, M = P - 1, N = b->N;
    double *values = NULL, *grad = NULL;
    *job = (struct star_job){.solution = solution, .varying = general_varies(h)};
    TRY(general_rule_create(h, table, 0, &job->rule));
    TRY(ALLOC(values, (int64_t)N * n));
    TRY(ALLOC(grad, (int64_t)dim * n * M));
    for (int q = 0; q < n; q++)
        for (int i = 0; i < N; i++) values[(int64_t)i * n + q] = table->phi[(int64_t)q * P + i];
    for (int64_t q = 0; q < (int64_t)dim * n; q++)
        memcpy(grad + q * M, table->grad + q * P + 1, (size_t)M * sizeof *grad);
    TRY(device_copy(h->device, &job->values, values, (size_t)N * (size_t)n, sizeof *values));
    TRY(device_copy(h->device, &job->grad, grad, (size_t)(dim * n) * (size_t)M, sizeof *grad));
    TRY(device_copy(h->device, &job->moments, table->phi, (size_t)n * (size_t)P, sizeof *grad));
done:
    base_free(&values);
    base_free(&grad);
    return status;
}

/* The coefficients of one cell: equal means, what is missing goes to the constant. */
static void take_star(const struct general_work *w, const struct star_job *job, int64_t begin, int64_t cell) {
    const struct hdg_block_space *b = &w->hdg->space.blocks[w->block];
    int lanes = w->hdg->lanes, N = b->N, P = b->N_star, n = b->star.n, lane = (int)(cell % lanes);
    int64_t batch = cell / lanes - begin;
    const double *u = job->solution->u[w->block] + cell * N;
    const double *x = w->host[S_X] + batch * w->size[S_X] + lane;
    const double *moments = w->host[S_MOMENTS] + batch * w->size[S_MOMENTS] + lane;
    const double *wJ = w->host[S_WJ] + batch * w->size[S_WJ] + lane;
    double *to = job->solution->star[w->block] + cell * P, volume = 0.0, integral = 0.0;
    for (int q = 0; q < n; q++) volume += wJ[q * lanes];
    for (int i = 0; i < N; i++) integral += moments[i * lanes] * u[i];
    for (int i = 1; i < P; i++) {
        to[i] = x[(i - 1) * lanes];
        integral -= moments[i * lanes] * to[i];
    }
    to[0] = integral / volume / b->star.phi[0];
}

static facet_status star_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct star_job *job = user;
    const struct hdg *h = w->hdg;
    const struct hdg_block_space *b = &h->space.blocks[w->block];
    int lanes = h->lanes, dim = h->data.mesh->dim, n_points = b->star.n, N = b->N, P = b->N_star;
    int64_t count = h->data.mesh->blocks[w->block].count;
    TRY(general_put_numbers(w, S_Q, begin, n, job->solution->q[w->block], N, dim));
    general_nodes(w, S_NODES, begin);
    TRY(general_maps(w, &job->rule, begin, n,
                     &(struct general_places){
                         .nodes = S_NODES, .points = S_POINTS, .wJ = S_WJ, .cofactors = S_COFACTORS}));
    device_table_apply(h->device, lanes, n, n_points, N, dim, job->values, w->device[S_Q],
                       w->device[S_VALUES]);
    device_table_apply(h->device, lanes, n, P, n_points, 1, job->moments, w->device[S_WJ],
                       w->device[S_MOMENTS]);
    TRY(general_fetch(w, S_MOMENTS, n));
    TRY(general_conductivity(w, begin, n, S_POINTS, n_points, S_K));
    device_star_weights(h->device, lanes, n, dim, n_points, job->varying, w->device[S_WJ],
                        w->device[S_COFACTORS], w->device[S_K], w->device[S_VALUES], w->device[S_FLOW],
                        w->device[S_WEIGHTS]);
    device_table_apply(h->device, lanes, n, P - 1, dim * n_points, 1, job->grad, w->device[S_FLOW],
                       w->device[S_X]);
    int64_t failed = device_gradient_solve(h->device, lanes, n, dim, n_points, P - 1, job->grad,
                                           w->device[S_WEIGHTS], w->device[S_X], w->scratch);
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the post-processing system"));
    TRY(general_fetch(w, S_X, n));
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++)
        take_star(w, job, begin, cell);
done:
    return status;
}

facet_status general_star(const struct hdg *h, int block, int64_t begin, int64_t end,
                          struct hdg_solution *solution) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t dim = h->data.mesh->dim, n = b->star.n;
    struct star_job job;
    struct general_plan plan = {.n_arrays = N_ARRAYS,
                                .sizes = {[S_POINTS] = n * (1 + dim) * dim,
                                          [S_WJ] = n,
                                          [S_COFACTORS] = n * dim * dim,
                                          [S_Q] = b->N * dim,
                                          [S_VALUES] = n * dim,
                                          [S_FLOW] = n * dim,
                                          [S_WEIGHTS] = n * dim * (dim + 1) / 2,
                                          [S_X] = b->N_star - 1,
                                          [S_MOMENTS] = b->N_star,
                                          [S_K] = (general_varies(h) ? n : 1) * dim * dim}};
    general_plan_conductivity(h, (int)n, &plan);
    plan.n_scratch = device_gradient_solve_scratch(h->device, h->lanes, (int)n, b->N_star - 1);
    TRY(job_create(h, block, solution, &job));
    TRY(general_for_pieces(h, block, begin, end, &plan, star_piece, &job, NULL));
done:
    job_destroy(h, &job);
    return status;
}
