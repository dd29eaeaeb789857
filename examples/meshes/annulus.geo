// The annulus 1 < r < 2: a coarse mesh of curved triangles, to be refined by the program.
For i In {0:3}
    c = Cos(i*Pi/2);
    s = Sin(i*Pi/2);
    Point(1 + i) = {c, s, 0};
    Point(5 + i) = {2*c, 2*s, 0};
EndFor
Point(9) = {0, 0, 0};
For i In {0:3}
    next = (i + 1) % 4;
    Circle(1 + i) = {1 + i, 9, 1 + next};
    Circle(5 + i) = {5 + i, 9, 5 + next};
EndFor
Curve Loop(1) = {1:4};
Curve Loop(2) = {5:8};
Plane Surface(1) = {2, 1};

Transfinite Curve{1:4} = 4;
Transfinite Curve{5:8} = 5;
Mesh.MeshSizeMin = 0.7;

Physical Curve("inner") = {1:4};
Physical Curve("outer") = {5:8};
Physical Surface("ring") = {1};
