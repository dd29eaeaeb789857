#!/bin/bash
# Fuzzes the readers (Gmsh, case files, expressions) and facet.h with libFuzzer under the address and
# undefined-behaviour sanitizers, each target for SECONDS, and fails when one crashes, leaks, or takes 10 s for an input.
#   tools/fuzz.sh SECONDS [gmsh|case|expr|api]...
# The targets are built in build-fuzz (FACET_FUZZ_DIR). What is found lies there in finds/, what widened the coverage in
# corpus/; tests/fuzz/corpus is read, not written. FACET_FUZZ_MERGE=1 instead folds the coverage of corpus/ into
# tests/fuzz/corpus, with as few inputs as it takes.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -lt 1 ]; then
    sed -n '2,7s/^# \?//p' "$0" >&2
    exit 2
fi
seconds=$1
shift
targets=("${@:-}")
[ -n "${targets[0]}" ] || targets=(gmsh case expr api)
build=${FACET_FUZZ_DIR:-build-fuzz}
if ! command -v clang >/dev/null; then
    echo "fuzz: clang is not installed (Debian: clang libclang-rt-dev libomp-dev)" >&2
    exit 77
fi
env -u CC -u CFLAGS cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}" >/dev/null

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
failed=0
for target in "${targets[@]}"; do
    program=$build/tests/fuzz/fuzz_$target
    kept=tests/fuzz/corpus/$target
    found=$build/corpus/$target
    mkdir -p "$found" "$build/finds"
    if [ -n "${FACET_FUZZ_MERGE:-}" ]; then
        [ -d "$kept" ] || continue
        "$program" -set_cover_merge=1 -use_counters=0 -max_len=4096 "$kept" "$found"
        continue
    fi
    seeds=("$kept")
    words=(-dict="tests/fuzz/$target.dict")
    case $target in
    gmsh) seeds+=(tests/meshes) ;;
    case) seeds+=(tests/cases/good tests/cases/bad examples) ;;
    api) seeds=() words=(-max_len=512 -len_control=0) ;; # bytes are choices: there are no words, only sequences
    esac
    log=$build/fuzz_$target.log
    echo "fuzz_$target: $seconds s"
    if ! "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
        "${words[@]}" -artifact_prefix="$build/finds/$target-" "$found" "${seeds[@]}" \
        >"$log" 2>&1; then
        failed=1
        tail -n 60 "$log"
    fi
    grep -E '^#[0-9]+[[:space:]]+(DONE|INITED)|stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$log" || true
done
exit $failed
