// Hexes, and above them pyramids and tets.
Point(1) = {0, 0, 0};
a[] = Extrude{1, 0, 0} { Point{1}; Layers{2}; };
b[] = Extrude{0, 1, 0} { Curve{a[1]}; Layers{2}; Recombine; };
c[] = Extrude{0, 0, 1} { Surface{b[1]}; Layers{2}; Recombine; };
d[] = Extrude{0, 0, 0.5} { Surface{c[0]}; Layers{1}; QuadTriAddVerts; Recombine; };
Physical Volume("lower") = {c[1]};
Physical Volume("upper") = {d[1]};
