/* The boundary faces of elasticity, and rigid motions as traces. */
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
        for (int a = 0; a < mesh->dim; a++) rollers |= c->fixed[a];
        n_tractions += (h->data.equation->asymmetric & HDG_BIT(c->kind)) != 0;
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
            h->data.conditions[h->data.face_condition[f]].kind != HDG_MECHANICAL)
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
