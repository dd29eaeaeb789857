/* Whether continuous functions can follow K. Around a vertex they are one number, so they can where the large
 * values of K hang together there through faces (quasi-monotone, in the words of the theory): in layers, or
 * around one inclusion. Where two cells of large K meet in no more than the vertex, as on a chessboard, the
 * solution has two values at one place, and a coarse space of vertices leaves iterations that grow with the
 * jump. */
#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "trace/coarse.h"
#include "trace/sides.h"

/* The cells around one vertex while they are put together, the largest first. */
struct star {
    int32_t *place; /* per cell of the mesh: 1 + its place here; 0: not in it (yet) */
    int n, most;
    int32_t *cells, *parent;
    double *values, *peak; /* peak: of the piece that a root stands for */
};

static void star_destroy(struct star *s) {
    base_free(&s->place);
    base_free(&s->cells);
    base_free(&s->parent);
    base_free(&s->values);
    base_free(&s->peak);
}

static facet_status star_create(const struct facet_mesh *mesh, int most, struct star *s) {
    facet_status status = FACET_OK;
    *s = (struct star){.most = most};
    TRY(CALLOC(s->place, mesh->n_cells));
    TRY(ALLOC(s->cells, most));
    TRY(ALLOC(s->parent, most));
    TRY(ALLOC(s->values, most));
    TRY(ALLOC(s->peak, most));
done:
    return status;
}

static int root(const struct star *s, int i) {
    while (s->parent[i] != i) i = s->parent[i];
    return i;
}

/* Cell i joins the pieces of its neighbours. Returns how much a piece that ends here stands out. */
static double join(const struct facet_mesh *mesh, struct star *s, int i) {
    const struct mesh_block *b = mesh_block_of(mesh, s->cells[i]);
    int n_faces = shape_n_faces(b->shape);
    const int32_t *faces = b->faces + (int64_t)(s->cells[i] - b->first) * n_faces;
    double most = 1.0;
    s->parent[i] = i;
    s->peak[i] = s->values[i];
    for (int f = 0; f < n_faces; f++) {
        const int32_t *sides = mesh->face_cells + 2 * (int64_t)faces[f];
        int32_t other = sides[0] == s->cells[i] ? sides[1] : sides[0];
        int place = other >= 0 ? s->place[other] : 0;
        if (place == 0) continue;
        int here = root(s, i), there = root(s, place - 1);
        if (here == there) continue;
        most = fmax(most, fmin(s->peak[here], s->peak[there]) / s->values[i]);
        s->peak[there] = fmax(s->peak[here], s->peak[there]);
        s->parent[here] = there;
    }
    s->place[s->cells[i]] = i + 1;
    return most;
}

/* The cells of a vertex, by value. */
static double star_jump(const struct facet_mesh *mesh, const double *values, int64_t n, const int64_t *cells,
                        struct star *s) {
    double most = 1.0;
    s->n = 0;
    for (int64_t k = 0; k < n; k++) {
        int at = s->n++;
        for (; at > 0 && s->values[at - 1] < values[cells[k]]; at--) {
            s->values[at] = s->values[at - 1];
            s->cells[at] = s->cells[at - 1];
        }
        s->values[at] = values[cells[k]];
        s->cells[at] = (int32_t)cells[k];
    }
    for (int i = 0; i < s->n; i++) most = fmax(most, join(mesh, s, i));
    for (int i = 0; i < s->n; i++) s->place[s->cells[i]] = 0;
    return most;
}

/* The mean energy of the constants on the faces of every cell. */
static void cell_values(const struct trace_view *view, const struct facet_mesh *mesh, double *values) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n_faces = shape_n_faces(block->shape), m = view->matrices->n[b] / n_faces;
#pragma omp parallel for num_threads(base_threads_for(block->count)) schedule(static)
        for (int32_t c = 0; c < block->count; c++) {
            const double *K = trace_view_cell(view, b, c);
            double sum = 0.0;
            for (int f = 0; f < n_faces; f++) sum += trace_entry(K, view->matrices->lanes, f * m, f * m);
            values[block->first + c] = sum / n_faces;
        }
    }
}

/* Every cell once for each of its vertices. */
static facet_status vertex_cells(const struct facet_mesh *mesh, int64_t **starts, int64_t **cells) {
    facet_status status = FACET_OK;
    int64_t n = 0, at = 0, *entries = NULL, *owner = NULL;
    int32_t *vertices = NULL;
    for (int b = 0; b < mesh->n_blocks; b++)
        n += (int64_t)mesh->blocks[b].count * shape_n_vertices(mesh->blocks[b].shape);
    TRY(ALLOC(vertices, n));
    TRY(ALLOC(owner, n));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n_vertices = shape_n_vertices(block->shape);
        for (int64_t i = 0; i < (int64_t)block->count * n_vertices; i++, at++) {
            vertices[at] = block->vertices[i];
            owner[at] = block->first + i / n_vertices;
        }
    }
    TRY(base_group(mesh->n_vertices, n, vertices, starts, &entries));
    for (int64_t i = 0; i < n; i++) entries[i] = owner[entries[i]];
    *cells = entries;
done:
    base_free(&vertices);
    base_free(&owner);
    return status;
}

facet_status trace_jump(const struct trace_space *space, const struct trace_matrices *matrices,
                        double *jump) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    struct trace_view view = {.matrices = matrices};
    struct base_collector failures;
    int64_t *starts = NULL, *cells = NULL, most = 1;
    double *values = NULL, largest = 1.0;
    base_collector_init(&failures);
    TRY(ALLOC(values, mesh->n_cells));
    TRY(trace_view_open(matrices, &view));
    cell_values(&view, mesh, values);
    TRY(vertex_cells(mesh, &starts, &cells));
    for (int64_t v = 0; v < mesh->n_vertices; v++)
        if (starts[v + 1] - starts[v] > most) most = starts[v + 1] - starts[v];
#pragma omp parallel num_threads(base_threads_for(mesh->n_cells)) reduction(max : largest)
    {
        struct star s;
        facet_status mine = star_create(mesh, (int)most, &s);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t v = 0; v < mesh->n_vertices; v++)
            if (mine == FACET_OK)
                largest =
                    fmax(largest, star_jump(mesh, values, starts[v + 1] - starts[v], cells + starts[v], &s));
        star_destroy(&s);
    }
    TRY(base_collected(&failures));
    *jump = largest;
done:
    trace_view_close(&view);
    base_free(&values);
    base_free(&starts);
    base_free(&cells);
    return status;
}
