/* The list of things wrong with a case file: kept sorted by place, cut to what the message can hold. */
#include "case/issues.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "case/yaml_tree.h"

/* Room for whoever puts more in front of the message, and for the count of what was left out. */
#define LISTED_BYTES (BASE_MESSAGE_BYTES - 256)

void issues_init(struct issues *issues, const char *path) {
    issues->path = path;
    issues->count = 0;
    issues->kept = 0;
}

static int comes_before(const struct issue *a, const struct issue *b) {
    if (a->line != b->line) return a->line < b->line;
    if (a->column != b->column) return a->column < b->column;
    return a->order < b->order;
}

/* Cuts an incomplete UTF-8 sequence from the end of a text that was clipped to its buffer. */
static void trim_clipped(char *text) {
    size_t n = strlen(text);
    size_t start = n;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (wanted > 1 && n - (start - 1) < wanted) text[start - 1] = '\0';
}

/* "--set KEY: message". A message that begins with the path of what it is about, which is the key, something
 * in its value, or a map on the way to it, names that once. */
static void say_setting(const char *setting, const char *message, char *text, size_t text_bytes) {
    size_t key = strlen(setting), path = strcspn(message, ":");
    int within = strncmp(message, setting, key) == 0 && (message[key] == ':' || message[key] == '.');
    int above =
        message[path] == ':' && path < key && strncmp(setting, message, path) == 0 && setting[path] == '.';
    if (above) message += path + strspn(message + path, ": ");
    int used = within ? snprintf(text, text_bytes, "--set ")
                      : snprintf(text, text_bytes, "--set %s: ", issues_word(setting).text);
    snprintf(text + used, text_bytes - (size_t)used, "%.*s", (int)text_bytes - used - 1, message);
}

int issues_only_count(struct issues *issues, const struct tree_node *where) {
    struct issue issue = {.line = where->setting ? INT_MAX : where->line,
                          .column = where->setting ? 0 : where->column,
                          .order = issues->count};
    if (issues->kept < ISSUES_KEPT || comes_before(&issue, &issues->list[ISSUES_KEPT - 1])) return 0;
    issues->count++;
    return 1;
}

void issues_add(struct issues *issues, const struct tree_node *where, const char *format, ...) {
    struct issue issue = {.line = INT_MAX, .column = 0, .order = issues->count++};
    char message[ISSUES_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (where->setting) {
        say_setting(where->setting, message, issue.text, sizeof issue.text);
    } else {
        memcpy(issue.text, message, sizeof message);
        issue.line = where->line;
        issue.column = where->column;
    }
    trim_clipped(issue.text);
    for (int i = 0; i < issues->kept; i++) /* what cases share is read for each of them */
        if (issues->list[i].line == issue.line && issues->list[i].column == issue.column &&
            strcmp(issues->list[i].text, issue.text) == 0) {
            issues->count--;
            return;
        }

    int place = issues->kept;
    while (place > 0 && comes_before(&issue, &issues->list[place - 1])) place--;
    if (place == ISSUES_KEPT) return;
    if (issues->kept < ISSUES_KEPT) issues->kept++;
    memmove(&issues->list[place + 1], &issues->list[place],
            (size_t)(issues->kept - 1 - place) * sizeof issues->list[0]);
    issues->list[place] = issue;
}

facet_status issues_status(const struct issues *issues) {
    if (issues->count == 0) return FACET_OK;
    char listed[LISTED_BYTES + 64];
    int used = 0, shown = 0;
    for (; shown < issues->kept; shown++) {
        const struct issue *issue = &issues->list[shown];
        const char *break_before = shown ? "\n" : "";
        int room = LISTED_BYTES - used, wanted;
        if (issue->line == INT_MAX)
            wanted = snprintf(listed + used, (size_t)room, "%s%s", break_before, issue->text);
        else
            wanted = snprintf(listed + used, (size_t)room, "%s%s:%d:%d: %s", break_before, issues->path,
                              issue->line, issue->column, issue->text);
        if (wanted >= room && shown > 0) break;
        used += wanted < room ? wanted : room - 1;
    }
    listed[used] = '\0';
    if (shown < issues->count)
        snprintf(listed + used, 64, "\nand %d more error%s", issues->count - shown,
                 issues->count - shown == 1 ? "" : "s");
    return base_fail(FACET_ERROR_INPUT, "%s", listed);
}

struct issues_word issues_word(const char *text) {
    struct issues_word word;
    size_t n = strlen(text), room = sizeof word.text - 1;
    int clipped = n > room;
    if (clipped) n = room - 3;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        word.text[i] = c < 0x20 || c == 0x7F ? ' ' : text[i];
    }
    word.text[n] = '\0';
    if (clipped) {
        trim_clipped(word.text);
        memcpy(word.text + strlen(word.text), "...", 4);
    }
    return word;
}

void issues_append(char *list, int list_bytes, const char *word) {
    size_t used = strlen(list);
    snprintf(list + used, (size_t)list_bytes - used, "%s%s", used ? ", " : "", word);
}
