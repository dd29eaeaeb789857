# gnuplot cui2024-gpu-roofline-chip.gp draws cui2024-gpu-roofline-chip.png and cui2024-gpu-roofline-chip.svg from cui2024-gpu-roofline-chip.dat
set title "Smoothing steps under the roofs of shared memory and FP64 units"
set xlabel "flop per byte of shared memory"
set ylabel "GFLOP/s"
set grid
set key outside
set logscale xy
set terminal pngcairo size 1000,600
set output "cui2024-gpu-roofline-chip.png"
plot "cui2024-gpu-roofline-chip.dat" index 0 with lines lw 2 title "roof", \
     "cui2024-gpu-roofline-chip.dat" index 1 with linespoints lw 2 title "fused c.-f.", \
     "cui2024-gpu-roofline-chip.dat" index 2 with linespoints lw 2 title "lines", \
     "cui2024-gpu-roofline-chip.dat" index 3 with linespoints lw 2 title "tensor"
set terminal svg size 1000,600
set output "cui2024-gpu-roofline-chip.svg"
plot "cui2024-gpu-roofline-chip.dat" index 0 with lines lw 2 title "roof", \
     "cui2024-gpu-roofline-chip.dat" index 1 with linespoints lw 2 title "fused c.-f.", \
     "cui2024-gpu-roofline-chip.dat" index 2 with linespoints lw 2 title "lines", \
     "cui2024-gpu-roofline-chip.dat" index 3 with linespoints lw 2 title "tensor"
