/* What a user may have meant: the known word nearest to one that is unknown. */
#ifndef FACET_BASE_GUESS_H
#define FACET_BASE_GUESS_H

#include <stddef.h>

#define GUESS_BYTES 64 /* of words for which a likeness is looked for */

/* The number of single letters to insert, delete, replace or swap with a neighbour to get from a to b,
 * whatever the case of the letters; both at most GUESS_BYTES long. */
int guess_distance(const char *a, size_t n, const char *b, size_t m);

/* Known words are offered one by one; `nearest` is the best so far, NULL: none is near enough to suggest. */
struct guess {
    const char *word, *nearest;
    int distance;
};
struct guess guess_begin(const char *word);
void guess_consider(struct guess *guess, const char *known);
/* The same for n of them at once. */
const char *guess_nearest(const char *word, int n, const char *const *known);

#endif
