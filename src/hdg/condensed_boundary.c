/* Boundary data of the condensed scheme. Dirichlet: vertices take the value of g, the modes of the edges of a
 * 3D cell project what is left along the edge (where parts with different data meet, both take the mean of
 * what these give, each part counting once), and the modes of a face project what is left after that. Neumann
 * and Robin: loads and mass of the modes of the face. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"
#include "poly/modal.h"

#define FACE_MODES 289 /* of a quad at the largest degree, 16 */

static int is_dirichlet(const struct hdg *h, int32_t face) {
    int32_t c = h->data.face_condition[face];
    return c >= 0 && h->data.conditions[c].kind == HDG_DIRICHLET;
}

/* The modes of a face of the cell at hand; their number. */
static int list_modes(const struct local *l, int face, struct continuous_mode *modes) {
    continuous_face_modes(&l->hdg->condensed->space, &l->hdg->trace, l->block, l->cell, face, modes);
    return l->hdg->space.blocks[l->block].m;
}

/* ------------------------------------------------------------------------------------------ Dirichlet */

/* Adds g at the corners of a Dirichlet face. */
static facet_status add_corners(struct hdg *h, struct local *l, int32_t face, int32_t *counts) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    int local = local_enter_face(l, face), dim = mesh->dim;
    const struct mesh_block *block = &mesh->blocks[l->block];
    struct continuous_mode modes[FACE_MODES];
    double g[SHAPE_MAX_FACE_VERTICES];
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    int corners[SHAPE_MAX_FACE_VERTICES], n = mesh_side_vertices(mesh, face, 0, vertices, corners);
    for (int i = 0; i < n; i++) {
        int64_t node =
            (int64_t)l->cell * block->n_nodes + shape_vertex_node(block->shape, mesh->order, corners[i]);
        memcpy(l->x + i * dim, block->nodes + node * dim, (size_t)dim * sizeof *l->x);
    }
    TRY(local_condition_values(l, &h->data.conditions[h->data.face_condition[face]], n, l->x, NULL, g));
    list_modes(l, local, modes);
    for (int i = 0; i < n; i++) {
        h->eliminated[modes[i].full] += g[i];
        counts[modes[i].full]++;
    }
done:
    return status;
}

/* The last modes of an edge or face from <psi_i, psi_j> u_j = <g, psi_i>, with the values of the first
 * `given` ones in u; normal as in local_face_mass. */
static facet_status project(struct local *l, int n, int m, int given, const double *psi, int dim,
                            const double *normal, const double *g, double *u) {
    double *moments = l->vector, *mass = l->C;
    int own = m - given;
    memset(moments, 0, (size_t)m * sizeof *moments);
    memset(mass, 0, (size_t)(m * m) * sizeof *mass);
    local_face_moments(n, m, psi, dim, normal, g, moments);
    local_face_mass(n, m, psi, dim, normal, NULL, mass, m);
    for (int i = given; i < m; i++) moments[i] -= cblas_ddot(given, mass + i * m, 1, u, 1);
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', own, 1, mass + given * (m + 1), m, moments + given, own) !=
        0)
        return local_place(base_fail(FACET_ERROR_INPUT, "a face is degenerate"), l);
    memcpy(u + given, moments + given, (size_t)own * sizeof *u);
    return FACET_OK;
}

/* Is an edge of a cell part of its face? */
static int lies_on(enum shape shape, int edge, int face) {
    const int *ends = shape_entity_vertices(shape, 1, edge), *corners = shape_face_vertices(shape, face);
    int n = 0;
    for (int i = 0; i < shape_n_vertices(shape_face_shape(shape, face)); i++)
        n += corners[i] == ends[0] || corners[i] == ends[1];
    return n == 2;
}

/* Adds what an edge of the cell at hand gets from the condition c. */
static facet_status add_edge(struct hdg *h, struct local *l, const struct hdg_condition *c, int edge,
                             int32_t *counts) {
    facet_status status = FACET_OK;
    const struct continuous_space *space = &h->condensed->space;
    const struct condensed_edges *edges = &h->condensed->blocks[l->block].edges;
    enum shape shape = h->space.blocks[l->block].shape;
    const int32_t *nodes = space->nodes[l->block] + (int64_t)l->cell * h->trace.n_slots[l->block];
    const int64_t *first = h->trace.face_first;
    const int *ends = shape_entity_vertices(shape, 1, edge);
    int64_t own = first[nodes[shape_n_vertices(shape) + edge]];
    const double *v = shape_vertices(shape);
    unsigned char orientations[TRACE_MAX_SLOTS];
    double u[MODAL_MAX_SHARED];
    int dim = h->data.mesh->dim, m = h->space.degree + 1, n = edges->rule.n;
    continuous_orientations(space, l->block, l->cell, orientations);
    int o = orientations[edge];
    hdg_cell_geometry(&h->space, l->block, l->cell, &edges->side[edge][o], &l->geometry);
    for (int q = 0; q < n; q++) { /* length */
        double square = 0.0;
        for (int a = 0; a < dim; a++) {
            double tangent = 0.0;
            for (int b = 0; b < dim; b++)
                tangent += l->geometry.jacobian[(q * dim + a) * dim + b] *
                           (v[ends[1] * dim + b] - v[ends[0] * dim + b]);
            square += tangent * tangent;
        }
        l->normal[q] = edges->rule.w[q] * sqrt(square);
    }
    TRY(local_condition_values(l, c, n, l->geometry.x, NULL, l->values));
    for (int i = 0; i < 2; i++) u[i] = h->eliminated[first[nodes[ends[o ? 1 - i : i]]]];
    TRY(project(l, n, m, 2, edges->psi, 1, l->normal, l->values, u));
    for (int i = 0; i < m - 2; i++) {
        h->eliminated[own + i] += u[2 + i];
        counts[own + i]++;
    }
done:
    return status;
}

static facet_status add_edges(struct hdg *h, struct local *l, int32_t face, int32_t *counts) {
    facet_status status = FACET_OK;
    int local = local_enter_face(l, face);
    enum shape shape = h->space.blocks[l->block].shape;
    for (int e = 0; e < shape_n_entities(shape, 1); e++)
        if (lies_on(shape, e, local))
            TRY(add_edge(h, l, &h->data.conditions[h->data.face_condition[face]], e, counts));
done:
    return status;
}

/* Sums and their counts become those of all parts of the mesh. */
static facet_status join_values(struct hdg *h, int32_t *counts) {
    facet_status status = FACET_OK;
    struct seam *seam = h->condensed->space.seam;
    const int64_t n = h->trace.n_all;
    double *sums = NULL;
    if (seam == NULL) return FACET_OK;
    TRY(ALLOC(sums, 2 * n));
    for (int64_t i = 0; i < n; i++) {
        sums[i] = counts[i] > 0 ? h->eliminated[i] : 0.0;
        sums[n + i] = counts[i];
    }
    TRY(seam_add_blocks(seam, h->trace.face_first, sums));
    TRY(seam_add_blocks(seam, h->trace.face_first, sums + n));
    for (int64_t i = 0; i < n; i++) {
        counts[i] = (int32_t)sums[n + i];
        if (counts[i] > 0) h->eliminated[i] = sums[i];
    }
done:
    base_free(&sums);
    return status;
}

/* The last condition of a face with Dirichlet data, in whatever part of the mesh, and 1. */
static facet_status count_conditions(const struct hdg *h, int64_t *n) {
    *n = 0;
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++)
        if (is_dirichlet(h, f) && h->data.face_condition[f] >= *n) *n = h->data.face_condition[f] + 1;
    return team_reduce_counts(mesh_team(h->data.mesh), TEAM_MAX, 1, n);
}

/* Whether the data of a condition are those of one before. */
static int is_again(const struct hdg *h, int64_t condition) {
    for (int64_t k = 0; k < condition; k++)
        if (h->data.conditions[k].kind == HDG_DIRICHLET &&
            h->data.conditions[k].g == h->data.conditions[condition].g)
            return 1;
    return 0;
}

typedef facet_status (*add_values)(struct hdg *, struct local *, int32_t, int32_t *);

/* Into the eliminated values: what the faces of a condition, and of others with the same data, give; the mean
 * of it, which on curved cells may differ by rounding. */
static facet_status values_of(struct hdg *h, struct local *l, int64_t condition, int32_t *counts,
                              add_values add) {
    facet_status status = FACET_OK;
    memset(counts, 0, (size_t)h->trace.n_all * sizeof *counts);
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++)
        if (is_dirichlet(h, f) && (condition < 0 || h->data.conditions[h->data.face_condition[f]].g ==
                                                        h->data.conditions[condition].g))
            TRY(add(h, l, f, counts));
    TRY(join_values(h, counts));
    for (int64_t i = 0; i < h->trace.n_all; i++)
        if (counts[i] > 1) h->eliminated[i] /= counts[i];
done:
    return status;
}

/* Vertices, then edges of 3D cells, by `add` for all Dirichlet faces: of every part that gives a value one,
 * and the mean of these. */
static facet_status mean_values(struct hdg *h, struct local *l, int32_t *counts, add_values add) {
    facet_status status = FACET_OK;
    int64_t n = h->trace.n_all, n_conditions, n_data = 0;
    double *sums = NULL, *before = NULL;
    int32_t *parts = NULL;
    TRY(count_conditions(h, &n_conditions));
    for (int64_t c = 0; c < n_conditions; c++)
        n_data += h->data.conditions[c].kind == HDG_DIRICHLET && !is_again(h, c);
    if (n_data < 2) return values_of(h, l, -1, counts, add);
    TRY(CALLOC(sums, n));
    TRY(CALLOC(parts, n));
    TRY(ALLOC(before, n));
    memcpy(before, h->eliminated, (size_t)n * sizeof *before); /* of edges: the vertices */
    for (int64_t c = 0; c < n_conditions; c++) {
        if (h->data.conditions[c].kind != HDG_DIRICHLET || is_again(h, c)) continue;
        memcpy(h->eliminated, before, (size_t)n * sizeof *before);
        TRY(values_of(h, l, c, counts, add));
        for (int64_t i = 0; i < n; i++)
            if (counts[i] > 0) {
                sums[i] += h->eliminated[i];
                parts[i]++;
            }
    }
    for (int64_t i = 0; i < n; i++) h->eliminated[i] = parts[i] > 0 ? sums[i] / parts[i] : before[i];
done:
    base_free(&sums);
    base_free(&parts);
    base_free(&before);
    return status;
}

/* ------------------------------------------------------------------------------------------ faces */

/* <g, psi> of Neumann and Robin parts is added to the load; a Dirichlet face's own modes are projected. */
static facet_status boundary_face(struct hdg *h, struct local *l, int32_t face) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &h->data;
    const struct hdg_condition *c = &data->conditions[data->face_condition[face]];
    int local = local_enter_face(l, face), dim = data->mesh->dim;
    const struct hdg_face_table *table = &h->space.blocks[l->block].boundary;
    const double *psi = h->condensed->blocks[l->block].psi;
    double *moments = l->vector, u[FACE_MODES];
    struct continuous_mode modes[FACE_MODES];
    int m = list_modes(l, local, modes);
    int given = m - modal_n_interior((enum shape)data->mesh->face_shapes[face], h->space.degree);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    TRY(local_condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    if (c->kind != HDG_DIRICHLET) {
        memset(moments, 0, (size_t)m * sizeof *moments);
        local_face_moments(table->rule.n, m, psi, dim, l->normal, l->values, moments);
        for (int i = 0; i < m; i++)
            if (modes[i].free >= 0) h->boundary[modes[i].free] += modes[i].sign * moments[i];
        goto done;
    }
    if (given == m) goto done;
    for (int i = 0; i < given; i++) u[i] = modes[i].sign * h->eliminated[modes[i].full];
    TRY(project(l, table->rule.n, m, given, psi, dim, l->normal, l->values, u));
    for (int i = given; i < m; i++) h->eliminated[modes[i].full] = u[i];
done:
    return status;
}

facet_status condensed_boundary_data(struct hdg *h) {
    facet_status status = FACET_OK;
    struct local l = {.hdg = h};
    int32_t *counts = NULL;
    TRY(local_clear_boundary(h));
    TRY(ALLOC(counts, h->trace.n_all));
    TRY(local_create(h, &l));
    TRY(mean_values(h, &l, counts, add_corners));
    if (h->data.mesh->dim == 3 && h->space.degree > 1) TRY(mean_values(h, &l, counts, add_edges));
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) /* one after the other: they share vertices */
        if (h->data.face_condition[f] >= 0) TRY(boundary_face(h, &l, f));
done:
    base_free(&counts);
    local_destroy(&l);
    return status;
}

facet_status condensed_add_robin(struct local *l, double *K, double *largest) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct condensed_block *c = &h->condensed->blocks[l->block];
    int m = b->m, any = 0;
    for (int f = 0; f < b->n_faces; f++) {
        int found;
        struct continuous_mode modes[FACE_MODES];
        double *mass = l->X; /* C still holds the cell */
        TRY(local_robin(l, f, &found, largest));
        if (!found) continue;
        if (!any) local_note_stiffest(l, c->n, K);
        any = 1;
        list_modes(l, f, modes);
        memset(mass, 0, (size_t)(m * m) * sizeof *mass);
        local_face_mass(b->boundary.rule.n, m, c->psi, h->data.mesh->dim, l->normal, l->values, mass, m);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                K[modes[i].local * c->n + modes[j].local] += modes[i].sign * modes[j].sign * mass[i * m + j];
    }
done:
    return status;
}
