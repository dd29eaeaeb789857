/* The counted allocator. A block carries a header of one alignment unit that holds its size. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#    include <malloc.h>
#endif

#include "base/run.h"
#include "base/threads.h"

static atomic_llong live_blocks, live_bytes, peak_bytes, allocations, fail_countdown;

static void count(long long blocks, long long bytes) {
    atomic_fetch_add(&live_blocks, blocks);
    long long now = atomic_fetch_add(&live_bytes, bytes) + bytes;
    long long peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
    }
}

#define LOOK_EVERY (16 << 20) /* bytes */

/* Whether there are so many bytes more. Looks when there is more alive than ever before, by LOOK_EVERY. */
static int are_there(size_t bytes) {
    static atomic_llong seen;
    long long wanted = atomic_load(&live_bytes) + (long long)bytes;
    if (wanted < atomic_load(&seen) + LOOK_EVERY) return 1;
    if (!base_may_take(bytes)) return 0;
    atomic_store(&seen, wanted);
    return 1;
}

static int must_fail(void) {
    atomic_fetch_add(&allocations, 1);
    if (atomic_load(&fail_countdown) <= 0) return 0;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

static void *get_pointer(void *pointer) {
    void *p;
    memcpy(&p, pointer, sizeof p);
    return p;
}

static void set_pointer(void *pointer, void *value) {
    memcpy(pointer, &value, sizeof value);
}

static size_t block_bytes(const void *p) {
    size_t bytes;
    memcpy(&bytes, (const char *)p - BASE_ALIGNMENT, sizeof bytes);
    return bytes;
}

#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     (16 * HUGE_PAGE)
#define HEAP      (256 * HUGE_PAGE)
#define SLOW      1e-3 /* seconds of one huge page */

/* Large arrays are streamed through: they begin on a huge page and ask for such. Where the advice is not
 * taken nothing changes. */
static char *allocate(size_t bytes) {
    if (bytes < LARGE) return aligned_alloc(BASE_ALIGNMENT, bytes);
    void *block;
    if (posix_memalign(&block, HUGE_PAGE, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return block;
}

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
/* Seconds of this thread that the first touch of the page at an address took. */
static double touch(char *page) {
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    *(volatile char *)page = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}
#endif

/* Huge pages cost fewer faults and fewer address look-ups than small ones. A block of the size that the heap
 * may reach is advised as long as it is ours; then the heap keeps it, with the advice, and an allocator of
 * another kind forgets both. A virtual machine may have given huge pages back to its host and fetches each
 * again in 512 pieces, which takes longer than everything that is done with it: the first one tells. */
void base_memory_prepare(void) {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    if (base_is_limited() || base_available_bytes() < 8.0 * (double)HEAP) return;
    mallopt(M_TRIM_THRESHOLD, (int)(HEAP + HEAP / 2));
    mallopt(M_MMAP_THRESHOLD, (int)(HEAP + HEAP / 2));
    char *block = malloc(HEAP);
    mallopt(M_MMAP_THRESHOLD, (int)LARGE);
    if (block == NULL) return;
    char *first = block + HUGE_PAGE - (uintptr_t)block % HUGE_PAGE;
    const size_t bytes = HEAP - HUGE_PAGE;
    if (madvise(first, bytes, MADV_HUGEPAGE) == 0 && touch(first) > SLOW)
        madvise(first, bytes, MADV_NOHUGEPAGE);
    free(block);
#endif
}

#define LARGE_BLOCK ((size_t)1 << 20) /* bytes: a pass over all of something lies before or behind */

facet_status base_alloc(void *pointer, size_t n, size_t size) {
    set_pointer(pointer, NULL);
    if (n == 0 || size == 0) return FACET_OK;
    size_t bytes, rounded;
    if (__builtin_mul_overflow(n, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)(2 * BASE_ALIGNMENT - 1), &rounded))
        return base_fail(FACET_ERROR_MACHINE, "out of memory: %zu items of %zu bytes were wanted", n, size);
    if (bytes >= LARGE_BLOCK) base_tell();
    rounded = rounded / BASE_ALIGNMENT * BASE_ALIGNMENT;
    char *block = must_fail() || !are_there(rounded) ? NULL : allocate(rounded);
    if (block == NULL) return base_fail(FACET_ERROR_MACHINE, "out of memory: %zu bytes were wanted", bytes);
    memcpy(block, &bytes, sizeof bytes);
    count(1, (long long)bytes);
    set_pointer(pointer, block + BASE_ALIGNMENT);
    return FACET_OK;
}

#define COPY_PIECE ((size_t)1 << 18) /* bytes; from three of them on the threads share them */

void base_copy(void *to, const void *from, size_t bytes) {
    int64_t n_pieces = (int64_t)((bytes + COPY_PIECE - 1) / COPY_PIECE);
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_pieces > 2)
    for (int64_t i = 0; i < n_pieces; i++) {
        size_t at = (size_t)i * COPY_PIECE;
        memcpy((char *)to + at, (const char *)from + at, bytes - at < COPY_PIECE ? bytes - at : COPY_PIECE);
    }
}

static void clear(void *to, size_t bytes) {
    int64_t n_pieces = (int64_t)((bytes + COPY_PIECE - 1) / COPY_PIECE);
#pragma omp parallel for num_threads(base_threads()) schedule(static) if (n_pieces > 2)
    for (int64_t i = 0; i < n_pieces; i++) {
        size_t at = (size_t)i * COPY_PIECE;
        memset((char *)to + at, 0, bytes - at < COPY_PIECE ? bytes - at : COPY_PIECE);
    }
}

facet_status base_alloc_sparse(void *pointer, size_t n, size_t size) {
    facet_status status = base_alloc(pointer, n, size);
#ifdef MADV_NOHUGEPAGE
    char *block = get_pointer(pointer);
    if (status == FACET_OK && n * size >= LARGE) madvise(block - BASE_ALIGNMENT, n * size, MADV_NOHUGEPAGE);
#endif
    return status;
}

facet_status base_calloc(void *pointer, size_t n, size_t size) {
    facet_status status = base_alloc(pointer, n, size);
    void *p = get_pointer(pointer);
    if (p != NULL) clear(p, n * size);
    return status;
}

facet_status base_realloc(void *pointer, size_t n, size_t size) {
    void *old = get_pointer(pointer), *fresh;
    facet_status status = base_alloc(&fresh, n, size);
    if (status != FACET_OK) return status;
    if (old != NULL && fresh != NULL) {
        size_t keep = block_bytes(old) < n * size ? block_bytes(old) : n * size;
        memcpy(fresh, old, keep);
    }
    base_free(&old);
    set_pointer(pointer, fresh);
    return FACET_OK;
}

void base_free(void *pointer) {
    char *p = get_pointer(pointer);
    if (p == NULL) return;
    count(-1, -(long long)block_bytes(p));
    free(p - BASE_ALIGNMENT);
    set_pointer(pointer, NULL);
}

facet_status base_strdup(const char *text, char **copy) {
    size_t bytes = strlen(text) + 1;
    facet_status status = base_alloc(copy, bytes, 1);
    if (status == FACET_OK) memcpy(*copy, text, bytes);
    return status;
}

void base_memory_read(struct base_memory *memory) {
    memory->live_blocks = atomic_load(&live_blocks);
    memory->live_bytes = atomic_load(&live_bytes);
    memory->peak_bytes = atomic_load(&peak_bytes);
    memory->allocations = atomic_load(&allocations);
}

void base_memory_fail_at(int64_t k) {
    atomic_store(&fail_countdown, k);
}

void base_memory_reset_peak(void) {
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

int64_t base_peak_resident_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}
