/* PETSc as this library uses it: begun by whoever comes first, asked by options with the prefix facet_, its
 * errors as ours.
 *
 * The last level of a multigrid over a team is a matrix of PETSc. It is solved by one cycle of BoomerAMG
 * (hypre), or, where it is small, by a factor on one rank; a level that has few unknowns for many ranks goes
 * to as many of them as it deserves (PCTELESCOPE). All of it can be had otherwise: the solver of the last
 * level is a KSP with the prefix facet_coarse_ (on a telescope: facet_coarse_telescope_), which reads the
 * options of dist_petsc_options, the environment PETSC_OPTIONS and the command line, if PETSc was given one.
 *
 * The other way round (method: petsc) our product is a MatShell, and our preconditioner a PCShell, of a KSP
 * with the prefix facet_; without one of ours the assembled matrix is there for any PC: conjugate gradients
 * with BoomerAMG, unless the options say something else. For BDDC the matrix is one of type `is`.
 */
#ifndef FACET_DIST_PETSC_H
#define FACET_DIST_PETSC_H

#include <petscksp.h>

#include "dist/comm.h"
#include "solve/external.h"

/* Initializes PETSc over comm, unless somebody did; then MPI_Finalize finalizes it. Collective. */
facet_status dist_petsc_begin(MPI_Comm comm);
/* More options, as on a command line; to those that do not begin with -facet_ that is added. A text that
 * PETSc does not understand is FACET_ERROR_INPUT. */
facet_status dist_petsc_options(const char *text);
/* Options with our prefix that nobody has asked for. */
int dist_petsc_unused(char *text, size_t bytes);
/* What PETSc returned, as a status. */
facet_status dist_petsc_check(PetscErrorCode code, const char *call);
#define PETSC(call) TRY(dist_petsc_check(call, #call))
/* A number of an unknown as PETSc counts. */
facet_status dist_petsc_number(int64_t number, PetscInt *to);

/* petsc_last_level.c, inverse.c: the members of struct solve_external. */
facet_status dist_create_coarse(const struct device *device, const struct coarse_matrix *matrix,
                                struct linear_operator *M);
facet_status dist_create_inverse(const struct linear_operator *A, struct linear_operator *M,
                                 const struct coarse_matrix *matrix, double rtol, int max_iterations,
                                 struct linear_operator *inverse);
int dist_inverse_iterations(const struct linear_operator *inverse);
const char *dist_inverse_ending(const struct linear_operator *inverse);
const char *dist_inverse_preconditioner(const struct linear_operator *inverse);
facet_status dist_create_rough(const struct linear_operator *inverse, struct linear_operator *rough);
extern const struct solve_external dist_external;

/* A vector of all ranks, that of this one with the unknowns of others that it has, and the way between them.
 */
struct dist_vectors {
    int64_t n;
    Vec all, here;
    VecScatter scatter;
};
facet_status dist_vectors_create(MPI_Comm comm, const struct coarse_matrix *matrix,
                                 struct dist_vectors *vectors);
void dist_vectors_destroy(struct dist_vectors *vectors); /* safe on a zeroed struct, and twice */
/* all = the sum of the parts of all ranks; x = what `all` has here. */
facet_status dist_vectors_add(const struct dist_vectors *vectors, const double *part, Vec all);
facet_status dist_vectors_get(const struct dist_vectors *vectors, Vec all, double *x);

/* Options with the prefix of a solver that are set here unless the user has set them, and taken out again. */
struct dist_defaults {
    int n;
    char keys[12][96];
};
facet_status dist_set_default(struct dist_defaults *defaults, const char *prefix, const char *name,
                              const char *value);
void dist_clear_defaults(struct dist_defaults *defaults);

/* As many unknowns at every node of all ranks: their number; else 1. */
facet_status dist_find_block_size(const struct coarse_matrix *matrix, PetscInt *size);
/* What is smooth in a matrix: its modes, made orthonormal one after the other. like: a vector of all ranks.
 */
facet_status dist_set_near_null_space(const struct coarse_matrix *matrix, Vec like, Mat A);

#endif
