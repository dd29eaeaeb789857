/* Plain C: the specification of the vector and matrix kernels, whose bodies stand in vector_real.h. */
#include <stddef.h>

#include "kernels/ref/ref.h"

#define TEMPLATE "kernels/ref/vector_real.h"
#include "kernels/twice.h"

void put_entries_ref(int64_t n, const int64_t *places, const double *values, double *x) {
    for (int64_t i = 0; i < n; i++) x[places[i]] = values != NULL ? values[i] : 0.0;
}
