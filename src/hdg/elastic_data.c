/* The data of elasticity at points: moduli (mu > 0, lambda > -2 mu/3), body forces, exact solutions,
 * conditions and tau, with the checks that belong to them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* Relative to its largest entry, so much of a matrix of springs is rounding. */
#define SPRING_ROUNDING 1e-12

/* The energy mu |eps|^2 + lambda/2 (tr eps)^2 of the body in three dimensions is positive for lambda > -2
 * mu/3, that is nu > -1; and then so is what the two formulations take it apart into: 2 mu + d lambda > 0 for
 * the spherical part of the symmetric one, also in plane stress, whose lambda is above -mu, and mu + lambda >
 * 0 for the pressure of the gradient one. */
facet_status elastic_moduli(const struct hdg_data *data, int32_t region, int n, const double *x, double *mu,
                            double *lambda) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim, stress = dim == 2 && data->plane == HDG_PLANE_STRESS;
    TRY(base_wrap(field_eval(data->mu[region], n, dim, x, mu), "mu"));
    TRY(base_wrap(field_eval(data->lambda[region], n, dim, x, lambda), "lambda"));
    for (int q = 0; q < n; q++) {
        if (!(mu[q] > 0.0)) TRY(local_refuse("mu", "be positive", mu[q], dim, x + q * dim));
        TRY(local_check_size("mu", mu[q], dim, x + q * dim));
        if (!(3.0 * lambda[q] > -2.0 * mu[q]))
            TRY(local_refuse("lambda", "be above -2 mu/3", lambda[q], dim, x + q * dim));
        if (stress) lambda[q] = 2.0 * mu[q] * lambda[q] / (lambda[q] + 2.0 * mu[q]);
    }
done:
    return status;
}

/* So far towards the middle of its cell a point is looked for. */
#define INWARD 1e-11

/* The temperature at points of the cell at hand. Where it is looked for by place, points at the border of the
 * cell are meant as points of this cell: they move a little towards its middle. */
static facet_status find_temperature(const struct local *l, int n, const double *x, double *values) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const int dim = data->mesh->dim;
    double *inside = NULL, middle[3], J[9];
    if (!data->located) return field_eval(data->temperature, n, dim, x, values);
    TRY(ALLOC(inside, n * dim));
    mesh_middle(data->mesh, data->mesh->blocks[l->block].first + l->cell, -1, middle, J);
    for (int i = 0; i < n * dim; i++) inside[i] = x[i] + INWARD * (middle[i % dim] - x[i]);
    TRY(field_eval(data->temperature, n, dim, inside, values));
done:
    base_free(&inside);
    return status;
}

facet_status elastic_thermal(const struct local *l, int n, const double *x, double *scratch, double *strain) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const int32_t region = local_region(data, l->block, l->cell);
    int dim = data->mesh->dim;
    if (data->expansion == NULL || data->expansion[region] == NULL) {
        memset(strain, 0, (size_t)n * sizeof *strain);
        goto done;
    }
    TRY(base_wrap(find_temperature(l, n, x, strain), "thermal.temperature"));
    TRY(base_wrap(field_eval(data->reference, n, dim, x, scratch), "thermal.reference"));
    for (int q = 0; q < n; q++) strain[q] -= scratch[q];
    TRY(base_wrap(field_eval(data->expansion[region], n, dim, x, scratch), "thermal.expansion"));
    for (int q = 0; q < n; q++) strain[q] *= scratch[q];
done:
    return status;
}

/* The same with its gradient (n x dim); scratch: n (2 + dim). */
static facet_status thermal_jet(const struct hdg_data *data, int32_t region, int n, const double *x,
                                double *scratch, double *strain, double *gradient) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim;
    double *value = scratch, *slope = value + n;
    memset(strain, 0, (size_t)n * sizeof *strain);
    memset(gradient, 0, (size_t)(n * dim) * sizeof *gradient);
    if (data->expansion == NULL || data->expansion[region] == NULL) goto done;
    const struct field *const terms[2] = {data->temperature, data->reference};
    for (int t = 0; t < 2; t++) {
        TRY(field_eval_jet(terms[t], 0, n, dim, x, value, slope, NULL));
        for (int i = 0; i < n * dim; i++) gradient[i] += (t == 0 ? 1.0 : -1.0) * slope[i];
        for (int q = 0; q < n; q++) strain[q] += (t == 0 ? 1.0 : -1.0) * value[q];
    }
    TRY(field_eval_jet(data->expansion[region], 0, n, dim, x, value, slope, NULL));
    for (int i = 0; i < n * dim; i++) gradient[i] = value[i / dim] * gradient[i] + slope[i] * strain[i / dim];
    for (int q = 0; q < n; q++) strain[q] *= value[q];
done:
    return base_wrap(status, "thermal");
}

facet_status elastic_exact(const struct hdg_data *data, int n, const double *x, double *scratch, double *u,
                           double *H) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim;
    double *values = scratch, *gradients = scratch + n;
    for (int c = 0; c < dim; c++) {
        TRY(field_eval_jet(data->exact, c, n, dim, x, values, gradients, NULL));
        for (int q = 0; q < n; q++) {
            if (u != NULL) u[q * dim + c] = values[q];
            for (int a = 0; a < dim; a++) H[(q * dim + c) * dim + a] = gradients[q * dim + a];
        }
    }
done:
    return base_wrap(status, "exact");
}

/* mu and lambda with their gradients at n points: values n, gradients n x dim. */
struct moduli_jet {
    double *mu, *mu_gradient, *lambda, *lambda_gradient;
};
static facet_status moduli_jet(const struct hdg_data *data, int32_t region, int n, const double *x,
                               const struct moduli_jet *j) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim;
    TRY(field_eval_jet(data->mu[region], 0, n, dim, x, j->mu, j->mu_gradient, NULL));
    TRY(field_eval_jet(data->lambda[region], 0, n, dim, x, j->lambda, j->lambda_gradient, NULL));
    for (int q = 0; q < n && dim == 2 && data->plane == HDG_PLANE_STRESS; q++) {
        double mu = j->mu[q], lambda = j->lambda[q], sum = lambda + 2.0 * mu;
        for (int a = 0; a < dim; a++)
            j->lambda_gradient[q * dim + a] = (4.0 * mu * mu * j->lambda_gradient[q * dim + a] +
                                               2.0 * lambda * lambda * j->mu_gradient[q * dim + a]) /
                                              (sum * sum);
        j->lambda[q] = 2.0 * mu * lambda / sum;
    }
done:
    return status;
}

/* Adds the gradient of beta = (2 mu + 3 lambda) alpha (T - T0), in plane stress of (2 mu + 2 lambda) alpha (T
 * - T0) with its lambda: what heat has of -div sigma. */
static facet_status add_thermal_source(struct local *l, int32_t region, int n, const double *x,
                                       const struct moduli_jet *j, double *scratch, double *f) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim, flat = dim == 2 && data->plane == HDG_PLANE_STRESS;
    double *strain = scratch, *gradient = strain + n, three = flat ? 2.0 : 3.0;
    if (data->expansion == NULL) return FACET_OK;
    TRY(thermal_jet(data, region, n, x, gradient + n * dim, strain, gradient));
    for (int i = 0; i < n * dim; i++) {
        int q = i / dim;
        f[i] += (2.0 * j->mu_gradient[i] + three * j->lambda_gradient[i]) * strain[q] +
                (2.0 * j->mu[q] + three * j->lambda[q]) * gradient[i];
    }
done:
    return status;
}

/* f_c = -sum_a [d_a mu (d_a u_c + d_c u_a) + mu (d_aa u_c + d_ac u_a) + lambda d_ac u_a] - d_c lambda div u,
 * gathered component by component of u. */
facet_status elastic_exact_source(struct local *l, int32_t region, int n, const double *x, double *f) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim;
    double *u = l->jets, *gradient = u + n, *hessian = gradient + n * dim, *rest = hessian + n * dim * dim;
    struct moduli_jet j = {rest, rest + n, rest + n + n * dim, rest + 2 * n + n * dim};
    if (elastic_is_voigt(data, region)) {
        TRY(elastic_voigt_source(l, region, n, x, f));
        TRY(moduli_jet(data, region, n, x, &j));
        return add_thermal_source(l, region, n, x, &j, u, f);
    }
    TRY(moduli_jet(data, region, n, x, &j));
    memset(f, 0, (size_t)(n * dim) * sizeof *f);
    for (int c = 0; c < dim; c++) {
        TRY(field_eval_jet(data->exact, c, n, dim, x, u, gradient, hessian));
        for (int q = 0; q < n; q++) {
            const double *g = gradient + q * dim, *h = hessian + q * dim * dim;
            const double *dmu = j.mu_gradient + q * dim, *dlambda = j.lambda_gradient + q * dim;
            for (int a = 0; a < dim; a++) {
                f[q * dim + c] -= dmu[a] * g[a] + j.mu[q] * h[a * dim + a];
                f[q * dim + a] -=
                    dmu[c] * g[a] + (j.mu[q] + j.lambda[q]) * h[c * dim + a] + dlambda[a] * g[c];
            }
        }
    }
    TRY(add_thermal_source(l, region, n, x, &j, u, f));
done:
    return status;
}

/* k + (rounding) is the square of something. */
static int is_semidefinite(int dim, const double *k) {
    double shifted[9], root[9], size = 0.0;
    for (int i = 0; i < dim * dim; i++) size = fmax(size, fabs(k[i]));
    if (size == 0.0) return 1;
    for (int i = 0; i < dim * dim; i++) {
        if (fabs(k[i] - k[i % dim * dim + i / dim]) > SPRING_ROUNDING * size) return 0;
        shifted[i] = k[i] / size + (i % (dim + 1) == 0 ? SPRING_ROUNDING : 0.0);
    }
    return local_small_root(dim, shifted, root);
}

facet_status hdg_spring_at(int dim, const struct hdg_condition *c, int n, const double *x,
                           const double *normal, double *raw, double *k) {
    facet_status status = FACET_OK;
    int count = field_n_components(c->spring), size = dim * dim;
    char name[160], place[96];
    TRY(base_wrap(field_eval_on(c->spring, n, dim, x, dim, normal, raw), "boundary: the spring on '%s'",
                  c->part));
    snprintf(name, sizeof name, "boundary: the spring on '%s'", c->part);
    for (int q = 0; q < n; q++) {
        const double *N = normal + q * dim, *given = raw + q * count;
        double length = local_norm(dim, N), *to = k + q * size;
        for (int i = 0; i < count && count <= 2; i++)
            if (!(given[i] >= 0.0)) TRY(local_refuse(name, "not be negative", given[i], dim, x + q * dim));
        for (int i = 0; i < size; i++) {
            double along = N[i / dim] * N[i % dim] / (length * length), one = i % (dim + 1) == 0 ? 1.0 : 0.0;
            to[i] = count == 1   ? given[0] * one
                    : count == 2 ? given[0] * along + given[1] * (one - along)
                                 : given[i];
        }
        if (count > 2 && !is_semidefinite(dim, to))
            FAIL(FACET_ERROR_INPUT,
                 "%s must be a symmetric matrix without negative eigenvalues, but is not at %s", name,
                 expr_point_text(dim, x + q * dim, 6, place, sizeof place));
    }
done:
    return status;
}

/* The stress, or (natural) mu H - p I, of H and what heat takes off. */
static void flux_of_gradient(int dim, int natural, double mu, double lambda, const double *H, double beta,
                             double *flux) {
    double trace = 0.0;
    for (int a = 0; a < dim; a++) trace += H[a * (dim + 1)];
    for (int i = 0; i < dim * dim; i++)
        flux[i] = mu * (H[i] + (natural ? 0.0 : H[i % dim * dim + i / dim])) +
                  (i % (dim + 1) == 0 ? (natural ? mu + lambda : lambda) * trace - beta : 0.0);
}

/* Traction, or (mu H - p I) n, of the exact solution; on springs with k u. */
static facet_status exact_traction(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                   const double *normal, double *values) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int dim = data->mesh->dim, natural = c->kind == HDG_GRADIENT_PRESSURE;
    double *H = l->jets, *u = H + n * dim * dim, *scratch = u + n * dim; /* then raw and k */
    double *k = scratch + n * dim * dim, *strain = k + n * dim * dim;
    int32_t region = local_region(data, l->block, l->cell);
    TRY(elastic_exact(data, n, x, scratch, u, H));
    if (c->spring != NULL) TRY(hdg_spring_at(dim, c, n, x, normal, scratch, k));
    TRY(elastic_thermal(l, n, x, strain + n, strain));
    TRY(elastic_moduli(data, region, n, x, e->mu, e->lambda));
    int voigt = elastic_is_voigt(data, region), rows = elastic_n_stress(data);
    if (voigt) TRY(elastic_stiffness(data, region, n, x, e->stiffness));
    for (int q = 0; q < n; q++) {
        const double *h = H + q * dim * dim, *N = normal + q * dim;
        double beta = elastic_thermal_pressure(data, e->mu[q], e->lambda[q], strain[q]), stress[9], across;
        if (voigt)
            elastic_voigt_stress(dim, rows, e->stiffness + q * rows * rows, x + q * dim, u + q * dim, h, beta,
                                 stress, &across);
        else
            flux_of_gradient(dim, natural, e->mu[q], e->lambda[q], h, beta, stress);
        for (int a = 0; a < dim; a++) {
            double sum = 0.0;
            for (int b = 0; b < dim; b++) sum += stress[a * dim + b] * N[b];
            values[q * dim + a] = sum / local_norm(dim, N);
            for (int b = 0; b < dim && c->spring != NULL; b++)
                values[q * dim + a] += k[(q * dim + a) * dim + b] * u[q * dim + b];
        }
    }
done:
    return status;
}

/* The loads of the free components: t, zero where there is none, with pressures and forces. */
static facet_status load_values(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                const double *normal, double *values) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim, mechanical = c->kind == HDG_MECHANICAL;
    const struct field *natural = mechanical ? c->t : c->g;
    double *p = l->elastic->values, force[3] = {0.0};
    if (natural != NULL)
        TRY(field_eval_on(natural, n, dim, x, dim, normal, values));
    else
        TRY(exact_traction(l, c, n, x, normal, values));
    for (int i = 0; i < n * dim && mechanical; i++)
        if (c->slack[i % dim]) values[i] = 0.0;
    if (mechanical && c->pressure != NULL) {
        TRY(field_eval_on(c->pressure, n, dim, x, dim, normal, p));
        for (int i = 0; i < n * dim; i++)
            values[i] -= p[i / dim] * normal[i] / local_norm(dim, normal + i / dim * dim);
    }
    if (mechanical && c->force != NULL) {
        TRY(field_eval(c->force, 1, dim, x, force));
        for (int i = 0; i < n * dim; i++) values[i] += force[i % dim] / l->hdg->elastic->areas[c->shared];
    }
done:
    return status;
}

facet_status elastic_condition_values(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                      const double *normal, double *values) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim, n_fixed = 0, mechanical = c->kind == HDG_MECHANICAL;
    double *u = l->elastic->values;
    for (int a = 0; a < dim && mechanical; a++) n_fixed += c->fixed[a] != 0;
    if (n_fixed < dim) TRY(load_values(l, c, n, x, normal, values));
    if (n_fixed == 0) goto done;
    TRY(field_eval_on(c->g != NULL ? c->g : data->exact, n, dim, x, dim, normal, u));
    for (int q = 0; q < n; q++)
        for (int a = 0; a < dim; a++)
            if (c->fixed[a]) values[q * dim + a] = u[q * dim + a];
done:
    return base_wrap(status, "boundary condition on '%s'", c->part);
}

/* The default scales with the stiffness: 2 mu / h in the symmetric formulation, so that the stabilization and
 * the condensed shear stiffness G'A^-1 G are of the same size in every material (lambda would over-penalize
 * shear when it is large); mu / length in the gradient formulation, as K / length in diffusion. With
 * tractions that one has no energy: the transposed gradient on their sides is held only by tau, and a tau
 * that does not grow like 1 / h gives displacements off by factors on quads and hexes. It is then 20 mu / h,
 * which costs H its last order. */
facet_status elastic_tau_at(const struct hdg *h, double mean_mu, double height, int n, const double *x,
                            double *tau) {
    const struct hdg_data *data = &h->data;
    int symmetric = !elastic_is_gradient(data);
    if (data->tau == NULL) {
        double value = data->tau_hat > 0.0 ? 2.0 * data->tau_hat / height
                       : symmetric         ? 2.0 * mean_mu / height
                       : h->nonsymmetric   ? ELASTIC_TRACTION_TAU * mean_mu / height
                                           : mean_mu / h->space.length;
        for (int q = 0; q < n; q++) tau[q] = value;
        return FACET_OK;
    }
    facet_status status = local_given_tau(data, n, x, tau);
    for (int q = 0; q < n && status == FACET_OK && symmetric; q++) tau[q] /= height;
    return status;
}

facet_status elastic_tau(struct local *l, int face, double area, int n, const double *x, double *tau) {
    double height = l->volume / area * shape_height(l->hdg->space.blocks[l->block].shape, face);
    return elastic_tau_at(l->hdg, l->elastic->mean_mu, height, n, x, tau);
}
