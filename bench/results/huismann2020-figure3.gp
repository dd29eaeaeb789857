# gnuplot huismann2020-figure3.gp draws huismann2020-figure3.png and huismann2020-figure3.svg from huismann2020-figure3.dat
set title "Roofline (huismann2020, Figure 3)"
set xlabel "flop per byte"
set ylabel "GFLOP/s"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "huismann2020-figure3.png"
plot "huismann2020-figure3.dat" index 0 with lines lw 2 title "roof: triad, DGEMM", \
     "huismann2020-figure3.dat" index 1 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure3.dat" index 2 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure3.dat" index 3 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure3.dat" index 4 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure3.dat" index 5 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure3.dat" index 6 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure3.dat" index 7 with linespoints lw 2 title "ours (condensed)"
set terminal svg size 1000,600
set output "huismann2020-figure3.svg"
plot "huismann2020-figure3.dat" index 0 with lines lw 2 title "roof: triad, DGEMM", \
     "huismann2020-figure3.dat" index 1 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure3.dat" index 2 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure3.dat" index 3 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure3.dat" index 4 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure3.dat" index 5 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure3.dat" index 6 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure3.dat" index 7 with linespoints lw 2 title "ours (condensed)"
