/* Joined sides: the jump of u across them, and how vectors turn where one side is the other, rotated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define PLACE_BYTES 80
/* Rotations that differ by less are one. */
#define SAME 1e-9

facet_status facet_problem_set_jump(facet_problem *problem, int n_texts, const char *const *texts) {
    facet_status status = FACET_OK;
    struct field *field = NULL;
    REQUIRE(problem, texts);
    struct problem *p = &problem->data;
    int wanted = physics_components(p->physics, p->mesh->dim) * p->mesh->dim;
    if (n_texts != wanted)
        FAIL(FACET_ERROR_INPUT, "jump: %d numbers are given, but it has %d in %d dimensions", n_texts, wanted,
             p->mesh->dim);
    for (int i = 0; i < n_texts; i++) REQUIRE(texts[i]);
    TRY(base_wrap(problem_compile(p, 0, n_texts, texts, &field), "jump"));
    if (!field_is_constant(field, NULL)) {
        field_destroy(&field);
        FAIL(FACET_ERROR_INPUT, "jump: must be numbers, which depend on no coordinate");
    }
    field_destroy(&p->jump);
    p->jump = field;
done:
    return status;
}

facet_status problem_resolve_joints(const struct problem *p, struct problem_resolved *r,
                                    struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int64_t n = 0;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seams = NULL;
    int32_t n_seams, n_joined;
    char place[PLACE_BYTES];
    if (p->jump == NULL) return FACET_OK;
    if (!(r->data.equation->conditions & HDG_BIT(HDG_JUMP)))
        problem_add_error(errors, r->data.equation->is_vector
                                      ? "jump: belongs to the formulation symmetric"
                                      : "jump: belongs to discretization.method: hdg");
    TRY(mesh_need_lists(mesh));
    TRY(mesh_find_seam_joints(mesh, &seams, &n_seams));
    TRY(mesh_find_joined(mesh, &joined, &n_joined));
    n = (int64_t)n_seams + n_joined;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &n));
    if (mesh->part != NULL && mesh->part->is_turned)
        problem_add_error(errors, "jump: belongs to sides that are joined by a translation, but some are "
                                  "joined by a rotation");
    for (int32_t i = 0; i < n_joined; i++) {
        const int64_t f = joined[i].face;
        if (joined[i].joint != MESH_TURNED) continue;
        PROBLEM_ERROR(
            errors,
            "jump: belongs to sides that are joined by a translation, but the face at %s is joined "
            "by a rotation",
            mesh_middle_text(mesh, mesh->face_cells[2 * f], mesh->face_locals[2 * f], place, sizeof place));
        goto done;
    }
    if (n == 0)
        problem_add_error(errors, "jump: the mesh has no joined sides: give box.periodic, or a file with a "
                                  "$Periodic section");
    r->data.jump = p->jump;
done:
    base_free(&joined);
    base_free(&seams);
    return status;
}

int problem_is_joined(const struct facet_mesh *mesh, const struct mesh_group *part, int32_t i) {
    double R[9], s[3];
    return !mesh_is_box(mesh) && mesh_face_joint(mesh, part->ids[i], R, s) != MESH_ONE_PLACE;
}

/* Flags of the faces that are joined here, or across a seam; NULL: there are none in any part. */
static facet_status mark_joined(const struct facet_mesh *mesh, uint8_t **flags) {
    facet_status status = FACET_OK;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seams = NULL;
    int32_t n_seams, n_joined;
    int64_t n;
    TRY(mesh_find_joined(mesh, &joined, &n_joined));
    TRY(mesh_find_seam_joints(mesh, &seams, &n_seams));
    n = (int64_t)n_seams + n_joined;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &n));
    if (n == 0) goto done;
    TRY(CALLOC(*flags, mesh->n_faces));
    for (int32_t i = 0; i < n_joined; i++) (*flags)[joined[i].face] = 1;
    for (int32_t i = 0; i < n_seams; i++) (*flags)[seams[i].face] = 1;
done:
    base_free(&joined);
    base_free(&seams);
    return status;
}

#define NAMES_BYTES 160
facet_status problem_joined_text(const struct problem *p, const struct problem_resolved *r, char *text,
                                 size_t bytes) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh, *first = mesh;
    uint8_t *flags = NULL;
    int64_t *joined = NULL;
    char names[NAMES_BYTES] = "";
    int rest = 0;
    text[0] = '\0';
    for (int i = 0; i < p->n_conditions; i++) rest |= strcmp(p->conditions[i].part, "rest") == 0;
    while (first->coarse != NULL) first = first->coarse;
    if (!rest || mesh_is_box(mesh) || first->cut.cells[0] > 0) return FACET_OK; /* boxes are asked to be */
    TRY(mark_joined(mesh, &flags));
    if (flags == NULL) goto done;
    TRY(CALLOC(joined, mesh->n_groups));
    for (int g = 0; g < mesh->n_groups; g++)
        for (int32_t i = 0; mesh->groups[g].dim < mesh->dim && i < mesh->groups[g].count; i++)
            joined[g] |= flags[mesh->groups[g].ids[i]];
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, mesh->n_groups, joined));
    for (int g = 0; g < mesh->n_groups; g++) {
        const size_t length = strlen(names);
        if (joined[g])
            snprintf(names + length, sizeof names - length, "%s'%s'", length > 0 ? ", " : " ",
                     mesh->groups[g].name);
    }
    snprintf(
        text, bytes,
        "the file joins sides that repeat each other ($Periodic):%s; they are no boundary, and 'rest' %s; "
        "mesh.periodic: false leaves them apart",
        names[0] != '\0' ? names : " they belong to no part",
        problem_has_rest(mesh, r) ? "does not hold there" : "has no face");
done:
    base_free(&flags);
    base_free(&joined);
    return status;
}

/* Of the last side of a face. */
static facet_status add_turn(const struct facet_mesh *mesh, int32_t face, const double R[9],
                             struct problem_resolved *r) {
    facet_status status = FACET_OK;
    const int size = mesh->dim * mesh->dim;
    double different = 0.0;
    if (r->face_turn == NULL) TRY(problem_fill(mesh->n_faces, -1, &r->face_turn));
    for (int i = 0; i < size && r->n_turns > 0; i++)
        different = fmax(different, fabs(R[i] - r->turns[(int64_t)(r->n_turns - 1) * size + i]));
    if (r->n_turns == 0 || different > SAME) {
        TRY(base_realloc(&r->turns, (size_t)(r->n_turns + 1) * (size_t)size, sizeof *r->turns));
        memcpy(r->turns + (int64_t)r->n_turns++ * size, R, (size_t)size * sizeof *R);
    }
    r->face_turn[face] = r->n_turns - 1;
done:
    return status;
}

facet_status problem_resolve_turns(const struct problem *p, struct problem_resolved *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    struct mesh_joined *joined = NULL;
    struct mesh_seam_joint *seams = NULL;
    int32_t n_seams, n_joined;
    TRY(mesh_find_joined(mesh, &joined, &n_joined));
    for (int32_t i = 0; i < n_joined; i++)
        if (joined[i].joint == MESH_TURNED) TRY(add_turn(mesh, joined[i].face, joined[i].R, r));
    TRY(mesh_find_seam_joints(mesh, &seams, &n_seams));
    for (int32_t i = 0; i < n_seams; i++)
        if (seams[i].second && seams[i].joint == MESH_TURNED)
            TRY(add_turn(mesh, seams[i].face, seams[i].R, r));
    if (r->n_turns > 0)
        r->data.extras =
            (struct trace_extras){.turn = r->face_turn, .n_turns = r->n_turns, .turns = r->turns};
    int64_t turned = r->n_turns > 0;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &turned));
    r->is_turned = turned > 0;
done:
    base_free(&joined);
    base_free(&seams);
    return status;
}
