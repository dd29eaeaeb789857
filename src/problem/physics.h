/* The equations of facet.h as users speak of them: names, keys, conditions, and by which of their words an
 * entry of hdg/equation.h is chosen. A new equation has a line here, and its way into the problem (problem.c,
 * elastic.c) and out of a case (case/read_*.c). */
#ifndef FACET_PROBLEM_PHYSICS_H
#define FACET_PROBLEM_PHYSICS_H

#include "hdg/equation.h"
#include "problem/options.h"

#define PHYSICS_MOST_KEYS 12
struct problem;
struct problem_resolved;
struct text;
struct physics {
    facet_equation equation;
    const char *name;
    /* The words of this key choose among the entries, in their order; NULL behind the last. */
    enum option_key chosen_by;
    const struct equation *entries[OPTION_MAX_WORDS];
    const char *coefficient;              /* what every region has */
    int needs_coefficient;                /* and must be given, else 1 is taken */
    const char *keys[PHYSICS_MOST_KEYS];  /* of a case, that no other equation has; NULL behind the last */
    const char *parts[PHYSICS_MOST_KEYS]; /* its conditions: keys of boundary[] */
    enum hdg_kind essential;              /* u is given: keys[0] of the conditions */
    const char *through;                  /* what a part of the boundary has an integral of */
    const char *through_phrase, *inside;  /* how one speaks of it, and what to take inside the domain */
    const char *through_formula, *through_verb;
    const char *example; /* of an exact solution */
    /* The data beyond names, once those are right; errors: a line for each thing that is wrong. */
    facet_status (*resolve)(const struct problem *problem, const struct options *options,
                            struct problem_resolved *resolved, struct text *errors);
};

/* NULL: there is no such equation; the number of those there are. */
const struct physics *physics_of(facet_equation equation);
extern const int physics_count;
/* The entry that the options choose (NULL: the first). */
const struct equation *physics_entry(const struct physics *physics, const struct options *options);
static inline int physics_components(const struct physics *physics, int dim) {
    return equation_components(physics->entries[0], dim);
}
/* Whether a key of a case belongs to the equation, or to all. */
int physics_has_key(const struct physics *physics, const char *key);
/* Whose field this is: of `own`, if it has it; NULL: of all of them, or of none. */
const struct physics *physics_of_field(const struct physics *own, const char *name);
/* Of a field that the chosen entry does not have: the word that chooses one which has it; and what there is
 * instead, as "; condensed has u and q". */
const char *physics_elsewhere(const struct physics *physics, const struct options *options,
                              enum hdg_field field, char *instead, size_t instead_bytes);

#endif
