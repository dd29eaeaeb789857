/* Plain C: the element-wise product with the trace matrix. */
#include "kernels/ref/ref.h"

#define TEMPLATE "kernels/ref/cell_real.h"
#include "kernels/twice.h"

#define TEMPLATE "kernels/ref/row_real.h"
#include "kernels/twice.h"
