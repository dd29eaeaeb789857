"""Solvers, at random."""


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
        solver["smoother"] = rng.choice(("patches", "additive", "chebyshev")
                                        if p["method"] == "continuous" else ("faces", "fsai"))
    elif chosen == "pmg" and rng.random() < 0.3:
        solver["smoother"] = "faces"
    if p.get("spin"):  # bodies of revolution have no single precision
        solver.pop("precision", None)
