/* Post-processing: u* of degree k+1, one order more accurate, from q and the mean of u: fast batches by the
 * kernels, all other cells one by one.
 *
 * On a fast cell, with C the cofactors of the Jacobian, the matrix is a combination of reference matrices,
 * the load is -sum_b D*_b (C'q)_b with D*_b = (d_b w_i, phi_j) on the reference cell, and the mean is that of
 * the first function alone. Bases being orthonormal and hierarchical, (d_b w_i, d_c w_j) = D*_b D*_c'. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"

/* rhs = sign (q, grad w), constants left out; q: dim x N. */
static void star_load(struct local *l, const struct hdg_table *table, int N, double sign, const double *q,
                      double *rhs) {
    int dim = table->dim, P = table->N, n = table->n;
    double *value = l->jets, *directions = value + n; /* n; n x dim: wJ J^-1 q */
    memset(rhs, 0, (size_t)(P - 1) * sizeof *rhs);
    memset(directions, 0, (size_t)(n * dim) * sizeof *directions);
    for (int a = 0; a < dim; a++) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, N, sign, table->phi, P, q + a * N, 1, 0.0, value, 1);
        for (int p = 0; p < n; p++)
            for (int b = 0; b < dim; b++)
                directions[p * dim + b] +=
                    l->geometry.wJ[p] * l->geometry.inverse[(p * dim + b) * dim + a] * value[p];
    }
    for (int b = 0; b < dim; b++)
        cblas_dgemv(CblasRowMajor, CblasTrans, n, P - 1, 1.0, table->grad + (int64_t)b * n * P + 1, P,
                    directions + b, dim, 1.0, rhs, 1);
}

/* How the cells of a batch are post-processed: kernels have that of diffusion alone. */
static enum batch_way star_way(const struct hdg *h, int block, int64_t batch) {
    return h->data.equation->star_of_gradient ? BATCH_SINGLE : batch_way(h, block, batch);
}

static facet_status star_work(struct local *l, int block, int32_t cell, void *user) {
    const int lanes = l->hdg->lanes;
    facet_status status = FACET_OK;
    struct hdg_solution *s = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = &b->star;
    int dim = h->data.mesh->dim, nc = h->trace.n_components, N = b->N, P = b->N_star, n = table->n;
    const double *u = s->u[block] + (int64_t)cell * nc * N, *q = s->q[block] + (int64_t)cell * nc * dim * N;
    double *star = s->star[block] + (int64_t)cell * nc * P, *rhs = l->vector, volume = 0.0;
    if (star_way(h, block, cell / lanes) != BATCH_SINGLE) return FACET_OK;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    for (int p = 0; p < n; p++) volume += l->geometry.wJ[p];
    int gradient = h->data.equation->star_of_gradient;
    if (!gradient) TRY(local_conductivity(l, local_region(&h->data, block, cell), n, l->geometry.x, l->K));
    for (int i = 0; i < n * dim * dim && gradient; i++)
        l->K[i] = i % (dim * dim) % (dim + 1) == 0 ? 1.0 : 0.0;
    TRY(local_stiffness(l, n, P, table->grad, 1, l->C));
    for (int c = 0; c < nc; c++) /* q is -K grad u, H is grad u */
        star_load(l, table, N, gradient ? 1.0 : -1.0, q + c * dim * N, rhs + c * (P - 1));
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', P - 1, nc, l->C, P - 1, rhs, P - 1) != 0)
        FAIL(FACET_ERROR_INPUT, "the post-processing system is singular; is the cell degenerate?");
    for (int c = 0; c < nc; c++) {
        double *to = star + c * P, integral = 0.0;
        memcpy(to + 1, rhs + c * (P - 1), (size_t)(P - 1) * sizeof *to);
        for (int p = 0; p < n; p++) { /* equal means: what is missing goes to the constant */
            const double *phi = table->phi + (int64_t)p * P;
            integral += l->geometry.wJ[p] *
                        (cblas_ddot(N, phi, 1, u + c * N, 1) - cblas_ddot(P - 1, phi + 1, 1, to + 1, 1));
        }
        to[0] = integral / volume / table->phi[0];
    }
done:
    return local_place(status, l);
}

/* ------------------------------------------------------------------------------------- fast batches */

/* The host sees what comes before the nodes. */
enum { F_Q, F_X, F_NODES, F_MIDDLE, F_DET, F_COFACTORS, F_WJ, F_C, F_FLOW, F_WEIGHTS, F_TERMS, N_ARRAYS };

/* The tables of one block, on the device. M = N_star - 1: without the constant. */
struct star {
    const struct hdg_solution *solution;
    int M;
    struct general_rule rule;
    struct sum_tables tables;
    double *D;    /* dim N x M: D*_b, one after the other */
    double *ones; /* N */
    double *pick; /* from the coefficients of a cell those of its terms */
};

static void star_destroy(const struct hdg *h, struct star *s) {
    general_rule_destroy(h, &s->rule);
    device_free(h->device, &s->tables.terms);
    device_free(h->device, &s->tables.moments);
    double **arrays[] = {&s->D, &s->ones, &s->pick};
    for (int i = 0; i < 3; i++) device_free(h->device, arrays[i]);
}

/* D*_b (M x N_star each), and from it the terms of the matrix. */
static facet_status star_terms(const struct hdg *h, const struct hdg_table *table, struct star *s,
                               const double *D) {
    facet_status status = FACET_OK;
    const int dim = table->dim, P = table->N, M = s->M;
    double *terms = NULL, *zeros = NULL;
    s->tables = (struct sum_tables){.lanes = h->lanes, .N = M, .n_terms = dim * (dim + 1) / 2};
    const size_t size = (size_t)M * (size_t)M, n_terms = (size_t)s->tables.n_terms;
    TRY(ALLOC(terms, n_terms * size));
    TRY(CALLOC(zeros, M));
    for (int e = 0, pair = 0; e < dim; e++)
        for (int a = 0; a <= e; a++, pair++) {
            double *to = terms + (size_t)pair * size;
            const double *Da = D + (int64_t)a * M * P, *De = D + (int64_t)e * M * P;
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, M, P, 1.0, Da, P, De, P, 0.0, to, M);
            if (a < e)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, M, P, 1.0, De, P, Da, P, 1.0, to, M);
        }
    TRY(device_copy(h->device, &s->tables.terms, terms, n_terms * size, sizeof *terms));
    TRY(device_copy(h->device, &s->tables.moments, zeros, (size_t)M, sizeof *zeros));
done:
    base_free(&terms);
    base_free(&zeros);
    return status;
}

static facet_status star_create(const struct hdg *h, int block, const struct hdg_solution *solution,
                                struct star *s) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = &b->star;
    const struct affine_layout at = affine_layout(table->dim, b->n_faces);
    const int dim = table->dim, n = table->n, P = table->N, N = b->N, M = P - 1, terms = dim * (dim + 1) / 2;
    double *weighted = NULL, *D = NULL, *turned = NULL;
    *s = (struct star){.solution = solution, .M = M};
    TRY(ALLOC(weighted, (int64_t)n * P));
    TRY(ALLOC(D, (int64_t)dim * M * P));
    TRY(CALLOC(turned, (int64_t)dim * N * M + at.count * terms));
    TRY(general_rule_create(h, table, 1, &s->rule));
    for (int64_t i = 0; i < (int64_t)n * P; i++) weighted[i] = table->w[i / P] * table->phi[i];
    for (int64_t e = 0; e < dim; e++)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, M, P, n, 1.0, table->grad + e * n * P + 1, P,
                    weighted, P, 0.0, D + e * M * P, P);
    TRY(star_terms(h, table, s, D));
    for (int64_t i = 0; i < (int64_t)dim * N * M; i++) turned[i] = D[(i / M / N * M + i % M) * P + i / M % N];
    TRY(device_copy(h->device, &s->D, turned, (size_t)(dim * N) * (size_t)M, sizeof *turned));
    memset(turned, 0, (size_t)(at.count * terms) * sizeof *turned);
    for (int i = 0; i < terms; i++) turned[(at.stiffness + i) * terms + i] = 1.0;
    TRY(device_copy(h->device, &s->pick, turned, (size_t)(at.count * terms), sizeof *turned));
    TRY(device_alloc(h->device, &s->ones, (size_t)N, sizeof *turned));
    device_fill(h->device, F64, N, 1.0, s->ones);
done:
    base_free(&weighted);
    base_free(&D);
    base_free(&turned);
    return status;
}

/* The loads are -C'q in every coefficient: those of points, as many as there are coefficients, all with the
 * same C. */
static facet_status fast_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct star *s = user;
    const struct hdg *h = w->hdg;
    const struct hdg_block_space *b = &h->space.blocks[w->block];
    const int lanes = h->lanes, dim = h->data.mesh->dim, N = b->N, n_terms = s->tables.n_terms;
    const int64_t row = affine_layout(dim, b->n_faces).count, count = h->data.mesh->blocks[w->block].count;
    double *const *at = w->device;
    TRY(general_put_numbers(w, F_Q, begin, n, s->solution->q[w->block], N, dim));
    general_nodes(w, F_NODES, begin);
    device_table_apply(h->device, lanes, n, 1 + dim, b->star.n_nodes, dim, s->rule.middle, at[F_NODES],
                       at[F_MIDDLE]);
    (void)device_cell_metric(h->device, lanes, n, dim, 1, s->rule.w, at[F_MIDDLE], at[F_DET],
                             at[F_COFACTORS]);
    device_table_apply(h->device, lanes, n, N, 1, 1, s->ones, at[F_DET], at[F_WJ]);
    device_table_apply(h->device, lanes, n, N, 1, dim * dim, s->ones, at[F_COFACTORS], at[F_C]);
    device_star_weights(h->device, lanes, n, dim, N, 0, at[F_WJ], at[F_C], at[F_COFACTORS], at[F_Q],
                        at[F_FLOW], at[F_WEIGHTS]); /* weights are not looked at */
    device_table_apply(h->device, lanes, n, s->M, dim * N, 1, s->D, at[F_FLOW], at[F_X]);
    device_table_apply(h->device, lanes, n, n_terms, (int)row, 1, s->pick,
                       h->cells[w->block]->coefficients + begin * row * lanes, at[F_TERMS]);
    const int64_t failed =
        device_sum_solve(h->device, &s->tables, n, at[F_TERMS], NULL, at[F_X], NULL, w->scratch);
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the post-processing system"));
    TRY(general_fetch(w, F_X, n));
    for (int64_t cell = begin * lanes; cell < (begin + n) * lanes && cell < count; cell++) {
        double *to = s->solution->star[w->block] + cell * (s->M + 1);
        const double *x = w->host[F_X] + (cell / lanes - begin) * w->size[F_X] + cell % lanes;
        to[0] = s->solution->u[w->block][cell * N];
        for (int i = 0; i < s->M; i++) to[i + 1] = x[i * lanes];
    }
done:
    return status;
}

static facet_status fast_star(const struct hdg *h, int block, int64_t begin, int64_t end, struct star *s) {
    const int64_t dim = h->data.mesh->dim, N = h->space.blocks[block].N, pairs = dim * (dim + 1) / 2;
    const struct general_plan plan = {.n_arrays = N_ARRAYS,
                                      .sizes = {[F_Q] = N * dim,
                                                [F_X] = s->M,
                                                [F_MIDDLE] = (1 + dim) * dim,
                                                [F_DET] = 1,
                                                [F_COFACTORS] = dim * dim,
                                                [F_WJ] = N,
                                                [F_C] = N * dim * dim,
                                                [F_FLOW] = dim * N,
                                                [F_WEIGHTS] = N * pairs,
                                                [F_TERMS] = pairs},
                                      .n_seen = F_NODES,
                                      .n_scratch = device_condense_sum_scratch(h->device, &s->tables)};
    return general_for_pieces(h, block, begin, end, &plan, fast_piece, s, NULL);
}

static facet_status star_block(const struct hdg *h, int block, struct hdg_solution *solution) {
    facet_status status = FACET_OK;
    struct star s = {0};
    int64_t n = h->matrices.n_batches[block];
    for (int64_t begin = 0, end; begin < n; begin = end) {
        enum batch_way way = star_way(h, block, begin);
        for (end = begin + 1; end < n && star_way(h, block, end) == way;) end++;
        if (way == BATCH_FAST && s.M == 0) TRY(star_create(h, block, solution, &s));
        if (way == BATCH_FAST) TRY(fast_star(h, block, begin, end, &s));
        if (way == BATCH_GENERAL) TRY(general_star(h, block, begin, end, solution));
    }
done:
    star_destroy(h, &s);
    return status;
}

facet_status hdg_postprocess(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    if (h->data.equation->no_star != NULL)
        return base_fail(FACET_ERROR_INPUT, "%s", h->data.equation->no_star);
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t size = (int64_t)h->space.blocks[b].N_star * h->trace.n_components;
        if (s->star[b] == NULL) TRY(ALLOC(s->star[b], mesh->blocks[b].count * size));
        TRY(star_block(h, b, s));
    }
    TRY(local_for_all_cells(h, star_work, s));
done:
    return status;
}
