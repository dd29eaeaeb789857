// Physical numbers of curves and surfaces are the same: a curve between parts carries that of its surface.
Point(1) = {0, 0, 0, 0.25};
Point(2) = {2, 0, 0, 0.25};
Point(3) = {2, 1, 0, 0.25};
Point(4) = {0, 1, 0, 0.25};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 1};
Curve Loop(1) = {1, 2, 3, 4};
Plane Surface(1) = {1};
Physical Curve("cold", 1) = {4};
Physical Curve("hot", 2) = {2};
Physical Surface("plate", 1) = {1};
