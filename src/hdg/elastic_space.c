/* What elasticity needs beside the functions of its cells: checks, and the scratch of a thread. */
#include "base/memory.h"
#include "hdg/elastic.h"

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
    if (h->space.degree >= HDG_MAX_PHYSICAL_DEGREE)
        FAIL(FACET_ERROR_INPUT, "elasticity has degrees up to %d", HDG_MAX_PHYSICAL_DEGREE - 1);
    if (data->formulation == HDG_GRADIENT) TRY(check_one_mu(data));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (data->face_condition[f] >= 0)
            TRY(check_condition(data, &data->conditions[data->face_condition[f]]));
    TRY(CALLOC(h->elastic, 1));
    for (int r = 0; r < data->n_regions; r++)
        h->elastic->varies |=
            !field_is_constant(data->mu[r], NULL) || !field_is_constant(data->lambda[r], NULL);
done:
    return status;
}

void elastic_destroy(struct hdg *h) {
    struct hdg_elastic *e = h->elastic;
    if (e == NULL) return;
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
        const struct hdg_functions *eb = &h->functions[b];
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
    int Nu = l->hdg->functions[l->block].Nu;
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
