#!/usr/bin/env python3
"""Writes kernels/polynomials.h: the polynomials and constants of kernels/functions.h.

Each polynomial is the best one of its degree in the weighted maximum norm (Remez' exchange in 60 digits, mpmath), its
coefficients rounded to double. The weight turns the error of the polynomial into that of the function it serves.
Usage: polynomials.py > kernels/polynomials.h
"""
from mpmath import cos, erfc, exp, floor, ldexp, log, lu_solve, matrix, mp, mpf, pi, sqrt

mp.dps = 60


def remez(f, weight, a, b, n):
    """Coefficients of the polynomial with n of them that is nearest to f on [a, b], and the error."""
    a, b = mpf(a), mpf(b)
    nodes = [(a + b) / 2 - (b - a) / 2 * cos(pi * (2 * k + 1) / (2 * n + 2)) for k in range(n + 1)]
    grid = [(a + b) / 2 - (b - a) / 2 * cos(pi * k / 600) for k in range(601)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(30):
        A, y = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j in range(n):
                A[i, j] = x ** j
            A[i, n] = (-1) ** i / weight(x)
            y[i] = f(x)
        c = lu_solve(A, y)
        error = [(values[k] - horner(c, n, grid[k])) * weights[k] for k in range(601)]
        # the largest error between changes of sign
        best, level = [], abs(c[n])
        for k in range(601):
            if best and (error[k] > 0) == (error[best[-1]] > 0):
                if abs(error[k]) > abs(error[best[-1]]):
                    best[-1] = k
            else:
                best.append(k)
        while len(best) > n + 1:
            best.pop(0 if abs(error[best[0]]) < abs(error[best[-1]]) else -1)
        if len(best) < n + 1:
            break
        nodes = [grid[k] for k in best]
        if max(abs(e) for e in error) < level * mpf("1.001"):
            break
    return [c[j] for j in range(n)], max(abs(e) for e in error)


def horner(c, n, x):
    result = mpf(0)
    for j in reversed(range(n)):
        result = result * x + c[j]
    return result


def power_series(coefficient, n=90):
    c = [coefficient(k) for k in range(n)]
    return lambda x: horner(c, n, x)


def factorial(n):
    result = mpf(1)
    for i in range(2, n + 1):
        result *= i
    return result


def asin_coefficient(k):  # of s^(2k+1)
    return factorial(2 * k) / (mpf(4) ** k * factorial(k) ** 2 * (2 * k + 1))


def hexadecimal(x):
    return float(x).hex().replace("0x1.0000000000000p", "0x1p")


def emit(name, what, variable, c, error, interval):
    """A scheme of Estrin: neighbours in pairs, pairs of pairs, so that the products do not wait for each other."""
    print(f"/* {what}; {interval}, error {float(error):.1e} */")
    lines, parts, power, exponent, letter = [], [hexadecimal(x) for x in c], variable, 1, "a"
    while len(parts) > 1:
        joined = []
        for i in range(0, len(parts) - 1, 2):
            joined.append(f"{letter}{i // 2}")
            lines.append(f"    const double {joined[-1]} = FMA({power}, {parts[i + 1]}, {parts[i]});")
        parts = joined + parts[len(parts) // 2 * 2:]
        if len(parts) > 1:
            exponent *= 2
            lines.append(f"    const double {variable}{exponent} = {power} * {power};")
            power, letter = f"{variable}{exponent}", chr(ord(letter) + 1)
    print(f"FUNCTION double polynomial_{name}(double {variable}) {{")
    print("\n".join(lines) + f"\n    return {parts[0]};\n}}\n")


def split(name, what, x, bits):
    """x as a sum of numbers with so many bits each; 53: rounded."""
    for i, n in enumerate(bits):
        if n == 53:
            part = mpf(float(x))
        else:
            e = int(floor(log(abs(x), 2))) + 1 - n
            part = ldexp(floor(ldexp(x, -e)), e)
        print(f"#define {name}_{i + 1} {hexadecimal(part)}" + (f" /* {what} */" if i == 0 else ""))
        x -= part


def main():
    print("/* Made by tools/polynomials.py: best approximations of their degree, coefficients rounded. error:\n"
          " * relative, of the function that the polynomial serves. Included by kernels/functions.h. */")
    print("/* clang-format off */")
    split("HALF_PI", "pi/2, parts short enough that products with 17 bits are exact", pi / 2, [36, 36, 53])
    split("HALF_PI_PAIR", "pi/2", pi / 2, [53, 53])
    split("LN2", "log(2), parts short enough that products with 12 bits are exact", log(2), [40, 40, 53])
    split("LOG10_E", "1/log(10)", 1 / log(10), [53, 53])
    split("TWO_THIRDS", "2/3", mpf(2) / 3, [53, 53])
    print(f"#define TWO_BY_PI {hexadecimal(2 / pi)}")
    print(f"#define LOG2_E {hexadecimal(1 / log(2))}")
    print(f"#define TWO_BY_ROOT_PI {hexadecimal(2 / sqrt(pi))}")
    print(f"#define TWO_BY_ROOT_PI_LESS_ONE {hexadecimal(2 / sqrt(pi) - 1)}\n")

    bits, words = 64 * 20, 20
    mp.dps = 500
    n = int(floor(ldexp(2 / pi, bits)))
    mp.dps = 60
    print("/* 64 zeros, then the binary digits of 2/pi. */")
    print("TABLE(uint64_t, two_by_pi_digits[21]) = {0,")
    for i in range(words):
        word = n >> (64 * (words - 1 - i)) & (2 ** 64 - 1)
        print(f"    0x{word:016x}u" + ("," if i < words - 1 else "};\n"))

    quarter = (pi / 4 * mpf("1.0001")) ** 2
    c, e = remez(power_series(lambda k: (-1) ** (k + 1) / factorial(2 * k + 3), 30), lambda z: z, 0, quarter, 6)
    emit("sin", "(sin r - r)/r^3 by z = r^2", "z", c, e, "|r| < pi/4")
    c, e = remez(power_series(lambda k: (-1) ** k / factorial(2 * k + 4), 30), lambda z: z * z, 0, quarter, 6)
    emit("cos", "(cos r - 1 + r^2/2)/r^4 by z = r^2", "z", c, e, "|r| < pi/4")
    half = log(2) / 2 * mpf("1.001")
    c, e = remez(power_series(lambda k: 1 / factorial(k + 2), 40), lambda r: abs(r) + mpf(10) ** -30, -half, half, 10)
    emit("exp", "(exp r - 1 - r)/r^2", "r", c, e, "|r| < log(2)/2")
    top = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf("1.0001")
    c, e = remez(power_series(lambda k: mpf(2) / (2 * k + 3)), lambda z: z, 0, top, 7)
    emit("log", "(log((1 + s)/(1 - s)) - 2s)/s^3 by z = s^2", "z", c, e, "|s| < 0.1716")
    c, e = remez(power_series(lambda k: mpf(2) / (2 * k + 5)), lambda z: z * z, 0, top, 7)
    emit("log_tail", "(log((1 + s)/(1 - s)) - 2s - 2s^3/3)/s^5 by z = s^2", "z", c, e, "|s| < 0.1716")
    top = (sqrt(2) - 1) ** 2 * mpf("1.0001")
    c, e = remez(power_series(lambda k: mpf((-1) ** (k + 1)) / (2 * k + 3)), lambda z: z, 0, top, 11)
    emit("atan", "(atan t - t)/t^3 by z = t^2", "z", c, e, "|t| < tan(pi/8)")
    c, e = remez(power_series(lambda k: asin_coefficient(k + 1), 110), lambda z: z, 0, mpf("0.2501"), 13)
    emit("asin", "(asin s - s)/s^3 by z = s^2", "z", c, e, "|s| < 1/2")
    c, e = remez(power_series(lambda k: 2 / sqrt(pi) * (-1) ** (k + 1) / (factorial(k + 1) * (2 * k + 3)), 60),
                 lambda z: z, 0, 1, 11)
    emit("erf", "(erf x/x - 2/sqrt(pi))/x^2 by z = x^2", "z", c, e, "|x| < 1")

    def tail(t):  # x = 2 (1 + t)/(1 - t)
        x = 2 * (1 + t) / (1 - t)
        return erfc(x) * exp(x * x) * (x + 1)

    def weight(t):
        x = 2 * (1 + t) / (1 - t)
        return exp(-x * x) / (x + 1)
    c, e = remez(tail, lambda t: max(weight(t), mpf("1e-9")), mpf(-1) / 3, mpf(1) / 2, 13)
    emit("erf_tail", "erfc(x) exp(x^2) (1 + x) by t = (x - 2)/(x + 2)", "t", c, e, "1 < x < 6")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
