/* The backend of boxes, continuous elements solved whole (cui2024): over src/boxsem/boxsem.h. There is no
 * trace; what is condensed elsewhere is here one system over all nodes, solved by fast diagonalization where
 * the coefficients are numbers, or with cycles over vertex patches. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/boxsem.h"
#include "mesh/part.h"
#include "problem/box_backend.h"
#include "problem/choice.h"
#include "solve/jumps.h"

/* `auto` solves directly as long as no line of the box has more nodes: the modes of a line are a dense
 * matrix, whose eigenvectors cost the cube of its size and which every solve multiplies with
 * (docs/continuous.md). */
#define AUTO_DIRECT_LINE 300
/* Stretched cells take many cycles: beyond this ratio of widths lines may have so many. */
#define AUTO_STRETCH        3.0
#define AUTO_STRETCHED_LINE 3000
/* `auto` runs cycles in single precision from so many nodes on. */
#define AUTO_MIXED 100000
/* Entries of the matrix beyond it, and below its inverse, leave single precision together with the residuals.
 */
#define SINGLE_RANGE 1e24
/* The degree of the smoother chebyshev, unless it is given. */
#define CHEBYSHEV_DEGREE 4

/* ------------------------------------------------------------------------------ the choice */

_Static_assert(SMOOTHER_CHEBYSHEV - SMOOTHER_PATCHES == BOXSEM_CHEBYSHEV, "smoothers are words in order");

struct plan {
    struct choice choice;
    struct boxsem_options options;
};

enum fact {
    AUTO_METHOD = 1 << 0,
    AUTO_PRECONDITIONER = 1 << 1,
    TUNED = 1 << 2, /* a cycle, a smoother or their like was asked for */
    UNIFORM = 1 << 3,
    SHORT_LINES = 1 << 4,
    SEVERAL = 1 << 5, /* processes */
    FULL_CYCLE = 1 << 6,
    EXACT = 1 << 7,       /* patches solve what they see, and no cycle was asked for */
    UNSYMMETRIC = 1 << 8, /* the smoother or the cycle */
    DIRECT = 1 << 9,      /* is the method */
    PLAIN = 1 << 10,      /* the preconditioner: none or jacobi */
    OF_PATCHES = 1 << 11, /* the smoother */
    VERTICES = 1 << 12    /* follow the first level */
};

static const struct choice_row methods[] = {
    {0, AUTO_METHOD, CHOICE_ASKED, CHOICE_ASKED_FOR},
    {UNIFORM | AUTO_PRECONDITIONER | SHORT_LINES, TUNED | SEVERAL, METHOD_DIRECT,
     "coefficients are the same in all cells, and lines are short"},
    {FULL_CYCLE, 0, METHOD_MULTIGRID, "the cycle full is one of it"},
    {EXACT, 0, METHOD_MULTIGRID, "coefficients are the same in all cells"},
    {UNSYMMETRIC, 0, METHOD_FGMRES, "the smoother additive and the cycle F are not symmetric"},
    {0, 0, METHOD_CG, "cycles alone are for patches, and for coefficients that are the same in all cells"},
};
static const struct choice_row preconditioners[] = {
    {DIRECT, 0, PRECONDITIONER_NONE, "a direct solve needs none"},
    {PLAIN, 0, CHOICE_ASKED, CHOICE_ASKED_FOR},
    {OF_PATCHES, 0, PRECONDITIONER_PATCHES, "smoothed by the patches of vertices"},
    {VERTICES, 0, PRECONDITIONER_PMG, "the conductivity jumps"},
    {0, 0, PRECONDITIONER_GMG, "the smoother is not one of patches"},
};

/* Of all blocks; NaN where another process has failed, who says why. */
static double of_all(const struct box_data *data, enum team_reduction reduction, double value) {
    if (data->part == NULL) return value;
    return team_reduce(data->part->team, reduction, 1, &value) == FACET_OK ? value : NAN;
}

/* Jumps from which on a GPU has vertices below it: its patches are fast, and levels are made on the host. */
#define GPU_LARGE_JUMP 1e3

/* Whether k jumps so much from cell to cell that patches and larger cells take longer than polynomials and
 * vertices. Cycles by themselves have the former. */
static int has_jumps(const struct facet_solver *s, const struct box_data *data, const struct plan *c) {
    const struct options *o = &s->options;
    double low = INFINITY, high = 0.0;
    if (o->degree < 2 || c->choice.method != METHOD_CG || o->preconditioner != PRECONDITIONER_AUTO) return 0;
    int64_t n = 1;
    for (int d = 0; d < data->grid.dim; d++) n *= data->grid.cells[d];
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, data->conductivity[i]);
        high = fmax(high, data->conductivity[i]);
    }
    low = of_all(data, TEAM_MIN, low);
    high = of_all(data, TEAM_MAX, high);
    return high > (device_has_memory(s->context->device) ? GPU_LARGE_JUMP : SOLVE_LARGE_JUMP) * low;
}

static void choose_smoother(const struct options *o, int jumps, struct plan *c) {
    int any = o->smoother == SMOOTHER_AUTO;
    int smoother = !any ? o->smoother - SMOOTHER_PATCHES : jumps ? BOXSEM_CHEBYSHEV : BOXSEM_VERTEX;
    int degree = jumps && o->degree > CHEBYSHEV_DEGREE ? o->degree : CHEBYSHEV_DEGREE;
    c->options.smoother = (enum boxsem_smoother)smoother;
    c->options.vertices = jumps && smoother == BOXSEM_CHEBYSHEV;
    c->options.steps = o->smoother_degree > 0         ? o->smoother_degree
                       : smoother == BOXSEM_CHEBYSHEV ? degree
                                                      : 1;
}

/* A cycle, a smoother or their like was asked for. */
static int is_tuned(const struct options *o) {
    return o->cycle != CYCLE_AUTO || o->smoother != SMOOTHER_AUTO || o->smoother_degree > 0 ||
           o->precision != PRECISION_AUTO;
}

static facet_status require_kernels(const struct facet_solver *s) {
    if (team_size(mesh_team(s->problem->mesh)) > 1 && !device_is_host(s->context->device))
        return base_fail(FACET_ERROR_INPUT, "this device is not distributed yet; use the program facet");
    static const char *const kernels[] = {"brick_apply", "brick_prolong", "brick_restrict", "patch_sweep",
                                          NULL};
    return device_require(s->context->device, "the discretization continuous", kernels);
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
    low = of_all(data, TEAM_MIN, low);
    high = of_all(data, TEAM_MAX, high);
    return high / low;
}

/* Whether cycles in single precision can hold the matrix: its largest entries are about k h^(dim - 2). */
static int fits_single(const struct box_data *data) {
    const struct box_grid_data *g = &data->grid;
    double entry = 0.0, volume = 1.0;
    int64_t n = 1;
    for (int d = 0; d < g->dim; d++) {
        n *= g->cells[d];
        volume *= (g->coordinates[d][g->cells[d]] - g->coordinates[d][0]) / g->cells[d];
    }
    const double h = pow(volume, 1.0 / g->dim);
    for (int64_t i = 0; i < n; i++)
        entry = fmax(entry, (data->conductivity[i] / (h * h) + data->reaction[i]) * volume);
    entry = of_all(data, TEAM_MAX, entry);
    return entry < SINGLE_RANGE && entry > 1.0 / SINGLE_RANGE;
}

/* Nodes of the longest line, and all of them; of all blocks. */
static int count_nodes(const struct facet_solver *s, const struct box_data *data, int64_t *all) {
    const struct part_box *whole = data->part != NULL ? &data->part->mesh->part->box : NULL;
    int most = 0;
    *all = 1;
    for (int d = 0; d < data->grid.dim; d++) {
        const int cells = whole != NULL ? whole->cells[d] : data->grid.cells[d],
                  ring = whole != NULL ? whole->periodic[d] : data->grid.sides[d][0] == BOX_PERIODIC;
        int n = cells * s->options.degree + !ring;
        most = n > most ? n : most;
        *all *= n;
    }
    return most;
}

static facet_status choose_method(const struct facet_solver *s, const struct box_data *data, struct plan *c) {
    static const enum boxsem_solver solvers[] = {[METHOD_CG] = BOXSEM_CG,
                                                 [METHOD_FGMRES] = BOXSEM_FGMRES,
                                                 [METHOD_MULTIGRID] = BOXSEM_MULTIGRID,
                                                 [METHOD_DIRECT] = BOXSEM_DIRECT};
    const struct options *o = &s->options;
    int any = o->preconditioner == PRECONDITIONER_AUTO, uniform;
    facet_status status = box_data_is_uniform(data, &uniform);
    if (status != FACET_OK) return status;
    int64_t all;
    const int most = stretch(data) > AUTO_STRETCH ? AUTO_STRETCHED_LINE : AUTO_DIRECT_LINE,
              exact = uniform && (any || o->preconditioner >= PRECONDITIONER_GMG) &&
                      (o->smoother == SMOOTHER_AUTO || o->smoother == SMOOTHER_PATCHES);
    const unsigned facts =
        choice_fact(o->method == METHOD_AUTO, AUTO_METHOD) | choice_fact(any, AUTO_PRECONDITIONER) |
        choice_fact(is_tuned(o), TUNED) | choice_fact(uniform, UNIFORM) |
        choice_fact(count_nodes(s, data, &all) <= most, SHORT_LINES) |
        choice_fact(data->part != NULL, SEVERAL) | choice_fact(o->cycle == CYCLE_FULL, FULL_CYCLE) |
        choice_fact(exact && o->cycle == CYCLE_AUTO, EXACT) |
        choice_fact(o->smoother == SMOOTHER_ADDITIVE || o->cycle == CYCLE_F, UNSYMMETRIC);
    c->choice = (struct choice){0};
    c->choice.method = choice_take(methods, facts, o->method, &c->choice.why[1]);
    c->options.solver = solvers[c->choice.method];
    if (data->part == NULL || c->choice.method != METHOD_DIRECT) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the method direct is not distributed yet; use the program facet, or leave it to auto");
}

/* After the smoother. */
static void choose_preconditioner(const struct options *o, struct plan *c) {
    const int smoother = c->options.smoother;
    const unsigned facts =
        choice_fact(c->choice.method == METHOD_DIRECT, DIRECT) |
        choice_fact(o->preconditioner == PRECONDITIONER_JACOBI || o->preconditioner == PRECONDITIONER_NONE,
                    PLAIN) |
        choice_fact(smoother == BOXSEM_VERTEX || smoother == BOXSEM_ADDITIVE, OF_PATCHES) |
        choice_fact(c->options.vertices, VERTICES);
    c->choice.preconditioner = choice_take(preconditioners, facts, o->preconditioner, &c->choice.why[2]);
}

/* What the words mean here; those that mean nothing were refused. */
static facet_status choose(const struct facet_solver *s, const struct box_data *data, struct plan *c) {
    static const enum mg_cycle cycles[] = {MG_V, MG_V, MG_W, MG_F, MG_FULL};
    const struct options *o = &s->options;
    int64_t all;
    boxsem_options_default(&c->options);
    c->options.single = 0;
    facet_status status = choose_method(s, data, c);
    if (status != FACET_OK) return status;
    choose_smoother(o, has_jumps(s, data, c), c);
    choose_preconditioner(o, c);
    const int jacobi = c->choice.preconditioner == PRECONDITIONER_JACOBI;
    if (jacobi || c->choice.preconditioner == PRECONDITIONER_NONE) {
        c->options.preconditioner = jacobi ? BOXSEM_PRECONDITION_DIAGONAL : BOXSEM_PRECONDITION_NONE;
        return require_kernels(s);
    }
    c->options.cycle =
        o->cycle == CYCLE_AUTO && c->choice.method == METHOD_MULTIGRID ? MG_FULL : cycles[o->cycle];
    count_nodes(s, data, &all);
    c->options.single =
        o->precision == PRECISION_MIXED || (o->precision == PRECISION_AUTO && all >= AUTO_MIXED);
    if (c->options.single && !fits_single(data)) {
        if (o->precision == PRECISION_MIXED)
            return base_fail(FACET_ERROR_INPUT,
                             "the numbers of this problem are beyond single precision; use "
                             "{precision: double}");
        c->options.single = 0;
    }
    return require_kernels(s);
}

/* ------------------------------------------------------------------------------ set-up */

struct own {
    struct box_data data;
    int has_guess, has_trace; /* there is a guess of the caller's; a solution before */
    struct boxsem *elements;
};

static struct own *own_of(const struct facet_solver *s) {
    return s->self;
}

static struct boxsem *elements_of(const struct facet_solver *s) {
    return own_of(s)->elements;
}

static void destroy(struct facet_solver *s) {
    struct own *b = own_of(s);
    if (b == NULL) return;
    boxsem_destroy(&b->elements);
    box_data_destroy(&b->data);
    base_free(&s->self);
}

/* As of the condensed method, the unknowns of the volume are all nodes; on the trace there are none. Of a
 * block the nodes that belong to the cells above them count, so that the sum over all is theirs. */
static void describe(struct facet_solver *s, const struct box_data *data) {
    s->system = (struct hdg_system){.n_free = -1};
    s->n_unknowns = -1;
    count_nodes(s, data, &s->system.n_volume);
    if (data->part == NULL) return;
    const struct part_box *whole = &data->part->mesh->part->box;
    s->system.n_volume = 1;
    for (int d = 0; d < data->grid.dim; d++) {
        const int last = whole->first[d] + data->grid.cells[d] == whole->cells[d] && !whole->periodic[d];
        s->system.n_volume *= (int64_t)data->grid.cells[d] * s->options.degree + last;
    }
}

facet_status boxsem_foresee(struct facet_solver *s, const struct box_data *data, struct choice *choice) {
    struct plan plan;
    describe(s, data);
    facet_status status = choose(s, data, &plan);
    if (status == FACET_OK) *choice = plan.choice;
    return status;
}

facet_status boxsem_start(struct facet_solver *s, struct box_data *data) {
    struct plan plan;
    struct own *b;
    facet_status status = FACET_OK;
    TRY(CALLOC(b, 1));
    s->backend = &boxsem_backend;
    s->self = b;
    b->data = *data;
    *data = (struct box_data){0};
    TRY(choose(s, &b->data, &plan));
    s->method = plan.choice.method;
    s->preconditioner = plan.choice.preconditioner;
    describe(s, &b->data);
    TRY(boxsem_create(s->context->device, &b->data.grid, s->options.degree, &plan.options, &b->elements));
    struct multigrid *mg = boxsem_multigrid(b->elements);
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
done:
    return status;
}

/* ------------------------------------------------------------------------------ solve */

static int64_t n_unknowns(const struct facet_solver *s) {
    return elements_of(s)->n_all;
}

static facet_status apply(const struct facet_solver *s, const double *x, double *y) {
    return boxsem_apply(elements_of(s), BOXSEM_PRODUCT, x, y);
}

static facet_status precondition(const struct facet_solver *s, const double *x, double *y) {
    return boxsem_apply(elements_of(s), BOXSEM_PRECONDITIONER, x, y);
}

static facet_status get_system(const struct facet_solver *s, double *F, double *x) {
    return boxsem_get_system(elements_of(s), F, x);
}

/* A solution that is not to be gone on from, or that failed, leaves zero behind. there: a source on the
 * device. */
static facet_status begin(struct facet_solver *s, const double *source, const double *there) {
    facet_status status = FACET_OK;
    struct own *b = own_of(s);
    const struct box_given given = box_given_data(s, &own_of(s)->data, source);
    if (!b->has_guess && !(b->has_trace && s->options.warm_start)) TRY(boxsem_set_guess(b->elements, NULL));
    b->has_guess = b->has_trace = 0;
    TRY(there != NULL ? boxsem_load_there(b->elements, &given, there) : boxsem_load(b->elements, &given));
    memcpy(s->imbalance, b->elements->imbalance, sizeof s->imbalance);
done:
    return status;
}

static facet_status load(struct facet_solver *s, const double *source) {
    return begin(s, source, NULL);
}

static facet_status load_there(struct facet_solver *s, const double *source) {
    return begin(s, NULL, source);
}

static facet_status copy_there(const struct facet_solver *s, double *u) {
    return boxsem_get(elements_of(s), 0, u);
}

static facet_status solve(struct facet_solver *s) {
    struct solve_control control = {.rtol = s->options.rtol,
                                    .max_iterations = s->options.max_iterations,
                                    .monitor = &s->context->monitor};
    facet_status status;
    int before = 0;
    do status = boxsem_solve(elements_of(s), &control, &s->report);
    while (status == FACET_OK && s->method != METHOD_DIRECT &&
           solve_again(s->options.error, &control, &s->report, &before));
    if (status == FACET_OK) status = solve_reached(s->options.error, &s->report);
    own_of(s)->has_trace = status == FACET_OK;
    if (s->method == METHOD_DIRECT) s->report.rate = -1.0;
    return status;
}

/* u is there when the system is solved. */
static facet_status recover(struct facet_solver *s) {
    (void)s;
    return FACET_OK;
}

/* Whoever works on tiles has the lock: their scratch is one for all readers. */
static facet_status copy_out(const struct facet_solver *s, double *u) {
    solver_lock(s);
    const facet_status status = boxsem_get(elements_of(s), 1, u);
    solver_unlock(s);
    return status;
}

static facet_status find_fluxes(const struct facet_solver *s, int version, double *left) {
    (void)version;
    const struct box_given given = box_given_data(s, &own_of(s)->data, NULL);
    facet_status status = boxsem_find_fluxes(elements_of(s), &given);
    *left = elements_of(s)->fluxes.left;
    return status;
}

static facet_status face_fluxes(const struct facet_solver *s, int version, int n,
                                const struct mesh_group_face *faces, double *fluxes) {
    (void)version;
    facet_status status = FACET_OK;
    for (int i = 0; i < n; i++) {
        int d, side;
        shape_face_side(s->problem->mesh->blocks[0].shape, faces[i].local, &d, &side);
        TRY(boxsem_face_flux(elements_of(s), faces[i].cell, d, side, fluxes + 3 * (int64_t)i));
    }
done:
    return status;
}

/* Fluxes are sums of the host: u of a device with a memory of its own comes back for those that somebody asks
 * for, and not for this. */
static facet_status conservation(const struct facet_solver *s, struct solve_balance *balance) {
    facet_status status = FACET_OK;
    const struct boxsem *c = elements_of(s);
    double left;
    if (device_is_host(c->device)) TRY(solver_find_fluxes(s, BACKEND_SOLVED, &left));
    if (c->fluxes.known) *balance = c->fluxes.balance;
done:
    return status;
}

static facet_status set_guess(struct facet_solver *s, const double *u) {
    facet_status status = FACET_OK;
    s->solved = 0; /* the solution is overwritten */
    TRY(boxsem_set_guess(elements_of(s), u));
    own_of(s)->has_guess = 1;
done:
    return status;
}

static facet_status set_reaction(struct facet_solver *s, double reaction) {
    facet_status status = FACET_OK;
    TRY(boxsem_set_reaction(elements_of(s), reaction));
    struct multigrid *mg = boxsem_multigrid(elements_of(s));
    if (mg != NULL) TRY(multigrid_watch(mg, s->options.watch));
    s->solved = 0;
done:
    return status;
}

static const struct multigrid *multigrid_of(const struct facet_solver *s) {
    return elements_of(s) != NULL ? boxsem_multigrid(elements_of(s)) : NULL;
}

static facet_status measure_errors(const struct facet_solver *s, struct hdg_errors *errors) {
    struct box_errors e;
    solver_lock(s);
    const facet_status status = boxsem_measure_errors(elements_of(s), s->problem->exact, &e);
    solver_unlock(s);
    if (status != FACET_OK) return status;
    *errors = box_points_errors(&e, 0);
    errors->trace_L2 = -1.0;
    return FACET_OK;
}

/* ------------------------------------------------------------------------------ fields */

static facet_status evaluate(const struct facet_solver *s, int version, enum hdg_field field, int n_cells,
                             const int32_t *cells, const struct backend_points *points, double *values) {
    (void)version;
    facet_status status = FACET_OK;
    const struct box_places places = box_points_places(points);
    const int64_t size = (int64_t)points->n * (field == HDG_Q ? s->problem->mesh->dim : 1);
    for (int i = 0; i < n_cells; i++)
        TRY(boxsem_evaluate(elements_of(s), field == HDG_Q ? BOXSEM_Q : BOXSEM_U, cells[i], &places,
                            values + i * size));
done:
    return status;
}

static facet_status fetch(const struct facet_solver *s, int64_t n, const int32_t *cells) {
    facet_status status = FACET_OK;
    int64_t *list = NULL, m;
    if (cells != NULL) TRY(box_points_list(n, cells, &list, &m));
    TRY(boxsem_fetch(elements_of(s), cells != NULL ? m : 0, list));
done:
    base_free(&list);
    return status;
}

static facet_status reduce(const struct facet_solver *s, enum hdg_field field, enum backend_take take, int n,
                           const double *x, double *values, int64_t *n_pairs) {
    const struct boxsem *c = elements_of(s);
    const int whole = take == BACKEND_INTEGRALS || take == BACKEND_TOTAL;
    *n_pairs = field == HDG_U ? s->problem->mesh->n_cells : 0;
    if (*n_pairs == 0) return FACET_OK;
    solver_lock(s);
    const facet_status status = whole ? boxsem_integrals(c, values) : boxsem_extremes(c, n, x, values);
    solver_unlock(s);
    return whole ? box_points_integrals(s, status, values) : status;
}

/* clang-format off */
const struct backend boxsem_backend = {
    .destroy = destroy, .n_points = box_points_count, .points = box_points_source,
    .point_weights = box_points_source_weights,
    .n_unknowns = n_unknowns, .apply = apply, .precondition = precondition, .get_system = get_system,
    .load = load, .solve = solve, .recover = recover, .conservation = conservation, .copy_out = copy_out,
    .load_there = load_there, .copy_there = copy_there, .set_guess = set_guess, .set_reaction = set_reaction,
    .multigrid = multigrid_of, .measure_errors = measure_errors, .prepare = box_points_prepare,
    .rule = box_points_rule, .weights = box_points_weights, .map = box_points_map, .evaluate = evaluate,
    .fetch = fetch, .reduce = reduce, .face_rule = box_points_face_rule, .find_fluxes = find_fluxes,
    .face_fluxes = face_fluxes,
};
/* clang-format on */
