/* The commands of `facet-mpi`, and the team that runs them. See launch.h. */
#include "app/mpi/launch.h"

#include <metis.h>
#include <mpi.h>
#include <omp.h>
#include <petscpkg_version.h>
#include <petscsys.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/app.h"
#include "dist/comm.h"

#define COMPUTE (OPTION_SET | OPTION_DEVICE | OPTION_THREADS | OPTION_JSON | OPTION_QUIET)

static const struct app_command commands[] = {
    {"solve", "CASE", "solve the problem of a case file", COMPUTE | OPTION_OUTPUT_FILE | OPTION_MONITOR, 1, 1,
     solve_command,
     "The mesh file of a case is relative to the case file; files that are written are relative to the "
     "current\n"
     "directory. 'facet-mpi help input' explains all keys of a case. --threads: of each rank\n"
     "(default: the processors of a machine, shared out among its ranks).\n"},
    {"check", "CASE", "validate a case file and its mesh, and show how it is parted",
     OPTION_SET | OPTION_THREADS, 1, 1, check_command, NULL},
    {"bench", "[NAME]", "our solvers beside those of PETSc; no name: lists the benches",
     OPTION_DEVICE | OPTION_THREADS | OPTION_OUTPUT_DIR | OPTION_QUICK, 0, 1, bench_command, NULL},
    {"info", "", "version, devices, libraries, memory", OPTION_DEVICE | OPTION_THREADS, 0, 0, info_command,
     NULL},
    {"help", "[input]", "this text; 'facet-mpi help input' explains the case file", OPTION_MARKDOWN, 0, 1,
     help_command, NULL},
    {.name = NULL},
};

static struct dist_comm *comm;

/* Ranks of one machine that are not bound to processors of their own share them out. */
static void share_threads(void) {
    MPI_Comm here;
    int ranks = 1;
    const int own = omp_get_num_procs(); /* that this rank may use */
    if (getenv("OMP_NUM_THREADS") != NULL) return;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS)
        return;
    MPI_Comm_size(here, &ranks);
    MPI_Comm_free(&here);
    if (own < (int)sysconf(_SC_NPROCESSORS_ONLN)) return;
    omp_set_num_threads(own > ranks ? own / ranks : 1);
}

static facet_status create_context(const char *device, facet_context **context) {
    return dist_context_create(comm, device, context);
}

/* MPI tells of itself in a line or more. */
static void put_libraries(struct text *out) {
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, standard[2];
    PetscInt petsc[4] = {0};
    MPI_Get_library_version(mpi, &length);
    MPI_Get_version(&standard[0], &standard[1]);
    PetscGetVersionNumber(&petsc[0], &petsc[1], &petsc[2], &petsc[3]);
    text_printf(out, "MPI        %d.%d: %.*s\n", standard[0], standard[1], (int)strcspn(mpi, ",\n"), mpi);
    text_printf(out, "PETSc      %d.%d.%d\n", (int)petsc[0], (int)petsc[1], (int)petsc[2]);
#ifdef PETSC_HAVE_HYPRE
    text_printf(out, "hypre      %d.%d.%d, as PETSc was built\n", PETSC_PKG_HYPRE_VERSION_MAJOR,
                PETSC_PKG_HYPRE_VERSION_MINOR, PETSC_PKG_HYPRE_VERSION_SUBMINOR);
#endif
#ifdef PETSC_HAVE_MUMPS
    text_printf(out, "MUMPS      %d.%d.%d, as PETSc was built\n", PETSC_PKG_MUMPS_VERSION_MAJOR,
                PETSC_PKG_MUMPS_VERSION_MINOR, PETSC_PKG_MUMPS_VERSION_SUBMINOR);
#endif
    text_printf(out, "METIS      %d.%d.%d\n", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR);
}

/* Beyond all of ours: the run was interrupted, on all ranks. */
#define FIRST_SIGNAL 128

/* The signal came to one rank, maybe, and the others only heard of an interrupt: all end with its number. */
static int find_signal(int status) {
    int known = status != FACET_INTERRUPTED ? status : 0;
    MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return known > 0 ? known : status;
}

int launch_begin(int *argc, char ***argv) {
    int level;
    signal(SIGXFSZ,
           SIG_IGN); /* here already: the memory that ranks of a machine share is a file to the system */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return FACET_ERROR_MACHINE;
    if (dist_comm_create(MPI_COMM_WORLD, &comm) != FACET_OK) {
        fprintf(stderr, "facet-mpi: %s\n", facet_message());
        MPI_Abort(MPI_COMM_WORLD, FACET_ERROR_MACHINE);
    }
    share_threads();
    return FACET_OK;
}

int launch_run(int argc, char **argv) {
    const struct app_launch launch = {.program = "facet-mpi",
                                      .runner = "mpiexec -n N ",
                                      .commands = commands,
                                      .create_context = create_context,
                                      .team = &comm->team,
                                      .put_libraries = put_libraries};
    int status = app_main(argc, argv, &launch);
    if (status >= FIRST_SIGNAL) status = find_signal(status);
    return status;
}

void launch_end(void) {
    dist_comm_destroy(&comm);
    MPI_Finalize();
}
