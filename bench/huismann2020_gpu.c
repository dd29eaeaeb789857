/* huismann2020's test case on a GPU: the product and the other sweeps of an iteration against the copy
 * bandwidth of the device, measured in the same run; and whole solves, from the source at the Gauss points to
 * u there, all on the device. Runs on the device it is given. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/huismann2020.h"
#include "bench/papers/box_plain.h"
#include "bench/papers/points.h"
#include "bench/targets.h"
#include "boxhdg/hdg_cells.h"
#include "boxhdg/lanes.h"

#define REPEATS 4
#define INNER   4
#define RTOL    1e-10
#define LARGEST 144 /* cells of a direction; memory allows 190, the set-up on the host takes longest */

/* ------------------------------------------------------------------------------------------ sweeps */

struct subject {
    struct boxhdg_lanes *lanes;
    struct vector d, y, r, s, x, e, moments;
    enum { COPY, PRODUCT, FORMED, RECURRENCE, MOVES } what; /* MOVES: with x and d of two steps */
};

static void subject_destroy(struct subject *s) {
    struct vector *all[] = {&s->d, &s->y, &s->r, &s->s, &s->x, &s->e, &s->moments};
    for (int i = 0; i < 7; i++) vector_destroy(all[i]);
    boxhdg_lanes_destroy(&s->lanes);
}

static facet_status subject_create(const struct device *device, const struct boxhdg *h, int single,
                                   struct subject *s) {
    facet_status status = FACET_OK;
    *s = (struct subject){.what = COPY};
    TRY(boxhdg_lanes_create(device, h, single, &s->lanes));
    int64_t n = s->lanes->plan.size,
            n_moments = s->lanes->plan.n_faces * KERNEL_BOX_MOMENTS * s->lanes->plan.lanes;
    struct vector *all[] = {&s->d, &s->y, &s->r, &s->s, &s->x, &s->e, &s->moments};
    for (int i = 0; i < 7; i++) {
        TRY(boxhdg_lanes_vector(s->lanes, i < 5 ? n : n_moments, all[i]));
        vector_fill(all[i], i < 5 ? 1.0 : 0.0);
    }
done:
    if (status != FACET_OK) subject_destroy(s);
    return status;
}

static void run(struct subject *s) {
    const struct box_step product = {.product = 1};
    const struct box_recurrence by = {.a = {1e-3, 1e-3}, .b = {1e-3, 1e-3}, .alpha = 1e-30, .c = 1e-3};
    const struct boxhdg_lanes *lanes = s->lanes;
    size_t bytes = (size_t)s->d.n * precision_size(s->d.precision);
    double sums[2];
    if (s->what == COPY)
        device_move(s->d.device, s->y.numbers, s->d.numbers, bytes);
    else if (s->what == PRODUCT)
        boxhdg_lanes_step(lanes, &product, NULL, NULL, NULL, &s->d, NULL, &s->y);
    else if (s->what == FORMED)
        device_box_form(lanes->device, lanes->precision, &lanes->plan, s->r.numbers, s->e.numbers,
                        s->y.numbers);
    else
        device_box_recur(lanes->device, lanes->precision, &lanes->plan, &by, s->y.numbers, s->r.numbers,
                         s->e.numbers, s->s.numbers, s->e.numbers, s->d.numbers,
                         s->what == MOVES ? s->x.numbers : NULL, s->moments.numbers, sums);
}

/* Seconds, the best of some runs. */
static facet_status measure(struct subject *s, int what, double *best) {
    facet_status status = FACET_OK;
    s->what = what;
    *best = INFINITY;
    for (int i = 0; i <= REPEATS; i++) {
        double begin = base_seconds();
        for (int j = 0; j < INNER; j++) run(s);
        TRY(device_check(s->d.device)); /* waits */
        if (i > 0) *best = fmin(*best, (base_seconds() - begin) / INNER);
    }
done:
    return status;
}

/* One degree in one precision; part: of the copy bandwidth that the product reaches. */
static facet_status add_sweeps(const struct device *device, const struct boxhdg *h, int single,
                               struct table *table, double *part) {
    facet_status status = FACET_OK;
    struct subject s;
    double seconds[5];
    static const double vectors[5] = {2, 2, 2, 4, 8}; /* that a sweep must read or write */
    TRY(subject_create(device, h, single, &s));
    for (int what = COPY; what <= MOVES; what++) TRY(measure(&s, what, &seconds[what]));
    double bytes = (double)s.lanes->plan.size * (single ? 4.0 : 8.0), copy = 2.0 * bytes / seconds[COPY];
    *part = 2.0 * bytes / seconds[PRODUCT] / copy;
    table_cell(table, "%d", h->degree);
    table_cell(table, "%d^3", h->grid.cells[0]);
    table_cell(table, "%s", single ? "f32" : "f64");
    table_cell(table, "%.0f M", 1e-6 * (double)h->n_volume);
    table_cell(table, "%.0f M", 1e-6 * (double)h->n_free);
    table_cell(table, "%.2f", 1e-12 * copy);
    table_cell(table, "%.3f", 1e3 * seconds[PRODUCT]);
    table_cell(table, "%.1f", 1e-9 * (double)h->n_volume / seconds[PRODUCT]);
    table_cell(table, "%.1f", 1e-9 * (double)h->n_free / seconds[PRODUCT]);
    for (int what = PRODUCT; what <= MOVES; what++)
        table_cell(table, "%.2f", vectors[what] * bytes / seconds[what] / copy);
done:
    subject_destroy(&s);
    return status;
}

static facet_status sweeps(const struct bench_options *options, const struct device *device,
                           double least[2]) {
    facet_status status = FACET_OK;
    static const struct { int degree, cells; } sizes[] = {{3, 112}, {5, 96}, {7, 80}, {11, 56}, {15, 40}};
    static const char *const headers[] = {"p",
                                          "cells",
                                          "precision",
                                          "volume",
                                          "trace",
                                          "copy TB/s",
                                          "product ms",
                                          "GDoF/s volume",
                                          "GDoF/s trace",
                                          "product / copy",
                                          "formed / copy",
                                          "recurrence / copy",
                                          "with x / copy"};
    struct table *table = NULL;
    struct boxhdg *h = NULL;
    struct wave w = {0};
    TRY(table_create(13, headers, &table));
    for (size_t i = 0; i < (options->quick ? 2 : sizeof sizes / sizeof *sizes); i++) {
        struct wave_case c = huismann2020_case(options, options->quick ? 9 : sizes[i].cells, sizes[i].degree);
        TRY(wave_create_grid(&c, &w));
        TRY(boxhdg_create(&w.data, c.degree, (const double *const *)w.rho, &h));
        for (int single = 0; single < 2; single++) {
            double part = NAN;
            TRY(add_sweeps(device, h, single, table, &part));
            least[single] = targets_lower(least[single], part);
        }
        boxhdg_destroy(&h);
        wave_destroy(&w);
        w = (struct wave){0};
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(options, "huismann2020-gpu-sweeps",
                   "HDG-TPT and the other sweeps of a step of conjugate gradients: the bytes that each must "
                   "move (product: 2 vectors, with what it is of formed on the way too; recurrence of "
                   "residuals: 4; every second time with x and p: 8), over the bandwidth of a copy between "
                   "two vectors of the same size.",
                   table));
done:
    boxhdg_destroy(&h);
    wave_destroy(&w);
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------------------ solves */

/* The L2 norm of u - exact by the Gauss rule of the cells. exact is overwritten. */
static facet_status measure_error(const struct wave *w, const struct boxhdg *h, const double *u,
                                  double *exact, double *error) {
    facet_status status = FACET_OK;
    int n = h->n;
    int64_t size = h->cell_size, n_cells = h->grid.n_cells;
    double sum = 0.0;
    TRY(wave_values(w, n, h->gauss, exact));
#pragma omp parallel for reduction(+ : sum) num_threads(base_threads())
    for (int64_t cell = 0; cell < n_cells; cell++)
        for (int64_t i = 0; i < size; i++) {
            double e = u[cell * size + i] - exact[cell * size + i];
            sum += h->weights[i % n] * h->weights[i / n % n] * h->weights[i / n / n] * e * e;
        }
    *error = sqrt(sum * pow(0.5 * h->grid.widths[0][0], 3.0));
done:
    return status;
}

struct solve_case {
    int degree, cells, mixed;
    enum boxhdg_preconditioner kind;
};

static facet_status make_solver(const struct device *device, const struct solve_case *given,
                                const struct wave *w, const struct boxhdg *h, struct boxhdg_solver **solver,
                                struct boxhdg_lanes_points **points) {
    facet_status status = FACET_OK;
    struct boxhdg_solver_options how;
    const struct box_given data = {.exact = w->exact};
    double *dirichlet = NULL;
    struct vector *F, *trace;
    boxhdg_solver_options_default(&how);
    how.preconditioner = given->kind;
    how.mixed = given->mixed;
    TRY(boxhdg_solver_create(device, h, &how, solver));
    TRY(ALLOC(dirichlet, h->n_trace));
    TRY(boxhdg_project_boundary(h, &data, dirichlet, NULL));
    TRY(boxhdg_lanes_points_create(boxhdg_solver_lanes(*solver, &F, &trace), dirichlet, NULL, points));
done:
    base_free(&dirichlet);
    return status;
}

static const char *const preconditioners[] = {"none", "diagonal", "additive", "chebyshev"};

static facet_status solve(const struct bench_options *options, const struct device *device,
                          const struct solve_case *given, struct table *table, double *rate) {
    facet_status status = FACET_OK;
    struct wave_case c = huismann2020_case(options, given->cells, given->degree);
    struct wave w = {0};
    struct boxhdg *h = NULL;
    struct boxhdg_solver *solver = NULL;
    struct boxhdg_lanes_points *points = NULL;
    struct solve_report report = {0};
    const struct solve_control control = {.rtol = RTOL, .max_iterations = 1000};
    struct vector f = {0};
    double *u = NULL, best[3] = {0}, total = INFINITY, error, setup;
    TRY(wave_create(&c, 0, &w));
    TRY(boxhdg_create(&w.data, c.degree, (const double *const *)w.rho, &h));
    setup = base_seconds();
    TRY(make_solver(device, given, &w, h, &solver, &points));
    setup = base_seconds() - setup;
    TRY(vector_create(device, h->n_volume, &f));
    for (int i = 0; i < 2; i++) {
        double seconds[3];
        TRY(vector_upload(&f, w.source));
        TRY(boxhdg_lanes_solve(points, solver, &f, &f, &control, &report, seconds));
        if (seconds[0] + seconds[1] + seconds[2] >= total) continue;
        total = seconds[0] + seconds[1] + seconds[2];
        for (int k = 0; k < 3; k++) best[k] = seconds[k];
    }
    boxhdg_lanes_points_destroy(&points);
    boxhdg_solver_destroy(&solver);
    TRY(ALLOC(u, h->n_volume));
    TRY(vector_download(&f, u));
    TRY(measure_error(&w, h, u, w.source, &error));
    *rate = (double)h->n_volume / total;
    table_cell(table, "%d", given->degree);
    table_cell(table, "%d^3", given->cells);
    table_cell(table, "%.0f M", 1e-6 * (double)h->n_volume);
    table_cell(table, "%s, %s", preconditioners[given->kind], given->mixed ? "mixed" : "double");
    table_cell(table, "%d", report.iterations);
    table_cell(table, "%.1e", report.residual);
    table_cell(table, "%.2e", error);
    table_cell(table, "%.2f", setup);
    for (int k = 0; k < 3; k++) table_cell(table, "%.4f", best[k]);
    table_cell(table, "%.3f", 1e-9 * *rate);
done:
    base_free(&u);
    vector_destroy(&f);
    solve_report_clear(&report);
    boxhdg_lanes_points_destroy(&points);
    boxhdg_solver_destroy(&solver);
    boxhdg_destroy(&h);
    wave_destroy(&w);
    return status;
}

static facet_status solves(const struct bench_options *options, const struct device *device, double *rate) {
    facet_status status = FACET_OK;
    static const struct solve_case cases[] = {{3, 96, 1, BOXHDG_ADDITIVE},     {7, 64, 1, BOXHDG_ADDITIVE},
                                              {7, 80, 0, BOXHDG_ADDITIVE},     {7, 80, 1, BOXHDG_CHEBYSHEV},
                                              {11, 48, 1, BOXHDG_ADDITIVE},    {15, 32, 1, BOXHDG_ADDITIVE},
                                              {7, LARGEST, 1, BOXHDG_ADDITIVE}};
    static const char *const headers[] = {"p",     "cells",   "unknowns", "solver",  "iterations", "residual",
                                          "error", "setup s", "load s",   "solve s", "recover s",  "GDoF/s"};
    struct table *table = NULL;
    TRY(table_create(13, headers, &table));
    for (size_t i = 0; i < (options->quick ? 2 : sizeof cases / sizeof *cases); i++) {
        struct solve_case c = cases[i];
        if (options->quick) c.cells = 9;
        TRY(solve(options, device, &c, table, rate));
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(
        options, "huismann2020-gpu-solves",
        "Whole solves of huismann2020, eq. 48, k = 5, tau = 25, to 1e-10 from a zero guess. GDoF/s: "
        "(p+1)^3 n_e over the seconds of loading, solving and recovering, from the source at the "
        "Gauss points to u there, both on the device; set-up (on the host) and copies of f and u "
        "are not in it. Errors by the Gauss rule of the cells.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_huismann2020_gpu(const struct bench_options *options) {
    facet_status status = FACET_OK;
    const struct device *device;
    struct targets targets = {0};
    double least[2] = {NAN, NAN}, rate = NAN;
    TRY(device_find(options->device, &device));
    TRY(sweeps(options, device, least));
    TRY(solves(options, device, &rate));
    TRY(targets_create(&targets));
    targets_at_least(&targets, "HDG-TPT over copy, f64, least of p = 3 .. 15", 0.6, least[0]);
    targets_at_least(&targets, "the same, f32", 0.6, least[1]);
    targets_at_least(&targets, "billions of unknowns per second, p = 7, the largest box", 1.2, 1e-9 * rate);
    TRY(targets_emit(options, "huismann2020-gpu-targets", &targets));
done:
    targets_destroy(&targets);
    return status;
}
