/* Problems of fuzz_api: texts and functions, good and bad, and every call that sets them. */
#ifndef FACET_TESTS_API_PROBLEM_H
#define FACET_TESTS_API_PROBLEM_H

#include "api_world.h"

/* ------------------------------------------------------------------------------------------ texts */

static inline const char *deep_text(void) {
    static char text[20000];
    if (text[0] == '\0') memset(text, '(', sizeof text - 1);
    return text;
}

static inline const char *long_text(void) {
    static char text[20000];
    for (size_t i = 0; text[0] == '\0' && i + 1 < sizeof text; i++) text[sizeof text - 2 - i] = "x+"[i % 2];
    return text;
}

static inline const char *bad_text(struct world *w) {
    static const char *const texts[] = {
        "",      "(",      "x +", "foo(x)", "1/0",      "log(-1)",     "sqrt(x - 9)", "z",
        "nx",    "1e400",  "nan", "%s%n",   "\xff\xfe", "exact",       "x^1e9",       "-1",
        "1e300", "1e-300", "x y", "k k",    "1/x",      "exp(1000*x)", "0*log(x)",    "-x",
        "\"",    "x,y",    "inf", "t^0.5"};
    int n = COUNT(texts), i = draw(w, n + 3);
    return i < n ? texts[i] : i == n ? deep_text() : i == n + 1 ? long_text() : NULL;
}

/* A text that is mostly good: positive where it has to be. */
static inline const char *any_text(struct world *w) {
    static const char *const texts[] = {"1", "2", "1 + x*x", "k", "1 + t*t", "0.5 + k*k*x*x", "3 + sin(x*y)"};
    return rarely(w, 6) ? bad_text(w) : PICK(w, texts);
}

static inline const char *any_name(struct world *w) {
    static const char *const names[] = {"rest",  "xmin",  "xmax",   "ymin", "ymax", "zmin",  "zmax",
                                        "inner", "outer", "inside", "pipe", "ring", "sides", "outside"};
    static const char *const odd[] = {"", "no such part", "%n", "xmin ", "\xff", "x", NULL};
    int i = draw(w, 10);
    return i == 9 ? long_text() : i == 8 ? PICK(w, odd) : PICK(w, names);
}

static inline const char *any_group(struct world *w) {
    return rarely(w, 8) ? any_name(w) : NULL;
}

/* So many texts in an array of their own; by mistake a NULL. */
static inline const char **lend_texts(struct world *w, int n) {
    const char *texts[9] = {0};
    int room_for = n < 0 ? 0 : n > 9 ? 9 : n;
    for (int i = 0; i < room_for; i++) texts[i] = lend_text(w, any_text(w));
    return rarely(w, 32) ? NULL : lend(w, texts, (size_t)room_for * sizeof texts[0]);
}

/* A count of texts or values that is mostly this one. */
static inline int any_count(struct world *w, int right) {
    static const int counts[] = {0, -1, 1, 2, 3, 4, 9, INT32_MAX, INT32_MIN};
    return rarely(w, 10) ? PICK(w, counts) : right;
}

/* ------------------------------------------------------------------------------------------ functions */

/* Positive numbers; of matrices symmetric and definite ones; of two moduli such that both pairs may be. */
static inline double good_value(const facet_points *points, int n, int point, int c) {
    double x = points->x[point * points->dim], size = 1 + x * x / (1 + x * x) + 0.1 * points->t * points->t;
    int matrix = n == points->dim * points->dim;
    if (matrix) return c % (points->dim + 1) == 0 ? size : 0.1;
    return c == 0 ? size : 0.3;
}

static inline void check_points(const facet_points *points) {
    fuzz_check(points->n > 0 && (points->dim == 2 || points->dim == 3), "points that are none");
    check_finite((int64_t)points->n * points->dim, points->x, "a point that is not finite");
    for (int i = 0; points->normals != NULL && i < points->n; i++) {
        double length = 0;
        for (int d = 0; d < points->dim; d++) length += pow(points->normals[i * points->dim + d], 2);
        fuzz_check(fabs(length - 1) < 1e-10, "a normal that has not length 1");
    }
    fuzz_check(isfinite(points->t), "a time that is not finite");
    fuzz_check(points->group == NULL || strlen(points->group) < 100000, "a group without an end");
}

static inline int give(void *pointer, const facet_points *points, double *values) {
    static const double spoilt[N_MODES] = {
        [NEGATIVE] = -1,       [NOTHING] = 0, [LARGE] = 1e300, [NOT_A_NUMBER] = NAN,
        [INFINITE] = INFINITY, [REFUSES] = 1, [INTERRUPTS] = 1};
    const struct user *user = pointer;
    check_points(points);
    for (int i = 0; i < points->n * user->n; i++) {
        double value = good_value(points, user->n, i / user->n, i % user->n);
        values[i] = user->mode == GOOD ? value : user->mode == OTHER ? 1.5 * value : spoilt[user->mode];
    }
    if (user->mode == INTERRUPTS) {
        atomic_store(&interrupted, 1);
        facet_interrupt();
    }
    return user->mode == REFUSES;
}

/* Who is asked for n values a point from now on; those whom others ask are among them, with the n they had.
 */
static inline struct user *any_user(struct world *w, int n) {
    for (int i = 0; i < USERS; i++) {
        struct user *user = &w->users[i];
        if (user->n == 0) *user = (struct user){n, rarely(w, 6) ? (enum user_mode)draw(w, N_MODES) : GOOD};
        if (user->n == n && !rarely(w, 3)) return user;
    }
    return NULL;
}

static inline void change_user(struct world *w) {
    w->users[draw(w, USERS)].mode = rarely(w, 2) ? GOOD : (enum user_mode)draw(w, N_MODES);
}

/* ------------------------------------------------------------------------------------------ diffusion */

static inline void set_coefficients(struct world *w) {
    struct own_problem *p = any_problem(w);
    int n = any_count(w, rarely(w, 2) ? p->dim * p->dim : 1);
    const char *const *texts = lend_texts(w, n);
    switch (draw(w, 5)) {
    case 0:
        CALL(w, 0, facet_problem_set_conductivity(p->it, lend_text(w, any_group(w)), n, texts));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_reaction(p->it, lend_text(w, any_text(w))));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_source(p->it, lend_text(w, any_text(w))));
        break;
    case 3:
        CALL(w, 0, facet_problem_set_exact(p->it, lend_text(w, any_text(w))));
        break;
    default:
        CALL(w, 0,
             facet_problem_set_parameter(p->it, lend_text(w, rarely(w, 3) ? any_text(w) : "k"),
                                         any_number(w)));
    }
}

static inline void set_functions(struct world *w) {
    struct own_problem *p = any_problem(w);
    int matrix = rarely(w, 2), which = draw(w, 4), vector = p->equation == FACET_ELASTICITY;
    int n = which == 0 && matrix ? p->dim * p->dim : which == 2 && vector ? p->dim : 1;
    struct user *user = any_user(w, n);
    facet_function f = user != NULL && !rarely(w, 32) ? give : NULL;
    switch (which) {
    case 0:
        CALL(w, 0, facet_problem_set_conductivity_function(p->it, lend_text(w, any_group(w)), n, f, user));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_reaction_function(p->it, f, user));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_source_function(p->it, f, user));
        break;
    default:
        CALL(w, 0, facet_problem_set_conductivity_function(p->it, NULL, odd_int(w), f, user));
    }
}

static inline void set_conditions(struct world *w) {
    struct own_problem *p = any_problem(w);
    const char *part = lend_text(w, any_name(w)), *g = lend_text(w, rarely(w, 4) ? "exact" : any_text(w));
    struct user *user = any_user(w, 1);
    facet_function f = user != NULL && !rarely(w, 32) ? give : NULL;
    switch (draw(w, 5)) {
    case 0:
        CALL(w, 0, facet_problem_set_dirichlet(p->it, part, g));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_neumann(p->it, part, g));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_robin(p->it, part, lend_text(w, any_text(w)), g));
        break;
    case 3:
        CALL(w, 0, facet_problem_set_dirichlet_function(p->it, part, f, user));
        break;
    default:
        CALL(w, 0, facet_problem_set_neumann_function(p->it, part, f, user));
    }
}

/* ------------------------------------------------------------------------------------------ elasticity */

static inline const char *any_moduli(struct world *w) {
    static const char *const odd[] = {"", "mu", "nu,E", "mu, lambda", "E,nu,", NULL};
    return rarely(w, 8) ? PICK(w, odd) : rarely(w, 2) ? "E,nu" : "mu,lambda";
}

static inline void set_material(struct world *w) {
    static const char *const ratios[] = {"0.3",  "0",  "0.25 + 0.1*x/(1 + x*x)", "0.5", "0.49999",
                                         "-0.9", "1e9"};
    struct own_problem *p = any_problem(w);
    const char *texts[2] = {lend_text(w, any_text(w)), lend_text(w, PICK(w, ratios))};
    struct user *user = any_user(w, 2);
    if (rarely(w, 2) && user != NULL)
        CALL(w, 0,
             facet_problem_set_material_function(p->it, lend_text(w, any_group(w)),
                                                 lend_text(w, any_moduli(w)), give, user));
    else
        CALL(w, 0,
             facet_problem_set_material(p->it, lend_text(w, any_group(w)), lend_text(w, any_moduli(w)),
                                        rarely(w, 32) ? NULL : lend(w, texts, sizeof texts)));
}

static inline void set_vectors(struct world *w) {
    struct own_problem *p = any_problem(w);
    int n = any_count(w, p->dim);
    const char *part = lend_text(w, any_name(w)), **texts = lend_texts(w, n);
    if (n == p->dim && texts != NULL && rarely(w, 3)) texts[draw(w, n)] = NULL;
    switch (draw(w, 5)) {
    case 0:
        CALL(w, 0, facet_problem_set_vector_source(p->it, n, texts));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_vector_exact(p->it, n, texts));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_displacement(p->it, part, n, texts));
        break;
    case 3:
        CALL(w, 0, facet_problem_set_traction(p->it, part, n, texts));
        break;
    default:
        CALL(w, 0, facet_problem_set_gradient_pressure(p->it, part, n, texts));
    }
}

static inline void set_vector_functions(struct world *w) {
    struct own_problem *p = any_problem(w);
    const char *part = lend_text(w, any_name(w));
    int flags[3] = {draw(w, 2), draw(w, 3) - 1, draw(w, 2)};
    const int *given = rarely(w, 2) ? lend(w, flags, (size_t)p->dim * sizeof flags[0]) : NULL;
    struct user *user = any_user(w, p->dim);
    facet_function f = user != NULL && !rarely(w, 32) ? give : NULL;
    switch (draw(w, 3)) {
    case 0:
        CALL(w, 0, facet_problem_set_displacement_function(p->it, part, given, f, user));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_traction_function(p->it, part, given, f, user));
        break;
    default:
        CALL(w, 0, facet_problem_set_gradient_pressure_function(p->it, part, f, user));
    }
}

/* ------------------------------------------------------------------------------------ as it should be */

/* Data with which a problem on any mesh can be solved, unless other calls have said something else. */
static inline void complete(struct world *w, struct own_problem *p) {
    static const char *const ones[3] = {"1", "x", "k"};
    const char *texts[2] = {"1 + k*k", "0.3"};
    int exact = rarely(w, 2);
    CALL(w, 0, facet_problem_set_parameter(p->it, "k", 1));
    if (p->equation == FACET_ELASTICITY) {
        CALL(w, 0, facet_problem_set_material(p->it, NULL, "E,nu", lend(w, texts, sizeof texts)));
        CALL(w, 0, facet_problem_set_displacement(p->it, "rest", p->dim, ones));
        if (exact)
            CALL(w, 0, facet_problem_set_vector_exact(p->it, p->dim, ones));
        else
            CALL(w, 0, facet_problem_set_vector_source(p->it, p->dim, ones));
        return;
    }
    if (exact) CALL(w, 0, facet_problem_set_exact(p->it, "1 + x*y + t"));
    CALL(w, 0, facet_problem_set_dirichlet(p->it, "rest", exact ? "exact" : "x + k"));
    if (rarely(w, 2))
        CALL(w, 0, facet_problem_set_conductivity(p->it, NULL, 1, lend(w, texts, sizeof texts[0])));
    if (rarely(w, 2)) CALL(w, 0, facet_problem_set_reaction(p->it, "k"));
}

static inline void create_problem(struct world *w) {
    int i = draw(w, SLOTS), context = any_context(w), mesh = any_mesh(w);
    struct own_problem *p = &w->problems[i];
    drop_problem(w, i);
    *p = (struct own_problem){NULL, context, mesh, w->meshes[mesh].dim, (facet_equation)draw(w, 2)};
    facet_equation equation = rarely(w, 16) ? (facet_equation)odd_int(w) : p->equation;
    facet_status status = CALL(w, 0,
                               facet_problem_create(w->contexts[context], w->meshes[mesh].it, equation,
                                                    rarely(w, 32) ? NULL : &p->it));
    if (equation == FACET_DIFFUSION) p->equation = FACET_DIFFUSION; /* odd numbers have a 0 among them */
    fuzz_check(p->it == NULL || status == FACET_OK, "a problem with a failure");
    if (p->it != NULL && !rarely(w, 8)) complete(w, p);
}

#endif
