/* Loops over tiles. */
#include "box/tiles_parts.h"

#include <math.h>

#include "base/memory.h"

void box_tiles_destroy(struct box_tiles **tiles) {
    struct box_tiles *t = *tiles;
    if (t == NULL) return;
    for (int i = 0; i < t->n_owned; i++) device_free(t->device, &t->owned[i]);
    for (int i = 0; i < t->n_kept; i++) device_free(t->device, &t->kept[i].there);
    device_free(t->device, &t->room);
    device_free(t->device, &t->k);
    device_free(t->device, &t->lambda);
    base_free(tiles);
}

static facet_status give(struct box_tiles *t, const void *host, int n, size_t size, const void **array) {
    facet_status status = FACET_OK;
    void *copy = NULL;
    TRY(device_copy(t->device, &copy, host, (size_t)n, size));
    t->owned[t->n_owned++] = copy;
    *array = copy;
done:
    return status;
}

facet_status box_tiles_create(const struct device *device, const struct box_grid *g,
                              const int *const kinds[3], struct box_tiles **tiles) {
    facet_status status = FACET_OK;
    struct box_tiles *t;
    int32_t *copy = NULL;
    TRY(CALLOC(*tiles, 1));
    t = *tiles;
    t->device = device;
    t->grid = g;
    t->n_kinds = 1;
    t->all = (struct tile_plan){.dim = g->dim, .cells = {1, 1, 1}, .count = g->n_cells};
    for (int d = 0; d < g->dim; d++) {
        t->all.cells[d] = g->cells[d];
        TRY(give(t, g->coordinates[d], g->cells[d] + 1, sizeof(double), (const void **)&t->all.ends[d]));
        if (kinds == NULL) continue;
        t->host_kinds[d] = kinds[d];
        TRY(ALLOC(copy, g->cells[d]));
        for (int i = 0; i < g->cells[d]; i++) {
            copy[i] = kinds[d][i];
            t->n_kinds = kinds[d][i] >= t->n_kinds ? kinds[d][i] + 1 : t->n_kinds;
        }
        TRY(give(t, copy, g->cells[d], sizeof *copy, (const void **)&t->all.kinds[d]));
        base_free(&copy);
    }
done:
    base_free(&copy);
    if (status != FACET_OK) box_tiles_destroy(tiles);
    return status;
}

void box_tiles_share(struct box_tiles *t, int k, const int nodes[3]) {
    t->degree = k;
    for (int d = 0; d < 3; d++) t->nodes[d] = nodes[d];
}

void box_tiles_forget_reaction(struct box_tiles *t) {
    device_free(t->device, &t->lambda);
}

int64_t tiles_in_one(const struct box_tiles *t, int64_t numbers) {
    const int64_t most = device_tile_numbers(t->device) / numbers;
    return most < 1 ? 1 : most < t->all.count ? most : t->all.count;
}

int64_t tiles_end(const struct box_tiles *t) {
    return t->all.first + t->all.count;
}

facet_status tiles_share_out(struct box_tiles *t, int64_t numbers, tiles_work work, void *user) {
    const int crew = device_callers(t->device, t->all.count * numbers);
    struct base_collector failures;
    if (crew == 1) return work(t, user);
    base_collector_init(&failures);
#pragma omp parallel for num_threads(crew) schedule(static, 1)
    for (int w = 0; w < crew; w++) {
        struct box_tiles part = *t;
        part.room = NULL;
        part.room_size = 0;
        part.all.first = t->all.count * w / crew;
        part.all.count = t->all.count * (w + 1) / crew - part.all.first;
        base_collect(&failures, w, work(&part, user));
        device_free(t->device, &part.room);
    }
    return base_collected(&failures);
}

struct tile_plan tiles_next(const struct box_tiles *t, int64_t first, int64_t most) {
    struct tile_plan tile = t->all;
    tile.first = first;
    tile.count = t->all.first + t->all.count - first < most ? t->all.first + t->all.count - first : most;
    return tile;
}

double box_tiles_bytes(const struct device *device, int dim, int n, double n_cells) {
    const double numbers = (double)box_power(n + BOX_EXTRA_POINTS + 1, dim), all = numbers * n_cells;
    const int callers = device_callers(device, (int64_t)all);
    const double most = fmax((double)device_tile_numbers(device), numbers), tile = fmin(most, all / callers);
    const struct tile_plan cells = {.dim = 1, .count = (int64_t)(tile / numbers)};
    const double scratch = (double)device_tile_scratch(device, &cells, (int)numbers, 1),
                 rows = (double)expr_program_block(device, (int64_t)tile);
    return 8.0 * callers * (2.0 * tile + scratch + 16.0 * rows); /* values of a load; rows of a program */
}

/* ------------------------------------------------------------------------------------- contractions */

void tile_tables_destroy(struct tile_tables *tables) {
    if (tables->device == NULL) return;
    for (int d = 0; d < 3; d++) device_free(tables->device, &tables->own[d]);
    *tables = (struct tile_tables){0};
}

static facet_status send(const struct box_tiles *t, int n_in, int n_out, const double *table,
                         double **there) {
    return device_copy(t->device, there, table, (size_t)(t->n_kinds * n_in * n_out), sizeof *table);
}

facet_status box_tiles_keep(struct box_tiles *t, int n_in, int n_out, const double *table) {
    facet_status status = FACET_OK;
    if (t->n_kept == KEPT) return FACET_OK; /* sent again and again, then */
    TRY(send(t, n_in, n_out, table, &t->kept[t->n_kept].there));
    t->kept[t->n_kept++].host = table;
done:
    return status;
}

facet_status tile_tables_create(const struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                struct tile_tables *tables) {
    facet_status status = FACET_OK;
    *tables = (struct tile_tables){.device = t->device};
    for (int d = 0; d < t->all.dim; d++) {
        for (int e = 0; e < d; e++)
            if (T[d] == T[e]) tables->T[d] = tables->T[e];
        for (int i = 0; i < t->n_kept; i++)
            if (T[d] == t->kept[i].host) tables->T[d] = t->kept[i].there;
        if (tables->T[d] != NULL) continue;
        TRY(send(t, n_in, n_out, T[d], &tables->own[d]));
        tables->T[d] = tables->own[d];
    }
done:
    if (status != FACET_OK) tile_tables_destroy(tables);
    return status;
}

facet_status tiles_need_room(struct box_tiles *t, int64_t most, int n_in, int n_out) {
    const struct tile_plan largest = tiles_next(t, t->all.first, most);
    const int64_t size = device_tile_scratch(t->device, &largest, n_in, n_out);
    if (size <= t->room_size) return FACET_OK;
    device_free(t->device, &t->room);
    t->room_size = 0;
    facet_status status = device_alloc(t->device, &t->room, (size_t)size, sizeof *t->room);
    if (status == FACET_OK) t->room_size = size;
    return status;
}

/* What becomes of a tile: an array of the device, one of the host, or extremes of its cells on the host. */
enum end { TO_DEVICE, TO_HOST, TO_EXTREMES };

struct contraction {
    int n_in, n_out;
    const double *const *T;
    const struct tile_scale *scale;
    const double *in;
    enum end end;
    double *out;
};

static facet_status contract_part(struct box_tiles *t, void *user) {
    facet_status status = FACET_OK;
    const struct contraction *c = user;
    const struct device *device = t->device;
    const int n_in = c->n_in, n_out = c->n_out;
    const int64_t size_in = box_power(n_in, t->all.dim), size = box_power(n_out, t->all.dim),
                  size_out = c->end == TO_EXTREMES ? 2 : size;
    const int64_t most = tiles_in_one(t, size_in > size ? size_in : size);
    struct tile_tables tables = {0};
    double *values = NULL, *cells = NULL;
    TRY(tile_tables_create(t, n_in, n_out, c->T, &tables));
    TRY(tiles_need_room(t, most, n_in, n_out));
    if (c->end != TO_DEVICE) TRY(device_alloc(device, &values, (size_t)(most * size_out), sizeof *values));
    if (t->degree > 0) TRY(device_alloc(device, &cells, (size_t)(most * size_in), sizeof *cells));
    for (int64_t first = t->all.first; first < tiles_end(t); first += most) {
        const struct tile_plan tile = tiles_next(t, first, most);
        double *to = c->end == TO_DEVICE ? c->out + first * size_out : values;
        const double *from = t->degree > 0 ? cells : c->in + first * size_in, *const *M =
                                                                                  (const double *const *)
                                                                                      tables.T;
        if (t->degree > 0) device_tile_gather(device, &tile, t->degree, t->nodes, c->in, cells);
        device_tile_contract(device, &tile, n_in, n_out, M, c->scale,
                             c->end == TO_EXTREMES ? TILE_EXTREMES : TILE_PUT, from, to, t->room);
        if (c->end != TO_DEVICE)
            TRY(device_download(device, c->out + first * size_out, to,
                                (size_t)(tile.count * size_out) * sizeof *to));
    }
    TRY(device_check(device));
done:
    tile_tables_destroy(&tables);
    device_free(device, &values);
    device_free(device, &cells);
    return status;
}

static facet_status contract(struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                             const struct tile_scale *scale, const double *in, enum end end, double *out) {
    struct contraction c = {n_in, n_out, T, scale, in, end, out};
    return tiles_share_out(t, box_power(n_in > n_out ? n_in : n_out, t->all.dim), contract_part, &c);
}

facet_status box_tiles_contract(struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                const struct tile_scale *scale, const double *in, double *out) {
    return contract(t, n_in, n_out, T, scale, in, TO_DEVICE, out);
}

facet_status box_tiles_download(struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                const struct tile_scale *scale, const double *in, double *out) {
    return contract(t, n_in, n_out, T, scale, in, TO_HOST, out);
}

facet_status box_tiles_extremes(struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                const double *in, double *extremes) {
    return contract(t, n_in, n_out, T, NULL, in, TO_EXTREMES, extremes);
}

static facet_status add_part(struct box_tiles *t, void *user) {
    facet_status status = FACET_OK;
    const struct contraction *c = user;
    const int64_t size = box_power(c->n_in, t->all.dim), most = tiles_in_one(t, size);
    struct tile_tables tables = {0};
    double *ones = NULL;
    TRY(tile_tables_create(t, c->n_in, c->n_in, c->T, &tables));
    TRY(tiles_need_room(t, most, c->n_in, c->n_in));
    TRY(device_alloc(t->device, &ones, (size_t)(most * size), sizeof *ones));
    device_fill(t->device, F64, most * size, 1.0, ones);
    for (int64_t first = t->all.first; first < tiles_end(t); first += most) {
        const struct tile_plan tile = tiles_next(t, first, most);
        device_tile_contract(t->device, &tile, c->n_in, c->n_in, (const double *const *)tables.T, c->scale,
                             TILE_ADD, ones, c->out + first * size, t->room);
    }
    TRY(device_check(t->device));
done:
    tile_tables_destroy(&tables);
    device_free(t->device, &ones);
    return status;
}

facet_status box_tiles_add_one(struct box_tiles *t, int n, const double *const T[3],
                               const struct tile_scale *scale, double *out) {
    struct contraction c = {n, n, T, scale, NULL, TO_DEVICE, out};
    return tiles_share_out(t, box_power(n, t->all.dim), add_part, &c);
}

facet_status tiles_extremes(const struct box_tiles *t, int64_t n_cells, int64_t numbers, const double *values,
                            double *extremes) {
    facet_status status = FACET_OK;
    double *found = NULL;
    TRY(device_alloc(t->device, &found, (size_t)(2 * n_cells), sizeof *found));
    device_tile_extremes(t->device, n_cells, numbers, 1, 0, values, found);
    TRY(device_download(t->device, extremes, found, (size_t)(2 * n_cells) * sizeof *found));
done:
    device_free(t->device, &found);
    return status;
}

facet_status box_tiles_fetch(struct box_tiles *t, int n_in, int64_t n, const int64_t *list, const double *in,
                             double *out) {
    facet_status status = FACET_OK;
    const int64_t size = box_power(n_in, t->all.dim);
    double *cells = NULL;
    TRY(device_alloc(t->device, &cells, (size_t)(n * size), sizeof *cells));
    for (int64_t i = 0; i < n; i++) {
        const struct tile_plan one = tiles_next(t, list[i], 1);
        if (t->degree > 0)
            device_tile_gather(t->device, &one, t->degree, t->nodes, in, cells + i * size);
        else
            device_move(t->device, cells + i * size, in + list[i] * size, (size_t)size * sizeof *cells);
    }
    TRY(device_download(t->device, out, cells, (size_t)(n * size) * sizeof *cells));
done:
    device_free(t->device, &cells);
    return status;
}

/* ------------------------------------------------------------------------------------- data */

facet_status box_tiles_check_finite(struct box_tiles *t, int n, const double *values, const char *what) {
    facet_status status = FACET_OK;
    const int64_t size = box_power(n, t->all.dim);
    double *extremes = NULL, *cell = NULL;
    TRY(ALLOC(extremes, 2 * t->all.count));
    TRY(tiles_extremes(t, t->all.count, size, values, extremes));
    for (int64_t c = 0; c < t->all.count; c++) {
        if (fmax(fabs(extremes[2 * c]), fabs(extremes[2 * c + 1])) <= FIELD_LARGEST &&
            !isnan(extremes[2 * c]))
            continue;
        TRY(ALLOC(cell, size));
        TRY(device_download(t->device, cell, values + c * size, (size_t)size * sizeof *cell));
        int64_t i = 0;
        while (i + 1 < size && fabs(cell[i]) <= FIELD_LARGEST) i++;
        FAIL(FACET_ERROR_INPUT, "number %lld of %s is %g%s", (long long)(c * size + i), what, cell[i],
             isfinite(cell[i]) ? ", beyond 1e140 (use other units)" : "");
    }
done:
    base_free(&extremes);
    base_free(&cell);
    return status;
}

facet_status tiles_need_cells(struct box_tiles *t, int reaction, double **cells) {
    facet_status status = FACET_OK;
    const struct box_grid *g = t->grid;
    double *host = NULL;
    if (*cells != NULL) return FACET_OK;
    TRY(ALLOC(host, g->n_cells));
    for (int64_t c = 0; c < g->n_cells; c++) host[c] = reaction ? box_reaction(g, c) : box_conductivity(g, c);
    TRY(device_copy(t->device, cells, host, (size_t)g->n_cells, sizeof *host));
done:
    base_free(&host);
    return status;
}

struct tile_points tiles_points(int dim, int n, const double *x, int d, const double *at) {
    struct tile_points points = {.n = {1, 1, 1}};
    for (int t = 0; t < dim; t++) {
        points.n[t] = t == d ? 1 : n;
        points.x[t] = t == d ? at : x;
    }
    return points;
}

/* Planes are worth it where so many points lie above one of theirs, and their numbers are few. */
#define PLANE_POINTS  16
#define PLANE_NUMBERS (1 << 21)

static unsigned choose_sets(int dim, const int n[3]) {
    unsigned sets = 1u << 1 | 1u << 2 | 1u << 4;
    for (int d = 0; d < 3 && dim == 3; d++) {
        const int64_t size = (int64_t)n[(d + 1) % 3] * n[(d + 2) % 3];
        if (n[d] >= PLANE_POINTS && size <= PLANE_NUMBERS) sets |= 1u << (7 - (1 << d));
    }
    return sets;
}

facet_status tiles_make_program(const struct box_tiles *t, const struct field *field, int order,
                                const struct tile_points *points, int end, int64_t most,
                                struct expr_program *program) {
    facet_status status = FACET_OK;
    const struct box_grid *g = t->grid;
    double *x[3] = {NULL};
    int n[3] = {1, 1, 1};
    for (int d = 0; d < t->all.dim; d++) {
        const int many = points->n[d], first = d == end ? g->cells[d] - 1 : 0;
        n[d] = (g->cells[d] - first) * many;
        TRY(ALLOC(x[d], n[d]));
        for (int i = 0; i < n[d]; i++)
            x[d][i] =
                g->coordinates[d][first + i / many] + g->widths[d][first + i / many] * points->x[d][i % many];
    }
    TRY(field_program_create(field, 0, t->device, t->all.dim, order, choose_sets(t->all.dim, n), most,
                             program));
    TRY(field_program_set_lines(field, 0, program, n, (const double *const *)x));
done:
    for (int d = 0; d < 3; d++) base_free(&x[d]);
    return status;
}

facet_status box_tiles_field_extremes(struct box_tiles *t, const struct field *field, int n, const double *x,
                                      double *extremes) {
    facet_status status = FACET_OK;
    const int64_t size = box_power(n, t->all.dim), most = tiles_in_one(t, size);
    struct expr_program program = {0};
    double *points = NULL, *values = NULL;
    TRY(device_copy(t->device, &points, x, (size_t)n, sizeof *x));
    TRY(device_alloc(t->device, &values, (size_t)(most * size), sizeof *values));
    const struct tile_points here = tiles_points(t->all.dim, n, x, -1, NULL),
                             there = tiles_points(t->all.dim, n, points, -1, NULL);
    TRY(tiles_make_program(t, field, 0, &here, -1, most * size, &program));
    for (int64_t first = 0; first < t->all.count; first += most) {
        const struct tile_plan tile = tiles_next(t, first, most);
        device_tile_expression(t->device, &tile, &there, &program.plan, &program.lines, TILE_VALUES, values,
                               program.work);
        TRY(tiles_extremes(t, tile.count, size, values, extremes + 2 * first));
    }
    TRY(device_check(t->device));
done:
    expr_program_destroy(&program);
    device_free(t->device, &points);
    device_free(t->device, &values);
    return status;
}
