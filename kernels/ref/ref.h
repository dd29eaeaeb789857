/* The specification: name_ref and name_single_ref for every kernel of kernels.def. */
#ifndef FACET_KERNELS_REF_H
#define FACET_KERNELS_REF_H

#include "kernels/kernels.h"

#define OF(name) name##_ref
#include "kernels/declare.h"

#endif
