#!/bin/bash
# Fuzzes every reader for a minute (tools/fuzz.sh), in a build of its own with clang; without clang it says so and counts
# as skipped.
set -euo pipefail
cd "$FACET_SOURCE_DIR"
FACET_FUZZ_DIR="$FACET_BUILD_DIR/fuzz" exec tools/fuzz.sh 60
