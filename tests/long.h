/* Tests have a longer form: more of what the default run does a sample of. `make check` runs it, as
 * test_slow_<name>. */
#ifndef FACET_TESTS_LONG_H
#define FACET_TESTS_LONG_H

#include <stdlib.h>

static inline int is_long_run(void) {
    return getenv("FACET_LONG") != NULL;
}

#endif
