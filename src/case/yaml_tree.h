/* YAML as a small tree of nodes that know their place, with `--set key=value` overrides applied to it.
 *
 * The language is a plain part of YAML: one document of maps with scalar keys, lists and scalars. Anchors,
 * aliases and tags are refused, nesting is limited (so that recursion over a tree is safe), and every scalar
 * is text: what it means is the business of the schema. All nodes of a tree live until tree_free().
 */
#ifndef FACET_CASE_YAML_TREE_H
#define FACET_CASE_YAML_TREE_H

#include <stddef.h>

#include "case/issues.h"

#define TREE_MAX_DEPTH 64

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree_node {
    enum tree_kind kind;
    int line, column;    /* from 1; 0: from a setting */
    const char *setting; /* the key of the setting it came from, or NULL */
    int quoted;          /* scalar: not a plain one */
    int bad;             /* an issue was reported for this node as a whole: say no more about it */
    int used;            /* the name of a parameter: an expression has it */
    const char *text;    /* scalar: NUL-terminated, without NULs inside */
    int n, capacity;
    struct tree_node **items; /* list and map: n values */
    struct tree_node **keys;  /* map: n scalars */
};
struct tree_chunk;
struct tree {
    struct tree_node *root; /* NULL when the text could not be parsed */
    struct tree_chunk *chunks;
};

/* Parses a whole file into tree->root. What is wrong with it goes to `issues`; a failure is one of memory. */
facet_status tree_parse(struct tree *tree, const char *bytes, size_t n, struct issues *issues);
/* Applies "key=value" to a parsed tree: keys are joined by dots, items of lists are numbers from 0, the value
 * is YAML. Missing keys are made. */
facet_status tree_set(struct tree *tree, const char *setting, struct issues *issues);
void tree_free(struct tree *tree);

/* The value of a key of a map, or NULL (also when `map` is NULL or no map). */
struct tree_node *tree_find(const struct tree_node *map, const char *key);
/* Room that lives as long as the tree, all bytes zero. */
facet_status tree_alloc(struct tree *tree, size_t bytes, void *pointer);
/* A copy of n bytes of a text there. */
facet_status tree_copy(struct tree *tree, const char *text, size_t n, const char **copy);

#endif
