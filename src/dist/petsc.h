/* PETSc as this library uses it: begun by whoever comes first, asked by options with the prefix facet_, its
 * errors as ours, and below our levels (dist_coarse) the one that solves.
 *
 * The last level of a multigrid over a team is a matrix of PETSc. It is solved by one cycle of BoomerAMG
 * (hypre), or, where it is small, by a factor on one rank; a level that has few unknowns for many ranks goes to
 * as many of them as it deserves (PCTELESCOPE). All of it can be had otherwise: the solver of the last level is
 * a KSP with the prefix facet_coarse_ (on a telescope: facet_coarse_telescope_), which reads the options of
 * dist_petsc_options, the environment PETSC_OPTIONS and the command line, if PETSc was given one.
 */
#ifndef FACET_DIST_PETSC_H
#define FACET_DIST_PETSC_H

#include <petscksp.h>

#include "dist/comm.h"
#include "solve/coarse.h"

/* Initializes PETSc, unless somebody did; all processes of MPI_COMM_WORLD call it together. MPI is there. */
facet_status dist_petsc_begin(void);
/* Finalizes it, if it was initialized here. Before MPI_Finalize, by all. */
void dist_petsc_end(void);
/* More options, as on a command line. A text that PETSc does not understand is FACET_ERROR_INPUT. */
facet_status dist_petsc_options(const char *text);
/* What PETSc returned, as a status. */
facet_status dist_petsc_check(PetscErrorCode code, const char *call);
#define PETSC(call) TRY(dist_petsc_check(call, #call))
/* A number of an unknown as PETSc counts. */
facet_status dist_petsc_number(int64_t number, PetscInt *to);

extern const struct coarse_elsewhere dist_coarse;

#endif
