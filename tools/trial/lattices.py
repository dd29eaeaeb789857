"""What problems on lattices share: how one is drawn, and the values that are wanted with their known answers."""
import math

from trial.meshes import Lattice, bump
from trial.text import AXES, number, power

FLAT, SOLID = ("triangle", "quad", "mixed"), ("tet", "hex", "prism", "pyramid", "mixed")


def begin(index, extreme, title):
    return {"index": index, "extreme": extreme, "polynomial": True, "case": {"title": title}, "runs": [], "tensor": False,
            "periodic": [], "tau": "", "reaction": "none", "data": "groups", "conditions": "", "expect": []}


def draw_lines(rng, p, dim, layers):
    """Lines of the lattice; one axis is cut into `layers` layers, whose numbers of boxes are drawn."""
    extreme, axis = p["extreme"], p["axis"]
    scale = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.5 else rng.choice((1.0, 1.0, 2.0, 0.1))
    widest = rng.choice((0, 1, 2, 3)) if extreme else 0.5
    p["length"] = [float(f"{scale*10**rng.uniform(0, widest):.2g}") for _ in range(dim)]
    if rng.random() < 0.4:
        p["length"] = [scale]*dim
    p["low"] = [0.0]*dim if rng.random() < 0.6 else [float(f"{n*rng.uniform(-1, 1):.2g}") for n in p["length"]]
    if p["spin"]:
        p["low"][0] = abs(p["low"][0])
    shares = [power(rng, -2, 0) if extreme and rng.random() < 0.3 else rng.uniform(0.5, 1) for _ in range(layers)]
    p["starts"], p["lines"] = [0], []
    for d, (a, n) in enumerate(zip(p["low"], p["length"])):
        m = rng.randint(1, 3 if dim == 2 else 2)
        p["lines"].append([a] if d == axis else [a + n*i/m for i in range(m)] + [a + n])
    line = p["lines"][axis]
    for share in shares:
        a, n = line[-1], rng.randint(1, 2)
        width = p["length"][axis]*share/sum(shares)
        line += [a + width*(i + 1)/n for i in range(n)]
        p["starts"].append(len(line) - 1)
    p["length"][axis] = line[-1] - line[0]


def draw_lattice(rng, p, layers, curved=True, move=True):
    """A file: shapes, order, groups layer0, layer1, .. along an axis; nodes inside move along the others. Some are
    sections of bodies of revolution (p["spin"]), whose layers lie above each other."""
    dim = p["dim"] = rng.choice((2, 2, 3))
    p["spin"] = dim == 2 and rng.random() < 0.2
    p["axis"] = axis = 1 if p["spin"] else 0
    draw_lines(rng, p, dim, layers)
    p["shape"] = rng.choice(FLAT if dim == 2 else SOLID)
    p["degree"] = rng.choice((1, 2, 3, 4) if dim == 2 else (1, 1, 2, 2, 3))
    p["order"] = 2 if curved and p["degree"] >= 2 and rng.random() < 0.35 else 1
    if p["extreme"] and dim == 3 and p["shape"] in ("pyramid", "mixed"):
        p["order"] = 1  # maps of curved pyramids are no polynomials: in slender cells of degree 2 a linear u is not exact
    parts = {"mixed": ("triangle", "quad") if dim == 2 else ("hex", "pyramid")}.get(p["shape"], (p["shape"],))
    group = [i for i in range(layers) for _ in range(p["starts"][i + 1] - p["starts"][i])]
    p["moved"] = move and rng.random() < 0.5
    moved = bump(p["lines"], [d for d in range(dim) if d != axis], rng.uniform(0.05, 0.2)) if p["moved"] else None
    chosen = {}
    lattice = Lattice(p["lines"], lambda box: chosen.setdefault(box, rng.choice(parts)),
                      lambda box: f"layer{group[box[axis]]}", p["order"], moved)
    p["mesh_text"] = lattice.text()
    p["groups"] = [f"layer{i}" for i in range(layers)]
    p["case"]["mesh"] = {"file": "MESH"}
    if p["spin"]:
        p["case"]["plane"] = "axisymmetric"
    if p["degree"] <= 2 and dim == 2 and rng.random() < 0.15:
        p["case"]["mesh"]["refine"] = 1
    p["sides"] = [AXES[d] + end for d in range(dim) for end in ("min", "max")
                  if not (p["spin"] and d == 0 and end == "min" and p["low"][0] == 0)]  # an axis takes no condition
    p["typical"] = min(p["length"])


def inside(rng, p, layer=None):
    """A point of the box, or of a layer, that lies on no face by design."""
    point = [a + n*rng.uniform(0.03, 0.97) for a, n in zip(p["low"], p["length"])]
    if layer is not None:
        a, b = (p["lines"][p["axis"]][p["starts"][layer + i]] for i in (0, 1))
        point[p["axis"]] = a + (b - a)*rng.uniform(0.03, 0.97)
    return point


def side(p, end):
    """Of the layers' axis."""
    return AXES[p["axis"]] + end


def lateral(p):
    """The sides along the layers."""
    return [s for s in p["sides"] if s[0] != AXES[p["axis"]]]


def want(p, kind, answer, scale, name=None, sees=0.0, **item):
    """A value with its answer and the size by which its error is judged; `item` is its entry in the case. sees: of
    fluxes and stresses, what a difference of the largest |u| across a cell would make of it."""
    name = name or f"{kind}{len(p['expect'])}"
    p["expect"].append({"name": name, "kind": kind, "want": float(answer), "scale": abs(float(scale)), "sees": float(sees)})
    if item:
        p["case"].setdefault("values", []).append({"name": name, **item})


def area(p, axis):
    """Of a side across an axis; of a body of revolution across the height alone."""
    if p["spin"]:
        a, b = p["lines"][0][0], p["lines"][0][-1]
        return math.pi*(b - a)*(b + a)
    return math.prod(n for d, n in enumerate(p["length"]) if d != axis)


def linear_text(axes, slopes, constant):
    parts = [f"({number(s)})*{a}" for a, s in zip(axes, slopes) if s != 0]
    return " + ".join([f"({number(constant)})"] + parts)
