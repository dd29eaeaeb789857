// A tripod: a round top on three slanted legs that stand on the plane z = 0. Straight tets, about 3000.
SetFactory("OpenCASCADE");
radius = 0.3; thick = 0.12; height = 1.0; // of the top
foot = 0.62; hip = 0.17; leg = 0.075;     // distance of a leg from the axis below and above, its radius
Cylinder(1) = {0, 0, height - thick, 0, 0, thick, radius};
For i In {0:2}
    c = Cos(2*Pi*i/3);
    s = Sin(2*Pi*i/3);
    slope = (foot - hip)/(height - thick/2);
    // from below the ground into the middle of the top
    Cylinder(2 + i) = {(foot + 0.2*slope)*c, (foot + 0.2*slope)*s, -0.2,
                       -(foot - hip + 0.2*slope)*c, -(foot - hip + 0.2*slope)*s, height - thick/2 + 0.2, leg};
EndFor
Box(9) = {-2, -2, -1, 4, 4, 1};
all() = BooleanUnion{ Volume{1}; Delete; }{ Volume{2:4}; Delete; };
body() = BooleanDifference{ Volume{all()}; Delete; }{ Volume{9}; Delete; };
e = 1e-4;
feet() = Surface In BoundingBox{-2, -2, -e, 2, 2, e};
top() = Surface In BoundingBox{-2, -2, height - e, 2, 2, height + e};
free() = Surface{:};
free() -= {feet(), top()};
Physical Volume("body", 1) = {body()};
Physical Surface("feet", 2) = {feet()};
Physical Surface("top", 3) = {top()};
Physical Surface("free", 4) = {free()};
Mesh.MeshSizeMin = 0.0555;
Mesh.MeshSizeMax = 0.0555;
Mesh.Optimize = 1;
