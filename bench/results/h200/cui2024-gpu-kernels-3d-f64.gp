# gnuplot cui2024-gpu-kernels-3d-f64.gp draws cui2024-gpu-kernels-3d-f64.png and cui2024-gpu-kernels-3d-f64.svg from cui2024-gpu-kernels-3d-f64.dat
set title "One smoothing step"
set xlabel "degree"
set ylabel "10^9 unknowns per second"
set grid
set key outside
set yrange [0:*]
set terminal pngcairo size 1000,600
set output "cui2024-gpu-kernels-3d-f64.png"
plot "cui2024-gpu-kernels-3d-f64.dat" index 0 with linespoints lw 2 title "global", \
     "cui2024-gpu-kernels-3d-f64.dat" index 1 with linespoints lw 2 title "separate basic", \
     "cui2024-gpu-kernels-3d-f64.dat" index 2 with linespoints lw 2 title "separate c.-f.", \
     "cui2024-gpu-kernels-3d-f64.dat" index 3 with linespoints lw 2 title "fused basic", \
     "cui2024-gpu-kernels-3d-f64.dat" index 4 with linespoints lw 2 title "fused linear", \
     "cui2024-gpu-kernels-3d-f64.dat" index 5 with linespoints lw 2 title "fused c.-f.", \
     "cui2024-gpu-kernels-3d-f64.dat" index 6 with linespoints lw 2 title "lines", \
     "cui2024-gpu-kernels-3d-f64.dat" index 7 with linespoints lw 2 title "tensor", \
     "cui2024-gpu-kernels-3d-f64.dat" index 8 with linespoints lw 2 title "default"
set terminal svg size 1000,600
set output "cui2024-gpu-kernels-3d-f64.svg"
plot "cui2024-gpu-kernels-3d-f64.dat" index 0 with linespoints lw 2 title "global", \
     "cui2024-gpu-kernels-3d-f64.dat" index 1 with linespoints lw 2 title "separate basic", \
     "cui2024-gpu-kernels-3d-f64.dat" index 2 with linespoints lw 2 title "separate c.-f.", \
     "cui2024-gpu-kernels-3d-f64.dat" index 3 with linespoints lw 2 title "fused basic", \
     "cui2024-gpu-kernels-3d-f64.dat" index 4 with linespoints lw 2 title "fused linear", \
     "cui2024-gpu-kernels-3d-f64.dat" index 5 with linespoints lw 2 title "fused c.-f.", \
     "cui2024-gpu-kernels-3d-f64.dat" index 6 with linespoints lw 2 title "lines", \
     "cui2024-gpu-kernels-3d-f64.dat" index 7 with linespoints lw 2 title "tensor", \
     "cui2024-gpu-kernels-3d-f64.dat" index 8 with linespoints lw 2 title "default"
