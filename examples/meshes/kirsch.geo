// A quarter of a square plate, 2 x 4 on each side, with a round hole of radius 1 in its middle: curved quads, finer
// towards the hole.
//
//   4 +------- top -------+
//     |                 / |
//   left              /   |
//     |             /   right      two patches on both sides of the diagonal
//   1 *--.        /       |
//         hole. /         |
//              * - bottom-+
//     0        1          4
size = 4;
cells = 6; // along each half of the hole
Point(1) = {0, 0, 0};
Point(2) = {1, 0, 0};
Point(3) = {Cos(Pi/4), Sin(Pi/4), 0};
Point(4) = {0, 1, 0};
Point(5) = {size, 0, 0};
Point(6) = {size, size, 0};
Point(7) = {0, size, 0};
Circle(1) = {2, 1, 3};
Circle(2) = {3, 1, 4};
Line(3) = {2, 5};
Line(4) = {3, 6};
Line(5) = {4, 7};
Line(6) = {5, 6};
Line(7) = {6, 7};
Curve Loop(1) = {3, 6, -4, -1};
Curve Loop(2) = {4, 7, -5, -2};
Plane Surface(1) = {1};
Plane Surface(2) = {2};
Transfinite Curve{1, 2, 6, 7} = cells + 1;
Transfinite Curve{3, 4, 5} = cells + 1 Using Progression 1.3;
Transfinite Surface{1, 2};
Recombine Surface{1, 2};
Physical Curve("bottom") = {3};
Physical Curve("right") = {6};
Physical Curve("top") = {7};
Physical Curve("left") = {5};
Physical Curve("hole") = {1, 2};
Physical Surface("plate") = {1, 2};
