#!/bin/sh
# Makes the .msh files from the .geo files beside it. Needs gmsh; the files were made with its version 4.8.
set -e
cd "$(dirname "$0")"
mesh() { # name, order of the geometry
    gmsh -v 1 "$1.geo" -2 -order "$2" -format msh41 -o "$1.msh"
}
mesh plate 3
mesh annulus 3
mesh mixed 1
gmsh -v 1 heat-sink.geo -3 -format msh41 -bin -o heat-sink.msh
mesh kirsch 3
mesh cylinder 3
mesh cook 1
mesh bimetal 1
mesh layers 4
mesh perforated 4
gmsh -v 1 sphere.geo -3 -order 3 -format msh41 -bin -o sphere.msh
gmsh -v 1 tripod.geo -3 -format msh41 -bin -o tripod.msh
gmsh -v 1 transition.geo -3 -format msh41 -o transition.msh
