"""facet: elliptic problems by high-order hybridized discontinuous Galerkin methods.

    import facet
    mesh = facet.box([0, 0], [2, 1], [16, 8])
    heat = facet.Diffusion(mesh, conductivity=45, source="1e5*x")
    heat.dirichlet("xmin", 20).neumann("rest")
    T = heat.solve(degree=3)
    T.max(), T.flux("xmin"), T([1.0, 0.5])

docs/python.md describes all of it; facet.h and docs/input.md say what every name means.
"""
from . import _declarations, _library
from ._arrays import DeviceArray
from ._case import Case, Result, solve
from ._context import Context, Event
from ._convert import from_gmsh, from_meshio
from ._library import (Error, InputError, Interrupted, MachineError, NotConverged, interrupt, interrupt_clear,
                       version)
from ._mesh import Block, Group, Members, Mesh, Quadrature, box, read
from ._problem import Diffusion, Elasticity, Problem
from ._solver import Field, Report, Sample, Solution, Solver, options

__version__: str = _declarations.FACET_VERSION
__commit__: str = _library.commit()
__all__ = ["Block", "Case", "Context", "DeviceArray", "Diffusion", "Elasticity", "Error", "Event", "Field", "Group",
           "InputError", "Interrupted", "MachineError", "Members", "Mesh", "NotConverged", "Problem", "Quadrature",
           "Report", "Result", "Sample", "Solution", "Solver", "box", "from_gmsh", "from_meshio", "interrupt",
           "interrupt_clear", "options", "read", "solve", "version"]
