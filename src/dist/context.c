/* Contexts over MPI. */
#include <facet_dist.h>

#include "base/memory.h"
#include "device/device.h"
#include "dist/part.h"
#include "dist/petsc.h"

static const struct context_meshes meshes = {.create_box = part_create_box, .read = part_read_gmsh};

facet_status dist_context_create(struct dist_comm *comm, const char *device, facet_context **context) {
    facet_status status = team_agree(&comm->team, facet_context_create(device, context));
    if (status != FACET_OK) {
        facet_context_destroy(context);
        return status;
    }
    (*context)->team = (*context)->at_work = &comm->team;
    (*context)->meshes = &meshes;
    (*context)->elsewhere = &dist_elsewhere;
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
