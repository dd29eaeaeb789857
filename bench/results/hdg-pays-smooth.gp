# gnuplot hdg-pays-smooth.gp draws hdg-pays-smooth.png and hdg-pays-smooth.svg from hdg-pays-smooth.dat
set title "Error against seconds by degree"
set xlabel "seconds"
set ylabel "error in L2"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "hdg-pays-smooth.png"
plot "hdg-pays-smooth.dat" index 0 with linespoints lw 2 title "HDG u", \
     "hdg-pays-smooth.dat" index 1 with linespoints lw 2 title "HDG u*", \
     "hdg-pays-smooth.dat" index 2 with linespoints lw 2 title "condensed", \
     "hdg-pays-smooth.dat" index 3 with linespoints lw 2 title "continuous"
set terminal svg size 1000,600
set output "hdg-pays-smooth.svg"
plot "hdg-pays-smooth.dat" index 0 with linespoints lw 2 title "HDG u", \
     "hdg-pays-smooth.dat" index 1 with linespoints lw 2 title "HDG u*", \
     "hdg-pays-smooth.dat" index 2 with linespoints lw 2 title "condensed", \
     "hdg-pays-smooth.dat" index 3 with linespoints lw 2 title "continuous"
