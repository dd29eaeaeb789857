/* What an expression costs: nanoseconds per point on one core, values alone and with derivatives, beside a
 * loop over the functions of libm. */
#include <math.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/bench.h"
#include "expr/expr.h"

#define N_POINTS 4096
#define PI       3.14159265358979323846

typedef void libm_loop(int n, const double *x, double *values);
#define LIBM(name, value)                                                                                    \
    static void libm_##name(int n, const double *x, double *values) {                                        \
        for (int i = 0; i < n; i++) values[i] = value;                                                       \
    }
LIBM(sin, sin(x[3 * i]))
LIBM(cos, cos(x[3 * i]))
LIBM(tan, tan(x[3 * i]))
LIBM(atan, atan(x[3 * i]))
LIBM(exp, exp(x[3 * i]))
LIBM(log, log(x[3 * i]))
LIBM(sqrt, sqrt(x[3 * i]))
LIBM(tanh, tanh(x[3 * i]))
LIBM(erf, erf(x[3 * i]))
LIBM(exponent, pow(x[3 * i], 2.5))
LIBM(pow, pow(x[3 * i], x[3 * i + 1]))
LIBM(waves, 3 * PI * PI * sin(PI * x[3 * i]) * sin(PI * x[3 * i + 1]) * sin(PI * x[3 * i + 2]))
LIBM(bell, exp(-(x[3 * i] * x[3 * i] + x[3 * i + 1] * x[3 * i + 1] + x[3 * i + 2] * x[3 * i + 2])))

static const struct {
    const char *text;
    libm_loop *libm;
} entries[] = {
    {"x", NULL},
    {"sin(x)", libm_sin},
    {"cos(x)", libm_cos},
    {"tan(x)", libm_tan},
    {"atan(x)", libm_atan},
    {"exp(x)", libm_exp},
    {"log(x)", libm_log},
    {"sqrt(x)", libm_sqrt},
    {"tanh(x)", libm_tanh},
    {"erf(x)", libm_erf},
    {"x^2.5", libm_exponent},
    {"x^y", libm_pow},
    {"3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)", libm_waves},
    {"exp(-(x^2 + y^2 + z^2))", libm_bell},
};
#define N_ENTRIES ((int)(sizeof entries / sizeof entries[0]))

/* The best of several runs, in nanoseconds per point: the machine may be busy. */
static facet_status measure(const struct expr *expr, libm_loop *libm, int order, int n_runs, const double *x,
                            double *values, double *ns) {
    facet_status status = FACET_OK;
    double *gradients = values + N_POINTS, *hessians = gradients + 3 * N_POINTS, best = INFINITY;
    for (int run = 0; run < n_runs; run++) {
        double begin = base_seconds();
        if (libm != NULL)
            libm(N_POINTS, x, values);
        else
            TRY(expr_eval(expr, N_POINTS, 3, x, NULL, values, order >= 1 ? gradients : NULL,
                          order == 2 ? hessians : NULL));
        double seconds = base_seconds() - begin;
        if (seconds < best) best = seconds;
    }
    *ns = 1e9 * best / N_POINTS;
done:
    return status;
}

static facet_status add_row(struct table *table, int entry, int n_runs, const double *x, double *values) {
    facet_status status = FACET_OK;
    struct expr *expr = NULL;
    double ns;
    TRY(expr_compile(entries[entry].text, 0, NULL, &expr));
    table_cell(table, "`%s`", entries[entry].text);
    for (int order = 0; order < 3; order++) {
        TRY(measure(expr, NULL, order, n_runs, x, values, &ns));
        table_cell(table, "%.2f", ns);
    }
    if (entries[entry].libm == NULL) {
        table_cell(table, "-");
        goto done;
    }
    TRY(measure(NULL, entries[entry].libm, 0, n_runs, x, values, &ns));
    table_cell(table, "%.2f", ns);
done:
    expr_destroy(&expr);
    return status;
}

facet_status bench_expressions(const struct bench_options *options) {
    static const char *const headers[] = {"expression", "value", "with gradient", "with Hessian",
                                          "libm, value"};
    facet_status status = FACET_OK;
    struct table *table = NULL;
    double *x = NULL, *values = NULL;
    TRY(ALLOC(x, 3 * N_POINTS));
    TRY(ALLOC(values, 13 * N_POINTS));
    for (int i = 0; i < 3 * N_POINTS; i++) x[i] = 0.1 + 3.0 * fmod(0.6180339887498949 * (i + 1), 1.0);
    TRY(table_create(5, headers, &table));
    for (int i = 0; i < N_ENTRIES; i++) TRY(add_row(table, i, options->quick ? 20 : 2000, x, values));
    TRY(bench_emit(options, options->name,
                   "Nanoseconds per point, one thread, 4096 points in three dimensions", table));
done:
    table_destroy(&table);
    base_free(&x);
    base_free(&values);
    return status;
}
