/* An allocator that gives every block a mapping of its own and unmaps it when it is freed: loaded before the
 * C library's, it makes each use of memory after free a fault. test_upset.py runs the program with it. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

/* In the bytes in front of a block. */
struct head {
    char *mapping;
    size_t mapped, bytes;
};

static void *take(size_t alignment, size_t bytes) {
    if (alignment < sizeof(struct head)) alignment = sizeof(struct head) + 8; /* 32 */
    const size_t mapped = bytes + alignment + sizeof(struct head) + PAGE;
    char *mapping =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    const uintptr_t first = (uintptr_t)mapping + sizeof(struct head);
    char *block = (char *)((first + alignment - 1) / alignment * alignment);
    const struct head head = {mapping, mapped, bytes};
    memcpy(block - sizeof head, &head, sizeof head);
    return block;
}

static struct head head_of(const void *block) {
    struct head head;
    memcpy(&head, (const char *)block - sizeof head, sizeof head);
    return head;
}

void *malloc(size_t bytes) {
    return take(32, bytes);
}

void free(void *block) {
    if (block == NULL) return;
    const struct head head = head_of(block);
    munmap(head.mapping, head.mapped);
}

void *calloc(size_t n, size_t size) {
    return take(32, n * size);
}

void *realloc(void *block, size_t bytes) {
    void *fresh = take(32, bytes);
    if (fresh == NULL || block == NULL) return fresh;
    const size_t before = head_of(block).bytes;
    memcpy(fresh, block, before < bytes ? before : bytes);
    free(block);
    return fresh;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return take(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    return take(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    *block = take(alignment, bytes);
    return *block != NULL ? 0 : ENOMEM;
}
