/* Numbers in order. */
#ifndef FACET_BASE_SORT_H
#define FACET_BASE_SORT_H

#include <stdint.h>

#include "base/status.h"

/* Sorts n numbers in place, ascending. */
void base_sort(int64_t n, int32_t *numbers);
/* The numbers 0 .. n-1 sorted by their keys (0 .. n_keys-1; negative: left out), those of one key ascending:
 * those of key k are sorted[starts[k]] .. sorted[starts[k + 1] - 1]. Both arrays are made here, and the
 * caller's also on failure. */
facet_status base_group(int64_t n_keys, int64_t n, const int32_t *keys, int64_t **starts, int64_t **sorted);
/* Lengths, each at its end (i + 1), become the sums of all up to it: offsets[0] is where the first begins. */
void base_sum_up(int64_t n, int64_t *offsets);

#endif
