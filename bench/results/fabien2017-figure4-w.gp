# gnuplot fabien2017-figure4-w.gp draws fabien2017-figure4-w.png and fabien2017-figure4-w.svg from fabien2017-figure4-w.dat
set title "fabien2017, Figure 4: the same with W-cycles"
set xlabel "cycle"
set ylabel "relative residual"
set grid
set key outside
set logscale y
set format y "%.0e"
set terminal pngcairo size 1000,600
set output "fabien2017-figure4-w.png"
plot "fabien2017-figure4-w.dat" index 0 with linespoints lw 2 title "p=2", \
     "fabien2017-figure4-w.dat" index 1 with linespoints lw 2 title "p=3", \
     "fabien2017-figure4-w.dat" index 2 with linespoints lw 2 title "p=4", \
     "fabien2017-figure4-w.dat" index 3 with linespoints lw 2 title "p=5", \
     "fabien2017-figure4-w.dat" index 4 with linespoints lw 2 title "p=6", \
     "fabien2017-figure4-w.dat" index 5 with linespoints lw 2 title "p=7", \
     "fabien2017-figure4-w.dat" index 6 with linespoints lw 2 title "p=8"
set terminal svg size 1000,600
set output "fabien2017-figure4-w.svg"
plot "fabien2017-figure4-w.dat" index 0 with linespoints lw 2 title "p=2", \
     "fabien2017-figure4-w.dat" index 1 with linespoints lw 2 title "p=3", \
     "fabien2017-figure4-w.dat" index 2 with linespoints lw 2 title "p=4", \
     "fabien2017-figure4-w.dat" index 3 with linespoints lw 2 title "p=5", \
     "fabien2017-figure4-w.dat" index 4 with linespoints lw 2 title "p=6", \
     "fabien2017-figure4-w.dat" index 5 with linespoints lw 2 title "p=7", \
     "fabien2017-figure4-w.dat" index 6 with linespoints lw 2 title "p=8"
