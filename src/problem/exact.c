/* An exact solution that contradicts the problem inside of the mesh: at contacts, joined sides, and where
 * groups of cells with different data meet. hdg/check_exact.c compares; here a box is looked at without its
 * lists, and the sentence is made. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define POINTS   25 /* of a side */
#define ROUNDING 1e-6

facet_status problem_may_break(const struct problem *p, int *may) {
    facet_status status = FACET_OK;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seams = NULL;
    int32_t n_joined = 0, n_seams = 0;
    *may = p->n_contacts > 0 || p->jump != NULL || p->n_regions > 1;
    if (*may) return FACET_OK;
    for (int d = 0; d < 3 && mesh_is_box(p->mesh); d++) *may |= p->mesh->box.periodic[d];
    if (mesh_is_box(p->mesh)) return FACET_OK;
    TRY(mesh_find_joined(p->mesh, &joined, &n_joined));
    TRY(mesh_find_seam_joints(p->mesh, &seams, &n_seams));
    int64_t n = (int64_t)n_joined + n_seams;
    TRY(team_reduce_counts(mesh_team(p->mesh), TEAM_MAX, 1, &n));
    *may = n > 0;
done:
    base_free(&joined);
    base_free(&seams);
    return status;
}

/* The exact solution on both sides of a periodic direction, at points that are no corners of cells: u, and
 * its slope, which is the flux where the conductivity is a number. */
static facet_status compare_sides(const struct problem *p, int d, double jump, int slopes,
                                  struct hdg_break *found) {
    facet_status status = FACET_OK;
    const struct mesh_box *box = &p->mesh->box;
    const int dim = p->mesh->dim;
    double x[2][3 * POINTS], u[2][POINTS], grad[2][3 * POINTS], largest[2] = {0.0}, most[2] = {0.0};
    int at[2] = {0};
    for (int i = 0; i < 2 * POINTS * dim; i++) { /* both sides */
        const int side = i / (POINTS * dim), q = i / dim % POINTS, t = i % dim;
        const double *c = box->coordinates[t], s = fmod(0.37 + (t + 1) * 0.618034 * q, 1.0);
        x[side][q * dim + t] = t == d ? c[side ? box->cells[t] : 0] : c[0] + s * (c[box->cells[t]] - c[0]);
    }
    const double shift = box->coordinates[d][box->cells[d]] - box->coordinates[d][0];
    for (int side = 0; side < 2; side++)
        TRY(field_eval_jet(p->exact, 0, POINTS, dim, x[side], u[side], grad[side], NULL));
    for (int q = 0; q < POINTS; q++) {
        const double off[2] = {fabs(u[1][q] - u[0][q] - jump * shift),
                               fabs(grad[1][q * dim + d] - grad[0][q * dim + d])};
        for (int side = 0; side < 2; side++) {
            largest[0] = fmax(largest[0], fabs(u[side][q]));
            for (int t = 0; t < dim; t++) largest[1] = fmax(largest[1], fabs(grad[side][q * dim + t]));
        }
        for (int k = 0; k < 2; k++)
            if (off[k] > most[k]) most[k] = off[k], at[k] = q;
    }
    for (int i = 0; i < POINTS; i++) x[0][i * dim + d] += fmod(0.21 + 0.7548777 * i, 1.0) * shift;
    TRY(field_eval_jet(p->exact, 0, POINTS, dim, x[0], u[0], grad[0], NULL)); /* inside */
    for (int i = 0; i < POINTS * dim; i++) {
        largest[0] = fmax(largest[0], fabs(u[0][i / dim]));
        largest[1] = fmax(largest[1], fabs(grad[0][i]));
    }
    for (int k = 0; k < 1 + slopes; k++) {
        if (!(most[k] > ROUNDING * largest[k]) || found->kind != HDG_BREAK_NONE) continue;
        *found = (struct hdg_break){
            .kind = p->jump != NULL ? HDG_BREAK_JUMP : HDG_BREAK_PERIODIC, .flux = k, .difference = most[k]};
        memcpy(found->at, x[1] + at[k] * dim, (size_t)dim * sizeof *x[0]);
    }
done:
    return status;
}

facet_status problem_find_box_break(const struct problem *p, const struct problem_resolved *r,
                                    struct hdg_break *found) {
    facet_status status = FACET_OK;
    double jump[9] = {0.0}, K;
    *found = (struct hdg_break){0};
    if (!mesh_is_box(p->mesh) || !field_is_differentiable(p->exact)) return FACET_OK;
    if (p->jump != NULL) field_is_constant(p->jump, jump);
    const struct field *conductivity = r->conductivity != NULL ? r->conductivity[0] : NULL;
    const int slopes = r->n_regions == 1 && conductivity != NULL && field_n_components(conductivity) == 1 &&
                       field_is_constant(conductivity, &K);
    for (int d = 0; d < p->mesh->dim; d++)
        if (p->mesh->box.periodic[d]) TRY(compare_sides(p, d, jump[d], slopes, found));
done:
    return status;
}

void problem_break_text(const struct problem *p, const struct hdg_break *b, char *text, size_t bytes) {
    const int vector = physics_components(p->physics, p->mesh->dim) > 1;
    const char *what = !b->flux ? "u" : vector ? "its traction" : "its flux";
    char at[96], z[32] = "", where[200];
    text[0] = '\0';
    if (b->kind == HDG_BREAK_NONE) return;
    if (p->mesh->dim == 3) snprintf(z, sizeof z, ", %.6g", b->at[2]);
    snprintf(at, sizeof at, "(%.6g, %.6g%s)", b->at[0], b->at[1], z);
    if (b->kind == HDG_BREAK_CONTACT)
        snprintf(where, sizeof where, "%s is not that of the interface between '%s' and '%s', by", what,
                 b->between[0], b->between[1]);
    else
        snprintf(where, sizeof where, "%s %s", what,
                 b->kind == HDG_BREAK_PERIODIC ? "does not repeat across joined sides, and differs by"
                 : b->kind == HDG_BREAK_JUMP   ? "across joined sides is not what jump says, by"
                                               : "jumps between groups of cells with different data, by");
    snprintf(text, bytes,
             "the exact solution is none of this problem: %s %.2g at %s, so that the errors cannot vanish",
             where, b->difference, at);
}
