/* Looks at data without solving: what a solver would refuse, and where they contradict an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/box_backend.h"
#include "problem/choice.h"

/* Data are looked at as mapped cells of this degree at most, though a box may have more. */
#define CHECKED_DEGREE 6

/* Whether sources and sides are numbers, which need not be looked at point by point. */
static int is_number(const struct field *field) {
    double value;
    return field == NULL ||
           (field_n_components(field) == 1 && field_is_constant(field, &value) && isfinite(value));
}

static int data_are_numbers(const struct hdg_data *data, int n_conditions) {
    int numbers = data->exact == NULL, held = 0; /* held: nothing need balance */
    for (int r = 0; data->source != NULL && r < data->n_regions; r++) numbers &= is_number(data->source[r]);
    for (int i = 0; i < n_conditions && numbers; i++) {
        const struct hdg_condition *c = &data->conditions[i];
        numbers = c->g != NULL && is_number(c->g) && is_number(c->a);
        held |= c->kind == HDG_DIRICHLET;
    }
    return numbers && held;
}

/* Whether something of a condition is not taken from an exact solution. */
static int has_own_data(const struct problem_condition *c, int dim) {
    int own = c->g != NULL || c->t != NULL || c->pressure != NULL || c->force != NULL || c->symmetric;
    for (int i = 0; i < dim && c->kind == HDG_MECHANICAL; i++) own |= !c->gives_g[i] && !c->gives_t[i];
    return own;
}

static int gives_data(const struct problem *p) {
    int given = 0;
    for (int i = 0; i < p->n_conditions; i++) given |= has_own_data(&p->conditions[i], p->mesh->dim);
    return given;
}

/* Where the exact solution contradicts what is inside of the mesh. hdg: NULL for a box that stays one. */
static facet_status find_break(const struct facet_solver *s, const struct hdg *hdg, char *text,
                               size_t bytes) {
    facet_status status = FACET_OK;
    struct hdg_break found = {0};
    if (s->problem->exact == NULL) return FACET_OK;
    if (s->operator_used == OPERATOR_TENSOR && mesh_is_box(s->problem->mesh))
        TRY(problem_find_box_break(s->problem, &s->resolved, &found));
    else if (hdg != NULL)
        TRY(hdg_find_break(hdg, &found));
    problem_break_text(s->problem, &found, text, bytes);
done:
    return status;
}

/* Of a box, whether what is inside of it is looked at face by face: its parts do not have both joined sides.
 */
static int has_faces_here(const struct facet_solver *s) {
    return s->problem->mesh->part != NULL && s->resolved.data.equation->by_faces;
}

/* Mapped cells that have no matrices, of a degree that is enough to look at data. */
static facet_status describe(struct facet_solver *s, struct hdg **hdg) {
    const int box = s->operator_used == OPERATOR_TENSOR, degree = s->options.degree;
    facet_status status = problem_resolve_lists(s->problem, &s->resolved);
    if (status != FACET_OK) return status;
    return hdg_create(mapped_device(s), &s->resolved.data,
                      box && degree > CHECKED_DEGREE ? CHECKED_DEGREE : degree, NULL, NULL, hdg);
}

/* How many unknowns there are, and what would solve for them. */
static facet_status foresee(struct facet_solver *s, const struct hdg *hdg, const struct box_data *data,
                            struct problem_findings *findings) {
    facet_status status = FACET_OK;
    int64_t *unknowns = findings->unknowns;
    struct choice choice;
    if (s->operator_used == OPERATOR_TENSOR) {
        TRY(box_foresee(s, data, &choice));
    } else {
        choice_foresee(s, &choice);
        hdg_describe(hdg, &s->system);
        TRY(mapped_count_unknowns(s, hdg));
    }
    choice_say(&choice, findings->solver, sizeof findings->solver);
    unknowns[0] = s->problem->mesh->part != NULL ? s->n_unknowns : s->system.n_free;
    unknowns[1] = s->system.n_volume;
    TRY(team_reduce_counts(mesh_team(s->problem->mesh), TEAM_SUM, 1, &unknowns[1]));
done:
    return status;
}

facet_status problem_check_data(const struct facet_problem *problem, const struct options *options,
                                struct problem_findings *findings) {
    facet_status status = FACET_OK;
    struct facet_solver *s = NULL;
    struct box_data data = {0};
    struct hdg *hdg = NULL;
    struct hdg_mismatch *mismatch = &findings->mismatch;
    *findings = (struct problem_findings){0};
    TRY(solver_prepare(problem, options, &s));
    TRY(solver_choose_backend(s, NULL, &data));
    const int box = s->operator_used == OPERATOR_TENSOR;
    TRY(solver_find_conflict(s, 0));
    TRY(solver_find_unresolved(s));
    memcpy(findings->conflict, s->notes[SOLVER_NOTE_CONFLICT], sizeof findings->conflict);
    memcpy(findings->unresolved, s->notes[SOLVER_NOTE_UNRESOLVED], sizeof findings->unresolved);
    if (!box || !data_are_numbers(&s->resolved.data, s->problem->n_conditions)) { /* else a box stays one */
        TRY(describe(s, &hdg));
        TRY(hdg_check_data(hdg, mismatch));
    }
    TRY(find_break(s, hdg, findings->broken, sizeof findings->broken));
    TRY(foresee(s, hdg, &data, findings));
    for (int i = 0; i < s->problem->n_conditions && mismatch->part != NULL;
         i++) /* the solver's copy goes with it */
        if (strcmp(problem->data.conditions[i].part, mismatch->part) == 0)
            mismatch->part = problem->data.conditions[i].part;
done:
    hdg_destroy(&hdg);
    box_data_destroy(&data);
    facet_solver_destroy(&s);
    return status;
}

facet_status solver_find_mismatch(struct facet_solver *s, struct problem_findings *findings) {
    facet_status status = FACET_OK;
    struct hdg *own = NULL, *hdg = s->backend == &mapped_backend ? mapped_of(s)->hdg : NULL;
    int may;
    *findings = (struct problem_findings){0};
    if (s->problem->exact == NULL) return FACET_OK;
    TRY(problem_may_break(s->problem, &may));
    if (!may && !gives_data(s->problem)) goto done;
    if (hdg == NULL && (gives_data(s->problem) || has_faces_here(s))) {
        TRY(describe(s, &own));
        hdg = own;
    }
    if (hdg != NULL) TRY(hdg_find_mismatch(hdg, &findings->mismatch));
    TRY(find_break(s, hdg, findings->broken, sizeof findings->broken));
done:
    hdg_destroy(&own);
    return status;
}
