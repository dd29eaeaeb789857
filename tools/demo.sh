#!/bin/bash
# What `make demo` shows a newcomer, in a few seconds: an engineering problem solved, its picture, and the proof that
# the method has the order it should. Results go to the folder demo of the build folder, which is the argument
# (default: build).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" 2>/dev/null && pwd) || build=${1:-build}
if [ ! -x "$build/facet" ]; then
    echo "demo: $build/facet is not there; run 'make' first" >&2
    exit 1
fi
root=$PWD
mkdir -p "$build/demo"
cd "$build/demo"
ln -sfn "$root/examples" examples
run() {
    echo "\$ facet $*"
    "$build/facet" "$@"
    echo
}

echo "1. A beam, clamped at one end, bends under its own weight: linear elasticity on tets."
echo
run solve examples/beam.yaml
echo "   'tip' is how far the free end sinks: beam theory says -0.2442. 'support' is the force of the wall: the weight of"
echo "   the beam, 6.4e-4, upwards. The picture, bent as it is, coloured by the von Mises stress:"
echo
echo "\$ facet view beam.vtu --field von_mises --warp 1"
if "$build/facet" view beam.vtu --field von_mises --warp 1; then
    echo
    echo "   $build/demo/beam.png: the stress is largest at the clamped end, above and below."
else
    echo "   No picture was made (see above); ParaView opens $build/demo/beam.vtu."
fi
echo
echo "2. Is it right? A problem with a known solution, on curved cells, at degrees 1 to 3:"
echo
run converge examples/annulus.yaml --refine 0:2 --degree 1:3
echo "   Look at the rates: halving the cells divides the error of u and q by 2^(p+1), that of u* by 2^(p+2)."
echo "   Next: examples/README.md lists the other cases; change one and solve it again."
