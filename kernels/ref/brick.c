/* Plain C: the specification of the kernels on bricks, whose bodies stand in brick_real.h. */
#include "kernels/brick.h"

#include "kernels/ref/ref.h"

#define REAL       double
#define NAME(what) what##_ref
#define TABLE      table
#include "kernels/ref/brick_real.h"
#undef REAL
#undef NAME
#undef TABLE

#define REAL       float
#define NAME(what) what##_single_ref
#define TABLE      single
#include "kernels/ref/brick_real.h"
