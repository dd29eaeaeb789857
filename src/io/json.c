/* JSON text, member by member (RFC 8259). Commas and indentation follow from what was opened last; whether a
 * container is still empty is all that must be remembered, because after a container is closed its parent is
 * not. */
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_begin(struct json *json, struct text *text) {
    *json = (struct json){.text = text, .depth = 0, .first = 1};
}

static void new_line(struct json *json) {
    text_printf(json->text, "\n%*s", 2 * json->depth, "");
}

/* Bytes of the UTF-8 character at c (1 .. 4), 0 if it is none: a stray or missing continuation byte, an
 * overlong form, a surrogate, or beyond U+10FFFF. */
static size_t utf8_bytes(const unsigned char *c) {
    if (c[0] < 0x80) return 1;
    const size_t n = c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : c[0] >= 0xe0 && c[0] < 0xf0 ? 3 : 4;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0)) return 0;
    if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90)) return 0;
    return n;
}

/* UTF-8 passes; bytes that are not (a file name in another encoding) become the replacement character. */
static void put_string(struct text *text, const char *value) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    text_append(text, "\"", 1);
    for (size_t bytes; *value; value += bytes) {
        const char *known = strchr(from, *value);
        bytes = utf8_bytes((const unsigned char *)value);
        if (known) {
            text_printf(text, "\\%c", to[known - from]);
        } else if ((unsigned char)*value < 0x20 || *value == 0x7f) {
            text_printf(text, "\\u%04x", (unsigned)(unsigned char)*value);
        } else if (bytes > 0) {
            text_append(text, value, bytes);
        } else {
            text_printf(text, "\\ufffd");
            bytes = 1;
        }
    }
    text_append(text, "\"", 1);
}

/* What stands before a value: the comma after its elder brother, a line of its own, its key. */
static void put_key(struct json *json, const char *key) {
    if (!json->first) text_append(json->text, ",", 1);
    if (json->depth > 0) new_line(json);
    json->first = 0;
    if (key) {
        put_string(json->text, key);
        text_append(json->text, ": ", 2);
    }
}

static void open_container(struct json *json, const char *key, const char *bracket) {
    put_key(json, key);
    text_append(json->text, bracket, 1);
    json->depth++;
    json->first = 1;
}

static void close_container(struct json *json, const char *bracket) {
    json->depth--;
    if (!json->first) new_line(json);
    text_append(json->text, bracket, 1);
    if (json->depth == 0) text_append(json->text, "\n", 1);
    json->first = 0;
}

void json_object_begin(struct json *json, const char *key) {
    open_container(json, key, "{");
}

void json_object_end(struct json *json) {
    close_container(json, "}");
}

void json_array_begin(struct json *json, const char *key) {
    open_container(json, key, "[");
}

void json_array_end(struct json *json) {
    close_container(json, "]");
}

void json_string(struct json *json, const char *key, const char *value) {
    put_key(json, key);
    if (value) {
        put_string(json->text, value);
    } else {
        text_append(json->text, "null", 4);
    }
}

/* 15 digits always survive the way to text and back, 17 always bring the number back: the first of 15, 16, 17
 * that does is taken. The host program may have set a locale with a decimal comma; JSON knows only the point.
 */
void json_number(struct json *json, const char *key, double value) {
    char digits[40] = "null";
    if (isfinite(value)) {
        for (int precision = 15; precision <= 17; precision++) {
            snprintf(digits, sizeof digits, "%.*g", precision, value);
            if (strtod(digits, NULL) == value) break;
        }
        const size_t odd = strspn(digits, "+-0123456789e");
        if (digits[odd]) {
            const size_t rest = strcspn(digits + odd, "+-0123456789e");
            digits[odd] = '.';
            memmove(digits + odd + 1, digits + odd + rest, strlen(digits + odd + rest) + 1);
        }
    }
    put_key(json, key);
    text_append(json->text, digits, strlen(digits));
}

void json_integer(struct json *json, const char *key, int64_t value) {
    put_key(json, key);
    text_printf(json->text, "%lld", (long long)value);
}

void json_bool(struct json *json, const char *key, int value) {
    put_key(json, key);
    text_printf(json->text, "%s", value ? "true" : "false");
}
