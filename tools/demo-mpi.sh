#!/bin/bash
# What `make mpi` shows: how a mesh is shared out, and the same case solved by one process and by four. Results go to
# the folder demo of the build folder, which is the argument (default: build).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" 2>/dev/null && pwd) || build=${1:-build}
if [ ! -x "$build/facet-mpi" ]; then
    echo "demo-mpi: $build/facet-mpi is not there; run 'make mpi'" >&2
    exit 1
fi
root=$PWD
mkdir -p "$build/demo"
cd "$build/demo"
ln -sfn "$root/examples" examples
export OMP_NUM_THREADS=1
# Open MPI asks for this where root runs it, and where there are fewer processors than ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1
run() {
    echo "\$ $*"
    PATH="$build:$PATH" "$@"
    echo
}

echo "1. Four processes, each with a quarter of the mesh of a tripod:"
echo
run mpiexec -n 4 facet-mpi check examples/tripod.yaml
echo "2. The same case, by one process and by four. Compare 'sinks', and the iterations:"
echo
run facet solve examples/tripod.yaml --threads 1
run mpiexec -n 4 facet-mpi solve examples/tripod.yaml
echo "   docs/distributed.md tells how it works, and what is not distributed yet."
