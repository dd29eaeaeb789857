/* Levels of traces: what p-multigrid and geometric multigrid have in common. See levels.h. */
#include "trace/levels.h"

#include <math.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "trace/half_precision.h"
#include "trace/pmg_parts.h"

/* Single precision is worth its copies from so many unknowns on, or from matrices of so many bytes, and safe
 * up to such a spread. */
#define LARGE_SYSTEM 30000
#define LARGE_BYTES  8e6
#define LARGE_SPREAD 1e10

int trace_has_tensor_cells(const struct facet_mesh *mesh) {
    int64_t found = 0;
    for (int k = 0; k < mesh->n_blocks; k++)
        found |= mesh->blocks[k].count > 0 && !shape_is_simplex(mesh->blocks[k].shape);
    if (team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &found) != FACET_OK) return 0; /* others say why */
    return found != 0;
}

facet_status trace_choose_single(const struct trace_space *space, const struct trace_matrices *matrices,
                                 enum pmg_precision precision, int *single) {
    double spread, sums[2] = {(double)space->n_free}; /* unknowns, bytes: of the whole mesh */
    *single = precision == PMG_MIXED;
    for (int b = 0; b < matrices->n_blocks; b++)
        sums[1] += 8.0 * (double)(space->mesh->blocks[b].count * trace_matrix_size(matrices, b));
    facet_status status = team_reduce(mesh_team(space->mesh), TEAM_SUM, 2, sums);
    const int large = sums[0] >= LARGE_SYSTEM || sums[1] >= LARGE_BYTES;
    if (status != FACET_OK || precision == PMG_DOUBLE || (precision == PMG_PRECISION_AUTO && !large))
        return status;
    status = trace_spread(space, matrices, &spread);
    if (status != FACET_OK) return status;
    if (*single && !isfinite(spread))
        return base_fail(FACET_ERROR_INPUT, "the numbers of this problem are beyond single precision; use "
                                            "{precision: double}");
    if (precision == PMG_PRECISION_AUTO) *single = spread < LARGE_SPREAD;
    return FACET_OK;
}

facet_status trace_measure_work(const struct trace_space *space, const struct trace_matrices *matrices,
                                enum trace_beside beside, double *constant) {
    facet_status status = FACET_OK;
    struct trace_space all = {0};
    struct trace_nodes nodes = {0};
    uint8_t *none = NULL;
    TRY(CALLOC(none, space->mesh->n_faces));
    TRY(trace_space_create(space->mesh, space->degree, space->n_components, none, &all));
    TRY(trace_continuous_nodes(&all, beside, NULL, &nodes));
    TRY(trace_smoothing_constant(&all, matrices, &nodes.P, constant));
done:
    trace_nodes_destroy(&nodes);
    trace_space_destroy(&all);
    base_free(&none);
    return status;
}

facet_status trace_extra_work(const struct trace_space *space, const struct trace_matrices *matrices,
                              double *factor) {
    const double round_cell = 2.0, stretch_power = 0.6, vector_work = 1.5;
    double stretch = 1.0, skew;
    facet_status status = trace_stretch(space, matrices, &stretch, &skew);
    *factor = space->n_components > 1 ? vector_work : 1.0;
    if (stretch > round_cell) *factor *= pow(stretch / round_cell, stretch_power);
    return status;
}

facet_status trace_block_inverse(const struct trace_space *space, const struct trace_matrices *matrices,
                                 struct linear_operator *D) {
    facet_status status = FACET_OK;
    const struct device *device = matrices->device;
    double *blocks = NULL, *lanes = NULL;
    /* Blocks at a seam are sums that the host takes. */
    static const char *const kernels[] = {"face_blocks", NULL};
    int m = device_takes_over(device, kernels) && !trace_is_shared(space)
                ? operator_equal_blocks(device, space->n_free_faces, space->free_offsets)
                : 0;
    for (int b = 0; b < matrices->n_blocks; b++) /* free faces may be alike where cells have others too */
        if (trace_slots_differ(space, b)) m = 0;
    if (m > 0) TRY(trace_lane_blocks(space, matrices, m, &lanes));
    if (lanes != NULL) {
        TRY(operator_create_lane_blocks(device, space->n_free_faces, m, &lanes, D));
        goto done;
    }
    TRY(trace_face_blocks(space, matrices, &blocks));
    TRY(operator_create_blocks(device, space->n_free_faces, space->free_offsets, &blocks, D));
done:
    base_free(&blocks);
    device_free(device, &lanes);
    return status;
}

facet_status trace_lower_space(const struct trace_space *space, int degree, struct trace_space *low) {
    facet_status status = FACET_OK;
    uint8_t *eliminated = NULL;
    TRY(ALLOC(eliminated, space->mesh->n_faces));
#pragma omp parallel for num_threads(base_threads_for(space->mesh->n_faces)) schedule(static)
    for (int32_t f = 0; f < space->mesh->n_faces; f++) eliminated[f] = space->face_free[f] < 0;
    TRY(trace_space_create(space->mesh, degree, space->n_components, eliminated, low));
    if (space->fixed == NULL) goto done;
    TRY(ALLOC(low->fixed, low->n_free));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        int64_t first = space->free_offsets[b], to = low->free_offsets[b];
        int64_t m = (space->free_offsets[b + 1] - first) / space->n_components;
        int64_t m_low = (low->free_offsets[b + 1] - to) / space->n_components;
        for (int64_t i = 0; i < m_low * space->n_components; i++)
            low->fixed[to + i] = space->fixed[first + i / m_low * m + i % m_low];
    }
done:
    base_free(&eliminated);
    return status;
}

/* ------------------------------------------------------------------------------ appending */

void trace_level_destroy(struct trace_level *l) {
    operator_destroy(&l->own);
    operator_destroy(&l->D);
    smoother_destroy(&l->smoother);
    l->A = NULL;
}

facet_status trace_level_append(struct multigrid *mg, struct trace_level *l) {
    facet_status status = FACET_OK;
    struct linear_operator half = {0};
    if (l->single && l->D.apply != NULL) TRY(operator_round(&l->D));
    if (l->single) TRY(trace_operator_halve(l->space, l->matrices, l->A != NULL ? l->A : &l->own, &half));
    if (half.apply != NULL) {
        operator_destroy(&l->own);
        l->own = half;
        l->A = NULL;
    } else if (l->single && l->A != NULL) {
        TRY(operator_create_single(l->A, &l->own));
        l->A = NULL;
    } else if (l->single) {
        TRY(operator_round(&l->own));
    }
    if (l->smoother.smooth == NULL)
        TRY(smoother_create_chebyshev(l->A != NULL ? l->A : &l->own, &l->D, l->kind, l->ratio, l->degree,
                                      &l->smoother));
    TRY(multigrid_append(mg, l->name, l->A, l->A == NULL ? &l->own : NULL, &l->smoother));
done:
    trace_level_destroy(l);
    return status;
}
