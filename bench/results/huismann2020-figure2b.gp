# gnuplot huismann2020-figure2b.gp draws huismann2020-figure2b.png and huismann2020-figure2b.svg from huismann2020-figure2b.dat
set title "Operators (huismann2020, Figure 2)"
set xlabel "p"
set ylabel "ms"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "huismann2020-figure2b.png"
plot "huismann2020-figure2b.dat" index 0 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure2b.dat" index 1 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure2b.dat" index 2 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure2b.dat" index 3 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure2b.dat" index 4 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure2b.dat" index 5 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure2b.dat" index 6 with linespoints lw 2 title "ours (condensed)"
set terminal svg size 1000,600
set output "huismann2020-figure2b.svg"
plot "huismann2020-figure2b.dat" index 0 with linespoints lw 2 title "HDG-TP", \
     "huismann2020-figure2b.dat" index 1 with linespoints lw 2 title "HDG-TPT", \
     "huismann2020-figure2b.dat" index 2 with linespoints lw 2 title "CCG-MM", \
     "huismann2020-figure2b.dat" index 3 with linespoints lw 2 title "CCG-TP", \
     "huismann2020-figure2b.dat" index 4 with linespoints lw 2 title "CCG-TPT", \
     "huismann2020-figure2b.dat" index 5 with linespoints lw 2 title "ours (HDG)", \
     "huismann2020-figure2b.dat" index 6 with linespoints lw 2 title "ours (condensed)"
