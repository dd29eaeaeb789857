# gnuplot fabien2019-tas-1e6-speed.gp draws fabien2019-tas-1e6-speed.png and fabien2019-tas-1e6-speed.svg from fabien2019-tas-1e6-speed.dat
set title "fabien2019, Figure 17: section 4.2, lambda = 1e6 mu"
set xlabel "unknowns of the trace"
set ylabel "unknowns per second"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "fabien2019-tas-1e6-speed.png"
plot "fabien2019-tas-1e6-speed.dat" index 0 with linespoints lw 2 title "k = 1", \
     "fabien2019-tas-1e6-speed.dat" index 1 with linespoints lw 2 title "k = 2", \
     "fabien2019-tas-1e6-speed.dat" index 2 with linespoints lw 2 title "k = 3", \
     "fabien2019-tas-1e6-speed.dat" index 3 with linespoints lw 2 title "k = 4", \
     "fabien2019-tas-1e6-speed.dat" index 4 with linespoints lw 2 title "k = 5", \
     "fabien2019-tas-1e6-speed.dat" index 5 with linespoints lw 2 title "k = 6"
set terminal svg size 1000,600
set output "fabien2019-tas-1e6-speed.svg"
plot "fabien2019-tas-1e6-speed.dat" index 0 with linespoints lw 2 title "k = 1", \
     "fabien2019-tas-1e6-speed.dat" index 1 with linespoints lw 2 title "k = 2", \
     "fabien2019-tas-1e6-speed.dat" index 2 with linespoints lw 2 title "k = 3", \
     "fabien2019-tas-1e6-speed.dat" index 3 with linespoints lw 2 title "k = 4", \
     "fabien2019-tas-1e6-speed.dat" index 4 with linespoints lw 2 title "k = 5", \
     "fabien2019-tas-1e6-speed.dat" index 5 with linespoints lw 2 title "k = 6"
