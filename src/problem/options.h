/* The one table of options: every key that takes words, its words as enums, and the sentences that refuse a
 * word where it has no place. facet.h's strings and those of a case become a struct options at the door
 * (options_read, and the reader of case/), and nobody compares words after it. The schema, its help and its
 * suggestions take their words from here.
 *
 * To add a word: into its list below, in the order of the enum that it becomes, if there is one; then what
 * refuses it in options.c. To add a key: a list, a line in OPTION_KEYS, a member of facet_options, and a row
 * in case/schema.c. */
#ifndef FACET_PROBLEM_OPTIONS_H
#define FACET_PROBLEM_OPTIONS_H

#include "device/device.h"

/* The first word of a list is what is taken when none is given. */
#define DISCRETIZATION_WORDS(W)                                                                              \
    W(DISCRETIZATION_HDG, "hdg")                                                                             \
    W(DISCRETIZATION_CONDENSED, "condensed") W(DISCRETIZATION_CONTINUOUS, "continuous")
#define OPERATOR_WORDS(W)    W(OPERATOR_AUTO, "auto") W(OPERATOR_MAPPED, "mapped") W(OPERATOR_TENSOR, "tensor")
#define FORMULATION_WORDS(W) W(FORMULATION_SYMMETRIC, "symmetric") W(FORMULATION_GRADIENT, "gradient")
#define PLANE_WORDS(W)       W(PLANE_STRAIN, "strain") W(PLANE_STRESS, "stress")
#define METHOD_WORDS(W)                                                                                      \
    W(METHOD_AUTO, "auto")                                                                                   \
    W(METHOD_CG, "cg")                                                                                       \
    W(METHOD_FGMRES, "fgmres") W(METHOD_MULTIGRID, "multigrid") W(METHOD_DIRECT, "direct")
#define PRECONDITIONER_WORDS(W)                                                                              \
    W(PRECONDITIONER_AUTO, "auto")                                                                           \
    W(PRECONDITIONER_NONE, "none")                                                                           \
    W(PRECONDITIONER_JACOBI, "jacobi")                                                                       \
    W(PRECONDITIONER_BLOCK, "block")                                                                         \
    W(PRECONDITIONER_AMG, "amg")                                                                             \
    W(PRECONDITIONER_PMG, "pmg")                                                                             \
    W(PRECONDITIONER_ADDITIVE, "additive")                                                                   \
    W(PRECONDITIONER_CHEBYSHEV, "chebyshev")                                                                 \
    W(PRECONDITIONER_GMG, "gmg") W(PRECONDITIONER_PATCHES, "patches")
#define CYCLE_WORDS(W)                                                                                       \
    W(CYCLE_AUTO, "auto") W(CYCLE_V, "V") W(CYCLE_W, "W") W(CYCLE_F, "F") W(CYCLE_FULL, "full")
#define SMOOTHER_WORDS(W)                                                                                    \
    W(SMOOTHER_AUTO, "auto")                                                                                 \
    W(SMOOTHER_FACES, "faces")                                                                               \
    W(SMOOTHER_ROWS, "rows")                                                                                 \
    W(SMOOTHER_CELLS, "cells")                                                                               \
    W(SMOOTHER_VERTICES, "vertices")                                                                         \
    W(SMOOTHER_FSAI, "fsai")                                                                                 \
    W(SMOOTHER_SWEEP_CELLS, "sweep-cells")                                                                   \
    W(SMOOTHER_SWEEP_VERTICES, "sweep-vertices")                                                             \
    W(SMOOTHER_PATCHES, "patches")                                                                           \
    W(SMOOTHER_ADDITIVE, "additive")                                                                         \
    W(SMOOTHER_POINT, "point") W(SMOOTHER_JACOBI, "jacobi") W(SMOOTHER_CHEBYSHEV, "chebyshev")
#define PRECISION_WORDS(W) W(PRECISION_AUTO, "auto") W(PRECISION_DOUBLE, "double") W(PRECISION_MIXED, "mixed")
#define COARSE_DEVICE_WORDS(W)                                                                               \
    W(COARSE_SAME, "same")                                                                                   \
    W(COARSE_REF, "ref") W(COARSE_CPU, "cpu") W(COARSE_DEBUG, "debug") W(COARSE_CUDA, "cuda")
#define DEGREES_WORDS(W)                                                                                     \
    W(DEGREES_AUTO, "auto")                                                                                  \
    W(DEGREES_ARITHMETIC, "arithmetic")                                                                      \
    W(DEGREES_EVEN, "even") W(DEGREES_GEOMETRIC, "geometric") W(DEGREES_STRAIGHT, "straight")

/* Key, its name and member of struct options, member of facet_options, path in a case. */
#define OPTION_KEYS(K)                                                                                       \
    K(DISCRETIZATION, discretization, discretization, "discretization.method")                               \
    K(OPERATOR, operator, operator_name, "discretization.operator")                                          \
    K(FORMULATION, formulation, formulation, "discretization.formulation")                                   \
    K(PLANE, plane, plane, "plane")                                                                          \
    K(METHOD, method, method, "solver.method")                                                               \
    K(PRECONDITIONER, preconditioner, preconditioner, "solver.preconditioner")                               \
    K(CYCLE, cycle, cycle, "solver.cycle")                                                                   \
    K(SMOOTHER, smoother, smoother, "solver.smoother")                                                       \
    K(PRECISION, precision, precision, "solver.precision")                                                   \
    K(COARSE_DEVICE, coarse_device, coarse_device, "solver.coarse_device")                                   \
    K(DEGREES, degrees, degrees, "solver.degrees")

#define OPTION_ENUMERATOR(name, word)         name,
#define OPTION_KEY(key, member, api, path)    OPTION_##key,
#define OPTION_MEMBER(key, member, api, path) int member;
enum option_discretization { DISCRETIZATION_WORDS(OPTION_ENUMERATOR) };
enum option_operator { OPERATOR_WORDS(OPTION_ENUMERATOR) };
enum option_formulation { FORMULATION_WORDS(OPTION_ENUMERATOR) };
enum option_plane { PLANE_WORDS(OPTION_ENUMERATOR) };
enum option_method { METHOD_WORDS(OPTION_ENUMERATOR) };
enum option_preconditioner { PRECONDITIONER_WORDS(OPTION_ENUMERATOR) };
enum option_cycle { CYCLE_WORDS(OPTION_ENUMERATOR) };
enum option_smoother { SMOOTHER_WORDS(OPTION_ENUMERATOR) };
enum option_precision { PRECISION_WORDS(OPTION_ENUMERATOR) };
enum option_coarse_device { COARSE_DEVICE_WORDS(OPTION_ENUMERATOR) };
enum option_degrees { DEGREES_WORDS(OPTION_ENUMERATOR) };
/* Behind the keys with words: numbers that belong to some of these, and are given or not. */
enum option_key {
    OPTION_KEYS(OPTION_KEY) OPTION_N_KEYS,
    OPTION_SMOOTHER_DEGREE = OPTION_N_KEYS,
    OPTION_COARSE_UNKNOWNS,
    OPTION_FILL,
    OPTION_HIGH_DEGREE /* above PROBLEM_MAX_DEGREE */
};

/* The words of all keys, each list ending with a NULL; where a key stands in a case. */
#define OPTION_MAX_WORDS 16
extern const char *const option_words[OPTION_N_KEYS][OPTION_MAX_WORDS];
extern const char *const option_paths[OPTION_N_KEYS];

struct options {
    union {
        struct {
            OPTION_KEYS(OPTION_MEMBER)
        };
        int words[OPTION_N_KEYS]; /* by enum option_key */
    };
    int has_formulation, has_plane; /* somebody gave them */
    /* As in facet_options. */
    int degree, postprocess, smoother_degree, warm_start, watch, max_iterations;
    int64_t coarse_unknowns;
    const char
        *tau; /* the caller's, who keeps it until the solver is there; then it is none of the options */
    double tau_hat, fill, rtol;
};

/* The door of facet.h: refuses words that are none, and keeps nothing of `given` (NULL: the defaults) but
 * tau. */
facet_status options_read(const facet_options *given, struct options *options);
/* The number of a word among those of a key, -1: it is none. */
int options_find(enum option_key key, const char *word);
/* What became of a word of the key at `path` that is no longer one, to be said behind the valid ones; "" of
 * all others. */
const char *options_left(const char *path, const char *word);

/* Where a solver stands, as far as words have to do with it. */
enum options_place {
    AT_DIFFUSION = 1 << 0,
    AT_ELASTICITY = 1 << 1,
    AT_TRACE = 1 << 2, /* hdg and condensed */
    AT_CONTINUOUS = 1 << 3,
    /* Known when the backend is: */
    AT_BRICK = 1 << 4,   /* that of continuous elements */
    AT_TENSOR = 1 << 5,  /* that of HDG on boxes */
    AT_MAPPED = 1 << 6,  /* that of mapped cells */
    AT_VARYING = 1 << 7, /* on a box: coefficients are not the same in all cells */
    AT_NONSYMMETRIC = 1 << 8,
    AT_NO_ROWS = 1 << 9 /* geometric multigrid has no rows to solve along */
};
/* The place of these words in an equation. */
unsigned options_place(const struct options *options, facet_equation equation);
/* The key of the first word that does not belong to the place or beside another, and the sentence that says
 * so; -1: there is none. */
#define OPTIONS_SENTENCE_BYTES 256
int options_refuse(const struct options *options, unsigned place, char sentence[OPTIONS_SENTENCE_BYTES]);
/* The same as a status, with all numbers looked at. */
facet_status options_check(const struct options *options, facet_equation equation);

/* The first thing that only mapped cells (AT_MAPPED) or boxes (AT_TENSOR) have, and what to do without it;
 * "": nothing of the kind is wanted. */
struct options_need {
    char what[48];
    const char *instead;
};
struct options_need options_need(const struct options *options, unsigned place);

#endif
