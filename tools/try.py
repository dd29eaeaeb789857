#!/usr/bin/env python3
"""Looks for runs that end with status 0 and a wrong number: solves random problems whose answer is known.

Usage: try.py N SEED [-j J] [--first I] [--facet PROGRAM] [--extreme SHARE] [--only I] [--keep DIR] [--json FILE]
              [--before PROGRAM] [--timeout SECONDS] [--within SECONDS] [--suspects]

Solves N problems from number I (0) on, J at a time with one thread each; all that it needs is Python. Problem i of a
seed depends on seed, i and SHARE alone: shape, mesh, coefficients, conditions, method and solver are drawn at random,
mild ones or (SHARE of them, by default half) extreme ones. Two thirds have a solution that lies in the discrete space,
so that the error of u is that of the algebra; the others are compared along a line, in the mean square, with a second
solve of the same discretization, direct where the first was not. A run is

    a suspect      when it ends with 0 and this error is above 10 rtol and above 1e-8 of u, or when a smooth solution
                   does not get better with the degree;
    a violation    when it is more than ten times the estimate of the run (solver.error of the JSON; where a second solve
                   is the measure, with its own estimate added) and above 1e-8; without an estimate every suspect is
                   one. Below 1e-8 (rounding in the matrices of stretched cells, which no estimate sees) they are
                   counted apart;
    a failure      when it crashes, runs out of time (--timeout) or writes numbers that are not finite.

Prints them (suspects with --suspects), worst first, each with the call that repeats it, and counts all other ends of
runs by their message. After --within seconds no problem is begun any more, and the summary is that of those which
were. Exits 1 after a violation or failure. Of solutions that are "not trusted", --before names a program that writes
them all the same: which were good?
"""
import argparse
import collections
import concurrent.futures
import contextlib
import functools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

AXES = "xyz"
DIRECT = {"method": "direct"}
WRONG = 1e-8  # relative errors from here on are wrong numbers
NAMES = {name: getattr(math, name) for name in ("sin", "cos", "exp", "pi")}


# Expressions: text of the case language, which Python evaluates after two replacements

def number(value):
    text = f"{value:.17g}"
    return min((f"{value:.{k}g}" for k in (3, 8, 15) if float(f"{value:.{k}g}") == value), key=len, default=text)


@functools.lru_cache(maxsize=100)
def compiled(text):
    return compile(text.replace("^", "**").replace("if(", "pick("), "expression", "eval")


def evaluate(text, point):
    values = {"__builtins__": {}, "pick": lambda c, a, b: a if c else b, **NAMES, **dict(zip(AXES, point))}
    return eval(compiled(str(text)), values)


def unit(problem, axis):
    """The text of a coordinate that runs from 0 to 1 over the box."""
    low, length = problem["low"][axis], problem["length"][axis]
    name = AXES[axis] if low == 0 else f"({AXES[axis]} - {number(low)})"
    return name if length == 1 else f"({name}/{number(length)})"


def polynomial_text(problem, terms):
    """Of {exponents: factor} in the coordinates of unit()."""
    parts = []
    for powers, factor in terms.items():
        words = [f"({number(factor)})" if factor < 0 else number(factor)]
        words += [unit(problem, d) + (f"^{k}" if k > 1 else "") for d, k in enumerate(powers) if k]
        parts.append("*".join(words))
    return " + ".join(parts) or "0"


def derivative(problem, terms, axis):
    result = {}
    for powers, factor in terms.items():
        if powers[axis]:
            lower = tuple(k - (d == axis) for d, k in enumerate(powers))
            result[lower] = result.get(lower, 0) + factor*powers[axis]/problem["length"][axis]
    return result


def draw_polynomial(rng, axes, dim, degree):
    """Up to five monomials of these coordinates, one of full degree."""
    terms = {}
    for i in range(rng.randint(1, 5)):
        powers = [0]*dim
        for _ in range(degree if i == 0 else rng.randint(0, degree)):
            if axes:
                powers[rng.choice(axes)] += 1
        terms[tuple(powers)] = round(rng.uniform(0.2, 1)*rng.choice((-1, 1)), 3)
    return terms


def steps(breaks, values, axis):
    """A nest of if(): values[i] between breaks[i - 1] and breaks[i]."""
    text = values[-1]
    for limit, value in reversed(list(zip(breaks, values))):
        text = f"if({AXES[axis]} < {number(limit)}, {value}, {text})"
    return text


def power(rng, low, high):
    return float(f"{10**rng.uniform(low, high):.3g}")


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


# The solver

def draw_solver(rng, p):
    method = rng.choice(("auto", "auto", "auto", "direct", "cg", "cg", "cg", "cg", "fgmres", "multigrid"))
    solver = p["case"]["solver"] = {"method": method, "rtol": 10.0**-rng.randint(6, 12)}
    if rng.random() < 0.2:
        del solver["rtol"]
    unsymmetric = p["data"] == "gradient" and "t" in p["conditions"]
    if method == "direct" and (p["data"] != "number" and (p["tensor"] or p["method"] == "continuous") or unsymmetric):
        method = solver["method"] = "auto"
    if method in ("auto", "direct"):
        return
    if p["tensor"] and method == "fgmres":
        p["case"]["discretization"]["operator"] = "mapped"
        p["tensor"] = False
    if method == "multigrid" and p["tensor"]:
        method = solver["method"] = "cg"
    if unsymmetric:
        method = solver["method"] = "fgmres"
    if p["method"] == "continuous":
        choices = ["patches", "gmg", "auto"]
    elif p["tensor"]:
        choices = ["additive", "chebyshev", "auto"]
    elif p["method"] == "condensed":
        choices = ["none", "jacobi", "block", "amg"]
    else:
        choices = ["none", "jacobi", "block", "amg", "amg", "pmg", "pmg", "gmg", "gmg"]
    if unsymmetric:
        choices = ["none", "jacobi", "block", "pmg", "gmg"]
    if method == "multigrid":
        choices = [c for c in choices if c in ("amg", "pmg", "gmg", "patches")] or ["auto"]
    chosen = solver["preconditioner"] = rng.choice(choices)
    if chosen in ("none", "jacobi", "block"):
        solver["max_iterations"] = 3000
    if chosen == "auto":
        del solver["preconditioner"]
        if method == "multigrid":
            solver["method"] = "cg"
    if chosen in ("pmg", "gmg", "patches", "additive", "chebyshev") and not unsymmetric and rng.random() < 0.5:
        solver["precision"] = rng.choice(("double", "mixed"))
    if chosen in ("amg", "pmg", "gmg") and p["method"] != "continuous" and rng.random() < 0.3:
        solver["cycle"] = rng.choice("VWF")
    if chosen == "gmg" and rng.random() < 0.4:
        solver["smoother"] = rng.choice(("patches", "additive", "point", "jacobi", "chebyshev")
                                        if p["method"] == "continuous" else ("faces", "cells", "vertices", "fsai"))
    elif chosen == "pmg" and rng.random() < 0.3:
        solver["smoother"] = rng.choice(("faces", "cells"))


def draw(seed, index, share):
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


def stretch(p):
    """How much longer than wide the worst cell is."""
    widths = [[b - a for a, b in zip(line, line[1:])] for line in p["lines"]]
    return max(max(a)/min(b) for i, a in enumerate(widths) for j, b in enumerate(widths) if i != j)


def describe(p):
    words = ["extreme" if p["extreme"] else "mild", p["shape"], f"p={p['degree']}", p["method"], p["data"]]
    words += ["perturbed file" if p.get("moved") else "file"] if "mesh_text" in p else []
    words += ["tensor"] if p["tensor"] else []
    words += ["periodic"] if p["periodic"] else []
    words += [f"cells 1:{stretch(p):.0e}"] if stretch(p) > 10 else []
    if "ratio" in p:
        words += [f"lambda/mu {p['ratio']:.0e}"]
    words += [p["reaction"]] if p["reaction"] != "none" else []
    words += ["bc " + p["conditions"], p["tau"], "poly" if p["polynomial"] else "smooth", "|"]
    words += [str(v) for k, v in p["case"]["solver"].items() if k != "max_iterations"]
    return " ".join(word for word in words if word)


# Running and judging

def write_case(p, folder, name, changes):
    case = {**p["case"], **changes}
    if "mesh_text" in p:
        (folder / f"{name}.msh").write_text(p["mesh_text"], encoding="utf-8")
        case["mesh"] = {**case["mesh"], "file": f"{name}.msh"}
    path = folder / f"{name}.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in case.items()), encoding="utf-8")
    return path


def finite(value):
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def solve(options, p, folder, changes, device="cpu", program=None):
    """One run: its status ('timeout', 'signal 11', ... or a number), the JSON, the last line of its messages."""
    path = write_case(p, folder, "case", changes)
    command = [program or options.facet, "solve", path.name, "--json", "-", "--quiet", "--threads", "1"]
    command += ["--device", device]
    started = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        p["runs"].append("timeout")
        return {"status": "timeout", "result": None, "message": "", "seconds": options.timeout}
    run = {"status": done.returncode, "result": None, "seconds": time.monotonic() - started}
    run["message"] = done.stderr.strip().split("\n")[-1]
    if done.returncode < 0:
        run["status"] = f"signal {-done.returncode}"
    elif "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        run["status"] = "sanitizer"
    if done.returncode == 1 and done.stdout:
        run["result"] = json.loads(done.stdout)
    elif done.returncode == 0:
        run["result"] = result = json.loads(done.stdout)
        if not finite(result) or "errors" not in result or result["errors"]["u"].get("L2") is None:
            run["status"] = "not finite"
    p["runs"].append(run["status"])
    return run


def difference(run, other):
    """Of two solutions along the line, in the mean square and relative; None without one of them."""
    if run["status"] != 0 or other["status"] != 0:
        return None
    lines = []
    for one in (run, other):
        rows = one["result"]["values"]["line"]
        lines.append([v for row in rows for v in (row if isinstance(row, list) else [row])])
    return math.dist(*lines)/max(math.hypot(*line) for line in lines)


def second(p):
    """What changes for the second solve: it is direct, with mapped cells on boxes that vary or were solved directly.

    Where the first was the same, device ref makes the difference: that of rounding.
    """
    space = dict(p["case"]["discretization"])
    if p["data"] == "gradient" and "t" in p["conditions"]:
        other = "block" if p["case"]["solver"].get("preconditioner") in ("pmg", "gmg") else "pmg"
        return {"solver": {"method": "fgmres", "preconditioner": other}}
    again = p["case"]["solver"]["method"] == "direct"
    if again and p["data"] == "number" and not p["polynomial"] and (p["method"] == "continuous" or p["tensor"]):
        return {"solver": {"method": "cg"}}  # other cells would integrate the source by another rule
    if p["method"] == "continuous" and (again or p["data"] != "number"):
        space["method"] = "condensed"
    elif p["tensor"] and (again or p["data"] != "number"):
        space["operator"] = "mapped"
    return {"solver": DIRECT, "discretization": space}


def solve_again(options, p, folder):
    """The second solve, as accurate as rounding allows."""
    for rtol in (1e-13, 1e-12, 1e-11, 1e-9):
        changes = second(p)
        changes["solver"] = {**changes["solver"], "rtol": rtol}
        run = solve(options, p, folder, changes, "ref")
        if run["status"] != 1:
            break
    return run


def judge(options, p, folder):
    """A record of the problem: how it ended, its true error, and what to think of it."""
    record = {"index": p["index"], "words": describe(p), "extreme": p["extreme"], "verdict": "", "true": None,
              "estimate": None, "second": None, "note": ""}
    run = solve(options, p, folder, {})
    record.update(status=run["status"], message=run["message"], seconds=run["seconds"])
    if run["status"] in (1, 2, 3):
        if run["status"] == 1:  # can others solve it?
            other = solve_again(options, p, folder)
            record["second"] = relative(p, other)
            record["estimate"] = ((run["result"] or {}).get("solver") or {}).get("error")
            if options.before and record["estimate"] is not None:
                bold = solve(options, p, folder, {}, program=options.before)
                record["true"] = relative(p, bold) if p["polynomial"] else difference(bold, other)
        return record
    if run["status"] != 0:
        record["verdict"] = "failure"
        return record
    result = run["result"]
    rtol = p["case"]["solver"].get("rtol", 1e-10)
    error = relative(p, run)
    record.update(error=error, residual=result["solver"]["residual"], estimate=result["solver"].get("error"),
                  used=f"{result['solver']['method']} {result['solver'].get('preconditioner', '')}",
                  reason=result["solver"]["reason"], notes=result.get("notes", []))
    limit = max(10*rtol, 1e-8)
    doubt = 0.0  # what the second solve says of its own error
    if p["polynomial"]:
        record["true"] = error
        suspect = error > limit
        if suspect or record["estimate"] is not None and error > 10*max(record["estimate"], 1e-13):
            record["second"] = relative(p, solve_again(options, p, folder))
    else:
        other = solve_again(options, p, folder)
        record["second"] = relative(p, other)
        suspect = False
        if other["status"] == 0:
            record["true"] = difference(run, other)
            doubt = other["result"]["solver"].get("error") or 0.0
            suspect = record["true"] > limit or error > 10*record["second"] + limit
        if error > 1e-3:
            space = {**p["case"]["discretization"], "degree": p["degree"] + 2}
            finer = solve(options, p, folder, {"solver": DIRECT, "discretization": space})
            if finer["status"] == 0 and relative(p, finer) > error/2:
                suspect, record["note"] = True, f"{relative(p, finer):.1e} with two degrees more"
    if suspect:
        record["verdict"] = "suspect"
    if record["true"] is not None and record["estimate"] is not None:
        record["honest"] = record["true"] <= 10*max(record["estimate"] + doubt, 1e-13)
        if not record["honest"]:
            record["verdict"] = "violation" if record["true"] > WRONG else "little"
    elif suspect:
        record["verdict"] = "violation"
    if record["note"]:
        record["verdict"] = "violation"
    return record


def relative(p, run):
    """The error of u against the size of u; None without a solution."""
    return run["result"]["errors"]["u"]["L2"]/p["size"] if run["status"] == 0 else None


# The summary

def kind(message):
    text = re.sub(r"^facet: (\S+\.(yaml|msh):[\d:]* )?", "", message)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", re.sub(r"'[^']*'", "'...'", text))[:150]


def short(value):
    return "-" if value is None else f"{value:.1e}"


def print_record(options, record):
    words = [f"true {short(record['true'])}", f"estimate {short(record['estimate'])}"]
    words += [f"second solve {short(record['second'])}"]
    words += [f"residual {short(record['residual'])}"] if "residual" in record else []
    words += [record.get("used", f"status {record['status']}")]
    words += [record["note"]] if record["note"] else []
    print(f"{record['index']:6d} {record['verdict']}: {', '.join(words)}\n       {record['words']}")
    reason = record.get("reason", record["message"] if record["verdict"] == "failure" else "")
    if reason not in ("", "the tolerance was reached"):
        print(f"       {reason}")
    share = "" if options.extreme == 0.5 else f" --extreme {options.extreme:g}"
    print(f"       again: tools/try.py 1 {options.seed} --only {record['index']}{share}")


def summary(options, records):
    if not records:
        print("0 problems")
        return 0
    total = collections.Counter(str(record["status"]) for record in records)
    times = sorted(record["seconds"] for record in records)
    print(f"{len(records)} problems; by status: " + ", ".join(f"{k}: {n}" for k, n in sorted(total.items())) +
          f"; seconds: median {times[len(times)//2]:.2f}, most {times[-1]:.2f}")
    runs = [status for record in records for status in record.get("runs", [])]
    print(f"{len(runs)} runs, second solves included: {runs.count('timeout')} out of time, "
          f"{sum(str(status).startswith(('signal', 'sanitizer')) for status in runs)} crashed")
    wanted = options.count if options.only is None else 1
    if len(records) < wanted:
        print(f"{wanted - len(records)} of {wanted} were not begun: {options.within:.0f} seconds were over")
    judged = [r for r in records if r["status"] == 0]
    print(f"solved    {sum(not r['extreme'] for r in judged)} mild, {sum(r['extreme'] for r in judged)} extreme; "
          f"{sum(r['true'] is None for r in judged)} without a second solve to compare with")
    both = [r for r in judged if r["true"] is not None and r["true"] > 1e-12 and r["estimate"] is not None]
    if both:
        near = sum(1/30 <= max(r["estimate"], 1e-300)/r["true"] <= 30 for r in both)
        above = sum(r["estimate"] > 30*r["true"] for r in both)
        print(f"estimates of {len(both)} true errors above 1e-12: {near} within a factor of 30 "
              f"({100*near/len(both):.1f} %), {above} larger, {len(both) - near - above} smaller")
    for status in (1, 2, 3):
        ends = collections.defaultdict(list)
        for record in records:
            if record["status"] == status:
                ends[kind(record["message"])].append(record)
        for text, group in sorted(ends.items(), key=lambda item: -len(item[1])):
            mild = sum(not r["extreme"] for r in group)
            others = sum((r["second"] or 1) < 1e-6 for r in group)
            others = f", {others} solved to 1e-6 otherwise" if status == 1 else ""
            print(f"status {status}  {len(group)} times ({mild} mild{others}; first {group[0]['index']}): {text}")
    for r in sorted(records, key=lambda r: r["true"] or 0):
        if r["status"] == 1 and r["true"] is not None and r["estimate"] > 30*r["true"]:
            print_record(options, {**r, "verdict": "not trusted, though good" if r["true"] < 1e-6 else "estimate too large"})
    bad = [r for r in records if r["verdict"]]
    order = ("failure", "violation", "little", "suspect")
    bad.sort(key=lambda r: (order.index(r["verdict"]), -max(r["true"] or 0, r["error"] if r["note"] else 0)))
    for record in bad:
        if record["verdict"] == "suspect" and not options.suspects:
            continue
        print_record(options, record)
    count = collections.Counter(r["verdict"] for r in bad)
    print(f"{count['failure']} failures, {count['violation']} violations, {count['little']} more with errors below "
          f"{WRONG:g}, {count['suspect']} suspects that say so")
    return count["failure"] + count["violation"]


def try_one(options, index):
    """The record of a problem; None when it came too late."""
    if time.monotonic() > options.deadline:
        return None
    record = {"index": index, "words": "", "extreme": None, "verdict": "failure", "true": None, "estimate": None,
              "second": None, "note": "", "status": "exception", "message": "", "seconds": 0.0}
    with tempfile.TemporaryDirectory() as place:
        try:
            p = draw(options.seed, index, options.extreme)
            record = judge(options, p, Path(place))
            record["runs"] = p["runs"]
            if any(str(status).startswith(("signal", "sanitizer")) for status in p["runs"]):
                record["verdict"] = "failure"
        except Exception:  # what the program wrote cannot be read, say: the other problems go on
            record["message"] = traceback.format_exc()
            return record
        if options.keep and (record["verdict"] or options.only is not None):
            options.keep.mkdir(parents=True, exist_ok=True)
            write_case(p, options.keep, f"try-{options.seed}-{index}", {})
        if options.only is not None:
            print(write_case(p, Path(place), "case", {}).read_text(encoding="utf-8"))
            print(json.dumps(record, indent=2))
        elif record["verdict"] and sys.stderr.isatty():
            print(f"{index}: {record['verdict']}, true {short(record['true'])}", file=sys.stderr)
    return record


def try_all(options):
    """The records of all problems that were begun, by their numbers; the same for any number of processes."""
    indices = [options.only] if options.only is not None else range(options.first, options.first + options.count)
    records = []
    with contextlib.ExitStack() as stack:
        together = map
        if options.processes > 1:
            pool = stack.enter_context(concurrent.futures.ProcessPoolExecutor(options.processes))
            together = pool.map
        try:
            for record in together(functools.partial(try_one, options), indices):
                if record is not None:
                    records.append(record)
        except KeyboardInterrupt:  # those that are done count
            print("interrupted")
            options.within = time.monotonic() - options.began
            if options.processes > 1:
                pool.shutdown(wait=False, cancel_futures=True)
    return records


def main():
    parser = argparse.ArgumentParser(description="Random problems with known answers: looks for wrong ones.")
    parser.add_argument("count", type=int, metavar="N", help="how many problems")
    parser.add_argument("seed", type=int, metavar="SEED")
    parser.add_argument("-j", "--processes", type=int, default=1, metavar="J", help="problems at a time")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="the number of the first problem")
    parser.add_argument("--facet", default=os.environ.get("FACET_PROGRAM", "build/facet"), help="the program")
    parser.add_argument("--extreme", type=float, default=0.5, metavar="SHARE", help="of extreme problems")
    parser.add_argument("--only", type=int, metavar="I", help="this problem alone; prints its case and record")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the case files of bad runs are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all records")
    parser.add_argument("--suspects", action="store_true", help="are printed too")
    parser.add_argument("--before", metavar="PROGRAM", help="one that trusts every solution")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="of a run")
    parser.add_argument("--within", type=float, default=math.inf, metavar="SECONDS", help="problems begin until then")
    options = parser.parse_args()
    options.facet = os.path.abspath(options.facet)
    options.before = options.before and os.path.abspath(options.before)
    options.began = time.monotonic()
    options.deadline = options.began + options.within
    if not os.access(options.facet, os.X_OK):
        parser.error(f"there is no program {options.facet}")
    if options.processes < 1:
        parser.error("at least one process is needed")
    records = try_all(options)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if summary(options, records) else 0)


if __name__ == "__main__":
    main()
