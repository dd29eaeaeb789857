/* The functions of the vertices of simplices as a device that is not the host wants them: the vertices of
 * every face, from and to its functions of degree 1 by kernels, and P'KP from a few numbers of every cell.
 * The same space as nodes.c has, with the same numbers. See pmg_parts.h. */
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "trace/pmg_parts.h"
#include "trace/sides.h"

int trace_has_corners(const struct trace_space *space, const struct trace_matrices *matrices,
                      enum trace_beside beside, const struct trace_pieces *pieces) {
    static const char *const kernels[] = {"corner_prolong", "corner_restrict", "cell_corners", NULL};
    for (int b = 0; b < space->mesh->n_blocks; b++)
        if (!shape_is_simplex(space->mesh->blocks[b].shape)) return 0;
    return device_takes_over(matrices->device, kernels) && !trace_is_shared(space) &&
           beside == TRACE_VERTICES && space->degree == 1 && space->fixed == NULL &&
           (pieces == NULL || pieces->corners == NULL);
}

/* The vertices of the free faces, in the order of their frames, in the first of the places that a face has
 * for its components. */
static void list_corners(const struct trace_space *space, const struct mesh_skeleton *skeleton,
                         int32_t *corners) {
    const int dim = space->mesh->dim, size = dim * space->n_components;
#pragma omp parallel for num_threads(base_threads_for(space->n_free_faces)) schedule(static)
    for (int64_t k = 0; k < space->n_free_faces; k++) {
        int32_t vertices[SHAPE_MAX_FACE_VERTICES];
        mesh_side_vertices(space->mesh, space->free_faces[k], 0, vertices, NULL);
        for (int i = 0; i < dim; i++) corners[k * size + i] = skeleton->vertices[vertices[i]];
    }
}

/* A vertex of a face whose values are given is no unknown (-1); all others are none yet (-2). */
static void mark_given(const struct trace_space *space, const struct mesh_skeleton *skeleton,
                       int32_t *numbers) {
    for (int32_t v = 0; v < skeleton->n_vertices; v++) numbers[v] = -2;
#pragma omp parallel for num_threads(base_threads_for(space->n_faces)) schedule(static)
    for (int64_t f = 0; f < space->n_faces; f++) {
        int32_t vertices[SHAPE_MAX_FACE_VERTICES];
        if (space->face_free[f] >= 0) continue;
        int n = mesh_side_vertices(space->mesh, (int32_t)f, 0, vertices, NULL);
        for (int i = 0; i < n; i++) {
#pragma omp atomic write
            numbers[skeleton->vertices[vertices[i]]] = -1;
        }
    }
}

/* Vertices become columns, all components of a face after the first. */
static void number_corners(const struct trace_space *space, const int32_t *numbers, int32_t *corners) {
    const int dim = space->mesh->dim, nc = space->n_components;
#pragma omp parallel for num_threads(base_threads_for(space->n_free_faces)) schedule(static)
    for (int64_t k = 0; k < space->n_free_faces; k++)
        for (int i = 0; i < dim; i++) {
            int32_t *at = corners + k * dim * nc + i, number = numbers[at[0]];
            for (int c = 0; c < nc; c++) at[c * dim] = number >= 0 ? number * nc + c : -1;
        }
}

facet_status trace_corner_nodes(const struct trace_space *space, struct trace_nodes *nodes,
                                int32_t **corners) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    const int dim = mesh->dim, nc = space->n_components;
    const int64_t n = space->n_free_faces * dim;
    struct mesh_skeleton skeleton = {0};
    int32_t *numbers = NULL, count = 0;
    *nodes = (struct trace_nodes){0};
    TRY(mesh_skeleton_vertices(mesh, &skeleton));
    TRY(ALLOC(numbers, skeleton.n_vertices));
    TRY(ALLOC(*corners, n * nc));
    list_corners(space, &skeleton, *corners);
    mark_given(space, &skeleton, numbers);
    for (int64_t i = 0; i < n; i++) { /* as the faces meet them */
        int32_t *number = &numbers[(*corners)[i / dim * dim * nc + i % dim]];
        if (*number == -2) *number = count++;
    }
    number_corners(space, numbers, *corners);
    nodes->n = nodes->n_vertices = count;
    TRY(ALLOC(nodes->offsets, count + 1));
    TRY(ALLOC(nodes->components, (int64_t)count * nc));
    TRY(ALLOC(nodes->vertices, count));
    TRY(ALLOC(nodes->columns, mesh->n_vertices));
    for (int64_t i = 0; i <= count; i++) nodes->offsets[i] = i * nc;
    for (int64_t i = 0; i < (int64_t)count * nc; i++) nodes->components[i] = (uint8_t)(i % nc);
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        const int32_t column = numbers[skeleton.vertices[v]];
        nodes->columns[v] = column >= 0 ? column * nc : -1;
        if (column >= 0) nodes->vertices[column] = v;
    }
done:
    base_free(&numbers);
    mesh_skeleton_destroy(&skeleton);
    if (status != FACET_OK) {
        trace_nodes_destroy(nodes);
        base_free(corners);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ transfers */

/* Arrays of the device but for the hats. */
struct corner_link {
    const struct device *device;
    int dim;
    int64_t n_faces, n_vertices, *starts;
    int32_t *corners, *places;
    double *hats;
};

static void prolong_corners(const struct mg_link *link, const struct vector *coarse, struct vector *fine) {
    const struct corner_link *c = link->data;
    device_corner_prolong(c->device, fine->precision, c->n_faces, c->dim, c->corners, c->hats,
                          coarse->numbers, fine->numbers);
}

static void restrict_corners(const struct mg_link *link, const struct vector *fine, struct vector *coarse) {
    const struct corner_link *c = link->data;
    device_corner_restrict(c->device, fine->precision, c->n_vertices, c->dim, c->starts, c->places, c->hats,
                           fine->numbers, coarse->numbers);
}

static void free_corners(struct mg_link *link) {
    struct corner_link *c = link->data;
    device_free(c->device, &c->starts);
    device_free(c->device, &c->corners);
    device_free(c->device, &c->places);
    base_free(&c->hats);
    base_free(&link->data);
}

facet_status trace_corner_link(const struct device *device, const struct trace_space *space,
                               int64_t n_columns, const int32_t *corners, struct mg_link *link) {
    facet_status status = FACET_OK;
    const int dim = space->mesh->dim;
    const int64_t n_faces = space->n_free_faces * space->n_components, n = n_faces * dim;
    struct corner_link *c = NULL;
    int64_t *starts = NULL, *sorted = NULL;
    int32_t *places = NULL;
    *link = (struct mg_link){0};
    TRY(CALLOC(c, 1));
    *c = (struct corner_link){.device = device, .dim = dim, .n_faces = n_faces, .n_vertices = n_columns};
    *link = (struct mg_link){.n_fine = space->n_free,
                             .n_coarse = n_columns,
                             .prolong = prolong_corners,
                             .restrict_ = restrict_corners,
                             .free = free_corners,
                             .data = c};
    TRY(trace_hats(dim == 2 ? SHAPE_SEGMENT : SHAPE_TRIANGLE, &c->hats));
    TRY(base_group(n_columns, n, corners, &starts, &sorted));
    TRY(ALLOC(places, starts[n_columns]));
#pragma omp parallel for num_threads(base_threads_for(starts[n_columns])) schedule(static)
    for (int64_t i = 0; i < starts[n_columns]; i++) places[i] = (int32_t)sorted[i];
    TRY(device_copy(device, &c->starts, starts, (size_t)(n_columns + 1), sizeof *starts));
    TRY(device_copy(device, &c->places, places, (size_t)starts[n_columns], sizeof *places));
    TRY(device_copy(device, &c->corners, corners, (size_t)n, sizeof *corners));
done:
    base_free(&starts);
    base_free(&sorted);
    base_free(&places);
    if (status != FACET_OK) mg_link_destroy(link);
    return status;
}
