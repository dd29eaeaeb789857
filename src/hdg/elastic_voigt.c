/* Elasticity whose law is a matrix C between the components of strain and stress, one row each (Voigt's):
 * bodies of revolution, which have a stress around the axis, and orthotropic materials; symmetric
 * formulation.
 *
 * With the moments t_ca of hdg/elastic.h, and around an axis t_oo = -(u_r, phi), which is minus that of u_r/r
 * under the weight r, the rows
 *
 *     V = [t_aa; t_oo; t_ab + t_ba]  of  [u; uhat]
 *
 * are minus the moments of the strain, and A sigma = -V in the discrete space, A = (C^-1 phi, phi). So
 *
 *     S, R and K_e: V'A^-1 V with the stabilization,    sigma = -A^-1 V [u; -uhat],
 *
 * and where C is one matrix on the cell, C = L L', A^-1 V needs no more than a factor of the mass of the phi:
 * A^-1/2 V = L' M^-1/2 V. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

static int dim_of(const struct local *l) {
    return l->hdg->data.mesh->dim;
}

/* Unknowns of a cell: columns of V. */
static int columns_of(const struct local *l) {
    return dim_of(l) * (l->hdg->functions[l->block].Nu + l->hdg->space.blocks[l->block].n_trace);
}

/* ------------------------------------------------------------------------------------------ scratch */

facet_status elastic_voigt_scratch(struct local *l, int64_t points, int64_t N, int64_t Nu, int64_t total) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int64_t rows = elastic_n_stress(&l->hdg->data);
    if (!l->hdg->elastic->voigt) return FACET_OK;
    TRY(ALLOC(e->stiffness, points * rows * rows));
    if (total == 0) goto done; /* for fields alone */
    TRY(ALLOC(e->V, rows * N * total));
    TRY(ALLOC(e->compliance, rows * N * rows * N));
    TRY(ALLOC(e->hoop, N * Nu));
done:
    return status;
}

facet_status elastic_voigt_begin(struct local *l, int32_t region, int n) {
    struct elastic_local *e = l->elastic;
    int rows = elastic_n_stress(&l->hdg->data);
    facet_status status =
        elastic_stiffness(&l->hdg->data, region, e->constant ? 1 : n, l->geometry.x, e->stiffness);
    for (int q = 0; q < n && status == FACET_OK && !e->constant; q++)
        (void)solve_invert(rows, e->stiffness + (int64_t)q * rows * rows); /* definite */
    return status;
}

/* ------------------------------------------------------------------------------------------ the matrix */

void elastic_hoop_matrix(struct local *l) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_table *table = v->cell.table;
    double *weights = l->elastic->values;
    int dim = dim_of(l), row;
    if (!l->hdg->space.revolved) return;
    const double *chi = local_chi(l, table, v->cell.chi, l->geometry.x, &row);
    for (int q = 0; q < table->n; q++) weights[q] = -l->geometry.wJ[q] / l->geometry.x[q * dim];
    hdg_weighted_product(table->n, v->N, chi, row, weights, 1, v->Nu, chi, row, 0.0, l->weighted,
                         l->elastic->hoop, v->Nu);
}

/* The columns of a direction in Z, as those of a component in block `at` of V. */
static void put_direction(const struct local *l, int at, int direction, int component) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int dim = dim_of(l), N0 = l->hdg->functions[l->block].N, Nu = l->hdg->functions[l->block].Nu;
    int ld = columns_of(l), N = dim * Nu;
    for (int i = 0; i < N0; i++) {
        const double *from = l->elastic->Z + (int64_t)i * ld;
        double *to = l->elastic->V + ((int64_t)at * N0 + i) * ld;
        memcpy(to + elastic_u_start(Nu, component), from + elastic_u_start(Nu, direction),
               (size_t)Nu * sizeof *to);
        for (int f = 0; f < b->n_faces; f++)
            memcpy(to + N + elastic_trace_start(b, dim, f, component),
                   from + N + elastic_trace_start(b, dim, f, direction),
                   (size_t)hdg_face_size(b, f) * sizeof *to);
    }
}

/* V from Z and the hoop matrix. */
static void put_rows(const struct local *l) {
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), rows = elastic_n_stress(&l->hdg->data), N0 = l->hdg->functions[l->block].N,
        Nu = l->hdg->functions[l->block].Nu;
    int64_t ld = columns_of(l);
    memset(e->V, 0, (size_t)(rows * N0 * ld) * sizeof *e->V);
    for (int v = 0; v < rows; v++) {
        const int *pair = elastic_pair(dim, v);
        if (pair[0] >= dim) {
            for (int i = 0; i < N0; i++)
                memcpy(e->V + ((int64_t)v * N0 + i) * ld, e->hoop + (int64_t)i * Nu,
                       (size_t)Nu * sizeof *e->V);
            continue;
        }
        put_direction(l, v, pair[1], pair[0]);
        if (pair[0] != pair[1]) put_direction(l, v, pair[0], pair[1]);
    }
}

/* Row-major lower is LAPACK's upper. */
static facet_status factor(struct local *l, int n, double *A) {
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, A, n) == 0) return FACET_OK;
    return local_place(
        base_fail(FACET_ERROR_INPUT, "the mass matrix is not positive definite; is the cell degenerate?"), l);
}

/* (C^-1 phi, phi), factored. */
static facet_status factor_compliance(struct local *l) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_table *table = v->cell.table;
    struct elastic_local *e = l->elastic;
    int rows = elastic_n_stress(&l->hdg->data), N0 = v->N, ld = rows * N0, row;
    const double *phi = local_chi(l, table, v->cell.chi, l->geometry.x, &row);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++) {
            for (int q = 0; q < table->n; q++)
                e->values[q] = l->geometry.wJ[q] * e->stiffness[(q * rows + i) * rows + j];
            hdg_weighted_product(table->n, N0, phi, row, e->values, 1, N0, phi, row, 0.0, l->weighted,
                                 e->compliance + (int64_t)i * N0 * ld + j * N0, ld);
        }
    return factor(l, ld, e->compliance);
}

/* C = L L' of the stiffness of a cell where it is one matrix. */
static facet_status find_root(struct local *l, double *root) {
    int rows = elastic_n_stress(&l->hdg->data);
    memcpy(root, l->elastic->stiffness, (size_t)(rows * rows) * sizeof *root);
    return factor(l, rows, root);
}

/* V becomes A^-1/2 V, C being one matrix: V_k = sum_v L_vk M^-1/2 V_v, in place. */
static facet_status halve_constant(struct local *l) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int rows = elastic_n_stress(&l->hdg->data), N0 = l->hdg->functions[l->block].N, ld = columns_of(l);
    int64_t size = (int64_t)N0 * ld;
    double root[ELASTIC_MOST_STRESS * ELASTIC_MOST_STRESS], scale = l->affine ? 1.0 / sqrt(l->det) : 1.0;
    TRY(elastic_factor_masses(l));
    TRY(find_root(l, root));
    for (int v = 0; v < rows && !l->affine; v++)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N0, ld, 1.0, e->dev, N0,
                    e->V + v * size, ld);
    for (int k = 0; k < rows; k++) {
        cblas_dscal((int)size, scale * root[k * rows + k], e->V + k * size, 1);
        for (int v = k + 1; v < rows; v++)
            if (root[v * rows + k] != 0.0)
                cblas_daxpy((int)size, scale * root[v * rows + k], e->V + v * size, 1, e->V + k * size, 1);
    }
done:
    return status;
}

facet_status elastic_voigt_gram(struct local *l) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int ld = columns_of(l), size = elastic_n_stress(&l->hdg->data) * l->hdg->functions[l->block].N;
    elastic_hoop_matrix(l);
    put_rows(l);
    if (e->constant) {
        TRY(halve_constant(l));
    } else {
        TRY(factor_compliance(l));
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size, ld, 1.0,
                    e->compliance, size, e->V, ld);
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, ld, size, 1.0, e->V, ld, 0.0, l->C, ld);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the stress */

/* t_oo of u_r. */
static void hoop_moments(struct local *l, const double *u, double *t) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    elastic_hoop_matrix(l);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, v->N, v->Nu, 1.0, l->elastic->hoop, v->Nu, u, 1, 0.0, t, 1);
}

/* sigma = -A^-1 V in place; V: rows x N0. */
static facet_status solve_law(struct local *l, double *V) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int rows = elastic_n_stress(&l->hdg->data), N0 = l->hdg->functions[l->block].N, size = rows * N0;
    if (!e->constant) {
        TRY(factor_compliance(l));
        cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, size, e->compliance, size, V, 1);
        cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, size, e->compliance, size, V, 1);
        cblas_dscal(size, -1.0, V, 1);
        goto done;
    }
    TRY(elastic_factor_masses(l));
    for (int v = 0; v < rows; v++) elastic_solve_mass(l, l->affine ? NULL : e->dev, V + v * N0);
    for (int i = 0; i < N0; i++) {
        double old[ELASTIC_MOST_STRESS];
        for (int v = 0; v < rows; v++) old[v] = V[v * N0 + i];
        for (int v = 0; v < rows; v++) V[v * N0 + i] = -cblas_ddot(rows, e->stiffness + v * rows, 1, old, 1);
    }
done:
    return status;
}

facet_status elastic_voigt_flux(struct local *l, const double *u, double *flux, double *across) {
    facet_status status = FACET_OK;
    int dim = dim_of(l), rows = elastic_n_stress(&l->hdg->data), N0 = l->hdg->functions[l->block].N;
    double *V = l->vector;
    for (int v = 0; v < rows; v++) {
        const int *pair = elastic_pair(dim, v);
        double *to = V + v * N0;
        if (pair[0] >= dim) {
            hoop_moments(l, u, to);
            continue;
        }
        memcpy(to, flux + (pair[0] * dim + pair[1]) * N0, (size_t)N0 * sizeof *to);
        if (pair[0] != pair[1]) cblas_daxpy(N0, 1.0, flux + (pair[1] * dim + pair[0]) * N0, 1, to, 1);
    }
    TRY(solve_law(l, V));
    for (int v = 0; v < rows; v++) {
        const int *pair = elastic_pair(dim, v);
        size_t bytes = (size_t)N0 * sizeof *V;
        if (pair[0] >= dim) {
            memcpy(across, V + v * N0, bytes);
            continue;
        }
        memcpy(flux + (pair[0] * dim + pair[1]) * N0, V + v * N0, bytes);
        memcpy(flux + (pair[1] * dim + pair[0]) * N0, V + v * N0, bytes);
    }
done:
    return status;
}
