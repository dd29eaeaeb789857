/* A team of ranks: the communicator, and how one rank's failure becomes that of all.
 *
 * A rank that fails (memory, a file, bad input in its part) does not come to where the others wait for it.
 * Therefore nobody waits blindly: every wait of this library goes through dist_wait, which looks for notices
 * of failure while it waits. A function that communicates returns a facet_status as all others do; the rank
 * on which something went wrong simply returns its status. At the end of a phase (at the latest at the end of
 * a public call) all ranks call dist_settle with what they have:
 *
 *     status = work(comm);                      some fail by themselves, some because of a notice, some not
 *     status = dist_settle(comm, status);       all have the same status, and the message of one of them
 *
 * dist_settle sends the notices: a rank that comes there with a failure wakes those that still wait. After a
 * failure messages may be left over that nobody received; dist_settle then replaces the communicators, so
 * that the next call begins afresh. A library that waits by itself (PETSc) is entered only after dist_agree,
 * and then all ranks enter it.
 *
 * Calls are made by one thread of a rank, the same on all ranks in the same order. */
#ifndef FACET_DIST_COMM_H
#define FACET_DIST_COMM_H

#include <mpi.h>
#include <stdint.h>

#include "base/status.h"

/* Tags of our messages; each use has its own, and the order of two messages between the same ranks under the
 * same tag is that of sending. */
enum dist_tag { DIST_TAG_NOTICE = 1, DIST_TAG_PART, DIST_TAG_EXCHANGE, DIST_TAG_VERTICES, DIST_TAG_OUTPUT };

struct dist_comm {
    MPI_Comm user;    /* as given: never used for messages of ours, only duplicated */
    MPI_Comm data;    /* ours: all messages and reductions */
    MPI_Comm control; /* ours: notices and dist_settle */
    int rank, size;
    int failed; /* on some rank, since the last dist_settle */
};

/* Collective over `user`, which stays the caller's and must outlive it. */
facet_status dist_comm_create(MPI_Comm user, struct dist_comm **comm);
/* Collective; comm->user stays. */
void dist_comm_destroy(struct dist_comm **comm);
/* The ranks with `in` nonzero as a team of their own, in the same order; *part = NULL on the others.
 * Collective. */
facet_status dist_comm_split(struct dist_comm *comm, int in, struct dist_comm **part);

/* Waits for n requests of comm->data; those that are MPI_REQUEST_NULL are done. Fails when another rank has
 * failed, or on an interrupt: the requests are then cancelled as far as MPI can, and their buffers may be
 * freed. */
facet_status dist_wait(struct dist_comm *comm, int n, MPI_Request *requests);

/* In place over all ranks: the same bits everywhere, and from run to run. Collective. */
facet_status dist_sum(struct dist_comm *comm, int n, double *values);
facet_status dist_sum_counts(struct dist_comm *comm, int n, int64_t *values);
facet_status dist_min(struct dist_comm *comm, int n, double *values);
facet_status dist_max(struct dist_comm *comm, int n, double *values);
/* values[0..n-1] of rank `root` to all. */
facet_status dist_broadcast(struct dist_comm *comm, int root, void *bytes, int64_t n_bytes);
/* The sum of the values of the ranks before this one. */
facet_status dist_offset(struct dist_comm *comm, int64_t value, int64_t *before);
/* all: size x n */
facet_status dist_gather(struct dist_comm *comm, int n, const int64_t *values, int64_t *all);
/* counts[r] bytes at offsets[r] of `send` go to rank r; *received (to be freed by base_free) holds what the
 * ranks sent here, one after the other, received_offsets[size + 1] says where. */
facet_status dist_all_to_all(struct dist_comm *comm, const void *send, const int64_t *send_offsets,
                             void *received, int64_t *received_offsets);

/* The same on all ranks: FACET_OK when all have that, else the status and message ("rank 3: ...") of the
 * lowest rank that failed first-hand. Collective, also after failures: see above. */
facet_status dist_settle(struct dist_comm *comm, facet_status status);
/* dist_settle in the middle of a phase: before a library is entered that waits by itself. */
static inline facet_status dist_agree(struct dist_comm *comm, facet_status status) {
    return dist_settle(comm, status);
}

#endif
