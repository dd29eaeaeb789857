/* What the tests of src/expr share. */
#ifndef FACET_TESTS_EXPR_HELPERS_H
#define FACET_TESTS_EXPR_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "expr/expr.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static inline struct expr *compile(const char *text) {
    struct expr *expr = NULL;
    if (expr_compile(text, 0, NULL, &expr) != FACET_OK) fail_msg("%s: %s", text, base_message());
    return expr;
}

/* xorshift: the same numbers in every run. */
static inline uint64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline double random_between(uint64_t *state, double a, double b) {
    return a + (b - a) * ((double)(random_bits(state) >> 11) / 9007199254740992.0);
}

/* The last message must contain `part`. */
static inline void has(const char *text, const char *part) {
    if (!strstr(base_message(), part)) fail_msg("%s: '%s' lacks '%s'", text, base_message(), part);
}

#endif
