/* facet bench of a program that was built without the benches (FACET_BENCH=OFF), as `make demo` does. */
#include "app/app.h"

facet_status bench_command(const struct app_options *options) {
    (void)options;
    return base_fail(
        FACET_ERROR_INPUT,
        "this program was built without the benches, to be ready sooner; 'make' in the source tree "
        "builds one that has them");
}
