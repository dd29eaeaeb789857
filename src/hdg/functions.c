/* The functions of an equation at the points of the rules, and their reference matrices. Those of diffusion
 * and of the gradient formulation of elasticity are the space's; elastic.h says what the symmetric one has.
 */
#include <math.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "poly/basis.h"

/* Orthonormal Legendre polynomials of [0, 1] and their derivatives: P_{n+1}' = P_{n-1}' + (2 n + 1) P_n. */
static void legendre(int degree, double x, double *values, double *slopes) {
    double t = 2.0 * x - 1.0, before = 0.0, now = 1.0, slope_before = 0.0, slope = 0.0;
    for (int n = 0; n <= degree; n++) {
        double root = sqrt(2.0 * n + 1.0), next = ((2 * n + 1) * t * now - n * before) / (n + 1);
        double slope_next = slope_before + (2 * n + 1) * now;
        values[n] = root * now;
        slopes[n] = 2.0 * root * slope;
        before = now;
        now = next;
        slope_before = slope;
        slope = slope_next;
    }
}

/* Products of total degree <= degree at n points xi, by total degree: functions one after the other;
 * gradients (or NULL): dim arrays of that, `step` apart. */
static void physical_functions(int dim, int degree, int n, const double *xi, double *functions,
                               double *gradients, int64_t step) {
    double f[3][HDG_MAX_PHYSICAL_DEGREE + 1] = {{0}}, d[3][HDG_MAX_PHYSICAL_DEGREE + 1] = {{0}};
    int64_t at = 0;
    f[2][0] = 1.0;
    for (int q = 0; q < n; q++) {
        for (int a = 0; a < dim; a++) legendre(degree, xi[q * dim + a], f[a], d[a]);
        for (int total = 0; total <= degree; total++)
            for (int k = 0; k <= (dim == 3 ? total : 0); k++)
                for (int j = 0; j + k <= total; j++, at++) {
                    int i = total - j - k;
                    if (functions != NULL) functions[at] = f[0][i] * f[1][j] * f[2][k];
                    if (gradients == NULL) continue;
                    gradients[at] = d[0][i] * f[1][j] * f[2][k];
                    gradients[step + at] = f[0][i] * d[1][j] * f[2][k];
                    if (dim == 3) gradients[2 * step + at] = f[0][i] * f[1][j] * d[2][k];
                }
    }
}

/* Prepares xi(x) of a cell whose displacements are physical. */
static void place_cell(const struct hdg *h, int block, int32_t cell, struct elastic_local *e) {
    struct hdg_geometry g;
    double wJ, jacobian[9];
    g = (struct hdg_geometry){.x = e->middle, .wJ = &wJ, .inverse = e->inverse, .jacobian = jacobian};
    hdg_cell_geometry(&h->space, block, cell, &h->functions[block].middle, &g);
}

static void place_point(int dim, const struct elastic_local *e, const double *x, double *xi) {
    for (int b = 0; b < dim; b++) {
        xi[b] = 0.5;
        for (int a = 0; a < dim; a++) xi[b] += e->inverse[b * dim + a] * (x[a] - e->middle[a]);
    }
}

const double *local_chi(struct local *l, const struct hdg_table *table, const double *compact,
                        const double *x, int *row) {
    const struct hdg *h = l->hdg;
    const struct hdg_functions *eb = &h->functions[l->block];
    struct elastic_local *e = l->elastic;
    int dim = h->data.mesh->dim, degree = h->space.degree + 1;
    *row = eb->physical ? eb->Nu : table->N;
    if (!eb->physical) return table->phi;
    if (h->data.mesh->blocks[l->block].affine[l->cell] && !h->space.revolved) {
        if (compact != NULL) return compact;
        physical_functions(dim, degree, table->n, table->xi, e->chi, NULL, 0);
        return e->chi;
    }
    place_cell(h, l->block, l->cell, e);
    for (int q = 0; q < table->n; q++) {
        double xi[3];
        place_point(dim, e, x + q * dim, xi);
        physical_functions(dim, degree, 1, xi, e->chi + (int64_t)q * eb->Nu, NULL, 0);
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
        place_point(dim, e, l->geometry.x + q * dim, xi);
        physical_functions(dim, h->space.degree, 1, xi, NULL, e->grad + (int64_t)q * eb->N, g->step);
    }
}

/* -------------------------------------------------------------------------------------------- tables */

static facet_status compact_chi(const struct hdg_functions *eb, int degree, const struct hdg_table *table,
                                double **chi) {
    facet_status status = FACET_OK;
    if (!eb->physical) return FACET_OK;
    TRY(ALLOC(*chi, (int64_t)table->n * eb->Nu));
    physical_functions(table->dim, degree, table->n, table->xi, *chi, NULL, 0);
done:
    return status;
}

/* D_ref, F_ref and FU_ref of tables of its own. */
static facet_status reference_matrices(const struct hdg_block_space *b, int degree, struct hdg_functions *v) {
    facet_status status = FACET_OK;
    const struct hdg_table *cell = v->cell.table;
    double *scaled = NULL, *gradients = NULL, *F, *FU;
    int dim = cell->dim, n = cell->n, n_face = v->face->rule.n, m = b->m;
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
        physical_functions(dim, degree, n, cell->xi, NULL, gradients, n * N);
        grad = gradients;
    }
    for (int d = 0; d < dim; d++)
        hdg_weighted_product(n, v->N, grad + (int64_t)d * n * gradient_row, gradient_row, cell->w, 1, v->Nu,
                             chi, row, 0.0, scaled, v->own_matrices + d * N * Nu, v->Nu);
    for (int i = 0; i < 8 * b->n_faces; i++, F += N * m, FU += Nu * m) {
        const struct hdg_table *side = &v->face->side[i / 8][i % 8];
        const double *functions = v->physical ? v->face_chi[i / 8][i % 8] : side->phi;
        if (side->phi == NULL) continue;
        row = v->physical ? v->Nu : side->N;
        hdg_weighted_product(n_face, v->N, functions, row, v->face->rule.w, 1, m, v->face->psi, m, 0.0,
                             scaled, F, m);
        hdg_weighted_product(n_face, v->Nu, functions, row, v->face->rule.w, 1, m, v->face->psi, m, 0.0,
                             scaled, FU, m);
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
    double half[3] = {0.5, 0.5, 0.5};
    v->physical = !shape_is_simplex(b->shape);
    /* polynomials of degree 2 k + 1 in x are of order times that in the reference coordinates */
    int more = v->physical ? ((mesh->order - 1) * (2 * degree + 1) + 1) / 2 : 0;
    v->Nu = basis_size(simplex, degree + 1);
    v->N = basis_size(simplex, degree);
    v->cell.table = v->physical ? &v->own_cell : &b->star;
    v->norm.table = &b->norm_star;
    v->source.table = &v->own_source;
    v->face = &v->own_face;
    TRY(hdg_table_create(b->shape, degree, mesh->order, 1, half, &v->middle));
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
    for (int i = 0; i < 3; i++) TRY(compact_chi(v, degree + 1, points[i]->table, &points[i]->chi));
    for (int i = 0; i < 8 * b->n_faces; i++)
        if (v->face->side[i / 8][i % 8].phi != NULL)
            TRY(compact_chi(v, degree + 1, &v->face->side[i / 8][i % 8], &v->face_chi[i / 8][i % 8]));
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
}
