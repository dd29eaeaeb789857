/* Integrals of data over the cells of tiles. */
#include <math.h>

#include "base/memory.h"
#include "box/tiles_parts.h"

/* Where f comes from: a number, an expression, a function of the caller, or his values on the device or on the host. */
enum origin { NUMBER, PROGRAM, FUNCTION, VALUES };

/* Everything that integrals are made with. */
struct integrals {
    struct box_tiles *t;
    const struct box_samples *samples;
    const struct box_given *given;
    const struct field *field; /* the source, or the exact solution */
    const double *given_values;
    enum origin origin;
    int on_host; /* the values of the caller are on the host */
    int exact;   /* f = lambda u - k div grad u */
    double number;
    struct tile_tables tables;
    struct expr_program program;
    double *points, *values;   /* on the device */
    double *cells;             /* there too: integrals of a tile, where nodes are shared */
    double *staged, *extremes; /* on the host: of a tile */
    double *out;
    int64_t n_points, size, most; /* of a cell; cells of a tile */
};

static void integrals_destroy(struct integrals *job) {
    const struct device *device = job->t->device;
    tile_tables_destroy(&job->tables);
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

/* Where the integrals of a tile go; and from there to the nodes. */
static double *room_of(const struct integrals *job, const struct tile_plan *tile) {
    return job->t->degree > 0 ? job->cells : job->out + tile->first * job->size;
}
static void share(const struct integrals *job, const struct tile_plan *tile) {
    const struct box_tiles *t = job->t;
    if (t->degree > 0) device_tile_add(t->device, tile, t->degree, t->nodes, job->cells, job->out);
}

/* Integrals of so large numbers are looked at again: the field refuses values beyond FIELD_LARGEST. */
#define SUSPICIOUS 1e100

/* The first cell of a tile with a value that is not finite says why: no integral of it is finite either. */
static facet_status check_finite(struct integrals *job, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = job->t;
    double *scratch = NULL;
    TRY(tiles_extremes(t, tile->count, job->size, room_of(job, tile), job->extremes));
    for (int64_t c = 0; c < tile->count; c++) {
        const double most = fmax(fabs(job->extremes[2 * c]), fabs(job->extremes[2 * c + 1]));
        if (isfinite(job->extremes[2 * c]) && most <= SUSPICIOUS) continue;
        if (scratch == NULL) TRY(ALLOC(scratch, box_integrate_room(job->samples, t->all.dim)));
        TRY(integrate_cell(job, tile->first + c, scratch, NULL));
        if (isfinite(job->extremes[2 * c])) continue;
        FAIL(FACET_ERROR_INPUT, "source: a value in cell %lld is not finite on the device '%s'",
             (long long)(tile->first + c), device_name(t->device));
    }
done:
    base_free(&scratch);
    return status;
}

/* Values to integrals: of u with lambda of the cells, or of f. */
static facet_status end_tile(struct integrals *job, const struct tile_plan *tile) {
    facet_status status = FACET_OK;
    const struct box_tiles *t = job->t;
    const struct box_samples *s = job->samples;
    const double *const *T = (const double *const *)job->tables.T;
    double *out = room_of(job, tile);
    struct tile_scale scale = {.factor = 1.0, .powers = {1, 1, 1}, .of_cells = job->exact ? t->lambda : NULL};
    const double *given = job->origin == VALUES ? job->given_values + tile->first * job->n_points : NULL,
                 *values = given != NULL ? given : job->values;
    const void *there = NULL;
    if (job->on_host) {
        TRY(device_place(t->device, given, (size_t)(tile->count * job->n_points), sizeof *given, &there));
        values = there;
    }
    device_tile_contract(t->device, tile, s->n_points, s->n, T, &scale, TILE_PUT, values, out, t->room);
    if (job->on_host) device_unplace(t->device, given, &there);
    scale.factor = -1.0;
    scale.of_cells = t->k;
    if (job->exact && job->origin == PROGRAM)
        device_tile_contract(t->device, tile, s->n_points, s->n, T, &scale, TILE_ADD,
                             job->values + tile->count * job->n_points, out, t->room);
    if (job->origin == PROGRAM) TRY(check_finite(job, tile));
    share(job, tile);
done:
    return status;
}

static facet_status integrate_tile(struct integrals *job, const struct tile_plan *tile) {
    const struct box_tiles *t = job->t;
    if (job->origin == PROGRAM) {
        const struct tile_points points =
            tiles_points(tile->dim, job->samples->n_points, job->points, -1, NULL);
        device_tile_expression(t->device, tile, &points, &job->program.plan, &job->program.lines,
                               job->exact ? TILE_LAPLACIANS : TILE_VALUES, job->values, job->program.work);
    }
    return end_tile(job, tile);
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
    TRY(tile_tables_create(t, s->n_points, s->n, T, &job->tables));
    TRY(tiles_need_room(t, job->most, s->n_points, s->n));
    if (job->origin == VALUES) goto done;
    TRY(device_alloc(t->device, &job->values, (size_t)(job->most * job->n_points * (1 + job->exact)),
                     sizeof *job->values));
    if (job->origin == NUMBER)
        device_fill(t->device, F64, job->most * job->n_points, job->number, job->values);
    if (job->origin != PROGRAM) goto done;
    TRY(device_copy(t->device, &job->points, s->x, (size_t)s->n_points, sizeof *s->x));
    TRY(ALLOC(job->extremes, 2 * job->most));
    const struct tile_points points = tiles_points(t->all.dim, s->n_points, s->x, -1, NULL);
    TRY(tiles_make_program(t, job->field, job->exact ? 2 : 0, &points, -1, job->most * job->n_points,
                           &job->program));
done:
    return status;
}

static facet_status integrate_cells(struct integrals *job, int64_t begin, int64_t end) {
    facet_status status = FACET_OK;
    struct box_tiles *t = job->t;
    t->all.first = begin;
    t->all.count = end - begin;
    for (int64_t first = begin; first < end; first += job->most) {
        const struct tile_plan tile = tiles_next(t, first, job->most);
        TRY(job->origin == FUNCTION ? call_tile(job, &tile) : integrate_tile(job, &tile));
    }
    TRY(device_check(t->device));
done:
    return status;
}

/* Parts of the cells that threads work on. Where nodes are shared, parts are layers of the last direction, as many
 * together as fill a tile: every other one at once, and the last of an odd number, whose neighbour across a periodic
 * side is the first, by itself. So a node receives in the same order whatever the number of threads. */
struct parts {
    int64_t count, step; /* of cells */
    int colours;
};

static struct parts find_parts(const struct integrals *job, int crew) {
    const struct box_tiles *t = job->t;
    const int64_t n = t->all.count, layer = n / t->all.cells[t->all.dim - 1];
    const int64_t layers = job->most > layer ? job->most / layer : 1;
    const int64_t step = t->degree == 0 ? (n + crew - 1) / crew : layers * layer;
    return (struct parts){(n + step - 1) / step, step, t->degree > 0 ? 3 : 1};
}

/* What one thread does. */
static void integrate_parts(struct integrals *job, const struct parts *parts, facet_status mine,
                            struct base_collector *failures) {
    const int64_t n = job->t->all.count, even = parts->count / 2 * 2;
    base_collect(failures, -1, mine);
    for (int colour = 0; colour < parts->colours; colour++) {
        const int64_t first = colour < 2 ? colour : even,
                      end = parts->colours > 1 && colour < 2 ? even : parts->count,
                      by = parts->colours > 1 ? 2 : 1;
#pragma omp for schedule(dynamic, 1)
        for (int64_t p = first; p < end; p += by) {
            const int64_t begin = p * parts->step, last = begin + parts->step;
            if (mine == FACET_OK) base_collect(failures, p, integrate_cells(job, begin, last < n ? last : n));
        }
    }
}

static facet_status integrate(struct integrals *job) {
    facet_status status = FACET_OK;
    struct box_tiles *t = job->t;
    struct base_collector failures;
    job->n_points = box_power(job->samples->n_points, t->all.dim);
    job->size = box_power(job->samples->n, t->all.dim);
    job->most = tiles_in_one(t, job->n_points);
    if (job->exact && job->origin != FUNCTION) TRY(tiles_need_cells(t, 0, &t->k));
    if (job->exact && job->origin != FUNCTION) TRY(tiles_need_cells(t, 1, &t->lambda));
    const int crew = device_callers(t->device, t->all.count * job->n_points);
    const struct parts parts = find_parts(job, crew);
    base_collector_init(&failures);
#pragma omp parallel num_threads(crew)
    {
        struct integrals own = *job;
        struct box_tiles part = *t;
        own.t = &part;
        part.room = NULL;
        part.room_size = 0;
        integrate_parts(&own, &parts, prepare(&own), &failures);
        integrals_destroy(&own);
        device_free(t->device, &part.room);
    }
    TRY(base_collected(&failures));
done:
    return status;
}

facet_status box_tiles_integrate(struct box_tiles *t, const struct box_samples *s,
                                 const struct box_given *given, double *out) {
    struct integrals job = {.t = t, .samples = s, .given = given, .out = out, .exact = given->source == NULL};
    job.field = job.exact ? given->exact : given->source;
    job.origin = !field_is_differentiable(job.field)         ? FUNCTION
                 : field_is_constant(job.field, &job.number) ? NUMBER
                                                             : PROGRAM;
    return integrate(&job);
}

facet_status box_tiles_integrate_values(struct box_tiles *t, const struct box_samples *s, int on_host,
                                        const double *values, double *out) {
    struct integrals job = {
        .t = t, .samples = s, .given_values = values, .on_host = on_host, .origin = VALUES, .out = out};
    return integrate(&job);
}
