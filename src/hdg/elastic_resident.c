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
