/* A table of text cells: columns aligned for a terminal, or Markdown, or CSV. */
#ifndef FACET_IO_TABLE_H
#define FACET_IO_TABLE_H

#include "base/file.h"

struct table;
enum table_style { TABLE_TEXT, TABLE_MARKDOWN, TABLE_CSV };

/* headers: n_columns strings. */
facet_status table_create(int n_columns, const char *const *headers, struct table **table);
void table_destroy(struct table **table);
/* The next cell of the current row; rows fill from left to right. Failures stick and are returned by
 * table_render. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A rule between groups of rows (TABLE_TEXT only). */
void table_rule(struct table *table);
facet_status table_render(const struct table *table, enum table_style style, struct text *out);

#endif
