#!/bin/sh
# Everything that is known about the GPU, again: parity with ref, whole solves against ref, the sanitizers of CUDA
# on small cases, the benchmarks, and the hardware counters. Takes about seven minutes on an H200.
#
#     bench/h200.sh BUILD [RESULTS]
#
# BUILD is a directory with facet and the test programs (or with tests/ below it), built with -DFACET_CUDA=ON;
# what is not there is left out, with a line that says so. RESULTS is where tables and logs go, bench/results/h200
# unless given; in the environment BENCHES= leaves out the benchmarks, CHECKS= the
# checks, COUNTERS= the hardware counters.
# Exit status: 0 when all checks passed.
set -u

if [ $# -lt 1 ] || [ ! -x "$1/facet" ]; then
    echo "usage: bench/h200.sh BUILD [RESULTS]; BUILD holds the program facet" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
results=${2:-bench/results/h200}
mkdir -p "$results" || exit 3
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
limit=${LIMIT:-200} # seconds of one check

program() { # the path of a test program
    for directory in "$build" "$build/tests"; do
        [ -x "$directory/$1" ] && echo "$directory/$1" && return 0
    done
    return 1
}

check() { # FILE NAME COMMAND...: runs it in the background, keeps the end of what it said
    file=$work/$1 name=$2
    shift 2
    (
        if timeout "$limit" "$@" > "$file.log" 2>&1; then verdict=passed; else verdict="FAILED ($?)"; fi
        { echo "# $name: $verdict"; tail -n 60 "$file.log"; } > "$file.txt"
    ) &
}

collect() { # PATTERN RESULT: waits for the checks, joins what they said
    wait
    cat "$work"/$1*.txt > "$results/$2" 2>/dev/null
    grep '^# .*: \(passed\|FAILED\)' "$results/$2"
}

sanitize() { # NAME OPTIONS...: one solve of the small case under both tools
    what=$1
    shift
    for tool in memcheck racecheck; do
        count=$((count + 1))
        check "sanitizer-$(printf %02d $count)" "$tool, $what" "$sanitizer" --tool $tool --error-exitcode 1 \
            "$build/facet" solve "$work/small.yaml" --quiet --device cuda "$@"
    done
}

: > "$work/failed"
if [ "${CHECKS-yes}" ]; then
    for test in test_device test_gpu test_stays test_patch_kernels test_box_points test_threads; do
        if path=$(program $test); then check "parity-$test" $test "$path"; else echo "$test: not in $build"; fi
    done
    check parity-test_gpu_cells test_gpu_cells env FACET_PROGRAM="$build/facet" python3 tests/program/test_gpu_cells.py
    check parity-test_keys test_keys env FACET_PROGRAM="$build/facet" python3 tests/program/test_keys.py
    if [ -x "$sanitizer" ]; then
        count=0
        cat > "$work/small.yaml" <<CASE
mesh:
  box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [8, 8, 8], shape: hex}
equation: diffusion
source: 1
boundary:
  - {on: rest, dirichlet: 0}
discretization: {method: continuous, degree: 3}
CASE
        for degree in 1 3 7; do
            sanitize "degree $degree" --set solver.method=multigrid --set discretization.degree=$degree
        done
        sanitize "mixed" --set solver.method=multigrid --set solver.precision=mixed
        sanitize "k of the cells" --set "conductivity=1+floor(8*x)" --set discretization.degree=2
        sanitize "direct" --set solver.method=direct
        sanitize "point" --set solver.preconditioner=gmg --set solver.smoother=point --set discretization.degree=2
        sanitize "additive" --set solver.preconditioner=patches --set solver.smoother=additive
        sanitize "degree 13" --set mesh.box.cells=[2,2,2] --set discretization.degree=13 --set solver.method=cg \
            --set solver.preconditioner=patches
        for degree in 3 7; do
            sanitize "hdg, degree $degree" --set discretization.method=hdg --set discretization.degree=$degree \
                --set solver.method=cg --set solver.preconditioner=additive
        done
        sanitize "hdg, chebyshev, mixed" --set discretization.method=hdg --set solver.method=cg \
            --set solver.preconditioner=chebyshev --set solver.precision=mixed
        for shape in tet hex; do
            sanitize "$shape, mapped, mixed" --set mesh.box.shape=$shape --set mesh.box.cells=[3,3,3] \
                --set discretization.method=hdg --set discretization.operator=mapped --set discretization.degree=2 \
                --set solver.method=cg --set solver.preconditioner=pmg --set solver.precision=mixed
        done
    else
        echo "compute-sanitizer: not found"
    fi
    collect parity parity.txt
    collect sanitizer sanitizer.txt
    grep -h '^# .*: FAILED' "$work"/*.txt > "$work/failed"
fi

for bench in ${BENCHES-huismann2020-gpu cui2024-gpu gpu-cells fabien2017-multigrid king2014}; do
    "$build/facet" bench "$bench" --device cuda --output "$results" || echo "$bench" >> "$work/failed"
done
if [ "${COUNTERS-yes}" ]; then
    python3 bench/profile.py "$build/facet" "$results" || echo "no hardware counters"
fi
[ ! -s "$work/failed" ]
