/* Teams over MPI. Reductions and broadcasts are sent by hand, in log2(size) rounds, so that every wait is one
 * that can be given up; a receive that is given up is cancelled, and nothing writes into memory afterwards.
 * Begin reading at dist_wait and settle. */
#include "dist/comm.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "dist/team_file.h"

/* Looks for what is rare (notices, interrupts) once in so many looks for what is waited for. */
#define RARE 64
/* So many looks are about 0.1 ms: who waits longer waits for someone that has no core. */
#define PATIENT 1024

facet_status dist_check(int mpi_result, const char *call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (mpi_result == MPI_SUCCESS) return FACET_OK;
    MPI_Error_string(mpi_result, text, &length);
    return base_fail(FACET_ERROR_MACHINE, "%s failed: %s", call, text);
}

/* ------------------------------------------------------------------------------------------ waiting */

static facet_status other_failed(void) {
    return base_fail(FACET_ERROR_MACHINE, "another rank failed");
}

static void remember(struct base_team *team, facet_status status) {
    struct dist_comm *comm = dist_comm_of(team);
    if (comm->heard || comm->failed != FACET_OK) return;
    comm->failed = status;
    snprintf(comm->failure, sizeof comm->failure, "%s", base_message());
}

/* What a call of the team begins with: nothing is done any more after a failure. */
static facet_status check(struct dist_comm *comm) {
    if (comm->heard) return other_failed();
    return comm->failed != FACET_OK ? base_fail(comm->failed, "%s", comm->failure) : FACET_OK;
}

static struct dist_comm *outer_of(struct dist_comm *comm) {
    return comm->team.outer != NULL ? dist_comm_of(comm->team.outer) : NULL;
}

/* A notice stays where it is until settle receives it; it may have been sent to a larger team. */
static facet_status look(struct dist_comm *comm, int interrupts) {
    for (struct dist_comm *c = comm; c != NULL; c = outer_of(c)) {
        int found = 0;
        facet_status status = dist_check(
            MPI_Iprobe(MPI_ANY_SOURCE, DIST_TAG_NOTICE, c->control, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
        if (status != FACET_OK) return status;
        if (found) {
            for (struct dist_comm *inner = comm; inner != c; inner = outer_of(inner)) inner->heard = 1;
            c->heard = 1;
        }
    }
    if (comm->heard) return other_failed();
    return interrupts ? base_look() : FACET_OK;
}

/* Receives end when they are cancelled; what was sent and is not received is left to MPI, since nobody is
 * going to ask for it. */
static void give_up(int n, MPI_Request *requests, const uint8_t *is_send) {
    for (int i = 0; i < n; i++) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        if (is_send[i]) {
            MPI_Request_free(&requests[i]);
        } else {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
}

facet_status dist_wait(struct dist_comm *comm, int n, MPI_Request *requests, const uint8_t *is_send) {
    facet_status status = FACET_OK;
    int done = 0;
    status = check(comm);
    for (unsigned tries = 1; status == FACET_OK && !done; tries++) {
        status = dist_check(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
        if (status != FACET_OK || done || tries % RARE != 0) continue;
        status = look(comm, !comm->is_agreeing);
        if (tries >= PATIENT) sched_yield(); /* what is waited for may want this core */
    }
    if (status != FACET_OK) give_up(n, requests, is_send);
    if (status != FACET_OK) remember(&comm->team, status);
    return status;
}

/* ------------------------------------------------------------------------------------------ messages */

/* Sends to one rank and receives from one rank; -1: no. */
static facet_status swap(struct dist_comm *comm, int to, const void *send, int from, void *receive,
                         int64_t n_bytes) {
    facet_status status = FACET_OK;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    static const uint8_t is_send[2] = {0, 1};
    if (n_bytes > INT32_MAX)
        FAIL(FACET_ERROR_MACHINE, "a message of %lld bytes is too long for MPI", (long long)n_bytes);
    if (from >= 0)
        TRY(dist_check(
            MPI_Irecv(receive, (int)n_bytes, MPI_BYTE, from, DIST_TAG_TREE, comm->data, &requests[0]),
            "MPI_Irecv"));
    if (to >= 0)
        status =
            dist_check(MPI_Isend(send, (int)n_bytes, MPI_BYTE, to, DIST_TAG_TREE, comm->data, &requests[1]),
                       "MPI_Isend");
    if (status != FACET_OK) {
        give_up(2, requests, is_send);
        goto done;
    }
    TRY(dist_wait(comm, 2, requests, is_send));
done:
    return status;
}

struct numbers {
    enum team_reduction reduction;
    int is_count, n;
};

static void join_doubles(enum team_reduction reduction, int n, const double *from, double *values) {
    for (int i = 0; i < n; i++) {
        if (reduction == TEAM_SUM)
            values[i] += from[i];
        else if (from[i] != from[i] || (reduction == TEAM_MIN ? from[i] < values[i] : from[i] > values[i]))
            values[i] = from[i]; /* what is not a number stays */
    }
}

static void join_counts(enum team_reduction reduction, int n, const int64_t *from, int64_t *values) {
    for (int i = 0; i < n; i++) {
        if (reduction == TEAM_SUM)
            values[i] += from[i];
        else if (reduction == TEAM_MIN ? from[i] < values[i] : from[i] > values[i])
            values[i] = from[i];
    }
}

static void join(const struct numbers *numbers, const void *from, void *values) {
    if (numbers->is_count)
        join_counts(numbers->reduction, numbers->n, from, values);
    else
        join_doubles(numbers->reduction, numbers->n, from, values);
}

/* Recursive doubling among the largest power of two of ranks; the ranks beyond it hand theirs to a partner
 * first, and get the result last. a + b and b + a are the same bits: so have all ranks. */
static facet_status reduce_by_doubling(struct dist_comm *comm, const struct numbers *numbers, void *values) {
    facet_status status = FACET_OK;
    double few[64];
    char *many = NULL;
    const int rank = comm->team.rank, size = comm->team.size;
    const int64_t n_bytes = (int64_t)numbers->n * 8;
    int core = 1;
    while (2 * core <= size) core *= 2;
    TRY(check(comm));
    if (size == 1 || numbers->n == 0) goto done;
    if (n_bytes > (int64_t)sizeof few) TRY(ALLOC(many, n_bytes));
    void *from = many != NULL ? (void *)many : (void *)few;
    if (rank >= core) {
        TRY(swap(comm, rank - core, values, -1, NULL, n_bytes));
        TRY(swap(comm, -1, NULL, rank - core, values, n_bytes));
        goto done;
    }
    if (rank + core < size) {
        TRY(swap(comm, -1, NULL, rank + core, from, n_bytes));
        join(numbers, from, values);
    }
    for (int bit = 1; bit < core; bit *= 2) {
        TRY(swap(comm, rank ^ bit, values, rank ^ bit, from, n_bytes));
        join(numbers, from, values);
    }
    if (rank + core < size) TRY(swap(comm, rank + core, values, -1, NULL, n_bytes));
done:
    base_free(&many);
    return team_fail(&comm->team, status);
}

static facet_status reduce(struct base_team *team, enum team_reduction reduction, int n, double *values) {
    const struct numbers numbers = {reduction, 0, n};
    return reduce_by_doubling(dist_comm_of(team), &numbers, values);
}

static facet_status reduce_counts(struct base_team *team, enum team_reduction reduction, int n,
                                  int64_t *values) {
    const struct numbers numbers = {reduction, 1, n};
    return reduce_by_doubling(dist_comm_of(team), &numbers, values);
}

/* Down a binomial tree, in pieces that MPI can count. */
static facet_status broadcast(struct base_team *team, int root, void *bytes, int64_t n_bytes) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team);
    const int size = team->size, place = (team->rank - root + size) % size;
    const int64_t most = 1 << 28;
    TRY(check(comm));
    for (int64_t at = 0; at < n_bytes; at += most) {
        const int64_t n = n_bytes - at < most ? n_bytes - at : most;
        int bit = 1;
        while (bit < size && !(place & bit)) bit *= 2;
        if (place != 0) TRY(swap(comm, -1, NULL, (place - bit + root) % size, (char *)bytes + at, n));
        for (bit /= 2; bit > 0; bit /= 2)
            if (place + bit < size)
                TRY(swap(comm, (place + bit + root) % size, (char *)bytes + at, -1, NULL, n));
    }
done:
    return team_fail(team, status);
}

/* Each rank passes on what it has, twice as much in each round (Bruck). */
static facet_status gather(struct base_team *team, int n, const int64_t *values, int64_t *all) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team);
    const int rank = team->rank, size = team->size;
    int64_t *turned = NULL; /* those of this rank first */
    TRY(check(comm));
    TRY(ALLOC(turned, (int64_t)size * n));
    memcpy(turned, values, (size_t)n * sizeof *values);
    for (int have = 1; have < size; have *= 2) {
        const int64_t more = have < size - have ? have : size - have;
        TRY(swap(comm, (rank - have + size) % size, turned, (rank + have) % size, turned + (int64_t)have * n,
                 more * n * (int64_t)sizeof *turned));
    }
    for (int i = 0; i < size; i++)
        memcpy(all + (int64_t)((rank + i) % size) * n, turned + (int64_t)i * n, (size_t)n * sizeof *all);
done:
    base_free(&turned);
    return team_fail(team, status);
}

/* ------------------------------------------------------------------------------------------ exchange */

struct pending {
    struct pending *next; /* among those that are not in use */
    int n, most;          /* requests */
    MPI_Request *requests;
    uint8_t *is_send;
};

static void pending_free(struct pending **pending) {
    if (*pending == NULL) return;
    base_free(&(*pending)->requests);
    base_free(&(*pending)->is_send);
    base_free(pending);
}

/* One that was used before, if it has the room: exchanges come by the thousand. */
static facet_status pending_take(struct dist_comm *comm, int most, struct pending **taken) {
    facet_status status = FACET_OK;
    struct pending *p = comm->idle;
    if (p != NULL) comm->idle = p->next;
    if (p != NULL && p->most < most) pending_free(&p);
    if (p == NULL) {
        TRY(CALLOC(p, 1));
        TRY(ALLOC(p->requests, most));
        TRY(ALLOC(p->is_send, most));
        p->most = most;
    }
    p->n = 0;
    *taken = p;
    p = NULL;
done:
    pending_free(&p);
    return status;
}

static facet_status post(struct dist_comm *comm, const struct team_message *message, int is_send,
                         struct pending *p) {
    const int64_t n = is_send ? message->send_bytes : message->receive_bytes;
    MPI_Request *request = &p->requests[p->n];
    if (n == 0) return FACET_OK;
    if (n > INT32_MAX)
        return base_fail(FACET_ERROR_MACHINE, "a message of %lld bytes is too long for MPI", (long long)n);
    facet_status status = is_send ? dist_check(MPI_Isend(message->send, (int)n, MPI_BYTE, message->rank,
                                                         DIST_TAG_EXCHANGE, comm->data, request),
                                               "MPI_Isend")
                                  : dist_check(MPI_Irecv(message->receive, (int)n, MPI_BYTE, message->rank,
                                                         DIST_TAG_EXCHANGE, comm->data, request),
                                               "MPI_Irecv");
    if (status == FACET_OK) p->is_send[p->n++] = (uint8_t)is_send;
    return status;
}

static facet_status exchange_begin(struct base_team *team, int n, const struct team_message *messages,
                                   void **pending) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team);
    struct pending *p = NULL;
    TRY(check(comm));
    TRY(pending_take(comm, 2 * n, &p));
    for (int is_send = 0; is_send < 2; is_send++)
        for (int i = 0; i < n; i++) TRY(post(comm, &messages[i], is_send, p));
    *pending = p;
    p = NULL;
done:
    if (p != NULL) give_up(p->n, p->requests, p->is_send);
    pending_free(&p);
    return team_fail(team, status);
}

static facet_status exchange_end(struct base_team *team, void **pending) {
    struct pending *p = *pending;
    struct dist_comm *comm = dist_comm_of(team);
    facet_status status = dist_wait(comm, p->n, p->requests, p->is_send);
    *pending = NULL;
    p->next = comm->idle;
    comm->idle = p;
    return status;
}

/* How much comes from whom, counted by the ranks themselves; then the messages, to whom there are any. */
static facet_status all_to_all(struct base_team *team, const void *send, const int64_t *send_offsets,
                               char **received, int64_t *received_offsets) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team);
    const int size = team->size, rank = team->rank;
    int64_t *counts = NULL, *from = NULL;
    struct team_message *messages = NULL;
    void *pending = NULL;
    int n = 0;
    *received = NULL;
    TRY(ALLOC(counts, size));
    TRY(ALLOC(from, size));
    TRY(ALLOC(messages, size));
    for (int r = 0; r < size; r++) counts[r] = send_offsets[r + 1] - send_offsets[r];
    from[rank] = counts[rank];
    for (int step = 1; step < size; step++) {
        const int to = (rank + step) % size, back = (rank - step + size) % size;
        TRY(swap(comm, to, &counts[to], back, &from[back], sizeof *from));
    }
    received_offsets[0] = 0;
    for (int r = 0; r < size; r++) received_offsets[r + 1] = received_offsets[r] + from[r];
    TRY(ALLOC(*received, received_offsets[size]));
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        messages[n++] = (struct team_message){.rank = r,
                                              .send = (const char *)send + send_offsets[r],
                                              .send_bytes = counts[r],
                                              .receive = *received + received_offsets[r],
                                              .receive_bytes = from[r]};
    }
    if (counts[rank] > 0)
        memcpy(*received + received_offsets[rank], (const char *)send + send_offsets[rank],
               (size_t)counts[rank]);
    TRY(exchange_begin(team, n, messages, &pending));
    TRY(exchange_end(team, &pending));
done:
    if (status != FACET_OK) base_free(received);
    base_free(&counts);
    base_free(&from);
    base_free(&messages);
    return team_fail(team, status);
}

/* ------------------------------------------------------------------------------------------ settling */

/* What one rank says in the end: how it failed, by itself or because it heard of another. */
enum { WELL, HEARD, FAILED };

/* Wakes all who wait for this rank. */
static facet_status send_notices(struct dist_comm *comm, MPI_Request *requests) {
    facet_status status = FACET_OK;
    for (int r = 0; r < comm->team.size; r++) {
        requests[r] = MPI_REQUEST_NULL;
        if (r != comm->team.rank)
            TRY(dist_check(MPI_Isend(NULL, 0, MPI_BYTE, r, DIST_TAG_NOTICE, comm->control, &requests[r]),
                           "MPI_Isend"));
    }
done:
    return status;
}

/* Messages of the failed call may still be under way on the old communicator, which is left alone. */
static facet_status renew(struct dist_comm *comm) {
    facet_status status = FACET_OK;
    for (int i = 0; i < comm->n_first; i++)
        if (comm->first[i] != NULL) TRY(renew(comm->first[i]));
    TRY(dist_check(MPI_Comm_dup(comm->user, &comm->data), "MPI_Comm_dup"));
    TRY(dist_check(MPI_Comm_set_errhandler(comm->data, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
    comm->heard = 0;
    comm->failed = FACET_OK;
done:
    return status;
}

/* The message of rank `root` to all; alone: it is not the failure of all. */
static facet_status spread(struct dist_comm *comm, int root, int alone, facet_status own) {
    facet_status status = FACET_OK;
    struct {
        int status;
        char text[BASE_MESSAGE_BYTES];
    } said = {.status = (int)own};
    snprintf(said.text, sizeof said.text, "%s", base_message());
    TRY(dist_check(MPI_Bcast(&said, sizeof said, MPI_BYTE, root, comm->control), "MPI_Bcast"));
    if (alone && said.status != FACET_INTERRUPTED && strncmp(said.text, "rank ", 5) != 0)
        return base_fail((facet_status)said.status, "rank %d: %s", root, said.text);
    return base_fail((facet_status)said.status, "%s", said.text);
done:
    return status;
}

/* All come here with FACET_OK, or some do not come and the others hear of it; an interrupt waits until after,
 * since it could come to one rank only. */
static facet_status agree(struct base_team *team) {
    int64_t nothing = 0;
    dist_comm_of(team)->is_agreeing = 1;
    facet_status status = reduce_counts(team, TEAM_SUM, 1, &nothing);
    dist_comm_of(team)->is_agreeing = 0;
    return status;
}

/* Nobody is missing here: those who failed come with their failure, those who waited for them were woken by
 * their notices. So this may wait blindly. */
static facet_status settle(struct base_team *team, facet_status own) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team);
    if (comm->failed != FACET_OK) own = base_fail(comm->failed, "%s", comm->failure);
    const int state = comm->heard ? HEARD : own != FACET_OK ? FAILED : WELL;
    int64_t failed[2] = {state == FAILED, state != WELL}, first = state == FAILED ? team->rank : team->size;
    if (team->size == 1) {
        comm->failed = FACET_OK;
        return own;
    }
    if (state == FAILED) TRY(send_notices(comm, comm->notices));
    TRY(dist_check(MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT64_T, MPI_SUM, comm->control),
                   "MPI_Allreduce"));
    if (failed[1] == 0) return FACET_OK;
    TRY(dist_check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, comm->control),
                   "MPI_Allreduce"));
    for (int64_t i = 0; i < failed[0] - (state == FAILED); i++)
        TRY(dist_check(
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, DIST_TAG_NOTICE, comm->control, MPI_STATUS_IGNORE),
            "MPI_Recv"));
    if (state == FAILED)
        TRY(dist_check(MPI_Waitall(team->size, comm->notices, MPI_STATUSES_IGNORE), "MPI_Waitall"));
    own = spread(comm, (int)first, failed[0] < team->size, own);
    char text[BASE_MESSAGE_BYTES];
    snprintf(text, sizeof text, "%s", base_message());
    TRY(renew(comm));
    status = base_fail(own, "%s", text);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ making */

static facet_status first_ranks(struct base_team *team, int n, struct base_team **first) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(team), *made = NULL;
    MPI_Comm own = MPI_COMM_NULL;
    *first = n >= team->size ? team : NULL;
    if (*first != NULL) return FACET_OK;
    for (int i = 0; i < comm->n_first; i++)
        if (comm->first_sizes[i] == n) {
            *first = comm->first[i] != NULL ? &comm->first[i]->team : NULL;
            return FACET_OK;
        }
    status = base_realloc(&comm->first, (size_t)(comm->n_first + 1), sizeof *comm->first);
    if (status == FACET_OK)
        status = base_realloc(&comm->first_sizes, (size_t)(comm->n_first + 1), sizeof *comm->first_sizes);
    TRY(team_agree(team, status));
    TRY(dist_check(MPI_Comm_split(comm->data, comm->team.rank < n ? 0 : MPI_UNDEFINED, comm->team.rank, &own),
                   "MPI_Comm_split"));
    if (own != MPI_COMM_NULL) status = dist_comm_create(own, &made);
    if (status == FACET_OK) {
        comm->first[comm->n_first] = made;
        comm->first_sizes[comm->n_first++] = n;
        if (made != NULL) {
            made->team.outer = team;
            made->team.reaches_devices = team->reaches_devices;
            *first = &made->team;
        }
    } else {
        MPI_Comm_free(&own);
    }
    TRY(team_agree(team, status));
done:
    return status;
}

static const struct team_calls calls = {
    .reduce = reduce,
    .reduce_counts = reduce_counts,
    .broadcast = broadcast,
    .gather = gather,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .all_to_all = all_to_all,
    .first = first_ranks,
    .file_open = dist_file_open,
    .file_write = dist_file_write,
    .file_close = dist_file_close,
    .remember = remember,
    .agree = agree,
    .settle = settle,
};

/* A rank that has no memory for its team cannot even say so: this is agreed upon by what cannot fail. */
facet_status dist_comm_create(MPI_Comm user, struct dist_comm **comm) {
    facet_status status = FACET_OK;
    int fits, all = 0, size = 0;
    *comm = NULL;
    TRY(dist_check(MPI_Comm_size(user, &size), "MPI_Comm_size"));
    status = CALLOC(*comm, 1);
    if (status == FACET_OK) status = ALLOC((*comm)->notices, size);
    fits = status == FACET_OK;
    TRY(dist_check(MPI_Allreduce(&fits, &all, 1, MPI_INT, MPI_MIN, user), "MPI_Allreduce"));
    if (!all) FAIL(FACET_ERROR_MACHINE, "%s", fits ? "another rank has no memory" : base_message());
    (*comm)->team.calls = &calls;
    (*comm)->team.size = size;
    (*comm)->user = user;
    (*comm)->data = (*comm)->control = MPI_COMM_NULL;
    TRY(dist_check(MPI_Comm_rank(user, &(*comm)->team.rank), "MPI_Comm_rank"));
    TRY(dist_check(MPI_Comm_dup(user, &(*comm)->control), "MPI_Comm_dup"));
    TRY(dist_check(MPI_Comm_set_errhandler((*comm)->control, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
    TRY(renew(*comm));
done:
    if (status != FACET_OK && *comm != NULL) {
        base_free(&(*comm)->notices);
        base_free(comm);
    }
    return status;
}

void dist_comm_destroy(struct dist_comm **comm) {
    if (*comm == NULL) return;
    for (int i = 0; i < (*comm)->n_first; i++) {
        struct dist_comm *first = (*comm)->first[i];
        if (first == NULL) continue;
        MPI_Comm own = first->user;
        dist_comm_destroy(&first);
        MPI_Comm_free(&own);
    }
    base_free(&(*comm)->first);
    base_free(&(*comm)->first_sizes);
    while ((*comm)->idle != NULL) {
        struct pending *p = (*comm)->idle;
        (*comm)->idle = p->next;
        pending_free(&p);
    }
    MPI_Comm_free(&(*comm)->data);
    MPI_Comm_free(&(*comm)->control);
    base_free(&(*comm)->notices);
    base_free(comm);
}
