/* The last space of a multigrid on the trace: its matrix, its nodes and what is smooth in it. See levels.h.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/sort.h"
#include "mesh/part.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"

/* A row mode couples strongly from this part of the strongest coupling of its node. */
#define STRONG_ROW 0.25
/* Below this part of the root of both diagonal entries two row modes do not know each other. */
#define WEAK_ROW 1e-3

static facet_status last_level_alloc(struct coarse_matrix *l, int64_t n_nodes, int64_t n, int n_modes) {
    facet_status status = FACET_OK;
    l->n_nodes = n_nodes;
    l->n_modes = n_modes;
    TRY(ALLOC(l->offsets, n_nodes + 1));
    TRY(CALLOC(l->kinds, n_nodes));
    TRY(CALLOC(l->modes, n * n_modes));
done:
    return status;
}

/* Whether vertices and row modes are told apart by their matrix. With k = 1 they and the vertices are too
 * near each other; aggregates, which tell them apart, take fewer iterations then. */
static int is_apart(const struct trace_space *space, enum trace_beside beside) {
    return beside == TRACE_ROWS && space->n_components == 1 &&
           (team_size(mesh_team(space->mesh)) > 1 || space->degree > 1);
}

/* Interpolation of single unknowns knows no signs: what was smooth with them becomes so without. */
static void turn_rows(int64_t first, struct coarse_matrix *l, struct mg_transfer *P) {
    const struct csr *A = &l->csr;
#pragma omp parallel for num_threads(base_threads_for(A->n)) schedule(static)
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
            A->values[k] *=
                (i >= first ? l->modes[i] : 1.0) * (A->columns[k] >= first ? l->modes[A->columns[k]] : 1.0);
#pragma omp parallel for num_threads(base_threads_for(P->n_rows)) schedule(static)
    for (int64_t k = 0; k < P->offsets[P->n_rows]; k++)
        if (P->columns[k] >= first) P->values[k] *= l->modes[P->columns[k]];
    for (int64_t i = first; i < A->n; i++) l->modes[i] = 1.0;
}

/* Columns from .. to - 1 of P. */
static facet_status take_columns(const struct mg_transfer *P, int64_t from, int64_t to,
                                 struct mg_transfer *part) {
    facet_status status = FACET_OK;
    *part = (struct mg_transfer){.n_rows = P->n_rows, .n_columns = to - from};
    TRY(ALLOC(part->offsets, P->n_rows + 1));
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for num_threads(base_threads_for(P->n_rows)) schedule(static)
        for (int64_t i = 0; i < P->n_rows; i++) {
            int64_t at = pass == 0 ? 0 : part->offsets[i];
            for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
                if (P->columns[k] < from || P->columns[k] >= to) continue;
                if (pass == 1) {
                    part->columns[at] = (int32_t)(P->columns[k] - from);
                    part->values[at] = P->values[k];
                }
                at++;
            }
            if (pass == 0) part->offsets[i + 1] = at;
        }
        if (pass == 1) break;
        part->offsets[0] = 0;
        base_sum_up(P->n_rows, part->offsets);
        TRY(ALLOC(part->columns, part->offsets[P->n_rows]));
        TRY(ALLOC(part->values, part->offsets[P->n_rows]));
    }
done:
    return status;
}

/* What is left of row i of A: *at of them, or, with `thin`, written there from *at on, as columns from
 * `first` on. */
static void thin_row(const struct csr *A, int64_t i, const double *diagonal, int64_t first, int64_t *at,
                     struct csr *thin) {
    int64_t n = 0, own = -1;
    double more = 0.0;
    for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
        const int64_t j = A->columns[k];
        const double value = A->values[k], root = sqrt(diagonal[i] * diagonal[j]);
        if (fabs(value) < WEAK_ROW * root) {
            more += fabs(value) * diagonal[i] / root;
            continue;
        }
        if (thin != NULL) {
            thin->columns[*at + n] = (int32_t)(j + first);
            thin->values[*at + n] = value;
            if (j == i) own = *at + n;
        }
        n++;
    }
    if (thin == NULL)
        *at = n;
    else if (own >= 0)
        thin->values[own] += more;
}

/* One matrix of that of vertices and that of row modes, without the weak couplings of the latter. */
static facet_status put_together(const struct csr *vertices, const struct csr *rows, struct csr *A) {
    facet_status status = FACET_OK;
    const int64_t first = vertices->n, entries = vertices->offsets[first];
    double *diagonal = NULL;
    *A = (struct csr){.n = first + rows->n};
    TRY(CALLOC(diagonal, rows->n));
    TRY(ALLOC(A->offsets, A->n + 1));
    memcpy(A->offsets, vertices->offsets, (size_t)(first + 1) * sizeof *A->offsets);
#pragma omp parallel for num_threads(base_threads_for(rows->n)) schedule(static)
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t k = rows->offsets[i]; k < rows->offsets[i + 1]; k++)
            if (rows->columns[k] == i) diagonal[i] = rows->values[k];
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for num_threads(base_threads_for(rows->n)) schedule(static)
        for (int64_t i = 0; i < rows->n; i++)
            thin_row(rows, i, diagonal, first, A->offsets + first + i + (pass == 0), pass == 1 ? A : NULL);
        if (pass == 1) break;
        base_sum_up(rows->n, A->offsets + first);
        TRY(ALLOC(A->columns, A->offsets[A->n]));
        TRY(ALLOC(A->values, A->offsets[A->n]));
    }
    memcpy(A->columns, vertices->columns, (size_t)entries * sizeof *A->columns);
    memcpy(A->values, vertices->values, (size_t)entries * sizeof *A->values);
done:
    base_free(&diagonal);
    return status;
}

/* P'KP without the couplings between vertices and row modes, and the weak ones between these, which go to the
 * diagonal so that the matrix stays positive definite. They are most of its entries (in 3D six of seven) and
 * cost few iterations from k = 2 on; a factor has a fraction of the entries, classical interpolation and
 * BoomerAMG, which do not tell the two apart, work: docs/pmg.md. */
static facet_status galerkin_apart(const struct trace_space *space, const struct trace_matrices *matrices,
                                   const struct mg_transfer *P, int64_t first, struct csr *csr) {
    facet_status status = FACET_OK;
    struct mg_transfer part = {0};
    struct csr parts[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        TRY(take_columns(P, i == 0 ? 0 : first, i == 0 ? first : P->n_columns, &part));
        TRY(trace_galerkin(space, matrices, &part, &parts[i]));
        mg_transfer_destroy(&part);
    }
    TRY(put_together(&parts[0], &parts[1], csr));
done:
    mg_transfer_destroy(&part);
    for (int i = 0; i < 2; i++) csr_destroy(&parts[i]);
    return status;
}

/* Row modes are smooth when neighbours along the row are equal, up to the sign of odd polynomials, which
 * depends on the frames of their faces: walking along the strong couplings gives every one the sign that
 * makes these negative. Signs go into the first mode, or into P and the matrix. */
static facet_status sign_rows(const struct trace_space *space, const struct trace_nodes *nodes,
                              struct coarse_matrix *l, struct mg_transfer *P) {
    facet_status status = FACET_OK;
    const struct csr *A = &l->csr;
    const int64_t first = nodes->offsets[nodes->n_vertices];
    int64_t n = A->n, *stack = NULL, *sets = NULL;
    double *sign = l->modes, *least = NULL;
    TRY(ALLOC(stack, n));
    TRY(ALLOC(sets, n));
    TRY(CALLOC(least, n));
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int64_t i = first; i < n; i++)
        for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++)
            if (A->columns[k] >= first && A->columns[k] != i)
                least[i] = fmax(least[i], STRONG_ROW * fabs(A->values[k]));
    for (int64_t start = first; start < n; start++) {
        int64_t depth = 0;
        if (sign[start] != 0.0) continue;
        sign[start] = 1.0;
        sets[start] = start;
        stack[depth++] = start;
        while (depth > 0) {
            int64_t i = stack[--depth];
            for (int64_t k = A->offsets[i]; k < A->offsets[i + 1]; k++) {
                int64_t j = A->columns[k];
                if (j < first || sign[j] != 0.0 || !(fabs(A->values[k]) >= least[i]) || A->values[k] == 0.0)
                    continue;
                sign[j] = A->values[k] < 0.0 ? sign[i] : -sign[i];
                sets[j] = start;
                stack[depth++] = j;
            }
        }
    }
    if (!is_apart(space, nodes->beside)) goto done;
    if (l->team != NULL) TRY(trace_merge_signs(space, nodes, l, sets, sign));
    turn_rows(first, l, P);
done:
    base_free(&stack);
    base_free(&sets);
    base_free(&least);
    return status;
}

facet_status trace_last_level_traces(const struct trace_space *space, const struct trace_matrices *matrices,
                                     int n_modes, const double *modes, struct mg_transfer *P,
                                     struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    struct trace_space low = {0};
    int nc = space->n_components;
    if (modes == NULL) n_modes = nc;
    TRY(trace_lower_space(space, 0, &low));
    TRY(trace_inject(space, &low, P));
    TRY(trace_galerkin(space, matrices, P, &l->csr));
    TRY(last_level_alloc(l, low.n_free_faces, low.n_free, n_modes));
    memcpy(l->offsets, low.free_offsets, (size_t)(low.n_free_faces + 1) * sizeof *l->offsets);
    for (int64_t row = 0; row < P->n_rows && modes != NULL; row++)
        for (int64_t k = P->offsets[row]; k < P->offsets[row + 1]; k++)
            for (int a = 0; a < n_modes; a++)
                l->modes[a * low.n_free + P->columns[k]] = modes[a * P->n_rows + row];
    for (int64_t k = 0; k < low.n_free_faces && modes == NULL; k++) {
        int64_t first = low.free_offsets[k], m = (low.free_offsets[k + 1] - first) / nc;
        double one = sqrt(shape_measure((enum shape)low.mesh->face_shapes[low.free_faces[k]]));
        for (int c = 0; c < nc; c++) l->modes[c * low.n_free + first + c * m] = one;
    }
    TRY(trace_number_faces(space, low.free_offsets, l));
    l->name = "k=0";
    l->classical = nc == 1;
done:
    trace_space_destroy(&low);
    return status;
}

/* The near-null vectors of a continuous space: the components by themselves, or rigid motions. */
static void fill_modes(const struct facet_mesh *mesh, const struct trace_nodes *nodes, const double *points,
                       int rigid, struct coarse_matrix *l) {
    int64_t n = l->csr.n;
    int dim = mesh->dim;
    for (int64_t i = 0; i < nodes->n_vertices; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++) {
            int c = nodes->components[j];
            l->modes[c * n + j] = 1.0;
            for (int r = 0; rigid && r < (dim == 2 ? 1 : 3); r++) { /* e_r x x */
                const double *x = points + (int64_t)nodes->vertices[i] * dim;
                double *mode = l->modes + (dim + r) * n;
                int a = dim == 2 ? 0 : (r + 1) % 3, b = dim == 2 ? 1 : (r + 2) % 3;
                mode[j] = c == b ? x[a] : c == a ? -x[b] : 0.0;
            }
        }
}

/* Coordinates of the vertices of a mesh, from the middle of the box around them. */
static facet_status vertex_points(const struct facet_mesh *mesh, double *points) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < mesh->n_blocks; k++) {
        const struct mesh_block *b = &mesh->blocks[k];
        int nv = shape_n_vertices(b->shape);
        for (int64_t c = 0; c < b->count; c++)
            for (int v = 0; v < nv; v++)
                memcpy(points + (int64_t)b->vertices[c * nv + v] * dim,
                       b->nodes + (c * b->n_nodes + shape_vertex_node(b->shape, mesh->order, v)) * dim,
                       (size_t)dim * sizeof *points);
    }
    for (int64_t i = 0; i < (int64_t)mesh->n_vertices * dim; i++) {
        lower[i % dim] = fmin(lower[i % dim], points[i]);
        upper[i % dim] = fmax(upper[i % dim], points[i]);
    }
    TRY(team_reduce(mesh_team(mesh), TEAM_MIN, dim, lower));
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, dim, upper));
    for (int64_t i = 0; i < (int64_t)mesh->n_vertices * dim; i++)
        points[i] -= 0.5 * (lower[i % dim] + upper[i % dim]);
done:
    return status;
}

facet_status trace_last_level_continuous(const struct trace_space *space,
                                         const struct trace_matrices *matrices, enum trace_beside beside,
                                         const struct trace_pieces *pieces, int n_modes, const double *modes,
                                         struct mg_transfer *P, struct mg_link *link,
                                         struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    struct trace_nodes nodes = {0};
    double *points = NULL;
    int32_t *corners = NULL;
    const struct facet_mesh *mesh = space->mesh;
    int nc = space->n_components, rigid = n_modes > nc;
    const int linked = link != NULL && trace_has_corners(space, matrices, beside, pieces);
    TRY(linked ? trace_corner_nodes(space, &nodes, &corners)
               : trace_continuous_nodes(space, beside, pieces, &nodes));
    int64_t n_nodes = nodes.n;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &n_nodes));
    if (n_nodes == 0) { /* every vertex lies on an eliminated face */
        TRY(trace_last_level_traces(space, matrices, n_modes, modes, P, l));
        goto done;
    }
    TRY(nodes.columns != NULL && !trace_has_tensor_cells(mesh)
            ? trace_galerkin_vertices(space, matrices, nodes.offsets[nodes.n], nodes.columns, &l->csr)
        : is_apart(space, beside)
            ? galerkin_apart(space, matrices, &nodes.P, nodes.offsets[nodes.n_vertices], &l->csr)
            : trace_galerkin(space, matrices, &nodes.P, &l->csr));
    TRY(last_level_alloc(l, nodes.n, nodes.offsets[nodes.n], rigid ? n_modes : nc));
    memcpy(l->offsets, nodes.offsets, (size_t)(nodes.n + 1) * sizeof *l->offsets);
    for (int64_t i = nodes.n_vertices; i < nodes.n; i++) l->kinds[i] = 1;
    if (rigid) {
        TRY(ALLOC(points, (int64_t)mesh->n_vertices * mesh->dim));
        TRY(vertex_points(mesh, points));
    }
    fill_modes(mesh, &nodes, points, rigid, l);
    TRY(trace_number_nodes(space, pieces, &nodes, l));
    TRY(sign_rows(space, &nodes, l, &nodes.P));
    l->classical = is_apart(space, beside) && !device_has_memory(matrices->device);
    if (linked) TRY(trace_corner_link(matrices->device, space, nodes.offsets[nodes.n], corners, link));
    *P = nodes.P;
    nodes.P = (struct mg_transfer){0};
    l->name = nodes.n == nodes.n_vertices ? "linear"
              : beside == TRACE_ROWS      ? "linear+rows"
              : beside == TRACE_FLUXES    ? "linear+fluxes"
                                          : "linear+normals";
done:
    base_free(&points);
    base_free(&corners);
    trace_nodes_destroy(&nodes);
    return status;
}

facet_status trace_last_level_matrix(const struct trace_space *space, const struct trace_matrices *matrices,
                                     const char *name, struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    TRY(trace_assemble(space, matrices, &l->csr));
    TRY(last_level_alloc(l, space->n_free_faces, space->n_free, 0));
    memcpy(l->offsets, space->free_offsets, (size_t)(space->n_free_faces + 1) * sizeof *l->offsets);
    l->name = name;
done:
    return status;
}
