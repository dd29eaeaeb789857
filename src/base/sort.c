/* Numbers in order. */
#include "base/sort.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

#define SHORT 48 /* numbers that insertion sorts sooner */

void base_sort(int64_t n, int32_t *numbers) {
    if (n > SHORT) {
        qsort(numbers, (size_t)n, sizeof *numbers, ascending);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t number = numbers[i];
        int64_t at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

facet_status base_group(int64_t n_keys, int64_t n, const int32_t *keys, int64_t **starts, int64_t **sorted) {
    facet_status status = FACET_OK;
    const int n_threads = base_threads_for(n);
    TRY(CALLOC(*starts, n_keys + 2));
    TRY(ALLOC(*sorted, n));
    int64_t *next = *starts + 1; /* becomes the starts when every list has been filled */
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
    for (int t = 0; t < n_threads; t++) { /* each has keys of its own, and goes through all of them */
        const int64_t begin = n_keys * t / n_threads, end = n_keys * (t + 1) / n_threads;
        for (int64_t i = 0; i < n; i++)
            if (keys[i] >= begin && keys[i] < end && keys[i] + 1 < n_keys) next[keys[i] + 1]++;
    }
    for (int64_t k = 1; k < n_keys; k++) next[k] += next[k - 1];
#pragma omp parallel for num_threads(n_threads) schedule(static, 1)
    for (int t = 0; t < n_threads; t++) {
        const int64_t begin = n_keys * t / n_threads, end = n_keys * (t + 1) / n_threads;
        for (int64_t i = 0; i < n; i++)
            if (keys[i] >= begin && keys[i] < end) (*sorted)[next[keys[i]]++] = i;
    }
done:
    return status;
}

void base_sum_up(int64_t n, int64_t *offsets) {
    enum { PIECES = 64 };
    int64_t sums[PIECES + 1] = {offsets[0]};
    const int n_threads = base_threads_for(n), n_pieces = n_threads > 1 ? PIECES : 1;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int p = 0; p < n_pieces - 1; p++) {
        int64_t sum = 0;
        for (int64_t i = n * p / n_pieces; i < n * (p + 1) / n_pieces; i++) sum += offsets[i + 1];
        sums[p + 1] = sum;
    }
    for (int p = 0; p < n_pieces - 1; p++) sums[p + 1] += sums[p];
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int p = 0; p < n_pieces; p++) {
        int64_t sum = sums[p];
        for (int64_t i = n * p / n_pieces; i < n * (p + 1) / n_pieces; i++)
            offsets[i + 1] = sum += offsets[i + 1];
    }
}
