/* The calling thread's error text, and the collector that brings a worker thread's text home. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/run.h"

static _Thread_local char message[BASE_MESSAGE_BYTES];

facet_status base_fail(facet_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

int base_read_more(const char *line) {
    int n = 0;
    return sscanf(line, "and %d more error", &n) == 1 ? n : 0;
}

#define MORE_BYTES 64 /* "and 12 more errors" */
facet_status base_fail_lines(facet_status status, const char *lines) {
    char kept[BASE_MESSAGE_BYTES] = "";
    size_t used = 0;
    int left = 0;
    while (*lines != '\0') {
        const size_t n = strcspn(lines, "\n");
        if (base_read_more(lines) > 0)
            left += base_read_more(lines);
        else if (used + n + 1 + MORE_BYTES >= sizeof kept && used > 0)
            left++;
        else
            used += (size_t)snprintf(kept + used, sizeof kept - used - MORE_BYTES, "%s%.*s",
                                     used > 0 ? "\n" : "", (int)n, lines);
        if (used >= sizeof kept - MORE_BYTES) used = strlen(kept); /* one line that is too long */
        lines += n + (lines[n] == '\n');
    }
    if (left > 0) snprintf(kept + used, MORE_BYTES, "\nand %d more error%s", left, left == 1 ? "" : "s");
    return base_fail(status, "%s", kept);
}

facet_status base_wrap(facet_status status, const char *format, ...) {
    if (status == FACET_OK) return status;
    char old[BASE_MESSAGE_BYTES];
    memcpy(old, message, sizeof old);
    va_list args;
    va_start(args, format);
    int written = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    size_t n = written < 0 ? 0 : (size_t)written;
    if (n + 3 > sizeof message) return status; /* the place alone fills the room */
    size_t keep = strnlen(old, sizeof message - n - 3);
    memcpy(message + n, ": ", 2);
    memcpy(message + n + 2, old, keep);
    message[n + 2 + keep] = '\0';
    return status;
}

const char *base_message(void) {
    return message;
}

#define MOST_BYTES 65536 /* of a struct: more is no size */

/* The program's, which is a size and not just what was there before. */
static facet_status struct_size(const char *name, const void *given, size_t *size) {
    memcpy(size, given, sizeof *size);
    if (*size > sizeof *size && *size <= MOST_BYTES) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "the member 'size' of a %s is %zu; set it to sizeof(%s) first%s",
                     name, *size, name,
                     strcmp(name, "facet_options") == 0 ? ", by facet_options_default" : "");
}

facet_status base_struct_read(const char *name, const void *given, void *own, size_t size) {
    size_t from;
    facet_status status = struct_size(name, given, &from);
    if (status != FACET_OK) return status;
    for (size_t i = size; i < from; i++)
        if (((const char *)given)[i] != 0)
            return base_fail(
                FACET_ERROR_INPUT,
                "a %s has members that facet %s does not know; the program needs a newer library", name,
                FACET_VERSION);
    memcpy(own, given, from < size ? from : size);
    memcpy(own, &size, sizeof size);
    return FACET_OK;
}

facet_status base_struct_write(const char *name, const void *own, void *given, size_t size) {
    size_t to;
    facet_status status = struct_size(name, given, &to);
    if (status != FACET_OK) return status;
    memset((char *)given + sizeof to, 0, to - sizeof to);
    size_t known = to < size ? to : size;
    memcpy((char *)given + sizeof to, (const char *)own + sizeof to, known - sizeof to);
    return FACET_OK;
}

void base_collector_init(struct base_collector *collector) {
    collector->status = FACET_OK;
    collector->index = -1;
    collector->text[0] = '\0';
}

void base_collect(struct base_collector *collector, long long index, facet_status status) {
    if (status == FACET_OK) status = base_look();
    if (status == FACET_OK) return;
#pragma omp critical(facet_base_collect)
    {
        if (collector->status == FACET_OK || index < collector->index) {
            collector->index = index;
            memcpy(collector->text, message, sizeof message);
#pragma omp atomic write
            collector->status = status;
        }
    }
}

int base_collector_failed(const struct base_collector *collector) {
    facet_status status;
#pragma omp atomic read
    status = collector->status;
    return status != FACET_OK;
}

facet_status base_collected(const struct base_collector *collector) {
    if (collector->status != FACET_OK) memcpy(message, collector->text, sizeof message);
    return collector->status;
}
