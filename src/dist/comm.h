/* A team (base/team.h) over MPI: the communicators, and how one rank's failure becomes that of all.
 *
 * A rank that fails (memory, a file, bad input in its part) does not come to where the others wait for it.
 * Therefore nobody waits blindly: every wait goes through dist_wait, which looks for notices of failure while
 * it waits. The rank on which something went wrong simply returns its status. At the end of a phase (at the
 * latest at the end of a public call) all ranks settle with what they have:
 *
 *     status = work(team);                      some fail by themselves, some because of a notice, some not
 *     status = team_settle(team, status);       all have the same status, and the message of one of them
 *
 * team_settle sends the notices: a rank that comes there with a failure wakes those that still wait. After a
 * failure messages may be left over that nobody received; the communicators are then replaced, so that the
 * next call begins afresh. A library that waits by itself (PETSc) is entered only after team_settle, so that
 * all ranks enter it. */
#ifndef FACET_DIST_COMM_H
#define FACET_DIST_COMM_H

#include <mpi.h>
#include <stdint.h>

#include "base/team.h"

enum dist_tag { DIST_TAG_NOTICE = 1, DIST_TAG_EXCHANGE, DIST_TAG_PART, DIST_TAG_SPARSE };

struct dist_comm {
    struct base_team team; /* first, so that a team of ours is a dist_comm */
    MPI_Comm user;         /* as given: never used for messages of ours, only duplicated */
    MPI_Comm data;         /* ours: all messages and reductions */
    MPI_Comm control;      /* ours: notices and settling */
};
static inline struct dist_comm *dist_comm_of(struct base_team *team) {
    return (struct dist_comm *)team;
}

/* Collective over `user`, which stays the caller's and must outlive it. */
facet_status dist_comm_create(MPI_Comm user, struct dist_comm **comm);
/* Collective. */
void dist_comm_destroy(struct dist_comm **comm);
/* The ranks with `in` nonzero as a team of their own, in the same order; *part = NULL on the others.
 * Collective. */
facet_status dist_comm_split(struct dist_comm *comm, int in, struct dist_comm **part);

/* Waits for n requests of comm->data; those that are MPI_REQUEST_NULL are done. Fails when another rank has
 * failed, or on an interrupt: the requests are then cancelled as far as MPI can, and their buffers must stay
 * until team_settle was called. */
facet_status dist_wait(struct dist_comm *comm, int n, MPI_Request *requests);
/* What an MPI call returned, as a status. */
facet_status dist_check(int mpi_result, const char *call);

/* The sum of the values of the ranks before this one. Collective. */
facet_status dist_offset(struct dist_comm *comm, int64_t value, int64_t *before);
/* Bytes send_offsets[r] .. send_offsets[r + 1] - 1 of `send` go to rank r; *received (freed by base_free)
 * holds what the ranks sent here, one after the other; received_offsets (size + 1) says where. */
facet_status dist_all_to_all(struct dist_comm *comm, const void *send, const int64_t *send_offsets,
                             char **received, int64_t *received_offsets);

#endif
