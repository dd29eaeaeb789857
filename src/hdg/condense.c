/* From the problem to element matrices K_e: every cell is condensed on its own, in parallel. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/local.h"

#define PROGRESS_CELLS 4096

static int64_t packed_size(int n) {
    return (int64_t)n * (n + 1) / 2;
}

void hdg_destroy(struct hdg **hdg) {
    struct hdg *h = *hdg;
    if (h == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&h->factors[b]);
        base_free(&h->U[b]);
    }
    base_free(&h->eliminated);
    base_free(&h->lift);
    base_free(&h->boundary);
    trace_space_destroy(&h->trace);
    hdg_space_destroy(&h->space);
    base_free(hdg);
}

/* psi-moments of a function on a face of a cell: moments[i] += sum_q g_q |dS_q| psi_i. */
static void face_moments(const struct hdg_face_table *table, int dim, const double *normal, const double *g,
                         double *moments) {
    for (int q = 0; q < table->rule.n; q++) {
        double area = 0.0;
        for (int a = 0; a < dim; a++) area += normal[q * dim + a] * normal[q * dim + a];
        area = sqrt(area);
        for (int i = 0; i < table->m; i++) moments[i] += g[q] * area * table->psi[q * table->m + i];
    }
}

/* mass (m x m) += <a psi, psi>; a NULL: 1. */
static void face_mass(const struct hdg_face_table *table, int dim, const double *normal, const double *a,
                      double *mass, int ld) {
    for (int q = 0; q < table->rule.n; q++) {
        double area = 0.0;
        for (int d = 0; d < dim; d++) area += normal[q * dim + d] * normal[q * dim + d];
        area = sqrt(area) * (a != NULL ? a[q] : 1.0);
        for (int i = 0; i < table->m; i++)
            for (int j = 0; j < table->m; j++)
                mass[i * ld + j] += area * table->psi[q * table->m + i] * table->psi[q * table->m + j];
    }
}

/* g of a condition at points; for the exact solution normal gives the flux, so normals are made unit here. */
static facet_status condition_values(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                     const double *normal, double *g) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim;
    if (c->g != NULL) {
        TRY(field_eval(c->g, n, dim, x, g));
        goto done;
    }
    if (c->kind == HDG_DIRICHLET) {
        TRY(field_eval(data->exact, n, dim, x, g));
        goto done;
    }
    TRY(local_exact_flux(l, local_region(data, l->block, l->cell), n, x, normal, g));
    for (int q = 0; q < n; q++) {
        double area = 0.0;
        for (int a = 0; a < dim; a++) area += normal[q * dim + a] * normal[q * dim + a];
        g[q] /= sqrt(area);
    }
    if (c->kind == HDG_ROBIN) {
        double *u = l->jets, *a = u + n;
        TRY(field_eval(data->exact, n, dim, x, u));
        TRY(field_eval(c->a, n, dim, x, a));
        for (int q = 0; q < n; q++) g[q] += a[q] * u[q];
    }
done:
    return base_wrap(status, "boundary condition on '%s'", c->part);
}

/* Dirichlet values by projection, and the loads of Neumann and Robin parts. */
static facet_status boundary_face(struct hdg *h, struct local *l, int32_t face) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_condition *c = &h->data.conditions[h->data.face_condition[face]];
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    l->block = (int)(block - mesh->blocks);
    l->cell = cell - block->first;
    const struct hdg_face_table *table = &h->space.blocks[l->block].boundary;
    int m = table->m;
    double *moments = l->vector, *mass = l->C;
    hdg_face_geometry(&h->space, l->block, l->cell, mesh->face_locals[2 * (int64_t)face], table,
                      &l->face_geometry, l->x, l->normal);
    TRY(condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    memset(moments, 0, (size_t)m * sizeof *moments);
    face_moments(table, mesh->dim, l->normal, l->values, moments);
    if (c->kind != HDG_DIRICHLET) {
        memcpy(h->boundary + h->trace.face_free[face], moments, (size_t)m * sizeof *moments);
        goto done;
    }
    memset(mass, 0, (size_t)(m * m) * sizeof *mass);
    face_mass(table, mesh->dim, l->normal, NULL, mass, m);
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, 1, mass, m, moments, m) != 0)
        FAIL(FACET_ERROR_INPUT, "face %d of cell %d is degenerate", face, cell);
    memcpy(h->eliminated + h->trace.face_first[face], moments, (size_t)m * sizeof *moments);
done:
    return status;
}

static facet_status boundary_data(struct hdg *h) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    base_collector_init(&failures);
    TRY(CALLOC(h->eliminated, h->trace.n_all));
    TRY(CALLOC(h->boundary, h->trace.n_free));
    TRY(CALLOC(h->lift, h->trace.n_free));
#pragma omp parallel num_threads(base_threads())
    {
        struct local l;
        facet_status mine = local_create(h, &l);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 64)
        for (int32_t f = 0; f < h->data.mesh->n_faces; f++)
            if (mine == FACET_OK && h->data.face_condition[f] >= 0)
                base_collect(&failures, f, boundary_face(h, &l, f));
        local_destroy(&l);
    }
    TRY(base_collected(&failures));
done:
    return status;
}

facet_status hdg_create(const struct hdg_data *data, int degree, hdg_rule_maker maker,
                        const struct base_monitor *monitor, struct hdg **hdg) {
    facet_status status = FACET_OK;
    uint8_t *eliminated = NULL;
    struct hdg *h;
    *hdg = NULL;
    base_set_blas_threads(1);
    TRY(CALLOC(*hdg, 1));
    h = *hdg;
    h->data = *data;
    h->monitor = monitor;
    TRY(hdg_space_create(data->mesh, degree, maker, &h->space));
    TRY(CALLOC(eliminated, data->mesh->n_faces));
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        int32_t c = data->face_condition[f];
        eliminated[f] = c >= 0 && data->conditions[c].kind == HDG_DIRICHLET;
    }
    TRY(trace_space_create(data->mesh, degree, 1, eliminated, &h->trace));
    TRY(boundary_data(h));
done:
    base_free(&eliminated);
    if (status != FACET_OK) hdg_destroy(hdg);
    return status;
}

/* Robin faces of the cell: K_e += <a psi, psi>. */
static facet_status add_robin(struct hdg *h, struct local *l, double *K, double *largest) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    for (int f = 0; f < b->n_faces; f++) {
        int32_t condition =
            h->data.face_condition[mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + f]];
        if (condition < 0 || h->data.conditions[condition].kind != HDG_ROBIN) continue;
        const struct hdg_condition *c = &h->data.conditions[condition];
        int n = b->boundary.rule.n;
        hdg_face_geometry(&h->space, l->block, l->cell, f, &b->boundary, &l->face_geometry, l->x, l->normal);
        TRY(base_wrap(field_eval(c->a, n, mesh->dim, l->x, l->values), "robin.a on '%s'", c->part));
        for (int q = 0; q < n; q++) {
            if (l->values[q] < 0.0)
                FAIL(FACET_ERROR_INPUT, "robin.a on '%s' must not be negative, but is %g at x=%g, y=%g",
                     c->part, l->values[q], l->x[q * mesh->dim], l->x[q * mesh->dim + 1]);
            *largest = fmax(*largest, l->values[q]);
        }
        face_mass(&b->boundary, mesh->dim, l->normal, l->values, K + (int64_t)f * b->m * (b->n_trace + 1),
                  b->n_trace);
    }
done:
    return status;
}

/* Constants, to the last bit. With uhat = 1 the exact algebra gives K_e 1 = U' (lambda, phi), zero without
 * reaction; rounding leaves more, the same in every cell of a uniform mesh, which acts like a reaction of
 * size rounding / h^2 and would spoil the solution first. The symmetric correction d w' + w d' - (d'1) w w'
 * with w = 1/|1|^2 restores the identity. */
static facet_status restore_constants(struct local *l, const double *U, double *K) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int N = b->N, n = b->n_trace, m = b->m;
    double one = sqrt(shape_measure(shape_face_shape(b->shape, 0))); /* psi_0 = 1 / one */
    double *moments = l->vector, *d = moments + N, total = 0.0, w = 1.0 / (b->n_faces * one);
    memset(moments, 0, (size_t)N * sizeof *moments);
    if (h->data.reaction != NULL) {
        facet_status status = local_reaction(&h->data, b->cell.n, l->geometry.x, l->values);
        if (status != FACET_OK) return local_place(status, l);
        for (int q = 0; q < b->cell.n; q++)
            cblas_daxpy(N, l->geometry.wJ[q] * l->values[q], b->cell.phi + (int64_t)q * N, 1, moments, 1);
    }
    cblas_dgemv(CblasRowMajor, CblasTrans, N, n, 1.0, U, n, moments, 1, 0.0, d, 1);
    for (int f = 0; f < b->n_faces; f++)
        for (int i = 0; i < n; i++) d[i] -= one * K[i * n + f * m];
    for (int f = 0; f < b->n_faces; f++) total += one * d[f * m];
    for (int f = 0; f < b->n_faces; f++)
        for (int i = 0; i < n; i++) {
            K[i * n + f * m] += w * d[i];
            K[f * m * n + i] += w * d[i];
        }
    for (int f = 0; f < b->n_faces; f++)
        for (int g = 0; g < b->n_faces; g++) K[f * m * n + g * m] -= total * w * w;
    return FACET_OK;
}

/* Factor, U and K_e of one cell, as derived in hdg.h: C = [S R; . H + G'A^-1 G] by one rank update, then
 * Cholesky. */
static facet_status condense_cell(struct hdg *h, struct local *l, double *K, double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = h->data.mesh->dim, N = b->N, n = b->n_trace, ld = N + n;
    double *C = l->C, *R = C + N, *gg = C + (int64_t)N * ld + N;
    TRY(local_matrices(l));
    TRY(local_factor_flux(l));
    local_half_flux(l);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, ld, dim * N, 1.0, l->X, ld, 1.0, C, ld);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', N, C, ld) != 0) { /* row-major upper is LAPACK's lower */
        status = local_place(
            base_fail(FACET_ERROR_INPUT, "the local problem is singular; is the cell degenerate?"), l);
        goto done;
    }
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, N, n, 1.0, C, ld, R, ld);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, N, -1.0, R, ld, 1.0, gg, ld);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) K[i * n + j] = K[j * n + i] = gg[i * ld + j];
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, N, n, 1.0, C, ld, R, ld);
    double *factor = h->factors[l->block] + (int64_t)l->cell * packed_size(N);
    double *U = h->U[l->block] + (int64_t)l->cell * N * n;
    for (int i = 0; i < N; i++) {
        memcpy(factor, C + (int64_t)i * ld + i, (size_t)(N - i) * sizeof *factor);
        factor += N - i;
        memcpy(U + (int64_t)i * n, R + (int64_t)i * ld, (size_t)n * sizeof *U);
    }
    TRY(restore_constants(l, U, K));
    TRY(add_robin(h, l, K, largest_robin));
done:
    return status;
}

/* Cells begin .. end-1 of a block. */
static facet_status condense_tile(struct hdg *h, struct local *l, int block, int32_t begin, int32_t end,
                                  double *matrices, double *volume, double *largest_reaction,
                                  double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    for (int32_t cell = begin; cell < end; cell++) {
        TRY(local_begin(l, block, cell));
        for (int q = 0; q < b->cell.n; q++) *volume += l->geometry.wJ[q];
        if (h->data.reaction != NULL) {
            TRY(local_place(local_reaction(&h->data, b->cell.n, l->geometry.x, l->values), l));
            for (int q = 0; q < b->cell.n; q++) *largest_reaction = fmax(*largest_reaction, l->values[q]);
        }
        TRY(condense_cell(h, l, matrices + (int64_t)cell * b->n_trace * b->n_trace, largest_robin));
    }
done:
    return status;
}

static facet_status condense_block(struct hdg *h, int block, double *matrices) {
    struct base_collector failures;
    int32_t count = h->data.mesh->blocks[block].count, tile = 16;
    double volume = 0.0, reaction = 0.0, robin = 0.0;
    int32_t finished = 0;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads()) reduction(+ : volume) reduction(max : reaction, robin)
    {
        struct local l;
        facet_status mine = local_create(h, &l);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 4)
        for (int32_t begin = 0; begin < count; begin += tile) {
            if (mine != FACET_OK || base_collector_failed(&failures)) continue;
            int32_t end = begin + tile < count ? begin + tile : count, now;
            mine = condense_tile(h, &l, block, begin, end, matrices, &volume, &reaction, &robin);
            if (mine == FACET_OK) mine = base_check_interrupt();
            base_collect(&failures, begin, mine);
#pragma omp atomic capture
            now = finished += end - begin;
            if (now / PROGRESS_CELLS != (now - (end - begin)) / PROGRESS_CELLS) {
#pragma omp critical(facet_hdg_progress)
                base_report_progress(h->monitor, FACET_PHASE_CONDENSE, now, count);
            }
        }
        local_destroy(&l);
    }
    h->volume += volume;
    h->largest_reaction = fmax(h->largest_reaction, reaction);
    h->largest_robin = fmax(h->largest_robin, robin);
    return base_collected(&failures);
}

facet_status hdg_condense(struct hdg *h, double **matrices) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    for (int b = 0; b < mesh->n_blocks; b++) matrices[b] = NULL;
    h->volume = h->largest_reaction = h->largest_robin = 0.0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct hdg_block_space *s = &h->space.blocks[b];
        int64_t count = mesh->blocks[b].count;
        TRY(ALLOC(matrices[b], count * s->n_trace * s->n_trace));
        TRY(ALLOC(h->factors[b], count * packed_size(s->N)));
        TRY(ALLOC(h->U[b], count * s->N * s->n_trace));
        TRY(condense_block(h, b, matrices[b]));
    }
    h->singular = h->trace.n_free == h->trace.n_all && h->largest_reaction == 0.0 && h->largest_robin == 0.0;
done:
    if (status != FACET_OK)
        for (int b = 0; b < mesh->n_blocks; b++) base_free(&matrices[b]);
    return status;
}
