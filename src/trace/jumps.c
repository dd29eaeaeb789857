/* Jumps of K from cell to cell, as the element matrices have them. See solve/jumps.h. */
#include "solve/jumps.h"

#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "trace/coarse.h"
#include "trace/sides.h"

/* The cells around one vertex. */
struct star {
    int32_t *place; /* per cell of the mesh: 1 + its place here; 0: not in it */
    int32_t *neighbours, *work;
    double *values, *peaks;
};

static void star_destroy(struct star *s) {
    base_free(&s->place);
    base_free(&s->neighbours);
    base_free(&s->work);
    base_free(&s->values);
    base_free(&s->peaks);
}

static facet_status star_create(const struct facet_mesh *mesh, int64_t most, struct star *s) {
    facet_status status = FACET_OK;
    *s = (struct star){0};
    TRY(CALLOC(s->place, mesh->n_cells));
    TRY(ALLOC(s->neighbours, most * SHAPE_MAX_FACES));
    TRY(ALLOC(s->work, 2 * most));
    TRY(ALLOC(s->values, most));
    TRY(ALLOC(s->peaks, most));
done:
    return status;
}

static double star_jump(const struct facet_mesh *mesh, const double *values, int n, const int64_t *cells,
                        struct star *s) {
    for (int i = 0; i < n; i++) {
        s->place[cells[i]] = i + 1;
        s->values[i] = values[cells[i]];
    }
    for (int i = 0; i < n; i++) {
        const struct mesh_block *b = mesh_block_of(mesh, (int32_t)cells[i]);
        int n_faces = shape_n_faces(b->shape);
        const int32_t *faces = b->faces + (cells[i] - b->first) * n_faces;
        for (int f = 0; f < SHAPE_MAX_FACES; f++) {
            const int32_t *sides = f < n_faces ? mesh->face_cells + 2 * (int64_t)faces[f] : NULL;
            int32_t other = sides == NULL ? -1 : sides[0] == cells[i] ? sides[1] : sides[0];
            s->neighbours[i * SHAPE_MAX_FACES + f] = other >= 0 ? s->place[other] - 1 : -1;
        }
    }
    for (int i = 0; i < n; i++) s->place[cells[i]] = 0;
    return solve_star_jump(n, s->values, SHAPE_MAX_FACES, s->neighbours, s->work, s->peaks);
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
        facet_status mine = star_create(mesh, most, &s);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t v = 0; v < mesh->n_vertices; v++)
            if (mine == FACET_OK)
                largest = fmax(largest, star_jump(mesh, values, (int)(starts[v + 1] - starts[v]),
                                                  cells + starts[v], &s));
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
