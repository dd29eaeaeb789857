/* Runs command lines of `facet-mpi` on all ranks: the program runs one, tests/dist/serve.c as many as it is
 * asked for. */
#ifndef FACET_APP_MPI_LAUNCH_H
#define FACET_APP_MPI_LAUNCH_H

/* Starts MPI and makes the team of all ranks; arguments are those of main(). Returns a facet_status. */
int launch_begin(int *argc, char ***argv);
/* The exit status of a command line, the same on all ranks. */
int launch_run(int argc, char **argv);
void launch_end(void);

#endif
