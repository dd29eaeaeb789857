/* Groups of cells meet the mesh: every cell gets its conductivity or material, and its share of sources and
 * whatever else is given by group. Cells whose data are the same in all of these are a region; all that does
 * not fit is reported at once. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "problem/problem.h"

#define NAMES_BYTES 512
#define PLACE_BYTES 80

void problem_add_error(struct text *errors, const char *line) {
    text_printf(errors, "%s%s", errors->length > 0 ? "\n" : "", line);
}

facet_status problem_fill(int32_t n, int32_t value, int32_t **array) {
    facet_status status = ALLOC(*array, n);
    for (int32_t i = 0; status == FACET_OK && i < n; i++) (*array)[i] = value;
    return status;
}

const char *const problem_share_names[N_SHARES] = {
    [SHARE_SOURCE] = "source", [SHARE_REACTION] = "reaction", [SHARE_EXPANSION] = "thermal.expansion"};

static struct field *whole_of(const struct problem *p, int kind) {
    struct field *const whole[N_SHARES] = {
        [SHARE_SOURCE] = p->source, [SHARE_REACTION] = p->reaction, [SHARE_EXPANSION] = p->expansion};
    return whole[kind];
}

/* ------------------------------------------------------------------------------------------ names */

/* The name of a group whose cells have no region, "" when they belong to none. */
static const char *find_bare_group(const struct facet_mesh *mesh, const int32_t *cell_region) {
    for (int g = 0; g < mesh->n_groups; g++)
        if (mesh->groups[g].dim == mesh->dim && mesh->groups[g].count > 0 &&
            cell_region[mesh->groups[g].ids[0]] < 0)
            return mesh->groups[g].name;
    return "";
}

/* The cells of a group get a number in `cells` (n_cells; -1: none yet); names: of the groups by number. */
static void assign_group(const struct facet_mesh *mesh, const char *what, const char *name, int32_t number,
                         const char *const *names, int32_t *cells, struct text *errors) {
    const struct mesh_group *group = mesh_find_group(mesh, name, mesh->dim);
    if (group == NULL) {
        char all[NAMES_BYTES], hint[MESH_HINT_BYTES];
        mesh_group_names(mesh, mesh->dim, all, sizeof all);
        PROBLEM_ERROR(errors, "%s: there is no group of cells '%s' in the mesh; groups: %s%s", what, name,
                      all, mesh_group_hint(mesh, mesh->dim, name, NULL, hint));
        return;
    }
    for (int32_t k = 0; k < group->count; k++) {
        int32_t *of = &cells[group->ids[k]];
        if (*of >= 0 && *of != number) {
            char place[PLACE_BYTES];
            PROBLEM_ERROR(errors, "%s: the cell at %s lies in both '%s' and '%s'", what,
                          mesh_middle_text(mesh, group->ids[k], -1, place, sizeof place), names[*of], name);
            return;
        }
        *of = number;
    }
}

/* The names of all groups of regions, or of the shares of a kind, by number. */
static facet_status list_groups(const struct problem *p, int kind, const char ***names) {
    facet_status status = FACET_OK;
    int n = kind == N_SHARES ? p->n_regions : p->n_shares;
    TRY(CALLOC(*names, n + 1));
    for (int i = 0; i < n; i++)
        if (kind == N_SHARES || (int)p->shares[i].kind == kind)
            (*names)[i] = kind == N_SHARES ? p->regions[i].group : p->shares[i].group;
done:
    return status;
}

/* The region (kind N_SHARES) or the share of this kind of every cell; -1: that of all cells not named. */
static facet_status assign_cells(const struct problem *p, int kind, int32_t *cells, struct text *errors) {
    facet_status status = FACET_OK;
    const char **names = NULL, *what = kind == N_SHARES ? p->physics->coefficient : problem_share_names[kind];
    int n = kind == N_SHARES ? p->n_regions : p->n_shares;
    TRY(list_groups(p, kind, &names));
    for (int i = 0; i < n; i++)
        if (names[i] != NULL) assign_group(p->mesh, what, names[i], i, names, cells, errors);
done:
    base_free(&names);
    return status;
}

/* Cells not named get the entry without a group, if there is one. */
static void assign_rest(const struct problem *p, struct problem_resolved *r, struct text *errors) {
    const struct facet_mesh *mesh = p->mesh;
    const char *what = p->physics->coefficient;
    int general = p->n_regions == 0 && !p->physics->needs_coefficient ? 0 : -1;
    int64_t missing = 0;
    for (int i = 0; i < p->n_regions; i++)
        if (p->regions[i].group == NULL) general = i;
    for (int32_t c = 0; r->cell_region != NULL && c < mesh->n_cells; c++) {
        if (r->cell_region[c] < 0) r->cell_region[c] = general;
        if (r->cell_region[c] < 0) missing++;
    }
    r->region = general; /* a box has no groups of cells */
    if (mesh_is_box(mesh) && general < 0) missing = mesh->n_cells;
    if (missing > 0 && errors->length == 0) {
        char names[NAMES_BYTES];
        const char *bare = find_bare_group(mesh, r->cell_region);
        mesh_group_names(mesh, mesh->dim, names, sizeof names);
        PROBLEM_ERROR(errors, "%s: %lld of %d cells have none%s%s%s; the groups of the mesh are: %s", what,
                      (long long)missing, mesh->n_cells, *bare ? ", among them the group '" : "", bare,
                      *bare ? "'" : "", names);
    }
}

/* ------------------------------------------------------------------------------------------ regions */

/* What the cells of a region have: a share of each kind (-1: that of all), and last the coefficient. */
struct tuple {
    int32_t of[N_SHARES + 1];
};

/* Numbers the different tuples of the cells: shares[k] (n_cells, or NULL), and r->cell_region, which becomes
 * the number of the cell's tuple. */
static facet_status number_tuples(const struct facet_mesh *mesh, int32_t *const shares[N_SHARES],
                                  struct problem_resolved *r, struct tuple **tuples) {
    facet_status status = FACET_OK;
    int last = 0;
    r->n_regions = 0;
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        struct tuple mine;
        for (int k = 0; k < N_SHARES; k++) mine.of[k] = shares[k] != NULL ? shares[k][c] : -1;
        mine.of[N_SHARES] = r->cell_region[c];
        if (last >= r->n_regions || memcmp(&(*tuples)[last], &mine, sizeof mine) != 0)
            for (last = 0; last < r->n_regions; last++)
                if (memcmp(&(*tuples)[last], &mine, sizeof mine) == 0) break;
        if (last == r->n_regions) {
            TRY(base_realloc(tuples, (size_t)r->n_regions + 1, sizeof **tuples));
            (*tuples)[r->n_regions++] = mine;
        }
        r->cell_region[c] = last;
    }
done:
    return status;
}

/* Without shares the regions are those of the coefficient, whether cells have them or not. */
static facet_status make_tuples(const struct problem *p, struct problem_resolved *r, struct text *errors,
                                struct tuple **tuples) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = p->mesh;
    int32_t *shares[N_SHARES] = {NULL};
    for (int i = 0; i < p->n_shares; i++) {
        int kind = (int)p->shares[i].kind;
        if (shares[kind] != NULL) continue;
        TRY(problem_fill(mesh->n_cells, -1, &shares[kind]));
        TRY(assign_cells(p, kind, shares[kind], errors));
    }
    if (p->n_shares > 0 && errors->length == 0) {
        TRY(number_tuples(mesh, shares, r, tuples));
        goto done;
    }
    r->n_regions = p->n_regions > 0 ? p->n_regions : 1;
    TRY(ALLOC(*tuples, r->n_regions));
    for (int i = 0; i < r->n_regions; i++) {
        for (int k = 0; k < N_SHARES; k++) (*tuples)[i].of[k] = -1;
        (*tuples)[i].of[N_SHARES] = i;
    }
done:
    for (int k = 0; k < N_SHARES; k++) base_free(&shares[k]);
    return status;
}

/* The fields of the regions; the coefficient is 1 where the equation does not insist on an entry, and there
 * is none at all. */
static facet_status collect_fields(const struct problem *p, const struct tuple *tuples,
                                   struct problem_resolved *r) {
    facet_status status = FACET_OK;
    TRY(CALLOC(r->coefficient, r->n_regions));
    TRY(CALLOC(r->conductivity, r->n_regions));
    TRY(CALLOC(r->mu, r->n_regions));
    TRY(CALLOC(r->lambda, r->n_regions));
    TRY(CALLOC(r->orthotropic, r->n_regions));
    TRY(CALLOC(r->axes, r->n_regions));
    if (p->n_regions == 0) TRY(field_create_constants(1, (const double[]){1.0}, &r->one));
    for (int i = 0; i < r->n_regions; i++) {
        int32_t from = r->coefficient[i] = tuples[i].of[N_SHARES];
        r->conductivity[i] = from < p->n_regions && from >= 0 ? p->regions[from].conductivity : r->one;
        r->mu[i] = from < p->n_regions && from >= 0 ? p->regions[from].mu : NULL;
        r->lambda[i] = from < p->n_regions && from >= 0 ? p->regions[from].lambda : NULL;
        r->orthotropic[i] = from < p->n_regions && from >= 0 ? p->regions[from].orthotropic : NULL;
        r->axes[i] = from < p->n_regions && from >= 0 ? p->regions[from].axes : NULL;
    }
    for (int k = 0; k < N_SHARES; k++) {
        int any = whole_of(p, k) != NULL;
        for (int i = 0; i < p->n_shares; i++) any |= (int)p->shares[i].kind == k;
        if (!any) continue;
        TRY(CALLOC(r->shares[k], r->n_regions));
        for (int i = 0; i < r->n_regions; i++)
            r->shares[k][i] = tuples[i].of[k] >= 0 ? p->shares[tuples[i].of[k]].field : whole_of(p, k);
    }
done:
    return status;
}

/* What an exact solution allows. */
static void check_exact(const struct problem *p, const struct problem_resolved *r, struct text *errors) {
    int functions = 0;
    if (p->exact == NULL) return;
    if (r->shares[SHARE_SOURCE] != NULL)
        problem_add_error(errors, "source: excluded by the exact solution, which determines it");
    for (int i = 0; r->shares[SHARE_REACTION] != NULL && i < r->n_regions; i++)
        functions |=
            r->shares[SHARE_REACTION][i] != NULL && !field_is_differentiable(r->shares[SHARE_REACTION][i]);
    if (functions)
        problem_add_error(
            errors,
            "with an exact solution the reaction must be given by an expression, not by a C function");
    functions = p->temperature != NULL && !field_is_differentiable(p->temperature);
    for (int i = 0; r->shares[SHARE_EXPANSION] != NULL && i < r->n_regions; i++)
        functions |=
            r->shares[SHARE_EXPANSION][i] != NULL && !field_is_differentiable(r->shares[SHARE_EXPANSION][i]);
    if (functions)
        problem_add_error(
            errors, "with an exact solution thermal data must be given by expressions, not by a C function");
    for (int i = 0; i < p->n_regions; i++) {
        const struct problem_region *region = &p->regions[i];
        if (!field_is_differentiable(region->conductivity != NULL ? region->conductivity : region->mu))
            PROBLEM_ERROR(errors,
                          "with an exact solution the %s must be given by expressions, not by a C function",
                          p->physics->coefficient);
    }
}

facet_status problem_resolve_regions(const struct problem *p, struct problem_resolved *r,
                                     struct text *errors) {
    facet_status status = FACET_OK;
    struct tuple *tuples = NULL;
    if (!mesh_is_box(p->mesh)) TRY(problem_fill(p->mesh->n_cells, -1, &r->cell_region));
    TRY(assign_cells(p, N_SHARES, r->cell_region, errors));
    assign_rest(p, r, errors);
    TRY(make_tuples(p, r, errors, &tuples));
    TRY(collect_fields(p, tuples, r));
    check_exact(p, r, errors);
done:
    base_free(&tuples);
    return status;
}
