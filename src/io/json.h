/* Writes one JSON object, member by member, into a struct text. Numbers have 17 significant digits (shortest
 * form that reads back the same); NaN and infinities become null. Indented by two spaces. */
#ifndef FACET_IO_JSON_H
#define FACET_IO_JSON_H

#include <stdint.h>

#include "base/file.h"

struct json {
    struct text *text;
    int depth;
    int first; /* of the open object or array */
};
void json_begin(struct json *json, struct text *text);
/* key: NULL inside arrays and for the outermost object. */
void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, int value);

#endif
