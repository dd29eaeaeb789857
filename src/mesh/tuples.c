/* Sets of vertex tuples: the one place where cells find out which faces and edges they share. Open addressing
 * over a full mix of all vertices, so that a vertex with very many cells costs no more than any other. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

/* Parts of a table that threads fill, each by one of them; tables of few slots are one part. */
#define REGIONS 64
#define SMALL   (1 << 16)

facet_status tuple_set_init(struct tuple_set *set, int stride, int64_t capacity) {
    facet_status status = FACET_OK;
    *set = (struct tuple_set){.stride = stride, .capacity = (int32_t)capacity};
    int64_t slots = 16;
    while (slots < capacity + capacity / 2) slots *= 2;
    set->mask = set->region = (uint32_t)(slots - 1);
    TRY(ALLOC(set->keys, capacity * stride));
    TRY(CALLOC(set->table, slots));
done:
    return status;
}

void tuple_set_free(struct tuple_set *set) {
    base_free(&set->keys);
    base_free(&set->table);
}

void tuple_sort(int n, const int32_t *vertices, int stride, int32_t *key) {
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && key[j - 1] > vertices[i]; j--) key[j] = key[j - 1];
        key[j] = vertices[i];
    }
    for (int i = n; i < stride; i++) key[i] = -1;
}

static inline uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

static inline uint32_t hash(int stride, const int32_t *key) {
    uint64_t h = 0;
    for (int i = 0; i < stride; i += 2)
        h = mix(h ^ ((uint64_t)(uint32_t)key[i] << 32 | (uint32_t)key[i + 1]));
    return (uint32_t)h;
}

/* The slot that holds the key, or the empty one where it belongs, of a table of numbers of `keys`. */
static inline uint32_t slot_of(const struct tuple_set *set, const int32_t *keys, uint32_t h,
                               const int32_t *key) {
    uint32_t slot = h & set->mask, part = slot & ~set->region;
    for (;; slot = part | ((slot + 1) & set->region)) {
        int32_t number = set->table[slot] - 1;
        if (number < 0) return slot;
        const int32_t *other = keys + (int64_t)number * set->stride;
        int same = 1;
        for (int i = 0; i < set->stride; i++) same &= other[i] == key[i];
        if (same) return slot;
    }
}

int32_t tuple_set_add(struct tuple_set *set, const int32_t *key) {
    uint32_t slot = slot_of(set, set->keys, hash(set->stride, key), key);
    if (set->table[slot] == 0) {
        for (int i = 0; i < set->stride; i++) set->keys[(int64_t)set->count * set->stride + i] = key[i];
        set->table[slot] = ++set->count;
    }
    return set->table[slot] - 1;
}

int32_t tuple_set_find(const struct tuple_set *set, const int32_t *key) {
    return set->table[slot_of(set, set->keys, hash(set->stride, key), key)] - 1;
}

/* ------------------------------------------------------------------------------------------ all at once */

/* Whether the keys, even if all are different, leave an empty slot in every part of the table; hashes: their
 * own, counted by all threads. */
static int parts_suffice(const struct tuple_set *set, int64_t n, const uint32_t *hashes) {
    int64_t counts[REGIONS] = {0}, part = ((int64_t)set->mask + 1) / REGIONS;
    const int shift = __builtin_ctzll((unsigned long long)part); /* of a power of two */
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(+ : counts[:REGIONS])
    for (int64_t i = 0; i < n; i++) counts[(hashes[i] & set->mask) >> shift]++;
    for (int r = 0; r < REGIONS; r++)
        if (counts[r] >= part) return 0;
    return 1;
}

/* first[i]: the first key that is equal to key i. Until the table is renumbered its entries are these. */
static void find_firsts(struct tuple_set *set, int64_t n, const int32_t *keys, const uint32_t *hashes,
                        int32_t *first) {
    const int n_threads = base_threads();
    const uint64_t part = (uint64_t)set->region + 1;
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
    for (int t = 0; t < n_threads; t++) { /* each with parts of its own, and all keys in their order */
        const uint64_t begin = (uint64_t)(REGIONS * t / n_threads) * part,
                       length = (uint64_t)(REGIONS * (t + 1) / n_threads) * part - begin;
        for (int64_t i = 0; i < n; i++) {
            base_tell_at(i);
            if ((uint64_t)(hashes[i] & set->mask) - begin >= length) continue;
            uint32_t slot = slot_of(set, keys, hashes[i], keys + i * set->stride);
            if (set->table[slot] == 0) set->table[slot] = (int32_t)i + 1;
            first[i] = set->table[slot] - 1;
        }
    }
}

/* The first keys get numbers in their order, kept in numbers[i] until all have theirs; returns how many. */
static int32_t number_firsts(int64_t n, const int32_t *first, int32_t *numbers) {
    enum { PIECES = 256 };
    int32_t starts[PIECES + 1] = {0};
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int p = 0; p < PIECES; p++)
        for (int64_t i = n * p / PIECES; i < n * (p + 1) / PIECES; i++) starts[p + 1] += first[i] == i;
    for (int p = 0; p < PIECES; p++) starts[p + 1] += starts[p];
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int p = 0; p < PIECES; p++) {
        int32_t next = starts[p];
        for (int64_t i = n * p / PIECES; i < n * (p + 1) / PIECES; i++)
            if (first[i] == i) numbers[i] = next++;
    }
    return starts[PIECES];
}

facet_status tuple_set_fill(struct tuple_set *set, int64_t n, const int32_t *keys, int32_t *numbers,
                            int32_t *firsts) {
    facet_status status = FACET_OK;
    uint32_t *hashes = NULL;
    int32_t *first = NULL;
    const int64_t slots = (int64_t)set->mask + 1, stride = set->stride;
    int parallel = slots >= SMALL && base_threads() > 1;
    if (parallel) {
        TRY(ALLOC(hashes, n));
        TRY(ALLOC(first, n));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t i = 0; i < n; i++) hashes[i] = hash(set->stride, keys + i * stride);
        parallel = parts_suffice(set, n, hashes);
    }
    if (!parallel) {
        for (int64_t i = 0; i < n; i++) {
            int32_t known = set->count;
            base_tell_at(i);
            numbers[i] = tuple_set_add(set, keys + i * stride);
            if (numbers[i] == known) firsts[known] = (int32_t)i;
        }
        goto done;
    }
    set->region = (uint32_t)(slots / REGIONS - 1);
    find_firsts(set, n, keys, hashes, first);
    set->count = number_firsts(n, first, numbers);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t s = 0; s < slots; s++)
        if (set->table[s] > 0) set->table[s] = numbers[set->table[s] - 1] + 1;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        if (first[i] == i) {
            memcpy(set->keys + numbers[i] * stride, keys + i * stride, (size_t)stride * sizeof *keys);
            firsts[numbers[i]] = (int32_t)i;
        } else {
            numbers[i] = numbers[first[i]]; /* which is its own first and stays */
        }
    }
done:
    base_free(&hashes);
    base_free(&first);
    return status;
}
