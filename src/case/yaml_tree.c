/* libyaml's events built into a tree. Nodes and texts are cut from chunks that are freed together. */
#include "case/yaml_tree.h"

#include <stdint.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"

#define CHUNK_BYTES   ((size_t)1 << 14)
#define CHUNK_LARGEST ((size_t)1 << 20)

struct tree_chunk {
    struct tree_chunk *next;
    size_t used, capacity;
    max_align_t data[];
};

facet_status tree_alloc(struct tree *tree, size_t bytes, void *pointer) {
    facet_status status = FACET_OK;
    const size_t unit = sizeof(max_align_t);
    void *piece = NULL;
    size_t wanted = (bytes + unit - 1) / unit * unit;
    struct tree_chunk *chunk = tree->chunks;
    if (!chunk || chunk->capacity - chunk->used < wanted) {
        size_t capacity = chunk && chunk->capacity < CHUNK_LARGEST ? 2 * chunk->capacity : CHUNK_BYTES;
        if (capacity < wanted) capacity = wanted;
        TRY(base_alloc(&chunk, 1, sizeof *chunk + capacity));
        chunk->next = tree->chunks;
        chunk->used = 0;
        chunk->capacity = capacity;
        tree->chunks = chunk;
    }
    piece = (char *)chunk->data + chunk->used;
    chunk->used += wanted;
    memset(piece, 0, wanted);
done:
    memcpy(pointer, &piece, sizeof piece);
    return status;
}

void tree_free(struct tree *tree) {
    while (tree->chunks) {
        struct tree_chunk *next = tree->chunks->next;
        base_free(&tree->chunks);
        tree->chunks = next;
    }
    tree->root = NULL;
}

struct tree_node *tree_find(const struct tree_node *map, const char *key) {
    if (!map || map->kind != TREE_MAP) return NULL;
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->keys[i]->text, key) == 0) return map->items[i];
    return NULL;
}

facet_status tree_copy(struct tree *tree, const char *text, size_t n, const char **copy) {
    facet_status status = FACET_OK;
    char *bytes;
    TRY(tree_alloc(tree, n + 1, &bytes));
    memcpy(bytes, text, n);
    *copy = bytes;
done:
    return status;
}

static facet_status grow(struct tree *tree, struct tree_node ***array, int n, int capacity) {
    facet_status status = FACET_OK;
    struct tree_node **larger;
    TRY(tree_alloc(tree, (size_t)capacity * sizeof *larger, &larger));
    if (n > 0) memcpy(larger, *array, (size_t)n * sizeof *larger);
    *array = larger;
done:
    return status;
}

/* key: NULL for a list. */
static facet_status append(struct tree *tree, struct tree_node *parent, struct tree_node *key,
                           struct tree_node *item) {
    facet_status status = FACET_OK;
    if (parent->n == parent->capacity) {
        int capacity = parent->capacity ? 2 * parent->capacity : 4;
        TRY(grow(tree, &parent->items, parent->n, capacity));
        if (key) TRY(grow(tree, &parent->keys, parent->n, capacity));
        parent->capacity = capacity;
    }
    if (key) parent->keys[parent->n] = key;
    parent->items[parent->n++] = item;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ parsing */

struct builder {
    struct tree *tree;
    struct issues *issues;
    const char *setting;
    struct tree_node *root;
    int stopped; /* an issue after which the rest makes no sense */
    int depth;
    struct tree_node *open[TREE_MAX_DEPTH]; /* lists and maps not yet closed */
    struct tree_node *key[TREE_MAX_DEPTH];  /* of a map: the key that waits for its value */
};

static int clip_to_int(size_t value) {
    return value < INT32_MAX ? (int)value : INT32_MAX;
}

/* A node of no kind yet, with its place. */
static struct tree_node node_at(const struct builder *b, yaml_mark_t mark) {
    struct tree_node node = {.setting = b->setting, .text = ""};
    if (b->setting) return node;
    node.line = clip_to_int(mark.line + 1);
    node.column = clip_to_int(mark.column + 1);
    return node;
}

static facet_status new_node(struct builder *b, enum tree_kind kind, yaml_mark_t mark,
                             struct tree_node **node) {
    facet_status status = FACET_OK;
    TRY(tree_alloc(b->tree, sizeof **node, node));
    **node = node_at(b, mark);
    (*node)->kind = kind;
done:
    return status;
}

static void stop(struct builder *b, const struct tree_node *where, const char *why) {
    issues_add(b->issues, where, "%s", why);
    b->stopped = 1;
}

/* Hangs a new node below the innermost open list or map, or makes it the root. */
static facet_status place_node(struct builder *b, struct tree_node *node) {
    if (b->depth == 0) {
        b->root = node;
        return FACET_OK;
    }
    struct tree_node *parent = b->open[b->depth - 1];
    struct tree_node **key = &b->key[b->depth - 1];
    if (parent->kind == TREE_LIST) return append(b->tree, parent, NULL, node);
    if (*key) {
        struct tree_node *given = *key;
        *key = NULL;
        return append(b->tree, parent, given, node);
    }
    if (node->kind == TREE_SCALAR)
        *key = node;
    else
        stop(b, node,
             "a key must be a word, not a list or a map; quote an expression that begins with [ or {");
    return FACET_OK;
}

static facet_status begin_collection(struct builder *b, enum tree_kind kind, const yaml_event_t *event) {
    facet_status status = FACET_OK;
    struct tree_node *node;
    TRY(new_node(b, kind, event->start_mark, &node));
    TRY(place_node(b, node));
    if (b->stopped) goto done;
    if (b->depth == TREE_MAX_DEPTH) {
        stop(b, node, "nested more than 64 deep");
        goto done;
    }
    b->key[b->depth] = NULL;
    b->open[b->depth++] = node;
done:
    return status;
}

static void refuse_marks(struct builder *b, yaml_mark_t mark, const yaml_char_t *anchor,
                         const yaml_char_t *tag) {
    const struct tree_node where = node_at(b, mark);
    if (anchor)
        issues_add(b->issues, &where, "anchors (&%s) are not supported; write the value where it is needed",
                   issues_word((const char *)anchor).text);
    if (tag)
        issues_add(b->issues, &where, "tags (%s) are not supported; quote an expression that begins with '!'",
                   issues_word((const char *)tag).text);
}

static facet_status add_scalar(struct builder *b, const yaml_event_t *event) {
    facet_status status = FACET_OK;
    struct tree_node *node;
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    TRY(new_node(b, TREE_SCALAR, event->start_mark, &node));
    refuse_marks(b, event->start_mark, event->data.scalar.anchor, event->data.scalar.tag);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->bad = event->data.scalar.anchor || event->data.scalar.tag;
    if (memchr(value, '\0', length)) {
        issues_add(b->issues, node, "text may not contain the character \\0");
        node->bad = 1;
    } else {
        TRY(tree_copy(b->tree, value, length, &node->text));
    }
    TRY(place_node(b, node));
done:
    return status;
}

static facet_status add_alias(struct builder *b, const yaml_event_t *event) {
    facet_status status = FACET_OK;
    struct tree_node *node;
    TRY(new_node(b, TREE_SCALAR, event->start_mark, &node));
    issues_add(b->issues, node, "aliases (*%s) are not supported; write the value out",
               issues_word((const char *)event->data.alias.anchor).text);
    node->bad = 1;
    TRY(place_node(b, node));
done:
    return status;
}

static facet_status handle_event(struct builder *b, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->root) {
            const struct tree_node where = node_at(b, event->start_mark);
            stop(b, &where, "a second document begins here; a case file holds one");
        }
        return FACET_OK;
    case YAML_ALIAS_EVENT:
        return add_alias(b, event);
    case YAML_SCALAR_EVENT:
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        refuse_marks(b, event->start_mark, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        return begin_collection(b, TREE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        refuse_marks(b, event->start_mark, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return begin_collection(b, TREE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return FACET_OK;
    default:
        return FACET_OK;
    }
}

/* ------------------------------------------------------------------------------------------ syntax errors */

/* Line and column (in characters) of a byte. */
static void place_of_byte(const char *bytes, size_t n, size_t offset, struct tree_node *where) {
    where->line = 1;
    where->column = 1;
    for (size_t i = 0; i < offset && i < n; i++) {
        if (bytes[i] == '\n') {
            where->line++;
            where->column = 1;
        } else if (((unsigned char)bytes[i] & 0xC0) != 0x80) {
            where->column++;
        }
    }
}

static int is_indented_by_tab(const char *bytes, size_t n, int line) {
    size_t i = 0;
    for (int l = 1; l < line && i < n; i++) l += bytes[i] == '\n';
    while (i < n && bytes[i] == ' ') i++;
    return i < n && bytes[i] == '\t';
}

/* What the writer probably did, when libyaml's own words do not tell. */
static const char *syntax_hint(const char *problem, const char *bytes, size_t n, int line) {
    if (is_indented_by_tab(bytes, n, line)) return "; indent with spaces, not tabs";
    if (strstr(problem, "mapping values are not allowed"))
        return "; check the indentation, and quote a text that contains ': '";
    if (strstr(problem, "cannot start any token")) return "; quote a text that begins with this character";
    if (strstr(problem, "expected <block end>") || strstr(problem, "did not find expected key") ||
        strstr(problem, "expected '-' indicator"))
        return "; keys of one map, and items of one list, begin in the same column";
    if (strstr(problem, "expected ',' or"))
        return "; a bracket is not closed, or a text with special characters needs quotes";
    return "";
}

static facet_status syntax_error(struct builder *b, const yaml_parser_t *parser, const char *bytes,
                                 size_t n) {
    if (parser->error == YAML_MEMORY_ERROR)
        return base_fail(FACET_ERROR_MACHINE, "out of memory in the YAML parser");
    const char *problem = parser->problem ? parser->problem : "unknown problem";
    struct tree_node where = node_at(b, parser->problem_mark);
    if (parser->error == YAML_READER_ERROR) {
        place_of_byte(bytes, n, parser->problem_offset, &where);
        issues_add(b->issues, &where, "not UTF-8 text: %s", problem);
    } else {
        issues_add(b->issues, &where, "not valid YAML: %s%s%s%s", problem, parser->context ? " " : "",
                   parser->context ? parser->context : "", syntax_hint(problem, bytes, n, where.line));
    }
    b->stopped = 1;
    return FACET_OK;
}

static facet_status parse(struct tree *tree, const char *bytes, size_t n, const char *setting,
                          struct issues *issues, struct tree_node **root) {
    facet_status status = FACET_OK;
    struct builder b = {.tree = tree, .issues = issues, .setting = setting};
    yaml_parser_t parser;
    int finished = 0;
    *root = NULL;
    if (!yaml_parser_initialize(&parser))
        return base_fail(FACET_ERROR_MACHINE, "out of memory in the YAML parser");
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark */
        bytes += 3;
        n -= 3;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
    while (!finished && !b.stopped) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            TRY(syntax_error(&b, &parser, bytes, n));
            break;
        }
        finished = event.type == YAML_STREAM_END_EVENT;
        status = handle_event(&b, &event);
        yaml_event_delete(&event);
        if (status != FACET_OK) goto done;
    }
    if (!b.stopped) *root = b.root;
done:
    yaml_parser_delete(&parser);
    return status;
}

facet_status tree_parse(struct tree *tree, const char *bytes, size_t n, struct issues *issues) {
    facet_status status = FACET_OK;
    int before = issues->count;
    TRY(parse(tree, bytes, n, NULL, issues, &tree->root));
    if (!tree->root && issues->count == before) {
        struct tree_node start = {.line = 1, .column = 1};
        issues_add(issues, &start, "the file is empty; a case needs at least 'mesh' and 'equation'");
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ settings */

/* One override on its way down the tree. */
struct descent {
    struct tree *tree;
    struct issues *issues;
    struct tree_node made;   /* what every node made for it looks like: its place */
    struct tree_node **slot; /* where the node reached so far hangs */
    const char *path;        /* the whole key */
    int reached;             /* bytes of it that lead to *slot */
};

/* "mesh.box", or "the file" at the root: for messages. */
static struct issues_word reached_name(const struct descent *d) {
    char name[256];
    if (d->reached == 0) return issues_word("the file");
    snprintf(name, sizeof name, "%.*s", d->reached, d->path);
    return issues_word(name);
}

/* The number in a step, or -1. */
static int step_number(const char *step) {
    int number = 0;
    if (*step == '\0' || strlen(step) > 8) return -1;
    for (const char *c = step; *c; c++) {
        if (*c < '0' || *c > '9') return -1;
        number = 10 * number + (*c - '0');
    }
    return number;
}

/* A step into a list: returns 0 after an issue. */
static int step_into_list(struct descent *d, const char *step) {
    struct tree_node *list = *d->slot;
    int index = step_number(step);
    if (index >= 0 && index < list->n) {
        d->slot = &list->items[index];
        return 1;
    }
    if (list->n == 0)
        issues_add(d->issues, &d->made, "%s is an empty list; there is nothing to set in it",
                   reached_name(d).text);
    else
        issues_add(d->issues, &d->made, "%s is a list of %d: '%s' must be a number from 0 to %d",
                   reached_name(d).text, list->n, issues_word(step).text, list->n - 1);
    return 0;
}

static facet_status step_into_map(struct descent *d, const char *step) {
    facet_status status = FACET_OK;
    struct tree_node *map = *d->slot, *key, *value;
    for (int i = 0; i < map->n; i++) {
        if (strcmp(map->keys[i]->text, step) == 0) {
            d->slot = &map->items[i];
            return FACET_OK;
        }
    }
    TRY(tree_alloc(d->tree, sizeof *key, &key));
    TRY(tree_alloc(d->tree, sizeof *value, &value));
    *key = d->made;
    *value = d->made;
    TRY(tree_copy(d->tree, step, strlen(step), &key->text));
    TRY(append(d->tree, map, key, value));
    d->slot = &map->items[map->n - 1];
done:
    return status;
}

/* One step of the key; *ok is 0 after an issue. */
static facet_status descend(struct descent *d, const char *step, int *ok) {
    struct tree_node *node = *d->slot;
    *ok = 0;
    if (node->kind == TREE_LIST) {
        *ok = step_into_list(d, step);
        return FACET_OK;
    }
    if (node->kind == TREE_SCALAR && (node->quoted || *node->text)) {
        issues_add(d->issues, &d->made, "%s is a single value, there is no '%s' in it; set it as a whole",
                   reached_name(d).text, issues_word(step).text);
        return FACET_OK;
    }
    if (node->kind == TREE_SCALAR && step_number(step) >= 0) {
        issues_add(d->issues, &d->made,
                   "%s does not exist or is empty, so it has no item %s; set it as a whole",
                   reached_name(d).text, step);
        return FACET_OK;
    }
    if (node->kind == TREE_SCALAR) node->kind = TREE_MAP;
    *ok = 1;
    return step_into_map(d, step);
}

facet_status tree_set(struct tree *tree, const char *setting, struct issues *issues) {
    facet_status status = FACET_OK;
    struct descent d = {.tree = tree, .issues = issues, .slot = &tree->root};
    struct tree_node *value;
    char *steps;
    const char *equals = strchr(setting, '=');
    size_t key_length = equals ? (size_t)(equals - setting) : strlen(setting);
    d.made = (struct tree_node){.kind = TREE_SCALAR, .text = ""};
    TRY(tree_copy(tree, setting, key_length, &d.made.setting));
    d.path = d.made.setting;
    if (!equals || key_length == 0) {
        issues_add(issues, &d.made, "a setting is key=value, for example discretization.degree=4");
        goto done;
    }
    if (setting[0] == '.' || equals[-1] == '.' || strstr(d.path, "..")) {
        issues_add(issues, &d.made, "the key has an empty part; write key.key=value");
        goto done;
    }
    if (!tree->root) goto done;
    int before = issues->count;
    TRY(parse(tree, equals + 1, strlen(equals + 1), d.path, issues, &value));
    if (issues->count > before) goto done;

    TRY(tree_alloc(tree, key_length + 1, &steps));
    memcpy(steps, setting, key_length);
    for (char *step = steps, *end; step; step = end ? end + 1 : NULL) {
        int ok;
        end = strchr(step, '.');
        if (end) *end = '\0';
        TRY(descend(&d, step, &ok));
        if (!ok) {
            if ((*d.slot)->setting == d.path) (*d.slot)->bad = 1;
            goto done;
        }
        d.reached = (int)(step - steps + (ptrdiff_t)strlen(step));
    }
    if (!value) {
        TRY(tree_alloc(tree, sizeof *value, &value));
        *value = d.made;
    }
    *d.slot = value;
done:
    return status;
}
