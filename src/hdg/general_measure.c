/* Errors of diffusion against the exact solution, a few batches at a time: fields at points are products of
 * tables with coefficients in lanes, and so are their differences from the exact solution, which is evaluated
 * once for all of them. */
#include "base/memory.h"
#include "hdg/general.h"

enum {
    E_NODES,
    E_POINTS,
    E_MIDDLE,
    E_DET,
    E_WJ,
    E_COFACTORS,
    E_U,           /* coefficients */
    E_Q,           /* N x dim */
    E_STAR,        /* N_star */
    E_VALUES,      /* n: u */
    E_FLUXES,      /* n x dim: q */
    E_STAR_VALUES, /* n: u* */
    E_SLOPES,      /* dim x n: its reference derivatives */
    /* of the host, for every point one lane after the other: */
    E_X,     /* n x LANES x dim */
    E_EXACT, /* n x LANES */
    E_GRADS, /* n x LANES x dim */
    E_K,     /* 1 or n matrices of dim x dim, in lanes */
    E_SUMS,  /* what is found */
    N_ARRAYS
};

/* What is measured at the points of one rule: u and q, u* and what it says of q, or both. */
struct error_job {
    const struct hdg_solution *solution;
    struct general_errors *cells; /* of the block */
    int plain, star, varying;     /* varying: K has a value at every point */
    struct rule points;
    struct hdg_table table;
    struct general_rule rule;
    double *values, *star_values, *slopes; /* device: N x n, N_star x n, N_star x dim n */
};

static facet_status job_create(const struct hdg *h, int block, int straight, struct error_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int order = h->data.mesh->order, degree = h->space.degree;
    struct hdg_table *t = &job->table;
    TRY(h->maker(job->star ? HDG_NORM_STAR : HDG_NORM, b->shape, degree, order, &job->points));
    TRY(hdg_table_create(b->shape, degree + job->star, order, job->points.n, job->points.x, t));
    t->w = job->points.w;
    TRY(general_rule_create(h, t, straight, &job->rule));
    if (job->plain) TRY(general_put_turned(h, t->n, b->N, t->N, t->phi, &job->values));
    if (job->star) TRY(general_put_turned(h, t->n, t->N, t->N, t->phi, &job->star_values));
    if (job->star) TRY(general_put_turned(h, t->dim * t->n, t->N, t->N, t->grad, &job->slopes));
    job->varying = general_varies(h);
done:
    return status;
}

static void job_destroy(const struct hdg *h, struct error_job *job) {
    general_rule_destroy(h, &job->rule);
    hdg_table_destroy(&job->table);
    rule_destroy(&job->points);
    device_free(h->device, &job->values);
    device_free(h->device, &job->star_values);
    device_free(h->device, &job->slopes);
}

static struct general_plan plan_of(const struct hdg *h, int block, const struct error_job *job) {
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t dim = h->data.mesh->dim, n = job->table.n, plain = job->plain, star = job->star;
    int64_t at = job->rule.middle != NULL ? 1 : n; /* points with a Jacobian of their own */
    return (struct general_plan){.n_arrays = N_ARRAYS,
                                 .sizes = {[E_POINTS] = n * general_point_size(&job->rule),
                                           [E_MIDDLE] = (1 + dim) * dim,
                                           [E_DET] = 1,
                                           [E_WJ] = n,
                                           [E_COFACTORS] = at * dim * dim,
                                           [E_U] = plain * b->N,
                                           [E_Q] = plain * b->N * dim,
                                           [E_STAR] = star * b->N_star,
                                           [E_VALUES] = plain * n,
                                           [E_FLUXES] = plain * n * dim,
                                           [E_STAR_VALUES] = star * n,
                                           [E_SLOPES] = star * n * dim,
                                           [E_X] = n * dim,
                                           [E_EXACT] = n,
                                           [E_GRADS] = n * dim,
                                           [E_K] = (job->varying ? n : 1) * dim * dim,
                                           [E_SUMS] = N_ERRORS},
                                 .n_scratch = 1};
}

/* Fields at all points. */
static facet_status find_values(struct general_work *w, const struct error_job *job, int64_t begin,
                                int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct hdg_block_space *b = &h->space.blocks[w->block];
    int lanes = h->lanes, dim = h->data.mesh->dim, points = job->table.n;
    const struct hdg_solution *s = job->solution;
    if (job->plain) {
        TRY(general_put_numbers(w, E_U, begin, n, s->u[w->block], b->N, 1));
        TRY(general_put_numbers(w, E_Q, begin, n, s->q[w->block], b->N, dim));
    }
    if (job->star) TRY(general_put_numbers(w, E_STAR, begin, n, s->star[w->block], b->N_star, 1));
    if (job->plain) {
        device_table_apply(h->device, lanes, n, points, b->N, 1, job->values, w->device[E_U],
                           w->device[E_VALUES]);
        device_table_apply(h->device, lanes, n, points, b->N, dim, job->values, w->device[E_Q],
                           w->device[E_FLUXES]);
    }
    if (job->star) {
        device_table_apply(h->device, lanes, n, points, b->N_star, 1, job->star_values, w->device[E_STAR],
                           w->device[E_STAR_VALUES]);
        device_table_apply(h->device, lanes, n, dim * points, b->N_star, 1, job->slopes, w->device[E_STAR],
                           w->device[E_SLOPES]);
    }
done:
    return status;
}

/* The exact solution at the points of all cells at hand, in one call: a few points each are not worth one. */
static facet_status find_exact(struct general_work *w, const struct error_job *job, int64_t begin,
                               int64_t n) {
    const struct field *exact = w->hdg->data.exact;
    int points = job->table.n, dim = w->hdg->data.mesh->dim, lanes = w->hdg->lanes;
    double *x = w->host[E_X], *u = w->host[E_EXACT], *grad = w->host[E_GRADS];
    facet_status status = field_eval_jet(exact, 0, (int)n * points * lanes, dim, x, u, grad, NULL);
    for (int64_t i = 0; i < n * lanes * points && status != FACET_OK; i++) { /* which cell it is */
        int64_t batch = i / (lanes * points), lane = i / points % lanes, q = i % points;
        facet_status mine =
            field_eval_jet(exact, 0, 1, dim, x + ((batch * points + q) * lanes + lane) * dim, u, grad, NULL);
        w->local.block = w->block;
        w->local.cell = general_cell(w, begin + batch, (int)lane);
        if (mine != FACET_OK) return local_place(base_wrap(mine, "exact"), &w->local);
    }
    return status;
}

/* Squares of the errors of all cells at hand. */
static facet_status find_squares(struct general_work *w, const struct error_job *job, int64_t n) {
    facet_status status = FACET_OK;
    int straight = job->rule.middle != NULL;
    double *const *at = w->device;
    const struct error_points points = {.lanes = w->hdg->lanes,
                                        .dim = w->hdg->data.mesh->dim,
                                        .n = job->table.n,
                                        .straight = straight,
                                        .varying = job->varying,
                                        .wJ = at[E_WJ],
                                        .C = at[E_COFACTORS],
                                        .det = straight ? at[E_DET] : at[E_WJ],
                                        .K = at[E_K],
                                        .u = at[E_EXACT],
                                        .grad = at[E_GRADS],
                                        .u_h = job->plain ? at[E_VALUES] : NULL,
                                        .q = at[E_FLUXES],
                                        .star = job->star ? at[E_STAR_VALUES] : NULL,
                                        .slopes = at[E_SLOPES]};
    for (int i = E_EXACT; i < E_K; i++) TRY(general_send(w, i, n));
    device_error_squares(w->hdg->device, &points, n, at[E_SUMS]);
    TRY(general_fetch(w, E_SUMS, n));
done:
    return status;
}

static void take_errors(const struct general_work *w, const struct error_job *job, int64_t begin,
                        int64_t batch, int lane) {
    int lanes = w->hdg->lanes;
    const double *found = w->host[E_SUMS] + batch * w->size[E_SUMS] + lane;
    struct general_errors *e = &job->cells[(begin + batch) * lanes + lane];
    if (job->plain) {
        e->u = found[ERROR_U * lanes];
        e->u_max = found[ERROR_MAX * lanes];
        for (int a = 0; a < 3; a++) e->q[a] = found[(ERROR_Q + a) * lanes];
    }
    if (job->star) {
        e->u_star = found[ERROR_STAR * lanes];
        for (int a = 0; a < 3; a++) e->q_star[a] = found[(ERROR_Q_STAR + a) * lanes];
    }
}

static facet_status error_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const int lanes = w->hdg->lanes;
    const int64_t count = w->hdg->data.mesh->blocks[w->block].count;
    const struct general_places places = {.nodes = E_NODES,
                                          .points = E_POINTS,
                                          .wJ = E_WJ,
                                          .cofactors = job->star ? E_COFACTORS : -1,
                                          .middle = E_MIDDLE,
                                          .det = E_DET};
    TRY(find_values(w, job, begin, n));
    general_nodes(w, E_NODES, begin);
    TRY(general_maps(w, &job->rule, begin, n, &places));
    general_all_points(w->hdg, n * job->table.n, general_point_size(&job->rule), w->host[E_POINTS],
                       w->host[E_X]);
    TRY(find_exact(w, job, begin, n));
    TRY(general_conductivity(w, begin, n, E_POINTS, job->table.n, E_K));
    TRY(find_squares(w, job, n));
    for (int64_t i = 0; i < n * lanes && begin * lanes + i < count; i++)
        take_errors(w, job, begin, i / lanes, (int)(i % lanes));
done:
    return status;
}

/* Of batches begin .. end-1, all of them straight or all of them not. */
static facet_status measure_run(const struct hdg *h, int block, const struct hdg_solution *solution,
                                int plain, int star, int straight, int64_t begin, int64_t end,
                                struct general_errors *cells) {
    facet_status status = FACET_OK;
    struct error_job job = {.solution = solution, .cells = cells, .plain = plain, .star = star};
    TRY(job_create(h, block, straight, &job));
    struct general_plan plan = plan_of(h, block, &job);
    general_plan_conductivity(h, job.table.n, &plan);
    TRY(general_for_pieces(h, block, begin, end, &plan, error_piece, &job, NULL));
done:
    job_destroy(h, &job);
    return status;
}

/* The rule of u* serves u as well; but a bench that has rules of its own means what it says. */
facet_status general_errors(const struct hdg *h, int block, const struct hdg_solution *solution,
                            struct general_errors *cells) {
    facet_status status = FACET_OK;
    int star = solution->star[block] != NULL, apart = h->maker != hdg_default_rule && star;
    int64_t n = h->matrices.n_batches[block];
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int straight = general_is_straight(h, block, begin);
        for (end = begin + 1; end < n && general_is_straight(h, block, end) == straight;) end++;
        TRY(measure_run(h, block, solution, 1, star && !apart, straight, begin, end, cells));
        if (apart) TRY(measure_run(h, block, solution, 0, 1, straight, begin, end, cells));
    }
done:
    return status;
}
