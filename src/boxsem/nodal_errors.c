/* Continuous elements at points: for the caller, for pictures, and against an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/tiles_parts.h"
#include "boxsem/element_nodes.h"

/* ------------------------------------------------------------------------------------- evaluation */

/* A field in a cell from its nodal values. */
static void describe(const struct boxsem *c, enum boxsem_field field, int64_t cell, const int at[3],
                     const double *local, struct box_function *f) {
    int flux = field == BOXSEM_Q;
    *f = (struct box_function){.dim = c->grid.dim,
                               .n = c->n,
                               .components = flux ? c->grid.dim : 1,
                               .tabulate = boxsem_tabulate,
                               .user = c};
    for (int i = 0; i < f->components; i++) {
        f->from[i] = local;
        f->slope[i] = flux ? i : -1;
        f->factor[i] = flux ? -box_conductivity(&c->grid, cell) / c->grid.widths[i][at[i]] : 1.0;
    }
}

/* The nodes of a cell, wherever they are; of those of a device the ones that were fetched. */
static facet_status take_cell(const struct boxsem *c, int64_t cell, const int at[3], double *local) {
    const struct boxsem_held *held = &c->held;
    if (held->nodes != NULL) {
        boxsem_cell_move(c, at, BOXSEM_GATHER, held->nodes, local);
        return FACET_OK;
    }
    int64_t low = 0, high = held->n;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(held->cells[middle] <= cell ? &low : &high) = middle;
    }
    if (high <= low || held->cells[low] != cell)
        return base_fail(FACET_ERROR_INPUT, "cell %lld was not fetched from the device", (long long)cell);
    memcpy(local, held->values + low * c->cell_size, (size_t)c->cell_size * sizeof *local);
    return FACET_OK;
}

facet_status boxsem_evaluate(const struct boxsem *c, enum boxsem_field field, int64_t cell,
                             const struct box_places *places, double *values) {
    facet_status status = FACET_OK;
    struct box_function f;
    double *local = NULL;
    int at[3];
    TRY(ALLOC(local, c->cell_size));
    box_cell_at(&c->grid, cell, at);
    describe(c, field, cell, at, local, &f);
    TRY(take_cell(c, cell, at, local));
    TRY(box_evaluate(&f, places, values));
done:
    base_free(&local);
    return status;
}

/* ------------------------------------------------------------------------------------- from a device */

void boxsem_forget(struct boxsem *c) {
    base_free(&c->held.cells);
    base_free(&c->held.values);
    boxsem_nodes_close(&c->u, 0, &c->held.nodes);
    c->held.n = 0;
}

facet_status boxsem_fetch(struct boxsem *c, int64_t n, const int64_t *cells) {
    facet_status status = FACET_OK;
    struct boxsem_held *held = &c->held;
    if (held->nodes != NULL) return FACET_OK;
    boxsem_forget(c);
    if (cells == NULL) {
        TRY(boxsem_nodes_open(&c->u, &held->nodes));
        goto done;
    }
    TRY(ALLOC(held->cells, n));
    TRY(ALLOC(held->values, n * c->cell_size));
    TRY(box_tiles_fetch(c->tiles, c->n, n, cells, c->u.data, held->values));
    memcpy(held->cells, cells, (size_t)n * sizeof *cells);
    held->n = n;
done:
    if (status != FACET_OK) boxsem_forget(c);
    return status;
}

facet_status boxsem_integrals(const struct boxsem *c, double *integrals) {
    facet_status status = FACET_OK;
    const struct tile_scale volume = {.factor = 1.0, .powers = {1, 1, 1}};
    double *moments = NULL;
    TRY(CALLOC(moments, c->n));
    for (int i = 0; i < c->n * c->n; i++) moments[i / c->n] += c->element.mass[i];
    const double *const T[3] = {moments, moments, moments};
    TRY(box_tiles_download(c->tiles, c->n, 1, T, &volume, c->u.data, integrals));
done:
    base_free(&moments);
    return status;
}

facet_status boxsem_extremes(const struct boxsem *c, int n, const double *x, double *extremes) {
    facet_status status = FACET_OK;
    double *values = NULL;
    TRY(ALLOC(values, 2 * n * c->n));
    TRY(boxsem_tabulate(c, 0, n, x, values, values + n * c->n));
    const double *const T[3] = {values, values, values};
    TRY(box_tiles_extremes(c->tiles, c->n, n, T, c->u.data, extremes));
done:
    base_free(&values);
    return status;
}

/* ------------------------------------------------------------------------------------- all cells */

facet_status boxsem_mean(const struct boxsem *c, double *mean) {
    facet_status status = FACET_OK;
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_nodes_open(&u, &nodes));
    *mean = box_weigh(c->n_nodes, (const double *const *)c->moments, nodes) / c->volume;
    *mean = box_all(&c->grid, TEAM_SUM, *mean);
done:
    boxsem_nodes_close(&u, 0, &nodes);
    return status;
}

/* What a part of the cells has of its own: tables of the nodes of a cell and of their slopes, the nodes of a tile. */
struct measured {
    const struct boxsem *c;
    struct box_tiles *tiles;
    int n_points;
    struct tile_tables values, slopes[3];
    double *cells;
};

static facet_status begin(void *user, const struct tile_plan *tile) {
    const struct measured *m = user;
    device_tile_gather(m->tiles->device, tile, m->c->degree, m->c->n_nodes, m->c->u.data, m->cells);
    return FACET_OK;
}

static void evaluate(void *user, const struct tile_plan *tile, int field, int d, double *values) {
    const struct measured *m = user;
    const struct box_tiles *t = m->tiles;
    struct tile_scale scale = {.factor = field == 0 ? 1.0 : -1.0, .of_cells = field == 0 ? NULL : t->k};
    if (field > 0) scale.powers[d] = -1;
    device_tile_contract(t->device, tile, m->c->n, m->n_points,
                         (const double *const *)(field == 0 ? m->values : m->slopes[d]).T, &scale, TILE_PUT,
                         m->cells, values, t->room);
}

static void close_part(void **user) {
    struct measured *m = *user;
    if (m == NULL) return;
    tile_tables_destroy(&m->values);
    for (int d = 0; d < 3; d++) tile_tables_destroy(&m->slopes[d]);
    device_free(m->c->device, &m->cells);
    base_free(user);
}

struct wanted {
    const struct boxsem *c;
    const struct box_samples *samples;
};

static facet_status open_part(const void *of, struct box_tiles *part, void **user) {
    facet_status status = FACET_OK;
    const struct wanted *w = of;
    const struct boxsem *c = w->c;
    const struct box_samples *s = w->samples;
    const double *T[3] = {s->values, s->values, s->values};
    const int64_t most = box_tiles_measured(part, s->n_points);
    struct measured *m;
    *user = NULL;
    TRY(CALLOC(m, 1));
    *user = m;
    *m = (struct measured){.c = c, .tiles = part, .n_points = s->n_points};
    TRY(tile_tables_create(part, c->n, s->n_points, T, &m->values));
    for (int d = 0; d < c->grid.dim; d++) {
        for (int i = 0; i < 3; i++) T[i] = i == d ? s->slopes : s->values;
        TRY(tile_tables_create(part, c->n, s->n_points, T, &m->slopes[d]));
    }
    TRY(tiles_need_room(part, most, c->n, s->n_points));
    TRY(device_alloc(c->device, &m->cells, (size_t)(most * c->cell_size), sizeof *m->cells));
done:
    return status;
}

facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct box_samples samples = {0};
    const struct wanted wanted = {c, &samples};
    double L2[3], largest;
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &samples));
    const struct box_tiles_measure measure = {.exact = exact,
                                              .n = samples.n_points,
                                              .x = samples.x,
                                              .weights = samples.w,
                                              .n_fields = 2,
                                              .begin = begin,
                                              .evaluate = evaluate,
                                              .open = open_part,
                                              .close = close_part,
                                              .of = &wanted};
    TRY(box_tiles_measure(c->tiles, &measure, L2, &largest));
    *errors = (struct box_errors){L2[0], largest, L2[1], -1.0, -1.0, -1.0};
done:
    box_samples_destroy(&samples);
    return status;
}
