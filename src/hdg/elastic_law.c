/* The law between strain and stress as a matrix, row by row of their components (elastic_pair): that of
 * isotropic bodies of revolution, and of orthotropic materials in 2D and 3D; and exact solutions under it. */
#include <math.h>
#include <string.h>

#include "hdg/elastic.h"

/* In the plane the third direction is across it, or around the axis. */
static const int pairs[2][ELASTIC_MOST_STRESS][2] = {{{0, 0}, {1, 1}, {0, 1}, {2, 2}},
                                                     {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {2, 0}, {0, 1}}};

const int *elastic_pair(int dim, int row) {
    return pairs[dim - 2][row];
}

int elastic_n_stress(const struct hdg_data *data) {
    return data->mesh->dim == 3 ? 6 : data->plane == HDG_AXISYMMETRIC ? 4 : 3;
}

int elastic_is_voigt(const struct hdg_data *data, int32_t region) {
    (void)region;
    return data->plane == HDG_AXISYMMETRIC;
}

int elastic_is_uniform(const struct hdg_data *data, int32_t region) {
    return field_is_constant(data->mu[region], NULL) && field_is_constant(data->lambda[region], NULL);
}

/* C of Lame's moduli in space. */
static void isotropic(int dim, int rows, double mu, double lambda, double *C) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            const int *p = elastic_pair(dim, i), *q = elastic_pair(dim, j);
            int normal = p[0] == p[1] && q[0] == q[1];
            C[i * rows + j] = (normal ? lambda : 0.0) + (i == j ? (normal ? 2.0 : 1.0) * mu : 0.0);
        }
}

facet_status elastic_stiffness(const struct hdg_data *data, int32_t region, int n, const double *x,
                               double *C) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim, rows = elastic_n_stress(data);
    for (int q = 0; q < n; q++) {
        double mu, lambda;
        TRY(elastic_moduli(data, region, 1, x + q * dim, &mu, &lambda));
        isotropic(dim, rows, mu, lambda, C + q * rows * rows);
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ exact solutions
 */

/* The strain, shears twice, from u and its gradient at a point: d_a u_c at [c][a]. */
static void strain_of(int dim, int rows, const double *x, const double *u, const double *H, double *strain) {
    for (int v = 0; v < rows; v++) {
        const int *p = elastic_pair(dim, v);
        strain[v] = p[0] >= dim    ? u[0] / x[0]
                    : p[0] == p[1] ? H[p[0] * dim + p[0]]
                                   : H[p[0] * dim + p[1]] + H[p[1] * dim + p[0]];
    }
}

void elastic_voigt_stress(int dim, int rows, const double *C, const double *x, const double *u,
                          const double *H, double beta, double *stress, double *across) {
    double strain[ELASTIC_MOST_STRESS];
    strain_of(dim, rows, x, u, H, strain);
    for (int v = 0; v < rows; v++) {
        const int *p = elastic_pair(dim, v);
        double sum = p[0] == p[1] ? -beta : 0.0;
        for (int w = 0; w < rows; w++) sum += C[v * rows + w] * strain[w];
        if (p[0] >= dim)
            *across = sum;
        else
            stress[p[0] * dim + p[1]] = stress[p[1] * dim + p[0]] = sum;
    }
}

void elastic_voigt_strain(int dim, int rows, double *C, const double *stress, double across, double swelling,
                          double *strain) {
    (void)solve_invert(rows, C); /* definite */
    for (int v = 0; v < rows; v++) {
        const int *p = elastic_pair(dim, v);
        double sum = 0.0;
        if (p[0] >= dim) continue;
        for (int w = 0; w < rows; w++) {
            const int *q = elastic_pair(dim, w);
            sum += C[v * rows + w] * (q[0] >= dim ? across : stress[q[0] * dim + q[1]]);
        }
        strain[p[0] * dim + p[1]] = strain[p[1] * dim + p[0]] = p[0] == p[1] ? sum + swelling : 0.5 * sum;
    }
}

/* The derivative of the strain in direction a; hessian: d_ab u_c at [c][a][b]. */
static void strain_slope(int dim, int rows, int a, const double *x, const double *u, const double *H,
                         const double *hessian, double *slope) {
    for (int v = 0; v < rows; v++) {
        const int *p = elastic_pair(dim, v);
        const double *first = hessian + (p[0] * dim + a) * dim, *second = hessian + (p[1] * dim + a) * dim;
        slope[v] = p[0] >= dim    ? (H[a] - (a == 0 ? u[0] / x[0] : 0.0)) / x[0]
                   : p[0] == p[1] ? first[p[0]]
                                  : first[p[1]] + second[p[0]];
    }
}

/* f = -div sigma at a point, C being one matrix; about an axis with what the weight r and the stress around
 * it contribute. */
static void source_at(const struct hdg_data *data, const double *C, const double *x, const double *u,
                      const double *H, const double *hessian, double *f) {
    int dim = data->mesh->dim, rows = elastic_n_stress(data);
    double slope[ELASTIC_MOST_STRESS], stress[9], across = 0.0;
    for (int a = 0; a < dim; a++) {
        strain_slope(dim, rows, a, x, u, H, hessian, slope);
        for (int v = 0; v < rows; v++) { /* d_a sigma_ca */
            const int *p = elastic_pair(dim, v);
            double sum = 0.0;
            for (int w = 0; w < rows; w++) sum += C[v * rows + w] * slope[w];
            if (p[0] < dim && p[1] == a) f[p[0]] -= sum;
            if (p[0] < dim && p[0] == a && p[0] != p[1]) f[p[1]] -= sum;
        }
    }
    if (data->plane != HDG_AXISYMMETRIC || dim == 3) return;
    elastic_voigt_stress(dim, rows, C, x, u, H, 0.0, stress, &across);
    f[0] -= (stress[0] - across) / x[0];
    f[1] -= stress[1] / x[0];
}

/* jets: of each component u, its gradient and its second derivatives at all points. */
facet_status elastic_voigt_source(struct local *l, int32_t region, int n, const double *x, double *f) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim, size = dim * dim;
    int64_t step = (int64_t)n * (1 + dim + size);
    memset(f, 0, (size_t)(n * dim) * sizeof *f);
    if (!elastic_is_uniform(data, region))
        FAIL(FACET_ERROR_INPUT,
             "the exact solution of a body of revolution, or of an orthotropic one, needs a material of "
             "numbers; give the source instead");
    TRY(elastic_stiffness(data, region, 1, x, l->elastic->stiffness));
    for (int c = 0; c < dim; c++) {
        double *u = l->jets + c * step;
        TRY(field_eval_jet(data->exact, c, n, dim, x, u, u + n, u + n + n * dim));
    }
    for (int q = 0; q < n; q++) {
        double u[3], H[9], hessian[27];
        for (int c = 0; c < dim; c++) {
            const double *from = l->jets + c * step;
            u[c] = from[q];
            memcpy(H + c * dim, from + n + q * dim, (size_t)dim * sizeof *H);
            memcpy(hessian + c * size, from + n + n * dim + q * size, (size_t)size * sizeof *hessian);
        }
        source_at(data, l->elastic->stiffness, x + q * dim, u, H, hessian, f + q * dim);
    }
done:
    return status;
}
