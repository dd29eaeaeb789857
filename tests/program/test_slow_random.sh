#!/bin/sh
# The same with a thousand boxes, and five hundred of all families, some of them on two to five ranks where FACET_MPI_PROGRAM
# says how.
try="$FACET_SOURCE_DIR/tools/try.py"
"${FACET_PYTHON:-python3}" "$try" 1000 1 -j 2 --family box --facet "$FACET_PROGRAM" || exit 1
ranks=${FACET_MPI_PROGRAM:+--mpi "$FACET_MPI_PROGRAM"}
# shellcheck disable=SC2086 # two words or none
exec "${FACET_PYTHON:-python3}" "$try" 500 5 -j 2 --extreme 0 --facet "$FACET_PROGRAM" $ranks
