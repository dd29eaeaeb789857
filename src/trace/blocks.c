/* Dense pieces of K, read off the element matrices: those of one face, of all faces of a cell, and of a lower
 * degree. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "trace/coarse.h"
#include "trace/sides.h"

static int64_t block_size(const struct trace_space *space, int64_t b) {
    return space->free_offsets[b + 1] - space->free_offsets[b];
}

static facet_status block_starts(const struct trace_space *space, int64_t **starts) {
    facet_status status = ALLOC(*starts, space->n_free_faces + 1);
    if (status != FACET_OK) return status;
    (*starts)[0] = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t n = block_size(space, b);
        (*starts)[b + 1] = (*starts)[b] + n * n;
    }
    return FACET_OK;
}

facet_status trace_face_blocks(const struct trace_space *space, const struct trace_matrices *matrices,
                               double **blocks) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t *starts = NULL;
    *blocks = NULL;
    TRY(block_starts(space, &starts));
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
                        B[i * n + j] +=
                            trace_entry(K, side.starts[side.local] + (int)i, side.starts[f] + (int)j);
            }
        }
    }
done:
    trace_view_close(&view);
    base_free(&starts);
    if (status != FACET_OK) base_free(blocks);
    return status;
}

/* The matrix of all free faces of a cell, by columns, eliminated rows being those of the identity. */
static void fill_patch(const struct trace_space *space, const struct trace_view *view, const double *blocks,
                       const int64_t *block_of_face, const int64_t *starts, int block, int32_t cell,
                       double *M) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape), n = trace_cell_size(space, block), m = n / n_faces;
    const int32_t *faces = b->faces + (int64_t)cell * n_faces;
    const double *K = trace_view_cell(view, block, cell);
    for (int f = 0; f < n_faces; f++)
        for (int g = 0; g < n_faces; g++) {
            int64_t at = block_of_face[faces[f]];
            int free = at >= 0 && block_of_face[faces[g]] >= 0;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++) {
                    double *to = M + (int64_t)(g * m + j) * n + f * m + i;
                    if (!free)
                        *to = f == g && i == j;
                    else
                        *to = f == g ? blocks[starts[at] + i * m + j] : trace_entry(K, f * m + i, g * m + j);
                }
        }
}

/* A patch becomes its weighted inverse in the lanes of `to`. Every face counts with 1 over the root of the
 * number of its cells on both sides of the inverse, which keeps it symmetric. */
static facet_status invert_patch(const struct trace_space *space, const int64_t *block_of_face, int block,
                                 int32_t cell, double *M, double *to) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape), n = trace_cell_size(space, block), m = n / n_faces;
    const int32_t *faces = b->faces + (int64_t)cell * n_faces;
    double weight[SHAPE_MAX_FACES];
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, M, n) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, M, n) != 0)
        return base_fail(FACET_NOT_CONVERGED, "the matrix is not positive definite: patch of cell %d",
                         (int)(b->first + cell));
    for (int f = 0; f < n_faces; f++) {
        int two = space->mesh->face_cells[2 * (int64_t)faces[f] + 1] >= 0;
        weight[f] = block_of_face[faces[f]] < 0 ? 0.0 : two ? sqrt(0.5) : 1.0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            to[((int64_t)i * (i + 1) / 2 + j) * TRACE_LANES] =
                M[(int64_t)j * n + i] * weight[i / m] * weight[j / m];
    return FACET_OK;
}

static facet_status patches_of_block(const struct trace_space *space, const struct trace_view *view,
                                     const double *blocks, const int64_t *block_of_face,
                                     const int64_t *starts, int block, double *host) {
    struct base_collector failures;
    int n = trace_cell_size(space, block);
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        double *M = NULL;
        facet_status mine = ALLOC(M, (int64_t)n * n);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int32_t cell = 0; cell < space->mesh->blocks[block].count; cell++) {
            if (mine != FACET_OK) continue;
            fill_patch(space, view, blocks, block_of_face, starts, block, cell, M);
            mine = invert_patch(space, block_of_face, block, cell, M,
                                host + (int64_t)(cell / TRACE_LANES) * (n * (n + 1) / 2) * TRACE_LANES +
                                    cell % TRACE_LANES);
            base_collect(&failures, cell, mine);
        }
        base_free(&M);
    }
    return base_collected(&failures);
}

facet_status trace_cell_patches(const struct trace_space *space, const struct trace_matrices *matrices,
                                const double *blocks, struct trace_matrices *patches) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t *starts = NULL, *block_of_face = NULL;
    double *host = NULL;
    *patches = (struct trace_matrices){0};
    TRY(block_starts(space, &starts));
    TRY(ALLOC(block_of_face, space->mesh->n_faces));
    for (int32_t f = 0; f < space->mesh->n_faces; f++) block_of_face[f] = -1;
    for (int64_t b = 0; b < space->n_free_faces; b++) block_of_face[space->free_faces[b]] = b;
    TRY(trace_matrices_create(matrices->device, space, patches));
    TRY(trace_view_open(matrices, &view));
    base_set_blas_threads(1);
    for (int b = 0; b < patches->n_blocks; b++) {
        int64_t n = patches->n[b], count = patches->n_batches[b] * (n * (n + 1) / 2) * TRACE_LANES;
        TRY(CALLOC(host, count));
        TRY(patches_of_block(space, &view, blocks, block_of_face, starts, b, host));
        TRY(device_upload(matrices->device, patches->values[b], host, (size_t)count * sizeof *host));
        base_free(&host);
    }
done:
    trace_view_close(&view);
    base_free(&starts);
    base_free(&block_of_face);
    base_free(&host);
    if (status != FACET_OK) trace_matrices_destroy(patches);
    return status;
}

facet_status trace_matrices_lower(const struct trace_space *space, const struct trace_space *low,
                                  const struct trace_matrices *matrices, struct trace_matrices *lower) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    double *host = NULL;
    *lower = (struct trace_matrices){0};
    TRY(trace_matrices_create(matrices->device, low, lower));
    TRY(trace_view_open(matrices, &view));
    for (int b = 0; b < lower->n_blocks; b++) {
        int n_faces = shape_n_faces(space->mesh->blocks[b].shape), parts = n_faces * space->n_components;
        int from = matrices->n[b] / parts, to = lower->n[b] / parts; /* functions of one face and component */
        int64_t n_from = matrices->n[b], n_to = lower->n[b];
        int64_t from_size = n_from * (n_from + 1) / 2, to_size = n_to * (n_to + 1) / 2;
        TRY(ALLOC(host, lower->n_batches[b] * to_size * TRACE_LANES));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t batch = 0; batch < lower->n_batches[b]; batch++) {
            const double *K = view.values[b] + batch * from_size * TRACE_LANES;
            double *at = host + batch * to_size * TRACE_LANES;
            for (int64_t i = 0; i < n_to; i++)
                for (int64_t j = 0; j <= i; j++, at += TRACE_LANES) {
                    int64_t row = i / to * from + i % to, column = j / to * from + j % to;
                    memcpy(at, K + (row * (row + 1) / 2 + column) * TRACE_LANES, TRACE_LANES * sizeof *at);
                }
        }
        TRY(device_upload(lower->device, lower->values[b], host,
                          (size_t)(lower->n_batches[b] * to_size * TRACE_LANES) * sizeof *host));
        base_free(&host);
    }
done:
    trace_view_close(&view);
    base_free(&host);
    if (status != FACET_OK) trace_matrices_destroy(lower);
    return status;
}
