/* fabien2017, Figures 15 to 17: the trace product against the roofs of the machine, on squares (the paper's
 * mesh) and triangles, in all the forms it can take, and the stages with one thread and with all.
 *
 * Bytes are the fewest a product must move: its matrix read once, x read once, y written once. Operations are
 * two for every entry of the matrix that is used. All times of a row, the triad's among them, come from the
 * same loop, rivals in turn, best of all passes.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "bench/plot.h"
#include "problem/problem.h"

#define MAX_DEGREE   9
#define CACHES       4 /* the element matrices take this many times the last-level cache */
#define PASSES       25
#define N_FORMS      4
#define STAGE_PASSES 7

static const struct {
    enum trace_form form;
    const char *name;
} forms[N_FORMS] = {{TRACE_CELLS, "cells"}, {TRACE_FACETS, "facets"}, {TRACE_ELL, "ELL"}, {TRACE_CSR, "CSR"}};
#define CSR 3

static const char *const shapes[] = {"quad", "triangle"};

/* One row of the figures. */
struct measured {
    int cells, degree;
    int64_t n_unknowns;
    double triad;                                                 /* bytes per second */
    double bytes[N_FORMS], operations[N_FORMS], seconds[N_FORMS]; /* of one product */
};

static double rate(const struct measured *m, int form) {
    return m->bytes[form] / m->seconds[form];
}

/* Squares along a side of the box so that the element matrices take `bytes`. */
static int choose_cells(int shape, int degree, double bytes) {
    int triangle = shape == 1, n = (triangle ? 3 : 4) * (degree + 1);
    double square = (triangle ? 2.0 : 1.0) * 4.0 * n * (n + 1);
    return (int)ceil(sqrt(bytes / square));
}

/* Symmetric matrices of no meaning: a product takes as long whatever the numbers are. */
static facet_status fill_matrices(const struct device *device, struct trace_matrices *matrices) {
    facet_status status = FACET_OK;
    double *host = NULL;
    int64_t n = matrices->n[0], count = matrices->n_batches[0] * (n * (n + 1) / 2) * TRACE_LANES;
    TRY(ALLOC(host, count));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < count; i++) host[i] = 1.0 / (double)(1 + i % 13);
    TRY(device_upload(device, matrices->values[0], host, (size_t)count * sizeof *host));
done:
    base_free(&host);
    return status;
}

static facet_status time_forms(struct operator* A, struct triad *triad, struct measured *m) {
    facet_status status = FACET_OK;
    struct vector x = {0}, y = {0};
    TRY(vector_create(A[0].device, A[0].n, &x));
    TRY(vector_create(A[0].device, A[0].n, &y));
    vector_fill(&x, 1.0);
    vector_fill(&y, 0.0);
    double best = INFINITY;
    for (int f = 0; f < N_FORMS; f++) m->seconds[f] = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        best = fmin(best, triad_run(triad));
        for (int f = 0; f < N_FORMS; f++) {
            double begin = base_seconds();
            operator_apply(&A[f], &x, &y);
            m->seconds[f] = fmin(m->seconds[f], base_seconds() - begin);
        }
        TRY(base_check_interrupt());
    }
    m->triad = triad_bytes(triad) / best;
done:
    vector_destroy(&x);
    vector_destroy(&y);
    return status;
}

static facet_status measure(const struct device *device, int shape, struct triad *triad, struct measured *m) {
    facet_status status = FACET_OK;
    facet_box box = {.dim = 2, .upper = {1.0, 1.0}, .cells = {m->cells, m->cells}, .shape = shapes[shape]};
    struct facet_mesh *mesh = NULL;
    struct trace_space space = {0};
    struct trace_matrices matrices = {0};
    struct operator A[N_FORMS] = {0};
    uint8_t *eliminated = NULL;
    TRY(mesh_create_box(&box, &mesh));
    TRY(CALLOC(eliminated, mesh->n_faces));
    TRY(trace_space_create(mesh, m->degree, 1, eliminated, &space));
    TRY(trace_matrices_create(device, &space, &matrices));
    TRY(fill_matrices(device, &matrices));
    m->n_unknowns = space.n_free;
    for (int f = 0; f < N_FORMS; f++) {
        TRY(trace_operator_create(&space, &matrices, forms[f].form, &A[f]));
        m->bytes[f] = trace_operator_bytes(&A[f]) + 16.0 * (double)space.n_free;
    }
    double n = matrices.n[0];
    m->operations[0] = 2.0 * n * n * (double)mesh->blocks[0].count;
    m->operations[1] = m->operations[0];
    m->operations[2] = m->operations[CSR] = trace_operator_bytes(&A[CSR]) / 6.0; /* 12 bytes an entry */
    TRY(time_forms(A, triad, m));
done:
    for (int f = 0; f < N_FORMS; f++) operator_destroy(&A[f]);
    trace_matrices_destroy(&matrices);
    trace_space_destroy(&space);
    base_free(&eliminated);
    mesh_destroy(&mesh);
    return status;
}

static facet_status emit_bandwidth(const struct bench_options *options, int shape,
                                   const struct measured *rows, int n_rows) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "P",        "cells", "unknowns", "MB cells", "triad GB/s", "cells",     "of triad",   "facets",
        "of triad", "ELL",   "of triad", "CSR",      "of triad",   "cells/CSR", "facets/CSR", "ELL/CSR"};
    char name[64];
    TRY(table_create(16, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        const struct measured *m = &rows[i];
        table_cell(table, "%d", m->degree);
        table_cell(table, "%d^2%s", m->cells, shape == 1 ? " x 2" : "");
        table_cell(table, "%lld", (long long)m->n_unknowns);
        table_cell(table, "%.0f", 1e-6 * m->bytes[0]);
        table_cell(table, "%.1f", 1e-9 * m->triad);
        for (int f = 0; f < N_FORMS; f++) {
            table_cell(table, "%.1f", 1e-9 * rate(m, f));
            table_cell(table, "%.0f %%", 100.0 * rate(m, f) / m->triad);
        }
        for (int f = 0; f < CSR; f++) table_cell(table, "%.2f", m->seconds[CSR] / m->seconds[f]);
    }
    snprintf(name, sizeof name, "fabien2017-products-%s", shapes[shape]);
    TRY(bench_emit(options, name,
                   "fabien2017, Figure 15: bytes a product must move over its time, in GB/s and of the "
                   "STREAM triad of the same run; the last columns are speeds against CSR. The paper reaches "
                   "at most 50 % below p = 5 and 80 % above, on a KNL of 300 GB/s.",
                   table));
done:
    table_destroy(&table);
    return status;
}

static facet_status emit_roofline(const struct bench_options *options, int shape, const struct measured *rows,
                                  int n_rows, double dgemm) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {
        "P",          "cells flop/B", "GFLOP/s", "of roof",    "facets flop/B", "GFLOP/s", "of roof",
        "ELL flop/B", "GFLOP/s",      "of roof", "CSR flop/B", "GFLOP/s",       "of roof"};
    char name[64], title[256];
    TRY(table_create(13, headers, &table));
    for (int i = 0; i < n_rows; i++) {
        const struct measured *m = &rows[i];
        table_cell(table, "%d", m->degree);
        for (int f = 0; f < N_FORMS; f++) {
            double intensity = m->operations[f] / m->bytes[f], speed = m->operations[f] / m->seconds[f];
            table_cell(table, "%.3f", intensity);
            table_cell(table, "%.2f", 1e-9 * speed);
            table_cell(table, "%.0f %%", 100.0 * speed / fmin(dgemm, intensity * m->triad));
        }
    }
    snprintf(name, sizeof name, "fabien2017-roofline-%s", shapes[shape]);
    snprintf(title, sizeof title,
             "fabien2017, Figures 16 and 17: intensity and speed of the products; the roofs are the triad of "
             "the table before and DGEMM, %.1f GFLOP/s.",
             1e-9 * dgemm);
    TRY(bench_emit(options, name, title, table));
done:
    table_destroy(&table);
    return status;
}

static facet_status draw(const struct bench_options *options, int shape, const struct measured *rows,
                         int n_rows, double dgemm) {
    facet_status status = FACET_OK;
    struct plot *plot = NULL;
    struct plot_series *series;
    char name[64];
    double triad = 0.0;
    for (int i = 0; i < n_rows; i++) triad = fmax(triad, rows[i].triad);
    TRY(CALLOC(plot, 1));
    snprintf(name, sizeof name, "fabien2017-figure15-%s", shapes[shape]);
    *plot = (struct plot){.name = name,
                          .title = "Achieved bandwidth of the trace product (fabien2017, Figure 15)",
                          .x_label = "degree",
                          .y_label = "GB/s"};
    series = plot_add(plot, "STREAM triad", "lines");
    for (int i = 0; i < n_rows; i++) plot_point(series, rows[i].degree, 1e-9 * rows[i].triad);
    for (int f = 0; f < N_FORMS; f++) {
        series = plot_add(plot, forms[f].name, "linespoints");
        for (int i = 0; i < n_rows; i++) plot_point(series, rows[i].degree, 1e-9 * rate(&rows[i], f));
    }
    TRY(plot_write(options, plot));
    snprintf(name, sizeof name, "fabien2017-figure16-%s", shapes[shape]);
    *plot = (struct plot){.name = name,
                          .title = "Roofline of the trace product (fabien2017, Figures 16 and 17)",
                          .x_label = "flop per byte",
                          .y_label = "GFLOP/s",
                          .log = 1};
    series = plot_add(plot, "roof: triad, DGEMM", "lines");
    for (int i = -8; i <= 8; i++) {
        double x = exp2(0.5 * i);
        plot_point(series, x, 1e-9 * fmin(dgemm, x * triad));
    }
    for (int f = 0; f < N_FORMS; f++) {
        series = plot_add(plot, forms[f].name, "points");
        for (int i = 0; i < n_rows; i++)
            plot_point(series, rows[i].operations[f] / rows[i].bytes[f],
                       1e-9 * rows[i].operations[f] / rows[i].seconds[f]);
    }
    TRY(plot_write(options, plot));
done:
    base_free(&plot);
    return status;
}

static facet_status products(const struct bench_options *options, int shape, double dgemm) {
    facet_status status = FACET_OK;
    struct measured rows[MAX_DEGREE];
    const struct device *device;
    struct triad triad = {0};
    double bytes = (options->quick ? 1.0 : CACHES) * (double)ceiling_cache_bytes();
    int n = 0;
    TRY(device_find(options->device, &device));
    TRY(triad_create(&triad));
    for (int degree = 1; degree <= MAX_DEGREE; degree++, n++) {
        rows[n] = (struct measured){.degree = degree, .cells = choose_cells(shape, degree, bytes)};
        TRY(measure(device, shape, &triad, &rows[n]));
    }
    TRY(emit_bandwidth(options, shape, rows, n));
    TRY(emit_roofline(options, shape, rows, n, dgemm));
    TRY(draw(options, shape, rows, n, dgemm));
done:
    triad_destroy(&triad);
    return status;
}

/* ---------------------------------------------------------------------------------------------- threads */

enum stage { CONDENSE, ASSEMBLE, PRODUCT_CELLS, PRODUCT_FACETS, LOAD, RECOVER, N_STAGES };

/* A problem whose stages are run again and again. */
struct subject {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    struct operator facets;
};

static void subject_destroy(struct subject *s) {
    operator_destroy(&s->facets);
    facet_solver_destroy(&s->solver);
    facet_problem_destroy(&s->problem);
    facet_mesh_destroy(&s->mesh);
    facet_context_destroy(&s->context);
}

static facet_status subject_create(const struct bench_options *bench, int shape, int cells, int degree,
                                   struct subject *s) {
    facet_status status = FACET_OK;
    facet_box box = {.dim = 2, .upper = {1.0, 1.0}, .cells = {cells, cells}, .shape = shapes[shape]};
    facet_options options;
    facet_options_default(&options);
    options.degree = degree;
    options.method = "cg";
    options.preconditioner = "none";
    TRY(facet_context_create(bench->device, &s->context));
    TRY(facet_mesh_create_box(s->context, &box, &s->mesh));
    TRY(facet_problem_create(s->context, s->mesh, FACET_DIFFUSION, &s->problem));
    TRY(facet_problem_set_dirichlet(s->problem, "rest", "x"));
    TRY(facet_problem_set_source(s->problem, "1"));
    TRY(facet_solver_create(s->problem, &options, &s->solver));
    TRY(trace_operator_create(&s->solver->hdg->trace, &s->solver->hdg->matrices, TRACE_FACETS, &s->facets));
    vector_fill(&s->solver->b, 1.0);
done:
    return status;
}

/* Seconds of one run of a stage. */
static facet_status run_stage(struct subject *s, enum stage stage, double *seconds) {
    facet_status status = FACET_OK;
    struct hdg *hdg = s->solver->hdg, *fresh = NULL;
    struct csr csr = {0};
    if (stage == CONDENSE)
        TRY(hdg_create(s->context->device, &s->solver->resolved.data, s->solver->options.degree, NULL,
                       &s->context->monitor, &fresh));
    double begin = base_seconds();
    switch (stage) {
    case CONDENSE:
        TRY(hdg_condense(fresh));
        break;
    case ASSEMBLE:
        TRY(trace_assemble(&hdg->trace, &hdg->matrices, &csr));
        break;
    case PRODUCT_CELLS:
        operator_apply(&s->solver->A, &s->solver->b, &s->solver->x);
        break;
    case PRODUCT_FACETS:
        operator_apply(&s->facets, &s->solver->b, &s->solver->x);
        break;
    case LOAD:
        TRY(hdg_load(hdg, NULL, &s->solver->solution, s->solver->F));
        break;
    case RECOVER:
        TRY(hdg_recover(hdg, &s->solver->solution));
        break;
    default:
        break;
    }
    *seconds = base_seconds() - begin;
done:
    csr_destroy(&csr);
    hdg_destroy(&fresh);
    return status;
}

static facet_status speed_up(struct subject *s, int threads, double *factors) {
    facet_status status = FACET_OK;
    for (int stage = 0; stage < N_STAGES; stage++) {
        double one = INFINITY, all = INFINITY, seconds;
        for (int pass = 0; pass < STAGE_PASSES; pass++) {
            base_set_threads(1);
            TRY(run_stage(s, (enum stage)stage, &seconds));
            one = fmin(one, seconds);
            base_set_threads(threads);
            TRY(run_stage(s, (enum stage)stage, &seconds));
            all = fmin(all, seconds);
        }
        factors[stage] = one / all;
    }
done:
    base_set_threads(threads);
    return status;
}

static facet_status speed_ups(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    char title[256];
    static const char *const headers[] = {"shape",           "P",        "cells",
                                          "local matrices",  "assembly", "product, cells",
                                          "product, facets", "loads",    "recovery"};
    TRY(table_create(9, headers, &table));
    for (int shape = 0; shape < 2; shape++)
        for (int degree = 1; degree <= MAX_DEGREE; degree += options->quick ? 4 : 2) {
            double factors[N_STAGES];
            struct subject s = {0};
            int cells = choose_cells(shape, degree, 2.0 * (double)ceiling_cache_bytes());
            status = subject_create(options, shape, cells, degree, &s);
            if (status == FACET_OK) status = speed_up(&s, options->threads, factors);
            subject_destroy(&s);
            if (status != FACET_OK) goto done;
            table_cell(table, "%s", shapes[shape]);
            table_cell(table, "%d", degree);
            table_cell(table, "%d^2%s", cells, shape == 1 ? " x 2" : "");
            for (int stage = 0; stage < N_STAGES; stage++) table_cell(table, "%.2f", factors[stage]);
        }
    snprintf(title, sizeof title,
             "fabien2017, Figure 14: speed of every stage with %d threads against one thread.",
             options->threads);
    TRY(bench_emit(options, "fabien2017-threads", title, table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_fabien2017_roofline(const struct bench_options *options) {
    facet_status status = FACET_OK;
    double dgemm = 0.0;
    for (int shape = 0; shape < 2; shape++) {
        TRY(ceiling_dgemm(&dgemm));
        TRY(products(options, shape, dgemm));
    }
    TRY(speed_ups(options));
done:
    return status;
}
