/* Boundary data of the condensed scheme. Dirichlet: vertices take the value of g (where several Dirichlet
 * faces meet, the mean of what they give), the modes of a face project what is left. Neumann and Robin: loads
 * and mass of the modes of the face. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"

static int is_dirichlet(const struct hdg *h, int32_t face) {
    int32_t c = h->data.face_condition[face];
    return c >= 0 && h->data.conditions[c].kind == HDG_DIRICHLET;
}

/* The cell of a boundary face becomes the cell at hand; returns the local face. */
static int enter_face(struct local *l, int32_t face) {
    const struct facet_mesh *mesh = l->hdg->data.mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    l->block = (int)(block - mesh->blocks);
    l->cell = cell - block->first;
    return mesh->face_locals[2 * (int64_t)face];
}

/* g at the two ends of a Dirichlet face, in the order of its frame. */
static facet_status end_values(struct local *l, int32_t face, double *g) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    int local = enter_face(l, face), dim = mesh->dim;
    const struct mesh_block *block = &mesh->blocks[l->block];
    int orientation = block->orientations[(int64_t)l->cell * shape_n_faces(block->shape) + local];
    const int *corners = shape_face_vertices(block->shape, local),
              *order = shape_permutation(SHAPE_SEGMENT, orientation);
    for (int i = 0; i < 2; i++) {
        int64_t node = (int64_t)l->cell * block->n_nodes +
                       shape_vertex_node(block->shape, mesh->order, corners[order[i]]);
        memcpy(l->x + i * dim, block->nodes + node * dim, (size_t)dim * sizeof *l->x);
    }
    return local_condition_values(l, &h->data.conditions[h->data.face_condition[face]], 2, l->x, NULL, g);
}

static facet_status dirichlet_vertices(struct hdg *h, struct local *l) {
    facet_status status = FACET_OK;
    const struct continuous_space *space = &h->condensed->space;
    int32_t *counts = NULL;
    TRY(CALLOC(counts, space->n_vertices));
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) {
        double g[2];
        int32_t ends[2];
        if (!is_dirichlet(h, f)) continue;
        TRY(end_values(l, f, g));
        continuous_face_ends(space, f, ends);
        for (int i = 0; i < 2; i++) {
            h->eliminated[space->first[ends[i]]] += g[i];
            counts[ends[i]]++;
        }
    }
    for (int32_t v = 0; v < space->n_vertices; v++)
        if (counts[v] > 1) h->eliminated[space->first[v]] /= counts[v];
done:
    base_free(&counts);
    return status;
}

/* The modes of a face in the full numbering: those of its ends, then its own. */
static void face_unknowns(const struct continuous_space *space, int32_t face, int64_t *vertices,
                          int64_t *own) {
    int32_t ends[2];
    continuous_face_ends(space, face, ends);
    for (int i = 0; i < 2; i++) vertices[i] = space->first[ends[i]];
    *own = space->first[space->n_vertices + face];
}

/* <g, psi> of Neumann and Robin parts is added to the load; a Dirichlet face's own modes are found from
 * <psi_i, psi_j> u_j = <g, psi_i> with the ends given. */
static facet_status boundary_face(struct hdg *h, struct local *l, int32_t face) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &h->data;
    const struct hdg_condition *c = &data->conditions[data->face_condition[face]];
    const struct continuous_space *space = &h->condensed->space;
    int local = enter_face(l, face), m = h->space.degree + 1, own = m - 2;
    const struct hdg_face_table *table = &h->space.blocks[l->block].boundary;
    const double *psi = h->condensed->blocks[l->block].psi;
    double *moments = l->vector, *mass = l->C;
    int64_t vertices[2], first;
    face_unknowns(space, face, vertices, &first);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    TRY(local_condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    memset(moments, 0, (size_t)m * sizeof *moments);
    local_face_moments(table->rule.n, m, psi, data->mesh->dim, l->normal, l->values, moments);
    if (c->kind != HDG_DIRICHLET) {
        for (int i = 0; i < m; i++) {
            int64_t at = space->free[i < 2 ? vertices[i] : first + i - 2];
            if (at >= 0) h->boundary[at] += moments[i];
        }
        goto done;
    }
    if (own == 0) goto done;
    memset(mass, 0, (size_t)(m * m) * sizeof *mass);
    local_face_mass(table->rule.n, m, psi, data->mesh->dim, l->normal, NULL, mass, m);
    for (int i = 2; i < m; i++)
        for (int v = 0; v < 2; v++) moments[i] -= mass[i * m + v] * h->eliminated[vertices[v]];
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', own, 1, mass + 2 * m + 2, m, moments + 2, own) != 0)
        FAIL(FACET_ERROR_INPUT, "face %d is degenerate", face);
    memcpy(h->eliminated + first, moments + 2, (size_t)own * sizeof *moments);
done:
    return status;
}

facet_status condensed_boundary_data(struct hdg *h) {
    facet_status status = FACET_OK;
    struct local l = {.hdg = h};
    TRY(CALLOC(h->eliminated, h->condensed->space.n_all));
    TRY(CALLOC(h->boundary, h->condensed->space.n_free));
    TRY(CALLOC(h->lift, h->condensed->space.n_free));
    TRY(local_create(h, &l));
    TRY(dirichlet_vertices(h, &l));
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) /* one after the other: they share vertices */
        if (h->data.face_condition[f] >= 0) TRY(boundary_face(h, &l, f));
done:
    local_destroy(&l);
    return status;
}

facet_status condensed_add_robin(struct local *l, double *K, double *largest) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct condensed_block *c = &h->condensed->blocks[l->block];
    int m = h->space.degree + 1, n_vertices = shape_n_vertices(b->shape);
    for (int f = 0; f < b->n_faces; f++) {
        int found;
        TRY(local_robin(l, f, &found, largest));
        if (!found) continue;
        double *mass = l->X; /* C still holds the cell */
        int orientation = h->data.mesh->blocks[l->block].orientations[(int64_t)l->cell * b->n_faces + f];
        const int *order = shape_permutation(SHAPE_SEGMENT, orientation);
        memset(mass, 0, (size_t)(m * m) * sizeof *mass);
        local_face_mass(b->boundary.rule.n, m, c->psi, h->data.mesh->dim, l->normal, l->values, mass, m);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                const int *corners = shape_face_vertices(b->shape, f);
                int row = i < 2 ? corners[order[i]] : n_vertices + f * (m - 2) + i - 2,
                    column = j < 2 ? corners[order[j]] : n_vertices + f * (m - 2) + j - 2;
                K[(int64_t)row * c->n + column] += mass[i * m + j];
            }
    }
done:
    return status;
}
