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
static const struct elastic_block *block_of(const struct local *l) {
    return &l->hdg->elastic->blocks[l->block];
}
static int dim_of(const struct local *l) {
    return l->hdg->data.mesh->dim;
}
static double affine_det(const struct local *l) {
    return l->geometry.wJ[0] / block_of(l)->cell.table->w[0];
}

facet_status elastic_begin(struct local *l, int block, int32_t cell) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int32_t region = local_region(data, block, cell);
    l->block = block;
    l->cell = cell;
    l->affine = data->mesh->blocks[block].affine[cell];
    const struct hdg_table *table = block_of(l)->cell.table;
    hdg_cell_geometry(&l->hdg->space, block, cell, table, &l->geometry);
    e->constant_lambda = field_is_constant(data->lambda[region], NULL);
    e->constant = e->constant_lambda && field_is_constant(data->mu[region], NULL);
    TRY(elastic_moduli(data, region, e->constant ? 1 : table->n, l->geometry.x, e->mu, e->lambda));
    l->volume = e->mean_mu = 0.0;
    for (int q = 0; q < table->n; q++) {
        l->volume += l->geometry.wJ[q];
        e->mean_mu += l->geometry.wJ[q] * e->mu[e->constant ? 0 : q];
    }
    e->mean_mu = e->constant ? e->mu[0] : e->mean_mu / l->volume;
done:
    return local_place(status, l);
}

/* target (NL x NR, rows of length ld) = sum_q weight_q left_i(q) right_j(q). */
static void weighted_product(struct local *l, int n, int NL, const double *left, int left_row,
                             const double *weight, int step, int NR, const double *right, int right_row,
                             double beta, double *target, int ld) {
    for (int q = 0; q < n; q++)
        for (int i = 0; i < NL; i++)
            l->weighted[q * NL + i] = weight[q * step] * left[(int64_t)q * left_row + i];
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, NL, NR, n, 1.0, l->weighted, NL, right, right_row,
                beta, target, ld);
}

/* ------------------------------------------------------------------------------------------ faces */

/* The normal of a face of an affine cell; returns its length. */
static double affine_normal(const struct local *l, int face, double *normal) {
    int dim = dim_of(l);
    double square = 0.0, det = affine_det(l);
    for (int a = 0; a < dim; a++) {
        normal[a] = 0.0;
        for (int c = 0; c < dim; c++)
            normal[a] += det * l->geometry.inverse[c * dim + a] * space_of(l)->normals[face][c];
        square += normal[a] * normal[a];
    }
    return sqrt(square);
}

static int orientation_of(const struct local *l, int face) {
    int64_t at = (int64_t)l->cell * space_of(l)->n_faces + face;
    return l->hdg->data.mesh->blocks[l->block].orientations[at];
}

facet_status elastic_face(struct local *l, int face, const double **chi, int *row) {
    const struct elastic_block *eb = block_of(l);
    int dim = dim_of(l), n = eb->face->rule.n, orientation = orientation_of(l, face);
    double area = 0.0;
    hdg_face_geometry(&l->hdg->space, l->block, l->cell, face, eb->face, &l->face_geometry, l->x, l->normal);
    for (int q = 0; q < n; q++) area += cblas_dnrm2(dim, l->normal + q * dim, 1);
    *chi = elastic_chi(l, &eb->face->side[face][orientation], eb->face_chi[face][orientation], l->x, row);
    return local_place(elastic_tau(l, area, n, l->x, l->values), l);
}

/* Adds T, E and H of one face to C, once per component; T only to the scratch. E: Nu x m, H: m x m. */
static void add_face(struct local *l, int face, const double *E, const double *H, double diagonal) {
    const struct hdg_block_space *b = space_of(l);
    int dim = dim_of(l), Nu = block_of(l)->Nu, m = b->m, N = dim * Nu, ld = N + dim * b->n_trace;
    for (int c = 0; c < dim; c++) {
        int first = N + elastic_trace_start(dim, m, face, c);
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
    const struct elastic_block *eb = block_of(l);
    int dim = dim_of(l), N0 = eb->N, m = b->m, N = dim * eb->Nu, ld = N + dim * b->n_trace;
    const double *F = eb->F_ref + (int64_t)(face * 8 + orientation_of(l, face)) * N0 * m;
    double normal[3];
    affine_normal(l, face, normal);
    for (int a = 0; a < dim; a++)
        for (int i = 0; i < N0; i++) {
            double *to = l->elastic->Z + (int64_t)i * ld + N + elastic_trace_start(dim, m, face, a);
            for (int j = 0; j < m; j++) to[j] = normal[a] * F[i * m + j];
        }
}

static facet_status affine_face(struct local *l, int face) {
    const struct hdg_block_space *b = space_of(l);
    const struct elastic_block *eb = block_of(l);
    const double *FU = eb->FU_ref + (int64_t)(face * 8 + orientation_of(l, face)) * eb->Nu * b->m;
    double normal[3], tau, length = affine_normal(l, face, normal);
    facet_status status =
        elastic_tau(l, length * shape_measure(shape_face_shape(b->shape, face)), 1, l->geometry.x, &tau);
    if (status != FACET_OK) return local_place(status, l);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, eb->Nu, b->m, tau * length, FU, b->m, 1.0,
                l->elastic->T, eb->Nu);
    add_face(l, face, FU, NULL, tau * length);
    return FACET_OK;
}

/* B^-1 from the left on the transpose of W (Nu x m): W becomes W B^-1. B is destroyed. */
static int project(int Nu, int m, double *B, double *W) {
    return LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, Nu, B, m, W, m) == 0;
}

static void general_face_gradient(struct local *l, int face, const double *chi, int row) {
    const struct hdg_block_space *b = space_of(l);
    const struct elastic_block *eb = block_of(l);
    int dim = dim_of(l), m = b->m, N = dim * eb->Nu, ld = N + dim * b->n_trace, n = eb->face->rule.n;
    for (int a = 0; a < dim; a++)
        weighted_product(l, n, eb->N, chi, row, l->normal + a, dim, m, eb->face->psi, m, 0.0,
                         l->elastic->Z + N + elastic_trace_start(dim, m, face, a), ld);
}

/* At the points of the face rule: with B = <psi, psi>, B_t = <tau psi, psi>, W = <chi, psi>, the projection
 * of chi is W B^-1, so E = W B^-1 B_t and T = E (W B^-1)'. */
static facet_status general_face(struct local *l, int face) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = space_of(l);
    const struct elastic_block *eb = block_of(l);
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), m = b->m, n = eb->face->rule.n, Nu = eb->Nu, row;
    const double *chi, *psi = eb->face->psi;
    double *area = e->values, *weight = area + n, *B = e->B, *B_tau = B + m * m;
    TRY(elastic_face(l, face, &chi, &row));
    for (int q = 0; q < n; q++) {
        area[q] = cblas_dnrm2(dim, l->normal + q * dim, 1);
        weight[q] = l->values[q] * area[q];
    }
    weighted_product(l, n, m, psi, m, weight, 1, m, psi, m, 0.0, B_tau, m);
    if (l->hdg->data.formulation == HDG_GRADIENT) {
        weighted_product(l, n, Nu, chi, row, weight, 1, m, psi, m, 0.0, e->E, m);
        weighted_product(l, n, Nu, chi, row, weight, 1, Nu, chi, row, 1.0, e->T, Nu);
    } else {
        weighted_product(l, n, m, psi, m, area, 1, m, psi, m, 0.0, B, m);
        weighted_product(l, n, Nu, chi, row, area, 1, m, psi, m, 0.0, e->W, m);
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

/* D into the first columns of Z. */
static void gradient_matrix(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct elastic_block *eb = block_of(l);
    const struct hdg_table *table = eb->cell.table;
    int dim = dim_of(l), N0 = eb->N, Nu = eb->Nu, n = table->n, ld = dim * (Nu + b->n_trace), row;
    const double *inverse = l->geometry.inverse, *chi;
    struct elastic_gradients g;
    double *Z = l->elastic->Z;
    if (l->affine) {
        double det = affine_det(l);
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N0; i++) {
                double *to = Z + (int64_t)i * ld + elastic_u_start(Nu, a);
                for (int c = 0; c < dim; c++) {
                    const double *from = eb->D_ref + ((int64_t)c * N0 + i) * Nu;
                    double scale = det * inverse[c * dim + a];
                    for (int j = 0; j < Nu; j++) to[j] = scale * from[j] + (c > 0 ? to[j] : 0.0);
                }
            }
        return;
    }
    chi = elastic_chi(l, table, eb->cell.chi, l->geometry.x, &row);
    elastic_gradients(l, &g);
    for (int a = 0; a < dim; a++) {
        for (int q = 0; q < n; q++)
            for (int i = 0; i < N0; i++) {
                double sum = 0.0;
                for (int c = 0; c < dim; c++)
                    sum +=
                        g.inverse[q * g.matrix + c * dim + a] * g.grad[c * g.step + (int64_t)q * g.row + i];
                l->weighted[q * N0 + i] = l->geometry.wJ[q] * sum;
            }
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N0, Nu, n, 1.0, l->weighted, N0, chi, row, 0.0,
                    Z + elastic_u_start(Nu, a), ld);
    }
}

/* Factors of the masses of a cell where they are needed: weights 1 when the moduli are constant (dev only),
 * 1/mu or 1/(2 mu), 1/(mu + lambda) or 1/(2 mu + d lambda) when they vary. */
static facet_status factor_masses(struct local *l) {
    const struct elastic_block *eb = block_of(l);
    const struct hdg_table *table = eb->cell.table;
    struct elastic_local *e = l->elastic;
    const double *phi;
    int N0 = eb->N, row;
    int symmetric = l->hdg->data.formulation == HDG_SYMMETRIC, d = dim_of(l);
    if (l->affine && e->constant) return FACET_OK;
    phi = elastic_chi(l, table, eb->cell.chi, l->geometry.x, &row);
    for (int which = 0; which < (e->constant ? 1 : 2); which++) {
        double *mass = which == 0 ? e->dev : e->vol, *weight = e->values;
        for (int q = 0; q < table->n; q++) {
            double mu = e->constant ? 0.0 : e->mu[q], lambda = e->constant ? 0.0 : e->lambda[q];
            double modulus =
                which == 0 ? (symmetric ? 2.0 * mu : mu) : (symmetric ? 2.0 * mu + d * lambda : mu + lambda);
            weight[q] = l->geometry.wJ[q] / (e->constant ? 1.0 : modulus);
        }
        weighted_product(l, table->n, N0, phi, row, weight, 1, N0, phi, row, 0.0, mass, N0);
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
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, ld, N0, factor != NULL ? 1.0 : 1.0 / affine_det(l), Z,
                ld, 0.0, target, ld);
}

/* S_cd = alpha P_cd + beta Q_cd + delta P_dc + gamma 1_cd sum_b P_bb. */
struct mixture {
    double alpha, beta, gamma, delta;
};
static struct mixture mixture_of(const struct local *l) {
    const struct elastic_local *e = l->elastic;
    double mu = e->mu[0], lambda = e->lambda[0], d = dim_of(l);
    if (l->hdg->data.formulation == HDG_GRADIENT)
        return e->constant ? (struct mixture){.alpha = mu + lambda, .gamma = mu}
                           : (struct mixture){.beta = 1.0, .gamma = 1.0};
    return e->constant ? (struct mixture){.alpha = lambda, .gamma = mu, .delta = mu}
                       : (struct mixture){.alpha = -1.0 / d, .beta = 1.0 / d, .gamma = 0.5, .delta = 0.5};
}

/* The block rows of one scalar row in the columns of one run: P (dim rows `row_step` apart, dim runs of n
 * columns `n` apart) becomes S in place; beta Q is added later. dim is a constant where this is inlined. */
static inline __attribute__((always_inline)) void mix_row(int dim, int n, struct mixture m, double *P,
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
    struct mixture m = mixture_of(l);
    struct run runs[1 + SHAPE_MAX_FACES] = {{0, Nu}};
    for (int f = 0; f < b->n_faces; f++)
        runs[1 + f] = (struct run){N + elastic_trace_start(dim, b->m, f, 0), b->m};
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
    int dim = dim_of(l), N = dim * block_of(l)->Nu, ld = N + dim * b->n_trace, size = dim * b->m;
    if (elastic->face_traction == NULL) return;
    for (int f = 0; f < b->n_faces; f++) {
        int32_t face = l->hdg->data.mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + f];
        if (elastic->face_traction[face] < 0) continue;
        for (int i = 0; i < size; i++) {
            int at = N + f * size + i;
            double *to = l->elastic->rows + (int64_t)(f * size + i) * ld;
            for (int j = 0; j < at; j++) to[j] = l->C[(int64_t)j * ld + at];
            for (int j = at; j < ld; j++) to[j] = l->C[(int64_t)at * ld + j];
        }
    }
}

facet_status elastic_matrix(struct local *l) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), Nu = block_of(l)->Nu, ld = dim * (Nu + b->n_trace), row;
    int affine = l->affine && (data->tau == NULL || field_is_constant(data->tau, NULL));
    const double *chi;
    gradient_matrix(l);
    for (int f = 0; f < b->n_faces; f++) {
        if (l->affine) {
            affine_face_gradient(l, f);
        } else {
            TRY(elastic_face(l, f, &chi, &row));
            general_face_gradient(l, f, chi, row);
        }
    }
    TRY(factor_masses(l));
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
    memset(e->T, 0, (size_t)(Nu * Nu) * sizeof *e->T);
    for (int f = 0; f < b->n_faces; f++) TRY(affine ? affine_face(l, f) : general_face(l, f));
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
    const struct elastic_block *eb = block_of(l);
    int dim = dim_of(l), N0 = eb->N, Nu = eb->Nu, m = b->m;
    double det = affine_det(l), *product = l->elastic->Z; /* dim x N0 x dim */
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
        const double *F = eb->F_ref + (int64_t)(f * 8 + orientation_of(l, f)) * N0 * m;
        affine_normal(l, f, normal);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N0, dim, m, 1.0, F, m, uhat + f * dim * m, m,
                    0.0, product, dim);
        for (int c = 0; c < dim; c++)
            for (int a = 0; a < dim; a++)
                for (int i = 0; i < N0; i++) t[(c * dim + a) * N0 + i] -= normal[a] * product[i * dim + c];
    }
}

/* to (N0) += sign sum_q weight_q value_q phi_i(q) */
static void add_moment(int n, int N0, double sign, const double *weight, int step, const double *value,
                       const double *phi, int row, double *scaled, double *to) {
    for (int q = 0; q < n; q++) scaled[q] = weight[q * step] * value[q];
    cblas_dgemv(CblasRowMajor, CblasTrans, n, N0, sign, phi, row, scaled, 1, 1.0, to, 1);
}

static facet_status general_moments(struct local *l, const double *u, const double *uhat, double *t) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = space_of(l);
    const struct elastic_block *eb = block_of(l);
    const struct hdg_table *table = eb->cell.table;
    int dim = dim_of(l), N0 = eb->N, Nu = eb->Nu, m = b->m, n = table->n, row;
    double *value = l->elastic->values, *scaled = l->weighted;
    const double *chi = elastic_chi(l, table, eb->cell.chi, l->geometry.x, &row);
    struct elastic_gradients g;
    elastic_gradients(l, &g);
    memset(t, 0, (size_t)(dim * dim * N0) * sizeof *t);
    for (int c = 0; c < dim; c++) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, Nu, 1.0, chi, row, u + c * Nu, 1, 0.0, value, 1);
        for (int q = 0; q < n; q++) value[q] *= l->geometry.wJ[q];
        for (int a = 0; a < dim; a++)
            for (int e = 0; e < dim; e++)
                add_moment(n, N0, 1.0, g.inverse + e * dim + a, g.matrix, value, g.grad + e * g.step, g.row,
                           scaled, t + (c * dim + a) * N0);
    }
    n = eb->face->rule.n;
    for (int f = 0; f < b->n_faces; f++) {
        TRY(elastic_face(l, f, &chi, &row));
        for (int c = 0; c < dim; c++) {
            cblas_dgemv(CblasRowMajor, CblasNoTrans, n, m, 1.0, eb->face->psi, m, uhat + (f * dim + c) * m, 1,
                        0.0, value, 1);
            for (int a = 0; a < dim; a++)
                add_moment(n, N0, -1.0, l->normal + a, dim, value, chi, row, scaled, t + (c * dim + a) * N0);
        }
    }
done:
    return status;
}

/* v = M^-1 v */
static void solve_mass(const struct local *l, const double *factor, double *v) {
    int N0 = block_of(l)->N;
    if (factor == NULL) {
        cblas_dscal(N0, 1.0 / affine_det(l), v, 1);
        return;
    }
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, N0, factor, N0, v, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, N0, factor, N0, v, 1);
}

facet_status elastic_flux(struct local *l, const double *u, const double *uhat, double *flux, double *p) {
    facet_status status = FACET_OK;
    struct elastic_local *e = l->elastic;
    int dim = dim_of(l), N0 = block_of(l)->N, symmetric = l->hdg->data.formulation == HDG_SYMMETRIC;
    double *trace = l->vector, mu = e->mu[0], lambda = e->lambda[0];
    const double *dev = l->affine && e->constant ? NULL : e->dev, *vol = e->constant ? dev : e->vol;
    if (l->affine)
        affine_moments(l, u, uhat, flux);
    else
        TRY(general_moments(l, u, uhat, flux));
    TRY(factor_masses(l));
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
    solve_mass(l, vol, trace);
    for (int i = 0; i < dim * dim; i++) {
        solve_mass(l, dev, flux + i * N0);
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
