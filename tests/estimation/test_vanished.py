"""Parameters on a log scale whose truth is zero: they are at their bound, and the others keep honest intervals."""

import numpy as np
import pytest

import daedal as dd
from batteries.fits import c, decay, k, noisy, w, x
from daedal import der

TIMES = np.linspace(0.0, 5.0, 60)


def offset(bound: dd.Parameter, power: int = 1) -> dd.Model:
    return decay(parameters={k: dd.Parameter(2.0, scale="log"), c: bound}, outputs={"level": x + c**power})


@pytest.fixture(scope="module")
def data() -> dd.Dataset:
    """Without an offset; the best one would be negative."""
    return dd.Dataset(TIMES, outputs={"level": noisy(np.exp(-TIMES), 0.05, 1)})


@pytest.mark.parametrize("power", [1, 2])
def test_intervals_are_those_of_the_same_parameter_with_the_bound_zero(data, power):
    """By its logarithm slopes fade on the way to zero; by itself, or its square, they do not."""
    found = dd.fit(offset(dd.Parameter(1.0, scale="log"), power), data, free=["k", "c"])
    plain = dd.fit(offset(dd.Parameter(1.0, lower=0.0)), data, free=["k", "c"])
    assert plain["c"].at_bound
    assert found["c"].at_bound
    assert found["c"].verdict == "at its bound"
    assert found["k"].std_error == pytest.approx(plain["k"].std_error, rel=1e-3)
    for name, interval in plain.conf_int().items():
        expected = np.array(interval) ** (1 / power if name == "c" else 1)
        np.testing.assert_allclose(found.conf_int()[name], expected, rtol=1e-3, atol=1e-9)
    assert "0 … 0." in str(found)


@pytest.mark.parametrize(("lower", "power"), [(1e-9, 1), (1e-9, 2), (1e-5, 1), (1e-5, 2), (1e-2, 1)])
def test_a_finite_bound_far_below_is_as_good_as_zero(data, lower, power):
    """Slopes by the logarithm have faded there; next to a bound that is near they have not."""
    found = dd.fit(offset(dd.Parameter(1.0, lower=lower, upper=1e6, scale="log"), power), data, free=["k", "c"])
    plain = dd.fit(offset(dd.Parameter(1.0, lower=lower**power, upper=1e6)), data, free=["k", "c"])
    assert plain["c"].at_bound
    assert found["c"].at_bound
    assert found["c"].verdict == "at its bound"
    for name, interval in plain.conf_int().items():
        expected = np.array(interval) ** (1 / power if name == "c" else 1)
        np.testing.assert_allclose(found.conf_int()[name], expected, rtol=0.02)


def test_a_parameter_far_from_zero_in_another_unit_has_not_vanished():
    """Nine orders below its start, as a capacity in F may be that starts at 1."""
    model = decay(equations={"rate": der(x) == -1e9 * k * x}, parameters={k: dd.Parameter(1e-1, scale="log")})
    found = dd.fit(model, dd.Dataset(TIMES, outputs={"level": noisy(np.exp(-TIMES), 0.05, 1)}), free=["k"],
                   starts=[{"k": 2e-9}])  # fmt: skip
    assert not found["k"].at_bound
    assert found["k"].value == pytest.approx(1e-9, rel=0.1)


def test_a_disturbance_of_no_size_leaves_the_others_their_intervals():
    """Its size acts by its square. Where its interval ends the likelihood has fallen, by 1.96²/2 if it were normal."""
    s = dd.symbol("s")
    model = decay(
        equations={"rate": der(x) == -k * x + w},
        parameters={k: dd.Parameter(2.0, scale="log"), s: dd.Parameter(1.0, scale="log")},
        disturbances={w: dd.FilteredNoise.low_pass(std=s, time_constant=1.0)},
        measurement_noise={"level": 0.05},
    )
    data = dd.Dataset(TIMES, outputs={"level": noisy(np.exp(-TIMES), 0.05, 1)})
    found = dd.fit(model, data, free=["k", "s"])
    assert found["s"].at_bound
    alone = dd.fit(model, data, free=["k"], fixed={"s": 1e-6})
    np.testing.assert_allclose(found.conf_int()["k"], alone.conf_int()["k"], rtol=5e-3)
    farthest = dict(found.params) | {"s": found.conf_int()["s"][1]}
    costs = [dd.evaluate(model, data, free=["k", "s"], values=values).value for values in (found.params, farthest)]
    assert 0.8 < costs[1] - costs[0] < 3.0
