// n x n x n hexes, skew, and on them n x n layers of pyramids and tets.
DefineConstant[n = 2];
Point(1) = {0, 0, 0};
a[] = Extrude{1, 0, 0} { Point{1}; Layers{n}; };
b[] = Extrude{0.2, 1, 0} { Curve{a[1]}; Layers{n}; Recombine; };
c[] = Extrude{0, 0.1, 1} { Surface{b[1]}; Layers{n}; Recombine; };
d[] = Extrude{0.1, 0, 0.5} { Surface{c[0]}; Layers{1}; QuadTriAddVerts; Recombine; };
Physical Volume("lower") = {c[1]};
Physical Volume("upper") = {d[1]};
