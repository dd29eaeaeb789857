/* Errors on tiles. */
#include <math.h>

#include "base/memory.h"
#include "box/tiles_parts.h"

/* Whoever measures has several arrays of a tile. */
#define ARRAYS 2

int box_tiles_can_measure(const struct box_tiles *t, const struct field *exact) {
    double value;
    return device_has(t->device, "tile_difference") && field_is_differentiable(exact) &&
           !field_is_constant(exact, &value);
}

int64_t box_tiles_measured(const struct box_tiles *t, int n) {
    return tiles_in_one(t->all.count, ARRAYS * box_power(n, t->all.dim));
}

struct errors {
    struct box_tiles *t;
    const struct box_tiles_measure *m;
    int64_t size, most;
    struct expr_program program;
    double *points, *weights, *exact, *values, *found; /* on the device */
    double *host;                                      /* what was found in a tile */
    double *L2, *Linf;
};

/* Squares of the cells of a tile, `step` numbers apart, to the sum of a field; NaN stays. */
static facet_status collect(struct errors *e, int64_t count, int step, int f) {
    facet_status status = FACET_OK;
    TRY(device_download(e->t->device, e->host, e->found, (size_t)(step * count) * sizeof *e->host));
    for (int64_t c = 0; c < count; c++) e->L2[f] += e->host[step * c];
    for (int64_t c = 0; f == 0 && c < count; c++)
        if (!(e->host[2 * c + 1] <= *e->Linf)) *e->Linf = e->host[2 * c + 1];
done:
    return status;
}

static facet_status measure_tile(struct errors *e, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles_measure *m = e->m;
    const struct device *device = e->t->device;
    const struct tile_scale plain = {.factor = 1.0}, flux = {.factor = -1.0, .of_cells = e->t->k};
    device_tile_expression(device, tile, m->n, e->points, &e->program.plan, &e->program.lines, TILE_GRADIENTS,
                           e->exact, e->program.work);
    TRY(m->begin(m->user, tile));
    for (int f = 0; f < m->n_fields; f++)
        for (int c = 0; c < (f % 2 == 0 ? 1 : tile->dim); c++) {
            m->evaluate(m->user, tile, f, c, e->values);
            device_tile_difference(device, tile, m->n, e->weights, f % 2 == 0 ? &plain : &flux, e->values,
                                   e->exact + (f % 2 == 0 ? 0 : c + 1) * tile->count * e->size, e->found);
            TRY(collect(e, tile->count, 2, f));
        }
    if (m->faces == NULL) goto done;
    m->faces(m->user, tile, e->exact, e->found);
    TRY(collect(e, tile->count, 1, m->n_fields));
done:
    return status;
}

facet_status box_tiles_measure(struct box_tiles *t, const struct box_tiles_measure *m, double *L2,
                               double *Linf) {
    facet_status status = FACET_OK;
    const struct device *device = t->device;
    struct errors e = {.t = t, .m = m, .size = box_power(m->n, t->all.dim), .L2 = L2, .Linf = Linf};
    e.most = box_tiles_measured(t, m->n);
    *Linf = 0.0;
    for (int f = 0; f <= m->n_fields; f++) L2[f] = 0.0;
    TRY(tiles_need_cells(t, 0, &t->k));
    TRY(device_copy(device, &e.points, m->x, (size_t)m->n, sizeof *m->x));
    TRY(device_copy(device, &e.weights, m->weights, (size_t)m->n, sizeof *m->weights));
    TRY(device_alloc(device, &e.exact, (size_t)(e.most * e.size * (1 + t->all.dim)), sizeof *e.exact));
    TRY(device_alloc(device, &e.values, (size_t)(e.most * e.size), sizeof *e.values));
    TRY(device_alloc(device, &e.found, (size_t)(2 * e.most), sizeof *e.found));
    TRY(ALLOC(e.host, 2 * e.most));
    TRY(tiles_make_program(t, m->exact, 1, m->n, m->x, e.most * e.size, &e.program));
    for (int64_t first = 0; first < t->all.count; first += e.most) {
        const struct tile_plan tile = tiles_next(t, first, e.most);
        TRY(measure_tile(&e, &tile));
    }
    TRY(device_check(device));
    for (int f = 0; f <= m->n_fields; f++) L2[f] = sqrt(L2[f]);
done:
    expr_program_destroy(&e.program);
    device_free(device, &e.points);
    device_free(device, &e.weights);
    device_free(device, &e.exact);
    device_free(device, &e.values);
    device_free(device, &e.found);
    base_free(&e.host);
    return status;
}
