/* Several processes that work on one problem, each with a part of it.
 *
 * The rooms of the library know no MPI: where numbers of all parts must come together, they ask the team of
 * their context or mesh. A team that is NULL is one process by itself, and all calls below then do nothing
 * and succeed. src/dist makes teams over MPI.
 *
 * All calls but those that look at rank and size are collective: every process of the team makes the same
 * calls in the same order, from one thread. They fail when another process has failed, so that nobody waits
 * for one that does not come: whoever fails returns its status as usual, up to the end of the public call (or
 * of the program's command around many), where team_leave makes the status and the message the same on all.
 * That is the only place: between enter and leave nobody settles anything. Before a library that waits by
 * itself is entered, team_agree makes sure that all enter it. */
#ifndef FACET_BASE_TEAM_H
#define FACET_BASE_TEAM_H

#include <stdint.h>

#include "base/status.h"

enum team_reduction { TEAM_SUM, TEAM_MIN, TEAM_MAX };

/* What goes to another process, and what comes from it: as many bytes each way as were agreed upon. */
struct team_message {
    int rank;
    const void *send;
    int64_t send_bytes;
    void *receive;
    int64_t receive_bytes;
};

/* A file that all write. */
struct team_file {
    const char *name; /* for messages */
    const char *path; /* where it is: rank 0 has made it */
    int64_t n_bytes;  /* that it will have */
    int is_reserved;  /* the system has promised the room for them */
};

struct base_team;
struct team_calls {
    facet_status (*reduce)(struct base_team *team, enum team_reduction reduction, int n, double *values);
    facet_status (*reduce_counts)(struct base_team *team, enum team_reduction reduction, int n,
                                  int64_t *values);
    facet_status (*broadcast)(struct base_team *team, int root, void *bytes, int64_t n_bytes);
    facet_status (*gather)(struct base_team *team, int n, const int64_t *values, int64_t *all);
    facet_status (*exchange_begin)(struct base_team *team, int n, const struct team_message *messages,
                                   void **pending);
    facet_status (*exchange_end)(struct base_team *team, void **pending);
    facet_status (*all_to_all)(struct base_team *team, const void *send, const int64_t *send_offsets,
                               char **received, int64_t *received_offsets);
    facet_status (*first)(struct base_team *team, int n, struct base_team **first);
    facet_status (*file_open)(struct base_team *team, const struct team_file *which, void **file);
    facet_status (*file_write)(struct base_team *team, void *file, int64_t at, const void *bytes,
                               int64_t n_bytes);
    facet_status (*file_close)(struct base_team *team, void **file);
    void (*remember)(struct base_team *team, facet_status status);
    facet_status (*agree)(struct base_team *team);
    facet_status (*settle)(struct base_team *team, facet_status status);
};
/* What went out so far, for those who count: from this process, and together with all. */
struct team_traffic {
    int64_t messages, bytes, reductions;
};
struct base_team {
    int rank, size;
    struct team_traffic traffic;
    int reaches_devices;     /* messages of exchanges may lie in the memory of a device */
    int depth;               /* calls that have entered and not left */
    struct base_team *outer; /* whose first ranks this has, or NULL */
    const struct team_calls *calls;
};

static inline int team_size(const struct base_team *team) {
    return team != NULL ? team->size : 1;
}
static inline int team_rank(const struct base_team *team) {
    return team != NULL ? team->rank : 0;
}

/* values[i] over all processes, the same bits on all of them and from run to run. */
static inline facet_status team_reduce(struct base_team *team, enum team_reduction reduction, int n,
                                       double *values) {
    if (team == NULL) return FACET_OK;
    team->traffic.reductions++;
    return team->calls->reduce(team, reduction, n, values);
}
static inline facet_status team_reduce_counts(struct base_team *team, enum team_reduction reduction, int n,
                                              int64_t *values) {
    if (team == NULL) return FACET_OK;
    team->traffic.reductions++;
    return team->calls->reduce_counts(team, reduction, n, values);
}
/* The bytes of process `root` to all. */
static inline facet_status team_broadcast(struct base_team *team, int root, void *bytes, int64_t n_bytes) {
    return team != NULL ? team->calls->broadcast(team, root, bytes, n_bytes) : FACET_OK;
}
/* all (size x n): the values of all processes. For a team. */
static inline facet_status team_gather(struct base_team *team, int n, const int64_t *values, int64_t *all) {
    return team->calls->gather(team, n, values, all);
}
/* Messages to n other processes, each at most once, and from the same; between begin and end the buffers are
 * not touched. *pending must be NULL before, is NULL afterwards, and whoever began must end it unless begin
 * failed. For a team. */
static inline facet_status team_exchange_begin(struct base_team *team, int n,
                                               const struct team_message *messages, void **pending) {
    team->traffic.messages += n;
    for (int i = 0; i < n; i++) team->traffic.bytes += messages[i].send_bytes;
    return team->calls->exchange_begin(team, n, messages, pending);
}
static inline facet_status team_exchange_end(struct base_team *team, void **pending) {
    return team->calls->exchange_end(team, pending);
}
/* Bytes send_offsets[r] .. send_offsets[r + 1] - 1 of `send` go to rank r; *received (freed by base_free)
 * holds what the ranks sent here, one after the other; received_offsets (size + 1) says where. For a team. */
static inline facet_status team_all_to_all(struct base_team *team, const void *send,
                                           const int64_t *send_offsets, char **received,
                                           int64_t *received_offsets) {
    return team->calls->all_to_all(team, send, send_offsets, received, received_offsets);
}
/* The team of ranks 0 to n - 1, which is the team itself where it has no more; *first = NULL on the others.
 * It lives as long as this one. For a team. */
static inline facet_status team_first(struct base_team *team, int n, struct base_team **first) {
    return team->calls->first(team, n, first);
}
/* A file that is there, written by all: each writes its bytes (none, or less than 2^31) at its place. All
 * processes make as many calls, also after one of them failed: what waits here cannot be woken. Between
 * file_open, which fails on all if one process does not see the file of rank 0, and file_close nothing else
 * of the team is called. The strings of `which` stay the caller's until then. For a team. */
static inline facet_status team_file_open(struct base_team *team, const struct team_file *which,
                                          void **file) {
    return team->calls->file_open(team, which, file);
}
static inline facet_status team_file_write(struct base_team *team, void *file, int64_t at, const void *bytes,
                                           int64_t n_bytes) {
    return team->calls->file_write(team, file, at, bytes, n_bytes);
}
static inline facet_status team_file_close(struct base_team *team, void **file) {
    return team->calls->file_close(team, file);
}
/* FACET_OK on all processes, or a failure on all (which is then on its way up to team_leave): whoever has one
 * returns it, and the others hear of it. */
static inline facet_status team_agree(struct base_team *team, facet_status status) {
    return team != NULL && status == FACET_OK ? team->calls->agree(team) : status;
}

/* For code that cannot return its failure (the product of an operator): remembers it with its message, and
 * from now on all calls of the team fail at once, so that what goes on comes to its end. Calls of the team
 * that fail do it themselves. Returns the status. */
static inline facet_status team_fail(struct base_team *team, facet_status status) {
    if (team != NULL && status != FACET_OK) team->calls->remember(team, status);
    return status;
}

/* The end of the outermost call gives all processes FACET_OK when all have that; else the status and the
 * message ("rank 3: ...") of the lowest one that failed by itself. It wakes those who wait for one that
 * failed. */
static inline void team_enter(struct base_team *team) {
    if (team != NULL) team->depth++;
}
static inline facet_status team_leave(struct base_team *team, facet_status status) {
    if (team == NULL) return status;
    team->depth--;
    for (const struct base_team *t = team; t != NULL; t = t->outer)
        if (t->depth > 0) return status;
    return team->calls->settle(team, status);
}

#endif
