/* Batches whose maps or data vary, of problems that stay on a device: nodes, orientations and regions are
 * there, and maps, data at points and weights are made from them whenever a tile of batches is worked on. See
 * resident_parts.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"

/* ------------------------------------------------------------------------------------------ cells */

facet_status resident_put_cells(const struct hdg *h, int block, int offsets, struct resident_cells *to) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int lanes = h->lanes, n_faces = shape_n_faces(b->shape), dim = h->data.mesh->dim,
              size = b->n_nodes * dim;
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block) * lanes;
    double *nodes = NULL, *orientations = NULL;
    int32_t *regions = NULL;
    TRY(ALLOC(nodes, n * size));
    TRY(ALLOC(orientations, n * n_faces));
    for (int less = 0; less <= offsets; less++) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            const double *from = b->nodes + resident_cell(h, block, i) * size;
            for (int k = 0; k < size; k++)
                nodes[(i / lanes * size + k) * lanes + i % lanes] = from[k] - (less ? from[k % dim] : 0.0);
        }
        TRY(device_copy(h->device, less ? &to->offsets : &to->nodes, nodes, (size_t)(n * size),
                        sizeof *nodes));
    }
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int f = 0; f < n_faces; f++)
            orientations[(i / lanes * n_faces + f) * lanes + i % lanes] =
                b->orientations[resident_cell(h, block, i) * n_faces + f];
    TRY(device_copy(h->device, &to->orientations, orientations, (size_t)(n * n_faces), sizeof *orientations));
    if (h->data.n_regions == 1) goto done;
    TRY(ALLOC(regions, n));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++)
        regions[i] = local_region(&h->data, block, (int32_t)resident_cell(h, block, i));
    TRY(device_copy(h->device, &to->regions, regions, (size_t)n, sizeof *regions));
done:
    base_free(&nodes);
    base_free(&orientations);
    base_free(&regions);
    return status;
}

void resident_forget_cells(const struct hdg *h, struct resident_cells *cells) {
    device_free(h->device, &cells->nodes);
    device_free(h->device, &cells->orientations);
    device_free(h->device, &cells->offsets);
    device_free(h->device, &cells->regions);
}

const struct resident_cells *resident_cells_of(const struct hdg *h, int block) {
    const struct resident_cells *cells = h->elastic != NULL ? elastic_general_cells(h, block) : NULL;
    return cells != NULL ? cells : &h->resident->blocks[block].cells;
}

/* Sizes of cells go to det of the block. */
static facet_status size_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct resident_block *r = user;
    const int64_t lanes = w->hdg->lanes;
    TRY(general_diffusion.data(w, begin, n, 1));
    device_move(w->hdg->device, r->det + begin * lanes, w->device[A_VOLUMES],
                (size_t)(n * lanes) * sizeof(double));
    TRY(general_fetch(w, A_LARGEST, n));
    for (int64_t i = 0; i < n * lanes && w->hdg->data.reaction != NULL; i++)
        w->largest_reaction = fmax(w->largest_reaction, w->host[A_LARGEST][i]);
done:
    return status;
}

facet_status resident_general_create(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    struct resident_block *r = &h->resident->blocks[block];
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block);
    const struct general_plan plan = general_diffusion.plan(h, block);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const enum batch_way way = batch_way(h, block, begin);
        for (end = begin + 1; end < n && batch_way(h, block, end) == way;) end++;
        if (way != BATCH_GENERAL) continue;
        TRY(general_for_pieces(h, block, begin, end, &plan, size_piece, r, &h->resident->reaction));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ integrals */

/* What integrals are taken with: the functions at the points, and ones. */
struct integral_job {
    double *phi, *ones, *integrals; /* device */
};

static facet_status integrate_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct integral_job *job = user;
    const struct hdg *h = w->hdg;
    const struct general_tables *t = &h->general[w->block]->tables;
    double *values = w->device[A_POINTS]; /* which nobody wants any more */
    TRY(general_diffusion.data(w, begin, n, 0));
    device_table_apply(h->device, h->lanes, n, t->n, t->N, 1, job->phi,
                       h->resident->blocks[w->block].u + begin * t->N * h->lanes, values);
    device_multiply(h->device, F64, n * t->n * h->lanes, w->device[A_WJ], values, values);
    device_table_apply(h->device, h->lanes, n, 1, t->n, 1, job->ones, values,
                       job->integrals + begin * h->lanes);
done:
    return status;
}

facet_status resident_general_integrals(const struct hdg *h, int block, int64_t begin, int64_t end,
                                        double *integrals) {
    facet_status status = FACET_OK;
    const struct general_tables *t = &h->general[block]->tables;
    const struct general_plan plan = general_diffusion.plan(h, block);
    struct integral_job job = {.integrals = integrals};
    TRY(general_put_turned(h, t->n, t->N, t->N, h->space.blocks[block].cell.phi, &job.phi));
    TRY(device_alloc(h->device, &job.ones, (size_t)t->n, sizeof *job.ones));
    device_fill(h->device, F64, t->n, 1.0, job.ones);
    TRY(general_for_pieces(h, block, begin, end, &plan, integrate_piece, &job, NULL));
done:
    device_free(h->device, &job.phi);
    device_free(h->device, &job.ones);
    return status;
}
