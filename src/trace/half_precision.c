/* Element matrices in 16 bits: the motions of cells, and how much rounding changes energies. See
 * half_precision.h.
 *
 * In units of the scales, K = A and H = A + E of a cell, E being zero on u, the constant, or on the motions U
 * that K does not see. The largest |(v, E v)| / (v, K v) is the largest eigenvalue of C^-1 E C^-T in size,
 * with C C' = A + u u' / u'u (A + U G U'), which is positive definite also where these have no energy. Some
 * steps of the power method find it well enough.
 */
#include "trace/half_precision.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "trace/pmg_parts.h"
#include "trace/sides.h"
#include "trace/slots.h"

#define SAMPLES     32
#define POWER_STEPS 16

/* ---------------------------------------------------------------------------------------- motions */

/* X: lanes apart. hats: of the faces, functions x vertices. */
static void cell_motions(const struct facet_mesh *mesh, const struct mesh_block *block, int32_t cell,
                         int n_near, const double *hats, int lanes, double *X) {
    const int dim = mesh->dim, n_faces = shape_n_faces(block->shape),
              n_vertices = shape_n_vertices(block->shape);
    double x[SHAPE_MAX_VERTICES][3], middle[3] = {0}, size = 0.0;
    for (int v = 0; v < n_vertices; v++) {
        const double *node =
            block->nodes +
            ((int64_t)cell * block->n_nodes + shape_vertex_node(block->shape, mesh->order, v)) * dim;
        for (int a = 0; a < dim; a++) {
            x[v][a] = node[a];
            middle[a] += node[a] / n_vertices;
        }
    }
    for (int v = 0; v < n_vertices; v++)
        for (int a = 0; a < dim; a++) {
            x[v][a] -= middle[a];
            size = fmax(size, fabs(x[v][a]));
        }
    for (int f = 0; f < n_faces; f++) {
        int32_t face = block->faces[(int64_t)cell * n_faces + f], vertices[SHAPE_MAX_FACE_VERTICES];
        int first = mesh->face_cells[2 * (int64_t)face] == block->first + cell &&
                    mesh->face_locals[2 * (int64_t)face] == f,
            locals[SHAPE_MAX_FACE_VERTICES], n = mesh_side_vertices(mesh, face, !first, vertices, locals);
        for (int i = 0; i < n_near; i++)
            for (int a = 0; a < dim; a++) {
                double sum = 0.0;
                for (int v = 0; v < n; v++) sum += hats[i * n + v] * x[locals[v]][a];
                X[((f * n_near + i) * dim + a) * lanes] = sum / size;
            }
    }
}

facet_status trace_half_motions(const struct trace_space *space, int block, int lanes, int *n_near,
                                double **motions) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    const struct mesh_block *cells = &mesh->blocks[block];
    enum shape face = shape_face_shape(cells->shape, 0);
    double *hats = NULL;
    int near = basis_size(face, 1);
    int64_t n = (int64_t)shape_n_faces(cells->shape) * near * mesh->dim;
    TRY(trace_hats(face, &hats));
    TRY(CALLOC(*motions, (cells->count + lanes - 1) / lanes * n * lanes));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t cell = 0; cell < cells->count; cell++)
        cell_motions(mesh, cells, cell, near, hats, lanes,
                     *motions + cell / lanes * n * lanes + cell % lanes);
    *n_near = near;
done:
    base_free(&hats);
    return status;
}

/* ---------------------------------------------------------------------------------------- the rest */

facet_status trace_half_held(const struct trace_space *space, const struct trace_matrices *matrices,
                             int block, uint8_t **held, int64_t *count) {
    facet_status status = FACET_OK;
    const uint8_t *loose = matrices->loose[block];
    const int32_t n_cells = space->mesh->blocks[block].count;
    const int none = loose == NULL || matrices->n_components != space->n_components;
    uint8_t most = (uint8_t)((1 << space->n_components) - 1);
    *count = 0;
    TRY(CALLOC(*held, matrices->n_batches[block]));
    for (int32_t cell = 0; cell < n_cells && !none; cell++) most |= loose[cell];
    for (int32_t cell = 0; cell < n_cells; cell++)
        if (none || loose[cell] != most) (*held)[cell / matrices->lanes] = 1;
    for (int64_t batch = 0; batch < matrices->n_batches[block]; batch++) *count += (*held)[batch];
done:
    return status;
}

/* The cells of these batches alone: `entities` and `part` receive what the slots and matrices of them are. */
static facet_status select_batches(const struct trace_space *space, const struct trace_matrices *matrices,
                                   int block, const uint8_t *held, int32_t **entities,
                                   struct trace_slots *slots, struct trace_matrices *part) {
    facet_status status = FACET_OK;
    const int lanes = matrices->lanes, n_slots = space->n_slots[block];
    const int64_t size = trace_matrix_size(matrices, block) * lanes, count = space->mesh->blocks[block].count;
    int64_t n = 0, n_cells = 0;
    for (int64_t batch = 0; batch < matrices->n_batches[block]; batch++) n += held[batch];
    part->n[block] = matrices->n[block];
    part->n_batches[block] = n;
    slots->n_slots[block] = n_slots;
    TRY(ALLOC(*entities, n * lanes * n_slots));
    slots->entities[block] = *entities;
    TRY(CALLOC(part->loose[block], n * lanes));
    TRY(device_alloc(matrices->device, &part->values[block], (size_t)(n * size), sizeof(double)));
    n = 0;
    for (int64_t batch = 0; batch < matrices->n_batches[block]; batch++) {
        int64_t first = batch * lanes, mine = count - first < lanes ? count - first : lanes;
        if (!held[batch]) continue;
        memcpy(*entities + n_cells * n_slots, space->faces[block] + first * n_slots,
               (size_t)(mine * n_slots) * sizeof **entities);
        if (matrices->loose[block] != NULL)
            memcpy(part->loose[block] + n * lanes, matrices->loose[block] + first, (size_t)mine);
        device_move(matrices->device, part->values[block] + n++ * size,
                    matrices->values[block] + batch * size, (size_t)size * sizeof(double));
        n_cells += mine; /* the last batch alone may have fewer */
    }
    slots->count[block] = n_cells;
done:
    return status;
}

facet_status trace_half_rest(const struct trace_space *space, const struct trace_matrices *matrices,
                             uint8_t *const *held, struct linear_operator *rest) {
    facet_status status = FACET_OK;
    int32_t *entities[MESH_MAX_BLOCKS] = {NULL};
    struct trace_slots slots = {.n_entities = space->n_faces, .first = space->face_free};
    struct trace_matrices part = {.device = matrices->device,
                                  .lanes = matrices->lanes,
                                  .n_blocks = matrices->n_blocks,
                                  .n_components = matrices->n_components};
    for (int b = 0; b < matrices->n_blocks; b++)
        TRY(select_batches(space, matrices, b, held[b], &entities[b], &slots, &part));
    TRY(trace_slots_operator(&slots, &part, space->n_free, rest));
    TRY(operator_round(rest));
done:
    for (int b = 0; b < matrices->n_blocks; b++) base_free(&entities[b]);
    trace_matrices_destroy(&part);
    if (status != FACET_OK) operator_destroy(rest);
    return status;
}

/* ---------------------------------------------------------------------------------------- rounding */

/* One cell: its numbers `lanes` apart. */
struct cell {
    int n, n_columns, lanes;
    const double *K; /* entries `step` apart */
    int step;
    const uint16_t *numbers; /* of the batch; */
    int lane;                /* in it */
    double *C, *E;           /* n x n each, column-major, lower triangles */
    double *U, *W, *V;       /* n x n_columns each, column-major: what H sees as K does, U G, and room */
    double *x, *y;           /* n each */
};

static facet_status cell_create(int n, int n_columns, int lanes, int step, struct cell *cell) {
    facet_status status = FACET_OK;
    *cell = (struct cell){.n = n, .n_columns = n_columns, .lanes = lanes, .step = step};
    TRY(ALLOC(cell->C, (int64_t)n * n));
    TRY(ALLOC(cell->E, (int64_t)n * n));
    TRY(ALLOC(cell->U, (3 * (int64_t)n_columns + 2) * n));
    cell->W = cell->U + (int64_t)n_columns * n;
    cell->V = cell->W + (int64_t)n_columns * n;
    cell->x = cell->V + (int64_t)n_columns * n;
    cell->y = cell->x + n;
done:
    return status;
}

static void cell_destroy(struct cell *cell) {
    base_free(&cell->C);
    base_free(&cell->E);
    base_free(&cell->U);
}

/* Displacements (several columns) have no e, and their s is by itself. */
static int64_t scale_place(const struct cell *cell, int i) {
    if (cell->n_columns > 1) return (int64_t)i * cell->lanes + cell->lane;
    return half_place_s(cell->lanes, i, cell->lane);
}
static double scale_of(const struct cell *cell, int i) {
    return half_scale(cell->numbers[scale_place(cell, i)]);
}

/* C = K and E = A, in units of the scales; A: of the batch. */
static void fill_matrices(const uint16_t *A, struct cell *cell) {
    const int n = cell->n, lanes = cell->lanes;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            cell->C[(int64_t)j * n + i] =
                trace_entry(cell->K, cell->step, i, j) / (scale_of(cell, i) * scale_of(cell, j));
            cell->E[(int64_t)j * n + i] = half_widen(A[half_place_A(lanes, n, i, j, cell->lane)]);
        }
}

/* E = A + c w' + w c' - (c'u) w w' - K, C = K + u w'. */
static void fill_constant(const struct cell_plan *plan, struct cell *cell) {
    const int n = cell->n, lanes = cell->lanes;
    double sum = 0.0, square = 0.0, cu = 0.0, *u = cell->U, *w = cell->W, *c = cell->V;
    fill_matrices(cell->numbers + 2 * n * lanes, cell);
    memset(u, 0, (size_t)n * sizeof *u);
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f);
        u[i] = plan->ones[f] * scale_of(cell, i);
        sum += u[i];
        square += u[i] * u[i];
    }
    for (int i = 0; i < n; i++) {
        w[i] = u[i] / square;
        c[i] = HALF_UNIT * sum * /* what the rounded A lacks on u */
               half_widen(cell->numbers[half_place_e(lanes, n, i, cell->lane)]);
        cu += c[i] * u[i];
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double *K = &cell->C[(int64_t)j * n + i];
            cell->E[(int64_t)j * n + i] += c[i] * w[j] + w[i] * c[j] - cu * w[i] * w[j] - *K;
            *K += u[i] * w[j];
        }
}

/* U, W = U G. */
static void fill_motions(const struct cell_plan *plan, struct cell *cell) {
    const int n = cell->n, lanes = cell->lanes, dim = plan->n_components, size = plan->m / dim;
    const uint16_t *X = cell->numbers + n * lanes;
    const int n_X = cell_plan_near(plan);
    memset(cell->U, 0, (size_t)(2 * cell->n_columns * n) * sizeof *cell->U);
    for (int f = 0; f < plan->n_faces; f++)
        for (int i = 0; i < plan->n_near; i++) {
            const int row = f * plan->m + i;
            for (int c = 0; c < dim && i == 0; c++)
                cell->U[c * n + row + c * size] = plan->ones[f] * scale_of(cell, row + c * size);
            for (int t = 0; t < motion_turns(dim); t++) {
                int from = motion_from(dim, t), to = motion_to(dim, t), x = (f * plan->n_near + i) * dim;
                double *u = cell->U + (int64_t)(dim + t) * n;
                u[row + to * size] =
                    half_get(X, (x + from) * lanes + cell->lane) * scale_of(cell, row + to * size);
                u[row + from * size] =
                    -half_get(X, (x + to) * lanes + cell->lane) * scale_of(cell, row + from * size);
            }
        }
    for (int a = 0; a < cell->n_columns; a++)
        for (int b = 0; b < cell->n_columns; b++) {
            int row = a > b ? a : b, column = a > b ? b : a;
            double g = half_get(X, (n_X + row * (row + 1) / 2 + column) * lanes + cell->lane);
            cblas_daxpy(n, g, cell->U + b * n, 1, cell->W + a * n, 1);
        }
}

/* E += h h', in units of the scales. */
static void add_flux(const struct cell_plan *plan, struct cell *cell) {
    const int n = cell->n, lanes = cell->lanes, m = cell_plan_motions(plan);
    const uint16_t *h = cell->numbers + (n + 2 * cell_plan_near(plan) + m * (m + 1)) * lanes;
    memset(cell->x, 0, (size_t)n * sizeof *cell->x);
    for (int k = 0; k < cell_plan_near(plan); k++) {
        int row = cell_plan_near_row(plan, k);
        cell->x[row] = half_get(h, k * lanes + cell->lane) / scale_of(cell, row);
    }
    cblas_dsyr(CblasColMajor, CblasLower, n, 1.0, cell->x, 1, cell->E, n);
}

/* E = Pi A Pi - K, with h h' where it is apart, C = K + U G U', with Pi A Pi = A - V U' - U V' and V = A W -
 * U (W'A W) / 2. */
static void fill_displacements(const struct cell_plan *plan, struct cell *cell) {
    const int n = cell->n, m = cell->n_columns;
    double *E = cell->E, *C = cell->C;
    fill_matrices(cell->numbers + (n + 2 * cell_plan_floats(plan)) * cell->lanes, cell);
    fill_motions(plan, cell);
    for (int a = 0; a < m; a++)
        cblas_dsymv(CblasColMajor, CblasLower, n, 1.0, E, n, cell->W + a * n, 1, 0.0, cell->V + a * n, 1);
    for (int a = 0; a < m; a++) {
        const double *U = cell->U + a * n, *V = cell->V + a * n;
        memcpy(cell->x, V, (size_t)n * sizeof *V);
        for (int b = 0; b < m; b++)
            cblas_daxpy(n, -0.5 * cblas_ddot(n, cell->W + b * n, 1, V, 1), cell->U + b * n, 1, cell->x, 1);
        cblas_dsyr2(CblasColMajor, CblasLower, n, -1.0, cell->x, 1, U, 1, E, n);
    }
    if (plan->apart) add_flux(plan, cell);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            E[(int64_t)j * n + i] -= C[(int64_t)j * n + i];
            for (int a = 0; a < m; a++) C[(int64_t)j * n + i] += cell->U[a * n + i] * cell->W[a * n + j];
        }
}

/* Infinite where K is not positive definite even so. */
static double largest(struct cell *cell) {
    const int n = cell->n;
    double value = 0.0;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, cell->C, n) != 0) return INFINITY;
    for (int i = 0; i < n; i++) cell->x[i] = 1.0 + sin(1.7 * i); /* no structure */
    for (int step = 0; step <= POWER_STEPS; step++) {
        double size = cblas_dnrm2(n, cell->x, 1);
        if (!(size > 0.0)) break;
        if (step > 0) value = size;
        cblas_dscal(n, 1.0 / size, cell->x, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, cell->C, n, cell->x, 1);
        cblas_dsymv(CblasColMajor, CblasLower, n, 1.0, cell->E, n, cell->x, 1, 0.0, cell->y, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, cell->C, n, cell->y, 1);
        memcpy(cell->x, cell->y, (size_t)n * sizeof *cell->x);
    }
    return isfinite(value) ? value : INFINITY;
}

/* The numbers of the batches of a sample of cells, one batch after another. */
static facet_status fetch_batches(const struct device *device, const struct cell_plan *plan, int n,
                                  const int32_t *cells, uint16_t **numbers) {
    facet_status status = FACET_OK;
    const int64_t size = cell_plan_half_size(plan) * plan->lanes;
    TRY(ALLOC(*numbers, n * size));
    for (int k = 0; k < n; k++)
        TRY(device_download(device, *numbers + k * size,
                            (const uint16_t *)plan->matrices + cells[k] / plan->lanes * size,
                            (size_t)size * sizeof **numbers));
done:
    return status;
}

facet_status trace_half_error(const struct facet_mesh *mesh, const struct trace_matrices *matrices, int block,
                              const struct cell_plan *plan, double *error) {
    facet_status status = FACET_OK;
    const int n = matrices->n[block], lanes = matrices->lanes;
    const int64_t n_cells = mesh->blocks[block].count, size = cell_plan_half_size(plan) * lanes;
    int n_samples = n_cells < SAMPLES ? (int)n_cells : SAMPLES;
    int32_t cells[SAMPLES], numbers[SAMPLES];
    struct trace_picks picks = {0};
    uint16_t *halves = NULL;
    struct base_collector failures;
    double most = *error;
    base_collector_init(&failures);
    for (int k = 0; k < n_samples; k++) {
        cells[k] = (int32_t)((2 * (int64_t)k + 1) * n_cells / (2 * n_samples));
        numbers[k] = mesh->blocks[block].first + cells[k];
    }
    TRY(trace_picks_create(matrices, mesh, n_samples, numbers, &picks));
    TRY(fetch_batches(matrices->device, plan, n_samples, cells, &halves));
#pragma omp parallel num_threads(base_threads()) reduction(max : most)
    {
        struct cell cell;
        facet_status mine =
            cell_create(n, plan->n_near > 0 ? cell_plan_motions(plan) : 1, lanes, picks.step, &cell);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < n_samples; k++) {
            if (mine != FACET_OK) continue;
            cell.K = picks.K[k];
            cell.numbers = halves + k * size;
            cell.lane = cells[k] % lanes;
            if (cell.numbers[scale_place(&cell, 0)] == 0) continue;
            (plan->n_near > 0 ? fill_displacements : fill_constant)(plan, &cell);
            most = fmax(most, largest(&cell));
        }
        cell_destroy(&cell);
    }
    TRY(base_collected(&failures));
    *error = most;
done:
    base_free(&halves);
    trace_picks_destroy(&picks);
    return status;
}
