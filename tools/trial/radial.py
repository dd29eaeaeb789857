"""Bodies of revolution whose fields depend on the radius: pipes of layers with contacts between them, and Lame's cylinder.
They are no polynomials, but walls are so thin and degrees so high that the discretization is exact to 1e-10."""
import math
from fractions import Fraction

from trial.lattices import FLAT, begin, want
from trial.meshes import Lattice
from trial.series import Line
from trial.solvers import draw_solver
from trial.text import power


def draw_pipe_mesh(rng, p, layers):
    scale = 10.0**rng.randint(-6, 6) if p["extreme"] and rng.random() < 0.5 else 1.0
    radii = [scale*rng.uniform(0.5, 1)]
    for _ in range(layers):
        radii.append(radii[-1]*rng.uniform(1.02, 1.08))
    height = scale*rng.uniform(0.05, 0.2)
    lines = [[radii[0]], [0.0, height/2, height]]
    for a, b in zip(radii, radii[1:]):
        lines[0] += [(a + b)/2, b]
    parts = {"mixed": ("triangle", "quad")}
    p["shape"] = rng.choice(FLAT)
    chosen = {}
    lattice = Lattice(lines, lambda box: chosen.setdefault(box, rng.choice(parts.get(p["shape"], (p["shape"],)))),
                      lambda box: f"layer{box[0]//2}")
    p.update(dim=2, spin=True, axis=0, lines=lines, low=[radii[0], 0.0], length=[radii[-1] - radii[0], height], order=1,
             moved=False, mesh_text=lattice.text(), degree=rng.choice((5, 6)), radii=radii, height=height,
             groups=[f"layer{i}" for i in range(layers)], typical=radii[0]*0.02)
    p["case"]["mesh"] = {"file": "MESH"}
    p["case"]["plane"] = "axisymmetric"


def draw_end(rng, p, end, held):
    """As in series.py, in the coordinate log r: q is the flux times the radius."""
    sign, r = (1, p["radii"][0]) if end == "min" else (-1, p["radii"][-1])
    level, typical = rng.uniform(-3, 3)*p["level"], p["k"]/p["length"][0]
    word = rng.choice(("dirichlet", "robin") if held else ("dirichlet", "robin", "neumann", "electrode"))
    p["conditions"] += f" {word}"
    name, r_ = "x" + end, Fraction(r)
    if word == "dirichlet":
        return {"on": name, "dirichlet": level}, (1, 0, -Fraction(level)), True
    if word == "robin":
        a = typical*(power(rng, -6, 6) if p["extreme"] else power(rng, -1, 1))
        return {"on": name, "robin": {"a": a, "g": a*level}}, (Fraction(a)*r_, sign, -Fraction(a*level)*r_), True
    flux = rng.choice((1, -1))*rng.uniform(0.5, 1)*typical*p["level"]
    if word == "neumann":
        return {"on": name, "neumann": flux}, (0, sign, -Fraction(flux)*r_), False
    p["electrodes"].append(name)
    total = flux*2*math.pi*r*p["height"]
    return {"on": name, "total_flux": total}, (0, sign, -Fraction(total)/Fraction(2*math.pi*p["height"])), False


def draw_pipe(rng, index, extreme, title):
    p = begin(index, extreme, title)
    n = rng.randint(1, 3)
    draw_pipe_mesh(rng, p, n)
    case = p["case"]
    case["equation"], p["method"], p["electrodes"] = "diffusion", "hdg", []
    p["k"] = power(rng, -6, 6) if extreme and rng.random() < 0.5 else power(rng, 0, 1)
    p["level"] = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.4 else 1.0
    span = rng.choice((1, 3)) if extreme else 0.5
    factors = [p["k"]*power(rng, -span, span) for _ in range(n)]
    case["conductivity"] = [{"on": g, "value": k} for g, k in zip(p["groups"], factors)]
    contacts = [p["k"]/p["length"][0]*(power(rng, -6, 6) if extreme else power(rng, -1, 1)) if rng.random() < 0.6 else None
                for _ in range(n - 1)] + [None]
    items = [{"between": [f"layer{i}", f"layer{i + 1}"], "conductance": h} for i, h in enumerate(contacts) if h is not None]
    if items:
        case["interfaces"] = items
    left, first, held = draw_end(rng, p, "min", False)
    right, second, _ = draw_end(rng, p, "max", not held)
    case["boundary"] = [left, right, {"on": ["ymin", "ymax"], "neumann": 0}]
    logs = [Fraction(math.log(r)) for r in p["radii"]]
    line = Line([(a, b, Fraction(k), Fraction(0), Fraction(0)) for a, b, k in zip(logs, logs[1:], factors)],
                [None if h is None else Fraction(h)*Fraction(r) for h, r in zip(contacts, p["radii"][1:])])
    line.solve(first, second)
    case["discretization"] = {"degree": p["degree"]}
    around = Fraction(2*math.pi*p["height"])
    through = max(abs(end[1]) for end in line.ends)
    for i in range(n):
        a, b = p["radii"][i], p["radii"][i + 1]
        r, z = a + (b - a)*rng.uniform(0.05, 0.95), p["height"]*rng.uniform(0.05, 0.95)
        u, q, _ = line.at(i, math.log(r))
        want(p, "u", u, line.size(i), field="u", at=[r, z])
        want(p, "q", q/Fraction(r), through/Fraction(a), sees=line.sees(i)/Fraction(a), field="q", component="x", at=[r, z])
    want(p, "flux", -line.ends[0][1]*around, through*around, sees=line.sees(0)*around, field="flux", take="integral", on="xmin")
    want(p, "flux", line.ends[-1][3]*around, through*around, sees=line.sees(n - 1)*around, field="flux", take="integral", on="xmax")
    for name in p["electrodes"]:
        inner = name == "xmin"
        want(p, "potential", line.ends[0][0] if inner else line.ends[-1][2], line.size(0 if inner else n - 1), name=name)
    draw_solver(rng, p)
    return p


def draw_lame(rng, index, extreme, title):
    """A cylinder under pressure inside and outside whose ends cannot move: u = A r + B/r."""
    p = begin(index, extreme, title)
    draw_pipe_mesh(rng, p, 1)
    case = p["case"]
    case["equation"] = p["method"] = "elasticity"
    mu = p["k"] = power(rng, -6, 11) if extreme else power(rng, 0, 1)
    ratio = p["ratio"] = power(rng, 0, 4) if extreme else power(rng, -1, 1)
    case["material"] = {"mu": mu, "lambda": ratio*mu}
    lam = ratio*mu
    (a, b), level = p["radii"], mu*10.0**rng.randint(-6, 0)
    inner, outer = level*rng.uniform(0.2, 1), rng.choice((0.0, level*rng.uniform(0.2, 1)))
    B = (inner - outer)/(1/(a*a) - 1/(b*b))/(2*mu)
    A = (2*mu*B/(a*a) - inner)/(2*(mu + lam))
    case["boundary"] = [{"on": "xmin", "pressure": inner}, {"on": "xmax", "pressure": outer},
                        {"on": ["ymin", "ymax"], "roller": "y"}]
    p["degree"] = 5
    case["discretization"] = {"degree": 5}
    p["conditions"] = "pressure"
    size = max(abs(A*r + B/r) for r in (a, b))
    most = max(abs(2*(mu + lam)*A) + 2*mu*abs(B)/(a*a), inner, outer)
    for _ in range(2):
        r, z = a + (b - a)*rng.uniform(0.05, 0.95), p["height"]*rng.uniform(0.05, 0.95)
        want(p, "u", A*r + B/r, size, field="u", component="x", at=[r, z])
        want(p, "stress", 2*(mu + lam)*A - 2*mu*B/(r*r), most, sees=(2*mu + lam)*size/(b - a)*4, field="stress", component="xx",
             at=[r, z])
        want(p, "stress", 2*(mu + lam)*A + 2*mu*B/(r*r), most, sees=(2*mu + lam)*size/(b - a)*4, field="stress_across",
             at=[r, z])
    sees = (2*mu + lam)*size/(b - a)*4
    ends = 2*lam*A*math.pi*(b - a)*(b + a)
    want(p, "force", ends, most*math.pi*(b - a)*(b + a), sees=sees*math.pi*(b - a)*(b + a), field="traction", component="y", take="integral", on="ymax")
    draw_solver(rng, p)
    return p
