/* Where in a case file a message belongs. See places.h. */
#include "case/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

facet_status case_at_place(facet_status status, const struct case_file *file, struct case_place place) {
    if (status != FACET_ERROR_INPUT) return status;
    if (place.setting != NULL) return base_wrap(status, "--set %s", place.setting);
    if (place.line > 0) return base_wrap(status, "%s:%d:%d", file->path, place.line, place.column);
    return base_wrap(status, "%s", file->path);
}

/* Whether a line names a group: "... 'name' ...". */
static int names_group(const char *line, size_t n, const char *group) {
    size_t length = group != NULL ? strlen(group) : 0;
    for (size_t i = 0; group != NULL && i + length + 2 <= n; i++)
        if (line[i] == '\'' && strncmp(line + i + 1, group, length) == 0 && line[i + 1 + length] == '\'')
            return 1;
    return 0;
}

/* Where the case says what a message of the library is about: the first group of its list that the line
 * names, or the list. */
static struct case_place find_place(const struct case_file *file, const char *line, size_t n) {
    struct case_place nowhere = {0};
    if (strncmp(line, "mesh: ", 6) == 0) return file->mesh.place;
    if (strncmp(line, "boundary", 8) == 0) {
        for (int i = 0; i < file->n_boundary; i++)
            if (names_group(line, n, file->boundary[i].on)) return file->boundary[i].on_place;
        return file->boundary_place;
    }
    if (strncmp(line, "conductivity", 12) == 0) {
        for (int i = 0; i < file->n_conductivity; i++)
            if (names_group(line, n, file->conductivity[i].on)) return file->conductivity[i].on_place;
        return file->regions_place;
    }
    for (int i = 0; strncmp(line, "interfaces", 10) == 0 && i < file->n_interfaces; i++)
        if (names_group(line, n, file->interfaces[i].between[0]) ||
            names_group(line, n, file->interfaces[i].between[1]))
            return file->interfaces[i].place;
    if (strncmp(line, "jump", 4) == 0) return file->jump.place;
    if (strncmp(line, "interfaces", 10) == 0 && file->n_interfaces > 0) return file->interfaces[0].place;
    const struct case_shares *shares = strncmp(line, "source", 6) == 0     ? &file->source
                                       : strncmp(line, "reaction", 8) == 0 ? &file->reaction
                                       : strncmp(line, "thermal.expansion", 17) == 0
                                           ? &file->thermal.expansion
                                           : NULL;
    if (strncmp(line, "thermal", 7) == 0 && shares == NULL) return file->thermal.place;
    for (int i = 0; shares != NULL && i < shares->n; i++)
        if (names_group(line, n, shares->items[i].on)) return shares->items[i].on_place;
    if (shares != NULL && shares->n > 0) return shares->items[0].place;
    if (strncmp(line, "material", 8) == 0) {
        for (int i = 0; i < file->n_material; i++)
            if (names_group(line, n, file->material[i].on)) return file->material[i].on_place;
        return file->regions_place;
    }
    return nowhere;
}

facet_status case_in_file(facet_status status, const struct case_file *file) {
    if (status != FACET_ERROR_INPUT) return status;
    struct text lines = {0};
    for (const char *line = base_message(); *line != '\0';) {
        size_t n = strcspn(line, "\n");
        struct case_place place = find_place(file, line, n);
        if (base_read_more(line) > 0) {
            text_printf(&lines, "\n%.*s", (int)n, line);
            break;
        }
        text_printf(&lines, "%s%s", lines.length > 0 ? "\n" : "", place.setting ? "--set " : file->path);
        if (place.setting != NULL)
            text_printf(&lines, "%s", place.setting);
        else if (place.line > 0)
            text_printf(&lines, ":%d:%d", place.line, place.column);
        text_printf(&lines, ": %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    if (lines.status == FACET_OK && lines.length > 0) base_fail_lines(status, lines.data);
    text_free(&lines);
    return status;
}

/* ------------------------------------------------------------------------------------------ messages */

struct line {
    const char *text;
    size_t n;
    int row, column, second, order; /* row INT_MAX: it has no place */
};

/* "path:12:5: ..." */
static struct line read_line(const char *text, int second, int order) {
    struct line line = {text, strcspn(text, "\n"), INT_MAX, 0, second, order};
    for (size_t i = 0; i < line.n; i++) {
        int row, column, used = 0;
        if (text[i] != ':') continue;
        if (sscanf(text + i, ":%d:%d:%n", &row, &column, &used) < 2 || used == 0) continue;
        line.row = row;
        line.column = column;
        break;
    }
    return line;
}

static int by_place(const void *a, const void *b) {
    const struct line *p = a, *q = b;
    if (p->row != q->row) return p->row < q->row ? -1 : 1;
    if (p->column != q->column) return p->column < q->column ? -1 : 1;
    return p->order - q->order;
}

static int count_lines(const char *text) {
    int n = *text != '\0';
    for (; *text != '\0'; text++) n += *text == '\n';
    return n;
}

facet_status case_join_messages(const char *one, const char *other) {
    facet_status status = FACET_OK;
    struct line *lines = NULL;
    struct text joined = {0};
    int n = 0, more = 0;
    TRY(ALLOC(lines, count_lines(one) + count_lines(other)));
    for (int second = 0; second < 2; second++)
        for (const char *at = second ? other : one; *at != '\0';) {
            lines[n] = read_line(at, second, n);
            at += lines[n].n + (at[lines[n].n] == '\n');
            const int is_more = base_read_more(lines[n].text) > 0;
            n += !(is_more && more); /* those that neither has told are the same, as far as anybody knows */
            more |= is_more;
        }
    qsort(lines, (size_t)n, sizeof *lines, by_place);
    for (int i = 0; i < n; i++) {
        const struct line *line = &lines[i], *before = i > 0 ? line - 1 : NULL;
        if (before != NULL && line->second && line->row != INT_MAX && line->row == before->row &&
            line->column == before->column)
            continue;
        text_printf(&joined, "%s%.*s", joined.length > 0 ? "\n" : "", (int)line->n, line->text);
    }
    TRY(joined.status);
    TRY(base_fail_lines(FACET_ERROR_INPUT, joined.data));
done:
    text_free(&joined);
    base_free(&lines);
    return status;
}
