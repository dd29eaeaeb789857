/* Solvers of fuzz_api: options, the calls that solve and change them, and all that can be asked. */
#ifndef FACET_TESTS_API_SOLVER_H
#define FACET_TESTS_API_SOLVER_H

#include "api_problem.h"

#include "problem/options.h"

/* ------------------------------------------------------------------------------------------ options */

#define MEMBER(key, member, api, path, phrase) offsetof(facet_options, api),
static const size_t words_at[] = {OPTION_KEYS(MEMBER)};

static inline void draw_words(struct world *w, facet_options *o) {
    for (int key = 0; key < OPTION_N_KEYS; key++) {
        int n = 0;
        if (!rarely(w, 5)) continue;
        while (option_words[key][n] != NULL) n++;
        const char *word = lend_text(w, rarely(w, 32) ? bad_text(w) : option_words[key][draw(w, n)]);
        memcpy((char *)o + words_at[key], &word, sizeof word);
    }
    if (rarely(w, 6)) o->tau = lend_text(w, any_text(w));
}

/* Degrees that are cheap on such a mesh. */
static inline int draw_degree(struct world *w, const struct own_mesh *m) {
    static const int flat[] = {2, 1, 3, 4, 2, 1, 3, 8}, solid[] = {1, 2};
    if (rarely(w, 24)) return odd_int(w);
    int degree = m->dim == 2 ? PICK(w, flat) : PICK(w, solid);
    return degree > 4 && m->cells > 4 ? 5 : degree;
}

static inline void draw_numbers(struct world *w, facet_options *o) {
    o->postprocess = draw(w, 2);
    o->warm_start = rarely(w, 3);
    o->watch = rarely(w, 4);
    o->max_iterations = rarely(w, 8) ? 1 + draw(w, 4) : 300;
    switch (draw(w, 24)) {
    case 0:
        o->tau_hat = any_number(w);
        break;
    case 1:
        o->smoother_degree = rarely(w, 4) ? odd_int(w) : 1 + draw(w, 4);
        break;
    case 2:
        o->coarse_unknowns = rarely(w, 2) ? INT64_MIN : 1 + draw(w, 200);
        break;
    case 3:
        o->fill = any_number(w);
        break;
    case 4:
        o->max_iterations = -draw(w, 2);
        break;
    case 5:
        o->rtol = any_number(w);
        break;
    case 6:
        o->error = rarely(w, 2) ? any_number(w) : 1e-6;
        break;
    default:
        break;
    }
}

/* Those of a program with an older or a newer header, or of one that forgot their size. */
static inline const facet_options *lend_options(struct world *w, const facet_options *o) {
    const size_t sizes[] = {offsetof(facet_options, rtol),
                            offsetof(facet_options, method),
                            sizeof *o + 32,
                            sizeof(size_t),
                            0,
                            70000};
    size_t size = rarely(w, 12) ? PICK(w, sizes) : sizeof *o, whole = size > sizeof *o ? size : sizeof *o;
    char *given = lend(w, NULL, whole);
    memcpy(given, o, sizeof *o);
    memcpy(given, &size, sizeof size);
    if (size > sizeof *o && rarely(w, 2)) given[sizeof *o + 8] = 1;
    return size > sizeof size && size < sizeof *o ? lend(w, given, size) : (const facet_options *)given;
}

/* NULL where the defaults are cheap enough. */
static inline const facet_options *any_options(struct world *w, const struct own_mesh *m, int *warm) {
    facet_options o;
    facet_options_default(&o, sizeof o);
    facet_options_default(rarely(w, 2) ? NULL : &o, 0);
    *warm = 0;
    if (m->dim == 2 && rarely(w, 3)) return NULL;
    o.degree = draw_degree(w, m);
    draw_numbers(w, &o);
    if (rarely(w, 2)) draw_words(w, &o);
    *warm = o.warm_start;
    return lend_options(w, &o);
}

/* ------------------------------------------------------------------------------------------ solvers */

static inline int64_t n_numbers(const struct own_solver *s) {
    return s->n * (s->equation == FACET_ELASTICITY ? s->dim : 1);
}

/* For one call; by mistake with a number that is none. */
static inline const double *any_array(struct world *w, int64_t n) {
    double *numbers = lend(w, NULL, (size_t)n * sizeof *numbers);
    for (int64_t i = 0; i < n; i++) numbers[i] = 1 + (double)(i % 3);
    if (n > 0 && rarely(w, 4)) numbers[(n - 1) * draw(w, 2)] = any_number(w);
    return numbers;
}

static inline void solve_one(struct world *w, const struct own_solver *s) {
    int64_t n = n_numbers(s), wrong[] = {n + 1, n - 1, -1, 0, INT64_MAX, INT64_MIN};
    double *u = rarely(w, 3) ? NULL : room(w, (size_t)n * sizeof *u);
    const double *source = rarely(w, 2) ? any_array(w, n) : NULL;
    facet_status status =
        rarely(w, 3)
            ? CALL(w, MAY_STOP, facet_solver_solve_n(s->it, rarely(w, 3) ? PICK(w, wrong) : n, source, u))
            : CALL(w, MAY_STOP, facet_solver_solve(s->it, source, u));
    if (status == FACET_OK && u != NULL) check_finite(n, u, "a solution that is not finite");
}

static inline void solve(struct world *w) {
    solve_one(w, any_solver(w));
}

static inline void create_solver(struct world *w) {
    int i = draw(w, SLOTS);
    struct own_solver *s = &w->solvers[i];
    const struct own_problem *p = any_problem(w);
    drop_solver(w, i);
    *s = (struct own_solver){NULL, p->context, p->mesh, p->dim, 0, p->equation, 0};
    const facet_options *o = any_options(w, &w->meshes[p->mesh], &s->warm);
    facet_status status =
        CALL(w, MAY_LACK | MAY_STOP, facet_solver_create(p->it, o, rarely(w, 32) ? NULL : &s->it));
    fuzz_check(s->it == NULL || status == FACET_OK, "a solver with a failure");
    s->n = facet_solver_n_points(s->it);
    fuzz_check(s->it == NULL || s->n > 0, "a solver without points");
    if (s->it != NULL && !rarely(w, 3)) solve_one(w, s);
}

static inline void change_solver(struct world *w) {
    struct own_solver *s = any_solver(w);
    int64_t n = n_numbers(s);
    int changed = 0;
    facet_status status;
    switch (draw(w, 6)) {
    case 0:
        CALL(w, 0, facet_solver_set_guess(s->it, rarely(w, 8) ? n + 1 : n, any_array(w, n)));
        break;
    case 1:
        CALL(w, MAY_LACK, facet_solver_set_reaction(s->it, any_number(w)));
        break;
    case 2:
        CALL(w, 0, facet_solver_set_time(s->it, any_number(w)));
        break;
    case 3:
        CALL(w, MAY_LACK, facet_solver_update(s->it, NULL));
        break;
    case 4:
        status = CALL(w, MAY_LACK, facet_solver_update(s->it, &changed));
        fuzz_check(status != FACET_OK || (changed & ~7) == 0, "a change that is none");
        break;
    default:
        CALL(
            w, 0,
            facet_solver_set_parameter(s->it, lend_text(w, rarely(w, 8) ? any_text(w) : "k"), any_number(w)));
    }
}

/* ------------------------------------------------------------------------------------------ results */

static inline void get_points(struct world *w) {
    struct own_solver *s = any_solver(w);
    double *x = room(w, (size_t)(s->n * s->dim) * sizeof *x);
    if (CALL(w, 0, facet_solver_points(s->it, rarely(w, 32) ? NULL : x)) == FACET_OK)
        check_finite(s->n * s->dim, x, "a point that is not finite");
}

static inline void get_report(struct world *w) {
    facet_report *r = any_struct(w, sizeof *r);
    facet_status status = CALL(w, 0, facet_solver_report(any_solver(w)->it, r));
    if (status != FACET_OK || !is_whole(r, sizeof *r)) return;
    const double numbers[] = {r->conservation, r->error, r->residual, r->rate};
    check_finite(r->converged ? 4 : 2, numbers, "a report with numbers that are not finite");
    check_finite(FACET_MAX_PHASES, r->seconds, "seconds that are not finite");
    check_finite(FACET_MAX_PHASES, r->peak_bytes, "bytes that are not finite");
    fuzz_check(r->method[0] && r->preconditioner[0] && r->operator_name[0] && r->reason[0],
               "a report without words");
}

static inline void get_level(struct world *w) {
    facet_solver *solver = any_solver(w)->it;
    int n = facet_solver_n_levels(solver);
    facet_level *l = any_struct(w, sizeof *l);
    fuzz_check(n >= 0, "less than no levels");
    facet_status status =
        CALL(w, 0, facet_solver_level(solver, n == 0 || rarely(w, 4) ? odd_int(w) : draw(w, n), l));
    if (status != FACET_OK || !is_whole(l, sizeof *l)) return;
    const double numbers[] = {l->bytes, l->smooth, l->residual, l->transfer, l->solve, l->reduction, l->rate};
    check_finite(COUNT(numbers), numbers, "a level with numbers that are not finite");
    fuzz_check(l->name[0] && l->device[0] && l->precision[0], "a level without words");
}

static inline void get_errors(struct world *w) {
    facet_errors *e = any_struct(w, sizeof *e);
    facet_status status = CALL(w, 0, facet_solver_errors(any_solver(w)->it, e));
    if (status == FACET_OK && is_whole(e, sizeof *e))
        check_finite((int64_t)((sizeof *e - offsetof(facet_errors, u_L2)) / sizeof(double)), &e->u_L2,
                     "an error that is not finite");
}

static const char *const fields[] = {"u",      "q",         "u_star", "q_star", "stress",
                                     "strain", "von_mises", "H",      "p",      "vorticity",
                                     "",       "U",         "%n",     "u,q",    "trace"};

/* Numbers a point; of what is no field any. */
static inline int components_of(const struct own_solver *s, const char *field) {
    static const char *const scalars[] = {"von_mises", "p"}, *const matrices[] = {"stress", "strain", "H"};
    for (int i = 0; i < 2; i++)
        if (strcmp(field, scalars[i]) == 0) return 1;
    for (int i = 0; i < 3; i++)
        if (strcmp(field, matrices[i]) == 0) return s->dim * s->dim;
    if (strcmp(field, "vorticity") == 0) return s->dim == 2 ? 1 : 3;
    return field[0] == 'u' && s->equation == FACET_DIFFUSION ? 1 : s->dim;
}

static inline void evaluate(struct world *w) {
    struct own_solver *s = any_solver(w);
    int n = draw(w, 4);
    const char *field = rarely(w, 4) ? PICK(w, fields) : fields[draw(w, 4)];
    double *x = lend(w, NULL, (size_t)(n * s->dim) * sizeof *x);
    int64_t n_values = (int64_t)n * components_of(s, field);
    double *values = room(w, (size_t)n_values * sizeof *values);
    for (int i = 0; i < n * s->dim; i++) x[i] = rarely(w, 24) ? any_number(w) : 0.05 * draw(w, 21);
    facet_status status = CALL(
        w, 0, facet_solver_evaluate(s->it, lend_text(w, field), rarely(w, 24) ? INT64_MIN : n, x, values));
    if (status == FACET_OK) check_finite(n_values, values, "a value that is not finite");
}

static inline void write_file(struct world *w) {
    static const char *const paths[] = {"/dev/null", "/dev/null", "/dev/full", "/nowhere/a.vtu",
                                        "",          "/",         NULL};
    static const char *const lists[] = {NULL,
                                        "u",
                                        "u,q",
                                        "u_star, q_star",
                                        "stress,von_mises,u",
                                        ",",
                                        "",
                                        "u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u,u",
                                        "%n"};
    CALL(w, MAY_LACK,
         facet_solver_write(any_solver(w)->it, lend_text(w, PICK(w, paths)), lend_text(w, PICK(w, lists))));
}

#endif
