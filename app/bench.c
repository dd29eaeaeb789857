/* facet bench: one of the benches by name, the list of them, or pictures of their figures. */
#include "bench/bench.h"

#include <string.h>

#include "app/app.h"
#include "base/guess.h"
#include "bench/plot.h"

static facet_status print_list(const struct app_options *options) {
    struct text out = {0};
    for (const struct bench *b = bench_list(); b->name; b++)
        text_printf(&out, "  %-22s %s\n", b->name, b->help);
    text_printf(&out,
                "\nfacet bench NAME [--output DIR] [--quick]\nfacet bench --plot [PATH...] [--output DIR]\n");
    facet_status status = report_put(team_rank(options->team) == 0 ? stdout : NULL, &out);
    text_free(&out);
    return status;
}

static facet_status unknown_bench(const char *name) {
    const char *known[64];
    int n = 0;
    for (const struct bench *b = bench_list(); b->name && n < 64; b++) known[n++] = b->name;
    const char *nearest = guess_nearest(name, n, known);
    if (nearest) return base_fail(FACET_ERROR_INPUT, "unknown bench '%s'; did you mean '%s'?", name, nearest);
    return base_fail(FACET_ERROR_INPUT, "unknown bench '%s'; 'facet bench' lists them", name);
}

/* --plot: pictures of data files, or of the directories they are in. */
static facet_status draw(const struct app_options *options) {
    facet_status status = FACET_OK;
    const struct bench_options target = {.output = options->output};
    if (options->quick || options->tau || options->device || options->threads > 0)
        FAIL(FACET_ERROR_INPUT, "--plot draws what was measured: it takes paths and --output alone");
    TRY(bench_check_output(&target));
    if (options->n_arguments == 0) TRY(plot_draw("bench/results", options->output));
    for (int i = 0; i < options->n_arguments; i++) TRY(plot_draw(options->arguments[i], options->output));
done:
    return status;
}

facet_status bench_command(const struct app_options *options) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    if (options->plot) return draw(options);
    if (options->n_arguments == 0) return print_list(options);
    if (options->n_arguments > 1)
        return base_fail(FACET_ERROR_INPUT, "one argument too many for 'facet bench': '%s'",
                         options->arguments[1]);
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
                                                .quick = options->quick,
                                                .context = context,
                                                .silent = team_rank(options->team) > 0};
    if (!bench_options.silent) TRY(bench_check_output(&bench_options));
    TRY(bench->run(&bench_options));
done:
    facet_context_destroy(&context);
    return status;
}
