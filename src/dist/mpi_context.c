/* Contexts over MPI. */
#include <facet_dist.h>

#include <stdlib.h>
#include <string.h>
#ifdef OPEN_MPI
#    include <mpi-ext.h>
#endif

#include "base/memory.h"
#include "device/device.h"
#include "dist/comm.h"
#include "dist/parts.h"
#include "dist/petsc.h"

static const struct context_meshes meshes = {.create_box = part_create_box, .read = part_read_gmsh};

/* ------------------------------------------------------------------------------ GPUs */

/* Which of the ranks of its machine this is: they have its GPUs in turn. */
static facet_status choose_gpu(const struct dist_comm *comm) {
    facet_status status = FACET_OK;
    MPI_Comm machine = MPI_COMM_NULL;
    int rank = 0;
    TRY(dist_check(
        MPI_Comm_split_type(comm->user, MPI_COMM_TYPE_SHARED, comm->team.rank, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type"));
    TRY(dist_check(MPI_Comm_rank(machine, &rank), "MPI_Comm_rank"));
    device_choose_gpu(rank);
done:
    if (machine != MPI_COMM_NULL) MPI_Comm_free(&machine);
    return status;
}

/* Whether MPI says of itself that it reaches the memory of GPUs. To ask it is the only way: one that does not
 * ends the program when it is given such an address. */
static int claims_devices(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT /* known; whether it is so may depend on the library that is found */
    return MPIX_Query_cuda_support() == 1;
#else
    return 0;
#endif
}

#define TESTED 4099 /* numbers */

/* Numbers of the device go round all ranks by one place, and come back as those of the neighbour. */
static facet_status test_devices(struct dist_comm *comm, const struct device *device, int *good) {
    facet_status status = FACET_OK;
    const int rank = comm->team.rank, size = comm->team.size, before = (rank + size - 1) % size;
    double host[TESTED], *out = NULL, *in = NULL;
    *good = 0;
    for (int i = 0; i < TESTED; i++) host[i] = rank + i / 7.0;
    TRY(device_copy(device, &out, host, TESTED, sizeof *host));
    TRY(device_alloc(device, &in, TESTED, sizeof *host));
    TRY(team_agree(&comm->team, device_check(device)));
    TRY(dist_check(MPI_Sendrecv(out, TESTED, MPI_DOUBLE, (rank + 1) % size, DIST_TAG_EXCHANGE, in, TESTED,
                                MPI_DOUBLE, before, DIST_TAG_EXCHANGE, comm->data, MPI_STATUS_IGNORE),
                   "MPI_Sendrecv"));
    TRY(device_download(device, host, in, sizeof host));
    *good = 1;
    for (int i = 0; i < TESTED; i++) *good &= host[i] == before + i / 7.0;
done:
    device_free(device, &out);
    device_free(device, &in);
    return status;
}

/* FACET_CUDA_AWARE_MPI=1: messages from and to the memory of the GPU, not through the host, after a test. */
static facet_status use_devices(struct dist_comm *comm, const struct device *device) {
    facet_status status = FACET_OK;
    const char *wish = getenv("FACET_CUDA_AWARE_MPI");
    int64_t wanted = wish != NULL && strcmp(wish, "0") != 0, good = wanted && claims_devices();
    int passed = 1;
    TRY(team_reduce_counts(&comm->team, TEAM_MAX, 1, &wanted));
    TRY(team_reduce_counts(&comm->team, TEAM_MIN, 1, &good));
    if (!wanted) return FACET_OK;
    if (good) TRY(test_devices(comm, device, &passed));
    good = good && passed;
    TRY(team_reduce_counts(&comm->team, TEAM_MIN, 1, &good));
    if (!good)
        FAIL(FACET_ERROR_MACHINE, "FACET_CUDA_AWARE_MPI: this MPI does not reach the memory of GPUs%s",
             passed ? "" : ", though it says so");
    comm->team.reaches_devices = 1;
done:
    return status;
}

/* ------------------------------------------------------------------------------ contexts */

facet_status dist_context_create(struct dist_comm *comm, const char *device, facet_context **context) {
    const int on_gpu = device != NULL && strcmp(device, "cuda") == 0;
    facet_status status = on_gpu ? choose_gpu(comm) : FACET_OK;
    if (status == FACET_OK) status = facet_context_create(device, context);
    status = team_agree(&comm->team, status);
    if (status == FACET_OK && on_gpu) status = use_devices(comm, (*context)->device);
    if (status != FACET_OK) {
        facet_context_destroy(context);
        return status;
    }
    (*context)->team = (*context)->at_work = &comm->team;
    (*context)->meshes = &meshes;
    (*context)->external = &dist_external;
    return dist_petsc_begin(comm->user);
}

static void release(struct facet_context *context) {
    struct dist_comm *comm = dist_comm_of(context->team);
    dist_comm_destroy(&comm);
    context->team = context->at_work = NULL;
}

facet_status facet_context_create_mpi(MPI_Comm comm, const char *device, facet_context **context) {
    REQUIRE(context);
    facet_status status = FACET_OK;
    struct dist_comm *made = NULL;
    int initialized = 0, level = MPI_THREAD_SINGLE;
    *context = NULL;
    MPI_Initialized(&initialized);
    if (!initialized)
        return base_fail(FACET_ERROR_INPUT, "facet_context_create_mpi: call MPI_Init_thread first");
    MPI_Query_thread(&level);
    TRY(dist_comm_create(comm, &made));
    team_enter(&made->team);
    if (level < MPI_THREAD_FUNNELED)
        status = base_fail(FACET_ERROR_INPUT,
                           "facet_context_create_mpi: MPI was initialized without threads; call "
                           "MPI_Init_thread with MPI_THREAD_FUNNELED");
    if (status == FACET_OK) status = dist_context_create(made, device, context);
    status = team_leave(&made->team, status);
    if (status != FACET_OK) {
        facet_context_destroy(context);
        dist_comm_destroy(&made);
        goto done;
    }
    (*context)->release = release;
done:
    return status;
}

int facet_context_size(const facet_context *context) {
    return context != NULL ? team_size(context->team) : 1;
}

int facet_context_rank(const facet_context *context) {
    return context != NULL ? team_rank(context->team) : 0;
}
