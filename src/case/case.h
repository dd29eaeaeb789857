/* The case file: YAML with a closed vocabulary, read into one struct.
 *
 * case_read() parses with libyaml (events carry line and column), checks every key and value against the
 * schema table of schema.h, and reports all errors of the file at once, one per line, as PATH:LINE:COLUMN:
 * message. `--set key=value` overrides are applied to the parsed tree before the check (their place is "--set
 * key"); list items are addressed by number.
 *
 * Texts that are expressions keep their place, so that an error found later (when it is compiled) can name
 * it.
 */
#ifndef FACET_CASE_CASE_H
#define FACET_CASE_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "expr/expr.h"
#include "problem/physics.h"

struct case_place {
    int line, column;    /* from 1; 0: from --set or a default */
    const char *setting; /* the key of --set, or NULL */
};
/* A number or an expression, kept as text; text NULL: absent. */
struct case_text {
    const char *text;
    struct case_place place;
};

/* The components of a vector, or one scalar. n 0: absent. */
struct case_vector {
    int n;
    struct case_text texts[3]; /* text NULL: null, the component is given elsewhere */
    struct case_place place;
};

enum case_condition {
    CASE_DIRICHLET,
    CASE_NEUMANN,
    CASE_ROBIN,
    CASE_TOTAL_FLUX,
    CASE_MECHANICAL,
    CASE_GRADIENT_PRESSURE
};

enum { CASE_FIXED = 1, CASE_ROLLER };
struct case_boundary {
    const char *on; /* part name or "rest" */
    int item;       /* of the file, which may name several parts */
    enum case_condition condition;
    struct case_text g, a; /* a: robin only. g may be the text "exact" */
    /* Elasticity: of a mechanical condition one or both of the first two. One text, "exact": all components.
     */
    struct case_vector displacement, traction, gradient_pressure;
    int symmetry;              /* true, and nothing else */
    uint8_t held[3];           /* components that are zero, and by which key; 0: not held */
    struct case_text pressure; /* text NULL: none */
    struct case_vector force;  /* n 0: none */
    int n_spring;              /* 0: none; 1: k; 2: along the normal, and across it; 4, 9: a matrix by rows */
    struct case_text spring[9];
    int n_parts; /* of the item, which stand one after the other */
    struct case_place place, on_place;
};
struct case_material { /* on one group, on == NULL: everywhere */
    const char *on;
    const char *which;         /* "mu,lambda" or "E,nu" */
    struct case_text value[2]; /* the two, in this order */
    int n_constants, n_axes;   /* > 0: orthotropic instead, as in facet_problem_set_orthotropic */
    struct case_text constants[9], axes[6];
    struct case_place place, on_place;
};
struct case_region_value { /* conductivity on one group, on == NULL: everywhere */
    const char *on;
    int n; /* 1 or dim*dim */
    struct case_text value[9];
    struct case_place place, on_place;
};
struct case_interface {
    const char *between[2];
    struct case_text conductance;
    struct case_place place, places[2]; /* of the names */
};
struct case_share { /* source or reaction of one group, on == NULL: everywhere */
    const char *on;
    struct case_vector value;
    struct case_place place, on_place;
};
struct case_shares {
    int n;
    struct case_share *items;
};
enum case_take { CASE_MAX, CASE_MIN, CASE_INTEGRAL, CASE_MEAN, CASE_AT, CASE_ALONG }; /* the first as words */
struct case_value {
    const char *name;
    const char *field;     /* a word of the schema; flux, traction: on a part */
    int component, column; /* 0..2, or -1: all; column: of a tensor, else -1 */
    enum case_take take;
    int n_on;        /* parts or groups, taken together; 0: the whole domain */
    const char **on; /* their names */
    struct case_place *on_places;
    int n_points;
    double from[3], to[3]; /* at: from */
    int n_coordinates;     /* at, along: the fewest that a point was given with */
    const char *file;      /* along: a CSV */
    struct case_place place;
};
struct tree_chunk;
struct case_file {
    struct tree_chunk *memory; /* of all texts and lists below: that of the tree they were read from; of the
                                  cases of a chain the first has it */
    struct case_file *next;    /* of a chain; NULL: the last, or the only one */
    int number, is_chain;      /* in the chain, from 0 */
    const char *name;          /* NULL: none */
    const char *path, *directory; /* of the case file; mesh.file is relative to the directory */
    const char *title;
    int n_parameters;
    struct expr_parameter *parameters;
    const char *unused; /* "'a', 'b'": parameters that no expression of the file uses; NULL: none. Of a chain
                           the first has them */
    int n_settings;     /* what --set gave, in its order */
    struct case_setting {
        const char *key, *value;
    } * settings;

    struct {
        int is_box;
        facet_box box;
        const char *path; /* of its file, from the current directory */
        int apart;        /* what $Periodic of the file joins is left apart */
        int refine;
        double scale;
        int known; /* nothing is wrong with what is said about it */
        struct case_place place;
    } mesh;

    facet_equation equation;
    int n_conductivity;
    struct case_region_value *conductivity;
    int n_material;
    struct case_material *material;
    struct case_shares reaction, source; /* one component for diffusion, dim for elasticity */
    struct case_vector exact;
    struct {
        struct case_shares expansion; /* n 0: no heat */
        struct case_text temperature, reference;
        int from;          /* the number of the case whose field is the temperature; -1: the text is */
        const char *field; /* of that case */
        struct case_place place;
    } thermal;
    struct case_jump {
        int n; /* 0: none; dim, or dim * dim */
        struct case_text value[9];
        struct case_place place;
    } jump;
    int n_interfaces;
    struct case_interface *interfaces;
    int n_boundary;
    struct case_boundary *boundary;
    struct case_place boundary_place, regions_place; /* of the lists; of conductivity or material */

    struct options options; /* discretization, solver and plane */
    struct case_text tau;   /* its text, or NULL */
    struct {
        const char *file; /* NULL: none */
        int n_fields;
        const char **fields;
        int order; /* 0: chosen */
        int pieces;
    } output;
    int n_values;
    struct case_value *values;
};

/* settings: n_settings texts "key=value". team: those who read the same, of whom the first opens the file. */
facet_status case_read(const char *path, struct base_team *team, int n_settings, const char *const *settings,
                       struct case_file **file);
/* The same, but where the mesh is known, FACET_ERROR_INPUT too comes with a file, in which all that was
 * refused is absent (zero, NULL): to be compared with the mesh, and for nothing else. */
facet_status case_read_partly(const char *path, struct base_team *team, int n_settings,
                              const char *const *settings, struct case_file **file);
/* The same with the file in memory; path: for messages and for what is relative to the file. */
facet_status case_read_bytes(const char *path, const char *bytes, size_t n_bytes, int n_settings,
                             const char *const *settings, struct case_file **file);
void case_destroy(struct case_file **file);

#endif
