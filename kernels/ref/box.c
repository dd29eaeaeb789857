/* What the kernels of HDG on a box compute (kernels/box.h): one cell, one face after another. */
#include <stddef.h>

#include "kernels/ref/ref.h"

#define L KERNEL_LANES

#define REAL       double
#define NAME(what) what##_ref
#define NUMBERS(p) (&(p)->f64)
#define TABLES     struct box_numbers
#include "kernels/ref/box_real.h"
#undef REAL
#undef NAME
#undef NUMBERS
#undef TABLES

#define REAL       float
#define NAME(what) what##_single_ref
#define NUMBERS(p) (&(p)->f32)
#define TABLES     struct box_numbers_single
#include "kernels/ref/box_real.h"
