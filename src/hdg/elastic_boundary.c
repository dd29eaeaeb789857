/* Boundary data of elasticity, and rigid motions: both are projections on the traces of faces. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

static int is_free(const struct hdg_condition *c, int component) {
    return c->kind != HDG_MECHANICAL || !c->fixed[component];
}

/* Rules with weights of both signs (fabien2019's) carry the sign in the normals. */
static double sign(const struct hdg_face_table *table, int q) {
    return table->rule.w[q] < 0.0 ? -1.0 : 1.0;
}

/* The geometry of a boundary face at the boundary rule into l->x, l->normal; all normals point outward. */
static const struct hdg_face_table *place_face(struct local *l, int32_t face) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    int local = local_enter_face(l, face);
    const struct hdg_face_table *table = &h->space.blocks[l->block].boundary;
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    for (int q = 0; q < table->rule.n; q++)
        for (int a = 0; a < mesh->dim; a++) l->normal[q * mesh->dim + a] *= sign(table, q);
    return table;
}

/* moments (m) = <component a of values, psi>; values: n x dim. */
static void component_moments(struct local *l, const struct hdg_face_table *table, const double *values,
                              int a, double *moments) {
    int dim = l->hdg->data.mesh->dim, n = table->rule.n;
    double *one = l->elastic->mu;
    for (int q = 0; q < n; q++) one[q] = sign(table, q) * values[q * dim + a];
    memset(moments, 0, (size_t)table->m * sizeof *moments);
    local_face_moments(n, table->m, table->psi, dim, l->normal, one, moments);
}

/* Moments become the coefficients of the projection. */
static facet_status project(struct local *l, const struct hdg_face_table *table, int32_t face, int count,
                            double *moments) {
    int m = table->m;
    double *mass = l->C, *signs = l->elastic->mu;
    for (int q = 0; q < table->rule.n; q++) signs[q] = sign(table, q);
    memset(mass, 0, (size_t)(m * m) * sizeof *mass);
    local_face_mass(table->rule.n, m, table->psi, l->hdg->data.mesh->dim, l->normal, signs, mass, m);
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, count, mass, m, moments, m) == 0) return FACET_OK;
    return local_place(base_fail(FACET_ERROR_INPUT, "face %d is degenerate", face), l);
}

static facet_status boundary_face(struct hdg *h, struct local *l, int32_t face) {
    facet_status status = FACET_OK;
    const struct hdg_condition *c = &h->data.conditions[h->data.face_condition[face]];
    const struct hdg_face_table *table = place_face(l, face);
    int dim = h->data.mesh->dim, m = table->m;
    int64_t first = h->trace.face_free[face];
    double *moments = l->vector;
    TRY(elastic_condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    for (int a = 0; a < dim; a++) {
        component_moments(l, table, l->values, a, moments);
        if (is_free(c, a)) {
            memcpy(h->boundary + first + a * m, moments, (size_t)m * sizeof *moments);
            continue;
        }
        TRY(project(l, table, face, 1, moments));
        double *to = first >= 0 ? h->elastic->values + first : h->eliminated + h->trace.face_first[face];
        memcpy(to + a * m, moments, (size_t)m * sizeof *moments);
        for (int i = 0; i < m && first >= 0; i++) h->trace.fixed[first + a * m + i] = 1;
    }
done:
    return status;
}

/* Which unknowns of free faces are fixed, and which faces make the matrix nonsymmetric. */
static facet_status list_faces(struct hdg *h) {
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
        n_tractions += h->data.formulation == HDG_GRADIENT;
    }
    if (rollers) {
        TRY(CALLOC(h->trace.fixed, h->trace.n_free));
        TRY(CALLOC(e->values, h->trace.n_free));
        TRY(CALLOC(e->moved, h->trace.n_free));
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

facet_status elastic_boundary_data(struct hdg *h) {
    facet_status status = list_faces(h);
    return status != FACET_OK ? status : local_boundary_faces(h, boundary_face);
}

/* -------------------------------------------------------------------------------------- rigid motions */

int hdg_n_rigid_modes(const struct hdg *h) {
    return h->data.mesh->dim == 2 ? 3 : 6;
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

static facet_status rigid_face(const struct hdg *h, struct local *l, const struct rigid_job *job,
                               int64_t block) {
    facet_status status = FACET_OK;
    int32_t face = h->trace.free_faces[block];
    const struct hdg_face_table *table = place_face(l, face);
    int dim = h->data.mesh->dim, m = table->m, n_modes = hdg_n_rigid_modes(h);
    int64_t first = h->trace.free_offsets[block];
    double *moments = l->vector;
    for (int mode = 0; mode < n_modes; mode++) {
        double *to = job->modes + mode * h->trace.n_free + first;
        for (int q = 0; q < table->rule.n; q++)
            rigid_motion(dim, mode, job->center, l->x + q * dim, l->values + q * dim);
        for (int a = 0; a < dim; a++) component_moments(l, table, l->values, a, moments + a * m);
        TRY(project(l, table, face, dim, moments));
        for (int i = 0; i < dim * m; i++)
            to[i] = h->trace.fixed != NULL && h->trace.fixed[first + i] ? 0.0 : moments[i];
    }
done:
    return status;
}

facet_status hdg_rigid_modes(const struct hdg *h, double *modes) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    struct mesh_quality quality;
    struct rigid_job job = {.modes = modes};
    base_collector_init(&failures);
    memset(modes, 0, (size_t)(hdg_n_rigid_modes(h) * h->trace.n_free) * sizeof *modes);
    TRY(mesh_measure_quality(h->data.mesh, &quality));
    for (int a = 0; a < h->data.mesh->dim; a++) job.center[a] = 0.5 * (quality.lower[a] + quality.upper[a]);
#pragma omp parallel num_threads(base_threads())
    {
        struct local l;
        facet_status mine = local_create(h, &l);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t b = 0; b < h->trace.n_free_faces; b++)
            if (mine == FACET_OK) base_collect(&failures, b, rigid_face(h, &l, &job, b));
        local_destroy(&l);
    }
    TRY(base_collected(&failures));
done:
    return status;
}
