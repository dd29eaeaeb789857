/* What the tests of facet.h share: a context, and the judgement of calls. */
#ifndef FACET_TESTS_API_HELPERS_H
#define FACET_TESTS_API_HELPERS_H

#include <math.h>
#include <string.h>

#include "base/memory.h"

static inline void refused(facet_status status, const char *word) {
    assert_int_equal(status, FACET_ERROR_INPUT);
    if (!strstr(facet_message(), word)) fail_msg("'%s' is not in: %s", word, facet_message());
}

static inline void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", facet_message());
}

static inline void near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance * (1 + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

struct made {
    facet_context *context;
    int64_t live_blocks;
};

static inline int set_up(void **state) {
    static struct made m;
    struct base_memory memory;
    base_memory_read(&memory);
    m.live_blocks = memory.live_blocks;
    ok(facet_context_create(NULL, &m.context));
    *state = &m;
    return 0;
}

static inline int tear_down(void **state) {
    struct made *m = *state;
    struct base_memory memory;
    facet_context_destroy(&m->context);
    base_memory_read(&memory);
    return memory.live_blocks == m->live_blocks ? 0 : -1;
}

#endif
