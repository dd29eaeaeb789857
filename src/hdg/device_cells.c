/* See device_cells.h. */
#include "hdg/device_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/elastic.h"
#include "hdg/inner.h"
#include "trace/sides.h"

/* ------------------------------------------------------------------------------------------ cells */

static void size_block(const struct hdg *h, int block, struct hdg_cells *to) {
    const int dim = h->data.mesh->dim, N = h->functions[block].N;
    const struct equation *e = h->data.equation;
    hdg_local_sizes(h, block, &to->N, &to->n);
    if (e->flux != NULL)
        to->n_flux = h->trace.n_components * dim * N + (equation_has_field(e, HDG_P) || hdg_has_hoop(h)) * N;
    to->face = to->n / h->space.blocks[block].n_faces;
}

static facet_status put_nodes(const struct hdg *h, int block, int less, double **to) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int lanes = h->lanes, dim = h->data.mesh->dim, size = b->n_nodes * dim;
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block) * lanes;
    double *nodes = NULL;
    TRY(ALLOC(nodes, n * size));
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double *from = b->nodes + cells_of_lane(b, i) * size;
        for (int k = 0; k < size; k++)
            nodes[(i / lanes * size + k) * lanes + i % lanes] = from[k] - (less ? from[k % dim] : 0.0);
    }
    TRY(device_adopt(h->device, to, &nodes, (size_t)(n * size), sizeof *nodes));
done:
    base_free(&nodes);
    return status;
}

facet_status cells_place(struct hdg *h, int block, int offsets) {
    facet_status status = FACET_OK;
    struct hdg_cells *to;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int lanes = h->lanes, n_faces = shape_n_faces(b->shape);
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block) * lanes;
    double *orientations = NULL;
    int32_t *regions = NULL;
    if (h->cells[block] != NULL || n == 0) return FACET_OK;
    TRY(CALLOC(h->cells[block], 1));
    to = h->cells[block];
    TRY(put_nodes(h, block, 0, &to->nodes));
    if (offsets) TRY(put_nodes(h, block, 1, &to->offsets));
    TRY(ALLOC(orientations, n * n_faces));
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < n_faces; f++)
            orientations[(i / lanes * n_faces + f) * lanes + i % lanes] =
                b->orientations[cells_of_lane(b, i) * n_faces + f];
    TRY(device_adopt(h->device, &to->orientations, &orientations, (size_t)(n * n_faces),
                     sizeof *orientations));
    if (h->data.n_regions == 1) goto done;
    TRY(ALLOC(regions, n));
    for (int64_t i = 0; i < n; i++) regions[i] = local_region(&h->data, block, (int32_t)cells_of_lane(b, i));
    TRY(device_adopt(h->device, &to->regions, &regions, (size_t)n, sizeof *regions));
done:
    base_free(&orientations);
    base_free(&regions);
    return status;
}

static void forget_maps(const struct hdg *h, struct hdg_cells *there) {
    device_free(h->device, &there->maps);
    device_free(h->device, &there->sides);
}

void cells_forget(struct hdg *h, int block) {
    struct hdg_cells *there = h->cells[block];
    if (there == NULL) return;
    general_forget(&there->work);
    double **arrays[] = {&there->nodes, &there->orientations, &there->offsets, &there->coefficients};
    for (int i = 0; i < 4; i++) device_free(h->device, arrays[i]);
    device_free(h->device, &there->regions);
    forget_maps(h, there);
    base_free(&h->cells[block]);
}

/* What all of it takes. */
static double bytes_of(const struct hdg *h) {
    double bytes = 0.0;
    const int dim = h->data.mesh->dim;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct condenser c;
        struct hdg_cells sizes = {0};
        h->data.equation->condenser(h, b, &c);
        size_block(h, b, &sizes);
        double numbers = h->data.mesh->blocks[b].n_nodes * dim + (double)c.n_coefficients + 2.0 * c.N +
                         sizes.n_flux + c.n + 5.0 * h->space.blocks[b].n_faces;
        bytes += sizeof(double) * numbers * h->data.mesh->blocks[b].count;
    }
    return bytes;
}

facet_status cells_check_memory(const struct hdg *h) {
    double bytes = bytes_of(h), available = device_free_bytes(h->device);
    char fits[64];
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        double n = (double)trace_n_batches(h->device, h->data.mesh, b), size = trace_cell_size(&h->trace, b);
        bytes += n * size * (size + 1.0) / 2.0 * h->lanes * sizeof(double);
    }
    snprintf(fits, sizeof fits, "of this degree about %.0f cells would fit",
             floor(h->data.mesh->n_cells * available / bytes));
    return base_check_memory(bytes, available, device_has_memory(h->device) ? " on the GPU" : "", fits,
                             "the local solvers of %d cells at degree %d", h->data.mesh->n_cells,
                             h->space.degree);
}

/* ------------------------------------------------------------------------------------------ coefficients */

/* Of diffusion: what the device makes the coefficients of. */
struct straight_job {
    struct straight_cells cells;
    double *data, *normals; /* device: K, then the reaction, of all regions */
    double *sizes;          /* of all cells: det J */
};

/* What is wrong with the data of a region is said as it is on the host. */
static facet_status put_data(struct hdg *h, struct straight_job *job) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const int dim = mesh->dim, n_regions = h->data.n_regions;
    struct local l = {0};
    struct batch_cell of = {0};
    double *host = NULL;
    uint8_t *seen = NULL;
    TRY(CALLOC(host, n_regions * (dim * dim + 1)));
    TRY(CALLOC(seen, n_regions));
    TRY(local_create_light(h, &l));
    for (int b = 0, n_seen = 0; b < mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < mesh->blocks[b].count && n_seen < n_regions; cell++) {
            const int32_t region = local_region(&h->data, b, cell);
            if (seen[region] || !batch_is_fast(h, b, cell / h->lanes)) continue;
            seen[region] = 1;
            n_seen++;
            TRY(batch_cell(&l, b, cell, &of));
            memcpy(host + (int64_t)region * dim * dim, of.K, (size_t)(dim * dim) * sizeof *host);
            host[n_regions * dim * dim + region] = of.reaction;
            h->largest_reaction = fmax(h->largest_reaction, of.reaction);
        }
    TRY(device_copy(h->device, &job->data, host, (size_t)(n_regions * (dim * dim + 1)), sizeof *host));
done:
    local_destroy(&l);
    base_free(&host);
    base_free(&seen);
    return status;
}

enum { C_NODES = W_OWN, C_SIZES, N_ARRAYS };

static facet_status straight_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct straight_job *job = user;
    const struct hdg *h = w->hdg;
    const struct hdg_cells *there = h->cells[w->block];
    const int64_t first = begin * h->lanes, count = h->data.mesh->blocks[w->block].count,
                  row = affine_layout(h->data.mesh->dim, job->cells.n_faces).count;
    struct straight_cells cells = job->cells;
    general_nodes(w, C_NODES, begin);
    cells.nodes = w->device[C_NODES];
    cells.regions = w->regions;
    cells.orientations = there->orientations + first * cells.n_faces;
    device_affine_coefficients(h->device, &cells, n, there->coefficients + first * row, w->device[C_SIZES]);
    TRY(general_fetch(w, C_SIZES, n));
    memcpy(job->sizes + first, w->host[C_SIZES],
           (size_t)((begin + n) * h->lanes < count ? n * h->lanes : count - first) * sizeof(double));
done:
    return status;
}

/* And adds the volumes of fast batches. */
static facet_status make_coefficients(struct hdg *h, int block, struct straight_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct facet_mesh *mesh = h->data.mesh;
    const int dim = mesh->dim;
    const struct general_plan plan = {.n_arrays = N_ARRAYS,
                                      .sizes = {[C_SIZES] = 1},
                                      .beside = affine_layout(dim, b->n_faces).count,
                                      .whole = 1,
                                      .n_scratch = 1};
    device_free(h->device, &job->normals);
    base_free(&job->sizes);
    TRY(device_copy(h->device, &job->normals, b->normals, (size_t)(3 * b->n_faces), sizeof(double)));
    TRY(ALLOC(job->sizes, mesh->blocks[block].count));
    job->cells = batch_straight(h, block);
    job->cells.n_nodes = mesh->blocks[block].n_nodes;
    job->cells.K = job->data;
    job->cells.reaction = job->data + (int64_t)h->data.n_regions * dim * dim;
    job->cells.normals = job->normals;
    if (h->data.tau != NULL) field_is_constant(h->data.tau, &job->cells.tau);
    for (int a = 0; a < dim; a++)
        job->cells.corners[a + 1] = shape_vertex_node(b->shape, mesh->order, shape_axis_vertex(b->shape, a));
    TRY(general_for_pieces(h, block, 0, h->matrices.n_batches[block], &plan, straight_piece, job, NULL));
    for (int64_t c = 0; c < mesh->blocks[block].count; c++)
        if (batch_is_fast(h, block, c / h->lanes)) h->volume += job->cells.volume * job->sizes[c];
done:
    return status;
}

#define FILL_BATCHES                                                                                         \
    4096 /* whose coefficients the host makes at a time, where it does not see the device's */

/* Of other equations: the host makes them. */
static facet_status fill_coefficients(struct hdg *h, int block, const struct condenser *c) {
    facet_status status = FACET_OK;
    const int64_t n = h->matrices.n_batches[block], size = c->n_coefficients * h->lanes;
    double *to = h->cells[block]->coefficients, *room = NULL, *volumes = NULL, reaction;
    const int sees = device_seen(h->device, to) != NULL;
    const int64_t most = sees || n < FILL_BATCHES ? n : FILL_BATCHES;
    TRY(device_alloc_room(h->device, &room, (size_t)(most * size), sizeof *room));
    TRY(ALLOC(volumes, most));
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        if (!batch_is_fast(h, block, begin)) continue;
        while (end < n && end < begin + most && batch_is_fast(h, block, end)) end++;
        double *made = sees ? to + begin * size : room;
        TRY(batch_coefficients(h, block, begin, end, c->fill, c->n_coefficients, made, volumes, &reaction));
        for (int64_t i = 0; i < end - begin; i++) h->volume += volumes[i];
        h->largest_reaction = fmax(h->largest_reaction, reaction);
        if (!sees)
            TRY(device_upload(h->device, to + begin * size, room,
                              (size_t)((end - begin) * size) * sizeof *room));
    }
done:
    base_free(&room);
    base_free(&volumes);
    return status;
}

static int has_fast(const struct hdg *h, int block) {
    for (int64_t i = 0; i < h->matrices.n_batches[block]; i++)
        if (batch_is_fast(h, block, i)) return 1;
    return 0;
}

facet_status cells_put_coefficients(struct hdg *h) {
    facet_status status = FACET_OK;
    struct straight_job job = {0};
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        struct condenser c;
        TRY(cells_place(h, b, 0));
        if (h->cells[b] == NULL) continue;
        general_forget(&h->cells[b]->work); /* which has data of before */
        size_block(h, b, h->cells[b]);
        device_free(h->device, &h->cells[b]->coefficients);
        h->data.equation->condenser(h, b, &c);
        if (c.fast == NULL || !has_fast(h, b)) continue;
        TRY(device_alloc(h->device, &h->cells[b]->coefficients,
                         (size_t)(h->matrices.n_batches[b] * c.n_coefficients * h->lanes), sizeof(double)));
        if (c.fill != NULL) {
            TRY(fill_coefficients(h, b, &c));
            continue;
        }
        if (job.data == NULL) TRY(put_data(h, &job));
        TRY(make_coefficients(h, b, &job));
    }
done:
    device_free(h->device, &job.data);
    device_free(h->device, &job.normals);
    base_free(&job.sizes);
    return status;
}

/* ------------------------------------------------------------------------------------------ solutions */

/* All faces have the same number of unknowns. */
static int faces_are_alike(const struct hdg *h) {
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->space.blocks[b].m != h->space.blocks[0].m || shape_faces_differ(h->data.mesh->blocks[b].shape))
            return 0;
    return 1;
}

int cells_add_up(const struct hdg *h) {
    return h->data.equation->by_faces && h->contacts == NULL && h->trace.fixed == NULL &&
           h->data.expansion == NULL && (h->elastic == NULL || h->elastic->n_tractions == 0) &&
           faces_are_alike(h);
}

/* Heat and pieces that nothing holds load every cell in ways of their own; of weak constants, and where tau
 * is light, the host looks at cells. */
void cells_decide(struct hdg *h) {
    const int before = h->stays;
    h->stays = !device_is_host(h->device) && cells_add_up(h) && h->trace.turns == NULL &&
               !trace_is_shared(&h->trace) && h->trace.n_faces == h->data.mesh->n_faces &&
               h->free_pieces == NULL && !h->space.revolved && hdg_n_single(h) == 0 && !h->singular &&
               h->weak.n == 0 && !h->weak.nearly_singular && !h->weak.negligible && !hdg_is_light(h);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->cells[b] != NULL && h->stays != before) forget_maps(h, h->cells[b]);
}

/* Where the unknowns of every face begin in the trace that is there, those of second sides included. */
static void number_faces(const struct hdg *h, int64_t *first) {
    const struct trace_space *t = contact_seen(h);
    const int64_t m = (int64_t)h->space.blocks[0].m * t->n_components; /* of all faces, where it stays */
#pragma omp parallel for num_threads(base_threads_for(t->n_faces)) schedule(static)
    for (int64_t f = 0; f < t->n_faces; f++) first[f] = h->stays ? t->face_free[f] : t->face_first[f];
    for (int64_t f = 0, k = 0, next = t->n_free; h->stays && next < t->n_all; f++) {
        const int64_t end = k < t->n_free_faces ? t->free_faces[k++] : t->n_faces;
        for (; f < end; f++, next += m) first[f] = next; /* what lies between two free faces */
    }
}

static facet_status put_maps(const struct hdg *h, int block, const int64_t *first) {
    facet_status status = FACET_OK;
    struct hdg_cells *to = h->cells[block];
    const int n_faces = h->trace.n_slots[block], lanes = h->lanes;
    const int64_t n = h->matrices.n_batches[block] * lanes, count = h->data.mesh->blocks[block].count;
    int64_t *host = NULL;
    int simple;
    TRY(ALLOC(host, n * n_faces));
    trace_fill_maps(lanes, count, n_faces, contact_seen(h)->faces[block], first, host);
    TRY(device_copy(h->device, &to->maps, host, (size_t)(n * n_faces), sizeof *host));
    if (cells_add_up(h)) TRY(trace_sides_create(&h->trace, &h->matrices, block, &to->sides, &simple));
done:
    base_free(&host);
    return status;
}

static facet_status need_maps(const struct hdg *h) {
    facet_status status = FACET_OK;
    int64_t *first = NULL;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        if (h->cells[b] == NULL || h->cells[b]->maps != NULL || h->ways[b] == NULL ||
            !h->data.equation->by_faces)
            continue;
        if (first == NULL) {
            TRY(ALLOC(first, contact_seen(h)->n_faces));
            number_faces(h, first);
        }
        TRY(put_maps(h, b, first));
    }
done:
    base_free(&first);
    return status;
}

facet_status cells_need(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    TRY(need_maps(h));
    if (s->device != NULL) return FACET_OK;
    s->device = h->device;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct hdg_cells *of = h->cells[b];
        const size_t n = (size_t)(h->matrices.n_batches[b] * h->lanes);
        if (of == NULL) continue;
        TRY(device_alloc(h->device, &s->cells[b].loads, n * (size_t)of->N, sizeof(double)));
        TRY(device_alloc(h->device, &s->cells[b].u, n * (size_t)of->N, sizeof(double)));
        TRY(device_alloc(h->device, &s->cells[b].q, n * (size_t)of->n_flux, sizeof(double)));
    }
    TRY(device_alloc(h->device, &s->device_trace, (size_t)contact_seen(h)->n_all + 1, sizeof(double)));
done:
    if (status != FACET_OK) hdg_solution_destroy(s);
    return status;
}

/* n numbers of the host: those that are there where it sees them, else a copy, which is written before it is
 * read as far as it is wanted: often of a few cells alone. */
static facet_status see(const struct hdg *h, int64_t n, double *there, double **array) {
    *array = device_seen(h->device, there);
    if (n == 0) return FACET_OK;
    return *array != NULL ? FACET_OK : base_alloc_sparse(array, (size_t)n, sizeof **array);
}

facet_status cells_need_host(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const int64_t n_seconds = contact_seen(h)->n_all - h->trace.n_all;
    if (s->trace != NULL) return FACET_OK;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const int64_t count = mesh->blocks[b].count, flux = count * h->functions[b].N,
                      nc = h->trace.n_components;
        if (count == 0) continue;
        TRY(base_alloc_sparse(&s->u[b], (size_t)(count * nc * h->functions[b].Nu), sizeof(double)));
        if (h->data.equation->flux != NULL)
            TRY(base_alloc_sparse(&s->q[b], (size_t)(flux * nc * mesh->dim), sizeof(double)));
        if (equation_has_field(h->data.equation, HDG_P) || hdg_has_hoop(h)) TRY(CALLOC(s->p[b], flux));
        TRY(see(h, h->matrices.n_batches[b] * h->cells[b]->N * h->lanes, s->cells[b].loads, &s->loads[b]));
    }
    if (n_seconds > 0) TRY(CALLOC(s->kept, n_seconds));
    TRY(see(h, contact_seen(h)->n_all + 1, s->device_trace, &s->trace));
done:
    if (status != FACET_OK) hdg_solution_destroy(s);
    return status;
}

facet_status hdg_solution_create(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    *s = (struct hdg_solution){0};
    TRY(cells_need(h, s));
    TRY(cells_need_host(h, s));
done:
    return status;
}

void hdg_solution_destroy(struct hdg_solution *s) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        if (s->loads[b] != s->cells[b].loads) base_free(&s->loads[b]);
        s->loads[b] = NULL;
        double **arrays[] = {&s->u[b], &s->q[b], &s->p[b], &s->star[b]};
        for (int i = 0; i < 4; i++) base_free(arrays[i]);
        double **there[] = {&s->cells[b].loads, &s->cells[b].u, &s->cells[b].q};
        for (int i = 0; i < 3 && s->device != NULL; i++) device_free(s->device, there[i]);
    }
    if (s->trace != s->device_trace) base_free(&s->trace);
    s->trace = NULL;
    if (s->device != NULL) device_free(s->device, &s->device_trace);
    s->device = NULL;
    base_free(&s->kept);
    base_free(&s->supply);
    base_free(&s->vertex_loads);
    base_free(&s->consistent.lacks);
}
