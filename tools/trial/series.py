"""Layers one behind the other: heat through a wall whose layers touch or have contacts that resist between them, and bars
that are pulled. Everything depends on x alone (of a body of revolution on the height), so that u, fluxes, forces,
potentials and extremes are known in closed form, in fractions; groups may be of very different scales."""
from fractions import Fraction

from trial.lattices import area, begin, draw_lattice, inside, lateral, side, want
from trial.solvers import draw_solver
from trial.text import AXES, power


class Line:
    """u and the flux q along the layers: q' = source, u' = (shift - q)/K, and u falls by q/h at a contact h."""

    def __init__(self, layers, contacts):
        self.layers, self.contacts = layers, contacts  # (begin, end, K, source, shift), contacts: h or None behind each

    def walk(self, u, q):
        """u and q at both ends of every layer, each as (factor of u, factor of q, constant) or as a number."""
        ends = []
        for (a, b, K, source, shift), h in zip(self.layers, self.contacts):
            w = b - a
            after = [v - v_q*w/K for v, v_q in zip(u, q)]
            after[2] += shift*w/K - source*w*w/(2*K)
            out = [q[0], q[1], q[2] + source*w]
            ends.append((u, q, after, out))
            u, q = list(after), out
            if h is not None:
                u = [v - v_q/h for v, v_q in zip(u, q)]
        return ends

    def solve(self, left, right):
        """Conditions are rows (of u, of q, constant) that vanish at the ends; the ends of layers as numbers."""
        zero, one = Fraction(0), Fraction(1)
        ends = self.walk([one, zero, zero], [zero, one, zero])
        u, q = ends[-1][2], ends[-1][3]
        second = [right[0]*u[i] + right[1]*q[i] for i in range(3)]
        second[2] += right[2]
        det = left[0]*second[1] - left[1]*second[0]
        u0 = (left[1]*second[2] - second[1]*left[2])/det
        q0 = (second[0]*left[2] - left[0]*second[2])/det
        self.ends = [[v[0]*u0 + v[1]*q0 + v[2] for v in end] for end in ends]

    def at(self, layer, x):
        """u, q and u' there."""
        a, _, K, source, shift = self.layers[layer]
        u, q = self.ends[layer][:2]
        t = Fraction(x) - a
        here = q + source*t
        return u + (shift - q)*t/K - source*t*t/(2*K), here, (shift - here)/K

    def extremes(self, layer):
        """The least and the largest u of a layer, and the mean."""
        a, b, K, source, shift = self.layers[layer]
        u, q, after, _ = self.ends[layer]
        found = [u, after]
        if source != 0 and 0 < (shift - q)/source < b - a:
            found.append(self.at(layer, a + (shift - q)/source)[0])
        w = b - a
        return min(found), max(found), u + (shift - q)*w/(2*K) - source*w*w/(6*K)

    def sees(self, layer):
        """The flux that the largest |u| across half of the layer would make."""
        a, b, K, _, shift = self.layers[layer]
        return 2*K*self.size(layer)/(b - a) + abs(shift)

    def size(self, layer):
        least, most, _ = self.extremes(layer)
        return max(abs(least), abs(most))


def draw_layers(rng, p):
    extreme = p["extreme"]
    p["n_layers"] = n = rng.randint(1, 4)
    draw_lattice(rng, p, n)
    span = rng.choice((2, 6, 12)) if extreme else 1
    p["k"] = power(rng, -6, 6) if extreme and rng.random() < 0.4 else power(rng, 0, 1)
    p["factors"] = [p["k"]*power(rng, -span/2, span/2) for _ in range(n)]
    p["case"]["equation"] = "diffusion"
    p["source"] = [0.0]*n
    if p["degree"] >= 2 and not p["moved"] and rng.random() < 0.4:
        p["source"] = [rng.choice((0.0, 1.0, -1.0))*rng.uniform(0.5, 1)*k/p["length"][p["axis"]]**2 for k in p["factors"]]


# Conditions at the ends as rows of Line.solve: n points out of the wall, K grad u . n is q at the left, -q at the right

def draw_end(rng, p, end, held):
    sign = 1 if end == "min" else -1
    typical, a_side = p["k"]/p["length"][p["axis"]], area(p, p["axis"])
    level = rng.choice((0.0, 1.0, rng.uniform(-3, 3)))*p["level"]
    word = rng.choice(("dirichlet", "dirichlet", "robin") if held else ("dirichlet", "robin", "neumann", "electrode", "electrode"))
    p["conditions"] += f" {word}"
    name = side(p, end)
    if word == "dirichlet":
        return {"on": name, "dirichlet": level}, (1, 0, -Fraction(level)), True
    if word == "robin":
        a = typical*(power(rng, -8, 6) if p["extreme"] else power(rng, -1, 1))
        g = a*level if rng.random() < 0.7 else typical*p["level"]
        return {"on": name, "robin": {"a": a, "g": g}}, (Fraction(a), sign, -Fraction(g)), True
    flux = rng.choice((1.0, -1.0))*rng.uniform(0.5, 1)*typical*p["level"]
    if word == "neumann":
        return {"on": name, "neumann": flux}, (0, sign, -Fraction(flux)), False
    p["electrodes"].append(name)
    return {"on": name, "total_flux": flux*a_side}, (0, sign*Fraction(a_side), -Fraction(flux*a_side)), False


def draw_heat(rng, index, extreme, title):
    p = begin(index, extreme, title)
    draw_layers(rng, p)
    case = p["case"]
    p["method"] = rng.choice(("hdg", "hdg", "hdg", "condensed"))
    if p["shape"] in ("prism", "pyramid", "mixed") or p["spin"]:
        p["method"] = "hdg"
    p["level"] = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.4 else 1.0
    p["electrodes"] = []
    contacts = [None]*p["n_layers"]
    if p["method"] == "hdg":
        for i in range(p["n_layers"] - 1):
            if rng.random() < 0.6:
                contacts[i] = p["k"]/p["length"][p["axis"]]*(power(rng, -10, 6) if extreme else power(rng, -1, 1))
        case["interfaces"] = [{"between": [f"layer{i}", f"layer{i + 1}"], "conductance": h}
                              for i, h in enumerate(contacts) if h is not None]
        if not case["interfaces"]:
            del case["interfaces"]
    case["conductivity"] = [{"on": g, "value": k} for g, k in zip(p["groups"], p["factors"])]
    if any(p["source"]):
        case["source"] = [{"on": g, "value": s} for g, s in zip(p["groups"], p["source"])]
    left, first, held = draw_end(rng, p, "min", False)
    right, second, _ = draw_end(rng, p, "max", not held)
    case["boundary"] = [left, right, {"on": lateral(p), "neumann": 0}]
    knots = [Fraction(p["lines"][p["axis"]][i]) for i in p["starts"]]
    line = Line([(a, b, Fraction(k), Fraction(s), Fraction(0))
                 for a, b, k, s in zip(knots, knots[1:], p["factors"], p["source"])],
                [None if h is None else Fraction(h) for h in contacts])
    line.solve(first, second)
    case["discretization"] = {"method": p["method"], "degree": p["degree"]}
    if p["method"] == "hdg" and rng.random() < 0.2:
        hat = power(rng, -3, 3) if extreme else power(rng, -0.5, 0.5)
        case["discretization"]["tau"] = hat*p["k"]/p["typical"]
        p["tau"] = f"tau {hat:.0e}"
    heat_values(rng, p, line)
    draw_solver(rng, p)
    return p


def heat_values(rng, p, line):
    n, a_side = p["n_layers"], area(p, p["axis"])
    q_scale = max(max(abs(end[1]), abs(end[3])) for end in line.ends)
    along = AXES[p["axis"]]
    for i in range(n):
        x = inside(rng, p, i)
        u, q, _ = line.at(i, x[p["axis"]])
        least, most, mean = line.extremes(i)
        size = line.size(i)
        want(p, "u", u, size, field="u", at=x)
        want(p, "mean", mean, size, field="u", take="mean", on=f"layer{i}")
        want(p, "q", q, q_scale, sees=line.sees(i), field="q", component=along, at=x)
        want(p, "extreme", most, size, field="u", take="max", on=f"layer{i}")
        want(p, "extreme", least, size, field="u", take="min", on=f"layer{i}")
        if p["method"] == "hdg" and rng.random() < 0.5:
            want(p, "u_star", u, size, field="u_star", at=x)
    want(p, "flux", -line.ends[0][1]*Fraction(a_side), q_scale*Fraction(a_side), sees=line.sees(0)*Fraction(a_side),
         field="flux", take="integral", on=side(p, "min"))
    want(p, "flux", line.ends[-1][3]*Fraction(a_side), q_scale*Fraction(a_side), sees=line.sees(n - 1)*Fraction(a_side),
         field="flux", take="integral", on=side(p, "max"))
    for name in p["electrodes"]:
        left = name.endswith("min")
        want(p, "potential", line.ends[0][0] if left else line.ends[-1][2], line.size(0 if left else n - 1), name=name)


# Bars: q is minus the stress along them; rollers hold them at the sides

def draw_bar(rng, index, extreme, title):
    p = begin(index, extreme, title)
    draw_layers(rng, p)
    case, n = p["case"], p["n_layers"]
    case["equation"] = p["method"] = "elasticity"
    if p["dim"] == 3 and p["degree"] > 2:
        p["degree"] = 2
    p["stress"] = p["dim"] == 2 and not p["spin"] and rng.random() < 0.4
    if p["stress"]:
        case["plane"] = "stress"
    top = 5 if extreme else 1
    ratios = [power(rng, -1, top) if rng.random() < 0.5 else power(rng, -1, 1) for _ in range(n)]
    case["material"] = [{"on": g, "mu": mu, "lambda": r*mu} for g, mu, r in zip(p["groups"], p["factors"], ratios)]
    p["ratio"] = max(ratios)
    warm = rng.random() < 0.4
    expansions = [rng.choice((0.0, 1e-5, 1e-3)) if warm else 0.0 for _ in range(n)]
    dT = rng.uniform(-100, 100)
    if warm:
        case["thermal"] = {"expansion": [{"on": g, "value": e} for g, e in zip(p["groups"], expansions)],
                           "temperature": dT + 20.0, "reference": 20.0}
        dT = float(Fraction(dT + 20.0) - 20)
    p["level"] = 10.0**rng.randint(-6, 0)*p["length"][p["axis"]] if extreme else p["length"][p["axis"]]
    layers, p["sideways"] = [], []
    knots = [Fraction(p["lines"][p["axis"]][i]) for i in p["starts"]]
    for i in range(n):
        mu = Fraction(p["factors"][i])
        lam = Fraction(ratios[i]*p["factors"][i])
        beta = (3*lam + 2*mu)*Fraction(expansions[i])*Fraction(dT)
        if p["stress"]:
            lam = 2*mu*lam/(lam + 2*mu)
            beta = (2*lam + 2*mu)*Fraction(expansions[i])*Fraction(dT)
        layers.append((knots[i], knots[i + 1], lam + 2*mu, Fraction(p["source"][i]), beta))
        p["sideways"].append((lam, beta))
    if any(p["source"]):
        case["source"] = [{"on": g, "value": along_vector(p, s, 0.0)}
                          for g, s in zip(p["groups"], p["source"])]
    left, first, held = draw_bar_end(rng, p, "min", False)
    right, second, _ = draw_bar_end(rng, p, "max", not held)
    case["boundary"] = [left, right] + [{"on": s, "roller": s[0]} if rng.random() < 0.5 else {"on": s, "symmetry": True}
                                        for s in lateral(p)]
    line = Line(layers, [None]*n)
    line.solve(first, second)
    case["discretization"] = {"degree": p["degree"], "formulation": "symmetric"}
    bar_values(rng, p, line)
    draw_solver(rng, p)
    return p


def along_vector(p, value, rest):
    """value along the bar, `rest` across."""
    return [value if d == p["axis"] else rest for d in range(p["dim"])]


def draw_bar_end(rng, p, end, held):
    sign = 1 if end == "min" else -1
    stiff, a_side = p["k"]/p["length"][p["axis"]], area(p, p["axis"])
    level = rng.choice((0.0, 1.0, rng.uniform(-3, 3)))*p["level"]
    word = rng.choice(("held", "spring") if held else ("held", "spring", "traction", "force"))
    p["conditions"] += f" {word}"
    name = side(p, end)
    if word == "held":
        return {"on": name, "displacement": along_vector(p, level, None)}, (1, 0, -Fraction(level)), True
    if word == "spring":
        k = stiff*(power(rng, -6, 6) if p["extreme"] else power(rng, -1, 1))
        g = k*level
        item = {"on": name, "spring": {"normal": k}}
        if g != 0:
            item["traction"] = along_vector(p, g, 0.0)
        return item, (Fraction(k), sign, -Fraction(g)), True
    pull = rng.choice((1.0, -1.0))*rng.uniform(0.5, 1)*stiff*p["level"]
    if word == "traction":
        return {"on": name, "traction": along_vector(p, pull, 0.0)}, (0, sign, -Fraction(pull)), False
    force = pull*a_side
    return {"on": name, "force": along_vector(p, force, 0.0)}, (0, sign*Fraction(a_side), -Fraction(force)), False


def bar_values(rng, p, line):
    a_side = area(p, p["axis"])
    along, across = AXES[p["axis"]], AXES[1 - p["axis"]]
    q_scale = max(max(abs(end[1]), abs(end[3])) for end in line.ends)
    u_scale = max(line.size(i) for i in range(p["n_layers"]))
    for i in range(p["n_layers"]):
        x = inside(rng, p, i)
        u, q, slope = line.at(i, x[p["axis"]])
        lam, beta = p["sideways"][i]
        beside = lam*slope - beta
        want(p, "u", u, u_scale, field="u", component=along, at=x)
        most = max(q_scale, abs(beside))
        want(p, "stress", -q, most, sees=line.sees(i), field="stress", component=along*2, at=x)
        want(p, "stress", beside, most, sees=line.sees(i), field="stress", component=across*2, at=x)
        want(p, "mean", line.extremes(i)[2], u_scale, field="u", component=along, take="mean", on=f"layer{i}")
    force = q_scale*Fraction(a_side)
    want(p, "force", line.ends[0][1]*Fraction(a_side), force, sees=line.sees(0)*Fraction(a_side), field="traction",
         component=along, take="integral", on=side(p, "min"))
    want(p, "force", -line.ends[-1][3]*Fraction(a_side), force, sees=line.sees(-1)*Fraction(a_side), field="traction",
         component=along, take="integral", on=side(p, "max"))
