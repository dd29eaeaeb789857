/* The unknowns of a last space that the parts of a mesh share, numbered over all of them. See levels.h. */
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "mesh/part.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"

static void take_range(const struct team_range *range, struct coarse_matrix *l) {
    l->first = range->first;
    l->n_owned = range->count;
}

facet_status trace_number_faces(const struct trace_space *space, const int64_t *starts,
                                struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    struct seam *seam = space->seam;
    struct team_range range;
    int64_t *firsts = NULL; /* of the blocks */
    if (seam == NULL) return FACET_OK;
    TRY(ALLOC(firsts, space->n_free_faces));
    TRY(ALLOC(l->numbers, starts[space->n_free_faces]));
    l->team = seam->team;
    TRY(team_number_items(seam->team, seam->n_neighbours, seam->neighbours, space->n_free_faces, starts,
                          firsts, &range));
    take_range(&range, l);
    for (int64_t b = 0; b < space->n_free_faces; b++)
        for (int64_t i = starts[b]; i < starts[b + 1]; i++) l->numbers[i] = firsts[b] + i - starts[b];
done:
    base_free(&firsts);
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

/* What parts say to each other about nodes: numbers of all vertices, faces and edges that may have one. */
struct places {
    int nc, width;                     /* of a vertex: components, or pieces */
    int64_t *vertices, *faces, *edges; /* faces, edges: NULL where there are vertices only */
    const int32_t *firsts;             /* NULL, or the first piece of every vertex */
    uint8_t *owns;                     /* as many of every vertex */
};

static void places_destroy(struct places *p) {
    base_free(&p->vertices);
    base_free(&p->faces);
    base_free(&p->edges);
    base_free(&p->owns);
}

/* Where the numbers of a node stand, for all components. */
static int64_t *place_of(const struct places *p, const struct trace_nodes *nodes, int64_t node) {
    if (node < nodes->n_vertices) {
        const int32_t vertex = nodes->vertices[node];
        return p->vertices + (int64_t)vertex * p->width +
               (p->firsts != NULL ? nodes->places[node] - p->firsts[vertex] : 0);
    }
    const int32_t at = nodes->places[node];
    return at >= 0 ? p->faces + (int64_t)at * p->nc : p->edges + (int64_t)(-1 - at) * p->nc;
}

/* The same of pieces, which belong to the last part that has a node of them: not all that have the vertex do.
 * p->vertices is left as it was, without numbers. */
static facet_status find_owned_pieces(const struct facet_mesh *mesh, const struct trace_nodes *nodes,
                                      struct places *p) {
    facet_status status = FACET_OK;
    const int64_t n = (int64_t)mesh->n_vertices * p->width, rank = mesh->part->team->rank;
    for (int64_t i = 0; i < nodes->n_vertices; i++) *place_of(p, nodes, i) = rank;
    TRY(mesh_merge_vertices(mesh, p->width, p->vertices));
    for (int64_t i = 0; i < n; i++) {
        p->owns[i] = p->vertices[i] == rank;
        p->vertices[i] = -1;
    }
done:
    return status;
}

static facet_status places_create(const struct trace_space *space, const struct trace_pieces *pieces,
                                  const struct trace_nodes *nodes, struct places *p) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    const int64_t nc = space->n_components;
    *p = (struct places){.nc = (int)nc, .width = (int)nc};
    if (pieces != NULL && pieces->firsts != NULL) {
        p->width = pieces->most;
        p->firsts = pieces->firsts;
    }
    const int64_t n = (int64_t)mesh->n_vertices * p->width;
    TRY(ALLOC(p->owns, n));
    TRY(ALLOC(p->vertices, n));
    for (int64_t i = 0; i < n; i++) p->vertices[i] = -1;
    TRY(p->firsts != NULL ? find_owned_pieces(mesh, nodes, p) : find_owned(mesh, p->owns));
    if (nodes->beside == TRACE_VERTICES) goto done;
    TRY(ALLOC(p->faces, mesh->n_faces * nc));
    for (int64_t i = 0; i < mesh->n_faces * nc; i++) p->faces[i] = -1;
    if (nodes->edge_labels == NULL) goto done;
    TRY(ALLOC(p->edges, nodes->skeleton.n_edges * nc));
    for (int64_t i = 0; i < nodes->skeleton.n_edges * nc; i++) p->edges[i] = -1;
done:
    return status;
}

/* Whether a node is this part's: that of an edge belongs to who has named it. */
static int is_owned(const struct places *p, const struct mesh_part *part, const struct trace_nodes *nodes,
                    int64_t node) {
    if (node < nodes->n_vertices)
        return p->owns[p->firsts != NULL ? place_of(p, nodes, node) - p->vertices : nodes->vertices[node]];
    const int32_t at = nodes->places[node];
    return at >= 0 ? part->owns_face[at] : nodes->edge_labels[-1 - at] / 2 == nodes->first_label + (-1 - at);
}

/* Those of faces and edges become the largest of all copies. */
static facet_status merge_places(const struct trace_space *space, const struct trace_nodes *nodes,
                                 const struct places *p) {
    facet_status status = FACET_OK;
    if (p->faces != NULL) TRY(mesh_merge_faces(space->mesh, p->nc, p->faces));
    if (p->edges != NULL) TRY(mesh_merge_edges(space->mesh, &nodes->skeleton, p->nc, 0, p->edges));
done:
    return status;
}

facet_status trace_number_nodes(const struct trace_space *space, const struct trace_pieces *pieces,
                                const struct trace_nodes *nodes, struct coarse_matrix *l) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = space->mesh->part;
    struct places p = {0};
    struct team_range range;
    int64_t n_owned = 0;
    if (part == NULL || part->team->size == 1) return FACET_OK; /* nobody shares them */
    l->team = part->team;
    TRY(places_create(space, pieces, nodes, &p));
    TRY(ALLOC(l->numbers, nodes->offsets[nodes->n]));
    for (int64_t i = 0; i < nodes->n; i++)
        if (is_owned(&p, part, nodes, i)) n_owned += nodes->offsets[i + 1] - nodes->offsets[i];
    TRY(team_number_owned(l->team, n_owned, &range));
    take_range(&range, l);
    int64_t next = l->first;
    for (int64_t i = 0; i < nodes->n; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1] && is_owned(&p, part, nodes, i); j++)
            place_of(&p, nodes, i)[nodes->components[j]] = next++;
    TRY(mesh_merge_joined_vertices(space->mesh, p.width, p.vertices));
    TRY(merge_places(space, nodes, &p));
    for (int64_t i = 0; i < nodes->n; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++)
            l->numbers[j] = place_of(&p, nodes, i)[nodes->components[j]];
done:
    places_destroy(&p);
    return status;
}

/* The names of sets, twice the largest number of their unknowns, + 1 where it has turned: written to the
 * places of nodes; or taken from there, if they are larger. Whether any was. */
static int pass_names(const struct places *p, const struct trace_nodes *nodes, int take, const int64_t *sets,
                      const double *signs, int64_t *names) {
    int more = 0;
    for (int64_t i = nodes->n_vertices; i < nodes->n; i++)
        for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++) {
            int64_t *name = &names[sets[j]], *at = place_of(p, nodes, i) + nodes->components[j];
            const int64_t turned = signs[j] < 0.0;
            if (!take)
                *at = *name ^ turned;
            else if (*at >> 1 > *name >> 1) {
                *name = *at ^ turned;
                more = 1;
            }
        }
    return more;
}

facet_status trace_merge_signs(const struct trace_space *space, const struct trace_nodes *nodes,
                               const struct coarse_matrix *l, const int64_t *sets, double *signs) {
    facet_status status = FACET_OK;
    const int64_t first = nodes->offsets[nodes->n_vertices], n = nodes->offsets[nodes->n];
    struct places p = {0};
    int64_t *names = NULL, more = 1;
    TRY(places_create(space, NULL, nodes, &p));
    TRY(CALLOC(names, n));
    for (int64_t j = first; j < n; j++)
        if (names[sets[j]] < 2 * (l->numbers[j] + 1)) names[sets[j]] = 2 * (l->numbers[j] + 1);
    while (more) { /* a row may go through many parts */
        pass_names(&p, nodes, 0, sets, signs, names);
        TRY(merge_places(space, nodes, &p));
        more = pass_names(&p, nodes, 1, sets, signs, names);
        TRY(team_reduce_counts(l->team, TEAM_MAX, 1, &more));
    }
    for (int64_t j = first; j < n; j++)
        if (names[sets[j]] % 2 == 1) signs[j] = -signs[j];
    for (int pass = 0; pass < 2; pass++) { /* signs may disagree round a ring: one has to win */
        for (int64_t i = nodes->n_vertices; i < nodes->n; i++)
            for (int64_t j = nodes->offsets[i]; j < nodes->offsets[i + 1]; j++) {
                int64_t *at = place_of(&p, nodes, i) + nodes->components[j];
                if (pass == 0)
                    *at = signs[j] > 0.0;
                else
                    signs[j] = *at > 0 ? 1.0 : -1.0;
            }
        if (pass == 0) TRY(merge_places(space, nodes, &p));
    }
done:
    base_free(&names);
    places_destroy(&p);
    return status;
}
