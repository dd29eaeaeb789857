/* king2014, Tables 2 to 7: times of the four stages on 20^2, 40^2 and 80^2 quads split in two, P = 1..9,
 * beside the paper's, memory, and how near the local matrices come to DGEMM.
 *
 * Stages: local matrices (condense), assembly (into compressed rows), solve (factor and solve, with the
 * loads), recovery. A stage's time is the best of several complete solves; the total is that of the best
 * solve. Local matrices are timed once more in memory that is already there: without the system handing out
 * fresh pages, which a caller who solves again does not pay.
 *
 * On a GPU the system is solved by conjugate gradients with p-multigrid, the source is given as an expression
 * that it evaluates, and there are meshes up to 640^2. That needs no assembled matrix: the time of assembly,
 * into rows of equal length on the GPU as in the paper, is one of its own and no part of the total.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/king2014.h"
#include "bench/plot.h"
#include "problem/mapped_backend.h"

#define N_MESHES 3 /* of the paper */
#define N_ALL    6
#define N_ORDERS 9

static const int meshes[N_ALL] = {20, 40, 80, 160, 320, 640};

/* James King et al., J. Sci. Comput. (2014). Table 2: total in ms on a GPU and on a CPU (one core). */
static const struct {
    double gpu, cpu;
} printed_total[N_MESHES][N_ORDERS] = {{{117, 268},
                                        {170, 483},
                                        {264, 828},
                                        {383, 1414},
                                        {526, 2268},
                                        {769, 3484},
                                        {1136, 5251},
                                        {1613, 7683},
                                        {2214, 11451}},
                                       {{231, 1427},
                                        {323, 2843},
                                        {480, 5145},
                                        {853, 8896},
                                        {1387, 15165},
                                        {2295, 24873},
                                        {3550, 36869},
                                        {5393, 54474},
                                        {7489, 79604}},
                                       {{559, 9889},
                                        {858, 24459},
                                        {1508, 54728},
                                        {2777, 105896},
                                        {4894, 180373},
                                        {8165, 289319},
                                        {12879, 436217},
                                        {20072, 630613},
                                        {28481, 883340}}};
/* Table 3: GPU memory in kB. */
static const double printed_memory[N_MESHES][N_ORDERS] = {
    {685, 1887, 3968, 7160, 11693, 17797, 25703, 35640, 47840},
    {2727, 7517, 15821, 28560, 46656, 71031, 102605, 142301, 191040},
    {14869, 41818, 89211, 162624, 267633, 409813, 594740, 827989, 1115136}};
/* Tables 4, 5, 6: ms of local matrix generation, assembly, solve and local solve on the GPU. */
static const double printed_stages[N_MESHES][N_ORDERS][4] = {{{7, 18, 75, 2},
                                                              {9, 51, 106, 2},
                                                              {11, 47, 113, 2},
                                                              {14, 56, 161, 2},
                                                              {21, 42, 162, 2},
                                                              {40, 95, 215, 2},
                                                              {60, 113, 203, 2},
                                                              {107, 121, 253, 2},
                                                              {155, 132, 246, 3}},
                                                             {{11, 29, 124, 3},
                                                              {14, 47, 128, 3},
                                                              {19, 61, 133, 4},
                                                              {28, 59, 191, 4},
                                                              {55, 57, 195, 5},
                                                              {94, 192, 257, 6},
                                                              {140, 139, 266, 7},
                                                              {249, 92, 346, 7},
                                                              {422, 137, 361, 8}},
                                                             {{18, 53, 210, 6},
                                                              {32, 88, 213, 7},
                                                              {44, 135, 239, 8},
                                                              {82, 159, 303, 9},
                                                              {194, 146, 355, 10},
                                                              {347, 236, 469, 10},
                                                              {537, 291, 551, 12},
                                                              {868, 322, 722, 13},
                                                              {1413, 405, 769, 17}}};

/* Table 7: ms of the local matrices of the statically condensed continuous method on the GPU; those of HDG
 * are in Tables 4 to 6. */
static const double printed_continuous[N_MESHES][N_ORDERS] = {{4, 6, 10, 12, 16, 20, 30, 40, 59},
                                                              {7, 12, 15, 22, 36, 54, 91, 131, 205},
                                                              {14, 20, 32, 56, 116, 209, 338, 492, 808}};

enum { LOCAL, ASSEMBLY, SOLVE, RECOVERY, N_STAGES };

struct stages {
    double seconds[N_STAGES], total;
    double continuous; /* local matrices of the condensed continuous method, likewise */
    double again;      /* local matrices in memory that is already there */
    double dgemm;      /* operations per second, between these measurements */
    double operations; /* of the local matrices */
    double stored;     /* bytes: K, U and factor of all cells, K assembled, and its Cholesky factor */
    double resident;   /* bytes: the most that was resident, less what was before */
    int64_t n_unknowns;
    int apart; /* assembly: no part of the total */
};

struct king_problem {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
};

static void problem_close(struct king_problem *p) {
    facet_problem_destroy(&p->problem);
    facet_mesh_destroy(&p->mesh);
    facet_context_destroy(&p->context);
}

static int is_gpu(const struct king_problem *p) {
    return device_has_memory(p->context->device);
}

static facet_status problem_open(const struct bench_options *options, int cells, struct king_problem *p) {
    facet_status status = FACET_OK;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = 2,
                     .upper = {1.0, 1.0},
                     .cells = {cells, cells},
                     .shape = "triangle"};
    TRY(facet_context_create(options->device, &p->context));
    TRY(facet_mesh_create_box(p->context, &box, &p->mesh));
    TRY(facet_problem_create(p->context, p->mesh, FACET_DIFFUSION, &p->problem));
    TRY(facet_problem_set_reaction(p->problem, "1"));
    if (is_gpu(p)) {
        TRY(facet_problem_set_source(p->problem, "(1 + 8*pi^2)*sin(2*pi*x)*sin(2*pi*y)"));
        TRY(facet_problem_set_dirichlet(p->problem, "rest", "0"));
    } else {
        TRY(facet_problem_set_exact(p->problem, "sin(2*pi*x)*sin(2*pi*y)"));
    }
done:
    return status;
}

/* N^3/3 for the factor of S, N^2 n each for R^-T R and U, N n^2 for K, half of it being symmetric. */
static double operations(const struct hdg *hdg) {
    double N = hdg->space.blocks[0].N, n = hdg->space.blocks[0].n_trace;
    return hdg->data.mesh->blocks[0].count * (N * N * N / 3.0 + 2.0 * N * N * n + N * n * n);
}

static double stored_bytes(const struct facet_solver *solver) {
    const struct hdg *hdg = mapped_of(solver)->hdg;
    double N = hdg->space.blocks[0].N, n = hdg->space.blocks[0].n_trace;
    double lanes = (double)(hdg->matrices.n_batches[0] * hdg->lanes);
    return 8.0 * lanes * (n * (n + 1) / 2 + N * (N + 1) / 2 + N * n) + mapped_of(solver)->assembled_bytes;
}

static facet_status again(struct hdg *hdg, int passes, double *best) {
    facet_status status = FACET_OK;
    for (int pass = 0; pass < passes; pass++) {
        double begin = base_seconds();
        TRY(hdg_condense(hdg));
        *best = fmin(*best, base_seconds() - begin);
    }
done:
    return status;
}

/* K into rows of equal length, where it is. */
static facet_status assemble(const struct hdg *hdg, double *best) {
    facet_status status = FACET_OK;
    struct trace_entries entries = {0};
    for (int pass = 0; pass < 2; pass++) {
        double last, begin = base_seconds();
        TRY(trace_entries_create(&hdg->trace, &hdg->matrices, 1, &entries));
        TRY(device_download(hdg->device, &last, entries.values + entries.count - 1, sizeof last));
        *best = fmin(*best, base_seconds() - begin);
        trace_entries_destroy(&entries);
    }
done:
    trace_entries_destroy(&entries);
    return status;
}

/* One complete solve; keeps the best of every stage. */
static facet_status run_once(const struct king_problem *p, const facet_options *options, int passes,
                             struct stages *s) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_report report = {.size = sizeof report};
    ceiling_reset_peak();
    double before = (double)ceiling_resident_bytes();
    TRY(facet_solver_create(p->problem, options, &solver));
    TRY(facet_solver_solve(solver, NULL, NULL));
    s->resident = fmax(s->resident, (double)ceiling_peak_bytes() - before);
    TRY(facet_solver_report(solver, &report));
    const double seconds[N_STAGES] = {report.seconds[FACET_PHASE_CONDENSE],
                                      report.seconds[FACET_PHASE_ASSEMBLE],
                                      report.seconds[FACET_PHASE_SETUP] + report.seconds[FACET_PHASE_LOAD] +
                                          report.seconds[FACET_PHASE_SOLVE],
                                      report.seconds[FACET_PHASE_RECOVER]};
    double total = 0.0;
    for (int i = 0; i < N_STAGES; i++) {
        if (i != ASSEMBLY || !is_gpu(p)) s->seconds[i] = fmin(s->seconds[i], seconds[i]);
        total += seconds[i];
    }
    s->total = fmin(s->total, total);
    s->n_unknowns = report.trace_unknowns;
    s->operations = operations(mapped_of(solver)->hdg);
    s->stored = stored_bytes(solver);
    TRY(again(mapped_of(solver)->hdg, passes, &s->again));
    s->apart = is_gpu(p);
    if (s->apart) TRY(assemble(mapped_of(solver)->hdg, &s->seconds[ASSEMBLY]));
done:
    facet_solver_destroy(&solver);
    return status;
}

static void default_options(const struct bench_options *bench, int order, facet_options *options) {
    facet_options_default(options, sizeof *options);
    options->operator_name = "mapped";
    options->degree = order;
    options->tau = bench->tau != NULL ? bench->tau : "1";
    options->postprocess = 0;
}

/* In turn with the stages, since other work on the machine slows both; --quick measures the ceiling once. */
static facet_status measure_ceiling(const struct bench_options *bench, double *rate) {
    static double found;
    facet_status status = FACET_OK;
    if (!bench->quick) found = *rate;
    if (!bench->quick || found == 0.0) TRY(ceiling_dgemm(&found));
    *rate = found;
done:
    return status;
}

static facet_status measure(const struct bench_options *bench, const struct king_problem *p, int cells,
                            const facet_options *options, struct stages *s) {
    facet_status status = FACET_OK;
    double work =
        (double)cells * cells * pow(options->degree + 1.0, 4.0); /* small problems are repeated more */
    int passes = bench->quick ? 2 : is_gpu(p) ? 4 : 3 + (int)fmin(9.0, 1e8 / work);
    *s = (struct stages){
        .seconds = {INFINITY, INFINITY, INFINITY, INFINITY}, .total = INFINITY, .again = INFINITY};
    for (int pass = 0; pass < passes; pass++) {
        TRY(run_once(p, options, 3, s));
        if (pass == 0 || !is_gpu(p)) TRY(measure_ceiling(bench, &s->dgemm));
    }
done:
    return status;
}

/* The local matrices of the statically condensed continuous method. */
static facet_status measure_continuous(const struct bench_options *bench, const struct king_problem *p,
                                       int order, struct stages *s) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options;
    default_options(bench, order, &options);
    options.discretization = "condensed";
    options.tau = NULL;
    options.method = "cg";
    options.preconditioner = "none";
    s->continuous = INFINITY;
    TRY(facet_solver_create(p->problem, &options, &solver));
    TRY(again(mapped_of(solver)->hdg, bench->quick ? 5 : 10, &s->continuous));
done:
    facet_solver_destroy(&solver);
    return status;
}

/* 0: the paper has none. */
static void paper_cell(struct table *table, double value) {
    if (value == 0.0)
        table_cell(table, "-");
    else
        table_cell(table, value < 20.0 ? "%.3g" : "%.0f", value);
}

static facet_status emit_stages(const struct bench_options *options, int mesh, const struct stages *rows,
                                int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    char name[64], title[384];
    static const char *const headers[] = {
        "P",    "unknowns",       "local paper", "ours",        "assembly paper", "ours", "solve paper",
        "ours", "recovery paper", "ours",        "total paper", "CPU paper",      "ours", "GPU paper/ours"};
    TRY(table_create(14, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        table_cell(table, "%d", i + 1);
        table_cell(table, "%lld", (long long)rows[i].n_unknowns);
        for (int k = 0; k < N_STAGES; k++) {
            paper_cell(table, mesh < N_MESHES ? printed_stages[mesh][i][k] : 0.0);
            table_cell(table, "%.1f", 1e3 * rows[i].seconds[k]);
        }
        paper_cell(table, mesh < N_MESHES ? printed_total[mesh][i].gpu : 0.0);
        paper_cell(table, mesh < N_MESHES ? printed_total[mesh][i].cpu : 0.0);
        table_cell(table, "%.1f", 1e3 * rows[i].total);
        paper_cell(table, mesh < N_MESHES ? 1e-3 * printed_total[mesh][i].gpu / rows[i].total : 0.0);
    }
    snprintf(name, sizeof name, "king2014-stages-%d", meshes[mesh]);
    snprintf(
        title, sizeof title,
        "king2014, Tables 2 and %d%s: milliseconds of the stages, %d x %d quads split in two; the paper's "
        "stages are its GPU's.%s",
        4 + mesh < 6 ? 4 + mesh : 6, mesh < N_MESHES ? "" : ", beyond the paper", meshes[mesh], meshes[mesh],
        rows[0].apart ? " Ours solves without the assembled matrix, whose time is no part of the total."
                      : "");
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_local(const struct bench_options *options, struct stages rows[][N_ORDERS],
                               int n_meshes, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"mesh",     "P",        "DGEMM GFLOP/s", "first ms", "GFLOP/s",
                                          "of DGEMM", "again ms", "GFLOP/s",       "of DGEMM"};
    TRY(table_create(9, headers, &table));
    for (int mesh = 0; mesh < n_meshes; mesh++) {
        for (int i = 0; i < n_rows; i++) {
            const struct stages *s = &rows[mesh][i];
            const double seconds[2] = {s->seconds[LOCAL], s->again};
            table_cell(table, "%d^2", meshes[mesh]);
            table_cell(table, "%d", i + 1);
            table_cell(table, "%.1f", 1e-9 * s->dgemm);
            for (int k = 0; k < 2; k++) {
                table_cell(table, "%.2f", 1e3 * seconds[k]);
                table_cell(table, "%.1f", 1e-9 * s->operations / seconds[k]);
                table_cell(table, "%.0f %%", 100.0 * s->operations / seconds[k] / s->dgemm);
            }
        }
        table_rule(table);
    }
    TRY(bench_emit(
        options, "king2014-local",
        "Local matrices against DGEMM with the same threads, measured in turn. Useful operations: "
        "N^3/3 + 2 N^2 n + N n^2 per cell (N unknowns of u, n of its trace); geometry, assembly of S "
        "and the lift count as time only. 'first' includes fresh memory and the reference matrices, "
        "'again' repeats it in place.",
        table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_table7(const struct bench_options *options, struct stages rows[][N_ORDERS],
                                int n_meshes, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"mesh",  "P",        "HDG paper",       "continuous paper",
                                          "ratio", "HDG ours", "continuous ours", "ratio"};
    TRY(table_create(8, headers, &table));
    for (int mesh = 0; mesh < n_meshes; mesh++) {
        for (int i = 0; i < n_rows; i++) {
            table_cell(table, "%d^2", meshes[mesh]);
            table_cell(table, "%d", i + 1);
            table_cell(table, "%.0f", printed_stages[mesh][i][LOCAL]);
            table_cell(table, "%.0f", printed_continuous[mesh][i]);
            table_cell(table, "%.2f", printed_continuous[mesh][i] / printed_stages[mesh][i][LOCAL]);
            table_cell(table, "%.2f", 1e3 * rows[mesh][i].again);
            table_cell(table, "%.2f", 1e3 * rows[mesh][i].continuous);
            table_cell(table, "%.2f", rows[mesh][i].continuous / rows[mesh][i].again);
        }
        table_rule(table);
    }
    TRY(bench_emit(options, "king2014-table7",
                   "king2014, Table 7: milliseconds of the local matrices, HDG and statically condensed "
                   "continuous, in memory that is already there; the paper's on its GPU.",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* A mesh beyond the paper's, by conjugate gradients: its memory. */
#define LARGE_CELLS 320
#define LARGE_ORDER 3

static facet_status measure_large(const struct bench_options *bench, struct stages *s) {
    facet_status status = FACET_OK;
    struct king_problem problem = {0};
    facet_options options;
    default_options(bench, LARGE_ORDER, &options);
    options.method = "cg";
    *s = (struct stages){.total = INFINITY, .again = INFINITY};
    TRY(problem_open(bench, LARGE_CELLS, &problem));
    TRY(run_once(&problem, &options, 1, s));
done:
    problem_close(&problem);
    return status;
}

static void memory_row(struct table *table, const char *mesh, int order, double paper,
                       const struct stages *s) {
    table_cell(table, "%s", mesh);
    table_cell(table, "%d", order);
    if (paper > 0.0)
        table_cell(table, "%.0f", paper);
    else
        table_cell(table, "-");
    table_cell(table, "%.0f", s->stored / 1024.0);
    table_cell(table, "%.0f", s->resident / 1024.0);
    table_cell(table, "%.2f", s->resident / s->stored);
}

static facet_status emit_memory(const struct bench_options *options, struct stages rows[][N_ORDERS],
                                int n_meshes, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"mesh",      "P",           "GPU paper kB",
                                          "stored kB", "resident kB", "resident/stored"};
    TRY(table_create(6, headers, &table));
    for (int mesh = 0; mesh < n_meshes; mesh++) {
        for (int i = 0; i < n_rows; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d^2", meshes[mesh]);
            memory_row(table, name, i + 1, printed_memory[mesh][i], &rows[mesh][i]);
        }
        table_rule(table);
    }
    if (!options->quick) {
        struct stages large;
        TRY(measure_large(options, &large));
        memory_row(table, "320^2, cg", LARGE_ORDER, 0.0, &large);
    }
    TRY(bench_emit(
        options, "king2014-memory",
        "king2014, Table 3: memory. 'stored' are K, U and the factor of every cell, the assembled "
        "matrix and its Cholesky factor (which the paper's iterative solver does not have; cg: without "
        "it); 'resident' is what the process took in addition while it solved.",
        table));
done:
    table_destroy(&table);
    return status;
}

static facet_status draw(const struct bench_options *options, const struct stages *rows, int n_rows,
                         int mesh) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    static const char *const names[N_STAGES] = {"local matrices", "assembly", "solve", "recovery"};
    TRY(CALLOC(plot, 1));
    *plot = (struct plot){.name = "king2014-figure5",
                          .title = "Share of the stages in the total (king2014, Figure 5)",
                          .x_label = "P",
                          .y_label = "share"};
    for (int k = 0; k < N_STAGES; k++) {
        struct plot_series *ours = plot_add(plot, names[k], "linespoints");
        for (int i = 0; i < n_rows; i++) {
            double sum = 0.0;
            for (int j = 0; j < N_STAGES; j++) sum += rows[i].seconds[j];
            plot_point(ours, i + 1, rows[i].seconds[k] / sum);
        }
    }
    for (int k = 0; k < N_STAGES; k++) {
        struct plot_series *paper = plot_add(plot, names[k], "lines dt 2");
        for (int i = 0; i < n_rows; i++) {
            double sum = 0.0;
            for (int j = 0; j < N_STAGES; j++) sum += printed_stages[mesh][i][j];
            plot_point(paper, i + 1, printed_stages[mesh][i][k] / sum);
        }
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

facet_status king2014_stages(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct king_problem problem = {0};
    struct stages(*rows)[N_ORDERS] = NULL;
    int n_meshes = options->quick ? 2 : N_MESHES, n_all = n_meshes, n_rows = options->quick ? 4 : N_ORDERS;
    TRY(ALLOC(rows, N_ALL));
    for (int mesh = 0; mesh < n_all; mesh++) {
        TRY(problem_open(options, meshes[mesh], &problem));
        if (is_gpu(&problem) && !options->quick) n_all = N_ALL;
        for (int i = 0; i < n_rows; i++) {
            facet_options solve;
            default_options(options, i + 1, &solve);
            if (is_gpu(&problem)) solve.method = "cg";
            TRY(measure(options, &problem, meshes[mesh], &solve, &rows[mesh][i]));
            if (mesh < N_MESHES) TRY(measure_continuous(options, &problem, i + 1, &rows[mesh][i]));
        }
        problem_close(&problem);
        TRY(emit_stages(options, mesh, rows[mesh], n_rows));
    }
    TRY(emit_local(options, rows, n_meshes, n_rows));
    TRY(emit_table7(options, rows, n_meshes, n_rows));
    TRY(emit_memory(options, rows, n_meshes, n_rows));
    TRY(draw(options, rows[n_meshes - 1], n_rows, n_meshes - 1));
done:
    problem_close(&problem);
    base_free(&rows);
    return status;
}
