"""Which problem has which number: families of problems, each drawn by a function of its own."""
import random

from trial.boxes import draw_box
from trial.lattices import inside
from trial.patches import draw_chain, draw_flow, draw_mean, draw_stress
from trial.radial import draw_lame, draw_pipe
from trial.series import draw_bar, draw_heat

# Names with weights; `box` has a seed's problems as they were before there were others.
FAMILIES = {"box": (6, None), "heat": (6, draw_heat), "bar": (3, draw_bar), "flow": (3, draw_flow), "stress": (3, draw_stress),
            "mean": (1, draw_mean), "chain": (1, draw_chain), "pipe": (2, draw_pipe), "lame": (1, draw_lame)}


def draw(seed, index, share, families, many):
    """Problem `index` of a seed; many: ranks are drawn too. It depends on nothing else."""
    rng = random.Random(f"{seed} {index} family")
    names = families or list(FAMILIES)
    family = rng.choices(names, [FAMILIES[name][0] for name in names])[0]
    if family == "box":
        p = draw_box(seed, index, share)
    else:
        own = random.Random(f"{seed} {index} {family}")
        p = FAMILIES[family][1](own, index, own.random() < share, f"problem {index} of seed {seed}, {family}")
        p["device"] = rng.choice(("cpu",)*6 + ("ref", "debug"))
        p["ranks"] = rng.choice((1, 1, 1, 2, 3, 4, 5)) if many and p["data"] != "gradient" else 1
        if p["ranks"] > 1:
            distribute(rng, p)
        if family not in ("chain", "mean") and rng.random() < 0.15:
            write_files(rng, p)
    p["family"] = family
    return p


def distribute(rng, p):
    """A solver that ranks have."""
    solver = {key: value for key, value in p["case"].get("solver", {}).items() if key in ("rtol",)}
    solver["method"] = rng.choice(("auto", "cg", "cg", "fgmres"))
    if solver["method"] != "auto":
        solver["preconditioner"] = "block" if p["method"] == "condensed" else rng.choice(("block", "pmg", "pmg", "gmg"))
    for case in p["case"].get("cases", [p["case"]]):
        case["solver"] = solver


def write_files(rng, p):
    """A VTU file and a table, which the judge reads."""
    p["case"]["output"] = {"file": "out.vtu"}
    ends = [inside(rng, p, 0) for _ in range(2)] if "starts" in p else [[a + s*n for a, n in zip(p["low"], p["length"])]
                                                                         for s in (0.05, 0.4)]
    item = {"name": "line", "field": "u", "along": ends, "points": 7, "file": "line.csv"}
    if p["case"]["equation"] == "elasticity":
        item["component"] = "x"
    p["case"]["values"].append(item)


def stretch(p):
    """How much longer than wide the worst cell is."""
    widths = [[b - a for a, b in zip(line, line[1:])] for line in p["lines"]]
    return max(max(a)/min(b) for i, a in enumerate(widths) for j, b in enumerate(widths) if i != j)


def describe(p):
    words = ["extreme" if p["extreme"] else "mild", p["family"], p["shape"], f"p={p['degree']}", p["method"], p["data"]]
    words += ["perturbed file" if p.get("moved") else "file"] if "mesh_text" in p else []
    words += ["tensor"] if p["tensor"] else []
    words += ["curved"] if p.get("order") == 2 and p["moved"] else []
    words += ["of revolution"] if p.get("spin") else []
    words += [p["device"]] if p.get("device", "cpu") != "cpu" else []
    words += [f"{p['ranks']} ranks"] if p.get("ranks", 1) > 1 else []
    words += ["periodic"] if p["periodic"] else []
    words += [f"cells 1:{stretch(p):.0e}"] if stretch(p) > 10 else []
    if "ratio" in p:
        words += [f"lambda/mu {p['ratio']:.0e}"]
    words += [p["reaction"]] if p["reaction"] != "none" else []
    words += ["bc " + p["conditions"], p["tau"], "poly" if p["polynomial"] else "smooth", "|"]
    words += [str(v) for k, v in p["case"].get("solver", {}).items() if k != "max_iterations"]
    return " ".join(word for word in words if word)
