/* Loads, fluxes and post-processing of elasticity, one cell at a time. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "hdg/elastic.h"

/* Where the source values of a cell begin in the caller's array. */
static int64_t source_start(const struct hdg *h, int block, int32_t cell) {
    int64_t points = (int64_t)cell * h->space.blocks[block].source.n;
    for (int b = 0; b < block; b++)
        points += (int64_t)h->data.mesh->blocks[b].count * h->space.blocks[b].source.n;
    return points * h->data.mesh->dim;
}

facet_status elastic_load(struct local *l, int block, int32_t cell, const double *source, double *load) {
    const struct hdg *h = l->hdg;
    const struct elastic_block *eb = &h->elastic->blocks[block];
    const struct hdg_table *table = eb->source.table;
    int dim = h->data.mesh->dim, n = table->n, row;
    double *f = l->values;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    if (source != NULL) {
        memcpy(f, source + source_start(h, block, cell), (size_t)(n * dim) * sizeof *f);
        for (int i = 0; i < n * dim; i++)
            if (!isfinite(f[i]))
                return local_place(
                    base_fail(FACET_ERROR_INPUT, "the caller's source is %g at point %d", f[i], i / dim), l);
    } else {
        facet_status status = elastic_source(l, local_region(&h->data, block, cell), n, l->geometry.x, f);
        if (status != FACET_OK) return local_place(status, l);
    }
    for (int q = 0; q < n; q++)
        for (int c = 0; c < dim; c++) f[q * dim + c] *= l->geometry.wJ[q];
    const double *chi = elastic_chi(l, table, eb->source.chi, l->geometry.x, &row);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, eb->Nu, n, 1.0, f, dim, chi, row, 0.0, load,
                eb->Nu);
    return FACET_OK;
}

facet_status elastic_flux_work(struct local *l, int block, int32_t cell, void *solution) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    struct hdg_solution *s = solution;
    int dim = h->data.mesh->dim, N0 = h->elastic->blocks[block].N, N, n;
    double *uhat = l->C;
    hdg_local_sizes(h, block, &N, &n);
    TRY(elastic_begin(l, block, cell));
    trace_gather(&h->trace, block, cell, s->trace, uhat, 1);
    TRY(elastic_flux(l, s->u[block] + (int64_t)cell * N, uhat, s->q[block] + (int64_t)cell * dim * dim * N0,
                     s->p[block] != NULL ? s->p[block] + (int64_t)cell * N0 : NULL));
done:
    return status;
}

/* rhs (dim x (P - 1)) = (H_c, grad w), constants left out; H: dim x dim x N. */
static void star_load(struct local *l, const struct hdg_table *table, int N, const double *H, double *rhs) {
    int dim = table->dim, P = table->N, n = table->n;
    double *value = l->elastic->values, *product = value + n;
    memset(rhs, 0, (size_t)(dim * (P - 1)) * sizeof *rhs);
    for (int c = 0; c < dim; c++) {
        double *directions = product; /* n x dim: wJ J^-1 H_c */
        memset(directions, 0, (size_t)(n * dim) * sizeof *directions);
        for (int a = 0; a < dim; a++) {
            cblas_dgemv(CblasRowMajor, CblasNoTrans, n, N, 1.0, table->phi, P, H + (c * dim + a) * N, 1, 0.0,
                        value, 1);
            for (int p = 0; p < n; p++)
                for (int b = 0; b < dim; b++)
                    directions[p * dim + b] +=
                        l->geometry.wJ[p] * l->geometry.inverse[(p * dim + b) * dim + a] * value[p];
        }
        for (int b = 0; b < dim; b++)
            cblas_dgemv(CblasRowMajor, CblasTrans, n, P - 1, 1.0, table->grad + (int64_t)b * n * P + 1, P,
                        directions + b, dim, 1.0, rhs + c * (P - 1), 1);
    }
}

facet_status elastic_star_work(struct local *l, int block, int32_t cell, void *solution) {
    facet_status status = FACET_OK;
    struct hdg_solution *s = solution;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_table *table = &b->star;
    int dim = h->data.mesh->dim, N = b->N, P = b->N_star, n = table->n;
    const double *u = s->u[block] + (int64_t)cell * dim * N;
    double *star = s->star[block] + (int64_t)cell * dim * P, *rhs = l->vector, volume = 0.0;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    for (int p = 0; p < n; p++) {
        volume += l->geometry.wJ[p];
        for (int i = 0; i < dim * dim; i++) l->K[p * dim * dim + i] = i % (dim + 1) == 0 ? 1.0 : 0.0;
    }
    TRY(local_stiffness(l, n, P, table->grad, 1, l->C));
    star_load(l, table, N, s->q[block] + (int64_t)cell * dim * dim * N, rhs);
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', P - 1, dim, l->C, P - 1, rhs, P - 1) != 0)
        FAIL(FACET_ERROR_INPUT, "the post-processing system is singular; is the cell degenerate?");
    for (int c = 0; c < dim; c++) {
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
