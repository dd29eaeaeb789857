# gnuplot king2014-figure5.gp draws king2014-figure5.png and king2014-figure5.svg from king2014-figure5.dat
set title "Share of the stages in the total (king2014, Figure 5)"
set xlabel "P"
set ylabel "share"
set grid
set key outside
set yrange [0:*]
set terminal pngcairo size 1000,600
set output "king2014-figure5.png"
plot "king2014-figure5.dat" index 0 with linespoints lw 2 title "local matrices", \
     "king2014-figure5.dat" index 1 with linespoints lw 2 title "assembly", \
     "king2014-figure5.dat" index 2 with linespoints lw 2 title "solve", \
     "king2014-figure5.dat" index 3 with linespoints lw 2 title "recovery", \
     "king2014-figure5.dat" index 4 with lines dt 2 lw 2 title "local matrices", \
     "king2014-figure5.dat" index 5 with lines dt 2 lw 2 title "assembly", \
     "king2014-figure5.dat" index 6 with lines dt 2 lw 2 title "solve", \
     "king2014-figure5.dat" index 7 with lines dt 2 lw 2 title "recovery"
set terminal svg size 1000,600
set output "king2014-figure5.svg"
plot "king2014-figure5.dat" index 0 with linespoints lw 2 title "local matrices", \
     "king2014-figure5.dat" index 1 with linespoints lw 2 title "assembly", \
     "king2014-figure5.dat" index 2 with linespoints lw 2 title "solve", \
     "king2014-figure5.dat" index 3 with linespoints lw 2 title "recovery", \
     "king2014-figure5.dat" index 4 with lines dt 2 lw 2 title "local matrices", \
     "king2014-figure5.dat" index 5 with lines dt 2 lw 2 title "assembly", \
     "king2014-figure5.dat" index 6 with lines dt 2 lw 2 title "solve", \
     "king2014-figure5.dat" index 7 with lines dt 2 lw 2 title "recovery"
