/* facet-mpi bench scaling: 1, 2, 4, ... ranks of those that are there, each with the same work (weak), and
 * all together with the same (strong), beside what the STREAM triad gains by them. facet-mpi bench boxes: the
 * same of the methods on boxes. facet-mpi bench whole: two large solves on the ranks and threads at hand. */
#include <facet_dist.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/team.h"
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/mpi/box.h"
#include "device/device.h"

#define SOLVES 4 /* of which the fastest counts */
#define WHOLES 3 /* from the mesh to the solution, likewise */
#define PASSES 6 /* of the triad, likewise */
#define CACHES 4 /* that each of the arrays of STREAM would fill, all ranks together */

/* Bricks of a rank, in each direction, that make 100 000 unknowns of the trace, and bricks of all, for 20 000
 * on each of sixteen. */
static const struct scaled {
    struct box_problem problem;
    int weak, strong[3];
    const struct box_solver *by;
} mapped[] =
    {
        {{"hexes", "diffusion, hexes", "hex", FACET_DIFFUSION, "1", 3, {0, 0}, "1"},
         13,
         {20, 20, 16},
         &box_pmg},
        {{"tets", "diffusion, tets", "tet", FACET_DIFFUSION, "1", 3, {0, 0}, "1"}, 9, {16, 14, 12}, &box_pmg},
},
  boxes[] = {
      {{"tensor", "hdg, tensor", "hex", FACET_DIFFUSION, "1", 7, {0, 0}, "sin(7*x*y + 3*z)"},
       8,
       {16, 12, 8},
       &box_tensor},
      {{"continuous", "continuous", "hex", FACET_DIFFUSION, "1", 7, {0, 0}, "sin(7*x*y + 3*z)"},
       8,
       {16, 8, 8},
       &box_continuous},
};
enum { N_SCALED = 2 }; /* in each of both */

/* ------------------------------------------------------------------------------ some of the ranks */

/* All ranks come here; those that have nothing to do meanwhile are asleep, and disturb nobody. */
static void meet(void) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Bytes a second of the triad on all ranks of a context together; bytes: of the arrays of each, which are as
 * many as a solver passes there, since what fits into a cache on few ranks may not do so on many. */
static facet_status measure_triad(const facet_context *context, double bytes, double *rate) {
    facet_status status = FACET_OK;
    struct triad triad = {0};
    *rate = 0.0;
    TRY(triad_create_bytes((int64_t)bytes, &triad));
    for (int i = 0; i < PASSES; i++) {
        int64_t nothing = 0;
        TRY(team_reduce_counts(context->team, TEAM_SUM, 1, &nothing)); /* all begin together */
        double seconds = base_seconds(), passed = triad_bytes(&triad);
        triad_run(&triad);
        seconds = base_seconds() - seconds;
        TRY(team_reduce(context->team, TEAM_MAX, 1, &seconds));
        TRY(team_reduce(context->team, TEAM_SUM, 1, &passed));
        *rate = fmax(*rate, passed / seconds);
    }
done:
    triad_destroy(&triad);
    return status;
}

struct point {
    double triad, stream; /* over as many bytes as the solver has; over arrays beyond all caches */
    struct box_outcome outcome;
    double apart; /* seconds of a step where every rank has a whole problem of its own; 0: not measured */
};

/* cells: of the problem of one rank. All ranks of `together` solve it by themselves at the same time: what
 * the machine takes from a solver that waits for nobody. */
static facet_status measure_apart(const struct bench_options *bench, const facet_context *together,
                                  const struct scaled *s, const int cells[3], double *step) {
    facet_status status = FACET_OK;
    facet_context *alone = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    struct box_outcome outcome;
    TRY(facet_context_create_mpi(MPI_COMM_SELF, bench->device, &alone));
    TRY(facet_context_set_threads(alone, bench->threads));
    TRY(box_problem_create(alone, &s->problem, 0, cells, &mesh, &problem));
    TRY(box_problem_measure(together, problem, s->problem.degree, s->by, SOLVES, &outcome));
    *step = outcome.solve / outcome.iterations;
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&alone);
    return status;
}

/* stream: what STREAM has reached on so many ranks, 0: not measured yet. */
static facet_status measure_point(facet_context *context, const struct scaled *s, const int cells[3],
                                  double stream, struct point *p) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    TRY(box_problem_create(context, &s->problem, 0, cells, &mesh, &problem));
    TRY(box_problem_measure(context, problem, s->problem.degree, s->by, SOLVES, &p->outcome));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    if (status == FACET_OK) status = measure_triad(context, p->outcome.most_bytes, &p->triad);
    if (status == FACET_OK && stream == 0.0)
        status = measure_triad(
            context, 3.0 * CACHES * (double)ceiling_cache_bytes() / team_size(context->team), &stream);
    p->stream = stream;
    return status;
}

/* The same on the first n ranks, while the others wait. own: cells of a rank by itself, or NULL. */
static facet_status measure_first(const struct bench_options *bench, int n, const struct scaled *s,
                                  const int cells[3], const int *own, double stream, struct point *p) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    MPI_Comm some = MPI_COMM_NULL;
    const int rank = team_rank(bench->context->team);
    *p = (struct point){0};
    if (MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank, &some) != MPI_SUCCESS)
        FAIL(FACET_ERROR_MACHINE, "MPI_Comm_split failed");
    if (some != MPI_COMM_NULL) {
        status = facet_context_create_mpi(some, bench->device, &context);
        if (status == FACET_OK) status = facet_context_set_threads(context, bench->threads);
        if (status == FACET_OK) status = measure_point(context, s, cells, stream, p);
        if (status == FACET_OK && own != NULL) status = measure_apart(bench, context, s, own, &p->apart);
        facet_context_destroy(&context);
        MPI_Comm_free(&some);
    }
    meet();
done:
    return status;
}

/* ------------------------------------------------------------------------------ tables */

/* first: of one rank. */
static void put(struct table *table, const struct scaled *s, int n, const struct point *p,
                const struct point *first, int is_weak) {
    const struct box_outcome *o = &p->outcome, *one = &first->outcome;
    const double step = o->solve / o->iterations, step_one = one->solve / one->iterations,
                 unknowns = is_weak ? (double)o->unknowns / (double)one->unknowns / n : 1.0 / n,
                 speed = step_one / step * unknowns,
                 whole = (one->setup + one->solve) / (o->setup + o->solve),
                 triad = p->triad / first->triad / n, stream = p->stream / first->stream / n;
    table_cell(table, "%s, k = %d", s->problem.name, s->problem.degree);
    table_cell(table, "%d", n);
    table_cell(table, "%.0f", (double)o->unknowns / n);
    table_cell(table, "%d", o->iterations);
    table_cell(table, "%.3f", o->setup);
    table_cell(table, "%.3f", o->solve);
    table_cell(table, "%.2f", 1e3 * step);
    table_cell(table, "%.0f %%", 100.0 * o->coarse / o->solve);
    table_cell(table, "%.0f %%", 100.0 * speed);
    table_cell(table, "%.0f %%", 100.0 * whole * unknowns);
    table_cell(table, "%.1f", 1e-9 * p->triad);
    table_cell(table, "%.0f %%", 100.0 * triad);
    table_cell(table, "%.2f", speed / triad);
    table_cell(table, "%.1f", 1e-9 * p->stream);
    table_cell(table, "%.0f %%", 100.0 * stream);
    table_cell(table, "%.2f", speed / stream);
    table_cell(table, "%.0f", o->most_bytes / 1e6);
    table_cell(table, "%.2f", o->most_bytes * (is_weak ? 1.0 : n) / one->most_bytes);
    if (!is_weak) return;
    table_cell(table, "%.0f %%", 100.0 * first->apart / p->apart);
    table_cell(table, "%.2f", speed * p->apart / first->apart);
}

/* Bricks for n ranks; each has a cube in the weak case. */
static void choose_cells(const struct scaled *s, int quick, int is_weak, int n, int cells[3]) {
    for (int a = 0; a < 3; a++) cells[a] = (is_weak ? s->weak : s->strong[a]) / (quick ? 3 : 1);
    for (int a = 0; is_weak && n > 1; n /= 2, a = (a + 1) % 3) cells[a] *= 2;
}

/* streams: by the logarithm of the number of ranks; 0: not measured yet. */
static facet_status run(const struct bench_options *bench, const struct scaled *scaled, int is_weak,
                        const char *name, const char *title, double *streams) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {"problem",       "ranks",       "unknowns a rank", "iterations",
                                          "set-up s",      "solve s",     "ms a step",       "of it coarse",
                                          "steps",         "whole",       "triad GB/s",      "of n times one",
                                          "steps / triad", "STREAM GB/s", "of n times one",  "steps / STREAM",
                                          "MB a rank",     "x first",     "apart",           "steps / apart"};
    struct table *table = NULL;
    TRY(table_create(is_weak ? 20 : 18, headers, &table));
    for (int i = 0; i < N_SCALED; i++) {
        struct point first = {0}, p;
        for (int n = 1, k = 0; n <= team_size(bench->context->team); n *= 2, k++) {
            int cells[3], own[3];
            choose_cells(&scaled[i], bench->quick, is_weak, n, cells);
            choose_cells(&scaled[i], bench->quick, is_weak, 1, own);
            TRY(measure_first(bench, n, &scaled[i], cells, is_weak ? own : NULL, streams[k], &p));
            streams[k] = p.stream;
            if (n == 1) first = p;
            if (team_rank(bench->context->team) == 0) put(table, &scaled[i], n, &p, &first, is_weak);
        }
        table_rule(table);
    }
    TRY(bench_emit(bench, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status run_both(const struct bench_options *bench, const struct scaled *scaled, const char *weak,
                             const char *strong) {
    facet_status status = FACET_OK;
    double streams[32] = {0};
    TRY(run(
        bench, scaled, 1, weak,
        "The same work for every rank. steps: what is left of an iteration's speed on one rank; whole: the "
        "same of set-up and solve; of n times one: what is left of the triad's rate, all ranks at once, over "
        "as many bytes as the solver has, and over arrays beyond all caches (STREAM); "
        "the quotients are what the program loses beside the memory of the machine. Memory: the rank that "
        "has most, and how much more than one rank by itself. apart: what is left of an iteration's speed on "
        "one rank where as many ranks each solve the problem of one rank, all at once, and wait for nobody.",
        streams));
    TRY(run(
        bench, scaled, 0, strong,
        "The same work for all ranks together. Columns as above; memory: n times that of the rank that has "
        "most, by that of one rank by itself.",
        streams));
done:
    return status;
}

facet_status bench_scaling(const struct bench_options *bench) {
    return run_both(bench, mapped, "mpi-weak", "mpi-strong");
}

facet_status bench_boxes(const struct bench_options *bench) {
    return run_both(bench, boxes, "mpi-weak-boxes", "mpi-strong-boxes");
}

/* ------------------------------------------------------------------------------ whole solves */

/* Of n bricks in each direction. *seconds: the fastest so far, whose outcome *o is. */
static facet_status measure_whole(facet_context *context, const struct box_problem *kind, int n,
                                  struct box_outcome *o, facet_mesh_info *info, double *seconds) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    struct box_outcome here;
    const int cells[3] = {n, n, n};
    double taken = base_seconds();
    TRY(box_problem_create(context, kind, 0, cells, &mesh, &problem));
    TRY(box_problem_measure(context, problem, kind->degree, &box_pmg, 1, &here));
    taken = base_seconds() - taken;
    TRY(team_reduce(context->team, TEAM_MAX, 1, &taken));
    TRY(facet_mesh_get_info(mesh, info));
    if (taken < *seconds) {
        *seconds = taken;
        *o = here;
    }
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    return status;
}

facet_status bench_whole(const struct bench_options *bench) {
    static const struct box_problem problems[] = {
        {"hexes", "diffusion, hexes", "hex", FACET_DIFFUSION, "1", 3, {8, 32}, "1"},
        {"tets", "diffusion, tets", "tet", FACET_DIFFUSION, "1", 3, {6, 24}, "1"},
    };
    static const char *const headers[] = {"problem",  "cells",   "unknowns", "ranks x threads", "iterations",
                                          "set-up s", "solve s", "coarse",   "all s",           "MB"};
    facet_status status = FACET_OK;
    struct table *table = NULL;
    const int ranks = team_size(bench->context->team);
    char name[64];
    TRY(table_create(10, headers, &table));
    for (int i = 0; i < 2; i++) {
        const struct box_problem *kind = &problems[i];
        facet_mesh_info info = {.size = sizeof info};
        struct box_outcome o = {0};
        double seconds = INFINITY;
        for (int k = 0; k < WHOLES; k++)
            TRY(measure_whole(bench->context, kind, kind->cells[!bench->quick], &o, &info, &seconds));
        table_cell(table, "%s, k = %d", kind->name, kind->degree);
        table_cell(table, "%lld", (long long)info.n_cells);
        table_cell(table, "%lld", (long long)o.unknowns);
        table_cell(table, "%d x %d", ranks, bench->threads);
        table_cell(table, "%d", o.iterations);
        table_cell(table, "%.3f", o.setup);
        table_cell(table, "%.3f", o.solve);
        table_cell(table, "%.0f %%", 100.0 * o.coarse / o.solve);
        table_cell(table, "%.3f", seconds);
        table_cell(table, "%.0f", o.bytes / 1e6);
    }
    snprintf(name, sizeof name, "mpi-whole-%dx%d", ranks, bench->threads);
    TRY(bench_emit(
        bench, name,
        "Whole solves: set-up, solve, and all from the mesh to the solution, recovery included; the "
        "most of all ranks, the fastest of three. Memory: of all ranks together.",
        table));
done:
    table_destroy(&table);
    return status;
}
