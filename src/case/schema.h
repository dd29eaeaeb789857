/* The vocabulary of the case file as one table: key, type, default, values, one line of help. It drives the
 * reader's checks, `facet solve --help`, and docs/input.md (written by `facet help --markdown`, compared by a
 * test).
 *
 * To add a key: add a row to the table in schema.c (unknown keys, types, ranges, words, defaults and
 * documentation follow), and read its value in read.c. What only makes sense between keys is checked there
 * too.
 */
#ifndef FACET_CASE_SCHEMA_H
#define FACET_CASE_SCHEMA_H

#include "base/file.h"
#include "case/yaml_tree.h"

/* What a value may be. A key may accept several of these: the kind of the YAML node (scalar, list, map) then
 * decides; a list is a LIST when its first item is a map, otherwise the other kind of list. */
enum schema_type {
    /* scalars */
    SCHEMA_TEXT = 1 << 0,
    SCHEMA_WORD = 1 << 1, /* one of `words` */
    SCHEMA_BOOLEAN = 1 << 2,
    SCHEMA_INTEGER = 1 << 3,
    SCHEMA_NUMBER = 1 << 4,
    SCHEMA_EXPRESSION = 1 << 5, /* the bounds apply when it is constant */
    /* lists; `least` and `most` bound their length, 0 for none */
    SCHEMA_WORDS = 1 << 6,
    SCHEMA_INTEGERS = 1 << 7,
    SCHEMA_NUMBERS = 1 << 8,
    SCHEMA_POINTS = 1 << 9,  /* lists of 2 or 3 numbers */
    SCHEMA_MATRIX = 1 << 10, /* square, of expressions */
    SCHEMA_VECTOR = 1 << 11, /* of expressions, one for each coordinate */
    SCHEMA_LIST = 1 << 12,   /* of maps, whose keys are the rows "path[].key" and "path.key" */
    /* maps */
    SCHEMA_MAP = 1 << 13,   /* its keys are the rows "path.key" */
    SCHEMA_NAMES = 1 << 14, /* any names, with numbers */
    /* one more list */
    SCHEMA_TEXTS = 1 << 15, /* of names */
    SCHEMA_CASES = 1 << 16, /* of maps with the keys of a case */
    SCHEMA_LAST = SCHEMA_CASES
};
#define SCHEMA_SCALARS                                                                                       \
    (SCHEMA_TEXT | SCHEMA_WORD | SCHEMA_BOOLEAN | SCHEMA_INTEGER | SCHEMA_NUMBER | SCHEMA_EXPRESSION)
#define SCHEMA_LISTS                                                                                         \
    (SCHEMA_WORDS | SCHEMA_INTEGERS | SCHEMA_NUMBERS | SCHEMA_POINTS | SCHEMA_MATRIX | SCHEMA_VECTOR |       \
     SCHEMA_LIST | SCHEMA_TEXTS | SCHEMA_CASES)
#define SCHEMA_MAPS (SCHEMA_MAP | SCHEMA_NAMES)

enum schema_flag {
    SCHEMA_REQUIRED = 1 << 0,
    SCHEMA_FROM = 1 << 1,  /* value >= min */
    SCHEMA_ABOVE = 1 << 2, /* value > min */
    SCHEMA_TO = 1 << 3,    /* value <= max */
    SCHEMA_BELOW = 1 << 4, /* value < max */
    SCHEMA_NULL = 1 << 5   /* components of a vector may be null */
};

struct schema_entry {
    const char *path; /* "mesh.box.cells"; "boundary[].on": of every item of a list */
    unsigned types, flags;
    double min, max;
    int least, most;
    const char *const *words; /* NULL-terminated */
    const char *fallback;     /* the default, as it would be written; NULL: none */
    const char *help;
};

/* The rows, in the order of the documentation. */
int schema_n_entries(void);
const struct schema_entry *schema_row(int i);
/* The row of a path; NULL for none. */
const struct schema_entry *schema_find(const char *path);
/* True when the row is a key of the map at `parent` ("": the whole file; "boundary[]": an item of boundary).
 */
int schema_is_child(const struct schema_entry *entry, const char *parent);
/* The last part of the path: the key itself. */
const char *schema_key(const struct schema_entry *entry);
/* The number of a word among those of the row, -1: it is none. */
int schema_word(const struct schema_entry *entry, const char *word);
/* "an integer from 1 to 16": what would be right, of these types. */
void schema_phrase(const struct schema_entry *entry, unsigned types, char *text, int text_bytes);
/* True when the number satisfies the bounds of the row. */
int schema_in_bounds(const struct schema_entry *entry, double value);

/* The whole table as text for a terminal, or as Markdown. */
void schema_describe(int markdown, struct text *out);

/* The keys that the cases of a chain share; the others belong to one of them. */
#define SCHEMA_IS_SHARED(key) (strcmp(key, "mesh") == 0 || strcmp(key, "parameters") == 0)
/* Checks a tree against the table: unknown, missing and duplicate keys, types, ranges, words, lengths. Nodes
 * that are wrong as a whole are marked bad. */
facet_status schema_check(struct tree *tree, struct issues *issues);
/* A number in any usual notation (1, .5, 1e-10, 1.0e-10); false for anything else, including what is not
 * finite. */
int schema_parse_number(const char *text, double *value);
/* True for the word null (or ~), which stands for a component that is given elsewhere. */
int schema_is_null(const struct tree_node *node);
/* The names that occur twice among n scalars, each reported at its second place as `duplicate WHAT "name"`.
 * NULLs are passed over. */
facet_status schema_check_duplicates(struct tree *tree, struct issues *issues, int n,
                                     const struct tree_node *const *names, const char *what);

#endif
