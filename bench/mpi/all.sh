#!/bin/bash
# All benches of facet-mpi on a machine with many cores, smallest first, each with a limit of its own:
#     bench/mpi/all.sh FOLDER [CORES]
# writes the tables into FOLDER. FACET_MPI_PROGRAM: build/facet-mpi; MPIEXEC: mpiexec, with options.
set -u
folder=${1:?bench/mpi/all.sh FOLDER [CORES]}
cores=${2:-$(nproc)}
program=${FACET_MPI_PROGRAM:-build/facet-mpi}
mpiexec=${MPIEXEC:-mpiexec}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_PROC_BIND=close OMP_PLACES=cores

# seconds, ranks, threads of a rank, arguments
run() {
    local seconds=$1 ranks=$2 threads=$3 bind="--bind-to core"
    shift 3
    [ "$threads" -gt 1 ] && bind="--map-by slot:PE=$threads --bind-to core"
    [ "$ranks" = 1 ] && bind="--bind-to none"
    echo "== $ranks x $threads: facet-mpi $*"
    OMP_NUM_THREADS=$threads timeout "$seconds" $mpiexec -n "$ranks" $bind "$program" "$@" --threads "$threads" \
        --output "$folder" 2>&1 || echo "failed: status $?"
}

for ranks in "$cores" $((cores / 2)) $((cores / 4)) 1; do
    run 30 "$ranks" $((cores / ranks)) bench whole
done
run 60 "$cores" 1 bench scaling
run 60 "$cores" 1 bench boxes
run 30 "$cores" 1 bench traffic
run 90 "$cores" 1 bench petsc
run 90 $((cores / 2)) 1 bench petsc
