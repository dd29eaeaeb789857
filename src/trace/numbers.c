/* The unknowns of a last space that the parts of a mesh share, numbered over all of them. See levels.h. */
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "trace/coarse.h"
#include "trace/levels.h"

/* Where the numbers of this part begin, `owned` of them. */
static facet_status find_first(struct base_team *team, int64_t owned, int64_t *first) {
    facet_status status = FACET_OK;
    int64_t *all = NULL;
    *first = 0;
    TRY(ALLOC(all, team->size));
    TRY(team_gather(team, 1, &owned, all));
    for (int r = 0; r < team->rank; r++) *first += all[r];
done:
    base_free(&all);
    return status;
}

facet_status trace_number_faces(const struct trace_space *space, const int64_t *starts,
                                struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    const struct seam *seam = space->seam;
    const int64_t n = starts[space->n_free_faces];
    double *numbers = NULL; /* below 2^53 they are whole */
    uint8_t *foreign = NULL;
    if (seam == NULL) return FACET_OK;
    TRY(CALLOC(foreign, space->n_free_faces));
    TRY(ALLOC(numbers, n));
    TRY(ALLOC(l->numbers, n));
    for (int k = 0; k < seam->n_neighbours; k++)
        for (int64_t i = 0; i < seam->neighbours[k].count && seam->neighbours[k].rank < seam->team->rank; i++)
            foreign[seam->neighbours[k].blocks[i]] = 1;
    l->team = seam->team;
    for (int64_t b = 0; b < space->n_free_faces; b++)
        if (!foreign[b]) l->n_owned += starts[b + 1] - starts[b];
    TRY(find_first(l->team, l->n_owned, &l->first));
    int64_t next = l->first;
    for (int64_t b = 0; b < space->n_free_faces; b++)
        for (int64_t i = starts[b]; i < starts[b + 1]; i++) numbers[i] = foreign[b] ? -1.0 : (double)next++;
    TRY(seam_copy_blocks(seam, starts, numbers));
    for (int64_t i = 0; i < n; i++) l->numbers[i] = (int64_t)numbers[i];
done:
    base_free(&numbers);
    base_free(&foreign);
    return status;
}

/* owns (n_vertices): whether the unknowns of a vertex are this part's, of those that periodic faces join in
 * one part alone, by the largest number. */
static facet_status find_owned(const struct facet_mesh *mesh, uint8_t *owns) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    int64_t *labels = NULL, *here = NULL;
    TRY(ALLOC(labels, mesh->n_vertices));
    TRY(ALLOC(here, part->n_owned_vertices));
    memcpy(labels, part->vertex_numbers, (size_t)mesh->n_vertices * sizeof *labels);
    TRY(mesh_merge_joined_vertices(mesh, 1, labels));
    for (int32_t i = 0; i < part->n_owned_vertices; i++) here[i] = 0;
    for (int32_t v = 0; v < mesh->n_vertices; v++)
        if (part->owns_vertex[v]) here[part->vertex_numbers[v] - part->first_vertex] = labels[v];
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        const int64_t at = labels[v] - part->first_vertex; /* where the one stands that names them all */
        owns[v] = at >= 0 && at < part->n_owned_vertices && here[at] == labels[v];
    }
done:
    base_free(&labels);
    base_free(&here);
    return status;
}

facet_status trace_number_vertices(const struct trace_space *space, const struct trace_nodes *nodes,
                                   struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = space->mesh->part;
    const int nc = space->n_components;
    int64_t *values = NULL;
    uint8_t *owns = NULL;
    if (part == NULL || part->team->size == 1) return FACET_OK; /* nobody shares them */
    l->team = part->team;
    TRY(ALLOC(owns, space->mesh->n_vertices));
    TRY(find_owned(space->mesh, owns));
    TRY(ALLOC(values, (int64_t)space->mesh->n_vertices * nc));
    TRY(ALLOC(l->numbers, nodes->offsets[nodes->n]));
    for (int64_t i = 0; i < (int64_t)space->mesh->n_vertices * nc; i++) values[i] = -1;
    for (int64_t i = 0; i < nodes->n; i++)
        if (owns[nodes->vertices[i]]) l->n_owned += nodes->offsets[i + 1] - nodes->offsets[i];
    TRY(find_first(l->team, l->n_owned, &l->first));
    int64_t next = l->first;
    for (int64_t i = 0; i < nodes->n; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++)
            if (owns[nodes->vertices[i]])
                values[(int64_t)nodes->vertices[i] * nc + nodes->components[j]] = next++;
    TRY(mesh_merge_joined_vertices(space->mesh, nc, values));
    for (int64_t i = 0; i < nodes->n; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++)
            l->numbers[j] = values[(int64_t)nodes->vertices[i] * nc + nodes->components[j]];
done:
    base_free(&values);
    base_free(&owns);
    return status;
}
