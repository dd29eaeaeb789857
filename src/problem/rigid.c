/* Rigid motions that nothing prevents: found before the solve, from the faces that hold the body.
 *
 * A rigid motion of a piece is u = t + w x y (in 2D, w along z), y being x relative to the middle of the
 * points that hold it. Every such point demands e.u = 0 for some directions e: those of given displacements,
 * the normal of a surface of symmetry, those in which a spring has stiffness (k u = 0). A demand is d.(t, w)
 * = 0 with d = (e, y x e), and a motion is free when it is in the kernel of
 *
 *     G = mean over the demands of d d' = [G_tt G_tw; G_wt G_ww]:
 *
 *     t is free when G_tt t = 0;
 *     w is free, with some t, when S w = 0, S = G_ww - G_wt G_tt^+ G_tw.
 *
 * A piece that nothing holds at all is no mistake where its loads balance: it is listed, with its motions.
 *
 * A pair of faces of which one is the other turned by Q and shifted by b demands Q w = w and t - Q t + w x b
 * = 0, since u of the one is Q u of the other. A periodic pair of faces a distance s apart adds w x s = 0,
 * and a face with (mu grad u - p I) n = g adds w x n = 0, since grad u is w x for such a motion. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* A patch narrower than this part of its piece does not hold it against rotation. */
#define SMALL_PATCH 1e-7
/* A curved wall without friction that is round holds against rotation by the shape of its cells alone. Its
 * faces demand something in their middle: of edges and quads that is exact but for the nodes of the mesh, a
 * triangle on a cylinder has its normal elsewhere, by a sixth of its angle. */
#define ROUND_WALL      1e-3
#define ROUND_TRIANGLES 0.06
/* Such a face bulges by this part of its piece. */
#define CURVED 1e-6
/* A direction with less of all demands is not held. */
#define NO_HOLD 1e-13
/* So many loose pieces are told. */
#define MANY_PIECES 10

/* Coordinates are relative to the middle of the points that hold the piece, and to its size. Sums are long:
 * what cancels in S must not be the rounding of a million terms. */
struct piece {
    double lower[3], upper[3];
    int64_t count; /* of points that demand something */
    double middle[3];
    long double G[6][6];
    int free_piece;   /* its number among those that nothing holds, from 1; 0: none */
    double others[9]; /* of periodic pairs and gradient-pressure faces */
    double round;     /* what rotation must demand where walls are curved, or 0 */
    int64_t n_others;
    double turned[6][6]; /* the demands of turned pairs */
    int64_t n_turned;
};
struct job {
    const struct problem *problem;
    struct problem_resolved *resolved;
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

static void add_to_bounds(int dim, int n, const double *x, struct piece *p) {
    for (int i = 0; i < n; i++, x += dim)
        for (int d = 0; d < dim; d++) {
            p->lower[d] = x[d] < p->lower[d] ? x[d] : p->lower[d];
            p->upper[d] = x[d] > p->upper[d] ? x[d] : p->upper[d];
        }
}

static facet_status find_pieces(struct job *job) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    TRY(ALLOC(job->cell_piece, mesh->n_cells));
    mesh_find_pieces(mesh, job->cell_piece);
    TRY(mesh_number_pieces(mesh, job->cell_piece, &job->n_pieces));
    TRY(CALLOC(job->pieces, job->n_pieces));
    for (int i = 0; i < job->n_pieces; i++)
        for (int d = 0; d < mesh->dim; d++)
            job->pieces[i].lower[d] = DBL_MAX, job->pieces[i].upper[d] = -DBL_MAX;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        const int64_t step = (int64_t)block->n_nodes * mesh->dim;
        for (int32_t i = 0; i < block->count; i++)
            add_to_bounds(mesh->dim, block->n_nodes, block->nodes + i * step,
                          &job->pieces[job->cell_piece[block->first + i]]);
    }
    for (int i = 0; mesh->part != NULL && i < job->n_pieces; i++) {
        TRY(team_reduce(mesh->part->team, TEAM_MIN, mesh->dim, job->pieces[i].lower));
        TRY(team_reduce(mesh->part->team, TEAM_MAX, mesh->dim, job->pieces[i].upper));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ demands */

/* y x e_a: what w is multiplied with in component a of w x y. */
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

/* The normal of a face of the boundary, outward, by its vertices. */
static void find_normal(const struct facet_mesh *mesh, int32_t face, double n[3]) {
    const double *origin = frame_vertex(mesh, face, 0, 0), *end = frame_vertex(mesh, face, 0, 1);
    double first[3] = {0.0}, second[3] = {0.0, 0.0, 1.0};
    for (int d = 0; d < mesh->dim; d++) first[d] = end[d] - origin[d];
    if (mesh->dim == 3) {
        int quad = mesh->face_shapes[face] == SHAPE_QUAD;
        const double *third = frame_vertex(mesh, face, 0, quad ? 3 : 2);
        for (int d = 0; d < 3; d++) second[d] = third[d] - origin[d];
    }
    for (int a = 0; a < 3; a++)
        n[a] = first[(a + 1) % 3] * second[(a + 2) % 3] - first[(a + 2) % 3] * second[(a + 1) % 3];
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), inward = 0.0;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const double *nodes = block->nodes + (int64_t)(cell - block->first) * block->n_nodes * mesh->dim;
    for (int i = 0; i < block->n_nodes; i++)
        for (int d = 0; d < mesh->dim; d++) inward += n[d] * (nodes[i * mesh->dim + d] - origin[d]);
    for (int a = 0; a < 3 && length > 0.0; a++) n[a] /= inward > 0.0 ? -length : length;
}

/* H (dim x dim): e'e of the directions in which a face holds its point x, springs relative to their largest
 * entry. */
static facet_status find_hold(const struct job *job, int32_t face, const struct hdg_condition *c,
                              const double *x, double *H) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &job->resolved->data;
    int dim = data->mesh->dim, turn = data->extras.turn != NULL ? data->extras.turn[face] : -1;
    double normal[3], raw[9], k[9], largest = 0.0;
    memset(H, 0, (size_t)(dim * dim) * sizeof *H);
    for (int a = 0; a < dim; a++) {
        if (!c->fixed[a]) continue;
        const double *Q = turn >= 0 ? data->extras.turns + (int64_t)turn * dim * dim : NULL;
        for (int i = 0; i < dim * dim && Q != NULL; i++) H[i] += Q[i / dim * dim + a] * Q[i % dim * dim + a];
        if (Q == NULL) H[a * (dim + 1)] += 1.0;
    }
    if (c->spring == NULL) goto done;
    find_normal(data->mesh, face, normal);
    TRY(hdg_spring_at(dim, c, 1, x, normal, raw, k));
    for (int i = 0; i < dim * dim; i++) largest = fmax(largest, fabs(k[i]));
    for (int i = 0; i < dim * dim && largest > 0.0; i++) H[i] += k[i] / largest;
done:
    return status;
}

/* Whether a face holds along its normal and bulges; middle: of its nodes then, as y is. */
static int is_curved_wall(const struct job *job, int32_t face, const struct hdg_condition *c, const int *list,
                          const double *nodes, int most, const struct piece *p, double middle[3]) {
    const struct hdg_data *data = &job->resolved->data;
    const int dim = data->mesh->dim;
    const double *origin = frame_vertex(data->mesh, face, 0, 0);
    double normal[3], bulge = 0.0;
    int n = 0, walls = c->spring != NULL || (data->extras.turn != NULL && data->extras.turn[face] >= 0);
    if (!walls || data->mesh->order < 2) return 0;
    find_normal(data->mesh, face, normal);
    for (int k = 0; k < 3; k++) middle[k] = 0.0;
    for (; n < most && list[n] >= 0; n++) {
        double height = 0.0;
        for (int k = 0; k < dim; k++) {
            double x = nodes[list[n] * dim + k];
            height += normal[k] * (x - origin[k]);
            middle[k] += (x - 0.5 * (p->lower[k] + p->upper[k])) / size_of(p) - p->middle[k];
        }
        bulge = fmax(bulge, fabs(height));
    }
    for (int k = 0; k < dim; k++) middle[k] /= n;
    return bulge > CURVED * size_of(p);
}

/* The demands of one face with a mechanical condition: first the middle of their points, then G. */
static facet_status add_face(const struct job *job, int32_t face, const struct hdg_condition *c, int second) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    struct piece *p = &job->pieces[job->cell_piece[cell]];
    enum shape shape = mesh_block_of(mesh, cell)->shape;
    int dim = mesh->dim, local = mesh->face_locals[2 * (int64_t)face], most = job->most[shape];
    const int *list = job->face_nodes[shape] + local * most;
    const double *nodes = cell_nodes(mesh, cell);
    double H[9], y[3] = {0.0}, D[3][6] = {{0.0}}, middle[3];
    int round = 0;
    if (!c->fixed[0] && !c->fixed[1] && !c->fixed[2] && c->spring == NULL) goto done;
    if (second) round = is_curved_wall(job, face, c, list, nodes, most, p, middle);
    if (round)
        p->round = fmax(p->round,
                        mesh->face_shapes[face] == SHAPE_TRIANGLE && dim == 3 ? ROUND_TRIANGLES : ROUND_WALL);
    for (int i = 0; i < most && list[i] >= 0; i++) {
        const double *x = nodes + list[i] * dim;
        for (int k = 0; k < dim; k++)
            y[k] = (x[k] - 0.5 * (p->lower[k] + p->upper[k])) / size_of(p) - (second ? p->middle[k] : 0.0);
        if (!second) {
            p->count++;
            for (int k = 0; k < dim; k++) p->middle[k] += y[k];
            continue;
        }
        TRY(find_hold(job, face, c, x, H));
        for (int a = 0; a < dim; a++) {
            D[a][a] = 1.0;
            lever(a, round ? middle : y, D[a] + 3);
        }
        for (int r = 0; r < 36; r++)
            for (int a = 0; a < dim * dim; a++)
                p->G[r / 6][r % 6] += (long double)D[a / dim][r / 6] * H[a] * D[a % dim][r % 6];
    }
done:
    return status;
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

/* there = R here + b. */
static void add_periodic(const struct job *job, int32_t face, enum mesh_joint joint, const double b[3]) {
    const struct facet_mesh *mesh = job->problem->mesh;
    double size = size_of(&job->pieces[job->cell_piece[mesh->face_cells[2 * (int64_t)face]]]);
    double s[3] = {0.0}, largest = 0.0;
    if (joint != MESH_SHIFTED) return;
    for (int d = 0; d < mesh->dim; d++) {
        s[d] = b[d] / size;
        largest = fmax(largest, fabs(s[d]));
    }
    if (largest > SMALL_PATCH) add_axis(job, face, s);
}

/* After the middle of the piece is known. */
static void add_turned(const struct job *job, int32_t face, enum mesh_joint joint, const double R[9],
                       const double b[3]) {
    const struct facet_mesh *mesh = job->problem->mesh;
    struct piece *p = &job->pieces[job->cell_piece[mesh->face_cells[2 * (int64_t)face]]];
    int dim = mesh->dim;
    double shift[3] = {0.0}, center[3] = {0.0}, D[6][6] = {{0.0}};
    if (joint != MESH_TURNED) return;
    for (int a = 0; a < dim; a++) center[a] = 0.5 * (p->lower[a] + p->upper[a]) + size_of(p) * p->middle[a];
    for (int a = 0; a < dim; a++) {
        shift[a] = b[a] - center[a];
        for (int k = 0; k < dim; k++) {
            shift[a] += R[a * dim + k] * center[k];
            D[a][k] = (a == k) - R[a * dim + k];
            if (dim == 3) D[3 + a][3 + k] = (a == k) - R[a * dim + k];
        }
        shift[a] /= size_of(p);
    }
    for (int a = 0; a < dim; a++) lever(a, shift, D[a] + 3);
    for (int r = 0; r < 36; r++)
        for (int a = 0; a < 6; a++) p->turned[r / 6][r % 6] += D[a][r / 6] * D[a][r % 6];
    p->n_turned++;
}

/* The sums of all parts: of the points and their middle, then of what they demand. */
static facet_status join_demands(struct base_team *team, int second, struct piece *p) {
    facet_status status = FACET_OK;
    double sums[36],
        first[5] = {(double)p->count, (double)p->n_others, p->middle[0], p->middle[1], p->middle[2]};
    if (!second) {
        TRY(team_reduce(team, TEAM_SUM, 5, first));
        TRY(team_reduce(team, TEAM_SUM, 9, p->others));
        p->count = (int64_t)first[0];
        p->n_others = (int64_t)first[1];
        memcpy(p->middle, first + 2, sizeof p->middle);
        goto done;
    }
    for (int i = 0; i < 36; i++) sums[i] = (double)p->G[i / 6][i % 6];
    TRY(team_reduce(team, TEAM_SUM, 36, sums));
    TRY(team_reduce(team, TEAM_MAX, 1, &p->round));
    for (int i = 0; i < 36; i++) p->G[i / 6][i % 6] = sums[i];
done:
    return status;
}

static facet_status join_turned(struct base_team *team, struct piece *p) {
    facet_status status = FACET_OK;
    double sums[37];
    for (int i = 0; i < 36; i++) sums[i] = p->turned[i / 6][i % 6];
    sums[36] = (double)p->n_turned;
    TRY(team_reduce(team, TEAM_SUM, 37, sums));
    for (int i = 0; i < 36; i++) p->turned[i / 6][i % 6] = sums[i];
    p->n_turned = (int64_t)sums[36];
done:
    return status;
}

static facet_status gather_demands(const struct job *job) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    const struct problem_resolved *r = job->resolved;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seams = NULL;
    int32_t n_seams, n_joined;
    TRY(mesh_find_joined(mesh, &joined, &n_joined));
    TRY(mesh_find_seam_joints(mesh, &seams, &n_seams));
    for (int second = 0; second < 2; second++) {
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            const struct hdg_condition *c =
                r->face_condition[f] >= 0 ? &r->conditions[r->face_condition[f]] : NULL;
            if (c != NULL && c->kind == HDG_MECHANICAL) TRY(add_face(job, f, c, second));
            if (!second && c != NULL && c->kind == HDG_GRADIENT_PRESSURE) {
                double normal[3];
                find_normal(mesh, f, normal);
                add_axis(job, f, normal);
            }
        }
        for (int32_t i = 0; i < n_joined && !second; i++)
            add_periodic(job, joined[i].face, joined[i].joint, joined[i].s);
        for (int32_t i = 0; i < n_seams && !second; i++)
            if (seams[i].second) add_periodic(job, seams[i].face, seams[i].joint, seams[i].s);
        for (int i = 0; mesh->part != NULL && i < job->n_pieces; i++)
            TRY(join_demands(mesh->part->team, second, &job->pieces[i]));
        for (int i = 0; !second && i < job->n_pieces; i++)
            for (int k = 0; k < 3 && job->pieces[i].count > 0; k++)
                job->pieces[i].middle[k] /= (double)job->pieces[i].count;
    }
    for (int32_t i = 0; i < n_joined; i++)
        add_turned(job, joined[i].face, joined[i].joint, joined[i].R, joined[i].s);
    for (int32_t i = 0; i < n_seams; i++)
        if (seams[i].second) add_turned(job, seams[i].face, seams[i].joint, seams[i].R, seams[i].s);
    for (int i = 0; mesh->part != NULL && i < job->n_pieces; i++)
        TRY(join_turned(mesh->part->team, &job->pieces[i]));
done:
    base_free(&joined);
    base_free(&seams);
    return status;
}

/* ------------------------------------------------------------------------------------------ adrift */

/* Eigenvalues, ascending, and eigenvectors (by columns) of a symmetric matrix. */
static facet_status decompose(const double A[9], double values[3], double vectors[9]) {
    memcpy(vectors, A, 9 * sizeof *vectors);
    if (LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', 3, vectors, 3, values) == 0) return FACET_OK;
    return base_fail(FACET_ERROR_MACHINE, "the eigenvalues of a matrix of rigid motions were not found");
}

/* Mean over the demands. */
static double entry(const struct piece *p, int i, int k) {
    double count = p->count > 0 ? (double)p->count : 1.0;
    return (double)p->G[i][k] / count + (p->n_turned > 0 ? p->turned[i][k] / (double)p->n_turned : 0.0);
}

/* The motions of a piece that nothing holds: the translations that G_tt leaves free, and the rotations that S
 * does, each with the translation -G_tt^+ G_tw w; of a body of revolution the one along its axis. */
static facet_status list_motions(int dim, int about_axis, const struct piece *p, const double G_tt[9],
                                 const double S[9], struct hdg_free_piece *to) {
    facet_status status = FACET_OK;
    double part[9] = {0.0}, held[3], along[9], values[3], vectors[9];
    for (int i = 0; i < 9; i++) /* no motion in 2D, or across the axis */
        part[i] = (dim == 2 && i == 8) || (about_axis && i == 0) ? 1.0 : G_tt[i];
    TRY(decompose(part, held, along));
    for (int i = 0; i < 3; i++) {
        if (held[i] > NO_HOLD) continue;
        for (int a = 0; a < dim; a++) to->motions[to->n][a] = along[3 * a + i];
        to->n++;
    }
    for (int i = 0; i < 9; i++) part[i] = dim == 3 || i == 8 ? S[i] : i % 4 == 0;
    TRY(decompose(part, values, vectors));
    for (int i = 0; i < 3 && !about_axis; i++) {
        double w[3] = {vectors[i], vectors[3 + i], vectors[6 + i]}, *motion = to->motions[to->n];
        if (values[i] > pow(SMALL_PATCH, 2)) continue;
        for (int e = 0; e < 3; e++) {
            double product = 0.0;
            for (int k = 0; k < 9; k++)
                product += along[k / 3 * 3 + e] * entry(p, k / 3, 3 + k % 3) * w[k % 3];
            for (int a = 0; a < dim && held[e] > NO_HOLD; a++)
                motion[a] -= product / held[e] * along[3 * a + e];
        }
        for (int a = 0; a < 3; a++) motion[3 + a] = w[a];
        to->n++;
    }
    to->size = size_of(p);
    for (int d = 0; d < dim; d++) to->center[d] = 0.5 * (p->lower[d] + p->upper[d]);
done:
    return status;
}

static facet_status add_free_piece(const struct job *job, int index, const double G_tt[9], const double S[9],
                                   const char *text) {
    facet_status status = FACET_OK;
    struct problem_resolved *r = job->resolved;
    const struct facet_mesh *mesh = job->problem->mesh;
    struct hdg_free_piece piece = {.alone = job->n_pieces == 1};
    TRY(list_motions(mesh->dim, r->data.plane == HDG_AXISYMMETRIC, &job->pieces[index], G_tt, S, &piece));
    snprintf(piece.text, sizeof piece.text, "%s", text);
    TRY(mesh_piece_text(mesh, job->cell_piece, index, piece.place));
    TRY(base_realloc(&r->free_pieces, (size_t)r->n_free_pieces + 1, sizeof *r->free_pieces));
    r->free_pieces[r->n_free_pieces++] = piece;
    job->pieces[index].free_piece = r->n_free_pieces;
done:
    return status;
}

static facet_status finish_free_pieces(const struct job *job) {
    facet_status status = FACET_OK;
    struct problem_resolved *r = job->resolved;
    if (r->n_free_pieces == 0) goto done;
    TRY(ALLOC(r->cell_free_piece, job->problem->mesh->n_cells));
    for (int32_t c = 0; c < job->problem->mesh->n_cells; c++)
        r->cell_free_piece[c] = job->pieces[job->cell_piece[c]].free_piece - 1;
    r->data.n_free_pieces = r->n_free_pieces;
    r->data.free_pieces = r->free_pieces;
    r->data.cell_free_piece = r->cell_free_piece;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the answer */

static void list_motion(struct text *list, const char *motion, const char *which) {
    text_printf(list, "%s%s %s", list->length > 0 ? ", " : "", motion, which);
}

/* The directions that A (its entries from `first` to `end`) leaves free: those of the coordinates where they
 * are among them. verb: how a motion along or about one is told; axes: their names; other: that of others. */
static facet_status list_free(int first, int end, const double *A, double small, const char *verb,
                              const char *const axes[3], const char *other, struct text *list) {
    facet_status status = FACET_OK;
    double vectors[9], values[3], part[9] = {0.0};
    int n_named = 0;
    for (int a = first; a < end; a++)
        if (A[4 * a] <= small) {
            list_motion(list, verb, axes[a]);
            n_named++;
        }
    if (n_named > 0 || end - first < 2) goto done;
    for (int i = 0; i < 9; i++)
        part[i] = i / 3 < end && i % 3 < end ? A[i] : i % 4 == 0 ? 1.0 : 0.0; /* z of 2D is not free */
    TRY(decompose(part, values, vectors));
    for (int i = 0; i < 3 && values[i] <= small; i++) {
        char axis[96];
        if (end == 2)
            snprintf(axis, sizeof axis, "%s(%.3g, %.3g)", other, vectors[i], vectors[3 + i]);
        else
            snprintf(axis, sizeof axis, "%s(%.3g, %.3g, %.3g)", other, vectors[i], vectors[3 + i],
                     vectors[6 + i]);
        list_motion(list, verb, axis);
    }
done:
    return status;
}

/* S of a piece, and G_tt. */
static facet_status reduce(int dim, const struct piece *p, double G_tt[9], double S[9]) {
    facet_status status = FACET_OK;
    double values[3], vectors[9];
    for (int i = 0; i < 9; i++) {
        G_tt[i] = entry(p, i / 3, i % 3);
        S[i] = entry(p, 3 + i / 3, 3 + i % 3);
        if (p->n_others > 0) S[i] += p->others[i] / (double)p->n_others;
    }
    TRY(decompose(G_tt, values, vectors));
    for (int e = 0; e < 3; e++) {
        double v[3] = {0.0}; /* G_wt (eigenvector) */
        if (values[e] <= NO_HOLD) continue;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < dim; k++) v[i] += entry(p, 3 + i, k) * vectors[3 * k + e];
        for (int i = 0; i < 9; i++) S[i] -= v[i / 3] * v[i % 3] / values[e];
    }
done:
    return status;
}

static facet_status report_piece(const struct job *job, int index, struct text *errors, int *n_told) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = job->problem->mesh;
    struct piece *p = &job->pieces[index];
    static const char *const directions[3] = {"x", "y", "z"}, *const axes[3] = {"the x axis", "the y axis",
                                                                                "the z axis"};
    struct text list = {0};
    double G_tt[9], S[9];
    char place[MESH_PLACE_BYTES];
    int about_axis = job->resolved->data.plane == HDG_AXISYMMETRIC; /* it moves along that one alone */
    TRY(reduce(mesh->dim, p, G_tt, S));
    if (about_axis && G_tt[4] <= NO_HOLD) list_motion(&list, "translate along", directions[1]);
    if (!about_axis) TRY(list_free(0, mesh->dim, G_tt, NO_HOLD, "translate along", directions, "", &list));
    if (!about_axis)
        TRY(list_free(mesh->dim == 2 ? 2 : 0, 3, S, pow(fmax(SMALL_PATCH, p->round), 2), "rotate about", axes,
                      "the axis ", &list));
    TRY(list.status);
    if (list.length == 0) goto done;
    if (p->count == 0 && job->resolved->data.equation->drifts) {
        TRY(add_free_piece(job, index, G_tt, S, list.data));
        goto done;
    }
    ++*n_told;
    text_printf(errors, "%sboundary: ", errors->length > 0 ? "\n" : "");
    TRY(mesh_piece_text(mesh, job->cell_piece, index, place));
    if (job->n_pieces == 1)
        text_printf(errors, "the body can still ");
    else
        text_printf(errors,
                    "the mesh falls into %d unconnected pieces, and the one with the cell at %s can still ",
                    job->n_pieces, place);
    text_printf(errors, "%s; give displacements that prevent this%s", list.data,
                p->count == 0 ? ", or take the formulation symmetric, which solves bodies whose loads balance"
                              : "");
done:
    text_free(&list);
    return status;
}

facet_status problem_check_rigid(const struct problem *problem, struct problem_resolved *resolved,
                                 struct text *errors) {
    facet_status status = FACET_OK;
    struct job job = {.problem = problem, .resolved = resolved};
    int n_told = 0;
    for (int b = 0; b < problem->mesh->n_blocks; b++)
        TRY(find_face_nodes(&job, problem->mesh->blocks[b].shape));
    TRY(find_pieces(&job));
    TRY(gather_demands(&job));
    for (int i = 0; i < job.n_pieces && n_told < MANY_PIECES; i++)
        TRY(report_piece(&job, i, errors, &n_told));
    TRY(finish_free_pieces(&job));
done:
    for (int shape = 0; shape < SHAPE_COUNT; shape++) base_free(&job.face_nodes[shape]);
    base_free(&job.cell_piece);
    base_free(&job.pieces);
    return status;
}
