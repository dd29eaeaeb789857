# gnuplot huismann2020-solvers-seconds.gp draws huismann2020-solvers-seconds.png and huismann2020-solvers-seconds.svg from huismann2020-solvers-seconds.dat
set title "Solvers (huismann2020, Figure 4)"
set xlabel "p"
set ylabel "seconds"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "huismann2020-solvers-seconds.png"
plot "huismann2020-solvers-seconds.dat" index 0 with linespoints lw 2 title "HDG-unprec", \
     "huismann2020-solvers-seconds.dat" index 1 with linespoints lw 2 title "HDG-diag", \
     "huismann2020-solvers-seconds.dat" index 2 with linespoints lw 2 title "HDG-block", \
     "huismann2020-solvers-seconds.dat" index 3 with linespoints lw 2 title "HDG-trans", \
     "huismann2020-solvers-seconds.dat" index 4 with linespoints lw 2 title "CCG-unprec", \
     "huismann2020-solvers-seconds.dat" index 5 with linespoints lw 2 title "CCG-diag", \
     "huismann2020-solvers-seconds.dat" index 6 with linespoints lw 2 title "CCG-block", \
     "huismann2020-solvers-seconds.dat" index 7 with linespoints lw 2 title "CCG-trans", \
     "huismann2020-solvers-seconds.dat" index 8 with linespoints lw 2 title "trans, our operator", \
     "huismann2020-solvers-seconds.dat" index 9 with linespoints lw 2 title "additive", \
     "huismann2020-solvers-seconds.dat" index 10 with linespoints lw 2 title "Chebyshev", \
     "huismann2020-solvers-seconds.dat" index 11 with linespoints lw 2 title "vertex stars", \
     "huismann2020-solvers-seconds.dat" index 12 with linespoints lw 2 title "condensed, two levels", \
     "huismann2020-solvers-seconds.dat" index 13 with linespoints lw 2 title "direct, trace", \
     "huismann2020-solvers-seconds.dat" index 14 with linespoints lw 2 title "direct, volume", \
     "huismann2020-solvers-seconds.dat" index 15 with linespoints lw 2 title "continuous, direct"
set terminal svg size 1000,600
set output "huismann2020-solvers-seconds.svg"
plot "huismann2020-solvers-seconds.dat" index 0 with linespoints lw 2 title "HDG-unprec", \
     "huismann2020-solvers-seconds.dat" index 1 with linespoints lw 2 title "HDG-diag", \
     "huismann2020-solvers-seconds.dat" index 2 with linespoints lw 2 title "HDG-block", \
     "huismann2020-solvers-seconds.dat" index 3 with linespoints lw 2 title "HDG-trans", \
     "huismann2020-solvers-seconds.dat" index 4 with linespoints lw 2 title "CCG-unprec", \
     "huismann2020-solvers-seconds.dat" index 5 with linespoints lw 2 title "CCG-diag", \
     "huismann2020-solvers-seconds.dat" index 6 with linespoints lw 2 title "CCG-block", \
     "huismann2020-solvers-seconds.dat" index 7 with linespoints lw 2 title "CCG-trans", \
     "huismann2020-solvers-seconds.dat" index 8 with linespoints lw 2 title "trans, our operator", \
     "huismann2020-solvers-seconds.dat" index 9 with linespoints lw 2 title "additive", \
     "huismann2020-solvers-seconds.dat" index 10 with linespoints lw 2 title "Chebyshev", \
     "huismann2020-solvers-seconds.dat" index 11 with linespoints lw 2 title "vertex stars", \
     "huismann2020-solvers-seconds.dat" index 12 with linespoints lw 2 title "condensed, two levels", \
     "huismann2020-solvers-seconds.dat" index 13 with linespoints lw 2 title "direct, trace", \
     "huismann2020-solvers-seconds.dat" index 14 with linespoints lw 2 title "direct, volume", \
     "huismann2020-solvers-seconds.dat" index 15 with linespoints lw 2 title "continuous, direct"
