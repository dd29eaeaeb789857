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

#define STAR_BATCHES 512 /* of one call of the kernel */
#define STAR_GROUP   8   /* batches of one product with D* */

/* The tables and the memory of one block. M = N_star - 1: without the constant. */
struct star {
    const struct hdg *hdg;
    struct hdg_solution *solution;
    int block, M;
    int64_t most;               /* batches of one call */
    double *D;                  /* M x dim N: D*_b side by side; host */
    double *coefficients, *rhs; /* host: most batches */
    struct sum_tables tables;
    double *device_coefficients, *device_rhs, *scratch;
};

static void star_destroy(struct star *s) {
    const struct device *device = s->hdg->device;
    base_free(&s->D);
    base_free(&s->coefficients);
    base_free(&s->rhs);
    device_free(device, &s->tables.terms);
    device_free(device, &s->tables.moments);
    double **arrays[] = {&s->device_coefficients, &s->device_rhs, &s->scratch};
    for (int i = 0; i < 3; i++) device_free(device, arrays[i]);
}

/* D* on the first N_star functions (the columns of the star table), and from it the terms of the matrix. */
static facet_status star_tables(struct star *s) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &s->hdg->space.blocks[s->block];
    const struct hdg_table *table = &b->star;
    int dim = table->dim, n = table->n, P = table->N, M = s->M, N = b->N, pair = 0;
    double *weighted = NULL, *D = NULL, *terms = NULL, *zeros = NULL;
    s->tables = (struct sum_tables){.lanes = s->hdg->lanes, .N = M, .n_terms = dim * (dim + 1) / 2};
    size_t size = (size_t)M * (size_t)M, n_terms = (size_t)s->tables.n_terms;
    TRY(ALLOC(weighted, (int64_t)n * P));
    TRY(ALLOC(D, (int64_t)dim * M * P));
    TRY(ALLOC(terms, n_terms * size));
    TRY(CALLOC(zeros, M));
    TRY(ALLOC(s->D, (int64_t)dim * M * N));
    for (int p = 0; p < n; p++)
        for (int i = 0; i < P; i++)
            weighted[(int64_t)p * P + i] = table->w[p] * table->phi[(int64_t)p * P + i];
    for (int e = 0; e < dim; e++) {
        double *De = D + (int64_t)e * M * P;
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, M, P, n, 1.0,
                    table->grad + (int64_t)e * n * P + 1, P, weighted, P, 0.0, De, P);
        for (int i = 0; i < M; i++)
            memcpy(s->D + ((int64_t)i * dim + e) * N, De + (int64_t)i * P, (size_t)N * sizeof *D);
        for (int a = 0; a <= e; a++, pair++) {
            double *to = terms + (size_t)pair * size, *Da = D + (int64_t)a * M * P;
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, M, P, 1.0, Da, P, De, P, 0.0, to, M);
            if (a < e)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, M, P, 1.0, De, P, Da, P, 1.0, to, M);
        }
    }
    TRY(device_copy(s->hdg->device, &s->tables.terms, terms, n_terms * size, sizeof *terms));
    TRY(device_copy(s->hdg->device, &s->tables.moments, zeros, (size_t)M, sizeof *zeros));
done:
    base_free(&weighted);
    base_free(&D);
    base_free(&terms);
    base_free(&zeros);
    return status;
}

static facet_status star_create(const struct hdg *h, int block, struct hdg_solution *solution,
                                struct star *s) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    const struct device *device = h->device;
    *s =
        (struct star){.hdg = h, .solution = solution, .block = block, .M = h->space.blocks[block].N_star - 1};
    int64_t M = s->M, n_batches = h->matrices.n_batches[block];
    s->most = STAR_BATCHES < n_batches ? STAR_BATCHES : n_batches;
    TRY(star_tables(s));
    size_t n_coefficients = (size_t)(s->most * s->tables.n_terms * lanes),
           n_rhs = (size_t)(s->most * M * lanes);
    TRY(ALLOC(s->coefficients, n_coefficients));
    TRY(ALLOC(s->rhs, n_rhs));
    TRY(device_alloc(device, &s->device_coefficients, n_coefficients, sizeof(double)));
    TRY(device_alloc(device, &s->device_rhs, n_rhs, sizeof(double)));
    TRY(device_alloc(device, &s->scratch, (size_t)device_condense_sum_scratch(device, &s->tables),
                     sizeof(double)));
done:
    return status;
}

/* Coefficients of one cell, and -C'q into its column of V (dim N rows of STAR_GROUP x LANES). */
static facet_status star_cell(const struct star *s, struct local *l, int32_t cell, double *c, double *V) {
    const int lanes = l->hdg->lanes;
    const struct hdg *h = s->hdg;
    int dim = h->data.mesh->dim, N = h->space.blocks[s->block].N;
    const double *q = s->solution->q[s->block] + (int64_t)cell * dim * N;
    struct batch_cell a;
    facet_status status = batch_cell(l, s->block, cell, &a);
    if (status != FACET_OK) return status;
    batch_stiffness(dim, &a, lanes, c);
    for (int b = 0; b < dim; b++)
        for (int i = 0; i < N; i++) {
            double sum = 0.0;
            for (int d = 0; d < dim; d++) sum -= a.C[d * dim + b] * q[d * N + i];
            V[(int64_t)(b * N + i) * STAR_GROUP * lanes] = sum;
        }
    return FACET_OK;
}

/* Coefficients and loads of a group of batches, `begin` being the first of the call. V, product: (dim N and
 * M) x STAR_GROUP x LANES. */
static facet_status star_group(const struct star *s, struct local *l, int64_t begin, int64_t batch, int count,
                               double *V, double *product) {
    const int lanes = l->hdg->lanes;
    facet_status status = FACET_OK;
    int dim = s->hdg->data.mesh->dim, N = s->hdg->space.blocks[s->block].N, M = s->M;
    int width = STAR_GROUP * lanes;
    int64_t n_cells = s->hdg->data.mesh->blocks[s->block].count;
    for (int k = 0; k < count * lanes; k++) {
        int64_t cell = batch * lanes + k, at = batch - begin + k / lanes;
        /* lanes nobody uses repeat the last cell */
        TRY(star_cell(s, l, (int32_t)(cell < n_cells ? cell : n_cells - 1),
                      s->coefficients + at * s->tables.n_terms * lanes + k % lanes, V + k));
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, count * lanes, dim * N, 1.0, s->D, dim * N, V,
                width, 0.0, product, width);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < M; i++)
            memcpy(s->rhs + ((batch - begin + k) * M + i) * lanes, product + (int64_t)i * width + k * lanes,
                   lanes * sizeof *product);
done:
    return status;
}

static facet_status star_loads(const struct star *s, int64_t begin, int64_t end) {
    const int lanes = s->hdg->lanes;
    struct base_collector failures;
    int dim = s->hdg->data.mesh->dim, N = s->hdg->space.blocks[s->block].N;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct local l;
        double *V = NULL, *product = NULL;
        facet_status mine = local_create_light(s->hdg, &l);
        if (mine == FACET_OK) mine = ALLOC(V, (int64_t)dim * N * STAR_GROUP * lanes);
        if (mine == FACET_OK) mine = ALLOC(product, (int64_t)s->M * STAR_GROUP * lanes);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t batch = begin; batch < end; batch += STAR_GROUP) {
            if (mine != FACET_OK) continue;
            mine = star_group(s, &l, begin, batch, (int)(end - batch < STAR_GROUP ? end - batch : STAR_GROUP),
                              V, product);
            base_collect(&failures, batch, mine);
        }
        base_free(&V);
        base_free(&product);
        local_destroy(&l);
    }
    return base_collected(&failures);
}

/* u* of the fast batches begin .. end-1. */
static facet_status star_batches(struct star *s, int64_t begin, int64_t end) {
    const int lanes = s->hdg->lanes;
    facet_status status = FACET_OK;
    const struct hdg *h = s->hdg;
    int N = h->space.blocks[s->block].N, M = s->M;
    int64_t n = end - begin, count = h->data.mesh->blocks[s->block].count;
    double *star = s->solution->star[s->block];
    const double *u = s->solution->u[s->block];
    size_t n_rhs = (size_t)(n * M * lanes) * sizeof(double);
    TRY(star_loads(s, begin, end));
    TRY(device_upload(h->device, s->device_coefficients, s->coefficients,
                      (size_t)(n * s->tables.n_terms * lanes) * sizeof(double)));
    TRY(device_upload(h->device, s->device_rhs, s->rhs, n_rhs));
    int64_t failed = device_sum_solve(h->device, &s->tables, n, s->device_coefficients, NULL, s->device_rhs,
                                      NULL, s->scratch);
    if (failed >= 0) TRY(batch_refuse(h, s->block, begin + failed, "the post-processing system"));
    TRY(device_download(h->device, s->rhs, s->device_rhs, n_rhs));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t batch = begin; batch < end; batch++)
        for (int64_t cell = batch * lanes; cell < (batch + 1) * lanes && cell < count; cell++) {
            double *to = star + cell * (M + 1);
            const double *from = s->rhs + (batch - begin) * M * lanes + cell % lanes;
            to[0] = u[cell * N];
            for (int i = 0; i < M; i++) to[i + 1] = from[i * lanes];
        }
done:
    return status;
}

static facet_status star_block(const struct hdg *h, int block, struct hdg_solution *solution) {
    facet_status status = FACET_OK;
    struct star s = {.hdg = h};
    int64_t n = h->matrices.n_batches[block];
    for (int64_t begin = 0, end; begin < n; begin = end) {
        enum batch_way way = star_way(h, block, begin);
        end = begin + 1;
        if (way == BATCH_FAST && s.D == NULL) TRY(star_create(h, block, solution, &s));
        while (end < n && (way != BATCH_FAST || end - begin < s.most) && star_way(h, block, end) == way)
            end++;
        if (way == BATCH_FAST) TRY(star_batches(&s, begin, end));
        if (way == BATCH_GENERAL) TRY(general_star(h, block, begin, end, solution));
    }
done:
    star_destroy(&s);
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
