/* First guesses from the solutions before, for right-hand sides that follow each other: implicit steps, say.
 *
 * Of x_1, x_2, .. with y_i = A x_i the combination with the least |b - sum c_i y_i| is taken (Fischer,
 * Comput. Methods Appl. Mech. Engrg. 163, 1998, in the norm of residuals instead of that of A): where the
 * right-hand side has nothing to do with those before it is nearly zero, and never worse than zero. The y_i
 * are kept orthonormal, the newest first, and what older ones have beside the newer ones is dropped when
 * there is no room for more. */
#ifndef FACET_SOLVE_HISTORY_H
#define FACET_SOLVE_HISTORY_H

#include "solve/solve.h"

enum { SOLVE_HISTORY = 3 }; /* solutions; each takes two vectors */
struct solve_history {
    int n;
    struct vector x[SOLVE_HISTORY], y[SOLVE_HISTORY];
    double rounding[SOLVE_HISTORY]; /* |y - A x| of y of length 1, about */
};
void solve_history_destroy(struct solve_history *history); /* safe on a zeroed struct, and twice */
/* x becomes the guess; x stays where there is no history. */
void solve_history_guess(const struct solve_history *history, const struct vector *b, struct vector *x);
/* One more. Of another A than before everything else is forgotten first: that is the caller's to know
 * (solve_history_destroy). */
facet_status solve_history_add(struct solve_history *history, const struct linear_operator *A,
                               const struct vector *x);

#endif
