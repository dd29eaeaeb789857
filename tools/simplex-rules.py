#!/usr/bin/env python3
"""Searches the symmetric quadrature rules of src/poly/rule_tables.h, and writes them there.

A rule is a union of orbits: all points that the permutations of the corners make of one. An orbit of a triangle has 1,
3 or 6 points, of a tet 1, 4, 6, 12 or 24, and is known by 0 to 3 barycentric coordinates and a weight. Such a rule is
exact for all polynomials of a degree when it is for those that the permutations leave alone. These are polynomials in
the power sums p_k = sum lambda^k, k = 2, 3 (and 4), of weighted degree 2a + 3b + 4c <= degree: 108 equations for
degree 20 on tets, where there are 1771 polynomials.

The search: Levenberg-Marquardt steps that leave every point inside and every weight positive, from random orbits whose
numbers obey the counting conditions below; then orbits are taken out, or moved to a plane of symmetry where they have
fewer points, and the equations solved again, as long as that works. What is found is polished with residuals in 50
digits, so that the numbers printed are right to the last one.

The table is also where the search begins: a rule stays until one with fewer points is found.

Usage: simplex-rules.py TABLE [--seconds S] [--seed N] [SHAPE:DEGREE[-DEGREE] ...]
       simplex-rules.py src/poly/rule_tables.h --seconds 120 tet:6-16 triangle:4-24
       simplex-rules.py src/poly/rule_tables.h      (no search: the table in the layout of this tool)
Needs numpy and mpmath.
"""
import argparse
import itertools
import os
import re
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from mpmath import mp, mpf

mp.dps = 50

NEAREST = 2e-4   # no barycentric coordinate of a point is smaller
LIGHTEST = 1e-3  # no weight is smaller than this part of the mean


class Kind:
    """Orbits of so many points, one of them at lambda = shift + matrix * parameters."""

    def __init__(self, points, shift, matrix):
        self.points = points
        self.shift = [mpf(s) for s in shift]
        self.matrix = np.array(matrix, dtype=float).reshape(len(shift), -1)
        self.n = self.matrix.shape[1]


THIRD = mpf(1) / 3
KINDS = {
    "triangle": [Kind(1, [THIRD] * 3, [[]] * 3),
                 Kind(3, [0, 0, 1], [[1], [1], [-2]]),
                 Kind(6, [0, 0, 1], [[1, 0], [0, 1], [-1, -1]])],
    "tet": [Kind(1, ["0.25"] * 4, [[]] * 4),
            Kind(4, [0, 0, 0, 1], [[1], [1], [1], [-3]]),
            Kind(6, [0, 0, "0.5", "0.5"], [[1], [1], [-1], [-1]]),
            Kind(12, [0, 0, 0, 1], [[1, 0], [1, 0], [0, 1], [-2, -1]]),
            Kind(24, [0, 0, 0, 1], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])],
}
# Kinds that are closed: with an orbit, all orbits into which it can degenerate.
CLOSED = {"triangle": [(), (0,), (0, 1)],
          "tet": [(), (0,), (0, 1), (0, 2), (0, 1, 2), (0, 1, 2, 3)]}
DIM = {"triangle": 2, "tet": 3}
MEASURE = {"triangle": mpf(1) / 2, "tet": mpf(1) / 6}


def gauss_legendre(n):
    """Points and weights on [0, 1] in all digits."""
    points, weights = [], []
    for i in range(n):
        x = mp.cos(mp.pi * (4 * i + 3) / (4 * n + 2))
        for _ in range(8):
            p, before = x, mpf(1)
            for k in range(2, n + 1):
                p, before = ((2 * k - 1) * x * p - (k - 1) * before) / k, p
            slope = n * (x * p - before) / (x * x - 1)
            x -= p / slope
        points.append((1 + x) / 2)
        weights.append(1 / ((1 - x * x) * slope * slope))
    return points, weights


def product_rule(dim, degree):
    """Barycentric coordinates and weights (their sum is 1) of a rule on a simplex, mpf."""
    x, w = gauss_legendre((degree + dim - 1) // 2 + 1)
    points, weights = [], []
    for index in itertools.product(range(len(x)), repeat=dim):
        shrink, weight, point = mpf(1), mp.factorial(dim), []
        for d, i in enumerate(index):
            point.append(x[i] * shrink)
            weight *= w[i] * (1 - x[i]) ** (dim - 1 - d)
            shrink *= 1 - x[i]
        points.append(point + [shrink])
        weights.append(weight)
    return np.array(points, dtype=object), np.array(weights, dtype=object)


class Equations:
    """The invariant polynomials up to a degree, orthonormal; floats and mpf go through the same lines.

    Polynomials of one degree come from those before them: V = A (g V_source - H V_before), with one of the power sums
    g for each, and A, H from orthogonalization at the points of a product rule."""

    def __init__(self, shape, degree):
        self.shape, self.degree, self.dim = shape, degree, DIM[shape]
        self.powers = list(range(2, self.dim + 2))
        self.exact_goal = None
        def degree_of(index):
            return sum(a * p for a, p in zip(index, self.powers))
        indices = [i for i in itertools.product(range(degree // 2 + 1), repeat=self.dim) if degree_of(i) <= degree]
        indices.sort(key=degree_of)
        self.n = len(indices)
        points, weights = (a.astype(float) for a in product_rule(self.dim, max(2 * degree, 8)))
        self.change, g = [], []
        for p in self.powers:
            v, others = ((points - 1 / (self.dim + 1)) ** p).sum(axis=1), [1 + 0 * weights] + g
            c = [float((weights * v * o).sum()) for o in others]
            v = v - sum(ci * o for ci, o in zip(c, others))
            self.change.append((c, float(np.sqrt((weights * v * v).sum()))))
            g.append(v / self.change[-1][1])
        g = np.array(g)
        self.blocks, V = [], np.ones((1, len(weights)))
        for D in range(2, degree + 1):
            block = [i for i in indices if degree_of(i) == D]
            if not block:
                continue
            by = np.array([max(d for d in range(self.dim) if i[d]) for i in block])
            source = np.array([indices.index(tuple(a - (d == b) for d, a in enumerate(i))) for i, b in zip(block, by)])
            Z, H = g[by] * V[source], 0
            for _ in range(2):
                more = (Z * weights) @ V.T
                Z, H = Z - more @ V, H + more
            A = np.linalg.inv(np.linalg.qr((Z * np.sqrt(weights)).T, mode="r")).T
            self.blocks.append((by, source, H, A))
            V = np.concatenate([V, A @ Z])
        self.target = V @ weights

    def evaluate(self, points, slopes=True):
        """Values (n x points) and derivatives by the barycentric coordinates (n x points x dim + 1)."""
        n = len(points)
        centred = points - mpf(1) / (self.dim + 1) if points.dtype == object else points - 1 / (self.dim + 1)
        g, grads = [], []
        for p, (c, scale) in zip(self.powers, self.change):
            v = (centred ** p).sum(axis=1) - c[0] - sum(ci * o for ci, o in zip(c[1:], g))
            g.append(v / scale)
            if slopes:
                v = p * centred ** (p - 1) - sum(ci * o for ci, o in zip(c[1:], grads))
                grads.append(v / scale)
        width = (1 + self.dim if slopes else 1) * n  # values, and derivatives by g
        wide = np.array([np.concatenate([gd] * (width // n)) for gd in g])
        V = np.zeros((self.n, width), dtype=points.dtype)
        V[0, :n] = 1
        at = 1
        for by, source, H, A in self.blocks:
            Z = wide[by] * V[source]
            if slopes:
                for j, (d, s) in enumerate(zip(by, source)):
                    Z[j, (1 + d) * n:(2 + d) * n] += V[s, :n]
            V[at:at + len(by)] = A @ (Z - H @ V[:at])
            at += len(by)
        if not slopes:
            return V, None
        derivative = 0
        for d in range(self.dim):
            derivative = derivative + V[:, (1 + d) * n:(2 + d) * n, None] * grads[d]
        return V[:, :n], derivative

    def exact_target(self):
        if self.exact_goal is None:
            points, weights = product_rule(self.dim, self.degree)
            self.exact_goal = self.evaluate(points, False)[0] @ weights
        return self.exact_goal

    def conditions(self):
        """(kinds, least number of unknowns of all other kinds): a polynomial that vanishes on all points of some kinds
        must be integrated by the others, so there are at least as many unknowns there as such polynomials."""
        random = np.random.default_rng(1)
        result = []
        for closed in CLOSED[self.shape]:
            rank = 0
            if closed:
                points = np.concatenate([random_points(random, KINDS[self.shape][k], 3 * self.n) for k in closed])
                values = self.evaluate(points, False)[0]
                s = np.linalg.svd(values, compute_uv=False)
                rank = int((s > 1e-9 * s[0]).sum())
            result.append((closed, self.n - rank))
        return result


def random_points(random, kind, n):
    """Barycentric coordinates of random points of a kind, inside."""
    shift = np.array(kind.shift, dtype=float)
    points = np.empty((0, len(shift)))
    if kind.n == 0:
        return np.tile(shift, (n, 1))
    while len(points) < n:
        more = shift + random.random((4 * n, kind.n)) @ kind.matrix.T
        points = np.concatenate([points, more[more.min(axis=1) > 0.01]])
    return points[:n]


class Rule:
    """Kinds of the orbits, barycentric coordinates of one point of each, and their parts of the measure."""

    def __init__(self, shape, kinds, points, parts):
        order = np.argsort(kinds, kind="stable")
        self.shape, self.kinds = shape, np.array(kinds)[order]
        self.points, self.parts = np.array(points)[order], np.array(parts)[order]

    def size(self):
        return int(sum(KINDS[self.shape][k].points for k in self.kinds))

    def counts(self):
        return tuple(int((self.kinds == k).sum()) for k in range(len(KINDS[self.shape])))

    def maps(self):
        """The matrices of the kinds, with columns of zeros, and where columns are not."""
        width = max(k.n for k in KINDS[self.shape])
        full = np.zeros((len(self.kinds), self.points.shape[1], width))
        for i, k in enumerate(self.kinds):
            m = KINDS[self.shape][k].matrix
            full[i, :, :m.shape[1]] = m
        used = np.array([[j < KINDS[self.shape][k].n for j in range(width)] for k in self.kinds])
        return full, used


def jacobian(equations, rule, full, used):
    values, slopes = equations.evaluate(rule.points)
    by_place = np.matmul(slopes.transpose(1, 0, 2), full) * rule.parts[:, None, None]  # orbit x equation x parameter
    by_place = by_place.transpose(1, 0, 2)[:, used]
    return values @ rule.parts - equations.target, np.concatenate([values, by_place], axis=1)


def residual_of(equations, rule):
    return equations.evaluate(rule.points, False)[0] @ rule.parts - equations.target


def stepped(rule, residual, J, damping, full, used):
    """The rule after a damped step, in which every orbit goes at most nine tenths of its way to the boundary."""
    n, (m, unknowns) = len(rule.kinds), J.shape
    scale = np.ones(unknowns)
    scale[:n] = 0.3
    JS = J * scale
    A = JS @ JS.T if m <= unknowns else JS.T @ JS
    A[np.diag_indices(len(A))] += damping + 1e-13 * np.trace(A) / len(A)
    move = -scale * (JS.T @ np.linalg.solve(A, residual) if m <= unknowns else np.linalg.solve(A, JS.T @ residual))
    parts, places = move[:n], np.zeros(used.shape)
    places[used] = move[n:]
    places = np.einsum("ijk,ik->ij", full, places)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(places < 0, -0.9 * rule.points / places, 1.0).min(axis=1)
        limit = np.minimum(limit, np.where(parts < 0, -0.9 * rule.parts / parts, 1.0))
    limit = np.minimum(limit, 1.0)
    return Rule(rule.shape, rule.kinds, rule.points + limit[:, None] * places, rule.parts + limit * parts)


def solve(equations, rule, iterations, tolerance=1e-10):
    """Levenberg-Marquardt steps; the rule when they converge, else None."""
    full, used = rule.maps()
    damping, history = 1e-2, []
    residual, J = jacobian(equations, rule, full, used)
    size = np.linalg.norm(residual)
    for step in range(iterations):
        history.append(size)
        if size < tolerance:
            return rule if judge(rule) else None
        if not np.isfinite(size) or damping > 1e6 or step > 25 and size > 0.7 * history[-20] or \
                step > 8 and (rule.points.min() < 1e-6 or rule.parts.min() < 1e-7):
            return None
        try:
            new = stepped(rule, residual, J, damping * size, full, used)
        except np.linalg.LinAlgError:
            return None
        new_size = np.linalg.norm(residual_of(equations, new))
        if new_size < size * (1.0 if size > 1e-8 else 2.0):
            rule, size = new, new_size
            residual, J = jacobian(equations, rule, full, used)
            damping = max(damping / 4, 1e-12)
        else:
            damping = max(damping * 5, 1e-8)
    return None


def judge(rule):
    weights = rule.parts / np.array([KINDS[rule.shape][k].points for k in rule.kinds])
    return rule.points.min() > NEAREST and weights.min() > LIGHTEST / rule.size()


def demotions(rule, i):
    """Orbits of fewer points near orbit i: coordinates that are near each other become equal."""
    point, kind = np.sort(rule.points[i]), rule.kinds[i]
    if rule.shape == "triangle":
        if kind == 2:
            a = (point[0] + point[1]) / 2
            yield 1, np.array([a, a, 1 - 2 * a])
            a = (point[1] + point[2]) / 2
            yield 1, np.array([a, a, 1 - 2 * a])
        elif kind == 1:
            yield 0, np.full(3, 1 / 3)
        return
    if kind == 4:
        for j in range(3):
            a = (point[j] + point[j + 1]) / 2
            others = [point[k] for k in range(4) if k not in (j, j + 1)]
            yield 3, np.array([a, a] + others)
    elif kind == 3:
        for group in ((0, 1, 2), (1, 2, 3)):
            a = sum(point[k] for k in group) / 3
            yield 1, np.array([a, a, a, 1 - 3 * a])
        a = (point[0] + point[1]) / 2
        yield 2, np.array([a, a, 0.5 - a, 0.5 - a])
    elif kind in (1, 2):
        yield 0, np.full(4, 1 / 4)


def reductions(rule, conditions, random):
    """Rules of fewer points near a rule: those first that disturb little and save many points for an unknown."""
    moves, kinds = [], KINDS[rule.shape]
    for i, kind in enumerate(rule.kinds):
        keep = np.arange(len(rule.kinds)) != i
        points = kinds[kind].points
        new = Rule(rule.shape, rule.kinds[keep], rule.points[keep], rule.parts[keep] / rule.parts[keep].sum())
        moves.append((rule.parts[i] / points * (kinds[kind].n + 1), new))
        for other, place in demotions(rule, i):
            if other == 0 and (rule.kinds == 0).any() or place.min() <= 0.002:
                continue
            distance = np.abs(np.sort(place) - np.sort(rule.points[i])).max()
            new = Rule(rule.shape, rule.kinds, rule.points, rule.parts)
            new.kinds[i], new.points[i] = other, place
            new.parts[i] *= max(0.3, kinds[other].points / points)
            new.parts /= new.parts.sum()
            new = Rule(rule.shape, new.kinds, new.points, new.parts)
            moves.append((rule.parts[i] * min(1.0, 4 * distance) / (points - kinds[other].points), new))
    moves = [(cost * np.exp(0.7 * random.standard_normal()), new) for cost, new in moves
             if obeys(rule.shape, new.counts(), conditions)]
    moves.sort(key=lambda m: m[0])
    return [m[1] for m in moves]


def obeys(shape, counts, conditions):
    return all(sum(c * (KINDS[shape][j].n + 1) for j, c in enumerate(counts) if j not in closed) >= least
               for closed, least in conditions)


def structures(equations, most, conditions):
    """Numbers of orbits by kind with at most so many points that obey the conditions, a row each. Kinds have no more
    unknowns than there are polynomials that tell their points from each other."""
    kinds, tops = KINDS[equations.shape], []
    for k, kind in enumerate(kinds):
        least = max([least for closed, least in conditions if k in closed], default=0)
        tops.append(min(most // kind.points, (equations.n - least) // (kind.n + 1) + 1) if k > 0 else 1)
    counts = np.array([c.ravel() for c in np.indices([t + 1 for t in tops])])
    right = np.array([k.points for k in kinds]) @ counts <= most
    for closed, least in conditions:
        right &= np.array([0 if k in closed else kind.n + 1 for k, kind in enumerate(kinds)]) @ counts >= least
    return counts[:, right].T


def random_rule(random, shape, counts):
    kinds, points = [], []
    for k, c in enumerate(counts):
        if c:
            kinds += [k] * c
            points.append(random_points(random, KINDS[shape][k], c))
    sizes = np.array([KINDS[shape][k].points for k in kinds], dtype=float)
    return Rule(shape, kinds, np.concatenate(points), sizes / sizes.sum())


def eliminate(equations, rule, conditions, random, until, pool):
    """Fewer and fewer points, as long as one of the reductions converges; the rules on the way go to the pool."""
    going = True
    while going and time.time() < until:
        going = False
        pool.append(rule)
        for candidate in reductions(rule, conditions, random):
            if time.time() > until:
                break
            found = solve(equations, candidate, 150)
            if found is not None:
                rule, going = found, True
                break
    return rule


def shake(rule, random):
    """The same orbits, moved a little."""
    full, used = rule.maps()
    moves = np.einsum("ijk,ik->ij", full, 0.03 * random.standard_normal(used.shape))
    points = rule.points + moves
    points = np.where((points.min(axis=1) > 0.003)[:, None], points, rule.points)
    return Rule(rule.shape, rule.kinds, points, rule.parts)


def extended(rule, random, size):
    """A rule and random orbits beside it, to about a number of points."""
    kinds, points = list(rule.kinds), [rule.points]
    total = rule.size()
    while total < size:
        k = int(random.choice(np.arange(1, len(KINDS[rule.shape]))))
        kinds.append(k)
        points.append(random_points(random, KINDS[rule.shape][k], 1))
        total += KINDS[rule.shape][k].points
    sizes = np.array([KINDS[rule.shape][k].points for k in kinds], dtype=float)
    parts = sizes / sizes.sum()
    parts[:len(rule.kinds)] = rule.parts * parts[:len(rule.kinds)].sum()
    return Rule(rule.shape, kinds, np.concatenate(points), parts)


def search(equations, best, lower, seconds, random):
    """The best rule found in the time given, starting from rules of this degree (or None) and of lower ones."""
    shape, until = equations.shape, time.time() + seconds
    conditions = equations.conditions()
    product = (equations.degree // 2 + 1) ** equations.dim
    allowed = structures(equations, min(product, best.size() * 5 // 4) if best is not None else product,
                         conditions)
    if not len(allowed):
        return best
    sizes = allowed @ np.array([k.points for k in KINDS[shape]])
    least, tries, converged, pool = sizes.min(), 0, 0, [best] if best is not None else []
    print(f"{shape} {equations.degree}: {equations.n} equations, at least {least} points by counting", flush=True)
    if best is not None:
        best = eliminate(equations, best, conditions, random, until, pool)
    while time.time() < until and (best is None or best.size() > least):
        tries += 1
        top = best.size() if best is not None else 2 * least
        if lower and random.random() < (0.2 if best is not None else 0.7):
            size = least * random.uniform(1.0, 1.6 if best is not None else 2.0)
            start = extended(lower[random.integers(len(lower))], random, size)
        elif pool and random.random() < 0.4:
            pool = [r for r in pool if r.size() < 1.25 * top][-300:] + [best]
            start = shake(pool[random.integers(len(pool))], random)
        elif best is not None and random.random() < 0.5:  # right away to fewer points
            near = np.flatnonzero(sizes < top)
            size = sizes[random.choice(near)]
            near = near[sizes[near] == size]
            start = random_rule(random, shape, allowed[random.choice(near)])
        else:  # from more points down
            size = min(top * random.uniform(1.0, 1.3) if best is not None else least * random.uniform(1.1, 1.7),
                       sizes.max())
            near = np.flatnonzero(np.abs(sizes - size) <= 0.03 * size + 1)
            if not len(near):
                continue
            start = random_rule(random, shape, allowed[random.choice(near)])
        rule = solve(equations, start, 250)
        if rule is None:
            continue
        converged += 1
        rule = eliminate(equations, rule, conditions, random, until, pool)
        if best is None or rule.size() < best.size():
            best = rule
            print(f"  {best.size()} points {best.counts()} after {seconds - until + time.time():.0f} s,"
                  f" {converged} of {tries} converged", flush=True)
    print(f"  {tries} tries, {converged} converged", flush=True)
    return best


def polish(equations, rule):
    """Parameters and weights in mpf with residual below 1e-30, or None."""
    kinds = [KINDS[rule.shape][k] for k in rule.kinds]
    full, used = rule.maps()
    parameters = [[mpf(float(p)) for p in np.linalg.lstsq(k.matrix, point - np.array(k.shift, dtype=float),
                                                          rcond=None)[0]] if k.n else []
                  for k, point in zip(kinds, rule.points)]
    parts = [mpf(float(p)) for p in rule.parts]
    _, J = jacobian(equations, rule, full, used)
    inverse = np.linalg.pinv(J, rcond=1e-12)
    target = equations.exact_target()
    for _ in range(30):
        points = np.array([[s + sum(mpf(float(a)) * p for a, p in zip(row, par))
                            for s, row in zip(k.shift, k.matrix)] for k, par in zip(kinds, parameters)], dtype=object)
        residual = equations.evaluate(points, False)[0] @ np.array(parts, dtype=object) - target
        size = max(abs(r) for r in residual)
        if size < mpf(10) ** -30:
            return parameters, parts
        if size > 1e-6:
            return None
        move = -inverse @ (residual / size).astype(float)
        parts = [p + mpf(float(m)) * size for p, m in zip(parts, move)]
        at = len(parts)
        for par in parameters:
            for j in range(len(par)):
                par[j] += mpf(float(move[at])) * size
                at += 1
    return None


# ------------------------------------------------------------------ the table

HEAD = """/* Symmetric quadrature rules on triangles and tets. Made by tools/simplex-rules.py; included by poly/rule.c.
 *
 * A rule is a number of orbits of each kind. The points of an orbit have these barycentric coordinates, in
 * all orders:
 *
 *     triangle  0  1/3 1/3 1/3      1 point        tet  0  1/4 1/4 1/4 1/4      1 point
 *               1  a a 1-2a         3 points            1  a a a 1-3a           4 points
 *               2  a b 1-a-b        6 points            2  a a 1/2-a 1/2-a      6 points
 *                                                       3  a a b 1-2a-b        12 points
 *                                                       4  a b c 1-a-b-c       24 points
 *
 * The numbers are, orbit after orbit, a weight and the coordinates a, b, c. The weights of all points sum to
 * the measure of the reference cell. */
#ifndef FACET_POLY_RULE_TABLES_H
#define FACET_POLY_RULE_TABLES_H

/* clang-format off */
#define RULE_TABLE_KINDS 5

struct rule_table {
    int degree, n; /* exact to this total degree, with so many points */
    int n_orbits[RULE_TABLE_KINDS];
    const double *numbers;
};
"""


def digits(x):
    return mp.nstr(x, 17, min_fixed=-1, max_fixed=1)


def points_of(shape, counts):
    return sum(c * k.points for c, k in zip(counts, KINDS[shape]))


def useful(rules):
    """Without rules that have no fewer points than one of a higher degree, or than a product."""
    def better(shape, degree, n):
        return any(s == shape and d > degree and points_of(s, c) <= n for (s, d), (c, _) in rules.items())
    return {(s, d): r for (s, d), r in rules.items()
            if points_of(s, r[0]) < (d // 2 + 1) ** DIM[s] and not better(s, d, points_of(s, r[0]))}


def write_table(path, rules):
    lines, rules = [HEAD], useful(rules)
    for (shape, degree), (counts, numbers) in sorted(rules.items()):
        lines.append(f"static const double {shape}_{degree}[] = {{")
        row = "   "
        for x in numbers:
            if len(row) + len(x) + 2 > 108:
                lines.append(row)
                row = "   "
            row += f" {x},"
        lines += [row, "};", ""]
    for shape in KINDS:
        lines.append(f"/* By ascending degree. */\nstatic const struct rule_table {shape}_rules[] = {{")
        for (s, degree), (counts, numbers) in sorted(rules.items()):
            if s == shape:
                n = points_of(shape, counts)
                lines.append(f"    {{{degree}, {n}, {{{', '.join(str(c) for c in counts)}}}, {shape}_{degree}}},")
        lines += ["};", ""]
    lines.append("#endif")
    with open(path + ".part", "w") as f:
        f.write("\n".join(lines) + "\n")
    os.replace(path + ".part", path)


def read_table(path):
    """(shape, degree) -> (numbers of orbits, numbers as text)."""
    if not os.path.exists(path):
        return {}
    text = open(path).read()
    numbers = {m[1]: [x.strip() for x in m[2].split(",") if x.strip()]
               for m in re.finditer(r"static const double (\w+)\[\] = \{(.*?)\};", text, re.S)}
    rules = {}
    for m in re.finditer(r"\{(\d+), \d+, \{([\d, ]+)\}, ((\w+)_\d+)\}", text):
        rules[m[4], int(m[1])] = (tuple(int(c) for c in m[2].split(",")), numbers[m[3]])
    return rules


def rule_of(shape, counts, numbers):
    kinds, points, parts, at = [], [], [], 0
    for k, c in enumerate(counts):
        kind = KINDS[shape][k]
        for _ in range(c):
            kinds.append(k)
            parts.append(float(mpf(numbers[at]) * kind.points / MEASURE[shape]))
            parameters = np.array([float(x) for x in numbers[at + 1:at + 1 + kind.n]])
            points.append(np.array(kind.shift, dtype=float) + kind.matrix @ parameters)
            at += 1 + kind.n
    return Rule(shape, kinds, points, parts)


def numbers_of(shape, rule, parameters, parts):
    numbers = []
    for k, par, part in zip(rule.kinds, parameters, parts):
        numbers += [digits(part * MEASURE[shape] / KINDS[shape][k].points)] + [digits(p) for p in par]
    return rule.counts(), numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table")
    parser.add_argument("--seconds", type=float, default=60, help="for each degree")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("what", nargs="*", help="tet:8, triangle:4-24")
    options = parser.parse_intermixed_args()
    if not options.what:
        write_table(options.table, read_table(options.table))
    for what in options.what:
        shape, _, degrees = what.partition(":")
        if shape not in KINDS or not re.fullmatch(r"\d+(-\d+)?", degrees):
            sys.exit(f"{what}: expected triangle or tet, a colon, and a degree or two, such as tet:6-16")
        first, _, last = degrees.partition("-")
        for degree in range(int(first), int(last or first) + 1):
            equations = Equations(shape, degree)
            rules = read_table(options.table)
            best = rule_of(shape, *rules[shape, degree]) if (shape, degree) in rules else None
            lower = [rule_of(shape, *rules[shape, d]) for d in (degree - 1, degree - 2) if (shape, d) in rules]
            random = np.random.default_rng([options.seed, degree])
            found = search(equations, best, lower, options.seconds, random)
            if found is None or best is not None and found.size() == best.size():
                continue
            exact = polish(equations, found)
            if exact is None:
                print("  could not be polished", flush=True)
                continue
            rules = read_table(options.table)
            rules[shape, degree] = numbers_of(shape, found, *exact)
            write_table(options.table, rules)


if __name__ == "__main__":
    main()
