/* What the processes of a team (team.h) have in common: faces, vertices, nodes, unknowns, told by keys.
 *
 * An item that several processes may have is known by a key of a few 64-bit integers, the same on all of them
 * and different from that of any other item. Every process sends the keys of its items to the processes that
 * the keys themselves determine, and those tell all who sent the same key of each other. So nobody needs to
 * know beforehand with whom it has something in common, and nobody sees all items.
 *
 * What comes of it is a list of neighbours, in ascending order of their ranks, and of each the items that it
 * has too, in an order that both have. An item belongs to the lowest rank that has it. All functions are
 * collective. */
#ifndef FACET_BASE_NEIGHBOURS_H
#define FACET_BASE_NEIGHBOURS_H

#include <stddef.h>

#include "base/team.h"

/* Another process, and the items that it has too. */
struct team_neighbour {
    int rank;
    int64_t count;
    int32_t *items;
};
void team_free_neighbours(int n_neighbours, struct team_neighbour **neighbours);
/* A copy for other items: i becomes map[i], and those below 0 have no part in it. NULL: all stay. */
facet_status team_map_neighbours(int n_neighbours, const struct team_neighbour *neighbours,
                                 const int32_t *map, struct team_neighbour **mapped);

/* The key of a set of n numbers, none of which is negative: ascending, then -1. */
#define TEAM_KEY 4
struct team_key {
    int64_t numbers[TEAM_KEY];
};
struct team_key team_key_of(int n, const int64_t *numbers);
/* The neighbours by n items (NULL: 0 .. n - 1), whose keys no other item of this process has. */
facet_status team_find_neighbours(struct base_team *team, int64_t n, const int32_t *items,
                                  const struct team_key *keys, int *n_neighbours,
                                  struct team_neighbour **neighbours);
/* owned (n): 0 for the items of lower ranks, else 1. */
void team_find_owned(const struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                     int64_t n, uint8_t *owned);

/* `size` bytes for each item of the lists, one neighbour after the other, to all of them; `in` has those of
 * the neighbours, likewise. */
facet_status team_swap(struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                       size_t size, const void *out, void *in);
/* `width` numbers of each item become the largest of all copies. */
facet_status team_merge(struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                        int width, int64_t *values);

/* Numbers without gaps over all processes, in the order of ranks. */
struct team_range {
    int64_t first, count, all; /* those of this process, and how many there are */
};
/* Of n owned things each. */
facet_status team_number_owned(struct base_team *team, int64_t n, struct team_range *range);
/* numbers (n): item i owns sizes[i + 1] - sizes[i] of them (NULL: 1), those from numbers[i] on, on all
 * processes alike. */
facet_status team_number_items(struct base_team *team, int n_neighbours,
                               const struct team_neighbour *neighbours, int64_t n, const int64_t *sizes,
                               int64_t *numbers, struct team_range *range);

/* n items of `size` bytes, item i to process to[i]; *received (freed by base_free): what came from rank 0, 1,
 * .., in the order in which it was sent. */
facet_status team_post(struct base_team *team, int64_t n, size_t size, const void *items, const int32_t *to,
                       int64_t *n_received, void *received);
/* The process where all meet that have the same key. */
int team_rank_of_key(const int64_t *key, int n_keys, int size);

#endif
