#!/bin/bash
# Two hosts on one machine: network and UTS namespaces (so that they have names of their own) joined by a pair of cables,
# one rank in each: every message goes through TCP. Compares the values of a case with those of one process. By hand, as root, since it needs rights:
#     tests/dist/two-hosts.sh [CASE]          (default: examples/tripod.yaml; programs in build/)
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/../.."
case=${1:-$PWD/examples/tripod.yaml}
[ "${case#/}" != "$case" ] || case=$here/$case
place=$(mktemp -d)
names=("facet-a-$$" "facet-b-$$")
clean() {
    for name in "${names[@]}"; do ip netns del "$name" 2>/dev/null || true; done
    rm -rf "$place"
}
trap clean EXIT

for i in 0 1; do
    ip netns add "${names[$i]}"
    ip netns exec "${names[$i]}" ip link set lo up
done
ip link add "fa$$" netns "${names[0]}" type veth peer name "fb$$" netns "${names[1]}"
ip netns exec "${names[0]}" ip addr add 10.77.0.1/24 dev "fa$$"
ip netns exec "${names[1]}" ip addr add 10.77.0.2/24 dev "fb$$"
ip netns exec "${names[0]}" ip link set "fa$$" up
ip netns exec "${names[1]}" ip link set "fb$$" up

# What mpiexec takes for ssh: the command, in the namespace of the host.
cat >"$place/shell" <<END
#!/bin/bash
host=\$1
shift
[ "\$host" = 10.77.0.2 ] && exec ip netns exec ${names[1]} unshare --uts bash -c "hostname ${names[1]}; \$*"
exec ip netns exec ${names[0]} bash -c "\$*"
END
chmod +x "$place/shell"

build/facet solve "$case" --quiet --threads 1 --json "$place/one.json" --output "$place/one.vtu" \
    --set solver.rtol=1e-12
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 \
    ip netns exec "${names[0]}" mpiexec --host 10.77.0.1:1,10.77.0.2:1 -n 2 --mca plm_rsh_agent "$place/shell" \
    --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
    "$PWD/build/facet-mpi" solve "$case" --quiet --json "$place/two.json" --output "$place/two.vtu" \
    --set solver.rtol=1e-12
sent=$(ip netns exec "${names[0]}" cat /sys/class/net/fa$$/statistics/tx_bytes)
python3 - "$place/one.json" "$place/two.json" "$sent" <<'END'
import json, sys
one, two = (json.load(open(name)) for name in sys.argv[1:3])
worst = 0.0
for name, value in one["values"].items():
    a, b = (v if isinstance(v, list) else [v] for v in (value, two["values"][name]))
    flat = lambda x: [z for y in x for z in (flat(y) if isinstance(y, list) else [y])]
    a, b = flat(a), flat(b)
    size = max(max(abs(x) for x in a), 1e-3)
    worst = max([worst] + [abs(x - y) / size for x, y in zip(a, b)])
print(f"iterations {one['solver']['iterations']} and {two['solver']['iterations']}, values differ by {worst:.1e}, "
      f"{float(sys.argv[3]) / 1e6:.1f} MB through the cable")
sys.exit(worst > 1e-9)
END
