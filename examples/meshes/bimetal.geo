// The strip of examples/bimetal.yaml: two layers of 100 x 1, in millimetres, of 40 x 2 quads each.
For i In {0:2}
  Point(2*i + 1) = {0, i, 0};
  Point(2*i + 2) = {100, i, 0};
  Line(i + 1) = {2*i + 1, 2*i + 2};
EndFor
For i In {0:1}
  Line(10 + i) = {2*i + 1, 2*i + 3};
  Line(20 + i) = {2*i + 2, 2*i + 4};
  Curve Loop(i + 1) = {i + 1, 20 + i, -(i + 2), -(10 + i)};
  Plane Surface(i + 1) = {i + 1};
EndFor
Transfinite Curve {1, 2, 3} = 41;
Transfinite Curve {10, 11, 20, 21} = 3;
Transfinite Surface {1, 2};
Recombine Surface {1, 2};
Physical Surface("steel") = {1};
Physical Surface("brass") = {2};
Physical Curve("clamp") = {10, 11};
