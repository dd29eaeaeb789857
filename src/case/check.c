/* A tree held against the schema table. Recursion follows the table, so it is as deep as the table's longest
 * path. */
#define _GNU_SOURCE /* strtod_l: a decimal point is a point in every locale */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "case/schema.h"
#include "problem/options.h"

#define PATH_BYTES   160
#define PHRASE_BYTES 240
#define MANY_KEYS    64

struct checker {
    struct tree *tree;
    struct issues *issues;
    char path[PATH_BYTES]; /* of the value being checked, as a setting would address it: boundary.0.dirichlet
                            */
    int length;
};

static int push(struct checker *c, const char *step) {
    int before = c->length;
    int room = PATH_BYTES - before;
    int wanted = snprintf(c->path + before, (size_t)room, "%s%s", before ? "." : "", issues_word(step).text);
    c->length += wanted < room ? wanted : room - 1;
    return before;
}

static int push_index(struct checker *c, int index) {
    char step[16];
    snprintf(step, sizeof step, "%d", index);
    return push(c, step);
}

static void pop(struct checker *c, int before) {
    c->length = before;
    c->path[before] = '\0';
}

static const char *skip_digits(const char *c) {
    while (*c >= '0' && *c <= '9') c++;
    return c;
}

/* [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent. */
static int looks_like_number(const char *c) {
    if (*c == '+' || *c == '-') c++;
    const char *whole = c;
    c = skip_digits(c);
    int n_digits = (int)(c - whole);
    if (*c == '.') {
        const char *fraction = ++c;
        c = skip_digits(c);
        n_digits += (int)(c - fraction);
    }
    if (n_digits == 0) return 0;
    if (*c == 'e' || *c == 'E') {
        c++;
        if (*c == '+' || *c == '-') c++;
        const char *exponent = c;
        c = skip_digits(c);
        if (c == exponent) return 0;
    }
    return *c == '\0';
}

/* An issue of the whole node. */
#define BAD(c, node, ...) (issues_add((c)->issues, node, __VA_ARGS__), (node)->bad = 1)

/* "PATH: must be WHAT, not THIS". */
static void refuse(struct checker *c, struct tree_node *node, const char *what) {
    node->bad = 1;
    if (node->kind == TREE_LIST)
        issues_add(c->issues, node, "%s: must be %s, not a list", c->path, what);
    else if (node->kind == TREE_MAP)
        issues_add(c->issues, node, "%s: must be %s, not a map", c->path, what);
    else if (*node->text == '\0')
        issues_add(c->issues, node, "%s: is empty; it must be %s", c->path, what);
    else if (looks_like_number(node->text))
        issues_add(c->issues, node, "%s: must be %s, not %s", c->path, what, issues_word(node->text).text);
    else
        issues_add(c->issues, node, "%s: must be %s, not \"%s\"", c->path, what,
                   issues_word(node->text).text);
}

static void refuse_entry(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    char phrase[PHRASE_BYTES];
    schema_phrase(e, e->types, phrase, sizeof phrase);
    refuse(c, node, phrase);
}

/* ------------------------------------------------------------------------------------------ scalars */

int schema_parse_number(const char *text, double *value) {
    if (!looks_like_number(text)) return 0;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *value = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain) freelocale(plain);
    return isfinite(*value);
}

static int is_integer(const char *text) {
    if (*text == '+' || *text == '-') text++;
    return *text && *skip_digits(text) == '\0';
}

static int is_infinite_or_nan(const char *text) {
    static const char *const names[] = {"nan", ".nan", "inf", ".inf", "infinity"};
    if (*text == '+' || *text == '-') text++;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t k = 0;
        while (names[i][k] && (text[k] | 0x20) == (names[i][k] | 0x20)) k++;
        if (names[i][k] == '\0' && text[k] == '\0') return 1;
    }
    return 0;
}

static void check_number(struct checker *c, struct tree_node *node, const struct schema_entry *e,
                         int integer) {
    double value;
    char phrase[PHRASE_BYTES];
    if (node->kind == TREE_SCALAR && !node->quoted && (!integer || is_integer(node->text)) &&
        schema_parse_number(node->text, &value) && schema_in_bounds(e, value))
        return;
    int of_list = e->types & (SCHEMA_INTEGERS | SCHEMA_NUMBERS | SCHEMA_POINTS | SCHEMA_NAMES);
    schema_phrase(e, !of_list ? e->types : integer ? SCHEMA_INTEGER : SCHEMA_NUMBER, phrase, sizeof phrase);
    if (node->kind == TREE_SCALAR && node->quoted && looks_like_number(node->text))
        BAD(c, node, "%s: must be %s, written without quotes", c->path, phrase);
    else if (node->kind == TREE_SCALAR && (is_infinite_or_nan(node->text) || looks_like_number(node->text)) &&
             !(schema_parse_number(node->text, &value)))
        BAD(c, node, "%s: must be %s, and finite, not %s", c->path, phrase, issues_word(node->text).text);
    else
        refuse(c, node, phrase);
}

static void check_boolean(struct checker *c, struct tree_node *node) {
    static const char *const others[][2] = {
        {"yes", "true"},  {"on", "true"},   {"y", "true"},      {"1", "true"},
        {"no", "false"},  {"off", "false"}, {"n", "false"},     {"0", "false"},
        {"True", "true"}, {"TRUE", "true"}, {"False", "false"}, {"FALSE", "false"},
        {"Yes", "true"},  {"No", "false"},  {"On", "true"},     {"Off", "false"}};
    if (!strcmp(node->text, "true") || !strcmp(node->text, "false")) return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(node->text, others[i][0]) != 0) continue;
        BAD(c, node, "%s: must be true or false; write %s, not %s", c->path, others[i][1], others[i][0]);
        return;
    }
    refuse(c, node, "true or false");
}

static void check_word(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    char phrase[PHRASE_BYTES];
    int n = 0;
    schema_phrase(e, SCHEMA_WORD, phrase, sizeof phrase);
    if (node->kind != TREE_SCALAR) {
        refuse(c, node, phrase);
        return;
    }
    if (schema_word(e, node->text) >= 0) return;
    while (e->words[n]) n++;
    const char *left = options_left(c->path, node->text);
    const char *nearest = n > 1 ? guess_nearest(node->text, n, e->words) : NULL;
    if (*left)
        BAD(c, node, "%s: must be %s%s", c->path, phrase, left);
    else if (nearest)
        BAD(c, node, "%s: must be %s, not \"%s\"; did you mean \"%s\"?", c->path, phrase,
            issues_word(node->text).text, nearest);
    else
        refuse(c, node, phrase);
}

static void check_scalar(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    if (!(e->types & SCHEMA_SCALARS) || *node->text == '\0')
        refuse_entry(c, node, e);
    else if (e->types & SCHEMA_WORD)
        check_word(c, node, e);
    else if (e->types & SCHEMA_BOOLEAN)
        check_boolean(c, node);
    else if (e->types & (SCHEMA_INTEGER | SCHEMA_NUMBER))
        check_number(c, node, e, (e->types & SCHEMA_INTEGER) != 0);
}

/* ------------------------------------------------------------------------------------------ lists */

static int check_length(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    if (node->n >= e->least && (e->most == 0 || node->n <= e->most)) return 1;
    char phrase[PHRASE_BYTES];
    schema_phrase(e, e->types, phrase, sizeof phrase);
    BAD(c, node, "%s: must be %s, not of %d", c->path, phrase, node->n);
    return 0;
}

static void check_point(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    if (node->kind != TREE_LIST || node->n < 2 || node->n > 3) {
        refuse(c, node, "a point: a list of 2 or 3 numbers");
        return;
    }
    for (int i = 0; i < node->n; i++) {
        int before = push_index(c, i);
        check_number(c, node->items[i], e, 0);
        node->bad |= node->items[i]->bad;
        pop(c, before);
    }
}

static void check_matrix(struct checker *c, struct tree_node *node) {
    int square = node->n >= 2 && node->n <= 3;
    for (int i = 0; i < node->n && square; i++) {
        square = node->items[i]->kind == TREE_LIST && node->items[i]->n == node->n;
        for (int j = 0; square && j < node->n; j++)
            square = node->items[i]->items[j]->kind == TREE_SCALAR && *node->items[i]->items[j]->text;
    }
    if (square) return;
    issues_add(c->issues, node,
               "%s: a matrix is a list of 2 rows of 2 expressions (or 3 of 3): [[a, b], [b, c]]; quote an "
               "expression that contains a comma",
               c->path);
    node->bad = 1;
}

int schema_is_null(const struct tree_node *node) {
    return node->kind == TREE_SCALAR && !node->quoted &&
           (strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

/* Its length is checked where the dimension is known. */
static void check_vector(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    int good = node->n == 2 || node->n == 3;
    for (int i = 0; i < node->n && good; i++)
        good = node->items[i]->kind == TREE_SCALAR && *node->items[i]->text;
    if (!good) {
        issues_add(c->issues, node,
                   "%s: must be a list of 2 expressions (3 in 3D); quote an expression that contains a comma",
                   c->path);
        node->bad = 1;
    }
    for (int i = 0; i < node->n && good; i++) {
        if (!schema_is_null(node->items[i]) || e->flags & SCHEMA_NULL) continue;
        issues_add(c->issues, node->items[i], "%s: a component may not be null here; write 0", c->path);
        node->bad = 1;
    }
}

static void check_texts(struct checker *c, struct tree_node *node) {
    if (node->n == 0) BAD(c, node, "%s: the list is empty; name one or more", c->path);
    for (int i = 0; i < node->n; i++) {
        int before = push_index(c, i);
        if (node->items[i]->kind != TREE_SCALAR || *node->items[i]->text == '\0')
            refuse(c, node->items[i], "a name");
        node->bad |= node->items[i]->bad;
        pop(c, before);
    }
}

static facet_status check_map(struct checker *c, struct tree_node *node, const char *parent);

static facet_status check_list_of_maps(struct checker *c, struct tree_node *node,
                                       const struct schema_entry *e) {
    facet_status status = FACET_OK;
    char parent[64];
    snprintf(parent, sizeof parent, "%s[]", e->path);
    for (int i = 0; i < node->n; i++) {
        struct tree_node *item = node->items[i];
        if (item->bad) continue;
        int before = push_index(c, i);
        if (item->kind == TREE_MAP)
            TRY(check_map(c, item, parent));
        else
            refuse(c, item, "a map {key: value, ...}");
        pop(c, before);
    }
done:
    return status;
}

static facet_status check_list(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    unsigned types = e->types & SCHEMA_LISTS;
    if (!types) {
        refuse_entry(c, node, e);
        return FACET_OK;
    }
    int of_maps = node->n == 0 || node->items[0]->kind == TREE_MAP;
    if (types & SCHEMA_LIST && (of_maps || types == SCHEMA_LIST)) return check_list_of_maps(c, node, e);
    if (types & (SCHEMA_MATRIX | SCHEMA_VECTOR)) {
        int rows = node->n > 0 && node->items[0]->kind == TREE_LIST;
        if (types & SCHEMA_MATRIX && (rows || !(types & SCHEMA_VECTOR)))
            check_matrix(c, node);
        else
            check_vector(c, node, e);
        return FACET_OK;
    }
    if (types & SCHEMA_TEXTS) {
        if (e->least == 0 || check_length(c, node, e)) check_texts(c, node);
        return FACET_OK;
    }
    if (!check_length(c, node, e)) return FACET_OK;
    for (int i = 0; i < node->n; i++) {
        struct tree_node *item = node->items[i];
        int before = push_index(c, i);
        if (item->bad)
            ;
        else if (types & SCHEMA_WORDS)
            check_word(c, item, e);
        else if (types & SCHEMA_POINTS)
            check_point(c, item, e);
        else
            check_number(c, item, e, (types & SCHEMA_INTEGERS) != 0);
        node->bad |= item->bad;
        pop(c, before);
    }
    if (types & SCHEMA_WORDS)
        return schema_check_duplicates(c->tree, c->issues, node->n,
                                       (const struct tree_node *const *)node->items, "word");
    return FACET_OK;
}

/* ------------------------------------------------------------------------------------------ maps */

struct ranked {
    const struct tree_node *node;
    int rank;
};

static int by_text(const void *a, const void *b) {
    const struct ranked *p = a, *q = b;
    int order = strcmp(p->node->text, q->node->text);
    return order ? order : (p->rank > q->rank) - (p->rank < q->rank);
}

facet_status schema_check_duplicates(struct tree *tree, struct issues *issues, int n,
                                     const struct tree_node *const *names, const char *what) {
    facet_status status = FACET_OK;
    struct ranked *sorted;
    int count = 0;
    TRY(tree_alloc(tree, (size_t)n * sizeof *sorted, &sorted));
    for (int i = 0; i < n; i++)
        if (names[i] && !names[i]->bad && names[i]->kind == TREE_SCALAR)
            sorted[count++] = (struct ranked){names[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, by_text);
    for (int i = 1, first = 0; i < count; i++) {
        const struct tree_node *node = sorted[i].node, *earlier = sorted[first].node;
        if (strcmp(node->text, earlier->text) != 0)
            first = i;
        else if (earlier->line > 0)
            issues_add(issues, node, "duplicate %s \"%s\"; the first is in line %d, column %d", what,
                       issues_word(node->text).text, earlier->line, earlier->column);
        else
            issues_add(issues, node, "duplicate %s \"%s\"", what, issues_word(node->text).text);
    }
done:
    return status;
}

/* The whole path of a key that stands in another map, by its name or with one letter wrong. */
static const char *find_elsewhere(const char *key) {
    struct guess guess = guess_begin(key);
    const char *path = NULL;
    if (guess.distance > 2) guess.distance = 2;
    for (int i = 0; i < schema_n_entries(); i++) {
        int before = guess.distance;
        guess_consider(&guess, schema_key(schema_row(i)));
        if (guess.distance < before) path = schema_row(i)->path;
    }
    return path;
}

static void refuse_key(struct checker *c, const struct tree_node *key, const char *parent) {
    const char *known[MANY_KEYS];
    int n = 0;
    if (issues_only_count(c->issues, key)) return;
    for (int i = 0; i < schema_n_entries() && n < MANY_KEYS; i++)
        if (schema_is_child(schema_row(i), parent)) known[n++] = schema_key(schema_row(i));
    const char *colon = c->length ? ": " : "";
    const char *nearest = guess_nearest(key->text, n, known);
    if (!nearest) nearest = find_elsewhere(key->text);
    if (nearest) {
        issues_add(c->issues, key, "%s%sunknown key \"%s\"; did you mean \"%s\"?", c->path, colon,
                   issues_word(key->text).text, nearest);
    } else if (strpbrk(key->text, "()")) {
        issues_add(c->issues, key, "%s%sunknown key \"%s\"; quote an expression that contains a comma",
                   c->path, colon, issues_word(key->text).text);
    } else {
        char list[PHRASE_BYTES] = "";
        for (int i = 0; i < n; i++) issues_append(list, sizeof list, known[i]);
        issues_add(c->issues, key, "%s%sunknown key \"%s\"; known here: %s", c->path, colon,
                   issues_word(key->text).text, list);
    }
}

static void check_required(struct checker *c, const struct tree_node *node, const char *parent) {
    for (int i = 0; i < schema_n_entries(); i++) {
        const struct schema_entry *e = schema_row(i);
        if (!(e->flags & SCHEMA_REQUIRED) || !schema_is_child(e, parent) || tree_find(node, schema_key(e)))
            continue;
        char phrase[PHRASE_BYTES];
        schema_phrase(e, e->types, phrase, sizeof phrase);
        issues_add(c->issues, node, "%s%smissing key \"%s\"; it must be %s", c->path, c->length ? ": " : "",
                   schema_key(e), phrase);
    }
}

static const struct schema_entry *find_child(const char *parent, const char *key) {
    for (int i = 0; i < schema_n_entries(); i++)
        if (schema_is_child(schema_row(i), parent) && !strcmp(schema_key(schema_row(i)), key))
            return schema_row(i);
    return NULL;
}

static void check_names(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    for (int i = 0; i < node->n; i++) {
        if (node->items[i]->bad || node->keys[i]->bad) continue;
        int before = push(c, node->keys[i]->text);
        const struct tree_node *item = node->items[i];
        int expression = item->kind == TREE_SCALAR && *item->text && !looks_like_number(item->text) &&
                         !is_infinite_or_nan(item->text); /* of which the reader knows more */
        if (!expression) check_number(c, node->items[i], e, 0);
        pop(c, before);
    }
}

static facet_status check_value(struct checker *c, struct tree_node *node, const struct schema_entry *e) {
    facet_status status = FACET_OK;
    if (node->bad) return FACET_OK;
    if (node->kind == TREE_SCALAR) {
        check_scalar(c, node, e);
    } else if (node->kind == TREE_LIST) {
        TRY(check_list(c, node, e));
    } else if (e->types & SCHEMA_MAP) {
        TRY(check_map(c, node, e->path));
    } else if (e->types & SCHEMA_NAMES) {
        check_names(c, node, e);
        TRY(schema_check_duplicates(c->tree, c->issues, node->n, (const struct tree_node *const *)node->keys,
                                    "name"));
    } else {
        refuse_entry(c, node, e);
    }
done:
    return status;
}

static facet_status check_map(struct checker *c, struct tree_node *node, const char *parent) {
    facet_status status = FACET_OK;
    for (int i = 0; i < node->n; i++) {
        if (node->keys[i]->bad) continue;
        const struct schema_entry *e = find_child(parent, node->keys[i]->text);
        if (!e) {
            refuse_key(c, node->keys[i], parent);
            continue;
        }
        int before = push(c, node->keys[i]->text);
        TRY(check_value(c, node->items[i], e));
        pop(c, before);
    }
    check_required(c, node, parent);
    TRY(schema_check_duplicates(c->tree, c->issues, node->n, (const struct tree_node *const *)node->keys,
                                "key"));
done:
    return status;
}

/* The keys of a map that are those of a case; those that have no place there (shared or not) are told. */
static facet_status check_some(struct checker *c, struct tree_node *node, int shared) {
    facet_status status = FACET_OK;
    for (int i = 0; i < node->n; i++) {
        const char *key = node->keys[i]->text;
        const struct schema_entry *e = find_child("", key);
        int mine = strcmp(key, "title") == 0 || SCHEMA_IS_SHARED(key) == shared;
        if (node->keys[i]->bad || (shared && strcmp(key, "cases") == 0)) continue;
        if (e && (!mine || strcmp(key, shared ? "name" : "cases") == 0))
            BAD(c, node->keys[i], "%s%s%s: %s", c->path, c->length ? "." : "", key,
                shared ? "beside cases there are mesh, parameters and title; the others belong to one of the "
                         "cases"
                       : "belongs to the whole chain, beside cases");
        if (!e) refuse_key(c, node->keys[i], "");
        if (!e || node->keys[i]->bad) continue;
        int before = push(c, key);
        TRY(check_value(c, node->items[i], e));
        pop(c, before);
    }
    if (!tree_find(node, shared ? "mesh" : "equation"))
        issues_add(c->issues, node, "%s%smissing key \"%s\"", c->path, c->length ? ": " : "",
                   shared ? "mesh" : "equation");
    TRY(schema_check_duplicates(c->tree, c->issues, node->n, (const struct tree_node *const *)node->keys,
                                "key"));
done:
    return status;
}

static facet_status check_chain(struct checker *c, struct tree_node *root) {
    facet_status status = FACET_OK;
    struct tree_node *cases = tree_find(root, "cases");
    TRY(check_some(c, root, 1));
    int outer = push(c, "cases");
    if (cases->kind != TREE_LIST)
        refuse(c, cases, "a list of cases");
    else if (cases->n == 0)
        BAD(c, cases, "cases: the list is empty; give one or more");
    for (int i = 0; cases->kind == TREE_LIST && i < cases->n; i++) {
        int before = push_index(c, i);
        if (cases->items[i]->kind == TREE_MAP)
            TRY(check_some(c, cases->items[i], 0));
        else
            refuse(c, cases->items[i], "a map {key: value, ...}");
        pop(c, before);
    }
    pop(c, outer);
done:
    return status;
}

facet_status schema_check(struct tree *tree, struct issues *issues) {
    struct checker c = {.tree = tree, .issues = issues};
    if (!tree->root) return FACET_OK;
    if (tree->root->kind != TREE_MAP) {
        issues_add(issues, tree->root, "a case is a map of keys: begin with 'mesh:' and 'equation:'");
        tree->root->bad = 1;
        return FACET_OK;
    }
    return tree_find(tree->root, "cases") ? check_chain(&c, tree->root) : check_map(&c, tree->root, "");
}
