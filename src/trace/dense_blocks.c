/* Dense pieces of K, read off the element matrices: those of one face, and of a lower degree. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "device/seam.h"
#include "trace/pmg_parts.h"
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
        base_tell_at(b);
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
    TRY(seam_add_blocks(space->seam, starts, *blocks));
done:
    trace_view_close(&view);
    base_free(&starts);
    if (status != FACET_OK) base_free(blocks);
    return status;
}

facet_status trace_sides_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                int block, int64_t **sides, int *simple) {
    facet_status status = FACET_OK;
    int64_t *host = NULL;
    int own = 0;
    *sides = NULL;
    TRY(ALLOC(host, 2 * space->n_free_faces));
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(| : own)
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        struct trace_side s[2];
        int there[2];
        for (int which = 0; which < 2; which++) {
            there[which] = trace_side(space, space->free_faces[b], which, &s[which]);
            host[2 * b + which] = there[which] && s[which].block == block
                                      ? (int64_t)s[which].cell * s[which].n_faces + s[which].local
                                      : -1;
        }
        own |= there[0] && there[1] && s[0].block == s[1].block && s[0].cell == s[1].cell;
    }
    *simple = !own;
    TRY(device_copy(matrices->device, sides, host, (size_t)(2 * space->n_free_faces), sizeof *host));
done:
    base_free(&host);
    return status;
}

void trace_fill_maps(int lanes, int64_t count, int n_slots, const int32_t *entities, const int64_t *first,
                     int64_t *maps) {
    const int64_t all = (count + lanes - 1) / lanes * lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t cell = 0; cell < all; cell++) {
        int64_t *map = maps + cell / lanes * n_slots * lanes + cell % lanes;
        for (int s = 0; s < n_slots; s++, map += lanes)
            *map = cell < count ? first[entities[cell * n_slots + s]] : -1;
    }
}

facet_status trace_lane_blocks(const struct trace_space *space, const struct trace_matrices *matrices, int m,
                               double **blocks) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    const int lanes = matrices->lanes;
    const int64_t n = space->n_free_faces;
    const size_t count = (size_t)((n + lanes - 1) / lanes * (m * (m + 1) / 2) * lanes);
    int64_t *sides = NULL;
    int simple = 1;
    TRY(device_alloc(device, blocks, count, sizeof **blocks));
    device_fill(device, F64, (int64_t)count, 0.0, *blocks);
    for (int b = 0; b < matrices->n_blocks && simple; b++) {
        device_free(device, &sides);
        TRY(trace_sides_create(space, matrices, b, &sides, &simple));
        device_face_blocks(device, lanes, n, space->n_slots[b], m, sides, matrices->values[b], *blocks);
    }
done:
    device_free(device, &sides);
    if (status != FACET_OK || !simple) device_free(device, blocks);
    return status;
}

/* The same of cells whose faces differ in size, which no kernel knows. */
static facet_status lower_block(const struct trace_space *space, const struct trace_space *low,
                                const struct trace_matrices *matrices, int block,
                                struct trace_matrices *lower) {
    facet_status status = FACET_OK;
    const int n = lower->n[block], nc = space->n_components;
    int *places = NULL;
    double *picked = NULL;
    TRY(ALLOC(places, n));
    for (int s = 0, at = 0; s < space->n_slots[block]; s++) {
        int m = (space->slots[block][s + 1] - space->slots[block][s]) / nc;
        int m_low = (low->slots[block][s + 1] - low->slots[block][s]) / nc;
        for (int i = 0; i < nc * m_low; i++)
            places[at++] = space->slots[block][s] + i / m_low * m + i % m_low;
    }
    TRY(trace_matrices_pick(matrices, block, n, places, &picked));
    TRY(device_upload(matrices->device, lower->values[block], picked,
                      (size_t)(lower->n_batches[block] * trace_matrix_size(lower, block) * lower->lanes) *
                          sizeof *picked));
done:
    base_free(&places);
    base_free(&picked);
    return status;
}

facet_status trace_matrices_lower(const struct trace_space *space, const struct trace_space *low,
                                  const struct trace_matrices *matrices, struct trace_matrices *lower) {
    facet_status status = FACET_OK;
    TRY(trace_matrices_create(matrices->device, low, 0, lower));
    TRY(trace_matrices_keep(lower));
    for (int b = 0; b < lower->n_blocks; b++) {
        if (trace_slots_differ(space, b)) {
            TRY(lower_block(space, low, matrices, b, lower));
            continue;
        }
        int parts = shape_n_faces(space->mesh->blocks[b].shape) * space->n_components;
        device_cell_lower(matrices->device, matrices->lanes, lower->n_batches[b], parts,
                          matrices->n[b] / parts, lower->n[b] / parts, matrices->values[b], lower->values[b]);
        if (matrices->loose[b] == NULL) continue;
        TRY(ALLOC(lower->loose[b], lower->n_batches[b] * lower->lanes));
        memcpy(lower->loose[b], matrices->loose[b], (size_t)(lower->n_batches[b] * lower->lanes));
    }
    lower->n_components = matrices->n_components;
done:
    if (status != FACET_OK) trace_matrices_destroy(lower);
    return status;
}
