#!/bin/sh
# Builds the library with the address and undefined-behaviour sanitizers and plain kernels (FACET_SIMD=OFF), and runs the
# tests whose code handles what users give: texts, files, meshes, data, options, and every allocation that may fail.
# `make debug` runs all tests so, with all kernels. Usage: check-sanitizers.sh BUILD, a directory of its own.
set -u
if [ $# -ne 1 ]; then
    echo "usage: tools/check-sanitizers.sh BUILD" >&2
    exit 2
fi
source=$(cd "$(dirname "$0")/.." && pwd) || exit 3
tests="test_base test_expr test_expr_text test_field test_gmsh test_case test_api test_api_mesh test_api_case
test_api_faults test_problem test_update test_run
test_condensed_3d test_faces random_api"
cmake -S "$source" -B "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" -DFACET_SANITIZE=ON \
    -DFACET_SIMD=OFF -DFACET_WERROR=ON > "$1.log" 2>&1 || { cat "$1.log"; exit 1; }
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$1" --target $tests > "$1.log" 2>&1 || { cat "$1.log"; exit 1; }
cd "$source" || exit 3
failed=0
for test in $tests; do
    amount=
    [ "$test" != random_api ] || amount="1 200" # seed and sequences
    if OMP_NUM_THREADS=1 FACET_SOURCE_DIR="$source" "$1/tests/$test" $amount > "$1.log" 2>&1; then
        echo "check-sanitizers: $test passed"
    else
        cat "$1.log"
        echo "check-sanitizers: $test FAILED"
        failed=1
    fi
done
exit $failed
