#!/bin/bash
# Solves the first example and makes a picture of the result: what `make demo` shows a newcomer.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
cases=(examples/*.yaml)
if [ ! -x build/facet ] || [ ${#cases[@]} -eq 0 ]; then
    echo "demo: build/facet and examples/*.yaml are needed; one of them is not there" >&2
    exit 1
fi
case=${cases[0]}
name=$(basename "$case" .yaml)
mkdir -p build/demo
run() {
    echo "\$ $*"
    "$@"
    echo
}
run build/facet solve "$case" --output "build/demo/$name.vtu"
run build/facet view "build/demo/$name.vtu"
echo "Look at the lines above: the unknowns, why the solve stopped, and the errors if the exact solution is known."
echo "The field is in build/demo/$name.vtu; ParaView opens it. The case is $case: change it and solve it again."
