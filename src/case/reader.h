/* Between the files that turn a checked tree into a struct case_file; nobody else's business.
 *
 * Values that the schema check refused are marked bad and taken as absent here, without another word.
 * Functions return a status only for failures of the machine; what is wrong with the case goes to the issues.
 */
#ifndef FACET_CASE_READER_H
#define FACET_CASE_READER_H

#include "case/case.h"
#include "case/schema.h"

struct reader {
    struct tree *tree;
    struct issues *issues;
    struct case_file *file;
    int dim;                       /* of the box; 0: not known (a mesh file, or a wrong box) */
    int shape;                     /* of its cells, by the words of the schema */
    int alternates;                /* its cubes are cut into five */
    const struct case_file *first; /* of the chain; NULL: this one is */
};

struct case_place reader_place(const struct tree_node *node);
/* The value of a key of a map, NULL when absent or bad. `row` is a path of the schema; its last part is the
 * key. */
const struct tree_node *reader_get(const struct tree_node *map, const char *row);
/* The same as a value, or the default of the row. */
int reader_integer(const struct tree_node *map, const char *row);
double reader_number(const struct tree_node *map, const char *row);
int reader_boolean(const struct tree_node *map, const char *row);
/* The text, the default, or NULL. */
const char *reader_text(const struct tree_node *map, const char *row);
/* The names of the box's sides that carry conditions: "xmin", ...; their number, 0 for a mesh file. */
int reader_sides(const struct reader *r, const char *sides[6]);
/* How many names an `on` has (1 without one), and each of them; NULL: there is none. */
int reader_n_names(const struct tree_node *on);
const struct tree_node *reader_name(const struct tree_node *on, int i);
/* The names of all items of a list, at the row "key[].on": their number. */
int reader_count_names(const struct tree_node *list, const char *row);
/* Reports a name that is no side of the box. Says nothing about a mesh file's groups. */
void reader_check_side(struct reader *r, const struct tree_node *node, const char *name, int allow_rest);

/* read_data.c: parameters, coefficients, boundary conditions and tau. An expression is compiled while its
 * place is known; if it is constant, its value must exist and lie within the bounds of `row` (NULL: none). */
struct reader_constant {
    int is_constant;
    double value;
};
facet_status reader_copy_expression(struct reader *r, const struct tree_node *node, const char *row,
                                    const char *name, struct case_text *out,
                                    struct reader_constant *constant);
facet_status reader_read_parameters(struct reader *r);
/* When all cases are read: a parameter that no expression uses is refused where --set has made its name up,
 * and else listed in the file, for a note. */
facet_status reader_check_parameters(struct reader *r);
facet_status reader_read_data(struct reader *r);
facet_status reader_read_boundary(struct reader *r);
facet_status reader_read_tau(struct reader *r, const struct tree_node *discretization);
/* read_elastic.c: which equation the case means, also when the key is wrong; keys of the other one. */
facet_equation reader_find_equation(const struct reader *r);
void reader_check_equation(struct reader *r);
/* Reports conditions of a part that belong to another equation; their number. name: of the part. */
int reader_refuse_parts(struct reader *r, const struct tree_node *item, const char *name);
facet_status reader_read_material(struct reader *r);
/* A value with as many components as the equation has unknowns, if the key is there. name: of the map that
 * holds it ("": the file). Boundary data may be the word exact, as a whole or by components. */
facet_status reader_read_vector(struct reader *r, const struct tree_node *map, const char *row,
                                const char *name, int boundary, struct case_vector *out);
/* Boundary data that are the word exact are taken as such; else it returns 0. name: of the key, for messages.
 */
int reader_take_exact(struct reader *r, const struct tree_node *node, const char *name,
                      struct case_text *out);
/* read_data.c: n x n expressions (row: without bounds), symmetric as far as that can be seen; and whether
 * numbers are positive definite, or semidefinite with slack > 0, relative to the largest. */
facet_status reader_read_matrix(struct reader *r, const struct tree_node *node, const char *name,
                                double slack, const char *what, struct case_text *entries);
/* The condition of an item of `boundary` in elasticity. */
facet_status reader_read_mechanical(struct reader *r, const struct tree_node *item, const char *name,
                                    struct case_boundary *boundary);
/* read_results.c: output and values. */
facet_status reader_read_output(struct reader *r);
facet_status reader_read_values(struct reader *r);

#endif
