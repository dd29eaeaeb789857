// The unit square, quads on the left of a slanted line and triangles on its right, all of them irregular.
Point(1) = {0, 0, 0};
Point(2) = {0.40, 0, 0};
Point(3) = {1, 0, 0};
Point(4) = {1, 1, 0};
Point(5) = {0.65, 1, 0};
Point(6) = {0, 1, 0};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 5};
Line(5) = {5, 6};
Line(6) = {6, 1};
Line(7) = {2, 5};
Curve Loop(1) = {1, 7, 5, 6};
Plane Surface(1) = {1};
Curve Loop(2) = {2, 3, 4, -7};
Plane Surface(2) = {2};

Transfinite Curve{1, 2, 4, 5} = 3;
Transfinite Curve{3, 6, 7} = 4;
Transfinite Curve{6} = 4 Using Progression 1.3; // the sides of the quads do not run parallel
Transfinite Curve{7} = 4 Using Progression 0.8;
Transfinite Surface{1};
Recombine Surface{1};

Physical Curve("border") = {1:6};
Physical Surface("quads") = {1};
Physical Surface("triangles") = {2};
