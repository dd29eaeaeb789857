/* The backend of boxes, continuous elements solved whole (cui2024): over src/boxsem/boxsem.h. There is no
 * trace; what is condensed elsewhere is here one system over all nodes, solved by fast diagonalization where
 * the coefficients are numbers, or with cycles over vertex patches. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/boxsem.h"
#include "problem/box.h"

/* `auto` solves directly as long as no line of the box has more nodes: the modes of a line are a dense
 * matrix, whose eigenvectors cost the cube of its size and which every solve multiplies with
 * (docs/continuous.md). */
#define AUTO_DIRECT_LINE 300
/* Stretched cells take many cycles: beyond this ratio of widths lines may have so many. */
#define AUTO_STRETCH        3.0
#define AUTO_STRETCHED_LINE 3000
/* `auto` runs cycles in single precision from so many nodes on. */
#define AUTO_MIXED 100000
/* The degree of the smoother chebyshev, unless it is given. */
#define CHEBYSHEV_DEGREE 4

static int is(const char *given, const char *word) {
    return strcmp(given != NULL ? given : "auto", word) == 0;
}

/* ------------------------------------------------------------------------------ the choice */

struct choice {
    struct boxsem_options options;
    const char *method, *preconditioner;
};

static int find_word(const char *const *words, const char *word) {
    for (int i = 0; words[i] != NULL; i++)
        if (is(word, words[i])) return i;
    return -1;
}

static facet_status choose_smoother(const facet_options *o, struct choice *c) {
    static const char *const words[] = {
        [BOXSEM_VERTEX] = "patches", [BOXSEM_ADDITIVE] = "additive",   [BOXSEM_POINT] = "point",
        [BOXSEM_JACOBI] = "jacobi",  [BOXSEM_CHEBYSHEV] = "chebyshev", [BOXSEM_N_SMOOTHERS] = NULL};
    int found = is(o->smoother, "auto") ? BOXSEM_VERTEX : find_word(words, o->smoother);
    if (found < 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the smoother %s belongs to the discretization hdg; continuous has "
                         "patches, additive, point, jacobi and chebyshev",
                         o->smoother);
    c->options.smoother = (enum boxsem_smoother)found;
    int patches = found == BOXSEM_VERTEX || found == BOXSEM_ADDITIVE;
    if (is(o->preconditioner, "patches") && !patches)
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioner patches smooths with patches; the smoother %s goes with gmg",
                         o->smoother);
    if (found == BOXSEM_JACOBI && o->smoother_degree > 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the smoother jacobi takes one step; with a smoother_degree it is chebyshev");
    c->options.steps = o->smoother_degree > 0      ? o->smoother_degree
                       : found == BOXSEM_CHEBYSHEV ? CHEBYSHEV_DEGREE
                                                   : 1;
    c->preconditioner = patches ? "patches" : "gmg";
    return FACET_OK;
}

/* Cycles that are not symmetric are not for conjugate gradients, and the full one is a solver by itself. */
static facet_status choose_cycle(const facet_options *o, struct choice *c) {
    static const char *const words[] = {"V", "W", "F", "full", NULL};
    static const enum mg_cycle cycles[] = {MG_V, MG_W, MG_F, MG_FULL};
    int multigrid = c->options.solver == BOXSEM_MULTIGRID;
    c->options.cycle =
        is(o->cycle, "auto") ? (multigrid ? MG_FULL : MG_V) : cycles[find_word(words, o->cycle)];
    if (c->options.cycle == MG_FULL && !multigrid)
        return base_fail(FACET_ERROR_INPUT, "the cycle full goes with the method multigrid, not with %s",
                         c->method);
    if (c->options.cycle == MG_F && c->options.solver == BOXSEM_CG)
        return base_fail(FACET_ERROR_INPUT,
                         "the cycle F is not symmetric, as cg needs it; use {method: fgmres}");
    return FACET_OK;
}

/* What none of the choices has. */
static facet_status check_words(const struct facet_solver *s) {
    const facet_options *o = &s->options;
    static const char *const preconditioners[] = {"auto", "none", "jacobi", "gmg", "patches", NULL};
    if (find_word(preconditioners, o->preconditioner) < 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioner %s does not belong to the discretization continuous, which has "
                         "none, jacobi, gmg and patches",
                         o->preconditioner);
    const char *key = o->coarse_device != NULL  ? "a coarse_device"
                      : o->coarse_unknowns > 0  ? "coarse_unknowns"
                      : !is(o->degrees, "auto") ? "a sequence of degrees"
                      : o->fill > 0.0           ? "a fill"
                                                : NULL;
    if (key != NULL) return base_fail(FACET_ERROR_INPUT, "%s belongs to the discretization hdg", key);
    static const char *const kernels[] = {"brick_apply", "brick_prolong", "brick_restrict", "patch_sweep",
                                          NULL};
    static const char *const points[] = {"point_sweep", NULL};
    facet_status status = device_require(s->context->device, "the discretization continuous", kernels);
    if (status == FACET_OK && is(o->smoother, "point"))
        status = device_require(s->context->device, "the smoother point", points);
    return status;
}

/* The first key that only cycles know; NULL: none was given. */
static const char *cycle_key(const facet_options *o) {
    return !is(o->cycle, "auto")       ? "a cycle"
           : !is(o->smoother, "auto")  ? "a smoother"
           : o->smoother_degree > 0    ? "a smoother_degree"
           : !is(o->precision, "auto") ? "a precision"
                                       : NULL;
}

/* The largest width of a cell over the smallest. */
static double stretch(const struct box_data *data) {
    double low = INFINITY, high = 0.0;
    for (int d = 0; d < data->grid.dim; d++)
        for (int i = 0; i < data->grid.cells[d]; i++) {
            double h = data->grid.coordinates[d][i + 1] - data->grid.coordinates[d][i];
            low = fmin(low, h);
            high = fmax(high, h);
        }
    return high / low;
}

static int is_uniform(const struct box_data *data) {
    int64_t n = 1;
    for (int d = 0; d < data->grid.dim; d++) n *= data->grid.cells[d];
    for (int64_t c = 1; c < n; c++)
        if (data->conductivity[c] != data->conductivity[0] || data->reaction[c] != data->reaction[0])
            return 0;
    return 1;
}

/* Nodes of the longest line, and all of them. */
static int count_nodes(const struct facet_solver *s, const struct box_data *data, int64_t *all) {
    int most = 0;
    *all = 1;
    for (int d = 0; d < data->grid.dim; d++) {
        int n = data->grid.cells[d] * s->options.degree + (data->grid.sides[d][0] != BOX_PERIODIC);
        most = n > most ? n : most;
        *all *= n;
    }
    return most;
}

static facet_status choose_method(const struct facet_solver *s, const struct box_data *data,
                                  struct choice *c) {
    static const char *const names[] = {[BOXSEM_MULTIGRID] = "multigrid",
                                        [BOXSEM_CG] = "cg",
                                        [BOXSEM_FGMRES] = "fgmres",
                                        [BOXSEM_DIRECT] = "direct"};
    const facet_options *o = &s->options;
    const char *key = cycle_key(o);
    int any = is(o->preconditioner, "auto"), uniform = is_uniform(data);
    int plain = is(o->preconditioner, "none") || is(o->preconditioner, "jacobi");
    int exact = uniform && !plain && (is(o->smoother, "auto") || is(o->smoother, "patches"));
    int64_t all;
    if (is(o->method, "direct") && !uniform)
        return base_fail(
            FACET_ERROR_INPUT,
            "the direct solve of the discretization continuous needs a conductivity and a reaction "
            "that are the same in all cells; use {method: cg}");
    if (is(o->method, "direct") && (key != NULL || !(any || is(o->preconditioner, "none"))))
        return base_fail(FACET_ERROR_INPUT, "%s does not belong to the direct solve",
                         key != NULL ? key : "a preconditioner");
    if (plain && (key != NULL || is(o->method, "multigrid")))
        return base_fail(FACET_ERROR_INPUT, "%s needs the preconditioner gmg or patches, not %s",
                         key != NULL ? key : "the method multigrid", o->preconditioner);
    enum boxsem_solver *solver = &c->options.solver;
    int most = stretch(data) > AUTO_STRETCH ? AUTO_STRETCHED_LINE : AUTO_DIRECT_LINE;
    if (is(o->method, "auto"))
        *solver = uniform && any && key == NULL && count_nodes(s, data, &all) <= most ? BOXSEM_DIRECT
                  : is(o->cycle, "full") || (exact && is(o->cycle, "auto"))           ? BOXSEM_MULTIGRID
                  : is(o->smoother, "additive") || is(o->cycle, "F")                  ? BOXSEM_FGMRES
                                                                                      : BOXSEM_CG;
    else
        *solver = is(o->method, "direct")   ? BOXSEM_DIRECT
                  : is(o->method, "cg")     ? BOXSEM_CG
                  : is(o->method, "fgmres") ? BOXSEM_FGMRES
                                            : BOXSEM_MULTIGRID;
    c->method = names[*solver];
    return FACET_OK;
}

/* Every key is used or refused. */
static facet_status choose(const struct facet_solver *s, const struct box_data *data, struct choice *c) {
    facet_status status = FACET_OK;
    const facet_options *o = &s->options;
    int64_t all;
    boxsem_options_default(&c->options);
    c->options.single = 0;
    TRY(check_words(s));
    TRY(choose_method(s, data, c));
    int plain = is(o->preconditioner, "none") || is(o->preconditioner, "jacobi");
    if (c->options.solver == BOXSEM_DIRECT || plain) {
        c->preconditioner = is(o->preconditioner, "jacobi") ? "jacobi" : "none";
        c->options.preconditioner =
            is(o->preconditioner, "jacobi") ? BOXSEM_PRECONDITION_DIAGONAL : BOXSEM_PRECONDITION_NONE;
        goto done;
    }
    TRY(choose_smoother(o, c));
    TRY(choose_cycle(o, c));
    count_nodes(s, data, &all);
    c->options.single = is(o->precision, "mixed") || (is(o->precision, "auto") && all >= AUTO_MIXED);
done:
    return status;
}

/* ------------------------------------------------------------------------------ set-up */

static void destroy(struct facet_solver *s) {
    struct box_backend *b = s->box;
    if (b == NULL) return;
    boxsem_destroy(&b->continuous);
    box_data_destroy(&b->data);
    base_free(&s->box);
}

/* As of the condensed method, the unknowns of the volume are all nodes; on the trace there are none. */
static void describe(struct facet_solver *s, const struct box_data *data) {
    s->system = (struct hdg_system){.n_free = -1};
    count_nodes(s, data, &s->system.n_volume);
}

facet_status boxsem_count(struct facet_solver *s, const struct box_data *data) {
    struct choice choice;
    describe(s, data);
    return choose(s, data, &choice);
}

facet_status boxsem_start(struct facet_solver *s) {
    facet_status status = FACET_OK;
    struct choice choice;
    s->backend = &boxsem_backend;
    TRY(choose(s, &s->box->data, &choice));
    s->method = choice.method;
    s->preconditioner = choice.preconditioner;
    describe(s, &s->box->data);
    TRY(boxsem_create(s->context->device, &s->box->data.grid, s->options.degree, &choice.options,
                      &s->box->continuous));
    struct multigrid *mg = boxsem_multigrid(s->box->continuous);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_points(const struct facet_solver *s) {
    return s->box->continuous->n_volume;
}

static facet_status source_points(const struct facet_solver *s, double *x) {
    return box_points_source(s, &s->box->continuous->grid, x);
}

/* A solution that is not to be gone on from, or that failed, leaves zero behind. */
static facet_status load(struct facet_solver *s, const double *source) {
    facet_status status = FACET_OK;
    struct box_backend *b = s->box;
    const struct box_given given = box_given_data(s, source);
    if (!b->has_guess && !(b->has_trace && s->options.warm_start)) TRY(boxsem_set_guess(b->continuous, NULL));
    b->has_guess = b->has_trace = 0;
    TRY(boxsem_load(b->continuous, &given));
done:
    return status;
}

static facet_status solve(struct facet_solver *s) {
    struct solve_control control = {.rtol = s->options.rtol,
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor};
    facet_status status = boxsem_solve(s->box->continuous, &control, &s->report);
    s->box->has_trace = status == FACET_OK;
    if (is(s->method, "direct")) s->report.rate = NAN;
    return status;
}

/* u is there when the system is solved. */
static facet_status recover(struct facet_solver *s) {
    (void)s;
    return FACET_OK;
}

static facet_status copy_out(const struct facet_solver *s, double *u) {
    return boxsem_get(s->box->continuous, u);
}

static facet_status conservation(const struct facet_solver *s, double *imbalance) {
    (void)s;
    *imbalance = -1.0;
    return FACET_OK;
}

static facet_status set_guess(struct facet_solver *s, const double *u) {
    facet_status status = FACET_OK;
    s->solved = 0; /* the solution is overwritten */
    TRY(boxsem_set_guess(s->box->continuous, u));
    s->box->has_guess = 1;
done:
    return status;
}

static facet_status set_reaction(struct facet_solver *s, double reaction) {
    facet_status status = FACET_OK;
    TRY(boxsem_set_reaction(s->box->continuous, reaction));
    struct multigrid *mg = boxsem_multigrid(s->box->continuous);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
    s->solved = 0;
done:
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return s->box->continuous != NULL ? boxsem_multigrid(s->box->continuous) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    struct box_errors e;
    facet_status status = boxsem_measure_errors(s->box->continuous, s->problem->exact, &e);
    if (status != FACET_OK) return status;
    *errors = (struct hdg_errors){.u_L2 = e.u_L2,
                                  .u_Linf = e.u_Linf,
                                  .q_L2 = e.q_L2,
                                  .u_star_L2 = -1.0,
                                  .q_star_L2 = -1.0,
                                  .trace_L2 = -1.0};
    return FACET_OK;
}

/* ------------------------------------------------------------------------------ fields */

static facet_status evaluate(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                             const struct backend_points *points, double *values) {
    const struct box_places places = box_points_places(points);
    return boxsem_evaluate(s->box->continuous, field == HDG_Q ? BOXSEM_Q : BOXSEM_U, cell, &places, values);
}

const struct backend boxsem_backend = {.destroy = destroy,
                                       .n_points = n_points,
                                       .points = source_points,
                                       .load = load,
                                       .solve = solve,
                                       .recover = recover,
                                       .conservation = conservation,
                                       .copy_out = copy_out,
                                       .set_guess = set_guess,
                                       .set_reaction = set_reaction,
                                       .multigrid = multigrid_of,
                                       .measure_errors = measure_errors,
                                       .prepare = box_points_prepare,
                                       .rule = box_points_rule,
                                       .weights = box_points_weights,
                                       .map = box_points_map,
                                       .evaluate = evaluate,
                                       .face_rule = box_points_face_rule,
                                       .face_flux = box_points_face_flux};
