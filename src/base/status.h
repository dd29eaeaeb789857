/* Status and error text.
 *
 * Every fallible function returns a facet_status. The one that finds the fault calls base_fail(), which
 * starts the message; callers that know more about the place put it in front with base_wrap():
 *
 *     base_fail(FACET_ERROR_INPUT, "unknown name 'w'")        unknown name 'w'
 *     base_wrap(status, "column %d", 3)                        column 3: unknown name 'w'
 *     base_wrap(status, "part.yaml:12:5")                      part.yaml:12:5: column 3: unknown name 'w'
 *
 * The text belongs to the calling thread. A parallel loop gathers failures in a base_collector, which keeps
 * the one with the smallest index, so that the message does not depend on the number of threads.
 */
#ifndef FACET_BASE_STATUS_H
#define FACET_BASE_STATUS_H

#include <facet.h>
#include <stddef.h>

#define BASE_MESSAGE_BYTES 4096

/* Sets the calling thread's message and returns `status`. */
facet_status base_fail(facet_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "text: " in front of the calling thread's message and returns `status`; does nothing for FACET_OK. */
/* Several sentences, one per line: those that have room, and at the end "and 12 more errors" for the others,
 * to which such a line among them is added. */
facet_status base_fail_lines(facet_status status, const char *lines);
int base_read_more(const char *line); /* the number in such a line; 0: it is none */
facet_status base_wrap(facet_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The calling thread's message; "" before the first failure. */
const char *base_message(void);

struct base_collector {
    facet_status status;
    long long index;
    char text[BASE_MESSAGE_BYTES];
};

void base_collector_init(struct base_collector *collector);
/* From inside a parallel loop: remembers a failure of iteration `index` with the thread's message. */
void base_collect(struct base_collector *collector, long long index, facet_status status);
/* After the loop: makes the kept message the calling thread's, and returns its status. */
facet_status base_collected(const struct base_collector *collector);
/* Inside the loop: true when some iteration failed, so that the rest may be skipped. */
int base_collector_failed(const struct base_collector *collector);

/* In a function with `facet_status status = FACET_OK;` and one cleanup label `done:`. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        status = (call);                                                                                     \
        if (status != FACET_OK) goto done;                                                                   \
    } while (0)

#define FAIL(...)                                                                                            \
    do {                                                                                                     \
        status = base_fail(__VA_ARGS__);                                                                     \
        goto done;                                                                                           \
    } while (0)

/* The structs of facet.h that carry their size. read: those that the program fills in, whose members beyond
 * its size keep the defaults that `own` begins with; members that are not known here must be zero. write:
 * those that the library fills in. size: that of ours. */
facet_status base_struct_read(const char *name, const void *given, void *own, size_t size);
facet_status base_struct_write(const char *name, const void *own, void *given, size_t size);

/* At the beginning of a public function, before anything is acquired: a NULL among up to four arguments is
 * FACET_ERROR_INPUT. */
/* clang-format off */
#define REQUIRE(...) REQUIRE_PICK(__VA_ARGS__, REQUIRE_4, REQUIRE_3, REQUIRE_2, REQUIRE_1, )(__VA_ARGS__)
#define REQUIRE_PICK(a, b, c, d, name, ...) name
#define REQUIRE_1(a)          REQUIRE_AS(a, #a)
#define REQUIRE_2(a, b)       do { REQUIRE_1(a); REQUIRE_1(b); } while (0)
#define REQUIRE_3(a, b, c)    do { REQUIRE_2(a, b); REQUIRE_1(c); } while (0)
#define REQUIRE_4(a, b, c, d) do { REQUIRE_3(a, b, c); REQUIRE_1(d); } while (0)
/* clang-format on */
/* The same for an argument that facet.h calls by another name. */
#define REQUIRE_AS(pointer, name)                                                                            \
    do {                                                                                                     \
        if ((pointer) == NULL)                                                                               \
            return base_fail(FACET_ERROR_INPUT, "%s: the argument '%s' is NULL", __func__, name);            \
    } while (0)

#endif
