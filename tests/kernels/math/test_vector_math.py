"""Every vector function against mpmath, in units in the last place, with and without fused multiply-add."""

import dataclasses

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

from daedal.kernels import scan, target
from daedal.kernels.math import coefficients
from daedal.kernels.math.functions import FUNCTIONS
from sizes import choose

BOUND = 4.0
RANDOM = np.random.default_rng(11)


def units(got, exact):
    """|got − exact| in units in the last place of the exact value."""
    rounded = float(exact)
    if np.isinf(rounded) or np.isnan(rounded) or not np.isfinite(got):
        return 0.0 if np.array_equal(got, rounded, equal_nan=True) else np.inf
    return float(abs(mp.mpf(float(got)) - exact) / mp.mpf(float(np.spacing(abs(rounded)))))


def uniform(low, high, n):
    return RANDOM.uniform(low, high, n)


def spread(low, high, n):
    """Both signs, the magnitude uniform in its logarithm."""
    return np.exp(uniform(np.log(low), np.log(high), n)) * RANDOM.choice([-1.0, 1.0], n)


def beside_multiples_of_half_pi(n):
    counts = np.concatenate([RANDOM.integers(1, 2**29, n), np.arange(1, n)])
    return np.array([float(mp.mpf(int(k)) * mp.pi / 2) for k in counts])


def angles(n):
    near = beside_multiples_of_half_pi(n)
    return [uniform(-10, 10, n), uniform(-(2**30), 2**30, n), spread(1e-20, 1e9, n), near]


def points_one(name, n):
    """Arguments on the stated range, dense where the function is delicate."""
    tiny = np.abs(spread(5e-324, 1e-308, n))
    wide, near_one = spread(1e-300, 1e300, n), 1 - np.abs(spread(1e-16, 0.5, n))
    return {
        "exp": lambda: [uniform(-745, 709.7, n), uniform(-1, 1, n), spread(1e-20, 1, n)],
        "expm1": lambda: [uniform(-50, 709.7, n), uniform(-2, 2, 2 * n), spread(1e-20, 1, n)],
        "sinh": lambda: [uniform(-710.4, 710.4, n), uniform(-2, 2, 2 * n), spread(1e-20, 1, n)],
        "cosh": lambda: [uniform(-710.4, 710.4, n), uniform(-2, 2, n)],
        "tanh": lambda: [uniform(-25, 25, n), uniform(-1.5, 1.5, 2 * n), spread(1e-20, 1, n)],
        "log": lambda: [np.abs(wide), tiny, uniform(0.5, 2, 2 * n), 1 + spread(1e-16, 0.1, n)],
        "log1p": lambda: [np.abs(wide), uniform(-0.999, 3, 2 * n), -near_one, spread(1e-20, 0.9, n)],
        "asinh": lambda: [wide, uniform(-3, 3, 2 * n), spread(1e-20, 1, n)],
        "acosh": lambda: [1 + np.abs(spread(1e-15, 1e300, n)), uniform(1, 3, n)],
        "atanh": lambda: [uniform(-1, 1, 2 * n), near_one, spread(1e-20, 1, n)],
        "sin": lambda: angles(n),
        "tan": lambda: angles(n),
        "cos": lambda: angles(n),
        "atan": lambda: [wide, uniform(-4, 4, 2 * n)],
        "asin": lambda: [uniform(-1, 1, 2 * n), near_one, spread(1e-20, 1, n)],
        "acos": lambda: [uniform(-1, 1, 2 * n), near_one, -near_one, spread(1e-20, 1, n)],
        "erf": lambda: [uniform(-6.5, 6.5, 2 * n), uniform(0.9, 1.1, n), spread(1e-300, 1, n)],
    }[name]()  # fmt: skip


def points_two(name, n):
    base = np.abs(spread(1e-300, 1e300, n))
    return {
        "pow": lambda: [
            (base, uniform(-744, 709, n) / np.log(base)), (uniform(0.3, 3, 2 * n), uniform(-600, 600, 2 * n)),
            (uniform(-30, -0.1, n), RANDOM.integers(-200, 200, n).astype(float)), (base, uniform(-1, 1, n)),
        ],
        "atan2": lambda: [(spread(1e-300, 1e300, n), spread(1e-300, 1e300, n)), (uniform(-2, 2, n), uniform(-2, 2, n))],
        "hypot": lambda: [(spread(1e-300, 1e300, n), spread(1e-300, 1e300, n)), (uniform(-2, 2, n), uniform(-2, 2, n))],
        "fmod": lambda: [(spread(1e-5, 1e5, n), spread(1e-5, 1e5, n))],
    }[name]()  # fmt: skip


ONE = (
    "exp", "expm1", "sinh", "cosh", "tanh", "log", "log1p", "asinh", "acosh", "atanh", "sin", "cos", "tan", "atan",
    "asin", "acos", "erf",
)  # fmt: skip
TWO = ("pow", "atan2", "hypot", "fmod")


# With fused multiply-add only where the processor has it; without it everywhere.
@pytest.fixture(params=sorted({target.find_host().fused, False}), ids=lambda fused: "fused" if fused else "separate")
def fused(request, monkeypatch):
    changed = dataclasses.replace(target.find_host(), fused=request.param)
    monkeypatch.setattr(scan, "find_host", lambda: changed)


def function_of(name):
    s, t = ca.SX.sym("s"), ca.SX.sym("t")
    if name in ONE:
        return ca.Function(name, [s], [getattr(ca, name)(s)])
    return ca.Function(name, [s, t], [s**t if name == "pow" else getattr(ca, name)(s, t)])


def exact(name, *values):
    numbers = [mp.mpf(float(value)) for value in values]
    if name == "fmod":
        return mp.sign(numbers[0]) * mp.fmod(abs(numbers[0]), abs(numbers[1]))
    return {"pow": mp.power}.get(name, getattr(mp, name, None))(*numbers)


def largest_error(name, n):
    if name in ONE:
        arguments = [np.concatenate(points_one(name, n))]
    else:
        arguments = [np.concatenate(part) for part in zip(*points_two(name, n), strict=True)]
    widths = [scan.compile_map(function_of(name), width=w)(*(a[None] for a in arguments))[0] for w in (2, 4, 8, 16)]
    for other in widths[1:]:
        np.testing.assert_array_equal(widths[0], other)
    with mp.workprec(200):
        points = zip(*arguments, strict=True)
        return max(units(g, exact(name, *point)) for g, point in zip(widths[0][0], points, strict=True))


@pytest.mark.parametrize("name", ONE + TWO)
def test_within_four_units_in_the_last_place(name, fused):
    assert largest_error(name, choose(1000, 10_000)) <= BOUND


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_beyond_the_range_comes_nan(name):
    kernel = scan.compile_map(function_of(name))
    assert np.isnan(kernel(np.array([[2.0**30 + 1, -1e18, np.inf, np.nan]]))[0]).all()


def test_powers_at_the_corners_of_the_standard(fused):
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        np.inf,
        -np.inf,
        np.nan,
        1e300,
        5e-324,
        2.0**53 + 2,
        -1e16,
    ]
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    got = scan.compile_map(function_of("pow"))(x[None], y[None])[0][0]
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    np.testing.assert_array_equal(
        np.signbit(got), np.signbit(expected) & ~np.isnan(expected) | np.signbit(got) & np.isnan(got)
    )


def test_every_function_states_its_range():
    assert all(function.range for function in FUNCTIONS.values())


@pytest.mark.parametrize("name", ["SIN", "COS", "EXP", "LOG", "LOG_TAIL", "ATAN", "ERF", "ERFC"])
def test_coefficients_are_the_derived_ones(name):
    import derive_coefficients

    with mp.workdps(60):
        derived, error = derive_coefficients.derive(name)
    np.testing.assert_allclose(getattr(coefficients, name), derived, rtol=1e-9)
    assert error < -55


def test_constants_in_parts_add_up():
    with mp.workprec(200):
        parts = sum(mp.mpf(part) for part in coefficients.HALF_PI)
        assert abs(parts - mp.pi / 2) < mp.mpf(2) ** -158
        assert abs(mp.mpf(coefficients.LN2_HIGH) + mp.mpf(coefficients.LN2_LOW) - mp.log(2)) < mp.mpf(2) ** -95
        eighth = mp.mpf(coefficients.EIGHTH_TURN_HIGH) + mp.mpf(coefficients.EIGHTH_TURN_LOW)
        assert abs(eighth - mp.pi / 4) < mp.mpf(2) ** -105
