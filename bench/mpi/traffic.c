/* facet-mpi bench traffic: what a process sends in an iteration with p-multigrid, counted, and what that
 * would cost on a network that is not here. docs/distributed.md has the formulas. */
#include <math.h>

#include "bench/bench.h"
#include "bench/mpi/box.h"
#include "device/device.h"
#include "mesh/part.h"

/* The network that is assumed: seconds of a message, bytes per second, and seconds of a reduction for each
 * doubling of the ranks. */
#define LATENCY   1.5e-6
#define BANDWIDTH 12.5e9
#define REDUCTION 1.0e-6

struct traffic {
    int iterations, neighbours;
    double work; /* seconds of an iteration and an unknown on one rank by itself */
    double unknowns, shared;
    double messages, bytes, reductions; /* of an iteration, of the rank that has most */
};

static facet_status make_solver(facet_context *context, const struct box_problem *kind, int quick,
                                facet_mesh **mesh, facet_problem **problem, facet_solver **solver) {
    facet_status status = FACET_OK;
    facet_options options;
    TRY(box_problem_create(context, kind, quick, mesh, problem));
    facet_options_default(&options, sizeof options);
    options.degree = kind->degree;
    options.operator_name = "mapped";
    options.postprocess = 0;
    options.method = "cg";
    options.preconditioner = "pmg";
    TRY(facet_solver_create(*problem, &options, solver));
done:
    return status;
}

/* By the first rank alone, while the others wait. */
static facet_status measure_alone(const struct bench_options *bench, const struct box_problem *kind,
                                  double *work) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_report report = {.size = sizeof report};
    *work = 0.0;
    if (team_rank(bench->context->team) > 0) goto done;
    TRY(facet_context_create(bench->device, &context));
    TRY(facet_context_set_threads(context, bench->threads));
    TRY(make_solver(context, kind, bench->quick, &mesh, &problem, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    TRY(facet_solver_report(solver, &report));
    *work = report.seconds[FACET_PHASE_SOLVE] / report.iterations / (double)report.trace_unknowns;
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

static facet_status measure(const struct bench_options *bench, const struct box_problem *kind,
                            struct traffic *t) {
    facet_status status = FACET_OK;
    struct base_team *team = bench->context->team;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_report report = {.size = sizeof report};
    double work;
    TRY(measure_alone(bench, kind, &work));
    TRY(make_solver(bench->context, kind, bench->quick, &mesh, &problem, &solver));
    const struct mesh_part *part = mesh->part;
    const struct team_traffic before = part->team->traffic;
    TRY(facet_solver_solve(solver, NULL, NULL));
    const struct team_traffic after = part->team->traffic;
    TRY(facet_solver_report(solver, &report));
    double most[] = {(double)(after.messages - before.messages),
                     (double)(after.bytes - before.bytes),
                     (double)(after.reductions - before.reductions),
                     (double)part->n_seam_faces,
                     (double)part->n_neighbours,
                     work};
    TRY(team_reduce(team, TEAM_MAX, 6, most));
    const double n = report.iterations;
    *t = (struct traffic){.iterations = report.iterations,
                          .neighbours = (int)most[4],
                          .work = most[5],
                          .unknowns = (double)report.trace_unknowns / team_size(team),
                          .shared = most[3],
                          .messages = most[0] / n,
                          .bytes = most[1] / n,
                          .reductions = most[2] / n};
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    return status;
}

/* The part of an iteration with so many unknowns a rank that is work, without the last level: surfaces grow
 * like the power 2/3 of what they enclose, a rank has six neighbours, and nothing overlaps. */
static double predict(const struct traffic *t, double unknowns, double ranks) {
    const double size = unknowns / t->unknowns, neighbours = 6.0, work = t->work * unknowns;
    return work / (work + t->messages / t->neighbours * neighbours * LATENCY +
                   t->bytes * pow(size, 2.0 / 3.0) * neighbours / t->neighbours / BANDWIDTH +
                   t->reductions * REDUCTION * log2(ranks));
}

facet_status bench_traffic(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"problem",    "unknowns a rank", "shared faces", "neighbours",
                                          "iterations", "messages",        "kB",           "reductions",
                                          "us of work", "at 1e3",          "1e4",          "1e5 ranks"};
    struct table *table = NULL;
    TRY(table_create(12, headers, &table));
    if (team_size(bench->context->team) < 2)
        FAIL(FACET_ERROR_INPUT, "one rank sends nothing; use mpiexec -n 2 or more");
    for (int i = 0; i < box_n_problems; i++) {
        struct traffic t;
        TRY(measure(bench, &box_problems[i], &t));
        table_cell(table, "%s, k = %d", box_problems[i].name, box_problems[i].degree);
        table_cell(table, "%.0f", t.unknowns);
        table_cell(table, "%.0f", t.shared);
        table_cell(table, "%d", t.neighbours);
        table_cell(table, "%d", t.iterations);
        table_cell(table, "%.0f", t.messages);
        table_cell(table, "%.1f", t.bytes / 1e3);
        table_cell(table, "%.1f", t.reductions);
        table_cell(table, "%.2f", 1e6 * t.work);
        for (int k = 3; k <= 5; k++) table_cell(table, "%.0f %%", 100.0 * predict(&t, 1e5, pow(10.0, k)));
    }
    TRY(bench_emit(
        bench, "mpi-traffic",
        "What the rank that sends most sends in an iteration with p-multigrid, without the last level; "
        "the work of an iteration for each unknown, on one rank by itself; and how much of an iteration "
        "with 1e5 unknowns a rank is work, where a message takes 1.5 us and 12.5 GB a second, a "
        "reduction 1 us for each doubling of the ranks, and nothing overlaps.",
        table));
done:
    table_destroy(&table);
    return status;
}
