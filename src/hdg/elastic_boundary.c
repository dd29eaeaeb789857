/* The boundary faces of elasticity, and rigid motions as traces. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* Which unknowns of free faces are fixed, and which faces make the matrix nonsymmetric. */
facet_status elastic_list_faces(struct hdg *h) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct hdg_elastic *e = h->elastic;
    int64_t n_tractions = 0;
    int rollers = 0;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (h->data.face_condition[f] < 0 || h->trace.face_free[f] < 0) continue;
        const struct hdg_condition *c = &h->data.conditions[h->data.face_condition[f]];
        if (c->kind != HDG_MECHANICAL) continue;
        e->has_springs |= c->spring != NULL;
        for (int a = 0; a < mesh->dim; a++) rollers |= c->fixed[a];
        n_tractions += (h->data.equation->asymmetric & HDG_BIT(c->kind)) != 0 && !c->symmetric;
    }
    if (rollers) {
        TRY(CALLOC(h->trace.fixed, h->trace.n_free));
        TRY(CALLOC(h->held, h->trace.n_free));
        TRY(CALLOC(h->moved, h->trace.n_free));
    }
    if (n_tractions == 0) goto done;
    h->nonsymmetric = 1;
    TRY(CALLOC(e->tractions, n_tractions));
    TRY(ALLOC(e->face_traction, mesh->n_faces));
    TRY(CALLOC(e->correction_lift, h->trace.n_free));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        e->face_traction[f] = -1;
        if (h->data.face_condition[f] < 0 || h->trace.face_free[f] < 0 ||
            h->data.conditions[h->data.face_condition[f]].kind != HDG_MECHANICAL ||
            h->data.conditions[h->data.face_condition[f]].symmetric)
            continue;
        int32_t cell = mesh->face_cells[2 * (int64_t)f];
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        e->face_traction[f] = (int32_t)e->n_tractions;
        e->tractions[e->n_tractions++] =
            (struct elastic_traction){.face = f,
                                      .cell = cell - block->first,
                                      .block = (int)(block - mesh->blocks),
                                      .local = mesh->face_locals[2 * (int64_t)f]};
    }
done:
    return status;
}

/* -------------------------------------------------------------------------------------- loads, springs */

/* The area of a face, by the rule of its loads, so that these add up to what they are the total of. */
static facet_status area_face(struct local *l, int32_t face, void *user) {
    double *area = (double *)user + face;
    const struct hdg_face_table *table = local_place_face(l, face);
    int dim = l->hdg->data.mesh->dim;
    for (int q = 0; q < table->rule.n; q++)
        *area += copysign(local_norm(dim, l->normal + q * dim), table->rule.w[q]);
    return FACET_OK;
}

static facet_status find_areas(struct hdg *h) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &h->data;
    int n_shared = 0;
    double *areas = NULL;
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        const struct hdg_condition *c =
            data->face_condition[f] >= 0 ? &data->conditions[data->face_condition[f]] : NULL;
        if (c == NULL || c->force == NULL) continue;
        n_shared = c->shared >= n_shared ? c->shared + 1 : n_shared;
    }
    if (n_shared == 0 || h->elastic->areas != NULL) goto done;
    TRY(CALLOC(areas, data->mesh->n_faces));
    TRY(CALLOC(h->elastic->areas, n_shared));
    TRY(local_for_all_faces(h, 1, area_face, areas));
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        const struct hdg_condition *c =
            data->face_condition[f] >= 0 ? &data->conditions[data->face_condition[f]] : NULL;
        if (c != NULL && c->force != NULL) h->elastic->areas[c->shared] += areas[f];
    }
done:
    base_free(&areas);
    return status;
}

facet_status elastic_boundary(struct hdg *h) {
    facet_status status = FACET_OK;
    TRY(find_areas(h));
    TRY(local_boundary_data(h));
done:
    return status;
}

static const struct hdg_condition *spring_of(const struct hdg *h, int block, int32_t cell, int face) {
    const struct hdg_data *data = &h->data;
    int n_faces = h->space.blocks[block].n_faces;
    int32_t condition = data->face_condition[data->mesh->blocks[block].faces[(int64_t)cell * n_faces + face]];
    return condition >= 0 && data->conditions[condition].spring != NULL ? &data->conditions[condition] : NULL;
}

int elastic_has_springs(const struct hdg *h, int block, int32_t cell) {
    for (int f = 0; h->elastic->has_springs && f < h->space.blocks[block].n_faces; f++)
        if (spring_of(h, block, cell, f) != NULL) return 1;
    return 0;
}

facet_status elastic_add_springs(struct local *l, double *K) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_face_table *table = &b->boundary;
    int dim = h->data.mesh->dim, m = b->m, n = dim * b->n_trace, n_points = table->rule.n;
    double *raw = l->jets, *k = raw + n_points * dim * dim;
    for (int f = 0; h->elastic->has_springs && f < b->n_faces; f++) {
        const struct hdg_condition *c = spring_of(h, l->block, l->cell, f);
        if (c == NULL) continue;
        hdg_face_geometry(&h->space, l->block, l->cell, f, table, &l->face_geometry, l->x, l->normal);
        TRY(hdg_spring_at(dim, c, n_points, l->x, l->normal, raw, k));
        for (int i = 0; i < dim * dim; i++) {
            double *to = K + (int64_t)elastic_trace_start(dim, m, f, i / dim) * n +
                         elastic_trace_start(dim, m, f, i % dim);
            for (int q = 0; q < n_points; q++) {
                const double *psi = table->psi + q * m;
                double weight =
                    k[q * dim * dim + i] * copysign(local_norm(dim, l->normal + q * dim), table->rule.w[q]);
                for (int r = 0; r < m && weight != 0.0; r++)
                    for (int s = 0; s < m; s++) to[(int64_t)r * n + s] += weight * psi[r] * psi[s];
            }
        }
    }
done:
    return status;
}

/* -------------------------------------------------------------------------------------- rigid motions */

int hdg_n_rigid_modes(const struct hdg *h) {
    return !h->data.equation->rigid ? 0 : h->data.mesh->dim == 2 ? 3 : 6;
}

/* Mode `mode` at a point, about the given centre. */
static void rigid_motion(int dim, int mode, const double *center, const double *x, double *u) {
    double r[3] = {0};
    for (int a = 0; a < dim; a++) {
        r[a] = x[a] - center[a];
        u[a] = a == mode ? 1.0 : 0.0;
    }
    if (mode < dim) return;
    int axis = dim == 2 ? 2 : mode - dim, b = (axis + 1) % 3, c = (axis + 2) % 3;
    u[b] = -r[c];
    u[c] = r[b];
}

struct rigid_job {
    double center[3];
    double *modes;
};

static facet_status rigid_face(struct local *l, int32_t face, void *user) {
    facet_status status = FACET_OK;
    const struct rigid_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_face_table *table = local_place_face(l, face);
    int dim = h->data.mesh->dim, m = table->m, n_modes = hdg_n_rigid_modes(h);
    int64_t first = h->trace.face_free[face];
    double *moments = l->vector;
    for (int mode = 0; mode < n_modes; mode++) {
        double *to = job->modes + mode * h->trace.n_free + first;
        for (int q = 0; q < table->rule.n; q++)
            rigid_motion(dim, mode, job->center, l->x + q * dim, l->values + q * dim);
        local_turn_values(l, h->data.mesh->face_locals[2 * (int64_t)face], 1, table->rule.n, l->values);
        for (int a = 0; a < dim; a++) local_component_moments(l, table, l->values, a, moments + a * m);
        TRY(local_project(l, table, face, dim, moments));
        for (int i = 0; i < dim * m; i++)
            to[i] = h->trace.fixed != NULL && h->trace.fixed[first + i] ? 0.0 : moments[i];
    }
done:
    return status;
}

facet_status hdg_rigid_modes(const struct hdg *h, double *modes) {
    facet_status status = FACET_OK;
    struct mesh_quality quality;
    struct rigid_job job = {.modes = modes};
    memset(modes, 0, (size_t)(hdg_n_rigid_modes(h) * h->trace.n_free) * sizeof *modes);
    TRY(mesh_measure_size(h->data.mesh, &quality));
    for (int a = 0; a < h->data.mesh->dim; a++) job.center[a] = 0.5 * (quality.lower[a] + quality.upper[a]);
    TRY(local_for_all_faces(h, 0, rigid_face, &job));
done:
    return status;
}
