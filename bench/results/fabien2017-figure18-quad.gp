# gnuplot fabien2017-figure18-quad.gp draws fabien2017-figure18-quad.png and fabien2017-figure18-quad.svg from fabien2017-figure18-quad.dat
set title "Work and precision by degree"
set xlabel "seconds"
set ylabel "error in L2"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "fabien2017-figure18-quad.png"
plot "fabien2017-figure18-quad.dat" index 0 with linespoints lw 2 title "u", \
     "fabien2017-figure18-quad.dat" index 1 with linespoints lw 2 title "u*"
set terminal svg size 1000,600
set output "fabien2017-figure18-quad.svg"
plot "fabien2017-figure18-quad.dat" index 0 with linespoints lw 2 title "u", \
     "fabien2017-figure18-quad.dat" index 1 with linespoints lw 2 title "u*"
