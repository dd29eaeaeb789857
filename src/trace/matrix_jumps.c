/* Jumps of K from cell to cell, as the element matrices have them, and the pieces of a vertex between which
 * they lie. See solve/jumps.h. */
#include "solve/jumps.h"

#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "mesh/part.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"
#include "trace/sides.h"
#include "trace/vertex_cells.h"

/* Where chains of cells are cut: docs/pmg.md has the iterations. */
#define CHAIN_REACH 2

/* The corners of all cells, sorted by vertex. */
struct corners {
    int64_t n, first[MESH_MAX_BLOCKS]; /* of a block: cell after cell */
    int32_t n_vertices;
    int64_t *starts, *sorted;         /* n_vertices + 1, n */
    int64_t most;                     /* at one vertex */
    struct trace_vertex_cells shared; /* of vertices that parts share */
};

/* The corners around one vertex, and the walls: faces where the value is given, as a cell of infinite K. */
struct star {
    int32_t *place; /* per cell of the mesh: 1 + its place here; 0: not in it */
    int32_t *neighbours, *work, *pieces;
    double *values, *peaks;
    int64_t *own; /* of a corner: its number in this part, or -1 */
};

static void star_destroy(struct star *s) {
    base_free(&s->place);
    base_free(&s->neighbours);
    base_free(&s->work);
    base_free(&s->pieces);
    base_free(&s->values);
    base_free(&s->peaks);
    base_free(&s->own);
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
    TRY(ALLOC(s->own, most + 1));
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
        s->own[i] = corners[i];
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

/* The same of a vertex that other parts have too: cells are neighbours that name the same face. */
static void look_across(int n, const struct vertex_cell *corners, struct star *s) {
    s->values[n] = INFINITY;
    for (int f = 0; f < SHAPE_MAX_FACES; f++) s->neighbours[n * SHAPE_MAX_FACES + f] = -1;
    for (int i = 0; i < n; i++) {
        s->own[i] = corners[i].own;
        s->values[i] = corners[i].value;
        for (int f = 0; f < SHAPE_MAX_FACES; f++) {
            const int64_t face = corners[i].faces[f];
            int32_t *to = &s->neighbours[i * SHAPE_MAX_FACES + f];
            *to = face == VERTEX_CELL_WALL ? n : -1;
            for (int j = 0; j < n && face >= 0; j++)
                for (int g = 0; g < SHAPE_MAX_FACES && j != i; g++)
                    if (corners[j].faces[g] == face) *to = j;
        }
    }
}

/* What other parts must know of a corner. */
static void describe(const struct trace_space *space, const struct corners *c, const double *values,
                     int64_t corner, struct vertex_cell *to) {
    const struct facet_mesh *mesh = space->mesh;
    int32_t cell;
    int vertex;
    const struct mesh_block *b = corner_cell(mesh, c, corner, &cell, &vertex);
    const int n_faces = shape_n_faces(b->shape);
    *to = (struct vertex_cell){.cell = mesh->part->cell_numbers[b->first + cell],
                               .value = values[b->first + cell],
                               .own = corner,
                               .piece = -1};
    for (int f = 0; f < SHAPE_MAX_FACES; f++) {
        to->faces[f] = VERTEX_CELL_NO_FACE;
        if (f >= n_faces || !face_has(b->shape, f, vertex)) continue;
        const int32_t face = b->faces[(int64_t)cell * n_faces + f];
        to->faces[f] = space->n_components == 1 && space->face_free[face] < 0
                           ? VERTEX_CELL_WALL
                           : mesh->part->face_numbers[face];
    }
}

static facet_status exchange_vertex_cells(const struct trace_space *space, const double *values,
                                          struct corners *c) {
    facet_status status = FACET_OK;
    struct vertex_cell *all = NULL;
    TRY(ALLOC(all, c->n));
    for (int64_t i = 0; i < c->n; i++) describe(space, c, values, c->sorted[i], &all[i]);
    TRY(trace_vertex_cells_create(space->mesh, c->starts, all, &c->shared));
done:
    base_free(&all);
    return status;
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
    trace_vertex_cells_destroy(&c->shared);
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

/* The pieces of one vertex, numbered from 0, of the corners of this part and, if it is shared, of all; those
 * that the walls hold get -1. Returns how many. */
static int32_t number_pieces(int n, struct star *s, int32_t *pieces, struct vertex_cell *shared) {
    int32_t count = 0;
    const int32_t wall = s->pieces[n];
    for (int i = 0; i < n; i++)
        if (s->pieces[i] == i && i != wall) s->work[i] = count++;
    for (int i = 0; i < n; i++) {
        const int32_t piece = s->pieces[i] == wall ? -1 : s->work[s->pieces[i]];
        if (s->own[i] >= 0) pieces[s->own[i]] = piece;
        if (shared != NULL) shared[i].piece = piece;
    }
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
        facet_status mine = star_create(mesh, c->most > c->shared.most ? c->most : c->shared.most, &s);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int32_t v = 0; v < c->n_vertices; v++) {
            const int64_t *corners = c->sorted + c->starts[v];
            const struct trace_vertex_cells *all = &c->shared;
            struct vertex_cell *shared = NULL;
            int n = (int)(c->starts[v + 1] - c->starts[v]);
            if (mine != FACET_OK) continue;
            if (all->starts != NULL && all->starts[v + 1] > all->starts[v]) {
                shared = all->corners + all->starts[v];
                n = (int)(all->starts[v + 1] - all->starts[v]);
                look_across(n, shared, &s);
            } else {
                look_around(space, c, values, n, corners, &s);
            }
            largest = fmax(largest, solve_star_jump(n + 1, s.values, SHAPE_MAX_FACES, s.neighbours, s.work,
                                                    s.peaks, pieces != NULL ? s.pieces : NULL));
            if (reach > 0)
                solve_star_cut(n + 1, s.values, SHAPE_MAX_FACES, s.neighbours, reach, s.work, s.pieces);
            if (pieces != NULL) counts[v] = number_pieces(n, &s, pieces, shared);
        }
        star_destroy(&s);
    }
    *jump = largest;
    facet_status status = base_collected(&failures);
    return status != FACET_OK ? status : team_reduce(mesh_team(mesh), TEAM_MAX, 1, jump);
}

void trace_pieces_destroy(struct trace_pieces *p) {
    base_free(&p->values);
    base_free(&p->corners);
    base_free(&p->firsts);
    base_free(&p->beyond);
    base_free(&p->is_beyond);
}

/* Of the face that two cells at a vertex have in common, one here and one in another part: the pieces of the
 * other where that is the stiffer (of equal ones the first). */
static void put_beyond(const struct facet_mesh *mesh, const struct corners *c, int32_t vertex,
                       const struct vertex_cell *here, const struct vertex_cell *there,
                       struct trace_pieces *p) {
    int32_t cell, vertices[SHAPE_MAX_FACE_VERTICES];
    int local;
    if (here->value > there->value || (here->value == there->value && here->cell < there->cell)) return;
    const struct mesh_block *b = corner_cell(mesh, c, here->own, &cell, &local);
    const int n_faces = shape_n_faces(b->shape);
    for (int f = 0; f < n_faces; f++)
        for (int g = 0; g < SHAPE_MAX_FACES && here->faces[f] >= 0; g++) {
            if (there->faces[g] != here->faces[f]) continue;
            const int32_t face = b->faces[(int64_t)cell * n_faces + f];
            const int n = mesh_side_vertices(mesh, face, 0, vertices, NULL);
            p->is_beyond[face] = 1;
            for (int i = 0; i < n; i++)
                if (vertices[i] == vertex)
                    p->beyond[(int64_t)face * SHAPE_MAX_FACE_VERTICES + i] = there->piece;
        }
}

/* The pieces of the cells on the other sides of seams, and what numbers them over all parts. */
static facet_status share_pieces(const struct facet_mesh *mesh, const struct corners *c,
                                 const int32_t *counts, struct trace_pieces *p) {
    facet_status status = FACET_OK;
    int64_t most = 1;
    int32_t n = 0;
    TRY(ALLOC(p->firsts, mesh->n_vertices));
    TRY(ALLOC(p->beyond, (int64_t)mesh->n_faces * SHAPE_MAX_FACE_VERTICES));
    TRY(CALLOC(p->is_beyond, mesh->n_faces));
    for (int64_t i = 0; i < (int64_t)mesh->n_faces * SHAPE_MAX_FACE_VERTICES; i++) p->beyond[i] = -1;
    for (int32_t v = 0; v < mesh->n_vertices; v++) {
        struct vertex_cell *all = c->shared.corners + c->shared.starts[v];
        const int64_t size = c->shared.starts[v + 1] - c->shared.starts[v];
        p->firsts[v] = n;
        for (int64_t i = 0; i < size; i++) all[i].piece += all[i].piece >= 0 ? n : 0;
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j < size && all[i].own >= 0; j++)
                if (all[j].own < 0) put_beyond(mesh, c, v, &all[i], &all[j], p);
        n += counts[v];
        if (counts[v] > most) most = counts[v];
    }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &most));
    p->most = (int32_t)most;
done:
    return status;
}

/* Numbers of their own for the pieces of all vertices. */
static facet_status cut_vertices(const struct trace_space *space, const struct corners *c,
                                 struct trace_pieces *p) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = space->mesh->part;
    int32_t *counts = NULL;
    int64_t numbers[2] = {0, 0}; /* vertices that are not held, and those that are cut */
    double jump;
    TRY(ALLOC(counts, c->n_vertices));
    TRY(ALLOC(p->corners, c->n));
    for (int b = 0; b < space->mesh->n_blocks; b++) p->first[b] = c->first[b];
    TRY(walk(space, c, p->values, 0, &jump, p->corners, counts));
    for (int32_t v = 0; v < c->n_vertices; v++) {
        if (part != NULL && !part->owns_vertex[v]) continue;
        numbers[0] += counts[v] > 0;
        numbers[1] += counts[v] > 1;
    }
    TRY(team_reduce_counts(mesh_team(space->mesh), TEAM_SUM, 2, numbers));
    p->chains = 2 * numbers[1] > numbers[0] && space->mesh->dim == 3 && !trace_has_tensor_cells(space->mesh);
    if (p->chains) TRY(walk(space, c, p->values, CHAIN_REACH, &jump, p->corners, counts));
    for (int32_t v = 0; v < c->n_vertices; v++) {
        for (int64_t i = c->starts[v]; i < c->starts[v + 1]; i++)
            if (p->corners[c->sorted[i]] >= 0) p->corners[c->sorted[i]] += p->n;
        p->n += counts[v];
    }
    if (c->shared.starts != NULL) TRY(share_pieces(space->mesh, c, counts, p));
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
    int joints = 0;
    *p = (struct trace_pieces){0};
    TRY(ALLOC(p->values, space->mesh->n_cells));
    TRY(trace_summary_open(matrices, space, &summary));
    cell_values(&summary, space->mesh, p->values);
    *jump = 1.0;
    TRY(find_contrast(space->mesh, p->values, &contrast));
    if (!(contrast > SOLVE_LARGE_JUMP)) goto done;
    TRY(corners_create(space->mesh, &c));
    if (team_size(mesh_team(space->mesh)) > 1) {
        TRY(trace_has_joints(space->mesh, c.n_vertices < space->mesh->n_vertices, &joints));
        *jump = contrast;
        if (joints) goto done; /* cells round a vertex may lie in parts that do not know each other */
        TRY(exchange_vertex_cells(space, p->values, &c));
    }
    TRY(walk(space, &c, p->values, 0, jump, NULL, NULL));
    if (*jump > SOLVE_LARGE_JUMP) TRY(cut_vertices(space, &c, p));
done:
    trace_summary_close(&summary);
    corners_destroy(&c);
    if (status != FACET_OK) trace_pieces_destroy(p);
    return status;
}
