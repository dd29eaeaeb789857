// Hexes for 0 < x < 1, prisms beside them for 1 < x < 2, and above the hexes pyramids and tets.
Point(1) = {0, 0, 0};
a[] = Extrude{1, 0, 0} { Point{1}; Layers{2}; };
b[] = Extrude{0, 1, 0} { Curve{a[1]}; Layers{2}; Recombine; };
c[] = Extrude{1, 0, 0} { Curve{Fabs(b[2])}; Layers{2}; };
d[] = Extrude{0, 0, 1} { Surface{b[1]}; Layers{2}; Recombine; };
e[] = Extrude{0, 0, 1} { Surface{c[1]}; Layers{2}; Recombine; };
f[] = Extrude{0, 0, 0.5} { Surface{d[0]}; Layers{1}; QuadTriAddVerts; Recombine; };
Physical Surface("bottom") = {b[1], c[1]};
Physical Volume("bricks") = {d[1]};
Physical Volume("layers") = {e[1]};
Physical Volume("cap") = {f[1]};
