/* facet info: what this program is made of and what it runs on. */
#include <unistd.h>
#include <yaml.h>

#include "app/app.h"
#include "base/memory.h"
#include "io/compress.h"

/* OpenBLAS exports it; another BLAS may not. */
extern char *openblas_get_config(void) __attribute__((weak));

#if defined(__clang__)
#    define COMPILER "clang " __clang_version__
#else
#    define COMPILER "gcc " __VERSION__
#endif

static const char *build_type(void) {
#if defined(__SANITIZE_ADDRESS__)
    return "with sanitizers";
#elif defined(__OPTIMIZE__)
    return "optimized";
#else
    return "not optimized";
#endif
}

/* The support matrix: a line for every kernel, and why one is not on a device. */
static void put_kernels(struct text *out) {
    static const char *const names[] = {"cpu", "ref", "debug", "cuda"};
    for (int k = 0; k < device_n_kernels(); k++) {
        text_printf(out, "%-11s%-25s", k == 0 ? "kernels" : "", device_kernel_name(k));
        for (int d = 0; d < 4; d++) {
            const struct device *device;
            (void)device_find(names[d], &device); /* what it has is known without a GPU */
            if (device == NULL) continue;
            const enum device_support support = device_support(device, k);
            text_printf(out, "%s%s %s", d == 0 ? "" : "  ", names[d], device_support_name(support));
            if (support == DEVICE_NONE) text_printf(out, " (%s)", device_why_none(k));
        }
        text_printf(out, "\n");
    }
}

facet_status info_command(const struct app_options *options) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    struct text out = {0};
    double total = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    TRY(app_context(options, &context));
    text_printf(&out, "facet      %s (commit %s)\n", facet_version(), facet_commit());
    text_printf(&out, "build      %s, %s, kernels for %s\n", COMPILER, build_type(),
                kernels_instructions(NULL));
    text_printf(&out, "devices    %s; in use: %s\n", device_list(), facet_context_device(context));
    if (BASE_HAS_OPENMP)
        text_printf(&out, "threads    %d of %ld processors\n", facet_context_threads(context),
                    sysconf(_SC_NPROCESSORS_ONLN));
    else
        text_printf(&out, "threads    1 (built without OpenMP)\n");
    text_printf(&out, "memory     %s, %s available\n", report_bytes(total).text,
                report_bytes(base_available_bytes()).text);
    text_printf(&out, "direct     %s\n", cholesky_library());
    text_printf(&out, "BLAS       %s\n", openblas_get_config ? openblas_get_config() : "not OpenBLAS");
    text_printf(&out, "zlib       %s\n",
                compress_version() != NULL ? compress_version() : "not used: VTU files are not compressed");
    text_printf(&out, "libyaml    %s\n", yaml_get_version_string());
    app_put_libraries(&out);
    put_kernels(&out);
    TRY(report_put(report_stream(options), &out));
done:
    text_free(&out);
    facet_context_destroy(&context);
    return status;
}
