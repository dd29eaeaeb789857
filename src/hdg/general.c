/* Cells whose map is curved or whose data vary, a few batches at a time: maps at points, data there, and the
 * kernels of kernels/general.h. */
#include "hdg/general.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/diffusion.h"

#define WORK_BYTES     (1 << 20)  /* of what a thread works on at a time, about; */
#define WORK_GPU_BYTES (16 << 20) /* and where calls cost more than caches bring */

/* ------------------------------------------------------------------------------------------ work */

static void work_destroy(struct general_work *w) {
    const struct device *device = w->hdg->device;
    for (int i = 0; i < w->n_arrays; i++) {
        if (w->host[i] != w->device[i]) base_free(&w->host[i]);
        device_free(device, &w->device[i]);
    }
    device_free(device, &w->scratch);
    base_free(&w->volumes);
    local_destroy(&w->local);
}

static facet_status work_create(const struct hdg *h, int block, const struct general_plan *plan,
                                struct general_work *w) {
    facet_status status = FACET_OK;
    int64_t all = 0;
    *w = (struct general_work){.hdg = h, .block = block, .n_arrays = plan->n_arrays};
    for (int i = 0; i < w->n_arrays; i++) all += w->size[i] = plan->sizes[i] * h->lanes;
    int64_t bytes = device_has_memory(h->device) ? WORK_GPU_BYTES : WORK_BYTES;
    w->most = (plan->bytes > 0 ? plan->bytes : bytes) / (all * (int64_t)sizeof(double));
    if (w->most < 1) w->most = 1;
    for (int i = 0; i < w->n_arrays; i++) {
        size_t count = (size_t)(w->most * w->size[i]);
        if (!plan->on_host) TRY(device_alloc(h->device, &w->device[i], count, sizeof(double)));
        if (!plan->on_host && device_is_host(h->device))
            w->host[i] = w->device[i];
        else
            TRY(ALLOC(w->host[i], count));
    }
    TRY(device_alloc(h->device, &w->scratch, (size_t)plan->n_scratch, sizeof(double)));
    TRY(ALLOC(w->volumes, w->most * h->lanes));
    TRY(local_create(h, &w->local));
done:
    return status;
}

facet_status general_for_pieces(const struct hdg *h, int block, int64_t begin, int64_t end,
                                const struct general_plan *plan, general_piece work, void *user,
                                double *reaction) {
    struct base_collector failures;
    int together = plan->on_host || device_is_host(h->device) || device_has_memory(h->device),
        n_threads = together && !plan->alone ? base_threads() : 1;
    double largest = 0.0;
    base_collector_init(&failures);
#pragma omp parallel num_threads(n_threads) reduction(max : largest)
    {
        struct general_work w;
        facet_status mine = work_create(h, block, plan, &w);
        int64_t most = w.most;
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int64_t batch = begin; batch < end; batch += most) {
            if (mine != FACET_OK) continue;
            mine = work(&w, batch, end - batch < most ? end - batch : most, user);
            base_collect(&failures, batch, mine);
        }
        largest = w.largest_reaction;
        work_destroy(&w);
    }
    if (reaction != NULL) *reaction = fmax(*reaction, largest);
    return base_collected(&failures);
}

facet_status general_fetch(const struct general_work *w, int array, int64_t n_batches) {
    if (w->host[array] == w->device[array] || w->device[array] == NULL) return FACET_OK;
    return device_download(w->hdg->device, w->host[array], w->device[array],
                           (size_t)(n_batches * w->size[array]) * sizeof(double));
}

facet_status general_send(const struct general_work *w, int array, int64_t n_batches) {
    if (w->host[array] == w->device[array] || w->device[array] == NULL) return FACET_OK;
    return device_upload(w->hdg->device, w->device[array], w->host[array],
                         (size_t)(n_batches * w->size[array]) * sizeof(double));
}

int32_t general_cell(const struct general_work *w, int64_t batch, int lane) {
    int64_t cell = batch * w->hdg->lanes + lane, count = w->hdg->data.mesh->blocks[w->block].count;
    return (int32_t)(cell < count ? cell : count - 1);
}

facet_status general_nodes(const struct general_work *w, int array, int64_t begin, int64_t n) {
    const struct mesh_block *b = &w->hdg->data.mesh->blocks[w->block];
    int lanes = w->hdg->lanes, size = b->n_nodes * w->hdg->data.mesh->dim;
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const double *from = b->nodes + (int64_t)general_cell(w, begin + batch, lane) * size;
            double *to = w->host[array] + batch * w->size[array] + lane;
            for (int i = 0; i < size; i++) to[i * lanes] = from[i];
        }
    return general_send(w, array, n);
}

facet_status general_orientations(const struct general_work *w, int array, int64_t begin, int64_t n) {
    const struct mesh_block *b = &w->hdg->data.mesh->blocks[w->block];
    int lanes = w->hdg->lanes, n_faces = shape_n_faces(b->shape);
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            int64_t cell = general_cell(w, begin + batch, lane);
            double *to = w->host[array] + batch * w->size[array] + lane;
            for (int f = 0; f < n_faces; f++) to[f * lanes] = b->orientations[cell * n_faces + f];
        }
    return general_send(w, array, n);
}

facet_status general_number_create(const struct hdg *h, const struct field *f, int component, int64_t most,
                                   struct general_number *number) {
    *number = (struct general_number){.constant = 0.0};
    if (f == NULL || field_is_number(f, component, &number->constant)) return FACET_OK;
    return field_program_create(f, component, h->device, h->data.mesh->dim, 0, 0, most, &number->program);
}

void general_put_values(const struct hdg *h, const struct general_values *from, int64_t n, double *values) {
    const int dim = h->data.mesh->dim;
    for (int r = 0; r < h->data.n_regions; r++) {
        const struct general_number *number = &from->numbers[(int64_t)r * from->step];
        const struct lane_points points = {.lanes = h->lanes,
                                           .dim = dim,
                                           .n = from->n_points,
                                           .step = (1 + dim) * dim,
                                           .points = from->points,
                                           .regions = from->regions,
                                           .region = r,
                                           .row = from->row,
                                           .n_rows = from->n_rows,
                                           .constant = number->constant,
                                           .plan = number->program.plan,
                                           .work = number->program.work};
        device_lane_values(h->device, &points, n, values);
    }
}

facet_status general_refuse_inverted(const struct hdg *h, int block, int64_t batch) {
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    int64_t first = batch * h->lanes, last = first + h->lanes - 1;
    return base_fail(
        FACET_ERROR_INPUT,
        "one of the cells %lld to %lld (%s) is inverted at a point of the quadrature: its Jacobian is "
        "not positive there; optimize the high-order mesh or refine there",
        (long long)(b->first + first), (long long)(b->first + (last < b->count ? last : b->count - 1)),
        shape_name(b->shape));
}

/* One point has the Jacobian of all. */
static facet_status straight_maps(const struct general_work *w, const struct general_rule *rule,
                                  int64_t begin, int64_t n, const struct general_places *at) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int n_nodes = rule->table->n_nodes, lanes = h->lanes, dim = h->data.mesh->dim, points = rule->table->n;
    device_table_apply(h->device, lanes, n, points, n_nodes, dim, rule->map, w->device[at->nodes],
                       w->device[at->points]);
    device_table_apply(h->device, lanes, n, 1 + dim, n_nodes, dim, rule->middle, w->device[at->nodes],
                       w->device[at->middle]);
    int64_t failed =
        device_cell_metric(h->device, lanes, n, dim, 1, rule->w, w->device[at->middle], w->device[at->det],
                           at->cofactors >= 0 ? w->device[at->cofactors] : NULL);
    if (failed >= 0) TRY(general_refuse_inverted(w->hdg, w->block, begin + failed));
    TRY(general_fetch(w, at->det, n));
    for (int64_t batch = 0; batch < n; batch++) {
        const double *det = w->host[at->det] + batch * w->size[at->det];
        double *wJ = w->host[at->wJ] + batch * w->size[at->wJ];
        for (int q = 0; q < points; q++)
            for (int lane = 0; lane < lanes; lane++) wJ[q * lanes + lane] = rule->table->w[q] * det[lane];
    }
    TRY(general_fetch(w, at->points, n));
done:
    return status;
}

facet_status general_maps(const struct general_work *w, const struct general_rule *rule, int64_t begin,
                          int64_t n, const struct general_places *at) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->hdg;
    int lanes = h->lanes, dim = h->data.mesh->dim, n_points = rule->table->n;
    if (rule->middle != NULL) return straight_maps(w, rule, begin, n, at);
    device_table_apply(h->device, lanes, n, n_points * (1 + dim), rule->table->n_nodes, dim, rule->map,
                       w->device[at->nodes], w->device[at->points]);
    int64_t failed =
        device_cell_metric(h->device, lanes, n, dim, n_points, rule->w, w->device[at->points],
                           w->device[at->wJ], at->cofactors >= 0 ? w->device[at->cofactors] : NULL);
    if (failed >= 0) TRY(general_refuse_inverted(w->hdg, w->block, begin + failed));
    TRY(general_fetch(w, at->points, n));
    TRY(general_fetch(w, at->wJ, n));
done:
    return status;
}

void general_points(int n, int dim, int lanes, int step, const double *points, double *x) {
    for (int q = 0; q < n; q++)
        for (int a = 0; a < dim; a++) x[q * dim + a] = points[((int64_t)q * step + a) * lanes];
}

void general_all_points(const struct hdg *h, int64_t n, int step, const double *points, double *x) {
    int dim = h->data.mesh->dim, lanes = h->lanes;
    for (int64_t q = 0; q < n; q++)
        for (int lane = 0; lane < lanes; lane++)
            for (int a = 0; a < dim; a++)
                x[(q * lanes + lane) * dim + a] = points[(q * step + a) * lanes + lane];
}

int general_varies(const struct hdg *h) {
    for (int r = 0; r < h->data.n_regions; r++)
        if (!field_is_constant(h->data.conductivity[r], NULL)) return 1;
    return 0;
}

facet_status general_conductivity(struct general_work *w, int64_t begin, int64_t batch, int n, int varying,
                                  const double *x, int array) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->hdg->data;
    struct local *l = &w->local;
    int dim = data->mesh->dim, lanes = w->hdg->lanes;
    double *to = w->host[array] + batch * w->size[array];
    l->block = w->block;
    for (int lane = 0; lane < lanes; lane++) {
        l->cell = general_cell(w, begin + batch, lane);
        int32_t region = local_region(data, w->block, l->cell);
        int constant = local_constant_conductivity(data, region, l->K);
        if (!constant) {
            for (int q = 0; q < n; q++)
                memcpy(l->geometry.x + q * dim, x + ((batch * n + q) * lanes + lane) * dim,
                       (size_t)dim * sizeof *x);
            TRY(local_conductivity(l, region, n, l->geometry.x, l->K));
        }
        for (int q = 0; q < (varying ? n : 1); q++)
            for (int i = 0; i < dim * dim; i++)
                to[(q * dim * dim + i) * lanes + lane] = l->K[(constant ? 0 : q * dim * dim) + i];
    }
done:
    return local_place(status, l);
}

int general_is_straight(const struct hdg *h, int block, int64_t batch) {
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    for (int64_t cell = batch * h->lanes; cell < (batch + 1) * h->lanes && cell < b->count; cell++)
        if (!b->affine[cell]) return 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------ matrices */

struct general_plan general_plan_of(const struct hdg *h, int block) {
    const struct general_tables *t = &h->general[block]->tables;
    int64_t dim = t->dim, n = t->n, n_face = (int64_t)t->n_faces * t->n_face;
    return (struct general_plan){
        .n_arrays = N_GENERAL_ARRAYS,
        .sizes = {[A_NODES] = h->space.blocks[block].cell.n_nodes * dim,
                  [A_POINTS] = n * (1 + dim) * dim,
                  [A_FACE_POINTS] = n_face * (1 + dim) * dim,
                  [A_WJ] = n,
                  [A_METRIC_POINTS] = t->D != NULL ? t->n_metric * (1 + dim) * dim : 0,
                  [A_METRIC_DET] = t->n_metric,
                  [A_COFACTORS] = t->n_metric * dim * dim,
                  [A_DET_POINTS] = t->n_det * (1 + dim) * dim,
                  [A_DET] = t->n_det,
                  [A_NORMALS] = n_face * dim,
                  [A_MASS] = n * dim * (dim + 1) / 2,
                  [A_ROOTS] = dim * dim,
                  [A_REACTION] = n,
                  [A_TAU] = n_face,
                  [A_ORIENTATIONS] = t->n_faces},
        .n_scratch = device_condense_general_scratch(h->device, t, 1)};
}

/* det J and (NULL: not wanted) cofactors at few points; they need not be positive there. */
static void maps_at_few(const struct hdg *h, const struct general_few *few, int64_t n, const double *nodes,
                        double *points, double *det, double *cofactors) {
    int dim = h->data.mesh->dim, count = few->rule.n;
    device_table_apply(h->device, h->lanes, n, count * (1 + dim), few->points.n_nodes, dim, few->at.map,
                       nodes, points);
    (void)device_cell_metric(h->device, h->lanes, n, dim, count, few->at.w, points, det, cofactors);
}

int64_t general_map_points(const struct hdg *h, int block, int64_t n, double *const *at) {
    const struct hdg_general *g = h->general[block];
    const struct general_tables *t = &g->tables;
    int lanes = h->lanes, dim = t->dim, n_face = t->n_faces * t->n_face, n_nodes = g->cell.table->n_nodes;
    device_table_apply(h->device, lanes, n, t->n * (1 + dim), n_nodes, dim, g->cell.map, at[A_NODES],
                       at[A_POINTS]);
    int64_t failed = device_cell_metric(h->device, lanes, n, dim, t->n, g->cell.w, at[A_POINTS], at[A_WJ],
                                        t->D != NULL ? NULL : at[A_COFACTORS]);
    if (failed >= 0) return failed;
    if (t->D != NULL)
        maps_at_few(h, &g->metric, n, at[A_NODES], at[A_METRIC_POINTS], at[A_METRIC_DET], at[A_COFACTORS]);
    if (t->M != NULL) maps_at_few(h, &g->det, n, at[A_NODES], at[A_DET_POINTS], at[A_DET], NULL);
    device_table_apply(h->device, lanes, n, n_face * (1 + dim), n_nodes, dim, g->face.map, at[A_NODES],
                       at[A_FACE_POINTS]);
    device_face_metric(h->device, lanes, n, dim, t->n_faces, t->n_face, g->face.w, g->normals,
                       at[A_FACE_POINTS], at[A_NORMALS]);
    return -1;
}

/* The maps of batches begin .. begin+n-1 at the points inside and on the faces. */
static facet_status find_maps(struct general_work *w, int64_t begin, int64_t n) {
    static const int fetched[] = {A_POINTS, A_WJ, A_DET, A_FACE_POINTS, A_NORMALS};
    facet_status status = FACET_OK;
    TRY(general_orientations(w, A_ORIENTATIONS, begin, n));
    TRY(general_nodes(w, A_NODES, begin, n));
    int64_t failed = general_map_points(w->hdg, w->block, n, w->device);
    if (failed >= 0) TRY(general_refuse_inverted(w->hdg, w->block, begin + failed));
    for (size_t i = 0; i < sizeof fetched / sizeof *fetched; i++) TRY(general_fetch(w, fetched[i], n));
done:
    return status;
}

/* How the flux mass of the batches at hand is written. */
static void choose_form(struct general_work *w, int64_t begin, int64_t n) {
    const struct hdg_data *data = &w->hdg->data;
    int scalar = 1, constant = 1;
    for (int64_t batch = begin; batch < begin + n; batch++)
        for (int lane = 0; lane < w->hdg->lanes; lane++) {
            const struct field *K =
                data->conductivity[local_region(data, w->block, general_cell(w, batch, lane))];
            scalar &= field_n_components(K) == 1;
            constant &= field_is_constant(K, NULL);
        }
    w->cells = (struct general_cells){
        .full = !scalar && !constant,
        .mass = w->device[A_MASS],
        .det = constant && w->hdg->general[w->block]->tables.M != NULL ? w->device[A_DET] : NULL,
        .roots = !scalar && constant ? w->device[A_ROOTS] : NULL,
        .reaction = data->reaction != NULL ? w->device[A_REACTION] : NULL,
        .cofactors = w->device[A_COFACTORS],
        .normals = w->device[A_NORMALS],
        .tau = w->device[A_TAU],
        .orientations = w->device[A_ORIENTATIONS]};
}

/* det or mass, and roots: from K (n x dim x dim, or one for all) at the points of one lane. */
static facet_status put_mass(struct general_work *w, int constant, const double *K, const double *wJ,
                             double *det, double *mass, double *roots) {
    int dim = w->hdg->general[w->block]->tables.dim, n = w->hdg->general[w->block]->tables.n,
        lanes = w->hdg->lanes;
    double inverse[9], root[9];
    for (int q = 0;
         w->cells.det != NULL && w->cells.roots == NULL && q < w->hdg->general[w->block]->tables.n_det; q++)
        det[q * lanes] /= K[0];
    for (int q = 0; q < n && w->cells.det == NULL; q++) {
        const double *at = K + (constant ? 0 : q * dim * dim);
        if (w->cells.roots != NULL) {
            mass[q * lanes] = wJ[q * lanes];
        } else if (!w->cells.full) {
            mass[q * lanes] = wJ[q * lanes] / at[0];
        } else {
            if (q == 0 || !constant)
                if (!local_small_inverse(dim, at, inverse))
                    return local_place(
                        base_fail(FACET_ERROR_INPUT, "the conductivity is not positive definite"), &w->local);
            for (int b = 0, pair = 0; b < dim; b++)
                for (int a = 0; a <= b; a++, pair++)
                    mass[((int64_t)pair * n + q) * lanes] = wJ[q * lanes] * inverse[a * dim + b];
        }
    }
    if (w->cells.roots == NULL) return FACET_OK;
    local_small_root(dim, K, root);
    for (int i = 0; i < dim * dim; i++) roots[i * lanes] = root[i];
    return FACET_OK;
}

/* tau times the length of the normals of all faces of one lane; l has mean_K and volume. */
static facet_status put_tau(struct general_work *w, int64_t batch, int lane) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->hdg->data;
    const struct general_tables *t = &w->hdg->general[w->block]->tables;
    struct local *l = &w->local;
    int dim = t->dim, n = t->n_face, lanes = w->hdg->lanes;
    const double *normals = w->host[A_NORMALS] + batch * w->size[A_NORMALS] + lane;
    const double *points = w->host[A_FACE_POINTS] + batch * w->size[A_FACE_POINTS] + lane;
    double *to = w->host[A_TAU] + batch * w->size[A_TAU] + lane;
    for (int f = 0; f < t->n_faces; f++, normals += n * dim * lanes, to += n * lanes) {
        double area = 0.0;
        for (int q = 0; q < n; q++) {
            double square = 0.0;
            for (int a = 0; a < dim; a++) {
                double component = normals[((int64_t)q * dim + a) * lanes];
                square += component * component;
            }
            to[q * lanes] = sqrt(square);
            area += to[q * lanes];
        }
        l->heights[f] = l->volume / area * shape_height(data->mesh->blocks[w->block].shape, f);
        if (data->tau != NULL)
            general_points(n, dim, lanes, (1 + dim) * dim, points + (int64_t)f * n * (1 + dim) * dim * lanes,
                           l->x);
        TRY(diffusion_tau(l, f, area, n, l->x, l->values));
        for (int q = 0; q < n; q++) to[q * lanes] *= l->values[q];
    }
done:
    return local_place(status, l);
}

/* The data of one cell: mass, reaction and tau; its volume. */
static facet_status put_cell(struct general_work *w, int64_t begin, int64_t batch, int lane) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->hdg->data;
    const struct general_tables *t = &w->hdg->general[w->block]->tables;
    struct local *l = &w->local;
    int dim = t->dim, n = t->n, lanes = w->hdg->lanes;
    const double *wJ = w->host[A_WJ] + batch * w->size[A_WJ] + lane;
    double *reaction = w->host[A_REACTION] + batch * w->size[A_REACTION] + lane, trace = 0.0;
    l->block = w->block;
    l->cell = general_cell(w, begin + batch, lane);
    int32_t region = local_region(data, w->block, l->cell);
    general_points(n, dim, lanes, (1 + dim) * dim, w->host[A_POINTS] + batch * w->size[A_POINTS] + lane,
                   l->geometry.x);
    int constant = local_constant_conductivity(data, region, l->K);
    TRY(local_place(local_conductivity(l, region, constant ? 1 : n, l->geometry.x, l->K), l));
    l->volume = 0.0;
    for (int q = 0; q < n; q++) {
        l->volume += wJ[q * lanes];
        for (int a = 0; a < dim; a++)
            trace += wJ[q * lanes] * l->K[(constant ? 0 : q * dim * dim) + a * (dim + 1)];
    }
    l->mean_K = trace / (l->volume * dim);
    w->volumes[batch * lanes + lane] =
        (begin + batch) * lanes + lane < data->mesh->blocks[w->block].count ? l->volume : 0.0;
    TRY(put_mass(w, constant, l->K, wJ, w->host[A_DET] + batch * w->size[A_DET] + lane,
                 w->host[A_MASS] + batch * t->n * (w->cells.full ? dim * (dim + 1) / 2 : 1) * lanes + lane,
                 w->host[A_ROOTS] + batch * w->size[A_ROOTS] + lane));
    if (data->reaction != NULL) {
        TRY(local_place(local_reaction(data, region, n, l->geometry.x, l->values), l));
        for (int q = 0; q < n; q++) {
            w->largest_reaction = fmax(w->largest_reaction, l->values[q]);
            reaction[q * lanes] = wJ[q * lanes] * l->values[q];
        }
    }
    TRY(put_tau(w, batch, lane));
done:
    return status;
}

facet_status general_data(struct general_work *w, int64_t begin, int64_t n) {
    facet_status status = FACET_OK;
    TRY(find_maps(w, begin, n));
    choose_form(w, begin, n);
    for (int64_t batch = 0; batch < n; batch++)
        for (int lane = 0; lane < w->hdg->lanes; lane++) TRY(put_cell(w, begin, batch, lane));
    for (int i = FIRST_DATA; i < A_ORIENTATIONS; i++) TRY(general_send(w, i, n));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ runs */

struct condense_job {
    struct hdg *hdg;
    int64_t begin;
    double *volumes;
};

static facet_status condense_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct condense_job *job = user;
    struct hdg *h = job->hdg;
    const struct general_tables *t = &w->hdg->general[w->block]->tables;
    int64_t trace = (int64_t)t->n_faces * t->m, lanes = h->lanes;
    TRY(general_data(w, begin, n));
    for (int64_t batch = 0; batch < n; batch++) {
        job->volumes[begin + batch - job->begin] = 0.0;
        for (int lane = 0; lane < lanes; lane++)
            job->volumes[begin + batch - job->begin] += w->volumes[batch * lanes + lane];
    }
    int64_t failed = device_condense_general(
        h->device, t, &w->cells, n, h->matrices.values[w->block] + begin * (trace * (trace + 1) / 2) * lanes,
        w->scratch);
    if (failed >= 0) TRY(batch_refuse(h, w->block, begin + failed, "the local problem"));
done:
    return status;
}

facet_status general_condense(struct hdg *h, int block, int64_t begin, int64_t end, double *volumes,
                              double *reaction) {
    struct condense_job job = {h, begin, volumes};
    struct general_plan plan = general_plan_of(h, block);
    return general_for_pieces(h, block, begin, end, &plan, condense_piece, &job, reaction);
}

facet_status general_solve(struct general_work *w, int64_t begin, int64_t n, const double *uhat, double *u,
                           double *q, double *load, int64_t *failed) {
    facet_status status = FACET_OK;
    TRY(general_data(w, begin, n));
    *failed = device_general_solve(w->hdg->device, &w->hdg->general[w->block]->tables, &w->cells, n, uhat, u,
                                   q, load, w->scratch);
done:
    return status;
}

facet_status general_put_turned(const struct hdg *h, int n, int columns, int row, const double *from,
                                double **to) {
    facet_status status = FACET_OK;
    double *turned = NULL;
    TRY(ALLOC(turned, (int64_t)n * columns));
    for (int64_t q = 0; q < n; q++)
        for (int64_t i = 0; i < columns; i++) turned[i * n + q] = from[q * row + i];
    TRY(device_copy(h->device, to, turned, (size_t)n * (size_t)columns, sizeof *turned));
done:
    base_free(&turned);
    return status;
}
