/* The rigid motions of every face as the last space of a multigrid for elasticity: three unknowns an edge,
 * six a face in 3D, less where components are given. Unlike continuous functions they do not lock: the
 * multigrid above them does not see how large lambda is, nor where the moduli jump. See levels.h. */
#include <math.h>

#include "base/memory.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"

/* What is left of a motion on a face, once those before it are taken off, is rounding below this part. */
#define DEPENDENT 1e-9
/* Entries of the orthonormal motions of a face below this are rounding. */
#define NOTHING 1e-13

/* q: the motions on n unknowns, orthonormal ones after each other; returns how many there are. */
static int orthonormalise(int64_t n, int n_modes, int64_t stride, const double *modes, double *q) {
    int count = 0;
    for (int a = 0; a < n_modes; a++) {
        double *v = q + count * n, before = 0.0, after = 0.0;
        for (int64_t i = 0; i < n; i++) {
            v[i] = modes[a * stride + i];
            before += v[i] * v[i];
        }
        for (int k = 0; k < 2 * count; k++) { /* twice is enough */
            const double *u = q + k % count * n;
            double dot = 0.0;
            for (int64_t i = 0; i < n; i++) dot += u[i] * v[i];
            for (int64_t i = 0; i < n; i++) v[i] -= dot * u[i];
        }
        for (int64_t i = 0; i < n; i++) after += v[i] * v[i];
        if (!(sqrt(after) > DEPENDENT * sqrt(before))) continue;
        for (int64_t i = 0; i < n; i++) v[i] /= sqrt(after);
        for (int64_t i = 0; i < n; i++)
            if (fabs(v[i]) < NOTHING) v[i] = 0.0;
        count++;
    }
    return count;
}

/* The prolongation, face by face, and the nodes: faces with motions that are not given. */
static facet_status fill(const struct trace_space *space, int n_modes, const double *modes, double *q,
                         struct mg_transfer *P, struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    int64_t entries = 0, n = 0, *starts = NULL;
    TRY(ALLOC(starts, space->n_free_faces + 1));
    TRY(ALLOC(P->offsets, space->n_free + 1));
    TRY(ALLOC(P->columns, space->n_free * n_modes));
    TRY(ALLOC(P->values, space->n_free * n_modes));
    TRY(ALLOC(l->offsets, space->n_free_faces + 1));
    TRY(CALLOC(l->kinds, space->n_free_faces));
    l->offsets[0] = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t first = space->free_offsets[b], size = space->free_offsets[b + 1] - first;
        int count = orthonormalise(size, n_modes, space->n_free, modes + first, q);
        for (int64_t i = 0; i < size; i++) {
            P->offsets[first + i] = entries;
            for (int c = 0; c < count; c++) {
                if (q[c * size + i] == 0.0) continue;
                P->columns[entries] = (int32_t)(n + c);
                P->values[entries++] = q[c * size + i];
            }
        }
        starts[b] = n;
        n += count;
        if (count > 0) l->offsets[++l->n_nodes] = n;
    }
    P->offsets[space->n_free] = entries;
    P->n_rows = space->n_free;
    P->n_columns = n;
    starts[space->n_free_faces] = n;
    TRY(trace_number_faces(space, starts, l));
done:
    base_free(&starts);
    return status;
}

facet_status trace_last_level_rigid(const struct trace_space *space, const struct trace_matrices *matrices,
                                    int n_modes, const double *modes, struct mg_transfer *P,
                                    struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    double *q = NULL;
    int64_t largest = 0;
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t size = space->free_offsets[b + 1] - space->free_offsets[b];
        if (size > largest) largest = size;
    }
    TRY(ALLOC(q, largest * n_modes));
    TRY(fill(space, n_modes, modes, q, P, l));
    TRY(trace_galerkin(space, matrices, P, &l->csr));
    l->n_modes = n_modes;
    TRY(CALLOC(l->modes, P->n_columns * n_modes));
    for (int64_t row = 0; row < P->n_rows; row++)
        for (int64_t k = P->offsets[row]; k < P->offsets[row + 1]; k++)
            for (int a = 0; a < n_modes; a++)
                l->modes[a * P->n_columns + P->columns[k]] += P->values[k] * modes[a * P->n_rows + row];
    l->name = "rigid";
done:
    base_free(&q);
    return status;
}
