"""Problems on boxes of triangles, quads, tets and hexes, or on files that are such boxes with moved nodes: polynomials and
smooth functions as `exact`, diffusion and elasticity, every method and solver."""
import math
import random

from trial.solvers import draw_solver
from trial.text import AXES, derivative, draw_polynomial, evaluate, number, polynomial_text, power, steps, unit


# The mesh

def draw_mesh(rng, p):
    extreme = p["extreme"]
    p["shape"] = rng.choice(("triangle", "triangle", "quad", "quad", "tet", "hex"))
    p["dim"] = dim = 2 if p["shape"] in ("triangle", "quad") else 3
    p["degree"] = rng.choice((1, 2, 2, 3, 3, 4, 5) if dim == 2 else (1, 1, 2, 2, 3))
    most = {"triangle": 10, "quad": 12, "tet": 4, "hex": 6}[p["shape"]]
    if p["degree"] >= 4 or p["degree"] == 3 and dim == 3:
        most -= 2
    cells = [rng.randint(1, most) for _ in range(dim)]
    if rng.random() < 0.6:  # numbers that can be halved
        cells = [max(n//2*2, 1) for n in cells]
    scale = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.5 else rng.choice((1, 1, 1, 2, 0.1, 10))
    widest = rng.choice((0, 1, 2, 4)) if extreme else 0.6
    p["length"] = [float(f"{scale*10**rng.uniform(0, widest):.2g}") for _ in range(dim)]
    if rng.random() < 0.4:
        p["length"] = [scale]*dim
    p["low"] = [0.0]*dim if rng.random() < 0.6 else [float(f"{n*rng.uniform(-1, 1):.2g}") for n in p["length"]]
    box = {"shape": p["shape"]}
    p["lines"] = [[a + n*i/m for i in range(m + 1)] for a, n, m in zip(p["low"], p["length"], cells)]
    if rng.random() < 0.25:  # graded
        p["lines"] = []
        for a, n, m in zip(p["low"], p["length"], cells):
            ratio = rng.choice((0.7, 1, 1.5)) if not extreme else rng.choice((0.1, 0.3, 1, 4))
            ratio = min(max(ratio, 1e-3**(1/m)), 1e3**(1/m))
            widths = [ratio**i for i in range(m)]
            p["lines"].append([a + n*sum(widths[:i])/sum(widths) for i in range(m)] + [a + n])
        box["coordinates"] = dict(zip(AXES, p["lines"]))
    else:
        box.update(lower=p["low"], upper=[a + n for a, n in zip(p["low"], p["length"])], cells=cells)
    if p["shape"] in ("triangle", "tet") and rng.random() < 0.4:
        box["split"] = rng.choice(("left", "alternating") if dim == 2 else ("six", "five"))
    p["periodic"] = []
    if rng.random() < 0.12:
        axis = rng.randrange(dim)
        if cells[axis] % 2 == 0:
            p["periodic"] = [axis]
            box["periodic"] = [AXES[axis]]
    p["case"]["mesh"] = {"box": box}
    if max(cells) <= 3 and dim == 2 and rng.random() < 0.4 or max(cells) == 1:
        p["case"]["mesh"]["refine"] = 1
    p["free"] = [d for d in range(dim) if d not in p["periodic"]]
    p["sides"] = [AXES[d] + end for d in p["free"] for end in ("min", "max")]
    p["typical"] = min(p["length"])
    if not p["periodic"] and p["shape"] != "hex" and rng.random() < 0.2:
        displace(rng, p)


def displace(rng, p):
    """A Gmsh file instead of the box: its inner nodes are displaced, and its layers in x are groups."""
    lines, dim = p["lines"], p["dim"]
    counts = [len(line) for line in lines]
    names, tags = {}, {}
    amount = rng.choice((0, 0.1, 0.2)) if dim == 2 else rng.choice((0, 0.1))

    def node(*index):
        if index not in names:
            place = []
            for d, i in enumerate(index):
                inner = all(0 < j < n - 1 for j, n in zip(index, counts))
                room = min(lines[d][i + 1] - lines[d][i], lines[d][i] - lines[d][i - 1]) if inner else 0
                place.append(lines[d][i] + amount*room*rng.uniform(-1, 1))
            names[index] = (len(names) + 1, place + [0.0]*(3 - dim))
        return names[index][0]

    def tag(dimension, name):
        return tags.setdefault((dimension, name), len(tags) + 1)

    cells = []
    if dim == 2:
        for i in range(counts[0] - 1):
            for j in range(counts[1] - 1):
                a, b, c, d = node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)
                for corners in ([a, b, c, d],) if p["shape"] == "quad" else ([a, b, c], [a, c, d]):
                    cells.append((2 if len(corners) == 3 else 3, tag(2, f"layer{i}"), corners))
        for i in range(counts[0] - 1):
            cells += [(1, tag(1, "ymin"), [node(i, 0), node(i + 1, 0)])]
            cells += [(1, tag(1, "ymax"), [node(i, counts[1] - 1), node(i + 1, counts[1] - 1)])]
        for j in range(counts[1] - 1):
            cells += [(1, tag(1, "xmin"), [node(0, j), node(0, j + 1)])]
            cells += [(1, tag(1, "xmax"), [node(counts[0] - 1, j), node(counts[0] - 1, j + 1)])]
    else:
        paths = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)]
        for i in range(counts[0] - 1):
            for j in range(counts[1] - 1):
                for k in range(counts[2] - 1):
                    for path in paths:
                        index, corners = [i, j, k], [(i, j, k)]
                        for d in path:
                            index[d] += 1
                            corners.append(tuple(index))
                        if path in paths[3:]:
                            corners[1], corners[2] = corners[2], corners[1]
                        cells.append((4, tag(3, f"layer{i}"), [node(*c) for c in corners]))
                        for face in ([corners[m] for m in range(4) if m != n] for n in range(4)):
                            for d in range(3):
                                for end, at in (("min", 0), ("max", counts[d] - 1)):
                                    if all(c[d] == at for c in face):
                                        cells.append((2, tag(2, AXES[d] + end), [node(*c) for c in face]))
    text = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(tags))]
    text += [f'{d} {t} "{name}"' for (d, name), t in tags.items()] + ["$EndPhysicalNames", "$Nodes", str(len(names))]
    text += [f"{n} " + " ".join(number(v) for v in place) for n, place in names.values()] + ["$EndNodes", "$Elements"]
    text += [str(len(cells))]
    text += [f"{n + 1} {kind} 2 {t} {t} " + " ".join(map(str, c)) for n, (kind, t, c) in enumerate(cells)]
    p["mesh_text"] = "\n".join(text + ["$EndElements", ""])
    p["moved"] = amount > 0
    p["groups"] = [name for d, name in tags if name.startswith("layer")]
    refine = p["case"]["mesh"].get("refine")
    p["case"]["mesh"] = {"file": "MESH"}
    if refine:
        p["case"]["mesh"]["refine"] = refine


# Diffusion: coefficients, solution, conditions

def draw_layers(rng, p, axis, span):
    """Factors of the layers of an axis, and the text of s with factor*ds/dx = const, from 0 to 1."""
    line = p["lines"][axis]
    factors = [power(rng, -span/2, span/2) for _ in line[1:]]
    if rng.random() < 0.5:
        two = [power(rng, -span/2, span/2), 1.0]
        factors = [two[i % 2] for i in range(len(line) - 1)]
    rises = [(b - a)/f for a, b, f in zip(line, line[1:], factors)]
    total, reached, texts = sum(rises), 0.0, []
    for a, b, rise in zip(line, line[1:], rises):
        texts.append(f"({number(reached/total)} + {number(rise/(b - a)/total)}*({AXES[axis]} - ({number(a)})))")
        reached += rise
    return factors, steps(line[1:-1], texts, axis)


def draw_conductivity(rng, p):
    """Sets the conductivity, its size k, and for jumps the texts of functions whose flux does not jump."""
    extreme, dim = p["extreme"], p["dim"]
    kinds = ["number"]*3 + ["layers", "layers", "blocks", "cells"]
    if p["method"] != "continuous":
        kinds += ["matrix", "linear"]
    kind = p["data"] = rng.choice(kinds)
    if not p["polynomial"] and kind not in ("number", "matrix", "linear"):
        kind = p["data"] = "number"
    if p.get("moved") and kind in ("blocks", "cells", "layers"):
        kind = p["data"] = "number"
    span = rng.choice((2, 6, 12, 16)) if extreme else 1
    k = p["k"] = power(rng, -8, 8) if extreme and rng.random() < 0.4 else power(rng, 0, 1)
    if kind == "number":
        p["case"]["conductivity"] = k
    elif kind == "linear":
        p["case"]["conductivity"] = f"{number(k)}*(1 + {unit(p, rng.choice(p['free']))})"
    elif kind == "matrix":
        ratio, angle = power(rng, -min(span, 8)/2, min(span, 8)/2), rng.uniform(0, 3)
        c, s = math.cos(angle), math.sin(angle)
        rows = [[c*c + ratio*s*s, (1 - ratio)*c*s], [(1 - ratio)*c*s, s*s + ratio*c*c]]
        if dim == 3:
            rows = [rows[0] + [0.0], rows[1] + [0.0], [0.0, 0.0, 1.0]]
        p["case"]["conductivity"] = [[k*v for v in row] for row in rows]
    elif kind in ("layers", "blocks"):
        axes = [rng.choice(p["free"])] if kind == "layers" else p["free"]
        p["smooth_flux"], texts = {}, [number(k)]
        for axis in axes:
            factors, p["smooth_flux"][axis] = draw_layers(rng, p, axis, span/len(axes))
            texts.append(steps(p["lines"][axis][1:-1], [number(f) for f in factors], axis))
        p["case"]["conductivity"] = "*".join(texts)
        if "groups" in p and axes == [0]:
            p["case"]["conductivity"] = [{"on": name, "value": k*f} for name, f in zip(p["groups"], draw_groups(p))]
    else:  # one for each cell of the box; the solution has no flux between them
        p["smooth_flux"] = None
        counts = [len(line) - 1 for line in p["lines"]]
        a = rng.uniform(10, 90)
        words = [f"{number(round(rng.uniform(10, 90), 2))}*" + steps(p["lines"][d][1:-1], list(map(str, range(n))), d)
                 for d, n in enumerate(counts)]
        wave = f"sin({number(round(a, 2))} + {' + '.join(words)})"
        p["case"]["conductivity"] = f"{number(k)}*10^({number(span/2)}*{wave})"


def draw_groups(p):
    """The factors of the layers once more, out of the text that says them."""
    text = p["case"]["conductivity"].split("*", 1)[1]
    return [evaluate(text, [(a + b)/2, 0, 0]) for a, b in zip(p["lines"][0], p["lines"][0][1:])]


def plateau(rng, p, axis):
    """A cubic in each layer whose derivative vanishes between them."""
    line, texts = p["lines"][axis], []
    values = [round(rng.uniform(-1, 1), 3) for _ in line]
    for a, b, left, right in zip(line, line[1:], values, values[1:]):
        t = f"(({AXES[axis]} - ({number(a)}))/{number(b - a)})"
        texts.append(f"({number(left)} + ({number(right - left)})*{t}^2*(3 - 2*{t}))")
    return steps(line[1:-1], texts, axis)


def draw_solution(rng, p):
    """The text of u, or None when the degree is too low for these data."""
    dim, degree, kind = p["dim"], p["degree"], p["data"]
    tensor = p["shape"] in ("quad", "hex") and not p.get("moved")
    if not p["polynomial"]:
        waves = []
        for axis in rng.sample(range(dim), rng.randint(1, dim)):
            t, c = unit(p, axis), number(round(rng.uniform(0.3, 2), 2))
            if axis in p["periodic"]:
                waves.append(f"cos(2*pi*{t})")
            else:
                waves.append(rng.choice((f"sin({c}*{t} + 0.3)", f"exp(-{c}*{t})", f"cos({c}*{t})")))
        return "*".join(waves)
    if kind == "cells":
        if degree < 3:
            return "1"
        parts = [plateau(rng, p, axis) for axis in rng.sample(p["free"], rng.randint(1, len(p["free"])))]
        return ("*" if tensor and len(parts) < 3 and rng.random() < 0.5 else " + ").join(parts)
    if kind == "layers":
        axis, text = next(iter(p["smooth_flux"].items()))
        others = [d for d in p["free"] if d != axis]
        left = polynomial_text(p, draw_polynomial(rng, others, dim, degree if tensor else degree - 1))
        right = polynomial_text(p, draw_polynomial(rng, others, dim, degree))
        return f"{text}*({left}) + {right}"
    if kind == "blocks":
        parts = []
        for _ in range(rng.randint(1, 3)):
            most = dim if tensor else degree
            axes = rng.sample(list(p["smooth_flux"]), rng.randint(1, min(most, len(p["smooth_flux"]))))
            parts.append("*".join([number(round(rng.uniform(0.2, 1), 3))] + [p["smooth_flux"][d] for d in axes]))
        return " + ".join(parts)
    p["terms"] = draw_polynomial(rng, p["free"], dim, rng.randint(1, degree))
    return polynomial_text(p, p["terms"])


def draw_diffusion(rng, p):
    extreme, case = p["extreme"], p["case"]
    p["method"] = rng.choice(("hdg", "hdg", "condensed"))
    if p["shape"] in ("quad", "hex") and "mesh_text" not in p:
        p["method"] = rng.choice(("hdg", "hdg", "hdg", "condensed", "continuous"))
    draw_conductivity(rng, p)
    low = p["k"]/p["typical"]**2
    kind = p["reaction"] = rng.choice(("none",)*3 + ("mild",) + (("weak", "weak", "large") if extreme else ()))
    p["varies"] = False
    if kind != "none":
        size = power(rng, *{"mild": (-1, 1), "weak": (-14, -4), "large": (2, 8)}[kind])
        case["reaction"] = size*low
        p["reaction"] += f" reaction {size:.0e}"
        if p["method"] != "continuous" and rng.random() < 0.2:
            case["reaction"] = f"{number(size*low)}*(1 + {unit(p, rng.choice(p['free']))})"
            p["varies"] = True
    offset, scale = 0.0, 1.0
    if extreme and rng.random() < 0.5:
        offset, scale = rng.choice((0.0, 1.0, 1e3, 1e6)), 10.0**rng.randint(-6, 6)
    text = draw_solution(rng, p)
    text = text if scale == 1 else f"{number(scale)}*({text})"
    case["exact"] = text if offset == 0 else f"{number(offset*scale)} + {text}"
    style = rng.choice(("none", "neumann", "one", "mixed", "mixed") + (("neumann",)*2 if kind == "weak" else ()))
    p["conditions"] = style
    items = []
    for i, side in enumerate(p["sides"]):
        word = {"none": "dirichlet", "neumann": "neumann", "one": "neumann" if i else "dirichlet"}.get(style)
        if word is None:
            word = rng.choice(("dirichlet", "neumann") + (("robin",) if p["method"] != "continuous" else ()))
        if word == "robin":
            size = rng.choice((0, 0, -8, 8)) if extreme else 0
            a = power(rng, size - (4 if size else 1), size + (4 if size else 1))*p["k"]/p["typical"]
            items.append({"on": side, "robin": {"a": a, "g": "exact"}})
            p["conditions"] += f" robin {a*p['typical']/p['k']:.0e}"
        else:
            items.append({"on": side, word: "exact"})
    if style != "none" or rng.random() < 0.5:
        case["boundary"] = items
    space = case["discretization"] = {"method": p["method"], "degree": p["degree"]}
    p["tau"] = ""
    if p["method"] == "hdg" and rng.random() < 0.3:
        size = rng.choice((-4, 0, 0, 4, 8)) if extreme else 0
        hat = power(rng, size - 1, size + 1)
        space["tau"] = {"hat": hat*p["k"]} if rng.random() < 0.5 else hat*p["k"]/p["typical"]
        p["tau"] = f"tau {hat:.0e}"
    p["tensor"] = (p["method"] == "hdg" and p["shape"] in ("quad", "hex") and "mesh_text" not in p and "refine" not in
                   case["mesh"] and p["data"] not in ("matrix", "linear") and "robin" not in p["conditions"])
    if p["tau"] and p["data"] != "number" or p["varies"]:
        p["tensor"] = False
    if p["tensor"] and rng.random() < 0.3:
        space["operator"] = "mapped"
        p["tensor"] = False


# Elasticity

def draw_elasticity(rng, p):
    extreme, case, dim, degree = p["extreme"], p["case"], p["dim"], p["degree"]
    case["equation"] = p["method"] = "elasticity"
    gradient = rng.random() < 0.35
    p["data"] = "gradient" if gradient else "symmetric"
    if not gradient and dim == 3 and degree > 2:
        p["degree"] = degree = 2
    plane = "stress" if dim == 2 and rng.random() < 0.3 else "strain"
    if dim == 2 and rng.random() < 0.6:
        case["plane"] = plane
    else:
        plane = "strain"
    mu = power(rng, -8, 11) if extreme and rng.random() < 0.5 else power(rng, 0, 1)
    ratio = power(rng, 0, 6) if extreme and rng.random() < 0.6 else power(rng, -1, 1.5)
    layered = not gradient and p["polynomial"] and not p.get("moved") and 0 in p["free"]
    layered = layered and rng.random() < 0.25
    p["ratio"] = ratio
    if layered:
        factors, s = draw_layers(rng, p, 0, rng.choice((2, 6, 12)) if extreme else 1)
        text = steps(p["lines"][0][1:-1], [number(mu*f) for f in factors], 0)
        case["material"] = {"mu": text, "lambda": f"{number(ratio)}*({text})"}
        if "groups" in p:
            case["material"] = [{"on": name, "mu": mu*f, "lambda": ratio*mu*f}
                                for name, f in zip(p["groups"], factors)]
        p["data"] += " layers"
    elif rng.random() < 0.5:
        case["material"] = {"mu": mu, "lambda": ratio*mu}
    else:
        nu = ratio/(2*(1 + ratio))
        case["material"] = {"E": 2*mu*(1 + nu), "nu": nu}
    scale = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.4 else 1.0
    terms = None
    if layered:
        parts = [f"{number(round(rng.uniform(0.2, 1)*scale, 9))}*{s}" for _ in range(dim)]
    elif p["polynomial"]:
        top = degree + (0 if gradient else 1)
        terms = [draw_polynomial(rng, p["free"], dim, rng.randint(1, top)) for _ in range(dim)]
        terms = [{powers: factor*scale for powers, factor in one.items()} for one in terms]
        parts = [polynomial_text(p, one) for one in terms]
    else:
        parts = [f"{number(scale)}*{draw_solution(rng, p)}" for _ in range(dim)]
    case["exact"] = parts
    items, words = [], []
    for i, side in enumerate(p["sides"]):
        choices = ["displacement", "traction"] + (["roller"]*2 if terms and not gradient else [])
        choices += ["gradient_pressure"] if gradient and plane == "strain" else []
        word = "displacement" if i == 0 else rng.choice(choices)
        words.append(word)
        if word != "roller":
            items.append({"on": side, word: "exact"})
            continue
        axis = AXES.index(side[0])
        sign = 1 if side.endswith("max") else -1
        pull = []
        for d in range(dim):  # sigma n, of which the part across the side is not needed
            both = polynomial_text(p, derivative(p, terms[d], axis)), polynomial_text(p, derivative(p, terms[axis], d))
            pull.append(f"({number(sign*mu)})*({both[0]} + {both[1]})" if d != axis else None)
        items.append({"on": side, "displacement": [parts[d] if d == axis else None for d in range(dim)],
                      "traction": pull})
    case["boundary"] = items
    p["conditions"] = " ".join(word[0] for word in words)
    p["reaction"], p["tau"], p["tensor"] = "none", "", False
    space = case["discretization"] = {"degree": degree, "formulation": "gradient" if gradient else "symmetric"}
    if rng.random() < 0.15 and not gradient:
        hat = power(rng, 2, 6) if extreme else power(rng, -0.5, 0.5)
        space["tau"] = hat*mu if not layered else 2*mu
        p["tau"] = f"tau {space['tau']/mu:.0e}"


def draw_box(seed, index, share):
    """Problem `index` of a seed: its case, the text of its mesh file, and what the judge has to know."""
    rng = random.Random(f"{seed} {index}")
    p = {"index": index, "extreme": rng.random() < share, "polynomial": rng.random() < 0.67, "case": {},
         "runs": []}
    p["case"]["title"] = f"problem {index} of seed {seed}"
    draw_mesh(rng, p)
    p["case"]["equation"] = "diffusion"
    if rng.random() < 0.35:
        draw_elasticity(rng, p)
    else:
        draw_diffusion(rng, p)
    draw_solver(rng, p)
    ends = [[a + share*n for a, n in zip(p["low"], p["length"])] for share in (0.013, 0.977)]
    p["case"]["values"] = [{"name": "line", "field": "u", "along": ends, "points": 23}]
    exact = p["case"]["exact"]
    points = random.Random(1)
    total = 0.0
    for _ in range(300):
        point = [a + n*points.random() for a, n in zip(p["low"], p["length"])]
        total += sum(evaluate(text, point)**2 for text in (exact if isinstance(exact, list) else [exact]))
    p["size"] = math.sqrt(total/300*math.prod(p["length"]))
    return p
