#!/bin/sh
# Random problems with known answers: none may end with status 0 and a wrong number. Eighty boxes, half of them extreme,
# and sixty of all families, none extreme.
try="$FACET_SOURCE_DIR/tools/try.py"
"${FACET_PYTHON:-python3}" "$try" 80 3 --family box --facet "$FACET_PROGRAM" || exit 1
exec "${FACET_PYTHON:-python3}" "$try" 60 5 --extreme 0 --facet "$FACET_PROGRAM"
