/* What the programs of tests/mpi share: each runs under mpiexec on any number of ranks, ends with status 0
 * when all is well, and takes all ranks down with a message when it is not. */
#ifndef FACET_TESTS_MPI_HELPERS_H
#define FACET_TESTS_MPI_HELPERS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dist/comm.h"

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (condition) break;                                                                                \
        int check_rank;                                                                                      \
        MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                                                          \
        fprintf(stderr, "%s:%d: rank %d: %s: ", __FILE__, __LINE__, check_rank, #condition);                 \
        fprintf(stderr, __VA_ARGS__);                                                                        \
        fprintf(stderr, "\n");                                                                               \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                                        \
    } while (0)
#define OK(call) CHECK((call) == FACET_OK, "%s", facet_message())

/* An alarm after so many seconds of a machine that has nothing else to do: as often longer as there is more
 * to run than it has cores. */
static inline void mpi_alarm(unsigned seconds) {
    double load = 0.0;
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) == 1 && load > cores) seconds = (unsigned)(seconds * load / cores) + 1;
    alarm(seconds);
}

/* Whoever waits for ever is ended by the alarm: that is a failed test. */
static inline struct dist_comm *mpi_begin(int *argc, char ***argv, unsigned seconds) {
    struct dist_comm *comm = NULL;
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    mpi_alarm(seconds);
    OK(dist_comm_create(MPI_COMM_WORLD, &comm));
    return comm;
}

static inline int mpi_end(struct dist_comm **comm) {
    dist_comm_destroy(comm);
    MPI_Finalize();
    return 0;
}

#endif
