// Two layers of a pipe for examples/contact.yaml: a quarter of 1 < r < 1.5 and of 1.5 < r < 2, in 2 x 4 quads each.
Point(1) = {0, 0, 0};
For i In {0:2}
  r = 1 + i/2;
  Point(10 + i) = {r, 0, 0};
  Point(20 + i) = {0, r, 0};
  Circle(10 + i) = {10 + i, 1, 20 + i};
EndFor
For i In {0:1}
  Line(20 + i) = {10 + i, 11 + i};
  Line(30 + i) = {20 + i, 21 + i};
  Curve Loop(i + 1) = {20 + i, 11 + i, -(30 + i), -(10 + i)};
  Plane Surface(i + 1) = {i + 1};
EndFor
Transfinite Curve {10, 11, 12} = 5;
Transfinite Curve {20, 21, 30, 31} = 3;
Transfinite Surface {1, 2};
Recombine Surface {1, 2};
Physical Surface("pipe") = {1};
Physical Surface("jacket") = {2};
Physical Curve("inner") = {10};
Physical Curve("outer") = {12};
