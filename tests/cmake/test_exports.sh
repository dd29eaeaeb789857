#!/bin/bash
# The shared library: its SONAME, and that it exports what facet.h declares and nothing else.
set -euo pipefail
exported=$(nm -D --defined-only "$FACET_LIBRARY" | awk '{sub(/@.*/, "", $3); print $3}' | sort)
declared=$("$CC" -E -P -I"$FACET_SOURCE_DIR/include" "$FACET_SOURCE_DIR/include/facet.h" | tr -d '\n' | tr ';{}' '\n' |
    sed -n 's/.*visibility("default").* \**\(facet_[A-Za-z0-9_]*\) *(.*/\1/p' | sort)
failed=0
if ! readelf -d "$FACET_LIBRARY" | grep -q 'SONAME.*\[libfacet\.so\.0\]'; then
    echo "the SONAME is not libfacet.so.0"
    failed=1
fi
for name in $(comm -23 <(echo "$exported") <(echo "$declared")); do
    echo "exported, but not declared in facet.h: $name"
    failed=1
done
for name in $(comm -13 <(echo "$exported") <(echo "$declared")); do
    echo "declared in facet.h, but not exported: $name"
    failed=1
done
echo "$(echo "$declared" | wc -w) functions declared, $(echo "$exported" | wc -w) symbols exported"
exit $failed
