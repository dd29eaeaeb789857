// A plate of 300 mm x 200 mm with a round bore in a bush. Lengths in metres.
//
//      +--------------- insulated ----------------+
//      |                   ____                   |     the bush: curved quads between two circles
//   heated               / bush \               held    the plate: curved triangles around it
//      |                | ( bore ) |              |
//      |                 \ ____ /                 |
//      +--------------- insulated ----------------+
width = 0.30;
height = 0.20;
x0 = 0.165; // the centre of the bore
y0 = 0.115;
inner = 0.025;
outer = 0.050;

Point(1) = {0, 0, 0};
Point(2) = {width, 0, 0};
Point(3) = {width, height, 0};
Point(4) = {0, height, 0};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 1};
Point(10) = {x0, y0, 0};
For i In {0:3}
    c = Cos(Pi/4 + i*Pi/2);
    s = Sin(Pi/4 + i*Pi/2);
    Point(11 + i) = {x0 + inner*c, y0 + inner*s, 0};
    Point(21 + i) = {x0 + outer*c, y0 + outer*s, 0};
    Line(31 + i) = {11 + i, 21 + i};
EndFor
For i In {0:3}
    next = (i + 1) % 4;
    Circle(11 + i) = {11 + i, 10, 11 + next};
    Circle(21 + i) = {21 + i, 10, 21 + next};
    Curve Loop(11 + i) = {31 + i, 21 + i, -(31 + next), -(11 + i)};
    Plane Surface(11 + i) = {11 + i};
EndFor
Curve Loop(1) = {1, 2, 3, 4};
Curve Loop(2) = {21, 22, 23, 24};
Plane Surface(1) = {1, 2};

Transfinite Curve{11:14, 21:24} = 6; // points on a quarter of a circle
Transfinite Curve{31:34} = 3;
Transfinite Surface{11:14};
Recombine Surface{11:14};
Mesh.MeshSizeMin = 0.016;
Mesh.MeshSizeMax = 0.022;
Mesh.Algorithm = 6;

Physical Curve("insulated") = {1, 3};
Physical Curve("held") = {2};
Physical Curve("heated") = {4};
Physical Curve("bore") = {11:14};
Physical Surface("plate") = {1};
Physical Surface("bush") = {11:14};
