// One eighth of a hollow sphere, inner radius 1, outer radius 2: curved tets.
Point(1) = {0, 0, 0};
For i In {1:2}
    Point(10*i + 1) = {i, 0, 0};
    Point(10*i + 2) = {0, i, 0};
    Point(10*i + 3) = {0, 0, i};
    Circle(10*i + 1) = {10*i + 1, 1, 10*i + 2};
    Circle(10*i + 2) = {10*i + 2, 1, 10*i + 3};
    Circle(10*i + 3) = {10*i + 3, 1, 10*i + 1};
    Curve Loop(10*i) = {10*i + 1, 10*i + 2, 10*i + 3};
    Surface(10*i) = {10*i};
EndFor
For j In {1:3}
    Line(30 + j) = {10 + j, 20 + j};
EndFor
Curve Loop(41) = {11, 32, -21, -31}; // z = 0
Curve Loop(42) = {12, 33, -22, -32}; // x = 0
Curve Loop(43) = {13, 31, -23, -33}; // y = 0
Plane Surface(41) = {41};
Plane Surface(42) = {42};
Plane Surface(43) = {43};
Surface Loop(1) = {10, 20, 41, 42, 43};
Volume(1) = {1};
Mesh.MeshSizeMin = 0.6;
Mesh.MeshSizeMax = 0.6;
Mesh.HighOrderOptimize = 2;
Physical Surface("inner") = {10};
Physical Surface("outer") = {20};
Physical Surface("zmin") = {41};
Physical Surface("xmin") = {42};
Physical Surface("ymin") = {43};
Physical Volume("wall") = {1};
