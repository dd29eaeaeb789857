#!/bin/sh
# Everything that is known about the GPU, again: parity with ref, whole solves against ref, the sanitizers of CUDA
# on small cases, and the benchmarks. Takes about five minutes on an H200.
#
#     bench/h200.sh BUILD [RESULTS]
#
# BUILD is a directory with facet and the test programs test_device, test_gpu and test_patch_kernels (or with
# tests/ below it), built with -DFACET_CUDA=ON; what is not there is left out, with a line that says so. RESULTS is
# where tables and logs go, bench/results/h200 unless given; BENCHES= in the environment leaves out the benchmarks.
# Exit status: 0 when all checks passed.
set -u

if [ $# -lt 1 ] || [ ! -x "$1/facet" ]; then
    echo "usage: bench/h200.sh BUILD [RESULTS]; BUILD holds the program facet" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
results=${2:-bench/results/h200}
mkdir -p "$results" || exit 3
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
failed=0

program() { # the path of a test program
    for directory in "$build" "$build/tests"; do
        [ -x "$directory/$1" ] && echo "$directory/$1" && return 0
    done
    return 1
}

check() { # NAME LOG COMMAND...: runs it, keeps the end of what it said
    name=$1 log=$2
    shift 2
    if "$@" > "$log.new" 2>&1; then
        echo "$name: passed"
    else
        echo "$name: FAILED"
        failed=1
    fi
    { echo "# $name"; grep -v '^==PROF==' "$log.new" | tail -n 60; } >> "$log"
    rm -f "$log.new"
}

parity=$results/parity.txt
: > "$parity"
for test in test_device test_gpu test_patch_kernels; do
    if path=$(program "$test"); then check "$test" "$parity" "$path"; else echo "$test: not in $build"; fi
done

log=$results/sanitizer.txt
: > "$log"
if [ -x "$sanitizer" ]; then
    case=$results/small.yaml
    cat > "$case" <<CASE
mesh:
  box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [8, 8, 8], shape: hex}
equation: diffusion
source: 1
boundary:
  - {on: rest, dirichlet: 0}
discretization: {method: continuous, degree: 3}
CASE
    for tool in memcheck racecheck; do
        sanitize() { # NAME OPTIONS...: one solve of the case
            name=$1
            shift
            check "$tool, $name" "$log" timeout 60 "$sanitizer" --tool "$tool" --error-exitcode 1 \
                "$build/facet" solve "$case" --quiet --device cuda "$@"
        }
        for degree in 1 3 7; do
            sanitize "degree $degree" --set solver.method=multigrid --set discretization.degree=$degree
        done
        sanitize "mixed" --set solver.method=multigrid --set solver.precision=mixed
        sanitize "k of the cells" --set "conductivity=1+floor(8*x)" --set discretization.degree=2
        sanitize "direct" --set solver.method=direct
    done
    rm -f "$case"
else
    echo "compute-sanitizer: not found"
fi

for bench in ${BENCHES-cui2024-gpu huismann2020-gpu}; do
    if "$build/facet" bench 2>/dev/null | grep -q "$bench"; then
        "$build/facet" bench "$bench" --device cuda --output "$results" || failed=1
    else
        echo "$bench: not in this program"
    fi
done
exit $failed
