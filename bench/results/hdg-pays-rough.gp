# gnuplot hdg-pays-rough.gp draws hdg-pays-rough.png and hdg-pays-rough.svg from hdg-pays-rough.dat
set title "Error against seconds by degree"
set xlabel "seconds"
set ylabel "error in L2"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "hdg-pays-rough.png"
plot "hdg-pays-rough.dat" index 0 with linespoints lw 2 title "HDG u", \
     "hdg-pays-rough.dat" index 1 with linespoints lw 2 title "HDG u*", \
     "hdg-pays-rough.dat" index 2 with linespoints lw 2 title "condensed", \
     "hdg-pays-rough.dat" index 3 with linespoints lw 2 title "continuous"
set terminal svg size 1000,600
set output "hdg-pays-rough.svg"
plot "hdg-pays-rough.dat" index 0 with linespoints lw 2 title "HDG u", \
     "hdg-pays-rough.dat" index 1 with linespoints lw 2 title "HDG u*", \
     "hdg-pays-rough.dat" index 2 with linespoints lw 2 title "condensed", \
     "hdg-pays-rough.dat" index 3 with linespoints lw 2 title "continuous"
