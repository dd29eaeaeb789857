/* Dense pieces of K, read off the element matrices: those of one face, and of a lower degree. */
#include <string.h>

#include "base/memory.h"
#include "trace/coarse.h"
#include "trace/sides.h"

static int64_t block_size(const struct trace_space *space, int64_t b) {
    return space->free_offsets[b + 1] - space->free_offsets[b];
}

facet_status trace_face_blocks(const struct trace_space *space, const struct trace_matrices *matrices,
                               double **blocks) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t *starts = NULL;
    *blocks = NULL;
    TRY(operator_block_starts(space->n_free_faces, space->free_offsets, &starts));
    TRY(ALLOC(*blocks, starts[space->n_free_faces]));
    TRY(trace_view_open(matrices, &view));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t n = block_size(space, b);
        double *B = *blocks + starts[b];
        memset(B, 0, (size_t)(n * n) * sizeof *B);
        for (int which = 0; which < 2; which++) {
            struct trace_side side;
            if (!trace_side(space, space->free_faces[b], which, &side)) continue;
            const double *K = trace_view_cell(&view, side.block, side.cell);
            for (int f = 0; f < side.n_faces; f++) { /* a cell may be its own neighbour */
                if (side.faces[f] != space->free_faces[b]) continue;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++)
                        B[i * n + j] += trace_entry(K, matrices->lanes, side.starts[side.local] + (int)i,
                                                    side.starts[f] + (int)j);
            }
        }
    }
done:
    trace_view_close(&view);
    base_free(&starts);
    if (status != FACET_OK) base_free(blocks);
    return status;
}

facet_status trace_matrices_lower(const struct trace_space *space, const struct trace_space *low,
                                  const struct trace_matrices *matrices, struct trace_matrices *lower) {
    const int lanes = matrices->lanes;
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    const int direct = device_is_host(matrices->device);
    double *host = NULL;
    *lower = (struct trace_matrices){0};
    TRY(trace_matrices_create(matrices->device, low, 0, lower));
    TRY(trace_view_open(matrices, &view));
    for (int b = 0; b < lower->n_blocks; b++) {
        int n_faces = shape_n_faces(space->mesh->blocks[b].shape), parts = n_faces * space->n_components;
        int from = matrices->n[b] / parts, to = lower->n[b] / parts; /* functions of one face and component */
        int64_t n_from = matrices->n[b], n_to = lower->n[b];
        int64_t from_size = n_from * (n_from + 1) / 2, to_size = n_to * (n_to + 1) / 2;
        if (!direct) TRY(ALLOC(host, lower->n_batches[b] * to_size * lanes));
        double *to_all = direct ? lower->values[b] : host;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t batch = 0; batch < lower->n_batches[b]; batch++) {
            const double *K = view.values[b] + batch * from_size * lanes;
            double *at = to_all + batch * to_size * lanes;
            for (int64_t i = 0; i < n_to; i++)
                for (int64_t j = 0; j <= i; j += to) {
                    int64_t row = i / to * from + i % to, column = j / to * from;
                    int64_t n = (i + 1 - j < to ? i + 1 - j : to) * lanes;
                    memcpy(at, K + (row * (row + 1) / 2 + column) * lanes, (size_t)n * sizeof *at);
                    at += n;
                }
        }
        if (!direct)
            TRY(device_upload(lower->device, lower->values[b], host,
                              (size_t)(lower->n_batches[b] * to_size * lanes) * sizeof *host));
        lower->mirror[b] = host; /* where there is one: others will look at it */
        host = NULL;
        if (matrices->loose[b] == NULL) continue;
        TRY(ALLOC(lower->loose[b], lower->n_batches[b] * lanes));
        memcpy(lower->loose[b], matrices->loose[b], (size_t)(lower->n_batches[b] * lanes));
    }
    lower->n_components = matrices->n_components;
done:
    trace_view_close(&view);
    base_free(&host);
    if (status != FACET_OK) trace_matrices_destroy(lower);
    return status;
}
