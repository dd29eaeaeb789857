/* The memory of the debug device: one range of addresses, inaccessible unless a kernel or a copy runs. All
 * arrays lie in it, page by page, so that opening and shutting the wall is one call of the system each,
 * however many arrays there are. The price of such a call is that of the pages inside: they are large ones
 * where the system has them. */
#include "device/wall.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

/* Addresses only: memory is taken by the pages that are touched. */
#define RANGE_BYTES ((size_t)1 << 38)
#define HUGE_PAGE   ((size_t)1 << 21)
/* A gap of fewer bytes keeps its pages: to clear a large page anew costs more than a small array does. */
#define KEPT_BYTES (32 * HUGE_PAGE)

/* One allocation. The record itself is ordinary memory, so that leaks and allocation faults are counted. */
struct region {
    struct region *next; /* ascending by address */
    char *pages;
    size_t bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions;
static char *range; /* NULL before the first allocation */
static size_t used; /* where the last region ends */
static int depth;

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/* Whole large pages: the system would break one that is opened in part. */
static void protect_all(int protection) {
    if (used > 0) mprotect(range, round_up(used, HUGE_PAGE), protection);
}

void wall_open(void) {
    pthread_mutex_lock(&mutex);
    if (depth++ == 0) protect_all(PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&mutex);
}

void wall_shut(void) {
    pthread_mutex_lock(&mutex);
    if (--depth == 0) protect_all(PROT_NONE);
    pthread_mutex_unlock(&mutex);
}

/* Gives a region the first gap that is large enough; 0 when there is none. The mutex is held. */
static int place(struct region *r) {
    if (range == NULL) {
        void *found = mmap(NULL, RANGE_BYTES + HUGE_PAGE, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) return 0;
        range = (char *)round_up((uintptr_t)found, HUGE_PAGE);
#ifdef MADV_HUGEPAGE
        madvise(range, RANGE_BYTES, MADV_HUGEPAGE);
#endif
    }
    char *at = range;
    struct region **link = &regions;
    while (*link != NULL && (size_t)((*link)->pages - at) < r->bytes) {
        at = (*link)->pages + (*link)->bytes;
        link = &(*link)->next;
    }
    if (RANGE_BYTES - (size_t)(at - range) < r->bytes) return 0;
    r->pages = at;
    r->next = *link;
    *link = r;
    if ((size_t)(at - range) + r->bytes > used) used = (size_t)(at - range) + r->bytes;
    if (depth > 0) protect_all(PROT_READ | PROT_WRITE);
    return 1;
}

facet_status wall_alloc(void *pointer, size_t count, size_t size) {
    facet_status status = FACET_OK;
    struct region *r = NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
    void *nothing = NULL;
    memcpy(pointer, &nothing, sizeof nothing);
    if (count == 0 || size == 0) return FACET_OK;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > RANGE_BYTES)
        return base_fail(FACET_ERROR_MACHINE, "out of memory: %zu items of %zu bytes were wanted", count,
                         size);
    TRY(ALLOC(r, 1));
    r->bytes = round_up(bytes, page);
    pthread_mutex_lock(&mutex);
    int placed = place(r);
    pthread_mutex_unlock(&mutex);
    if (!placed) {
        base_free(&r);
        FAIL(FACET_ERROR_MACHINE, "out of memory: %zu bytes were wanted", bytes);
    }
    wall_open();
    memset(r->pages, 0xff, r->bytes); /* NaN: what nobody wrote is seen */
    wall_shut();
    memcpy(pointer, &r->pages, sizeof r->pages);
done:
    return status;
}

int wall_owns(const void *address) {
    pthread_mutex_lock(&mutex);
    int owns = range != NULL && (const char *)address >= range && (const char *)address < range + RANGE_BYTES;
    pthread_mutex_unlock(&mutex);
    return owns;
}

int wall_holds(const void *address, size_t bytes) {
    const char *at = address;
    pthread_mutex_lock(&mutex);
    const struct region *r = regions;
    while (r != NULL && !(at >= r->pages && at < r->pages + r->bytes)) r = r->next;
    int holds = r != NULL && bytes <= r->bytes - (size_t)(at - r->pages);
    pthread_mutex_unlock(&mutex);
    return holds;
}

/* A region is gone, and `before` is the one in front of the gap: the system gets large pages of it back, and
 * beyond the last region all is shut. The mutex is held. */
static void release_gap(const struct region *before, const struct region *next) {
    const size_t begin = before != NULL ? (size_t)(before->pages - range) + before->bytes : 0;
    const size_t end = next != NULL ? (size_t)(next->pages - range) : round_up(used, HUGE_PAGE);
    const size_t first = round_up(begin, HUGE_PAGE), last = end / HUGE_PAGE * HUGE_PAGE;
    if (last >= first + KEPT_BYTES) madvise(range + first, last - first, MADV_DONTNEED);
    if (next != NULL) return;
    used = begin;
    if (last > first) mprotect(range + first, last - first, PROT_NONE);
}

void wall_free(void *pointer) {
    char *pages;
    struct region *r;
    memcpy(&pages, pointer, sizeof pages);
    if (pages == NULL) return;
    pthread_mutex_lock(&mutex);
    struct region *before = NULL;
    for (r = regions; r != NULL && r->pages != pages; r = r->next) before = r;
    if (r != NULL) {
        if (depth == 0) protect_all(PROT_READ | PROT_WRITE);
        memset(r->pages, 0xff, r->bytes); /* what is read afterwards is seen */
        if (depth == 0) protect_all(PROT_NONE);
        if (before != NULL)
            before->next = r->next;
        else
            regions = r->next;
        release_gap(before, r->next);
    }
    pthread_mutex_unlock(&mutex);
    base_free(&r);
    pages = NULL;
    memcpy(pointer, &pages, sizeof pages);
}
