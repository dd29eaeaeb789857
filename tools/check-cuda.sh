#!/bin/sh
# Compiles the CUDA sources, without optimization and without a GPU: what breaks them is seen where nvcc is. Exit status
# 77 (skipped) where it is not. The intermediate code is enough to find errors and warnings, in instances of templates
# too; with FACET_LONG the assembler sees them as well.
set -u
cd "$(dirname "$0")/.." || exit 3
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || { echo "check-cuda: there is no nvcc"; exit 77; }
out=$(mktemp) || exit 3
trap 'rm -f "$out"' EXIT
form="-gencode arch=compute_90,code=lto_90 -dc -ltoir"
[ -n "${FACET_LONG-}" ] && form="-arch=sm_90 -ptx"
n=0 failed=0
for source in kernels/cuda/*.cu bench/papers/*.cu; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # the form is several words
    "$nvcc" $form -std=c++17 -I. -Iinclude -Isrc -Xcicc -O0 -Werror all-warnings "$source" -o "$out" ||
        failed=$((failed + 1))
done
echo "check-cuda: $n sources, $failed failed"
[ $failed -eq 0 ]
