/* All that is wrong with an input, gathered and told at once: the first by place, and how many more there
 * are.
 *
 * Nothing is allocated, so that reporting cannot fail. Failures of the machine (memory) are not issues: they
 * travel as a facet_status, and functions that report issues return FACET_OK all the same.
 */
#ifndef FACET_CASE_ISSUES_H
#define FACET_CASE_ISSUES_H

#include "base/status.h"

#define ISSUES_KEPT       20
#define ISSUES_TEXT_BYTES 400
#define ISSUES_WORD_BYTES 48

struct tree_node;

struct issue {
    int line, column, order;
    char text[ISSUES_TEXT_BYTES]; /* without the place of the file, with that of a setting */
};
struct issues {
    const char *path; /* of the file */
    int count, kept;
    struct issue list[ISSUES_KEPT]; /* sorted by place; those of settings last */
};

void issues_init(struct issues *issues, const char *path);
/* where: its line and column, or the setting it came from. */
void issues_add(struct issues *issues, const struct tree_node *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether an issue there would not be shown; it is then counted, and needs no words. */
int issues_only_count(struct issues *issues, const struct tree_node *where);
/* FACET_OK, or FACET_ERROR_INPUT with a line for each issue in the calling thread's message. */
facet_status issues_status(const struct issues *issues);

/* The user's own word, fit to be shown in a message: cut to a readable length, without control characters. */
struct issues_word {
    char text[ISSUES_WORD_BYTES];
};
struct issues_word issues_word(const char *text);

/* Appends a word to a list of words, "a, b", as far as there is room. */
void issues_append(char *list, int list_bytes, const char *word);

#endif
