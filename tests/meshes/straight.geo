// A triangle and a parallelogram with straight sides: the nodes of every order are images of the lattice.
Point(1) = {0, 0, 0};
Point(2) = {2, 0.5, 0};
Point(3) = {0.5, 1.5, 0};
Point(4) = {3, -1, 0};
Point(5) = {1, -1.5, 0};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 1};
Line(4) = {1, 5};
Line(5) = {5, 4};
Line(6) = {4, 2};
Curve Loop(1) = {1, 2, 3};
Plane Surface(1) = {1};
Curve Loop(2) = {4, 5, 6, -1};
Plane Surface(2) = {2};
Transfinite Curve{1:6} = 2;
Transfinite Surface{1, 2};
Recombine Surface{2};
