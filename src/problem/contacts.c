/* Contacts that resist: between which groups of cells, and the faces where these meet. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define NAMES_BYTES 512
#define PLACE_BYTES 80

static void contact_clear(struct problem_contact *c) {
    for (int i = 0; i < 2; i++) base_free(&c->between[i]);
    field_destroy(&c->conductance);
}

void problem_clear_contacts(struct problem *p) {
    for (int i = 0; i < p->n_contacts; i++) contact_clear(&p->contacts[i]);
    base_free(&p->contacts);
    p->n_contacts = 0;
}

/* Takes the field over, also on failure. */
static facet_status add_contact(struct problem *p, const char *const between[2], struct field *conductance) {
    facet_status status = FACET_OK;
    struct problem_contact c = {.conductance = conductance};
    for (int i = 0; i < 2; i++) TRY(base_strdup(between[i], &c.between[i]));
    TRY(base_realloc(&p->contacts, (size_t)p->n_contacts + 1, sizeof *p->contacts));
    p->contacts[p->n_contacts++] = c;
    c = (struct problem_contact){0};
done:
    contact_clear(&c);
    return status;
}

facet_status problem_copy_contacts(const struct problem *from, struct problem *copy) {
    facet_status status = FACET_OK;
    for (int i = 0; i < from->n_contacts; i++)
        TRY(add_contact(copy, (const char *const *)from->contacts[i].between, NULL));
done:
    return status;
}

facet_status facet_problem_set_interface(facet_problem *problem, const char *one, const char *other,
                                         const char *conductance) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    double value;
    REQUIRE(problem, one, other, conductance);
    const char *const between[2] = {one, other};
    TRY(problem_may_set(problem, FACET_DIFFUSION, "interfaces"));
    TRY(base_wrap(problem_compile(&problem->data, 0, 1, &conductance, &field),
                  "interfaces: the conductance between '%s' and '%s'", one, other));
    if (field_is_constant(field, &value) && !(value > 0.0)) {
        field_destroy(&field);
        FAIL(FACET_ERROR_INPUT,
             "interfaces: the conductance between '%s' and '%s' must be positive, but is %g", one, other,
             value);
    }
    return add_contact(&problem->data, between, field);
done:
    return status;
}

/* Which cells are those of a group, as bits. */
static int mark_cells(const struct facet_mesh *mesh, const char *name, uint8_t bit, uint8_t *cells,
                      struct text *errors) {
    const struct mesh_group *group = mesh_find_group(mesh, name, mesh->dim);
    char names[NAMES_BYTES], hint[MESH_HINT_BYTES];
    for (int32_t i = 0; group != NULL && i < group->count; i++) cells[group->ids[i]] |= bit;
    if (group != NULL) return 1;
    mesh_group_names(mesh, mesh->dim, names, sizeof names);
    PROBLEM_ERROR(errors, "interfaces: there is no group of cells '%s' in the mesh; groups: %s%s", name,
                  names, mesh_group_hint(mesh, mesh->dim, name, NULL, hint));
    return 0;
}

/* Of every face: whether it has a cell of the one group, and of the other, in whatever part. */
static facet_status find_sides(const struct facet_mesh *mesh, const uint8_t *cells, int64_t *sides) {
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        const int32_t a = mesh->face_cells[2 * (int64_t)f], b = mesh->face_cells[2 * (int64_t)f + 1];
        const int bits = cells[a] | (b >= 0 ? cells[b] : 0);
        sides[2 * (int64_t)f] = bits & 1;
        sides[2 * (int64_t)f + 1] = bits >> 1;
    }
    return mesh_merge_faces(mesh, 2, sides);
}

/* The faces between the cells of two groups get the number of their contact; *n: how many, here. */
static void assign_faces(const struct problem *p, int number, const uint8_t *cells, const int64_t *sides,
                         int32_t *face_contact, struct text *errors, int64_t *n) {
    const struct facet_mesh *mesh = p->mesh;
    char *const *between = p->contacts[number].between, place[PLACE_BYTES];
    *n = 0;
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        if (cells[c] != 3) continue;
        PROBLEM_ERROR(errors, "interfaces: the cell at %s lies in both '%s' and '%s'",
                      mesh_middle_text(mesh, c, -1, place, sizeof place), between[0], between[1]);
        *n = 1;
        return;
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (!sides[2 * (int64_t)f] || !sides[2 * (int64_t)f + 1]) continue;
        ++*n;
        if (face_contact[f] >= 0) {
            PROBLEM_ERROR(errors, "interfaces: the face at %s between '%s' and '%s' has two conductances",
                          mesh_middle_text(mesh, mesh->face_cells[2 * (int64_t)f],
                                           mesh->face_locals[2 * (int64_t)f], place, sizeof place),
                          between[0], between[1]);
            return;
        }
        face_contact[f] = number;
    }
}

/* The faces of one contact; all parts take part. */
static facet_status resolve_contact(const struct problem *p, int number, uint8_t *cells, int64_t *sides,
                                    int32_t *face_contact, struct text *errors) {
    facet_status status = FACET_OK;
    char *const *between = p->contacts[number].between;
    int64_t n;
    memset(cells, 0, (size_t)p->mesh->n_cells);
    int found = mark_cells(p->mesh, between[0], 1, cells, errors);
    if (!mark_cells(p->mesh, between[1], 2, cells, errors) || !found) return FACET_OK;
    TRY(find_sides(p->mesh, cells, sides));
    assign_faces(p, number, cells, sides, face_contact, errors, &n);
    TRY(team_reduce_counts(mesh_team(p->mesh), TEAM_SUM, 1, &n));
    if (n == 0)
        PROBLEM_ERROR(errors,
                      "interfaces: '%s' and '%s' do not touch: no cell of one has a face in common with a "
                      "cell of the other",
                      between[0], between[1]);
done:
    return status;
}

facet_status problem_resolve_contacts(const struct problem *p, struct problem_resolved *r,
                                      struct text *errors) {
    facet_status status = FACET_OK;
    uint8_t *cells = NULL;
    int64_t *sides = NULL;
    if (p->n_contacts == 0) return FACET_OK;
    if (!(r->data.equation->conditions & HDG_BIT(HDG_CONTACT)))
        problem_add_error(errors, "interfaces: belong to discretization.method: hdg");
    TRY(ALLOC(cells, p->mesh->n_cells));
    TRY(ALLOC(sides, 2 * (int64_t)p->mesh->n_faces));
    TRY(CALLOC(r->contacts, p->n_contacts));
    TRY(problem_fill(p->mesh->n_faces, -1, &r->face_contact));
    for (int i = 0; i < p->n_contacts; i++) {
        const struct problem_contact *c = &p->contacts[i];
        r->contacts[i] = (struct hdg_contact){c->conductance, {c->between[0], c->between[1]}};
        if (strcmp(c->between[0], c->between[1]) == 0) {
            PROBLEM_ERROR(errors, "interfaces: '%s' is named twice; an interface lies between two groups",
                          c->between[0]);
            continue;
        }
        TRY(resolve_contact(p, i, cells, sides, r->face_contact, errors));
    }
    r->data.contacts = r->contacts;
    r->data.face_contact = r->face_contact;
done:
    base_free(&cells);
    base_free(&sides);
    return status;
}
