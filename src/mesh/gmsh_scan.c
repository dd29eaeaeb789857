/* The scanner of the Gmsh reader: numbers as text or as bytes from a bounded buffer, and failures that know
 * their place. */
#define _GNU_SOURCE /* strtod_l */
#include "mesh/gmsh.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

facet_status gmsh_fail(const struct gmsh_scanner *s, const char *at, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s->binary)
        return base_fail(FACET_ERROR_INPUT, "%s: byte %lld: %s", s->path, (long long)(at - s->begin), text);
    long long line = 1;
    for (const char *p = s->begin; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; p++) line++;
    return base_fail(FACET_ERROR_INPUT, "%s:%lld: %s", s->path, line, text);
}

/* The word at the scanner, for messages. */
static void describe_word(const struct gmsh_scanner *s, char *text, int text_bytes) {
    int n = 0;
    for (const char *p = s->at; p < s->end && n < 30 && n < text_bytes - 3 && isgraph((unsigned char)*p); p++)
        n++;
    if (s->at >= s->end)
        snprintf(text, (size_t)text_bytes, "the end of the file");
    else if (n == 0)
        snprintf(text, (size_t)text_bytes, "binary data");
    else
        snprintf(text, (size_t)text_bytes, "'%.*s'", n, s->at);
}

facet_status gmsh_expected(const struct gmsh_scanner *s, const char *what) {
    char found[64];
    describe_word(s, found, sizeof found);
    return gmsh_fail(s, s->at, "expected %s, found %s", what, found);
}

static facet_status fail_short(const struct gmsh_scanner *s, const char *what) {
    return gmsh_fail(s, s->at, "expected %s, but the file ends here: it is truncated", what);
}

static inline int is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline int is_digit(char c) {
    return c >= '0' && c <= '9';
}

void gmsh_skip_space(struct gmsh_scanner *s) {
    while (s->at < s->end && is_space(*s->at)) s->at++;
}

void gmsh_skip_line(struct gmsh_scanner *s) {
    const char *line_end = memchr(s->at, '\n', (size_t)(s->end - s->at));
    s->at = line_end == NULL ? s->end : line_end + 1;
}

/* The buffer ends with a NUL, which is neither space nor digit: no other test for the end is needed. */
facet_status gmsh_text_int(struct gmsh_scanner *s, const char *what, int64_t *value) {
    gmsh_skip_space(s);
    const char *p = s->at;
    int negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!is_digit(*p)) return gmsh_expected(s, what);
    int64_t v = 0;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return gmsh_expected(s, what);
    if (*p != '\0' && !is_space(*p)) return gmsh_expected(s, what);
    s->at = p;
    *value = negative ? -v : v;
    return FACET_OK;
}

/* Digits that fit 53 bits times a power of ten up to 22 are exact in one operation; strtod does the rest. */
facet_status gmsh_text_double(struct gmsh_scanner *s, const char *what, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    gmsh_skip_space(s);
    const char *p = s->at;
    int negative = *p == '-', n_digits = 0, n_decimals = 0;
    if (*p == '-' || *p == '+') p++;
    uint64_t digits = 0;
    for (; is_digit(*p); p++, n_digits++) digits = digits * 10 + (uint64_t)(*p - '0');
    if (*p == '.')
        for (p++; is_digit(*p); p++, n_digits++, n_decimals++) digits = digits * 10 + (uint64_t)(*p - '0');
    if (n_digits == 0) return gmsh_expected(s, what);
    double v;
    if (n_digits <= 19 && n_decimals <= 22 && digits <= (UINT64_C(1) << 53) && (*p == '\0' || is_space(*p))) {
        v = (double)digits / powers[n_decimals];
        if (negative) v = -v;
    } else {
        char *end;
        v = strtod_l(s->at, &end, s->locale);
        if (*end != '\0' && !is_space(*end)) return gmsh_expected(s, what);
        p = end;
    }
    if (!isfinite(v)) return gmsh_expected(s, what);
    s->at = p;
    *value = v;
    return FACET_OK;
}

facet_status gmsh_int(struct gmsh_scanner *s, const char *what, int *value) {
    if (s->binary) {
        if (gmsh_remaining(s) < (int64_t)sizeof *value) return fail_short(s, what);
        memcpy(value, s->at, sizeof *value);
        s->at += sizeof *value;
        return FACET_OK;
    }
    int64_t wide;
    facet_status status = gmsh_text_int(s, what, &wide);
    if (status != FACET_OK) return status;
    if (wide < INT_MIN || wide > INT_MAX)
        return gmsh_fail(s, s->at, "expected %s, found %lld, which is too large", what, (long long)wide);
    *value = (int)wide;
    return FACET_OK;
}

facet_status gmsh_size(struct gmsh_scanner *s, const char *what, int64_t *value) {
    if (!s->binary) return gmsh_text_int(s, what, value);
    if (gmsh_remaining(s) < (int64_t)sizeof *value) return fail_short(s, what);
    memcpy(value, s->at, sizeof *value);
    if (*value < 0) return gmsh_fail(s, s->at, "expected %s, found a number that is too large", what);
    s->at += sizeof *value;
    return FACET_OK;
}

facet_status gmsh_double(struct gmsh_scanner *s, const char *what, double *value) {
    if (!s->binary) return gmsh_text_double(s, what, value);
    if (gmsh_remaining(s) < (int64_t)sizeof *value) return fail_short(s, what);
    memcpy(value, s->at, sizeof *value);
    if (!isfinite(*value)) return gmsh_fail(s, s->at, "expected %s, found a number that is not finite", what);
    s->at += sizeof *value;
    return FACET_OK;
}

facet_status gmsh_check_count(const struct gmsh_scanner *s, const char *what, int64_t count, int64_t bytes) {
    if (count >= 0 && count <= gmsh_remaining(s) / bytes) return FACET_OK;
    return gmsh_fail(s, s->at,
                     "%s is said to be %lld, for which the %lld bytes that follow have no room: the file is "
                     "truncated or corrupt",
                     what, (long long)count, (long long)gmsh_remaining(s));
}

facet_status gmsh_count(struct gmsh_scanner *s, const char *what, int64_t text_bytes, int64_t binary_bytes,
                        int64_t *value) {
    facet_status status = gmsh_size(s, what, value);
    if (status != FACET_OK) return status;
    return gmsh_check_count(s, what, *value, s->binary ? binary_bytes : text_bytes);
}

facet_status gmsh_reserve(void *pointer, struct gmsh_array *array, int64_t more, size_t size) {
    if (more <= array->capacity - array->count) return FACET_OK;
    int64_t capacity = array->count + more;
    if (capacity < 2 * array->capacity) capacity = 2 * array->capacity;
    if (capacity < 16) capacity = 16;
    facet_status status = base_realloc(pointer, (size_t)capacity, size);
    if (status == FACET_OK) array->capacity = capacity;
    return status;
}
