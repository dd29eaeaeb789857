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

/* Orthonormal Legendre polynomials of [0, 1]. */
static void legendre(int degree, double x, double *values) {
    double t = 2.0 * x - 1.0, previous = 0.0, now = 1.0;
    for (int n = 0; n <= degree; n++) {
        values[n] = sqrt(2.0 * n + 1.0) * now;
        double next = ((2 * n + 1) * t * now - n * previous) / (n + 1);
        previous = now;
        now = next;
    }
}

/* Products of total degree <= degree at n points xi, constants first: chi n x total_degree_size. */
static void physical_functions(int dim, int degree, int n, const double *xi, double *chi) {
    double values[3][MAX_DEGREE + 1];
    for (int q = 0; q < n; q++) {
        for (int a = 0; a < dim; a++) legendre(degree, xi[q * dim + a], values[a]);
        for (int k = 0; k <= (dim == 3 ? degree : 0); k++)
            for (int j = 0; j + k <= degree; j++)
                for (int i = 0; i + j + k <= degree; i++)
                    *chi++ = values[0][i] * values[1][j] * (dim == 3 ? values[2][k] : 1.0);
    }
}

void elastic_place_cell(const struct hdg *h, int block, int32_t cell, struct elastic_local *e) {
    struct hdg_geometry g;
    double wJ, jacobian[9];
    g = (struct hdg_geometry){.x = e->middle, .wJ = &wJ, .inverse = e->inverse, .jacobian = jacobian};
    hdg_cell_geometry(&h->space, block, cell, &h->elastic->blocks[block].middle, &g);
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
        physical_functions(dim, degree, table->n, table->xi, e->chi);
        return e->chi;
    }
    elastic_place_cell(h, l->block, l->cell, e);
    for (int q = 0; q < table->n; q++) {
        double xi[3];
        for (int b = 0; b < dim; b++) {
            xi[b] = 0.5;
            for (int a = 0; a < dim; a++) xi[b] += e->inverse[b * dim + a] * (x[q * dim + a] - e->middle[a]);
        }
        physical_functions(dim, degree, 1, xi, e->chi + (int64_t)q * eb->Nu);
    }
    return e->chi;
}

/* -------------------------------------------------------------------------------------------- tables */

static facet_status compact_chi(const struct elastic_block *eb, int degree, const struct hdg_table *table,
                                double **chi) {
    facet_status status = FACET_OK;
    if (!eb->physical) return FACET_OK;
    TRY(ALLOC(*chi, (int64_t)table->n * eb->Nu));
    physical_functions(table->dim, degree, table->n, table->xi, *chi);
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

static facet_status reference_matrices(const struct hdg_block_space *b, struct elastic_block *eb) {
    facet_status status = FACET_OK;
    const struct hdg_table *cell = eb->cell.table;
    double *scaled = NULL;
    int dim = cell->dim, n = cell->n, n_face = eb->face->rule.n;
    int64_t N = b->N, Nu = eb->Nu, m = b->m;
    const double *chi = eb->physical ? eb->cell.chi : cell->phi;
    int row = eb->physical ? eb->Nu : cell->N;
    TRY(CALLOC(eb->D_ref, dim * N * Nu));
    TRY(CALLOC(eb->F_ref, b->n_faces * 8 * N * m));
    TRY(CALLOC(eb->FU_ref, b->n_faces * 8 * Nu * m));
    TRY(ALLOC(scaled, n * Nu > n_face * m ? n * Nu : n_face * m));
    for (int d = 0; d < dim; d++)
        weighted_product(n, b->N, eb->Nu, cell->grad + (int64_t)d * n * cell->N, cell->N, cell->w, chi, row,
                         scaled, eb->D_ref + d * N * Nu);
    for (int f = 0; f < b->n_faces; f++)
        for (int o = 0; o < 8; o++) {
            const struct hdg_table *side = &eb->face->side[f][o];
            if (side->phi == NULL) continue;
            weighted_product(n_face, b->N, b->m, side->phi, side->N, eb->face->rule.w, eb->face->psi, b->m,
                             scaled, eb->F_ref + (f * 8 + o) * N * m);
            weighted_product(n_face, eb->Nu, b->m, eb->physical ? eb->face_chi[f][o] : side->phi,
                             eb->physical ? eb->Nu : side->N, eb->face->rule.w, eb->face->psi, b->m, scaled,
                             eb->FU_ref + (f * 8 + o) * Nu * m);
        }
done:
    base_free(&scaled);
    return status;
}

static facet_status make_block(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct elastic_block *eb = &h->elastic->blocks[block];
    int degree = h->space.degree, symmetric = h->data.formulation == HDG_SYMMETRIC;
    double half[3] = {0.5, 0.5, 0.5};
    eb->physical = symmetric && !shape_is_simplex(b->shape);
    eb->Nu = symmetric ? total_degree_size(mesh->dim, degree + 1) : b->N;
    eb->cell.table = symmetric ? &b->star : &b->cell;
    eb->norm.table = symmetric ? &b->norm_star : &b->norm;
    eb->source.table = symmetric ? &eb->own_source : &b->source;
    eb->face = symmetric ? &eb->own_face : &b->face;
    TRY(hdg_table_create(b->shape, degree, mesh->order, 1, half, &eb->middle));
    if (symmetric) {
        TRY(hdg_table_create(b->shape, degree + 1, mesh->order, b->source_rule.n, b->source_rule.x,
                             &eb->own_source));
        eb->own_source.w = b->source_rule.w;
        TRY(hdg_face_table_create(h->maker, HDG_FACE, &mesh->blocks[block], degree, degree + 1, mesh->order,
                                  &eb->own_face));
    }
    TRY(compact_chi(eb, degree + 1, eb->cell.table, &eb->cell.chi));
    TRY(compact_chi(eb, degree + 1, eb->source.table, &eb->source.chi));
    TRY(compact_chi(eb, degree + 1, eb->norm.table, &eb->norm.chi));
    for (int f = 0; f < b->n_faces; f++)
        for (int o = 0; o < 8; o++)
            if (eb->face->side[f][o].phi != NULL)
                TRY(compact_chi(eb, degree + 1, &eb->face->side[f][o], &eb->face_chi[f][o]));
    TRY(reference_matrices(b, eb));
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
        N = s->N > N ? s->N : N;
        m = s->m > m ? s->m : m;
        Nu = eb->Nu > Nu ? eb->Nu : Nu;
        total = eliminated + kept > total ? eliminated + kept : total;
        n_rows = kept > n_rows ? kept : n_rows;
        points = eb->face->rule.n > points ? eb->face->rule.n : points;
    }
    TRY(CALLOC(l->elastic, 1));
    e = l->elastic;
    TRY(ALLOC(e->chi, points * Nu));
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
    double **arrays[] = {&e->chi, &e->mu, &e->lambda, &e->values, &e->Z, &e->Q,   &e->dev,
                         &e->vol, &e->T,  &e->E,      &e->W,      &e->B, &e->rows};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) base_free(arrays[i]);
    base_free(&l->elastic);
}
