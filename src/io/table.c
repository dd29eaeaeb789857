/* Tables of text cells. Cells are kept as they come; widths are found when the table is rendered. A column
 * whose cells all begin like numbers is aligned to the right, any other to the left. */
#include "io/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct table {
    int n_columns;
    char **headers;
    char **cells; /* row by row */
    size_t n_cells, capacity;
    size_t *rules; /* a rule stands before row rules[i] */
    size_t n_rules, rule_capacity;
    facet_status status;
    char message[BASE_MESSAGE_BYTES]; /* of the first failure */
};

facet_status table_create(int n_columns, const char *const *headers, struct table **table) {
    facet_status status = FACET_OK;
    struct table *t = NULL;

    *table = NULL;
    if (n_columns < 1) FAIL(FACET_ERROR_INPUT, "a table needs at least one column");
    TRY(CALLOC(t, 1));
    t->n_columns = n_columns;
    TRY(CALLOC(t->headers, n_columns));
    for (int i = 0; i < n_columns; i++) TRY(base_strdup(headers[i], &t->headers[i]));
    *table = t;
    t = NULL;
done:
    table_destroy(&t);
    return status;
}

void table_destroy(struct table **table) {
    struct table *t = *table;
    if (!t) return;
    for (int i = 0; t->headers && i < t->n_columns; i++) base_free(&t->headers[i]);
    for (size_t i = 0; i < t->n_cells; i++) base_free(&t->cells[i]);
    base_free(&t->headers);
    base_free(&t->cells);
    base_free(&t->rules);
    base_free(table);
}

static void keep_failure(struct table *table, facet_status status) {
    if (status == FACET_OK || table->status != FACET_OK) return;
    table->status = status;
    snprintf(table->message, sizeof table->message, "%s", base_message());
}

/* Makes room for one more item in an array of *capacity items. */
static facet_status grow(void *array, size_t n, size_t *capacity, size_t size) {
    if (n < *capacity) return FACET_OK;
    const size_t wanted = *capacity ? 2 * *capacity : 32;
    const facet_status status = base_realloc(array, wanted, size);
    if (status == FACET_OK) *capacity = wanted;
    return status;
}

void table_cell(struct table *table, const char *format, ...) {
    facet_status status = FACET_OK;
    char *cell = NULL;
    va_list arguments;

    if (table->status != FACET_OK) return;
    va_start(arguments, format);
    const int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0) FAIL(FACET_ERROR_MACHINE, "a table cell could not be formatted");
    TRY(ALLOC(cell, n + 1));
    va_start(arguments, format);
    vsnprintf(cell, (size_t)n + 1, format, arguments);
    va_end(arguments);
    TRY(grow(&table->cells, table->n_cells, &table->capacity, sizeof *table->cells));
    table->cells[table->n_cells++] = cell;
    cell = NULL;
done:
    base_free(&cell);
    keep_failure(table, status);
}

void table_rule(struct table *table) {
    if (table->status != FACET_OK) return;
    const facet_status status =
        grow(&table->rules, table->n_rules, &table->rule_capacity, sizeof *table->rules);
    if (status == FACET_OK) {
        const size_t n = (size_t)table->n_columns;
        table->rules[table->n_rules++] = (table->n_cells + n - 1) / n;
    }
    keep_failure(table, status);
}

/* ------------------------------------------------------------------------------------------ rendering */

/* Characters on the screen: UTF-8 continuation bytes take no room, a bar in Markdown gets an escape before
 * it. */
static size_t width_of(enum table_style style, const char *text) {
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
        if (style == TABLE_MARKDOWN && *text == '|') width++;
    }
    return width;
}

struct column {
    size_t width;
    int right;
};

static const char *cell_at(const struct table *table, size_t row, int column) {
    const size_t at = row * (size_t)table->n_columns + (size_t)column;
    return at < table->n_cells ? table->cells[at] : "";
}

static int looks_like_number(const char *cell) {
    cell += strspn(cell, " +-");
    return *cell == '\0' || (*cell >= '0' && *cell <= '9') || *cell == '.' || strcmp(cell, "nan") == 0 ||
           strcmp(cell, "inf") == 0;
}

static void measure(const struct table *table, enum table_style style, size_t n_rows,
                    struct column *columns) {
    for (int c = 0; c < table->n_columns; c++) {
        columns[c] = (struct column){.width = width_of(style, table->headers[c]), .right = n_rows > 0};
        for (size_t r = 0; r < n_rows; r++) {
            const char *cell = cell_at(table, r, c);
            const size_t width = width_of(style, cell);
            if (width > columns[c].width) columns[c].width = width;
            columns[c].right = columns[c].right && looks_like_number(cell);
        }
    }
}

static void put_repeated(struct text *out, char character, size_t n) {
    while (n-- > 0) text_append(out, &character, 1);
}

/* One cell, filled up to the column's width. */
static void put_aligned(struct text *out, enum table_style style, const char *cell,
                        const struct column *column, int last) {
    const size_t width = width_of(style, cell), fill = width < column->width ? column->width - width : 0;
    if (column->right) put_repeated(out, ' ', fill);
    for (; *cell; cell++) {
        if (style == TABLE_MARKDOWN && *cell == '|') text_append(out, "\\", 1);
        text_append(out, cell, 1);
    }
    if (!column->right && !last) put_repeated(out, ' ', fill);
}

/* RFC 4180: quotes around a cell with a comma, a quote or a line end; quotes inside are doubled. */
static void put_csv(struct text *out, const char *cell) {
    if (!strpbrk(cell, ",\"\r\n")) {
        text_append(out, cell, strlen(cell));
        return;
    }
    text_append(out, "\"", 1);
    for (; *cell; cell++) {
        if (*cell == '"') text_append(out, "\"", 1);
        text_append(out, cell, 1);
    }
    text_append(out, "\"", 1);
}

/* row: SIZE_MAX for the headers. */
static void render_row(const struct table *table, enum table_style style, const struct column *columns,
                       size_t row, struct text *out) {
    const int n = table->n_columns;
    for (int c = 0; c < n; c++) {
        const char *cell = row == SIZE_MAX ? table->headers[c] : cell_at(table, row, c);
        switch (style) {
        case TABLE_TEXT:
            if (c > 0) text_append(out, "  ", 2);
            put_aligned(out, style, cell, &columns[c], c == n - 1);
            break;
        case TABLE_MARKDOWN:
            text_append(out, c > 0 ? " " : "| ", c > 0 ? 1 : 2);
            put_aligned(out, style, cell, &columns[c], 0);
            text_append(out, " |", 2);
            break;
        case TABLE_CSV:
            if (c > 0) text_append(out, ",", 1);
            put_csv(out, cell);
            break;
        }
    }
    text_append(out, "\n", 1);
}

static void render_rule(const struct table *table, enum table_style style, const struct column *columns,
                        struct text *out) {
    size_t total = 0;
    if (style == TABLE_TEXT) {
        for (int c = 0; c < table->n_columns; c++) total += columns[c].width + (c > 0 ? 2 : 0);
        put_repeated(out, '-', total);
    } else {
        for (int c = 0; c < table->n_columns; c++) {
            text_append(out, "|", 1);
            put_repeated(out, '-', columns[c].width + 1);
            text_append(out, columns[c].right ? ":" : "-", 1);
        }
        text_append(out, "|", 1);
    }
    text_append(out, "\n", 1);
}

facet_status table_render(const struct table *table, enum table_style style, struct text *out) {
    facet_status status = FACET_OK;
    struct column *columns = NULL;
    const size_t n = (size_t)table->n_columns, n_rows = (table->n_cells + n - 1) / n;

    if (table->status != FACET_OK) FAIL(table->status, "%s", table->message);
    TRY(ALLOC(columns, n));
    measure(table, style, n_rows, columns);
    render_row(table, style, columns, SIZE_MAX, out);
    if (style != TABLE_CSV) render_rule(table, style, columns, out);
    size_t next_rule = 0;
    for (size_t row = 0; row < n_rows; row++) {
        int ruled = 0;
        for (; next_rule < table->n_rules && table->rules[next_rule] <= row; next_rule++) ruled = 1;
        if (ruled && row > 0 && style == TABLE_TEXT) render_rule(table, style, columns, out);
        render_row(table, style, columns, row, out);
    }
    status = out->status;
done:
    base_free(&columns);
    return status;
}
