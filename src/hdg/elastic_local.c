/* The matrix of one cell in elasticity, and its fluxes. src/hdg/elastic.h derives it. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

static const struct hdg_block_space *space_of(const struct local *l) {
    return &l->hdg->space.blocks[l->block];
}
static const struct hdg_functions *block_of(const struct local *l) {
    return &l->hdg->functions[l->block];
}
static int dim_of(const struct local *l) {
    return l->hdg->data.mesh->dim;
}

facet_status elastic_begin(struct local *l, int block, int32_t cell) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int32_t region = local_region(data, block, cell);
    l->block = block;
    l->cell = cell;
    l->affine = data->mesh->blocks[block].affine[cell] && !l->hdg->space.revolved;
    const struct hdg_table *table = block_of(l)->cell.table;
    hdg_cell_geometry(&l->hdg->space, block, cell, table, &l->geometry);
    l->det = l->geometry.wJ[0] / table->w[0];
    e->constant_lambda = field_is_constant(data->lambda[region], NULL);
    e->constant = elastic_is_uniform(data, region);
    TRY(local_check_axis(l, table->n));
    TRY(elastic_moduli(data, region, e->constant ? 1 : table->n, l->geometry.x, e->mu, e->lambda));
    if (elastic_is_voigt(data, region)) TRY(elastic_voigt_begin(l, region, table->n));
    l->volume = e->mean_mu = 0.0;
    for (int q = 0; q < table->n; q++) {
        l->volume += l->geometry.wJ[q];
        e->mean_mu += l->geometry.wJ[q] * e->mu[e->constant ? 0 : q];
    }
    e->mean_mu = e->constant ? e->mu[0] : e->mean_mu / l->volume;
done:
    return local_place(status, l);
}

/* ------------------------------------------------------------------------------------------ faces */

/* Adds T, E and H of one face to C, once per component; T only to the scratch. E: Nu x m, H: m x m. */
static void add_face(struct local *l, int face, const double *E, const double *H, double diagonal) {
    const struct hdg_block_space *b = space_of(l);
    int dim = dim_of(l), Nu = block_of(l)->Nu, m = hdg_face_size(b, face), N = dim * Nu,
        ld = N + dim * b->n_trace;
    for (int c = 0; c < dim; c++) {
        int first = N + elastic_trace_start(b, dim, face, c);
        for (int i = 0; i < Nu; i++) {
            double *to = l->C + (int64_t)(elastic_u_start(Nu, c) + i) * ld + first;
            for (int j = 0; j < m; j++) to[j] += diagonal * E[i * m + j];
        }
        for (int i = 0; i < m; i++) {
            double *to = l->C + (int64_t)(first + i) * ld + first;
            if (H == NULL)
                to[i] += diagonal;
            else
                for (int j = i; j < m; j++) to[j] += H[i * m + j];
        }
    }
}

/* G of a face with constant normal into Z. */
static void affine_face_gradient(struct local *l, int face) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_functions *eb = block_of(l);
    int dim = dim_of(l), N0 = eb->N, m = hdg_face_size(b, face), N = dim * eb->Nu, ld = N + dim * b->n_trace;
    const double *F = eb->F_ref + (int64_t)(face * 8 + local_orientation(l, face)) * N0 * b->m;
    double normal[3];
    local_affine_normal(l, face, normal);
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N0; i++) {
            double *to = l->elastic->Z + (int64_t)i * ld + N + elastic_trace_start(b, dim, face, a);
            for (int j = 0; j < m; j++) to[j] = normal[a] * F[i * m + j];
        }
}

static facet_status affine_face(struct local *l, int face) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_functions *eb = block_of(l);
    const int m = hdg_face_size(b, face);
    const double *FU = eb->FU_ref + (int64_t)(face * 8 + local_orientation(l, face)) * eb->Nu * b->m;
    double normal[3], tau, length = local_affine_normal(l, face, normal);
    facet_status status = elastic_tau(l, face, length * shape_measure(shape_face_shape(b->shape, face)), 1,
                                      l->geometry.x, &tau);
    if (status != FACET_OK) return local_place(status, l);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, eb->Nu, m, tau * length, FU, m, 1.0, l->elastic->T,
                eb->Nu);
    add_face(l, face, FU, NULL, tau * length);
    return FACET_OK;
}

/* B^-1 from the left on the transpose of W (Nu x m): W becomes W B^-1. B is destroyed. */
static int project(int Nu, int m, double *B, double *W) {
    return LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, Nu, B, m, W, m) == 0;
}

static void general_face_gradient(struct local *l, int face, const double *chi, int row) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_functions *eb = block_of(l);
    const struct hdg_face_table *table = hdg_face_of(eb->face, face);
    int dim = dim_of(l), m = table->m, N = dim * eb->Nu, ld = N + dim * b->n_trace;
    for (int a = 0; a < dim; a++)
        hdg_weighted_product(table->rule.n, eb->N, chi, row, l->normal + a, dim, m, table->psi, m, 0.0,
                             l->weighted, l->elastic->Z + N + elastic_trace_start(b, dim, face, a), ld);
}

/* At the points of the face rule: with B = <psi, psi>, B_t = <tau psi, psi>, W = <chi, psi>, the projection
 * of chi is W B^-1, so E = W B^-1 B_t and T = E (W B^-1)'. */
static facet_status general_face(struct local *l, int face) {
    facet_status status = FACET_OK;
    const struct hdg_functions *eb = block_of(l);
    const struct hdg_face_table *table = hdg_face_of(eb->face, face);
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), m = table->m, n = table->rule.n, Nu = eb->Nu, row;
    const double *chi, *psi = table->psi;
    double *area = e->values, *weight = area + n, *B = e->B, *B_tau = B + m * m;
    TRY(local_face_tau(l, face, &chi, &row));
    for (int q = 0; q < n; q++) {
        area[q] = cblas_dnrm2(dim, l->normal + q * dim, 1);
        weight[q] = l->values[q] * area[q];
    }
    hdg_weighted_product(n, m, psi, m, weight, 1, m, psi, m, 0.0, l->weighted, B_tau, m);
    if (elastic_is_gradient(&l->hdg->data)) {
        hdg_weighted_product(n, Nu, chi, row, weight, 1, m, psi, m, 0.0, l->weighted, e->E, m);
        hdg_weighted_product(n, Nu, chi, row, weight, 1, Nu, chi, row, 1.0, l->weighted, e->T, Nu);
    } else {
        hdg_weighted_product(n, m, psi, m, area, 1, m, psi, m, 0.0, l->weighted, B, m);
        hdg_weighted_product(n, Nu, chi, row, area, 1, m, psi, m, 0.0, l->weighted, e->W, m);
        if (!project(Nu, m, B, e->W))
            TRY(local_place(base_fail(FACET_ERROR_INPUT, "face %d is degenerate", face), l));
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, Nu, m, m, 1.0, e->W, m, B_tau, m, 0.0, e->E,
                    m);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, Nu, Nu, m, 1.0, e->E, m, e->W, m, 1.0, e->T, Nu);
    }
    add_face(l, face, e->E, B_tau, 1.0);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------- flux */

/* Factors of the masses of a cell where they are needed: weights 1 when the moduli are constant (dev only),
 * 1/mu or 1/(2 mu), 1/(mu + lambda) or 1/(2 mu + d lambda) when they vary. */
facet_status elastic_factor_masses(struct local *l) {
    const struct hdg_functions *eb = block_of(l);
    const struct hdg_table *table = eb->cell.table;
    struct elastic_local *e = l->elastic;
    const double *phi;
    int N0 = eb->N, row;
    int symmetric = !elastic_is_gradient(&l->hdg->data), d = elastic_directions(&l->hdg->data);
    if (l->affine && e->constant) return FACET_OK;
    phi = local_chi(l, table, eb->cell.chi, l->geometry.x, &row);
    for (int which = 0; which < (e->constant ? 1 : 2); which++) {
        double *mass = which == 0 ? e->dev : e->vol, *weight = e->values;
        for (int q = 0; q < table->n; q++) {
            double mu = e->constant ? 0.0 : e->mu[q], lambda = e->constant ? 0.0 : e->lambda[q];
            double modulus =
                which == 0 ? (symmetric ? 2.0 * mu : mu) : (symmetric ? 2.0 * mu + d * lambda : mu + lambda);
            weight[q] = l->geometry.wJ[q] / (e->constant ? 1.0 : modulus);
        }
        hdg_weighted_product(table->n, N0, phi, row, weight, 1, N0, phi, row, 0.0, l->weighted, mass, N0);
        if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', N0, mass, N0) != 0)
            return local_place(base_fail(FACET_ERROR_INPUT,
                                         "the mass matrix is not positive definite; is the cell degenerate?"),
                               l);
    }
    return FACET_OK;
}

/* target (upper triangle) = Z' M^-1 Z. */
static void gram(struct local *l, const double *factor, double *Z, double *target) {
    int N0 = block_of(l)->N, ld = dim_of(l) * (block_of(l)->Nu + space_of(l)->n_trace);
    if (factor != NULL)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N0, ld, 1.0, factor, N0,
                    Z, ld);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, ld, N0, factor != NULL ? 1.0 : 1.0 / l->det, Z, ld,
                0.0, target, ld);
}

static struct elastic_mixture mixture_of(const struct local *l) {
    const struct elastic_local *e = l->elastic;
    double d = dim_of(l);
    if (e->constant) return elastic_mixture(&l->hdg->data, e->mu[0], e->lambda[0]);
    return elastic_is_gradient(&l->hdg->data)
               ? (struct elastic_mixture){.beta = 1.0, .gamma = 1.0}
               : (struct elastic_mixture){.alpha = -1.0 / d, .beta = 1.0 / d, .gamma = 0.5, .delta = 0.5};
}

/* The block rows of one scalar row in the columns of one run: P (dim rows `row_step` apart, dim runs of n
 * columns `n` apart) becomes S in place; beta Q is added later. dim is a constant where this is inlined. */
static inline __attribute__((always_inline)) void mix_row(int dim, int n, struct elastic_mixture m, double *P,
                                                          int64_t row_step) {
    double *restrict rows[9];
    for (int i = 0; i < dim * dim; i++) rows[i] = P + i / dim * row_step + (int64_t)(i % dim) * n;
    for (int j = 0; j < n; j++) {
        double old[9], sum = 0.0;
        for (int i = 0; i < dim * dim; i++) old[i] = rows[i][j];
        for (int c = 0; c < dim; c++) sum += old[c * (dim + 1)];
        for (int i = 0; i < dim * dim; i++)
            rows[i][j] = m.alpha * old[i] + m.delta * old[i % dim * dim + i / dim] +
                         (i % (dim + 1) == 0 ? m.gamma * sum : 0.0);
    }
}

/* Runs: the displacements, then the faces; run r has dim sub-runs of `size` from `start`. */
struct run {
    int start, size;
};

/* The lower triangle of the diagonal block of a run from its upper one. */
static void mirror(int ld, int start, int size, double *C) {
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++)
            C[(int64_t)(start + i) * ld + start + j] = C[(int64_t)(start + j) * ld + start + i];
}

static void mix(struct local *l, double *C, const double *Q) {
    const struct hdg_block_space *b = space_of(l);
    int dim = dim_of(l), Nu = block_of(l)->Nu, N = dim * Nu, ld = N + dim * b->n_trace,
        n_runs = 1 + b->n_faces;
    struct elastic_mixture m = mixture_of(l);
    struct run runs[1 + SHAPE_MAX_FACES] = {{0, Nu}};
    for (int f = 0; f < b->n_faces; f++)
        runs[1 + f] = (struct run){N + elastic_trace_start(b, dim, f, 0), hdg_face_size(b, f)};
    for (int r = 0; r < n_runs; r++) {
        mirror(ld, runs[r].start, dim * runs[r].size, C);
        for (int s = r; s < n_runs; s++)
            for (int i = 0; i < runs[r].size; i++) {
                double *P = C + (int64_t)(runs[r].start + i) * ld + runs[s].start;
                if (dim == 2)
                    mix_row(2, runs[s].size, m, P, (int64_t)runs[r].size * ld);
                else
                    mix_row(3, runs[s].size, m, P, (int64_t)runs[r].size * ld);
            }
    }
    for (int i = 0; i < ld && Q != NULL; i++)
        cblas_daxpy(ld - i, m.beta, Q + (int64_t)i * (ld + 1), 1, C + (int64_t)i * (ld + 1), 1);
}

/* The Gram rows of the faces with tractions, whole, before they are mixed. */
static void keep_traction_rows(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_elastic *elastic = l->hdg->elastic;
    int dim = dim_of(l), N = dim * block_of(l)->Nu, ld = N + dim * b->n_trace;
    if (elastic->face_traction == NULL) return;
    for (int f = 0; f < b->n_faces; f++) {
        int32_t face = l->hdg->data.mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + f];
        if (elastic->face_traction[face] < 0) continue;
        for (int i = dim * b->starts[f]; i < dim * b->starts[f + 1]; i++) {
            int at = N + i;
            double *to = l->elastic->rows + (int64_t)i * ld;
            for (int j = 0; j < at; j++) to[j] = l->C[(int64_t)j * ld + at];
            for (int j = at; j < ld; j++) to[j] = l->C[(int64_t)at * ld + j];
        }
    }
}

/* Z = [D | G] of the cell at hand. */
static void gradient_matrix(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = dim_of(l), Nu = block_of(l)->Nu, row;
    local_gradient_matrix(l, l->elastic->Z, Nu, dim * (Nu + b->n_trace));
    for (int f = 0; f < b->n_faces; f++) {
        if (l->affine) {
            affine_face_gradient(l, f);
        } else if (local_on_axis(l, f)) {
            int ld = dim * (Nu + b->n_trace), at = dim * Nu + elastic_trace_start(b, dim, f, 0);
            for (int64_t i = 0; i < block_of(l)->N; i++)
                memset(l->elastic->Z + i * ld + at, 0, (size_t)(dim * hdg_face_size(b, f)) * sizeof(double));
        } else {
            const double *chi = local_face(l, f, &row);
            general_face_gradient(l, f, chi, row);
        }
    }
}

/* Z'M^-1 Z of the moduli into C, Z being there. */
static facet_status isotropic_gram(struct local *l) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int ld = dim_of(l) * (block_of(l)->Nu + space_of(l)->n_trace);
    TRY(elastic_factor_masses(l));
    if (e->constant) {
        gram(l, l->affine ? NULL : e->dev, e->Z, l->C);
    } else {
        double *copy = e->Q + (int64_t)ld * ld;
        memcpy(copy, e->Z, (size_t)(block_of(l)->N * ld) * sizeof *copy);
        gram(l, e->dev, e->Z, l->C);
        gram(l, e->vol, copy, e->Q);
    }
    keep_traction_rows(l);
    mix(l, l->C, e->constant ? NULL : e->Q);
done:
    return status;
}

static int is_voigt(const struct local *l) {
    return elastic_is_voigt(&l->hdg->data, local_region(&l->hdg->data, l->block, l->cell));
}

facet_status elastic_matrix(struct local *l) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), Nu = block_of(l)->Nu, ld = dim * (Nu + b->n_trace);
    int affine = l->affine && (data->tau == NULL || field_is_constant(data->tau, NULL));
    gradient_matrix(l);
    TRY(is_voigt(l) ? elastic_voigt_gram(l) : isotropic_gram(l));
    memset(e->T, 0, (size_t)(Nu * Nu) * sizeof *e->T);
    for (int f = 0; f < b->n_faces; f++)
        if (!local_on_axis(l, f)) TRY(affine ? affine_face(l, f) : general_face(l, f));
    for (int c = 0; c < dim; c++)
        for (int i = 0; i < Nu; i++) {
            int at = elastic_u_start(Nu, c);
            for (int j = i; j < Nu; j++) l->C[(int64_t)(at + i) * ld + at + j] += e->T[i * Nu + j];
        }
done:
    return status;
}

/* --------------------------------------------------------------------------------------- recovery */

static void affine_moments(struct local *l, const double *u, const double *uhat, double *t) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_functions *eb = block_of(l);
    int dim = dim_of(l), N0 = eb->N, Nu = eb->Nu;
    double det = l->det, *product = l->elastic->Z; /* dim x N0 x dim */
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, dim * N0, dim, Nu, 1.0, eb->D_ref, Nu, u, Nu, 0.0,
                product, dim);
    for (int c = 0; c < dim; c++)
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N0; i++) {
                double sum = 0.0;
                for (int e = 0; e < dim; e++)
                    sum += l->geometry.inverse[e * dim + a] * product[(e * N0 + i) * dim + c];
                t[(c * dim + a) * N0 + i] = det * sum;
            }
    for (int f = 0; f < b->n_faces; f++) {
        double normal[3];
        const double *F = eb->F_ref + (int64_t)(f * 8 + local_orientation(l, f)) * N0 * b->m;
        int m = hdg_face_size(b, f);
        local_affine_normal(l, f, normal);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N0, dim, m, 1.0, F, m, uhat + dim * b->starts[f],
                    m, 0.0, product, dim);
        for (int c = 0; c < dim; c++)
            for (int a = 0; a < dim; a++)
                for (int i = 0; i < N0; i++) t[(c * dim + a) * N0 + i] -= normal[a] * product[i * dim + c];
    }
}

/* v = M^-1 v */
void elastic_solve_mass(const struct local *l, const double *factor, double *v) {
    int N0 = block_of(l)->N;
    if (factor == NULL) {
        cblas_dscal(N0, 1.0 / l->det, v, 1);
        return;
    }
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, N0, factor, N0, v, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, N0, factor, N0, v, 1);
}

facet_status elastic_flux(struct local *l, const double *u, const double *uhat, double *flux, double *p) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), N0 = block_of(l)->N, symmetric = !elastic_is_gradient(&l->hdg->data);
    double *trace = l->vector, mu = e->mu[0], lambda = e->lambda[0];
    const double *dev = l->affine && e->constant ? NULL : e->dev, *vol = e->constant ? dev : e->vol;
    if (l->affine)
        affine_moments(l, u, uhat, flux);
    else
        local_moments(l, u, uhat, flux);
    if (is_voigt(l)) return elastic_voigt_flux(l, u, flux, p);
    TRY(elastic_factor_masses(l));
    memset(trace, 0, (size_t)N0 * sizeof *trace);
    for (int c = 0; c < dim; c++) cblas_daxpy(N0, 1.0, flux + c * (dim + 1) * N0, 1, trace, 1);
    if (symmetric)
        for (int c = 0; c < dim; c++) {
            cblas_daxpy(N0, -1.0 / dim, trace, 1, flux + c * (dim + 1) * N0, 1);
            for (int a = 0; a < c; a++)
                for (int i = 0; i < N0; i++) {
                    double *x = flux + (c * dim + a) * N0 + i, *y = flux + (a * dim + c) * N0 + i;
                    *x = *y = 0.5 * (*x + *y);
                }
        }
    elastic_solve_mass(l, vol, trace);
    for (int i = 0; i < dim * dim; i++) {
        elastic_solve_mass(l, dev, flux + i * N0);
        double scale = symmetric ? (e->constant ? 2.0 * mu : 1.0) : (e->constant ? 1.0 : 1.0 / mu);
        cblas_dscal(N0, -scale, flux + i * N0, 1);
    }
    if (symmetric)
        for (int c = 0; c < dim; c++)
            cblas_daxpy(N0, -(e->constant ? 2.0 * mu + dim * lambda : 1.0) / dim, trace, 1,
                        flux + c * (dim + 1) * N0, 1);
    if (p != NULL)
        for (int i = 0; i < N0; i++) p[i] = (e->constant ? mu + lambda : 1.0) * trace[i];
done:
    return status;
}

/* ------------------------------------------------------------------------------------------- heat */

facet_status elastic_initial(struct local *l, double *spherical, double *loads) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const struct hdg_functions *eb = block_of(l);
    const struct hdg_table *table = eb->cell.table;
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), N0 = eb->N, n = table->n, gradient = elastic_is_gradient(data), row;
    double *strain = e->values, mu = e->mu[0], lambda = e->lambda[0];
    const double *mass = l->affine && e->constant ? NULL : e->constant ? e->dev : e->vol;
    TRY(local_place(elastic_thermal(l, n, l->geometry.x, strain + n, strain), l));
    for (int q = 0; q < n; q++) {
        if (!e->constant) mu = e->mu[q], lambda = e->lambda[q];
        double moment = gradient ? elastic_thermal_pressure(data, mu, lambda, strain[q]) / (mu + lambda)
                                 : elastic_swelling(data, mu, lambda, strain[q]);
        strain[q] = l->geometry.wJ[q] * moment;
    }
    const double *phi = local_chi(l, table, eb->cell.chi, l->geometry.x, &row);
    cblas_dgemv(CblasRowMajor, CblasTrans, n, N0, -1.0, phi, row, strain, 1, 0.0, spherical, 1);
    TRY(elastic_factor_masses(l));
    elastic_solve_mass(l, mass, spherical);
    if (e->constant)
        cblas_dscal(N0, gradient ? mu + lambda : 2.0 * mu + elastic_directions(data) * lambda, spherical, 1);
    if (loads == NULL) goto done;
    int ld = dim * (eb->Nu + space_of(l)->n_trace);
    gradient_matrix(l);
    cblas_dgemv(CblasRowMajor, CblasTrans, N0, ld, 1.0, e->Z, ld, spherical, 1, 0.0, loads, 1);
    if (!l->hdg->space.revolved) goto done;
    elastic_hoop_matrix(l);
    cblas_dgemv(CblasRowMajor, CblasTrans, N0, eb->Nu, 1.0, e->hoop, eb->Nu, spherical, 1, 1.0, loads, 1);
done:
    return status;
}
