#!/bin/bash
# What `make demo` shows a newcomer, in a few seconds: an engineering problem solved, its picture, and the proof that
# the method has the order it should. Results go to build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -x build/facet ]; then
    echo "demo: build/facet is not there; run 'make' first" >&2
    exit 1
fi
root=$PWD
mkdir -p build/demo
cd build/demo
ln -sfn "$root/examples" examples
run() {
    echo "\$ facet $*"
    "$root/build/facet" "$@"
    echo
}

echo "1. A steel plate with a heated edge, cooled by water through a bore in a copper bush."
echo
run solve examples/plate.yaml
echo "   'hottest' is the largest temperature, in degrees Celsius. The four 'out' values are the heat through the parts"
echo "   of the boundary; together they are what the source puts in, 4642.92 W/m. The picture:"
echo
echo "\$ facet view plate.vtu"
if "$root/build/facet" view plate.vtu; then
    echo
    echo "   build/demo/plate.png: the copper takes heat from all sides and stays at nearly one temperature."
else
    echo "   No picture was made (see above); ParaView opens build/demo/plate.vtu."
fi
echo
echo "2. Is it right? A problem with a known solution, on curved cells, at degrees 1 to 3:"
echo
run converge examples/annulus.yaml --refine 0:2 --degree 1:3
echo "   Look at the rates: halving the cells divides the error of u and q by 2^(p+1), that of u* by 2^(p+2)."
echo "   Next: examples/README.md lists the other cases; change one and solve it again."
