/* Data finer than the rules that integrate them: steps inside of cells, peaks between points. What a source
 * or a flux sums to is then not what was given, and nothing else tells: the discrete solution is that of
 * other data, and balances. So data that are expressions or functions are integrated over cells and faces by
 * the rule of the solve and by one that is MORE_DEGREES higher, and where the two differ by more than
 * UNRESOLVED of the integral of the modulus, a note tells by how much, and where most.
 *
 * Differences of cells cut by a step have either sign, and nearly cancel in the sum; what they do to u does
 * not cancel as well. Therefore the error is the larger of the difference of the sums and the root of the sum
 * of the squares. Rules of a solve are exact to degree 2p + 2 at least (sources and sides: 2p + 6), which
 * integrates half a wave within one cell to 1e-4 for p = 1: smooth data are told only where a cell is so
 * large that it cannot follow them at all. Of many cells a sample is looked at, the same in every run: those
 * with the largest values in their middle, near which a peak stands, and others spread over the mesh, some of
 * which a step along a surface cuts. A peak upon something else that lies between all of these is not found.
 * With an exact solution the errors themselves are told, and data are not looked at. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "box/cell_loop.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define UNRESOLVED 1e-3
/* Rules of lines with so many degrees more have a point in their middle where the others have none, and the
 * other way round: symmetric ones agree about steps near there. A step cuts but few faces, so that there two
 * rules may agree by chance. */
#define MORE_DEGREES  6
#define MORE_ON_FACES 14
/* Points at which one datum is looked at, by both rules: so many, and more for every cell of the mesh up to
 * the most, so that it takes a hundredth or two of a run. How many middles are looked at, how many of the
 * cells with the largest values at most, and points that are evaluated at once. */
#define LEAST_POINTS 4000
#define CELL_POINTS  2
#define MOST_POINTS  25000
#define MOST_MIDDLES 10000
#define N_LARGEST    16
#define CHUNK        4096
#define FEW          512
/* The sum of a sample is off by its scatter, which counts so many times. */
#define SCATTER         3.0
#define ROUNDING        1e-8 /* of two that differ by less, the first is told */
#define MOST_COMPONENTS 9

enum { CELL_SOURCE, CELL_REACTION, CELL_CONDUCTIVITY, CELL_MU, CELL_LAMBDA, CELL_HEAT, N_CELL_DATA };
enum { SIDE_G, SIDE_A, SIDE_TRACTION, SIDE_PRESSURE, SIDE_SPRING, N_SIDE_DATA };

/* A cell, or (local >= 0) its face. */
struct place {
    int32_t cell;
    int local;
    int64_t weight; /* it stands for so many */
};
/* Of a datum: all but the last two are added up. */
struct sums {
    double modulus, squares, scatter, total[MOST_COMPONENTS];
    double worst; /* difference in a place */
    struct place at;
};
#define N_ADDED (3 + MOST_COMPONENTS)

struct look {
    const struct problem *problem;
    const struct problem_resolved *resolved;
    int dim, degree, on_box;
    struct mesh_rules *rules[3]; /* of the solve, the finer ones, and the middles */
    int n_points;                /* of the largest place, by the first two */
    int64_t step;                /* one place of so many may be looked at: */
    int n_places, n_chosen;
    struct place *places, *chosen; /* these, and those of one datum that are */
    double *x, *weights, *normals, *values;
};

/* ------------------------------------------------------------------------------------------ rules */

/* On a mixed mesh those of the shape that has the highest. */
static int degree_of(const struct look *l, enum hdg_use use, int faces) {
    const struct facet_mesh *mesh = l->problem->mesh;
    int degree = 0;
    if (l->on_box) return 2 * (l->degree + BOX_EXTRA_POINTS) + 1;
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int f = 0; f < (faces ? shape_n_faces(mesh->blocks[b].shape) : 1); f++) {
            const enum shape shape =
                faces ? shape_face_shape(mesh->blocks[b].shape, f) : mesh->blocks[b].shape;
            const int own = hdg_rule_degree(use, shape, l->degree, mesh->order);
            degree = own > degree ? own : degree;
        }
    return degree;
}

static void forget_rules(struct look *l) {
    for (int k = 0; k < 3; k++) mesh_rules_destroy(&l->rules[k]);
    base_free(&l->places);
    base_free(&l->chosen);
    base_free(&l->x);
    base_free(&l->weights);
    base_free(&l->normals);
    base_free(&l->values);
}

/* Points of a rule in the cell, or the face, that has most. */
static int most_points(const struct facet_mesh *mesh, const struct mesh_rules *rules, int faces) {
    int most = 0;
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int f = faces ? 0 : -1; f < (faces ? shape_n_faces(mesh->blocks[b].shape) : 0); f++) {
            const int own = mesh_rules_n(rules, mesh->blocks[b].first, f);
            most = own > most ? own : most;
        }
    return most;
}

/* The rules, and room for places of which there are n. */
static facet_status make_rules(struct look *l, enum hdg_use use, int faces, int64_t n) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = l->problem->mesh;
    const int degree = degree_of(l, use, faces), more = faces ? MORE_ON_FACES : MORE_DEGREES;
    forget_rules(l);
    for (int k = 0; k < 3; k++)
        TRY(mesh_rules_create(mesh, k < 2 ? degree + k * more : 0, faces, &l->rules[k]));
    const int most = most_points(mesh, l->rules[1], faces), room = most > CHUNK ? most : CHUNK;
    l->n_points = most + most_points(mesh, l->rules[0], faces);
    l->step = n / MOST_MIDDLES + 1;
    l->n_places = 0;
    TRY(ALLOC(l->places, n / l->step + 1));
    TRY(ALLOC(l->chosen, n / l->step + 1));
    TRY(ALLOC(l->x, room * l->dim));
    TRY(ALLOC(l->normals, room * l->dim));
    TRY(ALLOC(l->weights, room));
    TRY(ALLOC(l->values, room * MOST_COMPONENTS));
done:
    return status;
}

/* Whether number i is one of a sample: one of every `step`, not always the same. */
static int is_taken(int64_t step, int64_t i) {
    const uint64_t row = (uint64_t)(i / step) * 0x9e3779b97f4a7c15u;
    return i % step == (int64_t)((row >> 33) % (uint64_t)step);
}

/* ------------------------------------------------------------------------------------------ integrals */

/* What is integrated: a field, or (temperature not NULL) this expansion times how much warmer it is than the
 * reference: a peak of the temperature is small beside 293 K, and all of the load. */
struct datum {
    const struct field *field, *temperature, *reference;
};

/* At n points, those of faces with their normals. */
static facet_status values_of(struct look *l, const struct datum *datum, int n, int faces) {
    facet_status status = FACET_OK;
    double *one = NULL;
    TRY(faces ? field_eval_on(datum->field, n, l->dim, l->x, l->dim, l->normals, l->values)
              : field_eval(datum->field, n, l->dim, l->x, l->values));
    if (datum->temperature == NULL) goto done;
    TRY(ALLOC(one, 2 * n));
    TRY(field_eval(datum->temperature, n, l->dim, l->x, one));
    TRY(field_eval(datum->reference, n, l->dim, l->x, one + n));
    for (int i = 0; i < n; i++) l->values[i] *= one[i] - one[n + i];
done:
    base_free(&one);
    return status;
}

/* Adds those by rule k over n places, whose points there must be room for. integrals: n x components; moduli:
 * n. */
static facet_status integrate(struct look *l, int k, const struct datum *datum, int n,
                              const struct place *places, double *integrals, double *moduli) {
    facet_status status = FACET_OK;
    const int nc = field_n_components(datum->field), faces = places[0].local >= 0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        mesh_rules_points(l->rules[k], places[i].cell, places[i].local, l->x + at * l->dim, l->weights + at,
                          faces ? l->normals + at * l->dim : NULL);
        at += mesh_rules_n(l->rules[k], places[i].cell, places[i].local);
    }
    TRY(values_of(l, datum, at, faces));
    at = 0;
    for (int i = 0; i < n; i++) {
        const int end = at + mesh_rules_n(l->rules[k], places[i].cell, places[i].local);
        for (; at < end; at++) {
            double weight = l->weights[at];
            if (l->resolved->data.plane == HDG_AXISYMMETRIC) weight *= 2.0 * M_PI * l->x[at * l->dim];
            for (int c = 0; c < nc; c++) {
                integrals[i * nc + c] += weight * l->values[at * nc + c];
                moduli[i] += weight * fabs(l->values[at * nc + c]);
            }
        }
    }
done:
    return status;
}

static void add_place(int nc, const double *plain, const double *fine, double modulus, struct place place,
                      struct sums *s) {
    const double weight = (double)place.weight;
    double square = 0.0;
    for (int c = 0; c < nc; c++) {
        s->total[c] += weight * (plain[c] - fine[c]);
        square += pow(plain[c] - fine[c], 2);
    }
    s->modulus += weight * modulus;
    s->squares += weight * square;
    s->scatter += weight * (weight - 1.0) * square;
    if (!(sqrt(square) > s->worst)) return;
    s->worst = sqrt(square);
    s->at = place;
}

/* Keeps the largest of all values, the largest first, and whose they are. */
static void keep_largest(double value, int i, double *values, int *whose) {
    int at = N_LARGEST;
    while (at > 0 && value > values[at - 1]) at--;
    if (at == N_LARGEST) return;
    memmove(values + at + 1, values + at, (size_t)(N_LARGEST - 1 - at) * sizeof *values);
    memmove(whose + at + 1, whose + at, (size_t)(N_LARGEST - 1 - at) * sizeof *whose);
    values[at] = value;
    whose[at] = i;
}

/* Which of the places are looked at: all, where these are few. */
static facet_status choose(struct look *l, const struct datum *datum) {
    facet_status status = FACET_OK;
    const int64_t all = (int64_t)l->n_places * l->n_points;
    const int64_t most = LEAST_POINTS + CELL_POINTS * (int64_t)l->problem->mesh->n_cells;
    const int64_t allowed = most < MOST_POINTS ? most : MOST_POINTS, step = (all + allowed - 1) / allowed;
    const int64_t room = 1 + allowed / (4 * l->n_points);
    const int n_largest = room < N_LARGEST ? (int)room : N_LARGEST;
    double largest[N_LARGEST] = {0.0}, integrals[FEW * MOST_COMPONENTS], moduli[FEW];
    int whose[N_LARGEST];
    l->n_chosen = 0;
    for (int i = 0; i < N_LARGEST; i++) whose[i] = -1;
    for (int begin = 0; begin < l->n_places && step > 1; begin += FEW) {
        const int n = l->n_places - begin < FEW ? l->n_places - begin : FEW;
        memset(moduli, 0, sizeof moduli);
        TRY(integrate(l, 2, datum, n, l->places + begin, integrals, moduli));
        for (int i = 0; i < n; i++) keep_largest(moduli[i], begin + i, largest, whose);
    }
    for (int i = 0; i < l->n_places; i++) {
        int is_largest = 0;
        for (int k = 0; k < n_largest; k++) is_largest |= whose[k] == i;
        if (!is_largest && !is_taken(step, i)) continue;
        l->chosen[l->n_chosen] = l->places[i];
        l->chosen[l->n_chosen++].weight = is_largest ? 1 : step * l->step;
    }
done:
    return status;
}

/* Data that cannot be had at all points are left to the solve, which refuses them where it looks. */
static facet_status add_datum(struct look *l, const struct datum *datum, struct sums *s) {
    facet_status status = FACET_OK;
    const int nc = field_n_components(datum->field), most = l->n_points < CHUNK ? CHUNK / l->n_points : 1;
    const struct sums before = *s;
    double *numbers = NULL, *fine, *moduli;
    TRY(ALLOC(numbers, most * (2 * nc + 1)));
    fine = numbers + most * nc;
    moduli = fine + most * nc;
    status = choose(l, datum);
    for (int begin = 0; begin < l->n_chosen && status == FACET_OK; begin += most) {
        const struct place *places = l->chosen + begin;
        const int n = l->n_chosen - begin < most ? l->n_chosen - begin : most;
        memset(numbers, 0, (size_t)(most * (2 * nc + 1)) * sizeof *numbers);
        status = integrate(l, 0, datum, n, places, numbers, moduli);
        if (status == FACET_OK) status = integrate(l, 1, datum, n, places, fine, moduli);
        for (int i = 0; i < n && status == FACET_OK; i++)
            add_place(nc, numbers + i * nc, fine + i * nc, 0.5 * moduli[i], places[i], s);
    }
    if (status == FACET_ERROR_INPUT) *s = before;
    if (status == FACET_ERROR_INPUT) status = FACET_OK;
done:
    base_free(&numbers);
    return status;
}

/* Numbers need no look, fields of other solvers are polynomials; functions of a caller may be steps. */
static int is_looked_at(const struct field *field) {
    return field != NULL && !field_is_constant(field, NULL) && !field_is_ours(field) &&
           field_n_components(field) <= MOST_COMPONENTS;
}

/* ------------------------------------------------------------------------------------------ cells */

static struct datum cell_datum(const struct problem_resolved *r, int kind, int region) {
    const struct field *const *const of[N_CELL_DATA] = {
        (const struct field *const *)r->shares[SHARE_SOURCE],
        (const struct field *const *)r->shares[SHARE_REACTION],
        r->conductivity,
        r->mu,
        r->lambda,
        r->data.expansion};
    struct datum datum = {.field = of[kind] != NULL ? of[kind][region] : NULL};
    if (kind != CELL_HEAT || datum.field == NULL) return datum;
    datum.temperature = r->data.temperature;
    datum.reference = r->data.reference;
    return datum;
}

/* The temperature that another solver has found is known inside cells alone, and resolved there. */
static int is_cell_looked_at(const struct problem_resolved *r, int kind, int region) {
    const struct datum d = cell_datum(r, kind, region);
    if (d.temperature == NULL) return is_looked_at(d.field);
    return !r->data.located && d.reference != NULL &&
           (is_looked_at(d.field) || is_looked_at(d.temperature) || is_looked_at(d.reference));
}

static facet_status look_at_cells(struct look *l, int first, int last, enum hdg_use use, struct sums *sums) {
    facet_status status = FACET_OK;
    const struct problem_resolved *r = l->resolved;
    const int32_t n = l->problem->mesh->n_cells;
    int any = 0;
    for (int kind = first; kind <= last; kind++)
        for (int i = 0; i < r->n_regions; i++) any |= is_cell_looked_at(r, kind, i);
    if (!any) return FACET_OK;
    TRY(make_rules(l, use, 0, n));
    for (int i = 0; i < r->n_regions; i++) {
        l->n_places = 0;
        for (int32_t c = 0; c < n; c++)
            if (is_taken(l->step, c) && (r->cell_region != NULL ? r->cell_region[c] : r->region) == i)
                l->places[l->n_places++] = (struct place){c, -1, 1};
        for (int kind = first; kind <= last && l->n_places > 0; kind++) {
            const struct datum datum = cell_datum(r, kind, i);
            if (is_cell_looked_at(r, kind, i)) TRY(add_datum(l, &datum, &sums[kind]));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ sides */

static const struct field *side_datum(const struct problem_resolved *r, int condition, int kind) {
    const struct hdg_condition *c = &r->conditions[condition];
    const struct field *const of[N_SIDE_DATA] = {c->g, c->a, c->t, c->pressure, c->spring};
    return of[kind];
}

/* The faces of a condition: their number, or (l not NULL) those that are looked at. */
static int64_t list_faces(const struct problem *p, const struct problem_resolved *r, int condition,
                          struct look *l) {
    const struct facet_mesh *mesh = p->mesh;
    int64_t n = 0;
    for (int32_t f = 0; r->face_condition != NULL && f < mesh->n_faces; f++) {
        if (r->face_condition[f] != condition) continue;
        if (l != NULL && is_taken(l->step, n))
            l->places[l->n_places++] =
                (struct place){mesh->face_cells[2 * (int64_t)f], mesh->face_locals[2 * (int64_t)f], 1};
        n++;
    }
    for (int g = 0; r->face_condition == NULL && g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (r->side_condition[group->side] != condition) continue;
        for (int32_t i = 0; i < group->count; i++, n++) {
            if (l == NULL || !is_taken(l->step, n)) continue;
            const struct mesh_group_face face = mesh_group_face(mesh, group, i);
            l->places[l->n_places++] = (struct place){face.cell, face.local, 1};
        }
    }
    return n;
}

static facet_status look_at_sides(struct look *l, int condition, struct sums *sums) {
    facet_status status = FACET_OK;
    const struct problem_resolved *r = l->resolved;
    int any = 0;
    for (int kind = 0; kind < N_SIDE_DATA; kind++) any |= is_looked_at(side_datum(r, condition, kind));
    if (!any) return FACET_OK;
    TRY(make_rules(l, HDG_BOUNDARY, 1, list_faces(l->problem, r, condition, NULL)));
    (void)list_faces(l->problem, r, condition, l);
    for (int kind = 0; kind < N_SIDE_DATA && l->n_places > 0; kind++)
        if (is_looked_at(side_datum(r, condition, kind))) {
            const struct datum datum = {.field = side_datum(r, condition, kind)};
            TRY(add_datum(l, &datum, &sums[kind]));
        }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the note */

static double error_of(const struct sums *s) {
    double square = 0.0;
    for (int c = 0; c < MOST_COMPONENTS; c++) square += s->total[c] * s->total[c];
    const double sum = sqrt(square) - SCATTER * sqrt(s->scatter);
    return s->modulus > 0.0 ? fmax(sum, sqrt(s->squares)) / s->modulus : 0.0;
}

/* The sums of all parts, and who has the worst place of datum `which`. */
static facet_status join_parts(struct base_team *team, int n, struct sums *sums) {
    facet_status status = FACET_OK;
    double *all = NULL;
    TRY(ALLOC(all, n * N_ADDED));
    for (int i = 0; i < n; i++) memcpy(all + i * N_ADDED, &sums[i].modulus, N_ADDED * sizeof *all);
    TRY(team_reduce(team, TEAM_SUM, n * N_ADDED, all));
    for (int i = 0; i < n; i++) memcpy(&sums[i].modulus, all + i * N_ADDED, N_ADDED * sizeof *all);
done:
    base_free(&all);
    return status;
}

static facet_status find_place(const struct facet_mesh *mesh, const struct sums *s,
                               char place[MESH_PLACE_BYTES]) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(mesh);
    double most = s->worst;
    int64_t root = team_rank(team);
    TRY(team_reduce(team, TEAM_MAX, 1, &most));
    if (s->worst < most) root = INT64_MAX;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &root));
    memset(place, 0, MESH_PLACE_BYTES);
    if (root == team_rank(team)) mesh_middle_text(mesh, s->at.cell, s->at.local, place, MESH_PLACE_BYTES);
    TRY(team_broadcast(team, (int)root, place, MESH_PLACE_BYTES));
done:
    return status;
}

/* "the source", "the flux on 'xmin'". */
static const char *name_of(const struct look *l, int datum, char text[160]) {
    static const char *const cells[N_CELL_DATA] = {"source",     "reaction",       "conductivity",
                                                   "modulus mu", "modulus lambda", "thermal strain"};
    static const char *const sides[N_SIDE_DATA] = {"", "robin a", "traction", "pressure", "spring"};
    static const char *const g[] = {[HDG_DIRICHLET] = "dirichlet value",
                                    [HDG_NEUMANN] = "neumann flux",
                                    [HDG_ROBIN] = "robin g",
                                    [HDG_MECHANICAL] = "displacement",
                                    [HDG_GRADIENT_PRESSURE] = "gradient_pressure"};
    if (datum < N_CELL_DATA) {
        snprintf(text, 160, "the %s", cells[datum]);
        return text;
    }
    const struct hdg_condition *c = &l->resolved->conditions[(datum - N_CELL_DATA) / N_SIDE_DATA];
    const int kind = (datum - N_CELL_DATA) % N_SIDE_DATA;
    snprintf(text, 160, "the %s on '%.100s'", kind == SIDE_G ? g[c->kind] : sides[kind], c->part);
    return text;
}

static facet_status tell(const struct look *l, int n, const struct sums *sums, char *text, size_t bytes) {
    facet_status status = FACET_OK;
    char name[160], place[MESH_PLACE_BYTES], others[80] = "";
    int worst = 0, n_told = 0;
    for (int i = 0; i < n; i++) {
        n_told += error_of(&sums[i]) > UNRESOLVED;
        if (error_of(&sums[i]) > (1.0 + ROUNDING) * error_of(&sums[worst])) worst = i;
    }
    if (n_told == 0) goto done;
    const double percent = 100.0 * fmin(error_of(&sums[worst]), 1.0);
    TRY(find_place(l->problem->mesh, &sums[worst], place));
    if (n_told > 1)
        snprintf(others, sizeof others, "; %d other%s of the data %s not resolved either", n_told - 1,
                 n_told > 2 ? "s" : "", n_told > 2 ? "are" : "is");
    snprintf(text, bytes,
             "%s is not resolved by the mesh: its integral is known to no better than %.*f %%, and least in "
             "the cell at %s; "
             "let cells end where it jumps, or be smaller where it peaks%s",
             name_of(l, worst, name), percent < 9.95, percent, place, others);
done:
    return status;
}

facet_status problem_find_unresolved(const struct problem *p, const struct problem_resolved *r, int degree,
                                     int on_box, char *text, size_t bytes) {
    facet_status status = FACET_OK;
    struct look l = {.problem = p, .resolved = r, .dim = p->mesh->dim, .degree = degree, .on_box = on_box};
    struct sums *sums = NULL;
    const int n = N_CELL_DATA + N_SIDE_DATA * p->n_conditions;
    text[0] = '\0';
    if (p->exact != NULL) return FACET_OK;
    TRY(CALLOC(sums, n));
    TRY(look_at_cells(&l, CELL_SOURCE, CELL_SOURCE, HDG_SOURCE, sums));
    TRY(look_at_cells(&l, CELL_REACTION, CELL_HEAT, HDG_CELL, sums));
    for (int c = 0; c < p->n_conditions; c++)
        TRY(look_at_sides(&l, c, sums + N_CELL_DATA + (int64_t)N_SIDE_DATA * c));
    TRY(join_parts(mesh_team(p->mesh), n, sums));
    TRY(tell(&l, n, sums, text, bytes));
done:
    forget_rules(&l);
    base_free(&sums);
    return status;
}
