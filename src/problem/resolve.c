/* Names meet the mesh: every boundary face gets its condition (of the cells regions.c takes care), and all
 * that does not fit is reported at once. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define NAMES_BYTES 512
#define PLACE_BYTES 80

void problem_resolved_destroy(struct problem_resolved *r) {
    base_free(&r->coefficient);
    base_free(&r->conductivity);
    base_free(&r->mu);
    base_free(&r->lambda);
    base_free(&r->orthotropic);
    base_free(&r->axes);
    for (int k = 0; k < N_SHARES; k++) base_free(&r->shares[k]);
    field_destroy(&r->one);
    field_destroy(&r->zero);
    base_free(&r->cell_region);
    base_free(&r->conditions);
    base_free(&r->face_condition);
    base_free(&r->on_axis);
    base_free(&r->turns);
    base_free(&r->face_turn);
    base_free(&r->contacts);
    base_free(&r->free_pieces);
    base_free(&r->cell_free_piece);
    base_free(&r->face_contact);
    *r = (struct problem_resolved){0};
}

/* The condition of face i of a part, all of whose faces share that of the side on a box. */
static int32_t *condition_of(const struct facet_mesh *mesh, struct problem_resolved *r,
                             const struct mesh_group *part, int32_t i) {
    return mesh_is_box(mesh) ? &r->side_condition[part->side] : &r->face_condition[part->ids[i]];
}

/* The same of being on the axis of a body of revolution, of which the lists of a mesh are there. */
static int is_on_axis(const struct problem_resolved *r, const struct mesh_group *part, int32_t i) {
    return r->on_axis != NULL && r->on_axis[part->ids[i]];
}

/* Of all faces of a part: it has no condition then. Of others those that are have none. */
static int lies_on_axis(const struct problem_resolved *r, const struct mesh_group *part) {
    int32_t n = 0;
    while (n < part->count && is_on_axis(r, part, n)) n++;
    return part->count > 0 && n == part->count;
}

/* Assigns condition `index` to the faces of its part. */
static void assign_part(const struct problem *p, int index, struct problem_resolved *r, struct text *errors) {
    const struct facet_mesh *mesh = p->mesh;
    const char *part = p->conditions[index].part;
    char place[PLACE_BYTES];
    const struct mesh_group *group = mesh_find_group(mesh, part, mesh->dim - 1);
    if (group == NULL) {
        char names[NAMES_BYTES], hint[MESH_HINT_BYTES];
        mesh_group_names(mesh, mesh->dim - 1, names, sizeof names);
        PROBLEM_ERROR(errors, "boundary: %s '%s'; the boundary parts of the mesh are: %s%s",
                      mesh_find_group(mesh, part, mesh->dim) != NULL
                          ? "there is a group of cells, but no boundary part,"
                          : "there is no part",
                      part, names, mesh_group_hint(mesh, mesh->dim - 1, part, "rest", hint));
        return;
    }
    if (lies_on_axis(r, group))
        PROBLEM_ERROR(
            errors,
            "boundary: '%s' lies on the axis x = 0, where a body of revolution takes no condition; leave "
            "it out",
            part);
    for (int32_t k = 0; k < (mesh_is_box(mesh) ? 1 : group->count); k++) {
        struct mesh_group_face face = mesh_group_face(mesh, group, k);
        int32_t *condition = condition_of(mesh, r, group, k);
        if (is_on_axis(r, group, k)) continue;
        if (!face.is_inner && *condition < 0) {
            *condition = index;
            continue;
        }
        mesh_middle_text(mesh, face.cell, face.local, place, sizeof place);
        if (face.is_inner && problem_is_joined(mesh, group, k))
            PROBLEM_ERROR(errors,
                          "boundary: '%s' is joined to the side that it repeats, and carries no condition; "
                          "mesh.periodic: false leaves them apart",
                          part);
        else if (face.is_inner)
            PROBLEM_ERROR(
                errors,
                "boundary: '%s' has faces inside the domain, one at %s; conditions belong to the boundary",
                part, place);
        else
            PROBLEM_ERROR(errors, "boundary: the face at %s lies in both '%s' and '%s'", place,
                          p->conditions[*condition].part, part);
        return;
    }
}

/* Whether a part has faces here without a condition. */
static int lacks_condition(const struct facet_mesh *mesh, struct problem_resolved *r,
                           const struct mesh_group *group) {
    if (group->dim != mesh->dim - 1 || group->count == 0) return 0;
    if (mesh_group_face(mesh, group, 0).is_inner || *condition_of(mesh, r, group, 0) >= 0) return 0;
    return !lies_on_axis(r, group);
}

/* Says which parts have no condition; n: how many faces, of all processes. */
static facet_status report_unnamed(const struct problem *p, struct problem_resolved *r, int64_t n,
                                   struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    char names[NAMES_BYTES] = "";
    int64_t *lacking = NULL;
    TRY(ALLOC(lacking, mesh->n_groups));
    for (int g = 0; g < mesh->n_groups; g++) lacking[g] = lacks_condition(mesh, r, &mesh->groups[g]);
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, mesh->n_groups, lacking));
    for (int g = 0; g < mesh->n_groups; g++) {
        size_t length = strlen(names);
        if (lacking[g])
            snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "",
                     mesh->groups[g].name);
    }
    PROBLEM_ERROR(
        errors,
        "boundary: %lld of %lld boundary faces have no condition (%s%s); name them, or add {on: rest, ...} "
        "for all others",
        (long long)n, (long long)mesh_count(mesh).boundary_faces,
        names[0] != '\0' ? "parts: " : "they belong to no part", names);
done:
    base_free(&lacking);
    return status;
}

/* Loads and springs on components that are held would do nothing. held: how many are. */
static void check_loads(const struct problem *p, const struct problem_condition *c, int held,
                        struct text *errors) {
    const char *what = c->pressure != NULL ? "pressure"
                       : c->force != NULL  ? "force"
                       : c->spring != NULL ? "spring"
                                           : NULL;
    double force[3];
    if (what != NULL && held == p->mesh->dim)
        PROBLEM_ERROR(errors,
                      "boundary: the %s on '%s' does nothing: all components of its displacement are given",
                      what, c->part);
    if (c->force == NULL || held == p->mesh->dim || !field_is_constant(c->force, force)) return;
    for (int i = 0; i < p->mesh->dim; i++)
        if (c->gives_g[i] && force[i] != 0.0)
            PROBLEM_ERROR(
                errors,
                "boundary: the component %c of the force on '%s' does nothing: the displacement is given; "
                "make it 0",
                "xyz"[i], c -> part);
}

/* One condition as the discretization wants it. */
static void convert_condition(const struct problem *p, const struct problem_condition *c,
                              struct problem_resolved *r, struct hdg_condition *out, struct text *errors) {
    int mechanical = c->kind == HDG_MECHANICAL, moves = 0, pushes = 0, held = 0;
    *out = (struct hdg_condition){.kind = c->kind, .g = c->g, .a = c->a, .part = c->part};
    for (int i = 0; mechanical && i < p->mesh->dim; i++) {
        if (c->gives_g[i] && c->gives_t[i])
            PROBLEM_ERROR(errors,
                          "boundary: the component %c on '%s' is given by both displacement and traction",
                          "xyz"[i], c -> part);
        out->fixed[i] = c->gives_g[i];
        out->slack[i] = !c->gives_g[i] && !c->gives_t[i];
        moves |= c->gives_g[i];
        held += c->gives_g[i];
        pushes |= c->gives_t[i];
    }
    if (mechanical) { /* what is not given at all is not asked of the exact solution */
        out->g = moves ? c->g : r->zero;
        out->t = pushes ? c->t : r->zero;
        out->pressure = c->pressure;
        out->force = c->force;
        out->shared = c->shared;
        out->spring = c->spring;
        check_loads(p, c, held, errors);
    }
    if (c->electrode > 0 && p->exact != NULL)
        PROBLEM_ERROR(errors, "boundary: the total_flux on '%s' is excluded by the exact solution", c->part);
    if (c->symmetric) return;
    if (p->exact == NULL && (out->g == NULL || (mechanical && out->t == NULL)))
        PROBLEM_ERROR(errors,
                      "boundary: the condition on '%s' wants data of the exact solution, but there is none",
                      c->part);
}

static facet_status resolve_conditions(const struct problem *p, struct problem_resolved *r,
                                       struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int rest = -1, n = p->n_conditions;
    int64_t unnamed = 0;
    TRY(ALLOC(r->conditions, n + 1 + problem_n_symmetric(p)));
    for (int s = 0; s < 6; s++) r->side_condition[s] = -1;
    if (!mesh_is_box(mesh)) TRY(problem_fill(mesh->n_faces, -1, &r->face_condition));
    TRY(field_create_constants(mesh->dim, (const double[3]){0.0}, &r->zero));
    for (int i = 0; i < n; i++) {
        convert_condition(p, &p->conditions[i], r, &r->conditions[i], errors);
        if (strcmp(p->conditions[i].part, "rest") == 0)
            rest = i;
        else
            assign_part(p, i, r, errors);
    }
    r->conditions[n] = (struct hdg_condition){
        .kind = p->physics->essential, .part = "rest", .fixed = {1, 1, mesh->dim == 3}};
    if (r->conditions[n].kind == HDG_MECHANICAL) r->conditions[n].t = r->zero;
    if (rest < 0 && p->exact != NULL) rest = n;
#pragma omp parallel for num_threads(base_threads_for(mesh->n_faces)) schedule(static) reduction(+ : unnamed)
    for (int32_t f = 0; f < (r->face_condition != NULL ? mesh->n_faces : 0); f++) {
        if (!mesh_is_boundary(mesh, f) || r->face_condition[f] >= 0) continue;
        if (r->on_axis != NULL && r->on_axis[f]) continue;
        r->face_condition[f] = rest;
        unnamed += rest < 0;
    }
    for (int g = 0; mesh_is_box(mesh) && g < mesh->n_groups; g++) {
        int32_t *condition = condition_of(mesh, r, &mesh->groups[g], 0);
        if (*condition < 0 && !is_on_axis(r, &mesh->groups[g], 0))
            unnamed += rest < 0 ? mesh->groups[g].count : 0, *condition = rest;
    }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &unnamed));
    if (unnamed > 0 && errors->length == 0) TRY(report_unnamed(p, r, unnamed, errors));
done:
    return status;
}

/* A piece of the mesh that touches no other has a singular problem of its own unless something holds it. */
facet_status problem_resolve_diffusion(const struct problem *p, const struct options *options,
                                       struct problem_resolved *r, struct text *errors) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int32_t *piece = NULL, loose = -1, n_pieces;
    int64_t *held = NULL;
    (void)options;
    TRY(problem_resolve_contacts(p, r, errors));
    TRY(problem_resolve_joints(p, r, errors));
    if (mesh_is_box(mesh)) return FACET_OK; /* one piece */
    TRY(ALLOC(piece, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    TRY(mesh_number_pieces(mesh, piece, &n_pieces));
    TRY(CALLOC(held, n_pieces));
#pragma omp parallel for num_threads(base_threads_for(mesh->n_faces)) schedule(static)
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = r->face_condition[f];
        if (c < 0 || r->conditions[c].kind == HDG_NEUMANN) continue;
#pragma omp atomic write
        held[piece[mesh->face_cells[2 * (int64_t)f]]] = 1;
    }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, n_pieces, held));
    for (int32_t i = 0; i < n_pieces; i++)
        if (!held[i]) loose = i;
    int holds = 0; /* a reaction is trusted to hold every piece here; hdg/weak_constants.c looks closer */
    for (int i = 0; r->data.reaction != NULL && i < r->n_regions; i++) {
        double reaction = 0.0;
        const struct field *field = r->data.reaction[i];
        holds |= field != NULL && (!field_is_constant(field, &reaction) || reaction != 0.0);
    }
    if (n_pieces > 1 && loose >= 0 && !holds) {
        char place[MESH_PLACE_BYTES];
        TRY(mesh_piece_text(mesh, piece, loose, place));
        PROBLEM_ERROR(
            errors,
            "the mesh falls into %d unconnected pieces, and the one with the cell at %s has no Dirichlet "
            "or Robin "
            "part: its solution is not determined",
            n_pieces, place);
    }
done:
    base_free(&piece);
    base_free(&held);
    return status;
}

/* What the formulation allows. The interface condition of the gradient formulation is that of one mu. */
static void check_formulation(const struct problem *p, const struct options *o, const struct hdg_data *data,
                              struct text *errors) {
    double first = 0.0, mu;
    int several = 0;
    if (p->mesh->dim == 3 && o->has_plane && o->plane != PLANE_AXISYMMETRIC)
        problem_add_error(errors, "plane: belongs to 2D, but the mesh has 3 dimensions");
    for (int i = 0; i < p->n_conditions; i++)
        if (p->conditions[i].spring != NULL && !(data->equation->conditions & HDG_BIT(HDG_SPRING)))
            PROBLEM_ERROR(errors, "boundary: the spring on '%s' belongs to the formulation symmetric",
                          p->conditions[i].part);
    for (int i = 0; i < p->n_conditions; i++)
        if (!(data->equation->conditions & HDG_BIT(p->conditions[i].kind)))
            PROBLEM_ERROR(errors,
                          "boundary: gradient_pressure on '%s' belongs to the formulation gradient; for "
                          "symmetric give the traction",
                          p->conditions[i].part);
    for (int i = 0; data->equation->one_mu && i < data->n_regions; i++) {
        several |= !field_is_constant(data->mu[i], &mu) || (i > 0 && mu != first);
        if (i == 0) first = mu;
    }
    for (int i = 0; i < data->n_regions; i++) {
        const struct field *constants = data->orthotropic[i];
        if (constants == NULL) continue;
        if (data->equation->one_mu)
            problem_add_error(errors, "material: an orthotropic one needs the formulation symmetric");
        else if (data->expansion != NULL && data->expansion[i] != NULL)
            problem_add_error(errors,
                              "thermal: the expansion of an orthotropic material is not known; give its "
                              "groups none");
        else if (field_n_components(constants) == 4 && data->plane != HDG_PLANE_STRESS)
            problem_add_error(errors,
                              "material: the four constants E1, E2, nu12 and G12 are enough in plane: "
                              "stress alone; give nine");
        else
            continue;
        return;
    }
    if (several)
        problem_add_error(errors,
                          "material: the formulation gradient needs one mu, the same number in the whole "
                          "body; for several use the formulation symmetric");
}

/* All that is elastic about the data, once the names are right. */
facet_status problem_resolve_elastic(const struct problem *p, const struct options *options,
                                     struct problem_resolved *r, struct text *errors) {
    facet_status status = FACET_OK;
    r->data.mu = r->mu;
    r->data.lambda = r->lambda;
    r->data.orthotropic = r->orthotropic;
    r->data.axes = r->axes;
    r->data.temperature = p->temperature;
    r->data.reference = p->reference;
    r->data.located = p->carried != NULL;
    if (p->temperature != NULL) r->data.expansion = r->shares[SHARE_EXPANSION];
    if (p->temperature == NULL && r->shares[SHARE_EXPANSION] != NULL)
        problem_add_error(errors, "thermal: there is an expansion, but no temperature");
    if (p->temperature != NULL && r->shares[SHARE_EXPANSION] == NULL)
        problem_add_error(errors, "thermal: there is a temperature, but no expansion");
    TRY(problem_resolve_lists(p, r));
    TRY(problem_resolve_joints(p, r, errors));
    TRY(problem_resolve_symmetry(p, r, errors));
    TRY(problem_resolve_turns(p, r));
    TRY(problem_check_moduli(p, r, errors));
    TRY(problem_check_rigid(p, r, errors));
    if (options == NULL) goto done;
    if (options->plane == PLANE_STRESS) r->data.plane = HDG_PLANE_STRESS;
    check_formulation(p, options, &r->data, errors);
done:
    return status;
}

facet_status problem_resolve_lists(const struct problem *p, struct problem_resolved *r) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    if (!mesh_is_box(mesh) || r->face_condition != NULL) goto done;
    TRY(mesh_need_lists(mesh));
    if (r->cell_region == NULL) TRY(problem_fill(mesh->n_cells, r->region, &r->cell_region));
    TRY(problem_fill(mesh->n_faces, -1, &r->face_condition));
    for (int g = 0; g < mesh->n_groups; g++)
        for (int32_t i = 0; i < mesh->groups[g].count; i++)
            r->face_condition[mesh->groups[g].ids[i]] = *condition_of(mesh, r, &mesh->groups[g], i);
    r->data.cell_region = r->cell_region;
    r->data.face_condition = r->face_condition;
done:
    return status;
}

facet_status problem_resolve(const struct problem *p, const struct options *options,
                             struct problem_resolved *r) {
    facet_status status = FACET_OK;
    struct text errors = {0};
    *r = (struct problem_resolved){0};
    int revolved = options != NULL && options->plane == PLANE_AXISYMMETRIC;
    if (revolved) TRY(problem_resolve_axis(p, r, &errors));
    if (p->carried != NULL && options != NULL && problem_field_data_is_revolved(p->carried) != revolved)
        problem_add_error(
            &errors, "thermal.temperature: of this case and the one that it takes its temperature from one "
                     "is axisymmetric and the other is not; give both the same plane");
    TRY(problem_resolve_regions(p, r, &errors));
    TRY(resolve_conditions(p, r, &errors));
    r->data = (struct hdg_data){.mesh = p->mesh,
                                .equation = physics_entry(p->physics, options),
                                .n_regions = r->n_regions,
                                .conductivity = r->conductivity,
                                .cell_region = r->cell_region,
                                .reaction = r->shares[SHARE_REACTION],
                                .source = r->shares[SHARE_SOURCE],
                                .exact = p->exact,
                                .plane = revolved ? HDG_AXISYMMETRIC : HDG_PLANE_STRAIN,
                                .conditions = r->conditions,
                                .face_condition = r->face_condition};
    if (errors.length == 0) TRY(p->physics->resolve(p, options, r, &errors));
    TRY(errors.status);
    if (errors.length > 0) TRY(base_fail_lines(FACET_ERROR_INPUT, errors.data));
done:
    text_free(&errors);
    if (status != FACET_OK) problem_resolved_destroy(r);
    return status;
}
