/* A team (base/team.h) over MPI: the communicators, and how one rank's failure becomes that of all.
 *
 * A rank that fails (memory, a file, bad input in its part) does not come to where the others wait for it.
 * Therefore nobody waits blindly: every wait goes through dist_wait, which looks for notices of failure while
 * it waits. The rank on which something went wrong simply returns its status. At the end of a public call
 * all ranks settle with what they have:
 *
 *     team_enter(team);
 *     status = work(team);                      some fail by themselves, some because of a notice, some not
 *     status = team_leave(team, status);        all have the same status, and the message of one of them
 *
 * team_leave sends the notices: a rank that comes there with a failure wakes those that still wait. After a
 * failure messages may be left over that nobody received; the communicators are then replaced, so that the
 * next call begins afresh. A library that waits by itself (PETSc, MPI-IO) is entered only after team_agree,
 * so that all ranks enter it. */
#ifndef FACET_DIST_COMM_H
#define FACET_DIST_COMM_H

#include <mpi.h>
#include <stdint.h>

#include "base/team.h"

struct pending;

enum dist_tag { DIST_TAG_NOTICE = 1, DIST_TAG_TREE, DIST_TAG_EXCHANGE };

struct dist_comm {
    struct base_team team; /* first, so that a team of ours is a dist_comm */
    MPI_Comm user;         /* as given: never used for messages of ours, only duplicated */
    MPI_Comm data;         /* ours: all messages and reductions */
    MPI_Comm control;      /* ours: notices and settling */
    MPI_Request *notices;  /* those that this rank sends; size */
    int is_agreeing;       /* interrupts are not looked at */
    facet_status failed;   /* what went wrong here in a call of the team, since the last settling, */
    char failure[BASE_MESSAGE_BYTES]; /* and its message */
    int heard;                        /* that another rank failed, since the last settling */
    struct pending *idle;             /* room for exchanges, to be used again */
    int n_first; /* teams of its first ranks that were asked for; owned, NULL where this is not in */
    int *first_sizes;
    struct dist_comm **first;
};
static inline struct dist_comm *dist_comm_of(struct base_team *team) {
    return (struct dist_comm *)team;
}

/* Collective over `user`, which stays the caller's and must outlive it. */
facet_status dist_comm_create(MPI_Comm user, struct dist_comm **comm);
/* Collective. */
void dist_comm_destroy(struct dist_comm **comm);
/* A context of the team, which stays the caller's. */
facet_status dist_context_create(struct dist_comm *comm, const char *device, facet_context **context);
/* Waits for n requests of comm->data; those that are MPI_REQUEST_NULL are done. Fails when another rank has
 * failed, or on an interrupt: receives are then cancelled, and their buffers free. is_send: flags. */
facet_status dist_wait(struct dist_comm *comm, int n, MPI_Request *requests, const uint8_t *is_send);
/* What an MPI call returned, as a status. */
facet_status dist_check(int mpi_result, const char *call);

#endif
