"""Fields that are linear, or polynomials, over a whole body of any cells: gradients, stresses, fluxes and forces are known by
hand. Curved cells, anisotropic and orthotropic materials, heat, springs, bodies of revolution; joined sides with a mean
gradient; and a chain of a linear temperature and the stress-free body that it bends."""
import math

from trial.lattices import area, begin, draw_lattice, inside, linear_text, want
from trial.solvers import draw_solver
from trial.text import AXES, number, power, steps


def slopes(rng, n):
    return [round(rng.uniform(-1, 1), 3) for _ in range(n)]


def dot(a, b):
    return sum(x*y for x, y in zip(a, b))


def rotation(rng, dim):
    """Rows are orthonormal axes; in 2D the third is z."""
    if dim == 2:
        angle = rng.uniform(0, 3)
        c, s = math.cos(angle), math.sin(angle)
        return [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
    rows = []
    while len(rows) < 2:
        v = [rng.uniform(-1, 1) for _ in range(3)]
        for r in rows:
            v = [x - dot(v, r)*y for x, y in zip(v, r)]
        size = math.hypot(*v)
        if size > 0.3:
            rows.append([x/size for x in v])
    a, b = rows
    return [a, b, [a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]]]


def turned(R, T, back=False):
    """R T R', or R' T R, of 3 x 3 matrices."""
    A = [list(column) for column in zip(*R)] if back else R
    return [[sum(A[i][k]*T[k][m]*A[j][m] for k in range(3) for m in range(3)) for j in range(3)] for i in range(3)]


# Diffusion

def draw_flow(rng, index, extreme, title):
    p = begin(index, extreme, title)
    draw_lattice(rng, p, 1)
    case, dim, axes = p["case"], p["dim"], AXES[:p["dim"]]
    case["equation"] = "diffusion"
    k = p["k"] = power(rng, -6, 6) if extreme and rng.random() < 0.5 else power(rng, 0, 1)
    ratio = power(rng, -4, 4) if extreme else power(rng, -1, 1)
    if p["spin"]:
        K = [[k, 0.0], [0.0, k*ratio]]
    else:
        K = [row[:dim] for row in turned(rotation(rng, dim), [[k, 0, 0], [0, k*ratio, 0], [0, 0, k]])[:dim]]
        for i in range(dim):
            for j in range(i):
                K[i][j] = K[j][i]
    case["conductivity"] = K if rng.random() < 0.6 else k
    if case["conductivity"] == k:
        K = [[k*(i == j) for j in range(dim)] for i in range(dim)]
    level = 10.0**rng.randint(-6, 6) if extreme and rng.random() < 0.5 else 1.0
    g = [s*level/n for s, n in zip(slopes(rng, dim), p["length"])]
    if p["spin"]:
        g[0] = 0.0  # a cone at the axis is no solution
    constant = level*rng.choice((0.0, 1.0, rng.choice((1.0, 1e3, 1e6)) if extreme else 2.0))
    p["stiff"] = max(abs(v) for row in K for v in row)
    text = linear_text(axes, g, constant)
    flux = [-dot(row, g) for row in K]
    p["method"] = "condensed" if p["shape"] in ("triangle", "quad", "tet", "hex") and not p["spin"] and rng.random() < 0.25 \
        else "hdg"
    case["boundary"] = []
    for i, s in enumerate(p["sides"]):
        d, sign = AXES.index(s[0]), 1 if s.endswith("max") else -1
        word = rng.choice(("dirichlet", "neumann", "robin")) if i else "dirichlet"
        data = -sign*flux[d]
        a = k/p["typical"]*(power(rng, -6, 6) if extreme else power(rng, -1, 1))
        case["boundary"].append({"on": s, **{"dirichlet": {"dirichlet": text}, "neumann": {"neumann": data},
                                             "robin": {"robin": {"a": a, "g": f"{number(data)} + {number(a)}*({text})"}}}[word]})
        p["conditions"] += " " + word
    case["discretization"] = {"method": p["method"], "degree": p["degree"]}
    flow_values(rng, p, g, constant, flux)
    draw_solver(rng, p)
    return p


def corner_extremes(p, g, constant):
    low, high = constant, constant
    for s, a, n in zip(g, p["low"], p["length"]):
        ends = sorted((s*a, s*(a + n)))
        low, high = low + ends[0], high + ends[1]
    return low, high


def finest(p):
    """One over the least width of a cell."""
    return 1/min(b - a for line in p["lines"] for a, b in zip(line, line[1:]))


def flow_values(rng, p, g, constant, flux):
    low, high = corner_extremes(p, g, constant)
    size, through = max(abs(low), abs(high)), max(map(abs, flux))
    sees = size*finest(p)*p["stiff"]
    for _ in range(2):
        x = inside(rng, p)
        want(p, "u", constant + dot(g, x), size, field="u", at=x)
        d = rng.randrange(p["dim"])
        want(p, "q", flux[d], through, sees=sees, field="q", component=AXES[d], at=x)
    if p["method"] == "hdg":
        want(p, "u_star", constant + dot(g, x), size, field="u_star", at=x)
        want(p, "q_star", flux[0], through, sees=sees, field="q_star", component="x", at=x)
    want(p, "extreme", high, size, field="u", take="max")
    want(p, "extreme", low, size, field="u", take="min")
    if p["spin"]:
        want(p, "flux", flux[1]*area(p, 1), through*area(p, 1), sees=sees*area(p, 1), field="flux", take="integral", on="ymax")
        return
    middle = [a + n/2 for a, n in zip(p["low"], p["length"])]
    want(p, "mean", constant + dot(g, middle), size, field="u", take="mean")
    want(p, "integral", (constant + dot(g, middle))*math.prod(p["length"]), size*math.prod(p["length"]), field="u",
         take="integral")
    for s in p["sides"]:
        d, sign = AXES.index(s[0]), 1 if s.endswith("max") else -1
        most = max(abs(f)*area(p, e) for e, f in enumerate(flux))
        want(p, "flux", sign*flux[d]*area(p, d), most, sees=sees*area(p, d), field="flux", take="integral", on=s)


# Elasticity

def isotropic(p, mu, lam):
    """Stress (3 x 3) of a strain (3 x 3), and the strain across the plane that goes with it."""
    def law(e, heat):
        if p["plane"] == "stress":  # no stress across: e_zz follows
            e[2][2] = ((3*lam + 2*mu)*heat - lam*(e[0][0] + e[1][1]))/(lam + 2*mu)
        pressure = lam*(e[0][0] + e[1][1] + e[2][2]) - (3*lam + 2*mu)*heat
        return [[2*mu*e[i][j] + pressure*(i == j) for j in range(3)] for i in range(3)]
    return law


def solve_small(A, b):
    """3 x 3, by Cramer."""
    def det(M):
        return sum(M[0][i]*(M[1][(i + 1) % 3]*M[2][(i + 2) % 3] - M[1][(i + 2) % 3]*M[2][(i + 1) % 3]) for i in range(3))
    whole = det(A)
    return [det([[b[i] if j == c else A[i][j] for j in range(3)] for i in range(3)])/whole for c in range(3)]


def orthotropic(p, E, nu, G, R):
    """The same along axes; nu is nu12, nu13, nu23, G is G12, G13, G23."""
    S = [[1/E[0], -nu[0]/E[0], -nu[1]/E[0]], [-nu[0]/E[0], 1/E[1], -nu[2]/E[1]], [-nu[1]/E[0], -nu[2]/E[1], 1/E[2]]]

    def law(e, _):
        own = turned(R, e)
        normal = [own[0][0], own[1][1], own[2][2]]
        if p["plane"] == "stress":
            det = S[0][0]*S[1][1] - S[0][1]**2
            s = [(S[1][1]*normal[0] - S[0][1]*normal[1])/det, (S[0][0]*normal[1] - S[0][1]*normal[0])/det, 0.0]
        else:
            s = solve_small(S, normal)
        stress = [[s[i] if i == j else 2*G[i + j - 1]*own[i][j] for j in range(3)] for i in range(3)]
        return turned(R, stress, back=True)
    return law


def draw_material(rng, p):
    """Sets the case's material; returns its law."""
    extreme, case, dim = p["extreme"], p["case"], p["dim"]
    mu = p["k"] = p["stiff"] = power(rng, -6, 11) if extreme and rng.random() < 0.5 else power(rng, 0, 1)
    if p["formulation"] == "gradient" or p["spin"] or rng.random() < 0.6:
        ratio = p["ratio"] = power(rng, 0, 5) if extreme and rng.random() < 0.5 else power(rng, -1, 1)
        p["stiff"] *= 2 + ratio
        if rng.random() < 0.5:
            case["material"] = {"mu": mu, "lambda": ratio*mu}
            return isotropic(p, mu, ratio*mu)
        nu = float(f"{ratio/(2*(1 + ratio)):.6f}")
        case["material"] = {"E": mu, "nu": nu}
        return isotropic(p, mu/(2*(1 + nu)), mu*nu/((1 + nu)*(1 - 2*nu)))
    span = 1.5 if extreme else 0.5
    E = [mu*power(rng, -span, span) for _ in range(3)]
    nu = [round(rng.uniform(0, 0.2)*min(1.0, math.sqrt(E[i]/E[j])), 4) for i, j in ((0, 1), (0, 2), (1, 2))]
    G = [mu*power(rng, -span, span) for _ in range(3)]
    p["data"], p["stiff"] = "orthotropic", 2*max(E + G)
    R = rotation(rng, dim)
    axes = {"E": E, "nu": nu, "G": G}
    if p["plane"] == "stress" and rng.random() < 0.5:
        axes = {"E": E[:2], "nu": nu[0], "G": G[0]}
    axes["first"] = R[0][:dim]
    if dim == 3:
        lean = rng.uniform(-1, 1)
        axes["second"] = [x + lean*y for x, y in zip(R[1], R[0])]
    case["material"] = {"orthotropic": axes}
    return orthotropic(p, E, nu, G, R)


def draw_stress(rng, index, extreme, title):
    p = begin(index, extreme, title)
    draw_lattice(rng, p, 1)
    case, dim, axes = p["case"], p["dim"], AXES[:p["dim"]]
    case["equation"] = p["method"] = "elasticity"
    if dim == 3 and p["degree"] > 2 and rng.random() < 0.7:
        p["degree"] = 2
    p["formulation"] = "gradient" if rng.random() < 0.25 and not p["spin"] else "symmetric"
    p["plane"] = "axisymmetric" if p["spin"] else rng.choice(("stress", "strain")) if dim == 2 else "strain"
    if p["plane"] == "stress":
        case["plane"] = "stress"
    law = draw_material(rng, p)
    level = 10.0**rng.randint(-6, 0) if extreme else 1.0
    G = [[level*s for s in slopes(rng, dim)] for _ in range(dim)]
    if p["spin"]:
        G[0][1] = G[1][0] = 0.0
    move = [level*n*rng.choice((0.0, 1.0)) for n in p["length"]]
    if p["spin"]:
        move[0] = 0.0
    e = [[(G[i][j] + G[j][i])/2 if i < dim and j < dim else 0.0 for j in range(3)] for i in range(3)]
    if p["spin"]:
        e[2][2] = G[0][0]
    heat = 0.0
    if p["data"] != "orthotropic" and rng.random() < 0.4:
        heat = level*round(rng.uniform(-1, 1), 3)
        case["thermal"] = {"expansion": heat, "temperature": 21.0, "reference": 20.0}
    stress = law(e, heat)
    texts = [linear_text(axes, G[i], move[i]) for i in range(dim)]
    case["boundary"] = [stress_side(rng, p, i, s, texts, stress) for i, s in enumerate(p["sides"])]
    case["discretization"] = {"degree": p["degree"], "formulation": p["formulation"]}
    p["conditions"] = p["conditions"].strip()
    if p["formulation"] == "gradient":
        p["data"] = "gradient"
    stress_values(rng, p, G, move, stress)
    draw_solver(rng, p)
    return p


def stress_side(rng, p, i, s, texts, stress):
    dim, d, sign = p["dim"], AXES.index(s[0]), 1 if s.endswith("max") else -1
    pull = [sign*stress[j][d] for j in range(dim)]
    choices = ["displacement", "traction", "roller"] if p["formulation"] == "symmetric" else ["displacement", "traction"]
    choices += ["spring", "force"] if p["formulation"] == "symmetric" else []
    word = rng.choice(choices) if i else "displacement"
    if word == "force" and p["spin"]:
        word = "traction"
    p["conditions"] += " " + {"displacement": "d", "traction": "t", "roller": "r", "spring": "s", "force": "f"}[word]
    if word == "displacement":
        return {"on": s, "displacement": texts}
    if word == "traction":
        return {"on": s, "traction": pull}
    if word == "force":
        return {"on": s, "force": [t*area(p, d) for t in pull]}
    if word == "roller":
        return {"on": s, "displacement": [texts[j] if j == d else None for j in range(dim)],
                "traction": [None if j == d else pull[j] for j in range(dim)]}
    k = p["k"]/p["typical"]*(power(rng, -6, 4) if p["extreme"] else power(rng, -1, 1))
    return {"on": s, "spring": k, "traction": [f"{number(t)} + {number(k)}*({text})" for t, text in zip(pull, texts)]}


def von_mises(s):
    a, b, c = s[0][0] - s[1][1], s[1][1] - s[2][2], s[2][2] - s[0][0]
    return math.sqrt((a*a + b*b + c*c)/2 + 3*(s[0][1]**2 + s[0][2]**2 + s[1][2]**2))


def stress_values(rng, p, G, move, stress):
    dim = p["dim"]
    size = max(max(map(abs, corner_extremes(p, G[i], move[i]))) for i in range(dim))
    most = max(abs(v) for row in stress for v in row)
    slope = size*finest(p)
    sees = p["stiff"]*slope
    for _ in range(2):
        x, i, j = inside(rng, p), rng.randrange(dim), rng.randrange(dim)
        want(p, "u", move[i] + dot(G[i], x), size, field="u", component=AXES[i], at=x)
        want(p, "stress", stress[i][j], most, sees=sees, field="stress", component=AXES[i] + AXES[j], at=x)
    want(p, "strain", (G[i][j] + G[j][i])/2, max(abs(v) for row in G for v in row), sees=slope, field="strain",
         component=AXES[i] + AXES[j], at=x)
    want(p, "stress", stress[0][0], most, sees=sees, field="stress", component="xx", take="mean")
    want(p, "von Mises", von_mises(stress), most, sees=sees, field="von_mises", at=x)
    if dim == 2:
        want(p, "stress", stress[2][2], most, sees=sees, field="stress_across", at=x)
    if p["spin"]:
        want(p, "force", stress[1][1]*area(p, 1), most*area(p, 1), sees=sees*area(p, 1), field="traction", component="y",
             take="integral", on="ymax")
        return
    for s in rng.sample(p["sides"], 2):
        d, sign = AXES.index(s[0]), 1 if s.endswith("max") else -1
        largest = max(area(p, e) for e in range(dim))*most
        want(p, "force", sign*stress[i][d]*area(p, d), largest, sees=sees*area(p, d), field="traction", component=AXES[i],
             take="integral", on=s)


# Joined sides and a mean gradient

def draw_mean(rng, index, extreme, title):
    """A box that repeats itself, in layers along x: its means are those of layers in series and side by side."""
    p = begin(index, extreme, title)
    dim = p["dim"] = rng.choice((2, 2, 3))
    p["spin"], p["shape"] = False, rng.choice(("triangle", "quad") if dim == 2 else ("tet", "hex", "prism"))
    p["degree"] = rng.choice((1, 2, 3) if dim == 2 else (1, 2))
    n = rng.choice((2, 4))
    length = p["length"] = [float(f"{power(rng, -0.5, 0.5)*(10.0**rng.randint(-6, 6) if extreme else 1):.2g}")]*dim
    p["low"] = [0.0]*dim
    p["lines"] = [[length[0]*i/n for i in range(n)] + [length[0]]] + [[0.0, length[0]/2, length[0]]]*(dim - 1)
    p["case"]["mesh"] = {"box": {"coordinates": dict(zip(AXES, p["lines"])), "shape": p["shape"], "periodic": list(AXES[:dim])}}
    p["periodic"], p["sides"], p["typical"], p["order"], p["moved"] = list(range(dim)), [], length[0]/n, 1, False
    case = p["case"]
    level = 10.0**rng.randint(-6, 6) if extreme else 1.0
    k = p["k"] = power(rng, -6, 6) if extreme else power(rng, 0, 1)
    if rng.random() < 0.6:
        case["equation"], p["method"] = "diffusion", "hdg"
        factors = [k*power(rng, -4 if extreme else -1, 4 if extreme else 1) for _ in range(n)]
        case["conductivity"] = steps(p["lines"][0][1:-1], [number(f) for f in factors], 0)
        g = case["jump"] = [level/length[0]*s for s in slopes(rng, dim)]
        series, beside = n/sum(1/f for f in factors), sum(factors)/n
        flux = [-g[0]*series] + [-s*beside for s in g[1:]]
        case["discretization"] = {"degree": p["degree"], "operator": "mapped"}
        for d in range(dim):
            want(p, "mean", flux[d], max(map(abs, flux)), field="q", component=AXES[d], take="mean")
    else:
        case["equation"] = p["method"] = "elasticity"
        p["formulation"], p["plane"] = "symmetric", "strain"
        law = draw_material(rng, p)
        half = [[level*s for s in slopes(rng, dim)] for _ in range(dim)]
        e = [[(half[i][j] + half[j][i])/2 if i < dim and j < dim else 0.0 for j in range(3)] for i in range(3)]
        case["jump"] = [row[:dim] for row in e[:dim]]
        stress = law(e, 0.0)
        most = max(abs(v) for row in stress for v in row)
        case["discretization"] = {"degree": p["degree"]}
        for i in range(dim):
            want(p, "mean", stress[i][0], most, field="stress", component=AXES[i] + "x", take="mean")
    p["conditions"] = "joined"
    draw_solver(rng, p)
    return p


# A chain: the temperature c + g x, and the body that it bends without stress

def draw_chain(rng, index, extreme, title):
    p = begin(index, extreme, title)
    draw_lattice(rng, p, 1)
    case, dim = p["case"], p["dim"]
    plane = {}
    if p["spin"] or dim == 2:  # free across the plane, or the strain there would be held back
        case.pop("plane", None)
        plane = {"plane": "stress"}
        p["spin"] = False
        p["sides"] = [AXES[d] + end for d in range(2) for end in ("min", "max")]
    if p["moved"] or p["order"] == 2:
        p["degree"] = max(p["degree"], 2)
    if dim == 3:
        p["degree"] = min(p["degree"], 2)
    curved = p["moved"]  # functions of bent cells have the quadratic u on quads and hexes alone
    length, low = p["length"], p["low"]
    level = 10.0**rng.randint(-2, 3) if extreme else 100.0
    g, constant = level/length[0], level*rng.choice((0.0, 1.0))
    alpha = power(rng, -7, -3)
    E = p["k"] = power(rng, 0, 11) if extreme else 1.0
    heat = {"name": "heat", "equation": "diffusion", "conductivity": power(rng, -3, 3),
            "boundary": [{"on": "xmin", "dirichlet": constant + g*low[0]},
                         {"on": "xmax", "dirichlet": constant + g*(low[0] + length[0])},
                         {"on": [s for s in p["sides"] if s[0] != "x"], "neumann": 0}],
            "discretization": {"degree": p["degree"]}}
    x = AXES[:dim]
    a = number(alpha*g)
    c = number(alpha*constant)
    texts = [f"{a}*(x^2" + "".join(f" - {v}^2" for v in x[1:]) + f")/2 + {c}*x"]
    texts += [f"{a}*x*{v} + {c}*{v}" for v in x[1:]]
    stress = {"name": "stress", "equation": "elasticity", "material": {"E": E, "nu": round(rng.uniform(0, 0.45), 3)}, **plane,
              "thermal": {"expansion": alpha, "temperature": {"case": "heat"}},
              "boundary": [{"on": "xmin", "displacement": texts},
                           {"on": [s for s in p["sides"] if s != "xmin"], "traction": [0.0]*dim}],
              "discretization": {"degree": p["degree"]}}
    p["method"], p["conditions"], p["data"] = "chain", "heat and stress", "chain"
    p["chain"] = [heat, stress]
    hot = max(abs(constant + g*low[0]), abs(constant + g*(low[0] + length[0])))
    far = max(max(abs(v), abs(v + n)) for v, n in zip(low, length))
    for i in range(2):
        at = inside(rng, p)
        T = constant + g*at[0]
        heat.setdefault("values", []).append({"name": f"T{i}", "field": "u", "at": at})
        p["expect"].append({"name": f"T{i}", "kind": "u", "want": T, "scale": hot})
        if curved:
            continue
        u = alpha*g*(at[0]**2 - sum(v*v for v in at[1:]))/2 + alpha*constant*at[0]
        stress.setdefault("values", []).append({"name": f"u{i}", "field": "u", "component": "x", "at": at})
        p["expect"].append({"name": f"u{i}", "kind": "u", "want": u, "scale": alpha*hot*far})
        stress["values"].append({"name": f"s{i}", "field": "stress", "component": "xx", "at": at})
        p["expect"].append({"name": f"s{i}", "kind": "stress", "want": 0.0, "scale": E*alpha*hot})
    case["cases"] = p["chain"]
    return p
