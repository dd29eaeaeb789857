/* Continuous elements at points: for the caller, for pictures, and against an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/tiles_parts.h"
#include "boxsem/cells.h"

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
    double *nodes = device_is_host(c->device) ? c->u.data : held->nodes;
    if (nodes != NULL) {
        boxsem_cell_move(c, at, BOXSEM_GATHER, nodes, local);
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
    base_free(&c->held.nodes);
    c->held.n = 0;
}

facet_status boxsem_fetch(struct boxsem *c, int64_t n, const int64_t *cells) {
    facet_status status = FACET_OK;
    struct boxsem_held *held = &c->held;
    if (device_is_host(c->device) || held->nodes != NULL) return FACET_OK;
    boxsem_forget(c);
    if (cells == NULL || c->tiles == NULL) {
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

struct integral_job {
    const struct boxsem *c;
    const double *weights; /* of the nodes of a cell of volume 1 */
    double *integrals;
};

static facet_status integrate_cell(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct integral_job *job = user;
    const struct boxsem *c = job->c;
    double sum = 0.0;
    boxsem_cell_move(c, at, BOXSEM_GATHER, c->u.data, scratch);
    for (int64_t i = 0; i < c->cell_size; i++) sum += job->weights[i] * scratch[i];
    for (int d = 0; d < c->grid.dim; d++) sum *= c->grid.widths[d][at[d]];
    job->integrals[cell] = sum;
    return FACET_OK;
}

facet_status boxsem_integrals(struct boxsem *c, double *integrals) {
    facet_status status = FACET_OK;
    const struct tile_scale volume = {.factor = 1.0, .powers = {1, 1, 1}};
    double *moments = NULL, *weights = NULL;
    TRY(CALLOC(moments, c->n));
    for (int i = 0; i < c->n * c->n; i++) moments[i / c->n] += c->element.mass[i];
    const double *const T[3] = {moments, moments, moments};
    if (c->tiles != NULL) {
        TRY(box_tiles_download(c->tiles, c->n, 1, T, &volume, c->u.data, integrals));
        goto done;
    }
    TRY(ALLOC(weights, c->cell_size));
    for (int64_t i = 0; i < c->cell_size; i++) {
        int64_t place = i;
        weights[i] = 1.0;
        for (int d = 0; d < c->grid.dim; d++, place /= c->n) weights[i] *= moments[place % c->n];
    }
    struct integral_job job = {c, weights, integrals};
    TRY(box_for_cells(&c->grid, c->cell_size, 0, c->cell_size, integrate_cell, &job));
done:
    base_free(&moments);
    base_free(&weights);
    return status;
}

static facet_status numbers_of(const void *user, int64_t cell, const int at[3], double *numbers) {
    return take_cell(user, cell, at, numbers);
}

/* The norm of interpolation from the nodes to n points in every direction. */
static double lebesgue(const struct boxsem *c, int n, const double *values) {
    double most = 0.0;
    for (int p = 0; p < n; p++) {
        double sum = 0.0;
        for (int i = 0; i < c->n; i++) sum += fabs(values[p * c->n + i]);
        most = fmax(most, sum);
    }
    return pow(most, c->grid.dim);
}

facet_status boxsem_extremes(struct boxsem *c, int n, const double *x, int of_all, double *extremes) {
    facet_status status = FACET_OK;
    double *values = NULL, *slopes = NULL;
    TRY(ALLOC(values, n * c->n));
    TRY(ALLOC(slopes, n * c->n));
    TRY(boxsem_tabulate(c, 0, n, x, values, slopes));
    const double *const T[3] = {values, values, values};
    TRY(c->tiles != NULL ? box_tiles_extremes(c->tiles, c->n, n, T, c->u.data, extremes)
                         : box_extremes(&c->grid, (const int *const[3]){NULL, NULL, NULL}, c->n, n, values,
                                        numbers_of, c, of_all ? lebesgue(c, n, values) : 0.0, extremes));
done:
    base_free(&values);
    base_free(&slopes);
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

struct error_job {
    const struct boxsem *c;
    double *nodes;
};

static void describe_all(const void *user, int64_t cell, const int at[3], double *local,
                         struct box_function fields[]) {
    const struct error_job *job = user;
    boxsem_cell_move(job->c, at, BOXSEM_GATHER, job->nodes, local);
    describe(job->c, BOXSEM_U, cell, at, local, &fields[0]);
    describe(job->c, BOXSEM_Q, cell, at, local, &fields[1]);
}

/* The same on the device: nodes of the cells of a tile, and tables of them and of their slopes. */
struct error_there {
    const struct boxsem *c;
    int n_points;
    struct tile_tables values, slopes[3];
    double *cells;
};

static facet_status begin(void *user, const struct tile_plan *tile) {
    const struct error_there *e = user;
    const struct box_tiles *t = e->c->tiles;
    device_tile_gather(t->device, tile, t->degree, t->nodes, e->c->u.data, e->cells);
    return FACET_OK;
}

static void evaluate(void *user, const struct tile_plan *tile, int field, int d, double *values) {
    const struct error_there *e = user;
    const struct box_tiles *t = e->c->tiles;
    struct tile_scale scale = {.factor = field == 0 ? 1.0 : -1.0, .of_cells = field == 0 ? NULL : t->k};
    if (field > 0) scale.powers[d] = -1;
    device_tile_contract(t->device, tile, e->c->n, e->n_points,
                         (const double *const *)(field == 0 ? e->values : e->slopes[d]).T, &scale, 0,
                         e->cells, values, t->room);
}

static facet_status measure_there(const struct boxsem *c, const struct field *exact,
                                  const struct box_samples *samples, double L2[3], double *largest) {
    facet_status status = FACET_OK;
    struct error_there e = {.c = c, .n_points = samples->n_points};
    struct box_tiles *t = c->tiles;
    const struct box_tiles_measure measure = {.exact = exact,
                                              .n = samples->n_points,
                                              .x = samples->x,
                                              .weights = samples->w,
                                              .n_fields = 2,
                                              .begin = begin,
                                              .evaluate = evaluate,
                                              .user = &e};
    int64_t most = box_tiles_measured(t, e.n_points);
    const double *T[3] = {samples->values, samples->values, samples->values};
    TRY(tile_tables_create(t, c->n, e.n_points, T, &e.values));
    for (int d = 0; d < c->grid.dim; d++) {
        for (int i = 0; i < 3; i++) T[i] = i == d ? samples->slopes : samples->values;
        TRY(tile_tables_create(t, c->n, e.n_points, T, &e.slopes[d]));
    }
    TRY(tiles_need_room(t, most, c->n, e.n_points));
    TRY(device_alloc(t->device, &e.cells, (size_t)(most * c->cell_size), sizeof *e.cells));
    TRY(box_tiles_measure(t, &measure, L2, largest));
done:
    tile_tables_destroy(&e.values);
    for (int d = 0; d < 3; d++) tile_tables_destroy(&e.slopes[d]);
    device_free(t->device, &e.cells);
    return status;
}

facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.c = c};
    struct box_samples samples = {0};
    const struct box_measure measure = {.grid = &c->grid,
                                        .exact = exact,
                                        .n_fields = 2,
                                        .samples = {&samples, &samples},
                                        .describe = describe_all,
                                        .room = c->cell_size,
                                        .user = &job};
    struct vector u = c->u;
    double L2[3] = {NAN}, largest;
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &samples));
    if (c->tiles != NULL)
        TRY(measure_there(c, exact, &samples, L2, &largest));
    else {
        TRY(boxsem_nodes_open(&u, &job.nodes));
        TRY(box_measure(&measure, L2, &largest));
    }
    *errors = (struct box_errors){L2[0], largest, L2[1], -1.0, -1.0, -1.0};
done:
    boxsem_nodes_close(&u, 0, &job.nodes);
    box_samples_destroy(&samples);
    return status;
}
