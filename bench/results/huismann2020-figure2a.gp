# gnuplot huismann2020-figure2a.gp draws huismann2020-figure2a.png and huismann2020-figure2a.svg from huismann2020-figure2a.dat
set title "Operators (huismann2020, Figure 2)"
set xlabel "p"
set ylabel "ms"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "huismann2020-figure2a.png"
plot "huismann2020-figure2a.dat" index 0 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure2a.dat" index 1 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure2a.dat" index 2 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure2a.dat" index 3 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure2a.dat" index 4 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure2a.dat" index 5 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure2a.dat" index 6 with linespoints lw 2 title "ours (condensed)"
set terminal svg size 1000,600
set output "huismann2020-figure2a.svg"
plot "huismann2020-figure2a.dat" index 0 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure2a.dat" index 1 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure2a.dat" index 2 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure2a.dat" index 3 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure2a.dat" index 4 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure2a.dat" index 5 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure2a.dat" index 6 with linespoints lw 2 title "ours (condensed)"
