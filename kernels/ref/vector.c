/* Plain C: the specification of the vector and matrix kernels, whose bodies stand in vector_real.h. */
#include <stddef.h>

#include "kernels/ref/ref.h"

#define TEMPLATE "kernels/ref/vector_real.h"
#include "kernels/twice.h"
