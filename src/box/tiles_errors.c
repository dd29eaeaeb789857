/* Errors on tiles. */
#include <math.h>

#include "base/memory.h"
#include "box/tiles_parts.h"

/* Whoever measures has several arrays of a tile. */
#define ARRAYS 2

int64_t box_tiles_measured(const struct box_tiles *t, int n) {
    return tiles_in_one(t, ARRAYS * box_power(n, t->all.dim));
}

/* The exact solution at points of cells: a program, or a number. */
struct values {
    struct tile_points points;
    struct expr_program program;
};

struct errors {
    struct box_tiles *t;
    const struct box_tiles_measure *m;
    int64_t size, most;
    int is_number;
    double number;
    struct values inside, faces[3];
    double *points, *weights, *ends, *exact, *values, *found; /* on the device */
    double *ones;        /* there too, where there is a constant; else NULL */
    double *host, *part; /* what was found in a tile */
    void *user;          /* of the caller, for this part */
    const struct sums *sums;
};

/* What was found in all cells: n numbers each, squares by fields, those of faces, and the greatest error of
 * the first field; and the squares of faces at the upper ends of directions, one for each of these cells. */
struct sums {
    const struct box_tiles_measure *m;
    int n;
    double *cells, *ends[3];
};

static const double zero_and_one[2] = {0.0, 1.0};

/* Points inside (d < 0), or on the lower or upper faces of direction d: there, of the last cells alone. */
static facet_status make_values(struct errors *e, int d, int side, struct values *v) {
    const struct box_tiles *t = e->t;
    const int dim = t->all.dim;
    const struct tile_points here = tiles_points(dim, e->m->n, e->m->x, d, &zero_and_one[side]);
    v->points = tiles_points(dim, e->m->n, e->points, d, e->ends + side);
    if (e->is_number) return FACET_OK;
    expr_program_destroy(&v->program);
    return tiles_make_program(t, e->m->exact, d < 0, &here, side ? d : -1,
                              d < 0 ? e->most * e->size : e->most * e->size / e->m->n, &v->program);
}

/* The value, and with a gradient its components behind it. */
static void find_values(const struct errors *e, const struct values *v, const struct tile_plan *tile,
                        enum tile_jet jet, double *out) {
    const struct device *device = e->t->device;
    int64_t all = tile->count;
    for (int d = 0; d < tile->dim; d++) all *= v->points.n[d];
    if (e->is_number) {
        device_fill(device, F64, all * tile_jets(jet, tile->dim), 0.0, out);
        device_fill(device, F64, all, e->number, out);
    } else
        device_tile_expression(device, tile, &v->points, &v->program.plan, &v->program.lines, jet, out,
                               v->program.work);
    if (e->ones != NULL) device_axpby(device, F64, all, -e->m->constant, e->ones, 1.0, out);
}

/* Numbers of the cells of a tile, `step` of which were found for each, to those that begin here, `stride`
 * apart. */
static facet_status collect(struct errors *e, int64_t count, int step, double *to, int stride) {
    facet_status status = FACET_OK;
    TRY(device_download(e->t->device, e->host, e->found, (size_t)(step * count) * sizeof *e->host));
    for (int64_t c = 0; c < count; c++) to[stride * c] = e->host[step * c];
done:
    return status;
}

static facet_status measure_tile(struct errors *e, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles_measure *m = e->m;
    const struct device *device = e->t->device;
    const int n = e->sums->n;
    double *to = e->sums->cells + tile->first * n;
    const struct tile_scale plain = {.factor = 1.0}, flux = {.factor = -1.0, .of_cells = e->t->k};
    find_values(e, &e->inside, tile, TILE_GRADIENTS, e->exact);
    TRY(m->begin(e->user, tile));
    for (int f = 0; f < m->n_fields; f++)
        for (int c = 0; c < (f % 2 == 0 ? 1 : tile->dim); c++) {
            m->evaluate(e->user, tile, f, c, e->values);
            device_tile_difference(device, tile, m->n, e->weights, f % 2 == 0 ? &plain : &flux, e->values,
                                   e->exact + (f % 2 == 0 ? 0 : c + 1) * tile->count * e->size, e->found);
            TRY(collect(e, tile->count, 2, e->part, 1));
            for (int64_t i = 0; i < tile->count; i++) {
                to[n * i + f] = (c > 0 ? to[n * i + f] : 0.0) + e->part[i];
                if (f == 0) to[n * i + n - 1] = e->host[2 * i + 1];
            }
        }
    for (int d = 0; d < tile->dim && m->faces != NULL; d++) {
        find_values(e, &e->faces[d], tile, TILE_VALUES, e->values);
        TRY(m->faces(e->user, tile, d, 0, e->values, d > 0, e->found));
    }
    if (m->faces != NULL) TRY(collect(e, tile->count, 1, to + m->n_fields, n));
done:
    return status;
}

/* Of a part its share of the upper faces of a direction that ends there: its last cells as a box of their
 * own. */
static facet_status measure_end(struct errors *e, int d) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = e->t;
    struct tile_plan layer = t->all;
    const int last = layer.cells[d] - 1;
    const int64_t all = t->grid->n_cells / layer.cells[d], end = tiles_end(t) * all / t->grid->n_cells;
    layer.ends[d] += last;
    if (layer.kinds[d] != NULL) layer.kinds[d] += last;
    layer.cells[d] = 1;
    TRY(make_values(e, d, 1, &e->faces[d]));
    for (layer.first = t->all.first * all / t->grid->n_cells; layer.first < end; layer.first += e->most) {
        layer.count = end - layer.first < e->most ? end - layer.first : e->most;
        find_values(e, &e->faces[d], &layer, TILE_VALUES, e->values);
        TRY(e->m->faces(e->user, &layer, d, 1, e->values, 0, e->found));
        TRY(collect(e, layer.count, 1, e->sums->ends[d] + layer.first, 1));
    }
done:
    return status;
}

/* Where the exact solution is not finite, the host says. */
static facet_status find_fault(const struct box_tiles *t, const struct box_tiles_measure *m) {
    facet_status status = FACET_OK;
    const struct box_grid *g = t->grid;
    const int counts[3] = {m->n, m->n, m->n};
    const int64_t size = box_power(m->n, g->dim);
    const double *const x[3] = {m->x, m->x, m->x};
    double *points = NULL, *jets, lines[3][BOX_MAX_LINE];
    TRY(ALLOC(points, size * (1 + 2 * g->dim)));
    jets = points + size * g->dim;
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        const struct expr_grid grid = box_cell_lines(g, at, counts, x, lines);
        expr_grid_points(&grid, points);
        TRY(base_wrap(field_eval_jet(m->exact, 0, (int)size, g->dim, points, jets, jets + size, NULL),
                      "exact"));
    }
done:
    base_free(&points);
    return status;
}

static facet_status prepare(struct errors *e) {
    facet_status status = FACET_OK;
    const struct box_tiles_measure *m = e->m;
    const struct device *device = e->t->device;
    const int dim = e->t->all.dim;
    TRY(device_copy(device, &e->points, m->x, (size_t)m->n, sizeof *m->x));
    TRY(device_copy(device, &e->weights, m->weights, (size_t)m->n, sizeof *m->weights));
    TRY(device_copy(device, &e->ends, zero_and_one, 2, sizeof *zero_and_one));
    TRY(device_alloc(device, &e->exact, (size_t)(e->most * e->size * (1 + dim)), sizeof *e->exact));
    TRY(device_alloc(device, &e->values, (size_t)(e->most * e->size), sizeof *e->values));
    TRY(device_alloc(device, &e->found, (size_t)(2 * e->most), sizeof *e->found));
    TRY(ALLOC(e->host, 3 * e->most));
    e->part = e->host + 2 * e->most;
    if (m->constant != 0.0) {
        TRY(device_alloc(device, &e->ones, (size_t)(e->most * e->size), sizeof *e->ones));
        device_fill(device, F64, e->most * e->size, 1.0, e->ones);
    }
    TRY(make_values(e, -1, 0, &e->inside));
    for (int d = 0; d < dim && m->faces != NULL; d++) TRY(make_values(e, d, 0, &e->faces[d]));
done:
    return status;
}

static void errors_destroy(struct errors *e) {
    const struct device *device = e->t->device;
    expr_program_destroy(&e->inside.program);
    for (int d = 0; d < 3; d++) expr_program_destroy(&e->faces[d].program);
    device_free(device, &e->points);
    device_free(device, &e->weights);
    device_free(device, &e->ends);
    device_free(device, &e->exact);
    device_free(device, &e->values);
    device_free(device, &e->found);
    device_free(device, &e->ones);
    base_free(&e->host);
}

static facet_status measure_part(struct box_tiles *t, void *user) {
    facet_status status = FACET_OK;
    const struct sums *sums = user;
    const struct box_tiles_measure *m = sums->m;
    struct errors e = {.t = t, .m = m, .size = box_power(m->n, t->all.dim), .user = m->user, .sums = sums};
    e.most = box_tiles_measured(t, m->n);
    e.is_number = field_is_constant(m->exact, &e.number);
    if (m->open != NULL) TRY(m->open(m->of, t, &e.user));
    TRY(prepare(&e));
    for (int64_t first = t->all.first; first < tiles_end(t); first += e.most) {
        const struct tile_plan tile = tiles_next(t, first, e.most);
        TRY(measure_tile(&e, &tile));
    }
    for (int d = 0; d < t->all.dim; d++)
        if (sums->ends[d] != NULL) TRY(measure_end(&e, d));
    TRY(device_check(t->device));
done:
    errors_destroy(&e);
    if (m->open != NULL) m->close(&e.user);
    return status;
}

/* In the order of the cells, whoever found them. */
static void add_up(const struct box_grid *g, const struct sums *sums, double *L2, double *Linf) {
    const int n = sums->n, faces = n - 2;
    *Linf = 0.0;
    for (int f = 0; f <= faces; f++) L2[f] = 0.0;
    for (int64_t c = 0; c < g->n_cells; c++) {
        const double *of = sums->cells + c * n;
        for (int f = 0; f < faces + (sums->m->faces != NULL); f++) L2[f] += of[f];
        if (!(of[n - 1] <= *Linf)) *Linf = of[n - 1];
    }
    for (int d = 0; d < g->dim; d++)
        for (int64_t i = 0; sums->ends[d] != NULL && i < g->n_cells / g->cells[d]; i++)
            L2[faces] += sums->ends[d][i];
}

facet_status box_tiles_measure(struct box_tiles *t, const struct box_tiles_measure *m, double *L2,
                               double *Linf) {
    facet_status status = FACET_OK;
    const struct box_grid *g = t->grid;
    struct sums sums = {.m = m, .n = m->n_fields + 2};
    double sum = 0.0;
    TRY(ALLOC(sums.cells, g->n_cells * sums.n));
    for (int d = 0; d < g->dim && m->faces != NULL; d++)
        if (g->sides[d][1] != BOX_PERIODIC && g->sides[d][1] != BOX_SEAM)
            TRY(ALLOC(sums.ends[d], g->n_cells / g->cells[d]));
    TRY(tiles_need_cells(t, 0, &t->k));
    TRY(tiles_share_out(t, box_power(m->n, g->dim), measure_part, &sums));
    add_up(g, &sums, L2, Linf);
    for (int f = 0; f <= m->n_fields; f++) sum += L2[f];
    if (!isfinite(sum)) TRY(find_fault(t, m));
    if (g->part != NULL) {
        TRY(team_reduce(g->part->team, TEAM_SUM, m->n_fields + 1, L2));
        TRY(team_reduce(g->part->team, TEAM_MAX, 1, Linf));
    }
    for (int f = 0; f <= m->n_fields; f++) L2[f] = sqrt(L2[f]);
done:
    base_free(&sums.cells);
    for (int d = 0; d < 3; d++) base_free(&sums.ends[d]);
    return status;
}
