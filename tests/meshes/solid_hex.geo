// One hexahedron, a parallelepiped; with -setnumber prism 1 two prisms.
DefineConstant[prism = 0];
Point(1) = {0, 0, 0};
Extrude{1, 0, 0} { Point{1}; Layers{1}; }
If (prism)
  Extrude{0.3, 1, 0} { Curve{1}; Layers{1}; }
Else
  Extrude{0.3, 1, 0} { Curve{1}; Layers{1}; Recombine; }
EndIf
Extrude{0, 0.2, 1} { Surface{5}; Layers{1}; Recombine; }
Physical Volume("solid", 1) = {1};
