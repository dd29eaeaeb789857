/* The table of all keys of the case file, and what can be asked of it. Start here to add a key. */
#include "case/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "problem/options.h"

/* A row: path, types, help, and what else there is. */
#define ROW(path_, types_, help_, ...)                                                                       \
    { .path = path_, .types = types_, .help = help_, __VA_ARGS__ }
#define REQUIRED             .flags = SCHEMA_REQUIRED
#define FROM(least)          .flags = SCHEMA_FROM, .min = (least)
#define ABOVE(least)         .flags = SCHEMA_ABOVE, .min = (least)
#define FROM_TO(least, most) .flags = SCHEMA_FROM | SCHEMA_TO, .min = (least), .max = (most)
#define COUNT(a, b)          .least = (a), .most = (b)
#define WORDS(...)                                                                                           \
    .words = (const char *const[]) {                                                                         \
        __VA_ARGS__, NULL                                                                                    \
    }
#define OPTION(key) .words = option_words[OPTION_##key]

static const struct schema_entry table[] = {
    ROW("title", SCHEMA_TEXT, "What the case is about; appears in the output."),
    ROW("cases", SCHEMA_CASES,
        "A chain: cases that are solved one after the other on one mesh, so that fields of one are data of "
        "the "
        "next. Beside it stand `mesh`, `parameters` and `title` alone; each case has the other keys, and a "
        "`name`."),
    ROW("name", SCHEMA_TEXT, "Of a case of a chain: what the others call it."),
    ROW("parameters", SCHEMA_NAMES,
        "Names with numbers, to be used in expressions; also expressions of the names that stand before "
        "them."),
    ROW("mesh", SCHEMA_MAP, "The domain and its cells: a `box` or a `file`.", REQUIRED),
    ROW("equation", SCHEMA_WORD,
        "`diffusion`: reaction u - div(conductivity grad u) = source. `elasticity`: -div sigma = source, "
        "sigma = 2 mu eps(u) + lambda (div u) I, with the displacement u.",
        REQUIRED, WORDS("diffusion", "elasticity")),
    ROW("conductivity", SCHEMA_EXPRESSION | SCHEMA_MATRIX | SCHEMA_LIST,
        "K, positive; a matrix must be symmetric and positive definite. By group: a list of `on`, `value`. "
        "Diffusion.",
        ABOVE(0), .fallback = "1"),
    ROW("reaction", SCHEMA_EXPRESSION | SCHEMA_LIST,
        "The factor of u, not negative. By group: a list of `on`, `value`; zero in groups that are not "
        "named. "
        "Diffusion.",
        FROM(0), .fallback = "0"),
    ROW("material", SCHEMA_MAP | SCHEMA_LIST,
        "The elastic moduli: `mu` and `lambda`, or `E` and `nu`, or `orthotropic`. By group: a list of these "
        "with `on`. "
        "Required by elasticity."),
    ROW("thermal", SCHEMA_MAP,
        "Elasticity: heat. Without stress the body is stretched by expansion (temperature - reference) in "
        "all "
        "directions; in `plane: strain` it is held back across the plane."),
    ROW("plane", SCHEMA_WORD,
        "2D. Elasticity: no strain, or no stress, across the plane. `axisymmetric`: the body that the mesh "
        "makes turning about x = 0; x is the distance r from the axis, never negative, and y the height z. "
        "Integrals are over that body, and faces on the axis take no condition, not even that of `rest`.",
        OPTION(PLANE), .fallback = "strain"),
    ROW("source", SCHEMA_EXPRESSION | SCHEMA_VECTOR | SCHEMA_LIST,
        "The right-hand side f; the body force of elasticity is a list. By group: a list of `on`, `value`; "
        "zero in groups that are not named. Excluded by `exact`.",
        .fallback = "0"),
    ROW("exact", SCHEMA_EXPRESSION | SCHEMA_VECTOR,
        "The exact solution, when known (of elasticity a list): the source is derived from it, errors are "
        "measured against it, boundary data may be the word `exact`, and parts not named get `dirichlet: "
        "exact` or `displacement: exact`. It must be smooth inside every cell; kinks may lie along the "
        "borders of cells only, where its flux (or traction) must be the same on both sides: where the "
        "coefficient jumps, a smooth function is no solution. A note tells where it contradicts boundary "
        "data, "
        "an interface, a jump, joined sides or the data of groups, and by how much."),
    ROW("boundary", SCHEMA_LIST,
        "The boundary conditions. Without `exact`, every part of the boundary needs one."),
    ROW("interfaces", SCHEMA_LIST,
        "Contacts that resist, where two groups of cells touch: u jumps there, and the flux from one to the "
        "other is `conductance` times the jump. Diffusion with `method: hdg`."),
    ROW("jump", SCHEMA_VECTOR | SCHEMA_MATRIX,
        "Of meshes with joined sides, for homogenization: u is jump . x plus a function that repeats itself, "
        "so "
        "that across sides a distance s apart it differs by jump . s. Numbers; in elasticity the mean "
        "strain, a "
        "matrix. `method: hdg`, `formulation: symmetric`."),
    ROW("discretization", SCHEMA_MAP, "The method and its order."),
    ROW("solver", SCHEMA_MAP, "How the trace system is solved."),
    ROW("output", SCHEMA_MAP, "The file for ParaView."),
    ROW("values", SCHEMA_LIST, "Numbers wanted from the solution."),

    ROW("mesh.box", SCHEMA_MAP,
        "A box cut into cells. Its sides are called xmin, xmax, ymin, ymax, in 3D also zmin, zmax."),
    ROW("mesh.box.lower", SCHEMA_NUMBERS, "The lower corner. Required, unless `coordinates` are given.",
        COUNT(2, 3)),
    ROW("mesh.box.upper", SCHEMA_NUMBERS, "The upper corner. Required, unless `coordinates` are given.",
        COUNT(2, 3)),
    ROW("mesh.box.cells", SCHEMA_INTEGERS,
        "Cells in each direction. Required, unless `coordinates` are given.", FROM_TO(1, 1000000),
        COUNT(2, 3)),
    ROW("mesh.box.coordinates", SCHEMA_MAP,
        "Instead of `lower`, `upper` and `cells`: where the cells begin and end, for a graded box."),
    ROW("mesh.box.coordinates.x", SCHEMA_NUMBERS, "Increasing numbers.", REQUIRED, .least = 2),
    ROW("mesh.box.coordinates.y", SCHEMA_NUMBERS, "Increasing numbers.", REQUIRED, .least = 2),
    ROW("mesh.box.coordinates.z", SCHEMA_NUMBERS, "Increasing numbers.", .least = 2),
    ROW("mesh.box.shape", SCHEMA_WORD,
        "The shape of the cells: `triangle` (default) or `quad` in 2D, `tet` (default), `hex` or `prism` "
        "(triangles in x and y, extruded in z) in 3D.",
        WORDS("triangle", "quad", "tet", "hex", "prism")),
    ROW("mesh.box.split", SCHEMA_WORD,
        "How quads are cut into triangles: `right` (default) from lower left to upper right, `left` the "
        "other way, `alternating` by turns; how cubes are cut into tets: `six` (default), every cube alike, "
        "or `five`, by turns mirror images, which needs an even number of cells in periodic directions.",
        WORDS("right", "left", "alternating", "six", "five")),
    ROW("mesh.box.periodic", SCHEMA_WORDS,
        "Directions in which opposite sides are joined; these sides then carry no condition.",
        WORDS("x", "y", "z")),
    ROW("mesh.file", SCHEMA_TEXT,
        "A Gmsh file (MSH 2.2 or 4.1), relative to the case file. Its physical groups name the parts of the "
        "boundary and the regions. `*` stands for the numbers of the files into which Gmsh has split a mesh "
        "(`-part_split -part_ghosts`), which the ranks of facet-mpi read, each its own."),
    ROW("mesh.periodic", SCHEMA_BOOLEAN,
        "Of a file: whether the sides that its `$Periodic` section says to repeat each other are joined. "
        "They "
        "then carry no condition.",
        .fallback = "true"),
    ROW("mesh.scale", SCHEMA_NUMBER,
        "What coordinates of the file or the box are multiplied by: 0.001 for a mesh in millimetres.",
        ABOVE(0), .fallback = "1"),
    ROW("mesh.refine", SCHEMA_INTEGER,
        "How many times every cell is split in halves in each direction; a pyramid becomes six, and four "
        "tets.",
        FROM_TO(0, 16), .fallback = "0"),
    ROW("mesh.overlap", SCHEMA_WORD,
        "Cells that occupy the same space, as bodies do that were not cut at each other, are refused; "
        "`allow`: "
        "what is there twice counts twice. Bodies that touch do not overlap, nor do curved ones that reach "
        "into each other by no more than the error of their geometry (see `values[].at`).",
        OPTION(OVERLAP), .fallback = "refuse"),

    ROW("conductivity[].on", SCHEMA_TEXT | SCHEMA_TEXTS, "A group of cells of the mesh.", REQUIRED),
    ROW("conductivity[].value", SCHEMA_EXPRESSION | SCHEMA_MATRIX, "K there.",
        .flags = SCHEMA_REQUIRED | SCHEMA_ABOVE, .min = 0),

    ROW("reaction[].on", SCHEMA_TEXT | SCHEMA_TEXTS, "A group of cells of the mesh.", REQUIRED),
    ROW("reaction[].value", SCHEMA_EXPRESSION, "The factor of u there.",
        .flags = SCHEMA_REQUIRED | SCHEMA_FROM, .min = 0),

    ROW("material[].on", SCHEMA_TEXT | SCHEMA_TEXTS, "A group of cells of the mesh.", REQUIRED),
    ROW("material.mu", SCHEMA_EXPRESSION, "The shear modulus, with `lambda`.", ABOVE(0)),
    ROW("material.lambda", SCHEMA_EXPRESSION,
        "Lame's first parameter, with `mu`: above -2 mu/3, at most 1e6 mu."),
    ROW("material.E", SCHEMA_EXPRESSION, "Young's modulus, with `nu`.", ABOVE(0)),
    ROW("material.nu", SCHEMA_EXPRESSION,
        "Poisson's ratio, with `E`: above -1, and so far below 0.5 that lambda is at most 1e6 mu.",
        ABOVE(-1)),

    ROW("material.orthotropic", SCHEMA_MAP,
        "Nine constants instead, along three axes: `E`, `nu` and `G`, lists of three; needs `formulation: "
        "symmetric`. In `plane: stress` `E: [E1, E2]` and the numbers `nu` and `G` are enough. About an axis "
        "of revolution the third axis is around it."),
    ROW("material.orthotropic.E", SCHEMA_VECTOR, "E1, E2, E3.", REQUIRED),
    ROW("material.orthotropic.nu", SCHEMA_EXPRESSION | SCHEMA_VECTOR,
        "nu12, nu13, nu23; nu12 is minus the strain along axis 2 over that along axis 1 under a pull along "
        "axis 1: E1 nu21 = E2 nu12.",
        REQUIRED),
    ROW("material.orthotropic.G", SCHEMA_EXPRESSION | SCHEMA_VECTOR, "G12, G13, G23.", REQUIRED),
    ROW("material.orthotropic.first", SCHEMA_VECTOR,
        "The direction of axis 1, of any length; by default x, y and z are the axes."),
    ROW("material.orthotropic.second", SCHEMA_VECTOR,
        "3D, with `first`: a direction in the plane of axes 1 and 2. Axis 2 is what of it is across axis 1."),

    ROW("thermal.expansion", SCHEMA_EXPRESSION | SCHEMA_LIST,
        "The strain by unit of temperature. By group: a list of `on`, `value`; zero in groups that are not "
        "named.",
        REQUIRED),
    ROW("thermal.expansion[].on", SCHEMA_TEXT | SCHEMA_TEXTS, "A group of cells of the mesh.", REQUIRED),
    ROW("thermal.expansion[].value", SCHEMA_EXPRESSION, "The expansion there.", REQUIRED),
    ROW("thermal.reference", SCHEMA_EXPRESSION, "The temperature at which the body is without stress.",
        .fallback = "0"),
    ROW("thermal.temperature", SCHEMA_EXPRESSION | SCHEMA_MAP,
        "The temperature: an expression, or the field of a case before this one in a chain.", REQUIRED),
    ROW("thermal.temperature.case", SCHEMA_TEXT, "The name of that case, one of diffusion.", REQUIRED),
    ROW("thermal.temperature.field", SCHEMA_WORD, "Its field.", WORDS("u", "u_star"), .fallback = "u"),

    ROW("source[].on", SCHEMA_TEXT | SCHEMA_TEXTS, "A group of cells of the mesh.", REQUIRED),
    ROW("source[].value", SCHEMA_EXPRESSION | SCHEMA_VECTOR, "f there.", REQUIRED),

    ROW("interfaces[].between", SCHEMA_TEXTS, "Two groups of cells of the mesh.", REQUIRED, COUNT(2, 2)),
    ROW("interfaces[].conductance", SCHEMA_EXPRESSION,
        "The flux by unit of the jump of u, positive: 1 over the resistance of a unit of area.",
        .flags = SCHEMA_REQUIRED | SCHEMA_ABOVE, .min = 0),

    ROW("boundary[].on", SCHEMA_TEXT | SCHEMA_TEXTS,
        "A side of the box or a physical group of the mesh file; `rest` for all parts not named. Of a list, "
        "each part gets the condition.",
        REQUIRED),
    ROW("boundary[].dirichlet", SCHEMA_EXPRESSION,
        "u = g; this is g, or the word `exact`. Where parts meet and give "
        "different values, `hdg` lets every face have its own data, and `condensed` and `continuous` take "
        "the "
        "mean of the parts, whatever their order; a note tells the difference and the place."),
    ROW("boundary[].neumann", SCHEMA_EXPRESSION,
        "K grad u . n = g, with the outer normal n: what goes in, by unit of area (the value `flux` is what "
        "goes out); this is g, or the word `exact`. With such parts everywhere, and no reaction, the source "
        "and "
        "all g must balance: what is left below 1e-4 of them is taken off the source and noted, more is "
        "refused."),
    ROW("boundary[].robin", SCHEMA_MAP,
        "K grad u . n + a u = g. A film of the coefficient h to an outside at T: a is h, and g is h T."),
    ROW("boundary[].robin.a", SCHEMA_EXPRESSION, "a, not negative.", .flags = SCHEMA_REQUIRED | SCHEMA_FROM,
        .min = 0),
    ROW("boundary[].robin.g", SCHEMA_EXPRESSION, "g, or the word `exact`.", REQUIRED),
    ROW("boundary[].total_flux", SCHEMA_EXPRESSION,
        "The parts together are an electrode: u is one number there, such that the integral of K grad u . n "
        "(what "
        "goes in) is this; a number, or an expression of `parameters`. The JSON has the number under "
        "`potentials`. "
        "Where nothing else holds u, all that goes in must balance, and the first electrode has u = 0. Leave "
        "a "
        "gap to `dirichlet` parts and other electrodes: through a common corner the current has no limit."),
    ROW("boundary[].displacement", SCHEMA_EXPRESSION | SCHEMA_VECTOR,
        "Elasticity: u = g; a list, or the word `exact`. A component that is `null` is free; its traction is "
        "that which other keys give, or zero. Where parts meet and give different values, every face has its "
        "own, and a note tells the difference.",
        .flags = SCHEMA_NULL),
    ROW("boundary[].fixed", SCHEMA_BOOLEAN, "Elasticity: `true` stands for u = 0."),
    ROW("boundary[].roller", SCHEMA_WORD | SCHEMA_WORDS,
        "Elasticity: the component of u that is zero, or several; the others are free.", WORDS("x", "y", "z"),
        .least = 1),
    ROW("boundary[].symmetry", SCHEMA_BOOLEAN,
        "Elasticity: `true` for a plane of symmetry, also an oblique one, and with `formulation: symmetric` "
        "a "
        "curved surface: u . n = 0, and no traction along it. It stands alone."),
    ROW("boundary[].traction", SCHEMA_EXPRESSION | SCHEMA_VECTOR,
        "Elasticity: sigma n = t, with the outer normal n; a list, or the word `exact`. A component that "
        "is held is `null`.",
        .flags = SCHEMA_NULL),
    ROW("boundary[].pressure", SCHEMA_EXPRESSION,
        "Elasticity: p; -p n is added to the traction of the components that are free."),
    ROW("boundary[].force", SCHEMA_VECTOR,
        "Elasticity: a total force, spread evenly over all parts that `on` names; numbers, or expressions of "
        "`parameters`. It is added to the traction; components that are held are 0."),
    ROW("boundary[].spring", SCHEMA_EXPRESSION | SCHEMA_MATRIX | SCHEMA_MAP,
        "Elasticity, `formulation: symmetric`: sigma n + k u = t, with k from this key, and t the sum of "
        "`traction`, `pressure` and `force`. A number, different ones along the normal and across it, or a "
        "symmetric matrix without negative eigenvalues.",
        FROM(0)),
    ROW("boundary[].spring.normal", SCHEMA_EXPRESSION, "k along the normal.",
        .flags = SCHEMA_REQUIRED | SCHEMA_FROM, .min = 0),
    ROW("boundary[].spring.tangential", SCHEMA_EXPRESSION, "k across it.", FROM(0), .fallback = "0"),
    ROW("boundary[].gradient_pressure", SCHEMA_EXPRESSION | SCHEMA_VECTOR,
        "Elasticity, `formulation: gradient`: (mu grad u - p I) n = g, p = -(mu + lambda) div u; a list, or "
        "the word `exact`."),

    ROW("discretization.method", SCHEMA_WORD,
        "`hdg`: hybridized discontinuous Galerkin. `condensed`: continuous elements, condensed to their "
        "boundaries, without `tau`, `u_star` and `q_star`, and with q = -K grad u. `continuous`: the same "
        "elements solved whole (cui2024), for a `box` of quads or hexes with Dirichlet, Neumann and periodic "
        "sides, and a conductivity and a reaction that are numbers in every cell.",
        OPTION(DISCRETIZATION), .fallback = "hdg"),
    ROW("discretization.degree", SCHEMA_INTEGER,
        "The polynomial degree: to 16, and to 32 on boxes with the operator `tensor`; of `continuous` to 15.",
        FROM_TO(1, 32), .fallback = "3"),
    ROW("discretization.operator", SCHEMA_WORD,
        "How the matrix of a cell acts. `mapped`: dense, for all cells. `tensor`: factored into matrices of "
        "one dimension, for a `box` of quads or hexes with Dirichlet, Neumann and periodic sides, a "
        "conductivity and a reaction that are numbers in every cell, and a `tau` that follows the "
        "conductivity (as the default does). `auto`: `tensor` where it applies and nothing else is asked for "
        "that needs `mapped`, as `condensed` does. The line `method` of a run names the operator unless it "
        "is `mapped`, with the reason where that was not expected on a box; the JSON has no key for it.",
        OPTION(OPERATOR), .fallback = "auto"),
    ROW("discretization.formulation", SCHEMA_WORD,
        "Elasticity: `symmetric` has the stress as unknown and the displacement one degree higher; "
        "`gradient` has H = grad u and p = -(mu + lambda) div u, one mu for the whole body, and `u_star` one "
        "degree higher.",
        OPTION(FORMULATION), .fallback = "symmetric"),
    ROW("discretization.tau", SCHEMA_EXPRESSION | SCHEMA_MAP,
        "The stabilization, positive; by default the mean conductivity of the cell over the size of the "
        "domain. In `formulation: symmetric` it is divided by the size of the cell.",
        ABOVE(0)),
    ROW("discretization.tau.hat", SCHEMA_NUMBER,
        "tau = 2 hat / h, with the size h of the cell. It does not follow the conductivity: where that "
        "jumps, the operator `tensor` does not apply.",
        .flags = SCHEMA_REQUIRED | SCHEMA_ABOVE, .min = 0),
    ROW("discretization.postprocess", SCHEMA_BOOLEAN,
        "Compute u_star, which converges one order faster than u, and q_star = -K grad u_star.",
        .fallback = "true"),

    ROW("solver.method", SCHEMA_WORD,
        "Conjugate gradients, flexible GMRES, multigrid cycles by themselves or a direct solve: a sparse "
        "factorization, with the operator `tensor` and coefficients that are numbers a fast diagonalization. "
        "`auto` takes it where it is cheaper than an iteration. `petsc`, of the program facet-mpi, leaves "
        "the "
        "assembled matrix, or with a `preconditioner` products and ours, to PETSc.",
        OPTION(METHOD), .fallback = "auto"),
    ROW("solver.preconditioner", SCHEMA_WORD,
        "For `cg`, `fgmres` and (`amg`, `pmg`, `gmg`) `multigrid`: the diagonal, the blocks of the faces, "
        "algebraic multigrid, or of `hdg`, without an assembled matrix: p-multigrid, or geometric multigrid "
        "over lower degrees and coarser meshes, those the mesh was refined from or halved boxes (`gmg`; "
        "without any it is `pmg`). `auto`: `gmg` on quads with such meshes, else `pmg`. Of the operator "
        "`tensor`: the blocks of the faces plus a coarse space of the vertices (`additive`), or a V-cycle "
        "with Chebyshev polynomials over these (`chebyshev`). Of `method: continuous`: a cycle over halved "
        "boxes with any `smoother` (`gmg`), or with exact solves in the cells around every vertex "
        "(`patches`, which is `auto` unless k jumps).",
        OPTION(PRECONDITIONER), .fallback = "auto"),
    ROW("solver.cycle", SCHEMA_WORD,
        "Of `amg`, `pmg`, `gmg` and `patches`: how often the coarse levels are visited. `full` begins with "
        "the coarsest level and goes on with V-cycles; `method: continuous` has it with `method: multigrid` "
        "alone, where it is `auto`.",
        OPTION(CYCLE), .fallback = "auto"),
    ROW("solver.smoother", SCHEMA_WORD,
        "Of `pmg` and `gmg`: a Chebyshev polynomial over the blocks of single faces. Of `gmg` also over "
        "those and (2D) along rows of quads, or over a factored sparse approximate inverse (`fsai`). Of "
        "`method: continuous`: vertex patches colour by colour (`patches`) or all at once and weighted "
        "(`additive`), or a Chebyshev polynomial over the diagonal.",
        OPTION(SMOOTHER), .fallback = "auto"),
    ROW("solver.smoother_degree", SCHEMA_INTEGER,
        "Of this polynomial; 0: chosen. Of `patches` and `additive`: how many steps.", FROM_TO(0, 16),
        .fallback = "0"),
    ROW("solver.precision", SCHEMA_WORD,
        "Of `pmg`, `gmg`, `patches`, `additive` and `chebyshev`: `mixed` runs the preconditioner in single "
        "precision inside a method in double precision, which `auto` does for large systems.",
        OPTION(PRECISION), .fallback = "auto"),
    ROW("solver.coarse_device", SCHEMA_WORD, "Of `pmg` and `gmg`: where the coarse levels live.",
        OPTION(COARSE_DEVICE), .fallback = "same"),
    ROW("solver.coarse_unknowns", SCHEMA_INTEGER,
        "Of `gmg`: levels of at most so many unknowns live on `coarse_device`; 0: the last one.",
        FROM_TO(0, 1000000000), .fallback = "0"),
    ROW("solver.degrees", SCHEMA_WORD,
        "Of `gmg` of `hdg`: the degrees of the levels between the degree and 1: one less each time, the even "
        "ones, half each time, or none.",
        OPTION(DEGREES), .fallback = "auto"),
    ROW("solver.fill", SCHEMA_NUMBER,
        "Of the smoother `fsai`: how many entries it has against the matrix; 0: chosen.", FROM_TO(0, 20),
        .fallback = "0"),
    ROW("solver.petsc", SCHEMA_TEXT,
        "Of the program facet-mpi: options for PETSc, as on a command line. The solver of the last level of "
        "`pmg` has the prefix `facet_coarse_`, that of `method: petsc` (a KSP) the prefix `facet_`, which "
        "may "
        "be left out."),
    ROW("solver.error", SCHEMA_NUMBER,
        "The error of the solve to be reached, relative to the unknowns, as it is estimated; `rtol` follows "
        "from it "
        "unless it is given. 0: `rtol` decides.",
        FROM_TO(0, 1), .fallback = "0"),
    ROW("solver.rtol", SCHEMA_NUMBER, "The true residual to be reached, relative to the right-hand side.",
        .flags = SCHEMA_ABOVE | SCHEMA_BELOW, .min = 0, .max = 1, .fallback = "1e-10"),
    ROW("solver.max_iterations", SCHEMA_INTEGER, "Where an iteration that does not converge ends.",
        FROM_TO(1, 1000000000), .fallback = "10000"),

    ROW("output.file", SCHEMA_TEXT,
        "A name that ends in .vtu, relative to the current directory. Without it nothing is written; "
        "`--output` replaces it."),
    ROW("output.fields", SCHEMA_WORDS,
        "What is written; by default all that there is, but `trace` and, except about an axis, "
        "`stress_across`. `u_star` and `q_star` need `postprocess`, `error` "
        "needs `exact`. `q` and `q_star` belong to diffusion; `stress`, `strain`, `von_mises` and, in 2D, "
        "`stress_across` (the normal stress across the plane, or around the axis) to "
        "elasticity; `H`, `p`, `vorticity` (the curl of u) and `u_star` to its formulation `gradient`. "
        "`cell`, `region` and `part` are numbers: of the cell; of its group, and of the part of the boundary "
        "that it touches, from 1 in the order of the mesh (sides of a box: xmin 1, xmax 2, ...), 0 for none, "
        "the "
        "smallest of several.",
        WORDS("u", "u_star", "q", "q_star", "H", "p", "stress", "stress_across", "strain", "von_mises",
              "vorticity", "trace", "error", "cell", "region", "part")),
    ROW("output.order", SCHEMA_INTEGER,
        "The degree of the cells in the file; by default chosen from the degree of the solution. Above 10 "
        "(`u_star` from degree 10 on) cells are written in 2^dim parts, each of a little more than half the "
        "degree.",
        FROM_TO(1, 10)),
    ROW("output.pieces", SCHEMA_INTEGER,
        "Over many processes (facet-mpi): so many files, name-0.vtu, name-1.vtu and so on, each with the "
        "cells "
        "of as many processes, and name.pvtu, which ParaView opens. One process, or 1, writes name.vtu.",
        FROM_TO(1, 1000000), .fallback = "1"),

    ROW("values[].name", SCHEMA_TEXT, "Its name in the output.", REQUIRED),
    ROW("values[].field", SCHEMA_WORD,
        "`flux` is q . n through the part of the boundary named by `on`; `traction` is sigma n there, whose "
        "integral is the force upon that part (of a body of revolution, x is the integral of the radial "
        "traction). Both have an integral and a mean, but no extremes.",
        REQUIRED,
        WORDS("u", "u_star", "q", "q_star", "flux", "H", "p", "stress", "stress_across", "strain",
              "von_mises", "vorticity", "traction")),
    ROW("values[].component", SCHEMA_WORD,
        "Of a vector or a tensor; without it, all of them, a tensor by rows.",
        WORDS("x", "y", "z", "xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")),
    ROW("values[].at", SCHEMA_NUMBERS,
        "The value at a point. Between cells (on a face, an edge, a vertex) it is the mean of all cells that "
        "touch the point; where these differ by more than 1e-3, as q, or u across a contact, a note says so. "
        "A point outside the mesh, but by no more than the error of its geometry, is moved to the nearest "
        "point of the boundary, and a note says how far; points farther away are refused. That error is "
        "estimated from the faces of the boundary: the difference between a curved face and its interpolant "
        "of one order less, or size tan(angle / 2) / 2 with the angle to a neighbour, unless it is above 50 "
        "degrees (an edge of the body); it is at most a tenth of the size of the face, and zero where the "
        "boundary is flat.",
        COUNT(2, 3)),
    ROW("values[].take", SCHEMA_WORD,
        "One number for the whole field; `max` and `min` of a vector or tensor are those of its magnitude, "
        "and have a place.",
        WORDS("max", "min", "integral", "mean")),
    ROW("values[].on", SCHEMA_TEXT | SCHEMA_TEXTS,
        "With `take`: the part of the boundary or the group of cells, or several of one kind, taken "
        "together; "
        "`rest` for the parts that no other item of `boundary` names. By default the whole domain."),
    ROW("values[].along", SCHEMA_POINTS,
        "The values on the line between two points, each as of `at`. The line may leave the mesh: points "
        "outside have no value (`nan` in a table, `null` in JSON), and a note counts them. It must not lie "
        "outside with all its points.",
        COUNT(2, 2)),
    ROW("values[].points", SCHEMA_INTEGER, "With `along`: how many points, ends included.",
        FROM_TO(2, 10000000), .fallback = "101"),
    ROW("values[].file", SCHEMA_TEXT,
        "With `along`: a table (CSV) of the line, relative to the current directory, with the columns "
        "distance, x, y (z) and the values."),
};

int schema_n_entries(void) {
    return (int)(sizeof table / sizeof table[0]);
}

const struct schema_entry *schema_row(int i) {
    return &table[i];
}

const struct schema_entry *schema_find(const char *path) {
    for (int i = 0; i < schema_n_entries(); i++)
        if (strcmp(table[i].path, path) == 0) return &table[i];
    return NULL;
}

int schema_word(const struct schema_entry *entry, const char *word) {
    for (int i = 0; entry->words[i]; i++)
        if (strcmp(entry->words[i], word) == 0) return i;
    return -1;
}

const char *schema_key(const struct schema_entry *entry) {
    const char *dot = strrchr(entry->path, '.');
    return dot ? dot + 1 : entry->path;
}

int schema_is_child(const struct schema_entry *entry, const char *parent) {
    size_t n = strlen(parent), at = (size_t)(schema_key(entry) - entry->path);
    if (n == 0) return at == 0;
    if (n > 2 && parent[n - 1] == ']' && at == n - 1) n -= 2; /* items have the keys of the map, too */
    return at == n + 1 && strncmp(entry->path, parent, n) == 0;
}

int schema_in_bounds(const struct schema_entry *entry, double value) {
    if (entry->flags & SCHEMA_FROM && !(value >= entry->min)) return 0;
    if (entry->flags & SCHEMA_ABOVE && !(value > entry->min)) return 0;
    if (entry->flags & SCHEMA_TO && !(value <= entry->max)) return 0;
    if (entry->flags & SCHEMA_BELOW && !(value < entry->max)) return 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------ phrases */

struct phrase {
    char *text;
    int used, capacity;
    int n_alternatives;
};

static void __attribute__((format(printf, 2, 3))) say(struct phrase *phrase, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int room = phrase->capacity - phrase->used;
    int wanted = vsnprintf(phrase->text + phrase->used, (size_t)room, format, arguments);
    phrase->used += wanted < room ? wanted : room - 1;
    va_end(arguments);
}

static void say_bounds(struct phrase *phrase, const struct schema_entry *e) {
    if (e->flags & SCHEMA_FROM && e->flags & SCHEMA_TO)
        say(phrase, " from %.10g to %.10g", e->min, e->max);
    else if (e->flags & SCHEMA_ABOVE && e->flags & SCHEMA_BELOW)
        say(phrase, " between %.10g and %.10g", e->min, e->max);
    else if (e->flags & SCHEMA_FROM)
        say(phrase, " >= %.10g", e->min);
    else if (e->flags & SCHEMA_ABOVE)
        say(phrase, " > %.10g", e->min);
}

static void say_count(struct phrase *phrase, const struct schema_entry *e) {
    say(phrase, "a list of ");
    if (e->least && e->least == e->most)
        say(phrase, "%d ", e->least);
    else if (e->least && e->most == e->least + 1)
        say(phrase, "%d or %d ", e->least, e->most);
    else if (e->least)
        say(phrase, "at least %d ", e->least);
}

static void say_words(struct phrase *phrase, const struct schema_entry *e) {
    for (int i = 0; e->words[i]; i++) say(phrase, "%s%s", i ? ", " : "", e->words[i]);
}

static void say_keys(struct phrase *phrase, const struct schema_entry *e, const char *suffix) {
    char parent[64];
    int n = 0;
    snprintf(parent, sizeof parent, "%s%s", e->path, suffix);
    for (int i = 0; i < schema_n_entries(); i++)
        if (schema_is_child(&table[i], parent)) say(phrase, "%s%s", n++ ? ", " : "", schema_key(&table[i]));
}

static void say_type(struct phrase *phrase, const struct schema_entry *e, unsigned type) {
    static const struct {
        unsigned type;
        const char *text;
    } texts[] = {{SCHEMA_TEXT, "text"},
                 {SCHEMA_BOOLEAN, "true or false"},
                 {SCHEMA_INTEGER, "an integer"},
                 {SCHEMA_NUMBER | SCHEMA_EXPRESSION, "a number"},
                 {SCHEMA_WORDS, "words from "},
                 {SCHEMA_INTEGERS, "integers"},
                 {SCHEMA_NUMBERS, "numbers"},
                 {SCHEMA_POINTS, "points [x, y] or [x, y, z]"},
                 {SCHEMA_MATRIX, "a symmetric matrix [[a, b], [b, c]] of expressions (3 x 3 in 3D)"},
                 {SCHEMA_VECTOR, "a list of 2 expressions (3 in 3D)"},
                 {SCHEMA_LIST, "a list of maps with the keys "},
                 {SCHEMA_MAP, "a map with the keys "},
                 {SCHEMA_NAMES, "a map of names with numbers or expressions"},
                 {SCHEMA_TEXTS, "a list of such names"},
                 {SCHEMA_CASES, "a list of cases"}};
    say(phrase, "%s", phrase->n_alternatives++ ? ", or " : "");
    if (type == SCHEMA_WORD && e->words[1]) say(phrase, "one of ");
    if (type == SCHEMA_TEXTS && e->least > 0) {
        say_count(phrase, e);
        say(phrase, "names");
        return;
    }
    if (type & (SCHEMA_WORDS | SCHEMA_INTEGERS | SCHEMA_NUMBERS | SCHEMA_POINTS)) say_count(phrase, e);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].type & type) say(phrase, "%s", texts[i].text);
    if (type & (SCHEMA_WORD | SCHEMA_WORDS)) say_words(phrase, e);
    if (type & (SCHEMA_INTEGER | SCHEMA_NUMBER | SCHEMA_EXPRESSION | SCHEMA_INTEGERS | SCHEMA_NUMBERS))
        say_bounds(phrase, e);
    if (type == SCHEMA_EXPRESSION) say(phrase, " or an expression");
    if (type == SCHEMA_VECTOR && e->flags & SCHEMA_NULL) say(phrase, " or null");
    if (type & (SCHEMA_LIST | SCHEMA_MAP)) say_keys(phrase, e, type == SCHEMA_LIST ? "[]" : "");
}

void schema_phrase(const struct schema_entry *entry, unsigned types, char *text, int text_bytes) {
    struct phrase phrase = {.text = text, .capacity = text_bytes};
    text[0] = '\0';
    for (unsigned bit = 1; bit <= SCHEMA_LAST; bit <<= 1)
        if (types & bit) say_type(&phrase, entry, bit);
}
