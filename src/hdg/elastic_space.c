/* Tables of elasticity: displacement functions at the points of the rules, and reference matrices. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "poly/basis.h"

#define MAX_DEGREE 64

static int total_degree_size(int dim, int degree) {
    return dim == 2 ? (degree + 1) * (degree + 2) / 2 : (degree + 1) * (degree + 2) * (degree + 3) / 6;
}

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

/* Products of total degree <= degree at n points xi, by total degree: functions n x total_degree_size;
 * gradients (or NULL): dim arrays of that, `step` apart. */
static void physical_functions(int dim, int degree, int n, const double *xi, double *functions,
                               double *gradients, int64_t step) {
    double f[3][MAX_DEGREE + 1] = {{0}}, d[3][MAX_DEGREE + 1] = {{0}};
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
    hdg_cell_geometry(&h->space, block, cell, &h->elastic->blocks[block].middle, &g);
}

static void place_point(int dim, const struct elastic_local *e, const double *x, double *xi) {
    for (int b = 0; b < dim; b++) {
        xi[b] = 0.5;
        for (int a = 0; a < dim; a++) xi[b] += e->inverse[b * dim + a] * (x[a] - e->middle[a]);
    }
}

const double *elastic_chi(struct local *l, const struct hdg_table *table, const double *compact,
                          const double *x, int *row) {
    const struct hdg *h = l->hdg;
    const struct elastic_block *eb = &h->elastic->blocks[l->block];
    struct elastic_local *e = l->elastic;
    int dim = h->data.mesh->dim, degree = h->space.degree + 1;
    *row = eb->physical ? eb->Nu : table->N;
    if (!eb->physical) return table->phi;
    if (h->data.mesh->blocks[l->block].affine[l->cell]) {
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

void elastic_gradients(struct local *l, struct elastic_gradients *g) {
    const struct hdg *h = l->hdg;
    const struct elastic_block *eb = &h->elastic->blocks[l->block];
    const struct hdg_table *table = eb->cell.table;
    struct elastic_local *e = l->elastic;
    int dim = table->dim;
    if (!eb->physical) {
        *g = (struct elastic_gradients){.grad = table->grad,
                                        .inverse = l->geometry.inverse,
                                        .step = (int64_t)table->n * table->N,
                                        .row = table->N,
                                        .matrix = dim * dim};
        return;
    }
    *g = (struct elastic_gradients){
        .grad = e->grad, .inverse = e->inverse, .step = (int64_t)table->n * eb->N, .row = eb->N};
    place_cell(h, l->block, l->cell, e);
    for (int q = 0; q < table->n; q++) {
        double xi[3];
        place_point(dim, e, l->geometry.x + q * dim, xi);
        physical_functions(dim, h->space.degree, 1, xi, NULL, e->grad + (int64_t)q * eb->N, g->step);
    }
}

/* -------------------------------------------------------------------------------------------- tables */

static facet_status compact_chi(const struct elastic_block *eb, int degree, const struct hdg_table *table,
                                double **chi) {
    facet_status status = FACET_OK;
    if (!eb->physical) return FACET_OK;
    TRY(ALLOC(*chi, (int64_t)table->n * eb->Nu));
    physical_functions(table->dim, degree, table->n, table->xi, *chi, NULL, 0);
done:
    return status;
}

/* C (N x m) = A' diag(w) B: A n x N with rows of length ld_A, B n x m likewise. */
static void weighted_product(int n, int N, int m, const double *A, int ld_A, const double *w, const double *B,
                             int ld_B, double *scaled, double *C) {
    for (int q = 0; q < n; q++)
        for (int j = 0; j < m; j++) scaled[(int64_t)q * m + j] = w[q] * B[(int64_t)q * ld_B + j];
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, m, n, 1.0, A, ld_A, scaled, m, 0.0, C, m);
}

static facet_status reference_matrices(const struct hdg_block_space *b, int degree,
                                       struct elastic_block *eb) {
    facet_status status = FACET_OK;
    const struct hdg_table *cell = eb->cell.table;
    double *scaled = NULL, *gradients = NULL;
    int dim = cell->dim, n = cell->n, n_face = eb->face->rule.n;
    int64_t N = eb->N, Nu = eb->Nu, m = b->m;
    const double *chi = eb->physical ? eb->cell.chi : cell->phi;
    int row = eb->physical ? eb->Nu : cell->N, gradient_row = eb->physical ? eb->N : cell->N;
    TRY(CALLOC(eb->D_ref, dim * N * Nu));
    TRY(CALLOC(eb->F_ref, b->n_faces * 8 * N * m));
    TRY(CALLOC(eb->FU_ref, b->n_faces * 8 * Nu * m));
    TRY(ALLOC(scaled, n * Nu > n_face * m ? n * Nu : n_face * m));
    if (eb->physical) {
        TRY(ALLOC(gradients, dim * n * N));
        physical_functions(dim, degree, n, cell->xi, NULL, gradients, n * N);
    }
    for (int d = 0; d < dim; d++)
        weighted_product(n, eb->N, eb->Nu,
                         (eb->physical ? gradients : cell->grad) + (int64_t)d * n * gradient_row,
                         gradient_row, cell->w, chi, row, scaled, eb->D_ref + d * N * Nu);
    for (int f = 0; f < b->n_faces; f++)
        for (int o = 0; o < 8; o++) {
            const struct hdg_table *side = &eb->face->side[f][o];
            const double *functions = eb->physical ? eb->face_chi[f][o] : side->phi;
            if (side->phi == NULL) continue;
            row = eb->physical ? eb->Nu : side->N;
            weighted_product(n_face, eb->N, b->m, functions, row, eb->face->rule.w, eb->face->psi, b->m,
                             scaled, eb->F_ref + (f * 8 + o) * N * m);
            weighted_product(n_face, eb->Nu, b->m, functions, row, eb->face->rule.w, eb->face->psi, b->m,
                             scaled, eb->FU_ref + (f * 8 + o) * Nu * m);
        }
done:
    base_free(&scaled);
    base_free(&gradients);
    return status;
}

static facet_status make_block(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct elastic_block *eb = &h->elastic->blocks[block];
    int degree = h->space.degree, symmetric = h->data.formulation == HDG_SYMMETRIC;
    double half[3] = {0.5, 0.5, 0.5};
    /* polynomials of degree 2 k + 1 in x are of order times that in the reference coordinates */
    int more = symmetric && !shape_is_simplex(b->shape) ? ((mesh->order - 1) * (2 * degree + 1) + 1) / 2 : 0;
    eb->physical = symmetric && !shape_is_simplex(b->shape);
    eb->Nu = symmetric ? total_degree_size(mesh->dim, degree + 1) : b->N;
    eb->N = symmetric ? total_degree_size(mesh->dim, degree) : b->N;
    eb->cell.table = eb->physical ? &eb->own_cell : symmetric ? &b->star : &b->cell;
    eb->norm.table = symmetric ? &b->norm_star : &b->norm;
    eb->source.table = symmetric ? &eb->own_source : &b->source;
    eb->face = symmetric ? &eb->own_face : &b->face;
    TRY(hdg_table_create(b->shape, degree, mesh->order, 1, half, &eb->middle));
    if (symmetric) {
        TRY(hdg_table_create(b->shape, degree + 1, mesh->order, b->source_rule.n, b->source_rule.x,
                             &eb->own_source));
        eb->own_source.w = b->source_rule.w;
        TRY(hdg_face_table_create(h->maker, HDG_FACE, &mesh->blocks[block], degree, degree + 1 + more,
                                  mesh->order, &eb->own_face));
    }
    if (eb->physical) {
        TRY(h->maker(HDG_CELL, b->shape, degree + 1 + more, mesh->order, &eb->own_rule));
        TRY(hdg_table_create(b->shape, 0, mesh->order, eb->own_rule.n, eb->own_rule.x, &eb->own_cell));
        eb->own_cell.w = eb->own_rule.w;
    }
    TRY(compact_chi(eb, degree + 1, eb->cell.table, &eb->cell.chi));
    TRY(compact_chi(eb, degree + 1, eb->source.table, &eb->source.chi));
    TRY(compact_chi(eb, degree + 1, eb->norm.table, &eb->norm.chi));
    for (int f = 0; f < b->n_faces; f++)
        for (int o = 0; o < 8; o++)
            if (eb->face->side[f][o].phi != NULL)
                TRY(compact_chi(eb, degree + 1, &eb->face->side[f][o], &eb->face_chi[f][o]));
    TRY(reference_matrices(b, degree, eb));
done:
    return status;
}

/* -------------------------------------------------------------------------------------------- checks */

/* grad u would have to jump with mu at an interface, where only (mu H - p I) n is continuous. */
static facet_status check_one_mu(const struct hdg_data *data) {
    double first = 0.0, value;
    for (int r = 0; r < data->n_regions; r++) {
        if (field_is_constant(data->mu[r], &value) && (r == 0 || value == first)) {
            first = value;
            continue;
        }
        return base_fail(
            FACET_ERROR_INPUT,
            "the gradient formulation needs one mu for the whole body: where mu changes, its "
            "interface condition (mu grad u - p I) n would not be the continuity of tractions; use "
            "the symmetric formulation");
    }
    return FACET_OK;
}

static facet_status check_condition(const struct hdg_data *data, const struct hdg_condition *c) {
    int gradient = data->formulation == HDG_GRADIENT, all = 1;
    if (c->kind != HDG_MECHANICAL && c->kind != HDG_GRADIENT_PRESSURE)
        return base_fail(FACET_ERROR_INPUT, "'%s' has no condition of elasticity", c->part);
    if (c->kind == HDG_GRADIENT_PRESSURE && !gradient)
        return base_fail(
            FACET_ERROR_INPUT,
            "the gradient_pressure condition on '%s' belongs to the gradient formulation; give a "
            "traction, or use that formulation",
            c->part);
    for (int a = 0; a < data->mesh->dim; a++) all = all && c->fixed[a];
    if (!gradient || c->kind != HDG_MECHANICAL || all) return FACET_OK;
    for (int r = 0; r < data->n_regions; r++)
        if (!field_is_constant(data->lambda[r], NULL))
            return base_fail(
                FACET_ERROR_INPUT,
                "the gradient formulation takes the traction on '%s' only with a lambda that is a "
                "number; use the symmetric formulation",
                c->part);
    return FACET_OK;
}

facet_status elastic_create(struct hdg *h) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &h->data;
    const struct facet_mesh *mesh = data->mesh;
    if (data->formulation == HDG_SYMMETRIC && h->space.degree < 1)
        FAIL(FACET_ERROR_INPUT, "the symmetric formulation needs degree 1 or more; the gradient formulation "
                                "has degree 0");
    if (h->space.degree + 1 > MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "elasticity has degrees up to %d", MAX_DEGREE - 1);
    if (data->formulation == HDG_GRADIENT) TRY(check_one_mu(data));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (data->face_condition[f] >= 0)
            TRY(check_condition(data, &data->conditions[data->face_condition[f]]));
    TRY(CALLOC(h->elastic, 1));
    for (int r = 0; r < data->n_regions; r++)
        h->elastic->varies |=
            !field_is_constant(data->mu[r], NULL) || !field_is_constant(data->lambda[r], NULL);
    for (int b = 0; b < mesh->n_blocks; b++) TRY(make_block(h, b));
done:
    return status;
}

void elastic_destroy(struct hdg *h) {
    struct hdg_elastic *e = h->elastic;
    if (e == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        struct elastic_block *eb = &e->blocks[b];
        base_free(&eb->cell.chi);
        base_free(&eb->source.chi);
        base_free(&eb->norm.chi);
        rule_destroy(&eb->own_rule);
        hdg_table_destroy(&eb->own_cell);
        hdg_table_destroy(&eb->own_source);
        hdg_face_table_destroy(&eb->own_face);
        hdg_table_destroy(&eb->middle);
        for (int f = 0; f < SHAPE_MAX_FACES; f++)
            for (int o = 0; o < 8; o++) base_free(&eb->face_chi[f][o]);
        base_free(&eb->D_ref);
        base_free(&eb->F_ref);
        base_free(&eb->FU_ref);
    }
    for (int64_t i = 0; i < e->n_tractions; i++) {
        base_free(&e->tractions[i].trace);
        base_free(&e->tractions[i].load);
    }
    base_free(&e->tractions);
    base_free(&e->face_traction);
    base_free(&e->values);
    base_free(&e->moved);
    base_free(&e->correction_lift);
    csr_destroy(&e->correction);
    base_free(&h->elastic);
}

/* ------------------------------------------------------------------------------------------- scratch */

facet_status elastic_local_create(const struct hdg *h, struct local *l) {
    facet_status status = FACET_OK;
    int64_t points = hdg_max_points(&h->space), N = 0, Nu = 0, m = 0, total = 0, n_rows = 0;
    struct elastic_local *e;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct hdg_block_space *s = &h->space.blocks[b];
        const struct elastic_block *eb = &h->elastic->blocks[b];
        int eliminated, kept;
        hdg_local_sizes(h, b, &eliminated, &kept);
        N = eb->N > N ? eb->N : N;
        m = s->m > m ? s->m : m;
        Nu = eb->Nu > Nu ? eb->Nu : Nu;
        total = eliminated + kept > total ? eliminated + kept : total;
        n_rows = kept > n_rows ? kept : n_rows;
        points = eb->face->rule.n > points ? eb->face->rule.n : points;
        points = eb->cell.table->n > points ? eb->cell.table->n : points;
    }
    TRY(CALLOC(l->elastic, 1));
    e = l->elastic;
    TRY(ALLOC(e->chi, points * Nu));
    TRY(ALLOC(e->grad, h->data.mesh->dim * points * N));
    TRY(ALLOC(e->mu, points));
    TRY(ALLOC(e->lambda, points));
    TRY(ALLOC(e->values, points * 9));
    TRY(ALLOC(e->Z, N * total));
    if (h->elastic->varies) TRY(ALLOC(e->Q, total * total + N * total));
    TRY(ALLOC(e->dev, N * N));
    TRY(ALLOC(e->vol, N * N));
    TRY(ALLOC(e->T, Nu * Nu));
    TRY(ALLOC(e->E, Nu * m));
    TRY(ALLOC(e->W, Nu * m));
    TRY(ALLOC(e->B, 2 * m * m));
    if (h->nonsymmetric) TRY(ALLOC(e->rows, n_rows * total));
done:
    return status;
}

facet_status elastic_points_create(struct local *l, int n) {
    facet_status status = FACET_OK;
    int Nu = l->hdg->elastic->blocks[l->block].Nu;
    TRY(hdg_geometry_create(n, l->hdg->data.mesh->dim, &l->geometry));
    TRY(CALLOC(l->elastic, 1));
    TRY(ALLOC(l->elastic->chi, (int64_t)n * Nu));
    TRY(ALLOC(l->elastic->mu, n));
    TRY(ALLOC(l->elastic->lambda, n));
    TRY(ALLOC(l->elastic->values, (int64_t)n * 9));
done:
    return status;
}

void elastic_local_destroy(struct local *l) {
    struct elastic_local *e = l->elastic;
    if (e == NULL) return;
    double **arrays[] = {&e->chi, &e->grad, &e->mu, &e->lambda, &e->values, &e->Z, &e->Q,
                         &e->dev, &e->vol,  &e->T,  &e->E,      &e->W,      &e->B, &e->rows};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) base_free(arrays[i]);
    base_free(&l->elastic);
}
