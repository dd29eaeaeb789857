/* The global matrix as an operator: cell by cell, in colours of batches. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "device/seam.h"
#include "trace/half_precision.h"
#include "trace/sides.h"
#include "trace/slots.h"

#define MAX_SHARED_COLOURS 64
#define MIN_RUNS           128 /* runs of batches a block has at least, if it has so many: work for all threads */

/* What an operator owns, except for the matrices of cells in double precision; pointers inside the plans are
 * device addresses, except the colours. */
struct product {
    double bytes;
    int half; /* matrices, in 16 bits */
    int n_blocks;
    struct cell_plan cells[MESH_MAX_BLOCKS];
    int n_early[MESH_MAX_BLOCKS]; /* of their colours: those whose batches lie at a seam, which come first */
    struct trace_matrices owned;
    struct linear_operator rest; /* of half: batches that are in single precision; or empty */
};

static void product_free(struct linear_operator *A) {
    struct product *p = A->data;
    if (p == NULL) return;
    for (int b = 0; b < p->n_blocks; b++) {
        base_free(&p->cells[b].colour_starts);
        base_free(&p->cells[b].starts);
        base_free(&p->cells[b].ones);
        device_free(A->device, &p->cells[b].colour_batches);
        device_free(A->device, &p->cells[b].maps);
        device_free(A->device, &p->cells[b].loose);
        device_free(A->device, &p->cells[b].second);
        device_free(A->device, &p->cells[b].parts);
        device_free(A->device, &p->cells[b].room);
        if (A->precision == F32) device_free(A->device, &p->cells[b].matrices); /* else someone else's */
    }
    trace_matrices_destroy(&p->owned);
    operator_destroy(&p->rest);
    base_free(&A->data);
}

/* y += K x, by the first colours (those at a seam), by the others, or by all; fresh: y = K x. */
enum part { EARLY = 1, LATE = 2, ALL = EARLY | LATE };

static void multiply(const struct linear_operator *A, enum part part, int fresh, const struct vector *x,
                     struct vector *y) {
    const struct product *p = A->data;
    if (fresh && (p->n_blocks == 0 || p->cells[0].parts == NULL)) vector_fill(y, 0.0);
    for (int b = 0; b < p->n_blocks; b++) {
        struct cell_plan cells = p->cells[b];
        if (cells.colour_batches == NULL && !(part & EARLY)) continue; /* in parts all comes first */
        if (!(part & LATE)) cells.n_colours = p->n_early[b];
        if (!(part & EARLY)) {
            cells.colour_starts += p->n_early[b];
            cells.n_colours -= p->n_early[b];
        }
        cells.fresh = fresh && b == 0;
        if (p->half)
            device_cell_apply_half(A->device, &cells, x->numbers, y->numbers);
        else
            device_cell_apply(A->device, A->precision, &cells, x->numbers, y->numbers);
    }
    if (p->rest.apply != NULL && part & EARLY) p->rest.add(&p->rest, x, y);
}

static void product_add(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    multiply(A, ALL, 0, x, y);
}

/* Cells at the seam first, then the others while the messages are on their way. */
static void product_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    if (A->seam == NULL) {
        multiply(A, ALL, 1, x, y);
        return;
    }
    multiply(A, EARLY, 1, x, y);
    facet_status begun = seam_add_begin(A->seam, y);
    multiply(A, LATE, 0, x, y);
    seam_add_end(A->seam, begun, y);
}

/* A sum of partial sums at the seam would count what stood there twice: products are added whole. */
static void take_seam(struct linear_operator *A, struct seam *seam) {
    A->seam = seam_hold(seam);
    if (seam != NULL) A->add = NULL;
}

void trace_operator_own(struct linear_operator *A, struct trace_matrices *matrices) {
    ((struct product *)A->data)->owned = *matrices;
    *matrices = (struct trace_matrices){0};
}

double trace_operator_bytes(const struct linear_operator *A) {
    return ((const struct product *)A->data)->bytes;
}

/* ---------------------------------------------------------------------------------------------- cells */

static int64_t n_batches_of(const struct trace_slots *slots, int lanes, int block) {
    return (slots->count[block] + lanes - 1) / lanes;
}

/* Unknowns of a slot. */
static int slot_size(const struct trace_slots *slots, const struct trace_matrices *matrices, int block,
                     int64_t slot) {
    const int *starts = slots->starts[block];
    if (starts != NULL) return starts[slot + 1] - starts[slot];
    return slots->n_slots[block] > 0 ? matrices->n[block] / slots->n_slots[block] : 0;
}

/* Batches of a run, whatever the number of threads: a product must not depend on it. */
static int64_t choose_run(const struct trace_matrices *matrices, int block) {
    const int lanes = matrices->lanes;
    int64_t n_batches = matrices->n_batches[block];
    const int64_t bytes = trace_matrix_size(matrices, block) * lanes * (int64_t)sizeof(double);
    int64_t run = bytes > 0 ? device_cell_tuning(matrices->device)->run_bytes / bytes : 1;
    if (run > n_batches / MIN_RUNS) run = n_batches / MIN_RUNS;
    return run > 1 ? run : 1;
}

/* Entities of the batches begin .. end-1: where they stand among the slots. */
static void slot_range(const struct trace_slots *slots, int lanes, int block, int64_t *begin, int64_t *end) {
    int64_t n_slots = slots->n_slots[block], all = slots->count[block] * n_slots;
    *begin *= lanes * n_slots;
    *end *= lanes * n_slots;
    if (*end > all) *end = all;
}

/* Whether x is not zero on a batch. */
static int touches(const struct trace_slots *slots, const struct trace_matrices *matrices, int block,
                   int64_t batch, const double *x) {
    int64_t begin = batch, end = batch + 1;
    slot_range(slots, matrices->lanes, block, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = slots->first[slots->entities[block][i]];
        int size = slot_size(slots, matrices, block, i % slots->n_slots[block]);
        for (int k = 0; k < size && first >= 0; k++)
            if (x[first + k] != 0.0) return 1;
    }
    return 0;
}

/* The batches of a plan and their colours. */
struct colouring {
    int64_t run;
    int n_colours, n_early; /* the first of them are of batches that come first */
    int32_t *colour;        /* of each batch; -1: not in the plan */
};

/* Whether a run of batches comes first. */
static int is_early(const struct trace_slots *slots, const struct trace_matrices *matrices, int block,
                    int64_t begin, int64_t end) {
    slot_range(slots, matrices->lanes, block, &begin, &end);
    for (int64_t i = begin; slots->early != NULL && i < end; i++)
        if (slots->early[slots->entities[block][i]]) return 1;
    return 0;
}

/* Greedy colours from `offset` on, of those runs that come first, or of the others: a run of batches takes
 * the lowest colour that no run with a common entity has. Where very many meet (the hub of a fan), a run gets
 * a colour of its own. x: NULL, or a vector; batches where it is zero are left out, and runs are single
 * batches. Returns the number of colours. taken: n_entities zeros. */
static int colour_some(const struct trace_slots *slots, const struct trace_matrices *matrices, int block,
                       int early, const double *x, int offset, uint64_t *taken, struct colouring *c) {
    const int32_t *entities = slots->entities[block];
    int64_t n_batches = n_batches_of(slots, matrices->lanes, block);
    int n_shared = 0, n_own = 0;
    for (int64_t first = 0; first < n_batches; first += c->run) {
        int64_t last = first + c->run < n_batches ? first + c->run : n_batches, begin = first, end = last;
        uint64_t used = 0;
        int32_t colour = 0;
        if (is_early(slots, matrices, block, first, last) != early) continue;
        if (x != NULL && !touches(slots, matrices, block, first, x)) {
            c->colour[first] = -1;
            continue;
        }
        slot_range(slots, matrices->lanes, block, &begin, &end);
        for (int64_t i = begin; i < end; i++) used |= taken[entities[i]];
        while (colour < MAX_SHARED_COLOURS && (used >> colour & 1)) colour++;
        if (colour == MAX_SHARED_COLOURS)
            colour += n_own++;
        else {
            for (int64_t i = begin; i < end; i++) taken[entities[i]] |= (uint64_t)1 << colour;
            if (colour + 1 > n_shared) n_shared = colour + 1;
        }
        for (int64_t batch = first; batch < last; batch++) c->colour[batch] = offset + colour;
    }
    return n_own > 0 ? MAX_SHARED_COLOURS + n_own : n_shared;
}

static facet_status colour_runs(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                int block, const double *x, struct colouring *c) {
    facet_status status = FACET_OK;
    uint64_t *taken = NULL;
    c->run = x == NULL ? choose_run(matrices, block) : 1;
    TRY(CALLOC(taken, slots->n_entities));
    if (slots->early != NULL) {
        c->n_early = colour_some(slots, matrices, block, 1, x, 0, taken, c);
        memset(taken, 0, (size_t)slots->n_entities * sizeof *taken);
    }
    c->n_colours = c->n_early + colour_some(slots, matrices, block, 0, x, c->n_early, taken, c);
done:
    base_free(&taken);
    return status;
}

/* The cells of a face as threads find them: the later slot of the two, and how many there are. */
struct meeting {
    atomic_int_least64_t latest;
    atomic_int count;
};

/* 0 where there are more than two. */
static int meet(struct meeting *m, int64_t slot) {
    int64_t latest = atomic_load_explicit(&m->latest, memory_order_relaxed);
    while (latest < slot && !atomic_compare_exchange_weak(&m->latest, &latest, slot)) continue;
    return atomic_fetch_add(&m->count, 1) < 2;
}

/* Which cells are the second ones of their faces (struct cell_plan), batch x LANES; NULL where products are
 * not in parts: the device does not want them, faces differ in size or do not follow each other, or one has
 * more than two cells. n: unknowns. */
static facet_status find_seconds(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                 int block, int64_t n, uint8_t **second) {
    facet_status status = FACET_OK;
    const int n_slots = slots->n_slots[block], m = slot_size(slots, matrices, block, 0);
    const int64_t count = slots->count[block], n_faces = m > 0 ? n / m : 0;
    struct meeting *met = NULL;
    int fits = !device_cell_tuning(matrices->device)->colours && slots->starts[block] == NULL &&
               n_slots <= 8 && m > 0 && n % m == 0;
    *second = NULL;
    if (!fits) return FACET_OK;
    TRY(CALLOC(met, n_faces));
    TRY(CALLOC(*second, n_batches_of(slots, matrices->lanes, block) * matrices->lanes));
#pragma omp parallel for num_threads(base_threads_for(count)) schedule(static) reduction(& : fits)
    for (int64_t cell = 0; cell < count; cell++)
        for (int64_t i = cell * n_slots; i < (cell + 1) * n_slots; i++) {
            int64_t first = slots->first[slots->entities[block][i]];
            if (first < 0) continue;
            const int good = first % m == 0 && first + m <= n;
            fits &= good && meet(&met[first / m], i);
        }
#pragma omp parallel for num_threads(base_threads_for(count)) schedule(static)
    for (int64_t cell = 0; cell < (fits ? count : 0); cell++)
        for (int s = 0; s < n_slots; s++) {
            int64_t i = cell * n_slots + s, first = slots->first[slots->entities[block][i]];
            if (first >= 0 && met[first / m].count == 2 && met[first / m].latest == i)
                (*second)[cell] |= (uint8_t)(1 << s);
        }
done:
    base_free(&met);
    if (!fits || status != FACET_OK) base_free(second);
    return status;
}

/* The plan takes parts in the precision of the operator, zero to begin with. */
static facet_status make_parts(const struct device *device, enum precision precision,
                               struct cell_plan *plan) {
    const int64_t n = 2 * plan->n_unknowns;
    facet_status status = device_alloc(device, &plan->parts, (size_t)n, precision_size(precision));
    if (status == FACET_OK) device_fill(device, precision, n, 0.0, plan->parts);
    return status;
}

/* n: unknowns; x: as for colour_runs. */
/* The numbers of a cell: too many for the stack of a thread, where the degree is high. */
static facet_status make_room(const struct device *device, struct cell_plan *plan) {
    plan->threads = base_threads();
    if (device_has_memory(device)) return FACET_OK; /* a GPU has room of its own */
    return device_alloc(device, &plan->room, (size_t)(plan->threads * cell_plan_room_bytes(plan)), 1);
}

static facet_status make_cell_plan(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                   int block, int64_t n, const double *x, struct cell_plan *plan,
                                   int *n_early) {
    const int lanes = matrices->lanes;
    facet_status status = FACET_OK;
    uint8_t *second = NULL;
    int64_t n_batches = matrices->n_batches[block], *maps = NULL, *starts = NULL, *order = NULL;
    int64_t n_slots = slots->n_slots[block], n_maps = n_batches * n_slots * lanes;
    struct colouring c = {0};
    int *sizes = NULL;
    if (x == NULL) TRY(find_seconds(slots, matrices, block, n, &second));
    if (second == NULL) { /* else all batches may be worked on at the same time */
        TRY(ALLOC(c.colour, n_batches));
        TRY(colour_runs(slots, matrices, block, x, &c));
        TRY(base_group(c.n_colours, n_batches, c.colour, &starts, &order));
    } else {
        c.run = 1;
        TRY(CALLOC(starts, 1));
    }
    TRY(ALLOC(maps, n_maps));
    trace_fill_maps(lanes, slots->count[block], (int)n_slots, slots->entities[block], slots->first, maps);
    if (slots->starts[block] != NULL) {
        TRY(ALLOC(sizes, n_slots + 1));
        memcpy(sizes, slots->starts[block], (size_t)(n_slots + 1) * sizeof *sizes);
    }
    *plan = (struct cell_plan){.lanes = lanes,
                               .n_faces = (int)n_slots,
                               .m = slot_size(slots, matrices, block, 0),
                               .starts = sizes,
                               .n_batches = n_batches,
                               .n_colours = c.n_colours,
                               .run = c.run,
                               .colour_starts = starts,
                               .n_components = matrices->n_components,
                               .n_unknowns = n,
                               .matrices = matrices->values[block],
                               .full = matrices->full};
    *n_early = c.n_early;
    starts = NULL;
    sizes = NULL;
    if (second != NULL) {
        TRY(device_copy(matrices->device, &plan->second, second, (size_t)(n_batches * lanes), 1));
        TRY(make_parts(matrices->device, F64, plan));
    }
    if (order != NULL)
        TRY(device_copy(matrices->device, &plan->colour_batches, order, (size_t)n_batches, sizeof *order));
    TRY(device_copy(matrices->device, &plan->maps, maps, (size_t)n_maps, sizeof *maps));
    TRY(make_room(matrices->device, plan));
    if (matrices->loose[block] != NULL)
        TRY(device_copy(matrices->device, &plan->loose, matrices->loose[block], (size_t)(n_batches * lanes),
                        1));
done:
    base_free(&c.colour);
    base_free(&starts);
    base_free(&order);
    base_free(&maps);
    base_free(&sizes);
    base_free(&second);
    return status;
}

static facet_status make_cells(const struct trace_slots *slots, const struct trace_matrices *matrices,
                               int64_t n, const double *x, struct product *p) {
    facet_status status = FACET_OK;
    for (int b = 0; b < matrices->n_blocks; b++) {
        p->n_blocks = b + 1;
        TRY(make_cell_plan(slots, matrices, b, n, x, &p->cells[b], &p->n_early[b]));
        p->bytes += 8.0 * (double)(slots->count[b] * trace_matrix_size(matrices, b));
    }
done:
    return status;
}

/* ---------------------------------------------------------------------------------------------- operators */

static facet_status product_to_single(const struct linear_operator *A, struct linear_operator *S);

/* An operator without its plan yet. */
static facet_status begin_operator(int64_t n, const struct device *device, int full,
                                   struct linear_operator *A, struct product **p) {
    facet_status status = FACET_OK;
    *A = (struct linear_operator){.n = n,
                                  .device = device,
                                  .apply = product_apply,
                                  .add = product_add,
                                  .free = product_free,
                                  .name = "the element-wise trace product",
                                  .asymmetric = full,
                                  .to_single = product_to_single};
    TRY(CALLOC(*p, 1));
    A->data = *p;
done:
    return status;
}

/* Copies the structure without the matrices, on the device, for products in single precision. */
static facet_status copy_plan(const struct device *device, const struct cell_plan *from,
                              struct cell_plan *to) {
    facet_status status = FACET_OK;
    int64_t *starts = NULL;
    int *sizes = NULL;
    *to = *from;
    to->colour_starts = to->colour_batches = to->maps = NULL;
    to->loose = to->second = NULL;
    to->parts = to->room = NULL;
    to->starts = NULL;
    to->matrices = NULL;
    if (from->starts != NULL) {
        TRY(ALLOC(sizes, from->n_faces + 1));
        memcpy(sizes, from->starts, ((size_t)from->n_faces + 1) * sizeof *sizes);
        to->starts = sizes;
    }
    TRY(ALLOC(starts, from->n_colours + 1));
    memcpy(starts, from->colour_starts, ((size_t)from->n_colours + 1) * sizeof *starts);
    to->colour_starts = starts;
    if (from->colour_batches != NULL)
        TRY(device_duplicate(device, &to->colour_batches, from->colour_batches, (size_t)from->n_batches,
                             sizeof *to->colour_batches));
    TRY(device_duplicate(device, &to->maps, from->maps,
                         (size_t)(from->n_batches * from->n_faces * from->lanes), sizeof *to->maps));
    if (from->loose != NULL)
        TRY(device_duplicate(device, &to->loose, from->loose, (size_t)(from->n_batches * from->lanes), 1));
    if (from->second != NULL) {
        TRY(device_duplicate(device, &to->second, from->second, (size_t)(from->n_batches * from->lanes), 1));
        TRY(make_parts(device, F32, to));
    }
    TRY(make_room(device, to));
done:
    return status;
}

/* Rounds the matrices as well. */
static facet_status cells_to_single(const struct device *device, const struct cell_plan *from,
                                    struct cell_plan *to) {
    facet_status status = FACET_OK;
    int64_t n = cell_plan_start(from, from->n_faces),
            n_values = from->n_batches * (from->full ? n * n : n * (n + 1) / 2) * from->lanes;
    TRY(copy_plan(device, from, to));
    TRY(device_copy_rounded(device, F32, &to->matrices, from->matrices, n_values));
done:
    return status;
}

/* Numbers of the batches that are in single precision become zero, and so their part of a product. */
static facet_status clear_batches(const struct device *device, const struct cell_plan *plan,
                                  const uint8_t *held, uint16_t *halves) {
    facet_status status = FACET_OK;
    const int64_t size = cell_plan_half_size(plan) * plan->lanes;
    uint16_t *zeros = NULL;
    TRY(CALLOC(zeros, size));
    for (int64_t batch = 0; batch < plan->n_batches; batch++)
        if (held[batch])
            TRY(device_upload(device, halves + batch * size, zeros, (size_t)size * sizeof *zeros));
done:
    base_free(&zeros);
    return status;
}

/* The same to 16 bits, but for the batches of `held` (or NULL), with the net flux of cells apart or not. good
 * becomes 0 where a matrix is not semidefinite. */
static facet_status cells_to_half(const struct trace_space *space, const struct device *device, int block,
                                  const uint8_t *held, int apart, const struct cell_plan *from,
                                  struct cell_plan *to, int *good) {
    facet_status status = FACET_OK;
    const int n_faces = from->n_faces, dim = space->mesh->dim;
    uint16_t *halves = NULL;
    float *ones = NULL;
    double *host = NULL, *motions = NULL;
    TRY(copy_plan(device, from, to));
    to->apart = apart;
    TRY(ALLOC(ones, n_faces));
    to->ones = ones;
    for (int f = 0; f < n_faces; f++) /* psi_0 = 1 / sqrt(measure) */
        ones[f] = (float)sqrt(shape_measure(shape_face_shape(space->mesh->blocks[block].shape, f)));
    if (space->n_components > 1) {
        TRY(trace_half_motions(space, block, from->lanes, &to->n_near, &host));
        TRY(device_copy(device, &motions, host,
                        (size_t)(from->n_batches * n_faces * to->n_near * dim * from->lanes), sizeof *host));
        base_free(&host);
    }
    TRY(device_alloc(device, &halves, (size_t)(from->n_batches * cell_plan_half_size(to) * from->lanes),
                     sizeof *halves));
    to->matrices = halves;
    to->motions = motions;
    *good = device_cell_halve(device, to, from->matrices, halves) < 0;
    to->motions = NULL;
    if (held != NULL) TRY(clear_batches(device, to, held, halves));
done:
    base_free(&host);
    device_free(device, &motions);
    return status;
}

static facet_status product_to_single(const struct linear_operator *A, struct linear_operator *S) {
    facet_status status = FACET_OK;
    const struct product *from = A->data;
    struct product *to;
    TRY(begin_operator(A->n, A->device, A->asymmetric, S, &to));
    S->precision = F32;
    to->bytes = from->bytes / 2.0;
    for (int b = 0; b < from->n_blocks; b++) {
        to->n_blocks = b + 1;
        TRY(cells_to_single(A->device, &from->cells[b], &to->cells[b]));
        to->n_early[b] = from->n_early[b];
    }
done:
    return status;
}

/* 16 bits are for symmetric matrices of one unknown function, or of displacements, on the faces of a mesh, on
 * devices that have the kernels and gain by them. */
static int may_be_half(const struct trace_space *space, const struct linear_operator *A) {
    static const char *const kernels[] = {"cell_apply_half", "cell_halve"};
    const struct product *p = A->data;
    const int nc = space->n_components;
    if (A->apply != product_apply || A->precision != F64 || A->asymmetric) return 0;
    if (nc > 1 && (nc != space->mesh->dim || space->degree < 1)) return 0;
    for (int b = 0; b < p->n_blocks && nc > 1; b++)
        if (p->cells[b].starts != NULL) return 0;
    for (int k = 0; k < 2; k++)
        if (!device_has(A->device, kernels[k])) return 0;
    for (int b = 0; b < p->n_blocks; b++) { /* motions cost as much as so many rows more of each component */
        const struct cell_plan *cells = &p->cells[b];
        if (!device_half_pays(A->device, cell_plan_start(cells, cells->n_faces) / nc,
                              cells->n_batches * cells->lanes * nc * nc))
            return 0;
    }
    return 1;
}

/* Batches of displacements that are in single precision; few becomes 0 where they are many. */
static facet_status find_held(const struct trace_space *space, const struct trace_matrices *matrices,
                              uint8_t **held, int64_t *n_held, int *few) {
    facet_status status = FACET_OK;
    int64_t n = 0;
    *n_held = 0;
    for (int b = 0; b < matrices->n_blocks; b++) {
        int64_t count;
        TRY(trace_half_held(space, matrices, b, &held[b], &count));
        *n_held += count;
        n += matrices->n_batches[b];
    }
    *few = 2 * *n_held <= n;
done:
    return status;
}

/* *S with the net flux of cells apart or not; it stays empty where its rounding is too large. */
static facet_status try_half(const struct trace_space *space, const struct trace_matrices *matrices,
                             const struct linear_operator *A, uint8_t *const *held, int64_t n_held, int apart,
                             struct linear_operator *S) {
    facet_status status = FACET_OK;
    const struct product *from = A->data;
    struct product *to;
    double error = 0.0;
    int good = 1;
    TRY(begin_operator(A->n, A->device, 0, S, &to));
    S->precision = F32;
    to->half = 1;
    for (int b = 0; b < from->n_blocks && good; b++) {
        if (space->mesh->blocks[b].count == 0) continue;
        to->n_blocks = b + 1;
        TRY(cells_to_half(space, A->device, b, held[b], apart, &from->cells[b], &to->cells[b], &good));
        to->n_early[b] = from->n_early[b];
        to->bytes += 2.0 * (double)(space->mesh->blocks[b].count * cell_plan_half_size(&to->cells[b]));
        if (good) TRY(trace_half_error(space->mesh, matrices, b, &to->cells[b], &error));
        good = good && error <= TRACE_HALF_ERROR;
    }
    if (good && n_held > 0) {
        TRY(trace_half_rest(space, matrices, held, &to->rest));
        to->bytes += trace_operator_bytes(&to->rest);
    }
done:
    if (status != FACET_OK || !good) operator_destroy(S);
    return status;
}

/* Where lambda is large the net flux of cells drowns the rest of their matrices, unless it is apart. */
facet_status trace_operator_halve(const struct trace_space *space, const struct trace_matrices *matrices,
                                  const struct linear_operator *A, struct linear_operator *S) {
    facet_status status = FACET_OK;
    uint8_t *held[MESH_MAX_BLOCKS] = {NULL};
    int64_t n_held = 0;
    int few = 1;
    *S = (struct linear_operator){0};
    if (!may_be_half(space, A)) return FACET_OK;
    if (space->n_components > 1) TRY(find_held(space, matrices, held, &n_held, &few));
    if (!few) goto done;
    TRY(try_half(space, matrices, A, held, n_held, 0, S));
    if (S->apply == NULL && space->n_components > 1) TRY(try_half(space, matrices, A, held, n_held, 1, S));
    if (S->apply != NULL && trace_is_shared(space)) take_seam(S, space->seam);
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&held[b]);
    return status;
}

facet_status trace_slots_operator(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                  int64_t n, struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct product *p;
    TRY(begin_operator(n, matrices->device, matrices->full, A, &p));
    TRY(make_cells(slots, matrices, n, NULL, p));
done:
    if (status != FACET_OK) operator_destroy(A);
    return status;
}

/* Every face is a slot. first: of the faces, in the numbering that is wanted. */
static void face_slots(const struct trace_space *space, const int64_t *first, struct trace_slots *slots) {
    *slots = (struct trace_slots){.n_entities = space->n_faces, .first = first};
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        slots->count[b] = space->mesh->blocks[b].count;
        slots->n_slots[b] = space->n_slots[b];
        slots->entities[b] = space->faces[b];
        if (trace_slots_differ(space, b)) slots->starts[b] = space->slots[b];
    }
}

facet_status trace_operator_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                   struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct seam *seam = trace_is_shared(space) ? space->seam : NULL;
    struct trace_slots slots;
    uint8_t *early = NULL;
    face_slots(space, space->face_free, &slots);
    if (seam != NULL) {
        TRY(CALLOC(early, space->n_faces));
        for (int k = 0; k < seam->n_neighbours; k++)
            for (int64_t i = 0; i < seam->neighbours[k].count; i++)
                early[space->free_faces[seam->neighbours[k].items[i]]] = 1;
        slots.early = early;
    }
    TRY(trace_slots_operator(&slots, matrices, space->n_free, A));
    take_seam(A, seam);
done:
    base_free(&early);
    return status;
}

/* Whether an eliminated unknown is not zero. */
static int has_values(const struct trace_space *space, const double *eliminated) {
    for (int64_t f = 0; f < space->n_faces; f++)
        for (int64_t i = space->face_first[f]; space->face_free[f] < 0 && i < space->face_first[f + 1]; i++)
            if (eliminated[i] != 0.0) return 1;
    return 0;
}

facet_status trace_lift(const struct trace_space *space, const struct trace_matrices *matrices,
                        const double *eliminated, double *lift) {
    facet_status status = FACET_OK;
    struct trace_slots slots;
    struct linear_operator A = {0};
    struct vector in = {0}, out = {0};
    struct product *p;
    double *full = NULL;
    if (!has_values(space, eliminated)) {
#pragma omp parallel for num_threads(base_threads_for(space->n_free)) schedule(static)
        for (int64_t i = 0; i < space->n_free; i++) lift[i] = 0.0;
        return FACET_OK;
    }
    face_slots(space, space->face_first, &slots); /* one product in the full numbering */
    TRY(ALLOC(full, space->n_all));
    TRY(begin_operator(space->n_all, matrices->device, matrices->full, &A, &p));
    TRY(make_cells(&slots, matrices, space->n_all, eliminated, p));
    TRY(vector_create(matrices->device, space->n_all, &in));
    TRY(vector_create(matrices->device, space->n_all, &out));
    TRY(vector_upload(&in, eliminated));
    operator_apply(&A, &in, &out);
    TRY(vector_download(&out, full));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        const double *from = full + space->face_first[space->free_faces[b]];
        for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
            lift[i] = -from[i - space->free_offsets[b]];
    }
done:
    operator_destroy(&A);
    vector_destroy(&in);
    vector_destroy(&out);
    base_free(&full);
    return status;
}
