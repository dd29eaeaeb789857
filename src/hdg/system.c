/* The global system of any scheme: its numbering, its operators, and the function 1 in it. */
#include <math.h>
#include <string.h>

#include "hdg/condensed.h"
#include "hdg/elastic.h"

static const struct continuous_space *continuous(const struct hdg *h) {
    return h->data.scheme == HDG_CONDENSED ? &h->condensed->space : NULL;
}

void hdg_local_sizes(const struct hdg *h, int block, int *N, int *n) {
    if (h->data.scheme == HDG_CONDENSED) {
        *N = h->condensed->blocks[block].N;
        *n = h->condensed->blocks[block].n;
    } else if (h->data.scheme == HDG_ELASTIC) {
        *N = h->data.mesh->dim * h->elastic->blocks[block].Nu;
        *n = h->data.mesh->dim * h->space.blocks[block].n_trace;
    } else {
        *N = h->space.blocks[block].N;
        *n = h->space.blocks[block].n_trace;
    }
}

/* Of q; of the symmetric stress, or of H and p. */
static int flux_components(const struct hdg *h) {
    int dim = h->data.mesh->dim;
    if (h->data.scheme != HDG_ELASTIC) return dim;
    return h->data.formulation == HDG_SYMMETRIC ? dim * (dim + 1) / 2 : dim * dim + 1;
}

void hdg_describe(const struct hdg *h, struct hdg_system *system) {
    const struct facet_mesh *mesh = h->data.mesh;
    const struct continuous_space *space = continuous(h);
    if (space != NULL)
        *system = (struct hdg_system){.n_all = space->n_all,
                                      .n_free = space->n_free,
                                      .n_blocks = space->n_blocks,
                                      .block_offsets = space->block_offsets,
                                      .n_volume = space->n_all};
    else
        *system = (struct hdg_system){.n_all = h->trace.n_all,
                                      .n_free = h->trace.n_free,
                                      .n_blocks = h->trace.n_free_faces,
                                      .block_offsets = h->trace.free_offsets};
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t count = mesh->blocks[b].count;
        int N, n;
        hdg_local_sizes(h, b, &N, &n);
        int N_flux = h->elastic != NULL ? h->elastic->blocks[b].N : h->space.blocks[b].N;
        system->n_volume += count * (N + (space != NULL ? 0 : flux_components(h) * N_flux));
    }
}

facet_status hdg_operator_create(const struct hdg *h, struct operator* A) {
    if (h->nonsymmetric) return elastic_operator(h, A);
    return continuous(h) != NULL ? continuous_operator_create(continuous(h), &h->matrices, A)
                                 : trace_operator_create(&h->trace, &h->matrices, A);
}

facet_status hdg_assemble(const struct hdg *h, struct csr *csr) {
    facet_status status = continuous(h) != NULL ? continuous_assemble(continuous(h), &h->matrices, csr)
                                                : trace_assemble(&h->trace, &h->matrices, csr);
    if (status == FACET_OK && h->nonsymmetric) elastic_add_correction(h, csr);
    return status;
}

facet_status hdg_block_diagonal(const struct hdg *h, struct csr *csr) {
    return continuous(h) != NULL ? continuous_block_diagonal(continuous(h), &h->matrices, csr)
                                 : trace_block_diagonal(&h->trace, &h->matrices, csr);
}

void hdg_set_trace(const struct hdg *h, const double *free, struct hdg_solution *s) {
    if (continuous(h) != NULL)
        continuous_scatter(continuous(h), free, h->eliminated, s->trace);
    else
        trace_scatter(&h->trace, free, h->eliminated, s->trace);
    for (int64_t b = 0; b < h->trace.n_free_faces && h->trace.fixed != NULL; b++) { /* exactly as given */
        double *to = s->trace + h->trace.face_first[h->trace.free_faces[b]] - h->trace.free_offsets[b];
        for (int64_t i = h->trace.free_offsets[b]; i < h->trace.free_offsets[b + 1]; i++)
            if (h->trace.fixed[i]) to[i] = h->elastic->values[i];
    }
}

void hdg_constant(const struct hdg *h, double *full) {
    if (continuous(h) != NULL) {
        continuous_constant(continuous(h), full);
        return;
    }
    const struct facet_mesh *mesh = h->data.mesh;
    memset(full, 0, (size_t)h->trace.n_all * sizeof *full);
    for (int32_t f = 0; f < mesh->n_faces; f++) /* psi_0 = 1 / sqrt(measure) */
        full[h->trace.face_first[f]] = sqrt(shape_measure((enum shape)mesh->face_shapes[f]));
}

void hdg_free_constant(const struct hdg *h, double *free) {
    const struct continuous_space *space = continuous(h);
    if (space != NULL) {
        for (int64_t i = 0; i < space->n_all; i++)
            if (space->free[i] >= 0) free[space->free[i]] = i < space->n_vertices ? 1.0 : 0.0;
        return;
    }
    const struct trace_space *trace = &h->trace;
    memset(free, 0, (size_t)trace->n_free * sizeof *free);
    for (int64_t b = 0; b < trace->n_free_faces; b++)
        free[trace->free_offsets[b]] =
            sqrt(shape_measure((enum shape)trace->mesh->face_shapes[trace->free_faces[b]]));
}
