/* Loops over tiles. */
#include "box/tiles.h"

#include <math.h>

#include "base/memory.h"

/* Numbers of an array of a tile: enough for every kernel to fill a GPU, and a small part of its memory. */
#define TILE_NUMBERS (1 << 24)

/* A table that was sent, and what it was sent from. */
#define KEPT 4
struct kept {
    const double *host;
    double *there;
};

struct box_tiles {
    const struct device *device;
    const struct box_grid *grid;
    struct tile_plan all;     /* of all cells */
    const int *host_kinds[3]; /* the caller's */
    int n_kinds;
    void *owned[8];
    int n_owned;
    struct kept kept[KEPT];
    int n_kept;
    double *room; /* scratch of contractions, which stays */
    int64_t room_size;
    double *k, *lambda;   /* of the cells; made when they are needed */
    int degree, nodes[3]; /* of elements that share nodes; 0: they do not */
};

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

/* Cells of a tile whose arrays have `numbers` for each. */
static int64_t tile_cells(int64_t n_cells, int64_t numbers) {
    int64_t most = TILE_NUMBERS / numbers;
    return most < 1 ? 1 : most < n_cells ? most : n_cells;
}

/* The tile that begins at a cell. */
static struct tile_plan next_tile(const struct box_tiles *t, int64_t first, int64_t most) {
    struct tile_plan tile = t->all;
    tile.first = first;
    tile.count = t->all.count - first < most ? t->all.count - first : most;
    return tile;
}

double box_tiles_bytes(int dim, int n, double n_cells) {
    double numbers = (double)box_power(n + BOX_EXTRA_POINTS + 1, dim), all = numbers * n_cells;
    double tile = all < TILE_NUMBERS ? all : fmax(TILE_NUMBERS, numbers);
    return 8.0 * (7.0 * tile + 64.0 * fmin(tile, 1 << 17)); /* jets, scratch, cells; rows of a program */
}

/* ------------------------------------------------------------------------------------- contractions */

/* Tables on the device, one for each direction; `own` are those that go again. */
struct tables {
    const struct device *device;
    double *T[3], *own[3];
};

static void tables_destroy(struct tables *tables) {
    if (tables->device == NULL) return;
    for (int d = 0; d < 3; d++) device_free(tables->device, &tables->own[d]);
    *tables = (struct tables){0};
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

static facet_status tables_create(const struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                                  struct tables *tables) {
    facet_status status = FACET_OK;
    *tables = (struct tables){.device = t->device};
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
    if (status != FACET_OK) tables_destroy(tables);
    return status;
}

/* Scratch for the largest tile, kept from call to call. */
static facet_status need_room(struct box_tiles *t, int64_t most, int n_in, int n_out) {
    const struct tile_plan largest = next_tile(t, 0, most);
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

static facet_status contract(struct box_tiles *t, int n_in, int n_out, const double *const T[3],
                             const struct tile_scale *scale, const double *in, enum end end, double *out) {
    facet_status status = FACET_OK;
    const struct device *device = t->device;
    const int64_t size_in = box_power(n_in, t->all.dim), size = box_power(n_out, t->all.dim),
                  size_out = end == TO_EXTREMES ? 2 : size;
    const int64_t most = tile_cells(t->all.count, size_in > size ? size_in : size);
    struct tables tables = {0};
    double *values = NULL, *cells = NULL;
    TRY(tables_create(t, n_in, n_out, T, &tables));
    TRY(need_room(t, most, n_in, n_out));
    if (end != TO_DEVICE) TRY(device_alloc(device, &values, (size_t)(most * size_out), sizeof *values));
    if (t->degree > 0) TRY(device_alloc(device, &cells, (size_t)(most * size_in), sizeof *cells));
    for (int64_t first = 0; first < t->all.count; first += most) {
        const struct tile_plan tile = next_tile(t, first, most);
        double *to = end == TO_DEVICE ? out + first * size_out : values;
        const double *from = t->degree > 0 ? cells : in + first * size_in, *const *M = (const double *const *)
                                                                                           tables.T;
        if (t->degree > 0) device_tile_gather(device, &tile, t->degree, t->nodes, in, cells);
        if (end == TO_EXTREMES)
            device_tile_contract_extremes(device, &tile, n_in, n_out, M, from, to, t->room);
        else
            device_tile_contract(device, &tile, n_in, n_out, M, scale, 0, from, to, t->room);
        if (end != TO_DEVICE)
            TRY(device_download(device, out + first * size_out, to,
                                (size_t)(tile.count * size_out) * sizeof *to));
    }
    TRY(device_check(device));
done:
    tables_destroy(&tables);
    device_free(device, &values);
    device_free(device, &cells);
    return status;
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

facet_status box_tiles_add_one(struct box_tiles *t, int n, const double *const T[3],
                               const struct tile_scale *scale, double *out) {
    facet_status status = FACET_OK;
    const int64_t size = box_power(n, t->all.dim), most = tile_cells(t->all.count, size);
    struct tables tables = {0};
    double *ones = NULL;
    TRY(tables_create(t, n, n, T, &tables));
    TRY(need_room(t, most, n, n));
    TRY(device_alloc(t->device, &ones, (size_t)(most * size), sizeof *ones));
    device_fill(t->device, F64, most * size, 1.0, ones);
    for (int64_t first = 0; first < t->all.count; first += most) {
        const struct tile_plan tile = next_tile(t, first, most);
        device_tile_contract(t->device, &tile, n, n, (const double *const *)tables.T, scale, 1, ones,
                             out + first * size, t->room);
    }
    TRY(device_check(t->device));
done:
    tables_destroy(&tables);
    device_free(t->device, &ones);
    return status;
}

/* Of the values of a tile: extremes of its cells, on the host. */
static facet_status tile_extremes(const struct box_tiles *t, int64_t n_cells, int64_t numbers,
                                  const double *values, double *extremes) {
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
        const struct tile_plan one = next_tile(t, list[i], 1);
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
    TRY(tile_extremes(t, t->all.count, size, values, extremes));
    for (int64_t c = 0; c < t->all.count; c++) {
        if (isfinite(extremes[2 * c])) continue;
        TRY(ALLOC(cell, size));
        TRY(device_download(t->device, cell, values + c * size, (size_t)size * sizeof *cell));
        int64_t i = 0;
        while (i + 1 < size && isfinite(cell[i])) i++;
        FAIL(FACET_ERROR_INPUT, "number %lld of %s is %g", (long long)(c * size + i), what, cell[i]);
    }
done:
    base_free(&extremes);
    base_free(&cell);
    return status;
}

/* k or lambda of the cells. */
static facet_status need_cells(struct box_tiles *t, int reaction, double **cells) {
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

/* Where f comes from: a number, an expression, a function of the caller, or his values on the device. */
enum origin { NUMBER, PROGRAM, FUNCTION, VALUES };

/* Everything that integrals are made with. */
struct integrals {
    struct box_tiles *t;
    const struct box_samples *samples;
    const struct box_given *given;
    const struct field *field; /* the source, or the exact solution */
    const double *given_values;
    enum origin origin;
    int exact; /* f = lambda u - k div grad u */
    double number;
    struct tables tables;
    struct expr_program program;
    double *points, *values;   /* on the device */
    double *cells;             /* there too: integrals of a tile, where nodes are shared */
    double *staged, *extremes; /* on the host: of a tile */
    double *out;
    int64_t n_points, size, most; /* of a cell; cells of a tile */
};

static void integrals_destroy(struct integrals *job) {
    const struct device *device = job->t->device;
    tables_destroy(&job->tables);
    expr_program_destroy(&job->program);
    device_free(device, &job->points);
    device_free(device, &job->values);
    device_free(device, &job->cells);
    base_free(&job->staged);
    base_free(&job->extremes);
}

/* The same on the host, for one cell: what functions give, and why an expression has no value. */
static facet_status integrate_cell(const struct integrals *job, int64_t cell, double *scratch,
                                   double *integrals) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = job->t;
    int at[3], kinds[3] = {0};
    double *made;
    box_cell_at(t->grid, cell, at);
    for (int d = 0; d < t->all.dim; d++)
        if (t->host_kinds[d] != NULL) kinds[d] = t->host_kinds[d][at[d]];
    TRY(box_integrate(job->samples, kinds, t->grid, job->given, cell, -1, 0, scratch, &made));
    for (int64_t i = 0; integrals != NULL && i < job->size; i++)
        integrals[i] = box_cell_volume(t->grid, at) * made[i];
done:
    return status;
}

/* The first cell of a tile with a value that is not finite says why. */
static facet_status check_finite(struct integrals *job, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = job->t;
    double *scratch = NULL;
    for (int i = 0; i < 1 + job->exact; i++) {
        TRY(tile_extremes(t, tile->count, job->n_points, job->values + i * tile->count * job->n_points,
                          job->extremes));
        for (int64_t c = 0; c < tile->count; c++) {
            if (isfinite(job->extremes[2 * c])) continue;
            TRY(ALLOC(scratch, box_integrate_room(job->samples, t->all.dim)));
            TRY(integrate_cell(job, tile->first + c, scratch, NULL));
            FAIL(FACET_ERROR_INPUT, "source: a value in cell %lld is not finite on the device '%s'",
                 (long long)(tile->first + c), device_name(t->device));
        }
    }
done:
    base_free(&scratch);
    return status;
}

/* Where the integrals of a tile go; and from there to the nodes. */
static double *room_of(const struct integrals *job, const struct tile_plan *tile) {
    return job->t->degree > 0 ? job->cells : job->out + tile->first * job->size;
}
static void share(const struct integrals *job, const struct tile_plan *tile) {
    const struct box_tiles *t = job->t;
    if (t->degree > 0) device_tile_add(t->device, tile, t->degree, t->nodes, job->cells, job->out);
}

/* Values to integrals: of u with lambda of the cells, or of f. */
static void end_tile(const struct integrals *job, const struct tile_plan *tile) {
    const struct box_tiles *t = job->t;
    const struct box_samples *s = job->samples;
    const double *const *T = (const double *const *)job->tables.T;
    double *out = room_of(job, tile);
    struct tile_scale scale = {.factor = 1.0, .powers = {1, 1, 1}, .of_cells = job->exact ? t->lambda : NULL};
    const double *values =
        job->origin == VALUES ? job->given_values + tile->first * job->n_points : job->values;
    device_tile_contract(t->device, tile, s->n_points, s->n, T, &scale, 0, values, out, t->room);
    scale.factor = -1.0;
    scale.of_cells = t->k;
    if (job->exact && job->origin == PROGRAM)
        device_tile_contract(t->device, tile, s->n_points, s->n, T, &scale, 1,
                             job->values + tile->count * job->n_points, out, t->room);
    share(job, tile);
}

static facet_status integrate_tile(struct integrals *job, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = job->t;
    if (job->origin == PROGRAM) {
        device_tile_expression(t->device, tile, job->samples->n_points, job->points, &job->program.plan,
                               &job->program.lines, job->exact ? TILE_LAPLACIANS : TILE_VALUES, job->values,
                               job->program.work);
        TRY(check_finite(job, tile));
    } else if (tile->first == 0 && job->origin == NUMBER)
        device_fill(t->device, F64, tile->count * job->n_points, job->number, job->values);
    end_tile(job, tile);
done:
    return status;
}

/* Functions of the caller are called by all threads, as elsewhere. */
static facet_status call_tile(struct integrals *job, const struct tile_plan *tile) {
    const struct box_tiles *t = job->t;
    const int64_t room = box_integrate_room(job->samples, t->all.dim);
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(tile->count * job->n_points))
    {
        double *scratch = NULL;
        facet_status mine = ALLOC(scratch, room);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 16)
        for (int64_t c = 0; c < tile->count; c++)
            if (mine == FACET_OK)
                base_collect(&failures, tile->first + c,
                             integrate_cell(job, tile->first + c, scratch, job->staged + c * job->size));
        base_free(&scratch);
    }
    facet_status status = base_collected(&failures);
    if (status == FACET_OK)
        status = device_upload(t->device, room_of(job, tile), job->staged,
                               (size_t)(tile->count * job->size) * sizeof *job->staged);
    if (status == FACET_OK) share(job, tile);
    return status;
}

/* The program of a field with n points a cell on [0, 1] (expr/field.h), with what depends on one coordinate
 * along lines. */
static facet_status make_program(const struct box_tiles *t, const struct field *field, int order, int n,
                                 const double *points, int64_t most, struct expr_program *program) {
    facet_status status = FACET_OK;
    const struct box_grid *g = t->grid;
    double *x = NULL;
    TRY(field_program_create(field, 0, t->device, t->all.dim, order, most, program));
    for (int d = 0; d < t->all.dim; d++) {
        TRY(ALLOC(x, g->cells[d] * n));
        for (int i = 0; i < g->cells[d] * n; i++)
            x[i] = g->coordinates[d][i / n] + g->widths[d][i / n] * points[i % n];
        TRY(field_program_set_lines(field, 0, program, d, g->cells[d] * n, x));
        base_free(&x);
    }
done:
    base_free(&x);
    return status;
}

static facet_status prepare(struct integrals *job) {
    facet_status status = FACET_OK;
    struct box_tiles *t = job->t;
    const struct box_samples *s = job->samples;
    const double *const T[3] = {s->weighted, s->weighted, s->weighted};
    if (t->degree > 0)
        TRY(device_alloc(t->device, &job->cells, (size_t)(job->most * job->size), sizeof *job->cells));
    if (job->origin == FUNCTION) {
        TRY(ALLOC(job->staged, job->most * job->size));
        goto done;
    }
    TRY(tables_create(t, s->n_points, s->n, T, &job->tables));
    TRY(need_room(t, job->most, s->n_points, s->n));
    if (job->origin == VALUES) goto done;
    TRY(device_copy(t->device, &job->points, s->x, (size_t)s->n_points, sizeof *s->x));
    TRY(device_alloc(t->device, &job->values, (size_t)(job->most * job->n_points * (1 + job->exact)),
                     sizeof *job->values));
    if (job->exact) TRY(need_cells(t, 0, &t->k));
    if (job->exact) TRY(need_cells(t, 1, &t->lambda));
    if (job->origin == NUMBER) goto done;
    TRY(ALLOC(job->extremes, 2 * job->most));
    TRY(make_program(t, job->field, job->exact ? 2 : 0, s->n_points, s->x, job->most * job->n_points,
                     &job->program));
done:
    return status;
}

static facet_status integrate(struct integrals *job) {
    facet_status status = FACET_OK;
    struct box_tiles *t = job->t;
    job->n_points = box_power(job->samples->n_points, t->all.dim);
    job->size = box_power(job->samples->n, t->all.dim);
    job->most = tile_cells(t->all.count, job->n_points);
    TRY(prepare(job));
    for (int64_t first = 0; first < t->all.count; first += job->most) {
        const struct tile_plan tile = next_tile(t, first, job->most);
        TRY(job->origin == FUNCTION ? call_tile(job, &tile) : integrate_tile(job, &tile));
    }
    TRY(device_check(t->device));
done:
    integrals_destroy(job);
    return status;
}

facet_status box_tiles_integrate(struct box_tiles *t, const struct box_samples *s,
                                 const struct box_given *given, double *out) {
    struct integrals job = {.t = t, .samples = s, .given = given, .out = out, .exact = given->source == NULL};
    job.field = job.exact ? given->exact : given->source;
    if (given->values != NULL) job.exact = 0;
    job.origin = given->values != NULL || !field_is_differentiable(job.field) ? FUNCTION
                 : field_is_constant(job.field, &job.number)                  ? NUMBER
                                                                              : PROGRAM;
    return integrate(&job);
}

facet_status box_tiles_integrate_values(struct box_tiles *t, const struct box_samples *s,
                                        const double *values, double *out) {
    struct integrals job = {.t = t, .samples = s, .given_values = values, .origin = VALUES, .out = out};
    return integrate(&job);
}

facet_status box_tiles_field_extremes(struct box_tiles *t, const struct field *field, int n, const double *x,
                                      double *extremes) {
    facet_status status = FACET_OK;
    const int64_t size = box_power(n, t->all.dim), most = tile_cells(t->all.count, size);
    struct expr_program program = {0};
    double *points = NULL, *values = NULL;
    TRY(device_copy(t->device, &points, x, (size_t)n, sizeof *x));
    TRY(device_alloc(t->device, &values, (size_t)(most * size), sizeof *values));
    TRY(make_program(t, field, 0, n, x, most * size, &program));
    for (int64_t first = 0; first < t->all.count; first += most) {
        const struct tile_plan tile = next_tile(t, first, most);
        device_tile_expression(t->device, &tile, n, points, &program.plan, &program.lines, TILE_VALUES,
                               values, program.work);
        TRY(tile_extremes(t, tile.count, size, values, extremes + 2 * first));
    }
    TRY(device_check(t->device));
done:
    expr_program_destroy(&program);
    device_free(t->device, &points);
    device_free(t->device, &values);
    return status;
}
