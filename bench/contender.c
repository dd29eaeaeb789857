/* Operators on a box: HDG as huismann2020 writes it, and ours in lanes. */
#include "bench/contender.h"

#include "base/memory.h"
#include "bench/ceiling.h"
#include "bench/papers/straight.h"
#include "boxhdg/lanes.h"
#include "solve/solve_internal.h"

const char *contender_name(enum contender_kind kind) {
    static const char *const names[N_CONTENDERS] = {"HDG-TP",  "HDG-TPT",    "CCG-MM",          "CCG-TP",
                                                    "CCG-TPT", "ours (HDG)", "ours (condensed)"};
    return names[kind];
}

struct hdg_space {
    struct boxhdg *h;
    struct box_straight *straight;
    struct boxhdg_lanes *lanes;
};

static void destroy(struct contender *c) {
    struct hdg_space *s = c->space;
    if (s == NULL) return;
    box_straight_destroy(&s->straight);
    boxhdg_lanes_destroy(&s->lanes);
    boxhdg_destroy(&s->h);
    base_free(&s);
    c->space = NULL;
}

/* Of our kernel: two additions, a product and three sums a mode; on the n^2 points of the three pairs of
 * faces sums and differences scaled (4), what each parity gets back (8), sums and differences again, their
 * addition to the faces, and the product with x that conjugate gradients want (8). */
static double tensor_operations(const struct boxhdg *h) {
    double n = h->n;
    return (double)h->grid.n_cells * (6.0 * n * n * n + 3.0 * 20.0 * n * n);
}

facet_status contender_create_hdg(const struct wave *wave, const struct device *device, struct contender *c) {
    facet_status status = FACET_OK;
    struct hdg_space *s = NULL;
    TRY(CALLOC(s, 1));
    c->space = s;
    c->destroy = destroy;
    TRY(boxhdg_create(&wave->data, wave->given.degree, (const double *const *)wave->rho, &s->h));
    double n = s->h->n, n_cells = (double)s->h->grid.n_cells;
    if (c->kind == CONTENDER_TENSOR) {
        TRY(boxhdg_lanes_create(device, s->h, 0, &s->lanes));
        operator_create_box(s->lanes, &c->A);
        c->operations = tensor_operations(s->h);
        c->bytes = 16.0 * (double)s->h->n_free;
    } else {
        enum box_algorithm algorithm = c->kind == CONTENDER_HDG_TP ? BOX_TP : BOX_TPT;
        TRY(box_straight_create(s->h, BOX_COLLOCATED, &s->straight));
        TRY(box_straight_operator(device, s->straight, algorithm, &c->A));
        c->operations = box_straight_flops(s->straight, algorithm);
        c->bytes = 8.0 * n_cells * (18.0 * n * n + n * n * n);
    }
done:
    return status;
}

facet_status contender_create(const struct wave *wave, const struct device *device, enum contender_kind kind,
                              struct contender *c) {
    facet_status status = FACET_OK;
    *c = (struct contender){.kind = kind};
    double begin = ceiling_clock();
    if (kind == CONTENDER_HDG_TP || kind == CONTENDER_HDG_TPT || kind == CONTENDER_TENSOR)
        TRY(contender_create_hdg(wave, device, c));
    else
        TRY(contender_create_condensed(wave, device, c));
    c->preparation = ceiling_clock() - begin;
    TRY(vector_create(device, c->A.n, &c->x));
    TRY(vector_create(device, c->A.n, &c->y));
    TRY(solve_fill_noise(&c->x));
    vector_fill(&c->y, 0.0);
done:
    return status;
}

void contender_destroy(struct contender *c) {
    operator_destroy(&c->A);
    vector_destroy(&c->x);
    vector_destroy(&c->y);
    if (c->destroy != NULL) c->destroy(c);
}
