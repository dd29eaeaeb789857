/* What a room above solves for a team of processes (base/team.h): the last level of a multigrid, or the whole
 * system. src/dist has it from PETSc; contexts of a team carry it. */
#ifndef FACET_SOLVE_EXTERNAL_H
#define FACET_SOLVE_EXTERNAL_H

#include "solve/coarse.h"

struct solve_external {
    /* Options of the user, as a text. */
    facet_status (*options)(const char *text);
    /* The options that nobody has asked for so far, separated by commas; 0: there are none. */
    int (*unused)(char *text, size_t bytes);
    /* The solve on a last level. It takes the parts of a right-hand side, whose sum it is, and gives every
     * process the solution of all its unknowns. */
    facet_status (*create_coarse)(const struct device *device, const struct coarse_matrix *matrix,
                                  struct linear_operator *M);
    /* The inverse of A up to rtol, or as the options say. matrix: the numbers of its unknowns, and the parts
     * of A; A stays the caller's. M: a preconditioner of ours, taken over (emptied), also on failure; without
     * one (empty) the matrix is there, with which the room makes its own. */
    facet_status (*create_inverse)(const struct linear_operator *A, struct linear_operator *M,
                                   const struct coarse_matrix *matrix, double rtol, int max_iterations,
                                   struct linear_operator *inverse);
    int (*iterations)(const struct linear_operator *inverse); /* so far */
    /* Why the last of them ended, for a solution that is not good enough. It and the next text live as long
     * as the inverse. */
    const char *(*ending)(const struct linear_operator *inverse);
    /* The preconditioner of its own that it took; NULL: ours. */
    const char *(*preconditioner)(const struct linear_operator *inverse);
    /* The same inverse to a few digits, which does not count its iterations. It must not outlive it. */
    facet_status (*create_rough)(const struct linear_operator *inverse, struct linear_operator *rough);
};

#endif
