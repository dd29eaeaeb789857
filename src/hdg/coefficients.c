/* The data of a problem at points of a cell, with the checks that belong to it: K positive definite, lambda
 * >= 0, tau > 0. */
#include <math.h>
#include <string.h>

#include "hdg/local.h"

facet_status local_refuse(const char *name, const char *rule, double value, int dim, const double *x) {
    char place[96];
    return base_fail(FACET_ERROR_INPUT, "%s must %s, but is %g at %s", name, rule, value,
                     expr_point_text(dim, x, 6, place, sizeof place));
}

facet_status local_check_size(const char *name, double value, int dim, const double *x) {
    if (!(value > 0.0) || (value >= SOLVE_LEAST && value <= 1.0 / SOLVE_LEAST)) return FACET_OK;
    return local_refuse(name, "lie between 1e-140 and 1e140 (use other units)", value, dim, x);
}

facet_status local_place(facet_status status, const struct local *l) {
    const struct mesh_block *block = &l->hdg->data.mesh->blocks[l->block];
    return base_wrap(status, "cell %d (%s)", block->first + l->cell, shape_name(block->shape));
}

int32_t local_region(const struct hdg_data *data, int block, int32_t cell) {
    return data->cell_region != NULL ? data->cell_region[data->mesh->blocks[block].first + cell] : 0;
}

static void spread_scalar(int dim, double value, double *K) {
    for (int i = 0; i < dim * dim; i++) K[i] = i % (dim + 1) == 0 ? value : 0.0;
}

int local_constant_conductivity(const struct hdg_data *data, int32_t region, double *K) {
    const struct field *field = data->conductivity[region];
    double values[9];
    int dim = data->mesh->dim;
    if (!field_is_constant(field, values)) return 0;
    if (field_n_components(field) == 1)
        spread_scalar(dim, values[0], K);
    else
        memcpy(K, values, (size_t)(dim * dim) * sizeof *K);
    return 1;
}

facet_status local_conductivity(struct local *l, int32_t region, int n, const double *x, double *K) {
    const struct field *field = l->hdg->data.conductivity[region];
    int dim = l->hdg->data.mesh->dim, scalar = field_n_components(field) == 1;
    facet_status status = FACET_OK;
    TRY(base_wrap(field_eval(field, n, dim, x, scalar ? l->values : K), "conductivity"));
    for (int q = 0; q < n; q++) {
        if (scalar) spread_scalar(dim, l->values[q], K + q * dim * dim);
        TRY(local_check_size("the conductivity", K[q * dim * dim], dim, x + q * dim));
        if (general_is_definite(dim, K + q * dim * dim)) continue;
        char place[96];
        if (scalar) return local_refuse("the conductivity", "be positive", l->values[q], dim, x + q * dim);
        return base_fail(FACET_ERROR_INPUT,
                         "the conductivity must be symmetric positive definite, but is not at %s",
                         expr_point_text(dim, x + q * dim, 6, place, sizeof place));
    }
done:
    return status;
}

int local_constant_reaction(const struct hdg_data *data, int32_t region, double *value) {
    double first = 0.0, other = 0.0;
    int from = region < 0 ? 0 : region, end = region < 0 ? data->n_regions : region + 1;
    for (int r = from; data->reaction != NULL && r < end; r++) {
        double *number = r == from ? &first : &other;
        *number = 0.0;
        if (data->reaction[r] != NULL && !field_is_constant(data->reaction[r], number)) return 0;
        if (r > from && other != first) return 0;
    }
    if (value != NULL) *value = first;
    return 1;
}

facet_status local_reaction(const struct hdg_data *data, int32_t region, int n, const double *x,
                            double *values) {
    int dim = data->mesh->dim;
    if (data->reaction == NULL || data->reaction[region] == NULL) {
        memset(values, 0, (size_t)n * sizeof *values);
        return FACET_OK;
    }
    facet_status status = field_eval(data->reaction[region], n, dim, x, values);
    if (status != FACET_OK) return base_wrap(status, "reaction");
    for (int q = 0; q < n; q++)
        if (!(values[q] >= 0.0))
            return local_refuse("the reaction coefficient", "not be negative", values[q], dim, x + q * dim);
    return FACET_OK;
}

facet_status local_source(struct local *l, int32_t region, int n, const double *x, double *values) {
    const struct hdg_data *data = &l->hdg->data;
    if (data->exact != NULL)
        return base_wrap(data->equation->exact_source(l, region, n, x, values),
                         "source of the exact solution");
    if (data->source != NULL && data->source[region] != NULL)
        return base_wrap(field_eval(data->source[region], n, data->mesh->dim, x, values), "source");
    memset(values, 0, (size_t)(n * l->hdg->trace.n_components) * sizeof *values);
    return FACET_OK;
}

facet_status local_exact_flux(struct local *l, int32_t region, int n, const double *x, const double *normal,
                              double *flux) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim;
    double *grad = l->jets, *K = grad + n * dim, *inside = K + n * dim * dim, *work = inside + n * dim;
    TRY(field_gradient_inside(l->hdg->data.exact, n, dim, x, dim, normal, cbrt(l->volume), inside, work,
                              grad));
    TRY(local_conductivity(l, region, n, inside, K));
    for (int q = 0; q < n; q++) {
        flux[q] = 0.0;
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++)
                flux[q] += normal[q * dim + a] * K[(q * dim + a) * dim + b] * grad[q * dim + b];
    }
done:
    return base_wrap(status, "flux of the exact solution");
}

facet_status local_given_tau(const struct hdg_data *data, int n, const double *x, double *tau) {
    int dim = data->mesh->dim;
    facet_status status = field_eval(data->tau, n, dim, x, tau);
    if (status != FACET_OK) return base_wrap(status, "tau");
    for (int q = 0; q < n; q++)
        if (!(tau[q] > 0.0)) return local_refuse("tau", "be positive", tau[q], dim, x + q * dim);
    return FACET_OK;
}
