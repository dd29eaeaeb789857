# gnuplot huismann2020-figure5.gp draws huismann2020-figure5.png and huismann2020-figure5.svg from huismann2020-figure5.dat
set title "Iterations by penalty (huismann2020, Figure 5)"
set xlabel "p"
set ylabel "iterations"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "huismann2020-figure5.png"
plot "huismann2020-figure5.dat" index 0 with linespoints lw 2 title "HDG-trans, tau = 1", \
     "huismann2020-figure5.dat" index 1 with linespoints lw 2 title "additive, tau = 1", \
     "huismann2020-figure5.dat" index 2 with linespoints lw 2 title "HDG-trans, tau = 25", \
     "huismann2020-figure5.dat" index 3 with linespoints lw 2 title "additive, tau = 25", \
     "huismann2020-figure5.dat" index 4 with linespoints lw 2 title "HDG-trans, tau = 625", \
     "huismann2020-figure5.dat" index 5 with linespoints lw 2 title "additive, tau = 625"
set terminal svg size 1000,600
set output "huismann2020-figure5.svg"
plot "huismann2020-figure5.dat" index 0 with linespoints lw 2 title "HDG-trans, tau = 1", \
     "huismann2020-figure5.dat" index 1 with linespoints lw 2 title "additive, tau = 1", \
     "huismann2020-figure5.dat" index 2 with linespoints lw 2 title "HDG-trans, tau = 25", \
     "huismann2020-figure5.dat" index 3 with linespoints lw 2 title "additive, tau = 25", \
     "huismann2020-figure5.dat" index 4 with linespoints lw 2 title "HDG-trans, tau = 625", \
     "huismann2020-figure5.dat" index 5 with linespoints lw 2 title "additive, tau = 625"
