/* The matrices of one cell. Affine cells take a path over reference matrices, the others over quadrature
 * points. */
#include "hdg/elastic.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

facet_status local_create(const struct hdg *hdg, struct local *l) {
    facet_status status = FACET_OK;
    int dim = hdg->data.mesh->dim, points = hdg_max_points(&hdg->space), N = 0, N_star = 0, n_trace = 0;
    int elastic = hdg->data.scheme == HDG_ELASTIC, components = elastic ? dim : 1;
    int64_t total = 0;
    *l = (struct local){.hdg = hdg};
    for (int b = 0; b < hdg->data.mesh->n_blocks; b++) {
        const struct hdg_block_space *s = &hdg->space.blocks[b];
        N = s->N > N ? s->N : N;
        N_star = s->N_star > N_star ? s->N_star : N_star;
        n_trace = s->n_trace > n_trace ? s->n_trace : n_trace;
        if (elastic && hdg->elastic->blocks[b].face->rule.n > points)
            points = hdg->elastic->blocks[b].face->rule.n;
        if (elastic && hdg->elastic->blocks[b].cell.table->n > points)
            points = hdg->elastic->blocks[b].cell.table->n;
        int size = elastic ? dim * (hdg->elastic->blocks[b].Nu + s->n_trace) : s->N + s->n_trace;
        total = size > total ? size : total;
    }
    if (total < N + n_trace) total = N + n_trace; /* blocks of different shapes */
    TRY(hdg_geometry_create(points, dim, &l->geometry));
    TRY(hdg_geometry_create(points, dim, &l->face_geometry));
    TRY(ALLOC(l->x, points * dim));
    TRY(ALLOC(l->normal, points * dim));
    TRY(ALLOC(l->K, points * dim * dim));
    TRY(ALLOC(l->values, points * components));
    TRY(ALLOC(l->jets, (int64_t)points * (elastic ? 40 : 20)));
    TRY(ALLOC(l->weighted, (int64_t)points * N_star));
    if (elastic) {
        TRY(elastic_local_create(hdg, l));
    } else {
        TRY(ALLOC(l->X, dim * N * total));
        TRY(ALLOC(l->A, (int64_t)dim * N * dim * N));
    }
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
    elastic_local_destroy(l);
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

/* Height over a face: volume over area, times dim on simplices. */
static void find_heights(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim;
    double volume = 0.0;
    for (int q = 0; q < b->cell.n; q++) volume += l->geometry.wJ[q];
    for (int f = 0; f < b->n_faces; f++) {
        double area = 0.0;
        hdg_face_geometry(&l->hdg->space, l->block, l->cell, f, &b->face, &l->face_geometry, l->x, l->normal);
        for (int q = 0; q < b->face.rule.n; q++) area += local_norm(dim, l->normal + q * dim);
        l->heights[f] = volume / area * (shape_is_simplex(b->shape) ? dim : 1);
    }
}

/* K = root root', lower by rows; 0: not positive definite. */
static int small_root(int dim, const double *K, double *root) {
    memset(root, 0, 9 * sizeof *root);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++) {
            double sum = K[i * dim + j];
            for (int k = 0; k < j; k++) sum -= root[i * dim + k] * root[j * dim + k];
            if (i == j && !(sum > 0.0)) return 0;
            root[i * dim + j] = i == j ? sqrt(sum) : sum / root[j * dim + j];
        }
    return 1;
}

facet_status local_begin(struct local *l, int block, int32_t cell) {
    if (l->hdg->data.scheme == HDG_ELASTIC) return elastic_begin(l, block, cell);
    const struct hdg_data *data = &l->hdg->data;
    const struct hdg_block_space *b = &l->hdg->space.blocks[block];
    int dim = data->mesh->dim;
    int32_t region = local_region(data, block, cell);
    l->block = block;
    l->cell = cell;
    l->affine = data->mesh->blocks[block].affine[cell];
    hdg_cell_geometry(&l->hdg->space, block, cell, &b->cell, &l->geometry);
    if (data->tau == NULL && data->tau_hat > 0.0) find_heights(l);
    int constant = local_constant_conductivity(data, region, l->K);
    facet_status status = local_conductivity(l, region, constant ? 1 : b->cell.n, l->geometry.x, l->K);
    if (status != FACET_OK) return local_place(status, l);
    if (constant) small_root(dim, l->K, l->K_root);
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

/* det J of an affine cell. */
static double affine_det(const struct local *l) {
    return l->geometry.wJ[0] / space_of(l)->cell.w[0];
}

/* target (rows i, leading dimension ld) += sum_q weight_q left_i(q) right_j(q), left n x NL, right n x NR. */
static void accumulate(struct local *l, int n, int NL, int NR, const double *left, const double *weight,
                       int weight_stride, const double *right, double beta, double *target, int ld) {
    for (int q = 0; q < n; q++)
        for (int i = 0; i < NL; i++) l->weighted[q * NL + i] = weight[q * weight_stride] * left[q * NL + i];
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, NL, NR, n, 1.0, l->weighted, NL, right, NR, beta,
                target, ld);
}

/* D into the first N columns of X. */
static void gradient_matrix(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, N = b->N, n = b->cell.n, ld = N + b->n_trace;
    const double *inverse = l->geometry.inverse;
    for (int a = 0; a < dim; a++) {
        double *D = l->X + (int64_t)a * N * ld;
        if (l->affine) {
            double det = affine_det(l);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    double sum = 0.0;
                    for (int c = 0; c < dim; c++)
                        sum += det * inverse[c * dim + a] * b->D_ref[(c * N + i) * N + j];
                    D[i * ld + j] = sum;
                }
            continue;
        }
        for (int q = 0; q < n; q++)
            for (int i = 0; i < N; i++) {
                double sum = 0.0;
                for (int c = 0; c < dim; c++)
                    sum += inverse[(q * dim + c) * dim + a] * b->cell.grad[((int64_t)c * n + q) * N + i];
                l->weighted[q * N + i] = l->geometry.wJ[q] * sum;
            }
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, N, n, 1.0, l->weighted, N, b->cell.phi, N,
                    0.0, D, ld);
    }
}

/* lambda M into the upper left block of C. */
static facet_status reaction_matrix(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    int N = b->N, ld = N + b->n_trace;
    double constant;
    if (data->reaction == NULL) return FACET_OK;
    if (l->affine && field_is_constant(data->reaction, &constant) && constant >= 0.0) {
        for (int i = 0; i < N; i++) l->C[i * ld + i] = constant * affine_det(l);
        return FACET_OK;
    }
    facet_status status = local_reaction(data, b->cell.n, l->geometry.x, l->values);
    if (status != FACET_OK) return local_place(status, l);
    for (int q = 0; q < b->cell.n; q++) l->values[q] *= l->geometry.wJ[q];
    accumulate(l, b->cell.n, N, N, b->cell.phi, l->values, 1, b->cell.phi, 0.0, l->C, ld);
    return FACET_OK;
}

/* G, E, T and H of one face with constant normal and tau: multiples of the reference matrix F. */
static void affine_face(struct local *l, int face, const double *normal, double tau, const double *F) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, N = b->N, m = b->m, ld = N + b->n_trace, first = N + face * m;
    double weight = tau * local_norm(dim, normal);
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
    int dim = l->hdg->data.mesh->dim, N = b->N, m = b->m, n = b->face.rule.n, ld = N + b->n_trace,
        first = N + face * m;
    int orientation = l->hdg->data.mesh->blocks[l->block].orientations[(int64_t)l->cell * b->n_faces + face];
    const double *phi = b->face.side[face][orientation].phi, *psi = b->face.psi;
    hdg_face_geometry(&l->hdg->space, l->block, l->cell, face, &b->face, &l->face_geometry, l->x, l->normal);
    facet_status status = local_tau(l, face, n, l->x, l->values);
    if (status != FACET_OK) return local_place(status, l);
    for (int q = 0; q < n; q++) l->values[q] *= local_norm(dim, l->normal + q * dim);
    for (int a = 0; a < dim; a++)
        accumulate(l, n, N, m, phi, l->normal + a, dim, psi, 0.0, l->X + (int64_t)a * N * ld + first, ld);
    accumulate(l, n, N, m, phi, l->values, 1, psi, 0.0, l->C + first, ld);
    accumulate(l, n, N, N, phi, l->values, 1, phi, 1.0, l->C, ld);
    accumulate(l, n, m, m, psi, l->values, 1, psi, 0.0, l->C + (int64_t)first * ld + first, ld);
    return FACET_OK;
}

facet_status local_matrices(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim, ld = b->N + b->n_trace;
    facet_status status = FACET_OK;
    memset(l->C, 0, (size_t)(ld * ld) * sizeof *l->C);
    gradient_matrix(l);
    TRY(reaction_matrix(l));
    for (int f = 0; f < b->n_faces; f++) {
        if (!l->affine || (data->tau != NULL && !field_is_constant(data->tau, NULL))) {
            TRY(general_face(l, f));
            continue;
        }
        int orientation = data->mesh->blocks[l->block].orientations[(int64_t)l->cell * b->n_faces + f];
        double normal[3], tau;
        for (int a = 0; a < dim; a++) {
            normal[a] = 0.0;
            for (int c = 0; c < dim; c++) normal[a] += l->geometry.inverse[c * dim + a] * b->normals[f][c];
            normal[a] *= affine_det(l);
        }
        TRY(local_place(local_tau(l, f, 1, l->geometry.x, &tau), l));
        affine_face(l, f, normal, tau, b->F_ref + (int64_t)(f * 8 + orientation) * b->N * b->m);
    }
done:
    return status;
}

/* A block += sum_q wJ K^-1_ab phi phi'. */
static void flux_block(struct local *l, const double *weight, double *A, int ld) {
    const struct hdg_block_space *b = space_of(l);
    accumulate(l, b->cell.n, b->N, b->N, b->cell.phi, weight, 1, b->cell.phi, 0.0, A, ld);
}

static void full_flux_mass(struct local *l) {
    const struct hdg_block_space *b = space_of(l);
    int dim = l->hdg->data.mesh->dim, n = b->cell.n, ld = dim * b->N;
    double *inverse = l->jets; /* n x dim x dim */
    for (int q = 0; q < n; q++) {
        double root[9], column[3];
        small_root(dim, l->K + q * dim * dim, root);
        for (int c = 0; c < dim; c++) {
            for (int i = 0; i < dim; i++) {
                column[i] = i == c ? 1.0 : 0.0;
                for (int k = 0; k < i; k++) column[i] -= root[i * dim + k] * column[k];
                column[i] /= root[i * dim + i];
            }
            for (int i = dim - 1; i >= 0; i--) {
                for (int k = i + 1; k < dim; k++) column[i] -= root[k * dim + i] * column[k];
                column[i] /= root[i * dim + i];
                inverse[(q * dim + i) * dim + c] = column[i];
            }
        }
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
    if (l->mass == FLUX_SCALED) mix_by_root(dim, l->K_root, 1.0 / sqrt(affine_det(l)), count, l->X);
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
    double scale = l->mass == FLUX_SCALED ? 1.0 / affine_det(l) : 1.0;
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
        if (!small_root(dim, l->K + p * dim * dim, root))
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
