// An eighth of the unit ball in tets; -setnumber n 2 for smaller ones.
SetFactory("OpenCASCADE");
DefineConstant[n = 1];
Sphere(1) = {0, 0, 0, 1, 0, Pi/2, Pi/2};
skin() = Boundary{ Volume{1}; };
Transfinite Curve{:} = n + 1;
Mesh.MeshSizeMax = 1 / n;
Mesh.HighOrderOptimize = 0;
Physical Volume("ball", 1) = {1};
Physical Surface("skin", 2) = {skin()};
