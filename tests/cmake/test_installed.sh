#!/bin/bash
# Installs into a fresh prefix and uses what lies there as a stranger would: a C program and the same as C++, once
# through pkg-config and once through CMake's find_package, each run from a prefix that was moved after installing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "test_installed: $*" >&2
    exit 1
}
cmake --install "$FACET_BUILD_DIR" --prefix "$work/first" >"$work/install.log" || fail "$(cat "$work/install.log")"
mv "$work/first" "$work/prefix"
prefix=$work/prefix

for file in include/facet.h share/doc/facet/LICENSE share/doc/facet/CHANGELOG.md share/doc/facet/README.md; do
    [ -s "$prefix/$file" ] || fail "$file was not installed"
done
if [ -e "$FACET_SOURCE_DIR/tools/view.py" ]; then
    [ -x "$prefix/share/facet/view.py" ] || fail "share/facet/view.py was not installed"
    for module in vtu cells letters whole; do
        [ -s "$prefix/share/facet/$module.py" ] || fail "share/facet/$module.py, which view.py needs, was not installed"
    done
    "$prefix/share/facet/view.py" --help >"$work/view" 2>&1 || grep -q NumPy "$work/view" ||
        fail "the installed viewer does not start: $(cat "$work/view")"
fi
for file in "$FACET_SOURCE_DIR"/examples/*; do
    [ ! -f "$file" ] || cmp "$file" "$prefix/share/facet/examples/${file##*/}"
done
if [ -n "${FACET_PROGRAM:-}" ]; then
    "$prefix/bin/facet" info >"$work/info" || fail "the installed program does not run"
    grep -q . "$work/info" || fail "'facet info' of the installed program says nothing"
fi

pc=$(dirname "$(find "$prefix" -name facet.pc)")
export PKG_CONFIG_PATH=$pc
[ "$(pkg-config --modversion facet)" = "$(sed -n 's/#define FACET_VERSION  *"\(.*\)"/\1/p' "$prefix/include/facet.h")" ] ||
    fail "facet.pc and facet.h disagree about the version"
cp "$FACET_SOURCE_DIR"/tests/cmake/installed/{main.c,CMakeLists.txt} "$work"
cp "$work/main.c" "$work/main.cpp"
cd "$work"
warnings="-Wall -Wextra -Wpedantic -Werror"
unset LD_LIBRARY_PATH # programs find the library by the flags of pkg-config alone
# shellcheck disable=SC2046,SC2086 # the flags are words
$CC -std=c99 $warnings ${CFLAGS:-} main.c -o by_pkgconfig_c $(pkg-config --cflags --libs facet)
# shellcheck disable=SC2046,SC2086
$CXX -std=c++11 $warnings ${CXXFLAGS:-} main.cpp -o by_pkgconfig_cpp $(pkg-config --cflags --libs facet)
./by_pkgconfig_c
./by_pkgconfig_cpp

(cmake -S . -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" && cmake --build by_cmake) >cmake.log 2>&1 ||
    fail "$(cat cmake.log)"
./by_cmake/user_c
./by_cmake/user_cpp

[ -e "$prefix/include/facet_dist.h" ] || exit 0
cp -r "$FACET_SOURCE_DIR/tests/cmake/installed/dist" .
# shellcheck disable=SC2046,SC2086
$CC -std=c99 -Wall -Wextra -Werror ${CFLAGS:-} dist/main.c -o by_pkgconfig_dist \
    $(pkg-config --cflags --libs facet_dist)
./by_pkgconfig_dist
(cmake -S dist -B dist/by_cmake -DCMAKE_PREFIX_PATH="$prefix" && cmake --build dist/by_cmake) >cmake.log 2>&1 ||
    fail "$(cat cmake.log)"
./dist/by_cmake/user_c
