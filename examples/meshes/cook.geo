// Cook's membrane: a tapered panel, 48 wide, 44 high on its clamped side and 16 on its loaded one: quads.
cells = 8;
Point(1) = {0, 0, 0};
Point(2) = {48, 44, 0};
Point(3) = {48, 60, 0};
Point(4) = {0, 44, 0};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 1};
Curve Loop(1) = {1, 2, 3, 4};
Plane Surface(1) = {1};
Transfinite Curve{1:4} = cells + 1;
Transfinite Surface{1};
Recombine Surface{1};
Physical Curve("clamped") = {4};
Physical Curve("loaded") = {2};
Physical Curve("free") = {1, 3};
Physical Surface("panel") = {1};
