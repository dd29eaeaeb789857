"""Expressions: text of the case language, which Python evaluates after two replacements; random numbers."""
import functools
import math

AXES = "xyz"
NAMES = {name: getattr(math, name) for name in ("sin", "cos", "exp", "pi")}


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
