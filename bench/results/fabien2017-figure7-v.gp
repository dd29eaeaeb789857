# gnuplot fabien2017-figure7-v.gp draws fabien2017-figure7-v.png and fabien2017-figure7-v.svg from fabien2017-figure7-v.dat
set title "fabien2017, Figure 7: V-cycles with FSAI of 2.5 times the fill"
set xlabel "cycle"
set ylabel "relative residual"
set grid
set key outside
set logscale y
set format y "%.0e"
set terminal pngcairo size 1000,600
set output "fabien2017-figure7-v.png"
plot "fabien2017-figure7-v.dat" index 0 with linespoints lw 2 title "p=2", \
     "fabien2017-figure7-v.dat" index 1 with linespoints lw 2 title "p=3", \
     "fabien2017-figure7-v.dat" index 2 with linespoints lw 2 title "p=4", \
     "fabien2017-figure7-v.dat" index 3 with linespoints lw 2 title "p=5", \
     "fabien2017-figure7-v.dat" index 4 with linespoints lw 2 title "p=6", \
     "fabien2017-figure7-v.dat" index 5 with linespoints lw 2 title "p=7", \
     "fabien2017-figure7-v.dat" index 6 with linespoints lw 2 title "p=8"
set terminal svg size 1000,600
set output "fabien2017-figure7-v.svg"
plot "fabien2017-figure7-v.dat" index 0 with linespoints lw 2 title "p=2", \
     "fabien2017-figure7-v.dat" index 1 with linespoints lw 2 title "p=3", \
     "fabien2017-figure7-v.dat" index 2 with linespoints lw 2 title "p=4", \
     "fabien2017-figure7-v.dat" index 3 with linespoints lw 2 title "p=5", \
     "fabien2017-figure7-v.dat" index 4 with linespoints lw 2 title "p=6", \
     "fabien2017-figure7-v.dat" index 5 with linespoints lw 2 title "p=7", \
     "fabien2017-figure7-v.dat" index 6 with linespoints lw 2 title "p=8"
