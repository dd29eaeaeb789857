# gnuplot cui2024-gpu-kernels-2d-f32.gp draws cui2024-gpu-kernels-2d-f32.png and cui2024-gpu-kernels-2d-f32.svg from cui2024-gpu-kernels-2d-f32.dat
set title "One smoothing step"
set xlabel "degree"
set ylabel "10^9 unknowns per second"
set grid
set key outside
set yrange [0:*]
set terminal pngcairo size 1000,600
set output "cui2024-gpu-kernels-2d-f32.png"
plot "cui2024-gpu-kernels-2d-f32.dat" index 0 with linespoints lw 2 title "global", \
     "cui2024-gpu-kernels-2d-f32.dat" index 1 with linespoints lw 2 title "lines", \
     "cui2024-gpu-kernels-2d-f32.dat" index 2 with linespoints lw 2 title "tensor", \
     "cui2024-gpu-kernels-2d-f32.dat" index 3 with linespoints lw 2 title "default"
set terminal svg size 1000,600
set output "cui2024-gpu-kernels-2d-f32.svg"
plot "cui2024-gpu-kernels-2d-f32.dat" index 0 with linespoints lw 2 title "global", \
     "cui2024-gpu-kernels-2d-f32.dat" index 1 with linespoints lw 2 title "lines", \
     "cui2024-gpu-kernels-2d-f32.dat" index 2 with linespoints lw 2 title "tensor", \
     "cui2024-gpu-kernels-2d-f32.dat" index 3 with linespoints lw 2 title "default"
