/* The functions of an equation at the points of the rules, and their reference matrices. Those of diffusion
 * and of the gradient formulation of elasticity are the space's; elastic.h says what the symmetric one has.
 */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "poly/basis.h"

/* s^n P_n(t/s), the Legendre polynomials of a line of length s, orthonormal for s = 1: by t and by s. */
static void scaled_legendre(int degree, double t, double s, double *values, double *by_t, double *by_s) {
    double v[3] = {0, 1.0, 0}, vt[3] = {0}, vs[3] = {0};
    for (int n = 0; n <= degree; n++) {
        double root = sqrt(2.0 * n + 1.0), a = (2 * n + 1.0) / (n + 1), b = n / (n + 1.0);
        values[n] = root * v[1];
        by_t[n] = root * vt[1];
        by_s[n] = root * vs[1];
        v[2] = a * t * v[1] - b * s * s * v[0];
        vt[2] = a * (v[1] + t * vt[1]) - b * s * s * vt[0];
        vs[2] = a * t * vs[1] - b * (2.0 * s * v[0] + s * s * vs[0]);
        for (int k = 0; k < 2; k++) v[k] = v[k + 1], vt[k] = vt[k + 1], vs[k] = vs[k + 1];
    }
}

/* The polynomials that are orthonormal on [0, 1] for the weight (1 - y)^a, a >= 1, and their derivatives:
 * those of Jacobi, P_n^(a, 0)(2 y - 1), by their recurrence. */
static void weighted_legendre(int degree, int a, double y, double *values, double *slopes) {
    double t = 2.0 * y - 1.0, v[3] = {0, 1.0, 0}, d[3] = {0};
    for (int n = 0; n <= degree; n++) {
        double root = sqrt(2.0 * n + a + 1.0), m = 2.0 * n + a;
        double lead = 2.0 * (n + 1) * (n + a + 1) * m, last = 2.0 * n * (n + a) * (m + 2.0);
        values[n] = root * v[1];
        slopes[n] = root * d[1];
        v[2] = ((m + 1.0) * ((m + 2.0) * m * t + (double)a * a) * v[1] - last * v[0]) / lead;
        d[2] = ((m + 1.0) * (2.0 * (m + 2.0) * m * v[1] + ((m + 2.0) * m * t + (double)a * a) * d[1]) -
                last * d[0]) /
               lead;
        for (int k = 0; k < 2; k++) v[k] = v[k + 1], d[k] = d[k + 1];
    }
}

/* As physical_functions, orthonormal on a prism: Dubiner's functions of the triangle (poly/basis.c) times
 * Legendre polynomials. */
static void prism_functions(int degree, int n, const double *xi, double *functions, double *gradients,
                            int64_t step) {
    enum { MOST = HDG_MAX_PHYSICAL_DEGREE + 1 };
    double f[MOST], ft[MOST], fs[MOST], g[MOST], gy[MOST], h[MOST], hz[MOST];
    for (int q = 0; q < n; q++, xi += 3) {
        const int64_t row = (int64_t)q * (degree + 1) * (degree + 2) / 2 * (degree + 3) / 3;
        scaled_legendre(degree, 2.0 * xi[0] - (1.0 - xi[1]), 1.0 - xi[1], f, ft, fs);
        physical_legendre(degree, xi[2], h, hz);
        for (int i = 0; i <= degree; i++) {
            weighted_legendre(degree - i, 2 * i + 1, xi[1], g, gy);
            for (int j = 0; i + j <= degree; j++)
                for (int k = 0; i + j + k <= degree; k++) {
                    int total = i + j + k, before = total * (total + 1) / 2 * (total + 2) / 3;
                    int in_k = k * (total + 1) - k * (k - 1) / 2; /* those of smaller k before it */
                    int64_t at = row + before + in_k + j;
                    if (functions != NULL) functions[at] = f[i] * g[j] * h[k];
                    if (gradients == NULL) continue;
                    gradients[at] = 2.0 * ft[i] * g[j] * h[k]; /* t = 2 x + y - 1, s = 1 - y */
                    gradients[step + at] = ((ft[i] - fs[i]) * g[j] + f[i] * gy[j]) * h[k];
                    gradients[2 * step + at] = f[i] * g[j] * hz[k];
                }
        }
    }
}

/* v = T v for n vectors of N numbers; T: lower triangle of rows of length `row`. */
static void change_functions(int N, int row, const double *T, int n, double *v) {
    for (int q = 0; q < n; q++, v += N)
        for (int i = N - 1; i >= 0; i--) {
            double sum = 0.0;
            for (int j = 0; j <= i; j++) sum += T[(int64_t)i * row + j] * v[j];
            v[i] = sum;
        }
}

/* Polynomials of total degree <= degree at n points xi, by total degree, which are orthonormal on the
 * reference cell: functions one after the other; gradients (or NULL): dim arrays of that, `step` apart. On
 * quads and hexes products of Legendre's; on pyramids combinations of them (v->change). */
static void physical_functions(const struct hdg_functions *v, enum shape shape, int degree, int n,
                               const double *xi, double *functions, double *gradients, int64_t step) {
    double f[3][HDG_MAX_PHYSICAL_DEGREE + 1] = {{0}}, d[3][HDG_MAX_PHYSICAL_DEGREE + 1] = {{0}};
    int64_t at = 0;
    int dim = shape_dim(shape);
    if (shape == SHAPE_PRISM) {
        prism_functions(degree, n, xi, functions, gradients, step);
        return;
    }
    f[2][0] = 1.0;
    for (int q = 0; q < n; q++) {
        struct physical_term t = {0};
        for (int a = 0; a < dim; a++) physical_legendre(degree, xi[q * dim + a], f[a], d[a]);
        for (; t.total <= degree; physical_next(dim, &t), at++) {
            if (functions != NULL) functions[at] = f[0][t.i] * f[1][t.j] * f[2][t.k];
            if (gradients == NULL) continue;
            gradients[at] = d[0][t.i] * f[1][t.j] * f[2][t.k];
            gradients[step + at] = f[0][t.i] * d[1][t.j] * f[2][t.k];
            if (dim == 3) gradients[2 * step + at] = f[0][t.i] * f[1][t.j] * d[2][t.k];
        }
    }
    int N = basis_size(SHAPE_TET, degree);
    if (v->change == NULL) return;
    if (functions != NULL) change_functions(N, v->Nu, v->change, n, functions);
    for (int a = 0; a < dim && gradients != NULL; a++)
        change_functions(N, v->Nu, v->change, n, gradients + a * step);
}

/* Prepares xi(x) of a cell whose displacements are physical. */
static void place_cell(const struct hdg *h, int block, int32_t cell, struct elastic_local *e) {
    struct hdg_geometry g;
    double wJ, jacobian[9];
    g = (struct hdg_geometry){.x = e->middle, .wJ = &wJ, .inverse = e->inverse, .jacobian = jacobian};
    hdg_cell_geometry(&h->space, block, cell, &h->functions[block].middle, &g);
}

static void place_point(const struct hdg_functions *v, const struct elastic_local *e, const double *x,
                        double *xi) {
    int dim = v->middle.dim;
    for (int b = 0; b < dim; b++) {
        xi[b] = v->middle.xi[b];
        for (int a = 0; a < dim; a++) xi[b] += e->inverse[b * dim + a] * (x[a] - e->middle[a]);
    }
}

const double *local_chi(struct local *l, const struct hdg_table *table, const double *compact,
                        const double *x, int *row) {
    const struct hdg *h = l->hdg;
    const struct hdg_functions *eb = &h->functions[l->block];
    struct elastic_local *e = l->elastic;
    enum shape shape = h->space.blocks[l->block].shape;
    int dim = h->data.mesh->dim, degree = h->space.degree + 1;
    *row = eb->physical ? eb->Nu : table->N;
    if (!eb->physical) return table->phi;
    if (h->data.mesh->blocks[l->block].affine[l->cell] && !h->space.revolved) {
        if (compact != NULL) return compact;
        physical_functions(eb, shape, degree, table->n, table->xi, e->chi, NULL, 0);
        return e->chi;
    }
    place_cell(h, l->block, l->cell, e);
    for (int q = 0; q < table->n; q++) {
        double xi[3];
        place_point(eb, e, x + q * dim, xi);
        physical_functions(eb, shape, degree, 1, xi, e->chi + (int64_t)q * eb->Nu, NULL, 0);
    }
    return e->chi;
}

void local_gradients(struct local *l, struct local_gradients *g) {
    const struct hdg *h = l->hdg;
    const struct hdg_functions *eb = &h->functions[l->block];
    const struct hdg_table *table = eb->cell.table;
    struct elastic_local *e = l->elastic;
    int dim = table->dim;
    if (!eb->physical) {
        *g = (struct local_gradients){.grad = table->grad,
                                      .inverse = l->geometry.inverse,
                                      .step = (int64_t)table->n * table->N,
                                      .row = table->N,
                                      .matrix = dim * dim};
        return;
    }
    *g = (struct local_gradients){
        .grad = e->grad, .inverse = e->inverse, .step = (int64_t)table->n * eb->N, .row = eb->N};
    place_cell(h, l->block, l->cell, e);
    for (int q = 0; q < table->n; q++) {
        double xi[3];
        place_point(eb, e, l->geometry.x + q * dim, xi);
        physical_functions(eb, h->space.blocks[l->block].shape, h->space.degree, 1, xi, NULL,
                           e->grad + (int64_t)q * eb->N, g->step);
    }
}

/* -------------------------------------------------------------------------------------------- tables */

static facet_status compact_chi(const struct hdg_functions *eb, enum shape shape, int degree,
                                const struct hdg_table *table, double **chi) {
    facet_status status = FACET_OK;
    if (!eb->physical) return FACET_OK;
    TRY(ALLOC(*chi, (int64_t)table->n * eb->Nu));
    physical_functions(eb, shape, degree, table->n, table->xi, *chi, NULL, 0);
done:
    return status;
}

/* The combinations of Legendre's products that are orthonormal on a pyramid: with the Gram matrix G = L L'
 * they are L^-1 times the functions, and once more, since rounding in G is amplified by the first step. */
static facet_status make_change(struct hdg_functions *v, enum shape shape, int degree) {
    facet_status status = FACET_OK;
    struct rule rule = {0};
    double *functions = NULL, *gram = NULL, *change = NULL, *scaled = NULL;
    int64_t N = v->Nu;
    TRY(rule_create(shape, 2 * degree, &rule));
    TRY(ALLOC(functions, rule.n * N));
    TRY(ALLOC(scaled, rule.n * N));
    TRY(ALLOC(gram, N * N));
    TRY(CALLOC(change, N * N));
    for (int64_t i = 0; i < N; i++) change[i * (N + 1)] = 1.0;
    for (int pass = 0; pass < 2; pass++) {
        physical_functions(v, shape, degree, rule.n, rule.x, functions, NULL, 0);
        hdg_weighted_product(rule.n, v->Nu, functions, v->Nu, rule.w, 1, v->Nu, functions, v->Nu, 0.0, scaled,
                             gram, v->Nu);
        if (LAPACKE_dpotrf_work(LAPACK_ROW_MAJOR, 'L', v->Nu, gram, v->Nu) != 0)
            FAIL(FACET_ERROR_INPUT, "degree %d is too high on cells of shape %s", degree - 1,
                 shape_name(shape));
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, v->Nu, v->Nu, 1.0, gram,
                    v->Nu, change, v->Nu);
        v->change = change;
    }
done:
    if (status != FACET_OK && v->change == NULL) base_free(&change);
    base_free(&functions);
    base_free(&scaled);
    base_free(&gram);
    rule_destroy(&rule);
    return status;
}

/* D_ref, F_ref and FU_ref of tables of its own. */
static facet_status reference_matrices(const struct hdg_block_space *b, int degree, struct hdg_functions *v) {
    facet_status status = FACET_OK;
    const struct hdg_table *cell = v->cell.table;
    double *scaled = NULL, *gradients = NULL, *F, *FU;
    int dim = cell->dim, n = cell->n, n_face = hdg_face_points(v->face), m = b->m;
    int64_t N = v->N, Nu = v->Nu;
    const double *chi = v->physical ? v->cell.chi : cell->phi, *grad = cell->grad;
    int row = v->physical ? v->Nu : cell->N, gradient_row = v->physical ? v->N : cell->N;
    TRY(CALLOC(v->own_matrices, dim * N * Nu + b->n_faces * 8 * (N + Nu) * m));
    v->D_ref = v->own_matrices;
    v->F_ref = F = v->own_matrices + dim * N * Nu;
    v->FU_ref = FU = F + b->n_faces * 8 * N * m;
    TRY(ALLOC(scaled, (n > n_face ? n : n_face) * Nu));
    if (v->physical) {
        TRY(ALLOC(gradients, dim * n * N));
        physical_functions(v, b->shape, degree, n, cell->xi, NULL, gradients, n * N);
        grad = gradients;
    }
    for (int d = 0; d < dim; d++)
        hdg_weighted_product(n, v->N, grad + (int64_t)d * n * gradient_row, gradient_row, cell->w, 1, v->Nu,
                             chi, row, 0.0, scaled, v->own_matrices + d * N * Nu, v->Nu);
    for (int i = 0; i < 8 * b->n_faces; i++, F += N * m, FU += Nu * m) {
        const struct hdg_face_table *face = hdg_face_of(v->face, i / 8);
        const struct hdg_table *side = &face->side[i / 8][i % 8];
        const double *functions = v->physical ? v->face_chi[i / 8][i % 8] : side->phi;
        if (side->phi == NULL) continue;
        row = v->physical ? v->Nu : side->N;
        hdg_weighted_product(face->rule.n, v->N, functions, row, face->rule.w, 1, face->m, face->psi, face->m,
                             0.0, scaled, F, face->m);
        hdg_weighted_product(face->rule.n, v->Nu, functions, row, face->rule.w, 1, face->m, face->psi,
                             face->m, 0.0, scaled, FU, face->m);
    }
done:
    base_free(&scaled);
    base_free(&gradients);
    return status;
}

static facet_status make_symmetric(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct hdg_functions *v = &h->functions[block];
    int degree = h->space.degree;
    enum shape simplex = mesh->dim == 2 ? SHAPE_TRIANGLE : SHAPE_TET;
    double middle[3] = {0};
    int n_vertices = shape_n_vertices(b->shape);
    for (int i = 0; i < n_vertices * mesh->dim; i++)
        middle[i % mesh->dim] += shape_vertices(b->shape)[i] / n_vertices;
    v->physical = !shape_is_simplex(b->shape);
    /* polynomials of degree 2 k + 1 in x are of order times that in the reference coordinates */
    int more = v->physical ? ((mesh->order - 1) * (2 * degree + 1) + 1) / 2 : 0;
    v->Nu = basis_size(simplex, degree + 1);
    v->N = basis_size(simplex, degree);
    if (b->shape == SHAPE_PYRAMID) TRY(make_change(v, b->shape, degree + 1));
    v->cell.table = v->physical ? &v->own_cell : &b->star;
    v->norm.table = &b->norm_star;
    v->source.table = &v->own_source;
    v->face = &v->own_face;
    TRY(hdg_table_create(b->shape, degree, mesh->order, 1, middle, &v->middle));
    TRY(hdg_table_create(b->shape, degree + 1, mesh->order, b->source_rule.n, b->source_rule.x,
                         &v->own_source));
    v->own_source.w = b->source_rule.w;
    TRY(hdg_face_table_create(h->maker, HDG_FACE, &mesh->blocks[block], degree, degree + 1 + more,
                              mesh->order, &v->own_face));
    if (v->physical) {
        TRY(h->maker(HDG_CELL, b->shape, degree + 1 + more, mesh->order, &v->own_rule));
        TRY(hdg_table_create(b->shape, 0, mesh->order, v->own_rule.n, v->own_rule.x, &v->own_cell));
        v->own_cell.w = v->own_rule.w;
    }
    struct hdg_points *points[] = {&v->cell, &v->source, &v->norm};
    for (int i = 0; i < 3; i++) TRY(compact_chi(v, b->shape, degree + 1, points[i]->table, &points[i]->chi));
    for (int i = 0; i < 8 * b->n_faces; i++) {
        const struct hdg_table *side = &hdg_face_of(v->face, i / 8)->side[i / 8][i % 8];
        if (side->phi != NULL) TRY(compact_chi(v, b->shape, degree + 1, side, &v->face_chi[i / 8][i % 8]));
    }
    TRY(reference_matrices(b, degree, v));
done:
    return status;
}

facet_status local_functions_create(struct hdg *h, int block) {
    const struct hdg_block_space *b = &h->space.blocks[block];
    if (h->data.equation->raise > 0) return make_symmetric(h, block);
    h->functions[block] = (struct hdg_functions){.N = b->N,
                                                 .Nu = b->N,
                                                 .cell = {.table = &b->cell},
                                                 .source = {.table = &b->source},
                                                 .norm = {.table = &b->norm},
                                                 .face = &b->face,
                                                 .D_ref = b->D_ref,
                                                 .F_ref = b->F_ref,
                                                 .FU_ref = b->F_ref};
    return FACET_OK;
}

void local_functions_destroy(struct hdg_functions *v) {
    base_free(&v->cell.chi);
    base_free(&v->source.chi);
    base_free(&v->norm.chi);
    rule_destroy(&v->own_rule);
    hdg_table_destroy(&v->own_cell);
    hdg_table_destroy(&v->own_source);
    hdg_face_table_destroy(&v->own_face);
    hdg_table_destroy(&v->middle);
    for (int i = 0; i < 8 * SHAPE_MAX_FACES; i++) base_free(&v->face_chi[i / 8][i % 8]);
    base_free(&v->own_matrices);
    base_free(&v->change);
}
