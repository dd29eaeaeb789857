/* All ranks of a program run one command line: ranks that were started with other options would wait for each
 * other, or work on different problems. How many threads a rank has is its own business. */
#include <limits.h>
#include <string.h>

#include "app/app.h"
#include "base/memory.h"

/* The arguments of a rank, one after the other, each with its end, without those of --threads; as text. */
struct line {
    int64_t n_bytes;
    char *words;
};

static facet_status make_line(int argc, char **argv, struct line *line) {
    facet_status status = FACET_OK;
    size_t room = 1, used = 0;
    for (int i = 1; i < argc; i++) room += strlen(argv[i]) + 1;
    TRY(CALLOC(line->words, room));
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--threads=", 10) == 0) continue;
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            i++;
            continue;
        }
        memcpy(line->words + used, argv[i], strlen(argv[i]) + 1);
        used += strlen(argv[i]) + 1;
    }
    line->n_bytes = (int64_t)used;
done:
    return status;
}

/* The line of a rank, on all. */
static facet_status share_line(struct base_team *team, int root, const struct line *own,
                               struct line *shared) {
    facet_status status = FACET_OK;
    shared->n_bytes = own->n_bytes;
    TRY(team_broadcast(team, root, &shared->n_bytes, sizeof shared->n_bytes));
    TRY(CALLOC(shared->words, shared->n_bytes + 1));
    if (team_rank(team) == root) memcpy(shared->words, own->words, (size_t)own->n_bytes);
    TRY(team_broadcast(team, root, shared->words, shared->n_bytes));
done:
    return status;
}

/* Where the words begin that two lines do not have in common; an option stays with its value. */
static int64_t find_difference(const struct line *a, const struct line *b) {
    int64_t word = 0, before = 0;
    while (word < a->n_bytes && word < b->n_bytes && strcmp(a->words + word, b->words + word) == 0) {
        before = word;
        word += (int64_t)strlen(a->words + word) + 1;
    }
    const int value =
        (word < a->n_bytes && a->words[word] != '-') || (word < b->n_bytes && b->words[word] != '-');
    const char *option = a->words + before;
    return value && strncmp(option, "--", 2) == 0 && strchr(option, '=') == NULL ? before : word;
}

/* The words from there on, as far as a message holds them. */
static void put_words(const struct line *line, int64_t from, char text[200]) {
    size_t used = 0;
    text[0] = '\0';
    for (int64_t at = from; at < line->n_bytes && used < 199; at += (int64_t)strlen(line->words + at) + 1)
        used += (size_t)snprintf(text + used, 200 - used, "%s%s", used > 0 ? " " : "", line->words + at);
    if (from >= line->n_bytes) snprintf(text, 200, "none of them");
}

facet_status app_agree(int argc, char **argv, struct base_team *team) {
    facet_status status = FACET_OK;
    struct line own = {0}, first = {0}, other = {0};
    char here[200], there[200];
    int64_t rank = INT_MAX;
    if (team_size(team) == 1) return FACET_OK;
    TRY(make_line(argc, argv, &own));
    TRY(share_line(team, 0, &own, &first));
    if (own.n_bytes != first.n_bytes || memcmp(own.words, first.words, (size_t)own.n_bytes) != 0)
        rank = team_rank(team);
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &rank));
    if (rank == INT_MAX) goto done;
    TRY(share_line(team, (int)rank, &own, &other));
    const int64_t from = find_difference(&first, &other);
    put_words(&other, from, there);
    put_words(&first, from, here);
    FAIL(FACET_ERROR_INPUT, "rank %d was started with other options: %s, where rank 0 has %s", (int)rank,
         there, here);
done:
    base_free(&own.words);
    base_free(&first.words);
    base_free(&other.words);
    return status;
}
