/* Includes TEMPLATE once for each precision, REAL being the type of its numbers: NAME(what) is the name of a
 * function, PICK(a, b) a in double and b in single precision, LANE eight numbers and LANES(what) a function
 * of simd/lane.h for them, PACKET the WIDTH that one register holds of them and PARTS how many of these they
 * are, FOUR four numbers. The includer has defined OF(name). */
#define REAL        double
#define NAME(what)  OF(what)
#define PICK(a, b)  a
#define LANE        lane
#define LANES(what) lane_##what
#define PACKET      packet
#define PARTS       (L / PART)
#define WIDTH       PART
#define FOUR        four
#include TEMPLATE
#undef REAL
#undef NAME
#undef PICK
#undef LANE
#undef LANES
#undef PACKET
#undef PARTS
#undef WIDTH
#undef FOUR

#define REAL        float
#define NAME(what)  OF(what##_single)
#define PICK(a, b)  b
#define LANE        lane_single
#define LANES(what) lane_##what##_single
#define PACKET      packet_single
#define PARTS       (L / PART_SINGLE)
#define WIDTH       PART_SINGLE
#define FOUR        four_single
#include TEMPLATE
#undef REAL
#undef NAME
#undef PICK
#undef LANE
#undef LANES
#undef PACKET
#undef PARTS
#undef WIDTH
#undef FOUR
#undef TEMPLATE
