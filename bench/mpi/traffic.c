/* facet-mpi bench traffic: what a process sends in an iteration with p-multigrid, counted, and what that
 * would cost on a network that is not here. docs/distributed.md has the formulas. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/mpi/box.h"
#include "device/device.h"
#include "mesh/part.h"
#include "problem/backend.h"
#include "problem/problem.h"
#include "solve/multigrid.h"

/* The network that is assumed: seconds of a message, bytes per second, and seconds of a reduction for each
 * doubling of the ranks. */
#define LATENCY   1.5e-6
#define BANDWIDTH 12.5e9
#define REDUCTION 1.0e-6
/* A rank inside of a box has six neighbours. */
#define NEIGHBOURS 6.0
/* A cycle of algebraic multigrid on the last level: grids shrink by this factor, from the ranks that take
 * part on at least once a doubling of these; on each grid a rank has so many neighbours, and so many
 * exchanges: two sweeps, a residual, a restriction, a prolongation. What hypre's users report of 3D problems;
 * not counted here. */
#define SHRINKS        6.0
#define AMG_EXCHANGES  5.0
#define AMG_NEIGHBOURS 30.0

#define MOST_LEVELS 4
struct counted {
    double messages, bytes, reductions; /* of an iteration, of the rank that has most */
};
struct traffic {
    int iterations, neighbours, n_levels;
    double work; /* seconds of an iteration and an unknown on one rank by itself */
    double unknowns, shared, last,
        visits; /* last: unknowns of the last level a rank; visits of an iteration */
    struct counted all, levels[MOST_LEVELS];
    char names[MOST_LEVELS][32];
};

static facet_status make_solver(facet_context *context, const struct box_problem *kind, int quick,
                                facet_mesh **mesh, facet_problem **problem, facet_solver **solver) {
    facet_status status = FACET_OK;
    facet_options options;
    TRY(box_problem_create(context, kind, quick, NULL, mesh, problem));
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

/* What was sent for the levels so far: 3 numbers each, and the visits of the last. */
#define N_COUNTS (3 * MOST_LEVELS + 1)
static void count_levels(const facet_solver *solver, struct traffic *t, double counts[N_COUNTS]) {
    const struct multigrid *mg = solver->backend->multigrid(solver);
    const int n = multigrid_n_levels(mg);
    for (int l = 0; l < n; l++) {
        struct mg_summary summary;
        multigrid_summarize(mg, l, &summary);
        if (l == n - 1) {
            counts[3 * MOST_LEVELS] = (double)summary.visits;
            t->last = (double)summary.n;
        } else if (l < MOST_LEVELS) {
            snprintf(t->names[l], sizeof t->names[l], "%s", summary.name);
            counts[3 * l] = (double)summary.traffic.messages;
            counts[3 * l + 1] = (double)summary.traffic.bytes;
            counts[3 * l + 2] = (double)summary.traffic.reductions;
        }
    }
    t->n_levels = n - 1 < MOST_LEVELS ? n - 1 : MOST_LEVELS;
}

static struct counted counted_of(const double counts[3], double iterations) {
    return (struct counted){counts[0] / iterations, counts[1] / iterations, counts[2] / iterations};
}

static facet_status measure(const struct bench_options *bench, const struct box_problem *kind,
                            struct traffic *t) {
    facet_status status = FACET_OK;
    struct base_team *team = bench->context->team;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    facet_report report = {.size = sizeof report};
    double before[N_COUNTS] = {0}, counts[N_COUNTS] = {0};
    *t = (struct traffic){0};
    TRY(measure_alone(bench, kind, &t->work));
    TRY(make_solver(bench->context, kind, bench->quick, &mesh, &problem, &solver));
    const struct mesh_part *part = mesh->part;
    count_levels(solver, t, before);
    const struct team_traffic sent = part->team->traffic;
    TRY(facet_solver_solve(solver, NULL, NULL));
    const struct team_traffic now = part->team->traffic;
    count_levels(solver, t, counts);
    TRY(facet_solver_report(solver, &report));
    for (int i = 0; i < N_COUNTS; i++) counts[i] -= before[i];
    double most[] = {(double)(now.messages - sent.messages),
                     (double)(now.bytes - sent.bytes),
                     (double)(now.reductions - sent.reductions),
                     (double)part->n_seam_faces,
                     (double)part->n_neighbours,
                     t->work,
                     t->last};
    TRY(team_reduce(team, TEAM_MAX, 7, most));
    TRY(team_reduce(team, TEAM_MAX, N_COUNTS, counts));
    const double n = report.iterations;
    t->iterations = report.iterations;
    t->neighbours = (int)most[4];
    t->work = most[5];
    t->unknowns = (double)report.trace_unknowns / team_size(team);
    t->shared = most[3];
    t->last = most[6];
    t->visits = counts[3 * MOST_LEVELS] / n;
    t->all = counted_of(most, n);
    for (int l = 0; l < t->n_levels; l++) t->levels[l] = counted_of(counts + 3 * l, n);
done:
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    return status;
}

/* ------------------------------------------------------------------------------ what was counted */

static facet_status emit_counted(const struct bench_options *bench, const struct traffic *all) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"problem",    "unknowns a rank", "shared faces", "neighbours",
                                          "iterations", "where",           "messages",     "kB",
                                          "reductions"};
    struct table *table = NULL;
    TRY(table_create(9, headers, &table));
    for (int i = 0; i < box_n_problems; i++) {
        const struct traffic *t = &all[i];
        struct counted rest = t->all;
        for (int row = 0; row <= t->n_levels; row++) {
            const struct counted *c = row < t->n_levels ? &t->levels[row] : &rest;
            table_cell(table, "%s, k = %d", box_problems[i].name, box_problems[i].degree);
            table_cell(table, "%.0f", t->unknowns);
            table_cell(table, "%.0f", t->shared);
            table_cell(table, "%d", t->neighbours);
            table_cell(table, "%d", t->iterations);
            table_cell(table, "%s%s", row < t->n_levels ? "level " : "the rest",
                       row < t->n_levels ? t->names[row] : "");
            table_cell(table, "%.1f", c->messages);
            table_cell(table, "%.1f", c->bytes / 1e3);
            table_cell(table, "%.1f", c->reductions);
            rest.messages -= c->messages;
            rest.bytes -= c->bytes;
            rest.reductions -= c->reductions;
        }
        table_rule(table);
    }
    TRY(bench_emit(bench, "mpi-traffic",
                   "What the rank that sends most sends in an iteration with p-multigrid: on the levels, and "
                   "beside them; without what PETSc sends on the last one.",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ what follows */

/* Seconds of an iteration with so many unknowns a rank. Surfaces grow like the power 2/3 of what they
 * enclose, and nothing overlaps. */
struct prediction {
    double work, messages, reductions, last;
};

static struct prediction predict(const struct traffic *t, double unknowns, double ranks) {
    const double size = unknowns / t->unknowns, more = NEIGHBOURS / t->neighbours;
    const double last = t->last * size * ranks, takes_part = fmin(ranks, fmax(1.0, last / 1000.0));
    return (struct prediction){
        .work = t->work * unknowns,
        .messages = t->all.messages * more * LATENCY + t->all.bytes * pow(size, 2.0 / 3.0) * more / BANDWIDTH,
        .reductions = t->all.reductions * REDUCTION * log2(ranks),
        .last = t->visits * AMG_EXCHANGES * AMG_NEIGHBOURS * LATENCY *
                fmax(log(last) / log(SHRINKS), log2(takes_part)),
    };
}

static facet_status emit_predicted(const struct bench_options *bench, const struct traffic *all) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"problem",       "ranks",         "work ms", "messages ms",
                                          "reductions ms", "last level ms", "all ms",  "is work"};
    struct table *table = NULL;
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < box_n_problems; i++) {
        for (int k = 3; k <= 5; k++) {
            const struct prediction p = predict(&all[i], 1e5, pow(10.0, k));
            const double sum = p.work + p.messages + p.reductions + p.last;
            table_cell(table, "%s, k = %d", box_problems[i].name, box_problems[i].degree);
            table_cell(table, "1e%d", k);
            table_cell(table, "%.1f", 1e3 * p.work);
            table_cell(table, "%.2f", 1e3 * p.messages);
            table_cell(table, "%.2f", 1e3 * p.reductions);
            table_cell(table, "%.2f", 1e3 * p.last);
            table_cell(table, "%.1f", 1e3 * sum);
            table_cell(table, "%.0f %%", 100.0 * p.work / sum);
        }
        table_rule(table);
    }
    TRY(bench_emit(bench, "mpi-predicted",
                   "An iteration with 1e5 unknowns on each of many ranks, from what was counted and the work "
                   "of one rank by "
                   "itself, where a message takes 1.5 us and 12.5 GB a second, a reduction 1 us for each "
                   "doubling of the "
                   "ranks, a rank has six neighbours and nothing overlaps. The last level is a guess: 5 "
                   "exchanges with 30 "
                   "neighbours on each of its grids.",
                   table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_traffic(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct traffic *all = NULL;
    TRY(CALLOC(all, box_n_problems));
    if (team_size(bench->context->team) < 2)
        FAIL(FACET_ERROR_INPUT, "one rank sends nothing; use mpiexec -n 2 or more");
    for (int i = 0; i < box_n_problems; i++) TRY(measure(bench, &box_problems[i], &all[i]));
    TRY(emit_counted(bench, all));
    TRY(emit_predicted(bench, all));
done:
    base_free(&all);
    return status;
}
