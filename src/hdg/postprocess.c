/* Post-processing: u* of degree k+1, one order more accurate, from q and the mean of u, cell by cell. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/local.h"

/* rhs = -(q, grad w), constants left out. */
static void star_load(struct local *l, const struct hdg_table *table, int N, const double *q, double *rhs) {
    int dim = table->dim, P = table->N, n = table->n;
    memset(rhs, 0, (size_t)(P - 1) * sizeof *rhs);
    for (int p = 0; p < n; p++) {
        double value[3];
        for (int a = 0; a < dim; a++) value[a] = cblas_ddot(N, table->phi + (int64_t)p * P, 1, q + a * N, 1);
        for (int b = 0; b < dim; b++) {
            double sum = 0.0;
            for (int a = 0; a < dim; a++) sum += l->geometry.inverse[(p * dim + b) * dim + a] * value[a];
            cblas_daxpy(P - 1, -l->geometry.wJ[p] * sum, table->grad + ((int64_t)b * n + p) * P + 1, 1, rhs,
                        1);
        }
    }
}

static facet_status star_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    struct hdg_solution *s = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int dim = h->data.mesh->dim, N = b->N, P = b->N_star;
    const double *u = s->u[block] + (int64_t)cell * N, *q = s->q[block] + (int64_t)cell * N * dim;
    double *star = s->star[block] + (int64_t)cell * P, *rhs = l->vector, integral = 0.0, volume = 0.0;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, &b->star, &l->geometry);
    TRY(local_conductivity(l, local_region(&h->data, block, cell), b->star.n, l->geometry.x, l->K));
    TRY(local_stiffness(l, b->star.n, P, b->star.grad, 1, l->C));
    star_load(l, &b->star, N, q, rhs);
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', P - 1, 1, l->C, P - 1, rhs, P - 1) != 0)
        FAIL(FACET_ERROR_INPUT, "the post-processing system is singular; is the cell degenerate?");
    memcpy(star + 1, rhs, (size_t)(P - 1) * sizeof *star);
    for (int p = 0; p < b->star.n; p++) { /* equal means: what is missing goes to the constant */
        const double *phi = b->star.phi + (int64_t)p * P;
        double missing = cblas_ddot(N, phi, 1, u, 1) - cblas_ddot(P - 1, phi + 1, 1, star + 1, 1);
        integral += l->geometry.wJ[p] * missing;
        volume += l->geometry.wJ[p];
    }
    star[0] = integral / volume / b->star.phi[0];
done:
    return local_place(status, l);
}

facet_status hdg_postprocess(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    if (h->data.scheme == HDG_CONDENSED)
        return base_fail(FACET_ERROR_INPUT, "the condensed method has no post-processing");
    for (int b = 0; b < mesh->n_blocks; b++)
        if (s->star[b] == NULL)
            TRY(ALLOC(s->star[b], (int64_t)mesh->blocks[b].count * h->space.blocks[b].N_star));
    TRY(local_for_all_cells(h, star_work, s));
done:
    return status;
}
