/* facet on many processes (libfacet_dist): the same calls as in facet.h, with a context over MPI.
 *
 *     MPI_Init(&argc, &argv);
 *     facet_context *ctx;   facet_context_create_mpi(MPI_COMM_WORLD, "cpu", &ctx);
 *     facet_mesh *mesh;     facet_mesh_read(ctx, "part.msh", &mesh);       each rank gets a part of it
 *     ...                                                                  as in facet.h
 *                           facet_context_destroy(&ctx);
 *     MPI_Finalize();
 *
 * Every call with such a context, or with what was made from it, is collective: all ranks make it, in the
 * same order, with the same arguments where these describe the problem. What is a property of the whole
 * (errors, integrals, reports, counts) is the same on all ranks; arrays by cell or by point of the solver
 * are those of the part.
 *
 * facet_solver_evaluate and facet_field_evaluate take points of each rank's own, anywhere in the whole mesh,
 * as many as it likes, or none (n_points = 0; x and values may be NULL); each rank gets the values at its
 * own. All ranks look for all points, the more of these the longer it takes; where all give the same ones,
 * these are looked for once. A point between cells belongs to the cell that one process would take.
 *
 * Where there are fewer cells than ranks, the last ranks get no part: *mesh is NULL, the status is FACET_OK,
 * and such a rank has nothing more to do with the mesh; it goes on to facet_context_destroy.
 *
 * A call that fails on one rank fails on all, with the same status and with one message, which names the
 * rank. The context can be used afterwards. What fails on one rank between two calls is the program's own
 * business.
 */
#ifndef FACET_DIST_H
#define FACET_DIST_H

#include <facet.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over comm, which is duplicated and must not be freed before the context. MPI must be
 * initialized, with MPI_THREAD_FUNNELED or more: only the thread that makes the calls of facet calls MPI.
 * device: as of facet_context_create; on "cuda" the ranks of a machine have its GPUs in turn, unless a
 * context of this process has started one before. FACET_CUDA_AWARE_MPI=1 in the environment: messages from
 * and to the memory of the GPU, after a test. */
FACET_API facet_status facet_context_create_mpi(MPI_Comm comm, const char *device, facet_context **context);

/* The ranks of the context, and which of them this is; 1 and 0 for one that is not over MPI. */
FACET_API int facet_context_size(const facet_context *context);
FACET_API int facet_context_rank(const facet_context *context);

#ifdef __cplusplus
}
#endif

#endif
