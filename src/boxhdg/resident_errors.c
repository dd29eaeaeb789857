/* Errors of a solution that is on the device: u, q, u*, q* and the trace. */
#include <math.h>

#include "base/memory.h"
#include "box/tiles_parts.h"
#include "boxhdg/fields.h"
#include "boxhdg/resident_errors.h"
#include "boxhdg/work.h"
#include "poly/jacobi.h"

struct errors {
    const struct boxhdg *h;
    const struct boxhdg_there *there;
    struct box_tiles *tiles;
    const struct device *device;
    int n, P, n_points, star; /* modes; points a direction */
    struct boxhdg_fields fields;
    struct box_samples modes_here;            /* modes at the points */
    struct tile_tables modes, out, slopes[3]; /* of n, or P for the last two */
    double *weights_there;                    /* on the device, as are the next */
    int64_t *list;
    double *cells, *q[3], *coefficients, *constants;
    int64_t *host_list;
};

static void errors_destroy(struct errors *e) {
    const struct device *device = e->device;
    tile_tables_destroy(&e->modes);
    tile_tables_destroy(&e->out);
    for (int d = 0; d < 3; d++) {
        tile_tables_destroy(&e->slopes[d]);
        device_free(device, &e->q[d]);
    }
    device_free(device, &e->weights_there);
    device_free(device, &e->list);
    device_free(device, &e->cells);
    device_free(device, &e->coefficients);
    device_free(device, &e->constants);
    boxhdg_fields_destroy(&e->fields);
    box_samples_destroy(&e->modes_here);
    base_free(&e->host_list);
}

/* ------------------------------------------------------------------------------------------ tables */

/* The functions y of post-processing and their slopes at the points, the same for every line. */
static facet_status tabulate_star(struct errors *e, double *values, double *slopes) {
    facet_status status = FACET_OK;
    int P = e->P, n = e->n_points;
    double *legendre = NULL;
    TRY(ALLOC(legendre, 2 * P));
    for (int q = 0; q < n; q++) {
        jacobi_orthonormal(P - 1, 0.0, 0.0, 2.0 * e->modes_here.x[q] - 1.0, legendre, legendre + P);
        for (int i = 0; i < P; i++) {
            double value = 0.0, slope = 0.0;
            for (int j = 0; j < P; j++) {
                value += legendre[j] * e->fields.post.Q[j * P + i];
                slope += 2.0 * legendre[P + j] * e->fields.post.Q[j * P + i];
            }
            for (int l = 0; l < e->h->n_lines; l++) {
                values[((int64_t)l * n + q) * P + i] = value;
                slopes[((int64_t)l * n + q) * P + i] = slope;
            }
        }
    }
done:
    base_free(&legendre);
    return status;
}

static facet_status make_star(struct errors *e) {
    facet_status status = FACET_OK;
    int64_t all = (int64_t)e->h->n_lines * e->n_points * e->P;
    double *values = NULL;
    TRY(ALLOC(values, 2 * all));
    TRY(tabulate_star(e, values, values + all));
    const double *T[3] = {values, values, values};
    TRY(tile_tables_create(e->tiles, e->P, e->n_points, T, &e->out));
    for (int d = 0; d < e->h->grid.dim; d++) {
        for (int t = 0; t < 3; t++) T[t] = t == d ? values + all : values;
        TRY(tile_tables_create(e->tiles, e->P, e->n_points, T, &e->slopes[d]));
    }
done:
    base_free(&values);
    return status;
}

static facet_status prepare(struct errors *e) {
    facet_status status = FACET_OK;
    const struct device *device = e->device;
    int dim = e->h->grid.dim;
    int64_t most = box_tiles_measured(e->tiles, e->n_points), size = e->h->cell_size;
    TRY(boxhdg_samples_create(e->h, e->n_points, &e->modes_here));
    const double *const T[3] = {e->modes_here.values, e->modes_here.values, e->modes_here.values};
    TRY(device_copy(device, &e->weights_there, e->modes_here.w, (size_t)e->n_points,
                    sizeof *e->weights_there));
    TRY(tile_tables_create(e->tiles, e->n, e->n_points, T, &e->modes));
    TRY(boxhdg_fields_create(e->h, e->tiles, e->star, &e->fields));
    TRY(tiles_need_room(e->tiles, most, e->P, e->n_points));
    TRY(ALLOC(e->host_list, most));
    TRY(device_alloc(device, &e->list, (size_t)most, sizeof *e->list));
    TRY(device_alloc(device, &e->cells, (size_t)(most * boxhdg_fields_width(e->h)), sizeof *e->cells));
    for (int d = 0; d < dim; d++)
        TRY(device_alloc(device, &e->q[d], (size_t)(most * size), sizeof *e->cells));
    if (!e->star) goto done;
    TRY(make_star(e));
    TRY(device_alloc(device, &e->coefficients, (size_t)(most * box_power(e->P, dim)), sizeof *e->cells));
    TRY(device_alloc(device, &e->constants, (size_t)most, sizeof *e->cells));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ tiles */

#define TABLES(t) ((const double *const *)(t).T)

/* u and traces of the cells of a tile; end: it is one of the last cells of this direction (-1: of all). */
static facet_status pack(struct errors *e, const struct tile_plan *tile, int end) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &e->h->grid;
    for (int64_t c = 0; c < tile->count; c++) {
        int at[3];
        tile_at(tile, tile->first + c, at);
        if (end >= 0) at[end] = g->cells[end] - 1;
        e->host_list[c] = box_cell(g, at);
    }
    TRY(device_upload(e->device, e->list, e->host_list, (size_t)tile->count * sizeof *e->list));
    device_box_cells(e->device, e->there->plan, e->there->points, tile->count, e->list, e->there->trace,
                     e->there->u, e->cells);
done:
    return status;
}

static facet_status begin(void *user, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    struct errors *e = user;
    TRY(pack(e, tile, -1));
    for (int d = 0; d < tile->dim; d++) boxhdg_fields_flux(&e->fields, tile, d, e->cells, e->q[d]);
    if (e->star)
        boxhdg_fields_star(&e->fields, tile, e->there->u + tile->first * e->h->cell_size,
                           (const double *const *)e->q, e->constants, e->tiles->room, e->coefficients);
done:
    return status;
}

static void evaluate(void *user, const struct tile_plan *tile, int field, int c, double *values) {
    struct errors *e = user;
    struct tile_scale scale = {.factor = 1.0};
    if (field < 2) {
        const double *from = field == 0 ? e->there->u + tile->first * e->h->cell_size : e->q[c];
        device_tile_contract(e->device, tile, e->n, e->n_points, TABLES(e->modes), &scale, 0, from, values,
                             e->tiles->room);
        return;
    }
    if (field == 3) {
        scale = (struct tile_scale){.factor = -1.0, .of_cells = e->tiles->k};
        scale.powers[c] = -1;
    }
    device_tile_contract(e->device, tile, e->P, e->n_points, TABLES(field == 2 ? e->out : e->slopes[c]),
                         &scale, 0, e->coefficients, values, e->tiles->room);
}

static facet_status faces(void *user, const struct tile_plan *tile, int d, int side, const double *exact,
                          int add, double *squares) {
    facet_status status = FACET_OK;
    struct errors *e = user;
    if (side) TRY(pack(e, tile, d));
    device_tile_faces(e->device, tile, e->n, e->n_points, TABLES(e->modes), e->weights_there, d, side,
                      boxhdg_fields_width(e->h), e->cells, exact, add, squares);
done:
    return status;
}

/* What every part of the cells has of its own is made from this. */
struct wanted {
    const struct boxhdg *h;
    const struct boxhdg_there *there;
    int n_points, star;
};

static void close_part(void **user) {
    struct errors *e = *user;
    if (e == NULL) return;
    errors_destroy(e);
    base_free(user);
}

static facet_status open_part(const void *of, struct box_tiles *part, void **user) {
    facet_status status = FACET_OK;
    const struct wanted *w = of;
    struct errors *e;
    *user = NULL;
    TRY(CALLOC(e, 1));
    *user = e;
    *e = (struct errors){.h = w->h,
                         .there = w->there,
                         .tiles = part,
                         .device = part->device,
                         .n = w->h->n,
                         .P = w->h->n + 1,
                         .n_points = w->n_points,
                         .star = w->star};
    TRY(prepare(e));
done:
    return status;
}

facet_status boxhdg_tiles_errors(const struct boxhdg *h, struct box_tiles *tiles,
                                 const struct boxhdg_there *there, const struct field *exact, double constant,
                                 int star, struct box_errors *errors) {
    facet_status status = FACET_OK;
    const struct wanted wanted = {h, there, h->n + 1 + BOX_EXTRA_POINTS, star};
    struct box_samples gauss = {0};
    double L2[BOX_MAX_FIELDS + 1] = {0}, largest;
    TRY(box_samples_create(0, wanted.n_points, 0, NULL, NULL, &gauss));
    const struct box_tiles_measure measure = {.exact = exact,
                                              .constant = constant,
                                              .n = wanted.n_points,
                                              .x = gauss.x,
                                              .weights = gauss.w,
                                              .n_fields = star ? 4 : 2,
                                              .begin = begin,
                                              .evaluate = evaluate,
                                              .faces = faces,
                                              .open = open_part,
                                              .close = close_part,
                                              .of = &wanted};
    TRY(box_tiles_measure(tiles, &measure, L2, &largest));
    *errors = (struct box_errors){L2[0],           largest, L2[1], star ? L2[2] : -1.0, star ? L2[3] : -1.0,
                                  L2[star ? 4 : 2]};
done:
    box_samples_destroy(&gauss);
    return status;
}
