/* Numbers in order. */
#include "base/sort.h"

#include <stdlib.h>

#include "base/memory.h"

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void base_sort(int64_t n, int32_t *numbers) {
    if (n > 1) qsort(numbers, (size_t)n, sizeof *numbers, ascending);
}

facet_status base_group(int64_t n_keys, int64_t n, const int32_t *keys, int64_t **starts, int64_t **sorted) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*starts, n_keys + 2));
    TRY(CALLOC(*sorted, n));
    int64_t *next = *starts + 1; /* becomes the starts when every list has been filled */
    for (int64_t i = 0; i < n; i++)
        if (keys[i] >= 0 && keys[i] + 1 < n_keys) next[keys[i] + 1]++;
    for (int64_t k = 1; k < n_keys; k++) next[k] += next[k - 1];
    for (int64_t i = 0; i < n; i++)
        if (keys[i] >= 0) (*sorted)[next[keys[i]]++] = i;
done:
    return status;
}
