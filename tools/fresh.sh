#!/bin/bash
# What a stranger finds: runs the commands of the README in a bare Debian 12, each from nothing, and prints a table of
# minutes, packages, megabytes and exit codes. Needs root, debootstrap and the network; no machine on which somebody has
# built before can stand in for it. Usage:
#   tools/fresh.sh [--hard] [--folder DIR] [NAME...]       NAMEs choose among the trials; --list names them
# The bare system and the downloaded packages stay in DIR (default: /var/tmp/facet-fresh) for the next run; a trial works
# in a copy, DIR/NAME, which is removed when it went well. Its output is DIR/NAME.log. What is tried is the committed
# tree. --hard adds what goes wrong on machines that are set up differently. Exit status 0: every trial ended as it
# should.
set -uo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
folder=/var/tmp/facet-fresh
release=bookworm
user_id=1000 # of the ordinary user 'engineer' in there
plain="demo test mpi python install user user-bare user-required"
hard="offline read-only full-disk spaces old-cmake clang no-openmp no-avx archive no-cholmod no-zlib"
wanted=""

fail() {
    echo "fresh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --hard) wanted="$wanted $plain $hard" ;;
        --folder) folder=$2 && shift ;;
        --list) echo "$plain"; echo "--hard: $hard"; exit 0 ;;
        --help) sed -n '2,10s/^# \?//p' "$0"; exit 0 ;;
        -*) fail "unknown option '$1'; see --help" ;;
        *)
            case " $plain $hard " in
                *" $1 "*) wanted="$wanted $1" ;;
                *) fail "there is no trial '$1'; --list names them" ;;
            esac
            ;;
    esac
    shift
done
wanted=${wanted:-$plain}
[ "$(id -u)" -eq 0 ] || fail "this needs root, for debootstrap and chroot"
for tool in debootstrap unshare git; do
    command -v $tool >/dev/null || fail "$tool is missing (Debian: debootstrap, util-linux, git)"
done

# ------------------------------------------------------------------------------------------ the bare system

mkdir -p "$folder/archives/partial"
base=$folder/base
if [ ! -e "$base/complete" ]; then
    rm -rf "$base"
    echo "fresh: debootstrap of $release into $base"
    debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$base" >"$folder/debootstrap.log" 2>&1 ||
        fail "debootstrap failed: $(tail -n 3 "$folder/debootstrap.log")"
    useradd --root "$base" --uid $user_id --create-home --shell /bin/bash engineer
    touch "$base/complete"
fi
# Names and certificates of this network; the machine knows its own name, as every machine does.
cp -L /etc/resolv.conf "$base/etc/resolv.conf" 2>/dev/null
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$base/etc/hosts"
cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/ca-certificates.crt" 2>/dev/null
chown -R root:root "$base/etc/ssl"

# A copy with the committed tree in it, which belongs to root.
copy_system() {
    local name=$1
    rm -rf "${folder:?}/$name"
    cp -a --reflink=auto "$base" "$folder/$name"
    rm -rf "$folder/$name/home/engineer"/*
    git clone --quiet "$source" "$folder/$name/home/engineer/facet" || fail "the tree could not be cloned"
}

# Runs a script in the system NAME: inside NAME USER [FLAG of unshare] < script. The mounts end with it.
inside() {
    local name=$1 user=$2 flag=${3:-}
    cat >"$folder/$name/trial.sh"
    [ "$user" = root ] || chown -R "$user_id:$user_id" "$folder/$name/home/engineer"
    # shellcheck disable=SC2016
    env -i HOME="$([ "$user" = root ] && echo /root || echo "/home/$user")" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 TERM=dumb USER="$user" SYSTEM="$folder/$name" ARCHIVES="$folder/archives" \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        unshare --mount --pid --fork $flag bash -c '
            mount -t proc proc "$SYSTEM/proc" && mount --rbind /dev "$SYSTEM/dev" && mount --rbind /sys "$SYSTEM/sys" &&
            mount --bind "$ARCHIVES" "$SYSTEM/var/cache/apt/archives" || exit 99
            [ ! -x "$SYSTEM/prepare.sh" ] || "$SYSTEM/prepare.sh"
            exec chroot --userspec="$USER" "$SYSTEM" bash -e /trial.sh'
}

# ------------------------------------------------------------------------------------------ trials
# Each prepares its system and runs in it. Words that its output must have follow as patterns in $said; $expected is the
# status it must end with, "not 0" for a refusal.

root_trial() { # NAME and commands of root in a checkout
    copy_system "$1"
    inside "$1" root <<<"cd /home/engineer/facet; $2"
}

# Packages of these lists, without the tree.
with_packages() { # NAME LIST...
    local name=$1
    shift
    copy_system "$name"
    inside "$name" root <<<"cd /home/engineer/facet && tools/install-packages.sh $*" >"$folder/$name.packages.log" 2>&1
}

trial_demo() {
    said=("tip +-0.24179" "beam.png" "u L2  rate" "built without the benches")
    root_trial demo "make demo && ! build/facet bench"
}
trial_test() {
    said=("100% tests passed")
    root_trial test "make test"
}
trial_mpi() {
    said=("4 ranks" "sinks")
    root_trial mpi "make mpi"
}
trial_python() {
    said=("^0\.0932[0-9]* 0\.4740[0-9]* 0\.127" "first.vtu")
    copy_system python
    # The README's own lines: those of the shell that install, and those of Python.
    sed -n '/^```python/,/^```/p' "$source/README.md" | sed '/^```/d' >"$folder/python/home/engineer/readme.py"
    sed -n '/^```sh$/,/^```/p' "$source/README.md" | sed '/^```/d' >"$folder/python/home/engineer/readme.sh"
    inside python root <<'SCRIPT'
cd /home/engineer/facet
set -x
. ../readme.sh
mkdir ../empty && cd ../empty
python ../readme.py
ls
SCRIPT
}
trial_install() {
    said=("by pkg-config" "by CMake")
    copy_system install
    inside install root <<'SCRIPT'
cd /home/engineer/facet
make install PREFIX=/opt/facet
mkdir /work && cd /work && cp /opt/facet/share/facet/examples/01_box.c .
export PKG_CONFIG_PATH=$(dirname $(find /opt/facet -name facet.pc))
cc 01_box.c -o by_pkgconfig $(pkg-config --cflags --libs facet) -Wl,-rpath,$(pkg-config --variable=libdir facet) -lm
echo "by pkg-config:"; ./by_pkgconfig
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(user C)' 'find_package(facet REQUIRED)' \
    'add_executable(user 01_box.c)' 'target_link_libraries(user facet::facet m)' >CMakeLists.txt
cmake -S . -B b -DCMAKE_PREFIX_PATH=/opt/facet && cmake --build b
echo "by CMake:"; ./b/user
/opt/facet/bin/facet solve /opt/facet/share/facet/examples/poisson.yaml
/opt/facet/bin/facet bench | head -n 3
SCRIPT
}
trial_user() {
    said=("tip +-0.24179" "beam.png")
    with_packages user program picture
    inside user engineer <<<"cd ~/facet && make demo"
}
trial_user-bare() {
    said=("missing: gcc" "not root, and there is no sudo" "nothing can be built without gcc" "apt-get install")
    expected="not 0"
    copy_system user-bare
    inside user-bare engineer <<<"cd ~/facet && make demo"
}
trial_user-required() {
    said=("without libsuitesparse-dev: direct solves use LAPACK" "without zlib1g-dev" "without python3" "tip +-0.24179"
          "No picture was made")
    copy_system user-required
    inside user-required root <<<'cd /home/engineer/facet; eval "$(grep ^required= tools/install-packages.sh)"
        apt-get update; apt-get install -y --no-install-recommends $required' >"$folder/user-required.packages.log" 2>&1
    inside user-required engineer <<<"cd ~/facet && make demo"
}

trial_offline() {
    said=("could not be installed" "nothing can be built without gcc")
    expected="not 0"
    copy_system offline
    rm -rf "$folder/offline/var/lib/apt/lists"/*
    inside offline root --net <<<"cd /home/engineer/facet; make demo"
}
trial_read-only() {
    said=("cannot be written; build elsewhere: make BUILD=" "tip +-0.24179" "beam.png")
    with_packages read-only program picture
    chmod -R a-w "$folder/read-only/home/engineer/facet"
    inside read-only engineer <<<"cd ~/facet; ! make demo && make demo BUILD=/tmp/facet"
}
trial_full-disk() {
    said=("has only [0-9]+ MB left")
    expected="not 0"
    with_packages full-disk program picture
    printf '#!/bin/sh\nmount -t tmpfs -o size=100m none "$SYSTEM/mnt" && chmod 777 "$SYSTEM/mnt"\n' >"$folder/full-disk/prepare.sh"
    chmod +x "$folder/full-disk/prepare.sh"
    inside full-disk engineer <<<"cd ~/facet && make demo BUILD=/mnt/facet"
}
trial_spaces() {
    said=("tip +-0.24179" "beam.png")
    with_packages spaces program picture
    mv "$folder/spaces/home/engineer/facet" "$folder/spaces/home/engineer/my \$facet, (new)"
    inside spaces engineer <<<'cd ~/"my \$facet, (new)" && make demo && make -s install PREFIX=/tmp/prefix && /tmp/prefix/bin/facet info'
}
trial_old-cmake() {
    said=("cmake version 3.22" "tip +-0.24179")
    with_packages old-cmake program picture wheel
    inside old-cmake engineer <<'SCRIPT'
python3 -m venv ~/venv && ~/venv/bin/pip install --quiet 'cmake==3.22.*'
export PATH=~/venv/bin:$PATH && cmake --version
cd ~/facet && make demo
SCRIPT
}
trial_clang() {
    said=("clang" "threads    2" "tip +-0.24179")
    with_packages clang program picture
    inside clang root <<<"apt-get install -y --no-install-recommends clang libomp-dev" >>"$folder/clang.packages.log" 2>&1
    inside clang engineer <<<"cd ~/facet && CC=clang make demo && build/facet info"
}
trial_no-openmp() {
    said=("OpenMP is not used" "libomp-dev" "1 thread" "tip +-0.24179")
    with_packages no-openmp program picture
    inside no-openmp root <<<"apt-get install -y --no-install-recommends clang" >>"$folder/no-openmp.packages.log" 2>&1
    inside no-openmp engineer <<<"cd ~/facet && CC=clang make demo"
}
trial_no-avx() { # a processor of 2008, by emulation
    said=("kernels for none" "tip +-0.24179")
    with_packages no-avx program picture
    inside no-avx root <<<"apt-get install -y --no-install-recommends qemu-user" >>"$folder/no-avx.packages.log" 2>&1
    inside no-avx engineer <<'SCRIPT'
cd ~/facet && make demo >/dev/null
export OPENBLAS_CORETYPE=Nehalem
qemu-x86_64 -cpu Nehalem build/facet info | head -n 2
qemu-x86_64 -cpu Nehalem build/facet solve examples/beam.yaml --threads 1
SCRIPT
}
trial_archive() {
    said=("facet 0\.[0-9.]+ \(commit $(git -C "$source" rev-parse --short HEAD)" "tip +-0.24179")
    with_packages archive program picture
    rm -rf "$folder/archive/home/engineer/facet"
    git -C "$source" archive --prefix=facet/ HEAD | tar -x -C "$folder/archive/home/engineer"
    inside archive engineer <<<"cd ~/facet && make demo && build/facet --version"
}
trial_no-cholmod() {
    said=("CHOLMOD is not used" "tip +-0.24179")
    with_packages no-cholmod program picture
    inside no-cholmod root <<<"apt-get remove -y libsuitesparse-dev" >>"$folder/no-cholmod.packages.log" 2>&1
    inside no-cholmod engineer <<<"cd ~/facet && make demo"
}
trial_no-zlib() {
    said=("zlib is not used" "tip +-0.24179" "beam.png")
    with_packages no-zlib program picture
    inside no-zlib root <<<"apt-get remove -y zlib1g-dev" >>"$folder/no-zlib.packages.log" 2>&1
    inside no-zlib engineer <<<"cd ~/facet && make demo"
}

# ------------------------------------------------------------------------------------------ the table

commit=$(git -C "$source" rev-parse --short HEAD)
table=$folder/table.md
{
    echo "$(date -u +%Y-%m-%d), commit $commit, $(nproc) processors, Debian 12 (minbase with git and make)"
    echo
    echo "| trial | as | packages | MB to fetch | minutes installing | minutes in all | exit | verdict |"
    echo "|---|---|---|---|---|---|---|---|"
} >"$table"
bad=0
for name in $wanted; do
    log=$folder/$name.log
    said=() expected=0
    echo "fresh: $name (output in $log)"
    begin=$(date +%s)
    "trial_$name" >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    verdict=good
    case "$expected, $status" in
        "0, 0" | "not 0, "[1-9]*) ;;
        *) verdict="ended with $status" ;;
    esac
    for words in "${said[@]}"; do
        grep -Eq -- "$words" "$log" || verdict="$verdict; did not say '$words'"
    done
    packages=$(sed -n 's/.* \([0-9]*\) newly installed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
    megabytes=$(sed -n 's|^Need to get \([0-9.,]* [kM]\?B/\)\?\([0-9.,]*\) \([kM]\?\)B of archives.*|\2 \3|p' "$log" |
        awk '{ gsub(",", "", $1); n += $1 * ($2 == "M" ? 1 : $2 == "k" ? 0.001 : 1e-6) } END { printf "%.0f", n }')
    installing=$(sed -n 's/^install-packages: installed in \([0-9]*\) s$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
    awk -v name="$name" -v user="$([ "${name#user}" = "$name" ] && echo root || echo user)" -v p="$packages" \
        -v m="$megabytes" -v i="$installing" -v s="$seconds" -v e="$status" -v v="$verdict" \
        'BEGIN { printf "| %s | %s | %d | %d | %.1f | %.1f | %d | %s |\n", name, user, p, m, i / 60, s / 60, e, v }' >>"$table"
    tail -n 1 "$table"
    if [ "$verdict" = good ]; then
        rm -rf "${folder:?}/$name"
    else
        bad=$((bad + 1))
    fi
done
echo
cat "$table"
[ $bad -eq 0 ] || { echo "fresh: $bad trials did not end as they should"; exit 1; }
