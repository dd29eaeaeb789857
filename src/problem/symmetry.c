/* Parts of symmetry: u . n = 0 and no traction along the face. On a plane across an axis that is a roller. On
 * an oblique one the unknowns of the face are turned (trace/trace.h): u = Q v with the normal as the first
 * column of Q, so that v_0 is given; on a curved one all of them together (hdg/elastic_boundary.c). So every
 * face of such a part gets a condition of its own kind, made here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

/* Directions, and distances from a plane relative to its face, that differ by less are rounding. */
#define SAME 1e-10

/* Kinds of faces: across the axes, and the others. */
enum kind { ACROSS_X, ACROSS_Y, ACROSS_Z, OBLIQUE, CURVED, N_KINDS };

static int count_symmetric(const struct problem *p) {
    int n = 0;
    for (int i = 0; i < p->n_conditions; i++) n += p->conditions[i].symmetric;
    return n;
}

int problem_n_symmetric(const struct problem *p) {
    return N_KINDS * count_symmetric(p);
}

/* The normal of a face through its lattice nodes, of length 1; 0 when they are not in a plane. */
static int find_plane(const struct facet_mesh *mesh, int32_t face, double n[3]) {
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int dim = mesh->dim, local = mesh->face_locals[2 * (int64_t)face],
        list[(MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1)];
    int count = mesh_face_nodes(block->shape, local, 0, mesh->order, list);
    const double *nodes = block->nodes + (int64_t)(cell - block->first) * block->n_nodes * dim;
    const int *corners = shape_face_vertices(block->shape, local);
    double edge[2][3] = {{0.0}, {0.0, 0.0, 1.0}}, size = 0.0, length = 0.0;
    const double *origin = nodes + (int64_t)shape_vertex_node(block->shape, mesh->order, corners[0]) * dim;
    int n_corners = shape_n_vertices(shape_face_shape(block->shape, local));
    for (int e = 0; e < dim - 1; e++) {
        int corner = e == 0 ? corners[1] : corners[n_corners - 1];
        const double *end = nodes + (int64_t)shape_vertex_node(block->shape, mesh->order, corner) * dim;
        for (int d = 0; d < dim; d++) edge[e][d] = end[d] - origin[d], size = fmax(size, fabs(edge[e][d]));
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        n[a] = edge[0][b] * edge[1][c] - edge[0][c] * edge[1][b];
        length += n[a] * n[a];
    }
    for (int a = 0; a < 3; a++) n[a] /= sqrt(length);
    for (int i = 0; i < count; i++) {
        double distance = 0.0;
        for (int d = 0; d < dim; d++) distance += n[d] * (nodes[list[i] * dim + d] - origin[d]);
        if (fabs(distance) > SAME * size) return 0;
    }
    return 1;
}

/* Q: orthogonal, its first column n, or -n. By the reflection that takes the first axis there. */
static void make_turn(int dim, const double n[3], double *Q) {
    double v[3] = {0.0}, square = 0.0, sign = n[0] > 0.0 ? -1.0 : 1.0;
    for (int a = 0; a < dim; a++) {
        v[a] = (a == 0 ? 1.0 : 0.0) - sign * n[a];
        square += v[a] * v[a];
    }
    for (int i = 0; i < dim * dim; i++)
        Q[i] = (i % (dim + 1) == 0 ? 1.0 : 0.0) - 2.0 * v[i / dim] * v[i % dim] / square;
}

/* The number of the turn to this normal: that of the face before, or a new one; own: a new one in any case.
 */
static facet_status find_turn(struct problem_resolved *r, int dim, int own, const double n[3],
                              int32_t *turn) {
    facet_status status = FACET_OK;
    int size = dim * dim;
    double Q[9], different = 0.0;
    make_turn(dim, n, Q);
    for (int i = 0; i < size && r->n_turns > 0; i++)
        different = fmax(different, fabs(Q[i] - r->turns[(int64_t)(r->n_turns - 1) * size + i]));
    if (r->n_turns == 0 || own || different > SAME) {
        TRY(base_realloc(&r->turns, (size_t)(r->n_turns + 1) * (size_t)size, sizeof *r->turns));
        memcpy(r->turns + (int64_t)r->n_turns++ * size, Q, (size_t)size * sizeof *Q);
    }
    *turn = r->n_turns - 1;
done:
    return status;
}

/* What holds one component (of the unknowns), and leaves the others free. */
static struct hdg_condition hold(const struct problem_resolved *r, const char *part, int dim,
                                 enum kind kind) {
    int a = kind < OBLIQUE ? (int)kind : 0;
    struct hdg_condition c = {.kind = HDG_MECHANICAL,
                              .part = part,
                              .g = r->zero,
                              .t = r->zero,
                              .symmetric = 1,
                              .oblique = kind == OBLIQUE,
                              .curved = kind == CURVED};
    for (int i = 0; i < dim; i++) {
        c.fixed[i] = i == a;
        c.slack[i] = i != a;
    }
    return c;
}

/* Whether the normal is that of an axis: which one, or -1. */
static int find_axis(int dim, const double n[3]) {
    for (int a = 0; a < dim; a++) {
        double rest = 0.0;
        for (int b = 0; b < dim; b++) rest = fmax(rest, b == a ? 0.0 : fabs(n[b]));
        if (rest <= SAME) return a;
    }
    return -1;
}

facet_status problem_resolve_symmetry(const struct problem *p, struct problem_resolved *r,
                                      struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int dim = mesh->dim, n = p->n_conditions + 1, *first = NULL;
    if (count_symmetric(p) == 0) goto done;
    TRY(ALLOC(first, p->n_conditions + 1));
    TRY(problem_fill(mesh->n_faces, -1, &r->face_turn));
    for (int i = 0; i < p->n_conditions; i++) {
        first[i] = n;
        for (int kind = 0; kind < N_KINDS && p->conditions[i].symmetric; kind++)
            r->conditions[n++] = hold(r, p->conditions[i].part, dim, (enum kind)kind);
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = r->face_condition[f];
        double normal[3];
        char place[80];
        if (c < 0 || c >= p->n_conditions || !p->conditions[c].symmetric) continue;
        int plane = find_plane(mesh, f, normal), axis = plane ? find_axis(dim, normal) : -1;
        if (!plane && r->data.equation->asymmetric != 0) {
            PROBLEM_ERROR(
                errors,
                "boundary: the face at %s of '%s' is curved, but symmetry in the formulation gradient "
                "needs plane faces; use the formulation symmetric",
                mesh_middle_text(mesh, mesh->face_cells[2 * (int64_t)f], mesh->face_locals[2 * (int64_t)f],
                                 place, sizeof place),
                p->conditions[c].part);
            break;
        }
        r->face_condition[f] = first[c] + (axis >= 0 ? axis : plane ? OBLIQUE : CURVED);
        if (axis < 0) TRY(find_turn(r, dim, !plane, normal, &r->face_turn[f]));
    }
    if (r->n_turns > 0)
        r->data.extras =
            (struct trace_extras){.turn = r->face_turn, .n_turns = r->n_turns, .turns = r->turns};
done:
    base_free(&first);
    return status;
}
