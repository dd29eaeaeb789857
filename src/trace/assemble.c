/* Assembly face by face (king2014, Algorithms 1 and 2): the rows of a face are the business of that face
 * alone, which gathers from the element matrices of its two cells. No locks, no atomics. */
#include <string.h>

#include "base/memory.h"
#include "trace/sides.h"

#define MAX_COUPLED (2 * SHAPE_MAX_FACES)

void trace_assemble_vector(const struct trace_space *space, double *const *locals, double *free) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t first = space->free_offsets[b], n = space->free_offsets[b + 1] - first;
        memset(free + first, 0, (size_t)n * sizeof *free);
        for (int which = 0; which < 2; which++) {
            struct trace_side side;
            if (!trace_side(space, space->free_faces[b], which, &side)) continue;
            const double *local = locals[side.block] +
                                  (int64_t)(side.cell / TRACE_LANES) * side.size * TRACE_LANES +
                                  side.cell % TRACE_LANES + (int64_t)side.starts[side.local] * TRACE_LANES;
            for (int64_t i = 0; i < n; i++) free[first + i] += local[i * TRACE_LANES];
        }
    }
}

/* The free faces coupled to a free face (itself: only that one), ascending by their unknowns; returns their
 * number. */
static int coupled_faces(const struct trace_space *space, int32_t face, int itself, int32_t *coupled) {
    int n = 0;
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, face, which, &side)) continue;
        for (int f = 0; f < side.n_faces; f++) {
            int32_t other = side.faces[f];
            if (space->face_free[other] < 0 || (itself && other != face)) continue;
            int at = n;
            while (at > 0 && coupled[at - 1] > other) at--;
            if (at > 0 && coupled[at - 1] == other) continue;
            memmove(coupled + at + 1, coupled + at, (size_t)(n - at) * sizeof *coupled);
            coupled[at] = other;
            n++;
        }
    }
    return n;
}

static int64_t row_length(const struct trace_space *space, const int32_t *coupled, int n) {
    int64_t length = 0;
    for (int i = 0; i < n; i++) length += space->face_first[coupled[i] + 1] - space->face_first[coupled[i]];
    return length;
}

/* Adds one side's element matrix to the rows of its face; `row` is the common length of these rows. */
static void add_side(const struct trace_space *space, const struct trace_side *side, const double *K,
                     int64_t n_rows, int64_t row, const int32_t *coupled, int n_coupled, double *values) {
    for (int f = 0; f < side->n_faces; f++) {
        int32_t other = side->faces[f];
        int64_t start = 0;
        int c = 0;
        for (; c < n_coupled && coupled[c] != other; c++)
            start += space->face_first[coupled[c] + 1] - space->face_first[coupled[c]];
        if (c == n_coupled) continue;
        for (int64_t i = 0; i < n_rows; i++)
            for (int j = side->starts[f]; j < side->starts[f + 1]; j++)
                values[i * row + start + j - side->starts[f]] +=
                    trace_entry(K, side->starts[side->local] + (int)i, j);
    }
}

static void assemble_face(const struct trace_space *space, int64_t b, const struct trace_view *view,
                          int itself, struct csr *csr) {
    int32_t coupled[MAX_COUPLED];
    int32_t face = space->free_faces[b];
    int64_t first = space->free_offsets[b], n_rows = space->free_offsets[b + 1] - first;
    int n = coupled_faces(space, face, itself, coupled);
    int64_t row = row_length(space, coupled, n);
    double *values = csr->values + csr->offsets[first];
    for (int64_t i = 0; i < n_rows; i++) {
        int32_t *columns = csr->columns + csr->offsets[first + i];
        for (int c = 0; c < n; c++) {
            int64_t size = space->face_first[coupled[c] + 1] - space->face_first[coupled[c]];
            for (int64_t j = 0; j < size; j++) *columns++ = (int32_t)(space->face_free[coupled[c]] + j);
        }
    }
    memset(values, 0, (size_t)(n_rows * row) * sizeof *values);
    for (int which = 0; which < 2; which++) {
        struct trace_side side;
        if (!trace_side(space, face, which, &side)) continue;
        add_side(space, &side, trace_view_cell(view, side.block, side.cell), n_rows, row, coupled, n, values);
    }
}

static facet_status assemble(const struct trace_space *space, const struct trace_matrices *matrices,
                             int itself, struct csr *csr) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    *csr = (struct csr){.n = space->n_free};
    TRY(ALLOC(csr->offsets, csr->n + 1));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int32_t coupled[MAX_COUPLED];
        int n = coupled_faces(space, space->free_faces[b], itself, coupled);
        int64_t row = row_length(space, coupled, n);
        for (int64_t i = space->free_offsets[b]; i < space->free_offsets[b + 1]; i++)
            csr->offsets[i + 1] = row;
    }
    csr->offsets[0] = 0;
    for (int64_t i = 0; i < csr->n; i++) csr->offsets[i + 1] += csr->offsets[i];
    TRY(ALLOC(csr->columns, csr->offsets[csr->n]));
    TRY(ALLOC(csr->values, csr->offsets[csr->n]));
    TRY(trace_view_open(matrices, &view));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) assemble_face(space, b, &view, itself, csr);
done:
    trace_view_close(&view);
    if (status != FACET_OK) csr_destroy(csr);
    return status;
}

facet_status trace_assemble(const struct trace_space *space, const struct trace_matrices *matrices,
                            struct csr *csr) {
    return assemble(space, matrices, 0, csr);
}

facet_status trace_block_diagonal(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct csr *csr) {
    return assemble(space, matrices, 1, csr);
}
