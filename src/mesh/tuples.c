/* Sets of vertex tuples: the one place where cells find out which faces and edges they share. Open addressing
 * over a full mix of all vertices, so that a vertex with very many cells costs no more than any other. */
#include "base/memory.h"
#include "mesh/internal.h"

facet_status tuple_set_init(struct tuple_set *set, int stride, int64_t capacity) {
    facet_status status = FACET_OK;
    *set = (struct tuple_set){.stride = stride, .capacity = (int32_t)capacity};
    int64_t slots = 16;
    while (slots < capacity + capacity / 2) slots *= 2;
    set->mask = (uint32_t)(slots - 1);
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

/* The slot that holds the key, or the empty one where it belongs. */
static inline uint32_t slot_of(const struct tuple_set *set, const int32_t *key) {
    uint64_t h = 0;
    for (int i = 0; i < set->stride; i += 2)
        h = mix(h ^ ((uint64_t)(uint32_t)key[i] << 32 | (uint32_t)key[i + 1]));
    uint32_t slot = (uint32_t)h & set->mask;
    for (;; slot = (slot + 1) & set->mask) {
        int32_t number = set->table[slot] - 1;
        if (number < 0) return slot;
        const int32_t *other = set->keys + (int64_t)number * set->stride;
        int same = 1;
        for (int i = 0; i < set->stride; i++) same &= other[i] == key[i];
        if (same) return slot;
    }
}

int32_t tuple_set_add(struct tuple_set *set, const int32_t *key) {
    uint32_t slot = slot_of(set, key);
    if (set->table[slot] == 0) {
        for (int i = 0; i < set->stride; i++) set->keys[(int64_t)set->count * set->stride + i] = key[i];
        set->table[slot] = ++set->count;
    }
    return set->table[slot] - 1;
}

int32_t tuple_set_find(const struct tuple_set *set, const int32_t *key) {
    return set->table[slot_of(set, key)] - 1;
}
