#!/bin/sh
# Installs the Debian packages that are missing, and nothing else. Usage: install-packages.sh LIST..., the lists being
#   program   what `make demo` compiles with         picture   for `facet view`
#   mpi       for facet-mpi                          test      what the tests use beside these
#   lint      clang-tidy and cppcheck                static    for FACET_STATIC          wheel   for `make wheel`
# With nothing missing it asks no network and needs no rights. When it cannot install, it says what is missing and what
# is done without it, and goes on where the program can be built all the same.
set -eu

required="gcc libc6-dev make cmake libopenblas-dev liblapacke-dev libyaml-dev"
program="$required pkg-config libsuitesparse-dev zlib1g-dev"
picture="python3 python3-numpy"
test="g++ libcmocka-dev python3-vtk9 gmsh gnuplot-nox clang-format procps"
lint="clang-tidy cppcheck libomp-dev"
static="gfortran"
wheel="python3 python3-venv"
mpi="libopenmpi-dev openmpi-bin libpetsc-real-dev libmetis-dev python3-mpi4py"

# What is done without a package that is not required; the first words are those of its message.
without() {
    case $1 in
        pkg-config) echo "facet-mpi is left out" ;;
        libsuitesparse-dev) echo "direct solves use LAPACK: slower beyond a few thousand unknowns" ;;
        zlib1g-dev) echo "VTU files are not compressed" ;;
        python3 | python3-numpy) echo "'facet view' makes no picture; ParaView opens the files" ;;
        libopenmpi-dev | openmpi-bin | libpetsc-real-dev | libmetis-dev) echo "facet-mpi is left out" ;;
        python3-mpi4py) echo "the test of Python over MPI is skipped" ;;
        python3-vtk9) echo "the tests that read VTU files with VTK are skipped" ;;
        gmsh) echo "the tests that make meshes with Gmsh are skipped" ;;
        *) echo "what needs it is left out" ;;
    esac
}

say() {
    echo "install-packages: $*" >&2
}

wanted=""
for list in "${@:-program}"; do
    case $list in
        program) wanted="$wanted $program" ;;
        picture) wanted="$wanted $picture" ;;
        mpi) wanted="$wanted $mpi" ;;
        test) wanted="$wanted $test" ;;
        lint) wanted="$wanted $lint" ;;
        static) wanted="$wanted $static" ;;
        wheel) wanted="$wanted $wheel" ;;
        --help)
            sed -n '2,7s/^# \?//p' "$0"
            exit 0
            ;;
        *)
            say "unknown list '$list'; the lists are program, picture, mpi, test, lint, static and wheel"
            exit 2
            ;;
    esac
done

# Whether a package's purpose is met by something that no package brought: a compiler, a cmake of the user's own.
is_there() {
    case $1 in
        gcc) command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 ;;
        make | cmake | gmsh | clang-format) command -v "$1" >/dev/null 2>&1 ;;
        *) return 1 ;;
    esac
}

# Ends the script when packages stay missing: well if the program can be built without them.
go_on_without() {
    lacking=""
    for package in $missing; do
        case " $required " in
            *" $package "*) lacking="$lacking $package" ;;
            *) say "without $package: $(without "$package")" ;;
        esac
    done
    if [ -n "$lacking" ]; then
        say "nothing can be built without$lacking. As root: apt-get install --no-install-recommends$missing"
        exit 1
    fi
    say "going on without them"
    exit 0
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    say "this is not a Debian system; there the packages that facet needs are called$wanted"
    exit 0 # CMake names what it does not find
fi

find_missing() {
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
    missing=""
    for package in $wanted; do
        case "$(echo "" $installed $missing "")" in
            *" $package "*) ;;
            *) is_there "$package" || missing="$missing $package" ;;
        esac
    done
}
find_missing
[ -n "$missing" ] || exit 0

say "missing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        say "they cannot be installed: this is not root, and there is no sudo"
        go_on_without
    fi
    as_root="sudo"
fi
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 "$@" >&2
}
begin=$(date +%s)
if ! apt update || ! apt install --no-install-recommends $missing; then
    find_missing
    say "the packages could not be installed (see above: no network, or no rights?); still missing:$missing"
    [ -z "$missing" ] || go_on_without
fi
say "installed in $(($(date +%s) - begin)) s"
