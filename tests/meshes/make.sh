#!/bin/sh
# Makes the meshes of tests/test_gmsh.c from the .geo files beside it. Needs gmsh; run it in this folder.
set -e
mesh() { # output, source, options
    file=$1 source=$2
    shift 2
    gmsh -v 1 "$source" "$@" -o "$file"
}
formats() { # output without ending, source, options
    base=$1
    shift
    mesh "${base}_22.msh" "$@" -format msh22
    mesh "${base}_22b.msh" "$@" -format msh22 -bin
    mesh "${base}_41.msh" "$@" -format msh41
    mesh "${base}_41b.msh" "$@" -format msh41 -bin
}
for order in 1 2 3 4 5 6 7 8 9; do
    formats annulus_$order annulus.geo -2 -order $order
    mesh straight_$order.msh straight.geo -2 -order $order -format msh41 -bin
    mesh tets_$order.msh solid_tets.geo -3 -order $order -format msh41 -bin
done
for order in 1 2 3 4 5 6; do
    mesh hex_$order.msh solid_hex.geo -3 -order $order -format msh41 -bin
    mesh prisms_$order.msh solid_hex.geo -3 -order $order -setnumber prism 1 -format msh41 -bin
    mesh pyramids_$order.msh transition.geo -3 -order $order -setnumber n 1 -format msh41 -bin
done
for order in 1 2 3 4; do
    for solid in ball pipe; do
        formats ${solid}_$order $solid.geo -3 -order $order
        mesh ${solid}_${order}_fine.msh $solid.geo -3 -order $order -setnumber n 2 -format msh41 -bin
    done
done
formats periodic periodic.geo -2
mesh parametric_41.msh annulus.geo -2 -order 3 -save_parametric -format msh41
mesh parametric_41b.msh annulus.geo -2 -order 3 -save_parametric -format msh41 -bin
mesh parametric_tets.msh solid_tets.geo -3 -order 2 -save_parametric -format msh41 -bin
mesh parametric_22.msh annulus.geo -2 -order 2 -save_parametric -format msh22
mesh serendipity_2.msh annulus.geo -2 -order 2 -setnumber Mesh.SecondOrderIncomplete 1 -format msh41
mesh incomplete_3.msh annulus.geo -2 -order 3 -setnumber Mesh.SecondOrderIncomplete 1 -format msh41
mesh prisms.msh solid_hex.geo -3 -order 2 -setnumber prism 1 -format msh22 -bin
mesh partitioned.msh annulus.geo -2 -part 2 -format msh41
mesh version_40.msh annulus.geo -2 -format msh40
mesh order_10.msh annulus.geo -2 -order 10 -format msh22 -bin
# For facet-mpi: parts in files of their own, which tell of the others by ghosts. Of the mixed one, made by Gmsh 4.15,
# every file names the entities of all parts; 4.8, of the others, names those that are there.
parts() { # output without ending, source, number of parts, options
    base=$1 source=$2 n=$3
    shift 3
    mesh "$base.msh" "$source" "$@" -format msh41
    mesh "$base.msh" "$source" "$@" -format msh41 -part "$n" -part_split -part_ghosts
}
parts parts parts.geo 3 -2 -order 2
parts parts-mixed ../../examples/meshes/mixed.geo 3 -2
parts parts-solid ../../examples/meshes/transition.geo 4 -3
