/* Operators on a box: the condensed continuous method. */
#include "bench/contender.h"
#include "bench/papers/condensed.h"

static void destroy(struct contender *c) {
    struct box_condensed *h = c->space;
    box_condensed_destroy(&h);
    c->space = NULL;
}

facet_status contender_create_condensed(const struct wave *wave, const struct device *device,
                                        struct contender *c) {
    facet_status status = FACET_OK;
    enum box_condensed_form form = c->kind == CONTENDER_CCG_MM    ? BOX_CCG_MM
                                   : c->kind == CONTENDER_CCG_TP  ? BOX_CCG_TP
                                   : c->kind == CONTENDER_CCG_TPT ? BOX_CCG_TPT
                                                                  : BOX_CCG_PARITY;
    struct box_condensed *h = NULL;
    c->destroy = destroy;
    TRY(box_condensed_create(&wave->data, wave->given.degree, BOX_MASS_COLLOCATED, &h));
    c->space = h;
    TRY(box_condensed_operator(h, device, form, box_condensed_basis(form, BOX_NODES), &c->A));
    double m = h->n_inner, n_cells = (double)h->grid.n_cells;
    c->operations = box_condensed_operations(h, form);
    c->bytes = form == BOX_CCG_PARITY
                   ? 16.0 * (double)h->n_free
                   : 8.0 * n_cells * (54.0 * m * m + (form == BOX_CCG_MM ? 0.0 : m * m * m));
done:
    return status;
}
