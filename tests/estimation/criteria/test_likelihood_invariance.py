"""What must not change the likelihood: what no sample shows, the origin of time, units."""

import numpy as np
import pytest

import daedal as dd
from batteries.oscillator import IRREGULAR, Case, a, b, c, oscillator, q, s, samples, single, u, v, w, x, x0, z
from daedal import der


def test_an_unobservable_integrator_changes_nothing():
    equations = {"rate": der(x) == v, "force": der(v) == -c * x - a * v + b * u + w, "sum": der(z) == x + 5.0 * u}
    data = single(IRREGULAR, 21)
    plain = Case(oscillator(), data, ["a", "c", "q"], lambda _: 0.0).evaluate()
    for initial in ({x: x0, v: 0.0}, {x: x0, v: 0.0, z: 7.0}):
        for treatment in ("free", "diffuse", "guess"):
            model = oscillator(equations=equations, unknowns=[x, v, z], initial=initial)
            criterion = dd.Likelihood(initial=treatment)
            found = Case(model, data, ["a", "c", "q"], lambda _: 0.0, criterion=criterion).evaluate()
            assert found.value == pytest.approx(plain.value, rel=1e-12)
            assert found.gradient == pytest.approx(plain.gradient, rel=1e-9)


@pytest.mark.parametrize("origin", [-1e6, 1.6e9])
def test_the_origin_of_time_does_not_matter(origin):
    """Seconds since 1970; times that a double can hold there."""
    times = np.round(IRREGULAR * 1024) / 1024
    values = samples(22)
    model = oscillator(inputs=[], equations={"rate": der(x) == v, "force": der(v) == -c * x - a * v + w})
    near, far = (
        dd.evaluate(model, dd.Dataset(times + start, outputs={"y": values}), free=["a", "q"], criterion=dd.Likelihood())
        for start in (0.0, origin)
    )
    assert far.value == pytest.approx(near.value, rel=1e-9)
    assert far.gradient == pytest.approx(near.gradient, rel=1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1e12])
@pytest.mark.parametrize("second", [1e-9, 1e6])
def test_units_do_not_matter(unit, second):
    """The level in another unit, the time in another: the density changes by the unit alone."""
    values = samples(23)

    def value(level: float, time: float) -> float:
        model = dd.Model(
            name="tank", equations={"rate": der(x) == -a * x / time + level * w, "sensor": z == 3.0 * x / level},
            unknowns=[x, z], outputs={"y": x}, parameters={a: 0.8, q: 0.6, s: 0.15},
            disturbances={w: dd.WhiteNoise(intensity=q / time)}, measurement_noise={"y": s * level},
        )  # fmt: skip
        data = dd.Dataset(IRREGULAR * time, outputs={"y": values * level})
        return dd.evaluate(model, data, free=["a", "q"], criterion=dd.Likelihood(initial="free")).value - 8 * np.log(
            level
        )

    assert value(unit, second) == pytest.approx(value(1.0, 1.0), rel=1e-9)
