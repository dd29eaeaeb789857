# gnuplot fabien2017-figure16-triangle.gp draws fabien2017-figure16-triangle.png and fabien2017-figure16-triangle.svg from fabien2017-figure16-triangle.dat
set title "Roofline of the trace product (fabien2017, Figures 16 and 17)"
set xlabel "flop per byte"
set ylabel "GFLOP/s"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "fabien2017-figure16-triangle.png"
plot "fabien2017-figure16-triangle.dat" index 0 with lines lw 2 title "roof: triad, DGEMM", \
     "fabien2017-figure16-triangle.dat" index 1 with points lw 2 title "cells", \
     "fabien2017-figure16-triangle.dat" index 2 with points lw 2 title "facets", \
     "fabien2017-figure16-triangle.dat" index 3 with points lw 2 title "ELL", \
     "fabien2017-figure16-triangle.dat" index 4 with points lw 2 title "CSR"
set terminal svg size 1000,600
set output "fabien2017-figure16-triangle.svg"
plot "fabien2017-figure16-triangle.dat" index 0 with lines lw 2 title "roof: triad, DGEMM", \
     "fabien2017-figure16-triangle.dat" index 1 with points lw 2 title "cells", \
     "fabien2017-figure16-triangle.dat" index 2 with points lw 2 title "facets", \
     "fabien2017-figure16-triangle.dat" index 3 with points lw 2 title "ELL", \
     "fabien2017-figure16-triangle.dat" index 4 with points lw 2 title "CSR"
