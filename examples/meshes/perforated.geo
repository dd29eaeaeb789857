// The unit cell of examples/perforated.yaml: a square of side 1 with a hole of radius 1/4, whose right and upper sides
// repeat the left and the lower one.
lc = 0.22;
Point(1) = {-0.5, -0.5, 0, lc};
Point(2) = {0.5, -0.5, 0, lc};
Point(3) = {0.5, 0.5, 0, lc};
Point(4) = {-0.5, 0.5, 0, lc};
Point(5) = {0, 0, 0};
For i In {0:3}
  Point(10 + i) = {0.25*Cos(i*Pi/2), 0.25*Sin(i*Pi/2), 0, 0.13};
EndFor
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {4, 3};
Line(4) = {1, 4};
For i In {0:3}
  Circle(10 + i) = {10 + i, 5, 10 + (i + 1) % 4};
EndFor
Curve Loop(1) = {1, 2, -3, -4};
Curve Loop(2) = {10:13};
Plane Surface(1) = {1, 2};
Periodic Curve {2} = {4} Translate {1, 0, 0};
Periodic Curve {3} = {1} Translate {0, 1, 0};
Physical Surface("plate") = {1};
Physical Curve("hole") = {10:13};
