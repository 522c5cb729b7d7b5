"""Ends of profiles of three models against closed forms, minimised by scipy at every value."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.optimize import brentq, least_squares

import daedal as dd
from daedal import der

x, v, a, b, c = dd.symbols("x v a b c")
TIMES = np.linspace(0.0, 4.0, 25)


def grow(times: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    """x' = a x (1 − x/b) from c."""
    return b / (1.0 + (b / c - 1.0) * np.exp(-a * times))


def swing(times: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    """x'' = −a x − b x' from x = c, x' = 0; underdamped."""
    root = np.sqrt(a - b**2 / 4.0)
    return c * np.exp(-b * times / 2.0) * (np.cos(root * times) + b / (2.0 * root) * np.sin(root * times))


def forget(times: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    """Two decays whose sum is seen: x' = −a x from 1, v' = −b v from c."""
    return np.exp(-a * times) + c * np.exp(-b * times)


CASES: dict[str, tuple[Callable[..., np.ndarray], dict[str, float], Mapping]] = {
    "grow": (
        grow,
        {"a": 1.5, "b": 3.0, "c": 0.3},
        {"equations": {"rate": der(x) == a * x * (1 - x / b)}, "unknowns": [x], "initial": {x: c}},
    ),
    "swing": (
        swing,
        {"a": 4.0, "b": 0.5, "c": 1.0},
        {"equations": {"p": der(x) == v, "f": der(v) == -a * x - b * v}, "unknowns": [x, v], "initial": {x: c, v: 0.0}},
    ),
    "forget": (
        forget,
        {"a": 3.0, "b": 0.5, "c": 0.8},
        {
            "equations": {"fast": der(x) == -a * x, "slow": der(v) == -b * v},
            "unknowns": [x, v],
            "initial": {x: 1.0, v: c},
            "outputs": {"y": x + v},
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_end_is_where_the_threshold_is(name):
    function, truth, fields = CASES[name]
    y = function(TIMES, **truth) + 0.05 * np.random.default_rng(4).standard_normal(TIMES.size)
    model = dd.Model(name=name, parameters=truth, **{"outputs": {"y": x}, **fields})
    found = dd.fit(model, dd.Dataset(TIMES, outputs={"y": y}), free=list(truth))
    unit = float(next(iter(found.scales.values())))
    profiles = dd.profile(found)
    assert profiles.complete
    for place, key in enumerate(truth):
        curve = profiles[key]
        best = np.array(list(found.params.values()))

        def rise(value: float, place=place, best=best) -> float:
            others = np.delete(best, place)
            solved = least_squares(
                lambda rest: (function(TIMES, *np.insert(rest, place, value)) - y) / unit,
                others,
                xtol=1e-13,
                ftol=1e-13,
            )
            return solved.cost - found.value

        for end, far in zip(curve.interval, (curve.values[0], curve.values[-1]), strict=True):
            root = brentq(lambda value, rise=rise, curve=curve: rise(value) - curve.threshold, best[place], far)
            assert end == pytest.approx(root, abs=2e-3 * (curve.interval[1] - curve.interval[0])), (key, end)
        heights = curve.cost[np.argsort(np.abs(curve.values - best[place]))]
        assert heights[0] == 0.0
        for side in (curve.values <= best[place], curve.values >= best[place]):
            costs = curve.cost[side] if curve.values[side][0] >= best[place] else curve.cost[side][::-1]
            assert np.all(np.diff(costs) > -1e-6), key
