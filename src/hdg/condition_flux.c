/* What goes through a face by the condition or the contact that stands there. The solution satisfies
 *
 *     qhat.n = -g on Neumann parts,   a uhat - g on Robin parts,   h (uhat - uhat across) at contacts,
 *     (stress) n = t - k uhat with tractions and springs,
 *
 * so that the flux of a cell, which is the difference of terms as large as tau u, need not be looked at where
 * these are smaller: an error e of u is a e in the flux instead of tau e. */
#include <math.h>
#include <string.h>

#include "hdg/contact.h"

/* tau at the rule of a face, at most. */
static facet_status largest_tau(struct local *l, int face, double *largest) {
    const double *chi;
    int row, n = hdg_face_of(l->hdg->functions[l->block].face, face)->rule.n;
    facet_status status = local_face_tau(l, face, &chi, &row);
    *largest = 0.0;
    for (int q = 0; status == FACET_OK && q < n; q++) *largest = fmax(*largest, l->values[q]);
    return status;
}

static double largest_of(int n, const double *values) {
    double largest = 0.0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(values[i]));
    return largest;
}

/* The weight of point q of a face, with the normals of hdg_face_geometry in l->normal. */
static double weight_of(const struct local *l, const struct hdg_face_table *table, int q) {
    const int dim = l->hdg->data.mesh->dim;
    return copysign(local_norm(dim, l->normal + q * dim), table->rule.w[q]);
}

/* The integral of a uhat, if a is not above the limit. */
static facet_status robin_flux(struct local *l, const struct hdg_solution *s, int face, double limit,
                               double *flux, int *told) {
    const struct hdg_face_table *boundary = &l->hdg->space.blocks[l->block].boundary,
                                *table = hdg_face_of(boundary, face);
    double largest = 0.0, *uhat = l->jets;
    facet_status status = local_robin(l, face, told, &largest);
    *told = *told && status == FACET_OK && largest <= limit;
    if (!*told) return status;
    local_trace_values(l, s, face, boundary, 0, table->rule.n, uhat);
    for (int q = 0; q < table->rule.n; q++) *flux += weight_of(l, table, q) * l->values[q] * uhat[q];
    return FACET_OK;
}

/* The integral of k uhat, if k is not above the limit. */
static facet_status spring_force(struct local *l, const struct hdg_solution *s, int face,
                                 const struct hdg_condition *c, double limit, double *force, int *told) {
    const struct hdg *h = l->hdg;
    const struct hdg_face_table *boundary = &h->space.blocks[l->block].boundary,
                                *table = hdg_face_of(boundary, face);
    const int dim = h->data.mesh->dim, n = table->rule.n;
    double *raw = l->jets, *k = raw + n * dim * dim, *uhat = k + n * dim * dim;
    hdg_face_geometry(&h->space, l->block, l->cell, face, table, &l->face_geometry, l->x, l->normal);
    facet_status status = hdg_spring_at(dim, c, n, l->x, l->normal, raw, k);
    *told = status == FACET_OK && largest_of(n * dim * dim, k) <= limit;
    if (!*told) return status;
    local_trace_values(l, s, face, boundary, 0, n, uhat);
    for (int i = 0; i < n * dim * dim; i++) {
        const int q = i / (dim * dim), a = i / dim % dim, b = i % dim;
        force[a] -= weight_of(l, table, q) * k[i] * uhat[q * dim + b];
    }
    return FACET_OK;
}

/* Where a condition stands. Components that it fixes, and those of turned unknowns, keep their flux; so do
 * tractions of the formulation whose cells balance something else. */
static facet_status condition_flux(struct local *l, const struct hdg_solution *s, int face, int32_t number,
                                   double *flux) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_condition *c = &h->data.conditions[h->data.face_condition[number]];
    const int nc = h->trace.n_components, m = hdg_face_size(&h->space.blocks[l->block], face);
    double limit, of_u[3] = {0.0};
    int told = 1;
    if (h->trace.face_free[number] < 0 ||
        (c->kind != HDG_NEUMANN && c->kind != HDG_ROBIN && c->kind != HDG_MECHANICAL) ||
        (h->data.equation->asymmetric & HDG_BIT(c->kind)) != 0 ||
        trace_turn_of(&h->trace, l->block, l->cell, face) != NULL ||
        trace_whole_turn_of(&h->trace, l->block, l->cell, face) != NULL)
        return FACET_OK;
    TRY(largest_tau(l, face, &limit));
    if (c->kind == HDG_ROBIN) TRY(robin_flux(l, s, face, limit, of_u, &told));
    if (c->spring != NULL) TRY(spring_force(l, s, face, c, limit, of_u, &told));
    const double scale = h->data.equation->outward * local_one_on(h, number);
    for (int a = 0; a < nc && told; a++)
        if (c->kind != HDG_MECHANICAL || !c->fixed[a])
            flux[a] = of_u[a] - scale * h->boundary[h->trace.face_free[number] + a * m];
done:
    return status;
}

/* Where the two sides of a contact begin in solution.trace, that of the cell at hand and the one across; 0:
 * that one is not in this part of the mesh. */
static int contact_sides(const struct local *l, int face, int32_t number, int64_t start[2]) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const int32_t across = mesh->face_cells[2 * (int64_t)number + 1];
    start[0] = contact_start(h, l->block, l->cell, face);
    start[1] = h->trace.face_first[number];
    if (start[0] != start[1]) return 1;
    if (across < 0) return 0;
    const struct mesh_block *block = mesh_block_of(mesh, across);
    start[1] = contact_start(h, (int)(block - mesh->blocks), across - block->first,
                             mesh->face_locals[2 * (int64_t)number + 1]);
    return 1;
}

static facet_status contact_flux(struct local *l, const struct hdg_solution *s, int face, int32_t number,
                                 double *flux) {
    facet_status status = FACET_OK;
    const struct hdg_face_table *table = hdg_face_of(&l->hdg->space.blocks[l->block].boundary, face);
    const int n = table->rule.n, m = table->m;
    int64_t start[2];
    double limit, sum = 0.0;
    if (!contact_sides(l, face, number, start)) return FACET_OK;
    TRY(largest_tau(l, face, &limit));
    TRY(contact_conductance(l, face));
    if (largest_of(n, l->values) > limit) return FACET_OK;
    for (int q = 0; q < n; q++) {
        double jump = 0.0;
        for (int i = 0; i < m; i++)
            jump += table->psi[q * m + i] * (s->trace[start[0] + i] - s->trace[start[1] + i]);
        sum += weight_of(l, table, q) * l->values[q] * jump;
    }
    *flux = sum;
done:
    return status;
}

facet_status local_told_flux(struct local *l, const struct hdg_solution *s, int face, double *flux) {
    const struct hdg_data *data = &l->hdg->data;
    const int32_t number = local_face_number(l, face);
    if (!data->equation->by_faces) return FACET_OK;
    if (data->face_condition[number] >= 0) return condition_flux(l, s, face, number, flux);
    if (data->face_contact != NULL && data->face_contact[number] >= 0)
        return contact_flux(l, s, face, number, flux);
    return FACET_OK;
}
