/* What HDG costs and what it gives: error against seconds of u and u*, of the condensed and of the continuous
 * method on the same cells, each with its fastest solver, set up beforehand. Seconds are those of a whole
 * solve of one thread: from the source at the Gauss points to u (u*) in the cells; the case is separable, so
 * that direct solvers apply to all. Two solutions: one that the cells resolve at once, and a rough one. Then
 * whole runs on triangles, tets and a curved sphere, beside NGSolve and deal.II where these are installed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench/ceiling.h"
#include "bench/papers/box_plain.h"
#include "bench/plot.h"
#include "bench/rival.h"
#include "boxhdg/hdg_cells.h"

#define MAX_DEGREE 12
#define PASSES     5
#define RTOL       1e-12 /* of the iterations: of the first residual, which is that of noise */

enum method { HDG_U, HDG_STAR, CONDENSED, CONTINUOUS, N_METHODS };
static const char *const method_names[N_METHODS] = {"HDG u", "HDG u*", "condensed", "continuous"};

struct point {
    double error, seconds;
    enum rival_kind solver;
};

/* The fastest of some rivals that converged, all stages but the guess counted. */
static struct point fastest(const struct contest *c, int n, const enum rival_kind *kinds) {
    struct point best = {.seconds = INFINITY, .error = NAN, .solver = kinds[0]};
    for (int i = 0; i < n; i++) {
        const struct rival_result *r = &c->results[kinds[i]];
        double seconds = r->seconds[RIVAL_LOAD] + r->seconds[RIVAL_SOLVE] + r->seconds[RIVAL_RECOVER];
        if (r->present && r->converged && seconds < best.seconds)
            best = (struct point){.seconds = seconds, .error = r->error, .solver = kinds[i]};
    }
    return best;
}

/* ------------------------------------------------------------------------------------------ u* */

struct star {
    struct boxhdg *h;
    struct boxhdg_solution solution;
    const struct wave *wave;
    double *unit;
};

static facet_status evaluate_star(void *user, int64_t cell, double *values) {
    struct star *s = user;
    return boxhdg_evaluate(s->h, &s->solution, BOX_U_STAR, cell, BOX_LATTICE(s->wave->n_points, s->unit),
                           values);
}

/* Seconds from the trace to u* by way of q, the median of several, and its error. `trace` solves the system.
 */
static facet_status time_star(struct star *s, double *seconds) {
    facet_status status = FACET_OK;
    double passes[PASSES];
    struct boxhdg_solution *v = &s->solution;
    for (int pass = 0; pass < PASSES; pass++) {
        double begin = ceiling_clock();
        TRY(boxhdg_recover(s->h, v->loads, v->trace, v->u, v->q));
        TRY(boxhdg_postprocess(s->h, v));
        passes[pass] = ceiling_clock() - begin;
    }
    *seconds = ceiling_median(PASSES, passes);
done:
    return status;
}

static facet_status measure_star(const struct wave_case *given, struct point *point) {
    facet_status status = FACET_OK;
    struct wave wave = {0};
    struct star s = {.wave = &wave};
    double *dirichlet = NULL, *F = NULL;
    TRY(wave_create(given, 1, &wave));
    TRY(boxhdg_create(&wave.data, given->degree, (const double *const *)wave.rho, &s.h));
    TRY(boxhdg_solution_create(s.h, &s.solution));
    TRY(ALLOC(s.solution.q, s.h->grid.dim * s.solution.n_cells * s.h->cell_size));
    TRY(ALLOC(dirichlet, s.h->n_trace));
    TRY(ALLOC(F, s.h->n_trace));
    TRY(ALLOC(s.unit, wave.n_points));
    for (int i = 0; i < wave.n_points; i++) s.unit[i] = 0.5 * (1.0 + wave.points[i]);
    const struct box_given data = {.exact = wave.exact};
    TRY(boxhdg_project_boundary(s.h, &data, dirichlet, F));
    TRY(boxhdg_load(s.h, wave.source, dirichlet, NULL, s.solution.loads, F));
    TRY(rival_solve_trace(s.h, F, s.solution.trace));
    boxhdg_add_dirichlet(s.h, dirichlet, s.solution.trace);
    TRY(time_star(&s, &point->seconds));
    TRY(wave_error(&wave, evaluate_star, &s, &point->error));
done:
    boxhdg_solution_destroy(&s.solution);
    boxhdg_destroy(&s.h);
    base_free(&dirichlet);
    base_free(&F);
    base_free(&s.unit);
    wave_destroy(&wave);
    return status;
}

static facet_status measure(const struct bench_options *options, const struct wave_case *given,
                            struct point points[N_METHODS]) {
    facet_status status = FACET_OK;
    static const enum rival_kind hdg[] = {RIVAL_ADDITIVE, RIVAL_DIRECT, RIVAL_VOLUME},
                                 condensed[] = {RIVAL_CONDENSED}, continuous[] = {RIVAL_CONTINUOUS};
    struct contest *c = NULL;
    TRY(CALLOC(c, 1));
    *c = (struct contest){.wave = *given,
                          .kinds = RIVAL_BIT(RIVAL_ADDITIVE) | RIVAL_BIT(RIVAL_DIRECT) |
                                   RIVAL_BIT(RIVAL_VOLUME) | RIVAL_BIT(RIVAL_CONDENSED) |
                                   RIVAL_BIT(RIVAL_CONTINUOUS),
                          .passes = options->quick ? 1 : PASSES,
                          .with_errors = 1,
                          .patience = 5.0,
                          .rtol = RTOL};
    TRY(contest_run(options, c));
    points[HDG_U] = fastest(c, 3, hdg);
    points[HDG_STAR] = fastest(c, 2, hdg); /* u* needs the trace */
    points[CONDENSED] = fastest(c, 1, condensed);
    points[CONTINUOUS] = fastest(c, 1, continuous);
    struct point star;
    TRY(measure_star(given, &star));
    double before = c->results[points[HDG_STAR].solver].seconds[RIVAL_RECOVER];
    points[HDG_STAR].seconds += star.seconds - before;
    points[HDG_STAR].error = star.error;
done:
    base_free(&c);
    return status;
}

/* ------------------------------------------------------------------------------------------ verdict */

/* Seconds to reach an error, between degrees as a power; INFINITY: not reached. */
static double seconds_to(double error, const struct point (*points)[N_METHODS], int n, int method) {
    double best = INFINITY;
    for (int i = 0; i < n; i++) {
        const struct point *now = &points[i][method], *before = &points[i > 0 ? i - 1 : 0][method];
        if (!(now->error <= error)) continue;
        double seconds = now->seconds;
        if (i > 0 && before->error > error) {
            double part = log(error / before->error) / log(now->error / before->error);
            seconds = fmin(seconds, exp((1.0 - part) * log(before->seconds) + part * log(now->seconds)));
        }
        best = fmin(best, seconds);
    }
    return best;
}

/* At the errors 1, 1e-1, .. that somebody reaches: who is first, and how much longer the others take. */
static void say_verdict(const struct point (*points)[N_METHODS], int n, struct text *out) {
    int wins[N_METHODS] = {0}, n_levels = 0;
    double logs[N_METHODS] = {0.0};
    int reached[N_METHODS] = {0};
    for (int digits = 0; digits <= 12; digits++) {
        const double error = pow(10.0, -digits);
        double seconds[N_METHODS];
        int first = 0;
        for (int m = 0; m < N_METHODS; m++) {
            seconds[m] = seconds_to(error, points, n, m);
            if (seconds[m] < seconds[first]) first = m;
        }
        if (isinf(seconds[first])) break;
        wins[first]++;
        n_levels++;
        for (int m = 0; m < N_METHODS; m++) {
            if (isinf(seconds[m])) continue;
            logs[m] += log(seconds[m] / seconds[first]);
            reached[m]++;
        }
    }
    text_printf(out, "Of the %d errors 1, 0.1 and so on that are reached,", n_levels);
    for (int m = 0; m < N_METHODS; m++)
        text_printf(out, "%s %s reaches %d, %d of them first%s", m > 0 ? "," : "", method_names[m],
                    reached[m], wins[m],
                    m == N_METHODS - 1 ? "; times over that of the first, on average:" : "");
    for (int m = 0; m < N_METHODS; m++)
        if (reached[m] > 0)
            text_printf(out, "%s %s %.2f", m > 0 ? "," : "", method_names[m], exp(logs[m] / reached[m]));
    text_printf(out, ".");
}

/* ------------------------------------------------------------------------------------------ output */

static facet_status emit(const struct bench_options *options, const char *name, const struct wave_case *given,
                         const struct point (*points)[N_METHODS], int n) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct text title = {0};
    const char *headers[1 + 3 * N_METHODS] = {"p"};
    for (int m = 0; m < N_METHODS; m++) {
        headers[1 + 3 * m] = method_names[m];
        headers[2 + 3 * m] = "seconds";
        headers[3 + 3 * m] = "solver";
    }
    TRY(table_create(1 + 3 * N_METHODS, headers, &table));
    for (int i = 0; i < n; i++) {
        table_cell(table, "%d", i + 1);
        for (int m = 0; m < N_METHODS; m++) {
            table_cell(table, "%.2e", points[i][m].error);
            table_cell(table, "%.3e", points[i][m].seconds);
            table_cell(table, "%s", rival_name(points[i][m].solver));
        }
    }
    text_printf(
        &title,
        "Error in L2 and seconds of one thread from the source to the solution, set-up done: %d^3 cells of "
        "(0, 2 pi)^3, the solution of huismann2020, eq. 48, with k = %g, tau = %g. ",
        given->cells, given->k, given->tau);
    say_verdict(points, n, &title);
    TRY(title.status);
    TRY(bench_emit(options, name, title.data, table));
done:
    text_free(&title);
    table_destroy(&table);
    return status;
}

static facet_status draw(const struct bench_options *options, const char *name,
                         const struct point (*points)[N_METHODS], int n) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    TRY(CALLOC(plot, 1));
    *plot = (struct plot){.name = name,
                          .title = "Error against seconds by degree",
                          .x_label = "seconds",
                          .y_label = "error in L2",
                          .log = 1};
    for (int m = 0; m < N_METHODS; m++) {
        struct plot_series *series = plot_add(plot, method_names[m], "linespoints");
        for (int i = 0; i < n; i++) plot_point(series, points[i][m].seconds, points[i][m].error);
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

/* ------------------------------------------------------------------------------------------ other programs
 */

/* Whole runs by turns with other programs are a script's, which lies in the source tree. */
static facet_status run_families(const struct bench_options *options) {
    static const char script[] = "bench/peers/ngsolve/precision.py";
    char threads[16], self[4096];
    int result = 0;
    if (options->output == NULL || access(script, R_OK) != 0) {
        printf("2D, tets and the sphere beside NGSolve and deal.II: from the source tree, with --output\n");
        return FACET_OK;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(threads, sizeof threads, "%d", base_threads());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (length > 0) setenv("FACET", self, 0);
        execlp("python3", "python3", script, options->output, "--threads", threads, "--seconds",
               options->quick ? "3" : "360", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return base_fail(FACET_ERROR_MACHINE, "python3 %s failed", script);
    printf("written: %s/precision.md and hdg-pays-*.dat\n", options->output);
    return FACET_OK;
}

static facet_status run_boxes(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct bench_options one = *options;
    static const struct {
        const char *name;
        int cells;
        double k;
    } solutions[2] = {{"hdg-pays-smooth", 8, 1.0}, {"hdg-pays-rough", 16, 5.0}};
    struct point points[MAX_DEGREE][N_METHODS];
    one.threads = 1;
    base_set_threads(1);
    for (int s = 0; s < 2; s++) {
        struct wave_case given = {.cells = options->quick ? 4 : solutions[s].cells,
                                  .k = solutions[s].k,
                                  .tau = options->tau != NULL ? atof(options->tau) : 1.0,
                                  .aspect = 1.0,
                                  .contrast = 1.0};
        int n = options->quick ? 8 : MAX_DEGREE;
        for (int i = 0; i < n; i++) {
            given.degree = i + 1;
            TRY(measure(&one, &given, points[i]));
        }
        TRY(emit(&one, solutions[s].name, &given, (const struct point(*)[N_METHODS])points, n));
        TRY(draw(&one, solutions[s].name, (const struct point(*)[N_METHODS])points, n));
    }
done:
    base_set_threads(options->threads);
    return status;
}

facet_status bench_hdg_pays(const struct bench_options *options) {
    facet_status status = run_boxes(options);
    return status != FACET_OK ? status : run_families(options);
}
