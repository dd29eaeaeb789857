/* Plain C: products along one axis of a lattice, and between lattices and vectors in lanes. */
#include "kernels/box.h"
#include "kernels/ref/ref.h"

#define TEMPLATE "kernels/ref/axis_real.h"
#include "kernels/twice.h"
