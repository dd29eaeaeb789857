#!/bin/sh
# Configures and compiles, as the Makefile asks for it. Usage: build.sh KIND FOLDER, KIND being
#   demo       the program with the vector kernels of this machine, without benches: what `make demo` runs
#   all        the program with the benches and the kernels of all machines, and the library
#   mpi        the same with facet-mpi
#   test       all that the tests need, with the vector kernels of this machine
#   check      the same with the kernels of all machines, and with warnings as errors
#   debug      with the address and undefined-behaviour sanitizers
#   configure  configures only
# A folder that has been configured before keeps what it has: `make demo` after `make` compiles nothing anew.
set -eu
kind=$1 folder=$2
cd "$(dirname "$0")/.."

stop() {
    echo "build: $*" >&2
    exit 1
}

case $PWD$folder in
    *[]:\;\"\\#[]*) stop "CMake and make do not take all of : ; \" \\ # [ ] in the path $PWD; move the tree" ;;
esac
[ -n "$folder" ] || stop "BUILD is empty; it names the folder to build in"
command -v cmake >/dev/null 2>&1 || stop "cmake is missing (Debian: cmake)"
mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] ||
    stop "the folder $folder cannot be written; build elsewhere: make BUILD=/tmp/facet ..."
if [ -f "$folder/CMakeCache.txt" ]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt")
    [ -z "$home" ] || [ "$home" -ef . ] ||
        stop "the folder $folder was made for the sources in $home; remove it first (make clean), or give another: make BUILD=DIR"
elif [ ! -f "$folder/configure.log" ] && [ -n "$(ls -A "$folder")" ]; then
    stop "the folder $folder has other files in it; build in one of its own: make BUILD=DIR"
fi
free=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024) }')
[ "${free:-1000}" -ge 200 ] ||
    stop "the disk of $folder has only $free MB left; a build takes 200 to 500. Build elsewhere: make BUILD=/tmp/facet ..."

options="-DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
first="" # of a folder that is configured for the first time
targets=""
case $kind in
    demo)
        first="-DFACET_INSTRUCTIONS=host -DFACET_BENCH=OFF -DFACET_TESTS=OFF -DFACET_MPI=OFF"
        targets="--target facet_program"
        ;;
    all) options="$options -DFACET_INSTRUCTIONS=all -DFACET_BENCH=ON -DFACET_MPI=AUTO -DFACET_TESTS=OFF" ;;
    mpi) options="$options -DFACET_BENCH=ON -DFACET_MPI=ON -DFACET_TESTS=OFF" first="-DFACET_INSTRUCTIONS=host" ;;
    test) options="$options -DFACET_BENCH=ON -DFACET_MPI=AUTO -DFACET_TESTS=ON" first="-DFACET_INSTRUCTIONS=host" ;;
    check) options="$options -DFACET_INSTRUCTIONS=all -DFACET_BENCH=ON -DFACET_MPI=AUTO -DFACET_TESTS=ON -DFACET_WERROR=ON" ;;
    debug)
        options="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-Og\ -g -DFACET_SANITIZE=ON -DFACET_NATIVE=ON"
        options="$options -DFACET_WERROR=ON -DFACET_TESTS=ON"
        ;;
    configure) ;;
    *) stop "unknown kind '$kind'" ;;
esac
[ -f "$folder/CMakeCache.txt" ] || options="$options $first"
log=$folder/configure.log
eval "cmake -S . -B \"\$folder\" $options" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
grep -E '^-- (facet|.* is not used)' "$log" || true
[ "$kind" != configure ] || exit 0
# CMake starts a make of its own: it must not take itself for a part of this one.
# shellcheck disable=SC2086
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$folder" --parallel "${JOBS:-2}" $targets
