#!/bin/bash
# Compares facet's continuous elements on a box with deal.II's matrix-free multigrid, on this machine in one run.
# Usage: bench/peers/dealii/run.sh TABLE.md [DEGREE]...      (default: 3 4 5 6 7)
# It installs Debian's deal.II if that is missing (as root or with sudo; 1.9 GB of disk), builds poisson.cc twice, with
# the flags of the package and with those for this processor, runs each on one core and on two, then facet on the same
# problem if it is there, and writes one table. Variables: BUILD (where the peer is built; default build/peer-dealii),
# FACET (default build/facet), MIN_DOFS (2e6), SMOOTHER (degree of the Chebyshev smoother, 5), REPEATS (3: the fastest
# solve counts), CORES ("1 2").
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
if [ $# -lt 1 ]; then
    echo "usage: run.sh TABLE.md [DEGREE]..." >&2
    exit 2
fi
table=$1
shift
degrees=${*:-3 4 5 6 7}
build=${BUILD:-$root/build/peer-dealii}
facet=${FACET:-$root/build/facet}
min_dofs=${MIN_DOFS:-2e6}
smoother=${SMOOTHER:-5}
repeats=${REPEATS:-3}
cores_list=${CORES:-1 2}

say() {
    echo "peer: $*" >&2
}

install_package() {
    if dpkg-query -W -f '${db:Status-Status}\n' libdeal.ii-dev openmpi-bin 2>/dev/null | grep -c '^installed' |
        grep -qx 2; then
        return 0
    fi
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { say "not root, and no sudo: install libdeal.ii-dev yourself"; exit 3; }
        as_root=sudo
    fi
    if [ "$(df --output=avail -k /usr | tail -1)" -lt 3000000 ]; then
        say "less than 3 GB are free for libdeal.ii-dev and the packages it needs"
        exit 3
    fi
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 update >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 install \
        --no-install-recommends libdeal.ii-dev openmpi-bin >&2
}

# One process at a time: the compiler takes up to 3 GB.
build_peer() { # NAME FLAGS
    say "building with the flags of the package${2:+ and ${2//;/ }}"
    if ! { cmake -S "$here" -B "$build/$1" -DCMAKE_BUILD_TYPE=Release -DPEER_FLAGS="$2" &&
        cmake --build "$build/$1"; } >"$build/$1.log" 2>&1; then
        tail -20 "$build/$1.log" >&2
        say "the build failed; all of it is in $build/$1.log"
        exit 3
    fi
}

run_peer() { # NAME DEGREE CORES
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --bind-to none --oversubscribe -np "$3" \
        "$build/$1/poisson" "$2" "$min_dofs" "$smoother" "$repeats" >"$build/line"
    sed "s/^/program=$1 /" "$build/line" >>"$build/records"
    tail -1 "$build/records" >&2
}

# The same cells as the peer's last run. `exact` sets the source and, on every side, u = 0 up to rounding.
write_case() { # DEGREE
    local n
    n=$(sed -n 's/.* cells=\([0-9]*\) .*/\1/p' "$build/line")
    cat >"$build/case.yaml" <<CASE
title: Poisson on the unit cube, degree $1, $n cells in each direction
mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [$n, $n, $n], shape: hex}}
equation: diffusion
exact: sin(pi*x)*sin(pi*y)*sin(pi*z)
discretization: {method: continuous, degree: $1}
solver: {method: multigrid, precision: mixed, rtol: 1.0e-9}
CASE
}

run_facet() { # DEGREE CORES
    for _ in $(seq "$repeats"); do
        if ! "$facet" solve "$build/case.yaml" --threads "$2" --quiet --json "$build/facet.json" 2>"$build/facet.err"; then
            say "facet refused degree $1: $(head -1 "$build/facet.err")"
            return 0
        fi
        echo "program=facet degree=$1 processes=$2 $(facet_record)" >>"$build/records"
    done
    tail -1 "$build/records" >&2
}

facet_record() {
    python3 - "$build/facet.json" <<'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
print("iterations=%d residual=%.2e setup=%.3f solve=%.3f l2=%.3e" % (
    run["solver"]["iterations"], run["solver"]["residual"], run["seconds"].get("setup", 0),
    run["seconds"].get("load", 0) + run["seconds"]["solve"],
    run["errors"]["u"]["L2"]))
PYTHON
}

write_table() {
    python3 - "$build/records" "$min_dofs" "$smoother" "$repeats" "$facet_version" <<'PYTHON'
import datetime, os, sys
records = [dict(p.split("=", 1) for p in line.split()) for line in open(sys.argv[1])]
_, _, min_dofs, smoother, repeats, version = sys.argv
best = {}
for r in records:
    key = (int(r["degree"]), int(r["processes"]), r["program"])
    if key not in best or float(r["solve"]) < float(best[key]["solve"]):
        best[key] = r
if version != "not there" and not any(r["program"] == "facet" for r in records):
    version += ", which refused the case"
names = {"package": "deal.II", "native": "deal.II, native", "facet": "facet"}
lanes = next((r for r in records if "lanes_double" in r), {"lanes_double": "?", "lanes_float": "?"})
processor = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
print("""# peer-dealii

-Laplace u = f on the unit cube, u = prod sin(pi x_i), Q_k on equal cells, solved to a relative residual of 1e-9 with cycles in
single precision inside an iteration in double precision. `deal.II` is built with the flags of Debian's package, `native` with
-O3 -march=native besides; both have %s lane(s) of double and %s of float. CPU seconds are those of all processes together.
`ratio` is the time of `deal.II` over that of the row; `ratio / 3` is what would be left if it had the lanes of AVX-512.

- command: `bench/peers/dealii/run.sh`, at least %s DoF, Chebyshev degree %s, fastest of %s solves
- date: %s, processor: %s, %d cores, load when it ended: %.1f
- deal.II of Debian: %s; facet: %s

| k | cells | DoF | cores | program | iterations | setup s | solve s | solve CPU s | us/DoF | CPU us/DoF | L2 error | ratio | ratio / 3 |
|--:|------:|----:|------:|---------|-----------:|--------:|--------:|------------:|-------:|-----------:|---------:|------:|----------:|""" % (
    lanes["lanes_double"], lanes["lanes_float"], min_dofs, smoother, repeats, datetime.date.today(), processor,
    os.cpu_count(), os.getloadavg()[0], os.popen("dpkg-query -W -f '${Version}' libdeal.ii-dev").read(), version))
for degree, cores in sorted({key[:2] for key in best}):
    peer = best.get((degree, cores, "package"))
    for program in names:
        r = best.get((degree, cores, program))
        if r is None or peer is None:
            continue
        dofs = float(peer["dofs"])  # of all nodes, those on the boundary too: the same number for every program
        solve, cpu = float(r["solve"]), float(r["cpu"]) if "cpu" in r else None
        ratio = float(peer["solve"]) / solve
        print("| %d | %s | %d | %d | %s | %s | %s | %s | %s | %.3f | %s | %s | %.2f | %s |" % (
            degree, peer["cells"], dofs, cores, names[program], r["iterations"], r["setup"], r["solve"],
            r.get("cpu", "-"), 1e6 * solve / dofs, "-" if cpu is None else "%.3f" % (1e6 * cpu / dofs), r["l2"], ratio,
            "%.2f" % (ratio / 3) if program == "facet" else "-"))
PYTHON
}

install_package
mkdir -p "$build"
: >"$build/records"
build_peer package ""
build_peer native "-O3;-march=native"
facet_version="not there"
if [ -x "$facet" ]; then
    facet_version=$("$facet" --version 2>/dev/null | head -1 || true)
fi
for degree in $degrees; do
    for cores in $cores_list; do
        run_peer package "$degree" "$cores"
        run_peer native "$degree" "$cores"
        if [ -x "$facet" ]; then
            write_case "$degree"
            run_facet "$degree" "$cores"
        fi
    done
done
write_table >"$table.$$.part"
mv "$table.$$.part" "$table"
say "wrote $table"
