/* The dynamic programme over prefixes, three rows of it at a time, and what counts as near. */
#include "base/guess.h"

#include <string.h>

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int guess_distance(const char *a, size_t n, const char *b, size_t m) {
    int rows[3][GUESS_BYTES + 1];
    int *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++) last[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        int *spare = before;
        before = last, last = now, now = spare;
    }
    return last[m];
}

struct guess guess_begin(const char *word) {
    return (struct guess){.word = word, .distance = 2 + (int)strlen(word) / 3};
}

void guess_consider(struct guess *guess, const char *known) {
    size_t n = strlen(guess->word), m = strlen(known);
    if (n > GUESS_BYTES || m > GUESS_BYTES) return;
    int distance = guess_distance(guess->word, n, known, m);
    /* A suggestion that shares no letter with the word helps nobody. */
    if (distance >= guess->distance || distance >= (int)n || distance >= (int)m) return;
    guess->distance = distance;
    guess->nearest = known;
}

const char *guess_nearest(const char *word, int n, const char *const *known) {
    struct guess guess = guess_begin(word);
    for (int i = 0; i < n; i++) guess_consider(&guess, known[i]);
    return guess.nearest;
}
