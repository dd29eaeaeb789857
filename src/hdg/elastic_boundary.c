/* The boundary faces of elasticity, and rigid motions as traces. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* Relative to the largest, so small is what no normal is left of. */
#define LEAST_NORMAL 1e-6

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

/* -------------------------------------------------------------------------------------- curved symmetry */

/* W of a curved face of symmetry: <uhat.n, psi_i> = 0 for all i is C v = 0, C_(i,(c,j)) = <psi_i, n_c psi_j>.
 * The columns of W are orthonormal; the first m span the range of C', whose coefficients are zero, the others
 * its null space. From the factors of C' = QR. */
static facet_status make_whole_turn(const struct hdg *h, int32_t face, double **W) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int b = (int)(block - mesh->blocks), dim = mesh->dim;
    const struct hdg_face_table *table =
        hdg_face_of(&h->space.blocks[b].boundary, mesh->face_locals[2 * (int64_t)face]);
    int m = table->m, size = dim * m, n = table->rule.n;
    struct hdg_geometry geometry = {0};
    double *x = NULL, *normal = NULL, *Q = NULL, *tau = NULL, largest = 0.0;
    if (size > TRACE_MOST_WHOLE)
        FAIL(FACET_ERROR_INPUT, "curved faces of symmetry have degrees up to 16, not %d", h->space.degree);
    TRY(hdg_geometry_create(n, dim, &geometry));
    TRY(ALLOC(x, n * dim));
    TRY(ALLOC(normal, n * dim));
    TRY(CALLOC(Q, (int64_t)size * size));
    TRY(ALLOC(tau, m));
    TRY(ALLOC(*W, (int64_t)size * size));
    hdg_face_geometry(&h->space, b, cell - block->first, mesh->face_locals[2 * (int64_t)face], table,
                      &geometry, x, normal);
    for (int q = 0; q < n; q++)
        for (int i = 0; i < m; i++)
            for (int r = 0; r < size; r++)
                Q[i * size + r] +=
                    table->psi[q * m + i] * table->psi[q * m + r % m] * normal[q * dim + r / m];
    if (LAPACKE_dgeqrf(LAPACK_COL_MAJOR, size, m, Q, size, tau) != 0)
        FAIL(FACET_ERROR_MACHINE, "a face of symmetry could not be factored");
    for (int i = 0; i < m; i++) largest = fmax(largest, fabs(Q[i * size + i]));
    for (int i = 0; i < m; i++)
        if (!(fabs(Q[i * size + i]) > LEAST_NORMAL * largest))
            FAIL(FACET_ERROR_INPUT,
                 "face %d of '%s' is too curved for a surface of symmetry; refine the mesh", face,
                 h->data.conditions[h->data.face_condition[face]].part);
    if (LAPACKE_dorgqr(LAPACK_COL_MAJOR, size, size, m, Q, size, tau) != 0)
        FAIL(FACET_ERROR_MACHINE, "a face of symmetry could not be factored");
    for (int i = 0; i < size * size; i++) (*W)[i] = Q[i % size * size + i / size];
done:
    hdg_geometry_destroy(&geometry);
    base_free(&x);
    base_free(&normal);
    base_free(&Q);
    base_free(&tau);
    return status;
}

facet_status elastic_number_faces(struct hdg *h, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    struct trace_extras extras = h->data.extras;
    double **whole = NULL;
    if (extras.n_turns > 0) TRY(CALLOC(whole, extras.n_turns));
    for (int32_t f = 0; f < h->data.mesh->n_faces && whole != NULL; f++) {
        int32_t c = h->data.face_condition[f];
        if (c >= 0 && h->data.conditions[c].curved) TRY(make_whole_turn(h, f, &whole[extras.turn[f]]));
    }
    extras.whole = (const double *const *)whole;
    TRY(trace_space_create_with(h->data.mesh, h->space.degree, h->data.mesh->dim, eliminated, &extras,
                                &h->trace));
done:
    for (int i = 0; i < extras.n_turns && whole != NULL; i++) base_free(&whole[i]);
    base_free(&whole);
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
    int64_t n_shared = 0;
    double *areas = NULL;
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        const struct hdg_condition *c =
            data->face_condition[f] >= 0 ? &data->conditions[data->face_condition[f]] : NULL;
        if (c == NULL || c->force == NULL) continue;
        n_shared = c->shared >= n_shared ? c->shared + 1 : n_shared;
    }
    TRY(team_reduce_counts(mesh_team(data->mesh), TEAM_MAX, 1, &n_shared));
    if (n_shared == 0 || h->elastic->areas != NULL) goto done;
    TRY(CALLOC(areas, data->mesh->n_faces));
    TRY(CALLOC(h->elastic->areas, n_shared));
    TRY(local_for_all_faces(h, 1, area_face, areas));
    for (int32_t f = 0; f < data->mesh->n_faces; f++) {
        const struct hdg_condition *c =
            data->face_condition[f] >= 0 ? &data->conditions[data->face_condition[f]] : NULL;
        if (c != NULL && c->force != NULL) h->elastic->areas[c->shared] += areas[f];
    }
    TRY(team_reduce(mesh_team(data->mesh), TEAM_SUM, (int)n_shared, h->elastic->areas));
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
    int dim = h->data.mesh->dim, n = dim * b->n_trace, any = 0;
    for (int f = 0; h->elastic->has_springs && f < b->n_faces; f++) {
        const struct hdg_condition *c = spring_of(h, l->block, l->cell, f);
        const struct hdg_face_table *table = hdg_face_of(&b->boundary, f);
        int m = table->m, n_points = table->rule.n;
        double *raw = l->jets, *k = raw + n_points * dim * dim;
        if (c == NULL) continue;
        if (!any) local_note_stiffest(l, n, K);
        any = 1;
        hdg_face_geometry(&h->space, l->block, l->cell, f, table, &l->face_geometry, l->x, l->normal);
        TRY(hdg_spring_at(dim, c, n_points, l->x, l->normal, raw, k));
        for (int i = 0; i < dim * dim; i++) {
            double *to = K + (int64_t)elastic_trace_start(b, dim, f, i / dim) * n +
                         elastic_trace_start(b, dim, f, i % dim);
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
        for (int a = 0; a < dim; a++) local_component_moments(l, table, l->values, a, moments + a * m);
        TRY(local_project(l, table, face, dim, moments));
        trace_turn_slot(&h->trace, l->block, l->cell, h->data.mesh->face_locals[2 * (int64_t)face], 1, 1, 0,
                        1, moments);
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
