/* Fields of elasticity at points, those of the exact solution among them. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* ------------------------------------------------------------------------ tensors at one point */

/* Stress from H and p (gradient), p = -(mu + lambda) tr H + beta, beta: the thermal pressure. */
static void stress_of_gradient(int dim, double mu, double lambda, const double *H, double p, double beta,
                               double *stress) {
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++)
            stress[a * dim + b] = mu * (H[a * dim + b] + H[b * dim + a]) -
                                  (a == b ? (lambda * p + mu * beta) / (mu + lambda) : 0.0);
}

static double trace_of(int dim, const double *tensor) {
    double sum = 0.0;
    for (int a = 0; a < dim; a++) sum += tensor[a * (dim + 1)];
    return sum;
}

/* swelling: the strain without stress. */
static void strain_of_stress(int dim, double mu, double lambda, const double *stress, double swelling,
                             double *strain) {
    double spherical = lambda / (2.0 * mu + dim * lambda) * trace_of(dim, stress);
    for (int i = 0; i < dim * dim; i++)
        strain[i] = (stress[i] - (i % (dim + 1) == 0 ? spherical : 0.0)) / (2.0 * mu) +
                    (i % (dim + 1) == 0 ? swelling : 0.0);
}

/* The normal stress across a plane: in plane strain that which holds it back, where thermal, alpha (T - T0),
 * has E times it. */
static double stress_across(const struct hdg_data *data, double mu, double lambda, const double *stress,
                            double thermal) {
    if (data->mesh->dim == 3 || data->plane != HDG_PLANE_STRAIN) return 0.0;
    return lambda / (2.0 * (mu + lambda)) * trace_of(2, stress) -
           mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu) * thermal;
}

/* across: the third normal stress of 2D. */
static double von_mises(int dim, const double *stress, double across) {
    double s[9] = {0}, sum = 0.0;
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) s[a * 3 + b] = stress[a * dim + b];
    if (dim == 2) s[8] = across;
    double mean = (s[0] + s[4] + s[8]) / 3.0;
    for (int i = 0; i < 9; i++) {
        double e = s[i] - (i % 4 == 0 ? mean : 0.0);
        sum += e * e;
    }
    return sqrt(1.5 * sum);
}

static void vorticity_of(int dim, const double *H, double *values) {
    if (dim == 2) {
        values[0] = H[2] - H[1];
        return;
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        values[a] = H[c * 3 + b] - H[b * 3 + c];
    }
}

/* -------------------------------------------------------------------------------------- fields */

/* What a field says of the stress at point q of the geometry at hand; around: that around an axis. */
static facet_status put_stress(const struct local *l, enum hdg_field field, int q, const double *stress,
                               double around, double *values) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const struct elastic_local *e = l->elastic;
    int dim = data->mesh->dim;
    int32_t region = local_region(data, l->block, l->cell);
    double across = around;
    if (field == HDG_STRESS) {
        memcpy(values, stress, (size_t)(dim * dim) * sizeof *stress);
        goto done;
    }
    if (!elastic_is_voigt(data, region))
        across = stress_across(data, e->mu[q], e->lambda[q], stress, e->strain[q]);
    else if (data->plane != HDG_AXISYMMETRIC)
        TRY(elastic_voigt_across(data, region, l->geometry.x + q * dim, stress, &across));
    values[0] = field == HDG_ACROSS ? across : von_mises(dim, stress, across);
done:
    return status;
}

facet_status elastic_evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                              const struct hdg_points *points, double *values) {
    const struct hdg *h = l->hdg;
    const struct hdg_table *table = points->table;
    struct elastic_local *e = l->elastic;
    int dim = table->dim, n = table->n, N = h->functions[l->block].N, size = dim * dim, row;
    int symmetric = !elastic_is_gradient(&h->data);
    int32_t region = local_region(&h->data, l->block, l->cell);
    const double *x = l->geometry.x,
                 *p = s->p[l->block] != NULL ? s->p[l->block] + (int64_t)l->cell * N : NULL;
    facet_status status = elastic_moduli(&h->data, region, n, x, e->mu, e->lambda);
    if (status == FACET_OK) status = elastic_thermal(l, n, x, e->strain + n, e->strain);
    if (status != FACET_OK) return local_place(status, l);
    int voigt = elastic_is_voigt(&h->data, region), rows = elastic_n_stress(&h->data);
    if (voigt) status = elastic_stiffness(&h->data, region, n, x, e->stiffness);
    if (status != FACET_OK) return local_place(status, l);
    const double *phi = local_chi(l, table, points->chi, x, &row);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, size, N, 1.0, phi, row,
                s->q[l->block] + (int64_t)l->cell * size * N, N, 0.0, e->values, size);
    for (int q = 0; q < n; q++) {
        double *tensor = e->values + q * size, stress[9], mu = e->mu[q], lambda = e->lambda[q],
               thermal = e->strain[q],
               around = voigt && p != NULL ? cblas_ddot(N, phi + (int64_t)q * row, 1, p, 1) : 0.0;
        if (field == HDG_H) {
            memcpy(values + q * size, tensor, (size_t)size * sizeof *tensor);
        } else if (field == HDG_VORTICITY) {
            vorticity_of(dim, tensor, values + q * (dim == 2 ? 1 : 3));
        } else if (field == HDG_STRAIN && !symmetric) {
            for (int i = 0; i < size; i++)
                values[q * size + i] = 0.5 * (tensor[i] + tensor[i % dim * dim + i / dim]);
        } else if (field == HDG_STRAIN && voigt) {
            elastic_voigt_strain(dim, rows, e->stiffness + q * rows * rows, tensor, around, thermal,
                                 values + q * size);
        } else if (field == HDG_STRAIN) {
            strain_of_stress(dim, mu, lambda, tensor, elastic_swelling(&h->data, mu, lambda, thermal),
                             values + q * size);
        } else {
            if (symmetric)
                memcpy(stress, tensor, (size_t)size * sizeof *tensor);
            else
                stress_of_gradient(dim, mu, lambda, tensor, cblas_ddot(N, phi + (int64_t)q * row, 1, p, 1),
                                   elastic_thermal_pressure(&h->data, mu, lambda, thermal), stress);
            int components = field == HDG_STRESS ? size : 1;
            status = put_stress(l, field, q, stress, around, values + q * components);
            if (status != FACET_OK) return local_place(status, l);
        }
    }
    return FACET_OK;
}

facet_status elastic_exact_values(struct local *l, int n, double *u, double *H, double *stress, double *p) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int dim = data->mesh->dim, size = dim * dim;
    TRY(elastic_exact(data, n, l->geometry.x, l->jets, u, H));
    int32_t region = local_region(data, l->block, l->cell);
    TRY(elastic_moduli(data, region, n, l->geometry.x, e->mu, e->lambda));
    TRY(elastic_thermal(l, n, l->geometry.x, e->strain + n, e->strain));
    int voigt = elastic_is_voigt(data, region), rows = elastic_n_stress(data);
    if (voigt) TRY(elastic_stiffness(data, region, n, l->geometry.x, e->stiffness));
    for (int q = 0; q < n; q++) {
        double beta = elastic_thermal_pressure(data, e->mu[q], e->lambda[q], e->strain[q]);
        if (voigt) { /* p: the stress around the axis, if there is one */
            p[q] = 0.0;
            elastic_voigt_stress(dim, rows, e->stiffness + q * rows * rows, l->geometry.x + q * dim,
                                 u + q * dim, H + q * size, beta, stress + q * size, &p[q]);
            continue;
        }
        p[q] = -(e->mu[q] + e->lambda[q]) * trace_of(dim, H + q * size) + beta;
        stress_of_gradient(dim, e->mu[q], e->lambda[q], H + q * size, p[q], beta, stress + q * size);
    }
done:
    return local_place(status, l);
}

facet_status elastic_face_stress(struct local *l, const struct hdg_solution *s, int n, const double *chi,
                                 int row, int natural, double *moduli, double *Q) {
    const struct hdg *h = l->hdg;
    int dim = h->data.mesh->dim, size = dim * dim, N = h->functions[l->block].N;
    int gradient = elastic_is_gradient(&h->data);
    int32_t region = local_region(&h->data, l->block, l->cell);
    double *mu = moduli, *lambda = mu + n, *strain = lambda + n;
    facet_status status = elastic_moduli(&h->data, region, n, l->x, mu, lambda);
    if (status == FACET_OK && gradient && !natural) status = elastic_thermal(l, n, l->x, strain + n, strain);
    for (int q = 0; q < n && status == FACET_OK; q++, Q += size) {
        double stress[9];
        double p = gradient
                       ? cblas_ddot(N, chi + (int64_t)q * row, 1, s->p[l->block] + (int64_t)l->cell * N, 1)
                       : 0.0;
        if (gradient && !natural)
            stress_of_gradient(dim, mu[q], lambda[q], Q, p,
                               elastic_thermal_pressure(&h->data, mu[q], lambda[q], strain[q]), stress);
        else
            for (int i = 0; i < size; i++)
                stress[i] = gradient ? mu[q] * Q[i] - (i % (dim + 1) == 0 ? p : 0.0) : Q[i];
        for (int i = 0; i < size; i++) Q[i] = -stress[i];
    }
    return status;
}
