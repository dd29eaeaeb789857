/* Parts of the boundary that meet and give u different values there. A solution has no value at such a corner
 * or edge: hdg, whose unknowns live on faces, lets every face have its own data; continuous elements take the
 * mean of the parts. Either way whoever reads the results should know.
 *
 * The data are compared at the vertices of the mesh where parts with different data meet; of a box at those
 * of its edges, without any list. Data that cannot be had there (a normal, a number that is not finite) are
 * left out: the solve looks at them elsewhere, and refuses what is wrong. Potentials of electrodes are data
 * like others once they are solved for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* Differences up to this part of the largest datum are rounding. */
#define ROUNDING 1e-8
#define NOTHING  INT64_MIN

struct finder {
    const struct problem *problem;
    const struct problem_resolved *resolved;
    int dim, n_components, n_conditions;
    int has_potentials;
    int *kin;       /* of a condition: the first that has the same data; -1: it gives u no value */
    double largest; /* datum that was met */
};

static int is_conflict(const struct finder *f, double difference) {
    return difference > ROUNDING * f->largest;
}

static int is_electrode(const struct problem *p, int condition) {
    return condition < p->n_conditions && p->conditions[condition].electrode > 0;
}

/* The components of u that a condition gives. An electrode's number may not be known yet; the components of a
 * surface of symmetry are not those of the axes. */
static int holds(const struct finder *f, int condition, int component) {
    const struct hdg_condition *c = &f->resolved->conditions[condition];
    if (is_electrode(f->problem, condition) && !f->has_potentials) return 0;
    if (c->symmetric || c->curved) return 0;
    return c->kind == HDG_MECHANICAL ? c->fixed[component] : c->kind == HDG_DIRICHLET;
}

static const struct field *data_of(const struct finder *f, int condition) {
    const struct field *g = f->resolved->conditions[condition].g;
    return g != NULL ? g : f->problem->exact;
}

static int has_same_data(const struct finder *f, int i, int k) {
    const struct field *a = data_of(f, i), *b = data_of(f, k);
    double left[3], right[3];
    for (int c = 0; c < f->n_components; c++)
        if (holds(f, i, c) != holds(f, k, c)) return 0;
    if (a == b) return 1;
    return field_is_constant(a, left) && field_is_constant(b, right) &&
           memcmp(left, right, (size_t)f->n_components * sizeof *left) == 0;
}

/* -1: nothing is given there. */
static int kin_of(const struct finder *f, int32_t condition) {
    return condition >= 0 && condition < f->n_conditions ? f->kin[condition] : -1;
}

/* Answers whether there are conditions with different data. */
static int compare_conditions(struct finder *f) {
    int first = -1, several = 0;
    for (int i = 0; i < f->n_conditions; i++) {
        int given = 0;
        f->kin[i] = -1;
        for (int c = 0; c < f->n_components; c++) given |= holds(f, i, c);
        if (!given || data_of(f, i) == NULL || field_check_coordinates(data_of(f, i), f->dim, 0) != FACET_OK)
            continue;
        f->kin[i] = i;
        for (int k = 0; k < i && f->kin[i] == i; k++)
            if (f->kin[k] == k && has_same_data(f, i, k)) f->kin[i] = k;
        several |= first >= 0 && f->kin[i] != first;
        if (first < 0) first = f->kin[i];
    }
    return several;
}

/* values (n x components): NAN where there is none. */
static facet_status evaluate(struct finder *f, int condition, int64_t n, const double *x, double *values) {
    const struct field *g = data_of(f, condition);
    const int nc = f->n_components;
    facet_status status = n > 0 ? field_eval(g, (int)n, f->dim, x, values) : FACET_OK;
    if (status != FACET_OK && status != FACET_ERROR_INPUT) return status;
    for (int64_t i = 0; i < n; i++) {
        if (status != FACET_OK && field_eval(g, 1, f->dim, x + i * f->dim, values + i * nc) != FACET_OK)
            for (int c = 0; c < nc; c++) values[i * nc + c] = NAN;
        for (int c = 0; c < nc; c++) {
            if (!holds(f, condition, c)) values[i * nc + c] = NAN;
            if (!isnan(values[i * nc + c])) f->largest = fmax(f->largest, fabs(values[i * nc + c]));
        }
    }
    return FACET_OK;
}

static int is_more(const struct problem_conflict *than, double difference) {
    return difference > than->difference * (1.0 + ROUNDING);
}

/* ------------------------------------------------------------------------------------------ boxes */

/* Points along the edge where side a of one direction meets side b of another, 2 d + (0 or 1); their number.
 */
static int64_t edge_points(const struct mesh_box *box, int dim, int a, int b, double *x) {
    const int along = dim == 3 ? 3 - a / 2 - b / 2 : -1;
    const int64_t n = along >= 0 ? box->cells[along] + 1 : 1;
    for (int64_t i = 0; i < n; i++) {
        x[i * dim + a / 2] = box->coordinates[a / 2][a % 2 ? box->cells[a / 2] : 0];
        x[i * dim + b / 2] = box->coordinates[b / 2][b % 2 ? box->cells[b / 2] : 0];
        if (along >= 0) x[i * dim + along] = box->coordinates[along][i];
    }
    return n;
}

/* Which of the eight corners of a box an end of such an edge is; -1: none. */
static int corner_of(const struct finder *f, int a, int b, int64_t i) {
    const int along = f->dim == 3 ? 3 - a / 2 - b / 2 : -1;
    if (along < 0 || (i > 0 && i < f->problem->mesh->box.cells[along])) return -1;
    return (a % 2) << a / 2 | (b % 2) << b / 2 | (i > 0) << along;
}

/* Vertices whose values differ; corners: bits of those that were counted, where three sides meet. */
static int64_t count_differences(const struct finder *f, int a, int b, int64_t n, double *const values[2],
                                 int *corners) {
    const int along = f->dim == 3 ? 3 - a / 2 - b / 2 : -1;
    int64_t count = 0;
    if (along >= 0 && f->problem->mesh->box.periodic[along]) n--; /* its ends are one vertex */
    for (int64_t i = 0; i < n; i++) {
        const int corner = corner_of(f, a, b, i);
        int differs = 0;
        for (int64_t k = i * f->n_components; k < (i + 1) * f->n_components; k++)
            differs |= is_conflict(f, fabs(values[0][k] - values[1][k]));
        if (!differs || (corner >= 0 && *corners >> corner & 1)) continue;
        if (corner >= 0) *corners |= 1 << corner;
        count++;
    }
    return count;
}

static facet_status compare_sides(struct finder *f, int a, int b, double *x, double *values[2], int *corners,
                                  struct problem_conflict *worst) {
    facet_status status = FACET_OK;
    const int nc = f->n_components, sides[2] = {a, b};
    const int32_t *conditions = f->resolved->side_condition;
    const int64_t n = edge_points(&f->problem->mesh->box, f->dim, a, b, x);
    for (int k = 0; k < 2; k++) TRY(evaluate(f, conditions[sides[k]], n, x, values[k]));
    worst->n_vertices += count_differences(f, a, b, n, values, corners);
    for (int64_t i = 0; i < n * nc; i++) {
        const double difference = fabs(values[0][i] - values[1][i]);
        if (isnan(difference) || !is_more(worst, difference)) continue;
        worst->difference = difference;
        worst->component = (int)(i % nc);
        memcpy(worst->at, x + i / nc * f->dim, (size_t)f->dim * sizeof *x);
        const int first = conditions[b] < conditions[a];
        for (int k = 0; k < 2; k++)
            worst->parts[k] = f->resolved->conditions[conditions[sides[k ^ first]]].part;
    }
done:
    return status;
}

static facet_status look_at_box(struct finder *f, struct problem_conflict *worst) {
    facet_status status = FACET_OK;
    const struct mesh_box *box = &f->problem->mesh->box;
    const int32_t *conditions = f->resolved->side_condition;
    double *x = NULL, *values[2] = {NULL};
    int64_t most = 1;
    int corners = 0;
    for (int d = 0; f->dim == 3 && d < 3; d++) most = box->cells[d] >= most ? box->cells[d] + 1 : most;
    TRY(ALLOC(x, most * f->dim));
    for (int k = 0; k < 2; k++) TRY(ALLOC(values[k], most * f->n_components));
    for (int a = 0; a < 2 * f->dim; a++)
        for (int b = 2 * (a / 2) + 2; b < 2 * f->dim; b++) {
            const int one = kin_of(f, conditions[a]), other = kin_of(f, conditions[b]);
            if (one >= 0 && other >= 0 && one != other)
                TRY(compare_sides(f, a, b, x, values, &corners, worst));
        }
done:
    base_free(&x);
    for (int k = 0; k < 2; k++) base_free(&values[k]);
    return status;
}

/* ------------------------------------------------------------------------------------------ meshes */

static void keep_larger(int64_t *to, int64_t value) {
    if (value > *to) *to = value;
}

/* A condition at a vertex of one of its faces. */
struct meeting {
    int32_t condition, vertex;
};
struct meetings {
    int64_t n;
    struct meeting *list; /* by conditions */
    double *x, *values;   /* n x dim, n x components */
};

/* By vertex the largest kin, and the largest of -kin. */
static facet_status mark_vertices(const struct finder *f, int64_t *kin) {
    const struct facet_mesh *mesh = f->problem->mesh;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    for (int64_t i = 0; i < 2 * (int64_t)mesh->n_vertices; i++) kin[i] = NOTHING;
    for (int32_t face = 0; face < mesh->n_faces; face++) {
        const int32_t c = f->resolved->face_condition[face];
        if (kin_of(f, c) < 0) continue;
        const int n = mesh_side_vertices(mesh, face, 0, vertices, NULL);
        for (int i = 0; i < n; i++) {
            keep_larger(&kin[2 * (int64_t)vertices[i]], f->kin[c]);
            keep_larger(&kin[2 * (int64_t)vertices[i] + 1], -f->kin[c]);
        }
    }
    return mesh_merge_vertices(mesh, 2, kin);
}

/* Where several kin meet. list: NULL to count. */
static int64_t list_meetings(const struct finder *f, const int64_t *kin, int32_t condition,
                             struct meetings *m, int64_t at) {
    const struct facet_mesh *mesh = f->problem->mesh;
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    int corners[SHAPE_MAX_FACE_VERTICES];
    for (int32_t face = 0; face < mesh->n_faces; face++) {
        const int32_t c = f->resolved->face_condition[face];
        if (kin_of(f, c) < 0 || (condition >= 0 && c != condition)) continue;
        const int32_t cell = mesh->face_cells[2 * (int64_t)face];
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        const int n = mesh_side_vertices(mesh, face, 0, vertices, corners);
        for (int i = 0; i < n; i++) {
            const int64_t *here = kin + 2 * (int64_t)vertices[i];
            if (here[0] == -here[1]) continue;
            if (m != NULL) {
                const int64_t node = (int64_t)(cell - block->first) * block->n_nodes +
                                     shape_vertex_node(block->shape, mesh->order, corners[i]);
                m->list[at] = (struct meeting){c, vertices[i]};
                memcpy(m->x + at * f->dim, block->nodes + node * f->dim, (size_t)f->dim * sizeof *m->x);
            }
            at++;
        }
    }
    return at;
}

static facet_status find_meetings(struct finder *f, const int64_t *kin, struct meetings *m) {
    facet_status status = FACET_OK;
    int64_t at = 0;
    m->n = list_meetings(f, kin, -1, NULL, 0);
    TRY(ALLOC(m->list, m->n));
    TRY(ALLOC(m->x, m->n * f->dim));
    TRY(ALLOC(m->values, m->n * f->n_components));
    for (int c = 0; c < f->n_conditions && at < m->n; c++) {
        const int64_t begin = at;
        if (f->kin[c] < 0) continue;
        at = list_meetings(f, kin, c, m, begin);
        TRY(evaluate(f, c, at - begin, m->x + begin * f->dim, m->values + begin * f->n_components));
    }
done:
    return status;
}

/* extremes (vertices x components x 2): of all that is given there, the largest, and minus the least. */
static facet_status find_extremes(const struct finder *f, const struct meetings *m, int64_t *extremes) {
    const int nc = f->n_components;
    for (int64_t i = 0; i < 2 * nc * (int64_t)f->problem->mesh->n_vertices; i++) extremes[i] = NOTHING;
    for (int64_t i = 0; i < m->n * nc; i++) {
        int64_t *to = extremes + 2 * (m->list[i / nc].vertex * (int64_t)nc + i % nc);
        if (isnan(m->values[i])) continue;
        keep_larger(&to[0], mesh_ordered(m->values[i]));
        keep_larger(&to[1], mesh_ordered(-m->values[i]));
    }
    return mesh_merge_vertices(f->problem->mesh, 2 * nc, extremes);
}

/* The worst of all parts of the mesh, and who gives what there. */
static facet_status join_parts(const struct finder *f, const struct meetings *m, int64_t where, double least,
                               struct problem_conflict *worst) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->problem->mesh;
    struct base_team *team = mesh_team(mesh);
    double most = worst->difference;
    int64_t root = team_rank(team), names[2] = {INT64_MAX, INT64_MAX};
    TRY(team_reduce(team, TEAM_MAX, 1, &most));
    if (worst->difference < most) root = INT64_MAX;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &root));
    struct {
        double at[3], least, difference;
        int64_t vertex, component;
    } place = {.least = least, .difference = worst->difference, .component = worst->component};
    memcpy(place.at, worst->at, sizeof place.at);
    place.vertex = where >= 0 && mesh->part != NULL ? mesh->part->vertex_numbers[where] : where;
    TRY(team_broadcast(team, (int)root, &place, sizeof place));
    for (int64_t i = 0; i < m->n && place.difference > 0.0; i++) {
        const int32_t v = m->list[i].vertex;
        const double g = m->values[i * f->n_components + place.component];
        if ((mesh->part != NULL ? mesh->part->vertex_numbers[v] : v) != place.vertex || isnan(g)) continue;
        int64_t *name = &names[g > place.least];
        if (m->list[i].condition < *name) *name = m->list[i].condition;
    }
    TRY(team_reduce_counts(team, TEAM_MIN, 2, names));
    worst->difference = place.difference;
    worst->component = (int)place.component;
    memcpy(worst->at, place.at, sizeof place.at);
    const int first = names[1] < names[0];
    for (int k = 0; k < 2 && place.difference > 0.0; k++)
        worst->parts[k] = f->resolved->conditions[names[k ^ first]].part;
done:
    return status;
}

/* A vertex of several parts of the mesh counts where its rank is the lowest. */
static facet_status count_vertices(struct finder *f, const struct meetings *m, const int64_t *extremes,
                                   struct problem_conflict *worst) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->problem->mesh;
    struct base_team *team = mesh_team(mesh);
    const int nc = f->n_components, rank = team_rank(team);
    int64_t *owner = NULL, count = 0;
    TRY(team_reduce(team, TEAM_MAX, 1, &f->largest));
    TRY(ALLOC(owner, mesh->n_vertices));
    for (int32_t v = 0; v < mesh->n_vertices; v++) owner[v] = NOTHING;
    for (int64_t i = 0; i < m->n; i++) {
        const int32_t v = m->list[i].vertex;
        for (int c = 0; c < nc && owner[v] == NOTHING; c++) {
            const int64_t *here = extremes + 2 * ((int64_t)v * nc + c);
            if (here[0] != NOTHING && is_conflict(f, mesh_number_of(here[0]) + mesh_number_of(here[1])))
                owner[v] = -rank;
        }
    }
    TRY(mesh_merge_vertices(mesh, 1, owner));
    for (int64_t i = 0; i < m->n; i++) {
        int64_t *of = &owner[m->list[i].vertex];
        if (*of != -rank) continue;
        *of = NOTHING;
        count++;
    }
    TRY(team_reduce_counts(team, TEAM_SUM, 1, &count));
    worst->n_vertices = count;
done:
    base_free(&owner);
    return status;
}

static facet_status look_at_vertices(struct finder *f, struct problem_conflict *worst) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = f->problem->mesh;
    struct meetings m = {0};
    int64_t *kin = NULL, *extremes = NULL, n, where = -1;
    double least = 0.0;
    TRY(ALLOC(kin, 2 * (int64_t)mesh->n_vertices));
    TRY(mark_vertices(f, kin));
    TRY(find_meetings(f, kin, &m));
    n = m.n;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &n));
    if (n == 0) goto done;
    TRY(ALLOC(extremes, 2 * f->n_components * (int64_t)mesh->n_vertices));
    TRY(find_extremes(f, &m, extremes));
    TRY(count_vertices(f, &m, extremes, worst));
    for (int64_t i = 0; i < m.n * f->n_components; i++) {
        const int component = (int)(i % f->n_components);
        const int64_t v = m.list[i / f->n_components].vertex;
        const int64_t *here = extremes + 2 * (v * f->n_components + component);
        if (here[0] == NOTHING || !is_more(worst, mesh_number_of(here[0]) + mesh_number_of(here[1])))
            continue;
        where = v;
        least = -mesh_number_of(here[1]);
        worst->difference = mesh_number_of(here[0]) + mesh_number_of(here[1]);
        worst->component = component;
        memcpy(worst->at, m.x + i / f->n_components * f->dim, (size_t)f->dim * sizeof *m.x);
    }
    TRY(join_parts(f, &m, where, least, worst));
done:
    base_free(&kin);
    base_free(&extremes);
    base_free(&m.list);
    base_free(&m.x);
    base_free(&m.values);
    return status;
}

/* ------------------------------------------------------------------------------------------ both */

/* Where the data vanish at corners, like sin(pi x) at x = 1, only their size elsewhere tells what rounding
 * is: looked at along the diagonals of the smallest box around the mesh. */
#define SIZE_POINTS 16
static facet_status find_largest(struct finder *f) {
    facet_status status = FACET_OK;
    struct mesh_quality size;
    double x[3 * SIZE_POINTS], values[3 * SIZE_POINTS];
    TRY(mesh_measure_size(f->problem->mesh, &size));
    for (int c = 0; c < f->n_conditions; c++)
        for (int turn = 0; turn < 1 << f->dim && f->kin[c] == c; turn++) {
            for (int i = 0; i < SIZE_POINTS * f->dim; i++) {
                const int d = i % f->dim;
                const double s = fmod(0.37 + 0.618034 * (i / f->dim + 1) * (d + 1), 1.0);
                x[i] = turn >> d & 1    ? size.lower[d] + s * (size.upper[d] - size.lower[d])
                       : (turn + d) % 2 ? size.lower[d]
                                        : size.upper[d];
            }
            TRY(evaluate(f, c, SIZE_POINTS, x, values));
        }
done:
    return status;
}

facet_status problem_find_conflict(const struct problem *p, const struct problem_resolved *r,
                                   int has_potentials, struct problem_conflict *conflict) {
    facet_status status = FACET_OK;
    struct finder f = {.problem = p,
                       .resolved = r,
                       .dim = p->mesh->dim,
                       .n_components = physics_components(p->physics, p->mesh->dim),
                       .has_potentials = has_potentials,
                       .n_conditions = p->n_conditions + 1}; /* and not those of surfaces of symmetry */
    *conflict = (struct problem_conflict){0};
    TRY(ALLOC(f.kin, f.n_conditions));
    if (!compare_conditions(&f)) goto done;
    TRY(find_largest(&f));
    TRY(mesh_is_box(p->mesh) ? look_at_box(&f, conflict) : look_at_vertices(&f, conflict));
    if (conflict->difference == 0.0) goto done;
    TRY(team_reduce(mesh_team(p->mesh), TEAM_MAX, 1, &f.largest));
    if (!is_conflict(&f, conflict->difference)) *conflict = (struct problem_conflict){0};
done:
    base_free(&f.kin);
    return status;
}

void problem_conflict_text(const struct problem *p, const struct options *options,
                           const struct problem_conflict *c, char *text, size_t bytes) {
    const int vector = physics_components(p->physics, p->mesh->dim) > 1;
    char component[16] = "", z[32] = "", others[64] = "";
    int electrode = 0;
    text[0] = '\0';
    if (c->difference == 0.0) return;
    for (int i = 0; i < 2 * p->n_conditions; i++)
        electrode |= is_electrode(p, i / 2) && strcmp(p->conditions[i / 2].part, c->parts[i % 2]) == 0;
    if (vector) snprintf(component, sizeof component, " in %c", "xyz"[c->component]);
    if (p->mesh->dim == 3) snprintf(z, sizeof z, ", %.6g", c->at[2]);
    if (c->n_vertices > 1)
        snprintf(others, sizeof others, ", and by no more at %lld other %s", (long long)(c->n_vertices - 1),
                 c->n_vertices > 2 ? "vertices" : "vertex");
    snprintf(text, bytes,
             "%s of '%s' and '%s' differ by %.3g%s at (%.6g, %.6g%s), where these parts meet%s: u has no "
             "single value there, and %s; %s",
             vector      ? "the displacements"
             : electrode ? "the potentials"
                         : "the Dirichlet data",
             c->parts[0], c->parts[1], c->difference, component, c->at[0], c->at[1], z, others,
             vector ? "the force through these parts grows without a limit on finer meshes"
             : electrode
                 ? "what total_flux gives passes at less and less difference on finer meshes: leave a gap "
                   "between these parts"
                 : "the flux through these parts grows without a limit on finer meshes",
             options->discretization == DISCRETIZATION_HDG ? "every face keeps its own data"
                                                           : "the mean of the parts is taken");
}
