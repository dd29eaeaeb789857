/* Which method solves the system, with which preconditioner: rows of tables, the first one that applies being
 * taken, and the sentence that says why. The tables of mapped cells stand in choice.c, those of boxes in
 * box_method.c and boxsem_backend.c. What `auto` cannot know before matrices are there (whether a factor is cheaper,
 * whether rows of quads matter) is asked of these. */
#ifndef FACET_PROBLEM_CHOICE_H
#define FACET_PROBLEM_CHOICE_H

#include "problem/mapped_backend.h"

/* Products with the matrix that a whole iterative solve is expected to take. */
#define CHOICE_PRODUCTS 120.0

enum choice_factor { CHOICE_NO_FACTOR, CHOICE_CHEAP_FACTOR /* where it is cheaper */, CHOICE_FACTOR };
struct choice {
    int method, preconditioner; /* enum option_method, option_preconditioner; where there is no factor */
    enum choice_factor factor;
    const char *why[3]; /* the factor, the method, the preconditioner */
    double products;    /* of an iterative solve */
};
/* The first row all of whose facts hold, and none of the others: its choice. */
struct choice_row {
    unsigned all, none;
    int choice;
    const char *why;
};
#define CHOICE_ASKED     (-1) /* the word of the options */
#define CHOICE_ASKED_FOR "asked for"
static inline unsigned choice_fact(int holds, unsigned fact) {
    return holds ? fact : 0;
}
int choice_take(const struct choice_row *row, unsigned facts, int asked, const char **why);

/* Refuses the words of the options that have no place on mapped cells, before anything is computed. */
facet_status solver_check_method(const struct facet_solver *s);
/* With matrices; refuses what is not distributed yet. */
facet_status choice_make(const struct facet_solver *s, struct choice *choice);
/* Without matrices: `auto` as if the coefficient were easy. */
void choice_foresee(const struct facet_solver *s, struct choice *choice);

/* "cg (why) with pmg (why)", and what may take its place. */
void choice_say(const struct choice *choice, char *text, size_t bytes);

/* Constants are in the kernel of K, or as good as that: for preconditioners. */
static inline int choice_is_singular(const struct facet_solver *s) {
    const struct hdg *h = mapped_of(s)->hdg;
    return h->singular || h->weak.nearly_singular;
}
/* Rows of faces on an axis are empty, and cannot be scaled into few bits. That such faces hold vertices of
 * coarse levels at zero hardly counts: in space a line has no capacity. */
static inline int choice_has_axis(const struct facet_solver *s) {
    return s->resolved.data.plane == HDG_AXISYMMETRIC;
}
/* Faces whose unknowns are turned are none for p- and geometric multigrid. */
static inline int choice_has_turns(const struct facet_solver *s) {
    return s->resolved.is_turned;
}
int choice_locks(const struct hdg_data *data);      /* continuous linear functions lock in some material */
int choice_may_order(const struct facet_solver *s); /* to order the matrix takes no longer than to solve */
int choice_wants_gmg_smoother(const struct options *o); /* one that p-multigrid does not have */
int choice_wants_gmg(const struct options *o);          /* something that geometric multigrid alone has */
int choice_is_tuned(const struct options *o);           /* a word about levels and cycles was given */

#endif
