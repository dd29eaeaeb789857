// A unit square whose right side repeats the left: the file has a $Periodic section.
Point(1) = {0, 0, 3};
Point(2) = {1, 0, 3};
Point(3) = {1, 1, 3};
Point(4) = {0, 1, 3};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 1};
Curve Loop(1) = {1:4};
Plane Surface(1) = {1};
Transfinite Curve{1:4} = 3;
Periodic Curve{2} = {-4} Translate{1, 0, 0};
Physical Surface("square") = {1};
Physical Curve("left") = {4};
Physical Curve("right") = {2};
