/* Rigid motions that nothing prevents: found before the solve, from the faces whose displacement is given.
 *
 * A rigid motion of a piece is u = t + w x x (in 2D, w along z). Every point of a face on which component a
 * of the displacement is given demands t_a + (w x x)_a = 0. All demands on one t_a have the same form, so t_a
 * follows from their mean, and what is left for w is the scatter of (w x x)_a around it:
 *
 *     t_a is free when component a is given nowhere;
 *     w is free when S w = 0, S = sum_a mean over the points of (d_a - mean d_a) (d_a - mean d_a)',
 *
 * with d_a = (e_x x x)_a, (e_y x x)_a, (e_z x x)_a. A periodic pair of faces a distance s apart adds w x s =
 * 0, and a face with (mu grad u - p I) n = g adds w x n = 0, since grad u is w x for such a motion. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "problem/problem.h"

/* A patch narrower than this part of its piece does not hold it against rotation. */
#define SMALL_PATCH 1e-7
/* So many loose pieces are told. */
#define MANY_PIECES 10

/* Coordinates are relative to the middle of the piece's box and to its size. */
struct piece {
    int32_t cell; /* its smallest */
    double lower[3], upper[3];
    int64_t count[3];  /* points where component a is given */
    double mean[3][3]; /* of d_a */
    double scatter[9]; /* sum over a of the scatter of d_a, then S */
    double others[9];  /* of periodic pairs and gradient-pressure faces */
    int64_t n_others;
};
struct job {
    const struct problem *problem;
    const struct problem_resolved *resolved;
    int32_t *cell_piece; /* n_cells: index into pieces */
    int n_pieces;
    struct piece *pieces;
    int *face_nodes[SHAPE_COUNT]; /* n_faces x most: nodes of the lattice on each face, -1 at the end */
    int most[SHAPE_COUNT];
};

/* ------------------------------------------------------------------------------------------ geometry */

static facet_status find_face_nodes(struct job *job, enum shape shape) {
    facet_status status = FACET_OK;
    int order = job->problem->mesh->order, n_faces = shape_n_faces(shape), most = (order + 1) * (order + 1);
    if (job->face_nodes[shape] != NULL) goto done;
    TRY(ALLOC(job->face_nodes[shape], n_faces * most));
    job->most[shape] = most;
    for (int f = 0; f < n_faces; f++) {
        int *list = job->face_nodes[shape] + f * most;
        for (int i = mesh_face_nodes(shape, f, 0, order, list); i < most; i++) list[i] = -1;
    }
done:
    return status;
}

static const double *cell_nodes(const struct facet_mesh *mesh, int32_t cell) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    return block->nodes + (int64_t)(cell - block->first) * block->n_nodes * mesh->dim;
}

/* Vertex i of the frame of a face, seen from side 0 or 1. */
static const double *frame_vertex(const struct facet_mesh *mesh, int32_t face, int side, int i) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int local = mesh->face_locals[2 * (int64_t)face + side], n_faces = shape_n_faces(block->shape);
    int orientation = block->orientations[(int64_t)(cell - block->first) * n_faces + local];
    enum shape shape = shape_face_shape(block->shape, local);
    int vertex = shape_face_vertices(block->shape, local)[shape_permutation(shape, orientation)[i]];
    return cell_nodes(mesh, cell) + (int64_t)shape_vertex_node(block->shape, mesh->order, vertex) * mesh->dim;
}

static double size_of(const struct piece *piece) {
    double size = 0.0;
    for (int d = 0; d < 3; d++) size = fmax(size, piece->upper[d] - piece->lower[d]);
    return size > 0.0 ? size : 1.0;
}

static facet_status find_pieces(struct job *job) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    int32_t *piece = NULL;
    TRY(ALLOC(piece, mesh->n_cells));
    TRY(ALLOC(job->cell_piece, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    for (int32_t c = 0; c < mesh->n_cells; c++)
        job->cell_piece[c] = piece[c] == c ? job->n_pieces++ : job->cell_piece[piece[c]];
    TRY(CALLOC(job->pieces, job->n_pieces));
    for (int i = 0; i < job->n_pieces; i++)
        for (int d = 0; d < mesh->dim; d++)
            job->pieces[i].lower[d] = DBL_MAX, job->pieces[i].upper[d] = -DBL_MAX;
    for (int32_t c = mesh->n_cells - 1; c >= 0; c--) {
        struct piece *p = &job->pieces[job->cell_piece[c]];
        const struct mesh_block *block = mesh_block_of(mesh, c);
        const double *x = cell_nodes(mesh, c);
        for (int d = 0; d < mesh->dim; d++)
            for (int i = 0; i < block->n_nodes; i++) {
                double value = x[i * mesh->dim + d];
                p->lower[d] = fmin(p->lower[d], value);
                p->upper[d] = fmax(p->upper[d], value);
            }
        p->cell = c;
    }
done:
    base_free(&piece);
    return status;
}

/* ------------------------------------------------------------------------------------------ demands */

/* d_a: what component a of w x y is of w. */
static void lever(int a, const double y[3], double d[3]) {
    int b = (a + 1) % 3, c = (a + 2) % 3;
    d[a] = 0.0;
    d[b] = y[c];
    d[c] = -y[b];
}

static void add_outer(int dim, const double d[3], double *S) {
    for (int i = dim == 2 ? 2 : 0; i < 3; i++)
        for (int k = dim == 2 ? 2 : 0; k < 3; k++) S[3 * i + k] += d[i] * d[k];
}

/* The demands of one face with a mechanical condition: first their means, then their scatter. */
static void add_face(const struct job *job, int32_t face, const uint8_t fixed[3], int scatter) {
    const struct facet_mesh *mesh = job->problem->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    struct piece *p = &job->pieces[job->cell_piece[cell]];
    enum shape shape = mesh_block_of(mesh, cell)->shape;
    int local = mesh->face_locals[2 * (int64_t)face], most = job->most[shape];
    const int *list = job->face_nodes[shape] + local * most;
    const double *x = cell_nodes(mesh, cell);
    for (int i = 0; i < most && list[i] >= 0; i++) {
        double y[3] = {0.0}, d[3];
        for (int k = 0; k < mesh->dim; k++)
            y[k] = (x[list[i] * mesh->dim + k] - 0.5 * (p->lower[k] + p->upper[k])) / size_of(p);
        for (int a = 0; a < mesh->dim; a++) {
            if (!fixed[a]) continue;
            lever(a, y, d);
            if (!scatter) {
                p->count[a]++;
                for (int k = 0; k < 3; k++) p->mean[a][k] += d[k];
                continue;
            }
            for (int k = 0; k < 3; k++) d[k] = (d[k] - p->mean[a][k]) / sqrt((double)p->count[a]);
            add_outer(mesh->dim, d, p->scatter);
        }
    }
}

/* w x s = 0 for a vector s. */
static void add_axis(const struct job *job, int32_t face, const double s[3]) {
    const struct facet_mesh *mesh = job->problem->mesh;
    struct piece *p = &job->pieces[job->cell_piece[mesh->face_cells[2 * (int64_t)face]]];
    for (int a = 0; a < mesh->dim; a++) {
        double d[3];
        lever(a, s, d);
        add_outer(mesh->dim, d, p->others);
    }
    p->n_others++;
}

static void add_periodic(const struct job *job, int32_t face) {
    const struct facet_mesh *mesh = job->problem->mesh;
    const double *here = frame_vertex(mesh, face, 0, 0), *there = frame_vertex(mesh, face, 1, 0);
    double size = size_of(&job->pieces[job->cell_piece[mesh->face_cells[2 * (int64_t)face]]]);
    double s[3] = {0.0}, largest = 0.0;
    for (int d = 0; d < mesh->dim; d++) {
        s[d] = (there[d] - here[d]) / size;
        largest = fmax(largest, fabs(s[d]));
    }
    if (largest > SMALL_PATCH) add_axis(job, face, s);
}

static void add_normal(const struct job *job, int32_t face) {
    const struct facet_mesh *mesh = job->problem->mesh;
    const double *origin = frame_vertex(mesh, face, 0, 0), *end = frame_vertex(mesh, face, 0, 1);
    double first[3] = {0.0}, second[3] = {0.0, 0.0, 1.0}, n[3];
    for (int d = 0; d < mesh->dim; d++) first[d] = end[d] - origin[d];
    if (mesh->dim == 3) {
        int quad = mesh->face_shapes[face] == SHAPE_QUAD;
        const double *third = frame_vertex(mesh, face, 0, quad ? 3 : 2);
        for (int d = 0; d < 3; d++) second[d] = third[d] - origin[d];
    }
    for (int a = 0; a < 3; a++)
        n[a] = first[(a + 1) % 3] * second[(a + 2) % 3] - first[(a + 2) % 3] * second[(a + 1) % 3];
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int a = 0; a < 3 && length > 0.0; a++) n[a] /= length;
    add_axis(job, face, n);
}

static void gather_demands(const struct job *job) {
    const struct facet_mesh *mesh = job->problem->mesh;
    const struct problem_resolved *r = job->resolved;
    for (int scatter = 0; scatter < 2; scatter++) {
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            const struct hdg_condition *c =
                r->face_condition[f] >= 0 ? &r->conditions[r->face_condition[f]] : NULL;
            if (c != NULL && c->kind == HDG_MECHANICAL) add_face(job, f, c->fixed, scatter);
            if (scatter) continue;
            if (c != NULL && c->kind == HDG_GRADIENT_PRESSURE) add_normal(job, f);
            if (mesh->face_cells[2 * (int64_t)f + 1] >= 0) add_periodic(job, f);
        }
        for (int i = 0; !scatter && i < job->n_pieces; i++)
            for (int a = 0; a < 3; a++)
                for (int k = 0; k < 3 && job->pieces[i].count[a] > 0; k++)
                    job->pieces[i].mean[a][k] /= (double)job->pieces[i].count[a];
    }
}

/* ------------------------------------------------------------------------------------------ the answer */

static void list_motion(struct text *list, const char *motion, const char *which) {
    text_printf(list, "%s%s %s", list->length > 0 ? ", " : "", motion, which);
}

/* The axes about which S allows a rotation: those of the coordinates where they are among them. */
static facet_status list_rotations(int dim, const double *S, struct text *list) {
    facet_status status = FACET_OK;
    static const char *const axes[3] = {"the x axis", "the y axis", "the z axis"};
    double vectors[9], values[3];
    int n_free = 0, n_named = 0;
    for (int a = dim == 2 ? 2 : 0; a < 3; a++)
        if (S[4 * a] <= SMALL_PATCH * SMALL_PATCH) {
            list_motion(list, "rotate about", axes[a]);
            n_named++;
        }
    if (dim == 2) goto done;
    memcpy(vectors, S, sizeof vectors);
    if (LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', 3, vectors, 3, values) != 0)
        FAIL(FACET_ERROR_MACHINE, "the eigenvalues of a matrix of rigid motions were not found");
    while (n_free < 3 && values[n_free] <= SMALL_PATCH * SMALL_PATCH) n_free++;
    for (int i = 0; n_named == 0 && i < n_free; i++) {
        char axis[96];
        snprintf(axis, sizeof axis, "the axis (%.3g, %.3g, %.3g)", vectors[i], vectors[3 + i],
                 vectors[6 + i]);
        list_motion(list, "rotate about", axis);
    }
done:
    return status;
}

static facet_status report_piece(const struct job *job, int index, struct text *errors, int *n_told) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    struct piece *p = &job->pieces[index];
    struct text list = {0};
    char place[80];
    for (int a = 0; a < mesh->dim; a++)
        if (p->count[a] == 0) list_motion(&list, "translate along", (const char *[]){"x", "y", "z"}[a]);
    for (int i = 0; i < 9; i++) p->scatter[i] += p->n_others > 0 ? p->others[i] / (double)p->n_others : 0.0;
    TRY(list_rotations(mesh->dim, p->scatter, &list));
    TRY(list.status);
    if (list.length == 0) goto done;
    ++*n_told;
    text_printf(errors, "%sboundary: ", errors->length > 0 ? "\n" : "");
    if (job->n_pieces == 1)
        text_printf(errors, "the body can still ");
    else
        text_printf(errors,
                    "the mesh falls into %d unconnected pieces, and the one with the cell at %s can still ",
                    job->n_pieces, mesh_middle_text(mesh, p->cell, -1, place, sizeof place));
    text_printf(errors, "%s; give displacements that prevent this", list.data);
done:
    text_free(&list);
    return status;
}

facet_status problem_check_rigid(const struct problem *problem, const struct problem_resolved *resolved,
                                 struct text *errors) {
    facet_status status = FACET_OK;
    struct job job = {.problem = problem, .resolved = resolved};
    int n_told = 0;
    for (int b = 0; b < problem->mesh->n_blocks; b++)
        TRY(find_face_nodes(&job, problem->mesh->blocks[b].shape));
    TRY(find_pieces(&job));
    gather_demands(&job);
    for (int i = 0; i < job.n_pieces && n_told < MANY_PIECES; i++)
        TRY(report_piece(&job, i, errors, &n_told));
done:
    for (int shape = 0; shape < SHAPE_COUNT; shape++) base_free(&job.face_nodes[shape]);
    base_free(&job.cell_piece);
    base_free(&job.pieces);
    return status;
}
