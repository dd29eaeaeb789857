/* The entries of elasticity, and what they need beside the functions of its cells: checks, and the scratch of
 * a thread. */
#include <stddef.h>

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
    int all = 1, has = (data->equation->conditions & HDG_BIT(c->kind)) != 0;
    if (c->kind != HDG_MECHANICAL && c->kind != HDG_GRADIENT_PRESSURE)
        return base_fail(FACET_ERROR_INPUT, "'%s' has no condition of elasticity", c->part);
    if (!has)
        return base_fail(
            FACET_ERROR_INPUT,
            "the gradient_pressure condition on '%s' belongs to the gradient formulation; give a "
            "traction, or use that formulation",
            c->part);
    if (c->spring != NULL && !(data->equation->conditions & HDG_BIT(HDG_SPRING)))
        return base_fail(FACET_ERROR_INPUT,
                         "the spring on '%s' belongs to the symmetric formulation; use that one", c->part);
    for (int a = 0; a < data->mesh->dim; a++) all = all && c->fixed[a];
    if (!(data->equation->asymmetric & HDG_BIT(c->kind)) || all || c->symmetric) return FACET_OK;
    for (int r = 0; r < data->n_regions; r++)
        if (!field_is_constant(data->lambda[r], NULL))
            return base_fail(
                FACET_ERROR_INPUT,
                "the gradient formulation takes the traction on '%s' only with a lambda that is a "
                "number; use the symmetric formulation",
                c->part);
    return FACET_OK;
}

static facet_status create(struct hdg *h) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &h->data;
    const struct facet_mesh *mesh = data->mesh;
    if (h->space.degree < data->equation->least_degree)
        FAIL(FACET_ERROR_INPUT, "the symmetric formulation needs degree 1 or more; the gradient formulation "
                                "has degree 0");
    if (h->space.degree >= HDG_MAX_PHYSICAL_DEGREE)
        FAIL(FACET_ERROR_INPUT, "elasticity has degrees up to %d", HDG_MAX_PHYSICAL_DEGREE - 1);
    if (data->equation->one_mu) TRY(check_one_mu(data));
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (data->face_condition[f] >= 0)
            TRY(check_condition(data, &data->conditions[data->face_condition[f]]));
    if (data->expansion != NULL && (data->temperature == NULL || data->reference == NULL))
        FAIL(FACET_ERROR_INPUT, "a thermal expansion needs a temperature and a reference");
    TRY(CALLOC(h->elastic, 1));
    for (int r = 0; r < data->n_regions; r++) h->elastic->varies |= !elastic_is_uniform(data, r);
    for (int r = 0; r < data->n_regions; r++) h->elastic->voigt |= elastic_is_voigt(data, r);
    if (h->elastic->voigt && elastic_is_gradient(data))
        FAIL(FACET_ERROR_INPUT,
             "bodies of revolution and orthotropic materials need the symmetric formulation");
done:
    return status;
}

static void destroy(struct hdg *h) {
    struct hdg_elastic *e = h->elastic;
    if (e == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        elastic_general_destroy(h, b);
        elastic_tables_destroy(h, b);
    }
    for (int64_t i = 0; i < e->n_tractions; i++) {
        base_free(&e->tractions[i].trace);
        base_free(&e->tractions[i].load);
    }
    base_free(&e->tractions);
    base_free(&e->face_traction);
    base_free(&e->correction_lift);
    base_free(&e->areas);
    csr_destroy(&e->correction);
    base_free(&h->elastic);
}

/* ------------------------------------------------------------------------------------------- scratch */

static facet_status create_scratch(struct local *l, int64_t points, int64_t total) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    int64_t N = 0, Nu = 0, m = 0, n_rows = 0;
    struct elastic_local *e;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct hdg_block_space *s = &h->space.blocks[b];
        const struct hdg_functions *eb = &h->functions[b];
        int kept = trace_cell_size(&h->trace, b);
        N = eb->N > N ? eb->N : N;
        m = s->m > m ? s->m : m;
        Nu = eb->Nu > Nu ? eb->Nu : Nu;
        n_rows = kept > n_rows ? kept : n_rows;
    }
    TRY(CALLOC(l->elastic, 1));
    e = l->elastic;
    TRY(ALLOC(e->chi, points * Nu));
    TRY(ALLOC(e->grad, h->data.mesh->dim * points * N));
    TRY(ALLOC(e->mu, points));
    TRY(ALLOC(e->lambda, points));
    TRY(ALLOC(e->values, points * 9));
    TRY(ALLOC(e->strain, points * 2));
    TRY(ALLOC(e->Z, N * total));
    if (h->elastic->varies) TRY(ALLOC(e->Q, total * total + N * total));
    TRY(ALLOC(e->dev, N * N));
    TRY(ALLOC(e->vol, N * N));
    TRY(ALLOC(e->T, Nu * Nu));
    TRY(ALLOC(e->E, Nu * m));
    TRY(ALLOC(e->W, Nu * m));
    TRY(ALLOC(e->B, 2 * m * m));
    if (h->nonsymmetric) TRY(ALLOC(e->rows, n_rows * total));
    TRY(elastic_voigt_scratch(l, points, N, Nu, total));
done:
    return status;
}

/* Only what a field needs at n points: an expansion in functions of the reference cell nothing. */
static facet_status create_scratch_at(struct local *l, int n, enum hdg_field field) {
    facet_status status = FACET_OK;
    int Nu = l->hdg->functions[l->block].Nu;
    if (field == HDG_U_STAR || field == HDG_P || (field == HDG_U && !l->hdg->functions[l->block].physical))
        return FACET_OK;
    TRY(hdg_geometry_create(n, l->hdg->data.mesh->dim, &l->geometry));
    TRY(CALLOC(l->elastic, 1));
    TRY(ALLOC(l->elastic->chi, (int64_t)n * Nu));
    TRY(ALLOC(l->elastic->mu, n));
    TRY(ALLOC(l->elastic->lambda, n));
    TRY(ALLOC(l->elastic->values, (int64_t)n * 9));
    TRY(ALLOC(l->elastic->strain, (int64_t)n * 2));
    TRY(elastic_voigt_scratch(l, n, 0, 0, 0));
done:
    return status;
}

void elastic_local_destroy(struct local *l) {
    struct elastic_local *e = l->elastic;
    if (e == NULL) return;
    double **arrays[] = {&e->chi,       &e->grad, &e->mu,         &e->lambda, &e->values, &e->strain, &e->Z,
                         &e->Q,         &e->dev,  &e->vol,        &e->T,      &e->E,      &e->W,      &e->B,
                         &e->stiffness, &e->V,    &e->compliance, &e->hoop,   &e->rows};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) base_free(arrays[i]);
    base_free(&l->elastic);
}

/* ------------------------------------------------------------------------------------------- entries */

static facet_status number(struct hdg *h, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    TRY(elastic_number_faces(h, eliminated));
    TRY(elastic_list_faces(h));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(elastic_find_fast(h, b));
done:
    return status;
}

#define ELASTICITY                                                                                           \
    .is_vector = 1, .rigid = 1, .by_faces = 1, .outward = -1.0, .conserved = "force", .create = create,      \
    .destroy = destroy, .number = number, .boundary = elastic_boundary, .one_on = local_one_on,              \
    .scratch = create_scratch, .scratch_at = create_scratch_at, .begin = elastic_begin, .tau = elastic_tau,  \
    .exact_source = elastic_exact_source, .condition_values = elastic_condition_values,                      \
    .condenser = elastic_condenser, .finish_condense = elastic_finish_condense,                              \
    .finish_load = elastic_finish_load, .flux = elastic_flux, .evaluate = elastic_evaluate,                  \
    .exact_values = elastic_exact_values, .face_flux = elastic_face_stress, .initial = elastic_initial
#define ELASTIC_FIELDS                                                                                       \
    (HDG_BIT(HDG_U) | HDG_BIT(HDG_STRESS) | HDG_BIT(HDG_STRAIN) | HDG_BIT(HDG_VON_MISES) |                   \
     HDG_BIT(HDG_ACROSS))

const struct equation equation_symmetric = {
    ELASTICITY,
    .turns = 1,
    .drifts = 1,
    .raise = 1,
    .least_degree = 1,
    .n_flux = {[2] = 3, [3] = 6},
    .fields = ELASTIC_FIELDS,
    .conditions = HDG_BIT(HDG_MECHANICAL) | HDG_BIT(HDG_SPRING) | HDG_BIT(HDG_JUMP),
    .no_star =
        "the symmetric formulation has no post-processing: its displacement is of degree k + 1 already",
    .written = {HDG_U, HDG_VON_MISES, HDG_STRESS, HDG_STRAIN, -1},
    .n_errors = 3,
    .errors = {{"stress L2", offsetof(facet_errors, stress_L2)},
               {"u L2", offsetof(facet_errors, u_L2)},
               {"trace L2", offsetof(facet_errors, trace_L2)}},
};

const struct equation equation_gradient = {
    ELASTICITY,                    /* degree 0 exists: fabien2019 measured it */
    .n_flux = {[2] = 5, [3] = 10}, /* H and p */
    .fields = ELASTIC_FIELDS | HDG_BIT(HDG_U_STAR) | HDG_BIT(HDG_H) | HDG_BIT(HDG_P) | HDG_BIT(HDG_VORTICITY),
    .conditions = HDG_BIT(HDG_MECHANICAL) | HDG_BIT(HDG_GRADIENT_PRESSURE),
    .asymmetric = HDG_BIT(HDG_MECHANICAL),
    .one_mu = 1,
    .star_of_gradient = 1,
    .written = {HDG_U_STAR, HDG_U, HDG_VON_MISES, HDG_STRESS, HDG_STRAIN, HDG_H, HDG_P, HDG_VORTICITY, -1},
    .n_errors = 4,
    .errors = {{"H L2", offsetof(facet_errors, H_L2)},
               {"u L2", offsetof(facet_errors, u_L2)},
               {"p L2", offsetof(facet_errors, p_L2)},
               {"u* L2", offsetof(facet_errors, u_star_L2)}},
};
