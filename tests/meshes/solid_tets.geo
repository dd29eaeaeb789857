// Two tets that share a face.
Point(1) = {0, 0, 0};
Point(2) = {1, 0, 0.2};
Point(3) = {0, 2, 0};
Point(4) = {0.1, 0, 3};
Point(5) = {1, 2, 3};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 1};
Line(4) = {1, 4};
Line(5) = {2, 4};
Line(6) = {3, 4};
Line(7) = {2, 5};
Line(8) = {3, 5};
Line(9) = {4, 5};
Curve Loop(1) = {1, 2, 3};
Curve Loop(2) = {1, 5, -4};
Curve Loop(3) = {2, 6, -5};
Curve Loop(4) = {3, 4, -6};
Curve Loop(5) = {2, 8, -7};
Curve Loop(6) = {5, 9, -7};
Curve Loop(7) = {6, 9, -8};
For i In {1:7}
  Plane Surface(i) = {i};
EndFor
Surface Loop(1) = {1, 2, 3, 4};
Surface Loop(2) = {3, 5, 6, 7};
Volume(1) = {1};
Volume(2) = {2};
Transfinite Curve{1:9} = 2;
Physical Volume("solid", 1) = {1, 2};
Physical Surface("skin", 2) = {1, 2, 4, 5, 6, 7};
