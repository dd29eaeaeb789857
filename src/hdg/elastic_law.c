/* The law between strain and stress as a matrix, row by row of their components (elastic_pair): that of
 * isotropic bodies of revolution, and of orthotropic materials in 2D and 3D; and exact solutions under it. */
#include <math.h>
#include <string.h>

#include "hdg/elastic.h"
#include "solve/solve.h"

/* In the plane the third direction is across it, or around the axis. */
static const int pairs[2][ELASTIC_MOST_STRESS][2] = {{{0, 0}, {1, 1}, {0, 1}, {2, 2}},
                                                     {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {2, 0}, {0, 1}}};

const int *elastic_pair(int dim, int row) {
    return pairs[dim - 2][row];
}

int elastic_n_stress(const struct hdg_data *data) {
    return data->mesh->dim == 3 ? 6 : data->plane == HDG_AXISYMMETRIC ? 4 : 3;
}

static const struct field *orthotropic_of(const struct hdg_data *data, int32_t region) {
    return data->orthotropic != NULL ? data->orthotropic[region] : NULL;
}

static const struct field *axes_of(const struct hdg_data *data, int32_t region) {
    return data->axes != NULL ? data->axes[region] : NULL;
}

int elastic_is_voigt(const struct hdg_data *data, int32_t region) {
    return data->plane == HDG_AXISYMMETRIC || orthotropic_of(data, region) != NULL;
}

int elastic_is_uniform(const struct hdg_data *data, int32_t region) {
    const struct field *constants = orthotropic_of(data, region), *axes = axes_of(data, region);
    return field_is_constant(data->mu[region], NULL) && field_is_constant(data->lambda[region], NULL) &&
           (constants == NULL || field_is_constant(constants, NULL)) &&
           (axes == NULL || field_is_constant(axes, NULL));
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

/* ------------------------------------------------------------------------------------------ orthotropy */

/* The compliance between the normal components, and the shear moduli, in the axes of the material. */
struct constants {
    double S[3][3], G[3]; /* G[i]: of the plane across axis i */
};

static struct constants read_constants(int n, const double *c) {
    struct constants k = {{{0.0}}, {0.0}};
    if (n == 4) { /* what lies across the plane has no say */
        k.S[0][0] = 1.0 / c[0];
        k.S[1][1] = 1.0 / c[1];
        k.S[2][2] = 1.0 / c[0];
        k.S[0][1] = k.S[1][0] = -c[2] / c[0];
        k.G[0] = k.G[1] = k.G[2] = c[3];
        return k;
    }
    for (int i = 0; i < 3; i++) k.S[i][i] = 1.0 / c[i];
    k.S[0][1] = k.S[1][0] = -c[3] / c[0];
    k.S[0][2] = k.S[2][0] = -c[4] / c[0];
    k.S[1][2] = k.S[2][1] = -c[5] / c[1];
    k.G[2] = c[6];
    k.G[1] = c[7];
    k.G[0] = c[8];
    return k;
}

const char *hdg_orthotropic_fault(int n, const double *constants) {
    for (int i = 0; i < n; i++) {
        int ratio = n == 4 ? i == 2 : i >= 3 && i < 6;
        if (!ratio && !(constants[i] > 0.0)) return "E and G must be positive";
        if (!ratio && !(constants[i] >= SOLVE_LEAST && constants[i] <= 1.0 / SOLVE_LEAST))
            return "E and G must lie between 1e-140 and 1e140 (use other units)";
    }
    struct constants k = read_constants(n, constants);
    double root[9];
    if (local_small_root(3, &k.S[0][0], root)) return NULL;
    return n == 4 ? "nu12 must be below sqrt(E1/E2) in size, so that every strain takes work"
                  : "nu12, nu13 and nu23 must be so small that every strain takes work: in size nu12 < "
                    "sqrt(E1/E2), and so on, and 1 > nu12 nu21 + nu23 nu32 + nu31 nu13 + 2 nu21 nu32 nu13";
}

/* The law in the axes of the material, as the plane wants it. */
static void material_law(const struct hdg_data *data, const struct constants *k, double *C) {
    int dim = data->mesh->dim, rows = elastic_n_stress(data);
    int strain = dim == 2 && data->plane == HDG_PLANE_STRAIN; /* nothing gives way across the plane */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            const int *p = elastic_pair(dim, i), *q = elastic_pair(dim, j);
            int normal = p[0] == p[1] && q[0] == q[1];
            double S = normal ? k->S[p[0]][q[0]] : i == j ? 1.0 / k->G[3 - p[0] - p[1]] : 0.0;
            if (normal && strain) S -= k->S[p[0]][2] * k->S[q[0]][2] / k->S[2][2];
            C[i * rows + j] = S;
        }
    (void)solve_invert(rows, C); /* definite, as k is */
}

/* R: its columns are the axes of the material. 0: the directions do not make any. */
static int find_axes(int dim, const double *given, double R[3][3]) {
    double vectors[3][3] = {{0.0}, {0.0}, {0.0, 0.0, 1.0}}, across = 0.0;
    for (int a = 0; a < dim; a++) {
        vectors[0][a] = given[a];
        if (dim == 3) vectors[1][a] = given[3 + a];
    }
    double first = local_norm(3, vectors[0]), second = local_norm(3, vectors[1]);
    if (!(first > 0.0) || (dim == 3 && !(second > 0.0))) return 0;
    for (int a = 0; a < 3; a++) vectors[0][a] /= first;
    if (dim == 2) {
        vectors[1][0] = -vectors[0][1];
        vectors[1][1] = vectors[0][0];
    } else {
        for (int a = 0; a < 3; a++) across += vectors[0][a] * vectors[1][a] / second;
        for (int a = 0; a < 3; a++) vectors[1][a] = vectors[1][a] / second - across * vectors[0][a];
        double left = local_norm(3, vectors[1]);
        if (!(left > 1e-6)) return 0;
        for (int a = 0; a < 3; a++) vectors[1][a] /= left;
        for (int a = 0; a < 3; a++) {
            int b = (a + 1) % 3, c = (a + 2) % 3;
            vectors[2][a] = vectors[0][b] * vectors[1][c] - vectors[0][c] * vectors[1][b];
        }
    }
    for (int i = 0; i < 9; i++) R[i % 3][i / 3] = vectors[i / 3][i % 3];
    return 1;
}

/* C = T C T', with T: the components of a stress from those in the axes of the material. */
static void turn_law(int dim, int rows, const double R[3][3], double *C) {
    double T[ELASTIC_MOST_STRESS][ELASTIC_MOST_STRESS], TC[ELASTIC_MOST_STRESS][ELASTIC_MOST_STRESS];
    for (int v = 0; v < rows; v++)
        for (int w = 0; w < rows; w++) {
            const int *p = elastic_pair(dim, v), *q = elastic_pair(dim, w);
            T[v][w] = R[p[0]][q[0]] * R[p[1]][q[1]];
            if (q[0] != q[1]) T[v][w] += R[p[0]][q[1]] * R[p[1]][q[0]];
        }
    for (int v = 0; v < rows; v++)
        for (int w = 0; w < rows; w++) {
            TC[v][w] = 0.0;
            for (int k = 0; k < rows; k++) TC[v][w] += T[v][k] * C[k * rows + w];
        }
    for (int v = 0; v < rows; v++)
        for (int w = 0; w < rows; w++) {
            C[v * rows + w] = 0.0;
            for (int k = 0; k < rows; k++) C[v * rows + w] += TC[v][k] * T[w][k];
        }
}

/* Constants and axes at a point, checked. */
static facet_status orthotropic_at(const struct hdg_data *data, int32_t region, const double *x,
                                   struct constants *k, double R[3][3]) {
    facet_status status = FACET_OK;
    const struct field *constants = orthotropic_of(data, region), *axes = axes_of(data, region);
    int dim = data->mesh->dim, n = field_n_components(constants);
    double values[9], given[6];
    char place[96];
    for (int i = 0; i < 9; i++) R[i / 3][i % 3] = i % 4 == 0 ? 1.0 : 0.0;
    if (n == 4 && data->plane != HDG_PLANE_STRESS)
        FAIL(FACET_ERROR_INPUT,
             "material: the four constants E1, E2, nu12 and G12 are enough in plane: stress "
             "alone; give nine");
    TRY(base_wrap(field_eval(constants, 1, dim, x, values), "material"));
    const char *fault = hdg_orthotropic_fault(n, values);
    if (fault != NULL)
        FAIL(FACET_ERROR_INPUT, "material: %s, which is not so at %s", fault,
             expr_point_text(dim, x, 6, place, sizeof place));
    *k = read_constants(n, values);
    if (axes == NULL) goto done;
    TRY(base_wrap(field_eval(axes, 1, dim, x, given), "material: the axes"));
    if (!find_axes(dim, given, R))
        FAIL(FACET_ERROR_INPUT, "material: the directions of its axes vanish, or are the same, at %s",
             expr_point_text(dim, x, 6, place, sizeof place));
done:
    return status;
}

facet_status elastic_stiffness(const struct hdg_data *data, int32_t region, int n, const double *x,
                               double *C) {
    facet_status status = FACET_OK;
    int dim = data->mesh->dim, rows = elastic_n_stress(data),
        orthotropic = orthotropic_of(data, region) != NULL;
    for (int q = 0; q < n; q++, C += rows * rows) {
        double mu, lambda, R[3][3];
        struct constants k;
        if (!orthotropic) {
            TRY(elastic_moduli(data, region, 1, x + q * dim, &mu, &lambda));
            isotropic(dim, rows, mu, lambda, C);
            continue;
        }
        TRY(orthotropic_at(data, region, x + q * dim, &k, R));
        material_law(data, &k, C);
        turn_law(dim, rows, R, C);
    }
done:
    return status;
}

/* In plane strain what holds the material back across the plane: S_3i sigma_i = 0 in its axes. */
facet_status elastic_voigt_across(const struct hdg_data *data, int32_t region, const double *x,
                                  const double *stress, double *across) {
    facet_status status = FACET_OK;
    struct constants k;
    double R[3][3];
    *across = 0.0;
    if (data->mesh->dim == 3 || data->plane != HDG_PLANE_STRAIN) return FACET_OK;
    TRY(orthotropic_at(data, region, x, &k, R));
    for (int i = 0; i < 2; i++) {
        double normal = 0.0;
        for (int a = 0; a < 4; a++) normal += R[a / 2][i] * stress[a] * R[a % 2][i];
        *across -= k.S[2][i] * normal / k.S[2][2];
    }
done:
    return status;
}

/* ---------------------------------------------------------------------------------- exact solutions */

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
