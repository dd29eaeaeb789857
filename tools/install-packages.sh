#!/bin/sh
# Installs the Debian packages that are missing, and nothing else. Usage: install-packages.sh [build|lint|static|wheel|mpi]...
# (default: build). With nothing missing it asks no network and needs no rights. When it cannot install, it says what
# is missing and goes on as long as there is a compiler, make, cmake and pkg-config: the configuration then names the
# library it cannot do without.
set -eu

build="build-essential cmake pkg-config libopenblas-dev liblapacke-dev libsuitesparse-dev libyaml-dev zlib1g-dev
libcmocka-dev python3 python3-numpy python3-vtk9 gmsh gnuplot-nox clang-format"
lint="clang-tidy cppcheck libomp-dev"
static="gfortran"
wheel="python3-venv"
mpi="libopenmpi-dev openmpi-bin libpetsc-real-dev libmetis-dev python3-mpi4py"

say() {
    echo "install-packages: $*" >&2
}

wanted=""
for list in "${@:-build}"; do
    case $list in
        build) wanted="$wanted $build" ;;
        lint) wanted="$wanted $lint" ;;
        static) wanted="$wanted $static" ;;
        wheel) wanted="$wanted $wheel" ;;
        mpi) wanted="$wanted $mpi" ;;
        *)
            say "unknown list '$list'; the lists are build, lint, static, wheel and mpi"
            exit 2
            ;;
    esac
done

# Ends the script when packages stay missing: well if the tools to go on are there.
go_on_without() {
    for tool in cc make cmake pkg-config; do
        if ! command -v $tool >/dev/null 2>&1; then
            say "$tool is not there either: nothing can be built"
            exit 1
        fi
    done
    say "going on with what is there"
    exit 0
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    say "this is not a Debian system; what is needed has there the names:" $wanted
    go_on_without
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
missing=""
for package in $wanted; do
    case "
$installed
" in
        *"
$package
"*) ;;
        *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

say "missing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        say "not root, and no sudo; as root: apt-get install --no-install-recommends$missing"
        go_on_without
    fi
    as_root="sudo"
fi
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 "$@" >&2
}
if ! apt update || ! apt install --no-install-recommends $missing; then
    say "apt-get failed; still missing, in whole or in part:$missing"
    go_on_without
fi
