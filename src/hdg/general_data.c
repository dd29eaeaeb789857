/* Diffusion in cells whose map is curved or whose data vary: data at the points of a tile of batches, and the
 * weights that the kernels of kernels/general.h want. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/diffusion.h"
#include "hdg/general.h"
#include "solve/solve.h"

int general_varies(const struct hdg *h) {
    for (int r = 0; r < h->data.n_regions; r++)
        if (!field_is_constant(h->data.conductivity[r], NULL)) return 1;
    return 0;
}

/* How K is, in all regions. */
struct form {
    int varying, n_components; /* 1, or dim x dim */
};
static struct form form_of(const struct hdg *h) {
    int scalar = 1;
    for (int r = 0; r < h->data.n_regions; r++) scalar &= field_n_components(h->data.conductivity[r]) == 1;
    return (struct form){general_varies(h), scalar ? 1 : h->data.mesh->dim * h->data.mesh->dim};
}

static int tau_varies(const struct hdg *h) {
    return h->data.tau != NULL && !field_is_constant(h->data.tau, NULL);
}

/* The components of K, the reaction, tau. */
static const struct field *number_of(const struct hdg *h, int region, int c, int *component) {
    const struct field *K = h->data.conductivity[region];
    const int n = form_of(h).n_components, several = field_n_components(K) > 1;
    *component = c < n && several ? c : 0;
    if (c == n) return h->data.reaction != NULL ? h->data.reaction[region] : NULL;
    if (c == n + 1) return tau_varies(h) ? h->data.tau : NULL;
    return several || c % (h->data.mesh->dim + 1) == 0 ? K : NULL;
}

static struct general_plan plan_of(const struct hdg *h, int block) {
    const struct general_tables *t = &h->general[block]->tables;
    const struct form form = form_of(h);
    const int64_t dim = t->dim, n = t->n, n_face = (int64_t)t->n_faces * t->n_face;
    const int reaction = h->data.reaction != NULL, full = form.n_components > 1 && form.varying;
    return (struct general_plan){
        .n_arrays = N_GENERAL_ARRAYS,
        .sizes = {[W_UHAT] = (int64_t)t->n_faces * t->m,
                  [A_VOLUMES] = 1,
                  [A_LARGEST] = 1,
                  [A_POINTS] = n * (1 + dim) * dim,
                  [A_FACE_POINTS] = n_face * (1 + dim) * dim,
                  [A_WJ] = n,
                  [A_METRIC_POINTS] = t->D != NULL ? t->n_metric * (1 + dim) * dim : 0,
                  [A_METRIC_DET] = t->D != NULL ? t->n_metric : 0,
                  [A_COFACTORS] = t->n_metric * dim * dim,
                  [A_DET_POINTS] = t->n_det * (1 + dim) * dim,
                  [A_NORMALS] = n_face * dim,
                  [A_DET] = t->n_det,
                  [A_MASS] = n * (full ? dim * (dim + 1) / 2 : 1),
                  [A_ROOTS] = form.n_components > 1 ? dim * dim : 0,
                  [A_REACTION] = reaction ? n : 0,
                  [A_TAU] = n_face,
                  [A_K] = (form.varying ? n : 1) * form.n_components,
                  [A_LAMBDA] = reaction ? n : 0,
                  [A_TAU_GIVEN] = tau_varies(h) ? n_face : 0},
        .n_seen = A_POINTS,
        .n_scratch = device_condense_general_scratch(h->device, t, full),
        .whole = 1,
        .kept = &h->cells[block]->work,
        .number = number_of,
        .n_numbers = form.n_components + 2,
        .n_points = (int)(n > n_face ? n : n_face),
        .unit = shape_measure(h->data.mesh->blocks[block].shape)};
}

/* What is wrong with the data of a batch, number `failed` of those at hand, as the host says it. */
static facet_status refuse_data(struct general_work *w, int64_t begin, int64_t failed) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->hdg->data;
    const struct general_tables *t = &w->hdg->general[w->block]->tables;
    struct local *l = &w->local;
    const int n_face = t->n_faces * t->n_face, most = t->n > n_face ? t->n : n_face, dim = t->dim;
    double *x = NULL;
    l->block = w->block;
    TRY(ALLOC(x, (int64_t)most * (dim + dim * dim)));
    for (int lane = 0; lane < w->hdg->lanes; lane++) {
        double *values = x + (int64_t)most * dim;
        l->cell = general_cell(w, begin + failed, lane);
        const int32_t region = local_region(data, w->block, l->cell);
        TRY(general_points_of(w, A_POINTS, t->n, failed, lane, x));
        TRY(local_place(local_conductivity(l, region, t->n, x, values), l));
        if (data->reaction != NULL) TRY(local_place(local_reaction(data, region, t->n, x, values), l));
        TRY(general_points_of(w, A_FACE_POINTS, n_face, failed, lane, x));
        if (data->tau != NULL) TRY(local_place(local_given_tau(data, n_face, x, values), l));
    }
    TRY(batch_refuse(w->hdg, w->block, begin + failed, "the conductivity"));
done:
    base_free(&x);
    return status;
}

static facet_status put_field(struct general_work *w, const char *name, int64_t begin, int64_t n, int points,
                              int n_points, int c, int count, int array) {
    const int dim = w->hdg->data.mesh->dim;
    const struct general_values to = {.name = name,
                                      .points = points,
                                      .n_points = n_points,
                                      .step = (1 + dim) * dim,
                                      .c = c,
                                      .count = count,
                                      .values = w->device[array]};
    return general_put_field(w, begin, n, &to);
}

/* A tau that varies: A_TAU has the lengths of normals, and becomes tau times these. */
static facet_status put_tau(struct general_work *w, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    const int64_t count = n * w->size[A_TAU];
    const void *view = NULL;
    TRY(put_field(w, "tau", begin, n, A_FACE_POINTS, t->n_faces * t->n_face, form_of(h).n_components + 1, 1,
                  A_TAU_GIVEN));
    TRY(device_view(h->device, w->device[A_TAU_GIVEN], (size_t)count, sizeof(double), &view));
    for (int64_t i = 0; i < count; i++)
        if (!(((const double *)view)[i] > 0.0)) TRY(refuse_data(w, begin, i / w->size[A_TAU]));
    device_multiply(h->device, F64, count, w->device[A_TAU_GIVEN], w->device[A_TAU], w->device[A_TAU]);
done:
    device_unview(h->device, w->device[A_TAU_GIVEN], &view);
    return status;
}

/* The matrices of the cells at hand, as the kernels want them. */
static void describe_cells(struct general_work *w, const struct form *form) {
    const int roots = form->n_components > 1 && !form->varying;
    w->cells =
        (struct general_cells){.full = form->n_components > 1 && form->varying,
                               .mass = w->device[A_MASS],
                               .det = !form->varying && w->size[A_DET] > 0 ? w->device[A_DET] : NULL,
                               .roots = roots ? w->device[A_ROOTS] : NULL,
                               .reaction = w->hdg->data.reaction != NULL ? w->device[A_REACTION] : NULL,
                               .cofactors = w->device[A_COFACTORS],
                               .normals = w->device[A_NORMALS],
                               .tau = w->device[A_TAU],
                               .orientations = w->device[A_ORIENTATIONS]};
}

static facet_status make_data(struct general_work *w, int64_t begin, int64_t n, int check) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    const struct form form = form_of(h);
    (void)check;
    general_place(w, begin);
    describe_cells(w, &form);
    double *const *at = w->device;
    struct general_data d = {.lanes = h->lanes,
                             .dim = t->dim,
                             .n = t->n,
                             .n_faces = t->n_faces,
                             .n_face = t->n_face,
                             .n_det = t->n_det,
                             .varying = form.varying,
                             .n_components = form.n_components,
                             .K = at[A_K],
                             .reaction = h->data.reaction != NULL ? at[A_LAMBDA] : NULL,
                             .wJ = at[A_WJ],
                             .normals = at[A_NORMALS],
                             .tau_hat = h->data.tau_hat,
                             .length = h->space.length,
                             .unit = w->plan.unit,
                             .most = 1.0 / SOLVE_LEAST,
                             .full = w->cells.full,
                             .mass = w->cells.det == NULL ? at[A_MASS] : NULL,
                             .roots = w->cells.roots != NULL ? at[A_ROOTS] : NULL,
                             .weights = at[A_REACTION],
                             .taus = at[A_TAU],
                             .det = w->cells.det != NULL ? at[A_DET] : NULL,
                             .size = at[A_VOLUMES],
                             .largest = at[A_LARGEST]};
    for (int f = 0; f < t->n_faces; f++) d.heights[f] = shape_height(h->space.blocks[w->block].shape, f);
    if (tau_varies(h))
        d.tau = 1.0;
    else if (h->data.tau != NULL)
        field_is_constant(h->data.tau, &d.tau);
    int64_t failed = general_map_points(h, w->block, n, at);
    if (failed >= 0) TRY(general_refuse_inverted(h, w->block, begin + failed));
    TRY(put_field(w, "conductivity", begin, n, A_POINTS, form.varying ? t->n : 1, 0, form.n_components, A_K));
    if (h->data.reaction != NULL)
        TRY(put_field(w, "reaction", begin, n, A_POINTS, t->n, form.n_components, 1, A_LAMBDA));
    failed = device_general_weights(h->device, &d, n);
    if (failed < 0 && h->data.tau != NULL && !(d.tau > 0.0)) failed = 0;
    if (failed >= 0) TRY(refuse_data(w, begin, failed));
    if (tau_varies(h)) TRY(put_tau(w, begin, n));
done:
    return status;
}

static int64_t condense(const struct general_work *w, int64_t n, double *K) {
    return device_condense_general(w->hdg->device, &w->hdg->general[w->block]->tables, &w->cells, n, K,
                                   w->scratch);
}

static int64_t solve(const struct general_work *w, int64_t n, const double *uhat, double *u, double *q,
                     double *load) {
    return device_general_solve(w->hdg->device, &w->hdg->general[w->block]->tables, &w->cells, n, uhat, u, q,
                                load, w->scratch);
}

/* ------------------------------------------------------------------------------------------ K alone */

static const struct field *entry_of(const struct hdg *h, int region, int c, int *component) {
    const struct field *K = h->data.conductivity[region];
    const int several = field_n_components(K) > 1;
    *component = several ? c : 0;
    return several || c % (h->data.mesh->dim + 1) == 0 ? K : NULL;
}

void general_plan_conductivity(const struct hdg *h, int n, struct general_plan *plan) {
    plan->number = entry_of;
    plan->n_numbers = h->data.mesh->dim * h->data.mesh->dim;
    plan->n_points = n;
}

/* Whether the values of a lane at n points are conductivities. */
static int are_conductivities(int dim, int lanes, int n, int scalar, const double *values) {
    double K[9];
    int fit = 1;
    for (int q = 0; q < n; q++, values += dim * dim * lanes) {
        fit &= values[0] >= SOLVE_LEAST && values[0] <= 1.0 / SOLVE_LEAST;
        for (int i = 0; i < dim * dim && !scalar; i++) K[i] = values[i * lanes];
        if (!scalar) fit &= general_is_definite(dim, K);
    }
    return fit;
}

facet_status general_conductivity(struct general_work *w, int64_t begin, int64_t n, int points, int n_points,
                                  int array) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    struct local *l = &w->local;
    const int dim = h->data.mesh->dim, lanes = h->lanes, step = (int)(w->size[points] / lanes / n_points),
              many = general_varies(h) ? n_points : 1, scalar = form_of(h).n_components == 1;
    const struct general_values to = {.name = "conductivity",
                                      .points = points,
                                      .n_points = many,
                                      .step = step,
                                      .count = dim * dim,
                                      .values = w->device[array]};
    TRY(general_put_field(w, begin, n, &to));
    TRY(general_fetch(w, array, n));
    for (int64_t i = 0; i < n * lanes; i++) {
        const int64_t batch = i / lanes, lane = i % lanes;
        if (are_conductivities(dim, lanes, many, scalar, w->host[array] + batch * w->size[array] + lane))
            continue;
        l->block = w->block;
        l->cell = general_cell(w, begin + batch, (int)lane);
        general_points(n_points, dim, lanes, step, w->host[points] + batch * w->size[points] + lane,
                       l->geometry.x);
        TRY(local_place(
            local_conductivity(l, local_region(&h->data, w->block, l->cell), n_points, l->geometry.x, l->K),
            l));
    }
done:
    return status;
}

const struct general_maker general_diffusion = {plan_of, make_data, condense, solve};
