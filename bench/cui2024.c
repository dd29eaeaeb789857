/* One solve on a cube of continuous elements. */
#include "bench/cui2024.h"

#include <math.h>

#include "base/memory.h"

#define RTOL 1e-9

int64_t cui2024_size(int dim, int cells, int degree) {
    int64_t n = 1;
    for (int d = 0; d < dim; d++) n *= (int64_t)cells * degree - 1;
    return n;
}

/* Between 0 and 1, the same in every run. */
static double noise(int64_t i) {
    uint64_t x = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u;
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9u;
    return (double)(x >> 11) / 9007199254740992.0;
}

static facet_status create(const struct bench_options *options, const struct cui2024_case *c,
                           struct boxsem **box) {
    facet_status status = FACET_OK;
    const struct device *device;
    struct box_grid_data data = {.dim = c->dim, .cells = {1, 1, 1}};
    double *x = NULL, *k = NULL;
    int64_t n = 1;
    *box = NULL;
    TRY(device_find(options->device, &device));
    TRY(ALLOC(x, c->cells + 1));
    for (int i = 0; i <= c->cells; i++) x[i] = (double)i / c->cells;
    for (int d = 0; d < c->dim; d++) {
        data.cells[d] = c->cells;
        data.coordinates[d] = x;
        n *= c->cells;
    }
    if (c->contrast > 1.0) {
        TRY(ALLOC(k, n));
        for (int64_t i = 0; i < n; i++) k[i] = pow(c->contrast, noise(i));
        data.conductivity = k;
    }
    TRY(boxsem_create(device, &data, c->degree, &c->options, box));
done:
    base_free(&x);
    base_free(&k);
    return status;
}

static facet_status load(struct boxsem *box, const struct field *exact) {
    facet_status status = FACET_OK;
    struct field *one = NULL;
    const double f = 1.0;
    TRY(field_create_constants(1, &f, &one));
    TRY(boxsem_load(box, &(struct box_given){.source = exact == NULL ? one : NULL, .exact = exact}));
done:
    field_destroy(&one);
    return status;
}

facet_status cui2024_run(const struct bench_options *options, const struct cui2024_case *c, int repetitions,
                         struct cui2024_result *result) {
    facet_status status = FACET_OK;
    struct boxsem *box = NULL;
    struct field *exact = NULL;
    struct solve_report report = {0};
    struct solve_control control = {.rtol = RTOL, .max_iterations = 200};
    struct base_memory memory;
    *result = (struct cui2024_result){.seconds = INFINITY, .error = -1.0};
    base_memory_reset_peak();
    double begin = base_seconds();
    TRY(create(options, c, &box));
    result->setup_seconds = base_seconds() - begin;
    if (c->exact != NULL) TRY(field_create_texts(1, &c->exact, 0, NULL, &exact));
    begin = base_seconds();
    TRY(load(box, exact));
    result->load_seconds = base_seconds() - begin;
    for (int i = 0; i < repetitions; i++) {
        TRY(boxsem_set_guess(box, NULL));
        begin = base_seconds();
        status = boxsem_solve(box, &control, &report);
        result->seconds = fmin(result->seconds, base_seconds() - begin);
        if (status != FACET_NOT_CONVERGED) TRY(status);
        status = FACET_OK;
    }
    int full = box->options.solver == BOXSEM_MULTIGRID && box->options.cycle == MG_FULL;
    result->n = box->n_free;
    result->converged = report.converged;
    result->residual = report.residual;
    result->iterations = full && report.iterations > 1 ? report.iterations - 1 : report.iterations;
    if (exact != NULL) {
        struct box_errors errors;
        TRY(boxsem_measure_errors(box, exact, &errors));
        result->error = errors.u_L2;
    }
    base_memory_read(&memory);
    result->bytes = (double)memory.peak_bytes;
done:
    solve_report_clear(&report);
    field_destroy(&exact);
    boxsem_destroy(&box);
    return status;
}
