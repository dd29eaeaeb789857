/* Includes TEMPLATE once for each precision, REAL being the type of its numbers: NAME(what) is the name of a
 * function, PICK(a, b) a in double and b in single precision, LANE eight numbers and LANES(what) a function
 * of simd/lane.h for them. The includer has defined OF(name). */
#define REAL        double
#define NAME(what)  OF(what)
#define PICK(a, b)  a
#define LANE        lane
#define LANES(what) lane_##what
#include TEMPLATE
#undef REAL
#undef NAME
#undef PICK
#undef LANE
#undef LANES

#define REAL        float
#define NAME(what)  OF(what##_single)
#define PICK(a, b)  b
#define LANE        lane_single
#define LANES(what) lane_##what##_single
#include TEMPLATE
#undef REAL
#undef NAME
#undef PICK
#undef LANE
#undef LANES
#undef TEMPLATE
