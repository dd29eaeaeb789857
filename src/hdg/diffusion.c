/* The entry of diffusion by HDG, and what it shares with that of continuous Galerkin: data, exact solutions,
 * the flux of a function. */
#include "hdg/diffusion.h"

#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/general.h"

/* -------------------------------------------------------------------------------------------- data */

/* f = lambda u - sum_ab (d_a K_ab d_b u + K_ab d_ab u), about an axis less K_rb d_b u / r. jets: 1 + dim +
 * dim*dim of u, then 1 + dim of K_ab, per point. */
facet_status diffusion_exact_source(struct local *l, int32_t region, int n, const double *x, double *f) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const struct field *K = data->conductivity[region];
    int dim = data->mesh->dim, scalar = field_n_components(K) == 1;
    double *u = l->jets, *grad = u + n, *hessian = grad + n * dim, *k = hessian + n * dim * dim,
           *k_grad = k + n;
    TRY(field_eval_jet(data->exact, 0, n, dim, x, u, grad, hessian));
    TRY(local_reaction(data, region, n, x, f));
    for (int q = 0; q < n; q++) f[q] *= u[q];
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) {
            if (scalar && a != b) continue;
            if (!scalar || a == 0)
                TRY(field_eval_jet(K, scalar ? 0 : a * dim + b, n, dim, x, k, k_grad, NULL));
            for (int q = 0; q < n; q++)
                f[q] -= k_grad[q * dim + a] * grad[q * dim + b] + k[q] * hessian[(q * dim + a) * dim + b];
            for (int q = 0; q < n && a == 0 && l->hdg->space.revolved; q++)
                f[q] -= k[q] * grad[q * dim + b] / x[q * dim];
        }
done:
    return status;
}

facet_status diffusion_tau(struct local *l, int face, double area, int n, const double *x, double *tau) {
    (void)area;
    const struct hdg_data *data = &l->hdg->data;
    if (data->tau != NULL) return local_given_tau(data, n, x, tau);
    double value =
        data->tau_hat > 0.0 ? 2.0 * data->tau_hat / l->heights[face] : l->mean_K / l->hdg->space.length;
    for (int q = 0; q < n; q++) tau[q] = value;
    return FACET_OK;
}

facet_status diffusion_condition_values(struct local *l, const struct hdg_condition *c, int n,
                                        const double *x, const double *normal, double *g) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim;
    if (c->g != NULL) {
        TRY(field_eval_on(c->g, n, dim, x, dim, normal, g));
        goto done;
    }
    if (c->kind == HDG_DIRICHLET) {
        TRY(field_eval(data->exact, n, dim, x, g));
        goto done;
    }
    TRY(local_exact_flux(l, local_region(data, l->block, l->cell), n, x, normal, g));
    for (int q = 0; q < n; q++) g[q] /= local_norm(dim, normal + q * dim); /* they come with their areas */
    if (c->kind == HDG_ROBIN) {
        double *u = l->jets, *a = u + n;
        TRY(field_eval(data->exact, n, dim, x, u));
        TRY(field_eval_on(c->a, n, dim, x, dim, normal, a));
        for (int q = 0; q < n; q++) g[q] += a[q] * u[q];
    }
done:
    return base_wrap(status, "boundary condition on '%s'", c->part);
}

/* ----------------------------------------------------------------------------------------- scratch */

facet_status diffusion_scratch(struct local *l, int64_t points, int64_t total) {
    facet_status status = FACET_OK;
    int64_t size = 0;
    (void)points;
    for (int b = 0; b < l->hdg->data.mesh->n_blocks; b++) {
        int64_t own = (int64_t)l->hdg->data.mesh->dim * l->hdg->space.blocks[b].N;
        size = own > size ? own : size;
    }
    TRY(ALLOC(l->X, size * total));
    TRY(ALLOC(l->A, size * size));
done:
    return status;
}

facet_status diffusion_scratch_at(struct local *l, int n, enum hdg_field field) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim;
    if (field != HDG_Q_STAR && (field != HDG_Q || l->hdg->data.equation->flux != NULL)) return FACET_OK;
    TRY(hdg_geometry_create(n, dim, &l->geometry));
    TRY(ALLOC(l->K, n * dim * dim));
    TRY(ALLOC(l->values, n));
    TRY(ALLOC(l->jets, n * dim));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ fields */

/* The points of the geometry, drawn towards the middle of the cell by hardly more than rounding: on its
 * border an expression that jumps from cell to cell has the value of this cell there. */
#define DRAWN 1e-11
static const double *inner_points(struct local *l, int n) {
    const struct mesh_block *block = &l->hdg->data.mesh->blocks[l->block];
    int dim = l->hdg->data.mesh->dim;
    const double *nodes = block->nodes + (int64_t)l->cell * block->n_nodes * dim;
    for (int d = 0; d < dim; d++) {
        double middle = 0.0;
        for (int i = 0; i < block->n_nodes; i++) middle += nodes[i * dim + d] / block->n_nodes;
        for (int p = 0; p < n; p++)
            l->jets[p * dim + d] = l->geometry.x[p * dim + d] + DRAWN * (middle - l->geometry.x[p * dim + d]);
    }
    return l->jets;
}

facet_status diffusion_gradient_flux(struct local *l, const struct hdg_table *table, int N, const double *w,
                                     double *values) {
    int dim = table->dim, n = table->n;
    facet_status status =
        local_conductivity(l, local_region(&l->hdg->data, l->block, l->cell), n, inner_points(l, n), l->K);
    if (status != FACET_OK) return local_place(status, l);
    for (int p = 0; p < n; p++) {
        double reference[3], gradient[3];
        for (int b = 0; b < dim; b++)
            reference[b] = cblas_ddot(N, table->grad + ((int64_t)b * n + p) * table->N, 1, w, 1);
        for (int a = 0; a < dim; a++) {
            gradient[a] = 0.0;
            for (int b = 0; b < dim; b++)
                gradient[a] += l->geometry.inverse[(p * dim + b) * dim + a] * reference[b];
        }
        for (int a = 0; a < dim; a++) {
            values[p * dim + a] = 0.0;
            for (int b = 0; b < dim; b++) values[p * dim + a] -= l->K[(p * dim + a) * dim + b] * gradient[b];
        }
    }
    return FACET_OK;
}

facet_status diffusion_evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                                const struct hdg_points *points, double *values) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int star = hdg_fields[field].star, N = star ? b->N_star : b->N;
    const double *w = (star ? s->star : s->u)[l->block] + (int64_t)l->cell * N;
    return diffusion_gradient_flux(l, points->table, N, w, values);
}

/* u and -K grad u of the exact solution at the points of the geometry at hand. */
facet_status diffusion_exact_values(struct local *l, int n, double *u, double *q, double *stress, double *p) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim;
    double *grad = l->jets;
    (void)stress, (void)p; /* there are none */
    TRY(base_wrap(field_eval_jet(data->exact, 0, n, dim, l->geometry.x, u, grad, NULL), "exact"));
    TRY(local_conductivity(l, local_region(data, l->block, l->cell), n, l->geometry.x, l->K));
    for (int i = 0; i < n; i++)
        for (int a = 0; a < dim; a++) {
            q[i * dim + a] = 0.0;
            for (int b = 0; b < dim; b++) q[i * dim + a] -= l->K[(i * dim + a) * dim + b] * grad[i * dim + b];
        }
done:
    return local_place(status, l);
}

/* --------------------------------------------------------------------------------------------- HDG */

static facet_status hybrid_number(struct hdg *h, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    TRY(trace_space_create(h->data.mesh, h->space.degree, 1, eliminated, &h->trace));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (shape_faces_differ(h->data.mesh->blocks[b].shape)) continue; /* one by one */
        TRY(batch_tables_create(h, b));
        TRY(general_create(h, b));
    }
done:
    return status;
}

static void hybrid_destroy(struct hdg *h) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        general_destroy(h, b);
        batch_tables_destroy(h, b);
    }
}

/* C = [S R; . H + G'A^-1 G], as derived in hdg.h, by one rank update. */
static facet_status hybrid_matrix(struct local *l) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int ld = b->N + b->n_trace;
    TRY(local_matrices(l));
    TRY(local_factor_flux(l));
    local_half_flux(l);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, ld, l->hdg->data.mesh->dim * b->N, 1.0, l->X, ld, 1.0,
                l->C, ld);
done:
    return status;
}

/* sums (n): K_e 1 = R'S^-1 (lambda, phi); C as local_eliminate left it. */
static facet_status find_sums(struct local *l, double *sums) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int N = b->N, n = b->n_trace;
    double *moments = l->vector;
    memset(sums, 0, (size_t)n * sizeof *sums);
    if (h->data.reaction == NULL) return FACET_OK;
    facet_status status = local_reaction(&h->data, local_region(&h->data, l->block, l->cell), b->cell.n,
                                         l->geometry.x, l->values);
    if (status != FACET_OK) return local_place(status, l);
    memset(moments, 0, (size_t)N * sizeof *moments);
    for (int q = 0; q < b->cell.n; q++)
        cblas_daxpy(N, l->geometry.wJ[q] * l->values[q], b->cell.phi + (int64_t)q * N, 1, moments, 1);
    local_half_solve(l, N, n, 0, moments);
    cblas_dgemv(CblasRowMajor, CblasTrans, N, n, 1.0, l->C + N, N + n, moments, 1, 0.0, sums, 1);
    return FACET_OK;
}

/* These to the last bit (local_restore_sums). */
static facet_status restore_constants(struct local *l, double *K) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    double *sums = l->vector + b->N, ones[SHAPE_MAX_FACES];
    int places[SHAPE_MAX_FACES], n_ones = local_find_ones(l, 1, 0, places, ones);
    facet_status status = find_sums(l, sums);
    if (status != FACET_OK) return status;
    l->missing = fmax(l->missing, local_restore_sums(b->n_trace, n_ones, places, ones, sums, K));
    return FACET_OK;
}

/* What Robin's a adds comes last: what contacts and sums restore of K_e would be rounded as a is, which may
 * be far above K. */
static facet_status hybrid_cell(struct local *l, double *K, double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    double *sums = l->vector + b->N;
    TRY(hybrid_matrix(l));
    TRY(local_eliminate(l, b->N, b->n_trace, K));
    TRY(restore_constants(l, K));
    if (contact_has_cell(l->hdg, l->block, l->cell)) {
        TRY(find_sums(l, sums));
        TRY(local_place(contact_condense(l, sums, K), l));
    }
    TRY(local_add_robin(l, K, largest_robin));
done:
    return status;
}

/* What kernels leave out. */
static int hybrid_is_unfinished(const struct hdg *h, int block, int32_t cell) {
    return batch_has_robin(h, block, cell) || contact_has_cell(h, block, cell);
}

/* A reaction makes K_e 1 of a contact's cell more than zero, and kernels do not tell it. */
static facet_status hybrid_finish(struct local *l, double *K, double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int contact = contact_has_cell(l->hdg, l->block, l->cell);
    if (contact && l->hdg->data.reaction != NULL) {
        TRY(local_begin(l, l->block, l->cell));
        return hybrid_cell(l, K, largest_robin);
    }
    memset(l->vector + b->N, 0, (size_t)b->n_trace * sizeof *l->vector);
    if (contact) TRY(local_place(contact_condense(l, l->vector + b->N, K), l));
    TRY(local_add_robin(l, K, largest_robin));
done:
    return status;
}

static int64_t hybrid_fast(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                           double *K, double *scratch) {
    return device_condense_affine(h->device, &h->tables[block], n_batches, coefficients, K, scratch);
}

static int64_t hybrid_solve(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                            const double *uhat, double *u, double *q, double *load, double *scratch) {
    return device_affine_solve(h->device, &h->tables[block], n_batches, coefficients, uhat, u, q, load,
                               scratch);
}

static void hybrid_condenser(const struct hdg *h, int block, struct condenser *c) {
    const struct hdg_block_space *b = &h->space.blocks[block];
    if (shape_faces_differ(b->shape)) {
        *c = (struct condenser){
            .N = b->N, .n = b->n_trace, .matrix = hybrid_matrix, .cell = hybrid_cell, .sign = 1.0};
        return;
    }
    *c = (struct condenser){.N = b->N,
                            .n = b->n_trace,
                            .n_coefficients = affine_layout(h->data.mesh->dim, b->n_faces).count,
                            .n_scratch = device_condense_scratch(h->device, &h->tables[block]),
                            .n_inner = device_condense_scratch(h->device, &h->tables[block]),
                            .fast = hybrid_fast,
                            .solve = hybrid_solve,
                            .general = &general_diffusion,
                            .is_unfinished = hybrid_is_unfinished,
                            .finish = hybrid_finish,
                            .matrix = hybrid_matrix,
                            .cell = hybrid_cell,
                            .sign = 1.0};
}

/* q = A^-1 (D u - G uhat) */
static facet_status hybrid_flux(struct local *l, const double *u, const double *uhat, double *q, double *p) {
    (void)p;
    local_moments(l, u, uhat, q);
    facet_status status = local_factor_flux(l);
    if (status == FACET_OK) local_apply_flux_inverse(l, q);
    return status;
}

const struct equation equation_hybrid = {
    .least_degree = 1,
    .n_flux = {[2] = 2, [3] = 3},
    .fields = HDG_BIT(HDG_U) | HDG_BIT(HDG_U_STAR) | HDG_BIT(HDG_Q) | HDG_BIT(HDG_Q_STAR),
    .conditions = DIFFUSION_CONDITIONS | HDG_BIT(HDG_CONTACT) | HDG_BIT(HDG_JUMP),
    .on_boxes = 1,
    .floats = 1,
    .by_faces = 1,
    .easy_gmg = 1,
    .fits = batch_fits_diffusion,
    .in_batches = 1,
    .outward = 1.0,
    .conserved = "flux",
    .written = {HDG_U_STAR, HDG_U, HDG_Q, HDG_Q_STAR, -1},
    DIFFUSION_ERRORS,
    .number = hybrid_number,
    .boundary = local_boundary_data,
    .destroy = hybrid_destroy,
    .one_on = local_one_on,
    .scratch = diffusion_scratch,
    .scratch_at = diffusion_scratch_at,
    .begin = diffusion_begin,
    .tau = diffusion_tau,
    .exact_source = diffusion_exact_source,
    .condition_values = diffusion_condition_values,
    .condenser = hybrid_condenser,
    .flux = hybrid_flux,
    .evaluate = diffusion_evaluate,
    .exact_values = diffusion_exact_values,
};
