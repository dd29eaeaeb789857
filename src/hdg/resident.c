/* See resident.h. */
#include "hdg/resident.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/inner.h"
#include "trace/sides.h"

/* Part of what is free on the device that all of this may take beside the matrices. */
#define MOST_PART 0.25

static void block_destroy(const struct device *device, struct resident_block *b) {
    double **arrays[] = {&b->coefficients, &b->loads, &b->u, &b->q};
    for (int i = 0; i < 4; i++) device_free(device, arrays[i]);
    device_free(device, &b->maps);
    device_free(device, &b->sides);
}

void hdg_resident_destroy(struct hdg *h) {
    if (h->resident == NULL) return;
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        if (h->there[b] != NULL) general_forget(&h->there[b]->work);
        block_destroy(h->device, &h->resident->blocks[b]);
    }
    device_free(h->device, &h->resident->trace);
    base_free(&h->resident);
}

/* ------------------------------------------------------------------------------------------ cells */

/* Numbers of a cell that are kept, at most: nodes, coefficients, loads, u, q, locals and the
 * trace. */
static double bytes_wanted(const struct hdg *h) {
    double bytes = 0.0;
    const int dim = h->data.mesh->dim;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct condenser c;
        h->data.equation->condenser(h, b, &c);
        double numbers = h->data.mesh->blocks[b].n_nodes * dim + (double)c.n_coefficients + 3.0 * c.N +
                         c.n_flux + 2.0 * c.n + 5.0 * h->space.blocks[b].n_faces;
        bytes += sizeof(double) * numbers * h->data.mesh->blocks[b].count;
    }
    return bytes + 10.0 * sizeof(double) * RESIDENT_NUMBERS;
}

/* Which ways the batches of a block go: bits by enum batch_way. */
static unsigned ways_of(const struct hdg *h, int block) {
    unsigned ways = 0;
    for (int64_t i = 0; i < trace_n_batches(h->device, h->data.mesh, block); i++)
        ways |= 1u << batch_way(h, block, i);
    return ways;
}
static int has_way(const struct hdg *h, int block, enum batch_way way) {
    return ways_of(h, block) >> way & 1;
}

static int has_kernels(const struct hdg *h) {
    static const char *const kernels[] = {"face_sums",    "cell_gather",   "table_apply",  "put_entries",
                                          "cell_extract", "tile_extremes", "cell_balance", "lane_values",
                                          "cell_metric",  "face_metric"};
    static const char *const own[][5] = {
        {"affine_coefficients", "affine_solve", "condense_general", "general_solve", "general_weights"},
        {"condense_elastic", "elastic_solve"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!device_has(h->device, kernels[i])) return 0;
    for (int i = 0; i < 5 && own[h->elastic != NULL][i] != NULL; i++)
        if (!device_has(h->device, own[h->elastic != NULL][i])) return 0;
    return 1;
}

static int is_eligible(const struct hdg *h) {
    const struct equation *e = h->data.equation;
    unsigned ways = 0;
    if (device_is_host(h->device) || !e->by_faces || h->trace.fixed != NULL || trace_is_shared(&h->trace))
        return 0;
    if (h->contacts != NULL || h->trace.turns != NULL || h->trace.n_faces != h->data.mesh->n_faces ||
        h->data.tau_hat < 0.0)
        return 0;
    if (!has_kernels(h) || !(h->elastic != NULL ? elastic_stays(h) : e->in_batches)) return 0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (h->space.blocks[b].m != h->space.blocks[0].m) return 0;
        ways |= ways_of(h, b);
    }
    if (ways >> BATCH_SINGLE & 1) return 0;
    return bytes_wanted(h) <= MOST_PART * device_free_bytes(h->device);
}

/* K, then the reaction, of all regions of fast batches on the device; what is wrong with the data of one
 * is said as it is on the host. */
static facet_status put_data(struct hdg *h, double **data) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const int dim = mesh->dim, lanes = h->lanes, n_regions = h->data.n_regions;
    struct local l = {0};
    struct batch_facts facts;
    double *host = NULL, *c = NULL;
    uint8_t *seen = NULL;
    TRY(CALLOC(host, n_regions * (dim * dim + 1)));
    TRY(CALLOC(seen, n_regions));
    TRY(ALLOC(c, affine_layout(dim, SHAPE_MAX_FACES).count * lanes));
    TRY(local_create_light(h, &l));
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < mesh->blocks[b].count; cell++) {
            const int32_t region = local_region(&h->data, b, cell);
            if (seen[region] && n_regions == 1) break;
            if (seen[region] || !batch_is_fast(h, b, cell / lanes)) continue;
            seen[region] = 1;
            TRY(batch_fill_hybrid(&l, b, cell, c, &facts));
            local_constant_conductivity(&h->data, region, host + (int64_t)region * dim * dim);
            host[n_regions * dim * dim + region] = facts.reaction;
            h->resident->reaction = fmax(h->resident->reaction, facts.reaction);
        }
    TRY(device_copy(h->device, data, host, (size_t)(n_regions * (dim * dim + 1)), sizeof *host));
done:
    local_destroy(&l);
    base_free(&host);
    base_free(&seen);
    base_free(&c);
    return status;
}

/* And adds the volumes of fast batches. */
static facet_status make_coefficients(struct hdg *h, int block, const double *data) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct facet_mesh *mesh = h->data.mesh;
    const int dim = mesh->dim;
    const int64_t n = trace_n_batches(h->device, mesh, block);
    double *normals = NULL, *det = NULL, *sizes = NULL;
    TRY(device_copy(h->device, &normals, b->normals, (size_t)(3 * b->n_faces), sizeof(double)));
    TRY(device_alloc(h->device, &r->coefficients,
                     (size_t)(n * affine_layout(dim, b->n_faces).count * h->lanes), sizeof(double)));
    struct straight_cells cells = batch_straight(h, block);
    cells.n_nodes = mesh->blocks[block].n_nodes;
    cells.nodes = h->there[block]->nodes;
    cells.orientations = h->there[block]->orientations;
    cells.regions = h->there[block]->regions;
    cells.K = data;
    cells.reaction = data + (int64_t)h->data.n_regions * dim * dim;
    cells.normals = normals;
    if (h->data.tau != NULL) field_is_constant(h->data.tau, &cells.tau);
    for (int a = 0; a < dim; a++)
        cells.corners[a + 1] = shape_vertex_node(b->shape, mesh->order, shape_axis_vertex(b->shape, a));
    TRY(device_alloc(h->device, &det, (size_t)(n * h->lanes), sizeof *det));
    device_affine_coefficients(h->device, &cells, n, r->coefficients, det);
    TRY(ALLOC(sizes, mesh->blocks[block].count));
    TRY(device_download(h->device, sizes, det, (size_t)mesh->blocks[block].count * sizeof *sizes));
    for (int64_t c = 0; c < mesh->blocks[block].count; c++)
        if (batch_is_fast(h, block, c / h->lanes)) h->resident->volume += cells.volume * sizes[c];
done:
    device_free(h->device, &normals);
    device_free(h->device, &det);
    base_free(&sizes);
    return status;
}

static void size_block(const struct hdg *h, int block, struct resident_block *to) {
    struct condenser c;
    h->data.equation->condenser(h, block, &c);
    to->N = c.N;
    to->n = c.n;
    to->n_flux = c.n_flux;
    to->face = c.n / h->space.blocks[block].n_faces;
}

static facet_status make_block(struct hdg *h, int block, const double *data) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    size_block(h, block, r);
    if (has_way(h, block, BATCH_FAST))
        TRY(h->elastic != NULL ? elastic_put_coefficients(h, block) : make_coefficients(h, block, data));
done:
    return status;
}

facet_status hdg_resident_create(struct hdg *h) {
    facet_status status = FACET_OK;
    double *data = NULL;
    if (!is_eligible(h)) return FACET_OK;
    TRY(CALLOC(h->resident, 1));
    if (h->elastic == NULL) TRY(put_data(h, &data));
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->data.mesh->blocks[b].count > 0) TRY(make_block(h, b, data));
done:
    device_free(h->device, &data);
    if (status != FACET_OK) hdg_resident_destroy(h);
    return status;
}

void hdg_resident_decide(struct hdg *h) {
    if (h->resident == NULL) return;
    if (h->singular || h->weak.n > 0 || h->weak.nearly_singular || h->weak.negligible || hdg_is_light(h))
        hdg_resident_destroy(h);
}

const double *hdg_resident_coefficients(const struct hdg *h, int block) {
    return h->resident->blocks[block].coefficients;
}

void hdg_resident_facts(const struct hdg *h, double *volume, double *reaction) {
    *volume = h->resident->volume;
    *reaction = h->resident->reaction;
}

/* ------------------------------------------------------------------------------------------ faces */

/* Where the unknowns of every face begin in the trace. */
static void number_faces(const struct hdg *h, int64_t *first) {
    const struct trace_space *t = &h->trace;
    const int64_t m = (int64_t)h->space.blocks[0].m * t->n_components; /* of all faces: is_eligible */
#pragma omp parallel for num_threads(base_threads_for(t->n_faces)) schedule(static)
    for (int64_t f = 0; f < t->n_faces; f++) first[f] = t->face_free[f];
    for (int64_t f = 0, k = 0, next = t->n_free; next < t->n_all; f++) {
        const int64_t end = k < t->n_free_faces ? t->free_faces[k++] : t->n_faces;
        for (; f < end; f++, next += m) first[f] = next; /* what lies between two free faces */
    }
    h->resident->n_eliminated = t->n_all - t->n_free;
}

static facet_status put_maps(const struct hdg *h, int block, const int64_t *first,
                             struct resident_block *to) {
    facet_status status = FACET_OK;
    const int32_t *faces = h->trace.faces[block];
    const int n_faces = h->trace.n_slots[block], lanes = h->lanes;
    const int64_t n = h->matrices.n_batches[block] * lanes, count = h->data.mesh->blocks[block].count;
    int64_t *host = NULL;
    int simple;
    TRY(ALLOC(host, n * n_faces));
    trace_fill_maps(lanes, count, n_faces, faces, first, host);
    TRY(device_copy(h->device, &to->maps, host, (size_t)(n * n_faces), sizeof *host));
    TRY(trace_sides_create(&h->trace, &h->matrices, block, &to->sides, &simple));
done:
    base_free(&host);
    return status;
}

/* What the first load needs beyond coefficients. */
static facet_status need_arrays(const struct hdg *h) {
    facet_status status = FACET_OK;
    struct hdg_resident *r = h->resident;
    int64_t *first = NULL;
    if (r->trace != NULL) return FACET_OK;
    TRY(ALLOC(first, h->trace.n_faces));
    number_faces(h, first);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct resident_block *to = &r->blocks[b];
        const size_t n = (size_t)(h->matrices.n_batches[b] * h->lanes), N = (size_t)to->N;
        if (n == 0) continue;
        TRY(put_maps(h, b, first, to));
        TRY(device_alloc(h->device, &to->loads, n * N, sizeof(double)));
        TRY(device_alloc(h->device, &to->u, n * N, sizeof(double)));
        TRY(device_alloc(h->device, &to->q, n * (size_t)to->n_flux, sizeof(double)));
    }
    TRY(device_alloc(h->device, &r->trace, (size_t)(h->trace.n_all + 1), sizeof(double)));
done:
    base_free(&first);
    return status;
}

/* What the host was told is of another solution. */
static void forget(const struct hdg *h) {
    h->resident->has_trace = h->resident->has_u = h->resident->has_q = h->resident->has_star = 0;
}

/* ------------------------------------------------------------------------------------------ loads */

/* Whether f is known to the device, and the functions that it is integrated with. */
static int source_is_there(const struct hdg *h, const double *source) {
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->functions[b].physical && has_way(h, b, BATCH_GENERAL)) return 0;
    return general_knows_source(h, source);
}

/* *finite becomes 0 where f is not. */
static facet_status load_block(const struct hdg *h, int block, int *finite) {
    const struct resident_block *r = &h->resident->blocks[block];
    const struct general_load data = {.loads = r->loads, .there = 1};
    const int64_t n = h->matrices.n_batches[block] * r->N * h->lanes;
    const facet_status status = general_load(h, block, &data);
    if (status == FACET_OK && !isfinite(device_dot(h->device, F64, n, r->loads, r->loads))) *finite = 0;
    return status;
}

/* The host's loads, where it alone knows f, or has to say what is wrong with it. */
static facet_status load_by_host(const struct hdg *h, const double *source, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    TRY(hdg_solution_need(h, s));
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (s->loads[b] != NULL)
            memset(s->loads[b], 0,
                   (size_t)(h->matrices.n_batches[b] * h->lanes * h->n_eliminated[b]) * sizeof(double));
    TRY(hdg_load_cells(h, source, s));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const size_t n = (size_t)(h->matrices.n_batches[b] * h->lanes * h->n_eliminated[b]);
        if (n == 0) continue;
        TRY(device_upload(h->device, h->resident->blocks[b].loads, s->loads[b], n * sizeof(double)));
    }
done:
    return status;
}

/* Whether a face of the boundary has a value, or a load. */
static int has_boundary_data(const struct hdg *h) {
    const struct trace_space *t = &h->trace;
    int found = 0;
#pragma omp parallel for num_threads(base_threads_for(t->n_faces)) schedule(static) reduction(| : found)
    for (int64_t f = 0; f < t->n_faces; f++) {
        const int64_t size = t->face_first[f + 1] - t->face_first[f];
        const double *data =
            t->face_free[f] < 0 ? h->eliminated + t->face_first[f] : h->boundary + t->face_free[f];
        for (int64_t i = 0; h->data.face_condition[f] >= 0 && i < size; i++) found |= data[i] != 0.0;
    }
    return found;
}

/* F = what boundary data contribute. */
static facet_status put_boundary(const struct hdg *h, struct vector *F) {
    facet_status status = FACET_OK;
    const int64_t n = h->trace.n_free;
    double *sum = NULL;
    if (!has_boundary_data(h)) {
        vector_fill(F, 0.0);
        return FACET_OK;
    }
    TRY(ALLOC(sum, n));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++) sum[i] = h->lift[i] + h->boundary[i];
    TRY(vector_upload(F, sum));
done:
    base_free(&sum);
    return status;
}

facet_status hdg_resident_load(const struct hdg *h, const double *source, struct hdg_solution *s,
                               struct vector *F) {
    facet_status status = FACET_OK;
    double *locals = NULL;
    int there = source_is_there(h, source);
    TRY(need_arrays(h));
    forget(h);
    s->shift = s->offset = s->offset_source = s->uncertainty = 0.0;
    for (int b = 0; b < h->data.mesh->n_blocks && there; b++)
        if (h->data.mesh->blocks[b].count > 0) TRY(load_block(h, b, &there));
    if (!there) TRY(load_by_host(h, source, s));
    TRY(put_boundary(h, F));
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct resident_block *r = &h->resident->blocks[b];
        const int64_t n = h->matrices.n_batches[b] * r->n * h->lanes;
        if (n == 0) continue;
        device_free(h->device, &locals);
        TRY(device_alloc(h->device, &locals, (size_t)n, sizeof *locals));
        TRY(inner_load(h, b, NULL, locals));
        device_face_sums(h->device, h->lanes, h->trace.n_free_faces, h->space.blocks[b].n_faces, r->face,
                         r->sides, locals, F->data);
    }
    TRY(device_check(h->device));
done:
    device_free(h->device, &locals);
    return status;
}

/* ------------------------------------------------------------------------------------------ recovery */

facet_status hdg_resident_take(const struct hdg *h, const struct vector *x) {
    facet_status status = FACET_OK;
    const struct trace_space *t = &h->trace;
    struct hdg_resident *r = h->resident;
    double *host = NULL, *to;
    forget(h);
    if (t->n_free > 0) device_move(h->device, r->trace, x->data, (size_t)t->n_free * sizeof(double));
    if (r->n_eliminated == 0) goto done;
    TRY(ALLOC(host, r->n_eliminated));
    to = host;
    for (int64_t f = 0, k = 0; f < t->n_faces; f++) {
        const int64_t end = k < t->n_free_faces ? t->free_faces[k++] : t->n_faces, n = f < end ? end - f : 0;
        const int64_t size = t->face_first[f + n] - t->face_first[f];
        if (size > 0) memcpy(to, h->eliminated + t->face_first[f], (size_t)size * sizeof *to);
        to += size;
        f = end;
    }
    TRY(device_upload(h->device, r->trace + t->n_free, host, (size_t)r->n_eliminated * sizeof *host));
done:
    base_free(&host);
    return status;
}

facet_status hdg_resident_recover(const struct hdg *h) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->matrices.n_batches[b] > 0) TRY(inner_recover(h, b, NULL));
    TRY(device_check(h->device));
done:
    return status;
}

double hdg_resident_size(const struct hdg *h) {
    double sum = device_dot(h->device, F64, h->trace.n_all, h->resident->trace, h->resident->trace);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct resident_block *r = &h->resident->blocks[b];
        const int64_t n = h->matrices.n_batches[b] * h->lanes * r->N;
        if (n > 0) sum += device_dot(h->device, F64, n, r->u, r->u);
    }
    return sum > 1e-200 && sum < 1e200 ? sqrt(sum) : INFINITY;
}
