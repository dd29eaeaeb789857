/* Jumps of K from cell to cell, as the element matrices have them, and the pieces of a vertex between which
 * they lie. See solve/jumps.h. */
#include "solve/jumps.h"

#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "mesh/part.h"
#include "trace/coarse.h"
#include "trace/levels.h"
#include "trace/sides.h"

/* Where chains of cells are cut: docs/pmg.md has the iterations. */
#define CHAIN_REACH 2

/* The corners of all cells, sorted by vertex. */
struct corners {
    int64_t n, first[MESH_MAX_BLOCKS]; /* of a block: cell after cell */
    int32_t n_vertices;
    int64_t *starts, *sorted; /* n_vertices + 1, n */
    int64_t most;             /* at one vertex */
};

/* The corners around one vertex, and the walls: faces where the value is given, as a cell of infinite K. */
struct star {
    int32_t *place; /* per cell of the mesh: 1 + its place here; 0: not in it */
    int32_t *neighbours, *work, *pieces;
    double *values, *peaks;
};

static void star_destroy(struct star *s) {
    base_free(&s->place);
    base_free(&s->neighbours);
    base_free(&s->work);
    base_free(&s->pieces);
    base_free(&s->values);
    base_free(&s->peaks);
}

static facet_status star_create(const struct facet_mesh *mesh, int64_t most, struct star *s) {
    facet_status status = FACET_OK;
    *s = (struct star){0};
    TRY(CALLOC(s->place, mesh->n_cells));
    TRY(ALLOC(s->neighbours, (most + 1) * SHAPE_MAX_FACES));
    TRY(ALLOC(s->work, 2 * (most + 1)));
    TRY(ALLOC(s->pieces, most + 1));
    TRY(ALLOC(s->values, most + 1));
    TRY(ALLOC(s->peaks, most + 1));
done:
    return status;
}

/* The block of a corner; *cell: in it, *vertex: of the cell. */
static const struct mesh_block *corner_cell(const struct facet_mesh *mesh, const struct corners *c,
                                            int64_t corner, int32_t *cell, int *vertex) {
    int b = mesh->n_blocks - 1;
    while (corner < c->first[b]) b--;
    int n = shape_n_vertices(mesh->blocks[b].shape);
    *cell = (int32_t)((corner - c->first[b]) / n);
    *vertex = (int)((corner - c->first[b]) % n);
    return &mesh->blocks[b];
}

static int face_has(enum shape shape, int face, int vertex) {
    const int *vertices = shape_face_vertices(shape, face);
    int n = shape_n_vertices(shape_face_shape(shape, face)), found = 0;
    for (int i = 0; i < n; i++) found |= vertices[i] == vertex;
    return found;
}

/* Fills the star of n corners, with the walls behind them as number n. */
static void look_around(const struct trace_space *space, const struct corners *c, const double *values, int n,
                        const int64_t *corners, struct star *s) {
    const struct facet_mesh *mesh = space->mesh;
    const int walls = space->n_components == 1;
    int32_t cell;
    int vertex;
    for (int i = 0; i < n; i++) {
        const struct mesh_block *b = corner_cell(mesh, c, corners[i], &cell, &vertex);
        s->place[b->first + cell] = i + 1;
        s->values[i] = values[b->first + cell];
    }
    s->values[n] = INFINITY;
    for (int f = 0; f < SHAPE_MAX_FACES; f++) s->neighbours[n * SHAPE_MAX_FACES + f] = -1;
    for (int i = 0; i < n; i++) {
        const struct mesh_block *b = corner_cell(mesh, c, corners[i], &cell, &vertex);
        int n_faces = shape_n_faces(b->shape);
        const int32_t *faces = b->faces + (int64_t)cell * n_faces;
        for (int f = 0; f < SHAPE_MAX_FACES; f++) {
            int32_t *to = &s->neighbours[i * SHAPE_MAX_FACES + f];
            *to = -1;
            if (f >= n_faces || !face_has(b->shape, f, vertex)) continue;
            const int32_t *sides = mesh->face_cells + 2 * (int64_t)faces[f];
            int32_t other = sides[0] == b->first + cell ? sides[1] : sides[0];
            *to = walls && space->face_free[faces[f]] < 0 ? n : other >= 0 ? s->place[other] - 1 : -1;
        }
    }
    for (int i = 0; i < n; i++) {
        const struct mesh_block *b = corner_cell(mesh, c, corners[i], &cell, &vertex);
        s->place[b->first + cell] = 0;
    }
}

/* The mean energy of the constants on the faces of every cell. */
static void cell_values(const struct trace_summary *summary, const struct facet_mesh *mesh, double *values) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n_faces = shape_n_faces(block->shape);
#pragma omp parallel for num_threads(base_threads_for(block->count)) schedule(static)
        for (int32_t c = 0; c < block->count; c++) {
            double sum = 0.0;
            for (int f = 0; f < n_faces; f++) sum += trace_summary_of(summary, b, c, TRACE_CONSTANTS + f);
            values[block->first + c] = sum / n_faces;
        }
    }
}

static facet_status find_contrast(const struct facet_mesh *mesh, const double *values, double *contrast) {
    facet_status status = FACET_OK;
    double least = INFINITY, most = 0.0;
    for (int32_t i = 0; i < mesh->n_cells; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    TRY(team_reduce(mesh_team(mesh), TEAM_MIN, 1, &least));
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 1, &most));
    *contrast = most / least;
done:
    return status;
}

static void corners_destroy(struct corners *c) {
    base_free(&c->starts);
    base_free(&c->sorted);
}

static facet_status corners_create(const struct facet_mesh *mesh, struct corners *c) {
    facet_status status = FACET_OK;
    struct mesh_skeleton skeleton = {0};
    int32_t *vertices = NULL;
    *c = (struct corners){0};
    for (int b = 0; b < mesh->n_blocks; b++) {
        c->first[b] = c->n;
        c->n += (int64_t)mesh->blocks[b].count * shape_n_vertices(mesh->blocks[b].shape);
    }
    TRY(mesh_skeleton_vertices(mesh, &skeleton));
    TRY(ALLOC(vertices, c->n));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int64_t n = (int64_t)block->count * shape_n_vertices(block->shape);
        for (int64_t i = 0; i < n; i++) vertices[c->first[b] + i] = skeleton.vertices[block->vertices[i]];
    }
    c->n_vertices = skeleton.n_vertices;
    TRY(base_group(c->n_vertices, c->n, vertices, &c->starts, &c->sorted));
    for (int32_t v = 0; v < c->n_vertices; v++)
        if (c->starts[v + 1] - c->starts[v] > c->most) c->most = c->starts[v + 1] - c->starts[v];
done:
    mesh_skeleton_destroy(&skeleton);
    base_free(&vertices);
    return status;
}

/* The pieces of one vertex, numbered from 0; corners that the walls hold get -1. Returns how many. */
static int32_t number_pieces(int n, const int64_t *corners, struct star *s, int32_t *pieces) {
    int32_t count = 0;
    const int32_t wall = s->pieces[n];
    for (int i = 0; i < n; i++)
        if (s->pieces[i] == i && i != wall) s->work[i] = count++;
    for (int i = 0; i < n; i++) pieces[corners[i]] = s->pieces[i] == wall ? -1 : s->work[s->pieces[i]];
    return count;
}

/* *jump: the largest; pieces: NULL, or of every corner, from 0 on at each vertex, which has `counts`. reach:
 * where chains of cells are cut, 0: nowhere. */
static facet_status walk(const struct trace_space *space, const struct corners *c, const double *values,
                         int reach, double *jump, int32_t *pieces, int32_t *counts) {
    const struct facet_mesh *mesh = space->mesh;
    struct base_collector failures;
    double largest = 1.0;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(mesh->n_cells)) reduction(max : largest)
    {
        struct star s;
        facet_status mine = star_create(mesh, c->most, &s);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int32_t v = 0; v < c->n_vertices; v++) {
            const int64_t *corners = c->sorted + c->starts[v];
            int n = (int)(c->starts[v + 1] - c->starts[v]);
            if (mine != FACET_OK) continue;
            look_around(space, c, values, n, corners, &s);
            largest = fmax(largest, solve_star_jump(n + 1, s.values, SHAPE_MAX_FACES, s.neighbours, s.work,
                                                    s.peaks, pieces != NULL ? s.pieces : NULL));
            if (reach > 0)
                solve_star_cut(n + 1, s.values, SHAPE_MAX_FACES, s.neighbours, reach, s.work, s.pieces);
            if (pieces != NULL) counts[v] = number_pieces(n, corners, &s, pieces);
        }
        star_destroy(&s);
    }
    *jump = largest;
    return base_collected(&failures);
}

void trace_pieces_destroy(struct trace_pieces *p) {
    base_free(&p->values);
    base_free(&p->corners);
}

/* Numbers of their own for the pieces of all vertices. */
static facet_status cut_vertices(const struct trace_space *space, const struct corners *c,
                                 struct trace_pieces *p) {
    facet_status status = FACET_OK;
    int32_t *counts = NULL, n_free = 0, n_cut = 0;
    double jump;
    TRY(ALLOC(counts, c->n_vertices));
    TRY(ALLOC(p->corners, c->n));
    for (int b = 0; b < space->mesh->n_blocks; b++) p->first[b] = c->first[b];
    TRY(walk(space, c, p->values, 0, &jump, p->corners, counts));
    for (int32_t v = 0; v < c->n_vertices; v++) {
        n_free += counts[v] > 0;
        n_cut += counts[v] > 1;
    }
    p->chains = 2 * n_cut > n_free && space->mesh->dim == 3 && !trace_has_tensor_cells(space->mesh);
    if (p->chains) TRY(walk(space, c, p->values, CHAIN_REACH, &jump, p->corners, counts));
    for (int32_t v = 0; v < c->n_vertices; v++) {
        for (int64_t i = c->starts[v]; i < c->starts[v + 1]; i++)
            if (p->corners[c->sorted[i]] >= 0) p->corners[c->sorted[i]] += p->n;
        p->n += counts[v];
    }
done:
    base_free(&counts);
    return status;
}

facet_status trace_pieces_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                 double *jump, struct trace_pieces *p) {
    facet_status status = FACET_OK;
    struct trace_summary summary = {0};
    struct corners c = {0};
    double contrast;
    *p = (struct trace_pieces){0};
    TRY(ALLOC(p->values, space->mesh->n_cells));
    TRY(trace_summary_open(matrices, space, &summary));
    cell_values(&summary, space->mesh, p->values);
    *jump = 1.0;
    TRY(find_contrast(space->mesh, p->values, &contrast));
    if (!(contrast > SOLVE_LARGE_JUMP)) goto done;
    if (team_size(mesh_team(space->mesh)) > 1) { /* nobody sees all cells round a vertex of the seam */
        *jump = contrast;
        goto done;
    }
    TRY(corners_create(space->mesh, &c));
    TRY(walk(space, &c, p->values, 0, jump, NULL, NULL));
    if (*jump > SOLVE_LARGE_JUMP) TRY(cut_vertices(space, &c, p));
done:
    trace_summary_close(&summary);
    corners_destroy(&c);
    if (status != FACET_OK) trace_pieces_destroy(p);
    return status;
}
