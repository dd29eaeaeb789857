/* What the kernels of HDG on a box compute (kernels/box.h): one cell, one face after another. */
#include <stddef.h>

#include "kernels/ref/ref.h"

#define NUMBERS(p) (&(p)->PICK(f64, f32))
#define TABLES     struct PICK(box_numbers, box_numbers_single)
#define TEMPLATE   "kernels/ref/box_real.h"
#include "kernels/twice.h"
