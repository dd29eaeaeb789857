/* Owners and sharers of items that processes have in common. See neighbours.h. */
#include "base/neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void team_free_neighbours(int n_neighbours, struct team_neighbour **neighbours) {
    for (int k = 0; *neighbours != NULL && k < n_neighbours; k++) base_free(&(*neighbours)[k].items);
    base_free(neighbours);
}

facet_status team_map_neighbours(int n_neighbours, const struct team_neighbour *neighbours,
                                 const int32_t *map, struct team_neighbour **mapped) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*mapped, n_neighbours));
    for (int k = 0; k < n_neighbours; k++) {
        const struct team_neighbour *from = &neighbours[k];
        struct team_neighbour *to = &(*mapped)[k];
        to->rank = from->rank;
        TRY(ALLOC(to->items, from->count));
        for (int64_t i = 0; i < from->count; i++) {
            const int32_t item = map != NULL ? map[from->items[i]] : from->items[i];
            if (item >= 0) to->items[to->count++] = item;
        }
    }
done:
    return status;
}

struct team_key team_key_of(int n, const int64_t *numbers) {
    struct team_key key;
    for (int i = 0; i < TEAM_KEY; i++) {
        int at = i;
        for (; i < n && at > 0 && key.numbers[at - 1] > numbers[i]; at--)
            key.numbers[at] = key.numbers[at - 1];
        key.numbers[at] = i < n ? numbers[i] : -1;
    }
    return key;
}

int team_rank_of_key(const int64_t *key, int n_keys, int size) {
    uint64_t hash = 0;
    for (int i = 0; i < n_keys; i++) {
        hash = (hash ^ (uint64_t)key[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (int)(hash % (uint64_t)size);
}

facet_status team_post(struct base_team *team, int64_t n, size_t size, const void *items, const int32_t *to,
                       int64_t *n_received, void *received) {
    facet_status status = FACET_OK;
    int64_t *starts = NULL, *next = NULL, *from = NULL;
    char *sorted = NULL, *in = NULL;
    memset(received, 0, sizeof(void *));
    TRY(CALLOC(starts, team->size + 1));
    TRY(ALLOC(next, team->size));
    TRY(ALLOC(from, team->size + 1));
    TRY(base_alloc(&sorted, (size_t)n, size));
    for (int64_t i = 0; i < n; i++) starts[to[i] + 1] += (int64_t)size;
    for (int r = 0; r < team->size; r++) starts[r + 1] += starts[r];
    memcpy(next, starts, (size_t)team->size * sizeof *next);
    for (int64_t i = 0; i < n; i++) {
        memcpy(sorted + next[to[i]], (const char *)items + (size_t)i * size, size);
        next[to[i]] += (int64_t)size;
    }
    TRY(team_all_to_all(team, sorted, starts, &in, from));
    *n_received = from[team->size] / (int64_t)size;
    memcpy(received, &in, sizeof in);
done:
    base_free(&starts);
    base_free(&next);
    base_free(&from);
    base_free(&sorted);
    return status;
}

/* ------------------------------------------------------------------------------------------ who has what */

/* An item, as it is sent to where all of its key meet. */
struct claim {
    struct team_key key;
    int32_t item, rank;
};
/* And what comes back: the process `other` has this item too. Answers from one process are in the order of
 * their keys, and so lists of two neighbours have one order. */
struct answer {
    int32_t item, other;
};

static int compare_keys(const struct team_key *a, const struct team_key *b) {
    for (int i = 0; i < TEAM_KEY; i++)
        if (a->numbers[i] != b->numbers[i]) return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return 0;
}

static int compare_claims(const void *one, const void *two) {
    const struct claim *a = one, *b = two;
    const int order = compare_keys(&a->key, &b->key);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Of all who claim one key every one hears of every other. answers, to: NULL, or room. Returns how many. */
static int64_t list_answers(int64_t n, const struct claim *claims, struct answer *answers, int32_t *to) {
    int64_t count = 0, end;
    for (int64_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && compare_keys(&claims[i].key, &claims[end].key) == 0; end++) {
        }
        for (int64_t a = i; a < end; a++)
            for (int64_t b = i; b < end; b++) {
                if (a == b) continue;
                if (answers != NULL) {
                    answers[count] = (struct answer){claims[a].item, claims[b].rank};
                    to[count] = claims[a].rank;
                }
                count++;
            }
    }
    return count;
}

static facet_status answer_claims(struct base_team *team, int64_t n, struct claim *claims, int64_t *n_answers,
                                  struct answer **answers) {
    facet_status status = FACET_OK;
    struct answer *out = NULL;
    int32_t *to = NULL;
    if (n > 0) qsort(claims, (size_t)n, sizeof *claims, compare_claims);
    const int64_t count = list_answers(n, claims, NULL, NULL);
    TRY(ALLOC(out, count));
    TRY(ALLOC(to, count));
    list_answers(n, claims, out, to);
    TRY(team_post(team, count, sizeof *out, out, to, n_answers, answers));
done:
    base_free(&out);
    base_free(&to);
    return status;
}

/* Answers by the processes that they name. */
static facet_status list_neighbours(const struct base_team *team, int64_t n, const struct answer *answers,
                                    int *n_neighbours, struct team_neighbour **neighbours) {
    facet_status status = FACET_OK;
    int64_t *counts = NULL;
    int *at = NULL, found = 0;
    TRY(CALLOC(counts, team->size));
    TRY(ALLOC(at, team->size));
    for (int64_t i = 0; i < n; i++) counts[answers[i].other]++;
    for (int r = 0; r < team->size; r++) found += counts[r] > 0;
    TRY(CALLOC(*neighbours, found));
    *n_neighbours = found;
    found = 0;
    for (int r = 0; r < team->size; r++) {
        if (counts[r] == 0) continue;
        (*neighbours)[found].rank = r;
        TRY(ALLOC((*neighbours)[found].items, counts[r]));
        at[r] = found++;
    }
    for (int64_t i = 0; i < n; i++) {
        struct team_neighbour *to = &(*neighbours)[at[answers[i].other]];
        to->items[to->count++] = answers[i].item;
    }
done:
    base_free(&counts);
    base_free(&at);
    return status;
}

facet_status team_find_neighbours(struct base_team *team, int64_t n, const int32_t *items,
                                  const struct team_key *keys, int *n_neighbours,
                                  struct team_neighbour **neighbours) {
    facet_status status = FACET_OK;
    struct claim *own = NULL, *claims = NULL;
    struct answer *answers = NULL;
    int32_t *to = NULL;
    int64_t n_claims = 0, n_answers = 0;
    TRY(ALLOC(own, n));
    TRY(ALLOC(to, n));
    for (int64_t i = 0; i < n; i++) {
        own[i] = (struct claim){keys[i], items != NULL ? items[i] : (int32_t)i, team->rank};
        to[i] = team_rank_of_key(keys[i].numbers, TEAM_KEY, team->size);
    }
    TRY(team_post(team, n, sizeof *own, own, to, &n_claims, &claims));
    TRY(answer_claims(team, n_claims, claims, &n_answers, &answers));
    TRY(list_neighbours(team, n_answers, answers, n_neighbours, neighbours));
done:
    base_free(&own);
    base_free(&claims);
    base_free(&answers);
    base_free(&to);
    return status;
}

void team_find_owned(const struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                     int64_t n, uint8_t *owned) {
    if (n > 0) memset(owned, 1, (size_t)n);
    for (int k = 0; k < n_neighbours && neighbours[k].rank < team->rank; k++)
        for (int64_t i = 0; i < neighbours[k].count; i++) owned[neighbours[k].items[i]] = 0;
}

/* ------------------------------------------------------------------------------------------ messages */

facet_status team_swap(struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                       size_t size, const void *out, void *in) {
    facet_status status = FACET_OK;
    struct team_message *messages = NULL;
    void *pending = NULL;
    const char *from = out;
    char *to = in;
    TRY(ALLOC(messages, n_neighbours));
    for (int k = 0; k < n_neighbours; k++) {
        const int64_t bytes = neighbours[k].count * (int64_t)size;
        messages[k] = (struct team_message){neighbours[k].rank, from, bytes, to, bytes};
        from += bytes;
        to += bytes;
    }
    TRY(team_exchange_begin(team, n_neighbours, messages, &pending));
    TRY(team_exchange_end(team, &pending));
done:
    base_free(&messages);
    return status;
}

facet_status team_merge(struct base_team *team, int n_neighbours, const struct team_neighbour *neighbours,
                        int width, int64_t *values) {
    facet_status status = FACET_OK;
    const size_t size = (size_t)width * sizeof *values;
    int64_t *out = NULL, *in = NULL, n = 0, at = 0;
    for (int k = 0; k < n_neighbours; k++) n += neighbours[k].count;
    TRY(ALLOC(out, n * width));
    TRY(ALLOC(in, n * width));
    for (int k = 0; k < n_neighbours; k++)
        for (int64_t i = 0; i < neighbours[k].count; i++, at += width)
            memcpy(out + at, values + (int64_t)neighbours[k].items[i] * width, size);
    TRY(team_swap(team, n_neighbours, neighbours, size, out, in));
    at = 0;
    for (int k = 0; k < n_neighbours; k++)
        for (int64_t i = 0; i < neighbours[k].count; i++)
            for (int c = 0; c < width; c++, at++) {
                int64_t *to = &values[(int64_t)neighbours[k].items[i] * width + c];
                if (in[at] > *to) *to = in[at];
            }
done:
    base_free(&out);
    base_free(&in);
    return status;
}

/* ------------------------------------------------------------------------------------------ numbers */

facet_status team_number_owned(struct base_team *team, int64_t n, struct team_range *range) {
    facet_status status = FACET_OK;
    int64_t *counts = NULL;
    *range = (struct team_range){.count = n};
    TRY(ALLOC(counts, team->size));
    TRY(team_gather(team, 1, &n, counts));
    for (int r = 0; r < team->size; r++) {
        if (r < team->rank) range->first += counts[r];
        range->all += counts[r];
    }
done:
    base_free(&counts);
    return status;
}

facet_status team_number_items(struct base_team *team, int n_neighbours,
                               const struct team_neighbour *neighbours, int64_t n, const int64_t *sizes,
                               int64_t *numbers, struct team_range *range) {
    facet_status status = FACET_OK;
    uint8_t *owned = NULL;
    int64_t own = 0, next;
    TRY(ALLOC(owned, n));
    team_find_owned(team, n_neighbours, neighbours, n, owned);
    for (int64_t i = 0; i < n; i++)
        if (owned[i]) own += sizes != NULL ? sizes[i + 1] - sizes[i] : 1;
    TRY(team_number_owned(team, own, range));
    next = range->first;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = owned[i] ? next : -1;
        if (owned[i]) next += sizes != NULL ? sizes[i + 1] - sizes[i] : 1;
    }
    TRY(team_merge(team, n_neighbours, neighbours, 1, numbers));
done:
    base_free(&owned);
    return status;
}
