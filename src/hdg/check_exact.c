/* Whether the exact solution is one of the problem inside of the mesh: through a face its flux must not jump,
 * and u must be continuous, or jump as a contact or joined sides have it. What boundary data say about it is
 * compared in check_data.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"

/* Points of a face that are looked at; differences up to these parts of what is compared are rounding, and,
 * where groups of cells meet at a surface that the mesh only approximates, the geometry. */
#define POINTS     2
#define ROUNDING   1e-6
#define GEOMETRY   0.05
#define NEGLIGIBLE 1e-10 /* of the largest u, or flux, of the body */
#define WIDTH      (2 * POINTS * 6)

/* The exact solution as one side of a face sees it, in the components of the unknowns. */
struct view {
    double x[POINTS][3], u[POINTS][3], flux[POINTS][3], conductance[POINTS];
};
struct watcher {
    const struct hdg *h;
    struct local l;
    struct mesh_joined *joined;
    struct mesh_seam_joint *seams;
    int32_t n_joined, n_seams;
    double jump[9], largest[2]; /* u, and flux, of the whole body; 0 until that is needed */
    struct hdg_break worst;
};

/* A side becomes the one at hand. */
static facet_status look(struct watcher *w, int32_t face, int side, struct view *v) {
    facet_status status = FACET_OK;
    const struct hdg *h = w->h;
    const struct facet_mesh *mesh = h->data.mesh;
    struct local *l = &w->l;
    const int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const int local = mesh->face_locals[2 * (int64_t)face + side], dim = mesh->dim;
    const int nc = h->trace.n_components, vector = h->elastic != NULL;
    struct hdg_condition natural = {.kind = vector ? HDG_MECHANICAL : HDG_NEUMANN, .part = "exact"};
    double u[3 * POINTS], flux[3 * POINTS], x[3 * POINTS], normal[3 * POINTS], inside[3 * POINTS];
    l->block = (int)(block - mesh->blocks);
    l->cell = cell - block->first;
    l->volume = 0.0;
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, local);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    for (int p = 0; p < POINTS; p++) {
        const int q = p * (table->rule.n / 2);
        memcpy(x + p * dim, l->x + q * dim, (size_t)dim * sizeof *x);
        memcpy(normal + p * dim, l->normal + q * dim, (size_t)dim * sizeof *normal);
        field_point_inside(dim, x + p * dim, normal + p * dim, 0.0, inside + p * dim);
        v->conductance[p] = 0.0;
    }
    TRY(field_eval(h->data.exact, POINTS, dim, inside, u));
    TRY(local_condition_values(l, &natural, POINTS, inside, normal, flux));
    if (h->data.face_contact != NULL && h->data.face_contact[face] >= 0)
        TRY(field_eval(h->data.contacts[h->data.face_contact[face]].conductance, POINTS, dim, x,
                       v->conductance));
    local_turn_values(l, local, 1, POINTS, u);
    local_turn_values(l, local, 1, POINTS, flux);
    for (int p = 0; p < POINTS; p++) {
        memcpy(v->x[p], x + p * dim, (size_t)dim * sizeof *x);
        memcpy(v->u[p], u + p * nc, (size_t)nc * sizeof *u);
        memcpy(v->flux[p], flux + p * nc, (size_t)nc * sizeof *flux);
    }
done:
    return status;
}

static int compare_faces(const void *face, const void *joint) {
    const int32_t a = *(const int32_t *)face, b = *(const int32_t *)joint;
    return (a > b) - (a < b);
}

/* The shift from the first side of a joined face to the second; NULL: the face lies in one place. Both kinds
 * of joints begin with their face. */
static const double *shift_of(const struct watcher *w, int32_t face) {
    const struct mesh_joined *here =
        w->n_joined > 0 ? bsearch(&face, w->joined, (size_t)w->n_joined, sizeof *w->joined, compare_faces)
                        : NULL;
    if (here != NULL) return here->s;
    const struct mesh_seam_joint *there =
        w->n_seams > 0 ? bsearch(&face, w->seams, (size_t)w->n_seams, sizeof *w->seams, compare_faces) : NULL;
    return there != NULL ? there->s : NULL;
}

/* Keeps a difference that is more than rounding of numbers so large, and than the others: those of u come
 * first. */
static void judge(struct watcher *w, struct hdg_break found, double size, double allowed) {
    if (!(found.difference > allowed * size) ||
        !(found.difference > NEGLIGIBLE * w->largest[found.flux] && found.difference > 0.0))
        return;
    if (w->worst.kind != HDG_BREAK_NONE && found.flux != w->worst.flux
            ? found.flux
            : found.difference <= w->worst.difference)
        return;
    w->worst = found;
}

static void compare(struct watcher *w, int32_t face, const struct view *a, const struct view *b) {
    const struct hdg *h = w->h;
    const int dim = h->data.mesh->dim, nc = h->trace.n_components;
    const int contact = h->data.face_contact != NULL ? h->data.face_contact[face] : -1;
    const double *shift = shift_of(w, face);
    for (int i = 0; i < POINTS * nc; i++) {
        const int p = i / nc, c = i % nc;
        const double u = a->u[p][c] - b->u[p][c], f = a->flux[p][c], g = b->flux[p][c];
        const double sizes[2] = {fmax(fabs(a->u[p][c]), fabs(b->u[p][c])), fmax(fabs(f), fabs(g))};
        struct hdg_break found = {.kind = contact >= 0           ? HDG_BREAK_CONTACT
                                          : shift == NULL        ? HDG_BREAK_GROUPS
                                          : h->data.jump != NULL ? HDG_BREAK_JUMP
                                                                 : HDG_BREAK_PERIODIC};
        memcpy(found.at, a->x[p], sizeof found.at);
        if (contact >= 0)
            for (int k = 0; k < 2; k++) found.between[k] = h->data.contacts[contact].between[k];
        found.flux = 1;
        found.difference = fabs(f + g);
        judge(w, found, sizes[1], found.kind == HDG_BREAK_GROUPS ? GEOMETRY : ROUNDING);
        if (contact >= 0) { /* K grad u . n of the first side is what comes from the second */
            const double through = a->conductance[p] * u;
            found.difference = fabs(f + through);
            judge(w, found, fmax(sizes[1], fabs(through)), ROUNDING);
            continue;
        }
        double wanted = 0.0;
        for (int d = 0; shift != NULL && d < dim; d++) wanted -= w->jump[c * dim + d] * shift[d];
        found.flux = 0;
        found.difference = fabs(u - wanted);
        judge(w, found, fmax(sizes[0], fabs(wanted)), ROUNDING);
    }
}

/* Whether u or the flux may jump there; of the groups at a seam nobody knows. */
static int is_watched(const struct watcher *w, int32_t face) {
    const struct hdg_data *data = &w->h->data;
    const int32_t *cells = data->mesh->face_cells + 2 * (int64_t)face;
    if (cells[1] == MESH_BOUNDARY) return 0;
    if ((data->face_contact != NULL && data->face_contact[face] >= 0) || shift_of(w, face) != NULL) return 1;
    if (data->n_regions < 2 || data->cell_region == NULL) return 0;
    return cells[1] < 0 || data->cell_region[cells[0]] != data->cell_region[cells[1]];
}

/* ------------------------------------------------------------------------------------------ seams */

static void pack(const struct view *v, int64_t *to) {
    for (int i = 0; i < POINTS * 3; i++) {
        to[2 * i] = mesh_ordered(v->u[i / 3][i % 3]);
        to[2 * i + 1] = mesh_ordered(v->flux[i / 3][i % 3]);
    }
}

static void unpack(const int64_t *from, struct view *v) {
    for (int i = 0; i < POINTS * 3; i++) {
        v->u[i / 3][i % 3] = mesh_number_of(from[2 * i]);
        v->flux[i / 3][i % 3] = mesh_number_of(from[2 * i + 1]);
    }
}

/* Faces whose second side another part has: each compares with its own points. */
static facet_status compare_seams(struct watcher *w) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = w->h->data.mesh;
    uint8_t *second = NULL;
    int64_t *views = NULL;
    if (mesh->part == NULL) return FACET_OK;
    TRY(ALLOC(second, mesh->n_faces));
    TRY(ALLOC(views, 2 * WIDTH * (int64_t)mesh->n_faces));
    TRY(mesh_find_second_sides(mesh, second));
    for (int64_t i = 0; i < 2 * WIDTH * (int64_t)mesh->n_faces; i++) views[i] = INT64_MIN;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            struct view own = {0}, other = {0};
            if (mesh->face_cells[2 * (int64_t)f + 1] != MESH_SEAM || !is_watched(w, f)) continue;
            int64_t *here = views + (2 * (int64_t)f + second[f]) * WIDTH,
                    *there = views + (2 * (int64_t)f + !second[f]) * WIDTH;
            TRY(look(w, f, 0, &own));
            if (pass == 0) {
                pack(&own, here);
                continue;
            }
            unpack(there, &other);
            memcpy(other.x, own.x, sizeof own.x);
            memcpy(other.conductance, own.conductance, sizeof own.conductance);
            compare(w, f, second[f] ? &other : &own, second[f] ? &own : &other);
        }
        if (pass == 0) TRY(mesh_merge_faces(mesh, 2 * WIDTH, views));
    }
done:
    base_free(&second);
    base_free(&views);
    return status;
}

/* The worst of all parts of the mesh. */
static facet_status join_parts(struct watcher *w) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &w->h->data;
    struct base_team *team = mesh_team(data->mesh);
    double most[2] = {0.0};
    int64_t root = team_rank(team), contact = -1;
    if (team == NULL) return FACET_OK;
    most[w->worst.flux] = w->worst.difference;
    TRY(team_reduce(team, TEAM_MAX, 2, most));
    const int flux = most[0] == 0.0;
    if (w->worst.flux != flux || w->worst.difference < most[flux]) root = INT64_MAX;
    if (most[flux] == 0.0) root = 0;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &root));
    for (int i = 0; w->worst.kind == HDG_BREAK_CONTACT && contact < 0; i++)
        if (data->contacts[i].between[0] == w->worst.between[0] &&
            data->contacts[i].between[1] == w->worst.between[1])
            contact = i;
    TRY(team_broadcast(team, (int)root, &contact, sizeof contact));
    TRY(team_broadcast(team, (int)root, &w->worst, sizeof w->worst));
    for (int k = 0; k < 2; k++)
        w->worst.between[k] = contact >= 0 ? data->contacts[contact].between[k] : NULL;
done:
    return status;
}

static facet_status compare_all(struct watcher *w) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = w->h->data.mesh;
    w->worst = (struct hdg_break){0};
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        struct view a = {0}, b = {0};
        if (mesh->face_cells[2 * (int64_t)f + 1] < 0 || !is_watched(w, f)) continue;
        TRY(look(w, f, 0, &a));
        TRY(look(w, f, 1, &b));
        compare(w, f, &a, &b);
    }
    TRY(compare_seams(w));
    TRY(join_parts(w));
done:
    return status;
}

facet_status hdg_find_break(const struct hdg *h, struct hdg_break *found) {
    facet_status status = FACET_OK;
    struct watcher w = {.h = h};
    *found = (struct hdg_break){0};
    if (h->data.exact == NULL || !field_is_differentiable(h->data.exact)) return FACET_OK;
    if (h->data.jump != NULL) field_is_constant(h->data.jump, w.jump);
    TRY(local_create(h, &w.l));
    TRY(mesh_find_joined(h->data.mesh, &w.joined, &w.n_joined));
    TRY(mesh_find_seam_joints(h->data.mesh, &w.seams, &w.n_seams));
    TRY(compare_all(&w));
    if (w.worst.kind == HDG_BREAK_NONE) goto done;
    TRY(local_exact_sizes(h, w.largest)); /* what vanishes on a face, like sin(pi x), may be rounding */
    TRY(compare_all(&w));
    *found = w.worst;
done:
    local_destroy(&w.l);
    base_free(&w.joined);
    base_free(&w.seams);
    return status;
}
