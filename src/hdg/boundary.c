/* Boundary data: Dirichlet values by projection, the loads of Neumann and Robin parts, and Robin's part of
 * the element matrix. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/local.h"

int local_enter_face(struct local *l, int32_t face) {
    const struct facet_mesh *mesh = l->hdg->data.mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    l->block = (int)(block - mesh->blocks);
    l->cell = cell - block->first;
    return mesh->face_locals[2 * (int64_t)face];
}

void local_face_moments(int n, int m, const double *psi, int dim, const double *normal, const double *g,
                        double *moments) {
    for (int q = 0; q < n; q++) {
        double area = local_norm(dim, normal + q * dim);
        for (int i = 0; i < m; i++) moments[i] += g[q] * area * psi[q * m + i];
    }
}

void local_face_mass(int n, int m, const double *psi, int dim, const double *normal, const double *a,
                     double *mass, int ld) {
    for (int q = 0; q < n; q++) {
        double area = local_norm(dim, normal + q * dim) * (a != NULL ? a[q] : 1.0);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) mass[i * ld + j] += area * psi[q * m + i] * psi[q * m + j];
    }
}

/* Rules with weights of both signs (fabien2019's) carry the sign in the normals. */
static double sign(const struct hdg_face_table *table, int q) {
    return table->rule.w[q] < 0.0 ? -1.0 : 1.0;
}

const struct hdg_face_table *local_place_face(struct local *l, int32_t face) {
    const struct hdg *h = l->hdg;
    int local = local_enter_face(l, face), dim = h->data.mesh->dim;
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, local);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    for (int i = 0; i < table->rule.n * dim; i++) l->normal[i] *= sign(table, i / dim);
    return table;
}

void local_turn_values(const struct local *l, int face, int back, int n, double *values) {
    const struct trace_space *trace = &l->hdg->trace;
    const double *Q = trace_turn_of(trace, l->block, l->cell, face);
    int nc = trace->n_components;
    for (double *v = values; Q != NULL && v < values + n * nc; v += nc) {
        double old[3];
        for (int c = 0; c < nc; c++) old[c] = v[c];
        for (int c = 0; c < nc; c++) {
            v[c] = 0.0;
            for (int d = 0; d < nc; d++) v[c] += Q[back ? d * nc + c : c * nc + d] * old[d];
        }
    }
}

void local_component_moments(struct local *l, const struct hdg_face_table *table, const double *values, int a,
                             double *moments) {
    int nc = l->hdg->trace.n_components, n = table->rule.n;
    double *one = l->weighted;
    for (int q = 0; q < n; q++) one[q] = sign(table, q) * values[q * nc + a];
    memset(moments, 0, (size_t)table->m * sizeof *moments);
    local_face_moments(n, table->m, table->psi, l->hdg->data.mesh->dim, l->normal, one, moments);
}

facet_status local_project(struct local *l, const struct hdg_face_table *table, int32_t face, int count,
                           double *moments) {
    int m = table->m;
    double *mass = l->C, *signs = l->weighted;
    for (int q = 0; q < table->rule.n; q++) signs[q] = sign(table, q);
    memset(mass, 0, (size_t)(m * m) * sizeof *mass);
    local_face_mass(table->rule.n, m, table->psi, l->hdg->data.mesh->dim, l->normal, signs, mass, m);
    if (!solve_invert(m, mass))
        return local_place(base_fail(FACET_ERROR_INPUT, "face %d is degenerate", face), l);
    for (int k = 0; k < count; k++) {
        double *b = moments + (int64_t)k * m, *x = mass + (int64_t)m * m;
        for (int i = 0; i < m; i++) {
            x[i] = 0.0;
            for (int j = 0; j < m; j++) x[i] += mass[i * m + j] * b[j];
        }
        memcpy(b, x, (size_t)m * sizeof *b);
    }
    return FACET_OK;
}

/* Given values (u on Dirichlet parts, displacements) by projection, and the loads of all other components. */
static facet_status boundary_face(struct local *l, int32_t face, void *user) {
    facet_status status = FACET_OK;
    struct hdg *h = user;
    const struct hdg_condition *c = &h->data.conditions[h->data.face_condition[face]];
    const struct hdg_face_table *table = local_place_face(l, face);
    int m = table->m;
    int64_t first = h->trace.face_free[face];
    double *moments = l->vector;
    TRY(local_condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    local_turn_values(l, h->data.mesh->face_locals[2 * (int64_t)face], 1, table->rule.n, l->values);
    for (int a = 0; a < h->trace.n_components; a++) {
        local_component_moments(l, table, l->values, a, moments);
        if (c->kind == HDG_MECHANICAL ? !c->fixed[a] : c->kind != HDG_DIRICHLET) {
            memcpy(h->boundary + first + a * m, moments, (size_t)m * sizeof *moments);
            continue;
        }
        TRY(local_project(l, table, face, 1, moments));
        double *to = first >= 0 ? h->held + first : h->eliminated + h->trace.face_first[face];
        memcpy(to + a * m, moments, (size_t)m * sizeof *moments);
        for (int i = 0; i < m && first >= 0; i++) h->trace.fixed[first + a * m + i] = 1;
    }
done:
    return status;
}

facet_status local_for_all_faces(const struct hdg *h, int conditions, local_face_work work, void *user) {
    struct base_collector failures;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        struct local l;
        facet_status mine = local_create(h, &l);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 64)
        for (int32_t f = 0; f < h->data.mesh->n_faces; f++)
            if (mine == FACET_OK &&
                (conditions ? h->data.face_condition[f] >= 0 : h->trace.face_free[f] >= 0))
                base_collect(&failures, f, work(&l, f, user));
        local_destroy(&l);
    }
    return base_collected(&failures);
}

facet_status local_clear_boundary(struct hdg *h) {
    facet_status status = FACET_OK;
    for (int64_t i = 0; h->eliminated != NULL && i < h->trace.n_all; i++) h->eliminated[i] = 0.0;
    for (int64_t i = 0; h->boundary != NULL && i < h->trace.n_free; i++) h->boundary[i] = 0.0;
    if (h->eliminated == NULL) TRY(CALLOC(h->eliminated, h->trace.n_all));
    if (h->boundary == NULL) TRY(CALLOC(h->boundary, h->trace.n_free));
    if (h->lift == NULL) TRY(ALLOC(h->lift, h->trace.n_free));
done:
    return status;
}

facet_status local_boundary_data(struct hdg *h) {
    facet_status status = FACET_OK;
    TRY(local_clear_boundary(h));
    TRY(local_for_all_faces(h, 1, boundary_face, h));
done:
    return status;
}

facet_status local_robin(struct local *l, int face, int *found, double *largest) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int32_t condition =
        h->data.face_condition[mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + face]];
    *found = condition >= 0 && h->data.conditions[condition].kind == HDG_ROBIN;
    if (!*found) return FACET_OK;
    const struct hdg_condition *c = &h->data.conditions[condition];
    int n = hdg_face_of(&b->boundary, face)->rule.n;
    hdg_face_geometry(&h->space, l->block, l->cell, face, &b->boundary, &l->face_geometry, l->x, l->normal);
    TRY(base_wrap(field_eval_on(c->a, n, mesh->dim, l->x, mesh->dim, l->normal, l->values), "robin.a on '%s'",
                  c->part));
    for (int q = 0; q < n; q++) {
        if (l->values[q] < 0.0)
            FAIL(FACET_ERROR_INPUT, "robin.a on '%s' must not be negative, but is %g at x=%g, y=%g", c->part,
                 l->values[q], l->x[q * mesh->dim], l->x[q * mesh->dim + 1]);
        *largest = fmax(*largest, l->values[q]);
    }
done:
    return status;
}

void local_note_stiffest(const struct local *l, int n, const double *K) {
    double *noted = l->hdg->unheld + l->hdg->data.mesh->blocks[l->block].first + l->cell;
    *noted = 0.0;
    for (int i = 0; i < n; i++) *noted = fmax(*noted, K[(int64_t)i * n + i]);
}

double hdg_stiffest(const struct hdg *h, int block, int32_t cell, int n, const double *K) {
    const int64_t number = h->data.mesh->blocks[block].first + cell;
    double most = 0.0;
    if (h->unheld != NULL && h->unheld[number] > 0.0) return h->unheld[number];
    for (int i = 0; i < n; i++) most = fmax(most, K[(int64_t)i * n + i]);
    return most;
}

facet_status local_add_robin(struct local *l, double *K, double *largest) {
    facet_status status = FACET_OK;
    int any = 0;
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *table = hdg_face_of(&b->boundary, f);
        int found;
        TRY(local_robin(l, f, &found, largest));
        if (found && !any) local_note_stiffest(l, b->n_trace, K);
        any |= found;
        if (found)
            local_face_mass(table->rule.n, table->m, table->psi, l->hdg->data.mesh->dim, l->normal, l->values,
                            K + (int64_t)b->starts[f] * (b->n_trace + 1), b->n_trace);
    }
done:
    return status;
}
