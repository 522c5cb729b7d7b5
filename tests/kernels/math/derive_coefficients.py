"""Derives the minimax polynomials of `daedal.kernels.math.coefficients`.

Remez exchange in 60-digit arithmetic: the polynomial of a given degree whose largest weighted error on an interval is
smallest. Run as a script it prints the tables; the tests compare what it derives with what is typed in.
"""

import mpmath as mp

mp.mp.dps = 60


def horner(coefficients, z):
    total = mp.mpf(0)
    for coefficient in reversed(coefficients):
        total = total * z + coefficient
    return total


def remez(function, weight, low, high, degree, rounds=8, grid=400):
    """Coefficients (constant first) and the largest weighted error of the minimax polynomial on [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    scan = [middle - half * mp.cos(mp.pi * i / grid) for i in range(grid + 1)]
    target = [function(z) for z in scan]
    weights = [weight(z) for z in scan]
    for _ in range(rounds):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, z in enumerate(nodes):
            power = mp.mpf(1)
            for j in range(degree + 1):
                matrix[i, j] = power
                power *= z
            matrix[i, count - 1] = (-1) ** i / weight(z)
            right[i] = function(z)
        solution = mp.lu_solve(matrix, right)
        coefficients = list(solution[: degree + 1])
        errors = [w * (horner(coefficients, z) - t) for z, t, w in zip(scan, target, weights, strict=True)]
        nodes = extrema(scan, errors, count)
    return coefficients, max(abs(e) for e in errors)


def extrema(scan, errors, count):
    """Places of the largest error within each run of one sign; the `count` best consecutive ones."""
    runs, start = [], 0
    for i in range(1, len(scan) + 1):
        if i == len(scan) or errors[i] * errors[start] < 0:
            best = max(range(start, i), key=lambda k: abs(errors[k]))
            runs.append(best)
            start = i
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < count:
        raise ArithmeticError(f"the error alternates {len(runs)} times, not {count}: use a lower degree")
    return [scan[i] for i in runs]


def even(terms, first):
    """Power series Σ terms(k) z^(k-first), k ≥ first: what is left of a series after its leading terms."""
    return lambda z: mp.nsum(lambda k: terms(int(k)) * z ** (int(k) - first), [first, first + 60], method="d")


QUARTER = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
ATANH = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0001")) ** 2
EIGHTH = (mp.tan(mp.pi / 8) * mp.mpf("1.0001")) ** 2
ERFC_SHIFT = 2


def erfcx_of(u):
    """exp(x²) erfc(x) at x = 1/u - 2."""
    x = 1 / u - ERFC_SHIFT
    return mp.exp(x * x) * mp.erfc(x)


# for each name the function, the weight of its error, the interval and the degree
PROBLEMS = {
    "SIN": (even(lambda k: mp.mpf(-1) ** k / mp.factorial(2 * k + 1), 1), lambda z: z + mp.mpf("1e-4"), 0, QUARTER, 5),
    "COS": (even(lambda k: mp.mpf(-1) ** k / mp.factorial(2 * k), 2), lambda z: z**2 + mp.mpf("1e-4"), 0, QUARTER, 5),
    "EXP": (even(lambda k: 1 / mp.factorial(k), 2), lambda r: abs(r) + mp.mpf("1e-2"), -HALF_LN2, HALF_LN2, 9),
    "LOG": (even(lambda k: mp.mpf(2) / (2 * k + 1), 1), lambda z: z + mp.mpf("1e-4"), 0, ATANH, 6),
    "LOG_TAIL": (even(lambda k: mp.mpf(2) / (2 * k + 1), 2), lambda z: z**2 + mp.mpf("1e-5"), 0, ATANH, 8),
    "ATAN": (even(lambda k: mp.mpf(-1) ** k / (2 * k + 1), 1), lambda z: z + mp.mpf("1e-3"), 0, EIGHTH, 10),
    "ERF": (
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > mp.mpf("1e-40") else 2 / mp.sqrt(mp.pi) - 1,
        lambda z: 1 + 0 * z, 0, 1, 12,
    ),
    "ERFC": (
        erfcx_of, lambda u: mp.exp(-((1 / u - ERFC_SHIFT) ** 2)) + mp.mpf("1e-9"), mp.mpf(1) / 8, mp.mpf(1) / 3, 13,
    ),
}  # fmt: skip


def derive(name):
    """The double-precision coefficients of one problem, constant first, and log2 of the weighted error."""
    coefficients, error = remez(*PROBLEMS[name])
    return [float(c) for c in coefficients], float(mp.log(error, 2))


if __name__ == "__main__":
    for name in PROBLEMS:
        values, error = derive(name)
        print(f"{name} = (  # weighted error 2^{error:.1f}")
        for value in values:
            print(f"    {value!r},")
        print(")")
