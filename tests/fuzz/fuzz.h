/* What the fuzz targets share: one thread, and the proof after every input that nothing was kept. */
#ifndef FACET_TESTS_FUZZ_H
#define FACET_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: says why, and stops where the sanitizer prints the stack. */
static inline void fuzz_check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

static inline void fuzz_begin(void) {
    static int begun;
    if (!begun) base_set_threads(1);
    begun = 1;
}

/* A reader gives what it read, or refuses the input with a message; it keeps nothing. */
static inline void fuzz_end(facet_status status) {
    struct base_memory memory;
    fuzz_check(status == FACET_OK || status == FACET_ERROR_INPUT, base_message());
    fuzz_check(status == FACET_OK || base_message()[0] != '\0', "a failure without a message");
    base_memory_read(&memory);
    fuzz_check(memory.live_blocks == 0, "memory is still allocated");
}

/* The input as a text of its own, NUL-terminated, so that a step beyond its end is seen. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
