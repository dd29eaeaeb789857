/* Looks at all data of a problem without solving it: coefficients and sources at their quadrature points, and
 * whether boundary data agree with the exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* K, lambda and f of one cell; evaluating them is the check. */
static facet_status cell_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    (void)user;
    TRY(local_begin(l, block, cell));
    if (h->data.scheme == HDG_ELASTIC) {
        TRY(elastic_load(l, block, cell, NULL, l->vector));
        goto done;
    }
    TRY(local_place(local_reaction(&h->data, b->cell.n, l->geometry.x, l->values), l));
    hdg_cell_geometry(&h->space, block, cell, &b->source, &l->geometry);
    TRY(local_place(
        local_source(l, local_region(&h->data, block, cell), b->source.n, l->geometry.x, l->values), l));
done:
    return status;
}

/* Largest difference of a condition's data to those of the exact solution on one face, and the largest datum.
 */
static facet_status face_difference(struct local *l, int32_t face, double *difference, double *scale) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_condition *given = &h->data.conditions[h->data.face_condition[face]];
    struct hdg_condition wanted = *given;
    const struct mesh_block *block = mesh_block_of(mesh, mesh->face_cells[2 * (int64_t)face]);
    l->block = (int)(block - mesh->blocks);
    l->cell = mesh->face_cells[2 * (int64_t)face] - block->first;
    const struct hdg_face_table *table = &h->space.blocks[l->block].boundary;
    int elastic = h->data.scheme == HDG_ELASTIC, n = table->rule.n, size = n * (elastic ? mesh->dim : 1);
    double *exact = l->weighted;
    wanted.g = wanted.t = NULL;
    hdg_face_geometry(&h->space, l->block, l->cell, mesh->face_locals[2 * (int64_t)face], table,
                      &l->face_geometry, l->x, l->normal);
    TRY(local_condition_values(l, &wanted, n, l->x, l->normal, l->values));
    memcpy(exact, l->values, (size_t)size * sizeof *exact);
    TRY(local_condition_values(l, given, n, l->x, l->normal, l->values));
    for (int q = 0; q < size; q++) {
        *difference = fmax(*difference, fabs(l->values[q] - exact[q]));
        *scale = fmax(*scale, fmax(fabs(exact[q]), fabs(l->values[q])));
    }
done:
    return status;
}

/* The worst part, if its data differ from the exact solution's by more than rounding and interpolation
 * explain. */
static facet_status find_mismatch(const struct hdg *h, struct hdg_mismatch *mismatch) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct local l = {0};
    TRY(local_create(h, &l));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = h->data.face_condition[f];
        double difference = 0.0, scale = 0.0;
        if (c < 0 || (h->data.conditions[c].g == NULL && h->data.conditions[c].t == NULL)) continue;
        TRY(face_difference(&l, f, &difference, &scale));
        if (difference <= 1e-6 * scale || difference <= mismatch->difference) continue;
        *mismatch = (struct hdg_mismatch){h->data.conditions[c].part, difference};
    }
done:
    local_destroy(&l);
    return status;
}

facet_status hdg_check_data(const struct hdg *h, struct hdg_mismatch *mismatch) {
    facet_status status = FACET_OK;
    *mismatch = (struct hdg_mismatch){0};
    TRY(local_for_all_cells(h, cell_work, NULL));
    if (h->data.exact != NULL) TRY(find_mismatch(h, mismatch));
done:
    return status;
}
