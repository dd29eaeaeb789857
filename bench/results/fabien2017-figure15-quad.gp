# gnuplot fabien2017-figure15-quad.gp draws fabien2017-figure15-quad.png and fabien2017-figure15-quad.svg from fabien2017-figure15-quad.dat
set title "Achieved bandwidth of the trace product (fabien2017, Figure 15)"
set xlabel "degree"
set ylabel "GB/s"
set grid
set key outside
set yrange [0:*]
set terminal pngcairo size 1000,600
set output "fabien2017-figure15-quad.png"
plot "fabien2017-figure15-quad.dat" index 0 with lines lw 2 title "STREAM triad", \
     "fabien2017-figure15-quad.dat" index 1 with linespoints lw 2 title "cells", \
     "fabien2017-figure15-quad.dat" index 2 with linespoints lw 2 title "facets", \
     "fabien2017-figure15-quad.dat" index 3 with linespoints lw 2 title "ELL", \
     "fabien2017-figure15-quad.dat" index 4 with linespoints lw 2 title "CSR"
set terminal svg size 1000,600
set output "fabien2017-figure15-quad.svg"
plot "fabien2017-figure15-quad.dat" index 0 with lines lw 2 title "STREAM triad", \
     "fabien2017-figure15-quad.dat" index 1 with linespoints lw 2 title "cells", \
     "fabien2017-figure15-quad.dat" index 2 with linespoints lw 2 title "facets", \
     "fabien2017-figure15-quad.dat" index 3 with linespoints lw 2 title "ELL", \
     "fabien2017-figure15-quad.dat" index 4 with linespoints lw 2 title "CSR"
