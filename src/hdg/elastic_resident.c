/* Elasticity that stays on a device: see resident.h. */
#include <math.h>

#include "base/memory.h"
#include "hdg/elastic.h"
#include "hdg/resident_parts.h"

#define FILL_BATCHES 4096 /* whose coefficients the host makes at a time */

/* Heat and pieces that nothing holds load every cell in ways of their own. */
int elastic_stays(const struct hdg *h) {
    return h->free_pieces == NULL && h->data.expansion == NULL && !h->nonsymmetric && !h->space.revolved;
}

facet_status elastic_put_coefficients(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    struct resident_block *to = &h->resident->blocks[block];
    struct condenser c;
    const int64_t n = trace_n_batches(h->device, h->data.mesh, block);
    double *host = NULL, *volumes = NULL;
    h->data.equation->condenser(h, block, &c);
    const int64_t size = c.n_coefficients * h->lanes, most = n < FILL_BATCHES ? n : FILL_BATCHES;
    TRY(ALLOC(host, most * size));
    TRY(ALLOC(volumes, most));
    TRY(device_alloc(h->device, &to->coefficients, (size_t)(n * size), sizeof *host));
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = resident_run_end(h, block, begin);
        if (!batch_is_fast(h, block, begin)) continue;
        if (end > begin + most) end = begin + most;
        TRY(batch_coefficients(h, block, begin, end, c.fill, c.n_coefficients, host, volumes, NULL));
        for (int64_t i = 0; i < end - begin; i++) h->resident->volume += volumes[i];
        TRY(device_upload(h->device, to->coefficients + begin * size, host,
                          (size_t)((end - begin) * size) * sizeof *host));
    }
done:
    base_free(&host);
    base_free(&volumes);
    return status;
}

/* Integrals over the reference faces of functions whose products with psi_0 = 1 / one are known. */
static facet_status put_integrals(const struct hdg *h, int n_faces, int N, int m, double one,
                                  const double *products, double **to) {
    facet_status status = FACET_OK;
    double *host = NULL;
    TRY(ALLOC(host, n_faces * N));
    for (int64_t f = 0; f < n_faces; f++) /* the constant is the same in every orientation */
        for (int64_t i = 0; i < N; i++) host[f * N + i] = one * products[(f * 8 * N + i) * m];
    TRY(device_copy(h->device, to, host, (size_t)(n_faces * N), sizeof *host));
done:
    base_free(&host);
    return status;
}

static double one_on_faces(const struct hdg *h, int block) {
    return sqrt(shape_measure(shape_face_shape(h->space.blocks[block].shape, 0)));
}

facet_status elastic_put_moments(const struct hdg *h, int block, struct resident_block *to) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_functions *v = &h->functions[block];
    const double one = one_on_faces(h, block);
    TRY(put_integrals(h, b->n_faces, v->N, b->m, one, v->F_ref, &to->moments));
    TRY(put_integrals(h, b->n_faces, v->Nu, b->m, one, v->FU_ref, &to->moments_u));
done:
    return status;
}

void elastic_fast_balance(const struct hdg *h, int block, int64_t begin, int64_t end, double *balance) {
    const struct resident_block *r = &h->resident->blocks[block];
    const struct hdg_functions *v = &h->functions[block];
    const struct elastic_tables *t = &h->elastic->tables[block];
    const int64_t lanes = h->lanes, N = r->N * lanes, faces = t->n_faces * lanes;
    struct elastic_forces forces = {.one = one_on_faces(h, block),
                                    .constant = v->physical ? v->source.chi[0] : v->source.table->phi[0],
                                    .phi = r->moments,
                                    .chi = r->moments_u,
                                    .coefficients = r->coefficients +
                                                    begin * elastic_layout(t->dim, t->n_faces).count * lanes,
                                    .u = r->u + begin * N,
                                    .q = r->q + begin * r->n_flux * lanes,
                                    .loads = r->loads + begin * N,
                                    .trace = h->resident->trace,
                                    .maps = r->maps + begin * faces};
    device_elastic_balance(h->device, t, &forces, end - begin,
                           balance + begin * (2 * lanes + t->dim * faces));
}
