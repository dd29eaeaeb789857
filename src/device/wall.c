/* The memory of the debug device: pages of their own, inaccessible unless a kernel or a copy runs. */
#include "device/wall.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

/* One allocation. The record itself is ordinary memory, so that leaks and allocation faults are counted. */
struct region {
    struct region *next, *previous;
    char *pages;
    size_t bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions;
static int depth;

static void protect_all(int protection) {
    for (struct region *r = regions; r != NULL; r = r->next) mprotect(r->pages, r->bytes, protection);
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

facet_status wall_alloc(void *pointer, size_t count, size_t size) {
    facet_status status = FACET_OK;
    struct region *r = NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
    void *nothing = NULL;
    memcpy(pointer, &nothing, sizeof nothing);
    if (count == 0 || size == 0) return FACET_OK;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return base_fail(FACET_ERROR_MACHINE, "out of memory: %zu items of %zu bytes were wanted", count,
                         size);
    TRY(ALLOC(r, 1));
    r->bytes = (bytes + page - 1) / page * page;
    pthread_mutex_lock(&mutex);
    r->pages = mmap(NULL, r->bytes, depth > 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->pages != MAP_FAILED) {
        r->next = regions;
        r->previous = NULL;
        if (regions != NULL) regions->previous = r;
        regions = r;
    }
    pthread_mutex_unlock(&mutex);
    if (r->pages == MAP_FAILED) {
        base_free(&r);
        FAIL(FACET_ERROR_MACHINE, "out of memory: %zu bytes were wanted", bytes);
    }
    memcpy(pointer, &r->pages, sizeof r->pages);
done:
    return status;
}

void wall_free(void *pointer) {
    char *pages;
    struct region *r;
    memcpy(&pages, pointer, sizeof pages);
    if (pages == NULL) return;
    pthread_mutex_lock(&mutex);
    for (r = regions; r != NULL && r->pages != pages; r = r->next) {
    }
    if (r != NULL) {
        if (r->next != NULL) r->next->previous = r->previous;
        if (r->previous != NULL)
            r->previous->next = r->next;
        else
            regions = r->next;
        munmap(r->pages, r->bytes);
    }
    pthread_mutex_unlock(&mutex);
    base_free(&r);
    pages = NULL;
    memcpy(pointer, &pages, sizeof pages);
}
