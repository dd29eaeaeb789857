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

/* clang-format off */
/* The first word of a list is what is taken when none is given. */
#define DISCRETIZATION_WORDS(X, K)                                                                           \
    X(K, HDG, "hdg") X(K, CONDENSED, "condensed") X(K, CONTINUOUS, "continuous")
#define OPERATOR_WORDS(X, K)       X(K, AUTO, "auto") X(K, MAPPED, "mapped") X(K, TENSOR, "tensor")
#define FORMULATION_WORDS(X, K)    X(K, SYMMETRIC, "symmetric") X(K, GRADIENT, "gradient")
#define PLANE_WORDS(X, K)                                                                           \
    X(K, STRAIN, "strain") X(K, STRESS, "stress") X(K, AXISYMMETRIC, "axisymmetric")
#define METHOD_WORDS(X, K)                                                                                   \
    X(K, AUTO, "auto") X(K, CG, "cg") X(K, FGMRES, "fgmres") X(K, MULTIGRID, "multigrid")                    \
    X(K, DIRECT, "direct") X(K, PETSC, "petsc")
#define PRECONDITIONER_WORDS(X, K)                                                                           \
    X(K, AUTO, "auto") X(K, NONE, "none") X(K, JACOBI, "jacobi") X(K, BLOCK, "block") X(K, AMG, "amg")       \
    X(K, PMG, "pmg") X(K, ADDITIVE, "additive") X(K, CHEBYSHEV, "chebyshev") X(K, GMG, "gmg")                \
    X(K, PATCHES, "patches")
#define CYCLE_WORDS(X, K)                                                                                    \
    X(K, AUTO, "auto") X(K, V, "V") X(K, W, "W") X(K, F, "F") X(K, FULL, "full")
#define SMOOTHER_WORDS(X, K)                                                                                 \
    X(K, AUTO, "auto") X(K, FACES, "faces") X(K, ROWS, "rows") X(K, FSAI, "fsai") X(K, PATCHES, "patches")   \
    X(K, ADDITIVE, "additive") X(K, CHEBYSHEV, "chebyshev")
#define PRECISION_WORDS(X, K)      X(K, AUTO, "auto") X(K, DOUBLE, "double") X(K, MIXED, "mixed")
#define COARSE_DEVICE_WORDS(X, K)                                                                            \
    X(K, SAME, "same") X(K, REF, "ref") X(K, CPU, "cpu") X(K, DEBUG, "debug") X(K, CUDA, "cuda")
#define DEGREES_WORDS(X, K)                                                                                  \
    X(K, AUTO, "auto") X(K, ARITHMETIC, "arithmetic") X(K, EVEN, "even") X(K, GEOMETRIC, "geometric")        \
    X(K, STRAIGHT, "straight")
#define OVERLAP_WORDS(X, K)        X(K, REFUSE, "refuse") X(K, ALLOW, "allow")

/* Key, its member of struct options, member of facet_options, path in a case, how to speak of it. */
#define OPTION_KEYS(K)                                                                                       \
    K(DISCRETIZATION, discretization, discretization, "discretization.method", "a discretization")           \
    K(OPERATOR, operator_kind, operator_name, "discretization.operator", "an operator")                           \
    K(FORMULATION, formulation, formulation, "discretization.formulation", "a formulation")                  \
    K(PLANE, plane, plane, "plane", "plane")                                                                 \
    K(METHOD, method, method, "solver.method", "a method")                                                   \
    K(PRECONDITIONER, preconditioner, preconditioner, "solver.preconditioner", "a preconditioner")           \
    K(CYCLE, cycle, cycle, "solver.cycle", "a cycle")                                                        \
    K(SMOOTHER, smoother, smoother, "solver.smoother", "a smoother")                                         \
    K(PRECISION, precision, precision, "solver.precision", "a precision")                                    \
    K(COARSE_DEVICE, coarse_device, coarse_device, "solver.coarse_device", "a coarse_device")                \
    K(DEGREES, degrees, degrees, "solver.degrees", "a sequence of degrees")                                  \
    K(OVERLAP, overlap, overlap, "mesh.overlap", "overlap")

/* enum option_method { METHOD_AUTO, METHOD_CG, ... }; and so on. */
#define OPTION_ENUMERATOR(key, name, word)            key##_##name,
#define OPTION_ENUM(key, member, api, path, phrase)                                                          \
    enum option_##member { key##_WORDS(OPTION_ENUMERATOR, key) };
#define OPTION_KEY(key, member, api, path, phrase)    OPTION_##key,
#define OPTION_MEMBER(key, member, api, path, phrase) int member;
/* clang-format on */
OPTION_KEYS(OPTION_ENUM)
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
/* The last part of its path; of the keys behind those with words as well. */
const char *option_name(enum option_key key);

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
    const char *tau, *petsc; /* the caller's, who keeps them until the solver is there; then they are none of
                                the options */
    double tau_hat, fill, rtol, error;
};
/* Where an error is asked for and no rtol: the residual that is tried first. It falls as the estimate
 * demands. */
void options_follow_error(struct options *options, int has_rtol);

/* The door of facet.h: refuses words that are none, and keeps nothing of `given` (NULL: the defaults) but
 * tau. */
facet_status options_read(const facet_options *given, struct options *options);
/* The way back; o, which has its defaults, keeps a pointer to the text of tau. */
void options_write(const struct options *options, facet_options *o);
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
    AT_NO_ROWS = 1 << 9, /* geometric multigrid has no rows to solve along */
    AT_TURNED = 1 << 10, /* the unknowns of some faces are turned */
    AT_AXIS = 1 << 11,   /* some faces lie on an axis, without unknowns */
    AT_ALONE = 1 << 12   /* the context is not over MPI */
};
/* The place of these words in an equation, whose bit is 1 << facet_equation. */
unsigned options_place(const struct options *options, facet_equation equation);
/* The key of the first word that does not belong to the place or beside another, and the sentence that says
 * so; -1: there is none. */
#define OPTIONS_SENTENCE_BYTES 256
int options_refuse(const struct options *options, unsigned place, char sentence[OPTIONS_SENTENCE_BYTES]);
/* The same as a status; and before the backend is known, with all numbers looked at. */
facet_status options_check_place(const struct options *options, unsigned place);
facet_status options_check(const struct options *options, facet_equation equation);

/* The first thing that only mapped cells (AT_MAPPED) or boxes (AT_TENSOR) have, and what to do without it;
 * "": nothing of the kind is wanted. */
struct options_need {
    char what[48], instead[48];
};
struct options_need options_need(const struct options *options, unsigned place);

#endif
