/* The vocabulary of the case file as one table: key, type, default, values, one line of help. It drives the reader's checks,
 * `facet solve --help`, and docs/input.md (written by `facet help --markdown`, compared by a test).
 */
#ifndef FACET_CASE_SCHEMA_H
#define FACET_CASE_SCHEMA_H

#include "base/file.h"

/* The whole table as text for a terminal, or as Markdown. */
void schema_describe(int markdown, struct text *out);
/* The known word nearest to `word` among n (NULL when none is near enough to suggest). */
const char *schema_nearest(const char *word, int n, const char *const *known);

#endif
