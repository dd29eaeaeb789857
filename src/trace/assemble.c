/* Assembly face by face (king2014, Algorithms 1 and 2): the rows of a face are the business of that face
 * alone, which gathers from the element matrices of the cells around it. No locks, no atomics. */
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "device/seam.h"
#include "trace/sides.h"

/* One place where a cell meets a face. */
struct place {
    int32_t cell; /* in the block */
    uint8_t block, slot;
};

struct assembly {
    const struct trace_space *space;
    int itself; /* a face is coupled with itself only */
    int64_t *starts;
    struct place *places; /* of face f: starts[f] .. starts[f + 1] - 1, by cell and slot */
    int64_t room;         /* faces around a face, counted as often as they are met, at most */
    struct trace_view view;
};

static facet_status list_places(struct assembly *a) {
    facet_status status = FACET_OK;
    const struct trace_space *space = a->space;
    int64_t n = 0, most = 0, slots = 0;
    for (int b = 0; b < space->mesh->n_blocks; b++) {
        n += (int64_t)space->mesh->blocks[b].count * space->n_slots[b];
        if (space->n_slots[b] > slots) slots = space->n_slots[b];
    }
    TRY(CALLOC(a->starts, space->n_faces + 2));
    TRY(ALLOC(a->places, n));
    int64_t *next = a->starts + 1; /* becomes the starts when every list has been filled */
    for (int b = 0; b < space->mesh->n_blocks; b++)
        for (int64_t i = 0; i < (int64_t)space->mesh->blocks[b].count * space->n_slots[b]; i++)
            next[space->faces[b][i] + 1]++;
    for (int64_t f = 0; f < space->n_faces; f++) {
        most = next[f + 1] > most ? next[f + 1] : most;
        next[f + 1] += next[f];
    }
    for (int b = 0; b < space->mesh->n_blocks; b++)
        for (int64_t i = 0; i < (int64_t)space->mesh->blocks[b].count * space->n_slots[b]; i++)
            a->places[next[space->faces[b][i]]++] = (struct place){
                (int32_t)(i / space->n_slots[b]), (uint8_t)b, (uint8_t)(i % space->n_slots[b])};
    a->room = most * slots;
done:
    return status;
}

static int64_t size_of(const struct trace_space *space, int32_t face) {
    return space->face_first[face + 1] - space->face_first[face];
}

static const int32_t *faces_of(const struct trace_space *space, const struct place *p) {
    return space->faces[p->block] + (int64_t)p->cell * space->n_slots[p->block];
}

/* The free faces coupled to a free face, ascending as their unknowns do; returns their number. row: the
 * length of its rows. */
static int64_t coupled_faces(const struct assembly *a, int32_t face, int32_t *coupled, int64_t *row) {
    const struct trace_space *space = a->space;
    int64_t n = 0, kept = 0;
    if (a->itself) coupled[n++] = face;
    for (int64_t p = a->starts[face]; p < a->starts[face + 1] && !a->itself; p++) {
        const int32_t *faces = faces_of(space, &a->places[p]);
        for (int s = 0; s < space->n_slots[a->places[p].block]; s++)
            if (space->face_free[faces[s]] >= 0 && size_of(space, faces[s]) > 0) coupled[n++] = faces[s];
    }
    base_sort(n, coupled);
    *row = 0;
    for (int64_t i = 0; i < n; i++) {
        if (kept > 0 && coupled[kept - 1] == coupled[i]) continue;
        coupled[kept++] = coupled[i];
        *row += size_of(space, coupled[i]);
    }
    return kept;
}

/* place: n_faces of them, where the columns of a face begin in these rows; -1, and so again afterwards. */
static void assemble_face(const struct assembly *a, int64_t b, int32_t *coupled, int32_t *place,
                          struct csr *csr) {
    const struct trace_space *space = a->space;
    int32_t face = space->free_faces[b];
    int64_t first = space->free_offsets[b], n_rows = space->free_offsets[b + 1] - first, row, at = 0;
    int64_t n = coupled_faces(a, face, coupled, &row);
    int32_t *columns = csr->columns + csr->offsets[first];
    double *values = csr->values + csr->offsets[first];
    for (int64_t c = 0; c < n; c++) {
        place[coupled[c]] = (int32_t)at;
        for (int64_t j = 0; j < size_of(space, coupled[c]); j++)
            columns[at++] = (int32_t)(space->face_free[coupled[c]] + j);
    }
    for (int64_t i = 1; i < n_rows; i++) memcpy(columns + i * row, columns, (size_t)row * sizeof *columns);
    memset(values, 0, (size_t)(n_rows * row) * sizeof *values);
    for (int64_t p = a->starts[face]; p < a->starts[face + 1]; p++) {
        const struct place *here = &a->places[p];
        const int *slots = space->slots[here->block];
        const double *K = trace_view_cell(&a->view, here->block, here->cell);
        for (int s = 0; s < space->n_slots[here->block]; s++) {
            int64_t start = place[faces_of(space, here)[s]];
            for (int64_t i = 0; i < n_rows && start >= 0; i++)
                for (int j = slots[s]; j < slots[s + 1]; j++)
                    values[i * row + start + j - slots[s]] +=
                        trace_view_entry(&a->view, here->block, K, slots[here->slot] + (int)i, j);
        }
    }
    for (int64_t c = 0; c < n; c++) place[coupled[c]] = -1;
}

/* Lengths of rows, or entries. */
static facet_status all_faces(const struct assembly *a, int entries, struct csr *csr) {
    const struct trace_space *space = a->space;
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        int32_t *coupled = NULL, *place = NULL;
        int64_t row;
        facet_status mine = ALLOC(coupled, a->room);
        if (mine == FACET_OK && entries) mine = ALLOC(place, space->n_faces);
        for (int64_t f = 0; f < space->n_faces && mine == FACET_OK && entries; f++) place[f] = -1;
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < space->n_free_faces; b++) {
            if (mine != FACET_OK) continue;
            if (entries) {
                assemble_face(a, b, coupled, place, csr);
                continue;
            }
            coupled_faces(a, space->free_faces[b], coupled, &row);
            for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
                csr->offsets[i + 1] = row;
        }
        base_free(&coupled);
        base_free(&place);
    }
    return base_collected(&failures);
}

static facet_status assemble(const struct trace_space *space, const struct trace_matrices *matrices,
                             int itself, struct csr *csr) {
    facet_status status = FACET_OK;
    struct assembly a = {.space = space, .itself = itself, .view = {.matrices = matrices}};
    *csr = (struct csr){.n = space->n_free, .asymmetric = matrices->full};
    TRY(list_places(&a));
    TRY(ALLOC(csr->offsets, csr->n + 1));
    TRY(all_faces(&a, 0, csr));
    csr->offsets[0] = 0;
    base_sum_up(csr->n, csr->offsets);
    TRY(ALLOC(csr->columns, csr->offsets[csr->n]));
    TRY(ALLOC(csr->values, csr->offsets[csr->n]));
    TRY(trace_view_open(matrices, &a.view));
    TRY(all_faces(&a, 1, csr));
done:
    trace_view_close(&a.view);
    base_free(&a.starts);
    base_free(&a.places);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}

/* From where the matrices are; *done: there were kernels for it. */
static facet_status fetch(const struct trace_space *space, const struct trace_matrices *matrices,
                          struct csr *csr, int *done) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    struct trace_entries there = {0};
    *csr = (struct csr){.n = space->n_free};
    TRY(trace_entries_create(space, matrices, 0, &there));
    *done = there.values != NULL;
    if (!*done) goto done;
    TRY(ALLOC(csr->offsets, csr->n + 1));
    TRY(ALLOC(csr->columns, there.count));
    TRY(ALLOC(csr->values, there.count));
    TRY(device_download(device, csr->offsets, there.offsets, (size_t)(csr->n + 1) * sizeof *csr->offsets));
    TRY(device_download(device, csr->columns, there.columns, (size_t)there.count * sizeof *csr->columns));
    TRY(device_download(device, csr->values, there.values, (size_t)there.count * sizeof *csr->values));
done:
    trace_entries_destroy(&there);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}

facet_status trace_assemble(const struct trace_space *space, const struct trace_matrices *matrices,
                            struct csr *csr) {
    int done = 0;
    static const char *const kernels[] = {"face_couple", "face_columns", "face_rows", NULL};
    facet_status status =
        device_takes_over(matrices->device, kernels) ? fetch(space, matrices, csr, &done) : FACET_OK;
    return status != FACET_OK || done ? status : assemble(space, matrices, 0, csr);
}

facet_status trace_block_diagonal(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct csr *csr) {
    facet_status status = FACET_OK;
    int64_t *starts = NULL;
    TRY(assemble(space, matrices, 1, csr));
    TRY(operator_block_starts(space->n_free_faces, space->free_offsets, &starts));
    TRY(seam_add_blocks(space->seam, starts, csr->values));
done:
    base_free(&starts);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}

/* Numbers of free faces instead of faces, ascending: coupled faces ascend as their unknowns do. */
facet_status trace_graph(const struct trace_space *space, struct csr *graph) {
    facet_status status = FACET_OK;
    struct assembly a = {.space = space};
    int32_t *coupled = NULL, *number = NULL;
    int64_t row;
    *graph = (struct csr){.n = space->n_free_faces};
    TRY(list_places(&a));
    TRY(ALLOC(coupled, a.room));
    TRY(ALLOC(number, space->n_faces));
    TRY(ALLOC(graph->offsets, graph->n + 1));
    for (int entries = 0; entries < 2; entries++) {
        if (entries) TRY(ALLOC(graph->columns, graph->offsets[graph->n]));
        graph->offsets[0] = 0;
        for (int64_t b = 0; b < graph->n; b++) {
            int64_t n = coupled_faces(&a, space->free_faces[b], coupled, &row);
            number[space->free_faces[b]] = (int32_t)b;
            graph->offsets[b + 1] = graph->offsets[b] + n;
            for (int64_t i = 0; i < n && entries; i++)
                graph->columns[graph->offsets[b] + i] = number[coupled[i]];
        }
    }
done:
    base_free(&a.starts);
    base_free(&a.places);
    base_free(&coupled);
    base_free(&number);
    if (status != FACET_OK) csr_destroy(graph);
    return status;
}
