/* Schwarz smoothers on the trace: patches added up, or swept one colour after another. See face_patches.h. */
#include "bench/papers/face_patches.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/face_patch_sets.h"
#include "trace/levels.h"
#include "trace/slots.h"

/* Unknowns of a patch that the product with lanes of them has room for. */
#define MAX_ADDITIVE 1728

/* Of one thread that inverts patches. */
struct inverter {
    int32_t *place;
    double *B;
};

static void inverter_destroy(struct inverter *v) {
    base_free(&v->place);
    base_free(&v->B);
}

static facet_status inverter_create(const struct trace_space *space, const struct patch_set *set,
                                    struct inverter *v) {
    facet_status status = FACET_OK;
    TRY(ALLOC(v->B, set->largest * set->largest));
    TRY(ALLOC(v->place, space->n_free_faces));
    for (int64_t b = 0; b < space->n_free_faces; b++) v->place[b] = -1;
done:
    return status;
}

/* ------------------------------------------------------------------------------ additive */

/* Patches of as many faces with as many unknowns. */
struct patch_class {
    int n_faces, m;
    int64_t count;
};

/* The class of every patch. */
static facet_status classify(const struct trace_space *space, const struct patch_set *set, int32_t *of,
                             int *n_classes, struct patch_class **classes) {
    facet_status status = FACET_OK;
    int n = 0, room = 0;
    for (int64_t p = 0; p < set->n; p++) {
        int n_faces = (int)(set->first[p + 1] - set->first[p]), c = 0;
        int64_t size = patch_size(space, set, p);
        if (size > MAX_ADDITIVE)
            FAIL(FACET_ERROR_INPUT, "a patch has %lld unknowns, more than %d; use patches of cells",
                 (long long)size, MAX_ADDITIVE);
        struct patch_class mine = {n_faces, (int)(size / n_faces), 1};
        for (int64_t k = set->first[p]; k < set->first[p + 1]; k++)
            if (space->free_offsets[set->blocks[k] + 1] - space->free_offsets[set->blocks[k]] != mine.m)
                FAIL(FACET_ERROR_INPUT, "patches that are added up have faces of one shape, and those of "
                                        "prisms and pyramids two; use the "
                                        "smoother of faces");
        while (c < n && ((*classes)[c].n_faces != n_faces || (*classes)[c].m != mine.m)) c++;
        of[p] = c;
        if (c < n) {
            (*classes)[c].count++;
            continue;
        }
        if (n == room) TRY(base_realloc(classes, (size_t)(room += 16), sizeof **classes));
        (*classes)[n++] = mine;
    }
done:
    *n_classes = n;
    return status;
}

/* Lower triangle of B, weighted, into the lane at `to`. */
static void store_lane(const struct patch_class *c, const int64_t *blocks, const double *weight,
                       const double *B, int lanes, double *to) {
    int n = c->n_faces * c->m;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++, to += lanes)
            *to = B[(int64_t)i * n + j] * weight[blocks[i / c->m]] * weight[blocks[j / c->m]];
}

/* Where inverses go: those of a class into lanes, weighted, or (c NULL) one after another. */
struct inverses {
    const struct patch_class *c;
    int lanes;
    const double *weight; /* of the blocks */
    const int64_t *starts;
    double *values;
};

/* The inverses of the patches of `list`, or of the first `count` where it is NULL. */
static facet_status invert_patches(const struct trace_space *space, const struct block_rows *rows,
                                   const struct patch_set *set, int64_t count, const int64_t *list,
                                   const struct inverses *to) {
    struct base_collector failures;
    int64_t n = to->c != NULL ? (int64_t)to->c->n_faces * to->c->m : 0, size = n * (n + 1) / 2;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct inverter v = {0};
        facet_status mine = inverter_create(space, set, &v);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < count; k++) {
            int64_t p = list != NULL ? list[k] : k;
            if (mine != FACET_OK) continue;
            mine =
                patch_invert(space, rows, set, p, v.place, to->c != NULL ? v.B : to->values + to->starts[k]);
            base_collect(&failures, k, mine);
            if (mine == FACET_OK && to->c != NULL)
                store_lane(to->c, set->blocks + set->first[p], to->weight, v.B, to->lanes,
                           to->values + k / to->lanes * size * to->lanes + k % to->lanes);
        }
        inverter_destroy(&v);
    }
    return base_collected(&failures);
}

static facet_status class_operator(const struct device *device, const struct trace_space *space,
                                   const struct block_rows *rows, const struct patch_set *set,
                                   const struct patch_class *c, const int64_t *list, const double *weight,
                                   struct linear_operator *A) {
    facet_status status = FACET_OK;
    const int lanes = device_lanes(device);
    int64_t n = (int64_t)c->n_faces * c->m, n_batches = (c->count + lanes - 1) / lanes;
    struct trace_matrices matrices = {
        .device = device, .lanes = lanes, .n_blocks = 1, .n = {(int)n}, .n_batches = {n_batches}};
    struct trace_slots slots = {.count = {c->count},
                                .n_slots = {c->n_faces},
                                .n_entities = space->n_free_faces,
                                .first = space->free_offsets};
    int64_t n_values = n_batches * (n * (n + 1) / 2) * lanes;
    double *host = NULL;
    int32_t *entities = NULL;
    TRY(CALLOC(host, n_values));
    TRY(invert_patches(space, rows, set, c->count, list,
                       &(struct inverses){.c = c, .lanes = lanes, .weight = weight, .values = host}));
    TRY(device_copy(device, &matrices.values[0], host, (size_t)n_values, sizeof *host));
    base_free(&host);
    TRY(ALLOC(entities, c->count * c->n_faces));
    for (int64_t k = 0; k < c->count; k++)
        for (int f = 0; f < c->n_faces; f++)
            entities[k * c->n_faces + f] = (int32_t)set->blocks[set->first[list[k]] + f];
    slots.entities[0] = entities;
    TRY(trace_slots_operator(&slots, &matrices, space->n_free, A));
    trace_operator_own(A, &matrices);
done:
    base_free(&host);
    base_free(&entities);
    trace_matrices_destroy(&matrices);
    return status;
}

/* Every block counts with 1 over the root of the number of its patches on both sides. */
static facet_status find_weights(const struct trace_space *space, const struct patch_set *set,
                                 double **weight) {
    facet_status status = CALLOC(*weight, space->n_free_faces);
    if (status != FACET_OK) return status;
    for (int64_t k = 0; k < set->first[set->n]; k++) (*weight)[set->blocks[k]] += 1.0;
    for (int64_t b = 0; b < space->n_free_faces; b++) (*weight)[b] = 1.0 / sqrt((*weight)[b]);
    return FACET_OK;
}

facet_status operator_create_patches(const struct trace_space *space, const struct trace_matrices *matrices,
                                     enum trace_patch kind, struct linear_operator *D) {
    facet_status status = FACET_OK;
    struct patch_set set = {0};
    struct block_rows rows = {0};
    struct patch_class *classes = NULL;
    struct linear_operator *parts = NULL;
    int32_t *of = NULL;
    int64_t *list = NULL;
    double *weight = NULL;
    int n_classes = 0;
    *D = (struct linear_operator){0};
    TRY(patch_set_create(space, kind, &set));
    TRY(block_rows_create(space, matrices, &rows));
    TRY(find_weights(space, &set, &weight));
    TRY(ALLOC(of, set.n));
    TRY(ALLOC(list, set.n));
    TRY(classify(space, &set, of, &n_classes, &classes));
    TRY(CALLOC(parts, n_classes));
    for (int c = 0; c < n_classes; c++) {
        int64_t n = 0;
        for (int64_t p = 0; p < set.n; p++)
            if (of[p] == c) list[n++] = p;
        TRY(class_operator(matrices->device, space, &rows, &set, &classes[c], list, weight, &parts[c]));
    }
    TRY(operator_create_sum(matrices->device, space->n_free, n_classes, parts, "the patches", D));
done:
    patch_set_destroy(&set);
    block_rows_destroy(&rows);
    base_free(&classes);
    base_free(&of);
    base_free(&list);
    base_free(&weight);
    for (int c = 0; c < n_classes && parts != NULL; c++) operator_destroy(&parts[c]);
    base_free(&parts);
    return status;
}

/* ------------------------------------------------------------------------------ multiplicative */

struct sweep {
    const struct device *device;
    struct face_patches plan; /* its arrays are owned */
    int steps;
    enum precision precision;
    void *scratch;
};

static void sweep_free(struct smoother *s) {
    struct sweep *sweep = s->data;
    if (sweep == NULL) return;
    struct face_patches *p = &sweep->plan;
    void *arrays[] = {&p->rows.first,  &p->rows.panel_first, &p->rows.columns, &p->rows.sizes,
                      &p->rows.starts, &p->rows.values,      &p->first,        &p->blocks,
                      &p->starts,      &p->inverses};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) device_free(sweep->device, arrays[i]);
    base_free(&p->colour_starts);
    device_free(sweep->device, &sweep->scratch);
    base_free(&s->data);
}

static void sweep_run(const struct sweep *s, int backward, const struct vector *f, struct vector *x) {
    for (int k = 0; k < s->steps; k++)
        if (s->precision == F32)
            face_sweep_single(&s->plan, backward, f->numbers, x->numbers, s->scratch);
        else
            face_sweep(&s->plan, backward, f->numbers, x->numbers, s->scratch);
}

static void sweep_smooth(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                         int from_zero, struct vector *x) {
    (void)A;
    if (from_zero) vector_fill(x, 0.0);
    sweep_run(s->data, 0, f, x);
}

static void sweep_post(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                       struct vector *x) {
    (void)A;
    sweep_run(s->data, 1, f, x);
}

static facet_status copy_numbers(const struct device *device, enum precision precision, void *pointer,
                                 const double *from_host, int64_t n) {
    facet_status status = FACET_OK;
    double *copy = NULL;
    if (precision == F64) return device_copy(device, pointer, from_host, (size_t)n, sizeof *from_host);
    TRY(device_copy(device, &copy, from_host, (size_t)n, sizeof *copy));
    TRY(device_copy_rounded(device, precision, pointer, copy, n));
done:
    device_free(device, &copy);
    return status;
}

static facet_status upload_rows(const struct trace_space *space, const struct block_rows *rows,
                                struct sweep *s) {
    facet_status status = FACET_OK;
    const struct device *device = s->device;
    struct facet_plan *plan = &s->plan.rows;
    size_t n = (size_t)space->n_free_faces, n_panels = (size_t)rows->n_panels;
    plan->n_rows = space->n_free_faces;
    TRY(device_copy(device, &plan->first, space->free_offsets, n + 1, sizeof(int64_t)));
    TRY(device_copy(device, &plan->panel_first, rows->panel_first, n + 1, sizeof(int64_t)));
    TRY(device_copy(device, &plan->columns, rows->columns, n_panels, sizeof(int64_t)));
    TRY(device_copy(device, &plan->sizes, rows->sizes, n_panels, sizeof(int32_t)));
    TRY(device_copy(device, &plan->starts, rows->starts, n_panels, sizeof(int64_t)));
    TRY(copy_numbers(device, s->precision, &plan->values, rows->values, rows->n_values));
done:
    return status;
}

static facet_status upload_patches(const struct trace_space *space, const struct block_rows *rows,
                                   struct patch_set *set, struct sweep *s) {
    facet_status status = FACET_OK;
    const struct device *device = s->device;
    struct face_patches *plan = &s->plan;
    int64_t *starts = NULL, n_values = 0;
    double *inverses = NULL;
    TRY(ALLOC(starts, set->n));
    for (int64_t p = 0; p < set->n; p++) {
        int64_t n = patch_size(space, set, p);
        starts[p] = n_values;
        n_values += n * n;
    }
    TRY(ALLOC(inverses, n_values));
    TRY(invert_patches(space, rows, set, set->n, NULL,
                       &(struct inverses){.starts = starts, .values = inverses}));
    TRY(copy_numbers(device, s->precision, &plan->inverses, inverses, n_values));
    TRY(device_copy(device, &plan->starts, starts, (size_t)set->n, sizeof *starts));
    TRY(device_copy(device, &plan->first, set->first, (size_t)set->n + 1, sizeof *set->first));
    TRY(device_copy(device, &plan->blocks, set->blocks, (size_t)set->first[set->n], sizeof *set->blocks));
    plan->n_patches = set->n;
    plan->n_colours = set->n_colours;
    plan->largest = set->largest;
    plan->colour_starts = set->colour_starts;
    set->colour_starts = NULL;
done:
    base_free(&starts);
    base_free(&inverses);
    return status;
}

facet_status smoother_create_sweep(const struct trace_space *space, const struct trace_matrices *matrices,
                                   enum trace_patch kind, int steps, enum precision precision,
                                   struct smoother *s) {
    facet_status status = FACET_OK;
    struct patch_set set = {0};
    struct block_rows rows = {0};
    struct sweep *sweep = NULL;
    *s = (struct smoother){.smooth = sweep_smooth, .post = sweep_post, .free = sweep_free};
    if (!device_is_host(matrices->device))
        FAIL(FACET_ERROR_INPUT, "sweeps over patches run on devices in the memory of the host");
    TRY(CALLOC(sweep, 1));
    s->data = sweep;
    sweep->device = matrices->device;
    sweep->steps = steps;
    sweep->precision = precision;
    TRY(patch_set_create(space, kind, &set));
    TRY(patch_set_colour(space, &set));
    TRY(block_rows_create(space, matrices, &rows));
    TRY(upload_rows(space, &rows, sweep));
    TRY(upload_patches(space, &rows, &set, sweep));
    size_t n = (size_t)face_sweep_scratch(&sweep->plan);
    TRY(device_alloc(sweep->device, &sweep->scratch, n, precision_size(precision)));
done:
    patch_set_destroy(&set);
    block_rows_destroy(&rows);
    if (status != FACET_OK) smoother_destroy(s);
    return status;
}

/* ------------------------------------------------------------------------------ levels */

#define CELL_STEPS 0.7 /* of what single faces need: patches of cells overlap */

static facet_status make_smoother(void *data, const struct trace_space *space,
                                  const struct trace_matrices *matrices, struct trace_level *level) {
    const struct face_patch_smoother *o = data;
    if (o->steps > 0)
        level->degree = o->steps;
    else if (o->kind == TRACE_PATCH_CELL && !o->sweeps)
        level->degree = (int)fmax(1.0, round(CELL_STEPS * level->degree));
    else
        level->degree = 2;
    if (!o->sweeps) return operator_create_patches(space, matrices, o->kind, &level->D);
    return smoother_create_sweep(space, matrices, o->kind, level->degree, level->single ? F32 : F64,
                                 &level->smoother);
}

struct trace_smoother face_patch_smoother(struct face_patch_smoother *o) {
    return (struct trace_smoother){.make = make_smoother, .data = o};
}
