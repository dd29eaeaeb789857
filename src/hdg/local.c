/* The matrices of one cell. Affine cells take a path over reference matrices, the others over quadrature
 * points. */
#include "hdg/diffusion.h"
#include "hdg/elastic.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

facet_status local_create(const struct hdg *hdg, struct local *l) {
    facet_status status = FACET_OK;
    int dim = hdg->data.mesh->dim, points = hdg_max_points(&hdg->space), N = 0, N_star = 0, n_trace = 0;
    int components = equation_components(hdg->data.equation, dim);
    int64_t total = 0;
    *l = (struct local){.hdg = hdg};
    for (int b = 0; b < hdg->data.mesh->n_blocks; b++) {
        const struct hdg_block_space *s = &hdg->space.blocks[b];
        const struct hdg_functions *v = &hdg->functions[b];
        int size = components * (v->Nu + s->n_trace);
        N = s->N > N ? s->N : N;
        N_star = s->N_star > N_star ? s->N_star : N_star;
        n_trace = s->n_trace > n_trace ? s->n_trace : n_trace;
        points = hdg_face_points(v->face) > points ? hdg_face_points(v->face) : points;
        points = v->cell.table->n > points ? v->cell.table->n : points;
        total = size > total ? size : total;
    }
    if (total < N + n_trace) total = N + n_trace; /* blocks of different shapes */
    TRY(hdg_geometry_create(points, dim, &l->geometry));
    TRY(hdg_geometry_create(points, dim, &l->face_geometry));
    TRY(ALLOC(l->x, points * dim));
    TRY(ALLOC(l->normal, points * dim));
    TRY(ALLOC(l->K, points * dim * dim));
    TRY(ALLOC(l->values, points * components));
    TRY(ALLOC(l->jets, (int64_t)points * 40));
    TRY(ALLOC(l->weighted, (int64_t)points * N_star));
    TRY(hdg->data.equation->scratch(l, points, total));
    TRY(ALLOC(l->C, total * total));
    TRY(ALLOC(l->vector, 4 * (dim * N + N_star + n_trace) * components));
done:
    if (status != FACET_OK) local_destroy(l);
    return status;
}

facet_status local_create_light(const struct hdg *hdg, struct local *l) {
    facet_status status = FACET_OK;
    int dim = hdg->data.mesh->dim;
    *l = (struct local){.hdg = hdg};
    TRY(hdg_geometry_create(1, dim, &l->geometry));
    TRY(ALLOC(l->values, 1));
done:
    if (status != FACET_OK) local_destroy(l);
    return status;
}

void local_destroy(struct local *l) {
    hdg_geometry_destroy(&l->geometry);
    hdg_geometry_destroy(&l->face_geometry);
    elastic_local_destroy(l); /* safe when there is none */
    double **arrays[] = {&l->x,        &l->normal, &l->K, &l->values, &l->jets,
                         &l->weighted, &l->X,      &l->A, &l->C,      &l->vector};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) base_free(arrays[i]);
}

facet_status local_for_all_cells(const struct hdg *hdg, local_work work, void *user) {
    struct base_collector failures;
    const struct facet_mesh *mesh = hdg->data.mesh;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct local l;
        facet_status mine = local_create(hdg, &l);
        base_collect(&failures, -1, mine);
        for (int block = 0; block < mesh->n_blocks; block++) {
#pragma omp for schedule(static)
            for (int32_t cell = 0; cell < mesh->blocks[block].count; cell++) {
                if (mine != FACET_OK) continue;
                mine = work(&l, block, cell, user);
                base_collect(&failures, mesh->blocks[block].first + cell, mine);
            }
        }
        local_destroy(&l);
    }
    return base_collected(&failures);
}

static const struct hdg_block_space *space_of(const struct local *l) {
    return &l->hdg->space.blocks[l->block];
}

/* Heights over the faces. */
static void find_heights(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim;
    double volume = 0.0;
    for (int q = 0; q < b->cell.n; q++) volume += l->geometry.wJ[q];
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *table = hdg_face_of(&b->face, f);
        double area = 0.0;
        hdg_face_geometry(&l->hdg->space, l->block, l->cell, f, table, &l->face_geometry, l->x, l->normal);
        for (int q = 0; q < table->rule.n; q++) area += local_norm(dim, l->normal + q * dim);
        l->heights[f] = volume / area * shape_height(b->shape, f);
    }
}

facet_status diffusion_begin(struct local *l, int block, int32_t cell) {
    const struct hdg_data *data = &l->hdg->data;
    const struct hdg_block_space *b = &l->hdg->space.blocks[block];
    int dim = data->mesh->dim;
    int32_t region = local_region(data, block, cell);
    l->block = block;
    l->cell = cell;
    l->affine = data->mesh->blocks[block].affine[cell] && !l->hdg->space.revolved;
    hdg_cell_geometry(&l->hdg->space, block, cell, &b->cell, &l->geometry);
    l->det = l->geometry.wJ[0] / b->cell.w[0];
    if (data->tau == NULL && data->tau_hat > 0.0) find_heights(l);
    int constant = local_constant_conductivity(data, region, l->K);
    facet_status status = local_check_axis(l, b->cell.n);
    if (status == FACET_OK)
        status = local_conductivity(l, region, constant ? 1 : b->cell.n, l->geometry.x, l->K);
    if (status != FACET_OK) return local_place(status, l);
    if (constant) local_small_root(dim, l->K, l->K_root);
    double volume = 0.0, trace = 0.0;
    for (int q = 0; q < b->cell.n; q++) {
        volume += l->geometry.wJ[q];
        for (int a = 0; a < dim; a++)
            trace += l->geometry.wJ[q] * l->K[(constant ? 0 : q * dim * dim) + a * (dim + 1)];
    }
    l->volume = volume;
    l->mean_K = trace / (volume * dim);
    l->mass = !constant   ? (field_n_components(data->conductivity[region]) == 1 ? FLUX_SCALAR : FLUX_FULL)
              : l->affine ? FLUX_SCALED
                          : FLUX_CONSTANT;
    return FACET_OK;
}

facet_status local_check_axis(const struct local *l, int n) {
    int dim = l->hdg->data.mesh->dim;
    for (int q = 0; q < n && l->hdg->space.revolved; q++)
        if (!(l->geometry.x[q * dim] > 0.0))
            return base_fail(FACET_ERROR_INPUT,
                             "a cell of plane: axisymmetric must lie at x > 0, but reaches "
                             "x = %g inside; refine there",
                             l->geometry.x[q * dim]);
    return FACET_OK;
}

double local_affine_normal(const struct local *l, int face, double *normal) {
    int dim = l->hdg->data.mesh->dim;
    for (int a = 0; a < dim; a++) {
        normal[a] = 0.0;
        for (int c = 0; c < dim; c++)
            normal[a] += l->det * l->geometry.inverse[c * dim + a] * space_of(l)->normals[face][c];
    }
    return local_norm(dim, normal);
}

const double *local_face(struct local *l, int face, int *row) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_face_table *table = hdg_face_of(v->face, face);
    int orientation = local_orientation(l, face);
    hdg_face_geometry(&l->hdg->space, l->block, l->cell, face, table, &l->face_geometry, l->x, l->normal);
    return local_chi(l, &table->side[face][orientation], v->face_chi[face][orientation], l->x, row);
}

facet_status local_face_tau(struct local *l, int face, const double **chi, int *row) {
    int dim = l->hdg->data.mesh->dim, n = hdg_face_of(l->hdg->functions[l->block].face, face)->rule.n;
    double area = 0.0;
    *chi = local_face(l, face, row);
    for (int q = 0; q < n; q++) area += local_norm(dim, l->normal + q * dim);
    return local_place(l->hdg->data.equation->tau(l, face, area, n, l->x, l->values), l);
}

void local_gradient_matrix(struct local *l, double *D, int64_t step, int ld) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_table *table = v->cell.table;
    int dim = table->dim, N = v->N, Nu = v->Nu, row;
    const double *inverse = l->geometry.inverse;
    struct local_gradients g;
    if (l->affine) {
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < N; i++) {
                double *to = D + a * step + (int64_t)i * ld;
                for (int c = 0; c < dim; c++) {
                    const double *from = v->D_ref + ((int64_t)c * N + i) * Nu;
                    double scale = l->det * inverse[c * dim + a];
                    for (int j = 0; j < Nu; j++) to[j] = scale * from[j] + (c > 0 ? to[j] : 0.0);
                }
            }
        return;
    }
    const double *chi = local_chi(l, table, v->cell.chi, l->geometry.x, &row);
    int revolved = l->hdg->space.revolved;
    local_gradients(l, &g);
    for (int a = 0; a < dim; a++) {
        for (int q = 0; q < table->n; q++)
            for (int i = 0; i < N; i++) {
                double sum = a == 0 && revolved ? chi[q * row + i] / l->geometry.x[q * dim] : 0.0;
                for (int c = 0; c < dim; c++)
                    sum +=
                        g.inverse[q * g.matrix + c * dim + a] * g.grad[c * g.step + (int64_t)q * g.row + i];
                l->weighted[q * N + i] = l->geometry.wJ[q] * sum;
            }
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, Nu, table->n, 1.0, l->weighted, N, chi, row,
                    0.0, D + a * step, ld);
    }
}

/* to (dim x N) += sign sum_q weights(q)_a values(q) phi_i(q). values: n numbers; scaled: n x dim of scratch.
 */
static void add_moments(int dim, int n, int N, double sign, const double *weights, int step,
                        const double *values, const double *phi, int row, double *scaled, double *to) {
    for (int q = 0; q < n; q++)
        for (int a = 0; a < dim; a++) scaled[q * dim + a] = sign * weights[q * step + a] * values[q];
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, N, n, 1.0, scaled, dim, phi, row, 1.0, to, N);
}

void local_moments(struct local *l, const double *u, const double *uhat, double *t) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_table *table = v->cell.table;
    int dim = table->dim, nc = l->hdg->trace.n_components, n = table->n, N = v->N, row;
    const double *chi = local_chi(l, table, v->cell.chi, l->geometry.x, &row);
    struct local_gradients g;
    local_gradients(l, &g);
    memset(t, 0, (size_t)(nc * dim * N) * sizeof *t);
    for (int c = 0; c < nc; c++) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, v->Nu, 1.0, chi, row, u + c * v->Nu, 1, 0.0, l->values,
                    1);
        for (int q = 0; q < n; q++) l->values[q] *= l->geometry.wJ[q];
        for (int e = 0; e < dim; e++)
            add_moments(dim, n, N, 1.0, g.inverse + e * dim, g.matrix, l->values, g.grad + e * g.step, g.row,
                        l->weighted, t + c * dim * N);
        if (!l->hdg->space.revolved) continue;
        for (int q = 0; q < n; q++) l->values[q] /= l->geometry.x[q * dim];
        cblas_dgemv(CblasRowMajor, CblasTrans, n, N, 1.0, chi, row, l->values, 1, 1.0, t + c * dim * N, 1);
    }
    for (int f = 0; f < space_of(l)->n_faces; f++) {
        const struct hdg_face_table *face = hdg_face_of(v->face, f);
        int m = face->m;
        n = face->rule.n;
        chi = local_face(l, f, &row);
        for (int c = 0; c < nc; c++, uhat += m) {
            cblas_dgemv(CblasRowMajor, CblasNoTrans, n, m, 1.0, face->psi, m, uhat, 1, 0.0, l->values, 1);
            add_moments(dim, n, N, -1.0, l->normal, dim, l->values, chi, row, l->weighted, t + c * dim * N);
        }
    }
}

/* lambda M into the upper left block of C. */
static facet_status reaction_matrix(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    int N = b->N, ld = N + b->n_trace;
    int32_t region = local_region(data, l->block, l->cell);
    double constant;
    if (data->reaction == NULL) return FACET_OK;
    if (l->affine && local_constant_reaction(data, region, &constant) && constant >= 0.0) {
        for (int i = 0; i < N; i++) l->C[i * ld + i] = constant * l->det;
        return FACET_OK;
    }
    facet_status status = local_reaction(data, region, b->cell.n, l->geometry.x, l->values);
    if (status != FACET_OK) return local_place(status, l);
    for (int q = 0; q < b->cell.n; q++) l->values[q] *= l->geometry.wJ[q];
    hdg_weighted_product(b->cell.n, N, b->cell.phi, N, l->values, 1, N, b->cell.phi, N, 0.0, l->weighted,
                         l->C, ld);
    return FACET_OK;
}

/* G, E, T and H of one face with constant normal and tau: multiples of the reference matrix F. weight: tau
 * times the length of the normal. */
static void affine_face(struct local *l, int face, const double *normal, double weight, const double *F) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, N = b->N, m = hdg_face_size(b, face), ld = N + b->n_trace,
        first = N + b->starts[face];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < m; j++) {
            for (int a = 0; a < dim; a++)
                l->X[((int64_t)a * N + i) * ld + first + j] = normal[a] * F[i * m + j];
            l->C[i * ld + first + j] = weight * F[i * m + j];
        }
    for (int j = 0; j < m; j++) l->C[(first + j) * ld + first + j] = weight;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, m, weight, F, m, F, m, 1.0, l->C, ld);
}

/* The same at the points of the face rule. */
static facet_status general_face(struct local *l, int face) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_face_table *table = hdg_face_of(&b->face, face);
    int dim = l->hdg->data.mesh->dim, N = b->N, m = table->m, n = table->rule.n, ld = N + b->n_trace,
        first = N + b->starts[face], row;
    const double *phi, *psi = table->psi;
    double *w = l->weighted;
    for (int64_t i = 0; i < dim * N && local_on_axis(l, face); i++)
        memset(l->X + i * ld + first, 0, (size_t)m * sizeof *l->X);
    if (local_on_axis(l, face)) return FACET_OK;
    facet_status status = local_face_tau(l, face, &phi, &row);
    if (status != FACET_OK) return status;
    for (int q = 0; q < n; q++) l->values[q] *= local_norm(dim, l->normal + q * dim);
    for (int a = 0; a < dim; a++)
        hdg_weighted_product(n, N, phi, N, l->normal + a, dim, m, psi, m, 0.0, w,
                             l->X + (int64_t)a * N * ld + first, ld);
    hdg_weighted_product(n, N, phi, N, l->values, 1, m, psi, m, 0.0, w, l->C + first, ld);
    hdg_weighted_product(n, N, phi, N, l->values, 1, N, phi, N, 1.0, w, l->C, ld);
    hdg_weighted_product(n, m, psi, m, l->values, 1, m, psi, m, 0.0, w, l->C + (int64_t)first * ld + first,
                         ld);
    return FACET_OK;
}

facet_status local_matrices(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    int ld = b->N + b->n_trace;
    facet_status status = FACET_OK;
    memset(l->C, 0, (size_t)(ld * ld) * sizeof *l->C);
    local_gradient_matrix(l, l->X, (int64_t)b->N * ld, ld);
    TRY(reaction_matrix(l));
    for (int f = 0; f < b->n_faces; f++) {
        if (!l->affine || (data->tau != NULL && !field_is_constant(data->tau, NULL))) {
            TRY(general_face(l, f));
            continue;
        }
        double normal[3], tau, length = local_affine_normal(l, f, normal);
        TRY(local_place(diffusion_tau(l, f, 0.0, 1, l->geometry.x, &tau), l));
        affine_face(l, f, normal, tau * length,
                    b->F_ref + (int64_t)(f * 8 + local_orientation(l, f)) * b->N * b->m);
    }
done:
    return status;
}

/* A block += sum_q wJ K^-1_ab phi phi'. */
static void flux_block(struct local *l, const double *weight, double *A, int ld) {
    const struct hdg_block_space *b = space_of(l);
    hdg_weighted_product(b->cell.n, b->N, b->cell.phi, b->N, weight, 1, b->N, b->cell.phi, b->N, 0.0,
                         l->weighted, A, ld);
}

static void full_flux_mass(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, n = b->cell.n, ld = dim * b->N;
    double *inverse = l->jets; /* n x dim x dim */
    for (int q = 0; q < n; q++) {
        (void)local_small_inverse(dim, l->K + q * dim * dim, inverse + q * dim * dim); /* checked before */
    }
    for (int a = 0; a < dim; a++)
        for (int c = 0; c <= a; c++) {
            for (int q = 0; q < n; q++) l->values[q] = l->geometry.wJ[q] * inverse[(q * dim + a) * dim + c];
            flux_block(l, l->values, l->A + (int64_t)a * b->N * ld + c * b->N, ld);
        }
}

facet_status local_factor_flux(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, size = l->mass == FLUX_FULL ? dim * b->N : b->N;
    if (l->mass == FLUX_SCALED) return FACET_OK;
    if (l->mass == FLUX_FULL) {
        full_flux_mass(l);
    } else {
        for (int q = 0; q < b->cell.n; q++)
            l->values[q] = l->geometry.wJ[q] / (l->mass == FLUX_SCALAR ? l->K[q * dim * dim] : 1.0);
        flux_block(l, l->values, l->A, size);
    }
    /* Row-major lower is LAPACK's upper. */
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, l->A, size) == 0) return FACET_OK;
    return local_place(
        base_fail(FACET_ERROR_INPUT, "the mass matrix is not positive definite; is the cell degenerate?"), l);
}

/* X_c = sum_a root[a][c] X_a over blocks of `count` numbers; root is lower triangular, so this works in
 * place. */
static void mix_by_root(int dim, const double *root, double scale, int64_t count, double *X) {
    for (int c = 0; c < dim; c++) {
        for (int64_t i = 0; i < count; i++) X[c * count + i] *= scale * root[c * dim + c];
        for (int a = c + 1; a < dim; a++) {
            double factor = scale * root[a * dim + c];
            if (factor == 0.0) continue;
            for (int64_t i = 0; i < count; i++) X[c * count + i] += factor * X[a * count + i];
        }
    }
}

void local_half_flux(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, N = b->N, ld = N + b->n_trace;
    int64_t count = (int64_t)N * ld;
    if (l->mass == FLUX_FULL) {
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, dim * N, ld, 1.0, l->A,
                    dim * N, l->X, ld);
        return;
    }
    if (l->mass == FLUX_SCALED) mix_by_root(dim, l->K_root, 1.0 / sqrt(l->det), count, l->X);
    if (l->mass == FLUX_CONSTANT) mix_by_root(dim, l->K_root, 1.0, count, l->X);
    for (int a = 0; a < dim && l->mass != FLUX_SCALED; a++)
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, N, ld, 1.0, l->A, N,
                    l->X + a * count, ld);
}

static void solve_factored(int n, const double *L, double *v) {
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L, n, v, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, L, n, v, 1);
}

void local_apply_flux_inverse(struct local *l, double *v) {
    int dim = l->hdg->data.mesh->dim, N = space_of(l)->N;
    if (l->mass == FLUX_FULL) {
        solve_factored(dim * N, l->A, v);
        return;
    }
    for (int a = 0; a < dim && l->mass != FLUX_SCALED; a++) solve_factored(N, l->A, v + a * N);
    if (l->mass == FLUX_SCALAR) return;
    double scale = l->mass == FLUX_SCALED ? 1.0 / l->det : 1.0;
    for (int i = 0; i < N; i++) {
        double old[3];
        for (int a = 0; a < dim; a++) old[a] = v[a * N + i];
        for (int a = 0; a < dim; a++) {
            v[a * N + i] = 0.0;
            for (int c = 0; c < dim; c++) v[a * N + i] += scale * l->K[a * dim + c] * old[c];
        }
    }
}

/* With K = R R' the matrix is the sum over the columns c of R of Y_c'Y_c, Y_c = sqrt(wJ) sum_b (J^-1 R_c)_b
 * d_b w. */
facet_status local_stiffness(struct local *l, int n, int P, const double *grad, int skip, double *A) {
    int dim = l->hdg->data.mesh->dim;
    double *roots = l->jets; /* n x dim x dim */
    for (int p = 0; p < n; p++) {
        double root[9];
        if (!local_small_root(dim, l->K + p * dim * dim, root))
            return base_fail(FACET_ERROR_INPUT, "the conductivity is not positive definite");
        memcpy(roots + p * dim * dim, root, (size_t)(dim * dim) * sizeof *root);
    }
    for (int c = 0; c < dim; c++) {
        for (int p = 0; p < n; p++) {
            double weight = sqrt(l->geometry.wJ[p]), direction[3] = {0};
            for (int b = 0; b < dim; b++)
                for (int a = c; a < dim; a++)
                    direction[b] += weight * l->geometry.inverse[(p * dim + b) * dim + a] *
                                    roots[(p * dim + a) * dim + c];
            double *row = l->weighted + (int64_t)p * P;
            memset(row, 0, (size_t)P * sizeof *row);
            for (int b = 0; b < dim; b++)
                cblas_daxpy(P, direction[b], grad + ((int64_t)b * n + p) * P, 1, row, 1);
        }
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, P - skip, n, 1.0, l->weighted + skip, P,
                    c > 0 ? 1.0 : 0.0, A, P - skip);
    }
    return FACET_OK;
}
