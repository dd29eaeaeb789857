/* The counted allocator: every allocation of the library goes through it; and the memory policy: what takes
 * much is counted before it is taken, since the system grants more than it has and ends the program later.
 *
 * Blocks are aligned to 64 bytes. The count of live blocks and bytes lets a test prove that nothing leaked,
 * and base_memory_fail_at() makes one allocation fail, so that every error path can be walked.
 */
#ifndef FACET_BASE_MEMORY_H
#define FACET_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define BASE_ALIGNMENT 64

/* *pointer = room for n items of size bytes (uninitialised); NULL for none. `pointer` is the address of
 * any object pointer. Fails with FACET_ERROR_MACHINE, naming the bytes that were wanted; *pointer is then
 * NULL. */
facet_status base_alloc(void *pointer, size_t n, size_t size);
/* The same for arrays of which a few numbers here and there will be touched: no huge pages. */
facet_status base_alloc_sparse(void *pointer, size_t n, size_t size);
/* The same, filled with zeros. */
facet_status base_calloc(void *pointer, size_t n, size_t size);
/* Grows or shrinks *pointer (NULL: allocates) and keeps the contents; on failure *pointer is unchanged. */
facet_status base_realloc(void *pointer, size_t n, size_t size);
/* Frees *pointer (may be NULL) and sets it to NULL. */
void base_free(void *pointer);
/* memcpy, by all threads where it is much: most of it is the first touch of pages. base_calloc does so too.
 */
void base_copy(void *to, const void *from, size_t bytes);
/* *copy = a copy of text; free with base_free. */
facet_status base_strdup(const char *text, char **copy);

/* For a program that is to itself: what is smaller than arrays with huge pages of their own comes from a heap
 * of such, where the system has them at hand, and what is freed there is used again. The first touch of a
 * page costs more than most that follows. */
void base_memory_prepare(void);

#define ALLOC(p, count)  base_alloc(&(p), (size_t)(count), sizeof *(p))
#define CALLOC(p, count) base_calloc(&(p), (size_t)(count), sizeof *(p))

struct base_memory {
    int64_t live_blocks;
    int64_t live_bytes;
    int64_t peak_bytes;
    int64_t allocations; /* so far, in this process */
};
void base_memory_read(struct base_memory *memory);
void base_memory_reset_peak(void); /* the peak becomes what is live now */
/* The k-th allocation from now (1 is the next one) fails; 0: none. */
void base_memory_fail_at(int64_t k);

/* Peak resident set of the process, in bytes. */
int64_t base_peak_resident_bytes(void);
/* What is wrong where a stack is too small, for frames of up to 64 kB that call each other (CMakeLists.txt);
 * NULL: the stacks are large enough. ulimit -s limits the first thread and, unless OpenMP is told another
 * size, the others. given: the values of OMP_STACKSIZE and of GOMP_STACKSIZE, each or NULL. */
const char *base_small_stack(const char *const given[2]);
/* FACET_ERROR_MACHINE with that sentence, or where the calling thread was made with too small a stack. */
facet_status base_check_stack(void);

/* Bytes that this process can still take: the least of what the machine has available, what its control
 * groups leave (both versions of the interface, with all groups around its own; pages of files that can be
 * dropped count as free) and what the limit of its addresses leaves. The same without that limit by the files
 * below another root than "". A test may pretend that there are so many bytes (0: no more). */
double base_available_bytes(void);
/* 0: so many more bytes, with all that was allocated and is not used yet, are more than there are. Takes as
 * long as reading some files. */
int base_may_take(size_t bytes);
/* Whether the address space has a limit (ulimit -v). */
int base_is_limited(void);
double base_available_under(const char *root);
void base_pretend_available(double bytes);

/* FACET_ERROR_MACHINE when `bytes` are more than `available` (usually base_available_bytes()): "<what> would
 * take about .. bytes of memory, and .. are free<where>; <fits>". fits: what would fit, or what to do. */
facet_status base_check_memory(double bytes, double available, const char *where, const char *fits,
                               const char *what, ...) __attribute__((format(printf, 5, 6)));

#endif
