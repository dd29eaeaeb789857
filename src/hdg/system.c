/* The global system of any equation: its numbering, its operators, and the function 1 in it. */
#include <math.h>
#include <string.h>

#include "hdg/condensed.h"
#include "hdg/elastic.h"

void hdg_local_sizes(const struct hdg *h, int block, int *N, int *n) {
    *N = h->n_eliminated[block];
    *n = trace_cell_size(&h->trace, block);
}

void hdg_describe(const struct hdg *h, struct hdg_system *system) {
    const struct facet_mesh *mesh = h->data.mesh;
    const struct equation *e = h->data.equation;
    *system = (struct hdg_system){.n_all = h->trace.n_all,
                                  .n_free = h->trace.n_free,
                                  .n_blocks = h->trace.n_free_faces,
                                  .block_offsets = h->trace.free_offsets,
                                  .n_volume =
                                      e->by_faces ? 0 : continuous_n_owned(&h->condensed->space, &h->trace)};
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t count = mesh->blocks[b].count;
        int N, n;
        hdg_local_sizes(h, b, &N, &n);
        system->n_volume += count * (N + (e->n_flux[mesh->dim] + hdg_has_hoop(h)) * h->functions[b].N);
    }
}

int64_t hdg_n_single(const struct hdg *h) {
    int64_t n = 0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int64_t count = h->data.mesh->blocks[b].count;
        struct condenser c;
        h->data.equation->condenser(h, b, &c);
        for (int64_t i = 0; i < count; i += h->lanes)
            if (condenser_way(h, &c, b, i / h->lanes) == BATCH_SINGLE)
                n += i + h->lanes < count ? h->lanes : count - i;
    }
    return n;
}

facet_status hdg_operator_create(const struct hdg *h, struct linear_operator *A) {
    if (h->nonsymmetric) return elastic_operator(h, A);
    return trace_operator_create(&h->trace, &h->matrices, A);
}

facet_status hdg_assemble(const struct hdg *h, struct csr *csr) {
    facet_status status = trace_assemble(&h->trace, &h->matrices, csr);
    if (status == FACET_OK && h->nonsymmetric) elastic_add_correction(h, csr);
    return status;
}

/* psi_0 = 1 / sqrt(measure) */
double local_one_on(const struct hdg *h, int64_t face) {
    return sqrt(shape_measure((enum shape)h->trace.records[face].shape));
}

void hdg_free_constant(const struct hdg *h, double *free) {
    memset(free, 0, (size_t)h->trace.n_free * sizeof *free);
    for (int64_t b = 0; b < h->trace.n_free_faces; b++)
        free[h->trace.free_offsets[b]] = h->data.equation->one_on(h, h->trace.free_faces[b]);
}
