/* Different solvers in different threads: mixed problems, two solvers of one problem, one mesh and one
 * context for all, each call with one thread of its own. The results are those of one caller, bit for bit.
 * Under the thread sanitizer (cmake --preset thread) this is also where races show themselves. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

#define N_THREADS 4

static void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", facet_message());
}

/* What is solved, and how. */
struct job {
    int dim;
    const char *shape;
    int cells, refine;
    int elastic;
    const char *conductivity;
    facet_options options; /* size, degree, rtol and max_iterations are filled in */
    int degree;
};
static const struct job jobs[] = {
    {2, "triangle", 6, 0, 0, "1 + x*y", {.method = "cg"}, 3},
    {2, "triangle", 6, 0, 0, "1 + x*y", {.method = "direct"}, 3},
    {2, "quad", 3, 1, 0, "1 + x", {.preconditioner = "gmg", .method = "cg"}, 2},
    {2, "quad", 6, 0, 0, "1", {.discretization = "condensed", .preconditioner = "amg", .method = "cg"}, 3},
    {3, "tet", 2, 0, 1, NULL, {.method = NULL}, 1},
    {3, "tet", 2, 0, 1, NULL, {.preconditioner = "pmg", .method = "cg"}, 2},
    {3, "hex", 4, 0, 0, "1", {.operator_name = "tensor", .method = "direct"}, 3},
    {3, "hex", 4, 0, 0, "1", {.operator_name = "tensor", .preconditioner = "additive", .method = "cg"}, 4},
    {3, "hex", 4, 0, 0, "1", {.discretization = "continuous"}, 3},
    {2, "quad", 8, 0, 0, "1", {.discretization = "continuous", .precision = "mixed"}, 4},
};
#define N_JOBS    ((int)(sizeof jobs / sizeof jobs[0]))
#define FIRST_BOX 6

/* A solution: the numbers at the points, and how many iterations they took. */
struct result {
    int64_t n;
    double *u;
    int iterations;
};

static facet_status make_mesh(facet_context *context, const struct job *job, facet_mesh **mesh) {
    const facet_box box = {.size = sizeof box,
                           .dim = job->dim,
                           .upper = {1, 1, 1},
                           .cells = {job->cells, job->cells, job->cells},
                           .shape = job->shape};
    facet_status status = facet_mesh_create_box(context, &box, mesh);
    if (status == FACET_OK && job->refine > 0) status = facet_mesh_refine(*mesh, job->refine);
    return status;
}

static facet_status make_problem(facet_context *context, const facet_mesh *mesh, const struct job *job,
                                 facet_problem **problem) {
    static const char *const moduli[2] = {"1", "2"}, *const force[3] = {"x", "-1", "y*z"},
                             *const zero[3] = {"0", "0", "0"};
    facet_status status = FACET_OK;
    *problem = NULL;
    TRY(facet_problem_create(context, mesh, job->elastic ? FACET_ELASTICITY : FACET_DIFFUSION, problem));
    if (job->elastic) {
        TRY(facet_problem_set_material(*problem, NULL, "mu,lambda", moduli));
        TRY(facet_problem_set_vector_source(*problem, job->dim, force));
        TRY(facet_problem_set_displacement(*problem, "xmin", job->dim, zero));
        TRY(facet_problem_set_traction(*problem, "rest", job->dim, zero));
        goto done;
    }
    TRY(facet_problem_set_conductivity(*problem, NULL, 1, &job->conductivity));
    TRY(facet_problem_set_source(*problem, "sin(3*x) + y"));
    TRY(facet_problem_set_dirichlet(*problem, "xmin", "y"));
    TRY(facet_problem_set_neumann(*problem, "rest", "0"));
done:
    return status;
}

static facet_status solve(const facet_problem *problem, const struct job *job, struct result *result) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options = job->options;
    facet_report report = {.size = sizeof report};
    options.size = sizeof options;
    options.degree = job->degree;
    options.rtol = 1e-9;
    options.max_iterations = 1000;
    options.postprocess = 1;
    TRY(facet_solver_create(problem, &options, &solver));
    result->n = facet_solver_n_points(solver) * (job->elastic ? job->dim : 1);
    result->u = malloc((size_t)result->n * sizeof *result->u);
    for (int again = 0; again < 2; again++) TRY(facet_solver_solve(solver, NULL, result->u));
    TRY(facet_solver_report(solver, &report));
    result->iterations = report.iterations;
done:
    facet_solver_destroy(&solver);
    return status;
}

/* From nothing to the solution; mesh and problem: NULL where they are to be the job's own. */
static facet_status run(facet_context *context, const struct job *job, const facet_mesh *mesh,
                        const facet_problem *problem, struct result *result) {
    facet_status status = FACET_OK;
    facet_mesh *own_mesh = NULL;
    facet_problem *own_problem = NULL;
    *result = (struct result){0};
    if (mesh == NULL && problem == NULL) TRY(make_mesh(context, job, &own_mesh));
    if (problem == NULL) TRY(make_problem(context, mesh != NULL ? mesh : own_mesh, job, &own_problem));
    TRY(solve(problem != NULL ? problem : own_problem, job, result));
done:
    facet_problem_destroy(&own_problem);
    facet_mesh_destroy(&own_mesh);
    return status;
}

static facet_context *one_threaded(const char *device) {
    facet_context *context;
    ok(facet_context_create(device, &context));
    ok(facet_context_set_threads(context, 1));
    return context;
}

/* ------------------------------------------------------------------------------------------ callers */

enum sharing { NOTHING, MESH, PROBLEM }; /* those of a mesh share a context too */

struct caller {
    int number, n_rounds, first; /* first: the job that it begins with */
    const char *device;
    facet_context *context; /* shared, or NULL: its own */
    facet_mesh *const *meshes;
    facet_problem *const *problems;
    const struct result *expected;
    pthread_barrier_t *barrier;
    atomic_int *wrong;
    pthread_t thread;
};

static void *call(void *data) {
    struct caller *c = data;
    facet_context *own = NULL;
    if (c->context == NULL &&
        (facet_context_create(c->device, &own) != FACET_OK || facet_context_set_threads(own, 1) != FACET_OK))
        atomic_fetch_add(c->wrong, 1);
    facet_context *context = c->context != NULL ? c->context : own;
    pthread_barrier_wait(c->barrier);
    for (int round = 0; round < c->n_rounds; round++)
        for (int i = 0; i < N_JOBS - c->first; i++) {
            /* in the first round all do the same at the same time, then each something else */
            int k = c->first + (i + round * c->number * 3) % (N_JOBS - c->first);
            const struct result *e = &c->expected[k];
            struct result r;
            facet_status status = run(context, &jobs[k], c->meshes != NULL ? c->meshes[k] : NULL,
                                      c->problems != NULL ? c->problems[k] : NULL, &r);
            int same = status == FACET_OK && r.n == e->n && r.iterations == e->iterations &&
                       memcmp(r.u, e->u, (size_t)r.n * sizeof *r.u) == 0;
            if (!same) {
                atomic_fetch_add(c->wrong, 1);
                fprintf(stderr, "job %d in thread %d, round %d: status %d (%s), %d iterations, not %d\n", k,
                        c->number, round, (int)status, status == FACET_OK ? "other bits" : facet_message(),
                        r.iterations, e->iterations);
            }
            free(r.u);
        }
    facet_context_destroy(&own);
    return NULL;
}

static void call_from_threads(const char *device, int first, enum sharing sharing, int n_rounds) {
    struct result expected[N_JOBS] = {{0}};
    struct caller callers[N_THREADS];
    facet_mesh *meshes[N_JOBS] = {NULL};
    facet_problem *problems[N_JOBS] = {NULL};
    pthread_barrier_t barrier;
    atomic_int wrong = 0;
    facet_context *context = one_threaded(device);
    for (int i = first; i < N_JOBS; i++) ok(run(context, &jobs[i], NULL, NULL, &expected[i]));
    for (int i = first; i < N_JOBS && sharing >= MESH; i++) {
        ok(make_mesh(context, &jobs[i], &meshes[i]));
        if (sharing == PROBLEM) ok(make_problem(context, meshes[i], &jobs[i], &problems[i]));
    }
    assert_int_equal(pthread_barrier_init(&barrier, NULL, N_THREADS), 0);
    for (int t = 0; t < N_THREADS; t++) {
        callers[t] = (struct caller){.number = t,
                                     .n_rounds = n_rounds,
                                     .first = first,
                                     .device = device,
                                     .context = sharing >= MESH ? context : NULL,
                                     .meshes = sharing >= MESH ? meshes : NULL,
                                     .problems = sharing == PROBLEM ? problems : NULL,
                                     .expected = expected,
                                     .barrier = &barrier,
                                     .wrong = &wrong};
        assert_int_equal(pthread_create(&callers[t].thread, NULL, call, &callers[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++) pthread_join(callers[t].thread, NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < N_JOBS; i++) {
        facet_problem_destroy(&problems[i]);
        facet_mesh_destroy(&meshes[i]);
        free(expected[i].u);
    }
    facet_context_destroy(&context);
    assert_int_equal(wrong, 0);
}

static void callers_that_share_nothing(void **state) {
    (void)state;
    call_from_threads("cpu", 0, NOTHING, 2);
}

/* The lists of a box are made by whoever comes first. */
static void callers_that_share_a_mesh(void **state) {
    (void)state;
    call_from_threads("cpu", 0, MESH, 1);
}

static void solvers_of_one_problem(void **state) {
    (void)state;
    call_from_threads("cpu", 0, PROBLEM, 2);
}

static void callers_behind_the_wall(void **state) {
    (void)state;
    call_from_threads("debug", 0, PROBLEM, 1);
}

/* Where there is one: boxes, which it has. */
static void callers_on_the_gpu(void **state) {
    (void)state;
    facet_context *context = NULL;
    if (facet_context_create("cuda", &context) != FACET_OK) skip();
    facet_context_destroy(&context);
    call_from_threads("cuda", FIRST_BOX, NOTHING, 2);
    call_from_threads("cuda", FIRST_BOX, PROBLEM, 2);
}

/* ------------------------------------------------------------------------------------------ readers */

/* All that is read of a solution, in whatever order: what one reader makes others use. */
#define N_POINTS 40
#define N_FIELDS 3
struct seen {
    double at[N_FIELDS][N_POINTS * 9], by_field[N_FIELDS][N_POINTS * 9];
    double integral[N_FIELDS][9], largest[N_FIELDS], flux[9], conservation;
    double n_points; /* of a sample */
};
static const char *const read_fields[2][N_FIELDS] = {{"u", "q", "u_star"}, {"u", "stress", "strain"}};

static facet_status read_field(const facet_solver *solver, const char *name, const double *x, int i,
                               struct seen *seen) {
    facet_status status = FACET_OK;
    facet_field *field = NULL;
    int n;
    TRY(facet_solver_evaluate(solver, name, N_POINTS, x, seen->at[i]));
    TRY(facet_field_create(solver, name, &field));
    TRY(facet_field_evaluate(field, N_POINTS, x, seen->by_field[i]));
    TRY(facet_solver_take(solver, name, -1, "integral", 0, NULL, seen->integral[i], &n));
    TRY(facet_solver_take(solver, name, -1, "max", 0, NULL, &seen->largest[i], &n));
done:
    facet_field_destroy(&field);
    return status;
}

static facet_status read_all(const facet_solver *solver, const struct job *job, int first,
                             struct seen *seen) {
    static const char *const part[1] = {"xmin"};
    facet_status status = FACET_OK;
    facet_sample *sample = NULL;
    facet_sample_info info = {.size = sizeof info};
    double x[3 * N_POINTS];
    int n;
    memset(seen, 0, sizeof *seen);
    for (int i = 0; i < N_POINTS * job->dim; i++) x[i] = 0.05 + 0.9 * (double)(i * 7919 % 101) / 101.0;
    const int n_fields = job->options.discretization == NULL ? N_FIELDS : 2; /* only hdg has u* */
    for (int i = 0; i < n_fields; i++) {
        const int k = (first + i) % n_fields;
        TRY(read_field(solver, read_fields[job->elastic][k], x, k, seen));
    }
    TRY(facet_solver_take(solver, job->elastic ? "traction" : "flux", -1, "integral", 1, part, seen->flux,
                          &n));
    TRY(facet_sample_create(solver, NULL, 0, &sample));
    TRY(facet_sample_get_info(sample, &info));
    seen->n_points = (double)info.n_points;
done:
    facet_sample_destroy(&sample);
    return status;
}

/* Each walks over all cells. */
#define N_REPORTS 50
static facet_status read_reports(const facet_solver *solver, struct seen *seen) {
    facet_status status = FACET_OK;
    facet_report report = {.size = sizeof report};
    for (int i = 0; i < N_REPORTS; i++) {
        TRY(facet_solver_report(solver, &report));
        seen->conservation = fmax(seen->conservation, report.conservation);
    }
done:
    return status;
}

struct reader {
    int number;
    const facet_solver *solver;
    const struct job *job;
    const struct seen *expected;
    pthread_barrier_t *barrier;
    atomic_int *wrong;
    pthread_t thread;
};

/* Rounding of what is fetched from a device depends on whether all cells are. */
static int are_close(const struct seen *a, const struct seen *b) {
    const double *x = a->at[0], *y = b->at[0];
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * (1.0 + fabs(y[i])))) return 0;
    return 1;
}

static void *read_at_once(void *data) {
    const struct reader *r = data;
    struct seen seen;
    pthread_barrier_wait(r->barrier);
    facet_status status = read_all(r->solver, r->job, r->number, &seen);
    pthread_barrier_wait(r->barrier); /* now all cells are there, and nobody waits for another */
    if (status == FACET_OK) status = read_reports(r->solver, &seen);
    if (status == FACET_OK && are_close(&seen, r->expected)) return NULL;
    fprintf(stderr, "job %d, reader %d: %s\n", (int)(r->job - jobs), r->number,
            status == FACET_OK ? "other numbers" : facet_message());
    atomic_fetch_add(r->wrong, 1);
    return NULL;
}

/* A solver that one thread has read, and, after another solve, all at once. */
static void read_from_threads(facet_context *context, const struct job *job, atomic_int *wrong) {
    struct reader readers[N_THREADS];
    struct seen expected;
    pthread_barrier_t barrier;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_options options = job->options;
    options.size = sizeof options;
    options.degree = job->degree;
    options.rtol = 1e-9;
    options.max_iterations = 1000;
    options.postprocess = 1;
    ok(make_mesh(context, job, &mesh));
    ok(make_problem(context, mesh, job, &problem));
    ok(facet_solver_create(problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(read_all(solver, job, 0, &expected));
    ok(read_reports(solver, &expected));
    ok(facet_solver_solve(solver, NULL, NULL));
    assert_int_equal(pthread_barrier_init(&barrier, NULL, N_THREADS), 0);
    for (int t = 0; t < N_THREADS; t++) {
        readers[t] = (struct reader){t, solver, job, &expected, &barrier, wrong, 0};
        assert_int_equal(pthread_create(&readers[t].thread, NULL, read_at_once, &readers[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++) pthread_join(readers[t].thread, NULL);
    pthread_barrier_destroy(&barrier);
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
}

static void readers_of_one_solution(void **state) {
    static const struct {
        const char *device;
        int threads;
    } places[] = {{"cpu", 1}, {"cpu", 2}, {"debug", 1}};
    static const int read_jobs[] = {0, 3, 5, 6, 8, 9};
    atomic_int wrong = 0;
    (void)state;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        facet_context *context = one_threaded(places[p].device);
        ok(facet_context_set_threads(context, places[p].threads));
        for (size_t i = 0; i < sizeof read_jobs / sizeof *read_jobs; i++)
            read_from_threads(context, &jobs[read_jobs[i]], &wrong);
        facet_context_destroy(&context);
    }
    assert_int_equal(wrong, 0);
}

/* ------------------------------------------------------------------------------------------ interrupts */

/* Solves again and again until it is interrupted. */
struct endless {
    facet_context *context;
    atomic_int n_solves, status;
    pthread_t thread;
};

static void *solve_for_ever(void *data) {
    struct endless *e = data;
    facet_status status = FACET_OK;
    while (status == FACET_OK) {
        struct result r;
        status = run(e->context, &jobs[0], NULL, NULL, &r);
        free(r.u);
        atomic_fetch_add(&e->n_solves, 1);
    }
    atomic_store(&e->status, status);
    return NULL;
}

static void each_context_is_interrupted_by_itself(void **state) {
    (void)state;
    struct endless e[2];
    struct result r;
    for (int i = 0; i < 2; i++) {
        e[i].context = one_threaded(NULL);
        atomic_init(&e[i].n_solves, 0);
        atomic_init(&e[i].status, FACET_OK);
        assert_int_equal(pthread_create(&e[i].thread, NULL, solve_for_ever, &e[i]), 0);
    }
    while (atomic_load(&e[0].n_solves) < 2 || atomic_load(&e[1].n_solves) < 2) sched_yield();
    facet_context_interrupt(e[0].context);
    pthread_join(e[0].thread, NULL);
    assert_int_equal(atomic_load(&e[0].status), FACET_INTERRUPTED);
    int before = atomic_load(&e[1].n_solves);
    while (atomic_load(&e[1].n_solves) < before + 2) sched_yield(); /* the other goes on */
    assert_int_equal(atomic_load(&e[1].status), FACET_OK);
    facet_interrupt();
    pthread_join(e[1].thread, NULL);
    assert_int_equal(atomic_load(&e[1].status), FACET_INTERRUPTED);
    /* The first context has no call under way: its next one obeys, and the one after works. */
    assert_int_equal(run(e[0].context, &jobs[0], NULL, NULL, &r), FACET_INTERRUPTED);
    free(r.u);
    for (int i = 0; i < 2; i++) {
        ok(run(e[i].context, &jobs[0], NULL, NULL, &r));
        free(r.u);
        facet_context_destroy(&e[i].context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_that_share_nothing),
        cmocka_unit_test(callers_that_share_a_mesh),
        cmocka_unit_test(solvers_of_one_problem),
        cmocka_unit_test(callers_behind_the_wall),
        cmocka_unit_test(callers_on_the_gpu),
        cmocka_unit_test(readers_of_one_solution),
        cmocka_unit_test(each_context_is_interrupted_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
