/* Cells round the vertices of seams. See vertex_cells.h. */
#include "trace/vertex_cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void trace_vertex_cells_destroy(struct trace_vertex_cells *s) {
    base_free(&s->starts);
    base_free(&s->corners);
}

facet_status trace_has_joints(const struct facet_mesh *mesh, int here, int *joints) {
    facet_status status = FACET_OK;
    struct mesh_seam_joint *list = NULL;
    int32_t n = 0;
    int64_t found = 0;
    TRY(mesh_find_seam_joints(mesh, &list, &n));
    found = here || n > 0;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &found));
    *joints = found != 0;
done:
    base_free(&list);
    return status;
}

/* The corners at the vertices that each neighbour has too, to all of them. */
static facet_status send_corners(const struct mesh_part *part, const int64_t *starts,
                                 const struct vertex_cell *corners, struct vertex_cell **received,
                                 int64_t *offsets) {
    facet_status status = FACET_OK;
    const int64_t size = (int64_t)sizeof *corners;
    int64_t *bytes = NULL, at = 0;
    struct vertex_cell *out = NULL;
    char *in = NULL;
    TRY(CALLOC(bytes, part->team->size + 1));
    for (int k = 0; k < part->n_vertex_neighbours; k++) {
        const struct team_neighbour *to = &part->vertex_neighbours[k];
        for (int32_t i = 0; i < to->count; i++)
            bytes[to->rank + 1] += size * (starts[to->items[i] + 1] - starts[to->items[i]]);
    }
    for (int r = 0; r < part->team->size; r++) bytes[r + 1] += bytes[r];
    TRY(ALLOC(out, bytes[part->team->size] / size));
    for (int k = 0; k < part->n_vertex_neighbours; k++) { /* in ascending order of ranks */
        const struct team_neighbour *to = &part->vertex_neighbours[k];
        for (int32_t i = 0; i < to->count; i++)
            for (int64_t c = starts[to->items[i]]; c < starts[to->items[i] + 1]; c++) {
                out[at] = corners[c];
                out[at].own = -1;
                out[at++].vertex = i;
            }
    }
    TRY(team_all_to_all(part->team, out, bytes, &in, offsets));
    *received = (struct vertex_cell *)in;
done:
    base_free(&bytes);
    base_free(&out);
    return status;
}

/* Vertices of the list that we have with a neighbour become ours. */
static void name_vertices(const struct mesh_part *part, const int64_t *offsets, struct vertex_cell *in) {
    for (int k = 0; k < part->n_vertex_neighbours; k++) {
        const struct team_neighbour *from = &part->vertex_neighbours[k];
        const int64_t size = (int64_t)sizeof *in;
        for (int64_t i = offsets[from->rank] / size; i < offsets[from->rank + 1] / size; i++)
            in[i].vertex = from->items[in[i].vertex];
    }
}

static int compare(const void *one, const void *two) {
    const struct vertex_cell *a = one, *b = two;
    return (a->cell > b->cell) - (a->cell < b->cell);
}

facet_status trace_vertex_cells_create(const struct facet_mesh *mesh, const int64_t *starts,
                                       const struct vertex_cell *corners, struct trace_vertex_cells *s) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = mesh->part;
    struct vertex_cell *in = NULL;
    int64_t *offsets = NULL, *next = NULL, n_in = 0;
    *s = (struct trace_vertex_cells){0};
    TRY(ALLOC(offsets, part->team->size + 1));
    TRY(send_corners(part, starts, corners, &in, offsets));
    n_in = offsets[part->team->size] / (int64_t)sizeof *in;
    name_vertices(part, offsets, in);
    TRY(CALLOC(s->starts, (int64_t)mesh->n_vertices + 1));
    for (int64_t i = 0; i < n_in; i++) s->starts[in[i].vertex + 1]++;
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        if (s->starts[v + 1] > 0) s->starts[v + 1] += starts[v + 1] - starts[v];
        if (s->starts[v + 1] > s->most) s->most = s->starts[v + 1];
        s->starts[v + 1] += s->starts[v];
    }
    TRY(ALLOC(s->corners, s->starts[mesh->n_vertices]));
    TRY(ALLOC(next, mesh->n_vertices));
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        next[v] = s->starts[v];
        for (int64_t c = starts[v]; c < starts[v + 1] && s->starts[v + 1] > s->starts[v]; c++)
            s->corners[next[v]++] = corners[c];
    }
    for (int64_t i = 0; i < n_in; i++) s->corners[next[in[i].vertex]++] = in[i];
    for (int32_t v = 0; v < mesh->n_vertices; v++)
        qsort(s->corners + s->starts[v], (size_t)(s->starts[v + 1] - s->starts[v]), sizeof *s->corners,
              compare);
done:
    base_free(&in);
    base_free(&offsets);
    base_free(&next);
    if (status != FACET_OK) trace_vertex_cells_destroy(s);
    return status;
}
