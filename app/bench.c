/* facet bench: one of the benches by name, or the list of them. */
#include "bench/bench.h"

#include <string.h>

#include "app/app.h"
#include "case/schema.h"

static facet_status print_list(void) {
    struct text out = {0};
    for (const struct bench *b = bench_list(); b->name; b++)
        text_printf(&out, "  %-22s %s\n", b->name, b->help);
    text_printf(&out, "\nfacet bench NAME [--output DIR] [--quick]\n");
    facet_status status = report_put(stdout, &out);
    text_free(&out);
    return status;
}

static facet_status unknown_bench(const char *name) {
    const char *known[64];
    int n = 0;
    for (const struct bench *b = bench_list(); b->name && n < 64; b++) known[n++] = b->name;
    const char *nearest = schema_nearest(name, n, known);
    if (nearest) return base_fail(FACET_ERROR_INPUT, "unknown bench '%s'; did you mean '%s'?", name, nearest);
    return base_fail(FACET_ERROR_INPUT, "unknown bench '%s'; 'facet bench' lists them", name);
}

facet_status bench_command(const struct app_options *options) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    if (options->n_arguments == 0) return print_list();
    const struct bench *bench = bench_list();
    while (bench->name && strcmp(bench->name, options->arguments[0]) != 0) bench++;
    if (!bench->name) return unknown_bench(options->arguments[0]);
    TRY(app_context(options, &context));
    const struct bench_options bench_options = {.name = bench->name,
                                                .output = options->output,
                                                .command = options->line,
                                                .device = facet_context_device(context),
                                                .tau = options->tau,
                                                .threads = facet_context_threads(context),
                                                .quick = options->quick};
    TRY(bench_check_output(&bench_options));
    TRY(bench->run(&bench_options));
done:
    facet_context_destroy(&context);
    return status;
}
