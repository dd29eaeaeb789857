/* Fuzzes facet.h: the input chooses a sequence of its calls, good and bad, in any order that the header
 * allows, with several contexts, meshes, problems and solvers alive. Each call must end with a status that it
 * may have and, when it fails, with a message of its own; what is given back must be finite; a refused call
 * must not change what the next one gives; after the sequence a small problem still has its known answer, and
 * nothing is allocated.
 *
 * FACET_FUZZ_TRACE=1 prints every call. */
#include "api_more.h"

#include <limits.h>

#define AVAILABLE  256e6 /* bytes that the machine seems to have, so that what is huge is refused */
#define MOST_CELLS 64
#define MOST_BYTES 512 /* of an input: a sequence of some fifty calls */

/* ------------------------------------------------------------------------------------------ contexts */

static void watch(void *user, const facet_event *event) {
    fuzz_check(event->kind == FACET_EVENT_TICK || strcmp(facet_phase_name(event->phase), "?") != 0,
               "an event of a phase that is none");
    if (user == NULL || event->kind != FACET_EVENT_ITERATION) return;
    atomic_store(&interrupted, 1);
    facet_context_interrupt(user);
}

static void create_context(struct world *w) {
    static const char *const devices[] = {"cpu", "ref", "debug", NULL}, *const odd[] = {"cuda", "", "CPU",
                                                                                        "%n"};
    int i = draw(w, SLOTS);
    if (w->contexts[i] != NULL && !rarely(w, 8)) return;
    drop_context(w, i);
    const char *device = rarely(w, 6) ? PICK(w, odd) : PICK(w, devices);
    facet_status status = CALL(w, MAY_LACK, facet_context_create(lend_text(w, device), &w->contexts[i]));
    check_made(status, w->contexts[i]);
    if (rarely(w, 32)) CALL(w, 0, facet_context_create("cpu", NULL));
}

static void use_context(struct world *w) {
    static const int threads[] = {1, 0, 2, 3, -1, 4097, INT_MAX, INT_MIN};
    facet_context *context = w->contexts[any_context(w)];
    switch (draw(w, 8)) {
    case 0:
        CALL(w, 0, facet_context_set_threads(context, PICK(w, threads)));
        break;
    case 1:
        fuzz_check(facet_context_threads(context) > 0, "no threads");
        fuzz_check(strcmp(facet_version(), FACET_VERSION) == 0, "another version");
        break;
    case 2:
        fuzz_check(facet_context_device(context)[0] != '\0', "a device without a name");
        break;
    case 3:
        facet_context_set_monitor(context, NULL, context);
        break;
    case 4:
        facet_context_set_monitor(context, watch, rarely(w, 4) ? context : NULL);
        break;
    case 5:
        fuzz_check(facet_phase_name((facet_phase)odd_int(w))[0] != '\0', "a phase without a name");
        break;
    case 6:
        facet_interrupt_clear();
        break;
    default:
        if (!rarely(w, 4)) break;
        atomic_store(&interrupted, 1);
        if (rarely(w, 2))
            facet_interrupt();
        else
            facet_context_interrupt(context);
    }
}

/* ------------------------------------------------------------------------------------------ meshes */

/* What a mesh that was just made, or refined, says of itself. */
static void look_at_mesh(struct world *w, struct own_mesh *m) {
    facet_mesh_info info = {.size = sizeof info};
    if (m->it == NULL || CALL(w, 0, facet_mesh_get_info(m->it, &info)) != FACET_OK) return;
    const double numbers[] = {info.volume, info.smallest_cell, info.largest_cell, info.smallest_jacobian};
    check_finite(COUNT(numbers), numbers, "a mesh with numbers that are not finite");
    fuzz_check(info.n_cells > 0 && info.volume > 0 && info.shape[0] != '\0', "a mesh that is none");
    m->dim = info.dim;
    m->cells = info.n_cells;
}

static void get_info(struct world *w) {
    facet_mesh_info *info = any_struct(w, sizeof *info);
    facet_status status = CALL(w, 0, facet_mesh_get_info(w->meshes[any_mesh(w)].it, info));
    if (status == FACET_OK && is_whole(info, sizeof *info))
        fuzz_check(isfinite(info->volume), "a volume that is not finite");
}

static const double *lend_coordinates(struct world *w, int cells) {
    static const double coordinates[] = {0, 0.25, 0.75, 1};
    double *lent = lend(w, coordinates, ((size_t)cells + 1) * sizeof coordinates[0]);
    if (rarely(w, 6)) lent[draw(w, cells + 1)] = any_number(w);
    return lent;
}

/* One thing wrong, or at least unusual. */
static void spoil_box(struct world *w, facet_box *box) {
    int a = draw(w, 3);
    switch (draw(w, 6)) {
    case 0:
        box->dim = odd_int(w);
        break;
    case 1: /* a count below what the caller's coordinates have would be his mistake, one above ours */
        box->cells[a] = (const int[]){0, -1, INT_MIN, INT_MAX, 1 << 30}[draw(w, 5)];
        for (int d = 0; d < 3; d++) box->coordinates[d] = NULL;
        break;
    case 2:
        box->lower[a] = any_number(w);
        break;
    case 3:
        box->upper[a] = any_number(w);
        break;
    case 4:
        box->shape = lend_text(w, bad_text(w));
        break;
    default:
        box->split = lend_text(w, rarely(w, 2) ? "five" : "left");
    }
}

static void create_box(struct world *w) {
    static const char *const shapes[2][2] = {{"triangle", "quad"}, {"tet", "hex"}};
    int i = draw(w, SLOTS), context = any_context(w), dim = 2 + rarely(w, 3);
    facet_box box = {.size = sizeof box, .dim = dim, .upper = {1, 1, 1}};
    if (w->meshes[i].it != NULL && !rarely(w, 4)) return;
    drop_mesh(w, i);
    for (int a = 0; a < 3; a++) {
        box.cells[a] = 1 + draw(w, dim == 2 ? 3 : 2);
        box.periodic[a] = rarely(w, 8);
        if (rarely(w, 6)) box.coordinates[a] = lend_coordinates(w, box.cells[a]);
    }
    box.shape = lend_text(w, shapes[dim - 2][draw(w, 2)]);
    if (rarely(w, 4)) spoil_box(w, &box);
    w->meshes[i] = (struct own_mesh){.context = context, .dim = dim};
    const facet_box *given = rarely(w, 32) ? NULL : lend(w, &box, sizeof box);
    facet_status status =
        CALL(w, MAY_LACK, facet_mesh_create_box(w->contexts[context], given, &w->meshes[i].it));
    check_made(status, w->meshes[i].it);
    look_at_mesh(w, &w->meshes[i]);
}

static void read_mesh(struct world *w) {
    static const char *const paths[] = {"tests/meshes/annulus_1_22.msh",
                                        "tests/meshes/annulus_2_41b.msh",
                                        "tests/meshes/straight_2.msh",
                                        "tests/meshes/hex_1.msh",
                                        "tests/meshes/tets_1.msh",
                                        "tests/meshes/pipe_2_22.msh",
                                        "tests/meshes/ball_1_22.msh",
                                        "tests/meshes/periodic_22.msh",
                                        "tests/meshes/prisms.msh",
                                        "tests/meshes/annulus.geo",
                                        "tests/meshes",
                                        "/nowhere/mesh.msh",
                                        "",
                                        "/dev/null",
                                        "%s%n",
                                        NULL};
    int i = draw(w, SLOTS), context = any_context(w);
    if (w->meshes[i].it != NULL && !rarely(w, 4)) return;
    drop_mesh(w, i);
    w->meshes[i] = (struct own_mesh){.context = context, .dim = 2};
    facet_status status = CALL(
        w, MAY_LACK, facet_mesh_read(w->contexts[context], lend_text(w, PICK(w, paths)), &w->meshes[i].it));
    check_made(status, w->meshes[i].it);
    look_at_mesh(w, &w->meshes[i]);
}

static void refine_mesh(struct world *w) {
    static const int odd[] = {0, -1, INT_MIN, INT_MAX, 31, 16};
    struct own_mesh *m = &w->meshes[any_mesh(w)];
    int small = m->cells << m->dim <= MOST_CELLS;
    CALL(w, MAY_LACK, facet_mesh_refine(m->it, small && !rarely(w, 4) ? 1 : PICK(w, odd)));
    look_at_mesh(w, m);
}

/* ------------------------------------------------------------------------------------ what must stay */

enum { N_SHAPES = 4 };
/* A small problem of each kind of operator whose solution lies in the space. */
static void known_answer(struct world *w, facet_context *context, int shape) {
    static const char *const shapes[N_SHAPES] = {"quad", "triangle", "tet", "hex"};
    const facet_box box = {.size = sizeof box,
                           .dim = 2 + shape / 2,
                           .cells = {2, 1, 1},
                           .upper = {1, 1, 1},
                           .shape = shapes[shape]};
    facet_options options;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_errors errors = {.size = sizeof errors};
    facet_status status = FACET_OK;
    facet_options_default(&options, sizeof options);
    options.degree = 2;
    TRY(CALL(w, 0, facet_mesh_create_box(context, &box, &mesh)));
    TRY(CALL(w, 0, facet_problem_create(context, mesh, FACET_DIFFUSION, &problem)));
    TRY(CALL(w, 0, facet_problem_set_exact(problem, "1 + x*x - y")));
    TRY(CALL(w, 0, facet_solver_create(problem, &options, &solver)));
    TRY(CALL(w, 0, facet_solver_solve(solver, NULL, NULL)));
    TRY(CALL(w, 0, facet_solver_errors(solver, &errors)));
    check(errors.u_L2 < 1e-8 && errors.q_L2 < 1e-7, "known_answer", "another answer");
done:
    check(status == FACET_OK || atomic_load(&interrupted), "known_answer", "a good problem is refused");
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
}

static void known_answer_here(struct world *w) {
    facet_context *context = w->contexts[any_context(w)];
    if (context != NULL) known_answer(w, context, draw(w, N_SHAPES));
}

/* Calls that are refused, or for others, after which a solver must give what it gave before. */
static void disturb(struct world *w, struct own_solver *s) {
    facet_report none = {.size = 0};
    double x[3] = {NAN, 0, 0}, value[9];
    int64_t n = n_numbers(s);
    double *bad = lend(w, NULL, (size_t)n * sizeof *bad);
    bad[n - 1] = NAN;
    switch (draw(w, 12)) {
    case 0:
        CALL(w, 0, facet_solver_solve(s->it, bad, NULL));
        break;
    case 1:
        CALL(w, 0, facet_solver_solve_n(s->it, n - 1, bad, NULL));
        break;
    case 2:
        CALL(w, 0, facet_solver_set_guess(s->it, n, bad));
        break;
    case 3:
        CALL(w, 0, facet_solver_set_reaction(s->it, -1));
        break;
    case 4:
        CALL(w, 0, facet_solver_set_parameter(s->it, "k", NAN));
        break;
    case 5:
        CALL(w, 0, facet_solver_set_time(s->it, INFINITY));
        break;
    case 6:
        CALL(w, 0, facet_solver_evaluate(s->it, "u", 1, x, value));
        break;
    case 7:
        CALL(w, MAY_LACK, facet_solver_write(s->it, "/nowhere/a.vtu", NULL));
        break;
    case 8:
        CALL(w, 0, facet_solver_report(s->it, &none));
        break;
    case 9:
        set_coefficients(w);
        break;
    case 10:
        drop_problem(w, draw(w, SLOTS));
        break;
    default:
        CALL(w, 0, facet_solver_set_parameter(s->it, "none", 1));
    }
}

/* The same solve gives the same bits, whatever was refused in between. The first of three takes up data that
 * have changed, and the guess. */
static void solve_again(struct world *w) {
    struct own_solver *s = any_solver(w);
    int64_t n = n_numbers(s);
    double *before = room(w, (size_t)n * sizeof *before), *after = room(w, (size_t)n * sizeof *after);
    if (s->it == NULL || CALL(w, MAY_STOP | MAY_LACK, facet_solver_solve(s->it, NULL, NULL)) != FACET_OK)
        return;
    if (CALL(w, MAY_STOP, facet_solver_solve(s->it, NULL, before)) != FACET_OK) return;
    disturb(w, s);
    facet_status status = CALL(w, MAY_STOP, facet_solver_solve(s->it, NULL, after));
    if (atomic_load(&interrupted) || s->warm) return;
    check(status == FACET_OK, "solve_again", "a solve that was good before");
    check(memcmp(before, after, (size_t)n * sizeof *before) == 0, "solve_again", "other bits than before");
}

/* ------------------------------------------------------------------------------------------ sequences */

static void drop_one(struct world *w) {
    int kind = draw(w, 4), i = draw(w, SLOTS);
    if (kind == 0)
        drop_solver(w, i);
    else if (kind == 1)
        drop_problem(w, i);
    else if (rarely(w, 4))
        kind == 2 ? drop_mesh(w, i) : drop_context(w, i);
}

/* The more often a line stands here, the more often it is drawn. */
static void (*const operations[])(struct world *) = {
    create_context,
    use_context,
    use_context,
    create_box,
    read_mesh,
    refine_mesh,
    get_info,
    create_problem,
    create_problem,
    set_coefficients,
    set_functions,
    set_conditions,
    set_material,
    set_vectors,
    set_vector_functions,
    change_user,
    create_solver,
    create_solver,
    create_solver,
    create_solver,
    solve,
    solve,
    solve,
    change_solver,
    change_solver,
    change_solver,
    get_points,
    get_report,
    get_level,
    get_errors,
    evaluate,
    evaluate,
    write_file,
    known_answer_here,
    solve_again,
    solve_again,
    drop_one,
    create_arrays,
    read_arrays,
    integrate,
    set_more,
    set_more_functions,
    take_value,
    look_at_system,
    look_at_system,
    carry_field,
    sample,
    use_case,
};

static void say_counts(void) {
    fprintf(stderr, "fuzz_api: %lld calls, %lld of them good\n", n_calls, n_good);
}

static void begin(void) {
    static int begun;
    fuzz_begin();
    if (!begun) atexit(say_counts);
    begun = 1;
    base_pretend_available(AVAILABLE);
    atomic_store(&interrupted, 0);
}

/* With a known answer from a context of its own: interrupts of all contexts are taken back before it. */
static void end(struct world *w, int shape) {
    facet_context *context;
    take_back(w, 1);
    for (int i = 0; i < SLOTS; i++) drop_context(w, i);
    facet_interrupt_clear();
    atomic_store(&interrupted, 0);
    fuzz_check(facet_context_create("cpu", &context) == FACET_OK, "no context");
    known_answer(w, context, shape);
    facet_context_destroy(&context);
    fuzz_end(FACET_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world w = {.next = data, .left = size < MOST_BYTES ? size : MOST_BYTES};
    begin();
    for (int i = 0; i < SLOTS; i++) w.meshes[i].dim = w.problems[i].dim = w.solvers[i].dim = 2;
    for (int i = 0; i < 2; i++) {
        create_context(&w);
        create_box(&w);
    }
    while (w.left > 0) {
        if (w.contexts[any_context(&w)] == NULL) create_context(&w);
        if (w.meshes[any_mesh(&w)].it == NULL) create_box(&w);
        if (any_problem(&w)->it == NULL) create_problem(&w);
        if (any_solver(&w)->it == NULL) create_solver(&w);
        take_back(&w, 1);
        PICK(&w, operations)(&w);
        take_back(&w, 1);
    }
    end(&w, (int)(size % N_SHAPES));
    return 0;
}
