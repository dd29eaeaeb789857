/* What an operator does not see, or hardly: functions W whose coefficients rounding would decide about.
 * Functionals C say how much of W is in u, and the equations for these coefficients border the system,
 *
 *     [K  C] [u]   [F]
 *     [C' 0] [a] = [s],        G = C'W.
 *
 * K W is zero, or known from the data alone, and so both are eliminated, a before the solve and W after it:
 *
 *     F -= C G^-1 W'F      what K cannot balance is taken off the loads;
 *     u += W G^-1 (s - C'u)      u gets as much of W as is wanted.
 *
 *     where                                W                 C                         s
 *     K is singular, in every step of      the kernel of K   its dual                  0
 *     a method (this file)
 *     nothing holds a field or a body      1, or the rigid   W, weighed by the         of the exact solution,
 *     (hdg/hdg_null_space.h)               motions           volume                    or 0
 *     little holds a piece of the mesh     1 on the piece    K W: the reaction and a   the integral of the
 *     (hdg/weak_constants.c), or a box                       of Robin, weighed by the  data that enter, W'F
 *     (problem/box_constant.c)                               volume and the faces
 *     electrodes take a total              solutions psi     K psi                     the totals and psi'F, so
 *     (problem/electrodes.c)               of 1 on them                                that s - C'u = Q - Q(u)
 */
#ifndef FACET_SOLVE_NULL_SPACE_H
#define FACET_SOLVE_NULL_SPACE_H

#include "device/device.h"

/* One function, the kernel of a symmetric operator or nearly so. */
struct null_space {
    struct vector function, dual; /* their product is 1; a dual without numbers: it is the function */
};
static inline int null_space_is_empty(const struct null_space *null_space) {
    return null_space->function.n == 0;
}
void null_space_destroy(struct null_space *null_space); /* safe on a zeroed struct, and twice */
/* x without its part in the null space: unknowns become orthogonal to the dual, residuals to the function.
 * null_space: NULL means that there is none. */
enum solve_space { SOLVE_UNKNOWNS, SOLVE_RESIDUALS };
void null_space_remove(const struct null_space *null_space, enum solve_space space, struct vector *x);
/* That of an error (solve_control.forget), data being a null space. */
facet_status null_space_forget(void *null_space, struct vector *error);
/* Whether what enters a problem that nothing holds balances: `left` is its sum, `scale` that of the moduli.
 * What quadrature leaves is left. */
int null_space_balances(double left, double scale);
/* The same with a sentence: nothing holds the constant. */
facet_status null_space_check_constant(double left, double scale);

#endif
