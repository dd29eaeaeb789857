/* The memory of the debug device: one range of addresses, inaccessible unless a kernel or a copy runs. All
 * arrays lie in it, page by page, so that opening and shutting the wall is one call of the system each,
 * however many arrays there are. */
#include "device/wall.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

/* Addresses only: memory is taken by the pages that are touched. */
#define RANGE_BYTES ((size_t)1 << 38)

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

static void protect_all(int protection) {
    if (used > 0) mprotect(range, used, protection);
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
        void *found = mmap(NULL, RANGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) return 0;
        range = found;
    }
    char *at = range;
    struct region *before = NULL;
    for (r = regions; r != NULL && r->pages != pages; r = r->next) before = r;
    if (r != NULL) {
        if (before != NULL)
            before->next = r->next;
        else
            regions = r->next;
        if (r->next == NULL) used = before != NULL ? (size_t)(before->pages - range) + before->bytes : 0;
        mprotect(r->pages, r->bytes, PROT_NONE);
        madvise(r->pages, r->bytes, MADV_DONTNEED);
    }
    pthread_mutex_unlock(&mutex);
    base_free(&r);
    pages = NULL;
    memcpy(pointer, &pages, sizeof pages);
}
